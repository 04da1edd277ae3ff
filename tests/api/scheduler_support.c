/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_support.c - see scheduler_support.h */
#include "scheduler_support.h"

/* ---- rigs ---- */

static int before_hook(hora_pool *pool, const hora_run_info *run, void *context)
{
    struct rig *r = context;

    CHECK_POINTER(hora_pool_current(), pool);
    CHECK(run->future != NULL);
    CHECK_POINTER(run->task, hora_future_task(run->future));
    CHECK_INT(run->code, 0);
    atomic_fetch_add(&r->before, 1);
    return 0;
}

static void after_hook(hora_pool *pool, const hora_run_info *run, void *context)
{
    struct rig *r = context;

    CHECK_POINTER(hora_pool_current(), pool);
    CHECK(hora_future_is_done(run->future) || hora_future_is_periodic(run->future));
    atomic_fetch_add(&r->after, 1);
    atomic_store(&r->last_code, run->code);
}

static void terminated_hook(hora_pool *pool, void *context)
{
    struct rig *r = context;

    CHECK(hora_pool_is_terminating(pool));
    CHECK(!hora_pool_is_terminated(pool));
    atomic_fetch_add(&r->terminated, 1);
}

/* The wrapper that decorate puts around a task. decorate does not learn which tasks are rejected later, so a
 * wrapper is never given back. They are used in turn, and there are more than any test needs at once. */
struct wrapper {
    struct rig *rig;
    hora_task inner;
};

enum { WRAPPERS = 512 };

static struct wrapper wrappers[WRAPPERS];
static atomic_uint next_wrapper;

static int wrapper_run(void *arg, void **ret_result)
{
    struct wrapper *wrapper = arg;

    atomic_fetch_add(&wrapper->rig->wrapped_runs, 1);
    return wrapper->inner.run(wrapper->inner.arg, ret_result);
}

static void wrapper_drop(void *arg)
{
    struct wrapper *wrapper = arg;

    if (wrapper->inner.drop != NULL)
        wrapper->inner.drop(wrapper->inner.arg);
}

static int decorate(hora_scheduler *scheduler, hora_task *task, void *context)
{
    struct wrapper *wrapper = &wrappers[atomic_fetch_add(&next_wrapper, 1) % WRAPPERS];

    CHECK(scheduler != NULL);
    *wrapper = (struct wrapper){.rig = context, .inner = *task};
    atomic_fetch_add(&wrapper->rig->decorated, 1);
    task->run = wrapper_run;
    task->arg = wrapper;
    task->drop = wrapper_drop;
    return 0;
}

int try_scheduler(struct rig *r, const hora_scheduler_options *options, hora_error *reason)
{
    hora_scheduler_options own = *options;
    const hora_admission admission = HORA_INIT(hora_admission);

    own.clock = r->f.view;
    own.arg = r;
    if (rigs_have_admission() && own.admission == NULL && !own.keep_cancelled)
        own.admission = &admission;
    if (r->hooked) {
        own.before = before_hook;
        own.after = after_hook;
        own.terminated = terminated_hook;
        own.decorate = decorate;
    }
    return hora_scheduler_new(&own, &r->pool, reason);
}

void scheduler_open(struct rig *r, bool decorated, const hora_scheduler_options *options)
{
    hora_error reason;

    rig_prepare(r, decorated);
    if (try_scheduler(r, options, &reason) < 0)
        test_fail(__FILE__, __LINE__, "the scheduler is refused: %s", reason.message);
}

void pass(struct rig *r, hora_ns time)
{
    settle(&r->f);
    advance(&r->f, time);
    settle(&r->f);
}

void pass_in_steps(struct rig *r, hora_ns step, int steps)
{
    for (int i = 0; i < steps; i++)
        pass(r, step);
}

/* ---- scheduling ---- */

int schedule_form(struct rig *r, enum form form, const hora_task *task, hora_ns delay, hora_ns period,
                  hora_future **ret_future)
{
    switch (form) {
    case ONCE:
        return hora_scheduler_schedule(r->pool, task, delay, ret_future);
    case RATE:
        return hora_scheduler_schedule_at_fixed_rate(r->pool, task, delay, period, ret_future);
    case GAP:
        return hora_scheduler_schedule_with_fixed_delay(r->pool, task, delay, period, ret_future);
    case FORMS:
        break;
    }
    return HORA_EINVAL;
}

bool is_series(enum form form)
{
    return form == RATE || form == GAP;
}

hora_future *schedule_series(struct rig *r, enum form form, struct job *job, hora_ns delay, hora_ns period)
{
    hora_future *future = NULL;

    CHECK_OK(schedule_form(r, form, JOB(job), delay, period, &future));
    return future;
}

hora_future *schedule_job(struct rig *r, struct job *job, hora_ns delay)
{
    return schedule_series(r, ONCE, job, delay, 0);
}

hora_ns delay_of(hora_future *future)
{
    hora_ns delay = -7;

    CHECK_OK(hora_future_delay(future, &delay));
    return delay;
}

bool is_queued(struct rig *r, hora_future *future)
{
    return hora_queue_contains(hora_pool_queue(r->pool), future) == 1;
}

/* ---- beats ---- */

int beat_run(void *arg, void **ret_result)
{
    struct beat *beat = arg;

    (void)ret_result;
    CHECK_INT(atomic_fetch_add(&beat->going, 1), 0);
    CHECK_INT(beat->drops, 0);
    if (beat->runs < MOST_BEATS)
        beat->starts[beat->runs] = hora_clock_now(beat->rig->f.view) - beat->zero;
    beat->runs++;
    if (beat->lasts > 0 && hora_clock_sleep(beat->rig->f.view, beat->lasts) == HORA_EINTERRUPTED)
        atomic_fetch_add(&beat->interrupts, 1);
    atomic_fetch_sub(&beat->going, 1);
    return beat->runs == beat->fails_at ? beat->code : 0;
}

void beat_drop(void *arg)
{
    struct beat *beat = arg;

    CHECK_INT(beat->going, 0);
    atomic_fetch_add(&beat->drops, 1);
}

void check_beats(const char *file, int line, struct beat *beat, int runs, const hora_ns *starts)
{
    test_check_int(file, line, "runs", beat->runs, runs);
    for (int i = 0; i < runs && i < beat->runs && i < MOST_BEATS; i++)
        if (beat->starts[i] != starts[i])
            test_fail(file, line, "run %d began at %lld ns, not at %lld", i, (long long)beat->starts[i],
                      (long long)starts[i]);
}
