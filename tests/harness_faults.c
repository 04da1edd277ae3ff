/* SPDX-License-Identifier: Apache-2.0 */
/* harness_faults.c - the planted faults of base/fault.h: their names, and the tests that find them */
#include "harness_faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *fault_name(enum hora__fault fault)
{
    static const char *const names[] = {[HORA__FAULT_NONE] = "NONE",
#define FAULT_NAME(name, text) [HORA__FAULT_##name] = #name,
                                        HORA__FAULT_LIST(FAULT_NAME)
#undef FAULT_NAME
    };
    return names[fault];
}

enum hora__fault fault_called(const char *name)
{
    for (int fault = 0; fault < HORA__FAULT_COUNT; fault++)
        if (name != NULL && strcmp(fault_name((enum hora__fault)fault), name) == 0)
            return (enum hora__fault)fault;
    fprintf(stderr, "--fault needs a name from src/base/fault.h\n");
    exit(2);
}

bool fault_is_of_order(enum hora__fault fault)
{
    switch (fault) {
#define FAULT_CASE(name, text) case HORA__FAULT_##name:
        HORA__ORDER_FAULT_LIST(FAULT_CASE)
#undef FAULT_CASE
        return true;
    default:
        return false;
    }
}

/* Tests that find a fault which few others find, so that --faults need not run all tests for it. */
static const struct {
    enum hora__fault fault;
    const char *test;
} shown_by[] = {
    {HORA__FAULT_TIMED_LOOKS_TOO_SOON, "timed_put_meets_polls"},
    {HORA__FAULT_FUTURE_NAME_UNLOCKED, "names_are_told_while_the_task_is_cancelled"},
    {HORA__FAULT_POOL_STRANDED_UNSEEN, "stranded_pool_is_quiet_in_the_end"},
    {HORA__FAULT_FUTURE_WAITS_UNATTENDED, "stranded_submitters_with_a_core"},
    {HORA__FAULT_LANE_FLOOR_UNSAID, "lanes_post_is_not_overtaken"},
    {HORA__FAULT_LANE_LOOKS_TOO_SOON, "lanes_post_meets_sleeper"},
    {HORA__FAULT_SCHEDULER_NO_RECHECK, "scheduler_due_task_meets_stop"},
    {HORA__FAULT_SERIES_NO_RECHECK, "overlap_cancel_interrupts_member"},
    {HORA__FAULT_CLOCK_SET_BACK_UNSEEN_BY_RUN, "clocks_set_back_meets_put_back"},
    {HORA__FAULT_ZONES_REFRESH_UNSEEN_BY_RUN, "zones_refresh_meets_put_back"},
    {HORA__FAULT_ZONES_REFRESH_UNSEEN_BY_NEWCOMER, "zones_refresh_meets_newcomer"},
    {HORA__FAULT_SERIES_FORGETS_RETIME, "series_returns_the_general_way_and_is_retimed"},
    {HORA__FAULT_SERIES_BEGINS_PAUSED, "reschedule_retime_meets_the_last_run_of_a_count"},
    {HORA__FAULT_SERIES_RETURNS_CANCELLED, "reschedule_pause_meets_cancel"},
    {HORA__FAULT_SERIES_COUNTS_UNBEGUN, "series_cancel_meets_put_back"},
    {HORA__FAULT_TIMER_QUEUE_LAX_OVERTAKES, "schedule_with_slack_keeps_the_order"},
    {HORA__FAULT_TIMER_QUEUE_LAX_LOSES_SLOT, "series_with_slack_return_beside_a_precise_one"},
    {HORA__FAULT_OVERLAP_RUNS_AFTER_CANCEL, "overlap_cancel_meets_member"},
    {HORA__FAULT_LOCK_FORGETS_SLEEPERS, "word_lock_lets_three_pass"},
    {HORA__FAULT_CHUNK_IS_NEVER_FREED, "free_list_frees_empty_chunks"},
    {HORA__FAULT_CHUNK_ROOM_UNSEEN, "free_list_reuses_blocks_of_chunks_in_use"},
    {HORA__FAULT_TIMER_QUEUE_SHOWN_TOO_SOON, "schedule_detached_meets_a_look"},
    {HORA__FAULT_DETACHED_WAKES_NO_WORKER, "schedule_detached_is_punctual"},
    {HORA__FAULT_TIMER_GOES_UNHEARD, "timer_cancel_meets_a_quiescer"},
    {HORA__FAULT_TIMER_CANCEL_FORGETS_LANE, "timer_cancel_meets_a_quiescer"},
    {HORA__FAULT_ZONE_GOES_BACK, "refreshes_at_the_same_time"},
    {HORA__FAULT_GROWTH_SLEEPS_TOO_SOON, "growth_wakes_again"},
    {HORA__FAULT_EXPLAIN_POOL_UNREFERENCED, "explain_meets_the_end_of_its_pool"},
    {HORA__FAULT_DUMP_COUNTS_WORKERS_ONCE, "dump_meets_new_workers"},
    {HORA__FAULT_REGISTRAR_REVIVES_CANCELLED, "registrar_cancel_meets_bind"},
    {HORA__FAULT_REGISTRAR_MISSES_LATECOMER, "registrar_add_meets_bind"},
    {HORA__FAULT_REGISTRAR_FORGETS_EARLY_END, "registrar_bind_meets_the_end_of_the_scheduler"},
    {HORA__FAULT_REGISTRAR_BINDS_AFTER_CLOSE, "registrar_bind_meets_close"},
    {HORA__FAULT_CANCEL_TELLS_TOO_LATE, "lanes_bare_cancel_meets_quiesce"},
    {HORA__FAULT_POOL_EXECUTE_HAS_NO_REFERENCE, "execute_with_hook_goes_on_after_the_end"},
    {HORA__FAULT_POOL_FAILED_START_LEAVES_TASK, "stranded_submitter_meets_shutdown"},
    {HORA__FAULT_GROUP_RESERVES_WHILE_AWAITED, "group_of_a_pool_grows_while_it_is_awaited"},
    {HORA__FAULT_GROUP_WAITS_FOR_RESERVED, "group_of_a_pool_ends_with_one"},
    {HORA__FAULT_MEMBER_LEAVES_LAST_UNLOCKED, "group_of_a_pool_ends_with_one"},
    {HORA__FAULT_MEMBER_LEAVES_UNWATCHED, "group_of_a_pool_cancel_meets_the_end_of_one"},
    {HORA__FAULT_WALK_VISITS_UNPLACED, "group_of_a_pool_cancel_meets_submit"},
    {HORA__FAULT_MEMBER_LEFT_RELAXED, "group_of_a_pool_ends_with_one"},
    {HORA__FAULT_COMPLETION_LEAVES_SEAT_FIRST, "completion_of_a_pool_meets_free"},
    {HORA__FAULT_COMPLETION_FREED_WITH_SEATS, "completion_of_a_pool_meets_free"},
    {HORA__FAULT_COMPLETION_TRIES_ONCE, "completion_of_two_meets_a_queue_for_one"},
    {HORA__FAULT_LANE_BELOW_FLOOR, "lanes_post_is_not_overtaken"},
    {HORA__FAULT_SCHEDULER_LOSES_LATECOMER, "scheduler_schedule_by_rules_meets_shutdown_without_core"},
    {HORA__FAULT_POOL_QUEUE_UNREFERENCED, "explain_meets_the_end_of_its_queue"},
    {HORA__FAULT_WORKER_RECORD_READ_TORN, "what_a_worker_runs_is_read_whole"},
    {HORA__FAULT_BOOKS_READ_RELAXED, "pool_quiesce_sees_what_a_task_brings"},
    {HORA__FAULT_BOOKS_FINISHED_RELAXED, "pool_quiesce_sees_what_a_task_brings"},
    {HORA__FAULT_MEASURES_READ_RELAXED, "measures_are_read_while_they_are_written"},
    {HORA__FAULT_MEASURES_ENDED_RELAXED, "measures_are_read_while_they_are_written"},
    {HORA__FAULT_HISTOGRAM_READ_RELAXED, "measures_of_workers_that_come_and_go"},
    {HORA__FAULT_STATS_READ_RELAXED, "pool_stats_know_that_what_ended_came"},
    {HORA__FAULT_LOCK_TAKEN_RELAXED, "order_of_word_lock"},
    {HORA__FAULT_LOCK_RELEASED_RELAXED, "order_of_word_lock"},
    {HORA__FAULT_LOCK_SLEPT_RELAXED, "order_of_word_lock"},
    {HORA__FAULT_FUTURE_STATE_RELAXED, "order_of_promise"},
    {HORA__FAULT_FUTURE_READ_RELAXED, "order_of_promise"},
    {HORA__FAULT_CLAIMS_OFFERED_RELAXED, "order_of_claims"},
    {HORA__FAULT_CLAIMS_TAKEN_RELAXED, "order_of_claims"},
    {HORA__FAULT_TIMER_ENDS_RELAXED, "order_of_timer"},
    {HORA__FAULT_NAME_ADDED_RELAXED, "names_that_two_bring_are_one"},
    {HORA__FAULT_NAME_READ_RELAXED, "names_that_two_bring_are_one"},
    {HORA__FAULT_WORKER_RECORD_READ_RELAXED, "what_a_worker_runs_is_read_whole"},
    {HORA__FAULT_WORKER_RECORD_NOTED_RELAXED, "what_a_worker_runs_is_read_whole"},
    {HORA__FAULT_NAME_CACHE_READ_RELAXED, "names_that_two_bring_are_one"},
    {HORA__FAULT_WORKER_STATS_READ_RELAXED, "measures_are_read_while_they_are_written"},
    {HORA__FAULT_HISTOGRAM_RECORDED_RELAXED, "measures_of_workers_that_come_and_go"},
    {HORA__FAULT_REQUESTS_CLOSE_RELAXED, "request_during_a_dump"},
    {HORA__FAULT_TIMED_LIMIT_UNORDERED, "delay_lead_passes_when_leader_is_interrupted"},
    {HORA__FAULT_TIMED_LIMIT_READ_UNORDERED, "delay_lead_passes_when_leader_is_interrupted"},
    {HORA__FAULT_TIMED_SOONEST_UNORDERED, "delay_lead_passes_when_leader_is_interrupted"},
    {HORA__FAULT_TIMED_SOONEST_READ_UNORDERED, "delay_lead_passes_when_leader_is_interrupted"},
    {HORA__FAULT_LANE_LEFT_RELAXED, "lanes_cancel_meets_free"},
    {HORA__FAULT_LANE_CLOSED_RELAXED, "lanes_cancel_meets_free"},
    {HORA__FAULT_CLOCK_FORGETS_SETTLER, "clock_is_freed_while_a_thread_leaves_settle"},
    {HORA__FAULT_LIMIT_KEEPS_OLD_TIME, "limits_follow_a_task_that_is_retimed_to_an_earlier_time"},
    {HORA__FAULT_LIMIT_SETS_OLD_TIME, "limit_of_a_scheduled_task_meets_reschedule"},
    {HORA__FAULT_INTERRUPT_SET_RELAXED, "order_of_interrupt"},
    {HORA__FAULT_INTERRUPT_READ_RELAXED, "order_of_interrupt"},
    {HORA__FAULT_OWN_SHOWN_TOO_SOON, "own_insert_meets_show"},
    {HORA__FAULT_OWN_CLOSED_UNSEEN, "own_insert_meets_the_end_of_the_pool"},
    {HORA__FAULT_OWN_POPS_IN_TWO_STEPS, "own_pop_of_the_last_task_meets_steal"},
    {HORA__FAULT_OWN_WAKES_NO_THIEF, "own_insert_meets_sleep"},
    {HORA__FAULT_OWN_LOOKS_TOO_SOON, "own_insert_meets_sleep"},
    {HORA__FAULT_OWN_FORGOTTEN, "own_insert_meets_the_end_of_the_pool"},
};

const char *fault_shown_by(enum hora__fault fault)
{
    for (size_t i = 0; i < sizeof shown_by / sizeof shown_by[0]; i++)
        if (shown_by[i].fault == fault)
            return shown_by[i].test;
    return NULL;
}
