/* SPDX-License-Identifier: Apache-2.0 */
/* schema.c - read mappings with tables of keys */
#include "jobs/schema.h"

#include <string.h>

bool schema_refuse(const struct slot *slot, const struct node *node, const char *expected)
{
    struct report *report = &slot->reader->report;
    const char *name = slot->key->name;
    if (node->kind != NODE_SCALAR)
        return report_problem(report, &node->place, "%s must be %s, not a %s", name, expected,
                              node->kind == NODE_LIST ? "list" : "mapping");
    if (node->plain && node->text[0] == '\0')
        return report_problem(report, &node->place, "%s has no value; it must be %s", name, expected);
    return report_problem(report, &node->place, "%s must be %s, not %s", name, expected,
                          report_quote(report, node->text));
}

bool schema_is_scalar(const struct slot *slot, const struct node *node, const char *expected)
{
    bool has_value = node->kind == NODE_SCALAR && node->text[0] != '\0' && !node_is_null(node);
    return has_value || schema_refuse(slot, node, expected);
}

const struct key *schema_find(struct reader *reader, const struct key *table, size_t count,
                              const struct node *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].name, key->text) == 0)
            return &table[i];
    reader_unknown(reader, &key->place, "key", key->text, &table[0].name, count, sizeof table[0]);
    return NULL;
}

bool schema_read(const struct slot *slot, const struct key *table, size_t count, const struct node *node,
                 void *target)
{
    bool good = true;
    for (size_t i = 0; i < node->count; i++) {
        const struct key *key = schema_find(slot->reader, table, count, node->keys[i]);
        struct slot inner = {slot->reader, slot->source, key};
        good = key && key->read(&inner, node->items[i], (char *)target + key->offset) && good;
    }
    return good;
}

bool schema_each(const struct slot *slot, const struct node *node, read_fn read, void *target)
{
    if (node->kind != NODE_LIST)
        return read(slot, node, target);
    bool good = true;
    for (size_t i = 0; i < node->count; i++)
        good = read(slot, node->items[i], target) && good;
    return good;
}

void schema_read_named(struct reader *reader, const struct source *source, const char *key,
                       const char *expected, size_t most,
                       void (*read)(struct reader *reader, const struct source *source,
                                    const struct node *name, const struct node *node))
{
    const struct node *node = node_get(source->root, key);
    struct key named = {.name = key};
    struct slot slot = {reader, source, &named};
    char *name;
    if (node && node->kind != NODE_MAPPING)
        schema_refuse(&slot, node, expected);
    else if (node && node->count > most)
        report_problem(&reader->report, &node->place, "more than %zu %s", most, key);
    for (size_t i = 0; node && node->kind == NODE_MAPPING && node->count <= most && i < node->count; i++)
        if (read_name(&slot, node->keys[i], &name))
            read(reader, source, node->keys[i], node->items[i]);
}
