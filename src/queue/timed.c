/* SPDX-License-Identifier: Apache-2.0 */
/* timed.c - the delay queue whose due times are given when putting
 *
 * How it works      Elements that nobody waits for yet are posted into the inbox, under a lock of its own, so that those who put and
 *                   those who take do not meet. The container, under the queue's lock, has what was absorbed from there; it
 *                   is a store of runs (base/runs.h), and a run is what the inbox consists of, too, so that absorbing moves no
 *                   elements unless there are few.
 *                   Who takes reads the clock only if the first element is not due by the last reading. Everything in the
 *                   inbox is due later than that: two words say so. `soonest` is the least due time in the inbox; `limit` is
 *                   what may not stand there: nothing that is due before it.
 *
 *                       who puts, with the inbox's lock          who takes, with the queue's lock
 *                       soonest := due, if that is less          limit := the time just read, and one
 *                       due < limit? -> soonest as it was;       soonest < limit? -> absorb
 *                           through the queue's lock instead     take what is due by that reading
 *
 *                   Each writes its own word before it reads the other's: so either the one who takes sees the element, or the
 *                   one who puts sees the limit. While takers wait, the limit is the time until which they sleep (guard), and so
 *                   whoever brings something sooner passes through the queue's lock, and wakes the leader. What is posted needs
 *                   nothing more: once it is in the inbox, the one who put it does not touch the queue again, which
 *                   the one who takes may free.
 * Order             Sequences are given out under the inbox's lock, for elements that go another way as well. So equal ones leave
 *                   in the order in which they came.
 * Few elements      leave the inbox one by one, so that a run is not wasted on them.
 * Memory            Runs that have been emptied are kept for those to come: up to MOST. Each time that nothing is left, one of PARTS
 *                   parts of what is beyond KEPT is freed. Absorbing cannot fail: heads[] always has room for a full inbox.
 * Invariants        With both locks free:
 *                   I1 what is in the inbox is due at `soonest` or later, and soonest >= limit.
 *                   I2 limit > reading; and, while takers wait, limit is not before the leader wakes up, or, without one, the
 *                      first element is due.
 *                   I3 queue->size == runs.size.
 *                   I4 heads[] has room for RESERVED runs, or the inbox for no element.
 *                   I5 the descriptor, and a closed queue, want to know of everything: then the inbox is shut. */
#include "queue/timed.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "base/runs.h"
#include "sync/clock.h"
#include "sys/alloc.h"

enum {
    INBOX_MOST = 64 * HORA__RUN_LENGTH, /* elements in the inbox: what one absorption may have to look at */
    RESERVED = INBOX_MOST / HORA__RUN_LENGTH + 1,
    KEPT = HORA__KEPT(4, 1),
    MOST = HORA__KEPT(2048, 2),
    PARTS = 8,
    RESTS_FROM = offsetof(struct hora__run, first), /* what is before is the link of those that are kept */
};

struct timed {
    struct hora_queue base;
    hora_ns reading; /* what the clock showed last; at first the beginning of time */
    hora_ns shown;   /* what `limit` says, for those who have the queue's lock */
    bool is_steady;  /* the clock is never set back */
    bool is_shut;    /* what `shut` says */
    bool has_room;   /* what inbox_room says */
    struct hora__runs runs;

    /* The two words; apart, since they are written while others use what is before and after. */
    char apart[HORA__CACHE_LINE];
    hora__atomic64 limit;   /* written under the queue's lock */
    hora__atomic64 soonest; /* written under the inbox's lock */
    char apart_too[HORA__CACHE_LINE];

    /* The inbox, guarded by a lock of its own. */
    hora__mutex inbox_lock; /* rank INBOX */
    bool shut;
    int inbox_size;
    int inbox_room;        /* how many may be in it */
    hora_ns inbox_soonest; /* what `soonest` says */
    struct hora__run *inbox_first;
    struct hora__run *inbox_last;
    uint64_t next_sequence;
    struct hora__run *spares;
    int spare_count;
};

static struct timed *timed_of(hora_queue *queue)
{
    return HORA__LIST_ENTRY(queue, struct timed, base);
}

/* ---- runs; under the inbox's lock ---- */

static struct hora__run *take_spare_locked(struct timed *timed)
{
    struct hora__run *run = timed->spares;
    if (run != NULL) {
        hora__memory_wakes((char *)run + RESTS_FROM, sizeof *run - RESTS_FROM);
        timed->spares = run->next;
        timed->spare_count--;
    }
    return run;
}

/* NULL: there is no memory. */
static struct hora__run *new_run_locked(struct timed *timed)
{
    struct hora__run *run = take_spare_locked(timed);
    if (run == NULL)
        run = hora__alloc_dirty(sizeof *run);
    if (run != NULL)
        hora__run_init(run);
    return run;
}

static void give_back_locked(struct timed *timed, struct hora__run *run)
{
    if (timed->spare_count == (hora__keeps_memory() ? MOST : 1)) {
        hora__free(run);
        return;
    }
    run->next = timed->spares;
    hora__memory_rests((char *)run + RESTS_FROM, sizeof *run - RESTS_FROM);
    timed->spares = run;
    timed->spare_count++;
}

static void give_back(struct timed *timed, struct hora__run *run)
{
    hora__mutex_lock(&timed->inbox_lock);
    give_back_locked(timed, run);
    if (timed->runs.size == 0 && timed->spare_count > KEPT)
        for (int excess = (timed->spare_count - KEPT + PARTS - 1) / PARTS; excess > 0; excess--)
            hora__free(take_spare_locked(timed));
    hora__mutex_unlock(&timed->inbox_lock);
}

/* ---- growing the container ---- */

/* Room for so many runs, and RESERVED more: I4. */
static int make_room(struct timed *timed, int runs)
{
    int needed = timed->runs.head_count + runs + RESERVED;
    if (needed <= timed->runs.head_capacity)
        return 0;
    int capacity =
        needed + needed / 2; /* of a run for every HORA__RUN_IS_WORTH_IT elements, at the worst: no overflow */
    struct hora__match *memory = hora__alloc((size_t)capacity, sizeof *memory);
    if (memory == NULL)
        return HORA_ENOMEM;
    hora__free(hora__runs_move(&timed->runs, memory, capacity));
    return 0;
}

/* There is room for so many elements outside runs. */
static int make_room_for_singles(struct timed *timed, int count)
{
    if (timed->runs.single_count + count <= HORA__RUNS_MOST_SINGLES)
        return 0;
    hora__mutex_lock(&timed->inbox_lock);
    struct hora__run *run = new_run_locked(timed);
    hora__mutex_unlock(&timed->inbox_lock);
    if (run == NULL)
        return HORA_ENOMEM;
    if (make_room(timed, 1) < 0) {
        give_back(timed, run);
        return HORA_ENOMEM;
    }
    hora__runs_pack(&timed->runs, run);
    return 0;
}

/* ---- the inbox ---- */

/* From here on nothing that is due before comes into the inbox. Whether something that is may be there. */
static bool set_limit(struct timed *timed, hora_ns limit)
{
    bool rises = limit > timed->shown;
    bool too_soon = HORA__FAULT(TIMED_LOOKS_TOO_SOON) && hora__atomic64_load(&timed->soonest) < limit;
    if (limit != timed->shown) {
        timed->shown = limit;
        HORA__ORDER_FAULT(TIMED_LIMIT_UNORDERED, memory_order_acq_rel);
        hora__atomic64_publish(&timed->limit, limit);
    }
    HORA__ORDER_FAULT(TIMED_SOONEST_READ_UNORDERED, memory_order_acq_rel);
    return rises && (HORA__FAULT(TIMED_LOOKS_TOO_SOON) ? too_soon : hora__atomic64_load(&timed->soonest) < limit);
}

static void set_soonest_locked(struct timed *timed, hora_ns soonest)
{
    timed->inbox_soonest = soonest;
    HORA__ORDER_FAULT(TIMED_SOONEST_UNORDERED, memory_order_acq_rel);
    hora__atomic64_publish(&timed->soonest, soonest);
}

/* The last of those that may become one group with this run, which is full. */
static struct hora__run *end_of_group(struct hora__run *run)
{
    for (int i = 1; i < HORA__GROUP_LENGTH && run->next != NULL && hora__run_is_full(run->next); i++)
        run = run->next;
    return run;
}

/* A run of the inbox into the container. Returns it if it is the caller's again. */
static struct hora__run *absorb_run(struct timed *timed, struct hora__run *run)
{
    int count = run->count;
    if (count >= HORA__RUN_IS_WORTH_IT || make_room_for_singles(timed, count) < 0) {
        hora__runs_add(&timed->runs, run);
        return NULL;
    }
    for (int i = 0; i < count; i++)
        hora__runs_push(&timed->runs, &run->entries[i]);
    return run;
}

static struct hora__run *empty_inbox_locked(struct timed *timed)
{
    struct hora__run *chain = timed->inbox_first;
    if (chain == NULL && timed->inbox_soonest == HORA_FOREVER)
        return NULL; /* nothing changes, so those who read `soonest` keep its cache line */
    timed->inbox_first = timed->inbox_last = NULL;
    timed->inbox_size = 0;
    set_soonest_locked(timed, HORA_FOREVER);
    return chain;
}

static void set_room(struct timed *timed)
{
    bool has_room = make_room(timed, 0) == 0 && timed->base.size <= HORA_UNBOUNDED - INBOX_MOST - 1;
    if (has_room == timed->has_room)
        return;
    timed->has_room = has_room;
    hora__mutex_lock(&timed->inbox_lock);
    timed->inbox_room = has_room ? INBOX_MOST : 0; /* I4 */
    hora__mutex_unlock(&timed->inbox_lock);
}

static void absorb_chain(struct timed *timed, struct hora__run *run)
{
    if (run == NULL)
        return;
    while (run != NULL) {
        struct hora__run *last = hora__run_is_full(run) ? end_of_group(run) : run;
        struct hora__run *next = last->next;
        struct hora__run *empty = NULL;
        last->next = NULL;
        if (last != run)
            hora__runs_add_group(&timed->runs, run);
        else
            empty = absorb_run(timed, run);
        if (empty != NULL || (empty = hora__runs_tidy(&timed->runs)) != NULL)
            give_back(timed, empty);
        run = next;
    }
    timed->base.size = timed->runs.size; /* I3 */
    set_room(timed);
}

static void absorb(hora_queue *queue)
{
    struct timed *timed = timed_of(queue);
    assert(hora__mutex_held(&queue->object.lock));
    hora__mutex_lock(&timed->inbox_lock);
    struct hora__run *chain = empty_inbox_locked(timed);
    hora__mutex_unlock(&timed->inbox_lock);
    absorb_chain(timed, chain);
}

/* Whether the element, which is due sooner than all in the inbox, may be there as well. */
static bool may_be_soonest_locked(struct timed *timed, hora_ns due)
{
    hora_ns before = timed->inbox_soonest;
    set_soonest_locked(timed, due); /* before looking at the limit */
    HORA__ORDER_FAULT(TIMED_LIMIT_READ_UNORDERED, memory_order_acq_rel);
    if (due >= hora__atomic64_load(&timed->limit) || HORA__FAULT(TIMED_LIMIT_UNSEEN))
        return true;
    set_soonest_locked(timed, before);
    return false;
}

/* The run that is being filled; NULL: there is no memory. */
static struct hora__run *run_to_fill_locked(struct timed *timed)
{
    struct hora__run *last = timed->inbox_last;
    if (last != NULL && !hora__run_is_full(last))
        return last;
    struct hora__run *run = new_run_locked(timed);
    if (run == NULL)
        return NULL;
    if (last != NULL)
        last->next = run;
    else
        timed->inbox_first = run;
    timed->inbox_last = run;
    return run;
}

enum { NOT_HERE = 1 };

/* 0, NOT_HERE: it must pass through the queue's lock; or HORA_ENOMEM. */
static int post_locked(struct timed *timed, void *item, hora_ns due)
{
    if (timed->shut || timed->inbox_size >= timed->inbox_room)
        return NOT_HERE;
    if (due < timed->inbox_soonest && !may_be_soonest_locked(timed, due))
        return NOT_HERE;
    struct hora__run *run = run_to_fill_locked(timed);
    if (run == NULL)
        return HORA_ENOMEM; /* that `soonest` is too soon now makes the next one look in vain, no more */
    hora__run_append(run, due, timed->next_sequence++, item);
    timed->inbox_size++;
    return 0;
}

static int post(struct timed *timed, void *item, hora_ns due)
{
    hora__mutex_lock(&timed->inbox_lock);
    int error = post_locked(timed, item, due);
    hora__mutex_unlock(&timed->inbox_lock);
    return error;
}

/* I5 */
static void shut(struct timed *timed)
{
    hora__mutex_lock(&timed->inbox_lock);
    timed->shut = true;
    hora__mutex_unlock(&timed->inbox_lock);
    timed->is_shut = true;
}

static void seal(hora_queue *queue)
{
    if (!HORA__FAULT(TIMED_OPEN_AFTER_CLOSE))
        shut(timed_of(queue));
}

/* I2, after all else has been settled. Whether there was something in the inbox, and so all must be settled again. */
static bool guard(hora_queue *queue)
{
    struct timed *timed = timed_of(queue);
    hora_ns until = INT64_MIN;
    if (queue->ready.kind != HORA__READY_NONE && !timed->is_shut && !HORA__FAULT(TIMED_FORGETS_DESCRIPTOR)) {
        shut(timed);
        absorb(queue);
        return true;
    }
    if (queue->leader != NULL)
        until = queue->leader_until;
    else if (!hora__list_is_empty(&queue->takers))
        until = queue->size > 0 ? hora__runs_first(&timed->runs)->due : HORA_FOREVER;
    if (HORA__FAULT(TIMED_SLEEPS_UNGUARDED) || !set_limit(timed, hora__ns_max(until, timed->reading + 1)))
        return false;
    absorb(queue);
    return true;
}

/* ---- taking ---- */

static void read_clock(struct timed *timed)
{
    hora_ns now = hora_clock_now(timed->base.object.clock);
    timed->reading = now == HORA_FOREVER ? HORA_FOREVER - 1 : now; /* what is due then never is */
    if (HORA__FAULT(TIMED_READS_UNGUARDED))
        return;
    if (set_limit(timed, hora__ns_max(timed->shown, timed->reading + 1)))
        absorb(&timed->base);
}

static bool first_is_due(const struct timed *timed)
{
    hora_ns grace = HORA__FAULT(DELAY_GIVES_EARLY) ? 1 : 0;
    return timed->runs.size > 0 && hora__ns_sub(hora__runs_first(&timed->runs)->due, grace) <= timed->reading;
}

static void *pop(hora_queue *queue, struct hora__wakes *wakes)
{
    (void)wakes;
    struct timed *timed = timed_of(queue);
    if (!timed->is_steady || !first_is_due(timed)) {
        read_clock(timed);
        if (!first_is_due(timed))
            return NULL;
    }
    struct hora__run *empty;
    void *item = hora__runs_pop(&timed->runs, &empty);
    queue->size = timed->runs.size;
    if (empty != NULL)
        give_back(timed, empty);
    return item;
}

static hora_ns next_due(hora_queue *queue, uint64_t *ret_element)
{
    const struct hora__head *first = hora__runs_first(&timed_of(queue)->runs);
    *ret_element = first->place->sequence;
    return first->due;
}

/* ---- putting ---- */

/* Who is not told when the element is due takes it for due now. */
static int push(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes)
{
    (void)wakes;
    struct timed *timed = timed_of(queue);
    hora__mutex_lock(&timed->inbox_lock);
    struct hora__run *chain = empty_inbox_locked(timed);
    struct hora__heap_entry entry = {.sequence = timed->next_sequence++, .item = put->item};
    hora__mutex_unlock(&timed->inbox_lock);
    absorb_chain(timed, chain);
    if (queue->size == HORA_UNBOUNDED)
        return HORA_EFULL;
    if (make_room_for_singles(timed, 1) < 0)
        return HORA_ENOMEM;
    if (!timed->has_room)
        set_room(timed);
    entry.due = put->has_due ? put->due : hora_clock_now(queue->object.clock);
    hora__runs_push(&timed->runs, &entry);
    queue->size = timed->runs.size;
    return 0;
}

/* ---- the middle ---- */

static void *peek(hora_queue *queue)
{
    struct timed *timed = timed_of(queue);
    return timed->runs.size > 0 ? hora__runs_peek(&timed->runs) : NULL;
}

static void *strip(hora_queue *queue)
{
    struct timed *timed = timed_of(queue);
    if (timed->runs.size == 0)
        return NULL;
    struct hora__run *empty;
    void *item = hora__runs_strip(&timed->runs, &empty);
    queue->size = timed->runs.size;
    if (empty != NULL)
        give_back(timed, empty);
    return item;
}

static bool find(hora_queue *queue, const void *item, bool remove)
{
    struct timed *timed = timed_of(queue);
    struct hora__run *empty;
    bool found = hora__runs_find(&timed->runs, item, remove, &empty);
    queue->size = timed->runs.size;
    if (empty != NULL)
        give_back(timed, empty);
    return found;
}

static bool is_free(hora_queue *queue)
{
    return hora__mutex_is_free(&timed_of(queue)->inbox_lock);
}

static void copy(hora_queue *queue, void **items, int max)
{
    hora__runs_copy(&timed_of(queue)->runs, items, max);
}

/* ---- making ---- */

static void destroy(hora_queue *queue)
{
    struct timed *timed = timed_of(queue);
    assert(timed->runs.size == 0 && timed->inbox_size == 0);
    struct hora__run *run;
    while ((run = take_spare_locked(timed)) != NULL)
        hora__free(run);
    hora__mutex_destroy(&timed->inbox_lock);
    hora__free(timed->runs.heads);
    hora__free(timed);
}

static const struct hora__queue_inbox inbox = {.collect = absorb, .seal = seal, .is_free = is_free, .guard = guard};

static const struct hora__queue_kind timed_kind = {
    .push = push,
    .pop = pop,
    .peek = peek,
    .strip = strip,
    .find = find,
    .copy = copy,
    .next_due = next_due,
    .destroy = destroy,
    .inbox = &inbox,
    .inserts_always = true,
};

int hora__timed_new(const hora_queue_options *options, hora_queue **ret_queue)
{
    struct timed *timed = hora__alloc(1, sizeof *timed);
    if (timed == NULL)
        return HORA_ENOMEM;
    int error = hora__mutex_init(&timed->inbox_lock, HORA__RANK_INBOX);
    if (error < 0) {
        hora__free(timed);
        return error;
    }
    timed->reading = INT64_MIN;
    timed->shown = timed->reading + 1;
    timed->is_steady = hora__clock_timeline(options->clock) != HORA__WALL;
    hora__atomic64_publish(&timed->limit, timed->shown);
    set_soonest_locked(timed, HORA_FOREVER);
    hora__runs_init(&timed->runs);
    error = make_room(timed, 0);
    if (error == 0)
        error = hora__queue_init(&timed->base, &timed_kind, HORA_UNBOUNDED, options);
    if (error < 0) {
        destroy(&timed->base);
        return error;
    }
    timed->has_room = true;
    timed->inbox_room = INBOX_MOST;
    *ret_queue = &timed->base;
    return 0;
}

/* ---- the public calls ---- */

int hora_queue_put_at(hora_queue *queue, void *item, hora_ns due)
{
    if (queue == NULL || queue->kind != &timed_kind || item == NULL)
        return HORA_EINVAL;
    int error = hora__queue_check(queue);
    if (error == 0)
        error = post(timed_of(queue), item, due);
    if (error != NOT_HERE)
        return error;
    struct hora__put put = {.item = item, .due = due, .has_due = true};
    return hora__queue_put_now(queue, &put);
}

int hora_queue_put_delayed(hora_queue *queue, void *item, hora_ns delay)
{
    if (queue == NULL || queue->kind != &timed_kind || item == NULL)
        return HORA_EINVAL;
    return hora_queue_put_at(queue, item, hora__clock_deadline(queue->clock, delay));
}
