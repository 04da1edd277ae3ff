/* SPDX-License-Identifier: Apache-2.0 */
/* server.h - what the server of the control socket and its requests share */
#ifndef APP_CONTROL_SERVER_H
#define APP_CONTROL_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "control/question.h"
#include "runner/runner.h"

struct client;

/* The limits of a server. Tests have smaller ones. */
struct control_limits {
    int clients;        /* connections at a time */
    int bad_lines;      /* after so many of them, a connection is closed */
    size_t stream_size; /* bytes of a stream that wait for a client; with more, the client is dropped */
    hora_ns idle;       /* real time: a connection without a request in progress is closed after it */
    hora_ns partial;    /* real time: so is one that has sent a part of a request */
    hora_ns unread;     /* real time: so is one that does not read its answer */
};

extern const struct control_limits control_default_limits;

/* Like control_new, with other limits. */
struct control *control_new_limited(struct runner *runner, const struct control_limits *limits);

/* What a server has counted since its start. */
struct control_counts {
    int clients;      /* connected now */
    int64_t accepted; /* connections in all */
    int64_t refused;  /* because of the limit of connections */
    int64_t denied;   /* other users */
    int64_t dropped;  /* clients that did not read their streams */
    int64_t expired;  /* connections that were closed because they were idle */
    int64_t requests;
    int64_t bad_lines;
};

void control_count(const struct control *control, struct control_counts *ret_counts);

/* A request in progress. It ends with exactly one call of request_reply, which frees it. That call is needed
 * also after the client has gone. */
struct request {
    struct control *control;
    struct runner *runner;
    struct client *client; /* NULL: it has gone */
    uid_t uid;             /* of the client */
    pid_t pid;
    struct question question;
    /* Set by a request that streams. The server calls it at most once: when the client has gone, or has sent
     * a further line and the stream has no end of its own. It must end the request, now or later. */
    void (*stop)(struct request *request);
    bool is_endless; /* the stream has no end of its own */
    /* Set by a request that sends more when the client has read what was sent. It may end the request. */
    void (*drained)(struct request *request);
    void *state; /* of the request */
};

/* Starts a request: requests.c. */
void request_start(struct request *request);

/* Sends the last line of an answer, {"ok": ...}, and frees the request. The reference is taken; NULL: there
 * is no memory. */
void request_reply(struct request *request, json_t *reply);

/* Sends {"ok": false, "error": text} as the last line. */
__attribute__((format(printf, 2, 3))) void request_fail(struct request *request, const char *format, ...);

/* Sends {"event": event}. The reference is not taken. Does nothing if the client has gone, or is dropped. It
 * never calls a function of the request. */
void request_event(struct request *request, const json_t *event);

/* Sends complete lines as they are. */
void request_lines(struct request *request, const char *lines, size_t size);

/* Closes the connection, because the client does not read its stream. The server then calls request->stop. */
void request_drop(struct request *request);

/* Returns how many bytes of a stream may wait for a client. */
size_t request_stream_size(const struct request *request);

/* Returns how many bytes wait for the client. */
size_t request_unread(const struct request *request);

#endif
