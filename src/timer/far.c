/* SPDX-License-Identifier: Apache-2.0 */
/* far.c - sorted batches under a tournament of their first slots
 *
 * Mechanism    A batch is sorted when its first slot leaves. So no operation sorts more than one batch, and a
 *              batch whose slots are all removed before is never sorted. Then its slots leave from the front.
 * Heads        The head of a batch is the place of its first slot: an entry of a sorted batch, or `first` of
 *              a batch in no order. Behind the last slot of a sorted batch stands an end mark, without a mark
 *              pointer, whose due time is its index. So a batch is found by its end.
 * Tournament   Match i is between the winners of matches 2i and 2i + 1; match entrants + i stands for the
 *              head i itself. The last is match 1. If a head changes, the matches on its way to the last are
 *              played again. Its opponents are known beforehand, so the processor fetches all of them at
 *              once, and each comparison waits for the one before and for nothing else. In a heap the path
 *              itself depends on each comparison. There are up to four times as many entrants as heads;
 *              absent heads lose against all. Entrants double when there are too few, and halve when a
 *              quarter is enough. Each time all matches are played anew, which the heads that came or went
 *              have paid for.
 * Sorting      By keys: a word per slot, with the time since the least due time above and the slot's index
 *              below. Ties are decided by the index. That is right if the slots are in the order of their
 *              sequence numbers, and possible if the due times span less than two years. Else the slots are
 *              compared, which takes longer.
 * No branches  The processor cannot predict which of two slots leaves first. So comparisons select values and
 *              indices instead.
 * Memory       If most of the memory is for slots that have left, batches with few slots are emptied (tidy).
 *              So a few timers that stay for long do not keep much memory.
 * Cost         One operation looks at one batch at most, once O(length log length) to sort it, and at O(log)
 *              heads.
 * Invariants   I1 all matches have been played, by (due, sequence): each has the due time and the index of
 *                 its winner.
 *              I2 no batch is empty; the head of a batch is its first slot.
 *              I3 size is the number of slots in all batches; first is the least due time of all.
 *              I4 sequence numbers are unique, so the order is total.
 *              I5 head_count <= entrants <= head_capacity; entrants is even, so head i meets head i ^ 1.
 *                 There is room for the open batch. */
#include "timer/far.h"

#include <hora/error.h>

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/build.h"
#include "sys/alloc.h"

enum { BITS = 3, FEWEST_ENTRANTS = 16, SHORT = 4, INDEX_BITS = 8, LOOKED_AT = 4 };

static_assert(HORA__FAR_KEYS >= HORA__FAR_BATCH && HORA__FAR_KEYS % SHORT == 0 &&
                  HORA__FAR_KEYS <= 1 << INDEX_BITS,
              "an index fits, and the keys of a batch have room");

/* ---- slots ---- */

/* The first bytes of the memory that a slot marks. */
struct __attribute__((packed, aligned(4), may_alias)) sequence {
    uint64_t value;
};

static uint64_t sequence_of(const struct hora__timer_slot *slot)
{
    const void *marked = slot->mark - ((uintptr_t)slot->mark & BITS);
    return ((const struct sequence *)marked)->value;
}

/* Two slots that are due together are rare. */
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

/* The batch whose first slot stands there, if it is in no order. */
static struct hora__far_batch *unsorted_at(struct hora__timer_slot *place)
{
    assert(is_unsorted(place));
    return (struct hora__far_batch *)((char *)place - offsetof(struct hora__far_batch, first));
}

static struct hora__far_batch *batch_by_end(struct hora__timer_slot *end)
{
    assert(is_end(end));
    return (struct hora__far_batch *)((char *)(end - end->due) - offsetof(struct hora__far_batch, slots));
}

static void set_end(struct hora__far_batch *batch, int count)
{
    assert(count >= 0 && count <= HORA__FAR_BATCH);
    batch->slots[count] = (struct hora__timer_slot){.due = count, .mark = NULL};
}

/* ---- the tournament ---- */

struct player {
    int64_t due;
    int index;
};

/* An absent head is due never, but so may be one that is there. */
static bool wins_tie(const struct hora__far_match *heads, int a, int b)
{
    assert(a != b);
    const struct hora__timer_slot *place = heads[a].place;
    const struct hora__timer_slot *other = heads[b].place;
    return place != NULL && (other == NULL || sequence_of(place) < sequence_of(other));
}

static inline struct player winner_of(const struct hora__far_match *heads, struct player a, struct player b)
{
    bool is_b = b.due < a.due;
    if (__builtin_expect(b.due == a.due, false))
        is_b = wins_tie(heads, b.index, a.index);
    a.due ^= (a.due ^ b.due) & -(int64_t)is_b;
    a.index ^= (a.index ^ b.index) & -(int)is_b;
    return a;
}

static inline struct player player_at(const struct hora__far_match *heads, int i)
{
    return (struct player){heads[i].head_due, i};
}

/* The i-th head changes; NULL: it is absent. */
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

/* The winner of the i-th match, if those that lead to it have been played. */
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

/* Play all matches anew, among so many. */
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

static void add_head(struct hora__far_batches *far, struct hora__timer_slot *place)
{
    assert(far->head_count < far->head_capacity); /* I5 */
    if (far->head_count == far->entrants)
        begin_tournament(far,
                         2 * far->entrants < far->head_capacity ? 2 * far->entrants : far->head_capacity);
    play(far, far->head_count++, place);
}

/* The last head takes the place of the i-th. */
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

static int first_head(const struct hora__far_batches *far)
{
    assert(far->head_count > 0);
    return far->heads[1].winner;
}

static void find_first(struct hora__far_batches *far)
{
    int64_t first = far->head_count > 0 ? far->heads[1].due : INT64_MAX;
    far->first = far->open != NULL && far->open->first.due < first ? far->open->first.due : first; /* I3 */
}

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

/* Whether the batch can be sorted by keys, and its least due time. */
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

/* Merge two sorted parts of the same length, from both ends at once: neither can run out before the middle,
 * and the processor has two chains of comparisons that do not wait for each other. */
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

/* Returns the memory with the sorted keys: here or there. The count is SHORT times a power of two. */
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

static const uint64_t *sort_by_keys(const struct hora__far_batch *batch, int64_t least, uint64_t *here,
                                    uint64_t *there)
{
    int rounded = SHORT;
    while (rounded < batch->count)
        rounded *= 2;
    for (int i = 0; i < batch->count; i++)
        here[i] = ((uint64_t)batch->slots[i].due - (uint64_t)least) << INDEX_BITS | (uint64_t)i;
    for (int i = batch->count; i < rounded; i++)
        here[i] = UINT64_MAX; /* these come last, in any order */
    return sort_keys(here, there, rounded);
}

/* Merge two sorted parts of indices. The right part may be shorter, or empty. */
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

/* Returns the place of the first slot. */
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

static struct hora__timer_slot *sorted(struct hora__timer_slot *place)
{
    return is_unsorted(place) ? sort(unsorted_at(place)) : place;
}

/* ---- coming ---- */

void hora__far_add_batch(struct hora__far_batches *far, struct hora__far_batch *batch)
{
    assert(batch->count > 0 && batch->count <= HORA__FAR_BATCH); /* I2 */
    far->size += batch->count;
    add_head(far, &batch->first);
    find_first(far);
}

/* The slots of the open batch are counted in size already. */
static void close_open(struct hora__far_batches *far)
{
    struct hora__far_batch *batch = far->open;
    assert(batch != NULL && far->size >= batch->count);
    far->open = NULL;
    far->size -= batch->count;
    hora__far_add_batch(far, batch);
}

bool hora__far_add(struct hora__far_batches *far, struct hora__timer_slot slot, uint64_t sequence)
{
    if (far->open == NULL) {
        struct hora__far_batch *batch = hora__far_reserve(far, 0) == 0
                                            ? hora__alloc_dirty(sizeof(struct hora__far_batch))
                                            : NULL; /* I5 */
        if (batch == NULL)
            return false;
        hora__far_batch_init(batch);
        far->open = batch;
    }
    hora__far_batch_append(far->open, slot, sequence);
    far->size++;
    if (hora__far_batch_is_full(far->open))
        close_open(far);
    else if (slot.due < far->first)
        far->first = slot.due; /* I3 */
    return true;
}

/* ---- going ---- */

/* Whether the first slot of all is in the open batch. */
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

/* The first slot of the i-th batch, which is sorted, has left; `next` is behind it. Returns the batch if it
 * is empty. */
static struct hora__far_batch *go_on(struct hora__far_batches *far, int i, struct hora__timer_slot *next)
{
    struct hora__far_batch *empty = NULL;
    assert(far->size > 0 && i < far->head_count);
    far->size--;
    if (is_end(next)) {
        empty = batch_by_end(next);
        remove_head(far, i);
    } else {
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
        __builtin_prefetch(far->heads[first_head(far)].place); /* the next, likely */
    return empty;
}

int hora__far_empty_open(struct hora__far_batches *far, struct hora__timer_slot *slots)
{
    if (!open_is_first(far))
        return 0;
    struct hora__far_batch *batch = far->open;
    int count = batch->count;
    HORA__TOUCH(count);
    memcpy(slots, batch->slots, (size_t)count * sizeof *slots);
    hora__free(batch);
    far->open = NULL;
    far->size -= count;
    find_first(far);
    return count;
}

/* ---- the middle ---- */

/* The slots of a batch that are there. */
struct stretch {
    struct hora__far_batch *batch;
    struct hora__timer_slot *begin;
    int count;
};

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

static bool is_wasteful(const struct hora__far_batches *far)
{
    return (int64_t)far->head_count * HORA__FAR_BATCH > 4 * ((int64_t)far->size + HORA__FAR_BATCH);
}

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

/* Fill a batch in no order again, without the slot at `hole`; it keeps at least one. */
static void refill(struct hora__far_batch *batch, int hole)
{
    int count = batch->count;
    assert(count > 1 && hole >= 0 && hole < count); /* I2 */
    hora__far_batch_init(batch);
    for (int i = 0; i < count; i++)
        if (i != hole)
            hora__far_batch_append(batch, batch->slots[i], sequence_of(&batch->slots[i]));
}

/* Remove the slot at `at` of a stretch of the i-th batch. In a sorted batch the slots before it move up. */
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
        set_end(stretch.batch, 1);
    memmove(stretch.begin + 1, stretch.begin, (size_t)at * sizeof *stretch.begin);
    return go_on(far, i, stretch.begin + 1);
}

static int index_in(struct stretch stretch, const char *mark)
{
    int at = 0;
    while (at < stretch.count && stretch.begin[at].mark != mark)
        at++;
    return at < stretch.count ? at : -1;
}

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
    assert(false); /* the slot is there */
    return NULL;
}

void hora__far_free(struct hora__far_batches *far)
{
    assert(far->size == 0 && far->open == NULL);
    hora__free(far->heads);
    *far = (struct hora__far_batches){.first = INT64_MAX};
}

/* ---- checking ---- */

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
