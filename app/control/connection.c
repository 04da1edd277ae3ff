/* SPDX-License-Identifier: Apache-2.0 */
/* connection.c - a connection of a command to the runner: send a request, receive its answer */
#include "control/connection.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "command.h"
#include "control/fields.h"
#include "control/socket.h"
#include "text.h"

enum { REASON = 512, INPUT_FIRST = 1 << 16, LINE_MOST = 256 << 20 };

__attribute__((format(printf, 3, 4))) static void set_reason(char *reason, size_t size, const char *format,
                                                             ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(reason, size, format, values);
    va_end(values);
}

bool connection_try(const char *path, struct connection *ret_connection, char *reason, size_t reason_size)
{
    char *copy = path != NULL ? text_copy(path) : control_default_socket();
    int fd = control_connect(copy);
    if (fd >= 0) {
        *ret_connection = (struct connection){.fd = fd, .path = copy};
        return true;
    }
    if (fd == -ENOENT || fd == -ECONNREFUSED || fd == -ENOTDIR)
        set_reason(reason, reason_size, "there is no runner at %s (start one with hora run FILE)", copy);
    else if (fd == -EACCES || fd == -EPERM)
        set_reason(reason, reason_size, "permission denied: the runner at %s belongs to another user", copy);
    else
        set_reason(reason, reason_size, "cannot connect to %s: %s", copy, strerror(-fd));
    free(copy);
    return false;
}

int connection_open(const char *path, struct connection *ret_connection)
{
    char reason[REASON];
    if (!connection_try(path, ret_connection, reason, sizeof reason))
        return complain("%s", reason);
    return STATUS_OK;
}

void connection_close(struct connection *connection)
{
    if (connection->fd >= 0)
        (void)close(connection->fd);
    free(connection->path);
    free(connection->input);
    *connection = (struct connection){.fd = -1};
}

void connection_send(struct connection *connection, json_t *request)
{
    char *text = json_dumps(request, JSON_COMPACT);
    json_decref(request);
    if (text == NULL) {
        complain("out of memory");
        exit(STATUS_TROUBLE);
    }
    size_t size = strlen(text) + 1;
    text[size - 1] = '\n';
    for (size_t sent = 0; sent < size;) {
        ssize_t count = send(connection->fd, text + sent, size - sent, MSG_NOSIGNAL);
        if (count < 0 && errno != EINTR)
            break; /* the server may have said why before it closed the connection */
        sent += count > 0 ? (size_t)count : 0;
    }
    free(text);
}

/* Makes room for more input. Returns false if a line is absurdly long. */
static bool make_room(struct connection *connection)
{
    if (connection->begin > 0) {
        memmove(connection->input, connection->input + connection->begin,
                connection->end - connection->begin);
        connection->end -= connection->begin;
        connection->begin = 0;
    }
    if (connection->end < connection->room)
        return true;
    if (connection->room >= LINE_MOST)
        return false;
    size_t room = connection->room > 0 ? 2 * connection->room : INPUT_FIRST;
    char *larger = memory(room);
    if (connection->end > 0)
        memcpy(larger, connection->input, connection->end);
    free(connection->input);
    connection->input = larger;
    connection->room = room;
    return true;
}

/* Receives more bytes. Returns false with a reason. */
static bool fill(struct connection *connection, int milliseconds, char *reason, size_t reason_size)
{
    struct pollfd ready = {.fd = connection->fd, .events = POLLIN};
    int count = poll(&ready, 1, milliseconds);
    if (count < 0 && errno == EINTR)
        return true;
    if (count == 0) {
        set_reason(reason, reason_size, "the runner at %s does not answer", connection->path);
        return false;
    }
    if (!make_room(connection)) {
        set_reason(reason, reason_size, "the answer of the runner at %s is too long", connection->path);
        return false;
    }
    ssize_t size =
        recv(connection->fd, connection->input + connection->end, connection->room - connection->end, 0);
    if (size > 0)
        connection->end += (size_t)size;
    else if (size == 0 || errno == ECONNRESET)
        set_reason(reason, reason_size, "the runner at %s has closed the connection", connection->path);
    else if (errno != EINTR)
        set_reason(reason, reason_size, "cannot receive from %s: %s", connection->path, strerror(errno));
    return size > 0 || (size < 0 && errno == EINTR);
}

json_t *connection_receive(struct connection *connection, int milliseconds, char *reason, size_t reason_size)
{
    size_t looked_at = 0; /* bytes that have no line end */
    for (;;) {
        char *start = connection->input + connection->begin;
        size_t size = connection->end - connection->begin;
        char *newline = size > looked_at ? memchr(start + looked_at, '\n', size - looked_at) : NULL;
        if (newline != NULL) {
            json_error_t error;
            json_t *line = json_loadb(start, (size_t)(newline - start), 0, &error);
            connection->begin += (size_t)(newline - start) + 1;
            if (!json_is_object(line)) {
                json_decref(line);
                set_reason(reason, reason_size, "the answer of %s is not JSON", connection->path);
                return NULL;
            }
            return line;
        }
        looked_at = size;
        if (!fill(connection, milliseconds, reason, reason_size))
            return NULL;
    }
}

bool connection_await_end(struct connection *connection, int milliseconds)
{
    char reason[REASON];
    json_t *line;
    while ((line = connection_receive(connection, milliseconds, reason, sizeof reason)) != NULL)
        json_decref(line);
    return strstr(reason, "has closed the connection") != NULL;
}

/* Prints an error of the runner, which may have several lines. Other control characters become "?". */
static void complain_safely(const char *error)
{
    char *text = text_copy(*error != '\0' ? error : "the runner refuses without a reason");
    for (char *c = text; *c != '\0'; c++)
        if (((unsigned char)*c < ' ' && *c != '\n') || *c == 127)
            *c = '?';
    complain("%s", text);
    free(text);
}

json_t *connection_ask(struct connection *connection, json_t *request,
                       bool (*event)(const json_t *event, void *arg), void *arg)
{
    char reason[REASON];
    connection_send(connection, request);
    for (;;) {
        json_t *line = connection_receive(connection, event != NULL ? -1 : ANSWER_MS, reason, sizeof reason);
        if (line == NULL) {
            complain("%s", reason);
            return NULL;
        }
        if (json_object_get(line, "ok") == NULL) {
            bool goes_on = event == NULL || event(json_object_get(line, "event"), arg);
            json_decref(line);
            if (!goes_on)
                return NULL;
        } else if (field_is_true(line, "ok")) {
            return line;
        } else {
            complain_safely(field_text(line, "error"));
            json_decref(line);
            return NULL;
        }
    }
}
