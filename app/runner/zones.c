/* SPDX-License-Identifier: Apache-2.0 */
/* zones.c - notice new rules of time zones
 *
 * Governments change the rules of their clocks, and distributions update the files that have them. The runner
 * reads the files of its zones again every hour. If the rules of a zone have changed, the next times of the jobs
 * in it are computed anew, as if their schedules had changed. Runs in progress are not affected. */
#include "runner/internal.h"

#define READ_EVERY HORA_HOURS(1)

/* Reads the zones of a job again. Returns true if the rules of one have changed. */
static bool refresh_job(struct job_state *state)
{
    bool changed = false;
    for (size_t i = 0; i < state->job->trigger_count; i++) {
        const struct job_trigger *trigger = &state->job->triggers[i];
        int result =
            trigger->kind == TRIGGER_CRON && trigger->zone != NULL ? hora_zone_refresh(trigger->zone) : 0;
        if (result < 0)
            event_report(state->runner, EVENT_WARNING, "clock", state->name, NULL,
                         "the rules of %s cannot be read again: %s", hora_zone_name(trigger->zone),
                         hora_strerror(result));
        changed |= result > 0;
    }
    return changed;
}

static void refresh_all(void *arg)
{
    struct runner *runner = arg;
    int changed = 0;
    loop_timer_start(&runner->zones_timer, READ_EVERY);
    if (runner->reloading || runner->stopping)
        return;
    for (size_t i = 0; i < runner->job_count; i++)
        if (refresh_job(runner->jobs[i])) {
            runner->jobs[i]->times_have_changed = true;
            changed++;
        }
    if (changed == 0)
        return;
    event_report(runner, EVENT_WARNING, "clock", NULL, NULL,
                 "the rules of time zones have changed: the next times of %d jobs are computed anew",
                 changed);
    runner_agree(runner, NULL, NULL);
}

void zones_watch(struct runner *runner)
{
    loop_timer_init(&runner->zones_timer, runner->loop, refresh_all, runner);
    loop_timer_start(&runner->zones_timer, READ_EVERY);
}
