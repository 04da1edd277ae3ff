/* SPDX-License-Identifier: Apache-2.0 */
/* test_block.c - blocks of a source: got and returned by many threads, also when the source is closed */
#include <string.h>

#include "harness.h"
#include "sys/block.h"

enum { SIZE = 200, BATCH = 32, HELD = 4000, ROUNDS = 300, THREADS = 4 };

static struct hora__block_source *source;

/* Gets `count` blocks and writes to all of them. */
static void get(void **blocks, int count, int mark)
{
    struct hora__blocks some = {NULL, 0};
    for (int i = 0; i < count; i++) {
        if (some.first == NULL)
            hora__blocks_fill(&some, source, BATCH);
        CHECK(some.first != NULL && some.count <= BATCH);
        blocks[i] = hora__blocks_pop(&some);
        CHECK_INT((uintptr_t)blocks[i] % 8, 0);
        memset(blocks[i], mark, SIZE);
    }
    hora__blocks_free(&some);
}

/* Checks that no other thread has written to the blocks, and returns them in batches. */
static void put(void **blocks, int count, int mark)
{
    struct hora__blocks some = {NULL, 0};
    for (int i = 0; i < count; i++) {
        const unsigned char *bytes = blocks[i];
        CHECK(bytes[0] == mark && memcmp(bytes, bytes + 1, SIZE - 1) == 0);
        hora__blocks_push(&some, blocks[i]);
        if (some.count == BATCH)
            hora__blocks_free(&some);
    }
    hora__blocks_free(&some);
    CHECK_INT(some.count, 0);
}

TEST_REAL(blocks_of_a_source_are_apart, "")
{
    static void *blocks[HELD];
    CHECK_OK(hora__block_source_new(SIZE, &source));
    for (int round = 0; round < 3; round++) {
        get(blocks, HELD, round + 1);
        put(blocks, HELD, round + 1);
    }
    hora__block_source_close(source);
}

/* A list may hold blocks of two sources and of none. */
TEST_REAL(blocks_return_to_where_they_came_from, "")
{
    struct hora__blocks mixed = {NULL, 0};
    struct hora__block_source *sources[2];
    struct hora__blocks parts[2] = {{NULL, 0}, {NULL, 0}};
    for (int i = 0; i < 2; i++)
        CHECK_OK(hora__block_source_new(SIZE, &sources[i]));
    for (int i = 0; i < 2 * BATCH; i++) {
        struct hora__blocks *part = &parts[i % 2];
        if (part->first == NULL)
            hora__blocks_fill(part, sources[i % 2], BATCH);
        hora__blocks_push(&mixed, hora__blocks_pop(part));
        hora__blocks_push(&mixed, hora__block_alloc(SIZE));
    }
    hora__blocks_free(&parts[0]);
    hora__blocks_free(&parts[1]);
    hora__block_source_close(sources[0]);
    hora__blocks_free(&mixed); /* the last one of the first source frees that source */
    hora__block_source_close(sources[1]);
}

/* The parts together have each block once. */
TEST_REAL(blocks_split_in_two, "")
{
    for (int count = 1; count <= BATCH; count++) {
        struct hora__blocks all = {NULL, 0}, part = {NULL, 0};
        void *in_order[BATCH];
        for (int i = BATCH - 1; i >= 0; i--) {
            in_order[i] = hora__block_alloc(SIZE);
            hora__blocks_push(&all, in_order[i]);
        }
        hora__blocks_split(&all, count, &part);
        CHECK(part.count == count && all.count == BATCH - count);
        for (int i = 0; i < BATCH; i++) {
            void *block = hora__blocks_pop(i < count ? &part : &all);
            CHECK(block == in_order[i]);
            hora__block_free(block);
        }
        CHECK(part.first == NULL && all.first == NULL);
    }
}

static void churn(void *arg)
{
    static _Thread_local void *blocks[HELD / THREADS];
    int mark = *(int *)arg;
    for (int round = 0; round < ROUNDS; round++) {
        int count = 1 + (round * 37 + mark * 11) % (HELD / THREADS);
        get(blocks, count, mark);
        put(blocks, count, mark);
    }
}

TEST_REAL(blocks_belong_to_one_thread_at_a_time, "")
{
    static int marks[THREADS];
    test_thread *threads[THREADS];
    CHECK_OK(hora__block_source_new(SIZE, &source));
    for (int i = 0; i < THREADS; i++) {
        marks[i] = i + 1;
        threads[i] = test_thread_start(NULL, churn, &marks[i]);
    }
    for (int i = 0; i < THREADS; i++)
        test_thread_join(threads[i]);
    hora__block_source_close(source);
}

static void *handed_over[THREADS][HELD / THREADS];

static void return_late(void *arg)
{
    put(arg, HELD / THREADS, 7);
}

/* Several threads return the last blocks of a source while its owner closes it. */
TEST_REAL(blocks_outlive_the_owner_of_their_source, "")
{
    test_thread *threads[THREADS];
    for (int round = 0; round < ROUNDS / 10; round++) {
        CHECK_OK(hora__block_source_new(SIZE, &source));
        for (int i = 0; i < THREADS; i++)
            get(handed_over[i], HELD / THREADS, 7);
        for (int i = 0; i < THREADS; i++)
            threads[i] = test_thread_start(NULL, return_late, handed_over[i]);
        hora__block_source_close(source);
        for (int i = 0; i < THREADS; i++)
            test_thread_join(threads[i]);
    }
}
