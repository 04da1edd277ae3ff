/* SPDX-License-Identifier: Apache-2.0 */
/* command.c - tables of commands, and error messages
 *
 * A command may have its own table of subcommands. command_run looks up one word after another and remembers
 * them, so that an error message starts with all of them ("hora cron next: ..."). Error messages go to
 * standard error; a failure to write them is ignored. */
#include "command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "help.h"
#include "output.h"
#include "text.h"

static char path[64] = "hora"; /* the words of the running command, separated by blanks */

/* Appends the name of a subcommand that was found. */
static void path_add(const char *name)
{
    size_t length = strlen(path);
    (void)snprintf(path + length, sizeof path - length, " %s", name);
}

int command_run(const struct command *table, size_t count, const char *help, int argc, char **argv)
{
    if (argc < 2) {
        (void)fputs(help, stderr);
        return STATUS_TROUBLE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        help_print(help);
        return STATUS_OK;
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, table[i].name) == 0) {
            path_add(name);
            return table[i].run(argc - 1, argv + 1);
        }
    }
    if (name[0] == '-')
        return complain_use("unknown option %s", name);
    const char *nearest = text_nearest(name, &table[0].name, count, sizeof table[0]);
    if (nearest)
        return complain_use("unknown command %s; did you mean %s?", name, nearest);
    return complain_use("unknown command %s", name);
}

int complain(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)fprintf(stderr, "%s: ", path);
    (void)vfprintf(stderr, format, values);
    (void)fputc('\n', stderr);
    va_end(values);
    return STATUS_TROUBLE;
}

int complain_help(void)
{
    (void)fprintf(stderr, "See %s --help for usage.\n", path);
    return STATUS_TROUBLE;
}

void out_of_memory(void)
{
    complain("out of memory");
    exit(STATUS_TROUBLE);
}

void *memory(size_t size)
{
    void *block = malloc(size);
    if (!block)
        out_of_memory();
    return block;
}
