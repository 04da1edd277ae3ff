/* SPDX-License-Identifier: Apache-2.0 */
/* fault.h - faults planted on purpose, to prove that the tests would find them
 *
 * The simulated build can switch on one fault at a time. A test checks that the scenarios find every fault of
 * this list. Some tests on real threads are built with HORA_FAULTS and do the same. In every other build
 * HORA__FAULT(x) is the constant false, and the compiler removes the faulty branch.
 *
 * Each fault has a name, by which the code and the test driver refer to it, and a text that describes the
 * misbehaviour. A fault is one mistake that a programmer could make at that place: a missing check, a wake-up
 * that is left out, a wrong order. */
#ifndef HORA_BASE_FAULT_H
#define HORA_BASE_FAULT_H

#include <stdbool.h>

/* Operations on atomic words with a weaker order than they need. Schedules with weak memory find them, see
 * sys/atomic.h. */
#define HORA__ORDER_FAULT_LIST(X)                                                                       \
    X(BOOKS_READ_RELAXED, "finished and submitted tasks are read in any order")                         \
    X(BOOKS_FINISHED_RELAXED, "counting a finished task orders nothing")                                \
    X(MEASURES_READ_RELAXED, "ended, begun and submitted runs are read in any order")                   \
    X(MEASURES_ENDED_RELAXED, "a run counts as ended before it has begun")                              \
    X(HISTOGRAM_READ_RELAXED, "measurements are read before the number of ended runs")                  \
    X(STATS_READ_RELAXED, "outcomes and submissions are read in any order")                             \
    X(LOCK_TAKEN_RELAXED, "a thread that takes a lock does not see what was done under it")             \
    X(LOCK_RELEASED_RELAXED, "the next holder of a lock does not see what was done under it")           \
    X(LOCK_SLEPT_RELAXED, "a thread that slept for a lock does not see what was done under it")         \
    X(FUTURE_STATE_RELAXED, "a future is done, but the effects of its task are not visible")            \
    X(FUTURE_READ_RELAXED, "a thread that sees a done future does not see the effects of its task")     \
    X(MEMBER_LEFT_RELAXED, "a group has no pending member, but the effects of a task are not visible")  \
    X(CLAIMS_OFFERED_RELAXED, "an offered task can be claimed before it is written")                    \
    X(CLAIMS_TAKEN_RELAXED, "a claimed task is read in an outdated state")                              \
    X(LANE_FILLED_RELAXED, "a lane into which a thread inserts is skipped as empty")                    \
    X(LANE_EMPTY_RELAXED, "a lane is taken for empty because its word is outdated")                     \
    X(TIMER_ENDS_RELAXED, "a timer belongs to the caller before hora has finished with it")             \
    X(WAITER_RESOLVED_RELAXED, "a resolved waiter does not see what it waited for")                     \
    X(NAME_ADDED_RELAXED, "a name is found before it is written")                                       \
    X(NAME_CACHED_RELAXED, "a name is found in the cache before it is written")                         \
    X(NAME_READ_RELAXED, "a name that is found is read in an outdated state")                           \
    X(WORKER_STATS_ADDED_RELAXED, "statistics of a worker are found before they are written")           \
    X(TIMED_LIMIT_UNORDERED, "a taker reads the inbox before it publishes its limit")                   \
    X(REFERENCE_ALONE_RELAXED, "the owner of the last reference does not see what other threads did")   \
    X(REFERENCE_LEFT_RELAXED, "a thread that gives up the last reference does not see what others did") \
    X(THREAD_LEFT_RELAXED, "giving up the last reference to a thread does not show what others did")    \
    X(INTERRUPT_SET_RELAXED, "an interrupted thread does not see what was done before the interrupt")   \
    X(INTERRUPT_READ_RELAXED, "a thread that sees an interrupt does not see what was done before it")   \
    X(LANE_LEFT_RELAXED, "the last thread that leaves a lane does not see what others did")             \
    X(LANE_CLOSED_RELAXED, "the thread that closes a lane does not see what others did")                \
    X(TIMED_SOONEST_UNORDERED, "a putter reads the limit before it publishes its insertion")            \
    X(TIMED_LIMIT_READ_UNORDERED, "a putter reads an outdated limit")                                   \
    X(TIMED_SOONEST_READ_UNORDERED, "a taker reads an outdated inbox")                                  \
    X(WAITER_READ_RELAXED, "a waiter sees that it may go on, but not what it waited for")               \
    X(WORKER_RECORD_READ_RELAXED, "the parts of a worker's current run are read in any order")          \
    X(WORKER_RECORD_NOTED_RELAXED, "a worker's current run is visible before it is written")            \
    X(NAME_CACHE_READ_RELAXED, "a name found in the cache is read in an outdated state")                \
    X(WORKER_STATS_READ_RELAXED, "statistics of a worker are read in an outdated state")                \
    X(HISTOGRAM_RECORDED_RELAXED, "a measurement is visible before what was counted before it")         \
    X(REQUESTS_CLOSE_RELAXED, "the thread for dumps wakes up without seeing why")

/* All faults. */
#define HORA__FAULT_LIST(X)                                                                               \
    X(PARKER_LOSES_EARLY_PERMIT, "an unpark before the park is forgotten")                                \
    X(PARKER_IGNORES_DEADLINE, "a timed park sleeps without its deadline")                                \
    X(PARKER_MISSES_SET_CLOCK, "the clock being set before a watching park does not end it")              \
    X(INTERRUPT_DOES_NOT_WAKE, "an interrupt only sets the flag")                                         \
    X(INTERRUPT_NOT_CLEARED, "a call that reports an interrupt leaves the flag set")                      \
    X(WAIT_TRUSTS_WAKEUP, "a waiter takes any wake-up for the event it waits for")                        \
    X(WAIT_ENDS_EARLY, "a timed wait is over one nanosecond too soon")                                    \
    X(WITHDRAW_IGNORES_HANDOVER, "a time-out wins over an element already handed over")                   \
    X(LATCH_WAKES_ONE, "the last count-down releases one waiter only")                                    \
    X(LATCH_COUNTS_BELOW_ZERO, "the count goes on falling at zero")                                       \
    X(WAIT_FORGETS_WAITER, "an interrupted waiter stays on the list")                                     \
    X(DRAIN_KEEPS_PUTTERS_OUT, "drain makes room but lets no putter in")                                  \
    X(REMOVE_KEEPS_PUTTERS_OUT, "remove makes room but lets no putter in")                                \
    X(HANDOVER_TO_LATEST, "the latest waiter is served first")                                            \
    X(PUT_WAKES_ALL, "every put wakes every taker")                                                       \
    X(CLOSE_FORGETS_PUTTERS, "close wakes the takers only")                                               \
    X(ARRAY_REMOVE_SHIFTS_WRONG, "an interior removal shifts across the wrong end of the ring")           \
    X(LINKED_REMOVE_KEEPS_TAIL, "removing the last element leaves the tail behind")                       \
    X(LINKED_LEAKS_NODE_WHEN_FULL, "a refused offer leaks its node")                                      \
    X(PRIORITY_LOSES_ON_GROWTH, "an element is lost when the heap cannot grow")                           \
    X(DELAY_NEW_HEAD_UNSEEN, "a new first element does not wake the leader")                              \
    X(DELAY_LEADER_IS_TRUSTED, "a putter relies on the leader, however long the leader sleeps")           \
    X(DELAY_LEAD_LOST_ON_TAKE, "a leader that takes does not hand the lead on")                           \
    X(DELAY_LEAD_LOST_ON_TIMEOUT, "a leader that times out does not hand the lead on")                    \
    X(DELAY_LEAD_LOST_ON_INTERRUPT, "a leader that is interrupted does not hand the lead on")             \
    X(DELAY_GIVES_EARLY, "an element is given out one nanosecond before it is due")                       \
    X(TIMED_LOOKS_TOO_SOON, "a taker reads the inbox before it publishes its limit")                      \
    X(TIMED_LIMIT_UNSEEN, "a putter leaves an element in the inbox that a taker waits for")               \
    X(TIMED_READS_UNGUARDED, "a taker reads the clock but not the inbox")                                 \
    X(TIMED_SLEEPS_UNGUARDED, "a taker goes to sleep without publishing until when")                      \
    X(TIMED_FORGETS_DESCRIPTOR, "elements in the inbox do not reach the descriptor")                      \
    X(TIMED_OPEN_AFTER_CLOSE, "a closed delay queue lets elements in")                                    \
    X(CLOCK_WAKES_LATE, "the virtual clock wakes sleepers only after their time")                         \
    X(CLOCK_SETTLES_EARLY, "a woken thread counts as waiting until it really runs")                       \
    X(CLOCK_FORGETS_SETTLER, "the clock is freed while a resolved thread is about to take its lock")      \
    X(CLOCK_RUN_SKIPS_END, "a run does not wake the sleepers whose time is its end")                      \
    X(CLOCK_RUN_ENDS_EARLY, "a run ends before the sleepers whose time is its end have gone on")          \
    X(CLOCK_RUNS_AHEAD, "a run goes on before all due threads count as running")                          \
    X(CLOCK_NOTIFIER_BLOCKS_ALL, "a thread that ends while it reports a clock step blocks all tasks")     \
    X(CLOCK_STEP_UNSEEN, "setting the virtual clock does not wake the threads that watch it")             \
    X(FUTURE_RUNS_TWICE, "a future that runs can be run again")                                           \
    X(FUTURE_ENDS_WITH_ANY_THREAD, "a future fails with a thread that met it while another runs it")      \
    X(FUTURE_RUN_UNNOTED, "a thread that waits does not know that it runs what another waits for")        \
    X(FUTURE_KEEPS_NO_NAME, "a name that is part of the argument is read after the argument is dropped")  \
    X(FUTURE_NAME_UNLOCKED, "a name is read while another thread may drop the argument that it is in")    \
    X(CANCEL_FORGETS_INBOX, "a cancelled task that is still in an inbox lane is not found")               \
    X(POOL_NO_RECHECK, "a task that was queued is not looked at again")                                   \
    X(POOL_EXECUTE_HAS_NO_REFERENCE, "a queued task is checked again without a reference")                \
    X(POOL_LAST_IDLE_NOT_WOKEN, "the last idle worker is not told that the pool may end")                 \
    X(POOL_INTERRUPT_LEAKS, "an interrupt for one task reaches the next")                                 \
    X(POOL_BOOKS_TOO_SOON, "a worker's last task is booked before the worker is idle")                    \
    X(POOL_FORGETS_TRY_TERMINATE, "a worker that ends does not check whether the pool may end")           \
    X(ADMISSION_COUNTS_ON, "a task that has ended goes on counting in its class")                         \
    X(ADMISSION_COUNTS_A_THREAD_MORE, "admission counts one thread too many")                             \
    X(ADMISSION_FORGETS_RATE, "no worker wakes up when the rate of a class lets a task begin")            \
    X(ADMISSION_FORGETS_AWAITED, "a worker that awaits a task is not told that its key is free")          \
    X(ADMISSION_WAKES_NO_WORKER, "the end of a task lets others begin, and no worker is woken")           \
    X(FUTURE_NUDGE_UNSEEN, "a worker about to wait for a task is not told that it may run it")            \
    X(ADMISSION_LIMIT_IS_ONE_MORE, "a class runs one more than its limit")                                \
    X(ADMISSION_KEY_UNSEEN, "tasks of one key run at the same time")                                      \
    X(ADMISSION_RESERVES_NOTHING, "no thread is reserved for a class")                                    \
    X(ADMISSION_SERIES_KEEPS_TICKET, "a series that is put back goes on counting in its class")           \
    X(ADMISSION_NEXT_UNSEEN, "no worker wakes up when admission lets a due task begin")                   \
    X(ADMISSION_MOVE_KEEPS_TICKET, "a due task that is re-timed goes on waiting for admission")           \
    X(ADMISSION_HIDES_WAITING, "nothing that waits for admission is visited, as in a sweep")              \
    X(ADMISSION_CHANGE_UNSEEN, "a class gets another limit, and no worker is woken")                      \
    X(FUTURE_FORGETS_LATE_DROP, "a task cancelled while it runs is never dropped")                        \
    X(CONCLUDE_FORGETS_PENDING, "a future that ends within a callback is never concluded")                \
    X(CONCLUDE_CALLS_OWN_LATE, "a callback waits for a group whose listener comes after it")              \
    X(HELP_KNOWS_NO_END, "a waiting worker runs tasks on its stack to any depth")                         \
    X(POOL_KEEPS_COUNT_OF_FAILED_START, "a thread that could not be started goes on counting")            \
    X(POOL_ROOM_UNSEEN, "submitters that wait for room are not told about it")                            \
    X(POOL_STOP_LEAVES_QUEUE, "stopping leaves the tasks in the queue")                                   \
    X(POOL_FAILED_START_LEAVES_TASK, "a worker that was counted but not started leaves its task behind")  \
    X(POOL_KEEPS_UNSTAFFED, "a task for which no thread can be started is accepted")                      \
    X(POOL_STRANDED_UNSEEN, "threads that wait for a pool without workers do not start one")              \
    X(POOL_LAST_WORKER_JUST_LEAVES, "the last worker ends although it cannot be replaced")                \
    X(FUTURE_WAITS_UNATTENDED, "a thread waits for a task that no worker will run")                       \
    X(GROUP_WAKES_NO_WAITER, "a group that becomes empty releases no waiter")                             \
    X(GROUP_RESERVES_WHILE_AWAITED, "a seat that is reserved while a thread waits hides the last end")    \
    X(GROUP_WAITS_FOR_RESERVED, "a thread waits for the end of a future that was never submitted")        \
    X(MEMBER_LEAVES_LAST_UNLOCKED, "the last future leaves a group, and no waiter is released")           \
    X(MEMBER_LEAVES_UNWATCHED, "a walk takes a reference to a future that is gone")                       \
    X(WALK_VISITS_UNPLACED, "a future is cancelled while its submitter takes it for its own")             \
    X(COMPLETION_LEAVES_SEAT_FIRST, "a service may be freed while a thread puts a future into its queue") \
    X(COMPLETION_FREED_WITH_SEATS, "a service is freed while a future is about to leave it")              \
    X(COMPLETED_WAKES_NO_TAKER, "a future that is done does not wake the thread that waits for one")      \
    X(COMPLETION_TRIES_ONCE, "room that appears while a future is offered goes unnoticed")                \
    X(POOL_LEAVES_LAST_WORKER, "the last worker is not told that what it waited for is gone")             \
    X(LANE_BELOW_FLOOR, "a task that is due by the last clock reading goes into a lane all the same")     \
    X(LANE_FLOOR_UNSAID, "a taker does not publish its clock reading")                                    \
    X(LANE_CLOSED_UNSEEN, "a task goes into a lane of a scheduler that has been shut down")               \
    X(LANE_MISPLACES, "an entry that moves within a lane does not know its new position")                 \
    X(LANE_LOOKS_TOO_SOON, "a leader goes to sleep without checking the lanes again")                     \
    X(LANE_WAKES_NO_LEADER, "an entry ahead of all others does not wake the sleeping leader")             \
    X(LANE_COUNTS_NO_REFERENCE, "a future in a lane is not known to belong to the timer queue")           \
    X(CANCEL_WAKES_NO_WAITER, "threads that wait for a cancelled future are not woken")                   \
    X(CANCEL_MISCOUNTS_ENTRIES, "a cancelled future still counts the entry that was removed")             \
    X(CANCEL_TELLS_TOO_LATE, "a cancelled future leaves the books before it is done")                     \
    X(TIMER_QUEUE_GIVES_EARLY, "a scheduled task begins one nanosecond before its time")                  \
    X(SCHEDULER_NO_RECHECK, "a task that was scheduled is not looked at again")                           \
    X(SCHEDULER_SHUTDOWN_SWEEPS_NOTHING, "shutdown leaves tasks in the timer queue that must not run")    \
    X(SERIES_NO_RECHECK, "a series that was put back is not looked at again")                             \
    X(SERIES_RUNS_AFTER_STOP, "a task that a worker has taken runs although the state forbids it")        \
    X(RESCHEDULE_AFTER_THE_END, "a series that is ending can be re-timed, without effect")                \
    X(RESCHEDULE_WAKES_NO_LEADER, "a task that is moved ahead does not wake the leader")                  \
    X(CLOCK_SET_BACK_UNSEEN, "series on the wall clock wait for the old time after it was set back")      \
    X(CLOCK_SET_BACK_UNSEEN_BY_RUN, "... if a worker has them at that moment")                            \
    X(ZONES_REFRESH_UNSEEN, "waiting tasks keep a time of a zone's old rules")                            \
    X(ZONES_REFRESH_UNSEEN_BY_RUN, "... if a worker has them at that moment")                             \
    X(ZONES_REFRESH_UNSEEN_BY_NEWCOMER, "... if they are scheduled at that moment")                       \
    X(CLOCK_WATCH_UNSEEN, "a sleeping leader is not told that the clocks must be watched")                \
    X(TIMER_QUEUE_MOVE_UNSEEN, "the leader does not notice that the entry it sleeps for was moved ahead") \
    X(TIMER_QUEUE_KEEPS_PLACE, "the slot of a series that is over stays reserved")                        \
    X(SCHEDULER_LOSES_LATECOMER, "a task scheduled just before the end stays in the timer queue")         \
    X(SCHEDULER_LEAVES_PAUSED, "a task paused during its run is queued again after shutdown")             \
    X(SCHEDULER_RULE_SWEEPS_NOTHING, "a rule that is changed after shutdown holds for newcomers only")    \
    X(SCHEDULER_HELPS_EARLY, "a worker that waits for a task runs it before its time")                    \
    X(SERIES_FORGETS_RETIME, "a series that is re-timed on its way back keeps its old time")              \
    X(SERIES_BEGINS_PAUSED, "a series that is paused after it was admitted begins")                       \
    X(SERIES_RETURNS_UNSEEN, "a series is put back by a worker that sleeps without a time")               \
    X(SERIES_RETURNS_CANCELLED, "a series that is cancelled on its way back is put back")                 \
    X(SERIES_RETURNS_AFTER_SHUTDOWN, "a series is put back although the state forbids it")                \
    X(SERIES_RETURN_FORGOTTEN, "a series that no visit puts back is lost")                                \
    X(SERIES_COUNTS_UNBEGUN, "a run that is cancelled before its body is called counts as one")           \
    X(SERIES_RUNS_ONCE_MORE, "a series has one run more than its count")                                  \
    X(OVERLAP_ONE_TOO_MANY, "one run more than allowed goes on at the same time")                         \
    X(OVERLAP_RUNS_AFTER_CANCEL, "an overlapping run begins although its series is over")                 \
    X(OVERLAP_NEVER_CLOSES, "the last overlapping run does not complete its series")                      \
    X(OVERLAP_INTERRUPTS_NO_RUN, "overlapping runs are not interrupted with their series")                \
    X(LOCK_FORGETS_SLEEPERS, "a thread that slept takes the lock as if it were the last sleeper")         \
    X(BACKLOG_SHOWN_TOO_SOON, "a detached task enters after the queue was made visible")                  \
    X(TIMER_QUEUE_SHOWN_TOO_SOON, "a detached task is scheduled after the timer queue was made visible")  \
    X(TIMER_QUEUE_SHOWS_HEAP_ONLY, "a detached task in a lane is not made visible")                       \
    X(DETACHED_WAKES_NO_WORKER, "a detached task ahead of all others wakes no worker")                    \
    X(TIMER_QUEUE_CLOSED_UNSEEN, "a detached task is scheduled although the scheduler is closed")         \
    X(TIMER_QUEUE_SHOWS_LATER, "a task that becomes a future loses its order among tasks due together")   \
    X(FAR_STAYS_BEHIND, "a detached task in a far batch is not fetched when it is due")                   \
    X(FAR_IS_UNSEEN, "a detached task in a far batch is neither shown nor found")                         \
    X(TIMER_QUEUE_KEEPS_UNSTAFFED, "a detached task without a thread stays queued and is refused")        \
    X(DETACHED_SWEPT_UNSEEN, "shutdown leaves detached tasks in the timer queue")                         \
    X(TIMER_CLOSED_UNSEEN, "a timer is started although the scheduler is closed")                         \
    X(TIMER_WAKES_NO_WORKER, "a timer ahead of all others wakes no worker")                               \
    X(TIMER_GOES_UNHEARD, "a timer is cancelled without telling the thread that waits for it")            \
    X(TIMER_CANCEL_FORGETS_LANE, "a timer that is still in a lane is not found")                          \
    X(TIMER_SWEPT_UNSEEN, "shutdown and stop leave timers in the timer queue")                            \
    X(TIMER_STAYS_UNSTAFFED, "a timer without a thread stays queued and is refused")                      \
    X(TIMER_STOP_DOES_NOT_WAIT, "a timer's stop returns while its function runs")                         \
    X(TIMER_STOP_MISSES_TAKEN, "a timer's stop does not see that a worker is about to run it")            \
    X(TIMER_STOP_FORGETS_RESTART, "stop leaves a timer pending that its function started again")          \
    X(TIMER_STOP_IS_NOT_TOLD, "a timer's stop is not told that the function has returned")                \
    X(TIMER_STARTS_WHILE_STOPPED, "a timer is started by its function while it is being stopped")         \
    X(TIMER_LEAVES_ROSTER_UNSEEN, "a timer asks a scheduler that is gone whether it runs")                \
    X(TIMER_RUN_COUNTS_ON, "the run of a timer counts for ever in a scheduler with admission")            \
    X(TIMER_MOVES_TWICE, "a pending timer that is started again is not taken out first")                  \
    X(TASK_DROPPED_AGAIN, "a detached task whose drop ends the thread is dropped again")                  \
    X(BACKLOG_CLOSED_UNSEEN, "a detached task enters although the pool is closed")                        \
    X(BACKLOG_FORM_STAYS, "a task that moves to another segment keeps the number of its form")            \
    X(BACKLOG_FORM_GUESSED, "a task is taken to have the form of the one before")                         \
    X(BACKLOG_FORM_BY_PLACE, "a task is taken to have the form at its place in the hash table")           \
    X(BACKLOG_GIVES_HOLES, "a task that was removed from the middle is handed out")                       \
    X(SPIN_NEVER_ENDS, "a taker that has stopped spinning still counts as spinning")                      \
    X(OWN_SHOWN_TOO_SOON, "a detached task enters an own queue after the queue was made visible")         \
    X(OWN_CLOSED_UNSEEN, "a detached task enters an own queue although the pool is closed")               \
    X(OWN_POPS_IN_TWO_STEPS, "a worker pops a task that another one has just stolen")                     \
    X(OWN_WAKES_NO_THIEF, "a task in an own queue wakes no idle worker")                                  \
    X(OWN_LOOKS_TOO_SOON, "a worker looks into the own queues before it asks to be woken")                \
    X(OWN_FORGOTTEN, "a thread that has to see all tasks does not see those of own queues")               \
    X(CLAIMS_GO_ON, "a recalled task can still be claimed")                                               \
    X(TIMER_QUEUE_LAX_OVERTAKES, "a task with slack runs before a precise one that is due earlier")       \
    X(TIMER_QUEUE_LAX_LOSES_SLOT, "a series with slack does not keep its slots while it runs")            \
    X(CLAIMS_READ_ANYTHING, "a segment is reused while a thread may still claim from it")                 \
    X(CHUNK_FREED_TOO_SOON, "a chunk is freed while one of its blocks is in use")                         \
    X(CHUNK_IS_NEVER_FREED, "all empty chunks are kept as spare ones")                                    \
    X(CHUNK_ROOM_UNSEEN, "a full chunk is forgotten, although a block of it comes back")                  \
    X(BLOCK_SOURCE_ENDS_TOO_SOON, "a pool frees the source of a block that is in use")                    \
    X(BLOCK_SOURCE_STAYS, "the last block of a pool that is gone does not free their source")             \
    X(CRON_OVERLAP_UNSEEN, "local times that the clocks show again are not searched")                     \
    X(CRON_SPAN_ENDS_LATE, "the first local time after a span counts as one of it")                       \
    X(CRON_JUMPS_TOO_FAR, "a jump to a far match forgets that local time is not UTC")                     \
    X(CRON_JUMPS_TOO_FAR_BACK, "... backwards")                                                           \
    X(CRON_SKIPPED_TIMES_LOST, "times that are skipped do not come when the clocks are set")              \
    X(CRON_REPEATED_TIMES_COUNT, "times of the day that are repeated count again")                        \
    X(CRON_NEAREST_LEAVES_MONTH, "the weekday nearest to the last day is in the next month")              \
    X(SEARCH_NEVER_BEGINS, "a put wakes no taker, although all takers sleep")                             \
    X(SEARCH_LOOKS_TOO_SOON, "a taker reads the inbox before it announces that it searches")              \
    X(SEARCH_NEVER_ENDS, "a searcher that finds a task still counts as searching")                        \
    X(SEARCH_ENDS_WITH_FIRST, "a searcher that finds more than it takes wakes no other taker")            \
    X(SEARCH_TAKES_ALONE, "a worker that is awake takes a task and wakes no worker for the others")       \
    X(WORKER_WAITS_UNASKED, "a worker goes to sleep without a look at what was changed before")           \
    X(SEARCH_LOST_ON_INTERRUPT, "an interrupted searcher wakes no other taker")                           \
    X(STANDBY_IS_TRUSTED, "a standby that becomes leader sleeps on, however long that is")                \
    X(STANDBY_WATCHES_NOTHING, "a standby becomes leader although it does not watch the clock")           \
    X(ZONE_GOES_BACK, "a refresh replaces rules that were read after its own")                            \
    X(GROWTH_IGNORES_COMPUTING, "a pool grows although its workers compute")                              \
    X(GROWTH_IGNORES_WAITING_TIME, "a pool grows although its tasks have just been queued")               \
    X(GROWTH_SLEEPS_TOO_SOON, "a task queued while the watchdog falls asleep goes unnoticed")             \
    X(EVENTS_SKIP_IN_SILENCE, "skipped planned times are not reported")                                   \
    X(EVENTS_REFUSE_ACCEPTED, "a task that finds room while it waits is reported as rejected")            \
    X(EVENTS_END_TWICE, "the end of a task is reported again if a hook after it ends the thread")         \
    X(EXPLAIN_POOL_UNREFERENCED, "a pool may be freed while a task of it is explained")                   \
    X(POOL_QUEUE_UNREFERENCED, "a lent queue may be freed while a thread still uses its pool")            \
    X(DUMP_COUNTS_WORKERS_ONCE, "workers that start while there is no room for them are left out")        \
    X(REGISTRAR_REVIVES_CANCELLED, "a task that is cancelled while it is bound is scheduled")             \
    X(REGISTRAR_MISSES_LATECOMER, "a task that is declared while others are bound stays unscheduled")     \
    X(REGISTRAR_FORGETS_EARLY_END, "a future that is over before it counts never drops its task")         \
    X(REGISTRAR_BINDS_AFTER_CLOSE, "a task bound while the registrar closes is scheduled")                \
    X(WATCHDOG_SLEEPS_ON, "the watchdog is not woken for a check ahead of all others")                    \
    X(LIMIT_LEAVES_IN_QUEUE, "an expired task stays in the queue")                                        \
    X(LIMIT_BEGINS_LATE, "a worker begins a task after its time to start")                                \
    X(LIMIT_KEEPS_OLD_TIME, "a start limit is not moved when its task is rescheduled to an earlier time") \
    X(LIMIT_SETS_OLD_TIME, "a start limit that is set again misses that the task was just rescheduled")   \
    X(OVERRUN_MEETS_NEXT, "the limit of a run outlives it and hits the next run")                         \
    X(STUCK_ROUNDS_STAY_IDLE, "a worker that begins a task does not wake the search for stuck workers")   \
    X(WRITE_OFF_IS_REVOKED, "a replaced worker forgets that at the end of its run")                       \
    X(POOL_FORGETS_WRITTEN_OFF, "a pool terminates while a replaced worker still runs")                   \
    X(NAMES_TRUST_ADDRESSES, "a name is taken for another that had the same address")                     \
    X(WORKER_STATS_SHARED, "a new worker writes into the statistics of another")                          \
    X(WORKER_STATS_LOST, "the measurements of a worker are lost when it ends")                            \
    X(WORKER_RECORD_READ_TORN, "a worker's current run is read while it changes")                         \
    X(REQUEST_IS_FORGOTTEN, "a dump requested while one is being written is forgotten")                   \
    HORA__ORDER_FAULT_LIST(X)

/* The faults as constants: HORA__FAULT_ and the name. */
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
