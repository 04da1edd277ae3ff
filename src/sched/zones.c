/* SPDX-License-Identifier: Apache-2.0 */
/* zones.c - the zones of a scheduler's tasks, and how they are refreshed
 *
 * Mechanism         A zone that is named with an expression is read once for all tasks of the timer queue:
 *                   `zones` holds it as long as the timer queue lives. Other zones are hidden in triggers, so
 *                   `other_zoned` lists the series states of the tasks that have such triggers, whether they
 *                   wait or run. A refresh collects all zones and such triggers under the timer queue's lock,
 *                   and refreshes them without it, since that reads files. Then it makes all waiting tasks
 *                   with a zone due, and the workers that take them ask the triggers again.
 * Races             Triggers are asked without the lock, too, so a refresh can happen between asking and
 *                   queueing. Therefore refreshes are counted. A thread that takes or makes a task notes the
 *                   count before it asks the trigger, and compares when it queues the task. The count grows
 *                   before triggers are collected: a task that is being made at that moment may be missing
 *                   from the collection, and its thread refreshes the zones itself. The count grows again
 *                   when all zones have been refreshed.
 * Invariants        Z1 no two zones of a timer queue have the same name.
 *                   Z2 the series state of a task whose trigger has a zone is in `zoned` or `other_zoned` as
 *                      long as its future lives. */
#include "sched/zones.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/fault.h"
#include "sched/scheduler.h"
#include "sched/timer_queue_internal.h"
#include "sched/trigger.h"
#include "sys/alloc.h"

/* A zone in the list `zones` of the timer queue, whose lock guards the list. Elements are never removed
 * before the timer queue is freed. */
struct known_zone {
    struct hora__list link;
    /* A reference. */
    hora_zone *zone;
};

static struct known_zone *known_of(struct hora__list *link)
{
    assert(link != NULL);
    return HORA__LIST_ENTRY(link, struct known_zone, link);
}

static struct hora__series *series_of(struct hora__list *link)
{
    return HORA__LIST_ENTRY(link, struct hora__series, zoned);
}

/* The two lists of series states need no work: each future with such a state holds the timer queue, so
 * they are empty by now. */
void hora__zones_forget(hora_queue *queue)
{
    while (!hora__list_is_empty(&timer_queue_of(queue)->zones)) {
        struct known_zone *known = known_of(timer_queue_of(queue)->zones.next);
        hora__list_remove(&known->link);
        (void)hora_zone_unref(known->zone);
        hora__free(known);
    }
}

/* ---- one zone for all ---- */

/* Returns the zone of this name, with a reference for the caller; NULL: the timer queue does not have it. */
static hora_zone *find_locked(hora_queue *queue, const char *name)
{
    assert(name != NULL);
    assert(hora__mutex_held(&queue->object.lock));
    for (struct hora__list *link = timer_queue_of(queue)->zones.next; link != &timer_queue_of(queue)->zones;
         link = link->next)
        if (strcmp(hora_zone_name(known_of(link)->zone), name) == 0)
            return hora_zone_ref(known_of(link)->zone);
    return NULL;
}

/* Add a zone to the timer queue, unless another thread has added one of the same name while this one read
 * the file. Takes over `known` and the caller's reference to `zone`. Returns the zone that the timer queue
 * now has, with a reference for the caller. */
static hora_zone *remember(hora_queue *queue, struct known_zone *known, hora_zone *zone)
{
    assert(zone != NULL && known != NULL);
    hora__mutex_lock(&queue->object.lock);
    hora_zone *other = find_locked(queue, hora_zone_name(zone)); /* Z1 */
    if (other == NULL) {
        /* One reference for the list, one for the caller. */
        known->zone = hora_zone_ref(zone);
        hora__list_add_last(&timer_queue_of(queue)->zones, &known->link);
    }
    hora__mutex_unlock(&queue->object.lock);
    if (other == NULL)
        return zone;
    hora__free(known);
    (void)hora_zone_unref(zone);
    return other;
}

/* Looks in the list first. Tasks of one scheduler mostly use the same few zones, so the list is short. The
 * list has normal names: an offset that is written otherwise, such as "+0530", is not found and made anew,
 * which reads no file; remember() finds its normal name. */
int hora__zones_get(hora_queue *queue, const char *name, hora_zone **ret_zone, hora_error *reason)
{
    assert(name != NULL && ret_zone != NULL);
    hora__mutex_lock(&queue->object.lock);
    hora_zone *zone = find_locked(queue, name);
    hora__mutex_unlock(&queue->object.lock);
    if (zone != NULL) {
        *ret_zone = zone;
        return 0;
    }
    /* Reads a file, so the lock has been released. Another thread may read the same one; remember()
     * decides which copy stays. */
    int error = hora_zone_new(name, NULL, &zone, reason);
    if (error < 0)
        return error;
    struct known_zone *known = hora__alloc(1, sizeof *known);
    if (known == NULL) {
        (void)hora_zone_unref(zone);
        return HORA_ENOMEM;
    }
    hora__list_init(&known->link);
    *ret_zone = remember(queue, known, zone);
    return 0;
}

/* ---- tasks with a zone ---- */

/* Count the beginning or the end of a refresh. refreshed_at separates times that were settled by the old
 * rules from those that the new rules decide. */
static void count_locked(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    timer_queue_of(queue)->refreshes++;
    timer_queue_of(queue)->refreshed_at = hora__timer_queue_now(queue, HORA__WALL);
}

uint32_t hora__zones_seen(hora_queue *queue)
{
    hora__mutex_lock(&queue->object.lock);
    uint32_t seen = timer_queue_of(queue)->refreshes;
    hora__mutex_unlock(&queue->object.lock);
    return seen;
}

/* If a refresh has begun or ended since `seen` was read, it may not have collected this task's trigger,
 * whose zones may still have the old rules: they are refreshed here. The difference in series->refreshes
 * remains, and makes the planned time stale when the task is queued (hora__scheduled_check_rules). */
void hora__zones_follow(struct hora__scheduled *scheduled, uint32_t seen, bool known)
{
    hora_trigger *trigger = hora__scheduled_rules(scheduled)->trigger;
    if (trigger == NULL || !trigger->has_zone)
        return;
    hora_queue *queue = scheduled->queue;
    struct hora__series *series = scheduled->series;
    assert(series != NULL && hora__list_is_empty(&series->zoned)); /* Z2 */
    series->refreshes = HORA__FAULT(ZONES_REFRESH_UNSEEN_BY_NEWCOMER) ? hora__zones_seen(queue) : seen;
    hora__mutex_lock(&queue->object.lock);
    hora__list_add_last(known ? &timer_queue_of(queue)->zoned : &timer_queue_of(queue)->other_zoned,
                        &series->zoned); /* Z2 */
    bool stale = series->refreshes != timer_queue_of(queue)->refreshes;
    hora__mutex_unlock(&queue->object.lock);
    if (stale)
        (void)hora_trigger_refresh(trigger);
}

/* ---- collecting ---- */

/* The zones and triggers to refresh, each with a reference, in arrays that grow while no lock is held. */
struct collection {
    hora_zone **zones;
    size_t zone_count;
    size_t zone_capacity;
    hora_trigger **triggers;
    size_t trigger_count;
    size_t trigger_capacity;
};

/* Returns the number of elements of a list. */
static size_t length_of(const struct hora__list *list)
{
    size_t length = 0;
    for (const struct hora__list *link = list->next; link != list; link = link->next)
        length++;
    return length;
}

/* Take a reference to each zone, and to the trigger of each task in `other_zoned`. Tasks whose future is done
 * are left out. A trigger is taken only once for neighbours in the list, which often share one; refreshing
 * it twice would be harmless. */
static void take_locked(struct collection *collection, hora_queue *queue)
{
    assert(collection->zone_count == 0 && collection->trigger_count == 0);
    assert(hora__mutex_held(&queue->object.lock));
    for (struct hora__list *link = timer_queue_of(queue)->zones.next;
         link != &timer_queue_of(queue)->zones && collection->zone_count < collection->zone_capacity;
         link = link->next)
        collection->zones[collection->zone_count++] = hora_zone_ref(known_of(link)->zone);
    const hora_trigger *last = NULL;
    for (struct hora__list *link = timer_queue_of(queue)->other_zoned.next;
         link != &timer_queue_of(queue)->other_zoned; link = link->next) {
        hora_trigger *trigger = series_of(link)->rules->trigger;
        bool is_over = hora_future_is_done(&series_of(link)->scheduled->future);
        if (trigger == last || is_over || collection->trigger_count == collection->trigger_capacity)
            continue;
        collection->triggers[collection->trigger_count++] = hora_trigger_ref(trigger);
        last = trigger;
    }
}

/* Replace the arrays of an empty collection by larger ones, with some room to spare for tasks that are
 * scheduled in the meantime. HORA_ENOMEM; the caller frees the arrays then, too. */
static int make_room(struct collection *collection, size_t zones, size_t triggers)
{
    assert(collection->zone_count == 0 && collection->trigger_count == 0);
    hora__free(collection->zones);
    hora__free(collection->triggers);
    collection->zone_capacity = zones + zones / 2 + 1;
    collection->trigger_capacity = triggers + triggers / 2 + 1;
    collection->zones = hora__alloc(collection->zone_capacity, sizeof(hora_zone *));
    collection->triggers = hora__alloc(collection->trigger_capacity, sizeof(hora_trigger *));
    return collection->zones == NULL || collection->triggers == NULL ? HORA_ENOMEM : 0;
}

/* Count the beginning of a refresh and collect what has to be refreshed. Memory is allocated without the
 * lock, so the lists may have grown when the lock is taken again; then the loop starts over. HORA_ENOMEM. */
static int collect(hora_queue *queue, struct collection *collection)
{
    for (;;) {
        hora__mutex_lock(&queue->object.lock);
        size_t zones = length_of(&timer_queue_of(queue)->zones),
               triggers = length_of(&timer_queue_of(queue)->other_zoned);
        bool fits = zones <= collection->zone_capacity && triggers <= collection->trigger_capacity;
        if (fits) {
            count_locked(queue);
            take_locked(collection, queue);
        }
        hora__mutex_unlock(&queue->object.lock);
        if (fits)
            return 0;
        int error = make_room(collection, zones, triggers);
        if (error < 0)
            return error;
    }
}

/* ---- refreshing ---- */

/* Refresh everything that was collected, and release the references. Returns 1 if any rules have changed,
 * 0 if none have, or the first error; all zones are tried in any case. */
static int refresh(const struct collection *collection)
{
    int result = 0;
    for (size_t i = 0; i < collection->zone_count; i++) {
        result = hora__trigger_join(result, hora_zone_refresh(collection->zones[i]));
        (void)hora_zone_unref(collection->zones[i]);
    }
    for (size_t i = 0; i < collection->trigger_count; i++) {
        result = hora__trigger_join(result, hora_trigger_refresh(collection->triggers[i]));
        (void)hora_trigger_unref(collection->triggers[i]);
    }
    return result;
}

/* Count the end of a refresh and make the planned times that depend on a zone stale. This happens even if
 * the refresh returned an error or found no change: some of the zones may have new rules. */
static void ask_again(hora_queue *queue)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    count_locked(queue);
    if (!HORA__FAULT(ZONES_REFRESH_UNSEEN))
        hora__clocks_mark_stale(queue, HORA__NEW_RULES);
    hora__queue_serve(queue, NULL, &wakes);
    hora__queue_exit(queue, &wakes);
}

/* Collects under the lock, refreshes without it, and then makes the tasks ask again; see the head of the
 * file. */
int hora_scheduler_refresh_zones(hora_scheduler *scheduler)
{
    int error = hora__pool_check(scheduler);
    if (error < 0 || hora__scheduler_of(scheduler) == NULL)
        return error < 0 ? error : HORA_EINVAL;
    struct collection collection = {.zone_count = 0};
    int result = collect(scheduler->queue, &collection);
    if (result == 0) {
        result = refresh(&collection);
        ask_again(scheduler->queue);
    }
    hora__free(collection.zones);
    hora__free(collection.triggers);
    return result;
}
