/* SPDX-License-Identifier: Apache-2.0 */
/* settings_reader.c - read the settings of the runner, and the groups
 *
 * All files together have one set of settings: a setting in two files is a problem. */
#include "jobs/schema.h"

#include <string.h>

#define LONGEST  (HORA_HOURS(24) * 36500)
#define SHORTEST HORA_MS(1)

enum { MOST_GROUPS = 1000 };

/* Reads "127.0.0.1:9464" or "[::1]:9464". */
static bool read_address(const struct slot *slot, const struct node *node, void *target)
{
    static const char expected[] = "an address and a port, such as 127.0.0.1:9464";
    if (!schema_is_scalar(slot, node, expected))
        return false;
    const char *colon = strrchr(node->text, ':');
    int64_t port = 0;
    bool good = colon && colon > node->text && parse_number(colon + 1, 65535, &port) && port > 0;
    if (good && node->text[0] == '[')
        good = colon[-1] == ']';
    else
        good = good && strchr(node->text, ':') == colon;
    return good ? read_text(slot, node, target) : schema_refuse(slot, node, expected);
}

/* Reads an address of a store. The path of a SQLite file is relative to the folder of the job file. */
static bool read_store(const struct slot *slot, const struct node *node, void *target)
{
    static const char prefix[] = "sqlite:";
    char **address = target;
    if (!schema_is_scalar(slot, node, "the address of a store, such as sqlite:hora.db"))
        return false;
    if (!strchr(node->text, ':'))
        return report_problem(&slot->reader->report, &node->place,
                              "store: %s is not an address; write sqlite:%s for a file",
                              report_quote(&slot->reader->report, node->text), node->text);
    const char *path = node->text + sizeof prefix - 1;
    if (strncmp(node->text, prefix, sizeof prefix - 1) != 0 || path[0] == '/' || path[0] == '\0')
        return read_text(slot, node, target);
    *address =
        arena_format(slot->reader->arena, "%s%s", prefix, reader_path(slot->reader, slot->source, path));
    return true;
}

/* These keys of the file are read elsewhere. */
static bool read_nothing(const struct slot *slot, const struct node *node, void *target)
{
    (void)slot;
    (void)node;
    (void)target;
    return true;
}

static const struct key table[] = {
    {"store", read_store, offsetof(struct job_settings, store), 0, 0, NULL, 0},
    {"namespace", read_name, offsetof(struct job_settings, namespace), 0, 0, NULL, 0},
    {"socket", read_path, offsetof(struct job_settings, socket), 0, 0, NULL, 0},
    {"log_directory", read_path, offsetof(struct job_settings, log_directory), 0, 0, NULL, 0},
    {"metrics_file", read_path, offsetof(struct job_settings, metrics_file), 0, 0, NULL, 0},
    {"metrics_every", read_duration, offsetof(struct job_settings, metrics_every), HORA_SECONDS(1), LONGEST,
     NULL, 0},
    {"metrics_listen", read_address, offsetof(struct job_settings, metrics_listen), 0, 0, NULL, 0},
    {"max_running", read_int, offsetof(struct job_settings, max_running), 1, 100000, NULL, 0},
    {"keep_history", read_duration, offsetof(struct job_settings, keep_history), SHORTEST, LONGEST, NULL, 0},
    {"stop_within", read_duration, offsetof(struct job_settings, stop_within), SHORTEST, LONGEST, NULL, 0},
    {"zone", read_nothing, 0, 0, 0, NULL, 0},
    {"dst", read_nothing, 0, 0, 0, NULL, 0},
    {"defaults", read_nothing, 0, 0, 0, NULL, 0},
    {"groups", read_nothing, 0, 0, 0, NULL, 0},
    {"calendars", read_nothing, 0, 0, 0, NULL, 0},
    {"include", read_nothing, 0, 0, 0, NULL, 0},
    {"jobs", read_nothing, 0, 0, 0, NULL, 0},
};
enum { SETTING_COUNT = 10 }; /* the first of the table */

void read_settings(struct reader *reader, const struct source *source)
{
    const struct node *root = source->root;
    if (!reader->setting_places)
        reader->setting_places =
            arena_alloc(&reader->scratch, SETTING_COUNT * sizeof *reader->setting_places);
    for (size_t i = 0; i < root->count; i++) {
        const struct node *name = root->keys[i];
        if (strncmp(name->text, "x-", 2) == 0)
            continue; /* the user keeps anchors there */
        const struct key *key = schema_find(reader, table, KEY_COUNT(table), name);
        if (!key || key >= table + SETTING_COUNT)
            continue;
        struct place *first = &reader->setting_places[key - table];
        struct slot slot = {reader, source, key};
        if (first->file)
            report_problem(&reader->report, &name->place, "%s is already in %s:%d", key->name, first->file,
                           first->line);
        else
            (void)key->read(&slot, root->items[i], (char *)&reader->jobs->settings + key->offset);
        *first = name->place;
    }
}

/* ---- groups ---- */

static void read_group(struct reader *reader, const struct source *source, const struct node *name,
                       const struct node *node)
{
    static const struct key limit = {"limit", read_int, offsetof(struct job_group, limit), 1, 100000,
                                     NULL,    0};
    struct jobs *jobs = reader->jobs;
    struct job_group *group = arena_alloc(reader->arena, sizeof *group);
    struct slot slot = {reader, source, &limit};
    group->name = arena_text(reader->arena, name->text, strlen(name->text));
    group->place = name->place;
    group->limit = 1;
    if (node->kind != NODE_MAPPING)
        (void)read_int(&slot, node, &group->limit);
    else if (schema_read(&slot, &limit, 1, node, group) && !node_get(node, "limit"))
        report_problem(&reader->report, &node->place, "the group %s has no limit",
                       report_quote(&reader->report, name->text));
    for (size_t i = 0; i < jobs->group_count; i++)
        if (strcmp(jobs->groups[i]->name, group->name) == 0)
            report_problem(&reader->report, &name->place, "the group %s is already in %s:%d",
                           report_quote(&reader->report, group->name), jobs->groups[i]->place.file,
                           jobs->groups[i]->place.line);
    *arena_add(reader->arena, jobs->groups, jobs->group_count) = group;
}

void read_groups(struct reader *reader, const struct source *source)
{
    schema_read_named(reader, source, "groups", "a mapping of names and limits", MOST_GROUPS, read_group);
}
