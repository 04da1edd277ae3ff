/* SPDX-License-Identifier: Apache-2.0 */
/* hora/thread.h - thread handles and interrupts
 *
 * An interrupt is a polite request to a thread to stop what it is doing. Every thread has a flag,
 * also one that hora did not make. Setting it wakes the thread from whatever blocking call of hora it
 * is in; that call then clears the flag and returns HORA_EINTERRUPTED, having changed nothing. A
 * blocking call that is entered with the flag set returns HORA_EINTERRUPTED at once. A thread that
 * does not block asks hora_interrupted() now and then; one that blocks in the kernel adds the
 * descriptor of hora_interrupt_fd() to its poll set.
 *
 * Memory: what a thread did before hora_thread_interrupt() is visible to the interrupted thread once
 * it has seen the flag.
 *
 * Unloading: hora keeps a record for each thread that has used it, until that thread ends. A library
 * that is loaded by dlopen may contain or need hora, and may be unloaded by dlclose as often as you
 * like. Before dlclose, free all objects of hora, so that its own threads have ended, and join the
 * threads that a thread factory has made for it. Other threads that have used hora may live on: dlclose
 * releases their records. From the call of dlclose on, no other thread may be inside a call of hora or make
 * one, and until it returns no thread that has used hora may end: join a thread before dlclose, or let
 * it end after that. A process may end by exit while threads use hora; their records are not released then. */
#ifndef HORA_THREAD_H
#define HORA_THREAD_H

#include <stdbool.h>

#include <hora/base.h>
#include <hora/clock.h>

HORA_BEGIN_DECLS

/* A handle of a thread: counted, valid also after the thread has ended. */
typedef struct hora_thread hora_thread;

/* hora_thread_self - a handle of the calling thread
 *
 * The first call in a thread that hora did not make allocates its record, which is released when the
 * thread has ended and the last handle is gone.
 *
 * Ownership: the caller gets one reference, to be given back with hora_thread_unref.
 * Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_thread_self(hora_thread **ret_thread);

/* hora_thread_ref - one more reference to a handle
 *
 * Ownership: the caller owns the added reference; returns its argument, NULL for NULL.
 * Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_thread *hora_thread_ref(hora_thread *thread);

/* hora_thread_unref - give one reference back
 *
 * Ownership: the reference is gone; NULL is allowed. Returns NULL, for `t = hora_thread_unref(t);`.
 * Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_thread *hora_thread_unref(hora_thread *thread);

/* hora_thread_interrupt - set a thread's interrupt flag and wake it from any blocking call of hora
 *
 * Interrupting a thread that has ended, or whose flag is set already, changes nothing and succeeds.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_thread_interrupt(hora_thread *thread);

/* hora_thread_is_interrupted - whether a thread's flag is set; leaves it as it is
 *
 * False for NULL and for a thread that has ended.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_thread_is_interrupted(const hora_thread *thread);

/* hora_interrupted - whether the calling thread's flag was set; clears it
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_interrupted(void);

/* hora_interrupt_fd - a descriptor that polls readable while the calling thread's flag is set
 *
 * For threads that block in poll, select or epoll. Made at the first call, then always the same one.
 * Do not read from it, write to it or close it: clear the flag with hora_interrupted().
 *
 * Ownership: hora's; it is closed when the thread has ended and its last handle is gone.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_ENOMEM, HORA_EMFILE, HORA_ENFILE, HORA_ENOTSUP; otherwise the descriptor, >= 0. */
HORA_NODISCARD HORA_API int hora_interrupt_fd(void);

/* hora_sleep - sleep for a time of the monotonic clock, or until interrupted
 *
 * Zero and negative times do not sleep, but still report a pending interrupt.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: until the time is over or the thread is
 * interrupted.
 * Errors: HORA_EINTERRUPTED (the flag is cleared), HORA_ENOMEM. */
HORA_API int hora_sleep(hora_ns duration);

/* hora_clock_sleep - sleep for a time of the given clock, or until interrupted
 *
 * On a wall clock this is "until the clock shows now + duration": setting the clock forward ends the
 * sleep early, setting it back prolongs it. NULL is the monotonic clock.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: until the time is over or the thread is
 * interrupted.
 * Errors: HORA_EINTERRUPTED (the flag is cleared), HORA_ENOMEM, HORA_EFORKED (a virtual clock of the
 * parent process). */
HORA_API int hora_clock_sleep(const hora_clock *clock, hora_ns duration);

HORA_END_DECLS

#endif
