/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_trace.c - collects what happens while a scenario is played, and puts it in order */
#include "scenario_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void must(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "scenario: %s\n", what);
    exit(2);
}

void trace_init(struct trace *trace)
{
    trace->count = 0;
    must(pthread_mutex_init(&trace->lock, NULL) == 0, "no mutex");
}

void trace_destroy(struct trace *trace)
{
    pthread_mutex_destroy(&trace->lock);
}

void trace_add(struct trace *trace, int64_t tick, bool astray, int actor, const char *text)
{
    pthread_mutex_lock(&trace->lock);
    must(trace->count < MOST_EVENTS, "too many events");
    struct event *e = &trace->events[trace->count];
    *e = (struct event){.tick = tick, .actor = actor, .order = trace->count++, .astray = astray};
    snprintf(e->text, sizeof(e->text), "%s", text);
    pthread_mutex_unlock(&trace->lock);
}

static int rank_of(const struct event *e, bool single)
{
    bool is_task = e->actor > DRIVER && e->actor < WAITER;
    return single && is_task ? 1 : e->actor;
}

static bool is_before(const struct event *a, const struct event *b, bool single)
{
    if (a->tick != b->tick)
        return a->tick < b->tick;
    if (rank_of(a, single) != rank_of(b, single))
        return rank_of(a, single) < rank_of(b, single);
    return a->order < b->order;
}

/* Events are recorded nearly in order already. */
static void sort_events(struct trace *trace, bool single)
{
    for (int i = 1; i < trace->count; i++) {
        struct event e = trace->events[i];
        int j = i;
        for (; j > 0 && is_before(&e, &trace->events[j - 1], single); j--)
            trace->events[j] = trace->events[j - 1];
        trace->events[j] = e;
    }
}

char *trace_text(struct trace *trace, bool single)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    must(out != NULL, "out of memory");
    sort_events(trace, single);
    for (int i = 0; i < trace->count; i++) {
        const struct event *e = &trace->events[i];
        fprintf(out, "%" PRId64 "%s ", e->tick, e->astray ? " and a bit," : "");
        if (e->actor == DRIVER)
            fprintf(out, "driver: %s\n", e->text);
        else
            fprintf(out, "%s %d: %s\n", e->actor < WAITER ? "task" : "waiter", e->actor % WAITER, e->text);
    }
    must(fclose(out) == 0, "out of memory");
    return text;
}
