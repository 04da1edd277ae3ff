/* SPDX-License-Identifier: Apache-2.0 */
/* hora/explain.h - why a task has not run, and what a pool is doing now
 *
 *     char why[HORA_EXPLAIN_TEXT];
 *     hora_future_explain(future, why, sizeof why);
 *     puts(why);    "resize (img.c:88) waits: its class slow is at its limit of 2; worker 3 has been busy with resize (img.c:88) for 9 s" */
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

#define HORA_EXPLAIN_TEXT 512

/* hora_future_explain - why a task has not run, or what became of it, in words
 *
 * As snprintf: returns the length of the whole text, and writes what fits, always with a final NUL if size
 * > 0. Takes time in proportion to what is queued. How much it can say of times and of workers depends on
 * what the pool has switched on (metrics, admission, watchdog, listener).
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_future_explain(hora_future *future, char *text, size_t size);

/* A worker as it was at one moment. */
typedef struct hora_worker_info {
    /* set by HORA_INIT, in an array that of the first element */
    uint32_t struct_size;
    /* the pool counts its workers from 1 */
    int number;
    /* it runs a task; what follows is of that */
    bool running;
    /* of the task, cut if it is longer; "" if it has none */
    char name[64];
    /* from where it was submitted: "img.c:88" */
    char place[96];
    hora_ns running_for;
    /* since it began, or last said hora_progress */
    hora_ns quiet_for;
    /* as it said then */
    int64_t done;
    int64_t of;
    /* tasks that it has begun, so far */
    int64_t runs;
} hora_worker_info;

/* hora_pool_workers - look at up to `max` workers, in the order of their numbers; returns how many there are
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (workers NULL and max > 0, max < 0), HORA_ENOTSUP (a pool without metrics,
 * admission, watchdog, listener and context_hooks), HORA_EFORKED. */
HORA_API int hora_pool_workers(hora_pool *pool, hora_worker_info *workers, int max);

/* hora_pool_dump - write down what a pool is doing, as JSON
 *
 * One object: settings, state and counts; each worker with what it runs, from where that was submitted,
 * for how long and when it made progress last; the first tasks of the queue with their age; the next 20
 * firings; classes and keys. docs/guide/seeing.md lists the fields. What is written was true at one moment
 * for each part, not for all together.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: As `write` does, with no lock of hora held.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED, and what `write` returns. */
HORA_NODISCARD HORA_API int hora_pool_dump(hora_pool *pool, hora_write_fn write, void *arg);

/* hora_pool_dump_fd - the same, to a file descriptor: for debuggers ("call hora_pool_dump_fd(pool, 2)")
 *
 * It needs no memory, and waits for no lock, so it can be called in a process that was stopped anywhere:
 * if a thread holds a lock that it needs, it writes {"name":...,"busy":true} instead. Of more than 64
 * workers the others are left out, and counted.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: As writing to the descriptor does.
 * Errors: as hora_pool_dump; HORA_EIO. */
HORA_API int hora_pool_dump_fd(hora_pool *pool, int fd);

/* hora_pool_request_dump - let the pool's dump thread write a dump, soon, to `dump` of its options
 *
 * May be called from a signal handler: it takes no lock, no memory, and leaves errno as it is. What is
 * asked for while a dump is being written is one more dump, however often. The thread is there from
 * hora_pool_new to hora_pool_free, if `dump` is given; so the handler must not use the pool
 * after that. In that thread hora_pool_free returns HORA_EDEADLK.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL), HORA_ENOTSUP (nothing was said where to), HORA_EFORKED. */
HORA_API int hora_pool_request_dump(hora_pool *pool);

HORA_END_DECLS

#endif
