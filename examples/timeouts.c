/* SPDX-License-Identifier: Apache-2.0 */
/* timeouts.c - connections that are closed when nothing has come for 30 s
 *
 * Each connection has a timer inside. A request starts it anew, which moves it; the other side may close the connection, which cancels it. So of
 * all the timeouts that are set few ever happen, and none of them takes memory of its own. When its function is called a timer is the caller's:
 * it is freed together with the connection. The lock is what every such program has, since a request may come in the moment in which
 * the connection is closed. Time is virtual. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <hora/hora.h>

enum { CONNECTIONS = 5, MINUTES = 10 };

struct connection {
    hora_timer idle;
    int number;
    int requests;
};

static hora_virtual_clock *time_machine;
static const hora_clock *view;
static hora_scheduler *scheduler;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct connection *connections[CONNECTIONS]; /* NULL: closed */
static int faults;

static void say(const struct connection *connection, const char *what)
{
    printf("%3d s  connection %d, after %d requests: %s\n", (int)(hora_clock_now(view) / HORA_SECONDS(1)),
           connection->number, connection->requests, what);
}

/* The function of the timer. While it waited for the lock a request may have moved the timer, so that it is pending again; or the connection may
 * be gone: so it is looked for by its number. */
static int close_idle(void *arg, void **ret_result)
{
    int number = (int)(intptr_t)arg;
    (void)ret_result;
    pthread_mutex_lock(&lock);
    struct connection *connection = connections[number];
    if (connection != NULL && !hora_timer_is_pending(&connection->idle)) {
        say(connection, "idle, closed");
        connections[number] = NULL;
        free(connection);
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

static void request(int number)
{
    pthread_mutex_lock(&lock);
    struct connection *connection = connections[number];
    if (connection != NULL) {
        connection->requests++;
        faults += hora_timer_start(scheduler, &connection->idle, HORA_SECONDS(30)) < 0;
    }
    pthread_mutex_unlock(&lock);
}

/* If it is too late, its timer is about to close it. */
static void hang_up(int number)
{
    pthread_mutex_lock(&lock);
    struct connection *connection = connections[number];
    if (connection != NULL && hora_timer_cancel(&connection->idle) == HORA_CANCEL_REMOVED) {
        say(connection, "closed by the other side");
        connections[number] = NULL;
        free(connection);
    }
    pthread_mutex_unlock(&lock);
}

static void connect(int number)
{
    struct connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL)
        exit(1);
    connection->number = number;
    faults += hora_timer_init(&connection->idle, close_idle, (void *)(intptr_t)number) < 0;
    connections[number] = connection;
    request(number);
}

int main(void)
{
    if (hora_virtual_clock_new(NULL, &time_machine) < 0)
        return 1;
    view = hora_virtual_clock_view(time_machine, HORA_CLOCK_MONOTONIC);
    if (hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .clock = view), &scheduler, NULL) < 0)
        return 1;
    for (int i = 0; i < CONNECTIONS; i++)
        connect(i);
    for (int second = 1; second <= 60 * MINUTES; second++) {
        faults += hora_virtual_clock_run(time_machine, HORA_SECONDS(1)) < 0;
        for (int i = 0; i < CONNECTIONS;
             i++) /* connection i has a request every 2, 9, 16, 23, 30 s, and fewer and fewer */
            if (second % (2 + 7 * i + second / 60) == 0)
                request(i);
        if (second == 200)
            hang_up(1);
    }
    hora_pool_stats stats;
    faults += hora_pool_get_stats(scheduler, &stats) < 0;
    printf("%d timeouts were set, %d of them happened, %d are pending\n", (int)stats.accepted, (int)stats.done,
           stats.queued);
    hang_up(0);
    faults += hora_pool_close_for(scheduler, HORA_SECONDS(1)) < 0 || hora_pool_free(scheduler) < 0;
    return faults != 0 || hora_virtual_clock_free(time_machine) < 0;
}
