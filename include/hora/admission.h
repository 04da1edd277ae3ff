/* SPDX-License-Identifier: Apache-2.0 */
/* hora/admission.h - admission control: which task may start next, by class, key and priority
 *
 *     hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 8, .admission = HORA_ADMISSION()), &pool, &error);
 *     hora_class *slow;
 *     hora_class_new(pool, HORA_CLASS_OPTIONS(.name = "slow", .limit = 2), &slow, &error);
 *     hora_pool_submit_with(pool, HORA_TASK(resize, image),
 *                           HORA_TASK_OPTIONS(.task_class = slow, .key = user), &future, &error);
 *
 * A pool with `admission` starts a task when all of the following hold:
 *
 *   - Its class has fewer running tasks than its limit, and its rate allows another start.
 *   - No other task with the same key is running or arrived before it.
 *   - A thread is free that is not reserved for another class.
 *
 * Among the tasks that may start, the pool starts the one that has waited longest. Each level of priority
 * counts as much as having waited for `ageing`. An urgent task therefore overtakes others, but no task
 * starves: only tasks of higher priority that arrive within that time after it can overtake it.
 *
 * A task that waits for another task of its own pool that has not started runs that task itself, if rate and
 * key allow it. Limits and reserves do not apply in that case. A task that the caller runs
 * (HORA_REJECT_CALLER_RUNS) is not counted anywhere. */
#ifndef HORA_ADMISSION_H
#define HORA_ADMISSION_H

#include <stdint.h>

#include <hora/base.h>
#include <hora/error.h>
#include <hora/future.h>
#include <hora/pool.h>
#include <hora/task.h>

HORA_BEGIN_DECLS

/* A pool with admission uses its own queue, which must have capacity. It cannot be combined with `spin` or
 * `keep_cancelled`. */
typedef struct hora_admission {
    /* set by HORA_ADMISSION */
    uint32_t struct_size;
    /* how much waiting time one level of priority is worth; 0 means 1 s, HORA_FOREVER means that a higher
     * priority always goes first */
    hora_ns ageing;
} hora_admission;

#define HORA_ADMISSION(...) HORA__LITERAL(hora_admission, __VA_ARGS__)

/* ---- classes ---- */

/* A class belongs to its pool and lives as long as the pool. */
typedef struct hora_class_options {
    /* sizeof(hora_class_options), set by HORA_CLASS_OPTIONS */
    uint32_t struct_size;
    /* shown to people and in metrics; copied. 1 to 63 bytes, unique within the pool */
    const char *name;
    /* maximum number of tasks of this class that run at the same time; 0 means no limit */
    int limit;
    /* number of threads kept free for this class while fewer of its tasks are running; 0 means none */
    int reserve;
    /* maximum number of tasks of this class that start within any period of length `per`, at most 65536; 0
     * means no limit */
    int rate;
    /* > 0 if a rate is set, otherwise 0 */
    hora_ns per;
} hora_class_options;

#define HORA_CLASS_OPTIONS(...) HORA__LITERAL(hora_class_options, __VA_ARGS__)

/* hora_class_new - create a class of tasks in a pool with admission
 *
 * Options that cannot work are refused, and `reason` says why. All reserves together must leave at least one
 * thread for tasks of any class. A pool has at most 64 classes.
 *
 * Ownership: *ret_class belongs to the pool.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOTSUP (the pool has no admission), HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_class_new(hora_pool *pool, const hora_class_options *options,
                                           hora_class **ret_class, hora_error *reason);

/* hora_class_set - change the limit, reserve and rate of a class
 *
 * The name cannot change; `name` may be NULL. Waiting tasks that the new values admit start. Running tasks
 * are not affected. A new rate starts counting from zero.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_class_new; also HORA_EINVAL for a different name. */
HORA_API int hora_class_set(hora_class *task_class, const hora_class_options *options, hora_error *reason);

/* hora_pool_find_class - return the class of a pool with the given name, or NULL if there is none
 *
 * Ownership: the class belongs to the pool.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_class *hora_pool_find_class(hora_pool *pool, const char *name);

/* The state of a class at one moment. */
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
    /* number of tasks that have started */
    int64_t started;
} hora_class_info;

/* hora_class_get_info - get the state of a class
 *
 * Ownership: the name belongs to the class.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_class_get_info(hora_class *task_class, hora_class_info *ret_info);

/* ---- tasks ---- */

/* hora_key_of - compute a key from a text
 *
 * The key is never 0 for a text. It is a 64-bit hash, so different texts practically always have different
 * keys.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None; NULL yields 0. */
HORA_API uint64_t hora_key_of(const char *text);

/* hora_future_set_class - move a task that has not started to another class; NULL means no class
 *
 * The task keeps the time it has already waited. If the task is a series whose run is in progress, that run
 * counts for the new class from now on.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL; a class of another pool), HORA_ENOTSUP (not a future of a pool with admission),
 * HORA_EBUSY (a task that runs once has started, or the task is over), HORA_EFORKED. */
HORA_API int hora_future_set_class(hora_future *future, hora_class *task_class);

/* hora_future_set_priority - change the priority of a task that has not started
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: as hora_future_set_class. */
HORA_API int hora_future_set_priority(hora_future *future, hora_priority priority);

HORA_END_DECLS

#endif
