/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - parse a command line word by word */
#include "options.h"

#include <stdio.h>
#include <string.h>

#include "command.h"

/* Finds the option that a word names. *ret_rest is the value that is part of the word, after "=" or after the
 * letter, or NULL. Returns NULL if there is no such option. */
static const struct option *find(const struct options *options, const char *word, const char **ret_rest)
{
    for (size_t i = 0; i < options->count; i++) {
        const struct option *option = &options->table[i];
        size_t length = option->name ? strlen(option->name) : 0;
        if (length > 0 && strncmp(word, option->name, length) == 0 &&
            (word[length] == '\0' || word[length] == '=')) {
            *ret_rest = word[length] == '=' ? word + length + 1 : NULL;
            return option;
        }
        if (option->letter != 0 && word[1] == option->letter && (option->takes_value || word[2] == '\0')) {
            *ret_rest = word[2] != '\0' ? word + 2 : NULL;
            return option;
        }
    }
    return NULL;
}

/* Reads the option that a word names, and its value, which may be the next word. Returns its id, or
 * WORD_WRONG after printing an error. */
static int read_option(struct options *options, const char *word)
{
    const char *rest;
    const struct option *option = find(options, word, &rest);
    if (!option) {
        int length = (int)strcspn(word, "= \t");
        complain_use("unknown option %.*s%s", length, word,
                     strpbrk(word, " \t") ? "; put an expression that starts with - after --" : "");
        return WORD_WRONG;
    }
    char letter[3] = {'-', option->letter, '\0'};
    const char *name = option->name ? option->name : letter;
    if (!option->takes_value && rest) {
        complain_use("%s takes no value", name);
        return WORD_WRONG;
    }
    if (option->takes_value && !rest) {
        if (options->at == options->argc) {
            complain_use("%s requires a value", name);
            return WORD_WRONG;
        }
        rest = options->argv[options->at++];
    }
    options->value = rest;
    return option->id;
}

int options_next(struct options *options)
{
    while (options->at < options->argc) {
        const char *word = options->argv[options->at++];
        if (!options->operands_only && strcmp(word, "--") == 0) {
            options->operands_only = true;
            continue;
        }
        if (!options->operands_only && word[0] == '-' && word[1] != '\0')
            return read_option(options, word);
        options->value = word;
        return WORD_OPERAND;
    }
    return WORD_END;
}

bool option_number(const char *name, const char *text, int least, int most, int *ret_number)
{
    int number = 0;
    bool good = *text != '\0';
    for (const char *digit = text; *digit && good; digit++) {
        /* The last condition keeps the number from exceeding `most`, and thus from overflowing. */
        good = *digit >= '0' && *digit <= '9' && number <= (most - (*digit - '0')) / 10;
        if (good)
            number = number * 10 + (*digit - '0');
    }
    if (!good || number < least) {
        complain_use("%s must be a number from %d to %d, not \"%s\"", name, least, most, text);
        return false;
    }
    *ret_number = number;
    return true;
}

bool option_choice(const char *name, const char *text, const char *const *choices, int count, int *ret_choice)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(text, choices[i]) == 0) {
            *ret_choice = i;
            return true;
        }
    }
    char list[128] = "";
    for (int i = 0; i < count; i++) {
        size_t length = strlen(list);
        (void)snprintf(list + length, sizeof list - length, "%s%s",
                       i == 0          ? ""
                       : i + 1 < count ? ", "
                                       : " or ",
                       choices[i]);
    }
    complain_use("%s must be %s, not \"%s\"", name, list, text);
    return false;
}
