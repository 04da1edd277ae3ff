/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - threads: start, join, name, and one pointer that each thread carries */
#ifndef HORA_SYS_THREAD_H
#define HORA_SYS_THREAD_H

#include <stddef.h>
#include <stdint.h>

/* A thread of the system. */
typedef struct hora__os_thread {
    uintptr_t handle; /* a pthread_t; in the simulator, the slot and the serial number of the thread */
} hora__os_thread;

/* The arguments of hora__os_thread_start. */
struct hora__thread_spec {
    void (*run)(void *arg); /* the thread calls run(arg) and ends when it returns */
    void *arg;
    const char *name;  /* shown by the system, cut to its limit; NULL: none; copied */
    size_t stack_size; /* bytes; 0: the system's default; rounded up to what the system needs */
};

/* Starts a joinable thread with all asynchronous signals blocked. Returns 0, HORA_EAGAIN, HORA_ENOMEM or
 * HORA_EINVAL. */
__attribute__((warn_unused_result)) int hora__os_thread_start(const struct hora__thread_spec *spec,
                                                              hora__os_thread *ret_thread);

/* Return the smallest and the largest stack size that a caller may choose, in bytes. There may not be enough
 * memory for the largest. */
size_t hora__os_thread_least_stack(void);
size_t hora__os_thread_most_stack(void);

/* Waits until the thread has ended and frees its resources. Call it once per thread. */
void hora__os_thread_join(hora__os_thread thread);

/* Returns the calling thread, which need not have been started by hora. */
hora__os_thread hora__os_thread_self(void);

/* Returns the processor time that a live thread has used, in nanoseconds; < 0: unknown. */
int64_t hora__os_thread_used(hora__os_thread thread);

/* Calls run(arg). If run ends the thread instead of returning, by pthread_exit or by cancellation, calls
 * ends(arg) in the ending thread. */
void hora__os_thread_guard(void (*run)(void *arg), void (*ends)(void *arg), void *arg);

/* Returns the number of the calling thread, > 0 and unique among live threads. */
int32_t hora__thread_id(void);

/* Return and set the pointer that the calling thread carries; it is NULL at first. When a thread ends that
 * has set a pointer, it calls at_exit(pointer). The first set call registers at_exit, and all calls must pass
 * the same function. Set returns 0, HORA_ENOMEM or HORA_EAGAIN. */
void *hora__thread_pointer(void);
__attribute__((warn_unused_result)) int hora__thread_set_pointer(void *pointer,
                                                                 void (*at_exit)(void *pointer));

/* Sets the pointer that the calling thread carries, or NULL, without a call of at_exit for it. Cannot
 * fail. */
void hora__thread_carry(void *pointer);

#endif
