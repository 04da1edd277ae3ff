/* SPDX-License-Identifier: Apache-2.0 */
/* cron_request.h - the parsed command line of hora cron, and the objects that it names */
#ifndef APP_CRON_REQUEST_H
#define APP_CRON_REQUEST_H

#include <stdbool.h>

#include <hora/cron.h>
#include <hora/zone.h>

/* Number of options of the table that a command takes. Each command takes those of the previous one and some
 * more. */
enum cron_options { OPTIONS_OF_CHECK = 2, OPTIONS_OF_EXPLAIN = 5, OPTIONS_OF_NEXT = 7 };

#define REQUEST_GO (-1) /* not an exit status: continue */

/* About --dst, for the help of the commands that have it. */
#define DST_HELP                                                                                    \
    "  --dst literal|once  local times that clock changes skip or repeat.\n"                        \
    "                      literal (the default): a skipped time does not occur, a repeated one\n"  \
    "                      occurs twice.\n"                                                         \
    "                      once: a fixed time of day that is skipped occurs right after the gap,\n" \
    "                      and a repeated one occurs once; other expressions behave as with literal\n"

/* The parsed command line. */
struct cron_request {
    const char *expression; /* NULL with tsv */
    const char *zone;       /* a name; NULL if it was not given */
    const char *from;       /* a time; NULL means now */
    int count;              /* number of times; 0 if it was not given */
    bool tsv;               /* the questions come from standard input */
    hora_cron_options options;
};

/* Parses a command line. Returns REQUEST_GO, or the exit status after --help and after an error. */
int request_read(struct cron_request *ret_request, enum cron_options options, const char *help, int argc,
                 char **argv);

/* The parsed expression and time, and the loaded zone. */
struct cron_question {
    hora_cron *cron;
    hora_zone *zone;
    hora_instant from;
    bool zone_is_named; /* the user named it, so the answers show it too */
};

/* Parses the expression and the time and loads the zone. Returns REQUEST_GO, or an exit status after printing
 * an error; the question is then closed. */
int question_open(const struct cron_request *request, struct cron_question *ret_question);

/* Releases the expression and the zone. */
void question_close(struct cron_question *question);

#endif
