/* SPDX-License-Identifier: Apache-2.0 */
/* stop.c - the end of the runner: in order, within a time, with a report
 *
 * The first request (hora stop, SIGTERM, SIGINT) lets runs in progress end by themselves for a while. Runs that
 * have not started are handed back to the store at once. When the time is over, the durable scheduler asks
 * for the end of the others: they receive SIGTERM, and SIGKILL after kill_after of their job, or earlier if the
 * durable scheduler does not wait so long: it waits as long as before, but at least a second. A second request
 * sends SIGTERM to all of them now, a third kills them. What was interrupted is treated as on_crash says, by
 * this runner as far as it can, and by the next one. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "runner/internal.h"
#include "runner/notify.h"

#define LEAST_WAIT HORA_SECONDS(1) /* of hora_durable_stop for runs that were asked to end */

/* The call that ends the durable scheduler, in a thread of the pool. */
struct stopping {
    struct runner *runner;
    hora_ns within;
    bool has_lease; /* until the end */
    int left;       /* runs that were handed back, or an error */
    hora_error reason;
};

static void stop_durable(void *arg)
{
    struct stopping *stopping = arg;
    hora_durable *durable = stopping->runner->durable;
    stopping->left = hora_durable_stop(durable, stopping->within, &stopping->reason);
    hora_durable_status status = HORA_INIT(hora_durable_status);
    stopping->has_lease = hora_durable_get_status(durable, &status) == 0 && status.has_lease;
}

static void report(struct runner *runner, const struct stopping *stopping)
{
    if (stopping->left < 0) {
        event_report(runner, EVENT_ERROR, "stop", NULL, NULL,
                     "stopped, but the store was not told: %s; it notices when the lease ends",
                     stopping->reason.message);
        return;
    }
    for (struct run *run = runner->runs; run != NULL; run = run->next)
        event_report(runner, EVENT_WARNING, "stop", run->job == NULL ? NULL : run->job->name,
                     json_pack("{s:s}", "run", run->id), "was left in state %s",
                     run_state_name(run->run_state));
    int left = stopping->left + runner->handed_back;
    if (!stopping->has_lease)
        event_report(runner, EVENT_WARNING, "stop", NULL, NULL,
                     "stopped without a lease: runs that ended since it was lost may be repeated");
    else if (left == 0)
        event_report(runner, EVENT_INFO, "stop", NULL, NULL, "stopped; nothing was left");
    else
        event_report(runner, EVENT_WARNING, "stop", NULL, NULL, "stopped; %d run%s left for the next runner",
                     left, left == 1 ? " is" : "s are");
}

void runner_run_ended(struct runner *runner)
{
    if (runner->durable_is_stopped && runner->runs == NULL)
        loop_stop(runner->loop);
}

static void stopped(void *arg)
{
    struct stopping *stopping = arg;
    struct runner *runner = stopping->runner;
    report(runner, stopping);
    free(stopping);
    /* A process that even SIGKILL has not ended is left to the kernel. */
    for (struct run *run = runner->runs, *next; run != NULL; run = next) {
        next = run->next;
        run->stop = STOP_LOST;
        run->gives_up = true;
        if (!run->finished && run->start_checked)
            run_finish(run, RESULT_LOST);
    }
    runner->durable_is_stopped = true;
    runner_run_ended(runner);
}

static void hand_back_what_waits(struct runner *runner)
{
    for (struct run *run = runner->runs, *next; run != NULL; run = next) {
        next = run->next;
        if (!run->finished && (run->run_state == RUN_DELAYED || run->run_state == RUN_WAITING))
            run_stop(run, STOP_SHUTDOWN);
    }
}

static void time_has_passed(void *arg)
{
    (void)arg;
}

void runner_stop(struct runner *runner, hora_ns within)
{
    runner->signals++;
    if (runner->stopping) {
        event_report(runner, EVENT_WARNING, "stop", NULL, NULL, "%s what still runs",
                     runner->signals == 2 ? "ending" : "killing");
        for (struct run *run = runner->runs, *next; run != NULL; run = next) {
            next = run->next;
            run_stop(run, STOP_SHUTDOWN);
        }
        return;
    }
    runner->stopping = true;
    runner->kill_within = (within > LEAST_WAIT ? within : LEAST_WAIT) * 3 / 4;
    notify_stopping();
    event_report(runner, EVENT_INFO, "stop", NULL, NULL, "stopping; %d run%s may go on for %.1f s",
                 runner->running, runner->running == 1 ? "" : "s", (double)within / 1e9);
    hand_back_what_waits(runner);
    struct stopping *stopping = memory(sizeof *stopping);
    *stopping = (struct stopping){.runner = runner, .within = within};
    loop_ask(runner->loop, stop_durable, stopped, stopping);
    if (loop_clock(runner->loop) != NULL)
        (void)loop_pass(runner->loop, 2 * within + HORA_MINUTES(1), NULL, time_has_passed, NULL);
}
