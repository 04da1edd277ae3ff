/* SPDX-License-Identifier: Apache-2.0 */
/* test_litmus.c - the simulator's weak memory, shown by the usual litmus tests of memory models
 *
 * How it works      A litmus is two to four threads with a few operations on the words x and y, and a list of
 *                   the outcomes that C17 allows, each a text of the loaded values. Each litmus runs under
 *                   all schedules within a bound, and under many random ones. The test fails if it sees an
 *                   outcome that is not in the list, or if it never sees one that is. Outcomes in parentheses
 *                   are exceptions: C17 allows them, and the simulator does not show them (see weak.c, "Not
 *                   simulated").
 * Output            A table with one line per litmus: outcomes that were seen, allowed ones that were not,
 *                   the number of schedules. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "simulator/sim.h"
#include "simulator/weak.h"
#include "sys/atomic.h"
#include "sys/mutex.h"
#include "sys/thread.h"

enum {
    MOST_THREADS = 4,
    MOST_LOADS = 4,
    MOST_OUTCOMES = 32,
    RANDOM_SCHEDULES = 20000,
    BOUND = 4,
    MOST_DFS = 400000
};

#define RLX memory_order_relaxed
#define ACQ memory_order_acquire
#define REL memory_order_release
#define AR  memory_order_acq_rel
#define SC  memory_order_seq_cst

static hora__atomic x, y;
static hora__mutex lock;
static int64_t plain; /* not atomic */
static int32_t r[MOST_LOADS];

/* ---- operations ---- */

static int32_t load(hora__atomic *a, memory_order order)
{
    hora__sim_point();
    return (int32_t)hora__sim_weak_load(a, atomic_load(&a->value), order);
}

static void store(hora__atomic *a, int32_t value, memory_order order)
{
    hora__sim_point();
    hora__sim_weak_store(a, atomic_load(&a->value), value, order);
    atomic_store(&a->value, value);
}

static int32_t add(hora__atomic *a, int32_t value, memory_order order)
{
    hora__sim_point();
    int32_t before = atomic_fetch_add(&a->value, value);
    hora__sim_weak_change(a, before, before + value, order);
    return before;
}

static void fence(memory_order order)
{
    hora__sim_point();
    hora__sim_weak_fence(order);
}

/* ---- litmus tests ---- */

#define THREAD(name, ...)          \
    static void name(void *unused) \
    {                              \
        (void)unused;              \
        __VA_ARGS__                \
    }

/* Store buffering. */
THREAD(sb_rlx_1, store(&x, 1, RLX); r[0] = load(&y, RLX);)
THREAD(sb_rlx_2, store(&y, 1, RLX); r[1] = load(&x, RLX);)
THREAD(sb_ra_1, store(&x, 1, REL); r[0] = load(&y, ACQ);)
THREAD(sb_ra_2, store(&y, 1, REL); r[1] = load(&x, ACQ);)
THREAD(sb_sc_1, store(&x, 1, SC); r[0] = load(&y, SC);)
THREAD(sb_sc_2, store(&y, 1, SC); r[1] = load(&x, SC);)
THREAD(sb_mix_1, store(&x, 1, REL); r[0] = load(&y, SC);)
THREAD(sb_fence_1, store(&x, 1, RLX); fence(SC); r[0] = load(&y, RLX);)
THREAD(sb_fence_2, store(&y, 1, RLX); fence(SC); r[1] = load(&x, RLX);)
THREAD(sb_rmw_1, (void)add(&x, 1, RLX); r[0] = add(&y, 0, RLX);)
THREAD(sb_rmw_2, (void)add(&y, 1, RLX); r[1] = add(&x, 0, RLX);)

/* Message passing. */
THREAD(mp_rlx_1, store(&x, 1, RLX); store(&y, 1, RLX);)
THREAD(mp_rlx_2, r[0] = load(&y, RLX); r[1] = load(&x, RLX);)
THREAD(mp_rel_1, store(&x, 1, RLX); store(&y, 1, REL);)
THREAD(mp_acq_2, r[0] = load(&y, ACQ); r[1] = load(&x, RLX);)
THREAD(mp_sc_2, r[0] = load(&y, SC); r[1] = load(&x, RLX);)
THREAD(mp_fence_1, store(&x, 1, RLX); fence(REL); store(&y, 1, RLX);)
THREAD(mp_fence_2, r[0] = load(&y, RLX); fence(ACQ); r[1] = load(&x, RLX);)
THREAD(mp_half_fence_2, r[0] = load(&y, RLX); fence(REL); r[1] = load(&x, RLX);)
THREAD(mp_lock_1, hora__mutex_lock(&lock); store(&x, 1, RLX); store(&y, 1, RLX); hora__mutex_unlock(&lock);)
THREAD(mp_lock_2, hora__mutex_lock(&lock); r[0] = load(&y, RLX); r[1] = load(&x, RLX);
       hora__mutex_unlock(&lock);)

/* Release sequences: a thread that reads the result of a read-modify-write on a release store acquires that
 * release. */
THREAD(rs_rmw, (void)add(&y, 1, RLX);)
THREAD(rs_store, if (load(&y, RLX) == 1) store(&y, 2, RLX);)
THREAD(rs_2, r[0] = load(&y, ACQ); r[1] = load(&x, RLX);)

/* Write to read causality. */
THREAD(wrc_1, store(&x, 1, RLX);)
THREAD(wrc_2, r[0] = load(&x, RLX); store(&y, 1, REL);)
THREAD(wrc_2_rlx, r[0] = load(&x, RLX); store(&y, 1, RLX);)
THREAD(wrc_3, r[1] = load(&y, ACQ); r[2] = load(&x, RLX);)

/* Independent reads of independent writes. */
THREAD(iriw_x_rel, store(&x, 1, REL);)
THREAD(iriw_y_rel, store(&y, 1, REL);)
THREAD(iriw_x_sc, store(&x, 1, SC);)
THREAD(iriw_y_sc, store(&y, 1, SC);)
THREAD(iriw_acq_1, r[0] = load(&x, ACQ); r[1] = load(&y, ACQ);)
THREAD(iriw_acq_2, r[2] = load(&y, ACQ); r[3] = load(&x, ACQ);)
THREAD(iriw_sc_1, r[0] = load(&x, SC); r[1] = load(&y, SC);)
THREAD(iriw_sc_2, r[2] = load(&y, SC); r[3] = load(&x, SC);)

/* Coherence. */
THREAD(co_1, store(&x, 1, RLX); store(&x, 2, RLX);)
THREAD(corr_2, r[0] = load(&x, RLX); r[1] = load(&x, RLX);)
THREAD(cowr_1, store(&x, 1, RLX); r[0] = load(&x, RLX);)
THREAD(cowr_2, store(&x, 2, RLX);)
THREAD(corw_1, r[0] = load(&x, RLX); store(&x, 1, RLX); r[1] = load(&x, RLX);)
THREAD(corw_2, store(&x, 2, RLX); r[2] = load(&x, RLX);)
THREAD(coww_2, r[0] = load(&x, RLX); r[1] = load(&x, RLX); r[2] = load(&x, RLX);)
THREAD(rmw_1, r[0] = add(&x, 1, RLX);)
THREAD(rmw_2, r[1] = add(&x, 1, RLX);)

/* Load buffering, and two writes each. */
THREAD(lb_1, r[0] = load(&x, RLX); store(&y, 1, RLX);)
THREAD(lb_2, r[1] = load(&y, RLX); store(&x, 1, RLX);)
THREAD(ww_1, store(&x, 1, RLX); store(&y, 2, RLX);)
THREAD(ww_2, store(&y, 1, RLX); store(&x, 2, RLX);)

/* Dekker with one store that is not sequentially consistent, as a lock-free "look again before sleeping"
 * would have it. */
THREAD(dekker_1, (void)add(&x, 1, SC); r[0] = load(&y, RLX);)
THREAD(dekker_2, store(&y, 1, REL); r[1] = load(&x, SC);)

struct litmus {
    const char *name;
    void (*threads[MOST_THREADS])(void *unused);
    int loads;
    bool ends_with_words; /* the outcome is x and y after all threads were joined */
    const char *allowed;  /* outcomes with a blank between; in parentheses: not shown */
};

static const struct litmus litmuses[] = {
    {"SB relaxed", {sb_rlx_1, sb_rlx_2}, 2, false, "00 01 10 11"},
    {"SB release acquire", {sb_ra_1, sb_ra_2}, 2, false, "00 01 10 11"},
    {"SB one store seq_cst", {sb_mix_1, sb_sc_2}, 2, false, "00 01 10 11"},
    {"SB seq_cst", {sb_sc_1, sb_sc_2}, 2, false, "01 10 11"},
    {"SB relaxed, seq_cst fences", {sb_fence_1, sb_fence_2}, 2, false, "01 10 11"},
    {"SB read-modify-writes", {sb_rmw_1, sb_rmw_2}, 2, false, "(00) 01 10 11"},
    {"Dekker, store release", {dekker_1, dekker_2}, 2, false, "00 01 10 11"},
    {"MP relaxed", {mp_rlx_1, mp_rlx_2}, 2, false, "00 01 10 11"},
    {"MP release, load relaxed", {mp_rel_1, mp_rlx_2}, 2, false, "00 01 10 11"},
    {"MP store relaxed, acquire", {mp_rlx_1, mp_acq_2}, 2, false, "00 01 10 11"},
    {"MP release acquire", {mp_rel_1, mp_acq_2}, 2, false, "00 01 11"},
    {"MP release seq_cst", {mp_rel_1, mp_sc_2}, 2, false, "00 01 11"},
    {"MP release and acquire fences", {mp_fence_1, mp_fence_2}, 2, false, "00 01 11"},
    {"MP the wrong fence", {mp_fence_1, mp_half_fence_2}, 2, false, "00 01 10 11"},
    {"MP under a mutex", {mp_lock_1, mp_lock_2}, 2, false, "00 11"},
    {"release sequence, RMW", {mp_rel_1, rs_rmw, rs_2}, 2, false, "00 01 10 11 21"},
    {"release sequence, other store", {mp_rel_1, rs_store, rs_2}, 2, false, "00 01 11 20 21"},
    {"WRC release acquire", {wrc_1, wrc_2, wrc_3}, 3, false, "000 001 010 011 100 101 111"},
    {"WRC store relaxed", {wrc_1, wrc_2_rlx, wrc_3}, 3, false, "000 001 010 011 100 101 110 111"},
    {"IRIW acquire",
     {iriw_x_rel, iriw_y_rel, iriw_acq_1, iriw_acq_2},
     4,
     false,
     "0000 0001 0010 0011 0100 0101 0110 0111 1000 1001 1010 1011 1100 1101 1110 1111"},
    {"IRIW seq_cst",
     {iriw_x_sc, iriw_y_sc, iriw_sc_1, iriw_sc_2},
     4,
     false,
     "0000 0001 0010 0011 0100 0101 0110 0111 1000 1001 1011 1100 1101 1110 1111"},
    {"CoRR", {co_1, corr_2}, 2, false, "00 01 02 11 12 22"},
    {"CoWR", {cowr_1, cowr_2}, 1, false, "1 2"},
    {"CoRW", {corw_1, corw_2}, 3, false, "011 012 022 211 212"},
    {"CoWW", {co_1, coww_2}, 3, false, "000 001 002 011 012 022 111 112 122 222"},
    {"RMW reads the newest", {rmw_1, rmw_2}, 2, false, "01 10"},
    {"LB relaxed", {lb_1, lb_2}, 2, false, "00 01 10 (11)"},
    {"2+2W relaxed", {ww_1, ww_2}, 2, true, "12 21 (11) 22"},
};

/* ---- running them ---- */

static const struct litmus *current;
static struct hora__sim_result result;

static struct {
    char texts[MOST_OUTCOMES][MOST_LOADS + 1];
    int count;
    uint64_t schedules;
} seen;

static void body(void)
{
    hora__os_thread threads[MOST_THREADS];
    int count = 0;
    memset(r, 0, sizeof r);
    hora__atomic_init(&x, 0);
    hora__atomic_init(&y, 0);
    if (hora__mutex_init(&lock, HORA__RANK_OBJECT) < 0)
        hora__sim_fail("no mutex");
    for (; count < MOST_THREADS && current->threads[count] != NULL; count++) {
        struct hora__thread_spec spec = {.run = current->threads[count]};
        if (hora__os_thread_start(&spec, &threads[count]) < 0)
            hora__sim_fail("no thread");
    }
    for (int i = 0; i < count; i++)
        hora__os_thread_join(threads[i]);
    if (current->ends_with_words) {
        r[0] = load(&x, RLX); /* all has been joined: the newest values */
        r[1] = load(&y, RLX);
    }
    hora__mutex_destroy(&lock);
}

static void note_outcome(void)
{
    char text[MOST_LOADS + 1] = "";
    for (int i = 0; i < current->loads; i++)
        text[i] = (char)('0' + r[i]);
    for (int i = 0; i < seen.count; i++)
        if (strcmp(seen.texts[i], text) == 0)
            return;
    int at = seen.count++;
    for (; at > 0 && strcmp(seen.texts[at - 1], text) > 0; at--)
        memcpy(seen.texts[at], seen.texts[at - 1], sizeof text);
    memcpy(seen.texts[at], text, sizeof text);
}

static bool run_once(const struct hora__sim_options *options)
{
    seen.schedules++;
    if (hora__sim_run(options, body, &result) == HORA__SIM_PASSED) {
        note_outcome();
        return true;
    }
    printf("FAIL %s: %s: %s\n", current->name, hora__sim_verdict_name(result.verdict), result.message);
    return false;
}

static bool run_all(void)
{
    struct hora__sim_options options = {.mode = HORA__SIM_DFS, .bound = BOUND, .depth = 3, .weak = true};
    hora__sim_dfs_reset();
    do
        if (!run_once(&options))
            return false;
    while (seen.schedules < MOST_DFS && hora__sim_dfs_next());
    options.mode = HORA__SIM_RANDOM;
    for (options.seed = 1; options.seed <= RANDOM_SCHEDULES; options.seed++)
        if (!run_once(&options))
            return false;
    return true;
}

/* True if an outcome is in the list; *ret_hidden: in parentheses. */
static bool is_allowed(const char *outcome, bool *ret_hidden)
{
    const char *at = strstr(current->allowed, outcome);
    *ret_hidden = at != NULL && at > current->allowed && at[-1] == '(';
    return at != NULL;
}

/* True if all outcomes of the list that are not in parentheses were seen; prints the others. */
static bool print_missing(void)
{
    bool complete = true;
    char list[256];
    (void)snprintf(list, sizeof list, "%s", current->allowed);
    for (char *rest = NULL, *word = strtok_r(list, " ()", &rest); word != NULL;
         word = strtok_r(NULL, " ()", &rest)) {
        bool was_seen = false;
        bool hidden;
        for (int i = 0; i < seen.count; i++)
            was_seen = was_seen || strcmp(seen.texts[i], word) == 0;
        if (was_seen)
            continue;
        (void)is_allowed(word, &hidden);
        printf(" %s", word);
        complete = complete && hidden;
    }
    return complete;
}

/* True if the litmus has the right outcomes. */
static bool check(void)
{
    seen.count = 0;
    seen.schedules = 0;
    if (!run_all())
        return false;
    bool passed = true;
    bool hidden;
    printf("%-30s seen", current->name);
    for (int i = 0; i < seen.count; i++) {
        bool fits = is_allowed(seen.texts[i], &hidden);
        printf(fits ? " %s" : " %s FORBIDDEN", seen.texts[i]);
        passed = passed && fits;
    }
    printf("; not seen");
    if (!print_missing())
        passed = false;
    printf("; %" PRIu64 " schedules%s\n", seen.schedules, passed ? "" : ", FAILED");
    return passed;
}

/* ---- tests that are not litmus tests ---- */

static hora__atomic *published;

THREAD(publish, hora__atomic_init(&y, 7); published = &y; store(&x, 1, (memory_order)plain);)
THREAD(use, if (load(&x, ACQ) == 1)(void) load(published, RLX);)

/* A word is initialised by one thread and used by another: with release all is well, relaxed it is a race. */
static const struct litmus publication = {.name = "publication", .threads = {publish, use}, .allowed = ""};

static bool finds_a_race(memory_order order)
{
    struct hora__sim_options options = {.mode = HORA__SIM_RANDOM, .weak = true};
    bool found = false;
    current = &publication;
    plain = order;
    for (options.seed = 1; options.seed <= 1000 && !found; options.seed++)
        found = hora__sim_run(&options, body, &result) == HORA__SIM_FAILED;
    return found;
}

int main(void)
{
    int failed = 0;
    int count = (int)(sizeof litmuses / sizeof litmuses[0]);
    for (current = litmuses; current < litmuses + count; current++)
        failed += !check();
    bool races = finds_a_race(RLX) && !finds_a_race(REL);
    printf("%-30s %s\n", "publication", races ? "relaxed is a race, release is none" : "FAILED");
    failed += !races;
    printf("%d passed, %d failed\n", count + 1 - failed, failed);
    return failed > 0;
}
