/* SPDX-License-Identifier: Apache-2.0 */
/* fixture.h - short forms for the tests of stores on PostgreSQL
 *
 * The server belongs to the test: `server run` has started it. `sql` uses a connection of its own, as its
 * superuser, to look behind the store and to disturb it. */
#ifndef TESTS_STORE_POSTGRES_FIXTURE_H
#define TESTS_STORE_POSTGRES_FIXTURE_H

#include <libpq-fe.h>

#include "backend.h"
#include "harness.h"

enum { SECOND = 1000000 };

extern hora_error test_error; /* of the latest call */

/* The address, with more parameters such as "&dbname=x"; the result is valid until the next call. */
const char *address_with(const char *more);

hora_store_options options_for(const char *schema);
/* What `sql` is about from now on; open_store does it, too. */
void use_schema(const char *schema);
/* Opens a store in a schema; ends the program if that fails. */
hora__backend *open_store(const char *schema);

PGconn *admin(void); /* a new connection; the caller finishes it */
/* Executes a text and returns its first value as a number; -1 if it fails or has none. @ stands for
 * "SCHEMA".hora_ of the latest open_store or use_schema. */
int64_t sql(const char *format, ...) __attribute__((format(printf, 1, 2)));
int64_t sql_on(PGconn *connection, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for a text value. */
void sql_text(char *value, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

hora__lease join_for(hora__backend *store, int64_t ttl_us);
int put_task(hora__backend *store, const char *key, int64_t after_us, int64_t *ret_id);
/* Claims what is due: the number of claims, or an error. The claims are in *ret_exchange. */
int claim(hora__backend *store, const hora__lease *lease, int limit, hora__exchange *ret_exchange);
/* Sends one settlement: a hora__settled, or an error. */
int settle(hora__backend *store, const hora__lease *lease, const hora__claim *claim, hora__settle_kind kind);
hora__settle settle_of(const hora__lease *lease, const hora__claim *claim, hora__settle_kind kind);

/* Passes the time between two looks at a server that is about to do something. */
void wait_a_moment(int milliseconds);

/* Runs pg_ctl as the user of the server. */
void server_control(const char *arguments);

#endif
