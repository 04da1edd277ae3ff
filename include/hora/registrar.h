/* SPDX-License-Identifier: Apache-2.0 */
/* hora/registrar.h - declare scheduled tasks, as with Spring's ScheduledTaskRegistrar and @Scheduled
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
 * Tasks can be declared before there is a scheduler, and their handles are available immediately. Binding a
 * scheduler schedules all of them: first those with a trigger, then cron, fixed rate, fixed delay and
 * one-shot tasks, each in the order of declaration. A task that is declared later is scheduled
 * immediately. */
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

/* When a declared task runs. The texts are durations (hora_duration_parse), except cron and zone, which are
 * as in hora/scheduler.h. In all of them ${name} and ${name:default} are replaced; see
 * hora_registrar_options. A text that is empty, or becomes empty, counts as absent. These rules apply:
 *
 *   - At most one of cron, fixed rate, fixed delay and trigger is given. If none is, the task runs once, and
 *     an initial delay is required.
 *   - An initial delay can be combined with all but cron and trigger, and must not be negative.
 *   - A value must not be given both as a number and as a text.
 *   - Zone, dialect and clock-change rule require cron.
 *   - Rates and delays must be greater than 0.
 *   - A cron expression that has no times at all, such as the 31st of June, is refused.
 *   - The cron text "-" disables the task. It is not scheduled, and this is not an error. */
typedef struct hora_declaration {
    /* sizeof(hora_declaration), set by HORA_DECLARATION */
    uint32_t struct_size;
    /* replaces the name of the task; NULL or "" means that it has its own name, or that of `schedule` */
    const char *name;
    /* the times of this expression. Times that pass during a run are dropped (lenient mode), but if
     * `schedule` is given, its `missed` decides */
    const char *cron;
    /* the zone of cron; NULL means the zone of the machine, "local" */
    const char *zone;
    /* the syntax of cron; 0 means Spring's six fields */
    hora_cron_dialect dialect;
    /* the clock-change rule of cron; 0 means literal */
    hora_dst dst;
    /* as hora_scheduler_schedule_at_fixed_rate, but a failure does not end the series */
    hora_ns fixed_rate;
    /* the same as a text */
    const char *fixed_rate_text;
    /* as hora_scheduler_schedule_with_fixed_delay, but a failure does not end the series */
    hora_ns fixed_delay;
    /* the same as a text */
    const char *fixed_delay_text;
    /* as `trigger` of hora_schedule; the registrar takes a reference */
    hora_trigger *trigger;
    /* delay before the first run, counted from the moment at which the task is scheduled */
    hora_ns initial_delay;
    /* the same as a text; to run once and immediately, set it to "0" */
    const char *initial_delay_text;
    /* unit of duration texts that name none, in nanoseconds; 0 means milliseconds */
    hora_ns unit;
    /* everything else: clock, missed, grace, overlap, failure, back_off, slack, spread, count, end, name and
     * options. Its other fields, which say when to run, must be zero. Copied. NULL means the behaviour of
     * Spring */
    const hora_schedule *schedule;
} hora_declaration;

/* HORA_DECLARATION(.cron = "0 0 3 * * *"): a declaration literal. In C++ before C++20, start with
 * HORA_INIT(hora_declaration) and assign the fields. */
#define HORA_DECLARATION(...) HORA__LITERAL(hora_declaration, __VA_ARGS__)

/* Returns the value of ${name} in a text of a declaration, or NULL if there is none. Values, defaults and
 * names may themselves contain placeholders, nested at most 16 deep; a text may have at most 4096 bytes after
 * the replacement. The returned text must remain valid until the call that asked for it returns. Called by
 * the declaring thread with no hora lock held. */
typedef const char *(*hora_resolve_fn)(const char *name, void *arg);

/* Options of hora_registrar_new. */
typedef struct hora_registrar_options {
    /* sizeof(hora_registrar_options), set by HORA_REGISTRAR_OPTIONS */
    uint32_t struct_size;
    /* resolves ${name} and ${name:default} in texts; NULL means that nothing is replaced and that "${" is
     * refused */
    hora_resolve_fn resolve;
    /* last argument of resolve; must be NULL if resolve is NULL */
    void *arg;
} hora_registrar_options;

/* HORA_REGISTRAR_OPTIONS(.resolve = f): an options literal. */
#define HORA_REGISTRAR_OPTIONS(...) HORA__LITERAL(hora_registrar_options, __VA_ARGS__)

/* A registrar: declared tasks, and the scheduler that runs them. */
typedef struct hora_registrar hora_registrar;

/* A declared task. It belongs to its registrar and lives as long as the registrar. */
typedef struct hora_registration hora_registration;

/* hora_registrar_new - create a registrar without tasks and without a scheduler
 *
 * Ownership: the caller owns *ret_registrar and frees it with hora_registrar_free.   Threads: Any thread.
 * Blocks: Never.   Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EAGAIN. */
HORA_NODISCARD HORA_API int hora_registrar_new(const hora_registrar_options *options,
                                               hora_registrar **ret_registrar, hora_error *reason);

/* hora_registrar_add - declare a task
 *
 * `ret_registration` may be NULL. The message in `reason` starts with the task: "nightly (jobs.c:12): initial
 * delay and cron do not go together". If the trigger has no time when the task is scheduled, or if `end` has
 * already passed, the task never runs; this is not an error.
 *
 * Ownership: see hora/task.h: arg is dropped when the task will not run again, and immediately if the task is
 * disabled. Texts, including the name, are copied.
 * Threads: Any thread.   Blocks: While a zone is read.
 * Errors: HORA_EINVAL (see `reason`), HORA_ERANGE (a duration is too long), HORA_ENOMEM, HORA_ECLOSED (the
 * registrar is closed), HORA_EFORKED, those of hora_zone_new, and, if a scheduler is bound, those of
 * hora_scheduler_schedule_with. On error the task has not been declared. */
HORA_NODISCARD HORA_API int hora_registrar_add(hora_registrar *registrar, const hora_task *task,
                                               const hora_declaration *declaration,
                                               hora_registration **ret_registration, hora_error *reason);

/* hora_registrar_bind - schedule all declared tasks on a scheduler
 *
 * NULL means that the registrar creates its own scheduler, with one thread. If one task cannot be scheduled,
 * none is: nothing has run, nothing is bound, and the call can be repeated. A registrar is bound to one
 * scheduler, until it is closed.
 *
 * Ownership: the caller keeps the scheduler, which must live until the registrar is closed.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (the registrar is NULL; a pool that is not a scheduler), HORA_EBUSY (a scheduler is
 * bound or being bound), HORA_ECLOSED, HORA_EFORKED, and those of hora_scheduler_new and
 * hora_scheduler_schedule_with. */
HORA_API int hora_registrar_bind(hora_registrar *registrar, hora_scheduler *scheduler, hora_error *reason);

/* hora_registrar_close - cancel all tasks and refuse further declarations: returns 0
 *
 * Runs in progress are not interrupted. If the registrar uses its own scheduler, the call waits for them.
 * That wait cannot be interrupted; an interrupt stays pending. The handles remain valid. The call can be
 * repeated.
 *
 * Ownership: arg of every task is dropped; for a running task, when its run ends.   Threads: Any thread.
 * Blocks: until runs on the registrar's own scheduler have ended.
 * Errors: HORA_EINVAL (NULL), HORA_EDEADLK (from a task on its own scheduler), HORA_ENOMEM (never in the
 * thread that created the registrar), HORA_EFORKED. */
HORA_API int hora_registrar_close(hora_registrar *registrar);

/* hora_registrar_free - close a registrar and free it together with all its handles
 *
 * NULL is allowed.
 *
 * Ownership: the registrar is freed; on error nothing has changed.   Threads: Owner.
 * Blocks: As hora_registrar_close.   Errors: as hora_registrar_close. */
HORA_API int hora_registrar_free(hora_registrar *registrar);

/* hora_registrar_count - return the number of declared tasks, including disabled ones
 *
 * Returns 0 for NULL and in the child of a fork.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API int hora_registrar_count(hora_registrar *registrar);

/* hora_registrar_get - return the declared task number `index`, from 0; NULL if there is none
 *
 * Tasks are numbered in the order of declaration. Returns NULL for NULL and in the child of a fork.
 *
 * Ownership: the handle belongs to the registrar.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_registration *hora_registrar_get(hora_registrar *registrar, int index);

/* hora_registrar_find - return the first task with the given name; NULL if there is none
 *
 * Returns NULL for NULL and in the child of a fork. The name "" finds the first task without a name.
 *
 * Ownership: the handle belongs to the registrar.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_registration *hora_registrar_find(hora_registrar *registrar, const char *name);

/* ---- handles ---- */

/* hora_registration_name - return the name of a declared task; "" if it has none, and for NULL
 *
 * Ownership: the text belongs to the registration.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API const char *hora_registration_name(const hora_registration *registration);

/* hora_registration_next - get the time at which a task will run next: returns 1, or 0 if there is none
 *
 * Returns 0 if the task is disabled, cancelled, done, paused, running, due now or not yet scheduled. The time
 * is an instant of the wall clock as it is set now, even if the task uses another clock.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL), HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_registration_next(hora_registration *registration, hora_instant *ret_next);

/* What is known about the last run of a declared task. */
typedef enum hora_outcome_state {
    /* the task has not run */
    HORA_OUTCOME_NONE = 0,
    /* a run is in progress */
    HORA_OUTCOME_STARTED,
    /* the last run has succeeded */
    HORA_OUTCOME_SUCCESS,
    /* the last run has failed */
    HORA_OUTCOME_ERROR,
} hora_outcome_state;

/* The last run of a declared task, at one moment. */
typedef struct hora_outcome {
    /* sizeof(hora_outcome), set by HORA_INIT */
    uint32_t struct_size;
    /* of the last run */
    hora_outcome_state state;
    /* start of the last run; 0 if there was none */
    hora_instant start;
    /* HORA_OUTCOME_ERROR: the failure code of the last run. Otherwise 0 */
    int code;
    /* number of started runs */
    int64_t runs;
    /* number of failed runs */
    int64_t failures;
} hora_outcome;

/* hora_registration_get_outcome - get the outcome of the last run
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL; *ret_outcome was not initialized with HORA_INIT), HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_registration_get_outcome(hora_registration *registration,
                                                          hora_outcome *ret_outcome);

/* hora_registration_cancel - cancel a task: returns 1, or 0 if it would not have run again anyway
 *
 * A task that is cancelled before a scheduler is bound never runs. With `interrupt`, the thread of a run in
 * progress is interrupted.
 *
 * Ownership: arg is dropped; if the task is running, when its run ends.   Threads: Any thread.
 * Blocks: Never.
 * Errors: HORA_EINVAL (NULL), HORA_EFORKED. */
HORA_API int hora_registration_cancel(hora_registration *registration, bool interrupt);

/* hora_registration_future - return the future of a task, to pause, re-time or inspect it
 *
 * NULL if the task has not been scheduled, for NULL, and in the child of a fork. The run and arg of its
 * hora_future_task are internal wrappers around the declared ones.
 *
 * Ownership: the caller receives one reference.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_future *hora_registration_future(hora_registration *registration);

/* hora_registration_describe - describe a task in words: "nightly: at 03:00 every day, Europe/Paris"
 *
 * Like snprintf, it writes as much as fits, always with a terminating NUL if size > 0, and returns the length
 * of the complete text. The wording may change in any release.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL; text is NULL and size is not 0). */
HORA_API int hora_registration_describe(hora_registration *registration, char *text, size_t size);

/* ---- functions that declare themselves ---- */

/* The record that HORA_SCHEDULED_FUNCTION leaves in the program. */
typedef struct hora_scheduled_function {
    /* the function */
    int (*run)(void);
    /* its name in the source */
    const char *name;
    /* source file and line of the definition */
    const char *file;
    int line;
    /* when it runs */
    hora_declaration declaration;
} hora_scheduled_function;

/* The range of pointers to these records in a program or library. A pointer may be NULL: a linker may leave
 * gaps. */
typedef struct hora_scheduled_functions {
    /* the first pointer; equal to `end` if there is none */
    const hora_scheduled_function *const *first;
    /* the place after the last one */
    const hora_scheduled_function *const *end;
} hora_scheduled_functions;

#if defined(__GNUC__) && defined(__ELF__)
/* No code refers to an entry, but the compiler and the linker must keep it. */
#if defined(__has_attribute)
#if __has_attribute(retain)
#define HORA__SCHEDULED_ENTRY __attribute__((used, retain, section("hora_scheduled")))
#endif
#endif
#ifndef HORA__SCHEDULED_ENTRY
#define HORA__SCHEDULED_ENTRY __attribute__((used, section("hora_scheduled")))
#endif

/* HORA_SCHEDULED_FUNCTION(name, fields of hora_declaration) { body }: defines a scheduled function
 *
 * hora_registrar_scan finds it. The body returns 0 or a failure code. It becomes a static function `name`,
 * which can be declared only once. In C++ this requires C++20 and the fields in declaration order. */
#define HORA_SCHEDULED_FUNCTION(function, ...)                                                           \
    static int function(void);                                                                           \
    static const hora_scheduled_function hora__scheduled_##function = {                                  \
        function, #function, __FILE__, __LINE__, HORA__VALUE(hora_declaration, __VA_ARGS__)};            \
    HORA__SCHEDULED_ENTRY static const hora_scheduled_function *const hora__scheduled_entry_##function = \
        &hora__scheduled_##function;                                                                     \
    static int function(void)

/* The linker defines these in each program and library that has such functions. */
extern __attribute__((weak, visibility("hidden")))
const hora_scheduled_function *const __start_hora_scheduled[];
extern __attribute__((weak, visibility("hidden")))
const hora_scheduled_function *const __stop_hora_scheduled[];

/* HORA_SCHEDULED_FUNCTIONS_EXPORT; makes the scheduled functions of a dynamically loaded library visible to
 * hora_registrar_scan_library. Write it once in the library. */
#define HORA_SCHEDULED_FUNCTIONS_EXPORT                                     \
    extern HORA_API const hora_scheduled_functions hora_scheduled_exported; \
    const hora_scheduled_functions hora_scheduled_exported = {__start_hora_scheduled, __stop_hora_scheduled}
#endif

/* hora_registrar_add_functions - declare a range of functions; see hora_registrar_scan
 *
 * Declares them in the order in which the linker placed them, and returns how many. If one is refused, none
 * is declared.
 *
 * Ownership: the functions must remain in place until the registrar is closed.   Threads: Any thread.
 * Blocks: While zones are read.   Errors: as hora_registrar_add. */
HORA_API int hora_registrar_add_functions(hora_registrar *registrar,
                                          const hora_scheduled_functions *functions, hora_error *reason);

#if defined(__GNUC__) && defined(__ELF__)
/* hora_registrar_scan - declare every HORA_SCHEDULED_FUNCTION of the calling program or library
 *
 * Returns how many there are.
 *
 * Ownership: as hora_registrar_add_functions.   Threads: Any thread.   Blocks: While zones are read.
 * Errors: as hora_registrar_add. */
static inline int hora_registrar_scan(hora_registrar *registrar, hora_error *reason)
{
    const hora_scheduled_functions functions = {__start_hora_scheduled, __stop_hora_scheduled};
    return hora_registrar_add_functions(registrar, &functions, reason);
}
#endif

/* hora_registrar_scan_library - declare the functions of a library that was loaded with dlopen
 *
 * Returns how many there are. `library` is the handle that dlopen returned. The library must contain
 * HORA_SCHEDULED_FUNCTIONS_EXPORT; exactly once. It must not be unloaded before all its functions have been
 * cancelled and none of them is running, or the registrar is closed.
 *
 * Ownership: as hora_registrar_add_functions.   Threads: Any thread.   Blocks: While zones are read.
 * Errors: as hora_registrar_add; HORA_ENOENT (the library exports none). */
HORA_API int hora_registrar_scan_library(hora_registrar *registrar, void *library, hora_error *reason);

HORA_END_DECLS

#endif
