/* SPDX-License-Identifier: Apache-2.0 */
/* runs.c - sorted runs under a heap of their first elements, and a small heap beside them
 *
 * How it works      A heap of all elements would pay for each one with a way through memory that no cache holds. So elements
 *                   stay in runs, and only the first of each run stands in a heap, which is small. A run is sorted when its first
 *                   element leaves: nobody waits for more than one run to be sorted, and none is sorted for elements that
 *                   are removed, or never become due, before. Then its elements leave from the front, which is read
 *                   along memory.
 *                   Elements that come one by one stand in a heap of their own. When that is full its last entries become a run. The
 *                   other way round, if most of the runs' memory is for elements that have left, runs with few elements are
 *                   dissolved, so that a few that stay for long do not keep much memory.
 * Cost              One operation looks at no more than one run (O(length log length), once per run), and at O(log) entries of
 *                   each heap. Finding looks at all.
 * Invariants        I1 each of the two arrays is a heap by (due, sequence).
 *                   I2 no run in the store is empty; its head is its first element.
 *                   I3 size is the number of singles and of all runs' elements.
 *                   I4 sequences are unique, so the order is total. */
#include "base/runs.h"

#include <assert.h>
#include <string.h>

#include "base/touch.h"

/* Without branches: which of two comes first cannot be foretold. */
static bool before(const struct hora__heap_entry *a, const struct hora__heap_entry *b)
{
    return (a->due < b->due) | ((a->due == b->due) & (a->sequence < b->sequence)); /* I4 */
}

/* ---- heaps ---- */

static void rise(struct hora__head *heap, int i, struct hora__head entry)
{
    HORA__TOUCH(1);
    while (i > 0) {
        HORA__TOUCH(1);
        int parent = (i - 1) / 2;
        if (!hora__head_is_before(&entry, &heap[parent]))
            break;
        heap[i] = heap[parent];
        i = parent;
    }
    heap[i] = entry;
}

/* Fill the hole at i. What comes there stood last, or is the next of a run: it belongs far below, mostly. So the hole goes down to a leaf
 * first, by one comparison a step, and the entry rises from there. */
static void fill(struct hora__head *heap, int size, int i, struct hora__head entry)
{
    int top = i;
    while (i < (size - 1) / 2) { /* it has two children */
        int child = 2 * i + 1;
        child += hora__head_is_before(&heap[child + 1], &heap[child]);
        HORA__TOUCH(2);
        heap[i] = heap[child];
        i = child;
    }
    if (i == size / 2 - 1 && size % 2 == 0 &&
        hora__head_is_before(&heap[2 * i + 1], &entry)) { /* one child, the last of all */
        heap[i] = heap[2 * i + 1];
        i = 2 * i + 1;
    }
    while (i > top && hora__head_is_before(&entry, &heap[(i - 1) / 2])) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
        HORA__TOUCH(1);
    }
    if (i == top)
        rise(heap, i, entry);
    else
        heap[i] = entry;
}

/* The size does not count the one that is taken out any more. */
static void take_out(struct hora__head *heap, int size, int i)
{
    if (i < size)
        fill(heap, size, i, heap[size]);
}

/* ---- sorting a run ---- */

enum { SHORT = 8 };

static void sort_short(struct hora__heap_entry *entries, int count)
{
    HORA__TOUCH(count);
    for (int i = 1; i < count; i++) {
        struct hora__heap_entry entry = entries[i];
        int at = i;
        for (; at > 0 && before(&entry, &entries[at - 1]); at--)
            entries[at] = entries[at - 1];
        entries[at] = entry;
    }
}

/* Two sorted parts of the same length, from both ends at once: nothing can run out before the middle, and the processor has two
 * things to do that do not wait for each other. Here and below indices are counted on without a branch, which would go the
 * wrong way every other time. */
static void merge_equal(const struct hora__heap_entry *from, int length, struct hora__heap_entry *to)
{
    int left = 0;
    int right = length;
    int left_last = length - 1;
    int right_last = 2 * length - 1;
    HORA__TOUCH(2 * length);
    for (int i = 0; i < length; i++) {
        bool is_right = before(&from[right], &from[left]);
        to[i] = from[is_right ? right : left];
        right += is_right;
        left += !is_right;
        bool is_left = before(&from[right_last], &from[left_last]);
        to[2 * length - 1 - i] = from[is_left ? left_last : right_last];
        left_last -= is_left;
        right_last -= !is_left;
    }
}

/* Two sorted parts, of which the right one may be shorter, or not be there. */
static void merge(const struct hora__heap_entry *from, int left_count, int count, struct hora__heap_entry *to)
{
    int left = 0;
    int right = left_count < count ? left_count : count;
    int left_end = right;
    HORA__TOUCH(count);
    while (left < left_end && right < count) {
        bool is_right = before(&from[right], &from[left]);
        *to++ = from[is_right ? right : left];
        right += is_right;
        left += !is_right;
    }
    memcpy(to, &from[left], (size_t)(left_end - left) * sizeof *to);
    memcpy(to + (left_end - left), &from[right], (size_t)(count - right) * sizeof *to);
}

static void sort(struct hora__heap_entry *entries, int count)
{
    struct hora__heap_entry scratch[HORA__RUN_LENGTH];
    struct hora__heap_entry *from = entries;
    struct hora__heap_entry *to = scratch;
    for (int i = 0; i < count; i += SHORT)
        sort_short(&entries[i], count - i < SHORT ? count - i : SHORT);
    for (int width = SHORT; width < count; width *= 2) {
        int i = 0;
        for (; i + 2 * width <= count; i += 2 * width)
            merge_equal(&from[i], width, &to[i]);
        if (i < count)
            merge(&from[i], width, count - i, &to[i]);
        struct hora__heap_entry *sorted_parts = to;
        to = from;
        from = sorted_parts;
    }
    if (from != entries)
        memcpy(entries, from, (size_t)count * sizeof *entries);
}

/* ---- runs ----
 *
 * Where the first element of a run stands is all that its head knows: an entry of a sorted run, or `first` of one in no order, which has no item.
 * Behind the last entry of a sorted run stands one without an item, whose sequence is its index. */

static struct hora__head head_at(struct hora__heap_entry *place)
{
    return (struct hora__head){.due = place->due, .place = place};
}

static bool is_in_no_order(const struct hora__heap_entry *place)
{
    return place->item == NULL;
}

/* The run, if it is in no order. */
static struct hora__run *run_in_no_order(struct hora__heap_entry *place)
{
    return (struct hora__run *)((char *)place - offsetof(struct hora__run, first));
}

static struct hora__run *run_by_end(struct hora__heap_entry *end)
{
    struct hora__heap_entry *entries = end - end->sequence;
    return (struct hora__run *)((char *)entries - offsetof(struct hora__run, entries));
}

/* The run's first element is wanted: where it stands after sorting. */
static struct hora__heap_entry *put_in_order(struct hora__run *run)
{
    sort(run->entries, run->count);
    run->entries[run->count] = (struct hora__heap_entry){.sequence = (uint64_t)run->count};
    return run->entries;
}

static struct hora__heap_entry *sorted(struct hora__heap_entry *place)
{
    return is_in_no_order(place) ? put_in_order(run_in_no_order(place)) : place;
}

static void find_first(struct hora__run *run)
{
    HORA__TOUCH(run->count);
    run->first = run->entries[0];
    for (int i = 1; i < run->count; i++)
        if (before(&run->entries[i], &run->first))
            run->first = run->entries[i];
    run->first.item = NULL;
}

/* The entries of a run that are there. */
struct stretch {
    struct hora__heap_entry *begin;
    struct hora__heap_entry *end;
};

static struct stretch stretch_of(const struct hora__head *head)
{
    struct hora__heap_entry *place = head->place;
    if (is_in_no_order(place)) {
        struct hora__run *run = run_in_no_order(place);
        return (struct stretch){run->entries, run->entries + run->count};
    }
    struct stretch stretch = {place, place};
    while (stretch.end->item != NULL)
        stretch.end++;
    HORA__TOUCH(stretch.end - stretch.begin);
    return stretch;
}

/* ---- heads ---- */

/* The first element of the i-th run, which is sorted, has left. Returns the run if it is empty. */
static struct hora__run *go_on(struct hora__runs *runs, int i, struct hora__heap_entry *next)
{
    if (next->item == NULL) {
        take_out(runs->heads, --runs->head_count, i);
        return run_by_end(next);
    }
    /* It will be the first of all when about as many have left as there are runs: time to fetch its item, which the one who
     * takes it will look at, and the entries behind it. */
    __builtin_prefetch(next->item);
    __builtin_prefetch(next + 3);
    fill(runs->heads, runs->head_count, i, head_at(next)); /* I2 */
    return NULL;
}

/* ---- singles ---- */

static void free_slot(struct hora__runs *runs, struct hora__heap_entry *slot)
{
    slot->item = runs->free_slot;
    runs->free_slot = slot;
}

/* The i-th leaves. */
static void *release(struct hora__runs *runs, int i)
{
    struct hora__heap_entry *slot = runs->singles[i].place;
    void *item = slot->item;
    free_slot(runs, slot);
    take_out(runs->singles, --runs->single_count, i);
    return item;
}

/* ---- the store ---- */

void hora__runs_init(struct hora__runs *runs)
{
    for (int i = 0; i < HORA__RUNS_MOST_SINGLES; i++)
        free_slot(runs, &runs->slots[i]);
}

struct hora__head *hora__runs_move(struct hora__runs *runs, struct hora__head *memory, int capacity)
{
    assert(capacity >= runs->head_count);
    struct hora__head *old = runs->heads;
    HORA__TOUCH_PREPAID(runs->head_count);
    if (runs->head_count > 0)
        memcpy(memory, old, (size_t)runs->head_count * sizeof *memory);
    runs->heads = memory;
    runs->head_capacity = capacity;
    return old;
}

void hora__runs_push(struct hora__runs *runs, const struct hora__heap_entry *entry)
{
    assert(runs->single_count < HORA__RUNS_MOST_SINGLES);
    struct hora__heap_entry *slot = runs->free_slot;
    runs->free_slot = slot->item;
    *slot = *entry;
    rise(runs->singles, runs->single_count++, head_at(slot));
    runs->size++;
}

static void add_head(struct hora__runs *runs, struct hora__run *run)
{
    assert(runs->head_count < runs->head_capacity && run->count > 0); /* I2 */
    rise(runs->heads, runs->head_count++, head_at(&run->first));
}

void hora__runs_add(struct hora__runs *runs, struct hora__run *run)
{
    add_head(runs, run);
    runs->size += run->count;
}

/* What is cut off the end of a heap leaves a heap. */
void hora__runs_pack(struct hora__runs *runs, struct hora__run *run)
{
    assert(runs->single_count > 0);
    hora__run_init(run);
    while (run->count < HORA__RUN_LENGTH && runs->single_count > 0) {
        struct hora__heap_entry *slot = runs->singles[--runs->single_count].place;
        run->entries[run->count++] = *slot;
        free_slot(runs, slot);
    }
    find_first(run);
    add_head(runs, run);
}

static bool first_is_single(const struct hora__runs *runs)
{
    return hora__runs_first(runs) == &runs->singles[0];
}

void *hora__runs_peek(struct hora__runs *runs)
{
    assert(runs->size > 0);
    if (first_is_single(runs))
        return runs->singles[0].place->item;
    runs->heads[0].place = sorted(runs->heads[0].place);
    return runs->heads[0].place->item;
}

void *hora__runs_pop(struct hora__runs *runs, struct hora__run **ret_empty)
{
    assert(runs->size > 0);
    runs->size--;
    *ret_empty = NULL;
    if (first_is_single(runs))
        return release(runs, 0);
    struct hora__heap_entry *place = sorted(runs->heads[0].place);
    void *item = place->item;
    *ret_empty = go_on(runs, 0, place + 1);
    if (runs->head_count > 0)
        __builtin_prefetch(runs->heads[0].place); /* the next, likely */
    return item;
}

void *hora__runs_strip(struct hora__runs *runs, struct hora__run **ret_empty)
{
    assert(runs->size > 0);
    runs->size--;
    *ret_empty = NULL;
    if (runs->single_count > 0)
        return release(runs, runs->single_count - 1);
    int last = runs->head_count - 1;
    struct hora__heap_entry *place = sorted(runs->heads[last].place);
    void *item = place->item;
    *ret_empty = go_on(runs, last, place + 1);
    return item;
}

/* ---- the middle ---- */

/* Where an element stands: among the singles, or in the run of a head. */
struct spot {
    struct hora__heap_entry *entry; /* NULL: nowhere */
    int index;                      /* of the single, or the head */
    bool is_single;
};

static void look(struct hora__heap_entry *entry, const void *item, int index, bool is_single, struct spot *best)
{
    if (entry->item == item && (best->entry == NULL || before(entry, best->entry)))
        *best = (struct spot){entry, index, is_single};
}

static struct spot find(struct hora__runs *runs, const void *item)
{
    struct spot best = {NULL, 0, false};
    for (int i = 0; i < runs->single_count; i++)
        look(runs->singles[i].place, item, i, true, &best);
    for (int i = 0; i < runs->head_count; i++) {
        struct stretch stretch = stretch_of(&runs->heads[i]);
        for (struct hora__heap_entry *entry = stretch.begin; entry < stretch.end; entry++)
            look(entry, item, i, false, &best);
    }
    return best;
}

/* Of a sorted run those before it move up; of one in no order the last takes its place. */
static struct hora__run *remove_from_run(struct hora__runs *runs, int head, struct hora__heap_entry *entry)
{
    struct hora__heap_entry *place = runs->heads[head].place;
    if (!is_in_no_order(place)) {
        memmove(place + 1, place, (size_t)(entry - place) * sizeof *place);
        return go_on(runs, head, place + 1);
    }
    struct hora__run *run = run_in_no_order(place);
    *entry = run->entries[--run->count];
    if (run->count == 0) {
        take_out(runs->heads, --runs->head_count, head);
        return run;
    }
    find_first(run);
    fill(runs->heads, runs->head_count, head, head_at(&run->first));
    return NULL;
}

bool hora__runs_find(struct hora__runs *runs, const void *item, bool remove, struct hora__run **ret_empty)
{
    struct spot spot = find(runs, item);
    *ret_empty = NULL;
    if (spot.entry != NULL && remove) {
        runs->size--;
        if (spot.is_single)
            (void)release(runs, spot.index);
        else
            *ret_empty = remove_from_run(runs, spot.index, spot.entry);
    }
    return spot.entry != NULL;
}

void hora__runs_copy(const struct hora__runs *runs, void **items, int max)
{
    int count = 0;
    for (int i = 0; i < runs->single_count && count < max; i++)
        items[count++] = runs->singles[i].place->item;
    for (int i = 0; i < runs->head_count && count < max; i++) {
        struct stretch stretch = stretch_of(&runs->heads[i]);
        for (const struct hora__heap_entry *entry = stretch.begin; entry < stretch.end && count < max; entry++)
            items[count++] = entry->item;
    }
}

/* ---- tidying ---- */

enum { FEW = HORA__RUN_LENGTH / 8, LOOKED_AT = 4 };

/* The runs have memory for more than four times as much. */
static bool is_wasteful(const struct hora__runs *runs)
{
    return (int64_t)runs->head_count * HORA__RUN_LENGTH > 4 * ((int64_t)runs->size + HORA__RUN_LENGTH);
}

/* The i-th run, which has few elements, goes. */
static struct hora__run *dissolve(struct hora__runs *runs, int i, struct stretch stretch)
{
    struct hora__heap_entry entries[FEW];
    int count = (int)(stretch.end - stretch.begin);
    struct hora__heap_entry *place = runs->heads[i].place;
    struct hora__run *run = is_in_no_order(place) ? run_in_no_order(place) : run_by_end(stretch.end);
    memcpy(entries, stretch.begin, (size_t)count * sizeof entries[0]);
    take_out(runs->heads, --runs->head_count, i);
    runs->size -= count;
    if (runs->single_count + count > HORA__RUNS_MOST_SINGLES) {
        hora__runs_pack(runs, run);
        run = NULL;
    }
    for (int k = 0; k < count; k++)
        hora__runs_push(runs, &entries[k]);
    return run;
}

struct hora__run *hora__runs_tidy(struct hora__runs *runs)
{
    for (int looked_at = 0; looked_at < LOOKED_AT && is_wasteful(runs); looked_at++) {
        runs->swept = runs->swept + 1 < runs->head_count ? runs->swept + 1 : 0;
        struct stretch stretch = stretch_of(&runs->heads[runs->swept]);
        if (stretch.end - stretch.begin <= FEW)
            return dissolve(runs, runs->swept, stretch);
    }
    return NULL;
}

/* ---- checking ---- */

static bool is_heap(const struct hora__head *heap, int size)
{
    for (int i = 0; i < size; i++)
        if (heap[i].due != heap[i].place->due || (i > 0 && hora__head_is_before(&heap[i], &heap[(i - 1) / 2])))
            return false;
    return true;
}

/* Returns how many elements it has; -1: something is wrong. */
static int check_run(const struct hora__head *head)
{
    bool has_first = false;
    bool is_sorted = !is_in_no_order(head->place);
    struct stretch stretch = stretch_of(head);
    for (const struct hora__heap_entry *entry = stretch.begin; entry < stretch.end; entry++) {
        if (before(entry, head->place) || (is_sorted && entry > stretch.begin && before(entry, entry - 1)))
            return -1;
        has_first = has_first || entry->sequence == head->place->sequence;
    }
    return has_first ? (int)(stretch.end - stretch.begin) : -1; /* I2 */
}

bool hora__runs_check(const struct hora__runs *runs)
{
    int size = runs->single_count;
    if (!is_heap(runs->singles, runs->single_count) || !is_heap(runs->heads, runs->head_count)) /* I1 */
        return false;
    for (int i = 0; i < runs->head_count; i++) {
        int count = check_run(&runs->heads[i]);
        if (count < 0)
            return false;
        size += count;
    }
    return size == runs->size; /* I3 */
}
