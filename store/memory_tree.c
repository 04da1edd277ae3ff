/* SPDX-License-Identifier: Apache-2.0 */
/* memory_tree.c - a sorted tree whose nodes are inside the elements; see memory_tree.h */
#include "memory_tree.h"

#include <assert.h>
#include <stddef.h>

/* The finalizer of splitmix64: numbers that follow one another get weights that do not. */
static uint64_t weight_of(uint64_t number)
{
    number += UINT64_C(0x9e3779b97f4a7c15);
    number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
    return number ^ (number >> 31);
}

/* Splits a tree into the nodes before `node` and those after it. */
static void split(hora__memory_tree_compare compare, hora__memory_tree_node *root,
                  const hora__memory_tree_node *node, hora__memory_tree_node **ret_before,
                  hora__memory_tree_node **ret_after)
{
    while (root != NULL) {
        int order = compare(root, node);
        assert(order != 0);
        if (order < 0) {
            *ret_before = root;
            ret_before = &root->right;
            root = root->right;
        } else {
            *ret_after = root;
            ret_after = &root->left;
            root = root->left;
        }
    }
    *ret_before = NULL;
    *ret_after = NULL;
}

/* Joins two trees; all nodes of the first are before those of the second. */
static hora__memory_tree_node *merge(hora__memory_tree_node *before, hora__memory_tree_node *after)
{
    hora__memory_tree_node *root, **place = &root;
    while (before != NULL && after != NULL) {
        if (before->weight >= after->weight) {
            *place = before;
            place = &before->right;
            before = before->right;
        } else {
            *place = after;
            place = &after->left;
            after = after->left;
        }
    }
    *place = before != NULL ? before : after;
    return root;
}

void hora__memory_tree_insert(hora__tree *tree, hora__memory_tree_node *node, uint64_t number)
{
    node->weight = weight_of(number);
    hora__memory_tree_node **place = &tree->root;
    while (*place != NULL && (*place)->weight >= node->weight)
        place = tree->compare(node, *place) < 0 ? &(*place)->left : &(*place)->right;
    split(tree->compare, *place, node, &node->left, &node->right);
    *place = node;
}

void hora__memory_tree_remove(hora__tree *tree, hora__memory_tree_node *node)
{
    hora__memory_tree_node **place = &tree->root;
    while (*place != node) {
        assert(*place != NULL);
        place = tree->compare(node, *place) < 0 ? &(*place)->left : &(*place)->right;
    }
    *place = merge(node->left, node->right);
    node->left = node->right = NULL;
}

/* The first node whose comparison with `probe` is at least `least`. */
static hora__memory_tree_node *find_first(const hora__tree *tree, const hora__memory_tree_node *probe,
                                          int least)
{
    hora__memory_tree_node *found = NULL, *node = tree->root;
    while (node != NULL) {
        int order = tree->compare(node, probe);
        order = (order > 0) - (order < 0);
        if (order >= least) {
            found = node;
            node = node->left;
        } else {
            node = node->right;
        }
    }
    return found;
}

hora__memory_tree_node *hora__memory_tree_from(const hora__tree *tree, const hora__memory_tree_node *probe)
{
    return find_first(tree, probe, 0);
}

hora__memory_tree_node *hora__memory_tree_after(const hora__tree *tree, const hora__memory_tree_node *probe)
{
    return find_first(tree, probe, 1);
}
