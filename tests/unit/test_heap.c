/* SPDX-License-Identifier: Apache-2.0 */
/* test_heap.c - the heap against a plain sorted list, on random histories */
#include "base/heap.h"
#include "harness.h"

enum { ROOM = 64, STEPS = 4000 };

static struct hora__heap_entry memory[ROOM];
static int items[ROOM];

/* The model: entries in the order in which they leave. */
static struct hora__heap_entry model[ROOM];
static int model_size;

static int by_due(const struct hora__heap_entry *a, const struct hora__heap_entry *b, void *context)
{
    (void)context;
    return (a->due > b->due) - (a->due < b->due);
}

/* True if no entry leaves before its parent. */
static bool is_heap(const struct hora__heap *heap)
{
    for (int i = 1; i < heap->size; i++) {
        const struct hora__heap_entry *entry = &heap->entries[i];
        const struct hora__heap_entry *parent = &heap->entries[(i - 1) / 2];
        int order = by_due(entry, parent, NULL);
        if (order < 0 || (order == 0 && entry->sequence < parent->sequence))
            return false;
    }
    return heap->size >= 0 && heap->size <= heap->capacity;
}

static void model_insert(void *item, int64_t due)
{
    int at = model_size;
    while (at > 0 && model[at - 1].due > due) {
        model[at] = model[at - 1];
        at--;
    }
    model[at] = (struct hora__heap_entry){.due = due, .item = item};
    model_size++;
}

static void model_remove(int at)
{
    for (model_size--; at < model_size; at++)
        model[at] = model[at + 1];
}

static int model_find(const void *item)
{
    for (int i = 0; i < model_size; i++)
        if (model[i].item == item)
            return i;
    return -1;
}

static void insert(struct hora__heap *heap)
{
    if (model_size == ROOM)
        return;
    void *item = &items[test_random(ROOM)];
    int64_t due = test_random(12); /* few values: many ties */
    hora__heap_push(heap, item, due);
    model_insert(item, due);
}

static void remove_first(struct hora__heap *heap)
{
    if (model_size == 0)
        return;
    CHECK_POINTER(hora__heap_pop(heap), model[0].item);
    model_remove(0);
}

static void remove_some(struct hora__heap *heap)
{
    const void *item = &items[test_random(ROOM)];
    int in_model = model_find(item);
    int in_heap = hora__heap_find(heap, item);
    CHECK_INT(in_heap >= 0, in_model >= 0);
    if (in_heap < 0 || in_model < 0)
        return;
    CHECK_INT(heap->entries[in_heap].due, model[in_model].due);
    CHECK_POINTER(hora__heap_remove_at(heap, in_heap), item);
    model_remove(in_model);
}

/* Every history gives the same answers as the model, and the heap stays a heap after every step. */
TEST_REAL(heap_agrees_with_sorted_list, "")
{
    struct hora__heap heap = {.compare = by_due};
    (void)hora__heap_move(&heap, memory, ROOM);
    model_size = 0;
    for (int i = 0; i < STEPS; i++) {
        switch (test_random(4)) {
        case 0:
            remove_first(&heap);
            break;
        case 1:
            remove_some(&heap);
            break;
        default:
            insert(&heap);
        }
        CHECK(is_heap(&heap));
        CHECK_INT(heap.size, model_size);
    }
    while (model_size > 0)
        remove_first(&heap);
    CHECK_INT(heap.size, 0);
}

/* The checker itself notices an entry that stands above one that leaves sooner. */
TEST_REAL(heap_check_notices_disorder, "")
{
    struct hora__heap heap = {.compare = by_due};
    (void)hora__heap_move(&heap, memory, ROOM);
    for (int i = 0; i < 8; i++)
        hora__heap_push(&heap, &items[i], i);
    CHECK(is_heap(&heap));
    heap.entries[7].due = -1;
    CHECK(!is_heap(&heap));
}

/* Moving to larger memory keeps the entries and hands the old memory back. */
TEST_REAL(heap_moves_its_entries, "")
{
    struct hora__heap_entry small[2];
    struct hora__heap heap = {.compare = by_due};
    CHECK_POINTER(hora__heap_move(&heap, small, 2), NULL);
    hora__heap_push(&heap, &items[1], 1);
    hora__heap_push(&heap, &items[0], 0);
    CHECK_POINTER(hora__heap_move(&heap, memory, ROOM), small);
    CHECK_INT(heap.capacity, ROOM);
    CHECK_POINTER(hora__heap_pop(&heap), &items[0]);
    CHECK_POINTER(hora__heap_pop(&heap), &items[1]);
}
