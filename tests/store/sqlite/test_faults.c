/* SPDX-License-Identifier: Apache-2.0 */
/* test_faults.c - a fault of the disk at each operation of each call of the SQLite backend
 *
 * A scenario is a sequence of calls. It runs without faults first, and the rows after each call are kept as
 * texts: the states. Then it runs again and again on a copy of the same database, with a fault at the first,
 * second, third ... operation on the disk, until it ends without one. If k calls have returned success, the
 * rows must afterwards be in state k, or in state k + 1 if the next call did not get a clear answer. The
 * clock is virtual, so the states are exact.
 *
 * After a fault that passes, the same open store must work again. After a loss of power the store must open
 * again, also if power is lost once more while it does.
 *
 * HORA_FAULTS_STRIDE=N tries only every N-th operation, beginning at random. With HORA_SOAK=1 all are tried,
 * and each loss of power with many outcomes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "fixture.h"

enum { MAX_STEPS = 8, MAX_CLAIMS = 16, BIG = 20000 };

/* What the calls of a scenario need. `leases` and `claims` are those of the setup. */
typedef struct fault_run {
    hora_virtual_clock *clock;
    const char *path;
    bool relaxed;
    hora__backend *backend;
    hora__lease lease;
    hora__claim claims[MAX_CLAIMS];
    size_t claim_count;
    hora_error reason;
} fault_run;

typedef struct fault_scenario {
    const char *name;
    void (*setup)(fault_run *run); /* NULL: there is no database */
    int64_t later_us;              /* time between setup and calls */
    int (*steps[MAX_STEPS])(fault_run *run);
} fault_scenario;

static const hora_clock *wall(const fault_run *run)
{
    return hora_virtual_clock_view(run->clock, HORA_CLOCK_WALL);
}

static int open_store(fault_run *run)
{
    hora_store_options options = {.clock = wall(run), .relaxed_sync = run->relaxed};
    int error = fixture_open_with(run->path, options, &run->backend, &run->reason);
    if (error < 0)
        run->backend = NULL;
    return error;
}

static void close_store(fault_run *run)
{
    if (run->backend != NULL)
        fixture_close(run->backend);
    run->backend = NULL;
}

/* ---- setup ---- */

static const char big[BIG] = "a payload that needs several pages";

static const hora__put tasks[] = {
    {.handler = "h", .key = "done", .lane = 0, .history = true, .payload = {"x", 1}},
    {.handler = "h", .key = "retry", .lane = 1},
    {.handler = "h", .key = "dead", .lane = 2, .history = true},
    {.handler = "h", .key = "release", .lane = 2, .payload = {big, BIG}},
    {.handler = "h", .key = "advance", .lane = 2, .recurring = true, .definition = "rate 1000000"},
    {.handler = "h", .key = "start", .lane = 2, .recurring = true, .definition = "rate 1000000"},
    {.handler = "h", .key = "fork", .lane = 3, .recurring = true, .definition = "rate 1000000"},
    {.handler = "h", .key = "cancelled", .lane = 3, .recurring = true, .definition = "rate 1000000"},
};
enum { TASKS = sizeof tasks / sizeof *tasks };

static void must(fault_run *run, int result)
{
    if (result < 0)
        test_fail(__FILE__, __LINE__, "setup: %s: %s", hora_errname(result), run->reason.message);
}

/* Claims what is due, and keeps the claims in the order of their ids, which is that of `tasks`. */
static void claim_all(fault_run *run, int limit)
{
    hora__exchange exchange;
    must(run, fixture_exchange(run->backend, &run->lease, NULL, 0, NULL, limit, &exchange, &run->reason));
    for (size_t i = 0; i < exchange.ret_claim_count && run->claim_count < MAX_CLAIMS; i++) {
        size_t place = run->claim_count++;
        for (; place > 0 && run->claims[place - 1].id > exchange.ret_claims[i].id; place--)
            run->claims[place] = run->claims[place - 1];
        run->claims[place] = exchange.ret_claims[i];
    }
}

/* A node has claimed all of `tasks`; others wait, one of them paused; one task is dead. */
static void set_up(fault_run *run)
{
    hora__put_done done[TASKS];
    size_t wrong;
    hora_error *reason = &run->reason;
    hora__backend *backend = run->backend;
    must(run, backend->ops->join(backend, "first", 5000000, &run->lease, reason));
    hora__put doomed = {.handler = "other", .key = "doomed", .after_now = true};
    must(run, fixture_put(backend, &doomed, reason));
    claim_all(run, 1);
    hora__settle dead = {.id = run->claims[0].id,
                         .fence = run->claims[0].fence,
                         .owner = run->lease.node,
                         .kind = HORA__SETTLE_DEAD,
                         .outcome = HORA_RUN_GAVE_UP,
                         .history = true};
    hora__settled settled;
    hora__exchange exchange;
    must(run, fixture_exchange(backend, &run->lease, &dead, 1, &settled, 0, &exchange, reason));
    run->claim_count = 0;
    must(run, backend->ops->put(backend, tasks, TASKS, done, &wrong, reason));
    claim_all(run, TASKS);
    must(run,
         backend->ops->change(backend, &(hora__change){HORA__CHANGE_CANCEL, .key = "cancelled"}, reason));
    must(run, backend->ops->change(backend, &(hora__change){HORA__CHANGE_PAUSE, .key = "retry"}, reason));
    for (int i = 0; i < 6; i++) {
        char key[16];
        snprintf(key, sizeof key, "waits %d", i);
        hora__put put = {.handler = "h", .key = key, .lane = i % 4, .payload = {key, 5}};
        must(run, fixture_put(backend, &put, reason));
    }
    must(run, backend->ops->change(backend, &(hora__change){HORA__CHANGE_PAUSE, .key = "waits 5"}, reason));
    sqlite3 *db = fixture_connect(run->path);
    CHECK_INT(fixture_execute(db, "CREATE TABLE effect (id INTEGER PRIMARY KEY, what TEXT)"), SQLITE_OK);
    sqlite3_close(db);
}

/* ---- calls ---- */

static int step_open(fault_run *run)
{
    return open_store(run);
}

static int step_put(fault_run *run)
{
    const hora__put puts[] = {
        {.handler = "h", .payload = {big, BIG}, .lane = 2},
        {.handler = "h", .key = "new", .recurring = true, .definition = "rate 5", .payload = {big, 100}},
        {.handler = "other", .key = "waits 1", .if_exists = HORA_IF_EXISTS_REPLACE, .payload = {big, BIG}},
        {.handler = "h", .key = "advance", .if_exists = HORA_IF_EXISTS_KEEP},
        {.handler = "h", .key = "fork", .if_exists = HORA_IF_EXISTS_UPGRADE, .revision = 3, .lane = 1},
    };
    enum { COUNT = sizeof puts / sizeof *puts };
    hora__put_done done[COUNT];
    size_t wrong;
    return run->backend->ops->put(run->backend, puts, COUNT, done, &wrong, &run->reason);
}

static int step_put_one(fault_run *run)
{
    hora__put put = {.handler = "h", .lane = 2, .payload = {big, 3000}};
    return fixture_put(run->backend, &put, &run->reason);
}

static int step_join(fault_run *run)
{
    hora__lease lease;
    return run->backend->ops->join(run->backend, "second", 5000000, &lease, &run->reason);
}

static hora__settle settle_of(const fault_run *run, size_t task, hora__settle_kind kind,
                              hora_run_outcome outcome)
{
    return (hora__settle){.id = run->claims[task].id,
                          .fence = run->claims[task].fence,
                          .owner = run->lease.node,
                          .kind = kind,
                          .outcome = outcome,
                          .history = true,
                          .overlap_max = 2,
                          .planned = 1000000,
                          .due = 1000000,
                          .after_now = true,
                          .note = {"a note", 6}};
}

static int step_exchange(fault_run *run)
{
    const hora__settle settles[] = {
        settle_of(run, 0, HORA__SETTLE_DONE, HORA_RUN_SUCCEEDED),
        settle_of(run, 1, HORA__SETTLE_RETRY, HORA_RUN_FAILED),
        settle_of(run, 2, HORA__SETTLE_DEAD, HORA_RUN_GAVE_UP),
        settle_of(run, 3, HORA__SETTLE_RELEASE, 0),
        settle_of(run, 4, HORA__SETTLE_ADVANCE, HORA_RUN_SUCCEEDED),
        settle_of(run, 5, HORA__SETTLE_START, 0),
        settle_of(run, 6, HORA__SETTLE_FORK, 0),
        settle_of(run, 7, HORA__SETTLE_ADVANCE, HORA_RUN_FAILED),
    };
    enum { COUNT = sizeof settles / sizeof *settles };
    hora__settled settled[COUNT];
    hora__exchange exchange;
    int error =
        fixture_exchange(run->backend, &run->lease, settles, COUNT, settled, 2, &exchange, &run->reason);
    for (size_t i = 0; error == 0 && i < COUNT; i++)
        CHECK_INT(settled[i], HORA__SETTLED_OK);
    return error;
}

/* The same settlements again, as after an unknown outcome: all are stale, or have been done. */
static int step_exchange_again(fault_run *run)
{
    hora__settle settle = settle_of(run, 0, HORA__SETTLE_DONE, HORA_RUN_SUCCEEDED);
    hora__settled settled;
    hora__exchange exchange;
    int error = fixture_exchange(run->backend, &run->lease, &settle, 1, &settled, 2, &exchange, &run->reason);
    if (error == 0)
        CHECK_INT(settled, HORA__SETTLED_STALE);
    return error;
}

static int step_reap(fault_run *run)
{
    int64_t released;
    int error = run->backend->ops->reap(run->backend, &run->lease, 100, &released, &run->reason);
    if (error == 0)
        CHECK_INT(released, TASKS);
    return error;
}

static int step_leave(fault_run *run)
{
    return run->backend->ops->leave(run->backend, &run->lease, &run->reason);
}

static int change(fault_run *run, hora__change_kind kind, const char *key)
{
    hora__change change = {.kind = kind, .key = key, .due = START_US + 7777777};
    int result = run->backend->ops->change(run->backend, &change, &run->reason);
    return result < 0 ? result : 0;
}

static int step_cancel(fault_run *run)
{
    return change(run, HORA__CHANGE_CANCEL, "waits 0");
}

static int step_cancel_running(fault_run *run)
{
    return change(run, HORA__CHANGE_CANCEL, "advance");
}

static int step_retime(fault_run *run)
{
    return change(run, HORA__CHANGE_RETIME, "waits 1");
}

static int step_pause(fault_run *run)
{
    return change(run, HORA__CHANGE_PAUSE, "start");
}

static int step_resume(fault_run *run)
{
    return change(run, HORA__CHANGE_RESUME, "waits 5");
}

static int step_revive(fault_run *run)
{
    return change(run, HORA__CHANGE_REVIVE, "doomed");
}

static int step_trim(fault_run *run)
{
    int64_t deleted;
    int error = run->backend->ops->trim(run->backend, START_US + 1, &deleted, &run->reason);
    if (error == 0)
        CHECK_INT(deleted, 1);
    return error;
}

static int step_transaction(fault_run *run)
{
    hora__backend *backend = run->backend;
    void *connection;
    int error = backend->ops->begin(backend, &connection, &run->reason);
    if (error < 0)
        return error;
    if (fixture_execute(connection, "INSERT INTO effect (what) VALUES ('an effect'), ('another')") != 0) {
        backend->ops->end(backend, connection, false, &run->reason);
        return HORA_EIO;
    }
    hora__settle settle = settle_of(run, 0, HORA__SETTLE_DONE, HORA_RUN_SUCCEEDED);
    int settled = backend->ops->settle_in(backend, connection, &run->lease, &settle, &run->reason);
    CHECK(settled != 0);
    error = backend->ops->end(backend, connection, settled == 1, &run->reason);
    return settled < 0 ? settled : error;
}

/* Copies the log into the database, as every thousand pages of commits do. It changes no row. */
static int step_checkpoint(fault_run *run)
{
    sqlite3 *db;
    int code = sqlite3_open_v2(run->path, &db, SQLITE_OPEN_READWRITE, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
    sqlite3_close(db);
    return code == SQLITE_OK ? 0 : HORA_EIO;
}

static const fault_scenario scenarios[] = {
    {"create", NULL, 0, {step_open, step_put_one}},
    {"put", set_up, 1000, {step_put}},
    {"put_often", set_up, 1000, {step_put_one, step_put, step_put_one}},
    {"checkpoint", set_up, 1000, {step_put, step_checkpoint, step_put_one, step_checkpoint, step_put_one}},
    {"join", set_up, 1000, {step_join}},
    {"exchange", set_up, 1000000, {step_exchange, step_exchange_again}},
    {"reap", set_up, 10000000, {step_reap}},
    {"leave", set_up, 1000000, {step_leave}},
    {"cancel", set_up, 1000000, {step_cancel, step_cancel_running}},
    {"change", set_up, 1000000, {step_retime, step_pause, step_resume, step_revive}},
    {"trim", set_up, 1000000, {step_trim}},
    {"transaction", set_up, 1000000, {step_transaction}},
};

/* ---- running ---- */

/* A scenario without faults: what the setup has left, and the states. */
typedef struct fault_states {
    const fault_scenario *scenario;
    fault_run setup;
    const char *original; /* the database after the setup */
    int steps;
    char *states[MAX_STEPS + 1];
} fault_states;

static void new_clock(fault_run *run, int64_t time_us)
{
    hora_instant start = {time_us * 1000};
    run->clock = NULL;
    CHECK_OK(hora_virtual_clock_new(HORA_VIRTUAL_CLOCK_OPTIONS(.wall = start), &run->clock, NULL));
}

/* Begins a run on a copy of the original. */
static fault_run begin_run(const fault_states *expected, bool relaxed)
{
    fault_run run = expected->setup;
    run.relaxed = relaxed;
    new_clock(&run, START_US + expected->scenario->later_us);
    fixture_copy(expected->original, run.path);
    if (expected->scenario->setup != NULL)
        must(&run, open_store(&run));
    return run;
}

static void end_run(fault_run *run)
{
    close_store(run);
    CHECK_OK(hora_virtual_clock_free(run->clock));
}

static void expect(const fault_scenario *scenario, fault_states *ret_expected)
{
    *ret_expected = (fault_states){.scenario = scenario, .original = fixture_path("original")};
    fault_run *setup = &ret_expected->setup;
    fixture_remove(ret_expected->original);
    if (scenario->setup != NULL) {
        setup->path = ret_expected->original;
        new_clock(setup, START_US);
        must(setup, open_store(setup));
        scenario->setup(setup);
        end_run(setup);
    }
    setup->path = fixture_path("copy");
    fault_run run = begin_run(ret_expected, false);
    ret_expected->states[0] = fixture_dump(run.path);
    for (int i = 0; i < MAX_STEPS && scenario->steps[i] != NULL; i++) {
        must(&run, scenario->steps[i](&run));
        ret_expected->states[++ret_expected->steps] = fixture_dump(run.path);
    }
    end_run(&run);
}

static void free_expected(fault_states *expected)
{
    for (int i = 0; i <= expected->steps; i++)
        free(expected->states[i]);
}

/* Runs the calls until one fails. Returns how many have succeeded. */
static int run_steps(const fault_scenario *scenario, int steps, fault_run *run, int *ret_error)
{
    *ret_error = 0;
    for (int done = 0; done < steps; done++) {
        *ret_error = scenario->steps[done](run);
        if (*ret_error < 0)
            return done;
    }
    return steps;
}

static void describe(char *text, size_t size, const fault_states *expected, faults_kind kind, int64_t n)
{
    static const char *const kinds[] = {"no fault", "failure", "failures", "full disk", "power loss"};
    snprintf(text, size, "%s: %s at operation %" PRId64, expected->scenario->name, kinds[kind], n);
}

/* Checks that the rows are in one of the states `first` to `last`. Returns which, or -1. */
static int check_state(const fault_states *expected, const char *path, int first, int last, const char *what)
{
    char *state = fixture_dump(path);
    int found = last > expected->steps ? expected->steps : last;
    while (found >= first && strcmp(state, expected->states[found]) != 0)
        found--;
    if (found < first) {
        test_fail(__FILE__, __LINE__, "%s: after %d successful calls the rows are\n%s\nnot\n%s", what, first,
                  state, expected->states[first]);
        found = -1;
    }
    free(state);
    return found;
}

/* The store takes tasks and gives them to a node, and all that it gives can be settled. */
static void check_life(fault_run *run, const char *what)
{
    hora__put put = {.handler = "h", .key = "a sign of life", .after_now = true};
    int error = fixture_put(run->backend, &put, &run->reason);
    if (error == 0)
        error = fixture_drain(run->backend, &run->reason);
    if (error <= 0)
        test_fail(__FILE__, __LINE__, "%s: later calls do not work: %s: %s", what, hora_errname(error),
                  run->reason.message);
}

/* A fault that passes. Returns false if it has not happened. */
static bool try_passing(const fault_states *expected, faults_kind kind, int64_t n)
{
    char what[128];
    int error;
    describe(what, sizeof what, expected, kind, n);
    fault_run run = begin_run(expected, false);
    faults_arm(kind, n);
    int done = run_steps(expected->scenario, expected->steps, &run, &error);
    bool happened = faults_disarm();
    if (error != 0 && error != (kind == FAULTS_FULL ? HORA_ENOSPC : HORA_EIO))
        test_fail(__FILE__, __LINE__, "%s: %s: %s", what, hora_errname(error), run.reason.message);
    if (run.backend == NULL)
        must(&run, open_store(&run));
    /* Only after HORA_EIO the outcome is not known. */
    else
        check_state(expected, run.path, done, error == HORA_EIO ? done + 1 : done, what);
    check_life(&run, what);
    end_run(&run);
    fixture_check(run.path, what);
    faults_settle(1);
    return happened;
}

/* Opens a store after a loss of power. Sometimes power is lost again. */
static void open_again(fault_run *run, uint64_t seed, const char *what)
{
    if (seed % 2 == 0) {
        faults_arm(FAULTS_POWER_LOSS, (int64_t)(seed / 2 % 12) + 1);
        (void)open_store(run);
        close_store(run);
        faults_disarm();
        faults_settle(seed);
    }
    int error = open_store(run);
    if (error < 0)
        test_fail(__FILE__, __LINE__, "%s: it does not open again: %s: %s", what, hora_errname(error),
                  run->reason.message);
}

/* A loss of power. Returns false if it has not happened. *ret_lost: the number of calls that have succeeded
 * and whose effects are gone. */
static bool try_power_loss(const fault_states *expected, int64_t n, uint64_t seed, bool relaxed,
                           int *ret_lost)
{
    char what[128];
    int error;
    describe(what, sizeof what, expected, FAULTS_POWER_LOSS, n);
    fault_run run = begin_run(expected, relaxed);
    faults_arm(FAULTS_POWER_LOSS, n);
    int done = run_steps(expected->scenario, expected->steps, &run, &error);
    close_store(&run);
    bool happened = faults_disarm();
    faults_settle(seed);
    open_again(&run, seed, what);
    *ret_lost = 0;
    if (run.backend != NULL) {
        /* A store that did not exist has the state after the first call, once it is open. */
        int least = expected->scenario->setup == NULL ? 1 : 0;
        int first = relaxed || done < least ? least : done;
        int found = check_state(expected, run.path, first, done + 1, what);
        *ret_lost = found < done ? done - found : 0;
        check_life(&run, what);
    }
    end_run(&run);
    fixture_check(run.path, what);
    faults_settle(1);
    return happened;
}

/* ---- sweeps ---- */

static bool is_soak(void)
{
    const char *soak = getenv("HORA_SOAK");
    return soak != NULL && strcmp(soak, "1") == 0;
}

static uint32_t stride(void)
{
    const char *text = getenv("HORA_FAULTS_STRIDE");
    long number = text != NULL && !is_soak() ? strtol(text, NULL, 10) : 1;
    return number > 1 ? (uint32_t)number : 1;
}

static void sweep_scenario(const fault_scenario *scenario, faults_kind kind)
{
    faults_install();
    fault_states expected;
    expect(scenario, &expected);
    int64_t tried = 0, n = 1 + test_random(stride());
    bool happened = true;
    for (; happened; n += stride()) {
        int lost = 0;
        if (kind != FAULTS_POWER_LOSS)
            happened = try_passing(&expected, kind, n);
        for (int i = 0; kind == FAULTS_POWER_LOSS && i < (is_soak() ? 50 : 2); i++)
            happened =
                try_power_loss(&expected, n, ((uint64_t)test_random(1u << 30) << 1) + (i & 1), false, &lost);
        CHECK_INT(lost, 0);
        tried++;
    }
    CHECK(tried > (stride() == 1 ? 5 : 1)); /* the scenario uses the disk */
    free_expected(&expected);
}

static void sweep(faults_kind kind)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        sweep_scenario(&scenarios[i], kind);
}

TEST_REAL(sqlite_survives_one_failure_of_the_disk, "")
{
    sweep(FAULTS_FAIL_ONCE);
}

TEST_REAL(sqlite_survives_a_disk_that_fails_for_a_while, "")
{
    sweep(FAULTS_FAIL);
}

TEST_REAL(sqlite_survives_a_full_disk, "")
{
    sweep(FAULTS_FULL);
}

TEST_REAL(sqlite_survives_a_loss_of_power, "")
{
    sweep(FAULTS_POWER_LOSS);
}

/* With relaxed_sync a loss of power may undo the latest commits, the latest first, and nothing else. That it
 * does shows that faults.c loses what was not synced. */
TEST_REAL(sqlite_relaxed_loses_only_the_latest_commits, "")
{
    const fault_scenario often = {"put_often", set_up, 1000, {step_put_one, step_put, step_put_one}};
    faults_install();
    fault_states expected;
    expect(&often, &expected);
    int64_t lost_all = 0;
    bool happened = true;
    for (int64_t n = 1; happened; n++)
        for (int i = 0; i < 4; i++) {
            int lost;
            happened = try_power_loss(&expected, n, ((uint64_t)test_random(1u << 30) << 1) + 1, true, &lost);
            lost_all += lost;
        }
    CHECK(lost_all > 0);
    free_expected(&expected);
}
