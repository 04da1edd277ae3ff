/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule_check.c - schedules that cannot work, or partly have no effect, are rejected */
#include <string.h>

#include "schedule_support.h"

static hora_ns some_time(const hora_trigger_context *context, void *arg)
{
    (void)arg;
    return context->now + 1;
}

#define SIZE_OF .struct_size = sizeof(hora_schedule)
#define AN_ARG  .next_arg = untouched

static const struct {
    const char *reason;
    const char *field;
    hora_schedule spec;
} refused[] = {
    {"fixed_rate is negative", "fixed_rate", {SIZE_OF, .fixed_rate = -1}},
    {"fixed_rate is negative", "fixed_rate", {SIZE_OF, .fixed_rate = INT64_MIN}},
    {"fixed_delay is negative", "fixed_delay", {SIZE_OF, .fixed_delay = -1}},
    {"fixed_delay is negative", "fixed_delay", {SIZE_OF, .fixed_delay = INT64_MIN}},
    {"only one of fixed_rate, fixed_delay, next, trigger and cron can be given",
     NULL,
     {SIZE_OF, .fixed_rate = 1, .fixed_delay = 1}},
    {"only one of fixed_rate, fixed_delay, next, trigger and cron can be given",
     NULL,
     {SIZE_OF, .fixed_rate = 1, .next = some_time}},
    {"only one of fixed_rate, fixed_delay, next, trigger and cron can be given",
     NULL,
     {SIZE_OF, .fixed_delay = 1, .next = some_time}},
    {"only one of fixed_rate, fixed_delay, next, trigger and cron can be given",
     NULL,
     {SIZE_OF, .fixed_rate = 1, .fixed_delay = 1, .next = some_time}},
    {"only one of fixed_rate, fixed_delay, next, trigger and cron can be given",
     NULL,
     {SIZE_OF, .fixed_rate = 1, .cron = "@daily"}},
    {"only one of fixed_rate, fixed_delay, next, trigger and cron can be given",
     NULL,
     {SIZE_OF, .fixed_delay = 1, .cron = "@daily"}},
    {"only one of fixed_rate, fixed_delay, next, trigger and cron can be given",
     NULL,
     {SIZE_OF, .next = some_time, .cron = "@daily"}},
    {"next_arg has no effect without next", "next_arg", {SIZE_OF, .fixed_rate = 1, AN_ARG}},
    {"only one of initial_delay and at can be given", "at", {SIZE_OF, .initial_delay = 1, .at = {1}}},
    {"only one of initial_delay and at can be given", "at", {SIZE_OF, .initial_delay = -1, .at = {-1}}},
    {"clock is not a HORA_CLOCK_ value", "clock", {SIZE_OF, .clock = (hora_clock_id)4}},
    {"clock is not a HORA_CLOCK_ value", "clock", {SIZE_OF, .clock = (hora_clock_id)-1}},
    {"at is a wall-clock time: clock must be HORA_CLOCK_WALL or left out",
     "at",
     {SIZE_OF, .at = {1}, .clock = HORA_CLOCK_MONOTONIC}},
    {"at is a wall-clock time: clock must be HORA_CLOCK_WALL or left out",
     "at",
     {SIZE_OF, .at = {1}, .clock = HORA_CLOCK_BOOTTIME}},
    {"count is negative", "count", {SIZE_OF, .fixed_rate = 1, .count = -1}},
    {"count and end have no effect on a task that runs once", "count", {SIZE_OF, .count = 1}},
    {"count and end have no effect on a task that runs once", "count", {SIZE_OF, .end = {1}}},

    {"zone has no effect without cron", "zone", {SIZE_OF, .zone = "UTC"}},
    {"zone has no effect without cron", "zone", {SIZE_OF, .fixed_rate = 1, .zone = "UTC"}},
    {"dialect is not a HORA_CRON_ value",
     "dialect",
     {SIZE_OF, .cron = "@daily", .dialect = (hora_cron_dialect)2}},
    {"dialect is not a HORA_CRON_ value",
     "dialect",
     {SIZE_OF, .cron = "@daily", .dialect = (hora_cron_dialect)-1}},
    {"dialect has no effect without cron", "dialect", {SIZE_OF, .fixed_rate = 1, .dialect = HORA_CRON_UNIX}},
    {"dst is not a HORA_DST_ value", "dst", {SIZE_OF, .cron = "@daily", .dst = (hora_dst)2}},
    {"dst is not a HORA_DST_ value", "dst", {SIZE_OF, .cron = "@daily", .dst = (hora_dst)-1}},
    {"dst has no effect without cron", "dst", {SIZE_OF, .dst = HORA_DST_ONCE}},
    {"cron gives wall-clock times: clock must be HORA_CLOCK_WALL or left out",
     "cron",
     {SIZE_OF, .cron = "@daily", .clock = HORA_CLOCK_MONOTONIC}},
    {"cron gives wall-clock times: clock must be HORA_CLOCK_WALL or left out",
     "cron",
     {SIZE_OF, .cron = "@daily", .clock = HORA_CLOCK_BOOTTIME}},
    {"fields are missing; six are needed: second minute hour day month weekday, in \"\"",
     "cron",
     {SIZE_OF, .cron = ""}},
    {"five fields are for the Unix dialect; six are needed, starting with second, in \"* * * * *\"",
     "cron",
     {SIZE_OF, .cron = "* * * * *"}},
    {"six fields are for the Spring dialect; five are needed, without second, in \"* * * * * *\"",
     "cron",
     {SIZE_OF, .cron = "* * * * * *", .dialect = HORA_CRON_UNIX}},
    {"hour: 24 is not in 0-23, in \"0 0 24 * * *\"", "hour", {SIZE_OF, .cron = "0 0 24 * * *"}},
    {"@reboot is for the Unix dialect only, in \"@reboot\"", "cron", {SIZE_OF, .cron = "@reboot"}},
    {"HORA_OVERLAP_QUEUE_ONE has no effect without fixed_rate",
     "overlap",
     {SIZE_OF, .cron = "@daily", .overlap = HORA_OVERLAP_QUEUE_ONE}},

    {"missed is not a HORA_MISSED_ value", "missed", {SIZE_OF, .fixed_rate = 1, .missed = (hora_missed)4}},
    {"missed is not a HORA_MISSED_ value", "missed", {SIZE_OF, .fixed_rate = 1, .missed = (hora_missed)-1}},
    {"HORA_MISSED_AT_MOST needs a missed_max of at least 1",
     "missed",
     {SIZE_OF, .fixed_rate = 1, .missed = HORA_MISSED_AT_MOST}},
    {"HORA_MISSED_AT_MOST needs a missed_max of at least 1",
     "missed",
     {SIZE_OF, .fixed_rate = 1, .missed = HORA_MISSED_AT_MOST, .missed_max = -1}},
    {"missed_max has no effect without HORA_MISSED_AT_MOST",
     "missed_max",
     {SIZE_OF, .fixed_rate = 1, .missed_max = 1}},
    {"missed_max has no effect without HORA_MISSED_AT_MOST",
     "missed_max",
     {SIZE_OF, .fixed_rate = 1, .missed = HORA_MISSED_SKIP, .missed_max = 1}},
    {"missed has no effect without fixed_rate, next, trigger or cron",
     "missed",
     {SIZE_OF, .missed = HORA_MISSED_SKIP}},
    {"missed has no effect without fixed_rate, next, trigger or cron",
     "missed",
     {SIZE_OF, .fixed_delay = 1, .missed = HORA_MISSED_BURST}},
    {"grace is negative", "grace", {SIZE_OF, .grace = -1}},

    {"overlap is not a HORA_OVERLAP_ value",
     "overlap",
     {SIZE_OF, .fixed_rate = 1, .overlap = (hora_overlap)3}},
    {"overlap is not a HORA_OVERLAP_ value",
     "overlap",
     {SIZE_OF, .fixed_rate = 1, .overlap = (hora_overlap)-1}},
    {"HORA_OVERLAP_QUEUE_ONE has no effect without fixed_rate",
     "overlap",
     {SIZE_OF, .overlap = HORA_OVERLAP_QUEUE_ONE}},
    {"HORA_OVERLAP_QUEUE_ONE has no effect without fixed_rate",
     "overlap",
     {SIZE_OF, .fixed_delay = 1, .overlap = HORA_OVERLAP_QUEUE_ONE}},
    {"HORA_OVERLAP_ALLOW has no effect without fixed_rate, next, trigger or cron",
     "overlap",
     {SIZE_OF, .fixed_delay = 1, .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2}},
    {"HORA_OVERLAP_ALLOW needs an overlap_max from 2 to 1000",
     "overlap",
     {SIZE_OF, .fixed_rate = 1, .overlap = HORA_OVERLAP_ALLOW}},
    {"HORA_OVERLAP_ALLOW needs an overlap_max from 2 to 1000",
     "overlap",
     {SIZE_OF, .fixed_rate = 1, .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 1}},
    {"HORA_OVERLAP_ALLOW needs an overlap_max from 2 to 1000",
     "overlap",
     {SIZE_OF, .fixed_rate = 1, .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 1001}},
    {"overlap_max has no effect without HORA_OVERLAP_ALLOW",
     "overlap_max",
     {SIZE_OF, .fixed_rate = 1, .overlap_max = 2}},

    {"failure is not a HORA_FAILURE_ value", "failure", {SIZE_OF, .failure = (hora_failure)3}},
    {"failure is not a HORA_FAILURE_ value", "failure", {SIZE_OF, .failure = (hora_failure)-1}},
    {"stop_after is negative", "stop_after", {SIZE_OF, .fixed_rate = 1, .stop_after = -1}},
    {"stop_after has no effect with HORA_FAILURE_STOP",
     "stop_after",
     {SIZE_OF, .fixed_rate = 1, .failure = HORA_FAILURE_STOP, .stop_after = 1}},
    {"back_off, back_off_factor and back_off_max have no effect without HORA_FAILURE_BACK_OFF",
     "back_off",
     {SIZE_OF, .back_off = 1}},
    {"back_off, back_off_factor and back_off_max have no effect without HORA_FAILURE_BACK_OFF",
     "back_off",
     {SIZE_OF, .back_off_factor = 2}},
    {"back_off, back_off_factor and back_off_max have no effect without HORA_FAILURE_BACK_OFF",
     "back_off",
     {SIZE_OF, .fixed_rate = 1, .failure = HORA_FAILURE_STOP, .back_off_max = 1}},
    {"back_off or back_off_max is negative",
     "back_off",
     {SIZE_OF, .failure = HORA_FAILURE_BACK_OFF, .back_off = -1}},
    {"back_off or back_off_max is negative",
     "back_off",
     {SIZE_OF, .failure = HORA_FAILURE_BACK_OFF, .back_off_max = -1}},
    {"back_off_max is less than back_off",
     "back_off_max",
     {SIZE_OF, .failure = HORA_FAILURE_BACK_OFF, .back_off = 2, .back_off_max = 1}},
    {"back_off_factor is not between 1 and 1e9",
     "back_off_factor",
     {SIZE_OF, .failure = HORA_FAILURE_BACK_OFF, .back_off_factor = 0.99}},
    {"back_off_factor is not between 1 and 1e9",
     "back_off_factor",
     {SIZE_OF, .failure = HORA_FAILURE_BACK_OFF, .back_off_factor = -2}},
    {"back_off_factor is not between 1 and 1e9",
     "back_off_factor",
     {SIZE_OF, .failure = HORA_FAILURE_BACK_OFF, .back_off_factor = 1.1e9}},
    {"back_off_factor is not between 1 and 1e9",
     "back_off_factor",
     {SIZE_OF, .failure = HORA_FAILURE_BACK_OFF, .back_off_factor = __builtin_nan("")}},
    {"back_off_factor is not between 1 and 1e9",
     "back_off_factor",
     {SIZE_OF, .failure = HORA_FAILURE_BACK_OFF, .back_off_factor = __builtin_inf()}},
    {"HORA_FAILURE_BACK_OFF cannot be combined with HORA_OVERLAP_ALLOW: other runs may be in progress",
     "overlap",
     {SIZE_OF, .fixed_rate = 1, .failure = HORA_FAILURE_BACK_OFF, .overlap = HORA_OVERLAP_ALLOW,
      .overlap_max = 2}},

    {"slack is negative", "slack", {SIZE_OF, .slack = -1}},
    {"spread is negative", "spread", {SIZE_OF, .spread = -1}},
    {"spread is greater than fixed_rate: the order of the planned times could change",
     "spread",
     {SIZE_OF, .fixed_rate = 1, .spread = 2}},

    {"struct_size is wrong: start from HORA_INIT(hora_schedule)", "struct_size", {.fixed_rate = 1}},
    {"struct_size is wrong: start from HORA_INIT(hora_schedule)",
     "struct_size",
     {.struct_size = sizeof(hora_schedule) - 1, .fixed_rate = 1}},
};

TEST(schedule_check_says_why, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);

    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        hora_error reason, again;
        hora_future *future = (hora_future *)untouched;
        CHECK_ERROR(hora_schedule_check(&refused[i].spec, &reason), HORA_EINVAL);
        if (strcmp(reason.message, refused[i].reason) != 0)
            test_fail(__FILE__, __LINE__, "case %zu: \"%s\", not \"%s\"", i, reason.message,
                      refused[i].reason);
        CHECK_REFUSAL(&reason, HORA_EINVAL, refused[i].field, "");
        CHECK_INT(reason.field == NULL, refused[i].field == NULL);
        CHECK_ERROR(hora_schedule_check(&refused[i].spec, NULL), HORA_EINVAL);
        CHECK_ERROR(hora_scheduler_schedule_with(s.scheduler, TICK(&tick), &refused[i].spec, &future, &again),
                    HORA_EINVAL);
        CHECK_REFUSAL(&again, HORA_EINVAL, refused[i].field, refused[i].reason);
        CHECK_POINTER(future, untouched);
    }
    CHECK_INT(tick.runs, 0);
    CHECK_INT(tick.drops, 0);
    stage_close(&s);
}

static const hora_schedule accepted[] = {
    {SIZE_OF},
    {SIZE_OF, .initial_delay = -1},
    {SIZE_OF, .initial_delay = INT64_MAX, .fixed_rate = INT64_MAX},
    {SIZE_OF, .at = {INT64_MIN}, .clock = HORA_CLOCK_WALL},
    {SIZE_OF, .next = some_time, AN_ARG},
    {SIZE_OF, .fixed_rate = 1, .count = INT64_MAX, .end = {INT64_MIN}},
    {SIZE_OF, .fixed_rate = 1, .missed = HORA_MISSED_AT_MOST, .missed_max = INT32_MAX},
    {SIZE_OF, .grace = INT64_MAX, .slack = INT64_MAX, .spread = INT64_MAX},
    {SIZE_OF, .fixed_rate = 1, .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2},
    {SIZE_OF, .fixed_rate = 1, .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 1000},
    {SIZE_OF, .next = some_time, .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2},
    {SIZE_OF, .fixed_rate = 1, .overlap = HORA_OVERLAP_QUEUE_ONE, .failure = HORA_FAILURE_BACK_OFF},
    {SIZE_OF, .failure = HORA_FAILURE_BACK_OFF, .back_off_factor = 1, .back_off = 5, .back_off_max = 5},
    {SIZE_OF, .failure = HORA_FAILURE_BACK_OFF, .back_off_factor = 1e9, .back_off = INT64_MAX},
    {SIZE_OF, .fixed_rate = 1, .stop_after = INT32_MAX},
    {SIZE_OF, .fixed_rate = 1, .spread = 1},
    {SIZE_OF, .cron = "@daily"},
    {SIZE_OF, .cron = "* * * * *", .dialect = HORA_CRON_UNIX, .zone = "+05:30", .dst = HORA_DST_ONCE},
    {SIZE_OF, .cron = "@daily", .initial_delay = 1, .clock = HORA_CLOCK_WALL, .count = 1, .end = {1}},
    {SIZE_OF, .cron = "@daily", .missed = HORA_MISSED_SKIP, .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2},
    {SIZE_OF, .cron = "0 0 0 31 2 *",
     .zone = "Europe/Berlin"}, /* whether it ever comes is found out when it is scheduled */
};

TEST(schedule_check_accepts_what_can_work, "")
{
    for (size_t i = 0; i < sizeof(accepted) / sizeof(*accepted); i++) {
        hora_error reason = {.code = 1};
        int error = hora_schedule_check(&accepted[i], &reason);
        if (error != 0)
            test_fail(__FILE__, __LINE__, "case %zu: %s", i, reason.message);
        CHECK_INT(reason.code, error);
    }
    CHECK_OK(hora_schedule_check(NULL, NULL)); /* all defaults */
}

/* The error of the zone says what is wrong with it. */
TEST(schedule_check_says_what_is_wrong_with_a_zone, "")
{
    static const struct {
        const char *zone;
        int error;
    } zones[] = {{"Europe/Atlantis", HORA_ENOENT},
                 {"", HORA_EINVAL},
                 {"../etc/passwd", HORA_EINVAL},
                 {"+19", HORA_EINVAL}};
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);
    for (size_t i = 0; i < sizeof(zones) / sizeof(*zones); i++) {
        const hora_schedule *spec = HORA_SCHEDULE(.cron = "@daily", .zone = zones[i].zone);
        hora_error reason, own_reason;
        hora_zone *zone = NULL;
        hora_future *future = (hora_future *)untouched;
        CHECK_ERROR(hora_schedule_check(spec, &reason), zones[i].error);
        CHECK_ERROR(hora_schedule_check(spec, NULL), zones[i].error);
        CHECK_ERROR(hora_zone_new(zones[i].zone, NULL, &zone, &own_reason), zones[i].error);
        CHECK_INT(strcmp(reason.message, own_reason.message), 0);
        CHECK_REFUSAL(&reason, zones[i].error, "zone", zones[i].zone);
        CHECK_ERROR(hora_scheduler_schedule_with(s.scheduler, TICK(&tick), spec, &future, &reason),
                    zones[i].error);
        CHECK_INT(strcmp(reason.message, own_reason.message), 0);
        CHECK_POINTER(future, untouched);
    }
    CHECK_INT(tick.drops, 0);
    stage_close(&s);
}

/* Triggers of the calendar need the wall clock, others do not care. */
TEST(schedule_check_knows_triggers, "")
{
    hora_trigger *period = NULL, *function = NULL, *instants = NULL;
    hora_error reason;
    CHECK_OK(hora_trigger_new_periodic(1, NULL, &period, NULL));
    CHECK_OK(hora_trigger_new(some_time, NULL, NULL, &function));
    CHECK_OK(hora_trigger_new_instants(&(hora_instant){1}, 1, &instants));
    hora_trigger *all[] = {period, function, instants};
    for (int i = 0; i < 3; i++) {
        CHECK_OK(hora_schedule_check(HORA_SCHEDULE(.trigger = all[i]), NULL));
        CHECK_OK(hora_schedule_check(HORA_SCHEDULE(.trigger = all[i], .clock = HORA_CLOCK_WALL), NULL));
        CHECK_ERROR(hora_schedule_check(HORA_SCHEDULE(.trigger = all[i], .fixed_rate = 1), NULL),
                    HORA_EINVAL);
        CHECK_ERROR(hora_schedule_check(HORA_SCHEDULE(.trigger = all[i], .cron = "@daily"), NULL),
                    HORA_EINVAL);
        CHECK_ERROR(hora_schedule_check(HORA_SCHEDULE(.trigger = all[i], .zone = "UTC"), NULL), HORA_EINVAL);
        int error =
            hora_schedule_check(HORA_SCHEDULE(.trigger = all[i], .clock = HORA_CLOCK_BOOTTIME), &reason);
        CHECK_INT(error, i < 2 ? 0 : HORA_EINVAL);
    }
    CHECK_REFUSAL(&reason, HORA_EINVAL, "trigger",
                  "this trigger gives wall-clock times: clock must be HORA_CLOCK_WALL or left out");
    for (int i = 0; i < 3; i++)
        CHECK_POINTER(hora_trigger_unref(all[i]), NULL);
}

/* A schedule of a later release is accepted as long as it uses nothing new. */
TEST(schedule_check_knows_its_own_size, "")
{
    struct {
        hora_schedule known;
        unsigned char unknown[16];
    } larger = {.known = {.struct_size = sizeof(larger), .fixed_rate = 1}};

    CHECK_OK(hora_schedule_check(&larger.known, NULL));
    larger.unknown[15] = 1;
    CHECK_ERROR(hora_schedule_check(&larger.known, NULL), HORA_EINVAL);
    const hora_schedule init = HORA_INIT(hora_schedule);
    CHECK_INT(memcmp(&init, HORA_SCHEDULE(.initial_delay = 0), sizeof(init)), 0);
    CHECK_INT(init.struct_size, sizeof(init));
}

static int do_nothing(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

TEST(schedule_with_refuses_bad_input, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    hora_pool *pool = NULL;
    hora_future *future = (hora_future *)untouched;
    const hora_task *good = HORA_TASK(do_nothing, NULL);

    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1), &pool, NULL));
    hora_scheduler *schedulers[] = {NULL, pool, s.scheduler, s.scheduler};
    const hora_task *tasks[] = {good, good, NULL, HORA_TASK(NULL, NULL)};
    for (int i = 0; i < 4; i++) {
        CHECK_ERROR(hora_scheduler_schedule_with(schedulers[i], tasks[i], NULL, &future, NULL), HORA_EINVAL);
        CHECK_ERROR(hora_scheduler_schedule_with(schedulers[i], tasks[i], HORA_SCHEDULE(.fixed_rate = 1),
                                                 &future, NULL),
                    HORA_EINVAL);
        CHECK_ERROR(hora_scheduler_schedule(schedulers[i], tasks[i], 0, &future), HORA_EINVAL);
        CHECK_ERROR(hora_scheduler_schedule_at_fixed_rate(schedulers[i], tasks[i], 0, 1, &future),
                    HORA_EINVAL);
        CHECK_ERROR(hora_scheduler_schedule_with_fixed_delay(schedulers[i], tasks[i], 0, 1, &future),
                    HORA_EINVAL);
    }
    CHECK_POINTER(future, untouched);
    CHECK_OK(hora_pool_shutdown(s.scheduler));
    CHECK_ERROR(
        hora_scheduler_schedule_with(s.scheduler, good, HORA_SCHEDULE(.fixed_rate = 1), &future, NULL),
        HORA_EREJECTED);
    CHECK_POINTER(future, untouched);
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    CHECK_OK(hora_pool_free(pool));
    stage_close(&s);
}
