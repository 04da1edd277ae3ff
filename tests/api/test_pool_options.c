/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool_options.c - how pools are made and changed, and which options are rejected */
#include <string.h>

#include "pool_support.h"

static int some_handler(hora_pool *pool, hora_future *future, void *context)
{
    (void)pool;
    (void)future;
    (void)context;
    return HORA_EREJECTED;
}

static int other_handler(hora_pool *pool, hora_future *future, void *context)
{
    return some_handler(pool, future, context);
}

static int some_factory(void (*run)(void *arg), void *arg, const char *name, void *context)
{
    (void)run;
    (void)arg;
    (void)name;
    (void)context;
    return HORA_EAGAIN;
}

static int other_factory(void (*run)(void *arg), void *arg, const char *name, void *context)
{
    return some_factory(run, arg, name, context);
}

/* Checks that the options are rejected, with a sentence that names the mistake, and that nothing is made. */
static void check_refused(int line, const hora_pool_options *options, const char *word)
{
    hora_error reason;
    hora_pool *pool = (hora_pool *)untouched;

    test_check_error(__FILE__, line, "hora_pool_new", hora_pool_new(options, &pool, &reason), HORA_EINVAL);
    test_check_pointer(__FILE__, line, "pool", pool, untouched);
    check_refusal(__FILE__, line, &reason, HORA_EINVAL, NULL, word);
    if (reason.field == NULL)
        test_fail(__FILE__, line, "no field is named: %s", reason.message);
    test_check_error(__FILE__, line, "hora_pool_new", hora_pool_new(options, &pool, NULL), HORA_EINVAL);
}
#define CHECK_REFUSED(word, ...) check_refused(__LINE__, HORA_POOL_OPTIONS(__VA_ARGS__), (word))

/* The same field, beside every combination of the others that the JDK has a constructor for. */
#define CHECK_REFUSED_BESIDE_ALL(word, ...)                                                         \
    do {                                                                                            \
        CHECK_REFUSED(word, .queue_capacity = 5, __VA_ARGS__);                                      \
        CHECK_REFUSED(word, .queue_capacity = 5, .thread_factory = some_factory, __VA_ARGS__);      \
        CHECK_REFUSED(word, .queue_capacity = 5, .reject = HORA_REJECT_CALLBACK,                    \
                      .reject_handler = some_handler, __VA_ARGS__);                                 \
        CHECK_REFUSED(word, .queue_capacity = 5, .thread_factory = some_factory,                    \
                      .reject = HORA_REJECT_CALLBACK, .reject_handler = some_handler, __VA_ARGS__); \
    } while (0)

TEST(pool_core_threads_must_not_be_negative,
     "ThreadPoolExecutorTest.testConstructor1 ThreadPoolExecutorTest.testConstructor6 "
     "ThreadPoolExecutorTest.testConstructor11 ThreadPoolExecutorTest.testConstructor16")
{
    CHECK_REFUSED_BESIDE_ALL("core_threads", .core_threads = -1, .max_threads = 1);
    CHECK_REFUSED_BESIDE_ALL("core_threads", .core_threads = INT_MIN);
}

TEST(pool_max_threads_must_not_be_negative,
     "ThreadPoolExecutorTest.testConstructor2 ThreadPoolExecutorTest.testConstructor7 "
     "ThreadPoolExecutorTest.testConstructor12 ThreadPoolExecutorTest.testConstructor17")
{
    CHECK_REFUSED_BESIDE_ALL("max_threads", .core_threads = 1, .max_threads = -1);
    CHECK_REFUSED_BESIDE_ALL("max_threads", .core_threads = 0, .max_threads = INT_MIN);
}

TEST(pool_accepts_any_number_of_threads, "")
{
    hora_pool *pool;
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);

    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 0, .max_threads = INT_MAX, .queue_capacity = -1),
                           &pool, NULL));
    CHECK_OK(hora_pool_set_core_threads(pool, INT_MAX, NULL));
    CHECK_OK(hora_pool_get_stats(pool, &stats));
    CHECK_INT(stats.core_threads, INT_MAX);
    CHECK_INT(stats.max_threads, INT_MAX);
    CHECK_OK(hora_pool_free(pool));
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = INT_MAX), &pool, NULL));
    CHECK_OK(hora_pool_get_stats(pool, &stats));
    CHECK_INT(stats.max_threads, INT_MAX);
    CHECK_OK(hora_pool_free(pool));
}

TEST(pool_refuses_stacks_that_no_thread_can_have, "")
{
    hora_pool *pool;

    CHECK_REFUSED("stack_size", .core_threads = 1, .stack_size = 1);
    CHECK_REFUSED("stack_size", .core_threads = 1, .stack_size = 2047); /* musl allows 2048 */
    CHECK_REFUSED("stack_size", .core_threads = 1, .stack_size = SIZE_MAX);
    CHECK_REFUSED("stack_size", .core_threads = 1, .stack_size = SIZE_MAX / 4 + 1);
#if SIZE_MAX > UINT32_MAX
    CHECK_REFUSED("stack_size", .core_threads = 1, .stack_size = (size_t)1 << 50);
#endif
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .stack_size = 256 << 10), &pool, NULL));
    CHECK_OK(hora_pool_free(pool));
}

/* In options 0 stands for the default; a pool without any thread cannot be had. */
TEST(pool_max_threads_are_never_zero,
     "ThreadPoolExecutorTest.testConstructor3 ThreadPoolExecutorTest.testConstructor8 "
     "ThreadPoolExecutorTest.testConstructor13 ThreadPoolExecutorTest.testConstructor18")
{
    for (int core = 0; core <= 3; core += 3) {
        struct rig r;

        rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = core, .max_threads = 0));
        CHECK_INT(rig_stats(&r).max_threads, core == 0 ? 1 : core);
        CHECK_ERROR(hora_pool_set_max_threads(r.pool, 0, NULL), HORA_EINVAL);
        CHECK_INT(rig_stats(&r).max_threads, core == 0 ? 1 : core);
        rig_close(&r);
    }
}

TEST(pool_keep_alive_must_not_be_negative,
     "ThreadPoolExecutorTest.testConstructor4 ThreadPoolExecutorTest.testConstructor9 "
     "ThreadPoolExecutorTest.testConstructor14 ThreadPoolExecutorTest.testConstructor19")
{
    CHECK_REFUSED_BESIDE_ALL("keep_alive", .core_threads = 1, .keep_alive = -1);
    CHECK_REFUSED_BESIDE_ALL("keep_alive", .core_threads = 1, .keep_alive = INT64_MIN);
}

TEST(pool_core_threads_must_not_exceed_max_threads,
     "ThreadPoolExecutorTest.testConstructor5 ThreadPoolExecutorTest.testConstructor10 "
     "ThreadPoolExecutorTest.testConstructor15 ThreadPoolExecutorTest.testConstructor20")
{
    CHECK_REFUSED_BESIDE_ALL("max_threads", .core_threads = 2, .max_threads = 1);
}

TEST(pool_without_a_queue_has_one_of_its_own, "ThreadPoolExecutorTest.testConstructorNullPointerException "
                                              "ThreadPoolExecutorTest.testConstructorNullPointerException2 "
                                              "ThreadPoolExecutorTest.testConstructorNullPointerException4 "
                                              "ThreadPoolExecutorTest.testConstructorNullPointerException6")
{
    static const struct {
        int wish, remaining;
    } cases[] = {{0, HORA_UNBOUNDED}, {7, 7}, {-1, 0}};

    for (int i = 0; i < 3; i++) {
        struct rig r;

        rig_open(&r, false,
                 HORA_POOL_OPTIONS(.core_threads = 1, .queue = NULL, .queue_capacity = cases[i].wish));
        CHECK_INT(hora_queue_remaining_capacity(hora_pool_queue(r.pool)), cases[i].remaining);
        rig_close(&r);
    }
}

TEST(pool_without_a_factory_makes_its_threads_itself,
     "ThreadPoolExecutorTest.testConstructorNullPointerException3 "
     "ThreadPoolExecutorTest.testConstructorNullPointerException8")
{
    struct rig r;
    struct job job = A_JOB(&r);

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .thread_factory = NULL));
    CHECK(rig_stats(&r).thread_factory == NULL);
    execute_job(&r, &job);
    settle(&r.f);
    CHECK_JOB(&job, 1);
    rig_close(&r);
}

TEST(pool_handler_and_rule_go_together, "ThreadPoolExecutorTest.testConstructorNullPointerException5 "
                                        "ThreadPoolExecutorTest.testConstructorNullPointerException7")
{
    CHECK_REFUSED("reject_handler", .core_threads = 1, .reject = HORA_REJECT_CALLBACK);
    CHECK_REFUSED("reject_handler", .core_threads = 1, .reject = HORA_REJECT_CALLBACK,
                  .thread_factory = some_factory);
    CHECK_REFUSED("reject_handler", .core_threads = 1, .reject = HORA_REJECT_DISCARD,
                  .reject_handler = some_handler);
    CHECK_REFUSED("reject", .core_threads = 1, .reject = (hora_reject)(HORA_REJECT_CALLBACK + 1));
}

TEST(pool_refuses_options_that_would_have_no_effect, "")
{
    CHECK_REFUSED("max_threads", .core_threads = 2, .max_threads = 8);
    CHECK_REFUSED("keep_alive", .core_threads = 2, .core_time_out = true);
    CHECK_REFUSED("reject_timeout", .core_threads = 1, .reject_timeout = 1);
    CHECK_REFUSED("reject_timeout", .core_threads = 1, .reject = HORA_REJECT_BLOCK, .reject_timeout = -1);
    CHECK_REFUSED("HORA_REJECT_BLOCK", .core_threads = 1, .reject = HORA_REJECT_BLOCK, .queue_capacity = -1);
    CHECK_REFUSED("stack_size", .core_threads = 1, .stack_size = 1 << 20, .thread_factory = some_factory);
}

TEST(pool_refuses_options_of_the_wrong_size, "")
{
    struct {
        hora_pool_options known;
        int new_wish;
    } options = {.known = HORA_INIT(hora_pool_options), .new_wish = 1};
    hora_error reason;

    options.known.struct_size = 0;
    check_refused(__LINE__, &options.known, "struct_size");
    options.known.struct_size = sizeof(options.known) - 1;
    check_refused(__LINE__, &options.known, "struct_size");
    options.known.struct_size = sizeof(options);
    check_refused(__LINE__, &options.known, "struct_size");
    CHECK_ERROR(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1), NULL, &reason), HORA_EINVAL);
    CHECK_REFUSAL(&reason, HORA_EINVAL, NULL, "ret_pool");
}

/* What a call fills is as large as the caller says, which it says with HORA_INIT. */
TEST(pool_stats_are_as_large_as_the_caller_says, "")
{
    struct rig r;
    struct {
        hora_pool_stats known;
        unsigned char unknown[16];
    } larger = {.known = HORA_INIT(hora_pool_stats)};
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    static const uint32_t wrong[] = {0, 3, sizeof(stats) - 4, sizeof(stats) + 1, 4100, UINT32_MAX};

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 3));
    CHECK_OK(hora_pool_get_stats(r.pool, &stats));
    CHECK_INT(stats.struct_size, sizeof(stats));
    CHECK_INT(stats.core_threads, 3);
    memset(larger.unknown, 0xff, sizeof(larger.unknown));
    larger.known.struct_size = sizeof(larger);
    CHECK_OK(hora_pool_get_stats(r.pool, &larger.known));
    CHECK_INT(larger.known.struct_size, sizeof(larger)); /* it is left alone */
    CHECK_INT(larger.known.core_threads, 3);
    for (size_t i = 0; i < sizeof(larger.unknown); i++)
        CHECK_INT(larger.unknown[i], 0); /* what this release does not know */
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        stats = (hora_pool_stats){.struct_size = wrong[i], .core_threads = -7};
        CHECK_ERROR(hora_pool_get_stats(r.pool, &stats), HORA_EINVAL);
        CHECK_INT(stats.core_threads, -7);
    }
    rig_close(&r);
}

static void *some_context(void *context, void *arg)
{
    (void)arg;
    return context;
}

static void *capture_nothing(void *arg)
{
    return arg;
}

static int some_writer(const char *text, size_t length, void *arg)
{
    (void)text;
    (void)length;
    (void)arg;
    return 0;
}

/* Each feature that can be switched on has its own struct, which is checked like the options that point to
 * it. */
TEST(pool_refuses_parts_that_cannot_work, "")
{
    hora_pool *pool = NULL;

    CHECK_REFUSED("hora_metrics", .core_threads = 1, .metrics = &(hora_metrics){.max_names = 1});
    CHECK_REFUSED("hora_admission", .core_threads = 1, .admission = &(hora_admission){.struct_size = 2});
    CHECK_REFUSED("hora_watchdog", .core_threads = 1, .watchdog = &(hora_watchdog){.stuck_after = 1});
    CHECK_REFUSED("hora_listener", .core_threads = 1, .listener = &(hora_listener){.arg = untouched});
    CHECK_REFUSED("hora_context_hooks", .core_threads = 1,
                  .context_hooks = &(hora_context_hooks){.arg = untouched});
    CHECK_REFUSED("max_names is -1", .core_threads = 1, .metrics = HORA_METRICS(.max_names = -1));
    CHECK_REFUSED("max_names is 65537", .core_threads = 1, .metrics = HORA_METRICS(.max_names = 65537));
    CHECK_REFUSED("ageing", .core_threads = 1, .admission = HORA_ADMISSION(.ageing = -1));
    CHECK_REFUSED("stuck_after", .core_threads = 1, .watchdog = HORA_WATCHDOG(.stuck_after = -1));
    CHECK_REFUSED("late_after", .core_threads = 1, .watchdog = HORA_WATCHDOG(.late_after = -1));
    CHECK_REFUSED("install", .core_threads = 1,
                  .context_hooks = HORA_CONTEXT_HOOKS(.capture = capture_nothing));
    CHECK_REFUSED("dump_arg", .core_threads = 1, .dump_arg = untouched);
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .metrics = HORA_METRICS(.max_names = 65536),
                                             .watchdog = HORA_WATCHDOG(), .listener = HORA_LISTENER(),
                                             .context_hooks = HORA_CONTEXT_HOOKS(.install = some_context),
                                             .dump = some_writer, .dump_arg = untouched),
                           &pool, NULL));
    CHECK_OK(hora_pool_free(pool));
}

/* With an unbounded queue there are never more than core_threads workers, so max_threads follows it and
 * cannot be set separately. */
TEST(pool_max_threads_follow_core_threads_with_an_unbounded_queue, "")
{
    struct rig r;
    hora_error reason;

    CHECK_REFUSED("max_threads", .core_threads = 0, .max_threads = 5);
    CHECK_REFUSED("max_threads", .core_threads = 1, .max_threads = 5);
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 2));
    CHECK_OK(hora_pool_set_core_threads(r.pool, 4, NULL));
    CHECK_INT(rig_stats(&r).core_threads, 4);
    CHECK_INT(rig_stats(&r).max_threads, 4);
    CHECK_ERROR(hora_pool_set_max_threads(r.pool, 5, &reason), HORA_EINVAL);
    CHECK_REFUSAL(&reason, HORA_EINVAL, "max_threads", "unbounded");
    CHECK_OK(hora_pool_set_core_threads(r.pool, 0, NULL));
    CHECK_INT(rig_stats(&r).max_threads, 1);
    CHECK_OK(hora_pool_set_core_threads(r.pool, INT_MAX, &reason));
    CHECK_INT(rig_stats(&r).core_threads, INT_MAX);
    CHECK_INT(rig_stats(&r).max_threads, INT_MAX);
    rig_close(&r);
}

TEST(pool_refuses_a_queue_that_is_not_fresh, "")
{
    struct fixture f;

    fixture_open_queue(&f, LINKED, 10);
    CHECK_REFUSED("queue_capacity", .core_threads = 1, .queue = f.queue, .queue_capacity = 10);
    CHECK_OK(hora_queue_offer(f.queue, item(0)));
    CHECK_REFUSED("not empty", .core_threads = 1, .queue = f.queue);
    CHECK_OK(hora_queue_clear(f.queue));
    CHECK_OK(hora_queue_close(f.queue));
    CHECK_REFUSED("closed", .core_threads = 1, .queue = f.queue);
    fixture_close(&f);
}

TEST(pool_refuses_to_wait_for_room_that_never_comes, "")
{
    struct rig r;

    rig_prepare(&r, false);
    CHECK_OK(make_queue(&r.f, SYNCHRONOUS, 0, NULL, r.f.view, &r.f.queue));
    CHECK_REFUSED("HORA_REJECT_BLOCK", .core_threads = 1, .reject = HORA_REJECT_BLOCK, .queue = r.f.queue);
    rig_pool(&r, HORA_POOL_OPTIONS(.core_threads = 1, .queue = r.f.queue));
    CHECK_ERROR(hora_pool_set_reject(r.pool, HORA_REJECT_BLOCK, NULL, NULL, NULL), HORA_EINVAL);
    CHECK_INT(rig_stats(&r).reject, HORA_REJECT_ABORT);
    rig_close(&r);
}

TEST(pool_options_of_all_zero_work, "")
{
    hora_pool_options options = HORA_INIT(hora_pool_options);
    hora_pool *pool;
    hora_future *future;
    struct job job = A_JOB(NULL);

    CHECK_OK(hora_pool_new(&options, &pool, NULL));
    CHECK_OK(hora_pool_submit(pool, JOB(&job), &future));
    CHECK_OK(hora_future_get(future, NULL));
    hora_future_unref(future);
    CHECK_OK(hora_pool_free(pool));
    CHECK_JOB(&job, 1);
    CHECK_OK(hora_pool_free(NULL));
}

ON_BOTH_POOLS(knows_its_keep_alive, "testGetKeepAliveTime", "CP-TPE24")
{
    struct rig r;

    rig_open(&r, hooked,
             HORA_POOL_OPTIONS(.core_threads = 2, .max_threads = 2, .keep_alive = HORA_MS(1000),
                               .queue_capacity = 10));
    CHECK_INT(rig_stats(&r).keep_alive, HORA_SECONDS(1));
    CHECK_OK(hora_pool_set_keep_alive(r.pool, INT64_MAX, NULL));
    CHECK_INT(rig_stats(&r).keep_alive, INT64_MAX);
    CHECK_OK(hora_pool_set_keep_alive(r.pool, 1, NULL));
    CHECK_INT(rig_stats(&r).keep_alive, 1);
    rig_close(&r);
}

/* The longest keep-alive is not mistaken for an expired one. */
TEST(pool_longest_keep_alive_never_ends, "CP-TPE24")
{
    struct rig r;
    struct job jobs[2];

    rig_open(&r, false,
             HORA_POOL_OPTIONS(.core_threads = 1, .max_threads = 2, .keep_alive = INT64_MAX - 1,
                               .queue_capacity = -1));
    execute_jobs(&r, jobs, 2);
    rig_open_gate(&r);
    settle(&r.f);
    advance(&r.f, HORA_HOURS(24 * 365 * 100));
    CHECK_INT(rig_stats(&r).threads, 2);
    rig_close(&r);
}

ON_BOTH_POOLS(knows_its_factory, "testGetThreadFactory", "")
{
    struct rig r;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 1, .thread_factory = some_factory));
    CHECK(rig_stats(&r).thread_factory == some_factory);
    rig_close(&r);
}

ON_BOTH_POOLS(factory_can_be_set, "testSetThreadFactory", "")
{
    struct rig r;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 1, .thread_factory = some_factory));
    CHECK_OK(hora_pool_set_thread_factory(r.pool, other_factory, NULL));
    CHECK(rig_stats(&r).thread_factory == other_factory);
    rig_close(&r);
}

ON_BOTH_POOLS(factory_must_not_be_set_to_null, "testSetThreadFactoryNull", "")
{
    struct rig r;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 1, .thread_factory = some_factory));
    CHECK_ERROR(hora_pool_set_thread_factory(r.pool, NULL, NULL), HORA_EINVAL);
    CHECK(rig_stats(&r).thread_factory == some_factory);
    rig_close(&r);
}

TEST(pool_rejects_by_aborting_by_default, "ThreadPoolExecutorTest.testDefaultRejectedExecutionHandler")
{
    struct rig r;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_INT(rig_stats(&r).reject, HORA_REJECT_ABORT);
    CHECK(rig_stats(&r).reject_handler == NULL);
    rig_close(&r);
}

ON_BOTH_POOLS(knows_its_rejection_handler, "testGetRejectedExecutionHandler", "")
{
    struct rig r;

    rig_open(
        &r, hooked,
        HORA_POOL_OPTIONS(.core_threads = 1, .reject = HORA_REJECT_CALLBACK, .reject_handler = some_handler));
    CHECK_INT(rig_stats(&r).reject, HORA_REJECT_CALLBACK);
    CHECK(rig_stats(&r).reject_handler == some_handler);
    rig_close(&r);
}

ON_BOTH_POOLS(rejection_handler_can_be_set, "testSetRejectedExecutionHandler", "")
{
    struct rig r;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_pool_set_reject(r.pool, HORA_REJECT_CALLBACK, other_handler, NULL, NULL));
    CHECK_INT(rig_stats(&r).reject, HORA_REJECT_CALLBACK);
    CHECK(rig_stats(&r).reject_handler == other_handler);
    CHECK_OK(hora_pool_set_reject(r.pool, HORA_REJECT_DISCARD, NULL, NULL, NULL));
    CHECK_INT(rig_stats(&r).reject, HORA_REJECT_DISCARD);
    CHECK(rig_stats(&r).reject_handler == NULL);
    rig_close(&r);
}

ON_BOTH_POOLS(rejection_handler_must_not_be_set_to_null, "testSetRejectedExecutionHandlerNull", "")
{
    struct rig r;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_ERROR(hora_pool_set_reject(r.pool, HORA_REJECT_CALLBACK, NULL, NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_set_reject(r.pool, HORA_REJECT_ABORT, some_handler, NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_set_reject(r.pool, (hora_reject)-1, NULL, NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_set_reject(r.pool, (hora_reject)(HORA_REJECT_CALLBACK + 1), NULL, NULL, NULL),
                HORA_EINVAL);
    CHECK_INT(rig_stats(&r).reject, HORA_REJECT_ABORT);
    rig_close(&r);
}

ON_BOTH_POOLS(core_threads_must_not_be_set_negative, "testCorePoolSizeIllegalArgumentException", "CP-TPE20")
{
    struct rig r;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 1, .max_threads = 2, .queue_capacity = 10));
    CHECK_ERROR(hora_pool_set_core_threads(r.pool, -1, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_set_core_threads(r.pool, 3, NULL), HORA_EINVAL);
    CHECK_INT(rig_stats(&r).core_threads, 1);
    rig_close(&r);
}

ON_BOTH_POOLS(maximum_must_not_be_set_below_the_core, "testMaximumPoolSizeIllegalArgumentException",
              "CP-TPE21")
{
    struct rig r;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 2, .max_threads = 3, .queue_capacity = 10));
    CHECK_ERROR(hora_pool_set_max_threads(r.pool, 1, NULL), HORA_EINVAL);
    CHECK_INT(rig_stats(&r).max_threads, 3);
    rig_close(&r);
}

ON_BOTH_POOLS(maximum_must_not_be_set_negative, "testMaximumPoolSizeIllegalArgumentException2", "CP-TPE21")
{
    struct rig r;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 2, .max_threads = 3, .queue_capacity = 10));
    CHECK_ERROR(hora_pool_set_max_threads(r.pool, -1, NULL), HORA_EINVAL);
    CHECK_INT(rig_stats(&r).max_threads, 3);
    CHECK_OK(hora_pool_set_max_threads(r.pool, INT_MAX, NULL));
    CHECK_INT(rig_stats(&r).max_threads, INT_MAX);
    rig_close(&r);
}

TEST(pool_setter_that_fails_changes_nothing, "ThreadPoolExecutorTest.testPoolSizeInvariants")
{
    struct rig r;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 10));
    for (int s = 1; s < 5; s++) {
        CHECK_OK(hora_pool_set_max_threads(r.pool, s, NULL));
        CHECK_OK(hora_pool_set_core_threads(r.pool, s, NULL));
        CHECK_ERROR(hora_pool_set_max_threads(r.pool, s - 1, NULL), HORA_EINVAL);
        CHECK_INT(rig_stats(&r).core_threads, s);
        CHECK_INT(rig_stats(&r).max_threads, s);
        CHECK_ERROR(hora_pool_set_core_threads(r.pool, s + 1, NULL), HORA_EINVAL);
        CHECK_INT(rig_stats(&r).core_threads, s);
        CHECK_INT(rig_stats(&r).max_threads, s);
    }
    rig_close(&r);
}

ON_BOTH_POOLS(keep_alive_must_not_be_set_negative, "testKeepAliveTimeIllegalArgumentException", "")
{
    struct rig r;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 2, .keep_alive = 5));
    CHECK_ERROR(hora_pool_set_keep_alive(r.pool, -1, NULL), HORA_EINVAL);
    CHECK_INT(rig_stats(&r).keep_alive, 5);
    rig_close(&r);
}

TEST(pool_core_time_out_needs_a_keep_alive, "CP-TPE22")
{
    struct rig r;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_ERROR(hora_pool_set_core_time_out(r.pool, true, NULL), HORA_EINVAL);
    CHECK(!rig_stats(&r).core_time_out);
    CHECK_OK(hora_pool_set_core_time_out(r.pool, false, NULL));
    CHECK_OK(hora_pool_set_keep_alive(r.pool, 1, NULL));
    CHECK_OK(hora_pool_set_core_time_out(r.pool, true, NULL));
    CHECK_ERROR(hora_pool_set_keep_alive(r.pool, 0, NULL), HORA_EINVAL);
    CHECK_INT(rig_stats(&r).keep_alive, 1);
    rig_close(&r);
}

TEST(pool_that_is_frozen_cannot_be_changed, "")
{
    struct rig r;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .keep_alive = 1, .frozen = true));
    CHECK_ERROR(hora_pool_set_core_threads(r.pool, 1, NULL), HORA_ENOTSUP);
    CHECK_ERROR(hora_pool_set_max_threads(r.pool, 2, NULL), HORA_ENOTSUP);
    CHECK_ERROR(hora_pool_set_keep_alive(r.pool, 2, NULL), HORA_ENOTSUP);
    CHECK_ERROR(hora_pool_set_core_time_out(r.pool, true, NULL), HORA_ENOTSUP);
    CHECK_ERROR(hora_pool_set_thread_factory(r.pool, some_factory, NULL), HORA_ENOTSUP);
    CHECK_ERROR(hora_pool_set_reject(r.pool, HORA_REJECT_DISCARD, NULL, NULL, NULL), HORA_ENOTSUP);
    CHECK_INT(rig_stats(&r).max_threads, 1);
    rig_close(&r);
}

TEST(pool_calls_without_a_pool_are_refused, "")
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    char text[10];

    CHECK_ERROR(hora_pool_shutdown(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_shutdown_now(NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_await_termination_for(NULL, 0), HORA_EINVAL);
    CHECK_ERROR(hora_pool_close_for(NULL, 0), HORA_EINVAL);
    CHECK_ERROR(hora_pool_await_idle_for(NULL, 0), HORA_EINVAL);
    CHECK_ERROR(hora_pool_idle_fd(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_remove(NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_purge(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_prestart(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_prestart_all(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_set_core_threads(NULL, 1, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_set_max_threads(NULL, 1, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_set_keep_alive(NULL, 1, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_set_core_time_out(NULL, true, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_set_thread_factory(NULL, some_factory, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_set_reject(NULL, HORA_REJECT_ABORT, NULL, NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_get_stats(NULL, &stats), HORA_EINVAL);
    CHECK_ERROR(hora_pool_describe(NULL, text, sizeof(text)), HORA_EINVAL);
    CHECK_POINTER(hora_pool_queue(NULL), NULL);
    CHECK(!hora_pool_is_shutdown(NULL) && !hora_pool_is_terminating(NULL) && !hora_pool_is_terminated(NULL));
}
