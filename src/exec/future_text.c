/* SPDX-License-Identifier: Apache-2.0 */
/* future_text.c - a future in one line, for people; and its task, for threads that do not run it */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/utf8.h"
#include "exec/future.h"
#include "sys/alloc.h"

/* ---- the name, while another thread may drop the task: I5 in future.c ---- */

void hora__future_keep_name_locked(hora_future *future)
{
    assert(hora__mutex_held(&future->object.lock));
    if (future->runner != NULL || !future->owes_drop || future->task.name == NULL || HORA__FAULT(FUTURE_KEEPS_NO_NAME))
        return;
    assert(!future->owns_name);
    size_t size = strlen(future->task.name) + 1;
    char *copy = hora__alloc_dirty(size);
    if (copy != NULL)
        memcpy(copy, future->task.name, size);
    future->task.name = copy;
    future->owns_name = copy != NULL;
}

void hora__future_free_name(hora_future *future)
{
    char *copy; /* it is not const, unlike the name of a caller */
    if (!future->owns_name)
        return;
    memcpy(&copy, &future->task.name, sizeof copy);
    hora__free(copy);
}

const char *hora__future_lock_name(hora_future *future)
{
    if (!HORA__FAULT(FUTURE_NAME_UNLOCKED))
        hora__mutex_lock(&future->object.lock);
    const char *name = future->task.name;
    HORA__ATOMIC_POINT(); /* who reads it without the lock may come too late */
    return name;
}

void hora__future_unlock_name(hora_future *future)
{
    if (!HORA__FAULT(FUTURE_NAME_UNLOCKED))
        hora__mutex_unlock(&future->object.lock);
}

void hora__future_copy_task(hora_future *future, struct hora__task_copy *ret_copy)
{
    const char *name = hora__future_lock_name(future);
    ret_copy->task = future->task;
    if (name != NULL && future->task.drop != NULL) {
        hora__utf8_copy(ret_copy->name, sizeof ret_copy->name, name);
        ret_copy->task.name = ret_copy->name;
    }
    hora__future_unlock_name(future);
}

/* ---- in one line ---- */

enum { STATE_SIZE = 128 };

static void describe_state(hora_future *future, char *state)
{
    int outcome = hora__future_outcome(future);
    switch (outcome) {
    case 0:
        (void)snprintf(state, STATE_SIZE, "Completed normally");
        return;
    case HORA_EAGAIN:
        (void)snprintf(state, STATE_SIZE, "Not completed");
        return;
    case HORA_ECANCELED:
        (void)snprintf(state, STATE_SIZE, "Cancelled");
        return;
    case HORA_EFAILED:
        (void)snprintf(state, STATE_SIZE, "Completed exceptionally: %d", hora_future_failure(future));
        return;
    default:
        (void)snprintf(state, STATE_SIZE, "Completed exceptionally: %s", hora_strerror(outcome));
    }
}

static int describe(const hora_future *future, const char *name, const char *state, char *text, size_t size)
{
    const hora_task *task = &future->task;
    return snprintf(text, size, "%s (%s:%d) [%s]", name != NULL ? name : "task", task->file != NULL ? task->file : "?",
                    task->line, state);
}

int hora_future_describe(hora_future *future, char *text, size_t size)
{
    char state[STATE_SIZE];
    if (future == NULL || (text == NULL && size > 0))
        return HORA_EINVAL;
    describe_state(future, state);
    if (hora__object_check(&future->object) < 0) /* the lock cannot be taken, and without it the name cannot be read */
        return describe(future, NULL, state, text, size);
    const char *name = hora__future_lock_name(future);
    int length = describe(future, name, state, text, size);
    hora__future_unlock_name(future);
    return length;
}
