/* SPDX-License-Identifier: Apache-2.0 */
/* test_plans.c - how PostgreSQL executes the statements: with an index, however large the tables are
 *
 * The statements are prepared with the settings of a link, and explained without looking at parameters, on
 * empty tables and on large ones, with statistics that fit and with those of empty tables. No statement may
 * read a whole table of firings, and those that get ids may find firings only by them. The work of a claim is
 * measured in pages, which do not depend on how busy the machine is.
 *
 * HORA_SOAK=1 uses 10,000,000 tasks instead of 300,000. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hora/clock.h>

#include "fixture.h"
#include "postgres.h"

static int64_t large(void)
{
    return getenv("HORA_SOAK") != NULL ? 10000000 : 300000;
}

static hora__postgres *postgres_of(hora__backend *store)
{
    return (hora__postgres *)store;
}

static PGconn *planner(void)
{
    PGconn *connection = admin();
    sql_on(connection, "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;"
                       "SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off");
    return connection;
}

/* The hot statements, with the number of their parameters, and whether the table may be read as a whole. */
static const struct {
    hora__pg_statement statement;
    int parameters;
} hot[] = {
    {HORA__PG_PUT_INSERT, 12}, {HORA__PG_PUT_LOCK, 1},     {HORA__PG_PUT_REPLACE, 14},
    {HORA__PG_SERIES_FREE, 1}, {HORA__PG_SERIES_SWEEP, 1}, {HORA__PG_FIND_KEY, 1},
    {HORA__PG_FIND_ID, 1},     {HORA__PG_FIND_SERIES, 1},  {HORA__PG_CANCEL, 1},
    {HORA__PG_RETIME, 2},      {HORA__PG_TAKE, 3},         {HORA__PG_PAUSE, 1},
    {HORA__PG_RESUME, 1},      {HORA__PG_LOCK_FIRINGS, 1}, {HORA__PG_SETTLE, 16},
    {HORA__PG_SETTLE_DONE, 3}, {HORA__PG_SETTLE_FULL, 16}, {HORA__PG_FORK, 7},
    {HORA__PG_CLAIM, 6},       {HORA__PG_CLAIMED, 6},      {HORA__PG_STATE, 6},
    {HORA__PG_RELEASE, 3},     {HORA__PG_DELETE_NODES, 1}, {HORA__PG_LIST_KEY, 6},
    {HORA__PG_LIST, 5},        {HORA__PG_RENEW, 3},        {HORA__PG_CHECK_LEASE, 2},
};

/* Explains a prepared statement with NULL for each parameter; *ret_plan is the whole plan. */
static void explain(PGconn *connection, const char *name, int parameters, char *plan, size_t size)
{
    char text[300];
    int used = snprintf(text, sizeof text, "EXPLAIN (COSTS OFF) EXECUTE \"%s\"", name);
    for (int i = 0; i < parameters; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%sNULL", i == 0 ? "(" : ", ");
    if (parameters > 0)
        snprintf(text + used, sizeof text - (size_t)used, ")");
    PGresult *result = PQexec(connection, text);
    CHECK_INT(PQresultStatus(result), PGRES_TUPLES_OK);
    size_t length = 0;
    plan[0] = '\0';
    for (int row = 0; row < PQntuples(result) && length < size; row++)
        length += (size_t)snprintf(plan + length, size - length, "%s\n", PQgetvalue(result, row, 0));
    PQclear(result);
}

/* Whether a statement gets the ids of its firings. The index of owners finds all firings of a node. */
static bool has_ids(hora__pg_statement statement)
{
    return statement == HORA__PG_SETTLE_DONE || statement == HORA__PG_SETTLE ||
           statement == HORA__PG_SETTLE_FULL || statement == HORA__PG_FORK ||
           statement == HORA__PG_LOCK_FIRINGS;
}

static void check_plans(hora__backend *store, const char *when)
{
    PGconn *connection = planner();
    static char plan[20000];
    for (size_t i = 0; i < sizeof hot / sizeof hot[0]; i++) {
        const char *name = hora__pg_names[hot[i].statement];
        PGresult *result = PQprepare(connection, name, postgres_of(store)->texts[hot[i].statement], 0, NULL);
        if (!CHECK_INT(PQresultStatus(result), PGRES_COMMAND_OK))
            fprintf(stderr, "note: %s: %s", name, PQerrorMessage(connection));
        PQclear(result);
        explain(connection, name, hot[i].parameters, plan, sizeof plan);
        bool bad = strstr(plan, "Seq Scan on hora_firing") != NULL || strstr(plan, "Hash Join") != NULL ||
                   strstr(plan, "Merge Join") != NULL || strstr(plan, "Seq Scan on hora_series") != NULL ||
                   (has_ids(hot[i].statement) && strstr(plan, "hora_firing_owner") != NULL);
        CHECK(!bad);
        if (bad)
            fprintf(stderr, "note: %s with %s:\n%s", name, when, plan);
    }
    PQfinish(connection);
}

/* Tasks that are due in more than an hour, a tenth of them with a key, and a few that are due now. */
static void fill(int64_t far, int64_t near)
{
    sql("INSERT INTO @firing (id, handler, lane, planned, due, key) SELECT nextval('@id'), 'h', 2, t.now,"
        " t.now + 3600000000 + g, CASE WHEN g %% 10 = 0 THEN 'key ' || t.now || ' ' || g END"
        " FROM generate_series(1, %lld) g, (SELECT @now() AS now OFFSET 0) t",
        (long long)far);
    sql("INSERT INTO @firing (id, handler, lane, planned, due) SELECT nextval('@id'), 'h', 2, @now(),"
        " @now() - 1000 + g FROM generate_series(1, %lld) g",
        (long long)near);
}

/* ---- the work of a claim ---- */

/* The pages that a claim of 100 tasks and their settlement touch. */
static int64_t pages_of_a_claim(hora__backend *store, const hora__lease *lease, int64_t low)
{
    PGconn *connection = planner();
    char text[400];
    snprintf(text, sizeof text,
             "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE \"hora_CLAIM\"(%lld, 2, %lld, 0, '{h}', 100)",
             (long long)lease->node, (long long)low);
    PQclear(PQprepare(connection, "hora_CLAIM", postgres_of(store)->texts[HORA__PG_CLAIM], 0, NULL));
    PGresult *result = PQexec(connection, text);
    CHECK_INT(PQresultStatus(result), PGRES_TUPLES_OK);
    const char *plan = PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
    const char *hit = strstr(plan, "\"Shared Hit Blocks\": "),
               *read = strstr(plan, "\"Shared Read Blocks\": ");
    int64_t pages =
        hit == NULL || read == NULL ? -1 : strtoll(hit + 21, NULL, 10) + strtoll(read + 22, NULL, 10);
    PQclear(result);
    PQfinish(connection);
    return pages;
}

/* Measures a claim three times, and takes the least: the first ones also set hint bits. */
static int64_t least_pages(hora__backend *store, const hora__lease *lease, int64_t low)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < 3; i++) {
        int64_t pages = pages_of_a_claim(store, lease, low);
        CHECK(pages > 0);
        least = pages < least ? pages : least;
    }
    return least;
}

TEST_REAL(plans_with_few_tasks, "")
{
    hora__backend *store = open_store("plans");
    check_plans(store, "empty tables");
    sql("ANALYZE @firing");
    check_plans(store, "statistics of an empty table");
    fill(10000, 1000);
    check_plans(store, "10,000 tasks and old statistics");
    sql("ANALYZE @firing");
    check_plans(store, "10,000 tasks");
    store->ops->close(store);
}

/* 100 claims touch about as many pages with many tasks in the store as with few: tasks that are due later are
 * not looked at, although the clock is volatile. */
TEST_REAL(plans_with_many_tasks, "")
{
    hora__backend *store = open_store("claims");
    hora__lease lease = join_for(store, 3600 * (int64_t)SECOND);
    fill(10000, 1000);
    sql("ANALYZE @firing");
    int64_t few = least_pages(store, &lease, INT64_MIN);
    fill(large() - 10000, 1000);
    check_plans(store, "many tasks and old statistics");
    sql("VACUUM ANALYZE @firing");
    check_plans(store, "many tasks");
    int64_t many = least_pages(store, &lease, INT64_MIN);
    printf("pages of 100 claims: %lld with 10,000 tasks, %lld with %lld\n", (long long)few, (long long)many,
           (long long)large());
    CHECK(many * 2 <= few * 3);
    store->ops->close(store);
}

/* A transaction that stays open keeps PostgreSQL from removing what has been deleted. A claim with a lower
 * bound does not read it again. */
TEST_REAL(plans_claims_with_an_old_transaction, "")
{
    enum { GONE = 120000 };
    hora__backend *store = open_store("pinned");
    hora__lease lease = join_for(store, 3600 * (int64_t)SECOND);
    PGconn *old = admin();
    fill(1000, GONE);
    sql("ANALYZE @firing");
    sql_on(old, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    sql_on(old, "SELECT count(*) FROM @firing");
    sql("DELETE FROM @firing WHERE due <= @now()");
    int64_t low = sql("SELECT @now()");
    fill(0, 1000);
    sql("UPDATE @firing SET due = %lld + id %% 1000 WHERE due <= @now()", (long long)low);
    int64_t all = pages_of_a_claim(store, &lease, INT64_MIN);
    int64_t bounded = pages_of_a_claim(store, &lease, low);
    printf("pages of 100 claims behind %d deleted tasks: %lld, with a lower bound %lld\n", GONE,
           (long long)all, (long long)bounded);
    CHECK(bounded > 0 && bounded * 2 < all);
    sql_on(old, "ROLLBACK");
    PQfinish(old);
    store->ops->close(store);
}

/* A claim in microseconds; only with HORA_SOAK, because it needs a quiet machine. */
TEST_REAL(plans_time_of_a_claim, "")
{
    if (getenv("HORA_SOAK") == NULL)
        return;
    hora__backend *store = open_store("claims");
    hora__lease lease = join_for(store, 3600 * (int64_t)SECOND);
    hora__exchange exchange;
    fill(0, 20000);
    sql("ANALYZE @firing");
    hora_ns best = INT64_MAX;
    for (int i = 0; i < 100; i++) {
        hora_ns start = hora_clock_now(NULL);
        CHECK_INT(claim(store, &lease, 100, &exchange), 100);
        hora_ns took = hora_clock_now(NULL) - start;
        best = took < best ? took : best;
    }
    printf("100 claims with %lld tasks: %lld us\n", (long long)large(), (long long)(best / 1000));
    store->ops->close(store);
}
