/* SPDX-License-Identifier: Apache-2.0 */
/* support.h - shared by all tests of the public interface
 *
 * A fixture is a virtual clock and, mostly, a queue of some kind on it. A call is one blocking call that a
 * separate thread makes: the test starts it, lets the clock settle, checks that it is blocked, does
 * something, and checks that it returns. The CHECK_ macros report their own line. */
#ifndef HORA_TESTS_API_SUPPORT_H
#define HORA_TESTS_API_SUPPORT_H

#include <stdatomic.h>

#include <hora/hora.h>

#include "harness.h"

/* Which sanitizer this is compiled with: they cannot do everything that a process can. */
#if defined(__has_feature)
#define BUILT_WITH_ASAN __has_feature(address_sanitizer)
#define BUILT_WITH_TSAN __has_feature(thread_sanitizer)
#else
#ifdef __SANITIZE_ADDRESS__
#define BUILT_WITH_ASAN 1
#else
#define BUILT_WITH_ASAN 0
#endif
#ifdef __SANITIZE_THREAD__
#define BUILT_WITH_TSAN 1
#else
#define BUILT_WITH_TSAN 0
#endif
#endif

enum { SIZE = 32 };              /* elements in most tests */
enum { ELEMENTS = 2 * SIZE };    /* elements there are */
#define A_WHILE      HORA_MS(12) /* a timeout that passes */
#define A_LONG_WHILE HORA_SECONDS(10)

/* The elements of the queues. Priority queues order them by value, delay queues by due, which lies in the
 * past at first. */
struct element {
    int value;
    hora_ns due;
};

/* Element i. All are reset by fixture_open: value i, due i nanoseconds after the zero of the clock. */
struct element *item(int i);

enum kind {
    ARRAY,
    ARRAY_FAIR,
    LINKED,
    LINKED_UNBOUNDED,
    SYNCHRONOUS,
    SYNCHRONOUS_FAIR,
    PRIORITY,
    PRIORITY_SMALL, /* made with little room, so that it must grow */
    DELAY,          /* due times given when putting */
    DELAY_ASKED,    /* each element is asked with callbacks */
};

bool is_synchronous(enum kind kind);
/* True if the queue has a bound that a test can reach. */
bool is_bounded(enum kind kind);
/* True if the queue itself orders its elements. */
bool is_ordered(enum kind kind);

struct fixture {
    hora_virtual_clock *clock;
    const hora_clock *view; /* its monotonic line */
    hora_queue *queue;
    enum kind kind;
};

/* Only a clock. */
void fixture_open(struct fixture *f);
/* A clock and a queue; the capacity is that of bounded kinds. The ring of an array queue starts anywhere. */
void fixture_open_queue(struct fixture *f, enum kind kind, int capacity);
/* Ends both, and checks that nothing used them any more. */
void fixture_close(struct fixture *f);

/* A queue of the fixture's kind on some clock, for tests that need another destructor or clock than that of
 * the fixture. */
int make_queue(struct fixture *f, enum kind kind, int capacity, void (*drop)(void *item),
               const hora_clock *clock, hora_queue **ret_queue);

/* The remaining callback of DELAY_ASKED; its context is the fixture. */
hora_ns element_remaining(const void *element, void *context);

/* Put an element with its own due time if it is a delay queue; never waits. */
int insert(struct fixture *f, struct element *element);
/* Put elements 0 to n - 1, in a random order if the queue orders them itself: they leave as 0, 1, 2 ... */
void fill(struct fixture *f, int n);
/* Make an element due `delay` from now. */
struct element *due_in(struct fixture *f, int i, hora_ns delay);

void settle(struct fixture *f);
void advance(struct fixture *f, hora_ns by);
void interrupt_self(void);

/* Timeouts that are over at once, and all the special ones. */
extern const hora_ns expired[3];
extern const hora_ns any_timeout[5];

/* What outputs are set to before a call that must leave them alone. */
extern char untouched[1];

struct call {
    int (*run)(struct call *call); /* what the thread does */
    void *object;                  /* the queue or latch */
    const hora_clock *clock;       /* for sleeping */
    hora_ns timeout;
    void *item; /* what to put, or what was taken */
    int result;
    bool takes;       /* whether item is an output */
    bool interrupted; /* the flag after the call */
    atomic_bool done;
    struct fixture *fixture;
    test_thread *thread;
};

void start_put(struct call *call, struct fixture *f, void *element);
void start_offer_for(struct call *call, struct fixture *f, void *element, hora_ns timeout);
void start_take(struct call *call, struct fixture *f);
void start_poll_for(struct call *call, struct fixture *f, hora_ns timeout);
void start_await(struct call *call, struct fixture *f, hora_latch *latch);
void start_await_for(struct call *call, struct fixture *f, hora_latch *latch, hora_ns timeout);
void start_sleep(struct call *call, struct fixture *f, const hora_clock *clock, hora_ns duration);
/* Anything else: call->run and its arguments are set by the caller. */
void start_call(struct call *call, struct fixture *f);

/* Checks a call of this thread that reports the pending interrupt, clears it, and does not change its output,
 * if any. */
void check_interrupted(const char *file, int line, const char *what, int result, void **output);
#define CHECK_INTERRUPTED(result, output) \
    (interrupt_self(), check_interrupted(__FILE__, __LINE__, #result, (result), (output)))

/* The call waits, and nothing but what the test does next can end that. */
bool check_blocked(const char *file, int line, struct call *call);
#define CHECK_BLOCKED(call) check_blocked(__FILE__, __LINE__, (call))

/* Checks that the call has ended, or ends by itself, with this result and no pending interrupt. On error it
 * has not changed its outputs. Joins. */
void check_returns(const char *file, int line, struct call *call, int want);
#define CHECK_RETURNS(call, want) check_returns(__FILE__, __LINE__, (call), (want))

/* Its result, whatever that is; it has ended, or does so by itself. Joins. */
int result_of(const char *file, int line, struct call *call);
#define RESULT_OF(call) result_of(__FILE__, __LINE__, (call))

/* It returns successfully with this element. Joins. */
void check_takes(const char *file, int line, struct call *call, const void *want);
#define CHECK_TAKES(call, want) check_takes(__FILE__, __LINE__, (call), (want))

/* It waits; interrupting its thread makes it return HORA_EINTERRUPTED, and clears the flag. Joins. */
void check_interruptible(const char *file, int line, struct call *call);
#define CHECK_INTERRUPTIBLE(call) check_interruptible(__FILE__, __LINE__, (call))

/* Checks that the call waits for exactly `timeout` and then returns HORA_ETIMEDOUT (or `want`). No time has
 * passed since it began. Joins. */
void check_waits_for(const char *file, int line, struct call *call, hora_ns timeout, int want);
#define CHECK_TIMES_OUT(call, timeout) check_waits_for(__FILE__, __LINE__, (call), (timeout), HORA_ETIMEDOUT)

#define CHECK_WAITS_FOR(call, timeout, want) check_waits_for(__FILE__, __LINE__, (call), (timeout), (want))

/* hora_queue_poll gives this element. */
void check_poll(const char *file, int line, hora_queue *queue, const void *want);
#define CHECK_POLL(queue, want) check_poll(__FILE__, __LINE__, (queue), (want))

/* hora_queue_poll fails so, and leaves the output alone. */
void check_poll_fails(const char *file, int line, hora_queue *queue, int want);
#define CHECK_POLL_FAILS(queue, want) check_poll_fails(__FILE__, __LINE__, (queue), (want))

/* hora_queue_peek gives this element. */
void check_peek(const char *file, int line, hora_queue *queue, const void *want);
#define CHECK_PEEK(queue, want) check_peek(__FILE__, __LINE__, (queue), (want))

/* Nothing is in the queue, by every way of looking. */
void check_empty(const char *file, int line, hora_queue *queue);
#define CHECK_EMPTY(queue) check_empty(__FILE__, __LINE__, (queue))

/* Polling gives elements first to last, then nothing. */
void check_polls_range(const char *file, int line, hora_queue *queue, int first, int last);
#define CHECK_POLLS_RANGE(queue, first, last) check_polls_range(__FILE__, __LINE__, (queue), (first), (last))

/* Give back what hora_queue_snapshot of a pool's queue has handed out. */
void give_back_futures(void *const *futures, int count);

/* hora_queue_peek of a pool's queue gives this future, and a reference to it. */
void check_peek_future(const char *file, int line, hora_pool *pool, const hora_future *want);
#define CHECK_PEEK_FUTURE(pool, want) check_peek_future(__FILE__, __LINE__, (pool), (want))

/* Free a pool that has terminated: hora_pool_free says how many tasks it has abandoned. */
void check_free(const char *file, int line, hora_pool *pool);
#define CHECK_FREE(pool) check_free(__FILE__, __LINE__, (pool))

/* hora_future_compare_due, which must succeed. */
int order_of(hora_future *a, hora_future *b);
/* These two cannot be compared. */
void check_no_order(const char *file, int line, hora_future *a, hora_future *b);
#define CHECK_NO_ORDER(a, b) check_no_order(__FILE__, __LINE__, (a), (b))

/* Checks that a rejected call has filled in its hora_error: this code, this field (NULL: not checked), and a
 * sentence that contains these words. */
void check_refusal(const char *file, int line, const hora_error *error, int code, const char *field,
                   const char *words);
#define CHECK_REFUSAL(error, code, field, words) \
    check_refusal(__FILE__, __LINE__, (error), (code), (field), (words))

/* True if a descriptor is readable now. */
bool is_readable(int fd);

#endif
