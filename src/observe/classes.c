/* SPDX-License-Identifier: Apache-2.0 */
/* classes.c - the classes of a pool with admission, and moving tasks between them
 *
 * How it works      A class is an admission class with a name. It is allocated before the lock of the pool's
 *                   queue is taken, and added and found by its name under that lock. After a change that may
 *                   let a task begin, the queue is served, and workers are started if some have ended since
 *                   the task was queued.
 * Lifetime          Classes are never removed. They live as long as the pool's observer, since extras, which
 *                   may outlive the pool, refer to them.
 * Locks             The lock of the pool's queue guards the list of classes and their admission classes.
 *                   Functions whose comments name it are called with it held. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/fault.h"
#include "base/options.h"
#include "base/reason.h"
#include "exec/pool_admission.h"
#include "observe/observer.h"
#include "sched/scheduler.h"
#include "sys/alloc.h"

enum { NAME_MOST = 63, CLASSES_MOST = 64, RATE_MOST = 65536 };

/* Lets tasks begin that may begin after a change: wakes a worker, and starts workers if too few are left.
 * Called without the lock of the queue. */
static void let_begin(hora_pool *pool)
{
    hora__work_look(pool->queue);
    hora__pool_staff(pool);
}

/* ---- checking ---- */

/* The functions check_... and read_options return 0, or HORA_EINVAL with the reason. */

static int check_not_negative(int64_t number, const char *field, hora_error *reason)
{
    return number < 0 ? hora__refuse(reason, HORA_EINVAL, field, "%s is %lld, which is negative", field,
                                     (long long)number)
                      : 0;
}

/* Checks that no number of the options is negative. */
static int check_signs(const hora_class_options *own, hora_error *reason)
{
    int error = check_not_negative(own->limit, "limit", reason);
    if (error == 0)
        error = check_not_negative(own->reserve, "reserve", reason);
    if (error == 0)
        error = check_not_negative(own->rate, "rate", reason);
    return error < 0 ? error : check_not_negative(own->per, "per", reason);
}

/* Checks the numbers of the options, and that they go together. */
static int check_options(const hora_class_options *own, hora_error *reason)
{
    int error = check_signs(own, reason);
    if (error < 0)
        return error;
    if (own->limit > 0 && own->reserve > own->limit)
        return hora__refuse(reason, HORA_EINVAL, "reserve",
                            "a reserve, %d, greater than the limit, %d, has no effect", own->reserve,
                            own->limit);
    if (own->rate > RATE_MOST)
        return hora__refuse(reason, HORA_EINVAL, "rate", "rate is %d, which is greater than %d", own->rate,
                            RATE_MOST);
    if (own->rate > 0 && own->per == 0)
        return hora__refuse(reason, HORA_EINVAL, "per", "a rate needs a time: per is 0");
    if (own->rate == 0 && own->per > 0)
        return hora__refuse(reason, HORA_EINVAL, "per", "per has no effect without a rate");
    return 0;
}

/* Returns NULL, or a text that says what is wrong with the name. */
static const char *wrong_name(const char *name)
{
    if (name == NULL || name[0] == '\0')
        return "a class needs a name";
    return strlen(name) > NAME_MOST ? "the name is longer than 63 bytes" : NULL;
}

/* Copies and checks the options. */
static int read_options(hora_class_options *own, const hora_class_options *given, hora_error *reason)
{
    if (given == NULL || HORA__TAKE(hora_class_options, own, given) < 0)
        return hora__refuse_size(reason, "hora_class_options");
    return check_options(own, reason);
}

/* Checks that a pool has admission, and stores its observer. Returns 0, HORA_ENOTSUP, or an error of
 * hora__pool_check. */
static int admission_of(hora_pool *pool, struct hora__pool_observer **ret_pool_observer, hora_error *reason)
{
    int error = hora__pool_check(pool);
    if (error < 0)
        return hora__refuse(reason, error, NULL, "the pool is NULL or belongs to the parent process");
    *ret_pool_observer = hora__pool_get_observer(pool);
    return pool->admission != NULL
               ? 0
               : hora__refuse(reason, HORA_ENOTSUP, NULL, "the pool has no admission: see hora_pool_options");
}

/* Returns the number of threads that the pool can reach by itself. A pool starts threads beyond core_threads
 * only if its queue is bounded or it has grow_after; a pool without core threads still has one. */
static int most_threads(const hora_pool *pool)
{
    struct hora__bounds bounds = hora__pool_bounds(pool);
    bool grows = pool->kind == NULL && pool->queue->capacity != HORA_UNBOUNDED;
    if (grows || hora__pool_get_observer(pool)->options.grow_after > 0)
        return bounds.max_threads;
    return bounds.core_threads > 0 ? bounds.core_threads : 1;
}

/* Returns whether this many threads can be reserved for a class; NULL: for a new one. One thread must be left
 * that is reserved for no class. The caller holds the lock of the queue. */
static bool can_reserve(const struct hora__pool_observer *pool_observer, const hora_class *task_class,
                        int reserve)
{
    assert(hora__mutex_held(&pool_observer->pool->queue->object.lock));
    int64_t all = reserve;
    for (const hora_class *at = pool_observer->classes; at != NULL; at = at->next)
        all += at != task_class ? at->admission_class.reserve : 0;
    return reserve == 0 || all < most_threads(pool_observer->pool);
}

static const char *const too_much_reserved =
    "the reserves of all classes must leave at least one thread of the pool unreserved";

/* ---- making ---- */

/* Returns the class of this name; NULL: the pool has none. The caller holds the lock of the queue. */
static hora_class *find(const struct hora__pool_observer *pool_observer, const char *name)
{
    assert(hora__mutex_held(&pool_observer->pool->queue->object.lock));
    hora_class *at = pool_observer->classes;
    while (at != NULL && strcmp(at->name, name) != 0)
        at = at->next;
    return at;
}

static void free_one(hora_class *task_class)
{
    hora__free(task_class->admission_class.starts);
    hora__free(task_class);
}

void hora__classes_free(hora_class *first)
{
    while (first != NULL) {
        hora_class *next = first->next;
        free_one(first);
        first = next;
    }
}

/* Makes a class that is not yet added, with memory for the times of its last starts if it has a rate. Returns
 * NULL if there is no memory. */
static hora_class *make(struct hora__pool_observer *pool_observer, const hora_class_options *own)
{
    size_t size = strlen(own->name) + 1;
    hora_class *made = hora__alloc(1, sizeof *made + size);
    if (made == NULL)
        return NULL;
    memcpy(made->name, own->name, size);
    made->pool_observer = pool_observer;
    made->admission_class.name = made->name;
    made->admission_class.limit = own->limit;
    made->admission_class.reserve = own->reserve;
    made->admission_class.rate = own->rate;
    made->admission_class.per = own->per;
    if (own->rate > 0)
        made->admission_class.starts = hora__alloc((size_t)own->rate, sizeof(hora_ns));
    if (own->rate == 0 || made->admission_class.starts != NULL)
        return made;
    hora__free(made);
    return NULL;
}

/* Adds a class to the pool. Returns NULL, or a text that says why it cannot be added; the caller then frees
 * it. The caller holds the lock of the queue. */
static const char *add_locked(struct hora__pool_observer *pool_observer, hora_class *made)
{
    assert(hora__mutex_held(&pool_observer->pool->queue->object.lock));
    int count = 0;
    for (const hora_class *at = pool_observer->classes; at != NULL; at = at->next)
        count++;
    if (count >= CLASSES_MOST)
        return "the pool already has 64 classes";
    if (find(pool_observer, made->name) != NULL)
        return "the pool already has a class with this name";
    if (!can_reserve(pool_observer, NULL, made->admission_class.reserve))
        return too_much_reserved;
    made->next = pool_observer->classes;
    pool_observer->classes = made;
    hora__admission_add_class(&pool_observer->pool->admission->admission, &made->admission_class);
    return NULL;
}

/* The new class has no tasks yet, but its reserve may keep tasks of other classes from starting. No task may
 * begin earlier because of it, so nothing has to be settled. */
int hora_class_new(hora_pool *pool, const hora_class_options *options, hora_class **ret_class,
                   hora_error *reason)
{
    hora_class_options own = HORA_INIT(hora_class_options);
    struct hora__pool_observer *pool_observer = NULL;
    hora__reason_begin(reason);
    if (ret_class == NULL)
        return hora__refuse(reason, HORA_EINVAL, NULL, "ret_class is NULL");
    int error = admission_of(pool, &pool_observer, reason);
    if (error == 0)
        error = read_options(&own, options, reason);
    if (error < 0)
        return error;
    const char *wrong = wrong_name(own.name);
    if (wrong != NULL)
        return hora__refuse(reason, HORA_EINVAL, NULL, "%s", wrong);
    hora_class *made = make(pool_observer, &own);
    if (made == NULL)
        return hora__refuse(reason, HORA_ENOMEM, NULL, "out of memory");
    hora__mutex_lock(&pool->queue->object.lock);
    wrong = add_locked(pool_observer, made);
    hora__mutex_unlock(&pool->queue->object.lock);
    if (wrong != NULL) {
        free_one(made);
        return hora__refuse(reason, HORA_EINVAL, NULL, "%s", wrong);
    }
    *ret_class = made;
    return 0;
}

/* ---- changing ---- */

/* Changes a class. Returns NULL, or a text that says why that cannot be done. *starts is memory for the
 * times of a new rate; afterwards it is the memory that the caller frees, whether that is the old or the new
 * one. The caller holds the lock of the queue. */
static const char *set_locked(hora_class *task_class, const hora_class_options *own, hora_ns **starts)
{
    assert(hora__mutex_held(&task_class->pool_observer->pool->queue->object.lock));
    struct hora__admission_class *admission_class = &task_class->admission_class;
    if (!can_reserve(task_class->pool_observer, task_class, own->reserve))
        return too_much_reserved;
    admission_class->limit = own->limit;
    admission_class->reserve = own->reserve;
    if (admission_class->rate != own->rate || admission_class->per != own->per)
        *starts = hora__admission_set_rate(admission_class, own->rate, own->per, *starts);
    return NULL;
}

/* Allocates before it takes the lock. A change may let tasks begin, so the queue is settled afterwards. */
int hora_class_set(hora_class *task_class, const hora_class_options *options, hora_error *reason)
{
    hora_class_options own = HORA_INIT(hora_class_options);
    hora__reason_begin(reason);
    if (task_class == NULL)
        return hora__refuse(reason, HORA_EINVAL, NULL, "task_class is NULL");
    struct hora__pool_observer *pool_observer = NULL;
    hora_pool *pool = task_class->pool_observer->pool;
    int error = admission_of(pool, &pool_observer, reason);
    if (error == 0)
        error = read_options(&own, options, reason);
    if (error < 0)
        return error;
    if (own.name != NULL && strcmp(own.name, task_class->name) != 0)
        return hora__refuse(reason, HORA_EINVAL, NULL, "the name of a class cannot be changed");
    hora_ns *starts = NULL;
    if (own.rate > 0 && (starts = hora__alloc((size_t)own.rate, sizeof *starts)) == NULL)
        return hora__refuse(reason, HORA_ENOMEM, NULL, "out of memory");
    hora__mutex_lock(&pool->queue->object.lock);
    const char *wrong = set_locked(task_class, &own, &starts);
    hora__mutex_unlock(&pool->queue->object.lock);
    hora__free(starts);
    if (wrong != NULL)
        return hora__refuse(reason, HORA_EINVAL, NULL, "%s", wrong);
    if (!HORA__FAULT(ADMISSION_CHANGE_UNSEEN))
        let_begin(pool);
    return 0;
}

/* ---- looking ---- */

/* The class stays valid after the lock is released, because classes are never removed. */
hora_class *hora_pool_find_class(hora_pool *pool, const char *name)
{
    struct hora__pool_observer *pool_observer = NULL;
    if (name == NULL || admission_of(pool, &pool_observer, NULL) < 0)
        return NULL;
    hora__mutex_lock(&pool->queue->object.lock);
    hora_class *found = find(pool_observer, name);
    hora__mutex_unlock(&pool->queue->object.lock);
    return found;
}

/* Reads all numbers under the lock, so they belong together. If the pool has been freed, pool is NULL and
 * hora__pool_check refuses it. */
int hora_class_get_info(hora_class *task_class, hora_class_info *ret_info)
{
    size_t size;
    if (task_class == NULL || HORA__SIZE_GIVEN(hora_class_info, ret_info, &size) < 0)
        return HORA_EINVAL;
    hora_pool *pool = task_class->pool_observer->pool;
    int error = hora__pool_check(pool);
    if (error < 0)
        return error;
    const struct hora__admission_class *admission_class = &task_class->admission_class;
    hora__mutex_lock(&pool->queue->object.lock);
    hora_class_info info = {
        .struct_size = sizeof info,
        .name = task_class->name,
        .limit = admission_class->limit,
        .reserve = admission_class->reserve,
        .rate = admission_class->rate,
        .per = admission_class->per,
        .running = admission_class->running,
        .waiting = admission_class->waiting,
        .started = admission_class->started,
    };
    hora__mutex_unlock(&pool->queue->object.lock);
    hora__output_write(ret_info, size, &info, sizeof info);
    return 0;
}

/* ---- moving tasks ---- */

/* Returns the pool that will run a future, with a reference to its object; NULL: none. */
static hora_pool *owner_of(hora_future *future)
{
    hora_pool *pool = NULL;
    hora__mutex_lock(&future->object.lock);
    if (future->owner != NULL) {
        pool = HORA__LIST_ENTRY(future->owner, struct hora_pool, owner);
        hora__object_ref(&pool->object);
    }
    hora__mutex_unlock(&future->object.lock);
    return pool;
}

/* Changes the ticket of a task that waits in a plain pool. Returns 0, or HORA_EBUSY if the task does not
 * wait any more: it has begun or ended, and a change would have no effect. */
static int change_plain(hora_pool *pool, hora_future *future, const struct hora__ticket_change *change)
{
    hora__mutex_lock(&pool->queue->object.lock);
    struct hora__ticket *ticket = hora__admission_queue_waiting(pool->admission, future);
    bool waits = ticket != NULL;
    if (waits)
        hora__admission_change(&pool->admission->admission, ticket, change);
    hora__mutex_unlock(&pool->queue->object.lock);
    if (waits)
        let_begin(pool);
    return waits ? 0 : HORA_EBUSY;
}

/* Changes class or priority of a task. `task_class` is the new class, to check it; NULL: none. Returns 0,
 * HORA_EINVAL if the class belongs to another pool, HORA_ENOTSUP if the task has no ticket of the pool that
 * will run it, or HORA_EBUSY if it is too late. */
static int change_task(hora_future *future, const struct hora__ticket_change *change,
                       const hora_class *task_class)
{
    if (future == NULL)
        return HORA_EINVAL;
    int error = hora__object_check(&future->object);
    const struct hora__extra *extra = hora__future_extra(future);
    if (error < 0 || extra == NULL || extra->ticket == NULL)
        return error < 0 ? error : HORA_ENOTSUP;
    if (task_class != NULL && &task_class->pool_observer->base != extra->observer)
        return HORA_EINVAL;
    if (hora__scheduled_of(future) != NULL)
        return hora__timer_queue_change_ticket(future, change);
    hora_pool *pool = owner_of(future);
    if (pool == NULL)
        return hora_future_is_done(future) ? HORA_EBUSY : HORA_ENOTSUP; /* no pool will run it */
    error = pool->observer == extra->observer ? change_plain(pool, future, change) : HORA_ENOTSUP;
    hora__object_leave(&pool->object);
    return error;
}

int hora_future_set_class(hora_future *future, hora_class *task_class)
{
    struct hora__ticket_change change = {.sets_class = true};
    change.class = task_class != NULL ? &task_class->admission_class : NULL;
    return change_task(future, &change, task_class);
}

int hora_future_set_priority(hora_future *future, hora_priority priority)
{
    if ((int)priority < HORA_PRIORITY_LOW || priority > HORA_PRIORITY_URGENT)
        return HORA_EINVAL;
    struct hora__ticket_change change = {.level = HORA__LEVEL_NORMAL + (int)priority};
    return change_task(future, &change, NULL);
}
