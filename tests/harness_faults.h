/* SPDX-License-Identifier: Apache-2.0 */
/* harness_faults.h - the names of the faults of base/fault.h, for harness_sim.c */
#ifndef HORA_TESTS_HARNESS_FAULTS_H
#define HORA_TESTS_HARNESS_FAULTS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

static const char *fault_name(enum hora__fault fault)
{
    static const char *const names[] = {[HORA__FAULT_NONE] = "NONE",
#define FAULT_NAME(name, text) [HORA__FAULT_##name] = #name,
                                        HORA__FAULT_LIST(FAULT_NAME)
#undef FAULT_NAME
    };
    return names[fault];
}

static enum hora__fault fault_called(const char *name)
{
    for (int fault = 0; fault < HORA__FAULT_COUNT; fault++)
        if (name != NULL && strcmp(fault_name((enum hora__fault)fault), name) == 0)
            return (enum hora__fault)fault;
    fprintf(stderr, "--fault needs a name from src/base/fault.h\n");
    exit(2);
}

#endif
