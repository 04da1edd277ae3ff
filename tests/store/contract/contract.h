/* SPDX-License-Identifier: Apache-2.0 */
/* contract.h - how tests of the contract in store/backend.h are written
 *
 * A test is a function that finds a fresh store in `backend` and calls its operations:
 *
 *     CONTRACT(settle_done_deletes_the_firing)
 *     {
 *         hora__lease node = join();
 *         put_one(&PUT(.key = "a"));
 *         hora__claim claim = claim_one(&node);
 *         CHECK_INT(settle_one(&node, SETTLE(claim, node, DONE)), HORA__SETTLED_OK);
 *         CHECK(!see_key("a", &seen));
 *     }
 *
 * The same tests run on every backend. Memory and SQLite get a virtual clock, so their times are exact;
 * PostgreSQL has its own clock, and pass() sleeps. A test that needs a virtual clock begins with NEEDS_CLOCK,
 * one that needs several processes with NEEDS_SHARED, one that needs transactions with NEEDS_TRANSACTIONS;
 * it is not run on the other backends, and the output says so. */
#ifndef HORA_TESTS_STORE_CONTRACT_H
#define HORA_TESTS_STORE_CONTRACT_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hora/hora.h>

#include "backend.h"
#include "units.h"

/* ---- tests ---- */

struct contract_test {
    const char *name;
    void (*run)(void);
    struct contract_test *next;
};

void contract_register(struct contract_test *test);

#define CONTRACT(test_name)                                               \
    static void test_name(void);                                          \
    __attribute__((constructor)) static void register_##test_name(void)   \
    {                                                                     \
        static struct contract_test test = {#test_name, test_name, NULL}; \
        contract_register(&test);                                         \
    }                                                                     \
    static void test_name(void)

/* Records a failure of the running test, which goes on. Any thread may call it. */
__attribute__((format(printf, 3, 4))) void contract_fail(const char *file, int line, const char *format, ...);
/* Ends the running test, which does not apply to this backend. Only the thread of the test may call it. */
_Noreturn void contract_skip(const char *why);
/* Ends the running test after a failure, if it cannot go on. */
_Noreturn void contract_abort(void);

bool contract_check_int(const char *file, int line, const char *what, int64_t got, int64_t want);
bool contract_check_text(const char *file, int line, const char *what, const char *got, const char *want);
bool contract_check_error(const char *file, int line, const char *what, int got, int want);

#define CHECK(condition)      ((condition) ? (void)0 : contract_fail(__FILE__, __LINE__, "%s", #condition))
#define CHECK_INT(got, want)  contract_check_int(__FILE__, __LINE__, #got, (int64_t)(got), (int64_t)(want))
#define CHECK_TEXT(got, want) contract_check_text(__FILE__, __LINE__, #got, (got), (want))
/* For calls that return a negative error: the failure shows their names, and the reason. */
#define CHECK_ERROR(call, want) contract_check_error(__FILE__, __LINE__, #call, (call), (want))
#define CHECK_OK(call)          CHECK_ERROR(call, 0)
/* A time that the test gives, or that follows from one: exact. */
#define CHECK_TIME(got, want) CHECK_INT(got, want)
/* A time that the backend has taken from its clock: exact if the clock is virtual, close otherwise. */
#define CHECK_NOW(got, want) contract_check_now(__FILE__, __LINE__, #got, (got), (want))
bool contract_check_now(const char *file, int line, const char *what, int64_t got, int64_t want);

#define NEEDS_CLOCK        (contract_clock != NULL ? (void)0 : contract_skip("the store has its own clock"))
#define NEEDS_SHARED       (backend->ops->shared ? (void)0 : contract_skip("the store is not shared"))
#define NEEDS_TRANSACTIONS (backend->ops->transactions ? (void)0 : contract_skip("no transactions"))

/* ---- the store of the running test ---- */

#define MS     INT64_C(1000) /* in microseconds */
#define SECOND INT64_C(1000000)
#define HOUR   (3600 * SECOND)

extern hora__backend *backend;
extern hora_error contract_error;          /* for the last argument of operations */
extern hora_virtual_clock *contract_clock; /* NULL: the store has its own clock */
extern hora__lease contract_lease;         /* of the latest join */

/* Opens another backend, on the same kind of store but another place; with `same` on the same place. Close it
 * with ops->close. */
hora__backend *open_another(bool same);
/* Closes and opens the store of the test. */
void reopen(void);

/* The clock of the store. */
int64_t now_us(void);
/* Lets time pass. */
void pass(int64_t us);
/* Sets a virtual clock. */
void step(int64_t us);

/* A lease that does not end during a test. */
hora__lease join(void);
/* A lease that ends soon: after pass(SHORT_LEASE). */
#define SHORT_LEASE (400 * MS)
hora__lease join_shortly(void);

/* A put of the handler "h", due now. */
#define PUT(...) ((hora__put){.handler = "h", .lane = 2, .after_now = true, __VA_ARGS__})
/* A put of a recurring task. */
#define RECURRING(...) PUT(.recurring = true, .definition = "rate 10000000", __VA_ARGS__)
/* A time that is given as such. */
#define AT(time) .after_now = false, .planned = (time), .due = (time)

/* Puts a task that must be inserted; returns its id. */
int64_t put_one(const hora__put *put);
/* Puts one task; returns what was done, or an error. */
int put_result(const hora__put *put);
/* Replaces a task with a key; returns its id. */
int64_t put_replace(const hora__put *put);

/* An exchange that claims up to `limit` firings of "h" and "g" in each lane, due within `horizon`. The claims
 * are in `claims`, valid until the next exchange. */
extern hora__exchange exchanged;
int claim_within(const hora__lease *lease, int limit, int64_t horizon);
/* The same for what is due now. */
int claim_all(const hora__lease *lease);
/* Claims one firing, and no other must be due. */
hora__claim claim_one(const hora__lease *lease);
/* An exchange with settlements only. Returns the result of the first, or an error. */
int settle_one(const hora__lease *lease, hora__settle settle);
/* An exchange that does only what its fields say; handlers and low bounds are filled in. */
int exchange_with(const hora__lease *lease, hora__exchange exchange);

#define SETTLE(claim, lease, settle_kind, ...)          \
    ((hora__settle){.id = (claim).id,                   \
                    .fence = (claim).fence,             \
                    .owner = (lease).node,              \
                    .kind = HORA__SETTLE_##settle_kind, \
                    .attempt = (claim).attempt,         \
                    .ran_planned = (claim).planned,     \
                    __VA_ARGS__})

int change_key(hora__change_kind kind, const char *key);
int change_id(hora__change_kind kind, int64_t id);
int revive_key(const char *key, int64_t due);
int retime_key(const char *key, int64_t due);
/* Stops a firing that waits for another attempt, with the code 9 and the note "why". */
int stop_firing(int64_t id, int64_t fence, int64_t next);

/* A task as hora__backend_ops.list shows it, with texts that stay. */
struct seen_task {
    hora_durable_info info;
    int64_t planned, due; /* us */
    char handler[256], key[256], definition[256];
    bool has_key, has_definition;
    char payload[64];
};
extern struct seen_task seen;
/* Finds a task, dead or alive; false: there is none. */
bool see(int64_t id, struct seen_task *ret_seen);
bool see_key(const char *key, struct seen_task *ret_seen);
/* The task must exist. */
struct seen_task must_see(int64_t id);
/* Number of tasks, not counting the dead. */
int count_tasks(void);
int count_dead(void);

/* A record as hora__backend_ops.history shows it. */
struct seen_record {
    hora_run_record record;
    int64_t planned, started, ended; /* us */
    char handler[256], key[256], note[256];
    bool has_key, has_note;
};
enum { MAX_RECORDS = 200 };
/* The records that a filter selects, latest first. */
extern struct seen_record records[MAX_RECORDS];
int read_history(hora_history_filter filter);

/* Everything that list, history and stats show, as a text that the caller frees. Records are sorted, because
 * the order of those of one call is not defined. Times from `base` are exact if `exact`; otherwise those
 * within half an hour of it are "now", and others are counted in hours. Nodes are shown as their index in
 * `nodes`. */
char *dump_store(hora__backend *of, int64_t base, bool exact, const int64_t *nodes, int node_count);
/* Checks that the store shows the same before and after what is in between. */
char *snapshot(void);
void check_unchanged(const char *file, int line, char *before);
#define CHECK_UNCHANGED(before) check_unchanged(__FILE__, __LINE__, (before))

/* Seeded random numbers. */
extern uint64_t contract_seed;
uint32_t random_below(uint64_t *state, uint32_t below);

#endif
