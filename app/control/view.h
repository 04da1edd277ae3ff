/* SPDX-License-Identifier: Apache-2.0 */
/* view.h - what the commands of the control socket share: options, the connection, and how answers are shown
 * */
#ifndef APP_CONTROL_VIEW_H
#define APP_CONTROL_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include <hora/zone.h>

#include "control/connection.h"
#include "control/table.h"
#include "options.h"

/* The options of a command start with this id. */
enum { OPTION_OWN = 100, OWN_OPTIONS_MOST = 8 };

/* The text about the common options, which follow those of a command in its help. */
#define COMMON_HELP "  --json           print the answer of the runner as JSON\n" SCREEN_HELP
/* The same for a command that prints no JSON. */
#define SCREEN_HELP                                                                        \
    "  --utc            show times in UTC; default: in the zone of this machine\n"         \
    "  --zone NAME      show times in a zone, such as Europe/Paris\n"                      \
    "  --socket PATH    the socket of the runner; default: $HORA_SOCKET, or\n"             \
    "                   /run/hora/hora.sock for root, or $XDG_RUNTIME_DIR/hora.sock, or\n" \
    "                   ~/.hora/hora.sock\n"                                               \
    "  -h, --help       print this help\n"
/* About --tag, for commands that have it. */
#define TAG_HELP    "  --tag TAG        only jobs that have this tag; repeated: that have all of them\n"
#define STATUS_HELP "\nExit status: 0 on success, 2 on errors.\n"

struct view;

/* A command. */
struct command_form {
    const char *help;
    const struct option *options; /* its own, with ids from OPTION_OWN on */
    size_t option_count;
    int operands_least, operands_most;
    bool has_tags;       /* --tag can take the place of operands, which are names of jobs then */
    const char *operand; /* what an operand is, for errors: "the name of a job" */
    /* Handles an option of its own. Returns false after printing an error. */
    bool (*option)(int id, const char *value, void *arg);
    /* Checks what options and operands mean together, before the command connects. Returns false after
     * printing an error. NULL: there is nothing to check. */
    bool (*check)(const struct view *view, void *arg);
};

/* A command that runs: its options, and the terminal. */
struct view {
    const char *socket;
    bool is_json;
    hora_zone *zone; /* NULL: UTC */
    const char **operands;
    int operand_count;
    json_t *tags;     /* of --tag; NULL: none is given */
    json_t *selected; /* owns the operands of view_take_jobs */
    struct table_look look;
    struct connection connection;
    hora_instant now; /* of the runner, from the latest answer */
};

/* Parses the command line and connects. Returns true if the command can run. Otherwise *ret_status is its
 * exit status: the help was printed, or an error. */
bool view_open(struct view *view, const struct command_form *form, void *arg, int argc, char **argv,
               int *ret_status);
void view_close(struct view *view);

/* Sends a request and returns the last line of the answer; see connection_ask. Notes the time of the runner.
 * */
json_t *view_ask(struct view *view, json_t *request);

/* Adds to a request which jobs it is about: that of the operand, or those with the tags, or all. */
void view_select(const struct view *view, json_t *request);

/* Makes the jobs that view_select selects the operands. Returns false after printing an error. */
bool view_take_jobs(struct view *view);

/* Prints an answer as JSON. Releases the reference. */
void view_print_json(json_t *answer);

/* Prints a table, and frees it. */
void view_print_table(const struct view *view, struct table *table);

/* Prints a text from outside, whose control characters become "?". Tabs stay. */
void view_print_safe(const char *text);

/* Prints a text in a style, if the terminal has colours. */
void view_print_styled(const struct view *view, enum style style, const char *text);

/* Prints a sentence in a style, broken at blanks if it is wider than the terminal. Times in UTC become those of
 * the zone. */
void view_print_sentence(const struct view *view, enum style style, const char *sentence);

/* Writes a time of an answer for people; "" if there is none. Returns `text`. */
const char *view_time(const struct view *view, const json_t *time, char *text);
const char *view_relative(const struct view *view, const json_t *time, char *text);

/* The same as texts that are valid until the end of the block. */
#define VIEW_TIME(view, time)     view_time((view), (time), (char[TIME_TEXT]){0})
#define VIEW_RELATIVE(view, time) view_relative((view), (time), (char[TIME_TEXT]){0})

/* Returns the outcome of a run in a word: that of its record, or "retried" if another attempt followed. */
const char *view_outcome(const json_t *record);
/* The styles of outcomes of runs, and of states of jobs and runs. */
enum style view_outcome_style(const json_t *record);
enum style view_state_style(const char *state);

#endif
