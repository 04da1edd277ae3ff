/* SPDX-License-Identifier: Apache-2.0 */
/* selection.c - see selection.h */
#include "sched/selection.h"
#include <assert.h>
#include <stddef.h>

static bool comes_later(const struct hora__selection *selection, int a, int b)
{
    assert(a >= 0 && a < selection->max && b >= 0 && b < selection->max);
    return selection->is_before(selection->items[b], selection->items[a], selection->context);
}

static void swap(struct hora__selection *selection, int a, int b)
{
    assert(a >= 0 && a < selection->max && b >= 0 && b < selection->max);
    void *item = selection->items[a];
    selection->items[a] = selection->items[b];
    selection->items[b] = item;
}

static void sift_down(struct hora__selection *selection, int at)
{
    assert(at >= 0);
    for (;;) {
        int latest = at;
        for (int child = 2 * at + 1; child <= 2 * at + 2 && child < selection->count; child++)
            if (comes_later(selection, child, latest))
                latest = child;
        if (latest == at)
            return;
        swap(selection, at, latest);
        at = latest;
    }
}

static void sift_up(struct hora__selection *selection, int at)
{
    assert(at < selection->max);
    for (; at > 0 && comes_later(selection, at, (at - 1) / 2); at = (at - 1) / 2)
        swap(selection, at, (at - 1) / 2);
}

void hora__selection_add(struct hora__selection *selection, void *item)
{
    assert(selection->count >= 0 && selection->count <= selection->max && item != NULL);
    if (selection->count < selection->max) {
        selection->items[selection->count] = item;
        sift_up(selection, selection->count++);
    } else if (selection->is_before(item, selection->items[0], selection->context)) {
        selection->items[0] = item;
        sift_down(selection, 0);
    }
}

int hora__selection_sort(struct hora__selection *selection)
{
    assert(selection->max >= 1);
    int count = selection->count;
    while (selection->count > 1) {
        swap(selection, 0, --selection->count);
        sift_down(selection, 0);
    }
    return count;
}
