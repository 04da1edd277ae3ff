/* SPDX-License-Identifier: Apache-2.0 */
/* simulate.h - run jobs in virtual time, without processes */
#ifndef APP_SIMULATE_H
#define APP_SIMULATE_H

#include "runner/runner.h"

/* What is assumed about the runs of a job. */
struct assumption {
    char *job; /* NULL: all jobs that have none of their own */
    hora_ns duration;
    int code; /* exit status */
};

struct simulation {
    hora_instant from, to;
    const struct assumption *assumptions;
    size_t assumption_count;
    const char *const *tags; /* only events of jobs that have all of them are printed */
    size_t tag_count;
    bool json;
    hora_zone *zone; /* in which times are shown; NULL: that of the machine */
};

/* Runs the jobs from `from` to `to`, and prints the events. Takes the jobs. Returns an exit status. */
int simulate(const struct simulation *simulation, struct jobs *jobs);

#endif
