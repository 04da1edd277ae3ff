/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h - a balanced search tree whose nodes lie inside its members
 *
 * What it is for    A queue in which each member can stand anywhere, leave from anywhere, and be asked how many are before
 *                   it: each costs O(log n), always, and never memory.
 * Order             By major, then by minor. No two nodes of a tree have both the same.
 * Pure              No thread, no clock, no lock, no allocation. */
#ifndef HORA_BASE_TREE_H
#define HORA_BASE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In no tree when zero. */
struct hora__tree_node {
    struct hora__tree_node *child[2]; /* left: those before it, right: those after it */
    struct hora__tree_node *parent;
    int64_t major; /* set by the caller; neither changes while it is in a tree */
    uint64_t minor;
    int size; /* of its subtree, itself included; 0: in no tree */
};

/* Empty when zero. It may be moved by assignment. */
struct hora__tree {
    struct hora__tree_node *root;
    struct hora__tree_node *first;
};

/* The member of type `type` whose field `field` is the node. */
#define HORA__TREE_ENTRY(node, type, field) ((type *)(void *)((char *)(node) - offsetof(type, field)))

static inline bool hora__tree_is_empty(const struct hora__tree *tree)
{
    return tree->root == NULL;
}

static inline int hora__tree_size(const struct hora__tree *tree)
{
    return tree->root == NULL ? 0 : tree->root->size;
}

static inline bool hora__tree_is_before(const struct hora__tree_node *node, int64_t major, uint64_t minor)
{
    return node->major < major || (node->major == major && node->minor < minor);
}

/* A node that is in no tree comes in; one that is in this tree leaves. */
void hora__tree_insert(struct hora__tree *tree, struct hora__tree_node *node);
void hora__tree_remove(struct hora__tree *tree, struct hora__tree_node *node);

/* One that is in no tree takes the place of one that leaves, and its order. */
void hora__tree_replace(struct hora__tree *tree, struct hora__tree_node *old, struct hora__tree_node *node);

/* The first that is not before this place; NULL: there is none. */
struct hora__tree_node *hora__tree_search(const struct hora__tree *tree, int64_t major, uint64_t minor);

/* The next in order; NULL: it was the last. */
struct hora__tree_node *hora__tree_next(const struct hora__tree_node *node);

/* How many are before this place. */
int hora__tree_rank(const struct hora__tree *tree, int64_t major, uint64_t minor);

/* For tests: whether the invariants hold. */
bool hora__tree_check(const struct hora__tree *tree);

#endif
