/* SPDX-License-Identifier: Apache-2.0 */
/* test_series.c - the contract of series rows: reading, revisions, and when they are freed */
#include "contract.h"

static int read_series(int64_t id, hora__series *ret_series)
{
    return backend->ops->read_series(backend, id, ret_series, &contract_error);
}

CONTRACT(series_unknown)
{
    hora__series series;
    CHECK_ERROR(read_series(1, &series), HORA_ENOENT);
    CHECK_ERROR(read_series(0, &series), HORA_ENOENT);
    CHECK_ERROR(read_series(INT64_MAX, &series), HORA_ENOENT);
}

CONTRACT(series_revision_grows_with_every_change)
{
    hora__lease node = join();
    put_one(&RECURRING(.key = "a", .payload = {"0", 1}));
    int64_t revision = 0, id = 0;
    for (int i = 0; i < 3; i++) {
        char payload[] = {(char)('0' + i), '\0'};
        if (i > 0)
            put_replace(&RECURRING(.key = "a", .same_time = i == 1, .payload = {payload, 1}));
        hora__claim claim = claim_one(&node);
        CHECK(claim.revision > revision);
        CHECK(id == 0 || claim.series == id);
        revision = claim.revision;
        id = claim.series;
        hora__series series;
        CHECK_OK(read_series(id, &series));
        CHECK_INT(series.revision, revision);
        CHECK(series.payload.size == 1 && memcmp(series.payload.data, payload, 1) == 0);
        CHECK_INT(settle_one(&node, SETTLE(claim, node, ADVANCE, .after_now = true)), HORA__SETTLED_OK);
    }
    hora__claim claim = claim_one(&node);
    CHECK_INT(claim.revision, revision); /* a firing is no change */
}

CONTRACT(series_of_different_tasks_differ)
{
    hora__lease node = join();
    put_one(&RECURRING(.key = "a", .payload = {"a", 1}));
    put_one(&RECURRING(.key = "b", .payload = {"b", 1}));
    CHECK_INT(claim_all(&node), 2);
    CHECK(exchanged.ret_claims[0].series != exchanged.ret_claims[1].series);
    hora__series series;
    CHECK_OK(read_series(exchanged.ret_claims[1].series, &series));
    CHECK(series.payload.size == 1 && memcmp(series.payload.data, "b", 1) == 0);
}

CONTRACT(series_is_freed_with_the_last_firing)
{
    hora__lease node = join();
    hora__series series;
    put_one(&RECURRING(.key = "done"));
    hora__claim claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
    CHECK_ERROR(read_series(claim.series, &series), HORA_ENOENT);

    put_one(&RECURRING(.key = "cancelled"));
    hora__claim next = claim_one(&node);
    CHECK(next.series > claim.series); /* ids are not used again */
    CHECK_INT(settle_one(&node, SETTLE(next, node, RELEASE)), HORA__SETTLED_OK);
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "cancelled"), HORA_CANCEL_REMOVED);
    CHECK_ERROR(read_series(next.series, &series), HORA_ENOENT);

    put_one(&RECURRING(.key = "stopped"));
    claim = claim_one(&node);
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "stopped"), HORA_CANCEL_RUNNING);
    CHECK_OK(read_series(claim.series, &series)); /* the run needs it */
    CHECK_INT(settle_one(&node, SETTLE(claim, node, ADVANCE, .after_now = true)), HORA__SETTLED_OK);
    CHECK_ERROR(read_series(claim.series, &series), HORA_ENOENT);

    put_one(&RECURRING(.key = "replaced"));
    claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, RELEASE)), HORA__SETTLED_OK);
    put_replace(&PUT(.key = "replaced"));
    CHECK_ERROR(read_series(claim.series, &series), HORA_ENOENT);
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "replaced"), HORA_CANCEL_REMOVED);

    put_one(&RECURRING(.key = "dead"));
    claim = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(claim, node, DEAD)), HORA__SETTLED_OK);
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "dead"), HORA_CANCEL_REMOVED);
    CHECK_ERROR(read_series(claim.series, &series), HORA_ENOENT);
}

CONTRACT(series_stays_with_overlapping_runs)
{
    hora__lease node = join();
    hora__series series;
    put_one(&RECURRING(.key = "a", .payload = {"text", 4}));
    hora__claim first = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(first, node, FORK, .after_now = true, .overlap_max = 3)),
              HORA__SETTLED_OK);
    hora__claim second = claim_one(&node);
    CHECK_INT(settle_one(&node, SETTLE(second, node, FORK, .after_now = true, .overlap_max = 3)),
              HORA__SETTLED_OK);
    CHECK_INT(change_key(HORA__CHANGE_CANCEL, "a"), HORA_CANCEL_RUNNING);
    CHECK_INT(settle_one(&node, SETTLE(first, node, DONE)), HORA__SETTLED_OK);
    CHECK_OK(read_series(first.series, &series));
    CHECK_INT(series.payload.size, 4);
    CHECK_INT(settle_one(&node, SETTLE(second, node, DONE)), HORA__SETTLED_OK);
    CHECK_ERROR(read_series(first.series, &series), HORA_ENOENT);
}
