/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h - what every fuzz_*.c defines
 *
 * Built by the preset fuzz, it is a program of libFuzzer. Everywhere else replay.c calls it with the files of
 * corpus/NAME, which is an ordinary test. It aborts if something is wrong with what it was given. */
#ifndef HORA_TESTS_FUZZ_H
#define HORA_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
