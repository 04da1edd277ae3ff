/* SPDX-License-Identifier: Apache-2.0 */
/* invoke_support.h - shared by the tests of invoke all and invoke any
 *
 * A venue is a place where tasks are executed: the calling thread, by an executor of three lines; a pool,
 * with or without hooks; a scheduler, with or without hooks and decorate. The JDK's suite has the same tests
 * for all five. */
#ifndef HORA_TESTS_API_INVOKE_SUPPORT_H
#define HORA_TESTS_API_INVOKE_SUPPORT_H

#include "scheduler_support.h"

enum place { DIRECT, POOL, HOOKED_POOL, SCHEDULER, DECORATED_SCHEDULER };

struct venue {
    struct rig r; /* without a pool if it is DIRECT */
    hora_executor executor;
};

/* A promise wherever there are workers. `test` is its name in the JDK's suite; `more` are further rows. */
#define ON_ALL_POOLS(promise, test, more)                                      \
    static void promise(enum place place);                                     \
    TEST(pool_##promise, "ThreadPoolExecutorTest." test " " more)              \
    {                                                                          \
        promise(POOL);                                                         \
    }                                                                          \
    TEST(hooked_pool_##promise, "ThreadPoolExecutorSubclassTest." test)        \
    {                                                                          \
        promise(HOOKED_POOL);                                                  \
    }                                                                          \
    TEST(scheduler_##promise, "ScheduledExecutorTest." test)                   \
    {                                                                          \
        promise(SCHEDULER);                                                    \
    }                                                                          \
    TEST(decorated_scheduler_##promise, "ScheduledExecutorSubclassTest." test) \
    {                                                                          \
        promise(DECORATED_SCHEDULER);                                          \
    }                                                                          \
    static void promise(enum place place)

/* A promise in all places. */
#define EVERYWHERE(promise, test, more)                                  \
    static void promise(enum place place);                               \
    TEST(direct_##promise, "AbstractExecutorServiceTest." test " " more) \
    {                                                                    \
        promise(DIRECT);                                                 \
    }                                                                    \
    ON_ALL_POOLS(promise, test, "")

/* Runs a future in the calling thread; self is not used. */
int execute_here(hora_future *future, void *self);

/* A venue; its pool has two threads, or as the options say. */
void venue_open(struct venue *v, enum place place);
void venue_open_pool(struct venue *v, const hora_pool_options *options);
void venue_close(struct venue *v);

/* The call for the venue: of the pool, or of the executor. */
int venue_all(struct venue *v, const hora_task *const *tasks, int count, hora_future **ret_futures);
int venue_all_for(struct venue *v, const hora_task *const *tasks, int count, hora_ns timeout,
                  hora_future **ret_futures);
int venue_any(struct venue *v, const hora_task *const *tasks, int count, void **ret_result,
              int *reterr_failure);
int venue_any_for(struct venue *v, const hora_task *const *tasks, int count, hora_ns timeout,
                  void **ret_result, int *reterr_failure);

enum { MOST_INVOKED = 4 };

/* Makes one of the calls in a separate thread, on jobs. */
struct invocation {
    struct call call;
    struct venue *venue;
    const hora_task *tasks[MOST_INVOKED];
    hora_task made[MOST_INVOKED];
    int count;
    hora_future *futures[MOST_INVOKED]; /* NULL unless invoke all succeeds */
    int failure;                        /* 0 unless all have failed */
};

void start_invoke_all(struct invocation *i, struct venue *v, struct job *jobs, int count, hora_ns timeout);
void start_invoke_any(struct invocation *i, struct venue *v, struct job *jobs, int count, hora_ns timeout);

void release_futures(hora_future **futures, int count);

/* The only future in the pool's queue, borrowed. */
hora_future *queued_future(struct rig *r);

/* The future has failed with this code, which is none of hora's. */
void check_failed(const char *file, int line, hora_future *future, int code);
#define CHECK_FAILED(future, code) check_failed(__FILE__, __LINE__, (future), (code))

#endif
