/* SPDX-License-Identifier: Apache-2.0 */
/* test_priority.c - levels of priority, and how waiting makes up for them */
#include "admission_support.h"

#define LOW    HORA_TASK_OPTIONS(.priority = HORA_PRIORITY_LOW)
#define HIGH   HORA_TASK_OPTIONS(.priority = HORA_PRIORITY_HIGH)
#define URGENT HORA_TASK_OPTIONS(.priority = HORA_PRIORITY_URGENT)

static void one_after_the_other(struct trial *t)
{
    for (int i = 0; i < t->count; i++)
        act_let_end(&t->acts[t->order[i]]);
}

TEST(priority_decides_who_is_next, "")
{
    struct trial t;

    trial_open(&t, 1, HORA_FOREVER);
    (void)act_waiting(&t, NULL);
    settle(&t.r.f);
    (void)act_waiting(&t, LOW);
    (void)act_waiting(&t, NULL);
    (void)act_waiting(&t, URGENT);
    (void)act_waiting(&t, HIGH);
    (void)act_waiting(&t, URGENT);
    (void)act_waiting(&t, NULL);
    one_after_the_other(&t);
    CHECK_BEGUN(&t, 0, 3, 5, 4, 2, 6, 1);
    trial_close(&t);
}

TEST(priority_is_worth_a_time_of_waiting, "")
{
    struct trial t;

    trial_open(&t, 1, 100);
    (void)act_waiting(&t, NULL);
    settle(&t.r.f);
    (void)act_waiting(&t, NULL); /* 1 */
    advance(&t.r.f, 99);
    (void)act_waiting(&t, HIGH); /* 2: before 1 */
    advance(&t.r.f, 1);
    (void)act_waiting(&t, HIGH); /* 3: as 1, which came first */
    advance(&t.r.f, 1);
    (void)act_waiting(&t, HIGH);   /* 4: after 1 */
    (void)act_waiting(&t, URGENT); /* 5: two levels, and so before 2 */
    one_after_the_other(&t);
    CHECK_BEGUN(&t, 0, 5, 2, 1, 3, 4);
    trial_close(&t);
}

TEST(priority_without_an_ageing_is_worth_a_second, "")
{
    struct trial t;

    trial_open(&t, 1, 0);
    (void)act_waiting(&t, NULL);
    settle(&t.r.f);
    (void)act_waiting(&t, LOW); /* 1 */
    advance(&t.r.f, HORA_SECONDS(1) - 1);
    (void)act_waiting(&t, NULL); /* 2 */
    advance(&t.r.f, 2);
    (void)act_waiting(&t, NULL); /* 3 */
    one_after_the_other(&t);
    CHECK_BEGUN(&t, 0, 2, 1, 3);
    trial_close(&t);
}

TEST(priority_of_a_queued_task_can_be_changed, "")
{
    struct trial t;

    trial_open(&t, 1, HORA_FOREVER);
    (void)act_waiting(&t, NULL);
    settle(&t.r.f);
    for (int i = 0; i < 3; i++)
        (void)act_waiting(&t, NULL);
    CHECK_OK(hora_future_set_priority(t.acts[3].future, HORA_PRIORITY_URGENT));
    CHECK_OK(hora_future_set_priority(t.acts[1].future, HORA_PRIORITY_LOW));
    CHECK_ERROR(hora_future_set_priority(t.acts[0].future, HORA_PRIORITY_HIGH), HORA_EBUSY);
    CHECK_ERROR(hora_future_set_priority(t.acts[1].future, (hora_priority)3), HORA_EINVAL);
    CHECK_ERROR(hora_future_set_priority(t.acts[1].future, (hora_priority)-2), HORA_EINVAL);
    CHECK_ERROR(hora_future_set_priority(NULL, HORA_PRIORITY_HIGH), HORA_EINVAL);
    one_after_the_other(&t);
    CHECK_BEGUN(&t, 0, 3, 2, 1);
    trial_close(&t);
}

/* However many urgent tasks arrive, only those that arrive within three times the ageing overtake the low
 * one. */
TEST(priority_lets_nothing_starve, "")
{
    struct trial t;

    trial_open(&t, 1, 10);
    (void)act_waiting(&t, NULL);
    settle(&t.r.f);
    (void)act_waiting(&t, LOW);
    for (int i = 0; i < 35; i++) {
        advance(&t.r.f, 1);
        (void)act_waiting(&t, URGENT);
    }
    one_after_the_other(&t);
    CHECK_INT(t.begun, 37);
    CHECK_INT(t.order[30], 1); /* after 29 urgent ones: that of 30 came as it had waited for three levels */
    trial_close(&t);
}
