/* SPDX-License-Identifier: Apache-2.0 */
/* standby.pml - how the workers of a scheduler wait: leader, standby and searcher
 *
 * It models src/exec/{standby,search,work_source}.c. docs/internals/timed-waiting-model.md says what is
 * modelled and what is not. Names are those of the source, in capitals. Each step of the model is one atomic
 * operation of the source, or everything that it does under one lock. Sizes, given with -D:
 *   TAKERS      threads that take, repeatedly: 2 or 3
 *   ELEMENTS    elements that are put: 2 or 3
 *   PUTTERS     threads that put them: 1 or 2
 *   TIMED       how many of the takers wait for at most KEEP
 *   INTERRUPTS  how often the last taker is interrupted
 *   REMOVES     how often some element is removed
 *   END         time goes from 0 to here: 2 or 3; elements are due at 1, 2 or 3, not after END
 *   RUNS_ON     time also passes while a thread holds the lock
 *   SET_BACK    how often the clock goes back by one
 *   LIVE        for a search for endless runs
 * Faults, one at a time, each of which must be found:
 *   FAULT_STANDBY_IS_TRUSTED       a standby that becomes leader sleeps on, however long that is
 *   FAULT_NEW_HEAD_UNSEEN          a new first element does not wake the leader
 *   FAULT_LOST_ON_TAKE             a taker that takes an element does not serve the rest
 *   FAULT_LOST_ON_TIMEOUT          a taker that times out does not serve the rest
 *   FAULT_LOST_ON_INTERRUPT        a taker that is interrupted does not serve the rest
 *   FAULT_LEAVER_STAYS_LEADER        a taker that leaves the list stays leader or standby
 *   FAULT_SEARCHER_STAYS           a searcher that finds something still counts as the searcher
 *   FAULT_NO_STANDBY_LEADS         a taker that finds nothing takes no role (an endless run)
 *   FAULT_ANY_WORKER_LEADS            a leader may give up before the element is due
 *   FAULT_NUDGE_WITHOUT_WAKE       the searcher's state is changed, but its thread is not woken
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
bool leader_is_lax; /* it was the standby */
byte standby = NOBODY;
byte standby_until;
byte searcher = NOBODY;

/* ---- waiters and threads ---- */

#define WAITING  0
#define NUDGED   1
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

/* What a step with the lock notes for itself, and then puts back: no part of the state. */
byte k;
byte popped = NONE;
byte next = NOBODY;
byte at;
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
        LEAVE_QUEUE(popped, GIVEN)
    :: else
    fi
}

/* ---- standby.c; one atomic step together with the step before; the caller has byte wakes ---- */

/* The thread is to be woken when the lock is free. */
inline WAKES_ADD(who)
{
    wakes = wakes | (1 << who)
}

inline NUDGE(who)
{
    takers[who].state = NUDGED;
#ifndef FAULT_NUDGE_WITHOUT_WAKE
    WAKES_ADD(who)
#else
    skip
#endif
}

/* When the second element is due, in `at`. */
inline SECOND_DUE()
{
    at = NEVER;
    k = 0;
    do
    :: k < ELEMENTS ->
        if
        :: place[k] == QUEUED && k != head && due[k] < at -> at = due[k]
        :: else
        fi;
        k++
    :: else -> break
    od;
    k = 0
}

#ifdef FAULT_ANY_WORKER_LEADS
#define LASTS_UNTIL(who, when) true
#else
#define LASTS_UNTIL(who, when) (takers[who].deadline >= when)
#endif

#define IS_LED (leader != NOBODY && leader_until <= due[head])

inline RESIGN(who)
{
    if
    :: standby == who -> standby = NOBODY; standby_until = 0
    :: else
    fi;
    if
    :: leader == who ->
        leader = standby;
        leader_until = standby_until;
        leader_is_lax = (leader != NOBODY);
        standby = NOBODY;
        standby_until = 0
    :: else
    fi
}

/* The one that has slept least. */
inline LAST_TO_LAST_UNTIL(when)
{
    k = listed;
    do
    :: k > 0 && !LASTS_UNTIL(list[k - 1], when) -> k--
    :: else -> break
    od;
    next = (k > 0 -> list[k - 1] : NOBODY);
    k = 0
}

#ifdef FAULT_STANDBY_IS_TRUSTED
#define IS_TRUSTED (leader != NOBODY && leader_is_lax)
#elif defined(FAULT_NEW_HEAD_UNSEEN)
#define IS_TRUSTED (leader != NOBODY)
#else
#define IS_TRUSTED false
#endif

inline COVER()
{
    if
    :: searcher != NOBODY || listed == 0 || head == NONE
    :: else ->
        if
        :: IS_LED || IS_TRUSTED
        :: else ->
            if
            :: leader != NOBODY -> next = leader
            :: else -> LAST_TO_LAST_UNTIL(due[head])
            fi;
            if
            :: next != NOBODY -> searcher = next; NUDGE(next)
            :: else
            fi;
            next = NOBODY
        fi
    fi
}

inline LEAD(self)
{
    if
    :: leader != NOBODY -> standby = leader; standby_until = leader_until
    :: else
    fi;
    leader = self;
    leader_until = due[head];
    leader_is_lax = false
}

inline STAND_BY(self)
{
    SECOND_DUE();
    if
    :: at != NEVER && LASTS_UNTIL(self, at) && (standby == NOBODY || standby_until > at) ->
        standby = self;
        standby_until = at
    :: else
    fi;
    at = 0
}

inline TAKE_POST(self)
{
    RESIGN(self);
#ifndef FAULT_NO_STANDBY_LEADS
    if
    :: head == NONE
    :: head != NONE && IS_LED && !leader_is_lax -> STAND_BY(self)
    :: head != NONE && !(IS_LED && !leader_is_lax) && LASTS_UNTIL(self, due[head]) -> LEAD(self)
    :: else
    fi;
#endif
    COVER()
}

inline WITHDRAW(who)
{
#ifndef FAULT_LEAVER_STAYS_LEADER
    RESIGN(who);
#endif
    if
    :: searcher == who -> searcher = NOBODY
    :: else
    fi;
    LIST_REMOVE(who)
}

/* ---- leaving the lock, and waking ---- */

inline UNPARK(who)
{
    takers[who].parker = PERMIT
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
    ME.until = (leader == me -> leader_until : (standby == me -> standby_until : ME.deadline));
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
    POP();
    if
    :: popped != NONE ->
        ME.item = popped;
        popped = NONE;
        COVER();
        RETURN()
    :: else ->
        ME.on_list = true;
        list[listed] = me;
        listed++;
        TAKE_POST(me);
        WAIT_ONCE()
    fi
}

/* Without the lock. */
inline LOOK()
{
    if
    :: ME.state == NUDGED -> step = WOKE_NUDGED
    :: else -> step = (ME.interrupted -> WOKE_INTERRUPTED : PARKING)
    fi
}

/* Awake, and with the lock. */
inline LOOK_AGAIN()
{
    if
    :: step == WOKE_INTERRUPTED ->
        WITHDRAW(me);
#ifndef FAULT_LOST_ON_INTERRUPT
        COVER();
#endif
        ME.interrupted = false;
        RETURN() /* and then it looks again, as a worker does */
    :: else ->
        ME.state = WAITING;
        over = (step == WOKE_BY_TIME && ME.until == ME.deadline);
        POP();
        if
#ifdef FAULT_SEARCHER_STAYS
        :: searcher == me && popped == NONE -> searcher = NOBODY
#else
        :: searcher == me -> searcher = NOBODY
#endif
        :: else
        fi;
        if
        :: popped != NONE ->
            ME.item = popped;
            popped = NONE;
#ifndef FAULT_LEAVER_STAYS_LEADER
            RESIGN(me);
#endif
            LIST_REMOVE(me);
#ifndef FAULT_LOST_ON_TAKE
            COVER();
#endif
            RETURN()
        :: popped == NONE && !over -> TAKE_POST(me); WAIT_ONCE()
        :: else ->
#ifndef FAULT_LOST_ON_TIMEOUT
            TAKE_POST(me);
            WITHDRAW(me);
            COVER();
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
            SECTION { place[element] = QUEUED; FIND_HEAD(); COVER(); element++; EXIT() }
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
            :: which != NONE -> SECTION { LEAVE_QUEUE(which, REMOVED); which = NONE; COVER(); EXIT() }
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
#define POSTS_ARE_LISTED  ((leader == NOBODY || takers[leader].on_list) && (standby == NOBODY || takers[standby].on_list) && \
                           (standby == NOBODY || standby != leader) && (standby == NOBODY || leader != NOBODY))
#define SEARCHER_IS_TOLD  (searcher == NOBODY || (takers[searcher].on_list && takers[searcher].state == NUDGED))
#define LEADER_IS_CHOSEN  (!SOMEBODY_AWAITS_HEAD || searcher != NOBODY || IS_LED)
#define LEADER_IS_TOLD    ((leader == NOBODY || takers[leader].until <= leader_until) && \
                           (standby == NOBODY || takers[standby].until <= standby_until))
/* These hold when all waiting threads are asleep, and no wake-up is under way. */
#define ALL_SLEEP         (wakers == 0 && listed > 0 && ALL_WAITING_SLEEP)
#define NOTHING_IS_LATE   (!ALL_SLEEP || head == NONE || due[head] > now)
#define LEADER_WAKES      (!ALL_SLEEP || !SOMEBODY_AWAITS_HEAD || (leader != NOBODY && takers[leader].until <= due[head]))

/* It moves only if one of these is broken; so it adds no state. */
proctype Observer()
{
end:
    do
    :: !POSTS_ARE_LISTED -> assert(POSTS_ARE_LISTED)
    :: !SEARCHER_IS_TOLD -> assert(SEARCHER_IS_TOLD)
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
