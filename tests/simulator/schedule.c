/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c - decisions: which thread runs next, and all others
 *
 * Purpose           Wherever a run can continue in more than one way, the simulator calls hora__sim_decide.
 *                   So a schedule is exactly its list of decisions, whichever mode made them.
 * How it works      The options of a decision are ordered: first those that cost nothing, then those that
 *                   count towards the bound of depth-first search. For the choice of the next thread, option
 *                   0 is the running thread, if it can go on. To choose another one is then a preemption and
 *                   costs one, as does letting time pass although a thread can run. If the running thread
 *                   cannot go on, every other thread costs nothing. That is the preemption bounding of CHESS
 *                   (Musuvathi and Qadeer): most faults need one or two preemptions, and with a bound there
 *                   are polynomially many schedules instead of exponentially many.
 * Random walk       Each decision is drawn. The probability that the running thread goes on is drawn once per
 *                   seed, because long undisturbed runs of a thread find other faults than constant
 *                   switching.
 * PCT               (Burckhardt et al.) Each thread has a random priority, and the highest runs. The priority
 *                   of the running thread is lowered at depth - 1 random points. These are spread over as
 *                   many points as the longest earlier run had.
 * Points            Calls that acquire (lock, load, wait) are schedule points before they act. Calls that
 *                   release (unlock, wake, start) are schedule points afterwards, so that another thread can
 *                   destroy an object that the caller still accesses. A call right after such a point, or
 *                   after a sleep, is not a point again: in between the thread did nothing that is visible to
 *                   others. Calls that access nothing shared (alloc, now) are no points.
 * Invariants        S1 every decision with more than one option is recorded, in every mode.
 *                   S2 with the same body, seed and switches, equal decisions give equal runs. */
#include <assert.h>

#include "simulator/internal.h"

/* MOST_CHANGES: of priority, in PCT. FIRST_POINTS: the assumed length of the first run. STICKINESS,
 * FRESHNESS: the number of values that `staying` and `fresh` can have. */
enum { MOST_CHANGES = 16, FIRST_POINTS = 64, STICKINESS = 4, FRESHNESS = 4 };

static struct {
    uint64_t random;                /* state of the random sequence that draws decisions */
    uint64_t points;                /* schedule points of this run so far */
    uint64_t spread;                /* PCT: number of points over which the changes are spread */
    uint64_t changes[MOST_CHANGES]; /* PCT: the points at which a priority is lowered */
    int change_count;               /* PCT: elements of changes */
    int spent;                      /* DFS: how much of the bound this run has used */
    uint32_t staying; /* random walk: the running thread goes on with probability staying / (staying + 1) */
    /* Random walk and PCT: a load returns the newest value with probability fresh / (fresh + 1) or more. */
    uint32_t fresh;
} schedule = {.spread = FIRST_POINTS};

/* Returns a random number from 0 to below - 1. */
static uint32_t draw(uint32_t below)
{
    return (uint32_t)(((hora__sim_mix(&schedule.random) >> 32) * below) >> 32);
}

/* Returns the priority of a new thread. It is higher than all lowered priorities, which are at most
 * MOST_CHANGES. */
uint64_t hora__sim_first_priority(void)
{
    return MOST_CHANGES + 1 + (hora__sim_mix(&schedule.random) >> 8);
}

void hora__sim_schedule_begin(void)
{
    const struct hora__sim_options *options = &hora__sim.options;
    schedule.random = options->seed ^ UINT64_C(0x5851f42d4c957f2d);
    schedule.points = 0;
    schedule.spent = 0;
    schedule.staying = (1u << draw(STICKINESS)) - 1;
    schedule.change_count = options->depth - 1 < MOST_CHANGES ? options->depth - 1 : MOST_CHANGES;
    if (options->weak)
        schedule.fresh = (1u << draw(FRESHNESS)) - 1;
    if (options->mode == HORA__SIM_PCT)
        for (int i = 0; i < schedule.change_count; i++)
            schedule.changes[i] = 1 + draw((uint32_t)schedule.spread);
    bool repeats = options->mode == HORA__SIM_DFS || options->mode == HORA__SIM_REPLAY;
    hora__sim_record_begin(repeats ? SIM_REPEAT_PREFIX : SIM_REPEAT_NOTHING);
}

/* Remembers the length of a run that has ended, for PCT. */
void hora__sim_schedule_learn(void)
{
    if (schedule.points > schedule.spread)
        schedule.spread = schedule.points < UINT32_MAX ? schedule.points : UINT32_MAX;
}

void hora__sim_dfs_reset(void)
{
    hora__sim_record_forget();
    schedule.spread = FIRST_POINTS;
}

/* Returns the thread that an option of SIM_NEXT stands for: the running thread first if it can go on, then
 * the other ready threads by their numbers. */
static struct sim_thread *candidate(int option)
{
    uint64_t ready = hora__sim.ready;
    uint64_t own = sim_bit(hora__sim.current);
    if (ready & own) {
        if (option-- == 0)
            return hora__sim.current;
        ready &= ~own;
    }
    while (option-- > 0)
        ready &= ready - 1;
    return sim_take_first(&ready);
}

/* PCT: lowers the priority of the running thread if this point is one of the changes. Returns the option of
 * the ready thread with the highest priority. */
static int highest_priority(int threads)
{
    for (int i = 0; i < schedule.change_count; i++)
        if (schedule.changes[i] == schedule.points)
            hora__sim.current->priority = (uint64_t)(schedule.change_count - i);
    int best = 0;
    for (int i = 1; i < threads; i++)
        if (candidate(i)->priority > candidate(best)->priority)
            best = i;
    return best;
}

/* Draws an option of SIM_NEXT. The option behind those for threads lets time pass. */
static int draw_next(int options)
{
    int threads = __builtin_popcountll(hora__sim.ready);
    if (options > threads && draw(16) == 0)
        return threads; /* time passes */
    if (hora__sim.options.mode == HORA__SIM_PCT)
        return highest_priority(threads);
    if ((hora__sim.ready & sim_bit(hora__sim.current)) != 0 && draw(schedule.staying + 1) != 0)
        return 0;
    return (int)draw((uint32_t)threads);
}

/* Draws an option of any decision. */
static int draw_choice(enum sim_decision kind, int options)
{
    switch (kind) {
    case SIM_NEXT:
        return draw_next(options);
    case SIM_SPURIOUS:
        return draw(8) == 0;
    case SIM_LATENESS:
        return draw(2) == 0 ? 0 : (int)draw((uint32_t)options);
    case SIM_STALE:
        return draw(schedule.fresh + 1) != 0 ? 0 : (int)draw((uint32_t)options);
    case SIM_WAITER:
        break;
    }
    return (int)draw((uint32_t)options);
}

/* Returns how many options depth-first search may try. It does not vary lateness, since the next clock jump
 * could always be late again and the search would not end. */
static int allowed_options(enum sim_decision kind, int options, int free_options)
{
    if (kind == SIM_LATENESS)
        return 1;
    return schedule.spent < hora__sim.options.bound ? options : free_options;
}

/* Returns the recorded choice, or option 0 if there is nothing left to repeat. Ends the run if the recorded
 * choice does not fit: the program did not behave as when it was recorded. */
static int repeat_choice(int options, int allowed)
{
    int choice = 0;
    int allowed_then = 0;
    if (!hora__sim_record_next(&choice, &allowed_then))
        return 0;
    if (choice >= options ||
        (allowed_then != 0 && hora__sim.options.mode == HORA__SIM_DFS && allowed_then != allowed))
        hora__sim_end(HORA__SIM_MISUSE, "the program does not repeat itself: the schedule does not fit it");
    return choice;
}

/* Makes a decision with more than one option and records it. Options from free_options on count towards the
 * bound of depth-first search. */
int hora__sim_decide(enum sim_decision kind, int options, int free_options)
{
    assert(options > 1 && options <= SIM_THREADS + 1);
    enum hora__sim_mode mode = hora__sim.options.mode;
    int allowed = mode == HORA__SIM_DFS ? allowed_options(kind, options, free_options) : options;
    bool repeats = mode == HORA__SIM_DFS || mode == HORA__SIM_REPLAY;
    int choice = repeats ? repeat_choice(options, allowed) : draw_choice(kind, options);
    if (choice >= free_options)
        schedule.spent++;
    hora__sim_record_add(choice, allowed); /* S1 */
    return choice;
}

/* Switches to a thread. Returns when the calling thread is chosen again, and never if it has ended. */
static void run_next(struct sim_thread *next)
{
    struct sim_thread *before = hora__sim.current;
    if (next == before)
        return;
    hora__sim.current = next;
    hora__sim.result->switches++;
    if (before->state == SIM_ENDED)
        hora__sim_context_leave(&before->context, &next->context);
    hora__sim_context_switch(&before->context, &next->context);
}

/* Chooses the next thread. With options.late, and if a thread has a deadline, letting time pass is one more
 * option behind the threads. */
static struct sim_thread *choose_next(enum sim_stay stay)
{
    for (;;) {
        int threads = __builtin_popcountll(hora__sim.ready);
        int options = threads + (hora__sim.options.late && hora__sim.timed != 0);
        bool can_stay = stay == SIM_MAY_STAY && (hora__sim.ready & sim_bit(hora__sim.current)) != 0;
        int choice = options < 2 ? 0 : hora__sim_decide(SIM_NEXT, options, can_stay ? 1 : threads);
        if (choice < threads)
            return candidate(choice);
        (void)hora__sim_time_pass();
    }
}

/* Lets the next thread run. Returns when the calling thread is chosen again. If no thread can run, lets time
 * pass; ends the run if no thread has a deadline either. */
void hora__sim_reschedule(enum sim_stay stay)
{
    while (hora__sim.ready == 0) {
        hora__sim_weak_time_passes();
        if (!hora__sim_time_pass()) {
            char blocked[sizeof hora__sim.result->message];
            hora__sim_describe_blocked(blocked, sizeof blocked);
            hora__sim_end(HORA__SIM_LOST_WAKEUP, "no thread can run: %s", blocked);
        }
    }
    schedule.points++;
    run_next(choose_next(stay));
}

/* A schedule point before an operation. Does nothing outside of a run. */
void hora__sim_point(void)
{
    if (!hora__sim.running)
        return;
    hora__sim_step();
    if (hora__sim.current->decided)
        hora__sim.current->decided = false;
    else
        hora__sim_reschedule(SIM_MAY_STAY);
}

void hora__sim_after(void)
{
    hora__sim_step();
    hora__sim_reschedule(SIM_MAY_STAY);
    hora__sim.current->decided = true;
}
