/* SPDX-License-Identifier: Apache-2.0 */
/* postgres.c - stores on PostgreSQL: opens and closes them; see postgres.h */
#include "postgres.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reason.h"

static void close_postgres(hora__backend *backend)
{
    hora__postgres *postgres = hora__pg_of(backend);
    for (int i = 0; i < postgres->kept_count; i++) {
        hora__pg_disconnect(postgres->kept[i]);
        free(postgres->kept[i]);
    }
    hora__pg_disconnect(&postgres->shared);
    hora__pg_disconnect(&postgres->node);
    for (int i = 0; i <= HORA__LANES; i++)
        PQclear(postgres->claimed[i]);
    PQclear(postgres->series);
    free(postgres->claims);
    free(postgres->cancelled);
    for (int i = 0; i < HORA__PG_STATEMENTS; i++)
        free(postgres->texts[i]);
    for (int i = 0; i < 2; i++)
        if (postgres->ready_pipe[i] >= 0)
            close(postgres->ready_pipe[i]);
    pthread_mutex_destroy(&postgres->lock);
    free(postgres->address);
    free(postgres);
}

int hora__pg_now(hora__backend *backend, int64_t *ret_now, hora_error *reason)
{
    hora__postgres *postgres = hora__pg_of(backend);
    pthread_mutex_lock(&postgres->lock);
    int error = hora__pg_connect(&postgres->shared, true, reason);
    if (error == 0)
        error = hora__pg_call(&postgres->shared, HORA__PG_NOW, NULL, reason);
    if (error == 0)
        *ret_now = hora__pg_integer(postgres->shared.results[0], 0, 0);
    pthread_mutex_unlock(&postgres->lock);
    return error == HORA_EAGAIN ? HORA_EBUSY : error;
}

static const hora__backend_ops postgres_ops = {
    .name = "postgres",
    .shared = true,
    .transactions = true,
    .close = close_postgres,
    .now = hora__pg_now,
    .put = hora__pg_put,
    .put_joined = hora__pg_put_joined,
    .change = hora__pg_change,
    .list = hora__pg_list,
    .history = hora__pg_history,
    .trim = hora__pg_trim,
    .stats = hora__pg_stats,
    .wake = hora__pg_wake,
    .join = hora__pg_join,
    .exchange = hora__pg_exchange,
    .read_series = hora__pg_read_series,
    .reap = hora__pg_reap,
    .leave = hora__pg_leave,
    .wake_fd = hora__pg_wake_fd,
    .wake_drain = hora__pg_wake_drain,
    .begin = hora__pg_begin,
    .settle_in = hora__pg_settle_in,
    .end = hora__pg_end,
};

/* The schema is the only part of statements that comes from outside. */
static int check_schema(const char *schema, hora_error *reason)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    size_t length = strlen(schema);
    if (length < 1 || length > 40 || strspn(schema, letters) != length)
        return hora__store_refuse(reason, HORA_EINVAL, "schema",
                                  "schema is \"%.60s\", which is not 1 to 40 letters, digits and _", schema);
    return 0;
}

/* libpq quotes the part of the address that it does not understand, which may be the password. So only what
 * comes before the quotation is repeated. */
static int check_address(const char *address, hora_error *reason)
{
    char *message = NULL;
    PQconninfoOption *options = PQconninfoParse(address, &message);
    if (options != NULL) {
        PQconninfoFree(options);
        return 0;
    }
    if (message == NULL || strncmp(message, "out of memory", 13) == 0) {
        PQfreemem(message);
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "there is not enough memory");
    }
    char *quotation = strchr(message, '"');
    if (quotation != NULL)
        *quotation = '\0';
    size_t length = strcspn(message, "\n");
    while (length > 0 && strchr(": ", message[length - 1]) != NULL)
        length--;
    int error = hora__store_refuse(reason, HORA_EINVAL, "address", "the address is not valid: %.*s",
                                   (int)length, message);
    PQfreemem(message);
    return error;
}

static bool fill(hora__postgres *postgres, const char *address, const hora_store_options *options)
{
    postgres->base.ops = &postgres_ops;
    postgres->base.options = *options;
    postgres->shared = (hora__pg_link){.postgres = postgres, .use = HORA__PG_OWN};
    postgres->node = (hora__pg_link){.postgres = postgres, .use = HORA__PG_OWN, .listens = true};
    postgres->partitioned_day = -1;
    postgres->ready_pipe[0] = postgres->ready_pipe[1] = -1;
    (void)snprintf(postgres->schema, sizeof postgres->schema, "%s",
                   options->schema == NULL ? "hora" : options->schema);
    postgres->address = strdup(address);
    bool filled = postgres->address != NULL;
    for (int i = 0; filled && i < HORA__PG_STATEMENTS; i++) {
        assert(hora__pg_texts[i] != NULL);
        postgres->texts[i] = hora__pg_expand(hora__pg_texts[i], postgres->schema);
        filled = postgres->texts[i] != NULL;
    }
    return filled;
}

static int make_pipe(hora__postgres *postgres, hora_error *reason)
{
    if (pipe(postgres->ready_pipe) < 0)
        return hora__store_refuse(reason, -errno, NULL, "a pipe could not be made: %s",
                                  hora_strerror(-errno));
    for (int i = 0; i < 2; i++)
        (void)fcntl(postgres->ready_pipe[i], F_SETFD, FD_CLOEXEC);
    ssize_t written = write(postgres->ready_pipe[1], "", 1);
    assert(written == 1); /* the pipe is empty */
    (void)written;
    return 0;
}

int hora__postgres_open(const char *address, const hora_store_options *options, hora__backend **ret_backend,
                        hora_error *reason)
{
    int error = check_schema(options->schema == NULL ? "hora" : options->schema, reason);
    if (error == 0)
        error = check_address(address, reason);
    if (error < 0)
        return error;
    hora__postgres *postgres = calloc(1, sizeof *postgres);
    if (postgres == NULL)
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "there is not enough memory for a store");
    pthread_mutex_init(&postgres->lock, NULL);
    if (!fill(postgres, address, options))
        error = hora__store_refuse(reason, HORA_ENOMEM, NULL, "there is not enough memory for a store");
    if (error == 0)
        error = make_pipe(postgres, reason);
    if (error == 0)
        error = hora__pg_schema_open(postgres, reason);
    if (error < 0) {
        close_postgres(&postgres->base);
        return error;
    }
    postgres->is_open = true;
    *ret_backend = &postgres->base;
    return 0;
}
