/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h - the environment of a process, built before it is started */
#ifndef APP_ENVIRONMENT_H
#define APP_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "jobs/job.h"

/* An environment under construction: "NAME=value" texts; the array always ends with NULL. What the runner has
 * inherited is not copied, so the environment of the runner must not change meanwhile. */
struct environment {
    char **texts;
    size_t count, room;
    char **own; /* those of the texts that are freed with it */
    size_t own_count, own_room;
};

/* Starts with the environment of the runner or, if `clean`, with PATH, HOME, SHELL, USER, LOGNAME and LANG
 * only; what the runner lacks of them, except LANG, comes from the user database. With a user other than the
 * runner's, HOME, SHELL, USER and LOGNAME are those of that user. The variables that only concern the runner
 * itself (NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID, LISTEN_FDS, LISTEN_PID, LISTEN_FDNAMES) are never
 * passed on. */
void environment_start(struct environment *environment, bool clean, const char *user, const char *home,
                       const char *shell);
/* Sets a variable; replaces an earlier one. */
void environment_set(struct environment *environment, const char *name, const char *value);
void environment_free(struct environment *environment);

#endif
