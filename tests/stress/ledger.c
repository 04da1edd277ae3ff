/* SPDX-License-Identifier: Apache-2.0 */
/* ledger.c - the records, and what must hold for each
 *
 *   returned 0       exactly one drop, no run after it, and no more runs than planned; a run, unless excused
 *   an error         neither run nor drop, then or later
 *   REMOVED          no run begins after the cancel has returned this
 *   an element       taken exactly once or dropped exactly once
 *   a result         taken exactly once or dropped exactly once
 *   on_done          called exactly once
 *
 * The first violation is printed with the history of its record, and ends the program. */
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stress.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size)   ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

static struct record banks[BANKS][RECORDS];
static struct record *bank = banks[0];
static _Atomic int used;
static int round_number;
static int64_t records; /* of the rounds before */

static int load(_Atomic int *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

static int add(_Atomic int *number, int by)
{
    return atomic_fetch_add_explicit(number, by, memory_order_relaxed);
}

/* ---- stories ---- */

void record_tell(struct record *record, const char *what, int value)
{
    unsigned index = atomic_fetch_add_explicit(&record->told, 1, memory_order_relaxed);
    if (index >= STORY) /* the first four stay, of the others the last */
        index = 4 + (index - 4) % (STORY - 4);
    struct entry *entry = &record->story[index];
    atomic_store_explicit(&entry->at, now_ns(), memory_order_relaxed);
    atomic_store_explicit(&entry->what, what, memory_order_relaxed);
    atomic_store_explicit(&entry->value, value, memory_order_relaxed);
    atomic_store_explicit(&entry->thread, self()->number, memory_order_relaxed);
}

static int earlier(const void *a, const void *b)
{
    int64_t left = atomic_load(&((struct entry *)(uintptr_t)a)->at),
            right = atomic_load(&((struct entry *)(uintptr_t)b)->at);
    return (left > right) - (left < right);
}

static void print_record(struct record *record)
{
    static const char *const kinds[] = {"task", "element", "timer", "promise", "context"};
    static const char *const outcomes[] = {"not answered", "accepted", "refused"};
    unsigned told = atomic_load(&record->told);
    printf("  %s %d, given to %s by %s: %s\n", kinds[record->kind], record->number,
           record->object == NULL ? "nothing" : record->object->text, record->call,
           outcomes[load(&record->outcome)]);
    printf("  runs %d (of %d), ends %d, drops %d, takes %d, results %d (ended %d), code %d, callbacks %d "
           "(called %d),"
           " starts %d%s%s%s\n",
           load(&record->runs), record->most, load(&record->ends), load(&record->drops), load(&record->takes),
           load(&record->results), load(&record->result_ends), load(&record->code), load(&record->callbacks),
           load(&record->called), load(&record->starts), load(&record->removed) ? ", removed" : "",
           load(&record->excused) ? ", excused" : "", load(&record->closed) ? ", closed" : "");
    unsigned count = told < STORY ? told : STORY;
    qsort(record->story, count, sizeof record->story[0], earlier);
    for (unsigned i = 0; i < count; i++) {
        struct entry *entry = &record->story[i];
        printf("  %+12.6f ms  thread %2d  %s %d\n", (double)(atomic_load(&entry->at) - record->made_at) / 1e6,
               load(&entry->thread), atomic_load(&entry->what), load(&entry->value));
    }
    if (told > STORY)
        printf("  (%u events are left out)\n", told - STORY);
}

void violation(struct record *record, const char *format, ...)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    (void)pthread_mutex_lock(&lock); /* for good: the first one ends the program */
    va_list values;
    va_start(values, format);
    printf("stress: violation: ");
    vprintf(format, values);
    va_end(values);
    printf(" (seed %" PRIu64 ")\n  round %d, thread %d, in %s\n", settings.seed, round_number, self()->number,
           atomic_load(&self()->doing));
    if (record != NULL)
        print_record(record);
    (void)fflush(stdout);
    if (getenv("HORA_STRESS_ABORT") != NULL)
        abort();
    _exit(1);
}

void ledger_print_open(int most)
{
    int count = load(&used) < RECORDS ? load(&used) : RECORDS;
    for (int i = 0; i < count && most > 0; i++) {
        struct record *record = &bank[i];
        bool over = record->kind == KIND_ELEMENT ? load(&record->takes) + load(&record->drops) > 0
                                                 : load(&record->drops) > 0;
        if (record->kind == KIND_TIMER || record->kind == KIND_PROMISE ||
            load(&record->outcome) == OUTCOME_REFUSED || over)
            continue;
        print_record(record);
        most--;
    }
}

/* ---- records ---- */

struct record *record_new(enum kind kind, const char *call, struct object *object)
{
    int number = add(&used, 1);
    if (number >= RECORDS) {
        add(&used, -1);
        round_end();
        return NULL;
    }
    struct record *record = &bank[number];
    ASAN_UNPOISON_MEMORY_REGION(record->name, sizeof record->name);
    *record = (struct record){
        .kind = kind, .number = number, .most = 1, .call = call, .object = object, .made_at = now_ns()};
    record->plain_is_checked = kind == KIND_TASK;
    record->plain = number;
    (void)snprintf(record->name, sizeof record->name, "task-%d", number % 7);
    return record;
}

bool ledger_is_used_up(void)
{
    return load(&used) >= RECORDS;
}

/* As in the JDK, a scheduler cancels a task that arrives while it is shut down and terminates, and the call
 * succeeds. */
static bool came_too_late(struct record *record)
{
    return record->object != NULL && record->object->kind == OBJECT_SCHEDULER && load(&record->drops) > 0 &&
           hora_pool_is_shutdown(record->object->pool);
}

int record_answer(struct record *record, int result)
{
    record_tell(record, result >= 0 ? "accepted:" : hora_errname(result), result);
    if (result >= 0) {
        if (came_too_late(record))
            atomic_store_explicit(&record->excused, 1, memory_order_relaxed);
        atomic_store_explicit(&record->outcome, OUTCOME_ACCEPTED, memory_order_relaxed);
        return result;
    }
    atomic_store_explicit(&record->outcome, OUTCOME_REFUSED, memory_order_relaxed);
    if (load(&record->runs) > 0 || load(&record->drops) > 0 || load(&record->takes) > 0)
        violation(record, "%s returned %s, and it was run, taken or dropped", record->call,
                  hora_errname(result));
    return result;
}

static void check_alive(struct record *record, const char *what)
{
    if (load(&record->closed))
        violation(record, "%s after the end of its round", what);
    if (load(&record->outcome) == OUTCOME_REFUSED)
        violation(record, "%s, but %s returned an error", what, record->call);
    if (load(&record->drops) > 0)
        violation(record, "%s after its drop", what);
}

void record_begin(struct record *record)
{
    int before = add(&record->runs, 1);
    record_tell(record, "begins: run", before + 1);
    if (record->kind != KIND_TIMER) {
        check_alive(record, "run");
        if (load(&record->removed))
            violation(record, "run after a cancel has answered HORA_CANCEL_REMOVED");
        if (record->most > 0 && before >= record->most)
            violation(record, "run too often");
    } else if (before >= load(&record->starts)) {
        violation(record, "a timer runs more often than it was started, or after HORA_CANCEL_REMOVED");
    }
    if (record->plain_is_checked && ++record->plain != record->number + before + 1)
        violation(record, "the body does not see what the submitter, or the run before, has written");
}

void record_end(struct record *record, int code)
{
    atomic_store_explicit(&record->code, code, memory_order_relaxed);
    record_tell(record, "ends: code", code);
    add(&record->ends, 1);
}

void record_drop(void *arg)
{
    struct record *record = arg;
    check_alive(record, "dropped");
    if (load(&record->runs) != load(&record->ends))
        violation(record, "dropped while it runs");
    if (add(&record->drops, 1) > 0)
        violation(record, "dropped twice");
    record_tell(record, "dropped", 1);
    if (record->plain_is_checked && record->plain != record->number + load(&record->runs))
        violation(record, "the destructor does not see what the body has written");
    memset(record->name, '~', sizeof record->name - 1);
    ASAN_POISON_MEMORY_REGION(record->name, sizeof record->name);
}

void record_drop_result(void *result)
{
    struct record *record = result;
    record_tell(record, "result dropped", 1);
    if (load(&record->closed))
        violation(record, "result dropped after the end of its round");
    if (add(&record->result_ends, 1) >= load(&record->results))
        violation(record, "result ended twice");
}

void record_drop_element(void *item)
{
    struct record *record = item;
    record_tell(record, "element dropped", 1);
    check_alive(record, "element dropped");
    if (add(&record->drops, 1) + load(&record->takes) > 0)
        violation(record, "an element was dropped, and dropped or taken before");
}

void record_take_element(void *item)
{
    struct record *record = item;
    record_tell(record, "element taken", 1);
    check_alive(record, "element taken");
    if (add(&record->takes, 1) > 0)
        violation(record, "an element was taken twice");
    if (++record->plain != record->number + 1)
        violation(record, "the taker does not see what the putter has written");
}

void record_done(hora_future *future, void *context)
{
    struct record *record = context;
    record_tell(record, "on_done", (int)hora_future_get_state(future));
    if (load(&record->closed) || add(&record->called, 1) >= load(&record->callbacks))
        violation(record, "an on_done callback was called too often");
    if (!hora_future_is_done(future))
        violation(record, "on_done was called, but the future is not done");
}

int record_cancelled(struct record *record, int answer)
{
    if (record == NULL)
        return answer;
    record_tell(record, "cancel answered", answer);
    if (answer == HORA_CANCEL_REMOVED) {
        atomic_store_explicit(&record->removed, 1, memory_order_relaxed);
        if (record->most == 1 && load(&record->runs) > 0)
            violation(record, "cancel answered HORA_CANCEL_REMOVED, but it has begun");
    }
    return answer;
}

/* ---- the end of a round ---- */

static bool may_end_without_a_run(struct record *record)
{
    return load(&record->excused) || record->object == NULL || atomic_load(&record->object->may_drop);
}

static void check_task(struct record *record)
{
    int runs = load(&record->runs), drops = load(&record->drops);
    if (load(&record->outcome) == OUTCOME_REFUSED) {
        if (runs > 0 || drops > 0)
            violation(record, "%s returned an error, and it was run or dropped", record->call);
        return;
    }
    if (drops != 1)
        violation(record, drops == 0 ? "accepted, and never dropped: it is lost" : "dropped twice");
    if (runs != load(&record->ends))
        violation(record, "a run has not ended");
    if (record->most == 1 && runs == 0 && !may_end_without_a_run(record))
        violation(record, "accepted and dropped, but it never ran, and nothing stopped it");
}

static void check_record(struct record *record)
{
    if (load(&record->outcome) == OUTCOME_OPEN)
        violation(record, "the program never learned the outcome");
    switch (record->kind) {
    case KIND_TASK:
        check_task(record);
        break;
    case KIND_ELEMENT:
        if (load(&record->takes) + load(&record->drops) != (load(&record->outcome) == OUTCOME_ACCEPTED))
            violation(record, "an element was neither taken nor dropped exactly once");
        break;
    case KIND_TIMER:
        if (load(&record->runs) > load(&record->starts))
            violation(record, "a timer has run more often than it was started");
        if (load(&record->starts) == 1 && load(&record->runs) == 0 && !may_end_without_a_run(record))
            violation(record, "a timer was started and never ran, and nothing stopped it");
        break;
    case KIND_CONTEXT:
        if (load(&record->drops) != 1)
            violation(record, "what the hook `capture` has made was not released exactly once");
        break;
    case KIND_PROMISE:
        break;
    }
    if (load(&record->results) != load(&record->result_ends))
        violation(record, "a result was neither taken nor dropped");
    /* A future that is released before it is done calls no callback. */
    bool was_done =
        load(&record->removed) || (record->most == 1 && load(&record->ends) + load(&record->results) > 0);
    if (was_done && load(&record->callbacks) != load(&record->called))
        violation(record, "an on_done callback was not called");
    atomic_store_explicit(&record->closed, 1, memory_order_relaxed);
}

void ledger_check_round(void)
{
    int count = load(&used) < RECORDS ? load(&used) : RECORDS;
    for (int i = 0; i < count; i++)
        check_record(&bank[i]);
    records += count;
}

void ledger_next_round(void)
{
    round_number++;
    bank = banks[round_number % BANKS];
    atomic_store(&used, 0);
}

int ledger_round(void)
{
    return round_number;
}

int64_t ledger_records(void)
{
    return records;
}
