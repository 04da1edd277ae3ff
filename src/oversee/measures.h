/* SPDX-License-Identifier: Apache-2.0 */
/* measures.h - what is counted and measured, for a pool and for each name of a task */
#ifndef HORA_OVERSEE_MEASURES_H
#define HORA_OVERSEE_MEASURES_H

#include <hora/measure.h>

#include "oversee/oversight.h"

/* What is known of a run when it begins. */
struct hora__start {
    const char *name; /* a copy of the task's that lives as long as the oversight; NULL: it has none */
    hora_ns waited;   /* since it could have begun; < 0: not known */
    hora_ns late;     /* after its planned time; < 0: it is not scheduled */
};

/* What happens to tasks otherwise than by a run. */
enum hora__mishap {
    HORA__MISHAP_REJECTED,
    HORA__MISHAP_EXPIRED,
    HORA__MISHAP_SKIPPED,
    HORA__MISHAP_OVERRUN,
    HORA__MISHAP_STUCK,
    HORA__MISHAPS
};

__attribute__((warn_unused_result)) int hora__measures_new(struct hora__oversight *oversight,
                                                           struct hora__measures **ret_measures);
void hora__measures_free(struct hora__measures *measures);

/* Those of one worker; and: it has left, with the pool's lock held. */
__attribute__((warn_unused_result)) int hora__sheets_new(struct hora__measures *measures,
                                                         struct hora__sheets **ret_sheets);
void hora__sheets_keep_locked(struct hora__measures *measures, struct hora__sheets *sheets);
void hora__sheets_free(struct hora__sheets *sheets);

/* By the worker: a run begins; has ended, after so long. */
struct hora__start hora__measures_begins(struct hora__post *post, struct hora__frame *frame, hora_future *future,
                                         const hora_task *task, hora_ns now);
void hora__measures_ended(struct hora__post *post, struct hora__frame *frame, hora_future *future, int code,
                          hora_ns ran);

/* By anyone: `count` of this have happened to a task of this name. */
void hora__measures_mishap(struct hora__oversight *oversight, const char *name, enum hora__mishap mishap,
                           int64_t count);

#endif
