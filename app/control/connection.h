/* SPDX-License-Identifier: Apache-2.0 */
/* connection.h - a connection of a command to the runner: send a request, receive its answer */
#ifndef APP_CONTROL_CONNECTION_H
#define APP_CONTROL_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

enum { ANSWER_MS = 60000 }; /* how long a runner may take to answer a request that is not a stream */

struct connection {
    int fd; /* -1: closed */
    char *path;
    char *input; /* received and not yet returned */
    size_t begin, end, room;
};

/* Connects to the runner at a path; NULL: at the default one. Returns STATUS_OK, or STATUS_TROUBLE after
 * printing an error. */
int connection_open(const char *path, struct connection *ret_connection);
/* The same, but the reason is stored instead of printed. Returns false then. */
bool connection_try(const char *path, struct connection *ret_connection, char *reason, size_t reason_size);
void connection_close(struct connection *connection);

/* Sends a request. The reference is taken. Errors are found when the answer is received. */
void connection_send(struct connection *connection, json_t *request);

/* Receives a line. Waits for at most `milliseconds` (-1: without limit). Returns NULL with a reason at the
 * end of the connection, after an error, or when the time is over. */
json_t *connection_receive(struct connection *connection, int milliseconds, char *reason, size_t reason_size);

/* Waits until the runner has closed the connection. Returns false if it has not within `milliseconds`. */
bool connection_await_end(struct connection *connection, int milliseconds);

/* Sends a request and receives the last line of its answer. `event` is called for each event before; NULL:
 * there are none, and the answer must come soon. If `event` returns false, the rest is not received. Returns
 * NULL after printing an error; also if the answer is one. */
json_t *connection_ask(struct connection *connection, json_t *request,
                       bool (*event)(const json_t *event, void *arg), void *arg);

#endif
