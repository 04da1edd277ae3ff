/* SPDX-License-Identifier: Apache-2.0 */
/* harness_sim.c - tests in the simulator, each under many schedules
 *
 * How it works      Schedules run in batches with the same mode: random walk, PCT or depth-first search, with
 *                   or without late and spurious wake-ups. Each kind of test has its batches (run_scenario,
 *                   run_medium, run_sweep, run_mixed). The first schedule that fails is printed with the
 *                   command that repeats it, and ends the test.
 * Memory            In every second schedule of a random batch, and in every schedule of a search, the
 *                   library keeps memory for reuse, as it does in programs. In the others it frees all
 *                   memory, so that a late use is found at once.
 * Faults            With --faults, each fault of base/fault.h is planted in turn, and some test must fail.
 *                   The number of schedules grows from round to round, so that the cheapest schedules are
 *                   tried on all tests first.
 * Invariants        H1 hora__fault_planted is NONE unless --fault or --faults asked for one.
 *                   H2 except for counters, nothing survives from one schedule to the next. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fault.h"
#include "harness_faults.h"
#include "harness_internal.h"
#include "simulator/sim.h"
#include "sys/thread.h"

enum {
    MOST_THREADS = 64,    /* of a test at the same time */
    MOST_DFS = 3000000,   /* schedules of a search; a scenario with more must be made smaller */
    TEST_STEPS = 1000000, /* tests do more than scenarios; this only catches endless loops */
    TEST_SHARE = 20,      /* a test runs under a twentieth of the schedules of a scenario, */
    SWEEP_SHARE = 200,    /* and a sweep under a two-hundredth */
};

struct test_thread {
    atomic_bool
        used; /* atomic, because a thread factory of a test may start threads while others are joined */
    hora__os_thread os;
    hora_virtual_clock *clock; /* NULL: none */
    void (*run)(void *arg);
    void *arg;
    bool ready;          /* handle and error are known */
    int error;           /* why the thread cannot run; 0: it can */
    hora_thread *handle; /* a reference */
};

/* The command line. */
static struct {
    const char *program;
    char *const *names; /* of tests; may contain * and ? */
    int name_count;     /* 0: all tests */
    enum { ALL, ONE_MODE, REPLAY, FAULTS, LIST } what;
    struct hora__sim_options options; /* with ONE_MODE and REPLAY; seed, depth and bound always */
    uint64_t schedules;               /* per scenario */
    int part, parts;                  /* only every `parts`-th test, or fault */
} arguments = {.schedules = 4000, .parts = 1, .options = {.seed = 1, .depth = 3, .bound = 2}};

/* The running schedule. */
static struct {
    const struct test_case *test;
    struct hora__sim_options options;
    struct test_thread threads[MOST_THREADS];
} current;

/* Of the whole process. */
static struct {
    uint64_t schedules;
    uint64_t fault_points; /* schedules in which a sweep made something fail */
    int passed;            /* tests */
    int failed;            /* tests */
} totals;

static bool quiet;                   /* a fault is planted: failures are expected and not printed */
static struct hora__sim_result last; /* of the last schedule */

bool test_simulated(void)
{
    return true;
}

uint64_t test_wakeups(void)
{
    return hora__sim_wakeups();
}

bool test_is_exact(void)
{
    return !current.options.spurious && !current.options.late;
}

uint64_t test_random_bits(void)
{
    return hora__sim_random();
}

void test_fail(const char *file, int line, const char *format, ...)
{
    char message[400];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(message, sizeof message, format, values);
    va_end(values);
    hora__sim_fail("%s:%d: %s", file, line, message);
}

/* The first function of each thread of a test. */
static void enter(void *memory)
{
    test_thread *thread = memory;
    thread->error = hora_thread_self(&thread->handle);
    if (thread->error == 0 && thread->clock != NULL)
        thread->error = hora_virtual_clock_attach(thread->clock);
    bool may_run = thread->error == 0;
    hora__sim_announce(&thread->ready);
    if (may_run)
        thread->run(thread->arg);
}

/* Undoes the start of a thread. Returns NULL in a sweep; in other tests ends the schedule as failed. */
static test_thread *could_not_start(test_thread *thread, int error)
{
    if (thread->clock != NULL)
        CHECK_OK(hora_virtual_clock_expect(thread->clock, -1));
    (void)hora_thread_unref(thread->handle);
    thread->used = false;
    if (current.test->kind != TEST_SWEEP)
        hora__sim_fail("a thread of the test could not be started: %s", hora_strerror(error));
    return NULL;
}

/* Reserves a free thread. Ends the schedule if there is none. */
static test_thread *unused_thread(void)
{
    for (int i = 0; i < MOST_THREADS; i++)
        if (!atomic_exchange(&current.threads[i].used, true))
            return &current.threads[i];
    hora__sim_fail("a test can have %d threads", MOST_THREADS);
}

test_thread *test_thread_start(hora_virtual_clock *clock, void (*run)(void *arg), void *arg)
{
    test_thread *thread = unused_thread();
    thread->clock = clock;
    thread->run = run;
    thread->arg = arg;
    thread->ready = false;
    thread->error = 0;
    thread->handle = NULL;
    if (clock != NULL)
        CHECK_OK(hora_virtual_clock_expect(clock, 1));
    struct hora__thread_spec spec = {.run = enter, .arg = thread};
    int error = hora__os_thread_start(&spec, &thread->os);
    if (error < 0)
        return could_not_start(thread, error);
    hora__sim_await(&thread->ready);
    if (thread->error < 0) {
        hora__os_thread_join(thread->os);
        return could_not_start(thread, thread->error);
    }
    return thread;
}

void test_thread_join(test_thread *thread)
{
    if (thread == NULL)
        return;
    hora__os_thread_join(thread->os);
    (void)hora_thread_unref(thread->handle);
    thread->used = false;
}

hora_thread *test_thread_handle(test_thread *thread)
{
    return thread->handle;
}

static bool runs_here(const struct test_case *test)
{
    return test->kind != TEST_REAL_ONLY;
}

/* Returns true if the test runs in the simulator and the command line asks for it. */
static bool is_asked_for(const struct test_case *test)
{
    return runs_here(test) && test_is_asked_for(test, arguments.names, arguments.name_count);
}

/* Prints the command that repeats the current schedule. */
static void print_command(const char *schedule)
{
    const struct hora__sim_options *o = &current.options;
    printf("  again: %s --replay %s --seed %" PRIu64, arguments.program, schedule, o->seed);
    if (o->spurious)
        printf(" --spurious");
    if (o->late)
        printf(" --late");
    if (o->recycles)
        printf(" --recycle");
    if (o->weak)
        printf(" --weak");
    if (o->fail_allocation != 0)
        printf(" --fail-allocation %ld", o->fail_allocation);
    if (o->fail_thread_start != 0)
        printf(" --fail-thread-start %ld", o->fail_thread_start);
    if (o->fail_from_then_on)
        printf(" --from-then-on");
    if (hora__fault_planted != HORA__FAULT_NONE)
        printf(" --fault %s", fault_name(hora__fault_planted));
    printf(" %s\n", current.test->name);
    (void)fflush(stdout);
}

/* Prints why and under which schedule the current test failed. */
static void print_failure(void)
{
    static const char *const modes[] = {"random", "pct", "dfs", "replay"};
    const struct hora__sim_options *o = &current.options;
    printf("FAIL %s: %s: %s\n", current.test->name, hora__sim_verdict_name(last.verdict), last.message);
    printf("  mode %s, seed %" PRIu64 "%s%s%s%s, %" PRIu64 " steps, schedule %s\n", modes[o->mode], o->seed,
           o->spurious ? ", spurious" : "", o->late ? ", late" : "", o->recycles ? ", recycling" : "",
           o->weak ? ", weak" : "", last.steps, last.schedule);
    print_command(last.schedule);
}

/* Prints the schedule when a sanitizer ends the process. */
static void print_where_we_died(void)
{
    printf("FAIL %s: the process dies\n", current.test->name);
    print_command(hora__sim_schedule_so_far());
}

/* The body of each schedule. */
static void body(void)
{
    current.test->run();
    if (hora_interrupted())
        hora__sim_fail("the interrupt flag is left set");
}

/* Runs one schedule. Returns true if it passed. */
static bool run_schedule(const struct test_case *test, const struct hora__sim_options *options)
{
    current.test = test;
    current.options = *options;
    if (test->kind == TEST_BOTH)
        current.options.max_steps = TEST_STEPS;
    memset(current.threads, 0, sizeof current.threads); /* H2 */
    totals.schedules++;
    if (hora__sim_run(&current.options, body, &last) == HORA__SIM_PASSED)
        return true;
    if (!quiet)
        print_failure();
    return false;
}

/* Runs a batch of schedules with successive seeds. Every second one keeps memory for reuse, beginning with
 * the first; all of them with --recycle. Like all functions below that run schedules, returns false at the
 * first failure. */
static bool run_seeds(const struct test_case *test, struct hora__sim_options options, uint64_t schedules)
{
    for (uint64_t i = 0; i < schedules; i++, options.seed++) {
        options.recycles = arguments.options.recycles || i % 2 == 0;
        if (!run_schedule(test, &options))
            return false;
    }
    return true;
}

/* Runs eight batches: random walk and PCT, each without and with spurious and late wake-ups. */
static bool run_mixed(const struct test_case *test, uint64_t schedules)
{
    enum { MIXES = 8 };
    struct hora__sim_options options = arguments.options;
    for (int mix = 0; mix < MIXES; mix++) {
        options.mode = mix & 1 ? HORA__SIM_PCT : HORA__SIM_RANDOM;
        options.spurious = (mix & 2) != 0;
        options.late = (mix & 4) != 0;
        if (!run_seeds(test, options, (schedules + (uint64_t)(MIXES - 1 - mix)) / MIXES))
            return false;
    }
    return true;
}

/* Runs all schedules within the bound. If there are too many, that is a failure, too, unless a fault is
 * planted: then it does not count as finding the fault. */
static bool run_dfs(const struct test_case *test, struct hora__sim_options options)
{
    uint64_t before = totals.schedules;
    options.mode = HORA__SIM_DFS;
    options.recycles = true;
    hora__sim_dfs_reset();
    do {
        if (!run_schedule(test, &options))
            return false;
        if (totals.schedules - before >= MOST_DFS) {
            if (quiet)
                return true;
            printf("FAIL %s: depth first at bound %d does not end within %d schedules; make the scenario "
                   "smaller\n",
                   test->name, options.bound, MOST_DFS);
            return false;
        }
    } while (hora__sim_dfs_next());
    if (!quiet)
        printf("%s: dfs bound %d%s%s: %" PRIu64 " schedules, exhausted\n", test->name, options.bound,
               options.spurious ? ", spurious" : "", options.late ? ", late" : "", totals.schedules - before);
    return true;
}

/* Runs a scenario: random batches, then a search with the full bound, then a search with late and spurious
 * wake-ups and a smaller bound. */
static bool run_scenario(const struct test_case *test)
{
    struct hora__sim_options plain = arguments.options;
    struct hora__sim_options rough = arguments.options;
    rough.spurious = true;
    rough.late = true;
    rough.bound--;
    if (plain.weak) { /* each load is one more decision, so there are many more schedules */
        plain.bound--;
        rough.bound--;
    }
    return run_mixed(test, arguments.schedules) && (plain.bound < 1 || run_dfs(test, plain)) &&
           (rough.bound < 1 || run_dfs(test, rough));
}

/* Runs a medium scenario: random batches, then a search with a smaller bound. */
static bool run_medium(const struct test_case *test)
{
    struct hora__sim_options plain = arguments.options;
    plain.bound -= plain.weak ? 2 : 1;
    return run_mixed(test, arguments.schedules) && (plain.bound < 1 || run_dfs(test, plain));
}

/* Runs a test with the 1st, 2nd, 3rd ... allocation, or thread start, failing, until a run has fewer of
 * them. */
static bool sweep(const struct test_case *test, struct hora__sim_options options, bool thread_starts)
{
    for (long n = 1;; n++) {
        options.fail_allocation = thread_starts ? 0 : n;
        options.fail_thread_start = thread_starts ? n : 0;
        if (!run_schedule(test, &options))
            return false;
        if ((thread_starts ? last.thread_starts : last.allocations) < n)
            return true;
        totals.fault_points++;
    }
}

/* Sweeps over allocations and thread starts, failing once and from then on. */
static bool sweep_all(const struct test_case *test, struct hora__sim_options options)
{
    for (int what = 0; what < 4; what++) {
        options.fail_from_then_on = (what & 1) != 0;
        if (!sweep(test, options, (what & 2) != 0))
            return false;
    }
    return true;
}

/* Runs a sweep: first with the schedule without preemptions, then with some random ones. */
static bool run_sweep(const struct test_case *test, uint64_t schedules)
{
    struct hora__sim_options options = arguments.options;
    options.mode = HORA__SIM_REPLAY;
    options.schedule = "";
    if (!run_schedule(test, &options) || !sweep_all(test, options))
        return false;
    options.mode = HORA__SIM_RANDOM;
    for (uint64_t i = 0; i < schedules; i++, options.seed++) {
        options.recycles = arguments.options.recycles || i % 2 == 0;
        if (!sweep_all(test, options))
            return false;
    }
    return true;
}

/* Runs a test in the mode that the command line asks for. */
static bool run_one_mode(const struct test_case *test)
{
    if (arguments.options.mode == HORA__SIM_DFS)
        return run_dfs(test, arguments.options);
    if (arguments.what == REPLAY)
        return run_schedule(test, &arguments.options);
    return run_seeds(test, arguments.options, arguments.schedules);
}

/* Runs a test as its kind and the command line demand. */
static bool run(const struct test_case *test)
{
    hora__sim_dfs_reset(); /* also forgets what PCT learnt from the last test */
    if (arguments.what != ALL)
        return run_one_mode(test);
    switch (test->kind) {
    case TEST_SCENARIO:
        return run_scenario(test);
    case TEST_MEDIUM:
        return run_medium(test);
    case TEST_LARGE:
        return run_mixed(test, arguments.schedules);
    case TEST_SWEEP:
        return run_sweep(test, 1 + arguments.schedules / SWEEP_SHARE);
    default:
        return run_mixed(test, 1 + arguments.schedules / TEST_SHARE);
    }
}

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Runs all tests that the command line asks for and prints the totals. Takes turns among the parts test by
 * test, because the expensive tests stand together. */
static void run_tests(void)
{
    double start = seconds();
    int turn = 0;
    for (const struct test_case *test = test_first(); test != NULL; test = test->next) {
        if (!is_asked_for(test) || turn++ % arguments.parts != arguments.part)
            continue;
        uint64_t before = totals.schedules;
        bool passed = run(test);
        (void)(passed ? totals.passed++ : totals.failed++);
        printf("%s: %" PRIu64 " schedules%s\n", test->name, totals.schedules - before,
               passed ? "" : ", FAILED");
    }
    double time = seconds() - start;
    printf("%" PRIu64 " schedules in %.1f s, %.0f per second, %" PRIu64 " fault points\n", totals.schedules,
           time, (double)totals.schedules / (time > 0 ? time : 1), totals.fault_points);
    printf("%d passed, %d failed\n", totals.passed, totals.failed);
}

/* Runs one test in one round of the search for a planted fault. Returns false if it fails: the fault is
 * found. So do the three functions below. */
static bool look(const struct test_case *test, uint64_t budget)
{
    hora__sim_dfs_reset();
    switch (test->kind) {
    case TEST_SCENARIO:
    case TEST_MEDIUM:
    case TEST_LARGE:
        return run_mixed(test, budget);
    case TEST_SWEEP:
        return run_sweep(test, budget / 64);
    default:
        return run_mixed(test, 1 + budget / TEST_SHARE);
    }
}

/* Runs all tests in one round. */
static bool look_everywhere(uint64_t budget)
{
    static const enum test_kind cheapest_first[] = {TEST_SCENARIO, TEST_MEDIUM, TEST_LARGE, TEST_SWEEP,
                                                    TEST_BOTH};
    for (size_t i = 0; i < sizeof cheapest_first / sizeof cheapest_first[0]; i++)
        for (const struct test_case *test = test_first(); test != NULL; test = test->next)
            if (test->kind == cheapest_first[i] && is_asked_for(test) && !look(test, budget))
                return false;
    return true;
}

/* Runs the depth-first search of all scenarios. */
static bool search_everywhere(void)
{
    for (const struct test_case *test = test_first(); test != NULL; test = test->next)
        if (test->kind == TEST_SCENARIO && is_asked_for(test) && !run_dfs(test, arguments.options))
            return false;
    return true;
}

/* Runs the test that is known to find the fault, if there is one. It gets far more schedules than the others,
 * because running all of them would take longer. */
static bool look_there_first(enum hora__fault fault)
{
    enum { PATIENCE = 262144 };
    const char *name = fault_shown_by(fault);
    for (const struct test_case *test = test_first(); test != NULL && name != NULL; test = test->next)
        if (strcmp(name, test->name) == 0 && is_asked_for(test) && !look(test, PATIENCE))
            return false;
    return true;
}

/* Plants a fault and runs tests until one fails. Returns true if one does. */
static bool find_fault(enum hora__fault fault)
{
    static const uint64_t budgets[] = {8, 64, 512, 4096, 32768};
    uint64_t before = totals.schedules;
    hora__fault_planted = fault;
    arguments.options.weak = fault_is_of_order(fault);
    quiet = true;
    bool found = !look_there_first(fault);
    for (size_t i = 0; i < sizeof budgets / sizeof budgets[0] && !found; i++)
        found = !look_everywhere(budgets[i]);
    found = found || !search_everywhere();
    quiet = false;
    arguments.options.weak = false;
    hora__fault_planted = HORA__FAULT_NONE; /* H1 */
    if (found)
        printf("fault %s: found by %s after %" PRIu64 " schedules (%s)\n", fault_name(fault),
               current.test->name, totals.schedules - before, hora__sim_verdict_name(last.verdict));
    else
        printf("fault %s: NOT FOUND in %" PRIu64 " schedules\n", fault_name(fault),
               totals.schedules - before);
    (void)fflush(stdout);
    return found;
}

/* Returns true if the tests find all faults, or the one that was asked for, and if no test fails without a
 * fault. */
static bool find_faults(enum hora__fault only)
{
    enum { SANITY = 64 };
    int found = 0;
    int tried = 0;
    hora__fault_planted = HORA__FAULT_NONE;
    if (!look_everywhere(SANITY)) {
        printf("a test fails without any fault; that must be mended first\n");
        return false;
    }
    for (int fault = HORA__FAULT_NONE + 1; fault < HORA__FAULT_COUNT; fault++) {
        if ((only != HORA__FAULT_NONE && (int)only != fault) || fault % arguments.parts != arguments.part)
            continue;
        tried++;
        found += find_fault((enum hora__fault)fault);
    }
    printf("faults: %d of %d found\n", found, tried);
    return found == tried;
}

static int usage(void)
{
    fprintf(
        stderr,
        "usage: [--list] [--mode random|pct|dfs|all] [--schedules N] [--seed S] [--depth D] [--bound B]\n"
        "       [--spurious] [--late] [--recycle] [--weak] [--replay TEXT] [--fail-allocation N]\n"
        "       [--fail-thread-start N] [--from-then-on] [--faults] [--fault NAME] [--part K/N] [NAME...]\n");
    return 2;
}

/* The parse functions read the command line into `arguments`. They return false if it is wrong, or if the
 * option is none of theirs. */

static bool parse_mode(const char *text)
{
    static const char *const modes[] = {"random", "pct", "dfs"};
    for (int i = 0; i < 3; i++)
        if (text != NULL && strcmp(text, modes[i]) == 0) {
            arguments.what = ONE_MODE;
            arguments.options.mode = (enum hora__sim_mode)i;
            return true;
        }
    return text != NULL && strcmp(text, "all") == 0;
}

static bool parse_part(const char *text)
{
    int part, parts, end = 0;
    if (text == NULL || sscanf(text, "%d/%d%n", &part, &parts, &end) != 2 || text[end] != '\0' || part < 1 ||
        part > parts)
        return false;
    arguments.part = part - 1;
    arguments.parts = parts;
    return true;
}

static bool parse_flag(const char *option)
{
    struct hora__sim_options *o = &arguments.options;
    if (strcmp(option, "--list") == 0)
        arguments.what = LIST;
    else if (strcmp(option, "--faults") == 0)
        arguments.what = FAULTS;
    else if (strcmp(option, "--spurious") == 0)
        o->spurious = true;
    else if (strcmp(option, "--late") == 0)
        o->late = true;
    else if (strcmp(option, "--recycle") == 0)
        o->recycles = true;
    else if (strcmp(option, "--weak") == 0)
        o->weak = true;
    else if (strcmp(option, "--from-then-on") == 0)
        o->fail_from_then_on = true;
    else
        return false;
    return true;
}

static bool parse_value(const char *option, const char *value)
{
    struct hora__sim_options *o = &arguments.options;
    if (strcmp(option, "--mode") == 0)
        return parse_mode(value);
    if (strcmp(option, "--part") == 0)
        return parse_part(value);
    if (strcmp(option, "--replay") == 0) {
        arguments.what = REPLAY;
        o->mode = HORA__SIM_REPLAY;
        o->schedule = value;
        return value != NULL;
    }
    if (strcmp(option, "--fault") == 0)
        hora__fault_planted = fault_called(value);
    else if (strcmp(option, "--schedules") == 0)
        arguments.schedules = test_number(option, value);
    else if (strcmp(option, "--seed") == 0)
        o->seed = test_number(option, value);
    else if (strcmp(option, "--depth") == 0)
        o->depth = (int)test_number(option, value);
    else if (strcmp(option, "--bound") == 0)
        o->bound = (int)test_number(option, value);
    else if (strcmp(option, "--fail-allocation") == 0)
        o->fail_allocation = (long)test_number(option, value);
    else if (strcmp(option, "--fail-thread-start") == 0)
        o->fail_thread_start = (long)test_number(option, value);
    else
        return false;
    return true;
}

static bool parse(int count, char **values)
{
    int i = 1;
    for (; i < count && values[i][0] == '-'; i++) {
        if (parse_flag(values[i]))
            continue;
        if (!parse_value(values[i], i + 1 < count ? values[i + 1] : NULL))
            return false;
        i++;
    }
    arguments.program = values[0];
    arguments.names = values + i;
    arguments.name_count = count - i;
    return true;
}

int main(int count, char **values)
{
    if (!parse(count, values))
        return usage();
    if (!test_names_exist(runs_here, arguments.names, arguments.name_count))
        return 2;
    hora__sim_on_death(print_where_we_died);
    if (arguments.what == LIST)
        test_list(runs_here, arguments.names, arguments.name_count);
    else if (arguments.what == FAULTS)
        return !find_faults(hora__fault_planted);
    else
        run_tests();
    return totals.failed > 0;
}
