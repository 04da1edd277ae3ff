/* SPDX-License-Identifier: Apache-2.0 */
/* server.c - the control socket: connections, lines, limits and permissions
 *
 * PROTOCOL
 *
 * A client connects to a Unix stream socket. It sends one JSON object per line:
 *
 *     {"request": "history", "job": "backup", "limit": 5}
 *
 * The server answers with any number of lines {"event": {...}} and one last line {"ok": true, ...} or {"ok":
 * false, "error": "text"}. Then it handles the next request of the connection. A line that arrives during a
 * stream without an end ends it: the last line of that answer follows, then the answer to the new line. All
 * times are ISO 8601 in UTC. docs/guide/control.md describes the requests; question.c knows their fields, and
 * requests.c answers them.
 *
 * A line that is no request is answered with an error. The connection is closed after ten of them. It is also
 * closed if it is idle for a long time, if a part of a request is not followed by the rest, and if the client
 * does not read its answer. A client of which a stream has filled its buffer is dropped and counted, so that
 * one that does not read never delays the loop and never takes more memory than that.
 *
 * Only root and the user of the runner may do anything: the kernel tells the user of each connection
 * (SO_PEERCRED). The mode of the socket, 0600, says the same; the check also holds if the mode is changed.
 *
 * HOW IT WORKS
 *
 * The loop calls client_ready when a connection can be read or written. A connection has one request in
 * progress at most, and is not read meanwhile, except during a stream. Its next request starts when its
 * answer has been written. In one call, a connection starts REQUESTS_IN_A_ROW requests at most; if it has
 * sent more, the loop calls again after it has served others. Idle connections are found with a timer of the
 * kernel, because the timers of the loop may be those of a virtual clock.
 *
 * INVARIANTS
 *
 *   S1  Functions of requests that send (request_event, request_lines, request_reply) never free a client. A
 *       client that has to go is shut down, and client_ready frees it.
 *   S2  request->client is NULL from the moment at which the client is freed. By then request->stop has been
 *       called, if it was set.
 *   S3  A client has at most one request; its output buffer holds one answer or, while it streams, at most
 *       stream_size bytes. */
#include "control/server.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "command.h"
#include "control/socket.h"

enum {
    INPUT_FIRST = 1024,             /* bytes of an input buffer at the start */
    INPUT_MOST = QUESTION_SIZE + 2, /* of one at most: a request, "\r" and "\n" */
    ACCEPTS_IN_A_ROW = 32,          /* connections that one call accepts */
    REQUESTS_IN_A_ROW = 8,          /* of one connection in one call */
    SWEEPS = 4,                     /* times per limit at which idle connections are looked for */
    ERROR_TEXT = 1024
};

const struct control_limits control_default_limits = {
    .clients = 256,
    .bad_lines = 10,
    .stream_size = 1 << 20,
    .idle = HORA_MINUTES(10),
    .partial = HORA_SECONDS(30),
    .unread = HORA_SECONDS(60),
};

/* Bytes that grow at the end and shrink at the start. */
struct buffer {
    char *bytes;
    size_t begin, end, room;
};

struct client {
    struct client *next, **link; /* list of control.clients */
    struct control *control;
    int fd;
    struct loop_fd watch;
    uint32_t interest; /* events that the loop watches for */
    uid_t uid;
    pid_t pid;
    struct buffer input, output;
    bool skips_line; /* the rest of a line that is too long */
    bool at_end;     /* it sends no more */
    bool closes;     /* it is closed when the output is written */
    bool is_dead;    /* it is shut down and waits to be freed: S1 */
    int bad_lines;
    hora_ns active;          /* real time: of the last byte that was read or written */
    struct request *request; /* in progress; NULL: none */
};

struct control {
    struct runner *runner;
    struct control_limits limits;
    struct control_listener listener;
    struct loop_fd watch;
    int reserve; /* a descriptor that is closed to accept one more connection when there is no other */
    int timer;   /* looks for idle connections while there are any */
    struct loop_fd timer_watch;
    struct client *clients;
    struct control_counts counts;
};

static hora_ns real_now(void)
{
    return hora_clock_now(hora_clock_system(HORA_CLOCK_MONOTONIC));
}

/* ---- buffers ---- */

/* Appends bytes. */
static void buffer_add(struct buffer *buffer, const char *bytes, size_t size)
{
    if (buffer->begin == buffer->end)
        buffer->begin = buffer->end = 0;
    if (size > buffer->room - buffer->end && buffer->begin > 0) {
        memmove(buffer->bytes, buffer->bytes + buffer->begin, buffer->end - buffer->begin);
        buffer->end -= buffer->begin;
        buffer->begin = 0;
    }
    if (size > buffer->room - buffer->end) {
        size_t room = buffer->room > 0 ? buffer->room : INPUT_FIRST;
        while (room - buffer->end < size)
            room *= 2;
        char *larger = memory(room);
        if (buffer->end > 0)
            memcpy(larger, buffer->bytes, buffer->end);
        free(buffer->bytes);
        buffer->bytes = larger;
        buffer->room = room;
    }
    memcpy(buffer->bytes + buffer->end, bytes, size);
    buffer->end += size;
}

static size_t buffer_size(const struct buffer *buffer)
{
    return buffer->end - buffer->begin;
}

/* Frees the memory of a buffer, which is empty then. */
static void buffer_free(struct buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct buffer){0};
}

/* ---- output ---- */

/* Makes a client that has to go ready for client_ready, which frees it: S1. */
static void kill_client(struct client *client)
{
    client->is_dead = true;
    buffer_free(&client->output);
    (void)shutdown(client->fd, SHUT_RDWR); /* the loop reports that at once */
}

/* Writes as much output as the client takes. */
static void write_output(struct client *client)
{
    struct buffer *output = &client->output;
    while (buffer_size(output) > 0 && !client->is_dead) {
        ssize_t count =
            send(client->fd, output->bytes + output->begin, buffer_size(output), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count > 0) {
            output->begin += (size_t)count;
            client->active = real_now();
        } else if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return;
        } else if (count < 0 && errno != EINTR) {
            kill_client(client);
        }
    }
    if (buffer_size(output) == 0)
        buffer_free(output); /* a large answer is rare: idle clients hold no memory */
}

/* Returns true if a client has sent a line that can be handled: a complete one, or one that is too long. */
static bool has_line(const struct client *client)
{
    const struct buffer *input = &client->input;
    return buffer_size(input) > QUESTION_SIZE + 1 ||
           (buffer_size(input) > 0 && memchr(input->bytes + input->begin, '\n', buffer_size(input)) != NULL);
}

/* Tells the loop what a client waits for. */
static void set_interest(struct client *client)
{
    const struct request *request = client->request;
    bool has_output = buffer_size(&client->output) > 0;
    bool has_turn = request == NULL && (has_line(client) || client->at_end);
    uint32_t interest = 0;
    if (!client->at_end && !client->closes && (request == NULL || request->is_endless) &&
        buffer_size(&client->input) < INPUT_MOST)
        interest |= EPOLLIN;
    /* A socket that can be written is also how the loop is asked to call again soon. */
    if (has_output || has_turn || client->closes || (request != NULL && request->drained != NULL))
        interest |= EPOLLOUT;
    if (interest != client->interest && !client->is_dead) {
        client->interest = interest;
        loop_change(&client->watch, interest);
    }
}

/* Appends a line to the output and writes what can be written. */
static void send_bytes(struct client *client, const char *bytes, size_t size)
{
    if (client->is_dead)
        return;
    bool was_empty = buffer_size(&client->output) == 0;
    buffer_add(&client->output, bytes, size);
    if (was_empty)
        write_output(client);
    if (client->request != NULL && client->request->stop != NULL &&
        buffer_size(&client->output) > client->control->limits.stream_size)
        request_drop(client->request);
    set_interest(client);
}

/* Sends a JSON value as a line. */
static void send_json(struct client *client, const json_t *json)
{
    char *text = json != NULL ? json_dumps(json, JSON_COMPACT) : NULL;
    static const char no_memory[] = "{\"ok\":false,\"error\":\"out of memory\"}\n";
    if (text == NULL) {
        send_bytes(client, no_memory, sizeof no_memory - 1);
        return;
    }
    size_t length = strlen(text);
    text[length] = '\n'; /* in the place of the NUL */
    send_bytes(client, text, length + 1);
    free(text);
}

/* Makes the answer {"ok": false, "error": text}. */
static json_t *error_json(const char *text)
{
    return json_pack("{s:b, s:s}", "ok", 0, "error", text);
}

static void send_error(struct client *client, const char *text)
{
    json_t *json = error_json(text);
    send_json(client, json);
    json_decref(json);
}

/* ---- requests ---- */

void request_lines(struct request *request, const char *lines, size_t size)
{
    if (request->client != NULL)
        send_bytes(request->client, lines, size);
}

void request_event(struct request *request, const json_t *event)
{
    if (request->client == NULL || request->client->is_dead)
        return;
    static const char before[] = "{\"event\":";
    size_t size = 0;
    char *text = json_dumps(event, JSON_COMPACT);
    size_t room = sizeof before + (text != NULL ? strlen(text) : 0) + sizeof "}\n";
    char *line = memory(room);
    if (text != NULL)
        size = (size_t)snprintf(line, room, "%s%s}\n", before, text);
    send_bytes(request->client, line, size);
    free(line);
    free(text);
}

void request_drop(struct request *request)
{
    if (request->client != NULL && !request->client->is_dead) {
        request->control->counts.dropped++;
        kill_client(request->client);
    }
}

size_t request_stream_size(const struct request *request)
{
    return request->control->limits.stream_size;
}

size_t request_unread(const struct request *request)
{
    return request->client != NULL ? buffer_size(&request->client->output) : 0;
}

void request_reply(struct request *request, json_t *reply)
{
    struct client *client = request->client;
    request->stop = NULL; /* an answer is not a stream: it has no limit */
    if (client != NULL) {
        assert(client->request == request);
        client->request = NULL;
        client->active = real_now();
        send_json(client, reply);
        set_interest(client);
    }
    json_decref(reply);
    question_free(&request->question);
    free(request);
}

void request_fail(struct request *request, const char *format, ...)
{
    char text[ERROR_TEXT];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    request_reply(request, error_json(text));
}

/* Ends the stream of a request, if it is one. */
static void stop_stream(struct request *request)
{
    if (request == NULL || request->stop == NULL)
        return;
    void (*stop)(struct request *) = request->stop;
    request->stop = NULL;
    request->drained = NULL;
    stop(request);
}

/* ---- input ---- */

/* Answers a line that is no request. */
static void refuse_line(struct client *client, const char *reason)
{
    client->control->counts.bad_lines++;
    client->bad_lines++;
    if (client->bad_lines >= client->control->limits.bad_lines)
        client->closes = true;
    send_error(client, reason);
}

/* Handles a line: starts a request, or answers with an error. */
static void handle_line(struct client *client, const char *line, size_t size)
{
    struct question question;
    char reason[QUESTION_REASON];
    if (!question_parse(line, size, &question, reason)) {
        refuse_line(client, reason);
        return;
    }
    struct request *request = memory(sizeof *request);
    *request = (struct request){.control = client->control,
                                .runner = client->control->runner,
                                .client = client,
                                .uid = client->uid,
                                .pid = client->pid,
                                .question = question};
    client->request = request;
    client->control->counts.requests++;
    request_start(request);
}

/* Handles the lines that have been read, as far as it is their turn. */
static void handle_lines(struct client *client)
{
    struct buffer *input = &client->input;
    for (int i = 0; i < REQUESTS_IN_A_ROW && !client->closes && !client->is_dead;) {
        char *start = input->bytes + input->begin;
        char *newline = buffer_size(input) > 0 ? memchr(start, '\n', buffer_size(input)) : NULL;
        if (newline != NULL && client->request != NULL && client->request->is_endless)
            stop_stream(client->request); /* now or soon */
        if (client->request != NULL || buffer_size(&client->output) > 0)
            return;
        if (newline == NULL) {
            if (buffer_size(input) > QUESTION_SIZE + 1) {
                if (!client->skips_line)
                    refuse_line(client, "the request is longer than 65536 bytes");
                client->skips_line = true;
                input->begin = input->end;
            }
            return;
        }
        size_t size = (size_t)(newline - start);
        input->begin += size + 1;
        if (client->skips_line)
            client->skips_line = false; /* the line has been answered */
        else
            handle_line(client, start, size);
        i++;
    }
}

/* Reads what the client has sent, at most a buffer of it. */
static void read_input(struct client *client)
{
    static char bytes[INPUT_MOST];
    size_t room = INPUT_MOST - buffer_size(&client->input);
    if (room == 0 || client->at_end || client->closes)
        return;
    ssize_t count = recv(client->fd, bytes, room, MSG_DONTWAIT);
    if (count > 0) {
        client->active = real_now();
        buffer_add(&client->input, bytes, (size_t)count);
    } else if (count == 0) {
        client->at_end = true;
    } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        client->is_dead = true;
    }
}

/* ---- connections ---- */

static void set_timer(struct control *control);

static void client_free(struct client *client)
{
    struct control *control = client->control;
    client->is_dead = true;
    struct request *request = client->request;
    if (request != NULL) {
        request->client = NULL; /* S2 */
        client->request = NULL;
        stop_stream(request);
    }
    loop_unwatch(&client->watch);
    (void)close(client->fd);
    buffer_free(&client->input);
    buffer_free(&client->output);
    *client->link = client->next;
    if (client->next != NULL)
        client->next->link = client->link;
    free(client);
    control->counts.clients--;
    set_timer(control);
}

/* Returns true if a client has nothing left to do. */
static bool is_done(const struct client *client)
{
    if (client->is_dead)
        return true;
    if (client->request != NULL || buffer_size(&client->output) > 0)
        return false;
    return client->closes || (client->at_end && !has_line(client));
}

static void client_ready(int fd, uint32_t events, void *arg)
{
    (void)fd;
    struct client *client = arg;
    if (!client->is_dead && (events & EPOLLOUT) != 0)
        write_output(client);
    if (!client->is_dead && buffer_size(&client->output) == 0 && client->request != NULL &&
        client->request->drained != NULL)
        client->request->drained(client->request);
    if (!client->is_dead && (events & (EPOLLIN | EPOLLHUP)) != 0)
        read_input(client); /* what was sent before the client closed its end still counts */
    if (!client->is_dead)
        handle_lines(client);
    if (is_done(client) || (events & (EPOLLHUP | EPOLLERR)) != 0)
        client_free(client);
    else
        set_interest(client);
}

/* Sends an error to a connection that does not become a client, and closes it. */
__attribute__((format(printf, 2, 3))) static void turn_away(int fd, const char *format, ...)
{
    char text[ERROR_TEXT];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    json_t *json = error_json(text);
    char *line = json_dumps(json, JSON_COMPACT);
    if (line != NULL) {
        size_t length = strlen(line);
        line[length] = '\n';
        (void)!send(fd, line, length + 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    free(line);
    json_decref(json);
    (void)close(fd);
}

/* Makes a client of a connection, if it may be one. */
static void add_client(struct control *control, int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    control->counts.accepted++;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) {
        turn_away(fd, "permission denied: the kernel does not tell which user asks: %s", strerror(errno));
        control->counts.denied++;
        return;
    }
    if (peer.uid != 0 && peer.uid != geteuid()) {
        turn_away(fd, "permission denied: the runner belongs to uid %ld, and uid %ld asks", (long)geteuid(),
                  (long)peer.uid);
        control->counts.denied++;
        return;
    }
    if (control->counts.clients >= control->limits.clients) {
        turn_away(fd, "the runner has %d connections, which is its limit", control->limits.clients);
        control->counts.refused++;
        return;
    }
    struct client *client = memory(sizeof *client);
    *client = (struct client){.control = control,
                              .fd = fd,
                              .interest = EPOLLIN,
                              .uid = peer.uid,
                              .pid = peer.pid,
                              .active = real_now()};
    if (loop_watch(control->runner->loop, &client->watch, fd, EPOLLIN, client_ready, client) < 0) {
        free(client);
        turn_away(fd, "the runner cannot watch a further connection: %s", strerror(errno));
        return;
    }
    client->next = control->clients;
    client->link = &control->clients;
    if (client->next != NULL)
        client->next->link = &client->next;
    control->clients = client;
    control->counts.clients++;
    set_timer(control);
}

/* Accepts a connection although the process has no descriptor left, to close it: otherwise the loop would
 * report it again and again. */
static void accept_without_descriptor(struct control *control)
{
    if (control->reserve >= 0)
        (void)close(control->reserve);
    int fd = accept4(control->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        control->counts.refused++;
        turn_away(fd, "the runner has no descriptor left for a connection");
    }
    control->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void listener_ready(int fd, uint32_t events, void *arg)
{
    (void)events;
    struct control *control = arg;
    for (int i = 0; i < ACCEPTS_IN_A_ROW; i++) {
        int connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (connection >= 0) {
            add_client(control, connection);
        } else if (errno == EMFILE || errno == ENFILE) {
            accept_without_descriptor(control);
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

/* ---- idle connections ---- */

/* Returns after which time without a byte a client is closed; HORA_FOREVER: never. */
static hora_ns patience_of(const struct client *client)
{
    const struct control_limits *limits = &client->control->limits;
    if (buffer_size(&client->output) > 0)
        return limits->unread;
    if (client->request != NULL)
        return HORA_FOREVER;
    return buffer_size(&client->input) > 0 || client->skips_line ? limits->partial : limits->idle;
}

static void timer_ready(int fd, uint32_t events, void *arg)
{
    (void)events;
    struct control *control = arg;
    uint64_t count;
    (void)!read(fd, &count, sizeof count);
    hora_ns now = real_now();
    struct client *next;
    for (struct client *client = control->clients; client != NULL; client = next) {
        next = client->next;
        if (now - client->active < patience_of(client))
            continue;
        if (buffer_size(&client->output) > 0)
            control->counts.dropped++;
        else
            control->counts.expired++;
        client_free(client);
    }
}

static hora_ns shortest(hora_ns a, hora_ns b)
{
    return a < b ? a : b;
}

/* Lets the timer run while there are clients. */
static void set_timer(struct control *control)
{
    const struct control_limits *limits = &control->limits;
    hora_ns every = shortest(limits->idle, shortest(limits->partial, limits->unread)) / SWEEPS;
    if (control->clients == NULL)
        every = 0;
    struct itimerspec spec = {.it_value = {every / HORA_SECONDS(1), every % HORA_SECONDS(1)}};
    spec.it_interval = spec.it_value;
    if (control->timer >= 0 && (control->clients == NULL || control->clients->next == NULL))
        (void)timerfd_settime(control->timer, 0, &spec, NULL);
}

/* ---- the server ---- */

void control_count(const struct control *control, struct control_counts *ret_counts)
{
    *ret_counts = control->counts;
}

/* Watches the socket and the timer. Returns 0 or a negative errno. */
static int start(struct control *control)
{
    struct loop *loop = control->runner->loop;
    control->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
    control->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (control->reserve < 0 || control->timer < 0)
        return -errno;
    int error = loop_watch(loop, &control->timer_watch, control->timer, EPOLLIN, timer_ready, control);
    if (error == 0)
        error = loop_watch(loop, &control->watch, control->listener.fd, EPOLLIN, listener_ready, control);
    return error;
}

struct control *control_new_limited(struct runner *runner, const struct control_limits *limits)
{
    char reason[SOCKET_REASON];
    struct control *control = memory(sizeof *control);
    *control = (struct control){.runner = runner,
                                .limits = *limits,
                                .listener = {.fd = -1, .lock = -1},
                                .watch = {.fd = -1},
                                .reserve = -1,
                                .timer = -1,
                                .timer_watch = {.fd = -1}};
    if (control_listen(runner->socket_path, &control->listener, reason) < 0) {
        event_report(runner, EVENT_ERROR, "error", NULL, NULL, "%s", reason);
        free(control);
        return NULL;
    }
    int error = start(control);
    if (error < 0) {
        event_report(runner, EVENT_ERROR, "error", NULL, NULL, "the control socket cannot be served: %s",
                     strerror(-error));
        control_free(control);
        return NULL;
    }
    return control;
}

struct control *control_new(struct runner *runner)
{
    return control_new_limited(runner, &control_default_limits);
}

void control_free(struct control *control)
{
    if (control == NULL)
        return;
    struct client *next;
    for (struct client *client = control->clients; client != NULL; client = next) {
        next = client->next;
        write_output(client); /* the answer to `stop`, if the client takes it */
        client_free(client);
    }
    loop_unwatch(&control->watch);
    loop_unwatch(&control->timer_watch);
    if (control->timer >= 0)
        (void)close(control->timer);
    if (control->reserve >= 0)
        (void)close(control->reserve);
    control_listener_close(&control->listener);
    free(control);
}
