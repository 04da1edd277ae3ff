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

#define OPTIONS_HELP                                                                                                   \
    "  --zone Z            a zone: Europe/Paris, UTC, +05:30, UTC+02:00, local (the default)\n"                        \
    "  --from T            a time: 2026-03-29T01:30:00+01:00, 2026-03-29T01:30[Europe/Paris], 2026-03-29; default: "   \
    "now.\n"                                                                                                           \
    "                      A zone named here is that of the answers too, if --zone does not name one.\n"               \
    "  -n N                how many, 1 to 1000000; default: 1\n"                                                       \
    "  --dst spring|cron   local times that clock changes skip or repeat: spring (the default): never, and twice;\n"   \
    "                      cron: a fixed time of the day comes right after the gap, and once; others as with spring\n" \
    "  --dialect spring|unix   six fields and all must match (the default), or crontab's five\n"                       \
    "  --tsv               read lines expression<TAB>zone<TAB>from from standard input, answer each with one line: a " \
    "time,\n"                                                                                                          \
    "                      null (none), or error: and why\n"                                                           \
    "  -h, --help          print this\n"                                                                               \
    "\n"                                                                                                               \
    "Exit status: 0 if there is such a time, also if there are fewer than N, which standard error says then; 1 if "    \
    "there is\n"                                                                                                       \
    "none (printed is \"never\", or \"not before\" or \"not after\" and the end of what can be counted); 2 if "        \
    "something "                                                                                                       \
    "is wrong.\n"                                                                                                      \
    "With --tsv 0, also if some lines are errors, or 2 if something cannot be read or written.\n"

static const char next_help[] = "Usage: hora cron next EXPR [OPTION]...\n"
                                "       hora cron next --tsv [--dst RULE] [--dialect NAME]\n"
                                "\n"
                                "Print the first times of a cron expression after a time, one a line.\n"
                                "\n" OPTIONS_HELP;

static const char prev_help[] =
    "Usage: hora cron prev EXPR [OPTION]...\n"
    "       hora cron prev --tsv [--dst RULE] [--dialect NAME]\n"
    "\n"
    "Print the last times of a cron expression before a time, one a line, the last one first.\n"
    "\n" OPTIONS_HELP;

/* Only the end of what can be counted makes them fewer: an expression that has a time has others. */
static int print_fewer(const struct cron_question *question, int found, int count, bool backwards)
{
    if (found == 0) {
        output_no_time(question->cron, question->zone, question->zone_is_named, backwards);
        return STATUS_NO;
    }
    complain("only %d of %d times: no other can be counted %s", found, count, backwards ? "after 1677" : "before 2262");
    return STATUS_OK;
}

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
