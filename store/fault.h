/* SPDX-License-Identifier: Apache-2.0 */
/* fault.h - faults planted on purpose, to prove that the simulation would find them
 *
 * The simulation (tests/store/sim) is built with HORA_STORE_FAULTS and can switch on one fault at a time. In
 * every other build HORA__STORE_FAULT(x) is the constant false, and the compiler removes the faulty branch.
 *
 * Each fault has a name and a text that describes the misbehaviour. It is one mistake that a programmer could
 * make at that place. */
#ifndef HORA_STORE_FAULT_H
#define HORA_STORE_FAULT_H

#include <stdbool.h>

#define HORA__STORE_FAULT_LIST(X)                                                                      \
    X(NO_LEASE_CHECK, "a handler starts although the deadline has passed")                             \
    X(DEADLINE_AFTER_REPLY, "the deadline counts from the reply of the renewal, not from its sending") \
    X(STALE_CLAIM_STARTS, "a firing that was claimed under a lost lease is started")                   \
    X(OUTCOME_DROPPED, "an outcome is dropped if the reply of its exchange is lost")                   \
    X(CLAIMS_FORGOTTEN, "firings claimed by an exchange whose reply is lost are not asked for again")  \
    X(CLAIMED_TWICE, "a firing that is in hand is taken for a new claim")                              \
    X(LOW_SKIPS_RELEASED, "the node does not look below the time up to which all was claimed")         \
    X(STARTS_EARLY, "the store's clock is taken to be that of the middle of the exchange")             \
    X(NO_START_BEFORE, "a firing that runs at most once is started without asking")                    \
    X(NO_FORK_BEFORE, "a firing that may overlap makes no room for the next one, and ends the series") \
    X(ATTEMPTS_UNLIMITED, "attempts that crashes used up are not counted")                             \
    X(ONE_FIRING_TOO_MANY, "a series has one firing more than its count")                              \
    X(RUNS_LATE, "a firing beyond its grace period is run")                                            \
    X(SKIPS_LATE_RETRY, "a retry is skipped as if it were a missed time")                              \
    X(BUSY_OFF_BY_ONE, "one planned time too many is left out after a run")                            \
    X(QUEUED_IS_MISSED, "a firing in the queue is missed because the run before it took long")         \
    X(RETRY_PAUSE_IGNORED, "the pause that the handler sets is ignored")                               \
    X(RETRY_FORBIDDEN_RUNS, "another attempt follows although the handler forbids it")                 \
    X(OUTCOME_BY_CODE, "the outcome that the handler sets is ignored")                                 \
    X(LOST_NOT_TOLD, "a run whose lease is lost is not stopped")                                       \
    X(CANCELLED_NOT_TOLD, "a run whose task is cancelled is not stopped")                              \
    X(FULL_RUNS, "a FORK that was refused runs all the same")                                          \
    X(STORE_NO_FENCE, "the store does not compare the fence of a settlement")                          \
    X(STORE_BY_ID_ALONE, "the store compares neither fence nor owner of a settlement")                 \
    X(STORE_KEEPS_FENCE, "a claim does not raise the fence")                                           \
    X(STORE_REAPS_LIVING, "firings are taken from a node 0.9 s before its lease ends")                 \
    X(STEP_KEEPS_WAITING, "what waits is not handed back when the store's clock was set")              \
    X(STORE_KEEPS_LONG_LEASE, "a lease is not shortened when the store's clock was set back")          \
    X(STORE_RENEWS_ENDED, "a lease that has ended is extended")                                        \
    X(START_IS_THE_END, "the outcome of a run that was started at most once is not sent")              \
    X(STORE_START_ENDS, "START ends the claim of a one-shot task, so that its runs may overlap")       \
    X(STORE_REPEATS, "a one-shot task whose started run is lost runs again")                           \
    X(STORE_STARTS_AGAIN, "START does not advance a series")                                           \
    X(STORE_FULL_MISCOUNTS, "firings that wait for another attempt do not count for overlap_max")

/* The faults as constants: HORA__STORE_FAULT_ and the name. */
enum hora__store_fault {
    HORA__STORE_FAULT_NONE,
#define HORA__STORE_FAULT_CONSTANT(name, text) HORA__STORE_FAULT_##name,
    HORA__STORE_FAULT_LIST(HORA__STORE_FAULT_CONSTANT)
#undef HORA__STORE_FAULT_CONSTANT
        HORA__STORE_FAULT_COUNT
};

#if defined(HORA_STORE_FAULTS)
extern enum hora__store_fault hora__store_fault_planted; /* the simulation sets it between runs */
#define HORA__STORE_FAULT(name) (hora__store_fault_planted == HORA__STORE_FAULT_##name)
#else
#define HORA__STORE_FAULT(name) false
#endif

#endif
