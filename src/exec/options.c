/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - refuses options that cannot work, or of which a part would have no effect, and says why */
#include <assert.h>
#include <stddef.h>

#include "base/options.h"
#include "base/reason.h"
#include "exec/pool.h"
#include "sys/thread.h"

int hora__pool_max_threads(const hora_pool_options *options)
{
    assert(options->core_threads >= 0);
    if (options->max_threads != 0)
        return options->max_threads;
    return options->core_threads > 0 ? options->core_threads : 1;
}

/* Returns whether the queue of these options never refuses a task. */
static bool queue_is_unbounded(const hora_pool_options *options)
{
    if (options->queue == NULL)
        return options->queue_capacity == 0;
    return hora_queue_remaining_capacity(options->queue) == HORA_UNBOUNDED;
}

bool hora__pool_queue_holds(const hora_pool_options *options)
{
    return options->queue == NULL ? options->queue_capacity >= 0
                                  : hora_queue_remaining_capacity(options->queue) != 0;
}

bool hora__pool_max_follows(const hora_pool_options *options)
{
    return queue_is_unbounded(options) && options->grow_after == 0;
}

/* Checks core_threads and max_threads. */
static int check_sizes(const hora_pool_options *options, hora_error *reason)
{
    if (options->core_threads < 0)
        return hora__refuse(reason, HORA_EINVAL, "core_threads", "core_threads is %d, which is negative",
                            options->core_threads);
    if (options->max_threads < 0)
        return hora__refuse(reason, HORA_EINVAL, "max_threads", "max_threads is %d, which is negative",
                            options->max_threads);
    if (options->core_threads > hora__pool_max_threads(options))
        return hora__refuse(reason, HORA_EINVAL, "core_threads",
                            "core_threads is %d, which is greater than max_threads, %d",
                            options->core_threads, options->max_threads);
    return 0;
}

/* Checks how long threads stay, and that max_threads has an effect: with a queue that never refuses, no
 * thread beyond core_threads would ever start. */
static int check_threads(const hora_pool_options *options, hora_error *reason)
{
    if (options->keep_alive < 0)
        return hora__refuse(reason, HORA_EINVAL, "keep_alive", "keep_alive is negative");
    if (options->core_time_out && options->keep_alive == 0)
        return hora__refuse(reason, HORA_EINVAL, "core_time_out",
                            "core_time_out needs a keep_alive greater than 0");
    int max = hora__pool_max_threads(options);
    if (max > options->core_threads && max > 1 && hora__pool_max_follows(options))
        return hora__refuse(reason, HORA_EINVAL, "max_threads", HORA__TOO_WIDE, max, options->core_threads);
    return 0;
}

/* Checks the stack size against the limits of the system. A thread factory chooses its own. */
static int check_stack(const hora_pool_options *options, hora_error *reason)
{
    if (options->stack_size == 0)
        return 0;
    if (options->thread_factory != NULL)
        return hora__refuse(reason, HORA_EINVAL, "stack_size",
                            "stack_size has no effect with a thread_factory");
    if (options->stack_size < hora__os_thread_least_stack())
        return hora__refuse(
            reason, HORA_EINVAL, "stack_size",
            "stack_size is %zu, which is less than the system's minimum, PTHREAD_STACK_MIN, %zu",
            options->stack_size, hora__os_thread_least_stack());
    if (options->stack_size > hora__os_thread_most_stack())
        return hora__refuse(reason, HORA_EINVAL, "stack_size",
                            "stack_size is %zu, which is greater than any thread can have",
                            options->stack_size);
    return 0;
}

/* Checks a queue of the user: it must be empty and open, and has its own capacity. */
static int check_queue(const hora_pool_options *options, hora_error *reason)
{
    if (options->queue == NULL)
        return 0;
    if (options->queue_capacity != 0)
        return hora__refuse(reason, HORA_EINVAL, "queue_capacity",
                            "queue_capacity has no effect if a queue is given");
    if (hora_queue_size(options->queue) != 0)
        return hora__refuse(reason, HORA_EINVAL, "queue", "the queue is not empty");
    if (hora_queue_is_closed(options->queue))
        return hora__refuse(reason, HORA_EINVAL, "queue", "the queue is closed");
    return 0;
}

/* A handler without HORA_REJECT_CALLBACK would have no effect. HORA_REJECT_BLOCK waits for room in the queue,
 * so the queue must be able to hold tasks, and to become full. */
int hora__reject_check(hora_reject reject, hora_reject_fn handler, bool queue_holds, hora_error *reason)
{
    if ((int)reject < 0 || reject > HORA_REJECT_CALLBACK)
        return hora__refuse(reason, HORA_EINVAL, "reject", "reject is %d, which is not a HORA_REJECT_ value",
                            (int)reject);
    if (reject == HORA_REJECT_CALLBACK && handler == NULL)
        return hora__refuse(reason, HORA_EINVAL, "reject_handler",
                            "HORA_REJECT_CALLBACK needs a reject_handler");
    if (reject != HORA_REJECT_CALLBACK && handler != NULL)
        return hora__refuse(reason, HORA_EINVAL, "reject_handler",
                            "a reject_handler has no effect without HORA_REJECT_CALLBACK");
    if (reject == HORA_REJECT_BLOCK && !queue_holds)
        return hora__refuse(reason, HORA_EINVAL, "reject",
                            "HORA_REJECT_BLOCK needs a queue that holds tasks and can be full: not a "
                            "synchronous queue, and not that of a scheduler");
    return 0;
}

/* Checks the rejection rule and its timeout. */
static int check_reject(const hora_pool_options *options, hora_error *reason)
{
    if (options->reject != HORA_REJECT_BLOCK && options->reject_timeout != 0)
        return hora__refuse(reason, HORA_EINVAL, "reject_timeout",
                            "a reject_timeout has no effect without HORA_REJECT_BLOCK");
    if (options->reject_timeout < 0)
        return hora__refuse(reason, HORA_EINVAL, "reject_timeout", "reject_timeout is negative");
    return hora__reject_check(options->reject, options->reject_handler, hora__pool_queue_holds(options),
                              reason);
}

/* Checks how long workers spin. Only the queues that hora provides let takers spin. */
static int check_spin(const hora_pool_options *options, hora_error *reason)
{
    if (options->spin < 0 || options->spin > HORA_SPIN_MAX)
        return hora__refuse(reason, HORA_EINVAL, "spin", "spin is negative, or greater than HORA_SPIN_MAX");
    if (options->spin > 0 && (options->queue != NULL || options->queue_capacity < 0))
        return hora__refuse(
            reason, HORA_EINVAL, "spin",
            "spin has no effect unless the pool has its own queue and queue_capacity is not negative");
    return 0;
}

/* Own queues of workers need the unbounded queue that hora provides. What depends on the order of the queue
 * cannot work with them. */
static int check_stealing(const hora_pool_options *options, hora_error *reason)
{
    if (!options->stealing)
        return 0;
    if (options->queue != NULL || options->queue_capacity != 0)
        return hora__refuse(reason, HORA_EINVAL, options->queue != NULL ? "queue" : "queue_capacity",
                            "stealing needs the pool's own queue without a bound");
    if (options->admission != NULL || options->grow_after != 0)
        return hora__refuse(reason, HORA_EINVAL, options->admission != NULL ? "admission" : "grow_after",
                            "admission and grow_after depend on the order of the queue, which stealing does "
                            "not keep");
    return 0;
}

/* The copy has the size that the library knows; fields that the program does not know are zero. */
int hora__pool_options(hora_pool_options *own, const hora_pool_options *given, hora_pool **ret_pool,
                       hora_error *reason)
{
    /* The order matters: check_threads and the later ones expect sizes that are not negative. */
    static int (*const checks[])(const hora_pool_options *options, hora_error *reason) = {
        check_queue, check_sizes,  check_stealing, check_threads,
        check_spin,  check_reject, check_stack,    hora__observer_check};
    if (ret_pool == NULL)
        return hora__refuse(reason, HORA_EINVAL, NULL, "ret_pool is NULL");
    if (HORA__TAKE(hora_pool_options, own, given) < 0)
        return hora__refuse_size(reason, "hora_pool_options");
    int error = 0;
    for (size_t i = 0; i < sizeof checks / sizeof *checks && error == 0; i++)
        error = checks[i](own, reason);
    return error;
}
