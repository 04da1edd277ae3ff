/* SPDX-License-Identifier: Apache-2.0 */
/* completion.c - the completion service: futures in the order in which they are done
 *
 * How it works      A future that the service submits to a plain pool has a seat in the service, if the queue
 *                   is the service's own. Any other future has a member with a listener; see members.h for
 *                   both. When the future is done, the completing thread puts it into the queue. The
 *                   service's own queue never refuses it. A queue of the user gets memory that submit set
 *                   aside; if it refuses the future nevertheless (it is full, closed, or has no memory to
 *                   grow), the member is put on the list of late members.
 * Late members      A thread that takes tries the queue first, then the late members, and only then waits on
 *                   the queue. Other threads may make room between the refusal and the insertion into the
 *                   list. So a thread that adds a late member tries the queue once more, and a thread that
 *                   has taken from the queue tries to move late members into it. While a thread tries, the
 *                   late member is on no list, and a thread that makes room does not see it. So the thread
 *                   that tries compares the number of takes before and after: if it has changed, it tries
 *                   again.
 * Lifetime          The service exists until its owner has freed it and the last pending member is gone. A
 *                   service that owns its queue releases its references to the pending futures when it is
 *                   freed. So a future that never runs and has no other reference is destroyed, and its
 *                   member with it. A future with a seat leaves it then, unless it is done already. In that
 *                   case another thread is about to put it into the queue, and frees its seat afterwards. So
 *                   the service, which that thread uses, exists as long as a seat is taken (is_freed).
 * Locks             object.lock (rank OBJECT), never together with the queue's or a future's. */
#include <hora/completion.h>

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "exec/completed.h"
#include "exec/members.h"
#include "exec/pool.h"
#include "queue/queue.h"
#include "sys/alloc.h"

struct hora_completion_service {
    struct hora__object object;
    hora_executor executor; /* a copy; immutable */
    /* Of futures that are done, with a reference each; immutable. The elements of the service's own queue are
     * their seats, see completed.h; those of a queue of the user are the futures. */
    hora_queue *queue;
    bool owns_queue; /* the service made the queue, and frees it; immutable */

    /* Guarded by object.lock. */
    struct hora__members members; /* futures that are not done */
    struct hora__list late;       /* members that are done, but that the queue has refused */
    uint64_t takes;               /* number of elements that this service has taken from the queue */
    int waiting;                  /* number of threads that wait in poll_for or take */
    bool is_freed;                /* freed by the owner; the thread that frees the last seat leaves for it */
};

/* A submitted future. It holds a reference to the future and, until the future is done, one to the
 * service. */
struct service_member {
    struct hora__member member; /* its link is in `members`, or in `late` */
    /* The service was freed and has released its reference to the future. Guarded by the service's lock. */
    bool is_released;
    hora_completion_service *service;
    struct hora__put put;   /* the element for the queue, with the memory that the queue needs for it */
    struct hora__seat seat; /* the service's own queue: the element; its number is -1 */
};

/* ---- members ---- */

/* Frees a member, and the memory for the queue if the queue has not taken it. Does not release the future. */
static void member_free(struct service_member *member)
{
    const struct hora__queue_kind *kind = member->service->queue->kind;
    if (kind->discard != NULL && member->put.memory != NULL)
        kind->discard(member->service->queue, &member->put);
    hora__free(member);
}

/* Returns the first late member; NULL: none. */
static struct service_member *first_late_locked(const hora_completion_service *service)
{
    if (hora__list_is_empty(&service->late))
        return NULL;
    return HORA__LIST_ENTRY(service->late.next, struct service_member, member.link);
}

/* Removes and returns the first late member; NULL: none. *ret_takes is the number of takes at this moment. */
static struct service_member *take_late(hora_completion_service *service, uint64_t *ret_takes)
{
    hora__mutex_lock(&service->object.lock);
    struct service_member *member = first_late_locked(service);
    if (member != NULL)
        hora__list_remove(&member->member.link);
    *ret_takes = service->takes;
    hora__mutex_unlock(&service->object.lock);
    return member;
}

/* Makes a member the first late one again, after the queue has refused it. Returns whether an element has
 * been taken from the queue since take_late: the caller must try again then, because the thread that made
 * room did not see this member. */
static bool put_back_late(hora_completion_service *service, struct service_member *member, uint64_t takes)
{
    assert(member->service == service);
    hora__mutex_lock(&service->object.lock);
    hora__list_add_last(service->late.next, &member->member.link); /* in front of the first */
    bool room = service->takes != takes;
    hora__mutex_unlock(&service->object.lock);
    return room && !HORA__FAULT(COMPLETION_TRIES_ONCE);
}

/* Appends a member that the queue has refused to the late ones. */
static void add_late(hora_completion_service *service, struct service_member *member)
{
    assert(member->service == service);
    hora__mutex_lock(&service->object.lock);
    hora__list_add_last(&service->late, &member->member.link);
    hora__mutex_unlock(&service->object.lock);
}

/* Puts the future of a member into the queue. Returns false if the queue refuses it. On success the queue
 * owns the member's reference to the future. If it is a queue of the user, the member is freed; the service's
 * own queue owns the member, too. */
static bool put(hora_completion_service *service, struct service_member *member)
{
    assert(member->service == service && member->put.item != NULL);
    bool owns_queue = service->owns_queue;
    if (hora__queue_put_now(service->queue, &member->put) < 0)
        return false;
    if (owns_queue)
        return true;
    assert(member->put.memory == NULL);
    hora__free(member); /* not member_free: a thread that took the future may have freed the queue already */
    return true;
}

/* Moves late members into the queue, until there are none or the queue refuses one. */
static void put_late(hora_completion_service *service)
{
    struct service_member *member;
    uint64_t takes;
    while ((member = take_late(service, &takes)) != NULL)
        if (!put(service, member) && !put_back_late(service, member, takes))
            return;
}

/* Called after an element was taken from the queue: counts it, and moves late members into the queue. The
 * service's own queue has no late members. */
static void made_room(hora_completion_service *service)
{
    if (service->owns_queue)
        return;
    hora__mutex_lock(&service->object.lock);
    service->takes++;
    bool any_late = first_late_locked(service) != NULL;
    hora__mutex_unlock(&service->object.lock);
    if (any_late)
        put_late(service);
}

/* The listener of a member: its future is done. Puts the future into the queue, or releases the member if the
 * service was freed, and releases the member's reference to the service. */
static void member_done(hora_future *future, void *context)
{
    struct service_member *member = context;
    hora_completion_service *service = member->service;
    assert(member->member.future == future);
    (void)future;
    hora__mutex_lock(&service->object.lock);
    bool is_released = member->is_released;
    if (!is_released)
        hora__members_remove_locked(&service->members, &member->member);
    hora__mutex_unlock(&service->object.lock);
    if (is_released) {
        member_free(member);
    } else if (!put(service, member)) {
        add_late(service, member);
        put_late(service);
    }
    hora__object_leave(&service->object);
}

/* The listener of a member whose future was destroyed without being done. This happens only after the service
 * was freed: until then the member has a reference to the future. */
static void member_gone(void *context)
{
    struct service_member *member = context;
    hora_completion_service *service = member->service;
    assert(member->is_released);
    member_free(member);
    hora__object_leave(&service->object);
}

/* Takes a pending member off the list, and returns its future with the member's reference; NULL: none is
 * pending. The listener stays registered and frees the member later. */
static hora_future *release_pending(hora_completion_service *service)
{
    hora_future *future = NULL;
    hora__mutex_lock(&service->object.lock);
    if (!hora__list_is_empty(&service->members.pending)) {
        struct service_member *member =
            HORA__LIST_ENTRY(service->members.pending.next, struct service_member, member.link);
        hora__members_remove_locked(&service->members, &member->member);
        member->is_released = true; /* once the caller releases the reference, the member may be freed */
        future = member->member.future;
    }
    hora__mutex_unlock(&service->object.lock);
    return future;
}

/* ---- seats ---- */

/* Frees a seat, with the lock. If it was the last one and the owner has freed the service, leaves the service
 * for the owner. */
__attribute__((noinline)) static void leave_seat(struct hora__seat_row *row, int seat)
{
    hora_completion_service *service =
        HORA__LIST_ENTRY(row->members, struct hora_completion_service, members);
    assert(!hora__mutex_held(&service->object.lock));
    hora__mutex_lock(&service->object.lock);
    hora__members_leave_locked(row, seat);
    bool is_last = service->is_freed && hora__members_seats_are_free_locked(&service->members);
    hora__mutex_unlock(&service->object.lock);
    if (is_last)
        hora__object_leave(&service->object);
}

/* A future with a seat is done. Puts it into the queue, which gets the reference of the seat, and then frees
 * the seat: until that, the service exists. Until this returns, the caller's reference keeps the future alive
 * for walks that find it in its seat. */
static void seated_done(hora_future *future)
{
    struct hora__seat_row *row = hora__future_row(future);
    const hora_completion_service *service =
        HORA__LIST_ENTRY(row->members, struct hora_completion_service, members);
    int seat = hora__future_seat(future)->number;
    hora_queue *queue = service->queue;
    bool leaves_first = HORA__FAULT(COMPLETION_LEAVES_SEAT_FIRST);
    if (leaves_first && !hora__members_leave(row, seat))
        leave_seat(row, seat);
    hora__completed_put(queue, hora__future_seat(future));
    if (!leaves_first && !hora__members_leave(row, seat))
        leave_seat(row, seat);
}

/* Makes the futures that have seats and are not done leave them, and releases the references of the seats. */
static void release_seated(hora_completion_service *service)
{
    hora__mutex_lock(&service->object.lock);
    hora__members_unreserve_locked(&service->members);
    struct hora__walk walk = hora__walk_forth_locked(&service->members);
    hora__mutex_unlock(&service->object.lock);
    hora_future *future;
    while ((future = hora__walk_next(&service->members, &walk)) != NULL) {
        struct hora__seat_row *row = hora__future_unseat(future);
        if (row != NULL) {
            leave_seat(row, hora__future_seat(future)->number);
            (void)hora_future_unref(future); /* the reference of the seat */
        }
        (void)hora_future_unref(future);
    }
}

/* ---- making ---- */

/* Returns the future of an element of the queue, with its reference. */
static hora_future *future_of(const hora_completion_service *service, void *item)
{
    assert(item != NULL);
    if (!service->owns_queue)
        return item;
    struct hora__seat *seat = item;
    if (seat->number >= 0)
        return &HORA__LIST_ENTRY(seat, struct hora__seated, seat)->future;
    struct service_member *member = HORA__LIST_ENTRY(seat, struct service_member, seat);
    hora_future *future = member->member.future;
    hora__free(member);
    return future;
}

/* Runs after the owner has freed the service and the last member is gone. Releases the futures that were
 * never taken: the late ones, and those in the queue if it belongs to the service. */
static void destroy(struct hora__object *object)
{
    hora_completion_service *service = HORA__LIST_ENTRY(object, struct hora_completion_service, object);
    struct service_member *member;
    while ((member = first_late_locked(service)) != NULL) {
        hora__list_remove(&member->member.link);
        (void)hora_future_unref(member->member.future);
        member_free(member);
    }
    if (service->owns_queue) {
        void *item;
        while (hora_queue_poll(service->queue, &item) == 0)
            (void)hora_future_unref(future_of(service, item));
        (void)hora_queue_free(service->queue);
    }
    hora__members_destroy(&service->members);
    hora__free(service);
}

/* Initialises a service that is zero. queue NULL: makes a queue of its own. On error nothing is left
 * but the memory of the service. */
static int make(const hora_executor *executor, hora_queue *queue, hora_completion_service *service)
{
    service->executor = *executor;
    service->queue = queue;
    hora__list_init(&service->late);
    if (queue == NULL) {
        service->owns_queue = true;
        int error = hora__completed_queue_new(executor->clock, &service->queue);
        if (error < 0)
            return error;
    }
    int error = hora__object_init(&service->object, executor->clock, destroy);
    if (error == 0)
        hora__members_init(&service->members, &service->object, seated_done);
    else if (service->owns_queue)
        (void)hora_queue_free(service->queue);
    return error;
}

/* Refuses a synchronous queue (capacity 0): it cannot hold a future until a thread takes it. */
int hora_completion_service_new(const hora_executor *executor, hora_queue *queue,
                                hora_completion_service **ret_service)
{
    if (executor == NULL || executor->execute == NULL || ret_service == NULL)
        return HORA_EINVAL;
    int error = queue != NULL ? hora__queue_check(queue) : 0;
    if (error == 0 && queue != NULL && queue->capacity == 0)
        error = HORA_EINVAL;
    if (error < 0)
        return error;
    hora_completion_service *service = hora__alloc(1, sizeof *service);
    if (service == NULL)
        return HORA_ENOMEM;
    error = make(executor, queue, service);
    if (error < 0)
        hora__free(service);
    else
        *ret_service = service;
    return error;
}

static int check(const hora_completion_service *service)
{
    return service == NULL ? HORA_EINVAL : hora__object_check(&service->object);
}

/* Releases the pending futures only if the queue is the service's own: futures for a queue of the user must
 * still arrive there when they are done. */
int hora_completion_service_free(hora_completion_service *service)
{
    if (service == NULL)
        return 0;
    int error = check(service);
    if (error < 0)
        return error;
    hora__mutex_lock(&service->object.lock);
    bool waited_on = service->waiting > 0;
    hora__mutex_unlock(&service->object.lock);
    if (waited_on)
        return HORA_EBUSY;
    hora_future *future;
    while (service->owns_queue && (future = release_pending(service)) != NULL)
        (void)hora_future_unref(future);
    if (service->owns_queue)
        release_seated(service);
    hora__mutex_lock(&service->object.lock);
    bool is_last = hora__members_seats_are_free_locked(&service->members);
    service->is_freed = !is_last;
    hora__mutex_unlock(&service->object.lock);
    if (is_last || HORA__FAULT(COMPLETION_FREED_WITH_SEATS))
        hora__object_leave(&service->object);
    return 0;
}

/* ---- submitting ---- */

/* Makes a member, together with the memory that the queue will need for its future: so the listener cannot
 * fail for lack of memory in a queue that allocates per element. NULL: out of memory. */
static struct service_member *member_new(hora_completion_service *service)
{
    assert(service->queue != NULL);
    struct service_member *member = hora__alloc(1, sizeof *member);
    if (member == NULL)
        return NULL;
    member->service = service;
    member->member.listener =
        (struct hora__listener){.done = member_done, .gone = member_gone, .context = member};
    const struct hora__queue_kind *kind = service->queue->kind;
    if (kind->prepare != NULL && kind->prepare(service->queue, &member->put) < 0) {
        hora__free(member);
        return NULL;
    }
    return member;
}

/* Adds the member to the pending ones and registers its listener. Consumes a reference to the future. The
 * future may be done, and the member freed, before this returns. */
static void join(hora_completion_service *service, struct service_member *member, hora_future *future)
{
    assert(member->service == service && future != NULL);
    member->member.future = future;
    member->seat.number = -1;
    member->put.item = service->owns_queue ? (void *)&member->seat : future;
    hora__mutex_lock(&service->object.lock);
    hora__members_add_locked(&service->members, &member->member);
    hora__object_visit(&service->object);
    hora__mutex_unlock(&service->object.lock);
    hora__future_listen(future, &member->member.listener);
}

/* The executor has accepted a future that the caller of submit does not get. If it has not run the future and
 * kept no reference, no thread will ever run it. */
static void abort_unless_kept(hora_future *future)
{
    assert(!hora__mutex_held(&future->object.lock));
    if (hora__atomic_load(&future->object.references) == 1)
        (void)hora__future_abort(future, HORA_EREJECTED);
}

/* The pool has no place for a future with a seat. The rejection rule may run code of the user, so the future
 * first leaves its seat. If the rule takes care of the future after all, it gets a member. If another thread
 * has found it in the queue and cancelled it before the pool withdrew it, it has left already. */
__attribute__((noinline)) static int refuse_seated(hora_completion_service *service, hora_pool *pool,
                                                   hora_future *future, bool is_returned, int error)
{
    assert(error < 0);
    struct service_member *member = member_new(service);
    struct hora__seat_row *row = hora__future_unseat(future);
    if (row != NULL) {
        leave_seat(row, hora__future_seat(future)->number);
        (void)hora_future_unref(future); /* the reference of the seat */
    }
    error = hora__pool_refuse_fresh(pool, future, member != NULL ? error : HORA_ENOMEM);
    if (error == 0 && !is_returned)
        abort_unless_kept(future);
    if (error == 0)
        join(service, member, hora_future_ref(future));
    else if (member != NULL)
        member_free(member);
    return error;
}

/* Submits a task to a plain pool. The future takes its seat before the pool can run it. The caller of the
 * pool has its own reference meanwhile, because the pool may look for the future in its queue once more. */
static int submit_seated(hora_completion_service *service, hora_pool *pool, const hora_task *task,
                         hora_future **ret_future)
{
    assert(service->owns_queue && task->run != NULL);
    hora_future *future;
    int error = hora__future_new_beside(task, &pool->object, &pool->shared_free_list, &future);
    if (error < 0)
        return error;
    hora__mutex_lock_as(&service->object.lock, HORA__RANK_OBJECT);
    error = hora__members_seat_locked(&service->members, future, true);
    hora__mutex_unlock_as(&service->object.lock, HORA__RANK_OBJECT);
    if (error == 0) {
        error = hora__pool_place_fresh(pool, future);
        if (error == 0)
            hora__members_placed(future);
        else
            error = refuse_seated(service, pool, future, ret_future != NULL, error);
    }
    if (error < 0)
        hora__future_discard(future);
    else if (ret_future != NULL)
        *ret_future = future;
    else
        (void)hora_future_unref(future);
    return error;
}

/* Submits a task to any executor. Makes the member before, so that nothing can fail afterwards. Not inlined,
 * so that the usual way need not save registers for it. */
__attribute__((noinline)) static int submit_listed(hora_completion_service *service, const hora_task *task,
                                                   hora_future **ret_future)
{
    struct service_member *member = member_new(service);
    if (member == NULL)
        return HORA_ENOMEM;
    hora_future *future;
    int error = hora_executor_submit(&service->executor, task, &future);
    if (error < 0) {
        member_free(member);
        return error;
    }
    if (ret_future != NULL)
        *ret_future = hora_future_ref(future);
    else
        abort_unless_kept(future);
    join(service, member, future);
    return 0;
}

int hora_completion_service_submit(hora_completion_service *service, const hora_task *task,
                                   hora_future **ret_future)
{
    int error = check(service);
    if (error < 0)
        return error;
    if (task == NULL || task->run == NULL)
        return HORA_EINVAL;
    hora_pool *pool = service->owns_queue ? hora__executor_pool(&service->executor) : NULL;
    return pool != NULL ? submit_seated(service, pool, task, ret_future)
                        : submit_listed(service, task, ret_future);
}

/* ---- taking ---- */

/* Takes a future without waiting: from the queue, or else the first late one. HORA_EEMPTY, HORA_ECLOSED. */
static int poll_now(hora_completion_service *service, hora_future **ret_future)
{
    assert(ret_future != NULL);
    void *item = service->owns_queue ? hora__completed_take(service->queue) : NULL;
    int error = item != NULL ? 0 : hora_queue_poll(service->queue, &item);
    if (error == 0) {
        made_room(service);
        *ret_future = future_of(service, item);
        return 0;
    }
    uint64_t takes;
    struct service_member *late = service->owns_queue ? NULL : take_late(service, &takes);
    if (late == NULL)
        return error;
    *ret_future = late->member.future;
    member_free(late);
    return 0;
}

int hora_completion_service_poll(hora_completion_service *service, hora_future **ret_future)
{
    int error = check(service);
    if (error < 0 || ret_future == NULL)
        return error < 0 ? error : HORA_EINVAL;
    return poll_now(service, ret_future);
}

/* Lets a worker that is about to wait run the pending futures that are in its own pool's queue, until one can
 * be taken. Returns as poll_now. Without this, a pool whose workers all wait here would never go on. */
static int help(hora_completion_service *service, hora_thread *thread, hora_future **ret_future)
{
    int error = HORA_EEMPTY;
    hora_future *future;
    hora__mutex_lock(&service->object.lock);
    struct hora__walk walk = hora__walk_forth_locked(&service->members);
    hora__mutex_unlock(&service->object.lock);
    while (error == HORA_EEMPTY && (future = hora__walk_next(&service->members, &walk)) != NULL) {
        hora__help(future, thread);
        (void)hora_future_unref(future);
        error = poll_now(service, ret_future);
    }
    return error;
}

/* Waits on the queue. `waiting` makes hora_completion_service_free fail in the meantime. */
static int wait(hora_completion_service *service, hora_ns timeout, hora_future **ret_future)
{
    void *item;
    hora__mutex_lock(&service->object.lock);
    service->waiting++;
    hora__mutex_unlock(&service->object.lock);
    int error = hora_queue_poll_for(service->queue, timeout, &item);
    if (error == 0) {
        made_room(service);
        *ret_future = future_of(service, item);
    }
    hora__mutex_lock(&service->object.lock);
    service->waiting--;
    hora__mutex_unlock(&service->object.lock);
    return error;
}

/* A pending interrupt comes first, then a future that is done. A worker helps before it waits. */
int hora_completion_service_poll_for(hora_completion_service *service, hora_ns timeout,
                                     hora_future **ret_future)
{
    hora_thread *thread;
    int error = check(service);
    if (error < 0 || ret_future == NULL)
        return error < 0 ? error : HORA_EINVAL;
    error = hora__thread_current(&thread);
    if (error < 0)
        return error;
    if (hora__thread_take_interrupt(thread))
        return HORA_EINTERRUPTED;
    error = poll_now(service, ret_future);
    if (error == HORA_EEMPTY && thread->worker != NULL && timeout > 0)
        error = help(service, thread, ret_future);
    if (error == HORA_EEMPTY)
        error = wait(service, timeout, ret_future);
    return error;
}

int hora_completion_service_take(hora_completion_service *service, hora_future **ret_future)
{
    return hora_completion_service_poll_for(service, HORA_FOREVER, ret_future);
}

int hora_completion_service_fd(hora_completion_service *service)
{
    int error = service == NULL ? HORA_EINVAL : hora__object_check(&service->object);
    /* The descriptor of the queue suffices: members are late only while the queue is full or closed, and then
     * the descriptor is readable. */
    return error < 0 ? error : hora_queue_fd(service->queue);
}
