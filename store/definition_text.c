/* SPDX-License-Identifier: Apache-2.0 */
/* definition_text.c - definitions as lines of text
 *
 * A text is a sequence of words, each followed by its values, separated by single spaces:
 *
 *     rate US | delay US | cron DIALECT DST "EXPRESSION" ZONE | trigger "NAME"
 *     end US   count N   missed burst|skip|at-most N   missed-after US   grace US
 *     overlap N   busy skip|queue N
 *     at-most-once | effect-once
 *     attempts N   back-off US FACTOR US   jitter PART   stop-after N
 *
 * in this order. What has its default is left out. Numbers are written without the locale: the two fractions
 * are whole numbers of millionths. In a quoted value, \xHH stands for a control character, a quote or a
 * backslash.
 *
 * The reader accepts the words in any order, but each only once, and checks the ranges: a text of another
 * origin must not make the node divide by zero. */
#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "definition.h"
#include "reason.h"

enum { LONGEST_VALUE = 4096, MILLION = 1000000 };

static const char *const dialects[] = {[HORA_CRON_SPRING] = "spring", [HORA_CRON_UNIX] = "unix", NULL};
static const char *const rules[] = {[HORA_DST_LITERAL] = "literal", [HORA_DST_ONCE] = "once", NULL};
static const char *const policies[] = {[HORA_MISSED_ONCE] = "once",
                                       [HORA_MISSED_BURST] = "burst",
                                       [HORA_MISSED_SKIP] = "skip",
                                       [HORA_MISSED_AT_MOST] = "at-most",
                                       NULL};
static const char *const busy_rules[] = {
    [HORA_BUSY_MISSED] = "missed", [HORA_BUSY_SKIP] = "skip", [HORA_BUSY_QUEUE] = "queue", NULL};

/* ---- writing ---- */

typedef struct output {
    char *text;
    size_t size, length; /* length counts also what does not fit */
} output;

static void add_byte(output *out, char byte)
{
    if (out->length + 1 < out->size)
        out->text[out->length] = byte;
    out->length++;
}

__attribute__((format(printf, 2, 3))) static void add(output *out, const char *format, ...)
{
    char piece[64];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    assert(length >= 0 && (size_t)length < sizeof piece);
    for (int i = 0; i < length; i++)
        add_byte(out, piece[i]);
}

/* Starts a word. */
static void add_word(output *out, const char *word)
{
    if (out->length > 0)
        add_byte(out, ' ');
    add(out, "%s", word);
}

static void add_number(output *out, const char *word, int64_t value)
{
    add_word(out, word);
    add(out, " %lld", (long long)value);
}

/* Writes a number of millionths with as many decimals as it needs. */
static void add_fraction(output *out, double value)
{
    long long millionths = (long long)(value * (double)MILLION + 0.5);
    char decimals[8];
    (void)snprintf(decimals, sizeof decimals, "%06lld", millionths % MILLION);
    for (size_t end = 6; end > 0 && decimals[end - 1] == '0'; end--)
        decimals[end - 1] = '\0';
    add(out, " %lld%s%s", millionths / MILLION, decimals[0] != '\0' ? "." : "", decimals);
}

static void add_quoted(output *out, const char *value)
{
    add_byte(out, ' ');
    add_byte(out, '"');
    for (const unsigned char *at = (const unsigned char *)value; *at != '\0'; at++)
        if (*at < ' ' || *at == '"' || *at == '\\' || *at == 0x7f)
            add(out, "\\x%02x", *at);
        else
            add_byte(out, (char)*at);
    add_byte(out, '"');
}

static void add_cron(output *out, const hora__definition *definition)
{
    char expression[LONGEST_VALUE];
    add_word(out, "cron");
    add(out, " %s %s", dialects[definition->dialect], rules[definition->dst]);
    int length = hora_cron_format(definition->cron, expression, sizeof expression);
    assert(length > 0 && (size_t)length < sizeof expression);
    (void)length;
    add_quoted(out, expression);
    add_byte(out, ' ');
    for (const char *at = hora_zone_name(definition->zone); *at != '\0'; at++)
        add_byte(out, *at);
}

static void add_kind(output *out, const hora__definition *definition)
{
    switch (definition->kind) {
    case HORA__KIND_RATE:
        add_number(out, "rate", definition->period_us);
        break;
    case HORA__KIND_DELAY:
        add_number(out, "delay", definition->period_us);
        break;
    case HORA__KIND_CRON:
        add_cron(out, definition);
        break;
    case HORA__KIND_TRIGGER:
        add_word(out, "trigger");
        add_quoted(out, definition->trigger_name);
        break;
    case HORA__KIND_ONCE:
    default:
        break;
    }
}

static void add_times(output *out, const hora__definition *definition)
{
    if (definition->end_us != INT64_MAX)
        add_number(out, "end", definition->end_us);
    if (definition->count != INT64_MAX)
        add_number(out, "count", definition->count);
    if (definition->missed != HORA_MISSED_ONCE) {
        add_word(out, "missed");
        add(out, " %s", policies[definition->missed]);
    }
    if (definition->missed == HORA_MISSED_AT_MOST)
        add(out, " %d", definition->missed_max);
    if (definition->missed_after_us != HORA__DEFAULT_MISSED_AFTER_US)
        add_number(out, "missed-after", definition->missed_after_us);
    if (definition->grace_us != INT64_MAX)
        add_number(out, "grace", definition->grace_us);
    if (definition->overlap == HORA_OVERLAP_ALLOW)
        add_number(out, "overlap", definition->overlap_max);
    if (definition->busy != HORA_BUSY_MISSED) {
        add_word(out, "busy");
        add(out, " %s", busy_rules[definition->busy]);
    }
    if (definition->busy == HORA_BUSY_QUEUE)
        add(out, " %d", definition->busy_max);
}

static int attempts_of(hora_delivery delivery)
{
    return delivery == HORA_AT_MOST_ONCE ? 1 : HORA__DEFAULT_ATTEMPTS;
}

static void add_attempts(output *out, const hora__definition *definition)
{
    if (definition->delivery == HORA_AT_MOST_ONCE)
        add_word(out, "at-most-once");
    if (definition->delivery == HORA_EFFECT_ONCE)
        add_word(out, "effect-once");
    if (definition->max_attempts != attempts_of(definition->delivery))
        add_number(out, "attempts", definition->max_attempts);
    if (definition->back_off_us != HORA__DEFAULT_BACK_OFF_US ||
        definition->back_off_factor != HORA__DEFAULT_BACK_OFF_FACTOR ||
        definition->back_off_max_us != HORA__DEFAULT_BACK_OFF_MAX_US) {
        add_number(out, "back-off", definition->back_off_us);
        add_fraction(out, definition->back_off_factor);
        add(out, " %lld", (long long)definition->back_off_max_us);
    }
    if (definition->back_off_jitter != 0) {
        add_word(out, "jitter");
        add_fraction(out, definition->back_off_jitter);
    }
    if (definition->stop_after != 0)
        add_number(out, "stop-after", definition->stop_after);
}

int hora__definition_write(const hora__definition *definition, char *text, size_t size)
{
    assert(text != NULL || size == 0);
    output out = {.text = text, .size = size};
    add_kind(&out, definition);
    add_times(&out, definition);
    add_attempts(&out, definition);
    if (size > 0)
        text[out.length < size ? out.length : size - 1] = '\0';
    return (int)out.length;
}

/* ---- reading ---- */

typedef struct input {
    const char *at;
    unsigned seen; /* bits of the words that were read */
    hora__definition *definition;
    hora_error *reason;
} input;

static int refuse(input *in, const char *what)
{
    return hora__store_refuse(in->reason, HORA_EBADMSG, NULL, "%s in the definition at \"%.60s\"", what,
                              in->at);
}

/* Reads up to the next space into `value`. */
static int read_value(input *in, char *value, size_t size)
{
    size_t length = strcspn(in->at, " ");
    if (length == 0)
        return refuse(in, "a value is missing");
    if (length >= size)
        return refuse(in, "a value is too long");
    memcpy(value, in->at, length);
    value[length] = '\0';
    in->at += length;
    in->at += *in->at == ' ';
    return 0;
}

static int read_number(input *in, int64_t least, int64_t most, int64_t *ret_value)
{
    char value[32], *end;
    const char *start = in->at;
    int error = read_value(in, value, sizeof value);
    if (error < 0)
        return error;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (errno == 0 && *end == '\0' && !isspace((unsigned char)value[0]) && number >= least &&
        number <= most) {
        *ret_value = number;
        return 0;
    }
    in->at = start;
    return refuse(in, "a wrong number");
}

static int read_int(input *in, int least, int most, int *ret_value)
{
    int64_t value;
    int error = read_number(in, least, most, &value);
    if (error == 0)
        *ret_value = (int)value;
    return error;
}

/* Reads digits, a point and up to six digits, without the locale. */
static int read_fraction(input *in, double least, double most, double *ret_value)
{
    char value[32], *end;
    const char *start = in->at;
    int error = read_value(in, value, sizeof value);
    if (error < 0)
        return error;
    long long millionths = 0;
    if (isdigit((unsigned char)value[0])) {
        errno = 0;
        long long whole = strtoll(value, &end, 10);
        bool fits = errno == 0 && whole <= 1000000000;
        if (fits)
            millionths = whole * MILLION;
        int64_t unit = MILLION / 10;
        if (*end == '.')
            for (end++; isdigit((unsigned char)*end) && unit > 0; unit /= 10)
                millionths += (*end++ - '0') * unit;
        double number = (double)millionths / (double)MILLION;
        if (fits && *end == '\0' && number >= least && number <= most) {
            *ret_value = number;
            return 0;
        }
    }
    in->at = start;
    return refuse(in, "a wrong fraction");
}

/* Reads one of several words. A word that is not among them belongs to a later version. */
static int read_choice(input *in, const char *const *choices, int *ret_index)
{
    char value[32];
    const char *start = in->at;
    int error = read_value(in, value, sizeof value);
    for (int i = 0; error == 0 && choices[i] != NULL; i++)
        if (strcmp(value, choices[i]) == 0) {
            *ret_index = i;
            return 0;
        }
    in->at = start;
    return error < 0 ? error
                     : hora__store_refuse(in->reason, HORA_ENOTSUP, NULL,
                                          "the definition has a value \"%s\" that this version of hora does "
                                          "not know",
                                          value);
}

static int hexadecimal(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Reads one character of a quoted value, which may be escaped. Returns 0 for a wrong one. */
static char read_character(input *in)
{
    if (*in->at == '\0')
        return '\0';
    if (*in->at != '\\')
        return *in->at++;
    if (in->at[1] != 'x' || hexadecimal(in->at[2]) < 0 || hexadecimal(in->at[3]) < 0)
        return '\0';
    char byte = (char)(hexadecimal(in->at[2]) << 4 | hexadecimal(in->at[3]));
    in->at += 4;
    return byte;
}

static int read_quoted(input *in, char *value, size_t size)
{
    const char *start = in->at;
    size_t length = 0;
    bool sound = *in->at == '"';
    in->at += sound;
    while (sound && *in->at != '"') {
        char byte = read_character(in);
        sound = byte != '\0' && length + 1 < size;
        if (sound)
            value[length++] = byte;
    }
    if (sound)
        in->at++;
    if (!sound || length == 0 || (*in->at != ' ' && *in->at != '\0')) {
        in->at = start;
        return refuse(in, "a wrong quoted value");
    }
    value[length] = '\0';
    in->at += *in->at == ' ';
    return 0;
}

/* ---- words ---- */

static int set_kind(input *in, hora__kind kind)
{
    if (in->definition->kind != HORA__KIND_ONCE)
        return refuse(in, "a second kind");
    in->definition->kind = kind;
    return 0;
}

static int read_period(input *in, hora__kind kind)
{
    int error = set_kind(in, kind);
    return error < 0 ? error : read_number(in, 1, INT64_MAX, &in->definition->period_us);
}

static int read_rate(input *in)
{
    return read_period(in, HORA__KIND_RATE);
}

static int read_delay(input *in)
{
    return read_period(in, HORA__KIND_DELAY);
}

/* An expression that an older version of hora does not know is not damage. */
static int read_cron(input *in)
{
    char expression[LONGEST_VALUE], zone[300];
    int dialect, dst;
    int error = set_kind(in, HORA__KIND_CRON);
    if (error == 0)
        error = read_choice(in, dialects, &dialect);
    if (error == 0)
        error = read_choice(in, rules, &dst);
    if (error == 0)
        error = read_quoted(in, expression, sizeof expression);
    if (error == 0)
        error = read_value(in, zone, sizeof zone);
    if (error != 0)
        return error;
    error = hora__definition_set_cron(in->definition, expression, (hora_cron_dialect)dialect, (hora_dst)dst,
                                      zone, in->reason);
    return error != HORA_EINVAL
               ? error
               : hora__store_refuse(in->reason, HORA_ENOTSUP, NULL,
                                    "the definition has a cron expression or zone that this version of hora "
                                    "does not know: \"%.100s\" %.60s",
                                    expression, zone);
}

static int read_trigger(input *in)
{
    char name[LONGEST_VALUE];
    int error = set_kind(in, HORA__KIND_TRIGGER);
    if (error == 0)
        error = read_quoted(in, name, sizeof name);
    if (error < 0)
        return error;
    in->definition->trigger_name = strdup(name);
    return in->definition->trigger_name != NULL
               ? 0
               : hora__store_refuse(in->reason, HORA_ENOMEM, NULL, "out of memory");
}

static int read_end(input *in)
{
    return read_number(in, INT64_MIN, INT64_MAX, &in->definition->end_us);
}

static int read_count(input *in)
{
    return read_number(in, 1, INT64_MAX, &in->definition->count);
}

static int read_missed(input *in)
{
    int policy;
    int error = read_choice(in, policies, &policy);
    if (error < 0)
        return error;
    in->definition->missed = (hora_missed)policy;
    return policy == HORA_MISSED_AT_MOST ? read_int(in, 1, INT32_MAX, &in->definition->missed_max) : 0;
}

static int read_missed_after(input *in)
{
    return read_number(in, 1, INT64_MAX, &in->definition->missed_after_us);
}

static int read_grace(input *in)
{
    return read_number(in, 1, INT64_MAX, &in->definition->grace_us);
}

static int read_overlap(input *in)
{
    in->definition->overlap = HORA_OVERLAP_ALLOW;
    return read_int(in, 2, 1000, &in->definition->overlap_max);
}

static int read_busy(input *in)
{
    int rule;
    int error = read_choice(in, busy_rules, &rule);
    if (error < 0)
        return error;
    in->definition->busy = (hora_busy)rule;
    return rule == HORA_BUSY_QUEUE ? read_int(in, 1, 1000, &in->definition->busy_max) : 0;
}

static int read_at_most_once(input *in)
{
    in->definition->delivery = HORA_AT_MOST_ONCE;
    return 0;
}

static int read_effect_once(input *in)
{
    in->definition->delivery = HORA_EFFECT_ONCE;
    return 0;
}

static int read_attempts(input *in)
{
    return read_int(in, 1, 30000, &in->definition->max_attempts);
}

static int read_back_off(input *in)
{
    hora__definition *own = in->definition;
    int error = read_number(in, 1, INT64_MAX, &own->back_off_us);
    if (error == 0)
        error = read_fraction(in, 1, 1e9, &own->back_off_factor);
    if (error == 0)
        error = read_number(in, own->back_off_us, INT64_MAX, &own->back_off_max_us);
    return error;
}

static int read_jitter(input *in)
{
    return read_fraction(in, 0, 1, &in->definition->back_off_jitter);
}

static int read_stop_after(input *in)
{
    return read_int(in, 1, INT32_MAX, &in->definition->stop_after);
}

static const struct word {
    const char *name;
    int (*read)(input *in);
} words[] = {
    {"rate", read_rate},
    {"delay", read_delay},
    {"cron", read_cron},
    {"trigger", read_trigger},
    {"end", read_end},
    {"count", read_count},
    {"missed", read_missed},
    {"missed-after", read_missed_after},
    {"grace", read_grace},
    {"overlap", read_overlap},
    {"busy", read_busy},
    {"at-most-once", read_at_most_once},
    {"effect-once", read_effect_once},
    {"attempts", read_attempts},
    {"back-off", read_back_off},
    {"jitter", read_jitter},
    {"stop-after", read_stop_after},
};

static int read_word(input *in)
{
    char name[32];
    const char *start = in->at;
    int error = read_value(in, name, sizeof name);
    if (error < 0)
        return error;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(name, words[i].name) == 0) {
            if ((in->seen & 1U << i) != 0) {
                in->at = start;
                return refuse(in, "a repeated word");
            }
            in->seen |= 1U << i;
            return words[i].read(in);
        }
    return hora__store_refuse(in->reason, HORA_ENOTSUP, NULL,
                              "the definition has a word \"%s\" that this version of hora does not know",
                              name);
}

int hora__definition_read(const char *text, hora__definition **ret_definition, hora_error *reason)
{
    hora__definition *own = malloc(sizeof *own);
    if (own == NULL)
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "out of memory");
    hora__definition_init(own);
    own->max_attempts = 0;
    input in = {.at = text != NULL ? text : "", .definition = own, .reason = reason};
    int error = 0;
    while (error == 0 && *in.at != '\0')
        error = read_word(&in);
    if (own->max_attempts == 0)
        own->max_attempts = attempts_of(own->delivery);
    if (error < 0) {
        hora__definition_free(own);
        return error;
    }
    *ret_definition = own;
    return 0;
}
