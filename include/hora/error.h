/* SPDX-License-Identifier: Apache-2.0 */
/* hora/error.h - the error codes of hora
 *
 * Every call that can fail returns an int: 0 or a count on success, one of these negative codes on
 * failure. Codes that exist in the system keep its value (HORA_EINVAL is -EINVAL), hora's own lie
 * below -4096, so the two never collide. */
#ifndef HORA_ERROR_H
#define HORA_ERROR_H

#include <errno.h>

#include <hora/base.h>

HORA_BEGIN_DECLS

/* X(name, value, text): the one table from which the constants, the names and the texts are made. */
#define HORA_ERROR_TABLE(X)                                                         \
    X(HORA_EINVAL, -EINVAL, "invalid argument")                                     \
    X(HORA_ENOMEM, -ENOMEM, "out of memory")                                        \
    X(HORA_EAGAIN, -EAGAIN, "a system limit was reached, try again later")          \
    X(HORA_EBUSY, -EBUSY, "the object is in use")                                   \
    X(HORA_EDEADLK, -EDEADLK, "the call would wait for itself")                     \
    X(HORA_ETIMEDOUT, -ETIMEDOUT, "the time is over")                               \
    X(HORA_ECANCELED, -ECANCELED, "the task was cancelled")                         \
    X(HORA_EMFILE, -EMFILE, "the process has no file descriptor left")              \
    X(HORA_ENFILE, -ENFILE, "the system has no file descriptor left")               \
    X(HORA_ENOENT, -ENOENT, "there is no such thing")                               \
    X(HORA_EIO, -EIO, "a file cannot be read")                                      \
    X(HORA_EBADMSG, -EBADMSG, "the data is damaged")                                \
    X(HORA_ERANGE, -ERANGE, "too large to be counted")                              \
    X(HORA_ENOTSUP, -ENOTSUP, "not supported on this system")                       \
    X(HORA_EINTERRUPTED, -4097, "the thread was interrupted")                       \
    X(HORA_ECLOSED, -4098, "the object is closed")                                  \
    X(HORA_EFULL, -4099, "the queue has no room, or nobody waits for the element")  \
    X(HORA_EEMPTY, -4100, "nothing can be taken now")                               \
    X(HORA_EFORKED, -4101, "the object belongs to the parent of this process")      \
    X(HORA_EFAILED, -4102, "the task failed")                                       \
    X(HORA_EREJECTED, -4103, "the task was rejected: no thread and no room for it") \
    X(HORA_EABANDONED, -4104, "the task was abandoned before its end")              \
    X(HORA_ESHUTDOWN, -4105, "the pool is shut down")                               \
    X(HORA_EEXPIRED, -4106, "the task was not begun, or not done, in its time")

enum hora_error_code {
#define HORA_ERROR_CONSTANT(name, value, text) name = (value),
    HORA_ERROR_TABLE(HORA_ERROR_CONSTANT)
#undef HORA_ERROR_CONSTANT
};

/* hora_strerror - what an error code means, in a short sentence without a full stop
 *
 * 0 gives "success"; a number that is no code of hora gives "unknown error".
 *
 * Ownership: the text is static, never NULL.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API const char *hora_strerror(int error);

/* hora_errname - the name of an error code as it stands in the source, such as "HORA_EINVAL"
 *
 * 0 gives "0"; a number that is no code of hora gives "HORA_E?".
 *
 * Ownership: the text is static, never NULL.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API const char *hora_errname(int error);

HORA_END_DECLS

#endif
