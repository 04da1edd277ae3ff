/* SPDX-License-Identifier: Apache-2.0 */
/* backlog.pml - how posting threads wake the takers of a pool's own queue
 *
 * It models src/exec/{work_source,search,backlog}.c. A step is one atomic operation of the source, or
 * everything that it does under the lock of the inbox. The queue's lock is modelled as a lock: the operations
 * under it, and what other threads see of them without the lock, take several steps.
 * docs/internals/pool-model.md has the rest. */
#ifndef TAKERS
#define TAKERS 2
#endif
#ifndef POSTERS
#define POSTERS 2
#endif
#ifndef EACH
#define EACH 2 /* elements per poster */
#endif
#ifndef GIVES_UP
#define GIVES_UP 1 /* how often a taker is interrupted, or its time is over */
#endif
#ifndef BUSY
#define BUSY 1 /* how many takers never come back from what they took */
#endif
#define NOBODY TAKERS

bool locked = false;     /* the queue's lock */
byte inbox = 0;          /* elements posted, */
byte size = 0;           /* and in the container */
bool wanted = false;     /* a taker sleeps, and there is no searcher */
byte searcher = NOBODY;  /* the taker that has been nudged and has not looked yet */
bool spins = false;      /* a taker that is on no list goes on looking */
bool waits[TAKERS];      /* is on the list of takers */
bool nudged[TAKERS];     /* has been told since it last looked */
byte waiting = 0;        /* how many are on the list */
byte taken = 0;
byte gave_up = 0;
byte busy = 0;

inline lock()
{
    atomic { !locked -> locked = true }
}

inline unlock()
{
    locked = false
}

/* Under the lock of the inbox. */
inline absorb()
{
    d_step { size = size + inbox; inbox = 0 }
}

/* look_into_inbox */
inline look_into_inbox()
{
#ifdef FAULT_LOOKS_TOO_SOON
    absorb();
    wanted = true
#else
    wanted = true;
    absorb()
#endif
}

inline nudge_somebody()
{
    atomic {
        if
        :: waits[0] -> searcher = 0
        :: waits[1] -> searcher = 1
#if TAKERS > 2
        :: waits[2] -> searcher = 2
#endif
        fi;
        nudged[searcher] = true
    }
}

/* hora__queue_settle of a kind that is searched */
inline settle()
{
    if
    :: searcher != NOBODY || spins || waiting == 0 -> wanted = false
    :: else ->
        if
        :: size == 0 -> look_into_inbox()
        :: else
        fi;
        if
        :: size > 0 -> wanted = false; nudge_somebody()
        :: else
        fi
    fi
}

/* search of search.c; whether something was found is in `found` */
inline search()
{
    d_step {
        nudged[me] = false; /* heard */
#ifdef FAULT_NEVER_ENDS
        if :: searcher == me && size == 0 -> searcher = NOBODY :: else fi
#else
        if :: searcher == me -> searcher = NOBODY :: else fi
#endif
    }
    if
    :: size == 0 && searcher == NOBODY -> look_into_inbox()
    :: else
    fi;
    if
    :: size == 0 -> absorb() /* pop */
    :: else
    fi;
    d_step {
        found = size > 0;
        if
        :: found -> size--; taken++; waits[me] = false; waiting--
        :: else
        fi
    }
    if
#ifndef FAULT_ENDS_WITH_FIRST
    :: found -> settle()
#endif
    :: else
    fi
}

proctype poster()
{
    byte posted = 0;
    do
    :: posted < EACH ->
        inbox++;
        posted++;
        if
#ifndef FAULT_NEVER_BEGINS
        :: wanted -> lock(); settle(); unlock()
#endif
        :: else
        fi
    :: else -> break
    od
}

proctype taker(byte me)
{
    bool found;
    bool spun;
again:
    lock();
    spun = false;
look:
    if
    :: size == 0 -> absorb() /* take_locked: pop */
    :: else
    fi;
    if
    :: size > 0 -> d_step { size--; taken++ }; settle(); unlock(); goto work
#ifdef SPIN
    :: size == 0 && !spins && !spun -> /* spin_locked, for whatever time */
        spun = true;
        spins = true;
        settle();
        unlock();
        lock();
#ifndef FAULT_SPIN_NEVER_ENDS
        spins = false;
#endif
        goto look
#endif
    :: size == 0 -> d_step { waits[me] = true; waiting++ }
    fi;
    search();
    unlock();
    if
    :: found -> goto work
    :: else
    fi;
end_sleep:
    if
    :: nudged[me] ->
        lock();
        search();
        unlock();
        if
        :: found -> goto work
        :: else -> goto end_sleep
        fi
    :: gave_up < GIVES_UP ->
        gave_up++;
        lock();
        d_step {
            nudged[me] = false;
            waits[me] = false;
            waiting--;
            if :: searcher == me -> searcher = NOBODY :: else fi
        }
#ifndef FAULT_LOST_ON_INTERRUPT
        settle();
#endif
        unlock();
        if
        :: goto again
        :: goto gone /* a worker that is no longer needed */
        fi
    fi;
work:
    if
    :: goto again
    :: busy < BUSY -> busy++; goto gone /* the task never ends */
    fi;
gone:
    skip
}

/* When nothing can move any more. */
proctype watch()
{
    timeout;
    assert(!locked);
    assert(waiting == 0 || inbox + size == 0);     /* no taker sleeps while there is something to take */
    assert(waiting > 0 || gave_up > 0 || busy > 0); /* takers are asleep, or gone for a reason */
    assert(taken + inbox + size == POSTERS * EACH); /* nothing is lost, nothing is taken twice */
    assert(searcher == NOBODY);
    assert(!spins)
}

init
{
    atomic {
        byte i = 0;
        do
        :: i < TAKERS -> run taker(i); i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < POSTERS -> run poster(); i++
        :: else -> break
        od;
        run watch()
    }
}
