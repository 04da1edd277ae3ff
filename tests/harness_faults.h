/* SPDX-License-Identifier: Apache-2.0 */
/* harness_faults.h - what the harness knows of the faults of base/fault.h */
#ifndef HORA_TESTS_HARNESS_FAULTS_H
#define HORA_TESTS_HARNESS_FAULTS_H

#include <stdbool.h>

#include "base/fault.h"

const char *fault_name(enum hora__fault fault);

/* Ends the program if there is none of this name. */
enum hora__fault fault_called(const char *name);

/* Whether it shows with weak memory only. */
bool fault_is_of_order(enum hora__fault fault);

/* The test to try first, for a fault that few tests show; NULL: any. */
const char *fault_shown_by(enum hora__fault fault);

#endif
