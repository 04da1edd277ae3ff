/* SPDX-License-Identifier: Apache-2.0 */
/* events_support.c - see events_support.h */
#include "events_support.h"

#include <stdio.h>
#include <string.h>

static void take_down(struct diary *diary, char what, hora_pool *pool, const hora_event *event)
{
    int i = atomic_fetch_add(&diary->count, 1);
    CHECK_INT(event->struct_size, sizeof(hora_event));
    CHECK(pool != NULL);
    if (i < MOST_NOTES)
        diary->notes[i] =
            (struct note){.what = what,
                          .event = *event,
                          .future_done = event->future != NULL && hora_future_is_done(event->future),
                          .inside = hora_pool_current()};
    if (i < MOST_NOTES && event->task != NULL && event->task->name != NULL)
        (void)snprintf(diary->notes[i].name, sizeof diary->notes[i].name, "%s", event->task->name);
    if (diary->then != NULL)
        diary->then(pool, what, event, diary->then_context);
}

#define NOTES(name, letter)                                                          \
    static void note_##name(hora_pool *pool, const hora_event *event, void *context) \
    {                                                                                \
        take_down(context, letter, pool, event);                                     \
    }
NOTES(started, 'S')
NOTES(done, 'D')
NOTES(failed, 'F')
NOTES(rejected, 'R')
NOTES(expired, 'X')
NOTES(skipped, 'K')
NOTES(stuck, 'U')
NOTES(resized, 'Z')
NOTES(thread_failed, 'T')
NOTES(woke_late, 'L')
NOTES(clock_stepped, 'C')

hora_listener diary_listener(struct diary *diary)
{
    return (hora_listener){.struct_size = sizeof(hora_listener),
                           .started = note_started,
                           .done = note_done,
                           .failed = note_failed,
                           .rejected = note_rejected,
                           .expired = note_expired,
                           .skipped = note_skipped,
                           .stuck = note_stuck,
                           .resized = note_resized,
                           .thread_failed = note_thread_failed,
                           .woke_late = note_woke_late,
                           .clock_stepped = note_clock_stepped,
                           .arg = diary};
}

hora_listener diary_listener_for(struct diary *diary, const char *whats)
{
    hora_listener l = diary_listener(diary);
    hora_event_fn *const all[] = {&l.started,       &l.done,      &l.failed,       &l.rejected,
                                  &l.expired,       &l.skipped,   &l.stuck,        &l.resized,
                                  &l.thread_failed, &l.woke_late, &l.clock_stepped};
    static const char letters[] = "SDFRXKUZTLC";
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strchr(whats, letters[i]) == NULL)
            *all[i] = NULL;
    return l;
}

void check_diary(const char *file, int line, struct diary *diary, const char *whats)
{
    char noted[MOST_NOTES + 1] = {0};
    for (int i = 0; i < diary->count && i < MOST_NOTES; i++)
        noted[i] = diary->notes[i].what;
    if (strcmp(noted, whats) != 0)
        test_fail(file, line, "told %s, not %s", noted, whats);
}

int diary_count(struct diary *diary, char what)
{
    int count = 0;
    for (int i = 0; i < diary->count && i < MOST_NOTES; i++)
        count += diary->notes[i].what == what;
    return count;
}
