/* SPDX-License-Identifier: Apache-2.0 */
/* errand.h - a task that waits in the agenda without a future
 *
 * Nobody has a handle of it, so it is known by its entry only, and it has no outcome. It is as small as can be, since there may be
 * millions: what of the task is NULL is not there. */
#ifndef HORA_SCHED_ERRAND_H
#define HORA_SCHED_ERRAND_H

#include <hora/task.h>

#include "sched/agenda.h"
#include "timer/free_list.h"

/* What follows an errand, as far as its task has it; in this order. */
enum hora__errand_part { HORA__ERRAND_DROP = 1, HORA__ERRAND_DROP_RESULT = 2, HORA__ERRAND_NAME = 4 };

union hora__errand_word {
    void (*drop)(void *value);
    const char *name;
};

struct hora__errand {
    struct hora__entry entry;
    union {
        hora_run_fn run;
        struct hora__entry *next_picked; /* in a chain of those that are swept, and so never run */
    } body;
    void *arg;
    const char *file;
    int line;
    uint16_t place; /* in its slab */
    uint8_t parts;  /* which of enum hora__errand_part there are */
    uint8_t shard;  /* that its slab belongs to */
    union hora__errand_word rest[];
};

static inline struct hora__errand *hora__errand_of(struct hora__entry *entry)
{
    return HORA__LIST_ENTRY(entry, struct hora__errand, entry);
}

/* Make room for one of a task, on a line; it is out. NULL: there is no memory. */
__attribute__((warn_unused_result)) struct hora__errand *hora__errand_new(struct hora__free_list *slabs,
                                                                          const hora_task *task,
                                                                          enum hora__timeline line);

/* Its task. */
hora_task hora__errand_task(const struct hora__errand *errand);

void hora__errand_free(struct hora__free_list *slabs, struct hora__errand *errand);

#endif
