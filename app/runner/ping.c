/* SPDX-License-Identifier: Apache-2.0 */
/* ping.c - tell a monitoring service that a run has started and how it ended
 *
 * The services of the kind of Healthchecks want a request for each: ADDRESS/start before, and ADDRESS/STATUS
 * afterwards, with the end of the output as the body. `rid` in the query tells them which two belong together.
 *
 * libcurl's multi interface does the work in the loop's thread: it tells which sockets to watch and when to
 * call it again. That time is real time even if the clock of the runner is virtual, so a timerfd waits for it
 * and not a timer of the loop. Pauses between attempts are time of the loop.
 *
 * A ping never delays a run: pinger_send only puts it into the list. At most SENDING_MAX pings are sent at a
 * time. At most WAITING_MAX wait for that or for another attempt; if there are more, the oldest is dropped.
 * An address may contain a password, and its path is a secret, so events name the job, the scheme and the host
 * only. If an address fails, the first ping that was lost is reported, and later how many were.
 *
 * The runner must ignore SIGPIPE.
 *
 * INVARIANTS
 *
 *   P1  A ping is sent only after the earlier ones of its run have been delivered or given up, so that the
 *       service does not take the run that has ended for one that has just started.
 *   P2  Functions of libcurl that add or remove a transfer are not called inside of its callbacks. */
#include "runner/runner.h"

#include <stdio.h>

#ifdef HORA_WITH_CURL

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <curl/curl.h>

#include <hora/version.h>

#include "command.h"
#include "text.h"

enum {
    BODY_MAX = 10 * 1024,
    ANSWER_MAX = 64 * 1024, /* of an answer; the rest is not read */
    SENDING_MAX = 100,
    WAITING_MAX = 1000,
    FAILING_MAX = 1000, /* addresses that are remembered */
    CONNECT_MS = 5000,
    TOTAL_MS = 10000,
    REDIRECTS = 3,
    ATTEMPTS = 4,
    PLACE_TEXT = 300,
    UUID_TEXT = 37,
};

static const hora_ns pauses[ATTEMPTS - 1] = {HORA_SECONDS(1), HORA_SECONDS(4), HORA_SECONDS(16)};

struct ping {
    struct ping *next, **link;   /* list of pinger.pings */
    struct ping *before, *after; /* of the same run: P1 */
    char *address;               /* of the job */
    char *rid;
    char *job;   /* its name, for events; NULL: not known */
    char *place; /* scheme and host of the address, for events */
    char *url;
    char *body;
    size_t body_size;
    int attempts; /* that have failed */
    hora_ns due;  /* of the next attempt */
    CURL *easy;   /* NULL: it waits */
    size_t received;
    char error[CURL_ERROR_SIZE];
};

/* A socket of libcurl that the loop watches. */
struct socket_watch {
    struct loop_fd watch;
    struct socket_watch *next; /* list of pinger.unused */
};

/* An address whose latest ping was lost. */
struct failing {
    struct failing *next;
    char *address;
    int64_t lost;
};

struct pinger {
    struct runner *runner;
    CURLM *multi; /* NULL: nothing has been sent so far */
    struct curl_slist *headers;
    int timer_fd;
    struct loop_fd timer_watch;
    struct loop_timer retry_timer;
    struct ping *pings, **end; /* in the order of the calls */
    int sending, waiting;
    struct socket_watch *unused;
    struct failing *failing;
    int failing_count;
    bool is_ending;           /* no pauses any more */
    int64_t reported_dropped; /* -1: dropping has not been reported, or is over */
    struct ping_counts counts;
};

/* ---- addresses ---- */

static char *copy_bytes(const char *bytes, size_t size)
{
    char *copy = memory(size + 1);
    if (size > 0)
        memcpy(copy, bytes, size);
    copy[size] = '\0';
    return copy;
}

/* Returns the parts of an address, which curl_url_cleanup frees; NULL with a text if it is not one. */
static CURLU *parse(const char *address, const char **reterr_reason)
{
    *reterr_reason = "this is no address of the kind http://... or https://...";
    CURLU *parts = curl_url();
    char *scheme = NULL;
    bool is_good = parts != NULL && curl_url_set(parts, CURLUPART_URL, address, 0) == CURLUE_OK &&
                   curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                   (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
    curl_free(scheme);
    if (is_good)
        return parts;
    curl_url_cleanup(parts);
    return NULL;
}

/* Writes "https://host:port". */
static void describe(CURLU *parts, char text[PLACE_TEXT])
{
    char *scheme = NULL, *host = NULL, *port = NULL;
    (void)curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0);
    (void)curl_url_get(parts, CURLUPART_HOST, &host, 0);
    (void)curl_url_get(parts, CURLUPART_PORT, &port, 0);
    (void)snprintf(text, PLACE_TEXT, "%s://%s%s%s", scheme != NULL ? scheme : "", host != NULL ? host : "",
                   port != NULL ? ":" : "", port != NULL ? port : "");
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
}

static uint64_t hash(const char *text, uint64_t start)
{
    for (; *text != '\0'; text++)
        start = (start ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    start = (start ^ start >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    start = (start ^ start >> 27) * UINT64_C(0x94d049bb133111eb);
    return start ^ start >> 31;
}

/* Writes the UUID of a run, of version 8: its bits are ours. */
static void uuid_of(const char *rid, char uuid[UUID_TEXT])
{
    uint64_t high = hash(rid, UINT64_C(0xcbf29ce484222325)), low = hash(rid, UINT64_C(0x9ae16a3b2f90404f));
    high = (high & ~UINT64_C(0xf000)) | 0x8000;
    low = (low & ~(UINT64_C(3) << 62)) | UINT64_C(2) << 62;
    (void)snprintf(uuid, UUID_TEXT, "%08llx-%04llx-%04llx-%04llx-%012llx", (unsigned long long)(high >> 32),
                   (unsigned long long)(high >> 16 & 0xffff), (unsigned long long)(high & 0xffff),
                   (unsigned long long)(low >> 48), (unsigned long long)(low & 0xffffffffffff));
}

/* Returns the address with the path and the rid added: what stands before a query of the address, and after
 * it. The caller frees it. NULL: there is no memory. */
static char *make_url(CURLU *parts, const char *path, const char *rid)
{
    char uuid[UUID_TEXT], query[UUID_TEXT + 4], *old = NULL, *url = NULL, *copy = NULL;
    if (curl_url_get(parts, CURLUPART_PATH, &old, 0) != CURLUE_OK)
        return NULL;
    size_t length = strlen(old), size = length + strlen(path) + 1;
    while (length > 0 && old[length - 1] == '/')
        length--;
    char *whole = memory(size);
    (void)snprintf(whole, size, "%.*s%s", (int)length, old, path);
    uuid_of(rid, uuid);
    (void)snprintf(query, sizeof query, "rid=%s", uuid);
    if (curl_url_set(parts, CURLUPART_PATH, whole, 0) == CURLUE_OK &&
        curl_url_set(parts, CURLUPART_QUERY, query, CURLU_APPENDQUERY) == CURLUE_OK &&
        curl_url_set(parts, CURLUPART_FRAGMENT, NULL, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_URL, &url, 0) == CURLUE_OK)
        copy = text_copy(url);
    free(whole);
    curl_free(old);
    curl_free(url);
    return copy;
}

bool pinger_accepts(const struct jobs *jobs, char *reason, size_t reason_size)
{
    for (size_t i = 0; i < jobs->count; i++) {
        const struct job *job = jobs->jobs[i];
        const char *why;
        CURLU *parts = job->ping == NULL ? NULL : parse(job->ping, &why);
        if (job->ping != NULL && parts == NULL) {
            (void)snprintf(reason, reason_size, "job %s: ping: %s", job->name, why);
            return false;
        }
        curl_url_cleanup(parts);
    }
    return true;
}

/* ---- the list ---- */

static void ping_free(struct ping *ping)
{
    free(ping->address);
    free(ping->rid);
    free(ping->job);
    free(ping->place);
    free(ping->url);
    free(ping->body);
    free(ping);
}

/* Takes a ping that waits out of the list and frees it. */
static void remove_ping(struct pinger *pinger, struct ping *ping)
{
    assert(ping->easy == NULL);
    *ping->link = ping->next;
    if (ping->next != NULL)
        ping->next->link = ping->link;
    else
        pinger->end = ping->link;
    if (ping->before != NULL)
        ping->before->after = ping->after;
    if (ping->after != NULL)
        ping->after->before = ping->before;
    pinger->waiting--;
    ping_free(ping);
}

static void append_ping(struct pinger *pinger, struct ping *ping)
{
    for (struct ping *other = pinger->pings; other != NULL; other = other->next)
        if (strcmp(other->rid, ping->rid) == 0 && strcmp(other->address, ping->address) == 0)
            ping->before = other; /* the last one */
    if (ping->before != NULL)
        ping->before->after = ping;
    ping->link = pinger->end;
    *pinger->end = ping;
    pinger->end = &ping->next;
    pinger->waiting++;
}

static void drop_oldest(struct pinger *pinger)
{
    struct ping *oldest = pinger->pings;
    while (oldest->easy != NULL)
        oldest = oldest->next;
    remove_ping(pinger, oldest);
    if (pinger->reported_dropped < 0) {
        pinger->reported_dropped = pinger->counts.dropped;
        event_report(pinger->runner, EVENT_WARNING, "ping", NULL, NULL,
                     "more than %d pings wait to be sent; the oldest ones are dropped", WAITING_MAX);
    }
    pinger->counts.dropped++;
}

/* Says how many were dropped, when there is room again. */
static void report_dropped(struct pinger *pinger)
{
    if (pinger->reported_dropped < 0 || pinger->waiting > WAITING_MAX / 2)
        return;
    event_report(pinger->runner, EVENT_WARNING, "ping", NULL, NULL, "%lld pings were dropped",
                 (long long)(pinger->counts.dropped - pinger->reported_dropped));
    pinger->reported_dropped = -1;
}

/* ---- what became of a ping ---- */

static struct failing **find_failing(struct pinger *pinger, const char *address)
{
    struct failing **link = &pinger->failing;
    while (*link != NULL && strcmp((*link)->address, address) != 0)
        link = &(*link)->next;
    return link;
}

static void forget_failing(struct pinger *pinger, struct failing **link)
{
    struct failing *failing = *link;
    *link = failing->next;
    free(failing->address);
    free(failing);
    pinger->failing_count--;
}

static void ping_lost(struct pinger *pinger, struct ping *ping, const char *why)
{
    pinger->counts.failed++;
    struct failing **link = find_failing(pinger, ping->address);
    if (*link != NULL) {
        (*link)->lost++;
        return;
    }
    if (pinger->failing_count < FAILING_MAX) {
        struct failing *failing = memory(sizeof *failing);
        *failing = (struct failing){.address = text_copy(ping->address), .lost = 1};
        *link = failing;
        pinger->failing_count++;
    }
    event_report(pinger->runner, EVENT_WARNING, "ping", ping->job, NULL, "ping to %s failed: %s", ping->place,
                 why);
}

static void ping_delivered(struct pinger *pinger, struct ping *ping)
{
    pinger->counts.delivered++;
    struct failing **link = find_failing(pinger, ping->address);
    if (*link == NULL)
        return;
    event_report(pinger->runner, EVENT_INFO, "ping", ping->job, NULL,
                 "ping to %s works again; pings that were lost: %lld", ping->place, (long long)(*link)->lost);
    forget_failing(pinger, link);
}

/* Returns true if another attempt could succeed. */
static bool is_worth_another(CURLcode code, long status)
{
    if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_TOO_MANY_REDIRECTS || code == CURLE_URL_MALFORMAT)
        return false;
    return code != CURLE_OK || status >= 500 || status == 408 || status == 429;
}

/* A transfer has ended: takes the ping out, or lets it wait for its next attempt. */
static void attempt_ended(struct pinger *pinger, struct ping *ping, CURLcode code)
{
    long status = 0;
    (void)curl_easy_getinfo(ping->easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_multi_remove_handle(pinger->multi, ping->easy);
    curl_easy_cleanup(ping->easy);
    ping->easy = NULL;
    pinger->sending--;
    pinger->waiting++;
    if (code == CURLE_WRITE_ERROR && ping->received > ANSWER_MAX)
        code = CURLE_OK; /* we have stopped it */
    if (code == CURLE_OK && status >= 200 && status < 300) {
        ping_delivered(pinger, ping);
        remove_ping(pinger, ping);
        return;
    }
    ping->attempts++;
    if (ping->attempts < ATTEMPTS && is_worth_another(code, status)) {
        ping->due = loop_now(pinger->runner->loop) + pauses[ping->attempts - 1];
        return;
    }
    char text[50];
    (void)snprintf(text, sizeof text, "HTTP status %ld", status);
    ping_lost(pinger, ping,
              code == CURLE_OK         ? text
              : ping->error[0] != '\0' ? ping->error
                                       : curl_easy_strerror(code));
    remove_ping(pinger, ping);
}

/* ---- sending ---- */

/* Receives a part of an answer, which no one reads. */
static size_t received(char *bytes, size_t one, size_t size, void *arg)
{
    (void)bytes;
    struct ping *ping = arg;
    ping->received += one * size;
    return ping->received > ANSWER_MAX ? 0 : one * size;
}

/* Where a ping may go: only to HTTP, and from a safe connection only to another safe one. */
static void set_protocols(const struct ping *ping)
{
    bool is_safe = strncmp(ping->url, "https:", 6) == 0;
#if LIBCURL_VERSION_NUM >= 0x075500
    (void)curl_easy_setopt(ping->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(ping->easy, CURLOPT_REDIR_PROTOCOLS_STR, is_safe ? "https" : "http,https");
#else
    long safe = CURLPROTO_HTTPS, any = safe | CURLPROTO_HTTP;
    (void)curl_easy_setopt(ping->easy, CURLOPT_PROTOCOLS, any);
    (void)curl_easy_setopt(ping->easy, CURLOPT_REDIR_PROTOCOLS, is_safe ? safe : any);
#endif
    (void)curl_easy_setopt(ping->easy, CURLOPT_FOLLOWLOCATION, 1L);
    (void)curl_easy_setopt(ping->easy, CURLOPT_MAXREDIRS, (long)REDIRECTS);
    (void)curl_easy_setopt(ping->easy, CURLOPT_POSTREDIR, (long)CURL_REDIR_POST_ALL);
}

/* Starts an attempt. One that cannot be started counts as a failed one. */
static void start(struct pinger *pinger, struct ping *ping)
{
    if (ping->attempts > 0)
        pinger->counts.retried++;
    ping->received = 0;
    ping->error[0] = '\0';
    ping->easy = curl_easy_init();
    if (ping->easy == NULL) {
        complain("out of memory");
        exit(STATUS_TROUBLE);
    }
    set_protocols(ping);
    (void)curl_easy_setopt(ping->easy, CURLOPT_URL, ping->url);
    (void)curl_easy_setopt(ping->easy, CURLOPT_POST, 1L);
    (void)curl_easy_setopt(ping->easy, CURLOPT_POSTFIELDSIZE, (long)ping->body_size);
    (void)curl_easy_setopt(ping->easy, CURLOPT_POSTFIELDS, ping->body);
    (void)curl_easy_setopt(ping->easy, CURLOPT_HTTPHEADER, pinger->headers);
    (void)curl_easy_setopt(ping->easy, CURLOPT_USERAGENT, "hora/" HORA_VERSION_STRING);
    (void)curl_easy_setopt(ping->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    (void)curl_easy_setopt(ping->easy, CURLOPT_TIMEOUT_MS, (long)TOTAL_MS);
    (void)curl_easy_setopt(ping->easy, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
    /* Without it, the end of an attempt waits for the thread that asks the name server. */
    (void)curl_easy_setopt(ping->easy, CURLOPT_QUICK_EXIT, 1L);
#endif
    (void)curl_easy_setopt(ping->easy, CURLOPT_WRITEFUNCTION, received);
    (void)curl_easy_setopt(ping->easy, CURLOPT_WRITEDATA, ping);
    (void)curl_easy_setopt(ping->easy, CURLOPT_ERRORBUFFER, ping->error);
    (void)curl_easy_setopt(ping->easy, CURLOPT_PRIVATE, ping);
    pinger->sending++;
    pinger->waiting--;
    if (curl_multi_add_handle(pinger->multi, ping->easy) != CURLM_OK)
        attempt_ended(pinger, ping, CURLE_OUT_OF_MEMORY);
}

/* Starts the pings whose time has come, as far as there is room, and the timer for the others. */
static void start_due(struct pinger *pinger)
{
    hora_ns now = loop_now(pinger->runner->loop), first = HORA_FOREVER;
    struct ping *next;
    for (struct ping *ping = pinger->pings; ping != NULL && pinger->sending < SENDING_MAX; ping = next) {
        next = ping->next;
        if (ping->easy != NULL || ping->before != NULL) /* P1 */
            continue;
        if (ping->due <= now || pinger->is_ending)
            start(pinger, ping);
        else if (ping->due < first)
            first = ping->due;
    }
    if (first < HORA_FOREVER)
        loop_timer_start(&pinger->retry_timer, first - now);
    report_dropped(pinger);
}

static void retry_due(void *arg)
{
    start_due(arg);
}

/* ---- libcurl and the loop ---- */

static void handle_ended(struct pinger *pinger)
{
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(pinger->multi, &left)) != NULL;) {
        CURLcode code = message->data.result; /* the message is gone when the transfer is removed */
        char *ping = NULL;
        if (message->msg == CURLMSG_DONE &&
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &ping) == CURLE_OK)
            attempt_ended(pinger, (struct ping *)(void *)ping, code);
    }
    start_due(pinger);
}

static void socket_ready(int fd, uint32_t events, void *arg)
{
    struct pinger *pinger = arg;
    int what = ((events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
               ((events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
               ((events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
    int running;
    (void)curl_multi_socket_action(pinger->multi, fd, what, &running);
    handle_ended(pinger);
}

static void timer_ready(int fd, uint32_t events, void *arg)
{
    (void)events;
    struct pinger *pinger = arg;
    uint64_t times;
    if (read(fd, &times, sizeof times) < 0)
        return; /* it was set anew meanwhile */
    int running;
    (void)curl_multi_socket_action(pinger->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    handle_ended(pinger);
}

/* libcurl wants to be called after some time; -1: not. */
static int set_timer(CURLM *multi, long milliseconds, void *arg)
{
    (void)multi;
    const struct pinger *pinger = arg;
    struct itimerspec time = {0};
    if (milliseconds > 0) {
        time.it_value.tv_sec = milliseconds / 1000;
        time.it_value.tv_nsec = milliseconds % 1000 * 1000000;
    } else if (milliseconds == 0) {
        time.it_value.tv_nsec = 1; /* at once; zero would mean never */
    }
    return timerfd_settime(pinger->timer_fd, 0, &time, NULL) == 0 ? 0 : -1;
}

/* libcurl wants a socket to be watched for `what`, or not any more. A socket that cannot be watched is a
 * transfer that times out. */
static int set_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    (void)easy;
    struct pinger *pinger = arg;
    struct socket_watch *watch = socket_arg;
    if (what == CURL_POLL_REMOVE) {
        if (watch != NULL) {
            loop_unwatch(&watch->watch);
            watch->next = pinger->unused;
            pinger->unused = watch;
            (void)curl_multi_assign(pinger->multi, fd, NULL);
        }
        return 0;
    }
    uint32_t events = ((what & CURL_POLL_IN) != 0 ? (uint32_t)EPOLLIN : 0) |
                      ((what & CURL_POLL_OUT) != 0 ? (uint32_t)EPOLLOUT : 0);
    if (watch != NULL) {
        loop_change(&watch->watch, events);
        return 0;
    }
    watch = pinger->unused;
    if (watch != NULL)
        pinger->unused = watch->next;
    else
        watch = memory(sizeof *watch);
    if (loop_watch(pinger->runner->loop, &watch->watch, fd, events, socket_ready, pinger) == 0) {
        (void)curl_multi_assign(pinger->multi, fd, watch);
    } else {
        watch->next = pinger->unused;
        pinger->unused = watch;
    }
    return 0;
}

/* Prepares libcurl for the first ping. Returns false after reporting an error. */
static bool prepare(struct pinger *pinger)
{
    if (pinger->multi != NULL)
        return true;
    struct curl_slist *headers = NULL;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) {
        headers = curl_slist_append(NULL, "Content-Type: text/plain; charset=utf-8");
        /* Otherwise a longer body waits until the server asks for it. */
        if (headers == NULL || curl_slist_append(headers, "Expect:") == NULL) {
            curl_slist_free_all(headers);
            headers = NULL;
        }
        pinger->multi = headers == NULL ? NULL : curl_multi_init();
    }
    if (pinger->multi != NULL)
        pinger->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (pinger->timer_fd < 0 || loop_watch(pinger->runner->loop, &pinger->timer_watch, pinger->timer_fd,
                                           EPOLLIN, timer_ready, pinger) < 0) {
        event_report(pinger->runner, EVENT_ERROR, "ping", NULL, NULL,
                     "pings cannot be sent: no memory or "
                     "no descriptors are left");
        curl_slist_free_all(headers);
        (void)curl_multi_cleanup(pinger->multi);
        if (pinger->timer_fd >= 0)
            (void)close(pinger->timer_fd);
        pinger->multi = NULL;
        pinger->timer_fd = -1;
        return false;
    }
    pinger->headers = headers;
    (void)curl_multi_setopt(pinger->multi, CURLMOPT_SOCKETFUNCTION, set_socket);
    (void)curl_multi_setopt(pinger->multi, CURLMOPT_SOCKETDATA, pinger);
    (void)curl_multi_setopt(pinger->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    (void)curl_multi_setopt(pinger->multi, CURLMOPT_TIMERDATA, pinger);
    (void)curl_multi_setopt(pinger->multi, CURLMOPT_MAXCONNECTS, 10L); /* that are kept open */
    return true;
}

/* ---- the interface ---- */

struct pinger *pinger_new(struct runner *runner)
{
    struct pinger *pinger = memory(sizeof *pinger);
    *pinger = (struct pinger){.runner = runner, .timer_fd = -1, .timer_watch.fd = -1, .reported_dropped = -1};
    pinger->end = &pinger->pings;
    loop_timer_init(&pinger->retry_timer, runner->loop, retry_due, pinger);
    return pinger;
}

/* The name of the job that has this very address; NULL: it has been removed meanwhile. */
static char *job_with(const struct runner *runner, const char *address)
{
    for (size_t i = 0; i < runner->job_count; i++)
        if (runner->jobs[i]->job->ping == address)
            return text_copy(runner->jobs[i]->name);
    return NULL;
}

void pinger_send(struct pinger *pinger, const char *address, const char *path, const char *rid,
                 const char *body, size_t body_size)
{
    const char *why;
    char place[PLACE_TEXT];
    CURLU *parts = parse(address, &why);
    char *url = parts == NULL ? NULL : make_url(parts, path, rid);
    if (parts != NULL)
        describe(parts, place);
    curl_url_cleanup(parts);
    if (url == NULL || !prepare(pinger)) {
        if (url == NULL) /* pinger_accepts was not asked */
            event_report(pinger->runner, EVENT_ERROR, "ping", NULL, NULL, "ping: %s", why);
        pinger->counts.failed++;
        free(url);
        return;
    }
    if (body_size > BODY_MAX) {
        body += body_size - BODY_MAX;
        body_size = BODY_MAX;
        for (int i = 0; i < 3 && ((unsigned char)*body & 0xc0) == 0x80; i++) { /* the rest of a character */
            body++;
            body_size--;
        }
    }
    struct ping *ping = memory(sizeof *ping);
    *ping = (struct ping){.address = text_copy(address),
                          .rid = text_copy(rid),
                          .job = job_with(pinger->runner, address),
                          .place = text_copy(place),
                          .url = url,
                          .body = copy_bytes(body, body == NULL ? 0 : body_size),
                          .body_size = body == NULL ? 0 : body_size};
    append_ping(pinger, ping);
    start_due(pinger);
    if (pinger->waiting > WAITING_MAX)
        drop_oldest(pinger);
}

struct ping_counts pinger_counts(const struct pinger *pinger)
{
    struct ping_counts counts = pinger->counts;
    counts.pending = pinger->sending + pinger->waiting;
    return counts;
}

/* Sends what is left, without pauses between attempts, for at most `timeout`. */
static void finish(struct pinger *pinger, hora_ns timeout)
{
    hora_ns now = hora_clock_now(NULL), end = timeout > HORA_FOREVER - now ? HORA_FOREVER : now + timeout;
    pinger->is_ending = true;
    start_due(pinger);
    while (pinger->pings != NULL && (now = hora_clock_now(NULL)) < end) {
        int running;
        (void)curl_multi_perform(pinger->multi, &running);
        handle_ended(pinger);
        hora_ns left = (end - now) / HORA_MS(1) + 1;
        if (pinger->pings != NULL)
            (void)curl_multi_poll(pinger->multi, NULL, 0, left < 1000 ? (int)left : 1000, NULL);
    }
}

static void give_up(struct pinger *pinger)
{
    int64_t lost = 0;
    struct ping *next;
    for (struct ping *ping = pinger->pings; ping != NULL; ping = next) {
        next = ping->next;
        if (ping->easy != NULL) {
            (void)curl_multi_remove_handle(pinger->multi, ping->easy);
            curl_easy_cleanup(ping->easy);
            ping->easy = NULL;
            pinger->sending--;
            pinger->waiting++;
        }
        remove_ping(pinger, ping);
        lost++;
    }
    pinger->counts.failed += lost;
    if (lost > 0)
        event_report(pinger->runner, EVENT_WARNING, "ping", NULL, NULL,
                     "%lld pings could not be sent before the end", (long long)lost);
}

void pinger_free(struct pinger *pinger, hora_ns timeout)
{
    if (pinger == NULL)
        return;
    if (pinger->multi != NULL) {
        finish(pinger, timeout);
        give_up(pinger);
        (void)curl_multi_cleanup(pinger->multi);
        curl_slist_free_all(pinger->headers);
        loop_unwatch(&pinger->timer_watch);
        (void)close(pinger->timer_fd);
        curl_global_cleanup();
    }
    loop_timer_cancel(&pinger->retry_timer);
    loop_timer_free(&pinger->retry_timer);
    while (pinger->failing != NULL)
        forget_failing(pinger, &pinger->failing);
    for (struct socket_watch *next; pinger->unused != NULL; pinger->unused = next) {
        next = pinger->unused->next;
        free(pinger->unused);
    }
    free(pinger);
}

#else

bool pinger_accepts(const struct jobs *jobs, char *reason, size_t reason_size)
{
    for (size_t i = 0; i < jobs->count; i++) {
        if (jobs->jobs[i]->ping == NULL)
            continue;
        (void)snprintf(reason, reason_size,
                       "job %s: ping needs libcurl, and this command was built without it",
                       jobs->jobs[i]->name);
        return false;
    }
    return true;
}

struct pinger *pinger_new(struct runner *runner)
{
    (void)runner;
    return NULL;
}

void pinger_free(struct pinger *pinger, hora_ns timeout)
{
    (void)pinger, (void)timeout;
}

void pinger_send(struct pinger *pinger, const char *address, const char *path, const char *rid,
                 const char *body, size_t body_size)
{
    (void)pinger, (void)address, (void)path, (void)rid, (void)body, (void)body_size;
}

struct ping_counts pinger_counts(const struct pinger *pinger)
{
    (void)pinger;
    return (struct ping_counts){0};
}

#endif
