/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the hora command */
#include <stdbool.h>
#include <string.h>

#include <hora/version.h>

#include "command.h"
#include "cron.h"
#include "demo.h"
#include "output.h"
#ifdef HORA_RUNNER
#include "control/commands.h"
#include "jobs/commands.h"
#include "run_command.h"
#include "simulate_command.h"
#endif

static const char help[] =
    "Usage: hora COMMAND ...\n"
    "\n"
#ifdef HORA_RUNNER
    "Run jobs:\n"
    "  run         run the jobs of files; or let a runner run a job now\n"
    "  check       check job files\n"
    "  simulate    print what job files would do in a period\n"
    "  import      convert a crontab to a job file\n"
    "\n"
    "See what a runner does:\n"
    "  status      what it does now, and what needs attention\n"
    "  list        its jobs: states, next and last runs\n"
    "  next        the next planned times of all jobs\n"
    "  history     the runs that have ended\n"
    "  logs        the output of a run\n"
    "  events      what happens, as it happens\n"
    "  explain     why a job ran, did not run or does not run\n"
    "  top         a live overview\n"
    "  show        a job as it was read, with all defaults\n"
    "  metrics     its metrics for Prometheus\n"
    "\n"
    "Change what a runner does:\n"
    "  pause       let the planned times of a job pass without a run\n"
    "  resume      resume a job that is paused or has been given up\n"
    "  cancel      end a run\n"
    "  reload      read the job files again\n"
    "  stop        end the runner\n"
    "  clock       let time pass for a runner with a virtual clock\n"
    "\n"
    "Try:\n"
#else
    "Commands:\n"
#endif
    "  cron        show when a cron expression runs, and what it means\n"
    "  demo        run a scheduler under load and show what it does\n"
    "\n"
    "Options:\n"
    "  -h, --help  print this help; for help on a command, hora COMMAND --help\n"
    "  --version   print the version\n"
    "\n"
    "Exit status: 0 on success, 1 if there is no such time or a check fails, 2 on errors. SIGPIPE ends\n"
    "the command silently. See the manual page hora(1) for details.\n";

int main(int argc, char **argv)
{
    static const struct command commands[] = {
        {"cron", cron_command},       {"demo", demo_command},
#ifdef HORA_RUNNER
        {"run", run_command},         {"check", check_command},     {"simulate", simulate_command},
        {"import", import_command},   {"status", status_command},   {"list", list_command},
        {"next", next_command},       {"history", history_command}, {"logs", logs_command},
        {"events", events_command},   {"explain", explain_command}, {"show", show_command},
        {"metrics", metrics_command}, {"pause", pause_command},     {"resume", resume_command},
        {"cancel", cancel_command},   {"reload", reload_command},   {"stop", stop_command},
        {"clock", clock_command},     {"top", top_command},
#endif
    };

    output_start();
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        output_format("hora %s\n", hora_version());
        return output_finish(STATUS_OK);
    }
    return output_finish(command_run(commands, sizeof commands / sizeof commands[0], help, argc, argv));
}
