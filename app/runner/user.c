/* SPDX-License-Identifier: Apache-2.0 */
/* user.c - the numbers, groups and home of a user, from the user database
 *
 * A user or group may also be given by its number. A number that the database does not know is permitted, as
 * containers often have such users, but then the group must be given, and home is "/". */
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "runner/process.h"

enum { ENTRY_SIZE = 64 * 1024, GROUPS_MOST = NGROUPS_MAX };

/* What the database says of a user. Texts are in `texts`. */
struct user {
    struct passwd entry;
    char texts[ENTRY_SIZE];
};

/* Reads a text of digits. UINT32_MAX means "no change" in system calls, so it is no number. */
static bool read_number(const char *text, uint32_t *ret_number)
{
    char *end;
    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (*end != '\0' || errno != 0 || number >= UINT32_MAX)
        return false;
    *ret_number = (uint32_t)number;
    return true;
}

/* Looks for a user by name, then by number. Returns 1, 0 if there is none, or a negative errno. */
static int look_up_user(const char *name, struct user *user)
{
    struct passwd *found = NULL;
    uint32_t number;
    int error = getpwnam_r(name, &user->entry, user->texts, sizeof user->texts, &found);
    if (found == NULL && read_number(name, &number))
        error = getpwuid_r(number, &user->entry, user->texts, sizeof user->texts, &found);
    if (found != NULL)
        return 1;
    /* The manual lists several errors that mean "not found". */
    return error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM ? 0 : -error;
}

/* Finds a group by name, then by number. */
static bool find_group(const char *name, gid_t *ret_group)
{
    struct group entry, *found = NULL;
    char *texts = memory(ENTRY_SIZE);
    (void)getgrnam_r(name, &entry, texts, ENTRY_SIZE, &found);
    if (found != NULL)
        *ret_group = entry.gr_gid;
    free(texts);
    return found != NULL || read_number(name, ret_group);
}

/* Lists the groups of a user, with `group` among them. Returns NULL if a process cannot have so many. */
static gid_t *list_groups(const char *name, gid_t group, size_t *ret_count)
{
    int count = 16;
    for (;;) {
        int room = count;
        gid_t *groups = memory((size_t)room * sizeof *groups);
        if (getgrouplist(name, group, groups, &count) >= 0) {
            *ret_count = (size_t)count;
            return groups;
        }
        free(groups);
        if (room >= GROUPS_MOST)
            return NULL;
        count = count > room ? count : 2 * room;
    }
}

static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(memory(size), text, size);
}

/* Finds the numbers of a user and its group. Without an entry in the database, pw_name is NULL. */
static int find_numbers(const char *name, const char *group_name, struct user *user, char *reason,
                        size_t reason_size)
{
    int found = look_up_user(name, user);
    uint32_t number = 0;
    if (found < 0) {
        (void)snprintf(reason, reason_size, "cannot look up user %s: %s", name, strerror(-found));
        return -1;
    }
    if (found == 0 && !read_number(name, &number)) {
        (void)snprintf(reason, reason_size, "there is no user %s", name);
        return -1;
    }
    if (found == 0 && group_name == NULL) {
        (void)snprintf(reason, reason_size, "user %s is not in the user database, so its group must be given",
                       name);
        return -1;
    }
    if (found == 0)
        user->entry = (struct passwd){.pw_name = NULL, .pw_uid = number};
    if (group_name != NULL && !find_group(group_name, &user->entry.pw_gid)) {
        (void)snprintf(reason, reason_size, "there is no group %s", group_name);
        return -1;
    }
    return 0;
}

/* Lists the groups of a user that find_numbers has found. */
static int find_groups(const struct user *user, gid_t **ret_groups, size_t *ret_count, char *reason,
                       size_t reason_size)
{
    const struct passwd *entry = &user->entry;
    if (entry->pw_name == NULL) {
        *ret_groups = memory(sizeof **ret_groups);
        (*ret_groups)[0] = entry->pw_gid;
        *ret_count = 1;
        return 0;
    }
    gid_t *groups = list_groups(entry->pw_name, entry->pw_gid, ret_count);
    if (groups == NULL) {
        (void)snprintf(reason, reason_size, "user %s is in more groups than a process can have",
                       entry->pw_name);
        return -1;
    }
    *ret_groups = groups;
    return 0;
}

int process_find_user(const char *user_name, const char *group_name, uid_t *ret_user, gid_t *ret_group,
                      gid_t **ret_groups, size_t *ret_group_count, char **ret_home, char *reason,
                      size_t reason_size)
{
    struct user *user = memory(sizeof *user);
    int result = find_numbers(user_name, group_name, user, reason, reason_size);
    if (result == 0)
        result = find_groups(user, ret_groups, ret_group_count, reason, reason_size);
    if (result == 0) {
        *ret_user = user->entry.pw_uid;
        *ret_group = user->entry.pw_gid;
        *ret_home = copy_text(user->entry.pw_name != NULL ? user->entry.pw_dir : "/");
    }
    free(user);
    return result;
}
