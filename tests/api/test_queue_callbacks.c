/* SPDX-License-Identifier: Apache-2.0 */
/* test_queue_callbacks.c - callbacks that call the queue: forbidden while it is locked */
#include "rows.h"

/* Where the callbacks below find the queue, which call they try, and how often they have run. */
static struct {
    hora_queue *queue;
    void (*probe)(hora_queue *queue);
    int calls;
} reentry;

static void try_all_calls(hora_queue *queue)
{
    void *got = untouched;

    CHECK_ERROR(hora_queue_put(queue, item(0)), HORA_EDEADLK);
    CHECK_ERROR(hora_queue_offer(queue, item(0)), HORA_EDEADLK);
    CHECK_ERROR(hora_queue_offer_for(queue, item(0), 0), HORA_EDEADLK);
    CHECK_ERROR(hora_queue_take(queue, &got), HORA_EDEADLK);
    CHECK_ERROR(hora_queue_poll(queue, &got), HORA_EDEADLK);
    CHECK_ERROR(hora_queue_poll_for(queue, 0, &got), HORA_EDEADLK);
    CHECK_ERROR(hora_queue_peek(queue, &got), HORA_EDEADLK);
    CHECK_ERROR(hora_queue_remove(queue, item(0)), HORA_EDEADLK);
    CHECK_ERROR(hora_queue_contains(queue, item(0)), HORA_EDEADLK);
    CHECK_ERROR(hora_queue_drain(queue, &got, 1), HORA_EDEADLK);
    CHECK_ERROR(hora_queue_clear(queue), HORA_EDEADLK);
    CHECK_ERROR(hora_queue_size(queue), HORA_EDEADLK);
    CHECK_ERROR(hora_queue_remaining_capacity(queue), HORA_EDEADLK);
    CHECK_ERROR(hora_queue_snapshot(queue, &got, 1), HORA_EDEADLK);
    CHECK_ERROR(hora_queue_close(queue), HORA_EDEADLK);
    CHECK(!hora_queue_is_closed(queue)); /* it has no error to say so with */
    CHECK_ERROR(hora_queue_fd(queue), HORA_EDEADLK);
    CHECK_ERROR(hora_queue_free(queue), HORA_EDEADLK);
    CHECK_POINTER(got, untouched);
}

static int visit_nothing(void *element, void *context)
{
    (void)element;
    (void)context;
    return 1;
}

static void try_for_each(hora_queue *queue)
{
    CHECK_ERROR(hora_queue_for_each(queue, visit_nothing, NULL), HORA_EDEADLK);
}

static int reentrant_compare(const void *a, const void *b, void *context)
{
    const struct element *x = a, *y = b;

    (void)context;
    reentry.calls++;
    reentry.probe(reentry.queue);
    return (x->value > y->value) - (x->value < y->value);
}

static hora_ns reentrant_remaining(const void *element, void *context)
{
    reentry.calls++;
    reentry.probe(reentry.queue);
    return element_remaining(element, context);
}

/* The queue works on as if nothing had happened. */
static void check_priority_reentry(void (*probe)(hora_queue *queue))
{
    struct fixture f;

    fixture_open(&f);
    f.kind = PRIORITY;
    CHECK_OK(hora_queue_new_priority(1, HORA_QUEUE_OPTIONS(.compare = reentrant_compare, .clock = f.view),
                                     &f.queue, NULL));
    reentry.queue = f.queue;
    reentry.probe = probe;
    reentry.calls = 0;
    fill(&f, 4);
    CHECK(reentry.calls > 0);
    CHECK_INT(hora_queue_is_closed(f.queue), 0);
    CHECK_POLLS_RANGE(f.queue, 0, 3);
    fixture_close(&f);
}

static void check_delay_reentry(void (*probe)(hora_queue *queue))
{
    struct fixture f;
    struct call take;

    fixture_open(&f);
    f.kind = DELAY_ASKED;
    CHECK_OK(hora_queue_new_delay(
        HORA_QUEUE_OPTIONS(.remaining = reentrant_remaining, .arg = &f, .clock = f.view), &f.queue, NULL));
    reentry.queue = f.queue;
    reentry.probe = probe;
    reentry.calls = 0;
    fill(&f, 3);
    CHECK_POLLS_RANGE(f.queue, 0, 2);
    CHECK(reentry.calls > 0);
    start_take(&take, &f);
    CHECK_OK(insert(&f, due_in(&f, 3, 10)));
    CHECK_BLOCKED(&take);
    advance(&f, 10);
    CHECK_TAKES(&take, item(3));
    CHECK_INT(hora_queue_is_closed(f.queue), 0);
    fixture_close(&f);
}

TEST(priority_queue_refuses_calls_from_compare, "")
{
    check_priority_reentry(try_all_calls);
}

TEST(priority_queue_refuses_for_each_from_compare, "")
{
    check_priority_reentry(try_for_each);
}

TEST(delay_queue_refuses_calls_from_remaining, "")
{
    check_delay_reentry(try_all_calls);
}

TEST(delay_queue_refuses_for_each_from_remaining, "")
{
    check_delay_reentry(try_for_each);
}

/* ---- visitors ---- */

struct visits {
    hora_queue *queue;
    int count;
    int stop_at; /* the visit that ends it, from 1 */
    int answer;
};

static int stop_visit(void *element, void *context)
{
    struct visits *visits = context;

    (void)element;
    return ++visits->count == visits->stop_at ? visits->answer : 0;
}

/* The call returns whatever the visitor returned, also if that looks like an error of hora. */
static void for_each_ends_when_the_visitor_says_so(enum kind kind)
{
    static const int answers[] = {1, INT_MAX, -1, INT_MIN, HORA_EINVAL};
    struct fixture f;

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, 5);
    for (int i = 0; i < 5; i++) {
        struct visits visits = {.stop_at = i + 1, .answer = answers[i]};
        CHECK_INT(hora_queue_for_each(f.queue, stop_visit, &visits), answers[i]);
        CHECK_INT(visits.count, i + 1);
    }
    CHECK_POLLS_RANGE(f.queue, 0, 4);
    fixture_close(&f);
}
ROOMY_KINDS(for_each_ends_when_the_visitor_says_so, "")

static int use_queue(void *element, void *context)
{
    struct visits *visits = context;
    void *got;

    (void)element;
    visits->count++;
    CHECK_OK(hora_queue_poll(visits->queue, &got));
    CHECK_OK(hora_queue_offer(visits->queue, got));
    CHECK_OK(hora_queue_offer(visits->queue, item(SIZE + visits->count)));
    CHECK_INT(hora_queue_size(visits->queue), 3 + visits->count);
    return 0;
}

/* A visitor that takes and puts sees only the elements that were in the queue at first. */
static void visitor_may_take_and_put(enum kind kind)
{
    struct fixture f;
    struct visits visits = {0};

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, 3);
    visits.queue = f.queue;
    CHECK_OK(hora_queue_for_each(f.queue, use_queue, &visits));
    CHECK_INT(visits.count, 3);
    CHECK_INT(hora_queue_size(f.queue), 6);
    fixture_close(&f);
}
ROOMY_KINDS(visitor_may_take_and_put, "")

/* A snapshot is a copy: later changes of the queue do not show in it. */
static void snapshot_is_not_changed_later(enum kind kind)
{
    struct fixture f;
    void *items[3];

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, 2);
    CHECK_INT(hora_queue_snapshot(f.queue, items, 3), 2);
    CHECK_OK(hora_queue_clear(f.queue));
    CHECK(items[0] == item(0) || items[1] == item(0));
    CHECK(items[0] == item(1) || items[1] == item(1));
    CHECK_POINTER(items[2], NULL);
    fixture_close(&f);
}
ROOMY_KINDS(snapshot_is_not_changed_later, "")

/* ---- elements that are counted ---- */

static int refs, drops;

static void *count_ref(void *element)
{
    refs++;
    return element;
}

static void count_drop(void *element)
{
    (void)element;
    drops++;
}

static int never_smaller(const void *a, const void *b, void *context)
{
    (void)a;
    (void)b;
    (void)context;
    return 0;
}

static int stop_at_second(void *element, void *context)
{
    (void)element;
    return ++*(int *)context == 2;
}

/* A thread that peeks gets its own reference, and releases it; a thread that takes gets the reference of the
 * queue. */
TEST(queue_that_counts_its_elements_hands_out_references, "")
{
    const hora_queue_options *options =
        HORA_QUEUE_OPTIONS(.ref = count_ref, .drop = count_drop, .compare = never_smaller);
    const hora_queue_options *plain = HORA_QUEUE_OPTIONS(.ref = count_ref, .drop = count_drop);
    for (int kind = 0; kind < 4; kind++) {
        hora_queue *queue = NULL;
        void *got[3] = {NULL, NULL, NULL};
        int visits = 0;

        CHECK_OK(kind == 0   ? hora_queue_new_array(4, plain, &queue, NULL)
                 : kind == 1 ? hora_queue_new_linked(HORA_UNBOUNDED, plain, &queue, NULL)
                 : kind == 2 ? hora_queue_new_priority(0, options, &queue, NULL)
                             : hora_queue_new_delay(plain, &queue, NULL));
        refs = drops = 0;
        for (int i = 0; i < 3; i++)
            CHECK_OK(hora_queue_offer(queue, item(i)));
        CHECK_INT(refs + drops, 0);
        CHECK_OK(hora_queue_peek(queue, &got[0]));
        CHECK_INT(refs, 1);
        CHECK_INT(hora_queue_snapshot(queue, got, 2), 3);
        CHECK_INT(refs, 3);
        CHECK_INT(hora_queue_contains(queue, item(1)), 1);
        CHECK_INT(drops, 0);
        CHECK_INT(hora_queue_for_each(queue, stop_at_second, &visits), 1);
        CHECK_INT(visits, 2);
        CHECK_INT(refs - 3, drops); /* it has given them back itself, also of those that were not visited */
        int both = refs + drops;
        CHECK_OK(hora_queue_poll(queue, &got[0]));
        CHECK_INT(refs + drops, both);
        CHECK_OK(hora_queue_free(queue));
        CHECK_INT(refs + drops, both + 2);
    }
}

/* ---- a queue that passes to a pool, or back, during a visit ---- */

enum { PASSING = 2 };

/* A queue of the user, and the pool that uses it for some time. */
struct passing {
    hora_queue *queue;
    hora_pool *pool; /* NULL: none uses it */
    hora_future *futures[PASSING];
};

/* A pool accepts only an empty queue. */
static void empty(struct passing *passing)
{
    void *future;

    for (int i = 0; i < PASSING; i++) {
        CHECK_OK(hora_queue_poll(passing->queue, &future));
        CHECK_POINTER(future, passing->futures[i]);
    }
}

static int pass_to_pool(void *element, void *context)
{
    struct passing *passing = context;

    if (element == passing->futures[0]) {
        empty(passing);
        CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .queue = passing->queue), &passing->pool,
                               NULL));
    }
    return 0;
}

static int pass_back(void *element, void *context)
{
    struct passing *passing = context;

    if (element == passing->futures[0]) {
        empty(passing);
        CHECK_INT(hora_pool_free(passing->pool), 0);
    }
    return 0;
}

static int return_zero(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

/* While a pool uses a queue, callers who look get references to its futures. Before and after they get none
 * if the queue has no `ref`. The visit releases the references that it has, and no others. */
TEST(for_each_releases_what_it_holds_if_the_queue_passes_on, "")
{
    struct passing passing = {.pool = NULL};

    CHECK_OK(hora_queue_new_linked(HORA_UNBOUNDED, NULL, &passing.queue, NULL));
    drops = 0;
    for (int i = 0; i < PASSING; i++) {
        CHECK_OK(hora_future_new(HORA_TASK(return_zero, NULL, .drop = count_drop), &passing.futures[i]));
        CHECK_OK(hora_queue_offer(passing.queue, passing.futures[i]));
    }
    CHECK_OK(hora_queue_for_each(passing.queue, pass_to_pool, &passing));
    CHECK_INT(drops, 0); /* it has released none: the futures exist */
    for (int i = 0; i < PASSING; i++)
        CHECK_OK(hora_queue_offer(passing.queue, passing.futures[i]));
    CHECK_OK(hora_queue_for_each(passing.queue, pass_back, &passing));
    CHECK_INT(drops, 0);
    for (int i = 0; i < PASSING; i++)
        (void)hora_future_unref(passing.futures[i]);
    CHECK_INT(drops, PASSING); /* it has released all of its own */
    CHECK_OK(hora_queue_free(passing.queue));
}

static hora_queue *another_queue;
static hora_latch *a_latch;

static void try_others(hora_queue *queue)
{
    (void)queue;
    CHECK_ERROR(hora_queue_size(another_queue), HORA_EDEADLK);
    CHECK_ERROR(hora_queue_offer(another_queue, item(0)), HORA_EDEADLK);
    CHECK_ERROR(hora_latch_count_down(a_latch), HORA_EDEADLK);
    CHECK_ERROR(hora_latch_await_for(a_latch, 0), HORA_EDEADLK);
}

/* Other objects reject calls as well, because two queues whose callbacks call each other could deadlock. */
TEST(compare_cannot_call_other_objects, "")
{
    CHECK_OK(hora_queue_new_array(1, NULL, &another_queue, NULL));
    CHECK_OK(hora_latch_new(1, NULL, &a_latch, NULL));
    CHECK_OK(
        hora_queue_new_priority(1, HORA_QUEUE_OPTIONS(.compare = reentrant_compare), &reentry.queue, NULL));
    reentry.probe = try_others;
    reentry.calls = 0;
    CHECK_OK(hora_queue_offer(reentry.queue, item(1)));
    CHECK_OK(hora_queue_offer(reentry.queue, item(0)));
    CHECK(reentry.calls > 0);
    CHECK_INT(hora_queue_size(another_queue), 0);
    CHECK_INT(hora_latch_count(a_latch), 1);
    CHECK_OK(hora_queue_free(reentry.queue));
    CHECK_OK(hora_queue_free(another_queue));
    CHECK_OK(hora_latch_free(a_latch));
}
