/* SPDX-License-Identifier: Apache-2.0 */
/* test_admission_history.c - admission control compared with a model of its rules
 *
 * How it works    The model is an array of the facts about each ticket, and for each class the times at which
 *                 its tickets began. It determines which ticket may begin, which is next, when, and why
 *                 another one waits, by checking all tickets against the rules of admission.h. Each step is
 *                 applied to both. After each step both must give the same answers to all queries, for some
 *                 number of threads, and the invariants must hold. At its end a history runs until nothing is
 *                 left. */
#include "admit/admission.h"
#include "harness.h"

enum { MOST = 200, CLASSES = 6, KEYS = 10, MOST_RATE = 4, HISTORIES = 2000, STEPS = 250, MOST_STARTS = 1000 };

struct record {
    enum { OUT, WAITS, RUNS } state;
    int class; /* 0: the plain class */
    uint64_t key;
    int level;
    hora_ns since;
    uint64_t sequence;
    bool is_known;     /* it has waited before */
    bool is_uncounted; /* it runs on a thread that waits for it */
    bool is_awaited;
};

struct class_record {
    hora_ns starts[MOST_STARTS]; /* that its rate has seen */
    int start_count;
};

static struct hora__admission admission;
static struct hora__admission_class classes[CLASSES]; /* the first is not used: the admission has its own */
static hora_ns memory[CLASSES][MOST_RATE];            /* for starts */
static struct hora__ticket tickets[MOST];

static struct record records[MOST];
static struct class_record class_records[CLASSES];
static int ticket_count;
static int class_count;
static uint64_t next_sequence;
static hora_ns now;
static hora_ns ageing;
static int thread_count; /* how many threads the pool has */

static int threads_of_pool(const void *context)
{
    (void)context;
    return thread_count;
}

/* ---- the rules ---- */

static const struct hora__admission_class *settings(int class)
{
    return class == 0 ? &admission.plain : &classes[class];
}

static int running_of(int class)
{
    int count = 0;
    for (int i = 0; i < ticket_count; i++)
        count += records[i].state == RUNS && !records[i].is_uncounted && records[i].class == class;
    return count;
}

static int running(void)
{
    int count = 0;
    for (int class = 0; class < class_count; class ++)
        count += running_of(class);
    return count;
}

/* How many others of its key run, or wait and came before it. */
static int others_before(const struct record *record, bool *ret_runs)
{
    int count = 0;
    *ret_runs = false;
    for (int i = 0; record->key != 0 && i < ticket_count; i++) {
        const struct record *other = &records[i];
        if (other == record || other->state == OUT || other->key != record->key)
            continue;
        *ret_runs = *ret_runs || other->state == RUNS;
        count += other->state == RUNS || other->sequence < record->sequence;
    }
    return count;
}

static bool is_ready(const struct record *record)
{
    bool runs;
    return record->state == WAITS && others_before(record, &runs) == 0;
}

static bool limit_allows(int class)
{
    return settings(class)->limit == 0 || running_of(class) < settings(class)->limit;
}

static bool rate_allows(int class, hora_ns time)
{
    int recent = 0;
    for (int i = 0; i < class_records[class].start_count; i++)
        recent += class_records[class].starts[i] + settings(class)->per > time;
    return settings(class)->rate == 0 || recent < settings(class)->rate;
}

/* Threads reserved for the other classes; at least one thread is for all. */
static int reserved_for_others(int class, int threads)
{
    int granted[CLASSES];
    int sum = 0;
    int kept = 0;
    for (int i = 0; i < class_count; i++)
        sum += granted[i] = settings(i)->reserve;
    for (int i = class_count - 1; sum > 0 && sum > threads - 1; i -= granted[i] == 0)
        if (granted[i] > 0) {
            granted[i]--;
            sum--;
        }
    for (int i = 0; i < class_count; i++)
        if (i != class && granted[i] > running_of(i))
            kept += granted[i] - running_of(i);
    return kept;
}

static bool thread_is_left(int class, int threads)
{
    return running() + reserved_for_others(class, threads) < threads;
}

static bool is_before(const struct record *a, const struct record *b)
{
    if (ageing == HORA_FOREVER && a->level != b->level)
        return a->level > b->level;
    hora_ns worth = ageing == HORA_FOREVER ? 0 : ageing;
    hora_ns a_time = a->since - a->level * worth;
    hora_ns b_time = b->since - b->level * worth;
    return a_time < b_time || (a_time == b_time && a->sequence < b->sequence);
}

static int best_at(hora_ns time, int threads)
{
    bool may_begin[CLASSES];
    int best = -1;
    for (int i = 0; i < class_count; i++)
        may_begin[i] = limit_allows(i) && rate_allows(i, time) && thread_is_left(i, threads);
    for (int i = 0; i < ticket_count; i++)
        if (records[i].state == WAITS && may_begin[records[i].class] &&
            (best < 0 || is_before(&records[i], &records[best])) && is_ready(&records[i]))
            best = i;
    return best;
}

/* Nothing changes by itself but that starts become old. */
static hora_ns next_after_now(int threads)
{
    hora_ns next = HORA_FOREVER;
    for (int i = 0; i < class_count; i++)
        for (int k = 0; k < class_records[i].start_count; k++) {
            hora_ns time = class_records[i].starts[k] + settings(i)->per;
            if (time > now && time < next && best_at(time, threads) >= 0)
                next = time;
        }
    return next;
}

static int ready_before(const struct record *record)
{
    int count = 0;
    for (int i = 0; i < ticket_count; i++)
        count += records[i].state == WAITS && is_before(&records[i], record) && is_ready(&records[i]);
    return count;
}

/* ---- agreement ---- */

static void check_why(int i, int threads, int best)
{
    struct hora__why_facts facts;
    const struct record *record = &records[i];
    enum hora__why why = hora__admission_why(&admission, &tickets[i], now, &facts);
    bool key_runs;
    int behind = others_before(record, &key_runs);
    CHECK_INT(facts.behind, behind);
    CHECK_INT(facts.key_runs, key_runs);
    CHECK_INT(facts.first != NULL, behind > 0);
    CHECK_INT(facts.limit, settings(record->class)->limit);
    CHECK_INT(facts.class_running, running_of(record->class));
    CHECK_INT(facts.until <= now, rate_allows(record->class, now));
    if (facts.until > now) {
        CHECK(!rate_allows(record->class, facts.until - 1));
        CHECK(rate_allows(record->class, facts.until));
    }
    CHECK_INT(facts.running, running());
    CHECK_INT(facts.reserved, reserved_for_others(record->class, threads));
    CHECK_INT(facts.before, ready_before(record));
    CHECK_INT(why, behind > 0                                ? HORA__WHY_KEY
                   : !limit_allows(record->class)            ? HORA__WHY_LIMIT
                   : !rate_allows(record->class, now)        ? HORA__WHY_RATE
                   : running() >= threads                    ? HORA__WHY_BUSY
                   : !thread_is_left(record->class, threads) ? HORA__WHY_RESERVED
                   : i != best                               ? HORA__WHY_ORDER
                                                             : HORA__WHY_NOTHING);
}

static void check_states(void)
{
    int waiting[CLASSES] = {0};
    for (int i = 0; i < ticket_count; i++) {
        const struct record *record = &records[i];
        enum hora__ticket_state state = record->state == OUT    ? HORA__TICKET_OUT
                                        : record->state == RUNS ? HORA__TICKET_RUNS
                                        : is_ready(record)      ? HORA__TICKET_READY
                                                                : HORA__TICKET_BEHIND;
        CHECK_INT(tickets[i].state, state);
        waiting[record->class] += record->state == WAITS;
        if (state != HORA__TICKET_OUT) {
            CHECK_POINTER(tickets[i].class, settings(record->class));
            CHECK_INT(tickets[i].sequence, record->sequence);
        }
    }
    for (int i = 0; i < class_count; i++) {
        CHECK_INT(settings(i)->waiting, waiting[i]);
        CHECK_INT(settings(i)->running, running_of(i));
    }
}

/* The walks meet all that wait, in order. */
static void check_walks(void)
{
    int waiting = 0;
    int ready = 0;
    for (int i = 0; i < ticket_count; i++) {
        waiting += records[i].state == WAITS;
        ready += is_ready(&records[i]);
    }
    const struct hora__ticket *last = NULL;
    for (const struct hora__ticket *ticket = hora__admission_first(&admission); ticket != NULL;
         ticket = hora__admission_after(&admission, ticket), waiting--) {
        CHECK(last == NULL || last->sequence < ticket->sequence);
        last = ticket;
    }
    CHECK_INT(waiting, 0);
    last = NULL;
    for (const struct hora__ticket *ticket = hora__admission_first_ready(&admission); ticket != NULL;
         ticket = hora__admission_after_ready(&admission, ticket), ready--) {
        CHECK(last == NULL || is_before(&records[last - tickets], &records[ticket - tickets]));
        last = ticket;
    }
    CHECK_INT(ready, 0);
}

static void check_agreement(void)
{
    int threads = (int)test_random(12);
    thread_count = threads;
    int best = best_at(now, threads);
    CHECK_POINTER(hora__admission_best(&admission, now), best < 0 ? NULL : &tickets[best]);
    hora_ns next = hora__admission_next(&admission, now);
    if (best >= 0)
        CHECK_INT(next, INT64_MIN);
    else
        CHECK_INT(next, next_after_now(threads));
    int i = (int)test_random((uint32_t)ticket_count);
    if (records[i].state == WAITS)
        check_why(i, threads, best);
    check_states();
    CHECK(hora__admission_check(&admission));
    if (test_random(8) == 0)
        check_walks();
}

/* ---- steps ---- */

/* One in this state, searched for from a random place; -1 if there is none. */
static int random_ticket(int state)
{
    int start = (int)test_random((uint32_t)ticket_count);
    for (int i = 0; i < ticket_count; i++)
        if ((int)records[(start + i) % ticket_count].state == state)
            return (start + i) % ticket_count;
    return -1;
}

static struct hora__admission_class *class_or_null(int class)
{
    return class == 0 ? NULL : &classes[class];
}

static void add(void)
{
    int i = random_ticket(OUT);
    if (i < 0)
        return;
    struct record *record = &records[i];
    record->since = (hora_ns)test_random((uint32_t)now + 1);
    record->sequence = next_sequence++;
    if (!record->is_known || test_random(4) != 0) { /* else a series comes back, with the ticket it had */
        record->class = (int)test_random((uint32_t)class_count);
        record->key = test_random(2) == 0 ? 0 : UINT64_MAX - test_random(KEYS) * (UINT64_MAX / KEYS);
        record->level = (int)test_random(HORA__LEVELS);
        record->is_known = true;
        hora__ticket_init(&tickets[i], class_or_null(record->class), record->key, record->level);
    }
    hora__admission_add(&admission, &tickets[i], record, record->since);
    record->state = WAITS;
}

static void take_out(void)
{
    int i = random_ticket(WAITS);
    if (i < 0)
        return;
    hora__admission_remove(&admission, &tickets[i]);
    records[i].state = OUT;
    records[i].is_awaited = false;
}

static void note_start(struct record *record)
{
    struct class_record *class = &class_records[record->class];
    record->state = RUNS;
    record->is_awaited = false;
    if (settings(record->class)->rate > 0)
        class->starts[class->start_count++] = now;
}

static void start(int threads)
{
    int i = best_at(now, threads);
    if (i < 0)
        return;
    hora__admission_begin(&admission, &tickets[i], now);
    note_start(&records[i]);
}

/* The first ticket of the same key. */
static struct record *first_of_key(struct record *record)
{
    struct record *first = record;
    for (int i = 0; record->key != 0 && i < ticket_count; i++) {
        struct record *other = &records[i];
        if (other->state == OUT || other->key != record->key || first->state == RUNS)
            continue;
        if (other->state == RUNS || other->sequence < first->sequence)
            first = other;
    }
    return first;
}

/* A worker waits for a ticket, and runs it if it may, or the first of its key. */
static void help(void)
{
    int i = random_ticket(WAITS);
    if (i < 0)
        return;
    struct hora__ticket *began = NULL;
    struct record *first = first_of_key(&records[i]);
    hora_ns from = hora__admission_help(&admission, &tickets[i], now, &began);
    if (first->state == RUNS) {
        records[i].is_awaited = true;
        CHECK_INT(from, HORA_FOREVER);
    } else if (!rate_allows(first->class, now)) {
        CHECK(from > now && from != HORA_FOREVER);
    } else {
        CHECK_INT(from, INT64_MIN);
        CHECK_POINTER(began, &tickets[first - records]);
        first->is_uncounted = true;
        note_start(first);
    }
    CHECK_INT(began != NULL, from == INT64_MIN);
}

/* Awaited tickets are reported as soon as no ticket with their key runs. */
static void tell_awaited(void)
{
    const struct hora__ticket *ticket;
    while ((ticket = hora__admission_next_awaited(&admission)) != NULL) {
        struct record *record = &records[ticket - tickets];
        CHECK(record->is_awaited && first_of_key(record)->state == WAITS);
        record->is_awaited = false;
    }
    int count = 0;
    for (int i = 0; i < ticket_count; i++) {
        CHECK(!records[i].is_awaited || first_of_key(&records[i])->state == RUNS);
        count += records[i].is_awaited;
    }
    CHECK_INT(hora__admission_has_awaited(&admission), count > 0);
}

static void end(void)
{
    int i = random_ticket(RUNS);
    if (i < 0)
        return;
    hora__admission_end(&admission, &tickets[i]);
    records[i].state = OUT;
    records[i].is_uncounted = false;
}

static void change(void)
{
    static const int states[] = {WAITS, WAITS, RUNS, OUT};
    int i = random_ticket(states[test_random(4)]);
    if (i < 0 || !records[i].is_known)
        return;
    struct hora__ticket_change change = {.sets_class = test_random(2) == 0,
                                         .level = (int)test_random(HORA__LEVELS)};
    int class = (int)test_random((uint32_t)class_count);
    change.class = class_or_null(class);
    if (change.sets_class)
        records[i].class = class;
    else
        records[i].level = change.level;
    hora__admission_change(&admission, &tickets[i], &change);
}

static void pass(void)
{
    int from = random_ticket(RUNS);
    int to = random_ticket(OUT);
    if (from < 0 || to < 0 || records[from].is_uncounted)
        return;
    hora__admission_pass(&admission, &tickets[from], &tickets[to], &records[to]);
    records[to] = records[from];
    records[from].state = OUT;
    records[from].is_known = false; /* else its number would be there twice */
}

/* Another rate starts anew. */
static void set_rate(int class, int rate)
{
    hora_ns *old = classes[class].starts;
    CHECK_POINTER(
        hora__admission_set_rate(&classes[class], rate, 1 + (hora_ns)test_random(40), memory[class]), old);
    class_records[class].start_count = 0;
}

static void set_class(void)
{
    int class = (int)test_random((uint32_t)class_count);
    if (class == 0)
        return;
    classes[class].limit = (int)test_random(4);
    classes[class].reserve = test_random(2) == 0 ? (int)test_random(4) : 0;
    if (test_random(2) == 0)
        set_rate(class, (int)test_random(MOST_RATE + 1));
}

/* grow: how many of 8 steps add a ticket. */
static void step(uint32_t grow)
{
    static void (*const others[])(void) = {take_out, end,  end,       end,  change,
                                           change,   pass, set_class, help, tell_awaited};
    uint32_t choice = test_random(16);
    if (choice < grow * 2)
        add();
    else if (test_random(3) == 0)
        start(1 + (int)test_random(12));
    else if (test_random(4) == 0)
        now += test_random(20);
    else
        others[test_random(10)]();
}

/* ---- histories ---- */

static void make_classes(void)
{
    class_count = 1 + (int)test_random(CLASSES);
    class_records[0].start_count = 0;
    for (int i = 1; i < class_count; i++) {
        class_records[i].start_count = 0;
        classes[i] = (struct hora__admission_class){.starts = memory[i], .per = 1 + (hora_ns)test_random(40)};
        classes[i].limit = (int)test_random(4);
        classes[i].reserve = test_random(2) == 0 ? (int)test_random(4) : 0;
        classes[i].rate = test_random(2) == 0 ? (int)test_random(MOST_RATE + 1) : 0;
        hora__admission_add_class(&admission, &classes[i]);
    }
}

/* Each ticket begins and ends at last, whatever the rules, if there is a thread, and classes have a positive
 * limit or none. */
static void run_empty(void)
{
    for (int i = 0; (admission.waiting > 0 || random_ticket(RUNS) >= 0) && i < 10 * MOST;
         i++) { /* far more than it takes */
        thread_count = 1;
        hora_ns next = hora__admission_next(&admission, now);
        if (next <= now) {
            start(1);
        } else if (random_ticket(RUNS) >= 0) {
            end();
        } else {
            CHECK(next != HORA_FOREVER);
            now = next;
        }
        check_agreement();
    }
    for (int i = 0; i < class_count; i++)
        CHECK_INT(settings(i)->waiting, 0);
    CHECK(hora__tree_is_empty(&admission.keys));
    CHECK_INT(admission.running, 0);
    tell_awaited();
    hora__admission_destroy(&admission);
}

static void history(int most)
{
    static const hora_ns ageings[] = {0, 7, 50, HORA_FOREVER};
    uint32_t grow = 5;
    ageing = ageings[test_random(4)];
    now = test_random(100);
    next_sequence = 0;
    ticket_count = 1 + (int)test_random((uint32_t)most);
    hora__admission_init(&admission, ageing, threads_of_pool, NULL, NULL);
    make_classes();
    for (int i = 0; i < ticket_count; i++) {
        records[i] = (struct record){.state = OUT};
        hora__ticket_init(&tickets[i], NULL, 0, 0);
    }
    for (int i = 0; i < STEPS; i++) {
        if (i % 50 == 49)
            grow = test_random(7);
        step(grow);
        check_agreement();
    }
    run_empty();
}

TEST_REAL(admission_agrees_with_its_rules, "")
{
    for (int i = 0; i < HISTORIES; i++)
        history(30);
}

TEST_REAL(admission_agrees_with_its_rules_when_many_wait, "")
{
    for (int i = 0; i < HISTORIES / 20; i++)
        history(MOST);
}
