/* SPDX-License-Identifier: Apache-2.0 */
/* backlog_internal.h - the parts of the backlog that backlog.c and stealing.c share
 *
 * The backlog of a stealing pool is one without a bound, and has own queues in addition. Its operations call
 * those of the other. */
#ifndef HORA_EXEC_BACKLOG_INTERNAL_H
#define HORA_EXEC_BACKLOG_INTERNAL_H

#include "exec/backlog.h"
#include "exec/own_queue.h"
#include "exec/segment.h"

/* The fields are grouped by the threads that write them, each group in its own cache lines. */
struct backlog {
    struct hora__work_source base;
    /* The container, guarded by the queue's lock. */
    struct hora__position front; /* the first task; see I2 */
    struct hora__position end;   /* where the next task will be written */
    int holes;
    int stuck_holes;             /* the holes that the last compaction could not close; I3 */
    struct hora__own_queue *own; /* the own queues of a stealing pool's workers; NULL: none; immutable */
    int own_count;               /* how many there are; immutable */
    int victim;                  /* the own queue from which a worker stole last */
    bool offered;                /* the first segment is offered; until the recall `size` is not exact */
    bool only_elements;          /* the queue has been shown, and no detached task is left */
    bool wants; /* copy of `wanted`, so that takers need not read a cache line of the submitters */
    /* 1 if hora__backlog_tidy has a chunk to free. Takers write it under the inbox's lock and read it
     * without; an old value only delays that. */
    hora__atomic has_excess;

    /* 1 if a taker sleeps and no thread is about to search: submitters must have one woken. Submitters read
     * it without a lock; it is written under the queue's lock. */
    HORA__BEGINS_LINE hora__atomic wanted;

    /* The inbox, guarded by inbox_lock. */
    HORA__BEGINS_LINE hora__mutex inbox_lock; /* rank INBOX */
    bool sealed;                              /* the queue is closed: nothing is accepted */
    bool shown;                               /* no detached task is accepted; I5 */
    short inbox_form;                         /* the form inserted last into the last segment; 0: none */
    int inbox_size;                           /* tasks */
    struct hora__branch branch;               /* the inbox's part of the pool's books */
    struct hora__position inbox_end;          /* where the next task will be written */
    struct hora__segment *inbox_first;        /* NULL: no segment; I4 */
    int inbox_holes;
    /* I7: how many tasks the inbox may hold, as of the last collection. One less than there was room for,
     * because a push into the container may need that one. */
    int inbox_room;

    /* For container and inbox; guarded by inbox_lock. */
    HORA__BEGINS_LINE struct hora__free_segments free_segments;
};

/* The operations of a backlog without a bound. */
extern const struct hora__work_kind hora__backlog_kind;
extern const struct hora__queue_inbox hora__backlog_inbox;

/* Appends a segment to the container, whose last one is full or does not exist. Returns 0 or HORA_ENOMEM. */
int hora__backlog_grow(struct backlog *backlog);

/* ---- stealing.c ---- */

/* The operations of the backlog of a stealing pool. */
extern const struct hora__work_kind hora__stealing_kind;
extern const struct hora__queue_inbox hora__stealing_inbox;

/* Makes `count` own queues. Returns 0, HORA_ENOMEM or HORA_EAGAIN; then hora__stealing_destroy frees what was
 * made. */
__attribute__((warn_unused_result)) int hora__stealing_init(struct backlog *backlog, int count);

/* Frees the own queues, which are empty. */
void hora__stealing_destroy(struct backlog *backlog);

#endif
