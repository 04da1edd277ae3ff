/* SPDX-License-Identifier: Apache-2.0 */
/* admission_support.h - shared by the tests of classes, keys and priorities
 *
 * A trial is a rig whose pool has admission, with a list of the tasks in the order in which they began. An
 * act is such a task. It waits at its own latch until the test lets it end, or ends at once. */
#ifndef HORA_TESTS_API_ADMISSION_SUPPORT_H
#define HORA_TESTS_API_ADMISSION_SUPPORT_H

#include "pool_support.h"

enum { MOST_ACTS = 40 };

struct act {
    struct trial *trial;
    hora_latch *gate; /* NULL: it does not wait */
    hora_future *future;
    int id;
    int code;
    atomic_int begun;
    atomic_int ended;
};

struct trial {
    struct rig r;
    struct act acts[MOST_ACTS];
    int count;
    int order[MOST_ACTS];
    atomic_int begun;
};

/* Opens a pool with this number of core threads, admission, and this ageing (0: the default). */
void trial_open(struct trial *t, int threads, hora_ns ageing);
/* The same with options, to which admission is added; and one that opens only the clock, for a caller that
 * makes the pool. */
void trial_open_with(struct trial *t, const hora_pool_options *options, hora_ns ageing);
void trial_prepare(struct trial *t);
/* All acts that wait are let end; then everything is freed. */
void trial_close(struct trial *t);

/* A class of the trial's pool. NULL only after a failed check. */
hora_class *trial_class(struct trial *t, const hora_class_options *options);

/* Submit an act that waits until the test lets it end, or one that ends at once. The options may be NULL. The
 * ids count from 0. */
struct act *act_waiting(struct trial *t, const hora_task_options *terms);
struct act *act_quick(struct trial *t, const hora_task_options *terms);
/* Only the act: the caller runs act_run by itself. */
struct act *act_new(struct trial *t, bool waits);
int act_run(void *act, void **ret_result);

/* Lets the act end, and waits until everything is at rest. */
void act_let_end(struct act *act);

/* Lets time pass, and waits until everything is at rest. */
void time_passes(struct trial *t, hora_ns time);

/* Checks that everything is at rest, and that exactly these acts have begun, in this order. */
void check_begun(const char *file, int line, struct trial *t, int count, const int *ids);
#define CHECK_BEGUN(trial, ...)                                                                 \
    check_begun(__FILE__, __LINE__, (trial), (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), \
                (const int[]){__VA_ARGS__})

hora_class_info class_info(hora_class *task_class);

#endif
