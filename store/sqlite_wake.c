/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_wake.c - a store in SQLite: tell nodes of new tasks
 *
 * Within a process, a pipe wakes the node, and the store knows the earliest due time of the changes. Other
 * processes learn of a change by inotify: after the commit, the writer sets the times of the database file,
 * and nodes watch its attributes. Neither commits of nodes nor checkpoints do that, so a node is woken only
 * by changes that it should hear of. It then compares hora_meta.changes with what it saw at its latest
 * exchange that has looked for new firings, so that it does not wake up twice for a change of its own process.
 *
 * On systems without inotify, and on file systems that do not report attributes, nodes notice changes of
 * other processes when they look at everything, which is about once a second. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/epoll.h>
#include <sys/inotify.h>
#endif

#include "reason.h"
#include "sqlite.h"
#include "units.h"

/* A node learns of later firings in time by itself: it claims at most half of the longest lease ahead, and
 * looks at everything more often than that. */
#define NEAR_US (INT64_C(30) * 1000000)

#if defined(__linux__)

/* Makes one descriptor of pipe and inotify. Without it, the pipe alone is used. */
static void watch(hora__sqlite *store)
{
    int watching = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    int both = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    if (watching >= 0 && both >= 0 && inotify_add_watch(watching, store->path, IN_ATTRIB) >= 0 &&
        epoll_ctl(both, EPOLL_CTL_ADD, watching, &event) == 0 &&
        epoll_ctl(both, EPOLL_CTL_ADD, store->wake_pipe[0], &event) == 0) {
        store->wake_watch = watching;
        store->wake_fd = both;
        return;
    }
    if (watching >= 0)
        close(watching);
    if (both >= 0)
        close(both);
}

#else

static void watch(hora__sqlite *store)
{
    (void)store;
}

#endif

int hora__sqlite_wake_open(hora__sqlite *store, hora_error *reason)
{
    store->wake_due = HORA__NEVER;
    store->wake_watch = -1;
    if (pipe(store->wake_pipe) != 0) {
        store->wake_pipe[0] = store->wake_pipe[1] = -1;
        return hora__store_refuse(reason, HORA_EMFILE, NULL, "too many open files");
    }
    for (int i = 0; i < 2; i++) {
        fcntl(store->wake_pipe[i], F_SETFD, FD_CLOEXEC);
        fcntl(store->wake_pipe[i], F_SETFL, O_NONBLOCK);
    }
    store->wake_fd = store->wake_pipe[0];
    watch(store);
    return 0;
}

void hora__sqlite_wake_close(hora__sqlite *store)
{
    if (store->wake_fd != store->wake_pipe[0])
        close(store->wake_fd);
    if (store->wake_watch >= 0)
        close(store->wake_watch);
    for (int i = 0; i < 2; i++)
        if (store->wake_pipe[i] >= 0)
            close(store->wake_pipe[i]);
}

void hora__sqlite_wake_nodes(hora__sqlite *store, int64_t due)
{
    if (due > hora__sum(hora__sqlite_now(store), NEAR_US))
        return;
    pthread_mutex_lock(&store->wake_lock);
    if (due < store->wake_due)
        store->wake_due = due;
    /* The pipe is empty, so the byte fits. */
    if (!store->is_signalled)
        store->is_signalled = write(store->wake_pipe[1], "", 1) == 1;
    pthread_mutex_unlock(&store->wake_lock);
    /* If it fails, other processes notice the change within a second. */
    (void)utimensat(AT_FDCWD, store->path, NULL, 0);
}

int hora__sqlite_wake(hora__backend *backend, hora_error *reason)
{
    (void)reason;
    hora__sqlite_wake_nodes((hora__sqlite *)backend, INT64_MIN);
    return 0;
}

int hora__sqlite_wake_fd(hora__backend *backend)
{
    return ((hora__sqlite *)backend)->wake_fd;
}

/* Whether another process has changed something since the latest exchange that has looked for it. */
static bool has_changed(hora__sqlite *store)
{
    hora__connection *connection = &store->node;
    hora_error ignored;
    if (hora__sqlite_start(connection, &ignored) < 0)
        return true;
    int64_t changes = hora__sqlite_number(connection, hora__sqlite_use(connection, HORA__SQL_CHANGES), -1);
    return changes != store->seen_changes;
}

int64_t hora__sqlite_wake_drain(hora__backend *backend)
{
    hora__sqlite *store = (hora__sqlite *)backend;
    char bytes[4096];
    bool watched = false;
    while (store->wake_watch >= 0 && read(store->wake_watch, bytes, sizeof bytes) > 0)
        watched = true;
    pthread_mutex_lock(&store->wake_lock);
    int64_t due = store->wake_due;
    store->wake_due = HORA__NEVER;
    if (store->is_signalled)
        store->is_signalled = read(store->wake_pipe[0], bytes, 1) != 1;
    pthread_mutex_unlock(&store->wake_lock);
    /* A change of this process is in `due`, and also touches the file. */
    return due == HORA__NEVER && watched && has_changed(store) ? INT64_MIN : due;
}
