/* SPDX-License-Identifier: Apache-2.0 */
/* free_list.c - a free list of blocks, cut from chunks
 *
 * Mechanism    A chunk is one allocation of pages, cut into blocks of one size on demand. Returned blocks of
 *              a chunk are chained through their first word, and reused before new ones are cut. The offset
 *              of a block is its distance from the start of its chunk, in words. Chunks with a free block are
 *              on a list. Blocks are taken from the chunk at the front of that list. A chunk that was full is
 *              appended at the end, so that it has time to become empty.
 * Memory       A few empty chunks are kept as spare ones, others are freed. So memory shrinks with use,
 *              unless the blocks in use are scattered over many chunks, and free blocks are reused before the
 *              free list asks for more memory. Where the library does not keep memory (hora__keeps_memory),
 *              and with AddressSanitizer, each chunk has one block.
 * Checks       Free blocks of a chunk rest (sys/alloc.h), except for the words that chain them. In builds
 *              that check memory, a fence that always rests follows each block. A spare chunk rests as a
 *              whole, except for its header.
 * Invariants   I1 a chunk is on the list of its size if and only if some but not all of its `most` blocks are
 *                 in use.
 *              I2 an empty chunk is a spare one, or it belongs to the caller that is to free it.
 *              I3 used_count and spare_count are the numbers of chunks with a block in use, and of spare
 *                 ones. */
#include "sys/free_list.h"

#include <assert.h>
#include <stdbool.h>

#include "base/fault.h"
#include "sys/alloc.h"

enum {
    CHUNK_BYTES = 64 * 1024, /* a multiple of the page size of most systems */
    SIMULATED_BLOCKS = 2,    /* blocks of a chunk in the simulator, so that few tasks fill one */
    WORD = 8,                /* the unit of offsets, and the least alignment of blocks */
    /* The first block begins at a cache line, and so do the others if their size is a multiple of a line:
     * then two of them, which different threads may use, have no line in common. */
    FIRST_BLOCK = 64,
#ifdef HORA__CHECKS_MEMORY
    FENCE = 16 /* bytes behind a block that rest while it is in use */
#else
    FENCE = 0
#endif
};

/* Returns whether a chunk holds more than one block. With AddressSanitizer it does not: LeakSanitizer could
 * not report a lost block, because a free block of the same chunk would lead to it. */
static bool chunks_are_shared(void)
{
#if defined(HORA__ASAN) && !defined(HORA_SIM)
    return false;
#else
    return hora__keeps_memory();
#endif
}

/* The header of a chunk. Its blocks follow. */
struct hora__chunk {
    struct hora__list link;       /* in the list of chunks with room, I1, or of the spare ones */
    struct hora__free_list *list; /* that it belongs to */
    void *free;                   /* returned blocks, chained through their first word; NULL: none */
    size_t bytes;                 /* of the whole chunk */
    int size_index;               /* size of its blocks */
    int most;                     /* blocks it has room for */
    int cut;                      /* blocks cut so far */
    int used;                     /* blocks in use */
    uint32_t next;                /* distance from the chunk to the block that is cut next, in bytes */
    uint32_t stride;              /* distance from one block to the next */
};

static_assert(CHUNK_BYTES / WORD <= UINT16_MAX, "an offset has 16 bits");
static_assert(sizeof(struct hora__chunk) <= FIRST_BLOCK && FIRST_BLOCK % WORD == 0, "blocks are aligned");

void hora__free_list_init(struct hora__free_list *list, size_t least, size_t align, int spare_most)
{
    assert(least % WORD == 0 && least >= sizeof(void *) && align >= WORD && (align & (align - 1)) == 0);
    *list = (struct hora__free_list){.least = least, .align = align};
    list->spare_most = hora__keeps_memory() ? spare_most : 0;
    hora__list_init(&list->spare);
    for (int i = 0; i < HORA__FREE_LIST_SIZES; i++)
        hora__list_init(&list->room[i]);
}

void hora__free_list_destroy(struct hora__free_list *list)
{
    assert(list->used_count == 0);
    while (list->spare_count > 0)
        hora__chunk_free(hora__free_list_trim(list, 0));
}

/* ---- sizes ---- */

static size_t round_up(const struct hora__free_list *list, size_t size)
{
    return (size + list->align - 1) & ~(list->align - 1);
}

/* Returns the size of a block in bytes. */
static size_t size_of(const struct hora__free_list *list, int size_index)
{
    assert(size_index >= 0 && size_index < HORA__FREE_LIST_SIZES);
    return list->least + (size_t)size_index * WORD;
}

/* Returns the distance from one block to the next. */
static size_t stride_of(const struct hora__free_list *list, int size_index)
{
    return round_up(list, size_of(list, size_index) + FENCE);
}

/* Returns the size of a chunk in bytes. Where memory is kept, it does not depend on the block size, so that a
 * spare chunk serves any block size. */
static size_t bytes_of(const struct hora__free_list *list)
{
    size_t header = round_up(list, FIRST_BLOCK);
    size_t largest = stride_of(list, HORA__FREE_LIST_SIZES - 1);
    if (!chunks_are_shared())
        return header + largest;
    return HORA__KEPT((size_t)CHUNK_BYTES, header + SIMULATED_BLOCKS * largest);
}

/* ---- resting ---- */

/* Mark a free block as resting or awake, except for the word that chains it. */
static void rest(const struct hora__free_list *list, int size_index, void *block)
{
    hora__memory_rests((void **)block + 1, size_of(list, size_index) - sizeof(void *));
}

static void wake(const struct hora__free_list *list, int size_index, void *block)
{
    hora__memory_wakes((void **)block + 1, size_of(list, size_index) - sizeof(void *));
}

/* Wakes all free blocks of a chunk of which no block is in use, and all fences, so that the chunk can rest as
 * a whole or be freed. */
static void wake_all(struct hora__chunk *chunk)
{
#ifdef HORA__CHECKS_MEMORY
    for (void *block = chunk->free; block != NULL; block = *(void **)block)
        wake(chunk->list, chunk->size_index, block);
    for (int i = 1; i <= chunk->cut; i++)
        hora__memory_wakes((char *)chunk + chunk->next - (size_t)i * chunk->stride +
                               size_of(chunk->list, chunk->size_index),
                           FENCE);
#else
    (void)chunk;
#endif
}

/* ---- chunks ---- */

struct hora__chunk *hora__chunk_new(const struct hora__free_list *list)
{
    size_t bytes = bytes_of(list);
    struct hora__chunk *chunk = hora__pages_alloc(bytes);
    if (chunk != NULL)
        chunk->bytes = bytes;
    return chunk;
}

void hora__chunk_free(struct hora__chunk *chunk)
{
    if (chunk != NULL)
        hora__pages_free(chunk, chunk->bytes);
}

void hora__free_list_add(struct hora__free_list *list, struct hora__chunk *chunk)
{
    assert(chunk->bytes == bytes_of(list));
    hora__memory_rests(chunk + 1, chunk->bytes - sizeof *chunk);
    hora__list_add_last(&list->spare, &chunk->link);
    list->spare_count++; /* I3 */
}

struct hora__chunk *hora__free_list_trim(struct hora__free_list *list, int few)
{
    assert(few >= 0 && (list->spare_count == 0) == hora__list_is_empty(&list->spare)); /* I3 */
    if (list->spare_count <= few)
        return NULL;
    struct hora__chunk *chunk = HORA__LIST_ENTRY(list->spare.next, struct hora__chunk, link);
    hora__list_remove(&chunk->link);
    list->spare_count--;
    hora__memory_wakes(chunk + 1, chunk->bytes - sizeof *chunk);
    return chunk;
}

/* Returns a chunk with room, a spare one if there is any, and adds it to its list. NULL: no memory. Not
 * inlined, because few blocks need it. */
__attribute__((noinline)) static struct hora__chunk *begin_chunk(struct hora__free_list *list, int size_index)
{
    struct hora__chunk *chunk = hora__free_list_trim(list, 0);
    if (chunk == NULL)
        chunk = hora__chunk_new(list);
    if (chunk == NULL)
        return NULL;
    chunk->list = list;
    chunk->free = NULL;
    chunk->size_index = size_index;
    chunk->cut = chunk->used = 0;
    chunk->most = 1;
    chunk->next = (uint32_t)round_up(list, FIRST_BLOCK);
    chunk->stride = (uint32_t)stride_of(list, size_index);
    if (chunks_are_shared())
        chunk->most = (int)((chunk->bytes - chunk->next) / chunk->stride);
    assert(chunk->most > 0);
    hora__list_add_last(&list->room[size_index], &chunk->link);
    list->used_count++; /* I3: the caller takes a block at once */
    return chunk;
}

/* ---- blocks ---- */

/* Returns a block that has never been used. There must be one. */
static void *cut(struct hora__chunk *chunk)
{
    assert(chunk->cut < chunk->most);
    char *block = (char *)chunk + chunk->next;
    chunk->cut++;
    chunk->next += chunk->stride;
    hora__memory_rests(block + size_of(chunk->list, chunk->size_index), FENCE);
    return block;
}

bool hora__free_list_has_room(const struct hora__free_list *list, int size_index)
{
    assert(size_index >= 0 && size_index < HORA__FREE_LIST_SIZES);
    return !hora__list_is_empty(&list->room[size_index]) || list->spare_count > 0;
}

/* Takes a returned block of the first chunk with room, or cuts a new one from it. */
void *hora__free_list_get(struct hora__free_list *list, int size_index, uint16_t *ret_offset)
{
    assert(size_index >= 0 && size_index < HORA__FREE_LIST_SIZES && ret_offset != NULL);
    const struct hora__list *room = &list->room[size_index];
    struct hora__chunk *chunk = hora__list_is_empty(room)
                                    ? begin_chunk(list, size_index)
                                    : HORA__LIST_ENTRY(room->next, struct hora__chunk, link);
    if (chunk == NULL)
        return NULL;
    void *block = chunk->free;
    if (block != NULL) {
        wake(list, size_index, block);
        chunk->free = *(void **)block;
    } else {
        block = cut(chunk);
    }
    if (++chunk->used == chunk->most)
        hora__list_remove(&chunk->link); /* I1 */
    *ret_offset = (uint16_t)((size_t)((char *)block - (char *)chunk) / WORD);
    return block;
}

/* Finds the chunk of a block by its offset. */
static struct hora__chunk *chunk_of(void *block, uint16_t offset)
{
    assert(offset > 0);
    return (struct hora__chunk *)(void *)((char *)block - (size_t)offset * WORD);
}

/* Needs no lock: the field does not change while a block is in use. */
struct hora__free_list *hora__free_list_of(void *block, uint16_t offset)
{
    return chunk_of(block, offset)->list;
}

/* Takes an empty chunk from its list. Keeps it as a spare one if there are few; otherwise returns it to be
 * freed. */
__attribute__((noinline)) static struct hora__chunk *end_chunk(struct hora__free_list *list,
                                                               struct hora__chunk *chunk)
{
    assert(chunk->used == 0);
    hora__list_remove(&chunk->link); /* I1 */
    list->used_count--;              /* I3 */
    wake_all(chunk);
    if (list->spare_count >= list->spare_most && !HORA__FAULT(CHUNK_IS_NEVER_FREED))
        return chunk;
    hora__free_list_add(list, chunk);
    return NULL;
}

struct hora__chunk *hora__free_list_put(struct hora__free_list *list, void *block, uint16_t offset)
{
    struct hora__chunk *chunk = chunk_of(block, offset);
    assert(chunk->list == list && chunk->used > 0 && chunk->used <= chunk->cut && chunk->cut <= chunk->most);
    if (chunk->used == chunk->most && !HORA__FAULT(CHUNK_ROOM_UNSEEN))
        hora__list_add_last(&list->room[chunk->size_index], &chunk->link); /* I1 */
    *(void **)block = chunk->free;
    chunk->free = block;
    rest(list, chunk->size_index, block);
    chunk->used--;
    bool is_empty = HORA__FAULT(CHUNK_FREED_TOO_SOON) ? chunk->used <= 1 : chunk->used == 0;
    return is_empty ? end_chunk(list, chunk) : NULL;
}
