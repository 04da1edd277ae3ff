/* SPDX-License-Identifier: Apache-2.0 */
/* test_task_names.c - names that are part of the argument: nothing reads them after drop
 *
 * The drop of these tasks overwrites the name, and frees the argument that contains it. Everything that shows
 * a name afterwards must show the old one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hora/registrar.h>

#include "limits_support.h"

static const char name[] = "inside";
static const char wrecked[] = "wrecked";

struct cargo {
    struct rig *rig;
    bool waits;
    int code;
    char name[16];
};

static struct cargo *load(struct rig *r, bool waits, int code)
{
    struct cargo *cargo = calloc(1, sizeof *cargo);
    cargo->rig = r;
    cargo->waits = waits;
    cargo->code = code;
    memcpy(cargo->name, name, sizeof name);
    return cargo;
}

static atomic_int drops;

static void wreck(void *arg)
{
    struct cargo *cargo = arg;
    memcpy(cargo->name, wrecked, sizeof wrecked);
    atomic_fetch_add(&drops, 1);
    free(cargo);
}

static int carry(void *arg, void **ret_result)
{
    struct cargo *cargo = arg;
    (void)ret_result;
    while (cargo->waits && hora_latch_await(cargo->rig->gate) < 0) {
    }
    return cargo->code;
}

#define CARGO(cargo) HORA_TASK(carry, (cargo), .drop = wreck, .name = (cargo)->name)

/* ---- looking ---- */

struct sink {
    char text[20000];
    size_t length;
};

static int pour(const char *text, size_t length, void *context)
{
    struct sink *sink = context;
    if (sink->length + length >= sizeof sink->text)
        return HORA_EFULL;
    memcpy(sink->text + sink->length, text, length);
    sink->length += length;
    sink->text[sink->length] = '\0';
    return 0;
}

static int shown_in(const char *text)
{
    int count = 0;
    CHECK(strstr(text, wrecked) == NULL);
    while ((text = strstr(text, name)) != NULL) {
        count++;
        text++;
    }
    return count;
}

/* Whatever can be asked about a future, except its hora_future_task. */
static void check_words(hora_future *future)
{
    char text[HORA_EXPLAIN_TEXT];
    (void)hora_future_describe(future, text, sizeof text);
    CHECK_INT(shown_in(text), 1);
    CHECK(hora_future_explain(future, text, sizeof text) > 0);
    CHECK(shown_in(text) > 0); /* explain may also name what a worker is busy with */
}

static void check_future(hora_future *future)
{
    check_words(future);
    const char *kept = hora_future_task(future)->name;
    CHECK(kept != NULL && strcmp(kept, name) == 0);
}

/* A dump, and metrics if there are any, show it. Returns how often the dump does. */
static int look_at_pool(hora_pool *pool)
{
    struct sink sink = {.length = 0};
    CHECK_OK(hora_pool_dump(pool, pour, &sink));
    int shown = shown_in(sink.text);
    sink.length = 0;
    if (hora_metrics_write(&pool, 1, HORA_METRICS_PROMETHEUS, pour, &sink) == 0)
        (void)shown_in(sink.text);
    hora_worker_info infos[8] = {HORA_INIT(hora_worker_info)};
    int count = hora_pool_workers(pool, infos, 8);
    for (int i = 0; i < count && i < 8; i++)
        CHECK(infos[i].name[0] == '\0' || strcmp(infos[i].name, name) == 0);
    return shown;
}

static atomic_int told;

static void note(hora_pool *pool, const hora_event *event, void *context)
{
    (void)pool;
    (void)context;
    if (event->task == NULL)
        return;
    CHECK(event->task->name != NULL && strcmp(event->task->name, name) == 0);
    if (event->future != NULL)
        check_words(event->future);
    atomic_fetch_add(&told, 1);
}

static hora_listener listener(void)
{
    return (hora_listener){.struct_size = sizeof(hora_listener),
                           .started = note,
                           .done = note,
                           .failed = note,
                           .rejected = note,
                           .expired = note,
                           .skipped = note,
                           .stuck = note};
}

/* Open a rig: watched by a listener and measured, or plain. */
static void open_rig(struct rig *r, bool is_told, hora_pool_options *options)
{
    atomic_store(&drops, 0);
    atomic_store(&told, 0);
    hora_listener told_of = listener();
    options->listener = is_told ? &told_of : NULL;
    options->metrics = is_told ? HORA_METRICS() : NULL;
    rig_open(r, false, options);
}

/* ---- pools ---- */

TEST(task_name_goes_with_its_argument_after_a_run, "")
{
    for (int is_told = 0; is_told < 2; is_told++)
        for (int code = 0; code < 2; code++) {
            struct rig r;
            hora_future *future = NULL;
            open_rig(&r, is_told, HORA_POOL_OPTIONS(.core_threads = 1));
            struct cargo *executed = load(&r, false, code), *submitted = load(&r, true, code);
            CHECK_OK(hora_pool_execute(r.pool, CARGO(executed)));
            CHECK_OK(hora_pool_submit(r.pool, CARGO(submitted), &future));
            settle(&r.f);
            check_future(future);
            CHECK_INT(look_at_pool(r.pool), is_told);
            rig_open_gate(&r);
            settle(&r.f);
            CHECK_INT(drops, 2);
            check_future(future);
            (void)look_at_pool(r.pool);
            CHECK_INT(told, is_told ? 4 : 0);
            (void)hora_future_unref(future);
            rig_close(&r);
        }
}

/* One that runs, and one that waits in the queue: cancelled, and kept there. */
TEST(task_name_goes_with_its_argument_when_cancelled, "")
{
    for (int is_told = 0; is_told < 2; is_told++)
        for (int keeps = 0; keeps < 2; keeps++) {
            struct rig r;
            hora_future *futures[2];
            open_rig(&r, is_told, HORA_POOL_OPTIONS(.core_threads = 1, .keep_cancelled = keeps));
            for (int i = 0; i < 2; i++) {
                struct cargo *cargo = load(&r, true, 0);
                CHECK_OK(hora_pool_submit(r.pool, CARGO(cargo), &futures[i]));
            }
            settle(&r.f);
            CHECK_INT(look_at_pool(r.pool), 1 + is_told);
            CHECK_INT(hora_future_cancel(futures[0], false), HORA_CANCEL_RUNNING);
            CHECK_INT(hora_future_cancel(futures[1], false), HORA_CANCEL_REMOVED);
            CHECK_INT(drops, 1);
            check_words(futures[0]);
            check_future(futures[1]);
            CHECK_INT(look_at_pool(r.pool), keeps + is_told);
            rig_open_gate(&r);
            settle(&r.f);
            CHECK_INT(drops, 2);
            check_future(futures[0]);
            (void)look_at_pool(r.pool);
            for (int i = 0; i < 2; i++)
                (void)hora_future_unref(futures[i]);
            rig_close(&r);
        }
}

static int refuse(hora_pool *pool, hora_future *future, void *context)
{
    (void)pool;
    (void)context;
    check_words(future);
    return 0;
}

TEST(task_name_goes_with_its_argument_when_rejected, "")
{
    static const hora_reject rules[] = {HORA_REJECT_ABORT,   HORA_REJECT_CALLER_RUNS,
                                        HORA_REJECT_DISCARD, HORA_REJECT_DISCARD_OLDEST,
                                        HORA_REJECT_BLOCK,   HORA_REJECT_CALLBACK};
    for (int is_told = 0; is_told < 2; is_told++)
        for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
            for (int after_shutdown = 0; after_shutdown < 2; after_shutdown++) {
                struct rig r;
                hora_future *futures[3] = {NULL};
                open_rig(
                    &r, is_told,
                    HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 1, .reject = rules[i],
                                      .reject_handler = rules[i] == HORA_REJECT_CALLBACK ? refuse : NULL));
                for (int k = 0; k < 3; k++) {
                    if (k == 2 && (after_shutdown || rules[i] == HORA_REJECT_BLOCK))
                        CHECK_OK(hora_pool_shutdown(r.pool));
                    struct cargo *cargo = load(&r, k < 2, 0);
                    int error = hora_pool_submit(r.pool, CARGO(cargo), &futures[k]);
                    if (error < 0)
                        wreck(cargo); /* it is still the caller's */
                    else
                        check_words(futures[k]);
                    settle(&r.f);
                }
                (void)look_at_pool(r.pool);
                rig_open_gate(&r);
                settle(&r.f);
                for (int k = 0; k < 3; k++) {
                    if (futures[k] != NULL && hora_future_is_done(futures[k]))
                        check_future(futures[k]);
                    (void)hora_future_unref(futures[k]);
                }
                rig_close(&r);
                CHECK_INT(drops, 3);
            }
}

/* Handed back and freed; abandoned by the end of the pool. */
TEST(task_name_goes_with_its_argument_when_the_pool_ends, "")
{
    for (int is_told = 0; is_told < 2; is_told++)
        for (int hands_back = 0; hands_back < 2; hands_back++) {
            struct rig r;
            hora_future *futures[2];
            hora_future_list list = HORA_FUTURE_LIST_INIT;
            open_rig(&r, is_told, HORA_POOL_OPTIONS(.core_threads = 1));
            for (int i = 0; i < 2; i++) {
                struct cargo *cargo = load(&r, true, 0);
                CHECK_OK(hora_pool_submit(r.pool, CARGO(cargo), &futures[i]));
            }
            settle(&r.f);
            CHECK(hora_pool_shutdown_now(r.pool, hands_back ? &list : NULL) >= 0);
            check_words(futures[1]);
            hora_future_list_cancel(&list);
            rig_open_gate(&r);
            settle(&r.f);
            CHECK_INT(drops, 2);
            check_future(futures[0]);
            check_future(futures[1]);
            rig_finish(&r);
            for (int i = 0; i < 2; i++) {
                check_future(futures[i]);
                (void)hora_future_unref(futures[i]);
            }
            rig_close(&r);
        }
}

TEST(task_name_goes_with_its_argument_when_expired, "")
{
    struct rig r;
    hora_future *futures[3];
    open_rig(&r, true, HORA_POOL_OPTIONS(.core_threads = 1));
    static const hora_ns start_by[] = {0, SEC(1), 0}, done_by[] = {SEC(2), 0, SEC(1)};
    for (int i = 0; i < 3; i++) {
        struct cargo *cargo = load(&r, true, 0);
        CHECK_OK(hora_pool_submit_with(
            r.pool, CARGO(cargo), HORA_TASK_OPTIONS(.start_within = start_by[i], .finish_within = done_by[i]),
            &futures[i], NULL));
    }
    settle(&r.f);
    pass(&r, SEC(1));
    CHECK_INT(drops, 2);
    pass(&r, SEC(1));
    check_words(futures[0]);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_INT(drops, 3);
    for (int i = 0; i < 3; i++) {
        CHECK_DONE(futures[i], HORA_EEXPIRED, NULL);
        check_future(futures[i]);
        (void)hora_future_unref(futures[i]);
    }
    (void)look_at_pool(r.pool);
    rig_close(&r);
}

TEST(task_name_goes_with_its_argument_when_stuck, "")
{
    struct rig r;
    hora_future *future;
    open_rig(&r, true, HORA_POOL_OPTIONS(.core_threads = 1));
    struct cargo *cargo = load(&r, true, 0);
    CHECK_OK(hora_pool_submit_with(
        r.pool, CARGO(cargo), HORA_TASK_OPTIONS(.run_limit = SEC(1), .stuck_after = SEC(1)), &future, NULL));
    settle(&r.f);
    pass(&r, SEC(3));
    rig_open_gate(&r);
    settle(&r.f);
    CHECK(told > 1);
    check_future(future);
    (void)hora_future_unref(future);
    rig_close(&r);
}

/* A name for which there is no memory is lost; a name without drop is never copied. */
TEST(task_name_without_drop_stays_the_callers, "")
{
    struct rig r;
    hora_future *future = NULL;
    static char own[] = "inside";
    struct job job = A_JOB(&r);
    open_rig(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_pool_submit(r.pool, HORA_TASK(job_run, &job, .name = own), &future));
    settle(&r.f);
    CHECK_POINTER(hora_future_task(future)->name, own);
    (void)hora_future_unref(future);
    rig_close(&r);
}

/* ---- schedulers ---- */

static void open_scheduler(struct rig *r, bool is_told, int threads)
{
    atomic_store(&drops, 0);
    atomic_store(&told, 0);
    hora_listener told_of = listener();
    scheduler_open(r, false,
                   HORA_SCHEDULER_OPTIONS(.core_threads = threads, .listener = is_told ? &told_of : NULL,
                                          .metrics = is_told ? HORA_METRICS() : NULL));
}

TEST(task_name_goes_with_the_argument_of_a_series, "")
{
    for (int is_told = 0; is_told < 2; is_told++)
        for (int overlaps = 0; overlaps < 2; overlaps++) {
            struct rig r;
            hora_future *future = NULL;
            open_scheduler(&r, is_told, 3);
            struct cargo *cargo = load(&r, true, 0);
            CHECK_OK(hora_scheduler_schedule_with(
                r.pool, CARGO(cargo),
                HORA_SCHEDULE(.initial_delay = SEC(1), .fixed_rate = SEC(1), .count = 3,
                              .overlap = overlaps ? HORA_OVERLAP_ALLOW : HORA_OVERLAP_NEVER,
                              .overlap_max = overlaps ? 2 : 0),
                &future, NULL));
            settle(&r.f);
            check_words(future);
            CHECK_INT(look_at_pool(r.pool), 1);
            pass_in_steps(&r, SEC(1), 5); /* the runs wait; with overlap, times are skipped */
            check_words(future);
            (void)look_at_pool(r.pool);
            rig_open_gate(&r);
            settle(&r.f);
            pass_in_steps(&r, SEC(1), 5);
            CHECK_INT(drops, 1);
            check_future(future);
            (void)look_at_pool(r.pool);
            (void)hora_future_unref(future);
            rig_close(&r);
        }
}

TEST(task_name_goes_with_the_argument_of_a_cancelled_series, "")
{
    for (int is_told = 0; is_told < 2; is_told++)
        for (int overlaps = 0; overlaps < 2; overlaps++) {
            struct rig r;
            hora_future *future = NULL;
            open_scheduler(&r, is_told, 3);
            struct cargo *cargo = load(&r, true, 0);
            CHECK_OK(hora_scheduler_schedule_with(
                r.pool, CARGO(cargo),
                HORA_SCHEDULE(.fixed_rate = SEC(1),
                              .overlap = overlaps ? HORA_OVERLAP_ALLOW : HORA_OVERLAP_NEVER,
                              .overlap_max = overlaps ? 2 : 0),
                &future, NULL));
            pass_in_steps(&r, SEC(1), 3);
            CHECK(hora_future_cancel(future, false) >= 0);
            check_words(future);
            (void)look_at_pool(r.pool);
            CHECK_INT(drops, 0); /* its runs go on */
            rig_open_gate(&r);
            settle(&r.f);
            CHECK_INT(drops, 1);
            check_future(future);
            (void)look_at_pool(r.pool);
            (void)hora_future_unref(future);
            rig_close(&r);
        }
}

/* A one-shot task without a future, cancelled before its time. */
TEST(task_name_goes_with_the_argument_of_a_single_run, "")
{
    for (int is_told = 0; is_told < 2; is_told++) {
        struct rig r;
        hora_future *future = NULL;
        open_scheduler(&r, is_told, 1);
        struct cargo *alone = load(&r, false, 0), *kept = load(&r, false, 0);
        CHECK_OK(hora_scheduler_schedule(r.pool, CARGO(alone), SEC(1), NULL));
        CHECK_OK(hora_scheduler_schedule(r.pool, CARGO(kept), SEC(1), &future));
        CHECK_INT(look_at_pool(r.pool), 2);
        CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
        CHECK_INT(look_at_pool(r.pool), 1);
        check_future(future);
        pass(&r, SEC(1));
        CHECK_INT(drops, 2);
        (void)look_at_pool(r.pool);
        (void)hora_future_unref(future);
        rig_close(&r);
    }
}

/* A registration has its own copy, which may be freed before the future is. */
TEST(task_name_goes_with_the_argument_of_a_registration, "")
{
    struct rig r;
    hora_registrar *registrar = NULL;
    hora_registration *registration = NULL;
    open_scheduler(&r, true, 1);
    CHECK_OK(hora_registrar_new(HORA_REGISTRAR_OPTIONS(.resolve = NULL), &registrar, NULL));
    struct cargo *cargo = load(&r, false, 0);
    CHECK_OK(hora_registrar_add(registrar, CARGO(cargo), HORA_DECLARATION(.fixed_rate = SEC(1)),
                                &registration, NULL));
    CHECK_OK(hora_registrar_bind(registrar, r.pool, NULL));
    settle(&r.f);
    pass(&r, SEC(2));
    hora_future *future = hora_registration_future(registration);
    check_words(future);
    CHECK_OK(hora_registrar_close(registrar));
    CHECK_OK(hora_registrar_free(registrar));
    settle(&r.f);
    CHECK_INT(drops, 1);
    check_future(future);
    (void)hora_future_unref(future);
    rig_close(&r);
}
