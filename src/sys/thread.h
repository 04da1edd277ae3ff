/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - threads: start, join, name, and one pointer that each thread carries */
#ifndef HORA_SYS_THREAD_H
#define HORA_SYS_THREAD_H

#include <stddef.h>
#include <stdint.h>

typedef struct hora__os_thread {
    uintptr_t handle;
} hora__os_thread;

struct hora__thread_spec {
    void (*run)(void *arg);
    void *arg;
    const char *name;  /* shown by the system, cut to what it can show; NULL: none. Copied */
    size_t stack_size; /* bytes; 0: the system's default. Rounded up to what the system needs */
};

/* Start a joinable thread with all asynchronous signals blocked. HORA_EAGAIN, HORA_ENOMEM or HORA_EINVAL. */
__attribute__((warn_unused_result)) int hora__os_thread_start(const struct hora__thread_spec *spec,
                                                              hora__os_thread *ret_thread);

/* Between which sizes the stack of a thread can be chosen, in bytes. That the greatest one is allowed does
 * not mean that there is memory for it. */
size_t hora__os_thread_least_stack(void);
size_t hora__os_thread_most_stack(void);

void hora__os_thread_join(hora__os_thread thread);

hora__os_thread hora__os_thread_self(void);

/* How much time a thread that has not ended has used of a processor, in nanoseconds; < 0: not known. */
int64_t hora__os_thread_used(hora__os_thread thread);

/* Call run(arg); if that ends the thread instead of returning, call ends(arg) in it. */
void hora__os_thread_guard(void (*run)(void *arg), void (*ends)(void *arg), void *arg);

/* A number of the calling thread, > 0, unique among those alive. */
int32_t hora__thread_id(void);

/* The pointer that the calling thread carries; NULL at first. When a thread that carries one ends, at_exit is called in
 * it. The first call of set registers at_exit, which is the same in all calls. HORA_ENOMEM or HORA_EAGAIN. */
void *hora__thread_pointer(void);
__attribute__((warn_unused_result)) int hora__thread_set_pointer(void *pointer, void (*at_exit)(void *pointer));

/* Carry a pointer, or NULL, without a call at the end of the thread; so it cannot fail. */
void hora__thread_carry(void *pointer);

#endif
