/* SPDX-License-Identifier: Apache-2.0 */
/* simulate.c - run jobs in virtual time, without processes
 *
 * The runner is the one that runs jobs: the same loop, the same runs, the same durable scheduler, with a store
 * in memory and a virtual clock. Only processes are pretended. A run ends after the time that is assumed for
 * its job, with the exit status that is assumed. Jobs are not missed here, because the runner never stops, and
 * nothing is late, because it computes in no time.
 *
 * Clock changes are events, too: for each change of a zone, each job with times that the change skips or
 * repeats is reported at that moment. */
#include "runner/simulate.h"
#include "jobs/tags.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "cron_changes.h"
#include "runner/console.h"
#include "runner/internal.h"
#include "text.h"

/* ---- processes ---- */

static const struct assumption *assumption_of(const struct simulation *simulation, const char *job)
{
    const struct assumption *found = NULL;
    for (size_t i = 0; i < simulation->assumption_count; i++) {
        const struct assumption *assumption = &simulation->assumptions[i];
        if (assumption->job == NULL ? found == NULL : strcmp(assumption->job, job) == 0)
            found = assumption;
    }
    return found;
}

static void simulated_end(void *arg)
{
    struct run *run = arg;
    run->process_ended = true;
    run_process_ended(run);
}

/* The process ends by itself after its time, or at once when it is told to. */
bool simulated_start(struct run *run)
{
    const struct simulation *simulation = run->runner->simulation;
    const struct assumption *assumption = assumption_of(simulation, run->job->name);
    bool is_command = !run->is_guard && run->hook == NULL;
    run->has_process = true;
    run->process_ended = false;
    run->end =
        (struct process_end){.exited = true, .code = is_command && assumption != NULL ? assumption->code : 0};
    if (run->pretended.state == NULL)
        loop_timer_init(&run->pretended, run->runner->loop, simulated_end, run);
    loop_timer_start(&run->pretended, is_command && assumption != NULL ? assumption->duration : 0);
    return true;
}

void simulated_signal(struct run *run, int signal)
{
    run->end = (struct process_end){.exited = false, .code = signal};
    loop_timer_start(&run->pretended, 0);
}

/* ---- clock changes ---- */

/* A clock change that concerns a job, and the event that reports it. */
struct change_event {
    struct change_event *next;
    struct runner *runner;
    struct loop_timer timer;
    char *job, *text;
};

static void report_change(void *arg)
{
    struct change_event *event = arg;
    event_report(event->runner, EVENT_WARNING, "clock", event->job, NULL, "%s", event->text);
}

static void add_change(struct runner *runner, const char *job, const hora_transition *change,
                       const char *zone, const char *text)
{
    struct change_event *event = memory(sizeof *event);
    *event = (struct change_event){.next = runner->simulated_changes,
                                   .runner = runner,
                                   .job = text_copy(job),
                                   .text = text_format("%s: %s", zone, text)};
    runner->simulated_changes = event;
    loop_timer_init(&event->timer, runner->loop, report_change, event);
    loop_timer_start(&event->timer, change->at.ns - runner->simulation->from.ns);
}

static void add_changes(struct runner *runner, const struct job *job, const struct job_trigger *trigger)
{
    hora_transition change = {.at = runner->simulation->from};
    while (hora_zone_next_transition(trigger->zone, change.at, &change) > 0 &&
           change.at.ns < runner->simulation->to.ns) {
        char text[300];
        if (change_describe(trigger->cron, &change, trigger->dst == HORA_DST_ONCE, text, sizeof text) > 0)
            add_change(runner, job->name, &change, hora_zone_name(trigger->zone), text);
    }
}

static void add_all_changes(struct runner *runner)
{
    for (size_t i = 0; i < runner->job_count; i++) {
        const struct job *job = runner->jobs[i]->job;
        for (size_t k = 0; k < job->trigger_count && job->enabled; k++)
            if (job->triggers[k].kind == TRIGGER_CRON)
                add_changes(runner, job, &job->triggers[k]);
    }
}

static void free_changes(struct runner *runner)
{
    while (runner->simulated_changes != NULL) {
        struct change_event *event = runner->simulated_changes;
        runner->simulated_changes = event->next;
        loop_timer_free(&event->timer);
        free(event->job);
        free(event->text);
        free(event);
    }
}

/* ---- the simulation ---- */

static void time_is_over(void *arg)
{
    struct runner *runner = arg;
    free_changes(runner);
    runner->is_silent = true;
    runner_stop(runner, 0);
}

bool simulation_shows(const struct runner *runner, const char *job)
{
    const struct simulation *simulation = runner->simulation;
    if (simulation == NULL || simulation->tag_count == 0)
        return true;
    const struct job_state *state = job != NULL ? runner_find(runner, job) : NULL;
    return state != NULL && job_has_tags(state->job, simulation->tags, simulation->tag_count);
}

void simulation_begin(struct runner *runner)
{
    add_all_changes(runner);
    (void)loop_pass(runner->loop, runner->simulation->to.ns - runner->simulation->from.ns, NULL, time_is_over,
                    runner);
}
