/* SPDX-License-Identifier: Apache-2.0 */
/* test_detach.c - runs that outlive their handler: hora_run_detach, hora_run_finish and the stop function */
#include "fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <hora/latch.h>

enum { MANY = 100 };

/* One detached run, as the program that owns it sees it. */
typedef struct job {
    fixture *f;
    const hora_run *_Atomic run;    /* NULL when it is not detached, or has been finished */
    const hora_run *_Atomic second; /* one that was detached while `run` was */
    _Atomic int stops, lost, cancelled;
    _Atomic int finished;   /* hora_run_finish has returned */
    _Atomic int late_stops; /* calls of the stop function after that */
    _Atomic int runs;
    bool finish_in_stop;
    hora_latch *in_stop, *leave_stop; /* the stop function waits between them; NULL: it does not wait */
    hora_latch *ended;                /* finish_now has returned; NULL: it does not matter */
} job;

static void finish(job *own, int code)
{
    const hora_run *run = atomic_exchange(&own->run, NULL);
    if (run == NULL)
        return;
    CHECK_OK(hora_run_finish(run, code));
    atomic_fetch_add(&own->finished, 1);
}

static void stop(const hora_run *run, void *arg)
{
    job *own = arg;
    atomic_fetch_add(&own->late_stops, atomic_load(&own->finished));
    atomic_fetch_add(&own->stops, 1);
    atomic_fetch_add(&own->lost, hora_run_is_lost(run));
    atomic_fetch_add(&own->cancelled, hora_run_is_cancelled(run));
    if (own->in_stop != NULL) {
        (void)hora_latch_count_down(own->in_stop);
        CHECK_OK(hora_latch_await(own->leave_stop));
    }
    if (own->finish_in_stop)
        finish(own, HORA_EINTERRUPTED);
}

static int detach(const hora_run *run, void *arg)
{
    job *own = arg;
    atomic_fetch_add(&own->runs, 1);
    CHECK_ERROR(hora_run_detach(NULL, stop, own), HORA_EINVAL);
    CHECK_ERROR(hora_run_detach(run, NULL, own), HORA_EINVAL);
    CHECK_ERROR(hora_run_finish(run, 0), HORA_EINVAL);
    CHECK_OK(hora_run_detach(run, stop, own));
    CHECK_ERROR(hora_run_detach(run, stop, own), HORA_EINVAL);
    atomic_store(atomic_load(&own->run) == NULL ? &own->run : &own->second, run);
    return HORA_EFAILED; /* it does not matter */
}

static void open_job(fixture *f, job *own, const char *address, hora_handler_fn handler)
{
    fixture_open(f, address, NULL);
    *own = (job){.f = f};
    CHECK_OK(hora_durable_add_handler(f->durable, "job", handler, own, NULL, NULL));
    fixture_start(f);
}

static hora_durable_status status_of(fixture *f)
{
    hora_durable_status status = HORA_INIT(hora_durable_status);
    CHECK_OK(hora_durable_get_status(f->durable, &status));
    return status;
}

static hora_run_record last_record;
static char last_note[64];

static int keep_record(const hora_run_record *record, void *count)
{
    if ((*(int *)count)++ == 0) {
        last_record = *record;
        snprintf(last_note, sizeof last_note, "%s", record->note == NULL ? "" : record->note);
    }
    return 0;
}

/* The number of records of a task; the latest is in last_record. */
static int records_of(fixture *f, const char *key)
{
    int count = 0;
    CHECK_OK(hora_store_history(f->store, HORA_HISTORY_FILTER(.key = key), keep_record, &count, NULL));
    return count;
}

STORE_TEST(another_thread_ends_a_run_long_after_its_handler)
{
    fixture f;
    job own;
    open_job(&f, &own, address, detach);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "job", .key = "k", .history = true));
    fixture_run(&f, HORA_MINUTES(2));
    CHECK_INT(own.runs, 1);
    CHECK_INT(own.stops, 0);
    CHECK_INT(status_of(&f).running, 1);
    CHECK_INT(fixture_count(&f, HORA_DURABLE_CLAIMED), 1);
    CHECK(strcmp(own.run->key, "k") == 0 && own.run->attempt == 1);
    CHECK_OK(hora_run_set_note(own.run, "by another thread", 17));
    finish(&own, 0);
    fixture_run(&f, HORA_MS(100));
    CHECK_INT(status_of(&f).running, 0);
    CHECK_INT(status_of(&f).succeeded, 1);
    CHECK_INT(fixture_count(&f, 0), 0);
    CHECK_INT(records_of(&f, "k"), 1);
    CHECK(last_record.outcome == HORA_RUN_SUCCEEDED && strcmp(last_note, "by another thread") == 0);
    CHECK(last_record.ended.ns - last_record.started.ns >= HORA_SECONDS(119));
    fixture_close(&f);
}

/* The run may end before its handler returns: its memory is gone then. */
static void finish_now(void *arg)
{
    job *own = arg;
    finish(own, 0);
    if (own->ended != NULL)
        CHECK_OK(hora_latch_count_down(own->ended));
}

static int detach_and_wait(const hora_run *run, void *arg)
{
    job *own = arg;
    atomic_fetch_add(&own->runs, 1);
    CHECK_OK(hora_run_detach(run, stop, own));
    atomic_store(&own->run, run);
    test_thread_join(test_thread_start(NULL, finish_now, own));
    CHECK_OK(hora_clock_sleep(hora_virtual_clock_view(own->f->clock, HORA_CLOCK_MONOTONIC), HORA_SECONDS(5)));
    return 0;
}

STORE_TEST(a_run_ends_before_its_handler_returns)
{
    fixture f;
    job own;
    open_job(&f, &own, address, detach_and_wait);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "job", .key = "k"));
    fixture_run(&f, HORA_SECONDS(2));
    CHECK_INT(own.runs, 1);
    CHECK_INT(status_of(&f).running, 0);
    CHECK_INT(fixture_count(&f, 0), 0);
    fixture_run(&f, HORA_SECONDS(10));
    fixture_close(&f);
}

/* ---- many runs ---- */

static job jobs[MANY];

static int detach_one_of_many(const hora_run *run, void *arg)
{
    (void)arg;
    int index = ((const unsigned char *)run->payload)[0];
    CHECK_OK(hora_run_detach(run, stop, &jobs[index]));
    atomic_store(&jobs[index].run, run);
    return 0;
}

static void put_many(fixture *f)
{
    for (int i = 0; i < MANY; i++) {
        char key[16];
        unsigned char byte = (unsigned char)i;
        snprintf(key, sizeof key, "k%d", i);
        jobs[i] = (job){.f = f};
        fixture_put(f, HORA_DURABLE_TASK(.handler = "many", .key = key, .payload = &byte, .payload_size = 1));
    }
}

static void finish_many(void *arg)
{
    (void)arg;
    for (int i = 0; i < MANY; i++)
        finish(&jobs[i], i % 2);
}

/* More runs than threads. They are cancelled, which calls their stop functions, while another thread ends
 * them: no stop function is called after the end. */
STORE_TEST(runs_end_while_they_are_told_to_stop)
{
    fixture f;
    fixture_open(&f, address, HORA_DURABLE_OPTIONS(.threads = 2));
    CHECK_OK(hora_durable_add_handler(f.durable, "many", detach_one_of_many, NULL, NULL, NULL));
    fixture_start(&f);
    put_many(&f);
    fixture_run(&f, HORA_SECONDS(2));
    CHECK_INT(status_of(&f).running, MANY);
    for (int i = 0; i < MANY; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        CHECK_INT(hora_store_cancel(f.store, key, 0, NULL), HORA_CANCEL_RUNNING);
    }
    test_thread *thread = test_thread_start(NULL, finish_many, NULL);
    fixture_run(&f, HORA_SECONDS(3));
    test_thread_join(thread);
    fixture_run(&f, HORA_SECONDS(1));
    for (int i = 0; i < MANY; i++) {
        CHECK(jobs[i].stops <= 1 && jobs[i].late_stops == 0);
        CHECK_INT(jobs[i].stops, jobs[i].cancelled);
    }
    CHECK_INT(status_of(&f).running, 0);
    CHECK_INT(fixture_count(&f, 0), 0);
    fixture_close(&f);
}

/* ---- reasons to stop ---- */

STORE_TEST(a_cancelled_run_is_told_and_may_end_in_the_stop_function)
{
    for (int in_stop = 0; in_stop < 2; in_stop++) {
        fixture f;
        job own;
        open_job(&f, &own, address, detach);
        own.finish_in_stop = in_stop == 1;
        fixture_put(&f, HORA_DURABLE_TASK(.handler = "job", .key = in_stop == 1 ? "ends" : "goes-on",
                                          .fixed_rate = HORA_MINUTES(10)));
        fixture_run(&f, HORA_SECONDS(5));
        CHECK_INT(own.stops, 0);
        CHECK_INT(hora_store_cancel(f.store, own.run->key, 0, NULL), HORA_CANCEL_RUNNING);
        fixture_run(&f, HORA_SECONDS(5));
        CHECK_INT(own.stops, 1);
        CHECK(own.cancelled == 1 && own.lost == 0);
        finish(&own, 0);
        fixture_run(&f, HORA_SECONDS(5));
        CHECK_INT(own.stops, 1);
        CHECK_INT(fixture_count(&f, 0), 0);
        CHECK_INT(status_of(&f).failed, in_stop);
        fixture_close(&f);
    }
}

/* The firing runs again, and the outcome of the first run does not count. */
STORE_TEST(a_run_whose_lease_is_lost_is_told)
{
    fixture f;
    job own;
    open_job(&f, &own, address, detach);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "job", .key = "k"));
    fixture_run(&f, HORA_SECONDS(1));
    CHECK_OK(hora_virtual_clock_advance(f.clock, HORA_SECONDS(30))); /* no renewal in this time */
    fixture_run(&f, HORA_SECONDS(10));
    CHECK_INT(own.stops, 1);
    CHECK(own.lost == 1 && own.cancelled == 0);
    CHECK_INT(own.runs, 2);
    CHECK(hora_run_is_lost(own.run) && !hora_run_is_lost(own.second));
    CHECK_INT(status_of(&f).running, 2);
    finish(&own, 0);
    fixture_run(&f, HORA_SECONDS(1));
    CHECK_INT(status_of(&f).stale, 1);
    CHECK_INT(fixture_count(&f, HORA_DURABLE_CLAIMED), 1);
    CHECK_INT(own.second->attempt, 2);
    CHECK_OK(hora_run_finish(own.second, 0));
    fixture_run(&f, HORA_SECONDS(1));
    CHECK_INT(fixture_count(&f, 0), 0);
    fixture_close(&f);
}

/* The reason arises before the run is detached. */
static int detach_when_interrupted(const hora_run *run, void *arg)
{
    job *own = arg;
    const hora_clock *clock = hora_virtual_clock_view(own->f->clock, HORA_CLOCK_MONOTONIC);
    CHECK_ERROR(hora_clock_sleep(clock, HORA_HOURS(1)), HORA_EINTERRUPTED);
    CHECK(hora_run_is_cancelled(run));
    CHECK_INT(own->stops, 0);
    return detach(run, arg);
}

STORE_TEST(a_run_is_told_what_happened_before_it_was_detached)
{
    fixture f;
    job own;
    open_job(&f, &own, address, detach_when_interrupted);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "job", .key = "k"));
    fixture_run(&f, HORA_SECONDS(1));
    CHECK_INT(hora_store_cancel(f.store, "k", 0, NULL), HORA_CANCEL_RUNNING);
    fixture_run(&f, HORA_SECONDS(3));
    CHECK_INT(own.stops, 1);
    CHECK_INT(own.cancelled, 1);
    finish(&own, 0);
    fixture_run(&f, HORA_SECONDS(1));
    CHECK_INT(fixture_count(&f, 0), 0);
    fixture_close(&f);
}

/* hora_run_finish waits for a stop function that is being called on another thread. */
STORE_TEST(the_end_waits_for_the_stop_function)
{
    fixture f;
    job own;
    open_job(&f, &own, address, detach);
    CHECK_OK(hora_latch_new(1, NULL, &own.in_stop, NULL));
    CHECK_OK(hora_latch_new(1, NULL, &own.leave_stop, NULL));
    CHECK_OK(hora_latch_new(1, NULL, &own.ended, NULL));
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "job", .key = "k"));
    fixture_run(&f, HORA_SECONDS(1));
    CHECK_INT(hora_store_cancel(f.store, "k", 0, NULL), HORA_CANCEL_RUNNING);
    CHECK_OK(hora_virtual_clock_advance(f.clock, HORA_SECONDS(2)));
    CHECK_OK(hora_latch_await(own.in_stop));
    test_thread *thread = test_thread_start(NULL, finish_now, &own);
    CHECK_ERROR(hora_latch_await_for(own.ended, HORA_MS(50)), HORA_ETIMEDOUT);
    CHECK_INT(own.finished, 0);
    CHECK_OK(hora_latch_count_down(own.leave_stop));
    test_thread_join(thread);
    CHECK(own.finished == 1 && own.late_stops == 0);
    fixture_run(&f, HORA_SECONDS(1));
    CHECK_INT(fixture_count(&f, 0), 0);
    CHECK_OK(hora_latch_free(own.in_stop));
    CHECK_OK(hora_latch_free(own.leave_stop));
    CHECK_OK(hora_latch_free(own.ended));
    fixture_close(&f);
}

/* ---- the end of the durable scheduler ---- */

typedef struct stopping {
    hora_durable *durable;
    int result;
} stopping;

static void stop_durable(void *arg)
{
    stopping *own = arg;
    own->result = hora_durable_stop(own->durable, HORA_SECONDS(3), NULL);
}

STORE_TEST(a_stop_of_the_scheduler_tells_detached_runs_after_its_timeout)
{
    for (int ends = 0; ends < 2; ends++) {
        fixture f;
        job own;
        open_job(&f, &own, address, detach);
        own.finish_in_stop = ends == 1;
        fixture_put(&f, HORA_DURABLE_TASK(.handler = "job", .key = ends == 1 ? "ends" : "never",
                                          .max_attempts = 1, .history = true));
        fixture_run(&f, HORA_SECONDS(1));
        stopping stops = {f.durable, -1};
        test_thread *thread = test_thread_start(f.clock, stop_durable, &stops);
        fixture_run(&f, HORA_SECONDS(2.9));
        CHECK_INT(own.stops, 0);
        CHECK_INT(stops.result, -1);
        fixture_run(&f, HORA_SECONDS(1));
        CHECK_INT(own.stops, 1);
        CHECK(own.cancelled == 1 && own.lost == 0);
        fixture_run(&f, HORA_SECONDS(10));
        test_thread_join(thread);
        CHECK_INT(stops.result, 1 - ends);
        CHECK_INT(own.stops, 1);
        CHECK_INT(fixture_count(&f, HORA_DURABLE_DEAD), ends);
        CHECK_INT(fixture_count(&f, HORA_DURABLE_WAITING), 1 - ends);
        finish(&own, 0); /* it was handed back: this changes nothing */
        CHECK_INT(fixture_count(&f, HORA_DURABLE_WAITING), 1 - ends);
        CHECK_INT(hora_store_cancel(f.store, ends == 1 ? "ends" : "never", 0, NULL), HORA_CANCEL_REMOVED);
        fixture_close(&f);
    }
}

static void close_fixture(void *arg)
{
    CHECK_OK(hora_durable_free(((job *)arg)->f->durable));
    atomic_store(&((job *)arg)->runs, -1);
}

STORE_TEST(free_waits_for_the_end_of_detached_runs)
{
    fixture f;
    job own;
    open_job(&f, &own, address, detach);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "job", .key = "k"));
    fixture_run(&f, HORA_SECONDS(1));
    test_thread *thread = test_thread_start(f.clock, close_fixture, &own);
    fixture_run(&f, HORA_MINUTES(10));
    CHECK_INT(own.runs, 1);
    CHECK_INT(own.stops, 0);
    finish(&own, 0);
    test_thread_join(thread);
    CHECK_INT(own.runs, -1);
    CHECK_INT(fixture_count(&f, 0), 0);
    CHECK_OK(hora_store_close(f.store));
    CHECK_OK(hora_virtual_clock_free(f.clock));
}

/* A run that starts to be detached when the node has left the store: the thread of the handler tells it. */
static int detach_when_left(const hora_run *run, void *arg)
{
    job *own = arg;
    const hora_clock *clock = hora_virtual_clock_view(own->f->clock, HORA_CLOCK_MONOTONIC);
    while (hora_clock_sleep(clock, HORA_SECONDS(30)) < 0)
        ;
    return detach(run, arg);
}

STORE_TEST(a_run_that_is_detached_after_the_stop_is_told)
{
    fixture f;
    job own;
    open_job(&f, &own, address, detach_when_left);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "job", .key = "k"));
    fixture_run(&f, HORA_SECONDS(1));
    stopping stops = {f.durable, -1};
    test_thread *thread = test_thread_start(f.clock, stop_durable, &stops);
    fixture_run(&f, HORA_SECONDS(10));
    test_thread_join(thread);
    CHECK_INT(stops.result, 1);
    CHECK_INT(own.runs, 0);
    fixture_run(&f, HORA_SECONDS(60));
    CHECK_INT(own.runs, 1);
    CHECK_INT(own.stops, 1);
    finish(&own, 0);
    fixture_close(&f);
}

static void stop_from_inside(const hora_run *run, void *arg)
{
    job *own = arg;
    CHECK_ERROR(hora_durable_stop(run->durable, 0, NULL), HORA_EDEADLK);
    CHECK_ERROR(hora_durable_free(run->durable), HORA_EDEADLK);
    CHECK_ERROR(hora_durable_await_idle(run->durable, 0), HORA_EDEADLK);
    stop(run, own);
}

static int detach_with_inner_stop(const hora_run *run, void *arg)
{
    job *own = arg;
    CHECK_OK(hora_run_detach(run, stop_from_inside, own));
    atomic_store(&own->run, run);
    return 0;
}

STORE_TEST(a_stop_function_cannot_stop_the_scheduler)
{
    fixture f;
    job own;
    open_job(&f, &own, address, detach_with_inner_stop);
    own.finish_in_stop = true;
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "job", .key = "k"));
    fixture_run(&f, HORA_SECONDS(1));
    CHECK_INT(hora_store_cancel(f.store, "k", 0, NULL), HORA_CANCEL_RUNNING);
    fixture_run(&f, HORA_SECONDS(3));
    CHECK_INT(own.finished, 1);
    fixture_close(&f);
}

/* ---- transactions ---- */

static int detach_with_transaction(const hora_run *run, void *arg)
{
    job *own = arg;
    struct sqlite3 *connection;
    hora_error error;
    bool begins = atomic_fetch_add(&own->runs, 1) == 0;
    if (begins) {
        CHECK_OK(hora_run_begin_sqlite(run, &connection, &error));
        CHECK_ERROR(hora_run_detach(run, stop, own), HORA_EINVAL);
        return HORA_EFAILED;
    }
    CHECK_OK(hora_run_detach(run, stop, own));
    CHECK_ERROR(hora_run_begin_sqlite(run, &connection, &error), HORA_EINVAL);
    CHECK(strstr(error.message, "outlived") != NULL);
    CHECK_OK(hora_run_finish(run, 0));
    return 0;
}

STORE_TEST(a_run_with_a_transaction_cannot_be_detached)
{
    if (strncmp(address, "sqlite", 6) != 0)
        return;
    fixture f;
    job own;
    open_job(&f, &own, address, detach_with_transaction);
    fixture_put(&f, HORA_DURABLE_TASK(.handler = "job", .key = "k", .delivery = HORA_EFFECT_ONCE));
    fixture_run(&f, HORA_SECONDS(5));
    CHECK_INT(own.runs, 2);
    CHECK_INT(fixture_count(&f, 0), 0);
    fixture_close(&f);
}
