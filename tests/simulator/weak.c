/* SPDX-License-Identifier: Apache-2.0 */
/* weak.c - simulated weak memory: which values a load may return
 *
 * Purpose           If the processor or the compiler reorders, a load may return an older value than the last
 *                   one that was stored. C17 defines which values it may return. A schedule with options.weak
 *                   returns any of these. So code that needs a stronger order than it asks for fails here,
 *                   whatever machine the tests run on.
 * How it works      Each word that is stored to has a history: its last stores, newest first. Each thread has
 *                   a vector clock: for every thread, how many of its operations happened before the current
 *                   one. A store records at which operation each thread wrote or first read it. A thread
 *                   knows a store if one of these operations happened before its current one. A load may
 *                   return the newest store that the thread knows, or any newer one. Which one is a decision
 *                   of the schedule (SIM_STALE): option 0 is the newest store, and each other one counts
 *                   towards the bound of depth-first search. A store with release order keeps the clock of
 *                   its thread, and a load with acquire order that returns it joins that clock into its own.
 *                   Mutexes, thread starts and joins carry clocks in the same way. A futex carries none: the
 *                   word does.
 * Order             The stores of a word have the order in which the simulator executes them. A
 *                   read-modify-write returns the newest store, and so does a compare-exchange that fails. A
 *                   read-modify-write passes on the clock of the store that it replaces (the release
 *                   sequence). Other stores of the same thread do not, although C17 lets them: C++20 does
 *                   not, and the library must not depend on it. The single order of all sequentially
 *                   consistent operations is that of their execution, too: such a load returns nothing older
 *                   than the last such store. Fences are those of C17 7.17.4.
 * Time              If all threads wait and the clock advances, all stores become visible: each thread has
 *                   called the kernel, and no store is delayed for as long as that.
 * Races             The initialisation of a word and the freeing of its memory are not atomic. So the
 *                   initialisation must happen before each use by another thread, and each use before the
 *                   memory is freed. Otherwise the schedule fails. That finds relaxed publications and
 *                   relaxed reference counts without ThreadSanitizer.
 * Not simulated     A load that returns a store that is executed later (load buffering), and stores of two
 *                   threads that are in the history in another order than they were executed (2+2W).
 * Invariants        K1 the buckets list exactly the words with a history. The newest store of each is what
 *                      the memory holds. If it is not, the memory was written in another way, and the history
 *                      is discarded.
 *                   K2 a thread's own entry in its clock grows with each operation; no other clock has a
 *                   greater one. */
#include "simulator/weak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/internal.h"

enum {
    MOST_STORES = 6,   /* length of a history */
    BUCKETS = 4096,    /* of the hash table of words */
    LINE_SHIFT = 6,    /* words in the same 64 bytes are in the same bucket, so that forget() finds them */
    CHUNK = 256,       /* elements of a chunk of a pool */
    MOST_CHUNKS = 4096 /* of a pool */
};

/* A vector clock, or a set of moments: for each thread a number of operations. */
struct clock {
    uint32_t at[SIM_THREADS];
};

/* A store in the history of a word. */
struct store {
    struct store *older; /* NULL: none is remembered */
    int64_t value;
    uint64_t number;       /* of the stores in this run, from 1; 0: the initial value */
    bool is_sc;            /* sequentially consistent */
    struct clock known;    /* when each thread wrote or first read it; 0: never */
    struct clock released; /* the clock that a load with acquire order joins into its own */
};

/* An atomic word, a mutex, or another object that carries a clock. */
struct word {
    const void *address;
    struct word *next;    /* in the bucket, or in the list of unused words */
    struct store *newest; /* the history; NULL: none */
    int count;            /* stores in the history */
    int maker;            /* the thread that initialised it, */
    uint32_t made_at;     /* and at which of its operations; 0: it was not initialised */
    struct clock used;    /* when each thread used it last */
    uint64_t last_use;    /* when any thread used it last, in operations of the run */
};

struct memory_of_thread {
    struct clock now;     /* what happened before the thread's current operation */
    struct clock pending; /* clocks of stores that relaxed loads returned: a fence that acquires joins them */
    struct clock fenced;  /* the clock at the last fence that releases: later relaxed stores carry it */
    uint64_t began;       /* when the thread was started, in operations of the run */
    uint64_t fence_number; /* the newest store at its last sequentially consistent fence */
    bool has_order;        /* hora__sim_weak_next_order was called */
    memory_order order;    /* its argument */
};

bool hora__sim_weak;

static struct {
    struct memory_of_thread threads[SIM_THREADS];
    struct clock fences;           /* join of the clocks of all sequentially consistent fences so far */
    int width;                     /* slots that had a thread in this run */
    uint64_t operations;           /* of all threads so far */
    uint64_t number;               /* of the last store */
    uint64_t visible;              /* all threads know all stores up to this number */
    struct word *buckets[BUCKETS]; /* hash table of words */
    uint64_t runs[BUCKETS]; /* the run in which the bucket was used last; contents of earlier runs are void */
    struct word *unused_words;
    struct store *unused_stores;
} weak;

/* Memory for words or stores: chunks that are never freed. Each run uses them from the first one again. */
struct pool {
    size_t size;               /* of an element */
    size_t used;               /* elements given out in this run */
    char *chunks[MOST_CHUNKS]; /* NULL: not yet allocated */
};

static struct pool words_pool = {.size = sizeof(struct word)};
static struct pool stores_pool = {.size = sizeof(struct store)};

/* Returns memory for one element. Ends the run if there is none. */
static void *pool_get(struct pool *pool)
{
    size_t chunk = pool->used / CHUNK;
    if (chunk == MOST_CHUNKS)
        hora__sim_end(HORA__SIM_MISUSE, "more atomic words than the simulator remembers");
    if (pool->chunks[chunk] == NULL && (pool->chunks[chunk] = malloc(CHUNK * pool->size)) == NULL)
        hora__sim_end(HORA__SIM_MISUSE, "no memory for the history of atomic words");
    return pool->chunks[chunk] + pool->used++ % CHUNK * pool->size;
}

/* ---- clocks ---- */

static int self_number(void)
{
    return sim_number(hora__sim.current);
}

/* Returns the state of the current thread. */
static struct memory_of_thread *self_memory(void)
{
    return &weak.threads[self_number()];
}

/* Raises each entry of a clock to that of the other. */
static void join(struct clock *clock, const struct clock *other)
{
    for (int i = 0; i < weak.width; i++)
        if (clock->at[i] < other->at[i])
            clock->at[i] = other->at[i];
}

/* Returns true if at least one of the moments happened before `now`. */
static bool any_before(const struct clock *moments, const struct clock *now)
{
    for (int i = 0; i < weak.width; i++)
        if (moments->at[i] != 0 && moments->at[i] <= now->at[i])
            return true;
    return false;
}

/* Returns a thread whose moment did not happen before `now`; -1: there is none. */
static int not_before(const struct clock *moments, const struct clock *now)
{
    for (int i = 0; i < weak.width; i++)
        if (moments->at[i] > now->at[i])
            return i;
    return -1;
}

/* Counts an operation of the current thread. Returns its moment: the thread's own entry in its clock. */
static uint32_t tick(struct memory_of_thread *memory)
{
    weak.operations++;
    return ++memory->now.at[self_number()]; /* K2 */
}

static bool acquires(memory_order order)
{
    return order != memory_order_relaxed && order != memory_order_release;
}

static bool releases(memory_order order)
{
    return order == memory_order_release || order == memory_order_acq_rel || order == memory_order_seq_cst;
}

/* Returns the order of an operation, or the one that a planted fault gives it instead. */
static memory_order order_of(struct memory_of_thread *memory, memory_order order)
{
    if (!memory->has_order || order == memory_order_relaxed)
        return order;
    memory->has_order = false;
    return memory->order;
}

void hora__sim_weak_next_order(memory_order order)
{
    self_memory()->has_order = true;
    self_memory()->order = order;
}

/* ---- words ---- */

/* Returns the bucket of an address. Empties it first if its contents are from an earlier run. */
static struct word **bucket_of(const void *address)
{
    uint64_t line = (uint64_t)(uintptr_t)address >> LINE_SHIFT;
    size_t index = (size_t)((line * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % BUCKETS;
    if (weak.runs[index] != hora__sim.run_number) {
        weak.runs[index] = hora__sim.run_number;
        weak.buckets[index] = NULL;
    }
    return &weak.buckets[index];
}

/* Returns the word at an address, or NULL. */
static struct word *find(const void *address)
{
    struct word *word = *bucket_of(address);
    while (word != NULL && word->address != address)
        word = word->next;
    return word;
}

/* Returns a store with all fields 0. */
static struct store *new_store(void)
{
    struct store *store = weak.unused_stores;
    if (store != NULL)
        weak.unused_stores = store->older;
    else
        store = pool_get(&stores_pool);
    memset(store, 0, sizeof *store);
    return store;
}

/* Discards the history of a word. */
static void forget_stores(struct word *word)
{
    struct store *oldest = word->newest;
    if (oldest == NULL)
        return;
    while (oldest->older != NULL)
        oldest = oldest->older;
    oldest->older = weak.unused_stores;
    weak.unused_stores = word->newest;
    word->newest = NULL;
    word->count = 0;
}

/* Makes a word without a history. There must be none at this address. */
static struct word *new_word(const void *address)
{
    struct word *word = weak.unused_words;
    if (word != NULL)
        weak.unused_words = word->next;
    else
        word = pool_get(&words_pool);
    struct word **bucket = bucket_of(address);
    *word = (struct word){.address = address, .next = *bucket};
    *bucket = word;
    return word;
}

/* Discards the oldest store of a history that has more than one. */
static void forget_oldest(struct word *word)
{
    struct store *last_but_one = word->newest;
    while (last_but_one->older->older != NULL)
        last_but_one = last_but_one->older;
    last_but_one->older->older = weak.unused_stores;
    weak.unused_stores = last_but_one->older;
    last_but_one->older = NULL;
    word->count--;
}

/* Adds a store to a history as the newest one, and limits the length of the history. */
static struct store *push(struct word *word, int64_t value)
{
    struct store *store = new_store();
    store->value = value;
    store->older = word->newest;
    word->newest = store;
    if (++word->count > MOST_STORES)
        forget_oldest(word);
    return store;
}

/* Returns the word if it has a history that agrees with the memory, else NULL. If they do not agree, the
 * memory was written in another way, and the history is discarded. */
static struct word *find_current(const void *address, int64_t newest)
{
    struct word *word = find(address);
    if (word == NULL || word->newest == NULL)
        return NULL;
    if (word->newest->value != newest) {
        forget_stores(word); /* K1 */
        word->made_at = 0;
        return NULL;
    }
    return word;
}

/* Returns the word at an address. If it has no history, starts one with the value `before`. */
static struct word *find_or_make(const void *address, int64_t before)
{
    struct word *word = find_current(address, before);
    if (word != NULL)
        return word;
    word = find(address);
    if (word == NULL)
        word = new_word(address);
    (void)push(word, before);
    return word;
}

/* Records that the current thread uses the word at this moment. Ends the run if its initialisation did not
 * happen before. */
static void note_use(struct word *word, const struct memory_of_thread *memory, uint32_t moment)
{
    if (word->made_at > memory->now.at[word->maker])
        hora__sim_end(HORA__SIM_FAILED,
                      "thread %d uses an atomic word that thread %d initialised, and nothing orders the two",
                      self_number(), word->maker);
    word->used.at[self_number()] = moment;
    word->last_use = weak.operations;
}

/* Ends the run if a use of the word by another thread did not happen before now, when the memory gets another
 * use. `what` is the verb for the message. */
static void check_unused(const struct word *word, const struct memory_of_thread *memory, const char *what)
{
    int other = not_before(&word->used, &memory->now);
    if (other >= 0)
        hora__sim_end(HORA__SIM_FAILED,
                      "thread %d %s an atomic word that thread %d has used, and nothing orders the two",
                      self_number(), what, other);
}

void hora__sim_weak_init(const void *address, int64_t value)
{
    struct memory_of_thread *memory = self_memory();
    uint32_t moment = tick(memory);
    struct word *word = find(address);
    if (word == NULL)
        word = new_word(address);
    if (word->last_use > memory->began) /* if not, it may have been on the stack of an earlier thread */
        check_unused(word, memory, "initialises");
    forget_stores(word);
    (void)push(word, value);
    word->maker = self_number();
    word->made_at = moment;
    memset(&word->used, 0, sizeof word->used);
    note_use(word, memory, moment);
}

void hora__sim_weak_use(const void *place)
{
    struct memory_of_thread *memory = self_memory();
    uint32_t moment = tick(memory);
    struct word *word = find(place);
    if (word != NULL)
        note_use(word, memory, moment);
}

/* ---- operations ---- */

/* Returns true if a load of this order must not return a store older than this one. */
static bool is_floor(const struct store *store, const struct memory_of_thread *memory, memory_order order)
{
    if (store->number <= weak.visible || any_before(&store->known, &memory->now))
        return true;
    if (store->is_sc && (order == memory_order_seq_cst || store->number <= memory->fence_number))
        return true;
    return order == memory_order_seq_cst && any_before(&store->known, &weak.fences);
}

/* Joins the clock of a store that is loaded: into the thread's clock if the load acquires, else into
 * `pending`. */
static void add_released(struct memory_of_thread *memory, const struct store *store, memory_order order)
{
    join(acquires(order) ? &memory->now : &memory->pending, &store->released);
}

int64_t hora__sim_weak_load(const void *address, int64_t newest, memory_order order)
{
    struct memory_of_thread *memory = self_memory();
    uint32_t moment = tick(memory);
    order = order_of(memory, order);
    struct word *word = find_current(address, newest);
    if (word == NULL)
        return newest;
    note_use(word, memory, moment);
    /* The options are the newest store and all older ones up to the first floor. */
    int options = 1;
    for (const struct store *s = word->newest; s->older != NULL && !is_floor(s, memory, order); s = s->older)
        options++;
    struct store *store = word->newest;
    if (options > 1)
        for (int choice = hora__sim_decide(SIM_STALE, options, 1); choice > 0; choice--)
            store = store->older;
    if (store->known.at[self_number()] == 0)
        store->known.at[self_number()] = moment;
    add_released(memory, store, order);
    return store->value;
}

/* Adds a store of the current thread to the history of a word. */
static void add_store(struct word *word, struct memory_of_thread *memory, int64_t value, memory_order order)
{
    struct store *store = push(word, value);
    store->number = ++weak.number;
    store->is_sc = order == memory_order_seq_cst;
    store->known.at[self_number()] = memory->now.at[self_number()];
    store->released = releases(order) ? memory->now : memory->fenced;
}

void hora__sim_weak_store(const void *address, int64_t before, int64_t value, memory_order order)
{
    struct memory_of_thread *memory = self_memory();
    uint32_t moment = tick(memory);
    struct word *word = find_or_make(address, before);
    note_use(word, memory, moment);
    add_store(word, memory, value, order_of(memory, order));
}

void hora__sim_weak_change(const void *address, int64_t before, int64_t value, memory_order order)
{
    struct memory_of_thread *memory = self_memory();
    uint32_t moment = tick(memory);
    order = order_of(memory, order);
    struct word *word = find_or_make(address, before);
    note_use(word, memory, moment);
    add_released(memory, word->newest, order);
    struct clock sequence = word->newest->released; /* of the store that is replaced: the release sequence */
    add_store(word, memory, value, order);
    join(&word->newest->released, &sequence);
}

void hora__sim_weak_miss(const void *address, int64_t newest, memory_order order)
{
    struct memory_of_thread *memory = self_memory();
    uint32_t moment = tick(memory);
    order = order_of(memory, order);
    struct word *word = find_current(address, newest);
    if (word == NULL)
        return;
    note_use(word, memory, moment);
    if (word->newest->known.at[self_number()] == 0)
        word->newest->known.at[self_number()] = moment;
    add_released(memory, word->newest, order);
}

void hora__sim_weak_fence(memory_order order)
{
    struct memory_of_thread *memory = self_memory();
    (void)tick(memory);
    if (acquires(order))
        join(&memory->now, &memory->pending);
    if (order == memory_order_seq_cst) {
        join(&memory->now, &weak.fences);
        weak.fences = memory->now;
        memory->fence_number = weak.number;
    }
    if (releases(order))
        memory->fenced = memory->now;
}

/* ---- the rest of the platform ---- */

/* Release and acquire order threads through a mutex or another object of the simulator: everything done
 * before release(x) happens before everything done after a later acquire(x). */
void hora__sim_weak_release(const void *object)
{
    if (!hora__sim_weak)
        return;
    struct memory_of_thread *memory = self_memory();
    uint32_t moment = tick(memory);
    struct word *word = find_or_make(object, 0);
    note_use(word, memory, moment);
    join(&word->newest->released, &memory->now);
}

void hora__sim_weak_acquire(const void *object)
{
    if (!hora__sim_weak)
        return;
    struct memory_of_thread *memory = self_memory();
    uint32_t moment = tick(memory);
    struct word *word = find_or_make(object, 0);
    note_use(word, memory, moment);
    join(&memory->now, &word->newest->released);
}

void hora__sim_weak_thread_new(const struct sim_thread *thread)
{
    if (!hora__sim_weak)
        return;
    int number = sim_number(thread);
    struct memory_of_thread *memory = &weak.threads[number];
    uint32_t last =
        memory->now.at[number]; /* the clock of a slot never goes back, even if another thread uses it */
    *memory = (struct memory_of_thread){.fence_number = 0};
    if (number >= weak.width)
        weak.width = number + 1;
    if (hora__sim.current != NULL) {
        (void)tick(self_memory());
        memory->now = self_memory()->now;
    }
    memory->now.at[number] = last + 1;
    memory->began = weak.operations;
}

void hora__sim_weak_thread_joined(const struct sim_thread *thread)
{
    if (!hora__sim_weak)
        return;
    (void)tick(self_memory());
    join(&self_memory()->now, &weak.threads[sim_number(thread)].now);
}

void hora__sim_weak_time_passes(void)
{
    weak.visible = weak.number;
}

/* Removes the words of one bucket that are in a block of memory. `what` is the verb for check_unused; NULL:
 * no check. */
static void empty_bucket(struct word **link, const char *start, size_t size, const char *what)
{
    while (*link != NULL) {
        struct word *word = *link;
        const char *byte = word->address;
        if (byte < start || byte >= start + size) {
            link = &word->next;
            continue;
        }
        if (what != NULL)
            check_unused(word, self_memory(), what);
        forget_stores(word);
        *link = word->next;
        word->next = weak.unused_words;
        weak.unused_words = word;
    }
}

/* Removes all words in a block of memory. */
static void forget(const void *start, size_t size, const char *what)
{
    uintptr_t last = ((uintptr_t)start + size - 1) >> LINE_SHIFT;
    for (uintptr_t line = (uintptr_t)start >> LINE_SHIFT; size > 0 && line <= last; line++)
        empty_bucket(bucket_of((const void *)(line << LINE_SHIFT)), start, size, what);
}

void hora__sim_weak_free(const void *start, size_t size)
{
    if (hora__sim_weak)
        forget(start, size, "frees");
}

void hora__sim_weak_forget(const void *start, size_t size)
{
    forget(start, size, NULL);
}

void hora__sim_weak_begin(void)
{
    hora__sim_weak = hora__sim.options.weak;
    if (!hora__sim_weak)
        return;
    for (int i = 0; i < weak.width; i++)
        weak.threads[i] = (struct memory_of_thread){.fence_number = 0};
    memset(&weak.fences, 0, sizeof weak.fences);
    weak.width = 0;
    weak.operations = 0;
    weak.number = 0;
    weak.visible = 0;
    weak.unused_words = NULL;
    weak.unused_stores = NULL;
    words_pool.used = 0;
    stores_pool.used = 0;
}

void hora__sim_weak_end(void)
{
    hora__sim_weak = false;
}
