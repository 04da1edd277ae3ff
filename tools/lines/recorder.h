/* SPDX-License-Identifier: Apache-2.0 */
/* recorder.h - records how cache lines move between the threads of a program
 *
 * The library is compiled with -fsanitize=thread, so that the compiler inserts a call before each access to
 * memory. recorder.c defines these calls in place of ThreadSanitizer's runtime. */
#ifndef HORA_LINES_RECORDER_H
#define HORA_LINES_RECORDER_H

#include <stdbool.h>

/* Starts or stops the recording, in all threads. */
void recorder_set(bool on);

/* Prints a row for each place in the code from which a thread has moved a cache line, and one for the line
 * that was moved most often, with the last place that moved it:
 *
 *     place ADDRESS WRITE_MOVES READ_MOVES
 *     line ADDRESS MOVES
 *
 * ADDRESS is the place in the code. A write moves a line if another thread has used it since the writer's own
 * last use. A read moves it if another thread has written to it since. */
void recorder_print(void);

#endif
