/* SPDX-License-Identifier: Apache-2.0 */
/* run_sort.h - the entries of a group of runs in the order in which they leave */
#ifndef HORA_BASE_RUN_SORT_H
#define HORA_BASE_RUN_SORT_H

#include "base/runs.h"

enum { HORA__SORTED_AT_ONCE = HORA__GROUP_LENGTH * HORA__RUN_LENGTH };

/* Sort the entries of a group, all of whose runs but the last are full, by (due, sequence), with the help of memory for keys. */
void hora__group_sort(struct hora__run *first, uint64_t keys[2][HORA__SORTED_AT_ONCE]);

#endif
