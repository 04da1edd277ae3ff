/* SPDX-License-Identifier: Apache-2.0 */
/* requests.h - the requests of the control socket, each in its file, and what they share */
#ifndef APP_CONTROL_REQUESTS_H
#define APP_CONTROL_REQUESTS_H

#include "control/server.h"

/* ---- requests.c ---- */

/* Ends a request with an answer, to which it adds "now", the time of the runner. The reference is taken. */
void request_finish(struct request *request, json_t *reply);

/* Returns true if an event is the end of a run: not one of an attempt that another attempt follows. */
bool event_ends_run(const json_t *event, const char *run);

/* Reports who asked for a run, with the answer of the runner. */
void request_report_run(const struct request *request, const json_t *reply);

/* ---- names.c ---- */

/* Returns the job that a request names, or NULL after it has ended the request with an error. */
struct job_state *request_job(struct request *request, const char *name);

/* Returns true if there is a job that has all tags of the request, or if it names none. Otherwise ends the
 * request with an error. */
bool request_has_tags(struct request *request);

/* Returns true if a job has all tags of the request. */
bool request_wants(const struct request *request, const struct job *job);

/* ---- one file each ---- */

void next_request(struct request *request);    /* timeline.c */
void explain_request(struct request *request); /* explain.c */
void logs_request(struct request *request);    /* logs.c */
void run_request(struct request *request);     /* streams.c */
void events_request(struct request *request);  /* streams.c */

#endif
