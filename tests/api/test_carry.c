/* SPDX-License-Identifier: Apache-2.0 */
/* test_carry.c - context that tasks carry from the submitting thread to the running one
 *
 * The context is a text. The hooks carry the text of the submitting thread along, and count. */
#include <string.h>

#include "scheduler_support.h"

enum { MOST_CARRIED = 16 };

struct baggage {
    char what[8];
    atomic_int released;
};

struct journal {
    struct baggage pieces[MOST_CARRIED];
    atomic_int captured;
    atomic_int installed;
    atomic_int restored;
    char order[64]; /* what happened, a letter each; by one worker at a time */
};

/* In the simulator all threads are one system thread, so the submitter's value and the worker's value have
 * separate names. */
static _Thread_local const char *current;
static _Thread_local const char *stand_in;

static void *capture(void *context)
{
    struct journal *journal = context;
    struct baggage *piece = &journal->pieces[atomic_fetch_add(&journal->captured, 1)];
    (void)strncpy(piece->what, stand_in != NULL ? stand_in : "none", sizeof piece->what - 1);
    return piece;
}

static void note(struct journal *journal, char what)
{
    size_t length = strlen(journal->order);
    if (length + 1 < sizeof journal->order)
        journal->order[length] = what;
}

static void *install(void *carried, void *context)
{
    struct journal *journal = context;
    const struct baggage *piece = carried;
    void *before = (void *)(uintptr_t)current;
    current = piece != NULL ? piece->what : NULL;
    atomic_fetch_add(&journal->installed, 1);
    note(journal, 'i');
    return before;
}

static void restore(void *before, void *context)
{
    struct journal *journal = context;
    current = before;
    atomic_fetch_add(&journal->restored, 1);
    note(journal, 'r');
}

static void release(void *carried, void *context)
{
    struct baggage *piece = carried;
    (void)context;
    atomic_fetch_add(&piece->released, 1);
}

static void on_started(hora_pool *pool, const hora_event *event, void *context)
{
    (void)pool;
    (void)event;
    note(context, 's');
}

static void on_done(hora_pool *pool, const hora_event *event, void *context)
{
    (void)pool;
    (void)event;
    note(context, 'd');
}

struct carrying {
    hora_context_hooks hooks;
    hora_listener listener;
};

static struct carrying carrying(struct journal *journal)
{
    memset(journal, 0, sizeof *journal);
    current = NULL;
    stand_in = NULL;
    struct carrying own = {.hooks = HORA_INIT(hora_context_hooks), .listener = HORA_INIT(hora_listener)};
    own.hooks.capture = capture;
    own.hooks.install = install;
    own.hooks.restore = restore;
    own.hooks.release = release;
    own.listener.started = on_started;
    own.listener.done = on_done;
    own.hooks.arg = own.listener.arg = journal;
    return own;
}

#define CARRYING(own) .context_hooks = &(own).hooks, .listener = &(own).listener

static void check_balance(struct journal *journal, int captured)
{
    CHECK_INT(journal->captured, captured);
    CHECK_INT(journal->installed, journal->restored);
    for (int i = 0; i < captured; i++)
        CHECK_INT(journal->pieces[i].released, 1);
}

/* What the task finds. */
struct look {
    char what[8];
    const void *carried;
    int runs;
};

static int look_around(void *arg, void **ret_result)
{
    struct look *look = arg;
    (void)ret_result;
    (void)strncpy(look->what, current != NULL ? current : "none", sizeof look->what - 1);
    look->carried = hora_context_current();
    look->runs++;
    return 0;
}

TEST(carry_from_the_submitter_to_the_worker, "")
{
    struct rig r;
    struct journal journal;
    struct carrying own = carrying(&journal);
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, CARRYING(own)));
    struct look looks[2] = {{.runs = 0}};
    hora_future *future;
    stand_in = "red";
    CHECK_OK(hora_pool_submit(r.pool, HORA_TASK(look_around, &looks[0]), &future));
    stand_in = "blue";
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(look_around, &looks[1])));
    stand_in = NULL;
    settle(&r.f);
    CHECK_INT(strcmp(looks[0].what, "red"), 0);
    CHECK_INT(strcmp(looks[1].what, "blue"), 0);
    CHECK_POINTER(looks[0].carried, &journal.pieces[0]);
    CHECK_INT(strcmp(journal.order, "sirdsird"), 0); /* listeners are told outside of it */
    CHECK_INT(journal.pieces[0].released, 0);        /* the future is still there */
    CHECK_INT(journal.pieces[1].released, 1);
    CHECK_POINTER(hora_context_current(), NULL);
    (void)hora_future_unref(future);
    check_balance(&journal, 2);
    rig_close(&r);
}

TEST(carry_what_the_terms_say, "")
{
    struct rig r;
    struct journal journal;
    struct carrying own = carrying(&journal);
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, CARRYING(own)));
    struct baggage mine = {.what = "mine"};
    struct look look = {.runs = 0};
    CHECK_OK(hora_pool_submit_with(r.pool, HORA_TASK(look_around, &look), HORA_TASK_OPTIONS(.context = &mine),
                                   NULL, NULL));
    settle(&r.f);
    CHECK_INT(strcmp(look.what, "mine"), 0);
    CHECK_POINTER(look.carried, &mine);
    CHECK_INT(mine.released, 0); /* it is the caller's */
    check_balance(&journal, 0);
    rig_close(&r);
}

/* Without hooks the pointer goes along all the same. */
TEST(carry_without_hooks, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .metrics = HORA_METRICS()));
    struct look looks[2] = {{.runs = 0}};
    CHECK_OK(hora_pool_submit_with(r.pool, HORA_TASK(look_around, &looks[0]),
                                   HORA_TASK_OPTIONS(.context = &r), NULL, NULL));
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(look_around, &looks[1])));
    settle(&r.f);
    CHECK_POINTER(looks[0].carried, &r);
    CHECK_POINTER(looks[1].carried, NULL);
    rig_close(&r);
}

TEST(carry_is_released_if_refused, "")
{
    struct rig r;
    struct journal journal;
    struct carrying own = carrying(&journal);
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, CARRYING(own)));
    struct look look = {.runs = 0};
    hora_future *future;
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_ERROR(hora_pool_submit(r.pool, HORA_TASK(look_around, &look), &future), HORA_EREJECTED);
    CHECK_ERROR(hora_pool_execute(r.pool, HORA_TASK(look_around, &look)), HORA_EREJECTED);
    check_balance(&journal, 2);
    rig_close(&r);
}

TEST(carry_is_released_if_cancelled, "")
{
    struct rig r;
    struct journal journal;
    struct carrying own = carrying(&journal);
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, CARRYING(own)));
    struct job first = A_WAITING_JOB(&r);
    struct job second = A_JOB(&r);
    execute_job(&r, &first);
    hora_future *future = submit_job(&r, &second);
    settle(&r.f);
    CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
    (void)hora_future_unref(future);
    CHECK_INT(journal.pieces[1].released, 1);
    rig_open_gate(&r);
    settle(&r.f);
    check_balance(&journal, 2);
    rig_close(&r);
}

/* The caller runs the task: its context does not change, and the task carries none. */
TEST(carry_nothing_if_the_caller_runs_it, "")
{
    struct rig r;
    struct journal journal;
    struct carrying own = carrying(&journal);
    rig_open(&r, false,
             HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = -1, .reject = HORA_REJECT_CALLER_RUNS,
                               CARRYING(own)));
    struct job first = A_WAITING_JOB(&r);
    struct look look = {.runs = 0};
    execute_job(&r, &first);
    settle(&r.f);
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(look_around, &look)));
    CHECK_INT(look.runs, 1);
    CHECK_POINTER(look.carried, NULL);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_INT(journal.installed, 1);
    check_balance(&journal, 2);
    rig_close(&r);
}

struct nest {
    struct rig *rig;
    struct look before;
    struct look inner;
    struct look after;
};

static int look_and_wait(void *arg, void **ret_result)
{
    struct nest *nest = arg;
    hora_future *future;
    (void)look_around(&nest->before, ret_result);
    stand_in = "in";
    CHECK_OK(hora_pool_submit(nest->rig->pool, HORA_TASK(look_around, &nest->inner), &future));
    stand_in = NULL;
    CHECK_OK(hora_future_get(future, NULL));
    (void)hora_future_unref(future);
    return look_around(&nest->after, ret_result);
}

/* A task that waits for another one, and so runs it, has its own again afterwards. */
TEST(carry_in_nested_tasks, "")
{
    struct rig r;
    struct journal journal;
    struct carrying own = carrying(&journal);
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, CARRYING(own)));
    struct nest nest = {.rig = &r};
    stand_in = "out";
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(look_and_wait, &nest)));
    settle(&r.f);
    CHECK_INT(strcmp(nest.before.what, "out"), 0);
    CHECK_INT(strcmp(nest.inner.what, "in"), 0);
    CHECK_INT(strcmp(nest.after.what, "out"), 0);
    CHECK_POINTER(nest.before.carried, &journal.pieces[0]);
    CHECK_POINTER(nest.inner.carried, &journal.pieces[1]);
    CHECK_POINTER(nest.after.carried, &journal.pieces[0]);
    check_balance(&journal, 2);
    rig_close(&r);
}

/* The same with each run; also if runs overlap. */
static void carry_in_a_series(hora_overlap overlap)
{
    struct rig r;
    struct journal journal;
    struct carrying own = carrying(&journal);
    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1, CARRYING(own)));
    struct look look = {.runs = 0};
    hora_future *future;
    hora_schedule spec = HORA_INIT(hora_schedule);
    spec.fixed_rate = HORA_SECONDS(1);
    spec.count = 3;
    spec.overlap = overlap;
    spec.overlap_max = overlap == HORA_OVERLAP_ALLOW ? 2 : 0;
    stand_in = "red";
    CHECK_OK(hora_scheduler_schedule_with(r.pool, HORA_TASK(look_around, &look), &spec, &future, NULL));
    stand_in = NULL;
    pass_in_steps(&r, HORA_SECONDS(1), 4);
    CHECK_INT(look.runs, 3);
    CHECK_INT(strcmp(look.what, "red"), 0);
    CHECK_POINTER(look.carried, &journal.pieces[0]);
    CHECK_INT(journal.installed, 3);
    CHECK_INT(journal.pieces[0].released, 0);
    (void)hora_future_unref(future);
    check_balance(&journal, 1);
    rig_close(&r);
}

TEST(carry_with_each_run, "")
{
    carry_in_a_series(HORA_OVERLAP_NEVER);
}

TEST(carry_with_each_run_that_overlaps, "")
{
    carry_in_a_series(HORA_OVERLAP_ALLOW);
}

/* A future that was made elsewhere carries nothing, and nothing is installed or restored for it. */
TEST(carry_nothing_with_a_future_from_elsewhere, "")
{
    struct rig r;
    struct journal journal;
    struct carrying own = carrying(&journal);
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, CARRYING(own)));
    struct job job = A_JOB(&r);
    hora_future *future = NULL;
    CHECK_OK(hora_future_new(JOB(&job), &future));
    CHECK_OK(hora_pool_execute_future(r.pool, future));
    settle(&r.f);
    CHECK_JOB(&job, 1);
    check_balance(&journal, 0);
    CHECK_INT(journal.installed, 0);
    (void)hora_future_unref(future);
    rig_close(&r);
}
