/* SPDX-License-Identifier: Apache-2.0 */
/* claims.pml - how workers take elements without the lock from a segment that one of them has found
 *
 * It models src/exec/{segment.h,backlog.c,search.c}. A step is one atomic operation of the source. Operations
 * under the queue's lock take several steps, because other workers claim at the same time. Reading a claimed
 * entry is a separate step. docs/internals/pool-model.md has the rest. */
#ifndef TAKERS
#define TAKERS 2
#endif
#ifndef ELEMENTS
#define ELEMENTS 5
#endif
#ifndef REMOVES
#define REMOVES 1 /* how often a thread recalls the offer and removes the first element */
#endif
#define SLOTS 2
#define SEGMENTS 4 /* one for each taker to hold, one to fill, and one more */
#define NONE SEGMENTS

bool locked = false;
byte next = 1;                    /* the next element that comes; they are numbers */
byte content[8];                  /* of all segments */
byte claimed[SEGMENTS];           /* the word: index, */
byte limit[SEGMENTS];             /* and limit, in one */
byte holders[SEGMENTS];
bool used[SEGMENTS];              /* is part of the queue, or retired */
bool retired[SEGMENTS];
byte front = NONE;                /* the first segment, if the queue is not empty */
byte first = 0;                   /* in it, from here */
byte end = 0;                     /* to there */
bool offered = false;
bool seen[ELEMENTS + 1];
byte over = 0;                    /* how many have been taken or removed */

inline lock()
{
    atomic { !locked -> locked = true }
}

inline unlock()
{
    locked = false
}

inline got(e)
{
    d_step {
        assert(e > 0 && !seen[e]);
        seen[e] = true;
        over++
    }
}

inline give_back(s)
{
#ifdef FAULT_READS_ANYTHING
    used[s] = false
#else
    if
    :: holders[s] > 0 -> retired[s] = true
    :: else -> used[s] = false
    fi
#endif
}

inline let_go()
{
    d_step {
        if
        :: hold != NONE ->
            holders[hold]--;
            if
            :: holders[hold] == 0 && retired[hold] -> retired[hold] = false; used[hold] = false
            :: else
            fi;
            hold = NONE
        :: else
        fi
    }
}

inline hold_front()
{
    d_step { hold = front; holders[front]++ }
}

/* The front has moved. */
inline find_front()
{
    d_step {
        if
        :: first == end -> give_back(front); front = NONE
        :: else
        fi
    }
}

inline recall()
{
    if
    :: offered ->
        d_step { /* one exchange */
            index = claimed[front];
            if :: index > limit[front] -> index = limit[front] :: else fi;
#ifndef FAULT_GOES_ON
            claimed[front] = 0;
            limit[front] = 0
#endif
        }
        d_step { offered = false; first = index };
        find_front()
    :: else
    fi
}

/* The queue is empty: fill a segment with what has come, which is some or all of what there will be. */
inline absorb()
{
    if
    :: next <= ELEMENTS ->
        atomic {
            d_step { /* whichever it is: segments are alike */
                front = 0;
                do
                :: used[front] -> front++
                :: else -> break
                od;
                used[front] = true;
                claimed[front] = 0;
                limit[front] = 0;
                first = 0;
                end = 0
            };
            do
            :: end < SLOTS && next <= ELEMENTS ->
                d_step { content[front * SLOTS + end] = next; next++; end++ }
            :: end > 0 -> break
            od
        }
    :: else
    fi
}

/* Under the lock: the first element is in `e`; 0: there is none. */
inline take()
{
    if
    :: front == NONE -> absorb()
    :: else
    fi;
    if
    :: front != NONE -> d_step { e = content[front * SLOTS + first]; first++ }; find_front()
    :: else -> e = 0
    fi
}

/* Called by a holder of the segment; 0: there is nothing to claim. */
inline claim()
{
#ifdef FAULT_TWO_WORDS
    d_step { index = claimed[hold]; claimed[hold] = index + 1 };
    ok = index < limit[hold];
#else
    d_step { index = claimed[hold]; ok = index < limit[hold]; claimed[hold] = index + 1 };
#endif
    if
    :: ok -> e = content[hold * SLOTS + index]
    :: else -> e = 0
    fi
}

proctype taker()
{
    byte hold = NONE;
    byte index;
    byte e;
    byte last = 0;
    bool ok;
again:
    if
    :: hold != NONE -> claim(); if :: e > 0 -> goto have :: else fi
    :: else
    fi;
    lock();
    if
    :: offered && front != hold ->
        let_go();
        hold_front();
        unlock();
        claim();
        if :: e > 0 -> goto have :: else fi;
        lock()
    :: else
    fi;
    let_go();
    recall();
    take();
    if
    :: e > 0 && front != NONE ->
        d_step { claimed[front] = first; limit[front] = end }; /* one store */
        offered = true;
        hold_front()
    :: else
    fi;
    unlock();
    if
    :: e > 0 -> goto have
    :: else -> goto gone
    fi;
have:
    assert(e > last);
    last = e;
    got(e);
    goto again;
gone:
    skip
}

proctype remover()
{
    byte index;
    byte e;
    byte removed = 0;
    do
    :: removed < REMOVES ->
        lock();
        recall();
        if
        :: front != NONE -> take(); got(e)
        :: else
        fi;
        unlock();
        removed++
    :: else -> break
    od
}

proctype watch()
{
    timeout;
    assert(!locked);
    assert(over == ELEMENTS);
    assert(front == NONE);
    assert(!used[0] && !used[1] && !used[2] && !used[3])
}

init
{
    atomic {
        byte i = 0;
        do
        :: i < TAKERS -> run taker(); i++
        :: else -> break
        od;
        run remover();
        run watch()
    }
}
