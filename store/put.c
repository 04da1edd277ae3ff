/* SPDX-License-Identifier: Apache-2.0 */
/* put.c - put tasks into a store
 *
 * Calls that come while another thread commits are collected and committed together: the first caller that
 * finds no commit in progress takes all waiting calls, writes them in one transaction and wakes the others.
 * With one caller there is no delay; with many, each commit serves those that came during the one before.
 *
 * If the database refuses one task of a group, the calls are repeated one by one, so that a call fails
 * only for its own tasks. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "reason.h"
#include "rules.h"
#include "step.h"
#include "store.h"

/* Tasks in one commit. A call with more tasks has a commit of its own. */
enum { MAX_GROUP = 1000 };

/* One call that waits for its commit. It is on the stack of the caller. */
struct hora__put_request {
    const hora__put *puts;
    size_t count;
    hora__put_done *done;
    size_t wrong; /* index of the refused task, or count */
    int result;
    hora_error *reason;
    bool finished;
    bool leads; /* the previous leader has passed its role to this call */
    pthread_cond_t changed;
    struct hora__put_request *next;
};

/* ---- one task ---- */

/* A task in the form that backends take, with the memory that it needs. */
typedef struct prepared_put {
    hora__put put;
    char *text; /* its definition */
} prepared_put;

static int describe_wrong(int code, size_t wrong, const hora__put *put, size_t count, hora_error *reason)
{
    if (code != HORA_EEXIST)
        return code;
    if (count == 1)
        return hora__store_refuse(reason, code, "key", "the store has a task with the key \"%.200s\"",
                                  put->key);
    return hora__store_refuse(reason, code, "key", "task %zu: the store has a task with the key \"%.200s\"",
                              wrong, put->key);
}

static int lane_of(hora_priority priority)
{
    return HORA_PRIORITY_URGENT - (int)priority;
}

static int check_for_store(const hora_store *store, const hora_durable_task *task, hora_error *reason)
{
    if (task->payload_size > store->backend->options.max_payload)
        return hora__store_refuse(reason, HORA_ERANGE, "payload_size",
                                  "payload_size is %zu, and this store takes at most %zu", task->payload_size,
                                  store->backend->options.max_payload);
    if (task->delivery == HORA_EFFECT_ONCE && !store->backend->ops->transactions)
        return hora__store_refuse(reason, HORA_ENOTSUP, "delivery",
                                  "delivery is HORA_EFFECT_ONCE, and a store in memory has no transactions");
    return 0;
}

/* Only cron and triggers need to know the time of the store; other times count from the commit. */
static int time_of_store(hora_store *store, const hora__definition *definition, const hora_durable_task *task,
                         int64_t *ret_now, hora_error *reason)
{
    *ret_now = INT64_MIN;
    if (definition->kind != HORA__KIND_CRON || task->at.ns != 0 || task->initial_delay != 0)
        return 0;
    return store->backend->ops->now(store->backend, ret_now, reason);
}

static int write_definition(const hora__definition *definition, char **ret_text)
{
    int length = hora__definition_write(definition, NULL, 0);
    assert(length >= 0);
    *ret_text = NULL;
    if (length == 0)
        return 0;
    *ret_text = malloc((size_t)length + 1);
    if (*ret_text == NULL)
        return HORA_ENOMEM;
    (void)hora__definition_write(definition, *ret_text, (size_t)length + 1);
    return 0;
}

static int fill_put(hora_store *store, const hora_durable_task *task, const hora__definition *definition,
                    prepared_put *prepared, hora_error *reason)
{
    hora__put *put = &prepared->put;
    int64_t now;
    int error = time_of_store(store, definition, task, &now, reason);
    if (error == 0)
        error = hora__rules_first(definition, task, now, &put->due, &put->after_now, reason);
    if (error == 0 && write_definition(definition, &prepared->text) < 0)
        error = hora__store_refuse(reason, HORA_ENOMEM, NULL, "out of memory");
    if (error < 0)
        return error;
    put->planned = put->due;
    put->handler = task->handler;
    put->key = task->key;
    put->if_exists = task->if_exists;
    put->revision = task->revision;
    put->recurring = definition->kind != HORA__KIND_ONCE;
    put->definition = prepared->text;
    put->same_time = put->recurring && task->at.ns == 0 && task->initial_delay == 0;
    put->payload = (hora__bytes){task->payload, task->payload == NULL ? 0 : task->payload_size};
    put->lane = lane_of(task->priority);
    put->history = task->history;
    return 0;
}

/* Checks a task and prepares it for this store; the strings of the task must stay. */
static int prepare(hora_store *store, const hora_durable_task *given, prepared_put *ret_prepared,
                   hora_error *reason)
{
    *ret_prepared = (prepared_put){.text = NULL};
    hora__definition *definition;
    int error = hora__definition_new(given, &definition, reason); /* checks all of the task */
    if (error < 0)
        return error;
    hora_durable_task task;
    error = hora__store_read_options(&task, sizeof task, sizeof task, given, "hora_durable_task", reason);
    if (error == 0)
        error = check_for_store(store, &task, reason);
    if (error == 0)
        error = fill_put(store, &task, definition, ret_prepared, reason);
    hora__definition_free(definition);
    return error;
}

static void prepared_free(prepared_put *prepared)
{
    free(prepared->text);
}

/* ---- group commit ---- */

static void commit_one(hora_store *store, struct hora__put_request *request)
{
    request->result = store->backend->ops->put(store->backend, request->puts, request->count, request->done,
                                               &request->wrong, request->reason);
}

/* Writes all calls of a list in one transaction. Returns false if they have to be repeated one by one. */
static bool commit_together(hora_store *store, struct hora__put_request *first, size_t count)
{
    hora__put *puts = malloc(count * sizeof *puts);
    hora__put_done *done = malloc(count * sizeof *done);
    bool together = puts != NULL && done != NULL;
    if (together) {
        size_t filled = 0, wrong;
        for (struct hora__put_request *one = first; one != NULL; one = one->next) {
            memcpy(puts + filled, one->puts, one->count * sizeof *puts);
            filled += one->count;
        }
        assert(filled == count);
        hora_error reason;
        together = store->backend->ops->put(store->backend, puts, count, done, &wrong, &reason) == 0;
    }
    size_t read = 0;
    for (struct hora__put_request *one = first; together && one != NULL; one = one->next) {
        memcpy(one->done, done + read, one->count * sizeof *done);
        read += one->count;
        one->result = 0;
    }
    free(puts);
    free(done);
    return together;
}

static void commit_group(hora_store *store, struct hora__put_request *first, size_t count)
{
    if (first->next == NULL || !commit_together(store, first, count))
        for (struct hora__put_request *one = first; one != NULL; one = one->next)
            commit_one(store, one);
}

/* Takes waiting calls off the queue, up to MAX_GROUP tasks, but at least one call. */
static struct hora__put_request *take_group(hora_store *store, size_t *ret_count)
{
    struct hora__put_request *first = store->first_put, **end = &store->first_put;
    size_t count = 0;
    while (*end != NULL && (count == 0 || count + (*end)->count <= MAX_GROUP)) {
        count += (*end)->count;
        end = &(*end)->next;
    }
    store->first_put = *end;
    if (store->first_put == NULL)
        store->last_put = &store->first_put;
    *end = NULL;
    *ret_count = count;
    return first;
}

/* Called with the lock held: commits a group that includes the caller's own call, and appoints the next
 * leader. */
static void lead(hora_store *store)
{
    size_t count;
    struct hora__put_request *group = take_group(store, &count);
    pthread_mutex_unlock(&store->lock);
    HORA__STEP("put: before commit");
    commit_group(store, group, count);
    HORA__STEP("put: after commit");
    pthread_mutex_lock(&store->lock);
    while (group != NULL) {
        struct hora__put_request *next = group->next; /* the call may be gone once it is finished */
        group->finished = true;
        pthread_cond_signal(&group->changed);
        group = next;
    }
    store->putting = store->first_put != NULL;
    if (store->putting) {
        store->first_put->leads = true;
        pthread_cond_signal(&store->first_put->changed);
    }
}

/* Adds a request to the queue. Requires the lock. The call of the request returns when it is out again. */
static void append(hora_store *store, struct hora__put_request *request)
{
    *store->last_put = request;
    store->last_put = &request->next;
}

static int put_in_group(hora_store *store, const hora__put *puts, size_t count, hora__put_done *done,
                        size_t *ret_wrong, hora_error *reason)
{
    struct hora__put_request request = {
        .puts = puts, .count = count, .done = done, .wrong = count, .reason = reason};
    if (pthread_cond_init(&request.changed, NULL) != 0)
        return hora__store_refuse(reason, HORA_EAGAIN, NULL, "a system limit was reached");
    pthread_mutex_lock(&store->lock);
    append(store, &request);
    if (!store->putting) {
        store->putting = true;
        request.leads = true;
    }
    while (!request.finished)
        if (request.leads)
            lead(store); /* the call that leads is first in the queue, so its own group finishes it */
        else
            pthread_cond_wait(&request.changed, &store->lock);
    pthread_mutex_unlock(&store->lock);
    pthread_cond_destroy(&request.changed);
    *ret_wrong = request.wrong;
    return request.result;
}

/* ---- several tasks ---- */

typedef struct batch {
    prepared_put *prepared;
    hora__put *puts;
    hora__put_done *done;
    size_t count;
} batch;

static void batch_free(batch *tasks)
{
    for (size_t i = 0; tasks->prepared != NULL && i < tasks->count; i++)
        prepared_free(&tasks->prepared[i]);
    free(tasks->prepared);
    free(tasks->puts);
    free(tasks->done);
}

/* Says which task of several is refused. */
static void add_index(size_t index, size_t count, hora_error *reason)
{
    if (count == 1 || reason == NULL)
        return;
    hora_error copy = *reason;
    hora__store_reason(reason, copy.code, copy.field, "task %zu: %.200s", index, copy.message);
}

static int batch_prepare(hora_store *store, const hora_durable_task *const *tasks, size_t count,
                         batch *ret_batch, hora_error *reason)
{
    *ret_batch = (batch){.count = 0};
    if (tasks == NULL || count == 0)
        return hora__store_refuse(reason, HORA_EINVAL, NULL, tasks == NULL ? "tasks is NULL" : "count is 0");
    ret_batch->prepared = calloc(count, sizeof *ret_batch->prepared);
    ret_batch->puts = calloc(count, sizeof *ret_batch->puts);
    ret_batch->done = calloc(count, sizeof *ret_batch->done);
    if (ret_batch->prepared == NULL || ret_batch->puts == NULL || ret_batch->done == NULL)
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "out of memory for %zu tasks", count);
    for (; ret_batch->count < count; ret_batch->count++) {
        size_t i = ret_batch->count;
        int error = prepare(store, tasks[i], &ret_batch->prepared[i], reason);
        if (error < 0) {
            add_index(i, count, reason);
            return error;
        }
        ret_batch->puts[i] = ret_batch->prepared[i].put;
    }
    return 0;
}

/* The durable scheduler of this process looks when the earliest of the new tasks is due. */
static void tell_durable(hora_store *store, const batch *tasks)
{
    const hora__put *first = &tasks->puts[0];
    for (size_t i = 1; i < tasks->count; i++) {
        if (tasks->puts[i].after_now != first->after_now) {
            hora__store_changed(store, INT64_MIN, false);
            return;
        }
        if (tasks->puts[i].due < first->due)
            first = &tasks->puts[i];
    }
    hora__store_changed(store, first->due, first->after_now);
}

/* Puts through the store's own connection if `connection` is NULL. */
static int put_tasks(hora_store *store, void *connection, const hora_durable_task *const *tasks, size_t count,
                     hora_put_result *ret_results, hora_error *reason)
{
    hora_error ignored = {.code = 0};
    reason = reason != NULL ? reason : &ignored;
    int error = hora__store_check(store, reason);
    if (error < 0)
        return error;
    batch prepared;
    size_t wrong = 0;
    error = batch_prepare(store, tasks, count, &prepared, reason);
    if (error == 0) {
        error = connection == NULL
                    ? put_in_group(store, prepared.puts, count, prepared.done, &wrong, reason)
                    : store->backend->ops->put_joined(store->backend, connection, prepared.puts, count,
                                                      prepared.done, &wrong, reason);
        if (error < 0 && wrong < count)
            error = describe_wrong(error, wrong, &prepared.puts[wrong], count, reason);
    }
    for (size_t i = 0; error == 0 && ret_results != NULL && i < count; i++)
        ret_results[i] = (hora_put_result){prepared.done[i].done, prepared.done[i].id};
    if (error == 0) {
        hora__store_success(reason);
        if (connection == NULL)
            tell_durable(store, &prepared);
    }
    batch_free(&prepared);
    return error;
}

int hora_store_put(hora_store *store, const hora_durable_task *task, hora_put_result *ret_result,
                   hora_error *reason)
{
    return put_tasks(store, NULL, &task, 1, ret_result, reason);
}

int hora_store_put_all(hora_store *store, const hora_durable_task *const *tasks, size_t count,
                       hora_put_result *ret_results, hora_error *reason)
{
    return put_tasks(store, NULL, tasks, count, ret_results, reason);
}

/* Which databases a store and a call belong to. */
static int put_joined(hora_store *store, void *connection, const char *scheme,
                      const hora_durable_task *const *tasks, size_t count, hora_put_result *ret_results,
                      hora_error *reason)
{
    int error = hora__store_check(store, reason);
    if (error < 0)
        return error;
    if (strcmp(store->backend->ops->name, scheme) != 0)
        return hora__store_refuse(reason, HORA_EINVAL, NULL,
                                  "this is a %s store, and the connection is one of %s",
                                  store->backend->ops->name, scheme);
    if (connection == NULL)
        return hora__store_refuse(reason, HORA_EINVAL, NULL, "connection is NULL");
    return put_tasks(store, connection, tasks, count, ret_results, reason);
}

int hora_store_put_sqlite(hora_store *store, struct sqlite3 *connection,
                          const hora_durable_task *const *tasks, size_t count, hora_put_result *ret_results,
                          hora_error *reason)
{
    return put_joined(store, connection, "sqlite", tasks, count, ret_results, reason);
}

int hora_store_put_postgres(hora_store *store, struct pg_conn *connection,
                            const hora_durable_task *const *tasks, size_t count, hora_put_result *ret_results,
                            hora_error *reason)
{
    return put_joined(store, connection, "postgres", tasks, count, ret_results, reason);
}
