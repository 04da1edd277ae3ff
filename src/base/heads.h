/* SPDX-License-Identifier: Apache-2.0 */
/* heads.h - which of the runs of a store has the first element; a part of runs.c */
#ifndef HORA_BASE_HEADS_H
#define HORA_BASE_HEADS_H

#include "base/runs.h"

/* There is memory, and no head yet. */
void hora__heads_begin(struct hora__runs *runs);

/* There must be room. */
void hora__heads_add(struct hora__runs *runs, struct hora__head head);

/* The i-th head changes. */
void hora__heads_play(struct hora__runs *runs, int i, struct hora__head head);

/* The i-th goes, and the last takes its place. */
void hora__heads_remove(struct hora__runs *runs, int i);

/* The index of the one that comes first; there must be some. */
static inline int hora__heads_first(const struct hora__runs *runs)
{
    return runs->heads[1].winner;
}

/* Whether all is as the invariants say. */
bool hora__heads_check(const struct hora__runs *runs);

#endif
