/* SPDX-License-Identifier: Apache-2.0 */
/* trial.c - runs a load on a pool in virtual time, where a running task sleeps
 *
 * Virtual time stands still while a thread can run. So the pool itself takes no time, and a task starts
 * exactly when the pool lets it. */
#include <pthread.h>
#include <stdlib.h>

#include "../measure.h"
#include "fairness.h"

static const hora_ns LONG_ENOUGH = HORA_SECONDS(24 * 3600); /* for all tasks to end */

struct trial {
    const struct setting *setting;
    struct load *load;
    hora_virtual_clock *vclock;
    const hora_clock *view; /* the monotonic view of it */
    hora_pool *pool;
    hora_class *classes[MOST_KINDS]; /* by kind; NULL: none */
};

static const hora_clock *task_clock; /* the view of the current trial, for tasks */

/* The body of each task: notes when it started, and sleeps for its duration. */
static int run_piece(void *arg, void **ret_result)
{
    struct piece *piece = arg;

    (void)ret_result;
    piece->began = hora_clock_now(task_clock);
    return hora_clock_sleep(task_clock, piece->takes);
}

/* Submits a task with the options that the setting demands. */
static void submit(struct trial *trial, struct piece *piece)
{
    const struct setting *setting = trial->setting;
    const hora_task *task = HORA_TASK(run_piece, piece);

    if (!setting->has_admission) {
        MUST(hora_pool_execute(trial->pool, task) == 0);
        return;
    }
    hora_task_options options = HORA_INIT(hora_task_options);
    options.task_class = trial->classes[piece->kind];
    if (setting->has_keys)
        options.key = (uint64_t)piece->key;
    if (setting->has_priorities)
        options.priority = priority_of(piece);
    MUST(hora_pool_submit_with(trial->pool, task, &options, NULL, NULL) == 0);
}

/* The function of the producer: submits each task at its time. */
static void *produce(void *arg)
{
    struct trial *trial = arg;

    MUST(hora_virtual_clock_attach(trial->vclock) == 0);
    for (long i = 0; i < trial->load->count; i++) {
        struct piece *piece = &trial->load->pieces[i];
        MUST(hora_clock_sleep(trial->view, piece->came - hora_clock_now(trial->view)) == 0);
        submit(trial, piece);
    }
    return NULL;
}

/* Makes the pool and its classes. */
static void open_pool(struct trial *trial)
{
    const struct setting *setting = trial->setting;
    hora_pool_options options = HORA_INIT(hora_pool_options);

    options.core_threads = THREADS;
    options.clock = trial->view;
    options.admission = setting->has_admission ? HORA_ADMISSION(.ageing = setting->ageing) : NULL;
    MUST(hora_pool_new(&options, &trial->pool, NULL) == 0);
    for (int i = 0; i < MOST_KINDS; i++)
        if (setting->classes[i].name != NULL)
            MUST(hora_class_new(trial->pool, &setting->classes[i], &trial->classes[i], NULL) == 0);
}

void run_trial(const struct setting *setting, struct load *load)
{
    struct trial trial = {.setting = setting, .load = load};
    pthread_t producer;

    for (long i = 0; i < load->count; i++)
        load->pieces[i].began = -1;
    MUST(hora_virtual_clock_new(NULL, &trial.vclock, NULL) == 0);
    task_clock = trial.view = hora_virtual_clock_view(trial.vclock, HORA_CLOCK_MONOTONIC);
    open_pool(&trial);
    MUST(hora_virtual_clock_expect(trial.vclock, 1) == 0);
    MUST(pthread_create(&producer, NULL, produce, &trial) == 0);
    MUST(hora_virtual_clock_run(trial.vclock, LONG_ENOUGH) == 0);
    MUST(pthread_join(producer, NULL) == 0);
    MUST(hora_pool_shutdown(trial.pool) == 0);
    MUST(hora_pool_await_termination_for(trial.pool, HORA_FOREVER) == 0);
    MUST(hora_pool_free(trial.pool) == 0);
    MUST(hora_virtual_clock_free(trial.vclock) == 0);
}
