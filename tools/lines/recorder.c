/* SPDX-License-Identifier: Apache-2.0 */
/* recorder.c - a cache with one line state per thread, fed by the calls that -fsanitize=thread inserts
 *
 * How it works  Each line has the set of threads that have its current contents. A write leaves only the
 *               writer in the set, a read adds the reader. An access moves the line if the set had to change
 *               and was not empty: a processor would have to ask another one for the line. The caches of real
 *               processors behave in this way (MESI), except that they also lose lines for lack of room.
 * Atomics       Each atomic operation other than a load counts as a write, as it does in hardware, also a
 *               compare-and-swap that fails. The operation itself is done here.
 * Order         A lock per group of lines makes the accesses to a line sequential. Accesses of different
 *               threads happen in whatever order the threads run, so counts vary a little. */
#include "recorder.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LINE_SHIFT = 6,    /* lines of 64 bytes */
    BUCKETS = 1 << 16, /* of the table of lines */
    THREADS = 32,      /* bits of a set */
    PLACES = 1 << 12,  /* of the table of places; more than there are accesses in the code that runs */
};

struct line {
    struct line *next; /* in the same bucket */
    uintptr_t number;  /* address >> LINE_SHIFT */
    uint32_t holders;  /* threads that have its contents */
    uintptr_t from;    /* the place that moved it last */
    long moves;
};

struct place {
    atomic_uintptr_t address; /* 0: unused */
    atomic_long write_moves;
    atomic_long read_moves;
};

static struct line *lines[BUCKETS];
static atomic_flag locks[BUCKETS];
static struct place places[PLACES];
static atomic_bool is_recording;
static atomic_int thread_count;
static _Thread_local int own_number = -1;

/* ---- counting ---- */

static struct place *place_of(uintptr_t address)
{
    for (unsigned i = (unsigned)(address * 2654435761U) % PLACES;; i = (i + 1) % PLACES) {
        uintptr_t expected = 0;
        if (atomic_load(&places[i].address) == address ||
            atomic_compare_exchange_strong(&places[i].address, &expected, address) || expected == address)
            return &places[i];
    }
}

static struct line *line_of(uintptr_t number, unsigned bucket)
{
    for (struct line *line = lines[bucket]; line != NULL; line = line->next)
        if (line->number == number)
            return line;
    struct line *line = calloc(1, sizeof *line);
    if (line == NULL)
        abort();
    *line = (struct line){.next = lines[bucket], .number = number};
    lines[bucket] = line;
    return line;
}

static void count(struct line *line, uintptr_t from, bool writes)
{
    struct place *place = place_of(from);
    atomic_fetch_add(writes ? &place->write_moves : &place->read_moves, 1);
    line->from = from;
    line->moves++;
}

static void touch(const void *address, bool writes, uintptr_t from)
{
    if (!atomic_load_explicit(&is_recording, memory_order_relaxed))
        return;
    if (own_number < 0)
        own_number = atomic_fetch_add(&thread_count, 1) % THREADS;
    uint32_t own = UINT32_C(1) << own_number;
    uintptr_t number = (uintptr_t)address >> LINE_SHIFT;
    unsigned bucket = (unsigned)(number % BUCKETS);
    while (atomic_flag_test_and_set_explicit(&locks[bucket], memory_order_acquire)) {
    }
    struct line *line = line_of(number, bucket);
    uint32_t holders = writes ? own : line->holders | own;
    if (holders != line->holders && line->holders != 0)
        count(line, from, writes);
    line->holders = holders;
    atomic_flag_clear_explicit(&locks[bucket], memory_order_release);
}

void recorder_set(bool on)
{
    atomic_store(&is_recording, on);
}

static const struct line *most_moved(void)
{
    static const struct line none;
    const struct line *most = &none;
    for (int i = 0; i < BUCKETS; i++)
        for (const struct line *line = lines[i]; line != NULL; line = line->next)
            most = line->moves > most->moves ? line : most;
    return most;
}

void recorder_print(void)
{
    for (int i = 0; i < PLACES; i++)
        if (atomic_load(&places[i].address) != 0)
            printf("place %#" PRIxPTR " %ld %ld\n", atomic_load(&places[i].address),
                   atomic_load(&places[i].write_moves), atomic_load(&places[i].read_moves));
    printf("line %#" PRIxPTR " %ld\n", most_moved()->from, most_moved()->moves);
    (void)fflush(stdout);
}

/* ---- the calls that the compiler inserts ---- */

/* Their names are reserved, and no header declares them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define FROM ((uintptr_t)__builtin_return_address(0))

void __tsan_init(void)
{
}

void __tsan_func_entry(void *caller)
{
    (void)caller;
}

void __tsan_func_exit(void)
{
}

void __tsan_atomic_thread_fence(int order)
{
    (void)order;
    atomic_thread_fence(memory_order_seq_cst);
}

void __tsan_read_range(void *address, size_t size)
{
    (void)size;
    touch(address, false, FROM);
}

void __tsan_write_range(void *address, size_t size)
{
    (void)size;
    touch(address, true, FROM);
}

#define PLAIN(size)                                  \
    void __tsan_read##size(void *address)            \
    {                                                \
        touch(address, false, FROM);                 \
    }                                                \
    void __tsan_write##size(void *address)           \
    {                                                \
        touch(address, true, FROM);                  \
    }                                                \
    void __tsan_unaligned_read##size(void *address)  \
    {                                                \
        touch(address, false, FROM);                 \
    }                                                \
    void __tsan_unaligned_write##size(void *address) \
    {                                                \
        touch(address, true, FROM);                  \
    }

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

#define CHANGE(bits, type, name, builtin)                                            \
    type __tsan_atomic##bits##_##name(volatile type *address, type value, int order) \
    {                                                                                \
        (void)order;                                                                 \
        touch((const void *)address, true, FROM);                                    \
        return builtin(address, value, __ATOMIC_SEQ_CST);                            \
    }

#define SWAP(bits, type, name)                                                                            \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *address, type *expected, type value, \
                                                      int order, int failure)                             \
    {                                                                                                     \
        (void)order, (void)failure;                                                                       \
        touch((const void *)address, true, FROM);                                                         \
        return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST,             \
                                           __ATOMIC_SEQ_CST);                                             \
    }

#define ATOMIC(bits, type)                                                          \
    type __tsan_atomic##bits##_load(const volatile type *address, int order)        \
    {                                                                               \
        (void)order;                                                                \
        touch((const void *)address, false, FROM);                                  \
        return __atomic_load_n(address, __ATOMIC_SEQ_CST);                          \
    }                                                                               \
    void __tsan_atomic##bits##_store(volatile type *address, type value, int order) \
    {                                                                               \
        (void)order;                                                                \
        touch((const void *)address, true, FROM);                                   \
        __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                         \
    }                                                                               \
    CHANGE(bits, type, exchange, __atomic_exchange_n)                               \
    CHANGE(bits, type, fetch_add, __atomic_fetch_add)                               \
    CHANGE(bits, type, fetch_sub, __atomic_fetch_sub)                               \
    CHANGE(bits, type, fetch_and, __atomic_fetch_and)                               \
    CHANGE(bits, type, fetch_or, __atomic_fetch_or)                                 \
    CHANGE(bits, type, fetch_xor, __atomic_fetch_xor)                               \
    SWAP(bits, type, strong)                                                        \
    SWAP(bits, type, weak)

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)
