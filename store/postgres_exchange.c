/* SPDX-License-Identifier: Apache-2.0 */
/* postgres_exchange.c - exchange: renew, settle and claim in one round trip and one commit
 *
 * The statements are sent all at once, the commit included. The first one divides by zero if the lease has
 * ended, so the server skips the others and nothing has changed. Settlements are in order of their ids, so
 * that two nodes do not deadlock. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "postgres.h"
#include "reason.h"
#include "step.h"

/* Relative times are limited, so that the sum with the store's clock does not overflow. */
#define FAR INT64_C(4000000000000000000)

static int64_t limit(int64_t us)
{
    return us > FAR ? FAR : us < -FAR ? -FAR : us;
}

/* ---- parameters ---- */

#define SETTLE_OF(items, index) (((const hora__settle *const *)(items))[index])
#define SETTLE_FIELD(name, expression)                        \
    static int64_t name(const void *items, size_t index)      \
    {                                                         \
        const hora__settle *settle = SETTLE_OF(items, index); \
        return (expression);                                  \
    }

SETTLE_FIELD(settle_id, settle->id)
SETTLE_FIELD(settle_owner, settle->owner)
SETTLE_FIELD(settle_fence, settle->fence)
SETTLE_FIELD(settle_kind, settle->kind)
SETTLE_FIELD(settle_planned, settle->after_now ? limit(settle->planned) : settle->planned)
SETTLE_FIELD(settle_due, settle->after_now ? limit(settle->due) : settle->due)
SETTLE_FIELD(settle_after, settle->after_now)
SETTLE_FIELD(settle_outcome, settle->outcome)
SETTLE_FIELD(settle_code, settle->code)
SETTLE_FIELD(settle_run_us, limit(settle->run_us))
SETTLE_FIELD(settle_gave_up, settle->gave_up)
SETTLE_FIELD(settle_history, settle->history)
SETTLE_FIELD(settle_attempt, settle->attempt)
SETTLE_FIELD(settle_ran_planned, settle->ran_planned)
SETTLE_FIELD(settle_skipped, settle->skipped)
SETTLE_FIELD(settle_overlap_max, settle->overlap_max)

static hora__bytes settle_note(const void *items, size_t index)
{
    return SETTLE_OF(items, index)->note;
}

static void add_integers(hora__pg_parameters *parameters, const hora__pg_integer_fn *fields,
                         size_t field_count, const hora__settle *const *settles, size_t count)
{
    hora__pg_parameters_reset(parameters);
    for (size_t i = 0; i < field_count; i++)
        hora__pg_add_integers(parameters, count, fields[i], settles);
}

void hora__pg_settle_parameters(hora__pg_parameters *parameters, const hora__settle *const *settles,
                                size_t count)
{
    static const hora__pg_integer_fn fields[] = {
        settle_id,      settle_owner,   settle_fence,   settle_kind,        settle_planned,
        settle_due,     settle_after,   settle_outcome, settle_code,        settle_run_us,
        settle_gave_up, settle_history, settle_attempt, settle_ran_planned, settle_skipped};
    add_integers(parameters, fields, sizeof fields / sizeof fields[0], settles, count);
    hora__pg_add_byteas(parameters, count, settle_note, settles);
}

static void done_parameters(hora__pg_parameters *parameters, const hora__settle *const *settles, size_t count)
{
    static const hora__pg_integer_fn fields[] = {settle_id, settle_owner, settle_fence};
    add_integers(parameters, fields, sizeof fields / sizeof fields[0], settles, count);
}

static void fork_parameters(hora__pg_parameters *parameters, const hora__settle *const *settles, size_t count)
{
    static const hora__pg_integer_fn fields[] = {settle_id,  settle_owner, settle_fence,      settle_planned,
                                                 settle_due, settle_after, settle_overlap_max};
    add_integers(parameters, fields, sizeof fields / sizeof fields[0], settles, count);
}

/* ---- the request ---- */

/* Settlements of one statement: `count` of the request's, from `first` on. */
struct group {
    size_t first, count;
    bool forks;
    bool is_done; /* all are DONE */
    int result;   /* index of its result */
};

/* The second settlement of a firing in one exchange, such as DONE after START, is in a statement of its own.
 * A third one cannot count. */
enum { ROUNDS = 2, GROUPS = 2 * ROUNDS };

/* One exchange. */
struct request {
    hora__pg_link *link;
    const hora__lease *lease;
    hora__exchange *exchange;
    const hora__settle **settles; /* sorted into groups, and by id */
    struct group groups[GROUPS];
    int group_count;
    bool is_full;   /* records or dead tasks are written */
    bool is_locked; /* rows are locked before they are settled */
    hora__pg_parameters parameters;
    int lease_result, claim_result[HORA__LANES + 1], state_result, now_result; /* -1: none */
    int sent;
};

/* ---- sorting ---- */

struct sorted {
    const hora__settle *settle;
    int group;
};

/* By id; of the same id, in the order of the request. */
static int compare_settles(const void *a, const void *b)
{
    const hora__settle *x = ((const struct sorted *)a)->settle, *y = ((const struct sorted *)b)->settle;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int compare_groups(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    return x->group != y->group ? x->group - y->group : compare_settles(a, b);
}

static void make_groups(struct request *request, struct sorted *sorted, size_t count)
{
    qsort(sorted, count, sizeof *sorted, compare_settles);
    int round = 0;
    for (size_t i = 0; i < count; i++) {
        round = i > 0 && sorted[i - 1].settle->id == sorted[i].settle->id ? round + 1 : 0;
        sorted[i].group = 2 * round + (sorted[i].settle->kind == HORA__SETTLE_FORK);
    }
    qsort(sorted, count, sizeof *sorted, compare_groups);
    for (size_t i = 0; i < count; i++) {
        request->settles[i] = sorted[i].settle;
        if (sorted[i].group >= GROUPS)
            continue;
        if (i == 0 || sorted[i].group != sorted[i - 1].group)
            request->groups[request->group_count++] =
                (struct group){.first = i, .forks = sorted[i].group % 2 == 1, .is_done = true};
        struct group *group = &request->groups[request->group_count - 1];
        group->count++;
        group->is_done &= sorted[i].settle->kind == HORA__SETTLE_DONE;
    }
}

static int sort_settles(struct request *request, hora_error *reason)
{
    const hora__exchange *exchange = request->exchange;
    size_t count = exchange->settle_count;
    if (count == 0)
        return 0;
    request->settles = malloc(count * sizeof *request->settles);
    struct sorted *sorted = calloc(count, sizeof *sorted);
    if (request->settles == NULL || sorted == NULL) {
        free(sorted);
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "there is not enough memory for an exchange");
    }
    for (size_t i = 0; i < count; i++) {
        const hora__settle *settle = &exchange->settles[i];
        sorted[i].settle = settle;
        exchange->ret_settled[i] = HORA__SETTLED_STALE;
        request->is_full |= settle->history || settle->kind == HORA__SETTLE_DEAD;
    }
    make_groups(request, sorted, count);
    free(sorted);
    return 0;
}

/* ---- sending ---- */

static int send(struct request *request, hora__pg_statement statement)
{
    hora__pg_send(request->link, statement, &request->parameters);
    return request->sent++;
}

static void send_lease(struct request *request)
{
    hora__pg_parameters *parameters = &request->parameters;
    hora__pg_parameters_reset(parameters);
    hora__pg_add_integer(parameters, request->lease->node);
    hora__pg_add_bytes(parameters, (hora__bytes){request->lease->incarnation, 16});
    if (request->exchange->renew)
        hora__pg_add_integer(parameters, request->lease->ttl_us);
    request->lease_result = send(request, request->exchange->renew ? HORA__PG_RENEW : HORA__PG_CHECK_LEASE);
}

static void send_settles(struct request *request)
{
    hora__pg_parameters *parameters = &request->parameters;
    if (request->is_locked) {
        hora__pg_parameters_reset(parameters);
        hora__pg_add_integers(parameters, request->exchange->settle_count, settle_id, request->settles);
        send(request, HORA__PG_LOCK_FIRINGS);
    }
    for (int i = 0; i < request->group_count; i++) {
        struct group *group = &request->groups[i];
        const hora__settle *const *settles = request->settles + group->first;
        hora__pg_statement statement = request->is_full ? HORA__PG_SETTLE_FULL : HORA__PG_SETTLE;
        if (group->forks) {
            fork_parameters(parameters, settles, group->count);
            statement = HORA__PG_FORK;
        } else if (group->is_done && !request->is_full && !request->is_locked) {
            done_parameters(parameters, settles, group->count);
            statement = HORA__PG_SETTLE_DONE;
        } else {
            hora__pg_settle_parameters(parameters, settles, group->count);
        }
        group->result = send(request, statement);
    }
}

static hora__bytes handler_name(const void *items, size_t index)
{
    const char *name = ((const char *const *)items)[index];
    return (hora__bytes){name, strlen(name)};
}

static int send_claim(struct request *request, hora__pg_statement statement, int lane)
{
    const hora__exchange *exchange = request->exchange;
    bool claims = statement == HORA__PG_CLAIM;
    hora__pg_parameters *parameters = &request->parameters;
    hora__pg_parameters_reset(parameters);
    hora__pg_add_integer(parameters, request->lease->node);
    hora__pg_add_integer(parameters, lane);
    hora__pg_add_integer(parameters, claims ? exchange->low[lane] : 0);
    hora__pg_add_integer(parameters, claims ? limit(exchange->horizon_us) : 0);
    hora__pg_add_texts(parameters, (size_t)exchange->handler_count, handler_name, exchange->handlers);
    hora__pg_add_integer(parameters, claims ? exchange->claim_limit[lane] : 0);
    return send(request, statement);
}

static void send_claims(struct request *request)
{
    const hora__exchange *exchange = request->exchange;
    request->claim_result[HORA__LANES] = -1;
    if (exchange->resume)
        request->claim_result[HORA__LANES] = send_claim(request, HORA__PG_CLAIMED, 0);
    for (int lane = 0; lane < HORA__LANES; lane++) {
        request->claim_result[lane] = -1;
        if (exchange->claim_limit[lane] > 0 && exchange->handler_count > 0)
            request->claim_result[lane] = send_claim(request, HORA__PG_CLAIM, lane);
    }
}

static void send_state(struct request *request)
{
    const hora__exchange *exchange = request->exchange;
    hora__pg_parameters *parameters = &request->parameters;
    hora__pg_parameters_reset(parameters);
    hora__pg_add_integer(parameters, request->lease->node);
    for (int lane = 0; lane < HORA__LANES; lane++)
        hora__pg_add_integer(parameters, exchange->low[lane]);
    hora__pg_add_integer(parameters, exchange->renew);
    request->state_result = send(request, HORA__PG_STATE);
}

static void send_commit(struct request *request)
{
    hora__pg_send(request->link, HORA__PG_COMMIT, NULL);
    request->sent++;
    request->now_result = -1;
    if (!request->exchange->reads_clock)
        return;
    hora__pg_send(request->link, HORA__PG_NOW, NULL);
    request->now_result = request->sent++;
}

/* ---- the reply ---- */

static bool array_contains(const PGresult *result, int column, int64_t id)
{
    int count = hora__pg_array_count(result, 0, column);
    for (int i = 0; i < count; i++)
        if (hora__pg_array_integer(result, 0, column, i) == id)
            return true;
    return false;
}

static int compare_ids(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static int read_settled(struct request *request, const struct group *group, hora_error *reason)
{
    const hora__exchange *exchange = request->exchange;
    const PGresult *result = request->link->results[group->result];
    size_t count = (size_t)hora__pg_array_count(result, 0, 0);
    int64_t *ids = malloc((count + 1) * sizeof *ids);
    if (ids == NULL)
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "there is not enough memory for an exchange");
    for (size_t i = 0; i < count; i++)
        ids[i] = hora__pg_array_integer(result, 0, 0, (int)i);
    qsort(ids, count, sizeof *ids, compare_ids);
    for (size_t i = group->first; i < group->first + group->count; i++) {
        const hora__settle *settle = request->settles[i];
        if (bsearch(&settle->id, ids, count, sizeof *ids, compare_ids) != NULL)
            exchange->ret_settled[settle - exchange->settles] = HORA__SETTLED_OK;
    }
    free(ids);
    return 0;
}

static void read_forked(struct request *request, const struct group *group)
{
    const hora__exchange *exchange = request->exchange;
    const PGresult *result = request->link->results[group->result];
    for (size_t i = group->first; i < group->first + group->count; i++) {
        const hora__settle *settle = request->settles[i];
        if (array_contains(result, 0, settle->id))
            exchange->ret_settled[settle - exchange->settles] =
                array_contains(result, 1, settle->id) ? HORA__SETTLED_FULL : HORA__SETTLED_OK;
    }
}

static void read_claim(const PGresult *result, int row, hora__claim *ret_claim)
{
    *ret_claim = (hora__claim){
        .id = hora__pg_integer(result, row, 0),
        .series = hora__pg_integer(result, row, 1),
        .revision = hora__pg_integer(result, row, 2),
        .planned = hora__pg_integer(result, row, 3),
        .due = hora__pg_integer(result, row, 4),
        .fence = hora__pg_integer(result, row, 5),
        .attempt = (int)hora__pg_integer(result, row, 6),
        .firings = hora__pg_integer(result, row, 7),
        .gave_up = hora__pg_integer(result, row, 8),
        .last_end = hora__pg_integer(result, row, 17),
        .last_success = hora__pg_integer(result, row, 9),
        .history = hora__pg_boolean(result, row, 10),
        .lane = (int)hora__pg_integer(result, row, 16),
        .handler = (int)hora__pg_integer(result, row, 11),
        .key = hora__pg_text(result, row, 12),
        .definition = hora__pg_text(result, row, 13),
        .payload = hora__pg_bytes(result, row, 14),
        .forked = hora__pg_boolean(result, row, 15),
        .handed_back = hora__pg_boolean(result, row, 18),
    };
}

static int compare_claims(const void *a, const void *b)
{
    const hora__claim *x = a, *y = b;
    if (x->due != y->due)
        return x->due < y->due ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int compare_claim_ids(const void *a, const void *b)
{
    const hora__claim *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Texts and payloads stay in the results, which are kept until the next exchange. */
static int read_claims(struct request *request, hora_error *reason)
{
    hora__postgres *postgres = request->link->postgres;
    size_t total = 0;
    for (int lane = 0; lane <= HORA__LANES; lane++)
        if (request->claim_result[lane] >= 0)
            total += (size_t)PQntuples(request->link->results[request->claim_result[lane]]);
    hora__claim *claims = realloc(postgres->claims, (total + 1) * sizeof *claims);
    if (claims == NULL)
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "there is not enough memory for claims");
    postgres->claims = claims;
    size_t count = 0;
    for (int i = 0; i <= HORA__LANES; i++) {
        int lane = i == 0 ? HORA__LANES : i - 1; /* what was claimed before comes first */
        PQclear(postgres->claimed[lane]);
        postgres->claimed[lane] = NULL;
        if (request->claim_result[lane] < 0)
            continue;
        PGresult *result = hora__pg_take_result(request->link, request->claim_result[lane]);
        postgres->claimed[lane] = result;
        size_t first = count;
        for (int row = 0; row < PQntuples(result); row++)
            read_claim(result, row, &claims[count++]);
        qsort(claims + first, count - first, sizeof *claims,
              lane == HORA__LANES ? compare_claim_ids : compare_claims);
    }
    request->exchange->ret_claims = claims;
    request->exchange->ret_claim_count = count;
    return 0;
}

static int read_state(struct request *request, hora_error *reason)
{
    hora__postgres *postgres = request->link->postgres;
    hora__exchange *exchange = request->exchange;
    const PGresult *result = request->link->results[request->state_result];
    assert(PQntuples(result) == 1); /* the node row is locked */
    exchange->ret_begin = hora__pg_integer(request->link->results[request->lease_result], 0, 1);
    exchange->ret_now = hora__pg_integer(result, 0, 6);
    exchange->ret_now_after = exchange->ret_now;
    if (request->now_result >= 0)
        exchange->ret_now_after = hora__pg_integer(request->link->results[request->now_result], 0, 0);
    exchange->ret_reap = hora__pg_boolean(result, 0, 7);
    exchange->ret_lease_left = hora__pg_integer(result, 0, 0) - exchange->ret_now;
    for (int lane = 0; lane < HORA__LANES; lane++)
        exchange->ret_next_due[lane] =
            PQgetisnull(result, 0, 1 + lane) ? HORA__NEVER : hora__pg_integer(result, 0, 1 + lane);
    size_t count = (size_t)hora__pg_array_count(result, 0, 5);
    int64_t *cancelled = realloc(postgres->cancelled, (count + 1) * sizeof *cancelled);
    if (cancelled == NULL)
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "there is not enough memory for an exchange");
    postgres->cancelled = cancelled;
    for (size_t i = 0; i < count; i++)
        cancelled[i] = hora__pg_array_integer(result, 0, 5, (int)i);
    exchange->ret_cancelled = cancelled;
    exchange->ret_cancelled_count = count;
    return 0;
}

static int read_reply(struct request *request, hora_error *reason)
{
    int error = 0;
    for (int i = 0; error == 0 && i < request->group_count; i++) {
        if (request->groups[i].forks)
            read_forked(request, &request->groups[i]);
        else
            error = read_settled(request, &request->groups[i], reason);
    }
    if (error == 0)
        error = read_state(request, reason);
    if (error == 0)
        error = read_claims(request, reason);
    /* the transaction is committed: a node that asks again finds its settlements stale, and claims end
     * with the lease */
    return error == HORA_ENOMEM ? hora__store_refuse(reason, HORA_EIO, NULL, "not enough memory") : error;
}

static int exchange_once(struct request *request, hora_error *reason)
{
    request->sent = 0;
    hora__pg_send_begin(request->link);
    request->sent = request->link->is_pooled ? 2 : 1;
    send_lease(request);
    send_settles(request);
    send_claims(request);
    send_state(request);
    send_commit(request);
    HORA__STEP("postgres: exchange: before it is sent");
    int error = hora__pg_receive(request->link, reason);
    HORA__STEP("postgres: exchange: after the reply");
    bool divided = error < 0 && strcmp(request->link->state, "22012") == 0;
    if (divided && request->link->failed == request->lease_result)
        return hora__store_refuse(reason, HORA_EEXPIRED, NULL, "the lease of node %lld has ended",
                                  (long long)request->lease->node);
    if (divided) { /* a settlement has met a change of another transaction, or SETTLE_DONE does not suffice */
        request->is_locked = true;
        return HORA_EAGAIN;
    }
    return error < 0 ? error : read_reply(request, reason);
}

int hora__pg_exchange(hora__backend *backend, const hora__lease *lease, hora__exchange *exchange,
                      hora_error *reason)
{
    hora__postgres *postgres = hora__pg_of(backend);
    struct request request = {.link = &postgres->node, .lease = lease, .exchange = exchange};
    int error = sort_settles(&request, reason);
    int tries = 0;
    do {
        if (error == 0 || error == HORA_EAGAIN)
            error = hora__pg_connect(&postgres->node, false, reason);
        if (error == 0)
            error = exchange_once(&request, reason);
    } while (error == HORA_EAGAIN && ++tries < HORA__PG_MAX_TRIES);
    hora__pg_parameters_free(&request.parameters);
    free(request.settles);
    if (error == HORA_EAGAIN)
        return hora__store_refuse(reason, HORA_EBUSY, NULL,
                                  "PostgreSQL: transactions conflict again and again");
    return error;
}
