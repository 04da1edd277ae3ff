/* SPDX-License-Identifier: Apache-2.0 */
/* cron.h - hora cron and its commands */
#ifndef APP_CRON_H
#define APP_CRON_H

/* All of these have the form of struct command: argv[0] is the name, and the result is an exit status. */
int cron_command(int argc, char **argv);

int cron_next_command(int argc, char **argv);
int cron_prev_command(int argc, char **argv);
int cron_explain_command(int argc, char **argv);
int cron_check_command(int argc, char **argv);

#endif
