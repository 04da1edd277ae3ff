/* SPDX-License-Identifier: Apache-2.0 */
/* events_support.h - a listener that records its events, in order
 *
 * A diary is the context of a listener. Events that several threads report at the same time are recorded in
 * the order in which they arrive. */
#ifndef HORA_TESTS_API_EVENTS_SUPPORT_H
#define HORA_TESTS_API_EVENTS_SUPPORT_H

#include <hora/event.h>

#include "support.h"

enum { MOST_NOTES = 64 };

struct note {
    /* S started, D done, F failed, R rejected, X expired, K skipped, U stuck, Z resized, T thread_failed,
     * L woke_late, C clock_stepped */
    char what;
    hora_event event;  /* its pointers are only compared */
    char name[32];     /* of the task; "": none */
    bool future_done;  /* whether its future was done at that moment */
    hora_pool *inside; /* hora_pool_current() */
};

struct diary {
    atomic_int count;
    struct note notes[MOST_NOTES];
    /* called after a note; NULL: none */
    void (*then)(hora_pool *pool, char what, const hora_event *event, void *context);
    void *then_context;
};

/* A listener that notes all. */
hora_listener diary_listener(struct diary *diary);
/* One that notes only these. */
hora_listener diary_listener_for(struct diary *diary, const char *whats);

/* Checks that exactly these events were recorded so far: one letter for each. */
void check_diary(const char *file, int line, struct diary *diary, const char *whats);
#define CHECK_DIARY(diary, whats) check_diary(__FILE__, __LINE__, (diary), (whats))

/* How often something was noted. */
int diary_count(struct diary *diary, char what);

#endif
