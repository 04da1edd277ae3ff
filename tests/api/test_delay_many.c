/* SPDX-License-Identifier: Apache-2.0 */
/* test_delay_many.c - many elements through a delay queue: in order, none early, none lost */
#include "rows.h"

enum { MANY = 40000, PUTTERS = 2, EACH = 20000 };

struct one_of_many {
    hora_ns due;
    int number; /* in the order of putting */
};

static struct one_of_many elements[MANY];

static void check_follows(const struct one_of_many *last, const struct one_of_many *element)
{
    CHECK(last == NULL || last->due < element->due ||
          (last->due == element->due && last->number < element->number));
}

/* Put at once, with many that are due at the same time; some are taken or removed on the way. */
TEST_REAL(delay_many_elements_leave_in_order, "")
{
    struct fixture f;
    void *item;
    int gone = 0;

    fixture_open_queue(&f, DELAY, 0);
    hora_ns start = hora_clock_now(hora_virtual_clock_view(f.clock, HORA_CLOCK_MONOTONIC));
    for (int i = 0; i < MANY; i++) {
        elements[i] = (struct one_of_many){start + 1 + (hora_ns)test_random(5000), i};
        CHECK_OK(hora_queue_put_at(f.queue, &elements[i], elements[i].due));
        if (i % 4000 == 0)
            gone += hora_queue_remove(f.queue, &elements[test_random((uint32_t)i + 1)]);
    }
    CHECK_INT(hora_queue_size(f.queue), MANY - gone);
    CHECK_ERROR(hora_queue_poll(f.queue, &item), HORA_EEMPTY);
    const struct one_of_many *last = NULL;
    for (int step = 0; step < 10; step++) {
        advance(&f, 500);
        for (; hora_queue_poll(f.queue, &item) == 0; gone++) {
            check_follows(last, item);
            last = item;
            CHECK(last->due > start + 500 * step && last->due <= start + 500 * (step + 1));
        }
    }
    CHECK_INT(gone, MANY);
    fixture_close(&f);
}

static hora_queue *queue;

static void put_each(void *arg)
{
    struct one_of_many *own = arg;
    for (int i = 0; i < EACH; i++) {
        own[i] = (struct one_of_many){hora_clock_now(NULL) + (hora_ns)((unsigned)i * 7919u % 3000000u), i};
        CHECK_OK(hora_queue_put_at(queue, &own[i], own[i].due));
    }
}

static void take_half(void *arg)
{
    for (int i = 0; i < MANY / 2; i++) {
        void *item;
        CHECK_OK(hora_queue_take(queue, &item));
        CHECK(((struct one_of_many *)item)->due <= hora_clock_now(NULL));
        ((struct one_of_many *)item)->number = -1;
        ++*(int *)arg;
    }
}

/* On real threads: two put, two take, all at the same time. */
TEST_REAL(delay_many_elements_pass_between_threads, "")
{
    int taken[2] = {0, 0};
    CHECK_OK(hora_queue_new_delay(NULL, &queue, NULL));
    test_thread *threads[] = {
        test_thread_start(NULL, put_each, &elements[0]),
        test_thread_start(NULL, take_half, &taken[0]),
        test_thread_start(NULL, put_each, &elements[EACH]),
        test_thread_start(NULL, take_half, &taken[1]),
    };
    for (int i = 0; i < 4; i++)
        test_thread_join(threads[i]);
    CHECK_INT(taken[0] + taken[1], PUTTERS * EACH);
    for (int i = 0; i < MANY; i++)
        CHECK_INT(elements[i].number, -1);
    CHECK_INT(hora_queue_size(queue), 0);
    CHECK_OK(hora_queue_free(queue));
}
