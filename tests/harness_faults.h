/* SPDX-License-Identifier: Apache-2.0 */
/* harness_faults.h - the planted faults of base/fault.h: their names, and the tests that find them */
#ifndef HORA_TESTS_HARNESS_FAULTS_H
#define HORA_TESTS_HARNESS_FAULTS_H

#include <stdbool.h>

#include "base/fault.h"

/* Returns the name of a fault, without the prefix of its constant. */
const char *fault_name(enum hora__fault fault);

/* Returns the fault of this name. Ends the program if there is none. */
enum hora__fault fault_called(const char *name);

/* Returns true if the fault is a wrong memory order, which only schedules with weak memory can find. */
bool fault_is_of_order(enum hora__fault fault);

/* Returns the name of the test to try first, for a fault that few tests find; NULL: any. */
const char *fault_shown_by(enum hora__fault fault);

#endif
