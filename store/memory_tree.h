/* SPDX-License-Identifier: Apache-2.0 */
/* memory_tree.h - a sorted tree whose nodes are inside the elements
 *
 * The tree is a treap: sorted by the comparison, and a heap by `weight`, which is a hash of a number that the
 * caller gives. So the shape depends only on the elements, and the depth is logarithmic in expectation. No
 * call allocates memory. To search, fill the compared fields of an element on the stack. */
#ifndef HORA_STORE_MEMORY_TREE_H
#define HORA_STORE_MEMORY_TREE_H

#include <stdint.h>

typedef struct hora__memory_tree_node {
    struct hora__memory_tree_node *left, *right;
    uint64_t weight;
} hora__memory_tree_node;

/* Negative, 0 or positive, as a is before, equal to or after b. */
typedef int (*hora__memory_tree_compare)(const hora__memory_tree_node *a, const hora__memory_tree_node *b);

typedef struct hora__tree {
    hora__memory_tree_node *root;
    hora__memory_tree_compare compare;
} hora__tree;

/* Inserts a node that has no equal in the tree. `number` decides about its place in the heap; it should
 * differ from those of other nodes. */
void hora__memory_tree_insert(hora__tree *tree, hora__memory_tree_node *node, uint64_t number);

/* Removes a node that is in the tree. */
void hora__memory_tree_remove(hora__tree *tree, hora__memory_tree_node *node);

/* Returns the first node that is equal to or after `probe`, or NULL. */
hora__memory_tree_node *hora__memory_tree_from(const hora__tree *tree, const hora__memory_tree_node *probe);

/* Returns the first node that is after `probe`, or NULL. */
hora__memory_tree_node *hora__memory_tree_after(const hora__tree *tree, const hora__memory_tree_node *probe);

#endif
