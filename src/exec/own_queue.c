/* SPDX-License-Identifier: Apache-2.0 */
/* own_queue.c - inserting into, popping from and stealing from the own queue of a worker; see own_queue.h */
#include "exec/own_queue.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/fault.h"

int hora__own_init(struct hora__own_queue *own)
{
    assert(own->segment == NULL && own->end == 0);
    return hora__mutex_init(&own->lock, HORA__RANK_OWN);
}

/* Restores I1 after a task was removed. */
static void reset_if_empty(struct hora__own_queue *own)
{
    assert(hora__mutex_held(&own->lock) && own->first <= own->end);
    if (own->first == own->end)
        own->first = own->end = 0;
}

/* Moves the entries from index `from` to `end` so that they begin at `to`, which is lower. */
static void move_down(struct hora__own_queue *own, int to, int from)
{
    assert(to >= 0 && to < from && from <= own->end);
    struct hora__segment *segment = own->segment;
    size_t count = (size_t)(own->end - from);
    HORA__TOUCH((int)count);
    memmove(&segment->slots[to], &segment->slots[from], count * sizeof *segment->slots);
    memmove(&segment->came[to], &segment->came[from], count * sizeof *segment->came);
    own->end -= from - to;
}

/* Moves all tasks to the beginning of the segment. */
static void compact(struct hora__own_queue *own)
{
    assert(hora__mutex_held(&own->lock));
    if (own->first == 0)
        return;
    move_down(own, 0, own->first);
    own->first = 0;
}

bool hora__own_accepts(const struct hora__own_queue *own, const struct hora__offer *offer)
{
    assert(hora__mutex_held(&own->lock) && (offer->task != NULL || offer->item != NULL));
    if (own->is_closed)
        return false;
    if (offer->task == NULL)
        return true;
    if (own->is_shown && !HORA__FAULT(OWN_SHOWN_TOO_SOON))
        return false;
    return hora__atomic_load(offer->control) < offer->closed || HORA__FAULT(OWN_CLOSED_UNSEEN);
}

/* The form of a detached task. An empty segment whose forms are used up begins anew. Returns 0 if there is no
 * room for the form. */
static int form_of(struct hora__own_queue *own, const hora_task *task)
{
    assert(hora__mutex_held(&own->lock) && task->run != NULL);
    int form = hora__segment_form(own->segment, task, own->form);
    if (form == 0 && own->end == 0) {
        hora__segment_clear_forms(own->segment);
        form = hora__segment_form(own->segment, task, 0);
    }
    return form;
}

bool hora__own_insert(struct hora__own_queue *own, const struct hora__offer *offer)
{
    assert(hora__mutex_held(&own->lock) && !own->is_closed);
    struct hora__segment *segment = own->segment;
    if (segment == NULL)
        return false;
    if (own->end == HORA__SLOTS && own->first > HORA__SLOTS / 2)
        compact(own);
    int form = 0;
    if (own->end == HORA__SLOTS || (offer->task != NULL && (form = form_of(own, offer->task)) == 0))
        return false;
    if (form > 0)
        own->form = (short)form;
    int index = own->end++;
    bool stamped = form > 0 && offer->came != 0;
    HORA__WEAK_PLAIN_WRITE(&segment->slots[index]);
    segment->slots[index] = (struct hora__slot){
        .value = form > 0 ? offer->task->arg : offer->item, .form = (short)form, .stamped = stamped};
    if (stamped)
        segment->came[index] = offer->came;
    HORA__TOUCH(1);
    hora__counter_add_alone(&own->branch.accepted, 1);
    return true;
}

void *hora__own_take_oldest(struct hora__own_queue *own, struct hora__taken *ret_taken)
{
    assert(hora__mutex_held(&own->lock) && hora__own_size(own) > 0);
    void *item = hora__segment_read(own->segment, own->first, ret_taken);
    hora__own_drop_oldest(own);
    return item;
}

void hora__own_drop_oldest(struct hora__own_queue *own)
{
    assert(hora__mutex_held(&own->lock) && hora__own_size(own) > 0);
    HORA__TOUCH(1);
    own->first++;
    reset_if_empty(own);
}

struct hora__segment *hora__own_exchange(struct hora__own_queue *own, struct hora__segment *other,
                                         int *ret_count)
{
    assert(hora__mutex_held(&own->lock) && (other == NULL || other->holders == 0));
    struct hora__segment *segment = own->segment;
    compact(own);
    *ret_count = own->end;
    if (other != NULL) {
        other->next = NULL;
        hora__segment_clear_forms(other);
    }
    own->segment = other;
    own->first = own->end = own->form = 0;
    return segment;
}

void *hora__own_pop(struct hora__own_queue *own, struct hora__taken *ret_taken)
{
    assert(!hora__mutex_held(&own->lock));
    void *item = NULL;
    hora__mutex_lock_as(&own->lock, HORA__RANK_OWN);
    if (own->end > own->first) {
        item = hora__segment_read(own->segment, own->end - 1, ret_taken);
        if (HORA__FAULT(OWN_POPS_IN_TWO_STEPS)) {
            hora__mutex_unlock(&own->lock);
            hora__mutex_lock(&own->lock);
        }
        HORA__TOUCH(1);
        own->end -= own->end > 0; /* 0 only with the planted fault */
        reset_if_empty(own);
    }
    hora__mutex_unlock_as(&own->lock, HORA__RANK_OWN);
    return item;
}

bool hora__own_remove(struct hora__own_queue *own, const void *item)
{
    assert(!hora__mutex_held(&own->lock) && item != NULL);
    hora__mutex_lock(&own->lock);
    int index = own->end - 1;
    while (index >= own->first &&
           (own->segment->slots[index].value != item || own->segment->slots[index].form > 0)) {
        HORA__TOUCH(1);
        index--;
    }
    bool found = index >= own->first && own->end > 0;
    if (found)
        move_down(own, index, index + 1);
    reset_if_empty(own);
    hora__mutex_unlock(&own->lock);
    return found;
}
