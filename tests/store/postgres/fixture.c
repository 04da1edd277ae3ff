/* SPDX-License-Identifier: Apache-2.0 */
/* fixture.c - short forms for the tests of stores on PostgreSQL; see fixture.h */
#include "fixture.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

hora_error test_error;
static char current_schema[48];

const char *address_with(const char *more)
{
    static char address[600];
    const char *base = getenv("HORA_TEST_POSTGRES");
    if (base == NULL) {
        fprintf(stderr, "HORA_TEST_POSTGRES is not set: run it with tests/store/postgres/server run\n");
        exit(2);
    }
    snprintf(address, sizeof address, "%s%s", base, more);
    return address;
}

hora_store_options options_for(const char *schema)
{
    return (hora_store_options){.struct_size = sizeof(hora_store_options),
                                .schema = schema,
                                .statement_timeout = HORA_SECONDS(60),
                                .max_payload = 1 << 20};
}

void use_schema(const char *schema)
{
    snprintf(current_schema, sizeof current_schema, "%s", schema);
}

hora__backend *open_store(const char *schema)
{
    hora__backend *store;
    hora_store_options options = options_for(schema);
    use_schema(schema);
    if (hora__postgres_open(address_with(""), &options, &store, &test_error) < 0) {
        fprintf(stderr, "the store cannot be opened: %s\n", test_error.message);
        exit(1);
    }
    return store;
}

void wait_a_moment(int milliseconds)
{
    poll(NULL, 0, milliseconds);
}

static void ignore_notice(void *arg, const char *message)
{
    (void)arg;
    (void)message;
}

PGconn *admin(void)
{
    PGconn *connection = PQconnectdb(address_with(""));
    PQsetNoticeProcessor(connection, ignore_notice, NULL);
    for (int i = 0; i < 200 && PQstatus(connection) != CONNECTION_OK; i++) {
        wait_a_moment(50);
        PQreset(connection);
    }
    return connection;
}

static void expand(char *to, size_t size, const char *text)
{
    size_t used = 0;
    for (; *text != '\0' && used + 60 < size; text++) {
        if (*text == '@')
            used += (size_t)snprintf(to + used, size - used, "\"%s\".hora_", current_schema);
        else
            to[used++] = *text;
    }
    to[used] = '\0';
}

static PGresult *query(PGconn *connection, const char *format, va_list arguments)
{
    char text[2000], expanded[3000];
    vsnprintf(text, sizeof text, format, arguments);
    expand(expanded, sizeof expanded, text);
    PGresult *result = PQexec(connection, expanded);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        fprintf(stderr, "note: %s: %s", expanded, PQerrorMessage(connection));
    return result;
}

static int64_t first_number(const PGresult *result)
{
    bool has_value = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) > 0;
    return has_value ? strtoll(PQgetvalue(result, 0, 0), NULL, 10) : -1;
}

int64_t sql_on(PGconn *connection, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PGresult *result = query(connection, format, arguments);
    va_end(arguments);
    int64_t value = first_number(result);
    PQclear(result);
    return value;
}

int64_t sql(const char *format, ...)
{
    PGconn *connection = admin();
    va_list arguments;
    va_start(arguments, format);
    PGresult *result = query(connection, format, arguments);
    va_end(arguments);
    int64_t value = first_number(result);
    PQclear(result);
    PQfinish(connection);
    return value;
}

void sql_text(char *value, size_t size, const char *format, ...)
{
    PGconn *connection = admin();
    va_list arguments;
    va_start(arguments, format);
    PGresult *result = query(connection, format, arguments);
    va_end(arguments);
    value[0] = '\0';
    size_t used = 0;
    for (int row = 0; row < PQntuples(result) && used + 2 < size; row++)
        used += (size_t)snprintf(value + used, size - used, "%s\n", PQgetvalue(result, row, 0));
    PQclear(result);
    PQfinish(connection);
}

hora__lease join_for(hora__backend *store, int64_t ttl_us)
{
    hora__lease lease = {0};
    CHECK_OK(store->ops->join(store, "a node", ttl_us, &lease, &test_error));
    return lease;
}

int put_task(hora__backend *store, const char *key, int64_t after_us, int64_t *ret_id)
{
    hora__put put = {
        .handler = "h", .key = key, .lane = 2, .after_now = true, .planned = after_us, .due = after_us};
    hora__put_done done = {0};
    size_t wrong;
    int error = store->ops->put(store, &put, 1, &done, &wrong, &test_error);
    if (error == 0 && ret_id != NULL)
        *ret_id = done.id;
    return error;
}

int claim(hora__backend *store, const hora__lease *lease, int limit, hora__exchange *ret_exchange)
{
    static const char *const handlers[] = {"h"};
    *ret_exchange = (hora__exchange){.handlers = handlers,
                                     .handler_count = 1,
                                     .claim_limit = {limit, limit, limit, limit},
                                     .low = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN}};
    int error = store->ops->exchange(store, lease, ret_exchange, &test_error);
    return error < 0 ? error : (int)ret_exchange->ret_claim_count;
}

hora__settle settle_of(const hora__lease *lease, const hora__claim *claim, hora__settle_kind kind)
{
    return (hora__settle){.id = claim->id,
                          .fence = claim->fence,
                          .owner = lease->node,
                          .kind = kind,
                          .outcome = HORA_RUN_SUCCEEDED,
                          .attempt = claim->attempt,
                          .ran_planned = claim->planned};
}

int settle(hora__backend *store, const hora__lease *lease, const hora__claim *claim, hora__settle_kind kind)
{
    hora__settle settlement = settle_of(lease, claim, kind);
    hora__settled settled = 0;
    hora__exchange exchange = {.settles = &settlement, .settle_count = 1, .ret_settled = &settled};
    int error = store->ops->exchange(store, lease, &exchange, &test_error);
    return error < 0 ? error : (int)settled;
}

void server_control(const char *arguments)
{
    char command[700];
    const char *directory = getenv("HORA_TEST_POSTGRES_DIRECTORY"), *bin = getenv("HORA_TEST_POSTGRES_BIN");
    snprintf(command, sizeof command, "cd %s && %s %s/pg_ctl -D %s/data -w -s -l %s/log %s >/dev/null 2>&1",
             directory, geteuid() == 0 ? "setpriv --reuid nobody --regid nogroup --clear-groups --" : "", bin,
             directory, directory, arguments);
    CHECK_INT(system(command), 0);
}
