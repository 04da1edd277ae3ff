/* SPDX-License-Identifier: Apache-2.0 */
/* test_specs.c - runs the steps of several sessions in all orders, and checks invariants and outcomes
 *
 * specs.txt has the specifications. Each has a line for its name, one for the preparation, and one for each
 * session:
 *
 *     spec late_completion
 *     setup put
 *     x: join claim expire rejoin done
 *     y: join reap claim
 *
 * Each session has a connection of its own to one store. All orders of the steps are run that keep the order
 * within a session. A step that waits for a lock lets the others go on; an order whose next step belongs to a
 * session that waits is impossible, and is not counted. After each order the invariants of backend.h are
 * checked. The results of the steps are collected: specs.expected has each outcome of each specification,
 * and in how many orders it came. With HORA_SPECS_UPDATE=1 that file is written. */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hora/future.h>

#include "fixture.h"

enum { SESSIONS = 3, STEPS = 6, OUTCOMES = 200, RESULT = 16, TOTAL = SESSIONS * STEPS, LEDGER = 64 };

struct session {
    hora__backend *store;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const char *step; /* to be executed; NULL: none */
    bool ends;
    char results[STEPS][RESULT];
    int done;

    hora__lease lease;
    hora__claim held;
    int64_t held_owner;
    bool holds;
    PGconn *locker;   /* of `lock` */
    void *connection; /* of `begin` */
};

struct spec {
    char name[64], setup[64];
    int sessions, step_counts[SESSIONS];
    char steps[SESSIONS][STEPS][16];
};

struct outcome {
    char text[400];
    int count;
};

static struct session sessions[SESSIONS];
static hora__backend *setup_store;
static PGconn *watcher;
static int failures;

/* ---- the ledger: what the store has promised to whom ---- */

static pthread_mutex_t ledger_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    int64_t id, fence;
    bool is_settled;
} ledger[LEDGER];
static int ledger_count;
static char broken[200];

static void breaks(const char *what)
{
    if (broken[0] == '\0')
        snprintf(broken, sizeof broken, "%s", what);
}

static void note_claim(const hora__claim *claim, int64_t now)
{
    pthread_mutex_lock(&ledger_lock);
    for (int i = 0; i < ledger_count; i++)
        if (ledger[i].id == claim->id && ledger[i].fence >= claim->fence)
            breaks("B2: a fence did not increase");
    if (claim->due > now)
        breaks("B5: claimed before it was due");
    if (ledger_count < LEDGER) {
        ledger[ledger_count].id = claim->id;
        ledger[ledger_count].fence = claim->fence;
        ledger[ledger_count++].is_settled = false;
    }
    pthread_mutex_unlock(&ledger_lock);
}

/* A settlement that ends a claim counts at most once, and only for the latest claim. */
static void note_settled(int64_t id, int64_t fence)
{
    pthread_mutex_lock(&ledger_lock);
    for (int i = 0; i < ledger_count; i++) {
        if (ledger[i].id != id)
            continue;
        if (ledger[i].fence > fence)
            breaks("B3: a settlement counts although there is a later claim");
        if (ledger[i].fence == fence && ledger[i].is_settled)
            breaks("B3: a settlement counts twice");
        ledger[i].is_settled |= ledger[i].fence == fence;
    }
    pthread_mutex_unlock(&ledger_lock);
}

static void check_rows(void)
{
    if (sql_on(watcher, "SELECT count(*) FROM @firing f WHERE owner <> 0 AND NOT EXISTS"
                        " (SELECT 1 FROM @node n WHERE n.id = f.owner)") != 0)
        breaks("B1: a firing belongs to a node that does not exist");
    if (sql_on(watcher, "SELECT count(*) - count(DISTINCT key) FROM @firing WHERE key IS NOT NULL") != 0)
        breaks("B7: a key is on two firings");
    if (sql_on(watcher, "SELECT count(*) FROM @firing f WHERE series <> 0 AND NOT EXISTS"
                        " (SELECT 1 FROM @series r WHERE r.id = f.series)") != 0)
        breaks("a firing has lost its series");
    if (sql_on(watcher, "SELECT count(*) FROM @firing WHERE owner = 0 AND (change_cancel OR started"
                        " OR change_due IS NOT NULL)") != 0)
        breaks("a firing that waits has kept what belongs to a claim");
}

/* ---- steps ---- */

static const char *error_name(int error)
{
    switch (error) {
    case HORA_EEXPIRED:
        return "expired";
    case HORA_ENOENT:
        return "absent";
    case HORA_EEXIST:
        return "exists";
    default:
        return hora_errname(error);
    }
}

static void set_result(char *result, int value, const char *const names[])
{
    if (value < 0)
        snprintf(result, RESULT, "%s", error_name(value));
    else if (names != NULL)
        snprintf(result, RESULT, "%s", names[value]);
    else
        snprintf(result, RESULT, "%d", value);
}

static const char *const ok[] = {"ok"};
static const char *const settled_names[] = {"?", "ok", "stale", "full"};

static int exchange(struct session *session, hora__exchange *request)
{
    static const char *const handlers[] = {"h"};
    hora_error error;
    request->handlers = handlers;
    request->handler_count = 1;
    for (int lane = 0; lane < HORA__LANES; lane++)
        request->low[lane] = INT64_MIN;
    return session->store->ops->exchange(session->store, &session->lease, request, &error);
}

static int step_claim(struct session *session)
{
    hora__exchange request = {.claim_limit = {1, 1, 1, 1}};
    int error = exchange(session, &request);
    if (error < 0)
        return error;
    for (size_t i = 0; i < request.ret_claim_count; i++) {
        note_claim(&request.ret_claims[i], request.ret_now);
        session->held = request.ret_claims[i];
        session->held_owner = session->lease.node;
        session->holds = true;
    }
    return (int)request.ret_claim_count;
}

static hora__settle make_settle(const struct session *session, hora__settle_kind kind)
{
    int64_t later = kind == HORA__SETTLE_RETRY ? 0 : 3600 * (int64_t)SECOND;
    return (hora__settle){.id = session->held.id,
                          .fence = session->held.fence,
                          .owner = session->held_owner,
                          .kind = kind,
                          .after_now = true,
                          .planned = later,
                          .due = later,
                          .overlap_max = 2,
                          .outcome = HORA_RUN_SUCCEEDED};
}

static int step_settle(struct session *session, hora__settle_kind kind)
{
    hora__settled settled = 0;
    hora__settle settle = make_settle(session, kind);
    hora__exchange request = {.settles = &settle, .settle_count = 1, .ret_settled = &settled};
    int error = exchange(session, &request);
    bool ends = kind != HORA__SETTLE_START && kind != HORA__SETTLE_FORK;
    if (error == 0 && settled == HORA__SETTLED_OK && ends)
        note_settled(settle.id, settle.fence);
    return error < 0 ? error : (int)settled;
}

static int step_put(hora__backend *store, const char *step)
{
    static const char *const names[] = {"put", "keep", "replace"};
    hora_error error;
    size_t wrong;
    hora__put_done done;
    hora__put put = {.handler = "h", .key = "a", .lane = 2, .after_now = true};
    for (int i = 0; i < 3; i++)
        if (strcmp(step, names[i]) == 0)
            put.if_exists = (hora_if_exists)i;
    if (strcmp(step, "series") == 0) {
        put.recurring = true;
        put.definition = "rate 3600000000";
    }
    int result = store->ops->put(store, &put, 1, &done, &wrong, &error);
    return result < 0 ? result : (int)done.done;
}

static int step_change(struct session *session, hora__change_kind kind)
{
    hora_error error;
    hora__change change = {.kind = kind, .key = "a", .due = INT64_C(4102444800000000)};
    return session->store->ops->change(session->store, &change, &error);
}

/* Steps that end or hold a lock in a transaction of the session. */
static bool step_transaction(struct session *session, const char *step, char *result)
{
    hora__backend *store = session->store;
    hora_error error;
    int value = 0;
    if (strcmp(step, "lock") == 0) {
        sql_on(session->locker, "BEGIN");
        sql_on(session->locker, "SELECT 1 FROM @firing WHERE key = 'a' FOR UPDATE");
    } else if (strcmp(step, "unlock") == 0) {
        sql_on(session->locker, "COMMIT");
    } else if (strcmp(step, "effect") == 0) { /* begin and settle_in */
        hora__settle settle = make_settle(session, HORA__SETTLE_DONE);
        value = store->ops->begin(store, &session->connection, &error);
        if (value == 0)
            value = store->ops->settle_in(store, session->connection, &session->lease, &settle, &error);
        set_result(result, value, NULL);
        return true;
    } else if (strcmp(step, "commit") == 0 || strcmp(step, "rollback") == 0) {
        value = store->ops->end(store, session->connection, step[0] == 'c', &error);
        session->connection = NULL;
    } else {
        return false;
    }
    set_result(result, value, ok);
    return true;
}

static bool step_lease(struct session *session, const char *step, char *result)
{
    hora__backend *store = session->store;
    hora_error error;
    int64_t released = 0;
    int value = 0;
    const char *const *names = ok;
    if (strcmp(step, "join") == 0 || strcmp(step, "rejoin") == 0) {
        value = store->ops->join(store, "x", 60 * (int64_t)SECOND, &session->lease, &error);
    } else if (strcmp(step, "renew") == 0) {
        hora__exchange request = {.renew = true};
        value = exchange(session, &request);
    } else if (strcmp(step, "expire") == 0) {
        sql_on(session->locker, "UPDATE @node SET lease = 1 WHERE id = %lld", (long long)session->lease.node);
    } else if (strcmp(step, "leave") == 0) {
        value = store->ops->leave(store, &session->lease, &error);
    } else if (strcmp(step, "reap") == 0) {
        value = store->ops->reap(store, &session->lease, 100, &released, &error);
        value = value < 0 ? value : (int)released;
        names = NULL;
    } else if (strcmp(step, "claim") == 0) {
        value = step_claim(session);
        names = NULL;
    } else {
        return false;
    }
    set_result(result, value, names);
    return true;
}

static bool step_settlement(struct session *session, const char *step, char *result)
{
    static const char *const names[] = {"", "done", "advance", "retry", "dead", "release", "start", "fork"};
    for (int kind = HORA__SETTLE_DONE; kind <= HORA__SETTLE_FORK; kind++) {
        if (strcmp(step, names[kind]) != 0)
            continue;
        if (session->holds)
            set_result(result, step_settle(session, (hora__settle_kind)kind), settled_names);
        else
            snprintf(result, RESULT, "-");
        return true;
    }
    return false;
}

static void execute(struct session *session, const char *step, char *result)
{
    static const char *const put_names[] = {"?", "inserted", "replaced", "kept"};
    static const char *const cancel_names[] = {"late", "removed", "interrupted", "running"};
    if (strcmp(step, "effect") == 0 && !session->holds)
        snprintf(result, RESULT, "-");
    else if ((strcmp(step, "commit") == 0 || strcmp(step, "rollback") == 0) && session->connection == NULL)
        snprintf(result, RESULT, "-");
    else if (step_transaction(session, step, result) || step_lease(session, step, result) ||
             step_settlement(session, step, result))
        return;
    else if (strcmp(step, "cancel") == 0)
        set_result(result, step_change(session, HORA__CHANGE_CANCEL), cancel_names);
    else if (strcmp(step, "retime") == 0)
        set_result(result, step_change(session, HORA__CHANGE_RETIME), ok);
    else if (strcmp(step, "pause") == 0)
        set_result(result, step_change(session, HORA__CHANGE_PAUSE), NULL);
    else if (strcmp(step, "resume") == 0)
        set_result(result, step_change(session, HORA__CHANGE_RESUME), NULL);
    else
        set_result(result, step_put(session->store, step), put_names);
}

/* ---- sessions ---- */

static void *run_session(void *arg)
{
    struct session *session = arg;
    pthread_mutex_lock(&session->lock);
    for (;;) {
        while (session->step == NULL && !session->ends)
            pthread_cond_wait(&session->changed, &session->lock);
        if (session->ends)
            break;
        const char *step = session->step;
        pthread_mutex_unlock(&session->lock);
        execute(session, step, session->results[session->done]);
        pthread_mutex_lock(&session->lock);
        session->done++;
        session->step = NULL;
        pthread_cond_broadcast(&session->changed);
    }
    pthread_mutex_unlock(&session->lock);
    return NULL;
}

static bool is_busy(struct session *session, int milliseconds)
{
    for (;;) {
        pthread_mutex_lock(&session->lock);
        bool busy = session->step != NULL;
        pthread_mutex_unlock(&session->lock);
        if (!busy || milliseconds-- <= 0)
            return busy;
        poll(NULL, 0, 1);
    }
}

static bool is_blocked(const struct session *waiting)
{
    (void)waiting;
    int busy = 0;
    for (int i = 0; i < SESSIONS; i++)
        busy += is_busy(&sessions[i], 0);
    return sql_on(watcher, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hora'"
                           " AND wait_event_type = 'Lock'") >= busy;
}

/* Starts a step. Returns when it has ended, or waits for a lock. */
static void start_step(struct session *session, const char *step)
{
    pthread_mutex_lock(&session->lock);
    session->step = step;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
    while (is_busy(session, 3) && !is_blocked(session))
        continue;
}

static void release_locks(void)
{
    for (int i = 0; i < SESSIONS; i++)
        if (PQtransactionStatus(sessions[i].locker) != PQTRANS_IDLE)
            sql_on(sessions[i].locker, "ROLLBACK");
}

static void reset(const struct spec *spec)
{
    hora_error error;
    release_locks();
    for (int i = 0; i < SESSIONS; i++) {
        struct session *session = &sessions[i];
        while (is_busy(session, 1))
            continue;
        if (session->connection != NULL)
            session->store->ops->end(session->store, session->connection, false, &error);
        session->connection = NULL;
        session->holds = false;
        session->done = 0;
        session->lease = (hora__lease){0};
    }
    sql_on(watcher, "DELETE FROM @firing; DELETE FROM @node; DELETE FROM @series; DELETE FROM @dead");
    ledger_count = 0;
    if (strcmp(spec->setup, "nothing") != 0)
        (void)step_put(setup_store, spec->setup);
}

/* ---- orders ---- */

static void describe(const struct spec *spec, char *text, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < spec->sessions; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%c:", i == 0 ? "" : " ", "xyz"[i]);
        for (int step = 0; step < spec->step_counts[i]; step++)
            used += (size_t)snprintf(text + used, size - used, " %s=%s", spec->steps[i][step],
                                     sessions[i].results[step]);
    }
}

/* Runs one order; false: it is impossible. */
static bool run_order(const struct spec *spec, const int order[], int count, char *text, size_t size)
{
    int next[SESSIONS] = {0};
    reset(spec);
    for (int i = 0; i < count; i++) {
        struct session *session = &sessions[order[i]];
        if (is_busy(session, 0))
            return false;
        start_step(session, spec->steps[order[i]][next[order[i]]++]);
    }
    for (int i = 0; i < spec->sessions; i++)
        if (is_busy(&sessions[i], 15000))
            breaks("a step waits for ever");
    describe(spec, text, size);
    check_rows();
    return true;
}

static int add_outcome(struct outcome *outcomes, int count, const char *text)
{
    int i = 0;
    while (i < count && strcmp(outcomes[i].text, text) != 0)
        i++;
    if (i == count && count < OUTCOMES)
        snprintf(outcomes[count++].text, sizeof outcomes[0].text, "%s", text);
    outcomes[i < OUTCOMES ? i : OUTCOMES - 1].count++;
    return count;
}

static int compare_outcomes(const void *a, const void *b)
{
    return strcmp(((const struct outcome *)a)->text, ((const struct outcome *)b)->text);
}

/* Makes the next order: a permutation of the sessions' numbers in lexical order. False: it was the last. */
static bool next_order(int order[], int count)
{
    int i = count - 2;
    while (i >= 0 && order[i] >= order[i + 1])
        i--;
    if (i < 0)
        return false;
    int j = count - 1;
    while (order[j] <= order[i])
        j--;
    int swapped = order[i];
    order[i] = order[j];
    order[j] = swapped;
    for (int a = i + 1, b = count - 1; a < b; a++, b--) {
        swapped = order[a];
        order[a] = order[b];
        order[b] = swapped;
    }
    return true;
}

/* Runs all orders of a specification, and writes its outcomes. Returns the number of orders. */
static int run_spec(const struct spec *spec, FILE *out)
{
    static struct outcome outcomes[OUTCOMES];
    memset(outcomes, 0, sizeof outcomes);
    int order[TOTAL], count = 0, orders = 0, outcome_count = 0;
    for (int i = 0; i < spec->sessions; i++)
        for (int step = 0; step < spec->step_counts[i]; step++)
            order[count++] = i;
    do {
        char text[400];
        broken[0] = '\0';
        if (!run_order(spec, order, count, text, sizeof text))
            continue;
        orders++;
        outcome_count = add_outcome(outcomes, outcome_count, text);
        if (broken[0] != '\0') {
            printf("FAIL %s: %s: %s\n", spec->name, broken, text);
            failures++;
        }
    } while (next_order(order, count));
    qsort(outcomes, (size_t)outcome_count, sizeof outcomes[0], compare_outcomes);
    fprintf(out, "spec %s: %d orders\n", spec->name, orders);
    for (int i = 0; i < outcome_count; i++)
        fprintf(out, "%4d  %s\n", outcomes[i].count, outcomes[i].text);
    return orders;
}

/* ---- files ---- */

static void read_steps(struct spec *spec, char *line)
{
    int session = spec->sessions++;
    char *rest;
    for (char *word = strtok_r(line, " \n", &rest); word != NULL; word = strtok_r(NULL, " \n", &rest))
        snprintf(spec->steps[session][spec->step_counts[session]++], 16, "%s", word);
}

/* Reads the next specification; false: there is none. */
static bool read_spec(FILE *file, struct spec *spec)
{
    char line[300];
    memset(spec, 0, sizeof *spec);
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#')
            continue;
        if (line[0] == '\n' && spec->name[0] != '\0')
            return true;
        if (sscanf(line, "spec %63s", spec->name) == 1 || sscanf(line, "setup %63s", spec->setup) == 1)
            continue;
        if (line[0] != '\n' && line[1] == ':' && spec->sessions < SESSIONS)
            read_steps(spec, line + 2);
    }
    return spec->name[0] != '\0';
}

static bool same_files(const char *a, const char *b)
{
    char command[700];
    snprintf(command, sizeof command, "diff -u %s %s", a, b);
    return system(command) == 0;
}

static void open_sessions(void)
{
    setup_store = open_store("specs");
    watcher = admin();
    for (int i = 0; i < SESSIONS; i++) {
        sessions[i].store = open_store("specs");
        sessions[i].locker = admin();
        pthread_mutex_init(&sessions[i].lock, NULL);
        pthread_cond_init(&sessions[i].changed, NULL);
        if (pthread_create(&sessions[i].thread, NULL, run_session, &sessions[i]) != 0)
            exit(1);
    }
}

static void close_sessions(void)
{
    hora_error error;
    release_locks();
    for (int i = 0; i < SESSIONS; i++) {
        struct session *session = &sessions[i];
        pthread_mutex_lock(&session->lock);
        session->ends = true;
        pthread_cond_broadcast(&session->changed);
        pthread_mutex_unlock(&session->lock);
        pthread_join(session->thread, NULL);
        if (session->connection != NULL)
            session->store->ops->end(session->store, session->connection, false, &error);
        session->store->ops->close(session->store);
        PQfinish(session->locker);
    }
    setup_store->ops->close(setup_store);
    PQfinish(watcher);
}

/* HORA_SPEC=NAME runs only that specification. */
static bool is_chosen(const struct spec *spec)
{
    const char *name = getenv("HORA_SPEC");
    return name == NULL || strcmp(name, spec->name) == 0;
}

TEST_REAL(specs_in_all_orders, "")
{
    bool updates = getenv("HORA_SPECS_UPDATE") != NULL;
    int specs = 0, orders = 0;
    char path[300];
    snprintf(path, sizeof path, "%s/outcomes", getenv("HORA_TEST_POSTGRES_DIRECTORY"));
    FILE *in = fopen(HORA_TEST_SPECS "/specs.txt", "r");
    FILE *out = fopen(updates ? HORA_TEST_SPECS "/specs.expected" : path, "w");
    CHECK(in != NULL && out != NULL);
    if (in == NULL || out == NULL)
        return;
    open_sessions();
    struct spec spec;
    while (read_spec(in, &spec))
        if (is_chosen(&spec)) {
            orders += run_spec(&spec, out);
            specs++;
        }
    close_sessions();
    fclose(in);
    fclose(out);
    if (!updates && getenv("HORA_SPEC") == NULL)
        CHECK(same_files(HORA_TEST_SPECS "/specs.expected", path));
    printf("%d specifications, %d orders\n", specs, orders);
    CHECK(orders > 0);
    CHECK_INT(failures, 0);
}
