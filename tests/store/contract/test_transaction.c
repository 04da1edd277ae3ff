/* SPDX-License-Identifier: Apache-2.0 */
/* test_transaction.c - the contract of begin, settle_in and end, for effects that commit with the outcome */
#include "contract.h"

static void *begin(void)
{
    void *connection = NULL;
    CHECK_OK(backend->ops->begin(backend, &connection, &contract_error));
    if (connection == NULL)
        contract_abort();
    return connection;
}

static int settle_in(void *connection, const hora__lease *lease, hora__settle settle)
{
    return backend->ops->settle_in(backend, connection, lease, &settle, &contract_error);
}

static int end(void *connection, bool commit)
{
    return backend->ops->end(backend, connection, commit, &contract_error);
}

CONTRACT(transaction_commits_the_outcome)
{
    NEEDS_TRANSACTIONS;
    hora__lease node = join();
    put_one(&PUT(.key = "a"));
    hora__claim claim = claim_one(&node);
    void *connection = begin();
    CHECK_INT(settle_in(connection, &node,
                        SETTLE(claim, node, DONE, .outcome = HORA_RUN_SUCCEEDED, .history = true,
                               .note = {"note", 4})),
              1);
    CHECK_OK(end(connection, true));
    CHECK_INT(count_tasks(), 0);
    CHECK_INT(read_history((hora_history_filter){.key = "a"}), 1);
    CHECK_TEXT(records[0].note, "note");
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_STALE);
}

CONTRACT(transaction_rolls_back)
{
    NEEDS_TRANSACTIONS;
    hora__lease node = join();
    put_one(&PUT(.key = "a"));
    hora__claim claim = claim_one(&node);
    char *before = snapshot();
    void *connection = begin();
    CHECK_INT(settle_in(connection, &node,
                        SETTLE(claim, node, DONE, .outcome = HORA_RUN_SUCCEEDED, .history = true)),
              1);
    CHECK_OK(end(connection, false));
    CHECK_UNCHANGED(before);
    connection = begin(); /* without a settlement */
    CHECK_OK(end(connection, false));
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
}

CONTRACT(transaction_of_a_stale_outcome)
{
    NEEDS_TRANSACTIONS;
    hora__lease node = join(), other = join();
    put_one(&PUT(.key = "a"));
    hora__claim claim = claim_one(&node);
    char *before = snapshot();
    hora__settle stale[3] = {SETTLE(claim, node, DONE), SETTLE(claim, other, DONE),
                             SETTLE(claim, node, DONE)};
    stale[0].fence++;
    stale[2].id += 1000;
    for (int i = 0; i < 3; i++) {
        void *connection = begin();
        CHECK_INT(settle_in(connection, &node, stale[i]), 0);
        CHECK_OK(end(connection, false));
    }
    CHECK_UNCHANGED(before);
}

CONTRACT(transaction_advances_a_series)
{
    NEEDS_TRANSACTIONS;
    hora__lease node = join();
    int64_t base = now_us();
    int64_t id = put_one(&RECURRING(.key = "a"));
    hora__claim claim = claim_one(&node);
    void *connection = begin();
    CHECK_INT(settle_in(connection, &node,
                        SETTLE(claim, node, ADVANCE, .planned = base + HOUR, .due = base + HOUR,
                               .outcome = HORA_RUN_SUCCEEDED)),
              1);
    CHECK_OK(end(connection, true));
    CHECK_INT(must_see(id).info.state, HORA_DURABLE_WAITING);
    CHECK_INT(must_see(id).info.firings, 1);
    CHECK_TIME(must_see(id).due, base + HOUR);
}

CONTRACT(transaction_meets_changes)
{
    NEEDS_TRANSACTIONS;
    hora__lease node = join();
    int64_t base = now_us();
    int64_t retimed = put_one(&PUT(.key = "retimed"));
    put_one(&RECURRING(.key = "cancelled"));
    int64_t paused = put_one(&RECURRING(.key = "paused"));
    CHECK_INT(claim_all(&node), 3);
    hora__claim claims[3];
    memcpy(claims, exchanged.ret_claims, sizeof claims);
    CHECK_OK(retime_key("retimed", base + 4 * HOUR));
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "cancelled"), HORA_CANCEL_RUNNING);
    CHECK_INT(change_key(HORA__CHANGE_PAUSE, "paused"), 1);
    for (int i = 0; i < 3; i++) {
        hora__settle settle = SETTLE(claims[i], node, ADVANCE, .planned = base + HOUR, .due = base + HOUR);
        if (i == 0)
            settle.kind = HORA__SETTLE_DONE;
        void *connection = begin();
        CHECK_INT(settle_in(connection, &node, settle), 1);
        CHECK_OK(end(connection, true));
    }
    CHECK_TIME(must_see(retimed).due, base + 4 * HOUR);
    CHECK(!see_key("cancelled", &seen));
    CHECK_INT(must_see(paused).info.state, HORA_DURABLE_PAUSED);
}

/* The fence decides, also for a node whose lease has ended but whose firing no node has released. */
CONTRACT(transaction_after_a_lost_lease)
{
    NEEDS_TRANSACTIONS;
    hora__lease node = join_shortly(), other = join();
    put_one(&PUT(.key = "a"));
    hora__claim claim = claim_one(&node);
    pass(SHORT_LEASE);
    int64_t released = 0;
    CHECK_OK(backend->ops->reap(backend, &other, 100, &released, &contract_error));
    CHECK_INT(released, 1);
    hora__claim again = claim_one(&other);
    void *connection = begin();
    CHECK_INT(settle_in(connection, &node, SETTLE(claim, node, DONE)), 0);
    CHECK_OK(end(connection, false));
    CHECK_INT(settle_one(&other, SETTLE(again, other, DONE)), HORA__SETTLED_OK);
}

CONTRACT(transaction_many_times)
{
    NEEDS_TRANSACTIONS;
    hora__lease node = join();
    for (int i = 0; i < 30; i++) {
        put_one(&PUT());
        hora__claim claim = claim_one(&node);
        void *connection = begin();
        CHECK_INT(settle_in(connection, &node, SETTLE(claim, node, DONE)), 1);
        CHECK_OK(end(connection, i % 3 != 0));
        if (i % 3 == 0)
            CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
    }
    CHECK_INT(count_tasks(), 0);
}

CONTRACT(transaction_survives_closing)
{
    NEEDS_TRANSACTIONS;
    NEEDS_SHARED;
    hora__lease node = join();
    put_one(&PUT(.key = "a"));
    hora__claim claim = claim_one(&node);
    void *connection = begin();
    CHECK_INT(settle_in(connection, &node, SETTLE(claim, node, DONE)), 1);
    CHECK_OK(end(connection, true));
    reopen();
    CHECK_INT(count_tasks(), 0);
}
