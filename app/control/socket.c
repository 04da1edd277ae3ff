/* SPDX-License-Identifier: Apache-2.0 */
/* socket.c - the control socket as a file: where it is, how to listen on it and how to connect to it
 *
 * A runner that starts must tell a socket that another runner uses from one that a killed runner has left
 * behind, and two runners that start at the same time must not both remove it. So a runner first locks the
 * file PATH.lock (flock), and keeps it locked until it ends: the kernel releases the lock of a process that
 * is killed. Only the holder of the lock removes and creates the socket.
 *
 * INVARIANTS
 *
 *   1. The lock file is removed by the holder of the lock only, after the socket. A process that has locked a
 *      file checks that PATH.lock is still that file, and tries again if it is not.
 *   2. The mode of the socket is 0600 from the moment at which it has a name: Linux takes it from the mode of
 *      the descriptor. */
#include "control/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "text.h"

enum { BACKLOG = 1024, LOCK_TRIES = 100 };

char *control_default_socket(void)
{
    const char *path = getenv("HORA_SOCKET");
    if (path != NULL && *path != '\0')
        return text_copy(path);
    if (geteuid() == 0)
        return text_copy("/run/hora/hora.sock");
    const char *folder = getenv("XDG_RUNTIME_DIR");
    if (folder != NULL && *folder == '/')
        return text_format("%s/hora.sock", folder);
    folder = getenv("HOME");
    if (folder == NULL || *folder != '/') {
        const struct passwd *entry = getpwuid(geteuid());
        folder = entry != NULL && entry->pw_dir != NULL ? entry->pw_dir : "";
    }
    return text_format("%s/.hora/hora.sock", folder);
}

/* Writes the reason of an error. Returns -1. */
__attribute__((format(printf, 2, 3))) static int fail(char reason[SOCKET_REASON], const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(reason, SOCKET_REASON, format, values);
    va_end(values);
    return -1;
}

static bool set_address(const char *path, struct sockaddr_un *ret_address)
{
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof ret_address->sun_path)
        return false;
    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(ret_address->sun_path, path, length + 1);
    return true;
}

int control_connect(const char *path)
{
    struct sockaddr_un address;
    if (!set_address(path, &address))
        return -ENAMETOOLONG;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    while (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        if (errno == EINTR)
            continue;
        int error = errno;
        (void)close(fd);
        return -error;
    }
    return fd;
}

/* Creates the folder of a file, and those above it, as far as they are missing. */
static int make_folder(const char *path, char reason[SOCKET_REASON])
{
    char *folder = text_copy(path);
    int result = 0;
    for (char *slash = strchr(folder + 1, '/'); slash != NULL && result == 0;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0700) < 0 && errno != EEXIST)
            result = fail(reason, "cannot make the folder %s of the socket: %s", folder, strerror(errno));
        *slash = '/';
    }
    free(folder);
    return result;
}

/* Says which process has the lock: it has written its number into the file. */
static int fail_locked(int fd, const char *path, char reason[SOCKET_REASON])
{
    char text[32] = "";
    ssize_t count = pread(fd, text, sizeof text - 1, 0);
    text[count > 0 ? count : 0] = '\0';
    long pid = strtol(text, NULL, 10);
    if (pid > 0)
        return fail(reason, "another runner (pid %ld) uses the socket %s", pid, path);
    return fail(reason, "another runner uses the socket %s", path);
}

/* Returns true if a path is the file of a descriptor. */
static bool is_same_file(int fd, const char *path)
{
    struct stat opened;
    struct stat named;
    return fstat(fd, &opened) == 0 && stat(path, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

/* Locks the lock file of a socket and writes the number of this process into it. */
static int take_lock(struct control_listener *listener, char reason[SOCKET_REASON])
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        int fd = open(listener->lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
            return fail(reason, "cannot open %s: %s", listener->lock_path, strerror(errno));
        int result = flock(fd, LOCK_EX | LOCK_NB);
        if (result < 0)
            result = errno == EWOULDBLOCK
                         ? fail_locked(fd, listener->path, reason)
                         : fail(reason, "cannot lock %s: %s", listener->lock_path, strerror(errno));
        else if (is_same_file(fd, listener->lock_path)) {
            char text[32];
            int length = snprintf(text, sizeof text, "%ld\n", (long)getpid());
            listener->lock = fd;
            if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)length, 0) != length)
                return fail(reason, "cannot write %s: %s", listener->lock_path, strerror(errno));
            return 0;
        }
        (void)close(fd);
        if (result < 0)
            return result;
    }
    return fail(reason, "cannot lock %s: it is removed again and again", listener->lock_path);
}

/* Removes a socket on which no process listens any more. */
static int remove_old(const char *path, char reason[SOCKET_REASON])
{
    struct stat status;
    if (lstat(path, &status) < 0)
        return errno == ENOENT ? 0 : fail(reason, "cannot look at %s: %s", path, strerror(errno));
    if (!S_ISSOCK(status.st_mode))
        return fail(reason, "%s exists and is not a socket", path);
    int fd = control_connect(path);
    if (fd >= 0) {
        struct ucred peer = {0};
        socklen_t size = sizeof peer;
        (void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
        (void)close(fd);
        return fail(reason, "another process (pid %ld) uses the socket %s", (long)peer.pid, path);
    }
    if (fd != -ECONNREFUSED && fd != -ENOENT)
        return fail(reason, "cannot connect to the socket %s that exists: %s", path, strerror(-fd));
    if (unlink(path) < 0 && errno != ENOENT)
        return fail(reason, "cannot remove the old socket %s: %s", path, strerror(errno));
    return 0;
}

static int make_socket(struct control_listener *listener, const struct sockaddr_un *address,
                       char reason[SOCKET_REASON])
{
    struct stat status;
    listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd < 0)
        return fail(reason, "cannot make a socket: %s", strerror(errno));
    if (fchmod(listener->fd, 0600) < 0 ||
        bind(listener->fd, (const struct sockaddr *)address, sizeof *address) < 0)
        return fail(reason, "cannot make the socket %s: %s", listener->path, strerror(errno));
    if (lstat(listener->path, &status) == 0) {
        listener->device = status.st_dev;
        listener->inode = status.st_ino;
    }
    if (listen(listener->fd, BACKLOG) < 0)
        return fail(reason, "cannot listen on %s: %s", listener->path, strerror(errno));
    return 0;
}

int control_listen(const char *path, struct control_listener *ret_listener, char reason[SOCKET_REASON])
{
    struct control_listener listener = {
        .fd = -1, .lock = -1, .path = text_copy(path), .lock_path = text_format("%s.lock", path)};
    struct sockaddr_un address;
    int result = set_address(path, &address)
                     ? 0
                     : fail(reason, "the path of the socket must have 1 to %zu bytes: %s",
                            sizeof address.sun_path - 1, path);
    if (result == 0)
        result = make_folder(path, reason);
    if (result == 0)
        result = take_lock(&listener, reason);
    if (result == 0)
        result = remove_old(path, reason);
    if (result == 0)
        result = make_socket(&listener, &address, reason);
    if (result == 0)
        *ret_listener = listener;
    else
        control_listener_close(&listener);
    return result;
}

void control_listener_close(struct control_listener *listener)
{
    struct stat status;
    if (listener->fd >= 0) {
        /* Another process may have replaced the file against the rules; that file stays. */
        if (lstat(listener->path, &status) == 0 && status.st_dev == listener->device &&
            status.st_ino == listener->inode)
            (void)unlink(listener->path);
        (void)close(listener->fd);
    }
    if (listener->lock >= 0) {
        (void)unlink(listener->lock_path);
        (void)close(listener->lock);
    }
    free(listener->path);
    free(listener->lock_path);
    *listener = (struct control_listener){.fd = -1, .lock = -1};
}
