/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - refuse option sets that cannot work, or of which a part would have no effect, and say why
 *
 * Globals    the number of pools made so far, for their names, as in the JDK; it is only ever counted up. */
#include "exec/options.h"

#include <stddef.h>
#include <stdio.h>

#include "base/options.h"
#include "exec/pool.h"
#include "sys/serial.h"
#include "sys/thread.h"

int hora__pool_max_threads(const hora_pool_options *options)
{
    if (options->max_threads != 0)
        return options->max_threads;
    return options->core_threads > 0 ? options->core_threads : 1;
}

static bool queue_is_unbounded(const hora_pool_options *options)
{
    if (options->queue == NULL)
        return options->queue_capacity == 0;
    return hora_queue_remaining_capacity(options->queue) == HORA_UNBOUNDED;
}

bool hora__pool_queue_holds(const hora_pool_options *options)
{
    return options->queue == NULL ? options->queue_capacity >= 0 : hora_queue_remaining_capacity(options->queue) != 0;
}

static const char *wrong_threads(const hora_pool_options *options)
{
    int max = hora__pool_max_threads(options);
    if (options->core_threads < 0)
        return "core_threads is negative";
    if (options->max_threads < 0)
        return "max_threads is negative";
    if (options->core_threads > max)
        return "core_threads is greater than max_threads";
    if (options->keep_alive < 0)
        return "keep_alive is negative";
    if (options->core_time_out && options->keep_alive == 0)
        return "core_time_out needs a keep_alive greater than 0";
    if (max > options->core_threads && options->core_threads > 0 && queue_is_unbounded(options) &&
        !hora__overseer_grows(options))
        return "max_threads greater than core_threads has no effect with an unbounded queue: threads beyond "
               "core_threads start "
               "only when the queue refuses";
    return NULL;
}

static const char *wrong_queue(const hora_pool_options *options)
{
    if (options->queue == NULL)
        return NULL;
    if (options->queue_capacity != 0)
        return "queue_capacity has no effect with a queue of your own";
    if (hora_queue_size(options->queue) != 0)
        return "the queue is not empty";
    if (hora_queue_is_closed(options->queue) != 0)
        return "the queue is closed";
    return NULL;
}

static const char *wrong_reject(const hora_pool_options *options)
{
    if ((int)options->reject < 0 || options->reject > HORA_REJECT_CALLBACK)
        return "reject is none of the HORA_REJECT_ rules";
    if (options->reject == HORA_REJECT_CALLBACK && options->reject_handler == NULL)
        return "HORA_REJECT_CALLBACK needs a reject_handler";
    if (options->reject != HORA_REJECT_CALLBACK && options->reject_handler != NULL)
        return "a reject_handler has no effect without HORA_REJECT_CALLBACK";
    if (options->reject != HORA_REJECT_BLOCK && options->reject_timeout != 0)
        return "a reject_timeout has no effect without HORA_REJECT_BLOCK";
    if (options->reject_timeout < 0)
        return "reject_timeout is negative";
    if (options->reject == HORA_REJECT_BLOCK && !hora__pool_queue_holds(options))
        return "HORA_REJECT_BLOCK needs a queue that holds something: queue_capacity is negative, or the queue is "
               "synchronous";
    return NULL;
}

static const char *wrong_stack(const hora_pool_options *options)
{
    if (options->stack_size == 0)
        return NULL;
    if (options->thread_factory != NULL)
        return "stack_size has no effect with a factory of your own";
    if (options->stack_size < hora__os_thread_least_stack())
        return "stack_size is smaller than the system's least, PTHREAD_STACK_MIN";
    if (options->stack_size > hora__os_thread_most_stack())
        return "stack_size is greater than any thread can have";
    return NULL;
}

static const char *wrong_spin(const hora_pool_options *options)
{
    if (options->spin < 0 || options->spin > HORA_SPIN_MAX)
        return "spin is negative, or greater than HORA_SPIN_MAX";
    if (options->spin > 0 && (options->queue != NULL || options->queue_capacity < 0))
        return "spin has no effect without a queue of the pool's own that has room";
    return NULL;
}

const char *hora__pool_options(hora_pool_options *own, const hora_pool_options *given, hora_pool **ret_pool)
{
    if (ret_pool == NULL)
        return "ret_pool is NULL";
    if (hora__options_copy(own, sizeof *own, sizeof *own, given) < 0)
        return "struct_size is wrong: start from HORA_POOL_OPTIONS or HORA_INIT(hora_pool_options)";
    const char *wrong = wrong_queue(own);
    if (wrong == NULL)
        wrong = wrong_threads(own);
    if (wrong == NULL)
        wrong = wrong_spin(own);
    if (wrong == NULL)
        wrong = wrong_reject(own);
    if (wrong == NULL)
        wrong = wrong_stack(own);
    return wrong != NULL || own->oversight == NULL ? wrong : hora__overseer_wrong(own);
}

void hora__pool_name(char *name, size_t size, const char *given)
{
    if (given != NULL)
        (void)snprintf(name, size, "%s-", given);
    else
        (void)snprintf(name, size, "pool-%d-thread-", hora__serial_next());
}
