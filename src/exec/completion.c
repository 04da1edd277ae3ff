/* SPDX-License-Identifier: Apache-2.0 */
/* completion.c - futures in the order in which they are done
 *
 * How it works      Each task that was submitted has a member with a listener. When the future is done, the
 *                   listener puts it into the queue, with memory that was set aside by submit. If the queue
 *                   does not take it (no room, closed, no memory to grow), the member goes to the list of
 *                   late ones.
 * Late ones         A thread that takes looks at the queue first, then at the late ones, and only then waits
 *                   on the queue. Room may be made between a refusal and the list: so a thread that adds a
 *                   late one tries once more, and so does a thread that takes from the queue, since it has
 *                   made room. A thread that tries has the late one in hand, where no other thread sees it:
 *                   if the queue refuses it, and another thread has taken from the queue meanwhile, it tries
 *                   again. A queue with room never refuses.
 * Life              The service lives until its owner and the last pending member are gone. A service that is
 *                   freed, and whose queue is its own, gives back its references to its members: so a future
 *                   that never runs, and has no other reference, is destroyed, and the member with it.
 * Locks             object.lock (rank OBJECT), never together with the queue's or a future's. */
#include <hora/completion.h>

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "exec/members.h"
#include "queue/queue.h"
#include "sys/alloc.h"

struct hora_completion_service {
    struct hora__object object;
    hora_executor executor; /* these three are immutable */
    hora_queue *queue;
    bool owns_queue;

    /* guarded by object.lock */
    struct hora__members members;
    struct hora__list late; /* done, but not in the queue */
    uint64_t takes;         /* how often room was made in the queue */
    int waiting;            /* threads in a call that takes */
};

struct service_member {
    struct hora__member member;
    bool is_let_go; /* the service has been freed, and has given its reference back; guarded by its lock */
    hora_completion_service *service;
    struct hora__put put; /* with the memory for the queue */
};

/* ---- members ---- */

static void member_free(struct service_member *member)
{
    const struct hora__queue_kind *kind = member->service->queue->kind;
    if (kind->discard != NULL && member->put.memory != NULL)
        kind->discard(member->service->queue, &member->put);
    hora__free(member);
}

static struct service_member *first_late_locked(const hora_completion_service *service)
{
    if (hora__list_is_empty(&service->late))
        return NULL;
    return HORA__LIST_ENTRY(service->late.next, struct service_member, member.link);
}

/* The first late one, off the list; NULL: there is none. */
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

/* Put it back. Whether room was made since then. */
static bool put_back_late(hora_completion_service *service, struct service_member *member, uint64_t takes)
{
    assert(member->service == service);
    hora__mutex_lock(&service->object.lock);
    hora__list_add_last(service->late.next, &member->member.link); /* as the first */
    bool room = service->takes != takes;
    hora__mutex_unlock(&service->object.lock);
    return room && !HORA__FAULT(COMPLETION_TRIES_ONCE);
}

static void add_late(hora_completion_service *service, struct service_member *member)
{
    assert(member->service == service);
    hora__mutex_lock(&service->object.lock);
    hora__list_add_last(&service->late, &member->member.link);
    hora__mutex_unlock(&service->object.lock);
}

/* Whether the queue has taken the future, with its reference; the member is gone then. */
static bool put(hora_completion_service *service, struct service_member *member)
{
    assert(member->service == service && member->put.item != NULL);
    if (hora__queue_put_now(service->queue, &member->put) < 0)
        return false;
    assert(member->put.memory == NULL);
    hora__free(member); /* who has taken the future may have freed the queue since */
    return true;
}

/* Try again for those that the queue has refused. */
static void put_late(hora_completion_service *service)
{
    struct service_member *member;
    uint64_t takes;
    while ((member = take_late(service, &takes)) != NULL)
        if (!put(service, member) && !put_back_late(service, member, takes))
            return;
}

/* An element was taken from the queue. */
static void made_room(hora_completion_service *service)
{
    hora__mutex_lock(&service->object.lock);
    service->takes++;
    bool any_late = first_late_locked(service) != NULL;
    hora__mutex_unlock(&service->object.lock);
    if (any_late)
        put_late(service);
}

/* Listener: a future is done. */
static void member_done(hora_future *future, void *context)
{
    assert(future == ((struct service_member *)context)->member.future);
    struct service_member *member = context;
    hora_completion_service *service = member->service;
    assert(member->member.future == future);
    (void)future;
    hora__mutex_lock(&service->object.lock);
    bool is_let_go = member->is_let_go;
    if (!is_let_go)
        hora__members_remove_locked(&service->members, &member->member);
    hora__mutex_unlock(&service->object.lock);
    if (is_let_go) {
        member_free(member);
    } else if (!put(service, member)) {
        add_late(service, member);
        put_late(service);
    }
    hora__object_leave(&service->object);
}

/* Listener: a future that was let go has been destroyed, and was never done. */
static void member_gone(void *context)
{
    struct service_member *member = context;
    hora_completion_service *service = member->service;
    assert(member->is_let_go);
    member_free(member);
    hora__object_leave(&service->object);
}

/* One that is pending, off the list, with the reference of the member; NULL: there is none. */
static hora_future *let_go(hora_completion_service *service)
{
    hora_future *future = NULL;
    hora__mutex_lock(&service->object.lock);
    if (!hora__list_is_empty(&service->members.pending)) {
        struct service_member *member =
            HORA__LIST_ENTRY(service->members.pending.next, struct service_member, member.link);
        hora__members_remove_locked(&service->members, &member->member);
        member->is_let_go = true; /* from here on it may be gone with the reference */
        future = member->member.future;
    }
    hora__mutex_unlock(&service->object.lock);
    return future;
}

/* ---- making ---- */

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
        void *future;
        while (hora_queue_poll(service->queue, &future) == 0)
            (void)hora_future_unref(future);
        (void)hora_queue_free(service->queue);
    }
    hora__free(service);
}

static int make(const hora_executor *executor, hora_queue *queue, hora_completion_service *service)
{
    service->executor = *executor;
    service->queue = queue;
    hora__list_init(&service->late);
    if (queue == NULL) {
        hora_queue_options options = HORA_INIT(hora_queue_options);
        options.clock = executor->clock;
        service->owns_queue = true;
        int error = hora_queue_new_linked(HORA_UNBOUNDED, &options, &service->queue, NULL);
        if (error < 0)
            return error;
    }
    int error = hora__object_init(&service->object, executor->clock, destroy);
    if (error == 0)
        hora__members_init(&service->members, &service->object);
    else if (service->owns_queue)
        (void)hora_queue_free(service->queue);
    return error;
}

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
    while (service->owns_queue && (future = let_go(service)) != NULL)
        (void)hora_future_unref(future);
    hora__object_leave(&service->object);
    return 0;
}

/* ---- submitting ---- */

/* With the memory that will be needed when the future is done; NULL if there is none. */
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

/* The member becomes pending; it may be done before this returns. Takes over a reference. */
static void join(hora_completion_service *service, struct service_member *member, hora_future *future)
{
    assert(member->service == service && future != NULL);
    member->member.future = future;
    member->put.item = future;
    hora__mutex_lock(&service->object.lock);
    hora__members_add_locked(&service->members, &member->member);
    hora__object_visit(&service->object);
    hora__mutex_unlock(&service->object.lock);
    hora__future_listen(future, &member->member.listener);
}

int hora_completion_service_submit(hora_completion_service *service, const hora_task *task,
                                   hora_future **ret_future)
{
    int error = check(service);
    if (error < 0)
        return error;
    struct service_member *member = member_new(service);
    if (member == NULL)
        return HORA_ENOMEM;
    hora_future *future;
    error = hora_executor_submit(&service->executor, task, &future);
    if (error < 0) {
        member_free(member);
        return error;
    }
    if (ret_future != NULL)
        *ret_future = hora_future_ref(future);
    else if (hora__atomic_load(&future->object.references) == 1)
        (void)hora__future_abort(future,
                                 HORA_EREJECTED); /* the executor has not kept it: it will never run */
    join(service, member, future);
    return 0;
}

/* ---- taking ---- */

/* Take without waiting. HORA_EEMPTY, HORA_ECLOSED. */
static int poll_now(hora_completion_service *service, void **ret_item)
{
    assert(ret_item != NULL);
    int error = hora_queue_poll(service->queue, ret_item);
    if (error == 0) {
        made_room(service);
        return 0;
    }
    uint64_t takes;
    struct service_member *late = take_late(service, &takes);
    if (late == NULL)
        return error;
    *ret_item = late->member.future;
    member_free(late);
    return 0;
}

int hora_completion_service_poll(hora_completion_service *service, hora_future **ret_future)
{
    void *item;
    int error = check(service);
    if (error < 0 || ret_future == NULL)
        return error < 0 ? error : HORA_EINVAL;
    error = poll_now(service, &item);
    if (error == 0)
        *ret_future = item;
    return error;
}

/* A worker that is about to wait: run what stands in its own pool's queue, until something can be taken. */
static int help(hora_completion_service *service, hora_thread *thread, void **ret_item)
{
    int error = HORA_EEMPTY;
    hora_future *future;
    hora__mutex_lock(&service->object.lock);
    struct hora__walk walk = hora__walk_forth_locked(&service->members);
    hora__mutex_unlock(&service->object.lock);
    while (error == HORA_EEMPTY && (future = hora__walk_next(&service->members, &walk)) != NULL) {
        hora__help(future, thread);
        (void)hora_future_unref(future);
        error = poll_now(service, ret_item);
    }
    return error;
}

static int wait(hora_completion_service *service, hora_ns timeout, void **ret_item)
{
    hora__mutex_lock(&service->object.lock);
    service->waiting++;
    hora__mutex_unlock(&service->object.lock);
    int error = hora_queue_poll_for(service->queue, timeout, ret_item);
    if (error == 0)
        made_room(service);
    hora__mutex_lock(&service->object.lock);
    service->waiting--;
    hora__mutex_unlock(&service->object.lock);
    return error;
}

int hora_completion_service_poll_for(hora_completion_service *service, hora_ns timeout,
                                     hora_future **ret_future)
{
    hora_thread *thread;
    void *item;
    int error = check(service);
    if (error < 0 || ret_future == NULL)
        return error < 0 ? error : HORA_EINVAL;
    error = hora__thread_current(&thread);
    if (error < 0)
        return error;
    if (hora__thread_take_interrupt(thread))
        return HORA_EINTERRUPTED;
    error = poll_now(service, &item);
    if (error == HORA_EEMPTY && thread->worker != NULL && timeout > 0)
        error = help(service, thread, &item);
    if (error == HORA_EEMPTY)
        error = wait(service, timeout, &item);
    if (error == 0)
        *ret_future = item;
    return error;
}

int hora_completion_service_take(hora_completion_service *service, hora_future **ret_future)
{
    return hora_completion_service_poll_for(service, HORA_FOREVER, ret_future);
}

int hora_completion_service_fd(hora_completion_service *service)
{
    int error = service == NULL ? HORA_EINVAL : hora__object_check(&service->object);
    return error < 0 ? error
                     : hora_queue_fd(service->queue); /* there are late ones only while the queue is full */
}
