/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_command.h - the command hora simulate */
#ifndef APP_SIMULATE_COMMAND_H
#define APP_SIMULATE_COMMAND_H

int simulate_command(int argc, char **argv);

#endif
