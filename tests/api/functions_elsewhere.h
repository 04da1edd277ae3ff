/* SPDX-License-Identifier: Apache-2.0 */
/* functions_elsewhere.h - functions that declare themselves in another file than the one that scans */
#ifndef HORA_TESTS_API_FUNCTIONS_ELSEWHERE_H
#define HORA_TESTS_API_FUNCTIONS_ELSEWHERE_H

#include <stdatomic.h>

extern atomic_int elsewhere_runs;

#endif
