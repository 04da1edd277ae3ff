/* SPDX-License-Identifier: Apache-2.0 */
/* postgres_link.c - one connection to PostgreSQL
 *
 * A link of hora's own is in pipeline mode and does not block inside libpq: hora waits itself, with a
 * deadline, because a server or a network that has stopped does not answer. A connection whose deadline has
 * passed is closed: whether its statements have had an effect is then not known. The deadline is longer than
 * the statement timeout, so the server normally reports first, and then it is known.
 *
 * On a connection of the caller, and on those of handlers, statements are executed one by one with blocking
 * calls, as the owner of the connection executes his own. */
#include <assert.h>
#include <ctype.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hora/clock.h>

#include "postgres.h"
#include "reason.h"
#include "step.h"

/* ---- errors ---- */

/* Copies the first line of a message of libpq, without "ERROR: " and a full stop. */
static void first_line(const char *message, char *line, size_t size)
{
    static const char *const prefixes[] = {"ERROR:  ", "FATAL:  ", "PANIC:  "};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(message, prefixes[i], strlen(prefixes[i])) == 0)
            message += strlen(prefixes[i]);
    size_t length = strcspn(message, "\n");
    if (length > 0 && message[length - 1] == '.')
        length--;
    (void)snprintf(line, size, "%.*s", (int)length, message);
}

typedef struct sqlstate_code {
    const char *state; /* or its beginning */
    int code;
    const char *what;
} sqlstate_code;

static const sqlstate_code sqlstate_codes[] = {
    {"40001", HORA_EAGAIN, "transactions conflict"},
    {"40P01", HORA_EAGAIN, "transactions deadlock"},
    {"26000", HORA_EAGAIN, "a prepared statement is gone"},
    {"42P05", HORA_EAGAIN, "a prepared statement exists"},
    {"0A000", HORA_EAGAIN, "the tables were changed"},
    {"57014", HORA_ETIMEDOUT, "the statement took too long"},
    {"55P03", HORA_EBUSY, "a lock was not available"},
    {"53100", HORA_ENOSPC, "the disk of the server is full"},
    {"53200", HORA_ENOMEM, "the server has no memory"},
    {"53300", HORA_EBUSY, "the server has too many connections"},
    {"25006", HORA_EACCES, "the server is read-only"},
    {"42501", HORA_EACCES, "no permission"},
    {"28", HORA_EACCES, "the server refuses the login"},
    {"3D000", HORA_ENOENT, "there is no such database"},
    {"42P01", HORA_EBADMSG, "a table is missing"},
    {"3F000", HORA_EBADMSG, "the schema is missing"},
    {"42703", HORA_EBADMSG, "a column is missing"},
    {"42883", HORA_EBADMSG, "a function is missing"},
    {"XX001", HORA_EBADMSG, "the database is damaged"},
    {"XX002", HORA_EBADMSG, "an index is damaged"},
    {"22021", HORA_EINVAL, "a text is not valid in the encoding of the database"},
    {"22P05", HORA_EINVAL, "the encoding of the database lacks a character"},
    {"23505", HORA_EEXIST, "it exists already"},
    {"57P", HORA_EIO, "the server has ended the connection"},
    {"08", HORA_EIO, "the connection is lost"},
    {"25P03", HORA_EIO, "the server has ended the connection"},
};

static const sqlstate_code *find_sqlstate(const char *state)
{
    for (size_t i = 0; i < sizeof sqlstate_codes / sizeof sqlstate_codes[0]; i++)
        if (strncmp(state, sqlstate_codes[i].state, strlen(sqlstate_codes[i].state)) == 0)
            return &sqlstate_codes[i];
    return NULL;
}

static int refuse_result(hora__pg_link *link, const PGresult *result, hora_error *reason)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    char line[160];
    first_line(message != NULL ? message : PQresultErrorMessage(result), line, sizeof line);
    (void)snprintf(link->state, sizeof link->state, "%s", state != NULL ? state : "");
    if (state == NULL) /* libpq itself: the connection is lost */
        return hora__store_refuse(reason, HORA_EIO, NULL, "PostgreSQL: %s", line);
    const sqlstate_code *known = find_sqlstate(state);
    if (known == NULL)
        return hora__store_refuse(reason, HORA_EIO, NULL, "PostgreSQL: %s (%s)", line, state);
    return hora__store_refuse(reason, known->code, NULL, "PostgreSQL: %s: %s (%s)", known->what, line, state);
}

/* A failed connection has no SQLSTATE, only a text, in which libpq never repeats the password. A server that
 * cannot be written to is a mistake when a store is opened. Later it is a standby that is not promoted yet:
 * the connection is lost until then. */
static int refuse_connection(const hora__postgres *postgres, const PGconn *connection, hora_error *reason)
{
    const int standby = postgres->is_open ? HORA_EIO : HORA_EACCES;
    const struct {
        const char *part;
        int code;
    } causes[] = {
        {"password authentication failed", HORA_EACCES},
        {"authentication failed", HORA_EACCES},
        {"no password supplied", HORA_EACCES},
        {"no pg_hba.conf entry", HORA_EACCES},
        {"permission denied", HORA_EACCES},
        {"is not permitted to log in", HORA_EACCES},
        {"session is read-only", standby},
        {"session is not read-write", standby},
        {"server is in hot standby mode", standby},
        {"database \"", HORA_ENOENT},
        {"role \"", HORA_EACCES},
        {"too many clients", HORA_EBUSY},
        {"remaining connection slots", HORA_EBUSY},
        {"too many connections", HORA_EBUSY},
        {"out of memory", HORA_ENOMEM},
        {"Too many open files", HORA_EMFILE},
    };
    const char *message = connection == NULL ? "out of memory" : PQerrorMessage(connection);
    size_t i = 0;
    while (i < sizeof causes / sizeof causes[0] && strstr(message, causes[i].part) == NULL)
        i++;
    int code = i < sizeof causes / sizeof causes[0] ? causes[i].code : HORA_EIO;
    char line[200];
    first_line(message, line, sizeof line);
    return hora__store_refuse(reason, code, NULL, "PostgreSQL: %s", line);
}

static int refuse_lost(hora__pg_link *link, const char *what, hora_error *reason)
{
    char line[160] = "";
    if (link->connection != NULL)
        first_line(PQerrorMessage(link->connection), line, sizeof line);
    hora__pg_disconnect(link);
    (void)snprintf(link->state, sizeof link->state, "08006");
    return hora__store_refuse(reason, HORA_EIO, NULL, "PostgreSQL: %s%s%s", what, line[0] ? ": " : "", line);
}

/* ---- connecting ---- */

static void ignore_notice(void *arg, const PGresult *result)
{
    (void)arg;
    (void)result;
}

static int milliseconds(hora_ns duration)
{
    return (int)(duration / 1000000);
}

/* The address may name several hosts. hora tries them itself, because libpq's own loop does not end in time
 * without also printing what the server says while the connection is made. */
struct hosts {
    int count;
    char *host, *hostaddr, *port; /* lists, separated by commas; NULL: not given */
};

static int count_items(const char *list)
{
    int count = list != NULL;
    for (; list != NULL && *list != '\0'; list++)
        count += *list == ',';
    return count;
}

static bool read_hosts(const char *address, struct hosts *ret_hosts)
{
    PQconninfoOption *options = PQconninfoParse(address, NULL);
    *ret_hosts = (struct hosts){.count = 1};
    bool complete = options != NULL;
    for (PQconninfoOption *option = options; option != NULL && option->keyword != NULL; option++) {
        char **place = strcmp(option->keyword, "host") == 0       ? &ret_hosts->host
                       : strcmp(option->keyword, "hostaddr") == 0 ? &ret_hosts->hostaddr
                       : strcmp(option->keyword, "port") == 0     ? &ret_hosts->port
                                                                  : NULL;
        if (place == NULL || option->val == NULL)
            continue;
        free(*place); /* NULL, because libpq lists each option once */
        *place = strdup(option->val);
        complete = complete && *place != NULL;
    }
    PQconninfoFree(options);
    int hosts = count_items(ret_hosts->host), addresses = count_items(ret_hosts->hostaddr);
    ret_hosts->count = addresses > hosts ? addresses : hosts > 0 ? hosts : 1;
    return complete;
}

static void free_hosts(struct hosts *hosts)
{
    free(hosts->host);
    free(hosts->hostaddr);
    free(hosts->port);
}

/* Copies an item of a list. A list with a single item is valid for all hosts. Returns NULL if there is no
 * list. */
static const char *list_item(const char *list, int index, char *item, size_t size)
{
    if (list == NULL)
        return NULL;
    if (count_items(list) == 1)
        index = 0;
    for (; index > 0 && strchr(list, ',') != NULL; index--)
        list = strchr(list, ',') + 1;
    (void)snprintf(item, size, "%.*s", (int)strcspn(list, ","), list);
    return item;
}

/* Waits until the connection is made or has failed. Returns false if that takes too long. */
static bool await_connection(PGconn *connection, hora_ns end)
{
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    while (status == PGRES_POLLING_WRITING || status == PGRES_POLLING_READING) {
        struct pollfd descriptor = {.fd = PQsocket(connection),
                                    .events = status == PGRES_POLLING_READING ? POLLIN : POLLOUT};
        hora_ns left = end - hora_clock_now(NULL);
        if (PQstatus(connection) == CONNECTION_BAD)
            return true;
        if (left <= 0)
            return false;
        if (poll(&descriptor, 1, milliseconds(left) + 1) > 0)
            status = PQconnectPoll(connection);
    }
    return true;
}

static PGconn *start_connection(hora__postgres *postgres, const struct hosts *hosts, int index)
{
    char host[300], hostaddr[100], port[16], user_timeout[16];
    (void)snprintf(user_timeout, sizeof user_timeout, "%d",
                   milliseconds(postgres->base.options.statement_timeout) + 1000);
    /* what comes after dbname, which is the whole address, has precedence over it; NULL means nothing */
    const char *const names[] = {"keepalives",
                                 "keepalives_idle",
                                 "keepalives_interval",
                                 "keepalives_count",
                                 "tcp_user_timeout",
                                 "fallback_application_name",
                                 "dbname",
                                 "client_encoding",
                                 "target_session_attrs",
                                 "host",
                                 "hostaddr",
                                 "port",
                                 NULL};
    const char *const values[] = {"1",
                                  "5",
                                  "2",
                                  "3",
                                  user_timeout,
                                  "hora",
                                  postgres->address,
                                  "UTF8",
                                  "read-write",
                                  list_item(hosts->host, index, host, sizeof host),
                                  list_item(hosts->hostaddr, index, hostaddr, sizeof hostaddr),
                                  list_item(hosts->port, index, port, sizeof port),
                                  NULL};
    return PQconnectStartParams(names, values, 1);
}

/* Tries one host after the other. The result is a connection, also if it has failed; NULL: no memory. */
static PGconn *connect_once(hora__postgres *postgres, bool *ret_timed_out)
{
    hora_ns timeout = postgres->base.options.statement_timeout;
    timeout = timeout < HORA_SECONDS(2)    ? HORA_SECONDS(2)
              : timeout > HORA_SECONDS(10) ? HORA_SECONDS(10)
                                           : timeout;
    struct hosts hosts;
    PGconn *connection = NULL;
    *ret_timed_out = false;
    if (read_hosts(postgres->address, &hosts))
        for (int i = 0; i < hosts.count && PQstatus(connection) != CONNECTION_OK; i++) {
            PQfinish(connection);
            connection = start_connection(postgres, &hosts, i);
            if (connection == NULL)
                break;
            PQsetNoticeReceiver(connection, ignore_notice, NULL);
            *ret_timed_out = !await_connection(connection, hora_clock_now(NULL) + timeout);
        }
    free_hosts(&hosts);
    return connection;
}

static PGresult *run(hora__pg_link *link, const char *text)
{
    PGresult *result = PQexec(link->connection, text);
    if (PQresultStatus(result) == PGRES_TUPLES_OK || PQresultStatus(result) == PGRES_COMMAND_OK)
        return result;
    (void)snprintf(link->state, sizeof link->state, "%s",
                   PQresultErrorField(result, PG_DIAG_SQLSTATE) ? PQresultErrorField(result, PG_DIAG_SQLSTATE)
                                                                : "");
    PQclear(result);
    return NULL;
}

/* A pooler reports a number of its own instead of the server's process. */
static bool recognize_pooler(hora__pg_link *link)
{
    PGresult *result = run(link, "SELECT pg_backend_pid()");
    if (result == NULL)
        return false;
    link->process = (int)strtol(PQgetvalue(result, 0, 0), NULL, 10);
    link->is_pooled = link->loses_statements || link->process != PQbackendPID(link->connection);
    PQclear(result);
    return true;
}

static bool make_settings(hora__pg_link *link)
{
    char text[900];
    hora__postgres *postgres = link->postgres;
    int timeout = milliseconds(postgres->base.options.statement_timeout);
    if (link->is_pooled || link->use != HORA__PG_OWN)
        return true;
    (void)snprintf(text, sizeof text,
                   "SET statement_timeout = %d; SET idle_in_transaction_session_timeout = %d;"
                   "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;"
                   "SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off;"
                   "SELECT set_config('synchronous_commit', 'on', false)"
                   " WHERE current_setting('synchronous_commit') = 'off'%s%s%s",
                   timeout, timeout + 1000, link->listens ? "; LISTEN \"hora." : "",
                   link->listens ? postgres->schema : "", link->listens ? "\"" : "");
    PGresult *result = run(link, text);
    PQclear(result);
    return result != NULL;
}

static int try_to_connect(hora__pg_link *link, hora_error *reason)
{
    assert(link->connection == NULL);
    bool timed_out;
    PGconn *connection = connect_once(link->postgres, &timed_out);
    if (PQstatus(connection) != CONNECTION_OK) {
        int error = timed_out ? hora__store_refuse(reason, HORA_ETIMEDOUT, NULL,
                                                   "PostgreSQL: the server did not answer in time")
                              : refuse_connection(link->postgres, connection, reason);
        PQfinish(connection);
        return error;
    }
    link->connection = connection;
    link->prepared = 0;
    link->sent = 0;
    bool done = recognize_pooler(link) && make_settings(link);
    if (done && link->use == HORA__PG_OWN)
        done = PQsetnonblocking(connection, 1) == 0 && PQenterPipelineMode(connection) == 1;
    return done ? 0 : refuse_lost(link, "the connection could not be set up", reason);
}

int hora__pg_connect(hora__pg_link *link, bool patient, hora_error *reason)
{
    if (link->connection != NULL && PQstatus(link->connection) == CONNECTION_OK)
        return 0;
    hora__pg_disconnect(link);
    hora_ns end = hora_clock_now(NULL) + link->postgres->base.options.statement_timeout;
    hora_ns pause = HORA_MS(20);
    for (;;) {
        int error = try_to_connect(link, reason);
        bool may_pass = error == HORA_EIO || error == HORA_EBUSY || error == HORA_ETIMEDOUT;
        if (!may_pass || !patient || hora_clock_now(NULL) + pause > end)
            return error;
        struct timespec time = {.tv_sec = pause / HORA_SECONDS(1), .tv_nsec = pause % HORA_SECONDS(1)};
        nanosleep(&time, NULL);
        pause = pause < HORA_MS(500) ? pause * 2 : HORA_MS(500);
    }
}

void hora__pg_disconnect(hora__pg_link *link)
{
    assert(link->use != HORA__PG_JOINED || link->connection == NULL);
    hora__pg_clear_results(link);
    PQfinish(link->connection);
    link->connection = NULL;
    link->sent = 0;
}

/* ---- results ---- */

void hora__pg_clear_results(hora__pg_link *link)
{
    for (int i = 0; i < link->result_count; i++)
        PQclear(link->results[i]);
    link->result_count = 0;
}

PGresult *hora__pg_take_result(hora__pg_link *link, int index)
{
    assert(index >= 0 && index < link->result_count);
    PGresult *result = link->results[index];
    link->results[index] = NULL;
    return result;
}

static bool is_success(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
}

/* Keeps the result of statement number `index`, or reports its failure. The first failure counts: after it,
 * the server skips the others. */
static int keep_result(hora__pg_link *link, int index, PGresult *result, int error, hora_error *reason)
{
    if (error == 0 && !is_success(result)) {
        error = refuse_result(link, result, reason);
        link->failed = index;
    }
    link->results[index] = result;
    link->result_count = index + 1;
    return error;
}

/* ---- sending ---- */

static void gather(const hora__pg_parameters *parameters, const char *values[], int formats[])
{
    for (int i = 0; parameters != NULL && i < parameters->count; i++) {
        values[i] = parameters->length[i] < 0 ? NULL : parameters->data + parameters->offset[i];
        formats[i] = 1;
    }
}

static bool send_prepared(hora__pg_link *link, hora__pg_statement statement, int count,
                          const char *const values[], const int lengths[], const int formats[])
{
    uint64_t bit = UINT64_C(1) << statement;
    const char *name = hora__pg_names[statement];
    if ((link->prepared & bit) == 0) {
        if (!PQsendPrepare(link->connection, name, link->postgres->texts[statement], 0, NULL))
            return false;
        link->prepared |= bit;
        link->which[link->sent++] = HORA__PG_STATEMENTS; /* the result of a preparation */
    }
    return PQsendQueryPrepared(link->connection, name, count, values, lengths, formats, 1);
}

static void execute_now(hora__pg_link *link, hora__pg_statement statement, int count,
                        const char *const values[], const int lengths[], const int formats[])
{
    if (link->sent == 0)
        hora__pg_clear_results(link);
    if (link->sent > 0 && !is_success(link->results[link->sent - 1]))
        return; /* it would only be refused */
    PGresult *result = PQexecParams(link->connection, link->postgres->texts[statement], count, NULL, values,
                                    lengths, formats, 1);
    link->results[link->sent++] = result;
    link->result_count = link->sent;
}

void hora__pg_send(hora__pg_link *link, hora__pg_statement statement, const hora__pg_parameters *parameters)
{
    assert(link->sent + 1 < HORA__PG_MAX_SENT);
    if (link->connection == NULL || (parameters != NULL && parameters->failed))
        link->is_incomplete = true;
    if (link->is_incomplete)
        return; /* hora__pg_receive reports it */
    int count = parameters == NULL ? 0 : parameters->count;
    const int *lengths = parameters == NULL ? NULL : parameters->length;
    const char *values[HORA__PG_MAX_PARAMETERS] = {NULL};
    int formats[HORA__PG_MAX_PARAMETERS] = {0};
    gather(parameters, values, formats);
    if (link->use != HORA__PG_OWN) {
        execute_now(link, statement, count, values, lengths, formats);
        return;
    }
    bool sent = link->is_pooled ? PQsendQueryParams(link->connection, link->postgres->texts[statement], count,
                                                    NULL, values, lengths, formats, 1)
                                : send_prepared(link, statement, count, values, lengths, formats);
    link->is_incomplete = !sent;
    if (sent)
        link->which[link->sent++] = statement;
}

void hora__pg_send_begin(hora__pg_link *link)
{
    assert(link->use != HORA__PG_JOINED);
    hora__pg_send(link, HORA__PG_BEGIN, NULL);
    if (!link->is_pooled || link->use != HORA__PG_OWN)
        return;
    char timeout[16];
    (void)snprintf(timeout, sizeof timeout, "%d",
                   milliseconds(link->postgres->base.options.statement_timeout));
    hora__pg_parameters parameters = {0};
    hora__pg_add_text(&parameters, timeout);
    hora__pg_send(link, HORA__PG_SETTINGS, &parameters);
    hora__pg_parameters_free(&parameters);
}

/* ---- receiving ---- */

/* Waits until libpq has the next result, and takes it: NULL at the end of a statement's results. Returns
 * false if the connection is lost or the deadline has passed. */
static bool next_result(hora__pg_link *link, PGresult **ret_result)
{
    PGconn *connection = link->connection;
    for (;;) {
        int unsent = PQflush(connection);
        if (unsent < 0)
            return false;
        if (!PQisBusy(connection)) {
            *ret_result = PQgetResult(connection);
            return true;
        }
        hora_ns left = link->deadline - hora_clock_now(NULL);
        struct pollfd descriptor = {.fd = PQsocket(connection),
                                    .events = (short)(POLLIN | (unsent > 0 ? POLLOUT : 0))};
        if (left <= 0 || (poll(&descriptor, 1, milliseconds(left) + 1) == 0 && left < HORA_MS(1)))
            return false;
        if (!PQconsumeInput(connection))
            return false;
    }
}

/* Receives the results of all statements up to the end of the pipeline. Results of preparations are not
 * kept, so results[] has one entry for each hora__pg_send. */
static int receive_all(hora__pg_link *link, hora_error *reason)
{
    int error = 0, kept = 0;
    for (int i = 0; i < link->sent; i++) {
        PGresult *result = NULL, *end = NULL;
        if (!next_result(link, &result) || result == NULL || !next_result(link, &end))
            return PQclear(result), refuse_lost(link, "the connection is lost", reason);
        assert(end == NULL);
        if (link->which[i] == HORA__PG_STATEMENTS) {
            if (!is_success(result))
                link->prepared &= ~(UINT64_C(1) << link->which[i + 1]);
            if (error == 0 && !is_success(result)) {
                error = refuse_result(link, result, reason);
                link->failed = kept;
            }
            PQclear(result);
        } else {
            error = keep_result(link, kept++, result, error, reason);
        }
    }
    PGresult *sync = NULL;
    if (!next_result(link, &sync))
        return refuse_lost(link, "the connection is lost", reason);
    PQclear(sync);
    return error;
}

void hora__pg_rollback(hora__pg_link *link)
{
    if (link->connection == NULL || link->use == HORA__PG_JOINED)
        return;
    PGTransactionStatusType status = PQtransactionStatus(link->connection);
    if (status != PQTRANS_INTRANS && status != PQTRANS_INERROR)
        return;
    hora_error ignored;
    if (hora__pg_execute(link, "ROLLBACK", &ignored) < 0)
        hora__pg_disconnect(link);
}

/* A failure that a new connection, or a new preparation, may repair. */
static void recover(hora__pg_link *link)
{
    char state[sizeof link->state];
    memcpy(state, link->state, sizeof state);
    hora__pg_rollback(link);
    memcpy(link->state, state, sizeof state);
    if (strcmp(state, "26000") == 0 || strcmp(state, "42P05") == 0)
        link->loses_statements = true;
    bool unprepared =
        strcmp(state, "26000") == 0 || strcmp(state, "42P05") == 0 || strcmp(state, "0A000") == 0;
    if (unprepared || (link->connection != NULL && PQstatus(link->connection) != CONNECTION_OK))
        hora__pg_disconnect(link);
}

static int receive_executed(hora__pg_link *link, hora_error *reason)
{
    int error = 0;
    for (int i = 0; i < link->sent; i++)
        error = keep_result(link, i, link->results[i], error, reason);
    link->result_count = link->sent;
    link->sent = 0;
    return error;
}

/* A statement could not be sent, nor what follows it: a commit least of all. So nothing has happened. */
static int refuse_incomplete(hora__pg_link *link, hora_error *reason)
{
    bool lost = link->connection == NULL || PQstatus(link->connection) != CONNECTION_OK;
    link->is_incomplete = false;
    link->sent = 0;
    if (link->use == HORA__PG_OWN)
        hora__pg_disconnect(link);
    if (lost)
        return hora__store_refuse(reason, HORA_EIO, NULL, "PostgreSQL: the connection is lost");
    return hora__store_refuse(reason, HORA_ENOMEM, NULL, "there is not enough memory for a statement");
}

int hora__pg_receive(hora__pg_link *link, hora_error *reason)
{
    link->failed = -1;
    link->state[0] = '\0';
    if (link->is_incomplete)
        return refuse_incomplete(link, reason);
    if (link->use != HORA__PG_OWN)
        return receive_executed(link, reason);
    hora__pg_clear_results(link);
    link->deadline =
        hora_clock_now(NULL) + 2 * link->postgres->base.options.statement_timeout + HORA_SECONDS(1);
    if (!PQpipelineSync(link->connection))
        return refuse_lost(link, "the connection is lost", reason);
    (void)PQflush(link->connection);
    HORA__STEP("postgres: statements sent");
    int error = receive_all(link, reason);
    HORA__STEP("postgres: results received");
    link->sent = 0;
    if (link == &link->postgres->node && link->connection != NULL)
        hora__pg_take_notifications(link);
    if (error < 0)
        recover(link);
    return error;
}

int hora__pg_call(hora__pg_link *link, hora__pg_statement statement, const hora__pg_parameters *parameters,
                  hora_error *reason)
{
    hora__pg_send(link, statement, parameters);
    return hora__pg_receive(link, reason);
}

/* Executes a text with the simple protocol, which a pipeline does not allow. The caller clears the result. */
static int execute_text(hora__pg_link *link, const char *text, PGresult **ret_result, hora_error *reason)
{
    *ret_result = NULL;
    if (link->connection == NULL || (link->use == HORA__PG_OWN && !PQexitPipelineMode(link->connection)))
        return refuse_lost(link, "the connection is lost", reason);
    *ret_result = PQexec(link->connection, text);
    int error = is_success(*ret_result) ? 0 : refuse_result(link, *ret_result, reason);
    if (link->use == HORA__PG_OWN && PQstatus(link->connection) == CONNECTION_OK)
        PQenterPipelineMode(link->connection);
    if (link == &link->postgres->node)
        hora__pg_take_notifications(link); /* libpq may have read some, so that the socket shows none */
    return error;
}

int hora__pg_execute(hora__pg_link *link, const char *text, hora_error *reason)
{
    PGresult *result;
    int error = execute_text(link, text, &result, reason);
    PQclear(result);
    return error;
}

int hora__pg_count(hora__pg_link *link, const char *text, int64_t *ret_count, hora_error *reason)
{
    PGresult *result;
    int error = execute_text(link, text, &result, reason);
    if (error == 0)
        *ret_count = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return error;
}

void hora__pg_take_notifications(hora__pg_link *link)
{
    hora__postgres *postgres = link->postgres;
    assert(link == &postgres->node);
    PGnotify *notification;
    while ((notification = PQnotifies(link->connection)) != NULL) {
        char *end;
        long long due = strtoll(notification->extra, &end, 10);
        int64_t known = end == notification->extra ? INT64_MIN : (int64_t)due;
        if (!postgres->is_woken || known < postgres->woken_due)
            postgres->woken_due = known;
        postgres->is_woken = true;
        PQfreemem(notification);
    }
}
