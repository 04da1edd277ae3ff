/* SPDX-License-Identifier: Apache-2.0 */
/* hora/explain.h - explain why a task has not run, and show what a pool is doing
 *
 *     char why[HORA_EXPLAIN_TEXT];
 *     hora_future_explain(future, why, sizeof why);
 *     puts(why);
 *
 * hora_future_explain answers in a sentence, such as:
 *
 *     resize (img.c:88) waits: its class slow is at its limit of 2;
 *     worker 3 has been busy with resize (img.c:88) for 9 s */
#ifndef HORA_EXPLAIN_H
#define HORA_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hora/base.h>
#include <hora/error.h>
#include <hora/event.h>
#include <hora/future.h>
#include <hora/pool.h>

HORA_BEGIN_DECLS

/* Buffer size that is enough for most texts of hora_future_explain, including the terminating NUL. */
#define HORA_EXPLAIN_TEXT 512

/* hora_future_explain - explain in words why a task has not run, or what became of it
 *
 * Like snprintf, it writes as much as fits, always with a terminating NUL if size > 0, and returns the length
 * of the complete text. It allocates no memory. It takes time proportional to the number of queued tasks. It
 * knows what the workers are running, and for how long, only in a pool with metrics, admission, watchdog,
 * listener, context_hooks, grow_after or dump. Each clause was true at one moment, but not all of them at the
 * same moment. The wording is for people and may change in any release.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_future_explain(hora_future *future, char *text, size_t size);

/* The state of a worker at one moment. */
typedef struct hora_worker_info {
    /* sizeof(hora_worker_info), set by HORA_INIT; in an array, that of the first element counts for all */
    uint32_t struct_size;
    /* workers of a pool are numbered from 1 */
    int number;
    /* the worker is running a task; if not, the fields from name to `of` are zero */
    bool running;
    /* name of the task, truncated if necessary; "" if it has none */
    char name[64];
    /* where the task was submitted: "img.c:88"; "" if this is not known */
    char place[96];
    /* time since the run started, by the pool's clock */
    hora_ns running_for;
    /* time since the run started or last called hora_progress */
    hora_ns quiet_for;
    /* the arguments of the last hora_progress of this run; 0 if it has not called it */
    int64_t done;
    int64_t of;
    /* number of tasks the worker has started so far */
    int64_t runs;
} hora_worker_info;

/* hora_pool_workers - get the state of up to `max` workers, in the order of their numbers
 *
 * Returns how many workers there are, which may be more than `max`. If `max` is 0, the call only counts them,
 * and `workers` may be NULL. A worker that was written off (replace_stuck) is included until its task ends.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (workers is NULL and max > 0; max < 0; workers[0] was not initialized with HORA_INIT),
 * HORA_ENOTSUP (a pool without metrics, admission, watchdog, listener, context_hooks, grow_after and dump),
 * HORA_EFORKED. */
HORA_API int hora_pool_workers(hora_pool *pool, hora_worker_info *workers, int max);

/* hora_pool_dump - write the state of a pool as JSON
 *
 * The output is one object. It contains settings, state and counts; each worker with its task, where that
 * task was submitted, how long it has been running and when it last made progress; the first tasks of the
 * queue with their age; the next 20 planned runs; classes and keys. docs/guide/seeing.md lists the fields.
 * Each part is consistent in itself, but different parts may be of different moments.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: As `write` does, with no hora lock held.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED, and what `write` returns. */
HORA_NODISCARD HORA_API int hora_pool_dump(hora_pool *pool, hora_write_fn write, void *arg);

/* hora_pool_dump_fd - write the state of a pool as JSON to a file descriptor, for use in debuggers
 *
 * In gdb: "call (int)hora_pool_dump_fd(pool, 2)". The call allocates no memory and waits for no lock, so it
 * can be made in a process that was stopped at any point. If a thread holds a lock that it needs, it writes
 * {"name":...,"busy":true} instead and returns 0. It writes at most 64 workers and the number of those left
 * out.
 *
 * Ownership: not transferred; the descriptor stays open.   Threads: Any thread.
 * Blocks: As writing to the descriptor does.
 * Errors: HORA_EINVAL (NULL; fd < 0), HORA_EIO (writing failed), HORA_EFORKED. */
HORA_API int hora_pool_dump_fd(hora_pool *pool, int fd);

/* hora_pool_request_dump - ask the pool's dump thread to write a dump to `dump` of its options
 *
 * The thread writes the dump soon after the call has returned. The call may be made in a signal handler: it
 * takes no lock, allocates no memory and preserves errno. All requests made while a dump is being written
 * result in one further dump. If `dump` is set, the thread exists from hora_pool_new to hora_pool_free, so a
 * signal handler must not use the pool after hora_pool_free was called. In the dump thread, hora_pool_free
 * returns HORA_EDEADLK. An error that `dump` returns ends that dump and is otherwise ignored.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL), HORA_ENOTSUP (the pool has no `dump`), HORA_EFORKED. */
HORA_API int hora_pool_request_dump(hora_pool *pool);

HORA_END_DECLS

#endif
