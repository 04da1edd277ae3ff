/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h - what the parts of the simulator know of each other
 *
 * sim.c tells the whole story. Here: the one state of the running simulation, and the few calls between the parts. */
#ifndef HORA_SYS_SIM_INTERNAL_H
#define HORA_SYS_SIM_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simulator/context.h"
#include "simulator/sim.h"
#include "sys/clock.h"
#include "sys/mutex.h"

enum { SIM_THREADS = 64, SIM_HELD = 8, SIM_NAME_SIZE = 16 };

/* What a thread waits for. Only READY threads, and LOCKING ones whose lock is free, can be chosen to run. */
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

/* Who is told if the thread exits; on its stack. */
struct sim_guard {
    void (*ends)(void *arg);
    void *arg;
    struct sim_guard *outer;
};

struct sim_thread {
    struct sim_context context;
    enum sim_state state;
    const void *object;           /* see sim_state */
    const void *watched;          /* WAITING on an event: the watch that ends that as well; NULL: none */
    int64_t deadline_ns;          /* monotonic; INT64_MAX: none */
    enum hora__timeline timeline; /* which line the deadline was given on, and follows */
    hora__mutex *relock;          /* WAITING on a condition: the mutex to take before going on */
    uint64_t priority;            /* PCT: the highest runs */
    uint64_t serial; /* how many threads were started before in this run; tells users of a slot apart */
    bool decided;    /* the scheduler has just been asked; the next call need not ask again */
    void (*run)(void *arg);
    void *arg;
    char name[SIM_NAME_SIZE];
    void *pointer;           /* hora__thread_pointer */
    struct sim_guard *guard; /* the innermost; NULL: none */
    hora__mutex *held[SIM_HELD];
    int held_count;
    char happens_before; /* its address stands for start and end of the thread in ThreadSanitizer's books */
};

/* Sets of threads are bit masks over the slots. */
struct sim {
    bool running; /* between the start and the end of hora__sim_run's body */
    struct hora__sim_options options;
    struct hora__sim_result *result;
    void (*body)(void);
    struct sim_context root; /* the context of hora__sim_run */
    struct sim_thread threads[SIM_THREADS];
    struct sim_thread *current;
    uint64_t used;    /* slots with a thread, ended ones included */
    uint64_t touched; /* slots that had one in this run */
    uint64_t ready;   /* those that may be chosen to run */
    uint64_t locking; /* state LOCKING */
    uint64_t timed;   /* blocked with a deadline */
    uint64_t run_number;
    uint64_t steps;
    int64_t now_ns;      /* monotonic */
    int64_t ahead_ns[3]; /* of it, by timeline */
    uint64_t random;     /* hora__sim_random's state */
    bool computing;      /* see hora__sim_compute, */
    int64_t used_ns;     /* and what was said last */
};

extern struct sim hora__sim;

static inline uint64_t sim_bit(const struct sim_thread *thread)
{
    return UINT64_C(1) << (thread - hora__sim.threads);
}

static inline int sim_number(const struct sim_thread *thread)
{
    return (int)(thread - hora__sim.threads);
}

/* Takes the lowest thread out of a set. */
static inline struct sim_thread *sim_take_first(uint64_t *set)
{
    struct sim_thread *thread = &hora__sim.threads[__builtin_ctzll(*set)];
    *set &= *set - 1;
    return thread;
}

/* sim.c */
__attribute__((noreturn, format(printf, 2, 3))) void hora__sim_end(enum hora__sim_verdict verdict,
                                                                   const char *format, ...);
void hora__sim_step(void); /* count one call of the platform; ends a schedule that never ends */
__attribute__((noreturn)) void hora__sim_body_ended(void);
uint64_t hora__sim_mix(uint64_t *state); /* the next number of a random sequence */

/* schedule.c */
enum sim_decision {
    SIM_NEXT,     /* who runs next, or that time passes */
    SIM_SPURIOUS, /* 0: the wait really waits, 1: it returns for no reason */
    SIM_WAITER,   /* which of several waiters a signal wakes */
    SIM_LATENESS, /* how late the sleepers wake */
    SIM_STALE,    /* which store a load returns: 0 the newest, 1 the one before, ... */
};
enum sim_stay { SIM_MAY_STAY, SIM_GIVES_WAY };

void hora__sim_schedule_begin(void);
void hora__sim_schedule_learn(void); /* after a run: how long it was */
int hora__sim_decide(enum sim_decision kind, int options, int free_options);
void hora__sim_reschedule(enum sim_stay stay);
void hora__sim_after(void); /* a schedule point behind a call that lets others go on */
uint64_t hora__sim_first_priority(void);

/* record.c */
enum sim_repeat { SIM_REPEAT_NOTHING, SIM_REPEAT_PREFIX };
void hora__sim_record_begin(enum sim_repeat repeat);
bool hora__sim_record_parse(const char *text);                 /* what to repeat; false: not a schedule */
bool hora__sim_record_next(int *ret_choice, int *ret_allowed); /* false: beyond what is to be repeated */
void hora__sim_record_add(int choice, int allowed);
bool hora__sim_record_is_used_up(void); /* nothing is left to be repeated */
const char *hora__sim_record_text(void);
void hora__sim_record_forget(void);

/* thread.c */
struct sim_thread *hora__sim_thread_new(void (*run)(void *arg), void *arg, const char *name);
void hora__sim_block(enum sim_state state, const void *object, int64_t deadline_ns);
void hora__sim_wake(struct sim_thread *thread);
/* Block, maybe spuriously, until a monotonic time that moves with its line. */
void hora__sim_sleep(enum sim_state state, const void *object, enum hora__timeline timeline,
                     int64_t deadline_ns);
struct sim_thread *hora__sim_waiter(enum sim_state state, const void *object); /* one to be woken, or NULL */
bool hora__sim_waited_on(enum sim_state state, const void *object);
void hora__sim_describe_blocked(char *text, size_t size);
void hora__sim_threads_end(void); /* after a run */

/* time.c */
void hora__sim_time_begin(void);
bool hora__sim_time_pass(void); /* to the earliest deadline; false: there is none */
int64_t hora__sim_earlier(int64_t time_ns, int64_t by_ns); /* never stays never */
int64_t hora__sim_monotonic(enum hora__timeline timeline, int64_t time_ns);

/* memory.c, event.c */
bool hora__sim_allocation_fails(void);
void hora__sim_memory_check(void); /* at the end of the body: ends the run if something is wrong */
void hora__sim_memory_end(void);
void hora__sim_events_check(void);
void hora__sim_events_end(void);
void hora__sim_events_time_passed(void);
void hora__sim_events_clock_set(void);
void hora__sim_timers_follow(enum hora__timeline timeline, int64_t by_ns);

/* weak.c; all but begin and end do nothing in a schedule without weak memory */
void hora__sim_weak_begin(void);
void hora__sim_weak_end(void);
void hora__sim_weak_acquire(const void *object);
void hora__sim_weak_release(const void *object);
void hora__sim_weak_thread_new(const struct sim_thread *thread); /* by the thread that starts it */
void hora__sim_weak_thread_joined(const struct sim_thread *thread);
void hora__sim_weak_time_passes(void); /* while all threads wait */
void hora__sim_weak_free(const void *start, size_t size);

/* crash.c */
void hora__sim_catch_crashes(void);
bool hora__sim_race_seen(void); /* since the last call */

#endif
