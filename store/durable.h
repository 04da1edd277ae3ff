/* SPDX-License-Identifier: Apache-2.0 */
/* durable.h - a durable scheduler: the threads around a node
 *
 * Three kinds of threads use it. The node's own thread talks to the store (durable_node.c). Threads of the
 * scheduler run handlers (durable_run.c). Threads of the program call the public functions (durable.c).
 *
 * `lock` protects the node and everything in this struct that changes after the start. No thread holds it
 * while the store works or a handler, a callback or hora_timer_stop runs, with one exception: the node
 * reads the definition of a series that it sees for the first time. */
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

typedef struct hora__named_trigger {
    char *name;
    hora_trigger *trigger;
} hora__named_trigger;

/* A firing in hand, with its timer and its run. */
typedef struct hora__firing {
    hora__held held; /* first: the node knows the firing by it */
    hora_durable *durable;
    hora_timer timer;
    bool timer_is_ready; /* it was initialized */

    /* set while the handler runs */
    hora_run run;
    char idempotency_key[48];
    hora_thread *thread; /* to interrupt; NULL when it no longer runs the handler. Under the lock */
    pthread_t system_thread;
    bool interrupted; /* under the lock */
    void *transaction;
    char *note;
    size_t note_size;
    struct hora__firing *next_running, **link_running; /* list of `running`, under the lock */
} hora__firing;

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
    hora__named_trigger *triggers;
    int trigger_count;
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
    bool leave_now; /* do not wait for runs any longer */
    bool connected;
    int leave_error; /* of the last call to the store */
    hora__firing *running;
    int64_t taken_over;
    struct hora__waiter *waiters;
};

/* Lets the node's thread look at the node soon. */
void hora__durable_wake(hora_durable *durable);

/* Wakes the calls that wait for a change of the state. Requires the lock. */
void hora__durable_changed(hora_durable *durable);

/* The body of the node's thread. */
int hora__durable_loop(void *durable, void **ret_result);

/* The function of a firing's timer. */
int hora__firing_run(void *firing);

/* Interrupts the thread of a firing that runs. Requires the lock. */
void hora__firing_interrupt(hora__firing *firing);

static inline hora_ns hora__durable_now(const hora_durable *durable)
{
    return hora_clock_now(durable->clock);
}

#endif
