/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - the names of a pool's tasks, each stored once; see names.h
 *
 * Invariants        I1 a slot, a cache entry and the name that they point to never change once written,
 *                   except for is_seen and the counters. So readers need no lock.
 *                   I2 no text is in two slots.
 *                   I3 there are at most `most` names besides none and "other". */
#include "observe/names.h"

#include <assert.h>
#include <hora/error.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/fault.h"
#include "sys/alloc.h"

/* The smallest table, and the indices of the two names that always exist and of the first that is added. */
enum { LEAST_SLOTS = 16, NONE = 0, OTHER = 1, FIRST = 2 };

/* FNV-1a, with the high bits folded into the low ones, which select the slot. */
static unsigned hash(const char *text)
{
    uint32_t value = 2166136261U;
    for (; *text != '\0'; text++)
        value = (value ^ (unsigned char)*text) * 16777619U;
    return value ^ value >> 16;
}

/* Returns the slot of a text and stores its name; or the empty slot where it would be inserted, and NULL.
 * Needs no lock, but only the holder of the lock may rely on the slot staying empty. The load must acquire,
 * so that the caller sees the contents of the name. */
static hora__atomic_pointer *slot_of(struct hora__names *names, const char *text,
                                     struct hora__name **ret_name)
{
    assert(text != NULL);
    for (unsigned at = hash(text);; at++) {
        hora__atomic_pointer *slot = &names->slots[at & names->mask];
        HORA__ORDER_FAULT(NAME_READ_RELAXED, memory_order_relaxed);
        *ret_name = hora__atomic_pointer_load(slot);
        if (*ret_name == NULL || strcmp((*ret_name)->text, text) == 0)
            return slot;
    }
}

/* Makes a name with a copy of the text in the same allocation. Returns NULL if there is no memory. */
static struct hora__name *new_name(const char *text, int index)
{
    assert(text != NULL && index >= FIRST);
    size_t size = strlen(text) + 1;
    struct hora__name *name = hora__alloc(1, sizeof *name + size);
    if (name == NULL)
        return NULL;
    char *copy = (char *)(name + 1);
    memcpy(copy, text, size);
    name->text = copy;
    name->index = index;
    hora__atomic_init(&name->is_seen, 1);
    return name;
}

/* Adds a name that the caller has not found. Searches again under the lock, because another thread may have
 * added it since (I2). Returns "other" if there are too many names, and `none` if there is no memory. */
static struct hora__name *add(struct hora__names *names, const char *text)
{
    struct hora__name *name;
    hora__mutex_lock(&names->lock);
    hora__atomic_pointer *slot = slot_of(names, text, &name); /* I2 */
    if (name == NULL && names->count == names->most) {
        name = &names->other; /* I3 */
    } else if (name == NULL) {
        name = new_name(text, FIRST + names->count);
        if (name != NULL) {
            names->count++;
            /* The name is complete before the slot, and then the list, publish it. */
            name->next = hora__atomic_pointer_load(&names->newest);
            HORA__ORDER_FAULT(NAME_ADDED_RELAXED, memory_order_relaxed);
            (void)hora__atomic_pointer_cas(slot, NULL, name);
            (void)hora__atomic_pointer_cas(&names->newest, name->next, name);
        }
    }
    hora__mutex_unlock(&names->lock);
    return name != NULL ? name : &names->none;
}

/* Caches the name if the cache entry is free. "other" and `none`, which stand for texts that differ from
 * theirs, are not cached. */
struct hora__name *hora__names_look_up(struct hora__names *names, const char *text,
                                       hora__atomic_pointer *cached)
{
    struct hora__name *name;
    if (*text == '\0')
        return &names->none;
    (void)slot_of(names, text, &name);
    if (name == NULL)
        name = add(names, text);
    if (name->text != NULL && strcmp(name->text, text) == 0) {
        HORA__ORDER_FAULT(NAME_CACHED_RELAXED, memory_order_relaxed);
        (void)hora__atomic_pointer_cas(cached, NULL, name);
    }
    return hora__name_see(name);
}

struct hora__name *hora__names_find(struct hora__names *names, const char *text)
{
    struct hora__name *name;
    (void)slot_of(names, text, &name);
    return name != NULL && hora__atomic_load(&name->is_seen) != 0 ? name : NULL;
}

struct hora__name *hora__names_newest(struct hora__names *names)
{
    return hora__atomic_pointer_load(&names->newest);
}

/* The table is at most half full, which keeps searches short. */
int hora__names_init(struct hora__names *names, int most)
{
    assert(most > 0);
    unsigned size = LEAST_SLOTS;
    while (size < 2 * (unsigned)most + FIRST)
        size *= 2;
    names->slots = hora__alloc(size, sizeof *names->slots);
    if (names->slots == NULL)
        return HORA_ENOMEM;
    int error = hora__mutex_init(&names->lock, HORA__RANK_NAMES);
    if (error < 0) {
        hora__free(names->slots);
        return error;
    }
    names->mask = size - 1;
    names->most = most;
    names->none = (struct hora__name){.index = NONE};
    hora__atomic_init(&names->none.is_seen, 1);
    names->other = (struct hora__name){.text = "other", .index = OTHER};
    hora__atomic_init(&names->other.is_seen, 0);
    struct hora__name *existing;
    hora__atomic_pointer_init(slot_of(names, names->other.text, &existing), &names->other);
    hora__atomic_pointer_init(&names->newest, &names->other);
    return 0;
}

/* "other" is the oldest name of the list and part of *names. */
void hora__names_destroy(struct hora__names *names)
{
    struct hora__name *name = hora__names_newest(names);
    while (name != &names->other) {
        struct hora__name *next = name->next;
        hora__free(name);
        name = next;
    }
    hora__mutex_destroy(&names->lock);
    hora__free(names->slots);
}
