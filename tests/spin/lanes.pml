/* SPDX-License-Identifier: Apache-2.0 */
/* lanes.pml - how tasks enter the inbox lanes of a scheduler without the lock of the timer queue
 *
 * It models src/timer/{store,lanes}.c and src/sched/timer_queue.c, with src/exec/standby.c and
 * src/sched/scheduler.c. A step is one atomic operation of the source, or everything that a thread does under
 * a lock and that no thread without the lock can see. Locks are modelled as locks: floor, horizon and the
 * closed flag are written and read while other threads hold a lane. Time may pass at any moment. A poster
 * reads the clock, then adds the delay; anything may happen in between. docs/internals/timed-waiting-model.md
 * has the rest. Sizes, given with -D:
 *   TAKERS    threads that take, repeatedly: 1 or 2          ELEMENTS  tasks that are scheduled: 2 or 3
 *   POSTERS   threads that schedule: 1 or 2                  CANCELS   the first task is cancelled, 0 or 1
 *   CLOSES    the timer queue is closed, 0 or 1              ROOM      slots of a lane: 1 or 2
 *   VISITS    a thread visits the lanes without serving the workers, 0 or 1
 *   END       time goes from 1 to here; nothing is due later
 *   BY_VALUE  the tasks are detached: one that enters through the lock of the timer queue checks the closed
 *             flag under it
 *   NUMBERS   tasks that are due together have an order, too
 *   ANYWHERE  a thread posts into either lane
 *   TOGETHER  both post into one lane first, and then into the other
 * Faults, one at a time, each of which must be found:
 *   FAULT_FLOOR_UNSAID         a taker that reads the clock does not publish the floor
 *   FAULT_FLOOR_SAID_LATE      it publishes the floor after it has visited the lanes
 *   FAULT_FLOOR_SEEN_EARLY     a poster reads the floor before it has the lane's lock
 *   FAULT_LOOKS_TOO_SOON       a taker that goes to sleep visits the lanes before it publishes the horizon
 *   FAULT_LOOKS_NO_MORE        tasks that the last visit has found are ignored
 *   FAULT_WAKES_NO_WORKER         a poster does not read the horizon
 *   FAULT_ASKS_TOO_SOON        a poster reads the horizon before it has the lane's lock
 *   FAULT_CLOSED_UNSEEN        a poster does not read the closed flag
 *   FAULT_CLOSED_SEEN_EARLY    it does so before it has the lane's lock
 *   FAULT_CANCELS_UNLOCKED     a canceller takes a task out of the lane without its lock
 *   FAULT_MISPLACES            the task that is moved to the slot of the cancelled one keeps its old position
 *   FAULT_CANCEL_LOOKS_ASIDE   a canceller with the lock of the timer queue does not visit the lanes
 *   FAULT_NO_RECHECK           a task that entered through the lock of the timer queue does not check the
 *                              closed flag again
 *   FAULT_NUMBERS_APART        each lane has its own counter
 *   FAULT_READINGS_ALIKE       the clock counts in steps that are longer than a reading takes
 *   FAULT_LOCKS_IN_NO_TIME     the clock does not advance while a lane is locked
 *   FAULT_GIVES_EARLY          a task that is due one moment later is given, too */
#ifndef TAKERS
#define TAKERS 1
#endif
#ifndef ELEMENTS
#define ELEMENTS 2
#endif
#ifndef POSTERS
#define POSTERS 2
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef CLOSES
#define CLOSES 0
#endif
#ifndef VISITS
#define VISITS 0
#endif
#ifndef ROOM
#define ROOM 2
#endif
#ifndef END
#define END 3
#endif
#define LANES  2
#define NONE   7
#define NOBODY TAKERS
#define NEVER  15 /* HORA_FOREVER */
#define ALWAYS 0  /* INT64_MIN: nothing is due before that */

byte now = 1;

/* ---- what is scheduled ---- */

#define OUT     0
#define POSTED  1 /* in a lane */
#define QUEUED  2 /* in the timer queue */
#define TAKEN   3 /* out of it, on its way to run */
#define ENDED   4 /* has run, was cancelled, swept or rejected */
byte place[ELEMENTS];
byte due[ELEMENTS];
byte spot[ELEMENTS];      /* its place in the lane, from 1 on; guarded by the lane's lock */
byte home[ELEMENTS];      /* its lane */
bool is_put[ELEMENTS];    /* the call that scheduled it has returned */
bool cancelled[ELEMENTS]; /* the call that cancelled it has returned */
byte ended;
#ifdef NUMBERS
byte number[ELEMENTS];
byte earlier[ELEMENTS]; /* one bit for each that had been scheduled before this one began to be */
byte reading = 1;       /* a clock that no two readings agree on, and that goes on while a lane is locked */
byte last_number[LANES];
#define COMES_BEFORE(a, b) (due[a] < due[b] || (due[a] == due[b] && number[a] < number[b]))
#else
#define COMES_BEFORE(a, b) (due[a] < due[b])
#endif
#define IS_IN(k) (place[k] == POSTED || place[k] == QUEUED)

/* ---- the lanes ---- */

bool lane_locked[LANES];
byte count[LANES];
byte posted[LANES * ROOM];
byte floor;
byte horizon = ALWAYS;
bool closed; /* the timer queue takes no more tasks */
bool swept;

/* ---- the timer queue; guarded by its lock ---- */

bool locked;
byte seen_now;
byte leader = NOBODY;
byte leader_until;
byte searcher = NOBODY;
bool noted[ELEMENTS]; /* had been scheduled when the taker with the lock began to look */

#define BUSY   0
#define ASLEEP 1
#define AWAKE  2 /* on the list, and will look */
byte taker_is[TAKERS];
byte until[TAKERS];  /* it sleeps until then, */
bool nudged[TAKERS]; /* or is called */

/* What a thread notes while it has the lock; then it is put back, so that it is no part of the state. */
#define LOCALS byte first = NONE, k, i, at, before, wanted; bool again, ahead

inline lock() { atomic { !locked -> locked = true } }
inline unlock()
{
    d_step { first = NONE; before = 0; wanted = 0; again = false; ahead = false; locked = false }
}

inline finish(element)
{
    assert(place[element] != ENDED);
    place[element] = ENDED;
    due[element] = 0; /* of no interest any more */
#ifdef NUMBERS
    number[element] = 0;
    earlier[element] = 0;
#endif
    ended++
}

/* ---- the timer queue ---- */

/* first := the first element of all. Like everything below under the timer queue's lock, part of a step. */
inline find_first()
{
    first = NONE;
    k = 0;
    do
    :: k < ELEMENTS ->
        if
        :: place[k] == QUEUED && (first == NONE || COMES_BEFORE(k, first)) -> first = k
        :: else
        fi;
        k++
    :: else -> break
    od;
    k = 0
}

/* Empty one lane. No thread sees what happens under its lock, so it is one step. */
inline clear(lane)
{
    atomic {
        !lane_locked[lane];
        d_step {
            i = 0;
            do
            :: i < count[lane] ->
                at = posted[lane * ROOM + i];
                assert(place[at] == POSTED && spot[at] == i + 1);
                spot[at] = 0;
                place[at] = QUEUED;
#ifdef FAULT_LOOKS_TOO_SOON
                ahead = ahead || due[at] < wanted;
#else
                ahead = ahead || due[at] < horizon;
#endif
                posted[lane * ROOM + i] = 0;
                i++
            :: else -> break
            od;
            count[lane] = 0;
            i = 0;
            at = 0
        }
    }
}

/* ahead := something was there that is due before the horizon */
inline absorb()
{
    ahead = false;
    clear(0);
    clear(1)
}

/* Read the clock, and go through the lanes. */
inline look()
{
    seen_now = now;
#if !defined(FAULT_FLOOR_UNSAID) && !defined(FAULT_FLOOR_SAID_LATE)
    floor = seen_now;
#endif
    absorb();
#ifdef FAULT_FLOOR_SAID_LATE
    floor = seen_now;
#endif
    skip
}

/* ---- waiting workers ---- */

/* Makes sure that a worker looks in time for the first element: the leader, or one that is called. */
inline cover()
{
    find_first();
    if
    :: searcher == NOBODY && first != NONE && !(leader != NOBODY && leader_until <= due[first]) ->
        k = leader;
        if
        :: leader == NOBODY && taker_is[TAKERS - 1] != BUSY -> k = TAKERS - 1
        :: leader == NOBODY && taker_is[TAKERS - 1] == BUSY && taker_is[0] != BUSY -> k = 0
        :: else
        fi;
        if
        :: k != NOBODY -> searcher = k; nudged[k] = true
        :: else
        fi;
        k = 0
    :: else
    fi
}

/* before := the horizon; wanted := what it has to be, again := that is later */
inline choose_horizon()
{
    before = horizon;
    wanted = (leader != NOBODY -> leader_until : NEVER);
    if
    :: searcher != NOBODY || (taker_is[0] == BUSY && taker_is[TAKERS - 1] == BUSY) -> wanted = ALWAYS
    :: else
    fi;
    again = wanted > before
}

/* finds_more and expect. again := a task has arrived for which no worker would look in time */
inline expect()
{
    if
    :: wanted != before ->
#ifdef FAULT_LOOKS_TOO_SOON
        if
        :: again -> absorb()
        :: else
        fi;
        horizon = wanted;
        again = again && ahead
#else
        horizon = wanted;
        if
        :: again -> absorb(); again = ahead
        :: else
        fi
#endif
    :: else
    fi;
#ifdef FAULT_LOOKS_NO_MORE
    again = false
#else
    skip
#endif
}

inline settle()
{
    do
    :: d_step { cover(); choose_horizon() }
       expect();
       if
       :: !again -> break
       :: else
       fi
    od;
    skip
}

/* After one has come or gone: the leader, if there is one, may do. */
inline settle_change()
{
    d_step { find_first(); again = leader == NOBODY || (first != NONE && due[first] < leader_until) }
    if
    :: again -> settle()
    :: else
    fi
}

inline resign()
{
    if
    :: leader == self -> leader = NOBODY; leader_until = 0
    :: else
    fi
}

/* Become the leader, if there is none that wakes up in time. */
inline take_post()
{
    do
    :: d_step {
           resign();
           find_first();
           if
           :: first != NONE && !(leader != NOBODY && leader_until <= due[first]) ->
               leader = self;
               leader_until = due[first]
           :: else
           fi;
           cover();
           choose_horizon()
       }
       expect();
       if
       :: !again -> break
       :: else
       fi
    od;
    skip
}

/* ---- threads ---- */

#ifdef NUMBERS
inline read_number(element)
{
    number[element] = reading;
#ifndef FAULT_READINGS_ALIKE
    reading++
#endif
}

/* With the lock of its lane: its number, which is the reading, unless the lane has given that already. */
inline give_number(element)
{
#ifdef FAULT_NUMBERS_APART
    number[element] = (last_number[home[element]] / LANES + 1) * LANES + home[element];
#else
    number[element] = number[element] * LANES + home[element];
    if
    :: number[element] <= last_number[home[element]] -> number[element] = last_number[home[element]] + LANES
    :: else
    fi;
#endif
    last_number[home[element]] = number[element];
#if !defined(FAULT_READINGS_ALIKE) && !defined(FAULT_LOCKS_IN_NO_TIME)
    reading++
#endif
}
#endif

inline number_without_lane(element)
{
#ifdef NUMBERS
    d_step { read_number(element) }
    atomic { !lane_locked[home[element]] -> d_step { give_number(element) } }
#else
    skip
#endif
}

/* The long way in, for a task that a lane has refused. */
inline come_in_by_the_lock(element)
{
#ifdef BY_VALUE
    lock();
    if
    :: is_full -> absorb()
    :: else
    fi;
    if
    :: !closed -> number_without_lane(element); place[element] = QUEUED; settle_change()
    :: else -> d_step { finish(element) }
    fi;
    unlock()
#else
    if
    :: closed -> d_step { finish(element) }
    :: else ->
        lock();
        absorb();
        number_without_lane(element);
        place[element] = QUEUED;
        settle_change();
        unlock();
#ifndef FAULT_NO_RECHECK
        if
        :: closed ->
            lock();
            absorb();
            if
            :: place[element] == QUEUED -> d_step { finish(element) }; settle_change()
            :: else
            fi;
            unlock()
        :: else
        fi
#endif
    fi
#endif
}

proctype poster(byte element)
{
    LOCALS;
    byte planned; /* its due time: another thread may have taken it already */
    bool open, call, is_full;
more:
    atomic {
        if
        :: due[element] = now
        :: now + 1 <= END -> due[element] = now + 1
        :: now + 2 <= END -> due[element] = now + 2
        fi;
#ifdef ANYWHERE
        if
        :: home[element] = 0
        :: home[element] = 1
        fi;
#elif defined(TOGETHER)
        home[element] = (element < 2 -> 1 : 0);
#else
        home[element] = element % LANES;
#endif
        planned = due[element];
#ifdef NUMBERS
        d_step {
            read_number(element);
            do
            :: k < ELEMENTS -> earlier[element] = earlier[element] | (is_put[k] << k); k++
            :: else -> break
            od;
            k = 0
        }
#endif
        open = true
    }
#ifdef FAULT_FLOOR_SEEN_EARLY
    open = open && planned > floor;
#endif
#ifdef FAULT_CLOSED_SEEN_EARLY
    open = open && !closed;
#endif
#ifdef FAULT_ASKS_TOO_SOON
    call = planned < horizon;
#endif
    atomic {
        !lane_locked[home[element]] ->
            lane_locked[home[element]] = true;
            is_full = count[home[element]] == ROOM;
            open = open && !is_full
    }
#ifndef FAULT_FLOOR_SEEN_EARLY
    open = open && planned > floor;
#endif
#if !defined(FAULT_CLOSED_SEEN_EARLY) && !defined(FAULT_CLOSED_UNSEEN)
    open = open && !closed;
#endif
    d_step {
        if
        :: open ->
            assert(!swept);
            posted[home[element] * ROOM + count[home[element]]] = element;
            count[home[element]]++;
            spot[element] = count[home[element]];
#ifdef NUMBERS
            give_number(element);
#endif
            place[element] = POSTED
        :: else
        fi;
        lane_locked[home[element]] = false
    }
    if
    :: open ->
#if !defined(FAULT_ASKS_TOO_SOON) && !defined(FAULT_WAKES_NO_WORKER)
        call = planned < horizon;
#endif
        if
        :: call ->
            lock();
            absorb();
            settle();
            unlock()
        :: else
        fi
    :: else -> come_in_by_the_lock(element)
    fi;
    d_step {
        assert(!(swept && IS_IN(element)));
        is_put[element] = true;
        planned = 0;
        open = false;
        call = false;
        is_full = false
    };
    if
    :: element + POSTERS < ELEMENTS -> element = element + POSTERS; goto more
    :: else
    fi
}

proctype taker(byte self)
{
    LOCALS;
    byte mine = NONE;
more:
    lock();
search:
    skip;
    d_step {
        do
        :: k < ELEMENTS -> noted[k] = is_put[k]; k++
        :: else -> break
        od;
        nudged[self] = false;
        if
        :: searcher == self -> searcher = NOBODY
        :: else
        fi;
        find_first()
    }
#ifdef FAULT_GIVES_EARLY
#define IS_DUE (first != NONE && due[first] <= seen_now + 1)
#else
#define IS_DUE (first != NONE && due[first] <= seen_now)
#endif
    if
    :: IS_DUE
    :: else -> look(); d_step { find_first() }
    fi;
    if
    :: IS_DUE ->
        d_step {
            resign();
            assert(due[first] <= now && !cancelled[first]);
            k = 0;
            do
            :: k < ELEMENTS ->
                assert(!(noted[k] && IS_IN(k) && due[k] < due[first]));
#ifdef NUMBERS
                assert(!(IS_IN(k) && due[k] == due[first] && ((earlier[first] >> k) & 1)));
#endif
                noted[k] = false;
                k++
            :: else -> break
            od;
            k = 0;
            taker_is[self] = BUSY;
            place[first] = TAKEN;
            mine = first
        }
        settle();
        unlock();
        d_step { finish(mine); mine = NONE }; /* it runs, or is found to be cancelled */
        goto more
    :: else
    fi;
    d_step {
        do
        :: k < ELEMENTS -> noted[k] = false; k++
        :: else -> break
        od;
        k = 0;
        taker_is[self] = AWAKE
    }
    take_post();
    d_step {
        until[self] = (leader == self -> leader_until : NEVER);
        taker_is[self] = ASLEEP
    }
    unlock();
end_sleep:
    atomic {
        nudged[self] || now >= until[self] -> taker_is[self] = AWAKE; until[self] = 0
    }
    lock();
    goto search
}

/* The first element, once it has been scheduled. */
proctype canceller()
{
    LOCALS;
    bool gone;
    is_put[0];
#ifdef FAULT_CANCELS_UNLOCKED
    gone = spot[0] != 0;
#else
    atomic { !lane_locked[home[0]] -> lane_locked[home[0]] = true; gone = spot[0] != 0 }
#endif
    gone = gone && !closed;
    d_step {
        if
        :: gone ->
            assert(spot[0] != 0 && spot[0] <= count[home[0]] && posted[home[0] * ROOM + spot[0] - 1] == 0);
            i = spot[0] - 1;
            spot[0] = 0;
            count[home[0]]--;
            if
            :: i < count[home[0]] ->
                at = posted[home[0] * ROOM + count[home[0]]];
                posted[home[0] * ROOM + i] = at;
#ifndef FAULT_MISPLACES
                spot[at] = i + 1
#endif
            :: else
            fi;
            posted[home[0] * ROOM + count[home[0]]] = 0;
            finish(0);
            i = 0;
            at = 0
        :: else
        fi;
#ifndef FAULT_CANCELS_UNLOCKED
        lane_locked[home[0]] = false
#endif
    }
    if
    :: !gone ->
        lock();
#ifndef FAULT_CANCEL_LOOKS_ASIDE
        absorb();
#endif
        if
        :: place[0] == QUEUED -> d_step { finish(0) }; settle_change()
        :: else
        fi;
        assert(!IS_IN(0));
        unlock()
    :: else
    fi;
    cancelled[0] = true
}

/* Shut down: close the timer queue, and then sweep. */
proctype closer()
{
    LOCALS;
    closed = true;
    lock();
    absorb();
    d_step {
        assert(count[0] == 0 && count[1] == 0);
        swept = true;
        k = 0;
        do
        :: k < ELEMENTS ->
            if
            :: place[k] == QUEUED -> finish(k)
            :: else
            fi;
            k++
        :: else -> break
        od;
        k = 0
    }
    settle();
    unlock()
}

/* Counts, or searches. Whoever was about to call still does. */
proctype visitor()
{
    LOCALS;
    lock();
    absorb();
    unlock()
}

proctype clock()
{
    do
    :: now < END -> now++
    :: else -> break
    od
}

/* Of the takers that wait one looks in time for each that is scheduled; those that are busy may remain so. */
#define WAITS(t)    (taker_is[t] == ASLEEP)
#define SEES(t, k)  (taker_is[t] == AWAKE || (taker_is[t] == ASLEEP && (nudged[t] || until[t] <= due[k])))
#define IN_TIME(k)                                                                                                     \
    (locked || !is_put[k] || !IS_IN(k) || !(WAITS(0) || WAITS(TAKERS - 1)) || SEES(0, k) || SEES(TAKERS - 1, k))

/* It moves only if the promise is broken; so it adds no state. */
proctype observer()
{
end:
    do
    :: !IN_TIME(0) -> assert(IN_TIME(0))
    :: !IN_TIME(1) -> assert(IN_TIME(1))
    :: !IN_TIME(ELEMENTS - 1) -> assert(IN_TIME(ELEMENTS - 1))
    od
}

init
{
    atomic {
        run taker(0);
#if TAKERS > 1
        run taker(1);
#endif
        run poster(0);
#if POSTERS > 1
        run poster(1);
#endif
#if CANCELS > 0
        run canceller();
#endif
#if CLOSES > 0
        run closer();
#endif
#if VISITS > 0
        run visitor();
#endif
        run clock();
        run observer()
    }
    /* When nothing moves any more: all have come to an end, once each, and nothing is left in the lanes. */
    timeout;
    assert(!locked && !lane_locked[0] && !lane_locked[1]);
    assert(ended == ELEMENTS && count[0] == 0 && count[1] == 0)
}
