/* SPDX-License-Identifier: Apache-2.0 */
/* run_sort.c - sorting a group of runs
 *
 * How it works      By keys: a word for each entry, above how long after the first it is due, and below where it stands. These are sorted,
 *                   and then each entry is moved once. That decides ties by where entries stand, and so it will do if they stand in
 *                   the order of their sequences, as they do in runs that were filled and never touched since; and if the
 *                   times lie no more than half a year apart, which is what such a word can hold. Else the keys are only where the
 *                   entries stand, and the entries are compared, which takes longer.
 * No branches       Which of two comes first cannot be foretold, so the processor would guess wrong every other time. Indices
 *                   are counted on instead. */
#include "base/run_sort.h"

#include <assert.h>

#include "base/touch.h"

enum { INDEX_BITS = 10, INDEX_MASK = (1 << INDEX_BITS) - 1, SHORT = 4 };

static_assert(HORA__SORTED_AT_ONCE == 1 << INDEX_BITS, "an index fits, and the length is a power of two");

/* The entries, as if they stood in a row. */
struct row {
    struct hora__heap_entry *parts[HORA__GROUP_LENGTH];
    int count;
};

static struct hora__heap_entry *entry_at(const struct row *row, uint64_t i)
{
    return &row->parts[i / HORA__RUN_LENGTH][i % HORA__RUN_LENGTH];
}

static struct row row_of(struct hora__run *run)
{
    struct row row = {.count = 0};
    for (; run != NULL; run = run->next) {
        assert(row.count % HORA__RUN_LENGTH == 0 && row.count < HORA__SORTED_AT_ONCE);
        row.parts[row.count / HORA__RUN_LENGTH] = run->entries;
        row.count += run->count;
    }
    return row;
}

/* ---- by keys ---- */

/* When the first is due. False: it cannot be done by keys. */
static bool suits_keys(const struct row *row, int64_t *ret_least)
{
    int64_t least = INT64_MAX;
    int64_t most = INT64_MIN;
    uint64_t sequence = entry_at(row, 0)->sequence;
    bool is_in_sequence = true;
    HORA__TOUCH(row->count);
    for (int i = 0; i < row->count; i++) {
        const struct hora__heap_entry *entry = entry_at(row, (uint64_t)i);
        least = entry->due < least ? entry->due : least;
        most = entry->due > most ? entry->due : most;
        is_in_sequence &= sequence <= entry->sequence;
        sequence = entry->sequence;
    }
    *ret_least = least;
    return is_in_sequence && ((uint64_t)most - (uint64_t)least) >> (64 - INDEX_BITS) == 0;
}

static void make_keys(const struct row *row, int64_t least, uint64_t *keys)
{
    for (int i = 0; i < row->count; i++)
        keys[i] = ((uint64_t)entry_at(row, (uint64_t)i)->due - (uint64_t)least) << INDEX_BITS | (uint64_t)i;
}

static void order_two(uint64_t *a, uint64_t *b)
{
    uint64_t first = *a < *b ? *a : *b;
    uint64_t second = *a < *b ? *b : *a;
    *a = first;
    *b = second;
}

static void order_short(uint64_t *keys)
{
    order_two(&keys[0], &keys[1]);
    order_two(&keys[2], &keys[3]);
    order_two(&keys[0], &keys[2]);
    order_two(&keys[1], &keys[3]);
    order_two(&keys[1], &keys[2]);
}

/* Two sorted parts of the same length, from both ends at once: nothing can run out before the middle, and the processor has two
 * things to do that do not wait for each other. */
static void merge_keys(const uint64_t *from, int length, uint64_t *to)
{
    int left = 0;
    int right = length;
    int left_last = length - 1;
    int right_last = 2 * length - 1;
    HORA__TOUCH(2 * length);
    for (int i = 0; i < length; i++) {
        bool is_right = from[right] < from[left];
        to[i] = is_right ? from[right] : from[left];
        right += is_right;
        left += !is_right;
        bool is_left = from[right_last] < from[left_last];
        to[2 * length - 1 - i] = is_left ? from[left_last] : from[right_last];
        left_last -= is_left;
        right_last -= !is_left;
    }
}

/* Returns where the sorted keys are: here or there. The count is SHORT times a power of two. */
static uint64_t *sort_keys(uint64_t *here, uint64_t *there, int count)
{
    for (int i = 0; i < count; i += SHORT)
        order_short(&here[i]);
    for (int width = SHORT; width < count; width *= 2) {
        for (int i = 0; i < count; i += 2 * width)
            merge_keys(&here[i], width, &there[i]);
        uint64_t *sorted_parts = there;
        there = here;
        here = sorted_parts;
    }
    return here;
}

static uint64_t *sort_by_keys(const struct row *row, int64_t least, uint64_t *keys, uint64_t *more_keys)
{
    make_keys(row, least, keys);
    int rounded = SHORT;
    while (rounded < row->count)
        rounded *= 2;
    for (int i = row->count; i < rounded; i++)
        keys[i] = UINT64_MAX; /* these come last, and which of them is which does not matter */
    return sort_keys(keys, more_keys, rounded);
}

/* ---- by comparing ---- */

/* Two sorted parts, of which the right one may be shorter, or not be there. */
static void merge_places(const struct row *row, const uint64_t *from, int left_count, int count, uint64_t *to)
{
    int left = 0;
    int right = left_count < count ? left_count : count;
    int left_end = right;
    HORA__TOUCH(count);
    for (int i = 0; i < count; i++) {
        bool is_right = left == left_end ||
                        (right < count && hora__entry_is_before(entry_at(row, from[right]), entry_at(row, from[left])));
        to[i] = from[is_right ? right : left];
        right += is_right;
        left += !is_right;
    }
}

static uint64_t *sort_by_comparing(const struct row *row, uint64_t *here, uint64_t *there)
{
    for (int i = 0; i < row->count; i++)
        here[i] = (uint64_t)i;
    for (int width = 1; width < row->count; width *= 2) {
        for (int i = 0; i < row->count; i += 2 * width) {
            int rest = row->count - i;
            merge_places(row, &here[i], width, rest < 2 * width ? rest : 2 * width, &there[i]);
        }
        uint64_t *sorted_parts = there;
        there = here;
        here = sorted_parts;
    }
    return here;
}

/* ---- moving ---- */

/* Each goes where it belongs, and whom it meets there goes next, until one comes to where the first was. */
static void move_all(const struct row *row, uint64_t *order)
{
    HORA__TOUCH(row->count);
    for (uint64_t i = 0; i < (uint64_t)row->count; i++) {
        uint64_t to = i;
        uint64_t from = order[i] & INDEX_MASK;
        if (from == i)
            continue;
        struct hora__heap_entry moved = *entry_at(row, i);
        for (; from != i; from = order[to] & INDEX_MASK) {
            *entry_at(row, to) = *entry_at(row, from);
            order[to] = to;
            to = from;
        }
        *entry_at(row, to) = moved;
        order[to] = to;
    }
}

void hora__group_sort(struct hora__run *first, uint64_t keys[2][HORA__SORTED_AT_ONCE])
{
    struct row row = row_of(first);
    int64_t least;
    if (suits_keys(&row, &least))
        move_all(&row, sort_by_keys(&row, least, keys[0], keys[1]));
    else
        move_all(&row, sort_by_comparing(&row, keys[0], keys[1]));
}
