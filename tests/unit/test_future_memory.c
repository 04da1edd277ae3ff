/* SPDX-License-Identifier: Apache-2.0 */
/* test_future_memory.c - reuse of the memory of futures, by threads and by the shared free list
 *
 * future_memory.c says how much a thread and a shared free list keep at most. The tests use a pool that is
 * not used otherwise. */
#include <string.h>

#include "exec/future_memory.h"
#include "exec/pool.h"
#include "harness.h"

enum {
    BATCH = 32,
    KEPT = 2,
    MOST = 16,
    SIZE = sizeof(struct hora__seated),
    THREADS = 4,
    ROUNDS = 20000,
    HELD = 100
};

static hora_pool *pool;

static void open_pool(int threads)
{
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = threads), &pool, NULL));
}

static void *new_block(void)
{
    void *block = hora__block_alloc(SIZE);
    CHECK(block != NULL);
    return block;
}

static void put(int count)
{
    for (int i = 0; i < count; i++)
        hora__future_memory_put(HORA__BLOCK_PLAIN_FUTURE, new_block());
}

static struct hora__blocks *own_free_list(void)
{
    hora_thread *thread;
    CHECK_OK(hora__thread_current(&thread));
    return &thread->free_blocks[HORA__BLOCK_PLAIN_FUTURE];
}

static int shared_free_list_count(void)
{
    return hora__atomic_load(&pool->shared_free_list.count);
}

/* Called in a new thread of the test: it keeps nothing yet, and everything that it keeps is freed with it. */
static void in_thread(void (*run)(void *arg))
{
    test_thread_join(test_thread_start(NULL, run, NULL));
}

/* In a worker of the pool, which keeps little. */
static int call(void *arg, void **ret_result)
{
    (void)ret_result;
    void (**run)(void) = arg;
    (*run)();
    return 0;
}

static void in_worker(void (*run)(void))
{
    hora_future *future;
    CHECK_OK(hora_pool_submit(pool, HORA_TASK(call, &run), &future));
    CHECK_OK(hora_future_get(future, NULL));
    (void)hora_future_unref(future);
}

/* ---- a thread's own ---- */

static void check_order(void *arg)
{
    (void)arg;
    void *blocks[BATCH];
    for (int i = 0; i < BATCH; i++)
        blocks[i] = new_block();
    for (int i = 0; i < BATCH; i++)
        hora__future_memory_put(HORA__BLOCK_PLAIN_FUTURE, blocks[i]);
    CHECK_POINTER(hora__thread_existing()->free_blocks[HORA__BLOCK_SCHEDULED_FUTURE].first,
                  NULL); /* that is other memory */
    for (int i = BATCH - 1; i >= 0; i--) {
        CHECK_POINTER(hora__future_memory_get(HORA__BLOCK_PLAIN_FUTURE, SIZE), blocks[i]);
        memset(blocks[i], i, SIZE);
    }
    CHECK_POINTER(hora__thread_existing()->free_blocks[HORA__BLOCK_PLAIN_FUTURE].first, NULL);
    for (int i = 0; i < BATCH; i++)
        hora__block_free(blocks[i]);
}

TEST_REAL(free_blocks_come_back_in_the_opposite_order, "")
{
    in_thread(check_order);
}

static void check_limit(void *arg)
{
    (void)arg;
    put(BATCH);
    CHECK_INT(own_free_list()->count, BATCH);
    put(1);
    CHECK_INT(own_free_list()->count, 1);
}

TEST_REAL(free_blocks_of_a_thread_without_a_pool_are_limited, "")
{
    in_thread(check_limit);
}

static void check_exhaustion(void *arg)
{
    (void)arg;
    put(1);
    void *kept = hora__future_memory_get(HORA__BLOCK_PLAIN_FUTURE, SIZE);
    void *made = hora__future_memory_get(HORA__BLOCK_PLAIN_FUTURE, SIZE);
    void *other = hora__shared_free_list_get(&pool->shared_free_list, HORA__BLOCK_PLAIN_FUTURE, SIZE);
    CHECK(kept != NULL && made != NULL && other != NULL && kept != made && made != other);
    CHECK_INT(hora__block_header(made)->offset, 0); /* an allocation of its own */
    CHECK(hora__block_header(other)->offset != 0);  /* of the pool's source, with the rest of a batch */
    CHECK(own_free_list()->count < BATCH);          /* none, with AddressSanitizer */
    hora__block_free(kept);
    hora__block_free(made);
    hora__block_free(other);
}

TEST_REAL(free_blocks_that_run_out_are_made, "")
{
    open_pool(1);
    in_thread(check_exhaustion);
    CHECK_OK(hora_pool_free(pool));
}

/* ---- the shared free list ---- */

static void check_bring(void)
{
    int before = own_free_list()->count;
    for (int count = 1; count <= 10 * BATCH; count++) {
        put(1);
        CHECK_INT(own_free_list()->count + BATCH * shared_free_list_count(), before + count);
        CHECK(own_free_list()->count < 2 * BATCH);
    }
    CHECK(shared_free_list_count() >= 9);
}

static void check_supply(void *arg)
{
    (void)arg;
    hora__pool_free_excess(pool); /* the worker, which becomes idle, does so too, and frees no more */
    int before = shared_free_list_count();
    CHECK_INT(before, KEPT);
    hora__shared_free_list_supply(&pool->shared_free_list);
    CHECK_INT(own_free_list()->count, BATCH);
    hora__shared_free_list_supply(&pool->shared_free_list); /* it has some */
    CHECK_INT(shared_free_list_count(), before - 1);
    for (int i = 0; i < 2 * BATCH; i++) /* the second batch is fetched by itself */
        hora__block_free(hora__shared_free_list_get(&pool->shared_free_list, HORA__BLOCK_PLAIN_FUTURE, SIZE));
    CHECK_INT(own_free_list()->count, 0);
    CHECK_INT(shared_free_list_count(), before - 2);
}

TEST_REAL(free_blocks_of_workers_are_for_those_who_submit, "")
{
    open_pool(1);
    in_worker(check_bring);
    in_thread(check_supply);
    CHECK_OK(hora_pool_free(pool));
}

static void bring_too_much(void)
{
    put((MOST + 10) * BATCH);
    CHECK_INT(shared_free_list_count(), MOST);
    CHECK(own_free_list()->count < 2 * BATCH);
}

/* The worker of this pool may do the same at this moment, because it has become idle. */
static void check_tidy(void)
{
    hora__pool_free_excess(pool);
    CHECK_INT(shared_free_list_count(), KEPT);
}

TEST_REAL(free_blocks_of_a_pool_are_bounded_and_given_back, "")
{
    open_pool(1);
    in_worker(bring_too_much);
    check_tidy();
    CHECK_OK(hora_pool_free(pool));
}

/* ---- several threads ---- */

static void use(unsigned char *block, unsigned char mark)
{
    CHECK(block != NULL);
    memset(block, mark, SIZE);
}

static void give_back(unsigned char *block, unsigned char mark)
{
    for (int i = 0; i < (int)SIZE; i++)
        if (block[i] != mark)
            test_fail(__FILE__, __LINE__, "byte %d of a block was written to by another thread", i);
    hora__future_memory_put(HORA__BLOCK_PLAIN_FUTURE, block);
}

/* Gets blocks and gives them back, so that the number of blocks goes up and down; no other thread writes to
 * them meanwhile. */
static void churn(unsigned seed)
{
    unsigned char *held[HELD];
    unsigned char mark = (unsigned char)(seed + 1);
    int count = 0;
    for (int i = 0; i < ROUNDS; i++) {
        seed = seed * 1103515245U + 12345U;
        bool rises = (i / HELD) % 2 == 0 ? seed >> 16 & 3 : !(seed >> 16 & 3);
        if (rises && count < HELD) {
            held[count] = hora__shared_free_list_get(&pool->shared_free_list, HORA__BLOCK_PLAIN_FUTURE, SIZE);
            use(held[count++], mark);
        } else if (count > 0) {
            give_back(held[--count], mark);
        }
    }
    while (count > 0)
        give_back(held[--count], mark);
}

static int churn_in_worker(void *arg, void **ret_result)
{
    (void)ret_result;
    churn(*(unsigned *)arg);
    return 0;
}

static void churn_in_thread(void *arg)
{
    churn(*(unsigned *)arg);
}

TEST_REAL(free_blocks_belong_to_one_at_a_time, "")
{
    static unsigned seeds[2 * THREADS];
    test_thread *threads[THREADS];
    open_pool(THREADS);
    for (int i = 0; i < 2 * THREADS; i++)
        seeds[i] = (unsigned)i;
    for (int i = 0; i < THREADS; i++) {
        CHECK_OK(hora_pool_execute(pool, HORA_TASK(churn_in_worker, &seeds[i])));
        threads[i] = test_thread_start(NULL, churn_in_thread, &seeds[THREADS + i]);
    }
    for (int i = 0; i < THREADS; i++)
        test_thread_join(threads[i]);
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    CHECK(shared_free_list_count() <= MOST);
    CHECK_OK(hora_pool_free(pool));
}
