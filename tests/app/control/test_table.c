/* SPDX-License-Identifier: Apache-2.0 */
/* test_table.c - tables for people: they fit, nothing important is missing, and nothing controls the terminal
 * */
#include <stdlib.h>
#include <string.h>

#include "control/table.h"
#include "harness.h"
#include "width.h"

enum { ROWS = 6, COLUMNS = 5 };

static const struct table_column columns[COLUMNS] = {{"JOB", false, 8, 0},
                                                     {"STATE", false, 0, 0},
                                                     {"NEXT", true, 0, 1},
                                                     {"SCHEDULE", false, 10, 2},
                                                     {"DESCRIPTION", false, 10, 3}};

static const char *const cells[ROWS][COLUMNS] = {
    {"backup", "waiting", "in 4 min", "at 03:00, Europe/Paris",
     "\xe6\xaf\x8e\xe6\x97\xa5\xe3\x81\xae\xe3\x83\x90"},
    {"a-name-that-is-as-long-as-a-name-may-be-0123456789-0123456789-0123456789-0123456789-0123456789-0123",
     "given-up", "", "every 5 min", ""},
    {"e", "running", "in 120 min", "", "cafe\xcc\x81"},
    {"control", "paused", "", "\x1b[31mred\x1b[0m", "one\ntwo\ttabs"},
    {"broken", "disabled", "now", "\xff\xfe",
     "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80"},
    {"", "", "", "", ""},
};

static struct table *make(int rows)
{
    struct table *table = table_new(columns, COLUMNS);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < COLUMNS; j++)
            table_add(table, j == 0 ? STYLE_BOLD : STYLE_PLAIN, cells[i][j]);
    return table;
}

/* Removes the control sequences of styles from a text, in place. */
static void remove_styles(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0';) {
        if (*from == '\033' && from[1] == '[')
            from += strcspn(from, "m") + 1;
        else
            *to++ = *from++;
    }
    *to = '\0';
}

/* Checks that each line of a table fits and has no control characters. Returns the text; the caller frees it.
 * */
static char *draw(const struct table *table, const struct table_look *look)
{
    char *text = table_text(table, look);
    char *copy = strdup(text);
    remove_styles(copy);
    int lines = 0;
    for (char *line = copy; *line != '\0'; lines++) {
        char *end = strchr(line, '\n');
        CHECK(end != NULL);
        *end = '\0';
        if (look->width > 0 && width_of(line) > look->width)
            test_fail(__FILE__, __LINE__, "width %d: \"%s\" takes %d", look->width, line, width_of(line));
        for (size_t size = 0, i = 0; line[i] != '\0'; i += size)
            if (width_of_first(line + i, &size) < 0 || (!look->is_utf8 && size > 1))
                test_fail(__FILE__, __LINE__, "width %d: \"%s\" has byte %d", look->width, line, line[i]);
        if (end > line && end[-1] == ' ')
            test_fail(__FILE__, __LINE__, "width %d: \"%s\" ends with a blank", look->width, line);
        line = end + 1;
    }
    CHECK_INT(lines, ROWS + 1);
    free(copy);
    return text;
}

TEST_REAL(tables_fit_every_width, "")
{
    struct table *table = make(ROWS);
    for (int width = 20; width <= 250; width++)
        for (int i = 0; i < 4; i++)
            free(draw(table, &(struct table_look){width, i % 2 == 1, i < 2}));
    free(draw(table, &(struct table_look){0, false, true}));
    table_free(table);
}

static void check_shows(int width, const char *expected, bool shown)
{
    struct table *table = make(ROWS);
    char *text = draw(table, &(struct table_look){width, false, true});
    if ((strstr(text, expected) != NULL) != shown)
        test_fail(__FILE__, __LINE__, "width %d, \"%s\" %s in:\n%s", width, expected,
                  shown ? "missing" : "found", text);
    free(text);
    table_free(table);
}

TEST_REAL(tables_leave_out_what_matters_least, "")
{
    check_shows(40, "backup", true);
    check_shows(40, "given-up", true);
    check_shows(40, "in 120 min", true);
    check_shows(40, "DESCRIPTION", false);
    check_shows(40, "SCHEDULE", false);
    check_shows(80, "SCHEDULE", true);
    check_shows(80, "DESCRIPTION", true);
    check_shows(80, "a-name-that-is", true);
    check_shows(200, "0123456789-0123 ", true); /* the whole name */
    check_shows(200, "\xe6\xaf\x8e\xe6\x97\xa5\xe3\x81\xae\xe3\x83\x90", true);
    check_shows(
        0, "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80",
        true);
    check_shows(0, "?[31mred?[0m", true);
    check_shows(0, "one?two?tabs", true);
    check_shows(0, "??", true);
}

TEST_REAL(tables_align_wide_characters, "")
{
    static const struct table_column two[] = {{"A", false, 0, 0}, {"B", true, 0, 0}, {"C", false, 0, 0}};
    struct table *table = table_new(two, 3);
    static const char *const texts[] = {
        "\xe4\xb8\x96\xe7\x95\x8c", "1", "x", "ab", "\xe4\xb8\x96", "y", "abcde", "22222", ""};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        table_add(table, STYLE_PLAIN, texts[i]);
    char *text = table_text(table, &(struct table_look){0, false, true});
    static const char expected[] = "A          B  C\n"
                                   "\xe4\xb8\x96\xe7\x95\x8c       1  x\n"
                                   "ab        \xe4\xb8\x96  y\n"
                                   "abcde  22222\n";
    if (strcmp(text, expected) != 0)
        test_fail(__FILE__, __LINE__, "\n%s\nexpected\n%s", text, expected);
    free(text);
    table_free(table);
}

TEST_REAL(tables_leave_out_empty_columns, "")
{
    struct table *table = table_new(columns, COLUMNS);
    table_add(table, STYLE_PLAIN, "backup");
    table_add(table, STYLE_PLAIN, "waiting");
    for (int i = 2; i < COLUMNS; i++)
        table_add(table, STYLE_PLAIN, "");
    char *text = table_text(table, &(struct table_look){0, false, true});
    CHECK(strcmp(text, "JOB     STATE\nbackup  waiting\n") == 0);
    free(text);
    text = table_text(table, &(struct table_look){0, true, true});
    CHECK(strstr(text, "\033[") != NULL); /* the titles have a style */
    free(text);
    table_free(table);
}
