/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - stacks, and switching between them
 *
 * Purpose           A simulated thread is a stack on the one thread of the process. A schedule switches a
 *                   hundred times, so switching is a dozen instructions of assembly on x86-64 and aarch64.
 *                   Elsewhere the C library's swapcontext does it, at twenty times the cost (a system call
 *                   for the signal mask).
 * How it works      hora__sim_swap pushes the registers that a call preserves, stores the stack pointer,
 *                   loads the other one, and pops. A fresh stack is laid out as if it had been switched away
 *                   from just before entry(). Stacks are mapped once per context, with a guard page below,
 *                   and kept until the process ends.
 * Sanitizers        Each switch is announced to AddressSanitizer, which keeps a second, fake stack per stack.
 *                   For ThreadSanitizer each context is a fiber, and a switch does not synchronise. Otherwise
 *                   it would never report a race, since the contexts do not really run in parallel.
 * Invariants        C1 `entered` tells whether there are live frames on the stack.
 *                   C2 a fiber that was left in the middle is never used again: its call stack would only
 *                   grow. */
#include "simulator/context.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    STACK_SIZE = 256 * 1024,
    GUARD_SIZE = 64 * 1024 /* a multiple of every page size */
};

#ifdef HORA_SIM_ASAN

void __sanitizer_start_switch_fiber(void **save, const void *stack, size_t size);
void __sanitizer_finish_switch_fiber(void *saved, const void **ret_stack, size_t *ret_size);
void __asan_unpoison_memory_region(const volatile void *address, size_t size);

static struct sim_context *came_from; /* the context of the last switch */
static bool only_to_leave;            /* the switch goes to an abandoned context, which must leave at once */

/* Informs AddressSanitizer that a switch follows. for_good: `from` is left, and its fake stack is freed. */
static void announce_switch(struct sim_context *from, struct sim_context *to, bool for_good)
{
    came_from = from;
    __sanitizer_start_switch_fiber(for_good ? NULL : &from->fake_stack, to->stack, to->stack_size);
}

/* Informs AddressSanitizer that the switch is complete. It returns the bounds of the stack that was left;
 * this is the only way to find out where the stack of the process is. */
static void announce_arrival(struct sim_context *here)
{
    __sanitizer_finish_switch_fiber(here->fake_stack, &came_from->stack, &came_from->stack_size);
    here->fake_stack = NULL;
    if (only_to_leave)
        hora__sim_context_leave(here, came_from);
}

#else

static void announce_switch(struct sim_context *from, struct sim_context *to, bool for_good)
{
    (void)from;
    (void)to;
    (void)for_good;
}

static void announce_arrival(struct sim_context *here)
{
    (void)here;
}

#endif

#ifdef HORA_SIM_TSAN

enum { NO_SYNC = 1 };
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);

/* Its address stands for everything done in contexts that are discarded or gathered. */
static char all_before;

/* Discards the fiber of a context that was left inside its functions. ThreadSanitizer would take these
 * functions for still running, each time some more, until it has no room for them. */
static void replace_fiber(struct sim_context *context)
{
    void *own = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(context->fiber, NO_SYNC);
    __tsan_release(&all_before);
    __tsan_switch_to_fiber(own, NO_SYNC);
    __tsan_destroy_fiber(context->fiber);
    context->fiber = NULL;
}

/* Gives a context that is being prepared a fiber, its old one if that can be used again. */
static void make_fiber(struct sim_context *context)
{
    if (context->fiber != NULL && context->left_midway)
        replace_fiber(context);
    context->left_midway = false;
    if (context->fiber == NULL)
        context->fiber = __tsan_create_fiber(0);
}

static void switch_fiber(const struct sim_context *to)
{
    __tsan_switch_to_fiber(to->fiber, NO_SYNC);
}

#else

static void make_fiber(struct sim_context *context)
{
    (void)context;
}

static void switch_fiber(const struct sim_context *to)
{
    (void)to;
}

#endif

/* Arguments of begin(), which cannot have parameters: the entry function, which is the same for all contexts,
 * and the context that is entered. */
static void (*first_call)(void);
static struct sim_context *first_context;

/* The function of the first frame of every stack. */
static void begin(void)
{
    announce_arrival(first_context);
    first_call();
    abort(); /* entry() must not return */
}

#ifdef HORA_SIM_ASSEMBLY

/* Saves the registers on the current stack and its stack pointer in *save, and continues on the stack
 * `load`. */
void hora__sim_swap(void **save, void *load);

#if defined(__x86_64__)

/* The words of a fresh stack: six registers, the return address, and a zero that ends back traces. */
enum { SAVED_WORDS = 8, ENTRY_WORD = 6 };
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".globl hora__sim_swap\n"
        ".type hora__sim_swap, @function\n"
        "hora__sim_swap:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size hora__sim_swap, . - hora__sim_swap\n"
        ".popsection\n");

#else

/* The words of a fresh stack: x19 to x30, of which x30 is the return address, and d8 to d15. */
enum { SAVED_WORDS = 20, ENTRY_WORD = 11 };
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".globl hora__sim_swap\n"
        ".type hora__sim_swap, %function\n"
        "hora__sim_swap:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size hora__sim_swap, . - hora__sim_swap\n"
        ".popsection\n");

#endif

/* Lays out a fresh stack so that the first swap to it returns into begin(). */
static void lay_out(struct sim_context *context)
{
    uintptr_t *top = (uintptr_t *)((uintptr_t)context->stack + context->stack_size);
    uintptr_t *frame = top - SAVED_WORDS;
    memset(frame, 0, SAVED_WORDS * sizeof *frame);
    frame[ENTRY_WORD] = (uintptr_t)begin;
    context->stack_pointer = frame;
}

static void swap(struct sim_context *from, struct sim_context *to)
{
    hora__sim_swap(&from->stack_pointer, to->stack_pointer);
}

#else

static void lay_out(struct sim_context *context)
{
    (void)getcontext(&context->machine);
    context->machine.uc_stack.ss_sp = (void *)(uintptr_t)context->stack;
    context->machine.uc_stack.ss_size = context->stack_size;
    context->machine.uc_link = NULL;
    makecontext(&context->machine, begin, 0);
}

static void swap(struct sim_context *from, struct sim_context *to)
{
    (void)swapcontext(&from->machine, &to->machine);
}

#endif

/* Maps the stack of a context, unless it has one. Returns false if there is no memory. */
static bool make_stack(struct sim_context *context)
{
    if (context->stack != NULL)
        return true;
    char *memory =
        mmap(NULL, GUARD_SIZE + STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, GUARD_SIZE, PROT_NONE) < 0)
        return false;
    context->stack = memory + GUARD_SIZE;
    context->stack_size = STACK_SIZE;
    return true;
}

void hora__sim_context_adopt(struct sim_context *context)
{
#ifdef HORA_SIM_TSAN
    context->fiber = __tsan_get_current_fiber();
#endif
    context->entered = true;
}

bool hora__sim_context_prepare(struct sim_context *context, void (*entry)(void))
{
    if (!make_stack(context))
        return false;
    make_fiber(context);
    first_call = entry;
    context->entered = false; /* C1 */
    lay_out(context);
    return true;
}

void hora__sim_context_switch(struct sim_context *from, struct sim_context *to)
{
    if (!to->entered) {
        to->entered = true;
        first_context = to;
    }
    switch_fiber(to);
    announce_switch(from, to, false);
    swap(from, to);
    announce_arrival(from);
}

void hora__sim_context_leave(struct sim_context *from, struct sim_context *to)
{
    from->entered = false;
    if (!to->entered) {
        to->entered = true;
        first_context = to;
    }
    switch_fiber(to);
    announce_switch(from, to, true);
    swap(from, to);
    abort(); /* no context switches to one that has left */
}

void hora__sim_context_abandon(struct sim_context *context, struct sim_context *own)
{
    if (!context->entered)
        return;
#ifdef HORA_SIM_ASAN
    /* AddressSanitizer frees a fake stack only when its context leaves. So switch to the context once more;
     * it leaves at once, in announce_arrival. */
    only_to_leave = true;
    announce_switch(own, context, false);
    swap(own, context);
    only_to_leave = false;
    announce_arrival(own);
    __asan_unpoison_memory_region(context->stack, context->stack_size);
#endif
#ifdef HORA_SIM_TSAN
    __tsan_destroy_fiber(context->fiber); /* C2 */
    context->fiber = NULL;
#endif
    (void)own;
    context->entered = false;
}

void hora__sim_context_gather(struct sim_context *context, struct sim_context *own)
{
#ifdef HORA_SIM_TSAN
    if (context->fiber == NULL)
        return;
    switch_fiber(context);
    __tsan_release(&all_before);
    switch_fiber(own);
    __tsan_acquire(&all_before);
#else
    (void)context;
    (void)own;
#endif
}
