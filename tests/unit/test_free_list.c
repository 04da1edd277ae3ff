/* SPDX-License-Identifier: Apache-2.0 */
/* test_free_list.c - blocks of a free list: aligned, apart from each other, and given back in any order; and
 * the chunks they are cut from */
#include <string.h>

#include "harness.h"
#include "sys/free_list.h"

enum {
    LEAST = 48,
    LINE = 64,
    BLOCKS = 6000,
    STEPS = 60000,
    SPARE = 2,
    PER_CHUNK = 63, /* of blocks of 1024 bytes, in a chunk of 64 KB with a header */
};

static struct block {
    unsigned char *memory; /* NULL: it is not there */
    uint16_t place;
    int size_index;
    unsigned char mark;
} blocks[BLOCKS];

static size_t size_of(const struct block *block)
{
    return LEAST + 8 * (size_t)block->size_index;
}

static void get(struct hora__free_list *list, struct block *block)
{
    block->size_index = (int)test_random(HORA__FREE_LIST_SIZES);
    block->memory = hora__free_list_get(list, block->size_index, &block->place);
    CHECK(block->memory != NULL && (uintptr_t)block->memory % 8 == 0);
    block->mark = (unsigned char)test_random(256);
    memset(block->memory, block->mark, size_of(block));
}

/* Checks that no other thread has written to it. */
static void put(struct hora__free_list *list, struct block *block)
{
    for (size_t i = 0; i < size_of(block); i++)
        if (block->memory[i] != block->mark)
            test_fail(__FILE__, __LINE__, "byte %d of a block was overwritten", (int)i);
    hora__chunk_free(hora__free_list_put(list, block->memory, block->place));
    block->memory = NULL;
}

static void put_all(struct hora__free_list *list)
{
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i].memory != NULL)
            put(list, &blocks[i]);
}

TEST_REAL(free_list_keep_blocks_apart, "")
{
    struct hora__free_list list;
    hora__free_list_init(&list, LEAST, 8, 1);
    for (int i = 0; i < STEPS; i++) {
        struct block *block = &blocks[test_random(BLOCKS)];
        if (block->memory == NULL)
            get(&list, block);
        else
            put(&list, block);
    }
    put_all(&list);
    hora__free_list_destroy(&list);
}

/* In the order of getting, and then in the opposite one. */
TEST_REAL(free_list_fill_and_empty, "")
{
    struct hora__free_list list;
    hora__free_list_init(&list, LEAST, 8, 1);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < BLOCKS; i++)
            get(&list, &blocks[i]);
        for (int i = 0; i < BLOCKS; i++)
            put(&list, &blocks[round % 2 == 0 ? i : BLOCKS - 1 - i]);
    }
    hora__free_list_destroy(&list);
}

TEST_REAL(free_list_use_again_what_was_given_back, "")
{
    struct hora__free_list list;
    uint16_t place;
    uint16_t another;
    hora__free_list_init(&list, LEAST, 8, 1);
    void *kept = hora__free_list_get(&list, 1, &another);
    for (int i = 0; i < STEPS; i++) {
        void *block = hora__free_list_get(&list, 1, &place);
        CHECK(block != NULL && block != kept);
        CHECK_POINTER(hora__free_list_put(&list, block, place), NULL);
    }
    hora__chunk_free(hora__free_list_put(&list, kept, another)); /* the spare chunk stays */
    CHECK_INT(list.spare_count, 1);
    hora__free_list_destroy(&list);
}

/* ---- chunks ---- */

/* Gets blocks of 1024 bytes, until their chunks are full, from an index on. */
static void fill_chunks(struct hora__free_list *list, int from, int count)
{
    for (int i = from; i < from + count; i++) {
        blocks[i].memory = hora__free_list_get(list, 0, &blocks[i].place);
        CHECK(blocks[i].memory != NULL && (uintptr_t)blocks[i].memory % LINE == 0);
        memset(blocks[i].memory, i, 1024);
        CHECK_POINTER(hora__free_list_of(blocks[i].memory, blocks[i].place), list);
    }
}

/* Returns blocks. Returns the number of chunks that were given up. */
static int empty_chunks(struct hora__free_list *list, int from, int count)
{
    int freed = 0;
    for (int i = from; i < from + count; i++) {
        struct hora__chunk *chunk = hora__free_list_put(list, blocks[i].memory, blocks[i].place);
        blocks[i].memory = NULL;
        freed += chunk != NULL;
        hora__chunk_free(chunk);
    }
    return freed;
}

TEST_REAL(free_list_gives_up_empty_chunks, "")
{
    enum { CHUNKS = 10 };
    struct hora__free_list list;
    hora__free_list_init(&list, 1024, LINE, SPARE);
    CHECK(!hora__free_list_has_room(&list, 0));
    fill_chunks(&list, 0, 1);
    int per_chunk = 1; /* more, except with AddressSanitizer */
    while (hora__free_list_has_room(&list, 0))
        fill_chunks(&list, per_chunk++, 1);
    CHECK(per_chunk == PER_CHUNK || per_chunk == 1);
    fill_chunks(&list, per_chunk, (CHUNKS - 1) * per_chunk);
    CHECK(!hora__free_list_has_room(&list, 0));
    CHECK_INT(list.used_count, CHUNKS);
    CHECK_INT(empty_chunks(&list, 0, CHUNKS * per_chunk), CHUNKS - SPARE);
    CHECK_INT(list.used_count, 0);
    CHECK_INT(list.spare_count, SPARE);
    CHECK_POINTER(hora__free_list_trim(&list, SPARE), NULL);
    struct hora__chunk *chunk = hora__free_list_trim(&list, SPARE - 1);
    CHECK(chunk != NULL);
    hora__free_list_add(&list, chunk);
    CHECK_INT(list.spare_count, SPARE);
    fill_chunks(&list, 0, SPARE * per_chunk); /* the spare ones are used again */
    CHECK_INT(list.spare_count, 0);
    CHECK_INT(empty_chunks(&list, 0, SPARE * per_chunk), 0);
    hora__free_list_destroy(&list);
}

/* A few blocks that stay in use do not keep new ones from the memory around them. */
TEST_REAL(free_list_fills_chunks_that_are_partly_used, "")
{
    enum { ROUNDS = 20, AT_ONCE = 600, EVERY = 50 };
    struct hora__free_list list;
    hora__free_list_init(&list, 1024, LINE, 0);
    int kept = 0;
    int most = 0;
    for (int round = 0; round < ROUNDS; round++) {
        fill_chunks(&list, kept, AT_ONCE);
        for (int i = kept, end = kept + AT_ONCE; i < end; i++) {
            if (i % EVERY == 0) {
                struct block block = blocks[kept];
                blocks[kept++] = blocks[i];
                blocks[i] = block;
            }
        }
        (void)empty_chunks(&list, kept, AT_ONCE - AT_ONCE / EVERY);
        most = list.used_count > most ? list.used_count : most;
        CHECK(list.used_count <= (kept + AT_ONCE) / 55 + 2 || list.used_count == kept);
    }
    CHECK(most > 1);
    (void)empty_chunks(&list, 0, kept);
    CHECK_INT(list.used_count, 0);
    hora__free_list_destroy(&list);
}
