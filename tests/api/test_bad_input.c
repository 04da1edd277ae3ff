/* SPDX-License-Identifier: Apache-2.0 */
/* test_bad_input.c - every wrong argument gets its documented error, and changes nothing */
#include "rows.h"

static int compare_nothing(const void *a, const void *b, void *context)
{
    (void)a;
    (void)b;
    (void)context;
    return 0;
}

static hora_ns never_remaining(const void *element, void *context)
{
    (void)element;
    (void)context;
    return 0;
}

static int visit_nothing(void *element, void *context)
{
    (void)element;
    (void)context;
    return 0;
}

TEST(queue_calls_refuse_a_null_queue, "")
{
    void *got = untouched;

    CHECK_OK(hora_queue_free(NULL));
    CHECK_ERROR(hora_queue_put(NULL, item(0)), HORA_EINVAL);
    CHECK_ERROR(hora_queue_offer(NULL, item(0)), HORA_EINVAL);
    CHECK_ERROR(hora_queue_offer_for(NULL, item(0), HORA_FOREVER), HORA_EINVAL);
    CHECK_ERROR(hora_queue_put_delayed(NULL, item(0), 0), HORA_EINVAL);
    CHECK_ERROR(hora_queue_put_at(NULL, item(0), 0), HORA_EINVAL);
    CHECK_ERROR(hora_queue_take(NULL, &got), HORA_EINVAL);
    CHECK_ERROR(hora_queue_poll(NULL, &got), HORA_EINVAL);
    CHECK_ERROR(hora_queue_poll_for(NULL, HORA_FOREVER, &got), HORA_EINVAL);
    CHECK_ERROR(hora_queue_peek(NULL, &got), HORA_EINVAL);
    CHECK_ERROR(hora_queue_remove(NULL, item(0)), HORA_EINVAL);
    CHECK_ERROR(hora_queue_contains(NULL, item(0)), HORA_EINVAL);
    CHECK_ERROR(hora_queue_drain(NULL, &got, 1), HORA_EINVAL);
    CHECK_ERROR(hora_queue_clear(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_size(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_remaining_capacity(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_snapshot(NULL, &got, 1), HORA_EINVAL);
    CHECK_ERROR(hora_queue_snapshot(NULL, NULL, 0), HORA_EINVAL);
    CHECK_ERROR(hora_queue_for_each(NULL, visit_nothing, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_close(NULL), HORA_EINVAL);
    CHECK(!hora_queue_is_closed(NULL));
    CHECK_ERROR(hora_queue_fd(NULL), HORA_EINVAL);
    CHECK_POINTER(got, untouched);
}

static void calls_refuse_a_null_output(enum kind kind)
{
    struct fixture f;
    int size = is_synchronous(kind) ? 0 : 2;

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, size);
    CHECK_ERROR(hora_queue_take(f.queue, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_poll(f.queue, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_poll_for(f.queue, HORA_FOREVER, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_peek(f.queue, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_drain(f.queue, NULL, 1), HORA_EINVAL);
    CHECK_ERROR(hora_queue_snapshot(f.queue, NULL, INT_MAX), HORA_EINVAL);
    CHECK_ERROR(hora_queue_snapshot(f.queue, NULL, -1), HORA_EINVAL);
    CHECK_ERROR(hora_queue_for_each(f.queue, NULL, NULL), HORA_EINVAL);
    CHECK_INT(hora_queue_size(f.queue), size);
    CHECK_POLLS_RANGE(f.queue, 0, size - 1);
    fixture_close(&f);
}
EVERY_KIND(calls_refuse_a_null_output, "")

static void snapshot_refuses_a_negative_max(enum kind kind)
{
    struct fixture f;
    void *got = untouched;

    fixture_open_queue(&f, kind, SIZE);
    CHECK_ERROR(hora_queue_snapshot(f.queue, &got, -1), HORA_EINVAL);
    CHECK_ERROR(hora_queue_snapshot(f.queue, &got, INT_MIN), HORA_EINVAL);
    CHECK_INT(hora_queue_snapshot(f.queue, &got, 0), 0);
    CHECK_POINTER(got, untouched);
    fixture_close(&f);
}
EVERY_KIND(snapshot_refuses_a_negative_max, "")

/* Every timeout there is, on an empty queue and on one with elements. */
static void extreme_timeouts_neither_wrap_nor_wait(enum kind kind)
{
    struct fixture f;
    struct call call;
    void *got = untouched;

    fixture_open_queue(&f, kind, SIZE);
    for (int i = 0; i < 3; i++)
        CHECK_ERROR(hora_queue_poll_for(f.queue, expired[i], &got), HORA_ETIMEDOUT);
    CHECK_POINTER(got, untouched);
    fill(&f, 5);
    for (int i = 0; i < 5; i++) {
        CHECK_OK(hora_queue_poll_for(f.queue, any_timeout[i], &got));
        CHECK_POINTER(got, item(i));
    }
    start_poll_for(&call, &f, INT64_MAX);
    CHECK_BLOCKED(&call);
    advance(&f, INT64_MAX);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_queue_offer(f.queue, item(0)));
    CHECK_TAKES(&call, item(0));
    fixture_close(&f);
}
ROOMY_KINDS(extreme_timeouts_neither_wrap_nor_wait, "")

static void extreme_timeouts_of_puts_neither_wrap_nor_wait(enum kind kind)
{
    struct fixture f;
    struct call call;

    fixture_open_queue(&f, kind, 5);
    if (is_bounded(kind)) {
        for (int i = 0; i < 5; i++)
            CHECK_OK(hora_queue_offer_for(f.queue, item(i), any_timeout[i]));
    }
    for (int i = 0; i < 3; i++)
        CHECK_ERROR(hora_queue_offer_for(f.queue, item(5), expired[i]), HORA_ETIMEDOUT);
    start_offer_for(&call, &f, item(5), INT64_MAX);
    CHECK_BLOCKED(&call);
    advance(&f, INT64_MAX);
    CHECK_BLOCKED(&call);
    if (is_bounded(kind))
        CHECK_POLL(f.queue, item(0));
    else
        CHECK_POLL(f.queue, item(5));
    CHECK_RETURNS(&call, 0);
    fixture_close(&f);
}
BOUNDED_KINDS(extreme_timeouts_of_puts_neither_wrap_nor_wait, "")
SYNCHRONOUS_KINDS(extreme_timeouts_of_puts_neither_wrap_nor_wait, "")

/* Refused puts leave the delay queue as it was. */
TEST(delay_queue_refuses_null_elements, "")
{
    struct fixture f;

    fixture_open_queue(&f, DELAY, 0);
    CHECK_ERROR(hora_queue_put_delayed(f.queue, NULL, 0), HORA_EINVAL);
    CHECK_ERROR(hora_queue_put_at(f.queue, NULL, 0), HORA_EINVAL);
    CHECK_EMPTY(f.queue);
    fixture_close(&f);
}

/* ---- options ---- */

TEST(queue_constructors_refuse_a_null_output, "")
{
    CHECK_ERROR(hora_queue_new_array(1, NULL, NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_new_linked(1, NULL, NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_new_synchronous(NULL, NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_new_priority(1, HORA_QUEUE_OPTIONS(.compare = compare_nothing), NULL, NULL),
                HORA_EINVAL);
    CHECK_ERROR(hora_queue_new_delay(NULL, NULL, NULL), HORA_EINVAL);
}

static hora_queue *no_queue;

static void check_all_refuse(const hora_queue_options *options)
{
    no_queue = (hora_queue *)untouched;
    CHECK_ERROR(hora_queue_new_array(1, options, &no_queue, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_new_linked(1, options, &no_queue, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_new_synchronous(options, &no_queue, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_new_priority(1, options, &no_queue, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_new_delay(options, &no_queue, NULL), HORA_EINVAL);
    CHECK_POINTER(no_queue, untouched);
}

/* Sizes that no release of the library has known, and unknown options that are set. */
TEST(queue_options_of_a_wrong_size_are_refused, "")
{
    struct {
        hora_queue_options known;
        unsigned char unknown[16];
    } options = {.known = {.compare = compare_nothing}};

    check_all_refuse(&options.known);
    options.known.struct_size = 1;
    check_all_refuse(&options.known);
    options.known.struct_size = sizeof(options.known) - 1;
    check_all_refuse(&options.known);
    options.known.struct_size = sizeof(options);
    options.unknown[3] = 1;
    check_all_refuse(&options.known);
}

/* A program compiled with a later release may not use its new fields. */
TEST(options_unknown_but_not_set_are_accepted, "")
{
    struct {
        hora_queue_options known;
        unsigned char unknown[16];
    } queue_options = {.known = {.struct_size = sizeof(queue_options)}};
    struct {
        hora_latch_options known;
        unsigned char unknown[16];
    } latch_options = {.known = {.struct_size = sizeof(latch_options)}};
    hora_queue *queue;
    hora_latch *latch;

    CHECK_OK(hora_queue_new_array(1, &queue_options.known, &queue, NULL));
    CHECK_OK(hora_queue_free(queue));
    CHECK_OK(hora_latch_new(1, &latch_options.known, &latch, NULL));
    CHECK_OK(hora_latch_free(latch));
}

TEST(queue_options_of_another_kind_are_refused, "")
{
    hora_queue_options *compare = HORA_QUEUE_OPTIONS(.compare = compare_nothing);
    hora_queue_options *remaining = HORA_QUEUE_OPTIONS(.remaining = never_remaining);
    hora_queue_options *both = HORA_QUEUE_OPTIONS(.compare = compare_nothing, .remaining = never_remaining);
    hora_queue_options *fair = HORA_QUEUE_OPTIONS(.fair = true);
    hora_queue_options *fair_priority = HORA_QUEUE_OPTIONS(.fair = true, .compare = compare_nothing);

    no_queue = (hora_queue *)untouched;
    CHECK_ERROR(hora_queue_new_array(1, compare, &no_queue, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_new_array(1, remaining, &no_queue, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_new_linked(1, compare, &no_queue, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_new_linked(1, remaining, &no_queue, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_new_linked(1, fair, &no_queue, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_new_synchronous(compare, &no_queue, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_new_synchronous(remaining, &no_queue, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_new_priority(1, both, &no_queue, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_new_priority(1, fair_priority, &no_queue, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_new_delay(compare, &no_queue, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_new_delay(fair, &no_queue, NULL), HORA_EINVAL);
    CHECK_POINTER(no_queue, untouched);
}

TEST(priority_queue_needs_compare, "")
{
    no_queue = (hora_queue *)untouched;
    CHECK_ERROR(hora_queue_new_priority(1, NULL, &no_queue, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_queue_new_priority(1, HORA_QUEUE_OPTIONS(.fair = false), &no_queue, NULL), HORA_EINVAL);
    CHECK_POINTER(no_queue, untouched);
}

/* ---- latches ---- */

TEST(latch_calls_refuse_null, "")
{
    CHECK_OK(hora_latch_free(NULL));
    CHECK_ERROR(hora_latch_new(1, NULL, NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_latch_count_down(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_latch_count(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_latch_await(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_latch_await_for(NULL, HORA_FOREVER), HORA_EINVAL);
}

TEST(latch_options_of_a_wrong_size_are_refused, "")
{
    struct {
        hora_latch_options known;
        unsigned char unknown[16];
    } options = {0};
    hora_latch *latch = (hora_latch *)untouched;

    CHECK_ERROR(hora_latch_new(1, &options.known, &latch, NULL), HORA_EINVAL);
    options.known.struct_size = sizeof(options.known) - 1;
    CHECK_ERROR(hora_latch_new(1, &options.known, &latch, NULL), HORA_EINVAL);
    options.known.struct_size = sizeof(options);
    options.unknown[3] = 1;
    CHECK_ERROR(hora_latch_new(1, &options.known, &latch, NULL), HORA_EINVAL);
    CHECK_POINTER(latch, untouched);
}

/* ---- clocks and threads: the rest stands in test_virtual_clock.c and test_interrupt.c ---- */

TEST(virtual_clock_calls_refuse_null, "")
{
    hora_ns by = 7;

    CHECK_OK(hora_virtual_clock_free(NULL));
    CHECK_ERROR(hora_virtual_clock_new(NULL, NULL, NULL), HORA_EINVAL);
    CHECK_POINTER(hora_virtual_clock_view(NULL, HORA_CLOCK_MONOTONIC), NULL);
    CHECK_POINTER(hora_virtual_clock_view(NULL, HORA_CLOCK_WALL), NULL);
    CHECK_ERROR(hora_virtual_clock_advance(NULL, 1), HORA_EINVAL);
    CHECK_ERROR(hora_virtual_clock_advance_to_next(NULL, &by), HORA_EINVAL);
    CHECK_ERROR(hora_virtual_clock_attach(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_virtual_clock_detach(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_virtual_clock_expect(NULL, 1), HORA_EINVAL);
    CHECK_ERROR(hora_virtual_clock_settle(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_virtual_clock_run(NULL, 1), HORA_EINVAL);
    CHECK_ERROR(hora_virtual_clock_step_wall(NULL, 1), HORA_EINVAL);
    CHECK_ERROR(hora_virtual_clock_suspend(NULL, 1), HORA_EINVAL);
    CHECK_ERROR(hora_virtual_clock_set_lateness(NULL, 1), HORA_EINVAL);
    CHECK_INT(by, 7);
}
