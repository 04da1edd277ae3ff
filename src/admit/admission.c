/* SPDX-License-Identifier: Apache-2.0 */
/* admission.c - admission control: which waiting task may begin now
 *
 * Structure       Each class has a tree of its READY tickets, ordered by virtual time. A key in use is
 *                 represented by its first ticket, which is READY or RUNS. That ticket is in the tree of
 *                 keys, and owns a tree of the tickets behind it, which are BEHIND and in no class's tree.
 *                 When the first ticket is OUT, the next one takes over its place in the tree of keys and the
 *                 tree of those behind it, and becomes READY. So keys need no memory of their own, and
 *                 nothing has to grow.
 * Choice          A task of a class may begin if the limit and the rate of the class allow it, and if a
 *                 thread is left: the running tasks and the threads reserved for other classes together are
 *                 fewer than all threads. Each choice computes this again, which is cheap because there are
 *                 few classes. So limits, reserves and the number of threads can change at any time. Within a
 *                 class the first READY ticket is next, so a choice compares one ticket per class.
 * Reserves        All reserves together must leave one thread for every class. They are granted in the order
 *                 of the classes, until one thread is left. The running tasks of a class use its own reserve
 *                 first.
 * Virtual time    since - (level - 1) * ageing. With since in [0, 2^62) and ageing up to 2^62 the four levels
 *                 just fit into 64 bits: nothing saturates, and with the longest ageing each level lies
 *                 entirely before the one below.
 *
 * Invariants      I1 Of each key in use exactly one ticket, the first, is in the tree of keys. It is READY or
 *                    RUNS. If it is READY, it arrived before all others with its key. Those are BEHIND, and
 *                    in its tree.
 *                 I2 A ticket is in its class's tree if and only if it is READY.
 *                 I3 BEHIND and READY tickets are in the list of all that wait; OUT and RUNS are not.
 *                 I4 The counts are those of the tickets; uncounted runs count nowhere.
 *                 I5 The starts of a class are in order of time.
 *                 I6 An awaited ticket waits. It is BEHIND, or was when it became awaited. */
#include "admit/admission.h"

#include <assert.h>
#include <stddef.h>

#include "base/build.h"
#include "base/fault.h"
#include "base/ns.h"

/* Upper bound of ageing, and of `since`; see "Virtual time". */
static const hora_ns longest = INT64_C(1) << 62;

/* Asserts that the caller holds the lock, if that is known. */
#define ASSERT_LOCKED(admission) assert((admission)->lock == NULL || hora__mutex_held((admission)->lock))

/* NOLINTBEGIN(bugprone-macro-parentheses): a declaration has none */
/* The head of a for loop over the links of all classes. */
#define EACH_CLASS(admission, link)                      \
    struct hora__list *link = (admission)->classes.next; \
    link != &(admission)->classes;                       \
    link = link->next
/* NOLINTEND(bugprone-macro-parentheses) */

static struct hora__admission_class *class_at(struct hora__list *link)
{
    assert(link != NULL);
    HORA__TOUCH(1);
    return HORA__LIST_ENTRY(link, struct hora__admission_class, link);
}

/* Returns the ticket whose `place` is this node; NULL for NULL. */
static struct hora__ticket *ticket_at(struct hora__tree_node *node)
{
    return node == NULL ? NULL : HORA__TREE_ENTRY(node, struct hora__ticket, place);
}

/* ---- admission and classes ---- */

void hora__admission_init(struct hora__admission *admission, hora_ns ageing,
                          int (*threads)(const void *context), const void *context, const hora__mutex *lock)
{
    assert(ageing >= 0 && threads != NULL);
    *admission = (struct hora__admission){
        .ageing = ageing < longest ? ageing : longest, .threads = threads, .context = context, .lock = lock};
    hora__list_init(&admission->classes);
    hora__list_init(&admission->waiting_tickets);
    hora__list_init(&admission->awaited);
    hora__atomic_init(&admission->awaited_count, 0);
    hora__list_init(&admission->plain.link);
    hora__list_add_last(&admission->classes, &admission->plain.link);
}

void hora__admission_destroy(const struct hora__admission *admission)
{
    assert(admission->waiting == 0 && admission->running == 0);
    assert(hora__list_is_empty(&admission->awaited) && hora__tree_is_empty(&admission->keys));
    (void)admission;
}

void hora__admission_add_class(struct hora__admission *admission, struct hora__admission_class *class)
{
    ASSERT_LOCKED(admission);
    assert(class->rate == 0 || (class->starts != NULL && class->per > 0));
    class->ready = (struct hora__tree){NULL, NULL};
    class->running = 0;
    class->waiting = 0;
    class->started = 0;
    class->start_count = 0;
    class->start_next = 0;
    hora__list_add_last(&admission->classes, &class->link);
}

hora_ns *hora__admission_set_rate(struct hora__admission_class *class, int rate, hora_ns per, hora_ns *starts)
{
    assert(rate == 0 || (starts != NULL && per > 0));
    hora_ns *old = class->starts;
    class->rate = rate;
    class->per = per;
    class->starts = starts;
    class->start_count = 0;
    class->start_next = 0;
    return old;
}

/* Counts a start and, if the class has a rate, writes its time into the ring. Threads may report their starts
 * in another order than they read the clock, so the time is at least that of the last start (I5). */
static void note_start(struct hora__admission_class *class, hora_ns now)
{
    assert(class->rate == 0 || class->starts != NULL);
    class->started++;
    if (class->rate == 0)
        return;
    assert(class->start_next < class->rate && class->start_count <= class->rate);
    int last = (class->start_next > 0 ? class->start_next : class->rate) - 1;
    if (class->start_count > 0)
        now = hora__ns_max(now, class->starts[last]);
    class->starts[class->start_next] = now;
    class->start_next = class->start_next + 1 < class->rate ? class->start_next + 1 : 0;
    class->start_count += class->start_count < class->rate;
}

/* ---- tickets ---- */

void hora__ticket_init(struct hora__ticket *ticket, struct hora__admission_class *class, uint64_t key,
                       int level)
{
    assert(level >= 0 && level < HORA__LEVELS);
    *ticket = (struct hora__ticket){.class = class, .key = key, .level = level, .state = HORA__TICKET_OUT};
    hora__list_init(&ticket->link);
    hora__list_init(&ticket->awaited);
    hora__atomic_init(&ticket->is_in_use, 0);
}

/* Returns the virtual time by which READY tickets are ordered; see "Virtual time". */
static hora_ns virtual_time(const struct hora__admission *admission, const struct hora__ticket *ticket)
{
    assert(ticket->level >= 0 && ticket->level < HORA__LEVELS);
    hora_ns since = ticket->since < 0 ? 0 : ticket->since < longest ? ticket->since : longest - 1;
    /* The factor is -2 at least, and -2 * 2^62 fits into 64 bits; 2 * 2^62 would not. */
    return (HORA__LEVEL_NORMAL - ticket->level) * admission->ageing + since;
}

/* Makes a ticket READY: inserts it into the tree of its class. */
static void make_ready(const struct hora__admission *admission, struct hora__ticket *ticket)
{
    assert(ticket->class != NULL);
    ticket->state = HORA__TICKET_READY;
    ticket->place.major = virtual_time(admission, ticket);
    ticket->place.minor = ticket->sequence;
    hora__tree_insert(&ticket->class->ready, &ticket->place); /* I2 */
}

/* ---- keys ---- */

struct hora__ticket *hora__admission_first_of_key(const struct hora__admission *admission, uint64_t key)
{
    assert(key != 0);
    struct hora__tree_node *node = hora__tree_search(&admission->keys, (int64_t)key, 0);
    if (node == NULL || node->major != (int64_t)key)
        return NULL;
    return HORA__TREE_ENTRY(node, struct hora__ticket, by_key);
}

/* Makes `to`, which is in no tree, the first ticket of a key in place of `from`. */
static void take_lead(struct hora__admission *admission, struct hora__ticket *from, struct hora__ticket *to)
{
    assert(from->key == to->key && from->key != 0);
    hora__tree_replace(&admission->keys, &from->by_key, &to->by_key);
    to->behind = from->behind;
    from->behind = (struct hora__tree){NULL, NULL};
}

/* Makes a new ticket with a key BEHIND the first one of its key; or READY, if it is the first (I1). */
static void enter_key(struct hora__admission *admission, struct hora__ticket *ticket)
{
    assert(ticket->key != 0 && ticket->state == HORA__TICKET_OUT);
    struct hora__ticket *first = hora__admission_first_of_key(admission, ticket->key);
    if (first == NULL) {
        ticket->by_key.major = (int64_t)ticket->key;
        ticket->by_key.minor = 0;
        hora__tree_insert(&admission->keys, &ticket->by_key);
        make_ready(admission, ticket);
        return;
    }
    assert(first->state == HORA__TICKET_RUNS || first->sequence < ticket->sequence);
    ticket->state = HORA__TICKET_BEHIND;
    ticket->place.major = 0;
    ticket->place.minor = ticket->sequence;
    hora__tree_insert(&first->behind, &ticket->place);
}

/* Removes a ticket, which is the first of its key if it has one, from the tree of keys. The next ticket with
 * that key takes its place and becomes READY (I1). */
static void leave_key(struct hora__admission *admission, struct hora__ticket *ticket)
{
    assert(ticket->state == HORA__TICKET_READY || ticket->state == HORA__TICKET_RUNS);
    if (ticket->key == 0)
        return;
    if (hora__tree_is_empty(&ticket->behind)) {
        hora__tree_remove(&admission->keys, &ticket->by_key);
        return;
    }
    struct hora__ticket *next = ticket_at(ticket->behind.first);
    hora__tree_remove(&ticket->behind, &next->place);
    take_lead(admission, ticket, next);
    make_ready(admission, next);
}

/* ---- arriving and leaving ---- */

/* Changes the counts of waiting tickets by `by`, which is 1 or -1. */
static void count_waiting(struct hora__admission *admission, struct hora__ticket *ticket, int by)
{
    admission->waiting += by;
    ticket->class->waiting += by;
    assert(admission->waiting >= 0 && ticket->class->waiting >= 0);
}

/* Changes the counts of running tasks by `by`, which is 1 or -1, unless the run is uncounted (I4). */
static void count_running(struct hora__admission *admission, struct hora__ticket *ticket, int by)
{
    if (ticket->is_uncounted)
        return;
    admission->running += by;
    ticket->class->running += by;
    assert(admission->running >= 0 && ticket->class->running >= 0);
}

/* The sequence number is taken here, so tickets with a key run in the order of these calls. */
void hora__admission_add(struct hora__admission *admission, struct hora__ticket *ticket, void *item,
                         hora_ns since)
{
    ASSERT_LOCKED(admission);
    assert(ticket->state == HORA__TICKET_OUT && !ticket->is_uncounted);
    if (HORA__FAULT(ADMISSION_KEY_UNSEEN))
        ticket->key = 0;
    if (ticket->class == NULL)
        ticket->class = &admission->plain;
    ticket->item = item;
    ticket->since = since;
    ticket->sequence = admission->next_sequence++;
    hora__list_add_last(&admission->waiting_tickets, &ticket->link); /* I3 */
    count_waiting(admission, ticket, 1);
    if (ticket->key == 0)
        make_ready(admission, ticket);
    else
        enter_key(admission, ticket);
}

/* Takes a ticket off the list of awaited ones, if it is there. */
static void forget_awaited(struct hora__admission *admission, struct hora__ticket *ticket)
{
    if (hora__list_is_empty(&ticket->awaited))
        return;
    hora__list_remove(&ticket->awaited);
    (void)hora__atomic_add(&admission->awaited_count, -1);
}

/* Takes a waiting ticket off the lists and counts of waiting ones. It stays in its tree; the caller removes
 * it from there. */
static void stop_waiting(struct hora__admission *admission, struct hora__ticket *ticket)
{
    assert(hora__ticket_waits(ticket));
    forget_awaited(admission, ticket); /* I6 */
    hora__list_remove(&ticket->link);  /* I3 */
    count_waiting(admission, ticket, -1);
}

/* Makes a ticket OUT. It must not point to the plain class any more, because it may outlive the admission, of
 * which the plain class is a part. */
static void go_out(const struct hora__admission *admission, struct hora__ticket *ticket)
{
    assert(ticket->state != HORA__TICKET_OUT);
    ticket->state = HORA__TICKET_OUT;
    if (ticket->class == &admission->plain)
        ticket->class = NULL;
}

/* A ticket that is BEHIND is only in the tree of the first one of its key. A READY one may itself be the
 * first of its key, and then passes that place on. */
void hora__admission_remove(struct hora__admission *admission, struct hora__ticket *ticket)
{
    ASSERT_LOCKED(admission);
    stop_waiting(admission, ticket);
    if (ticket->state == HORA__TICKET_BEHIND) {
        hora__tree_remove(&hora__admission_first_of_key(admission, ticket->key)->behind, &ticket->place);
    } else {
        hora__tree_remove(&ticket->class->ready, &ticket->place);
        leave_key(admission, ticket);
    }
    go_out(admission, ticket);
}

/* A ticket with a key stays in the tree of keys while it runs: so the others with its key stay BEHIND. */
void hora__admission_begin(struct hora__admission *admission, struct hora__ticket *ticket, hora_ns now)
{
    ASSERT_LOCKED(admission);
    assert(ticket->state == HORA__TICKET_READY);
    stop_waiting(admission, ticket);
    hora__tree_remove(&ticket->class->ready, &ticket->place);
    ticket->state = HORA__TICKET_RUNS;
    count_running(admission, ticket, 1);
    note_start(ticket->class, now);
}

/* Clears is_uncounted only after the counts have changed: the flag decides whether the run was counted. */
void hora__admission_end(struct hora__admission *admission, struct hora__ticket *ticket)
{
    ASSERT_LOCKED(admission);
    assert(ticket->state == HORA__TICKET_RUNS);
    if (!HORA__FAULT(ADMISSION_COUNTS_ON))
        count_running(admission, ticket, -1);
    ticket->is_uncounted = false;
    leave_key(admission, ticket);
    go_out(admission, ticket);
}

void hora__admission_begin_anonymous(struct hora__admission *admission, struct hora__ticket *ticket,
                                     hora_ns now)
{
    assert(ticket->key == 0 && ticket->class == &admission->plain);
    hora__admission_begin(admission, ticket, now);
    go_out(admission, ticket);
}

void hora__admission_end_anonymous(struct hora__admission *admission)
{
    ASSERT_LOCKED(admission);
    assert(admission->plain.running > 0 && admission->running > 0);
    admission->running--;
    admission->plain.running--;
}

/* The counts do not change: the same run goes on, in the same class. The key passes from one ticket to the
 * other and is never free in between. */
void hora__admission_pass(struct hora__admission *admission, struct hora__ticket *from,
                          struct hora__ticket *to, void *item)
{
    ASSERT_LOCKED(admission);
    assert(from->state == HORA__TICKET_RUNS && to->state == HORA__TICKET_OUT && !from->is_uncounted);
    to->item = item;
    to->class = from->class;
    to->key = from->key;
    to->level = from->level;
    to->since = from->since;
    to->sequence = from->sequence;
    if (from->key != 0)
        take_lead(admission, from, to);
    go_out(admission, from);
    to->state = HORA__TICKET_RUNS;
}

/* Sets the class and the level of a ticket that is not OUT, and moves its count to the new class. A READY
 * ticket moves to the tree of its new class, at its new virtual time. */
static void change(struct hora__admission *admission, struct hora__ticket *ticket,
                   struct hora__admission_class *class, int level)
{
    assert(ticket->state != HORA__TICKET_OUT && level >= 0 && level < HORA__LEVELS);
    void (*count)(struct hora__admission *, struct hora__ticket *, int) =
        ticket->state == HORA__TICKET_RUNS ? count_running : count_waiting;
    if (ticket->state == HORA__TICKET_READY)
        hora__tree_remove(&ticket->class->ready, &ticket->place);
    count(admission, ticket, -1);
    ticket->class = class == NULL ? &admission->plain : class;
    ticket->level = level;
    count(admission, ticket, 1);
    if (ticket->state == HORA__TICKET_READY)
        make_ready(admission, ticket);
}

/* For a ticket that is OUT, only the fields are set: it is counted nowhere. */
void hora__admission_change(struct hora__admission *admission, struct hora__ticket *ticket,
                            const struct hora__ticket_change *wanted)
{
    ASSERT_LOCKED(admission);
    assert(wanted->sets_class || (wanted->level >= 0 && wanted->level < HORA__LEVELS));
    struct hora__admission_class *class = wanted->sets_class ? wanted->class : ticket->class;
    int level = wanted->sets_class ? ticket->level : wanted->level;
    if (ticket->state != HORA__TICKET_OUT) {
        change(admission, ticket, class, level);
        return;
    }
    ticket->class = class;
    ticket->level = level;
}

/* ---- which is next ---- */

/* Returns how many threads the pool may use now. */
static int threads_of(const struct hora__admission *admission)
{
    int threads = admission->threads(admission->context);
    assert(threads >= 0);
    return threads + (HORA__FAULT(ADMISSION_COUNTS_A_THREAD_MORE) ? 1 : 0);
}

/* Returns how many threads can be reserved in all: every one but the last, which is for any class. */
static int most_reserved(int threads)
{
    return threads > 1 ? threads - 1 : 0;
}

/* Returns how many threads are reserved for a class beyond those that it uses now. *left is how many can
 * still be reserved; this call subtracts what it grants to the class, so it must be made once per class, in
 * order. */
static int reserved_for(const struct hora__admission_class *class, int *left)
{
    assert(*left >= 0);
    int granted = class->reserve < *left ? class->reserve : *left;
    if (HORA__FAULT(ADMISSION_RESERVES_NOTHING))
        return 0;
    *left -= granted;
    return granted > class->running ? granted - class->running : 0;
}

/* Returns how many threads are reserved for all classes except one, beyond those that they use; NULL: for all
 * classes. */
static int reserved_except_for(const struct hora__admission *admission,
                               const struct hora__admission_class *except, int threads)
{
    int left = most_reserved(threads);
    int sum = 0;
    for (EACH_CLASS(admission, link)) {
        const struct hora__admission_class *class = class_at(link);
        int reserved = reserved_for(class, &left);
        sum += class == except ? 0 : reserved;
    }
    return sum;
}

/* Returns whether the class runs as many tasks as its limit allows. */
static bool is_at_limit(const struct hora__admission_class *class)
{
    assert(class->limit >= 0 && class->running >= 0);
    int most = class->limit + (HORA__FAULT(ADMISSION_LIMIT_IS_ONE_MORE) ? 1 : 0);
    return class->limit > 0 && class->running >= most;
}

/* Returns when the rate lets the next task of the class begin: `per` after the oldest start in the full ring.
 * INT64_MIN: at once. */
static hora_ns rate_allows_at(const struct hora__admission_class *class)
{
    assert(class->start_count >= 0);
    if (class->rate == 0 || class->start_count < class->rate)
        return INT64_MIN;
    return hora__ns_add(class->starts[class->start_next], class->per);
}

/* Returns the READY ticket that is first by virtual time, then by arrival. Either may be NULL. */
static struct hora__ticket *earlier(struct hora__ticket *a, struct hora__ticket *b)
{
    if (a == NULL || b == NULL)
        return a == NULL ? b : a;
    return hora__tree_is_before(&a->place, b->place.major, b->place.minor) ? a : b;
}

/* The result of a choice. Time matters only because of the rates of classes. */
struct choice {
    struct hora__ticket *best; /* the ticket that must begin now; NULL: none may */
    hora_ns next;              /* when a ticket may begin; HORA_FOREVER: not by the passage of time alone */
};

/* Takes a class into account that has READY tickets and that nothing but its rate can block. */
static void consider(const struct hora__admission_class *class, hora_ns now, struct choice *choice)
{
    assert(!hora__tree_is_empty(&class->ready));
    hora_ns from = rate_allows_at(class);
    if (from <= now)
        choice->best = earlier(choice->best, ticket_at(class->ready.first));
    if (from < choice->next)
        choice->next = from;
}

/* Chooses among the classes whose limit and share of the threads allow a start. */
static struct choice choose(const struct hora__admission *admission, hora_ns now)
{
    ASSERT_LOCKED(admission);
    int threads = threads_of(admission);
    struct choice choice = {NULL, HORA_FOREVER};
    if (admission->waiting == 0 || admission->running >= threads)
        return choice;
    /* The reserves of all classes, summed once; the loop subtracts that of each class in turn. */
    int reserved = reserved_except_for(admission, NULL, threads);
    int left = most_reserved(threads);
    for (EACH_CLASS(admission, link)) {
        const struct hora__admission_class *class = class_at(link);
        int for_others = reserved - reserved_for(class, &left);
        bool has_thread = admission->running + for_others < threads;
        if (!hora__tree_is_empty(&class->ready) && !is_at_limit(class) && has_thread)
            consider(class, now, &choice);
    }
    return choice;
}

struct hora__ticket *hora__admission_best(const struct hora__admission *admission, hora_ns now)
{
    return choose(admission, now).best;
}

hora_ns hora__admission_next(const struct hora__admission *admission, hora_ns now)
{
    hora_ns next = choose(admission, now).next;
    if (next <= now)
        return INT64_MIN;
    return HORA__FAULT(ADMISSION_FORGETS_RATE) ? HORA_FOREVER : next;
}

/* ---- why a ticket waits ---- */

/* Returns how many READY tickets, of all classes, are before this ticket. */
static int ready_before(const struct hora__admission *admission, const struct hora__ticket *ticket)
{
    int count = 0;
    hora_ns time = virtual_time(admission, ticket);
    for (EACH_CLASS(admission, link))
        count += hora__tree_rank(&class_at(link)->ready, time, ticket->sequence);
    return count;
}

/* Fills in the facts about a waiting ticket, for a pool with this many threads. */
static void fill_in(const struct hora__admission *admission, const struct hora__ticket *ticket, int threads,
                    struct hora__why_facts *facts)
{
    assert(ticket->class != NULL);
    *facts = (struct hora__why_facts){
        .limit = ticket->class->limit,
        .class_running = ticket->class->running,
        .until = rate_allows_at(ticket->class),
        .running = admission->running,
        .reserved = reserved_except_for(admission, ticket->class, threads),
        .before = ready_before(admission, ticket),
    };
    if (ticket->state == HORA__TICKET_BEHIND) {
        facts->first = hora__admission_first_of_key(admission, ticket->key);
        facts->behind = 1 + hora__tree_rank(&facts->first->behind, ticket->place.major, ticket->place.minor);
        facts->key_runs = facts->first->state == HORA__TICKET_RUNS;
    }
}

/* Returns what blocks a waiting ticket in a pool with this many threads. Does not compare it with other
 * tickets: HORA__WHY_NOTHING also if others are before it. */
static enum hora__why blocked_by(const struct hora__admission *admission, const struct hora__ticket *ticket,
                                 hora_ns now, int threads, struct hora__why_facts *facts)
{
    ASSERT_LOCKED(admission);
    assert(hora__ticket_waits(ticket));
    fill_in(admission, ticket, threads, facts);
    if (facts->behind > 0)
        return HORA__WHY_KEY;
    if (is_at_limit(ticket->class))
        return HORA__WHY_LIMIT;
    if (facts->until > now)
        return HORA__WHY_RATE;
    if (admission->running >= threads)
        return HORA__WHY_BUSY;
    return admission->running + facts->reserved >= threads ? HORA__WHY_RESERVED : HORA__WHY_NOTHING;
}

/* If nothing blocks the ticket but another one is next, the reason is the order. */
enum hora__why hora__admission_why(const struct hora__admission *admission, const struct hora__ticket *ticket,
                                   hora_ns now, struct hora__why_facts *ret_facts)
{
    enum hora__why why = blocked_by(admission, ticket, now, threads_of(admission), ret_facts);
    bool is_next = why != HORA__WHY_NOTHING || hora__admission_best(admission, now) == ticket;
    return is_next ? why : HORA__WHY_ORDER;
}

/* Counts one thread more than there are: the caller would run the task on an additional thread. */
bool hora__admission_may_begin(const struct hora__admission *admission, const struct hora__ticket *ticket,
                               hora_ns now)
{
    struct hora__why_facts facts;
    return blocked_by(admission, ticket, now, threads_of(admission) + 1, &facts) == HORA__WHY_NOTHING;
}

/* ---- workers that wait for a task of their own pool ---- */

/* Makes a ticket an awaited one (I6), unless it is already. */
static void await(struct hora__admission *admission, struct hora__ticket *ticket)
{
    assert(ticket->state == HORA__TICKET_BEHIND);
    if (!hora__list_is_empty(&ticket->awaited) || HORA__FAULT(ADMISSION_FORGETS_AWAITED))
        return;
    hora__list_add_last(&admission->awaited, &ticket->awaited);
    (void)hora__atomic_add(&admission->awaited_count, 1);
}

/* Limits, reserves and the number of threads do not matter here: the run uses a thread that is counted
 * already. The key and the rate do. */
hora_ns hora__admission_help(struct hora__admission *admission, struct hora__ticket *ticket, hora_ns now,
                             struct hora__ticket **ret_ticket)
{
    ASSERT_LOCKED(admission);
    assert(hora__ticket_waits(ticket));
    struct hora__ticket *first = ticket;
    if (ticket->state == HORA__TICKET_BEHIND)
        first = hora__admission_first_of_key(admission, ticket->key);
    if (hora__ticket_runs(first)) {
        await(admission, ticket);
        return HORA_FOREVER;
    }
    hora_ns until = rate_allows_at(first->class);
    if (until > now)
        return until;
    first->is_uncounted = true; /* I4 */
    hora__admission_begin(admission, first, now);
    *ret_ticket = first;
    return INT64_MIN;
}

/* Tickets whose key still runs stay on the list; the end of that run calls this again. */
struct hora__ticket *hora__admission_next_awaited(struct hora__admission *admission)
{
    ASSERT_LOCKED(admission);
    for (struct hora__list *link = admission->awaited.next; link != &admission->awaited; link = link->next) {
        struct hora__ticket *ticket = HORA__LIST_ENTRY(link, struct hora__ticket, awaited);
        const struct hora__ticket *first = hora__admission_first_of_key(admission, ticket->key);
        if (first->state != HORA__TICKET_READY) /* a task with its key runs: it stays awaited */
            continue;
        forget_awaited(admission, ticket);
        return ticket;
    }
    return NULL;
}

/* ---- inspecting ---- */

/* Returns the ticket at a link of the list of waiting tickets; NULL at its end. */
static struct hora__ticket *linked_at(const struct hora__admission *admission, struct hora__list *link)
{
    HORA__TOUCH(1);
    return link == &admission->waiting_tickets ? NULL : HORA__LIST_ENTRY(link, struct hora__ticket, link);
}

/* Does not assert the lock: hora_queue_free calls this without it, for a queue that is empty. */
struct hora__ticket *hora__admission_first(const struct hora__admission *admission)
{
    return linked_at(admission, admission->waiting_tickets.next);
}

struct hora__ticket *hora__admission_after(const struct hora__admission *admission,
                                           const struct hora__ticket *ticket)
{
    ASSERT_LOCKED(admission);
    assert(hora__ticket_waits(ticket));
    return linked_at(admission, ticket->link.next);
}

/* Returns the first READY ticket, of all classes, at or after this position; NULL: none. */
static struct hora__ticket *ready_from(const struct hora__admission *admission, int64_t major, uint64_t minor)
{
    ASSERT_LOCKED(admission);
    struct hora__ticket *first = NULL;
    for (EACH_CLASS(admission, link))
        first = earlier(first, ticket_at(hora__tree_search(&class_at(link)->ready, major, minor)));
    return first;
}

struct hora__ticket *hora__admission_first_ready(const struct hora__admission *admission)
{
    return ready_from(admission, INT64_MIN, 0);
}

struct hora__ticket *hora__admission_after_ready(const struct hora__admission *admission,
                                                 const struct hora__ticket *ticket)
{
    assert(ticket->state == HORA__TICKET_READY);
    return ready_from(admission, ticket->place.major, ticket->place.minor + 1);
}

/* Returns the ticket whose `by_key` is this node; NULL for NULL. */
static struct hora__ticket *first_of_key_at(struct hora__tree_node *node)
{
    return node == NULL ? NULL : HORA__TREE_ENTRY(node, struct hora__ticket, by_key);
}

struct hora__ticket *hora__admission_first_key(const struct hora__admission *admission)
{
    ASSERT_LOCKED(admission);
    return first_of_key_at(admission->keys.first);
}

struct hora__ticket *hora__admission_after_key(const struct hora__ticket *first)
{
    return first_of_key_at(hora__tree_next(&first->by_key));
}

/* ---- checking ---- */

/* Checks I5: the ring of starts is in order of time. */
static bool check_starts(const struct hora__admission_class *class)
{
    assert(class->start_count >= 0);
    int oldest = class->start_count < class->rate ? 0 : class->start_next;
    for (int i = 1; i < class->start_count; i++)
        if (class->starts[(oldest + i) % class->rate] < class->starts[(oldest + i - 1) % class->rate])
            return false;
    return class->start_count <= class->rate;
}

/* Checks I2 and the order of the tree of a class. */
static bool check_class(const struct hora__admission *admission, const struct hora__admission_class *class)
{
    int count = 0;
    if (!hora__tree_check(&class->ready))
        return false;
    for (struct hora__tree_node *node = class->ready.first; node != NULL;
         node = hora__tree_next(node), count++) {
        const struct hora__ticket *ticket = ticket_at(node);
        if (ticket->state != HORA__TICKET_READY || ticket->class != class ||
            node->major != virtual_time(admission, ticket) || node->minor != ticket->sequence)
            return false;
    }
    return count <= class->waiting && check_starts(class);
}

/* Checks I1 for one key. Returns how many tickets are BEHIND the first one; -1 if the invariant does not
 * hold. */
static int check_key(const struct hora__ticket *first)
{
    bool is_ready = first->state == HORA__TICKET_READY;
    if (!hora__tree_check(&first->behind) || (!is_ready && first->state != HORA__TICKET_RUNS) ||
        first->by_key.major != (int64_t)first->key || first->key == 0)
        return -1;
    for (struct hora__tree_node *node = first->behind.first; node != NULL; node = hora__tree_next(node)) {
        const struct hora__ticket *ticket = ticket_at(node);
        if (ticket->state != HORA__TICKET_BEHIND || ticket->key != first->key ||
            (is_ready && ticket->sequence < first->sequence))
            return -1;
    }
    return hora__tree_size(&first->behind);
}

/* Returns how many tickets in the list of waiting ones really wait; see I3. */
static int count_linked(const struct hora__admission *admission)
{
    int count = 0;
    for (const struct hora__ticket *ticket = hora__admission_first(admission); ticket != NULL;
         ticket = hora__admission_after(admission, ticket))
        count += hora__ticket_waits(ticket);
    return count;
}

/* Checks I1 to I5. Each waiting ticket must be found exactly once: in the tree of its class, or behind the
 * first one of its key. */
bool hora__admission_check(const struct hora__admission *admission)
{
    int found = 0;
    int waiting = 0;
    int running = 0;
    if (!hora__tree_check(&admission->keys))
        return false;
    for (EACH_CLASS(admission, link)) {
        const struct hora__admission_class *class = class_at(link);
        if (!check_class(admission, class))
            return false;
        found += hora__tree_size(&class->ready);
        waiting += class->waiting;
        running += class->running;
    }
    for (const struct hora__ticket *first = hora__admission_first_key(admission); first != NULL;
         first = hora__admission_after_key(first)) {
        int behind = check_key(first);
        if (behind < 0)
            return false;
        found += behind;
    }
    return found == admission->waiting && waiting == admission->waiting && running == admission->running &&
           count_linked(admission) == admission->waiting; /* I3, I4 */
}
