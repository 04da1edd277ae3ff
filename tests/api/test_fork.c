/* SPDX-License-Identifier: Apache-2.0 */
/* test_fork.c - in the child of a fork the parent's objects reject every call, and nothing hangs */
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "rows.h"

/* What the parent made. */
struct family {
    struct fixture *f;
    hora_latch *latch;
    hora_thread *thread;
};

static int visit_nothing(void *element, void *context)
{
    (void)element;
    (void)context;
    return 0;
}

static void call_queue(struct family *family)
{
    hora_queue *queue = family->f->queue;
    void *got = untouched;

    CHILD_FORKED(hora_queue_put(queue, item(0)));
    CHILD_FORKED(hora_queue_offer(queue, item(0)));
    CHILD_FORKED(hora_queue_offer_for(queue, item(0), HORA_FOREVER));
    CHILD_FORKED(hora_queue_take(queue, &got));
    CHILD_FORKED(hora_queue_poll(queue, &got));
    CHILD_FORKED(hora_queue_poll_for(queue, HORA_FOREVER, &got));
    CHILD_FORKED(hora_queue_peek(queue, &got));
    CHILD_FORKED(hora_queue_remove(queue, item(0)));
    CHILD_FORKED(hora_queue_contains(queue, item(0)));
    CHILD_FORKED(hora_queue_drain(queue, &got, 1));
    CHILD_FORKED(hora_queue_clear(queue));
    CHILD_FORKED(hora_queue_size(queue));
    CHILD_FORKED(hora_queue_remaining_capacity(queue));
    CHILD_FORKED(hora_queue_snapshot(queue, &got, 1));
    CHILD_FORKED(hora_queue_for_each(queue, visit_nothing, NULL));
    CHILD_FORKED(hora_queue_close(queue));
    CHILD_CHECK(!hora_queue_is_closed(queue));
    CHILD_FORKED(hora_queue_fd(queue));
    if (family->f->kind == DELAY) {
        CHILD_FORKED(hora_queue_put_delayed(queue, item(0), 0));
        CHILD_FORKED(hora_queue_put_at(queue, item(0), 0));
    }
    CHILD_FORKED(hora_queue_free(queue));
    CHILD_CHECK(got == untouched);
}

/* With a thread that waits, which the child does not have. The parent's queue is not disturbed. */
static void refuses_calls_in_a_child(enum kind kind)
{
    struct fixture f;
    struct family family = {.f = &f};
    struct call take;

    fixture_open_queue(&f, kind, 1);
    start_take(&take, &f);
    CHECK_BLOCKED(&take);
    in_child(call_queue, &family);
    CHECK_BLOCKED(&take);
    CHECK_OK(hora_queue_offer(f.queue, item(0)));
    CHECK_TAKES(&take, item(0));
    fixture_close(&f);
}

TEST_REAL(array_queue_refuses_calls_in_a_child, "")
{
    refuses_calls_in_a_child(ARRAY);
}

TEST_REAL(linked_queue_refuses_calls_in_a_child, "")
{
    refuses_calls_in_a_child(LINKED);
}

TEST_REAL(synchronous_queue_refuses_calls_in_a_child, "")
{
    refuses_calls_in_a_child(SYNCHRONOUS);
}

TEST_REAL(priority_queue_refuses_calls_in_a_child, "")
{
    refuses_calls_in_a_child(PRIORITY);
}

TEST_REAL(delay_queue_refuses_calls_in_a_child, "")
{
    refuses_calls_in_a_child(DELAY);
}

static void call_latch(struct family *family)
{
    hora_latch *latch = family->latch;

    CHILD_FORKED(hora_latch_count_down(latch));
    CHILD_FORKED(hora_latch_count(latch));
    CHILD_FORKED(hora_latch_await(latch));
    CHILD_FORKED(hora_latch_await_for(latch, HORA_FOREVER));
    CHILD_FORKED(hora_latch_free(latch));
}

TEST_REAL(latch_refuses_calls_in_a_child, "")
{
    struct fixture f;
    struct family family = {.f = &f};
    struct call call;

    fixture_open(&f);
    CHECK_OK(hora_latch_new(1, HORA_LATCH_OPTIONS(.clock = f.view), &family.latch, NULL));
    start_await(&call, &f, family.latch);
    CHECK_BLOCKED(&call);
    in_child(call_latch, &family);
    CHECK_BLOCKED(&call);
    CHECK_INT(hora_latch_count(family.latch), 1);
    CHECK_OK(hora_latch_count_down(family.latch));
    CHECK_RETURNS(&call, 0);
    in_child(call_latch, &family);
    CHECK_OK(hora_latch_free(family.latch));
    fixture_close(&f);
}

static void call_clock(struct family *family)
{
    hora_virtual_clock *clock = family->f->clock;
    hora_ns by;

    CHILD_FORKED(hora_virtual_clock_advance(clock, 1));
    CHILD_FORKED(hora_virtual_clock_advance_to_next(clock, &by));
    CHILD_FORKED(hora_virtual_clock_attach(clock));
    CHILD_FORKED(hora_virtual_clock_detach(clock));
    CHILD_FORKED(hora_virtual_clock_expect(clock, 1));
    CHILD_FORKED(hora_virtual_clock_settle(clock));
    CHILD_FORKED(hora_virtual_clock_run(clock, 1));
    CHILD_FORKED(hora_virtual_clock_step_wall(clock, 1));
    CHILD_FORKED(hora_virtual_clock_suspend(clock, 1));
    CHILD_FORKED(hora_virtual_clock_set_lateness(clock, 1));
    CHILD_FORKED(hora_virtual_clock_free(clock));
}

/* An object or a sleep on the parent's clock could never end. */
static void use_clock(struct family *family)
{
    hora_clock const *view = family->f->view;
    hora_queue *queue = (hora_queue *)untouched;
    hora_latch *latch = (hora_latch *)untouched;

    CHILD_FORKED(make_queue(family->f, ARRAY, 1, NULL, view, &queue));
    CHILD_FORKED(make_queue(family->f, LINKED, 1, NULL, view, &queue));
    CHILD_FORKED(make_queue(family->f, SYNCHRONOUS, 1, NULL, view, &queue));
    CHILD_FORKED(make_queue(family->f, PRIORITY, 1, NULL, view, &queue));
    CHILD_FORKED(make_queue(family->f, DELAY, 1, NULL, view, &queue));
    CHILD_CHECK((void *)queue == untouched);
    CHILD_FORKED(hora_latch_new(1, HORA_LATCH_OPTIONS(.clock = view), &latch, NULL));
    CHILD_CHECK((void *)latch == untouched);
    CHILD_FORKED(hora_clock_sleep(view, 10));
    CHILD_FORKED(hora_clock_sleep(view, HORA_FOREVER));
    CHILD_CHECK(hora_clock_now(view) == HORA_SECONDS(1));
    CHILD_CHECK(hora_clock_get_id(view) == HORA_CLOCK_MONOTONIC);
}

TEST_REAL(virtual_clock_cannot_be_used_in_a_child, "")
{
    struct fixture f;
    struct family family = {.f = &f};

    fixture_open(&f);
    in_child(use_clock, &family);
    fixture_close(&f);
}

TEST_REAL(virtual_clock_refuses_calls_in_a_child, "")
{
    struct fixture f;
    struct family family = {.f = &f};
    struct call call;

    fixture_open(&f);
    start_sleep(&call, &f, f.view, 10);
    CHECK_BLOCKED(&call);
    in_child(call_clock, &family);
    CHECK_WAITS_FOR(&call, 10, 0);
    fixture_close(&f);
}

static void call_thread_handle(struct family *family)
{
    CHILD_FORKED(hora_thread_interrupt(family->thread));
    hora_thread_ref(family->thread);
    hora_thread_unref(family->thread);
}

/* Neither the thread that the child does not have nor the parent's one is disturbed. */
TEST_REAL(thread_handle_refuses_interrupts_in_a_child, "")
{
    struct fixture f;
    struct family family = {.f = &f};
    struct call call;

    fixture_open(&f);
    start_sleep(&call, &f, f.view, 10);
    CHECK_BLOCKED(&call);
    family.thread = test_thread_handle(call.thread);
    in_child(call_thread_handle, &family);
    CHECK_WAITS_FOR(&call, 10, 0);
    fixture_close(&f);
}

/* What the child makes is its own and works, also after its own fork in the child of that. */
static void use_new_objects(struct family *family)
{
    hora_queue *queue;
    hora_latch *latch;
    hora_thread *self;
    void *got = untouched;

    (void)family;
    CHILD_CHECK(hora_queue_new_linked(1, NULL, &queue, NULL) == 0);
    CHILD_CHECK(hora_queue_put(queue, item(0)) == 0);
    CHILD_CHECK(hora_queue_offer_for(queue, item(1), HORA_MS(1)) == HORA_ETIMEDOUT);
    CHILD_CHECK(is_readable(hora_queue_fd(queue)));
    CHILD_CHECK(hora_queue_take(queue, &got) == 0 && got == item(0));
    CHILD_CHECK(hora_queue_poll_for(queue, HORA_MS(1), &got) == HORA_ETIMEDOUT);
    CHILD_CHECK(hora_queue_free(queue) == 0);
    CHILD_CHECK(hora_latch_new(1, NULL, &latch, NULL) == 0);
    CHILD_CHECK(hora_latch_await_for(latch, HORA_MS(1)) == HORA_ETIMEDOUT);
    CHILD_CHECK(hora_latch_count_down(latch) == 0 && hora_latch_await(latch) == 0);
    CHILD_CHECK(hora_latch_free(latch) == 0);
    CHILD_CHECK(hora_thread_self(&self) == 0);
    CHILD_CHECK(hora_thread_interrupt(self) == 0 && hora_thread_is_interrupted(self));
    CHILD_CHECK(hora_sleep(HORA_FOREVER) == HORA_EINTERRUPTED);
    CHILD_CHECK(is_readable(hora_interrupt_fd()) == hora_interrupted());
    hora_thread_unref(self);
    CHILD_CHECK(hora_sleep(HORA_MS(1)) == 0);
}

TEST_REAL(new_objects_work_in_a_child, "")
{
    struct fixture f;
    struct family family = {.f = &f};

    fixture_open_queue(&f, ARRAY, 1);
    in_child(use_new_objects, &family);
    fixture_close(&f);
}

static void use_threads(struct family *family)
{
    struct fixture f;
    struct call call;

    (void)family;
    fixture_open_queue(&f, LINKED, 1);
    start_take(&call, &f);
    CHILD_CHECK(hora_virtual_clock_settle(f.clock) == 0);
    CHILD_CHECK(!atomic_load(&call.done));
    CHILD_CHECK(hora_queue_put(f.queue, item(0)) == 0);
    test_thread_join(call.thread);
    CHILD_CHECK(call.result == 0 && call.item == item(0));
    CHILD_CHECK(hora_queue_free(f.queue) == 0);
    CHILD_CHECK(hora_virtual_clock_free(f.clock) == 0);
}

/* ThreadSanitizer does not allow threads after the fork of a process that has some. */
TEST_REAL(new_threads_work_in_a_child, "")
{
    struct fixture f;
    struct family family = {.f = &f};
    struct call take;

    if (BUILT_WITH_TSAN)
        return;
    fixture_open_queue(&f, ARRAY, 1);
    start_take(&take, &f);
    CHECK_BLOCKED(&take);
    in_child(use_threads, &family);
    CHECK_INTERRUPTIBLE(&take);
    fixture_close(&f);
}

static void call_objects_of_child(struct family *family)
{
    call_queue(family);
    call_latch(family);
}

static void fork_again(struct family *family)
{
    struct fixture own = *family->f;
    struct family grand = {.f = &own};
    int status = -1;
    pid_t child;

    CHILD_CHECK(hora_queue_new_linked(1, NULL, &own.queue, NULL) == 0);
    CHILD_CHECK(hora_latch_new(1, NULL, &grand.latch, NULL) == 0);
    own.kind = LINKED;
    child = fork();
    if (child == 0) {
        call_objects_of_child(&grand);
        call_queue(family);
        _exit(0);
    }
    CHILD_CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHILD_CHECK(hora_queue_free(own.queue) == 0 && hora_latch_free(grand.latch) == 0);
}

TEST_REAL(objects_of_a_child_refuse_calls_in_its_child, "")
{
    struct fixture f;
    struct family family = {.f = &f};

    fixture_open_queue(&f, ARRAY, 1);
    in_child(fork_again, &family);
    fixture_close(&f);
}

/* ---- fork in the middle of other threads' calls ---- */

struct hammer {
    struct fixture *f;
    hora_latch *latch; /* counted down once it hammers */
    void (*blow)(struct fixture *f);
    atomic_bool stop;
};

static void hammer(void *arg)
{
    struct hammer *self = arg;

    CHECK_OK(hora_latch_count_down(self->latch));
    while (!atomic_load(&self->stop))
        self->blow(self->f);
}

/* Allocates nothing: malloc's own locks are not ours. */
static void use_queue(struct fixture *f)
{
    void *got;

    CHECK_OK(hora_queue_offer(f->queue, item(0)));
    CHECK_OK(hora_queue_poll(f->queue, &got));
    CHECK(hora_queue_size(f->queue) == 0);
    hora_interrupted();
    hora_clock_now(f->view);
}

static void read_clock(struct fixture *f)
{
    hora_clock_now(f->view);
}

/* Fork again and again while a thread hammers; locks may be held by it, which the child does not have. */
static void fork_under_hammer(void (*blow)(struct fixture *f), void (*run)(struct family *family), int forks)
{
    struct fixture f;
    struct family family = {.f = &f};
    struct hammer state = {.f = &f, .blow = blow};
    test_thread *thread;

    fixture_open_queue(&f, ARRAY, 4);
    CHECK_OK(hora_latch_new(1, NULL, &state.latch, NULL));
    thread = test_thread_start(NULL, hammer, &state);
    CHECK_OK(hora_latch_await(state.latch));
    for (int i = 0; i < forks; i++)
        in_child(run, &family);
    atomic_store(&state.stop, true);
    test_thread_join(thread);
    CHECK_OK(hora_latch_free(state.latch));
    fixture_close(&f);
}

static void call_everything(struct family *family)
{
    call_queue(family);
    call_clock(family);
    use_new_objects(family);
}

TEST_REAL(child_of_a_busy_process_does_not_hang, "")
{
    fork_under_hammer(use_queue, call_everything, 20);
}

static void read_clock_in_child(struct family *family)
{
    alarm(5);
    read_clock(family->f);
}

/* The parent's clock stands still in the child, but reading it does no harm. */
TEST_REAL(child_of_a_busy_process_can_read_the_clock, "")
{
    fork_under_hammer(read_clock, read_clock_in_child, 100);
}
