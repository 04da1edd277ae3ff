/* SPDX-License-Identifier: Apache-2.0 */
/* test_cgroup.c - cgroups of runs, where the machine permits them */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "started.h"

enum { MB = 1024 * 1024 };

static struct job_limits limits = {-1, -1, -1, -1, -1, -1, 0, 0, 0};
static struct started started;

/* Makes a cgroup. Prints why the test is skipped if that is not possible here. */
static int make(const char *name)
{
    char reason[REASON_SIZE] = "";
    int cgroup = cgroup_make(name, &limits, reason, sizeof reason);
    if (cgroup < 0) {
        CHECK(reason[0] != '\0');
        printf("SKIPPED: cgroups: %s\n", reason);
    }
    return cgroup;
}

TEST_REAL(names_of_cgroups_are_checked, "")
{
    static const char *const names[] = {"", ".", "..", "a/b", "/a", ".a", "hora-runner"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char reason[REASON_SIZE] = "";
        CHECK_INT(cgroup_make(names[i], &limits, reason, sizeof reason), -1);
        CHECK_FOUND(reason, "cannot be the name of a cgroup");
    }
}

/* Processes that left the session and the group of their run are killed with the cgroup. */
TEST_REAL(a_cgroup_contains_all_processes_of_a_run, "")
{
    char name[64], reason[REASON_SIZE];
    (void)snprintf(name, sizeof name, "hora-test-%d", (int)getpid());
    int cgroup = make(name);
    if (cgroup < 0)
        return;
    CHECK_INT(cgroup_make(name, &limits, reason, sizeof reason), -1); /* it exists */
    CHECK_FOUND(reason, "File exists");
    struct process_spec spec =
        spec_of(ARGV("/bin/sh", "-c", "grep ^0 /proc/self/cgroup; exec \"$0\" scatter 3", TEST_CHILD));
    spec.cgroup = cgroup;
    CHECK(start(&started, spec, false));
    CHECK(await_readable(started.process.fd));
    int before = count_descriptors();
    cgroup_remove(cgroup, name);
    CHECK_INT(count_descriptors(), before - 1);
    read_output(&started, OUTPUT_MOST); /* ends when all have been killed */
    await_end(&started);
    CHECK_FOUND(started.text, name);
    cgroup = make(name); /* the old one is gone */
    CHECK(cgroup >= 0);
    cgroup_remove(cgroup, name);
}

TEST_REAL(limits_of_a_cgroup_hold, "")
{
    char name[64];
    (void)snprintf(name, sizeof name, "hora-test-limits-%d", (int)getpid());
    limits.cgroup_memory = 32 * MB;
    limits.cgroup_processes = 10;
    limits.cgroup_cpu = 0.5;
    int cgroup = make(name);
    limits.cgroup_memory = limits.cgroup_processes = 0;
    limits.cgroup_cpu = 0;
    if (cgroup < 0)
        return;
    struct process_spec spec = spec_of(ARGV(TEST_CHILD, "memory", "256"));
    spec.cgroup = cgroup;
    (void)run_to_end(&started, spec);
    CHECK(!started.end.exited || started.end.code != 0);
    cgroup_remove(cgroup, name);
}
