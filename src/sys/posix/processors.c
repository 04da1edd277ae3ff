/* SPDX-License-Identifier: Apache-2.0 */
/* processors.c - processors by affinity and by the quota of the control group (version 2, then version 1)
 *
 * Globals           A thread that finds a lock held needs to know at once whether there are several
 *                   processors, so a global stores it. It is written once. */
#include "sys/processors.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/thread.h"

#ifdef __linux__

/* Returns how many processors the calling thread may run on. */
static int by_affinity(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    return (int)sysconf(_SC_NPROCESSORS_ONLN); /* the machine has more processors than the set can name */
}

/* Reads the first bytes of a file as text. Returns false if the file cannot be read or is empty. */
static bool read_text(const char *path, char *text, size_t size)
{
    assert(size > 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, text, size - 1);
    (void)close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/* Returns the processors that a quota of time per period is worth, rounded up; 0: no quota. */
static int processors_of(long long quota, long long period)
{
    if (quota <= 0 || period <= 0)
        return 0;
    return (int)((quota + period - 1) / period);
}

/* Returns the quota of the control group in processors, rounded up; 0: no quota. */
static int by_quota(void)
{
    char text[64];
    char period[64];
    if (read_text("/sys/fs/cgroup/cpu.max", text, sizeof text)) { /* "max 100000" or "150000 100000" */
        char *end;
        long long quota = strtoll(text, &end, 10);
        return end == text ? 0 : processors_of(quota, strtoll(end, NULL, 10));
    }
    if (read_text("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", text, sizeof text) &&
        read_text("/sys/fs/cgroup/cpu/cpu.cfs_period_us", period, sizeof period))
        return processors_of(strtoll(text, NULL, 10), strtoll(period, NULL, 10));
    return 0;
}

int hora__processors(void)
{
    int count = by_affinity();
    int quota = by_quota();
    if (quota > 0 && quota < count)
        count = quota;
    return count > 0 ? count : 1;
}

#else

static int by_affinity(void)
{
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

int hora__processors(void)
{
    int count = by_affinity();
    return count > 0 ? count : 1;
}

#endif

static pthread_once_t several_once = PTHREAD_ONCE_INIT;
static bool several; /* the process may run on more than one processor */

/* Initialises `several`. Ignores the quota: it limits processor time, not how many threads run at once.
 * Reading it would also be a cancellation point, and a thread that waits for a lock must not be cancelled. */
static void find_several(void)
{
    several = by_affinity() > 1;
}

/* pthread_once makes the write of `several` visible to all callers. */
bool hora__pause_helps(void)
{
    (void)pthread_once(&several_once, find_several);
    return several;
}

int hora__processor(void)
{
#ifdef __linux__
    int number = sched_getcpu();
    if (number >= 0)
        return number;
#endif
    return hora__thread_id();
}

/* ---- spinning ---- */

void hora__spin_begin(struct hora__spin *spin, int64_t ns)
{
    assert(ns >= 0);
    spin->looks = 0;
    spin->until = hora__pause_helps() ? hora__now(HORA__MONOTONIC) + ns : INT64_MIN;
}

bool hora__spin_has_time(const struct hora__spin *spin)
{
    return hora__now(HORA__MONOTONIC) < spin->until;
}
