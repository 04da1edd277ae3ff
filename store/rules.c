/* SPDX-License-Identifier: Apache-2.0 */
/* rules.c - what follows a run: the next firing, another attempt, or the end
 *
 * Missed     When a node is about to start the first attempt of a firing and the planned time is more than
 *            missed_after ago, the policy looks at all planned times that have passed. It decides for one of
 *            them. If that is not the one in hand, the firing is settled as skipped and advanced to it, so
 *            the store knows which planned time runs, and all attempts of it are one firing. Later attempts
 *            are not subject to the policy: the firing may have had an effect. Neither is a firing that a
 *            handler has handed back: it was taken up in time.
 * Busy       When a run has ended that started at S and ended at E, let N be the planned time after the one
 *            that ran. Times after S and up to E came during the run. If N is one of them, the rule `busy`
 *            decides: HORA_BUSY_SKIP continues with the first time after E, HORA_BUSY_QUEUE with the latest
 *            busy_max of the times from N to E. If N came before S, it is planned as it is, and counts as
 *            missed when it starts; but HORA_BUSY_QUEUE decides here, too, as long as N was not missed at S,
 *            because the queue could grow without limit otherwise. A firing in the queue is late, for
 *            `missed`, from the end of the latest run on (last_end of the claim): the run before it does not
 *            make it miss its time, but a stop of all nodes and a pause of the task do.
 * Grace      No attempt starts later than `grace` after the planned time.
 * Overlap    The row with the key is the next firing. FORK puts the following firing into a new row and
 *            leaves the old one to the run.
 * End        A series that has no further time ends with DONE. If that must be known before the run (START,
 *            FORK), the following firing is planned for HORA__NEVER and due at once: the node that claims it
 *            settles it with DONE.
 *
 * The search among the times of cron and triggers visits at most COUNTED of them. If more have passed, the
 * firing advances by that many, and the search continues when it is claimed again, by `missed`. For `busy`, a
 * cron expression is searched from E on, so only the number of skipped times is limited. */
#include "rules.h"

#include <assert.h>

#include "fault.h"
#include "reason.h"
#include "units.h"

enum { COUNTED = 10000 };

static bool is_recurring(const hora__definition *definition)
{
    return definition->kind != HORA__KIND_ONCE;
}

static int64_t difference(int64_t a, int64_t b)
{
    int64_t result;
    if (__builtin_sub_overflow(a, b, &result))
        return a < b ? INT64_MIN : INT64_MAX;
    return result;
}

/* Returns planned + k * period, or HORA__NEVER. */
static int64_t at(int64_t planned, int64_t period, int64_t k)
{
    int64_t distance, time;
    if (__builtin_mul_overflow(period, k, &distance) || __builtin_add_overflow(planned, distance, &time))
        return HORA__NEVER;
    return time;
}

/* ---- the time after another ---- */

static int64_t next_of_cron(const hora__definition *definition, int64_t planned)
{
    hora_instant next;
    int found = hora_cron_next(definition->cron, definition->zone, hora__instant_of_us(planned), &next);
    return found > 0 ? hora__us_ceil(next) : HORA__NEVER;
}

/* When a run has ended, and what it was. */
typedef struct last_run {
    int64_t planned, end, run_us;
    int64_t runs;
} last_run;

/* A trigger that does not move on would give two firings the same planned time, and thereby the same
 * idempotency key. */
static int64_t next_of_trigger(const hora_trigger *trigger, const last_run *last, int64_t now)
{
    hora_trigger_context context = HORA_INIT(hora_trigger_context);
    context.clock = HORA_CLOCK_WALL;
    context.now = hora__ns_of_us(now);
    context.last_planned = hora__ns_of_us(last->planned);
    context.last_start = hora__ns_of_us(difference(last->end, last->run_us));
    context.last_end = hora__ns_of_us(last->end);
    context.runs = last->runs;
    hora_ns next = hora_trigger_next(trigger, &context);
    if (next == HORA_NEVER || next == HORA_FOREVER)
        return HORA__NEVER;
    int64_t us = hora__us_of_ns(next);
    return us > last->planned ? us : hora__sum(last->planned, 1);
}

/* The planned time after last->planned by the schedule alone, for kinds that have one. */
static int64_t next_of(const hora__definition *definition, const hora_trigger *trigger, const last_run *last,
                       int64_t now)
{
    switch (definition->kind) {
    case HORA__KIND_RATE:
        return at(last->planned, definition->period_us, 1);
    case HORA__KIND_CRON:
        return next_of_cron(definition, last->planned);
    case HORA__KIND_TRIGGER:
        return next_of_trigger(trigger, last, now);
    case HORA__KIND_ONCE:
    case HORA__KIND_DELAY:
    default:
        return HORA__NEVER;
    }
}

/* Plans the firing after this one: sets planned, due and after_now. Returns false if there is none. */
static bool plan_next(const hora__definition *definition, const hora_trigger *trigger,
                      const hora__claim *claim, int64_t run_us, int64_t now, hora__settle *settle)
{
    assert(is_recurring(definition));
    if (hora__sum(claim->firings, 1) >= hora__sum(definition->count, HORA__STORE_FAULT(ONE_FIRING_TOO_MANY)))
        return false;
    if (definition->kind == HORA__KIND_DELAY) {
        settle->planned = settle->due = definition->period_us;
        settle->after_now = true;
        return hora__sum(now, definition->period_us) <= definition->end_us;
    }
    last_run last = {claim->planned, now, run_us, hora__sum(claim->firings, 1)};
    settle->planned = settle->due = next_of(definition, trigger, &last, now);
    return settle->planned != HORA__NEVER && settle->planned <= definition->end_us;
}

/* Plans the firing after this one for START and FORK. */
static void plan_ahead(const hora__definition *definition, const hora_trigger *trigger,
                       const hora__claim *claim, int64_t now, hora__settle *settle)
{
    if (plan_next(definition, trigger, claim, 0, now, settle))
        return;
    settle->planned = HORA__NEVER;
    settle->due = now;
    settle->after_now = false;
}

/* ---- the first time ---- */

static int refuse_never(hora_error *reason)
{
    return hora__store_refuse(reason, HORA_EINVAL, NULL,
                              "the task has no run: its first time would be after its end, or never");
}

int hora__rules_first(const hora__definition *definition, const hora_durable_task *task, int64_t now,
                      int64_t *ret_due, bool *ret_after_now, hora_error *reason)
{
    bool after_now = task->at.ns == 0;
    int64_t due = task->at.ns != 0          ? hora__us_ceil(task->at)
                  : task->initial_delay > 0 ? hora__us_of_ns(task->initial_delay)
                                            : 0;
    if (definition->kind == HORA__KIND_CRON && task->at.ns == 0 && task->initial_delay == 0) {
        after_now = false;
        due = next_of_cron(definition, now);
    }
    /* Without the store's time, the end of a task that counts from now is checked when it is claimed. */
    int64_t first = !after_now ? due : now == INT64_MIN ? INT64_MIN : hora__sum(now, due);
    if (first == HORA__NEVER || first > definition->end_us)
        return refuse_never(reason);
    *ret_due = due;
    *ret_after_now = after_now;
    return 0;
}

/* ---- missed times ---- */

/* The planned time to continue with, how many are left out before it, the last of these, and why. */
typedef struct decision {
    int64_t planned, skipped, last;
    hora_skip_reason reason;
} decision;

/* Returns how many times the policy leaves out, if `last` more times have passed after the one in hand. */
static int64_t left_out(const hora__definition *definition, int64_t last)
{
    switch (definition->missed) {
    case HORA_MISSED_ONCE:
        return last;
    case HORA_MISSED_SKIP:
        return hora__sum(last, 1);
    case HORA_MISSED_AT_MOST:
        return last >= definition->missed_max ? last - definition->missed_max + 1 : 0;
    case HORA_MISSED_BURST:
    default:
        return 0;
    }
}

/* Whether a planned time, waiting at `now`, counts as missed. */
static bool is_missed(const hora__definition *definition, const hora__claim *claim, int64_t planned,
                      int64_t now)
{
    bool queues = definition->busy == HORA_BUSY_QUEUE && !HORA__STORE_FAULT(QUEUED_IS_MISSED);
    int64_t since = queues && claim->last_end > planned ? claim->last_end : planned;
    return difference(now, since) > definition->missed_after_us;
}

/* The time up to which planned times have passed. */
static int64_t until(const hora__definition *definition, int64_t now)
{
    return now < definition->end_us ? now : definition->end_us;
}

static decision decide_rate(const hora__definition *definition, bool missed, int64_t planned, int64_t now)
{
    int64_t late = difference(now, planned), period = definition->period_us;
    assert(late >= 0 && period > 0);
    int64_t last = difference(until(definition, now), planned) / period;
    int64_t k = missed ? left_out(definition, last) : 0;
    int64_t first = late > definition->grace_us ? (late - definition->grace_us - 1) / period + 1 : 0;
    hora_skip_reason reason = k < first ? HORA_SKIP_LATE : HORA_SKIP_MISSED;
    if (k < first)
        k = first;
    if (k > last + 1) /* the end comes before the end of the grace period */
        k = last + 1;
    return (decision){at(planned, period, k), k, at(planned, period, k - 1), reason};
}

/* Moves a search on to the next time. A passed time counts as a run without a length. */
static int64_t step(const hora__definition *definition, const hora_trigger *trigger, int64_t planned,
                    int64_t firings, int64_t now)
{
    last_run last = {planned, now, 0, firings};
    return next_of(definition, trigger, &last, now);
}

static decision decide_asked(const hora__definition *definition, const hora_trigger *trigger, bool missed,
                             const hora__claim *claim, int64_t now)
{
    int64_t last = 0, runs = claim->firings;
    if (missed) {
        int64_t time = step(definition, trigger, claim->planned, runs, now);
        for (; time <= until(definition, now) && last < COUNTED; last++)
            time = step(definition, trigger, time, runs, now);
    }
    int64_t aim = missed ? left_out(definition, last) : 0;
    decision result = {claim->planned, 0, claim->planned, HORA_SKIP_MISSED};
    while (result.planned != HORA__NEVER && result.planned <= definition->end_us &&
           result.skipped <= COUNTED &&
           (result.skipped < aim || difference(now, result.planned) > definition->grace_us)) {
        result.last = result.planned;
        result.planned = step(definition, trigger, result.planned, runs, now);
        result.skipped++;
    }
    if (result.skipped > aim)
        result.reason = HORA_SKIP_LATE;
    return result;
}

/* Decides which planned time a claimed firing is for. */
static decision decide(const hora__definition *definition, const hora_trigger *trigger,
                       const hora__claim *claim, int64_t now)
{
    int64_t late = difference(now, claim->planned);
    bool missed = (claim->attempt <= 1 || HORA__STORE_FAULT(SKIPS_LATE_RETRY)) && !claim->forked &&
                  !claim->handed_back && is_missed(definition, claim, claim->planned, now);
    decision same = {claim->planned, 0, claim->planned, HORA_SKIP_MISSED};
    if (late <= 0 || (!missed && late <= definition->grace_us) || HORA__STORE_FAULT(RUNS_LATE))
        return same;
    if (claim->forked || definition->kind == HORA__KIND_DELAY)
        return late > definition->grace_us ? (decision){HORA__NEVER, 1, claim->planned, HORA_SKIP_LATE}
                                           : same;
    return definition->kind == HORA__KIND_RATE ? decide_rate(definition, missed, claim->planned, now)
                                               : decide_asked(definition, trigger, missed, claim, now);
}

/* ---- times that came during a run ---- */

/* The latest `keep` times of a cron expression up to `last`: the first of them, or the first after `last`. */
static int64_t latest_of_cron(const hora__definition *definition, int64_t last, int64_t keep)
{
    hora_instant at = hora__instant_of_us(hora__sum(last, 1));
    for (; keep > 0; keep--)
        if (hora_cron_previous(definition->cron, definition->zone, at, &at) <= 0)
            return HORA__NEVER;
    return at.ns > hora__ns_of_us(last) ? next_of_cron(definition, last) : hora__us_ceil(at);
}

/* Decides with which of the times from `first` to now the series continues, if it keeps the latest `keep` of
 * them; keep = 0 is the first time after now. */
static decision keep_latest(const hora__definition *definition, const hora_trigger *trigger, int64_t first,
                            int64_t keep, int64_t firings, int64_t now)
{
    int64_t count = 0, time = first, last = until(definition, now);
    if (definition->kind == HORA__KIND_RATE)
        count = difference(last, first) / definition->period_us + 1;
    else
        for (; time <= last && count < COUNTED; count++)
            time = step(definition, trigger, time, firings, now);
    int64_t skipped = (count > keep ? count - keep : 0) + HORA__STORE_FAULT(BUSY_OFF_BY_ONE);
    if (definition->kind == HORA__KIND_RATE)
        return (decision){.planned = at(first, definition->period_us, skipped), .skipped = skipped};
    if (definition->kind == HORA__KIND_CRON && time <= last)
        return (decision){.planned = latest_of_cron(definition, last, keep), .skipped = skipped};
    time = first;
    for (int64_t i = 0; i < skipped; i++)
        time = step(definition, trigger, time, firings, now);
    return (decision){.planned = time, .skipped = skipped};
}

/* Applies the rule `busy` to the settlement of a run, which plans the next time. */
static void leave_out_busy(const hora__definition *definition, const hora_trigger *trigger,
                           const hora__claim *claim, int64_t run_us, int64_t now, hora__settle *settle)
{
    bool queues = definition->busy == HORA_BUSY_QUEUE;
    int64_t first = settle->planned, start = difference(now, run_us);
    if (settle->kind != HORA__SETTLE_ADVANCE || settle->after_now || definition->busy == HORA_BUSY_MISSED ||
        first > now)
        return;
    if (first <= start && (!queues || is_missed(definition, claim, first, start)))
        return;
    decision to = keep_latest(definition, trigger, first, queues ? definition->busy_max : 0,
                              hora__sum(claim->firings, 1), now);
    settle->planned = settle->due = to.planned;
    settle->skipped = to.skipped;
    if (to.planned == HORA__NEVER || to.planned > definition->end_us)
        settle->kind = HORA__SETTLE_DONE;
}

/* ---- before a run ---- */

/* What all settlements of a claim have in common. */
static hora__settle settlement(const hora__claim *claim, hora__settle_kind kind)
{
    return (hora__settle){.id = claim->id,
                          .fence = claim->fence,
                          .kind = kind,
                          .gave_up = claim->gave_up,
                          .attempt = claim->attempt,
                          .ran_planned = claim->planned};
}

/* The settlement of a firing that ends, with or without a run: ADVANCE or DONE. If the row was forked, both
 * delete it. It is ADVANCE all the same: a failover that has lost the FORK has left a row that stands for the
 * whole series, which DONE would end. */
static hora__settle ended(const hora__definition *definition, const hora_trigger *trigger,
                          const hora__claim *claim, int64_t run_us, int64_t now)
{
    hora__settle settle = settlement(claim, HORA__SETTLE_DONE);
    hora__settle next = settlement(claim, HORA__SETTLE_ADVANCE);
    bool ends = !is_recurring(definition) || (claim->forked && HORA__STORE_FAULT(NO_FORK_BEFORE));
    return !ends && plan_next(definition, trigger, claim, run_us, now, &next) ? next : settle;
}

static bool is_over(const hora__definition *definition, const hora__claim *claim)
{
    return claim->planned == HORA__NEVER ||
           (is_recurring(definition) && !claim->forked &&
            (claim->firings >= hora__sum(definition->count, HORA__STORE_FAULT(ONE_FIRING_TOO_MANY)) ||
             claim->planned > definition->end_us));
}

/* The settlement of a firing whose attempts are used up. Without a run it was crashes that used them up, and
 * the records of these exist already. */
static hora__settle used_up(const hora__definition *definition, const hora_trigger *trigger,
                            const hora__claim *claim, int64_t now)
{
    int64_t gave_up = hora__sum(claim->gave_up, 1);
    bool stops =
        !is_recurring(definition) || (definition->stop_after > 0 && gave_up >= definition->stop_after);
    hora__settle settle =
        stops ? settlement(claim, HORA__SETTLE_DEAD) : ended(definition, trigger, claim, 0, now);
    settle.gave_up = gave_up;
    settle.outcome = HORA_RUN_LOST;
    return settle;
}

/* The settlement of a firing that is left out in favour of a later planned time. */
static hora__settle skipped_to(const hora__definition *definition, const hora_trigger *trigger,
                               const hora__claim *claim, decision to, int64_t now)
{
    hora__settle settle = settlement(claim, HORA__SETTLE_ADVANCE);
    settle.planned = to.planned;
    settle.due = to.planned > now ? to.planned : now;
    if (definition->kind == HORA__KIND_DELAY)
        settle = ended(definition, trigger, claim, 0, now);
    else if (claim->forked || to.planned == HORA__NEVER || to.planned > definition->end_us ||
             hora__sum(claim->firings, 1) >= definition->count)
        settle.kind = HORA__SETTLE_DONE;
    settle.outcome = HORA_RUN_SKIPPED;
    settle.run_us = HORA__NO_RUN;
    settle.history = claim->history;
    settle.skipped = to.skipped;
    settle.last_skipped = to.last;
    settle.code = (int)to.reason;
    return settle;
}

/* START or FORK, if the firing needs one that it does not have yet. */
static bool asks(const hora__definition *definition, const hora_trigger *trigger, const hora__claim *claim,
                 bool forked, int64_t now, hora__settle *ret_settle)
{
    forked |= HORA__STORE_FAULT(NO_FORK_BEFORE);
    if (definition->overlap == HORA_OVERLAP_ALLOW && is_recurring(definition) && !forked) {
        *ret_settle = settlement(claim, HORA__SETTLE_FORK);
        ret_settle->overlap_max = definition->overlap_max;
    } else if (definition->delivery == HORA_AT_MOST_ONCE && !HORA__STORE_FAULT(NO_START_BEFORE)) {
        *ret_settle = settlement(claim, HORA__SETTLE_START);
    } else {
        return false;
    }
    if (is_recurring(definition))
        plan_ahead(definition, trigger, claim, now, ret_settle);
    return true;
}

hora__before hora__rules_before(const hora__definition *definition, const hora_trigger *next,
                                const hora__claim *claim, int64_t now, hora__settle *ret_settle)
{
    assert(definition->kind != HORA__KIND_TRIGGER || next != NULL);
    if (is_over(definition, claim)) {
        *ret_settle = settlement(claim, HORA__SETTLE_DONE);
        return HORA__BEFORE_SKIP;
    }
    /* A claim of HORA_AT_MOST_ONCE that was lost has not started: no firing with START is claimed again. */
    if (claim->attempt > definition->max_attempts && definition->delivery != HORA_AT_MOST_ONCE &&
        !HORA__STORE_FAULT(ATTEMPTS_UNLIMITED)) {
        *ret_settle = used_up(definition, next, claim, now);
        return HORA__BEFORE_SKIP;
    }
    if (is_recurring(definition)) {
        decision to = decide(definition, next, claim, now);
        if (to.skipped > 0) {
            *ret_settle = skipped_to(definition, next, claim, to, now);
            return HORA__BEFORE_SKIP;
        }
    }
    return asks(definition, next, claim, claim->forked, now, ret_settle) ? HORA__BEFORE_ASK
                                                                         : HORA__BEFORE_RUN;
}

bool hora__rules_asks_again(const hora__definition *definition, const hora_trigger *next,
                            const hora__claim *claim, int asked, int64_t now, hora__settle *ret_settle)
{
    assert(asked == HORA__SETTLE_START || asked == HORA__SETTLE_FORK);
    return asked == HORA__SETTLE_FORK && asks(definition, next, claim, true, now, ret_settle);
}

void hora__rules_skip(const hora__definition *definition, const hora_trigger *next, const hora__claim *claim,
                      int64_t now, hora__settle *ret_settle)
{
    *ret_settle = ended(definition, next, claim, 0, now);
    ret_settle->outcome = HORA_RUN_SKIPPED;
    ret_settle->run_us = HORA__NO_RUN;
    ret_settle->history = claim->history;
    ret_settle->skipped = 1;
    ret_settle->last_skipped = claim->planned;
    ret_settle->code = HORA_SKIP_OVERLAP;
}

/* ---- after a run ---- */

/* The pause before the attempt after `attempt`. In floating point, so that large exponents do not overflow;
 * the loop ends at the limit, and a factor of 1 needs none. */
static int64_t pause_after(const hora__definition *definition, int attempt, uint64_t random)
{
    assert(attempt >= 1 && definition->back_off_max_us >= definition->back_off_us);
    double pause = (double)definition->back_off_us, most = (double)definition->back_off_max_us;
    for (int i = 1; i < attempt && pause < most && definition->back_off_factor > 1; i++)
        pause *= definition->back_off_factor;
    if (pause > most)
        pause = most;
    double part = (double)(random >> 11) / (double)(UINT64_C(1) << 53); /* 0 to below 1 */
    pause -= pause * definition->back_off_jitter * part;
    return pause < (double)definition->back_off_max_us ? (int64_t)pause : definition->back_off_max_us;
}

/* Whether another attempt follows a failure. */
static bool has_retry(const hora__definition *definition, const hora__claim *claim, const hora__run_end *end)
{
    bool forbidden = end->sets_retry && end->retry_us < 0 && !HORA__STORE_FAULT(RETRY_FORBIDDEN_RUNS);
    return definition->delivery != HORA_AT_MOST_ONCE && claim->attempt < definition->max_attempts &&
           !forbidden;
}

static hora__settle after_failure(const hora__definition *definition, const hora_trigger *next,
                                  const hora__claim *claim, const hora__run_end *end, int64_t run_us,
                                  int64_t now, uint64_t random)
{
    if (has_retry(definition, claim, end)) {
        hora__settle retry = settlement(claim, HORA__SETTLE_RETRY);
        retry.due = end->sets_retry && !HORA__STORE_FAULT(RETRY_PAUSE_IGNORED)
                        ? end->retry_us
                        : pause_after(definition, claim->attempt, random);
        retry.after_now = true;
        retry.outcome = HORA_RUN_FAILED;
        return retry;
    }
    hora__settle settle = used_up(definition, next, claim, now);
    if (settle.kind == HORA__SETTLE_ADVANCE) {
        hora__settle advanced = ended(definition, next, claim, run_us, now);
        advanced.gave_up = settle.gave_up;
        settle = advanced;
    }
    settle.outcome = HORA_RUN_GAVE_UP;
    return settle;
}

void hora__rules_after(const hora__definition *definition, const hora_trigger *next, const hora__claim *claim,
                       const hora__run_end *end, int64_t run_us, int64_t now, uint64_t random,
                       hora__settle *ret_settle)
{
    hora__claim own = *claim;
    own.forked |= definition->overlap == HORA_OVERLAP_ALLOW && is_recurring(definition);
    hora__settle settle;
    if (end->hands_back && definition->delivery != HORA_AT_MOST_ONCE) {
        *ret_settle = settlement(claim, HORA__SETTLE_RELEASE);
        return;
    }
    if (end->outcome != (hora_run_outcome)0 && !HORA__STORE_FAULT(OUTCOME_BY_CODE)) {
        settle = ended(definition, next, &own, run_us, now);
        settle.outcome = end->outcome;
    } else if (end->code != 0) {
        settle = after_failure(definition, next, &own, end, run_us, now, random);
    } else {
        settle = ended(definition, next, &own, run_us, now);
        settle.gave_up = 0;
        settle.outcome = HORA_RUN_SUCCEEDED;
    }
    leave_out_busy(definition, next, &own, run_us, now, &settle);
    settle.code = end->code;
    settle.run_us = run_us;
    settle.history = own.history;
    *ret_settle = settle;
}
