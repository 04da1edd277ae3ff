/* SPDX-License-Identifier: Apache-2.0 */
/* test_resources.c - simulated memory, threads, time and descriptors, and making them run out */
#include "simulator.h"

#include <poll.h>
#include <string.h>

#include <hora/error.h>

#include "sys/block.h"
#include "sys/clock.h"
#include "sys/event.h"

static void join_twice(void)
{
    hora__os_thread thread = start(do_nothing, NULL);
    hora__os_thread_join(thread);
    hora__os_thread_join(thread);
}

static void free_twice(void)
{
    void *block = hora__alloc(1, 8);
    hora__free(block);
    hora__free(block);
}

static void free_unknown(void)
{
    char *block = hora__alloc(1, 64);
    hora__free(block + 16);
}

static void write_after_free(void)
{
    char *block = hora__alloc(1, 64);
    hora__free(block);
    block[5] = 1;
}

static void write_past_the_end(void)
{
    char *block = hora__alloc(1, 5);
    block[5] = 1;
    hora__free(block);
}

/* With a sanitizer these are its business. */
PROOF(finds_misuse_of_memory)
{
    CHECK(RUN(join_twice, DEFAULT) == HORA__SIM_MISUSE);
    if (SANITIZED)
        return;
    CHECK(RUN(free_twice, DEFAULT) == HORA__SIM_MISUSE);
    CHECK(RUN(free_unknown, DEFAULT) == HORA__SIM_MISUSE);
    CHECK(RUN(write_after_free, DEFAULT) == HORA__SIM_MISUSE);
    CHECK(RUN(write_past_the_end, DEFAULT) == HORA__SIM_MISUSE);
}

static void write_to_resting_memory(void)
{
    struct hora__blocks blocks = {NULL, 0};
    char *block = hora__block_alloc(64);
    hora__blocks_push(&blocks, block);
    block[5] = 1;
    hora__blocks_free(&blocks);
}

static void use_blocks_again(void)
{
    struct hora__blocks blocks = {NULL, 0};
    void *kept[3];
    for (int i = 0; i < 3; i++) {
        kept[i] = hora__block_alloc(64);
        memset(kept[i], i, 64);
    }
    for (int i = 0; i < 3; i++)
        hora__blocks_push(&blocks, kept[i]);
    for (int i = 2; i >= 0; i--)
        MUST(hora__blocks_pop(&blocks) == kept[i]);
    MUST(hora__blocks_pop(&blocks) == NULL && blocks.count == 0);
    for (int i = 0; i < 3; i++)
        hora__block_free(kept[i]);
}

static void keeps(void)
{
    MUST(hora__keeps_memory());
}

PROOF(finds_use_of_memory_on_a_free_list)
{
    CHECK(RUN(use_blocks_again, DEFAULT) == HORA__SIM_PASSED);
    CHECK(RUN(keeps, DEFAULT, .recycles = true) == HORA__SIM_PASSED);
    CHECK(RUN(keeps, DEFAULT) == HORA__SIM_FAILED);
    if (SANITIZED)
        return;
    CHECK(RUN(write_to_resting_memory, DEFAULT) == HORA__SIM_MISUSE);
}

static void memory_is_zero(void)
{
    static const char zeros[1000];
    for (int i = 0; i < 3; i++) {
        char *block = hora__alloc(10, 100);
        MUST(memcmp(block, zeros, sizeof zeros) == 0);
        memset(block, 1, sizeof zeros);
        hora__free(block);
    }
    MUST(hora__alloc(SIZE_MAX / 2, 3) == NULL);
    hora__free(NULL);
}

PROOF(memory_comes_zeroed)
{
    CHECK(RUN(memory_is_zero, DEFAULT) == HORA__SIM_PASSED);
    CHECK(RUN(memory_is_zero, DEFAULT) == HORA__SIM_PASSED);
}

static int failed_allocations;

static void allocate_four(void)
{
    void *blocks[3];
    hora__mutex mutex;
    failed_allocations = 0;
    for (int i = 0; i < 3; i++) {
        blocks[i] = hora__alloc(1, 1);
        failed_allocations += blocks[i] == NULL;
    }
    int error = hora__mutex_init(&mutex, HORA__RANK_OBJECT);
    failed_allocations += error == HORA_ENOMEM;
    if (error == 0)
        hora__mutex_destroy(&mutex);
    for (int i = 0; i < 3; i++)
        hora__free(blocks[i]);
}

PROOF(the_nth_allocation_fails)
{
    for (int n = 0; n <= 5; n++) {
        CHECK(RUN(allocate_four, DEFAULT, .fail_allocation = n) == HORA__SIM_PASSED);
        CHECK(failed_allocations == (n >= 1 && n <= 4));
        CHECK(result.allocations == 4);
        CHECK(RUN(allocate_four, DEFAULT, .fail_allocation = n, .fail_from_then_on = true) ==
              HORA__SIM_PASSED);
        CHECK(failed_allocations == (n == 0 ? 0 : 5 - n));
    }
}

static int failed_starts;

static void start_three(void)
{
    hora__os_thread threads[3];
    bool started[3];
    failed_starts = 0;
    for (int i = 0; i < 3; i++) {
        int error = hora__os_thread_start(&(struct hora__thread_spec){.run = do_nothing}, &threads[i]);
        MUST(error == 0 || error == HORA_EAGAIN);
        started[i] = error == 0;
        failed_starts += error != 0;
    }
    for (int i = 0; i < 3; i++)
        if (started[i])
            hora__os_thread_join(threads[i]);
}

PROOF(the_nth_thread_start_fails)
{
    for (int n = 0; n <= 4; n++) {
        CHECK(RUN(start_three, DEFAULT, .fail_thread_start = n) == HORA__SIM_PASSED);
        CHECK(failed_starts == (n >= 1 && n <= 3));
        CHECK(result.thread_starts == 3);
        CHECK(RUN(start_three, DEFAULT, .fail_thread_start = n, .fail_from_then_on = true) ==
              HORA__SIM_PASSED);
        CHECK(failed_starts == (n == 0 ? 0 : 4 - n));
    }
}

static hora__atomic awake[3];

static void note_waking(void *number)
{
    int i = *(int *)number;
    int64_t due = BEGINNING + 10 * (i + 1) * SECOND;
    sleep_until(due);
    MUST(hora__now(HORA__MONOTONIC) == due);
    hora__atomic_store(&awake[i], 1);
    for (int j = 0; j < i; j++)
        MUST(hora__atomic_load(&awake[j]) == 1);
}

static void sleepers(void)
{
    int numbers[] = {0, 1, 2};
    hora__os_thread threads[3];
    MUST(hora__now(HORA__MONOTONIC) == BEGINNING);
    MUST(hora__now(HORA__BOOTTIME) > hora__now(HORA__MONOTONIC));
    MUST(hora__now(HORA__WALL) > hora__now(HORA__BOOTTIME));
    for (int i = 2; i >= 0; i--) {
        hora__atomic_init(&awake[i], 0);
        threads[i] = start(note_waking, &numbers[i]);
    }
    for (int i = 0; i < 100; i++)
        (void)hora__atomic_load(&word);
    MUST(hora__now(HORA__MONOTONIC) == BEGINNING);
    for (int i = 0; i < 3; i++)
        hora__os_thread_join(threads[i]);
}

static void sleepers_late(void)
{
    hora__os_thread sleeper = start(sleep_a_second, NULL);
    hora__os_thread_join(sleeper);
    int64_t now = hora__now(HORA__MONOTONIC);
    MUST(now >= BEGINNING + SECOND);
    outcomes[now > BEGINNING + SECOND] = true;
}

PROOF(time_moves_only_when_no_thread_can_run)
{
    CHECK(FIRST_FAILURE(sleepers, 500, .mode = HORA__SIM_RANDOM) == 0);
    CHECK(FIRST_FAILURE(sleepers, 500, .mode = HORA__SIM_PCT) == 0);
    CHECK(result.time_ns == BEGINNING + 30 * SECOND);
    memset(outcomes, 0, sizeof outcomes);
    CHECK(FIRST_FAILURE(sleepers_late, 200, .mode = HORA__SIM_RANDOM, .late = true) == 0);
    CHECK(outcomes[0] && outcomes[1]);
}

static bool polls_readable(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    return poll(&poll_fd, 1, 0) == 1;
}

void uses_descriptors(void)
{
    struct hora__event event;
    MUST(hora__event_init(&event) == 0);
    int timer = hora__timer_fd_new(HORA__WALL);
    MUST(!polls_readable(event.fd) && !polls_readable(timer));
    hora__event_set(&event, true);
    hora__event_set(&event, true);
    MUST(polls_readable(event.fd));
    hora__event_set(&event, false);
    MUST(!polls_readable(event.fd));
    hora__timer_fd_arm(timer, hora__now(HORA__WALL) + SECOND);
    sleep_until(BEGINNING + SECOND - 1);
    MUST(!polls_readable(timer));
    (void)hora__event_wait(&event, timer, -1);
    MUST(polls_readable(timer) && hora__now(HORA__MONOTONIC) == BEGINNING + SECOND);
    hora__timer_fd_arm(timer, INT64_MAX);
    MUST(!polls_readable(timer));
    hora__timer_fd_arm(timer, hora__now(HORA__WALL));
    MUST(polls_readable(timer));
    hora__event_set(&event, true);
    hora__timer_fd_free(timer);
    hora__event_destroy(&event);
}

PROOF(descriptors_can_be_polled)
{
    for (int i = 0; i < 3; i++)
        CHECK(RUN(uses_descriptors, DEFAULT) == HORA__SIM_PASSED);
}

static char ends[4]; /* in which order the guards were called */

static void note_end(void *arg)
{
    char *at = arg;
    size_t length = strlen(ends);
    ends[length] = *at;
}

static void exit_now(void *arg)
{
    (void)arg;
    hora__sim_exit_thread();
}

static void exit_inside(void *arg)
{
    hora__os_thread_guard(do_nothing, note_end, "c"); /* returns, so it is told nothing */
    hora__os_thread_guard(exit_now, note_end, "b");
    MUST(arg == NULL && false);
}

static void guarded(void *arg)
{
    hora__os_thread_guard(exit_inside, note_end, "a");
    MUST(arg == NULL && false);
}

static void exits_are_told(void)
{
    memset(ends, 0, sizeof ends);
    hora__os_thread_join(start(guarded, NULL));
    MUST(strcmp(ends, "ba") == 0);
}

PROOF(a_thread_that_exits_tells_its_guards)
{
    CHECK(RUN(exits_are_told, DEFAULT) == HORA__SIM_PASSED);
    CHECK(FIRST_FAILURE(exits_are_told, 50, .mode = HORA__SIM_RANDOM) == 0);
}
