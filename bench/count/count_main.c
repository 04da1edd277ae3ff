/* SPDX-License-Identifier: Apache-2.0 */
/* count_main.c - runs one of hora's core operations a given number of times, for counting instructions
 *
 *     count --list              prints the names of all operations
 *     count OPERATION TIMES     runs one of them
 *
 * tools/check-instructions runs this program under callgrind with two different numbers of times. The cost of
 * an operation is the difference of the instructions, divided by the difference of the numbers. So everything
 * else must not depend on the number: all random numbers are fixed, only a virtual clock is read, and work of
 * another thread is done at once, while this thread sleeps. A pool's worker waits at a gate until all tasks
 * are queued; a scheduler's worker sleeps until the virtual clock is advanced. The program does not free
 * schedulers: the cost of that depends on whether the worker has ended already. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hora/cron.h>
#include <hora/hora.h>
#include <hora/scheduler.h>

#include "../measure.h"

enum { HELD = 1000 }; /* elements or timers that wait while an operation is measured */

/* The earliest timer, so that no later one becomes the first and wakes the worker; and the latest. */
static const hora_ns FIRST = HORA_SECONDS(1);
static const hora_ns LAST = HORA_SECONDS(3600);

static int dummies[HELD];          /* elements of queues */
static uint64_t random_state = 42; /* fixed, so that all runs are the same */

/* Returns a time between FIRST and LAST. */
static hora_ns random_time(void)
{
    return FIRST + 1 + (hora_ns)(next_random(&random_state) % (uint64_t)(LAST - FIRST - 1));
}

/* ---- queues ---- */

static void put_and_take(hora_queue *queue, long times)
{
    for (long i = 0; i < times; i++) {
        void *item;
        MUST(hora_queue_put(queue, &dummies[0]) == 0);
        MUST(hora_queue_take(queue, &item) == 0 && item == &dummies[0]);
    }
}

static void count_array_queue(long times)
{
    hora_queue *queue;
    MUST(hora_queue_new_array(16, NULL, &queue, NULL) == 0);
    put_and_take(queue, times);
}

static void count_linked_queue(long times)
{
    hora_queue *queue;
    MUST(hora_queue_new_linked(HORA_UNBOUNDED, NULL, &queue, NULL) == 0);
    put_and_take(queue, times);
}

/* The queue holds HELD elements, all due. Takes the first one, and puts it back with a random time in the
 * past. */
static void count_delay_queue(long times)
{
    hora_virtual_clock *clock;
    hora_queue *queue;
    MUST(hora_virtual_clock_new(HORA_VIRTUAL_CLOCK_OPTIONS(.monotonic = LAST), &clock, NULL) == 0);
    const hora_clock *view = hora_virtual_clock_view(clock, HORA_CLOCK_MONOTONIC);
    MUST(hora_queue_new_delay(HORA_QUEUE_OPTIONS(.clock = view), &queue, NULL) == 0);
    for (int i = 0; i < HELD; i++)
        MUST(hora_queue_put_at(queue, &dummies[i], random_time()) == 0);
    for (long i = 0; i < times; i++) {
        void *item;
        MUST(hora_queue_take(queue, &item) == 0);
        MUST(hora_queue_put_at(queue, item, random_time()) == 0);
    }
}

/* ---- latch and future, without other threads ---- */

static void count_latch(long times)
{
    for (long i = 0; i < times; i++) {
        hora_latch *latch;
        MUST(hora_latch_new(1, NULL, &latch, NULL) == 0);
        MUST(hora_latch_count_down(latch) == 0 && hora_latch_await(latch) == 0);
        MUST(hora_latch_free(latch) == 0);
    }
}

static long ran;            /* tasks that have run */
static long expected;       /* tasks that will run */
static hora_latch *all_ran; /* opened by the last task */

/* Sets the number of tasks to wait for. */
static void expect(long times)
{
    ran = 0;
    expected = times;
    MUST(hora_latch_new(1, NULL, &all_ran, NULL) == 0);
}

/* Waits until all tasks have run. */
static void await_all(void)
{
    MUST(hora_latch_await(all_ran) == 0 && ran == expected);
    MUST(hora_latch_free(all_ran) == 0);
}

/* The task that counts. Only one thread runs it, so the count need not be atomic. */
static int run(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    if (++ran == expected)
        MUST(hora_latch_count_down(all_ran) == 0);
    return 0;
}

static void count_future(long times)
{
    expect(times);
    for (long i = 0; i < times; i++) {
        hora_future *future;
        MUST(hora_future_new(HORA_TASK(run, NULL), &future) == 0);
        MUST(hora_future_run(future) == 1 && hora_future_get(future, NULL) == 0);
        hora_future_unref(future);
    }
    await_all();
}

/* ---- a pool with one worker, which waits at the gate until all tasks are queued ---- */

static hora_pool *pool;
static hora_latch *gate;    /* opened when all tasks are queued */
static hora_latch *arrived; /* opened when the worker waits at the gate */

static int stand_at_gate(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    MUST(hora_latch_count_down(arrived) == 0);
    MUST(hora_latch_await(gate) == 0);
    return 0;
}

static void occupy_worker(void)
{
    MUST(hora_pool_execute(pool, HORA_TASK(stand_at_gate, NULL)) == 0);
    MUST(hora_latch_await(arrived) == 0);
}

static void open_pool(void)
{
    MUST(hora_latch_new(1, NULL, &gate, NULL) == 0 && hora_latch_new(1, NULL, &arrived, NULL) == 0);
    MUST(hora_pool_new_single(NULL, &pool, NULL) == 0);
    occupy_worker();
}

/* Waits until the worker has ended: its last instructions are part of the cost. */
static void close_pool(void)
{
    MUST(hora_pool_close_for(pool, HORA_FOREVER) == 0 && hora_pool_free(pool) == 0);
}

/* Executes tasks on the pool, whose worker waits at the gate, and closes the pool. */
static void count_executed(long times, const char *name)
{
    expect(times);
    for (long i = 0; i < times; i++)
        MUST(hora_pool_execute(pool, HORA_TASK(run, NULL, .name = name)) == 0);
    MUST(hora_latch_count_down(gate) == 0);
    await_all();
    close_pool();
}

static void count_execute(long times)
{
    open_pool();
    count_executed(times, NULL);
}

static void open_measured_pool(void)
{
    MUST(hora_latch_new(1, NULL, &gate, NULL) == 0 && hora_latch_new(1, NULL, &arrived, NULL) == 0);
    const hora_pool_options *options =
        HORA_POOL_OPTIONS(.core_threads = 1, .max_threads = 1, .metrics = HORA_METRICS());
    MUST(hora_pool_new(options, &pool, NULL) == 0);
    occupy_worker();
}

static void count_execute_measured(long times)
{
    open_measured_pool();
    count_executed(times, NULL);
}

static void count_execute_named(long times)
{
    open_measured_pool();
    count_executed(times, "counted");
}

static void count_submit(long times)
{
    hora_future **futures = malloc((size_t)times * sizeof(*futures));
    MUST(futures != NULL);
    open_pool();
    expect(times);
    for (long i = 0; i < times; i++)
        MUST(hora_pool_submit(pool, HORA_TASK(run, NULL), &futures[i]) == 0);
    MUST(hora_latch_count_down(gate) == 0);
    await_all();
    for (long i = 0; i < times; i++) {
        MUST(hora_future_get(futures[i], NULL) == 0);
        hora_future_unref(futures[i]);
    }
    close_pool();
}

/* ---- many tasks that belong together, in rounds ----
 *
 * In each round the worker waits at the gate until the tasks of the round are queued. From the second round
 * on the memory comes from the free lists, as in a program that goes on submitting. */

enum { ROUND = 500 }; /* tasks; TIMES is a multiple of it */

static int ignore(void *arg, void **ret_result);

static void begin_round(void)
{
    MUST(hora_latch_new(1, NULL, &gate, NULL) == 0 && hora_latch_new(1, NULL, &arrived, NULL) == 0);
    occupy_worker();
}

static void open_gate(void)
{
    MUST(hora_latch_count_down(gate) == 0);
}

static void end_round(void)
{
    MUST(hora_latch_free(gate) == 0 && hora_latch_free(arrived) == 0);
}

static void count_group(long times)
{
    hora_group *group;
    MUST(hora_pool_new_single(NULL, &pool, NULL) == 0 && hora_group_new(NULL, &group, NULL) == 0);
    hora_executor executor = hora_pool_executor(pool);
    for (long done = 0; done < times; done += ROUND) {
        begin_round();
        for (int i = 0; i < ROUND; i++)
            MUST(hora_group_submit(group, &executor, HORA_TASK(ignore, NULL), NULL) == 0);
        open_gate();
        MUST(hora_group_await(group) == 0);
        end_round();
    }
    MUST(hora_group_free(group) == 0);
    close_pool();
}

static hora_virtual_clock *vclock;

/* Waits until all threads of the virtual clock sleep, and opens the gate. */
static int open_gate_late(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    MUST(hora_virtual_clock_settle(vclock) == 0);
    open_gate();
    return 0;
}

/* The call submits the tasks and waits for them, so another thread opens the gate. It sees by a virtual clock
 * when both the caller and the worker sleep. */
static void count_invoke_all(long times)
{
    hora_pool *other;
    const hora_task *task = HORA_TASK(ignore, NULL);
    const hora_task *tasks[ROUND];
    hora_future *futures[ROUND];
    for (int i = 0; i < ROUND; i++)
        tasks[i] = task;
    MUST(hora_virtual_clock_new(NULL, &vclock, NULL) == 0 && hora_virtual_clock_attach(vclock) == 0);
    const hora_clock *view = hora_virtual_clock_view(vclock, HORA_CLOCK_MONOTONIC);
    MUST(hora_pool_new_single(HORA_POOL_OPTIONS(.clock = view), &pool, NULL) == 0);
    MUST(hora_pool_new_single(NULL, &other, NULL) == 0);
    for (long done = 0; done < times; done += ROUND) {
        begin_round();
        MUST(hora_pool_execute(other, HORA_TASK(open_gate_late, NULL)) == 0);
        MUST(hora_pool_invoke_all(pool, tasks, ROUND, futures) == 0);
        for (int i = 0; i < ROUND; i++)
            hora_future_unref(futures[i]);
        end_round();
    }
    close_pool();
}

static void count_completion(long times)
{
    hora_completion_service *service;
    MUST(hora_pool_new_single(NULL, &pool, NULL) == 0);
    hora_executor executor = hora_pool_executor(pool);
    MUST(hora_completion_service_new(&executor, NULL, &service) == 0);
    for (long done = 0; done < times; done += ROUND) {
        begin_round();
        for (int i = 0; i < ROUND; i++)
            MUST(hora_completion_service_submit(service, HORA_TASK(ignore, NULL), NULL) == 0);
        hora_future *last;
        MUST(hora_pool_submit(pool, HORA_TASK(ignore, NULL), &last) == 0);
        open_gate();
        MUST(hora_future_get(last, NULL) == 0); /* the worker has delivered all others */
        hora_future_unref(last);
        for (int i = 0; i < ROUND; i++) {
            hora_future *future;
            MUST(hora_completion_service_take(service, &future) == 0);
            hora_future_unref(future);
        }
        end_round();
    }
    MUST(hora_completion_service_free(service) == 0);
    close_pool();
}

/* ---- a scheduler with one worker on a virtual clock ---- */

static hora_scheduler *scheduler;

static int ignore(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

/* Makes a scheduler on a virtual clock, with one timer, and waits until its worker sleeps. */
static void open_scheduler(void)
{
    MUST(hora_virtual_clock_new(NULL, &vclock, NULL) == 0);
    const hora_clock *view = hora_virtual_clock_view(vclock, HORA_CLOCK_MONOTONIC);
    MUST(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .clock = view), &scheduler, NULL) == 0);
    MUST(hora_scheduler_schedule(scheduler, HORA_TASK(ignore, NULL), FIRST, NULL) == 0);
    MUST(hora_virtual_clock_settle(vclock) == 0);
}

static void count_cancel(long times)
{
    open_scheduler();
    for (int i = 0; i < HELD; i++)
        MUST(hora_scheduler_schedule(scheduler, HORA_TASK(ignore, NULL), random_time(), NULL) == 0);
    for (long i = 0; i < times; i++) {
        hora_future *future;
        MUST(hora_scheduler_schedule(scheduler, HORA_TASK(ignore, NULL), random_time(), &future) == 0);
        MUST(hora_future_cancel(future, false) == HORA_CANCEL_REMOVED);
        hora_future_unref(future);
    }
}

static int ignore_timer(void *arg)
{
    (void)arg;
    return 0;
}

static void count_timer(long times)
{
    hora_timer timer = HORA_TIMER_INIT(ignore_timer, NULL);
    open_scheduler();
    for (int i = 0; i < HELD; i++)
        MUST(hora_scheduler_schedule(scheduler, HORA_TASK(ignore, NULL), random_time(), NULL) == 0);
    for (long i = 0; i < times; i++) {
        MUST(hora_timer_start(&timer, scheduler, random_time()) == 0);
        MUST(hora_timer_cancel(&timer) == HORA_CANCEL_REMOVED);
    }
}

static void count_fire(long times)
{
    open_scheduler();
    expect(times);
    for (long i = 0; i < times; i++)
        MUST(hora_scheduler_schedule(scheduler, HORA_TASK(run, NULL), random_time(), NULL) == 0);
    MUST(hora_virtual_clock_advance(vclock, LAST) == 0);
    await_all();
}

/* ---- cron expressions, with the next time after the same instants of ten years ---- */

enum { INSTANTS = 100 }; /* after which the instants repeat */

static const char WORKDAYS[] = "0 30 8 * * MON-FRI";

/* Returns one of the instants. The first is 2024-01-01; they are some 34 days apart, so that they have all
 * hours and weekdays. */
static hora_instant instant(long number)
{
    static const int64_t first = 1704067200, between = 2959391;
    return (hora_instant){HORA_SECONDS(first + number % INSTANTS * between)};
}

static void count_cron_parse(long times)
{
    for (long i = 0; i < times; i++) {
        hora_cron *cron;
        MUST(hora_cron_parse(WORKDAYS, NULL, &cron, NULL) == 0);
        hora_cron_unref(cron);
    }
}

static void ask_next(const char *zone_name, long times)
{
    hora_zone *zone;
    hora_cron *cron;
    MUST(hora_zone_new(zone_name, NULL, &zone, NULL) == 0);
    MUST(hora_cron_parse(WORKDAYS, NULL, &cron, NULL) == 0);
    for (long i = 0; i < times; i++) {
        hora_instant next;
        MUST(hora_cron_next(cron, zone, instant(i), &next) == 1);
    }
}

static void count_cron_next_berlin(long times)
{
    ask_next("Europe/Berlin", times);
}

static void count_cron_next_utc(long times)
{
    ask_next("UTC", times);
}

static const struct {
    const char *name;
    void (*count)(long times);
} operations[] = {
    {"queue.array.put_take", count_array_queue},
    {"queue.linked.put_take", count_linked_queue},
    {"queue.delay.take_put.1k", count_delay_queue},
    {"latch.life", count_latch},
    {"future.run_get", count_future},
    {"pool.execute", count_execute},
    {"pool.execute.measured", count_execute_measured},
    {"pool.execute.named", count_execute_named},
    {"pool.submit_get", count_submit},
    {"group.submit", count_group},
    {"pool.invoke_all", count_invoke_all},
    {"completion.submit_take", count_completion},
    {"schedule.cancel.1k", count_cancel},
    {"timer.start_cancel.1k", count_timer},
    {"schedule.fire", count_fire},
    {"cron.parse", count_cron_parse},
    {"cron.next.berlin", count_cron_next_berlin},
    {"cron.next.utc", count_cron_next_utc},
};

enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (int i = 0; i < OPERATIONS; i++)
            puts(operations[i].name);
        return 0;
    }
    for (int i = 0; argc == 3 && i < OPERATIONS; i++)
        if (strcmp(argv[1], operations[i].name) == 0) {
            operations[i].count(strtol(argv[2], NULL, 10));
            _Exit(0);
        }
    fputs("usage: count --list | count OPERATION TIMES\n", stderr);
    return 2;
}
