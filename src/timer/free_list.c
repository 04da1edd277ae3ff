/* SPDX-License-Identifier: Apache-2.0 */
/* free_list.c - a free list of small blocks, cut from chunks
 *
 * Mechanism    A chunk is one allocation, cut into blocks of one size on demand. Returned blocks of a chunk
 *              are chained through their first word, and reused before new ones are cut. The offset of a
 *              block is its distance from the start of its chunk, in words. Chunks with a free block are on
 *              a list. Blocks are taken from the chunk at the front of that list. A chunk that was full is
 *              appended at the end, so that it has time to become empty.
 * Memory       One empty chunk is kept as the spare, others are freed. So memory shrinks with use, unless the
 *              blocks in use are scattered over many chunks, and free blocks are reused before the free list
 *              asks for more memory. Where the library does not keep memory (hora__keeps_memory), each chunk
 *              has one block. Free blocks of a chunk rest (sys/alloc.h), except for the words that chain
 *              them. An empty chunk rests as a whole.
 * Invariants   I1 a chunk is on the list of its size if and only if fewer than `most` of its blocks are in
 *                 use.
 *              I2 an empty chunk is on no list: it is the spare, or freed. */
#include "timer/free_list.h"

#include <assert.h>
#include <stdbool.h>

#include "sys/alloc.h"

enum {
    CHUNK_BYTES = HORA__KEPT(64 * 1024 - 64, 1024), /* with the header of malloc at most 64 KB */
    WORD = 8                                        /* the unit of offsets, and the alignment of blocks */
};

/* The header of a chunk. Its blocks follow. */
struct hora__chunk {
    struct hora__list link; /* in the list of chunks with room; I1 */
    void *free;             /* returned blocks, chained through their first word; NULL: none */
    int size_index;         /* size of its blocks */
    int most;               /* blocks it has room for */
    int cut;                /* blocks cut so far */
    int used;               /* blocks in use */
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

/* Returns the size of a block in bytes. */
static size_t size_of(const struct hora__free_list *list, int size_index)
{
    assert(size_index >= 0 && size_index < HORA__FREE_LIST_SIZES);
    return list->least + (size_t)size_index * WORD;
}

/* Returns the size of a chunk in bytes. Where memory is kept, it does not depend on the block size, so that
 * the spare chunk serves any block size. */
static size_t bytes_of(const struct hora__free_list *list, int size_index)
{
    return hora__keeps_memory() ? CHUNK_BYTES : sizeof(struct hora__chunk) + size_of(list, size_index);
}

/* Mark a free block as resting or awake, except for the word that chains it. */
static void rest(const struct hora__free_list *list, int size_index, void *block)
{
    hora__memory_rests((void **)block + 1, size_of(list, size_index) - sizeof(void *));
}

static void wake(const struct hora__free_list *list, int size_index, void *block)
{
    hora__memory_wakes((void **)block + 1, size_of(list, size_index) - sizeof(void *));
}

/* Wakes all free blocks of a chunk of which no block is in use, so that the chunk can rest as a whole or be
 * freed. */
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

/* Returns a chunk with room, the spare one if there is any, and adds it to its list. NULL: no memory. */
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

/* Returns a block that has never been used. There must be one. */
static void *cut(const struct hora__free_list *list, struct hora__chunk *chunk)
{
    assert(chunk->cut < chunk->most);
    return (char *)(chunk + 1) + (size_t)chunk->cut++ * size_of(list, chunk->size_index);
}

/* Takes a returned block of the first chunk with room, or cuts a new one from it. */
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

/* Finds the chunk by the offset. Keeps an empty chunk as the spare one if there is none, and frees it
 * otherwise. */
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
