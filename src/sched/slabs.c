/* SPDX-License-Identifier: Apache-2.0 */
/* slabs.c - see slabs.h
 *
 * How it works      A slab is one allocation, cut into blocks of one size as they are needed. Blocks that were given back are
 *                   chained through their first word, slab by slab, and used before others are cut. A block's place is
 *                   how far it lies from the beginning of its slab, in words. Slabs with a free block are on a list; new ones are
 *                   taken from its front, and one that was full comes to its end, so that it has time to become empty.
 * Memory            A slab that is empty is freed, but for one. So memory follows what is in use, as far as what is in use does
 *                   not lie scattered; what it leaves free is used before more is asked for.
 *                   Where memory is not to be kept, each slab has one block.
 *                   What is free in a slab rests, but for the words that chain it; an empty slab rests as a whole.
 * Invariants        I1 a slab is on the list of its size exactly if fewer than `most` blocks of it are in use.
 *                   I2 an empty slab is on no list: it is the spare, or freed. */
#include "sched/slabs.h"

#include <assert.h>
#include <stdbool.h>

#include "sys/alloc.h"

enum { SLAB_BYTES = HORA__KEPT(64 * 1024 - 64, 1024), WORD = 8 }; /* with the header of malloc not more than 64 KB */

struct hora__slab {
    struct hora__list link; /* among those with room */
    void *free;             /* blocks that were given back, linked through their first word */
    int size_index;
    int most; /* blocks that it has */
    int cut;  /* those that have been in use */
    int used; /* those that are */
};

static_assert(SLAB_BYTES / WORD <= UINT16_MAX, "a place has 16 bits");
static_assert(sizeof(struct hora__slab) % WORD == 0, "blocks are aligned");

void hora__slabs_init(struct hora__slabs *slabs, size_t least)
{
    assert(least % WORD == 0 && least >= sizeof(void *));
    slabs->least = least;
    slabs->spare = NULL;
    for (int i = 0; i < HORA__SLAB_SIZES; i++)
        hora__list_init(&slabs->room[i]);
}

void hora__slabs_destroy(struct hora__slabs *slabs)
{
    for (int i = 0; i < HORA__SLAB_SIZES; i++)
        assert(hora__list_is_empty(&slabs->room[i])); /* I2 */
    if (slabs->spare != NULL)
        hora__block_wakes(slabs->spare);
    hora__free(slabs->spare);
}

static size_t size_of(const struct hora__slabs *slabs, int size_index)
{
    return slabs->least + (size_t)size_index * WORD;
}

/* A spare one is used for any size. */
static size_t bytes_of(const struct hora__slabs *slabs, int size_index)
{
    return hora__keeps_memory() ? SLAB_BYTES : sizeof(struct hora__slab) + size_of(slabs, size_index);
}

/* A block is free, but for the word that chains it; and is in use again. */
static void rest(const struct hora__slabs *slabs, int size_index, void *block)
{
    hora__memory_rests((void **)block + 1, size_of(slabs, size_index) - sizeof(void *));
}

static void wake(const struct hora__slabs *slabs, int size_index, void *block)
{
    hora__memory_wakes((void **)block + 1, size_of(slabs, size_index) - sizeof(void *));
}

/* No block is in use: the slab is memory without parts. */
static void wake_all(const struct hora__slabs *slabs, const struct hora__slab *slab)
{
#ifdef HORA__CHECKS_MEMORY
    for (void *block = slab->free; block != NULL; block = *(void **)block)
        wake(slabs, slab->size_index, block);
#else
    (void)slabs;
    (void)slab;
#endif
}

/* A slab with room, on its list; NULL: there is no memory. */
static struct hora__slab *new_slab(struct hora__slabs *slabs, int size_index)
{
    struct hora__slab *slab = slabs->spare;
    slabs->spare = NULL;
    if (slab != NULL)
        hora__block_wakes(slab);
    else
        slab = hora__alloc_dirty(bytes_of(slabs, size_index));
    if (slab == NULL)
        return NULL;
    slab->free = NULL;
    slab->size_index = size_index;
    slab->most = (int)((bytes_of(slabs, size_index) - sizeof *slab) / size_of(slabs, size_index));
    slab->cut = 0;
    slab->used = 0;
    hora__list_add_last(&slabs->room[size_index], &slab->link);
    return slab;
}

static void *cut(const struct hora__slabs *slabs, struct hora__slab *slab)
{
    return (char *)(slab + 1) + (size_t)slab->cut++ * size_of(slabs, slab->size_index);
}

void *hora__slabs_get(struct hora__slabs *slabs, int size_index, uint16_t *ret_place)
{
    const struct hora__list *room = &slabs->room[size_index];
    struct hora__slab *slab =
        hora__list_is_empty(room) ? new_slab(slabs, size_index) : HORA__LIST_ENTRY(room->next, struct hora__slab, link);
    if (slab == NULL)
        return NULL;
    void *block = slab->free;
    if (block != NULL) {
        wake(slabs, size_index, block);
        slab->free = *(void **)block;
    } else {
        block = cut(slabs, slab);
    }
    if (++slab->used == slab->most)
        hora__list_remove(&slab->link); /* I1 */
    *ret_place = (uint16_t)((size_t)((char *)block - (char *)slab) / WORD);
    return block;
}

void hora__slabs_put(struct hora__slabs *slabs, void *block, uint16_t place)
{
    struct hora__slab *slab = (struct hora__slab *)(void *)((char *)block - (size_t)place * WORD);
    bool was_full = slab->used == slab->most;
    *(void **)block = slab->free;
    slab->free = block;
    rest(slabs, slab->size_index, block);
    if (--slab->used > 0) {
        if (was_full)
            hora__list_add_last(&slabs->room[slab->size_index], &slab->link); /* I1 */
        return;
    }
    if (!was_full)
        hora__list_remove(&slab->link); /* I2 */
    wake_all(slabs, slab);
    if (slabs->spare == NULL && hora__keeps_memory()) {
        slabs->spare = slab;
        hora__block_rests(slab);
    } else {
        hora__free(slab);
    }
}
