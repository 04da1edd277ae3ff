/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c - jobs and the store: one recurring task for each job
 *
 * A job is a task with the key NAMESPACE/JOB and the trigger JOB:HASH, where HASH is that of its schedule. So a
 * node whose files have another schedule for a job leaves it to the nodes that have the same. The payload says
 * what the task was made from: "SCHEDULE JOB KEY", two hashes and the key, because the row of a run that
 * overlaps has no key. If it is that of the files, there is nothing to do. If only the schedule is, the task is
 * replaced and keeps its next time.
 *
 * A run that waits between two attempts ends when its job is changed or removed: see stop_waiting.
 *
 * A job without a further time is parked (JOB_PARKED): its row stays, with its history, and can be given a time
 * by hora run, or by a job that it runs after. The task of a job that is not enabled is always parked.
 *
 * A job that has been given up is among the dead tasks. It stays there, until hora resume or until its
 * description changes. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "runner/internal.h"
#include "text.h"

/* Further attempts, beyond those of `retries`, for runs that were interrupted: by crashes of the runner
 * (MAX_CRASHES), or by its end. */
enum { MORE_ATTEMPTS = 1000, PUT_AT_ONCE = 500 };

#define LEAST_LATENESS HORA_SECONDS(1)
#define MOST_LATENESS  HORA_SECONDS(60)

char *job_key(const struct runner *runner, const char *job)
{
    return text_format("%s/%s", runner->namespace, job);
}

const char *job_of_key(const struct runner *runner, const char *key)
{
    size_t length = strlen(runner->namespace);
    if (key == NULL || strncmp(key, runner->namespace, length) != 0 || key[length] != '/')
        return key == NULL ? "" : key;
    return key + length + 1;
}

/* The key of a task, from its payload if it has none; the caller frees it. */
static char *key_of_task(const hora_durable_info *info)
{
    if (info->key != NULL)
        return text_copy(info->key);
    const char *text = info->payload;
    size_t size = info->payload_size, start = 0;
    for (int words = 0; words < 2 && start < size; words++)
        do
            start++;
        while (start < size && text[start - 1] != ' ');
    return text_format("%.*s", (int)(size - start), size == 0 ? "" : text + start);
}

char *job_of_task(const struct runner *runner, const hora_durable_info *info)
{
    char *key = key_of_task(info);
    const char *job = job_of_key(runner, key);
    char *copy = job == key ? NULL : text_copy(job);
    free(key);
    return copy;
}

/* ---- what the files want ---- */

/* The task that a job needs. */
struct wanted {
    char *key, *trigger_name, *payload;
    char schedule[24]; /* first word of the payload */
    hora_trigger *trigger;
    struct job_set *set; /* a reference, for `job` */
    const struct job *job;
    bool is_there; /* the store has it already */
    bool moves;    /* its next time is to be computed anew, although its description is the same */
};

/* A task that the store has. */
struct found {
    char *key, *payload;
    int64_t id, fence;
    hora_instant planned, due;
    hora_durable_state state;
    bool overlaps; /* a run that overlaps others: another row stands for the job */
    int attempts;  /* that have ended, if it waits for another one */
    char *stopped; /* why that does not come; NULL: it comes, or there is none */
};

struct agreement {
    const struct runner *runner; /* its name, and what does not change */
    struct loop *loop;
    hora_store *store;
    hora_durable *durable;
    char *prefix;
    struct wanted *wanted; /* by key */
    size_t wanted_count;
    struct found *found;
    size_t found_count, found_room;
    size_t living_count; /* the first ones stand for jobs that are not dead, and are sorted by key */
    hora_instant now;    /* of the store */
    int put, cancelled;
};

static hora_ns parked(const hora_trigger_context *context, void *arg)
{
    (void)context, (void)arg;
    return JOB_PARKED;
}

uint64_t job_hash(const struct job *job)
{
    json_t *json = job_to_json(job, true);
    char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    uint64_t hash = text_hash(text == NULL ? "" : text);
    json_decref(json);
    free(text);
    return hash;
}

static void want(struct wanted *wanted, struct job_state *state)
{
    const struct job *job = state->job;
    *wanted = (struct wanted){.key = text_copy(state->key),
                              .set = job_set_ref(state->set),
                              .job = job,
                              .moves = state->times_have_changed};
    state->times_have_changed = false;
    if (job->enabled)
        job_schedule_hash(job, wanted->schedule);
    else
        (void)snprintf(wanted->schedule, sizeof wanted->schedule, "disabled");
    wanted->trigger_name = text_format("%s:%s", job->name, wanted->schedule);
    wanted->payload = text_format("%s %016" PRIx64 " %s", wanted->schedule, state->hash, state->key);
    int error = job->enabled ? job_trigger_new(job, &wanted->trigger)
                             : hora_trigger_new(parked, NULL, NULL, &wanted->trigger);
    if (error < 0)
        out_of_memory();
}

struct agreement *agreement_new(struct runner *runner)
{
    struct agreement *agreement = memory(sizeof *agreement);
    *agreement = (struct agreement){.runner = runner,
                                    .loop = runner->loop,
                                    .store = runner->store,
                                    .durable = runner->durable,
                                    .prefix = text_format("%s/", runner->namespace),
                                    .wanted = memory((runner->job_count + 1) * sizeof(struct wanted)),
                                    .wanted_count = runner->job_count};
    for (size_t i = 0; i < runner->job_count; i++)
        want(&agreement->wanted[i], runner->jobs[i]);
    return agreement;
}

void agreement_free(struct agreement *agreement)
{
    for (size_t i = 0; i < agreement->wanted_count; i++) {
        struct wanted *wanted = &agreement->wanted[i];
        hora_trigger_unref(wanted->trigger);
        job_set_unref(wanted->set);
        free(wanted->key);
        free(wanted->trigger_name);
        free(wanted->payload);
    }
    for (size_t i = 0; i < agreement->found_count; i++) {
        free(agreement->found[i].key);
        free(agreement->found[i].payload);
        free(agreement->found[i].stopped);
    }
    free(agreement->wanted);
    free(agreement->found);
    free(agreement->prefix);
    free(agreement);
}

void agreement_counts(const struct agreement *agreement, int *ret_put, int *ret_cancelled)
{
    *ret_put = agreement->put;
    *ret_cancelled = agreement->cancelled;
}

/* ---- what the store has ---- */

static int find_task(const hora_durable_info *info, void *arg)
{
    struct agreement *agreement = arg;
    char *key = key_of_task(info);
    if (strncmp(key, agreement->prefix, strlen(agreement->prefix)) != 0) {
        free(key); /* of another namespace */
        return 0;
    }
    if (agreement->found_count == agreement->found_room) {
        agreement->found_room = agreement->found_room == 0 ? 64 : 2 * agreement->found_room;
        struct found *more = memory(agreement->found_room * sizeof *more);
        if (agreement->found_count > 0)
            memcpy(more, agreement->found, agreement->found_count * sizeof *more);
        free(agreement->found);
        agreement->found = more;
    }
    char *payload = memory(info->payload_size + 1);
    if (info->payload_size > 0)
        memcpy(payload, info->payload, info->payload_size);
    payload[info->payload_size] = '\0';
    agreement->found[agreement->found_count++] =
        (struct found){.key = key,
                       .payload = payload,
                       .id = info->id,
                       .fence = info->fence,
                       .planned = info->planned,
                       .due = info->due,
                       .state = info->state,
                       .overlaps = info->key == NULL,
                       .attempts = attempts_ended(info, agreement->now)};
    agreement->living_count += info->key != NULL && info->state != HORA_DURABLE_DEAD;
    return 0;
}

static int order_found(const void *a, const void *b)
{
    const struct found *one = a, *other = b;
    return one->overlaps != other->overlaps ? one->overlaps - other->overlaps : strcmp(one->key, other->key);
}

static int find_tasks(struct agreement *agreement, hora_error *reason)
{
    hora_store_stats stats = HORA_INIT(hora_store_stats);
    int error = hora_store_get_stats(agreement->store, &stats, reason);
    agreement->now = stats.now;
    if (error == 0)
        error = hora_store_list(agreement->store, HORA_DURABLE_FILTER(.handler = HANDLER_JOB), find_task,
                                agreement, reason);
    if (agreement->found_count > 0)
        qsort(agreement->found, agreement->found_count, sizeof *agreement->found, order_found);
    if (error == 0)
        error =
            hora_store_list(agreement->store,
                            HORA_DURABLE_FILTER(.key_prefix = agreement->prefix, .state = HORA_DURABLE_DEAD),
                            find_task, agreement, reason);
    return error;
}

static int compare_wanted(const void *key, const void *wanted)
{
    return strcmp(key, ((const struct wanted *)wanted)->key);
}

static struct wanted *wanted_of(const struct agreement *agreement, const char *key)
{
    return bsearch(key, agreement->wanted, agreement->wanted_count, sizeof *agreement->wanted,
                   compare_wanted);
}

/* Whether a task was made from the same description as the one that is wanted, if any. */
static bool is_same(const struct wanted *wanted, const struct found *found)
{
    return wanted != NULL && strcmp(wanted->payload, found->payload) == 0;
}

/* A task that is not in the files, or a dead one whose job has changed, is removed. */
static int cancel_others(struct agreement *agreement, hora_error *reason)
{
    for (size_t i = 0; i < agreement->found_count; i++) {
        const struct found *found = &agreement->found[i];
        struct wanted *wanted = wanted_of(agreement, found->key);
        bool same = is_same(wanted, found);
        if (found->overlaps)
            continue;
        if (same && (!wanted->moves || found->state == HORA_DURABLE_DEAD))
            wanted->is_there = true;
        if (same || (wanted != NULL && found->state != HORA_DURABLE_DEAD))
            continue;
        int error = hora_store_cancel(agreement->store, found->key, 0, reason);
        if (error < 0)
            return error;
        agreement->cancelled++;
    }
    return 0;
}

/* ---- putting ---- */

static int compare_found(const void *key, const void *found)
{
    return strcmp(key, ((const struct found *)found)->key);
}

/* The task with a key that is not dead. */
static const struct found *living(const struct agreement *agreement, const char *key)
{
    if (agreement->living_count == 0)
        return NULL;
    return bsearch(key, agreement->found, agreement->living_count, sizeof *agreement->found, compare_found);
}

/* Whether a task was made from the same schedule as the one that is wanted. */
static bool has_same_schedule(const struct wanted *wanted, const struct found *found)
{
    size_t length = strlen(wanted->schedule);
    return strncmp(found->payload, wanted->schedule, length) == 0 && found->payload[length] == ' ';
}

/* The next time of a task that is put. A new job may begin now. A job with the same schedule keeps the time
 * that waits, also if that has passed: `missed` decides about it. Otherwise it is a time after now: earlier
 * ones are those of the old schedule, or came during the run in progress. The store would take a time in the
 * past for now, which is not one of the schedule. */
static hora_instant next_time(const struct agreement *agreement, const struct wanted *wanted)
{
    if (!wanted->job->enabled)
        return (hora_instant){JOB_PARKED};
    const struct found *found = living(agreement, wanted->key);
    if (found == NULL)
        return job_first_time(wanted->job, agreement->now);
    /* It runs, or waits for another attempt, which the job that takes its place does not make. */
    bool has_begun = (found->state == HORA_DURABLE_CLAIMED || found->due.ns > agreement->now.ns) &&
                     found->planned.ns <= agreement->now.ns;
    if (has_begun || wanted->moves || !has_same_schedule(wanted, found))
        return job_next_time(wanted->job, agreement->now);
    return found->planned;
}

/* How late a firing may be before it counts as missed: half of the time to the next one, within limits. A job
 * without times, which runs on request or after others, may be as late as any. */
hora_ns job_lateness(const struct job *job, hora_instant now)
{
    hora_instant first = job_next_time(job, now);
    hora_instant second = job_next_time(job, first);
    if (second.ns >= JOB_PARKED)
        return MOST_LATENESS;
    hora_ns half = (second.ns - first.ns) / 2;
    return half < LEAST_LATENESS ? LEAST_LATENESS : half > MOST_LATENESS ? MOST_LATENESS : half;
}

static void set_overlap(const struct job *job, hora_durable_task *task)
{
    switch (job->overlap) {
    case OVERLAP_ALLOW:
        task->overlap = HORA_OVERLAP_ALLOW;
        task->overlap_max = job->overlap_max;
        break;
    case OVERLAP_QUEUE:
        task->busy = HORA_BUSY_QUEUE;
        task->busy_max = job->overlap_max;
        break;
    case OVERLAP_REPLACE: /* the time that stopped the run is the one to make up */
        task->busy = HORA_BUSY_QUEUE;
        task->busy_max = 1;
        break;
    case OVERLAP_SKIP:
    default:
        task->busy = HORA_BUSY_SKIP;
        break;
    }
}

static hora_durable_task task_of(const struct agreement *agreement, const struct wanted *wanted)
{
    static const hora_missed missed[] = {[MISSED_SKIP] = HORA_MISSED_SKIP,
                                         [MISSED_ONCE] = HORA_MISSED_ONCE,
                                         [MISSED_ALL] = HORA_MISSED_AT_MOST};
    const struct job *job = wanted->job;
    hora_durable_task task =
        *HORA_DURABLE_TASK(.handler = HANDLER_JOB, .key = wanted->key, .if_exists = HORA_IF_EXISTS_REPLACE,
                           .payload = wanted->payload, .payload_size = strlen(wanted->payload),
                           .at = next_time(agreement, wanted), .trigger = wanted->trigger_name,
                           .missed = missed[job->missed],
                           .missed_max = job->missed == MISSED_ALL ? job->missed_max : 0,
                           .missed_after = job_lateness(job, agreement->now), .grace = job->grace,
                           .max_attempts = job->retry.count + MORE_ATTEMPTS, .stop_after = job->give_up_after,
                           .priority = (hora_priority)job->priority, .history = true);
    set_overlap(job, &task);
    return task;
}

static int put_tasks(struct agreement *agreement, hora_error *reason)
{
    hora_durable_task tasks[PUT_AT_ONCE];
    const hora_durable_task *pointers[PUT_AT_ONCE];
    size_t count = 0;
    int error = 0;
    for (size_t i = 0; i <= agreement->wanted_count && error >= 0; i++) {
        if (count == PUT_AT_ONCE || (i == agreement->wanted_count && count > 0)) {
            error = hora_store_put_all(agreement->store, pointers, count, NULL, reason);
            agreement->put += (int)count;
            count = 0;
        }
        if (i == agreement->wanted_count || error < 0)
            break;
        struct wanted *wanted = &agreement->wanted[i];
        int known =
            hora_durable_add_trigger(agreement->durable, wanted->trigger_name, wanted->trigger, reason);
        if (known < 0 && known != HORA_EEXIST)
            return known;
        if (wanted->is_there)
            continue;
        tasks[count] = task_of(agreement, wanted);
        pointers[count] = &tasks[count];
        count++;
    }
    return error < 0 ? error : 0;
}

/* ---- runs that wait between two attempts ---- */

/* Ends the run of a task whose job has changed or is gone: the description that it began with is not there
 * any more, and a client may wait for its end. A run that begins at this moment goes on. A run that was
 * interrupted is due now, and is repeated as the new description says. */
static int stop_waiting(const struct agreement *agreement, struct found *found, const struct wanted *wanted,
                        hora_error *reason)
{
    hora_instant next = {JOB_PARKED};
    if (wanted != NULL)
        next = next_time(agreement, wanted);
    char *text = text_format("its job was %s before attempt %d", wanted == NULL ? "removed" : "changed",
                             found->attempts + 1);
    char *note = stopped_note(agreement->runner, text);
    int result = hora_store_stop(agreement->store, found->id, found->fence, next, CODE_CANCELLED, note,
                                 note == NULL ? 0 : strlen(note), reason);
    free(note);
    if (result > 0)
        found->stopped = text;
    else
        free(text);
    return result;
}

static int stop_all_waiting(struct agreement *agreement, hora_error *reason)
{
    int error = 0;
    for (size_t i = 0; i < agreement->found_count && error >= 0; i++) {
        struct found *found = &agreement->found[i];
        const struct wanted *wanted = wanted_of(agreement, found->key);
        bool waits = found->attempts > 0 && found->due.ns > agreement->now.ns;
        if (waits && (!is_same(wanted, found) || wanted->moves))
            error = stop_waiting(agreement, found, wanted, reason);
    }
    return error < 0 ? error : 0;
}

void agreement_report(const struct agreement *agreement, struct runner *runner)
{
    for (size_t i = 0; i < agreement->found_count; i++) {
        const struct found *found = &agreement->found[i];
        if (found->stopped != NULL)
            stopped_report(runner, job_of_key(runner, found->key), found->planned, found->attempts,
                           found->stopped);
    }
}

int agreement_make(struct agreement *agreement, hora_error *reason)
{
    int error = find_tasks(agreement, reason);
    if (error == 0)
        error = stop_all_waiting(agreement, reason);
    if (error == 0)
        error = cancel_others(agreement, reason);
    return error < 0 ? error : put_tasks(agreement, reason);
}

int job_run_at(struct runner *runner, const char *key, hora_instant at, hora_error *reason)
{
    return hora_store_retime(runner->store, key, 0, at, reason);
}
