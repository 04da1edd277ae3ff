/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h - the state of the running simulation, and the calls between the files of the simulator
 *
 * sim.c gives an overview. */
#ifndef HORA_SYS_SIM_INTERNAL_H
#define HORA_SYS_SIM_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simulator/context.h"
#include "simulator/sim.h"
#include "sys/clock.h"
#include "sys/mutex.h"

enum {
    SIM_THREADS = 64,  /* slots for threads; sets of threads are 64-bit words */
    SIM_HELD = 8,      /* locks that one thread may hold */
    SIM_NAME_SIZE = 16 /* of a thread's name, with the final NUL */
};

/* The state of a thread and the meaning of its field `object`. Only READY threads, and LOCKING ones whose
 * lock is free, can be chosen to run. */
enum sim_state {
    SIM_UNUSED,   /* the slot is free */
    SIM_READY,    /* object: none */
    SIM_LOCKING,  /* object: the mutex */
    SIM_SLEEPING, /* object: the futex word */
    SIM_WAITING,  /* object: the condition, or the event */
    SIM_JOINING,  /* object: the thread */
    SIM_AWAITING, /* object: the flag of hora__sim_await */
    SIM_ENDED,    /* until it is joined */
};

/* A call of hora__os_thread_guard that has not returned; on the stack of its thread. */
struct sim_guard {
    void (*ends)(void *arg); /* called with `arg` if the thread exits */
    void *arg;
    struct sim_guard *outer; /* the enclosing guard; NULL: none */
};

struct sim_thread {
    struct sim_context context;
    enum sim_state state;
    const void *object;           /* see sim_state */
    const void *watched;          /* WAITING on an event: the watch that also ends the wait; NULL: none */
    int64_t deadline_ns;          /* on the monotonic clock; INT64_MAX: none */
    enum hora__timeline timeline; /* the timeline of the deadline, with which it moves */
    hora__mutex *relock;          /* WAITING on a condition: the mutex to take before going on; NULL: none */
    uint64_t priority;            /* PCT: the thread with the highest one runs */
    uint64_t serial;              /* number of threads started before it in this run; unlike a slot, unique */
    bool decided;                 /* it has just been chosen to run; its next call is no schedule point */
    void (*run)(void *arg);       /* the function of the thread */
    void *arg;
    char name[SIM_NAME_SIZE];    /* "": none */
    void *pointer;               /* see hora__thread_pointer */
    struct sim_guard *guard;     /* the innermost; NULL: none */
    hora__mutex *held[SIM_HELD]; /* the locks that it holds */
    int held_count;              /* elements of held */
    char happens_before; /* its address stands for start and end of the thread in ThreadSanitizer's edges */
};

/* The state of the simulation. Sets of threads are bit masks over the slots. */
struct sim {
    bool running;                     /* between the start and the end of a run */
    struct hora__sim_options options; /* of this run */
    struct hora__sim_result *result;  /* of this run; NULL: none is going on */
    void (*body)(void);               /* the function of thread 0 */
    struct sim_context root;          /* the context of hora__sim_run */
    struct sim_thread threads[SIM_THREADS];
    struct sim_thread *current; /* the thread that runs; NULL: none */
    uint64_t used;              /* set: slots with a thread, ended ones included */
    uint64_t touched;           /* set: slots that had a thread in this run */
    uint64_t ready;             /* set: threads that may be chosen to run */
    uint64_t locking;           /* set: threads in state LOCKING */
    uint64_t timed;             /* set: threads blocked with a deadline */
    uint64_t run_number;        /* runs of this process so far */
    uint64_t steps;             /* platform calls of this run so far */
    int64_t now_ns;             /* time on the monotonic clock */
    int64_t ahead_ns[3];        /* how far each timeline is ahead of the monotonic clock */
    uint64_t random;            /* state of hora__sim_random */
    bool computing;             /* see hora__sim_compute */
    int64_t used_ns;            /* last result of hora__os_thread_used */
};

extern struct sim hora__sim;

/* Returns the set that contains only this thread. */
static inline uint64_t sim_bit(const struct sim_thread *thread)
{
    return UINT64_C(1) << (thread - hora__sim.threads);
}

/* Returns the number of the thread's slot. */
static inline int sim_number(const struct sim_thread *thread)
{
    return (int)(thread - hora__sim.threads);
}

/* Removes the thread with the lowest number from a set that is not empty, and returns it. */
static inline struct sim_thread *sim_take_first(uint64_t *set)
{
    struct sim_thread *thread = &hora__sim.threads[__builtin_ctzll(*set)];
    *set &= *set - 1;
    return thread;
}

/* sim.c */
__attribute__((noreturn, format(printf, 2, 3))) void hora__sim_end(enum hora__sim_verdict verdict,
                                                                   const char *format, ...);
void hora__sim_step(void); /* counts one call of the platform; ends a run with too many of them */
__attribute__((noreturn)) void hora__sim_body_ended(void);
uint64_t hora__sim_mix(uint64_t *state); /* the next number of a random sequence */

/* schedule.c */
enum sim_decision {
    SIM_NEXT,     /* which thread runs next, or that time passes */
    SIM_SPURIOUS, /* 0: the wait really waits, 1: it returns without a reason */
    SIM_WAITER,   /* which of several waiters a signal wakes */
    SIM_LATENESS, /* how late the sleepers wake */
    SIM_STALE,    /* which store a load returns: 0 the newest, 1 the one before, ... */
};
enum sim_stay { SIM_MAY_STAY, SIM_GIVES_WAY }; /* GIVES_WAY: the calling thread blocks or ends */

void hora__sim_schedule_begin(void);
void hora__sim_schedule_learn(void); /* after a run: remembers its length */
int hora__sim_decide(enum sim_decision kind, int options, int free_options);
void hora__sim_reschedule(enum sim_stay stay);
void hora__sim_after(void); /* a schedule point after a call that lets other threads go on */
uint64_t hora__sim_first_priority(void);

/* record.c */
enum sim_repeat { SIM_REPEAT_NOTHING, SIM_REPEAT_PREFIX };
void hora__sim_record_begin(enum sim_repeat repeat);
bool hora__sim_record_parse(const char *text); /* sets the choices to repeat; false: malformed */
bool hora__sim_record_next(int *ret_choice, int *ret_allowed); /* false: nothing is left to repeat */
void hora__sim_record_add(int choice, int allowed);
bool hora__sim_record_is_used_up(void); /* returns true if nothing is left to repeat */
const char *hora__sim_record_text(void);
void hora__sim_record_forget(void);

/* thread.c */
struct sim_thread *hora__sim_thread_new(void (*run)(void *arg), void *arg, const char *name);
void hora__sim_block(enum sim_state state, const void *object, int64_t deadline_ns);
void hora__sim_wake(struct sim_thread *thread);
/* Blocks until woken, until a time on the monotonic clock that moves with its timeline, or spuriously. */
void hora__sim_sleep(enum sim_state state, const void *object, enum hora__timeline timeline,
                     int64_t deadline_ns);
struct sim_thread *hora__sim_waiter(enum sim_state state, const void *object); /* a waiter to wake, or NULL */
bool hora__sim_waited_on(enum sim_state state, const void *object);
void hora__sim_describe_blocked(char *text, size_t size);
void hora__sim_threads_end(void); /* after a run */

/* time.c */
void hora__sim_time_begin(void);
bool hora__sim_time_pass(void); /* advances to the earliest deadline; false: there is none */
int64_t hora__sim_earlier(int64_t time_ns, int64_t by_ns); /* INT64_MAX stays INT64_MAX */
int64_t hora__sim_monotonic(enum hora__timeline timeline, int64_t time_ns);

/* memory.c, event.c */
bool hora__sim_allocation_fails(void);
void hora__sim_memory_check(void); /* at the end of the body: ends the run if memory leaked or was misused */
void hora__sim_memory_end(void);
void hora__sim_events_check(void);
void hora__sim_events_end(void);
void hora__sim_events_time_passed(void);
void hora__sim_events_clock_set(void);
void hora__sim_timers_follow(enum hora__timeline timeline, int64_t by_ns);

/* weak.c; all except begin and end have no effect in a schedule without weak memory */
void hora__sim_weak_begin(void);
void hora__sim_weak_end(void);
void hora__sim_weak_acquire(const void *object);
void hora__sim_weak_release(const void *object);
void hora__sim_weak_thread_new(const struct sim_thread *thread); /* called by the thread that starts it */
void hora__sim_weak_thread_joined(const struct sim_thread *thread);
void hora__sim_weak_time_passes(void); /* called while all threads wait */
void hora__sim_weak_free(const void *start, size_t size);

/* crash.c */
void hora__sim_catch_crashes(void);
bool hora__sim_race_seen(void); /* returns true if a race was reported since the last call */

#endif
