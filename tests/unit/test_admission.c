/* SPDX-License-Identifier: Apache-2.0 */
/* test_admission.c - admission control, rule by rule; test_admission_history.c compares it with a model */
#include "admit/admission.h"

#include "harness.h"

enum { LOW, NORMAL, HIGH, URGENT, MANY = 100, TICKETS = 12 };

static struct hora__admission admission;
static struct hora__ticket t[TICKETS];

static int thread_count; /* how many threads the pool has */

static int threads_of_pool(const void *context)
{
    (void)context;
    return thread_count;
}

static void begin_test(hora_ns ageing)
{
    thread_count = MANY;
    hora__admission_init(&admission, ageing, threads_of_pool, NULL, NULL);
}

static hora_ns next(hora_ns now, int threads)
{
    thread_count = threads;
    return hora__admission_next(&admission, now);
}

static void end_test(void)
{
    struct hora__ticket *ticket;
    for (int i = 0; i < TICKETS; i++)
        if (t[i].state == HORA__TICKET_RUNS)
            hora__admission_end(&admission, &t[i]);
    while ((ticket = hora__admission_first(&admission)) != NULL)
        hora__admission_remove(&admission, ticket);
    CHECK(hora__admission_check(&admission));
    for (int i = 0; i < TICKETS; i++)
        t[i] = (struct hora__ticket){.state = HORA__TICKET_OUT};
    hora__admission_destroy(&admission);
}

static void add(int i, struct hora__admission_class *class, uint64_t key, int level, hora_ns since)
{
    hora__ticket_init(&t[i], class, key, level);
    hora__admission_add(&admission, &t[i], &t[i], since);
    CHECK(hora__admission_check(&admission));
}

/* Number of the best, or -1. */
static int best(hora_ns now, int threads)
{
    CHECK(next(now, threads) == INT64_MIN || next(now, threads) > now);
    struct hora__ticket *ticket = hora__admission_best(&admission, now);
    CHECK_INT(next(now, threads) <= now, ticket != NULL);
    return ticket == NULL ? -1 : (int)(ticket - t);
}

static void start(int i, hora_ns now)
{
    hora__admission_begin(&admission, &t[i], now);
    CHECK(hora__admission_check(&admission));
}

static void stop(int i)
{
    hora__admission_end(&admission, &t[i]);
    CHECK(hora__admission_check(&admission));
}

static struct hora__why_facts facts;

static enum hora__why why(int i, hora_ns now, int threads)
{
    thread_count = threads;
    return hora__admission_why(&admission, &t[i], now, &facts);
}

TEST_REAL(admission_without_anything_is_first_in_first_out, "")
{
    begin_test(10);
    CHECK_INT(best(0, MANY), -1);
    CHECK_INT(next(0, MANY), HORA_FOREVER);
    for (int i = 0; i < 4; i++)
        add(i, NULL, 0, NORMAL, 5);
    CHECK_POINTER(t[0].class, &admission.plain);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(best(5, MANY), i);
        start(i, 5);
    }
    CHECK_INT(admission.running, 4);
    CHECK_INT(admission.waiting, 0);
    end_test();
}

TEST_REAL(admission_stops_when_no_thread_is_left, "")
{
    begin_test(10);
    add(0, NULL, 0, NORMAL, 0);
    add(1, NULL, 0, NORMAL, 0);
    CHECK_INT(best(0, 0), -1);
    start(best(0, 1), 0);
    CHECK_INT(best(0, 1), -1);
    CHECK_INT(next(0, 1), HORA_FOREVER);
    CHECK_INT(why(1, 0, 1), HORA__WHY_BUSY);
    CHECK_INT(facts.running, 1);
    CHECK_INT(best(0, 2), 1);
    stop(0);
    CHECK_INT(best(0, 1), 1);
    end_test();
}

/* A level is worth `ageing` of waiting, not more. */
TEST_REAL(admission_levels_age, "")
{
    begin_test(10);
    add(0, NULL, 0, LOW, 0);
    add(1, NULL, 0, NORMAL, 9);
    add(2, NULL, 0, HIGH, 18);
    add(3, NULL, 0, URGENT, 27);
    for (int i = 3; i >= 0; i--) {
        CHECK_INT(best(30, MANY), i);
        start(i, 30);
    }
    end_test();
    begin_test(10);
    add(0, NULL, 0, LOW, 0);
    add(1, NULL, 0, NORMAL, 10); /* the same virtual time: who came first */
    add(2, NULL, 0, URGENT, 31);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(best(31, MANY), i);
        start(i, 31);
    }
    end_test();
}

TEST_REAL(admission_levels_are_strict_if_nothing_ages, "")
{
    static const hora_ns ageings[] = {HORA_FOREVER, HORA_FOREVER - 1, INT64_C(1) << 62};
    for (int k = 0; k < 3; k++) {
        begin_test(ageings[k]);
        add(0, NULL, 0, LOW, 0);
        add(1, NULL, 0, LOW, HORA_SECONDS(1));
        add(2, NULL, 0, NORMAL, HORA_SECONDS(2));
        add(3, NULL, 0, HIGH, 3);
        add(4, NULL, 0, URGENT, (INT64_C(1) << 62) - 1);
        add(5, NULL, 0, URGENT, HORA_FOREVER);
        add(6, NULL, 0, HIGH, 2);
        static const int order[] = {4, 5, 6, 3, 2, 0, 1};
        for (int i = 0; i < 7; i++) {
            CHECK_INT(best(100, MANY), order[i]);
            start(order[i], 100);
        }
        end_test();
    }
}

TEST_REAL(admission_ageing_of_zero_makes_levels_equal, "")
{
    begin_test(0);
    add(0, NULL, 0, LOW, 1);
    add(1, NULL, 0, URGENT, 1);
    CHECK_INT(best(1, MANY), 0);
    end_test();
}

/* One at a time, in the order in which they came, whatever their levels and classes; others go on. */
TEST_REAL(admission_key_is_one_at_a_time_in_order, "")
{
    struct hora__admission_class other = {.name = "other"};
    begin_test(10);
    hora__admission_add_class(&admission, &other);
    add(0, NULL, 7, LOW, 0);
    add(1, &other, 7, URGENT, 0);
    add(2, NULL, 7, HIGH, 0);
    add(3, NULL, UINT64_MAX, LOW, 1);
    CHECK_INT(t[1].state, HORA__TICKET_BEHIND);
    CHECK_INT(why(2, 0, MANY), HORA__WHY_KEY);
    CHECK_INT(facts.behind, 2);
    CHECK(!facts.key_runs);
    CHECK_POINTER(facts.first, &t[0]);
    CHECK_INT(best(0, MANY), 0);
    start(0, 0);
    CHECK_INT(why(1, 0, MANY), HORA__WHY_KEY);
    CHECK_INT(facts.behind, 1);
    CHECK(facts.key_runs);
    CHECK_INT(best(0, MANY), 3);
    start(3, 0);
    CHECK_INT(best(0, MANY), -1);
    CHECK_INT(next(0, MANY), HORA_FOREVER);
    stop(0);
    CHECK_INT(t[1].state, HORA__TICKET_READY);
    CHECK_INT(best(0, MANY), 1);
    hora__admission_remove(&admission, &t[1]); /* the next may begin then */
    CHECK_INT(best(0, MANY), 2);
    end_test();
}

TEST_REAL(admission_keys_can_be_walked_through, "")
{
    begin_test(10);
    add(0, NULL, 3, NORMAL, 0);
    add(1, NULL, 2, NORMAL, 0);
    add(2, NULL, 3, NORMAL, 0);
    start(0, 0);
    struct hora__ticket *first = hora__admission_first_key(&admission);
    CHECK_POINTER(first, &t[1]);
    CHECK_INT(hora__tree_size(&first->behind), 0);
    first = hora__admission_after_key(first);
    CHECK_POINTER(first, &t[0]);
    CHECK_INT(hora__tree_size(&first->behind), 1);
    CHECK_POINTER(hora__admission_after_key(first), NULL);
    CHECK_POINTER(hora__admission_first_of_key(&admission, 4), NULL);
    end_test();
}

TEST_REAL(admission_class_has_a_limit, "")
{
    struct hora__admission_class few = {.name = "few", .limit = 2};
    begin_test(10);
    hora__admission_add_class(&admission, &few);
    for (int i = 0; i < 3; i++)
        add(i, &few, 0, URGENT, 0);
    add(3, NULL, 0, LOW, 0);
    start(best(0, MANY), 0);
    start(best(0, MANY), 0);
    CHECK_INT(few.running, 2);
    CHECK_INT(few.waiting, 1);
    CHECK_INT(why(2, 0, MANY), HORA__WHY_LIMIT);
    CHECK_INT(facts.limit, 2);
    CHECK_INT(facts.class_running, 2);
    CHECK_INT(best(0, MANY), 3);
    few.limit = 3;
    CHECK_INT(best(0, MANY), 2);
    few.limit = 2;
    stop(0);
    CHECK_INT(best(0, MANY), 2);
    CHECK_INT(why(2, 0, MANY), HORA__WHY_NOTHING);
    CHECK_INT(why(3, 0, MANY), HORA__WHY_ORDER);
    CHECK_INT(facts.before, 1);
    end_test();
}

TEST_REAL(admission_class_has_threads_of_its_own, "")
{
    struct hora__admission_class first = {.name = "first", .reserve = 2};
    struct hora__admission_class second = {.name = "second", .reserve = 1};
    begin_test(10);
    hora__admission_add_class(&admission, &first);
    hora__admission_add_class(&admission, &second);
    for (int i = 0; i < 3; i++)
        add(i, NULL, 0, URGENT, 0);
    start(best(0, 4), 0); /* of four threads three are kept */
    CHECK_INT(best(0, 4), -1);
    CHECK_INT(why(1, 0, 4), HORA__WHY_RESERVED);
    CHECK_INT(facts.reserved, 3);
    for (int i = 3; i < 8; i++)
        add(i, i < 6 ? &first : &second, 0, LOW, 0);
    start(best(0, 4), 0);
    start(best(0, 4), 0);
    CHECK_INT(first.running, 2);
    CHECK_INT(why(5, 0, 4), HORA__WHY_RESERVED);
    CHECK_INT(facts.reserved, 1);
    CHECK_INT(best(0, 4), 6);
    start(6, 0);
    CHECK_INT(best(0, 4), -1);
    stop(0);
    CHECK_INT(best(0, 4), 1); /* the thread for all classes is free again */
    end_test();
}

/* More threads are reserved than there are: the later class gets fewer, and one thread is for all classes. */
TEST_REAL(admission_reserves_are_cut, "")
{
    struct hora__admission_class first = {.name = "first", .reserve = 2};
    struct hora__admission_class second = {.name = "second", .reserve = 9};
    begin_test(10);
    hora__admission_add_class(&admission, &first);
    hora__admission_add_class(&admission, &second);
    for (int i = 0; i < 4; i++)
        add(i, &second, 0, URGENT, 0);
    add(4, NULL, 0, LOW, 0);
    CHECK_INT(best(0, 1), 0);
    start(0, 0);
    start(best(0, 4), 0);
    /* two are reserved for the first class; the second has used its own and the common one */
    CHECK_INT(best(0, 4), -1);
    CHECK_INT(why(2, 0, 4), HORA__WHY_RESERVED);
    CHECK_INT(facts.reserved, 2);
    CHECK_INT(why(4, 0, 4), HORA__WHY_RESERVED);
    stop(0);
    hora__admission_remove(&admission, &t[2]);
    hora__admission_remove(&admission, &t[3]);
    CHECK_INT(best(0, 4), 4);
    end_test();
}

/* A limited number starts in any interval as long as `per`; each place is free again `per` after it was
 * taken. */
TEST_REAL(admission_class_has_a_rate, "")
{
    hora_ns starts[2];
    struct hora__admission_class slow = {.name = "slow", .rate = 2, .per = 100, .starts = starts};
    begin_test(10);
    hora__admission_add_class(&admission, &slow);
    for (int i = 0; i < 6; i++)
        add(i, &slow, 0, NORMAL, 0);
    CHECK_INT(best(0, MANY), 0);
    start(0, 0);
    start(1, 90);
    stop(0);
    CHECK_INT(best(99, MANY), -1);
    CHECK_INT(next(99, MANY), 100);
    CHECK_INT(next(99, 1), HORA_FOREVER); /* there is no thread either */
    CHECK_INT(why(2, 99, MANY), HORA__WHY_RATE);
    CHECK_INT(facts.until, 100);
    CHECK_INT(best(100, MANY), 2);
    start(2, 100);
    CHECK_INT(next(150, MANY), 190);
    start(3, 80); /* who began it read the clock before the last one did: as if at 100 */
    CHECK_INT(next(150, MANY), 200);
    start(4, 200);
    CHECK_INT(next(200, MANY), INT64_MIN);
    start(5, 200);
    end_test();
}

/* The new one starts anew. */
TEST_REAL(admission_rate_can_change, "")
{
    hora_ns three[3];
    hora_ns two[2];
    struct hora__admission_class slow = {.name = "slow", .rate = 3, .per = 100, .starts = three};
    begin_test(10);
    hora__admission_add_class(&admission, &slow);
    for (int i = 0; i < 8; i++)
        add(i, &slow, 0, NORMAL, 0);
    for (int i = 0; i < 4; i++)
        start(i, 10 * i);
    CHECK_INT(next(30, MANY), 110);
    CHECK_POINTER(hora__admission_set_rate(&slow, 2, 50, two), three);
    CHECK(hora__admission_check(&admission));
    start(best(30, MANY), 30);
    start(best(40, MANY), 40);
    CHECK_INT(next(40, MANY), 80);
    CHECK_POINTER(hora__admission_set_rate(&slow, 0, 0, NULL), two);
    CHECK_INT(best(40, MANY), 6);
    start(6, 40);
    CHECK_INT(slow.started, 7);
    end_test();
}

/* A task that continues under another ticket keeps its key, its place in the class and its thread. */
TEST_REAL(admission_run_passes_to_another_ticket, "")
{
    hora_ns starts[1];
    struct hora__admission_class one = {.name = "one", .limit = 1, .rate = 1, .per = 5, .starts = starts};
    begin_test(10);
    hora__admission_add_class(&admission, &one);
    add(0, &one, 7, NORMAL, 0);
    add(1, NULL, 7, NORMAL, 0);
    add(2, &one, 0, NORMAL, 0);
    start(0, 0);
    hora__ticket_init(&t[3], &one, 7, NORMAL);
    hora__admission_pass(&admission, &t[0], &t[3], &t[3]);
    CHECK(hora__admission_check(&admission));
    CHECK_INT(t[0].state, HORA__TICKET_OUT);
    CHECK_INT(t[3].state, HORA__TICKET_RUNS);
    CHECK_INT(best(10, MANY), -1);
    CHECK_INT(one.running, 1);
    stop(3);
    CHECK_INT(best(10, MANY), 1);
    hora__ticket_init(&t[4], NULL, 0, NORMAL);
    start(2, 10);
    hora__admission_pass(&admission, &t[2], &t[4], &t[4]);
    CHECK_INT(admission.running, 1);
    end_test();
}

static void set_class(int i, struct hora__admission_class *class)
{
    struct hora__ticket_change change = {.sets_class = true, .class = class};
    hora__admission_change(&admission, &t[i], &change);
}

static void set_level(int i, int level)
{
    struct hora__ticket_change change = {.level = level};
    hora__admission_change(&admission, &t[i], &change);
}

TEST_REAL(admission_class_and_level_can_change, "")
{
    struct hora__admission_class one = {.name = "one", .limit = 1};
    begin_test(10);
    hora__admission_add_class(&admission, &one);
    add(0, NULL, 0, NORMAL, 0);
    add(1, NULL, 0, NORMAL, 5);
    add(2, NULL, 7, NORMAL, 6);
    add(3, NULL, 7, NORMAL, 7);
    set_level(1, HIGH);
    CHECK(hora__admission_check(&admission));
    CHECK_INT(best(10, MANY), 1);
    start(1, 10);
    set_class(1, &one); /* the one that it may run */
    set_class(0, &one);
    set_level(0, LOW);
    CHECK(hora__admission_check(&admission));
    CHECK_INT(admission.plain.running, 0);
    CHECK_INT(one.running, 1);
    CHECK_INT(why(0, 10, MANY), HORA__WHY_LIMIT);
    set_level(3, URGENT);
    set_class(3, &one); /* it stays behind the other of its key */
    CHECK(hora__admission_check(&admission));
    CHECK_INT(one.waiting, 2);
    CHECK_INT(best(10, MANY), 2);
    hora__admission_remove(&admission, &t[2]);
    stop(1);
    CHECK_INT(best(10, MANY), 3);
    end_test();
}

TEST_REAL(admission_can_be_walked_through, "")
{
    struct hora__admission_class other = {.name = "other"};
    begin_test(10);
    hora__admission_add_class(&admission, &other);
    add(0, NULL, 7, LOW, 0);
    add(1, &other, 7, URGENT, 0);
    add(2, &other, 0, HIGH, 0);
    add(3, NULL, 0, NORMAL, 0);
    struct hora__ticket *ticket = hora__admission_first(&admission);
    for (int i = 0; i < 4; i++, ticket = hora__admission_after(&admission, ticket))
        CHECK_POINTER(ticket, &t[i]);
    CHECK_POINTER(ticket, NULL);
    static const int order[] = {2, 3, 0};
    ticket = hora__admission_first_ready(&admission);
    for (int i = 0; i < 3; i++, ticket = hora__admission_after_ready(&admission, ticket))
        CHECK_POINTER(ticket, &t[order[i]]);
    CHECK_POINTER(ticket, NULL);
    end_test();
}
