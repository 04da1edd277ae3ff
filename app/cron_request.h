/* SPDX-License-Identifier: Apache-2.0 */
/* cron_request.h - what a command of hora cron was asked for */
#ifndef APP_CRON_REQUEST_H
#define APP_CRON_REQUEST_H

#include <stdbool.h>

#include <hora/cron.h>
#include <hora/zone.h>

/* How many options of the table a command takes: each takes those of the one before it, and some more. */
enum cron_options { OPTIONS_OF_CHECK = 2, OPTIONS_OF_EXPLAIN = 5, OPTIONS_OF_NEXT = 7 };

#define REQUEST_GO (-1) /* no exit status: go on */

/* The command line, understood. */
struct cron_request {
    const char *expression; /* NULL with tsv */
    const char *zone;       /* a name; NULL: none was given */
    const char *from;       /* a time; NULL: now */
    int count;              /* of times; 0: not given */
    bool tsv;
    hora_cron_options options;
};

/* Read a command line. Returns REQUEST_GO, or the exit status if that was all: after --help, and after a complaint. */
int request_read(struct cron_request *ret_request, enum cron_options options, const char *help, int argc, char **argv);

/* What was asked about, parsed and loaded. */
struct cron_question {
    hora_cron *cron;
    hora_zone *zone;
    hora_instant from;
    bool zone_is_named; /* the user named it, so it stands in the answers too */
};

/* Parse expression and time, load the zone. Returns REQUEST_GO, or an exit status after a complaint. */
int question_open(const struct cron_request *request, struct cron_question *ret_question);

void question_close(struct cron_question *question);

#endif
