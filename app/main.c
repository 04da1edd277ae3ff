/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the command hora */
#include <stdbool.h>
#include <string.h>

#include <hora/version.h>

#include "command.h"
#include "cron.h"
#include "demo.h"
#include "output.h"

static const char help[] =
    "Usage: hora COMMAND ...\n"
    "\n"
    "Commands:\n"
    "  cron        what a cron expression means, and when its times are\n"
    "  demo        a scheduler at work, for some seconds\n"
    "\n"
    "Options:\n"
    "  -h, --help  print this; hora COMMAND --help tells of a command\n"
    "  --version   print the release\n"
    "\n"
    "Exit status: 0 yes, 1 no, 2 trouble; SIGPIPE ends it quietly. More in the manual page hora(1).\n";

int main(int argc, char **argv)
{
    static const struct command commands[] = {{"cron", cron_command}, {"demo", demo_command}};

    output_start();
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        output_format("hora %s\n", hora_version());
        return output_finish(STATUS_OK);
    }
    return output_finish(command_run(commands, sizeof commands / sizeof commands[0], help, argc, argv));
}
