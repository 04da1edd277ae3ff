/* SPDX-License-Identifier: Apache-2.0 */
/* subject.c - the operations of histories, in terms of hora */
#include "subject.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"

#define DUE_NEVER INT64_C(1000000000000000000)

struct element {
    int number;
    int64_t rank; /* decides the order: a priority, or the due time */
    struct subject *subject;
};

enum { ROOM = 2 * LONGEST_HISTORY };

static struct element elements[LAST_ELEMENT + 1];
static struct element untouched;

void say(struct answer *answer, const char *format, ...)
{
    size_t used = strlen(answer->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(answer->text + used, sizeof(answer->text) - used, format, arguments);
    va_end(arguments);
}

static const char *word_for(int code)
{
    switch (code) {
    case HORA_EINVAL:
        return "invalid";
    case HORA_EINTERRUPTED:
        return "interrupted";
    case HORA_ETIMEDOUT:
        return "timeout";
    case HORA_EFULL:
        return "full";
    case HORA_EEMPTY:
        return "empty";
    default:
        return hora_errname(code);
    }
}

static void say_done(struct answer *answer, int code)
{
    say(answer, "%s", code < 0 ? word_for(code) : "ok");
}

static void say_number(struct answer *answer, int code)
{
    if (code < 0)
        say_done(answer, code);
    else
        say(answer, "%d", code);
}

static long long label(const struct subject *subject, const struct element *e)
{
    return subject->ties ? (long long)e->rank : e->number;
}

static void say_element(struct answer *answer, const struct subject *subject, int code, const void *item)
{
    if (code < 0)
        say_done(answer, code);
    else
        say(answer, "%lld", label(subject, item));
}

static int by_label(const void *a, const void *b)
{
    const struct element *x = *(struct element *const *)a;
    const struct element *y = *(struct element *const *)b;
    long long left = label(x->subject, x);
    long long right = label(y->subject, y);
    return (left > right) - (left < right);
}

/* A list in the order in which it came, or sorted where the order means nothing. */
static void say_list(struct answer *answer, const struct subject *subject, void **items, int count,
                     bool sorted)
{
    if (sorted)
        qsort(items, (size_t)count, sizeof(items[0]), by_label);
    for (int i = 0; i < count; i++)
        say(answer, " %lld", label(subject, items[i]));
}

static bool is_ordered(const struct subject *subject)
{
    return subject->kind != PRIORITY && subject->kind != DELAY;
}

static const hora_clock *clock_of(const struct subject *subject)
{
    return subject->clock == NULL ? NULL : hora_virtual_clock_view(subject->clock, HORA_CLOCK_MONOTONIC);
}

static int compare_ranks(const void *a, const void *b, void *context)
{
    const struct element *x = a;
    const struct element *y = b;
    (void)context;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static hora_ns remaining_delay(const void *item, void *context)
{
    const struct element *e = item;
    const struct subject *subject = context;
    return subject->due == FIXED ? e->rank : e->rank - hora_clock_now(clock_of(subject));
}

static int64_t rank_of(const struct subject *subject, int number)
{
    int64_t tie = number % 4;
    if (subject->kind != DELAY)
        return subject->ties ? tie : number;
    if (subject->due != FIXED)
        return subject->ties ? tie * 100 : number * 10;
    if (number > LAST_DUE_ELEMENT)
        return subject->ties ? DUE_NEVER : DUE_NEVER + number;
    return subject->ties ? tie - 10 : number - 100;
}

static int new_queue(struct subject *s, const struct call *first_line)
{
    const hora_clock *clock = clock_of(s);
    bool fair = strcmp(first_line->words[s->kind == SYNCHRONOUS ? 4 : 5], "fair") == 0;
    int size = (int)first_line->numbers[4];
    switch (s->kind) {
    case ARRAY:
        return hora_queue_new_array(size, HORA_QUEUE_OPTIONS(.clock = clock, .fair = fair), &s->queue, NULL);
    case LINKED:
        return hora_queue_new_linked(size, HORA_QUEUE_OPTIONS(.clock = clock), &s->queue, NULL);
    case SYNCHRONOUS:
        return hora_queue_new_synchronous(HORA_QUEUE_OPTIONS(.clock = clock, .fair = fair), &s->queue, NULL);
    case PRIORITY:
        return hora_queue_new_priority(1, HORA_QUEUE_OPTIONS(.clock = clock, .compare = compare_ranks),
                                       &s->queue, NULL);
    case LATCH:
        return hora_latch_new(size, HORA_LATCH_OPTIONS(.clock = clock), &s->latch, NULL);
    case DELAY:
        break;
    }
    if (s->due == STATED)
        return hora_queue_new_delay(HORA_QUEUE_OPTIONS(.clock = clock), &s->queue, NULL);
    return hora_queue_new_delay(HORA_QUEUE_OPTIONS(.clock = clock, .remaining = remaining_delay, .arg = s,
                                                   .compare = s->due == FIXED ? compare_ranks : NULL),
                                &s->queue, NULL);
}

struct subject *subject_new(const struct call *first_line)
{
    static const char *const kinds[] = {"array", "linked", "synchronous", "priority", "delay", "latch"};
    struct subject *s = calloc(1, sizeof(*s));
    if (s == NULL)
        abort();
    while (strcmp(first_line->words[3], kinds[s->kind]) != 0)
        if (s->kind++ == LATCH)
            abort();
    s->with_workers = first_line->numbers[2] > 0;
    s->ties = strcmp(first_line->words[4], "ties") == 0;
    if (s->kind == DELAY && strcmp(first_line->words[5], "fixed") != 0)
        s->due = strcmp(first_line->words[5], "stated") == 0 ? STATED : ASKED;
    if ((s->with_workers || s->due != FIXED) && hora_virtual_clock_new(NULL, &s->clock, NULL) < 0)
        abort();
    for (int i = 1; i <= LAST_ELEMENT; i++)
        elements[i] = (struct element){i, rank_of(s, i), s};
    if (new_queue(s, first_line) < 0)
        abort();
    return s;
}

int subject_free(struct subject *s)
{
    int freed = s->kind == LATCH ? hora_latch_free(s->latch) : hora_queue_free(s->queue);
    if (freed == 0)
        freed = hora_virtual_clock_free(s->clock);
    free(s);
    return freed;
}

static bool can_take(struct subject *s)
{
    void *head;
    if (hora_queue_peek(s->queue, &head) < 0)
        return false;
    return s->kind != DELAY || remaining_delay(head, s) <= 0;
}

/* True if the call would wait, so that without workers no thread could ever end it. */
static bool would_wait(struct subject *s, const struct call *call, bool interrupted)
{
    const char *name = call->words[0];
    bool inserts = strcmp(name, "put") == 0 || strcmp(name, "offer_for") == 0;
    bool extracts = strcmp(name, "take") == 0 || strcmp(name, "poll_for") == 0;
    bool awaits = strcmp(name, "await") == 0 || strcmp(name, "await_for") == 0;
    if (!(inserts || extracts || awaits) || interrupted)
        return false;
    if (strstr(name, "_for") != NULL) {
        int64_t timeout = call->numbers[inserts ? 2 : 1];
        if (timeout <= 0 || (timeout < INT64_MAX && s->clock == NULL))
            return false;
    }
    if (awaits)
        return hora_latch_count(s->latch) > 0;
    if (inserts)
        return call->numbers[1] != 0 && hora_queue_remaining_capacity(s->queue) == 0;
    return !can_take(s);
}

/* From here on: one function per operation, all of the same form. */

static struct element *element(const struct call *call)
{
    return call->numbers[1] == 0 ? NULL : &elements[call->numbers[1]];
}

static void put(struct subject *s, const struct call *call, struct answer *answer)
{
    struct element *e = element(call);
    if (s->due == STATED)
        say_done(answer, hora_queue_put_at(s->queue, e, e == NULL ? 0 : e->rank));
    else
        say_done(answer, hora_queue_put(s->queue, e));
}

static void offer(struct subject *s, const struct call *call, struct answer *answer)
{
    struct element *e = element(call);
    if (s->due == STATED)
        say_done(answer,
                 hora_queue_put_delayed(s->queue, e, e == NULL ? 0 : e->rank - hora_clock_now(clock_of(s))));
    else
        say_done(answer, hora_queue_offer(s->queue, e));
}

static void offer_for(struct subject *s, const struct call *call, struct answer *answer)
{
    if (s->due == STATED)
        put(s, call, answer);
    else
        say_done(answer, hora_queue_offer_for(s->queue, element(call), call->numbers[2]));
}

static void take(struct subject *s, const struct call *call, struct answer *answer)
{
    void *item = NULL;
    (void)call;
    int code = hora_queue_take(s->queue, &item);
    say_element(answer, s, code, item);
}

static void poll(struct subject *s, const struct call *call, struct answer *answer)
{
    void *item = NULL;
    (void)call;
    int code = hora_queue_poll(s->queue, &item);
    say_element(answer, s, code, item);
}

static void poll_for(struct subject *s, const struct call *call, struct answer *answer)
{
    void *item = NULL;
    int code = hora_queue_poll_for(s->queue, call->numbers[1], &item);
    say_element(answer, s, code, item);
}

static void peek(struct subject *s, const struct call *call, struct answer *answer)
{
    void *item = NULL;
    (void)call;
    int code = hora_queue_peek(s->queue, &item);
    say_element(answer, s, code, item);
}

static void remove_element(struct subject *s, const struct call *call, struct answer *answer)
{
    say_number(answer, hora_queue_remove(s->queue, element(call)));
}

static void contains(struct subject *s, const struct call *call, struct answer *answer)
{
    say_number(answer, hora_queue_contains(s->queue, element(call)));
}

/* Removes the n-th element by rank: any one of those that are equal will do. */
static void remove_nth(struct subject *s, const struct call *call, struct answer *answer)
{
    void *items[ROOM];
    int count = hora_queue_snapshot(s->queue, items, ROOM);
    if (count <= 0) {
        say(answer, "%s", count == 0 ? "empty" : word_for(count));
        return;
    }
    qsort(items, (size_t)count, sizeof(items[0]), by_label);
    void *chosen = items[call->numbers[1] % count];
    say(answer, "%lld %d", label(s, chosen), hora_queue_remove(s->queue, chosen));
}

static void drain(struct subject *s, const struct call *call, struct answer *answer)
{
    void *items[ROOM];
    int count = hora_queue_drain(s->queue, items, (int)call->numbers[1]);
    say_number(answer, count);
    say(answer, ":");
    say_list(answer, s, items, count < 0 ? 0 : count, false);
}

static void drain_null(struct subject *s, const struct call *call, struct answer *answer)
{
    say_number(answer, hora_queue_drain(s->queue, NULL, (int)call->numbers[1]));
}

static void clear(struct subject *s, const struct call *call, struct answer *answer)
{
    (void)call;
    say_done(answer, hora_queue_clear(s->queue));
}

static void size(struct subject *s, const struct call *call, struct answer *answer)
{
    (void)call;
    say_number(answer, hora_queue_size(s->queue));
}

static void empty(struct subject *s, const struct call *call, struct answer *answer)
{
    (void)call;
    say_number(answer, hora_queue_size(s->queue) == 0);
}

static void remaining(struct subject *s, const struct call *call, struct answer *answer)
{
    (void)call;
    say_number(answer, hora_queue_remaining_capacity(s->queue));
}

static void snapshot(struct subject *s, const struct call *call, struct answer *answer)
{
    void *items[ROOM];
    (void)call;
    int count = hora_queue_snapshot(s->queue, items, ROOM);
    say_number(answer, count);
    say(answer, ":");
    say_list(answer, s, items, count < 0 ? 0 : count, !is_ordered(s));
}

/* Drains into an array of the given length: also shows the position of the NULL, and which slots were not
 * written. */
static void snapshot_into(struct subject *s, const struct call *call, struct answer *answer)
{
    void *items[ROOM];
    int room = (int)call->numbers[1];
    for (int i = 0; i < ROOM; i++)
        items[i] = &untouched;
    int count = hora_queue_snapshot(s->queue, items, room);
    say_number(answer, count);
    say(answer, ":");
    int written = count < 0 ? 0 : count < room ? count : room;
    if (is_ordered(s) || written == count)
        say_list(answer, s, items, written, !is_ordered(s));
    for (int i = written; i < room; i++)
        say(answer, items[i] == NULL ? " -" : items[i] == &untouched ? " *" : " ?");
    if (items[room] != &untouched)
        say(answer, " written beyond the end");
}

static void snapshot_null(struct subject *s, const struct call *call, struct answer *answer)
{
    (void)call;
    say_number(answer, hora_queue_snapshot(s->queue, NULL, 1));
}

struct visited {
    void *items[ROOM];
    int count;
};

static int visit(void *item, void *context)
{
    struct visited *visited = context;
    visited->items[visited->count++] = item;
    return 0;
}

static void iterate(struct subject *s, const struct call *call, struct answer *answer)
{
    struct visited visited = {.count = 0};
    (void)call;
    int code = hora_queue_for_each(s->queue, visit, &visited);
    say_done(answer, code);
    say_list(answer, s, visited.items, visited.count, !is_ordered(s));
}

static void comparator(struct subject *s, const struct call *call, struct answer *answer)
{
    (void)call;
    say(answer, hora_queue_comparator(s->queue) == compare_ranks ? "same" : "other");
}

static void construct(struct subject *s, const struct call *call, struct answer *answer)
{
    hora_queue *queue = NULL;
    hora_latch *latch = NULL;
    int room = (int)call->numbers[2];
    (void)s;
    if (strcmp(call->words[1], "array") == 0)
        say_done(answer, hora_queue_new_array(room, NULL, &queue, NULL));
    else if (strcmp(call->words[1], "linked") == 0)
        say_done(answer, hora_queue_new_linked(room, NULL, &queue, NULL));
    else if (strcmp(call->words[1], "priority") == 0)
        say_done(answer,
                 hora_queue_new_priority(room, HORA_QUEUE_OPTIONS(.compare = compare_ranks), &queue, NULL));
    else
        say_done(answer, hora_latch_new(room, NULL, &latch, NULL));
    hora_queue_free(queue);
    hora_latch_free(latch);
}

static void interrupt(struct subject *s, const struct call *call, struct answer *answer)
{
    hora_thread *self;
    (void)s;
    (void)call;
    int code = hora_thread_self(&self);
    if (code == 0) {
        code = hora_thread_interrupt(self);
        hora_thread_unref(self);
    }
    say_done(answer, code);
}

static bool is_caller_interrupted(void)
{
    hora_thread *self;
    if (hora_thread_self(&self) < 0)
        abort();
    bool interrupted = hora_thread_is_interrupted(self);
    hora_thread_unref(self);
    return interrupted;
}

static void is_interrupted(struct subject *s, const struct call *call, struct answer *answer)
{
    (void)s;
    (void)call;
    say_number(answer, is_caller_interrupted());
}

static void interrupted(struct subject *s, const struct call *call, struct answer *answer)
{
    (void)s;
    (void)call;
    say_number(answer, hora_interrupted());
}

static void sleep_not_at_all(struct subject *s, const struct call *call, struct answer *answer)
{
    (void)s;
    (void)call;
    say_done(answer, hora_sleep(0));
}

static void advance(struct subject *s, const struct call *call, struct answer *answer)
{
    say_done(answer, hora_virtual_clock_advance(s->clock, call->numbers[1]));
}

static void await(struct subject *s, const struct call *call, struct answer *answer)
{
    (void)call;
    say_done(answer, hora_latch_await(s->latch));
}

static void await_for(struct subject *s, const struct call *call, struct answer *answer)
{
    say_done(answer, hora_latch_await_for(s->latch, call->numbers[1]));
}

static void count_down(struct subject *s, const struct call *call, struct answer *answer)
{
    (void)call;
    say_done(answer, hora_latch_count_down(s->latch));
}

static void count(struct subject *s, const struct call *call, struct answer *answer)
{
    (void)call;
    say_number(answer, hora_latch_count(s->latch));
}

static void start(struct subject *s, const struct call *call, struct answer *answer)
{
    (void)s;
    say(answer, "history %s", call->words[1]);
}

static void end(struct subject *s, const struct call *call, struct answer *answer)
{
    if (s->kind == LATCH)
        count(s, call, answer);
    else
        snapshot(s, call, answer);
    hora_interrupted(); /* the next history starts without */
}

static const struct {
    const char *name;
    void (*perform)(struct subject *s, const struct call *call, struct answer *answer);
} operations[] = {
    {"add", offer},
    {"advance", advance},
    {"await", await},
    {"await_for", await_for},
    {"clear", clear},
    {"comparator", comparator},
    {"construct", construct},
    {"contains", contains},
    {"count", count},
    {"count_down", count_down},
    {"drain", drain},
    {"drain_null", drain_null},
    {"empty", empty},
    {"end", end},
    {"first", peek},
    {"history", start},
    {"interrupt", interrupt},
    {"interrupted", interrupted},
    {"is_interrupted", is_interrupted},
    {"iterate", iterate},
    {"offer", offer},
    {"offer_for", offer_for},
    {"peek", peek},
    {"poll", poll},
    {"poll_for", poll_for},
    {"put", put},
    {"remaining", remaining},
    {"remove", remove_element},
    {"remove_first", poll},
    {"remove_nth", remove_nth},
    {"size", size},
    {"sleep", sleep_not_at_all},
    {"snapshot", snapshot},
    {"snapshot_into", snapshot_into},
    {"snapshot_null", snapshot_null},
    {"take", take},
};

void perform(struct subject *s, const struct call *call, struct answer *answer)
{
    bool waits = !s->with_workers && would_wait(s, call, is_caller_interrupted());
    bool known = waits;
    for (size_t i = 0; !known && i < sizeof(operations) / sizeof(operations[0]); i++) {
        known = strcmp(call->words[0], operations[i].name) == 0;
        if (known)
            operations[i].perform(s, call, answer);
    }
    if (waits || !known)
        say(answer, waits ? "waits" : "no such operation");
    if (is_caller_interrupted())
        say(answer, " !");
}
