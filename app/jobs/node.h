/* SPDX-License-Identifier: Apache-2.0 */
/* node.h - a YAML file as a tree of nodes that know their place */
#ifndef APP_NODE_H
#define APP_NODE_H

#include <stdbool.h>
#include <stddef.h>

#include "jobs/arena.h"
#include "jobs/job.h"
#include "jobs/report.h"

enum node_kind { NODE_SCALAR, NODE_LIST, NODE_MAPPING };

struct node {
    enum node_kind kind;
    struct place place;
    /* SCALAR: a text without NUL bytes. Its type is up to the reader */
    char *text;
    bool plain;   /* written without quotes */
    bool literal; /* byte i of the text stands at column text_column + i of its line */
    int text_column;
    /* LIST and MAPPING: the elements; MAPPING: keys[i] belongs to items[i], and each key text occurs once */
    struct node **items;
    struct node **keys;
    size_t count;
    bool is_complete; /* for node.c: an alias may refer to it */
    size_t weight;    /* number of nodes below and with this one, with aliases expanded */
};

/* Parses a YAML text. Returns the root, or NULL: the text is empty, or there are problems, which are reported.
 * The nodes are in the arena, their texts in another, so that jobs can point to them without copies. An alias
 * yields the same node as its anchor; there are no circles. */
struct node *node_parse(struct arena *arena, struct arena *texts, struct report *report, const char *file,
                        const char *text, size_t size);

/* Returns the value of a key of a mapping, or NULL. */
const struct node *node_get(const struct node *mapping, const char *key);

/* Returns true for a plain null or ~. */
bool node_is_null(const struct node *node);

#endif
