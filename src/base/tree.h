/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h - a balanced search tree whose nodes are fields of its members
 *
 * Use               A queue in which a member can be inserted and removed anywhere, and can ask for the
 *                   number of members before it. Each operation costs O(log n) in the worst case and
 *                   allocates nothing.
 * Order             By major, then by minor. No two nodes of a tree are equal in both.
 * Pure              No thread, no clock, no lock, no allocation. */
#ifndef HORA_BASE_TREE_H
#define HORA_BASE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zeroed node is in no tree. */
struct hora__tree_node {
    struct hora__tree_node *child[2]; /* [0]: nodes before it, [1]: nodes after it; NULL: none */
    struct hora__tree_node *parent;   /* NULL: the root */
    /* The caller sets both keys. They must not change while the node is in a tree. */
    int64_t major;
    uint64_t minor;
    int size; /* of its subtree, including itself; 0: in no tree */
};

/* A zeroed tree is empty. A tree may be moved by assignment. */
struct hora__tree {
    struct hora__tree_node *root;  /* NULL: the tree is empty */
    struct hora__tree_node *first; /* the leftmost node; NULL: the tree is empty */
};

/* Returns the struct of type `type` whose field `field` is the node. */
#define HORA__TREE_ENTRY(node, type, field) ((type *)(void *)((char *)(node) - offsetof(type, field)))

static inline bool hora__tree_is_empty(const struct hora__tree *tree)
{
    return tree->root == NULL;
}

static inline int hora__tree_size(const struct hora__tree *tree)
{
    return tree->root == NULL ? 0 : tree->root->size;
}

/* Returns true if the node stands before the position (major, minor), and false if it stands at it or after
 * it. */
static inline bool hora__tree_is_before(const struct hora__tree_node *node, int64_t major, uint64_t minor)
{
    return node->major < major || (node->major == major && node->minor < minor);
}

/* Insert a node that is in no tree, with its keys set; remove a node of this tree, which keeps its keys. */
void hora__tree_insert(struct hora__tree *tree, struct hora__tree_node *node);
void hora__tree_remove(struct hora__tree *tree, struct hora__tree_node *node);

/* Puts `node`, which is in no tree, at the position of `old`, with the same keys. `old` is then in no
 * tree. */
void hora__tree_replace(struct hora__tree *tree, struct hora__tree_node *old, struct hora__tree_node *node);

/* Returns the first node that is not before this position, or NULL. */
struct hora__tree_node *hora__tree_search(const struct hora__tree *tree, int64_t major, uint64_t minor);

/* Returns the next node in order, or NULL. */
struct hora__tree_node *hora__tree_next(const struct hora__tree_node *node);

/* Returns the number of nodes before this position. */
int hora__tree_rank(const struct hora__tree *tree, int64_t major, uint64_t minor);

/* Returns true if all invariants hold. For tests, and for the checks of structures built on trees. Costs
 * O(n log n). */
bool hora__tree_check(const struct hora__tree *tree);

#endif
