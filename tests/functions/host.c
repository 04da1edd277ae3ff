/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - a program with functions that declare themselves, and libraries that it loads
 *
 *     host [plugin.so without_export.so dependent.so]
 *
 * No code refers to the functions. However the program was linked, each of them is found once, and runs. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <hora/hora.h>

#include "plugin.h"

static atomic_int at_once_runs;
static hora_latch *all_ran;

HORA_SCHEDULED_FUNCTION(at_once, .initial_delay_text = "0")
{
    if (atomic_fetch_add(&at_once_runs, 1) == 0)
        (void)hora_latch_count_down(all_ran);
    return 0;
}

HORA_SCHEDULED_FUNCTION(off, .cron = "-")
{
    return 0;
}

void host_other_ran(void)
{
    (void)hora_latch_count_down(all_ran);
}

#define REQUIRE(condition)                                                  \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            return 1;                                                       \
        }                                                                   \
    } while (0)

#ifdef WITHOUT_LIBRARIES /* a static program has no loader */
#define dlopen(path, mode) NULL
#endif

static void *load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        fprintf(stderr, "%s cannot be loaded\n", path);
    return library;
}

/* Finds the functions of the libraries: those of the plugin by its export and by its own scan, and none of
 * the others. */
static int use_libraries(hora_registrar *registrar, void *plugin, void *without_export, void *dependent)
{
    hora_error error;
    REQUIRE(plugin != NULL && without_export != NULL && dependent != NULL);
    REQUIRE(hora_registrar_scan_library(registrar, plugin, &error) == 2);
    REQUIRE(hora_registrar_find(registrar, "plugged") != NULL);
    REQUIRE(hora_registrar_find(registrar, "plugged_too") != NULL);
    REQUIRE(hora_registrar_scan_library(registrar, without_export, &error) == HORA_ENOENT);
    REQUIRE(strcmp(error.message, "scheduled functions: not found") == 0);
    REQUIRE(hora_registrar_scan_library(registrar, dependent, &error) ==
            HORA_ENOENT); /* they are not its own */

    int (*scan)(hora_registrar *registrar);
    void *symbol = dlsym(plugin, "plugin_scan");
    REQUIRE(symbol != NULL);
    memcpy(&scan, &symbol, sizeof scan);
    hora_registrar *other;
    REQUIRE(hora_registrar_new(NULL, &other, NULL) == 0);
    REQUIRE(scan(other) == 2);
    REQUIRE(hora_registrar_find(other, "at_once") == NULL);
    REQUIRE(hora_registrar_free(other) == 0);

    int (*wait)(void);
    symbol = dlsym(plugin, "plugin_wait");
    REQUIRE(symbol != NULL);
    memcpy(&wait, &symbol, sizeof wait);
    REQUIRE(wait() == 0);
    return 0;
}

static int use_program(hora_registrar *registrar)
{
    hora_error error;
    int found = hora_registrar_scan(registrar, &error);
    if (found != 3)
        fprintf(stderr, "found %d: %s\n", found, found < 0 ? error.message : "not 3");
    REQUIRE(found == 3);
    REQUIRE(hora_registrar_find(registrar, "at_once") != NULL);
    REQUIRE(hora_registrar_find(registrar, "off") != NULL);
    REQUIRE(hora_registrar_find(registrar, "elsewhere") != NULL);
    REQUIRE(hora_registrar_bind(registrar, NULL, NULL) == 0);
    REQUIRE(hora_latch_await(all_ran) == 0);
    return 0;
}

int main(int argc, char **argv)
{
    void *libraries[3] = {NULL, NULL, NULL};
    hora_registrar *registrar;
    for (int i = 0; i < 3 && argc > 3; i++)
        libraries[i] = load(argv[i + 1]);
    REQUIRE(hora_latch_new(2, NULL, &all_ran, NULL) == 0);
    REQUIRE(hora_registrar_new(NULL, &registrar, NULL) == 0);
    REQUIRE(use_program(registrar) == 0);
    REQUIRE(argc <= 3 || use_libraries(registrar, libraries[0], libraries[1], libraries[2]) == 0);
    REQUIRE(hora_registrar_free(registrar) == 0); /* before the code of its functions goes */
    REQUIRE(hora_latch_free(all_ran) == 0);
    for (int i = 0; i < 3 && argc > 3; i++)
        REQUIRE(dlclose(libraries[i]) == 0);
    return 0;
}
