/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c - a weight-balanced tree; the subtree sizes that balance it also give ranks
 *
 * How it works      The weight of a subtree is its size plus one. After an insertion or removal the tree
 *                   checks each subtree on the path up to the root. If a subtree has become too heavy
 *                   compared with its sibling, a rotation moves a part of it over; two rotations do if the
 *                   inner half is the heavy one. With the factors 3 and 2 this restores the balance after
 *                   any insertion and removal (Hirai and Yamamoto, "Balancing weight-balanced trees",
 *                   2011).
 *
 * Invariants        I1 the nodes are in order, and parents and children point to each other.
 *                   I2 a node's size is one more than the sizes of its subtrees together.
 *                   I3 of two siblings neither weighs more than HEAVY times the other, so the height is
 *                   O(log n).
 *                   I4 first is the leftmost node. */
#include "base/tree.h"

#include <assert.h>

#include "base/build.h"

/* HEAVY: a subtree that weighs more than this many times its sibling is too heavy. DOUBLE: if the inner half
 * of it weighs at least this many times the outer half, two rotations are needed. */
enum { HEAVY = 3, DOUBLE = 2, LEFT = 0, RIGHT = 1 };

/* Returns the weight of a subtree, its size plus one; NULL is an empty subtree. Never 0, so that HEAVY and
 * DOUBLE work for empty subtrees, too. */
static int64_t weight(const struct hora__tree_node *node)
{
    return node == NULL ? 1 : (int64_t)node->size + 1;
}

static void update_size(struct hora__tree_node *node)
{
    node->size = (int)(weight(node->child[LEFT]) + weight(node->child[RIGHT]) - 1); /* I2 */
}

/* Returns which child of its parent a node is. The node must have a parent. */
static int side_of(const struct hora__tree_node *node)
{
    assert(node->parent != NULL);
    return node->parent->child[RIGHT] == node ? RIGHT : LEFT;
}

/* Returns the pointer of the tree or of the parent that points to this node. */
static struct hora__tree_node **link_to(struct hora__tree *tree, const struct hora__tree_node *node)
{
    return node->parent == NULL ? &tree->root : &node->parent->child[side_of(node)];
}

/* Makes `child`, which may be NULL, the child of `parent` on this side, and links both ways. */
static void adopt(struct hora__tree_node *parent, int side, struct hora__tree_node *child)
{
    parent->child[side] = child;
    if (child != NULL)
        child->parent = parent;
}

/* Moves the node down to `side` and its child of the other side up into its position. The order of the nodes
 * does not change. Restores I2 for both. Returns the child that moved up. */
static struct hora__tree_node *rotate(struct hora__tree *tree, struct hora__tree_node *node, int side)
{
    assert(node->child[!side] != NULL);
    struct hora__tree_node *up = node->child[!side];
    *link_to(tree, node) = up;
    up->parent = node->parent;
    adopt(node, !side, up->child[side]);
    adopt(up, side, node);
    update_size(node);
    update_size(up);
    return up;
}

/* Restores I3 at this node. Returns the node that is now at its position. */
static struct hora__tree_node *balance(struct hora__tree *tree, struct hora__tree_node *node)
{
    int64_t left = weight(node->child[LEFT]);
    int64_t right = weight(node->child[RIGHT]);
    if (left <= HEAVY * right && right <= HEAVY * left)
        return node;
    int light = left < right ? LEFT : RIGHT;
    struct hora__tree_node *heavy = node->child[!light];
    assert(heavy != NULL);
    /* The single rotation below moves the inner half over. If that half is the heavy one, split it first. */
    if (weight(heavy->child[light]) >= DOUBLE * weight(heavy->child[!light]))
        (void)rotate(tree, heavy, !light);
    return rotate(tree, node, light);
}

/* Restores I2 and I3 from this node up to the root, after an insertion or removal below it. */
static void rebalance(struct hora__tree *tree, struct hora__tree_node *node)
{
    while (node != NULL) {
        HORA__TOUCH(1);
        update_size(node);
        node = balance(tree, node)->parent;
    }
}

/* Inserts the node as a leaf, then restores the balance from its parent up to the root. */
void hora__tree_insert(struct hora__tree *tree, struct hora__tree_node *node)
{
    assert(node->size == 0);
    struct hora__tree_node *parent = NULL;
    struct hora__tree_node **link = &tree->root;
    bool is_first = true;
    while (*link != NULL) {
        HORA__TOUCH(1);
        parent = *link;
        bool is_after = hora__tree_is_before(parent, node->major, node->minor);
        /* I1: keys are unique */
        assert(is_after || hora__tree_is_before(node, parent->major, parent->minor));
        is_first = is_first && !is_after;
        link = &parent->child[is_after];
    }
    *link = node;
    node->child[LEFT] = NULL;
    node->child[RIGHT] = NULL;
    node->parent = parent;
    node->size = 1;
    if (is_first)
        tree->first = node; /* I4 */
    rebalance(tree, parent);
}

/* The shape of the tree does not change, so no rebalancing is necessary. */
void hora__tree_replace(struct hora__tree *tree, struct hora__tree_node *old, struct hora__tree_node *node)
{
    assert(node->size == 0 && old->size > 0);
    *node = *old;
    *link_to(tree, old) = node;
    adopt(node, LEFT, old->child[LEFT]);
    adopt(node, RIGHT, old->child[RIGHT]);
    if (tree->first == old)
        tree->first = node;
    old->size = 0;
}

/* Removes a node that has at most one child, which takes its position, and rebalances the path above it. */
static void unlink_node(struct hora__tree *tree, struct hora__tree_node *node)
{
    assert(node->child[LEFT] == NULL || node->child[RIGHT] == NULL);
    struct hora__tree_node *child = node->child[node->child[LEFT] == NULL];
    *link_to(tree, node) = child;
    if (child != NULL)
        child->parent = node->parent;
    node->size = 0;
    rebalance(tree, node->parent);
}

void hora__tree_remove(struct hora__tree *tree, struct hora__tree_node *node)
{
    assert(node->size > 0);
    struct hora__tree_node *next = hora__tree_next(node);
    if (tree->first == node)
        tree->first = next;
    if (node->child[LEFT] == NULL || node->child[RIGHT] == NULL) {
        unlink_node(tree, node);
        return;
    }
    /* The next node has no left child. It leaves its own position and takes that of the removed node. */
    int64_t major = next->major;
    uint64_t minor = next->minor;
    unlink_node(tree, next);
    hora__tree_replace(tree, node, next);
    next->major = major;
    next->minor = minor;
}

/* Goes down from the root. `found` is the last node passed that is not before the position. */
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

/* The next node is the leftmost of the right subtree or, without one, the first ancestor of which the node is
 * in the left subtree. Costs O(1) on average over a walk through the tree. */
struct hora__tree_node *hora__tree_next(const struct hora__tree_node *node)
{
    assert(node->size > 0);
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

/* Goes down from the root. Each time the path goes right, the left subtree and the node itself are before the
 * position; together these are the weight of the left subtree. */
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

/* Returns true if I1 to I3 hold for one node. */
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
