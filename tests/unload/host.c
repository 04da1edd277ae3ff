/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - loads a plugin that uses hora, uses it, and unloads it, repeatedly
 *
 *     host load PLUGIN TIMES      the main thread uses the plugin, and a thread that ends after dlclose
 *     host fork PLUGIN TIMES      a child of fork uses the plugin that its parent has used, and unloads it
 *     host exit PLUGIN TIMES      a process ends by exit while threads use the plugin
 *
 * The host itself does not use hora. */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin.h"

static const char *path;

static void fail(const char *what, long number)
{
    (void)fprintf(stderr, "host: %s: %ld\n", what, number);
    exit(1);
}

static void *load(void)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        (void)fprintf(stderr, "host: %s\n", dlerror());
        exit(1);
    }
    return library;
}

static void *function(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL)
        fail(name, 0);
    return found;
}

static void use(void *library)
{
    int (*call)(void);
    *(void **)&call = function(library, "plugin_use");
    int error = call();
    if (error != 0)
        fail("plugin_use", error);
}

/* ---- unloading ---- */

static sem_t has_used;
static sem_t is_unloaded;

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0) {
    }
}

static void *use_and_outlive(void *library)
{
    use(library);
    (void)sem_post(&has_used);
    wait_for(&is_unloaded);
    return NULL;
}

static void load_use_unload(void)
{
    pthread_t thread;
    void *library = load();
    if (pthread_create(&thread, NULL, use_and_outlive, library) != 0)
        fail("pthread_create", 0);
    use(library);
    wait_for(&has_used);
    if (dlclose(library) != 0 || dlopen(path, RTLD_NOW | RTLD_NOLOAD) != NULL)
        fail("the plugin is still loaded", 0);
    (void)sem_post(&is_unloaded);
    (void)pthread_join(thread, NULL);
}

static void await_child(pid_t child, int want)
{
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        fail("fork", child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != want)
        fail("the child's status", status);
}

/* A child of fork has the library, but not the threads that used it. */
static void unload_in_child(void)
{
    void *library = load();
    use(library);
    pid_t child = fork();
    if (child == 0) {
        use(library);
        if (dlclose(library) != 0)
            fail("dlclose", 0);
        load_use_unload();
        _exit(7);
    }
    await_child(child, 7);
    (void)dlclose(library);
    child = fork(); /* without the library, which had asked to be told of it */
    if (child == 0)
        _exit(8);
    await_child(child, 8);
}

static void repeat(void (*test)(void), int times)
{
    (void)sem_init(&has_used, 0, 0);
    (void)sem_init(&is_unloaded, 0, 0);
    for (int i = 0; i < times; i++)
        test();
}

/* ---- exit ---- */

static int start(void *(*run)(void *arg), void *arg)
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, run, arg);
    if (error == 0)
        error = pthread_detach(thread);
    return -error;
}

static void exit_while_busy(void)
{
    int (*keep_busy)(plugin_start_fn start);
    *(void **)&keep_busy = function(load(), "plugin_keep_busy");
    int error = keep_busy(start);
    if (error != 0)
        fail("plugin_keep_busy", error);
    exit(9);
}

static void exit_in_child(void)
{
    pid_t child = fork();
    if (child == 0)
        exit_while_busy();
    await_child(child, 9);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        fail("usage: host load|fork|exit PLUGIN TIMES", 0);
    path = argv[2];
    int times = (int)strtol(argv[3], NULL, 10);
    if (strcmp(argv[1], "load") == 0)
        repeat(load_use_unload, times);
    else if (strcmp(argv[1], "fork") == 0)
        repeat(unload_in_child, times);
    else
        repeat(exit_in_child, times);
    return 0;
}
