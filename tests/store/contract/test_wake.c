/* SPDX-License-Identifier: Apache-2.0 */
/* test_wake.c - the contract of waking nodes, and of the clock */
#include "contract.h"

#include <poll.h>

/* Waits up to a second for the descriptor. */
static bool is_readable(int timeout)
{
    struct pollfd fd = {.fd = backend->ops->wake_fd(backend), .events = POLLIN};
    return poll(&fd, 1, timeout) == 1;
}

#define NEEDS_FD \
    (backend->ops->wake_fd(backend) >= 0 ? (void)0 : contract_skip("the store has no descriptor"))

/* A node listens once it has joined. */
static void begin(void)
{
    join();
    NEEDS_FD;
    while (is_readable(0))
        backend->ops->wake_drain(backend);
}

CONTRACT(wake_by_put)
{
    begin();
    CHECK(!is_readable(0));
    int64_t before = now_us();
    put_one(&PUT());
    CHECK(is_readable(1000));
    int64_t due = backend->ops->wake_drain(backend);
    CHECK(due == INT64_MIN || (due >= before && due <= now_us()));
    CHECK(!is_readable(0));
}

CONTRACT(wake_tells_the_earliest_due)
{
    begin();
    int64_t now = now_us();
    hora__put puts[] = {PUT(AT(now + 500 * MS)), PUT(AT(now + 300 * MS)), PUT(AT(now + 400 * MS))};
    hora__put_done done[3];
    size_t wrong;
    CHECK_OK(backend->ops->put(backend, puts, 3, done, &wrong, &contract_error));
    CHECK(is_readable(1000));
    int64_t due = backend->ops->wake_drain(backend);
    CHECK(due == INT64_MIN || due == now + 300 * MS);
}

CONTRACT(wake_by_wake)
{
    begin();
    CHECK_OK(backend->ops->wake(backend, &contract_error));
    CHECK(is_readable(1000));
    CHECK_INT(backend->ops->wake_drain(backend), INT64_MIN);
    CHECK(!is_readable(0));
    for (int i = 0; i < 100; i++)
        CHECK_OK(backend->ops->wake(backend, &contract_error));
    CHECK(is_readable(1000));
    while (is_readable(50))
        CHECK_INT(backend->ops->wake_drain(backend), INT64_MIN);
}

CONTRACT(wake_by_changes)
{
    begin();
    int64_t later = now_us() + 2 * HOUR;
    put_one(&PUT(.key = "a", AT(later)));
    while (is_readable(50))
        backend->ops->wake_drain(backend);
    CHECK_OK(retime_key("a", now_us()));
    CHECK(is_readable(1000));
    while (is_readable(50))
        backend->ops->wake_drain(backend);
    CHECK_INT(change_key(HORA__CHANGE_PAUSE, "a"), 1);
    CHECK_INT(change_key(HORA__CHANGE_RESUME, "a"), 1);
    CHECK(is_readable(1000));
}

CONTRACT(wake_by_revive)
{
    begin();
    hora__lease node = join();
    int64_t id = put_one(&PUT());
    hora__claim claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DEAD)), HORA__SETTLED_OK);
    while (is_readable(50))
        backend->ops->wake_drain(backend);
    CHECK_OK(change_id(HORA__CHANGE_REVIVE, id));
    CHECK(is_readable(1000));
}

CONTRACT(wake_drain_of_nothing)
{
    begin();
    backend->ops->wake_drain(backend);
    backend->ops->wake_drain(backend);
    CHECK(!is_readable(0));
}

CONTRACT(clock_of_the_store)
{
    int64_t first = now_us();
    CHECK(first > INT64_C(1600000000) * SECOND);
    pass(3 * MS);
    int64_t second = now_us();
    CHECK(second >= first + 3 * MS);
    if (contract_clock != NULL)
        CHECK_TIME(second, first + 3 * MS);
}

CONTRACT(clock_is_rounded_down)
{
    NEEDS_CLOCK;
    int64_t now = now_us();
    CHECK_OK(hora_virtual_clock_advance(contract_clock, 999));
    CHECK_TIME(now_us(), now);
    CHECK_OK(hora_virtual_clock_advance(contract_clock, 1));
    CHECK_TIME(now_us(), now + 1);
}
