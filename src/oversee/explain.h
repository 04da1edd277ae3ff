/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h - what the files that explain share: what is known of a future and of its pool, and how that is said */
#ifndef HORA_OVERSEE_EXPLAIN_H
#define HORA_OVERSEE_EXPLAIN_H

#include <hora/explain.h>

#include "base/say.h"
#include "oversee/oversight.h"

/* What was true of a future while its lock was held. */
struct hora__matter {
    hora_future *future; /* the caller's */
    enum hora__future_state state;
    int failure;
    bool is_listed;
    hora_thread *runner; /* a reference; NULL: nobody runs it */
    hora_pool *pool;     /* who is going to run it, and its queue: references; NULL: nobody */
    hora_queue *queue;
    hora_ns now; /* by the clock of the pool; of a future without one, by its own */
};

/* What was true of a pool while its lock was held. */
struct hora__crowd {
    enum hora__run_state state;
    int workers; /* but for those that are written off */
    int busy;
    int written_off;
    int core_threads;
    int thread_failures;
    int thread_error;
    int runner; /* the number of the worker that runs the matter; 0: none */
    bool runner_is_known;
    struct hora__now_reading runner_now; /* if it is known: what it has noted */
    int longest; /* the number of the worker that has been busy with one task for longest; 0: not known */
    struct hora__now_reading longest_now;
};

void hora__crowd_look(const struct hora__matter *matter, struct hora__crowd *ret_crowd);

/* "resize (img.c:88)", "a task (img.c:88)", "a task". */
void hora__say_task(struct hora__text *out, const char *name, const char *file, int line);

/* That the pool has been shut down, or stopped: a clause that follows another one, or nothing. */
void hora__say_state(struct hora__text *out, const struct hora__crowd *crowd);

/* "; worker 3 has been busy with resize (img.c:88) for 9 s" after these words, if that is known. */
void hora__say_longest(struct hora__text *out, const char *words, const struct hora__matter *matter,
                       const struct hora__crowd *crowd);

/* Why nobody takes what can be taken: the same, and more. */
void hora__say_why_not_taken(struct hora__text *out, const struct hora__matter *matter,
                             const struct hora__crowd *crowd);

/* Who runs it, and since when, if that is known: `ran` < 0 if it is not. */
void hora__say_runner(struct hora__text *out, const struct hora__matter *matter, const struct hora__crowd *crowd,
                      hora_ns ran);

/* ---- explain_scheduled.c: of a future of a scheduler ---- */

/* It is not done, and nobody runs it. */
void hora__explain_scheduled(struct hora__text *out, const struct hora__matter *matter);

/* A run of it is going: since when, or < 0. And what that means for the next one: a clause that follows, or nothing. */
hora_ns hora__explain_run(const struct hora__matter *matter);
void hora__explain_next_run(struct hora__text *out, const struct hora__matter *matter);

/* How a series has come to its end. */
void hora__explain_end(struct hora__text *out, const struct hora__matter *matter);

/* ---- explain_admission.c ---- */

/* In a pool with admission: why a task that is not done, and that no worker runs, does not begin. In a
 * scheduler it is due. */
void hora__explain_admission(struct hora__text *out, const struct hora__matter *matter);

#endif
