/* SPDX-License-Identifier: Apache-2.0 */
/* command.h - shared by all commands: exit statuses, tables of commands, error messages */
#ifndef APP_COMMAND_H
#define APP_COMMAND_H

#include <stddef.h>

/* The exit statuses of all commands. Every --help and hora(1) document them. */
enum exit_status {
    STATUS_OK = 0,
    STATUS_NO = 1,      /* the answer is no: there is no such time, or the expression is invalid */
    STATUS_TROUBLE = 2, /* there is no answer: wrong usage, unknown zone, or an I/O error */
};

/* An entry of a table of commands. */
struct command {
    const char *name;                  /* the word that selects it */
    int (*run)(int argc, char **argv); /* argv[0] is its name; returns an exit status */
};

/* Runs the command of the table that argv[1] names, with its name as argv[0]. --help prints `help`. If the
 * name is missing, prints that to standard error; if it is unknown, an error. Returns an exit status. */
int command_run(const struct command *table, size_t count, const char *help, int argc, char **argv);

/* Prints an error to standard error, prefixed with the words of the running command. Returns
 * STATUS_TROUBLE. */
__attribute__((format(printf, 1, 2))) int complain(const char *format, ...);

/* Like complain, for wrong usage: also refers to --help. */
#define complain_use(...) (complain(__VA_ARGS__), complain_help())
int complain_help(void);

/* Prints that there is no memory, and exits. */
__attribute__((noreturn)) void out_of_memory(void);

/* Allocates memory with arbitrary contents, which the caller frees. If there is none, prints an error and
 * exits. */
void *memory(size_t size);

#endif
