/* SPDX-License-Identifier: Apache-2.0 */
/* policy_reader.c - read the keys of jobs that have forms of their own: overlap, missed, retries, limits, log
 *
 * overlap and missed are a word, or a word and a number: `allow 3`, or as a mapping, {allow: 3}. */
#include "jobs/schema.h"

#include <string.h>

/* ---- words with numbers ---- */

/* A word of overlap or missed. */
struct policy {
    const char *word;
    int64_t least, most; /* of its number; most 0: it has none */
    const char *hint;    /* what the number means */
};

/* Splits "allow 3", or takes {allow: 3} apart. *ret_number is NULL if there is none. Returns false after
 * reporting a problem. */
static bool split_policy(const struct slot *slot, const struct node *node, const char *expected,
                         const char **ret_word, const char **ret_number)
{
    struct arena *scratch = &slot->reader->scratch;
    *ret_number = NULL;
    if (node->kind == NODE_MAPPING && node->count == 1 && node->items[0]->kind == NODE_SCALAR) {
        *ret_word = node->keys[0]->text;
        *ret_number = node->items[0]->text;
        return true;
    }
    if (!schema_is_scalar(slot, node, expected))
        return false;
    size_t length = strcspn(node->text, " ");
    *ret_word = arena_text(scratch, node->text, length);
    if (node->text[length] == ' ')
        *ret_number = node->text + length + strspn(node->text + length, " ");
    return true;
}

/* Reads one of the policies. Returns its index, or -1 after reporting a problem. */
static int read_policy(const struct slot *slot, const struct node *node, const struct policy *policies,
                       int count, const char *expected, int *ret_number)
{
    struct report *report = &slot->reader->report;
    const char *word, *number_text;
    if (!split_policy(slot, node, expected, &word, &number_text))
        return -1;
    for (int i = 0; i < count; i++) {
        const struct policy *policy = &policies[i];
        int64_t number = 0;
        if (strcmp(policy->word, word) != 0)
            continue;
        bool is_good = policy->most == 0 ? !number_text
                                         : number_text && parse_number(number_text, policy->most, &number) &&
                                               number >= policy->least;
        if (is_good) {
            *ret_number = (int)number;
            return i;
        }
        if (policy->most == 0)
            report_problem(report, &node->place, "%s: %s has no number", slot->key->name, word);
        else
            report_problem(report, &node->place, "%s: %s needs a number from %d to %d, %s: %s 3",
                           slot->key->name, word, (int)policy->least, (int)policy->most, policy->hint, word);
        return -1;
    }
    schema_refuse(slot, node, expected);
    return -1;
}

bool read_overlap(const struct slot *slot, const struct node *node, void *target)
{
    static const struct policy policies[] = {[OVERLAP_SKIP] = {"skip", 0, 0, NULL},
                                             [OVERLAP_ALLOW] = {"allow", 2, 1000, "the most runs at a time"},
                                             [OVERLAP_QUEUE] = {"queue", 1, 1000, "the most runs that wait"},
                                             [OVERLAP_REPLACE] = {"replace", 0, 0, NULL}};
    struct job *job = target;
    int number = 0;
    int choice = read_policy(slot, node, policies, 4, "skip, replace, allow 3 or queue 5", &number);
    if (choice < 0)
        return false;
    job->overlap = (enum job_overlap)choice;
    job->overlap_max = number;
    return true;
}

bool read_missed(const struct slot *slot, const struct node *node, void *target)
{
    static const struct policy policies[] = {[MISSED_SKIP] = {"skip", 0, 0, NULL},
                                             [MISSED_ONCE] = {"once", 0, 0, NULL},
                                             [MISSED_ALL] = {"all", 1, 1000, "the most runs to make up"}};
    struct job *job = target;
    int number = 0;
    int choice = read_policy(slot, node, policies, 3, "skip, once or all 10", &number);
    if (choice < 0)
        return false;
    job->missed = (enum job_missed)choice;
    job->missed_max = number;
    return true;
}

/* ---- retries ---- */

/* Reads one element of `on`. */
static bool read_retry_reason(const struct slot *slot, const struct node *node, void *target)
{
    struct job_retry *retry = target;
    const char *word = node->kind == NODE_SCALAR ? node->text : "";
    bool is_all = strcmp(word, "failure") == 0;
    if (is_all)
        memset(retry->codes, true, sizeof retry->codes);
    if (is_all || strcmp(word, "signal") == 0)
        retry->signals = true;
    if (is_all || strcmp(word, "timeout") == 0)
        retry->timeouts = true;
    if (is_all || strcmp(word, "signal") == 0 || strcmp(word, "timeout") == 0)
        return true;
    bool is_number = strspn(word, "0123456789") > 0;
    if (!is_number)
        return schema_refuse(slot, node, "failure, signal, timeout, an exit status or a range such as 2-10");
    return read_codes(slot, node, retry->codes);
}

static bool read_retry_on(const struct slot *slot, const struct node *node, void *target)
{
    struct job_retry *retry = target;
    memset(retry->codes, false, sizeof retry->codes);
    retry->signals = retry->timeouts = false;
    return schema_each(slot, node, read_retry_reason, retry);
}

bool read_retries(const struct slot *slot, const struct node *node, void *target)
{
    static const char *const back_offs[] = {"constant", "linear", "exponential", NULL};
    static const struct key table[] = {
        {"count", read_int, offsetof(struct job_retry, count), 0, 1000, NULL, 0},
        {"back_off", read_choice, offsetof(struct job_retry, back_off), 0, 0, back_offs, 0},
        {"delay", read_duration, offsetof(struct job_retry, delay), 0, HORA_HOURS(24), NULL, 0},
        {"max", read_duration, offsetof(struct job_retry, max), 0, HORA_HOURS(24), NULL, 0},
        {"jitter", read_fraction, offsetof(struct job_retry, jitter), 0, 1, NULL, 0},
        {"on", read_retry_on, 0, 0, 0, NULL, 0},
        {"past_next", read_boolean, offsetof(struct job_retry, past_next), 0, 0, NULL, 0},
    };
    struct job_retry *retry = target;
    if (node->kind != NODE_MAPPING) {
        static const struct key count = {"retries", read_int, 0, 0, 1000, NULL, 0};
        struct slot inner = {slot->reader, slot->source, &count};
        return read_int(&inner, node, &retry->count);
    }
    if (!schema_read(slot, table, KEY_COUNT(table), node, retry))
        return false;
    if (retry->delay > retry->max)
        return report_problem(&slot->reader->report, &node->place,
                              "retries: delay is longer than max, the longest pause");
    return true;
}

/* ---- limits ---- */

static bool read_cpu_seconds(const struct slot *slot, const struct node *node, void *target)
{
    hora_ns duration;
    if (!read_duration(slot, node, &duration))
        return false;
    *(int64_t *)target = duration / HORA_SECONDS(1);
    return true;
}

static bool read_cgroup(const struct slot *slot, const struct node *node, void *target)
{
    static const struct key table[] = {
        {"memory", read_size, offsetof(struct job_limits, cgroup_memory), 4096, INT64_MAX / 16, NULL, 0},
        {"cpu", read_fraction, offsetof(struct job_limits, cgroup_cpu), 0, 4096, NULL, 0},
        {"processes", read_number, offsetof(struct job_limits, cgroup_processes), 1, 4194304, NULL, 0},
    };
    if (node->kind != NODE_MAPPING)
        return schema_refuse(slot, node, "a mapping with memory, cpu or processes");
    return schema_read(slot, table, KEY_COUNT(table), node, target);
}

bool read_limits(const struct slot *slot, const struct node *node, void *target)
{
    static const struct key table[] = {
        {"cpu", read_cpu_seconds, offsetof(struct job_limits, cpu_seconds), HORA_SECONDS(1),
         HORA_HOURS(24) * 36500, NULL, 0},
        {"memory", read_size, offsetof(struct job_limits, memory), 4096, INT64_MAX / 16, NULL, 0},
        {"files", read_number, offsetof(struct job_limits, files), 3, 1073741816, NULL, 0},
        {"processes", read_number, offsetof(struct job_limits, processes), 1, 4194304, NULL, 0},
        {"file_size", read_size, offsetof(struct job_limits, file_size), 0, INT64_MAX / 16, NULL, 0},
        {"core", read_size, offsetof(struct job_limits, core), 0, INT64_MAX / 16, NULL, 0},
        {"cgroup", read_cgroup, 0, 0, 0, NULL, 0},
    };
    if (node->kind != NODE_MAPPING)
        return schema_refuse(slot, node, "a mapping such as {memory: 512M, cpu: 10m}");
    return schema_read(slot, table, KEY_COUNT(table), node, target);
}

/* ---- log, umask ---- */

bool read_log(const struct slot *slot, const struct node *node, void *target)
{
    static const struct key table[] = {
        {"max_size", read_size, offsetof(struct job_log, max_size), 4096, INT64_MAX / 16, NULL, 0},
        {"max_files", read_int, offsetof(struct job_log, max_files), 0, 1000, NULL, 0},
    };
    struct job_log *log = target;
    if (node->kind == NODE_MAPPING) {
        log->enabled = true;
        return schema_read(slot, table, KEY_COUNT(table), node, log);
    }
    return read_boolean(slot, node, &log->enabled);
}

bool read_umask(const struct slot *slot, const struct node *node, void *target)
{
    static const char expected[] = "three octal digits such as 027";
    if (!schema_is_scalar(slot, node, expected))
        return false;
    const char *digits = node->text;
    size_t length = strlen(digits);
    if (length == 4 && digits[0] == '0')
        digits++;
    if (strlen(digits) != 3 || strspn(digits, "01234567") != 3)
        return schema_refuse(slot, node, expected);
    *(int *)target = (digits[0] - '0') * 64 + (digits[1] - '0') * 8 + (digits[2] - '0');
    return true;
}
