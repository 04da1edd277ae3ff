/* SPDX-License-Identifier: Apache-2.0 */
/* start.h - start a runner */
#ifndef APP_START_H
#define APP_START_H

#include "runner/runner.h"

/* Where the runner keeps things; all are given. */
struct runner_places {
    const char *store;       /* address */
    const char *shown_store; /* the same without a password */
    const char *socket;
    const char *log_directory;
    const char *node_name;
};

/* Runs jobs until the runner is told to end. Takes the jobs. Returns an exit status. */
int runner_main(const struct runner_options *options, struct jobs *jobs, const struct runner_places *places);

#endif
