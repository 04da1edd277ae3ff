/* SPDX-License-Identifier: Apache-2.0 */
/* test_scheduler_cancellation.c - the effect of shutdown on each kind of task, for all policies
 *
 * Two waves of four tasks each: submitted, once with a delay, at a fixed rate, with a fixed delay. The first
 * wave occupies all four workers at the gate; the second is queued. Then the scheduler is shut down, the gate
 * opens, and time passes. */
#include "scheduler_support.h"

enum { CODE = 7, WAVES = 2, KINDS = 4 };
enum kind_of_task { SUBMITTED, DELAYED, AT_RATE, WITH_DELAY };

/* One cell of the matrix. */
struct cell {
    bool decorated;
    bool cancel_delayed;
    bool continue_periodic;
    bool keep_cancelled;
    bool by_setter; /* not by the options */
    bool due;       /* the delayed task of the second wave is due at shutdown */
    bool by_hand;   /* series that may go on are cancelled one by one */
};

enum { CELLS = 64 };

struct waves {
    struct rig r;
    struct job jobs[WAVES][KINDS];
    hora_future *futures[WAVES][KINDS];
};

static void open_waves(struct waves *w, const struct cell *cell)
{
    if (cell->by_setter) {
        scheduler_open(&w->r, cell->decorated, HORA_SCHEDULER_OPTIONS(.core_threads = KINDS));
        CHECK(!rig_stats_now(&w->r).cancel_delayed);
        CHECK(!rig_stats_now(&w->r).continue_periodic);
        CHECK(!rig_stats_now(&w->r).keep_cancelled);
        CHECK_OK(hora_scheduler_set_cancel_delayed(w->r.pool, cell->cancel_delayed));
        CHECK_OK(hora_scheduler_set_continue_periodic(w->r.pool, cell->continue_periodic));
        CHECK_OK(hora_scheduler_set_keep_cancelled(w->r.pool, cell->keep_cancelled));
    } else {
        scheduler_open(&w->r, cell->decorated,
                       HORA_SCHEDULER_OPTIONS(.core_threads = KINDS, .cancel_delayed = cell->cancel_delayed,
                                              .continue_periodic = cell->continue_periodic,
                                              .keep_cancelled = cell->keep_cancelled));
    }
    CHECK_INT(rig_stats_now(&w->r).cancel_delayed, cell->cancel_delayed);
    CHECK_INT(rig_stats_now(&w->r).continue_periodic, cell->continue_periodic);
    CHECK_INT(rig_stats_now(&w->r).keep_cancelled, cell->keep_cancelled);
}

/* Series that may go on end by failing, or they never would. */
static void start_wave(struct waves *w, int wave, const struct cell *cell)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct job *job = &w->jobs[wave][kind];
        hora_future **future = &w->futures[wave][kind];

        *job = (struct job)A_WAITING_JOB(&w->r);
        if (kind >= AT_RATE && cell->continue_periodic)
            job->code = CODE;
        switch ((enum kind_of_task)kind) {
        case SUBMITTED:
            *future = submit_job(&w->r, job);
            break;
        case DELAYED:
            *future = schedule_job(&w->r, job, HORA_MS(1));
            break;
        case AT_RATE:
            *future = schedule_series(&w->r, RATE, job, HORA_MS(1), HORA_MS(1));
            break;
        case WITH_DELAY:
            *future = schedule_series(&w->r, GAP, job, HORA_MS(1), HORA_MS(1));
            break;
        }
    }
}

static void check_refuses_more(struct waves *w)
{
    struct job job = A_JOB(&w->r);
    hora_future *future = (hora_future *)untouched;

    CHECK_ERROR(hora_pool_submit(w->r.pool, JOB(&job), &future), HORA_EREJECTED);
    for (int form = ONCE; form < FORMS; form++)
        CHECK_ERROR(schedule_form(&w->r, (enum form)form, JOB(&job), HORA_MS(form), HORA_MS(1), &future),
                    HORA_EREJECTED);
    CHECK_POINTER(future, untouched);
    CHECK_INT(job.runs + job.drops, 0);
}

static bool may_run(const struct cell *cell, int kind)
{
    switch ((enum kind_of_task)kind) {
    case SUBMITTED:
        return true;
    case DELAYED:
        return cell->due || !cell->cancel_delayed;
    case AT_RATE:
    case WITH_DELAY:
        break;
    }
    return cell->continue_periodic;
}

/* While the first wave still runs. */
static void check_after_shutdown(struct waves *w, const struct cell *cell)
{
    int queued = 0;

    CHECK(hora_pool_is_shutdown(w->r.pool));
    CHECK(hora_pool_is_terminating(w->r.pool));
    CHECK(!hora_pool_is_terminated(w->r.pool));
    for (int kind = 0; kind < KINDS; kind++) {
        hora_future *second = w->futures[1][kind];

        CHECK_NOT_DONE(w->futures[0][kind]);
        CHECK_INT(is_queued(&w->r, second), may_run(cell, kind));
        CHECK_INT(hora_future_is_cancelled(second), !may_run(cell, kind));
        CHECK_INT(hora_future_is_done(second), !may_run(cell, kind));
        CHECK_INT(w->jobs[1][kind].drops, !may_run(cell, kind));
        queued += may_run(cell, kind);
    }
    CHECK_INT(rig_stats(&w->r).queued, queued);
    CHECK_INT(rig_stats(&w->r).active, KINDS);
    CHECK_INT(rig_stats(&w->r).cancelled, KINDS - queued);
}

static void cancel_series(struct waves *w)
{
    for (int kind = AT_RATE; kind < KINDS; kind++) {
        CHECK_INT(hora_future_cancel(w->futures[0][kind], false), HORA_CANCEL_RUNNING);
        CHECK_INT(hora_future_cancel(w->futures[1][kind], false), HORA_CANCEL_REMOVED);
    }
}

static void check_series(struct waves *w, const struct cell *cell, int wave, int kind)
{
    hora_future *future = w->futures[wave][kind];
    bool goes_on = cell->continue_periodic && !cell->by_hand;

    if (!goes_on) {
        CHECK_DONE(future, HORA_ECANCELED, NULL);
    } else {
        CHECK_DONE(future, HORA_EFAILED, NULL);
        CHECK_INT(hora_future_failure(future), CODE);
    }
    CHECK_JOB(&w->jobs[wave][kind], wave == 0 || goes_on ? 1 : 0);
}

static void check_outcomes(struct waves *w, const struct cell *cell)
{
    int runs = 0;

    CHECK(hora_pool_is_terminated(w->r.pool));
    CHECK_EMPTY(hora_pool_queue(w->r.pool));
    for (int wave = 0; wave < WAVES; wave++) {
        CHECK_DONE(w->futures[wave][SUBMITTED], 0, &w->jobs[wave][SUBMITTED]);
        if (wave == 0 || may_run(cell, DELAYED))
            CHECK_DONE(w->futures[wave][DELAYED], 0, &w->jobs[wave][DELAYED]);
        else
            CHECK_DONE(w->futures[wave][DELAYED], HORA_ECANCELED, NULL);
        check_series(w, cell, wave, AT_RATE);
        check_series(w, cell, wave, WITH_DELAY);
        for (int kind = 0; kind < KINDS; kind++) {
            runs += w->jobs[wave][kind].runs;
            CHECK_INT(w->jobs[wave][kind].drops, 1);
            CHECK_INT(w->jobs[wave][kind].interrupts, 0);
        }
    }
    CHECK_INT(runs, 4 + 1 + may_run(cell, DELAYED) + (cell->continue_periodic && !cell->by_hand ? 2 : 0));
    if (cell->decorated) {
        CHECK_INT(w->r.wrapped_runs, runs);
        CHECK_INT(w->r.decorated, WAVES * KINDS + 1 + FORMS); /* those that were rejected as well */
    }
    CHECK_BOOKS(w->r.pool);
}

static void check_cell(const struct cell *cell)
{
    struct waves w;

    open_waves(&w, cell);
    start_wave(&w, 0, cell);
    pass(&w.r, HORA_MS(1));
    CHECK_INT(rig_stats(&w.r).active, KINDS);
    CHECK_INT(rig_stats(&w.r).queued, 0);
    start_wave(&w, 1, cell);
    CHECK_INT(rig_stats(&w.r).queued, KINDS);
    if (cell->due)
        pass(&w.r, HORA_MS(1));
    CHECK_OK(hora_pool_shutdown(w.r.pool));
    check_refuses_more(&w);
    check_after_shutdown(&w, cell);
    if (cell->continue_periodic && cell->by_hand)
        cancel_series(&w);
    rig_open_gate(&w.r);
    pass_in_steps(&w.r, HORA_MS(1), 3);
    check_outcomes(&w, cell);
    for (int wave = 0; wave < WAVES; wave++)
        for (int kind = 0; kind < KINDS; kind++)
            hora_future_unref(w.futures[wave][kind]);
    rig_close(&w.r);
}

ON_BOTH_SCHEDULERS(shutdown_cancels_by_its_policies, "testShutdown_cancellation",
                   "CP-STPE8 CP-STPE10 CP-STPE11")
{
    for (int i = 0; i < CELLS; i++)
        check_cell(&(struct cell){.decorated = decorated,
                                  .cancel_delayed = (i & 1) != 0,
                                  .continue_periodic = (i & 2) != 0,
                                  .keep_cancelled = (i & 4) != 0,
                                  .by_setter = (i & 8) != 0,
                                  .due = (i & 16) != 0,
                                  .by_hand = (i & 32) != 0});
}
