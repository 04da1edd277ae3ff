/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - read a whole file, and write to a descriptor; the simulator uses this file, too
 *
 * Files are opened with O_NONBLOCK, so that opening a path that names a pipe does not block until a writer
 * opens it, too. Anything but a regular file is then refused. */
#include "sys/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hora/error.h>

#include "sys/alloc.h"

/* Converts errno to an error of hora. */
static int error_of(int number)
{
    switch (number) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
        return HORA_ENOENT;
    case EMFILE:
        return HORA_EMFILE;
    case ENFILE:
        return HORA_ENFILE;
    case ENOMEM:
        return HORA_ENOMEM;
    default:
        return HORA_EIO;
    }
}

/* Opens a file for reading. Returns a descriptor or a negative error. */
static int open_file(const char *path)
{
    int fd;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (fd < 0 && errno == EINTR);
    return fd < 0 ? error_of(errno) : fd;
}

/* Reads until `size` bytes or the end of the file. Returns the number of bytes read or a negative error. */
static int64_t read_bytes(int fd, char *data, size_t size)
{
    size_t got = 0;
    while (got < size) {
        ssize_t more = read(fd, data + got, size - got);
        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            return error_of(errno);
        if (more == 0) /* the file has been truncated since fstat */
            break;
        got += (size_t)more;
    }
    return (int64_t)got;
}

/* Reads the file of an open descriptor; the arguments and errors are those of hora__file_read. */
static int read_open(int fd, size_t most, void **ret_data, size_t *ret_size)
{
    assert(fd >= 0);
    struct stat status;
    if (fstat(fd, &status) < 0)
        return error_of(errno);
    if (!S_ISREG(status.st_mode))
        return HORA_ENOENT;
    if (status.st_size < 0 || (uint64_t)status.st_size > most)
        return HORA_EBADMSG;
    size_t size = (size_t)status.st_size;
    char *data = hora__alloc_dirty(size + 1); /* a size of 0 could give NULL without an error */
    if (data == NULL)
        return HORA_ENOMEM;
    int64_t got = read_bytes(fd, data, size);
    if (got < 0) {
        hora__free(data);
        return (int)got;
    }
    *ret_data = data;
    *ret_size = (size_t)got;
    return 0;
}

int hora__file_read(const char *path, size_t most, void **ret_data, size_t *ret_size)
{
    assert(path != NULL && ret_data != NULL && ret_size != NULL);
    int fd = open_file(path);
    if (fd < 0)
        return fd;
    int error = read_open(fd, most, ret_data, ret_size);
    (void)close(fd);
    return error;
}

/* ---- writing ---- */

/* Waits until a non-blocking descriptor accepts more. Returns false if poll fails. */
static bool await_room(int fd)
{
    assert(fd >= 0);
    struct pollfd ask = {.fd = fd, .events = POLLOUT};
    int found;
    do
        found = poll(&ask, 1, -1);
    while (found < 0 && errno == EINTR);
    return found > 0;
}

/* A write may take only a part of the bytes, so it is repeated until all are written. */
int hora__file_write(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t taken = write(fd, data, size);
        if (taken >= 0) {
            data += taken;
            size -= (size_t)taken;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (!await_room(fd))
                return HORA_EIO;
        } else if (errno != EINTR) {
            return HORA_EIO;
        }
    }
    return 0;
}
