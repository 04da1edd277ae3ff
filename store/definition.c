/* SPDX-License-Identifier: Apache-2.0 */
/* definition.c - check a task and make its definition
 *
 * A task that cannot work, or of which a part would have no effect, is refused with a reason, as a schedule
 * is (hora_schedule_check). Refusing a field without effect catches mistakes that would otherwise go
 * unnoticed. */
#include "definition.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "name.h"
#include "options.h"
#include "reason.h"
#include "units.h"

enum { OVERLAP_LEAST = 2, OVERLAP_MOST = 1000, BUSY_MOST = 1000, ATTEMPTS_MOST = 30000 };

/* ---- checks; each returns 0 or HORA_EINVAL with the reason ---- */

static bool is_recurring(const hora_durable_task *task)
{
    return task->fixed_rate != 0 || task->fixed_delay != 0 || task->cron != NULL || task->trigger != NULL;
}

/* Planned times that do not depend on the end of the previous run. */
static bool has_own_times(const hora_durable_task *task)
{
    return is_recurring(task) && task->fixed_delay == 0;
}

/* What the number of attempts is if the task does not say. */
static int default_attempts(hora_delivery delivery)
{
    return delivery == HORA_AT_MOST_ONCE ? 1 : HORA__DEFAULT_ATTEMPTS;
}

static int refuse_number(hora_error *reason, const char *field, int64_t value, const char *why)
{
    return hora__store_refuse(reason, HORA_EINVAL, field, "%s is %lld, which is %s", field, (long long)value,
                              why);
}

static int check_key(const hora_durable_task *task, hora_error *reason)
{
    int error = hora__name_check(task->handler, "handler", reason);
    if (error == 0 && task->key != NULL)
        error = hora__name_check(task->key, "key", reason);
    if (error < 0)
        return error;
    if (task->key == NULL && is_recurring(task))
        return hora__store_refuse(reason, HORA_EINVAL, "key", "a recurring task needs a key");
    if ((int)task->if_exists < 0 || task->if_exists > HORA_IF_EXISTS_UPGRADE)
        return refuse_number(reason, "if_exists", task->if_exists, "not a HORA_IF_EXISTS_ value");
    if (task->key == NULL && task->if_exists != HORA_IF_EXISTS_REFUSE)
        return hora__store_refuse(reason, HORA_EINVAL, "if_exists", "if_exists has no effect without key");
    if (task->if_exists == HORA_IF_EXISTS_UPGRADE && task->revision < 1)
        return hora__store_refuse(reason, HORA_EINVAL, "revision",
                                  "HORA_IF_EXISTS_UPGRADE needs a revision of at least 1");
    if (task->if_exists != HORA_IF_EXISTS_UPGRADE && task->revision != 0)
        return hora__store_refuse(reason, HORA_EINVAL, "revision",
                                  "revision has no effect without HORA_IF_EXISTS_UPGRADE");
    return 0;
}

static int check_payload(const hora_durable_task *task, hora_error *reason)
{
    if (task->payload == NULL && task->payload_size != 0)
        return hora__store_refuse(reason, HORA_EINVAL, "payload", "payload is NULL, but payload_size is %zu",
                                  task->payload_size);
    if ((int)task->priority < HORA_PRIORITY_LOW || task->priority > HORA_PRIORITY_URGENT)
        return refuse_number(reason, "priority", task->priority, "not a HORA_PRIORITY_ value");
    if ((int)task->delivery < 0 || task->delivery > HORA_EFFECT_ONCE)
        return refuse_number(reason, "delivery", task->delivery,
                             "none of HORA_AT_LEAST_ONCE, HORA_AT_MOST_ONCE and HORA_EFFECT_ONCE");
    return 0;
}

/* A period of less than a millisecond would be one transaction after the other. */
static int check_period(hora_ns period, const char *field, hora_error *reason)
{
    if (period < 0)
        return refuse_number(reason, field, period, "negative");
    if (period > 0 && period < HORA_MS(1))
        return refuse_number(reason, field, period, "less than 1 ms");
    return 0;
}

static int check_times(const hora_durable_task *task, hora_error *reason)
{
    int error = check_period(task->fixed_rate, "fixed_rate", reason);
    if (error == 0)
        error = check_period(task->fixed_delay, "fixed_delay", reason);
    if (error == 0 && task->trigger != NULL)
        error = hora__name_check(task->trigger, "trigger", reason);
    if (error < 0)
        return error;
    int rules =
        (task->fixed_rate != 0) + (task->fixed_delay != 0) + (task->cron != NULL) + (task->trigger != NULL);
    if (rules > 1)
        return hora__store_refuse(reason, HORA_EINVAL, NULL,
                                  "only one of fixed_rate, fixed_delay, cron and trigger can be given");
    if (task->at.ns != 0 && task->initial_delay != 0)
        return hora__store_refuse(reason, HORA_EINVAL, "at", "only one of initial_delay and at can be given");
    if (task->count < 0)
        return refuse_number(reason, "count", task->count, "negative");
    if (rules == 0 && task->count != 0)
        return hora__store_refuse(reason, HORA_EINVAL, "count",
                                  "count has no effect on a task that runs once");
    if (rules == 0 && task->end.ns != 0)
        return hora__store_refuse(reason, HORA_EINVAL, "end", "end has no effect on a task that runs once");
    return 0;
}

static int check_cron(const hora_durable_task *task, hora_error *reason)
{
    if (task->cron == NULL && task->zone != NULL)
        return hora__store_refuse(reason, HORA_EINVAL, "zone", "zone has no effect without cron");
    if ((int)task->dialect < 0 || task->dialect > HORA_CRON_UNIX)
        return refuse_number(reason, "dialect", task->dialect, "not a HORA_CRON_ value");
    if (task->cron == NULL && task->dialect != HORA_CRON_SPRING)
        return hora__store_refuse(reason, HORA_EINVAL, "dialect", "dialect has no effect without cron");
    if ((int)task->dst < 0 || task->dst > HORA_DST_ONCE)
        return refuse_number(reason, "dst", task->dst, "not a HORA_DST_ value");
    if (task->cron == NULL && task->dst != HORA_DST_LITERAL)
        return hora__store_refuse(reason, HORA_EINVAL, "dst", "dst has no effect without cron");
    if (task->zone != NULL && strcmp(task->zone, "local") == 0)
        return hora__store_refuse(reason, HORA_EINVAL, "zone",
                                  "zone is \"local\", which may differ from node to node: name a zone");
    return 0;
}

static int check_missed(const hora_durable_task *task, hora_error *reason)
{
    if ((int)task->missed < 0 || task->missed > HORA_MISSED_AT_MOST)
        return refuse_number(reason, "missed", task->missed, "not a HORA_MISSED_ value");
    if (task->missed == HORA_MISSED_AT_MOST && task->missed_max < 1)
        return hora__store_refuse(reason, HORA_EINVAL, "missed_max",
                                  "HORA_MISSED_AT_MOST needs a missed_max of at least 1");
    if (task->missed != HORA_MISSED_AT_MOST && task->missed_max != 0)
        return hora__store_refuse(reason, HORA_EINVAL, "missed_max",
                                  "missed_max has no effect without HORA_MISSED_AT_MOST");
    if (task->missed != HORA_MISSED_ONCE && !has_own_times(task))
        return hora__store_refuse(reason, HORA_EINVAL, "missed",
                                  "missed has no effect without fixed_rate, cron or trigger");
    if (task->missed_after < 0)
        return refuse_number(reason, "missed_after", task->missed_after, "negative");
    if (task->missed_after != 0 && (!has_own_times(task) || task->missed == HORA_MISSED_BURST))
        return hora__store_refuse(reason, HORA_EINVAL, "missed_after",
                                  "missed_after has no effect without fixed_rate, cron or trigger, and none "
                                  "with HORA_MISSED_BURST");
    if (task->grace < 0)
        return refuse_number(reason, "grace", task->grace, "negative");
    if (task->grace != 0 && !is_recurring(task))
        return hora__store_refuse(reason, HORA_EINVAL, "grace",
                                  "grace has no effect on a task that runs once");
    return 0;
}

static int check_overlap(const hora_durable_task *task, hora_error *reason)
{
    if (task->overlap == HORA_OVERLAP_QUEUE_ONE)
        return hora__store_refuse(reason, HORA_EINVAL, "overlap",
                                  "HORA_OVERLAP_QUEUE_ONE is not possible in a store");
    if ((int)task->overlap < 0 || task->overlap > HORA_OVERLAP_ALLOW)
        return refuse_number(reason, "overlap", task->overlap, "not a HORA_OVERLAP_ value");
    if (task->overlap == HORA_OVERLAP_ALLOW && !has_own_times(task))
        return hora__store_refuse(reason, HORA_EINVAL, "overlap",
                                  "HORA_OVERLAP_ALLOW has no effect without fixed_rate, cron or trigger");
    if (task->overlap == HORA_OVERLAP_ALLOW &&
        (task->overlap_max < OVERLAP_LEAST || task->overlap_max > OVERLAP_MOST))
        return hora__store_refuse(reason, HORA_EINVAL, "overlap_max",
                                  "overlap_max is %d, and HORA_OVERLAP_ALLOW needs one from %d to %d",
                                  task->overlap_max, OVERLAP_LEAST, OVERLAP_MOST);
    if (task->overlap != HORA_OVERLAP_ALLOW && task->overlap_max != 0)
        return hora__store_refuse(reason, HORA_EINVAL, "overlap_max",
                                  "overlap_max has no effect without HORA_OVERLAP_ALLOW");
    return 0;
}

static int check_busy(const hora_durable_task *task, hora_error *reason)
{
    if ((int)task->busy < 0 || task->busy > HORA_BUSY_QUEUE)
        return refuse_number(reason, "busy", task->busy, "not a HORA_BUSY_ value");
    if (task->busy != HORA_BUSY_MISSED && (!has_own_times(task) || task->overlap != HORA_OVERLAP_NEVER))
        return hora__store_refuse(reason, HORA_EINVAL, "busy",
                                  "busy has no effect without fixed_rate, cron or trigger, and none with "
                                  "HORA_OVERLAP_ALLOW");
    if (task->busy == HORA_BUSY_QUEUE && (task->busy_max < 1 || task->busy_max > BUSY_MOST))
        return hora__store_refuse(reason, HORA_EINVAL, "busy_max",
                                  "busy_max is %d, and HORA_BUSY_QUEUE needs one from 1 to %d",
                                  task->busy_max, BUSY_MOST);
    if (task->busy != HORA_BUSY_QUEUE && task->busy_max != 0)
        return hora__store_refuse(reason, HORA_EINVAL, "busy_max",
                                  "busy_max has no effect without HORA_BUSY_QUEUE");
    return 0;
}

static int check_attempts(const hora_durable_task *task, hora_error *reason)
{
    if (task->max_attempts < 0 || task->max_attempts > ATTEMPTS_MOST)
        return hora__store_refuse(reason, HORA_EINVAL, "max_attempts",
                                  "max_attempts is %d, which is not between 0 and %d", task->max_attempts,
                                  ATTEMPTS_MOST);
    if (task->delivery == HORA_AT_MOST_ONCE && task->max_attempts > 1)
        return hora__store_refuse(reason, HORA_EINVAL, "max_attempts",
                                  "max_attempts is %d, but HORA_AT_MOST_ONCE allows one attempt",
                                  task->max_attempts);
    if (task->stop_after < 0)
        return refuse_number(reason, "stop_after", task->stop_after, "negative");
    if (task->stop_after != 0 && !is_recurring(task))
        return hora__store_refuse(reason, HORA_EINVAL, "stop_after",
                                  "stop_after has no effect on a task that runs once");
    return 0;
}

/* The comparisons of doubles are written so that NaN is refused. */
static int check_back_off(const hora_durable_task *task, hora_error *reason)
{
    int attempts = task->max_attempts != 0 ? task->max_attempts : default_attempts(task->delivery);
    bool given = task->back_off != 0 || task->back_off_max != 0 || task->back_off_factor != 0 ||
                 task->back_off_jitter != 0;
    if (attempts == 1 && given)
        return hora__store_refuse(
            reason, HORA_EINVAL, "back_off",
            "back_off, back_off_factor, back_off_max and back_off_jitter have no effect "
            "with one attempt");
    if (task->back_off < 0)
        return refuse_number(reason, "back_off", task->back_off, "negative");
    if (task->back_off_max < 0)
        return refuse_number(reason, "back_off_max", task->back_off_max, "negative");
    if (task->back_off_max > 0 &&
        task->back_off_max < (task->back_off > 0 ? task->back_off : HORA_SECONDS(1)))
        return hora__store_refuse(reason, HORA_EINVAL, "back_off_max", "back_off_max is less than back_off");
    if (task->back_off_factor != 0 && !(task->back_off_factor >= 1 && task->back_off_factor <= 1e9))
        return hora__store_refuse(reason, HORA_EINVAL, "back_off_factor",
                                  "back_off_factor is not between 1 and 1e9");
    if (!(task->back_off_jitter >= 0 && task->back_off_jitter <= 1))
        return hora__store_refuse(reason, HORA_EINVAL, "back_off_jitter",
                                  "back_off_jitter is not between 0 and 1");
    return 0;
}

static int check(const hora_durable_task *task, hora_error *reason)
{
    static int (*const parts[])(const hora_durable_task *, hora_error *) = {
        check_key,     check_payload, check_times,    check_cron,    check_missed,
        check_overlap, check_busy,    check_attempts, check_back_off};
    int error = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && error == 0; i++)
        error = parts[i](task, reason);
    return error;
}

/* ---- making ---- */

static hora__kind kind_of(const hora_durable_task *task)
{
    if (task->fixed_rate != 0)
        return HORA__KIND_RATE;
    if (task->fixed_delay != 0)
        return HORA__KIND_DELAY;
    if (task->cron != NULL)
        return HORA__KIND_CRON;
    return task->trigger != NULL ? HORA__KIND_TRIGGER : HORA__KIND_ONCE;
}

void hora__definition_init(hora__definition *definition)
{
    *definition = (hora__definition){
        .kind = HORA__KIND_ONCE,
        .end_us = INT64_MAX,
        .count = INT64_MAX,
        .missed = HORA_MISSED_ONCE,
        .missed_after_us = HORA__DEFAULT_MISSED_AFTER_US,
        .grace_us = INT64_MAX,
        .overlap = HORA_OVERLAP_NEVER,
        .delivery = HORA_AT_LEAST_ONCE,
        .max_attempts = default_attempts(HORA_AT_LEAST_ONCE),
        .back_off_us = HORA__DEFAULT_BACK_OFF_US,
        .back_off_factor = HORA__DEFAULT_BACK_OFF_FACTOR,
        .back_off_max_us = HORA__DEFAULT_BACK_OFF_MAX_US,
    };
}

/* Rounds to millionths, which the text can represent exactly, so that a definition survives being written
 * and read. */
static double to_millionths(double value)
{
    return (double)(int64_t)(value * 1e6 + 0.5) / 1e6;
}

static void set_numbers(hora__definition *own, const hora_durable_task *task)
{
    own->kind = kind_of(task);
    own->period_us = hora__us_of_ns(task->fixed_rate != 0 ? task->fixed_rate : task->fixed_delay);
    if (task->end.ns != 0)
        own->end_us = task->end.ns / 1000 - (task->end.ns % 1000 < 0); /* down: nothing runs after it */
    if (task->count != 0)
        own->count = task->count;
    own->missed = task->missed;
    own->missed_max = task->missed_max;
    if (task->missed_after != 0)
        own->missed_after_us = hora__us_of_ns(task->missed_after);
    if (task->grace != 0)
        own->grace_us = hora__us_of_ns(task->grace);
    own->overlap = task->overlap;
    own->overlap_max = task->overlap_max;
    own->busy = task->busy;
    own->busy_max = task->busy_max;
    own->delivery = task->delivery;
    own->max_attempts = task->max_attempts != 0 ? task->max_attempts : default_attempts(task->delivery);
    if (task->back_off != 0)
        own->back_off_us = hora__us_of_ns(task->back_off);
    if (task->back_off_factor != 0)
        own->back_off_factor = to_millionths(task->back_off_factor);
    if (task->back_off_max != 0)
        own->back_off_max_us = hora__us_of_ns(task->back_off_max);
    if (own->back_off_max_us < own->back_off_us)
        own->back_off_max_us = own->back_off_us;
    own->back_off_jitter = to_millionths(task->back_off_jitter);
    own->stop_after = task->stop_after;
}

int hora__definition_set_cron(hora__definition *definition, const char *text, hora_cron_dialect dialect,
                              hora_dst dst, const char *zone, hora_error *reason)
{
    assert(definition->cron == NULL && definition->zone == NULL);
    definition->dialect = dialect;
    definition->dst = dst;
    int error =
        hora_cron_parse(text, HORA_CRON_OPTIONS(.dialect = dialect, .dst = dst), &definition->cron, reason);
    if (error < 0)
        return error;
    if (hora_cron_is_reboot(definition->cron))
        return hora__store_refuse(reason, HORA_EINVAL, "cron", "@reboot has no times in a store");
    return zone == NULL ? 0 : hora_zone_new(zone, NULL, &definition->zone, reason);
}

static int fill(hora__definition *own, const hora_durable_task *task, hora_error *reason)
{
    set_numbers(own, task);
    if (own->kind == HORA__KIND_CRON)
        return hora__definition_set_cron(own, task->cron, task->dialect, task->dst, task->zone, reason);
    if (own->kind == HORA__KIND_TRIGGER) {
        own->trigger_name = strdup(task->trigger);
        if (own->trigger_name == NULL)
            return hora__store_refuse(reason, HORA_ENOMEM, NULL, "out of memory");
    }
    return 0;
}

int hora__definition_new(const hora_durable_task *task, hora__definition **ret_definition, hora_error *reason)
{
    hora_durable_task given;
    if (task == NULL)
        return hora__store_refuse(reason, HORA_EINVAL, NULL, "task is NULL");
    int error =
        hora__store_read_options(&given, sizeof given, sizeof given, task, "hora_durable_task", reason);
    if (error == 0)
        error = check(&given, reason);
    if (error < 0)
        return error;
    hora__definition *own = malloc(sizeof *own);
    if (own == NULL)
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "out of memory");
    hora__definition_init(own);
    error = fill(own, &given, reason);
    if (error < 0) {
        hora__definition_free(own);
        return error;
    }
    *ret_definition = own;
    return 0;
}

void hora__definition_free(hora__definition *definition)
{
    if (definition == NULL)
        return;
    (void)hora_cron_unref(definition->cron);
    (void)hora_zone_unref(definition->zone);
    free(definition->trigger_name);
    free(definition);
}

/* ---- in words ---- */

/* Writes a span of time in the largest unit in which it is a whole number. */
static int describe_span(int64_t us, const char *before, const char *after, char *text, size_t size)
{
    static const struct {
        const char *name;
        int64_t us;
    } units[] = {{"d", INT64_C(86400000000)},
                 {"h", INT64_C(3600000000)},
                 {"min", 60000000},
                 {"s", 1000000},
                 {"ms", 1000},
                 {"us", 1}};
    size_t i = 0;
    while (us % units[i].us != 0)
        i++;
    return snprintf(text, size, "%s%lld %s%s", before, (long long)(us / units[i].us), units[i].name, after);
}

int hora__definition_describe(const hora__definition *definition, char *text, size_t size)
{
    switch (definition->kind) {
    case HORA__KIND_RATE:
        return describe_span(definition->period_us, "every ", "", text, size);
    case HORA__KIND_DELAY:
        return describe_span(definition->period_us, "", " after the end of the last run", text, size);
    case HORA__KIND_CRON:
        return hora_cron_describe(definition->cron, definition->zone, text, size);
    case HORA__KIND_TRIGGER:
        return snprintf(text, size, "trigger %s", definition->trigger_name);
    case HORA__KIND_ONCE:
    default:
        return snprintf(text, size, "%s", "");
    }
}
