/* SPDX-License-Identifier: Apache-2.0 */
/* test_far_batches.c - far batches against a plain heap, on random histories
 *
 * Mechanism    The test does the same to both: it adds elements one by one and as batches of any length,
 *              takes the first, and removes some from the middle. Then both must agree on the first element,
 *              on the size, and on the order of all that leave, ties included; and the far batches must be
 *              sound. Each batch is allocated, so AddressSanitizer sees accesses beyond it, or to a batch
 *              that was returned. */
#include <stdlib.h>

#include "base/heap.h"
#include "harness.h"
#include "timer/far.h"

enum { MOST = 6000, STEPS = 3000, HISTORIES = 40, ROOM = 4096 };

/* What the slots mark: an element of the history. */
struct element {
    uint64_t sequence;
    bool is_in;
};

static struct hora__far_batches far;
static struct hora__free_list memory; /* of all batches */
static struct hora__heap model;
static struct hora__heap_entry model_memory[MOST];
static struct element elements[STEPS * 2 * HORA__FAR_BATCH];
static int element_count;
static bool has_extremes;   /* times that cannot be sorted by keys */
static bool is_in_sequence; /* elements come in the order of their sequence numbers */

static int by_due(const struct hora__heap_entry *a, const struct hora__heap_entry *b, void *context)
{
    (void)context;
    return (a->due > b->due) - (a->due < b->due);
}

static void begin(void)
{
    hora__free_list_init(&memory, sizeof(struct hora__far_batch), sizeof(void *), 0);
    far = (struct hora__far_batches){.first = INT64_MAX, .memory = &memory};
    model = (struct hora__heap){.compare = by_due};
    element_count = 0;
    CHECK_INT(hora__far_reserve(&far, ROOM), 0);
    (void)hora__heap_move(&model, model_memory, MOST);
}

/* No batch is left. */
static void end(void)
{
    hora__far_free(&far);
    CHECK_INT(memory.used_count, 0);
}

static struct hora__far_batch *new_batch(void)
{
    uint16_t offset;
    struct hora__far_batch *batch = hora__free_list_get(&memory, 0, &offset);
    CHECK(batch != NULL);
    hora__far_batch_init(batch);
    batch->offset = offset;
    return batch;
}

/* Few different times, so that there are many ties, or many; "never" is among them. */
static int64_t some_due(uint32_t spread)
{
    if (has_extremes && test_random(50) == 0)
        return test_random(2) == 0 ? INT64_MAX : INT64_MIN;
    return (int64_t)test_random(spread) - (int64_t)(spread / 4);
}

/* The heap gives its own numbers in order, so an element gets the number that it has there. */
static struct hora__timer_slot new_slot(int64_t due)
{
    struct element *element = &elements[element_count++];
    *element = (struct element){model.next_sequence, true};
    hora__heap_push(&model, element, due);
    return (struct hora__timer_slot){due, (char *)element};
}

static struct element *element_of(struct hora__timer_slot slot)
{
    return (struct element *)(void *)slot.mark;
}

static void add_one(uint32_t spread)
{
    if (model.size == MOST)
        return;
    struct hora__timer_slot slot = new_slot(some_due(spread));
    CHECK(hora__far_add(&far, slot, element_of(slot)->sequence));
}

static void tidy(void)
{
    struct hora__timer_slot slots[HORA__FAR_BATCH];
    int count;
    struct hora__far_batch *empty = hora__far_tidy(&far, slots, &count);
    CHECK_INT(empty != NULL, count > 0);
    hora__far_batch_free(&far, empty);
    for (int i = 0; i < count; i++)
        CHECK(hora__far_add(&far, slots[i], element_of(slots[i])->sequence));
}

/* A batch whose slots were appended in order, or in reverse order. */
static void add_batch(uint32_t spread, int count)
{
    static struct hora__timer_slot slots[HORA__FAR_BATCH];
    if (model.size + count > MOST)
        return;
    struct hora__far_batch *batch = new_batch();
    for (int i = 0; i < count; i++)
        slots[i] = new_slot(some_due(spread));
    for (int i = 0; i < count; i++) {
        struct hora__timer_slot slot = slots[is_in_sequence ? i : count - 1 - i];
        hora__far_batch_append(batch, slot, element_of(slot)->sequence);
    }
    CHECK_INT(hora__far_batch_is_full(batch), count == HORA__FAR_BATCH);
    hora__far_add_batch(&far, batch);
    tidy();
}

static void remove_first(void)
{
    struct hora__timer_slot slot;
    struct hora__timer_slot next;
    if (model.size == 0)
        return;
    CHECK_INT(far.first, model.entries[0].due);
    CHECK_INT(hora__far_first_sequence(&far), model.entries[0].sequence);
    if (test_random(4) == 0)
        CHECK_POINTER(hora__far_peek(&far).mark, model.entries[0].item);
    hora__far_batch_free(&far, hora__far_pop(&far, &slot, &next));
    CHECK_INT(slot.due, model.entries[0].due);
    CHECK_POINTER(slot.mark, hora__heap_pop(&model));
    CHECK(next.mark == NULL || next.due >= slot.due);
    element_of(slot)->is_in = false;
}

/* Any element of the model, wherever it stands. */
static void remove_some(void)
{
    if (model.size == 0)
        return;
    int at = (int)test_random((uint32_t)model.size);
    struct element *element = model.entries[at].item;
    hora__far_batch_free(&far, hora__far_remove(&far, (char *)element));
    (void)hora__heap_remove_at(&model, at);
    element->is_in = false;
}

static void step(uint32_t spread, uint32_t pops)
{
    uint32_t choice = test_random(20);
    if (choice == 0 && test_random(4) == 0)
        add_batch(spread, HORA__FAR_BATCH);
    else if (choice == 0)
        add_batch(spread, 1 + (int)test_random(test_random(4) == 0 ? HORA__FAR_BATCH : 20));
    else if (choice <= 8)
        add_one(spread);
    else if (choice == 9)
        remove_some();
    else
        for (uint32_t i = 0; i < pops; i++)
            remove_first();
}

static void count_one(void *context, struct hora__timer_slot slot)
{
    CHECK(element_of(slot)->is_in);
    element_of(slot)->is_in = false; /* so that nothing is visited twice */
    ++*(int *)context;
}

/* All are visited, and none twice. */
static void check_each(void)
{
    int count = 0;
    hora__far_each(&far, count_one, &count);
    CHECK_INT(count, model.size);
}

TEST_REAL(far_batches_agree_with_heap, "")
{
    for (int history = 0; history < HISTORIES; history++) {
        static const uint32_t spreads[] = {3, 40, 100000};
        uint32_t spread = spreads[test_random(3)];
        has_extremes = history % 2 == 0;
        is_in_sequence = history % 4 < 2;
        begin();
        for (int i = 0; i < STEPS; i++) {
            step(spread, 1 + (uint32_t)(i / 500) % 4); /* the batches grow, then they shrink */
            CHECK_INT(far.size, model.size);
            if (i % 16 == 0)
                CHECK(hora__far_check(&far));
        }
        check_each();
        while (model.size > 0)
            remove_first();
        CHECK_INT(far.size, 0);
        CHECK_INT(far.head_count, 0);
        end();
    }
}

/* Of each batch a few elements stay for ever: they do not keep the memory of all batches, and leave in order
 * in the end. */
TEST_REAL(far_batches_do_not_waste_memory, "")
{
    enum { STAY = 8, ROUNDS = 600 };
    int most = 0;
    begin();
    for (int round = 0; round < ROUNDS; round++) {
        struct hora__far_batch *batch = new_batch();
        for (int i = 0; i < HORA__FAR_BATCH; i++) {
            bool stays = i % (HORA__FAR_BATCH / STAY) == 0 && i / (HORA__FAR_BATCH / STAY) < STAY;
            struct hora__timer_slot slot = new_slot(stays ? 1000 + (int64_t)test_random(1000) : i);
            hora__far_batch_append(batch, slot, element_of(slot)->sequence);
        }
        hora__far_add_batch(&far, batch);
        tidy();
        while (model.entries[0].due < 1000)
            remove_first();
        CHECK(hora__far_check(&far));
        int slots = far.head_count * HORA__FAR_BATCH;
        most = slots > most ? slots : most;
    }
    CHECK_INT(far.size, STAY * ROUNDS);
    CHECK(most < 5 * (STAY * ROUNDS + HORA__FAR_BATCH));
    while (model.size > 0)
        remove_first();
    end();
}

/* The checker itself notices a batch whose first slot is not its first, one that is not sorted, and a wrong
 * size. */
TEST_REAL(far_check_notices_disorder, "")
{
    begin();
    struct hora__far_batch *batch = new_batch();
    for (int i = 0; i < 10; i++) {
        struct hora__timer_slot slot = new_slot(10 - i);
        hora__far_batch_append(batch, slot, element_of(slot)->sequence);
    }
    hora__far_add_batch(&far, batch);
    CHECK(hora__far_check(&far));
    batch->slots[3].due = -1;
    CHECK(!hora__far_check(&far));
    batch->slots[3].due = 7;
    remove_first();
    CHECK(hora__far_check(&far));
    batch->slots[5].due = 1;
    CHECK(!hora__far_check(&far));
    batch->slots[5].due = 6;
    far.size++;
    CHECK(!hora__far_check(&far));
    far.size--;
    while (model.size > 0)
        remove_first();
    end();
}
