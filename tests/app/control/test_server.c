/* SPDX-License-Identifier: Apache-2.0 */
/* test_server.c - the server of the control socket, with slow and hostile clients
 *
 * Server and clients share one thread: settle lets the server handle all that is there. The runner is a fake one
 * (fake.h), because the tests need moments that a real one does not let them choose: a client that goes while
 * the runner has not answered, a line of output before the logs are read, a run that ends before its request is
 * answered; and limits that are small. What the requests answer is tested with the real runner, in
 * tests/app/run/test_requests and test_explain and in test_runner. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/socket.h"
#include "fake.h"
#include "harness.h"

enum { LONG_LINE = 100000, CONNECTIONS = 3000, LINES = 20000 };

static struct runner *runner;
static char folder[64];
static char path[96];

/* A client in the thread of the test. */
struct peer {
    int fd;
    char *text; /* what was received and not taken */
    size_t size, room;
    bool at_end;
};

static void start(const struct control_limits *limits)
{
    (void)snprintf(folder, sizeof folder, "/tmp/hora-control-XXXXXX");
    if (mkdtemp(folder) == NULL)
        abort();
    (void)snprintf(path, sizeof path, "%s/run/hora.sock", folder);
    runner = fake_runner_new(path, limits);
    if (runner == NULL)
        abort();
}

static void end(void)
{
    fake_runner_free(runner);
    CHECK(access(path, F_OK) < 0);
    char run[80];
    (void)snprintf(run, sizeof run, "%s/run", folder);
    CHECK_INT(rmdir(run), 0); /* nothing is left in it, not even the lock file */
    CHECK_INT(rmdir(folder), 0);
}

static struct peer peer_new(void)
{
    struct peer peer = {.fd = control_connect(path)};
    CHECK(peer.fd >= 0);
    if (peer.fd >= 0)
        (void)fcntl(peer.fd, F_SETFL, O_NONBLOCK);
    return peer;
}

static void peer_close(struct peer *peer)
{
    (void)close(peer->fd);
    free(peer->text);
    *peer = (struct peer){.fd = -1};
}

/* Lets the server handle everything that is there. */
static void settle(void)
{
    while (fake_loop_turn(runner->loop, 0))
        ;
}

static void peer_send(struct peer *peer, const char *bytes, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        ssize_t count = send(peer->fd, bytes + sent, size - sent, MSG_NOSIGNAL);
        if (count > 0)
            sent += (size_t)count;
        else if (errno != EAGAIN)
            return; /* the server has closed the connection: the test sees that when it reads */
        else
            (void)fake_loop_turn(runner->loop, 0);
    }
}

static void peer_put(struct peer *peer, const char *text)
{
    peer_send(peer, text, strlen(text));
}

/* Receives what is there. */
static void peer_receive(struct peer *peer)
{
    char bytes[65536];
    for (;;) {
        ssize_t count = recv(peer->fd, bytes, sizeof bytes, 0);
        if (count <= 0) {
            peer->at_end = peer->at_end || count == 0 || errno == ECONNRESET;
            return;
        }
        if (peer->size + (size_t)count + 1 > peer->room) {
            peer->room = 2 * (peer->size + (size_t)count + 1);
            peer->text = realloc(peer->text, peer->room);
            if (peer->text == NULL)
                abort();
        }
        memcpy(peer->text + peer->size, bytes, (size_t)count);
        peer->size += (size_t)count;
        peer->text[peer->size] = '\0';
    }
}

/* Waits for a line. Returns NULL at the end of the connection; otherwise the caller frees the value. */
static json_t *peer_line(struct peer *peer)
{
    for (;;) {
        char *newline = peer->size > 0 ? memchr(peer->text, '\n', peer->size) : NULL;
        if (newline != NULL) {
            json_t *json = json_loadb(peer->text, (size_t)(newline - peer->text), 0, NULL);
            size_t used = (size_t)(newline - peer->text) + 1;
            memmove(peer->text, peer->text + used, peer->size - used);
            peer->size -= used;
            CHECK(json != NULL);
            return json;
        }
        if (peer->at_end)
            return NULL;
        /* Something must come: an answer, or the end. A server that hangs makes the test hang, which its time
         * limit ends. */
        if (!fake_loop_turn(runner->loop, 0))
            (void)fake_loop_turn(runner->loop, 50);
        peer_receive(peer);
    }
}

/* Waits for the last line of an answer; counts the events before it. */
static json_t *peer_answer(struct peer *peer, int *ret_events)
{
    for (int events = 0;; events++) {
        json_t *line = peer_line(peer);
        if (line == NULL || json_object_get(line, "ok") != NULL) {
            if (ret_events != NULL)
                *ret_events = events;
            return line;
        }
        CHECK(json_is_object(json_object_get(line, "event")));
        json_decref(line);
    }
}

static json_t *ask(struct peer *peer, const char *request)
{
    peer_put(peer, request);
    peer_put(peer, "\n");
    return peer_answer(peer, NULL);
}

static const char *text_at(const json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));
    return text != NULL ? text : "";
}

/* Sends a request and checks the error. */
static void check_error(struct peer *peer, const char *request, const char *error)
{
    json_t *answer = ask(peer, request);
    CHECK(json_is_false(json_object_get(answer, "ok")));
    if (strstr(text_at(answer, "error"), error) == NULL)
        test_fail(__FILE__, __LINE__, "%s: \"%s\", expected \"%s\"", request, text_at(answer, "error"),
                  error);
    json_decref(answer);
}

/* Checks that the server answers a new client. */
static void check_responsive(void)
{
    struct peer peer = peer_new();
    json_t *answer = ask(&peer, "{\"request\":\"status\"}");
    CHECK(json_is_true(json_object_get(answer, "ok")));
    json_decref(answer);
    peer_close(&peer);
    settle();
}

static struct control_counts counts(void)
{
    struct control_counts result;
    control_count(runner->control, &result);
    return result;
}

/* ---- streams ---- */

TEST_REAL(server_streams_a_run_until_its_end, "")
{
    static const char *const jobs[] = {"hello", "fails"};
    start(&control_default_limits);
    struct peer peer = peer_new();
    for (int i = 0; i < 2; i++) {
        char request[128];
        int events;
        (void)snprintf(request, sizeof request,
                       "{\"request\":\"run\",\"job\":\"%s\",\"wait\":true,\"output\":true}\n", jobs[i]);
        peer_put(&peer, request);
        json_t *answer = peer_answer(&peer, &events);
        CHECK_INT(events, i == 0 ? 4 : 5); /* accepted, two lines, an end of each attempt */
        CHECK_INT(json_integer_value(json_object_get(answer, "exit")), i == 0 ? 0 : 3);
        CHECK(strcmp(text_at(answer, "outcome"), i == 0 ? "succeeded" : "failed") == 0);
        json_decref(answer);
    }
    CHECK(runner->followers == NULL);
    peer_close(&peer);
    end();
}

TEST_REAL(server_ends_a_stream_at_the_next_request, "")
{
    start(&control_default_limits);
    struct peer peer = peer_new();
    peer_put(&peer, "{\"request\":\"events\"}\n{\"request\":\"metrics\"}\n");
    int events;
    json_t *answer = peer_answer(&peer, &events);
    CHECK_INT(events, 1);
    CHECK(json_object_get(answer, "text") == NULL); /* of the stream */
    json_decref(answer);
    answer = peer_answer(&peer, NULL);
    CHECK(json_object_get(answer, "text") != NULL);
    json_decref(answer);
    CHECK(runner->followers == NULL);
    peer_close(&peer);
    end();
}

TEST_REAL(server_handles_what_arrives_together, "")
{
    start(&control_default_limits);
    struct peer peer = peer_new();
    for (int i = 0; i < 500; i++)
        peer_put(&peer, "{\"request\":\"metrics\"}\r\n{\"request\":\"logs\",\"run\":\"report\"}\n");
    for (int i = 0; i < 1000; i++) {
        json_t *answer = peer_answer(&peer, NULL);
        CHECK(json_is_true(json_object_get(answer, "ok")));
        json_decref(answer);
    }
    peer_close(&peer);
    end();
}

TEST_REAL(server_sends_logs_as_fast_as_they_are_read, "")
{
    start(&control_default_limits);
    for (int i = 0; i < LINES; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "line %d %060d", i, 0);
        fake_runner_output(runner, text);
    }
    struct peer peer = peer_new();
    peer_put(&peer, "{\"request\":\"logs\",\"run\":\"report@20261117T114000Z\"}\n");
    settle(); /* the client reads nothing: the server stops to send */
    check_responsive();
    int events;
    json_t *answer = peer_answer(&peer, &events);
    CHECK_INT(events, LINES);
    CHECK_INT(json_integer_value(json_object_get(answer, "lines")), LINES);
    json_decref(answer);
    CHECK_INT(counts().dropped, 0);
    peer_put(&peer, "{\"request\":\"logs\",\"run\":\"report\",\"tail\":3}\n");
    for (int i = LINES - 3; i < LINES; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "line %d %060d", i, 0);
        json_t *line = peer_line(&peer);
        CHECK(strcmp(text_at(json_object_get(line, "event"), "text"), text) == 0);
        json_decref(line);
    }
    json_decref(peer_answer(&peer, &events));
    CHECK_INT(events, 0);
    check_error(&peer, "{\"request\":\"logs\",\"run\":\"nothing\"}", "there is no job and no run nothing");
    check_error(&peer, "{\"request\":\"logs\",\"run\":\"nightly\"}", "the job nightly has not run yet");
    peer_put(&peer, "{\"request\":\"logs\",\"run\":\"backup\"}\n"); /* from its record */
    json_decref(peer_answer(&peer, &events));
    CHECK_INT(events, 2);
    peer_close(&peer);
    end();
}

TEST_REAL(server_follows_a_log, "")
{
    start(&control_default_limits);
    fake_runner_output(runner, "one");
    struct peer peer = peer_new();
    peer_put(&peer, "{\"request\":\"logs\",\"run\":\"report@\",\"follow\":true}\n");
    json_t *line = peer_line(&peer);
    CHECK(strcmp(text_at(json_object_get(line, "event"), "text"), "one") == 0);
    json_decref(line);
    fake_runner_output(runner, "two");
    fake_runner_end(runner, 1, true);
    fake_runner_output(runner, "three");
    fake_runner_end(runner, 0, false);
    int events;
    json_t *answer = peer_answer(&peer, &events);
    CHECK_INT(events, 4);
    json_decref(answer);
    /* A line that comes before the files are read is sent once, although the files have it as well. */
    peer_put(&peer, "{\"request\":\"logs\",\"run\":\"report@\",\"follow\":true}\n");
    while (runner->followers == NULL)
        (void)fake_loop_turn(runner->loop, -1);
    fake_runner_output(runner, "four");
    settle();
    fake_runner_output(runner, "five");
    fake_runner_end(runner, 0, false);
    static const char *const texts[] = {"one", "two", "three", "four", "five", "succeeded"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        line = peer_line(&peer);
        CHECK(strcmp(text_at(json_object_get(line, "event"), "text"), texts[i]) == 0);
        json_decref(line);
    }
    json_decref(peer_answer(&peer, &events));
    CHECK_INT(events, 0);
    /* The client goes while the files are read. */
    peer_put(&peer, "{\"request\":\"logs\",\"run\":\"report\",\"follow\":true}\n");
    peer_close(&peer);
    settle();
    CHECK(runner->followers == NULL);
    CHECK_INT(counts().clients, 0);
    end();
}

/* ---- clients that go, wait or do harm ---- */

TEST_REAL(server_survives_a_client_that_goes, "")
{
    start(&control_default_limits);
    fake_runner_keep(true);
    for (int i = 0; i < 3; i++) {
        struct peer peer = peer_new();
        peer_put(&peer, i == 0   ? "{\"request\":\"list\"}\n"
                        : i == 1 ? "{\"request\":\"run\",\"job\":\"hello\",\"wait\":true}\n"
                                 : "{\"request\":\"explain\",\"job\":\"backup\"}\n");
        settle();
        peer_close(&peer);
        settle();
        CHECK_INT(counts().clients, 0);
    }
    fake_runner_keep(false);
    fake_runner_answer();
    CHECK(runner->followers == NULL);
    struct peer peer = peer_new(); /* what was sent before the end counts */
    peer_put(&peer, "{\"request\":\"pause\",\"job\":\"backup\"}\n");
    peer_close(&peer);
    settle();
    CHECK(strcmp(fake_runner_last(), "pause backup") == 0);
    peer = peer_new();
    peer_put(&peer, "{\"request\":\"list\"}\n{\"request\":\"status\"}\n");
    (void)shutdown(peer.fd, SHUT_WR); /* it still reads */
    for (int i = 0; i < 2; i++)
        json_decref(peer_answer(&peer, NULL));
    CHECK(peer_line(&peer) == NULL);
    peer_close(&peer);
    check_responsive();
    end();
}

TEST_REAL(server_closes_after_ten_bad_lines, "")
{
    static const char binary[] = "\x00\xff\x80{\"request\":\x01\n";
    start(&control_default_limits);
    struct peer peer = peer_new();
    for (int i = 0; i < 10; i++) {
        if (i % 2 == 0)
            peer_send(&peer, binary, sizeof binary - 1);
        else
            peer_put(&peer, "{\"request\"\n");
        json_t *answer = peer_answer(&peer, NULL);
        CHECK(strstr(text_at(answer, "error"), "the request is not JSON") != NULL);
        json_decref(answer);
    }
    CHECK(peer_line(&peer) == NULL);
    CHECK_INT(counts().bad_lines, 10);
    peer_close(&peer);
    check_responsive();
    end();
}

TEST_REAL(server_reads_byte_by_byte, "")
{
    start(&control_default_limits);
    struct peer peer = peer_new();
    for (const char *c = "{\"request\": \"status\"}\r\n"; *c != '\0'; c++) {
        peer_send(&peer, c, 1);
        settle();
    }
    json_t *answer = peer_answer(&peer, NULL);
    CHECK(json_is_true(json_object_get(answer, "ok")));
    json_decref(answer);
    peer_close(&peer);
    end();
}

TEST_REAL(server_refuses_long_lines, "")
{
    static char line[LONG_LINE];
    memset(line, 'x', sizeof line);
    start(&control_default_limits);
    struct peer peer = peer_new();
    peer_send(&peer, line, sizeof line);
    settle();
    peer_send(&peer, line, sizeof line);
    peer_put(&peer, "\n{\"request\":\"status\"}\n");
    json_t *answer = peer_answer(&peer, NULL);
    CHECK(strcmp(text_at(answer, "error"), "the request is longer than 65536 bytes") == 0);
    json_decref(answer);
    answer = peer_answer(&peer, NULL);
    CHECK(json_is_true(json_object_get(answer, "ok")));
    json_decref(answer);
    /* The longest request is answered. */
    memset(line, ' ', sizeof line);
    static const char request[] = "{\"request\":\"status\"}";
    memcpy(line, request, sizeof request - 1);
    line[65536] = '\n';
    peer_send(&peer, line, 65537);
    answer = peer_answer(&peer, NULL);
    CHECK(json_is_true(json_object_get(answer, "ok")));
    json_decref(answer);
    peer_close(&peer);
    end();
}

TEST_REAL(server_survives_thousands_of_connections, "")
{
    start(&control_default_limits);
    for (int i = 0; i < CONNECTIONS; i++) {
        struct peer peer = peer_new();
        if (i % 3 == 0)
            peer_put(&peer, "{\"requ");
        else if (i % 3 == 1)
            peer_put(&peer, "{\"request\":\"events\",\"output\":true}\n");
        peer_close(&peer);
        (void)fake_loop_turn(runner->loop, 0);
    }
    settle();
    CHECK_INT(counts().accepted, CONNECTIONS);
    CHECK_INT(counts().clients, 0);
    CHECK(runner->followers == NULL);
    check_responsive();
    end();
}

TEST_REAL(server_limits_connections, "")
{
    struct control_limits limits = control_default_limits;
    limits.clients = 20;
    start(&limits);
    struct peer peers[21];
    for (int i = 0; i < 21; i++) {
        peers[i] = peer_new();
        settle();
    }
    json_t *answer = peer_answer(&peers[20], NULL);
    CHECK(strcmp(text_at(answer, "error"), "the runner has 20 connections, which is its limit") == 0);
    json_decref(answer);
    CHECK(peer_line(&peers[20]) == NULL);
    CHECK_INT(counts().refused, 1);
    json_decref(ask(&peers[19], "{\"request\":\"status\"}"));
    for (int i = 0; i < 21; i++)
        peer_close(&peers[i]);
    settle();
    check_responsive();
    end();
}

TEST_REAL(server_drops_a_client_that_does_not_read, "")
{
    start(&control_default_limits);
    struct peer lazy = peer_new();
    struct peer reader = peer_new();
    peer_put(&lazy, "{\"request\":\"events\",\"output\":true}\n");
    peer_put(&reader, "{\"request\":\"events\",\"output\":true}\n");
    settle();
    static char text[1000];
    memset(text, 'x', sizeof text - 1);
    int received = 0;
    for (int i = 0; i < 3000; i++) {
        fake_runner_output(runner, text);
        if (i % 100 == 99) {
            settle();
            peer_receive(&reader);
        }
    }
    fake_runner_end(runner, 0, false);
    CHECK_INT(counts().dropped, 1);
    settle();
    CHECK_INT(counts().clients, 1);
    CHECK(runner->followers != NULL);
    for (const char *kind = ""; strcmp(kind, "end") != 0; received++) {
        json_t *line = peer_line(&reader);
        kind = strcmp(text_at(json_object_get(line, "event"), "kind"), "end") == 0 ? "end" : "";
        json_decref(line);
        if (line == NULL)
            break;
    }
    CHECK_INT(received, 3002); /* connected, 3000 lines, the end */
    check_responsive();
    peer_close(&lazy);
    peer_close(&reader);
    end();
}

/* Waits until the server has closed a connection. */
static void await_close(struct peer *peer)
{
    while (!peer->at_end) {
        (void)fake_loop_turn(runner->loop, 1000);
        peer_receive(peer);
    }
}

TEST_REAL(server_closes_idle_connections, "")
{
    struct control_limits limits = control_default_limits;
    limits.idle = HORA_MS(200);
    limits.partial = HORA_MS(100);
    limits.unread = HORA_MS(150);
    start(&limits);
    struct peer stream = peer_new();
    peer_put(&stream, "{\"request\":\"events\"}\n");
    struct peer idle = peer_new();
    struct peer partial = peer_new();
    peer_put(&partial, "{\"request\":");
    await_close(&partial);
    await_close(&idle);
    CHECK_INT(counts().expired, 2);
    CHECK_INT(counts().clients, 1); /* a stream without events is not idle */
    for (int i = 0; i < LINES; i++)
        fake_runner_output(runner, "a line of a log that is larger than what a socket holds");
    struct peer unread = peer_new();
    peer_put(&unread, "{\"request\":\"logs\",\"run\":\"report\"}\n");
    while (counts().dropped == 0)
        (void)fake_loop_turn(runner->loop, 1000);
    CHECK_INT(counts().clients, 1);
    peer_close(&stream);
    peer_close(&idle);
    peer_close(&partial);
    peer_close(&unread);
    end();
}

TEST_REAL(server_survives_a_lack_of_descriptors, "")
{
    start(&control_default_limits);
    struct rlimit before;
    (void)getrlimit(RLIMIT_NOFILE, &before);
    struct peer first = peer_new();
    settle();
    struct peer second = peer_new(); /* it is connected, and not yet accepted */
    int next = dup(first.fd);
    (void)close(next);
    struct rlimit low = {(rlim_t)next, before.rlim_max};
    (void)setrlimit(RLIMIT_NOFILE, &low);
    json_t *answer = peer_answer(&second, NULL);
    CHECK(strcmp(text_at(answer, "error"), "the runner has no descriptor left for a connection") == 0);
    json_decref(answer);
    json_decref(ask(&first, "{\"request\":\"status\"}"));
    (void)setrlimit(RLIMIT_NOFILE, &before);
    peer_close(&first);
    peer_close(&second);
    check_responsive();
    end();
}

/* A child process that runs as another user, asks and checks the answer. Its exit status is 0 if the answer
 * is "permission denied". */
static void ask_as_other_user(void)
{
    char answer[512] = "";
    if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
        _exit(2);
    int fd = control_connect(path);
    if (fd < 0)
        _exit(3);
    static const char request[] = "{\"request\":\"stop\"}\n";
    (void)!send(fd, request, sizeof request - 1, MSG_NOSIGNAL);
    (void)!recv(fd, answer, sizeof answer - 1, MSG_WAITALL);
    _exit(strstr(answer, "permission denied: the runner belongs to uid 0, and uid 65534 asks") != NULL ? 0
                                                                                                       : 1);
}

TEST_REAL(server_denies_other_users, "")
{
    start(&control_default_limits);
    struct stat status;
    char run[80];
    (void)snprintf(run, sizeof run, "%s/run", folder);
    CHECK(stat(path, &status) == 0 && (status.st_mode & 0777) == 0600);
    CHECK(stat(run, &status) == 0 && (status.st_mode & 0777) == 0700);
    if (geteuid() == 0) { /* only root can become another user */
        CHECK(chmod(folder, 0755) == 0 && chmod(run, 0755) == 0 && chmod(path, 0666) == 0);
        pid_t child = fork();
        if (child == 0)
            ask_as_other_user();
        int end_of_child = -1;
        while (waitpid(child, &end_of_child, WNOHANG) == 0)
            (void)fake_loop_turn(runner->loop, 20);
        CHECK_INT(end_of_child, 0);
        CHECK_INT(counts().denied, 1);
        CHECK(fake_runner_last()[0] == '\0');
    }
    end();
}

/* ---- the socket as a file ---- */

/* Checks that listening fails for a reason. */
static void check_cannot_listen(const char *where, const char *expected)
{
    struct control_listener listener;
    char reason[SOCKET_REASON] = "";
    int result = control_listen(where, &listener, reason);
    if (result == 0 || strstr(reason, expected) == NULL)
        test_fail(__FILE__, __LINE__, "%d, \"%s\", expected \"%s\"", result, reason, expected);
}

TEST_REAL(socket_has_one_owner, "")
{
    char text[160];
    char reason[SOCKET_REASON];
    struct control_listener listener;
    start(&control_default_limits);
    (void)snprintf(text, sizeof text, "another runner (pid %ld) uses the socket %s", (long)getpid(), path);
    check_cannot_listen(path, text);
    check_responsive();
    /* Without the lock file, the one that listens is still found. */
    (void)snprintf(text, sizeof text, "%s.lock", path);
    CHECK_INT(unlink(text), 0);
    (void)snprintf(text, sizeof text, "another process (pid %ld) uses the socket", (long)getpid());
    check_cannot_listen(path, text);
    check_responsive();
    /* A socket that a killed runner has left. */
    (void)snprintf(text, sizeof text, "%s/old.sock", folder);
    CHECK_INT(control_listen(text, &listener, reason), 0);
    (void)close(listener.fd);
    (void)close(listener.lock);
    free(listener.path);
    free(listener.lock_path);
    CHECK_INT(control_listen(text, &listener, reason), 0);
    control_listener_close(&listener);
    CHECK(access(text, F_OK) < 0);
    /* A file that is not a socket stays. */
    int fd = open(text, O_CREAT | O_WRONLY, 0600);
    (void)close(fd);
    check_cannot_listen(text, "exists and is not a socket");
    CHECK_INT(unlink(text), 0);
    memset(text, 'x', sizeof text - 1);
    text[0] = '/';
    text[sizeof text - 1] = '\0';
    check_cannot_listen(text, "the path of the socket must have 1 to 107 bytes");
    CHECK_INT(control_connect(text), -ENAMETOOLONG);
    end();
}
