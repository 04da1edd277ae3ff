/* SPDX-License-Identifier: Apache-2.0 */
/* fake.h - a runner that runs nothing, for tests of the server of the control socket
 *
 * A test decides when it answers and when it reports an event, which it cannot with a real runner; see
 * test_server.c. The time is 2026-11-17T12:00:00Z. What a request changes is noted. */
#ifndef HORA_TESTS_CONTROL_FAKE_H
#define HORA_TESTS_CONTROL_FAKE_H

#include "control/server.h"
#include "runner/runner.h"

/* ---- fake_loop.c ---- */

/* Handles what is ready, after waiting for at most `milliseconds` (-1: until something is). Returns true if
 * there was anything. */
bool fake_loop_turn(struct loop *loop, int milliseconds);

/* ---- fake_runner.c ---- */

/* Makes a runner that listens on a path. Returns NULL if it cannot. */
struct runner *fake_runner_new(const char *socket_path, const struct control_limits *limits);
void fake_runner_free(struct runner *runner);
/* The last change that was asked for, such as "pause backup"; "" if there was none. */
const char *fake_runner_last(void);
/* Answers to requests that the runner has kept, because fake_runner_keep(true) was called. */
void fake_runner_keep(bool keep);
void fake_runner_answer(void);
/* Reports a line of output of the run that is in hand. */
void fake_runner_output(struct runner *runner, const char *text);
/* The run that is in hand ends: exits with a status, or is tried again. */
void fake_runner_end(struct runner *runner, int status, bool retry);

#endif
