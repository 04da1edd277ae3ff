/* SPDX-License-Identifier: Apache-2.0 */
/* far.c - sorted batches under a tournament of their first slots
 *
 * Mechanism    A batch is sorted when its first slot is removed; after that its slots are removed from the
 *              front. So no operation sorts more than one batch, and a batch whose slots are all removed
 *              before they are due is never sorted.
 * Heads        The head of a batch is a pointer to its first slot: to an entry of slots[] of a sorted batch,
 *              or to `first` of an unsorted one. Behind the last slot of a sorted batch there is an end mark:
 *              a slot whose mark is NULL and whose due time is its index. From the end mark the code computes
 *              the address of the batch.
 * Tournament   Match i is between the winners of matches 2i and 2i + 1; match entrants + i stands for head i
 *              itself. The final is match 1. If a head changes, only the matches on its way to the final are
 *              played again. The opponents on that way do not depend on the results, so the processor fetches
 *              all of them at once, and each comparison waits only for the one before. In a heap each
 *              comparison decides which memory is read next. There are up to four times as many entrants as
 *              heads; absent heads lose against all others. The number of entrants doubles when it is too
 *              small, and halves when a quarter is enough. All matches are then played again; that cost is
 *              proportional to the heads added or removed since the last time.
 * Sorting      By keys: each slot has a word with the time since the least due time in the upper bits and the
 *              index of the slot in the lower eight. So the index decides ties. That is right if the slots
 *              are in the order of their sequence numbers, and possible if the due times span less than two
 *              years. Otherwise the slots themselves are compared, which takes longer.
 * No branches  The processor cannot predict which of two slots is first. So comparisons select values and
 *              indices without a branch.
 * Memory       If most of the memory belongs to slots that have been removed, batches with few slots are
 *              emptied (tidy). So a few timers that are due very late do not keep much memory.
 * Cost         One operation accesses at most one batch, which it may have to sort in O(length log length),
 *              and O(log n) heads.
 * Invariants   I1 all matches have been played, by (due, sequence): each has the due time and the index of
 *                 its winner.
 *              I2 no batch is empty; the head of a batch is its first slot.
 *              I3 size is the number of slots in all batches; first is the least due time of all.
 *              I4 sequence numbers are unique, so the order is total.
 *              I5 head_count <= entrants <= head_capacity; entrants is even, so head i plays against head
 *                 i ^ 1. There is room for the open batch. */
#include "timer/far.h"

#include <hora/error.h>

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/build.h"
#include "sys/alloc.h"

enum {
    BITS = 3,             /* the bits of a mark that are no part of the address: untracked, unsorted */
    FEWEST_ENTRANTS = 16, /* the smallest tournament */
    SHORT = 4,            /* keys that order_short sorts */
    INDEX_BITS = 8,       /* lower bits of a key, which hold the index of the slot */
    LOOKED_AT = 4         /* batches that one call of hora__far_tidy checks */
};

static_assert(HORA__FAR_KEYS >= HORA__FAR_BATCH && HORA__FAR_KEYS % SHORT == 0 &&
                  HORA__FAR_KEYS <= 1 << INDEX_BITS,
              "an index fits, and the keys of a batch have room");

/* ---- slots ---- */

/* The sequence number in the first bytes of the memory that a slot marks: a timer node, or a record of the
 * owner. */
struct __attribute__((packed, aligned(4), may_alias)) sequence {
    uint64_t value;
};

/* Returns the sequence number of a slot. Reads the marked memory, which is probably not in the cache. */
static uint64_t sequence_of(const struct hora__timer_slot *slot)
{
    const void *marked = slot->mark - ((uintptr_t)slot->mark & BITS);
    return ((const struct sequence *)marked)->value;
}

/* Returns true if a is removed before b. Slots that are due together are rare, so the sequence numbers are
 * rarely read. */
static inline bool before(const struct hora__timer_slot *a, const struct hora__timer_slot *b)
{
    bool is_before = a->due < b->due;
    if (__builtin_expect(a->due == b->due, false))
        is_before = sequence_of(a) < sequence_of(b);
    return is_before;
}

static bool is_end(const struct hora__timer_slot *place)
{
    return place->mark == NULL;
}

static bool is_unsorted(const struct hora__timer_slot *place)
{
    return ((uintptr_t)place->mark & HORA__FAR_UNSORTED) != 0;
}

/* Returns the unsorted batch whose field `first` is at `place`. */
static struct hora__far_batch *unsorted_at(struct hora__timer_slot *place)
{
    assert(is_unsorted(place));
    return (struct hora__far_batch *)((char *)place - offsetof(struct hora__far_batch, first));
}

/* Returns the sorted batch whose end mark is at `end`. The due time of an end mark is its index in
 * slots[]. */
static struct hora__far_batch *batch_by_end(struct hora__timer_slot *end)
{
    assert(is_end(end));
    return (struct hora__far_batch *)((char *)(end - end->due) - offsetof(struct hora__far_batch, slots));
}

/* Writes the end mark behind `count` slots. */
static void set_end(struct hora__far_batch *batch, int count)
{
    assert(count >= 0 && count <= HORA__FAR_BATCH);
    batch->slots[count] = (struct hora__timer_slot){.due = count, .mark = NULL};
}

/* ---- the tournament ---- */

/* A head that takes part in a match. */
struct player {
    int64_t due;
    int index;
};

/* Returns true if head a wins against head b, which is due at the same time. An absent head has the due time
 * INT64_MAX, but so may a head that is present; the latter wins. */
static bool wins_tie(const struct hora__far_match *heads, int a, int b)
{
    assert(a != b);
    const struct hora__timer_slot *place = heads[a].place;
    const struct hora__timer_slot *other = heads[b].place;
    return place != NULL && (other == NULL || sequence_of(place) < sequence_of(other));
}

/* Returns the winner of a match: the head that is due first. Selects it without a branch, except for ties. */
static inline struct player winner_of(const struct hora__far_match *heads, struct player a, struct player b)
{
    bool is_b = b.due < a.due;
    if (__builtin_expect(b.due == a.due, false))
        is_b = wins_tie(heads, b.index, a.index);
    a.due ^= (a.due ^ b.due) & -(int64_t)is_b;
    a.index ^= (a.index ^ b.index) & -(int)is_b;
    return a;
}

/* Returns the i-th head as a player. */
static inline struct player player_at(const struct hora__far_match *heads, int i)
{
    return (struct player){heads[i].head_due, i};
}

/* Changes the i-th head to `place`, NULL if it becomes absent, and plays all matches on its way to the
 * final. */
static void play(struct hora__far_batches *far, int i, struct hora__timer_slot *place)
{
    assert(i >= 0 && i < far->entrants && far->entrants % 2 == 0); /* I5 */
    struct hora__far_match *heads = far->heads;
    heads[i].head_due = place != NULL ? place->due : INT64_MAX;
    heads[i].place = place;
    struct player best = winner_of(heads, player_at(heads, i), player_at(heads, i ^ 1));
    int match = (far->entrants + i) / 2;
    HORA__TOUCH(2);
    while (match > 1) {
        const struct hora__far_match *other = &heads[match ^ 1];
        heads[match].due = best.due;
        heads[match].winner = best.index;
        best = winner_of(heads, best, (struct player){other->due, other->winner});
        match /= 2;
        HORA__TOUCH(1);
    }
    heads[1].due = best.due;
    heads[1].winner = best.index;
}

/* Returns the winner of the i-th match. The matches that lead to it must have been played. */
static struct player play_off(const struct hora__far_batches *far, int i)
{
    assert(i > 0 && i < far->entrants);
    const struct hora__far_match *heads = far->heads;
    struct player players[2];
    for (int k = 0; k < 2; k++) {
        int match = 2 * i + k;
        players[k] = match < far->entrants ? (struct player){heads[match].due, heads[match].winner}
                                           : player_at(heads, match - far->entrants);
    }
    return winner_of(heads, players[0], players[1]);
}

/* Changes the number of entrants and plays all matches again. Heads beyond head_count are absent. */
static void begin_tournament(struct hora__far_batches *far, int entrants)
{
    struct hora__far_match *heads = far->heads;
    assert(entrants >= 2 && entrants % 2 == 0 && entrants <= far->head_capacity &&
           entrants >= far->head_count); /* I5 */
    HORA__TOUCH_PREPAID(entrants);
    for (int i = far->head_count; i < entrants; i++) {
        heads[i].head_due = INT64_MAX;
        heads[i].place = NULL;
    }
    far->entrants = entrants;
    for (int i = entrants - 1; i > 0; i--) {
        struct player best = play_off(far, i);
        heads[i].due = best.due;
        heads[i].winner = best.index;
    }
}

/* Adds a head, and doubles the tournament if all entrants are present. There must be room in heads[]. */
static void add_head(struct hora__far_batches *far, struct hora__timer_slot *place)
{
    assert(far->head_count < far->head_capacity); /* I5 */
    if (far->head_count == far->entrants)
        begin_tournament(far,
                         2 * far->entrants < far->head_capacity ? 2 * far->entrants : far->head_capacity);
    play(far, far->head_count++, place);
}

/* Removes the i-th head; the last head takes its index. Halves the tournament if a quarter of it is
 * enough. */
static void remove_head(struct hora__far_batches *far, int i)
{
    assert(i >= 0 && i < far->head_count);
    int last = --far->head_count;
    if (i < last)
        play(far, i, far->heads[last].place);
    play(far, last, NULL);
    if (last < far->entrants / 4 && far->entrants > FEWEST_ENTRANTS)
        begin_tournament(far, (far->entrants / 4 + 1) * 2);
}

/* Returns the index of the head that is due first, the winner of the final. There must be a head. */
static int first_head(const struct hora__far_batches *far)
{
    assert(far->head_count > 0);
    return far->heads[1].winner;
}

/* Updates far->first from the final and from the open batch, which takes no part in the tournament. */
static void find_first(struct hora__far_batches *far)
{
    int64_t first = far->head_count > 0 ? far->heads[1].due : INT64_MAX;
    far->first = far->open != NULL && far->open->first.due < first ? far->open->first.due : first; /* I3 */
}

/* Allocates half as much again as needed, so that the cost of moving is spread over the batches added. */
int hora__far_reserve(struct hora__far_batches *far, int batches)
{
    assert(batches >= 0);
    int needed = far->head_count + batches + 1; /* I5 */
    if (needed <= far->head_capacity)
        return 0;
    int capacity = (needed < FEWEST_ENTRANTS ? FEWEST_ENTRANTS : needed + needed / 2) & ~1;
    struct hora__far_match *heads = hora__alloc((size_t)capacity, sizeof *heads);
    if (heads == NULL)
        return HORA_ENOMEM;
    HORA__TOUCH_PREPAID(far->entrants);
    if (far->entrants > 0)
        memcpy(heads, far->heads, (size_t)far->entrants * sizeof *heads);
    hora__free(far->heads);
    far->heads = heads;
    far->head_capacity = capacity;
    if (far->entrants == 0)
        begin_tournament(far, FEWEST_ENTRANTS);
    return 0;
}

/* ---- sorting ---- */

/* Returns true if the batch can be sorted by keys. Stores its least due time. */
static bool suits_keys(const struct hora__far_batch *batch, int64_t *ret_least)
{
    int64_t least = INT64_MAX;
    int64_t most = INT64_MIN;
    HORA__TOUCH(batch->count);
    for (int i = 0; i < batch->count; i++) {
        int64_t due = batch->slots[i].due;
        least = due < least ? due : least;
        most = due > most ? due : most;
    }
    *ret_least = least;
    return batch->in_sequence && ((uint64_t)most - (uint64_t)least) >> (64 - INDEX_BITS) == 0;
}

/* Exchanges two keys if they are in the wrong order, without a branch. */
static void order_two(uint64_t *a, uint64_t *b)
{
    uint64_t first = *a < *b ? *a : *b;
    uint64_t second = *a < *b ? *b : *a;
    *a = first;
    *b = second;
}

/* Sorts SHORT keys with a sorting network of five comparisons. */
static void order_short(uint64_t *keys)
{
    order_two(&keys[0], &keys[1]);
    order_two(&keys[2], &keys[3]);
    order_two(&keys[0], &keys[2]);
    order_two(&keys[1], &keys[3]);
    order_two(&keys[1], &keys[2]);
}

/* Merges two sorted parts of `length` keys each, from both ends at once. Neither part can run out before the
 * middle, so the loop needs no test for that, and the processor has two chains of comparisons that do not
 * wait for each other. */
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

/* Sorts `count` keys, SHORT times a power of two, by merging. `there` is memory for as many keys. Returns the
 * array that holds the sorted keys: `here` or `there`. */
static uint64_t *sort_keys(uint64_t *here, uint64_t *there, int count)
{
    assert(count >= SHORT && count <= HORA__FAR_KEYS && (count & (count - 1)) == 0);
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

/* Computes the keys of a batch and sorts them; see the top of this file. Returns one of the two arrays of
 * HORA__FAR_KEYS words. The lower INDEX_BITS of its elements are the order of the slots. */
static const uint64_t *sort_by_keys(const struct hora__far_batch *batch, int64_t least, uint64_t *here,
                                    uint64_t *there)
{
    int rounded = SHORT;
    while (rounded < batch->count)
        rounded *= 2;
    for (int i = 0; i < batch->count; i++)
        here[i] = ((uint64_t)batch->slots[i].due - (uint64_t)least) << INDEX_BITS | (uint64_t)i;
    for (int i = batch->count; i < rounded; i++)
        here[i] = UINT64_MAX; /* padding up to a power of two, which is sorted behind all slots */
    return sort_keys(here, there, rounded);
}

/* Merges two sorted parts of indices, left_count and the rest of `count`. The right part may be shorter, or
 * empty. */
static void merge_indices(const struct hora__timer_slot *slots, const uint64_t *from, int left_count,
                          int count, uint64_t *to)
{
    int left = 0;
    int right = left_count < count ? left_count : count;
    int left_end = right;
    HORA__TOUCH(count);
    for (int i = 0; i < count; i++) {
        bool is_right =
            left == left_end || (right < count && before(&slots[from[right]], &slots[from[left]]));
        to[i] = from[is_right ? right : left];
        right += is_right;
        left += !is_right;
    }
}

/* Sorts the indices of a batch by comparing slots, for batches that do not suit keys. Returns one of the two
 * arrays. */
static const uint64_t *sort_by_comparing(const struct hora__far_batch *batch, uint64_t *here, uint64_t *there)
{
    for (int i = 0; i < batch->count; i++)
        here[i] = (uint64_t)i;
    for (int width = 1; width < batch->count; width *= 2) {
        for (int i = 0; i < batch->count; i += 2 * width) {
            int rest = batch->count - i;
            merge_indices(batch->slots, &here[i], width, rest < 2 * width ? rest : 2 * width, &there[i]);
        }
        uint64_t *sorted_parts = there;
        there = here;
        here = sorted_parts;
    }
    return here;
}

/* Sorts an unsorted batch and writes its end mark. Returns its first slot. */
static struct hora__timer_slot *sort(struct hora__far_batch *batch)
{
    assert(batch->count > 0 && batch->count <= HORA__FAR_BATCH); /* I2 */
    struct hora__timer_slot unsorted[HORA__FAR_BATCH];
    uint64_t keys[2][HORA__FAR_KEYS];
    int64_t least;
    const uint64_t *order = suits_keys(batch, &least) ? sort_by_keys(batch, least, keys[0], keys[1])
                                                      : sort_by_comparing(batch, keys[0], keys[1]);
    HORA__TOUCH(batch->count);
    memcpy(unsorted, batch->slots, (size_t)batch->count * sizeof unsorted[0]);
    for (int i = 0; i < batch->count; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): either sort writes count keys */
        batch->slots[i] = unsorted[order[i] & ((1 << INDEX_BITS) - 1)];
    set_end(batch, batch->count);
    return batch->slots;
}

/* Sorts the batch at `place` if it is unsorted. Returns its first slot in slots[]. */
static struct hora__timer_slot *sorted(struct hora__timer_slot *place)
{
    return is_unsorted(place) ? sort(unsorted_at(place)) : place;
}

/* ---- adding ---- */

/* The batch stays unsorted; its head is `first`. */
void hora__far_add_batch(struct hora__far_batches *far, struct hora__far_batch *batch)
{
    assert(batch->count > 0 && batch->count <= HORA__FAR_BATCH); /* I2 */
    far->size += batch->count;
    add_head(far, &batch->first);
    find_first(far);
}

/* Turns the open batch into an ordinary one. Its slots are counted in size already, and hora__far_add_batch
 * counts them again, so they are subtracted first. */
static void close_open(struct hora__far_batches *far)
{
    struct hora__far_batch *batch = far->open;
    assert(batch != NULL && far->size >= batch->count);
    far->open = NULL;
    far->size -= batch->count;
    hora__far_add_batch(far, batch);
}

/* Allocates an open batch. Reserves room for its head first, so that closing the batch cannot fail (I5).
 * Returns false if there is no memory. */
static bool begin_open(struct hora__far_batches *far)
{
    assert(far->open == NULL && far->memory != NULL);
    uint16_t offset;
    struct hora__far_batch *batch =
        hora__far_reserve(far, 0) == 0 ? hora__free_list_get(far->memory, 0, &offset) : NULL;
    if (batch == NULL)
        return false;
    hora__far_batch_init(batch);
    batch->offset = offset;
    far->open = batch;
    return true;
}

void hora__far_batch_free(struct hora__far_batches *far, struct hora__far_batch *batch)
{
    if (batch != NULL)
        hora__chunk_free(hora__free_list_put(far->memory, batch, batch->offset));
}

bool hora__far_add(struct hora__far_batches *far, struct hora__timer_slot slot, uint64_t sequence)
{
    if (far->open == NULL && !begin_open(far))
        return false;
    hora__far_batch_append(far->open, slot, sequence);
    far->size++;
    if (hora__far_batch_is_full(far->open))
        close_open(far);
    else if (slot.due < far->first)
        far->first = slot.due; /* I3 */
    return true;
}

/* ---- removing the first slot ---- */

/* Returns true if the first slot of all is in the open batch. */
static bool open_is_first(const struct hora__far_batches *far)
{
    if (far->open == NULL)
        return false;
    return far->head_count == 0 || before(&far->open->first, far->heads[first_head(far)].place);
}

struct hora__timer_slot hora__far_peek(struct hora__far_batches *far)
{
    assert(far->size > 0);
    if (open_is_first(far))
        close_open(far);
    struct hora__far_match *head = &far->heads[first_head(far)];
    head->place = sorted(head->place);
    return *head->place;
}

uint64_t hora__far_first_sequence(const struct hora__far_batches *far)
{
    assert(far->size > 0);
    return sequence_of(open_is_first(far) ? &far->open->first : far->heads[first_head(far)].place);
}

/* Called when the first slot of the i-th batch, which is sorted, has been removed; `next` is the slot behind
 * it. Makes `next` the new head, or removes the batch from the tournament if `next` is the end mark. Returns
 * the batch if it is empty, else NULL. */
static struct hora__far_batch *go_on(struct hora__far_batches *far, int i, struct hora__timer_slot *next)
{
    struct hora__far_batch *empty = NULL;
    assert(far->size > 0 && i < far->head_count);
    far->size--;
    if (is_end(next)) {
        empty = batch_by_end(next);
        remove_head(far, i);
    } else {
        /* These will be needed when this batch wins the next times. */
        __builtin_prefetch(next[1].mark);
        __builtin_prefetch(next + 4);
        play(far, i, next); /* I2 */
    }
    find_first(far);
    return empty;
}

struct hora__far_batch *hora__far_pop(struct hora__far_batches *far, struct hora__timer_slot *ret_slot,
                                      struct hora__timer_slot *ret_next)
{
    assert(far->size > 0);
    if (open_is_first(far))
        close_open(far);
    int i = first_head(far);
    struct hora__timer_slot *place = sorted(far->heads[i].place);
    *ret_slot = place[0];
    *ret_next = place[1];
    struct hora__far_batch *empty = go_on(far, i, place + 1);
    if (far->head_count > 0)
        __builtin_prefetch(far->heads[first_head(far)].place); /* probably removed next */
    return empty;
}

/* The open batch is not sorted: the caller inserts its few slots into a heap, which orders them. */
int hora__far_empty_open(struct hora__far_batches *far, struct hora__timer_slot *slots)
{
    if (!open_is_first(far))
        return 0;
    struct hora__far_batch *batch = far->open;
    int count = batch->count;
    HORA__TOUCH(count);
    memcpy(slots, batch->slots, (size_t)count * sizeof *slots);
    hora__far_batch_free(far, batch);
    far->open = NULL;
    far->size -= count;
    find_first(far);
    return count;
}

/* ---- access to all slots ---- */

/* The slots of a batch that have not been removed. They are contiguous. */
struct stretch {
    struct hora__far_batch *batch;
    struct hora__timer_slot *begin;
    int count;
};

/* Returns the stretch of the batch whose head is `place`. In a sorted batch it searches for the end mark. */
static struct stretch stretch_of(struct hora__timer_slot *place)
{
    if (is_unsorted(place)) {
        struct hora__far_batch *batch = unsorted_at(place);
        return (struct stretch){batch, batch->slots, batch->count};
    }
    struct hora__timer_slot *end = place;
    while (!is_end(end))
        end++;
    HORA__TOUCH(end - place);
    return (struct stretch){batch_by_end(end), place, (int)(end - place)};
}

static struct stretch open_stretch(const struct hora__far_batches *far)
{
    assert(far->open != NULL);
    return (struct stretch){far->open, far->open->slots, far->open->count};
}

/* Returns true if the batches have room for more than four times the slots that are left. One batch may be
 * nearly empty in any case, hence the summand. */
static bool is_wasteful(const struct hora__far_batches *far)
{
    return (int64_t)far->head_count * HORA__FAR_BATCH > 4 * ((int64_t)far->size + HORA__FAR_BATCH);
}

/* Returns true if a sorted batch has at most HORA__FAR_FEW slots left. Unsorted batches are left alone:
 * removal from the front has not yet begun there. */
static bool has_few(const struct hora__timer_slot *place)
{
    int count = 0;
    while (!is_unsorted(place) && count <= HORA__FAR_FEW && !is_end(place + count))
        count++;
    HORA__TOUCH(count);
    return !is_unsorted(place) && count <= HORA__FAR_FEW;
}

struct hora__far_batch *hora__far_tidy(struct hora__far_batches *far, struct hora__timer_slot *slots,
                                       int *ret_count)
{
    bool found = false;
    *ret_count = 0;
    /* Go round over the batches, a few per call, so that the cost of a call is bounded. */
    for (int i = 0; i < LOOKED_AT && !found && is_wasteful(far); i++) {
        far->swept = far->swept + 1 < far->head_count ? far->swept + 1 : 0;
        found = has_few(far->heads[far->swept].place);
    }
    if (!found)
        return NULL;
    assert(far->swept < far->head_count);
    struct stretch stretch = stretch_of(far->heads[far->swept].place);
    memcpy(slots, stretch.begin, (size_t)stretch.count * sizeof *slots);
    *ret_count = stretch.count;
    far->size -= stretch.count;
    remove_head(far, far->swept);
    find_first(far);
    return stretch.batch;
}

static void visit_stretch(struct stretch stretch, void (*visit)(void *context, struct hora__timer_slot slot),
                          void *context)
{
    for (int i = 0; i < stretch.count; i++)
        visit(context, stretch.begin[i]);
}

void hora__far_each(const struct hora__far_batches *far,
                    void (*visit)(void *context, struct hora__timer_slot slot), void *context)
{
    for (int i = 0; i < far->head_count; i++)
        visit_stretch(stretch_of(far->heads[i].place), visit, context);
    if (far->open != NULL)
        visit_stretch(open_stretch(far), visit, context);
}

/* Removes the slot with index `hole` from an unsorted batch that has more than one, by appending all others
 * again. That keeps `first` and in_sequence right. */
static void refill(struct hora__far_batch *batch, int hole)
{
    int count = batch->count;
    assert(count > 1 && hole >= 0 && hole < count); /* I2 */
    hora__far_batch_init(batch);
    for (int i = 0; i < count; i++)
        if (i != hole)
            hora__far_batch_append(batch, batch->slots[i], sequence_of(&batch->slots[i]));
}

/* Removes the slot with index `at` in the stretch of the i-th batch. In a sorted batch the slots before it
 * move up by one, and the first one is then removed. Returns the batch if it has become empty, else NULL. */
static struct hora__far_batch *remove_at(struct hora__far_batches *far, int i, struct stretch stretch, int at)
{
    assert(at >= 0 && at < stretch.count);
    if (is_unsorted(far->heads[i].place) && stretch.count > 1) {
        refill(stretch.batch, at);
        far->size--;
        play(far, i, &stretch.batch->first);
        find_first(far);
        return NULL;
    }
    if (is_unsorted(far->heads[i].place))
        set_end(stretch.batch, 1); /* a batch with one slot is sorted, but has no end mark yet */
    memmove(stretch.begin + 1, stretch.begin, (size_t)at * sizeof *stretch.begin);
    return go_on(far, i, stretch.begin + 1);
}

/* Returns the index of the slot with this mark in a stretch, or -1. */
static int index_in(struct stretch stretch, const char *mark)
{
    int at = 0;
    while (at < stretch.count && stretch.begin[at].mark != mark)
        at++;
    return at < stretch.count ? at : -1;
}

/* Closes the open batch if the slot is in it, so that one loop handles all batches. */
struct hora__far_batch *hora__far_remove(struct hora__far_batches *far, const char *mark)
{
    if (far->open != NULL && index_in(open_stretch(far), mark) >= 0)
        close_open(far);
    for (int i = 0; i < far->head_count; i++) {
        struct stretch stretch = stretch_of(far->heads[i].place);
        int at = index_in(stretch, mark);
        if (at >= 0)
            return remove_at(far, i, stretch, at);
    }
    assert(false); /* the caller guarantees that the slot is present */
    return NULL;
}

void hora__far_free(struct hora__far_batches *far)
{
    assert(far->size == 0 && far->open == NULL);
    hora__free(far->heads);
    *far = (struct hora__far_batches){.first = INT64_MAX};
}

/* ---- checking ---- */

/* Returns true if I1 and I5 hold. */
static bool check_heads(const struct hora__far_batches *far)
{
    const struct hora__far_match *heads = far->heads;
    if (far->head_count > far->entrants || far->entrants > far->head_capacity || far->entrants % 2 != 0)
        return false; /* I5 */
    for (int i = 0; i < far->entrants; i++)
        if (i < far->head_count ? heads[i].head_due != heads[i].place->due : heads[i].place != NULL)
            return false;
    for (int i = far->entrants - 1; i > 0; i--) {
        struct player best = play_off(far, i);
        if (heads[i].due != best.due || heads[heads[i].winner].place != heads[best.index].place)
            return false; /* I1; which of two absent heads has won does not matter */
    }
    return true;
}

/* Returns true if `first` is the first slot of the stretch, and the stretch is in order if is_sorted. */
static bool check_stretch(struct stretch stretch, const struct hora__timer_slot *first, bool is_sorted)
{
    bool has_first = false;
    for (int i = 0; i < stretch.count; i++) {
        const struct hora__timer_slot *slot = &stretch.begin[i];
        if (before(slot, first) || (is_sorted && i > 0 && !before(slot - 1, slot)))
            return false;
        has_first = has_first || sequence_of(slot) == sequence_of(first);
    }
    return has_first;
}

bool hora__far_check(const struct hora__far_batches *far)
{
    int size = 0;
    int64_t first = INT64_MAX;
    if (far->heads == NULL ? far->head_count > 0 : !check_heads(far))
        return false;
    for (int i = 0; i < far->head_count; i++) {
        struct hora__timer_slot *place = far->heads[i].place;
        struct stretch stretch = stretch_of(place);
        if (!check_stretch(stretch, place, !is_unsorted(place)))
            return false; /* I2 */
        size += stretch.count;
        first = place->due < first ? place->due : first;
    }
    if (far->open != NULL) {
        if (far->head_count >= far->head_capacity ||
            !check_stretch(open_stretch(far), &far->open->first, false))
            return false; /* I5, I2 */
        size += far->open->count;
        first = far->open->first.due < first ? far->open->first.due : first;
    }
    return size == far->size && first == far->first; /* I3 */
}
