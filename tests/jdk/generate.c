/* SPDX-License-Identifier: Apache-2.0 */
/* generate.c - random histories from a seed
 *
 * Each kind of history has tables of operations with weights. Arguments are drawn from where mistakes are
 * likely: timeouts and counts at the ends of their range, elements that are absent, present, present several
 * times, or NULL. */
#include "history.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

enum argument {
    NOTHING,
    ELEMENT,
    TIMEOUT,      /* any */
    NEVER_OR_NOW, /* a timeout that is over, or never passes: nothing depends on the speed of the machine */
    NOW,          /* a timeout that is over */
    COUNT,
    INDEX,
    SPAN,
    CONSTRUCTOR,
    WORKER,
};

struct operation {
    int weight; /* 0: the end of the table */
    const char *name;
    enum argument arguments[2];
};

static const struct operation insert[] = {
    {10, "put", {ELEMENT}},
    {12, "offer", {ELEMENT}},
    {6, "add", {ELEMENT}},
    {10, "offer_for", {ELEMENT, TIMEOUT}},
    {0},
};
static const struct operation extract[] = {
    {8, "take", {NOTHING}},
    {8, "poll", {NOTHING}},
    {8, "poll_for", {TIMEOUT}},
    {3, "remove_first", {NOTHING}},
    {4, "drain", {COUNT}},
    {1, "clear", {NOTHING}},
    {0},
};
static const struct operation examine[] = {
    {3, "peek", {NOTHING}},        {2, "first", {NOTHING}},     {3, "size", {NOTHING}},
    {1, "empty", {NOTHING}},       {3, "remaining", {NOTHING}}, {3, "snapshot", {NOTHING}},
    {3, "snapshot_into", {INDEX}}, {2, "iterate", {NOTHING}},   {0},
};
static const struct operation identify[] = {{6, "remove", {ELEMENT}}, {6, "contains", {ELEMENT}}, {0}};
static const struct operation identify_by_rank[] = {{8, "remove_nth", {INDEX}}, {0}};
static const struct operation misuse[] = {
    {1, "drain_null", {COUNT}}, {1, "snapshot_null", {NOTHING}}, {1, "construct", {CONSTRUCTOR}}, {0}};
static const struct operation interrupt[] = {
    {6, "interrupt", {NOTHING}},
    {2, "interrupted", {NOTHING}},
    {1, "is_interrupted", {NOTHING}},
    {1, "sleep", {NOTHING}},
    {0},
};
static const struct operation advance[] = {{14, "advance", {SPAN}}, {0}};
static const struct operation comparator[] = {{1, "comparator", {NOTHING}}, {0}};
static const struct operation latch[] = {
    {4, "count_down", {NOTHING}}, {4, "count", {NOTHING}},         {4, "await", {NOTHING}},
    {8, "await_for", {TIMEOUT}},  {1, "construct", {CONSTRUCTOR}}, {0},
};

/* What workers do may wait; what the main thread does beside them must not. */
static const struct operation worker_inserts[] = {
    {10, "put", {ELEMENT}}, {7, "offer_for", {ELEMENT, NEVER_OR_NOW}}, {2, "offer", {ELEMENT}}, {0}};
static const struct operation worker_extracts[] = {
    {10, "take", {NOTHING}}, {7, "poll_for", {NEVER_OR_NOW}}, {2, "poll", {NOTHING}}, {0}};
static const struct operation beside_workers[] = {
    {9, "offer", {ELEMENT}},
    {7, "poll", {NOTHING}},
    {3, "offer_for", {ELEMENT, NOW}},
    {3, "poll_for", {NOW}},
    {3, "drain", {COUNT}},
    {4, "remove", {ELEMENT}},
    {1, "clear", {NOTHING}},
    {1, "size", {NOTHING}},
    {1, "peek", {NOTHING}},
    {1, "remaining", {NOTHING}},
    {1, "snapshot", {NOTHING}},
    {8, "interrupt", {WORKER}},
    {0},
};
static const struct operation worker_awaits[] = {
    {8, "await", {NOTHING}}, {8, "await_for", {NEVER_OR_NOW}}, {0}};
static const struct operation beside_latch[] = {
    {2, "count_down", {NOTHING}}, {1, "count", {NOTHING}}, {4, "interrupt", {WORKER}}, {0}};

enum { MOST_TABLES = 8, STEPS_PER_TIDE = 10, BEARABLE_INTERRUPTS = 2 };

struct plan {
    const struct operation *tables[MOST_TABLES];        /* of the main thread */
    const struct operation *worker_tables[MOST_TABLES]; /* empty: no workers */
    int last_element;
    int workers;
    bool spare_waiters; /* interrupt only as many as the JDK can bear, see plan_with_workers */
};

/* SplitMix64: the same numbers on every machine. */
static uint64_t next_number(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int below(uint64_t *state, int bound)
{
    return (int)(next_number(state) % (uint64_t)bound);
}

static const struct operation *pick_operation(uint64_t *state, const struct operation *const *tables)
{
    int total = 0;
    for (int t = 0; tables[t] != NULL; t++)
        for (const struct operation *o = tables[t]; o->weight > 0; o++)
            total += o->weight;
    int left = below(state, total);
    for (int t = 0; tables[t] != NULL; t++)
        for (const struct operation *o = tables[t]; o->weight > 0; o++)
            if ((left -= o->weight) < 0)
                return o;
    return NULL;
}

static void print_argument(uint64_t *state, enum argument argument, int last_element)
{
    static const int64_t timeouts[] = {INT64_MIN, -1, 0, 1, 1000, INT64_MAX};
    static const int64_t never_or_now[] = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MIN, -1, 0};
    static const int32_t counts[] = {INT32_MIN, -1, 0, 1, 1, 2, 3, 5, INT32_MAX, INT32_MAX};
    static const char *const kinds[] = {"array", "linked", "priority", "latch"};
    static const int32_t sizes[] = {INT32_MIN, -1, 0, 1, 7};
    switch (argument) {
    case NOTHING:
        break;
    case ELEMENT: { /* few different ones at times, so that one is present several times; seldom NULL */
        int range = below(state, 2) == 0 ? 6 : last_element;
        printf(" %d", below(state, 25) == 0 ? 0 : 1 + below(state, range));
        break;
    }
    case TIMEOUT:
        printf(" %" PRId64, timeouts[below(state, LENGTH(timeouts))]);
        break;
    case NEVER_OR_NOW:
        printf(" %" PRId64, never_or_now[below(state, LENGTH(never_or_now))]);
        break;
    case NOW:
        printf(" %" PRId64, timeouts[below(state, 3)]);
        break;
    case COUNT:
        printf(" %" PRId32, counts[below(state, LENGTH(counts))]);
        break;
    case INDEX:
        printf(" %d", below(state, 10));
        break;
    case SPAN:
        printf(" %d", below(state, 60));
        break;
    case CONSTRUCTOR: {
        const char *kind = kinds[below(state, LENGTH(kinds))];
        printf(" %s %" PRId32, kind, sizes[below(state, LENGTH(sizes))]);
        break;
    }
    case WORKER:
        printf(" %d", 1 + below(state, MOST_WORKERS));
        break;
    }
}

/* Workers insert for a while, then they extract for a while, so that many of them wait for the same thing. */
static const struct operation *pick_for_worker(uint64_t *state, const struct plan *plan, int step)
{
    bool extracts = step / STEPS_PER_TIDE % 2 == 1 && plan->worker_tables[1] != NULL;
    const struct operation *const tide[] = {plan->worker_tables[extracts], NULL};
    return pick_operation(state, below(state, 4) == 0 ? plan->worker_tables : tide);
}

/* Ends whatever waits, so that the object can go. */
static void print_release(const struct plan *plan)
{
    if (plan->spare_waiters)
        printf("drain %" PRId32 "\n", INT32_MAX);
    for (int w = 1; w <= MOST_WORKERS; w++)
        printf("%s %d\n", plan->spare_waiters ? "offer" : "interrupt", w);
}

static void print_operations(uint64_t *state, const struct plan *plan)
{
    int interrupts = 0;
    int length = LONGEST_HISTORY / 4 + below(state, LONGEST_HISTORY * 3 / 4);
    bool has_workers = plan->worker_tables[0] != NULL;
    for (int i = 0; i < length; i++) {
        bool by_worker = has_workers && below(state, 5) < 3;
        if (by_worker)
            printf("%d: ", 1 + below(state, plan->workers));
        const struct operation *o =
            by_worker ? pick_for_worker(state, plan, i) : pick_operation(state, plan->tables);
        if (o->arguments[0] == WORKER && plan->spare_waiters && ++interrupts > BEARABLE_INTERRUPTS)
            o = &examine[0];
        fputs(o->name, stdout);
        for (int a = 0; a < LENGTH(o->arguments); a++)
            print_argument(state, o->arguments[a], plan->last_element);
        putchar('\n');
    }
    if (has_workers)
        print_release(plan);
    puts("end");
}

/* Prints what the object is, the rest of the history's first line, and says what may be done with it. */
static struct plan plan_single(uint64_t *state)
{
    static const int bounds[] = {1, 2, 3, 7, INT32_MAX};
    static const char *const forms[] = {"fixed", "stated", "asked"};
    struct plan plan = {
        {insert, extract, examine, misuse, interrupt, identify}, {NULL}, LAST_ELEMENT, 0, false};
    bool coin = below(state, 2) == 0;
    int form = below(state, LENGTH(forms));
    switch (below(state, 12)) {
    case 0:
    case 1:
    case 2:
        printf("array %d %s\n", 1 + below(state, 6), coin ? "fair" : "unfair");
        break;
    case 3:
    case 4:
        printf("linked %d\n", bounds[below(state, LENGTH(bounds))]);
        break;
    case 5:
        printf("synchronous %s\n", coin ? "fair" : "unfair");
        break;
    case 6:
    case 7:
        printf("priority %s\n", coin ? "total" : "ties");
        plan.tables[5] = coin ? identify : identify_by_rank;
        plan.tables[6] = comparator;
        break;
    case 8:
    case 9:
    case 10:
        printf("delay %s %s\n", coin ? "total" : "ties", forms[form]);
        plan.tables[5] = coin ? identify : identify_by_rank;
        plan.tables[6] = form == 0 ? NULL : advance;
        break;
    default:
        printf("latch %d\n", below(state, 5));
        plan = (struct plan){{latch, interrupt}, {NULL}, 0, 0, false};
    }
    return plan;
}

static struct plan plan_with_workers(uint64_t *state)
{
    static const struct plan only_extracting = {
        {beside_workers}, {worker_extracts}, LAST_ELEMENT, MOST_WORKERS, false};
    struct plan plan = {
        {beside_workers}, {worker_inserts, worker_extracts}, LAST_ELEMENT, MOST_WORKERS, false};
    bool fair = below(state, 2) == 0;
    switch (below(state, 10)) {
    case 0:
    case 1:
        printf("array %d %s\n", 1 + below(state, 3), fair ? "fair" : "unfair");
        break;
    case 2:
    case 3:
        printf("linked %d\n", 1 + below(state, 3));
        break;
    case 4:
    case 5:
        /* In JDK 17 an interrupted waiter of a fair queue can spin until another thread arrives. It takes an
         * interrupt of a waiter, one of the waiter behind it and, once the queue has moved on, one of the
         * last waiter. Its TransferQueue.clean then keeps looking at a node that left the list long ago. */
        printf("synchronous %s\n", fair ? "fair" : "unfair");
        plan.spare_waiters = fair;
        break;
    case 6:
        puts("priority total");
        plan = only_extracting;
        break;
    case 7: /* whom the JDK serves first when several wait for elements that are not due is not promised */
        puts("delay total fixed");
        plan = only_extracting;
        plan.last_element = LAST_DUE_ELEMENT;
        break;
    case 8:
        puts("delay total fixed");
        plan = only_extracting;
        plan.workers = 1;
        break;
    default:
        printf("latch %d\n", 1 + below(state, 4));
        plan = (struct plan){{beside_latch}, {worker_awaits}, 0, MOST_WORKERS, false};
    }
    return plan;
}

void generate_histories(uint64_t seed, int count)
{
    for (int i = 0; i < count; i++) {
        uint64_t state = seed + (uint64_t)i * UINT64_C(0x632be59bd9b4e019);
        bool with_workers = i % 10 == 9;
        printf("history %d %d ", i, with_workers ? MOST_WORKERS : 0);
        struct plan plan = with_workers ? plan_with_workers(&state) : plan_single(&state);
        print_operations(&state, &plan);
    }
}
