/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory_tree.c - the sorted tree of the store in memory, compared with a sorted array */
#include "harness.h"

#include <stdlib.h>

#include "memory_tree.h"

enum { ELEMENTS = 500 };

typedef struct element {
    hora__memory_tree_node node;
    int value;
    bool inside;
} element;

static element elements[ELEMENTS]; /* value = 2 * index */

static const element *element_of(const hora__memory_tree_node *node)
{
    return (const element *)(const void *)node;
}

static int compare(const hora__memory_tree_node *a, const hora__memory_tree_node *b)
{
    return element_of(a)->value - element_of(b)->value;
}

/* The first element inside with at least this value; NULL: none. */
static const element *expected_from(int value)
{
    for (int i = 0; i < ELEMENTS; i++) {
        if (elements[i].inside && elements[i].value >= value)
            return &elements[i];
    }
    return NULL;
}

static void check_searches(const hora__tree *tree, int value)
{
    const element probe = {.value = value};
    CHECK_POINTER(hora__memory_tree_from(tree, &probe.node), expected_from(value));
    CHECK_POINTER(hora__memory_tree_after(tree, &probe.node), expected_from(value + 1));
}

/* Checks order and heap, and returns the number of nodes. */
static int check_shape(const hora__memory_tree_node *node, int *depth)
{
    if (node == NULL)
        return 0;
    int left = *depth + 1, right = *depth + 1;
    if (node->left != NULL)
        CHECK(node->left->weight <= node->weight && compare(node->left, node) < 0);
    if (node->right != NULL)
        CHECK(node->right->weight <= node->weight && compare(node, node->right) < 0);
    int count = 1 + check_shape(node->left, &left) + check_shape(node->right, &right);
    *depth = left > right ? left : right;
    return count;
}

TEST_REAL(memory_tree_equals_a_sorted_array, "")
{
    hora__tree tree = {NULL, compare};
    int count = 0;
    for (int i = 0; i < ELEMENTS; i++)
        elements[i] = (element){.value = 2 * i};
    for (int step = 0; step < 4000; step++) {
        int at = (int)test_random(ELEMENTS);
        element *chosen = &elements[at];
        if (chosen->inside)
            hora__memory_tree_remove(&tree, &chosen->node);
        else
            hora__memory_tree_insert(&tree, &chosen->node, (uint64_t)at);
        chosen->inside = !chosen->inside;
        count += chosen->inside ? 1 : -1;
        check_searches(&tree, (int)test_random(2 * ELEMENTS + 2) - 1);
        if (step % 100 == 0) {
            int depth = 0;
            CHECK_INT(check_shape(tree.root, &depth), count);
        }
    }
}

TEST_REAL(memory_tree_is_shallow_whatever_the_order, "")
{
    for (int backwards = 0; backwards < 2; backwards++) {
        hora__tree tree = {NULL, compare};
        for (int i = 0; i < ELEMENTS; i++) {
            int at = backwards ? ELEMENTS - 1 - i : i;
            elements[at] = (element){.value = 2 * at};
            hora__memory_tree_insert(&tree, &elements[at].node, (uint64_t)at);
        }
        int depth = 0;
        CHECK_INT(check_shape(tree.root, &depth), ELEMENTS);
        CHECK(depth <= 40); /* 9 is the least, 500 a list */
    }
}

TEST_REAL(memory_tree_empty, "")
{
    hora__tree tree = {NULL, compare};
    const element probe = {.value = 1};
    CHECK_POINTER(hora__memory_tree_from(&tree, &probe.node), NULL);
    CHECK_POINTER(hora__memory_tree_after(&tree, &probe.node), NULL);
}
