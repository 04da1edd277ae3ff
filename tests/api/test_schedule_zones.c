/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule_zones.c - zones that are refreshed while tasks wait for their times
 *
 * A stage is opened at midnight UTC. The zone is a file with one offset, which the test replaces. All tasks
 * are for noon in that zone. */
#include "schedule_support.h"
#include "zone_support.h"

enum { HOUR = 3600, DAY = 86400, NOON = 12 * HOUR };

struct place {
    struct folder folder;
    hora_zone *zone;
    hora_cron *cron;
};

static void move(struct place *place, int hours)
{
    struct image image;
    image_fixed(&image, hours * HOUR, "ABC", "");
    folder_put(&place->folder, &image);
}

static void open_place(struct place *place)
{
    folder_make(&place->folder);
    move(place, 0);
    CHECK_OK(hora_zone_new("zone", HORA_ZONE_OPTIONS(.folder = place->folder.path), &place->zone, NULL));
    CHECK_OK(hora_cron_parse("0 0 12 * * *", NULL, &place->cron, NULL));
}

static void close_place(struct place *place)
{
    CHECK_POINTER(hora_zone_unref(place->zone), NULL);
    CHECK_POINTER(hora_cron_unref(place->cron), NULL);
    folder_remove(&place->folder);
}

static hora_trigger *at_noon(struct place *place, hora_cron_mode mode)
{
    hora_trigger *trigger = NULL;
    CHECK_OK(hora_trigger_new_cron(place->cron, place->zone, HORA_CRON_TRIGGER_OPTIONS(.mode = mode),
                                   &trigger, NULL));
    return trigger;
}

static hora_future *start_at_noon(struct stage *s, struct place *place, struct tick *tick,
                                  const hora_schedule *more)
{
    hora_schedule spec = *more;
    spec.trigger = at_noon(place, HORA_CRON_MODE_FIXED);
    hora_future *future = start_tick(__FILE__, __LINE__, s, tick, &spec);
    CHECK_POINTER(hora_trigger_unref(spec.trigger), NULL);
    return future;
}

static hora_ns next_of(struct stage *s, hora_future *future)
{
    stage_settle(s);
    hora_schedule_info info = info_of(future);
    return since_zero(s, &info, info.next) / SEC(1);
}

#define BEGIN(threads)                                                 \
    struct stage s;                                                    \
    struct place place;                                                \
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = (threads))); \
    open_place(&place);                                                \
    struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL}

#define FINISH(future)   \
    END(&tick, future);  \
    close_place(&place); \
    stage_close(&s)

TEST(refresh_moves_a_run_that_waits, "")
{
    BEGIN(1);
    hora_future *future = start_at_noon(&s, &place, &tick, HORA_SCHEDULE(.count = 0));
    CHECK_INT(next_of(&s, future), NOON);
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 0);
    CHECK_INT(next_of(&s, future), NOON);
    move(&place, 3);
    CHECK_INT(next_of(&s, future), NOON);
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 1);
    CHECK_INT(next_of(&s, future), NOON - 3 * HOUR);
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 0);
    stage_pass(&s, DAY);
    CHECK_STARTS(&tick, NOON - 3 * HOUR);
    move(&place, 5);
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 1);
    CHECK_INT(next_of(&s, future), DAY + NOON - 5 * HOUR);
    stage_pass(&s, DAY);
    CHECK_STARTS(&tick, NOON - 3 * HOUR, DAY + NOON - 5 * HOUR);
    CHECK_INT(info_of(future).skipped, 0);
    FINISH(future);
}

/* Another thread, or another scheduler that uses the zone, has refreshed it: the tasks of this scheduler
 * change nevertheless. */
TEST(refresh_tells_tasks_of_a_zone_that_was_refreshed_by_others, "")
{
    BEGIN(1);
    hora_future *future = start_at_noon(&s, &place, &tick, HORA_SCHEDULE(.count = 0));
    move(&place, 3);
    CHECK_INT(hora_zone_refresh(place.zone), 1);
    CHECK_INT(next_of(&s, future), NOON);
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 0);
    CHECK_INT(next_of(&s, future), NOON - 3 * HOUR);
    FINISH(future);
}

TEST(refresh_of_a_damaged_file_changes_nothing, "")
{
    BEGIN(1);
    struct image image;
    hora_future *future = start_at_noon(&s, &place, &tick, HORA_SCHEDULE(.count = 0));
    image_fixed(&image, HOUR, "ABC", "");
    image.size--;
    folder_put(&place.folder, &image);
    CHECK_ERROR(hora_scheduler_refresh_zones(s.scheduler), HORA_EBADMSG);
    CHECK_INT(next_of(&s, future), NOON);
    move(&place, 1);
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 1);
    CHECK_INT(next_of(&s, future), NOON - HOUR);
    FINISH(future);
}

/* By the new rules noon has passed since the last run: then it was missed, and is made up. */
TEST(refresh_may_find_that_a_time_has_passed, "")
{
    BEGIN(1);
    hora_future *future = start_at_noon(&s, &place, &tick, HORA_SCHEDULE(.count = 0));
    stage_pass(&s, DAY + NOON - HOUR);
    move(&place, 2);
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 1);
    stage_settle(&s);
    CHECK_STARTS(&tick, NOON, DAY + NOON - HOUR);
    CHECK_INT(info_of(future).last_planned, stage_instant(&s, DAY + NOON - 2 * HOUR).ns);
    CHECK_INT(next_of(&s, future), 2 * DAY + NOON - 2 * HOUR);
    FINISH(future);
}

/* The new rules are read after they have come into force. By these rules the task did not run at noon, and
 * noon is still to come. Rules that are read in time do not change the past. The comment of
 * hora_scheduler_refresh_zones says so. */
static void refresh_after_noon(bool in_time, int starts_before, int starts_after)
{
    BEGIN(1);
    struct image image;
    hora_instant change = stage_instant(&s, NOON - HOUR);
    struct image_plan plan = {.version = '2',
                              .types = {{0, 0, "ABC"}, {-3 * HOUR, 0, "DEF"}},
                              .transitions = 1,
                              .times = {change.ns / SEC(1)},
                              .indices = {1},
                              .footer = "DEF3"};
    image_make(&image, &plan);
    hora_future *future = start_at_noon(&s, &place, &tick, HORA_SCHEDULE(.count = 0));
    stage_pass(&s, in_time ? 60 : NOON + 60);
    CHECK_INT(tick.runs, starts_before);
    folder_put(&place.folder, &image);
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 1);
    CHECK_INT(next_of(&s, future), NOON + 3 * HOUR);
    stage_pass(&s, DAY - (in_time ? 60 : NOON + 60));
    CHECK_INT(tick.runs, starts_after);
    FINISH(future);
}

TEST(refresh_in_time_runs_a_daily_task_once, "")
{
    refresh_after_noon(true, 0, 1);
}

TEST(refresh_too_late_runs_a_daily_task_again, "")
{
    refresh_after_noon(false, 1, 2);
}

/* Before the first run nothing has been missed. */
TEST(refresh_before_the_first_run_makes_up_nothing, "")
{
    BEGIN(1);
    hora_future *future = start_at_noon(&s, &place, &tick, HORA_SCHEDULE(.count = 0));
    stage_pass(&s, NOON - HOUR);
    move(&place, 2);
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 1);
    CHECK_INT(next_of(&s, future), DAY + NOON - 2 * HOUR);
    CHECK_NO_START(&tick);
    FINISH(future);
}

/* The worker is busy when the time comes, and still when the zones are refreshed: the time is not lost by
 * that. */
TEST(refresh_while_the_worker_is_busy_loses_no_run, "")
{
    BEGIN(1);
    struct tick busy = {.stage = &s, .lasts = 4 * HOUR};
    hora_future *future = start_at_noon(&s, &place, &tick, HORA_SCHEDULE(.count = 0));
    hora_future *other = START(&s, &busy, .initial_delay = SEC(NOON - HOUR));
    stage_pass(&s, NOON + HOUR);
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 0);
    stage_pass(&s, 3 * HOUR);
    CHECK_STARTS(&tick, NOON + 3 * HOUR);
    CHECK_INT(info_of(future).last_planned, stage_instant(&s, NOON).ns);
    END(&busy, other);
    FINISH(future);
}

/* A skipped time is not skipped, and counted, again. */
TEST(refresh_counts_nothing_twice, "")
{
    BEGIN(2);
    tick.lasts_first = 3 * DAY;
    hora_future *future = start_at_noon(&s, &place, &tick, HORA_SCHEDULE(.missed = HORA_MISSED_SKIP));
    stage_pass(&s, 3 * DAY + NOON + HOUR);
    CHECK_INT(next_of(&s, future), 4 * DAY + NOON);
    int64_t skipped = info_of(future).skipped;
    CHECK_INT(skipped, 3);
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 0);
    CHECK_INT(next_of(&s, future), 4 * DAY + NOON);
    CHECK_INT(info_of(future).skipped, skipped);
    FINISH(future);
}

TEST(refresh_reaches_a_task_that_runs, "")
{
    BEGIN(2);
    tick.lasts = HOUR;
    hora_future *future = start_at_noon(&s, &place, &tick, HORA_SCHEDULE(.count = 0));
    stage_pass(&s, NOON + 60);
    move(&place, 3);
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 1);
    stage_pass(&s, HOUR);
    CHECK_INT(next_of(&s, future), DAY + NOON - 3 * HOUR);
    FINISH(future);
}

TEST(refresh_reaches_a_task_whose_runs_overlap, "")
{
    BEGIN(3);
    tick.lasts = HOUR;
    hora_future *future =
        start_at_noon(&s, &place, &tick, HORA_SCHEDULE(.overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2));
    stage_pass(&s, NOON + 60);
    move(&place, 3);
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 1);
    CHECK_INT(next_of(&s, future), DAY + NOON - 3 * HOUR);
    FINISH(future);
}

TEST(refresh_reaches_a_paused_task_when_it_is_resumed, "")
{
    BEGIN(1);
    hora_future *future = start_at_noon(&s, &place, &tick, HORA_SCHEDULE(.count = 0));
    CHECK_INT(hora_future_pause(future), 1);
    move(&place, 3);
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 1);
    CHECK_INT(next_of(&s, future), HORA_NEVER / SEC(1));
    CHECK_INT(hora_future_resume(future), 1);
    CHECK_INT(next_of(&s, future), NOON - 3 * HOUR);
    FINISH(future);
}

/* A time that was given, and not found by the trigger, stays. */
TEST(refresh_leaves_given_times_alone, "")
{
    BEGIN(1);
    struct tick delayed = {.stage = &s, .line = HORA_CLOCK_WALL}, retimed = delayed, failing = delayed;
    failing.fails_from = failing.fails_to = 1;
    failing.code = 5;
    hora_future *futures[] = {
        start_at_noon(&s, &place, &delayed, HORA_SCHEDULE(.initial_delay = SEC(14 * HOUR))),
        start_at_noon(&s, &place, &retimed, HORA_SCHEDULE(.count = 0)),
        start_at_noon(&s, &place, &failing,
                      HORA_SCHEDULE(.failure = HORA_FAILURE_BACK_OFF, .back_off = HORA_HOURS(5),
                                    .back_off_max = HORA_HOURS(5))),
    };
    CHECK_OK(hora_future_reschedule(futures[1], SEC(20 * HOUR), 0));
    hora_future *future = start_at_noon(&s, &place, &tick, HORA_SCHEDULE(.count = 0));
    stage_pass(&s, NOON + 60);
    CHECK_STARTS(&failing, NOON);
    hora_ns retry = next_of(&s, futures[2]);
    CHECK_INT(retry, DAY + NOON); /* later than the pause */
    move(&place, 3);
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 1);
    CHECK_INT(next_of(&s, futures[0]), 14 * HOUR);
    CHECK_INT(next_of(&s, futures[1]), 20 * HOUR);
    CHECK_INT(next_of(&s, futures[2]), retry);
    CHECK_INT(next_of(&s, future), DAY + NOON - 3 * HOUR);
    stage_pass(&s, 9 * HOUR); /* and afterwards the trigger is asked */
    CHECK_INT(next_of(&s, futures[0]), DAY + NOON - 3 * HOUR);
    CHECK_INT(next_of(&s, futures[1]), DAY + NOON - 3 * HOUR);
    END(&delayed, futures[0]);
    END(&retimed, futures[1]);
    END(&failing, futures[2]);
    FINISH(future);
}

/* The zone of a calendar, and of a part of a trigger. */
TEST(refresh_reaches_zones_inside_of_triggers, "")
{
    BEGIN(1);
    hora_calendar *calendar = NULL;
    hora_trigger *noon = at_noon(&place, HORA_CRON_MODE_LENIENT), *hourly = NULL, *excluding = NULL,
                 *either = NULL;
    hora_cron *cron = NULL;
    struct tick second = {.stage = &s, .line = HORA_CLOCK_WALL};
    CHECK_OK(hora_cron_parse("0 0 * * * *", NULL, &cron, NULL));
    CHECK_OK(hora_trigger_new_cron(cron, NULL, NULL, &hourly, NULL));
    CHECK_OK(hora_calendar_new(
        place.zone,
        HORA_CALENDAR_OPTIONS(.windows = &(hora_calendar_window){0, 12 * HOUR, 0}, .window_count = 1),
        &calendar, NULL));
    CHECK_OK(hora_trigger_new_excluding(hourly, calendar, &excluding));
    CHECK_OK(hora_trigger_new_first_of((hora_trigger *[]){noon}, 1, &either));
    hora_future *future = START(&s, &tick, .trigger = excluding);
    hora_future *other = START(&s, &second, .trigger = either);
    CHECK_INT(next_of(&s, future), NOON);
    CHECK_INT(next_of(&s, other), NOON);
    move(&place, 3);
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 1);
    CHECK_INT(next_of(&s, future), NOON - 3 * HOUR);
    CHECK_INT(next_of(&s, other), NOON - 3 * HOUR);
    hora_trigger *triggers[] = {noon, hourly, excluding, either};
    for (int i = 0; i < 4; i++)
        CHECK_POINTER(hora_trigger_unref(triggers[i]), NULL);
    CHECK_POINTER(hora_cron_unref(cron), NULL);
    CHECK_POINTER(hora_calendar_unref(calendar), NULL);
    END(&second, other);
    FINISH(future);
}

/* A calendar of UTC has no zone that could be refreshed, nor has a function: it is not asked again. */
TEST(refresh_leaves_exclusions_of_utc_alone, "")
{
    BEGIN(1);
    struct timetable table = {.stage = &s, .line = HORA_CLOCK_WALL, .seconds = (int[]){1, HOUR, -1}};
    hora_calendar *calendar = NULL;
    hora_trigger *inner = NULL, *excluding = NULL;
    CHECK_OK(hora_calendar_new(NULL, HORA_CALENDAR_OPTIONS(.weekdays = 0), &calendar, NULL));
    CHECK_OK(hora_trigger_new(timetable_next, &table, NULL, &inner));
    CHECK_OK(hora_trigger_new_excluding(inner, calendar, &excluding));
    hora_future *future = START(&s, &tick, .trigger = excluding);
    stage_pass(&s, 2);
    CHECK_STARTS(&tick, 1);
    int calls = table.calls;
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 0);
    stage_settle(&s);
    CHECK_INT(table.calls, calls);
    CHECK_POINTER(hora_trigger_unref(inner), NULL);
    CHECK_POINTER(hora_trigger_unref(excluding), NULL);
    CHECK_POINTER(hora_calendar_unref(calendar), NULL);
    FINISH(future);
}

/* A task that has ended, but whose future still exists, has no zone to be refreshed; nor have others. */
TEST(refresh_looks_at_those_that_go_on, "")
{
    BEGIN(1);
    struct tick rate = {.stage = &s, .line = HORA_CLOCK_WALL};
    hora_future *future = start_at_noon(&s, &place, &tick, HORA_SCHEDULE(.count = 0));
    hora_future *other = START(&s, &rate, .fixed_rate = SEC(1000), .clock = HORA_CLOCK_WALL);
    CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
    folder_put(&place.folder, NULL);
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 0);
    CHECK_INT(next_of(&s, other), 1000);
    move(&place, 0);
    END(&rate, other);
    FINISH(future);
}
