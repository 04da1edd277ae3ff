/* SPDX-License-Identifier: Apache-2.0 */
/* trigger.h - what all triggers have in common: a reference count, a kind, and properties of their times */
#ifndef HORA_SCHED_TRIGGER_H
#define HORA_SCHED_TRIGGER_H

#include <assert.h>
#include <hora/trigger.h>

#include "base/ns.h"
#include "sys/atomic.h"

/* A search gives up after this many times. */
enum { HORA__TRIGGER_TRIES = 100000 };

/* A text of `size` bytes that is being written, and the length that the whole text would have. */
struct hora__text {
    char *text;
    size_t size;
    size_t length;
};

struct hora__trigger_kind {
    /* As hora_trigger_next. */
    hora_ns (*next)(const hora_trigger *trigger, const hora_trigger_context *context);
    /* It has answered `answer`, and nothing is wanted before `from`, which is later: the first time that
     * is not. NULL: see hora__trigger_next_from. */
    hora_ns (*next_from)(const hora_trigger *trigger, hora_ns answer, hora_ns from);
    /* Give back what it is made of, and its memory. */
    void (*free)(hora_trigger *trigger);
    /* As hora_trigger_refresh. NULL: it never has a zone. */
    int (*refresh)(hora_trigger *trigger);
    void (*describe)(const hora_trigger *trigger, struct hora__text *text);
};

/* Immutable, but for the count. Invariants: T1 what needs the wall is on it. T2 what names moments needs
 * the wall. */
struct hora_trigger {
    hora__atomic refs;
    const struct hora__trigger_kind *kind;
    bool is_wall;       /* its times are moments of the wall clock, unless the schedule names another clock */
    bool needs_wall;    /* the schedule must not name another clock */
    bool has_zone;      /* which may be refreshed */
    bool names_moments; /* its times do not depend on the runs: it can be asked for those after any moment */
};

void hora__trigger_init(hora_trigger *trigger, const struct hora__trigger_kind *kind);

/* The first time at or after `from`, of a trigger that has answered `answer` before. A trigger that only
 * knows the way from one time to the next returns the next, which may still be before `from`. */
hora_ns hora__trigger_next_from(const hora_trigger *trigger, const hora_trigger_context *context,
                                hora_ns answer, hora_ns from);

/* Whether the clock was set back so far before `time`, which has passed, that times after it are not
 * waited for. */
static inline bool hora__trigger_is_set_back(const hora_trigger_context *context, hora_ns time)
{
    assert(context != NULL);
    return time != HORA_NEVER && hora__ns_add(context->now, HORA_MINUTES(1)) < time;
}

/* 1 if one of the two says so, else the first error, else 0. */
static inline int hora__trigger_join(int first, int second)
{
    if (first < 0 || second < 0)
        return first < 0 ? first : second;
    return first > 0 || second > 0 ? 1 : 0;
}

void hora__text_add(struct hora__text *text, const char *piece);
void hora__text_add_number(struct hora__text *text, long long number);

/* A span of time in its largest unit: "90 min". */
void hora__text_add_span(struct hora__text *text, hora_ns span);

/* The rest of the text, for a function that writes like snprintf, and its size. */
static inline char *hora__text_rest(const struct hora__text *text, size_t *ret_size)
{
    assert(ret_size != NULL);
    *ret_size = text->length < text->size ? text->size - text->length : 0;
    return *ret_size > 0 ? text->text + text->length : NULL;
}

/* ---- calendar.c ---- */

/* The first moment at or after `from` that is not excluded, HORA_FOREVER if it was not found. */
hora_ns hora__calendar_free_from(const hora_calendar *calendar, hora_ns from);

/* As hora_zone_refresh. */
int hora__calendar_refresh(hora_calendar *calendar);

void hora__calendar_describe(const hora_calendar *calendar, struct hora__text *text);

/* As hora_trigger_next, but HORA_FOREVER means never; and the same for a function of the user. */
hora_ns hora__trigger_next(const hora_trigger *trigger, const hora_trigger_context *context);
hora_ns hora__next_of(hora_next_fn next, const hora_trigger_context *context, void *arg);

#endif
