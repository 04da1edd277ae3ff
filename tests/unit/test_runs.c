/* SPDX-License-Identifier: Apache-2.0 */
/* test_runs.c - the store of runs against the plain heap, on random histories
 *
 * How it works    The same is done to both: elements are added one by one, as runs of any length and as groups, the first leaves, some are removed
 *                 from the middle. Then both must agree on the first element, on the size, and on the order of all that leave, ties
 *                 included; and the store must be sound. Memory is allocated for each run, so that AddressSanitizer sees what goes
 *                 beyond it, or back to a run that was given up. */
#include <stdlib.h>

#include "base/heap.h"
#include "base/runs.h"
#include "harness.h"

enum { MOST = 6000, ITEMS = 97, STEPS = 3000, HISTORIES = 40, HEADS = 4096 };

static struct hora__runs runs;
static struct hora__match heads[HEADS];
static struct hora__heap model;
static struct hora__heap_entry model_memory[MOST];
static int items[ITEMS];

static int by_due(const struct hora__heap_entry *a, const struct hora__heap_entry *b, void *context)
{
    (void)context;
    return (a->due > b->due) - (a->due < b->due);
}

static void begin(void)
{
    runs = (struct hora__runs){.size = 0};
    model = (struct hora__heap){.compare = by_due};
    hora__runs_init(&runs);
    CHECK_POINTER(hora__runs_move(&runs, heads, HEADS), NULL);
    (void)hora__heap_move(&model, model_memory, MOST);
}

static void free_run(struct hora__run *run)
{
    free(run); /* NULL mostly */
}

static struct hora__run *new_run(void)
{
    struct hora__run *run = malloc(sizeof *run);
    CHECK(run != NULL);
    hora__run_init(run);
    return run;
}

static bool has_extremes; /* times that cannot be sorted by short keys */

/* Few times, so many ties, or many; never among them. */
static int64_t some_due(uint32_t spread)
{
    if (has_extremes && test_random(50) == 0)
        return test_random(2) == 0 ? INT64_MAX : INT64_MIN;
    return (int64_t)test_random(spread) - (int64_t)(spread / 4);
}

static void add_one(uint32_t spread)
{
    if (model.size == MOST)
        return;
    if (runs.single_count == HORA__RUNS_MOST_SINGLES)
        hora__runs_pack(&runs, new_run());
    struct hora__heap_entry entry = {some_due(spread), model.next_sequence, &items[test_random(ITEMS)]};
    hora__heap_push(&model, entry.item, entry.due);
    hora__runs_push(&runs, &entry);
}

static void add_run(uint32_t spread)
{
    int count = 1 + (int)test_random(test_random(4) == 0 ? HORA__RUN_LENGTH : 20);
    if (model.size + count > MOST)
        return;
    struct hora__run *run = new_run();
    for (int i = 0; i < count; i++) {
        int64_t due = some_due(spread);
        void *item = &items[test_random(ITEMS)];
        hora__run_append(run, due, model.next_sequence, item);
        hora__heap_push(&model, item, due);
    }
    CHECK_INT(hora__run_is_full(run), count == HORA__RUN_LENGTH);
    hora__runs_add(&runs, run);
    free_run(hora__runs_tidy(&runs));
}

/* Full runs that are sorted together. */
static void add_group(uint32_t spread)
{
    int count = 2 + (int)test_random(HORA__GROUP_LENGTH - 1);
    struct hora__run *first = NULL;
    if (model.size + count * HORA__RUN_LENGTH > MOST)
        return;
    for (struct hora__run **link = &first; count > 0; count--, link = &(*link)->next) {
        *link = new_run();
        while (!hora__run_is_full(*link)) {
            int64_t due = some_due(spread);
            void *item = &items[test_random(ITEMS)];
            hora__run_append(*link, due, model.next_sequence, item);
            hora__heap_push(&model, item, due);
        }
    }
    hora__runs_add_group(&runs, first);
    free_run(hora__runs_tidy(&runs));
}

static void remove_first(void)
{
    struct hora__run *empty;
    if (model.size == 0)
        return;
    CHECK_INT(hora__runs_first(&runs)->due, model.entries[0].due);
    CHECK_INT(hora__runs_first(&runs)->place->sequence, model.entries[0].sequence);
    if (test_random(4) == 0)
        CHECK_POINTER(hora__runs_peek(&runs), model.entries[0].item);
    CHECK_POINTER(hora__runs_pop(&runs, &empty), hora__heap_pop(&model));
    free_run(empty);
}

static void remove_some(void)
{
    struct hora__run *empty;
    const void *item = &items[test_random(ITEMS)];
    int at = hora__heap_find(&model, item);
    CHECK_INT(hora__runs_find(&runs, item, false, &empty), at >= 0);
    CHECK_INT(hora__runs_find(&runs, item, true, &empty), at >= 0);
    if (at >= 0)
        (void)hora__heap_remove_at(&model, at);
    free_run(empty);
}

static void step(uint32_t spread, uint32_t pops)
{
    uint32_t choice = test_random(20);
    if (choice == 0 && test_random(4) == 0)
        add_group(spread);
    else if (choice == 0)
        add_run(spread);
    else if (choice <= 8)
        add_one(spread);
    else if (choice == 9)
        remove_some();
    else
        for (uint32_t i = 0; i < pops; i++)
            remove_first();
}

/* All that is copied is there, and nothing twice. */
static void check_copy(void)
{
    static void *copied[MOST + 1];
    int counts[ITEMS] = {0};
    copied[runs.size] = NULL;
    hora__runs_copy(&runs, copied, MOST);
    CHECK_POINTER(copied[runs.size], NULL);
    for (int i = 0; i < runs.size; i++)
        counts[(int *)copied[i] - items]++;
    for (int i = 0; i < model.size; i++)
        counts[(int *)model.entries[i].item - items]--;
    for (int i = 0; i < ITEMS; i++)
        CHECK_INT(counts[i], 0);
}

TEST_REAL(runs_agree_with_heap, "")
{
    for (int history = 0; history < HISTORIES; history++) {
        static const uint32_t spreads[] = {3, 40, 100000};
        uint32_t spread = spreads[test_random(3)];
        has_extremes = history % 2 == 0;
        begin();
        for (int i = 0; i < STEPS; i++) {
            step(spread, 1 + (uint32_t)(i / 500) % 4); /* it grows, then it shrinks */
            CHECK_INT(runs.size, model.size);
            if (i % 16 == 0)
                CHECK(hora__runs_check(&runs));
        }
        check_copy();
        while (model.size > 0)
            remove_first();
        CHECK_INT(runs.size, 0);
        CHECK_INT(runs.head_count, 0);
    }
}

/* Whatever is left, all of it can be stripped. */
TEST_REAL(runs_are_stripped, "")
{
    begin();
    for (int i = 0; i < 1000; i++)
        step(40, 1);
    while (model.size > 0) {
        struct hora__run *empty;
        const void *item = hora__runs_strip(&runs, &empty);
        int at = hora__heap_find(&model, item);
        CHECK(at >= 0);
        (void)hora__heap_remove_at(&model, at);
        free_run(empty);
        CHECK(runs.size % 16 != 0 || hora__runs_check(&runs));
    }
    CHECK_INT(runs.size, 0);
    CHECK_INT(runs.head_count, 0);
    CHECK_INT(runs.run_count, 0);
}

/* Of each run a few elements stay for ever: they do not keep the memory of all runs, and leave in order in the end. */
TEST_REAL(runs_do_not_waste_memory, "")
{
    enum { STAY = 8, ROUNDS = 600 };
    int most = 0;
    begin();
    for (int round = 0; round < ROUNDS; round++) {
        struct hora__run *run = new_run();
        for (int i = 0; i < HORA__RUN_LENGTH; i++) {
            int64_t due = i % (HORA__RUN_LENGTH / STAY) == 0 ? 1000 + (int64_t)test_random(1000) : i;
            hora__run_append(run, due, model.next_sequence, &items[i % ITEMS]);
            hora__heap_push(&model, &items[i % ITEMS], due);
        }
        hora__runs_add(&runs, run);
        free_run(hora__runs_tidy(&runs));
        while (model.entries[0].due < 1000)
            remove_first();
        CHECK(hora__runs_check(&runs));
        int memory = runs.run_count * HORA__RUN_LENGTH;
        most = memory > most ? memory : most;
    }
    CHECK_INT(runs.size, STAY * ROUNDS);
    CHECK(most < 5 * (STAY * ROUNDS + HORA__RUN_LENGTH));
    while (model.size > 0)
        remove_first();
}

/* The checker itself notices a run whose first element is not its first, and a heap that is none. */
TEST_REAL(runs_check_notices_disorder, "")
{
    struct hora__run *empty;
    begin();
    struct hora__run *run = new_run();
    for (int i = 0; i < 10; i++)
        hora__run_append(run, 10 - i, (uint64_t)i, &items[i]);
    hora__runs_add(&runs, run);
    CHECK(hora__runs_check(&runs));
    run->entries[3].due = -1;
    CHECK(!hora__runs_check(&runs));
    run->entries[3].due = 7;
    CHECK_POINTER(hora__runs_pop(&runs, &empty), &items[9]);
    CHECK(hora__runs_check(&runs));
    run->entries[5].due = 1;
    CHECK(!hora__runs_check(&runs));
    run->entries[5].due = 6;
    runs.size++;
    CHECK(!hora__runs_check(&runs));
    free(run);
}
