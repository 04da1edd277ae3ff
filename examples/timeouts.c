/* SPDX-License-Identifier: Apache-2.0 */
/* timeouts.c - connections that are closed when nothing has arrived for 30 s
 *
 * Each connection contains a timer. A request starts it again, which moves it. Few of the timeouts therefore
 * ever expire, and none of them needs additional memory. When a timeout expires, its function hangs up and
 * frees nothing. The owner of the connections finds the connection hung up, stops its timer and frees it.
 * hora_timer_stop waits for a function that is running at that moment, so no lock and no table are needed.
 * Time is virtual. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <hora/hora.h>

enum { CONNECTIONS = 5, MINUTES = 10 };

struct connection {
    hora_timer idle;
    int number;
    int requests;
    atomic_bool is_hung_up; /* like a socket after shutdown(fd, SHUT_RDWR) */
};

static hora_virtual_clock *time_machine;
static const hora_clock *view;
static hora_scheduler *scheduler;
static struct connection *connections[CONNECTIONS]; /* NULL means closed */
static int faults;

/* The function of the timer. It runs on a thread of the scheduler. */
static int hang_up(void *arg)
{
    struct connection *connection = arg;
    connection->is_hung_up = true;
    return 0;
}

static void open_connection(int number)
{
    struct connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL)
        exit(1);
    connection->number = number;
    faults += hora_timer_init(&connection->idle, hang_up, connection) < 0;
    faults += hora_timer_start(&connection->idle, scheduler, HORA_SECONDS(30)) < 0;
    connections[number] = connection;
}

static void request(struct connection *connection)
{
    connection->requests++;
    faults += hora_timer_start(&connection->idle, scheduler, HORA_SECONDS(30)) < 0;
}

static void close_connection(struct connection *connection, const char *why)
{
    faults += hora_timer_stop(&connection->idle) < 0; /* from here on only this thread uses it */
    printf("%3d s  connection %d, after %d requests: %s\n", (int)(hora_clock_now(view) / HORA_SECONDS(1)),
           connection->number, connection->requests, why);
    connections[connection->number] = NULL;
    free(connection);
}

/* Connection i sends a request every 2 + 7 i seconds at first, and less often over time. */
static bool has_request(int number, int second)
{
    return second % (2 + 7 * number + second / 60) == 0;
}

int main(void)
{
    if (hora_virtual_clock_new(NULL, &time_machine, NULL) < 0)
        return 1;
    view = hora_virtual_clock_view(time_machine, HORA_CLOCK_MONOTONIC);
    if (hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .clock = view), &scheduler, NULL) < 0)
        return 1;
    for (int i = 0; i < CONNECTIONS; i++)
        open_connection(i);
    for (int second = 1; second <= 60 * MINUTES; second++) {
        faults += hora_virtual_clock_run(time_machine, HORA_SECONDS(1)) < 0;
        for (int i = 0; i < CONNECTIONS; i++) {
            struct connection *connection = connections[i];
            if (connection != NULL && connection->is_hung_up)
                close_connection(connection, "idle, closed");
            else if (connection != NULL && i == 1 && second == 200)
                close_connection(connection, "closed by the other side");
            else if (connection != NULL && has_request(i, second))
                request(connection);
        }
    }
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    faults += hora_pool_get_stats(scheduler, &stats) < 0;
    printf("%d timeouts were set, %d of them happened, %d are pending\n", (int)stats.accepted,
           (int)stats.done, stats.queued);
    for (int i = 0; i < CONNECTIONS; i++)
        if (connections[i] != NULL)
            close_connection(connections[i], "closed at the end");
    faults += hora_scheduler_close_for(scheduler, HORA_SECONDS(1)) < 0 || hora_scheduler_free(scheduler) != 0;
    return faults != 0 || hora_virtual_clock_free(time_machine) < 0;
}
