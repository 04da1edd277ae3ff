/* SPDX-License-Identifier: Apache-2.0 */
/* measures.c - what is counted and measured, for a pool and for each name of a task */
#include "oversee/measures.h"

#include <stddef.h>

int hora__measures_new(struct hora__oversight *oversight, struct hora__measures **ret_measures)
{
    (void)oversight;
    *ret_measures = NULL;
    return 0;
}

void hora__measures_free(struct hora__measures *measures)
{
    (void)measures;
}

int hora__sheets_new(struct hora__measures *measures, struct hora__sheets **ret_sheets)
{
    (void)measures;
    *ret_sheets = NULL;
    return 0;
}

void hora__sheets_keep_locked(struct hora__measures *measures, struct hora__sheets *sheets)
{
    (void)measures;
    (void)sheets;
}

void hora__sheets_free(struct hora__sheets *sheets)
{
    (void)sheets;
}

struct hora__start hora__measures_begins(struct hora__post *post, struct hora__frame *frame, hora_future *future,
                                         const hora_task *task, hora_ns now)
{
    (void)post;
    (void)frame;
    (void)future;
    (void)now;
    return (struct hora__start){.name = task->name, .waited = -1, .late = -1};
}

void hora__measures_ended(struct hora__post *post, struct hora__frame *frame, hora_future *future, int code,
                          hora_ns ran)
{
    (void)post;
    (void)frame;
    (void)future;
    (void)code;
    (void)ran;
}

void hora__measures_mishap(struct hora__oversight *oversight, const char *name, enum hora__mishap mishap, int64_t count)
{
    (void)oversight;
    (void)name;
    (void)mishap;
    (void)count;
}
