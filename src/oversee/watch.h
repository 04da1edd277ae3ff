/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - a thread beside a pool that looks after time: limits of tasks, stuck workers, growth
 *
 * It is started when it is first needed, and ends in hora_pool_free, after the last worker. What is left of the watch then is memory. */
#ifndef HORA_OVERSEE_WATCH_H
#define HORA_OVERSEE_WATCH_H

#include "oversee/oversight.h"
#include "oversee/reminder.h"
#include "sync/object.h"
#include "sys/thread.h"

struct hora__watch {
    struct hora__object object;
    struct hora__oversight *oversight; /* immutable */
    bool is_attached;                  /* to the pool's virtual clock; its thread's own */
    hora__atomic thread_id;            /* hora__thread_id() of its thread; 0: it has none yet */

    /* guarded by object.lock */
    struct hora__timer_heap reminders; /* those that are set; and a slot for each that may be */
    uint64_t sequence;
    hora_ns sleeps_until; /* when its thread will look by itself; HORA_NEVER: it is about to */
    struct hora__list sleepers;
    bool has_thread;
    bool is_closed; /* nothing is set any more */
    hora_thread *prepared;
    hora__os_thread os_thread;
};

__attribute__((warn_unused_result)) int hora__watch_new(struct hora__oversight *oversight,
                                                        struct hora__watch **ret_watch);
void hora__watch_free(struct hora__watch *watch);

/* The pool is at its end, and its workers are gone: end the thread, and drop what is set. Not in that thread. */
void hora__watch_close(struct hora__watch *watch);

/* Whether the calling thread is the watch's. */
bool hora__watch_is_me(struct hora__watch *watch);

/* Start its thread, if it has none yet. HORA_ENOMEM, HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__watch_begin(struct hora__watch *watch);

/* Promise room for so many reminders, so that to set them cannot fail. HORA_ENOMEM, HORA_EFULL. And: give it back. */
__attribute__((warn_unused_result)) int hora__watch_keep(struct hora__watch *watch, int reminders);
void hora__watch_give_back(struct hora__watch *watch, int reminders);

void hora__reminder_init(struct hora__reminder *reminder,
                         hora_ns (*look)(struct hora__reminder *reminder, hora_ns now, struct hora__deed *deed),
                         void (*dropped)(struct hora__reminder *reminder));

/* Look at a time of the pool's clock; if it is set already, at the earlier of the two. Room has been promised. Whether it is set now: false
 * if the watch is at its end. */
bool hora__watch_set(struct hora__watch *watch, struct hora__reminder *reminder, hora_ns at);

/* Do not look. Whether it was set: if not, the watch has looked, or is about to do the deed. */
bool hora__watch_unset(struct hora__watch *watch, struct hora__reminder *reminder);

/* The same, with the lock held; the first notes whom to wake. */
bool hora__watch_set_locked(struct hora__watch *watch, struct hora__reminder *reminder, hora_ns at,
                            struct hora__wakes *wakes);
bool hora__watch_unset_locked(struct hora__watch *watch, struct hora__reminder *reminder);

#endif
