/* SPDX-License-Identifier: Apache-2.0 */
/* fairness.h - how long tasks of each kind wait in a pool with admission: shared by the files of this program
 *
 * load.c     decides which tasks are submitted, when, and how long they take
 * trial.c    runs them on a pool, in virtual time
 * rule.c     computes when each has to start, from hora/admission.h alone, and checks what must never happen
 * show.c     prints how long they waited
 *
 * No two events happen in the same nanosecond, so that all results are the same in each run. */
#ifndef HORA_BENCH_FAIRNESS_H
#define HORA_BENCH_FAIRNESS_H

#include <stdbool.h>
#include <stdio.h>

#include <hora/hora.h>

/* THREADS: of the pool. MOST_KINDS: of tasks in a load. KEYS: the number of keys. */
enum { THREADS = 4, MOST_KINDS = 4, KEYS = 1000 };

/* A task. Times are on the virtual clock. */
struct piece {
    hora_ns came;  /* when it is submitted */
    hora_ns takes; /* how long it runs */
    hora_ns began; /* when it started; run_trial sets it */
    int kind;      /* index into load.kinds */
    int key;       /* 1 to KEYS; the hot one is 1 */
};

/* All tasks, in the order in which they are submitted. */
struct load {
    const char *kinds[MOST_KINDS]; /* names of the kinds */
    int kind_count;
    struct piece *pieces;
    long count; /* of pieces */
};

/* How a pool is configured for a load. */
struct setting {
    const char *name;
    bool has_admission;  /* false: a plain pool, and all that follows is unused */
    bool has_priorities; /* the kinds are urgent, high, normal and low */
    hora_ns ageing;      /* of the admission */
    bool has_keys;
    hora_class_options classes[MOST_KINDS]; /* per kind; without a name: no class */
};

/* Make a load for `seconds`. `share` is how much of the pool's time the tasks need: 1 is all of it. */
void load_with_priorities(struct load *load, double share, int seconds);
void load_with_keys(struct load *load, double share, int seconds);
/* Makes a load of many fast tasks and bursts of slow ones. */
void load_with_classes(struct load *load, int seconds);
void load_free(struct load *load);

/* Returns the priority of a task by its kind. */
hora_priority priority_of(const struct piece *piece);

/* Runs a load on a pool with this setting and sets when each task began. */
void run_trial(const struct setting *setting, struct load *load);

/* Ends the program if a task did not start in exactly the nanosecond in which it should. */
void check_by_rule(const struct setting *setting, const struct load *load);

/* Compares each task that starts with the oldest task that goes on waiting at that moment. Returns how much
 * longer the latter had waited, at most. */
hora_ns most_passed_over(const struct load *load);

/* Return how many tasks of a kind ran at the same time, at most; and how many started within any time of
 * `per`. */
int most_at_once(const struct load *load, int kind);
int most_begun(const struct load *load, int kind, hora_ns per);

/* Returns true if the tasks of each key ran one at a time, in the order in which they were submitted. */
bool keys_in_order(const struct load *load);

/* Return how long the tasks of a kind waited, sorted, which the caller frees; and a quantile of that. */
hora_ns *waits_of(const struct load *load, int kind, long *ret_count);
hora_ns quantile_of(const struct load *load, int kind, double share);

/* show_head and show_rows print a table in Markdown. For plots, write_quantiles writes a line for each of
 * many quantiles, and write_course the longest wait of the tasks submitted in each two seconds. time_text
 * writes a time with its unit. */
void show_head(const char *workload);
void show_rows(const struct setting *setting, const struct load *load);
void write_quantiles(FILE *file, const char *workload, const struct setting *setting,
                     const struct load *load);
void write_course(FILE *file, const char *workload, const struct setting *setting, const struct load *load);
const char *time_text(hora_ns time, char text[16]);

#endif
