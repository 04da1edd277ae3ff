/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.h - the kinds of queue that a scenario is run on, each made small */
#ifndef HORA_TESTS_SIM_KINDS_H
#define HORA_TESTS_SIM_KINDS_H

#include "harness.h"

enum kind { ARRAY, LINKED, FAIR, UNFAIR, PRIORITY, DELAY, KINDS };

/* Elements are pointers to these; a priority queue orders them detached. */
extern int kinds_values[8];

/* A queue with room for one element (synchronous: none; priority and delay: any number). */
int kinds_new(enum kind kind, const hora_clock *clock, void (*drop)(void *item), hora_queue **ret_queue);

#endif
