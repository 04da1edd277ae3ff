/* SPDX-License-Identifier: Apache-2.0 */
/* test_explain_limits.c - hora_future_explain and hora_pool_dump of expired tasks and of stuck workers */
#include <string.h>

#include "explain_support.h"
#include "json_support.h"
#include "limits_support.h"

static hora_future *submit(struct rig *r, struct job *job, const hora_task_options *terms)
{
    hora_future *future = NULL;
    CHECK_OK(hora_pool_submit_with(r->pool, RESIZE(job_run, job), terms, &future, NULL));
    settle(&r->f);
    return future;
}

TEST(explain_says_what_it_was_too_late_for, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open(&r, &seen, 1);
    struct job blocker = A_WAITING_JOB(&r), job = A_JOB(&r);
    execute_job(&r, &blocker);
    hora_future *begins = submit(&r, &job, HORA_TASK_OPTIONS(.start_within = SEC(5)));
    hora_future *ends = submit(&r, &job, HORA_TASK_OPTIONS(.finish_within = SEC(5)));
    hora_future *both = submit(&r, &job, HORA_TASK_OPTIONS(.start_within = SEC(5), .finish_within = SEC(6)));
    pass(&r, SEC(5));
    CHECK_SAYS(begins, "resize (img.c:88) expired: it did not start in time");
    CHECK_SAYS(ends, "resize (img.c:88) expired: it did not finish in time");
    CHECK_SAYS(both, "resize (img.c:88) expired: it did not start or finish in time");
    (void)hora_future_unref(begins);
    (void)hora_future_unref(ends);
    (void)hora_future_unref(both);
    rig_close(&r);
}

struct page {
    size_t length;
    char text[1 << 14];
};

static int note(const char *text, size_t length, void *context)
{
    struct page *page = context;
    CHECK(page->length + length < sizeof(page->text));
    memcpy(page->text + page->length, text, length);
    page->length += length;
    page->text[page->length] = '\0';
    return 0;
}

TEST(explain_knows_workers_that_are_written_off, "")
{
    struct rig r;
    struct seen seen = {0};
    struct page page = {.length = 0};
    limits_open(&r, &seen, 1);
    struct job stuck = A_DEAF_JOB(&r), blocker = A_DEAF_JOB(&r), job = A_JOB(&r);
    hora_future *first = submit(&r, &stuck, HORA_TASK_OPTIONS(.stuck_after = SEC(5), .replace_stuck = true));
    pass(&r, SEC(6));
    execute_job(&r, &blocker);
    settle(&r.f);
    hora_future *future = submit(&r, &job, HORA_TASK_OPTIONS(.start_within = SEC(100)));
    pass(&r, SEC(1));
    CHECK_SAYS(first, "resize (img.c:88) is running: worker 1 has been running it for 7 s");
    char text[HORA_EXPLAIN_TEXT];
    CHECK(hora_future_explain(future, text, sizeof(text)) > 0);
    CHECK(
        strstr(
            text,
            "resize (img.c:88) is the first in the queue; its pool's only worker is busy: worker 2 has been "
            "busy with job (") == text);
    CHECK(strstr(text, " for 1 s; 1 worker is stuck, and does not count") != NULL);

    CHECK_OK(hora_pool_dump(r.pool, note, &page));
    CHECK(json_is_valid(page.text));
    CHECK_INT(json_count(page.text, "workers"), 2);
    CHECK_JSON(page.text, "workers/0/number", "1");
    CHECK_JSON(page.text, "workers/0/state", "written off");
    CHECK_JSON(page.text, "workers/0/task/name", "resize");
    CHECK_JSON(page.text, "workers/0/quiet_for", "7.0");
    CHECK_JSON(page.text, "workers/1/state", "running");
    rig_finish(&r);
    (void)hora_future_unref(first);
    (void)hora_future_unref(future);
    rig_close(&r);
}
