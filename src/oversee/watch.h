/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - a thread beside a pool that looks after time: limits of tasks, stuck workers, dumps that were asked for, growth
 *
 * It is started when it is first needed, and ends with the pool. */
#ifndef HORA_OVERSEE_WATCH_H
#define HORA_OVERSEE_WATCH_H

#include "oversee/oversight.h"

__attribute__((warn_unused_result)) int hora__watch_new(struct hora__oversight *oversight,
                                                        struct hora__watch **ret_watch);
void hora__watch_free(struct hora__watch *watch);

/* See struct hora__overseer_kind. */
void hora__watch_closing(struct hora__overseer *overseer);

/* Start the watch if it is not there yet. HORA_ENOMEM, HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__watch_begin(struct hora__oversight *oversight);

/* Call look(context) in the thread of the watch, at a time of the pool's clock, again and again until it returns HORA_FOREVER; else it
 * returns when next. What `context` points to is the caller's, and must live until hora__watch_forget has returned, or look has said
 * HORA_FOREVER. */
struct hora__reminder {
    struct hora__watch *watch;
    hora_ns (*look)(struct hora__reminder *reminder, hora_ns now);
    hora_future *timer;
};
__attribute__((warn_unused_result)) int hora__watch_set(struct hora__oversight *oversight,
                                                        struct hora__reminder *reminder, hora_ns at);

/* Let it not look any more; if it is just looking, wait for that. Not from look itself. */
void hora__watch_forget(struct hora__reminder *reminder);

#endif
