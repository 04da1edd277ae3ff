/* SPDX-License-Identifier: Apache-2.0 */
/* stress.h - shared by the files of hora-stress: a ledger per task
 *
 * The program runs in rounds of a fraction of a second. In a round 8 to 16 threads make random calls on
 * objects that all of them share. Each task, element, timer, promise and result has its own record, and each
 * callback of hora is checked against it at once (ledger.c). At the end of a round the objects and futures
 * are released, and then each record of the round is checked. A record is reused three rounds later, so that
 * a callback after its end is noticed.
 *
 * The records use relaxed atomics, so that they add no order that hora should have established:
 * ThreadSanitizer sees only the synchronization of hora. */
#ifndef TESTS_STRESS_H
#define TESTS_STRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <hora/hora.h>

enum {
    THREADS_MOST = 16,
    BANKS = 3,
    RECORDS = 1 << 16,
    OBJECTS = 1 << 13,
    STORY = 12,
    FUTURES = 48,
    BODY_FAILURE = 7
};

/* ---- options ---- */

enum area { AREA_POOL, AREA_SCHEDULER, AREA_QUEUE, AREA_FUTURE, AREA_TIMER, AREA_SHUTDOWN, AREAS };

struct settings {
    double seconds;
    uint64_t seed;
    int threads;
    double fail_allocations; /* the probability with which an allocation fails, */
    double fail_threads;     /* and with which a thread cannot be started */
    bool areas[AREAS];
};
extern struct settings settings;

/* ---- random numbers, and the calling thread ---- */

/* Of the calling thread: an own one, or one of hora's. */
struct self {
    uint64_t state;
    int number;                  /* of the program's own threads from 1 on; 0: a thread of hora */
    int depth;                   /* how many bodies of tasks it is in */
    _Atomic(const char *) doing; /* the call that it is in, for the report of a program that is stuck */
    _Atomic int64_t operations;
};
struct self *self(void);
uint32_t random_below(uint32_t bound);
bool one_in(uint32_t count);
hora_ns random_ns(hora_ns bound);
int64_t now_ns(void);
void doing(const char *call);

/* ---- the ledger ---- */

enum kind { KIND_TASK, KIND_ELEMENT, KIND_TIMER, KIND_PROMISE, KIND_CONTEXT };
enum outcome { OUTCOME_OPEN, OUTCOME_ACCEPTED, OUTCOME_REFUSED };

struct entry {
    _Atomic int64_t at;
    _Atomic(const char *) what;
    _Atomic int value;
    _Atomic int thread;
};

struct record {
    /* Written before it is given to hora. */
    enum kind kind;
    int number;
    int most;              /* number of runs that are allowed; 0: any */
    bool plain_is_checked; /* no two runs overlap: `plain` is written without an atomic */
    const char *call;      /* which call gave it to hora */
    struct object *object; /* to what; NULL: to none */
    int plain;
    char name[24];
    int64_t made_at;

    /* The events of the record. */
    _Atomic int outcome; /* of that call */
    _Atomic int closed;  /* it was checked: nothing may happen to it any more */
    /* it may end without a run: it was cancelled, taken out, has a limit or failed to start */
    _Atomic int excused;
    _Atomic int removed; /* a cancel has answered HORA_CANCEL_REMOVED */
    /* timers: calls of hora_timer_start that succeeded or may have, less those that were removed */
    _Atomic int starts;
    _Atomic int runs;        /* begun */
    _Atomic int ends;        /* ended, also by ending the thread */
    _Atomic int drops;       /* tasks and contexts: the destructor; elements: the queue's destructor */
    _Atomic int takes;       /* elements: taken or removed */
    _Atomic int results;     /* made by runs */
    _Atomic int result_ends; /* dropped or taken */
    _Atomic int code;        /* of the last run that ended */
    _Atomic int callbacks;   /* on_done: registered, */
    _Atomic int called;      /* and called */
    _Atomic unsigned told;
    struct entry story[STORY];
};

/* A new record, or NULL if those of the round are used up, which ends the round. */
struct record *record_new(enum kind kind, const char *call, struct object *object);
void record_tell(struct record *record, const char *what, int value);

/* Records the result of the call that took the record. 0: hora has it. An error: hora never had it. Returns
 * `result`. */
int record_answer(struct record *record, int result);

/* Callbacks of hora: the body and the destructors of tasks. */
int record_run(void *arg, void **ret_result);
void record_drop(void *arg);
void record_drop_result(void *result);
void record_drop_element(void *item);
void record_take_element(void *item);
void record_done(hora_future *future, void *context);
void record_begin(struct record *record);
void record_end(struct record *record, int code);
hora_task record_task(struct record *record);

/* An answer of hora_future_cancel; `record` may be NULL. */
int record_cancelled(struct record *record, int answer);

__attribute__((format(printf, 2, 3))) void violation(struct record *record, const char *format, ...);
void ledger_check_round(void);
void ledger_next_round(void);
int ledger_round(void);
bool ledger_is_used_up(void);
int64_t ledger_records(void);
void ledger_print_open(int most);

/* ---- objects that all threads share ---- */

enum object_kind { OBJECT_POOL, OBJECT_SCHEDULER, OBJECT_QUEUE, OBJECT_GROUP, OBJECT_SHUTDOWN, OBJECT_KINDS };
enum { SLOTS_MOST = 5 };

struct object {
    enum object_kind kind;
    int number;
    char text[200]; /* how it was made */
    _Atomic int refs;
    _Atomic bool may_drop; /* a task of this pool may end without a run */
    bool refuses;          /* its `before` hook refuses some tasks */
    bool is_delay;         /* the queue is a delay queue without `remaining` */
    hora_pool *pool;
    hora_queue *queue; /* the object, or the queue that the pool was given */
    hora_group *group;
    hora_class *classes[2];
    struct object *next; /* in the graveyard */
};

struct object *object_new(
    enum object_kind kind); /* one reference; NULL if there are too many, which ends the round */
struct object *object_get(
    enum object_kind kind); /* one of those in the table, with a reference; NULL: none */
void object_put(struct object *object);
void object_publish(
    struct object
        *object); /* put it into the table instead of another, which is retired; takes the reference */
void objects_retire(enum object_kind kind); /* take all out of the table */
bool objects_reap(void);                    /* free one that has no references; false: there is none */
int objects_live(void);
void objects_next_round(void);
int64_t objects_total(void);

bool round_is_over(void);
void round_end(void);

/* A table of futures that any thread may look at. */
struct kept {
    hora_future *future;
    struct record *record; /* NULL: unknown */
};
void future_keep(hora_future *future, struct record *record); /* takes the reference */
struct kept future_borrow(void); /* with a reference of the caller's; NULL: none */
void futures_clear(void);
void future_judge(struct kept kept);
struct record *record_of(hora_future *future);

/* ---- the areas: each call does some operations at random ---- */

void pool_make(void);
void pool_operate(struct object *pool);
void pool_retire(struct object *pool);
void pool_reap(struct object *pool);
void pool_submit_one(struct object *pool);
void pool_look(hora_pool *pool);
void pool_dispose(hora_future *future); /* what was handed back, with its reference */
void pool_stop_and_dispose(struct object *pool);

/* The features of a pool or scheduler; those whose `has_` is false are off. */
struct observers {
    bool has_metrics, has_admission, has_watchdog, has_listener, has_hooks;
    hora_metrics metrics;
    hora_admission admission;
    hora_watchdog watchdog;
    hora_listener listener;
    hora_context_hooks hooks;
    hora_ns grow_after;
};

/* Puts observers into the options of a pool or of a scheduler. They must live until the call that takes the
 * options returns. */
#define OBSERVE(options, o)                                                 \
    do {                                                                    \
        (options)->metrics = (o)->has_metrics ? &(o)->metrics : NULL;       \
        (options)->admission = (o)->has_admission ? &(o)->admission : NULL; \
        (options)->watchdog = (o)->has_watchdog ? &(o)->watchdog : NULL;    \
        (options)->listener = (o)->has_listener ? &(o)->listener : NULL;    \
        (options)->context_hooks = (o)->has_hooks ? &(o)->hooks : NULL;     \
        (options)->grow_after = (o)->grow_after;                            \
    } while (0)

/* The callbacks of pools and schedulers, and what observes them. */
int hook_before(hora_pool *pool, const hora_run_info *run, void *context);
void hook_after(hora_pool *pool, const hora_run_info *run, void *context);
void hook_terminated(hora_pool *pool, void *context);
int hook_reject(hora_pool *pool, hora_future *future, void *context);
int hook_factory(void (*run)(void *arg), void *arg, const char *name, void *context);
void observers_random(struct object *object, struct observers *ret_observers);
void terms_random(struct object *object, struct record *record, hora_task_options *ret_terms);
void classes_make(struct object *object);
const char *reject_name(hora_reject reject);

void shutdown_make(void);
void shutdown_operate(struct object *pool);

void scheduler_make(void);
void scheduler_operate(struct object *scheduler);

void queue_make(void);
void queue_operate(struct object *queue);
void queue_retire(struct object *queue);
void queue_reap(struct object *queue);

void group_make(void);
void group_reap(struct object *group);
void future_operate(void);

void timer_operate(void);
void timers_clear(void);

void interrupt_one(void);

/* ---- failures ---- */

void failing_set(double allocations, double threads);
void calm_begin(void); /* nothing fails in the calling thread until */
void calm_end(void);   /* this; they nest */
int64_t failing_count(void);

#endif
