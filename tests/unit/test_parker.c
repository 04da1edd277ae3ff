/* SPDX-License-Identifier: Apache-2.0 */
/* test_parker.c - the parker on real threads: permits, deadlines on every clock, and many hand-overs */
#include "harness.h"
#include "sys/clock.h"
#include "sys/parker.h"

enum { ROUNDS = 2000 };

TEST_REAL(permit_before_park_is_kept, "")
{
    hora__parker parker;
    CHECK_OK(hora__parker_init(&parker));
    hora__unpark(&parker);
    hora__unpark(&parker);
    CHECK(hora__parker_has_permit(&parker));
    hora__park(&parker, HORA__MONOTONIC, INT64_MAX); /* would hang without the permit */
    CHECK(!hora__parker_has_permit(&parker));
    hora__parker_destroy(&parker);
}

static void park_until(hora__parker *parker, enum hora__timeline timeline, int64_t deadline)
{
    while (hora__now(timeline) < deadline)
        hora__park(parker, timeline, deadline);
}

TEST_REAL(deadlines_hold_on_every_clock, "")
{
    hora__parker parker;
    CHECK_OK(hora__parker_init(&parker));
    for (int timeline = HORA__MONOTONIC; timeline <= HORA__WALL; timeline++) {
        int64_t start = hora__now(HORA__MONOTONIC);
        int64_t deadline = hora__now((enum hora__timeline)timeline) + HORA_MS(3);
        park_until(&parker, (enum hora__timeline)timeline, deadline);
        CHECK(hora__now((enum hora__timeline)timeline) >= deadline);
        CHECK(hora__now(HORA__MONOTONIC) - start < test_scale(HORA_SECONDS(20)));
    }
    hora__parker_destroy(&parker);
}

TEST_REAL(deadlines_hold_while_watching, "")
{
    hora__parker parker;
    CHECK_OK(hora__parker_init(&parker));
    for (int timeline = HORA__MONOTONIC; timeline <= HORA__WALL; timeline++) {
        int64_t deadline = hora__now((enum hora__timeline)timeline) + HORA_MS(3);
        int returns = 0;
        for (; hora__now((enum hora__timeline)timeline) < deadline; returns++)
            hora__park_watching(&parker, (enum hora__timeline)timeline, deadline);
        CHECK(returns <=
              10); /* it sleeps; but the clock may be set, and the deadline be missed by a little */
    }
    hora__parker_destroy(&parker);
}

TEST_REAL(permit_ends_watching, "")
{
    hora__parker parker;
    CHECK_OK(hora__parker_init(&parker));
    for (int i = 0; i < 3; i++) {
        hora__unpark(&parker);
        hora__park_watching(&parker, HORA__MONOTONIC, INT64_MAX);
        CHECK(!hora__parker_has_permit(&parker));
    }
    hora__parker_destroy(&parker);
}

TEST_REAL(deadlines_in_the_past_do_not_sleep, "")
{
    hora__parker parker;
    CHECK_OK(hora__parker_init(&parker));
    for (int timeline = HORA__MONOTONIC; timeline <= HORA__WALL; timeline++)
        for (int64_t deadline = -1; deadline <= 1; deadline++) {
            hora__park(&parker, (enum hora__timeline)timeline, deadline);
            hora__park_watching(&parker, (enum hora__timeline)timeline, deadline);
        }
    hora__park(&parker, HORA__MONOTONIC, INT64_MIN);
    hora__parker_destroy(&parker);
}

/* Two threads in turn, each waiting for the other on the given clock: a lost wake-up hangs. */
struct side {
    hora__parker parker;
    hora__atomic turns;
    struct side *other;
    enum hora__timeline timeline;
    int64_t ahead;
    void (*park)(hora__parker *parker, enum hora__timeline timeline, int64_t deadline_ns);
};

static int64_t far_deadline(const struct side *side)
{
    return side->ahead == INT64_MAX ? INT64_MAX : hora__now(side->timeline) + side->ahead;
}

static void take_turns(void *arg)
{
    struct side *side = arg;
    for (int i = 1; i <= ROUNDS; i++) {
        (void)hora__atomic_add(&side->other->turns, 1);
        hora__unpark(&side->other->parker);
        while (hora__atomic_load(&side->turns) < i)
            side->park(&side->parker, side->timeline, far_deadline(side));
    }
}

static void play_by(enum hora__timeline timeline, int64_t ahead,
                    void (*park)(hora__parker *parker, enum hora__timeline timeline, int64_t deadline_ns))
{
    struct side sides[2];
    for (int i = 0; i < 2; i++) {
        CHECK_OK(hora__parker_init(&sides[i].parker));
        hora__atomic_init(&sides[i].turns, 0);
        sides[i].other = &sides[1 - i];
        sides[i].timeline = timeline;
        sides[i].ahead = ahead;
        sides[i].park = park;
    }
    test_thread *thread = test_thread_start(NULL, take_turns, &sides[1]);
    take_turns(&sides[0]);
    test_thread_join(thread);
    for (int i = 0; i < 2; i++)
        hora__parker_destroy(&sides[i].parker);
}

static void play(enum hora__timeline timeline, int64_t ahead)
{
    play_by(timeline, ahead, hora__park);
}

TEST_REAL(turns_without_deadline, "")
{
    play(HORA__MONOTONIC, INT64_MAX);
}

TEST_REAL(turns_with_deadline, "")
{
    play(HORA__MONOTONIC, HORA_HOURS(1));
    play(HORA__WALL, HORA_HOURS(1));
}

TEST_REAL(turns_on_boot_time, "")
{
    play(HORA__BOOTTIME, HORA_HOURS(1));
}

TEST_REAL(turns_while_watching, "")
{
    play_by(HORA__MONOTONIC, INT64_MAX, hora__park_watching);
    for (int timeline = HORA__MONOTONIC; timeline <= HORA__WALL; timeline++)
        play_by((enum hora__timeline)timeline, HORA_HOURS(1), hora__park_watching);
}
