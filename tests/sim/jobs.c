/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.c - see jobs.h */
#include "jobs.h"

#include <stdlib.h>

#include "books.h"
#include "simulator/sim.h"

enum { MOST_RUNS = 6 };

struct job jobs[JOBS];
hora_scheduler *scheduler;
hora_ns jobs_start;
hora_ns jobs_wall_start;

hora_ns jobs_now(void)
{
    return hora_clock_now(NULL) - jobs_start;
}

static hora_ns wall_now(void)
{
    return hora_clock_now(hora_clock_system(HORA_CLOCK_WALL)) - jobs_wall_start;
}

void jobs_sleep_until(hora_ns when)
{
    hora_ns left = when - jobs_now();
    if (left > 0)
        CHECK_OK(hora_sleep(left));
}

static void check_beginning(struct job *job)
{
    hora_ns now = job->on_wall ? wall_now() : jobs_now();
    CHECK_INT(job->forbidden, 0);
    CHECK_INT(job->drops, 0);
    CHECK(now >= job->due);
    if (job->punctual && test_is_exact())
        CHECK_INT(now, job->due);
    int number = job->runs++;
    CHECK(++job->running <= (job->most > 0 ? job->most : 1));
    if (number < JOB_STARTS)
        job->starts[number] = now;
    if (job->every > 0)
        job->due += job->every;
}

static void note_end(struct job *job)
{
    if (job->gap > 0)
        job->due = jobs_now() + job->gap;
    job->running--;
    job->ended++;
}

int jobs_run(void *arg, void **ret_result)
{
    struct job *job = arg;
    check_beginning(job);
    int number = job->runs;
    bool interrupted = job->takes > 0 && hora_sleep(job->takes) == HORA_EINTERRUPTED;
    job->interrupted += interrupted;
    note_end(job);
    if (number == job->exits_at)
        hora__sim_exit_thread();
    *ret_result = job;
    return number == job->fails_at ? JOB_CODE : 0;
}

void jobs_drop(void *arg)
{
    struct job *job = arg;
    CHECK_INT(job->running, 0);
    CHECK_INT(job->drops++, 0);
}

void jobs_begin(const hora_scheduler_options *options)
{
    hora_error why;
    hora_scheduler_options own = *options;
    const hora_admission admission = HORA_INIT(hora_admission);
    if (getenv("HORA_TEST_ADMISSION") != NULL &&
        !own.keep_cancelled) /* without task options all is as ever */
        own.admission = &admission;
    for (int i = 0; i < JOBS; i++)
        jobs[i] = (struct job){0};
    int error = hora_scheduler_new(&own, &scheduler, &why);
    if (error < 0)
        test_fail(__FILE__, __LINE__, "%s: %s", hora_errname(error), why.message);
    jobs_start = hora_clock_now(NULL);
    jobs_wall_start = hora_clock_now(hora_clock_system(HORA_CLOCK_WALL));
}

void jobs_end(void)
{
    free_pool(scheduler);
}

static hora_future *accepted(int error, hora_future *const *future)
{
    CHECK(error == 0 || error == HORA_EREJECTED);
    return error == 0 ? *future : NULL;
}

/* In schedules in which time may pass while threads can run, an endless series could keep all other threads
 * from running. So the series fails at MOST_RUNS. */
static void bound(struct job *job)
{
    if (job->fails_at == 0)
        job->fails_at = MOST_RUNS;
}

hora_future *jobs_once(int i, hora_ns delay)
{
    hora_future *future = NULL;
    jobs[i].due = jobs_now() + delay;
    return accepted(hora_scheduler_schedule(scheduler, JOB(i), delay, &future), &future);
}

hora_future *jobs_rate(int i, hora_ns delay, hora_ns every)
{
    hora_future *future = NULL;
    jobs[i].due = jobs_now() + delay;
    jobs[i].every = every;
    bound(&jobs[i]);
    return accepted(hora_scheduler_schedule_at_fixed_rate(scheduler, JOB(i), delay, every, &future), &future);
}

hora_future *jobs_gap(int i, hora_ns delay, hora_ns gap)
{
    hora_future *future = NULL;
    jobs[i].due = jobs_now() + delay;
    jobs[i].gap = gap;
    bound(&jobs[i]);
    return accepted(hora_scheduler_schedule_with_fixed_delay(scheduler, JOB(i), delay, gap, &future),
                    &future);
}

void jobs_unref(hora_future *future)
{
    (void)hora_future_unref(future);
}

void jobs_check(int i, int runs)
{
    CHECK_INT(jobs[i].runs, runs);
    CHECK_INT(jobs[i].running, 0);
    CHECK_INT(jobs[i].drops, 1);
}

void jobs_shut_down(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_shutdown(scheduler));
}

void jobs_stop(void *arg)
{
    CHECK_OK(hora_pool_shutdown_now(scheduler, arg));
}

void jobs_cancel(void *arg)
{
    struct jobs_target *target = arg;
    target->answer = hora_future_cancel(target->future, target->interrupt);
    CHECK(target->answer >= 0);
    if (target->answer == HORA_CANCEL_REMOVED)
        jobs[target->job].forbidden = 1;
}
