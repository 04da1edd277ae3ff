/* SPDX-License-Identifier: Apache-2.0 */
/* socket.h - the control socket as a file: where it is, how to listen on it and how to connect to it */
#ifndef APP_CONTROL_SOCKET_H
#define APP_CONTROL_SOCKET_H

#include <stddef.h>
#include <sys/types.h>

enum { SOCKET_REASON = 512 }; /* size of a buffer for the reason of an error, including the NUL */

/* Returns the path of the socket unless an option or a job file names another: $HORA_SOCKET if that is set;
 * /run/hora/hora.sock for root; $XDG_RUNTIME_DIR/hora.sock, or ~/.hora/hora.sock, for others. The runner and
 * its clients both use it. The caller frees the text. */
char *control_default_socket(void);

/* A socket on which this process listens, and the lock that keeps other runners away from it. */
struct control_listener {
    int fd;
    int lock;
    char *path, *lock_path;
    dev_t device; /* the file that bind has made */
    ino_t inode;
};

/* Listens on a path, with mode 0600; creates its folder with mode 0700 if that is missing. A socket that no
 * process listens on is replaced. Returns 0, or -1 with a reason: another runner uses the path, it is not a
 * socket, it is too long, or a system call fails. Nothing has changed then, except for the folder. */
int control_listen(const char *path, struct control_listener *ret_listener, char reason[SOCKET_REASON]);

/* Stops to listen and removes the socket. */
void control_listener_close(struct control_listener *listener);

/* Connects to a path. Returns a descriptor that blocks, or a negative errno: -ENOENT or -ECONNREFUSED if no
 * process listens there, -ENAMETOOLONG if the path is too long for a socket. */
int control_connect(const char *path);

#endif
