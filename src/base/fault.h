/* SPDX-License-Identifier: Apache-2.0 */
/* fault.h - faults planted on purpose, to prove that the tests would find them
 *
 * The simulated build can switch on one fault at a time. A test checks that the scenarios find every fault of
 * this list. Some tests on real threads are built with HORA_FAULTS and do the same. In every other build
 * HORA__FAULT(x) is the constant false. */
#ifndef HORA_BASE_FAULT_H
#define HORA_BASE_FAULT_H

#include <stdbool.h>

/* Operations on atomic words with a weaker order than they need. Schedules with weak memory find them, see
 * sys/atomic.h. */
#define HORA__ORDER_FAULT_LIST(X)                                                                    \
    X(BOOKS_READ_RELAXED, "what has ended and what has come are read in any order")                  \
    X(BOOKS_FINISHED_RELAXED, "what has ended is counted, and nothing is ordered by that")           \
    X(MEASURES_READ_RELAXED, "what has ended, begun and come is read in any order")                  \
    X(MEASURES_ENDED_RELAXED, "what has ended is counted before it has begun")                       \
    X(HISTOGRAM_READ_RELAXED, "what is measured is read, and then how much has ended")               \
    X(STATS_READ_RELAXED, "how tasks ended and how many came is read in any order")                  \
    X(LOCK_TAKEN_RELAXED, "who takes a lock does not see what was done under it")                    \
    X(LOCK_LET_GO_RELAXED, "what was done under a lock is not seen by the next who has it")          \
    X(LOCK_SLEPT_RELAXED, "who slept for a lock does not see what was done under it")                \
    X(FUTURE_STATE_RELAXED, "a future is done, and what its task did is not seen")                   \
    X(FUTURE_READ_RELAXED, "who sees that a future is done does not see what its task did")          \
    X(CLAIMS_OFFERED_RELAXED, "what is offered can be claimed before it is written")                 \
    X(CLAIMS_TAKEN_RELAXED, "what is claimed is read as it was before")                              \
    X(SHARD_FILLED_RELAXED, "a shard that is posted to may be passed over as empty")                 \
    X(SHARD_EMPTY_RELAXED, "a shard is taken for empty by what was so before")                       \
    X(TIMER_ENDS_RELAXED, "a timer is the caller's before all is done with it")                      \
    X(WAITER_RESOLVED_RELAXED, "who waited goes on and does not see what it waited for")             \
    X(NAME_ADDED_RELAXED, "a name is found before it is written")                                    \
    X(NAME_CACHED_RELAXED, "a name is found in the cache before it is written")                      \
    X(NAME_READ_RELAXED, "a name that is found is read as it was before")                            \
    X(SHEETS_ADDED_RELAXED, "sheets are found before they are written")                              \
    X(TIMED_LIMIT_UNORDERED, "a taker says what may not be in the inbox, and looks there first")     \
    X(REFERENCE_ALONE_RELAXED, "who has the last reference does not see what the others did")        \
    X(REFERENCE_LEFT_RELAXED, "who leaves the last reference does not see what the others did")      \
    X(THREAD_LEFT_RELAXED, "who leaves the last reference to a thread does not see what others did") \
    X(INTERRUPT_SET_RELAXED, "a thread is interrupted, and does not see what was done before")       \
    X(INTERRUPT_READ_RELAXED, "who sees an interrupt does not see what was done before")             \
    X(SHARD_LEFT_RELAXED, "the last who leaves a shard does not see what others did")                \
    X(SHARD_CLOSED_RELAXED, "who closes a shard does not see what others did")                       \
    X(TIMED_SOONEST_UNORDERED, "who puts says what is in the inbox, and looks at the limit first")   \
    X(TIMED_LIMIT_READ_UNORDERED, "who puts looks at the limit as it was before")                    \
    X(TIMED_SOONEST_READ_UNORDERED, "a taker looks at the inbox as it was before")                   \
    X(WAITER_READ_RELAXED, "who waited sees that it may go on, and not what it waited for")          \
    X(POST_READ_RELAXED, "what a worker runs is read in any order")                                  \
    X(POST_NOTED_RELAXED, "what a worker runs is shown before it is written")                        \
    X(NAME_CACHE_READ_RELAXED, "a name that is found in the cache is read as it was before")         \
    X(SHEETS_READ_RELAXED, "sheets that are found are read as they were before")                     \
    X(HISTOGRAM_RECORDED_RELAXED, "what is measured is seen before what was counted")                \
    X(REQUESTS_CLOSE_RELAXED, "the thread for dumps is woken, and does not see why")

#define HORA__FAULT_LIST(X)                                                                              \
    X(PARKER_LOSES_EARLY_PERMIT, "an unpark before the park is forgotten")                               \
    X(PARKER_IGNORES_DEADLINE, "a timed park sleeps without its deadline")                               \
    X(PARKER_MISSES_SET_CLOCK, "the clock being set before a watching park does not end it")             \
    X(INTERRUPT_DOES_NOT_WAKE, "an interrupt only sets the flag")                                        \
    X(INTERRUPT_NOT_CLEARED, "a call that reports an interrupt leaves the flag set")                     \
    X(WAIT_TRUSTS_WAKEUP, "a waiter takes any wake-up for the event it waits for")                       \
    X(WAIT_ENDS_EARLY, "a timed wait is over one nanosecond too soon")                                   \
    X(WITHDRAW_IGNORES_HANDOVER, "a time-out wins over an element already handed over")                  \
    X(LATCH_WAKES_ONE, "the last count-down releases one waiter only")                                   \
    X(LATCH_COUNTS_BELOW_ZERO, "the count goes on falling at zero")                                      \
    X(WAIT_FORGETS_WAITER, "an interrupted waiter stays on the list")                                    \
    X(DRAIN_KEEPS_PUTTERS_OUT, "drain makes room but lets nobody in")                                    \
    X(REMOVE_KEEPS_PUTTERS_OUT, "remove makes room but lets nobody in")                                  \
    X(HANDOVER_TO_LATEST, "the latest waiter is served first")                                           \
    X(PUT_WAKES_ALL, "every put wakes every taker")                                                      \
    X(CLOSE_FORGETS_PUTTERS, "close wakes the takers only")                                              \
    X(ARRAY_REMOVE_SHIFTS_WRONG, "an interior removal shifts across the wrong end of the ring")          \
    X(LINKED_REMOVE_KEEPS_TAIL, "removing the last element leaves the tail behind")                      \
    X(LINKED_LEAKS_NODE_WHEN_FULL, "a refused offer leaks its node")                                     \
    X(PRIORITY_LOSES_ON_GROWTH, "an element is lost when the heap cannot grow")                          \
    X(DELAY_NEW_HEAD_UNSEEN, "a new first element does not wake the leader")                             \
    X(DELAY_LEADER_IS_TRUSTED, "who puts leaves everything to the leader, however long that sleeps")     \
    X(DELAY_LEAD_LOST_ON_TAKE, "a leader that takes does not hand the lead on")                          \
    X(DELAY_LEAD_LOST_ON_TIMEOUT, "a leader that times out does not hand the lead on")                   \
    X(DELAY_LEAD_LOST_ON_INTERRUPT, "a leader that is interrupted does not hand the lead on")            \
    X(DELAY_GIVES_EARLY, "an element is given out one nanosecond before it is due")                      \
    X(TIMED_LOOKS_TOO_SOON, "a taker looks into the inbox before it says what may not be there")         \
    X(TIMED_LIMIT_UNSEEN, "who puts leaves in the inbox what somebody waits for")                        \
    X(TIMED_READS_UNGUARDED, "a taker reads the clock and does not look into the inbox")                 \
    X(TIMED_SLEEPS_UNGUARDED, "a taker goes to sleep and does not say until when")                       \
    X(TIMED_FORGETS_DESCRIPTOR, "the descriptor is not told of what is in the inbox")                    \
    X(TIMED_OPEN_AFTER_CLOSE, "a closed delay queue lets elements in")                                   \
    X(CLOCK_WAKES_LATE, "the virtual clock wakes sleepers only after their time")                        \
    X(CLOCK_SETTLES_EARLY, "a woken thread counts as waiting until it really runs")                      \
    X(CLOCK_RUN_SKIPS_END, "a run does not wake those whose time is its end")                            \
    X(CLOCK_RUN_ENDS_EARLY, "a run is over before those have gone on whose time is its end")             \
    X(CLOCK_RUNS_AHEAD, "a run goes on before all who are due count as running")                         \
    X(CLOCK_TELLER_KEEPS_ALL, "a thread that ends while it tells of a step lets no task be taken")       \
    X(CLOCK_STEP_UNSEEN, "setting the virtual clock does not wake those who watch it")                   \
    X(FUTURE_RUNS_TWICE, "a future that runs can be run again")                                          \
    X(FUTURE_ENDS_WITH_ANY_THREAD, "a future fails with a thread that met it while another runs it")     \
    X(FUTURE_RUN_UNNOTED, "a thread that waits does not know that it runs what another waits for")       \
    X(FUTURE_KEEPS_NO_NAME, "a name that is part of the argument is read after the argument is dropped") \
    X(FUTURE_NAME_UNLOCKED, "a name is read while another thread may drop the argument that it is in")   \
    X(CANCEL_FORGETS_INBOX, "a cancelled task that was posted only is not found, and stays")             \
    X(POOL_NO_RECHECK, "a task that was queued is not looked at again")                                  \
    X(POOL_EXECUTE_LETS_GO, "a task that was queued is looked for again without a reference")            \
    X(POOL_LAST_IDLE_NOT_WOKEN, "the last idle worker is not told that the pool may end")                \
    X(POOL_INTERRUPT_LEAKS, "an interrupt for one task reaches the next")                                \
    X(POOL_BOOKS_TOO_SOON, "a worker's last task is booked as finished before the worker is idle")       \
    X(POOL_FORGETS_TRY_TERMINATE, "a worker that ends does not see whether the pool may end")            \
    X(ADMISSION_COUNTS_ON, "a task that has ended goes on counting in its class")                        \
    X(ADMISSION_COUNTS_A_THREAD_MORE, "admission counts one thread too many")                            \
    X(ADMISSION_FORGETS_RATE, "no worker wakes up when the rate of a class lets a task begin")           \
    X(ADMISSION_FORGETS_AWAITED, "a worker that awaits a task is not told that its key is free")         \
    X(ADMISSION_WAKES_NOBODY, "the end of a task lets others begin, and no worker is told")              \
    X(FUTURE_NUDGE_UNSEEN, "a worker about to wait for a task is not told that it may run it")           \
    X(ADMISSION_LIMIT_IS_ONE_MORE, "a class runs one more than its limit")                               \
    X(ADMISSION_KEY_UNSEEN, "tasks of one key run at the same time")                                     \
    X(ADMISSION_RESERVES_NOTHING, "no thread is reserved for a class")                                   \
    X(ADMISSION_SERIES_KEEPS_TICKET, "a series that is put back goes on counting in its class")          \
    X(ADMISSION_NEXT_UNSEEN, "no worker wakes up when admission lets a due task begin")                  \
    X(ADMISSION_MOVE_KEEPS_TICKET, "a due task that is re-timed goes on waiting for admission")          \
    X(ADMISSION_HIDES_WAITING, "nothing that waits for admission is visited, as in a sweep")             \
    X(ADMISSION_CHANGE_UNSEEN, "a class gets another limit, and no worker is told")                      \
    X(FUTURE_FORGETS_LATE_DROP, "a task cancelled while it runs is never dropped")                       \
    X(CONCLUDE_FORGETS_PENDING, "what ends within a callback is never concluded")                        \
    X(HELP_KNOWS_NO_END, "a worker that waits runs tasks on its stack to any depth")                     \
    X(POOL_KEEPS_COUNT_OF_FAILED_START, "a thread that could not be started goes on counting")           \
    X(POOL_ROOM_UNSEEN, "submitters that wait for room are not told of it")                              \
    X(POOL_STOP_LEAVES_QUEUE, "stopping leaves the tasks in the queue")                                  \
    X(POOL_COUNTED_ON_NOBODY, "a worker that was counted but not started leaves its task behind")        \
    X(POOL_KEEPS_UNSTAFFED, "a task for which no thread can be started is accepted")                     \
    X(POOL_STRANDED_UNSEEN, "threads that wait for a pool without workers do not start one")             \
    X(POOL_LAST_WORKER_JUST_LEAVES, "the last worker ends although it cannot be replaced")               \
    X(FUTURE_WAITS_UNATTENDED, "a thread waits for a task that no worker will run")                      \
    X(GROUP_WAKES_NOBODY, "a group that becomes empty releases no waiter")                               \
    X(COMPLETION_TRIES_ONCE, "room made while a future was offered is not seen")                         \
    X(POOL_LEAVES_LINGERER, "the last worker is not told that what it waited for has gone")              \
    X(SHARD_BELOW_FLOOR, "what is due by the last reading of the clock is posted all the same")          \
    X(SHARD_FLOOR_UNSAID, "who takes what is due does not say by which reading of the clock")            \
    X(SHARD_GATE_UNSEEN, "a task is posted into a scheduler that has been shut down")                    \
    X(SHARD_MISPLACES, "what moves within a shard does not know its new place")                          \
    X(SHARD_LOOKS_TOO_SOON, "who goes to sleep does not look at what was posted meanwhile")              \
    X(SHARD_TELLS_NOBODY, "what is posted ahead of all others is not told to who sleeps")                \
    X(SHARD_HOUSES_NOBODY, "the agenda does not know that a future which was posted belongs to it")      \
    X(CANCEL_NOTICES_NOBODY, "who waits for a future that is cancelled is not told")                     \
    X(CANCEL_TELLS_TOO_LATE, "a cancelled future is out of the books before it is done")                 \
    X(AGENDA_GIVES_EARLY, "a scheduled task begins one nanosecond before its time")                      \
    X(SCHEDULER_NO_RECHECK, "a task that was scheduled is not looked at again")                          \
    X(SCHEDULER_SHUTDOWN_SWEEPS_NOTHING, "shutdown leaves in the agenda what is not to run")             \
    X(SERIES_NO_RECHECK, "a series that was put back is not looked at again")                            \
    X(SERIES_RUNS_AFTER_STOP, "what a worker has taken runs although the state forbids it")              \
    X(RESCHEDULE_AFTER_THE_END, "a series that is ending can be re-timed, without effect")               \
    X(RESCHEDULE_WAKES_NOBODY, "a task that is moved ahead does not wake the leader")                    \
    X(CLOCK_SET_BACK_UNSEEN, "series on the wall clock wait for the old time after it was set back")     \
    X(CLOCK_SET_BACK_UNSEEN_BY_RUN, "... if a worker has them at that moment")                           \
    X(ZONES_REFRESH_UNSEEN, "tasks that wait go on waiting for a time of a zone's old rules")            \
    X(ZONES_REFRESH_UNSEEN_BY_RUN, "... if a worker has them at that moment")                            \
    X(ZONES_REFRESH_UNSEEN_BY_NEWCOMER, "... if they are scheduled at that moment")                      \
    X(CLOCK_WATCH_UNSEEN, "a leader that sleeps when the clocks begin to be watched is not told")        \
    X(AGENDA_MOVE_UNSEEN, "an entry that is moved ahead is the same to the leader that sleeps for it")   \
    X(AGENDA_KEEPS_PLACE, "the place of a series that is over stays reserved")                           \
    X(SCHEDULER_LOSES_LATECOMER, "a task that comes just before the end stays in the agenda")            \
    X(SCHEDULER_LEAVES_PAUSED, "what was paused while it ran goes back after shutdown")                  \
    X(SCHEDULER_RULE_SWEEPS_NOTHING, "a rule that is changed after shutdown holds for newcomers only")   \
    X(SCHEDULER_HELPS_EARLY, "a worker that waits for a task runs it before its time")                   \
    X(SERIES_FORGETS_RETIME, "a series that is re-timed on its way back keeps its old time")             \
    X(SERIES_BEGINS_PAUSED, "a series that is paused after it was admitted begins")                      \
    X(SERIES_RETURNS_UNSEEN, "a series is put back by a worker that sleeps without a time")              \
    X(SERIES_RETURNS_CANCELLED, "a series that is cancelled on its way back is put back")                \
    X(SERIES_RETURNS_AFTER_SHUTDOWN, "a series is put back although the state forbids it")               \
    X(SERIES_RETURN_FORGOTTEN, "a series that no visit puts back is lost")                               \
    X(SERIES_COUNTS_UNBEGUN, "a run that is cancelled before its body is called counts as one")          \
    X(SERIES_RUNS_ONCE_MORE, "a series has one run more than its count")                                 \
    X(CREW_ONE_TOO_MANY, "one run more than allowed goes on at the same time")                           \
    X(CREW_RUNS_AFTER_CANCEL, "a member that joins a series that is over begins")                        \
    X(CREW_NEVER_CLOSES, "the last member does not complete its series")                                 \
    X(CREW_TELLS_NOBODY, "members are not interrupted with their series")                                \
    X(LOCK_FORGETS_SLEEPERS, "a thread that slept takes the lock as if it were the last sleeper")        \
    X(BACKLOG_SHOWN_TOO_SOON, "a task that comes by value after the queue was shown is let in")          \
    X(AGENDA_SHOWN_TOO_SOON, "a task that is scheduled by value after the agenda was shown is let in")   \
    X(AGENDA_SHOWS_HEAP_ONLY, "a task by value that has been posted only is not shown")                  \
    X(ERRAND_TELLS_NOBODY, "a task by value that comes before what is waited for wakes nobody")          \
    X(AGENDA_GATE_UNSEEN, "a task is scheduled by value although the gate has been closed")              \
    X(AGENDA_SHOWS_LATER, "a task that becomes a future loses its place among those due together")       \
    X(ANNEX_STAYS_BEHIND, "an errand outside of the heap is not fetched when its turn has come")         \
    X(ANNEX_IS_UNSEEN, "an errand outside of the heap is not shown, nor found")                          \
    X(AGENDA_KEEPS_UNSTAFFED, "a task by value for which there is no thread stays, and is refused")      \
    X(ERRAND_SWEPT_UNSEEN, "shutdown leaves in the agenda what is there by value")                       \
    X(TIMER_GATE_UNSEEN, "a timer is started although the gate has been closed")                         \
    X(TIMER_TELLS_NOBODY, "a timer that comes before what is waited for wakes nobody")                   \
    X(TIMER_GOES_UNHEARD, "a timer is cancelled without a word to who waits for it")                     \
    X(TIMER_CANCEL_FORGETS_SHARD, "a timer that has been posted only is not found")                      \
    X(TIMER_SWEPT_UNSEEN, "shutdown and stop leave timers in the agenda")                                \
    X(TIMER_STAYS_UNSTAFFED, "a timer for which there is no thread stays, and is refused")               \
    X(TIMER_STOP_DOES_NOT_WAIT, "a timer's stop returns while its function runs")                        \
    X(TIMER_STOP_MISSES_TAKEN, "a timer's stop does not see that a worker is about to run it")           \
    X(TIMER_STOP_FORGETS_RESTART, "a timer's stop leaves pending what the function has started")         \
    X(TIMER_STOP_IS_NOT_TOLD, "a timer's stop is not told that the function has returned")               \
    X(TIMER_STARTS_WHILE_STOPPED, "a timer is started by its function while it is being stopped")        \
    X(TIMER_LEAVES_ROSTER_UNSEEN, "a timer asks a scheduler that is gone whether it runs")               \
    X(TIMER_RUN_COUNTS_ON, "the run of a timer counts for ever in a scheduler with admission")           \
    X(TIMER_MOVES_TWICE, "a pending timer that is started again is not taken out first")                 \
    X(TASK_DROPPED_AGAIN, "a task by value whose drop ends the thread is dropped once more")             \
    X(BACKLOG_GATE_UNSEEN, "a task is let in by value although the gate has been closed")                \
    X(BACKLOG_FORM_STAYS, "a task that moves to another segment keeps the number of its form")           \
    X(BACKLOG_FORM_GUESSED, "a task is taken to have the form of the one before")                        \
    X(BACKLOG_GIVES_HOLES, "what was removed from the middle is given out")                              \
    X(SPIN_NEVER_ENDS, "a taker that has ceased to spin goes on counting as if it did")                  \
    X(CLAIMS_GO_ON, "what is recalled can still be claimed")                                             \
    X(CLAIMS_READ_ANYTHING, "a segment from which somebody may still claim is used again")               \
    X(CRON_OVERLAP_UNSEEN, "local times that the clocks show again are not searched")                    \
    X(CRON_SPAN_ENDS_LATE, "the first local time after a span counts as one of it")                      \
    X(CRON_JUMPS_TOO_FAR, "a jump to a far match forgets that local time is not UTC")                    \
    X(CRON_JUMPS_TOO_FAR_BACK, "... backwards")                                                          \
    X(CRON_SKIPPED_TIMES_LOST, "times that are skipped do not come when the clocks are set")             \
    X(CRON_REPEATED_TIMES_COUNT, "times of the day that are repeated count again")                       \
    X(CRON_NEAREST_LEAVES_MONTH, "the weekday nearest to the last day is in the next month")             \
    X(SEARCH_NEVER_BEGINS, "a put wakes nobody, although all takers sleep")                              \
    X(SEARCH_LOOKS_TOO_SOON, "a taker looks into the inbox before it says that it wants something")      \
    X(SEARCH_NEVER_ENDS, "a taker that looks and finds something goes on counting as searcher")          \
    X(SEARCH_ENDS_WITH_FIRST, "a searcher that finds more than it takes tells nobody")                   \
    X(SEARCH_TAKES_ALONE, "a worker that is awake takes a task and leaves the others to nobody")         \
    X(WORKER_WAITS_UNASKED, "a worker goes to sleep without a look at what was changed before")          \
    X(SEARCH_LOST_ON_INTERRUPT, "a searcher that is interrupted tells nobody")                           \
    X(STANDBY_IS_TRUSTED, "a standby that becomes leader sleeps on, however long that is")               \
    X(STANDBY_WATCHES_NOTHING, "a standby becomes leader although it does not watch the clock")          \
    X(ZONE_GOES_BACK, "a refresh replaces rules that were read after its own")                           \
    X(GROWTH_MINDS_NO_COMPUTING, "a pool grows although its threads compute")                            \
    X(GROWTH_TAKES_ANY_WAIT, "a pool grows although what is queued has just come")                       \
    X(GROWTH_SLEEPS_TOO_SOON, "what is queued while the watch falls asleep is not looked at")            \
    X(EVENTS_SKIP_IN_SILENCE, "planned times that are passed over are not told")                         \
    X(EVENTS_REFUSE_ACCEPTED, "a task that finds room while it waits for some is told as refused")       \
    X(EVENTS_END_TWICE, "the end of a task is told again if a hook after it ends the thread")            \
    X(EXPLAIN_POOL_UNREFERENCED, "a pool may be freed while a task of it is explained")                  \
    X(EXPLAIN_QUEUE_UNREFERENCED, "a queue may be freed while a task of it is explained")                \
    X(DUMP_COUNTS_WORKERS_ONCE, "workers that come while there is no room for them are left out")        \
    X(REGISTRAR_REVIVES_CANCELLED, "a task that is cancelled while it is bound is scheduled")            \
    X(REGISTRAR_MISSES_LATECOMER, "a task that is declared while others are bound stays unscheduled")    \
    X(REGISTRAR_FORGETS_EARLY_END, "a future that is over before it counts never drops its task")        \
    X(REGISTRAR_BINDS_AFTER_CLOSE, "what is bound while the registrar is closed is scheduled")           \
    X(WATCH_SLEEPS_ON, "the watch is not woken for what comes before all others")                        \
    X(LIMIT_LEAVES_IN_QUEUE, "what has expired stays in the queue")                                      \
    X(LIMIT_BEGINS_LATE, "a worker begins what was to start by an earlier time")                         \
    X(OVERRUN_MEETS_NEXT, "the limit of a run goes on after its end, and meets the next one")            \
    X(PATROL_RESTS_FOR_EVER, "a worker that begins something does not rouse who looks for stuck ones")   \
    X(WRITE_OFF_IS_REVOKED, "a worker that was written off forgets it with the end of its run")          \
    X(POOL_FORGETS_WRITTEN_OFF, "a pool terminates while a worker that was written off is running")      \
    X(NAMES_TRUST_ADDRESSES, "a name is taken for another that had the same address")                    \
    X(SHEETS_SHARED, "a new worker writes into the sheets of another")                                   \
    X(SHEETS_LOST, "what a worker has measured goes with it")                                            \
    X(POST_READ_TORN, "what a worker runs is read while it changes")                                     \
    X(REQUEST_IS_FORGOTTEN, "a dump that is asked for while one is being written is forgotten")          \
    HORA__ORDER_FAULT_LIST(X)

enum hora__fault {
    HORA__FAULT_NONE,
#define HORA__FAULT_CONSTANT(name, text) HORA__FAULT_##name,
    HORA__FAULT_LIST(HORA__FAULT_CONSTANT)
#undef HORA__FAULT_CONSTANT
        HORA__FAULT_COUNT
};

#if defined(HORA_SIM) || defined(HORA_FAULTS)
extern enum hora__fault hora__fault_planted; /* the test driver sets it between runs */
#define HORA__FAULT(name) (hora__fault_planted == HORA__FAULT_##name)
#else
#define HORA__FAULT(name) false
#endif

#endif
