/* SPDX-License-Identifier: Apache-2.0 */
/* limits_support.h - shared by the tests of limits: a pool with a listener that counts */
#ifndef HORA_TESTS_API_LIMITS_SUPPORT_H
#define HORA_TESTS_API_LIMITS_SUPPORT_H

#include "scheduler_support.h"

#define SEC(s) HORA_SECONDS(s)

enum { MOST_STUCK = 16 };

/* The events that a listener has received. */
struct seen {
    struct rig *rig;
    atomic_int expired;
    hora_future *future; /* of the last one */
    atomic_int stuck;
    hora_event events[MOST_STUCK]; /* of those; without task and future */
    hora_ns at[MOST_STUCK];
    char name[32]; /* of the last one */
};

/* Open a pool or a scheduler with this number of threads, whose listener records expired and stuck tasks. */
void limits_open(struct rig *r, struct seen *seen, int threads);
void limits_open_scheduler(struct rig *r, struct seen *seen, int threads);

/* The listener for other options. */
hora_listener limits_listener(struct rig *r, struct seen *seen);

/* Submit a job under terms, and get its future. NULL only after a failed check. */
hora_future *submit_under(struct rig *r, struct job *job, const hora_task_options *terms);

#endif
