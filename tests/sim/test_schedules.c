/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedules.c - the simulator's schedules: found in every mode, repeated exactly, all counted */
#include "simulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/clock.h"
#include "sys/futex.h"

/* The waker changes a flag. The waiter reads the flag and then sleeps on another word, so the wake-up may
 * come in between and be lost. */
static void set_flag_and_wake(void *arg)
{
    (void)arg;
    hora__atomic_store(&flag, 1);
    hora__futex_wake(&word);
}

static void loses_wakeup(void)
{
    hora__atomic_init(&flag, 0);
    hora__atomic_init(&word, 0);
    hora__os_thread waker = start(set_flag_and_wake, NULL);
    while (hora__atomic_load(&flag) == 0)
        hora__futex_wait(&word, 0, HORA__MONOTONIC, INT64_MAX);
    hora__os_thread_join(waker);
}

static void check_lost_wakeup(void)
{
    CHECK(result.verdict == HORA__SIM_LOST_WAKEUP);
    CHECK(strstr(result.message, "thread 0 sleeps on futex") != NULL);
}

PROOF(finds_a_lost_wakeup_in_every_mode)
{
    CHECK(FIRST_FAILURE(loses_wakeup, 1000, .mode = HORA__SIM_RANDOM) > 0);
    check_lost_wakeup();
    CHECK(FIRST_FAILURE(loses_wakeup, 1000, .mode = HORA__SIM_PCT) > 0);
    check_lost_wakeup();
    CHECK(FIRST_FAILURE(loses_wakeup, 1000, .mode = HORA__SIM_DFS, .bound = 1) > 0);
    check_lost_wakeup();
    CHECK(FIRST_FAILURE(loses_wakeup, 1000, .mode = HORA__SIM_DFS, .bound = 0) == 0);
}

PROOF(finds_nothing_in_a_right_program)
{
    CHECK(FIRST_FAILURE(wakes, 1000, .mode = HORA__SIM_RANDOM, .spurious = true, .late = true) == 0);
    CHECK(FIRST_FAILURE(wakes, 1000, .mode = HORA__SIM_PCT, .spurious = true, .late = true) == 0);
    CHECK(FIRST_FAILURE(wakes, 100000, .mode = HORA__SIM_DFS, .bound = 4, .spurious = true) == 0);
}

/* True if the last run, repeated from its text, gives the same visible results. */
static bool repeats(void (*body)(void), struct hora__sim_options options)
{
    struct hora__sim_result before = result;
    char *text = strdup(result.schedule);
    options.mode = HORA__SIM_REPLAY;
    options.schedule = text;
    bool same = run(body, options) == before.verdict && strcmp(result.schedule, text) == 0 &&
                strcmp(result.message, before.message) == 0 && result.steps == before.steps &&
                result.switches == before.switches && result.wakeups == before.wakeups &&
                result.time_ns == before.time_ns;
    free(text);
    return same;
}

static void sleep_and_lock(void *seconds)
{
    for (int i = 0; i < 3; i++) {
        sleep_until(hora__now(HORA__MONOTONIC) + *(int *)seconds * SECOND);
        hora__mutex_lock(&low);
        hora__mutex_unlock(&low);
    }
}

/* Some of everything: sleepers, locks, a random number that is part of the outcome. */
static void busy_program(void)
{
    int seconds[] = {1, 2, 3};
    hora__os_thread threads[3];
    init_locks();
    for (int i = 0; i < 3; i++)
        threads[i] = start(sleep_and_lock, &seconds[i]);
    for (int i = 0; i < 3; i++)
        hora__os_thread_join(threads[i]);
    sleep_until(hora__now(HORA__MONOTONIC) + (int64_t)(hora__sim_random() % 1000));
    destroy_locks();
}

PROOF(replay_repeats_a_run)
{
    for (uint64_t seed = 1; seed <= 200; seed++)
        for (int mix = 0; mix < 8; mix++) {
            struct hora__sim_options options = {.mode = mix & 1 ? HORA__SIM_PCT : HORA__SIM_RANDOM,
                                                .seed = seed,
                                                .depth = 3,
                                                .spurious = (mix & 2) != 0,
                                                .late = (mix & 4) != 0};
            CHECK(run(busy_program, options) == HORA__SIM_PASSED);
            CHECK(repeats(busy_program, options));
            (void)run(loses_wakeup, options);
            CHECK(repeats(loses_wakeup, options));
        }
}

PROOF(replay_repeats_a_search)
{
    struct hora__sim_options options = {.mode = HORA__SIM_DFS, .bound = 1};
    CHECK(first_failure(loses_wakeup, options, 1000) > 0);
    CHECK(repeats(loses_wakeup, options));
}

static void many_threads(void)
{
    hora__os_thread threads[60];
    for (int i = 0; i < 60; i++)
        threads[i] = start(sleep_a_second, NULL);
    for (int i = 0; i < 60; i++)
        hora__os_thread_join(threads[i]);
}

PROOF(replay_knows_choices_among_many)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        CHECK(RUN(many_threads, .mode = HORA__SIM_RANDOM, .seed = seed) == HORA__SIM_PASSED);
        CHECK(strchr(result.schedule, 'z') != NULL);
        CHECK(repeats(many_threads, (struct hora__sim_options){.seed = seed}));
    }
}

PROOF(replay_refuses_what_is_no_schedule)
{
    CHECK(RUN(wakes, .mode = HORA__SIM_REPLAY, .schedule = "3a?") == HORA__SIM_MISUSE);
    CHECK(RUN(wakes, .mode = HORA__SIM_REPLAY, .schedule = "9999999999999999999") == HORA__SIM_MISUSE);
    CHECK(RUN(wakes, .mode = HORA__SIM_REPLAY, .schedule = "y") ==
          HORA__SIM_MISUSE); /* no 25 threads there */
    CHECK(RUN(wakes, DEFAULT) == HORA__SIM_PASSED);
}

PROOF(a_seed_gives_the_same_schedule_twice)
{
    int different = 0;
    char before[10000] = "";
    for (uint64_t seed = 1; seed <= 100; seed++)
        for (int mode = HORA__SIM_RANDOM; mode <= HORA__SIM_PCT; mode++) {
            char first[10000];
            hora__sim_dfs_reset();
            (void)RUN(busy_program, .mode = (enum hora__sim_mode)mode, .seed = seed, .depth = 3,
                      .late = true);
            (void)snprintf(first, sizeof first, "%s", result.schedule);
            hora__sim_dfs_reset();
            (void)RUN(busy_program, .mode = (enum hora__sim_mode)mode, .seed = seed, .depth = 3,
                      .late = true);
            CHECK(strcmp(first, result.schedule) == 0);
            different += strcmp(first, before) != 0;
            memcpy(before, first, sizeof before);
        }
    CHECK(different > 150);
}

/* Two threads, each with `loads` calls and nothing else. The schedules correspond to the words of `loads`
 * letters M and `loads` letters C. */
static int loads;

static void load_often(void *arg)
{
    (void)arg;
    for (int i = 0; i < loads; i++)
        (void)hora__atomic_load(&word);
}

static void two_loaders(void)
{
    hora__os_thread other = start(load_often, NULL);
    load_often(NULL);
    hora__os_thread_join(other);
}

/* The number of words in which the running thread is preempted at most `bound` times. The set bits of
 * `word_bits` stand for the other thread. The first thread runs first. */
static long count_words(int length, int bound)
{
    long count = 0;
    for (unsigned word_bits = 0; word_bits < 1u << 2 * length; word_bits++) {
        int left[2] = {length, length};
        unsigned runs = 0;
        int preemptions = 0;
        if (__builtin_popcount(word_bits) != length)
            continue;
        for (int i = 0; i < 2 * length; i++) {
            unsigned next = word_bits >> i & 1;
            preemptions += next != runs && left[runs] > 0;
            runs = next;
            left[runs]--;
        }
        count += preemptions <= bound;
    }
    return count;
}

PROOF(dfs_counts_every_interleaving_once)
{
    for (loads = 1; loads <= 5; loads++)
        for (int bound = 0; bound <= 10; bound++)
            CHECK(COUNT(two_loaders, .bound = bound) == count_words(loads, bound));
}

/* Both write their own word, then read the other's: at least one must see the other's. */
static int seen[2];

static void write_own_read_other(void *arg)
{
    (void)arg;
    hora__atomic_store(&word, 1);
    seen[1] = hora__atomic_load(&flag);
}

static void store_buffering(void)
{
    hora__atomic_init(&word, 0);
    hora__atomic_init(&flag, 0);
    hora__os_thread other = start(write_own_read_other, NULL);
    hora__atomic_store(&flag, 1);
    seen[0] = hora__atomic_load(&word);
    hora__os_thread_join(other);
    outcomes[2 * seen[0] + seen[1]] = true;
}

PROOF(dfs_sees_all_sequentially_consistent_outcomes)
{
    memset(outcomes, 0, sizeof outcomes);
    CHECK(COUNT(store_buffering, .bound = 10) == 6); /* 4 over 2 */
    CHECK(!outcomes[0] && outcomes[1] && outcomes[2] && outcomes[3]);
}

static void one_timed_wait(void)
{
    hora__atomic_init(&word, 0);
    hora__futex_wait(&word, 0, HORA__MONOTONIC, hora__now(HORA__MONOTONIC) + SECOND);
}

PROOF(dfs_branches_over_spurious_returns)
{
    CHECK(COUNT(one_timed_wait, .bound = 1) == 1);
    CHECK(COUNT(one_timed_wait, .bound = 0, .spurious = true) == 1);
    CHECK(COUNT(one_timed_wait, .bound = 1, .spurious = true) == 2);
    CHECK(result.wakeups == 1);
}

static void one_sleeper(void)
{
    hora__atomic_init(&word, 0);
    hora__os_thread sleeper = start(sleep_a_second, NULL);
    int64_t before = hora__now(HORA__MONOTONIC);
    (void)hora__atomic_load(&word);
    if (hora__now(HORA__MONOTONIC) > before)
        outcomes[0] = true;
    hora__os_thread_join(sleeper);
}

PROOF(dfs_branches_over_time_passing)
{
    outcomes[0] = false;
    (void)COUNT(one_sleeper, .bound = 4);
    CHECK(!outcomes[0]);
    (void)COUNT(one_sleeper, .bound = 2, .late = true);
    CHECK(outcomes[0]);
}

static hora__atomic woken_first;

static void sleep_and_report(void *number)
{
    hora__futex_wait(&word, 0, HORA__MONOTONIC, INT64_MAX);
    (void)hora__atomic_cas(&woken_first, 0, *(int *)number);
    hora__futex_wake(&word);
}

static void wake_one_of_two(void)
{
    int numbers[] = {1, 2};
    hora__atomic_init(&word, 0);
    hora__atomic_init(&woken_first, 0);
    hora__os_thread a = start(sleep_and_report, &numbers[0]);
    hora__os_thread b = start(sleep_and_report, &numbers[1]);
    sleep_until(BEGINNING + SECOND); /* both sleep by then */
    hora__futex_wake(&word);
    hora__os_thread_join(a);
    hora__os_thread_join(b);
    outcomes[hora__atomic_load(&woken_first)] = true;
}

PROOF(dfs_branches_over_who_is_woken)
{
    memset(outcomes, 0, sizeof outcomes);
    (void)COUNT(wake_one_of_two, .bound = 0);
    CHECK(outcomes[1] && outcomes[2]);
}

static int remembered;

static void does_not_repeat_itself(void)
{
    loads = 1 + remembered++ % 3;
    two_loaders();
}

PROOF(dfs_notices_a_program_that_does_not_repeat_itself)
{
    CHECK(FIRST_FAILURE(does_not_repeat_itself, 100, .mode = HORA__SIM_DFS, .bound = 3) > 0);
    CHECK(result.verdict == HORA__SIM_MISUSE);
}

static uint64_t drawn[3];

static void draw_three(void)
{
    hora__os_thread other = start(load_often, NULL);
    for (int i = 0; i < 3; i++) {
        drawn[i] = hora__sim_random();
        (void)hora__atomic_load(&word);
    }
    hora__os_thread_join(other);
}

PROOF(random_numbers_come_from_the_seed_alone)
{
    uint64_t before[3];
    (void)RUN(draw_three, .mode = HORA__SIM_RANDOM, .seed = 7);
    memcpy(before, drawn, sizeof before);
    (void)RUN(draw_three, .mode = HORA__SIM_PCT, .seed = 7, .late = true);
    CHECK(memcmp(before, drawn, sizeof before) == 0);
    (void)RUN(draw_three, .mode = HORA__SIM_RANDOM, .seed = 8);
    CHECK(memcmp(before, drawn, sizeof before) != 0);
}

PROOF(wakeups_are_counted)
{
    CHECK(RUN(wakes, DEFAULT) == HORA__SIM_PASSED);
    /* Without preemptions the waiter waits. */
    CHECK(result.wakeups == 1);
    CHECK(RUN(wakes, .mode = HORA__SIM_REPLAY, .schedule = "a") == HORA__SIM_PASSED);
    CHECK(result.wakeups == 0); /* the waker runs to its end first */
}
