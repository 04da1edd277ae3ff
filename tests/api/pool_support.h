/* SPDX-License-Identifier: Apache-2.0 */
/* pool_support.h - shared by the tests of futures and pools
 *
 * A rig is a pool on a virtual clock, with a gate at which tasks can wait. Its workers attach themselves to
 * the clock, so after settle() each of them is idle or waits, and counts are exact. A job is a task that
 * counts what happens to it. */
#ifndef HORA_TESTS_API_POOL_SUPPORT_H
#define HORA_TESTS_API_POOL_SUPPORT_H

#include "support.h"

/* A promise of pools, tested for a plain pool and for one with all three hooks, as the JDK's suite does with
 * a class derived from its pool. `test` is the name in that suite; `more` are further rows. */
#define ON_BOTH_POOLS(promise, test, more)                              \
    static void promise(bool hooked);                                   \
    TEST(pool_##promise, "ThreadPoolExecutorTest." test " " more)       \
    {                                                                   \
        promise(false);                                                 \
    }                                                                   \
    TEST(hooked_pool_##promise, "ThreadPoolExecutorSubclassTest." test) \
    {                                                                   \
        promise(true);                                                  \
    }                                                                   \
    static void promise(bool hooked)

enum { MOST_FACTORY_THREADS = 48 };

struct rig {
    struct fixture f;
    hora_pool *pool;
    hora_latch *gate;
    bool hooked;

    atomic_int before; /* how often each hook was called */
    atomic_int after;
    atomic_int terminated;
    atomic_int last_code; /* of the after hook */

    atomic_int decorated;    /* schedulers: tasks that decorate was called for, */
    atomic_int wrapped_runs; /* and runs that went through the function it has put around them */

    /* rig_factory: makes threads until it has made this many, then fails with factory_error. */
    int factory_threads;
    int factory_error;
    atomic_int factory_calls;
    atomic_int factory_made;
    test_thread *made[MOST_FACTORY_THREADS];
};

/* Open a rig with a pool of these options; the clock, the context and, if hooked, the hooks are added. */
void rig_open(struct rig *r, bool hooked, const hora_pool_options *options);
/* Only the clock and the gate: for option sets with a queue of the rig's, and for pools that are refused. */
void rig_prepare(struct rig *r, bool hooked);
int rig_try_pool(struct rig *r, const hora_pool_options *options, hora_error *reason);
void rig_pool(struct rig *r, const hora_pool_options *options);
/* With HORA_TEST_ADMISSION in the environment the pools of rigs have admission, where that is possible.
 * Without task options nothing else changes. */
bool rigs_have_admission(void);
/* A pool whose only thread is busy until the gate is opened. */
void rig_open_occupied(struct rig *r);
/* A pool that has lost its only worker, and gets no other one while factory_threads is 1; one task is queued,
 * whose future is returned. */
hora_future *rig_open_stranded(struct rig *r, const hora_task *task, const hora_pool_options *options);

/* Open the gate, shut down, wait for the end and check the books. */
void rig_finish(struct rig *r);
/* The same, and frees everything. No future of the pool may be left. If the pool has been freed already, it
 * is NULL. */
void rig_close(struct rig *r);

void rig_open_gate(struct rig *r);

/* Options cannot name the rig's factory without a rig: it is the context. */
int rig_factory(void (*run)(void *arg), void *arg, const char *name, void *context);

/* The statistics of the pool, after everything is at rest. */
hora_pool_stats rig_stats(struct rig *r);
/* The same without waiting: for tasks. */
hora_pool_stats rig_stats_now(struct rig *r);

/* accepted = done + failed + cancelled + rejected + abandoned + handed back + expired */
void check_books(const char *file, int line, hora_pool *pool);
#define CHECK_BOOKS(pool) check_books(__FILE__, __LINE__, (pool))

struct job {
    struct rig *rig;
    int code;   /* what it returns; its result is the job itself */
    bool waits; /* at the gate */
    bool deaf;  /* goes on waiting when interrupted */
    atomic_int runs;
    atomic_int ends; /* of the body */
    atomic_int interrupts;
    atomic_int drops;
    atomic_int result_drops;
    atomic_int dones; /* calls of job_done */
};

int job_run(void *job, void **ret_result);
void job_drop(void *job);
void job_drop_result(void *job);
void job_done(hora_future *future, void *job);

#define JOB(job) HORA_TASK(job_run, (job), .drop = job_drop, .drop_result = job_drop_result, .name = "job")

#define A_JOB(r)         {.rig = (r)}
#define A_WAITING_JOB(r) {.rig = (r), .waits = true}
#define A_DEAF_JOB(r)    {.rig = (r), .waits = true, .deaf = true}

/* Submit a job, and get its future. NULL only after a failed check. */
hora_future *submit_job(struct rig *r, struct job *job);
void execute_job(struct rig *r, struct job *job);

/* A future on the rig's clock that stands in no queue: it is run by hand. */
hora_future *loose_future(struct rig *r, struct job *job);

/* n jobs that wait at the gate, executed. */
void execute_jobs(struct rig *r, struct job *jobs, int n);

/* The job ran as often as that, and was dropped once. */
void check_job(const char *file, int line, struct job *job, int runs);
#define CHECK_JOB(job, runs) check_job(__FILE__, __LINE__, (job), (runs))

/* Waits for a future in a separate thread; item is the result. */
void start_get(struct call *call, struct fixture *f, hora_future *future);
void start_get_for(struct call *call, struct fixture *f, hora_future *future, hora_ns timeout);
/* A call of the pool, with a timeout. */
void start_pool_call(struct call *call, struct rig *r, int (*run)(struct call *call), hora_ns timeout);
void start_execute(struct call *call, struct rig *r, struct job *job);

/* The future is done with this outcome, and nothing changes that any more; by every way of asking. */
void check_done(const char *file, int line, hora_future *future, int outcome, const void *result);
#define CHECK_DONE(future, outcome, result) check_done(__FILE__, __LINE__, (future), (outcome), (result))

/* The future is not done, by every way of asking that does not wait. */
void check_not_done(const char *file, int line, hora_future *future);
#define CHECK_NOT_DONE(future) check_not_done(__FILE__, __LINE__, (future))

#endif
