/* SPDX-License-Identifier: Apache-2.0 */
/* gate_choice.c - who may begin, who is next, and why another is not; walking through those that wait
 *
 * How it works    A class lets one begin if its limit and its rate do, and a thread is left: the running tasks and the threads that are
 *                 kept for other classes are fewer than all threads. All of this is counted anew for each choice: there are few
 *                 classes, and so limits, reserves and the number of threads can change at any time. In a class the first that is
 *                 READY is next: so the choice is between as many as there are classes.
 * Reserves        Together they must leave one thread for everybody. So they are granted in the order of the classes, until one
 *                 thread is left. What a class runs is counted against its own reserve first. */
#include <assert.h>

#include "base/fault.h"
#include "base/gate.h"
#include "base/ns.h"
#include "base/touch.h"

/* NOLINTBEGIN(bugprone-macro-parentheses): a declaration has none */
#define EACH_CLASS(gate, link)                      \
    struct hora__list *link = (gate)->classes.next; \
    link != &(gate)->classes;                       \
    link = link->next
/* NOLINTEND(bugprone-macro-parentheses) */

static struct hora__gate_class *class_at(struct hora__list *link)
{
    HORA__TOUCH(1);
    return HORA__LIST_ENTRY(link, struct hora__gate_class, link);
}

static struct hora__ticket *ticket_at(struct hora__tree_node *node)
{
    return node == NULL ? NULL : HORA__TREE_ENTRY(node, struct hora__ticket, place);
}

static struct hora__ticket *earlier(struct hora__ticket *a, struct hora__ticket *b)
{
    if (a == NULL || b == NULL)
        return a == NULL ? b : a;
    return hora__tree_is_before(&a->place, b->place.major, b->place.minor) ? a : b;
}

/* ---- what holds a class back ---- */

/* How many threads can be kept for classes. */
static int most_reserved(int threads)
{
    return threads > 1 ? threads - 1 : 0;
}

/* How many threads are kept for the class beyond those that it uses. *left: what can be kept for it and those after it. */
static int kept_for(const struct hora__gate_class *class, int *left)
{
    int granted = class->reserve < *left ? class->reserve : *left;
    if (HORA__FAULT(GATE_RESERVES_NOTHING))
        return 0;
    *left -= granted;
    return granted > class->running ? granted - class->running : 0;
}

/* For all classes together. */
static int kept_for_all(const struct hora__gate *gate, int threads)
{
    int left = most_reserved(threads);
    int kept = 0;
    for (EACH_CLASS(gate, link))
        kept += kept_for(class_at(link), &left);
    return kept;
}

static bool is_at_limit(const struct hora__gate_class *class)
{
    int most = class->limit + (HORA__FAULT(GATE_LIMIT_IS_ONE_MORE) ? 1 : 0);
    return class->limit > 0 && class->running >= most;
}

/* When the rate lets one begin. */
static hora_ns rate_lets(const struct hora__gate_class *class)
{
    if (class->rate == 0 || class->start_count < class->rate)
        return INT64_MIN;
    return hora__ns_add(class->starts[class->start_next], class->per);
}

/* ---- the choice ---- */

/* The best at this time, and when there is one at all: the classes that only their rate holds back tell. */
struct choice {
    struct hora__ticket *best;
    hora_ns next;
};

static void look_at(const struct hora__gate_class *class, hora_ns now, struct choice *choice)
{
    hora_ns lets = rate_lets(class);
    if (lets <= now)
        choice->best = earlier(choice->best, ticket_at(class->ready.first));
    if (lets < choice->next)
        choice->next = lets;
}

static struct choice choose(const struct hora__gate *gate, hora_ns now, int threads)
{
    struct choice choice = {NULL, HORA_FOREVER};
    if (gate->waiting == 0 || gate->running >= threads)
        return choice;
    int all_kept = kept_for_all(gate, threads);
    int left = most_reserved(threads);
    for (EACH_CLASS(gate, link)) {
        const struct hora__gate_class *class = class_at(link);
        int kept_for_others = all_kept - kept_for(class, &left);
        if (!hora__tree_is_empty(&class->ready) && !is_at_limit(class) && gate->running + kept_for_others < threads)
            look_at(class, now, &choice);
    }
    return choice;
}

struct hora__ticket *hora__gate_best(const struct hora__gate *gate, hora_ns now, int threads)
{
    return choose(gate, now, threads).best;
}

hora_ns hora__gate_next(const struct hora__gate *gate, hora_ns now, int threads)
{
    return choose(gate, now, threads).next;
}

/* ---- why not ---- */

static int kept_for_others(const struct hora__gate *gate, const struct hora__gate_class *own, int threads)
{
    int left = most_reserved(threads);
    int kept = 0;
    for (EACH_CLASS(gate, link)) {
        const struct hora__gate_class *class = class_at(link);
        int kept_for_it = kept_for(class, &left);
        kept += class == own ? 0 : kept_for_it;
    }
    return kept;
}

static int ready_before(const struct hora__gate *gate, const struct hora__ticket *ticket)
{
    int count = 0;
    hora_ns time = hora__gate_virtual_time(gate, ticket);
    for (EACH_CLASS(gate, link))
        count += hora__tree_rank(&class_at(link)->ready, time, ticket->sequence);
    return count;
}

static void fill_in(const struct hora__gate *gate, const struct hora__ticket *ticket, int threads,
                    struct hora__gate_reason *reason)
{
    *reason = (struct hora__gate_reason){
        .limit = ticket->class->limit,
        .class_running = ticket->class->running,
        .until = rate_lets(ticket->class),
        .running = gate->running,
        .reserved = kept_for_others(gate, ticket->class, threads),
        .before = ready_before(gate, ticket),
    };
    if (ticket->state == HORA__TICKET_LANE) {
        reason->first = hora__gate_first_of_key(gate, ticket->key);
        reason->behind = 1 + hora__tree_rank(&reason->first->behind, ticket->place.major, ticket->place.minor);
        reason->key_runs = reason->first->state == HORA__TICKET_RUNS;
    }
}

enum hora__why hora__gate_why(const struct hora__gate *gate, const struct hora__ticket *ticket, hora_ns now,
                              int threads, struct hora__gate_reason *ret_reason)
{
    assert(ticket->state == HORA__TICKET_LANE || ticket->state == HORA__TICKET_READY);
    fill_in(gate, ticket, threads, ret_reason);
    if (ret_reason->behind > 0)
        return HORA__WHY_KEY;
    if (is_at_limit(ticket->class))
        return HORA__WHY_LIMIT;
    if (ret_reason->until > now)
        return HORA__WHY_RATE;
    if (gate->running >= threads)
        return HORA__WHY_BUSY;
    if (gate->running + ret_reason->reserved >= threads)
        return HORA__WHY_RESERVED;
    return hora__gate_best(gate, now, threads) == ticket ? HORA__WHY_NOTHING : HORA__WHY_TURN;
}

/* ---- walking ---- */

static struct hora__ticket *linked_at(const struct hora__gate *gate, struct hora__list *link)
{
    HORA__TOUCH(1);
    return link == &gate->all ? NULL : HORA__LIST_ENTRY(link, struct hora__ticket, link);
}

struct hora__ticket *hora__gate_first(const struct hora__gate *gate)
{
    return linked_at(gate, gate->all.next);
}

struct hora__ticket *hora__gate_after(const struct hora__gate *gate, const struct hora__ticket *ticket)
{
    return linked_at(gate, ticket->link.next);
}

/* The first of all classes that is not before this place. */
static struct hora__ticket *ready_from(const struct hora__gate *gate, int64_t major, uint64_t minor)
{
    struct hora__ticket *first = NULL;
    for (EACH_CLASS(gate, link))
        first = earlier(first, ticket_at(hora__tree_search(&class_at(link)->ready, major, minor)));
    return first;
}

struct hora__ticket *hora__gate_first_ready(const struct hora__gate *gate)
{
    return ready_from(gate, INT64_MIN, 0);
}

struct hora__ticket *hora__gate_after_ready(const struct hora__gate *gate, const struct hora__ticket *ticket)
{
    assert(ticket->state == HORA__TICKET_READY);
    return ready_from(gate, ticket->place.major, ticket->place.minor + 1);
}

static struct hora__ticket *lane_at(struct hora__tree_node *node)
{
    return node == NULL ? NULL : HORA__TREE_ENTRY(node, struct hora__ticket, lane);
}

struct hora__ticket *hora__gate_first_lane(const struct hora__gate *gate)
{
    return lane_at(gate->lanes.first);
}

struct hora__ticket *hora__gate_after_lane(const struct hora__ticket *first)
{
    return lane_at(hora__tree_next(&first->lane));
}

int hora__gate_lane_length(const struct hora__ticket *first)
{
    return hora__tree_size(&first->behind);
}

hora_ns hora__gate_oldest(const struct hora__gate *gate)
{
    hora_ns oldest = HORA_FOREVER;
    const struct hora__ticket *ticket = hora__gate_first(gate);
    for (bool is_back = true; ticket != NULL && is_back; ticket = hora__gate_after(gate, ticket)) {
        is_back = ticket->is_back;
        oldest = ticket->since < oldest ? ticket->since : oldest;
    }
    return oldest;
}

/* ---- checking ---- */

/* I5. */
static bool check_starts(const struct hora__gate_class *class)
{
    int oldest = class->start_count < class->rate ? 0 : class->start_next;
    for (int i = 1; i < class->start_count; i++)
        if (class->starts[(oldest + i) % class->rate] < class->starts[(oldest + i - 1) % class->rate])
            return false;
    return class->start_count <= class->rate;
}

static bool check_class(const struct hora__gate *gate, const struct hora__gate_class *class)
{
    int count = 0;
    if (!hora__tree_check(&class->ready))
        return false;
    for (struct hora__tree_node *node = class->ready.first; node != NULL; node = hora__tree_next(node), count++) {
        const struct hora__ticket *ticket = ticket_at(node);
        if (ticket->state != HORA__TICKET_READY || ticket->class != class ||
            node->major != hora__gate_virtual_time(gate, ticket) || node->minor != ticket->sequence)
            return false;
    }
    return count <= class->waiting && check_starts(class);
}

/* Returns how many wait behind it; -1: something is wrong. */
static int check_lane(const struct hora__ticket *first)
{
    bool is_ready = first->state == HORA__TICKET_READY;
    if (!hora__tree_check(&first->behind) || (!is_ready && first->state != HORA__TICKET_RUNS) ||
        first->lane.major != (int64_t)first->key || first->key == 0)
        return -1;
    for (struct hora__tree_node *node = first->behind.first; node != NULL; node = hora__tree_next(node)) {
        const struct hora__ticket *ticket = ticket_at(node);
        if (ticket->state != HORA__TICKET_LANE || ticket->key != first->key ||
            (is_ready && ticket->sequence < first->sequence))
            return -1;
    }
    return hora__gate_lane_length(first);
}

static int count_linked(const struct hora__gate *gate)
{
    int count = 0;
    for (const struct hora__ticket *ticket = hora__gate_first(gate); ticket != NULL;
         ticket = hora__gate_after(gate, ticket))
        count += ticket->state == HORA__TICKET_LANE || ticket->state == HORA__TICKET_READY;
    return count;
}

bool hora__gate_check(const struct hora__gate *gate)
{
    int found = 0;
    int waiting = 0;
    int running = 0;
    if (!hora__tree_check(&gate->lanes))
        return false;
    for (EACH_CLASS(gate, link)) {
        const struct hora__gate_class *class = class_at(link);
        if (!check_class(gate, class)) /* I2, I5 */
            return false;
        found += hora__tree_size(&class->ready);
        waiting += class->waiting;
        running += class->running;
    }
    for (const struct hora__ticket *first = hora__gate_first_lane(gate); first != NULL;
         first = hora__gate_after_lane(first)) {
        int length = check_lane(first);
        if (length < 0) /* I1 */
            return false;
        found += length;
    }
    return found == gate->waiting && waiting == gate->waiting && running == gate->running &&
           count_linked(gate) == gate->waiting; /* I3, I4 */
}
