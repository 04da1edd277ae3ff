/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_faults.c - each allocation and thread start fails, once or from then on: nothing is lost or leaks
 *
 * A call that fails must have changed nothing, so all counts must be as before. */
#include <string.h>

#include "kinds.h"

static int dropped;

static void count_drop(void *item)
{
    (void)item;
    dropped++;
}

static bool refused(int error)
{
    CHECK(error == 0 || error == HORA_ENOMEM);
    return error < 0;
}

/* Fill a queue as far as it goes, take half, look at the rest, clear it. */
static void use(hora_queue *queue, enum kind kind)
{
    int in = 0;
    for (int i = 7; i >= 0; i--) {
        int error = hora_queue_offer(queue, &kinds_values[i]);
        CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EFULL);
        if (error == 0)
            in++;
        CHECK_INT(hora_queue_size(queue), in);
    }
    void *items[9];
    CHECK_INT(hora_queue_snapshot(queue, items, 9), in);
    int out = 0;
    void *item;
    const int *last = NULL;
    while (out < in / 2 && hora_queue_poll(queue, &item) == 0) {
        const int *value = item;
        CHECK(last == NULL || kind != PRIORITY || *value > *last);
        last = value;
        out++;
    }
    CHECK_INT(out, in / 2);
    dropped = 0;
    if (refused(hora_queue_clear(queue)))
        CHECK_INT(hora_queue_size(queue), in - out);
    else
        CHECK_INT(dropped, in - out);
}

static void survive(enum kind kind)
{
    hora_virtual_clock *clock = NULL;
    if (refused(hora_virtual_clock_new(NULL, &clock, NULL)))
        return;
    hora_queue *queue = NULL;
    if (!refused(kinds_new(kind, hora_virtual_clock_view(clock, HORA_CLOCK_MONOTONIC), count_drop, &queue))) {
        use(queue, kind);
        void *item;
        CHECK_OK(hora_queue_close(queue));
        CHECK(hora_queue_poll_for(queue, 0, &item) != HORA_ETIMEDOUT);
        CHECK_OK(hora_queue_free(queue));
    } else {
        CHECK_POINTER(queue, NULL);
    }
    CHECK_OK(hora_virtual_clock_free(clock));
}

#define SURVIVES(kind)           \
    SWEEP(queue_survives_##kind) \
    {                            \
        survive(kind);           \
    }
SURVIVES(ARRAY)
SURVIVES(LINKED)
SURVIVES(FAIR)
SURVIVES(UNFAIR)
SURVIVES(PRIORITY)
SURVIVES(DELAY)

static hora_queue *shared;

static void put_one(void *arg)
{
    (void)refused(hora_queue_put(shared, &kinds_values[1]));
    (void)arg;
}

/* A blocking take in a thread whose record, or whose partner, cannot be had. */
SWEEP(blocking_take_survives)
{
    if (refused(hora_queue_new_linked(1, NULL, &shared, NULL)))
        return;
    test_thread *producer = test_thread_start(NULL, put_one, NULL);
    void *item = NULL;
    int error = hora_queue_poll_for(shared, 1000, &item);
    CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_ETIMEDOUT);
    test_thread_join(producer);
    CHECK_OK(hora_queue_free(shared));
}

static int count_visit(void *item, void *context)
{
    (void)item;
    ++*(int *)context;
    return 0;
}

SWEEP(for_each_survives)
{
    hora_queue *queue;
    if (refused(hora_queue_new_array(4, NULL, &queue, NULL)))
        return;
    for (int i = 0; i < 4; i++)
        CHECK_OK(hora_queue_offer(queue, &kinds_values[i]));
    int visits = 0;
    CHECK_INT(visits, 0);
    bool failed = refused(hora_queue_for_each(queue, count_visit, &visits));
    CHECK_INT(visits, failed ? 0 : 4);
    CHECK_INT(hora_queue_size(queue), 4);
    CHECK_OK(hora_queue_free(queue));
}

SWEEP(handles_and_attachment_survive)
{
    hora_thread *self = NULL;
    if (!refused(hora_thread_self(&self)))
        (void)hora_thread_unref(self);
    hora_virtual_clock *clock;
    if (refused(hora_virtual_clock_new(NULL, &clock, NULL)))
        return;
    if (!refused(hora_virtual_clock_attach(clock)))
        CHECK_OK(hora_virtual_clock_detach(clock));
    (void)refused(hora_virtual_clock_settle(clock));
    int fd = hora_interrupt_fd();
    CHECK(fd >= 0 || fd == HORA_ENOMEM);
    CHECK_OK(hora_virtual_clock_free(clock));
}
