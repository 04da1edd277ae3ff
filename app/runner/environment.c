/* SPDX-License-Identifier: Apache-2.0 */
/* environment.c - the environment of a process, built before it is started
 *
 * It is built for each process, so it is built fast: nothing that was inherited is copied, and the arrays grow
 * by doubling.
 *
 * Invariants    1. `texts` has room for count + 1 pointers, and texts[count] is NULL.
 *               2. No name occurs twice.
 *               3. A text that was replaced stays in `own` until the end. */
#include "runner/environment.h"

#include <assert.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "text.h"

/* What a clean environment takes from that of the runner. */
static const char *const basic[] = {"PATH", "HOME", "SHELL", "USER", "LOGNAME", "LANG"};

/* What only concerns the runner: how it talks to systemd. */
static const char *const private[] = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID",
                                      "LISTEN_FDS",    "LISTEN_PID",    "LISTEN_FDNAMES"};

/* PATH for a clean environment if the runner has none: that of Debian for a login of root. */
static const char standard_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

enum { FIRST_ROOM = 32 };

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Returns true if a text is "NAME=..." of one of the names. */
static bool is_one_of(const char *text, size_t name_length, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == name_length && memcmp(names[i], text, name_length) == 0)
            return true;
    return false;
}

/* Returns the index of a variable; the count if there is none. */
static size_t find(const struct environment *environment, const char *name, size_t name_length)
{
    for (size_t i = 0; i < environment->count; i++) {
        const char *text = environment->texts[i];
        assert(text != NULL);
        if (text[0] == name[0] && strncmp(text, name, name_length) == 0 && text[name_length] == '=')
            return i;
    }
    return environment->count;
}

/* Makes room for one more pointer. */
static void grow(char ***array, size_t count, size_t *room)
{
    if (count < *room)
        return;
    size_t larger = *room == 0 ? FIRST_ROOM : 2 * *room;
    char **texts = memory(larger * sizeof *texts);
    if (count > 0)
        memcpy(texts, *array, count * sizeof *texts);
    free(*array);
    *array = texts;
    *room = larger;
}

/* Puts "NAME=value" in. */
static void put(struct environment *environment, char *text, size_t name_length)
{
    size_t i = find(environment, text, name_length);
    if (i < environment->count) {
        environment->texts[i] = text;
        return;
    }
    grow(&environment->texts, environment->count + 1, &environment->room);
    environment->texts[environment->count++] = text;
    environment->texts[environment->count] = NULL;
}

void environment_set(struct environment *environment, const char *name, const char *value)
{
    char *text = text_format("%s=%s", name, value);
    grow(&environment->own, environment->own_count, &environment->own_room);
    environment->own[environment->own_count++] = text;
    put(environment, text, strlen(name));
}

/* Takes over the variables of the runner. An entry without "=" is no variable. */
static void inherit(struct environment *environment, bool clean)
{
    for (char **from = environ; from != NULL && *from != NULL; from++) {
        size_t name_length = strcspn(*from, "=");
        if ((*from)[name_length] != '=' || is_one_of(*from, name_length, private, COUNT(private)) ||
            (clean && !is_one_of(*from, name_length, basic, COUNT(basic))))
            continue;
        put(environment, *from, name_length);
    }
}

static void set_if_missing(struct environment *environment, const char *name, const char *value)
{
    if (find(environment, name, strlen(name)) == environment->count)
        environment_set(environment, name, value);
}

/* Fills in what a runner lacks that was not started by a login: from the user database. */
static void complete(struct environment *environment)
{
    enum { ENTRY_SIZE = 16 * 1024 };
    struct passwd entry, *found = NULL;
    char *texts = memory(ENTRY_SIZE);
    if (getpwuid_r(getuid(), &entry, texts, ENTRY_SIZE, &found) == 0 && found != NULL) {
        set_if_missing(environment, "HOME", entry.pw_dir);
        set_if_missing(environment, "SHELL", entry.pw_shell);
        set_if_missing(environment, "USER", entry.pw_name);
        set_if_missing(environment, "LOGNAME", entry.pw_name);
    }
    free(texts);
    set_if_missing(environment, "PATH", standard_path);
}

void environment_start(struct environment *environment, bool clean, const char *user, const char *home,
                       const char *shell)
{
    *environment = (struct environment){.texts = NULL};
    grow(&environment->texts, 0, &environment->room);
    environment->texts[0] = NULL;
    inherit(environment, clean);
    if (user != NULL) {
        environment_set(environment, "USER", user);
        environment_set(environment, "LOGNAME", user);
        environment_set(environment, "HOME", home != NULL ? home : "/");
        environment_set(environment, "SHELL", shell != NULL ? shell : "/bin/sh");
    }
    if (clean)
        complete(environment);
}

void environment_free(struct environment *environment)
{
    for (size_t i = 0; i < environment->own_count; i++)
        free(environment->own[i]);
    free(environment->own);
    free(environment->texts);
    *environment = (struct environment){.texts = NULL};
}
