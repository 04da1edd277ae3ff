/* SPDX-License-Identifier: Apache-2.0 */
/* test_tree.c - the balanced tree compared with a sorted array, on random histories
 *
 * How it works    Nodes are inserted, removed, and exchanged for one another. Then tree and array must agree
 *                 on the first node, on the order of all, on ranks and on the node at any position, and the
 *                 tree must be sound and balanced. */
#include "base/tree.h"
#include "harness.h"

enum { MOST = 300, HISTORIES = 60, STEPS = 1500 };

static struct hora__tree_node nodes[MOST];
static struct hora__tree tree;
static struct hora__tree_node *model[MOST];
static int model_size;

/* Where a node of this order stands in the model, or would. */
static int place_in_model(int64_t major, uint64_t minor)
{
    int i = 0;
    while (i < model_size &&
           (model[i]->major < major || (model[i]->major == major && model[i]->minor < minor)))
        i++;
    return i;
}

static bool is_taken(int64_t major, uint64_t minor)
{
    int i = place_in_model(major, minor);
    return i < model_size && model[i]->major == major && model[i]->minor == minor;
}

static int64_t random_major(int kind)
{
    static const int64_t ends[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
    return kind == 0   ? ends[test_random(5)]
           : kind == 1 ? (int64_t)test_random(10) - 5
                       : (int64_t)test_random(UINT32_MAX);
}

static void come(struct hora__tree_node *node, int64_t major, uint64_t minor)
{
    if (is_taken(major, minor))
        return;
    node->major = major;
    node->minor = minor;
    int at = place_in_model(major, minor);
    for (int i = model_size++; i > at; i--)
        model[i] = model[i - 1];
    model[at] = node;
    hora__tree_insert(&tree, node);
}

static void leave(struct hora__tree_node *node)
{
    int at = place_in_model(node->major, node->minor);
    CHECK_POINTER(model[at], node);
    hora__tree_remove(&tree, node);
    CHECK_INT(node->size, 0);
    model_size--;
    for (int i = at; i < model_size; i++)
        model[i] = model[i + 1];
}

static void take_place(struct hora__tree_node *node)
{
    if (model_size == 0)
        return;
    int at = (int)test_random((uint32_t)model_size);
    hora__tree_replace(&tree, model[at], node);
    CHECK_INT(model[at]->size, 0);
    model[at] = node;
}

static void check_agreement(int64_t major, uint64_t minor)
{
    CHECK(hora__tree_check(&tree));
    CHECK_INT(hora__tree_size(&tree), model_size);
    CHECK_INT(hora__tree_is_empty(&tree), model_size == 0);
    const struct hora__tree_node *node = tree.first;
    for (int i = 0; i < model_size; i++, node = hora__tree_next(node))
        CHECK_POINTER(node, model[i]);
    CHECK_POINTER(node, NULL);
    int at = place_in_model(major, minor);
    CHECK_INT(hora__tree_rank(&tree, major, minor), at);
    CHECK_POINTER(hora__tree_search(&tree, major, minor), at < model_size ? model[at] : NULL);
}

/* kind: the kind of the orders. In every other history the orders rise, like those of arriving tasks. */
static void history(int kind, bool is_rising)
{
    int count = 1 + (int)test_random(test_random(2) == 0 ? 12 : MOST);
    uint32_t grow = 6;
    tree = (struct hora__tree){NULL, NULL};
    model_size = 0;
    for (int i = 0; i < MOST; i++)
        nodes[i] = (struct hora__tree_node){.size = 0};
    for (int i = 0; i < STEPS; i++) {
        if (i % 100 == 99)
            grow = 2 + test_random(5);
        struct hora__tree_node *node = &nodes[test_random((uint32_t)count)];
        int64_t major = is_rising ? i : random_major(kind);
        uint64_t minor = test_random(20);
        if (node->size > 0 && test_random(8) >= grow)
            leave(test_random(2) == 0 ? tree.first : node);
        else if (node->size == 0 && test_random(8) == 0)
            take_place(node);
        else if (node->size == 0)
            come(node, major, minor);
        check_agreement(random_major(kind), minor);
    }
    while (model_size > 0) {
        leave(model[test_random((uint32_t)model_size)]);
        check_agreement(0, 0);
    }
}

TEST_REAL(tree_agrees_with_sorted_array, "")
{
    for (int i = 0; i < HISTORIES; i++)
        history(i % 3, i % 2 == 0);
}

/* The checker itself notices disorder, sizes that are wrong, and a side that is too heavy. */
TEST_REAL(tree_check_notices_disorder, "")
{
    tree = (struct hora__tree){NULL, NULL};
    for (int i = 0; i < 7; i++) {
        nodes[i] = (struct hora__tree_node){.major = i};
        hora__tree_insert(&tree, &nodes[i]);
    }
    CHECK(hora__tree_check(&tree));
    nodes[3].major = 9;
    CHECK(!hora__tree_check(&tree));
    nodes[3].major = 3;
    nodes[5].size++;
    CHECK(!hora__tree_check(&tree));
    nodes[5].size--;
    tree.first = &nodes[1];
    CHECK(!hora__tree_check(&tree));
    tree.first = &nodes[0];
    CHECK(hora__tree_check(&tree));
    struct hora__tree_node chain[4] = {{.major = 0}, {.major = 1}, {.major = 2}, {.major = 3}};
    for (int i = 0; i < 4; i++) {
        chain[i].size = 4 - i;
        chain[i].child[1] = i < 3 ? &chain[i + 1] : NULL;
        chain[i].parent = i > 0 ? &chain[i - 1] : NULL;
    }
    struct hora__tree list = {&chain[0], &chain[0]};
    CHECK(!hora__tree_check(&list));
}
