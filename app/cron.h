/* SPDX-License-Identifier: Apache-2.0 */
/* cron.h - hora cron and its commands */
#ifndef APP_CRON_H
#define APP_CRON_H

int cron_command(int argc, char **argv);

int cron_next_command(int argc, char **argv);
int cron_prev_command(int argc, char **argv);
int cron_explain_command(int argc, char **argv);
int cron_check_command(int argc, char **argv);

#endif
