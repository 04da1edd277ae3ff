/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_completion.c - completion services that submit to a pool: seats, delivery and the end
 *
 * A row has two seats in the simulator. Oracles: each future is delivered once, done, with its effects
 * visible; each task that was accepted is dropped once, and each result too; the service may be freed at any
 * time at which no thread waits on it. */
#include "books.h"
#include "harness.h"
#include "sys/atomic.h"

enum { MOST = 3 };

static hora_pool *pool;
static hora_completion_service *service;

static struct work {
    hora__counter ran; /* relaxed: only the delivery hands it over */
    int drops;
    int result_drops;
} works[MOST];

static int work_run(void *arg, void **ret_result)
{
    struct work *work = arg;
    CHECK_INT(work->drops, 0);
    hora__counter_set(&work->ran, 1);
    *ret_result = work;
    return 0;
}

static void work_drop(void *arg)
{
    struct work *work = arg;
    work->drops++;
}

static void work_drop_result(void *result)
{
    struct work *work = result;
    work->result_drops++;
}

static int submit(int i, hora_future **ret_future)
{
    return hora_completion_service_submit(
        service, HORA_TASK(work_run, &works[i], .drop = work_drop, .drop_result = work_drop_result),
        ret_future);
}

/* `threads` workers that wait already, so that their start hands nothing over. */
static void begin(int threads)
{
    for (int i = 0; i < MOST; i++) {
        works[i] = (struct work){.drops = 0};
        hora__counter_set(&works[i].ran, 0);
    }
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = threads), &pool, NULL));
    CHECK_INT(hora_pool_prestart_all(pool), threads);
    hora_executor executor = hora_pool_executor(pool);
    CHECK_OK(hora_completion_service_new(&executor, NULL, &service));
}

static void take(void)
{
    hora_future *taken;
    void *result;
    CHECK_OK(hora_completion_service_take(service, &taken));
    CHECK(hora_future_is_done(taken));
    CHECK_OK(hora_future_get(taken, &result));
    CHECK_INT(hora__counter_read(&((struct work *)result)->ran), 1);
    (void)hora_future_unref(taken);
}

static void end_pool(int tasks)
{
    CHECK_OK(hora_pool_shutdown(pool));
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    CHECK_OK(hora_pool_free(pool));
    for (int i = 0; i < tasks; i++) {
        CHECK_INT(works[i].drops, 1);
        CHECK_INT(works[i].result_drops, (int)hora__counter_read(&works[i].ran));
    }
}

static void end(int tasks)
{
    CHECK_OK(hora_completion_service_free(service)); /* a worker may still be inside its delivery */
    end_pool(tasks);
}

SCENARIO(completion_of_a_pool_delivers_one)
{
    hora_future *future;
    begin(1);
    CHECK_OK(submit(0, &future));
    take();
    CHECK(hora_future_is_done(future));
    (void)hora_future_unref(future);
    end(1);
}

/* Two workers fill and leave a row at the same time. */
LARGE_SCENARIO(completion_of_a_pool_delivers_all)
{
    begin(2);
    for (int i = 0; i < MOST; i++)
        CHECK_OK(submit(i, NULL));
    for (int i = 0; i < MOST; i++)
        take();
    hora_future *none;
    CHECK_ERROR(hora_completion_service_poll(service, &none), HORA_EEMPTY);
    end(MOST);
}

/* The service is freed while a task waits, runs, or is delivered. */
static void free_early(int tasks)
{
    begin(1);
    for (int i = 0; i < tasks; i++)
        CHECK_OK(submit(i, NULL));
    CHECK_OK(hora_completion_service_free(service));
    end_pool(tasks);
    for (int i = 0; i < tasks; i++)
        CHECK_INT(hora__counter_read(&works[i].ran), 1);
}

SCENARIO(completion_of_a_pool_meets_free)
{
    free_early(1);
}

MEDIUM_SCENARIO(completion_of_a_pool_with_a_full_row_meets_free)
{
    free_early(2);
}

/* A pool that stops hands back the futures. Without another reference they end with the service. */
SCENARIO(completion_of_a_pool_meets_stop_and_free)
{
    begin(1);
    CHECK_OK(submit(0, NULL));
    CHECK_OK(submit(1, NULL));
    CHECK_OK(hora_pool_shutdown_now(pool, NULL));
    CHECK_OK(hora_completion_service_free(service));
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    free_pool(pool);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(works[i].drops, 1);
        CHECK_INT(works[i].result_drops, (int)hora__counter_read(&works[i].ran));
    }
}

static void cancel(void *future)
{
    (void)hora_future_cancel(future, true);
    (void)hora_future_unref(future);
}

/* A future that is cancelled is delivered as well, once. */
MEDIUM_SCENARIO(completion_of_a_pool_meets_cancel)
{
    hora_future *future;
    hora_future *taken;
    begin(1);
    CHECK_OK(submit(0, &future));
    test_thread *other = test_thread_start(NULL, cancel, hora_future_ref(future));
    CHECK_OK(hora_completion_service_take(service, &taken));
    CHECK_POINTER(taken, future);
    CHECK(hora_future_is_done(taken));
    (void)hora_future_unref(taken);
    test_thread_join(other);
    (void)hora_future_unref(future);
    end(1);
}

static int help_itself(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    CHECK_OK(submit(0, NULL));
    CHECK_OK(submit(1, NULL));
    take();
    take();
    return 0;
}

/* The only worker takes, and runs the tasks itself: it finds them by a walk over the seats. */
SCENARIO(completion_of_a_pool_inside_its_worker)
{
    hora_future *future;
    begin(1);
    CHECK_OK(hora_pool_submit(pool, HORA_TASK(help_itself, NULL), &future));
    CHECK_OK(hora_future_get(future, NULL));
    (void)hora_future_unref(future);
    end(2);
}

static void shut_down(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_shutdown(pool));
}

/* A task that the pool refuses is the caller's. */
LARGE_SCENARIO(completion_submit_meets_shutdown)
{
    begin(1);
    test_thread *other = test_thread_start(NULL, shut_down, NULL);
    int error = submit(0, NULL);
    CHECK(error == 0 || error == HORA_EREJECTED);
    if (error == 0)
        take();
    test_thread_join(other);
    end(error == 0 ? 1 : 0);
    CHECK_INT(works[0].drops, error == 0 ? 1 : 0);
}

/* The rejection rule completes the future, which has left its seat. */
SCENARIO(completion_submit_meets_a_pool_that_discards)
{
    hora_future *taken;
    begin(1);
    CHECK_OK(hora_pool_set_reject(pool, HORA_REJECT_DISCARD, NULL, NULL, NULL));
    CHECK_OK(hora_pool_shutdown(pool));
    CHECK_OK(submit(0, NULL));
    CHECK_OK(hora_completion_service_poll(service, &taken));
    CHECK_ERROR(hora_future_get(taken, NULL), HORA_EREJECTED);
    (void)hora_future_unref(taken);
    end(1);
}

SWEEP(completion_of_a_pool_survives)
{
    for (int i = 0; i < MOST; i++) {
        works[i] = (struct work){.drops = 0};
        hora__counter_set(&works[i].ran, 0);
    }
    if (hora_pool_new_fixed(1, NULL, &pool, NULL) < 0)
        return;
    hora_executor executor = hora_pool_executor(pool);
    bool accepted[MOST] = {false};
    int error = hora_completion_service_new(&executor, NULL, &service);
    if (error == 0) {
        for (int i = 0; i < MOST; i++) {
            error = submit(i, NULL);
            CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN);
            accepted[i] = error == 0;
        }
        CHECK_OK(hora_completion_service_free(service));
    }
    while ((error = hora_pool_free(pool)) == HORA_ENOMEM)
        continue;
    CHECK(error >= 0);
    for (int i = 0; i < MOST; i++)
        CHECK_INT(works[i].drops, accepted[i] ? 1 : 0);
}
