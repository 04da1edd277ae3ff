/* SPDX-License-Identifier: Apache-2.0 */
/* group.c - groups: futures that are waited for, and cancelled, together
 *
 * How it works      A future that the group submits to a plain pool gets a seat in the group, and the thread
 *                   that completes it frees the seat. Any other future has a member on the group's list, and
 *                   a listener that removes the member when the future is done. See members.h for both. The
 *                   thread that ends the last membership wakes the waiting threads.
 * Invariants        I1 threads wait only while a member is pending.
 *                   I2 the descriptor is readable exactly while no member is pending.
 *                   I3 seats are reserved only while no thread waits and there is no descriptor: a reserved
 *                      seat counts as taken, and would hide the end of the last membership.
 * Locks             object.lock (rank OBJECT), never together with a future's. A thread that ends a
 *                   membership does not touch the group after it has released the lock, or has freed a seat
 *                   without it, unless it has a reference. So a thread that has seen the group empty may free
 *                   it.
 * Precedence        interrupted, then empty, then timed out. */
#include <hora/group.h>

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/options.h"
#include "base/reason.h"
#include "exec/members.h"
#include "exec/pool.h"
#include "sync/clock.h"
#include "sync/ready_fd.h"
#include "sys/alloc.h"

struct hora_group {
    struct hora__object object;

    /* Guarded by object.lock. */
    struct hora__members members; /* the pending ones */
    int failed;                   /* number of members that failed or were cancelled */
    bool cancel_on_failure;       /* an option; immutable */
    bool is_cancelling;           /* a thread is cancelling the pending members because one has failed */
    struct hora__list waiters;    /* threads in hora_group_await_for */
    struct hora__ready_fd ready;  /* see hora_group_fd; made on demand */
};

/* A pending future on the list. The listener frees it. */
struct group_member {
    struct hora__member member;
    hora_group *group; /* borrowed: a group with pending members cannot be freed */
};

/* The destructor of the object: called when the owner and the last visitor have left the group. */
static void destroy(struct hora__object *object)
{
    hora_group *group = HORA__LIST_ENTRY(object, struct hora_group, object);
    hora__ready_fd_destroy(&group->ready, NULL);
    hora__members_destroy(&group->members);
    hora__free(group);
}

static void seated_done(hora_future *future);

int hora_group_new(const hora_group_options *options, hora_group **ret_group, hora_error *reason)
{
    hora_group_options own;
    hora__reason_begin(reason);
    if (HORA__TAKE(hora_group_options, &own, options) < 0)
        return hora__refuse_size(reason, "hora_group_options");
    if (ret_group == NULL)
        return hora__refuse(reason, HORA_EINVAL, NULL, "ret_group is NULL");
    hora_group *group = hora__alloc(1, sizeof *group);
    if (group == NULL)
        return hora__reason_end(reason, HORA_ENOMEM);
    int error = hora__object_init(&group->object, own.clock, destroy);
    if (error < 0) {
        hora__free(group);
        return hora__reason_end(reason, error);
    }
    group->cancel_on_failure = own.cancel_on_failure;
    hora__members_init(&group->members, &group->object, seated_done);
    hora__list_init(&group->waiters);
    *ret_group = group;
    return 0;
}

static int check(const hora_group *group)
{
    return group == NULL ? HORA_EINVAL : hora__object_check(&group->object);
}

/* Checks the group and takes its lock. On error the lock is not taken. */
static int enter(hora_group *group)
{
    int error = check(group);
    if (error == 0)
        hora__mutex_lock(&group->object.lock);
    return error;
}

/* Refuses a group with pending members, because their listeners refer to it, and one on which threads
 * wait. */
int hora_group_free(hora_group *group)
{
    if (group == NULL)
        return 0;
    int error = enter(group);
    if (error < 0)
        return error;
    hora__members_unreserve_locked(&group->members);
    bool in_use = !hora__members_are_none_locked(&group->members) || !hora__list_is_empty(&group->waiters);
    hora__mutex_unlock(&group->object.lock);
    if (in_use)
        return HORA_EBUSY;
    hora__object_leave(&group->object);
    return 0;
}

/* ---- adding and leaving ---- */

/* Updates the descriptor after a change of the number of pending members. */
static void show_locked(hora_group *group)
{
    assert(hora__mutex_held(&group->object.lock));
    hora_ns from = hora__members_are_none_locked(&group->members) ? HORA__READY_NOW : HORA_FOREVER;
    hora__ready_fd_set(&group->ready, group->object.clock, from); /* I2 */
}

/* Cancels the members of a walk. Returns how many this call has cancelled. The caller holds a reference to
 * the group, because the members may all be gone after this. */
static int cancel_all(hora_group *group, struct hora__walk walk, bool interrupt)
{
    assert(!hora__mutex_held(&group->object.lock));
    int cancelled = 0;
    hora_future *future;
    while ((future = hora__walk_next(&group->members, &walk)) != NULL) {
        cancelled += hora_future_cancel(future, interrupt) > HORA_CANCEL_TOO_LATE ? 1 : 0;
        (void)hora_future_unref(future);
    }
    return cancelled;
}

/* Returns whether the end of a member must cancel the pending ones. It must not while a thread is already
 * cancelling them: the members that it cancels count as failed, too. */
static bool cancels_locked(const hora_group *group, bool failed)
{
    assert(hora__mutex_held(&group->object.lock));
    return failed && group->cancel_on_failure && !group->is_cancelling &&
           !hora__members_are_none_locked(&group->members);
}

/* Cancels the members of a walk after another member has failed, and releases the reference to the group that
 * end_locked has taken for this. */
static void cancel_others(hora_group *group, struct hora__walk walk)
{
    assert(!hora__mutex_held(&group->object.lock));
    (void)cancel_all(group, walk, true);
    hora__mutex_lock(&group->object.lock);
    group->is_cancelling = false;
    hora__mutex_unlock(&group->object.lock);
    hora__object_leave(&group->object);
}

/* What a thread still has to do after it has ended a membership and released the lock. */
struct ending {
    struct hora__wakes wakes;
    bool cancels;           /* it has to cancel the other members */
    struct hora__walk walk; /* cancels: over them */
};

/* Called when a member has been removed: wakes the waiting threads if it was the last, and prepares to cancel
 * the others if it failed and the options ask for that. */
static void end_locked(hora_group *group, bool failed, struct ending *ret_ending)
{
    assert(hora__mutex_held(&group->object.lock));
    hora__wakes_init(&ret_ending->wakes);
    group->failed += failed ? 1 : 0;
    ret_ending->cancels = cancels_locked(group, failed);
    if (ret_ending->cancels) {
        group->is_cancelling = true;
        ret_ending->walk = hora__walk_back_locked(&group->members);
        hora__object_visit(&group->object); /* keeps the group alive for cancel_others */
    }
    if (hora__members_are_none_locked(&group->members)) {
        if (!HORA__FAULT(GROUP_WAKES_NO_WAITER))
            hora__waiters_resolve_all(&group->waiters, 0, &ret_ending->wakes); /* I1 */
        show_locked(group);
    }
}

/* Does what end_locked has prepared. The group may be gone, unless the visit for cancel_others keeps it. */
static void finish(hora_group *group, struct ending *ending)
{
    hora__wakes_flush(&ending->wakes);
    if (ending->cancels)
        cancel_others(group, ending->walk);
}

/* The listener of a member on the list: its future is done. */
static void member_done(hora_future *future, void *context)
{
    assert(future == ((struct group_member *)context)->member.future);
    struct group_member *leaving = context;
    hora_group *group = leaving->group;
    bool failed = hora__future_outcome(future) != 0;
    struct ending ending;
    hora__mutex_lock(&group->object.lock);
    hora__members_remove_locked(&group->members, &leaving->member);
    end_locked(group, failed, &ending);
    hora__mutex_unlock(&group->object.lock);
    finish(group, &ending);
    hora__free(leaving);
    (void)hora_future_unref(future); /* the reference of the member */
}

/* Frees a seat, with the lock. */
__attribute__((noinline)) static void leave_seat(struct hora__seat_row *row, int seat, bool failed)
{
    hora_group *group = HORA__LIST_ENTRY(row->members, struct hora_group, members);
    assert(!hora__mutex_held(&group->object.lock));
    struct ending ending;
    hora__mutex_lock(&group->object.lock);
    hora__members_leave_locked(row, seat);
    end_locked(group, failed, &ending);
    hora__mutex_unlock(&group->object.lock);
    finish(group, &ending);
}

/* A future with a seat is done. If it has succeeded, its seat can usually be freed without the lock. */
static void seated_done(hora_future *future)
{
    bool failed = hora__future_outcome(future) != 0;
    struct hora__seat_row *row = hora__future_row(future);
    int seat = hora__future_seat(future)->number;
    if (failed || !hora__members_leave(row, seat))
        leave_seat(row, seat, failed);
    (void)hora_future_unref(future); /* the reference of the seat */
}

/* Makes a member that is not in the list yet; NULL: out of memory. */
static struct group_member *member_new(hora_group *group)
{
    assert(group != NULL);
    struct group_member *added = hora__alloc(1, sizeof *added);
    if (added != NULL) {
        added->member.listener = (struct hora__listener){.done = member_done, .context = added};
        added->group = group;
    }
    return added;
}

/* Adds the member to the pending ones and registers its listener. Consumes a reference to the future. The
 * future may be done, and the member freed, before this returns. */
static void join(hora_group *group, struct group_member *added, hora_future *future)
{
    assert(added->group == group && future != NULL);
    added->member.future = future;
    hora__mutex_lock(&group->object.lock);
    hora__members_add_locked(&group->members, &added->member);
    show_locked(group);
    hora__mutex_unlock(&group->object.lock);
    hora__future_listen(future, &added->member.listener);
}

/* If the future is done already, its listener removes it again before this returns. */
int hora_group_add(hora_group *group, hora_future *future)
{
    int error = check(group);
    if (error == 0)
        error = future == NULL ? HORA_EINVAL : hora__object_check(&future->object);
    if (error < 0)
        return error;
    struct group_member *added = member_new(group);
    if (added == NULL)
        return HORA_ENOMEM;
    join(group, added, hora_future_ref(future));
    return 0;
}

/* Submits a task to any executor. Allocates the member before: after a successful submission nothing can
 * fail, so every submitted future belongs to the group. Not inlined, so that the usual way need not save
 * registers for it. */
__attribute__((noinline)) static int submit_listed(hora_group *group, const hora_executor *executor,
                                                   const hora_task *task, hora_future **ret_future)
{
    struct group_member *added = member_new(group);
    if (added == NULL)
        return HORA_ENOMEM;
    int error = hora_executor_submit(executor, task, ret_future);
    if (error < 0)
        hora__free(added);
    else
        join(group, added, hora_future_ref(*ret_future));
    return error;
}

/* Gives a seat to a new future. */
static int take_seat(hora_group *group, hora_future *future)
{
    hora__mutex_lock_as(&group->object.lock, HORA__RANK_OBJECT);
    bool is_awaited = !hora__list_is_empty(&group->waiters) || hora__ready_fd_get(&group->ready) >= 0;
    bool reserves = !is_awaited || HORA__FAULT(GROUP_RESERVES_WHILE_AWAITED);
    int error = hora__members_seat_locked(&group->members, future, reserves); /* I3 */
    if (error == 0 && is_awaited)
        show_locked(group);
    hora__mutex_unlock_as(&group->object.lock, HORA__RANK_OBJECT);
    return error;
}

/* The pool has no place for a future with a seat. The rejection rule may run code of the user, which may wait
 * for the group. So the future first leaves its seat; if the rule takes care of the future after all, it
 * becomes a member on the list. If another thread has found it in the queue and cancelled it before the pool
 * withdrew it, it has left already. */
__attribute__((noinline)) static int refuse_seated(hora_group *group, hora_pool *pool, hora_future *future,
                                                   int error)
{
    assert(error < 0);
    struct group_member *added = member_new(group);
    struct hora__seat_row *row = hora__future_unseat(future);
    if (row != NULL) {
        leave_seat(row, hora__future_seat(future)->number, false);
        (void)hora_future_unref(future); /* the reference of the seat */
    }
    error = hora__pool_refuse_fresh(pool, future, added != NULL ? error : HORA_ENOMEM);
    if (error < 0)
        hora__free(added);
    else
        join(group, added, hora_future_ref(future));
    return error;
}

/* Submits a task to a plain pool. Returns the future with a reference. It takes its seat before the pool can
 * run it. The caller of the pool has its own reference meanwhile, because the pool may look for the future in
 * its queue once more. */
static int submit_seated(hora_group *group, hora_pool *pool, const hora_task *task, hora_future **ret_future)
{
    assert(task->run != NULL);
    hora_future *future;
    int error = hora__future_new_beside(task, &pool->object, &pool->shared_free_list, &future);
    if (error < 0)
        return error;
    error = take_seat(group, future);
    if (error == 0) {
        error = hora__pool_place_fresh(pool, future);
        if (error == 0)
            hora__members_placed(future);
        else
            error = refuse_seated(group, pool, future, error);
    }
    if (error < 0)
        hora__future_discard(future);
    else
        *ret_future = future;
    return error;
}

int hora_group_submit(hora_group *group, const hora_executor *executor, const hora_task *task,
                      hora_future **ret_future)
{
    int error = check(group);
    if (error < 0)
        return error;
    if (executor == NULL || executor->execute == NULL || task == NULL || task->run == NULL)
        return HORA_EINVAL;
    hora_future *future;
    hora_pool *pool = hora__executor_pool(executor);
    error = pool != NULL ? submit_seated(group, pool, task, &future)
                         : submit_listed(group, executor, task, &future);
    if (error < 0)
        return error;
    if (ret_future != NULL)
        *ret_future = future;
    else
        (void)hora_future_unref(future);
    return 0;
}

/* ---- cancelling ---- */

/* Cancels from the newest member to the oldest: new ones are likely to be queued still, and must not start on
 * a thread that the cancellation of an older one has made free. */
int hora_group_cancel(hora_group *group, bool interrupt)
{
    int error = enter(group);
    if (error < 0)
        return error;
    struct hora__walk walk = hora__walk_back_locked(&group->members);
    hora__object_visit(&group->object); /* when the last member is gone, another thread may free the group */
    hora__mutex_unlock(&group->object.lock);
    int cancelled = cancel_all(group, walk, interrupt);
    hora__object_leave(&group->object);
    return cancelled;
}

/* ---- waiting ---- */

/* Lets a worker that is about to wait run the pending futures that are in its own pool's queue. may_hang: the
 * wait has no time limit; then returns HORA_EDEADLK if waiting for a member would never end. */
static int help(hora_group *group, hora_thread *thread, bool may_hang)
{
    assert(thread == hora__thread_existing());
    int error = 0;
    hora_future *future;
    hora__mutex_lock(&group->object.lock);
    struct hora__walk walk = hora__walk_forth_locked(&group->members);
    hora__mutex_unlock(&group->object.lock);
    while (error == 0 && (future = hora__walk_next(&group->members, &walk)) != NULL) {
        hora__help(future, thread);
        if (may_hang) {
            error = hora__begin_waiting(future, thread);
            hora__end_waiting(thread);
        }
        (void)hora_future_unref(future);
    }
    return error;
}

/* Only workers help and are checked for deadlock. The wait itself takes over the lock and releases it. */
int hora_group_await_for(hora_group *group, hora_ns timeout)
{
    hora_thread *thread;
    int error = check(group);
    if (error < 0)
        return error;
    error = hora__thread_current(&thread);
    if (error < 0)
        return error;
    if (hora__thread_take_interrupt(thread))
        return HORA_EINTERRUPTED;
    hora_ns deadline = hora__clock_deadline(group->object.clock, timeout);
    if (thread->worker != NULL && timeout > 0)
        error = help(group, thread, timeout == HORA_FOREVER);
    if (error < 0)
        return error;
    hora__mutex_lock(&group->object.lock);
    if (!HORA__FAULT(GROUP_WAITS_FOR_RESERVED))
        hora__members_unreserve_locked(&group->members); /* I3 */
    bool is_empty = hora__members_are_none_locked(&group->members);
    if (!is_empty && timeout > 0)
        return hora__object_wait_locked(&group->object, &group->waiters, thread, deadline);
    int result = is_empty ? 0 : HORA_ETIMEDOUT;
    hora__mutex_unlock(&group->object.lock);
    return result;
}

int hora_group_await(hora_group *group)
{
    return hora_group_await_for(group, HORA_FOREVER);
}

/* ---- looking ---- */

int hora_group_pending(hora_group *group)
{
    int error = enter(group);
    if (error < 0)
        return error;
    int pending = hora__members_count_locked(&group->members);
    hora__mutex_unlock(&group->object.lock);
    return pending;
}

int hora_group_failed(hora_group *group)
{
    int error = enter(group);
    if (error < 0)
        return error;
    int failed = group->failed;
    hora__mutex_unlock(&group->object.lock);
    return failed;
}

/* Makes the descriptor in the first call. */
int hora_group_fd(hora_group *group)
{
    int result = enter(group);
    if (result < 0)
        return result;
    if (hora__ready_fd_get(&group->ready) < 0) {
        result = hora__ready_fd_init(&group->ready, group->object.clock, false);
        hora__members_unreserve_locked(&group->members); /* I3 */
        if (result == 0)
            show_locked(group);
    }
    if (result == 0)
        result = hora__ready_fd_get(&group->ready);
    hora__mutex_unlock(&group->object.lock);
    return result;
}
