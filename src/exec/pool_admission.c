/* SPDX-License-Identifier: Apache-2.0 */
/* pool_admission.c - see pool_admission.h
 *
 * The queue         Its container is an admission queue. For waiting threads it is a source with due times,
 *                   like that of a scheduler: the next task can be taken now, or when the rate of a class
 *                   lets one begin, or not before a run ends. A worker takes a task by `take`: then the task
 *                   has begun, and holds its ticket until hora__pool_run_ended. Other threads take by `pop`,
 *                   which removes a task without beginning it. In a snapshot the tasks that are READY come
 *                   first, in the order in which they would begin, and then those behind others with their
 *                   key.
 * Threads           Admission counts the core threads, or the workers if there are more. A new worker that
 *                   raises this number searches for a task itself. Raising core_threads serves the queue.
 * The end of a run  The worker reports it once, after the hooks, and before it drops the reference of the
 *                   entry, to which the ticket belongs. In most cases the worker then takes its next task at
 *                   once, which serves the queue, so it does not wake another worker. But if dropping the
 *                   reference may run code of the user, which may take long, it serves the queue before.
 * Invariants        I1 base.size is the number of waiting tickets. */
#include "exec/pool_admission.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "exec/extra.h"
#include "exec/work_source.h"
#include "sync/clock.h"
#include "sys/alloc.h"

/* The queue of a plain pool with admission. */
struct pool_queue {
    struct hora__work_source base;
    struct hora__admission_queue tasks; /* guarded by the lock of base.queue */
};

static struct pool_queue *pool_queue_of(hora_queue *queue)
{
    return HORA__LIST_ENTRY(queue, struct pool_queue, base.queue);
}

static struct hora__admission *admission_of(hora_queue *queue)
{
    return &pool_queue_of(queue)->tasks.admission;
}

static hora_ns now_of(const hora_queue *queue)
{
    return hora_clock_now(queue->object.clock);
}

/* As own_ticket of struct hora__admission_queue: returns the ticket in the future's extra; NULL: it has none
 * for this pool. */
static struct hora__ticket *own_ticket(const void *context, const void *item)
{
    const hora_pool *pool = context;
    const struct hora__extra *extra = hora__future_extra_in(pool, item);
    return extra != NULL ? extra->ticket : NULL;
}

int hora__pool_admission_threads(const void *context)
{
    const hora_pool *pool = context;
    int32_t control = hora__atomic_load(&pool->control);
    if (hora__state_of(control) >= HORA__STOP)
        return 0; /* so no waiting task begins when an interrupted one ends: they are handed back */
    int core = hora__atomic_load(&pool->core_threads);
    int written_off = hora__atomic_load(&pool->written_off); /* these still run, and have been replaced */
    if (core > HORA__WORKERS_MAX)
        core = HORA__WORKERS_MAX; /* there cannot be more, and the sum below must not overflow */
    return written_off + (core > hora__count_of(control) ? core : hora__count_of(control));
}

/* ---- the container and the work source ---- */

/* Without the lock: claims the ticket of a future that is about to be put. HORA_ENOMEM. */
static int prepare(hora_queue *queue, struct hora__put *put)
{
    assert(put->item != NULL && !hora__mutex_held(&queue->object.lock));
    struct hora__ticket *ticket;
    int error = hora__admission_queue_claim(&pool_queue_of(queue)->tasks, put->item, NULL, &ticket);
    if (error == 0)
        put->memory = ticket;
    return error;
}

/* Without the lock: gives back the ticket of a put that failed. */
static void discard(hora_queue *queue, struct hora__put *put)
{
    assert(put->memory != NULL && !hora__mutex_held(&queue->object.lock));
    hora__admission_queue_unclaim(&pool_queue_of(queue)->tasks, put->memory, put->item);
    put->memory = NULL;
}

/* Adds a prepared task to those that wait. HORA_EFULL. */
static int push(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock) && put->memory != NULL);
    (void)wakes;
    if (queue->size == queue->capacity)
        return HORA_EFULL;
    hora__admission_queue_add(&pool_queue_of(queue)->tasks, put->memory, put->item, now_of(queue));
    put->memory = NULL;
    queue->size++; /* I1 */
    assert(queue->size == admission_of(queue)->waiting);
    return 0;
}

/* Removes a waiting ticket without running its task, which it returns. */
static void *leave(hora_queue *queue, struct hora__ticket *ticket)
{
    assert(queue->size > 0 && ticket != NULL);
    queue->size--; /* I1 */
    return hora__admission_queue_remove(&pool_queue_of(queue)->tasks, ticket);
}

/* Takes the task that is to begin now, and begins it. NULL: none may begin. For workers only. */
static void *take(hora_queue *queue, struct hora__taken *ret_taken, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    (void)wakes;
    (void)ret_taken;
    if (queue->size == 0)
        return NULL;
    hora_ns now = now_of(queue);
    struct hora__ticket *best = hora__admission_best(admission_of(queue), now);
    if (best == NULL)
        return NULL;
    hora__admission_begin(admission_of(queue), best, now);
    queue->size--; /* I1 */
    assert(queue->size == admission_of(queue)->waiting);
    return best->item;
}

/* Removes the task that would begin now, without beginning it. NULL: none may. */
static void *pop(hora_queue *queue, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    (void)wakes;
    struct hora__ticket *best =
        queue->size > 0 ? hora__admission_best(admission_of(queue), now_of(queue)) : NULL;
    return best != NULL ? leave(queue, best) : NULL;
}

/* Returns the task that is likely to begin next: the first one that is READY or, without one, the oldest. */
static void *peek(hora_queue *queue)
{
    const struct hora__ticket *first = hora__admission_first_ready(admission_of(queue));
    if (first == NULL)
        first = hora__admission_first(admission_of(queue));
    return first != NULL ? first->item : NULL;
}

/* Removes the oldest task, whether it may begin or not; NULL: the queue is empty. */
static void *drain(hora_queue *queue)
{
    struct hora__ticket *first = hora__admission_first(admission_of(queue));
    return first != NULL ? leave(queue, first) : NULL;
}

static void *take_first(hora_queue *queue, struct hora__taken *ret_taken)
{
    (void)ret_taken;
    return drain(queue);
}

/* Returns whether a task waits here; removes it if `remove` is set. */
static bool find(hora_queue *queue, const void *item, bool remove)
{
    struct hora__ticket *ticket = hora__admission_queue_waiting(&pool_queue_of(queue)->tasks, item);
    if (ticket != NULL && remove)
        (void)leave(queue, ticket);
    return ticket != NULL;
}

/* Copies the first `max` tasks, in the order described above. */
static void copy(hora_queue *queue, void **items, int max)
{
    const struct hora__admission *admission = admission_of(queue);
    int count = 0;
    for (struct hora__ticket *at = hora__admission_first_ready(admission); at != NULL && count < max;
         at = hora__admission_after_ready(admission, at))
        items[count++] = at->item;
    for (struct hora__ticket *at = hora__admission_first(admission); at != NULL && count < max;
         at = hora__admission_after(admission, at))
        if (at->state == HORA__TICKET_BEHIND)
            items[count++] = at->item;
}

/* Returns when a task can be taken. There is no single element that becomes due then, so the time itself
 * serves as its number. */
static hora_ns next_due(hora_queue *queue, uint64_t *ret_element)
{
    hora_ns due = hora__admission_next(admission_of(queue), now_of(queue));
    *ret_element = (uint64_t)due;
    return due;
}

static void destroy(hora_queue *queue)
{
    hora__admission_queue_destroy(&pool_queue_of(queue)->tasks);
    hora__free(pool_queue_of(queue));
}

static const struct hora__queue_kind container = {
    .prepare = prepare,
    .discard = discard,
    .push = push,
    .pop = pop,
    .peek = peek,
    .drain = drain,
    .find = find,
    .copy = copy,
    .next_due = next_due,
    .destroy = destroy,
};

static const struct hora__work_kind work_kind = {
    .behaviour = {.serve = hora__work_serve, .take = hora__work_take, .close = hora__work_close},
    .offer = hora__work_put,
    .take = take,
    .take_first = take_first,
    .visit = hora__work_visit_few,
};

int hora__pool_make_admission_queue(hora_pool *pool, int capacity, const hora_queue_options *options,
                                    hora_ns ageing)
{
    struct pool_queue *made = hora__alloc(1, sizeof *made);
    if (made == NULL)
        return HORA_ENOMEM;
    hora__admission_queue_init(&made->tasks, ageing, own_ticket, hora__pool_admission_threads, pool,
                               &made->base.queue.object.lock);
    int error = hora__work_source_init(&made->base, &container, &work_kind, capacity, options);
    if (error < 0) {
        hora__free(made);
        return error;
    }
    pool->queue = &made->base.queue;
    pool->admission = &made->tasks;
    return 0;
}

/* ---- runs ---- */

/* Ends the ticket of a task and, if `serves`, serves the queue. */
static void end_run(hora_pool *pool, hora_future *future, bool serves)
{
    assert(pool->admission != NULL && !hora__mutex_held(&pool->queue->object.lock));
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&pool->queue->object.lock);
    bool had_ticket = hora__admission_queue_end(pool->admission, future);
    assert(had_ticket || pool->kind != NULL); /* a series gave its ticket back when it was put back */
    (void)had_ticket;
    if (serves)
        hora__queue_serve(pool->queue, NULL, &wakes);
    hora__queue_exit(pool->queue, &wakes);
}

/* Returns whether dropping the last reference of a future may run code of the user. */
static bool ends_with_user_code(hora_future *future)
{
    const struct hora__extra *extra = hora__future_extra(future);
    return future->task.drop_result != NULL || (extra != NULL && extra->is_captured);
}

/* Called for each run exactly once; see The end of a run above. */
bool hora__pool_run_ended(hora_pool *pool, hora_future *future)
{
    bool serves = ends_with_user_code(future);
    end_run(pool, future, serves);
    hora__pool_nudge_awaited(pool);
    hora__pool_room(pool); /* the task of a waiting submitter may begin now, on a new thread */
    return !serves;
}

/* With the lock held: returns whether a ticket that has just been added may begin. On a core thread only if
 * it is the best one; on a thread beyond these, which exists only for this task, whenever its class and key
 * allow it. */
static bool may_begin(hora_pool *pool, const struct hora__ticket *ticket, hora_ns now, bool core)
{
    assert(hora__mutex_held(&pool->queue->object.lock) && ticket != NULL);
    const struct hora__admission *admission = &pool->admission->admission;
    if (pool->queue->closed)
        return false;
    return core ? hora__admission_best(admission, now) == ticket
                : hora__admission_may_begin(admission, ticket, now);
}

/* Adds a ticket and begins it, if it may. If not, removes it again, so that no ticket waits that is not
 * counted in `size` (I1). Returns 0, HORA_EFULL or HORA_ENOMEM. */
static int begin(hora_pool *pool, hora_future *future, bool core)
{
    assert(pool->kind == NULL && pool->admission != NULL);
    struct hora__ticket *ticket;
    int error = hora__admission_queue_claim(pool->admission, future, NULL, &ticket);
    if (error < 0)
        return error;
    hora__mutex_lock(&pool->queue->object.lock);
    hora_ns now = now_of(pool->queue);
    hora__admission_queue_add(pool->admission, ticket, future, now);
    bool may = may_begin(pool, ticket, now, core);
    if (may)
        hora__admission_begin(&pool->admission->admission, ticket, now);
    else
        (void)hora__admission_queue_remove(pool->admission, ticket);
    hora__mutex_unlock(&pool->queue->object.lock);
    return may ? 0 : HORA_EFULL;
}

/* The check of the count only avoids needless work: hora__worker_add decides. */
int hora__pool_run_begin(hora_pool *pool, hora_future *future, bool core)
{
    assert(pool->kind == NULL);
    int most = hora__atomic_load(core ? &pool->core_threads : &pool->max_threads);
    bool has_thread = hora__count_of(hora__atomic_load(&pool->control)) < most;
    return has_thread ? begin(pool, future, core) : HORA_EFULL;
}

void hora__pool_run_unbegin(hora_pool *pool, hora_future *future)
{
    assert(pool->kind == NULL);
    end_run(pool, future, true);
    hora__pool_nudge_awaited(pool);
}

/* ---- workers that wait for a task of their own pool ---- */

/* Begins the task for which a worker waits, or the first one of its key, so that the worker runs it. Returns
 * as hora__admission_help. */
static hora_ns help(hora_pool *pool, const hora_future *future, hora_future **ret_future)
{
    assert(pool->admission != NULL && ret_future != NULL);
    hora_queue *queue = pool->queue;
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora_ns from = HORA_FOREVER;
    hora__mutex_lock(&queue->object.lock);
    struct hora__ticket *ticket = hora__admission_queue_waiting(pool->admission, future);
    if (ticket != NULL)
        from = hora__admission_help(admission_of(queue), ticket, now_of(queue), &ticket);
    if (from == INT64_MIN) {
        *ret_future = ticket->item;
        queue->size--; /* I1 */
        hora__queue_serve(queue, NULL, &wakes);
    }
    hora__queue_exit(queue, &wakes);
    return from;
}

hora_ns hora__pool_take_out_admitted(hora_pool *pool, hora_future *future, hora_future **ret_future)
{
    assert(pool->kind == NULL && pool->admission != NULL);
    hora_ns from = help(pool, future, ret_future);
    if (from != INT64_MIN)
        return from;
    hora__pool_room(pool);
    hora__pool_relieve(pool);
    return from;
}

/* Returns a future, with a reference, for which a worker waits and which it could run now; NULL: none. */
static hora_future *next_awaited(hora_pool *pool)
{
    assert(pool->admission != NULL && !hora__mutex_held(&pool->queue->object.lock));
    hora__mutex_lock(&pool->queue->object.lock);
    const struct hora__ticket *ticket = hora__admission_next_awaited(&pool->admission->admission);
    hora_future *future = ticket != NULL ? hora_future_ref(ticket->item) : NULL;
    hora__mutex_unlock(&pool->queue->object.lock);
    return future;
}

/* The first check needs no lock, and is all that a pool pays whose workers do not wait for tasks of their
 * own. */
void hora__pool_nudge_awaited(hora_pool *pool)
{
    hora_future *future;
    if (!hora__admission_has_awaited(&pool->admission->admission))
        return;
    while ((future = next_awaited(pool)) != NULL) {
        hora__future_nudge(future);
        (void)hora_future_unref(future);
    }
}

/* ---- workers ---- */

static bool is_below_core(const hora_pool *pool)
{
    return hora__count_of(hora__atomic_load(&pool->control)) < hora__atomic_load(&pool->core_threads);
}

/* Returns whether a waiting task may begin now. */
static bool has_task_to_begin(hora_pool *pool)
{
    assert(pool->admission != NULL);
    hora__mutex_lock(&pool->queue->object.lock);
    bool has = hora__admission_next(&pool->admission->admission, now_of(pool->queue)) == INT64_MIN;
    hora__mutex_unlock(&pool->queue->object.lock);
    return has;
}

void hora__pool_staff(hora_pool *pool)
{
    while (is_below_core(pool) && has_task_to_begin(pool))
        if (hora__worker_add(pool, NULL, true) < 0) /* the failure is noted */
            return;
}
