/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.c - the tasks of a schedule, and what clients do with them */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"
#include "sim.h"

static hora_ns milliseconds(world *own, int least, int most)
{
    return HORA_MS((int64_t)world_random(own, (uint64_t)(most - least + 1)) + least);
}

static void choose_times(world *own, hora_durable_task *made)
{
    switch (world_random(own, 8)) {
    case 0:
    case 1:
        break;
    case 2:
    case 3:
    case 4:
        made->fixed_rate = milliseconds(own, 100, 1000);
        break;
    case 5:
        made->fixed_delay = milliseconds(own, 100, 1000);
        break;
    case 6:
        made->cron = "* * * * * *";
        break;
    default:
        made->trigger = "t";
        break;
    }
    if (world_chance(own, 50))
        made->initial_delay = milliseconds(own, 1, 2000);
}

static void choose_rules(world *own, hora_durable_task *made)
{
    bool recurring =
        made->fixed_rate != 0 || made->fixed_delay != 0 || made->cron != NULL || made->trigger != NULL;
    if (recurring)
        made->count = (int64_t)world_random(own, 6) + 1;
    if (recurring && world_chance(own, 20))
        made->grace = milliseconds(own, 100, 2000);
    if (recurring && world_chance(own, 20))
        made->stop_after = (int)world_random(own, 2) + 1;
    if (!recurring || made->fixed_delay != 0)
        return;
    made->missed = (hora_missed)world_random(own, 4);
    made->missed_max = made->missed == HORA_MISSED_AT_MOST ? (int)world_random(own, 3) + 1 : 0;
    if (made->missed != HORA_MISSED_BURST && world_chance(own, 50))
        made->missed_after = milliseconds(own, 100, 1000);
    if (world_chance(own, 30)) {
        made->overlap = HORA_OVERLAP_ALLOW;
        made->overlap_max = (int)world_random(own, 2) + 2;
    } else {
        made->busy = (hora_busy)world_random(own, 3);
        made->busy_max = made->busy == HORA_BUSY_QUEUE ? (int)world_random(own, 3) + 1 : 0;
    }
}

static void choose_attempts(world *own, hora_durable_task *made)
{
    made->delivery = world_chance(own, 30) ? HORA_AT_MOST_ONCE : HORA_AT_LEAST_ONCE;
    if (made->delivery == HORA_AT_MOST_ONCE)
        return;
    made->max_attempts = (int)world_random(own, 4) + 1;
    if (made->max_attempts == 1)
        return;
    made->back_off = milliseconds(own, 50, 300);
    made->back_off_max = HORA_SECONDS(1);
    made->back_off_jitter = world_chance(own, 50) ? 0.5 : 0;
}

void tasks_make(world *own)
{
    own->task_count = (int)world_random(own, MAX_TASKS - 1) + 1;
    for (int i = 0; i < own->task_count; i++) {
        own->tasks[i] = (task){.fail_percent = own->faults.failing ? (int)world_random(own, 80) : 0,
                               .outcome_percent = world_chance(own, 20) ? 30 : 0,
                               .retry_percent = world_chance(own, 30) ? 50 : 0};
        (void)snprintf(own->tasks[i].key, KEY_SIZE, "k%d", i);
    }
}

/* Puts a task, as hora_store_put does. */
static void put(world *own, task *added, hora_if_exists if_exists)
{
    hora_durable_task given = {.struct_size = sizeof given, .handler = "h", .key = added->key};
    hora__put row = {.handler = "h", .key = added->key, .if_exists = if_exists, .history = true};
    hora__put_done done;
    hora_error reason;
    char text[200];
    size_t wrong;
    choose_times(own, &given);
    choose_rules(own, &given);
    choose_attempts(own, &given);
    if (hora__definition_new(&given, &added->definition, &reason) < 0 ||
        hora__rules_first(added->definition, &given, world_store_us(own), &row.due, &row.after_now, &reason) <
            0 ||
        hora__definition_write(added->definition, text, sizeof text) >= (int)sizeof text) {
        fprintf(stderr, "store-sim: %s\n", reason.message);
        exit(2);
    }
    row.planned = row.due;
    row.recurring = added->definition->kind != HORA__KIND_ONCE;
    row.definition = text[0] != '\0' ? text : NULL;
    row.lane = (int)world_random(own, HORA__LANES);
    if (own->backend->ops->put(own->backend, &row, 1, &done, &wrong, &reason) < 0) {
        fprintf(stderr, "store-sim: %s\n", reason.message);
        exit(2);
    }
    added->put = true;
    added->id = done.id;
    added->put_us = world_store_us(own);
    world_trace(own, "put %s, id %lld: %s", added->key, (long long)done.id, text);
}

/* Puts another task with the same key, once. */
static void replace(world *own, task *changed)
{
    if (changed->replaced != NULL)
        return;
    changed->replaced = changed->definition;
    put(own, changed, HORA_IF_EXISTS_REPLACE);
}

static void change(world *own, task *changed)
{
    static const hora__change_kind kinds[] = {HORA__CHANGE_CANCEL, HORA__CHANGE_RETIME, HORA__CHANGE_PAUSE,
                                              HORA__CHANGE_RESUME};
    hora__change what = {.kind = kinds[world_random(own, 4)], .key = changed->key};
    hora_error reason;
    what.due = world_store_us(own) + (int64_t)world_random(own, 1000000);
    int result = own->backend->ops->change(own->backend, &what, &reason);
    world_trace(own, "change %d of %s: %d", (int)what.kind, changed->key, result);
    if (what.kind == HORA__CHANGE_CANCEL)
        changed->cancelled = true;
    if (result < 0)
        return;
    if (what.kind == HORA__CHANGE_RETIME)
        changed->retimed = true;
    if (what.kind == HORA__CHANGE_PAUSE)
        changed->paused = changed->was_paused = true;
    if (what.kind == HORA__CHANGE_RESUME)
        changed->paused = false;
}

void tasks_change(world *own, int64_t number)
{
    if (number >= 0) {
        put(own, &own->tasks[number], HORA_IF_EXISTS_REFUSE);
        return;
    }
    task *changed = &own->tasks[world_random(own, (uint64_t)own->task_count)];
    if (!changed->put)
        return;
    if (world_chance(own, 20))
        replace(own, changed);
    else
        change(own, changed);
}

void tasks_free(world *own)
{
    for (int i = 0; i < own->task_count; i++) {
        hora__definition_free(own->tasks[i].definition);
        hora__definition_free(own->tasks[i].replaced);
    }
}

task *task_of(world *own, const char *key)
{
    for (int i = 0; i < own->task_count; i++)
        if (key != NULL && strcmp(own->tasks[i].key, key) == 0)
            return &own->tasks[i];
    return NULL;
}
