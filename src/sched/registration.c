/* SPDX-License-Identifier: Apache-2.0 */
/* registration.c - a declared task: its life, and the functions of its handle
 *
 * Who owns arg      While the task is DECLARED, its registration does; the thread that ends it, under the
 *                   lock, drops arg. Once it is SCHEDULED, its future does, and drops arg as the futures of
 *                   all tasks do.
 * Holding           The task is scheduled paused, inside a task of the library whose arg is a tie. That task
 *                   runs no user code yet, so it can be unscheduled again. Only when all tasks that belong
 *                   together are held do the ties become firm, and the futures are resumed.
 * Ties              The future may end before the decision whether it counts, because its scheduler ends. So
 *                   two events matter to a tie: the decision, and the end of the future. Each sets its bit of
 *                   the tie's state, and the second of them frees the tie.
 * Invariants        I1 arg is dropped exactly once: by the thread that changes DECLARED to ENDED, or through
 *                   a firm tie.
 *                   I2 the user's function is called only through a firm tie.
 *                   I3 held is set exactly while the attempt is HELD; tie is, too, until the decision. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/fault.h"
#include "base/ns.h"
#include "base/options.h"
#include "sched/registrar.h"
#include "sched/scheduler.h"
#include "sched/trigger.h"
#include "sys/alloc.h"

/* Connects a registration with one future that was made for it; the arg of the future's task. */
struct hora__tie {
    /* 0: undecided, and the future is alive; else bits of the enum below. */
    hora__atomic state;
    /* A reference. */
    hora_registration *registration;
};

/* Bits of a tie's state. FIRM or CUT is the decision: the future counts, or it does not. FUTURE_IS_OVER:
 * the future has dropped its arg. */
enum { FIRM = 1, CUT = 2, FUTURE_IS_OVER = 4 };

/* ---- beginning and end ---- */

/* The name is stored behind the struct. An empty name counts as none. */
int hora__registration_new(hora_registrar *registrar, const hora_task *task,
                           const hora_declaration *declaration, hora_registration **ret_registration,
                           hora_error *reason)
{
    assert(registrar != NULL && ret_registration != NULL);
    struct hora__declared declared;
    int error = hora__declaration_read(&registrar->resolver, task, declaration, &declared, reason);
    if (error < 0)
        return error;
    size_t length = declared.name != NULL ? strlen(declared.name) : 0;
    hora_registration *registration = hora__alloc(1, sizeof *registration + length + 1);
    if (registration == NULL) {
        const struct hora__refusal refusal = {.what = hora_strerror(HORA_ENOMEM)};
        (void)hora__declaration_refuse(reason, HORA_ENOMEM, task, declared.name, &refusal);
        hora__declared_clear(&declared);
        return HORA_ENOMEM;
    }
    hora__atomic_init(&registration->references, 1);
    registration->registrar = registrar;
    registration->task = *task;
    registration->declared = declared;
    if (length > 0)
        memcpy(registration->name, declared.name, length);
    registration->declared.name = length > 0 ? registration->name : NULL;
    registration->task.name = registration->declared.name;
    *ret_registration = registration;
    return 0;
}

/* Release a reference; the last one frees the registration. */
static void unref(hora_registration *registration)
{
    int32_t before = hora__atomic_add(&registration->references, -1);
    assert(before > 0);
    if (before > 1)
        return;
    assert(registration->attempt == HORA__NOT_TRIED && registration->future == NULL);
    hora__declared_clear(&registration->declared);
    hora__free(registration);
}

void hora__registration_forget(hora_registration *registration)
{
    hora__registration_let_go(registration);
    unref(registration);
}

/* The registrar is closed, so no thread schedules the task any more, and no tie is undecided. */
void hora__registration_release(hora_registration *registration)
{
    assert(registration->tie == NULL);
    (void)hora_future_unref(registration->future);
    registration->future = NULL;
    unref(registration);
}

/* Call the user's drop function; the caller must hold no lock. */
static void drop_arg(hora_registration *registration)
{
    if (registration->task.drop != NULL)
        registration->task.drop(registration->task.arg);
}

/* ---- the tie ---- */

/* Free a tie, with its reference to the registration. The caller is the second of its two parties. */
static void cut(struct hora__tie *tie)
{
    assert(tie != NULL && tie->registration != NULL);
    unref(tie->registration);
    hora__free(tie);
}

/* The function of the task that the scheduler sees. */
static int run_tied(void *arg, void **ret_result)
{
    assert(arg != NULL);
    const struct hora__tie *tie = arg;
    const hora_task *task = &tie->registration->task;
    /* I2. This happens if hora_pool_shutdown_now returned the future and a caller runs it by hand. */
    if ((hora__atomic_load(&tie->state) & FIRM) == 0)
        return HORA_ECANCELED;
    return task->run(task->arg, ret_result);
}

/* The drop function of the task that the scheduler sees: the future will not run again. */
static void drop_tied(void *arg)
{
    struct hora__tie *tie = arg;
    int32_t before = hora__atomic_add(&tie->state, FUTURE_IS_OVER);
    assert((before & FUTURE_IS_OVER) == 0);
    /* Undecided: commit or let_go will find FUTURE_IS_OVER and free the tie. */
    if (before == 0)
        return;
    if ((before & FIRM) != 0)
        drop_arg(tie->registration); /* I1 */
    cut(tie);
}

/* Make an undecided tie, with a reference to the registration. NULL: no memory. */
static struct hora__tie *tie_new(hora_registration *registration)
{
    assert(registration != NULL);
    struct hora__tie *tie = hora__alloc(1, sizeof *tie);
    if (tie == NULL)
        return NULL;
    hora__atomic_init(&tie->state, 0);
    tie->registration = registration;
    (void)hora__atomic_add(&registration->references, 1);
    return tie;
}

/* ---- scheduling ---- */

/* If scheduling fails, the scheduler has not taken over the arg, so the tie is freed here. */
int hora__registration_hold(hora_registration *registration, hora_scheduler *scheduler, hora_error *reason)
{
    assert(registration->held == NULL && registration->tie == NULL); /* I3 */
    assert(registration->attempt == HORA__NOT_TRIED);
    struct hora__tie *tie = tie_new(registration);
    if (tie == NULL)
        return HORA_ENOMEM;
    /* The scheduler sees the user's task, with its name and place, but runs and drops the tie. */
    hora_task task = registration->task;
    task.run = run_tied;
    task.drop = drop_tied;
    task.arg = tie;
    int error =
        hora__schedule_paused(scheduler, &task, &registration->declared.spec, &registration->held, reason);
    if (error < 0)
        cut(tie);
    /* A schedule without any time is a valid declaration; its task ends as soon as it is committed. */
    if (error < 0 && error != HORA_EEMPTY)
        return error;
    registration->attempt = error == 0 ? HORA__HELD : HORA__NEVER_DUE;
    registration->tie = error == 0 ? tie : NULL;
    return 0;
}

/* The atomic addition of FIRM decides against drop_tied: the thread that finds the other's bit set frees
 * the tie and drops the user's arg. */
void hora__registration_commit_locked(hora_registration *registration)
{
    assert((registration->attempt == HORA__HELD) == (registration->tie != NULL)); /* I3 */
    assert(hora__mutex_held(&registration->registrar->object.lock));
    assert(registration->attempt != HORA__NOT_TRIED);
    /* Ended in the meantime, and arg is dropped. The tie stays, by which hora__registration_begin knows
     * that it has to let go. */
    if (registration->state != HORA__DECLARED && !HORA__FAULT(REGISTRAR_REVIVES_CANCELLED))
        return;
    if (registration->attempt == HORA__NEVER_DUE) {
        registration->state = HORA__ENDED;
        registration->owes_drop = true;
        return;
    }
    registration->state = HORA__SCHEDULED;
    registration->future = hora_future_ref(registration->held);
    struct hora__tie *tie = registration->tie;
    registration->tie = NULL;
    /* The future lives, and drops arg at its end. Otherwise the scheduler, and the future with it, ended
     * before the decision, so this thread drops arg. */
    if (hora__atomic_add(&tie->state, FIRM) == 0 || HORA__FAULT(REGISTRAR_FORGETS_EARLY_END))
        return;
    registration->owes_drop = true;
    cut(tie);
}

/* A tie that is still set was not made firm: the registration ended before the commit. Resuming may fail
 * because the future has already ended; that is no error. */
void hora__registration_begin(hora_registration *registration)
{
    assert(registration->attempt != HORA__NOT_TRIED || registration->held == NULL);
    if (registration->tie != NULL) {
        hora__registration_let_go(registration);
        return;
    }
    if (registration->attempt == HORA__HELD)
        (void)hora_future_resume(registration->held);
    registration->held = hora_future_unref(registration->held);
    registration->attempt = HORA__NOT_TRIED;
    if (registration->owes_drop)
        drop_arg(registration);
    registration->owes_drop = false;
}

/* CUT is set before the future is cancelled, so that the cancelled future frees the tie and does not drop
 * the user's arg, which still belongs to the registration. */
void hora__registration_let_go(hora_registration *registration)
{
    struct hora__tie *tie = registration->tie;
    registration->tie = NULL;
    registration->attempt = HORA__NOT_TRIED;
    if (tie == NULL)
        return;
    hora_future *held = registration->held;
    registration->held = NULL;
    if (hora__atomic_add(&tie->state, CUT) != 0)
        cut(tie);
    (void)hora_future_cancel(held, false);
    (void)hora_future_unref(held);
}

/* ---- handles ---- */

/* Returns an error for NULL and for a registrar of the parent process. */
static int check(const hora_registration *registration)
{
    return registration == NULL ? HORA_EINVAL : hora__registrar_check(registration->registrar);
}

static void lock(hora_registration *registration)
{
    hora__mutex_lock(&registration->registrar->object.lock);
}

static void unlock(hora_registration *registration)
{
    hora__mutex_unlock(&registration->registrar->object.lock);
}

/* User code (drop, and callbacks of the cancelled future) runs after the lock has been released. */
bool hora__registration_end(hora_registration *registration, bool interrupt)
{
    lock(registration);
    bool was_declared = registration->state == HORA__DECLARED;
    if (was_declared)
        registration->state = HORA__ENDED; /* I1 */
    hora_future *future = hora_future_ref(registration->future);
    unlock(registration);
    if (was_declared)
        drop_arg(registration);
    bool cancelled = future != NULL && hora_future_cancel(future, interrupt) > HORA_CANCEL_TOO_LATE;
    (void)hora_future_unref(future);
    return was_declared || cancelled;
}

/* Returns 1 if the task would have run again, 0 if not. */
int hora_registration_cancel(hora_registration *registration, bool interrupt)
{
    int error = check(registration);
    if (error < 0)
        return error;
    return hora__registration_end(registration, interrupt) ? 1 : 0;
}

const char *hora_registration_name(const hora_registration *registration)
{
    return registration != NULL ? registration->name : "";
}

/* Returns NULL before the task is scheduled, and for a task that never was. */
hora_future *hora_registration_future(hora_registration *registration)
{
    if (check(registration) < 0)
        return NULL;
    lock(registration);
    hora_future *future = hora_future_ref(registration->future);
    unlock(registration);
    return future;
}

/* A snapshot of the schedule of its future, and the clocks at about that moment. */
struct look {
    hora_schedule_info info;
    /* By the clock of its schedule. */
    hora_ns now;
    /* By the wall clock. */
    hora_ns wall;
};

/* Fill in *ret_look. Returns 1, or 0 if the task has no future, or an error. */
static int look(hora_registration *registration, struct look *ret_look)
{
    assert(ret_look != NULL);
    int error = check(registration);
    if (error < 0)
        return error;
    hora_future *future = hora_registration_future(registration);
    if (future == NULL)
        return 0;
    *ret_look = (struct look){.info = HORA_INIT(hora_schedule_info)};
    error = hora_future_get_schedule_info(future, &ret_look->info);
    /* The future has a counted reference to its timer queue, so the queue exists even if the scheduler
     * does not. */
    const hora_queue *queue = hora__scheduled_of(future)->queue;
    ret_look->now = hora__timer_queue_now(queue, hora__timeline_of(ret_look->info.clock));
    ret_look->wall = hora__timer_queue_now(queue, HORA__WALL);
    (void)hora_future_unref(future);
    return error < 0 ? error : 1;
}

/* Returns a time of the schedule's clock as an instant, by its distance from now if that is another clock
 * than the wall clock. */
static hora_instant moment_of(const struct look *look, hora_ns time)
{
    assert(look != NULL);
    if (look->info.clock == HORA_CLOCK_WALL)
        return (hora_instant){time};
    return (hora_instant){hora__ns_add(look->wall, hora__ns_sub(time, look->now))};
}

/* A time that is not after now belongs to a run that is due or under way, and is not the next one. */
int hora_registration_next(hora_registration *registration, hora_instant *ret_next)
{
    struct look seen;
    int found = ret_next == NULL ? HORA_EINVAL : look(registration, &seen);
    if (found <= 0)
        return found;
    hora_ns next = seen.info.next;
    if (next == HORA_NEVER || next == HORA_FOREVER || next <= seen.now)
        return 0;
    *ret_next = moment_of(&seen, next);
    return 1;
}

/* Without a run, the outcome keeps its initial values. */
int hora_registration_get_outcome(hora_registration *registration, hora_outcome *ret_outcome)
{
    struct look seen = {.info = HORA_INIT(hora_schedule_info)};
    size_t size;
    if (HORA__SIZE_GIVEN(hora_outcome, ret_outcome, &size) < 0)
        return HORA_EINVAL;
    int found = look(registration, &seen);
    if (found < 0)
        return found;
    hora_outcome outcome = HORA_INIT(hora_outcome);
    if (found > 0 && seen.info.runs > 0) {
        /* While a run is under way, the code is that of an earlier run and says nothing about this one. */
        bool runs = seen.info.running > 0;
        outcome.start = moment_of(&seen, seen.info.last_start);
        outcome.runs = seen.info.runs;
        outcome.failures = seen.info.failures;
        outcome.code = runs ? 0 : seen.info.last_code;
        outcome.state = runs                ? HORA_OUTCOME_STARTED
                        : outcome.code == 0 ? HORA_OUTCOME_SUCCESS
                                            : HORA_OUTCOME_ERROR;
    }
    hora__output_write(ret_outcome, size, &outcome, sizeof outcome);
    return 0;
}

/* ---- in words ---- */

/* Append the declaration in words. Repeating tasks are described by their trigger. */
static void add_words(const struct hora__declared *declared, struct hora__text *text)
{
    assert(declared->in_words != NULL || declared->kind == HORA__DECLARED_DISABLED ||
           declared->kind == HORA__DECLARED_ONCE);
    switch (declared->kind) {
    case HORA__DECLARED_DISABLED:
        hora__text_add(text, "disabled");
        break;
    case HORA__DECLARED_ONCE:
        hora__text_add(text, declared->spec.initial_delay > 0 ? "once, after " : "once, immediately");
        if (declared->spec.initial_delay > 0)
            hora__text_add_span(text, declared->spec.initial_delay);
        break;
    case HORA__DECLARED_TRIGGER:
    case HORA__DECLARED_CRON:
    case HORA__DECLARED_RATE:
    case HORA__DECLARED_DELAY:
    default:
        declared->in_words->kind->describe(declared->in_words, text);
        break;
    }
}

/* Needs no lock, because the declaration is immutable. */
int hora_registration_describe(hora_registration *registration, char *text, size_t size)
{
    if (registration == NULL || (text == NULL && size > 0))
        return HORA_EINVAL;
    struct hora__text whole = hora__text_begin(text, size);
    hora__text_add(&whole, registration->name);
    hora__text_add(&whole, registration->name[0] != '\0' ? ": " : "");
    add_words(&registration->declared, &whole);
    return hora__text_end(&whole);
}
