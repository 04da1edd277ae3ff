/* SPDX-License-Identifier: Apache-2.0 */
/* invoke.c - executing many tasks and waiting for all of them, or for one
 *
 * All               The call gets the memory of all futures before it executes the first, so that nothing
 *                   runs if there is not enough memory. Then it makes and executes them one by one, and waits
 *                   for them. If the caller is a worker of the same pool, its wait runs the tasks that are
 *                   still queued. The futures of a pool are not made before, because its workers take tens of
 *                   microseconds to wake up after the first task: in this time the call makes hundreds of
 *                   futures. Other executors get futures that were all made before.
 * Any               A completion service reports the futures that are done. Whenever there is none, the call
 *                   executes one more task.
 * Tasks             Once the arguments have been checked, the call owns all tasks. When it returns, it drops
 *                   the tasks for which it has made no future. */
#include <assert.h>
#include <stddef.h>

#include <hora/completion.h>
#include <hora/executor.h>

#include "base/ns.h"
#include "exec/future.h"
#include "exec/future_memory.h"
#include "exec/pool.h"
#include "sync/clock.h"
#include "sys/alloc.h"

/* One call. The pointers to executor and tasks are the caller's. */
struct batch {
    const hora_executor *executor;
    /* The call places the futures in this pool itself, see hora__executor_pool; NULL: the executor does. */
    hora_pool *pool;
    const hora_task *const *tasks;
    int count;             /* number of tasks */
    hora_ns deadline;      /* HORA_FOREVER: none */
    hora_future **futures; /* room for `count`; the first `made` are set, with a reference each */
    int made;              /* number of futures made so far, in the order of the tasks */
    int reserved;          /* futures[made .. reserved - 1] is memory of the pool for the next futures */
};

/* Checks the arguments that all calls have in common. */
static bool is_valid(const hora_executor *executor, const hora_task *const *tasks, int count)
{
    if (executor == NULL || executor->execute == NULL || count < 0 || (tasks == NULL && count > 0))
        return false;
    for (int i = 0; i < count; i++)
        if (tasks[i] == NULL || tasks[i]->run == NULL)
            return false;
    return true;
}

/* Returns the time that is left until the deadline; not positive once it has passed. */
static hora_ns remaining(const struct batch *batch)
{
    assert(batch->executor != NULL);
    if (batch->deadline == HORA_FOREVER)
        return HORA_FOREVER;
    return hora__ns_sub(batch->deadline, hora_clock_now(batch->executor->clock));
}

/* Fills in a batch without futures. The timeout counts from here. */
static struct batch begin(const hora_executor *executor, const hora_task *const *tasks, int count,
                          hora_ns timeout)
{
    assert(is_valid(executor, tasks, count));
    const hora_clock *clock = hora__clock_or_default(executor->clock);
    return (struct batch){.executor = executor,
                          .pool = hora__executor_pool(executor),
                          .tasks = tasks,
                          .count = count,
                          .deadline = hora__clock_deadline(clock, timeout)};
}

/* Cancels all futures, the last one first: the last ones are likely to be queued still, and must not start on
 * a thread that the cancellation of an earlier one has made free. */
static void cancel_all(const struct batch *batch)
{
    assert(batch->made >= 0 && batch->made <= batch->count);
    for (int i = batch->made - 1; i >= 0; i--)
        (void)hora_future_cancel(batch->futures[i], true);
}

/* Releases the references to all futures. */
static void release_all(struct batch *batch)
{
    assert(batch->made >= 0 && batch->made <= batch->count);
    for (int i = 0; i < batch->made; i++)
        (void)hora_future_unref(batch->futures[i]);
}

/* Drops the tasks that have no future. The other tasks belong to their futures. */
static void drop_rest(const struct batch *batch)
{
    assert(batch->made >= 0);
    for (int i = batch->made; i < batch->count; i++)
        if (batch->tasks[i]->drop != NULL)
            batch->tasks[i]->drop(batch->tasks[i]->arg);
}

/* ---- all ---- */

/* Gets memory of the pool for each future. On error, the first batch->reserved have some. */
static int reserve_all(struct batch *batch)
{
    assert(batch->reserved == 0 && batch->made == 0);
    for (; batch->reserved < batch->count; batch->reserved++) {
        void *memory = hora__shared_free_list_get(&batch->pool->shared_free_list, HORA__BLOCK_PLAIN_FUTURE,
                                                  sizeof(struct hora__seated));
        if (memory == NULL)
            return HORA_ENOMEM;
        batch->futures[batch->reserved] = memory;
    }
    return 0;
}

/* Returns the memory for which there is no future. */
static void unreserve_rest(struct batch *batch)
{
    for (; batch->reserved > batch->made; batch->reserved--)
        hora__future_memory_put(HORA__BLOCK_PLAIN_FUTURE, batch->futures[batch->reserved - 1]);
}

/* Makes the next future. */
static int make_next(struct batch *batch)
{
    assert(batch->made < batch->count && batch->futures != NULL);
    const hora_task *task = batch->tasks[batch->made];
    hora_future **place = &batch->futures[batch->made];
    int error = batch->pool != NULL ? hora__future_init_beside(*place, task, &batch->pool->object)
                                    : hora__future_new(task, batch->executor->clock, place);
    batch->made += error == 0 ? 1 : 0;
    return error;
}

/* Makes the futures that do not exist yet. */
static int make_rest(struct batch *batch)
{
    int error = 0;
    while (error == 0 && batch->made < batch->count)
        error = make_next(batch);
    return error;
}

/* Executes a future that no other thread has seen. */
static int execute_one(const struct batch *batch, hora_future *future)
{
    assert(hora__atomic_load(&future->object.references) == 1);
    if (batch->pool == NULL)
        return batch->executor->execute(future, batch->executor->arg);
    int error = hora__pool_place_fresh(batch->pool, future);
    return error < 0 ? hora__pool_refuse_fresh(batch->pool, future, error) : 0;
}

/* Makes the futures that do not exist yet, and executes each, until the deadline passes (*ret_over) or
 * something fails. After the deadline, it only makes the rest. */
static int execute_all(struct batch *batch, bool *ret_over)
{
    int error = 0;
    for (int i = 0; i < batch->count && error == 0; i++) {
        *ret_over = remaining(batch) <= 0;
        if (*ret_over)
            return make_rest(batch);
        if (i == batch->made)
            error = make_next(batch);
        if (error == 0)
            error = execute_one(batch, batch->futures[i]);
    }
    return error;
}

/* Returns whether a result of hora_future_get_for is the outcome of the task, and not an error of the
 * wait. */
static bool is_outcome(int answer)
{
    return answer == 0 || answer == HORA_EFAILED || answer == HORA_ECANCELED || answer == HORA_EREJECTED ||
           answer == HORA_EABANDONED || answer == HORA_EEXPIRED;
}

/* Waits for one future, until the deadline passes (*ret_over) or the wait fails. */
static int await_one(const struct batch *batch, int index, bool *ret_over)
{
    assert(index >= 0 && index < batch->made);
    int answer = hora_future_get_for(batch->futures[index], remaining(batch), NULL);
    *ret_over = answer == HORA_ETIMEDOUT;
    return is_outcome(answer) || *ret_over ? 0 : answer;
}

/* Returns whether the calling thread is a worker, which may run queued tasks while it waits for them. */
static bool may_help(void)
{
    const hora_thread *thread = hora__thread_existing();
    return thread != NULL && thread->worker != NULL;
}

/* Waits for the futures, until the deadline passes (*ret_over) or a wait fails. A worker waits in the order
 * of the tasks, because it runs those that are still queued. Any other thread waits for the last one first:
 * then most of the others are done, too, and it usually sleeps only once. */
static int await_all(const struct batch *batch, bool *ret_over)
{
    assert(batch->made == batch->count && batch->count > 0);
    int rest = may_help() ? batch->count : batch->count - 1;
    int error = rest == batch->count ? 0 : await_one(batch, rest, ret_over);
    for (int i = 0; i < rest && error == 0 && !*ret_over; i++)
        error = await_one(batch, i, ret_over);
    return error;
}

/* Runs the three steps. If one fails, or the deadline passes, cancels all futures; the deadline is not an
 * error. */
static int invoke_all(struct batch *batch)
{
    bool over = false;
    int error = batch->pool != NULL ? reserve_all(batch) : make_rest(batch);
    if (error == 0)
        error = execute_all(batch, &over);
    if (error == 0 && !over)
        error = await_all(batch, &over);
    if (error < 0 || over)
        cancel_all(batch);
    return error;
}

/* On success the caller gets one reference to each future, in the order of the tasks. On error it gets none:
 * the futures are released, and the tasks without a future are dropped. */
int hora_executor_invoke_all_for(const hora_executor *executor, const hora_task *const *tasks, int count,
                                 hora_ns timeout, hora_future **ret_futures)
{
    if (!is_valid(executor, tasks, count) || (ret_futures == NULL && count > 0))
        return HORA_EINVAL;
    if (count == 0)
        return 0;
    struct batch batch = begin(executor, tasks, count, timeout);
    batch.futures = hora__alloc((size_t)count, sizeof(hora_future *));
    int error = batch.futures != NULL ? invoke_all(&batch) : HORA_ENOMEM;
    if (error < 0) {
        unreserve_rest(&batch);
        drop_rest(&batch);
        release_all(&batch);
    }
    for (int i = 0; error == 0 && i < count; i++)
        ret_futures[i] = batch.futures[i];
    hora__free(batch.futures);
    return error;
}

int hora_executor_invoke_all(const hora_executor *executor, const hora_task *const *tasks, int count,
                             hora_future **ret_futures)
{
    return hora_executor_invoke_all_for(executor, tasks, count, HORA_FOREVER, ret_futures);
}

/* ---- any ---- */

/* One call of invoke_any. */
struct race {
    struct batch batch;
    hora_completion_service *service; /* reports the futures that are done */
    int active;                       /* number of futures that were executed and not yet taken from it */
    int failure;                      /* the code, or the error, of the future that failed last */
};

/* Submits the next task. */
static int enter_next(struct race *race)
{
    struct batch *batch = &race->batch;
    int error = hora_completion_service_submit(race->service, batch->tasks[batch->made],
                                               &batch->futures[batch->made]);
    if (error < 0)
        return error;
    batch->made++;
    race->active++;
    return 0;
}

/* Counts a future that is done, and notes its failure. Returns whether it has succeeded. */
static bool has_won(struct race *race, hora_future *future)
{
    race->active--;
    int outcome = hora__future_outcome(future);
    assert(outcome != HORA_EAGAIN);
    if (outcome == 0)
        return true;
    race->failure = outcome == HORA_EFAILED ? hora_future_failure(future) : outcome;
    return false;
}

/* Submits tasks and takes futures that are done, until one has succeeded; returns it with a reference.
 * HORA_EFAILED if all have failed; HORA_ETIMEDOUT and the other errors of the calls. As in the JDK, the next
 * task is submitted only if no future is done at that moment. */
static int run_race(struct race *race, hora_future **ret_winner)
{
    for (;;) {
        hora_future *future;
        int error = hora_completion_service_poll(race->service, &future);
        if (error == HORA_EEMPTY && race->batch.made < race->batch.count) {
            error = enter_next(race);
            if (error < 0)
                return error;
            continue;
        }
        if (error == HORA_EEMPTY && race->active == 0)
            return HORA_EFAILED; /* all tasks were submitted, and all have failed */
        if (error == HORA_EEMPTY)
            error = hora_completion_service_poll_for(race->service, remaining(&race->batch), &future);
        if (error < 0)
            return error;
        if (has_won(race, future)) {
            *ret_winner = future;
            return 0;
        }
        (void)hora_future_unref(future);
    }
}

/* Runs the race, takes the result of the winner, and cancels all others. */
static int invoke_any(struct race *race, void **ret_result)
{
    hora_future *winner;
    int error = hora_completion_service_new(race->batch.executor, NULL, &race->service);
    if (error < 0)
        return error;
    error = run_race(race, &winner);
    if (error == 0) {
        if (ret_result != NULL && hora_future_take_result(winner, ret_result) < 0)
            *ret_result = NULL; /* a hook has taken it */
        (void)hora_future_unref(winner);
    }
    cancel_all(&race->batch);
    (void)hora_completion_service_free(race->service);
    return error;
}

/* The caller gets only the result of the winner, so all futures are released here. */
int hora_executor_invoke_any_for(const hora_executor *executor, const hora_task *const *tasks, int count,
                                 hora_ns timeout, void **ret_result, int *reterr_failure)
{
    if (!is_valid(executor, tasks, count) || count == 0)
        return HORA_EINVAL;
    struct race race = {.batch = begin(executor, tasks, count, timeout)};
    race.batch.futures = hora__alloc((size_t)count, sizeof(hora_future *));
    int error = race.batch.futures != NULL ? invoke_any(&race, ret_result) : HORA_ENOMEM;
    drop_rest(&race.batch);
    release_all(&race.batch);
    hora__free(race.batch.futures);
    if (error == HORA_EFAILED && reterr_failure != NULL)
        *reterr_failure = race.failure;
    return error;
}

int hora_executor_invoke_any(const hora_executor *executor, const hora_task *const *tasks, int count,
                             void **ret_result, int *reterr_failure)
{
    return hora_executor_invoke_any_for(executor, tasks, count, HORA_FOREVER, ret_result, reterr_failure);
}
