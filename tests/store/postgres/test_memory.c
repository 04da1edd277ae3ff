/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory.c - each call with its 1st, 2nd, 3rd ... allocation failing, in hora or in libpq
 *
 * This program's malloc, calloc and realloc take the place of the C library's, for libpq, too. A call must
 * return success or an error that says what is wrong, and leave what it should; and the next one must work.
 * With a sanitizer, which has an allocator of its own, or another C library, nothing fails, and each call is
 * made once. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

/* ---- failing ---- */

static _Thread_local long allocations_left; /* the last of them fails; 0: none does */

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
enum { FAILS = true };

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static bool fails(void)
{
    if (allocations_left == 0 || --allocations_left > 0)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return fails() ? NULL : __libc_realloc(memory, size);
}
#else
enum { FAILS = false };
#endif

/* ---- the calls ---- */

/* After some failures libpq waits for a reply that it has thrown away. Then the time limit of statements ends
 * the call, which is short here. */
static hora_store_options options(void)
{
    hora_store_options own = options_for("memory");
    own.statement_timeout = HORA_MS(500);
    return own;
}

static hora__backend *store;
static hora__lease lease;
static int number; /* of the attempt, for keys */

/* One kind of call. */
struct call {
    const char *name;
    void (*prepare)(void); /* NULL: nothing to prepare */
    int (*run)(void);
    void (*check)(int result); /* of what a call has left; NULL: nothing */
};

static int run_open(void)
{
    hora__backend *other = NULL;
    hora_store_options own = options();
    int error = hora__postgres_open(address_with(""), &own, &other, &test_error);
    if (error == 0)
        other->ops->close(other);
    return error;
}

static int64_t count_firings(void)
{
    return sql("SELECT count(*) FROM @firing");
}

static int64_t firings_before;

static void prepare_put(void)
{
    firings_before = count_firings();
}

static int run_put(void)
{
    char key[30];
    (void)snprintf(key, sizeof key, "put %d", number);
    hora__put puts[] = {
        {.handler = "other", .key = key, .lane = 2, .after_now = true, .payload = {"data", 4}},
        {.handler = "other", .lane = 2, .after_now = true},
        {.handler = "other", .lane = 2, .recurring = true, .definition = "rate 1000000", .after_now = true}};
    hora__put_done done[3];
    size_t wrong;
    return store->ops->put(store, puts, 3, done, &wrong, &test_error);
}

/* All or none. */
static void check_put(int result)
{
    int64_t more = count_firings() - firings_before;
    if (result == 0)
        CHECK_INT(more, 3);
    else if (result == HORA_ENOMEM)
        CHECK_INT(more, 0);
    else
        CHECK(more == 0 || more == 3);
}

static void prepare_cancel(void)
{
    CHECK_OK(put_task(store, "to cancel", 3600 * (int64_t)SECOND, NULL));
}

static int run_cancel(void)
{
    int result = store->ops->change(store, &(hora__change){.kind = HORA__CHANGE_CANCEL, .key = "to cancel"},
                                    &test_error);
    return result < 0 ? result : 0;
}

static void check_cancel(int result)
{
    int64_t left = sql("SELECT count(*) FROM @firing WHERE key = 'to cancel'");
    CHECK(result == 0 ? left == 0 : left == 0 || left == 1);
    if (left > 0)
        CHECK_OK(run_cancel());
}

static int run_join(void)
{
    hora__lease other;
    int error = store->ops->join(store, "another", 60 * (int64_t)SECOND, &other, &test_error);
    return error < 0 ? error : store->ops->leave(store, &other, &test_error);
}

static int run_reap(void)
{
    int64_t released;
    return store->ops->reap(store, &lease, 10, &released, &test_error);
}

/* A task that is claimed and is to be settled, and one that is to be claimed. */
static hora__settle settlement;

static int exchange_all(const hora__settle *settle)
{
    static const char *const handlers[] = {"h"};
    hora__settled settled;
    hora__exchange exchange = {.renew = true,
                               .resume = true,
                               .reads_clock = true,
                               .settles = settle,
                               .settle_count = settle == NULL ? 0 : 1,
                               .ret_settled = &settled,
                               .handlers = handlers,
                               .handler_count = 1,
                               .claim_limit = {9, 9, 9, 9},
                               .low = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN}};
    int error = store->ops->exchange(store, &lease, &exchange, &test_error);
    if (error == 0 && exchange.ret_claim_count > 0)
        settlement = settle_of(&lease, &exchange.ret_claims[0], HORA__SETTLE_DONE);
    return error < 0 ? error : (int)exchange.ret_claim_count;
}

static void prepare_exchange(void)
{
    CHECK_OK(put_task(store, NULL, 0, NULL));
    CHECK_INT(exchange_all(NULL), 1);
    CHECK_OK(put_task(store, NULL, 0, NULL));
}

static int run_exchange(void)
{
    hora__settle settle = settlement;
    int result = exchange_all(&settle);
    return result < 0 ? result : 0;
}

/* Nothing is lost: what is not settled can be claimed, or was claimed and is resumed. */
static void check_exchange(int result)
{
    int64_t left = sql("SELECT count(*) FROM @firing WHERE handler = 'h'");
    CHECK(result == 0 ? left == 1 : left == 1 || left == 2);
    CHECK_INT(exchange_all(NULL), left);
    for (; left > 0; left--) {
        hora__settle settle = settlement;
        CHECK_INT(exchange_all(&settle), left - 1);
    }
}

static int count_info(hora_durable_info *info, const char *definition, void *count)
{
    (void)info, (void)definition;
    ++*(int *)count;
    return 0;
}

static int count_record(const hora_run_record *record, void *count)
{
    (void)record;
    ++*(int *)count;
    return 0;
}

static int run_look(void)
{
    int count = 0;
    hora_store_stats stats = HORA_INIT(hora_store_stats);
    int error = store->ops->list(store, HORA_DURABLE_FILTER(.limit = 10), count_info, &count, &test_error);
    if (error == 0)
        error =
            store->ops->history(store, HORA_HISTORY_FILTER(.limit = 10), count_record, &count, &test_error);
    return error < 0 ? error : store->ops->stats(store, &stats, &test_error);
}

static void prepare_transaction(void)
{
    CHECK_OK(put_task(store, NULL, 0, NULL));
    CHECK_INT(exchange_all(NULL), 1);
    sql("TRUNCATE effects");
}

static int run_transaction(void)
{
    void *connection;
    int error = store->ops->begin(store, &connection, &test_error);
    if (error < 0)
        return error;
    PQclear(PQexec(connection, "INSERT INTO effects VALUES (1)"));
    int counts = store->ops->settle_in(store, connection, &lease, &settlement, &test_error);
    hora_error reason = test_error;
    error = store->ops->end(store, connection, counts > 0, &test_error);
    if (counts < 0)
        test_error = reason;
    return counts < 0 ? counts : error;
}

/* The effect is there exactly if the task is settled. */
static void check_transaction(int result)
{
    int64_t left = sql("SELECT count(*) FROM @firing WHERE handler = 'h'");
    CHECK(left + sql("SELECT count(*) FROM effects") == 1);
    CHECK(result != 0 || left == 0);
    hora__settle settle = settlement;
    CHECK_INT(exchange_all(left == 0 ? NULL : &settle), 0);
}

static const struct call calls[] = {
    {"open", NULL, run_open, NULL},
    {"put", prepare_put, run_put, check_put},
    {"cancel", prepare_cancel, run_cancel, check_cancel},
    {"join and leave", NULL, run_join, NULL},
    {"reap", NULL, run_reap, NULL},
    {"exchange", prepare_exchange, run_exchange, check_exchange},
    {"list, history, stats", NULL, run_look, NULL},
    {"transaction", prepare_transaction, run_transaction, check_transaction},
};

/* ---- the test ---- */

/* Returns whether the allocation was reached. */
static bool fail_once(const struct call *call, long which)
{
    if (call->prepare != NULL)
        call->prepare();
    test_error = (hora_error){.code = 0};
    allocations_left = which;
    int result = call->run();
    bool reached = allocations_left == 0;
    allocations_left = 0;
    bool is_fine = result == 0 || (reached && (result == HORA_ENOMEM || result == HORA_EIO) &&
                                   test_error.code == result && test_error.message[0] != '\0');
    CHECK(is_fine);
    if (!is_fine)
        fprintf(stderr, "note: %s, allocation %ld: %d, %s\n", call->name, which, result, test_error.message);
    if (call->check != NULL)
        call->check(result);
    return reached;
}

TEST_REAL(each_allocation_fails_once, "")
{
    hora_store_options own = options();
    use_schema("memory");
    CHECK_OK(hora__postgres_open(address_with(""), &own, &store, &test_error));
    lease = join_for(store, 3600 * (int64_t)SECOND);
    sql("CREATE TABLE effects (id int)");
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        long which = 1;
        while (fail_once(&calls[i], which) && which < 5000) {
            which++;
            number++;
        }
        number++;
        CHECK(which < 5000);
        CHECK(which > 10 || !FAILS); /* a call makes more allocations than that */
    }
    store->ops->close(store);
}
