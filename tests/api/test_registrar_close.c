/* SPDX-License-Identifier: Apache-2.0 */
/* test_registrar_close.c - the end of a registrar, its own scheduler, and the calls that it rejects */
#include <string.h>

#include "registrar_support.h"

/* ---- closing ---- */

/* Spring: destroy cancels all, and interrupts nothing. */
TEST(registrar_that_is_closed_cancels_all, "")
{
    struct office o;
    struct tick running = {.waits = true}, waiting = {.runs = 0}, late = {.stage = &o.s};
    hora_error error;

    office_open(&o, 1);
    hora_registration *r = DECLARE(&o, &running, .fixed_rate = SEC(1));
    DECLARE(&o, &waiting, EVERY_2_SECONDS);
    office_bind(&o);
    stage_pass(&o.s, 1);
    CHECK_OK(hora_registrar_close(o.registrar)); /* a scheduler of others: it does not wait */
    CHECK_INT(waiting.drops, 1);
    CHECK_INT(running.drops, 0);
    CHECK_OUTCOME(&o, r, HORA_OUTCOME_STARTED, 0, 0, 1, 0);
    CHECK_ERROR(hora_registrar_add(o.registrar, TICK(&late), HORA_DECLARATION(.fixed_rate = 1), NULL, &error),
                HORA_ECLOSED);
    CHECK(strstr(error.message, "): the object is closed") != NULL);
    CHECK_INT(late.drops, 0);
    CHECK_OK(hora_registrar_close(o.registrar));
    CHECK_OK(hora_latch_count_down(o.s.gate));
    stage_pass(&o.s, 3);
    CHECK_INT(running.interrupts, 0);
    CHECK_INT(running.drops, 1);
    CHECK_INT(running.runs, 1);
    CHECK_NO_START(&waiting);
    CHECK_INT(hora_registrar_count(o.registrar), 2);
    CHECK_INT(hora_queue_size(hora_pool_queue(o.s.scheduler)), 0);
    office_close(&o);
}

TEST(registrar_can_be_freed_while_its_tasks_run, "")
{
    struct office o;
    struct tick running = {.waits = true};

    office_open(&o, 1);
    DECLARE(&o, &running, .fixed_rate = SEC(1), .name = "a name that lives as long as the run");
    office_bind(&o);
    stage_pass(&o.s, 1);
    CHECK_OK(hora_registrar_free(o.registrar));
    CHECK_INT(running.drops, 0);
    CHECK_OK(hora_latch_count_down(o.s.gate));
    stage_settle(&o.s);
    CHECK_INT(running.drops, 1);
    stage_close(&o.s);
}

/* ---- the registrar's own scheduler ---- */

struct private_work {
    hora_registrar *registrar;
    hora_latch *begun;
    hora_latch *closing;
    hora_latch *gate;
    atomic_int runs;
    atomic_int ends;
    atomic_int drops;
    int close_result, free_result;
};

static void private_open(struct private_work *work)
{
    *work = (struct private_work){.close_result = -7};
    CHECK_OK(hora_registrar_new(NULL, &work->registrar, NULL));
    CHECK_OK(hora_latch_new(1, NULL, &work->begun, NULL));
    CHECK_OK(hora_latch_new(1, NULL, &work->closing, NULL));
    CHECK_OK(hora_latch_new(1, NULL, &work->gate, NULL));
}

static void private_close(struct private_work *work)
{
    CHECK_OK(hora_registrar_free(work->registrar));
    CHECK_INT(work->runs, work->ends);
    CHECK_INT(work->drops, 1);
    CHECK_OK(hora_latch_free(work->begun));
    CHECK_OK(hora_latch_free(work->closing));
    CHECK_OK(hora_latch_free(work->gate));
}

static int work_until_gate(void *arg, void **ret_result)
{
    struct private_work *work = arg;

    (void)ret_result;
    atomic_fetch_add(&work->runs, 1);
    CHECK_OK(hora_latch_count_down(work->begun));
    CHECK_OK(hora_latch_await(work->gate)); /* it is not interrupted */
    atomic_fetch_add(&work->ends, 1);
    return 0;
}

static void work_drop(void *arg)
{
    atomic_fetch_add(&((struct private_work *)arg)->drops, 1);
}

/* The drop of a task that is far away closes the registrar. */
static void note_closing(void *arg)
{
    CHECK_OK(hora_latch_count_down(((struct private_work *)arg)->closing));
}

static void open_gate_when_closing(void *arg)
{
    struct private_work *work = arg;

    CHECK_OK(hora_latch_await(work->closing));
    CHECK_ERROR(hora_registrar_bind(work->registrar, NULL, NULL), HORA_ECLOSED);
    CHECK_INT(work->ends, 0);
    CHECK_OK(hora_latch_count_down(work->gate));
}

/* Close waits for the run that is going, an interrupt notwithstanding. */
TEST(registrar_waits_for_the_end_of_its_own_scheduler, "")
{
    struct private_work work;

    private_open(&work);
    CHECK_OK(hora_registrar_add(work.registrar, HORA_TASK(work_until_gate, &work, .drop = work_drop),
                                HORA_DECLARATION(.fixed_rate = 1), NULL, NULL));
    CHECK_OK(hora_registrar_add(work.registrar, HORA_TASK(work_until_gate, &work, .drop = note_closing),
                                HORA_DECLARATION(.initial_delay = HORA_HOURS(1)), NULL, NULL));
    CHECK_OK(hora_registrar_bind(work.registrar, NULL, NULL));
    CHECK_OK(hora_latch_await(work.begun));
    test_thread *opener = test_thread_start(NULL, open_gate_when_closing, &work);
    interrupt_self();
    CHECK_OK(hora_registrar_close(work.registrar));
    CHECK_INT(work.ends, 1);
    CHECK_INT(work.runs, 1);
    CHECK_INT(work.drops, 1);
    CHECK(hora_interrupted()); /* it is still pending */
    test_thread_join(opener);
    CHECK_OK(hora_registrar_close(work.registrar));
    private_close(&work);
}

static int close_from_inside(void *arg, void **ret_result)
{
    struct private_work *work = arg;

    (void)ret_result;
    if (atomic_fetch_add(&work->runs, 1) == 0) {
        work->close_result = hora_registrar_close(work->registrar);
        work->free_result = hora_registrar_free(work->registrar);
    }
    CHECK_OK(hora_latch_count_down(work->begun));
    atomic_fetch_add(&work->ends, 1);
    return 0;
}

/* It would wait for itself. Nothing has changed by it. */
TEST(registrar_cannot_be_closed_by_a_task_of_its_own_scheduler, "")
{
    struct private_work work;

    private_open(&work);
    CHECK_OK(hora_latch_free(work.begun));
    CHECK_OK(hora_latch_new(2, NULL, &work.begun, NULL));
    CHECK_OK(hora_registrar_add(work.registrar, HORA_TASK(close_from_inside, &work, .drop = work_drop),
                                HORA_DECLARATION(.fixed_delay = HORA_US(1)), NULL, NULL));
    CHECK_OK(hora_registrar_bind(work.registrar, NULL, NULL));
    CHECK_OK(hora_latch_await(work.begun)); /* it runs again */
    CHECK_ERROR(work.close_result, HORA_EDEADLK);
    CHECK_ERROR(work.free_result, HORA_EDEADLK);
    private_close(&work);
}

/* ---- callbacks ---- */

static const char *look_at_registrar(const char *name, void *context)
{
    CHECK_INT(hora_registrar_count(*(hora_registrar **)context), 0);
    return strcmp(name, "rate") == 0 ? "1s" : NULL;
}

static hora_registrar *looked_at;

static void drop_and_look(void *arg)
{
    CHECK(hora_registrar_count(looked_at) > 0); /* no lock is held */
    atomic_fetch_add((atomic_int *)arg, 1);
}

static int do_nothing(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

TEST(registrar_calls_no_user_code_under_its_lock, "")
{
    struct stage s;
    atomic_int drops = 0;
    hora_registration *registration = NULL;

    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    looked_at = NULL;
    CHECK_OK(hora_registrar_new(HORA_REGISTRAR_OPTIONS(.resolve = look_at_registrar, .arg = &looked_at),
                                &looked_at, NULL));
    const hora_task *task = HORA_TASK(do_nothing, &drops, .drop = drop_and_look);
    CHECK_OK(hora_registrar_add(looked_at, task, HORA_DECLARATION(.fixed_rate_text = "${rate}"),
                                &registration, NULL));
    CHECK_OK(hora_registrar_add(looked_at, task, HORA_DECLARATION(.cron = "-"), NULL, NULL));
    CHECK_INT(drops, 1);
    CHECK_INT(hora_registration_cancel(registration, false), 1);
    CHECK_INT(drops, 2);
    CHECK_OK(hora_registrar_add(looked_at, task, HORA_DECLARATION(.fixed_rate = 1), &registration, NULL));
    CHECK_OK(hora_registrar_bind(looked_at, s.scheduler, NULL));
    CHECK_OK(hora_registrar_close(looked_at));
    stage_settle(&s);
    CHECK_INT(drops, 3);
    CHECK_OK(hora_registrar_free(looked_at));
    stage_close(&s);
}

/* ---- bad input ---- */

TEST(registrar_refuses_bad_input, "")
{
    hora_registrar *registrar = (hora_registrar *)untouched;
    hora_registrar_options wrong = {.struct_size = 3};
    hora_error error;
    hora_registration *registration;
    hora_instant next;
    hora_outcome outcome = HORA_INIT(hora_outcome);
    char text[8];

    CHECK_ERROR(hora_registrar_new(NULL, NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_registrar_new(&wrong, &registrar, NULL), HORA_EINVAL);
    CHECK_POINTER(registrar, untouched);
    CHECK_ERROR(hora_registrar_add(NULL, HORA_TASK(do_nothing, NULL), HORA_DECLARATION(.fixed_rate = 1), NULL,
                                   &error),
                HORA_EINVAL);
    CHECK(strstr(error.message, "): invalid argument") != NULL);
    CHECK_ERROR(hora_registrar_close(NULL), HORA_EINVAL);
    CHECK_OK(hora_registrar_free(NULL));
    CHECK_INT(hora_registrar_count(NULL), 0);
    CHECK_POINTER(hora_registrar_get(NULL, 0), NULL);
    CHECK_POINTER(hora_registrar_find(NULL, "x"), NULL);
    CHECK_INT(strcmp(hora_registration_name(NULL), ""), 0);
    CHECK_ERROR(hora_registration_next(NULL, &next), HORA_EINVAL);
    CHECK_ERROR(hora_registration_get_outcome(NULL, &outcome), HORA_EINVAL);
    CHECK_ERROR(hora_registration_cancel(NULL, false), HORA_EINVAL);
    CHECK_POINTER(hora_registration_future(NULL), NULL);
    CHECK_ERROR(hora_registration_describe(NULL, text, sizeof text), HORA_EINVAL);

    CHECK_OK(hora_registrar_new(NULL, &registrar, NULL));
    CHECK_OK(hora_registrar_add(registrar, HORA_TASK(do_nothing, NULL), HORA_DECLARATION(.fixed_rate = 1),
                                &registration, NULL));
    CHECK_POINTER(hora_registrar_find(registrar, NULL), NULL);
    CHECK_ERROR(hora_registration_next(registration, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_registration_get_outcome(registration, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_registration_describe(registration, NULL, 1), HORA_EINVAL);
    CHECK_OK(hora_registrar_free(registrar));
}
