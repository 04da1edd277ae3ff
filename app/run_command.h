/* SPDX-License-Identifier: Apache-2.0 */
/* run_command.h - the command hora run */
#ifndef APP_RUN_COMMAND_H
#define APP_RUN_COMMAND_H

int run_command(int argc, char **argv);

#endif
