/* SPDX-License-Identifier: Apache-2.0 */
/* after_reader.c - check what jobs run after each other: the targets exist, and there is no circle
 *
 * A depth-first search from each job follows `after`. A job that is on the way already closes a circle. The way
 * is kept in an array, not on the stack of the thread, because it may be as long as there are jobs. */
#include "jobs/reader.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NAMED = 5 }; /* jobs of a circle in a message */

enum state { UNSEEN, ON_THE_WAY, DONE };

/* A job on the way, and the next element of its `after` to follow. */
struct step {
    size_t job, next;
};

struct search {
    struct reader *reader;
    enum state *states;
    struct step *way;
    size_t length;
};

static int by_name(const void *key, const void *element)
{
    return strcmp(key, (*(struct job *const *)element)->name);
}

/* Returns the index of a job, or the number of jobs if there is none of that name. */
static size_t find(const struct jobs *jobs, const char *name)
{
    struct job **found =
        jobs->count == 0 ? NULL : bsearch(name, jobs->jobs, jobs->count, sizeof(*jobs->jobs), by_name);
    return found ? (size_t)(found - jobs->jobs) : jobs->count;
}

/* Reports the circle that the last step of the way closes by going to `target`: "a after b after a". */
static void report_circle(struct search *search, size_t target, const struct place *place)
{
    struct reader *reader = search->reader;
    struct job *const *jobs = reader->jobs->jobs;
    size_t from = search->length - 1;
    while (search->way[from].job != target)
        from--;
    const char *names = jobs[target]->name;
    for (size_t i = from + 1; i < search->length && i <= from + MOST_NAMED; i++)
        names = arena_format(&reader->scratch, "%s after %s", names, jobs[search->way[i].job]->name);
    if (search->length > from + 1 + MOST_NAMED)
        names = arena_format(&reader->scratch, "%s after ...", names);
    report_problem(&reader->report, place, "after: a circle: %s after %s", names, jobs[target]->name);
}

/* Follows the next element of the last step. */
static void follow(struct search *search)
{
    struct reader *reader = search->reader;
    const struct jobs *jobs = reader->jobs;
    struct step *step = &search->way[search->length - 1];
    const struct job *job = jobs->jobs[step->job];
    if (step->next == job->after_count) {
        search->states[step->job] = DONE;
        search->length--;
        return;
    }
    const struct job_after *after = &job->after[step->next++];
    size_t target = find(jobs, after->job);
    if (target == jobs->count)
        return; /* reported already */
    if (search->states[target] == ON_THE_WAY) {
        report_circle(search, target, &after->place);
    } else if (search->states[target] == UNSEEN) {
        search->states[target] = ON_THE_WAY;
        search->way[search->length++] = (struct step){target, 0};
    }
}

static void check_targets(struct reader *reader)
{
    const struct jobs *jobs = reader->jobs;
    const char **known = arena_alloc(&reader->scratch, (jobs->count + 1) * sizeof *known);
    for (size_t i = 0; i < jobs->count; i++)
        known[i] = jobs->jobs[i]->name;
    for (size_t i = 0; i < jobs->count; i++) {
        const struct job *job = jobs->jobs[i];
        for (size_t j = 0; j < job->after_count; j++)
            if (find(jobs, job->after[j].job) == jobs->count)
                reader_unknown(reader, &job->after[j].place, "job", job->after[j].job, known, jobs->count,
                               sizeof *known);
    }
}

void check_after(struct reader *reader)
{
    size_t count = reader->jobs->count;
    struct search search = {.reader = reader};
    check_targets(reader);
    search.states = arena_alloc(&reader->scratch, (count + 1) * sizeof *search.states);
    search.way = arena_alloc(&reader->scratch, (count + 1) * sizeof *search.way);
    for (size_t i = 0; i < count; i++) {
        if (search.states[i] != UNSEEN)
            continue;
        search.states[i] = ON_THE_WAY;
        search.way[search.length++] = (struct step){i, 0};
        while (search.length > 0)
            follow(&search);
    }
}
