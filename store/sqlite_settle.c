/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_settle.c - a store in SQLite: what becomes of claimed firings
 *
 * The two most frequent settlements, the end of a one-shot task and the next firing of a series, are one
 * statement each if no change is recorded in the row. Otherwise the row is read, changed here, and written.
 * Owner and fence of the row are compared first in both cases: a settlement that is not of the latest claim
 * changes nothing.
 *
 * All functions are called inside a transaction. */
#include <assert.h>
#include <string.h>

#include "sqlite.h"
#include "units.h"

static int64_t planned_of(const hora__settle *settle, int64_t now)
{
    return settle->after_now ? hora__sum(now, settle->planned) : settle->planned;
}

static int64_t due_of(const hora__settle *settle, int64_t now)
{
    int64_t due = settle->after_now ? hora__sum(now, settle->due) : settle->due;
    return due > now ? due : now;
}

/* ---- the run ---- */

typedef struct run_record {
    int outcome, code;
    int64_t planned, started, attempt, skipped;
    hora__bytes note;
} run_record;

static void write_record(hora__connection *connection, int64_t id, int64_t fence, int64_t node,
                         const run_record *run, int64_t now)
{
    const int64_t numbers[] = {id,  run->outcome, run->code, run->planned, run->started,
                               now, run->attempt, fence,     node,         run->skipped};
    enum { COUNT = sizeof numbers / sizeof *numbers };
    sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_RECORD);
    for (int i = 0; i < COUNT; i++)
        hora__sqlite_int(connection, statement, i + 1, numbers[i]);
    hora__sqlite_blob(connection, statement, COUNT + 1, run->note.data, run->note.size);
    hora__sqlite_run(connection, statement);
}

void hora__sqlite_record_lost(hora__connection *connection, const hora__sqlite_row *row, int64_t now)
{
    write_record(connection, row->id, row->fence, row->owner,
                 &(run_record){.outcome = HORA_RUN_LOST,
                               .planned = row->started ? row->ran_planned : row->planned,
                               .attempt = row->started ? 1 : row->attempt},
                 now);
}

static void record_run(hora__connection *connection, const hora__settle *settle, int64_t now)
{
    write_record(connection, settle->id, settle->fence, settle->owner,
                 &(run_record){.outcome = (int)settle->outcome,
                               .code = settle->code,
                               .planned = settle->ran_planned,
                               .started = settle->run_us >= 0 ? now - settle->run_us : 0,
                               .attempt = settle->attempt,
                               .skipped = settle->skipped,
                               .note = settle->note},
                 now);
}

static void note_outcome(hora__sqlite_row *row, const hora__settle *settle, int64_t now)
{
    row->gave_up = settle->gave_up;
    if (!hora__settle_has_run(settle))
        return;
    row->last_end = now;
    row->last_code = settle->code;
    if (settle->outcome == HORA_RUN_SUCCEEDED)
        row->last_success = now;
}

/* The row of the next firing of a series, which has the key. */
static bool find_head(hora__connection *connection, int64_t series, hora__sqlite_row *ret_head)
{
    sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_HEAD_OF_SERIES);
    hora__sqlite_int(connection, statement, 1, series);
    return hora__sqlite_read_row(connection, statement, ret_head);
}

/* Writes the outcome of the run into the row and into a record. The row of an overlapping run ends with it;
 * what it knows of the task stays with the next firing. */
static void note_run(hora__connection *connection, hora__sqlite_row *row, const hora__settle *settle,
                     int64_t now)
{
    /* Attempts can also be used up by crashes, without a run. */
    if (settle->outcome == 0 && settle->kind != HORA__SETTLE_ADVANCE && settle->kind != HORA__SETTLE_DEAD)
        return;
    if (settle->history && settle->outcome != 0)
        record_run(connection, settle, now);
    note_outcome(row, settle, now);
    hora__sqlite_row head;
    if (row->forked && row->series != 0 && find_head(connection, row->series, &head)) {
        note_outcome(&head, settle, now);
        hora__sqlite_save_row(connection, &head);
    }
}

/* ---- the firing ---- */

/* DEAD. An overlapping run takes its task with it, unless a node holds the next firing of that. */
static void settle_dead(hora__connection *connection, hora__sqlite_row *row)
{
    hora__sqlite_row head = *row;
    bool has_head =
        !row->forked || (row->series != 0 && find_head(connection, row->series, &head) && head.owner == 0);
    if (has_head) {
        head.paused = false;
        hora__sqlite_bury_row(connection, &head);
    }
    if (row->forked)
        hora__sqlite_delete_row(connection, row);
}

/* Whether a settlement deletes the row. */
static bool ends_row(const hora__sqlite_row *row, const hora__settle *settle)
{
    return settle->kind == HORA__SETTLE_DONE || (settle->kind == HORA__SETTLE_ADVANCE && row->forked) ||
           (row->forked && row->series == 0) ||
           (settle->kind == HORA__SETTLE_RELEASE &&
            hora__release_deletes(row->started, row->forked, row->series != 0));
}

/* Ends the claim of a row according to the settlement. */
static void end_claim(hora__connection *connection, hora__sqlite_row *row, const hora__settle *settle,
                      int64_t now)
{
    bool changed = row->change_cancel || row->change_due != HORA__UNCHANGED;
    if (settle->kind == HORA__SETTLE_DEAD && !changed) {
        settle_dead(connection, row);
        return;
    }
    bool gone = ends_row(row, settle);
    if (!row->started && (settle->kind == HORA__SETTLE_DONE || settle->kind == HORA__SETTLE_ADVANCE))
        row->firings++;
    if (settle->kind == HORA__SETTLE_ADVANCE) {
        row->planned = planned_of(settle, now);
        row->due = due_of(settle, now);
        row->attempt = 0;
    } else if (settle->kind == HORA__SETTLE_RETRY) {
        row->due = due_of(settle, now);
    } else if (settle->kind == HORA__SETTLE_RELEASE) {
        row->attempt -= row->attempt > 0;
        if (settle->ran_planned != 0)
            row->ran_planned = settle->ran_planned;
    }
    hora__sqlite_end_claim(connection, row, gone, now);
}

/* START: the row stays claimed. That of a series shows the next firing, unless a change is recorded, which
 * says when that is. */
static void start_row(hora__connection *connection, hora__sqlite_row *row, const hora__settle *settle,
                      int64_t now)
{
    if (row->started || row->change_cancel)
        return;
    row->started = true;
    row->ran_planned = settle->ran_planned;
    row->firings++;
    if (row->series != 0 && !row->forked && row->change_due == HORA__UNCHANGED) {
        row->planned = planned_of(settle, now);
        row->due = due_of(settle, now);
        row->attempt = 0;
    }
    hora__sqlite_save_row(connection, row);
}

/* Copies the key of a row into `key`, which has 256 bytes. Returns NULL if it has none. */
static const char *copy_key(hora__connection *connection, int64_t id, char *key)
{
    sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_KEY);
    hora__sqlite_int(connection, statement, 1, id);
    if (!hora__sqlite_step(connection, statement))
        return NULL;
    const unsigned char *text = sqlite3_column_text(statement, 0);
    size_t size = (size_t)sqlite3_column_bytes(statement, 0);
    if (text != NULL && size < 256)
        memcpy(key, text, size + 1);
    else if (text != NULL)
        hora__sqlite_check(connection, SQLITE_CORRUPT);
    hora__sqlite_reset(statement);
    return text != NULL ? key : NULL;
}

/* FORK: a new row becomes that of the next firing. Changes that are recorded in the row are about that. */
static void fork_row(hora__connection *connection, hora__sqlite_row *row, const hora__settle *settle,
                     int64_t now)
{
    bool changed = row->change_due != HORA__UNCHANGED;
    int64_t change = row->change_due > now ? row->change_due : now;
    char key_memory[256];
    const char *key = copy_key(connection, row->id, key_memory);
    hora__sqlite_run1(connection, HORA__SQL_DROP_KEY, row->id);
    int64_t id = hora__sqlite_take_id(connection);
    sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_FORK);
    hora__sqlite_int(connection, statement, 1, row->id);
    hora__sqlite_int(connection, statement, 2, id);
    hora__sqlite_text(connection, statement, 3, key);
    hora__sqlite_int(connection, statement, 4, changed ? change : planned_of(settle, now));
    hora__sqlite_int(connection, statement, 5, changed ? change : due_of(settle, now));
    hora__sqlite_int(connection, statement, 6, row->paused);
    hora__sqlite_run(connection, statement);
    row->paused = false;
    row->change_due = HORA__UNCHANGED;
    row->firings = row->firings > 0 ? row->firings : 0;
    row->forked = true;
    hora__sqlite_save_row(connection, row);
}

static hora__settled settle_fork(hora__connection *connection, hora__sqlite_row *row,
                                 const hora__settle *settle, int64_t now)
{
    if (row->series != 0) {
        sqlite3_stmt *statement = hora__sqlite_use(connection, HORA__SQL_COUNT_FORKED);
        hora__sqlite_int(connection, statement, 1, row->series);
        hora__sqlite_int(connection, statement, 2, row->id);
        if (1 + hora__sqlite_number(connection, statement, 0) > settle->overlap_max)
            return HORA__SETTLED_FULL;
    }
    if (!row->forked && !row->change_cancel)
        fork_row(connection, row, settle, now);
    return HORA__SETTLED_OK;
}

/* ---- the frequent settlements ---- */

static sqlite3_stmt *use_for_claim(hora__connection *connection, hora__sql sql, const hora__settle *settle)
{
    sqlite3_stmt *statement = hora__sqlite_use(connection, sql);
    hora__sqlite_int(connection, statement, 1, settle->id);
    hora__sqlite_int(connection, statement, 2, settle->owner);
    hora__sqlite_int(connection, statement, 3, settle->fence);
    return statement;
}

/* True if one statement has settled it. */
static bool settle_quickly(hora__connection *connection, const hora__settle *settle, int64_t now)
{
    if (settle->history)
        return false;
    sqlite3_stmt *statement;
    if (settle->kind == HORA__SETTLE_DONE) {
        statement = use_for_claim(connection, HORA__SQL_DONE, settle);
    } else if (settle->kind == HORA__SETTLE_ADVANCE && hora__settle_has_run(settle)) {
        statement = use_for_claim(connection, HORA__SQL_ADVANCE, settle);
        hora__sqlite_int(connection, statement, 4, planned_of(settle, now));
        hora__sqlite_int(connection, statement, 5, due_of(settle, now));
        hora__sqlite_int(connection, statement, 6, settle->gave_up);
        hora__sqlite_int(connection, statement, 7, now);
        hora__sqlite_int(connection, statement, 8, settle->code);
        hora__sqlite_int(connection, statement, 9, settle->outcome == HORA_RUN_SUCCEEDED);
    } else {
        return false;
    }
    return hora__sqlite_run(connection, statement) && sqlite3_changes(connection->db) == 1;
}

hora__settled hora__sqlite_settle(hora__connection *connection, const hora__settle *settle, int64_t now)
{
    if (settle_quickly(connection, settle, now))
        return HORA__SETTLED_OK;
    hora__sqlite_row row;
    if (!hora__sqlite_find_row(connection, NULL, settle->id, &row) || row.owner == 0 ||
        row.owner != settle->owner || row.fence != settle->fence)
        return HORA__SETTLED_STALE;
    if (settle->kind == HORA__SETTLE_FORK)
        return settle_fork(connection, &row, settle, now);
    if (settle->kind == HORA__SETTLE_START) {
        start_row(connection, &row, settle, now);
        return HORA__SETTLED_OK;
    }
    note_run(connection, &row, settle, now);
    end_claim(connection, &row, settle, now);
    return HORA__SETTLED_OK;
}

/* The row is taken for a moment, by no node. */
int hora__sqlite_stop(hora__connection *connection, const hora__change *change, int64_t now)
{
    hora__sqlite_row row;
    if (!hora__sqlite_find_row(connection, NULL, change->id, &row) || row.owner != 0 || row.attempt == 0 ||
        row.fence != change->fence)
        return 0;
    hora__settle settle = hora__change_settlement(change, row.series != 0);
    settle.attempt = (int)row.attempt;
    settle.ran_planned = row.planned;
    settle.gave_up = row.gave_up;
    settle.history = row.history;
    row.owner = HORA__NO_NODE;
    note_run(connection, &row, &settle, now);
    end_claim(connection, &row, &settle, now);
    return 1;
}
