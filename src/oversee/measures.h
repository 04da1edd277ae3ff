/* SPDX-License-Identifier: Apache-2.0 */
/* measures.h - what is counted and measured, for a pool and for each name of a task
 *
 * How it works      Each worker has sheets, one for each name of which it has run a task, and one for tasks without a name. It alone writes them,
 *                   without a lock. Whoever asks adds up those of all workers; the pool's own numbers are those of all names and
 *                   of none. When a worker has gone its sheets are kept, and the next worker goes on with them: so nothing is lost, nothing is
 *                   counted twice, and there are as many as there were ever workers at the same time.
 * Units             Times are what hora__overseer_stamp says: ticks, or nanoseconds. Readers convert.
 * Names             are known also in a pool that does not measure, for those who write down what it does. */
#ifndef HORA_OVERSEE_MEASURES_H
#define HORA_OVERSEE_MEASURES_H

#include <hora/metrics.h>

#include "oversee/histogram.h"
#include "oversee/names.h"
#include "oversee/oversight.h"

/* What is known of a run when it begins. Times are nanoseconds, and there if somebody listens or the pool measures by these. */
struct hora__start {
    const char *name; /* a copy of the task's that lives as long as the oversight; NULL: it has none */
    hora_ns waited;   /* since it could have begun; < 0: not known */
    hora_ns late;     /* after its planned time; < 0: it is not scheduled */
};

/* What happens to tasks otherwise than by a run. */
enum hora__mishap {
    HORA__MISHAP_REJECTED = HORA__TALLY_REJECTED,
    HORA__MISHAP_EXPIRED = HORA__TALLY_EXPIRED,
    HORA__MISHAP_SKIPPED = HORA__TALLY_SKIPPED,
    HORA__MISHAP_OVERRUN = HORA__TALLY_OVERRUN,
    HORA__MISHAP_STUCK = HORA__TALLY_STUCK,
};

struct hora__sheet {
    hora__counter started;
    hora__counter done;
    hora__counter failed;
    struct hora__histogram times[HORA_METRIC_RUN + 1]; /* by hora_metric */
};

struct hora__sheets {
    struct hora__sheets *next;      /* immutable */
    bool is_taken;                  /* by a worker; guarded by the lock of the measures */
    hora__atomic_pointer by_name[]; /* by the index of a name; NULL: there is none */
};

struct hora__measures {
    struct hora__names names;
    bool measured;    /* immutable */
    hora__mutex lock; /* rank NAMES */
    hora__atomic_pointer
        first; /* of all sheets there are; new ones are added at the beginning, under the lock */
};

__attribute__((warn_unused_result)) int hora__measures_new(struct hora__oversight *oversight,
                                                           struct hora__measures **ret_measures);
void hora__measures_free(struct hora__measures *measures);

/* Those of one worker, NULL if the pool does not measure; and: it has gone. HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__sheets_take(struct hora__measures *measures,
                                                          struct hora__sheets **ret_sheets);
void hora__sheets_leave(struct hora__measures *measures, struct hora__sheets *sheets);

/* By the worker: a run begins; has ended, after so long. Both in the units of stamps. */
struct hora__start hora__measures_begins(struct hora__post *post, struct hora__frame *frame,
                                         hora_future *future, const hora_task *task, int64_t now);
/* The same of a task without a future in a pool that counts ticks; returns its name. */
const char *hora__measures_begins_alone(struct hora__post *post, struct hora__frame *frame,
                                        const hora_task *task, int64_t now);
void hora__measures_ended(struct hora__frame *frame, int code, int64_t ran);

/* By anyone: `count` of this have happened to a task of this name. */
void hora__measures_mishap(struct hora__oversight *oversight, const char *name, enum hora__mishap mishap,
                           int64_t count);

/* See struct hora__overseer_kind. */
void hora__measures_submitted(struct hora__overseer *overseer, const char *name, int by);
void hora__measures_cancelled(struct hora__overseer *overseer, const char *name);

/* ---- readings.c ---- */

/* Add what has been measured under a name, or for the whole pool with NULL. */
void hora__measures_add(struct hora__measures *measures, const struct hora__name *name, hora_metric measure,
                        struct hora__distribution *sum);
void hora__measures_count(struct hora__measures *measures, const struct hora__name *name,
                          hora_counts *ret_counts);

/* The names that have been seen, in the order of the alphabet, to be freed; how many, or HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__measures_names(struct hora__measures *measures,
                                                             const struct hora__name ***ret_names);

/* How stamps become times. */
struct hora__scale hora__measures_scale(const struct hora__oversight *oversight);

/* ---- waiting.c ---- */

/* Of a pool that measures: how long the task has waited that has waited longest, and how much the most overdue one is overdue; 0: there is none. */
void hora__measures_waiting(hora_pool *pool, hora_ns *ret_oldest, hora_ns *ret_latest);

/* When a future that waits in a plain pool that measures came, as a stamp; HORA_FOREVER: it is done, or not for this pool to run. The same of a task
 * by value, in its cell of the queue. And how long ago a stamp is. */
int64_t hora__measures_came(const hora_pool *pool, hora_future *future);
int64_t hora__measures_cell_came(const hora_task *task);
hora_ns hora__measures_ago(const hora_pool *pool, int64_t stamp);

#endif
