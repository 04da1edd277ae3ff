/* SPDX-License-Identifier: Apache-2.0 */
/* trigger_reader.c - read the triggers of a job
 *
 * A job has its triggers as keys of its own (cron, every, delay, at, at_start; each may be a list) or as a list
 * of mappings, triggers, each with one of these keys and with the keys that only concern it. */
#include "jobs/schema.h"

#include <stdio.h>
#include <string.h>

enum { MOST_TRIGGERS = 100 };

const char *const dst_words[] = {[HORA_DST_LITERAL] = "literal", [HORA_DST_ONCE] = "once", NULL};
const char *const dialect_words[] = {[HORA_CRON_SPRING] = "spring", [HORA_CRON_UNIX] = "unix", NULL};
const char *const days_words[] = {[DAYS_AND] = "and", [DAYS_OR] = "or", NULL};

static struct job_trigger *add_trigger(struct reader *reader, struct draft *draft, enum trigger_kind kind,
                                       const char *text, const struct place *place)
{
    struct job *job = &draft->job;
    if (job->trigger_count == MOST_TRIGGERS) {
        report_problem(&reader->report, place, "more than %d triggers", MOST_TRIGGERS);
        return NULL;
    }
    struct job_trigger *trigger = arena_add(reader->arena, job->triggers, job->trigger_count);
    trigger->kind = kind;
    trigger->text = arena_text(reader->arena, text, strlen(text));
    trigger->zone = hora_zone_ref(draft->zone);
    trigger->place = *place;
    return trigger;
}

/* ---- cron ---- */

static int count_fields(const char *text)
{
    static const char blanks[] = " \t\r\n";
    int count = 0;
    for (text += strspn(text, blanks); *text; text += strspn(text, blanks)) {
        text += strcspn(text, blanks);
        count++;
    }
    return count;
}

/* Returns a field of an expression of five fields that hora_cron_parse accepts. */
static const char *field_of(struct arena *arena, const char *text, int number)
{
    static const char blanks[] = " \t\r\n";
    text += strspn(text, blanks);
    for (; number > 0; number--) {
        text += strcspn(text, blanks);
        text += strspn(text, blanks);
    }
    return arena_text(arena, text, strcspn(text, blanks));
}

/* Returns the days of an expression as a list of numbers, "1,15": those of the `count` days from 1970-02-01
 * on, a Sunday, that match. `first` is the number of the first day. */
static const char *matching_days(struct arena *arena, const char *expression, int first, int count)
{
    static const int64_t january = 334; /* days from 1970-02-01 to 1971-01-01 */
    hora_cron *cron;
    const char *list = "";
    if (hora_cron_parse(expression, HORA_CRON_OPTIONS(.dialect = HORA_CRON_UNIX), &cron, NULL) < 0)
        return list;
    for (int i = 0; i < count; i++) {
        /* Days of the month are those of January 1971; days of the week those from 1970-02-01 on. */
        int64_t day = 31 + (first == 1 ? january : 0) + i;
        hora_instant midnight = {day * HORA_HOURS(24)};
        if (hora_cron_matches(cron, NULL, midnight))
            list = arena_format(arena, "%s%s%d", list, *list ? "," : "", first + i);
    }
    hora_cron_unref(cron);
    return list;
}

/* Rewrites five fields so that both day fields must match: with six fields, in which all do. The days are
 * numbered one by one, because the dialects count steps from different days. */
static const char *with_both_days(struct arena *arena, const char *text)
{
    if (text[0] == '@')
        return NULL;
    const char *day = field_of(arena, text, 2), *weekday = field_of(arena, text, 4);
    if (day[0] == '*' || weekday[0] == '*')
        return NULL; /* both match anyway */
    const char *days = matching_days(arena, arena_format(arena, "0 0 %s * *", day), 1, 31);
    const char *weekdays = matching_days(arena, arena_format(arena, "0 0 * * %s", weekday), 0, 7);
    return arena_format(arena, "0 %s %s %s %s %s", field_of(arena, text, 0), field_of(arena, text, 1), days,
                        field_of(arena, text, 3), weekdays);
}

/* Finds out the dialect of an expression. Returns false after reporting a problem. */
static bool choose_dialect(struct reader *reader, const struct draft *draft, const char *text,
                           const struct place *place, bool *ret_unix)
{
    int fields = count_fields(text);
    bool is_word = text[0] == '@';
    if (draft->dialect >= 0)
        *ret_unix = draft->dialect == HORA_CRON_UNIX;
    else if (is_word || fields == 5 || fields == 6)
        *ret_unix = fields != 6;
    else
        return report_problem(&reader->report, place,
                              "cron needs five fields (minute first) or six (second first), not %d in %s",
                              fields, report_quote(&reader->report, text));
    if (draft->days == DAYS_OR && !*ret_unix)
        return report_problem(&reader->report, place,
                              "days: or is the rule of five fields; in six fields, all must match");
    return true;
}

/* Parses an expression. Returns false after reporting a problem, with the column of the mistake if the text
 * is in the file as it is. */
static bool parse_cron(struct reader *reader, const char *text, const struct place *place, int text_column,
                       hora_cron_options options, hora_cron **ret_cron)
{
    hora_error error;
    if (hora_cron_parse(text, &options, ret_cron, &error) >= 0)
        return true;
    struct place exact = *place;
    if (text_column > 0 && error.offset >= 0)
        exact.column = text_column + error.offset;
    return report_problem(&reader->report, &exact, "cron: %s", error.message);
}

void draft_add_at_start(struct reader *reader, struct draft *draft, const struct place *place)
{
    (void)add_trigger(reader, draft, TRIGGER_AT_START, "0s", place);
}

bool draft_add_cron(struct reader *reader, struct draft *draft, const char *text, const struct place *place,
                    int text_column)
{
    bool is_unix = false, both_days = false;
    const char *wrong = NULL;
    if (strcmp(text, "@reboot") == 0) {
        draft_add_at_start(reader, draft, place);
        return true;
    }
    if (!choose_dialect(reader, draft, text, place, &is_unix))
        return false;
    const char *expanded = cron_slots(&reader->scratch, text, is_unix, draft->job.name, &wrong);
    if (!expanded)
        return report_problem(&reader->report, place, "cron: %s is not a slot such as H, H(0-29) or H/15",
                              report_quote(&reader->report, wrong));
    hora_cron_options options = HORA_INIT(hora_cron_options);
    options.dialect = is_unix ? HORA_CRON_UNIX : HORA_CRON_SPRING;
    options.dst = (hora_dst)draft->dst;
    hora_cron *cron;
    if (!parse_cron(reader, expanded, place, expanded == text ? text_column : 0, options, &cron))
        return false;
    const char *six = is_unix && draft->days == DAYS_AND ? with_both_days(&reader->scratch, expanded) : NULL;
    if (six) {
        hora_cron_unref(cron);
        options.dialect = HORA_CRON_SPRING;
        both_days = true;
        if (!parse_cron(reader, six, place, 0, options, &cron))
            return false;
    }
    struct job_trigger *trigger = add_trigger(reader, draft, TRIGGER_CRON, text, place);
    if (!trigger) {
        hora_cron_unref(cron);
        return false;
    }
    trigger->cron = cron;
    trigger->unix_dialect = is_unix;
    trigger->both_days = both_days;
    trigger->dst = options.dst;
    hora_instant epoch = {0}, next;
    if (hora_cron_next(cron, draft->zone, epoch, &next) <= 0)
        report_warning(&reader->report, place, "cron: %s has no time", report_quote(&reader->report, text));
    return true;
}

static bool read_one_cron(const struct slot *slot, const struct node *node, void *target)
{
    if (!schema_is_scalar(slot, node, "a cron expression such as \"0 3 * * *\""))
        return false;
    return draft_add_cron(slot->reader, target, node->text, &node->place,
                          node->literal ? node->text_column : 0);
}

bool read_cron(const struct slot *slot, const struct node *node, void *target)
{
    return schema_each(slot, node, read_one_cron, target);
}

/* ---- the others ---- */

#define LONGEST (HORA_HOURS(24) * 36500)

/* Reads a duration of at least `least` under the name of the slot's key. */
static bool read_period(const struct slot *slot, const struct node *node, hora_ns least, hora_ns *ret_period)
{
    struct key key = {.name = slot->key->name, .least = least, .most = LONGEST};
    struct slot inner = {slot->reader, slot->source, &key};
    return read_duration(&inner, node, ret_period);
}

static bool add_period(const struct slot *slot, const struct node *node, struct draft *draft,
                       enum trigger_kind kind)
{
    hora_ns period;
    if (!read_period(slot, node, HORA_SECONDS(1), &period))
        return false;
    struct job_trigger *trigger = add_trigger(slot->reader, draft, kind, node->text, &node->place);
    if (trigger)
        trigger->period = period;
    return trigger != NULL;
}

static bool read_one_every(const struct slot *slot, const struct node *node, void *target)
{
    return add_period(slot, node, target, TRIGGER_EVERY);
}

bool read_every(const struct slot *slot, const struct node *node, void *target)
{
    return schema_each(slot, node, read_one_every, target);
}

bool read_delay(const struct slot *slot, const struct node *node, void *target)
{
    return add_period(slot, node, target, TRIGGER_DELAY);
}

/* Reads a time, which the zone of the draft completes. `ret_zone` may be NULL; otherwise it receives a
 * reference to the zone that the time names, or NULL. */
static bool read_time(const struct slot *slot, const struct node *node, const struct draft *draft,
                      hora_instant *ret_time, hora_zone **ret_zone)
{
    hora_error error;
    if (!schema_is_scalar(slot, node, "a time such as 2026-12-31T23:00"))
        return false;
    if (hora_instant_parse(node->text, draft->zone, ret_time, ret_zone, &error) < 0)
        return report_problem(&slot->reader->report, &node->place, "%s: %s", slot->key->name, error.message);
    if (ret_time->ns < JOB_PARKED)
        return true;
    if (ret_zone)
        hora_zone_unref(*ret_zone);
    return report_problem(&slot->reader->report, &node->place, "%s must be before the year 2200",
                          slot->key->name);
}

static bool read_one_at(const struct slot *slot, const struct node *node, void *target)
{
    hora_instant time;
    hora_zone *zone;
    struct draft *draft = target;
    if (!read_time(slot, node, draft, &time, &zone))
        return false;
    struct job_trigger *trigger = add_trigger(slot->reader, draft, TRIGGER_AT, node->text, &node->place);
    if (!trigger) {
        hora_zone_unref(zone);
        return false;
    }
    trigger->at = time;
    if (zone) {
        hora_zone_unref(trigger->zone);
        trigger->zone = zone;
    }
    return true;
}

bool read_at(const struct slot *slot, const struct node *node, void *target)
{
    return schema_each(slot, node, read_one_at, target);
}

bool read_at_start(const struct slot *slot, const struct node *node, void *target)
{
    hora_ns period = 0;
    bool is_plain = node->kind == NODE_SCALAR && node->plain;
    if (is_plain && strcmp(node->text, "false") == 0)
        return true;
    bool is_true = is_plain && strcmp(node->text, "true") == 0;
    if (!is_true && !read_period(slot, node, 0, &period))
        return false;
    struct job_trigger *trigger =
        add_trigger(slot->reader, target, TRIGGER_AT_START, is_true ? "0s" : node->text, &node->place);
    if (trigger)
        trigger->period = period;
    return trigger != NULL;
}

/* ---- triggers ---- */

/* The trigger that `from` belongs to is the last one of the draft. */
static bool read_from(const struct slot *slot, const struct node *node, void *target)
{
    struct draft *draft = target;
    return read_time(slot, node, draft, &draft->job.triggers[draft->job.trigger_count - 1].from, NULL);
}

/* Keys of an element of `triggers`. Each of the first KIND_COUNT makes a trigger and is at its trigger_kind;
 * the others concern it. */
static const struct key element_keys[] = {
    [TRIGGER_CRON] = {"cron", read_one_cron, 0, 0, 0, NULL, 0},
    [TRIGGER_EVERY] = {"every", read_one_every, 0, 0, 0, NULL, 0},
    [TRIGGER_DELAY] = {"delay", read_delay, 0, 0, 0, NULL, 0},
    [TRIGGER_AT] = {"at", read_one_at, 0, 0, 0, NULL, 0},
    [TRIGGER_AT_START] = {"at_start", read_at_start, 0, 0, 0, NULL, 0},
    {"zone", read_zone, offsetof(struct draft, zone), 0, 0, NULL, 0},
    {"dst", read_choice, offsetof(struct draft, dst), 0, 0, dst_words, 0},
    {"dialect", read_choice, offsetof(struct draft, dialect), 0, 0, dialect_words, 0},
    {"days", read_choice, offsetof(struct draft, days), 0, 0, days_words, 0},
    {"from", read_from, 0, 0, 0, NULL, 0},
};
enum { KIND_COUNT = 5, ZONE = 5, FROM = 9 };

/* Returns true if a key that makes no trigger concerns triggers of a kind. */
static bool concerns(int key, int kind)
{
    if (key == ZONE)
        return kind == TRIGGER_CRON || kind == TRIGGER_AT || kind == TRIGGER_EVERY;
    return kind == (key == FROM ? TRIGGER_EVERY : TRIGGER_CRON);
}

/* Finds the key that makes the trigger. Returns its index, or -1 after reporting a problem. */
static int find_kind(struct reader *reader, const struct node *node)
{
    int kind = -1;
    for (size_t i = 0; i < node->count; i++) {
        const struct key *key = schema_find(reader, element_keys, KEY_COUNT(element_keys), node->keys[i]);
        if (!key)
            return -1;
        int index = (int)(key - element_keys);
        if (index < KIND_COUNT && kind >= 0) {
            report_problem(&reader->report, &node->keys[i]->place,
                           "%s and %s are two triggers; make two elements of the list",
                           element_keys[kind].name, key->name);
            return -1;
        }
        kind = index < KIND_COUNT ? index : kind;
    }
    if (kind < 0)
        report_problem(&reader->report, &node->place, "a trigger needs cron, every, delay, at or at_start");
    return kind;
}

/* Reads the value of a key, if the element has it. */
static bool read_part(const struct slot *slot, const struct node *node, int index, int kind,
                      struct draft *draft)
{
    const struct key *key = &element_keys[index];
    const struct node *value = node_get(node, key->name);
    struct slot inner = {slot->reader, slot->source, key};
    if (!value)
        return true;
    if (index >= KIND_COUNT && !concerns(index, kind))
        return report_problem(&slot->reader->report, &value->place, "%s is not for %s", key->name,
                              element_keys[kind].name);
    return key->read(&inner, value, (char *)draft + key->offset);
}

/* The trigger needs the keys that concern it, and `from` needs the trigger. */
static bool read_element(const struct slot *slot, const struct node *node, void *target)
{
    struct draft *draft = target;
    if (node->kind != NODE_MAPPING)
        return schema_refuse(slot, node, "a list of mappings such as {cron: \"0 3 * * *\"}");
    int kind = find_kind(slot->reader, node);
    if (kind < 0)
        return false;
    const struct draft before = *draft;
    bool good = true;
    for (int i = KIND_COUNT; i < FROM; i++)
        good = read_part(slot, node, i, kind, draft) && good;
    good = good && read_part(slot, node, kind, kind, draft);
    good = good && read_part(slot, node, FROM, kind, draft);
    draft->zone = before.zone;
    draft->dst = before.dst;
    draft->dialect = before.dialect;
    draft->days = before.days;
    return good;
}

bool read_triggers(const struct slot *slot, const struct node *node, void *target)
{
    return schema_each(slot, node, read_element, target);
}
