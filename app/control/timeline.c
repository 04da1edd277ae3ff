/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.c - the request `next`: the next planned times of all jobs, in one list
 *
 * The store knows the next time of each job. From there on, the schedules of the jobs are asked for one time
 * after another; a heap holds the next one of each job. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "control/fields.h"
#include "control/requests.h"
#include "control/times.h"

/* The next time of a job that is not in the list yet. */
struct candidate {
    hora_instant time;
    const struct job *job;
    const char *state;
};

static bool is_before(const struct candidate *a, const struct candidate *b)
{
    return a->time.ns != b->time.ns ? a->time.ns < b->time.ns : strcmp(a->job->name, b->job->name) < 0;
}

/* Moves an element of a heap down to its place. */
static void sift(struct candidate *heap, size_t count, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < count && is_before(&heap[child + 1], &heap[child]))
            child++;
        if (child >= count || !is_before(&heap[child], &heap[at]))
            return;
        struct candidate moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
        at = child;
    }
}

/* Returns true if a job runs after the end of its last run: its later times are estimates. */
static bool is_estimated(const struct job *job)
{
    for (size_t i = 0; i < job->trigger_count; i++)
        if (job->triggers[i].kind == TRIGGER_DELAY)
            return true;
    return false;
}

static bool is_wanted(const json_t *jobs, const char *name)
{
    size_t i;
    json_t *wanted;
    if (jobs == NULL || json_array_size(jobs) == 0)
        return true;
    for (i = 0; i < json_array_size(jobs); i++) {
        wanted = json_array_get(jobs, i);
        if (strcmp(json_string_value(wanted), name) == 0)
            return true;
    }
    return false;
}

/* Returns true if planned times start a job in this state. */
static bool is_active(const char *state)
{
    return strcmp(state, "paused") != 0 && strcmp(state, "given-up") != 0 && strcmp(state, "disabled") != 0;
}

/* Finds the first time of a job. Returns false if it has none, or is not wanted. */
static bool find_first(const struct request *request, const json_t *info, struct candidate *ret_first)
{
    const char *name = json_string_value(json_object_get(info, "job"));
    const char *state = json_string_value(json_object_get(info, "state"));
    const struct job_state *known = name != NULL ? runner_find(request->runner, name) : NULL;
    if (known == NULL || state == NULL || !is_wanted(request->question.jobs, name) ||
        !request_wants(request, known->job) || (!request->question.all && !is_active(state)))
        return false;
    struct candidate first = {.job = known->job, .state = state};
    if (!times_from_json(json_object_get(info, "next"), &first.time))
        first.time = job_next_time(known->job, loop_wall(request->runner->loop));
    *ret_first = first;
    return first.time.ns > 0 && first.time.ns < JOB_PARKED;
}

/* Takes times from the heap, the earliest first. */
static json_t *collect(struct candidate *heap, size_t count, int64_t limit)
{
    json_t *times = json_array();
    while (count > 0 && (int64_t)json_array_size(times) < limit) {
        struct candidate *first = &heap[0];
        json_t *time = json_pack("{s:s, s:o, s:s}", "job", first->job->name, "time",
                                 times_to_json(first->time), "state", first->state);
        if (is_estimated(first->job))
            (void)json_object_set_new(time, "estimated", json_true());
        (void)json_array_append_new(times, time);
        hora_instant next = job_next_time(first->job, first->time);
        if (next.ns > first->time.ns && next.ns < JOB_PARKED)
            first->time = next;
        else
            heap[0] = heap[--count];
        sift(heap, count, 0);
    }
    return times;
}

/* The runner has told the state of all jobs. */
static void listed(json_t *reply, void *arg)
{
    struct request *request = arg;
    const json_t *jobs = json_object_get(reply, "jobs");
    if (!field_is_true(reply, "ok")) {
        request_finish(request, reply);
        return;
    }
    size_t count = 0;
    struct candidate *heap = memory((json_array_size(jobs) + 1) * sizeof *heap);
    for (size_t i = 0; i < json_array_size(jobs); i++)
        count += find_first(request, json_array_get(jobs, i), &heap[count]) ? 1 : 0;
    for (size_t i = count / 2; i-- > 0;)
        sift(heap, count, i);
    json_t *times = collect(heap, count, request->question.limit);
    free(heap);
    json_decref(reply);
    request_finish(request, json_pack("{s:b, s:o}", "ok", 1, "times", times));
}

void next_request(struct request *request)
{
    const json_t *jobs = request->question.jobs;
    for (size_t i = 0; i < json_array_size(jobs); i++)
        if (request_job(request, json_string_value(json_array_get(jobs, i))) == NULL)
            return;
    if (request_has_tags(request))
        runner_request_jobs(request->runner, NULL, listed, request);
}
