/* SPDX-License-Identifier: Apache-2.0 */
/* hora/registrar.h - declare what is to be scheduled; as Spring's ScheduledTaskRegistrar and @Scheduled
 *
 *     HORA_SCHEDULED_FUNCTION(nightly, .cron = "0 0 3 * * *", .zone = "Europe/Paris")
 *     {
 *         return clean_up();
 *     }
 *
 *     int main(void)
 *     {
 *         hora_registrar *registrar;
 *         if (hora_registrar_new(NULL, &registrar, NULL) < 0 || hora_registrar_scan(registrar, NULL) < 0 ||
 *             hora_registrar_bind(registrar, NULL, NULL) < 0)
 *             return 1;
 *         ...
 *         return hora_registrar_free(registrar);
 *     }
 *
 * Tasks can be declared before there is a scheduler; their handles are there at once. When a scheduler is
 * bound all are scheduled: those with a trigger first, then cron, fixed rate, fixed delay, one time, each
 * in the order of declaration. What is declared later is scheduled at once. */
#ifndef HORA_REGISTRAR_H
#define HORA_REGISTRAR_H

#include <stdbool.h>
#include <stddef.h>

#include <hora/base.h>
#include <hora/error.h>
#include <hora/scheduler.h>
#include <hora/task.h>
#include <hora/trigger.h>

HORA_BEGIN_DECLS

/* When a declared task runs. Texts are durations (hora_duration_parse), cron and zone as in
 * hora/scheduler.h. In all of them ${name} and ${name:default} are replaced, see hora_registrar_options;
 * one that is empty, or empty then, is one that is not there. The rules:
 *
 *   - one of cron, fixed rate, fixed delay and trigger, or none: then it runs once, and an initial delay
 *     must be given;
 *   - an initial delay goes with all but cron and trigger; it is not negative;
 *   - the value and the text of one thing are not both given;
 *   - a zone, dialect and clock-change rule go with cron alone;
 *   - rates and delays are greater than 0;
 *   - a cron expression that has no time at all, such as the 31st of June, is refused;
 *   - "-" as cron text: the task is disabled. It is not scheduled, and that is no error. */
typedef struct hora_declaration {
    /* sizeof(hora_declaration), set by HORA_DECLARATION */
    uint32_t struct_size;
    /* instead of the task's */
    const char *name;
    /* lenient: times that pass during a run are dropped; with rules, their `missed` decides */
    const char *cron;
    /* NULL: where the machine is, "local" */
    const char *zone;
    hora_cron_dialect dialect;
    hora_dst dst;
    /* as hora_scheduler_schedule_at_fixed_rate, but failures do not end it */
    hora_ns fixed_rate;
    const char *fixed_rate_text;
    /* as hora_scheduler_schedule_with_fixed_delay, but failures do not end it */
    hora_ns fixed_delay;
    const char *fixed_delay_text;
    /* as hora_scheduler_schedule_with a trigger; a reference is taken */
    hora_trigger *trigger;
    /* to run at once and only once give the text "0" */
    hora_ns initial_delay;
    const char *initial_delay_text;
    /* of texts that name none; 0: milliseconds */
    hora_ns unit;
    /* the rest: clock, missed, grace, overlap, failure, back_off, slack, spread, count, end; its times
     * must be zero. Copied. NULL: as Spring */
    const hora_schedule *schedule;
} hora_declaration;

#define HORA_DECLARATION(...) HORA__LITERAL(hora_declaration, __VA_ARGS__)

/* The value of ${name} in a text of a declaration; NULL: there is none. A value may have placeholders in
 * it, and so may a default and a name. The text must live until the call that asked returns. Called by the
 * thread that declares, with no lock of hora held. */
typedef const char *(*hora_resolve_fn)(const char *name, void *arg);

typedef struct hora_registrar_options {
    uint32_t struct_size; /* sizeof(hora_registrar_options), set by HORA_REGISTRAR_OPTIONS */
    hora_resolve_fn
        resolve; /* for ${name} and ${name:default} in texts; NULL: nothing is replaced, and "${" is refused */
    void *arg;   /* its last argument */
} hora_registrar_options;

#define HORA_REGISTRAR_OPTIONS(...) HORA__LITERAL(hora_registrar_options, __VA_ARGS__)

typedef struct hora_registrar hora_registrar;

/* A declared task. Belongs to its registrar, and lives as long. */
typedef struct hora_registration hora_registration;

/* hora_registrar_new - make a registrar without tasks and scheduler
 *
 * Ownership: the caller owns *ret_registrar, to be freed with hora_registrar_free.   Threads: Any thread.
 * Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EAGAIN. */
HORA_NODISCARD HORA_API int hora_registrar_new(const hora_registrar_options *options, hora_registrar **ret_registrar,
                                               hora_error *reason);

/* hora_registrar_add - declare a task
 *
 * The sentence in `reason` begins with the task: "nightly (jobs.c:12): initial delay and cron do not go
 * together". A task whose trigger says never when it is scheduled, or whose `end` has passed then, is
 * over; that is no error.
 *
 * Ownership: see hora/task.h: arg is dropped when the task will not run again, or never will; of one that
 * is disabled at once. Texts, the name too, are copied.
 * Threads: Any thread.   Blocks: While a zone is read.
 * Errors: HORA_EINVAL (see `reason`), HORA_ENOMEM, HORA_ECLOSED, HORA_EFORKED, those of hora_zone_new,
 * and, if a scheduler is bound, those of hora_scheduler_schedule_with. Then nothing has been declared. */
HORA_NODISCARD HORA_API int hora_registrar_add(hora_registrar *registrar, const hora_task *task,
                                               const hora_declaration *declaration,
                                               hora_registration **ret_registration, hora_error *reason);

/* hora_registrar_bind - schedule all that is declared, on a scheduler; NULL: on one of its own with one
 * thread
 *
 * If one task cannot be scheduled, none is: nothing has run, nothing is bound, and binding can be tried
 * again.
 *
 * Ownership: the scheduler stays the caller's, and must live until the registrar is closed.   Threads: Any
 * thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, not a scheduler), HORA_EBUSY (one is bound, or just being bound),
 * HORA_ECLOSED, HORA_EFORKED, and those of hora_scheduler_new and hora_scheduler_schedule_with. */
HORA_API int hora_registrar_bind(hora_registrar *registrar, hora_scheduler *scheduler, hora_error *reason);

/* hora_registrar_close - cancel all tasks, and let none be declared any more: 0
 *
 * Runs that are going are not interrupted; those on a scheduler of its own are waited for, which cannot be
 * interrupted. The handles stay. May be called again.
 *
 * Ownership: arg of all tasks is dropped, of those that are running when their run ends.   Threads: Any
 * thread.
 * Blocks: until runs on a scheduler of its own have ended.
 * Errors: HORA_EINVAL (NULL), HORA_EDEADLK (from a task on its own scheduler), HORA_ENOMEM (never in the
 * thread that made the registrar), HORA_EFORKED. */
HORA_API int hora_registrar_close(hora_registrar *registrar);

/* hora_registrar_free - close a registrar and free it, and all its handles
 *
 * NULL is allowed.
 *
 * Ownership: the registrar is gone; on error nothing has changed.   Threads: Owner.   Blocks: As
 * hora_registrar_close.
 * Errors: as hora_registrar_close. */
HORA_API int hora_registrar_free(hora_registrar *registrar);

/* hora_registrar_count - how many tasks are declared, disabled ones too; 0 for NULL and in the child of a
 * fork
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API int hora_registrar_count(hora_registrar *registrar);

/* hora_registrar_get - the task declared as number `index`, from 0; NULL if there is none
 *
 * Ownership: belongs to the registrar.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_registration *hora_registrar_get(hora_registrar *registrar, int index);

/* hora_registrar_find - the first task with this name; NULL if there is none
 *
 * Ownership: belongs to the registrar.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_registration *hora_registrar_find(hora_registrar *registrar, const char *name);

/* ---- handles ---- */

/* hora_registration_name - its name; "" if it has none, or for NULL
 *
 * Ownership: belongs to the registration.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API const char *hora_registration_name(const hora_registration *registration);

/* hora_registration_next - when it will run next: 1, or 0 if it is disabled, cancelled, over, paused,
 * running, due now or not yet bound
 *
 * A moment of the wall clock as that stands now, whichever clock the task follows.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL (NULL), HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_registration_next(hora_registration *registration, hora_instant *ret_next);

typedef enum hora_outcome_state {
    /* it has not run */
    HORA_OUTCOME_NONE = 0,
    /* it is running */
    HORA_OUTCOME_STARTED,
    HORA_OUTCOME_SUCCESS,
    HORA_OUTCOME_ERROR,
} hora_outcome_state;

typedef struct hora_outcome {
    /* set by HORA_INIT */
    uint32_t struct_size;
    hora_outcome_state state;
    /* of that run; 0 if there was none */
    hora_instant start;
    /* HORA_OUTCOME_ERROR: its failure code */
    int code;
    int64_t runs;
    int64_t failures;
} hora_outcome;

/* hora_registration_get_outcome - what became of its last run
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL (NULL), HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_registration_get_outcome(hora_registration *registration, hora_outcome *ret_outcome);

/* hora_registration_cancel - let it not run again: 1, or 0 if it would not have run again anyway
 *
 * Before a scheduler is bound: it will never run.
 *
 * Ownership: arg is dropped.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL (NULL),
 * HORA_EFORKED. */
HORA_API int hora_registration_cancel(hora_registration *registration, bool interrupt);

/* hora_registration_future - its future: to pause, re-time or look at it; NULL if it is not scheduled
 *
 * Run and arg of its hora_future_task are hora's own, around those that were declared.
 *
 * Ownership: the caller gets one reference.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_future *hora_registration_future(hora_registration *registration);

/* hora_registration_describe - in words: "nightly: at 03:00 every day, Europe/Paris"
 *
 * Writes at most `size` bytes with the final NUL, and returns the length that the whole text has.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL (NULL; text NULL
 * and size not 0). */
HORA_API int hora_registration_describe(hora_registration *registration, char *text, size_t size);

/* ---- functions that declare themselves ---- */

/* What HORA_SCHEDULED_FUNCTION leaves in the program. */
typedef struct hora_scheduled_function {
    int (*run)(void);
    const char *name;
    const char *file;
    int line;
    hora_declaration declaration;
} hora_scheduled_function;

/* Where a program or a library has them. */
typedef struct hora_scheduled_functions {
    const hora_scheduled_function *const *first;
    const hora_scheduled_function *const *end;
} hora_scheduled_functions;

#if defined(__GNUC__) && defined(__ELF__)
/* Nobody refers to an entry; the compiler and the linker must keep it nevertheless. */
#if defined(__has_attribute)
#if __has_attribute(retain)
#define HORA__SCHEDULED_ENTRY __attribute__((used, retain, section("hora_scheduled")))
#endif
#endif
#ifndef HORA__SCHEDULED_ENTRY
#define HORA__SCHEDULED_ENTRY __attribute__((used, section("hora_scheduled")))
#endif

/* HORA_SCHEDULED_FUNCTION(name, fields of hora_declaration) { body } - a function that hora_registrar_scan
 * finds
 *
 * The body returns 0, or a failure code. It is a static function `name`; a function can be declared only
 * once. In C++ this takes C++20, and the fields in their order. */
#define HORA_SCHEDULED_FUNCTION(function, ...)                                                                      \
    static int function(void);                                                                                      \
    static const hora_scheduled_function hora__scheduled_##function = {function, #function, __FILE__, __LINE__,     \
                                                                       HORA__VALUE(hora_declaration, __VA_ARGS__)}; \
    HORA__SCHEDULED_ENTRY static const hora_scheduled_function *const hora__scheduled_entry_##function =            \
        &hora__scheduled_##function;                                                                                \
    static int function(void)

/* The linker makes these for each program and library by itself, if it has such functions. */
extern __attribute__((weak, visibility("hidden"))) const hora_scheduled_function *const __start_hora_scheduled[];
extern __attribute__((weak, visibility("hidden"))) const hora_scheduled_function *const __stop_hora_scheduled[];

/* HORA_SCHEDULED_FUNCTIONS_EXPORT; - in a library that is loaded later, once: let
 * hora_registrar_scan_library find its functions */
#define HORA_SCHEDULED_FUNCTIONS_EXPORT                                     \
    extern HORA_API const hora_scheduled_functions hora_scheduled_exported; \
    const hora_scheduled_functions hora_scheduled_exported = {__start_hora_scheduled, __stop_hora_scheduled}
#endif

/* hora_registrar_add_functions - declare functions; see hora_registrar_scan. Returns how many
 *
 * In the order in which the linker has them. All or none: if one is refused, none is declared.
 *
 * Ownership: the functions must stay where they are until the registrar is closed.
 * Threads: Any thread.   Blocks: While zones are read.   Errors: as hora_registrar_add. */
HORA_API int hora_registrar_add_functions(hora_registrar *registrar, const hora_scheduled_functions *functions,
                                          hora_error *reason);

#if defined(__GNUC__) && defined(__ELF__)
/* hora_registrar_scan - declare every HORA_SCHEDULED_FUNCTION of the calling program or library. Returns
 * how many
 *
 * Ownership: as hora_registrar_add_functions.   Threads: Any thread.   Blocks: While zones are read.
 * Errors: as hora_registrar_add. */
static inline int hora_registrar_scan(hora_registrar *registrar, hora_error *reason)
{
    const hora_scheduled_functions functions = {__start_hora_scheduled, __stop_hora_scheduled};
    return hora_registrar_add_functions(registrar, &functions, reason);
}
#endif

/* hora_registrar_scan_library - declare the functions of a library that was loaded with dlopen. Returns
 * how many
 *
 * The library says HORA_SCHEDULED_FUNCTIONS_EXPORT; once, somewhere. It must not be unloaded before their
 * handles are cancelled and no run is going, or the registrar is closed.
 *
 * Ownership: as hora_registrar_add_functions.   Threads: Any thread.   Blocks: While zones are read.
 * Errors: as hora_registrar_add; HORA_ENOENT (the library exports none). */
HORA_API int hora_registrar_scan_library(hora_registrar *registrar, void *library, hora_error *reason);

HORA_END_DECLS

#endif
