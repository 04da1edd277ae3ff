/* SPDX-License-Identifier: Apache-2.0 */
/* free_list.c - a free list of small blocks, cut from chunks
 *
 * Mechanism    A chunk is one allocation, cut into blocks of one size on demand. Returned blocks of a chunk
 *              are chained through their first word, and reused before new ones are cut. The offset of a
 *              block is its distance from the start of its chunk, in words. Chunks with a free block are on
 *              a list.
 *              Blocks come from the chunk at its front; a chunk that was full joins at the end, so that it
 *              has time to become empty.
 * Memory       An empty chunk is freed, except one. So memory follows use as far as the blocks in use are not
 *              scattered, and free blocks are reused before the free list asks for more memory. Where memory
 *              is not to be kept (HORA__KEPT), each chunk has one block. Free blocks of a chunk rest
 *              (sys/alloc.h), except for the words that chain them. An empty chunk rests as a whole.
 * Invariants   I1 a chunk is on the list of its size if and only if fewer than `most` of its blocks are in
 *                 use.
 *              I2 an empty chunk is on no list: it is the spare, or freed. */
#include "timer/free_list.h"

#include <assert.h>
#include <stdbool.h>

#include "sys/alloc.h"

enum {
    CHUNK_BYTES = HORA__KEPT(64 * 1024 - 64, 1024),
    WORD = 8
}; /* with the header of malloc not more than 64 KB */

struct hora__chunk {
    struct hora__list link; /* in the list of chunks with room */
    void *free;             /* returned blocks, linked through their first word */
    int size_index;
    int most; /* blocks it has room for */
    int cut;  /* blocks cut so far */
    int used; /* blocks in use */
};

static_assert(CHUNK_BYTES / WORD <= UINT16_MAX, "an offset has 16 bits");
static_assert(sizeof(struct hora__chunk) % WORD == 0, "blocks are aligned");

void hora__free_list_init(struct hora__free_list *list, size_t least)
{
    assert(least % WORD == 0 && least >= sizeof(void *));
    list->least = least;
    list->spare = NULL;
    for (int i = 0; i < HORA__FREE_LIST_SIZES; i++)
        hora__list_init(&list->room[i]);
}

void hora__free_list_destroy(struct hora__free_list *list)
{
    for (int i = 0; i < HORA__FREE_LIST_SIZES; i++)
        assert(hora__list_is_empty(&list->room[i])); /* I2 */
    if (list->spare != NULL)
        hora__block_wakes(list->spare);
    hora__free(list->spare);
}

static size_t size_of(const struct hora__free_list *list, int size_index)
{
    assert(size_index >= 0 && size_index < HORA__FREE_LIST_SIZES);
    return list->least + (size_t)size_index * WORD;
}

/* The size of a chunk. A spare chunk serves any block size. */
static size_t bytes_of(const struct hora__free_list *list, int size_index)
{
    return hora__keeps_memory() ? CHUNK_BYTES : sizeof(struct hora__chunk) + size_of(list, size_index);
}

/* A free block rests, except for the word that chains it, until it is in use again. */
static void rest(const struct hora__free_list *list, int size_index, void *block)
{
    hora__memory_rests((void **)block + 1, size_of(list, size_index) - sizeof(void *));
}

static void wake(const struct hora__free_list *list, int size_index, void *block)
{
    hora__memory_wakes((void **)block + 1, size_of(list, size_index) - sizeof(void *));
}

/* No block is in use: the chunk becomes one piece of memory. */
static void wake_all(const struct hora__free_list *list, const struct hora__chunk *chunk)
{
#ifdef HORA__CHECKS_MEMORY
    for (void *block = chunk->free; block != NULL; block = *(void **)block)
        wake(list, chunk->size_index, block);
#else
    (void)list;
    (void)chunk;
#endif
}

/* A chunk with room, on its list. NULL: no memory. */
static struct hora__chunk *new_chunk(struct hora__free_list *list, int size_index)
{
    struct hora__chunk *chunk = list->spare;
    list->spare = NULL;
    if (chunk != NULL)
        hora__block_wakes(chunk);
    else
        chunk = hora__alloc_dirty(bytes_of(list, size_index));
    if (chunk == NULL)
        return NULL;
    chunk->free = NULL;
    chunk->size_index = size_index;
    chunk->most = (int)((bytes_of(list, size_index) - sizeof *chunk) / size_of(list, size_index));
    chunk->cut = 0;
    chunk->used = 0;
    hora__list_add_last(&list->room[size_index], &chunk->link);
    return chunk;
}

static void *cut(const struct hora__free_list *list, struct hora__chunk *chunk)
{
    assert(chunk->cut < chunk->most);
    return (char *)(chunk + 1) + (size_t)chunk->cut++ * size_of(list, chunk->size_index);
}

void *hora__free_list_get(struct hora__free_list *list, int size_index, uint16_t *ret_offset)
{
    assert(size_index >= 0 && size_index < HORA__FREE_LIST_SIZES && ret_offset != NULL);
    const struct hora__list *room = &list->room[size_index];
    struct hora__chunk *chunk = hora__list_is_empty(room)
                                    ? new_chunk(list, size_index)
                                    : HORA__LIST_ENTRY(room->next, struct hora__chunk, link);
    if (chunk == NULL)
        return NULL;
    void *block = chunk->free;
    if (block != NULL) {
        wake(list, size_index, block);
        chunk->free = *(void **)block;
    } else {
        block = cut(list, chunk);
    }
    if (++chunk->used == chunk->most)
        hora__list_remove(&chunk->link); /* I1 */
    *ret_offset = (uint16_t)((size_t)((char *)block - (char *)chunk) / WORD);
    return block;
}

void hora__free_list_put(struct hora__free_list *list, void *block, uint16_t offset)
{
    struct hora__chunk *chunk = (struct hora__chunk *)(void *)((char *)block - (size_t)offset * WORD);
    assert(chunk->used > 0 && chunk->used <= chunk->cut && chunk->cut <= chunk->most);
    bool was_full = chunk->used == chunk->most;
    *(void **)block = chunk->free;
    chunk->free = block;
    rest(list, chunk->size_index, block);
    if (--chunk->used > 0) {
        if (was_full)
            hora__list_add_last(&list->room[chunk->size_index], &chunk->link); /* I1 */
        return;
    }
    if (!was_full)
        hora__list_remove(&chunk->link); /* I2 */
    wake_all(list, chunk);
    if (list->spare == NULL && hora__keeps_memory()) {
        list->spare = chunk;
        hora__block_rests(chunk);
    } else {
        hora__free(chunk);
    }
}
