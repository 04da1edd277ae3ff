/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the program store-contract: runs the tests of the contract on a backend; see contract.h */
#define _GNU_SOURCE
#include "contract.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

hora__backend *backend;
hora_error contract_error;
hora_virtual_clock *contract_clock;
uint64_t contract_seed = 1;

static struct contract_test *tests, **tests_end = &tests;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int failures; /* of the running test */
static jmp_buf test_end;
static const char *skipped;

static const char *kind; /* memory, sqlite, or an address of PostgreSQL */
static char folder[] = "/tmp/store-contract-XXXXXX";
static int places; /* number of databases so far */

/* ---- tests ---- */

void contract_register(struct contract_test *test)
{
    *tests_end = test;
    tests_end = &test->next;
}

void contract_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&lock);
    if (failures++ < 10) {
        printf("\n    %s:%d: ", strrchr(file, '/') != NULL ? strrchr(file, '/') + 1 : file, line);
        vprintf(format, arguments);
        fflush(stdout);
    }
    pthread_mutex_unlock(&lock);
    va_end(arguments);
}

_Noreturn void contract_skip(const char *why)
{
    skipped = why;
    longjmp(test_end, 1);
}

_Noreturn void contract_abort(void)
{
    longjmp(test_end, 1);
}

bool contract_check_int(const char *file, int line, const char *what, int64_t got, int64_t want)
{
    if (got != want)
        contract_fail(file, line, "%s is %" PRId64 ", not %" PRId64, what, got, want);
    return got == want;
}

bool contract_check_text(const char *file, int line, const char *what, const char *got, const char *want)
{
    bool equal = got == NULL || want == NULL ? got == want : strcmp(got, want) == 0;
    if (!equal)
        contract_fail(file, line, "%s is\n      %s\n    not\n      %s", what, got == NULL ? "NULL" : got,
                      want == NULL ? "NULL" : want);
    return equal;
}

bool contract_check_error(const char *file, int line, const char *what, int got, int want)
{
    if (got != want && got < 0)
        contract_fail(file, line, "%s is %s (%s), not %s", what, hora_errname(got), contract_error.message,
                      hora_errname(want));
    else if (got != want)
        contract_fail(file, line, "%s is %d, not %s", what, got, hora_errname(want));
    return got == want;
}

bool contract_check_now(const char *file, int line, const char *what, int64_t got, int64_t want)
{
    int64_t tolerance = contract_clock != NULL ? 0 : 20 * SECOND;
    bool close = got >= want - tolerance && got <= want + tolerance;
    if (!close)
        contract_fail(file, line, "%s is %" PRId64 ", not about %" PRId64, what, got, want);
    return close;
}

uint32_t random_below(uint64_t *state, uint32_t below)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t bits = (*state ^ (*state >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((bits ^ (bits >> 31)) % below);
}

/* ---- stores ---- */

static bool is_postgres(void)
{
    return strcmp(kind, "memory") != 0 && strcmp(kind, "sqlite") != 0;
}

static hora__backend *open_place(int place)
{
    char schema[64], path[256];
    snprintf(schema, sizeof schema, "contract_%ld_%d", (long)getpid(), place);
    snprintf(path, sizeof path, "%s/%d.db", folder, place);
    hora_store_options options = {
        .struct_size = (uint32_t)sizeof options,
        .schema = is_postgres() ? schema : "hora",
        .relaxed_sync = true, /* the machine does not lose power during these tests */
        .statement_timeout = HORA_SECONDS(10),
        .max_payload = 1 << 20,
        .clock = contract_clock != NULL ? hora_virtual_clock_view(contract_clock, HORA_CLOCK_WALL)
                                        : hora_clock_system(HORA_CLOCK_WALL),
    };
    hora__backend *opened = NULL;
    int result = HORA_ENOTSUP;
    snprintf(contract_error.message, sizeof contract_error.message, "hora was built without it");
    if (strcmp(kind, "memory") == 0)
        result = hora__memory_open(&options, &opened, &contract_error);
#ifdef HORA_WITH_SQLITE
    if (strcmp(kind, "sqlite") == 0)
        result = hora__sqlite_open(path, &options, &opened, &contract_error);
#endif
#ifdef HORA_WITH_POSTGRES
    if (is_postgres())
        result = hora__postgres_open(kind, &options, &opened, &contract_error);
#endif
    if (CHECK_ERROR(result, 0))
        return opened;
    contract_abort();
}

hora__backend *open_another(bool same)
{
    return open_place(same ? places : ++places);
}

void reopen(void)
{
    backend->ops->close(backend);
    backend = NULL;
    backend = open_place(places);
}

int64_t now_us(void)
{
    int64_t now = 0;
    CHECK_OK(backend->ops->now(backend, &now, &contract_error));
    return now;
}

void pass(int64_t us)
{
    if (contract_clock != NULL) {
        CHECK_OK(hora_virtual_clock_advance(contract_clock, us * 1000));
        return;
    }
    /* What the test waits for is the store's clock. */
    int64_t end = now_us() + us;
    while (now_us() < end)
        (void)poll(NULL, 0, 5);
}

void step(int64_t us)
{
    CHECK_OK(hora_virtual_clock_step_wall(contract_clock, us * 1000));
}

/* ---- running ---- */

/* 10:40:00.000001 on a day in 2033. */
static const hora_instant clock_start = {INT64_C(2000000000000001000)};

static bool run_test(const struct contract_test *test)
{
    failures = 0;
    skipped = NULL;
    backend = NULL;
    contract_clock = NULL;
    printf("%s", test->name);
    fflush(stdout);
    if (!is_postgres() && hora_virtual_clock_new(HORA_VIRTUAL_CLOCK_OPTIONS(.wall = clock_start),
                                                 &contract_clock, &contract_error) < 0)
        contract_fail(__FILE__, __LINE__, "no virtual clock");
    if (setjmp(test_end) == 0) {
        places++;
        backend = open_place(places);
        test->run();
    }
    if (backend != NULL)
        backend->ops->close(backend);
    if (hora_virtual_clock_free(contract_clock) < 0)
        contract_fail(__FILE__, __LINE__, "the clock is in use");
    if (failures > 0)
        printf("\n    FAILED\n");
    else if (skipped != NULL)
        printf(": not run: %s\n", skipped);
    else
        printf("\n");
    return failures == 0;
}

static bool is_selected(const struct contract_test *test, char **names)
{
    bool selected = names[0] == NULL;
    for (; *names != NULL; names++)
        selected = selected || strcmp(test->name, *names) == 0;
    return selected;
}

static int usage(FILE *to)
{
    fprintf(to, "usage: store-contract [--list] [--seed N] memory|sqlite|postgres|postgres://... [TEST...]\n"
                "Runs the tests of the contract in store/backend.h. \"postgres\" means the address in the\n"
                "environment variable HORA_TEST_POSTGRES.\n");
    return to == stderr ? 2 : 0;
}

static int list_tests(void)
{
    for (const struct contract_test *test = tests; test != NULL; test = test->next)
        printf("%s\n", test->name);
    return 0;
}

static void clean_up(void)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    for (int place = 1; place <= places; place++) {
        for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
            char path[256];
            snprintf(path, sizeof path, "%s/%d.db%s", folder, place, suffixes[i]);
            unlink(path);
        }
    }
    rmdir(folder);
}

int main(int argc, char **argv)
{
    for (; argc > 1 && strncmp(argv[1], "--", 2) == 0; argc--, argv++) {
        if (strcmp(argv[1], "--list") == 0)
            return list_tests();
        if (strcmp(argv[1], "--help") == 0)
            return usage(stdout);
        if (strcmp(argv[1], "--seed") != 0 || argc < 3)
            return usage(stderr);
        contract_seed = strtoull(argv[2], NULL, 0);
        argc--, argv++;
    }
    if (argc < 2)
        return usage(stderr);
    kind = argv[1];
    if (strcmp(kind, "postgres") == 0 && (kind = getenv("HORA_TEST_POSTGRES")) == NULL) {
        printf("SKIPPED: HORA_TEST_POSTGRES is not set\n");
        return 77;
    }
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        return 2;
    }
    int passed = 0, failed = 0;
    for (const struct contract_test *test = tests; test != NULL; test = test->next) {
        if (is_selected(test, argv + 2))
            *(run_test(test) ? &passed : &failed) += 1;
    }
    clean_up();
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0 || passed == 0;
}
