/* SPDX-License-Identifier: Apache-2.0 */
/* rules.h - what follows a run: the next firing, another attempt, or the end
 *
 * These functions only compute. All times are microseconds of the store's clock. `next` is the trigger that a
 * node has registered for a definition of HORA__KIND_TRIGGER, and NULL for the other kinds. */
#ifndef HORA_STORE_RULES_H
#define HORA_STORE_RULES_H

#include "backend.h"
#include "definition.h"

/* The first firing of a new task, from `at` or `initial_delay` of the task, or else from its schedule. For a
 * task that names no time of its own, and for delays, *ret_after_now is true and the times count from the
 * store's now. `now` is the store's clock, or an estimate of it, for cron and for triggers. For KIND_TRIGGER
 * without a first time of its own the first firing is now, and a node plans the rest. HORA_EINVAL: it has no
 * time, or only after its end. */
int hora__rules_first(const hora__definition *definition, const hora_durable_task *task, int64_t now,
                      int64_t *ret_due, bool *ret_after_now, hora_error *reason);

/* What a node does with a firing whose time has come. */
typedef enum hora__before {
    /* run it */
    HORA__BEFORE_RUN,
    /* send *ret_settle (START or FORK) to the store, and run it if that is accepted. If FORK is answered with
     * FULL, settle it as skipped: hora__rules_skip */
    HORA__BEFORE_ASK,
    /* do not run it: send *ret_settle, which plans the next firing or ends the series */
    HORA__BEFORE_SKIP,
} hora__before;

/* Decides according to delivery and overlap, and for recurring tasks to `missed` and `grace`. */
hora__before hora__rules_before(const hora__definition *definition, const hora_trigger *next,
                                const hora__claim *claim, int64_t now, hora__settle *ret_settle);

/* After START or FORK was accepted: true if *ret_settle has to be sent, too, before the run. A firing that
 * may overlap and runs at most once needs both, first FORK and then START. */
bool hora__rules_asks_again(const hora__definition *definition, const hora_trigger *next,
                            const hora__claim *claim, int asked, int64_t now, hora__settle *ret_settle);

/* The settlement of a firing that found overlap_max others running. */
void hora__rules_skip(const hora__definition *definition, const hora_trigger *next, const hora__claim *claim,
                      int64_t now, hora__settle *ret_settle);

/* What the handler said of a run that has ended. */
typedef struct hora__run_end {
    int code;
    bool hands_back;          /* it has not begun, whatever the rest says */
    hora_run_outcome outcome; /* HORA_RUN_SKIPPED or HORA_RUN_STOPPED, whatever the code; 0: by the code */
    bool sets_retry;          /* retry_us counts instead of the back-off */
    int64_t retry_us;         /* the pause before the next attempt; negative: there is none */
    hora__bytes note;
} hora__run_end;

/* The settlement after a run. `end` is what the handler said, `run_us` how long it took. `random` is a
 * random number, for jitter. The caller adds owner and note. */
void hora__rules_after(const hora__definition *definition, const hora_trigger *next, const hora__claim *claim,
                       const hora__run_end *end, int64_t run_us, int64_t now, uint64_t random,
                       hora__settle *ret_settle);

#endif
