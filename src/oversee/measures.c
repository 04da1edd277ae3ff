/* SPDX-License-Identifier: Apache-2.0 */
/* measures.c - what is counted and measured, by those who do it; see measures.h
 *
 * Invariants        I1 sheets have one writer: the worker that has taken them.
 *                   I2 sheets, once listed, stay so until the oversight ends. */
#include "oversee/measures.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "sched/crew.h"
#include "sched/scheduled.h"
#include "sys/alloc.h"

/* ---- beginning and end ---- */

int hora__measures_new(struct hora__oversight *oversight, struct hora__measures **ret_measures)
{
    struct hora__measures *measures = hora__alloc(1, sizeof *measures);
    if (measures == NULL)
        return HORA_ENOMEM;
    int error = hora__names_init(&measures->names, oversight->options.names);
    if (error == 0) {
        error = hora__mutex_init(&measures->lock, HORA__RANK_NAMES);
        if (error < 0)
            hora__names_destroy(&measures->names);
    }
    if (error < 0) {
        hora__free(measures);
        return error;
    }
    measures->measured = oversight->options.measured;
    hora__atomic_pointer_init(&measures->first, NULL);
    *ret_measures = measures;
    return 0;
}

static void free_sheets(struct hora__sheets *sheets, int room)
{
    for (int i = 0; i < room; i++)
        hora__free(hora__atomic_pointer_load(&sheets->by_name[i]));
    hora__free(sheets);
}

void hora__measures_free(struct hora__measures *measures)
{
    if (measures == NULL)
        return;
    struct hora__sheets *sheets = hora__atomic_pointer_load(&measures->first);
    while (sheets != NULL) {
        struct hora__sheets *next = sheets->next;
        assert(!sheets->is_taken);
        free_sheets(sheets, hora__names_room(&measures->names));
        sheets = next;
    }
    hora__mutex_destroy(&measures->lock);
    hora__names_destroy(&measures->names);
    hora__free(measures);
}

/* ---- sheets ---- */

/* NULL: there is no memory. */
static struct hora__sheets *new_sheets(struct hora__measures *measures)
{
    size_t room = (size_t)hora__names_room(&measures->names);
    struct hora__sheets *sheets = hora__alloc(1, sizeof *sheets + room * sizeof sheets->by_name[0]);
    struct hora__sheet *sheet = sheets != NULL ? hora__alloc(1, sizeof *sheet) : NULL;
    if (sheet == NULL) {
        hora__free(sheets);
        return NULL;
    }
    hora__atomic_pointer_init(&sheets->by_name[0], sheet); /* that for all that finds no other is always there */
    sheets->is_taken = true;
    return sheets;
}

/* NULL: all are taken. */
static struct hora__sheets *take_left_locked(struct hora__measures *measures)
{
    struct hora__sheets *sheets = hora__atomic_pointer_load(&measures->first);
    while (sheets != NULL && sheets->is_taken && !HORA__FAULT(SHEETS_SHARED))
        sheets = sheets->next;
    if (sheets != NULL)
        sheets->is_taken = true; /* I1 */
    return sheets;
}

int hora__sheets_take(struct hora__measures *measures, struct hora__sheets **ret_sheets)
{
    *ret_sheets = NULL;
    if (!measures->measured)
        return 0;
    hora__mutex_lock(&measures->lock);
    *ret_sheets = take_left_locked(measures);
    hora__mutex_unlock(&measures->lock);
    if (*ret_sheets != NULL)
        return 0;
    struct hora__sheets *sheets = new_sheets(measures);
    if (sheets == NULL)
        return HORA_ENOMEM;
    hora__mutex_lock(&measures->lock);
    sheets->next = hora__atomic_pointer_load(&measures->first);
    HORA__ORDER_FAULT(SHEETS_ADDED_RELAXED, memory_order_relaxed);
    (void)hora__atomic_pointer_cas(&measures->first, sheets->next, sheets); /* I2 */
    hora__mutex_unlock(&measures->lock);
    *ret_sheets = sheets;
    return 0;
}

void hora__sheets_leave(struct hora__measures *measures, struct hora__sheets *sheets)
{
    if (sheets == NULL)
        return;
    hora__mutex_lock(&measures->lock);
    assert(sheets->is_taken); /* I1 */
    sheets->is_taken = false;
    if (HORA__FAULT(SHEETS_LOST) && hora__atomic_pointer_load(&measures->first) == sheets)
        (void)hora__atomic_pointer_cas(&measures->first, sheets, sheets->next);
    hora__mutex_unlock(&measures->lock);
}

/* Made at the first use of a name; without memory for it, that of all that finds no other. */
static struct hora__sheet *sheet_of(struct hora__sheets *sheets, int index)
{
    struct hora__sheet *sheet = hora__atomic_pointer_load(&sheets->by_name[index]);
    if (__builtin_expect(sheet != NULL, true))
        return sheet;
    sheet = hora__alloc(1, sizeof *sheet);
    if (sheet == NULL)
        return hora__atomic_pointer_load(&sheets->by_name[0]);
    (void)hora__atomic_pointer_cas(&sheets->by_name[index], NULL, sheet);
    return sheet;
}

/* ---- around a run ---- */

static hora_ns at_least_zero(hora_ns time)
{
    return time > 0 ? time : 0;
}

/* How long after its planned time it is now, by the clock that it follows. */
static hora_ns lateness(hora_future *future)
{
    bool is_member = future->kind == HORA__FUTURE_MEMBER;
    struct hora__scheduled *scheduled = hora__scheduled_of(is_member ? hora__crew_series(future) : future);
    if (scheduled == NULL)
        return -1;
    hora__mutex_lock(&scheduled->queue->object.lock);
    hora_ns planned = scheduled->planned;
    hora__mutex_unlock(&scheduled->queue->object.lock);
    if (is_member)
        planned = hora__crew_planned(future);
    hora_ns now = hora__agenda_now(scheduled->queue, hora__scheduled_line(scheduled));
    return at_least_zero(hora__ns_sub(now, hora__ns_add(planned, hora__scheduled_offset(scheduled))));
}

/* < 0: it is not scheduled. Only schedulers have such, and they do not count ticks. */
static hora_ns late_now(const struct hora__post *post, hora_future *future, int64_t now)
{
    if (post->oversight->pool->kind == NULL)
        return -1;
    return future != NULL ? lateness(future) : at_least_zero(hora__ns_sub(now, post->witness.came));
}

struct hora__start hora__measures_begins(struct hora__post *post, struct hora__frame *frame, hora_future *future,
                                         const hora_task *task, int64_t now)
{
    const struct hora__name *name = hora__names_get(&post->oversight->measures->names, task->name);
    struct hora__start start = {.name = name->text, .waited = -1, .late = -1};
    if (!post->oversight->base.measures)
        return start;
    start.late = late_now(post, future, now);
    start.waited = start.late;
    if (start.late < 0 && post->witness.came != HORA_NEVER)
        start.waited = at_least_zero(now - post->witness.came);
    if (post->sheets == NULL)
        return start;
    struct hora__sheet *sheet = sheet_of(post->sheets, name->index);
    frame->sheet = sheet;
    hora__counter_add_alone_publish(&sheet->started, 1);
    if (start.waited >= 0)
        hora__histogram_record(&sheet->times[HORA_METRIC_WAIT], start.waited);
    if (start.late >= 0)
        hora__histogram_record(&sheet->times[HORA_METRIC_LATENESS], start.late);
    return start;
}

const char *hora__measures_begins_alone(struct hora__post *post, struct hora__frame *frame, const hora_task *task,
                                        int64_t now)
{
    const struct hora__name *name = hora__names_get(&post->oversight->measures->names, task->name);
    if (post->sheets == NULL)
        return name->text;
    frame->sheet = sheet_of(post->sheets, name->index);
    hora__counter_add_alone_publish(&frame->sheet->started, 1);
    hora__histogram_record(&frame->sheet->times[HORA_METRIC_WAIT], at_least_zero(now - post->witness.came));
    return name->text;
}

void hora__measures_ended(struct hora__frame *frame, int code, int64_t ran)
{
    struct hora__sheet *sheet = frame->sheet;
    HORA__ORDER_FAULT(MEASURES_ENDED_RELAXED, memory_order_relaxed);
    hora__counter_add_alone_publish(code == 0 ? &sheet->done : &sheet->failed, 1);
    hora__histogram_record(&sheet->times[HORA_METRIC_RUN], ran); /* after it: what is measured counts as ended */
}

/* ---- by anyone ---- */

static void tally(struct hora__oversight *oversight, const char *name, enum hora__tally tally, int64_t count)
{
    if (oversight->options.measured)
        hora__counter_add_publish(&hora__names_get(&oversight->measures->names, name)->tallies[tally], count);
}

void hora__measures_mishap(struct hora__oversight *oversight, const char *name, enum hora__mishap mishap, int64_t count)
{
    if (!oversight->options.measured)
        return;
    hora__counter *counter = &hora__names_get(&oversight->measures->names, name)->tallies[mishap];
    int64_t before = hora__counter_read(counter);
    hora__counter_add(counter, hora__ns_add(before, count) - before); /* there may be too many to count */
}

void hora__measures_submitted(struct hora__overseer *overseer, const char *name, int by)
{
    tally(hora__oversight_of(overseer), name, HORA__TALLY_SUBMITTED, by);
}

void hora__measures_cancelled(struct hora__overseer *overseer, const char *name)
{
    tally(hora__oversight_of(overseer), name, HORA__TALLY_CANCELLED, 1);
}
