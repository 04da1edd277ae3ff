/* SPDX-License-Identifier: Apache-2.0 */
/* objects.c - the objects and futures that all threads share
 *
 * A table has some slots for each kind of object. A thread that uses an object has a reference. An object
 * that leaves the table is closed, which ends the waits in it, and one of the program's own threads frees it
 * when the last reference is released. So the rule of the headers is kept: a thread that frees an object is
 * the only one that uses it. */
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "stress.h"

static struct object banks[BANKS][OBJECTS];
static _Atomic int used;
static _Atomic int live;
static int64_t total; /* of the rounds before */

/* In some rounds all threads are at one object, in others at several. */
static const int slot_counts[OBJECT_KINDS] = {3, 3, 5, 2, 1};
static struct slot {
    pthread_mutex_t lock;
    struct object *object;
} table[OBJECT_KINDS][SLOTS_MOST];

static struct {
    pthread_mutex_t lock;
    struct object *first;
} graveyard = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
    pthread_mutex_t lock;
    struct kept kept;
} futures[FUTURES];

/* ---- objects ---- */

static struct slot *slot_random(enum object_kind kind)
{
    return &table[kind][random_below(1 + (uint32_t)(ledger_round() % slot_counts[kind]))];
}

struct object *object_new(enum object_kind kind)
{
    int number = atomic_fetch_add(&used, 1);
    if (number >= OBJECTS) {
        round_end();
        return NULL;
    }
    struct object *object = &banks[ledger_round() % BANKS][number];
    memset(object, 0, sizeof *object);
    object->kind = kind;
    object->number = number;
    atomic_store(&object->refs, 1);
    atomic_fetch_add(&live, 1);
    return object;
}

void objects_next_round(void)
{
    total += atomic_load(&used) < OBJECTS ? atomic_load(&used) : OBJECTS;
    atomic_store(&used, 0);
}

struct object *object_get(enum object_kind kind)
{
    struct slot *slot = slot_random(kind);
    (void)pthread_mutex_lock(&slot->lock);
    struct object *object = slot->object;
    if (object != NULL)
        atomic_fetch_add(&object->refs, 1);
    (void)pthread_mutex_unlock(&slot->lock);
    return object;
}

void object_put(struct object *object)
{
    if (atomic_fetch_sub(&object->refs, 1) > 1)
        return;
    (void)pthread_mutex_lock(&graveyard.lock);
    object->next = graveyard.first;
    graveyard.first = object;
    (void)pthread_mutex_unlock(&graveyard.lock);
}

/* No thread may wait in it for ever: threads that wait have a reference. */
static void retire(struct object *object)
{
    if (object->kind == OBJECT_QUEUE)
        queue_retire(object);
    else if (object->kind != OBJECT_GROUP)
        pool_retire(object);
    object_put(object);
}

static void exchange(struct slot *slot, struct object *object)
{
    (void)pthread_mutex_lock(&slot->lock);
    struct object *before = slot->object;
    slot->object = object;
    (void)pthread_mutex_unlock(&slot->lock);
    if (before != NULL)
        retire(before);
}

void object_publish(struct object *object)
{
    if (round_is_over()) {
        retire(object);
        return;
    }
    exchange(slot_random(object->kind), object);
}

void objects_retire(enum object_kind kind)
{
    for (int i = 0; i < slot_counts[kind]; i++)
        exchange(&table[kind][i], NULL);
}

bool objects_reap(void)
{
    (void)pthread_mutex_lock(&graveyard.lock);
    struct object *object = graveyard.first;
    if (object != NULL)
        graveyard.first = object->next;
    (void)pthread_mutex_unlock(&graveyard.lock);
    if (object == NULL)
        return false;
    if (object->kind == OBJECT_QUEUE)
        queue_reap(object);
    else if (object->kind == OBJECT_GROUP)
        group_reap(object);
    else
        pool_reap(object);
    atomic_fetch_sub(&live, 1);
    return true;
}

int64_t objects_total(void)
{
    return total;
}

int objects_live(void)
{
    return atomic_load(&live);
}

/* ---- futures ---- */

/* Every task of this program has its record as argument. */
struct record *record_of(hora_future *future)
{
    const hora_task *task = hora_future_task(future);
    return task != NULL && task->run == record_run ? task->arg : NULL;
}

/* Checks that the answers of a future agree with what has happened to its task. */
void future_judge(struct kept kept)
{
    struct record *record = kept.record;
    if (record == NULL || record->kind != KIND_TASK || !hora_future_is_done(kept.future))
        return;
    hora_future_state state = hora_future_get_state(kept.future);
    int runs = atomic_load_explicit(&record->runs, memory_order_relaxed);
    if (state == HORA_FUTURE_SUCCEEDED && runs == 0)
        violation(record, "the future has succeeded, but the task never ran");
    if (state == HORA_FUTURE_SUCCEEDED && hora_future_failure(kept.future) != 0)
        violation(record, "the future has succeeded, and has a failure code");
    if (state == HORA_FUTURE_FAILED && hora_future_failure(kept.future) == BODY_FAILURE && runs == 0)
        violation(record, "the future has a code of the body, but the task never ran");
}

void future_keep(hora_future *future, struct record *record)
{
    uint32_t index = random_below(FUTURES);
    struct kept before = {future, record};
    if (!round_is_over()) {
        (void)pthread_mutex_lock(&futures[index].lock);
        before = futures[index].kept;
        futures[index].kept = (struct kept){future, record};
        (void)pthread_mutex_unlock(&futures[index].lock);
    }
    if (before.future == NULL)
        return;
    future_judge(before);
    (void)hora_future_unref(before.future);
}

struct kept future_borrow(void)
{
    uint32_t index = random_below(FUTURES);
    (void)pthread_mutex_lock(&futures[index].lock);
    struct kept kept = futures[index].kept;
    (void)hora_future_ref(kept.future);
    (void)pthread_mutex_unlock(&futures[index].lock);
    return kept;
}

void futures_clear(void)
{
    for (int i = 0; i < FUTURES; i++) {
        (void)pthread_mutex_lock(&futures[i].lock);
        struct kept kept = futures[i].kept;
        futures[i].kept = (struct kept){NULL, NULL};
        (void)pthread_mutex_unlock(&futures[i].lock);
        if (kept.future == NULL)
            continue;
        if (one_in(2) && kept.record != NULL) {
            atomic_store_explicit(&kept.record->excused, 1, memory_order_relaxed);
            (void)record_cancelled(kept.record, hora_future_cancel(kept.future, one_in(2)));
        }
        future_judge(kept);
        (void)hora_future_unref(kept.future);
    }
}
