/* SPDX-License-Identifier: Apache-2.0 */
/* test_handed_back.c - a future leaves a pool with admission and runs on another one
 *
 * It leaves by stop or by remove; with a class, a key and a priority, or without. Nothing of its old pool is
 * visible or used any more. */
#include <stdatomic.h>
#include <string.h>

#include "harness.h"

enum way { BY_STOP, BY_REMOVE, WAYS };

static hora_latch *gate;
static hora_latch *at_gate; /* counts the workers that wait there */
static atomic_int runs;

static int wait_at_gate(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    CHECK_OK(hora_latch_count_down(at_gate));
    return hora_latch_await(gate);
}

static int work(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    runs++;
    return 0;
}

/* A pool with admission with one worker, which waits at the gate. */
static hora_pool *open_pool(bool is_scheduler)
{
    hora_pool *pool;
    if (is_scheduler)
        CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .admission = HORA_ADMISSION()),
                                    &pool, NULL));
    else
        CHECK_OK(
            hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .admission = HORA_ADMISSION()), &pool, NULL));
    CHECK_OK(hora_pool_execute(pool, HORA_TASK(wait_at_gate, NULL)));
    return pool;
}

/* Let the future leave; the caller has a reference anyway. */
static void leave(hora_pool *pool, hora_future *future, enum way way)
{
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    switch (way) {
    case BY_REMOVE:
        CHECK_INT(hora_pool_remove(pool, future), 1);
        break;
    case BY_STOP:
    default:
        CHECK_OK(hora_pool_shutdown_now(pool, &list));
        CHECK_INT(list.count, 1);
        CHECK_POINTER(hora_future_list_take(&list), future);
        (void)hora_future_unref(future);
        break;
    }
}

struct paper {
    size_t length;
    char text[16384];
};

static int write_down(const char *text, size_t length, void *arg)
{
    struct paper *paper = arg;
    CHECK(length > 0 && paper->length + length < sizeof paper->text);
    memcpy(paper->text + paper->length, text, length);
    paper->length += length;
    paper->text[paper->length] = '\0';
    return 0;
}

static bool dump_shows(hora_pool *pool, const char *text)
{
    static struct paper paper;
    paper.length = 0;
    CHECK_OK(hora_pool_dump(pool, write_down, &paper));
    return strstr(paper.text, text) != NULL;
}

static void check_move(bool from_scheduler, enum way way, const hora_task_options *terms)
{
    char text[200];
    hora_future *future;
    hora_class *old_class = NULL;
    hora_task_options own = *terms;
    runs = 0;
    CHECK_OK(hora_latch_new(1, NULL, &gate, NULL));
    CHECK_OK(hora_latch_new(2, NULL, &at_gate, NULL));
    hora_pool *first = open_pool(from_scheduler);
    hora_pool *second = open_pool(false);
    CHECK_OK(hora_latch_await(at_gate));
    CHECK_OK(hora_class_new(first, HORA_CLASS_OPTIONS(.name = "old class"), &old_class, NULL));
    own.task_class = own.key != 0 ? old_class : NULL;
    CHECK_OK(hora_pool_submit_with(first, HORA_TASK(work, NULL), &own, &future, NULL));
    leave(first, future, way);
    CHECK_OK(hora_pool_execute_future(second, future));
    CHECK_OK(hora_pool_free(first));
    CHECK(!dump_shows(second, "old class"));
    (void)hora_future_explain(future, text, sizeof text);
    int error = hora_future_set_priority(future, HORA_PRIORITY_HIGH);
    CHECK(error == HORA_ENOTSUP || error == HORA_EBUSY);
    CHECK_OK(hora_latch_count_down(gate));
    CHECK_OK(hora_future_get(future, NULL));
    CHECK_INT(runs, 1);
    (void)hora_future_unref(future);
    CHECK_OK(hora_pool_free(second));
    CHECK_OK(hora_latch_free(gate));
    CHECK_OK(hora_latch_free(at_gate));
}

TEST(what_leaves_a_pool_with_admission_forgets_it, "")
{
    for (int way = 0; way < WAYS; way++)
        check_move(false, (enum way)way, HORA_TASK_OPTIONS(.key = 0));
}

TEST(what_leaves_a_pool_with_admission_and_terms_forgets_it, "")
{
    for (int way = 0; way < WAYS; way++)
        check_move(false, (enum way)way, HORA_TASK_OPTIONS(.key = 7, .priority = HORA_PRIORITY_URGENT));
}

TEST(what_leaves_a_scheduler_with_admission_forgets_it, "")
{
    check_move(true, BY_STOP, HORA_TASK_OPTIONS(.key = 0));
    check_move(true, BY_STOP, HORA_TASK_OPTIONS(.key = 7, .priority = HORA_PRIORITY_URGENT));
}
