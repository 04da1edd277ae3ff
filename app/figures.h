/* SPDX-License-Identifier: Apache-2.0 */
/* figures.h - numbers and durations as short texts for people */
#ifndef APP_FIGURES_H
#define APP_FIGURES_H

#include <stddef.h>
#include <stdint.h>

#include <hora/base.h>

enum { FIGURE_TEXT = 32 }; /* size of a buffer for each of the texts below, including the NUL */

/* Writes a duration with at most three digits and a unit: "1.3 ms", "42 us", "12 s"; two units from a minute
 * on: "17 h 5 min". Returns `text`. */
const char *figures_duration(hora_ns time, char *text);

/* Writes a number in groups of three digits: "100,000". Returns `text`. */
const char *figures_count(int64_t number, char *text);

/* The same as texts that are valid until the end of the block. */
#define DURATION(time) figures_duration((time), (char[FIGURE_TEXT]){0})
#define COUNT(number)  figures_count((number), (char[FIGURE_TEXT]){0})

#endif
