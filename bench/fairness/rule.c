/* SPDX-License-Identifier: Apache-2.0 */
/* rule.c - when each task has to begin, by hora/admission.h alone, and what must never be seen
 *
 * A second opinion that shares nothing with the library: it goes from one thing that happens to the next, a task that comes, one that ends, a
 * rate that lets one begin, and at each begins what may begin. Tasks of which none can ever overtake the other stand in one lane: those of a
 * key, else those of a kind. So only the first of each lane is looked at. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../measure.h"
#include "fairness.h"

static const hora_ns NEVER = INT64_MAX;

struct lane {
    long *pieces; /* by number, in the order in which they came */
    long first;   /* from here on they wait */
    long count;
    bool is_busy; /* one of its key runs */
};

struct class_state {
    int running;
    hora_ns *begins;
    long begun;
};

struct rule {
    const struct setting *setting;
    const struct load *load;
    struct lane lanes[KEYS + 1];
    int lane_count;
    struct class_state classes[MOST_KINDS];
    long running[THREADS]; /* numbers of pieces; -1: none */
    long next;             /* to come */
    hora_ns now;
    hora_ns retry; /* when a rate lets something begin that waits */
    hora_ns *began;
};

static int lane_of(const struct rule *rule, const struct piece *piece)
{
    return rule->setting->has_keys ? piece->key : piece->kind;
}

/* ---- who may begin ---- */

static int free_threads(const struct rule *rule)
{
    int count = 0;
    for (int i = 0; i < THREADS; i++)
        count += rule->running[i] < 0;
    return count;
}

/* So many threads are kept for classes other than that of this kind. */
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

static bool goes_before(const struct setting *setting, const struct piece *a, const struct piece *b)
{
    int levels = setting->has_priorities ? priority_of(a) - priority_of(b) : 0;
    if (setting->ageing == HORA_FOREVER && levels != 0)
        return levels > 0;
    hora_ns worth = levels == 0 ? 0 : levels * setting->ageing;
    return a->came - worth < b->came;
}

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

/* ---- what happens ---- */

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

static hora_ns end_of(const struct rule *rule, int slot)
{
    long number = rule->running[slot];
    return number < 0 ? NEVER : rule->began[number] + rule->load->pieces[number].takes;
}

/* The next thing happens. False: nothing does any more. */
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
    /* What happens in the same nanosecond may happen in any order: then the load needs another seed. */
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

/* ---- the whole ---- */

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

/* ---- what must never be seen ---- */

static int by_beginning(const void *a, const void *b)
{
    const struct piece *const *x = a;
    const struct piece *const *y = b;
    return ((*x)->began > (*y)->began) - ((*x)->began < (*y)->began);
}

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
    long oldest = 0; /* all before it have begun */

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
    hora_ns ends[THREADS] = {0};
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
        MUST(slot >= 0); /* else more ran than there are threads */
        ends[slot] = order[i]->began + order[i]->takes;
        most = running > most ? running : most;
    }
    free(order);
    return most;
}

int most_begun(const struct load *load, int kind, hora_ns per)
{
    const struct piece **order = in_order_of_beginning(load);
    long last = 0; /* the first of the kind that is still within `per` */
    int within = 0;
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

    for (long i = 0; i < load->count; i++) { /* as they came */
        const struct piece *piece = &load->pieces[i];
        in_order = in_order && piece->began >= ends[piece->key];
        ends[piece->key] = piece->began + piece->takes;
    }
    free(ends);
    return in_order;
}
