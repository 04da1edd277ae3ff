/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - open a store, and look at its tasks and change them
 *
 * These functions check their arguments and leave the rest to the backend. */
#include "store.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "name.h"
#include "options.h"
#include "reason.h"
#include "units.h"

enum { MAX_SCHEMA = 40 };

/* ---- opening ---- */

static const char *after_prefix(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

static int check_schema(const char *schema, hora_error *reason)
{
    size_t length = strlen(schema);
    size_t valid = strspn(schema, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (length == 0 || length > MAX_SCHEMA || valid != length)
        return hora__store_refuse(reason, HORA_EINVAL, "schema",
                                  "schema is \"%.60s\"; it must be 1 to %d letters, digits and _", schema,
                                  MAX_SCHEMA);
    return 0;
}

/* Checks the options and replaces zeros by the defaults. */
static int complete_options(const hora_store_options *given, hora_store_options *ret_options,
                            hora_error *reason)
{
    int error = hora__store_read_options(ret_options, sizeof *ret_options, sizeof *ret_options, given,
                                         "hora_store_options", reason);
    if (error < 0)
        return error;
    if (ret_options->statement_timeout == 0)
        ret_options->statement_timeout = HORA_SECONDS(10);
    if (ret_options->statement_timeout < HORA_MS(100) || ret_options->statement_timeout > HORA_HOURS(1))
        return hora__store_refuse(reason, HORA_EINVAL, "statement_timeout",
                                  "statement_timeout is %lld ns; it must be 100 ms to 1 h",
                                  (long long)ret_options->statement_timeout);
    if (ret_options->max_payload == 0)
        ret_options->max_payload = (size_t)1 << 20;
    if (ret_options->max_payload > (size_t)256 << 20)
        return hora__store_refuse(reason, HORA_EINVAL, "max_payload",
                                  "max_payload is %zu, which is more than 256 MB", ret_options->max_payload);
    if (ret_options->clock == NULL)
        ret_options->clock = hora_clock_system(HORA_CLOCK_WALL);
    if (hora_clock_get_id(ret_options->clock) != HORA_CLOCK_WALL)
        return hora__store_refuse(reason, HORA_EINVAL, "clock", "clock is not a wall clock");
    if (ret_options->schema == NULL)
        ret_options->schema = "hora";
    return check_schema(ret_options->schema, reason);
}

static int open_sqlite(const char *path, const hora_store_options *options, hora__backend **ret_backend,
                       hora_error *reason)
{
    const char *after_slashes = after_prefix(path, "//");
    if (after_slashes != NULL && after_slashes[0] != '/')
        return hora__store_refuse(reason, HORA_EINVAL, "address",
                                  "a SQLite address is sqlite:///absolute/path or sqlite:relative/path");
    path = after_slashes != NULL ? after_slashes : path;
    if (path[0] == '\0' || path[strlen(path) - 1] == '/')
        return hora__store_refuse(reason, HORA_EINVAL, "address", "the address names no file");
    if (strcmp(path, ":memory:") == 0)
        return hora__store_refuse(reason, HORA_EINVAL, "address",
                                  "a store in memory has the address memory:, not sqlite::memory:");
#if defined(HORA_WITH_SQLITE)
    return hora__sqlite_open(path, options, ret_backend, reason);
#else
    (void)options, (void)ret_backend;
    return hora__store_refuse(reason, HORA_ENOTSUP, "address", "hora was built without SQLite");
#endif
}

static int open_postgres(const char *address, const hora_store_options *options, hora__backend **ret_backend,
                         hora_error *reason)
{
#if defined(HORA_WITH_POSTGRES)
    return hora__postgres_open(address, options, ret_backend, reason);
#else
    (void)address, (void)options, (void)ret_backend;
    return hora__store_refuse(reason, HORA_ENOTSUP, "address", "hora was built without PostgreSQL");
#endif
}

static int open_backend(const char *address, const hora_store_options *options, hora__backend **ret_backend,
                        hora_error *reason)
{
    const char *path = after_prefix(address, "sqlite:");
    if (path != NULL)
        return open_sqlite(path, options, ret_backend, reason);
    if (after_prefix(address, "postgres://") != NULL || after_prefix(address, "postgresql://") != NULL)
        return open_postgres(address, options, ret_backend, reason);
    if (strcmp(address, "memory:") == 0)
        return hora__memory_open(options, ret_backend, reason);
    /* The address is not repeated in the message, because it may contain a password. */
    return hora__store_refuse(reason, HORA_EINVAL, "address",
                              "an address starts with sqlite:, postgres:// or postgresql://, or is memory:");
}

int hora_store_open(const char *address, const hora_store_options *given, hora_store **ret_store,
                    hora_error *reason)
{
    hora_error ignored = {.code = 0};
    reason = reason != NULL ? reason : &ignored;
    if (address == NULL || ret_store == NULL)
        return hora__store_refuse(reason, HORA_EINVAL, address == NULL ? "address" : "ret_store",
                                  "%s is NULL", address == NULL ? "address" : "ret_store");
    hora_store_options options;
    int error = complete_options(given, &options, reason);
    if (error < 0)
        return error;
    hora_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "out of memory");
    error = open_backend(address, &options, &store->backend, reason);
    if (error < 0) {
        free(store);
        return error;
    }
    store->process = getpid();
    store->last_put = &store->first_put;
    atomic_init(&store->durables, 0);
    pthread_mutex_init(&store->lock, NULL); /* cannot fail with default attributes */
    hora__store_success(reason);
    *ret_store = store;
    return 0;
}

int hora__store_check(const hora_store *store, hora_error *reason)
{
    if (store == NULL)
        return hora__store_refuse(reason, HORA_EINVAL, "store", "store is NULL");
    if (store->process != getpid())
        return hora__store_refuse(reason, HORA_EFORKED, "store",
                                  "the store was opened by the parent process; open it again");
    return 0;
}

int hora_store_close(hora_store *store)
{
    if (store == NULL)
        return 0;
    int error = hora__store_check(store, NULL);
    if (error < 0)
        return error;
    if (atomic_load(&store->durables) != 0)
        return HORA_EBUSY;
    assert(store->first_put == NULL && !store->putting);
    store->backend->ops->close(store->backend);
    pthread_mutex_destroy(&store->lock);
    free(store);
    return 0;
}

void hora__store_set_woken(hora_store *store, hora__woken_fn woken, void *arg)
{
    pthread_mutex_lock(&store->lock);
    store->woken = woken;
    store->woken_arg = arg;
    pthread_mutex_unlock(&store->lock);
}

/* The lock is held during the call, so that the durable scheduler cannot go meanwhile. It only takes a
 * note. */
void hora__store_changed(hora_store *store, int64_t due, bool after_now)
{
    pthread_mutex_lock(&store->lock);
    if (store->woken != NULL)
        store->woken(due, after_now, store->woken_arg);
    pthread_mutex_unlock(&store->lock);
}

int hora_store_wake(hora_store *store)
{
    hora_error reason;
    int error = hora__store_check(store, &reason);
    if (error < 0)
        return error;
    hora__store_changed(store, INT64_MIN, false);
    return store->backend->ops->wake(store->backend, &reason);
}

/* ---- changing ---- */

static int change(hora_store *store, hora__change_kind kind, const char *key, int64_t id, hora_instant at,
                  hora_error *reason)
{
    hora_error ignored = {.code = 0};
    reason = reason != NULL ? reason : &ignored;
    int result = hora__store_check(store, reason);
    if (result < 0)
        return result;
    if (key == NULL && id <= 0)
        return hora__store_refuse(reason, HORA_EINVAL, "id", "key is NULL and id is %lld", (long long)id);
    if (key != NULL && id != 0)
        return hora__store_refuse(reason, HORA_EINVAL, "id", "both key and id are given");
    result = hora__text_check(key, "key", reason);
    if (result < 0)
        return result;
    hora__change wanted = {.kind = kind, .key = key, .id = id, .due = hora__us_ceil(at)};
    result = store->backend->ops->change(store->backend, &wanted, reason);
    if (result == HORA_ENOENT && key != NULL)
        return hora__store_refuse(reason, result, "key", "the store has no %stask with the key \"%.200s\"",
                                  kind == HORA__CHANGE_REVIVE ? "dead " : "", key);
    if (result == HORA_ENOENT)
        return hora__store_refuse(reason, result, "id", "the store has no %stask with the id %lld",
                                  kind == HORA__CHANGE_REVIVE ? "dead " : "", (long long)id);
    if (result >= 0) {
        hora__store_success(reason);
        hora__store_changed(store, INT64_MIN, false);
    }
    return result;
}

int hora_store_cancel(hora_store *store, const char *key, int64_t id, hora_error *reason)
{
    return change(store, HORA__CHANGE_CANCEL, key, id, (hora_instant){0}, reason);
}

int hora_store_retime(hora_store *store, const char *key, int64_t id, hora_instant at, hora_error *reason)
{
    return change(store, HORA__CHANGE_RETIME, key, id, at, reason);
}

int hora_store_pause(hora_store *store, const char *key, int64_t id, hora_error *reason)
{
    return change(store, HORA__CHANGE_PAUSE, key, id, (hora_instant){0}, reason);
}

int hora_store_resume(hora_store *store, const char *key, int64_t id, hora_error *reason)
{
    return change(store, HORA__CHANGE_RESUME, key, id, (hora_instant){0}, reason);
}

int hora_store_revive(hora_store *store, const char *key, int64_t id, hora_instant at, hora_error *reason)
{
    return change(store, HORA__CHANGE_REVIVE, key, id, at, reason);
}

int hora_store_stop(hora_store *store, int64_t id, int64_t fence, hora_instant next, int code,
                    const char *note, size_t note_size, hora_error *reason)
{
    hora_error ignored = {.code = 0};
    reason = reason != NULL ? reason : &ignored;
    int result = hora__store_check(store, reason);
    if (result < 0)
        return result;
    if (id <= 0)
        return hora__store_refuse(reason, HORA_EINVAL, "id", "id is %lld", (long long)id);
    if (note == NULL && note_size > 0)
        return hora__store_refuse(reason, HORA_EINVAL, "note", "note is NULL");
    if (note_size > HORA__MAX_NOTE)
        return hora__store_refuse(reason, HORA_ERANGE, "note", "the note has more than 64 KB");
    hora__change wanted = {.kind = HORA__CHANGE_STOP,
                           .id = id,
                           .due = hora__us_ceil(next),
                           .fence = fence,
                           .code = code,
                           .note = {note, note_size}};
    result = store->backend->ops->change(store->backend, &wanted, reason);
    if (result >= 0) {
        hora__store_success(reason);
        hora__store_changed(store, INT64_MIN, false);
    }
    return result;
}

/* ---- looking ---- */

typedef struct listing {
    hora_durable_info_fn fn;
    void *arg;
} listing;

/* Adds the schedule in words. A definition that this version cannot read is shown as it is. */
static int show_task(hora_durable_info *info, const char *text, void *arg)
{
    const listing *list = arg;
    char words[512];
    hora__definition *definition = NULL;
    if (info->recurring && text != NULL) {
        info->schedule = text;
        if (hora__definition_read(text, &definition, NULL) == 0 &&
            hora__definition_describe(definition, words, sizeof words) > 0)
            info->schedule = words;
    }
    int result = list->fn(info, list->arg);
    hora__definition_free(definition);
    return result;
}

int hora_store_list(hora_store *store, const hora_durable_filter *given, hora_durable_info_fn fn, void *arg,
                    hora_error *reason)
{
    hora_error ignored = {.code = 0};
    reason = reason != NULL ? reason : &ignored;
    hora_durable_filter filter;
    int error = hora__store_check(store, reason);
    if (error == 0)
        error = hora__store_read_options(&filter, sizeof filter, sizeof filter, given, "hora_durable_filter",
                                         reason);
    if (error < 0)
        return error;
    if (fn == NULL)
        return hora__store_refuse(reason, HORA_EINVAL, "fn", "fn is NULL");
    if (filter.state < 0 || filter.state > HORA_DURABLE_DEAD || filter.limit < 0)
        return hora__store_refuse(reason, HORA_EINVAL, filter.limit < 0 ? "limit" : "state",
                                  "state is %d and limit is %lld", (int)filter.state,
                                  (long long)filter.limit);
    error = hora__text_check(filter.key, "key", reason);
    if (error == 0)
        error = hora__text_check(filter.key_prefix, "key_prefix", reason);
    if (error == 0)
        error = hora__text_check(filter.handler, "handler", reason);
    if (error < 0)
        return error;
    listing list = {fn, arg};
    error = store->backend->ops->list(store->backend, &filter, show_task, &list, reason);
    if (error == 0)
        hora__store_success(reason);
    return error;
}

int hora_store_history(hora_store *store, const hora_history_filter *given, hora_run_record_fn fn, void *arg,
                       hora_error *reason)
{
    hora_error ignored = {.code = 0};
    reason = reason != NULL ? reason : &ignored;
    hora_history_filter filter;
    int error = hora__store_check(store, reason);
    if (error == 0)
        error = hora__store_read_options(&filter, sizeof filter, sizeof filter, given, "hora_history_filter",
                                         reason);
    if (error < 0)
        return error;
    if (fn == NULL)
        return hora__store_refuse(reason, HORA_EINVAL, "fn", "fn is NULL");
    if (filter.outcome < 0 || filter.outcome > HORA_RUN_STOPPED || filter.limit < 0)
        return hora__store_refuse(reason, HORA_EINVAL, filter.limit < 0 ? "limit" : "outcome",
                                  "outcome is %d and limit is %lld", (int)filter.outcome,
                                  (long long)filter.limit);
    error = hora__text_check(filter.key, "key", reason);
    if (error == 0)
        error = store->backend->ops->history(store->backend, &filter, fn, arg, reason);
    if (error == 0)
        hora__store_success(reason);
    return error;
}

int hora_store_trim_history(hora_store *store, hora_instant before, hora_error *reason)
{
    hora_error ignored = {.code = 0};
    reason = reason != NULL ? reason : &ignored;
    int64_t deleted = 0;
    int error = hora__store_check(store, reason);
    if (error == 0)
        error = store->backend->ops->trim(store->backend, hora__us_ceil(before), &deleted, reason);
    if (error < 0)
        return error;
    hora__store_success(reason);
    return deleted > INT_MAX ? INT_MAX : (int)deleted;
}

int hora_store_get_stats(hora_store *store, hora_store_stats *ret_stats, hora_error *reason)
{
    hora_error ignored = {.code = 0};
    reason = reason != NULL ? reason : &ignored;
    hora_store_stats stats = HORA_INIT(hora_store_stats);
    int error = hora__store_check(store, reason);
    if (error == 0 && ret_stats == NULL)
        error = hora__store_refuse(reason, HORA_EINVAL, "ret_stats", "ret_stats is NULL");
    if (error == 0)
        error = store->backend->ops->stats(store->backend, &stats, reason);
    if (error == 0)
        error = hora__store_write_result(ret_stats, sizeof stats, &stats, sizeof stats, "hora_store_stats",
                                         reason);
    if (error == 0)
        hora__store_success(reason);
    return error;
}

int hora_durable_task_check(const hora_durable_task *task, hora_error *reason)
{
    hora_error ignored = {.code = 0};
    reason = reason != NULL ? reason : &ignored;
    hora__definition *definition;
    int error = hora__definition_new(task, &definition, reason);
    if (error < 0)
        return error;
    hora__definition_free(definition);
    hora__store_success(reason);
    return 0;
}
