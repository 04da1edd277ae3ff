/* SPDX-License-Identifier: Apache-2.0 */
/* inbox.pml - how threads that put into a delay queue and its takers notice each other
 *
 * It models src/queue/timed.c. A step is one atomic operation of the source. Both locks are modelled as
 * locks: the operations under one of them, and what other threads see of them without it, take several steps.
 * One taker waits until it has all elements, and wakes up for the first one; it stands for the leader, which
 * timed.pml models. Others poll. Elements are due at 1, 2 or 3, whatever the time is when they are put. Time
 * may pass at any moment. docs/internals/timed-waiting-model.md has the rest. Faults, one at a time, each of
 * which must be found:
 *   FAULT_LOOKS_TOO_SOON      a taker reads `soonest` before it writes `limit`
 *   FAULT_WRITES_TOO_LATE     a putter reads `limit` before it writes `soonest`
 *   FAULT_LIMIT_UNSEEN        a putter does not read `limit`
 *   FAULT_READS_UNGUARDED     a reading of the clock does not raise `limit`
 *   FAULT_SLEEPS_UNGUARDED    a taker that goes to sleep does not raise `limit`
 *   FAULT_LIMIT_FORGETS       once no taker waits, `limit` is set below the last reading
 *   FAULT_SOONEST_STAYS       a thread that absorbs the inbox does not reset `soonest` */
#ifndef ELEMENTS
#define ELEMENTS 2
#endif
#ifndef PUTTERS
#define PUTTERS 2
#endif
#ifndef POLLS
#define POLLS 0 /* by another thread than the taker */
#endif
#ifndef END
#define END 3
#endif
#define NEVER 15
#define NONE  7

#define NOT_PUT 0
#define POSTED  1 /* in the inbox */
#define QUEUED  2 /* in the container */
#define TAKEN   3

byte place[ELEMENTS];
byte due[ELEMENTS];
bool is_put[ELEMENTS]; /* its put has returned */
byte next_element;     /* the next to be put */
byte taken;

bool locked;       /* the queue's lock */
bool inbox_locked; /* the inbox's */
byte now;
byte reading;
byte limit = 1;
byte soonest = NEVER;

bool waits;  /* the taker is on the list */
byte until;  /* and will look then */
bool nudged; /* or now */

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { d_step { first = NONE; again = false; locked = false } }
inline lock_inbox() { atomic { !inbox_locked -> inbox_locked = true } }
inline unlock_inbox() { inbox_locked = false }

/* first := the first element in the container */
inline find_first()
{
    d_step {
        first = NONE;
        k = 0;
        do
        :: k < ELEMENTS ->
            if
            :: place[k] == QUEUED && (first == NONE || due[k] < due[first]) -> first = k
            :: else
            fi;
            k++
        :: else -> break
        od;
        k = 0
    }
}

inline absorb()
{
    lock_inbox();
    d_step {
        k = 0;
        do
        :: k < ELEMENTS ->
            if
            :: place[k] == POSTED -> place[k] = QUEUED
            :: else
            fi;
            k++
        :: else -> break
        od;
        k = 0
    }
#ifndef FAULT_SOONEST_STAYS
    soonest = NEVER;
#endif
    unlock_inbox();
    find_first()
}

/* set_limit, and absorb if it says so. `again` says whether. */
inline raise_limit(to)
{
#ifdef FAULT_LOOKS_TOO_SOON
    again = to > limit && soonest < to;
    limit = to;
#else
    d_step { again = to > limit; limit = to }
    if
    :: again -> again = soonest < limit
    :: else
    fi;
#endif
    if
    :: again -> absorb()
    :: else
    fi
}

/* Read the clock and look, if the first element is not due by the last reading. */
inline look()
{
    find_first();
    if
    :: first == NONE || due[first] > reading ->
        reading = now;
#ifndef FAULT_READS_UNGUARDED
        if
        :: limit > reading + 1 -> again = false
        :: else -> raise_limit(reading + 1)
        fi;
#endif
        find_first()
    :: else
    fi
}

/* What was put before this call began, and is due sooner, has not been passed over. */
inline take()
{
    d_step {
        assert(due[first] <= now);
        k = 0;
        do
        :: k < ELEMENTS ->
            assert(!(was_put[k] && place[k] != TAKEN && due[k] < due[first]));
            k++
        :: else -> break
        od;
        k = 0;
        place[first] = TAKEN;
        taken++
    }
}

inline note_what_is_put()
{
    d_step {
        k = 0;
        do
        :: k < ELEMENTS -> was_put[k] = is_put[k]; k++
        :: else -> break
        od;
        k = 0
    }
}

/* The taker that waits is to look in time for the first element. */
inline tell()
{
    d_step {
        if
        :: waits && first != NONE && due[first] < until -> until = due[first]; nudged = true
        :: else
        fi
    }
}

/* guard: after all else, with the taker on the list or without */
inline guard()
{
#ifdef FAULT_SLEEPS_UNGUARDED
    skip
#else
    do
    :: if
       :: waits && until > reading + 1 -> raise_limit(until)
#ifdef FAULT_LIMIT_FORGETS
       :: else -> raise_limit(1)
#else
       :: else -> raise_limit(reading + 1)
#endif
       fi;
       if
       :: !again -> break
       :: else -> tell()
       fi
    od
#endif
}

proctype putter()
{
    byte element, before, k;
    byte first = NONE;
    bool again, slow;
more:
    skip;
    d_step {
        element = next_element;
        if
        :: next_element < ELEMENTS -> next_element++
        :: else
        fi
    }
    if
    :: element == ELEMENTS -> goto done
    :: else
    fi;
    if
    :: due[element] = 1
    :: due[element] = 2
    :: due[element] = 3
    fi;
    lock_inbox();
    if
    :: due[element] < soonest ->
        before = soonest;
#ifdef FAULT_WRITES_TOO_LATE
        slow = due[element] < limit;
        soonest = due[element];
#else
        soonest = due[element];
#ifndef FAULT_LIMIT_UNSEEN
        slow = due[element] < limit;
#endif
#endif
        if
        :: slow -> soonest = before
        :: else
        fi
    :: else
    fi;
    if
    :: !slow -> place[element] = POSTED
    :: else
    fi;
    unlock_inbox();
    if
    :: slow ->
        lock();
        absorb();
        place[element] = QUEUED;
        find_first();
        tell();
        guard();
        unlock()
    :: else
    fi;
    d_step { is_put[element] = true; before = 0; first = NONE; again = false; slow = false };
    goto more;
done:
    skip
}

proctype taker()
{
    byte first = NONE, k;
    bool again;
    bool was_put[ELEMENTS];
more:
    skip;
    note_what_is_put();
    lock();
look_again:
    look();
    if
    :: first != NONE && due[first] <= reading ->
        take();
        waits = false;
        guard();
        unlock();
        if
        :: taken == ELEMENTS -> goto done
        :: else -> goto more
        fi
    :: else
    fi;
    d_step {
        waits = true;
        nudged = false;
        until = (first == NONE -> NEVER : due[first])
    }
    guard();
    unlock();
end_sleep:
    if
    :: nudged || now >= until || taken == ELEMENTS
    fi;
    if
    :: taken == ELEMENTS -> goto done
    :: else
    fi;
    lock();
    goto look_again;
done:
    skip
}

proctype poller()
{
    byte first = NONE, k, polls;
    bool again;
    bool was_put[ELEMENTS];
    do
    :: polls < POLLS ->
        polls++;
        note_what_is_put();
        lock();
        look();
        if
        :: first != NONE && due[first] <= reading -> take()
        :: else
        fi;
        guard();
        unlock()
    :: else -> break
    od
}

proctype clock()
{
    do
    :: now < END -> now++
    :: else -> break
    od
}

/* When no process can move: nothing is left, and no taker waits. */
proctype watch()
{
    timeout;
    assert(!locked && !inbox_locked);
    assert(taken == ELEMENTS)
}

init
{
    atomic {
        byte i = 0;
        do
        :: i < PUTTERS -> run putter(); i++
        :: else -> break
        od;
        run taker();
        run poller();
        run clock();
        run watch()
    }
}
