/* SPDX-License-Identifier: Apache-2.0 */
/* node.c - a YAML file as a tree of nodes that know their place
 *
 * libyaml delivers events; this file builds the tree, resolves aliases and merge keys (<<), and refuses what
 * job files do not need: tags, several documents, keys that are not texts. Invariants:
 *
 *   I1  A node is entered as an anchor before its elements are parsed, but can be used as an alias only when it
 *       is complete. So the tree has no circles.
 *   I2  The sum of the weights of all nodes and aliases is at most MOST_NODES. A reader that visits each
 *       element of each node, aliases included, therefore ends soon, whatever the file says.
 *   I3  The depth is at most MOST_DEPTH; this bounds the recursion. */
#include "jobs/node.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "command.h"
#include "text.h"

enum { MOST_NODES = 1000000, MOST_DEPTH = 50, MOST_ANCHORS = 1000 };

struct anchor {
    const char *name;
    struct node *node;
};

struct tree {
    yaml_parser_t parser;
    struct arena *arena, *texts;
    struct report *report;
    const char *file, *text;
    size_t size;
    struct anchor *anchors;
    size_t anchor_count;
    size_t weight;
};

static struct node *parse_node(struct tree *tree, const yaml_event_t *event, int depth);

static struct place place_of(const struct tree *tree, const yaml_mark_t *mark)
{
    return (struct place){tree->file, (int)mark->line + 1, (int)mark->column + 1};
}

/* Returns the place of a byte of the text. Columns count characters. */
static struct place place_of_byte(const struct tree *tree, size_t offset)
{
    struct place place = {tree->file, 1, 1};
    for (size_t i = 0; i < offset && i < tree->size; i++) {
        if (tree->text[i] == '\n') {
            place.line++;
            place.column = 1;
        } else if (((unsigned char)tree->text[i] & 0xc0) != 0x80) {
            place.column++;
        }
    }
    return place;
}

/* Returns the byte at a mark, or 0 at the end of the text. */
static char byte_at(const struct tree *tree, const yaml_mark_t *mark)
{
    size_t at = 0;
    for (size_t line = 0; line < mark->line && at < tree->size; at++)
        line += tree->text[at] == '\n';
    for (size_t column = 0; at < tree->size && tree->text[at] != '\n'; at++) {
        bool is_start = ((unsigned char)tree->text[at] & 0xc0) != 0x80;
        if (is_start && column++ == mark->column)
            return tree->text[at];
    }
    return '\0';
}

/* Reports what libyaml says about a text that is not YAML. */
static void report_syntax(struct tree *tree)
{
    const yaml_parser_t *parser = &tree->parser;
    const char *problem = parser->problem ? parser->problem : "error";
    if (parser->error == YAML_MEMORY_ERROR)
        out_of_memory();
    if (parser->error == YAML_READER_ERROR) {
        struct place place = place_of_byte(tree, parser->problem_offset);
        report_problem(tree->report, &place, "not valid YAML: %s", problem);
        return;
    }
    struct place place = place_of(tree, &parser->problem_mark);
    if (byte_at(tree, &parser->problem_mark) == '\t')
        report_problem(tree->report, &place, "not valid YAML: a tab cannot indent a line; use spaces");
    else if (parser->context && parser->context_mark.line != parser->problem_mark.line)
        report_problem(tree->report, &place, "not valid YAML: %s, %s from line %zu on", problem,
                       parser->context, parser->context_mark.line + 1);
    else
        report_problem(tree->report, &place, "not valid YAML: %s", problem);
}

/* Gets the next event; the caller deletes it. Returns false after reporting a problem. */
static bool next_event(struct tree *tree, yaml_event_t *ret_event)
{
    if (yaml_parser_parse(&tree->parser, ret_event))
        return true;
    report_syntax(tree);
    return false;
}

/* Counts nodes (I2). Returns false after reporting a problem. */
static bool count_nodes(struct tree *tree, size_t weight, const struct place *place)
{
    tree->weight += weight;
    if (tree->weight <= MOST_NODES)
        return true;
    return report_problem(tree->report, place, "the file has more than %d values, aliases included",
                          MOST_NODES);
}

static struct node *new_node(struct tree *tree, enum node_kind kind, const yaml_event_t *event,
                             const yaml_char_t *tag, const yaml_char_t *anchor)
{
    struct place place = place_of(tree, &event->start_mark);
    if (tag) {
        static const char standard[] = "tag:yaml.org,2002:";
        const char *name = (const char *)tag;
        bool is_standard = strncmp(name, standard, sizeof standard - 1) == 0;
        if (is_standard)
            name = arena_format(tree->arena, "!!%s", name + sizeof standard - 1);
        report_problem(tree->report, &place, "tags such as %s are not supported",
                       report_quote(tree->report, name));
        return NULL;
    }
    if (!count_nodes(tree, 1, &place))
        return NULL;
    struct node *node = arena_alloc(tree->arena, sizeof *node);
    node->kind = kind;
    node->place = place;
    node->weight = 1;
    if (anchor && tree->anchor_count == MOST_ANCHORS) {
        report_problem(tree->report, &place, "more than %d anchors", MOST_ANCHORS);
        return NULL;
    }
    if (anchor) {
        size_t length = strlen((const char *)anchor);
        *arena_add(tree->arena, tree->anchors, tree->anchor_count) =
            (struct anchor){arena_text(tree->arena, (const char *)anchor, length), node};
    }
    return node;
}

/* From now on aliases may refer to the node (I1). */
static struct node *complete(struct node *node)
{
    node->is_complete = true;
    return node;
}

static struct node *parse_alias(struct tree *tree, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    struct place place = place_of(tree, &event->start_mark);
    for (size_t i = tree->anchor_count; i > 0; i--) { /* the latest anchor of that name */
        const struct anchor *anchor = &tree->anchors[i - 1];
        if (strcmp(anchor->name, name) != 0)
            continue;
        if (anchor->node->is_complete)
            return count_nodes(tree, anchor->node->weight, &place) ? anchor->node : NULL;
        report_problem(tree->report, &place, "%s contains itself", report_quote(tree->report, name));
        return NULL;
    }
    report_problem(tree->report, &place, "there is no anchor %s before this",
                   report_quote(tree->report, name));
    return NULL;
}

static struct node *parse_scalar(struct tree *tree, const yaml_event_t *event)
{
    struct node *node = new_node(tree, NODE_SCALAR, event, event->data.scalar.tag, event->data.scalar.anchor);
    if (!node)
        return NULL;
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    if (memchr(text, '\0', length)) {
        report_problem(tree->report, &node->place, "the text has a NUL character");
        return NULL;
    }
    node->text = arena_text(tree->texts, text, length);
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    size_t quotes = node->plain ? 0 : 2;
    size_t width = event->end_mark.column - event->start_mark.column;
    node->literal = event->start_mark.line == event->end_mark.line && width == length + quotes;
    node->text_column = node->place.column + (int)quotes / 2;
    return complete(node);
}

static struct node *parse_list(struct tree *tree, const yaml_event_t *event, int depth)
{
    struct node *node =
        new_node(tree, NODE_LIST, event, event->data.sequence_start.tag, event->data.sequence_start.anchor);
    yaml_event_t item;
    while (node && next_event(tree, &item)) {
        bool is_end = item.type == YAML_SEQUENCE_END_EVENT;
        struct node *element = is_end ? NULL : parse_node(tree, &item, depth + 1);
        yaml_event_delete(&item);
        if (is_end)
            return complete(node);
        if (!element)
            return NULL;
        *arena_add(tree->arena, node->items, node->count) = element;
        node->weight += element->weight;
    }
    return NULL;
}

/* ---- mappings ---- */

/* A key with its value, on the way into a mapping. Keys of the mapping itself have rank 0; those that merge
 * keys bring have the number of the merge key or of its list element. */
struct entry {
    struct node *key, *value;
    size_t rank;
    size_t order; /* position in the mapping */
};

struct entries {
    struct entry *entries;
    size_t count;
    size_t merges;
};

static void add_entry(struct tree *tree, struct entries *entries, struct node *key, struct node *value,
                      size_t rank)
{
    struct entry entry = {key, value, rank, entries->count};
    *arena_add(tree->arena, entries->entries, entries->count) = entry;
}

static int by_text(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = strcmp(a->key->text, b->key->text);
    if (order == 0)
        order = (a->rank > b->rank) - (a->rank < b->rank);
    return order != 0 ? order : (a->order > b->order) - (a->order < b->order);
}

static int by_order(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    return (a->order > b->order) - (a->order < b->order);
}

/* Adds the keys of a mapping that a merge key names. */
static bool merge(struct tree *tree, struct entries *entries, const struct node *key, const struct node *from)
{
    if (from->kind == NODE_LIST) {
        for (size_t i = 0; i < from->count; i++)
            if (from->items[i]->kind == NODE_LIST || !merge(tree, entries, key, from->items[i]))
                return report_problem(tree->report, &key->place, "<< needs mappings");
        return true;
    }
    if (from->kind != NODE_MAPPING)
        return report_problem(tree->report, &key->place, "<< needs a mapping or a list of mappings");
    entries->merges++;
    for (size_t i = 0; i < from->count; i++)
        add_entry(tree, entries, from->keys[i], from->items[i], entries->merges);
    return true;
}

/* Puts the entries into the mapping, each key once: the first of the lowest rank. Reports keys that the mapping
 * itself has twice. */
static void fill_mapping(struct tree *tree, struct node *node, struct entries *entries)
{
    size_t kept = 0;
    if (entries->count > 0)
        qsort(entries->entries, entries->count, sizeof *entries->entries, by_text);
    for (size_t i = 0; i < entries->count; i++) {
        const struct entry *entry = &entries->entries[i];
        const struct entry *first = kept > 0 ? &entries->entries[kept - 1] : NULL;
        if (!first || strcmp(first->key->text, entry->key->text) != 0)
            entries->entries[kept++] = *entry;
        else if (entry->rank == 0)
            report_problem(tree->report, &entry->key->place, "the key %s is already in line %d",
                           report_quote(tree->report, entry->key->text), first->key->place.line);
    }
    if (kept > 0)
        qsort(entries->entries, kept, sizeof *entries->entries, by_order);
    node->keys = arena_alloc(tree->arena, kept * sizeof *node->keys);
    node->items = arena_alloc(tree->arena, kept * sizeof *node->items);
    node->count = kept;
    for (size_t i = 0; i < kept; i++) {
        node->keys[i] = entries->entries[i].key;
        node->items[i] = entries->entries[i].value;
        node->weight += node->items[i]->weight + 1;
    }
}

/* Parses a key and its value. Returns false after reporting a problem. */
static bool parse_entry(struct tree *tree, struct entries *entries, const yaml_event_t *event, int depth)
{
    struct node *key = parse_node(tree, event, depth + 1);
    if (!key)
        return false;
    yaml_event_t next;
    if (!next_event(tree, &next))
        return false;
    struct node *value = parse_node(tree, &next, depth + 1);
    yaml_event_delete(&next);
    if (!value)
        return false;
    if (key->kind != NODE_SCALAR)
        return report_problem(tree->report, &key->place, "a key must be a text");
    if (key->plain && strcmp(key->text, "<<") == 0)
        return count_nodes(tree, value->weight, &key->place) && merge(tree, entries, key, value);
    add_entry(tree, entries, key, value, 0);
    return true;
}

static struct node *parse_mapping(struct tree *tree, const yaml_event_t *event, int depth)
{
    struct node *node =
        new_node(tree, NODE_MAPPING, event, event->data.mapping_start.tag, event->data.mapping_start.anchor);
    struct entries entries = {0};
    yaml_event_t item;
    while (node && next_event(tree, &item)) {
        bool is_end = item.type == YAML_MAPPING_END_EVENT;
        bool good = is_end || parse_entry(tree, &entries, &item, depth);
        yaml_event_delete(&item);
        if (!good)
            return NULL;
        if (is_end) {
            fill_mapping(tree, node, &entries);
            return complete(node);
        }
    }
    return NULL;
}

/* Parses the node that an event starts. Returns NULL after reporting a problem. */
static struct node *parse_node(struct tree *tree, const yaml_event_t *event, int depth)
{
    if (depth > MOST_DEPTH) {
        struct place place = place_of(tree, &event->start_mark);
        report_problem(tree->report, &place, "more than %d levels of nesting", MOST_DEPTH);
        return NULL;
    }
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return parse_alias(tree, event);
    case YAML_SCALAR_EVENT:
        return parse_scalar(tree, event);
    case YAML_SEQUENCE_START_EVENT:
        return parse_list(tree, event, depth);
    case YAML_MAPPING_START_EVENT:
        return parse_mapping(tree, event, depth);
    default: /* libyaml delivers nothing else here */
        return NULL;
    }
}

/* ---- documents ---- */

/* Parses the only document. */
static struct node *parse_stream(struct tree *tree)
{
    struct node *root = NULL;
    int documents = 0;
    yaml_event_t event;
    while (next_event(tree, &event)) {
        yaml_event_type_t type = event.type;
        struct place place = place_of(tree, &event.start_mark);
        bool good = true;
        if (type == YAML_DOCUMENT_START_EVENT)
            good = ++documents == 1 || report_problem(tree->report, &place,
                                                      "a second document starts here; "
                                                      "a job file has one");
        else if (type != YAML_STREAM_START_EVENT && type != YAML_DOCUMENT_END_EVENT &&
                 type != YAML_STREAM_END_EVENT)
            good = (root = parse_node(tree, &event, 0)) != NULL;
        yaml_event_delete(&event);
        if (!good)
            return NULL;
        if (type == YAML_STREAM_END_EVENT)
            return root;
    }
    return NULL;
}

struct node *node_parse(struct arena *arena, struct arena *texts, struct report *report, const char *file,
                        const char *text, size_t size)
{
    struct tree tree = {
        .arena = arena, .texts = texts, .report = report, .file = file, .text = text, .size = size};
    size_t valid = text_valid_utf8(text, size);
    if (valid < size) {
        struct place place = place_of_byte(&tree, valid);
        report_problem(report, &place, "the byte 0x%02x is not UTF-8", (unsigned char)text[valid]);
        return NULL;
    }
    if (!yaml_parser_initialize(&tree.parser))
        out_of_memory();
    yaml_parser_set_encoding(&tree.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&tree.parser, (const unsigned char *)text, size);
    struct node *root = parse_stream(&tree);
    yaml_parser_delete(&tree.parser);
    return root;
}

const struct node *node_get(const struct node *mapping, const char *key)
{
    for (size_t i = 0; mapping && mapping->kind == NODE_MAPPING && i < mapping->count; i++)
        if (strcmp(mapping->keys[i]->text, key) == 0)
            return mapping->items[i];
    return NULL;
}

bool node_is_null(const struct node *node)
{
    return node->kind == NODE_SCALAR && node->plain &&
           (strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0);
}
