/* SPDX-License-Identifier: Apache-2.0 */
/* far.c - batches of timers, sorted when their first one leaves, under a heap of the batches
 *
 * How it works      Timers come into the open batch, in no order. When it is full its first one stands in a heap, for all of them; that is
 *                   small. A batch is sorted when its first one leaves; then its timers leave along memory. If the first of
 *                   all is in the open batch, that leaves as a whole: few stand there, and they were put there just now.
 *                   If most of the memory is for timers that have left, batches with few timers leave as a whole, too: so
 *                   a few that stay for long do not keep much memory. base/runs.c is much the same for elements
 *                   that do not bring their number along.
 * Cost              One operation looks at no more than one batch, and at O(log) heads.
 * Invariants        I1 heads is a heap by due; the head of a batch is when its first timer is due.
 *                   I2 no batch in heads is empty; there is always a place there for the open one.
 *                   I3 size is the number of timers in all batches; first is the least due of them. */
#include "timer/far.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/touch.h"
#include "sys/alloc.h"

enum { FEW = HORA__FAR_BATCH / 8, LEAST_HEADS = 16, SHORT = 8, NOW_AND_THEN = 8 };

/* Where the first timer of a batch stands is all that its head knows: who takes timers does not come to the other end of the memory. Of one that
 * is in no order that place is `first`, which has no timer. Nor has `end`: so it is seen that the last one has left. */
struct hora__far_batch {
    struct hora__timer_slot first;
    struct hora__timer_slot slots[HORA__FAR_BATCH];
    struct hora__timer_slot end;
};

static bool is_no_timer(const struct hora__timer_slot *place)
{
    return place->mark == NULL;
}

/* Whose first timer stands there, if it is in no order. */
static struct hora__far_batch *unsorted_at(struct hora__timer_slot *place)
{
    return (struct hora__far_batch *)((char *)place - offsetof(struct hora__far_batch, first));
}

static struct hora__far_batch *batch_by_end(struct hora__timer_slot *end)
{
    return (struct hora__far_batch *)((char *)end - offsetof(struct hora__far_batch, end));
}

/* ---- sorting a batch ---- */

/* Without a branch that goes the wrong way every other time; that two are due together is rare. */
static inline bool before(const struct hora__timer_slot *a, const struct hora__timer_slot *b)
{
    bool is_before = a->due < b->due;
    if (__builtin_expect(a->due == b->due, false))
        is_before = hora__slot_node(*a)->sequence < hora__slot_node(*b)->sequence;
    return is_before;
}

static void sort_short(struct hora__timer_slot *slots, int count)
{
    HORA__TOUCH(count);
    for (int i = 1; i < count; i++) {
        struct hora__timer_slot slot = slots[i];
        int at = i;
        for (; at > 0 && before(&slot, &slots[at - 1]); at--)
            slots[at] = slots[at - 1];
        slots[at] = slot;
    }
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Two sorted parts, of which the right one may be shorter, or not be there. */
static void merge(const struct hora__timer_slot *from, int left_count, int count, struct hora__timer_slot *to)
{
    int left = 0;
    int right = left_count < count ? left_count : count;
    int left_end = right;
    HORA__TOUCH(count);
    while (left < left_end && right < count) {
        int is_right = before(&from[right], &from[left]);
        *to++ = from[is_right ? right : left];
        right += is_right;
        left += !is_right;
    }
    memcpy(to, &from[left], (size_t)(left_end - left) * sizeof *to);
    memcpy(to + (left_end - left), &from[right], (size_t)(count - right) * sizeof *to);
}

/* Returns where its first timer stands then. */
static struct hora__timer_slot *sort(struct hora__far_batch *batch)
{
    struct hora__timer_slot scratch[HORA__FAR_BATCH];
    struct hora__timer_slot *from = batch->slots;
    struct hora__timer_slot *to = scratch;
    for (int i = 0; i < HORA__FAR_BATCH; i += SHORT)
        sort_short(&from[i], least(HORA__FAR_BATCH - i, SHORT));
    for (int width = SHORT; width < HORA__FAR_BATCH; width *= 2) {
        for (int i = 0; i < HORA__FAR_BATCH; i += 2 * width)
            merge(&from[i], width, least(HORA__FAR_BATCH - i, 2 * width), &to[i]);
        struct hora__timer_slot *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != batch->slots)
        memcpy(batch->slots, from, sizeof batch->slots);
    batch->end.mark = NULL;
    return batch->slots;
}

/* ---- heads ---- */

static void rise(struct hora__far_batches *far, int i, struct hora__far_head head)
{
    HORA__TOUCH(1);
    for (; i > 0 && head.due < far->heads[(i - 1) / 2].due; i = (i - 1) / 2) {
        HORA__TOUCH(1);
        far->heads[i] = far->heads[(i - 1) / 2];
    }
    far->heads[i] = head;
}

/* Fill the hole at i. What comes there stood last, or is the next of a batch: it belongs far below, mostly. So the hole goes down to a leaf
 * first, by one comparison a step, and the head rises from there, or, if it stood in another branch, above i. */
static void fill(struct hora__far_batches *far, int i, struct hora__far_head head)
{
    struct hora__far_head *heads = far->heads;
    for (int child; (child = 2 * i + 1) < far->head_count; i = child) {
        HORA__TOUCH(2);
        if (child + 1 < far->head_count)
            child += heads[child + 1].due < heads[child].due;
        heads[i] = heads[child];
    }
    rise(far, i, head);
}

static void remove_head(struct hora__far_batches *far, int i)
{
    struct hora__far_head last = far->heads[--far->head_count];
    if (i < far->head_count)
        fill(far, i, last);
}

static bool make_room(struct hora__far_batches *far)
{
    if (far->head_count < far->head_capacity)
        return true;
    int capacity = far->head_capacity > 0 ? 2 * far->head_capacity : LEAST_HEADS;
    struct hora__far_head *heads = hora__alloc((size_t)capacity, sizeof *heads);
    if (heads == NULL)
        return false;
    HORA__TOUCH_PREPAID(far->head_count);
    if (far->head_count > 0)
        memcpy(heads, far->heads, (size_t)far->head_count * sizeof *heads);
    hora__free(far->heads);
    far->heads = heads;
    far->head_capacity = capacity;
    return true;
}

static void find_first(struct hora__far_batches *far)
{
    int64_t first = far->head_count > 0 ? far->heads[0].due : INT64_MAX;
    far->first = far->open != NULL && far->open_first < first ? far->open_first : first; /* I3 */
}

/* ---- coming ---- */

static bool open_batch(struct hora__far_batches *far)
{
    far->open = make_room(far) ? hora__alloc_dirty(sizeof *far->open) : NULL; /* I2 */
    far->open_first = INT64_MAX;
    far->open_count = 0;
    return far->open != NULL;
}

/* It is full. */
static void close_batch(struct hora__far_batches *far)
{
    struct hora__timer_slot *first = &far->open->first;
    *first = (struct hora__timer_slot){.due = far->open_first, .mark = NULL};
    far->open = NULL;
    rise(far, far->head_count++, (struct hora__far_head){first->due, first});
}

bool hora__far_add(struct hora__far_batches *far, struct hora__timer_node *timer, int64_t due)
{
    if (far->open == NULL && !open_batch(far))
        return false;
    far->open->slots[far->open_count++] = (struct hora__timer_slot){.due = due, .mark = (char *)timer + 1};
    far->size++;
    if (due < far->open_first)
        far->open_first = due;
    if (far->open_count == HORA__FAR_BATCH)
        close_batch(far);
    find_first(far);
    return true;
}

/* ---- going ---- */

/* The timers of a batch that are there. */
struct stretch {
    struct hora__far_batch *batch;
    struct hora__timer_slot *begin;
    int count;
};

static struct stretch stretch_of(const struct hora__far_head *head)
{
    if (is_no_timer(head->place)) {
        struct hora__far_batch *batch = unsorted_at(head->place);
        return (struct stretch){batch, batch->slots, HORA__FAR_BATCH};
    }
    struct hora__timer_slot *end = head->place;
    while (!is_no_timer(end))
        end++;
    HORA__TOUCH(end - head->place);
    return (struct stretch){batch_by_end(end), head->place, (int)(end - head->place)};
}

/* It is not in heads any more. Returns how many they are. */
static int leave_as_whole(struct hora__far_batches *far, struct stretch stretch, struct hora__timer_slot *slots)
{
    HORA__TOUCH(stretch.count);
    memcpy(slots, stretch.begin, (size_t)stretch.count * sizeof *slots);
    hora__free(stretch.batch);
    far->size -= stretch.count;
    return stretch.count;
}

/* The memory is for more than four times as many. */
static bool is_wasteful(const struct hora__far_batches *far)
{
    return (int64_t)far->head_count * HORA__FAR_BATCH > 4 * ((int64_t)far->size + HORA__FAR_BATCH);
}

static bool has_few(const struct hora__far_head *head)
{
    int count = 0;
    while (count <= FEW && !is_no_timer(head->place + count))
        count++;
    HORA__TOUCH(count);
    return !is_no_timer(head->place) && count <= FEW;
}

/* Now and then, look at one batch: if it has few timers it leaves. Returns how many they are. */
static int tidy(struct hora__far_batches *far, struct hora__timer_slot *slots)
{
    if (far->size % NOW_AND_THEN != 0 || !is_wasteful(far))
        return 0;
    far->swept = far->swept + 1 < far->head_count ? far->swept + 1 : 0;
    if (!has_few(&far->heads[far->swept]))
        return 0;
    struct stretch stretch = stretch_of(&far->heads[far->swept]);
    remove_head(far, far->swept);
    return leave_as_whole(far, stretch, slots);
}

/* The first of heads[0] leaves. */
static void take_one(struct hora__far_batches *far, struct hora__timer_slot *ret_slot)
{
    struct hora__timer_slot *place = far->heads[0].place;
    if (is_no_timer(place))
        place = sort(unsorted_at(place));
    *ret_slot = *place++;
    far->size--;
    if (is_no_timer(place)) {
        remove_head(far, 0);
        hora__free(batch_by_end(place));
        return;
    }
    /* It will be the first of all when about as many have left as there are batches: time to fetch it, and those behind it. */
    __builtin_prefetch(hora__slot_node(*place));
    __builtin_prefetch(place + 4);
    fill(far, 0, (struct hora__far_head){place->due, place});
    __builtin_prefetch(far->heads[0].place); /* the next, likely */
}

int hora__far_take(struct hora__far_batches *far, struct hora__timer_slot *slots)
{
    int count = 0;
    if (far->open != NULL && far->open_first <= far->first) {
        count = leave_as_whole(far, (struct stretch){far->open, far->open->slots, far->open_count}, slots);
        far->open = NULL;
    } else if (far->head_count > 0) {
        take_one(far, slots);
        count = 1 + tidy(far, slots + 1);
    }
    find_first(far);
    return count;
}

void hora__far_free(struct hora__far_batches *far)
{
    assert(far->size == 0);
    hora__free(far->heads);
    far->heads = NULL;
    far->head_capacity = 0;
}

/* ---- checking ---- */

static bool check_stretch(struct stretch stretch, bool is_sorted, int64_t first, int *size)
{
    int64_t least_due = INT64_MAX;
    for (int i = 0; i < stretch.count; i++) {
        least_due = stretch.begin[i].due < least_due ? stretch.begin[i].due : least_due;
        if (is_sorted && i > 0 && !before(&stretch.begin[i - 1], &stretch.begin[i]))
            return false;
    }
    *size += stretch.count;
    return stretch.count > 0 && least_due == first;
}

bool hora__far_check(const struct hora__far_batches *far)
{
    int size = 0;
    int64_t first = INT64_MAX;
    for (int i = 0; i < far->head_count; i++) {
        const struct hora__far_head *head = &far->heads[i];
        if ((i > 0 && head->due < far->heads[(i - 1) / 2].due) ||
            !check_stretch(stretch_of(head), !is_no_timer(head->place), head->due, &size))
            return false; /* I1, I2 */
        first = head->due < first ? head->due : first;
    }
    if (far->open != NULL) {
        struct stretch stretch = {far->open, far->open->slots, far->open_count};
        if (far->head_count >= far->head_capacity || !check_stretch(stretch, false, far->open_first, &size))
            return false; /* I2 */
        first = far->open_first < first ? far->open_first : first;
    }
    return size == far->size && first == far->first; /* I3 */
}
