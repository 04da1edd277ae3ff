/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - parse a command line word by word */
#ifndef APP_OPTIONS_H
#define APP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* An option that a command knows. */
struct option {
    const char *name; /* "--zone"; NULL if it only has a letter */
    char letter;      /* 'n'; 0 if there is none */
    bool takes_value; /* a value must follow */
    int id;           /* > 0; options_next returns it */
};

/* Results of options_next other than the id of an option. */
enum {
    WORD_END = 0,      /* no more words */
    WORD_OPERAND = -1, /* not an option */
    WORD_WRONG = -2,   /* an unknown option, or one with a wrong value; an error has been printed */
};

/* A command line that is being parsed. */
struct options {
    const struct option *table; /* the options that the command knows */
    size_t count;               /* of the table */
    int argc;
    char **argv;
    int at;             /* index of the next word in argv */
    bool operands_only; /* "--" has been seen */
    const char *value;  /* the value of the option, or the operand */
};

/* Returns the next word: the id of an option, or one of the above. Options and operands may appear in any
 * order: --name value, --name=value, -n value, -nvalue. All words after "--" are operands, and so is "-". */
int options_next(struct options *options);

/* Parses a number within a range from the value of an option. On error prints a message and returns false. */
bool option_number(const char *name, const char *text, int least, int most, int *ret_number);

/* Stores the index of the word `text` in `choices`. If it is not there, prints an error that lists all
 * choices, and returns false. */
bool option_choice(const char *name, const char *text, const char *const *choices, int count,
                   int *ret_choice);

#endif
