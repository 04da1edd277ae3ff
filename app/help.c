/* SPDX-License-Identifier: Apache-2.0 */
/* help.c - print the help of a command, as wide as the terminal
 *
 * A help consists of lines of at most 110 columns. In a narrower terminal, each block of lines that belong
 * together becomes one text, which is broken at blanks:
 *
 *   - lines without indentation: a paragraph. A line that ends with a colon is a title, and stays alone;
 *   - "  --option VALUE   text" and the lines below that are indented like the text. What follows the first
 *     line is indented in the same way;
 *   - any other line with indentation is a block of its own: an example, or another usage. */
#include "help.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "terminal.h"

enum { NARROWEST = 20, USAGE_INDENT = 7, MORE_INDENT = 4 };

/* A line of a help, without its end. */
struct line {
    const char *text;
    size_t length;
    size_t indent; /* blanks at its start */
    size_t hang;   /* indentation of the lines that continue it */
};

/* Returns the column of the text of an option: after the first two or more blanks behind the name. Returns 0
 * if there are none. */
static size_t text_column(const struct line *line)
{
    for (size_t i = line->indent; i + 2 < line->length; i++)
        if (line->text[i] == ' ' && line->text[i + 1] == ' ')
            return i + strspn(line->text + i, " ");
    return 0;
}

/* Reads the line at *at, and moves that to the next one. */
static struct line read_line(const char **at)
{
    struct line line = {.text = *at, .length = strcspn(*at, "\n")};
    line.indent = strspn(line.text, " ");
    bool is_usage = strncmp(line.text, "Usage:", 6) == 0;
    size_t column = line.indent > 0 ? text_column(&line) : 0;
    if (is_usage)
        line.hang = USAGE_INDENT + MORE_INDENT;
    else if (line.indent > 0)
        line.hang = column > 0 ? column : line.indent + MORE_INDENT;
    *at += line.length + (line.text[line.length] == '\n' ? 1 : 0);
    return line;
}

/* Returns true if the line after `line` continues its block. */
static bool is_continued(const struct line *line, const char *next)
{
    bool is_title = line->length > 0 && line->text[line->length - 1] == ':';
    bool is_paragraph = line->indent == 0 && line->hang == 0 && line->length > 0 && !is_title;
    size_t indent = strspn(next, " ");
    return next[indent] != '\0' && next[indent] != '\n' && (is_paragraph || line->hang > line->indent) &&
           indent == line->hang && strncmp(line->text, "Usage:", 6) != 0;
}

static void print_blanks(size_t count)
{
    for (size_t i = 0; i < count; i++)
        output_text(" ");
}

/* Prints the words of a text from a column on. `is_first`: nothing stands before the first one. Returns the
 * column after them. */
static size_t print_words(const char *text, size_t length, size_t column, size_t hang, size_t width,
                          bool is_first)
{
    for (const char *end = text + length; text < end;) {
        size_t blanks = strspn(text, " ");
        text += blanks;
        size_t size = strcspn(text, " \n");
        if (size == 0)
            break;
        if (!is_first && column + 1 + size > width) {
            output_text("\n");
            print_blanks(hang);
            column = hang;
        } else if (!is_first) {
            output_text(" ");
            column++;
        }
        is_first = false;
        output_bytes(text, size);
        column += size;
        text += size;
    }
    return column;
}

/* Prints the block that starts at a line. Returns what follows it. */
static const char *print_block(const char *at, size_t width)
{
    struct line first = read_line(&at);
    size_t hang = first.hang < width / 2 ? first.hang : first.indent + MORE_INDENT;
    size_t head = first.indent > 0 ? text_column(&first) : 0; /* the name of an option */
    size_t column = head;
    if (head <= hang) {
        output_bytes(first.text, head);
    } else { /* the text does not fit beside it */
        size_t name = head;
        while (name > 0 && first.text[name - 1] == ' ')
            name--;
        output_bytes(first.text, name);
        output_text("\n");
        print_blanks(hang);
        column = hang;
    }
    if (head == 0) {
        print_blanks(first.indent);
        column = first.indent;
    }
    column = print_words(first.text + head, first.length - head, column, hang, width, true);
    while (is_continued(&first, at)) {
        struct line next = read_line(&at);
        column = print_words(next.text + next.indent, next.length - next.indent, column, hang, width, false);
    }
    output_text("\n");
    return at;
}

/* Returns the length of the longest line. */
static size_t longest(const char *help)
{
    size_t most = 0;
    while (*help != '\0') {
        struct line line = read_line(&help);
        most = line.length > most ? line.length : most;
    }
    return most;
}

void help_print(const char *help)
{
    int lines, columns;
    bool is_terminal = isatty(STDOUT_FILENO) == 1;
    if (is_terminal)
        terminal_size(&lines, &columns);
    if (!is_terminal || columns < NARROWEST || longest(help) <= (size_t)columns) {
        output_text(help);
        return;
    }
    while (*help != '\0')
        help = print_block(help, (size_t)columns);
}
