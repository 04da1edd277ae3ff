/* SPDX-License-Identifier: Apache-2.0 */
/* worker.c - a process that puts tasks, runs them, or shows what a store has; for tests/store/crash/run
 *
 *     store-worker ADDRESS put KIND FROM COUNT DELAY_MS SPREAD_MS   put COUNT tasks named KIND-N
 *     store-worker ADDRESS work LOG SECONDS                          run tasks until the store is empty
 *     store-worker ADDRESS show                                      print tasks and history as a table
 *     store-worker ADDRESS effects                                   print the table of effects
 *
 * Options come first: --die STEP N ends the process with SIGKILL when it passes STEP for the N-th time,
 * --steps FILE appends the name of every step that was passed, once, and --schema NAME is that of PostgreSQL.
 *
 * KIND is one of: once, rate, delay, cron, most, effect, overlap, retry, detached. Recurring tasks have three
 * firings. A run of a detached one outlives its handler, and another thread ends it.
 *
 * Every run appends two lines to LOG, one before and one after its work, each with a single write, so that a
 * kill of the process loses none that was written:
 *
 *     start KEY PLANNED_US FENCE ATTEMPT NODE TIME_US
 *     end   KEY PLANNED_US FENCE ATTEMPT NODE TIME_US */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(HORA_WITH_POSTGRES)
#include <libpq-fe.h>
#endif
#if defined(HORA_WITH_SQLITE)
#include <sqlite3.h>
#endif

#include <hora/hora.h>
#include <hora/store.h>

enum { MAX_STEPS = 200, MAX_BATCH = 200, MAX_TRIES = 200 };

/* ---- steps ---- */

static const char *die_at;
static long die_after;
static int steps_file = -1;
static const char *schema;
static pthread_mutex_t steps_lock = PTHREAD_MUTEX_INITIALIZER;
static const char *seen[MAX_STEPS];
static int seen_count;

void hora__step(const char *name);

void hora__step(const char *name)
{
    pthread_mutex_lock(&steps_lock);
    if (die_at != NULL && strcmp(name, die_at) == 0 && --die_after == 0)
        kill(getpid(), SIGKILL);
    int i = 0;
    while (i < seen_count && strcmp(seen[i], name) != 0)
        i++;
    if (i == seen_count && i < MAX_STEPS) {
        seen[seen_count++] = name;
        char line[128];
        int length = snprintf(line, sizeof line, "%s\n", name);
        if (steps_file >= 0 && write(steps_file, line, (size_t)length) != length)
            _exit(3);
    }
    pthread_mutex_unlock(&steps_lock);
}

/* ---- runs ---- */

static int log_file = -1;

static int fail(const char *what, const hora_error *error)
{
    fprintf(stderr, "store-worker: %s: %s\n", what, error->message);
    return 1;
}

static void write_line(const char *what, const hora_run *run)
{
    hora_instant now;
    hora_durable_status status = HORA_INIT(hora_durable_status);
    if (hora_clock_instant(hora_clock_system(HORA_CLOCK_WALL), &now) < 0 ||
        hora_durable_get_status(run->durable, &status) < 0)
        _exit(3);
    char line[512];
    int length =
        snprintf(line, sizeof line, "%s\t%s\t%" PRId64 "\t%" PRId64 "\t%d\t%" PRId64 "\t%" PRId64 "\n", what,
                 run->key, run->planned.ns / 1000, run->fence, run->attempt, status.node, now.ns / 1000);
    if (length < 0 || write(log_file, line, (size_t)length) != length)
        _exit(3);
}

/* An effect in the database of the store itself. */
static int write_effect(const hora_run *run)
{
    char statement[512];
    snprintf(statement, sizeof statement, "INSERT INTO %s%seffect VALUES ('%s', %" PRId64 ")",
             schema == NULL ? "" : schema, schema == NULL ? "" : ".", run->key, run->planned.ns / 1000);
    hora_error error;
#if defined(HORA_WITH_SQLITE)
    struct sqlite3 *sqlite;
    if (hora_run_begin_sqlite(run, &sqlite, &error) == 0)
        return sqlite3_exec(sqlite, statement, NULL, NULL, NULL) == SQLITE_OK ? 0 : HORA_EIO;
    if (error.code != HORA_EINVAL)
        return error.code;
#endif
#if defined(HORA_WITH_POSTGRES)
    struct pg_conn *postgres;
    if (hora_run_begin_postgres(run, &postgres, &error) == 0) {
        PGresult *result = PQexec(postgres, statement);
        int ok = PQresultStatus(result) == PGRES_COMMAND_OK;
        PQclear(result);
        return ok ? 0 : HORA_EIO;
    }
#endif
    return error.code;
}

static hora_pool *finishers;

/* The run ends all the same. */
static void ignore_stop(const hora_run *run, void *arg)
{
    (void)run, (void)arg;
}

static int finish_run(void *arg, void **ret_result)
{
    (void)ret_result;
    const hora_run *run = arg;
    write_line("end", run);
    return hora_run_finish(run, 0);
}

static int run_detached(const hora_run *run)
{
    if (hora_run_detach(run, ignore_stop, NULL) < 0 ||
        hora_pool_execute(finishers, HORA_TASK(finish_run, (void *)(uintptr_t)run)) < 0)
        _exit(3);
    return 0;
}

static int run_task(const hora_run *run, void *arg)
{
    (void)arg;
    write_line("start", run);
    int code = 0;
    if (strncmp(run->key, "detached", 8) == 0)
        return run_detached(run);
    if (strncmp(run->key, "effect", 6) == 0)
        code = write_effect(run);
    else if (strncmp(run->key, "retry", 5) == 0 && run->attempt == 1)
        code = HORA_EFAILED;
    else if (strncmp(run->key, "overlap", 7) == 0)
        (void)hora_sleep(HORA_MS(30));
    write_line("end", run);
    return code;
}

/* ---- commands ---- */

static int put_batch(hora_store *store, const char *kind, long from, long count, long delay_ms,
                     long spread_ms)
{
    static char keys[MAX_BATCH][64];
    static hora_durable_task tasks[MAX_BATCH];
    const hora_durable_task *pointers[MAX_BATCH];
    for (long i = 0; i < count; i++) {
        hora_durable_task *task = &tasks[i];
        *task = (hora_durable_task)HORA_INIT(hora_durable_task);
        snprintf(keys[i], sizeof keys[i], "%s-%ld", kind, from + i);
        task->handler = "run";
        task->key = keys[i];
        task->if_exists = HORA_IF_EXISTS_KEEP; /* a put that was killed is repeated */
        task->history = true;
        task->back_off = HORA_MS(5);
        task->max_attempts = 1000;
        long offset = delay_ms + (spread_ms == 0 ? 0 : (from + i) * 7919 % spread_ms);
        task->initial_delay = HORA_MS(offset);
        if (strcmp(kind, "rate") == 0 || strcmp(kind, "overlap") == 0)
            task->fixed_rate = HORA_MS(20), task->count = 3, task->missed = HORA_MISSED_BURST;
        if (strcmp(kind, "overlap") == 0)
            task->overlap = HORA_OVERLAP_ALLOW, task->overlap_max = 4;
        if (strcmp(kind, "delay") == 0)
            task->fixed_delay = HORA_MS(20), task->count = 3;
        if (strcmp(kind, "cron") == 0)
            task->cron = "* * * * * *", task->count = 3, task->missed = HORA_MISSED_BURST;
        if (strcmp(kind, "most") == 0)
            task->delivery = HORA_AT_MOST_ONCE, task->max_attempts = 0, task->back_off = 0;
        if (strcmp(kind, "effect") == 0)
            task->delivery = HORA_EFFECT_ONCE;
        pointers[i] = task;
    }
    hora_error error;
    if (hora_store_put_all(store, pointers, (size_t)count, NULL, &error) < 0)
        return fail("put", &error);
    return 0;
}

static int put(hora_store *store, char **arguments)
{
    long from = atol(arguments[1]), count = atol(arguments[2]);
    long delay_ms = atol(arguments[3]), spread_ms = atol(arguments[4]);
    int status = 0;
    for (long done = 0; done < count && status == 0; done += MAX_BATCH) {
        long some = count - done < MAX_BATCH ? count - done : MAX_BATCH;
        status = put_batch(store, arguments[0], from + done, some, delay_ms, spread_ms);
    }
    return status;
}

static void report(hora_durable *durable, hora_durable_event event, int64_t count, const hora_error *error,
                   void *arg)
{
    (void)durable, (void)arg;
    static const char *const names[] = {"",          "disconnected", "connected",     "fenced",
                                        "took over", "stale",        "clock stepped", "failed"};
    fprintf(stderr, "%s %" PRId64 " %s\n", names[event], count, error == NULL ? "" : error->message);
}

/* A server that is away when a program starts is tried again, as a service manager does. */
static bool tries_again(int error, int tries)
{
    bool away = error == HORA_EIO || error == HORA_ETIMEDOUT || error == HORA_EBUSY;
    return away && tries < MAX_TRIES && hora_sleep(HORA_MS(100)) == 0;
}

static int open_store(const char *address, hora_store **ret_store, hora_error *error)
{
    int tries = 0;
    while (hora_store_open(address, HORA_STORE_OPTIONS(.schema = schema), ret_store, error) < 0)
        if (!tries_again(error->code, tries++))
            return error->code;
    return 0;
}

static int start(hora_durable *durable, hora_error *error)
{
    int tries = 0;
    while (hora_durable_start(durable, error) < 0)
        if (!tries_again(error->code, tries++))
            return error->code;
    return 0;
}

static int work(hora_store *store, const char *path, long seconds)
{
    log_file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0644);
    hora_durable *durable;
    hora_error error;
    if (log_file < 0 || hora_pool_new_fixed(2, NULL, &finishers, &error) < 0 ||
        hora_durable_new(store,
                         HORA_DURABLE_OPTIONS(.threads = 8, .lease = HORA_SECONDS(1), .notify = report),
                         &durable, &error) < 0 ||
        hora_durable_add_handler(durable, "run", run_task, NULL, NULL, &error) < 0 ||
        start(durable, &error) < 0)
        return fail("work", &error);
    hora_ns end = hora_clock_now(NULL) + HORA_SECONDS(seconds);
    int status = 1;
    while (hora_clock_now(NULL) < end) {
        hora_store_stats stats = HORA_INIT(hora_store_stats);
        if (hora_store_get_stats(store, &stats, &error) == 0 && stats.waiting == 0 && stats.claimed == 0) {
            status = 0;
            break;
        }
        (void)hora_sleep(HORA_MS(100));
    }
    if (status != 0)
        fputs("store-worker: the store is not empty in time\n", stderr);
    if (hora_durable_stop(durable, HORA_SECONDS(5), &error) < 0)
        status = fail("stop", &error);
    hora_durable_free(durable);
    (void)hora_pool_free(finishers);
    return status;
}

static int show_task(const hora_durable_info *info, void *arg)
{
    (void)arg;
    printf("task\t%s\t%d\t%" PRId64 "\t%" PRId64 "\n", info->key == NULL ? "" : info->key, (int)info->state,
           info->planned.ns / 1000, info->fence);
    return 0;
}

static int show_record(const hora_run_record *record, void *arg)
{
    (void)arg;
    printf("record\t%s\t%" PRId64 "\t%" PRId64 "\t%d\t%" PRId64 "\t%d\n",
           record->key == NULL ? "" : record->key, record->planned.ns / 1000, record->fence,
           (int)record->outcome, record->node, record->attempt);
    return 0;
}

static int show(hora_store *store)
{
    hora_error error;
    if (hora_store_list(store, NULL, show_task, NULL, &error) != 0 ||
        hora_store_list(store, HORA_DURABLE_FILTER(.state = HORA_DURABLE_DEAD), show_task, NULL, &error) !=
            0 ||
        hora_store_history(store, NULL, show_record, NULL, &error) != 0)
        return fail("show", &error);
    return 0;
}

static char **read_options(char **arguments)
{
    for (; arguments[0] != NULL; arguments += 2) {
        if (strcmp(arguments[0], "--die") == 0 && arguments[1] != NULL && arguments[2] != NULL) {
            die_at = arguments[1];
            die_after = atol(arguments[2]);
            arguments++;
        } else if (strcmp(arguments[0], "--steps") == 0 && arguments[1] != NULL) {
            steps_file = open(arguments[1], O_WRONLY | O_APPEND | O_CREAT, 0644);
        } else if (strcmp(arguments[0], "--schema") == 0 && arguments[1] != NULL) {
            schema = arguments[1];
        } else {
            break;
        }
    }
    return arguments;
}

int main(int argc, char **argv)
{
    char **arguments = read_options(argv + 1);
    long count = argv + argc - arguments;
    hora_store *store;
    hora_error error;
    if (count < 2) {
        fputs("usage: see worker.c\n", stderr);
        return 2;
    }
    if (open_store(arguments[0], &store, &error) < 0)
        return fail("open", &error);
    int status = 2;
    if (strcmp(arguments[1], "put") == 0 && count == 7)
        status = put(store, arguments + 2);
    else if (strcmp(arguments[1], "work") == 0 && count == 4)
        status = work(store, arguments[2], atol(arguments[3]));
    else if (strcmp(arguments[1], "show") == 0)
        status = show(store);
    else
        fputs("usage: see worker.c\n", stderr);
    hora_store_close(store);
    return status;
}
