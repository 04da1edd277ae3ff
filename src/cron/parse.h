/* SPDX-License-Identifier: Apache-2.0 */
/* parse.h - what the parsers of both dialects share: pieces of text, list members, refusals */
#ifndef HORA_CRON_PARSE_H
#define HORA_CRON_PARSE_H

#include <hora/cron.h>

#include "cron/cron.h"

/* Some bytes of an expression. */
struct hora__piece {
    size_t begin;
    size_t length;
};

/* An expression while it is read. */
struct hora__reading {
    const char *text;
    hora_cron *cron;    /* what it means, as far as it has been read */
    hora_error *reason; /* may be NULL */
};

/* What the values of a field are. */
struct hora__cron_values {
    const char *name;    /* of the field */
    const char *allowed; /* its values, for people */
    int min;
    int max;
    uint64_t all;      /* as a set */
    const char *names; /* three letters each, the first means 1; NULL: none */
};

extern const struct hora__cron_values hora__cron_values[HORA_CRON_FIELD_WEEKDAY + 1];

/* What L-n and d#n can say at most. */
enum { HORA__MOST_BEFORE_LAST = 30, HORA__MOST_NTH = 5 };

/* ---- refuse.c ---- */

/* Not one field, but all of the expression. */
#define HORA__CRON_WHOLE ((hora_cron_field)0)

/* HORA_EINVAL, and the reason says: FIELD: PIECE WHY, in "EXPRESSION". A % in `why` stands for the field's values. */
__attribute__((warn_unused_result)) int hora__cron_refuse(const struct hora__reading *reading, hora_cron_field field,
                                                          struct hora__piece piece, const char *why);

/* ---- items.c ---- */

/* Whether a piece is this text, in capitals or not. */
bool hora__piece_is(const struct hora__reading *reading, struct hora__piece piece, const char *text);

/* Whether one of these bytes is in it. */
bool hora__piece_holds(const struct hora__reading *reading, struct hora__piece piece, const char *any_of);

/* Its last byte as a capital, NUL if it is empty. */
char hora__piece_last(const struct hora__reading *reading, struct hora__piece piece);

/* The piece without blanks around it. */
struct hora__piece hora__piece_trim(const struct hora__reading *reading, struct hora__piece piece);

/* Cut off what stands before the first `separator`, all of it if there is none. Returns whether there was one. */
bool hora__piece_cut(const struct hora__reading *reading, struct hora__piece *rest, char separator,
                     struct hora__piece *ret_head);

/* Digits alone: their value, no more than INT64_C(1) << 31; anything else: -1. */
int64_t hora__piece_number(const struct hora__reading *reading, struct hora__piece piece);

/* One value of a field: a number or a name. Sunday may be 0 or 7. */
__attribute__((warn_unused_result)) int hora__cron_value(const struct hora__reading *reading, hora_cron_field field,
                                                         struct hora__piece piece, int *ret_value);

/* A member of a list that is no speciality of its dialect: *, a, a-b, with or without a step. Adds its values, with
 * Sunday as 0, and notes if it counts time. `star` is the value from which * with a step counts. */
struct hora__item_rules {
    int star;
    bool is_open_step; /* a/n is allowed: from a to the maximum */
};

__attribute__((warn_unused_result)) int hora__cron_item(const struct hora__reading *reading, hora_cron_field field,
                                                        struct hora__piece piece, struct hora__item_rules rules,
                                                        uint64_t *set);

/* ---- the dialects ---- */

struct hora__dialect {
    hora_cron_field first; /* of its fields */
    int other;             /* the number of fields that the other dialect has */
    const char *other_why; /* what to say to so many, to too few and to too many */
    const char *few;
    const char *many;
    bool has_reboot;
    int (*read_field)(const struct hora__reading *reading, hora_cron_field field, struct hora__piece piece);
};

extern const struct hora__dialect hora__cron_spring;
extern const struct hora__dialect hora__cron_crontab;

/* Read a field's list, member by member. */
__attribute__((warn_unused_result)) int hora__cron_list(
    const struct hora__reading *reading, hora_cron_field field, struct hora__piece list,
    int (*read_member)(const struct hora__reading *reading, hora_cron_field field, struct hora__piece piece));

/* Put the values of a plain member into the set of its field. */
void hora__cron_add(hora_cron *cron, hora_cron_field field, uint64_t values);

/* ---- parse.c, quick.c: the long way and the short way ---- */

/* Read an expression into a draft that has a dialect, and nothing else. HORA_EINVAL. */
__attribute__((warn_unused_result)) int hora__cron_read(const char *text, hora_cron *draft, hora_error *reason);

/* The same, or false: then what it has been read into is of no use, and the long way must be taken. */
__attribute__((warn_unused_result)) bool hora__cron_quick(const char *text, hora_cron *cron);

/* ---- normal.c ---- */

/* Write the day fields with as little as possible: two that mean the same are the same afterwards. */
void hora__cron_normalize(hora_cron *cron);

/* A normal form of one that others may be using; it has no references. */
hora_cron hora__cron_normal(const hora_cron *cron);

#endif
