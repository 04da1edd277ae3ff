/* SPDX-License-Identifier: Apache-2.0 */
/* test_user.c - users are found, and processes run as them */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "started.h"

/* The user that every system has, and that may do nothing. */
#define NOTHING_USER "nobody"

struct found {
    uid_t user;
    gid_t group;
    gid_t *groups;
    size_t group_count;
    char *home;
    char reason[REASON_SIZE];
};

static int find(struct found *found, const char *user, const char *group)
{
    memset(found, 0, sizeof *found);
    return process_find_user(user, group, &found->user, &found->group, &found->groups, &found->group_count,
                             &found->home, found->reason, sizeof found->reason);
}

static void drop(struct found *found)
{
    free(found->groups);
    free(found->home);
}

TEST_REAL(users_are_found_by_name_and_number, "")
{
    struct found found;
    CHECK_INT(find(&found, "root", NULL), 0);
    CHECK_INT(found.user, 0);
    CHECK_INT(found.group, 0);
    CHECK(found.group_count >= 1);
    CHECK_TEXT(found.home, "/root");
    drop(&found);
    CHECK_INT(find(&found, "0", "daemon"), 0);
    CHECK_INT(found.user, 0);
    CHECK_INT(found.group, 1);
    CHECK_TEXT(found.home, "/root");
    drop(&found);
    CHECK_INT(find(&found, "54321", "77"), 0); /* not in the database */
    CHECK_INT(found.user, 54321);
    CHECK_INT(found.group, 77);
    CHECK_INT(found.group_count, 1);
    CHECK_TEXT(found.home, "/");
    drop(&found);
}

TEST_REAL(unknown_users_are_refused, "")
{
    struct found found;
    CHECK_INT(find(&found, "no-such-user", NULL), -1);
    CHECK_TEXT(found.reason, "there is no user no-such-user");
    CHECK_INT(find(&found, "root", "no-such-group"), -1);
    CHECK_TEXT(found.reason, "there is no group no-such-group");
    CHECK_INT(find(&found, "54321", NULL), -1);
    CHECK_TEXT(found.reason, "user 54321 is not in the user database, so its group must be given");
    CHECK_INT(find(&found, "4294967295", "0"), -1); /* -1 means "no change" */
    CHECK_INT(find(&found, "12x", "0"), -1);
    CHECK_INT(find(&found, "", NULL), -1);
    CHECK(found.groups == NULL && found.home == NULL);
}

/* Returns a spec that runs as the user that was found. */
static struct process_spec spec_as(const struct found *found, const char *const *argv)
{
    struct process_spec spec = spec_of(argv);
    spec.set_user = true;
    spec.user = found->user;
    spec.group = found->group;
    spec.groups = found->groups;
    spec.group_count = found->group_count;
    return spec;
}

TEST_REAL(processes_run_as_another_user, "")
{
    static struct started started;
    struct found found;
    char want[256];
    if (geteuid() != 0) {
        printf("SKIPPED: change of user: needs root\n");
        return;
    }
    CHECK_INT(find(&found, NOTHING_USER, "daemon"), 0);
    static const gid_t groups[] = {1, 77, 4321};
    (void)snprintf(want, sizeof want, "users %u %u %u groups 1 1 1: 1 77 4321 leader", found.user, found.user,
                   found.user);
    struct process_spec spec = spec_as(&found, ARGV(TEST_CHILD, "ids"));
    spec.groups = groups;
    spec.group_count = sizeof groups / sizeof groups[0];
    CHECK_FOUND(run_to_end(&started, spec), want);
    CHECK_INT(getuid(), 0); /* the runner is as it was */
    CHECK_INT(geteuid(), 0);

    /* The limits are set with the privileges of the runner, the directory is entered without. */
    struct job_limits limits = {-1, -1, 5000, -1, -1, -1, 0, 0, 0};
    char folder[] = "/tmp/hora-test-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    spec.limits = &limits;
    spec.nice = -5;
    CHECK_FOUND(run_to_end(&started, spec), "users 65534");
    char path[64];
    (void)snprintf(path, sizeof path, "PATH=%s", folder); /* the user may not look into it */
    spec.environment = ARGV(path);
    spec.argv = ARGV("program");
    CHECK(!start(&started, spec, false));
    CHECK_INT(started.error, -ENOENT);
    CHECK_TEXT(started.reason, "program: not found in PATH");
    spec.directory = folder;
    CHECK(!start(&started, spec, false));
    CHECK_INT(started.error, -EACCES);
    (void)snprintf(want, sizeof want, "cannot change to directory %s: Permission denied", folder);
    CHECK_TEXT(started.reason, want);
    CHECK_INT(rmdir(folder), 0);
    drop(&found);
}

/* A change of user undoes the signal for the death of the parent, so that must be asked for afterwards. */
TEST_REAL(a_process_of_another_user_is_killed_with_its_runner, "")
{
    static struct started started;
    if (geteuid() != 0) {
        printf("SKIPPED: processes of another user: needs root\n");
        return;
    }
    CHECK(start(&started,
                spec_of(ARGV(TEST_STARTER, "--user", NOTHING_USER, "/bin/sh", "-c", "echo $$; cat")), true));
    check_killed_with_runner(&started);
}

/* A runner that is not root may name its own user, and no other. */
TEST_REAL(without_privileges_only_the_own_user_can_be_named, "")
{
    static struct started started;
    struct found found;
    char want[64];
    if (geteuid() == 0) {
        /* The same test, without privileges. */
        char own[4096];
        ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
        CHECK(length > 0);
        own[length > 0 ? length : 0] = '\0';
        CHECK_INT(find(&found, NOTHING_USER, NULL), 0);
        struct process_spec spec = spec_as(
            &found, ARGV("/bin/sh", "-c",
                         "test -x \"$0\" || { echo unreachable; exit; }; exec \"$0\" without_*", own));
        const char *text = run_to_end(&started, spec);
        if (strstr(text, "unreachable") != NULL)
            printf("SKIPPED: naming the own user: the build is not readable for other users\n");
        else
            CHECK_FOUND(text, "1 passed, 0 failed");
        drop(&found);
        return;
    }
    (void)snprintf(want, sizeof want, "%u", getuid());
    CHECK_INT(find(&found, want, NULL), 0);
    CHECK_FOUND(run_to_end(&started, spec_as(&found, ARGV(TEST_CHILD, "ids"))), want);
    drop(&found);
    CHECK_INT(find(&found, "root", NULL), 0);
    CHECK(!start(&started, spec_as(&found, ARGV(TEST_CHILD, "ids")), false));
    CHECK_INT(started.error, -EPERM);
    CHECK_TEXT(started.reason, "cannot take the supplementary groups of user 0: Operation not permitted");
    drop(&found);
    struct process_spec spec = spec_of(ARGV("true"));
    spec.nice = -5;
    CHECK(!start(&started, spec, false));
    CHECK_TEXT(started.reason, "cannot change the nice value by -5: Permission denied");
}
