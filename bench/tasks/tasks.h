/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.h - the functions that a library with a thread pool must implement for W9 to W12
 *
 * Each library is a separate program: tasks_main.c, the driver, and one file that defines `tasks_peer`. A
 * function that a library has no means for is NULL; bench/subjects.py names these and says why. Tasks.java
 * measures the JDK, go/main.go Go.
 *
 * The calling thread is never one of the workers. If the library lets a thread that waits run tasks itself,
 * it may do so. */
#ifndef HORA_BENCH_TASKS_H
#define HORA_BENCH_TASKS_H

#include "../measure.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TASK_FORMS = 1000 }; /* different tasks of W11 */

/* What a task of W9 works on. */
struct cell {
    long value;
};

struct tasks_peer {
    /* Makes a pool of `workers` threads. Called once, before everything else. */
    void (*open)(int workers);
    void (*close)(void);

    /* W9. Each runs `count` tasks and returns when it has seen that all are done. Task i calls
     * cell_add(&cells[i]) and returns what that returns. */

    /* Submits all tasks, then takes each result from the future of its task, in the order of submission, and
     * passes it to cell_check. */
    void (*order)(struct cell *cells, long count);
    /* Submits all tasks to a group and waits for the group. */
    void (*group)(struct cell *cells, long count);
    /* Submits all tasks, then takes the results in the order of completion and passes each to cell_check. */
    void (*completion)(struct cell *cells, long count);
    /* Submits all tasks with one call that waits for all of them, and passes each result to cell_check. */
    void (*batch)(struct cell *cells, long count);
    /* Executes all tasks, each of which counts down a latch after cell_add, and waits for the latch. */
    void (*latch)(struct cell *cells, long count);

    /* W10. Each executes one task, which calls tree_ran or pipe_ran with the number. These call the same
     * function again, from the worker. */
    void (*tree)(long number);
    void (*pipe)(long number);

    /* W11. Executes `count` tasks that call task_ran and do nothing else. Task i has the form forms[i], from
     * 0 to TASK_FORMS - 1; two forms differ as much as two tasks of a program that were written in different
     * places. Called by one thread or by several at once. */
    void (*forms)(const short *forms, long count);

    /* W12 */

    /* Executes a task that calls worker_block. */
    void (*block)(void);
    /* Executes `count` tasks that call task_ran. May return before they have run. */
    void (*execute)(long count);
    /* Submits `count` tasks that call task_ran, then calls workers_release, then waits for the future of each
     * task, in the order of submission, and frees it. `futures` has room for a pointer per task; its pages
     * exist. */
    void (*submit)(void **futures, long count);
};

extern const struct tasks_peer tasks_peer;

/* ---- functions of the driver, which tasks call ---- */

/* Adds 1 to the value of a cell. Returns the cell. */
struct cell *cell_add(struct cell *cell);

/* Fails if the task of the cell has not run. */
void cell_check(const struct cell *cell);

void tree_ran(long number);
void pipe_ran(long number);

/* Counts a task that has run. */
void task_ran(void);

void worker_block(void);    /* waits until workers_release is called */
void workers_release(void); /* all workers go on */

#ifdef __cplusplus
}
#endif

#endif
