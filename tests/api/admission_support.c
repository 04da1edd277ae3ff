/* SPDX-License-Identifier: Apache-2.0 */
/* admission_support.c - see admission_support.h */
#include "admission_support.h"

#include <stdio.h>
#include <string.h>

void trial_prepare(struct trial *t)
{
    memset(t, 0, sizeof(*t));
    rig_prepare(&t->r, false);
}

void trial_open_with(struct trial *t, const hora_pool_options *options, hora_ns ageing)
{
    hora_pool_options own = *options;

    trial_prepare(t);
    own.admission = HORA_ADMISSION(.ageing = ageing);
    rig_pool(&t->r, &own);
}

void trial_open(struct trial *t, int threads, hora_ns ageing)
{
    trial_open_with(t, HORA_POOL_OPTIONS(.core_threads = threads), ageing);
}

void trial_close(struct trial *t)
{
    for (int i = 0; i < t->count; i++)
        if (t->acts[i].gate != NULL)
            CHECK_OK(hora_latch_count_down(t->acts[i].gate));
    if (t->r.pool != NULL)
        rig_finish(&t->r);
    for (int i = 0; i < t->count; i++)
        (void)hora_future_unref(t->acts[i].future);
    for (int i = 0; i < t->count; i++)
        CHECK_OK(hora_latch_free(t->acts[i].gate));
    rig_close(&t->r);
}

hora_class *trial_class(struct trial *t, const hora_class_options *options)
{
    hora_class *made = NULL;
    hora_error reason;

    if (hora_class_new(t->r.pool, options, &made, &reason) < 0)
        test_fail(__FILE__, __LINE__, "the class is refused: %s", reason.message);
    return made;
}

int act_run(void *arg, void **ret_result)
{
    struct act *act = arg;
    struct trial *t = act->trial;

    (void)ret_result;
    t->order[atomic_fetch_add(&t->begun, 1)] = act->id;
    atomic_fetch_add(&act->begun, 1);
    int awaited = act->gate != NULL ? hora_latch_await(act->gate) : 0;
    CHECK(awaited == 0 || awaited == HORA_EINTERRUPTED);
    atomic_fetch_add(&act->ended, 1);
    return act->code;
}

struct act *act_new(struct trial *t, bool waits)
{
    struct act *act = &t->acts[t->count];

    act->trial = t;
    act->id = t->count++;
    if (waits)
        CHECK_OK(hora_latch_new(1, HORA_LATCH_OPTIONS(.clock = t->r.f.view), &act->gate, NULL));
    return act;
}

static struct act *submit(struct trial *t, const hora_task_options *terms, bool waits)
{
    struct act *act = act_new(t, waits);

    if (terms != NULL)
        CHECK_OK(hora_pool_submit_with(t->r.pool, HORA_TASK(act_run, act), terms, &act->future, NULL));
    else
        CHECK_OK(hora_pool_submit(t->r.pool, HORA_TASK(act_run, act), &act->future));
    settle(&t->r.f); /* of two threads that are started together either may be the first */
    return act;
}

struct act *act_waiting(struct trial *t, const hora_task_options *terms)
{
    return submit(t, terms, true);
}

struct act *act_quick(struct trial *t, const hora_task_options *terms)
{
    return submit(t, terms, false);
}

void act_let_end(struct act *act)
{
    CHECK_OK(hora_latch_count_down(act->gate));
    settle(&act->trial->r.f);
}

void time_passes(struct trial *t, hora_ns time)
{
    settle(&t->r.f);
    advance(&t->r.f, time);
    settle(&t->r.f);
}

static void write_ids(char *text, size_t size, int count, const int *ids)
{
    int at = 0;

    text[0] = '\0';
    for (int i = 0; i < count; i++)
        at += snprintf(text + at, size - (size_t)at, " %d", ids[i]);
}

void check_begun(const char *file, int line, struct trial *t, int count, const int *ids)
{
    char want[256], got[256];

    settle(&t->r.f);
    write_ids(want, sizeof(want), count, ids);
    write_ids(got, sizeof(got), t->begun, t->order);
    if (strcmp(want, got) != 0)
        test_fail(file, line, "begun:%s, not%s", got, want);
}

hora_class_info class_info(hora_class *task_class)
{
    hora_class_info info = HORA_INIT(hora_class_info);

    CHECK_OK(hora_class_get_info(task_class, &info));
    return info;
}
