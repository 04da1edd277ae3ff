/* SPDX-License-Identifier: Apache-2.0 */
/* rule.c - computes when each task has to start, from hora/admission.h alone, and checks what must never
 * happen
 *
 * This is a second implementation that shares nothing with the library. It goes from one event to the next (a
 * task is submitted, a task ends, a rate lets a task start) and at each starts all tasks that may start.
 * Tasks that can never overtake each other are in one lane: the tasks of a key or, without keys, those of a
 * kind. So only the first task of each lane has to be checked. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../measure.h"
#include "fairness.h"

static const hora_ns NEVER = INT64_MAX;

struct lane {
    long *pieces; /* numbers of tasks, in the order of submission */
    long first;   /* index of the first one that waits */
    long count;   /* tasks submitted so far */
    bool is_busy; /* a task of this key runs */
};

struct class_state {
    int running;     /* tasks that run */
    hora_ns *begins; /* when its tasks started, rising */
    long begun;      /* elements of begins */
};

/* The state of the computation. */
struct rule {
    const struct setting *setting;
    const struct load *load;
    struct lane lanes[KEYS + 1]; /* by key, or by kind */
    int lane_count;
    struct class_state classes[MOST_KINDS]; /* by kind */
    long running[THREADS];                  /* numbers of the tasks that run; -1: the thread is free */
    long next;                              /* number of the task that is submitted next */
    hora_ns now;
    hora_ns retry;  /* when a rate lets a waiting task start; NEVER: none does */
    hora_ns *began; /* the result: when each task starts */
};

/* Returns the index of a task's lane. */
static int lane_of(const struct rule *rule, const struct piece *piece)
{
    return rule->setting->has_keys ? piece->key : piece->kind;
}

/* ---- which task may start ---- */

static int free_threads(const struct rule *rule)
{
    int count = 0;
    for (int i = 0; i < THREADS; i++)
        count += rule->running[i] < 0;
    return count;
}

/* Returns the number of threads that are reserved for the classes of other kinds and not used by them. */
static int kept_from(const struct rule *rule, int kind)
{
    int kept = 0;
    for (int i = 0; i < MOST_KINDS; i++) {
        int missing = rule->setting->classes[i].reserve - rule->classes[i].running;
        if (i != kind && missing > 0)
            kept += missing;
    }
    return kept;
}

/* Returns true if the first task of a lane may start now. If only a rate prevents it, updates rule->retry. */
static bool may_begin(struct rule *rule, const struct lane *lane)
{
    const struct piece *piece = &rule->load->pieces[lane->pieces[lane->first]];
    const hora_class_options *options = &rule->setting->classes[piece->kind];
    const struct class_state *state = &rule->classes[piece->kind];

    if (lane->is_busy || free_threads(rule) <= kept_from(rule, piece->kind))
        return false;
    if (options->limit > 0 && state->running == options->limit)
        return false;
    if (options->rate > 0 && state->begun >= options->rate) {
        hora_ns from = state->begins[state->begun - options->rate] + options->per;
        if (rule->now < from) {
            rule->retry = from < rule->retry ? from : rule->retry;
            return false;
        }
    }
    return true;
}

/* Returns true if a starts before b if both may start. A level of priority is worth `ageing` of waiting time,
 * or any time if the ageing is HORA_FOREVER. */
static bool goes_before(const struct setting *setting, const struct piece *a, const struct piece *b)
{
    int levels = setting->has_priorities ? priority_of(a) - priority_of(b) : 0;
    if (setting->ageing == HORA_FOREVER && levels != 0)
        return levels > 0;
    hora_ns worth = levels == 0 ? 0 : levels * setting->ageing;
    return a->came - worth < b->came;
}

/* Returns the lane whose first task starts next; NULL: no task may start. */
static struct lane *next_lane(struct rule *rule)
{
    struct lane *best = NULL;
    const struct piece *pieces = rule->load->pieces;

    for (int i = 0; i < rule->lane_count; i++) {
        struct lane *lane = &rule->lanes[i];
        if (lane->first == lane->count)
            continue;
        const struct piece *piece = &pieces[lane->pieces[lane->first]];
        if ((best == NULL || goes_before(rule->setting, piece, &pieces[best->pieces[best->first]])) &&
            may_begin(rule, lane))
            best = lane;
    }
    return best;
}

/* ---- events ---- */

/* Starts the first task of a lane on a free thread. */
static void begin_one(struct rule *rule, struct lane *lane)
{
    long number = lane->pieces[lane->first++];
    struct class_state *state = &rule->classes[rule->load->pieces[number].kind];
    int slot = 0;

    while (rule->running[slot] >= 0)
        slot++;
    rule->running[slot] = number;
    rule->began[number] = rule->now;
    lane->is_busy = rule->setting->has_keys;
    state->running++;
    state->begins[state->begun++] = rule->now;
}

/* Starts all tasks that may start now. */
static void begin_all(struct rule *rule)
{
    rule->retry = NEVER;
    while (free_threads(rule) > 0) {
        struct lane *lane = next_lane(rule);
        if (lane == NULL)
            return;
        begin_one(rule, lane);
        rule->retry = NEVER;
    }
}

/* Returns when the task of a thread ends; NEVER: the thread is free. */
static hora_ns end_of(const struct rule *rule, int slot)
{
    long number = rule->running[slot];
    return number < 0 ? NEVER : rule->began[number] + rule->load->pieces[number].takes;
}

/* Advances to the next event: a task is submitted, a task ends, or a rate lets a task start. Returns false if
 * there is none. */
static bool go_on(struct rule *rule)
{
    const struct piece *pieces = rule->load->pieces;
    hora_ns comes = rule->next < rule->load->count ? pieces[rule->next].came : NEVER;
    int slot = 0;
    for (int i = 1; i < THREADS; i++)
        if (end_of(rule, i) < end_of(rule, slot))
            slot = i;
    hora_ns ends = end_of(rule, slot);

    if (comes == NEVER && ends == NEVER && rule->retry == NEVER)
        return false;
    /* The order of events in the same nanosecond is undefined. If this fails, the load needs another seed. */
    MUST(comes != ends || comes == NEVER);
    MUST((rule->retry != comes && rule->retry != ends) || rule->retry == NEVER);
    if (comes < ends && comes < rule->retry) {
        struct lane *lane = &rule->lanes[lane_of(rule, &pieces[rule->next])];
        lane->pieces[lane->count++] = rule->next++;
        rule->now = comes;
    } else if (ends < rule->retry) {
        const struct piece *piece = &pieces[rule->running[slot]];
        rule->lanes[lane_of(rule, piece)].is_busy = false;
        rule->classes[piece->kind].running--;
        rule->running[slot] = -1;
        rule->now = ends;
    } else {
        rule->now = rule->retry;
    }
    return true;
}

/* ---- the computation ---- */

/* Allocates zeroed memory for count + 1 elements, so that a count of 0 needs no special case. */
static void *make(long count, size_t size)
{
    void *made = calloc((size_t)count + 1, size);
    MUST(made != NULL);
    return made;
}

static struct rule *rule_new(const struct setting *setting, const struct load *load)
{
    struct rule *rule = make(1, sizeof(*rule));

    rule->setting = setting;
    rule->load = load;
    rule->lane_count = setting->has_keys ? KEYS + 1 : load->kind_count;
    rule->began = make(load->count, sizeof(*rule->began));
    memset(rule->running, -1, sizeof(rule->running));
    /* Count the tasks of each lane first, to allocate its array. */
    for (long i = 0; i < load->count; i++)
        rule->lanes[lane_of(rule, &load->pieces[i])].count++;
    for (int i = 0; i < rule->lane_count; i++) {
        rule->lanes[i].pieces = make(rule->lanes[i].count, sizeof(long));
        rule->lanes[i].count = 0;
    }
    for (int i = 0; i < MOST_KINDS; i++)
        rule->classes[i].begins = make(load->count, sizeof(hora_ns));
    return rule;
}

static void rule_free(struct rule *rule)
{
    for (int i = 0; i < rule->lane_count; i++)
        free(rule->lanes[i].pieces);
    for (int i = 0; i < MOST_KINDS; i++)
        free(rule->classes[i].begins);
    free(rule->began);
    free(rule);
}

void check_by_rule(const struct setting *setting, const struct load *load)
{
    struct rule *rule = rule_new(setting, load);

    do
        begin_all(rule);
    while (go_on(rule));
    for (long i = 0; i < load->count; i++) {
        const struct piece *piece = &load->pieces[i];
        if (piece->began == rule->began[i])
            continue;
        fprintf(stderr,
                "%s: task %ld (%s) came at %" PRId64 " ns and began at %" PRId64 ", not at %" PRId64 "\n",
                setting->name, i, load->kinds[piece->kind], piece->came, piece->began, rule->began[i]);
        exit(1);
    }
    rule_free(rule);
}

/* ---- what must never happen ---- */

static int by_beginning(const void *a, const void *b)
{
    const struct piece *const *x = a;
    const struct piece *const *y = b;
    return ((*x)->began > (*y)->began) - ((*x)->began < (*y)->began);
}

/* Returns all tasks in the order in which they started. The caller frees the array. */
static const struct piece **in_order_of_beginning(const struct load *load)
{
    const struct piece **order = make(load->count, sizeof(struct piece *));

    for (long i = 0; i < load->count; i++)
        order[i] = &load->pieces[i];
    qsort(order, (size_t)load->count, sizeof(order[0]), by_beginning);
    return order;
}

hora_ns most_passed_over(const struct load *load)
{
    const struct piece **order = in_order_of_beginning(load);
    hora_ns most = 0;
    long oldest = 0; /* the first task that waits: all before it have started */

    for (long i = 0; i < load->count; i++) {
        hora_ns now = order[i]->began;
        while (oldest < load->count && load->pieces[oldest].began <= now)
            oldest++;
        if (oldest < load->count && order[i]->came - load->pieces[oldest].came > most)
            most = order[i]->came - load->pieces[oldest].came;
    }
    free(order);
    return most;
}

int most_at_once(const struct load *load, int kind)
{
    const struct piece **order = in_order_of_beginning(load);
    hora_ns ends[THREADS] = {0}; /* when the last task of the kind on each thread ends */
    int most = 0;

    for (long i = 0; i < load->count; i++) {
        int running = 1;
        int slot = -1;
        if (order[i]->kind != kind)
            continue;
        for (int j = 0; j < THREADS; j++) {
            running += ends[j] > order[i]->began;
            slot = ends[j] > order[i]->began ? slot : j;
        }
        MUST(slot >= 0); /* if not, more tasks ran than there are threads */
        ends[slot] = order[i]->began + order[i]->takes;
        most = running > most ? running : most;
    }
    free(order);
    return most;
}

int most_begun(const struct load *load, int kind, hora_ns per)
{
    const struct piece **order = in_order_of_beginning(load);
    long last = 0;  /* the first task of the kind that is still within `per` */
    int within = 0; /* tasks of the kind from `last` to the current one */
    int most = 0;

    for (long i = 0; i < load->count; i++) {
        if (order[i]->kind != kind)
            continue;
        within++;
        for (; order[last]->kind != kind || order[last]->began + per <= order[i]->began; last++)
            within -= order[last]->kind == kind;
        most = within > most ? within : most;
    }
    free(order);
    return most;
}

bool keys_in_order(const struct load *load)
{
    hora_ns *ends = make(KEYS + 1, sizeof(*ends));
    bool in_order = true;

    for (long i = 0; i < load->count; i++) { /* in the order of submission */
        const struct piece *piece = &load->pieces[i];
        in_order = in_order && piece->began >= ends[piece->key];
        ends[piece->key] = piece->began + piece->takes;
    }
    free(ends);
    return in_order;
}
