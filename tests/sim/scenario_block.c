/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_block.c - memory of futures: handed from thread to thread, reused, and returned to the system
 *
 * In the simulator a chunk holds two blocks, and a list keeps one spare chunk. A block that is used after its
 * chunk was freed, a chunk that is freed twice and one that stays are reported by the simulator itself. */
#include <string.h>

#include "harness.h"
#include "sys/block.h"
#include "sys/free_list.h"

enum { SIZE = 64, PER_CHUNK = 2, BLOCKS = 3 * PER_CHUNK };

/* ---- a free list ---- */

/* Whether the library keeps memory in this schedule. */
static bool keeps(void)
{
    return hora__keeps_memory();
}

static struct hora__free_list list;
static void *memory[BLOCKS];
static uint16_t offsets[BLOCKS];

static void get_all(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        memory[i] = hora__free_list_get(&list, 0, &offsets[i]);
        CHECK(memory[i] != NULL);
        memset(memory[i], i, SIZE);
    }
}

/* Returns a block, and the number of chunks that this empties and that are freed. */
static int put(int i)
{
    const unsigned char *bytes = memory[i];
    CHECK(bytes[0] == i && memcmp(bytes, bytes + 1, SIZE - 1) == 0);
    struct hora__chunk *chunk = hora__free_list_put(&list, memory[i], offsets[i]);
    hora__chunk_free(chunk);
    return chunk != NULL;
}

SCENARIO(free_list_frees_empty_chunks)
{
    int freed = 0;
    hora__free_list_init(&list, SIZE, sizeof(void *), 1);
    get_all();
    for (int i = 0; i < BLOCKS; i++)
        freed += put(i);
    CHECK_INT(freed, keeps() ? BLOCKS / PER_CHUNK - 1 : BLOCKS);
    CHECK_INT(list.spare_count, keeps() ? 1 : 0);
    CHECK_INT(list.used_count, 0);
    hora__free_list_destroy(&list);
}

SCENARIO(free_list_reuses_blocks_of_chunks_in_use)
{
    hora__free_list_init(&list, SIZE, sizeof(void *), 0);
    get_all();
    int chunks = list.used_count;
    for (int i = 0; i < BLOCKS; i += PER_CHUNK) {
        CHECK_INT(put(i), keeps() ? 0 : 1);
        CHECK(hora__free_list_has_room(&list, 0) == keeps());
        void *before = memory[i];
        memory[i] = hora__free_list_get(&list, 0, &offsets[i]);
        CHECK(memory[i] == before || !keeps());
        memset(memory[i], i, SIZE);
        CHECK_INT(list.used_count, chunks);
    }
    for (int i = BLOCKS - 1; i >= 0; i--)
        (void)put(i);
    hora__free_list_destroy(&list);
}

/* ---- a source ---- */

static struct hora__block_source *source;

static void *get_block(struct hora__blocks *own)
{
    if (own->first == NULL)
        hora__blocks_fill(own, source, 1);
    void *block = own->first != NULL ? hora__blocks_pop(own) : hora__block_alloc(SIZE);
    CHECK(block != NULL);
    return block;
}

static void return_blocks(void *arg)
{
    hora__blocks_free(arg);
}

/* Fills a list with marked blocks. */
static void get_blocks(struct hora__blocks *blocks, int count)
{
    struct hora__blocks own = {NULL, 0};
    for (int i = 0; i < count; i++) {
        void *block = get_block(&own);
        memset(block, i, SIZE);
        hora__blocks_push(blocks, block);
    }
}

/* One thread returns blocks while another gets some, so that chunks become empty and are used again. */
SCENARIO(blocks_return_while_others_are_got)
{
    struct hora__blocks first = {NULL, 0};
    struct hora__blocks second = {NULL, 0};
    CHECK_OK(hora__block_source_new(SIZE, &source));
    get_blocks(&first, 3);
    test_thread *thread = test_thread_start(NULL, return_blocks, &first);
    get_blocks(&second, 3);
    test_thread_join(thread);
    hora__blocks_free(&second);
    hora__block_source_close(source);
}

/* Two threads get the first blocks of a source at the same time. */
static void get_and_return(void *arg)
{
    struct hora__blocks blocks = {NULL, 0};
    (void)arg;
    get_blocks(&blocks, 2);
    hora__blocks_free(&blocks);
}

SCENARIO(blocks_are_got_by_two)
{
    CHECK_OK(hora__block_source_new(SIZE, &source));
    test_thread *thread = test_thread_start(NULL, get_and_return, NULL);
    get_and_return(NULL);
    test_thread_join(thread);
    hora__block_source_close(source);
}

/* The last block returns before the source is closed, or after, by either of two threads. */
SCENARIO(blocks_outlive_the_owner_of_their_source)
{
    struct hora__blocks first = {NULL, 0};
    struct hora__blocks second = {NULL, 0};
    CHECK_OK(hora__block_source_new(SIZE, &source));
    get_blocks(&first, 1);
    get_blocks(&second, 2);
    test_thread *threads[] = {test_thread_start(NULL, return_blocks, &first),
                              test_thread_start(NULL, return_blocks, &second)};
    hora__block_source_close(source);
    test_thread_join(threads[0]);
    test_thread_join(threads[1]);
}

/* ---- futures ---- */

static int nothing(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

static void unref(void *arg)
{
    (void)hora_future_unref(arg);
}

/* A future is released while its pool ends, or later. */
MEDIUM_SCENARIO(future_memory_outlives_its_pool)
{
    hora_pool *pool;
    hora_future *futures[3];
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1), &pool, NULL));
    for (int i = 0; i < 3; i++)
        CHECK_OK(hora_pool_submit(pool, HORA_TASK(nothing, NULL), &futures[i]));
    test_thread *thread = test_thread_start(NULL, unref, futures[0]);
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    CHECK_OK(hora_pool_free(pool));
    (void)hora_future_unref(futures[1]);
    test_thread_join(thread);
    CHECK_OK(hora_future_get(futures[2], NULL));
    (void)hora_future_unref(futures[2]);
}

/* Futures of one pool are released by the worker of another, whose list then holds blocks of both. */
static int unref_in_worker(void *arg, void **ret_result)
{
    (void)ret_result;
    unref(arg);
    return 0;
}

LARGE_SCENARIO(future_memory_moves_between_pools)
{
    hora_pool *first, *second;
    hora_future *futures[4];
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1), &first, NULL));
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1), &second, NULL));
    for (int i = 0; i < 4; i++) {
        CHECK_OK(hora_pool_submit(first, HORA_TASK(nothing, NULL), &futures[i]));
        CHECK_OK(hora_pool_execute(second, HORA_TASK(unref_in_worker, futures[i])));
    }
    CHECK_OK(hora_pool_close_for(first, HORA_FOREVER));
    CHECK_OK(hora_pool_free(first));
    CHECK_OK(hora_pool_close_for(second, HORA_FOREVER));
    CHECK_OK(hora_pool_free(second));
}

/* ---- without memory ---- */

SWEEP(blocks_survive)
{
    struct hora__blocks blocks = {NULL, 0};
    if (hora__block_source_new(SIZE, &source) < 0)
        return;
    for (int i = 0; i < BLOCKS; i++) {
        struct hora__blocks own = {NULL, 0};
        hora__blocks_fill(&own, source, 1);
        void *block = own.first != NULL ? hora__blocks_pop(&own) : hora__block_alloc(SIZE);
        if (block != NULL)
            hora__blocks_push(&blocks, block);
    }
    hora__block_source_close(source);
    hora__blocks_free(&blocks);
}
