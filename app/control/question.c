/* SPDX-License-Identifier: Apache-2.0 */
/* question.c - a request of a client of the control socket, parsed and checked
 *
 * A request is a JSON object with the field "request", a word, and further fields. Two tables say which words
 * and fields there are and which fields a request may and must have. A field that the request does not have,
 * or that has another type or an impossible value, is an error: so a misspelled field is never ignored. */
#include "control/question.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <hora/clock.h>
#include <hora/zone.h>

enum field_type { TYPE_TEXT, TYPE_FLAG, TYPE_COUNT, TYPE_NAMES, TYPE_DURATION, TYPE_SINCE };

enum field {
    FIELD_JOB,
    FIELD_RUN,
    FIELD_JOBS,
    FIELD_TAGS,
    FIELD_LIMIT,
    FIELD_BEFORE,
    FIELD_ATTEMPT,
    FIELD_TAIL,
    FIELD_FAILED,
    FIELD_FOLLOW,
    FIELD_ALL,
    FIELD_OUTPUT,
    FIELD_WAIT,
    FIELD_SETTLE,
    FIELD_WITHIN,
    FIELD_BY,
    FIELD_SINCE,
    FIELDS
};

static const struct {
    const char *name;
    enum field_type type;
    size_t offset;       /* in struct question */
    int64_t least, most; /* of a COUNT */
} fields[FIELDS] = {
    [FIELD_JOB] = {"job", TYPE_TEXT, offsetof(struct question, job), 0, 0},
    [FIELD_RUN] = {"run", TYPE_TEXT, offsetof(struct question, run), 0, 0},
    [FIELD_JOBS] = {"jobs", TYPE_NAMES, offsetof(struct question, jobs), 0, 0},
    [FIELD_TAGS] = {"tags", TYPE_NAMES, offsetof(struct question, tags), 0, 0},
    [FIELD_LIMIT] = {"limit", TYPE_COUNT, offsetof(struct question, limit), 1, QUESTION_LIMIT_MOST},
    [FIELD_BEFORE] = {"before", TYPE_COUNT, offsetof(struct question, before), 1, INT64_MAX},
    [FIELD_ATTEMPT] = {"attempt", TYPE_COUNT, offsetof(struct question, attempt), 1, INT32_MAX},
    [FIELD_TAIL] = {"tail", TYPE_COUNT, offsetof(struct question, tail), 1, QUESTION_TAIL_MOST},
    [FIELD_FAILED] = {"failed", TYPE_FLAG, offsetof(struct question, failed), 0, 0},
    [FIELD_FOLLOW] = {"follow", TYPE_FLAG, offsetof(struct question, follow), 0, 0},
    [FIELD_ALL] = {"all", TYPE_FLAG, offsetof(struct question, all), 0, 0},
    [FIELD_OUTPUT] = {"output", TYPE_FLAG, offsetof(struct question, output), 0, 0},
    [FIELD_WAIT] = {"wait", TYPE_FLAG, offsetof(struct question, wait), 0, 0},
    [FIELD_SETTLE] = {"settle", TYPE_FLAG, offsetof(struct question, settle), 0, 0},
    [FIELD_WITHIN] = {"within", TYPE_DURATION, offsetof(struct question, within), 0, 0},
    [FIELD_BY] = {"by", TYPE_DURATION, offsetof(struct question, by), 0, 0},
    [FIELD_SINCE] = {"since", TYPE_SINCE, 0, 0, 0},
};

#define BIT(field) (1U << FIELD_##field)

static const struct {
    const char *name;
    unsigned may, must; /* bits of fields */
    int64_t limit;      /* the default of "limit" */
} kinds[QUESTION_KINDS] = {
    [QUESTION_STATUS] = {"status", 0, 0, 0},
    [QUESTION_LIST] = {"list", BIT(JOB) | BIT(TAGS), 0, 0},
    [QUESTION_NEXT] = {"next", BIT(JOBS) | BIT(TAGS) | BIT(LIMIT) | BIT(ALL), 0, 10},
    [QUESTION_RUN] = {"run", BIT(JOB) | BIT(WAIT) | BIT(OUTPUT), BIT(JOB), 0},
    [QUESTION_PAUSE] = {"pause", BIT(JOB), BIT(JOB), 0},
    [QUESTION_RESUME] = {"resume", BIT(JOB), BIT(JOB), 0},
    [QUESTION_CANCEL] = {"cancel", BIT(RUN), BIT(RUN), 0},
    [QUESTION_HISTORY] = {"history",
                          BIT(JOB) | BIT(TAGS) | BIT(RUN) | BIT(FAILED) | BIT(LIMIT) | BIT(BEFORE) |
                              BIT(SINCE) | BIT(OUTPUT),
                          0, 20},
    [QUESTION_LOGS] = {"logs", BIT(RUN) | BIT(FOLLOW) | BIT(ATTEMPT) | BIT(TAIL), BIT(RUN), 0},
    [QUESTION_EXPLAIN] = {"explain", BIT(JOB), BIT(JOB), 0},
    [QUESTION_RELOAD] = {"reload", 0, 0, 0},
    [QUESTION_STOP] = {"stop", BIT(WITHIN), 0, 0},
    [QUESTION_EVENTS] = {"events", BIT(JOB) | BIT(TAGS) | BIT(RUN) | BIT(OUTPUT), 0, 0},
    [QUESTION_SHOW] = {"show", BIT(JOB), BIT(JOB), 0},
    [QUESTION_METRICS] = {"metrics", 0, 0, 0},
    [QUESTION_CLOCK] = {"clock", BIT(BY) | BIT(SETTLE), 0, 0},
};

const char *question_name(enum question_kind kind)
{
    return kinds[kind].name;
}

/* Writes a reason. Returns false. */
__attribute__((format(printf, 2, 3))) static bool refuse(char reason[QUESTION_REASON], const char *format,
                                                         ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(reason, QUESTION_REASON, format, values);
    va_end(values);
    return false;
}

/* Texts of requests are names of jobs and runs, and tags: at most 200 bytes without control characters. */
static bool is_name(const json_t *value)
{
    if (!json_is_string(value) || json_string_length(value) == 0 || json_string_length(value) > 200)
        return false;
    for (const char *c = json_string_value(value); *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            return false;
    return true;
}

static bool are_names(const json_t *value)
{
    if (!json_is_array(value) || json_array_size(value) > QUESTION_JOBS_MOST)
        return false;
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!is_name(json_array_get(value, i)))
            return false;
    return true;
}

/* A duration is a text such as "30s", or a whole number of seconds. */
static bool read_duration(const json_t *value, hora_ns *ret_duration)
{
    hora_ns duration;
    if (json_is_integer(value)) {
        json_int_t seconds = json_integer_value(value);
        if (seconds < 0 || seconds > INT64_MAX / HORA_SECONDS(1))
            return false;
        *ret_duration = HORA_SECONDS(seconds);
        return true;
    }
    if (!json_is_string(value) ||
        hora_duration_parse(json_string_value(value), HORA_SECONDS(1), &duration, NULL) < 0 || duration < 0)
        return false;
    *ret_duration = duration;
    return true;
}

/* "since" is a duration before now, or a time. */
static bool read_since(const json_t *value, struct question *question)
{
    question->has_since = true;
    question->since_is_ago = read_duration(value, &question->ago);
    return question->since_is_ago ||
           (json_is_string(value) &&
            hora_instant_parse(json_string_value(value), NULL, &question->since, NULL, NULL) == 0);
}

/* Stores a field. Returns false with a reason if its value is wrong. */
static bool read_field(enum field field, const json_t *value, struct question *question,
                       char reason[QUESTION_REASON])
{
    const char *name = fields[field].name;
    void *place = (char *)question + fields[field].offset;
    switch (fields[field].type) {
    case TYPE_TEXT:
        if (!is_name(value))
            return refuse(reason, "\"%s\" must be a text of 1 to 200 bytes without control characters", name);
        *(const char **)place = json_string_value(value);
        return true;
    case TYPE_FLAG:
        if (!json_is_boolean(value))
            return refuse(reason, "\"%s\" must be true or false", name);
        *(bool *)place = json_is_true(value);
        return true;
    case TYPE_COUNT:
        if (!json_is_integer(value) || json_integer_value(value) < fields[field].least ||
            json_integer_value(value) > fields[field].most)
            return refuse(reason, "\"%s\" must be a number from %lld to %lld", name,
                          (long long)fields[field].least, (long long)fields[field].most);
        *(int64_t *)place = json_integer_value(value);
        return true;
    case TYPE_NAMES:
        if (!are_names(value))
            return refuse(reason, "\"%s\" must be a list of at most %d names", name, QUESTION_JOBS_MOST);
        *(const json_t **)place = value;
        return true;
    case TYPE_DURATION:
        return read_duration(value, place) ||
               refuse(reason, "\"%s\" must be a duration such as \"30s\", or a number of seconds", name);
    case TYPE_SINCE:
        break;
    }
    return read_since(value, question) ||
           refuse(reason,
                  "\"%s\" must be a time such as \"2026-11-17T03:00:00Z\", or a duration before now "
                  "such as \"2h\"",
                  name);
}

/* Reads all fields. Returns false with a reason. */
static bool read_fields(struct question *question, char reason[QUESTION_REASON])
{
    unsigned seen = 0;
    const char *name;
    json_t *value;
    json_object_foreach(question->json, name, value)
    {
        if (strcmp(name, "request") == 0)
            continue;
        enum field field = 0;
        while (field < FIELDS && strcmp(fields[field].name, name) != 0)
            field++;
        if (field == FIELDS || (kinds[question->kind].may & 1U << field) == 0)
            return refuse(reason, "the request \"%s\" has no field \"%.60s\"", question_name(question->kind),
                          name);
        if (!read_field(field, value, question, reason))
            return false;
        seen |= 1U << field;
    }
    unsigned missing = kinds[question->kind].must & ~seen;
    for (enum field field = 0; field < FIELDS; field++)
        if ((missing & 1U << field) != 0)
            return refuse(reason, "the request \"%s\" needs the field \"%s\"", question_name(question->kind),
                          fields[field].name);
    return true;
}

/* Finds the kind of a request. Returns false with a reason. */
static bool read_kind(struct question *question, char reason[QUESTION_REASON])
{
    const json_t *word = json_object_get(question->json, "request");
    if (!json_is_string(word))
        return refuse(reason, "a request needs the field \"request\" with a word, such as \"status\"");
    for (enum question_kind kind = 0; kind < QUESTION_KINDS; kind++) {
        if (strcmp(json_string_value(word), kinds[kind].name) == 0) {
            question->kind = kind;
            question->limit = kinds[kind].limit;
            return true;
        }
    }
    return refuse(reason, "there is no request \"%.60s\"", json_string_value(word));
}

bool question_parse(const char *line, size_t size, struct question *ret_question,
                    char reason[QUESTION_REASON])
{
    if (size > QUESTION_SIZE)
        return refuse(reason, "the request is longer than %d bytes", QUESTION_SIZE);
    json_error_t error;
    struct question question = {.within = -1};
    question.json = json_loadb(line, size, JSON_REJECT_DUPLICATES, &error);
    if (question.json == NULL)
        return refuse(reason, "the request is not JSON: %s, at byte %d", error.text, error.position);
    if (!json_is_object(question.json)) {
        json_decref(question.json);
        return refuse(reason, "the request is not a JSON object");
    }
    if (!read_kind(&question, reason) || !read_fields(&question, reason)) {
        json_decref(question.json);
        return false;
    }
    *ret_question = question;
    return true;
}

void question_free(struct question *question)
{
    json_decref(question->json);
    question->json = NULL;
}
