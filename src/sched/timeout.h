/* SPDX-License-Identifier: Apache-2.0 */
/* timeout.h - what a hora_timer consists of: a task that waits in the agenda in memory of the caller
 *
 * Its entry stands in a shard or in the agenda's heap, as that of what runs once does, and knows where: so it is found when it is
 * cancelled. Like an errand it has no future: a worker copies what it takes. */
#ifndef HORA_SCHED_TIMEOUT_H
#define HORA_SCHED_TIMEOUT_H

#include <hora/timer.h>

#include "sched/agenda.h"
#include "sched/shards.h"

struct hora__timeout {
    hora_run_fn run; /* these three are written by the caller's calls alone */
    void *arg;
    hora_pool *pool; /* where it was started last */
    hora__atomic
        pending; /* written under the lock of the shard, or of the agenda; 0 last of all: from then on it is the caller's */
    uint8_t shard; /* as `pool` */
    uint16_t spot; /* guarded by the shard's lock: where it stands there, from 1 on; 0: it does not */
    struct hora__entry entry;
};

/* All that the library knows of a timer is in it; nobody else looks inside. */
static inline struct hora__timeout *hora__timeout_of_timer(hora_timer *timer)
{
    return (struct hora__timeout *)(void *)timer;
}

static inline struct hora__timeout *hora__timeout_of(struct hora__entry *entry)
{
    return HORA__LIST_ENTRY(entry, struct hora__timeout, entry);
}

static inline hora_task hora__timeout_task(const struct hora__timeout *timeout)
{
    return (hora_task){.run = timeout->run, .arg = timeout->arg};
}

/* ---- agenda_timers.c ---- */

/* Put one in that is out and has its pool, due at a time of the agenda's own clock; `now` is when the call that does so began. From then on it
 * is not the caller's: its number. HORA_ENOMEM, HORA_EFULL. HORA_ENOTSUP: the pool is shut down. */
__attribute__((warn_unused_result)) int hora__agenda_post_timer(struct hora__timeout *timeout, hora_ns now, hora_ns due,
                                                                uint64_t *ret_number);

/* Take one out, as if it had never been put in, if it is still there with this number. Whether it was. Nothing of it is touched if it was
 * not. Takes time in proportion to what is in. */
bool hora__agenda_withdraw_timer(hora_queue *queue, const struct hora__timeout *timeout, uint64_t number);

/* Take one out that its caller cancels, and book it; if it was posted only, and nobody waits for what is cancelled to be gone, without the
 * agenda's lock, and then nobody has to be told. */
enum hora__timer_cancel { HORA__TIMER_NOT_THERE, HORA__TIMER_UNPOSTED, HORA__TIMER_REMOVED };
enum hora__timer_cancel hora__agenda_cancel_timer(struct hora__timeout *timeout);

/* With the lock: take out every timer for which `visit` says so, and book it as cancelled. Whether there was one. */
bool hora__agenda_drop_timers(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg), void *arg,
                              struct hora__books *books);

#endif
