/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_zones.c - zones are refreshed while tasks wait, run and change
 *
 * The expression matches every minute of a zone: by its old rules at 60, 120, ... seconds after the start, by
 * its new ones at 30, 90, ... When a refresh has returned, the next run that had not begun is at a time of
 * the new rules. */
#include "../api/zone_support.h"
#include "jobs.h"

static const hora_ns SECOND = HORA_SECONDS(1);

static struct folder folder;
static hora_trigger *trigger;

static void put(int seconds)
{
    struct image image;
    int64_t start = jobs_wall_start / SECOND;
    image_fixed(&image, (int32_t)(-(start % 60) + seconds), "ABC", "");
    folder_put(&folder, &image);
}

/* The file has the new rules already; the zone does not know. */
static void begin(int core)
{
    hora_cron *cron;
    hora_zone *zone;
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = core));
    folder_make(&folder);
    put(0);
    CHECK_OK(hora_zone_new("zone", HORA_ZONE_OPTIONS(.folder = folder.path), &zone, NULL));
    CHECK_OK(hora_cron_parse("0 * * * * *", NULL, &cron, NULL));
    CHECK_OK(hora_trigger_new_cron(cron, zone, HORA_CRON_TRIGGER_OPTIONS(.mode = HORA_CRON_MODE_FIXED),
                                   &trigger, NULL));
    (void)hora_cron_unref(cron);
    (void)hora_zone_unref(zone);
    put(30);
}

static void end(void)
{
    jobs_end();
    trigger = hora_trigger_unref(trigger);
    folder_remove(&folder);
}

static hora_future *every_minute(int i, int64_t count)
{
    hora_future *future;
    jobs[i].on_wall = true;
    CHECK_OK(hora_scheduler_schedule_with(scheduler, JOB(i),
                                          HORA_SCHEDULE(.trigger = trigger, .count = count), &future, NULL));
    return future;
}

static void refresh(void *arg)
{
    (void)arg;
    int result = hora_scheduler_refresh_zones(scheduler);
    CHECK(result == 0 || result == 1);
}

static void finish(hora_future *future)
{
    CHECK_OK(hora_future_get(future, NULL));
    jobs_unref(future);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
}

SCENARIO(zones_refresh_meets_leader)
{
    begin(1);
    hora_future *future = every_minute(0, 1);
    refresh(NULL);
    finish(future);
    if (test_is_exact())
        CHECK_INT(jobs[0].starts[0], 30 * SECOND);
    end();
    jobs_check(0, 1);
}

/* The worker is about to take it: it runs by the old rules or by the new, once. */
SCENARIO(zones_refresh_meets_expiry)
{
    begin(1);
    hora_future *future = every_minute(0, 1);
    jobs_sleep_until(60 * SECOND);
    refresh(NULL);
    finish(future);
    if (test_is_exact())
        CHECK(jobs[0].starts[0] == 60 * SECOND || jobs[0].starts[0] == 90 * SECOND);
    end();
    jobs_check(0, 1);
}

/* The first run is by the old rules. It ends while zones are refreshed, when the worker asks the trigger and
 * puts the task back. */
static void refresh_at_the_end_of_a_run(hora_ns takes, hora_ns at)
{
    begin(1);
    jobs[0].takes = takes;
    hora_future *future = every_minute(0, 2);
    jobs_sleep_until(at);
    refresh(NULL);
    finish(future);
    if (test_is_exact()) {
        CHECK_INT(jobs[0].starts[0], 60 * SECOND);
        CHECK_INT(jobs[0].starts[1], 90 * SECOND);
    }
    end();
    jobs_check(0, 2);
}

SCENARIO(zones_refresh_meets_put_back)
{
    refresh_at_the_end_of_a_run(10 * SECOND, 70 * SECOND);
}

SCENARIO(zones_refresh_meets_run)
{
    refresh_at_the_end_of_a_run(10 * SECOND, 65 * SECOND);
}

/* By two at once. */
MEDIUM_SCENARIO(zones_refresh_meets_refresh)
{
    begin(1);
    hora_future *future = every_minute(0, 1);
    test_thread *other = test_thread_start(NULL, refresh, NULL);
    refresh(NULL);
    test_thread_join(other);
    finish(future);
    if (test_is_exact())
        CHECK_INT(jobs[0].starts[0], 30 * SECOND);
    end();
    jobs_check(0, 1);
}

/* A task is scheduled with a zone that another task has, so that the zone is refreshed in any case, also if
 * the trigger was asked before. */
MEDIUM_SCENARIO(zones_refresh_meets_newcomer)
{
    begin(1);
    hora_future *first = every_minute(1, 1);
    test_thread *other = test_thread_start(NULL, refresh, NULL);
    hora_future *future = every_minute(0, 1);
    test_thread_join(other);
    finish(first);
    finish(future);
    if (test_is_exact()) {
        CHECK_INT(jobs[0].starts[0], 30 * SECOND);
        CHECK_INT(jobs[1].starts[0], 30 * SECOND);
    }
    end();
    jobs_check(0, 1);
    jobs_check(1, 1);
}

/* The refreshing thread may not find this trigger. Then the task has the new rules because it was scheduled
 * later, or the scheduling call refreshes them itself. */
SCENARIO(zones_refresh_meets_first_task)
{
    begin(1);
    test_thread *other = test_thread_start(NULL, refresh, NULL);
    hora_future *future = every_minute(0, 1);
    test_thread_join(other);
    finish(future);
    if (test_is_exact())
        CHECK(jobs[0].starts[0] == 30 * SECOND || jobs[0].starts[0] == 60 * SECOND);
    end();
    jobs_check(0, 1);
}

SCENARIO(zones_refresh_meets_cancel)
{
    begin(1);
    struct jobs_target target = {.future = every_minute(0, 1)};
    test_thread *other = test_thread_start(NULL, jobs_cancel, &target);
    refresh(NULL);
    test_thread_join(other);
    CHECK(hora_future_is_cancelled(target.future) || !test_is_exact());
    jobs_unref(target.future);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    end();
    jobs_check(0, test_is_exact() ? 0 : jobs[0].runs);
}

/* The last reference to the future, and so to the trigger, is released at the same time. */
static void forget(void *arg)
{
    CHECK(hora_future_cancel(arg, false) >= 0);
    jobs_unref(arg);
}

SCENARIO(zones_refresh_meets_the_end_of_the_future)
{
    begin(1);
    hora_future *future = every_minute(0, 1);
    trigger = hora_trigger_unref(trigger);
    test_thread *other = test_thread_start(NULL, forget, future);
    refresh(NULL);
    test_thread_join(other);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    end();
    jobs_check(0, test_is_exact() ? 0 : jobs[0].runs);
}

static void pause_and_resume(void *arg)
{
    int error = hora_future_pause(arg);
    CHECK(error >= 0 || !test_is_exact());
    error = hora_future_resume(arg);
    CHECK(error >= 0 || !test_is_exact());
}

MEDIUM_SCENARIO(zones_refresh_meets_pause)
{
    begin(1);
    hora_future *future = every_minute(0, 1);
    test_thread *other = test_thread_start(NULL, pause_and_resume, future);
    refresh(NULL);
    test_thread_join(other);
    finish(future);
    if (test_is_exact())
        CHECK_INT(jobs[0].starts[0], 30 * SECOND);
    end();
    jobs_check(0, 1);
}

/* A time that was given stays, whichever came first. */
static void retime(void *arg)
{
    int error = hora_future_reschedule(arg, 20 * SECOND, 0);
    CHECK(error == 0 || !test_is_exact());
}

MEDIUM_SCENARIO(zones_refresh_meets_retime)
{
    begin(1);
    hora_future *future = every_minute(0, 1);
    test_thread *other = test_thread_start(NULL, retime, future);
    refresh(NULL);
    test_thread_join(other);
    finish(future);
    if (test_is_exact())
        CHECK_INT(jobs[0].starts[0], 20 * SECOND);
    end();
    jobs_check(0, 1);
}

MEDIUM_SCENARIO(zones_refresh_meets_shutdown)
{
    begin(1);
    hora_future *future = every_minute(0, 1);
    test_thread *other = test_thread_start(NULL, jobs_shut_down, NULL);
    refresh(NULL);
    test_thread_join(other);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    CHECK(hora_future_is_cancelled(future) || !test_is_exact());
    jobs_unref(future);
    end();
    jobs_check(0, jobs[0].runs);
}

/* ---- without memory ---- */

static bool refused(int error)
{
    CHECK(error >= 0 || error == HORA_ENOMEM || error == HORA_EAGAIN);
    return error < 0;
}

/* Whichever allocation fails, the objects involved are unchanged. */
static void compose(hora_trigger *first, hora_trigger *second, hora_zone *zone)
{
    hora_trigger *parts[] = {first, second};
    hora_trigger *either = NULL, *both = NULL, *excluding = NULL;
    hora_calendar *calendar = NULL;
    (void)refused(hora_trigger_new_first_of(parts, 2, &either));
    (void)refused(hora_trigger_new_all_of(parts, 2, &both));
    if (!refused(hora_calendar_new(
            zone,
            HORA_CALENDAR_OPTIONS(.weekdays = 1 << 7, .dates = &(hora_date){0, 1, 1}, .date_count = 1,
                                  .windows = &(hora_calendar_window){0, 60, 0}, .window_count = 1),
            &calendar, NULL)))
        (void)refused(hora_trigger_new_excluding(first, calendar, &excluding));
    (void)hora_calendar_unref(calendar);
    (void)hora_trigger_unref(either);
    (void)hora_trigger_unref(both);
    (void)hora_trigger_unref(excluding);
}

SWEEP(triggers_survive)
{
    hora_cron *cron = NULL;
    hora_zone *zone = NULL;
    hora_trigger *first = NULL, *second = NULL, *third = NULL;
    if (!refused(hora_cron_parse("0 * * * * *", NULL, &cron, NULL)) &&
        !refused(hora_zone_new("Europe/Berlin", NULL, &zone, NULL))) {
        (void)refused(hora_trigger_new_cron(cron, zone, NULL, &first, NULL));
        (void)refused(hora_trigger_new_instants(&(hora_instant){1}, 1, &second));
        (void)refused(hora_trigger_new_periodic(1, NULL, &third, NULL));
        if (first != NULL && second != NULL)
            compose(first, second, zone);
    }
    (void)hora_trigger_unref(first);
    (void)hora_trigger_unref(second);
    (void)hora_trigger_unref(third);
    (void)hora_cron_unref(cron);
    (void)hora_zone_unref(zone);
}

/* An expression and a zone: if the call fails, the task is the caller's, and nothing is left. */
SWEEP(schedule_with_cron_survives)
{
    if (refused(hora_schedule_check(HORA_SCHEDULE(.cron = "@daily", .zone = "Europe/Berlin"), NULL)))
        return;
    for (int i = 0; i < JOBS; i++)
        jobs[i] = (struct job){0};
    if (refused(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &scheduler, NULL)))
        return;
    hora_future *future = NULL;
    int error = hora_scheduler_schedule_with(
        scheduler, JOB(0), HORA_SCHEDULE(.cron = "* * * * * *", .zone = "Europe/Berlin", .count = 2), &future,
        NULL);
    bool accepted = !refused(error);
    CHECK((future != NULL) == accepted);
    (void)refused(hora_scheduler_refresh_zones(scheduler));
    int another = hora_scheduler_schedule_with(
        scheduler, JOB(1),
        HORA_SCHEDULE(.cron = "0 * * * * *", .zone = "UTC", .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2),
        NULL, NULL);
    bool other = !refused(another);
    if (accepted) {
        error = hora_future_get_for(future, HORA_SECONDS(5), NULL);
        CHECK(error == 0 || error == HORA_ETIMEDOUT || error == HORA_ENOMEM);
    }
    (void)hora_future_unref(future);
    jobs_end();
    CHECK_INT(jobs[0].drops, accepted);
    CHECK_INT(jobs[1].drops, other);
}

SWEEP(refresh_zones_survives)
{
    hora_trigger *made = NULL;
    hora_cron *cron = NULL;
    hora_zone *zone = NULL;
    hora_future *future = NULL;
    folder_make(&folder);
    jobs_wall_start = 0;
    put(0);
    for (int i = 0; i < JOBS; i++)
        jobs[i] = (struct job){0};
    if (!refused(hora_cron_parse("0 0 0 1 1 *", NULL, &cron, NULL)) &&
        !refused(hora_zone_new("zone", HORA_ZONE_OPTIONS(.folder = folder.path), &zone, NULL)) &&
        !refused(hora_trigger_new_cron(cron, zone, NULL, &made, NULL)) &&
        !refused(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &scheduler, NULL))) {
        bool accepted = !refused(hora_scheduler_schedule_with(
            scheduler, JOB(0), HORA_SCHEDULE(.trigger = made, .missed = HORA_MISSED_BURST), &future, NULL));
        put(30);
        int result = hora_scheduler_refresh_zones(scheduler);
        CHECK(result >= 0 || result == HORA_ENOMEM);
        CHECK(result != 1 || accepted);
        if (result == HORA_ENOMEM &&
            accepted) /* if only one failed it works again, or it had worked for the zone */
            CHECK(hora_scheduler_refresh_zones(scheduler) != HORA_EINVAL);
        (void)hora_future_unref(future);
        CHECK_OK(hora_pool_shutdown(scheduler));
        jobs_end();
        CHECK_INT(jobs[0].drops, accepted);
    }
    (void)hora_trigger_unref(made);
    (void)hora_cron_unref(cron);
    (void)hora_zone_unref(zone);
    folder_remove(&folder);
}
