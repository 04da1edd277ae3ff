/* SPDX-License-Identifier: Apache-2.0 */
/* test_open.c - which files a store on SQLite opens, creates and refuses */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

static hora_error reason;

/* Opens and closes. */
static int try_open(const char *path, hora_store_options options)
{
    hora__backend *backend;
    int error = fixture_open_with(path, options, &backend, &reason);
    if (error == 0)
        fixture_close(backend);
    return error;
}

static void create(const char *path)
{
    fixture_remove(path);
    CHECK_OK(try_open(path, (hora_store_options){0}));
}

static void change_database(const char *path, const char *sql)
{
    sqlite3 *db = fixture_connect(path);
    CHECK_INT(fixture_execute(db, sql), SQLITE_OK);
    sqlite3_close(db);
}

static int64_t number_in(const char *path, const char *sql)
{
    sqlite3 *db = fixture_connect(path);
    int64_t number = fixture_number(db, sql);
    sqlite3_close(db);
    return number;
}

/* Runs a test in a child process, because it changes the process. Exit status 77 means that it cannot. */
static void in_child(void (*test)(const char *path), const char *path)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        test(path);
        _exit(1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
}

TEST_REAL(sqlite_open_creates_a_store, "")
{
    const char *path = fixture_path("new");
    create(path);
    CHECK_INT(number_in(path, "PRAGMA application_id"), 0x686f7261);
    CHECK_INT(number_in(path, "PRAGMA user_version"), 0);
    CHECK_INT(number_in(path, "SELECT version FROM hora_meta"), HORA__SCHEMA_VERSION);
    CHECK_INT(number_in(path, "SELECT length(store) FROM hora_meta"), 16);
    CHECK_INT(number_in(path, "SELECT count(*) FROM pragma_table_list WHERE name LIKE 'hora%' AND strict"),
              6);
    CHECK_OK(try_open(path, (hora_store_options){.existing_only = true}));
    fixture_check(path, "new");
}

TEST_REAL(sqlite_open_keeps_what_is_there, "")
{
    const char *path = fixture_path("again");
    create(path);
    hora__backend *backend;
    CHECK_OK(fixture_open(path, NULL, &backend, &reason));
    CHECK_OK(fixture_put(backend, &(hora__put){.handler = "h", .key = "a"}, &reason));
    fixture_close(backend);
    CHECK_OK(fixture_open(path, NULL, &backend, &reason));
    CHECK_ERROR(fixture_put(backend, &(hora__put){.handler = "h", .key = "a"}, &reason), HORA_EEXIST);
    CHECK_INT(fixture_drain(backend, &reason), 1);
    fixture_close(backend);
}

TEST_REAL(sqlite_open_existing_only, "")
{
    const char *path = fixture_path("existing");
    const hora_store_options existing = {.existing_only = true};
    fixture_remove(path);
    CHECK_ERROR(try_open(path, existing), HORA_ENOENT);
    CHECK(access(path, F_OK) != 0);
    fixture_write(path, "", 0, 0);
    CHECK_ERROR(try_open(path, existing), HORA_ENOENT);
    CHECK(strstr(reason.message, path) != NULL && strstr(reason.message, "existing_only") != NULL);
    change_database(path, "CREATE TABLE mine (x)");
    CHECK_ERROR(try_open(path, existing), HORA_ENOENT);
    create(path);
    CHECK_OK(try_open(path, existing));
}

TEST_REAL(sqlite_open_what_is_no_database, "")
{
    const char *path = fixture_path("text");
    static const char text[] = "This is a text of more than a hundred bytes, which nobody would take for a "
                               "database, since a database begins with the words SQLite format 3.";
    fixture_remove(path);
    fixture_write(path, text, sizeof text, 0);
    CHECK_ERROR(try_open(path, (hora_store_options){0}), HORA_EBADMSG);
    CHECK(strstr(reason.message, path) != NULL);
    struct stat status;
    CHECK(stat(path, &status) == 0 && status.st_size == sizeof text);

    const char *folder = fixture_path("folder");
    CHECK(mkdir(folder, 0755) == 0);
    CHECK_ERROR(try_open(folder, (hora_store_options){0}), HORA_EBADMSG);
    CHECK_ERROR(try_open(fixture_path("missing/file"), (hora_store_options){0}), HORA_ENOENT);
    CHECK_ERROR(try_open("/dev/null/file", (hora_store_options){0}), HORA_ENOENT);
}

TEST_REAL(sqlite_open_refuses_the_database_of_another_application, "")
{
    const char *path = fixture_path("foreign");
    fixture_remove(path);
    change_database(path, "CREATE TABLE theirs (x); PRAGMA application_id = 12345");
    CHECK_ERROR(try_open(path, (hora_store_options){0}), HORA_EBADMSG);
    CHECK(strstr(reason.message, "another application") != NULL);
    CHECK_INT(number_in(path, "SELECT count(*) FROM sqlite_schema"), 1);
}

TEST_REAL(sqlite_open_adds_tables_to_the_database_of_a_program, "")
{
    const char *path = fixture_path("program");
    fixture_remove(path);
    change_database(path, "CREATE TABLE mine (x); INSERT INTO mine VALUES (7); PRAGMA user_version = 42");
    CHECK_OK(try_open(path, (hora_store_options){0}));
    CHECK_INT(number_in(path, "SELECT x FROM mine"), 7);
    CHECK_INT(number_in(path, "PRAGMA user_version"), 42);
    CHECK_INT(number_in(path, "PRAGMA application_id"), 0);
    change_database(path, "PRAGMA application_id = 12345"); /* the program may give it one later */
    CHECK_OK(try_open(path, (hora_store_options){.existing_only = true}));
}

TEST_REAL(sqlite_open_newer_versions, "")
{
    const char *path = fixture_path("newer");
    create(path);
    change_database(path, "UPDATE hora_meta SET version = 99, compatible = 1");
    CHECK_OK(try_open(path, (hora_store_options){0}));
    CHECK_INT(number_in(path, "SELECT version FROM hora_meta"), 99);
    change_database(path, "UPDATE hora_meta SET compatible = 98");
    CHECK_ERROR(try_open(path, (hora_store_options){0}), HORA_ENOTSUP);
    CHECK(strstr(reason.message, "99") != NULL);
    CHECK_INT(number_in(path, "SELECT version FROM hora_meta"), 99);
}

TEST_REAL(sqlite_open_damaged_tables, "")
{
    const char *path = fixture_path("tables");
    create(path);
    change_database(path, "DELETE FROM hora_meta");
    CHECK_ERROR(try_open(path, (hora_store_options){0}), HORA_EBADMSG);
    create(path);
    change_database(path, "DROP TABLE hora_meta; CREATE TABLE hora_meta (other)");
    CHECK_ERROR(try_open(path, (hora_store_options){0}), HORA_EBADMSG);
    create(path);
    hora__backend *backend;
    CHECK_OK(fixture_open(path, NULL, &backend, &reason));
    change_database(path, "DROP TABLE hora_firing");
    CHECK_ERROR(fixture_put(backend, &(hora__put){.handler = "h"}, &reason), HORA_EBADMSG);
    CHECK_ERROR(fixture_drain(backend, &reason), HORA_EBADMSG);
    fixture_close(backend);
}

/* Fills a store, so that its tables have several pages. */
static void fill(const char *path, int count)
{
    static const char payload[1000];
    hora__backend *backend;
    create(path);
    CHECK_OK(fixture_open(path, NULL, &backend, &reason));
    for (int i = 0; i < count; i++) {
        hora__put put = {.handler = "h", .payload = {payload, sizeof payload}, .after_now = true};
        CHECK_OK(fixture_put(backend, &put, &reason));
    }
    fixture_close(backend);
}

static int ignore_task(hora_durable_info *info, const char *definition, void *arg)
{
    (void)info, (void)definition, (void)arg;
    return 0;
}

/* Each page in turn is overwritten. Calls may fail, but only as a damaged database does, and never crash. */
TEST_REAL(sqlite_open_damaged_pages, "")
{
    const char *good = fixture_path("good"), *path = fixture_path("damaged");
    fill(good, 20);
    int64_t pages = number_in(good, "PRAGMA page_count"), failed = 0;
    CHECK(pages > 10);
    for (int64_t page = 0; page < pages; page++) {
        char garbage[4096];
        memset(garbage, page % 2 == 0 ? 0xff : 0x05, sizeof garbage);
        fixture_copy(good, path);
        fixture_write(path, garbage, sizeof garbage - 100, (long)page * 4096 + 100);
        hora__backend *backend;
        int error = fixture_open(path, NULL, &backend, &reason);
        if (error == 0) {
            hora_durable_filter filter = {.limit = 0};
            error = backend->ops->list(backend, &filter, ignore_task, NULL, &reason);
            if (error == 0)
                error = fixture_drain(backend, &reason);
            fixture_close(backend);
        }
        if (error < 0)
            CHECK_ERROR(error, HORA_EBADMSG);
        failed += error < 0;
    }
    CHECK(failed >= 5); /* most pages are of empty tables */

    fixture_copy(good, path);
    CHECK(truncate(path, 4096 + 1000) == 0);
    CHECK_ERROR(try_open(path, (hora_store_options){0}), HORA_EBADMSG);
}

TEST_REAL(sqlite_open_names_that_sqlite_could_take_for_something_else, "")
{
    char folder[4096];
    CHECK(getcwd(folder, sizeof folder) != NULL);
    CHECK(chdir("/tmp") == 0);
    static const char *const names[] = {":memory:x", "file:hora?mode=memory", "a%20b c", "na\xc3\xafve'\""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char absolute[128];
        snprintf(absolute, sizeof absolute, "/tmp/%s", names[i]);
        fixture_remove(absolute);
        CHECK_OK(try_open(names[i], (hora_store_options){0}));
        CHECK(access(absolute, F_OK) == 0);
        CHECK_OK(try_open(absolute, (hora_store_options){.existing_only = true}));
        fixture_remove(absolute);
    }
    CHECK(chdir(folder) == 0);
}

/* ---- permissions ---- */

static void drop_privileges(void)
{
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        _exit(77);
}

static void open_without_permission(const char *path)
{
    drop_privileges();
    if (access(path, W_OK) == 0)
        _exit(77);
    int error = try_open(path, (hora_store_options){0});
    if (error != HORA_EACCES)
        fprintf(stderr, "%s: %s\n", hora_errname(error), reason.message);
    _exit(error != HORA_EACCES);
}

TEST_REAL(sqlite_open_without_permission, "")
{
    const char *path = fixture_path("private");
    create(path);
    CHECK(chmod(path, 0444) == 0);
    in_child(open_without_permission, path); /* read-only */
    CHECK(chmod(path, 0) == 0);
    in_child(open_without_permission, path);
    CHECK(chmod(path, 0644) == 0);
}

static void create_without_permission(const char *path)
{
    drop_privileges();
    int error = try_open(path, (hora_store_options){0});
    if (error != HORA_EACCES)
        fprintf(stderr, "%s: %s\n", hora_errname(error), reason.message);
    _exit(error != HORA_EACCES);
}

TEST_REAL(sqlite_open_in_a_folder_without_permission, "")
{
    const char *folder = fixture_path("readonly");
    char path[256];
    CHECK(mkdir(folder, 0755) == 0 || errno == EEXIST);
    snprintf(path, sizeof path, "%s/file", folder);
    CHECK(chmod(folder, 0555) == 0);
    in_child(create_without_permission, path);
    /* The database may be written, but no log can be made beside it. */
    CHECK(chmod(folder, 0755) == 0);
    create(path);
    CHECK(chmod(path, 0666) == 0 && chmod(folder, 0555) == 0);
    in_child(create_without_permission, path);
    CHECK(chmod(folder, 0755) == 0);
    fixture_remove(path);
}

static void open_without_descriptors(const char *path)
{
    struct rlimit limit = {0, 0};
    for (rlim_t count = 3; count < 40; count++) {
        limit.rlim_cur = limit.rlim_max = count;
        pid_t child = fork();
        if (child == 0) {
            setrlimit(RLIMIT_NOFILE, &limit);
            int error = try_open(path, (hora_store_options){0});
            _exit(error == 0 ? 0 : error == HORA_EMFILE ? 1 : 2);
        }
        int status;
        if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) == 2)
            _exit(1);
        if (count == 3 && WEXITSTATUS(status) != 1)
            _exit(1);
    }
    _exit(0);
}

TEST_REAL(sqlite_open_without_descriptors, "")
{
    const char *path = fixture_path("descriptors");
    create(path);
    in_child(open_without_descriptors, path);
}

/* ---- several processes ---- */

enum { PROCESSES = 6, PUTS = 15 };

static void create_and_put(const char *path, int number, int start)
{
    char byte;
    hora__backend *backend;
    if (read(start, &byte, 1) != 0 || fixture_open(path, NULL, &backend, &reason) < 0) {
        fprintf(stderr, "open: %s\n", reason.message);
        _exit(1);
    }
    for (int i = 0; i < PUTS; i++) {
        char key[32];
        snprintf(key, sizeof key, "%d %d", number, i);
        if (fixture_put(backend, &(hora__put){.handler = "h", .key = key}, &reason) < 0) {
            fprintf(stderr, "put: %s\n", reason.message);
            _exit(1);
        }
    }
    fixture_close(backend);
    _exit(0);
}

TEST_REAL(sqlite_open_in_many_processes_at_once, "")
{
    const char *path = fixture_path("many");
    for (int round = 0; round < 5; round++) {
        int start[2];
        pid_t children[PROCESSES];
        fixture_remove(path);
        CHECK(pipe(start) == 0);
        fflush(NULL);
        for (int i = 0; i < PROCESSES; i++) {
            children[i] = fork();
            if (children[i] == 0) {
                close(start[1]);
                create_and_put(path, i, start[0]);
            }
        }
        close(start[0]);
        close(start[1]); /* all children start */
        for (int i = 0; i < PROCESSES; i++) {
            int status;
            CHECK(waitpid(children[i], &status, 0) == children[i]);
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        }
        CHECK_INT(number_in(path, "SELECT count(*) FROM hora_firing"), PROCESSES * PUTS);
        CHECK_INT(number_in(path, "SELECT count(*) FROM hora_meta"), 1);
        fixture_check(path, "many");
    }
}

/* A process that is killed in the middle of its work leaves a store that works. */
TEST_REAL(sqlite_open_after_a_process_was_killed, "")
{
    const char *path = fixture_path("killed");
    create(path);
    for (int round = 0; round < 5; round++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            hora__backend *backend;
            if (fixture_open(path, NULL, &backend, &reason) < 0)
                _exit(1);
            for (;;)
                (void)fixture_put(backend, &(hora__put){.handler = "h"}, &reason);
        }
        int64_t before = number_in(path, "SELECT count(*) FROM hora_firing");
        while (number_in(path, "SELECT count(*) FROM hora_firing") <= before)
            sched_yield();
        CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
        CHECK_OK(try_open(path, (hora_store_options){0}));
        fixture_check(path, "killed");
    }
}
