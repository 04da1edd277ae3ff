/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan.c - how SQLite carries out the statements of a store: always by an index
 *
 * The plans do not depend on the number of rows, because the tables are never analyzed; a program that does
 * analyze them is the second case. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "sqlite_sql.h"

static const struct statement {
    const char *name, *text;
} statements[] = {
#define STATEMENT(name, text) {#name, text},
    HORA__SQL_TABLE(STATEMENT)
#undef STATEMENT
};

/* Statements that look at all rows, for people. */
static const char *const for_people[] = {"LIST",         "LIST_DEAD",  "COUNT_WAITING", "COUNT_CLAIMED",
                                         "COUNT_PAUSED", "COUNT_DEAD", "COUNT_NODES",   "RECORDS"};
/* Tables of a single row, or of one for each process. */
static const char *const small[] = {"hora_meta", "hora_node"};

static bool contains(const char *const *texts, size_t count, const char *text, bool as_part)
{
    for (size_t i = 0; i < count; i++)
        if (as_part ? strstr(text, texts[i]) != NULL : strcmp(text, texts[i]) == 0)
            return true;
    return false;
}
#define CONTAINS(texts, text, as_part) contains(texts, sizeof(texts) / sizeof *(texts), text, as_part)

static void on_handler(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count, (void)values;
    sqlite3_result_int(context, 0);
}

static void check_plan(sqlite3 *db, const struct statement *statement)
{
    char sql[4096];
    sqlite3_stmt *plan;
    snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", statement->text);
    if (sqlite3_prepare_v2(db, sql, -1, &plan, NULL) != SQLITE_OK) {
        test_fail(__FILE__, __LINE__, "%s: %s", statement->name, sqlite3_errmsg(db));
        return;
    }
    while (sqlite3_step(plan) == SQLITE_ROW) {
        const char *step = (const char *)sqlite3_column_text(plan, 3);
        bool scans =
            strncmp(step, "SCAN", 4) == 0 && !CONTAINS(small, step, true) && strstr(step, "CONSTANT") == NULL;
        /* The firings of all dead nodes are sorted, once in each call. */
        bool sorts = strstr(step, "TEMP B-TREE") != NULL && strcmp(statement->name, "LOST") != 0;
        if (scans || sorts)
            test_fail(__FILE__, __LINE__, "%s: %s", statement->name, step);
    }
    sqlite3_finalize(plan);
}

static void check_plans(sqlite3 *db)
{
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        if (!CONTAINS(for_people, statements[i].name, false))
            check_plan(db, &statements[i]);
}

TEST_REAL(sqlite_statements_use_indices, "")
{
    const char *path = fixture_path("plans");
    hora__backend *backend;
    hora_error reason;
    fixture_remove(path);
    CHECK_OK(fixture_open(path, NULL, &backend, &reason));
    sqlite3 *db = fixture_connect(path);
    sqlite3_create_function(db, "hora_handler", 1, SQLITE_UTF8, NULL, on_handler, NULL, NULL);
    check_plans(db);

    enum { MANY = 500 };
    hora__put *puts = calloc(MANY, sizeof *puts);
    hora__put_done *done = calloc(MANY, sizeof *done);
    size_t wrong;
    for (int i = 0; i < MANY; i++)
        puts[i] = (hora__put){.handler = "h", .after_now = true, .due = i * 1000, .lane = i % 4};
    for (int i = 0; i < 10; i++)
        CHECK_OK(backend->ops->put(backend, puts, MANY, done, &wrong, &reason));
    CHECK_INT(fixture_execute(db, "ANALYZE"), SQLITE_OK);
    check_plans(db);
    free(puts);
    free(done);
    sqlite3_close(db);
    fixture_close(backend);
}
