/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h - the commands for job files that need no runner */
#ifndef APP_JOBS_COMMANDS_H
#define APP_JOBS_COMMANDS_H

/* hora check: checks job files. argv[0] is the name of the command. Returns an exit status. */
int check_command(int argc, char **argv);

/* hora import: converts crontabs to job files. argv[0] is the name of the command. Returns an exit status. */
int import_command(int argc, char **argv);

#endif
