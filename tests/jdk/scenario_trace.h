/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_trace.h - what happened while a scenario was played; scenario.h says how it is written down */
#ifndef HORA_TESTS_JDK_SCENARIO_TRACE_H
#define HORA_TESTS_JDK_SCENARIO_TRACE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { MOST_EVENTS = 2000, LONGEST_TEXT = 200, DRIVER = 0, WAITER = 1000 };

struct event {
    int64_t tick;
    int actor; /* DRIVER, a task, or WAITER and more */
    int order;
    bool astray; /* not at a time where something may happen */
    char text[LONGEST_TEXT];
};

/* Any thread may add to it. */
struct trace {
    pthread_mutex_t lock;
    struct event events[MOST_EVENTS];
    int count;
};

/* Gives up the program, unless the condition holds. */
void must(bool condition, const char *what);

void trace_init(struct trace *trace);
void trace_destroy(struct trace *trace);
void trace_add(struct trace *trace, int64_t tick, bool astray, int actor, const char *text);

/* The text, to be freed by the caller. `single`: there never was more than one thread. */
char *trace_text(struct trace *trace, bool single);

#endif
