/* SPDX-License-Identifier: Apache-2.0 */
/* timer_run.c - a worker runs a timer
 *
 * How it works      The worker has a copy of the function and its argument (struct hora__timer_run), and touches the timer no more. As a rule it
 *                   calls the function and counts the outcome. If hooks or observation want to see the run, it is shown to them as a
 *                   task without a future, by the name "timer", in the order in which they see other tasks.
 * Decorating        A timer has no memory for another task. So it is decorated in the worker, just before it runs, and what decorate makes of
 *                   it is run, and dropped, at once.
 * Invariants        I1 each timer that is taken is counted once, also if its function or a hook ends the thread: by `stage`. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "sched/scheduler.h"
#include "sys/probe.h"

/* The body of the task that is shown: only a decorated task calls it, in the worker that runs the timer. */
static int call(void *arg, void **ret_result)
{
    (void)ret_result;
    const hora_thread *thread = hora__thread_existing();
    const struct hora__worker *worker = thread != NULL ? thread->worker : NULL;
    if (worker == NULL || worker->timer_run.timer == NULL)
        return HORA_EINVAL;
    return worker->timer_run.function(arg);
}

const hora_task hora__timer_task = {.run = call, .name = "timer"};

static void end(struct hora__worker *worker, enum hora__ending ending)
{
    assert(worker->stage != HORA__TASK_NONE || worker->timer_run.timer != NULL); /* I1 */
    worker->stage = HORA__TASK_NONE;
    hora__worker_count(worker, ending); /* I1 */
}

static bool comes_too_late(const hora_pool *pool)
{
    return hora__state_of(hora__atomic_load(&pool->control)) >= HORA__STOP &&
           !HORA__FAULT(SERIES_RUNS_AFTER_STOP);
}

/* ---- for those who want to see it ---- */

/* What the hooks are told: a run of nothing that a caller has a handle of. */
static hora_run_info run_info(int code)
{
    return (hora_run_info){.struct_size = sizeof(hora_run_info), .code = code, .task = &hora__timer_task};
}

static void tell_after(hora_pool *pool, int code)
{
    assert(pool != NULL);
    hora_run_info run = run_info(code);
    if (pool->after != NULL)
        pool->after(pool, &run, pool->arg);
}

static int decorate(hora_pool *pool, hora_task *task)
{
    const struct hora__scheduler *scheduler = hora__scheduler_look_at(pool);
    assert(scheduler != NULL);
    if (scheduler->decorate == NULL)
        return 0;
    hora_task own = *task;
    int error = scheduler->decorate(pool, &own, pool->arg);
    if (error < 0 || own.run == NULL)
        return error < 0 ? error : HORA_EINVAL; /* what it was stays */
    *task = own;
    return 0;
}

/* The body between begins and ended of those who oversee the scheduler. */
static int run_body(struct hora__worker *worker)
{
    assert(worker->taken.task.run != NULL);
    const hora_task *task = &worker->taken.task;
    struct hora__worker_observer *worker_observer = worker->worker_observer;
    void *result = NULL;
    if (worker_observer != NULL) {
        worker_observer->came = worker->taken.came;
        (void)worker_observer->kind->begins(worker_observer, NULL, task); /* it has no limits */
    }
    int code = task->run(task->arg, &result);
    if (worker_observer != NULL)
        worker_observer->kind->ended(worker_observer, NULL, task, code);
    worker->ending = hora__ending_of_result(code);
    worker->stage = HORA__TASK_HAS_RUN; /* what follows is code of the user, which may end the thread */
    if (result != NULL && task->drop_result != NULL)
        task->drop_result(result);
    if (task->drop != NULL)
        task->drop(task->arg);
    return code;
}

/* Whether the worker goes on: as for any task, it does not if the before hook refuses. */
static bool run_shown(struct hora__worker *worker)
{
    assert(worker->timer_run.timer != NULL);
    hora_pool *pool = worker->pool;
    worker->taken.task = hora__timer_task;
    worker->taken.task.arg = worker->timer_run.arg;
    worker->stage = HORA__TASK_RUNS;
    hora_run_info run = run_info(0);
    int refused = pool->before != NULL ? pool->before(pool, &run, pool->arg) : 0;
    int code = refused != 0 ? refused : decorate(pool, &worker->taken.task);
    if (code == 0)
        code = run_body(worker);
    worker->ending = hora__ending_of_result(code);
    worker->stage = HORA__TASK_HAS_RUN;
    if (refused == 0)
        tell_after(pool, code);
    end(worker, worker->ending);
    return refused == 0;
}

/* ---- running ---- */

bool hora__scheduler_run_timer(struct hora__worker *worker)
{
    assert(worker->timer_run.timer != NULL && worker->timer_run.function != NULL);
    hora_pool *pool = worker->pool;
    if (comes_too_late(pool)) {
        hora__pool_count_cancelled(pool, &hora__timer_task);
        end(worker, HORA__CANCELLED);
        return true;
    }
    if (HORA__FAULT(TIMER_STOP_MISSES_TAKEN))
        worker->timer_run.has_begun = true;
    if (hora__scheduler_look_at(pool)->shows_timers)
        return run_shown(worker);
    worker->stage = HORA__TASK_RUNS;
    HORA__PROBE(timer_start, worker->timer_run.timer);
    int code = worker->timer_run.function(worker->timer_run.arg);
    HORA__PROBE(timer_done, worker->timer_run.timer, code);
    end(worker, hora__ending_of_result(code));
    return true;
}

void hora__scheduler_abandon_timer(struct hora__worker *worker)
{
    hora_pool *pool = worker->pool;
    enum hora__task_stage stage = worker->stage;
    if (stage == HORA__TASK_NONE)
        return;
    if (stage == HORA__TASK_RUNS)
        worker->ending = HORA__ABANDONED;
    end(worker, worker->ending);
    if (stage != HORA__TASK_RUNS || !hora__scheduler_look_at(pool)->shows_timers)
        return;
    const hora_task *task = &worker->taken.task;
    if (worker->worker_observer != NULL)
        worker->worker_observer->kind->ended(worker->worker_observer, NULL, task, HORA_EABANDONED);
    if (task->drop != NULL)
        task->drop(task->arg);
    tell_after(pool, HORA_EABANDONED);
}
