/* SPDX-License-Identifier: Apache-2.0 */
/* test_pooled.c - behind a pooler in transaction mode: no session state is needed, and none is left behind */
#include "fixture.h"
#include "postgres.h"

TEST_REAL(pooled_is_recognized, "")
{
    hora__backend *store = open_store("pooled");
    hora__lease lease = join_for(store, 60 * SECOND);
    hora__postgres *postgres = (hora__postgres *)store;
    CHECK(lease.node > 0);
    CHECK(postgres->shared.is_pooled && postgres->node.is_pooled);
    CHECK_INT(store->ops->wake_fd(store), -1);
    CHECK_INT(postgres->shared.prepared, 0);
    store->ops->close(store);
}

/* The pooler gives the server processes to other programs, too: they must find their own settings. */
TEST_REAL(pooled_leaves_no_settings_behind, "")
{
    enum { MANY = 5 };
    hora__backend *store = open_store("pooled_settings");
    hora__lease lease = join_for(store, 60 * SECOND);
    hora__exchange exchange;
    for (int i = 0; i < 20; i++) {
        CHECK_OK(put_task(store, NULL, 0, NULL));
        CHECK_INT(claim(store, &lease, 10, &exchange), 1);
    }
    PGconn *others[MANY]; /* as many as the pool has */
    for (int i = 0; i < MANY; i++) {
        others[i] = admin();
        sql_on(others[i], "BEGIN");
        CHECK_INT(sql_on(others[i], "SELECT count(*) FROM pg_settings WHERE (name LIKE 'enable_%%'"
                                    " OR name IN ('plan_cache_mode', 'jit', 'statement_timeout'))"
                                    " AND source = 'session'"),
                  0);
    }
    for (int i = 0; i < MANY; i++)
        PQfinish(others[i]);
    store->ops->close(store);
}
