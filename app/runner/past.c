/* SPDX-License-Identifier: Apache-2.0 */
/* past.c - the earlier attempts of a firing, from the history, before a later one starts
 *
 * The store counts attempts, but does not know what they were. The history does: an attempt that failed uses
 * one of `retries`. An attempt that a crash or the end of a runner has interrupted does not; on_crash says
 * whether another one follows it. So a later attempt waits until its past is known. If the history cannot be
 * read, the question is asked again until there is an answer, or until the run has to stop. */
#include <stdlib.h>

#include "command.h"
#include "runner/internal.h"
#include "text.h"

#define ASK_AGAIN HORA_SECONDS(1)

enum { FEW_RECORDS = 20 };

/* Earlier attempts of a firing, as the history has them. */
struct past {
    struct run *run;
    hora_store *store;
    char *key;
    hora_instant planned;
    int attempt;
    int failed, lost;
    bool last_was_lost;      /* the latest one */
    int64_t read, oldest_id; /* records that were read */
    int error;
    hora_error reason;
};

/* Receives the records of the job, the latest first. Returns 1 when no further one can be of this firing. */
static int add_record(const hora_run_record *record, void *arg)
{
    struct past *past = arg;
    past->read++;
    past->oldest_id = record->id;
    if (record->ended.ns < past->planned.ns)
        return 1;
    if (record->planned.ns / 1000 != past->planned.ns / 1000 || record->outcome == HORA_RUN_SKIPPED)
        return 0;
    bool lost = record->outcome == HORA_RUN_LOST || record->code == CODE_INTERRUPTED;
    if (past->lost + past->failed == 0)
        past->last_was_lost = lost;
    if (lost)
        past->lost++;
    else
        past->failed++;
    return record->attempt == 1;
}

/* A thread of the pool. Runs of the job that overlap this one may have any number of records in between. */
static void read_records(void *arg)
{
    struct past *past = arg;
    int64_t limit = 2 * past->attempt + FEW_RECORDS;
    do {
        past->read = 0;
        past->error = hora_store_history(
            past->store, HORA_HISTORY_FILTER(.key = past->key, .limit = limit, .before_id = past->oldest_id),
            add_record, past, &past->reason);
    } while (past->error == 0 && past->read == limit);
}

static void past_free(struct past *past)
{
    free(past->key);
    free(past);
}

static void unknown(struct past *past)
{
    struct run *run = past->run;
    if (run->stop == STOP_NOT && hora_run_is_lost(run->store_run))
        run->stop = STOP_LOST;
    if (run->stop != STOP_NOT) {
        run_proceed(run);
        return;
    }
    event_report(run->runner, EVENT_WARNING, "store", run->job->name, json_pack("{s:s}", "run", run->id),
                 "its earlier attempts cannot be read yet: %s", past->reason.message);
    loop_timer_start(&run->timer, ASK_AGAIN);
}

static void known(void *arg)
{
    struct past *past = arg;
    struct run *run = past->run;
    if (past->error < 0) {
        unknown(past);
        past_free(past);
        return;
    }
    bool was_lost = past->last_was_lost;
    int lost = past->lost;
    run->failed_attempts = past->failed;
    past_free(past);
    bool may_run = run->stop == STOP_NOT;
    if (may_run && was_lost && run->job->on_crash != CRASH_RERUN) {
        bool skips = run->job->on_crash == CRASH_SKIP;
        run_explain(run, "an earlier attempt was interrupted, and on_crash is %s", skips ? "skip" : "fail");
        run_finish(run, skips ? RESULT_SKIPPED : RESULT_FAILED);
    } else if (may_run && lost >= MAX_CRASHES) {
        run_explain(run, "%d attempts were interrupted", lost);
        run_finish(run, RESULT_FAILED);
    } else {
        run_proceed(run);
    }
}

void past_ask(struct run *run)
{
    struct past *past = memory(sizeof *past);
    *past = (struct past){.run = run,
                          .store = run->runner->store,
                          .key = text_copy(run->key),
                          .planned = run->planned,
                          .attempt = run->attempt};
    run->run_state = RUN_WAITING;
    loop_ask(run->runner->loop, read_records, known, past);
}
