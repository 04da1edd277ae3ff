/* SPDX-License-Identifier: Apache-2.0 */
/* say.h - numbers and times in words, for people */
#ifndef HORA_BASE_SAY_H
#define HORA_BASE_SAY_H

#include <stdint.h>

#include <hora/base.h>

#include "base/text.h"

/* A span of time, with as much of it as people want to know, rounded down: "250 us", "3.2 s", "9 s", "14 min", "5 h 12 min", "3 d 4 h". One that
 * is negative counts as 0. */
void hora__say_duration(struct hora__text *out, hora_ns duration);

/* "1st", "2nd", "11th", "413th"; not negative. */
void hora__say_ordinal(struct hora__text *out, int64_t number);

/* A number and what is counted: "1 task", "412 tasks". */
void hora__say_count(struct hora__text *out, int64_t number, const char *noun);

/* The same without the noun; negative numbers, too. */
void hora__say_number(struct hora__text *out, int64_t number);

#endif
