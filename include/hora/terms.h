/* SPDX-License-Identifier: Apache-2.0 */
/* hora/terms.h - under which terms a task runs: its class, key and priority, its limits in time, what it carries along
 *
 *     hora_class *slow;
 *     hora_class_new(pool, HORA_CLASS_OPTIONS(.name = "slow", .limit = 2), &slow, NULL);
 *     hora_pool_submit_with(pool, HORA_TASK(resize, image),
 *                           HORA_TASK_OPTIONS(.task_class = slow, .key = user, .start_within = HORA_SECONDS(5)), &future);
 *
 * What is left out is zero, and zero means: as without terms.
 *
 * Class, key and priority belong to a pool that is steered (hora_oversight.steered). There a task begins when all of this holds:
 *
 *   - its class has fewer tasks running than its limit, and has not started as many as its rate allows;
 *   - no other task with its key is running, or was there before it;
 *   - a thread is left for it: those that are reserved for other classes are not.
 *
 * Of the tasks that may begin, the one that has waited longest does, where each level of priority counts as much as having waited for
 * hora_oversight.ageing. So an urgent task overtakes, and nothing starves: a task is overtaken by those of higher priority
 * only that come within so much time after it.
 *
 * A task that one of its own pool waits for is run by that one, if it has not begun and its rate and key let it: limits and reserves do not count
 * then. A task that the caller runs (HORA_REJECT_CALLER_RUNS) counts nowhere. */
#ifndef HORA_TERMS_H
#define HORA_TERMS_H

#include <stdbool.h>
#include <stdint.h>

#include <hora/base.h>
#include <hora/clock.h>
#include <hora/error.h>
#include <hora/future.h>
#include <hora/pool.h>
#include <hora/task.h>

HORA_BEGIN_DECLS

/* ---- classes ---- */

/* A kind of task. Belongs to its pool, and lives as long. */
typedef struct hora_class hora_class;

typedef struct hora_class_options {
    uint32_t struct_size; /* sizeof(hora_class_options), set by HORA_CLASS_OPTIONS */
    const char *name;     /* for people, and in metrics; copied. 1 to 63 bytes, and none that the pool has already */
    int limit;            /* at most so many of it run at the same time; 0: no limit */
    int reserve;          /* so many threads are kept free for it, if fewer of it run; 0: none */
    int rate;             /* at most so many begin in any time of `per`, at most 65536; 0: no limit */
    hora_ns per;          /* > 0 with a rate, else 0 */
} hora_class_options;

#define HORA_CLASS_OPTIONS(...) (&(hora_class_options){.struct_size = sizeof(hora_class_options), __VA_ARGS__})

/* hora_class_new - make a class of tasks for a pool that is steered
 *
 * What cannot work is refused; if `reterr_reason` is not NULL, it is then set to a static sentence that says what is wrong. All reserves
 * together must leave one thread to everybody. At most 64 classes.
 *
 * Ownership: *ret_class belongs to the pool.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOTSUP (the pool is not steered), HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_class_new(hora_pool *pool, const hora_class_options *options, hora_class **ret_class,
                                           const char **reterr_reason);

/* hora_class_set - give a class another limit, reserve and rate; the name stays, and may be NULL
 *
 * What waits and may begin by that, begins; what runs is not touched. A new rate starts anew.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_class_new; HORA_EINVAL also for another name. */
HORA_API int hora_class_set(hora_class *task_class, const hora_class_options *options, const char **reterr_reason);

/* hora_pool_find_class - the class of a pool with this name; NULL: there is none
 *
 * Ownership: belongs to the pool.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_class *hora_pool_find_class(hora_pool *pool, const char *name);

/* A class as it was at one moment. */
typedef struct hora_class_info {
    uint32_t struct_size; /* set by hora_class_get_info */
    const char *name;
    int limit;
    int reserve;
    int rate;
    hora_ns per;
    int running;
    int waiting;
    int64_t started; /* tasks that have begun */
} hora_class_info;

/* hora_class_get_info - look at a class
 *
 * Ownership: the name belongs to the class.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_class_get_info(hora_class *task_class, hora_class_info *ret_info);

/* ---- terms ---- */

typedef enum hora_priority {
    HORA_PRIORITY_LOW = -1,
    HORA_PRIORITY_NORMAL = 0,
    HORA_PRIORITY_HIGH = 1,
    HORA_PRIORITY_URGENT = 2,
} hora_priority;

/* Limits are measured with the pool's clock, and never end early. What has expired fails with HORA_EEXPIRED, and counts as expired
 * (hora_pool_stats), not as failed or cancelled. They are looked after by a thread beside the pool, the watch, which is started with the first task that
 * has one, by hora itself also if the pool has a factory, and ends in hora_pool_free; so they hold after shutdown, too, until the pool is freed. What the caller
 * runs (HORA_REJECT_CALLER_RUNS) has no limits. A task that is retried (HORA_FAILURE_BACK_OFF) starts by each of its
 * planned times, and is done by the first one plus done_by. */
typedef struct hora_task_options {
    uint32_t struct_size; /* sizeof(hora_task_options), set by HORA_TASK_OPTIONS */
    hora_class *task_class;
    uint64_t
        key; /* tasks with the same key run one at a time, in the order in which they came; 0: none. See hora_key_of */
    hora_priority priority;
    hora_ns
        start_within; /* it expires unless it has begun so long after it came, or, if it is scheduled, after each planned time: */
                      /* then that run alone is dropped; 0: no limit */
    hora_ns run_limit; /* a run that goes on for so long is interrupted; 0: no limit */
    hora_ns
        stuck_after; /* a run that goes on for so long after that, or without run_for after its beginning or its last */
                     /* hora_progress, is reported as stuck; 0: as the pool has it */
    bool
        replace_stuck; /* a worker that is reported as stuck is written off: another one takes its place, and it ends with its task; */
                       /* until then it is waited for at the end of the pool, and the task's class and key are taken */
    hora_ns
        finish_within; /* it expires unless it is done so long after it came, or, if it is scheduled, after its planned time; if it runs */
                       /* then, it is interrupted, and its outcome does not count. Not for a series; 0: no limit */
    void *
        context; /* a pointer that goes with the task: see hora_context_current. NULL: what the pool's capture hook says */
} hora_task_options;

#define HORA_TASK_OPTIONS(...) (&(hora_task_options){.struct_size = sizeof(hora_task_options), __VA_ARGS__})

/* hora_task_options_check - whether terms are valid for a pool, and if not, why
 *
 * The calls that take terms refuse what this refuses. If `reterr_reason` is not NULL it is set to a static sentence.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (also: a class of another pool), HORA_ENOTSUP (a pool without oversight; class, key or priority, and it is not steered),
 * HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_task_options_check(hora_pool *pool, const hora_task_options *terms,
                                                    const char **reterr_reason);

/* hora_pool_submit_with - run a task some time, under terms
 *
 * `ret_future` may be NULL: then nobody asks. For a task that runs later, or again and again, see `terms` in hora/schedule.h.
 *
 * Ownership: as hora_pool_submit; the terms are copied.   Threads: Any thread.   Blocks: as hora_pool_execute.
 * Errors: as hora_pool_submit; and those of hora_task_options_check, HORA_EAGAIN (a limit, and no thread can be started to watch over it). */
HORA_NODISCARD HORA_API int hora_pool_submit_with(hora_pool *pool, const hora_task *task,
                                                  const hora_task_options *terms, hora_future **ret_future);

/* hora_key_of - a key made of a text; never 0. Different texts have different keys, as good as always
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None; NULL gives 0. */
HORA_API uint64_t hora_key_of(const char *text);

/* hora_future_set_class - let a task that has not begun belong to another class; NULL: to none
 *
 * It keeps the time since when it waits. The run of a series that is going counts for the new class from now on.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, a class of another pool), HORA_ENOTSUP (not of a pool that is steered), HORA_EBUSY (it has begun, and
 * runs only once, or is over), HORA_EFORKED. */
HORA_API int hora_future_set_class(hora_future *future, hora_class *task_class);

/* hora_future_set_priority - let a task that has not begun have another priority
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: as hora_future_set_class. */
HORA_API int hora_future_set_priority(hora_future *future, hora_priority priority);

/* ---- what a task carries ---- */

/* hora_context_current - the pointer that goes with the task that the calling thread runs; NULL: none
 *
 * See `carried` above, and hora_context_hooks in hora/oversight.h. A task that waits for another one, and so runs it, has its own again
 * afterwards. NULL in a task that the caller runs (HORA_REJECT_CALLER_RUNS), and more than eight tasks deep.
 *
 * Ownership: as whoever gave it says.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API void *hora_context_current(void);

HORA_END_DECLS

#endif
