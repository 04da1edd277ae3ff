/* SPDX-License-Identifier: Apache-2.0 */
/* record.c - the decisions of a schedule: records them, repeats them, and moves on to the next schedule
 *
 * Purpose           Replay, depth-first search and the text that is printed with a failure use one list of
 *                   choices. The first `prefix` choices are repeated, and the others are recorded as they are
 *                   made.
 * How it works      A decision with n options is recorded as its choice, 0 to n - 1. Option 0 is what happens
 *                   without interference (the running thread goes on, a wait waits). Decisions with one
 *                   option are not recorded. Depth-first search increments the last choice that has an
 *                   untried option left and discards those behind it.
 * Text              A number n stands for n decisions for option 0. A letter from a to y is a decision for
 *                   option 1 to 25. Each z before it adds 25, so zb is option 27. Zeros at the end are left
 *                   out; no decision at all is "0".
 * Invariants        R1 position <= capacity; choices below `prefix` are those that are repeated.
 *                   R2 allowed[i] is how many options depth-first search may try at i, 0 if it came from a
 *                   text. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/internal.h"

enum {
    LETTERS = 25,                      /* options that one letter of the text can express */
    FIRST_CAPACITY = 4096,             /* decisions */
    MOST_DECISIONS = 100 * 1000 * 1000 /* that a text may contain in one number */
};

static struct {
    uint8_t *choices; /* the option chosen at each decision */
    uint8_t *allowed; /* R2 */
    size_t position;  /* decisions made in this run */
    size_t prefix;    /* choices to repeat; 0: none */
    size_t capacity;  /* of choices and allowed */
    char *text;       /* the last result of hora__sim_record_text */
    size_t text_size; /* bytes allocated for it */
} record;

/* Reallocates memory of the simulator itself, which must not fail. */
static void *resize(void *memory, size_t size)
{
    void *larger = realloc(memory, size);
    if (larger == NULL) {
        fprintf(stderr, "simulator: out of memory\n");
        abort();
    }
    return larger;
}

/* Makes room for `count` decisions. */
static void reserve(size_t count)
{
    if (count <= record.capacity)
        return;
    size_t capacity = record.capacity == 0 ? FIRST_CAPACITY : record.capacity;
    while (capacity < count)
        capacity *= 2;
    record.choices = resize(record.choices, capacity);
    record.allowed = resize(record.allowed, capacity);
    record.capacity = capacity;
}

void hora__sim_record_begin(enum sim_repeat repeat)
{
    record.position = 0;
    if (repeat == SIM_REPEAT_NOTHING)
        record.prefix = 0;
}

bool hora__sim_record_next(int *ret_choice, int *ret_allowed)
{
    if (record.position >= record.prefix)
        return false;
    *ret_choice = record.choices[record.position];
    *ret_allowed = record.allowed[record.position];
    return true;
}

void hora__sim_record_add(int choice, int allowed)
{
    reserve(record.position + 1);
    record.choices[record.position] = (uint8_t)choice;
    record.allowed[record.position] = (uint8_t)allowed;
    record.position++;
}

bool hora__sim_record_is_used_up(void)
{
    return record.position >= record.prefix;
}

void hora__sim_record_forget(void)
{
    record.position = 0;
    record.prefix = 0;
}

bool hora__sim_dfs_next(void)
{
    while (record.position > 0 &&
           record.choices[record.position - 1] + 1 >= record.allowed[record.position - 1])
        record.position--;
    if (record.position == 0)
        return false;
    record.choices[record.position - 1]++;
    record.prefix = record.position;
    return true;
}

/* Reads a number of decisions for option 0. Returns false if it is larger than any schedule has. */
static bool parse_zeros(const char **text)
{
    size_t zeros = 0;
    for (; isdigit((unsigned char)**text); (*text)++) {
        zeros = zeros * 10 + (size_t)(**text - '0');
        if (zeros > MOST_DECISIONS)
            return false;
    }
    reserve(record.prefix + zeros);
    memset(record.choices + record.prefix, 0, zeros);
    memset(record.allowed + record.prefix, 0, zeros);
    record.prefix += zeros;
    return true;
}

/* Reads one decision for another option. Returns false if the text is malformed. */
static bool parse_choice(const char **text)
{
    int choice = 0;
    for (; **text == 'z' && choice <= SIM_THREADS; (*text)++)
        choice += LETTERS;
    if (**text < 'a' || **text >= 'z')
        return false;
    choice += *(*text)++ - 'a' + 1;
    reserve(record.prefix + 1);
    record.choices[record.prefix] = (uint8_t)choice;
    record.allowed[record.prefix] = 0;
    record.prefix++;
    return true;
}

bool hora__sim_record_parse(const char *text)
{
    record.prefix = 0;
    while (*text != '\0')
        if (!(isdigit((unsigned char)*text) ? parse_zeros(&text) : parse_choice(&text)))
            return false;
    return true;
}

/* Writes a choice that is not 0. Returns the end of the text. */
static char *print_choice(char *text, int choice)
{
    for (; choice > LETTERS; choice -= LETTERS)
        *text++ = 'z';
    *text++ = (char)('a' + choice - 1);
    return text;
}

/* Writes the number of decisions for option 0, or nothing if there are none. Returns the end of the text. */
static char *print_zeros(char *text, size_t zeros)
{
    char digits[24];
    int count = 0;
    for (; zeros > 0; zeros /= 10)
        digits[count++] = (char)('0' + zeros % 10);
    while (count > 0)
        *text++ = digits[--count];
    return text;
}

const char *hora__sim_record_text(void)
{
    size_t most = 3 * record.position + 32; /* a choice takes at most three letters */
    if (most > record.text_size) {
        record.text = resize(record.text, 2 * most);
        record.text_size = 2 * most;
    }
    char *end = record.text;
    size_t zeros = 0;
    for (size_t i = 0; i < record.position; i++) {
        if (record.choices[i] == 0) {
            zeros++;
            continue;
        }
        end = print_choice(print_zeros(end, zeros), record.choices[i]);
        zeros = 0;
    }
    if (end == record.text)
        *end++ = '0';
    *end = '\0';
    return record.text;
}
