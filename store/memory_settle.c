/* SPDX-License-Identifier: Apache-2.0 */
/* memory_settle.c - a store in memory: what becomes of claimed firings; see memory.h */
#include "memory.h"

#include <assert.h>
#include <stdlib.h>

#include "fault.h"
#include "reason.h"
#include "units.h"

/* Memory that one settlement needs, allocated before the first is carried out. */
typedef struct settle_supply {
    hora__row *row;              /* FORK */
    hora__memory_record *record; /* history */
} settle_supply;

static bool wants_record(const hora__settle *settle)
{
    return settle->history && settle->outcome != 0;
}

static void free_supplies(hora__memory *memory, settle_supply *supplies, size_t count)
{
    for (size_t i = 0; supplies != NULL && i < count; i++) {
        hora__row_free(memory, supplies[i].row);
        hora__record_drop(supplies[i].record);
    }
    free(supplies);
}

/* NULL: no memory. */
static settle_supply *allocate_supplies(hora__memory *memory, const hora__settle *settles, size_t count)
{
    settle_supply *supplies = calloc(count > 0 ? count : 1, sizeof *supplies);
    bool complete = supplies != NULL && hora__records_reserve(memory, count);
    for (size_t i = 0; complete && i < count; i++) {
        if (settles[i].kind == HORA__SETTLE_FORK)
            complete = (supplies[i].row = hora__row_new()) != NULL;
        if (complete && wants_record(&settles[i]))
            complete = (supplies[i].record = hora__record_new(settles[i].note)) != NULL;
    }
    if (complete)
        return supplies;
    free_supplies(memory, supplies, count);
    return NULL;
}

/* ---- the run ---- */

static void note_outcome(hora__row *row, const hora__settle *settle, int64_t now)
{
    row->gave_up = settle->gave_up;
    if (!hora__settle_has_run(settle))
        return;
    row->last_end = now;
    row->last_code = settle->code;
    if (settle->outcome == HORA_RUN_SUCCEEDED)
        row->last_success = now;
}

/* Writes the outcome of the run into the row and into a record. */
static void record_run(hora__memory *memory, hora__row *row, const hora__settle *settle, int64_t now,
                       settle_supply *supply)
{
    /* Attempts can also be used up by crashes, without a run. */
    if (settle->outcome == 0 && settle->kind != HORA__SETTLE_ADVANCE && settle->kind != HORA__SETTLE_DEAD)
        return;
    note_outcome(row, settle, now);
    /* The row of an overlapping run ends with it; what it knows of the task stays with the next firing. */
    hora__row *head = row->forked && row->series != NULL ? hora__series_head(row->series) : NULL;
    if (head != NULL)
        note_outcome(head, settle, now);
    if (!wants_record(settle))
        return;
    int64_t started = settle->run_us >= 0 ? now - settle->run_us : 0;
    hora__record_add(memory, supply->record, row,
                     (hora_run_record){.outcome = settle->outcome,
                                       .code = settle->code,
                                       .planned = hora__instant_of_us(settle->ran_planned),
                                       .started = hora__instant_of_us(started),
                                       .ended = hora__instant_of_us(now),
                                       .attempt = settle->attempt,
                                       .skipped = settle->skipped});
    supply->record = NULL;
}

/* ---- the firing ---- */

static int64_t planned_of(const hora__settle *settle, int64_t now)
{
    return settle->after_now ? hora__sum(now, settle->planned) : settle->planned;
}

static int64_t due_of(const hora__settle *settle, int64_t now)
{
    int64_t due = settle->after_now ? hora__sum(now, settle->due) : settle->due;
    return due > now ? due : now;
}

static void kill_row(hora__memory *memory, hora__row *row)
{
    hora__row_unlink(memory, row);
    row->owner = 0;
    row->dead = true;
    row->started = false;
    row->paused = false;
    hora__row_link(memory, row);
}

/* DEAD. An overlapping run takes its task with it, unless a node holds the next firing of that. */
static void settle_dead(hora__memory *memory, hora__row *row)
{
    if (!row->forked) {
        kill_row(memory, row);
        return;
    }
    hora__row *head = row->series == NULL ? NULL : hora__series_head(row->series);
    if (head != NULL && head->owner == 0)
        kill_row(memory, head);
    hora__row_delete(memory, row);
}

static void settle_advance(hora__memory *memory, hora__row *row, const hora__settle *settle, int64_t now)
{
    if (!row->started)
        row->firings++;
    row->planned = planned_of(settle, now);
    row->attempt = 0;
    hora__row_wait(memory, row, due_of(settle, now), now);
}

/* Ends the claim of a row according to the settlement, unless a change is recorded in the row. */
static void end_claim(hora__memory *memory, hora__row *row, const hora__settle *settle, int64_t now)
{
    if (row->change_cancel || row->change_due != HORA__UNCHANGED) {
        bool ended = settle->kind == HORA__SETTLE_DONE || settle->kind == HORA__SETTLE_ADVANCE;
        if (ended && !row->started)
            row->firings++;
        hora__row_release(memory, row, false, now);
        return;
    }
    switch (settle->kind) {
    case HORA__SETTLE_ADVANCE:
        if (!row->forked) {
            settle_advance(memory, row, settle, now);
            break;
        }
        hora__row_delete(memory, row); /* another row plans the next firing */
        break;
    case HORA__SETTLE_RETRY:
        if (!row->forked || row->series != NULL)
            hora__row_wait(memory, row, due_of(settle, now), now);
        else
            hora__row_delete(memory, row); /* its contents are those of the task that replaced it */
        break;
    case HORA__SETTLE_DEAD:
        settle_dead(memory, row);
        break;
    case HORA__SETTLE_RELEASE:
        if (settle->ran_planned != 0)
            row->ran_planned = settle->ran_planned;
        hora__row_release(memory, row, true, now);
        break;
    case HORA__SETTLE_DONE:
    default:
        hora__row_delete(memory, row);
        break;
    }
}

/* START: the row stays claimed. That of a series shows the next firing, unless a change is recorded, which
 * says when that is. */
static void start_row(hora__row *row, const hora__settle *settle, int64_t now)
{
    if (row->started || row->change_cancel || HORA__STORE_FAULT(STORE_STARTS_AGAIN))
        return;
    row->started = true;
    row->ran_planned = settle->ran_planned;
    row->firings++;
    if (row->series == NULL || row->forked || row->change_due != HORA__UNCHANGED)
        return;
    row->planned = planned_of(settle, now);
    row->due = due_of(settle, now);
    row->attempt = 0;
}

static bool is_full(const hora__row *row, int overlap_max)
{
    int runs = 1;
    for (const hora__row *other = row->series == NULL ? NULL : row->series->rows; other != NULL;
         other = other->series_next)
        runs +=
            other != row && other->forked && (other->owner != 0 || !HORA__STORE_FAULT(STORE_FULL_MISCOUNTS));
    return runs > overlap_max;
}

/* FORK: `next` becomes the row of the next firing. Changes that are recorded in the row are about that. */
static void fork_row(hora__memory *memory, hora__row *row, hora__row *next, const hora__settle *settle,
                     int64_t now)
{
    bool changed = row->change_due != HORA__UNCHANGED;
    hora__row_unlink(memory, row);
    next->handler = row->handler;
    next->key = row->key;
    next->definition = hora__blob_share(row->definition);
    next->payload = hora__blob_share(row->payload);
    if (row->series != NULL)
        hora__row_join_series(next, row->series);
    next->revision = row->revision;
    next->lane = row->lane;
    next->history = row->history;
    next->paused = row->paused;
    int64_t change = row->change_due > now ? row->change_due : now;
    next->planned = changed ? change : planned_of(settle, now);
    next->due = changed ? change : due_of(settle, now);
    next->firings = row->firings + 1;
    next->gave_up = row->gave_up;
    next->last_end = row->last_end;
    next->last_code = row->last_code;
    next->last_success = row->last_success;
    row->key = NULL;
    row->paused = false;
    row->change_due = HORA__UNCHANGED;
    row->firings = row->firings > 0 ? row->firings : 0;
    row->forked = true;
    hora__row_link(memory, row);
    hora__row_link(memory, next);
}

static hora__settled settle_fork(hora__memory *memory, hora__row *row, const hora__settle *settle,
                                 int64_t now, settle_supply *supply)
{
    if (is_full(row, settle->overlap_max))
        return HORA__SETTLED_FULL;
    if (!row->forked && !row->change_cancel) {
        fork_row(memory, row, supply->row, settle, now);
        supply->row = NULL;
    }
    return HORA__SETTLED_OK;
}

static hora__settled settle_one(hora__memory *memory, const hora__settle *settle, int64_t now,
                                settle_supply *supply)
{
    hora__row *row = hora__row_by_id(&memory->firings, settle->id);
    if (row == NULL || row->owner == 0)
        return HORA__SETTLED_STALE;
    if (row->owner != settle->owner && !HORA__STORE_FAULT(STORE_BY_ID_ALONE))
        return HORA__SETTLED_STALE;
    /* NOLINTNEXTLINE(misc-redundant-expression): the planted faults differ, if there are any */
    if (row->fence != settle->fence && !HORA__STORE_FAULT(STORE_BY_ID_ALONE) &&
        !HORA__STORE_FAULT(STORE_NO_FENCE))
        return HORA__SETTLED_STALE;
    if (settle->kind == HORA__SETTLE_FORK)
        return settle_fork(memory, row, settle, now, supply);
    if (settle->kind == HORA__SETTLE_START && !(HORA__STORE_FAULT(STORE_START_ENDS) && row->series == NULL)) {
        start_row(row, settle, now);
        return HORA__SETTLED_OK;
    }
    record_run(memory, row, settle, now, supply);
    end_claim(memory, row, settle, now);
    return HORA__SETTLED_OK;
}

int hora__memory_settle(hora__memory *memory, const hora__settle *settles, size_t count, int64_t now,
                        hora__settled *ret_settled, hora_error *reason)
{
    if (count == 0)
        return 0;
    settle_supply *supplies = allocate_supplies(memory, settles, count);
    if (supplies == NULL)
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "no memory for %zu settlements", count);
    for (size_t i = 0; i < count; i++)
        ret_settled[i] = settle_one(memory, &settles[i], now, &supplies[i]);
    free_supplies(memory, supplies, count);
    return 0;
}

int hora__memory_stop(hora__memory *memory, const hora__change *change, int64_t now, hora_error *reason)
{
    hora__row *row = hora__row_by_id(&memory->firings, change->id);
    if (row == NULL || row->owner != 0 || row->attempt == 0 || row->fence != change->fence)
        return 0;
    hora__settle settle = hora__change_settlement(change, row->series != NULL);
    settle.attempt = row->attempt;
    settle.ran_planned = row->planned;
    settle.gave_up = row->gave_up;
    settle.history = row->history;
    settle_supply *supply = allocate_supplies(memory, &settle, 1);
    if (supply == NULL)
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "no memory for a record");
    record_run(memory, row, &settle, now, supply);
    end_claim(memory, row, &settle, now);
    free_supplies(memory, supply, 1);
    return 1;
}
