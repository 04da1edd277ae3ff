/* SPDX-License-Identifier: Apache-2.0 */
/* recorder.c - records every function entry and exit of the instrumented library
 *
 * tools/trace-path compiles the library with -finstrument-functions, so that each function calls the two
 * hooks below. They append to one array. The index comes from one atomic counter, so the array is in an order
 * that all threads agree on: what a thread does after another thread has woken it comes after the wake-up. */
#define _GNU_SOURCE
#include "recorder.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_EVENTS = 1 << 20 };

struct event {
    void *function;
    int thread;
    bool is_entry;
};

static struct event events[MAX_EVENTS];
static atomic_int event_count;
static atomic_bool is_recording;
static _Thread_local int thread_id;

void recorder_set(bool is_on)
{
    atomic_store(&is_recording, is_on);
}

static void append(void *function, bool is_entry)
{
    if (!atomic_load(&is_recording))
        return;
    if (thread_id == 0)
        thread_id = (int)syscall(SYS_gettid);
    int index = atomic_fetch_add(&event_count, 1);
    if (index < MAX_EVENTS)
        events[index] = (struct event){function, thread_id, is_entry};
}

void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_enter(void *function, void *call_site)
{
    (void)call_site;
    append(function, true);
}

void __cyg_profile_func_exit(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site)
{
    (void)call_site;
    append(function, false);
}

bool recorder_write(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s.txt", folder, name);
    int count = atomic_exchange(&event_count, 0);
    FILE *file = count <= MAX_EVENTS ? fopen(path, "w") : NULL;
    if (!file) {
        fprintf(stderr, "cannot write %s (%d events)\n", path, count);
        return false;
    }
    for (int i = 0; i < count; i++)
        fprintf(file, "%d %d %p\n", events[i].thread, events[i].is_entry, events[i].function);
    return fclose(file) == 0;
}
