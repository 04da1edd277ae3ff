/* SPDX-License-Identifier: Apache-2.0 */
/* test_environment.c - environments of processes */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "runner/environment.h"
#include "started.h"

static const char *get(const struct environment *environment, const char *name)
{
    const char *value = NULL;
    size_t length = strlen(name);
    for (size_t i = 0; i < environment->count; i++) {
        if (strncmp(environment->texts[i], name, length) == 0 && environment->texts[i][length] == '=') {
            CHECK(value == NULL); /* no name occurs twice */
            value = environment->texts[i] + length + 1;
        }
    }
    CHECK(environment->texts[environment->count] == NULL);
    return value;
}

/* Runs a test with this environment instead of its own. */
static void begin(struct environment *environment, char **variables, bool clean, const char *user)
{
    char **own = environ;
    environ = variables;
    environment_start(environment, clean, user, user != NULL ? "/home/x" : NULL,
                      user != NULL ? "/bin/x" : NULL);
    environ = own;
}

static char path[] = "PATH=/a:/b", home[] = "HOME=/home/runner", lang[] = "LANG=C", other[] = "OTHER=a=b",
            notify[] = "NOTIFY_SOCKET=/run/x", listen_fds[] = "LISTEN_FDS=3", watch[] = "WATCHDOG_USEC=1",
            twice[] = "OTHER=second", odd[] = "without", similar[] = "LISTEN_FDS_X=1", empty[] = "EMPTY=";
static char *all[] = {path, home, lang, other, notify, listen_fds, watch, twice, odd, similar, empty, NULL};

TEST_REAL(an_environment_is_inherited, "")
{
    struct environment environment;
    begin(&environment, all, false, NULL);
    CHECK_TEXT(get(&environment, "PATH"), "/a:/b");
    CHECK_TEXT(get(&environment, "HOME"), "/home/runner");
    CHECK_TEXT(get(&environment, "OTHER"), "second");
    CHECK_TEXT(get(&environment, "LISTEN_FDS_X"), "1");
    CHECK_TEXT(get(&environment, "EMPTY"), "");
    CHECK(get(&environment, "NOTIFY_SOCKET") == NULL);
    CHECK(get(&environment, "LISTEN_FDS") == NULL);
    CHECK(get(&environment, "WATCHDOG_USEC") == NULL);
    CHECK_INT(environment.count, 6);
    environment_free(&environment);
    CHECK(environment.texts == NULL && environment.count == 0);
}

TEST_REAL(a_clean_environment_has_the_basic_variables, "")
{
    struct environment environment;
    char *none[] = {NULL};
    begin(&environment, all, true, NULL);
    CHECK_TEXT(get(&environment, "PATH"), "/a:/b");
    CHECK_TEXT(get(&environment, "HOME"), "/home/runner");
    CHECK_TEXT(get(&environment, "LANG"), "C");
    CHECK(get(&environment, "OTHER") == NULL);
    environment_free(&environment);
    begin(&environment, none, true, NULL); /* a runner that nothing was given */
    CHECK(get(&environment, "LANG") == NULL);
    CHECK_FOUND(get(&environment, "PATH"), "/usr/bin");
    if (getuid() == 0) {
        CHECK_TEXT(get(&environment, "HOME"), "/root");
        CHECK_TEXT(get(&environment, "USER"), "root");
        CHECK_TEXT(get(&environment, "LOGNAME"), "root");
        CHECK(get(&environment, "SHELL") != NULL);
    }
    environment_free(&environment);
}

TEST_REAL(the_variables_of_another_user_replace_those_of_the_runner, "")
{
    for (int clean = 0; clean < 2; clean++) {
        struct environment environment;
        begin(&environment, all, clean == 1, "x");
        CHECK_TEXT(get(&environment, "HOME"), "/home/x");
        CHECK_TEXT(get(&environment, "SHELL"), "/bin/x");
        CHECK_TEXT(get(&environment, "USER"), "x");
        CHECK_TEXT(get(&environment, "LOGNAME"), "x");
        CHECK_TEXT(get(&environment, "PATH"), "/a:/b");
        environment_free(&environment);
    }
}

TEST_REAL(variables_are_added_and_replaced, "")
{
    struct environment environment;
    char name[32], value[32];
    char *none[] = {NULL};
    begin(&environment, none, false, NULL);
    CHECK_INT(environment.count, 0);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 300; i++) {
            (void)snprintf(name, sizeof name, "N%d", i);
            (void)snprintf(value, sizeof value, "%d-%d", round, i);
            environment_set(&environment, name, value);
        }
    }
    CHECK_INT(environment.count, 300);
    CHECK_TEXT(get(&environment, "N0"), "1-0");
    CHECK_TEXT(get(&environment, "N299"), "1-299");
    CHECK_TEXT(get(&environment, "N29"), "1-29");
    environment_set(&environment, "N", "a=b\nc");
    CHECK_TEXT(get(&environment, "N"), "a=b\nc");
    CHECK_INT(environment.count, 301);
    environment_free(&environment);
}
