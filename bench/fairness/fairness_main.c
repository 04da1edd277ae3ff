/* SPDX-License-Identifier: Apache-2.0 */
/* fairness_main.c - measures how long tasks of each kind wait: priorities under overload, a hot key, slow
 * tasks beside fast ones
 *
 *     fairness SECONDS [QUANTILES [COURSE]]
 *
 * Prints tables; the files are for plots. SECONDS is at least 20, because strict priorities need some time to
 * show.
 *
 * How it works    A pool of four threads gets a load for SECONDS of virtual time, and then completes
 *                 the tasks that are left. The same load is given to a plain pool and to pools with
 *                 admission.
 * What must hold  1. Each task starts in the nanosecond that hora/admission.h determines: see rule.c.
 *                 2. Priorities: when a task starts, no waiting task has waited longer by more than three
 *                    times the ageing, which is the distance between urgent and low. Without ageing, low
 *                    tasks wait longer.
 *                 3. Keys: tasks of a key run one at a time, in order. The 99th percentile of the waits of
 *                    other keys is at most one and a half times that without keys.
 *                 4. Classes: never more tasks run at once than the limit, or than the threads minus the
 *                    reserve of the other class, and never more start in any interval than the rate. With
 *                    each of these, the 99th percentile of the waits of fast tasks is at most a fifth of that
 *                    without classes.
 * Output          The tables of docs/guide/steering.md. */
#include <inttypes.h>
#include <stdlib.h>

#include "../measure.h"
#include "fairness.h"

enum { LEAST_SECONDS = 20 };
enum { FAST, SLOW };  /* kinds of the load with classes */
enum { HOT, OTHERS }; /* kinds of the load with keys */

static FILE *quantiles; /* NULL: not requested */
static FILE *course;    /* NULL: not requested */

/* Runs a load with one setting, checks the result, and prints it. */
static void run(const char *workload, const struct setting *setting, struct load *load)
{
    run_trial(setting, load);
    check_by_rule(setting, load);
    show_rows(setting, load);
    if (quantiles != NULL)
        write_quantiles(quantiles, workload, setting, load);
    if (course != NULL)
        write_course(course, workload, setting, load);
}

/* ---- priorities ---- */

static const struct setting PRIORITIES[] = {
    {.name = "no priorities"},
    {.name = "ageing 1 s", .has_admission = true, .has_priorities = true, .ageing = HORA_SECONDS(1)},
    {.name = "ageing 5 s", .has_admission = true, .has_priorities = true, .ageing = HORA_SECONDS(5)},
    {.name = "strict", .has_admission = true, .has_priorities = true, .ageing = HORA_FOREVER},
};
/* Indices of PRIORITIES; LEVELS: between urgent and low; LOW: the kind of low tasks. */
enum { PLAIN, ONE_SECOND, FIVE_SECONDS, STRICT, PRIORITY_SETTINGS, LEVELS = 3, LOW = 3 };

static void priorities(int seconds)
{
    struct load load;
    hora_ns passed_over[PRIORITY_SETTINGS];
    hora_ns longest[PRIORITY_SETTINGS]; /* wait of a low task */

    show_head("Priorities: 120 % of what the pool can do");
    load_with_priorities(&load, 1.2, seconds);
    for (int i = 0; i < PRIORITY_SETTINGS; i++) {
        run("priorities", &PRIORITIES[i], &load);
        passed_over[i] = most_passed_over(&load);
        longest[i] = quantile_of(&load, LOW, 1);
    }
    load_free(&load);
    printf("\nWhen a task began, one that went on waiting had waited longer than it by at most:\n\n");
    for (int i = 0; i < PRIORITY_SETTINGS; i++) {
        char text[16];
        printf("- %s: %s\n", PRIORITIES[i].name, time_text(passed_over[i], text));
    }
    printf("\n");
    MUST(passed_over[PLAIN] == 0);
    MUST(passed_over[ONE_SECOND] <= LEVELS * HORA_SECONDS(1));
    MUST(passed_over[FIVE_SECONDS] <= LEVELS * HORA_SECONDS(5));
    MUST(longest[STRICT] > longest[ONE_SECOND] && longest[STRICT] > longest[FIVE_SECONDS]);
}

/* ---- keys ---- */

/* Runs a load with a hot key without and with keys, and compares the two. */
static void keys_at(double share, int seconds, const struct setting *without, const struct setting *with)
{
    struct load load;

    load_with_keys(&load, share, seconds);
    run("keys", without, &load);
    hora_ns before = quantile_of(&load, OTHERS, 0.99);
    run("keys", with, &load);
    MUST(keys_in_order(&load));
    MUST(quantile_of(&load, OTHERS, 0.99) <= before * 3 / 2);
    load_free(&load);
}

static void keys(int seconds)
{
    show_head("Keys: one of a thousand has 30 % of the tasks");
    keys_at(0.7, seconds, &(struct setting){.name = "70 % load, no keys"},
            &(struct setting){.name = "70 % load, keys", .has_admission = true, .has_keys = true});
    keys_at(0.9, seconds, &(struct setting){.name = "90 % load, no keys"},
            &(struct setting){.name = "90 % load, keys", .has_admission = true, .has_keys = true});
    printf("\n");
}

/* ---- classes ---- */

#define CLASS(...) {.struct_size = sizeof(hora_class_options), __VA_ARGS__}

static const struct setting CLASSES[] = {
    {.name = "no classes"},
    {.name = "slow: limit 2", .has_admission = true, .classes = {[SLOW] = CLASS(.name = "slow", .limit = 2)}},
    {.name = "fast: reserve 1",
     .has_admission = true,
     .classes = {[FAST] = CLASS(.name = "fast", .reserve = 1)}},
    {.name = "slow: 2 in 100 ms",
     .has_admission = true,
     .classes = {[SLOW] = CLASS(.name = "slow", .rate = 2, .per = HORA_MS(100))}},
};
enum { NONE, LIMIT, RESERVE, RATE, CLASS_SETTINGS };

static void classes(int seconds)
{
    struct load load;
    hora_ns before = 0; /* p99 of the waits of fast tasks without classes */

    show_head("Classes: bursts of slow tasks beside fast ones");
    load_with_classes(&load, seconds);
    for (int i = 0; i < CLASS_SETTINGS; i++) {
        run("classes", &CLASSES[i], &load);
        hora_ns wait = quantile_of(&load, FAST, 0.99);
        if (i == NONE)
            before = wait;
        MUST(i == NONE || wait <= before / 5);
        MUST(i != LIMIT || most_at_once(&load, SLOW) == 2);
        MUST(i != RESERVE || most_at_once(&load, SLOW) == THREADS - 1);
        MUST(i != RATE || most_begun(&load, SLOW, HORA_MS(100)) == 2);
    }
    load_free(&load);
}

/* Opens an output file and writes its head line. */
static FILE *open_file(const char *name, const char *head)
{
    FILE *file = fopen(name, "we");
    MUST(file != NULL);
    fprintf(file, "workload\tpool\tkind\t%s\n", head);
    return file;
}

int main(int count, char **arguments)
{
    int seconds = count > 1 ? atoi(arguments[1]) : 0;
    if (seconds < LEAST_SECONDS || count > 4) {
        fprintf(stderr, "usage: %s SECONDS [QUANTILES [COURSE]]\n", arguments[0]);
        return 2;
    }
    if (count > 2)
        quantiles = open_file(arguments[2], "tasks\tshare\twaited_ns");
    if (count > 3)
        course = open_file(arguments[3], "came_s\tlongest_ns");
    priorities(seconds);
    keys(seconds);
    classes(seconds);
    MUST(quantiles == NULL || fclose(quantiles) == 0);
    MUST(course == NULL || fclose(course) == 0);
    return 0;
}
