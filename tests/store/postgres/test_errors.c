/* SPDX-License-Identifier: Apache-2.0 */
/* test_errors.c - why a store on PostgreSQL cannot be opened or used, and what the message says */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

static int open_with(const char *address, hora_store_options options)
{
    hora__backend *store = NULL;
    int error = hora__postgres_open(address, &options, &store, &test_error);
    if (error == 0)
        store->ops->close(store);
    return error;
}

static bool message_has(const char *part)
{
    bool found = strstr(test_error.message, part) != NULL;
    if (!found)
        fprintf(stderr, "note: the message is: %s\n", test_error.message);
    return found;
}

TEST_REAL(errors_addresses, "")
{
    static const char *const wrong[] = {"postgres://u:secret@[::1", "postgres://u:secret@h:x%zz/",
                                        "postgres://u:sec%ret@h/db", "postgres:///db?secret=1",
                                        "postgres://u:secret@h/db?x"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK_ERROR(open_with(wrong[i], options_for(NULL)), HORA_EINVAL);
        CHECK(strstr(test_error.message, "sec") == NULL);
        CHECK(message_has("the address is not valid"));
    }
}

TEST_REAL(errors_schemas, "")
{
    CHECK_ERROR(open_with(address_with(""), options_for("")), HORA_EINVAL);
    CHECK_ERROR(open_with(address_with(""), options_for("a\"; DROP TABLE x; --")), HORA_EINVAL);
    CHECK_ERROR(open_with(address_with(""), options_for("abcdefghijabcdefghijabcdefghijabcdefghijX")),
                HORA_EINVAL);
    CHECK(strcmp(test_error.field, "schema") == 0);
    CHECK_OK(open_with(address_with(""), options_for("Mixed_Case_1")));
    CHECK_INT(sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'Mixed_Case_1'"), 1);
}

TEST_REAL(errors_no_server, "")
{
    CHECK_ERROR(open_with("postgres:///db?host=/nowhere", options_for(NULL)), HORA_EIO);
    CHECK(message_has("/nowhere"));
}

TEST_REAL(errors_no_database, "")
{
    CHECK_ERROR(open_with(address_with("&dbname=absent"), options_for(NULL)), HORA_ENOENT);
    CHECK(message_has("absent"));
}

TEST_REAL(errors_wrong_password, "")
{
    char file[300];
    snprintf(file, sizeof file, "%s/data/pg_hba.conf", getenv("HORA_TEST_POSTGRES_DIRECTORY"));
    FILE *hba = fopen(file, "w");
    CHECK(hba != NULL);
    if (hba == NULL)
        return;
    fputs("local all clerk scram-sha-256\nlocal all all trust\n", hba);
    fclose(hba);
    sql("CREATE ROLE clerk LOGIN PASSWORD 'right'");
    sql("SELECT pg_reload_conf()");
    const char *wrong = "&user=clerk&password=wr0ng";
    for (int i = 0; i < 100 && (open_with(address_with(wrong), options_for("clerk")) != HORA_EACCES ||
                                strstr(test_error.message, "password") == NULL);
         i++)
        wait_a_moment(20); /* until the server has read its configuration */
    CHECK_ERROR(open_with(address_with(wrong), options_for("clerk")), HORA_EACCES);
    CHECK(strstr(test_error.message, "wr0ng") == NULL);
    CHECK(message_has("password authentication failed"));
    CHECK_ERROR(open_with(address_with("&user=clerk&password=right"), options_for("clerk")), HORA_EACCES);
    CHECK(message_has("no permission"));
    sql("CREATE SCHEMA clerk AUTHORIZATION clerk");
    CHECK_OK(open_with(address_with("&user=clerk&password=right"), options_for("clerk")));
    CHECK_ERROR(open_with(address_with("&user=clerk&password=right"), options_for("Mixed_Case_1")),
                HORA_EACCES);
}

TEST_REAL(errors_read_only, "")
{
    sql("CREATE DATABASE still");
    sql("ALTER DATABASE still SET default_transaction_read_only = on");
    CHECK_ERROR(open_with(address_with("&dbname=still"), options_for(NULL)), HORA_EACCES);
}

TEST_REAL(errors_existing_only, "")
{
    hora_store_options options = options_for("absent");
    options.existing_only = true;
    CHECK_ERROR(open_with(address_with(""), options), HORA_ENOENT);
    CHECK_INT(sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'absent'"), 0);
    CHECK_OK(open_with(address_with(""), options_for("absent")));
    CHECK_OK(open_with(address_with(""), options));
}

TEST_REAL(errors_versions, "")
{
    hora__backend *store = open_store("versions");
    sql("UPDATE @meta SET version = 9, compatible = 1");
    CHECK_OK(open_with(address_with(""), options_for("versions")));
    sql("UPDATE @meta SET compatible = 9");
    CHECK_ERROR(open_with(address_with(""), options_for("versions")), HORA_ENOTSUP);
    CHECK(message_has("newer version"));
    store->ops->close(store);
}

TEST_REAL(errors_not_a_store, "")
{
    sql("CREATE SCHEMA other");
    sql("CREATE TABLE other.hora_meta (x int)");
    CHECK_ERROR(open_with(address_with(""), options_for("other")), HORA_EBADMSG);
}

TEST_REAL(errors_missing_table, "")
{
    hora__backend *store = open_store("missing");
    sql("DROP TABLE @firing");
    CHECK_ERROR(put_task(store, "a", 0, NULL), HORA_EBADMSG);
    CHECK(message_has("a table is missing"));
    store->ops->close(store);
}

/* A statement that waits for a lock for too long has no effect, and the connection goes on. */
TEST_REAL(errors_statement_timeout, "")
{
    hora_store_options options = options_for("slow");
    options.statement_timeout = HORA_MS(200);
    hora__backend *store = open_store("slow"); /* creates the tables */
    store->ops->close(store);
    CHECK_OK(hora__postgres_open(address_with(""), &options, &store, &test_error));
    PGconn *other = admin();
    sql_on(other, "BEGIN; LOCK TABLE @firing");
    CHECK_ERROR(put_task(store, "a", 0, NULL), HORA_ETIMEDOUT);
    CHECK(message_has("took too long"));
    sql_on(other, "ROLLBACK");
    CHECK_OK(put_task(store, "a", 0, NULL));
    CHECK_INT(sql("SELECT count(*) FROM @firing"), 1);
    PQfinish(other);
    store->ops->close(store);
}

/* An operator can see which connections are hora's. */
TEST_REAL(errors_none_the_connections_have_a_name, "")
{
    hora__backend *store = open_store("settings");
    hora__lease lease = join_for(store, 60 * SECOND);
    CHECK(lease.node > 0);
    CHECK_INT(sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hora'"), 2);
    store->ops->close(store);
}

/* Several processes may create the tables at the same time. */
static void *open_at_once(void *arg)
{
    hora__backend *store = NULL;
    hora_error error;
    hora_store_options options = options_for("crowd");
    *(int *)arg = hora__postgres_open(getenv("HORA_TEST_POSTGRES"), &options, &store, &error);
    if (*(int *)arg == 0)
        store->ops->close(store);
    else
        fprintf(stderr, "note: %s\n", error.message);
    return NULL;
}

TEST_REAL(errors_many_create_the_tables, "")
{
    enum { MANY = 8 };
    pthread_t threads[MANY];
    int results[MANY];
    for (int i = 0; i < MANY; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, open_at_once, &results[i]), 0);
    for (int i = 0; i < MANY; i++) {
        pthread_join(threads[i], NULL);
        CHECK_OK(results[i]);
    }
    CHECK_INT(sql("SELECT count(*) FROM \"crowd\".hora_meta"), 1);
}
