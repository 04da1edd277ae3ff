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
 *   - Fewer tasks of its class are running than the limit of the class, and the rate of the class allows
 *     another start.
 *   - No other task with the same key is running or was submitted before it.
 *   - A thread is free that is not reserved for another class.
 *
 * Among the tasks that may start, the pool starts the one that has waited longest. Each level of priority
 * counts as much as having waited for `ageing`. An urgent task therefore overtakes others, but no task
 * starves: it can be overtaken only by tasks of a higher priority that arrive less than the difference of
 * their levels, times `ageing`, after it.
 *
 * Suppose that a task waits for another task of its own pool, and that one has not started. The waiting task
 * then runs it on its own thread, if its rate and key allow that. Limits and reserves do not apply, because
 * otherwise both tasks could wait forever. A task that the caller runs (HORA_REJECT_CALLER_RUNS) is not
 * counted anywhere. A timer (hora/timer.h) counts as a task without class, key and priority. */
#ifndef HORA_ADMISSION_H
#define HORA_ADMISSION_H

#include <stdint.h>

#include <hora/base.h>
#include <hora/error.h>
#include <hora/future.h>
#include <hora/pool.h>
#include <hora/task.h>

HORA_BEGIN_DECLS

/* The option `admission` of pools and schedulers. A pool with admission uses its own queue, which must have
 * capacity. The option cannot be combined with `spin` or `keep_cancelled`. */
typedef struct hora_admission {
    /* sizeof(hora_admission), set by HORA_ADMISSION */
    uint32_t struct_size;
    /* how much waiting time one level of priority is worth; 0 means 1 s. HORA_FOREVER means that a task of
     * higher priority always goes first, so that tasks of lower priority may starve */
    hora_ns ageing;
} hora_admission;

/* HORA_ADMISSION() or HORA_ADMISSION(.ageing = t): an options literal. */
#define HORA_ADMISSION(...) HORA__LITERAL(hora_admission, __VA_ARGS__)

/* ---- classes ---- */

/* The properties of a class of tasks. A class belongs to its pool and lives as long as the pool; it cannot be
 * removed. */
typedef struct hora_class_options {
    /* sizeof(hora_class_options), set by HORA_CLASS_OPTIONS */
    uint32_t struct_size;
    /* shown to people and in metrics; 1 to 63 bytes, unique within the pool. Copied */
    const char *name;
    /* maximum number of tasks of this class that run at the same time; 0 means no limit */
    int limit;
    /* number of threads kept free for this class while fewer of its tasks are running; 0 means none. Not more
     * than `limit`, if that is set */
    int reserve;
    /* maximum number of tasks of this class that start within any period of length `per`, at most 65536; 0
     * means no limit */
    int rate;
    /* the period of `rate`: > 0 if a rate is set, otherwise 0 */
    hora_ns per;
} hora_class_options;

/* HORA_CLASS_OPTIONS(.name = "n", .limit = 2): an options literal. */
#define HORA_CLASS_OPTIONS(...) HORA__LITERAL(hora_class_options, __VA_ARGS__)

/* hora_class_new - create a class of tasks in a pool with admission
 *
 * `options` must not be NULL, because a class needs a name. Options that cannot work are refused, and
 * `reason` says why. All reserves together must leave at least one of the pool's threads for tasks of any
 * class. A pool has at most 64 classes.
 *
 * Ownership: *ret_class belongs to the pool.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (also for a name that is already in use), HORA_ENOTSUP (the pool has no admission),
 * HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_class_new(hora_pool *pool, const hora_class_options *options,
                                           hora_class **ret_class, hora_error *reason);

/* hora_class_set - change the limit, reserve and rate of a class
 *
 * All three values are replaced: one that is left out becomes 0. The name cannot change; `name` may be NULL.
 * Waiting tasks that the new values admit start. Running tasks are not affected. If rate or per changes, the
 * new rate starts counting from zero.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_class_new; also HORA_EINVAL for a different name. */
HORA_API int hora_class_set(hora_class *task_class, const hora_class_options *options, hora_error *reason);

/* hora_pool_find_class - return the class of a pool with the given name, or NULL if there is none
 *
 * Also returns NULL if an argument is NULL, if the pool has no admission, and in the child of a fork.
 *
 * Ownership: the class belongs to the pool.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_class *hora_pool_find_class(hora_pool *pool, const char *name);

/* The state of a class at one moment. */
typedef struct hora_class_info {
    /* sizeof(hora_class_info), set by HORA_INIT */
    uint32_t struct_size;
    /* belongs to the class */
    const char *name;
    /* the current settings, as in hora_class_options */
    int limit;
    int reserve;
    int rate;
    hora_ns per;
    /* number of tasks of the class that are running */
    int running;
    /* number of tasks of the class that wait to be admitted; in a scheduler, only tasks that are due wait */
    int waiting;
    /* number of tasks of the class that have started since it was created */
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
 * The key is a 64-bit hash of the text, so different texts practically always have different keys. It is
 * never 0 for a text, and the same in every process.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None; NULL yields 0. */
HORA_API uint64_t hora_key_of(const char *text);

/* hora_future_set_class - move a task that has not started to another class; NULL means no class
 *
 * The task keeps the time it has already waited, and starts if the new class admits it. If the task is a
 * series whose run is in progress, that run counts for the new class from now on.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL; a class of another pool), HORA_ENOTSUP (not a future of a pool with admission),
 * HORA_EBUSY (a task that runs once has started, or the task is done), HORA_EFORKED. */
HORA_API int hora_future_set_class(hora_future *future, hora_class *task_class);

/* hora_future_set_priority - change the priority of a task that has not started
 *
 * The task keeps the time it has already waited. For a series, the change applies to all further runs.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_future_set_class; also HORA_EINVAL for a value that is not a hora_priority. */
HORA_API int hora_future_set_priority(hora_future *future, hora_priority priority);

HORA_END_DECLS

#endif
