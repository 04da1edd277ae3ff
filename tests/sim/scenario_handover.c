/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_handover.c - who owns a task after hora_pool_execute, if the pool ends at the same time
 *
 * Each task has a record, because a sum over all tasks would not change if two of them were exchanged. If the
 * call returned 0, the task has run or was handed back, but not both, and was dropped once. If it returned an
 * error, the task neither ran nor was dropped, and the caller owns it again. These pools make a future for
 * each task. One thread returns the memory of ended futures to the shared free list, from which the other one
 * gets it. */
#include <stdatomic.h>

#include "harness.h"

enum { TASKS = 6 };

static struct record {
    atomic_int runs;
    atomic_int drops;
    int answer; /* of the call; 1: there was none */
} records[TASKS];

static hora_pool *pool;

static int run(void *arg, void **ret_result)
{
    (void)ret_result;
    (void)hora_interrupted();
    ((struct record *)arg)->runs++;
    return 0;
}

static void drop(void *arg)
{
    ((struct record *)arg)->drops++;
}

static void after(hora_pool *own, const hora_run_info *info, void *context)
{
    (void)own;
    (void)info;
    (void)context;
}

static void execute(int number)
{
    struct record *record = &records[number];
    record->answer = hora_pool_execute(pool, HORA_TASK(run, record, .drop = drop));
    CHECK(record->answer == 0 || record->answer == HORA_EREJECTED);
}

static void begin(const hora_pool_options *options)
{
    for (int i = 0; i < TASKS; i++) {
        records[i].runs = records[i].drops = 0;
        records[i].answer = 1;
    }
    CHECK_OK(hora_pool_new(options, &pool, NULL));
}

/* Checks the records. `handed_back` accepted tasks did not run because they were handed back. */
static void end(int handed_back)
{
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    for (int i = 0; i < TASKS; i++) {
        struct record *record = &records[i];
        bool accepted = record->answer == 0;
        CHECK_INT(record->drops, accepted);
        CHECK(record->runs <= accepted);
        handed_back -= accepted && record->runs == 0;
    }
    CHECK_INT(handed_back, 0);
    CHECK_OK(hora_pool_free(pool));
}

/* ---- at random ---- */

static void execute_two_and_shut_down(void *arg)
{
    (void)arg;
    execute(4);
    execute(5);
    CHECK_OK(hora_pool_shutdown(pool));
}

static void execute_two_and_stop(void *list)
{
    execute(4);
    execute(5);
    CHECK_OK(hora_pool_shutdown_now(pool, list));
}

static void meets_shutdown(const hora_pool_options *options)
{
    begin(options);
    test_thread *other = test_thread_start(NULL, execute_two_and_shut_down, NULL);
    for (int i = 0; i < 3; i++)
        execute(i);
    test_thread_join(other);
    end(0);
}

static void meets_stop(const hora_pool_options *options)
{
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    begin(options);
    test_thread *other = test_thread_start(NULL, execute_two_and_stop, &list);
    for (int i = 0; i < 3; i++)
        execute(i);
    test_thread_join(other);
    int handed_back = list.count;
    hora_future_list_cancel(&list);
    end(handed_back);
}

/* ---- with one worker that stands still ---- */

/* The main thread is inside hora_pool_execute with its second task, and that task has ended. Then the worker
 * executes others, which get the memory of the first ones, and ends the pool. It continues only when
 * hora_pool_execute of the main thread has returned. */
static hora_latch *has_run;
static hora_latch *has_answer;

static void drop_and_tell(void *arg)
{
    drop(arg);
    CHECK_OK(hora_latch_count_down(has_run));
}

static int execute_others(void *arg, void **ret_result)
{
    (void)run(arg, ret_result);
    execute(3);
    execute(4);
    CHECK_OK(hora_pool_shutdown(pool));
    while (hora_latch_await(has_answer) == HORA_EINTERRUPTED) {
    }
    return 0;
}

static void execute_third(void *arg)
{
    (void)arg;
    CHECK_OK(hora_latch_await(has_run));
    records[2].answer = hora_pool_execute(pool, HORA_TASK(execute_others, &records[2], .drop = drop));
}

static void goes_on_after_the_end(const hora_pool_options *options)
{
    CHECK_OK(hora_latch_new(1, NULL, &has_run, NULL));
    CHECK_OK(hora_latch_new(1, NULL, &has_answer, NULL));
    begin(options);
    test_thread *other = test_thread_start(NULL, execute_third, NULL);
    execute(0);
    records[1].answer = hora_pool_execute(pool, HORA_TASK(run, &records[1], .drop = drop_and_tell));
    CHECK_OK(hora_latch_count_down(has_answer));
    test_thread_join(other);
    end(0);
    CHECK_OK(hora_latch_free(has_run));
    CHECK_OK(hora_latch_free(has_answer));
}

/* ---- the pools ---- */

static void with_queue(int (*make)(const hora_queue_options *options, hora_queue **ret_queue),
                       void (*meet)(const hora_pool_options *options))
{
    hora_queue *queue;
    CHECK_OK(make(NULL, &queue));
    meet(HORA_POOL_OPTIONS(.core_threads = 1, .queue = queue));
    CHECK_OK(hora_queue_free(queue));
}

static int linked(const hora_queue_options *options, hora_queue **ret_queue)
{
    return hora_queue_new_linked(HORA_UNBOUNDED, options, ret_queue, NULL);
}

static int array(const hora_queue_options *options, hora_queue **ret_queue)
{
    return hora_queue_new_array(TASKS, options, ret_queue, NULL);
}

static void with_admission(const hora_pool_options *options, void (*meet)(const hora_pool_options *options))
{
    hora_pool_options own = *options;
    own.admission = HORA_ADMISSION();
    meet(&own);
}

LARGE_SCENARIO(execute_with_hook_meets_shutdown)
{
    meets_shutdown(HORA_POOL_OPTIONS(.core_threads = 1, .after = after));
}

LARGE_SCENARIO(execute_with_hook_meets_stop)
{
    meets_stop(HORA_POOL_OPTIONS(.core_threads = 1, .after = after));
}

LARGE_SCENARIO(execute_on_bounded_meets_shutdown)
{
    meets_shutdown(HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = TASKS));
}

LARGE_SCENARIO(execute_on_bounded_meets_stop)
{
    meets_stop(HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = TASKS));
}

LARGE_SCENARIO(execute_on_linked_queue_meets_shutdown)
{
    with_queue(linked, meets_shutdown);
}

LARGE_SCENARIO(execute_on_linked_queue_meets_stop)
{
    with_queue(linked, meets_stop);
}

LARGE_SCENARIO(execute_on_array_queue_meets_shutdown)
{
    with_queue(array, meets_shutdown);
}

LARGE_SCENARIO(execute_on_array_queue_meets_stop)
{
    with_queue(array, meets_stop);
}

LARGE_SCENARIO(execute_with_admission_meets_shutdown)
{
    with_admission(HORA_POOL_OPTIONS(.core_threads = 1), meets_shutdown);
}

LARGE_SCENARIO(execute_with_admission_meets_stop)
{
    with_admission(HORA_POOL_OPTIONS(.core_threads = 1), meets_stop);
}

MEDIUM_SCENARIO(execute_with_hook_goes_on_after_the_end)
{
    goes_on_after_the_end(HORA_POOL_OPTIONS(.core_threads = 1, .after = after));
}

MEDIUM_SCENARIO(execute_on_bounded_goes_on_after_the_end)
{
    goes_on_after_the_end(HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = TASKS));
}

MEDIUM_SCENARIO(execute_on_linked_queue_goes_on_after_the_end)
{
    with_queue(linked, goes_on_after_the_end);
}

MEDIUM_SCENARIO(execute_on_array_queue_goes_on_after_the_end)
{
    with_queue(array, goes_on_after_the_end);
}

MEDIUM_SCENARIO(execute_with_admission_goes_on_after_the_end)
{
    with_admission(HORA_POOL_OPTIONS(.core_threads = 1), goes_on_after_the_end);
}

/* The rules for those that find no place use the future as well, after it was refused once. */
LARGE_SCENARIO(execute_with_a_rule_meets_shutdown)
{
    static const hora_reject rules[] = {HORA_REJECT_BLOCK, HORA_REJECT_ABORT};
    meets_shutdown(HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 1, .reject = rules[test_random(2)],
                                     .after = after));
}
