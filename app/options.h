/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - the words of a command line, one after the other */
#ifndef APP_OPTIONS_H
#define APP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct option {
    const char *name; /* "--zone"; NULL: it has a letter only */
    char letter;      /* 'n'; 0: none */
    bool takes_value;
    int id; /* > 0 */
};

enum {
    WORD_END = 0,      /* there is no more */
    WORD_OPERAND = -1, /* not an option */
    WORD_WRONG = -2,   /* no option of the table, or one with a wrong value; there has been a complaint */
};

struct options {
    const struct option *table;
    size_t count;
    int argc;
    char **argv;
    int at;             /* the next word */
    bool operands_only; /* "--" has been seen */
    const char *value;  /* of the option, or the operand */
};

/* The next word: an option's id, or one of the above. Options and operands may stand in any order: --name value,
 * --name=value, -n value, -nvalue; all after "--" are operands, and so is "-". */
int options_next(struct options *options);

/* A whole number between two others from the text of an option; on error complains and returns false. */
bool option_number(const char *name, const char *text, int least, int most, int *ret_number);

/* One of several words; on error complains and returns false. */
bool option_choice(const char *name, const char *text, const char *const *choices, int count, int *ret_choice);

#endif
