/* SPDX-License-Identifier: Apache-2.0 */
/* test_dump.c - hora_pool_dump: its output for all names of tasks, and with any write function */
#include <stdio.h>
#include <string.h>

#include "explain_support.h"
#include "json_support.h"
#include "pool_support.h"
#include "schedule_support.h"

/* ---- collecting the output ---- */

struct page {
    size_t length;
    int writes;
    int fails_at; /* this write fails; 0: none */
    char text[1 << 16];
};

static int note(const char *text, size_t length, void *context)
{
    struct page *page = context;
    CHECK(length > 0);
    if (++page->writes == page->fails_at)
        return -777;
    CHECK(page->length + length < sizeof(page->text));
    memcpy(page->text + page->length, text, length);
    page->length += length;
    page->text[page->length] = '\0';
    return 0;
}

static struct page page; /* of the running test: there is one at a time */

static const char *dump(hora_pool *pool)
{
    page.length = 0;
    page.writes = page.fails_at = 0;
    CHECK_OK(hora_pool_dump(pool, note, &page));
    CHECK(json_is_valid(page.text));
    return page.text;
}

TEST_REAL(json_is_read_strictly, "")
{
    static const char *const valid[] = {
        "{}", " [1, -0.5e+3, \"a\\u00e9\xC3\xA9\\n\", {\"a\":{\"a\":null}}, true] ", "0"};
    static const char *const invalid[] = {"",        "{",
                                          "[1,]",    "{\"a\":1,}",
                                          "01",      "1.",
                                          "\"\t\"",  "\"\xFF\"",
                                          "\"\\x\"", "{\"a\" 1}",
                                          "[1] 2",   "{\"a\":1,\"a\":2}",
                                          "nul",     "\"\xED\xA0\x80\""};
    for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++)
        if (!json_is_valid(valid[i]))
            test_fail(__FILE__, __LINE__, "%s is refused", valid[i]);
    for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++)
        if (json_is_valid(invalid[i]))
            test_fail(__FILE__, __LINE__, "%s is accepted", invalid[i]);
}

TEST(dump_refuses_what_is_not_there, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_ERROR(hora_pool_dump(NULL, note, &page), HORA_EINVAL);
    CHECK_ERROR(hora_pool_dump(r.pool, NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_dump_fd(NULL, 1), HORA_EINVAL);
    CHECK_ERROR(hora_pool_dump_fd(r.pool, -1), HORA_EINVAL);
    rig_close(&r);
}

/* ---- plain pools ---- */

TEST(dump_of_a_pool_shows_its_settings, "")
{
    struct rig r;
    rig_open(&r, false,
             HORA_POOL_OPTIONS(.core_threads = 2, .max_threads = 5, .keep_alive = HORA_MS(1500),
                               .queue_capacity = 7, .reject = HORA_REJECT_DISCARD_OLDEST,
                               .name = "a \"pool\""));
    const char *text = dump(r.pool);
    CHECK_JSON(text, "name", "a \"pool\"-"); /* as hora_pool_describe: what its threads are called */
    CHECK_JSON(text, "state", "Running");
    CHECK_JSON(text, "at", "1971-01-01T00:00:00Z");
    CHECK_JSON(text, "settings/core_threads", "2");
    CHECK_JSON(text, "settings/max_threads", "5");
    CHECK_JSON(text, "settings/keep_alive", "1.5");
    CHECK_JSON(text, "settings/core_time_out", "false");
    CHECK_JSON(text, "settings/reject", "discard oldest");
    CHECK_JSON(text, "settings/queue_capacity", "7");
    CHECK_JSON(text, "settings/clock", "virtual monotonic");
    CHECK_JSON(text, "settings/observability", "null");
    CHECK_INT(json_count(text, "workers"), 0);
    CHECK_JSON(text, "queue/size", "0");
    CHECK_JSON(text, "queue/oldest", "null");
    CHECK_INT(json_count(text, "queue/heads"), 0);
    CHECK_JSON(text, "next_firings", NULL);
    CHECK_JSON(text, "workers_left_out", NULL);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_JSON(dump(r.pool), "state", "Terminated");
    rig_close(&r);
}

TEST(dump_of_a_pool_shows_its_observability, "")
{
    struct rig r;
    rig_open(&r, false,
             HORA_POOL_OPTIONS(.core_threads = 2, .queue_capacity = -1, .reject = HORA_REJECT_CALLER_RUNS,
                               .watchdog = HORA_WATCHDOG(.stuck_after = HORA_SECONDS(30),
                                                         .late_after = HORA_MS(250))));
    const char *text = dump(r.pool);
    CHECK_JSON(text, "settings/queue_capacity", "0");
    CHECK_JSON(text, "settings/reject", "caller runs");
    CHECK_JSON(text, "settings/observability/metrics", "false");
    CHECK_JSON(text, "settings/observability/admission", "false");
    CHECK_JSON(text, "settings/observability/stuck_after", "30.0");
    CHECK_JSON(text, "settings/observability/late_after", "0.25");
    CHECK_JSON(text, "settings/observability/grow_after", "0.0");
    rig_close(&r);
}

TEST(dump_of_a_pool_shows_its_counts, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    struct job done = A_JOB(&r), failed = {.rig = &r, .code = 5}, blocker = A_WAITING_JOB(&r),
               cancelled = A_JOB(&r);

    execute_job(&r, &done);
    execute_job(&r, &failed);
    execute_job(&r, &blocker);
    settle(&r.f);
    hora_future *future = submit_job(&r, &cancelled);
    CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
    const char *text = dump(r.pool);
    CHECK_JSON(text, "counts/threads", "1");
    CHECK_JSON(text, "counts/active", "1");
    CHECK_JSON(text, "counts/largest", "1");
    CHECK_JSON(text, "counts/queued", "0");
    CHECK_JSON(text, "counts/accepted", "4");
    CHECK_JSON(text, "counts/done", "1");
    CHECK_JSON(text, "counts/failed", "1");
    CHECK_JSON(text, "counts/cancelled", "1");
    CHECK_JSON(text, "counts/rejected", "0");
    CHECK_JSON(text, "counts/abandoned", "0");
    CHECK_JSON(text, "counts/handed_back", "0");
    CHECK_JSON(text, "counts/expired", "0");
    CHECK_JSON(text, "counts/completed", "2");
    CHECK_JSON(text, "counts/thread_failures", "0");
    CHECK_JSON(text, "counts/thread_error", "null");
    CHECK_JSON(text, "workers/0/number", "1");
    CHECK_JSON(text, "workers/0/state", "running");
    CHECK_JSON(text, "workers/0/task", "null"); /* no observer */
    CHECK_JSON(text, "workers/0/completed", "2");
    CHECK_POINTER(hora_future_unref(future), NULL);
    rig_close(&r);
}

TEST(dump_tells_of_threads_that_could_not_be_started, "")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future = rig_open_stranded(&r, JOB(&job), HORA_POOL_OPTIONS(.name = "stranded"));
    const char *text = dump(r.pool);
    CHECK_JSON(text, "counts/thread_error", hora_strerror(HORA_EAGAIN));
    CHECK_JSON(text, "queue/size", "1");
    CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
    CHECK_POINTER(hora_future_unref(future), NULL);
    rig_close(&r);
}

static int run_step(void *job, void **ret_result)
{
    hora_progress(40, 100);
    return job_run(job, ret_result);
}

TEST(dump_shows_what_workers_run, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 3, .watchdog = HORA_WATCHDOG()));
    struct job first = A_WAITING_JOB(&r), second = A_WAITING_JOB(&r), short_one = A_JOB(&r);

    CHECK_OK(hora_pool_execute(r.pool, RESIZE(job_run, &first)));
    settle(&r.f);
    advance(&r.f, HORA_SECONDS(6));
    CHECK_OK(hora_pool_execute(r.pool, SCALE(run_step, &second)));
    execute_job(&r, &short_one);
    settle(&r.f);
    advance(&r.f, HORA_MS(3200));
    const char *text = dump(r.pool);
    CHECK_INT(json_count(text, "workers"), 3);
    CHECK_JSON(text, "workers/0/number", "1");
    CHECK_JSON(text, "workers/0/state", "running");
    CHECK_JSON(text, "workers/0/task/name", "resize");
    CHECK_JSON(text, "workers/0/task/file", "img.c");
    CHECK_JSON(text, "workers/0/task/line", "88");
    CHECK_JSON(text, "workers/0/running_for", "9.2");
    CHECK_JSON(text, "workers/0/quiet_for", "9.2");
    CHECK_JSON(text, "workers/0/progress", "null");
    CHECK_JSON(text, "workers/0/completed", "0");
    CHECK_JSON(text, "workers/1/task/name", "scale");
    CHECK_JSON(text, "workers/1/running_for", "3.2");
    CHECK_JSON(text, "workers/1/progress/done", "40");
    CHECK_JSON(text, "workers/1/progress/of", "100");
    CHECK_JSON(text, "workers/2/state", "idle");
    CHECK_JSON(text, "workers/2/task", "null");
    CHECK_JSON(text, "workers/2/running_for", "null");
    CHECK_JSON(text, "workers/2/quiet_for", "null");
    CHECK_JSON(text, "workers/2/completed", "1");
    rig_close(&r);
}

TEST(dump_shows_the_first_of_the_queue, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .watchdog = HORA_WATCHDOG()));
    struct job blocker = A_WAITING_JOB(&r), jobs[30];
    hora_future *first = NULL;

    for (int i = 0; i < 30; i++)
        jobs[i] = (struct job)A_JOB(&r);
    execute_job(&r, &blocker);
    settle(&r.f);
    CHECK_OK(hora_pool_submit_with(r.pool, RESIZE(job_run, &jobs[0]),
                                   HORA_TASK_OPTIONS(.start_within = HORA_MINUTES(5)), &first, NULL));
    CHECK_OK(hora_pool_execute(r.pool, SCALE(job_run, &jobs[1]))); /* stands there detached */
    advance(&r.f, HORA_SECONDS(2));
    for (int i = 2; i < 30; i++)
        execute_job(&r, &jobs[i]);
    const char *text = dump(r.pool);
    CHECK_JSON(text, "queue/size", "30");
    CHECK_JSON(text, "queue/oldest", "2.0");
    CHECK_INT(json_count(text, "queue/heads"), 20);
    CHECK_JSON(text, "queue/heads/0/name", "resize");
    CHECK_JSON(text, "queue/heads/0/file", "img.c");
    CHECK_JSON(text, "queue/heads/0/line", "88");
    CHECK_JSON(text, "queue/heads/0/waited", "2.0");
    CHECK_JSON(text, "queue/heads/1/name", "scale");
    CHECK_JSON(text, "queue/heads/1/line", "99");
    CHECK_JSON(text, "queue/heads/19/name", "job");
    rig_finish(&r);
    CHECK_POINTER(hora_future_unref(first), NULL);
    rig_close(&r);
}

TEST(dump_knows_how_long_tasks_have_waited_if_it_is_measured, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .metrics = HORA_METRICS()));
    struct job blocker = A_WAITING_JOB(&r), jobs[2] = {A_JOB(&r), A_JOB(&r)};
    execute_job(&r, &blocker);
    settle(&r.f);
    execute_job(&r, &jobs[0]); /* detached */
    advance(&r.f, HORA_SECONDS(2));
    hora_future *future = submit_job(&r, &jobs[1]);
    advance(&r.f, HORA_SECONDS(1));
    const char *text = dump(r.pool);
    CHECK_JSON(text, "settings/observability/metrics", "true");
    CHECK_JSON(text, "queue/oldest", "3.0");
    CHECK_JSON(text, "queue/heads/0/waited", "3.0");
    CHECK_JSON(text, "queue/heads/1/waited", "1.0");
    rig_finish(&r);
    CHECK_POINTER(hora_future_unref(future), NULL);
    rig_close(&r);
}

static int by_address(const void *a, const void *b, void *context)
{
    (void)context;
    return (a > b) - (a < b);
}

TEST(dump_knows_queues_of_the_user, "")
{
    struct rig r;
    hora_queue *queue = NULL;
    rig_prepare(&r, false);
    CHECK_OK(hora_queue_new_priority(4, HORA_QUEUE_OPTIONS(.clock = r.f.view, .compare = by_address), &queue,
                                     NULL));
    rig_pool(&r, HORA_POOL_OPTIONS(.core_threads = 1, .queue = queue));
    struct job blocker = A_WAITING_JOB(&r), jobs[2] = {A_JOB(&r), A_JOB(&r)};
    execute_job(&r, &blocker);
    settle(&r.f);
    execute_job(&r, &jobs[0]);
    execute_job(&r, &jobs[1]);
    const char *text = dump(r.pool);
    CHECK_JSON(text, "settings/queue_capacity", "null");
    CHECK_JSON(text, "queue/size", "2");
    CHECK_INT(json_count(text, "queue/heads"), 2);
    rig_finish(&r);
    CHECK_OK(hora_pool_free(r.pool));
    r.pool = NULL;
    CHECK_OK(hora_queue_free(queue));
    rig_close(&r);
}

TEST(dump_shows_classes_and_keys, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 3, .admission = HORA_ADMISSION()));
    struct job job = A_WAITING_JOB(&r);
    hora_class *slow = NULL, *mail = NULL;
    CHECK_OK(
        hora_class_new(r.pool, HORA_CLASS_OPTIONS(.name = "slow", .limit = 1, .reserve = 1), &slow, NULL));
    CHECK_OK(hora_class_new(r.pool, HORA_CLASS_OPTIONS(.name = "m\"l", .rate = 5, .per = HORA_MS(500)), &mail,
                            NULL));
    CHECK_OK(hora_pool_submit_with(r.pool, RESIZE(job_run, &job),
                                   HORA_TASK_OPTIONS(.task_class = slow, .key = 7), NULL, NULL));
    settle(&r.f);
    CHECK_OK(hora_pool_submit_with(r.pool, SCALE(job_run, &job), HORA_TASK_OPTIONS(.task_class = slow), NULL,
                                   NULL));
    CHECK_OK(hora_pool_submit_with(
        r.pool, RESIZE(job_run, &job),
        HORA_TASK_OPTIONS(.task_class = slow, .key = UINT64_MAX, .priority = HORA_PRIORITY_URGENT), NULL,
        NULL));
    advance(&r.f, HORA_SECONDS(2));
    const char *text = dump(r.pool);
    CHECK_JSON(text, "settings/observability/admission", "true");
    CHECK_INT(json_count(text, "classes"), 2);
    CHECK_JSON(text, "classes/0/name", "slow");
    CHECK_JSON(text, "classes/0/limit", "1");
    CHECK_JSON(text, "classes/0/reserve", "1");
    CHECK_JSON(text, "classes/0/rate", "0");
    CHECK_JSON(text, "classes/0/per", "0.0");
    CHECK_JSON(text, "classes/0/running", "1");
    CHECK_JSON(text, "classes/0/waiting", "2");
    CHECK_JSON(text, "classes/0/started", "1");
    CHECK_JSON(text, "classes/1/name", "m\"l");
    CHECK_JSON(text, "classes/1/rate", "5");
    CHECK_JSON(text, "classes/1/per", "0.5");
    CHECK_JSON(text, "keys", "2");
    CHECK_JSON(text, "queue/size", "2");
    CHECK_JSON(text, "queue/heads/0/name", "resize"); /* the more urgent one */
    CHECK_JSON(text, "queue/heads/0/class", "slow");
    CHECK_JSON(text, "queue/heads/0/key", "18446744073709551615");
    CHECK_JSON(text, "queue/heads/0/priority", "2");
    CHECK_JSON(text, "queue/heads/0/waited", "2.0");
    CHECK_JSON(text, "queue/heads/1/name", "scale");
    CHECK_JSON(text, "queue/heads/1/key", "null");
    CHECK_JSON(text, "queue/heads/1/priority", "0");
    rig_close(&r);
}

/* ---- names ---- */

/* What a name becomes: bytes that are no UTF-8 are replaced, one by one. */
static void expect_name(const char *name, char *want)
{
    while (*name != '\0') {
        char quoted[8] = "\"\"";
        int length = 1;
        for (; length < 4 && ((unsigned char)name[length] & 0xC0) == 0x80; length++) {
        }
        for (; length > 0; length--) {
            (void)snprintf(quoted, sizeof(quoted), "\"%.*s\"", length, name);
            if (json_is_valid(quoted) || (length == 1 && (unsigned char)*name < 0x80))
                break;
        }
        if (length > 0)
            memcpy(want, name, (size_t)length);
        else
            memcpy(want, "\xEF\xBF\xBD", 3);
        want += length > 0 ? length : 3;
        name += length > 0 ? length : 1;
    }
    *want = '\0';
}

/* A few bytes, most of them of those that mean something. */
static void make_name(char *name, int length)
{
    static const char evil[] =
        "\"\\/\b\f\n\r\t\x01\x1F\x7F\x80\xBF\xC0\xC3\xA9\xE2\x82\xAC\xED\xA0\xF0\x9F\x98\x80\xF4\xFF{}[]:, a";
    for (int i = 0; i < length; i++)
        name[i] = test_random(4) == 0 ? (char)(1 + test_random(255)) : evil[test_random(sizeof(evil) - 1)];
    name[length] = '\0';
}

TEST(dump_is_valid_whatever_tasks_are_called, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    struct job blocker = A_WAITING_JOB(&r);
    execute_job(&r, &blocker);
    settle(&r.f);
    for (int i = 0; i < (test_simulated() ? 3 : 300); i++) {
        char name[41], file[41], want[3 * 41];
        struct job job = A_JOB(&r);
        hora_future *future = NULL;
        make_name(name, (int)test_random(40));
        make_name(file, (int)test_random(40));
        const hora_task task = {
            .run = job_run, .arg = &job, .drop = job_drop, .name = name, .file = file, .line = -1};
        CHECK_OK(hora_pool_submit(r.pool, &task, &future));
        const char *text = dump(r.pool);
        expect_name(name, want);
        CHECK_JSON(text, "queue/heads/0/name", want);
        expect_name(file, want);
        CHECK_JSON(text, "queue/heads/0/file", want);
        CHECK_JSON(text, "queue/heads/0/line", "-1");
        CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
        CHECK_POINTER(hora_future_unref(future), NULL);
    }
    rig_close(&r);
}

TEST(dump_cuts_long_names_between_characters, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    struct job blocker = A_WAITING_JOB(&r), job = A_JOB(&r);
    char name[1001] = "";
    execute_job(&r, &blocker);
    settle(&r.f);
    for (int i = 0; i < 500; i++)
        memcpy(name + 2 * i, "\xC3\xA9", 3);
    const hora_task task = {.run = job_run, .arg = &job, .drop = job_drop, .name = name};
    CHECK_OK(hora_pool_execute(r.pool, &task));
    const char *text = dump(r.pool);
    name[126] = '\0';
    CHECK_JSON(text, "queue/heads/0/name", name);
    CHECK_JSON(text, "queue/heads/0/file", "null");
    CHECK_JSON(text, "queue/heads/0/line", "null");
    rig_close(&r);
}

/* ---- schedulers ---- */

TEST(dump_of_a_scheduler_shows_what_comes_next, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick ticks[4] = {A_TICK(&s), A_TICK(&s), A_TICK(&s), A_TICK(&s)};
    hora_future *futures[4];

    futures[0] = START(&s, &ticks[0], .fixed_rate = SEC(5), .initial_delay = SEC(7));
    futures[1] = START(&s, &ticks[1], .at = stage_instant(&s, 3));
    futures[2] = START(&s, &ticks[2], .initial_delay = SEC(2));
    futures[3] = START(&s, &ticks[3], .initial_delay = SEC(1));
    CHECK_INT(hora_future_pause(futures[2]), 1);
    CHECK_OK(hora_scheduler_schedule(s.scheduler, RESIZE(job_run, NULL), HORA_MS(2500),
                                     NULL)); /* without a future */
    const char *text = dump(s.scheduler);
    CHECK_JSON(text, "queue/size", "0");
    CHECK_JSON(text, "planned", "4");
    CHECK_INT(json_count(text, "next_firings"), 4);
    CHECK_JSON(text, "next_firings/0/name", "tick");
    CHECK_JSON(text, "next_firings/0/in", "1.0");
    CHECK_JSON(text, "next_firings/0/at", "1971-01-01T00:00:01Z");
    CHECK_JSON(text, "next_firings/0/series", "false");
    CHECK_JSON(text, "next_firings/1/name", "resize");
    CHECK_JSON(text, "next_firings/1/file", "img.c");
    CHECK_JSON(text, "next_firings/1/line", "88");
    CHECK_JSON(text, "next_firings/1/at", "1971-01-01T00:00:02.500Z");
    CHECK_JSON(text, "next_firings/2/in", "3.0");
    CHECK_JSON(text, "next_firings/3/in", "7.0");
    CHECK_JSON(text, "next_firings/3/series", "true");
    for (int i = 0; i < 4; i++)
        END(&ticks[i], futures[i]);
    CHECK_OK(hora_pool_shutdown_now(s.scheduler, NULL));
    stage_close(&s);
}

TEST(dump_of_a_scheduler_shows_what_is_due, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick blocker = {.stage = &s, .waits = true}, ticks[30];
    hora_future *futures[30];

    hora_future *blocking = START(&s, &blocker, .initial_delay = 0);
    stage_settle(&s);
    for (int i = 0; i < 30; i++) {
        ticks[i] = (struct tick)A_TICK(&s);
        futures[i] = START(&s, &ticks[i], .initial_delay = SEC(30 - i));
    }
    stage_pass(&s, 5);
    const char *text = dump(s.scheduler);
    CHECK_JSON(text, "queue/size", "5");
    CHECK_JSON(text, "queue/oldest", "4.0");
    CHECK_INT(json_count(text, "queue/heads"), 5);
    CHECK_JSON(text, "queue/heads/0/waited", "4.0");
    CHECK_JSON(text, "queue/heads/4/waited", "0.0");
    CHECK_JSON(text, "planned", "25");
    CHECK_INT(json_count(text, "next_firings"), 20);
    CHECK_JSON(text, "next_firings/0/in", "1.0");
    CHECK_JSON(text, "next_firings/19/in", "20.0");
    CHECK_OK(hora_latch_count_down(s.gate));
    stage_settle(&s);
    for (int i = 0; i < 30; i++)
        END(&ticks[i], futures[i]);
    END(&blocker, blocking);
    stage_close(&s);
}

TEST(dump_of_a_scheduler_with_admission_shows_classes, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 2, .admission = HORA_ADMISSION()));
    struct tick blocker = {.stage = &s, .waits = true}, tick = A_TICK(&s);
    hora_class *slow = NULL;
    CHECK_OK(hora_class_new(s.scheduler, HORA_CLASS_OPTIONS(.name = "slow", .limit = 1), &slow, NULL));
    hora_future *running = START(&s, &blocker, .options = HORA_TASK_OPTIONS(.task_class = slow));
    stage_settle(&s);
    hora_future *held =
        START(&s, &tick, .initial_delay = SEC(1), .options = HORA_TASK_OPTIONS(.task_class = slow, .key = 5));
    stage_pass(&s, 3);
    const char *text = dump(s.scheduler);
    CHECK_JSON(text, "queue/size", "1");
    CHECK_JSON(text, "queue/heads/0/waited", "2.0");
    CHECK_JSON(text, "queue/heads/0/class", "slow");
    CHECK_JSON(text, "queue/heads/0/key", "5");
    CHECK_JSON(text, "planned", "0");
    CHECK_JSON(text, "classes/0/running", "1");
    CHECK_JSON(text, "classes/0/waiting", "1");
    CHECK_JSON(text, "keys", "1");
    CHECK_OK(hora_latch_count_down(s.gate));
    stage_settle(&s);
    END(&blocker, running);
    END(&tick, held);
    stage_close(&s);
}

/* ---- who writes ---- */

TEST(dump_ends_with_the_first_error_of_the_writer, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .watchdog = HORA_WATCHDOG()));
    for (int i = 1; i <= 2; i++) {
        page.length = 0;
        page.writes = 0;
        page.fails_at = i;
        CHECK_ERROR(hora_pool_dump(r.pool, note, &page), -777);
        CHECK_INT(page.writes, i);
    }
    rig_close(&r);
}

struct busybody {
    struct rig *rig;
    struct job job;
    int writes;
};

static int use_the_pool(const char *text, size_t length, void *context)
{
    struct busybody *body = context;
    char line[80];
    (void)text;
    CHECK(length > 0);
    if (body->writes++ > 0)
        return 0;
    execute_job(body->rig, &body->job);
    CHECK(hora_pool_describe(body->rig->pool, line, sizeof(line)) > 0);
    CHECK(dump(body->rig->pool) != NULL);
    return 0;
}

TEST(dump_lets_the_writer_use_the_pool, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    struct busybody body = {.rig = &r, .job = A_JOB(&r)};
    CHECK_OK(hora_pool_dump(r.pool, use_the_pool, &body));
    rig_finish(&r);
    CHECK_JOB(&body.job, 1);
    rig_close(&r);
}
