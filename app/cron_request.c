/* SPDX-License-Identifier: Apache-2.0 */
/* cron_request.c - parse the command line of hora cron, and open the expression and the zone that it names */
#include "cron_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hora/clock.h>
#include <hora/error.h>

#include "command.h"
#include "cron_text.h"
#include "help.h"
#include "options.h"
#include "output.h"

#define MOST_TIMES 1000000 /* the largest value of -n */

/* The ids of the options. */
enum { DIALECT = 1, HELP, DST, ZONE, FROM, COUNT, TSV };

/* The options in the order that enum cron_options requires: each command takes a prefix of the table. */
static const struct option table[] = {
    /* All commands take these. */
    {"--dialect", 0, true, DIALECT},
    {"--help", 'h', false, HELP},
    /* explain, next and prev take these. */
    {"--dst", 0, true, DST},
    {"--zone", 0, true, ZONE},
    {"--from", 0, true, FROM},
    /* Only next and prev take these. */
    {NULL, 'n', true, COUNT},
    {"--tsv", 0, false, TSV},
};

/* Reads the value of --dst. Development versions had other names for the rules. */
static bool read_rule(const char *value, hora_dst *ret_rule)
{
    static const char *const rules[] = {[HORA_DST_LITERAL] = "literal", [HORA_DST_ONCE] = "once"};
    static const char *const old_rules[] = {[HORA_DST_LITERAL] = "spring", [HORA_DST_ONCE] = "cron"};
    int choice;
    for (int i = 0; i < 2; i++) {
        if (strcmp(value, old_rules[i]) == 0) {
            complain_use("--dst %s is called --dst %s now", value, rules[i]);
            return false;
        }
    }
    if (!option_choice("--dst", value, rules, 2, &choice))
        return false;
    *ret_rule = (hora_dst)choice;
    return true;
}

/* Stores an option in the request. Returns false after printing an error. */
static bool take_option(struct cron_request *request, int id, const char *value)
{
    static const char *const dialects[] = {[HORA_CRON_SPRING] = "spring", [HORA_CRON_UNIX] = "unix"};
    int choice;
    switch (id) {
    case DIALECT:
        if (!option_choice("--dialect", value, dialects, 2, &choice))
            return false;
        request->options.dialect = (hora_cron_dialect)choice;
        return true;
    case DST:
        return read_rule(value, &request->options.dst);
    case ZONE:
        request->zone = value;
        return true;
    case FROM:
        request->from = value;
        return true;
    case COUNT:
        return option_number("-n", value, 1, MOST_TIMES, &request->count);
    default:
        request->tsv = true;
        return true;
    }
}

/* Checks whether the arguments are compatible. `second` is the second operand, if there is one. Returns
 * REQUEST_GO, or an exit status after printing an error. */
static int check_together(const struct cron_request *request, int operands, const char *second)
{
    if (operands > 1)
        return complain_use("unexpected argument \"%s\"; quote the expression: '0 0 3 * * *'", second);
    if (!request->tsv)
        return operands == 1 ? REQUEST_GO : complain_use("the expression is missing");
    if (operands > 0)
        return complain_use("--tsv reads expressions from standard input, not from the command line");
    if (request->zone || request->from || request->count > 0)
        return complain_use(
            "--tsv cannot be combined with %s: each line has its own zone and time and gets one answer",
            request->zone   ? "--zone"
            : request->from ? "--from"
                            : "-n");
    return REQUEST_GO;
}

int request_read(struct cron_request *ret_request, enum cron_options options, const char *help, int argc,
                 char **argv)
{
    struct options words = {.table = table, .count = options, .argc = argc, .argv = argv, .at = 1};
    const char *second = NULL;
    int operands = 0;
    *ret_request = (struct cron_request){.options = HORA_INIT(hora_cron_options)};
    for (int id; (id = options_next(&words)) != WORD_END;) {
        if (id == WORD_WRONG)
            return STATUS_TROUBLE;
        if (id == HELP) {
            help_print(help);
            return STATUS_OK;
        }
        if (id == WORD_OPERAND) {
            operands++;
            if (operands == 1)
                ret_request->expression = words.value;
            else if (operands == 2)
                second = words.value;
        } else if (!take_option(ret_request, id, words.value)) {
            return STATUS_TROUBLE;
        }
    }
    return check_together(ret_request, operands, second);
}

/* Parses the expression. On error prints a message that marks the mistake, and returns false. */
static bool open_cron(const struct cron_request *request, hora_cron **ret_cron)
{
    hora_error error;
    int result = hora_cron_parse(request->expression, &request->options, ret_cron, &error);
    if (result == 0)
        return true;
    complain("%s", error.message);
    if (result != HORA_EINVAL)
        return false;
    char *mark = cron_mark(request->expression, &error);
    (void)fputs(mark, stderr);
    free(mark);
    return false;
}

/* Sets the time at which the search starts: --from, or the current time. A zone that --from names replaces
 * the default one. Returns false after printing an error. */
static bool open_from(const struct cron_request *request, struct cron_question *question)
{
    if (!request->from) {
        int result = hora_clock_instant(hora_clock_system(HORA_CLOCK_WALL), &question->from);
        if (result < 0)
            complain("the clock: %s", hora_strerror(result));
        return result >= 0;
    }
    hora_error error;
    hora_zone *named = NULL;
    int result = hora_instant_parse(request->from, question->zone, &question->from, &named, &error);
    if (result < 0) {
        complain("--from %s: %s", request->from, error.message);
        return false;
    }
    if (named && !request->zone) {
        hora_zone_unref(question->zone);
        question->zone = hora_zone_ref(named);
        question->zone_is_named = true;
    }
    hora_zone_unref(named);
    return true;
}

int question_open(const struct cron_request *request, struct cron_question *ret_question)
{
    *ret_question = (struct cron_question){0};
    const char *zone = request->zone ? request->zone : "local";
    hora_error error;
    ret_question->zone_is_named = strcmp(zone, "local") != 0;
    bool good = open_cron(request, &ret_question->cron);
    if (good) {
        good = hora_zone_new(zone, NULL, &ret_question->zone, &error) >= 0;
        if (!good)
            complain("%s", error.message); /* the message names the zone */
    }
    good = good && open_from(request, ret_question);
    if (!good)
        question_close(ret_question);
    return good ? REQUEST_GO : STATUS_TROUBLE;
}

void question_close(struct cron_question *question)
{
    question->cron = hora_cron_unref(question->cron);
    question->zone = hora_zone_unref(question->zone);
}
