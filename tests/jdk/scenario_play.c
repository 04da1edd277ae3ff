/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_play.c - plays a scenario with hora, in virtual time
 *
 * The calling thread is the driver. It moves the clock by half a tick at a time and lets everything settle,
 * so that each event has its exact time and nothing depends on the speed of the machine. Operations are done
 * one at a time under a lock of the play, so that a thread that schedules a task has its future before the
 * task does anything with it. */
#include "scenario.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hora/hora.h>

#include "scenario_trace.h"

#define TICK HORA_MS(20)

enum { MOST_WAITERS = 16 };

struct play;

struct actor {
    struct play *play;
    int id;
    int length;
    int fails;
    int runs;
    hora_future *future; /* NULL: none was asked for, or it was refused */
};

struct waiter {
    struct play *play;
    int number;
    pthread_t thread;
    struct line call;
    hora_future *future; /* NULL: waits for the scheduler to terminate */
    bool ended; /* written before the waiter detaches from the clock, read after the clock has settled */
};

struct play {
    const struct scenario *scenario;
    enum mutant mutant;
    bool single; /* there is never more than one thread */
    hora_virtual_clock *clock;
    const hora_clock *view;
    hora_scheduler *scheduler;
    pthread_mutex_t one_at_a_time;
    struct actor tasks[MOST_TASKS + 1];
    struct waiter waiters[MOST_WAITERS];
    int waiter_count;
    int scheduled;
    struct trace trace;
};

const char *mutant_name(enum mutant mutant)
{
    static const char *const names[MUTANTS] = {
        [NO_MUTANT] = "none",
        [SPELLED_OUT] = "spelled-out",
        [RATE_FROM_END] = "rate-from-end",
        [GAP_FROM_PLAN] = "gap-from-plan",
        [FAILURE_GOES_ON] = "failure-goes-on",
        [MISSED_ONCE] = "missed-once",
        [LATEST_FIRST] = "latest-first",
        [PERIODIC_GOES_ON] = "periodic-goes-on",
        [DELAYED_CANCELLED] = "delayed-cancelled",
        [CANCELLED_STAYS] = "cancelled-stays",
        [ALWAYS_INTERRUPT] = "always-interrupt",
        [STOP_AS_SHUTDOWN] = "stop-as-shutdown",
        [SETTERS_DO_NOTHING] = "setters-do-nothing",
    };
    return names[mutant];
}

/* ---- time ---- */

/* LATEST_FIRST moves times by some nanoseconds, which must not show. */
static int64_t half_ticks(struct play *p, bool *ret_astray)
{
    hora_ns now = hora_clock_now(p->view) + HORA_US(1);
    *ret_astray = now % (TICK / 2) > HORA_US(2);
    return now / (TICK / 2);
}

static int64_t tick_now(struct play *p)
{
    bool astray;
    return half_ticks(p, &astray) / 2;
}

static int64_t even(int64_t tick)
{
    return tick + tick % 2;
}

__attribute__((format(printf, 3, 4))) static void note(struct play *p, int actor, const char *format, ...)
{
    char text[LONGEST_TEXT];
    bool astray;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    int64_t halves = half_ticks(p, &astray);
    astray |= halves % 2 == 1 && !(actor > WAITER && strstr(text, ": timeout") != NULL);
    trace_add(&p->trace, halves / 2, astray, actor, text);
}

/* ---- operations: each writes its answer, at most LONGEST_TEXT bytes ---- */

struct answer {
    char text[LONGEST_TEXT];
};

__attribute__((format(printf, 2, 3))) static void say(struct answer *answer, const char *format, ...)
{
    va_list arguments;
    size_t length = strlen(answer->text);
    va_start(arguments, format);
    vsnprintf(answer->text + length, sizeof(answer->text) - length, format, arguments);
    va_end(arguments);
}

static void say_code(struct answer *answer, int code)
{
    if (code >= 0)
        say(answer, "ok");
    else
        say(answer, "%s",
            code == HORA_EREJECTED ? "rejected"
            : code == HORA_EINVAL  ? "invalid"
                                   : hora_errname(code));
}

static long number_in(const struct line *call, int word)
{
    return strtol(call->words[word], NULL, 10);
}

static bool is(const struct line *call, const char *name)
{
    return strcmp(call->words[0], name) == 0;
}

static hora_ns delay_in(struct play *p, const struct line *call)
{
    const char *word = call->words[2];
    if (strcmp(word, "forever") == 0)
        return HORA_FOREVER;
    if (strcmp(word, "past") == 0)
        return INT64_MIN;
    int64_t ticks = number_in(call, 2);
    if (ticks > 0)
        ticks = even(tick_now(p) + ticks) - tick_now(p);
    return ticks * TICK - (p->mutant == LATEST_FIRST ? ++p->scheduled : 0);
}

static int run(void *arg, void **ret_result);

/* The two series as the JDK has them, spelled out, but for one mistake. */
static int schedule_spelled_out(struct play *p, const struct line *call, const hora_task *task, hora_ns delay,
                                hora_ns every, hora_future **ret_future)
{
    hora_schedule spec = HORA_INIT(hora_schedule);
    if (every <= 0)
        return HORA_EINVAL;
    bool rate = is(call, "rate");
    if (p->mutant == RATE_FROM_END)
        rate = false;
    if (p->mutant == GAP_FROM_PLAN)
        rate = true;
    if (rate) {
        spec.fixed_rate = every;
        spec.missed = p->mutant == MISSED_ONCE ? HORA_MISSED_ONCE : HORA_MISSED_BURST;
    } else {
        spec.fixed_delay = every;
    }
    spec.initial_delay = delay;
    spec.failure = p->mutant == FAILURE_GOES_ON ? HORA_FAILURE_CONTINUE : HORA_FAILURE_STOP;
    return hora_scheduler_schedule_with(p->scheduler, task, &spec, ret_future, NULL);
}

static void schedule(struct play *p, const struct line *call, struct answer *answer)
{
    struct actor *a = &p->tasks[number_in(call, 1)];
    const hora_task *task = HORA_TASK(run, a);
    if (is(call, "submit")) {
        say_code(answer, hora_pool_submit(p->scheduler, task, &a->future));
        return;
    }
    if (is(call, "execute")) {
        say_code(answer, hora_pool_execute(p->scheduler, task));
        return;
    }
    hora_ns delay = delay_in(p, call);
    hora_ns every = number_in(call, 3) * TICK;
    if (!is(call, "schedule") && delay <= 0 && tick_now(p) % 2 == 1)
        delay = TICK;
    if (is(call, "schedule"))
        say_code(answer, hora_scheduler_schedule(p->scheduler, task, delay, &a->future));
    else if (p->mutant >= SPELLED_OUT && p->mutant <= LAST_SPELLED_OUT)
        say_code(answer, schedule_spelled_out(p, call, task, delay, every, &a->future));
    else if (is(call, "rate"))
        say_code(answer, hora_scheduler_schedule_at_fixed_rate(p->scheduler, task, delay, every, &a->future));
    else
        say_code(answer,
                 hora_scheduler_schedule_with_fixed_delay(p->scheduler, task, delay, every, &a->future));
}

/* hora lists tasks in the order in which they are due; it says so itself. */
static void say_futures(struct answer *answer, hora_future **futures, int count)
{
    say(answer, "[");
    for (int i = 0; i < count; i++) {
        const struct actor *a = hora_future_task(futures[i])->arg;
        say(answer, "%s%s%d", i > 0 ? " " : "", hora_future_is_cancelled(futures[i]) ? "-" : "", a->id);
        int order = 0;
        if (i > 0)
            must(hora_future_compare_due(futures[i - 1], futures[i], &order) == 0,
                 "tasks cannot be compared");
        if (i > 0 && order >= 0)
            say(answer, " out of order");
    }
    say(answer, "]");
}

static void show_pool(struct play *p, struct answer *answer)
{
    void *items[MOST_TASKS + 1];
    hora_future *futures[MOST_TASKS + 1];
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    int count = hora_queue_snapshot(hora_pool_queue(p->scheduler), items, MOST_TASKS + 1);
    must(count >= 0 && count <= MOST_TASKS, "the queue shows no sensible contents");
    for (int i = 0; i < count; i++)
        futures[i] = items[i];
    say(answer, "queue ");
    say_futures(answer, futures, count);
    for (int i = 0; i < count; i++)
        hora_future_unref(futures[i]); /* a snapshot of a pool's queue holds references */
    must(hora_pool_get_stats(p->scheduler, &stats) == 0, "there are no statistics");
    say(answer, " tasks %" PRId64 " completed %" PRId64 " active %d", stats.tasks, stats.completed,
        stats.active);
    if (hora_pool_is_terminated(p->scheduler))
        say(answer, " threads %d terminated", stats.threads);
    else if (hora_pool_is_shutdown(p->scheduler))
        say(answer, " shut down");
    else
        say(answer, " threads %d largest %d running", stats.threads, stats.largest);
}

static const char *outcome(int code)
{
    switch (code) {
    case 0:
        return "succeeded";
    case HORA_ECANCELED:
        return "cancelled";
    case HORA_EFAILED:
        return "failed";
    case HORA_ETIMEDOUT:
        return "timeout";
    case HORA_EINTERRUPTED:
        return "interrupted";
    default:
        return hora_errname(code);
    }
}

static void show_future(hora_future *f, struct answer *answer)
{
    hora_ns delay;
    bool done = hora_future_is_done(f);
    int code = hora_future_get_for(f, 0, NULL);
    say(answer, "%s", done ? outcome(code) : "pending");
    if (hora_future_is_cancelled(f) != (code == HORA_ECANCELED))
        say(answer, " and not");
    if (hora_future_is_periodic(f))
        say(answer, " periodic");
    code = hora_future_delay(f, &delay);
    if (code < 0)
        say(answer, " %s", hora_errname(code));
    else if (delay > 1000000 * TICK)
        say(answer, " due in far");
    else
        say(answer, " due in %" PRId64,
            (delay + HORA_SECONDS(1000) * 20 + TICK / 2) / TICK - HORA_SECONDS(1000) * 20 / TICK);
}

static void stop(struct play *p, struct answer *answer)
{
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    hora_future *futures[MOST_TASKS + 1];
    int count = 0;
    if (p->mutant == STOP_AS_SHUTDOWN)
        hora_pool_shutdown(p->scheduler);
    else
        must(hora_pool_shutdown_now(p->scheduler, &list) == 0 && list.count <= MOST_TASKS,
             "stop hands back too much");
    while ((futures[count] = hora_future_list_take(&list)) != NULL)
        count++;
    say_futures(answer, futures, count);
    while (count > 0)
        hora_future_unref(futures[--count]);
}

static void set_policy(struct play *p, const struct line *call, struct answer *answer)
{
    bool on = number_in(call, 1) != 0;
    int code = 0;
    if (p->mutant == SETTERS_DO_NOTHING)
        ;
    else if (is(call, "delayed"))
        code = hora_scheduler_set_cancel_delayed(p->scheduler, !on);
    else if (is(call, "periodic"))
        code = hora_scheduler_set_continue_periodic(p->scheduler, on);
    else
        code = hora_scheduler_set_keep_cancelled(p->scheduler, !on);
    say_code(answer, code);
}

static void *wait_in_thread(void *arg)
{
    struct waiter *w = arg;
    struct play *p = w->play;
    hora_ns timeout = number_in(&w->call, w->call.count - 1) * TICK + TICK / 2;
    must(hora_virtual_clock_attach(p->clock) == 0, "a waiter could not attach to the clock");
    const char *answer;
    if (w->future != NULL) {
        answer = outcome(hora_future_get_for(w->future, timeout, NULL));
    } else {
        int code = hora_pool_await_termination_for(p->scheduler, timeout);
        answer = code == 0 ? "terminated" : outcome(code);
    }
    if (w->future != NULL)
        note(p, WAITER + w->number, "%s %s %s: %s", w->call.words[0], w->call.words[1], w->call.words[2],
             answer);
    else
        note(p, WAITER + w->number, "%s %s: %s", w->call.words[0], w->call.words[1], answer);
    w->ended = true;
    return NULL;
}

static void start_waiter(struct play *p, const struct line *call, struct answer *answer)
{
    must(p->waiter_count < MOST_WAITERS, "too many waiters");
    struct waiter *w = &p->waiters[p->waiter_count++];
    hora_future *future = is(call, "get") ? p->tasks[number_in(call, 1)].future : NULL;
    *w = (struct waiter){.play = p, .number = p->waiter_count, .call = *call, .future = future};
    must(hora_virtual_clock_expect(p->clock, 1) == 0 &&
             pthread_create(&w->thread, NULL, wait_in_thread, w) == 0,
         "a waiter could not be started");
    say(answer, "waiter %d", w->number);
}

static void perform(struct play *p, const struct line *call, struct answer *answer)
{
    struct actor *a = &p->tasks[is(call, "core") ? 0 : number_in(call, 1) % (MOST_TASKS + 1)];
    bool of_task = is(call, "cancel") || is(call, "remove") || is(call, "future") || is(call, "get");
    if (of_task && a->future == NULL)
        say(answer, "none");
    else if (is(call, "schedule") || is(call, "rate") || is(call, "gap") || is(call, "submit") ||
             is(call, "execute"))
        schedule(p, call, answer);
    else if (is(call, "cancel"))
        say(answer, "%d",
            hora_future_cancel(a->future, number_in(call, 2) != 0 || p->mutant == ALWAYS_INTERRUPT) > 0);
    else if (is(call, "remove"))
        say(answer, "%d", hora_pool_remove(p->scheduler, a->future));
    else if (is(call, "purge"))
        say(answer, "queue %d",
            hora_pool_purge(p->scheduler) < 0 ? -1 : hora_queue_size(hora_pool_queue(p->scheduler)));
    else if (is(call, "core"))
        say_code(answer, hora_pool_set_core_threads(p->scheduler, (int)number_in(call, 1), NULL));
    else if (is(call, "delayed") || is(call, "periodic") || is(call, "on_cancel"))
        set_policy(p, call, answer);
    else if (is(call, "shutdown"))
        say_code(answer, hora_pool_shutdown(p->scheduler));
    else if (is(call, "stop"))
        stop(p, answer);
    else if (is(call, "pool"))
        show_pool(p, answer);
    else if (is(call, "future"))
        show_future(a->future, answer);
    else if (is(call, "await") || is(call, "get"))
        start_waiter(p, call, answer);
    else
        say(answer, "no such operation");
}

/* Does what the words of a line from the given one on say. */
static void act(struct play *p, int actor, const struct line *line, int first)
{
    struct line call = {.count = line->count - first};
    struct answer answer = {0};
    char text[LONGEST_TEXT] = "";
    for (int i = 0; i < call.count; i++) {
        memcpy(call.words[i], line->words[first + i], sizeof(call.words[i]));
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i > 0 ? " " : "", call.words[i]);
    }
    pthread_mutex_lock(&p->one_at_a_time);
    perform(p, &call, &answer);
    pthread_mutex_unlock(&p->one_at_a_time);
    note(p, actor, "%.60s: %.130s", text, answer.text);
}

/* ---- tasks and the driver ---- */

static bool take_time(struct actor *a, int64_t until)
{
    struct play *p = a->play;
    if (hora_clock_sleep(p->view, until * TICK - hora_clock_now(p->view)) != HORA_EINTERRUPTED)
        return false;
    note(p, a->id, "interrupted %d", a->runs);
    return true;
}

static int run(void *arg, void **ret_result)
{
    struct actor *a = arg;
    struct play *p = a->play;
    (void)ret_result;
    note(p, a->id, "begins %d", ++a->runs);
    for (int i = 0; i < p->scenario->count; i++) {
        const struct line *line = &p->scenario->lines[i];
        if (is(line, "does") && number_in(line, 1) == a->id && number_in(line, 2) == a->runs)
            act(p, a->id, line, 3);
    }
    int64_t until = even(tick_now(p) + a->length);
    if (until > tick_now(p) && take_time(a, until))
        take_time(a, even(tick_now(p) + 1));
    bool failed = a->runs == a->fails;
    note(p, a->id, "%s %d", failed ? "fails" : "ends", a->runs);
    return failed ? 1 : 0;
}

static void settle(struct play *p)
{
    must(hora_virtual_clock_settle(p->clock) == 0, "the clock did not settle");
}

static void pass_half_a_tick(struct play *p)
{
    settle(p);
    must(hora_virtual_clock_advance(p->clock, TICK / 2) == 0, "the clock did not move");
    settle(p);
}

static void pass_until(struct play *p, int64_t tick)
{
    while (tick_now(p) < tick)
        pass_half_a_tick(p);
}

static void start(struct play *p)
{
    const struct line *first = &p->scenario->lines[0];
    must(pthread_mutex_init(&p->one_at_a_time, NULL) == 0, "no mutex");
    trace_init(&p->trace);
    must(hora_virtual_clock_new(NULL, &p->clock, NULL) == 0, "no clock");
    p->view = hora_virtual_clock_view(p->clock, HORA_CLOCK_MONOTONIC);
    int core = (int)number_in(first, 2);
    const hora_scheduler_options *options =
        HORA_SCHEDULER_OPTIONS(.core_threads = core, .clock = p->view,
                               .cancel_delayed = number_in(first, 3) == 0 || p->mutant == DELAYED_CANCELLED,
                               .continue_periodic = number_in(first, 4) != 0 || p->mutant == PERIODIC_GOES_ON,
                               .keep_cancelled = number_in(first, 5) == 0 || p->mutant == CANCELLED_STAYS);
    must(hora_scheduler_new(options, &p->scheduler, NULL) == 0, "no scheduler");
    p->single = core < 2;
    for (int i = 1; i < p->scenario->count; i++) {
        const struct line *line = &p->scenario->lines[i];
        const int operation = is(line, "does") ? 3 : 2;
        if (line->count > operation + 1 && strcmp(line->words[operation], "core") == 0)
            p->single &= number_in(line, operation + 1) < 2;
        if (!is(line, "task"))
            continue;
        long id = number_in(line, 1);
        must(id > 0 && id <= MOST_TASKS, "a task has a wrong number");
        p->tasks[id] = (struct actor){
            .play = p, .id = (int)id, .length = (int)number_in(line, 2), .fails = (int)number_in(line, 3)};
    }
}

static bool all_waiters_ended(struct play *p)
{
    for (int i = 0; i < p->waiter_count; i++)
        if (!p->waiters[i].ended)
            return false;
    return true;
}

static void finish(struct play *p, int64_t tick)
{
    pass_until(p, tick);
    act(p, DRIVER, &(struct line){.count = 1, .words = {"stop"}}, 0);
    pass_until(p, tick + 2);
    act(p, DRIVER, &(struct line){.count = 1, .words = {"pool"}}, 0);
    for (int i = 1; i <= MOST_TASKS; i++) {
        struct line look = {.count = 2, .words = {"future"}};
        snprintf(look.words[1], sizeof(look.words[1]), "%d", i);
        if (p->tasks[i].id > 0)
            act(p, DRIVER, &look, 0);
    }
    while (!all_waiters_ended(p) && tick_now(p) < LAST_TICK)
        pass_half_a_tick(p);
    must(all_waiters_ended(p), "a waiter does not end");
    hora_pool_shutdown_now(p->scheduler,
                           NULL); /* what the clock must still end, were the scheduler not stopped above */
    pass_until(p, tick_now(p) + 2);
}

static void clean_up(struct play *p)
{
    for (int i = 0; i < p->waiter_count; i++)
        pthread_join(p->waiters[i].thread, NULL);
    must(hora_pool_free(p->scheduler) >= 0, "the scheduler could not be freed");
    for (int i = 1; i <= MOST_TASKS; i++)
        hora_future_unref(p->tasks[i].future);
    must(hora_virtual_clock_free(p->clock) == 0, "the clock could not be freed");
    trace_destroy(&p->trace);
    pthread_mutex_destroy(&p->one_at_a_time);
    free(p);
}

char *play_scenario(const struct scenario *scenario, enum mutant mutant)
{
    struct play *p = calloc(1, sizeof(*p));
    must(p != NULL, "out of memory");
    p->scenario = scenario;
    p->mutant = mutant;
    start(p);
    for (int i = 0; i < scenario->count; i++) {
        const struct line *line = &scenario->lines[i];
        if (is(line, "at")) {
            pass_until(p, number_in(line, 1));
            act(p, DRIVER, line, 2);
        } else if (is(line, "end")) {
            finish(p, number_in(line, 1));
        }
    }
    char *text = trace_text(&p->trace, p->single);
    clean_up(p);
    return text;
}
