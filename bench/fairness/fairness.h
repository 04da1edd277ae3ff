/* SPDX-License-Identifier: Apache-2.0 */
/* fairness.h - how long tasks of each kind wait in a pool with admission: what the parts of this program share
 *
 * load.c     which tasks come, when, and how long they take
 * trial.c    lets a pool run them, in virtual time
 * rule.c     says when each has to begin, by hora/admission.h alone, and what must never be seen
 * show.c     prints what they waited
 *
 * No two things happen in the same nanosecond, so that everything is the same from run to run. */
#ifndef HORA_BENCH_FAIRNESS_H
#define HORA_BENCH_FAIRNESS_H

#include <stdbool.h>
#include <stdio.h>

#include <hora/hora.h>

enum { THREADS = 4, MOST_KINDS = 4, KEYS = 1000 };

struct piece {
    hora_ns came;
    hora_ns takes;
    hora_ns began;
    int kind;
    int key; /* 1 to KEYS; the hot one is 1 */
};

/* The tasks, by the time when they come. */
struct load {
    const char *kinds[MOST_KINDS];
    int kind_count;
    struct piece *pieces;
    long count;
};

/* What the pool is told about them. A plain pool: nothing. */
struct setting {
    const char *name;
    bool has_admission;
    bool has_priorities; /* of the kinds: urgent, high, normal, low */
    hora_ns ageing;
    bool has_keys;
    hora_class_options classes[MOST_KINDS]; /* of the kinds; without a name: none */
};

/* All of them for so many seconds. In a mix of four kinds with so much of the pool's time to do: 1 is all of it. */
void load_with_priorities(struct load *load, double share, int seconds);
void load_with_keys(struct load *load, double share, int seconds);
/* Many that are fast, and bursts of some that are slow. */
void load_with_classes(struct load *load, int seconds);
void load_free(struct load *load);

hora_priority priority_of(const struct piece *piece);

/* Sets when each piece began. */
void run_trial(const struct setting *setting, struct load *load);

/* Ends the program if a piece did not begin at the very nanosecond at which it should. */
void check_by_rule(const struct setting *setting, const struct load *load);

/* Of a moment at which a task begins: how much longer than it another has waited already that goes on waiting, at most. */
hora_ns most_passed_over(const struct load *load);

/* How many of a kind run at the same time, at most; how many begin in any time of `per`. */
int most_at_once(const struct load *load, int kind);
int most_begun(const struct load *load, int kind, hora_ns per);

/* Whether the tasks of each key ran one at a time, in the order in which they came. */
bool keys_in_order(const struct load *load);

/* What tasks of a kind waited, in order. To be freed. */
hora_ns *waits_of(const struct load *load, int kind, long *ret_count);
hora_ns quantile_of(const struct load *load, int kind, double share);

/* Rows of a table for people, as Markdown; and, for plots, a line for each of many quantiles, or the longest wait of those that came
 * in each two seconds. */
void show_head(const char *workload);
void show_rows(const struct setting *setting, const struct load *load);
void write_quantiles(FILE *file, const char *workload, const struct setting *setting,
                     const struct load *load);
void write_course(FILE *file, const char *workload, const struct setting *setting, const struct load *load);
const char *time_text(hora_ns time, char text[16]);

#endif
