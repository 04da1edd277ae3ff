/* SPDX-License-Identifier: Apache-2.0 */
/* support.c - see support.h */
#include "support.h"

#include <poll.h>
#include <string.h>

static struct element elements[ELEMENTS];

const hora_ns expired[3] = {INT64_MIN, -1, 0};
const hora_ns any_timeout[5] = {INT64_MIN, -1, 0, 1, INT64_MAX};
char untouched[1];

struct element *item(int i)
{
    return &elements[i];
}

bool is_synchronous(enum kind kind)
{
    return kind == SYNCHRONOUS || kind == SYNCHRONOUS_FAIR;
}

bool is_bounded(enum kind kind)
{
    return kind == ARRAY || kind == ARRAY_FAIR || kind == LINKED;
}

bool is_ordered(enum kind kind)
{
    return kind >= PRIORITY;
}

/* ---- fixtures ---- */

void fixture_open(struct fixture *f)
{
    /* The lines start far apart, so that mixing them up shows. */
    const hora_instant wall = {HORA_HOURS(24 * 365)};

    *f = (struct fixture){0};
    for (int i = 0; i < ELEMENTS; i++)
        elements[i] = (struct element){.value = i, .due = i};
    CHECK_OK(hora_virtual_clock_new(HORA_VIRTUAL_CLOCK_OPTIONS(.monotonic = HORA_SECONDS(1), .wall = wall),
                                    &f->clock, NULL));
    f->view = hora_virtual_clock_view(f->clock, HORA_CLOCK_MONOTONIC);
}

static int compare_values(const void *a, const void *b, void *context)
{
    const struct element *x = a, *y = b;

    (void)context;
    return (x->value > y->value) - (x->value < y->value);
}

static int compare_due(const void *a, const void *b, void *context)
{
    const struct element *x = a, *y = b;

    (void)context;
    return (x->due > y->due) - (x->due < y->due);
}

hora_ns element_remaining(const void *element, void *context)
{
    const struct element *e = element;
    const struct fixture *f = context;

    return e->due - hora_clock_now(f->view);
}

int make_queue(struct fixture *f, enum kind kind, int capacity, void (*drop)(void *item),
               const hora_clock *clock, hora_queue **ret_queue)
{
    hora_queue_options options = HORA_INIT(hora_queue_options);

    options.clock = clock;
    options.drop = drop;
    options.fair = kind == ARRAY_FAIR || kind == SYNCHRONOUS_FAIR;
    switch (kind) {
    case ARRAY:
    case ARRAY_FAIR:
        return hora_queue_new_array(capacity, &options, ret_queue, NULL);
    case LINKED:
        return hora_queue_new_linked(capacity, &options, ret_queue, NULL);
    case LINKED_UNBOUNDED:
        return hora_queue_new_linked(HORA_UNBOUNDED, &options, ret_queue, NULL);
    case SYNCHRONOUS:
    case SYNCHRONOUS_FAIR:
        return hora_queue_new_synchronous(&options, ret_queue, NULL);
    case PRIORITY:
    case PRIORITY_SMALL:
        options.compare = compare_values;
        return hora_queue_new_priority(kind == PRIORITY ? 0 : 1, &options, ret_queue, NULL);
    case DELAY:
        return hora_queue_new_delay(&options, ret_queue, NULL);
    case DELAY_ASKED:
        options.compare = compare_due;
        options.remaining = element_remaining;
        options.arg = f;
        return hora_queue_new_delay(&options, ret_queue, NULL);
    }
    return HORA_EINVAL;
}

void fixture_open_queue(struct fixture *f, enum kind kind, int capacity)
{
    fixture_open(f);
    f->kind = kind;
    CHECK_OK(make_queue(f, kind, capacity, NULL, f->view, &f->queue));
    if (kind != ARRAY && kind != ARRAY_FAIR)
        return;
    for (uint32_t turns = test_random((uint32_t)capacity); turns > 0; turns--) {
        CHECK_OK(hora_queue_offer(f->queue, item(0)));
        CHECK_POLL(f->queue, item(0));
    }
}

void fixture_close(struct fixture *f)
{
    CHECK(!hora_interrupted());
    CHECK_OK(hora_queue_free(f->queue));
    CHECK_OK(hora_virtual_clock_free(f->clock));
}

int insert(struct fixture *f, struct element *element)
{
    if (f->kind == DELAY)
        return hora_queue_put_at(f->queue, element, element->due);
    return hora_queue_offer(f->queue, element);
}

void fill(struct fixture *f, int n)
{
    int order[ELEMENTS] = {0};

    for (int i = 0; i < n; i++) {
        int j = is_ordered(f->kind) ? (int)test_random((uint32_t)i + 1) : i;
        order[i] = order[j];
        order[j] = i;
    }
    for (int i = 0; i < n; i++)
        CHECK_OK(insert(f, item(order[i])));
}

struct element *due_in(struct fixture *f, int i, hora_ns delay)
{
    elements[i].due = hora_clock_now(f->view) + delay;
    return &elements[i];
}

void settle(struct fixture *f)
{
    CHECK_OK(hora_virtual_clock_settle(f->clock));
}

void advance(struct fixture *f, hora_ns by)
{
    CHECK_OK(hora_virtual_clock_advance(f->clock, by));
}

void interrupt_self(void)
{
    hora_thread *self;

    if (!CHECK_OK(hora_thread_self(&self)))
        return;
    CHECK_OK(hora_thread_interrupt(self));
    hora_thread_unref(self);
}

/* ---- calls ---- */

static int run_put(struct call *call)
{
    return hora_queue_put(call->object, call->item);
}

static int run_offer_for(struct call *call)
{
    return hora_queue_offer_for(call->object, call->item, call->timeout);
}

static int run_take(struct call *call)
{
    return hora_queue_take(call->object, &call->item);
}

static int run_poll_for(struct call *call)
{
    return hora_queue_poll_for(call->object, call->timeout, &call->item);
}

static int run_await(struct call *call)
{
    return hora_latch_await(call->object);
}

static int run_await_for(struct call *call)
{
    return hora_latch_await_for(call->object, call->timeout);
}

static int run_sleep(struct call *call)
{
    return hora_clock_sleep(call->clock, call->timeout);
}

static void call_thread(void *arg)
{
    struct call *call = arg;

    call->result = call->run(call);
    call->interrupted = hora_interrupted();
    atomic_store(&call->done, true);
}

void start_call(struct call *call, struct fixture *f)
{
    call->fixture = f;
    call->thread = test_thread_start(f->clock, call_thread, call);
}

void start_put(struct call *call, struct fixture *f, void *element)
{
    *call = (struct call){.run = run_put, .object = f->queue, .item = element};
    start_call(call, f);
}

void start_offer_for(struct call *call, struct fixture *f, void *element, hora_ns timeout)
{
    *call = (struct call){.run = run_offer_for, .object = f->queue, .item = element, .timeout = timeout};
    start_call(call, f);
}

void start_take(struct call *call, struct fixture *f)
{
    *call = (struct call){.run = run_take, .object = f->queue, .item = untouched, .takes = true};
    start_call(call, f);
}

void start_poll_for(struct call *call, struct fixture *f, hora_ns timeout)
{
    *call = (struct call){
        .run = run_poll_for, .object = f->queue, .item = untouched, .takes = true, .timeout = timeout};
    start_call(call, f);
}

void start_await(struct call *call, struct fixture *f, hora_latch *latch)
{
    *call = (struct call){.run = run_await, .object = latch};
    start_call(call, f);
}

void start_await_for(struct call *call, struct fixture *f, hora_latch *latch, hora_ns timeout)
{
    *call = (struct call){.run = run_await_for, .object = latch, .timeout = timeout};
    start_call(call, f);
}

void start_sleep(struct call *call, struct fixture *f, const hora_clock *clock, hora_ns duration)
{
    *call = (struct call){.run = run_sleep, .clock = clock, .timeout = duration};
    start_call(call, f);
}

/* ---- checks ---- */

void check_interrupted(const char *file, int line, const char *what, int result, void **output)
{
    test_check_error(file, line, what, result, HORA_EINTERRUPTED);
    test_check_int(file, line, "flag after the interrupt was reported", hora_interrupted(), false);
    if (output)
        test_check_pointer(file, line, "output of an interrupted call", *output, untouched);
}

bool check_blocked(const char *file, int line, struct call *call)
{
    test_check_error(file, line, "settle", hora_virtual_clock_settle(call->fixture->clock), 0);
    if (!atomic_load(&call->done))
        return true;
    test_fail(file, line, "the call does not wait: it returned %s", hora_errname(call->result));
    return false;
}

/* Join the call's thread; if it does not return by itself, fail, and free it from its wait. */
static void finish(const char *file, int line, struct call *call)
{
    test_check_error(file, line, "settle", hora_virtual_clock_settle(call->fixture->clock), 0);
    if (!atomic_load(&call->done)) {
        test_fail(file, line, "the call still waits");
        hora_thread_interrupt(test_thread_handle(call->thread));
    }
    test_thread_join(call->thread);
    call->thread = NULL;
}

void check_returns(const char *file, int line, struct call *call, int want)
{
    finish(file, line, call);
    test_check_error(file, line, "result of the call", call->result, want);
    test_check_int(file, line, "interrupt flag after the call", call->interrupted, false);
    if (call->takes && want != 0)
        test_check_pointer(file, line, "output of a call that failed", call->item, untouched);
}

int result_of(const char *file, int line, struct call *call)
{
    finish(file, line, call);
    return call->result;
}

void check_takes(const char *file, int line, struct call *call, const void *want)
{
    check_returns(file, line, call, 0);
    test_check_pointer(file, line, "element taken", call->item, want);
}

void check_interruptible(const char *file, int line, struct call *call)
{
    check_blocked(file, line, call);
    test_check_error(file, line, "interrupt", hora_thread_interrupt(test_thread_handle(call->thread)), 0);
    check_returns(file, line, call, HORA_EINTERRUPTED);
}

void check_waits_for(const char *file, int line, struct call *call, hora_ns timeout, int want)
{
    check_blocked(file, line, call);
    advance(call->fixture, timeout - 1);
    check_blocked(file, line, call);
    advance(call->fixture, 1);
    check_returns(file, line, call, want);
}

void check_poll(const char *file, int line, hora_queue *queue, const void *want)
{
    void *got = untouched;

    test_check_error(file, line, "poll", hora_queue_poll(queue, &got), 0);
    test_check_pointer(file, line, "element polled", got, want);
}

void check_poll_fails(const char *file, int line, hora_queue *queue, int want)
{
    void *got = untouched;

    test_check_error(file, line, "poll", hora_queue_poll(queue, &got), want);
    test_check_pointer(file, line, "output of a poll that failed", got, untouched);
}

void check_peek(const char *file, int line, hora_queue *queue, const void *want)
{
    void *got = untouched;

    test_check_error(file, line, "peek", hora_queue_peek(queue, &got), 0);
    test_check_pointer(file, line, "element peeked", got, want);
}

static int count_visits(void *element, void *context)
{
    (void)element;
    ++*(int *)context;
    return 0;
}

void check_empty(const char *file, int line, hora_queue *queue)
{
    void *got = untouched;
    void *some[2] = {untouched, untouched};
    int visits = 0;

    test_check_int(file, line, "size of an empty queue", hora_queue_size(queue), 0);
    test_check_error(file, line, "peek", hora_queue_peek(queue, &got), HORA_EEMPTY);
    check_poll_fails(file, line, queue, HORA_EEMPTY);
    for (int i = 0; i < 3; i++)
        test_check_error(file, line, "poll_for", hora_queue_poll_for(queue, expired[i], &got),
                         HORA_ETIMEDOUT);
    test_check_pointer(file, line, "output of calls that failed", got, untouched);
    test_check_int(file, line, "snapshot of an empty queue", hora_queue_snapshot(queue, some, 2), 0);
    test_check_pointer(file, line, "end of the snapshot", some[0], NULL);
    test_check_pointer(file, line, "beyond the end of the snapshot", some[1], untouched);
    test_check_error(file, line, "for_each", hora_queue_for_each(queue, count_visits, &visits), 0);
    test_check_int(file, line, "visits of an empty queue", visits, 0);
}

void check_polls_range(const char *file, int line, hora_queue *queue, int first, int last)
{
    for (int i = first; i <= last; i++)
        check_poll(file, line, queue, item(i));
    check_poll_fails(file, line, queue, HORA_EEMPTY);
}

void give_back_futures(void *const *futures, int count)
{
    for (int i = 0; i < count; i++)
        (void)hora_future_unref(futures[i]);
}

void check_peek_future(const char *file, int line, hora_pool *pool, const hora_future *want)
{
    void *got = NULL;

    test_check_error(file, line, "peek", hora_queue_peek(hora_pool_queue(pool), &got), 0);
    test_check_pointer(file, line, "future peeked", got, want);
    (void)hora_future_unref(got);
}

void check_free(const char *file, int line, hora_pool *pool)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);

    test_check_error(file, line, "stats", hora_pool_get_stats(pool, &stats), 0);
    test_check_int(file, line, "what free says was abandoned", hora_pool_free(pool), stats.abandoned);
}

int order_of(hora_future *a, hora_future *b)
{
    int order = 0;

    CHECK_OK(hora_future_compare_due(a, b, &order));
    return order;
}

void check_no_order(const char *file, int line, hora_future *a, hora_future *b)
{
    int order = -7;

    test_check_error(file, line, "comparing", hora_future_compare_due(a, b, &order), HORA_EINVAL);
    test_check_int(file, line, "order", order, -7);
}

void check_refusal(const char *file, int line, const hora_error *error, int code, const char *field,
                   const char *words)
{
    test_check_error(file, line, "code of the reason", error->code, code);
    if (memchr(error->message, '\0', sizeof(error->message)) == NULL || error->message[0] == '\0')
        test_fail(file, line, "the reason is no sentence");
    else if (strstr(error->message, words) == NULL)
        test_fail(file, line, "the reason is \"%s\", not \"%s\"", error->message, words);
    if (field != NULL && (error->field == NULL || strcmp(error->field, field) != 0))
        test_fail(file, line, "it is about %s, not %s", error->field != NULL ? error->field : "nothing",
                  field);
}

bool is_readable(int fd)
{
    struct pollfd entry = {.fd = fd, .events = POLLIN};

    return poll(&entry, 1, 0) == 1 && (entry.revents & POLLIN) != 0;
}
