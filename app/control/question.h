/* SPDX-License-Identifier: Apache-2.0 */
/* question.h - a request of a client of the control socket, parsed and checked */
#ifndef APP_CONTROL_QUESTION_H
#define APP_CONTROL_QUESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include <hora/base.h>

enum question_kind {
    QUESTION_STATUS,
    QUESTION_LIST,
    QUESTION_NEXT,
    QUESTION_RUN,
    QUESTION_PAUSE,
    QUESTION_RESUME,
    QUESTION_CANCEL,
    QUESTION_HISTORY,
    QUESTION_LOGS,
    QUESTION_EXPLAIN,
    QUESTION_RELOAD,
    QUESTION_STOP,
    QUESTION_EVENTS,
    QUESTION_SHOW,
    QUESTION_METRICS,
    QUESTION_CLOCK,
    QUESTION_KINDS
};

enum {
    QUESTION_SIZE = 65536,       /* most bytes of a request, without the line end */
    QUESTION_LIMIT_MOST = 1000,  /* of "limit" */
    QUESTION_JOBS_MOST = 10000,  /* of "jobs" */
    QUESTION_TAIL_MOST = 100000, /* of "tail" */
    QUESTION_REASON = 256        /* size of a buffer for the reason of an error, including the NUL */
};

/* Fields that a request does not have are zero, except `limit`, which then has its default, and `within`. */
struct question {
    enum question_kind kind;
    json_t *json; /* a reference; the texts below belong to it */
    const char *job;
    const char *run;
    const json_t *jobs; /* an array of names; NULL: not given */
    const json_t *tags; /* likewise: jobs that have all of them */
    int64_t limit;
    int64_t before; /* id of a record; 0: not given */
    int64_t attempt;
    int64_t tail;
    bool failed, follow, all, output, wait, settle;
    hora_ns within; /* -1: not given */
    hora_ns by;
    bool has_since;
    bool since_is_ago; /* `ago` is given, otherwise `since` */
    hora_instant since;
    hora_ns ago;
};

/* Parses a line, without its end. Returns false with a reason. */
bool question_parse(const char *line, size_t size, struct question *ret_question,
                    char reason[QUESTION_REASON]);
void question_free(struct question *question);

/* The word that selects a request, such as "status". */
const char *question_name(enum question_kind kind);

#endif
