/* SPDX-License-Identifier: Apache-2.0 */
/* crew.c - runs of one series that overlap; see crew.h
 *
 * The task          belongs to the crew, which counts who needs it: the series until it is done, and each member. When
 *                   the last one is through, the task is dropped: so not while a body runs, even if the series has
 *                   been over for long. The memory of the crew is part of the series', to which each member has a reference.
 * Cancelling        The series is cancelled like any other. Members that have not begun then never do, and with
 *                   interrupt, those who are running are interrupted: a listener on the series does that. Whoever
 *                   joins looks afterwards whether the series is done, so one of the two sees the other.
 * The end           By count or end there is no next time: then the series is not put back, and its books stay open
 *                   until the last member has ended; that one completes it. By failure it is taken out of the agenda at once.
 * Invariants        I1 series->running is the number of members that have not ended, and at most overlap_max.
 *                   I2 the series' entry is in the agenda, with a worker, or closing is set and the last member ends it. */
#include "sched/crew.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "exec/extra.h"
#include "sched/scheduler.h"
#include "sys/alloc.h"

struct hora__crew {
    hora__atomic users;             /* of the task; 0: it has been dropped */
    hora_task task;                 /* immutable */
    struct hora__listener listener; /* on the series */
    struct hora__list members;      /* those that run; guarded by the agenda's lock */
    bool closing;                   /* there is no next time; likewise */
};

struct hora__member {
    hora_future future;             /* first: they begin at the same address */
    struct hora__scheduled *series; /* a reference */
    hora_ns planned;
    struct hora__list link;      /* among the crew's; guarded by the agenda's lock */
    bool told;                   /* to stop; likewise */
    struct hora__ticket *ticket; /* in the same memory; takes over from that of the series. NULL: no admission */
};

struct admitted_member {
    struct hora__member member;
    struct hora__ticket ticket;
};

static struct hora__member *member_of(hora_future *future)
{
    assert(future->kind == HORA__FUTURE_MEMBER);
    return (struct hora__member *)future;
}

const hora_future *hora__crew_series_of(const hora_future *member)
{
    assert(member->kind == HORA__FUTURE_MEMBER);
    return &((const struct hora__member *)member)->series->future;
}

hora_future *hora__crew_series(hora_future *member)
{
    return &member_of(member)->series->future;
}

struct hora__ticket *hora__crew_ticket(const hora_future *member)
{
    assert(member->kind == HORA__FUTURE_MEMBER);
    return ((const struct hora__member *)member)->ticket;
}

hora_ns hora__crew_planned(hora_future *member)
{
    return member_of(member)->planned;
}

static void lock(struct hora__scheduled *series)
{
    hora__mutex_lock(&series->queue->object.lock);
}

static void unlock(struct hora__scheduled *series)
{
    hora__mutex_unlock(&series->queue->object.lock);
}

/* ---- beginning and end ---- */

static void leave(void *arg)
{
    struct hora__crew *crew = arg;
    if (hora__atomic_add(&crew->users, -1) == 1 && crew->task.drop != NULL)
        crew->task.drop(crew->task.arg);
}

/* Whether the task is still there, and will be until the caller leaves. */
static bool enter(struct hora__crew *crew)
{
    for (;;) {
        int32_t users = hora__atomic_load(&crew->users);
        if (users == 0)
            return false;
        if (hora__atomic_cas(&crew->users, users, users + 1))
            return true;
    }
}

/* A member that has not been told yet, with a reference; NULL: none. */
static struct hora__member *next_to_tell(struct hora__scheduled *series)
{
    struct hora__member *found = NULL;
    lock(series);
    for (struct hora__list *link = series->course->crew->members.next;
         link != &series->course->crew->members && found == NULL; link = link->next) {
        struct hora__member *member = HORA__LIST_ENTRY(link, struct hora__member, link);
        if (!member->told)
            found = member;
    }
    if (found != NULL) {
        found->told = true;
        (void)hora_future_ref(&found->future);
    }
    unlock(series);
    return found;
}

/* The series is done. If by its count or end, nobody is left to be told. */
static void series_done(hora_future *future, void *context)
{
    struct hora__scheduled *series = context;
    enum hora__future_state state = hora__future_state(future);
    bool interrupt = state == HORA__FUTURE_INTERRUPTING || state == HORA__FUTURE_INTERRUPTED;
    if (state == HORA__FUTURE_NORMAL || HORA__FAULT(CREW_TELLS_NOBODY))
        return;
    struct hora__member *member;
    while ((member = next_to_tell(series)) != NULL) {
        (void)hora_future_cancel(&member->future, interrupt);
        (void)hora_future_unref(&member->future);
    }
}

static int run_body(void *arg, void **ret_result)
{
    const struct hora__crew *crew = arg;
    return crew->task.run(crew->task.arg, ret_result);
}

int hora__crew_new(struct hora__scheduled *series)
{
    struct hora__crew *crew = hora__alloc(1, sizeof *crew);
    if (crew == NULL)
        return HORA_ENOMEM;
    hora__atomic_init(&crew->users, 1);
    hora__list_init(&crew->members);
    crew->task = series->future.task;
    crew->listener = (struct hora__listener){.done = series_done, .context = series};
    series->course->crew = crew;
    series->future.task.run = run_body; /* for whoever it is handed back to */
    series->future.task.arg = crew;
    series->future.task.drop = leave;
    hora__future_listen(&series->future, &crew->listener);
    return 0;
}

void hora__crew_forget(struct hora__scheduled *series)
{
    struct hora__crew *crew = series->course != NULL ? series->course->crew : NULL;
    if (crew == NULL)
        return;
    series->future.listeners = NULL; /* it was the only one */
    series->future.task = crew->task;
    series->course->crew = NULL;
    hora__free(crew);
}

void hora__crew_free(struct hora__crew *crew)
{
    hora__free(crew);
}

static void destroy_member(struct hora__object *object)
{
    struct hora__member *member = HORA__LIST_ENTRY(object, struct hora__member, future.object);
    struct hora__scheduled *series = member->series;
    if (hora__future_ends_later(&member->future))
        return;
    hora__future_destroy(object);
    leave(series->course->crew);
    (void)hora_future_unref(&series->future);
}

/* A member for a planned time, not among the others yet; NULL: no memory, or the task is gone already. */
static struct hora__member *member_new(struct hora__scheduled *series, hora_ns planned)
{
    struct hora__crew *crew = series->course->crew;
    if (!enter(crew))
        return NULL;
    hora_task task = crew->task;
    task.run = run_body;
    task.arg = crew;
    task.drop = NULL;
    bool is_admitted = hora__agenda_admission(series->queue) != NULL;
    struct hora__member *member = hora__alloc(1, is_admitted ? sizeof(struct admitted_member) : sizeof *member);
    if (member == NULL || hora__future_init(&member->future, &task, series->future.object.clock, false) < 0) {
        hora__free(member);
        leave(crew);
        return NULL;
    }
    member->future.kind = HORA__FUTURE_MEMBER;
    member->future.object.destroy = destroy_member;
    member->series = series;
    (void)hora_future_ref(&series->future);
    member->planned = planned;
    hora__list_init(&member->link);
    if (is_admitted) {
        member->ticket = &((struct admitted_member *)member)->ticket;
        hora__ticket_init(member->ticket, NULL, 0, HORA__LEVEL_NORMAL);
    }
    return member;
}

/* ---- admitting ---- */

enum joining { JOINS, IS_SKIPPED, IS_HELD };

/* Whether there is room for one more, which then counts as running. Held: the series was paused or re-timed meanwhile. */
static enum joining join(hora_pool *pool, struct hora__scheduled *series, struct hora__member *member, hora_ns planned)
{
    enum joining joining = IS_SKIPPED;
    hora_ns now = hora__agenda_now(series->queue, hora__scheduled_line(series));
    lock(series);
    if (series->paused || series->course->is_retimed)
        joining = IS_HELD;
    else if (member != NULL && series->course->running < series->course->rules->overlap_max +
                                                             (HORA__FAULT(CREW_ONE_TOO_MANY) ? 1 : 0)) /* I1 */
        joining = JOINS;
    if (joining == JOINS) {
        hora__list_add_last(&series->course->crew->members, &member->link);
        if (member->ticket != NULL)
            hora__admission_pass(&hora__agenda_admission(series->queue)->admission, series->course->extra->ticket,
                                 member->ticket, &member->future);
        hora__series_begins_locked(series, planned, now);
        series->entry.place = HORA__RUNS;
    }
    hora__course_skips(series->course, joining == IS_SKIPPED ? 1 : 0);
    unlock(series);
    if (joining == IS_SKIPPED)
        hora__series_tell_skipped(pool, series, 1);
    return joining;
}

static bool is_last(hora_pool *pool, struct hora__scheduled *series)
{
    lock(series);
    bool last = series->course->rules->count > 0 && series->course->runs >= series->course->rules->count;
    unlock(series);
    return last || hora__series_next(pool, series, 0) == HORA_NEVER;
}

/* No time follows: whoever ends last closes the series. Whether that is the caller, since nobody runs. */
bool hora__crew_close(struct hora__scheduled *series)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    lock(series);
    if (hora__agenda_end_ticket(series)) /* if it has not passed to a member */
        hora__queue_settle(series->queue, NULL, &wakes);
    series->course->crew->closing = true; /* I2 */
    bool nobody = hora__list_is_empty(&series->course->crew->members);
    if (nobody)
        series->course->crew->closing = false;
    series->entry.place = HORA__OUT;
    hora__queue_exit(series->queue, &wakes);
    if (nobody)
        (void)hora_future_complete(&series->future, NULL);
    return nobody;
}

/* Put the series back, or close it. Whether the caller still has it, and is to end its books. */
static bool series_goes(hora_pool *pool, struct hora__scheduled *series)
{
    if (is_last(pool, series))
        return hora__crew_close(series);
    return !hora__series_put_back(pool, &series->future, false);
}

hora_future *hora__crew_admit(hora_pool *pool, struct hora__scheduled *series)
{
    hora_ns planned = series->planned;
    struct hora__member *member = member_new(series, planned); /* without memory the time is skipped */
    enum joining joining = join(pool, series, member, planned);
    if (joining != JOINS) { /* the entry's own reference goes on to whoever closes its books */
        if (member != NULL)
            (void)hora_future_unref(&member->future);
        bool ours =
            joining == IS_HELD ? !hora__series_put_back(pool, &series->future, false) : series_goes(pool, series);
        return ours ? &series->future : NULL;
    }
    if (hora_future_is_done(&series->future) && !HORA__FAULT(CREW_RUNS_AFTER_CANCEL))
        (void)hora_future_cancel(&member->future, false);
    hora__pool_accept(pool);
    hora__future_enqueued(&member->future, &pool->owner, 0); /* its planned time counts */
    if (series_goes(pool, series))
        hora__pool_entry_ended(pool, &series->future);
    return &member->future;
}

void hora__crew_change(struct hora__scheduled *series, const struct hora__ticket_change *change)
{
    struct hora__list *members = &series->course->crew->members;
    for (struct hora__list *link = members->next; link != members; link = link->next) {
        struct hora__ticket *ticket = HORA__LIST_ENTRY(link, struct hora__member, link)->ticket;
        if (hora__ticket_runs(ticket))
            hora__admission_change(&hora__agenda_admission(series->queue)->admission, ticket, change);
    }
}

/* ---- running ---- */

/* A failure has ended the series: it runs no more. */
static void fail_series(hora_pool *pool, struct hora__scheduled *series, int code)
{
    if (hora_future_fail(&series->future, code) == 1 && hora__pool_withdraw(pool, &series->future))
        hora__pool_entry_ended(pool, &series->future);
}

/* Whether this was the last one of a series that has no other time. */
static bool part(struct hora__member *member)
{
    struct hora__scheduled *series = member->series;
    lock(series);
    hora__list_remove(&member->link);
    bool last = series->course->crew->closing && hora__list_is_empty(&series->course->crew->members) &&
                !HORA__FAULT(CREW_NEVER_CLOSES);
    if (last)
        series->course->crew->closing = false;
    unlock(series);
    return last;
}

/* No other run follows: this one decides about the outcome, as the last one does without overlap. */
static void complete_series(struct hora__member *member, int code)
{
    hora_future *series = &member->series->future;
    void *result = NULL;
    if (code != 0) {
        (void)hora_future_fail(series, code);
        return;
    }
    bool has_one = hora_future_take_result(&member->future, &result) == 0 && result != NULL;
    if (hora_future_complete(series, result) != 1 && has_one && series->task.drop_result != NULL)
        series->task.drop_result(result);
}

/* Close the books of a member that has ended with this code. One that never began has not failed. */
static void member_ends(hora_pool *pool, struct hora__member *member, bool began, int code)
{
    struct hora__scheduled *series = member->series;
    (void)hora_future_ref(&series->future);
    if (!began)
        hora__series_did_not_begin(series);
    int64_t in_a_row = 0;
    bool ends = began && !hora__series_survives(series, code, &in_a_row);
    if (ends) {
        hora__series_tell(pool, series, code, true, in_a_row); /* before the series is done */
        fail_series(pool, series, code);                       /* before others can take themselves for the last */
    }
    bool is_last = part(member);
    if (began && !ends)
        hora__series_tell(pool, series, code, is_last, in_a_row);
    if (is_last) {
        complete_series(member, code);
        hora__pool_entry_ended(pool, &series->future);
    }
    (void)hora_future_unref(&series->future);
}

struct run {
    bool began;
    int code;
};

static bool begins(hora_future *future, void *context)
{
    (void)future;
    struct run *run = context;
    run->began = true;
    return true; /* it counts from the moment it was admitted */
}

static enum hora__verdict ends(hora_future *future, int code, void *context)
{
    (void)future;
    struct run *run = context;
    run->code = code;
    return code == 0 ? HORA__SUCCEEDS : HORA__FAILS;
}

void hora__crew_run(hora_pool *pool, hora_future *future, hora_thread *thread)
{
    struct hora__member *member = member_of(future);
    struct run run = {.began = false};
    struct hora__judge judge = {begins, ends, NULL, &run};
    if (!hora__scheduler_lets_run(pool, &member->series->future))
        (void)hora_future_cancel(future, false);
    (void)hora__future_run_judged(future, thread, &judge);
    member_ends(pool, member, run.began, run.code);
}

void hora__crew_abandoned(hora_pool *pool, hora_future *future, int code)
{
    member_ends(pool, member_of(future), true, code);
}
