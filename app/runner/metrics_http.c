/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_http.c - a port at which Prometheus asks for the metrics
 *
 * GET /metrics answers with the text of metrics.c, GET /healthz with 200 if the runner can do its work and with
 * 503 and the reason if not. There is nothing else, and nothing that changes anything.
 *
 * libmicrohttpd runs in the loop's thread. It has its own epoll descriptor, which the loop watches, and asks to
 * be called again after a time, for which there is a timer. The number of connections, the memory of each and
 * its time are limited. */
#include "runner/metrics_http.h"

#ifdef HORA_WITH_MICROHTTPD

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <microhttpd.h>

#include "command.h"

enum { CONNECTIONS = 32, CONNECTION_MEMORY = 16 * 1024, CONNECTION_SECONDS = 10, ADDRESS_TEXT = 300 };

struct metrics_http {
    struct runner *runner;
    struct MHD_Daemon *daemon;
    struct loop_fd watch;
    struct loop_timer timer;
};

/* ---- answers ---- */

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned int status, const char *type,
                              struct MHD_Response *response)
{
    if (response == NULL)
        return MHD_NO; /* closes the connection */
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    /* The next request comes later than a connection may be idle. */
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

/* `text` is a literal. */
static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned int status, char *text)
{
    return answer(connection, status, "text/plain; charset=utf-8",
                  MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result answer_metrics(struct MHD_Connection *connection, const struct runner *runner)
{
    char *text = metrics_text(runner);
    if (text == NULL)
        return answer_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    if (response == NULL)
        free(text);
    return answer(connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", response);
}

static enum MHD_Result answer_health(struct MHD_Connection *connection, const struct runner *runner)
{
    if (runner->stopping)
        return answer_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "the runner is about to end\n");
    if (!runner->store_is_connected)
        return answer_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "the store is not connected\n");
    return answer_text(connection, MHD_HTTP_OK, "ok\n");
}

/* Called first when the head of a request is there, then for each part of its body, which is ignored, and at
 * last without one. */
static enum MHD_Result request(void *arg, struct MHD_Connection *connection, const char *path,
                               const char *method, const char *version, const char *body, size_t *body_size,
                               void **state)
{
    static char seen; /* only its address matters */
    (void)version, (void)body;
    const struct metrics_http *http = arg;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET is allowed\n");
    if (*state == NULL || *body_size > 0) {
        *state = &seen;
        *body_size = 0;
        return MHD_YES;
    }
    if (strcmp(path, "/metrics") == 0)
        return answer_metrics(connection, http->runner);
    if (strcmp(path, "/healthz") == 0)
        return answer_health(connection, http->runner);
    return answer_text(connection, MHD_HTTP_NOT_FOUND, "there are /metrics and /healthz\n");
}

/* ---- the loop ---- */

static void run_daemon(struct metrics_http *http)
{
    (void)MHD_run(http->daemon);
    MHD_UNSIGNED_LONG_LONG milliseconds;
    if (MHD_get_timeout(http->daemon, &milliseconds) == MHD_YES)
        loop_timer_start(&http->timer, HORA_MS((hora_ns)(milliseconds < 1000000 ? milliseconds : 1000000)));
    else
        loop_timer_cancel(&http->timer);
}

static void daemon_ready(int fd, uint32_t events, void *arg)
{
    (void)fd, (void)events;
    run_daemon(arg);
}

static void daemon_due(void *arg)
{
    run_daemon(arg);
}

/* ---- listening ---- */

/* Divides "host:port" or "[host]:port". Returns false if it is neither. */
static bool divide(const char *address, char host[ADDRESS_TEXT], const char **ret_port)
{
    const char *colon = strrchr(address, ':');
    if (colon == NULL || colon[1] == '\0' || strspn(colon + 1, "0123456789") != strlen(colon + 1))
        return false;
    size_t length = (size_t)(colon - address);
    if (address[0] == '[') {
        if (length < 3 || address[length - 1] != ']')
            return false;
        address++;
        length -= 2;
    } else if (memchr(address, ':', length) != NULL) {
        return false;
    }
    if (length == 0 || length >= ADDRESS_TEXT)
        return false;
    memcpy(host, address, length);
    host[length] = '\0';
    *ret_port = colon + 1;
    return true;
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, address, sizeof in);
        return ntohl(in.sin_addr.s_addr) >> 24 == 127;
    }
    struct sockaddr_in6 in6;
    memcpy(&in6, address, sizeof in6);
    return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
}

/* Returns a socket that listens, or -1 with errno. */
static int listen_at(const struct addrinfo *info)
{
    int fd = socket(info->ai_family, info->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, info->ai_protocol);
    if (fd < 0)
        return -1;
    int yes = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (info->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, CONNECTIONS) == 0)
        return fd;
    int error = errno;
    (void)close(fd);
    errno = error;
    return -1;
}

/* Reports where the port really is; it may have been given as 0. */
static void report_port(struct runner *runner, int fd)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (getsockname(fd, (struct sockaddr *)&address, &size) < 0 ||
        getnameinfo((struct sockaddr *)&address, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return;
    bool is_ipv6 = strchr(host, ':') != NULL;
    event_report(runner, EVENT_INFO, "metrics", NULL, NULL, "metrics are at http://%s%s%s:%s/metrics",
                 is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", port);
}

/* Returns a socket that listens at an address, or -1 after reporting an error. */
static int open_port(struct runner *runner, const char *address)
{
    char host[ADDRESS_TEXT];
    const char *port;
    struct addrinfo *info = NULL;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    if (!divide(address, host, &port)) {
        event_report(runner, EVENT_ERROR, "error", NULL, NULL,
                     "metrics_listen: \"%s\" is no address such as 127.0.0.1:9464 or [::1]:9464", address);
        return -1;
    }
    int error = getaddrinfo(host, port, &hints, &info);
    if (error != 0) {
        event_report(runner, EVENT_ERROR, "error", NULL, NULL, "metrics_listen: %s: %s", address,
                     error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
        return -1;
    }
    int fd = listen_at(info);
    if (fd < 0)
        event_report(runner, EVENT_ERROR, "error", NULL, NULL, "metrics_listen: cannot listen at %s: %s",
                     address, strerror(errno));
    else if (!is_loopback(info->ai_addr))
        event_report(runner, EVENT_WARNING, "warn", NULL, NULL,
                     "metrics_listen: %s can be reached from other machines, without a password", address);
    freeaddrinfo(info);
    return fd;
}

struct metrics_http *metrics_http_new(struct runner *runner, const char *address)
{
    int fd = open_port(runner, address);
    if (fd < 0)
        return NULL;
    struct metrics_http *http = memory(sizeof *http);
    *http = (struct metrics_http){.runner = runner, .watch.fd = -1};
    loop_timer_init(&http->timer, runner->loop, daemon_due, http);
    http->daemon =
        MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, request, http, MHD_OPTION_LISTEN_SOCKET, fd,
                         MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CONNECTIONS,
                         MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
                         MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)CONNECTION_SECONDS, MHD_OPTION_END);
    const union MHD_DaemonInfo *info =
        http->daemon == NULL ? NULL : MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (info == NULL ||
        loop_watch(runner->loop, &http->watch, info->epoll_fd, EPOLLIN, daemon_ready, http) < 0) {
        event_report(runner, EVENT_ERROR, "error", NULL, NULL,
                     "metrics_listen: the server at %s cannot be started", address);
        if (http->daemon == NULL)
            (void)close(fd);
        metrics_http_free(http);
        return NULL;
    }
    report_port(runner, fd);
    return http;
}

void metrics_http_free(struct metrics_http *http)
{
    if (http == NULL)
        return;
    loop_unwatch(&http->watch);
    loop_timer_cancel(&http->timer);
    loop_timer_free(&http->timer);
    if (http->daemon != NULL)
        MHD_stop_daemon(http->daemon); /* also closes the socket */
    free(http);
}

#else

struct metrics_http *metrics_http_new(struct runner *runner, const char *address)
{
    event_report(runner, EVENT_ERROR, "error", NULL, NULL,
                 "metrics_listen: %s: this command was built without libmicrohttpd", address);
    return NULL;
}

void metrics_http_free(struct metrics_http *http)
{
    (void)http;
}

#endif
