/* SPDX-License-Identifier: Apache-2.0 */
/* timed.pml - how threads wait for the first element of a timed queue
 *
 * It models src/queue/{serve,transfer}.c. docs/internals/timed-waiting-model.md says what is modelled and
 * what is not. Names are those of the source, in capitals. Each step of the model is one atomic operation of
 * the source, or everything that it does under one lock. Sizes, given with -D:
 *   TAKERS      threads that take, repeatedly: 2 or 3
 *   ELEMENTS    elements that are put: 2 or 3
 *   PUTTERS     threads that put them: 1 or 2
 *   TIMED       how many of the takers wait for at most KEEP
 *   INTERRUPTS  how often the last taker is interrupted
 *   REMOVES     how often some element is removed
 *   END         time goes from 0 to here: 2 or 3; elements are due at 1, 2 or 3, not after END
 *   RUNS_ON     time also passes while a thread holds the lock
 *   ASKED       elements are asked when they are due (`remaining`), and answer for that moment
 *   SET_BACK    how often the clock goes back by one
 *   LIVE        for a search for endless runs
 * Faults, one at a time, each of which must be found:
 *   FAULT_NEW_HEAD_UNSEEN          a new first element does not wake the leader
 *   FAULT_LEAD_LOST_ON_TAKE        a leader that is served does not pass the lead on
 *   FAULT_LEAD_LOST_ON_TIMEOUT     a leader that times out does not pass the lead on
 *   FAULT_LEAD_LOST_ON_INTERRUPT   a leader that is interrupted does not pass the lead on
 *   FAULT_LEAVER_KEEPS_LEAD        a taker that gives up, and became leader at the same moment, does not pass
 *                                  the lead on
 *   FAULT_WOKEN_LEADER_KEEPS       a leader that wakes up and finds its element removed does not decide again
 *   FAULT_ANY_WORKER_LEADS            a leader may give up before the element is due
 *   FAULT_SERVED_LEADER_STAYS      a leader that is served stays the leader
 *   FAULT_EARLY_PERMIT_LOST        an unpark before the park is lost
 *   FAULT_NUDGE_WITHOUT_WAKE       the leader's state is changed, but its thread is not woken
 *   FAULT_NUDGE_NEVER_HEARD        a nudge is handled repeatedly (an endless run)
 *   FAULT_TIMEOUT_BEATS_HANDOVER   a taker that times out returns without the element that was handed to it
 *   FAULT_GIVEN_TWICE              an element that is handed over stays in the queue
 *   FAULT_LEADER_IS_TRUSTED        a putter leaves everything to the leader, however long that sleeps
 *   FAULT_GIVES_EARLY              an element is given before it is due */
#ifndef TAKERS
#define TAKERS 2
#endif
#ifndef ELEMENTS
#define ELEMENTS 2
#endif
#ifndef END
#define END 3
#endif
#ifndef TIMED
#define TIMED 1
#endif
#ifndef KEEP
#define KEEP 2
#endif
#ifndef INTERRUPTS
#define INTERRUPTS 1
#endif
#ifndef REMOVES
#define REMOVES 1
#endif
#ifndef PUTTERS
#define PUTTERS 1
#endif
#ifndef SET_BACK
#define SET_BACK 0
#endif
#define NONE    7
#define NEVER   15 /* HORA_FOREVER */
#define NOBODY  TAKERS

byte now;

/* ---- the queue; guarded by its lock, so that it is used in atomic steps only ---- */

#define NOT_PUT 0
#define QUEUED  1
#define GIVEN   2 /* out of the queue, on its way to a taker */
#define TAKEN   3 /* that taker has returned with it */
#define REMOVED 4
byte place[ELEMENTS];
byte due[ELEMENTS];
byte head = NONE; /* the first element: what the heap has at its top */

byte list[TAKERS]; /* the takers' list, the longest waiting first */
byte listed;       /* the length of the list */

byte leader = NOBODY;
byte leader_until;
byte leader_element = NONE;

/* ---- waiters and threads ---- */

#define WAITING  0
#define NUDGED   1
#define RESOLVED 2
#define EMPTY  0
#define PERMIT 1
#define PARKED 2
typedef taker {
    bool on_list;
    byte state;     /* of its waiter */
    byte item;      /* written before it is resolved */
    byte deadline;  /* when it gives up */
    byte until;     /* it sleeps until then, as last decided under the lock */
    byte parker;
    bool interrupted;
};
taker takers[TAKERS];

byte wakers;  /* threads that have released the lock, but have not issued all wake-ups yet */
byte running; /* threads that put, remove or interrupt, and have not ended */
bool quiet;   /* nothing moves any more */

#ifdef FAULT_GIVEN_TWICE
bool twice;
#endif

/* What a step with the lock notes for itself, and then puts back: no part of the state. */
byte k;
byte popped = NONE;
byte next = NOBODY;
byte at;
bool leader_served;
bool over;

/* A step with the lock. Nothing in it may be left to chance, but the time. */
#ifdef RUNS_ON
#define SECTION atomic
#else
#define SECTION d_step
#endif

/* ---- containers ---- */

/* The earliest; among equals any one will do. */
inline FIND_HEAD()
{
    head = NONE;
    k = 0;
    do
    :: k < ELEMENTS ->
        if
        :: place[k] == QUEUED && (head == NONE || due[k] < due[head]) -> head = k
        :: else
        fi;
        k++
    :: else -> break
    od;
    k = 0
}

inline LEAVE_QUEUE(element, where)
{
    place[element] = where;
    due[element] = 0;
    FIND_HEAD()
}

inline LIST_REMOVE(who)
{
    k = 0;
    do
    :: list[k] != who -> k++
    :: else -> break
    od;
    do
    :: k + 1 < listed -> list[k] = list[k + 1]; k++
    :: else -> break
    od;
    listed--;
    list[listed] = NOBODY;
    takers[who].on_list = false;
    k = 0
}

/* Time also passes while a thread holds the lock. */
inline TIME_PASSES()
{
#ifdef RUNS_ON
    if
    :: true
    :: now < END -> now++
    fi
#else
    skip
#endif
}

#ifdef FAULT_GIVES_EARLY
#define GRACE 1
#else
#define GRACE 0
#endif

/* Take out the first element if it is due; `popped` is NONE if not. */
inline POP()
{
    TIME_PASSES();
    popped = NONE;
    if
    :: head != NONE && due[head] <= now + GRACE ->
        assert(due[head] <= now); /* never early */
        popped = head;
#ifdef FAULT_GIVEN_TWICE
        if
        :: !twice -> twice = true
        :: else -> LEAVE_QUEUE(popped, GIVEN)
        fi
#else
        LEAVE_QUEUE(popped, GIVEN)
#endif
    :: else
    fi
}

/* ---- serve.c; one atomic step together with the step before; the caller has byte wakes ---- */

/* The thread is to be woken when the lock is free. */
inline WAKES_ADD(who)
{
    wakes = wakes | (1 << who)
}

inline NUDGE(who)
{
    assert(takers[who].state != RESOLVED);
    takers[who].state = NUDGED;
#ifndef FAULT_NUDGE_WITHOUT_WAKE
    WAKES_ADD(who)
#else
    skip
#endif
}

/* Hand `popped` to the longest waiting. */
inline GIVE()
{
    next = list[0];
#ifndef FAULT_SERVED_LEADER_STAYS
    if
    :: leader == next -> leader = NOBODY; leader_served = true
    :: else
    fi;
#endif
    assert(takers[next].state != RESOLVED);
    LIST_REMOVE(next);
    takers[next].item = popped;
    takers[next].state = RESOLVED;
    WAKES_ADD(next);
    popped = NONE
}

inline SERVE_TAKERS()
{
    leader_served = false;
    do
    :: listed > 0 ->
        POP();
        if
        :: popped == NONE -> break
        :: else -> GIVE()
        fi
    :: else -> break
    od
}

/* When the first element can be taken, in `at`. One that is asked says how long it takes from now on; the
 * clock has been read a little before. */
inline NEXT_DUE()
{
#ifdef ASKED
    at = now;
    TIME_PASSES();
    at = (due[head] <= now -> 0 : at + due[head] - now)
#else
    at = due[head]
#endif
}

#ifdef FAULT_ANY_WORKER_LEADS
#define LASTS_UNTIL(who, when) true
#else
#define LASTS_UNTIL(who, when) (takers[who].deadline >= when)
#endif

inline FIRST_TO_LAST_UNTIL(when)
{
    k = 0;
    do
    :: k < listed && !LASTS_UNTIL(list[k], when) -> k++
    :: else -> break
    od;
    next = (k < listed -> list[k] : NOBODY);
    k = 0
}

inline LEAD(who, self)
{
    leader = who;
    leader_until = at;
    leader_element = head;
    if
    :: who != self -> NUDGE(who)
    :: else
    fi
}

inline CHOOSE_LEADER(self)
{
    next = NOBODY;
#ifndef FAULT_WOKEN_LEADER_KEEPS
    if
    :: self != NOBODY && leader == self -> leader = NOBODY; next = self
    :: else
    fi;
#endif
    if
    :: head == NONE || listed == 0
    :: else ->
        NEXT_DUE();
        if
        :: leader != NOBODY ->
#ifndef FAULT_NEW_HEAD_UNSEEN
            if
            :: head != leader_element && at < leader_until -> LEAD(leader, self)
            :: else
            fi
#else
            skip
#endif
        :: else ->
            if
            :: next != NOBODY && LASTS_UNTIL(next, at)
            :: else -> FIRST_TO_LAST_UNTIL(at)
            fi;
            if
            :: next != NOBODY -> LEAD(next, self)
            :: else
            fi
        fi
    fi;
    if
    :: leader == NOBODY -> leader_until = 0; leader_element = NONE /* not read: fewer states */
    :: else
    fi;
    next = NOBODY;
    at = 0
}

inline SETTLE(self)
{
    SERVE_TAKERS();
#ifdef FAULT_LEAD_LOST_ON_TAKE
    if
    :: leader_served
    :: else -> CHOOSE_LEADER(self)
    fi;
#else
    CHOOSE_LEADER(self);
#endif
    leader_served = false
}

#ifdef FAULT_LEADER_IS_TRUSTED
#define LEADER_COMES_IN_TIME true
#else
#define LEADER_COMES_IN_TIME (at >= leader_until)
#endif

/* hora__queue_settle_change: after one element was put or removed */
inline SETTLE_CHANGE()
{
    if
    :: leader != NOBODY && head != NONE -> NEXT_DUE()
    :: else
    fi;
    if
    :: leader != NOBODY && (head == NONE || LEADER_COMES_IN_TIME) -> at = 0
    :: else -> at = 0; SETTLE(NOBODY)
    fi
}

inline WITHDRAW(who)
{
    if
    :: leader == who -> leader = NOBODY; leader_until = 0; leader_element = NONE
    :: else
    fi;
    LIST_REMOVE(who)
}

/* ---- leaving the lock, and waking ---- */

inline UNPARK(who)
{
#ifdef FAULT_EARLY_PERMIT_LOST
    takers[who].parker = (takers[who].parker == EMPTY -> EMPTY : PERMIT)
#else
    takers[who].parker = PERMIT
#endif
}

/* The end of the step that had the lock. */
inline EXIT()
{
    if
    :: wakes != 0 -> wakers++
    :: else
    fi
}

inline FLUSH_ONE(who)
{
    UNPARK(who);
    wakes = wakes & ~(1 << who);
    if
    :: wakes == 0 -> wakers--
    :: else
    fi
}

/* The options of a loop: wake them, one after the other, in any order. All other options need wakes == 0. */
#if TAKERS > 2
#define FLUSH \
    :: atomic { (wakes & 1) != 0 -> FLUSH_ONE(0) } \
    :: atomic { (wakes & 2) != 0 -> FLUSH_ONE(1) } \
    :: atomic { (wakes & 4) != 0 -> FLUSH_ONE(2) }
#else
#define FLUSH \
    :: atomic { (wakes & 1) != 0 -> FLUSH_ONE(0) } \
    :: atomic { (wakes & 2) != 0 -> FLUSH_ONE(1) }
#endif

/* ---- takers ---- */

#define ME takers[me]
#define TIME_IS_OVER (ME.until != NEVER && now >= ME.until)

/* Where it is: */
#define OUTSIDE          0 /* of the queue, running what it took */
#define AWAKE            1 /* without the lock, about to look at its state */
#define PARKING          2 /* has looked, and is about to park */
#define ASLEEP           3
#define TIMED_OUT        4 /* outside, with nothing */
#define GONE             5
#define WOKE_NUDGED      6 /* and is about to take the lock */
#define WOKE_INTERRUPTED 7
#define WOKE_BY_TIME     8

/* How long to sleep: decided under the lock. */
inline WAIT_ONCE()
{
    ME.until = (leader == me -> leader_until : ME.deadline);
    step = AWAKE
}

/* With what it was given, or with nothing. */
inline RETURN()
{
    if
    :: ME.item != NONE ->
        assert(place[ME.item] == GIVEN); /* once */
        place[ME.item] = TAKEN;
        ME.item = NONE
    :: else
    fi;
    ME.state = WAITING;
    ME.until = 0;
    ME.deadline = 0;
    step = OUTSIDE
}

/* Try, and if that fails wait: with the lock. */
inline POLL_FOR()
{
    ME.interrupted = false; /* a pending interrupt comes first: then it comes again */
    ME.deadline = (me < TIMED && now + KEEP <= END -> now + KEEP : NEVER);
    if
    :: listed > 0 -> SETTLE(NOBODY)
    :: else
    fi;
    POP();
    if
    :: popped != NONE ->
        ME.item = popped;
        popped = NONE;
        SETTLE(NOBODY);
        RETURN()
    :: else ->
        ME.on_list = true;
        list[listed] = me;
        listed++;
        SETTLE(me);
        WAIT_ONCE()
    fi
}

/* Without the lock. */
inline LOOK()
{
    if
    :: ME.state == RESOLVED -> RETURN()
    :: ME.state == NUDGED -> step = WOKE_NUDGED
    :: else -> step = (ME.interrupted -> WOKE_INTERRUPTED : PARKING)
    fi
}

/* Awake, and with the lock. */
inline LOOK_AGAIN()
{
    if
    :: ME.state == RESOLVED ->
#ifdef FAULT_TIMEOUT_BEATS_HANDOVER
        ME.item = (step == WOKE_BY_TIME -> NONE : ME.item);
#endif
        RETURN()
    :: ME.state != RESOLVED && step == WOKE_INTERRUPTED ->
        WITHDRAW(me);
#ifndef FAULT_LEAD_LOST_ON_INTERRUPT
        SETTLE(NOBODY);
#endif
        ME.interrupted = false;
        RETURN() /* and then it looks again, as a worker does */
    :: else ->
#ifndef FAULT_NUDGE_NEVER_HEARD
        ME.state = WAITING;
#endif
        over = (step == WOKE_BY_TIME && ME.until == ME.deadline);
#ifdef FAULT_LEAD_LOST_ON_TIMEOUT
        if
        :: over
        :: else -> SETTLE(me)
        fi;
#else
        SETTLE(me);
#endif
        if
        :: ME.state == RESOLVED -> RETURN()
        :: ME.state != RESOLVED && !over -> WAIT_ONCE()
        :: else ->
#if !defined(FAULT_LEAVER_KEEPS_LEAD) && !defined(FAULT_LEAD_LOST_ON_TIMEOUT)
            next = leader;
            WITHDRAW(me);
            if
            :: next == me -> SETTLE(NOBODY)
            :: else -> next = NOBODY
            fi;
#else
            WITHDRAW(me);
#endif
            RETURN();
            step = TIMED_OUT
        fi;
        over = false
    fi
}

proctype Taker(byte me)
{
    byte wakes;
    byte step = OUTSIDE;

end:
    do
    FLUSH
    :: SECTION { wakes == 0 && (step == OUTSIDE || step == TIMED_OUT) -> POLL_FOR(); EXIT() }
    :: atomic { wakes == 0 && step == TIMED_OUT -> step = GONE } /* like a worker that is surplus */
    /* sleep: between the look at the state and the park anything may happen */
    :: atomic { wakes == 0 && step == AWAKE -> LOOK() }
    :: atomic { step == PARKING && TIME_IS_OVER -> step = WOKE_BY_TIME }
    :: atomic { step == PARKING && !TIME_IS_OVER && ME.parker == PERMIT -> ME.parker = EMPTY; LOOK() }
    :: atomic { step == PARKING && !TIME_IS_OVER && ME.parker == EMPTY -> ME.parker = PARKED; step = ASLEEP }
    :: atomic { step == ASLEEP && (ME.parker == PERMIT || TIME_IS_OVER) -> ME.parker = EMPTY; LOOK() }
    :: SECTION { step >= WOKE_NUDGED -> LOOK_AGAIN(); EXIT() }
    od
}

/* ---- all the others ---- */

/* Puts the elements from one number up to another, one after the other. */
proctype Putter(byte element; byte last)
{
    byte wakes;

    do
    FLUSH
    :: atomic { wakes == 0 && element <= last ->
            if
            :: due[element] = 1
            :: due[element] = 2
#if END > 2
            :: due[element] = 3
#endif
            fi;
            SECTION { place[element] = QUEUED; FIND_HEAD(); SETTLE_CHANGE(); element++; EXIT() }
        }
    :: atomic { wakes == 0 && element > last -> running--; break }
    od
}

/* Removes any element that is there. */
proctype Remover()
{
    byte wakes;
    byte left = REMOVES;
    byte which = NONE;

    do
    FLUSH
    :: atomic { wakes == 0 && left > 0 ->
            if
            :: place[0] == QUEUED -> which = 0
            :: place[1] == QUEUED -> which = 1
#if ELEMENTS > 2
            :: place[2] == QUEUED -> which = 2
#endif
            :: head == NONE
            fi;
            left--;
            if
            :: which != NONE -> SECTION { LEAVE_QUEUE(which, REMOVED); which = NONE; SETTLE_CHANGE(); EXIT() }
            :: else
            fi
        }
    :: atomic { wakes == 0 && left == 0 -> running--; break }
    od
}

proctype Interrupter()
{
    byte left = INTERRUPTS;
    byte wakes;

    do
    FLUSH
    :: atomic { wakes == 0 && left > 0 ->
            takers[TAKERS - 1].interrupted = true;
            WAKES_ADD(TAKERS - 1);
            left--;
            EXIT()
        }
    :: atomic { wakes == 0 && left == 0 -> running--; break }
    od
}

proctype Clock()
{
    byte back = SET_BACK;

    do
    :: d_step { now < END -> now++ }
    :: d_step { back > 0 && now > 0 -> back--; now-- }
    :: now == END && back == 0 -> break
    od
}

/* ---- promises ---- */

#define SLEEPS(who) (takers[who].parker == PARKED && !(takers[who].until != NEVER && now >= takers[who].until))
#define AWAITS(who) (takers[who].on_list && takers[who].deadline >= due[head])
#define ON_TIME(who) (!takers[who].on_list || takers[who].until <= takers[who].deadline)

#if TAKERS > 2
#define SOMEBODY_AWAITS_HEAD (head != NONE && (AWAITS(0) || AWAITS(1) || AWAITS(2)))
#define ALL_WAITING_SLEEP ((!takers[0].on_list || SLEEPS(0)) && (!takers[1].on_list || SLEEPS(1)) && \
                           (!takers[2].on_list || SLEEPS(2)))
#define NO_TAKER_OVERSLEEPS (ON_TIME(0) && ON_TIME(1) && ON_TIME(2))
#else
#define SOMEBODY_AWAITS_HEAD (head != NONE && (AWAITS(0) || AWAITS(1)))
#define ALL_WAITING_SLEEP ((!takers[0].on_list || SLEEPS(0)) && (!takers[1].on_list || SLEEPS(1)))
#define NO_TAKER_OVERSLEEPS (ON_TIME(0) && ON_TIME(1))
#endif

/* With the lock free: */
#define LEADER_IS_LISTED  (leader == NOBODY || takers[leader].on_list)
#define LEADER_IS_CHOSEN  (!SOMEBODY_AWAITS_HEAD || (leader != NOBODY && leader_until <= due[head]))
#define LEADER_IS_TOLD    (leader == NOBODY || takers[leader].until <= leader_until || takers[leader].state == NUDGED)
/* And with all that wait asleep, and nobody about to wake one: */
#define ALL_SLEEP         (wakers == 0 && listed > 0 && ALL_WAITING_SLEEP)
#define NOTHING_IS_LATE   (!ALL_SLEEP || head == NONE || due[head] > now)
#define LEADER_WAKES      (!ALL_SLEEP || !SOMEBODY_AWAITS_HEAD || (leader != NOBODY && takers[leader].until <= due[head]))

/* It moves only if one of these is broken; so it adds no state. */
proctype Observer()
{
end:
    do
    :: !LEADER_IS_LISTED -> assert(LEADER_IS_LISTED)
    :: !LEADER_IS_CHOSEN -> assert(LEADER_IS_CHOSEN)
    :: !LEADER_IS_TOLD -> assert(LEADER_IS_TOLD)
    :: !NOTHING_IS_LATE -> assert(NOTHING_IS_LATE)
    :: !LEADER_WAKES -> assert(LEADER_WAKES)
    :: !NO_TAKER_OVERSLEEPS -> assert(NO_TAKER_OVERSLEEPS)
    od
}

init
{
    byte i = 0;
    atomic {
        do
        :: i < TAKERS -> list[i] = NOBODY; takers[i].item = NONE; run Taker(i); i++
        :: else -> break
        od;
        i = 0;
        running = PUTTERS;
#if PUTTERS > 1
        run Putter(0, 0);
        run Putter(1, ELEMENTS - 1);
#else
        run Putter(0, ELEMENTS - 1);
#endif
#if REMOVES > 0
        running++;
        run Remover();
#endif
#if INTERRUPTS > 0
        running++;
        run Interrupter();
#endif
        run Clock();
        run Observer()
    };
    /* When no process can move: time is at its end, all putters have returned, waiting takers have nothing to
     * take, and nothing was lost. */
    timeout;
    assert(now == END && running == 0 && wakers == 0);
    assert(listed == 0 || head == NONE);
    d_step {
        do
        :: i < ELEMENTS -> assert(place[i] == QUEUED || place[i] == TAKEN || place[i] == REMOVED); i++
        :: else -> break
        od
    };
    quiet = true
}

#ifdef LIVE
ltl ends { <> quiet }
#endif
