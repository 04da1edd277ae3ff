/* SPDX-License-Identifier: Apache-2.0 */
/* command.h - what all commands share: exit statuses, tables of commands, complaints */
#ifndef APP_COMMAND_H
#define APP_COMMAND_H

#include <stddef.h>

/* Stated in every --help and in hora(1). */
enum exit_status {
    STATUS_OK = 0,
    STATUS_NO = 1,      /* the answer is no: there is no such time, the expression is wrong */
    STATUS_TROUBLE = 2, /* there is no answer: wrong use, unknown zone, a file that cannot be read or written */
};

struct command {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is its name; returns an exit status */
};

/* Run the command of the table that argv[1] names; --help prints `help`. */
int command_run(const struct command *table, size_t count, const char *help, int argc, char **argv);

/* Print an error to standard error, after the words of the command that runs; returns STATUS_TROUBLE. */
__attribute__((format(printf, 1, 2))) int complain(const char *format, ...);

/* The same for wrong use: it also says where to read about the right one. */
#define complain_use(...) (complain(__VA_ARGS__), complain_help())
int complain_help(void);

/* Memory that is there: if the system has none, the command ends with a complaint. */
void *memory(size_t size);

#endif
