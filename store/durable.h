/* SPDX-License-Identifier: Apache-2.0 */
/* durable.h - a durable scheduler: the threads around a node
 *
 * Three kinds of threads use it. The node's own thread talks to the store (durable_node.c). Threads of the
 * scheduler run handlers (durable_run.c). Threads of the program call the public functions (durable.c), and
 * end runs that have outlived their handler (durable_detach.c).
 *
 * `lock` protects the node and everything in this struct that changes after the start. No thread holds it
 * while the store works or a handler, a callback or hora_timer_stop runs, with two exceptions: the node
 * reads the definition of a series that it sees for the first time, and it asks triggers for times. */
#ifndef HORA_STORE_DURABLE_H
#define HORA_STORE_DURABLE_H

#include <pthread.h>
#include <stdatomic.h>

#include <hora/latch.h>
#include <hora/pool.h>
#include <hora/queue.h>
#include <hora/thread.h>
#include <hora/timer.h>

#include "node.h"
#include "store.h"

typedef struct hora__handler {
    char *name;
    hora_handler_fn run;
    void *arg;
    void (*drop)(void *arg);
} hora__handler;

typedef struct hora__firing hora__firing;

typedef struct hora__named_trigger {
    const char *name; /* the text follows the struct */
    hora_trigger *trigger;
} hora__named_trigger;

/* A call of a handler, or of the stop function of a run, on the stack of the calling thread. */
typedef struct hora__call {
    hora__firing *firing; /* NULL when the run has ended, so that its memory may be gone. Under the lock */
    pthread_t thread;
    bool interrupted;                /* the thread was interrupted for this run. Under the lock */
    bool detached;                   /* only the calling thread */
    bool is_stop;                    /* a call of a stop function */
    struct hora__call *next, **link; /* list of `calls`, under the lock */
} hora__call;

/* Why a run should end; bits. */
enum {
    HORA__STOP_LOST = 1,
    HORA__STOP_CANCELLED = 2,
    HORA__STOP_SCHEDULER = 4,
};

/* A firing in hand, with its timer and its run. */
struct hora__firing {
    hora__held held; /* first: the node knows the firing by it */
    hora_durable *durable;
    hora_timer timer;
    bool timer_is_ready; /* it was initialized */

    /* set while the handler runs */
    hora_run run;
    char idempotency_key[48];
    hora_thread *thread; /* to interrupt; NULL when it no longer runs the handler. Under the lock */
    hora__call *call;    /* of the handler; NULL when that has returned. Under the lock */
    void *transaction;
    char *note;
    hora__run_end end; /* what the handler said, without code and note */
    size_t note_size;
    hora__firing *next_running, **link_running; /* list of `running`, under the lock */

    /* detached runs, under the lock */
    bool detached;
    hora_run_stop_fn stop;
    void *stop_arg;
    unsigned stop_reasons;                /* for which the function is still to be called */
    unsigned stop_told;                   /* for which it was called */
    hora__call *stop_call;                /* of the function, in progress */
    hora__firing *next_stop, **link_stop; /* list of `to_stop`; link_stop is NULL: not in it */
};

typedef enum hora__durable_phase {
    HORA__DURABLE_NEW,
    HORA__DURABLE_STARTED,
    HORA__DURABLE_STOPPING,
    HORA__DURABLE_STOPPED,
} hora__durable_phase;

struct hora_durable {
    hora_store *store;
    hora_durable_options options; /* complete */
    char *name;
    pid_t process;
    hora_scheduler *scheduler;
    bool owns_scheduler;
    const hora_clock *clock;       /* measures leases and delays */
    const hora_clock *timed_waits; /* for waits in public calls: the monotonic line of the same clock */
    hora__handler *handlers;
    const char **handler_names; /* the same, as the node wants them */
    int handler_count;
    void *triggers; /* hora__named_trigger by name: a tree of tsearch. Under the lock */
    atomic_uint_fast64_t random;

    hora_pool *thread; /* runs the loop of the node */
    hora_queue *wakes; /* with a virtual clock: an element means that the thread must look */
    int wake_pipe[2];  /* otherwise: a byte means it */
    atomic_bool awake; /* a wake-up is under way; there is no need for another */

    /* Only the node's thread: firings whose timer could not be started; through held.next_ready */
    hora__firing *unstarted;

    pthread_mutex_t lock;
    hora__node *node;
    hora__durable_phase phase;
    hora_ns sleeps_until; /* the node's thread sleeps, at most until this; INT64_MIN: it is about to look */
    bool leave_now;       /* do not wait for runs any longer */
    bool connected;
    int leave_error;              /* of the last call to the store */
    hora__firing *running;        /* also detached ones */
    hora__call *calls;            /* of handlers and stop functions */
    hora__firing *to_stop;        /* detached runs whose stop function is to be called */
    pthread_cond_t stop_returned; /* a stop function has returned */
    pthread_t node_thread;        /* runs the loop of the node, */
    bool has_thread;              /* if this is true */
    bool stop_all;                /* hora_durable_stop no longer waits for runs to end by themselves */
    int64_t taken_over;
    struct hora__waiter *waiters;
};

/* Lets the node's thread look at the node soon. */
void hora__durable_wake(hora_durable *durable);

/* Wakes the calls that wait for a change of the state. Requires the lock. */
void hora__durable_changed(hora_durable *durable);

/* The body of the node's thread; the argument is the durable scheduler. */
int hora__durable_loop(void *arg, void **ret_result);

/* The function of a firing's timer; the argument is the firing. */
int hora__firing_run(void *arg);

/* Tells a firing that runs to stop, for the reasons given: interrupts the thread of its handler, or, if it is
 * detached, puts it into the list of hora__durable_call_stops. Requires the lock. */
void hora__firing_stop(hora__firing *firing, unsigned reasons);

/* Ends a run: takes the firing out of the list of runs, and gives its outcome to the node, which owns the
 * memory of the firing afterwards. Returns the note, which the caller frees. Requires the lock. */
char *hora__firing_settle(hora__firing *firing, int code, bool settled);

/* The handler of a detached run has returned. */
void hora__firing_returned(hora_durable *durable, hora__call *call);

/* The firing of a run. */
hora__firing *hora__firing_of(const hora_run *run);

/* Begins and ends a call of a function of the program. Both require the lock. */
void hora__call_begin(hora__call *call, hora__firing *firing);
void hora__call_end(hora_durable *durable, hora__call *call);

/* Calls the stop functions of the detached runs that are to be stopped. Requires that the lock is not
 * held. */
void hora__durable_call_stops(hora_durable *durable);

static inline hora_ns hora__durable_now(const hora_durable *durable)
{
    return hora_clock_now(durable->clock);
}

#endif
