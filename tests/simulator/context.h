/* SPDX-License-Identifier: Apache-2.0 */
/* context.h - stacks, and switching between them */
#ifndef HORA_SYS_SIM_CONTEXT_H
#define HORA_SYS_SIM_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define HORA_SIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HORA_SIM_ASAN 1
#endif
#endif

#if defined(__ELF__) && (defined(__x86_64__) || defined(__aarch64__)) && !defined(HORA_SIM_UCONTEXT)
#define HORA_SIM_ASSEMBLY 1
#else
#include <ucontext.h>
#endif

/* A flow of control with its own stack. */
struct sim_context {
#ifdef HORA_SIM_ASSEMBLY
    void *stack_pointer; /* where its registers are saved while it does not run */
#else
    ucontext_t machine;
#endif
    const void *stack; /* lowest byte; NULL: none yet */
    size_t stack_size; /* in bytes */
    bool entered;      /* its stack is in use: it has run and has not been left for good */
    bool left_midway;  /* it was left for good inside functions that will not return */
    void *fake_stack;  /* of AddressSanitizer, while the context does not run */
    void *fiber;       /* of ThreadSanitizer; NULL: none yet */
};

/* Makes *context the context that the caller runs in, on the stack of the process. */
void hora__sim_context_adopt(struct sim_context *context);

/* Prepares the context to call entry(), which must never return, at the first switch to it. Its stack is kept
 * and used again the next time. Returns false if there is no memory for a stack. */
bool hora__sim_context_prepare(struct sim_context *context, void (*entry)(void));

/* Saves the caller's context in *from and continues `to`. Returns when another context switches to `from`. */
void hora__sim_context_switch(struct sim_context *from, struct sim_context *to);

/* Continues `to`. No context may switch to `from` again before it is prepared anew. */
__attribute__((noreturn)) void hora__sim_context_leave(struct sim_context *from, struct sim_context *to);

/* Discards a context that was switched away from and will not be continued; `own` is the caller's. */
void hora__sim_context_abandon(struct sim_context *context, struct sim_context *own);

/* For ThreadSanitizer: everything done in the context so far happens before everything that the caller does
 * from now on. */
void hora__sim_context_gather(struct sim_context *context, struct sim_context *own);

/* Edges for ThreadSanitizer: everything done before release(x) happens before everything done after a later
 * acquire(x). */
#ifdef HORA_SIM_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define SIM_ACQUIRE(address) __tsan_acquire(address)
#define SIM_RELEASE(address) __tsan_release(address)
#else
#define SIM_ACQUIRE(address) ((void)0)
#define SIM_RELEASE(address) ((void)0)
#endif

#endif
