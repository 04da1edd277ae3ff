/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_registrar.c - declaring, binding, cancelling and closing at the same time
 *
 * The oracle: the argument of an accepted task is dropped exactly once, no task runs after that, none is
 * forgotten, and no cancelled task begins. */
#include <stdatomic.h>
#include <string.h>

#include <hora/registrar.h>

#include "harness.h"

enum { ITEMS = 8 };
#define FAR       HORA_HOURS(1)
#define UNREACHED HORA_FOREVER /* a finite time may pass in a schedule with late wake-ups */

struct item {
    atomic_int runs;
    atomic_int drops;
};

static struct item items[ITEMS];
static hora_scheduler *scheduler;
static hora_registrar *registrar;

static int run(void *arg, void **ret_result)
{
    struct item *item = arg;
    (void)ret_result;
    CHECK_INT(item->drops, 0);
    item->runs++;
    return 0;
}

static void drop(void *arg)
{
    struct item *item = arg;
    CHECK_INT(item->drops++, 0);
}

#define ITEM(i) HORA_TASK(run, &items[i], .drop = drop, .name = "item")

static hora_registration *declare(int i, hora_ns delay)
{
    hora_registration *registration = NULL;
    CHECK_OK(hora_registrar_add(registrar, ITEM(i),
                                HORA_DECLARATION(.fixed_rate = FAR, .initial_delay = delay), &registration,
                                NULL));
    return registration;
}

static void clear(void)
{
    for (int i = 0; i < ITEMS; i++)
        items[i] = (struct item){0};
}

static void begin(void)
{
    clear();
    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &scheduler, NULL));
    CHECK_OK(hora_registrar_new(NULL, &registrar, NULL));
}

/* The first `count` items were declared. */
static void end(int count)
{
    CHECK_OK(hora_registrar_free(registrar));
    CHECK_OK(hora_pool_close_for(scheduler, HORA_FOREVER));
    CHECK_OK(hora_pool_free(scheduler));
    for (int i = 0; i < ITEMS; i++)
        CHECK_INT(items[i].drops, i < count);
}

static bool is_scheduled(hora_registration *registration)
{
    hora_future *future = hora_registration_future(registration);
    (void)hora_future_unref(future);
    return future != NULL;
}

static void bind_it(void *ret_error)
{
    *(int *)ret_error = hora_registrar_bind(registrar, scheduler, NULL);
}

static void close_it(void *arg)
{
    (void)arg;
    CHECK_OK(hora_registrar_close(registrar));
}

/* ---- two at a time ---- */

/* Whichever call is first, both tasks are scheduled in the end. */
SCENARIO(registrar_add_meets_bind)
{
    int error = -7;
    begin();
    hora_registration *first = declare(0, UNREACHED);
    test_thread *binder = test_thread_start(NULL, bind_it, &error);
    hora_registration *second = declare(1, UNREACHED);
    test_thread_join(binder);
    CHECK_OK(error);
    CHECK(is_scheduled(first));
    CHECK(is_scheduled(second));
    CHECK_INT(hora_queue_size(hora_pool_queue(scheduler)), 2);
    end(2);
}

/* The task is bound before the close or not at all, and the registrar stays closed. */
SCENARIO(registrar_bind_meets_close)
{
    int error;
    begin();
    (void)declare(0, UNREACHED);
    (void)declare(1, UNREACHED);
    test_thread *closer = test_thread_start(NULL, close_it, NULL);
    bind_it(&error);
    test_thread_join(closer);
    CHECK(error == 0 || error == HORA_ECLOSED);
    CHECK_INT(items[0].drops, 1);
    CHECK_INT(items[1].drops, 1);
    CHECK_INT(hora_queue_size(hora_pool_queue(scheduler)), 0);
    CHECK_ERROR(hora_registrar_add(registrar, ITEM(2), HORA_DECLARATION(.fixed_rate = FAR), NULL, NULL),
                HORA_ECLOSED);
    CHECK_ERROR(hora_registrar_bind(registrar, scheduler, NULL), HORA_ECLOSED);
    end(2);
}

/* If close finds tasks bound to the registrar's own scheduler, these have ended when it returns. */
LARGE_SCENARIO(registrar_bind_of_its_own_meets_close)
{
    begin();
    (void)declare(0, 0);
    test_thread *closer = test_thread_start(NULL, close_it, NULL);
    int error = hora_registrar_bind(registrar, NULL, NULL);
    test_thread_join(closer);
    CHECK(error == 0 || error == HORA_ECLOSED);
    CHECK_INT(items[0].drops, 1);
    CHECK(error == 0 || items[0].runs == 0);
    end(1);
}

static void cancel_it(void *registration)
{
    CHECK_INT(hora_registration_cancel(registration, false), 1);
}

/* A task that is due far in the future: the cancel is always in time. */
SCENARIO(registrar_cancel_meets_bind)
{
    int error;
    begin();
    hora_registration *cancelled = declare(0, UNREACHED);
    hora_registration *other = declare(1, UNREACHED);
    test_thread *canceller = test_thread_start(NULL, cancel_it, cancelled);
    bind_it(&error);
    test_thread_join(canceller);
    CHECK_OK(error);
    CHECK_INT(items[0].drops, 1);
    CHECK_INT(hora_registration_cancel(cancelled, false), 0);
    CHECK(is_scheduled(other));
    CHECK_INT(hora_queue_size(hora_pool_queue(scheduler)), 1);
    end(2);
    CHECK_INT(items[0].runs, 0);
}

static int answer;

static void cancel_early(void *registration)
{
    answer = hora_registration_cancel(registration, false);
}

/* One that runs once and at once: it is cancelled, or has run. */
SCENARIO(registrar_cancel_meets_bind_and_run)
{
    int error;
    hora_registration *registration = NULL;
    begin();
    CHECK_OK(hora_registrar_add(registrar, ITEM(0), HORA_DECLARATION(.initial_delay_text = "0"),
                                &registration, NULL));
    test_thread *canceller = test_thread_start(NULL, cancel_early, registration);
    bind_it(&error);
    test_thread_join(canceller);
    CHECK_OK(error);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    CHECK_INT(items[0].drops, 1);
    CHECK(answer == 1 || items[0].runs == 1);
    end(1);
}

SCENARIO(registrar_two_binds)
{
    int errors[2] = {-7, -7};
    begin();
    (void)declare(0, UNREACHED);
    test_thread *other = test_thread_start(NULL, bind_it, &errors[1]);
    bind_it(&errors[0]);
    test_thread_join(other);
    CHECK(errors[0] == 0 || errors[1] == 0);
    CHECK(errors[0] == HORA_EBUSY || errors[1] == HORA_EBUSY);
    CHECK_INT(hora_queue_size(hora_pool_queue(scheduler)), 1);
    end(1);
}

SCENARIO(registrar_add_meets_close)
{
    begin();
    CHECK_OK(hora_registrar_bind(registrar, scheduler, NULL));
    test_thread *closer = test_thread_start(NULL, close_it, NULL);
    int error = hora_registrar_add(
        registrar, ITEM(0), HORA_DECLARATION(.fixed_rate = FAR, .initial_delay = UNREACHED), NULL, NULL);
    test_thread_join(closer);
    CHECK(error == 0 || error == HORA_ECLOSED);
    CHECK_INT(items[0].drops, error == 0);
    CHECK_INT(hora_queue_size(hora_pool_queue(scheduler)), 0);
    end(error == 0 ? 1 : 0);
}

static void shut_down(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_shutdown(scheduler));
}

/* The scheduler ends while tasks are put on it: if that fails, their args are still the registrar's. */
SCENARIO(registrar_bind_meets_the_end_of_the_scheduler)
{
    int error;
    begin();
    (void)declare(0, UNREACHED);
    (void)declare(1, UNREACHED);
    test_thread *other = test_thread_start(NULL, shut_down, NULL);
    bind_it(&error);
    test_thread_join(other);
    CHECK(error == 0 || error == HORA_EREJECTED);
    CHECK_INT(items[0].drops, error == 0);
    CHECK_INT(items[1].drops, error == 0);
    end(2);
}

static void stop(void *list)
{
    CHECK_OK(hora_pool_shutdown_now(scheduler, list));
}

/* The same if the scheduler is stopped and hands back its tasks. The test runs those itself. */
SCENARIO(registrar_bind_meets_the_stop_of_the_scheduler)
{
    int error;
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    begin();
    hora_registration *registration = NULL;
    CHECK_OK(hora_registrar_add(registrar, ITEM(0), HORA_DECLARATION(.initial_delay_text = "0"),
                                &registration, NULL));
    test_thread *other = test_thread_start(NULL, stop, &list);
    bind_it(&error);
    test_thread_join(other);
    CHECK(error == 0 || error == HORA_EREJECTED);
    hora_future *future;
    while ((future = hora_future_list_take(&list)) != NULL) {
        (void)hora_future_run(future);
        (void)hora_future_unref(future);
    }
    CHECK(error == 0 || items[0].runs == 0);
    end(1);
}

/* ---- without memory, without threads ---- */

static const char *resolve(const char *name, void *context)
{
    (void)context;
    return strcmp(name, "rate") == 0 ? "${rest}s" : strcmp(name, "rest") == 0 ? "1" : NULL;
}

static bool is_shortage(int error)
{
    return error == HORA_ENOMEM || error == HORA_EAGAIN;
}

static bool owned[ITEMS];

static void note(int i, int error)
{
    CHECK(error == 0 || is_shortage(error));
    CHECK(error == 0 || items[i].drops == 0);
    owned[i] = error == 0;
}

static void declare_all(void)
{
    hora_error error;
    hora_trigger *trigger = NULL;
    note(0, hora_registrar_add(registrar, ITEM(0), HORA_DECLARATION(.cron = "* * * * * *", .zone = "UTC"),
                               NULL, &error));
    note(1, hora_registrar_add(registrar, ITEM(1), HORA_DECLARATION(.fixed_rate_text = "${rate}"), NULL,
                               &error));
    note(2, hora_registrar_add(registrar, ITEM(2), HORA_DECLARATION(.fixed_delay = FAR), NULL, &error));
    note(3,
         hora_registrar_add(registrar, ITEM(3), HORA_DECLARATION(.initial_delay = UNREACHED), NULL, &error));
    note(4, hora_registrar_add(registrar, ITEM(4), HORA_DECLARATION(.cron = "-"), NULL, &error));
    if (hora_trigger_new_periodic(FAR, NULL, &trigger, NULL) == 0)
        note(5, hora_registrar_add(registrar, ITEM(5), HORA_DECLARATION(.trigger = trigger), NULL, &error));
    (void)hora_trigger_unref(trigger);
    CHECK_INT(items[4].drops, owned[4]);
}

static bool begin_short(void)
{
    clear();
    memset(owned, 0, sizeof owned);
    int error = hora_registrar_new(HORA_REGISTRAR_OPTIONS(.resolve = resolve), &registrar, NULL);
    CHECK(error == 0 || is_shortage(error));
    return error == 0;
}

static void end_short(void)
{
    CHECK_OK(hora_registrar_free(registrar)); /* that never lacks anything */
    for (int i = 0; i < ITEMS; i++)
        CHECK_INT(items[i].drops, owned[i]);
}

SWEEP(registrar_survives_add)
{
    if (!begin_short())
        return;
    declare_all();
    int count = 0;
    for (int i = 0; i < ITEMS; i++)
        count += owned[i];
    CHECK_INT(hora_registrar_count(registrar), count);
    end_short();
}

/* Bound or not; if not, nothing has run, and it can be tried again. */
SWEEP(registrar_survives_bind)
{
    if (!begin_short())
        return;
    declare_all();
    int error = hora_registrar_bind(registrar, NULL, NULL);
    CHECK(error == 0 || is_shortage(error));
    for (int i = 0; i < ITEMS && error < 0; i++)
        CHECK(i == 4 || (items[i].runs == 0 && items[i].drops == 0));
    if (error < 0)
        error = hora_registrar_bind(registrar, NULL, NULL);
    CHECK(error == 0 || is_shortage(error));
    note(6, hora_registrar_add(registrar, ITEM(6), HORA_DECLARATION(.fixed_rate = FAR), NULL, NULL));
    end_short();
}

SWEEP(registrar_survives_bind_to_a_scheduler)
{
    int error = hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 2), &scheduler, NULL);
    CHECK(error == 0 || is_shortage(error));
    if (error < 0)
        return;
    if (begin_short()) {
        declare_all();
        error = hora_registrar_bind(registrar, scheduler, NULL);
        CHECK(error == 0 || is_shortage(error));
        for (int i = 0; i < ITEMS && error < 0; i++)
            CHECK(i == 4 || (items[i].runs == 0 && items[i].drops == 0));
        note(6, hora_registrar_add(registrar, ITEM(6), HORA_DECLARATION(.fixed_rate = FAR), NULL, NULL));
        CHECK_OK(hora_registrar_close(registrar));
        (void)hora_pool_close_for(scheduler, HORA_FOREVER);
        end_short();
    }
    CHECK_OK(hora_pool_free(scheduler));
}

static int do_nothing(void)
{
    return 0;
}

/* Several at once: all or none. */
SWEEP(registrar_survives_functions)
{
    static const hora_scheduled_function first = {
        do_nothing, "first", "", 1, {.struct_size = sizeof(hora_declaration), .fixed_rate = FAR}};
    static const hora_scheduled_function second = {
        do_nothing,
        "second",
        "",
        1,
        {.struct_size = sizeof(hora_declaration), .cron = "@daily", .zone = "+01:00"}};
    const hora_scheduled_function *functions[] = {&first, &second};
    const hora_scheduled_functions both = {functions, functions + 2};
    hora_error error;
    if (!begin_short())
        return;
    int before = hora_registrar_add_functions(registrar, &both, &error);
    CHECK(before == 2 || is_shortage(before));
    int bound = hora_registrar_bind(registrar, NULL, NULL);
    CHECK(bound == 0 || is_shortage(bound));
    int after = hora_registrar_add_functions(registrar, &both, &error);
    CHECK(after == 2 || is_shortage(after));
    CHECK_INT(hora_registrar_count(registrar), (before == 2 ? 2 : 0) + (after == 2 ? 2 : 0));
    end_short();
}
