/* SPDX-License-Identifier: Apache-2.0 */
/* cron_check.c - hora cron check */
#include <stdlib.h>
#include <string.h>

#include <hora/cron.h>
#include <hora/error.h>

#include "command.h"
#include "cron.h"
#include "cron_request.h"
#include "cron_text.h"
#include "lines.h"
#include "output.h"

static const char help[] =
    "Usage: hora cron check EXPR [--dialect spring|unix]\n"
    "       hora cron check - [--dialect spring|unix]\n"
    "\n"
    "Check a cron expression. Prints \"ok:\" and its meaning in words; or the error, the expression,\n"
    "and a line with ^ under the mistake. With -, reads expressions from standard input, one per line.\n"
    "\n"
    "  --dialect spring|unix   six fields (the default), or the five fields of crontab\n"
    "  -h, --help              print this help\n"
    "\n"
    "Exit status: 0 if all expressions are valid, 1 if one is not, 2 on other errors.\n";

/* Checks one expression and prints the result. Returns STATUS_OK, STATUS_NO, or STATUS_TROUBLE after printing
 * an error. */
static int check(const char *expression, const hora_cron_options *options)
{
    hora_cron *cron;
    hora_error error;
    int result = hora_cron_parse(expression, options, &cron, &error);
    if (result == HORA_EINVAL) {
        char *mark = cron_mark(expression, &error);
        output_plain(error.message);
        output_text("\n");
        output_text(mark);
        free(mark);
        return STATUS_NO;
    }
    if (result < 0)
        return complain("%s", error.message);
    char *words = cron_words(cron, NULL);
    output_text("ok: ");
    output_text(words);
    output_text("\n");
    free(words);
    hora_cron_unref(cron);
    return STATUS_OK;
}

/* Checks the expressions on standard input, one per line, and prints each result with the number of its line.
 * Returns an exit status: the worst of all lines. Stops after an error other than an invalid expression. */
static int check_lines(const hora_cron_options *options)
{
    int status = STATUS_OK;
    struct line line;
    int more;
    for (long number = 1; (more = lines_next(&line)) > 0; number++) {
        output_format("%ld: ", number);
        int one = STATUS_NO;
        if (line.trouble) {
            output_text(line.trouble);
            output_text("\n");
        } else {
            one = check(line.text, options);
        }
        if (one == STATUS_TROUBLE)
            return one;
        if (one != STATUS_OK)
            status = one;
    }
    return more < 0 ? STATUS_TROUBLE : status;
}

int cron_check_command(int argc, char **argv)
{
    struct cron_request request;
    int status = request_read(&request, OPTIONS_OF_CHECK, help, argc, argv);
    if (status != REQUEST_GO)
        return status;
    if (strcmp(request.expression, "-") == 0)
        return check_lines(&request.options);
    return check(request.expression, &request.options);
}
