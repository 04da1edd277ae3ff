/* SPDX-License-Identifier: Apache-2.0 */
/* test_misuse.c - calls at the wrong place or with wrong arguments: they are refused, and change nothing */
#include "fixture.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hora/thread.h>

/* ---- calls that would wait for themselves ---- */

static void check_refused(hora_durable *durable)
{
    CHECK_ERROR(hora_durable_stop(durable, 0, NULL), HORA_EDEADLK);
    CHECK_ERROR(hora_durable_free(durable), HORA_EDEADLK);
    CHECK_ERROR(hora_durable_await_idle(durable, HORA_FOREVER), HORA_EDEADLK);
}

static int stop_own_scheduler(const hora_run *run, void *arg)
{
    check_refused(run->durable);
    CHECK_ERROR(hora_store_close(((fixture *)arg)->store), HORA_EBUSY);
    CHECK(!hora_run_is_cancelled(run));
    return 0;
}

/* The refused calls change nothing: a task that is put afterwards starts at once. */
STORE_TEST(a_handler_cannot_stop_its_scheduler)
{
    fixture f;
    fixture_open(&f, address, NULL);
    CHECK_OK(hora_durable_add_handler(f.durable, "stop", stop_own_scheduler, &f, NULL, NULL));
    fixture_start(&f);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "stop"));
    fixture_run(&f, HORA_MS(50));
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run"));
    fixture_run(&f, HORA_MS(50));
    CHECK_INT(f.run_count, 1);
    fixture_close(&f);
}

static void refuse_in_notify(hora_durable *durable, hora_durable_event event, int64_t count,
                             const hora_error *error, void *arg)
{
    (void)count, (void)error;
    check_refused(durable);
    if (event == HORA_DURABLE_CLOCK_STEPPED)
        atomic_fetch_add((_Atomic int *)arg, 1);
}

STORE_TEST(a_report_cannot_stop_its_scheduler)
{
    fixture f;
    _Atomic int reports = 0;
    fixture_open(&f, address, HORA_DURABLE_OPTIONS(.notify = refuse_in_notify, .notify_arg = &reports));
    fixture_start(&f);
    fixture_run(&f, HORA_SECONDS(3));
    CHECK_OK(hora_virtual_clock_step_wall(f.clock, HORA_SECONDS(1)));
    fixture_run(&f, HORA_SECONDS(3));
    CHECK_INT(reports, 1);
    fixture_close(&f);
}

/* Waits for hora_durable_free, and goes on for a while. */
static int run_on(const hora_run *run, void *arg)
{
    _Atomic int *code = arg;
    int result = 0;
    while (result == 0 && !hora_run_is_cancelled(run))
        result = hora_sleep(HORA_MS(1));
    *code = result == 0 ? hora_sleep(HORA_MS(200)) : result;
    return 0;
}

TEST_REAL(an_interrupt_of_the_caller_does_not_interrupt_runs, "")
{
    hora_store *store;
    hora_durable *durable;
    hora_durable_status status = HORA_INIT(hora_durable_status);
    hora_thread *self;
    _Atomic int code = 1;
    CHECK_OK(hora_store_open("memory:", NULL, &store, NULL));
    CHECK_OK(hora_durable_new(store, HORA_DURABLE_OPTIONS(.threads = 1), &durable, NULL));
    CHECK_OK(hora_durable_add_handler(durable, "on", run_on, &code, NULL, NULL));
    CHECK_OK(hora_durable_start(durable, NULL));
    CHECK_OK(hora_store_put(store, HORA_DURABLE_TASK(.handler = "on"), NULL, NULL));
    while (status.running == 0 && hora_sleep(HORA_MS(1)) == 0)
        CHECK_OK(hora_durable_get_status(durable, &status));
    CHECK_OK(hora_thread_self(&self));
    CHECK_OK(hora_thread_interrupt(self));
    CHECK_OK(hora_durable_free(durable));
    CHECK_INT(code, 0);
    CHECK(hora_interrupted()); /* the flag is set again */
    (void)hora_thread_unref(self);
    CHECK_OK(hora_store_close(store));
}

typedef struct deaf {
    _Atomic bool may_end, was_lost;
} deaf;

/* Ignores interrupts until it may end. */
static int ignore_interrupts(const hora_run *run, void *arg)
{
    deaf *own = arg;
    CHECK(!hora_run_is_lost(run));
    while (!own->may_end)
        (void)hora_sleep(HORA_MS(1));
    own->was_lost = hora_run_is_lost(run) && hora_run_is_cancelled(run);
    return 0;
}

/* It runs at the time of the machine, because its handler does not end by itself. */
STORE_TEST(a_run_that_does_not_end_is_handed_back)
{
    hora_store *store;
    hora_durable *durable;
    hora_durable_status status = HORA_INIT(hora_durable_status);
    deaf own = {.may_end = false};
    CHECK_OK(hora_store_open(address, NULL, &store, NULL));
    CHECK_OK(hora_durable_new(store, HORA_DURABLE_OPTIONS(.threads = 2), &durable, NULL));
    CHECK_OK(hora_durable_add_handler(durable, "deaf", ignore_interrupts, &own, NULL, NULL));
    CHECK_OK(hora_durable_start(durable, NULL));
    CHECK_OK(hora_store_put(store, HORA_DURABLE_TASK(.handler = "deaf", .key = "least"), NULL, NULL));
    CHECK_OK(hora_store_put(
        store, HORA_DURABLE_TASK(.handler = "deaf", .key = "most", .delivery = HORA_AT_MOST_ONCE), NULL,
        NULL));
    while (status.running < 2 && hora_sleep(HORA_MS(1)) == 0)
        CHECK_OK(hora_durable_get_status(durable, &status));
    CHECK_INT(hora_durable_stop(durable, HORA_MS(10), NULL), 2);
    CHECK_INT(hora_durable_stop(durable, HORA_MS(10), NULL), 0);
    /* The first one waits for another node; the other one is not repeated. */
    hora_store_stats stats = HORA_INIT(hora_store_stats);
    CHECK_OK(hora_store_get_stats(store, &stats, NULL));
    CHECK(stats.waiting == 1 && stats.claimed == 0 && stats.nodes == 0);
    CHECK_INT(hora_store_cancel(store, "most", 0, NULL), HORA_CANCEL_TOO_LATE);
    own.may_end = true;
    CHECK_OK(hora_durable_free(durable));
    CHECK(own.was_lost);
    CHECK_INT(hora_store_cancel(store, "least", 0, NULL), HORA_CANCEL_REMOVED);
    CHECK_OK(hora_store_close(store));
}

/* ---- a handler and its own task ---- */

typedef struct meddler {
    hora_store *store;
    int what;
    _Atomic int runs;
} meddler;

static int meddle(const hora_run *run, void *arg)
{
    meddler *own = arg;
    if (atomic_fetch_add(&own->runs, 1) > 0)
        return 0;
    switch (own->what) {
    case 0:
        CHECK_INT(hora_store_cancel(own->store, run->key, 0, NULL), HORA_CANCEL_RUNNING);
        break;
    case 1:
        CHECK_OK(hora_store_retime(own->store, run->key, 0, (hora_instant){0}, NULL));
        break;
    case 2:
        CHECK_INT(hora_store_pause(own->store, run->key, 0, NULL), 1);
        break;
    case 3:
        CHECK_OK(hora_store_put(
            own->store,
            HORA_DURABLE_TASK(.handler = "meddle", .key = "k", .if_exists = HORA_IF_EXISTS_REPLACE), NULL,
            NULL));
        break;
    default:
        CHECK_INT(hora_store_cancel(own->store, NULL, run->task_id, NULL), HORA_CANCEL_RUNNING);
        CHECK_OK(hora_store_put(own->store, HORA_DURABLE_TASK(.handler = "meddle", .key = "k"), NULL, NULL));
        break;
    }
    return 0;
}

STORE_TEST(a_handler_changes_its_own_task)
{
    static const struct {
        int runs, left; /* in twelve seconds, and tasks afterwards */
    } once[] = {{1, 0}, {2, 0}, {1, 0}, {2, 0}, {2, 0}},
      recurring[] = {{1, 0}, {3, 0}, {1, 1}, {2, 0}, {2, 0}};
    for (int i = 0; i < 30; i++) {
        fixture f;
        meddler own = {.what = i % 5};
        bool recurs = i / 5 % 2 == 1;
        fixture_open(&f, address, NULL);
        own.store = f.store;
        CHECK_OK(hora_durable_add_handler(f.durable, "meddle", meddle, &own, NULL, NULL));
        fixture_start(&f);
        fixture_put(&f,
                    HORA_DURABLE_TASK(.handler = "meddle", .key = "k",
                                      .delivery = i < 10 ? HORA_AT_LEAST_ONCE : HORA_AT_MOST_ONCE,
                                      .fixed_rate = recurs ? HORA_SECONDS(3) : 0, .count = recurs ? 3 : 0,
                                      .overlap = i < 20 || !recurs ? HORA_OVERLAP_NEVER : HORA_OVERLAP_ALLOW,
                                      .overlap_max = i < 20 || !recurs ? 0 : 2));
        fixture_run(&f, HORA_SECONDS(12));
        CHECK_INT(own.runs, recurs ? recurring[own.what].runs : once[own.what].runs);
        CHECK_INT(fixture_count(&f, 0), recurs ? recurring[own.what].left : once[own.what].left);
        (void)hora_store_cancel(f.store, "k", 0, NULL);
        fixture_close(&f);
    }
}

/* ---- names ---- */

static int ignore_task(const hora_durable_info *info, void *arg)
{
    (void)info, (void)arg;
    return 0;
}

static int ignore_record(const hora_run_record *record, void *arg)
{
    (void)record, (void)arg;
    return 0;
}

static int ignore_run(const hora_run *run, void *arg)
{
    (void)run, (void)arg;
    return 0;
}

static hora_ns never(const hora_trigger_context *context, void *arg)
{
    (void)context, (void)arg;
    return HORA_NEVER;
}

/* PostgreSQL refuses texts that are not UTF-8, so all stores do. */
STORE_TEST(texts_that_are_not_utf8_are_refused)
{
    static const char wrong[] = "a\xff";
    fixture f;
    hora_error error;
    hora_durable *durable;
    hora_trigger *trigger;
    hora_instant now = {0};
    fixture_open(&f, address, NULL);
    CHECK_OK(hora_trigger_new(never, NULL, NULL, &trigger));
    CHECK_ERROR(hora_durable_add_handler(f.durable, wrong, ignore_run, NULL, NULL, &error), HORA_EINVAL);
    CHECK(strcmp(error.message, "name is not UTF-8 at byte 1") == 0);
    CHECK_ERROR(hora_durable_add_trigger(f.durable, wrong, trigger, &error), HORA_EINVAL);
    CHECK_ERROR(hora_store_cancel(f.store, wrong, 0, &error), HORA_EINVAL);
    CHECK_ERROR(hora_store_retime(f.store, wrong, 0, now, &error), HORA_EINVAL);
    CHECK_ERROR(hora_store_pause(f.store, wrong, 0, &error), HORA_EINVAL);
    CHECK_ERROR(hora_store_resume(f.store, wrong, 0, &error), HORA_EINVAL);
    CHECK_ERROR(hora_store_revive(f.store, wrong, 0, now, &error), HORA_EINVAL);
    const hora_durable_filter *filters[] = {HORA_DURABLE_FILTER(.key = wrong),
                                            HORA_DURABLE_FILTER(.key_prefix = wrong),
                                            HORA_DURABLE_FILTER(.handler = wrong)};
    for (int i = 0; i < 3; i++)
        CHECK_ERROR(hora_store_list(f.store, filters[i], ignore_task, NULL, &error), HORA_EINVAL);
    CHECK_ERROR(hora_store_history(f.store, HORA_HISTORY_FILTER(.key = wrong), ignore_record, NULL, &error),
                HORA_EINVAL);
    /* Names that no task can have are not found. */
    CHECK_INT(hora_store_cancel(f.store, "", 0, &error), HORA_CANCEL_TOO_LATE);
    CHECK_OK(hora_durable_free(f.durable));
    CHECK_ERROR(hora_durable_new(f.store, HORA_DURABLE_OPTIONS(.name = wrong), &durable, &error),
                HORA_EINVAL);
    CHECK_OK(hora_durable_new(f.store, HORA_DURABLE_OPTIONS(.name = "\xc3\xa9"), &f.durable, &error));
    /* A store has one durable scheduler. */
    CHECK_ERROR(hora_durable_new(f.store, NULL, &durable, &error), HORA_EBUSY);
    (void)hora_trigger_unref(trigger);
    fixture_close(&f);
}

/* ---- sizes, and processes ---- */

static int check_size(const hora_durable_info *info, void *arg)
{
    *(size_t *)arg = info->payload_size;
    return 0;
}

STORE_TEST(the_largest_payload)
{
    static char bytes[1001];
    size_t size = 0;
    hora_store *store;
    hora_error error;
    CHECK_OK(hora_store_open(address, HORA_STORE_OPTIONS(.max_payload = 1000), &store, &error));
    CHECK_OK(hora_store_put(
        store, HORA_DURABLE_TASK(.handler = "h", .key = "k", .payload = bytes, .payload_size = 1000), NULL,
        &error));
    CHECK_ERROR(hora_store_put(store,
                               HORA_DURABLE_TASK(.handler = "h", .payload = bytes, .payload_size = 1001),
                               NULL, &error),
                HORA_ERANGE);
    CHECK_OK(hora_store_list(store, NULL, check_size, &size, &error));
    CHECK_INT(size, 1000);
    CHECK_OK(hora_store_close(store));
}

STORE_TEST(a_child_process_cannot_use_what_its_parent_has_opened)
{
    fixture f;
    fixture_open(&f, address, NULL);
    fixture_start(&f);
    pid_t child = fork();
    if (child == 0) {
        hora_durable_status status = HORA_INIT(hora_durable_status);
        const hora_durable_task *task = HORA_DURABLE_TASK(.handler = "run");
        bool refused = hora_store_put(f.store, task, NULL, NULL) == HORA_EFORKED &&
                       hora_store_cancel(f.store, "k", 0, NULL) == HORA_EFORKED &&
                       hora_store_list(f.store, NULL, ignore_task, NULL, NULL) == HORA_EFORKED &&
                       hora_store_wake(f.store) == HORA_EFORKED &&
                       hora_store_close(f.store) == HORA_EFORKED &&
                       hora_durable_get_status(f.durable, &status) == HORA_EFORKED &&
                       hora_durable_await_idle(f.durable, 0) == HORA_EFORKED &&
                       hora_durable_stop(f.durable, 0, NULL) == HORA_EFORKED &&
                       hora_durable_free(f.durable) == HORA_EFORKED;
        _exit(refused ? 0 : 1);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "run"));
    fixture_run(&f, HORA_MS(50));
    CHECK_INT(f.run_count, 1);
    fixture_close(&f);
}
