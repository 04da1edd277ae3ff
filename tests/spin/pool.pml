/* SPDX-License-Identifier: Apache-2.0 */
/* pool.pml - the control word of a pool and its idle workers, as in src/exec/{pool,worker,execute}.c
 *
 * docs/internals/pool-model.md says what is modelled and what is not. Names are those of the source, in
 * capitals. Each step of the model is one atomic operation of the source, or everything that it does under
 * one lock. Sizes, given with -D:
 *   CORE, MAX   core_threads and max_threads
 *   CAP         places in the queue
 *   TASKS       tasks; each is executed by a separate thread
 *   SLOTS       threads at a time, including those that are about to end
 *   BY_VALUE    tasks are queued by value: accepted only while the pool runs, never taken back (see
 *               "detached" in execute.c)
 * Faults, one at a time, each of which must be found:
 *   FAULT_NO_RECHECK               after a task has been queued, its submitter does not check the state again
 *   FAULT_CLOSED_UNSEEN            with BY_VALUE: the state is checked before the task is inserted, not in
 *                                  the same step
 *   FAULT_LAST_IDLE_NOT_WOKEN      try-terminate does not wake an idle worker
 *   FAULT_FORGETS_TRY_TERMINATE    a worker ends without try-terminate
 *   FAULT_FAILED_START_LEAVES_TASK        a worker is counted, but cannot start because the pool was shut down, and
 *                                  no other one is started, although a task may have been queued because it
 *                                  was counted (the behaviour of the JDK)
 *   FAULT_TWO_WORDS                the count is raised although the state has changed since it was read
 *   FAULT_TIDYING_UNCHECKED        try-terminate enters TIDYING without comparing
 *   FAULT_LEAVES_WITH_TASKS        a worker whose keep-alive has expired leaves without checking the queue,
 *                                  and is not replaced
 *   FAULT_INTERRUPT_LEAKS          a worker that begins a task does not clear its interrupt
 *   FAULT_DISTURBS_ACTIVE          workers are interrupted without checking whether they are idle */
#ifndef CORE
#define CORE 1
#endif
#ifndef MAX
#define MAX 2
#endif
#ifndef CAP
#define CAP 2
#endif
#ifndef TASKS
#define TASKS 2
#endif
#ifndef SLOTS
#define SLOTS 3
#endif
#define ONLY_SHUTS_DOWN 0
#define ONLY_STOPS      1
#define DOES_BOTH       2
#ifndef OWNER
#define OWNER ONLY_SHUTS_DOWN
#endif
#define NONE 7

/* The control word: always read and written in one step. */
#define RUNNING    0
#define SHUTDOWN   1
#define STOP       2
#define TIDYING    3
#define TERMINATED 4
byte state;
byte count;

/* The work queue: a set, since no promise depends on its order. */
bool queued[TASKS];
byte size;

bool locked; /* the pool's lock */
byte terminations;

#define UNDECIDED   0
#define RAN         1
#define HANDED_BACK 2
#define REJECTED    3 /* the call returned an error */
byte ending[TASKS];

#define IDLE      0
#define ACTIVE    1
#define DISTURBED 2
typedef worker {
    bool used;    /* from its making to its last step */
    bool go;      /* the thread may begin */
    bool listed;
    bool started; /* it has a thread record, so that it can be interrupted */
    bool interrupted;
    byte activity;
    byte first;
};
worker workers[SLOTS];

inline LOCK()
{
    atomic { !locked -> locked = true }
}

inline UNLOCK()
{
    locked = false
}

inline END(task, how)
{
    assert(ending[task] == UNDECIDED);
    ending[task] = how
}

inline TAKE_OUT(task)
{
    queued[task] = false;
    size--
}

/* ---- for every process: byte s, c (the control word as it was read), v, bool ok; to add workers: byte add
 * ---- */

/* Whether there are fewer workers than must be, with the count as it was read. */
#define NEEDS_WORKER (c < CORE || (CORE == 0 && c == 0 && size > 0))

inline READ_CONTROL()
{
    d_step { s = state; c = count }
}

/* Compare and swap; ok: whether it went well. */
inline CAS(new_state, new_count)
{
    d_step {
        ok = (state == s && count == c);
        if
        :: ok -> state = new_state; count = new_count
        :: else
        fi
    }
}

/* Caller has the lock. */
inline INTERRUPT_IDLE(only_one)
{
    v = 0;
    do
    :: v < SLOTS ->
        if
#ifdef FAULT_DISTURBS_ACTIVE
        :: workers[v].listed && workers[v].started ->
            workers[v].interrupted = true;
#else
        :: atomic { workers[v].listed && workers[v].started && workers[v].activity == IDLE ->
                    workers[v].activity = DISTURBED };
            workers[v].interrupted = true;
            workers[v].activity = IDLE;
#endif
            if
            :: only_one -> break
            :: else
            fi
        :: else
        fi;
        v++
    :: else -> break
    od;
    v = 0
}

inline TRY_TERMINATE()
{
    do
    :: READ_CONTROL();
        if
        :: s == RUNNING || s >= TIDYING || (s == SHUTDOWN && size > 0) -> break
        :: else ->
            if
            :: c > 0 ->
#ifndef FAULT_LAST_IDLE_NOT_WOKEN
                LOCK();
                INTERRUPT_IDLE(true);
                UNLOCK();
#endif
                break
            :: else ->
#ifdef FAULT_TIDYING_UNCHECKED
                d_step { state = TIDYING; ok = true };
#else
                CAS(TIDYING, 0);
#endif
                if
                :: ok ->
                    atomic { !locked -> assert(state == TIDYING && count == 0); state = TERMINATED;
                        terminations++; assert(terminations == 1) };
                    break
                :: else
                fi
            fi
        fi
    od
}

/* Raises the count if the state and the bound allow it; ok := they do. `add` is the first task, or NONE. */
inline RAISE_COUNT(bound)
{
    do
    :: READ_CONTROL();
        ok = false;
        if
        :: s != RUNNING && !(s == SHUTDOWN && add == NONE && size > 0) -> break
        :: else ->
            if
            :: c >= bound -> break
            :: else ->
#ifdef FAULT_TWO_WORDS
                d_step { count++; ok = true };
#else
                CAS(s, c + 1);
#endif
                if
                :: ok -> break
                :: else
                fi
            fi
        fi
    od
}

/* Put a worker on the list and start its thread, with the lock. */
inline MAKE_WORKER()
{
    v = 0;
    do
    :: v < SLOTS && workers[v].used -> v++
    :: else -> break
    od;
    assert(v < SLOTS); /* else the model is too small */
    workers[v].used = true;
    workers[v].listed = true;
    workers[v].first = add;
    workers[v].activity = (add == NONE -> IDLE : ACTIVE);
    workers[v].go = true;
    v = 0
}

/* Start a worker with a task or NONE; ok: whether it was. The bound is CORE or MAX. */
inline WORKER_ADD(task, bound)
{
    add = task;
    RAISE_COUNT(bound);
    do
    :: !ok -> break
    :: else ->
        atomic {
            !locked -> ok = (state == RUNNING || (state < STOP && add == NONE));
            if
            :: ok -> MAKE_WORKER()
            :: else -> skip
            fi
        };
        if
        :: ok -> ok = (add == task); break
        :: else ->
            count--;
            TRY_TERMINATE();
            ok = false;
#ifdef FAULT_FAILED_START_LEAVES_TASK
            break
#else
            READ_CONTROL();
            if
            :: add != NONE && c == 0 && s < STOP && size > 0 -> add = NONE; RAISE_COUNT(MAX)
            :: else -> break
            fi
#endif
        fi
    od;
    add = NONE;
    d_step { s = 0; c = 0 }
}

/* ---- executing threads ---- */

proctype Submitter(byte me)
{
    byte s, c, v;
    byte add = NONE;
    bool ok = false;

    if
    :: count < CORE -> WORKER_ADD(me, CORE)
    :: else
    fi;
    if
    :: ok -> goto out
    :: else
    fi;
    if
    :: state == RUNNING ->
        d_step {
#if defined(BY_VALUE) && !defined(FAULT_CLOSED_UNSEEN)
            ok = size < CAP && state == RUNNING;
#else
            ok = size < CAP;
#endif
            if
            :: ok -> queued[me] = true; size++
            :: else
            fi
        }
    :: else
    fi;
    if
    :: ok -> /* look again */
#ifndef FAULT_NO_RECHECK
        READ_CONTROL();
#ifndef BY_VALUE
        if
        :: s != RUNNING ->
            d_step {
                ok = queued[me];
                if
                :: ok -> TAKE_OUT(me); END(me, REJECTED)
                :: else
                fi
            };
            if
            :: ok ->
                TRY_TERMINATE();
                goto out
            :: else
            fi
        :: else
        fi;
#endif
        if
        :: c == 0 -> WORKER_ADD(NONE, MAX)
        :: else
        fi
#endif
    :: else ->
        WORKER_ADD(me, MAX);
        if
        :: !ok -> d_step { END(me, REJECTED) }
        :: else
        fi
    fi;
out:
    skip
}

/* ---- a worker ---- */

inline CHOOSE()
{
    if
    :: queued[0] -> task = 0
#if TASKS > 1
    :: queued[1] -> task = 1
#endif
#if TASKS > 2
    :: queued[2] -> task = 2
#endif
    fi;
    TAKE_OUT(task)
}

/* The worker has run a task. If it may take another, and there is one, it stays active; otherwise it becomes
 * idle before it reads anything else. */
inline TAKE_NEXT()
{
    READ_CONTROL();
    if
    :: atomic { s < STOP && c <= MAX && size > 0 -> CHOOSE() }
    :: else -> workers[me].activity = IDLE
    fi;
    d_step { s = 0; c = 0 }
}

/* Waits for a task, an interrupt or, if there are more workers than CORE, a timeout, which may never come. */
inline TAKE()
{
    if
    :: c > CORE -> timed = true
    :: timed = false
    fi;
    timed_out = false;
    if
    :: atomic { size > 0 -> CHOOSE() }
    :: atomic { workers[me].interrupted -> workers[me].interrupted = false }
    :: atomic { timed && size == 0 -> timed_out = true }
    fi
}

/* The next task; NONE: the worker is to end, and its count has been lowered. */
inline GET_TASK()
{
    timed_out = false;
    do
    :: READ_CONTROL();
        if
        :: s >= STOP || (s == SHUTDOWN && size == 0) ->
            count--;
            break
#ifdef FAULT_LEAVES_WITH_TASKS
        :: s <= SHUTDOWN && !(s == SHUTDOWN && size == 0) && c > CORE && timed_out ->
#else
        :: s <= SHUTDOWN && !(s == SHUTDOWN && size == 0) &&
           (c > MAX || (c > CORE && timed_out)) && (c > 1 || size == 0) ->
#endif
            CAS(s, c - 1);
            if
            :: ok -> break
            :: else
            fi
        :: else ->
            TAKE();
            if
            :: task != NONE -> break
            :: else
            fi
        fi
    od
}

inline BECOME_ACTIVE()
{
    do
    :: workers[me].activity == ACTIVE -> break
    :: atomic { workers[me].activity == IDLE -> workers[me].activity = ACTIVE }; break
    :: workers[me].activity == DISTURBED -> LOCK(); UNLOCK() /* the disturbing thread holds it */
    od;
#ifndef FAULT_INTERRUPT_LEAKS
    ok = state >= STOP;
    if
    :: !ok ->
        workers[me].interrupted = false;
        ok = state >= STOP
    :: else
    fi;
    if
    :: ok -> workers[me].interrupted = true
    :: else
    fi
#else
    skip
#endif
}

/* An interrupt that means "look again" reaches no task. */
#define IS_UNDISTURBED (!workers[me].interrupted || state >= STOP)

inline RUN_TASK()
{
    BECOME_ACTIVE();
    d_step { END(task, RAN); assert(IS_UNDISTURBED) };
#ifdef ABRUPT /* the first task ends its thread */
    abrupt = (task == 0);
#endif
    d_step {
        assert(IS_UNDISTURBED);
        task = NONE
    };
    if
    :: !abrupt -> TAKE_NEXT()
    :: else
    fi
}

inline PROCESS_EXIT()
{
    if
    :: abrupt -> count--
    :: else
    fi;
    atomic { !locked -> workers[me].listed = false };
#ifndef FAULT_FORGETS_TRY_TERMINATE
    TRY_TERMINATE();
#endif
#ifndef FAULT_LEAVES_WITH_TASKS
    READ_CONTROL();
    if
    :: s < STOP && (abrupt || NEEDS_WORKER) -> WORKER_ADD(NONE, MAX)
    :: else
    fi;
#else
    skip;
#endif
    d_step {
        workers[me].used = false;
        workers[me].started = false;
        workers[me].interrupted = false;
        workers[me].activity = IDLE;
        workers[me].first = NONE;
        abrupt = false;
        timed = false;
        timed_out = false;
        ok = false;
        s = 0;
        c = 0
    }
}

proctype Worker(byte me)
{
    byte s, c, v;
    byte add = NONE;
    byte task = NONE;
    bool ok, timed, timed_out, abrupt;

end:
    do
    :: atomic { workers[me].go && !locked ->
            workers[me].go = false;
            workers[me].started = true;
            task = workers[me].first;
            workers[me].first = NONE };
        do
        :: task != NONE ->
            RUN_TASK();
            if
            :: abrupt -> break
            :: else
            fi
        :: else ->
            GET_TASK();
            if
            :: task == NONE -> break
            :: else
            fi
        od;
        PROCESS_EXIT()
    od
}

/* ---- the owner, at any moment ---- */

inline DO_SHUTDOWN()
{
    LOCK();
    d_step {
        if
        :: state < SHUTDOWN -> state = SHUTDOWN
        :: else
        fi
    };
    INTERRUPT_IDLE(false);
    UNLOCK();
    TRY_TERMINATE()
}

inline DO_STOP()
{
    LOCK();
    d_step {
        if
        :: state < STOP -> state = STOP
        :: else
        fi
    };
    do
    :: v < SLOTS ->
        if
        :: workers[v].listed && workers[v].started -> workers[v].interrupted = true
        :: else
        fi;
        v++
    :: else -> break
    od;
    v = 0;
    UNLOCK();
    do
    :: atomic { size > 0 ->
        if
        :: queued[0] -> v = 0
#if TASKS > 1
        :: queued[1] -> v = 1
#endif
#if TASKS > 2
        :: queued[2] -> v = 2
#endif
        fi;
        TAKE_OUT(v);
        END(v, HANDED_BACK);
        v = 0 }
    :: else -> break
    od;
    TRY_TERMINATE()
}

proctype Owner()
{
    byte s, c, v;
    bool ok;
#if OWNER != ONLY_STOPS
    DO_SHUTDOWN();
#endif
#if OWNER != ONLY_SHUTS_DOWN
    DO_STOP()
#endif
}

init
{
    byte i = 0;
    atomic {
        do
        :: i < SLOTS -> workers[i].first = NONE; run Worker(i); i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < TASKS -> run Submitter(i); i++
        :: else -> break
        od;
        i = 0;
        run Owner()
    };
    /* When nothing moves any more: all has ended, nothing was lost. */
    timeout;
    assert(state == TERMINATED && count == 0 && size == 0 && terminations == 1);
    d_step {
        do
        :: i < TASKS -> assert(ending[i] != UNDECIDED); i++
        :: else -> break
        od
    }
}

#ifdef LIVE
ltl ends { <> (state == TERMINATED) }
#endif
