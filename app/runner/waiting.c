/* SPDX-License-Identifier: Apache-2.0 */
/* waiting.c - runs that wait for room, and which of them is next
 *
 * Each group has a queue for each priority, and so have the runs without a group. A queue is sorted by planned
 * time; runs with equal times stay in the order in which they came. The next run is the first one, by priority
 * and then by planned time, among the heads of the queues whose group has room. So the search does not depend on
 * how many runs wait. Runs arrive almost in the order of their planned times, so a new one is close to the end of
 * its queue.
 *
 * Hooks do not wait: they need no room. */
#include <assert.h>
#include <stddef.h>

#include "runner/internal.h"

static int lane_of(const struct run *run)
{
    int lane = HORA_PRIORITY_URGENT - run->job->priority;
    assert(lane >= 0 && lane < LANES);
    return lane;
}

static struct run_queue *queue_of(struct run *run)
{
    struct run_queue *queues = run->group != NULL ? run->group->waiting : run->runner->waiting;
    return &queues[lane_of(run)];
}

void waiting_add(struct run *run)
{
    assert(!run->is_queued && run->hook == NULL);
    struct run_queue *queue = queue_of(run);
    struct run *before = queue->last;
    while (before != NULL && before->planned.ns > run->planned.ns)
        before = before->previous_waiting;
    run->is_queued = true;
    run->previous_waiting = before;
    run->next_waiting = before == NULL ? queue->first : before->next_waiting;
    *(before == NULL ? &queue->first : &before->next_waiting) = run;
    *(run->next_waiting == NULL ? &queue->last : &run->next_waiting->previous_waiting) = run;
}

void waiting_remove(struct run *run)
{
    if (!run->is_queued)
        return;
    struct run_queue *queue = queue_of(run);
    run->is_queued = false;
    *(run->previous_waiting == NULL ? &queue->first : &run->previous_waiting->next_waiting) =
        run->next_waiting;
    *(run->next_waiting == NULL ? &queue->last : &run->next_waiting->previous_waiting) =
        run->previous_waiting;
}

static struct run *earlier(struct run *a, struct run *b)
{
    return a == NULL || (b != NULL && b->planned.ns < a->planned.ns) ? b : a;
}

struct run *waiting_first(struct runner *runner)
{
    if (runner->running >= runner->max_running)
        return NULL;
    for (int lane = 0; lane < LANES; lane++) {
        struct run *first = runner->waiting[lane].first;
        for (size_t i = 0; i < runner->group_count; i++)
            if (runner->groups[i]->running < runner->groups[i]->limit)
                first = earlier(first, runner->groups[i]->waiting[lane].first);
        if (first != NULL)
            return first;
    }
    return NULL;
}
