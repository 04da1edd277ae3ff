/* SPDX-License-Identifier: Apache-2.0 */
/* hora.c - hora's fixed pool: futures, group, completion service, invoke_all, latch, and execute
 *
 * Variant: with STEALING, the pool is that of hora_pool_new_work_stealing.
 *
 * The forms of W11 are a thousand tasks with different names and lines, and ten functions. */
#include <stddef.h>
#include <stdlib.h>

#include <hora/completion.h>
#include <hora/group.h>
#include <hora/hora.h>
#include <hora/latch.h>

#include "tasks.h"

enum { MOST_AT_ONCE = 10000 }; /* tasks of a round of W9 */

static hora_pool *pool;
static hora_executor executor;
static hora_future *futures[MOST_AT_ONCE];

static void open_pool(int workers)
{
#ifdef STEALING
    MUST(hora_pool_new_work_stealing(workers, NULL, &pool, NULL) == 0);
#else
    MUST(hora_pool_new_fixed(workers, NULL, &pool, NULL) == 0);
#endif
    executor = hora_pool_executor(pool);
}

static void close_pool(void)
{
    MUST(hora_pool_free(pool) == 0);
}

/* ---- W9 ---- */

static int add(void *arg, void **ret_result)
{
    *ret_result = cell_add(arg);
    return 0;
}

static void check(hora_future *future)
{
    void *cell;
    MUST(hora_future_get(future, &cell) == 0);
    cell_check(cell);
    hora_future_unref(future);
}

static void order(struct cell *cells, long count)
{
    for (long i = 0; i < count; i++)
        MUST(hora_pool_submit(pool, HORA_TASK(add, &cells[i]), &futures[i]) == 0);
    for (long i = 0; i < count; i++)
        check(futures[i]);
}

static void group(struct cell *cells, long count)
{
    hora_group *all;
    MUST(hora_group_new(NULL, &all, NULL) == 0);
    for (long i = 0; i < count; i++)
        MUST(hora_group_submit(all, &executor, HORA_TASK(add, &cells[i]), NULL) == 0);
    MUST(hora_group_await(all) == 0 && hora_group_failed(all) == 0);
    MUST(hora_group_free(all) == 0);
}

static void completion(struct cell *cells, long count)
{
    hora_completion_service *service;
    MUST(hora_completion_service_new(&executor, NULL, &service) == 0);
    for (long i = 0; i < count; i++)
        MUST(hora_completion_service_submit(service, HORA_TASK(add, &cells[i]), NULL) == 0);
    for (long i = 0; i < count; i++) {
        hora_future *future;
        MUST(hora_completion_service_take(service, &future) == 0);
        check(future);
    }
    MUST(hora_completion_service_free(service) == 0);
}

static void batch(struct cell *cells, long count)
{
    static hora_task tasks[MOST_AT_ONCE];
    static const hora_task *pointers[MOST_AT_ONCE];
    for (long i = 0; i < count; i++) {
        tasks[i] = *HORA_TASK(add, &cells[i]);
        pointers[i] = &tasks[i];
    }
    MUST(hora_pool_invoke_all(pool, pointers, (int)count, futures) == 0);
    for (long i = 0; i < count; i++)
        check(futures[i]);
}

static hora_latch *latch; /* of the round */

static int add_and_count_down(void *arg, void **ret_result)
{
    (void)ret_result;
    cell_add(arg);
    return hora_latch_count_down(latch);
}

static void await_latch(struct cell *cells, long count)
{
    MUST(hora_latch_new((int)count, NULL, &latch, NULL) == 0);
    for (long i = 0; i < count; i++)
        MUST(hora_pool_execute(pool, HORA_TASK(add_and_count_down, &cells[i])) == 0);
    MUST(hora_latch_await(latch) == 0);
    MUST(hora_latch_free(latch) == 0);
}

/* ---- W10 ---- */

static int run_tree(void *arg, void **ret_result)
{
    (void)ret_result;
    tree_ran((long)(intptr_t)arg);
    return 0;
}

static int run_pipe(void *arg, void **ret_result)
{
    (void)ret_result;
    pipe_ran((long)(intptr_t)arg);
    return 0;
}

static void tree(long number)
{
    MUST(hora_pool_execute(pool, HORA_TASK(run_tree, (void *)(intptr_t)number)) == 0);
}

static void pipe_one(long number)
{
    MUST(hora_pool_execute(pool, HORA_TASK(run_pipe, (void *)(intptr_t)number)) == 0);
}

/* ---- W11 ---- */

/* A function of its own for each last digit. */
#define BODY(digit)                                       \
    static int body_##digit(void *arg, void **ret_result) \
    {                                                     \
        (void)arg;                                        \
        (void)ret_result;                                 \
        task_ran();                                       \
        return 0;                                         \
    }

BODY(0)
BODY(1)
BODY(2)
BODY(3)
BODY(4)
BODY(5)
BODY(6)
BODY(7)
BODY(8)
BODY(9)

/* The number of a form has four digits, so that none begins with 0. Its line is its number. */
#define FORM(tens, digit) \
    {.run = body_##digit, .name = "form " #tens #digit, .file = __FILE__, .line = tens##digit}
#define TEN_FORMS(tens)                                                                                      \
    FORM(tens, 0), FORM(tens, 1), FORM(tens, 2), FORM(tens, 3), FORM(tens, 4), FORM(tens, 5), FORM(tens, 6), \
        FORM(tens, 7), FORM(tens, 8), FORM(tens, 9)
#define HUNDRED_FORMS(hundreds)                                                                         \
    TEN_FORMS(hundreds##0), TEN_FORMS(hundreds##1), TEN_FORMS(hundreds##2), TEN_FORMS(hundreds##3),     \
        TEN_FORMS(hundreds##4), TEN_FORMS(hundreds##5), TEN_FORMS(hundreds##6), TEN_FORMS(hundreds##7), \
        TEN_FORMS(hundreds##8), TEN_FORMS(hundreds##9)

static const hora_task form_tasks[TASK_FORMS] = {
    HUNDRED_FORMS(10), HUNDRED_FORMS(11), HUNDRED_FORMS(12), HUNDRED_FORMS(13), HUNDRED_FORMS(14),
    HUNDRED_FORMS(15), HUNDRED_FORMS(16), HUNDRED_FORMS(17), HUNDRED_FORMS(18), HUNDRED_FORMS(19),
};

static void execute_forms(const short *forms, long count)
{
    for (long i = 0; i < count; i++)
        MUST(hora_pool_execute(pool, &form_tasks[forms[i]]) == 0);
}

/* ---- W12 ---- */

static int count_run(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    task_ran();
    return 0;
}

static int wait_for_release(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    worker_block();
    return 0;
}

static void block(void)
{
    MUST(hora_pool_execute(pool, HORA_TASK(wait_for_release, NULL)) == 0);
}

static void execute(long count)
{
    for (long i = 0; i < count; i++)
        MUST(hora_pool_execute(pool, HORA_TASK(count_run, NULL)) == 0);
}

static void submit(void **all, long count)
{
    for (long i = 0; i < count; i++) {
        hora_future *future;
        MUST(hora_pool_submit(pool, HORA_TASK(count_run, NULL), &future) == 0);
        all[i] = future;
    }
    workers_release();
    for (long i = 0; i < count; i++) {
        MUST(hora_future_get(all[i], NULL) == 0);
        hora_future_unref(all[i]);
    }
}

const struct tasks_peer tasks_peer = {
    .open = open_pool,
    .close = close_pool,
    .order = order,
    .group = group,
    .completion = completion,
    .batch = batch,
    .latch = await_latch,
    .tree = tree,
    .pipe = pipe_one,
    .forms = execute_forms,
    .block = block,
    .execute = execute,
    .submit = submit,
};
