/* SPDX-License-Identifier: Apache-2.0 */
/* shards.h - where tasks that run once come into an agenda without its lock
 *
 * Most timers are timeouts: scheduled, and cancelled long before they are due. Those need no order, and their threads no
 * common lock. So each thread posts what it schedules into a shard, and cancels it there; what stays is moved into the agenda's
 * heap, many at a time, by whoever has the agenda's lock and wants to see everything. */
#ifndef HORA_SCHED_SHARDS_H
#define HORA_SCHED_SHARDS_H

#include "exec/work_source.h"
#include "sched/slabs.h"

struct hora__entry;
struct hora__scheduled;

/* In the simulator there are few and small ones, so that they are full, and shared. */
#ifdef HORA_SIM
enum { HORA__SHARDS_MOST = 2, HORA__SHARD_ROOM = 2 };
#else
enum { HORA__SHARDS_MOST = 16, HORA__SHARD_ROOM = 128 };
#endif

/* Whether time passes while threads run: not in the simulator. */
#ifdef HORA_SIM
enum { HORA__CLOCK_RUNS = 0 };
#else
enum { HORA__CLOCK_RUNS = 1 };
#endif

/* A scheduled future that runs once, an errand, or a timer. */
struct hora__posted {
    hora_ns due;
    struct hora__entry *entry;
};

struct hora__shard {
    hora__mutex lock;    /* rank INBOX */
    hora__atomic filled; /* 0: there is nothing for the agenda in it, and it need not be locked; see shards.c */
    int count;
    uint64_t last_number;       /* that was given here */
    struct hora__branch branch; /* of the pool's books; written under the lock */
    int64_t housed;         /* futures that began to belong to the agenda as they were posted; guarded by the lock */
    hora__atomic64 tenants; /* those that began to otherwise, less all that have gone: see hora__shards_move_out */
    struct hora__posted posted[HORA__SHARD_ROOM];
    struct hora__slabs slabs; /* memory of errands, guarded by the lock */
    char apart[HORA__CACHE_LINE];
};

struct hora__shards {
    /* Both are written under the agenda's lock, before somebody goes through those of the shards. */
    hora__atomic64 floor;   /* what is due by then is not posted: order is kept under the agenda's lock */
    hora__atomic64 horizon; /* what is due before this is to be told to the agenda at once: nobody would look in time */
    int count;              /* of shards, a power of two; immutable */
    bool by_clock;          /* numbers are read off the clock; immutable */
    hora__atomic shown;     /* no errand is let in any more. Written like the two above */
    char apart[HORA__CACHE_LINE];
    hora__counter last_number; /* if they are not */
    char apart_too[HORA__CACHE_LINE];
    struct hora__shard shards[];
};

/* For an agenda with this clock. NULL: there is no memory. Nothing can be posted until a floor is set. */
struct hora__shards *hora__shards_new(const hora_clock *clock);
void hora__shards_free(struct hora__shards *shards);

/* The shard of the calling thread. */
int hora__shards_mine(const struct hora__shards *shards);

/* The next number of a timer: no other has it, and whoever asks later gets a larger one. */
uint64_t hora__shards_number(struct hora__shards *shards);

/* What becomes of one that is to be posted: see hora__shards_post. */
enum hora__post {
    HORA__POST_REFUSED, /* it has to go the long way: there is no room, it is due too soon, or the gate is closed */
    HORA__POSTED,
    HORA__POSTED_AHEAD, /* and the agenda has to be told */
};

/* Lock the calling thread's shard; unlock it. And with that lock: whether something with this due time may be posted; do so, and give it its number.
 * Whoever has done so unlocks, and then asks whether the agenda has to be told. */
struct hora__shard *hora__shards_enter(struct hora__shards *shards);
void hora__shard_leave(struct hora__shard *shard);
bool hora__shard_is_open(const struct hora__shards *shards, const struct hora__shard *shard, hora_ns due,
                         const struct hora__posting *posting);
void hora__shard_add(struct hora__shards *shards, struct hora__shard *shard, struct hora__posted posted, hora_ns now);

/* Take a scheduled future that was cancelled out of its shard, if it is still there, and `may`, which is called with the shard's lock, says so.
 * Whether that was done. */
bool hora__shards_remove(struct hora__shards *shards, struct hora__scheduled *scheduled,
                         bool (*may)(const void *context), const void *context);

/* With the lock: take an entry out that stands at a spot, which is noted in what it is part of. */
void hora__shard_take_out(struct hora__shard *shard, const struct hora__entry *entry, uint16_t *spot);

/* With the agenda's lock: move everything out, by `take`; `visit` is called for each shard. Both with the lock of that. Whether something was
 * there that is due before the horizon. */
struct hora__absorber {
    void (*take)(void *context, struct hora__posted posted);
    void (*visit)(void *context, struct hora__shard *shard);
    void *context;
};
bool hora__shards_absorb(struct hora__shards *shards, const struct hora__absorber *absorber);

/* How much can be posted at most. */
int hora__shards_room(const struct hora__shards *shards);

/* A future begins to belong to the agenda, by way of a shard; ends to. The latter, and the end of the agenda's own stay, may be the last
 * that a shard has: whether it was. For each shard there is one reference to the agenda. */
void hora__shards_move_in(struct hora__shards *shards, int shard);
bool hora__shards_move_out(struct hora__shards *shards, int shard);
bool hora__shards_close(struct hora__shards *shards, int shard);

#endif
