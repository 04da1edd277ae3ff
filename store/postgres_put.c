/* SPDX-License-Identifier: Apache-2.0 */
/* postgres_put.c - put tasks: one statement for all of them, and more only if keys exist already
 *
 * A batch is put in rounds. A round inserts at most one task for each key; tasks whose key occurs again wait
 * for the next round, so that each sees the one before it. Tasks that are not inserted, because their key
 * exists, find the row, lock it, and keep, replace or refuse. If the row is gone by then, they are inserted
 * in the next round. Keys are inserted and locked in order, so that two batches do not deadlock; ids are
 * in the order of the batch.
 *
 * UNKNOWN OUTCOME. The number of the transaction is read before the commit is sent. If the connection is lost
 * during the commit, put connects again and asks PostgreSQL what became of that transaction: it is committed,
 * or it is not and put begins again. After a failover the number may belong to another transaction, so if the
 * timeline has changed the outcome stays unknown. */
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hora/clock.h>

#include "postgres.h"
#include "reason.h"
#include "step.h"

#define FAR INT64_C(4000000000000000000)

typedef enum item_state {
    ITEM_WAITS,  /* to be inserted */
    ITEM_EXISTS, /* its key exists: look at the row */
    ITEM_REPLACES,
    ITEM_DONE,
} item_state;

/* A task of the batch. */
struct item {
    const hora__put *put;
    size_t index; /* in the batch */
    item_state state;
    bool in_round;
    bool same;                      /* its schedule is the same */
    int64_t id, series, old_series; /* series: 0 for a one-shot task */
};

struct batch {
    hora__pg_link *link;
    struct item *items;   /* by key, then by index; those without a key first */
    struct item **chosen; /* items of the current statement */
    size_t count, chosen_count;
    hora__pg_parameters parameters;
    size_t wrong;
    char transaction[24]; /* its number; "": not begun */
    int64_t timeline;
};

/* ---- fields ---- */

#define PUT_OF(items, index) ((((struct item *const *)(items))[index])->put)
#define PUT_FIELD(name, expression)                      \
    static int64_t name(const void *items, size_t index) \
    {                                                    \
        const hora__put *put = PUT_OF(items, index);     \
        return (expression);                             \
    }
#define PUT_TEXT(name, text)                                             \
    static hora__bytes name(const void *items, size_t index)             \
    {                                                                    \
        const hora__put *put = PUT_OF(items, index);                     \
        return (hora__bytes){(text), (text) == NULL ? 0 : strlen(text)}; \
    }

static int64_t limit(bool after_now, int64_t us)
{
    return !after_now ? us : us > FAR ? FAR : us < -FAR ? -FAR : us;
}

PUT_TEXT(put_handler, put->handler)
PUT_TEXT(put_key, put->key)
PUT_TEXT(put_definition, put->definition)
PUT_FIELD(put_revision, put->revision)
PUT_FIELD(put_recurring, put->recurring)
PUT_FIELD(put_lane, put->lane)
PUT_FIELD(put_history, put->history)
PUT_FIELD(put_after, put->after_now)
PUT_FIELD(put_planned, limit(put->after_now, put->planned))
PUT_FIELD(put_due, limit(put->after_now, put->due))

static hora__bytes put_payload(const void *items, size_t index)
{
    return PUT_OF(items, index)->payload;
}

static int64_t item_id(const void *items, size_t index)
{
    return (((struct item *const *)items)[index])->id;
}

static int64_t item_index(const void *items, size_t index)
{
    return (int64_t)(((struct item *const *)items)[index])->index;
}

static int64_t item_series(const void *items, size_t index)
{
    return (((struct item *const *)items)[index])->series;
}

static int64_t item_old_series(const void *items, size_t index)
{
    return (((struct item *const *)items)[index])->old_series;
}

static int64_t item_same(const void *items, size_t index)
{
    return (((struct item *const *)items)[index])->same;
}

/* The parameters that PUT_INSERT and PUT_REPLACE have in common, of the chosen items. */
static void add_fields(struct batch *batch)
{
    hora__pg_parameters *parameters = &batch->parameters;
    size_t count = batch->chosen_count;
    struct item **items = batch->chosen;
    hora__pg_parameters_reset(parameters);
    hora__pg_add_texts(parameters, count, put_handler, items);
    hora__pg_add_texts(parameters, count, put_key, items);
    hora__pg_add_integers(parameters, count, put_revision, items);
    hora__pg_add_integers(parameters, count, put_recurring, items);
    hora__pg_add_texts(parameters, count, put_definition, items);
    hora__pg_add_byteas(parameters, count, put_payload, items);
    hora__pg_add_integers(parameters, count, put_lane, items);
    hora__pg_add_integers(parameters, count, put_history, items);
    hora__pg_add_integers(parameters, count, put_after, items);
    hora__pg_add_integers(parameters, count, put_planned, items);
    hora__pg_add_integers(parameters, count, put_due, items);
}

/* ---- one round ---- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Chooses the tasks to insert: of tasks with the same key, only the first that is not done. */
static void choose_for_insert(struct batch *batch)
{
    batch->chosen_count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        struct item *item = &batch->items[i];
        bool behind = i > 0 && item->put->key != NULL && item[-1].state != ITEM_DONE &&
                      same_text(item->put->key, item[-1].put->key);
        item->in_round = item->state == ITEM_WAITS && !behind;
        if (item->in_round)
            batch->chosen[batch->chosen_count++] = item;
    }
}

static void choose_state(struct batch *batch, item_state state)
{
    batch->chosen_count = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->items[i].state == state)
            batch->chosen[batch->chosen_count++] = &batch->items[i];
}

/* Rows are returned in the order in which they were inserted; a task between them was not inserted. */
static int read_inserted(struct batch *batch, const PGresult *result, hora__put_done *ret_done,
                         hora_error *reason)
{
    int row = 0, rows = PQntuples(result);
    for (size_t i = 0; i < batch->chosen_count; i++) {
        struct item *item = batch->chosen[i];
        if (row == rows || !same_text(item->put->key, hora__pg_text(result, row, 1))) {
            item->state = ITEM_EXISTS;
            continue;
        }
        item->id = hora__pg_integer(result, row++, 0);
        item->series = item->put->recurring ? item->id : 0;
        item->state = ITEM_DONE;
        ret_done[item->index] = (hora__put_done){HORA_PUT_INSERTED, item->id};
    }
    if (row != rows)
        return hora__store_refuse(reason, HORA_EBADMSG, NULL, "PostgreSQL returned rows in another order");
    return 0;
}

/* Decides what becomes of a task whose key exists. */
static int decide(struct item *item, const PGresult *rows, int row, hora__put_done *ret_done,
                  hora_error *reason)
{
    const hora__put *put = item->put;
    bool cancelled = hora__pg_boolean(rows, row, 4);
    item->id = hora__pg_integer(rows, row, 0);
    item->old_series = hora__pg_integer(rows, row, 2);
    if (!cancelled && put->if_exists == HORA_IF_EXISTS_REFUSE)
        return hora__store_refuse(reason, HORA_EEXIST, "key", "there is a task with the key \"%.100s\"",
                                  put->key);
    bool keep = put->if_exists == HORA_IF_EXISTS_KEEP ||
                (put->if_exists == HORA_IF_EXISTS_UPGRADE && put->revision <= hora__pg_integer(rows, row, 3));
    if (keep && !cancelled) {
        item->state = ITEM_DONE;
        item->old_series = 0;
        ret_done[item->index] = (hora__put_done){HORA_PUT_KEPT, item->id};
        return 0;
    }
    item->state = ITEM_REPLACES;
    item->same = put->same_time && put->recurring && item->old_series != 0 && !cancelled &&
                 same_text(put->definition, hora__pg_text(rows, row, 5));
    ret_done[item->index] = (hora__put_done){HORA_PUT_REPLACED, item->id};
    return 0;
}

/* Both the items and the rows are in order of keys. */
static int decide_all(struct batch *batch, hora__put_done *ret_done, hora_error *reason)
{
    const PGresult *rows = batch->link->results[0];
    int row = 0, error = 0;
    batch->wrong = batch->count;
    for (size_t i = 0; i < batch->chosen_count; i++) {
        struct item *item = batch->chosen[i];
        while (row < PQntuples(rows) && strcmp(hora__pg_text(rows, row, 1), item->put->key) < 0)
            row++;
        if (row == PQntuples(rows) || strcmp(hora__pg_text(rows, row, 1), item->put->key) != 0) {
            item->state = ITEM_WAITS; /* the row is gone: insert it in the next round */
            continue;
        }
        if (batch->wrong < item->index && item->put->if_exists == HORA_IF_EXISTS_REFUSE)
            continue; /* the first one of the batch is reported */
        if (decide(item, rows, row, ret_done, reason) < 0) {
            error = HORA_EEXIST;
            batch->wrong = item->index;
        }
    }
    return error;
}

static int look_at_existing(struct batch *batch, hora__put_done *ret_done, hora_error *reason)
{
    choose_state(batch, ITEM_EXISTS);
    if (batch->chosen_count == 0)
        return 0;
    hora__pg_parameters_reset(&batch->parameters);
    hora__pg_add_texts(&batch->parameters, batch->chosen_count, put_key, batch->chosen);
    int error = hora__pg_call(batch->link, HORA__PG_PUT_LOCK, &batch->parameters, reason);
    return error < 0 ? error : decide_all(batch, ret_done, reason);
}

static int replace(struct batch *batch, hora_error *reason)
{
    choose_state(batch, ITEM_REPLACES);
    if (batch->chosen_count == 0)
        return 0;
    add_fields(batch);
    hora__pg_add_integers(&batch->parameters, batch->chosen_count, item_id, batch->chosen);
    hora__pg_add_integers(&batch->parameters, batch->chosen_count, item_same, batch->chosen);
    hora__pg_add_integers(&batch->parameters, batch->chosen_count, item_old_series, batch->chosen);
    int error = hora__pg_call(batch->link, HORA__PG_PUT_REPLACE, &batch->parameters, reason);
    if (error < 0)
        return error;
    const PGresult *result = batch->link->results[0];
    for (int row = 0; row < PQntuples(result); row++)
        for (size_t i = 0; i < batch->chosen_count; i++)
            if (batch->chosen[i]->id == hora__pg_integer(result, row, 0))
                batch->chosen[i]->series = hora__pg_integer(result, row, 1);
    for (size_t i = 0; i < batch->chosen_count; i++)
        batch->chosen[i]->state = ITEM_DONE;
    return 0;
}

/* ---- series ---- */

/* Writes the series rows of the tasks of this round, and frees those that a replacement has left. */
static void send_series(struct batch *batch, struct item **round, size_t round_count)
{
    hora__pg_parameters *parameters = &batch->parameters;
    batch->chosen_count = 0;
    for (size_t i = 0; i < round_count; i++)
        if (round[i]->state == ITEM_DONE && round[i]->series != 0)
            batch->chosen[batch->chosen_count++] = round[i];
    if (batch->chosen_count > 0) {
        hora__pg_parameters_reset(parameters);
        hora__pg_add_integers(parameters, batch->chosen_count, item_series, batch->chosen);
        hora__pg_add_texts(parameters, batch->chosen_count, put_key, batch->chosen);
        hora__pg_add_texts(parameters, batch->chosen_count, put_definition, batch->chosen);
        hora__pg_add_byteas(parameters, batch->chosen_count, put_payload, batch->chosen);
        hora__pg_send(batch->link, HORA__PG_SERIES_PUT, parameters);
    }
    batch->chosen_count = 0;
    for (size_t i = 0; i < round_count; i++)
        if (round[i]->state == ITEM_DONE && round[i]->old_series != round[i]->series &&
            round[i]->old_series != 0)
            batch->chosen[batch->chosen_count++] = round[i];
    if (batch->chosen_count > 0) {
        hora__pg_parameters_reset(parameters);
        hora__pg_add_integers(parameters, batch->chosen_count, item_old_series, batch->chosen);
        hora__pg_send(batch->link, HORA__PG_SERIES_FREE, parameters);
    }
}

/* The items of the round that have just been inserted or replaced. A kept one has no series here. */
static void finish_round(struct batch *batch)
{
    size_t round_count = 0;
    struct item **round = batch->chosen + batch->count;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->items[i].in_round)
            round[round_count++] = &batch->items[i];
    send_series(batch, round, round_count);
}

static int put_round(struct batch *batch, hora__put_done *ret_done, hora_error *reason)
{
    /* BEGIN waits to be sent with the first statement */
    bool begins = batch->link->use == HORA__PG_OWN && batch->transaction[0] == '\0';
    int results = begins ? (batch->link->is_pooled ? 2 : 1) : 0;
    assert(begins || batch->link->sent == 0);
    add_fields(batch);
    hora__pg_add_integers(&batch->parameters, batch->chosen_count, item_index, batch->chosen);
    hora__pg_send(batch->link, HORA__PG_PUT_INSERT, &batch->parameters);
    if (begins)
        hora__pg_send(batch->link, HORA__PG_XID, NULL);
    int error = hora__pg_receive(batch->link, reason);
    if (error < 0)
        return error;
    if (begins) {
        const PGresult *number = batch->link->results[results + 1];
        (void)snprintf(batch->transaction, sizeof batch->transaction, "%s", hora__pg_text(number, 0, 0));
        batch->timeline = hora__pg_integer(number, 0, 1);
    }
    error = read_inserted(batch, batch->link->results[results], ret_done, reason);
    if (error == 0)
        error = look_at_existing(batch, ret_done, reason);
    if (error == 0)
        error = replace(batch, reason);
    return error;
}

/* ---- the batch ---- */

/* Notifies the nodes if a task is due soon. Its listeners look at everything that is due by then. */
static void send_notification(struct batch *batch)
{
    int64_t at = INT64_MAX, after = FAR;
    for (size_t i = 0; i < batch->count; i++) {
        const hora__put *put = batch->items[i].put;
        int64_t *earliest = put->after_now ? &after : &at;
        if (put->due < *earliest)
            *earliest = limit(put->after_now, put->due);
    }
    char channel[64];
    (void)snprintf(channel, sizeof channel, "hora.%s", batch->link->postgres->schema);
    hora__pg_parameters_reset(&batch->parameters);
    hora__pg_add_text(&batch->parameters, channel);
    hora__pg_add_integer(&batch->parameters, at);
    hora__pg_add_integer(&batch->parameters, after);
    /* at a time that is certainly far, the server need not be asked for the time: most batches are either
     * for now or for hours from now */
    if (at != INT64_MAX || after <= 1000000)
        hora__pg_send(batch->link, HORA__PG_NOTIFY, &batch->parameters);
}

/* All statements of a batch, except the commit. */
static int put_batch(struct batch *batch, hora__put_done *ret_done, hora_error *reason)
{
    for (int round = 0; round < INT_MAX; round++) {
        choose_for_insert(batch);
        if (batch->chosen_count == 0)
            break;
        int error = put_round(batch, ret_done, reason);
        if (error < 0)
            return error;
        finish_round(batch);
        choose_for_insert(batch);
        bool last = batch->chosen_count == 0;
        /* the statements of the last round travel with the commit */
        if (!last && batch->link->sent > 0)
            error = hora__pg_receive(batch->link, reason);
        if (error < 0)
            return error;
    }
    send_notification(batch);
    return 0;
}

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    const char *left = x->put->key == NULL ? "" : x->put->key,
               *right = y->put->key == NULL ? "" : y->put->key;
    int order = strcmp(left, right);
    return order != 0 ? order : x->index < y->index ? -1 : x->index > y->index;
}

static int make_batch(struct batch *batch, const hora__put *puts, size_t count, hora_error *reason)
{
    batch->items = calloc(count + 1, sizeof *batch->items);
    batch->chosen = calloc(2 * count + 1, sizeof(struct item *));
    if (batch->items == NULL || batch->chosen == NULL)
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "there is not enough memory for %zu tasks",
                                  count);
    batch->count = count;
    bool has_keys = false;
    for (size_t i = 0; i < count; i++) {
        batch->items[i] = (struct item){.put = &puts[i], .index = i, .state = ITEM_WAITS};
        has_keys |= puts[i].key != NULL;
    }
    if (has_keys)
        qsort(batch->items, count, sizeof *batch->items, compare_items);
    return 0;
}

static void reset_batch(struct batch *batch)
{
    batch->transaction[0] = '\0';
    batch->wrong = batch->count;
    for (size_t i = 0; i < batch->count; i++) {
        batch->items[i].state = ITEM_WAITS;
        batch->items[i].series = batch->items[i].old_series = 0;
    }
}

static void free_batch(struct batch *batch)
{
    hora__pg_parameters_free(&batch->parameters);
    free(batch->items);
    free(batch->chosen);
}

/* Finds out what became of the transaction: 1 committed, 0 not, HORA_EIO not known. */
static int find_out(struct batch *batch, hora_ns end, hora_error *reason)
{
    hora__pg_parameters_reset(&batch->parameters);
    hora__pg_add_text(&batch->parameters, batch->transaction);
    do {
        int error = hora__pg_connect(batch->link, true, reason);
        if (error < 0)
            return error;
        error = hora__pg_call(batch->link, HORA__PG_XID_STATUS, &batch->parameters, reason);
        if (error == HORA_EIO && batch->link->connection == NULL)
            continue;
        if (error < 0)
            return error;
        const PGresult *result = batch->link->results[0];
        const char *status = hora__pg_text(result, 0, 0);
        if (hora__pg_integer(result, 0, 1) != batch->timeline || status == NULL)
            return hora__store_refuse(reason, HORA_EIO, NULL,
                                      "PostgreSQL: a failover has left it open whether the tasks were put");
        if (strcmp(status, "in progress") != 0)
            return strcmp(status, "committed") == 0;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    } while (hora_clock_now(NULL) < end);
    return hora__store_refuse(reason, HORA_EIO, NULL, "PostgreSQL: the outcome of a commit is not known");
}

/* One try. HORA_EAGAIN: try again. */
static int put_once(struct batch *batch, hora__put_done *ret_done, hora_ns end, hora_error *reason)
{
    hora__pg_link *link = batch->link;
    reset_batch(batch);
    int error = hora__pg_connect(link, true, reason);
    if (error < 0)
        return error;
    hora__pg_send_begin(link);
    HORA__STEP("postgres: put: before it is sent");
    error = put_batch(batch, ret_done, reason);
    if (error < 0) {
        bool lost = link->connection == NULL;
        hora__pg_rollback(link);
        return lost && error == HORA_EIO ? HORA_EAGAIN : error; /* nothing was committed */
    }
    hora__pg_send(link, HORA__PG_COMMIT, NULL);
    HORA__STEP("postgres: put: before the commit");
    error = hora__pg_receive(link, reason);
    HORA__STEP("postgres: put: after the commit");
    if (error != HORA_EIO)
        return error;
    int outcome = find_out(batch, end, reason);
    return outcome < 0 ? outcome : outcome == 1 ? 0 : HORA_EAGAIN;
}

int hora__pg_put(hora__backend *backend, const hora__put *puts, size_t count, hora__put_done *ret_done,
                 size_t *ret_wrong, hora_error *reason)
{
    hora__postgres *postgres = hora__pg_of(backend);
    struct batch batch = {.link = &postgres->shared};
    *ret_wrong = count;
    int error = make_batch(&batch, puts, count, reason);
    pthread_mutex_lock(&postgres->lock);
    hora_ns end = hora_clock_now(NULL) + postgres->base.options.statement_timeout;
    int tries = 0;
    if (error == 0 && count > 0)
        do {
            error = put_once(&batch, ret_done, end, reason);
        } while (error == HORA_EAGAIN && (++tries < HORA__PG_MAX_TRIES && hora_clock_now(NULL) < end));
    pthread_mutex_unlock(&postgres->lock);
    if (error == HORA_EAGAIN)
        error = hora__store_refuse(reason, HORA_EBUSY, NULL, "PostgreSQL: the tasks could not be put");
    if (error == HORA_EEXIST)
        *ret_wrong = batch.wrong;
    free_batch(&batch);
    return error;
}

int hora__pg_put_joined(hora__backend *backend, void *connection, const hora__put *puts, size_t count,
                        hora__put_done *ret_done, size_t *ret_wrong, hora_error *reason)
{
    *ret_wrong = count;
    if (PQtransactionStatus(connection) != PQTRANS_INTRANS || PQpipelineStatus(connection) != PQ_PIPELINE_OFF)
        return hora__store_refuse(reason, HORA_EINVAL, "connection",
                                  "connection is not in a transaction, or is in pipeline mode");
    hora__pg_link link = {.postgres = hora__pg_of(backend), .connection = connection, .use = HORA__PG_JOINED};
    struct batch batch = {.link = &link};
    int error = make_batch(&batch, puts, count, reason);
    reset_batch(&batch);
    if (error == 0)
        error = hora__pg_execute(&link, "SAVEPOINT hora_put", reason);
    if (error == 0 && count > 0) {
        error = put_batch(&batch, ret_done, reason);
        if (error == 0)
            error = hora__pg_receive(&link, reason);
        hora_error ignored;
        int end = hora__pg_execute(&link,
                                   error < 0 ? "ROLLBACK TO SAVEPOINT hora_put; RELEASE SAVEPOINT hora_put"
                                             : "RELEASE SAVEPOINT hora_put",
                                   error < 0 ? &ignored : reason);
        error = error < 0 ? error : end;
    }
    if (error == HORA_EAGAIN) /* the transaction belongs to the caller, who must repeat it */
        error = HORA_EBUSY;
    if (error == HORA_EEXIST)
        *ret_wrong = batch.wrong;
    hora__pg_clear_results(&link);
    free_batch(&batch);
    return error;
}
