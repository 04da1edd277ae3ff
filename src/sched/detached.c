/* SPDX-License-Identifier: Apache-2.0 */
/* detached.c - a hora_task, packed into a detached task and unpacked; see detached.h */
#include "sched/detached.h"

#include <assert.h>
#include <stddef.h>

#include "timer/lanes.h"

union part {
    void (*drop)(void *value);
    const char *name;
};

#if defined(__x86_64__)
static_assert(sizeof(struct hora__detached) == 48,
              "what a pending task takes: see docs/internals/scheduler.md");
#endif
static_assert(sizeof(union part) == sizeof(void *), "a part is a word");
static_assert(offsetof(struct hora__detached, spot) + sizeof(uint16_t) ==
                  offsetof(struct hora__detached, entry.by_due),
              "see hora__node_spot");
static_assert(sizeof(struct hora__timer) == sizeof(hora_timer) &&
                  _Alignof(struct hora__timer) <= _Alignof(hora_timer),
              "the public struct is as large as its inside");
static_assert(offsetof(struct hora__timer, task.run_timer) == offsetof(hora_timer, run_) &&
                  offsetof(struct hora__timer, task.arg) == offsetof(hora_timer, arg_),
              "HORA_TIMER_INIT writes these, and zero to all else");
static_assert(sizeof(void *) != 8 || sizeof(hora_timer) == 64, "frozen: see hora/timer.h");

static int count_parts(unsigned parts)
{
    assert(parts < 8);
    return (int)((parts & 1) + (parts >> 1 & 1) + (parts >> 2 & 1));
}

struct hora__detached *hora__detached_new(struct hora__free_list *list, const hora_task *task,
                                          enum hora__timeline line)
{
    assert(task->run != NULL);
    unsigned parts = (task->drop != NULL ? HORA__PART_DROP : 0U) |
                     (task->drop_result != NULL ? HORA__PART_DROP_RESULT : 0U) |
                     (task->name != NULL ? HORA__PART_NAME : 0U);
    uint16_t offset;
    struct hora__detached *detached = hora__free_list_get(list, count_parts(parts), &offset);
    if (detached == NULL)
        return NULL;
    hora__entry_init(&detached->entry, line, false, false);
    detached->entry.is_detached = true;
    detached->run_task = task->run;
    detached->arg = task->arg;
    detached->file = task->file;
    detached->line = task->line;
    detached->offset = offset;
    detached->parts = (uint8_t)parts;
    union part *next = (union part *)(detached + 1);
    if (parts & HORA__PART_DROP)
        (next++)->drop = task->drop;
    if (parts & HORA__PART_DROP_RESULT)
        (next++)->drop = task->drop_result;
    if (parts & HORA__PART_NAME)
        next->name = task->name;
    return detached;
}

hora_task hora__detached_task(const struct hora__detached *detached)
{
    assert(detached->entry.is_detached && !detached->entry.is_timer);
    hora_task task = {
        .run = detached->run_task, .arg = detached->arg, .file = detached->file, .line = detached->line};
    const union part *next = (const union part *)(detached + 1);
    if (detached->parts & HORA__PART_DROP)
        task.drop = (next++)->drop;
    if (detached->parts & HORA__PART_DROP_RESULT)
        task.drop_result = (next++)->drop;
    if (detached->parts & HORA__PART_NAME)
        task.name = next->name;
    return task;
}

void hora__detached_free(struct hora__free_list *list, struct hora__detached *detached)
{
    assert(!detached->entry.is_timer);
    hora__free_list_put(list, detached, detached->offset);
}
