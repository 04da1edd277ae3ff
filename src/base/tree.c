/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c - a weight-balanced tree: what keeps it balanced, sizes of subtrees, also tells ranks
 *
 * How it works    The weight of a subtree is its size plus one. After a node has come or gone, each subtree on the way up to the
 *                 root is looked at: one that has become too heavy beside its sibling gives something to it by a rotation; by two,
 *                 if its inner half is what makes it heavy. With the factors 3 and 2 that restores the balance after
 *                 any insertion and removal (Hirai and Yamamoto, "Balancing weight-balanced trees", 2011).
 *
 * Invariants      I1 the nodes are in order, and parents and children know each other (hora__tree_check).
 *                 I2 a node's size is one more than the sizes of its subtrees together.
 *                 I3 of two siblings none weighs more than HEAVY times the other: so the height is O(log n).
 *                 I4 first is the leftmost node. */
#include "base/tree.h"

#include <assert.h>

#include "base/touch.h"

enum { HEAVY = 3, DOUBLE = 2, LEFT = 0, RIGHT = 1 };

static int64_t weight(const struct hora__tree_node *node)
{
    return node == NULL ? 1 : (int64_t)node->size + 1;
}

static void measure(struct hora__tree_node *node)
{
    node->size = (int)(weight(node->child[LEFT]) + weight(node->child[RIGHT]) - 1); /* I2 */
}

static int side_of(const struct hora__tree_node *node)
{
    return node->parent->child[RIGHT] == node ? RIGHT : LEFT;
}

/* Where the pointer to this node stands. */
static struct hora__tree_node **place_of(struct hora__tree *tree, const struct hora__tree_node *node)
{
    return node->parent == NULL ? &tree->root : &node->parent->child[side_of(node)];
}

static void adopt(struct hora__tree_node *parent, int side, struct hora__tree_node *child)
{
    parent->child[side] = child;
    if (child != NULL)
        child->parent = parent;
}

/* The node goes down to this side, and its child of the other side comes up into its place. Returns that. */
static struct hora__tree_node *rotate(struct hora__tree *tree, struct hora__tree_node *node, int side)
{
    struct hora__tree_node *up = node->child[!side];
    *place_of(tree, node) = up;
    up->parent = node->parent;
    adopt(node, !side, up->child[side]);
    adopt(up, side, node);
    measure(node);
    measure(up);
    return up;
}

/* Returns what stands in its place then. */
static struct hora__tree_node *balance(struct hora__tree *tree, struct hora__tree_node *node)
{
    int64_t left = weight(node->child[LEFT]);
    int64_t right = weight(node->child[RIGHT]);
    if (left <= HEAVY * right && right <= HEAVY * left)
        return node;
    int light = left < right ? LEFT : RIGHT;
    struct hora__tree_node *heavy = node->child[!light];
    assert(heavy != NULL);
    if (weight(heavy->child[light]) >= DOUBLE * weight(heavy->child[!light]))
        (void)rotate(tree, heavy, !light);
    return rotate(tree, node, light);
}

/* Something has come or gone below this node. */
static void mend(struct hora__tree *tree, struct hora__tree_node *node)
{
    while (node != NULL) {
        HORA__TOUCH(1);
        measure(node);
        node = balance(tree, node)->parent;
    }
}

void hora__tree_insert(struct hora__tree *tree, struct hora__tree_node *node)
{
    assert(node->size == 0);
    struct hora__tree_node *parent = NULL;
    struct hora__tree_node **place = &tree->root;
    bool is_first = true;
    while (*place != NULL) {
        HORA__TOUCH(1);
        parent = *place;
        bool is_after = hora__tree_is_before(parent, node->major, node->minor);
        assert(is_after || hora__tree_is_before(node, parent->major, parent->minor)); /* I1: no two are the same */
        is_first = is_first && !is_after;
        place = &parent->child[is_after];
    }
    *place = node;
    node->child[LEFT] = NULL;
    node->child[RIGHT] = NULL;
    node->parent = parent;
    node->size = 1;
    if (is_first)
        tree->first = node; /* I4 */
    mend(tree, parent);
}

void hora__tree_replace(struct hora__tree *tree, struct hora__tree_node *old, struct hora__tree_node *node)
{
    assert(node->size == 0 && old->size > 0);
    *node = *old;
    *place_of(tree, old) = node;
    adopt(node, LEFT, old->child[LEFT]);
    adopt(node, RIGHT, old->child[RIGHT]);
    if (tree->first == old)
        tree->first = node;
    old->size = 0;
}

/* One that has at most one child leaves. */
static void cut_out(struct hora__tree *tree, struct hora__tree_node *node)
{
    struct hora__tree_node *child = node->child[node->child[LEFT] == NULL];
    *place_of(tree, node) = child;
    if (child != NULL)
        child->parent = node->parent;
    node->size = 0;
    mend(tree, node->parent);
}

void hora__tree_remove(struct hora__tree *tree, struct hora__tree_node *node)
{
    assert(node->size > 0);
    struct hora__tree_node *next = hora__tree_next(node);
    if (tree->first == node)
        tree->first = next;
    if (node->child[LEFT] == NULL || node->child[RIGHT] == NULL) {
        cut_out(tree, node);
        return;
    }
    /* The next has no left child: it leaves its own place, and takes that of the node. */
    int64_t major = next->major;
    uint64_t minor = next->minor;
    cut_out(tree, next);
    hora__tree_replace(tree, node, next);
    next->major = major;
    next->minor = minor;
}

struct hora__tree_node *hora__tree_search(const struct hora__tree *tree, int64_t major, uint64_t minor)
{
    struct hora__tree_node *found = NULL;
    struct hora__tree_node *node = tree->root;
    while (node != NULL) {
        HORA__TOUCH(1);
        bool is_before = hora__tree_is_before(node, major, minor);
        if (!is_before)
            found = node;
        node = node->child[is_before];
    }
    return found;
}

struct hora__tree_node *hora__tree_next(const struct hora__tree_node *node)
{
    HORA__TOUCH(1);
    if (node->child[RIGHT] != NULL) {
        struct hora__tree_node *next = node->child[RIGHT];
        for (; next->child[LEFT] != NULL; next = next->child[LEFT])
            HORA__TOUCH(1);
        return next;
    }
    for (; node->parent != NULL && side_of(node) == RIGHT; node = node->parent)
        HORA__TOUCH(1);
    return node->parent;
}

int hora__tree_rank(const struct hora__tree *tree, int64_t major, uint64_t minor)
{
    int rank = 0;
    const struct hora__tree_node *node = tree->root;
    while (node != NULL) {
        HORA__TOUCH(1);
        bool is_before = hora__tree_is_before(node, major, minor);
        if (is_before)
            rank += (int)weight(node->child[LEFT]);
        node = node->child[is_before];
    }
    return rank;
}

static bool check_node(const struct hora__tree *tree, const struct hora__tree_node *node)
{
    int64_t left = weight(node->child[LEFT]);
    int64_t right = weight(node->child[RIGHT]);
    const struct hora__tree_node *next = hora__tree_next(node);
    if (node->parent == NULL ? tree->root != node : node->parent->child[side_of(node)] != node)
        return false;
    if (next != NULL && !hora__tree_is_before(node, next->major, next->minor))
        return false;
    return node->size == left + right - 1 && left <= HEAVY * right && right <= HEAVY * left; /* I2, I3 */
}

bool hora__tree_check(const struct hora__tree *tree)
{
    int count = 0;
    const struct hora__tree_node *node = tree->root;
    while (node != NULL && node->child[LEFT] != NULL)
        node = node->child[LEFT];
    if (tree->first != node) /* I4 */
        return false;
    for (; node != NULL; node = hora__tree_next(node), count++)
        if (!check_node(tree, node)) /* I1 */
            return false;
    return count == hora__tree_size(tree);
}
