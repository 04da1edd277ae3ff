/* SPDX-License-Identifier: Apache-2.0 */
/* fixture.h - what the tests of the SQLite backend have in common: files, stores, and rows as texts */
#ifndef HORA_TESTS_STORE_SQLITE_FIXTURE_H
#define HORA_TESTS_STORE_SQLITE_FIXTURE_H

#include <sqlite3.h>

#include "backend.h"
#include "harness.h"

/* Virtual time at the start of a test, in microseconds. */
#define START_US INT64_C(1700000000000000)

/* A name in a folder that exists as long as the process. Valid until the program ends. */
const char *fixture_path(const char *name);
void fixture_remove(const char *path); /* the database with its -wal, -shm and -journal */
void fixture_copy(const char *from, const char *to);
void fixture_write(const char *path, const void *data, size_t size, long offset);

/* A store with defaults, on a clock that may be NULL for that of the machine. */
int fixture_open(const char *path, const hora_clock *clock, hora__backend **ret_backend, hora_error *reason);
int fixture_open_with(const char *path, hora_store_options options, hora__backend **ret_backend,
                      hora_error *reason);
void fixture_close(hora__backend *backend);

/* A connection of a program, by the VFS of the system. */
sqlite3 *fixture_connect(const char *path);
int fixture_execute(sqlite3 *db, const char *sql);
int64_t fixture_number(sqlite3 *db, const char *sql);

/* All rows of all tables as a text, without what is random. The caller frees it. */
char *fixture_dump(const char *path);
/* Checks the file with SQLite's own check, and the rows with the rules of the contract. */
bool fixture_check(const char *path, const char *what);

/* Puts one task; returns the error. */
int fixture_put(hora__backend *backend, const hora__put *put, hora_error *reason);
/* Joins, claims everything that is due, and settles it as done. Returns the number of firings. */
int fixture_drain(hora__backend *backend, hora_error *reason);
/* One exchange that claims up to `limit` firings of each lane, of the handlers "h" and "other". */
int fixture_exchange(hora__backend *backend, const hora__lease *lease, const hora__settle *settles,
                     size_t count, hora__settled *ret_settled, int limit, hora__exchange *ret_exchange,
                     hora_error *reason);

#endif
