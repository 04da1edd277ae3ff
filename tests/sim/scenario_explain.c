/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_explain.c - explaining and dumping while other threads use the pool
 *
 * A thread that explains or dumps takes locks one at a time, and holds references to what it reads. The
 * simulator checks the ranks of locks, and that no freed memory is used. The answer must have been true at
 * some moment of the call. */
#include <stdatomic.h>
#include <string.h>

#include "books.h"
#include "harness.h"

static hora_pool *pool;
static atomic_int begun;
static atomic_int ended;

static int work(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    (void)hora_interrupted();
    begun++;
    hora_progress(1, 2);
    ended++;
    return 0;
}

static const hora_task task = {.run = work, .name = "work", .file = "w.c", .line = 1};

static bool says(const char *text, const char *words)
{
    return strstr(text, words) != NULL;
}

/* Explains once, and compares the answer with the states before and after the call. */
static void explain(hora_future *future)
{
    char text[HORA_EXPLAIN_TEXT];
    bool was_done = hora_future_is_done(future);
    bool had_begun = begun > 0;
    int length = hora_future_explain(future, text, sizeof(text));
    bool is_done = hora_future_is_done(future);
    CHECK_INT(length, (int)strlen(text));
    CHECK(strncmp(text, "work (w.c:1) ", 13) == 0);
    bool says_done = says(text, "succeeded") || says(text, "was abandoned") || says(text, "was cancelled") ||
                     says(text, "was rejected") || says(text, "is over");
    bool says_waits =
        says(text, "in the queue") || says(text, "about to run it") || says(text, "waits for its time");
    bool says_runs = says(text, "work (w.c:1) is running");
    CHECK(!was_done || says_done);
    CHECK(!says_done || is_done);
    CHECK(!says_runs || begun > 0 || !had_begun);
    CHECK(says_done || says_waits || says_runs || says(text, "due") || says(text, "in no queue") ||
          says(text, "is being removed") || says(text, "ahead of it") ||
          says(text, "waits: its class narrow is at its limit of") || says(text, "is the next to start") ||
          says(text, "being added to or removed") || says(text, "taken by a worker"));
}

static void explain_twice(void *future)
{
    explain(future);
    explain(future);
}

static void explain_once(void *future)
{
    explain(future);
}

static hora_future *submit(void)
{
    hora_future *future = NULL;
    CHECK_OK(hora_pool_submit(pool, &task, &future));
    return future;
}

static void begin(const hora_pool_options *options)
{
    begun = ended = 0;
    CHECK_OK(hora_pool_new(options, &pool, NULL));
}

/* ---- explaining ---- */

/* The pool is freed at the same time: whatever was found of it stays until it has been said. */
static void explain_meets_free(const hora_pool_options *options, hora_queue *queue)
{
    begin(options);
    hora_future *first = submit(), *second = submit();
    test_thread *other = test_thread_start(NULL, explain_once, second);
    free_pool(pool);
    if (queue != NULL)
        CHECK_OK(hora_queue_free(queue));
    test_thread_join(other);
    explain(first);
    explain(second);
    (void)hora_future_unref(first);
    (void)hora_future_unref(second);
}

LARGE_SCENARIO(explain_meets_the_end_of_its_pool)
{
    explain_meets_free(HORA_POOL_OPTIONS(.core_threads = 1), NULL);
}

LARGE_SCENARIO(explain_meets_the_end_of_its_queue)
{
    hora_queue *queue = NULL;
    CHECK_OK(hora_queue_new_linked(HORA_UNBOUNDED, NULL, &queue, NULL));
    explain_meets_free(HORA_POOL_OPTIONS(.core_threads = 1, .queue = queue), queue);
}

LARGE_SCENARIO(explain_meets_the_end_of_a_watched_pool)
{
    explain_meets_free(HORA_POOL_OPTIONS(.core_threads = 1, .watchdog = HORA_WATCHDOG()), NULL);
}

static void run_by_hand(void *future)
{
    (void)hora_future_run(future);
}

/* The thread that runs it ends, and with it its record. */
MEDIUM_SCENARIO(explain_meets_the_end_of_a_thread)
{
    hora_future *future = NULL;
    begun = ended = 0;
    CHECK_OK(hora_future_new(&task, &future));
    test_thread *other = test_thread_start(NULL, run_by_hand, future);
    explain(future);
    explain(future);
    test_thread_join(other);
    (void)hora_future_unref(future);
}

static void cancel(void *future)
{
    (void)hora_future_cancel(future, true);
}

LARGE_SCENARIO(explain_meets_cancel_and_run)
{
    begin(HORA_POOL_OPTIONS(.core_threads = 1, .metrics = HORA_METRICS()));
    hora_future *first = submit(), *second = submit();
    test_thread *canceller = test_thread_start(NULL, cancel, second);
    test_thread *other = test_thread_start(NULL, explain_twice, second);
    explain(first);
    explain(first);
    test_thread_join(canceller);
    test_thread_join(other);
    CHECK_OK(hora_pool_free(pool));
    (void)hora_future_unref(first);
    (void)hora_future_unref(second);
}

LARGE_SCENARIO(explain_meets_a_series)
{
    hora_future *series = NULL, *once = NULL;
    begun = ended = 0;
    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &pool, NULL));
    CHECK_OK(hora_scheduler_schedule_with(pool, &task, HORA_SCHEDULE(.fixed_rate = 10, .count = 2), &series,
                                          NULL));
    CHECK_OK(hora_scheduler_schedule(pool, &task, 5, &once));
    test_thread *other = test_thread_start(NULL, explain_twice, series);
    explain(once);
    explain(series);
    test_thread *canceller = test_thread_start(NULL, cancel, once);
    explain(once);
    CHECK_OK(hora_pool_shutdown(pool));
    explain(series);
    test_thread_join(canceller);
    test_thread_join(other);
    CHECK_OK(hora_pool_free(pool));
    explain(series);
    (void)hora_future_unref(series);
    (void)hora_future_unref(once);
}

/* ---- dumping ---- */

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

static struct page pages[2];

/* Whole, and with all that there is. */
static void dump_into(void *arg)
{
    struct page *page = arg;
    page->length = 0;
    CHECK_OK(hora_pool_dump(pool, note, page));
    CHECK(page->length > 2 && strcmp(page->text + page->length - 2, "}\n") == 0);
    CHECK(!says(page->text, "workers_left_out"));
}

LARGE_SCENARIO(dump_meets_everything)
{
    begin(HORA_POOL_OPTIONS(.core_threads = 2, .metrics = HORA_METRICS()));
    test_thread *other = test_thread_start(NULL, dump_into, &pages[1]);
    hora_future *first = submit(), *second = submit();
    CHECK_OK(hora_pool_execute(pool, &task));
    dump_into(&pages[0]);
    test_thread *canceller = test_thread_start(NULL, cancel, second);
    dump_into(&pages[0]);
    test_thread_join(canceller);
    CHECK_OK(hora_pool_shutdown(pool));
    dump_into(&pages[0]);
    test_thread_join(other);
    free_pool(pool);
    CHECK_INT(begun, ended);
    (void)hora_future_unref(first);
    (void)hora_future_unref(second);
}

LARGE_SCENARIO(dump_meets_a_scheduler)
{
    hora_future *future = NULL;
    begun = ended = 0;
    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .watchdog = HORA_WATCHDOG()), &pool,
                                NULL));
    test_thread *other = test_thread_start(NULL, dump_into, &pages[1]);
    CHECK_OK(hora_scheduler_schedule(pool, &task, 5, NULL));
    CHECK_OK(hora_scheduler_schedule_with(pool, &task, HORA_SCHEDULE(.fixed_rate = 10, .count = 2), &future,
                                          NULL));
    dump_into(&pages[0]);
    test_thread *canceller = test_thread_start(NULL, cancel, future);
    dump_into(&pages[0]);
    test_thread_join(canceller);
    test_thread_join(other);
    free_pool(pool);
    (void)hora_future_unref(future);
}

/* Workers start while a dump runs that has reserved no memory for them yet. */
MEDIUM_SCENARIO(dump_meets_new_workers)
{
    begin(HORA_POOL_OPTIONS(.core_threads = 3));
    CHECK_INT(hora_pool_prestart(pool), 1);
    CHECK_INT(hora_pool_prestart(pool), 1);
    test_thread *other = test_thread_start(NULL, dump_into, &pages[1]);
    CHECK_INT(hora_pool_prestart(pool), 1);
    test_thread_join(other);
    CHECK_OK(hora_pool_free(pool));
}

/* ---- with admission ---- */

/* A task waits for its key and for a class at its limit, and both change during the call. */
LARGE_SCENARIO(explain_and_dump_meet_admission)
{
    hora_class *narrow = NULL;
    hora_future *futures[3] = {NULL, NULL, NULL};
    begin(HORA_POOL_OPTIONS(.core_threads = 2, .admission = HORA_ADMISSION()));
    CHECK_OK(hora_class_new(pool, HORA_CLASS_OPTIONS(.name = "narrow", .limit = 1), &narrow, NULL));
    for (int i = 0; i < 3; i++)
        CHECK_OK(hora_pool_submit_with(
            pool, &task, HORA_TASK_OPTIONS(.task_class = i < 2 ? narrow : NULL, .key = i > 0 ? 7 : 0),
            &futures[i], NULL));
    test_thread *other = test_thread_start(NULL, explain_twice, futures[2]);
    test_thread *canceller = test_thread_start(NULL, cancel, futures[1]);
    explain(futures[1]);
    CHECK_OK(hora_class_set(narrow, HORA_CLASS_OPTIONS(.limit = 2), NULL));
    dump_into(&pages[0]);
    explain(futures[2]);
    test_thread_join(canceller);
    free_pool(pool);
    test_thread_join(other);
    for (int i = 0; i < 3; i++) {
        explain(futures[i]);
        (void)hora_future_unref(futures[i]);
    }
}

/* The same for scheduled tasks that are due and wait for admission. */
LARGE_SCENARIO(explain_and_dump_meet_a_scheduler_with_admission)
{
    hora_class *narrow = NULL;
    hora_future *futures[3] = {NULL, NULL, NULL};
    begun = ended = 0;
    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 2, .admission = HORA_ADMISSION()),
                                &pool, NULL));
    CHECK_OK(hora_class_new(pool, HORA_CLASS_OPTIONS(.name = "narrow", .limit = 1), &narrow, NULL));
    for (int i = 0; i < 3; i++) {
        const hora_task_options *options =
            HORA_TASK_OPTIONS(.task_class = i < 2 ? narrow : NULL, .key = i > 0 ? 7 : 0);
        CHECK_OK(hora_scheduler_schedule_with(
            pool, &task, HORA_SCHEDULE(.fixed_rate = 10, .count = 1 + i % 2, .options = options), &futures[i],
            NULL));
    }
    test_thread *other = test_thread_start(NULL, explain_twice, futures[2]);
    test_thread *canceller = test_thread_start(NULL, cancel, futures[1]);
    explain(futures[1]);
    dump_into(&pages[0]);
    explain(futures[2]);
    test_thread_join(canceller);
    free_pool(pool);
    test_thread_join(other);
    for (int i = 0; i < 3; i++) {
        explain(futures[i]);
        (void)hora_future_unref(futures[i]);
    }
}

/* ---- without memory ---- */

SWEEP(explain_and_dump_survive_every_failure)
{
    hora_future *future = NULL;
    begun = ended = 0;
    if (hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 2, .watchdog = HORA_WATCHDOG()), &pool, NULL) < 0)
        return;
    (void)hora_pool_prestart_all(pool);
    int error = hora_pool_submit(pool, &task, &future);
    CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN);
    if (future != NULL)
        explain(future); /* which needs no memory */
    pages[0].length = 0;
    error = hora_pool_dump(pool, note, &pages[0]);
    CHECK(error == 0 || (error == HORA_ENOMEM && pages[0].length == 0));
    CHECK_OK(hora_pool_shutdown(pool));
    CHECK_OK(hora_pool_shutdown_now(pool, NULL)); /* it may have no thread */
    free_pool(pool);
    (void)hora_future_unref(future);
}
