/* SPDX-License-Identifier: Apache-2.0 */
/* hora/admission.h - admission control: which task may begin next, by class, key and priority
 *
 *     hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 8, .admission = HORA_ADMISSION()), &pool, &error);
 *     hora_class *slow;
 *     hora_class_new(pool, HORA_CLASS_OPTIONS(.name = "slow", .limit = 2), &slow, &error);
 *     hora_pool_submit_with(pool, HORA_TASK(resize, image), HORA_TASK_OPTIONS(.task_class = slow, .key = user), &future, &error);
 *
 * In a pool with `admission` a task begins when all of this holds:
 *
 *   - its class has fewer tasks running than its limit, and has not started as many as its rate allows;
 *   - no other task with its key is running, or was there before it;
 *   - a thread is left for it: those that are reserved for other classes are not.
 *
 * Of the tasks that may begin, the one that has waited longest does. Each level of priority counts as much
 * as having waited for `ageing`. So an urgent task overtakes, and no task starves: only tasks of higher
 * priority that come within that time after it overtake it.
 *
 * If a task waits for another task of its own pool that has not begun, it runs that one itself, if rate
 * and key allow it; limits and reserves do not count then. A task that the caller runs
 * (HORA_REJECT_CALLER_RUNS) counts nowhere. */
#ifndef HORA_ADMISSION_H
#define HORA_ADMISSION_H

#include <stdint.h>

#include <hora/base.h>
#include <hora/error.h>
#include <hora/future.h>
#include <hora/pool.h>
#include <hora/task.h>

HORA_BEGIN_DECLS

/* With admission a pool has a queue of its own, with room, and neither spin nor keep_cancelled. */
typedef struct hora_admission {
    /* set by HORA_ADMISSION */
    uint32_t struct_size;
    /* what a level of priority is worth; 0: 1 s, HORA_FOREVER: the higher always goes first */
    hora_ns ageing;
} hora_admission;

#define HORA_ADMISSION(...) HORA__LITERAL(hora_admission, __VA_ARGS__)

/* ---- classes ---- */

/* A class belongs to its pool, and lives as long. */
typedef struct hora_class_options {
    /* sizeof(hora_class_options), set by HORA_CLASS_OPTIONS */
    uint32_t struct_size;
    /* for people, and in metrics; copied. 1 to 63 bytes, and none that the pool has already */
    const char *name;
    /* at most so many of it run at the same time; 0: no limit */
    int limit;
    /* so many threads are kept free for it, if fewer of it run; 0: none */
    int reserve;
    /* at most so many begin in any time of `per`, at most 65536; 0: no limit */
    int rate;
    /* > 0 with a rate, else 0 */
    hora_ns per;
} hora_class_options;

#define HORA_CLASS_OPTIONS(...) HORA__LITERAL(hora_class_options, __VA_ARGS__)

/* hora_class_new - make a class of tasks for a pool with admission
 *
 * hora refuses what cannot work; `reason` says why. All reserves together must leave one thread for tasks
 * of any class. At most 64 classes.
 *
 * Ownership: *ret_class belongs to the pool.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOTSUP (the pool has no admission), HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_class_new(hora_pool *pool, const hora_class_options *options, hora_class **ret_class,
                                           hora_error *reason);

/* hora_class_set - give a class another limit, reserve and rate; the name stays, and may be NULL
 *
 * What waits and may begin by that, begins; what runs is not touched. A new rate starts anew.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_class_new; HORA_EINVAL also for another name. */
HORA_API int hora_class_set(hora_class *task_class, const hora_class_options *options, hora_error *reason);

/* hora_pool_find_class - the class of a pool with this name; NULL: there is none
 *
 * Ownership: belongs to the pool.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_class *hora_pool_find_class(hora_pool *pool, const char *name);

/* A class as it was at one moment. */
typedef struct hora_class_info {
    /* set by HORA_INIT */
    uint32_t struct_size;
    const char *name;
    int limit;
    int reserve;
    int rate;
    hora_ns per;
    int running;
    int waiting;
    /* tasks that have begun */
    int64_t started;
} hora_class_info;

/* hora_class_get_info - look at a class
 *
 * Ownership: the name belongs to the class.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL,
 * HORA_EFORKED. */
HORA_API int hora_class_get_info(hora_class *task_class, hora_class_info *ret_info);

/* ---- tasks ---- */

/* hora_key_of - a key made of a text; never 0. Different texts have different keys, as good as always
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None; NULL gives 0. */
HORA_API uint64_t hora_key_of(const char *text);

/* hora_future_set_class - let a task that has not begun belong to another class; NULL: to none
 *
 * It keeps the time since when it waits. The run of a series that is going counts for the new class from
 * now on.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, a class of another pool), HORA_ENOTSUP (not of a pool with admission),
 * HORA_EBUSY (it has begun, and runs only once, or is over), HORA_EFORKED. */
HORA_API int hora_future_set_class(hora_future *future, hora_class *task_class);

/* hora_future_set_priority - let a task that has not begun have another priority
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: as hora_future_set_class. */
HORA_API int hora_future_set_priority(hora_future *future, hora_priority priority);

HORA_END_DECLS

#endif
