/* SPDX-License-Identifier: Apache-2.0 */
/* test_free_list.c - blocks of a free list: aligned, apart from each other, and given back in any order */
#include <string.h>

#include "harness.h"
#include "timer/free_list.h"

enum { LEAST = 48, BLOCKS = 6000, STEPS = 60000 };

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
    hora__free_list_put(list, block->memory, block->place);
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
    hora__free_list_init(&list, LEAST);
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
    hora__free_list_init(&list, LEAST);
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
    hora__free_list_init(&list, LEAST);
    void *kept = hora__free_list_get(&list, 1, &another);
    for (int i = 0; i < STEPS; i++) {
        void *block = hora__free_list_get(&list, 1, &place);
        CHECK(block != NULL && block != kept);
        hora__free_list_put(&list, block, place);
    }
    hora__free_list_put(&list, kept, another);
    hora__free_list_destroy(&list);
}
