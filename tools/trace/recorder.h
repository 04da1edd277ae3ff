/* SPDX-License-Identifier: Apache-2.0 */
/* recorder.h - records every function entry and exit of the instrumented library; see recorder.c */
#ifndef HORA_TRACE_RECORDER_H
#define HORA_TRACE_RECORDER_H

#include <stdbool.h>

/* Starts or stops recording in all threads. */
void recorder_set(bool is_on);

/* Writes what was recorded to FOLDER/NAME.txt and forgets it. One line per event: thread, 1 for entry or 0
 * for exit, address. Recording must be off. Returns false, with a message on standard error, on failure. */
bool recorder_write(const char *folder, const char *name);

#endif
