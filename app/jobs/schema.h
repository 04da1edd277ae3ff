/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h - tables of the keys of mappings, and functions that read values
 *
 * A table says for each key which function reads its value and where in a struct the result goes. */
#ifndef APP_SCHEMA_H
#define APP_SCHEMA_H

#include "jobs/reader.h"

struct key;

/* What a value is read in: the reader, the file, and the key. */
struct slot {
    struct reader *reader;
    const struct source *source;
    const struct key *key;
};

/* Reads a value to `target`. Returns false after reporting a problem. */
typedef bool (*read_fn)(const struct slot *slot, const struct node *node, void *target);

enum key_flags {
    KEY_NOT_IN_DEFAULTS = 1,
    KEY_MERGES = 2, /* the value in `defaults` is read first, then that of the job changes it */
};

struct key {
    const char *name;
    read_fn read;
    size_t offset;            /* of the field in the target */
    int64_t least, most;      /* for numbers, durations and sizes */
    const char *const *words; /* for choices: their names; ends with NULL */
    unsigned flags;
};

#define KEY_COUNT(table) (sizeof(table) / sizeof(table)[0])

/* Reads a mapping with a table. Returns false after reporting problems; the other keys are read all the
 * same. */
bool schema_read(const struct slot *slot, const struct key *table, size_t count, const struct node *node,
                 void *target);

/* Reads a key of the file that is a mapping of names: calls a function for each entry with a valid name. */
void schema_read_named(struct reader *reader, const struct source *source, const char *key,
                       const char *expected, size_t most,
                       void (*read)(struct reader *reader, const struct source *source,
                                    const struct node *name, const struct node *node));

/* Returns the key of a table, or NULL after reporting that it is unknown. `key` is the key node. */
const struct key *schema_find(struct reader *reader, const struct key *table, size_t count,
                              const struct node *key);

/* Reports a value that is not what the key needs: "KEY must be EXPECTED, not VALUE". Returns false. */
bool schema_refuse(const struct slot *slot, const struct node *node, const char *expected);

/* Checks that a value is a scalar, and that it is not empty. `expected` is for the message. */
bool schema_is_scalar(const struct slot *slot, const struct node *node, const char *expected);

/* Calls a function for each element of a list, or for the value itself if it is not a list. */
bool schema_each(const struct slot *slot, const struct node *node, read_fn read, void *target);

/* ---- values (values.c); in parentheses the type of the target ---- */

bool read_text(const struct slot *slot, const struct node *node, void *target);     /* char * */
bool read_name(const struct slot *slot, const struct node *node, void *target);     /* char * */
bool read_path(const struct slot *slot, const struct node *node, void *target);     /* char * */
bool read_url(const struct slot *slot, const struct node *node, void *target);      /* char * */
bool read_boolean(const struct slot *slot, const struct node *node, void *target);  /* bool */
bool read_int(const struct slot *slot, const struct node *node, void *target);      /* int */
bool read_number(const struct slot *slot, const struct node *node, void *target);   /* int64_t */
bool read_fraction(const struct slot *slot, const struct node *node, void *target); /* double */
bool read_size(const struct slot *slot, const struct node *node, void *target);     /* int64_t */
bool read_duration(const struct slot *slot, const struct node *node, void *target); /* hora_ns */
bool read_choice(const struct slot *slot, const struct node *node, void *target); /* int: index of the word */
bool read_zone(const struct slot *slot, const struct node *node, void *target);   /* hora_zone *, borrowed */
bool read_command(const struct slot *slot, const struct node *node, void *target); /* struct job_command */

/* Parses decimal digits up to `most`. Returns false if it is not a number or too large. */
bool parse_number(const char *text, int64_t most, int64_t *ret_number);

/* Reads one exit status or a range of them, "2-10", into bool[256]. */
bool read_codes(const struct slot *slot, const struct node *node, void *target);

/* ---- keys of jobs with values of their own form ---- */

bool read_overlap(const struct slot *slot, const struct node *node, void *target);     /* struct job */
bool read_missed(const struct slot *slot, const struct node *node, void *target);      /* struct job */
bool read_retries(const struct slot *slot, const struct node *node, void *target);     /* struct job_retry */
bool read_limits(const struct slot *slot, const struct node *node, void *target);      /* struct job_limits */
bool read_log(const struct slot *slot, const struct node *node, void *target);         /* struct job_log */
bool read_umask(const struct slot *slot, const struct node *node, void *target);       /* int */
bool read_environment(const struct slot *slot, const struct node *node, void *target); /* job_environment */

/* Sets a variable in an environment under construction; replaces one of the same name. The texts are in the arena
 * of the jobs, and are not copied. Returns false if there are too many. */
bool environment_put(struct reader *reader, struct job_environment *environment, char *name, char *value);
/* Returns true if a text is the name of an environment variable: letters, digits and _, no digit first. */
bool is_variable_name(const char *text, size_t length);

/* ---- triggers (trigger_reader.c) ---- */

/* A job under construction: with the settings that only its triggers need. */
struct draft {
    struct job job;  /* first: a draft is a job */
    hora_zone *zone; /* borrowed */
    int dst;         /* hora_dst */
    int dialect;     /* index of dialect_words; -1: by the number of fields */
    int days;        /* index of days_words; -1: as the dialect has it */
};

extern const char *const dst_words[], *const dialect_words[], *const days_words[];
enum { DAYS_AND, DAYS_OR };

bool read_cron(const struct slot *slot, const struct node *node, void *target);     /* struct draft */
bool read_every(const struct slot *slot, const struct node *node, void *target);    /* struct draft */
bool read_delay(const struct slot *slot, const struct node *node, void *target);    /* struct draft */
bool read_at(const struct slot *slot, const struct node *node, void *target);       /* struct draft */
bool read_at_start(const struct slot *slot, const struct node *node, void *target); /* struct draft */
bool read_triggers(const struct slot *slot, const struct node *node, void *target); /* struct draft */

/* Adds a cron trigger to a draft, with its zone and rules. `text_column` is the column of the first byte of the
 * text, or 0 if the bytes of the text have no columns. */
bool draft_add_cron(struct reader *reader, struct draft *draft, const char *text, const struct place *place,
                    int text_column);
/* Adds a trigger that runs the job once when the runner starts. */
void draft_add_at_start(struct reader *reader, struct draft *draft, const struct place *place);

/* ---- stable slots (cron_slot.c) ---- */

/* Replaces H and ~ in an expression by values that the name of the job determines. Returns the expression, which
 * is `text` itself if it has none; or NULL, with *ret_wrong the element that is wrong. */
const char *cron_slots(struct arena *arena, const char *text, bool unix_dialect, const char *job,
                       const char **ret_wrong);

#endif
