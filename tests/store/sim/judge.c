/* SPDX-License-Identifier: Apache-2.0 */
/* judge.c - the promises, checked at each start of a handler and at the end
 *
 *   I1  What had to run has run: no firing of HORA_AT_LEAST_ONCE disappears without an outcome.
 *   I2  Each firing has at most one final outcome, a success or the end of its attempts.
 *   I3  Each run has a fence of its own, and fences of a firing grow.
 *   I4  The store records only outcomes of runs that took place.
 *   I5  A firing of HORA_AT_MOST_ONCE runs at most once.
 *   I7  Runs of a task do not overlap while the leases of their nodes last, or not more than overlap_max do.
 *   I8  When the faults have ended, everything that is due is done.
 *   I9  Nothing starts before its time.
 *
 * I6 is about HORA_EFFECT_ONCE, which a store in memory does not have. Further promises: a handler starts
 * only while the store knows a lease of its node (N1); attempts, count, end, grace and the policy for missed
 * times are kept, and the store accepts nothing from a node whose lease has ended (B4); what a handler says
 * of its outcome and of the next attempt counts; only times that came during a run are left out because of
 * it; runs that must stop are told to. A step of the store's clock ends leases and moves times, so the judge
 * is lenient then. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include <hora/store.h>

#include "sim.h"

/* How much later than the node believes it may be: it learns the time from messages. */
static int64_t tolerance_us(const world *own)
{
    return own->delay_most / 1000 + 20000;
}

static bool is_recurring(const task *of)
{
    return of->definition->kind != HORA__KIND_ONCE;
}

static bool may_overlap(const task *of)
{
    return is_recurring(of) && of->definition->overlap == HORA_OVERLAP_ALLOW;
}

/* How many runs of a task may go on at the same time. Runs that overlap are not counted with those of a task
 * that replaces theirs. */
static int most_together(const task *of)
{
    if (of->replaced != NULL && (may_overlap(of) || of->replaced->overlap == HORA_OVERLAP_ALLOW))
        return INT_MAX;
    return may_overlap(of) ? of->definition->overlap_max : 1;
}

/* True if a run goes on, and the store protects it. */
static bool is_protected(const world *own, const run *one)
{
    return !one->ended && !one->killed && one->node < MAX_LEASES &&
           own->lease_end[one->node] > world_store_us(own);
}

/* A client's new time that is not after the planned time of the run in progress, by a clock that drifts, was
 * set back or shows the same microsecond, repeats that planned time. */
static bool may_repeat(const task *of)
{
    return of->retimed || of->replaced != NULL;
}

/* ---- at a start ---- */

static void check_time(world *own, const task *of, const hora__held *held, const actor *at)
{
    int64_t now = world_store_us(own);
    bool exact = at->ppm == 0;
    if (now + (exact ? 0 : tolerance_us(own)) < held->claim.due)
        world_violation(own, "I9", "%s starts %lld us before its time", of->key,
                        (long long)(held->claim.due - now));
    const hora__definition *rules = held->definition;
    int64_t late = now - held->claim.planned, more = tolerance_us(own) + own->ttl / 1000;
    if (held->claim.planned > rules->end_us)
        world_violation(own, "end", "%s starts for a time after its end", of->key);
    if (held->asked != 0) /* it was in time when it asked */
        return;
    if (rules->grace_us != INT64_MAX && late > rules->grace_us + more)
        world_violation(own, "grace", "%s starts %lld us late", of->key, (long long)late);
    if (rules->missed == HORA_MISSED_SKIP && rules->busy != HORA_BUSY_QUEUE && held->claim.attempt == 1 &&
        !held->claim.forked && rules->delivery == HORA_AT_LEAST_ONCE && late > rules->missed_after_us + more)
        world_violation(own, "missed", "%s starts %lld us late and should be skipped", of->key,
                        (long long)late);
}

static void check_lease(world *own, const task *of, const hora__held *held, int64_t node)
{
    if (node < MAX_LEASES && own->lease_end[node] <= world_store_us(own))
        world_violation(own, "N1", "%s starts %lld us after the lease of node %lld has ended", of->key,
                        (long long)(world_store_us(own) - own->lease_end[node]), (long long)node);
    if (node != held->owner)
        world_violation(own, "N3", "%s was claimed by node %lld and is started by node %lld", of->key,
                        (long long)held->owner, (long long)node);
}

/* Later claims start later, except after a step of the store's clock. */
static void check_fence(world *own, const run *new)
{
    for (const run *one = own->runs; one < new; one++)
        if (one->id == new->id && (one->fence == new->fence || (one->fence > new->fence && !own->stepped)))
            world_violation(own, "I3", "%s runs with fence %lld after %lld", own->tasks[new->task].key,
                            (long long)new->fence, (long long)one->fence);
}

/* Counts the runs of the same firing, all firings, and the runs of the task that go on. */
static void check_numbers(world *own, const run *new)
{
    const task *of = &own->tasks[new->task];
    const hora__definition *rules = of->definition;
    int same = 0, together = 1;
    int64_t firings = 1;
    for (const run *one = own->runs; one < new; one++) {
        if (one->task != new->task)
            continue;
        same += one->planned == new->planned;
        together += is_protected(own, one);
        bool first = one->planned != new->planned;
        for (const run *before = own->runs; before < one && first; before++)
            first = before->task != one->task || before->planned != one->planned;
        firings += first;
    }
    if (rules->delivery == HORA_AT_MOST_ONCE && same > 0 && !may_repeat(of))
        world_violation(own, "I5", "%s runs %d times for one planned time", of->key, same + 1);
    if (rules->delivery == HORA_AT_LEAST_ONCE && same >= rules->max_attempts && !may_repeat(of))
        world_violation(own, "attempts", "%s has run %d of %d attempts", of->key, same + 1,
                        rules->max_attempts);
    if (firings > rules->count && !may_repeat(of))
        world_violation(own, "count", "%s has %lld of %lld firings", of->key, (long long)firings,
                        (long long)rules->count);
    if (together > most_together(of))
        world_violation(own, "I7", "%d runs of %s at the same time", together, of->key);
}

run *judge_start(actor *at, const hora__held *held)
{
    world *own = at->world;
    if (own->run_count == MAX_RUNS)
        own->run_count--;
    run *new = &own->runs[own->run_count++];
    task *of = task_of(own, held->claim.key);
    const hora__lease *lease = hora__node_lease(at->node);
    *new = (run){.task = of != NULL ? (int)(of - own->tasks) : 0,
                 .id = held->claim.id,
                 .planned = held->claim.planned,
                 .fence = held->claim.fence,
                 .node = held->owner,
                 .attempt = held->claim.attempt,
                 .started_us = world_store_us(own)};
    if (of == NULL || lease == NULL) {
        world_violation(own, of == NULL ? "I4" : "N1", "a run without a %s", of == NULL ? "task" : "lease");
        return new;
    }
    of->runs++;
    world_trace(own, "actor %d runs %s, id %lld, planned %lld, fence %lld, attempt %d", at->index, of->key,
                (long long)new->id, (long long)(new->planned - EPOCH_US), (long long)new->fence,
                new->attempt);
    check_fence(own, new);
    if (!own->stepped) {
        check_lease(own, of, held, lease->node);
        check_time(own, of, held, at);
        check_numbers(own, new);
    }
    return new;
}

void judge_told(actor *at)
{
    world *own = at->world;
    for (size_t i = 0; i < own->event_count; i++) {
        const event *one = &own->events[i];
        if (one->actor != at || one->kind != EVENT_END || one->firing->run->told)
            continue;
        const char *key = own->tasks[one->firing->run->task].key;
        if (one->firing->held.lost)
            world_violation(own, "lost", "a run of %s is not told that its lease is lost", key);
        if (one->firing->held.cancelled)
            world_violation(own, "cancel", "a run of %s is not told that it is cancelled", key);
    }
}

/* ---- at the end: records ---- */

enum { MAX_RECORDS = 1000 };

typedef struct records {
    world *world;
    hora_run_record kept[MAX_RECORDS];
    int count;
} records;

static bool is_outcome(const hora_run_record *record)
{
    return record->outcome != HORA_RUN_LOST && record->started.ns != 0;
}

static bool is_final(const hora_run_record *record)
{
    return is_outcome(record) && record->outcome != HORA_RUN_FAILED;
}

/* The outcome of a run is what its handler said. */
static bool is_as_said(const run *of, const hora_run_record *record)
{
    const hora__run_end *end = &of->end;
    if (end->outcome != (hora_run_outcome)0)
        return record->outcome == end->outcome;
    if (end->code == 0)
        return record->outcome == HORA_RUN_SUCCEEDED;
    return record->outcome == HORA_RUN_GAVE_UP ||
           (record->outcome == HORA_RUN_FAILED && !(end->sets_retry && end->retry_us < 0));
}

static const run *find_run(const world *own, const hora_run_record *record)
{
    for (int i = own->run_count; i-- > 0;)
        if (own->runs[i].id == record->task_id && own->runs[i].fence == record->fence)
            return &own->runs[i];
    return NULL;
}

static void check_ran(world *own, const hora_run_record *record)
{
    const run *found = find_run(own, record);
    if (found == NULL || !found->ended || found->end.code != record->code ||
        found->planned != record->planned.ns / 1000) {
        world_violation(own, "I4", "the outcome of %s with fence %lld is recorded, but there was no such run",
                        record->key, (long long)record->fence);
        return;
    }
    if (!is_as_said(found, record))
        world_violation(own, "outcome", "the run of %s with fence %lld has outcome %d", record->key,
                        (long long)record->fence, (int)record->outcome);
    const hora__definition *rules = task_of(own, record->key)->definition;
    if (rules->kind == HORA__KIND_RATE && !own->stepped && task_of(own, record->key)->replaced == NULL &&
        record->skipped > (found->ended_us + (own->faults.rates ? tolerance_us(own) : 0) - found->planned) /
                              rules->period_us)
        world_violation(own, "busy", "%s leaves out %lld times, which have not all come", record->key,
                        (long long)record->skipped);
}

/* The end of the latest run that was settled before a record. */
static int64_t latest_end(const records *all, const hora_run_record *before)
{
    int64_t end = 0;
    for (int i = 0; i < all->count; i++) {
        const hora_run_record *one = &all->kept[i];
        if (one->key == before->key && one->id < before->id && is_outcome(one) && one->ended.ns / 1000 > end)
            end = one->ended.ns / 1000;
    }
    return end;
}

static void check_skipped(world *own, const records *all, const hora_run_record *record)
{
    const task *of = task_of(own, record->key);
    const hora__definition *rules = of->definition;
    int64_t late = (record->ended.ns - record->planned.ns) / 1000, waited = late;
    int64_t more = own->faults.rates ? tolerance_us(own) : 0;
    if (may_overlap(of) || own->stepped || of->replaced != NULL)
        return;
    if (rules->busy == HORA_BUSY_QUEUE && latest_end(all, record) > record->planned.ns / 1000)
        waited = record->ended.ns / 1000 - latest_end(all, record);
    bool missed = rules->missed != HORA_MISSED_BURST && waited + more >= rules->missed_after_us;
    if (!missed && late + more < rules->grace_us)
        world_violation(own, "skipped", "%s was skipped although it was only %lld us late", of->key,
                        (long long)waited);
    if (record->attempt > 1 && rules->grace_us == INT64_MAX && rules->delivery == HORA_AT_LEAST_ONCE)
        world_violation(own, "skipped", "attempt %d of %s was skipped", record->attempt, of->key);
}

/* The attempt after a failure waits for the pause that the handler has set. */
static void check_pause(world *own, const hora_run_record *record)
{
    const run *failed = find_run(own, record);
    if (failed == NULL || !failed->end.sets_retry || own->stepped || may_repeat(task_of(own, record->key)))
        return;
    int64_t least = record->ended.ns / 1000 + failed->end.retry_us;
    for (int i = 0; i < own->run_count; i++) {
        const run *one = &own->runs[i];
        if (one->id == failed->id && one->planned == failed->planned && one->fence > failed->fence &&
            one->started_us + (own->faults.rates ? tolerance_us(own) : 0) < least)
            world_violation(own, "retry", "%s starts %lld us before the end of the pause", record->key,
                            (long long)(least - one->started_us));
    }
}

static int keep_record(const hora_run_record *record, void *arg)
{
    records *all = arg;
    world *own = all->world;
    if (all->count == MAX_RECORDS || task_of(own, record->key) == NULL)
        return 0;
    world_trace(own, "record: %s, id %lld, outcome %d, planned %lld, attempt %d, fence %lld", record->key,
                (long long)record->task_id, (int)record->outcome,
                (long long)(record->planned.ns / 1000 - EPOCH_US), record->attempt, (long long)record->fence);
    all->kept[all->count] = *record;
    all->kept[all->count++].key = task_of(own, record->key)->key;
    if (is_outcome(record))
        check_ran(own, record);
    return 0;
}

static void check_records(world *own, const records *all)
{
    for (int i = 0; i < all->count; i++) {
        const hora_run_record *record = &all->kept[i];
        if (record->outcome == HORA_RUN_SKIPPED && !is_outcome(record))
            check_skipped(own, all, record);
        if (record->outcome == HORA_RUN_FAILED)
            check_pause(own, record);
    }
}

static void check_once(world *own, const records *all)
{
    for (int i = 0; i < all->count; i++)
        for (int k = 0; k < i; k++) {
            const hora_run_record *a = &all->kept[i], *b = &all->kept[k];
            if (a->key != b->key || !is_outcome(a) || !is_outcome(b))
                continue;
            if (a->task_id == b->task_id && a->fence == b->fence)
                world_violation(own, "I2", "%s with fence %lld is settled twice", a->key,
                                (long long)a->fence);
            if (is_final(a) && is_final(b) && a->planned.ns == b->planned.ns &&
                !may_repeat(task_of(own, a->key)))
                world_violation(own, "I2", "%s has two outcomes for one planned time", a->key);
        }
}

/* ---- at the end: what is left ---- */

typedef struct remains {
    world *world;
    bool found[MAX_TASKS];
} remains;

static bool goes_on(const world *own, int64_t id)
{
    for (int i = 0; i < own->run_count; i++)
        if (own->runs[i].id == id && !own->runs[i].ended && !own->runs[i].killed)
            return true;
    return false;
}

static int check_left(hora_durable_info *info, const char *definition, void *arg)
{
    (void)definition;
    remains *left = arg;
    world *own = left->world;
    task *of = NULL;
    for (int i = 0; i < own->task_count; i++)
        if (own->tasks[i].id == info->id || (info->key != NULL && task_of(own, info->key) == &own->tasks[i]))
            of = &own->tasks[i];
    int64_t overdue = world_store_us(own) - info->due.ns / 1000;
    world_trace(own, "left: id %lld, state %d, node %lld, overdue %lld us", (long long)info->id,
                (int)info->state, (long long)info->node, (long long)overdue);
    if (of != NULL)
        left->found[of - own->tasks] = true;
    if (info->state == HORA_DURABLE_WAITING && overdue > 1500000)
        world_violation(own, "I8", "id %lld has been due for %lld us", (long long)info->id,
                        (long long)overdue);
    if (info->state == HORA_DURABLE_CLAIMED && overdue > 2000000 && !goes_on(own, info->id))
        world_violation(own, "I8", "id %lld is claimed by node %lld and does not run", (long long)info->id,
                        (long long)info->node);
    return 0;
}

/* True if the records have a final outcome of the task. */
static bool has_ended(const records *all, const task *of)
{
    for (int i = 0; i < all->count; i++)
        if (all->kept[i].key == of->key && is_final(&all->kept[i]))
            return true;
    return false;
}

/* Number of planned times that have run. */
static int64_t count_planned(const world *own, int index)
{
    int64_t count = 0;
    for (int i = 0; i < own->run_count; i++) {
        bool first = own->runs[i].task == index;
        for (int k = 0; k < i && first; k++)
            first = own->runs[k].task != index || own->runs[k].planned != own->runs[i].planned;
        count += first;
    }
    return count;
}

/* Number of firings that found overlap_max others. */
static int64_t count_skipped(const records *all, const task *of)
{
    int64_t count = 0;
    for (int i = 0; i < all->count; i++)
        count += all->kept[i].key == of->key && all->kept[i].outcome == HORA_RUN_SKIPPED &&
                 !is_outcome(&all->kept[i]);
    return count;
}

static void check_complete(world *own, const records *all, const remains *left)
{
    for (int i = 0; i < own->task_count; i++) {
        const task *of = &own->tasks[i];
        if (!of->put || of->cancelled || left->found[i] || own->stepped || of->replaced != NULL)
            continue;
        const hora__definition *rules = of->definition;
        bool crashes = own->faults.crashes || own->faults.pauses || own->faults.delays ||
                       own->faults.lost_requests || own->faults.lost_replies || own->faults.late_effects ||
                       own->faults.rates;
        if (!is_recurring(of) && (rules->delivery == HORA_AT_LEAST_ONCE || !crashes) && !has_ended(all, of))
            world_violation(own, "I1", "%s is gone without an outcome", of->key);
        if (rules->delivery == HORA_AT_MOST_ONCE && of->runs == 0 && !crashes &&
            rules->grace_us == INT64_MAX && rules->missed == HORA_MISSED_BURST)
            world_violation(own, "I1", "%s is gone without a run", of->key);
        int64_t firings = count_planned(own, i) + count_skipped(all, of);
        if (rules->kind == HORA__KIND_RATE && rules->missed == HORA_MISSED_BURST && !crashes &&
            rules->grace_us == INT64_MAX && rules->stop_after == 0 && !of->retimed && firings != rules->count)
            world_violation(own, "I1", "%s has ended after %lld of %lld firings", of->key, (long long)firings,
                            (long long)rules->count);
    }
}

void judge_finish(world *own)
{
    static records all;
    remains left = {.world = own};
    hora_error reason;
    all.world = own;
    all.count = 0;
    hora__backend *backend = own->backend;
    const hora_history_filter every = {.struct_size = sizeof every};
    hora_durable_filter filter = {.struct_size = sizeof filter};
    if (backend->ops->history(backend, &every, keep_record, &all, &reason) < 0 ||
        backend->ops->list(backend, &filter, check_left, &left, &reason) < 0)
        world_violation(own, "store", "%s", reason.message);
    filter.state = HORA_DURABLE_DEAD;
    if (backend->ops->list(backend, &filter, check_left, &left, &reason) < 0)
        world_violation(own, "store", "%s", reason.message);
    check_records(own, &all);
    check_once(own, &all);
    check_complete(own, &all, &left);
}
