/* SPDX-License-Identifier: Apache-2.0 */
/* group.c - groups: futures that are waited for, and cancelled, together
 *
 * How it works      Each pending future has a member on the group's list, and a listener that removes the
 *                   member when the future is done. The listener of the last member wakes the waiting
 *                   threads.
 * Invariants        I1 threads wait only while a member is pending.
 *                   I2 the descriptor is readable exactly while no member is pending.
 * Locks             object.lock (rank OBJECT), never together with a future's. A listener does not touch the
 *                   group after it has released the lock, unless it has a reference. So a thread that has
 *                   seen the group empty may free it.
 * Precedence        interrupted, then empty, then timed out. */
#include <hora/group.h>

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/options.h"
#include "base/reason.h"
#include "exec/members.h"
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

/* A pending future. The listener frees it. */
struct group_member {
    struct hora__member member;
    hora_group *group; /* borrowed: a group with pending members cannot be freed */
};

/* The destructor of the object: called when the owner and the last visitor have left the group. */
static void destroy(struct hora__object *object)
{
    hora_group *group = HORA__LIST_ENTRY(object, struct hora_group, object);
    hora__ready_fd_destroy(&group->ready, NULL);
    hora__free(group);
}

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
    hora__members_init(&group->members, &group->object);
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
    bool in_use = group->members.count > 0 || !hora__list_is_empty(&group->waiters);
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
    hora_ns from = group->members.count == 0 ? HORA__READY_NOW : HORA_FOREVER;
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
    return failed && group->cancel_on_failure && !group->is_cancelling && group->members.count > 0;
}

/* Cancels the members of a walk after another member has failed, and releases the reference to the group that
 * member_done has taken for this. */
static void cancel_others(hora_group *group, struct hora__walk walk)
{
    assert(!hora__mutex_held(&group->object.lock));
    (void)cancel_all(group, walk, true);
    hora__mutex_lock(&group->object.lock);
    group->is_cancelling = false;
    hora__mutex_unlock(&group->object.lock);
    hora__object_leave(&group->object);
}

/* The listener of a member: its future is done. Removes the member, wakes the waiting threads if it was the
 * last, and cancels the others if it failed and the options ask for that. */
static void member_done(hora_future *future, void *context)
{
    assert(future == ((struct group_member *)context)->member.future);
    struct group_member *leaving = context;
    hora_group *group = leaving->group;
    bool failed = hora__future_outcome(future) != 0;
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&group->object.lock);
    hora__members_remove_locked(&group->members, &leaving->member);
    group->failed += failed ? 1 : 0;
    bool cancels = cancels_locked(group, failed);
    struct hora__walk walk;
    if (cancels) {
        group->is_cancelling = true;
        walk = hora__walk_back_locked(&group->members);
        hora__object_visit(&group->object); /* keeps the group alive for cancel_others */
    }
    if (group->members.count == 0) {
        if (!HORA__FAULT(GROUP_WAKES_NO_WAITER))
            hora__waiters_resolve_all(&group->waiters, 0, &wakes); /* I1 */
        show_locked(group);
    }
    hora__mutex_unlock(&group->object.lock);
    /* From here on the group may be gone, unless the visit for cancel_others keeps it. */
    hora__wakes_flush(&wakes);
    if (cancels)
        cancel_others(group, walk);
    hora__free(leaving);
    (void)hora_future_unref(future); /* the reference of the member */
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
    if (group->members.count == 1)
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

/* Allocates the member before it submits the task: after a successful submission nothing can fail, so every
 * submitted future belongs to the group. */
int hora_group_submit(hora_group *group, const hora_executor *executor, const hora_task *task,
                      hora_future **ret_future)
{
    int error = check(group);
    if (error < 0)
        return error;
    struct group_member *added = member_new(group);
    if (added == NULL)
        return HORA_ENOMEM;
    hora_future *future;
    error = hora_executor_submit(executor, task, &future);
    if (error < 0) {
        hora__free(added);
        return error;
    }
    if (ret_future != NULL)
        *ret_future = hora_future_ref(future);
    join(group, added, future);
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
    if (group->members.count > 0 && timeout > 0)
        return hora__object_wait_locked(&group->object, &group->waiters, thread, deadline);
    int result = group->members.count > 0 ? HORA_ETIMEDOUT : 0;
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
    int pending = group->members.count;
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
        if (result == 0)
            show_locked(group);
    }
    if (result == 0)
        result = hora__ready_fd_get(&group->ready);
    hora__mutex_unlock(&group->object.lock);
    return result;
}
