/* SPDX-License-Identifier: Apache-2.0 */
/* systemd.c - systemd's calendar expressions, from the library that "systemd-analyze calendar" and timer
 * units share
 *
 * That library is private to systemd, so the program finds it by its file name and its functions by their
 * symbols. The zone is that of the process: with a zone in the expression, systemd would start a process for
 * every call. */
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../measure.h"
#include "cron.h"

#define USEC UINT64_C(1000000)

const int cron_column = 3;

/* The functions of the library. */
static int (*spec_from_string)(const char *text, void **ret_spec);
static int (*spec_next_usec)(const void *spec, uint64_t usec, uint64_t *ret_next);
static void *(*spec_free)(void *spec);

/* Returns a handle of the library; NULL: not found. */
static void *find_library(void)
{
    static const char *const patterns[] = {"/usr/lib/*/systemd/libsystemd-shared-*.so",
                                           "/usr/lib/systemd/libsystemd-shared-*.so",
                                           "/lib/systemd/libsystemd-shared-*.so"};
    void *library = NULL;
    for (int i = 0; i < 3 && library == NULL; i++) {
        glob_t found;
        if (glob(patterns[i], 0, NULL, &found) == 0 && found.gl_pathc > 0)
            library = dlopen(found.gl_pathv[0], RTLD_NOW);
        globfree(&found);
    }
    return library;
}

void cron_open(void)
{
    void *library = find_library();
    if (library != NULL) {
        *(void **)&spec_from_string = dlsym(library, "calendar_spec_from_string");
        *(void **)&spec_next_usec = dlsym(library, "calendar_spec_next_usec");
        *(void **)&spec_free = dlsym(library, "calendar_spec_free");
    }
    if (spec_from_string == NULL || spec_next_usec == NULL || spec_free == NULL)
        exit(77); /* the library is not installed, or its functions have other names */
}

void cron_zone(const char *name)
{
    char text[128];
    snprintf(text, sizeof text, ":%s", name);
    MUST(setenv("TZ", text, 1) == 0);
    tzset();
}

void *cron_parse(const char *text)
{
    void *spec = NULL;
    return spec_from_string(text, &spec) >= 0 ? spec : NULL;
}

void cron_free(void *expression)
{
    spec_free(expression);
}

int64_t cron_next(const void *expression, int64_t after)
{
    uint64_t next = 0;
    return spec_next_usec(expression, (uint64_t)after * USEC, &next) >= 0 ? (int64_t)(next / USEC) : 0;
}
