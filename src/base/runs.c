/* SPDX-License-Identifier: Apache-2.0 */
/* runs.c - sorted runs under a tournament of their first elements, and a small heap beside them
 *
 * How it works      A heap of all elements would pay for each one with a way through memory that no cache holds. So elements
 *                   stay in runs, and only the first of each group of runs takes part in a tournament, which is small. A group is sorted when
 *                   its first element leaves: nobody waits for more than one group to be sorted, and none is sorted for elements
 *                   that are removed, or never become due, before. Then its elements leave from the front, which is
 *                   read along memory, and each run is the caller's again when it is empty. With many elements, groups are what
 *                   keeps the places from which elements leave few enough for the caches.
 *                   Elements that come one by one stand in a heap of their own. When that is full its last entries become a run. The
 *                   other way round, if most of the runs' memory is for elements that have left, runs with few elements are
 *                   dissolved, so that a few that stay for long do not keep much memory.
 * Cost              One operation looks at no more than one group (O(length log length), once per group), and at O(log) entries of
 *                   the heap and the tournament. Finding looks at all.
 * Invariants        I1 the singles are a heap, and all matches have been played, by (due, sequence).
 *                   I2 no run in the store is empty; the head of a group is its first element.
 *                   I3 size is the number of singles and of all runs' elements.
 *                   I4 sequences are unique, so the order is total.
 *                   I5 all runs of a group in no order but its last are full. */
#include "base/runs.h"

#include <assert.h>
#include <string.h>

#include "base/heads.h"
#include "base/run_sort.h"
#include "base/touch.h"

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

/* ---- runs ----
 *
 * Where the first element of a run stands is all that its head knows: an entry of a sorted run, or `first` of one in no order, which has no item.
 * Behind the last entry of a sorted run stands one without an item, whose sequence is its index. */

static struct hora__head head_at(struct hora__heap_entry *place)
{
    assert(place != NULL);
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

/* The first element of a group is wanted: where it stands after sorting. */
static struct hora__heap_entry *put_in_order(struct hora__runs *runs, struct hora__run *first)
{
    hora__group_sort(first, runs->keys);
    for (struct hora__run *run = first; run != NULL; run = run->next)
        run->entries[run->count] = (struct hora__heap_entry){.sequence = (uint64_t)run->count};
    return first->entries;
}

static struct hora__heap_entry *sorted(struct hora__runs *runs, struct hora__heap_entry *place)
{
    return is_in_no_order(place) ? put_in_order(runs, run_in_no_order(place)) : place;
}

/* Of a group in no order. */
static void find_first(struct hora__run *group)
{
    group->first = group->entries[0];
    for (const struct hora__run *run = group; run != NULL; run = run->next) {
        HORA__TOUCH(run->count);
        for (int i = 0; i < run->count; i++)
            if (hora__entry_is_before(&run->entries[i], &group->first))
                group->first = run->entries[i];
    }
    group->first.item = NULL;
}

/* The entries of a run that are there. */
struct stretch {
    struct hora__run *run;
    struct hora__heap_entry *begin;
    struct hora__heap_entry *end;
};

static struct stretch whole(struct hora__run *run)
{
    return (struct stretch){run, run->entries, run->entries + run->count};
}

/* Those of the first run of a group. */
static struct stretch stretch_of(const struct hora__head *head)
{
    struct hora__heap_entry *place = head->place;
    if (is_in_no_order(place))
        return whole(run_in_no_order(place));
    struct hora__heap_entry *end = place;
    while (end->item != NULL)
        end++;
    HORA__TOUCH(end - place);
    return (struct stretch){run_by_end(end), place, end};
}

/* Those of the next one. Whether there is one. */
static bool next_stretch(struct stretch *stretch)
{
    if (stretch->run->next == NULL)
        return false;
    *stretch = whole(stretch->run->next);
    return true;
}

/* ---- heads ---- */

/* The first run of the i-th group, which is sorted, leaves: it is the caller's. */
static struct hora__run *leave_behind(struct hora__runs *runs, int i, struct hora__run *run)
{
    runs->run_count--;
    if (run->next != NULL)
        hora__heads_play(runs, i, head_at(run->next->entries));
    else
        hora__heads_remove(runs, i);
    return run;
}

/* The first element of the i-th group, which is sorted, has left. Returns its first run if that is empty. */
static struct hora__run *go_on(struct hora__runs *runs, int i, struct hora__heap_entry *next)
{
    if (next->item == NULL)
        return leave_behind(runs, i, run_by_end(next));
    /* It will be the first of all when about as many have left as there are runs: time to fetch its item, which the one who
     * takes it will look at, and the entries behind it. */
    __builtin_prefetch(next->item);
    __builtin_prefetch(next + 3);
    hora__heads_play(runs, i, head_at(next)); /* I2 */
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

struct hora__match *hora__runs_move(struct hora__runs *runs, struct hora__match *memory, int capacity)
{
    assert(capacity >= runs->head_capacity && capacity >= 2);
    struct hora__match *old = runs->heads;
    HORA__TOUCH_PREPAID(runs->entrants);
    if (runs->entrants > 0)
        memcpy(memory, old, (size_t)runs->entrants * sizeof *memory);
    runs->heads = memory;
    runs->head_capacity = capacity - capacity % 2;
    if (runs->entrants == 0)
        hora__heads_begin(runs);
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

void hora__runs_add(struct hora__runs *runs, struct hora__run *run)
{
    run->next = NULL;
    runs->size += run->count;
    runs->run_count++;
    hora__heads_add(runs, head_at(&run->first));
}

void hora__runs_add_group(struct hora__runs *runs, struct hora__run *first)
{
    for (const struct hora__run *run = first; run != NULL; run = run->next) {
        assert(hora__run_is_full(run)); /* I5 */
        if (hora__entry_is_before(&run->first, &first->first))
            first->first = run->first;
        runs->size += run->count;
        runs->run_count++;
        HORA__TOUCH(1);
    }
    hora__heads_add(runs, head_at(&first->first));
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
    runs->run_count++;
    hora__heads_add(runs, head_at(&run->first));
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
    struct hora__head *head = &runs->heads[hora__heads_first(runs)].head;
    head->place = sorted(runs, head->place);
    return head->place->item;
}

void *hora__runs_pop(struct hora__runs *runs, struct hora__run **ret_empty)
{
    assert(runs->size > 0);
    runs->size--;
    *ret_empty = NULL;
    if (first_is_single(runs))
        return release(runs, 0);
    int head = hora__heads_first(runs);
    struct hora__heap_entry *place = sorted(runs, runs->heads[head].head.place);
    void *item = place->item;
    *ret_empty = go_on(runs, head, place + 1);
    if (runs->head_count > 0)
        __builtin_prefetch(runs->heads[hora__heads_first(runs)].head.place); /* the next, likely */
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
    struct hora__heap_entry *place = sorted(runs, runs->heads[last].head.place);
    void *item = place->item;
    *ret_empty = go_on(runs, last, place + 1);
    return item;
}

/* ---- the middle ---- */

/* Where an element stands: among the singles, or in a run of a group. */
struct spot {
    struct hora__heap_entry *entry; /* NULL: nowhere */
    int index;                      /* of the single, or the group's head */
    struct hora__run *run;          /* NULL: it is a single */
};

static void look(struct hora__heap_entry *entry, const void *item, int index, struct hora__run *run, struct spot *best)
{
    if (entry->item == item && (best->entry == NULL || hora__entry_is_before(entry, best->entry)))
        *best = (struct spot){entry, index, run};
}

static struct spot find(struct hora__runs *runs, const void *item)
{
    struct spot best = {NULL, 0, NULL};
    for (int i = 0; i < runs->single_count; i++)
        look(runs->singles[i].place, item, i, NULL, &best);
    for (int i = 0; i < runs->head_count; i++) {
        struct stretch stretch = stretch_of(&runs->heads[i].head);
        do
            for (struct hora__heap_entry *entry = stretch.begin; entry < stretch.end; entry++)
                look(entry, item, i, stretch.run, &best);
        while (next_stretch(&stretch));
    }
    return best;
}

/* A run that is not the first of its group leaves it: it is the caller's. */
static struct hora__run *unlink_run(struct hora__runs *runs, struct hora__run *group, struct hora__run *run)
{
    struct hora__run *before = group;
    while (before->next != run)
        before = before->next;
    before->next = run->next;
    runs->run_count--;
    return run;
}

/* The last of all takes its place. */
static struct hora__run *remove_in_no_order(struct hora__runs *runs, const struct spot *spot)
{
    struct hora__run *group = run_in_no_order(runs->heads[spot->index].head.place);
    struct hora__run *last = group;
    struct hora__run *empty = NULL;
    while (last->next != NULL)
        last = last->next;
    *spot->entry = last->entries[--last->count];
    if (group->count == 0)
        return leave_behind(runs, spot->index, group);
    if (last->count == 0)
        empty = unlink_run(runs, group, last);
    find_first(group);
    hora__heads_play(runs, spot->index, head_at(&group->first));
    return empty;
}

/* In the first run of the group those before it move up, in another one those behind it move down. */
static struct hora__run *remove_in_order(struct hora__runs *runs, const struct spot *spot)
{
    struct stretch first = stretch_of(&runs->heads[spot->index].head);
    struct hora__run *run = spot->run;
    if (run == first.run) {
        memmove(first.begin + 1, first.begin, (size_t)(spot->entry - first.begin) * sizeof *first.begin);
        return go_on(runs, spot->index, first.begin + 1);
    }
    memmove(spot->entry, spot->entry + 1, (size_t)(&run->entries[run->count] - spot->entry) * sizeof *spot->entry);
    run->count--;
    run->entries[run->count].sequence = (uint64_t)run->count;
    return run->count == 0 ? unlink_run(runs, first.run, run) : NULL;
}

bool hora__runs_find(struct hora__runs *runs, const void *item, bool remove, struct hora__run **ret_empty)
{
    struct spot spot = find(runs, item);
    *ret_empty = NULL;
    if (spot.entry != NULL && remove) {
        runs->size--;
        if (spot.run == NULL)
            (void)release(runs, spot.index);
        else
            *ret_empty = is_in_no_order(runs->heads[spot.index].head.place) ? remove_in_no_order(runs, &spot)
                                                                            : remove_in_order(runs, &spot);
    }
    return spot.entry != NULL;
}

void hora__runs_copy(const struct hora__runs *runs, void **items, int max)
{
    int count = 0;
    for (int i = 0; i < runs->single_count && count < max; i++)
        items[count++] = runs->singles[i].place->item;
    for (int i = 0; i < runs->head_count && count < max; i++) {
        struct stretch stretch = stretch_of(&runs->heads[i].head);
        do
            for (const struct hora__heap_entry *entry = stretch.begin; entry < stretch.end && count < max; entry++)
                items[count++] = entry->item;
        while (next_stretch(&stretch));
    }
}

/* ---- tidying ---- */

enum { FEW = HORA__RUN_LENGTH / 8, LOOKED_AT = 4 };

/* The runs have memory for more than four times as much. */
static bool is_wasteful(const struct hora__runs *runs)
{
    return (int64_t)runs->run_count * HORA__RUN_LENGTH > 4 * ((int64_t)runs->size + HORA__RUN_LENGTH);
}

/* The first run of the i-th group, which has few elements, goes. If the group is in no order it has no other. */
static struct hora__run *dissolve(struct hora__runs *runs, int i, struct stretch stretch)
{
    struct hora__heap_entry entries[FEW];
    int count = (int)(stretch.end - stretch.begin);
    memcpy(entries, stretch.begin, (size_t)count * sizeof entries[0]);
    struct hora__run *run = leave_behind(runs, i, stretch.run);
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
        struct stretch stretch = stretch_of(&runs->heads[runs->swept].head);
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

/* Returns how many elements a group has; -1: something is wrong. */
static int check_group(const struct hora__head *head, int *runs)
{
    bool has_first = false;
    bool is_sorted = !is_in_no_order(head->place);
    int count = 0;
    struct stretch stretch = stretch_of(head);
    const struct hora__heap_entry *last = stretch.begin;
    do {
        for (const struct hora__heap_entry *entry = stretch.begin; entry < stretch.end; entry++) {
            if (hora__entry_is_before(entry, head->place) || (is_sorted && hora__entry_is_before(entry, last)))
                return -1;
            has_first = has_first || entry->sequence == head->place->sequence;
            last = entry;
        }
        if (stretch.begin == stretch.end || (is_sorted && stretch.end->item != NULL))
            return -1; /* I2 */
        count += (int)(stretch.end - stretch.begin);
        if (!is_sorted && stretch.run->next != NULL && !hora__run_is_full(stretch.run))
            return -1; /* I5 */
        --*runs;
    } while (next_stretch(&stretch));
    return has_first ? count : -1;
}

bool hora__runs_check(const struct hora__runs *runs)
{
    int size = runs->single_count;
    int run_count = runs->run_count;
    if (!is_heap(runs->singles, runs->single_count) || !hora__heads_check(runs)) /* I1 */
        return false;
    for (int i = 0; i < runs->head_count; i++) {
        int count = check_group(&runs->heads[i].head, &run_count);
        if (count < 0)
            return false;
        size += count;
    }
    return size == runs->size && run_count == 0; /* I3 */
}
