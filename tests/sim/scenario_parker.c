/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_parker.c - the parker: no permit is lost, none counts twice, no park outlasts its deadline */
#include "harness.h"
#include "sys/clock.h"
#include "sys/parker.h"

static hora__parker parker;
static hora__atomic flag;

static void set_flag_and_unpark(void *arg)
{
    (void)arg;
    hora__atomic_store(&flag, 1);
    hora__unpark(&parker);
}

/* A thread that looks at a flag before each park never misses the unpark that follows setting it. */
SCENARIO(parker_loses_no_permit)
{
    CHECK_OK(hora__parker_init(&parker));
    hora__atomic_init(&flag, 0);
    test_thread *other = test_thread_start(NULL, set_flag_and_unpark, NULL);
    while (!hora__atomic_load(&flag))
        hora__park(&parker, HORA__MONOTONIC, INT64_MAX);
    test_thread_join(other);
    hora__parker_destroy(&parker);
}

/* A park ends at its deadline, on each clock, and not before unless for no reason. */
SCENARIO(parker_keeps_deadlines)
{
    CHECK_OK(hora__parker_init(&parker));
    for (int timeline = 0; timeline < 3; timeline++) {
        int64_t deadline = hora__now((enum hora__timeline)timeline) + 1000;
        while (hora__now((enum hora__timeline)timeline) < deadline)
            hora__park(&parker, (enum hora__timeline)timeline, deadline);
        if (test_is_exact())
            CHECK_INT(hora__now((enum hora__timeline)timeline), deadline);
    }
    hora__parker_destroy(&parker);
}

/* Two unparks leave one permit: the second park waits for its deadline. */
SCENARIO(parker_holds_one_permit)
{
    CHECK_OK(hora__parker_init(&parker));
    hora__unpark(&parker);
    hora__unpark(&parker);
    CHECK(hora__parker_has_permit(&parker));
    hora__park(&parker, HORA__MONOTONIC, INT64_MAX);
    CHECK(!hora__parker_has_permit(&parker));
    int64_t deadline = hora__now(HORA__MONOTONIC) + 1000;
    while (hora__now(HORA__MONOTONIC) < deadline)
        hora__park(&parker, HORA__MONOTONIC, deadline);
    hora__parker_destroy(&parker);
}

/* An unpark while the thread waits for boot time, which takes another way, ends that wait. */
SCENARIO(parker_wakes_from_boot_time)
{
    CHECK_OK(hora__parker_init(&parker));
    hora__atomic_init(&flag, 0);
    test_thread *other = test_thread_start(NULL, set_flag_and_unpark, NULL);
    int64_t start = hora__now(HORA__BOOTTIME);
    while (!hora__atomic_load(&flag))
        hora__park(&parker, HORA__BOOTTIME, hora__now(HORA__BOOTTIME) + HORA_HOURS(1));
    if (test_is_exact())
        CHECK_INT(hora__now(HORA__BOOTTIME), start);
    test_thread_join(other);
    hora__parker_destroy(&parker);
}
