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

struct sim_context {
#ifdef HORA_SIM_ASSEMBLY
    void *stack_pointer; /* while it does not run */
#else
    ucontext_t machine;
#endif
    const void *stack; /* lowest byte; NULL: none yet */
    size_t stack_size;
    bool entered;     /* its stack is in use: it has run and not left for good */
    bool left_midway; /* it left out of functions that will not return */
    void *fake_stack; /* AddressSanitizer's */
    void *fiber;      /* ThreadSanitizer's; NULL: none yet */
};

/* The context that the caller runs in. */
void hora__sim_context_adopt(struct sim_context *context);

/* Make the context ready to call entry(), which must never return, at the first switch to it. Its stack is kept for the
 * next time. False if there is no memory for it. */
bool hora__sim_context_prepare(struct sim_context *context, void (*entry)(void));

void hora__sim_context_switch(struct sim_context *from, struct sim_context *to);

/* The same, never to come back. */
__attribute__((noreturn)) void hora__sim_context_leave(struct sim_context *from, struct sim_context *to);

/* Forget what was going on in a context that was left in the middle; `own` is the caller's. */
void hora__sim_context_abandon(struct sim_context *context, struct sim_context *own);

/* What happened in the context so far comes before all that the caller does from now on. */
void hora__sim_context_gather(struct sim_context *context, struct sim_context *own);

/* Edges for ThreadSanitizer: what was done before release(x) comes before what is done after a later acquire(x). */
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
