/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h - the commands that see and change what a runner does
 *
 * argv[0] is the name of the command, and the result is an exit status. */
#ifndef APP_CONTROL_COMMANDS_H
#define APP_CONTROL_COMMANDS_H

int status_command(int argc, char **argv);
int list_command(int argc, char **argv);
int next_command(int argc, char **argv);
int history_command(int argc, char **argv);
int explain_command(int argc, char **argv);
int show_command(int argc, char **argv);
int metrics_command(int argc, char **argv);
int top_command(int argc, char **argv);

int pause_command(int argc, char **argv);
int resume_command(int argc, char **argv);
int cancel_command(int argc, char **argv);
int reload_command(int argc, char **argv);
int stop_command(int argc, char **argv);
int clock_command(int argc, char **argv);

int logs_command(int argc, char **argv);
int events_command(int argc, char **argv);
/* hora run JOB: exits with the exit status of the job if it waits for it. */
int run_job_command(int argc, char **argv);

#endif
