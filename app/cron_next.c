/* SPDX-License-Identifier: Apache-2.0 */
/* cron_next.c - hora cron next, hora cron prev */
#include <hora/cron.h>
#include <hora/error.h>

#include "command.h"
#include "cron.h"
#include "cron_request.h"
#include "cron_text.h"
#include "cron_tsv.h"
#include "output.h"

/* The part of the help that both commands share. */
#define OPTIONS_HELP                                                                                       \
    "  --zone Z            time zone: Europe/Paris, UTC, +05:30, UTC+02:00, local (the default)\n"         \
    "  --from T            start time: 2026-03-29T01:30:00+01:00, 2026-03-29T01:30[Europe/Paris],\n"       \
    "                      2026-03-29; default: now. A zone named here also applies to the answers,\n"     \
    "                      unless --zone names another\n"                                                  \
    "  -n N                number of times, 1 to 1000000; default: 1\n" DST_HELP                           \
    "  --dialect spring|unix   six fields that must all match (the default), or the five of crontab\n"     \
    "  --tsv               read lines expression<TAB>zone<TAB>from from standard input and answer each\n"  \
    "                      with one line: a time, null (none), or error: and the reason\n"                 \
    "  -h, --help          print this help\n"                                                              \
    "\n"                                                                                                   \
    "Exit status: 0 if there is such a time, also if there are fewer than N, which is then reported on\n"  \
    "standard error; 1 if there is none (the output is \"never\", or \"not before\" or \"not after\" and " \
    "the\n"                                                                                                \
    "end of the supported range); 2 on errors. With --tsv: 0, also if some lines are errors; 2 if input\n" \
    "or output fails.\n"

static const char next_help[] = "Usage: hora cron next EXPR [OPTION]...\n"
                                "       hora cron next --tsv [--dst RULE] [--dialect NAME]\n"
                                "\n"
                                "Print the first times of a cron expression after a time, one per line.\n"
                                "\n" OPTIONS_HELP;

static const char prev_help[] =
    "Usage: hora cron prev EXPR [OPTION]...\n"
    "       hora cron prev --tsv [--dst RULE] [--dialect NAME]\n"
    "\n"
    "Print the last times of a cron expression before a time, one per line, latest first.\n"
    "\n" OPTIONS_HELP;

/* Reports that there are fewer times than requested. That happens only at the end of the supported range: an
 * expression that matches once matches again. Returns STATUS_NO if no time was found, else STATUS_OK. */
static int print_fewer(const struct cron_question *question, int found, int count, bool backwards)
{
    if (found == 0) {
        output_no_time(question->cron, question->zone, question->zone_is_named, backwards);
        return STATUS_NO;
    }
    complain("only %d of %d times: there are no others %s", found, count,
             backwards ? "after 1677" : "before 2262");
    return STATUS_OK;
}

/* Prints `count` times, one per line. Returns an exit status. */
static int print_times(const struct cron_question *question, int count, cron_step *step)
{
    hora_instant time = question->from;
    for (int i = 0; i < count && !output_has_failed(); i++) {
        int result = step(question->cron, question->zone, time, &time);
        if (result < 0)
            return complain("%s", hora_strerror(result));
        if (result == 0)
            return print_fewer(question, i, count, step == hora_cron_previous);
        output_time(time, question->zone, question->zone_is_named);
        output_bytes("\n", 1);
    }
    return STATUS_OK;
}

/* Runs hora cron next or prev, which differ in their help and in the function that searches. */
static int run(const char *help, cron_step *step, int argc, char **argv)
{
    struct cron_request request;
    struct cron_question question;
    int status = request_read(&request, OPTIONS_OF_NEXT, help, argc, argv);
    if (status != REQUEST_GO)
        return status;
    if (request.tsv)
        return cron_tsv(&request.options, step);
    status = question_open(&request, &question);
    if (status != REQUEST_GO)
        return status;
    status = print_times(&question, request.count > 0 ? request.count : 1, step);
    question_close(&question);
    return status;
}

int cron_next_command(int argc, char **argv)
{
    return run(next_help, hora_cron_next, argc, argv);
}

int cron_prev_command(int argc, char **argv)
{
    return run(prev_help, hora_cron_previous, argc, argv);
}
