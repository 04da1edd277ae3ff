/* SPDX-License-Identifier: Apache-2.0 */
/* hora/thread.h - thread handles and interrupts
 *
 * An interrupt is a request to a thread to stop what it is doing. Every thread has an interrupt flag,
 * including threads that hora did not create. Setting the flag wakes the thread from any blocking call of
 * hora. That call then clears the flag and returns HORA_EINTERRUPTED, having changed nothing. A blocking call
 * that is entered with the flag set returns HORA_EINTERRUPTED immediately. A thread that does not block calls
 * hora_interrupted() from time to time; a thread that blocks in the kernel adds the descriptor of
 * hora_interrupt_fd() to its poll set.
 *
 * Memory: actions of a thread before hora_thread_interrupt() are visible to the interrupted thread once it
 * has seen the flag.
 *
 * Unloading: hora keeps a record for each thread that has used it until that thread ends. A library that is
 * loaded with dlopen may contain or require hora, and may be unloaded with dlclose any number of times.
 * Before dlclose, free all hora objects, so that hora's own threads have ended, and join the threads that a
 * thread factory has created for it. Other threads that have used hora may continue to run: dlclose releases
 * their records. Once dlclose has been called, no other thread may be inside a call of hora or make one, and
 * until it returns no thread that has used hora may end: join such a thread before dlclose, or let it end
 * afterwards. A process may call exit while threads use hora; their records are then not released. */
#ifndef HORA_THREAD_H
#define HORA_THREAD_H

#include <stdbool.h>

#include <hora/base.h>
#include <hora/clock.h>

HORA_BEGIN_DECLS

/* A handle to a thread. It is reference-counted and remains valid after the thread has ended. */
typedef struct hora_thread hora_thread;

/* hora_thread_self - return a handle to the calling thread
 *
 * The first call in a thread that hora did not create allocates its record. The record is freed when the
 * thread has ended and its last handle has been released.
 *
 * Ownership: the caller receives one reference and releases it with hora_thread_unref.   Threads: Any thread.
 * Blocks: Never.   Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EAGAIN. */
HORA_NODISCARD HORA_API int hora_thread_self(hora_thread **ret_thread);

/* hora_thread_ref - add a reference to a handle
 *
 * Ownership: the caller owns the added reference; returns its argument, NULL for NULL.   Threads: Any thread.
 * Blocks: Never.   Errors: None. */
HORA_API hora_thread *hora_thread_ref(hora_thread *thread);

/* hora_thread_unref - release a reference
 *
 * Ownership: the caller's reference is released; NULL is allowed. Returns NULL, for `t =
 * hora_thread_unref(t);`.
 * Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_thread *hora_thread_unref(hora_thread *thread);

/* hora_thread_interrupt - set a thread's interrupt flag and wake it from any blocking call of hora
 *
 * Interrupting a thread that has ended, or whose flag is already set, has no effect and succeeds. A thread
 * may interrupt itself.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_thread_interrupt(hora_thread *thread);

/* hora_thread_is_interrupted - test whether a thread's flag is set, without clearing it
 *
 * False for NULL and for a thread that has ended.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_thread_is_interrupted(const hora_thread *thread);

/* hora_interrupted - test whether the calling thread's flag is set, and clear it
 *
 * It allocates nothing: a thread without a record has not been interrupted.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_interrupted(void);

/* hora_interrupt_fd - return a descriptor that polls readable while the calling thread's flag is set
 *
 * For threads that block in poll, select or epoll. The first call creates it; later calls return the same
 * one. Do not read from it, write to it or close it; clear the flag with hora_interrupted().
 *
 * Ownership: the descriptor belongs to hora and is closed when the thread has ended and its last handle has
 * been released.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_ENOMEM, HORA_EAGAIN, HORA_EMFILE, HORA_ENFILE; otherwise the descriptor, >= 0. */
HORA_NODISCARD HORA_API int hora_interrupt_fd(void);

/* hora_sleep - sleep for a time of the monotonic clock, or until interrupted
 *
 * Zero and negative times do not sleep, but still report a pending interrupt.
 *
 * Ownership: not transferred.   Threads: Any thread.
 * Blocks: until the time has passed or the thread is interrupted.
 * Errors: HORA_EINTERRUPTED (the flag is cleared), HORA_ENOMEM, HORA_EAGAIN. */
HORA_API int hora_sleep(hora_ns duration);

/* hora_clock_sleep - sleep for a time of the given clock, or until interrupted
 *
 * On a wall clock this means "until the clock shows now + duration": setting the clock forward ends the sleep
 * early, and setting it back prolongs it. NULL means the monotonic clock.
 *
 * Ownership: not transferred.   Threads: Any thread.
 * Blocks: until the time has passed or the thread is interrupted.
 * Errors: HORA_EINTERRUPTED (the flag is cleared), HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED (a virtual clock of
 * the parent process). */
HORA_API int hora_clock_sleep(const hora_clock *clock, hora_ns duration);

HORA_END_DECLS

#endif
