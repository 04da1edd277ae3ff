/* SPDX-License-Identifier: Apache-2.0 */
/* program.c - uses all public structs with a library in which they are larger or smaller
 *
 * The program is compiled against the headers of this release and, with NEWER, against headers in which each
 * struct has one more field. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hora/hora.h>

static int failures;

#define EXPECT(condition)                                                           \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            failures++;                                                             \
        }                                                                           \
    } while (0)

enum { GUARD = 64, MARK = 0xa5 };

static bool guard_is_whole(const unsigned char *guard)
{
    for (int i = 0; i < GUARD; i++)
        if (guard[i] != MARK)
            return false;
    return true;
}

/* Let `call` fill a struct that was full of marks, and look at its size and at what follows it. */
#ifdef NEWER
#define EXPECT_UNKNOWN_IS_ZERO(value)                                          \
    for (size_t j = 0; j < sizeof(value).added_later / sizeof(long long); j++) \
    EXPECT((value).added_later[j] == 0)
#else
#define EXPECT_UNKNOWN_IS_ZERO(value) (void)(value)
#endif

#define FILL(type, filled, call)                                             \
    do {                                                                     \
        struct {                                                             \
            type value;                                                      \
            unsigned char guard[GUARD];                                      \
        } place;                                                             \
        memset(&place, MARK, sizeof place);                                  \
        type *const output = &place.value;                                   \
        EXPECT((call) == HORA_EINVAL); /* without HORA_INIT it is refused */ \
        EXPECT(guard_is_whole(place.guard));                                 \
        output->struct_size = sizeof(type);                                  \
        EXPECT((call) >= 0);                                                 \
        EXPECT(output->struct_size == sizeof(type));                         \
        EXPECT(guard_is_whole(place.guard));                                 \
        EXPECT_UNKNOWN_IS_ZERO(place.value);                                 \
        EXPECT(filled);                                                      \
    } while (0)

static int succeed(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

static int runs_before, runs_after;

static int before(hora_pool *pool, const hora_run_info *run, void *arg)
{
    (void)pool, (void)arg;
    EXPECT(run->task != NULL && strcmp(run->task->name, "work") == 0);
    runs_before++;
    return 0;
}

static void after(hora_pool *pool, const hora_run_info *run, void *arg)
{
    (void)pool, (void)arg;
    EXPECT(run->code == 0);
    runs_after++;
}

static void told(hora_pool *pool, const hora_event *event, void *arg)
{
    (void)pool;
    EXPECT(event->task != NULL);
    ++*(int *)arg;
}

static hora_ns daily(const hora_trigger_context *context, void *arg)
{
    (void)arg;
    return context->last_planned == HORA_NEVER ? context->now : HORA_NEVER;
}

static void run_one(hora_pool *pool)
{
    hora_future *future;
    EXPECT(hora_pool_submit(pool, HORA_TASK(succeed, NULL, .name = "work"), &future) == 0);
    EXPECT(hora_future_get(future, NULL) == 0);
    (void)hora_future_unref(future);
    EXPECT(hora_pool_await_idle(pool) == 0);
}

static void use_pool(void)
{
    int done = 0;
    hora_pool *pool;
    hora_error error;
    hora_class *class;
    EXPECT(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 2, .before = before, .after = after,
                                           .metrics = HORA_METRICS(.max_names = 9),
                                           .admission = HORA_ADMISSION(),
                                           .watchdog = HORA_WATCHDOG(.stuck_after = HORA_HOURS(1)),
                                           .listener = HORA_LISTENER(.done = told, .arg = &done)),
                         &pool, &error) == 0);
    EXPECT(hora_class_new(pool, HORA_CLASS_OPTIONS(.name = "some", .limit = 7), &class, &error) == 0);
    run_one(pool);
    EXPECT(runs_before == 1 && runs_after == 1 && done == 1);
    FILL(hora_pool_stats,
         output->done == 1 && output->core_threads == 2 && output->state == HORA_POOL_RUNNING,
         hora_pool_get_stats(pool, output));
    FILL(hora_counts, output->done == 1, hora_pool_get_counts(pool, "work", output));
    FILL(hora_distribution, output->count == 1,
         hora_pool_get_distribution(pool, "work", HORA_METRIC_RUN, output));
    FILL(hora_class_info, output->limit == 7, hora_class_get_info(class, output));
    EXPECT(hora_pool_close(pool) == 0 && hora_pool_free(pool) == 0);
}

/* An array: the first element gives the stride. */
static void look_at_workers(void)
{
    hora_pool *pool;
    struct {
        hora_worker_info workers[3];
        unsigned char guard[GUARD];
    } place;
    EXPECT(hora_pool_new_fixed(3, HORA_POOL_OPTIONS(.watchdog = HORA_WATCHDOG()), &pool, NULL) == 0);
    EXPECT(hora_pool_prestart_all(pool) == 3);
    memset(&place, MARK, sizeof place);
    place.workers[0] = (hora_worker_info)HORA_INIT(hora_worker_info);
    EXPECT(hora_pool_workers(pool, place.workers, 3) == 3);
    EXPECT(guard_is_whole(place.guard));
    for (int i = 0; i < 3; i++) {
        EXPECT(place.workers[i].struct_size == sizeof place.workers[i] && place.workers[i].number == i + 1);
        EXPECT_UNKNOWN_IS_ZERO(place.workers[i]);
    }
    EXPECT(hora_pool_close(pool) == 0 && hora_pool_free(pool) == 0);
}

static void use_scheduler(void)
{
    hora_scheduler *scheduler;
    hora_future *future;
    hora_error error;
    hora_trigger *trigger;
    EXPECT(hora_trigger_new(daily, NULL, NULL, &trigger) == 0);
    hora_trigger_context context = HORA_INIT(hora_trigger_context);
    context.now = 77;
    context.last_planned = context.last_start = context.last_end = HORA_NEVER;
    EXPECT(hora_trigger_next(trigger, &context) == 77);
    EXPECT(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &scheduler, &error) == 0);
    EXPECT(hora_scheduler_schedule_with(scheduler, HORA_TASK(succeed, NULL),
                                        HORA_SCHEDULE(.trigger = trigger), &future, &error) == 0);
    EXPECT(hora_future_get(future, NULL) == 0);
    FILL(hora_schedule_info, output->runs == 1, hora_future_get_schedule_info(future, output));
    (void)hora_future_unref(future);
    (void)hora_trigger_unref(trigger);
    EXPECT(hora_scheduler_close(scheduler) == 0 && hora_scheduler_free(scheduler) == 0);
}

static void use_registrar(void)
{
    hora_registrar *registrar;
    hora_registration *registration;
    hora_error error;
    EXPECT(hora_registrar_new(HORA_REGISTRAR_OPTIONS(.resolve = NULL), &registrar, &error) == 0);
    EXPECT(hora_registrar_add(registrar, HORA_TASK(succeed, NULL, .name = "x"),
                              HORA_DECLARATION(.fixed_rate = HORA_HOURS(1), .initial_delay = HORA_HOURS(1)),
                              &registration, &error) == 0);
    FILL(hora_outcome, output->state == HORA_OUTCOME_NONE,
         hora_registration_get_outcome(registration, output));
    EXPECT(hora_registrar_free(registrar) == 0);
}

/* What an older library does not know must be zero. */
static void say_too_much(void)
{
#ifdef NEWER
    hora_pool *pool;
    hora_latch *latch;
    hora_error error;
    EXPECT(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .added_later = {0, 1}), &pool, &error) ==
           HORA_EINVAL);
    EXPECT(strcmp(error.field, "struct_size") == 0);
    EXPECT(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .watchdog = HORA_WATCHDOG(.added_later = {1})),
                         &pool, &error) == HORA_EINVAL);
    EXPECT(hora_latch_new(1, HORA_LATCH_OPTIONS(.added_later = {0, 0, 0, 1}), &latch, &error) == HORA_EINVAL);
#endif
}

int main(void)
{
    use_pool();
    look_at_workers();
    use_scheduler();
    use_registrar();
    say_too_much();
    printf("%s\n", failures == 0 ? "passed" : "FAILED");
    return failures != 0;
}
