/* SPDX-License-Identifier: Apache-2.0 */
/* test_wake.c - how nodes learn of new tasks in a store on SQLite, within a process and between processes */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

static hora_error reason;

static bool is_woken(hora__backend *backend, int timeout_ms)
{
    struct pollfd poll_for = {.fd = backend->ops->wake_fd(backend), .events = POLLIN};
    return poll(&poll_for, 1, timeout_ms) == 1;
}

static hora__backend *open_store(const char *path)
{
    hora__backend *backend = NULL;
    CHECK_OK(fixture_open(path, NULL, &backend, &reason));
    CHECK(backend->ops->wake_fd(backend) >= 0);
    return backend;
}

static int64_t drain(hora__backend *backend)
{
    return backend->ops->wake_drain(backend);
}

/* One exchange, which claims up to `limit` firings of each lane. */
static void exchange_with(hora__backend *backend, int limit)
{
    hora__lease lease;
    hora__exchange exchange;
    CHECK_OK(backend->ops->join(backend, "n", 60000000, &lease, &reason));
    CHECK_OK(fixture_exchange(backend, &lease, NULL, 0, NULL, limit, &exchange, &reason));
}

/* One exchange, after which the node has seen all changes. */
static void look(hora__backend *backend)
{
    exchange_with(backend, 1);
}

static int put_in(hora__backend *backend, int64_t us)
{
    hora__put put = {.handler = "h", .after_now = true, .due = us, .planned = us};
    return fixture_put(backend, &put, &reason);
}

TEST_REAL(sqlite_put_wakes_its_own_process, "")
{
    const char *path = fixture_path("own");
    fixture_remove(path);
    hora__backend *backend = open_store(path);
    int64_t now;
    CHECK(!is_woken(backend, 0));
    CHECK_INT(drain(backend), HORA__NEVER);
    CHECK_OK(backend->ops->now(backend, &now, &reason));
    CHECK_OK(put_in(backend, 5000000));
    CHECK_OK(put_in(backend, 2000000));
    CHECK_OK(put_in(backend, 4000000));
    CHECK(is_woken(backend, 0));
    int64_t due = drain(backend);
    CHECK(due >= now + 2000000 && due < now + 4000000);
    CHECK(!is_woken(backend, 0));
    CHECK_OK(put_in(backend, INT64_C(3600) * 1000000)); /* nodes look before that anyway */
    CHECK(!is_woken(backend, 0));
    CHECK_OK(backend->ops->wake(backend, &reason));
    CHECK(is_woken(backend, 0));
    CHECK_INT(drain(backend), INT64_MIN);
    CHECK(!is_woken(backend, 0));
    fixture_close(backend);
}

TEST_REAL(sqlite_node_does_not_wake_itself, "")
{
    const char *path = fixture_path("itself");
    fixture_remove(path);
    hora__backend *backend = open_store(path), *other = open_store(path);
    look(backend);
    look(other);
    CHECK(!is_woken(backend, 0));
    CHECK(!is_woken(other, 0));
    CHECK_OK(put_in(backend, 0));
    look(backend);
    CHECK(drain(backend) != HORA__NEVER);
    (void)is_woken(backend, 0); /* the touched file, which it knows of */
    CHECK_INT(drain(backend), HORA__NEVER);
    fixture_close(other);
    fixture_close(backend);
}

/* An exchange that only settles does not find what another process has put, so it must not take the wake-up
 * for one that it knows of. Without inotify, nodes poll. */
TEST_REAL(sqlite_node_that_only_settles_is_woken, "")
{
    const char *path = fixture_path("settles");
    fixture_remove(path);
    hora__backend *backend = open_store(path), *other = open_store(path);
    look(backend);
    (void)drain(backend);
    CHECK_OK(put_in(other, 0));
    exchange_with(backend, 0);
#if defined(__linux__)
    CHECK(is_woken(backend, 60000));
    CHECK_INT(drain(backend), INT64_MIN);
#endif
    look(backend);
    CHECK_OK(put_in(other, INT64_C(3600) * 1000000)); /* far: no wake-up */
    CHECK_INT(drain(backend), HORA__NEVER);
    fixture_close(other);
    fixture_close(backend);
}

/* Waits until a wake-up comes from another process. Without inotify, nodes poll. */
static void check_woken_by(const char *path, void (*act)(const char *path))
{
    fixture_remove(path);
    hora__backend *backend = open_store(path);
    look(backend);
    (void)drain(backend);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        act(path);
        _exit(0);
    }
    int status;
#if defined(__linux__)
    int64_t due = HORA__NEVER;
    while (due == HORA__NEVER && is_woken(backend, 60000))
        due = drain(backend);
    CHECK_INT(due, INT64_MIN);
#endif
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_INT(fixture_drain(backend, &reason), 1);
    fixture_close(backend);
}

static void put_there(const char *path)
{
    hora__backend *backend;
    if (fixture_open(path, NULL, &backend, &reason) < 0 || put_in(backend, 0) < 0)
        _exit(1);
    fixture_close(backend);
}

/* The task is in a transaction of the program, which tells the nodes after its commit. */
static void put_joined_there(const char *path)
{
    hora__backend *backend;
    hora__put put = {.handler = "h", .after_now = true};
    hora__put_done done;
    size_t wrong;
    if (fixture_open(path, NULL, &backend, &reason) < 0)
        _exit(1);
    sqlite3 *db = fixture_connect(path);
    if (fixture_execute(db, "BEGIN") != SQLITE_OK ||
        backend->ops->put_joined(backend, db, &put, 1, &done, &wrong, &reason) < 0 ||
        fixture_execute(db, "COMMIT") != SQLITE_OK || backend->ops->wake(backend, &reason) < 0)
        _exit(1);
    sqlite3_close(db);
    fixture_close(backend);
}

TEST_REAL(sqlite_put_wakes_other_processes, "")
{
    for (int i = 0; i < 10; i++)
        check_woken_by(fixture_path("others"), put_there);
}

TEST_REAL(sqlite_wake_wakes_other_processes, "")
{
    check_woken_by(fixture_path("joined"), put_joined_there);
}
