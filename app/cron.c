/* SPDX-License-Identifier: Apache-2.0 */
/* cron.c - hora cron: the table of its commands */
#include "cron.h"

#include "command.h"

static const char help[] =
    "Usage: hora cron COMMAND ...\n"
    "\n"
    "Commands:\n"
    "  next EXPR     the next times of a cron expression\n"
    "  prev EXPR     the times before\n"
    "  explain EXPR  what it means: in words, field by field, the next ten times, and what clock changes do to it\n"
    "  check EXPR    whether it is right, and if not, where it is wrong\n"
    "\n"
    "An expression is one argument, so quote it: hora cron next '0 0 3 LW * *' --zone Europe/Paris\n"
    "\n"
    "  second minute hour day-of-month month day-of-week    --dialect spring (the default)\n"
    "         minute hour day-of-month month day-of-week    --dialect unix\n"
    "\n"
    "hora cron COMMAND --help tells of a command; hora(1) tells all, hora_cron(3) what stands in a field.\n";

int cron_command(int argc, char **argv)
{
    static const struct command commands[] = {
        {"next", cron_next_command},
        {"prev", cron_prev_command},
        {"explain", cron_explain_command},
        {"check", cron_check_command},
    };
    return command_run(commands, sizeof commands / sizeof commands[0], help, argc, argv);
}
