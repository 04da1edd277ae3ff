/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_names.c - names that are part of the argument, read while another thread drops it
 *
 * The drop overwrites the name in two steps with a switch of threads in between, as freed memory may change
 * at any time. So a thread that reads the name without the lock, or after the drop, sees something else. */
#include <string.h>

#include "harness.h"

static struct cargo {
    char name[8];
    bool is_dropped;
} cargo;

static hora_pool *pool;
static hora_future *future;
static hora_latch *gate; /* NULL: no thread waits at it */

static int run(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    (void)hora_interrupted();
    return 0;
}

static void wreck(void *arg)
{
    struct cargo *own = arg;
    CHECK(!own->is_dropped);
    own->is_dropped = true;
    memset(own->name, 'X', 3);
    (void)hora_interrupted();
    memset(own->name, 'X', sizeof own->name - 1);
}

static hora_task task_of(struct cargo *own)
{
    memcpy(own->name, "inside", sizeof "inside");
    own->is_dropped = false;
    return (hora_task){.run = run, .arg = own, .drop = wreck, .name = own->name, .file = "w.c", .line = 1};
}

static void check_text(const char *text)
{
    CHECK(strstr(text, "inside") != NULL && strstr(text, "XX") == NULL);
}

static void check_event(hora_pool *of, const hora_event *event, void *context)
{
    (void)of;
    (void)context;
    CHECK(event->task != NULL && event->task->name != NULL);
    check_text(event->task->name);
}

static void ask(void *arg)
{
    char text[HORA_EXPLAIN_TEXT];
    (void)arg;
    (void)hora_future_describe(future, text, sizeof text);
    check_text(text);
    (void)hora_future_explain(future, text, sizeof text);
    check_text(text);
    (void)hora_future_unref(future);
}

static int check_dump(const char *text, size_t length, void *context)
{
    (void)context;
    for (size_t i = 0; i + 1 < length; i++)
        CHECK(text[i] != 'X' || text[i + 1] != 'X');
    return 0;
}

static void dump(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_dump(pool, check_dump, NULL));
}

/* ---- a run, and a cancel ---- */

SCENARIO(names_are_asked_for_while_the_task_ends)
{
    hora_task task = task_of(&cargo);
    CHECK_OK(hora_future_new(&task, &future));
    test_thread *other = test_thread_start(NULL, ask, hora_future_ref(future));
    CHECK_INT(hora_future_run(future), 1);
    test_thread_join(other);
    CHECK(cargo.is_dropped);
    (void)hora_future_unref(future);
}

SCENARIO(names_are_asked_for_while_the_task_is_cancelled)
{
    hora_task task = task_of(&cargo);
    CHECK_OK(hora_future_new(&task, &future));
    test_thread *other = test_thread_start(NULL, ask, hora_future_ref(future));
    (void)hora_future_cancel(future, false);
    test_thread_join(other);
    CHECK(cargo.is_dropped);
    (void)hora_future_unref(future);
}

/* The thread that runs it drops it, although another one has cancelled it. */
static void run_future(void *arg)
{
    (void)hora_future_run(arg);
    (void)hora_future_unref(arg);
}

LARGE_SCENARIO(names_are_asked_for_while_a_cancelled_run_ends)
{
    hora_task task = task_of(&cargo);
    CHECK_OK(hora_future_new(&task, &future));
    test_thread *runner = test_thread_start(NULL, run_future, hora_future_ref(future));
    test_thread *reader = test_thread_start(NULL, ask, hora_future_ref(future));
    (void)hora_future_cancel(future, false);
    test_thread_join(reader);
    test_thread_join(runner);
    CHECK(cargo.is_dropped);
    (void)hora_future_unref(future);
}

/* ---- dumps ---- */

static void dump_meets_cancel(int (*submit)(const hora_task *task))
{
    hora_task task = task_of(&cargo);
    CHECK_OK(submit(&task));
    test_thread *other = test_thread_start(NULL, dump, NULL);
    (void)hora_future_cancel(future, false);
    test_thread_join(other);
    (void)hora_future_unref(future);
    if (gate != NULL)
        CHECK_OK(hora_latch_count_down(gate));
    CHECK_OK(hora_pool_free(pool));
    CHECK(cargo.is_dropped);
}

static int wait_at_gate(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return hora_latch_await(gate);
}

/* Behind one that keeps the only worker busy. */
static int submit_to_pool(const hora_task *task)
{
    CHECK_OK(hora_pool_execute(pool, HORA_TASK(wait_at_gate, NULL)));
    return hora_pool_submit(pool, task, &future);
}

static int submit_to_scheduler(const hora_task *task)
{
    return hora_scheduler_schedule(pool, task, HORA_SECONDS(1), &future);
}

LARGE_SCENARIO(names_are_dumped_while_the_task_is_cancelled)
{
    CHECK_OK(hora_latch_new(1, NULL, &gate, NULL));
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .keep_cancelled = true), &pool, NULL));
    dump_meets_cancel(submit_to_pool);
    CHECK_OK(hora_latch_free(gate));
    gate = NULL;
}

LARGE_SCENARIO(names_are_dumped_while_a_scheduled_task_is_cancelled)
{
    gate = NULL;
    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &pool, NULL));
    dump_meets_cancel(submit_to_scheduler);
}

/* ---- events ---- */

static void cancel(void *arg)
{
    (void)hora_future_cancel(arg, false);
    (void)hora_future_unref(arg);
}

/* The future is the user's, who cancels it while the pool refuses it. */
LARGE_SCENARIO(names_are_told_while_the_task_is_cancelled)
{
    hora_task task = task_of(&cargo);
    CHECK_OK(hora_future_new(&task, &future));
    CHECK_OK(hora_pool_new(
        HORA_POOL_OPTIONS(.core_threads = 1, .listener = HORA_LISTENER(.rejected = check_event)), &pool,
        NULL));
    CHECK_OK(hora_pool_shutdown(pool));
    test_thread *other = test_thread_start(NULL, cancel, hora_future_ref(future));
    CHECK_ERROR(hora_pool_execute_future(pool, future), HORA_EREJECTED);
    test_thread_join(other);
    (void)hora_future_unref(future);
    CHECK_OK(hora_pool_free(pool));
    CHECK(cargo.is_dropped);
}
