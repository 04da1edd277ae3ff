/* SPDX-License-Identifier: Apache-2.0 */
/* cron.c - hora cron: the table of its subcommands */
#include "cron.h"

#include "command.h"

static const char help[] =
    "Usage: hora cron COMMAND ...\n"
    "\n"
    "Commands:\n"
    "  next EXPR     print the next times of a cron expression\n"
    "  prev EXPR     print the previous times\n"
    "  explain EXPR  explain it in words and by field, with its next ten times and the clock changes\n"
    "                that affect it\n"
    "  check EXPR    check whether it is valid and, if not, show the mistake\n"
    "\n"
    "An expression is one argument, so quote it: hora cron next '0 0 3 LW * *' --zone Europe/Paris\n"
    "\n"
    "  second minute hour day-of-month month day-of-week    --dialect spring (the default)\n"
    "         minute hour day-of-month month day-of-week    --dialect unix\n"
    "\n"
    "For help on a command, use hora cron COMMAND --help. hora(1) describes all commands, and\n"
    "hora_cron(3) the syntax of the fields.\n";

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
