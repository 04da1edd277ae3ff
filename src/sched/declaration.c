/* SPDX-License-Identifier: Apache-2.0 */
/* declaration.c - reads a declaration: its texts, its rules, and what is wrong with it
 *
 * Order          First, placeholders are replaced; a text that is empty then counts as absent. Then durations
 *                are parsed, so that each setting has one value. Then the rules of hora/registrar.h are
 *                checked. Last, the schedule is put together, with expression and zone as a trigger.
 * Placeholders   ${name} and ${name:default}. The result grows in one block of fixed size. A name may contain
 *                placeholders itself. It is expanded at the end of the result, looked up, and removed; then
 *                its value, or its default, is expanded there in the same way. The depth is limited, since
 *                expanding a value that refers to itself would never end. The length is limited, since a
 *                short text can refer to others many times. */
#include "sched/declaration.h"

#include <hora/clock.h>

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "base/reason.h"
#include "sys/alloc.h"

/* ---- placeholders ---- */

/* The longest result, in bytes, and the deepest nesting of placeholders. The messages below name both. */
enum { LONGEST = 4096, DEEPEST = 16 };

/* The state of one replacement of placeholders. */
struct replacement {
    const struct hora__resolver *resolver;
    /* Why it failed, a static string. */
    const char *reason;
    /* The bytes of `text` in use: the result so far, followed by a name that is being expanded. */
    size_t length;
    char text[LONGEST + 1];
};

/* A part of a text. */
struct span {
    const char *first;
    const char *end;
};

static struct span whole(const char *text)
{
    return (struct span){text, text + strlen(text)};
}

/* Returns whether "${" starts at this position. */
static bool starts_placeholder(const char *at, const char *end)
{
    assert(at <= end);
    return end - at >= 2 && at[0] == '$' && at[1] == '{';
}

/* Record why the replacement failed. Returns HORA_EINVAL. */
static int fail(struct replacement *replacement, const char *reason)
{
    replacement->reason = reason;
    return HORA_EINVAL;
}

/* Append a byte to the result. HORA_EINVAL: the result is too long. */
static int append(struct replacement *replacement, char c)
{
    assert(replacement->length <= LONGEST);
    if (replacement->length == LONGEST)
        return fail(replacement, "with its placeholders replaced it is longer than 4096 bytes");
    replacement->text[replacement->length++] = c;
    return 0;
}

/* Returns the first `stop` or "}" that is not inside a nested placeholder; NULL if there is none. */
static const char *find(struct span span, char stop)
{
    assert(span.first <= span.end);
    /* The number of nested placeholders that are open. */
    int inside = 0;
    for (const char *at = span.first; at < span.end; at++) {
        if (starts_placeholder(at, span.end)) {
            inside++;
            at++;
        } else if (inside == 0 && (*at == stop || *at == '}')) {
            return at;
        } else if (*at == '}') {
            inside--;
        }
    }
    return NULL;
}

static int replace(struct replacement *replacement, struct span span, int depth);

/* Expand a name and ask the resolver for its value; *ret_value is NULL if there is none. The result is
 * left as it was: the expanded name is only needed for the call. Calls user code. */
static int look_up(struct replacement *replacement, struct span name, int depth, const char **ret_value)
{
    assert(replacement->resolver->resolve != NULL);
    /* The expanded name is put behind the result so far, and removed by restoring the length. */
    size_t before = replacement->length;
    int error = replace(replacement, name, depth + 1);
    if (error == 0)
        error = append(replacement, '\0');
    if (error == 0)
        *ret_value =
            replacement->resolver->resolve(replacement->text + before, replacement->resolver->context);
    replacement->length = before;
    return error;
}

/* Append the value or default of one placeholder, given without "${" and "}". */
static int replace_placeholder(struct replacement *replacement, struct span inner, int depth)
{
    /* A colon inside a nested placeholder belongs to that one. */
    const char *colon = find(inner, ':');
    const char *value = NULL;
    struct span name = {inner.first, colon != NULL ? colon : inner.end};
    int error = look_up(replacement, name, depth, &value);
    if (error < 0)
        return error;
    if (value != NULL)
        return replace(replacement, whole(value), depth + 1);
    if (colon == NULL)
        return fail(replacement, "a placeholder has no value and no default");
    return replace(replacement, (struct span){colon + 1, inner.end}, depth + 1);
}

/* Append a text with its placeholders replaced. Calls itself for names, values and defaults, one level
 * deeper. */
static int replace(struct replacement *replacement, struct span span, int depth)
{
    assert(span.first <= span.end && depth >= 0);
    if (depth > DEEPEST)
        return fail(replacement, "its placeholders are nested more than 16 deep");
    int error = 0;
    for (const char *at = span.first; at < span.end && error == 0; at++) {
        if (!starts_placeholder(at, span.end)) {
            error = append(replacement, *at);
            continue;
        }
        struct span inner = {at + 2, find((struct span){at + 2, span.end}, '}')};
        if (inner.end == NULL)
            return fail(replacement, "a placeholder has no closing \"}\"");
        error = replace_placeholder(replacement, inner, depth);
        /* The loop steps over the closing brace. */
        at = inner.end;
    }
    return error;
}

/* Replace all placeholders of a text. *ret_text is the new text, which the caller frees; NULL if there was
 * nothing to replace. On HORA_EINVAL *reterr_reason says why; on HORA_ENOMEM it is not set. The state of
 * the replacement is too large for the stack, so it is allocated. */
static int replace_placeholders(const struct hora__resolver *resolver, const char *text, char **ret_text,
                                const char **reterr_reason)
{
    assert(text != NULL && ret_text != NULL && reterr_reason != NULL);
    *ret_text = NULL;
    /* The common case: nothing to replace, and nothing to allocate. */
    if (strstr(text, "${") == NULL)
        return 0;
    if (resolver->resolve == NULL) {
        *reterr_reason = "it has a placeholder, but there is no resolver";
        return HORA_EINVAL;
    }
    struct replacement *replacement = hora__alloc_dirty(sizeof *replacement);
    if (replacement == NULL)
        return HORA_ENOMEM;
    /* Not all of the struct is set: the text is written before it is read. */
    replacement->resolver = resolver;
    replacement->reason = NULL;
    replacement->length = 0;
    int error = replace(replacement, whole(text), 0);
    if (error == 0) {
        replacement->text[replacement->length] = '\0';
        char *result = hora__alloc_dirty(replacement->length + 1);
        if (result != NULL)
            memcpy(result, replacement->text, replacement->length + 1);
        error = result != NULL ? 0 : HORA_ENOMEM;
        *ret_text = result;
    } else {
        *reterr_reason = replacement->reason;
    }
    hora__free(replacement);
    return error;
}

/* ---- declarations ---- */

/* The texts of a declaration in which placeholders are replaced. */
enum text { CRON, ZONE, RATE, DELAY, INITIAL, TEXTS };

/* What messages call them, and the names of their fields. */
static const char *const text_names[TEXTS] = {"cron", "zone", "fixed rate", "fixed delay", "initial delay"};
static const char *const text_fields[TEXTS] = {"cron", "zone", "fixed_rate_text", "fixed_delay_text",
                                               "initial_delay_text"};

/* The state of reading one declaration. */
struct reading {
    const hora_task *task;
    /* A copy of the declaration, in which name and durations are filled in as they become known. */
    hora_declaration given;
    /* A copy of given.schedule: everything but the times. */
    hora_schedule rules;
    /* The texts with placeholders replaced; NULL: absent or empty. */
    const char *texts[TEXTS];
    /* Those of them that were allocated here, to be freed at the end. */
    char *owned[TEXTS];
    /* The declaration itself has a name, which takes precedence over that of the schedule and that of the
     * task. */
    bool is_named;
    /* An initial delay is given, if only the text "0". */
    bool has_initial_delay;
    /* The caller's; may be NULL. */
    hora_error *reason;
};

/* Long parts are cut so that the sentence fits into the message of a hora_error. */
int hora__declaration_refuse(hora_error *reason, int code, const hora_task *task, const char *name,
                             const struct hora__refusal *refusal)
{
    assert(code < 0 && refusal->what != NULL);
    char place[64] = "";
    if (task != NULL && task->file != NULL)
        (void)snprintf(place, sizeof place, " (%.48s:%d)", task->file, task->line);
    const char *quoted = refusal->quoted;
    const char *detail = refusal->detail;
    return hora__refuse(reason, code, refusal->field, "%.40s%s: %s%s%.40s%s%s%s",
                        name != NULL ? name : "a task without a name", place, refusal->what,
                        quoted != NULL ? " \"" : "", quoted != NULL ? quoted : "", quoted != NULL ? "\"" : "",
                        detail != NULL ? ": " : "", detail != NULL ? detail : "");
}

/* Returns the field of hora_declaration that a name in a message stands for. The names of `text_names` are
 * compared by address; any other is the name of its field. */
static const char *field_of(const char *name)
{
    assert(name != NULL);
    for (int i = 0; i < TEXTS; i++)
        if (name == text_names[i])
            return text_fields[i];
    return name;
}

/* Report that a text or field is wrong: `what` is its name in messages. Returns `error`. */
static int refuse_text(const struct reading *reading, int error, const char *what, const char *quoted,
                       const char *detail)
{
    assert(error < 0 && what != NULL);
    const struct hora__refusal refusal = {
        .field = field_of(what), .what = what, .quoted = quoted, .detail = detail};
    return hora__declaration_refuse(reading->reason, error, reading->task, reading->given.name, &refusal);
}

/* Report a mistake that concerns no single text, and return `error`. refuse() returns HORA_EINVAL, and
 * no_memory() uses the general text of the code. */
static int refuse_for(const struct reading *reading, int error, const char *why)
{
    assert(error < 0 && why != NULL);
    const struct hora__refusal refusal = {.what = why};
    return hora__declaration_refuse(reading->reason, error, reading->task, reading->given.name, &refusal);
}

static int refuse(const struct reading *reading, const char *why)
{
    return refuse_for(reading, HORA_EINVAL, why);
}

static int no_memory(const struct reading *reading, int error)
{
    return refuse_for(reading, error, hora_strerror(error));
}

/* ---- texts ---- */

/* Replace the placeholders of one text, if it is given. An empty result counts as absent. */
static int replace_one(struct reading *reading, const struct hora__resolver *resolver, enum text which,
                       const char *text)
{
    assert((int)which >= 0 && which < TEXTS);
    const char *reason = NULL;
    if (text == NULL)
        return 0;
    int error = replace_placeholders(resolver, text, &reading->owned[which], &reason);
    if (error < 0)
        return reason != NULL ? refuse_text(reading, error, text_names[which], text, reason)
                              : no_memory(reading, error);
    const char *value = reading->owned[which] != NULL ? reading->owned[which] : text;
    reading->texts[which] = value[0] != '\0' ? value : NULL;
    return 0;
}

/* Replace the placeholders of all texts. */
static int replace_all(struct reading *reading, const struct hora__resolver *resolver)
{
    const hora_declaration *given = &reading->given;
    const char *texts[TEXTS] = {given->cron, given->zone, given->fixed_rate_text, given->fixed_delay_text,
                                given->initial_delay_text};
    int error = 0;
    for (int i = 0; i < TEXTS && error == 0; i++)
        error = replace_one(reading, resolver, (enum text)i, texts[i]);
    return error;
}

/* Make one value of a duration that is given as a number in *value or as a text. Reports one that is given
 * twice, cannot be parsed, or is less than `least`. */
static int read_duration(const struct reading *reading, enum text which, hora_ns *value, hora_ns least)
{
    assert((int)which >= 0 && which < TEXTS && value != NULL);
    const char *text = reading->texts[which];
    hora_error wrong;
    /* Given both as a number and as a text. */
    if (text != NULL && *value != 0)
        return refuse_text(reading, HORA_EINVAL, text_names[which], text,
                           "it is given both as a text and as a number");
    int error = text != NULL ? hora_duration_parse(text, reading->given.unit, value, &wrong) : 0;
    if (error < 0)
        return refuse_text(reading, error, text_names[which], NULL, wrong.message);
    if ((text != NULL || *value != 0) && *value < least)
        return refuse_text(reading, HORA_EINVAL, text_names[which], text,
                           least > 0 ? "it must be greater than 0" : "it must not be negative");
    return 0;
}

/* Read all durations. Rates and delays must be positive, the initial delay must not be negative. */
static int read_durations(struct reading *reading)
{
    hora_declaration *given = &reading->given;
    if (given->unit < 0)
        return refuse(reading, "unit is negative");
    int error = read_duration(reading, RATE, &given->fixed_rate, 1);
    if (error == 0)
        error = read_duration(reading, DELAY, &given->fixed_delay, 1);
    if (error == 0)
        error = read_duration(reading, INITIAL, &given->initial_delay, 0);
    /* The text "0" asks for one run at once, which the number 0, the default, cannot express. */
    reading->has_initial_delay = reading->texts[INITIAL] != NULL || given->initial_delay != 0;
    return error;
}

/* ---- rules ---- */

/* Check which settings are given together; hora/registrar.h lists the rules. */
static int check_combination(const struct reading *reading)
{
    const hora_declaration *given = &reading->given;
    bool has_cron = reading->texts[CRON] != NULL;
    int schedules =
        has_cron + (given->fixed_rate != 0) + (given->fixed_delay != 0) + (given->trigger != NULL);
    if (schedules > 1)
        return refuse(reading, "only one of cron, fixed rate, fixed delay and trigger can be given");
    if (schedules == 0 && !reading->has_initial_delay)
        return refuse(reading,
                      "one of cron, fixed rate, fixed delay, trigger and initial delay must be given");
    if (has_cron && reading->has_initial_delay)
        return refuse(reading, "initial delay and cron cannot be combined");
    if (given->trigger != NULL && reading->has_initial_delay)
        return refuse(reading, "initial delay and trigger cannot be combined");
    if (!has_cron && reading->texts[ZONE] != NULL)
        return refuse(reading, "zone has no effect without cron");
    if (!has_cron && (given->dialect != HORA_CRON_SPRING || given->dst != HORA_DST_LITERAL))
        return refuse(reading, "dialect and dst have no effect without cron");
    return 0;
}

/* Returns whether a schedule contains times, or rules for them, which the declaration itself must give. */
static bool says_when(const hora_schedule *rules)
{
    return rules->initial_delay != 0 || rules->at.ns != 0 || rules->fixed_rate != 0 ||
           rules->fixed_delay != 0 || rules->next != NULL || rules->next_arg != NULL ||
           rules->trigger != NULL || rules->cron != NULL || rules->zone != NULL ||
           rules->dialect != HORA_CRON_SPRING || rules->dst != HORA_DST_LITERAL;
}

/* Read the `schedule` of the declaration. If the declaration has no name, the schedule's name takes
 * precedence over that of the task. It is then removed from the rules, since the registration gives the
 * task its name. */
static int read_rules(struct reading *reading)
{
    hora_schedule *rules = &reading->rules;
    if (HORA__TAKE(hora_schedule, rules, reading->given.schedule) < 0)
        return refuse(reading, "schedule: struct_size is wrong: start from HORA_INIT(hora_schedule)");
    /* The copy is of this library's version of the struct. */
    rules->struct_size = sizeof *rules;
    if (says_when(rules))
        return refuse(reading, "schedule: it must not say when to run, because the declaration does");
    if (!reading->is_named && rules->name != NULL)
        reading->given.name = rules->name;
    if (rules->spread > 0 && reading->given.name == NULL)
        return refuse(reading, "schedule: spread needs a name");
    rules->name = NULL;
    return 0;
}

/* ---- the schedule ---- */

/* Read the zone of a cron expression; "local" if none is given. The caller receives a reference. */
static int read_zone(const struct reading *reading, hora_zone **ret_zone)
{
    const char *name = reading->texts[ZONE] != NULL ? reading->texts[ZONE] : "local";
    hora_error wrong;
    int error = hora_zone_new(name, NULL, ret_zone, &wrong);
    if (error == 0)
        return 0;
    const struct hora__refusal refusal = {.field = "zone", .what = wrong.message};
    return hora__declaration_refuse(reading->reason, error, reading->task, reading->given.name, &refusal);
}

/* Parse the cron expression. The caller receives a reference. The position of a mistake within the
 * expression is passed on to the caller's hora_error. */
static int read_cron(const struct reading *reading, hora_cron **ret_cron)
{
    assert(reading->texts[CRON] != NULL);
    hora_error wrong;
    int error = hora_cron_parse(
        reading->texts[CRON], HORA_CRON_OPTIONS(.dialect = reading->given.dialect, .dst = reading->given.dst),
        ret_cron, &wrong);
    if (error < 0) {
        (void)refuse_text(reading, error, "cron", NULL, wrong.message);
        /* refuse_text has reset the range. */
        if (reading->reason != NULL) {
            reading->reason->offset = wrong.offset;
            reading->reason->length = wrong.length;
        }
    }
    return error;
}

/* Make the trigger of a cron expression. Refuses an expression that has no time at all. Without a
 * `schedule` it is lenient, as in Spring: times that pass during a run are dropped. With one, the trigger
 * returns every time, and the schedule's `missed` decides. */
static int make_cron_trigger(const struct reading *reading, hora_cron *cron, hora_zone *zone,
                             hora_trigger **ret_trigger)
{
    assert(cron != NULL && ret_trigger != NULL);
    hora_instant first;
    if (!hora_cron_is_reboot(cron) && hora_cron_next(cron, zone, (hora_instant){0}, &first) == 0)
        return refuse_text(reading, HORA_EINVAL, "cron", reading->texts[CRON], "there is no such time");
    hora_cron_mode mode = reading->given.schedule != NULL ? HORA_CRON_MODE_FIXED : HORA_CRON_MODE_LENIENT;
    int error = hora_trigger_new_cron(cron, zone, HORA_CRON_TRIGGER_OPTIONS(.mode = mode), ret_trigger, NULL);
    return error < 0 ? no_memory(reading, error) : 0;
}

/* Make the trigger from the texts of zone and expression. The caller receives a reference. */
static int read_cron_trigger(const struct reading *reading, hora_trigger **ret_trigger)
{
    assert(ret_trigger != NULL);
    hora_zone *zone;
    hora_cron *cron;
    int error = read_zone(reading, &zone);
    if (error < 0)
        return error;
    error = read_cron(reading, &cron);
    if (error == 0) {
        error = make_cron_trigger(reading, cron, zone, ret_trigger);
        (void)hora_cron_unref(cron);
    }
    (void)hora_zone_unref(zone);
    return error;
}

/* Returns what is declared. The settings have been checked, so at most one applies. The cron text "-"
 * disables the task, as in Spring. */
static enum hora__declared_kind kind_of(const struct reading *reading)
{
    if (reading->texts[CRON] != NULL)
        return strcmp(reading->texts[CRON], "-") == 0 ? HORA__DECLARED_DISABLED : HORA__DECLARED_CRON;
    if (reading->given.trigger != NULL)
        return HORA__DECLARED_TRIGGER;
    if (reading->given.fixed_rate > 0)
        return HORA__DECLARED_RATE;
    return reading->given.fixed_delay > 0 ? HORA__DECLARED_DELAY : HORA__DECLARED_ONCE;
}

/* Make a periodic trigger, which only serves to describe a rate or delay in words. */
static int make_periodic(const struct reading *reading, hora_ns period, bool at_fixed_rate,
                         hora_trigger **ret_trigger)
{
    assert(period > 0);
    int error = hora_trigger_new_periodic(
        period,
        HORA_PERIODIC_TRIGGER_OPTIONS(.fixed_rate = at_fixed_rate,
                                      .initial_delay = reading->given.initial_delay),
        ret_trigger, NULL);
    return error < 0 ? no_memory(reading, error) : 0;
}

/* Make the trigger that describes the declaration, if it repeats. For trigger and cron it is also the one
 * that the task is scheduled with. */
static int make_words(const struct reading *reading, struct hora__declared *declared)
{
    assert(declared->in_words == NULL);
    switch (declared->kind) {
    case HORA__DECLARED_TRIGGER:
        declared->in_words = hora_trigger_ref(reading->given.trigger);
        return 0;
    case HORA__DECLARED_CRON:
        return read_cron_trigger(reading, &declared->in_words);
    case HORA__DECLARED_RATE:
        return make_periodic(reading, reading->given.fixed_rate, true, &declared->in_words);
    case HORA__DECLARED_DELAY:
        return make_periodic(reading, reading->given.fixed_delay, false, &declared->in_words);
    case HORA__DECLARED_ONCE:
    case HORA__DECLARED_DISABLED:
    default:
        return 0;
    }
}

/* Copy the task options, because the caller's may not live until the task is scheduled. On error,
 * hora__declared_clear frees the copy. */
static int copy_terms(const struct reading *reading, struct hora__declared *declared)
{
    assert(declared->terms == NULL);
    const hora_task_options *given = reading->rules.options;
    declared->spec.options = NULL;
    if (given == NULL)
        return 0;
    declared->terms = hora__alloc(1, sizeof *declared->terms);
    if (declared->terms == NULL)
        return no_memory(reading, HORA_ENOMEM);
    if (HORA__TAKE(hora_task_options, declared->terms, given) < 0)
        return refuse(reading,
                      "schedule: options: struct_size is wrong: start from HORA_INIT(hora_task_options)");
    declared->terms->struct_size = sizeof *given;
    declared->spec.options = declared->terms;
    return 0;
}

/* Put the schedule together and check it. Without a `schedule`, missed times are treated as in Spring:
 * HORA_MISSED_BURST makes a rate catch up on all of them, and leaves it to a trigger which times count;
 * that of a cron expression is lenient. */
static int make_spec(const struct reading *reading, struct hora__declared *declared)
{
    assert(declared->spec.trigger == NULL);
    hora_schedule *spec = &declared->spec;
    bool is_asked = declared->kind == HORA__DECLARED_TRIGGER || declared->kind == HORA__DECLARED_CRON;
    *spec = reading->rules;
    spec->initial_delay = reading->given.initial_delay;
    spec->fixed_rate = reading->given.fixed_rate;
    spec->fixed_delay = reading->given.fixed_delay;
    spec->trigger = is_asked ? hora_trigger_ref(declared->in_words) : NULL;
    if (reading->given.schedule == NULL && (is_asked || spec->fixed_rate > 0))
        spec->missed = HORA_MISSED_BURST;
    int error = copy_terms(reading, declared);
    if (error < 0)
        return error;
    hora_error wrong;
    /* A disabled task has no times, so a check would refuse rules that would be valid without the "-". */
    if (declared->kind != HORA__DECLARED_DISABLED && hora_schedule_check(spec, &wrong) < 0)
        return refuse_text(reading, HORA_EINVAL, "schedule", NULL, wrong.message);
    return 0;
}

/* Make the result from texts and rules that have been checked. On error everything is released. */
static int put_together(const struct reading *reading, struct hora__declared *ret_declared)
{
    struct hora__declared declared = {.kind = kind_of(reading), .name = reading->given.name};
    int error = make_words(reading, &declared);
    if (error == 0)
        error = make_spec(reading, &declared);
    if (error < 0)
        hora__declared_clear(&declared);
    else
        *ret_declared = declared;
    return error;
}

/* ---- all of it ---- */

/* Returns NULL for an empty name, which counts as none. */
static const char *unless_empty(const char *name)
{
    return name != NULL && name[0] != '\0' ? name : NULL;
}

/* Read the declaration itself. The name is found first, even if the declaration is wrong, because every
 * message begins with it. */
static int read_task(struct reading *reading, const hora_declaration *declaration)
{
    hora_declaration *given = &reading->given;
    const hora_task *task = reading->task;
    bool is_wrong = HORA__TAKE(hora_declaration, given, declaration) < 0;
    given->name = unless_empty(given->name);
    reading->is_named = given->name != NULL;
    if (!reading->is_named && task != NULL)
        given->name = unless_empty(task->name);
    if (is_wrong)
        return refuse(reading, "struct_size is wrong: start from HORA_INIT(hora_declaration)");
    if (task == NULL || task->run == NULL)
        return refuse(reading, "there is no function to run");
    return 0;
}

/* The steps run in the order of the file's head, except that `schedule` is read early, because it may name
 * the task. The first step that fails writes the reason. */
int hora__declaration_read(const struct hora__resolver *resolver, const hora_task *task,
                           const hora_declaration *declaration, struct hora__declared *ret_declared,
                           hora_error *reason)
{
    assert(resolver != NULL && ret_declared != NULL);
    struct reading reading = {.task = task, .reason = reason};
    int error = read_task(&reading, declaration);
    if (error == 0)
        error = read_rules(&reading);
    if (error == 0)
        error = replace_all(&reading, resolver);
    if (error == 0)
        error = read_durations(&reading);
    if (error == 0)
        error = check_combination(&reading);
    if (error == 0)
        error = put_together(&reading, ret_declared);
    for (int i = 0; i < TEXTS; i++)
        hora__free(reading.owned[i]);
    return error;
}

/* May be called twice: what was released is NULL afterwards. */
void hora__declared_clear(struct hora__declared *declared)
{
    assert(declared != NULL);
    (void)hora_trigger_unref(declared->spec.trigger);
    (void)hora_trigger_unref(declared->in_words);
    hora__free(declared->terms);
    declared->spec.trigger = NULL;
    declared->spec.options = NULL;
    declared->in_words = NULL;
    declared->terms = NULL;
}
