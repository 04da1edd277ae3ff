/* SPDX-License-Identifier: Apache-2.0 */
/* scheduling-timers.c - around the timer of docs/guide/scheduling.md */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <hora/hora.h>

/* fragment */

int main(void)
{
    hora_scheduler *scheduler;
    int pair[2];
    struct connection *c = malloc(sizeof *c);
    if (c == NULL || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ||
        hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &scheduler, NULL) < 0)
        return 1;
    c->fd = pair[0];
    /* fragment */
    if (hora_timer_is_pending(&c->idle) || hang_up(c) != 0)
        return 1;
    char byte;
    if (read(pair[1], &byte, 1) != 0)
        return 1;
    free(c);
    return close(pair[0]) < 0 || close(pair[1]) < 0 || hora_scheduler_close(scheduler) < 0 ||
           hora_scheduler_free(scheduler) != 0;
}
