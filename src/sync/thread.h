/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - the record that each thread has in hora: its parker, its interrupt flag, and whether it is idle */
#ifndef HORA_SYNC_THREAD_H
#define HORA_SYNC_THREAD_H

#include <stdbool.h>

#include <hora/task.h>
#include <hora/thread.h>

#include "base/list.h"
#include "sys/alloc.h"
#include "sys/event.h"
#include "sys/mutex.h"
#include "sys/parker.h"

struct hora_future;
struct hora__witness;

/* Who watches what a thread of a pool runs; NULL in all others. Called around the body of each future that the thread runs as a worker, or of a
 * task without a future, by that thread, with no lock held. */
struct hora__witness_kind {
    /* 0, or the code with which the future fails instead: then its body is not called, and `ended` neither. */
    int (*begins)(struct hora__witness *witness, struct hora_future *future, const hora_task *task);
    void (*ended)(struct hora__witness *witness, struct hora_future *future, const hora_task *task, int code);
};

struct hora__witness {
    const struct hora__witness_kind *kind;
    const void *owner; /* the struct hora__queue_owner of its pool; immutable */
    int64_t
        came; /* what is known of when the task came that is about to begin; HORA_NEVER: nothing. The thread's own */
    bool has_waited; /* for work, since the last task ended; likewise */
};

struct hora_thread {
    hora__atomic references;
    int32_t generation;            /* hora__fork_generation() at birth; immutable */
    hora__parker parker;           /* parked on by the thread itself, unparked by anyone */
    hora__atomic interrupted;      /* the flag: read by anyone, written under lock */
    hora__atomic attached;         /* whether clock is set: read by anyone, written by the thread itself */
    struct hora__worker *worker;   /* of a pool; NULL: it is none. The thread's own */
    struct hora__witness *witness; /* NULL: nobody watches; the thread's own */
    struct hora__blocks spares[HORA__KEEPSAKES]; /* memory for futures; the thread's own */
    struct hora__list pending; /* futures that it has to conclude, see src/exec/conclude.c; the thread's own, */
    bool concludes;            /* and whether it is about it */
    int runs;                  /* how many futures it is the runner of, or more; the thread's own */

    hora__mutex lock; /* rank THREAD; guards what follows */
    bool ended;
    bool idle;                        /* attached, parked, and nobody has woken it: see virtual_quiet.c */
    struct hora__event interrupt_fd;  /* readable while interrupted */
    struct hora_virtual_clock *clock; /* the clock that it is attached to; NULL: none */
    struct hora_future *waiting_for;  /* without a time limit; NULL: none */
    uint32_t waits;                   /* how often that has changed */
};

/* The calling thread's record, made at the first call; borrowed. HORA_ENOMEM, HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__thread_current(hora_thread **ret_thread);

/* The calling thread's record if it has one, else NULL; borrowed. */
hora_thread *hora__thread_existing(void);

/* For threads that hora makes: a record made beforehand, so that nothing can fail in the new thread. HORA_ENOMEM, HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__thread_prepare(hora_thread **ret_thread);

/* The calling thread takes a prepared record, unless it has one already; whether it did. If not, the record is gone. */
bool hora__thread_adopt(hora_thread *prepared);

/* The calling thread, which has adopted this record, is about to end. */
void hora__thread_disown(hora_thread *thread);

/* A thread that will be woken counts as able to run from now on: see virtual_quiet.c. */
void hora__thread_count(hora_thread *thread);

/* End a thread's sleep, or its next one. */
void hora__thread_wake(hora_thread *thread);

/* Whether the calling thread, whose record this is, was interrupted; clears the flag. */
bool hora__thread_take_interrupt(hora_thread *thread);

#endif
