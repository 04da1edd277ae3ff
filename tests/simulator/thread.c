/* SPDX-License-Identifier: Apache-2.0 */
/* thread.c - simulated threads: from start to join, blocking and waking
 *
 * How it works      A thread is a slot in a table with its own context. It runs until it reaches a schedule
 *                   point, where another thread may be chosen. A blocked thread is not in the set `ready`
 *                   until another thread wakes it. Slots, stacks and fibers are used again, in this run and
 *                   in later ones.
 * States            UNUSED -> READY       start
 *                   READY -> LOCKING, SLEEPING, WAITING, JOINING, AWAITING    the thread blocks
 *                   those -> READY        another thread wakes it, or its deadline passes
 *                   WAITING -> LOCKING    a waiter of a condition is woken: it goes on only with the mutex
 *                   READY -> ENDED        its function has returned, or it exits, and at_exit was called
 *                   ENDED -> UNUSED       join
 * Invariants        W1 `ready` holds the READY threads, and the LOCKING ones whose mutex is free.
 *                   W2 `timed` holds the blocked threads with a deadline. */
#include "sys/thread.h"

#include <stdio.h>
#include <string.h>

#include <hora/error.h>

#include "simulator/internal.h"
#include "sys/process.h"

enum {
    SLOT_BITS = 6,  /* the lower bits of a handle, which hold the slot */
    EXIT_ROUNDS = 4 /* how often at_exit is called if it sets a pointer again, as for pthread keys */
};

static void (*exit_hook)(void *pointer); /* the at_exit function of hora__thread_set_pointer */
static uint64_t threads_started;         /* in this run */

/* Calls at_exit for the pointer that a thread carries, again if that sets a pointer. */
static void call_at_exit(struct sim_thread *self)
{
    for (int i = 0; i < EXIT_ROUNDS && self->pointer != NULL; i++) {
        void *pointer = self->pointer;
        self->pointer = NULL;
        exit_hook(pointer);
    }
}

/* Wakes the thread that waits for the end of this one. */
static void wake_joiner(const struct sim_thread *ended)
{
    for (uint64_t left = hora__sim.used; left != 0;) {
        struct sim_thread *thread = sim_take_first(&left);
        if (thread->state == SIM_JOINING && thread->object == ended)
            hora__sim_wake(thread);
    }
}

/* Ends the current thread. The end of thread 0, which runs the body, ends the run. */
static void end_thread(struct sim_thread *self)
{
    call_at_exit(self);
    if (self->held_count > 0)
        hora__sim_end(HORA__SIM_MISUSE, "thread %d ends with a lock held", sim_number(self));
    SIM_RELEASE(&self->happens_before);
    self->state = SIM_ENDED;
    hora__sim.ready &= ~sim_bit(self);
    wake_joiner(self);
    if (self == hora__sim.threads)
        hora__sim_body_ended();
    hora__sim_reschedule(SIM_GIVES_WAY);
}

/* The first function of every simulated thread. */
static void enter(void)
{
    struct sim_thread *self = hora__sim.current;
    SIM_ACQUIRE(&self->happens_before);
    self->run(self->arg);
    end_thread(self);
}

/* Copies a name without the C library: ThreadSanitizer would see its writes, and does not know that the
 * simulator's threads never run at the same time. */
static void copy_name(struct sim_thread *thread, const char *name)
{
    size_t i = 0;
    for (; name[i] != '\0' && i + 1 < sizeof thread->name; i++)
        thread->name[i] = name[i];
    thread->name[i] = '\0';
}

/* Makes a thread that is ready to run. Returns NULL if no slot is free or there is no memory for a stack. */
struct sim_thread *hora__sim_thread_new(void (*run)(void *arg), void *arg, const char *name)
{
    uint64_t unused = ~hora__sim.used;
    if (unused == 0)
        return NULL;
    struct sim_thread *thread = sim_take_first(&unused);
    if (!hora__sim_context_prepare(&thread->context, enter))
        return NULL;
    thread->state = SIM_READY;
    thread->object = NULL;
    thread->watched = NULL;
    thread->deadline_ns = INT64_MAX;
    thread->timeline = HORA__MONOTONIC;
    thread->relock = NULL;
    thread->priority = hora__sim_first_priority();
    thread->serial = threads_started++;
    thread->decided = true; /* when it is chosen for the first time, its first call is chosen, too */
    thread->run = run;
    thread->arg = arg;
    thread->name[0] = '\0';
    if (name != NULL)
        copy_name(thread, name);
    thread->pointer = NULL;
    thread->held_count = 0;
    thread->guard = NULL;
    hora__sim.used |= sim_bit(thread);
    hora__sim.touched |= sim_bit(thread);
    hora__sim.ready |= sim_bit(thread);
    SIM_RELEASE(&thread->happens_before);
    hora__sim_weak_thread_new(thread);
    return thread;
}

/* Makes a blocked thread ready to run. A waiter of a condition must also take its mutex, so it becomes ready
 * only when that is free. */
void hora__sim_wake(struct sim_thread *thread)
{
    hora__sim.timed &= ~sim_bit(thread);
    thread->watched = NULL;
    if (thread->relock != NULL) {
        thread->state = SIM_LOCKING;
        thread->object = thread->relock;
        hora__sim.locking |= sim_bit(thread);
        if (thread->relock->native.owner != 0)
            return; /* W1 */
    } else {
        thread->state = SIM_READY;
        thread->object = NULL;
    }
    hora__sim.ready |= sim_bit(thread);
}

/* Moves the current thread from READY to a blocked state. It goes on running until the next reschedule. */
static void suspend(enum sim_state state, const void *object, enum hora__timeline timeline,
                    int64_t deadline_ns)
{
    struct sim_thread *self = hora__sim.current;
    self->state = state;
    self->object = object;
    self->timeline = timeline;
    self->deadline_ns = deadline_ns;
    hora__sim.ready &= ~sim_bit(self);
    if (deadline_ns != INT64_MAX)
        hora__sim.timed |= sim_bit(self); /* W2 */
}

/* Blocks the current thread until it is woken or its deadline passes. */
void hora__sim_block(enum sim_state state, const void *object, int64_t deadline_ns)
{
    suspend(state, object, HORA__MONOTONIC, deadline_ns);
    hora__sim_reschedule(SIM_GIVES_WAY);
    hora__sim.current->decided = true;
}

/* Like hora__sim_block, for a wait that may return without a reason. A spurious wake-up at once covers one at
 * any later moment: until the thread is chosen to run, no other thread can see whether it sleeps. */
void hora__sim_sleep(enum sim_state state, const void *object, enum hora__timeline timeline,
                     int64_t deadline_ns)
{
    bool over = deadline_ns <= hora__sim.now_ns; /* the deadline has passed: no real sleep */
    suspend(state, object, timeline, deadline_ns);
    if (over || (hora__sim.options.spurious && hora__sim_decide(SIM_SPURIOUS, 2, 1) == 1))
        hora__sim_wake(hora__sim.current);
    hora__sim_reschedule(SIM_GIVES_WAY);
    hora__sim.current->decided = true;
    if (!over)
        hora__sim.result->wakeups++;
}

/* Returns the set of threads that are blocked in this state on this object. */
static uint64_t waiters(enum sim_state state, const void *object)
{
    uint64_t found = 0;
    for (uint64_t left = hora__sim.used & ~hora__sim.ready; left != 0;) {
        struct sim_thread *thread = sim_take_first(&left);
        if (thread->state == state && (thread->object == object || thread->watched == object))
            found |= sim_bit(thread);
    }
    return found;
}

/* Returns one of the threads that are blocked on the object, or NULL. Which one is a decision of the
 * schedule. */
struct sim_thread *hora__sim_waiter(enum sim_state state, const void *object)
{
    uint64_t found = waiters(state, object);
    if (found == 0)
        return NULL;
    int count = __builtin_popcountll(found);
    int choice = count == 1 ? 0 : hora__sim_decide(SIM_WAITER, count, count);
    while (choice-- > 0)
        found &= found - 1;
    return sim_take_first(&found);
}

bool hora__sim_waited_on(enum sim_state state, const void *object)
{
    return waiters(state, object) != 0;
}

/* Writes what a thread waits for. Returns the length, like snprintf. */
static int describe(const struct sim_thread *thread, char *text, size_t size)
{
    char title[SIM_NAME_SIZE + 16];
    (void)snprintf(title, sizeof title, thread->name[0] == '\0' ? "thread %d" : "thread %d (%s)",
                   sim_number(thread), thread->name);
    switch (thread->state) {
    case SIM_LOCKING: {
        const hora__mutex *mutex = thread->object;
        return snprintf(text, size, "%s wants the lock of rank %d that thread %d holds", title,
                        (int)mutex->rank, mutex->native.owner - 1);
    }
    case SIM_SLEEPING:
        return snprintf(text, size, "%s sleeps on futex %p", title, thread->object);
    case SIM_WAITING:
        return snprintf(text, size, "%s waits on %s %p", title,
                        thread->relock != NULL ? "condition" : "event", thread->object);
    case SIM_JOINING:
        return snprintf(text, size, "%s joins thread %d", title, sim_number(thread->object));
    case SIM_AWAITING:
        return snprintf(text, size, "%s awaits a thread of the test", title);
    default:
        return snprintf(text, size, "%s has ended", title);
    }
}

/* Writes what each thread waits for, for the message of a lost wake-up. */
void hora__sim_describe_blocked(char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (uint64_t left = hora__sim.used; left != 0 && length + 1 < size;) {
        if (length > 0)
            length += (size_t)snprintf(text + length, size - length, "; ");
        if (length < size)
            length += (size_t)describe(sim_take_first(&left), text + length, size - length);
    }
}

/* Discards all threads after a run. For ThreadSanitizer, everything in this run happens before the next one,
 * because both use the static variables of tests. */
void hora__sim_threads_end(void)
{
    for (uint64_t left = hora__sim.touched; left != 0;) {
        struct sim_thread *thread = sim_take_first(&left);
        hora__sim_context_gather(&thread->context, &hora__sim.root);
        hora__sim_context_abandon(&thread->context, &hora__sim.root);
        thread->state = SIM_UNUSED;
    }
    hora__sim.touched = 0;
    hora__sim.used = 0;
    hora__sim.ready = 0;
    hora__sim.locking = 0;
    hora__sim.timed = 0;
    threads_started = 0;
}

/* Counts a start of a thread. Returns true if the options demand that it fails. */
static bool start_fails(void)
{
    const struct hora__sim_options *options = &hora__sim.options;
    long number = ++hora__sim.result->thread_starts;
    if (options->fail_thread_start == 0)
        return false;
    return options->fail_from_then_on ? number >= options->fail_thread_start
                                      : number == options->fail_thread_start;
}

/* Returns the handle of a thread: its slot, and its serial number, which distinguishes it from other threads
 * in that slot. */
static hora__os_thread handle_of(const struct sim_thread *thread)
{
    uintptr_t number = (uintptr_t)sim_number(thread);
    return (hora__os_thread){.handle = (uintptr_t)(thread->serial << SLOT_BITS) | number};
}

/* The new thread may run before the handle is written, as with pthread_create. */
int hora__os_thread_start(const struct hora__thread_spec *spec, hora__os_thread *ret_thread)
{
    if (start_fails())
        return HORA_EAGAIN;
    struct sim_thread *thread = hora__sim_thread_new(spec->run, spec->arg, spec->name);
    if (thread == NULL)
        return HORA_EAGAIN;
    hora__os_thread handle = handle_of(thread);
    hora__sim_after();
    *ret_thread = handle;
    return 0;
}

size_t hora__os_thread_least_stack(void)
{
    return (size_t)16 * 1024;
}

size_t hora__os_thread_most_stack(void)
{
    return (size_t)1 << 30;
}

hora__os_thread hora__os_thread_self(void)
{
    return handle_of(hora__sim.current);
}

int64_t hora__os_thread_used(hora__os_thread thread)
{
    (void)thread;
    enum { HOUR_S = 3600 };
    /* More than can have passed since the last call, so that the thread seems to have computed all the
     * time. */
    if (hora__sim.computing)
        hora__sim.used_ns += (int64_t)HOUR_S * 1000000000;
    return hora__sim.used_ns;
}

void hora__sim_compute(bool computing)
{
    hora__sim.computing = computing;
}

void hora__os_thread_guard(void (*run)(void *arg), void (*ends)(void *arg), void *arg)
{
    struct sim_thread *self = hora__sim.current;
    struct sim_guard guard = {.ends = ends, .arg = arg, .outer = self->guard};
    self->guard = &guard;
    run(arg);
    self->guard = guard.outer;
}

/* Ends the current thread in the middle of its function, like pthread_exit: the innermost guard is called
 * first. */
void hora__sim_exit_thread(void)
{
    struct sim_thread *self = hora__sim.current;
    while (self->guard != NULL) {
        struct sim_guard guard = *self->guard;
        self->guard = guard.outer;
        guard.ends(guard.arg);
    }
    self->context.left_midway = true;
    end_thread(self);
    hora__sim_end(HORA__SIM_MISUSE, "a thread that has ended runs again");
}

/* Returns the thread of a handle. Ends the run if it does not exist, was joined already, or is the calling
 * thread. */
static struct sim_thread *joinable(hora__os_thread handle)
{
    struct sim_thread *thread = &hora__sim.threads[handle.handle % SIM_THREADS];
    if (thread->state == SIM_UNUSED || thread->serial != handle.handle >> SLOT_BITS ||
        thread == hora__sim.current)
        hora__sim_end(HORA__SIM_MISUSE, "join of a thread that is not there to be joined");
    return thread;
}

void hora__os_thread_join(hora__os_thread handle)
{
    hora__sim_step();
    struct sim_thread *thread = joinable(handle);
    if (thread->state != SIM_ENDED) {
        hora__sim_block(SIM_JOINING, thread, INT64_MAX);
        thread = joinable(handle); /* another thread may have joined it during the wait, which is a misuse */
    }
    SIM_ACQUIRE(&thread->happens_before);
    hora__sim_weak_thread_joined(thread);
    thread->state = SIM_UNUSED;
    hora__sim.used &= ~sim_bit(thread);
}

int32_t hora__thread_id(void)
{
    return sim_number(hora__sim.current) + 1;
}

void *hora__thread_pointer(void)
{
    return hora__sim.current->pointer;
}

int hora__thread_set_pointer(void *pointer, void (*at_exit)(void *pointer))
{
    if (hora__sim_allocation_fails())
        return HORA_ENOMEM;
    exit_hook = at_exit;
    hora__sim.current->pointer = pointer;
    return 0;
}

void hora__thread_carry(void *pointer)
{
    hora__sim.current->pointer = pointer;
}

void hora__sim_await(const bool *flag)
{
    hora__sim_step();
    if (!*flag)
        hora__sim_block(SIM_AWAITING, flag, INT64_MAX);
    SIM_ACQUIRE((void *)(uintptr_t)flag);
    hora__sim_weak_acquire(flag);
}

void hora__sim_announce(bool *flag)
{
    SIM_RELEASE(flag);
    hora__sim_weak_release(flag);
    *flag = true;
    for (uint64_t found = waiters(SIM_AWAITING, flag); found != 0;)
        hora__sim_wake(sim_take_first(&found));
}

/* A simulated process does not fork. */
int hora__fork_watch(void)
{
    return 0;
}

int32_t hora__fork_generation(void)
{
    return 0;
}
