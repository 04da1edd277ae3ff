/* SPDX-License-Identifier: Apache-2.0 */
/* errand.c - a task, packed and unpacked; see errand.h */
#include "sched/errand.h"

#include <assert.h>
#include <stddef.h>

#if defined(__x86_64__)
static_assert(sizeof(struct hora__errand) == 48, "what a pending task takes: see docs/internals/scheduler.md");
#endif
static_assert(sizeof(union hora__errand_word) == sizeof(void *), "a part is a word");

static int count_parts(unsigned parts)
{
    return (int)((parts & 1) + (parts >> 1 & 1) + (parts >> 2 & 1));
}

struct hora__errand *hora__errand_new(struct hora__free_list *slabs, const hora_task *task, enum hora__timeline line)
{
    unsigned parts = (task->drop != NULL ? HORA__ERRAND_DROP : 0U) |
                     (task->drop_result != NULL ? HORA__ERRAND_DROP_RESULT : 0U) |
                     (task->name != NULL ? HORA__ERRAND_NAME : 0U);
    uint16_t place;
    struct hora__errand *errand = hora__free_list_get(slabs, count_parts(parts), &place);
    if (errand == NULL)
        return NULL;
    hora__entry_init(&errand->entry, line, false, false);
    errand->entry.is_errand = true;
    errand->body.run = task->run;
    errand->arg = task->arg;
    errand->file = task->file;
    errand->line = task->line;
    errand->place = place;
    errand->parts = (uint8_t)parts;
    union hora__errand_word *next = errand->rest;
    if (parts & HORA__ERRAND_DROP)
        (next++)->drop = task->drop;
    if (parts & HORA__ERRAND_DROP_RESULT)
        (next++)->drop = task->drop_result;
    if (parts & HORA__ERRAND_NAME)
        next->name = task->name;
    return errand;
}

hora_task hora__errand_task(const struct hora__errand *errand)
{
    hora_task task = {.run = errand->body.run, .arg = errand->arg, .file = errand->file, .line = errand->line};
    const union hora__errand_word *next = errand->rest;
    if (errand->parts & HORA__ERRAND_DROP)
        task.drop = (next++)->drop;
    if (errand->parts & HORA__ERRAND_DROP_RESULT)
        task.drop_result = (next++)->drop;
    if (errand->parts & HORA__ERRAND_NAME)
        task.name = next->name;
    return task;
}

void hora__errand_free(struct hora__free_list *slabs, struct hora__errand *errand)
{
    hora__free_list_put(slabs, errand, errand->place);
}
