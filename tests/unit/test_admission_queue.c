/* SPDX-License-Identifier: Apache-2.0 */
/* test_admission_queue.c - tickets that items bring along, and tickets that are made for them */
#include "admit/admission_queue.h"

#include "harness.h"

enum { ITEMS = 3, KEY = 7 };

/* An item; the first has no ticket. */
struct item {
    struct hora__ticket ticket;
    bool has_ticket;
};

static struct item items[ITEMS];
static struct hora__admission_queue queue;

static struct hora__ticket *own_ticket(const void *context, const void *item)
{
    (void)context;
    struct item *found = &items[(const struct item *)item - items];
    return found->has_ticket ? &found->ticket : NULL;
}

static int threads(const void *context)
{
    (void)context;
    return ITEMS;
}

static void begin_test(void)
{
    hora__admission_queue_init(&queue, 0, own_ticket, threads, NULL, NULL);
    for (int i = 0; i < ITEMS; i++) {
        items[i].has_ticket = i > 0;
        hora__ticket_init(&items[i].ticket, NULL, i > 0 ? KEY : 0, HORA__LEVEL_NORMAL + (i > 0));
    }
}

static void end_test(void)
{
    CHECK(hora__admission_check(&queue.admission));
    hora__admission_queue_destroy(&queue);
}

static struct hora__ticket *add(struct item *item)
{
    struct hora__ticket *ticket = NULL;
    CHECK_OK(hora__admission_queue_claim(&queue, item, item, &ticket));
    hora__admission_queue_add(&queue, ticket, item, 0);
    CHECK_POINTER(hora__admission_queue_waiting(&queue, item), ticket);
    return ticket;
}

TEST_REAL(admission_queue_uses_the_ticket_of_an_item, "")
{
    begin_test();
    CHECK_POINTER(add(&items[1]), &items[1].ticket);
    hora__admission_begin(&queue.admission, &items[1].ticket, 0);
    CHECK_POINTER(hora__admission_queue_waiting(&queue, &items[1]), NULL);
    CHECK_POINTER(hora__admission_queue_running(&queue, &items[1]), &items[1].ticket);
    CHECK(hora__admission_queue_end(&queue, &items[1]));
    CHECK(!hora__admission_queue_end(&queue, &items[1])); /* it has ended */
    CHECK_POINTER(add(&items[1]), &items[1].ticket);      /* it is not in use any more */
    CHECK_POINTER(hora__admission_queue_remove(&queue, &items[1].ticket), &items[1]);
    end_test();
}

TEST_REAL(admission_queue_makes_a_ticket_for_an_item_without_one, "")
{
    begin_test();
    struct hora__ticket *made = add(&items[0]);
    CHECK(made != &items[0].ticket);
    CHECK_POINTER(hora__ticket_holder(made), &items[0]);
    CHECK_POINTER(made->class, &queue.admission.plain);
    hora__admission_begin(&queue.admission, made, 0);
    CHECK_POINTER(hora__admission_queue_running(&queue, &items[0]), made);
    CHECK(hora__admission_queue_end(&queue, &items[0]));
    made = add(&items[0]);
    CHECK_POINTER(hora__admission_queue_remove(&queue, made), &items[0]);
    CHECK_OK(hora__admission_queue_claim(&queue, &items[0], NULL, &made));
    hora__admission_queue_unclaim(&queue, made, &items[0]); /* it was not added after all */
    end_test();
}

/* The second entry of an item has class, key and level of the first, so it waits behind that. */
TEST_REAL(admission_queue_knows_an_item_that_is_there_twice, "")
{
    begin_test();
    struct hora__ticket *own = add(&items[1]);
    struct hora__ticket *made = NULL;
    CHECK_OK(hora__admission_queue_claim(&queue, &items[1], NULL, &made));
    CHECK(made != own);
    hora__admission_queue_add(&queue, made, &items[1], 0);
    CHECK_INT(made->key, KEY);
    CHECK_INT(made->level, own->level);
    CHECK_INT(made->state, HORA__TICKET_BEHIND);
    hora__admission_begin(&queue.admission, own, 0);
    CHECK_POINTER(hora__admission_queue_waiting(&queue, &items[1]), made);
    CHECK_POINTER(hora__admission_queue_running(&queue, &items[1]), own);
    CHECK(hora__admission_queue_end(&queue, &items[1]));
    CHECK_INT(made->state, HORA__TICKET_READY);
    CHECK_POINTER(hora__admission_queue_remove(&queue, made), &items[1]);
    end_test();
}
