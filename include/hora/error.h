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
#define HORA_ERROR_TABLE(X)                                                        \
    X(HORA_EINVAL, -EINVAL, "invalid argument")                                    \
    X(HORA_ENOMEM, -ENOMEM, "out of memory")                                       \
    X(HORA_EAGAIN, -EAGAIN, "a system limit was reached, try again later")         \
    X(HORA_EBUSY, -EBUSY, "the object is in use")                                  \
    X(HORA_EDEADLK, -EDEADLK, "the call would wait for itself")                    \
    X(HORA_ETIMEDOUT, -ETIMEDOUT, "the time is over")                              \
    X(HORA_ECANCELED, -ECANCELED, "the task was cancelled")                        \
    X(HORA_EMFILE, -EMFILE, "the process has no file descriptor left")             \
    X(HORA_ENFILE, -ENFILE, "the system has no file descriptor left")              \
    X(HORA_ENOENT, -ENOENT, "there is no such thing")                              \
    X(HORA_EIO, -EIO, "a file cannot be read")                                     \
    X(HORA_EBADMSG, -EBADMSG, "the data is damaged")                               \
    X(HORA_ERANGE, -ERANGE, "too large to be counted")                             \
    X(HORA_ENOTSUP, -ENOTSUP, "not supported by this object or on this system")    \
    X(HORA_EINTERRUPTED, -4097, "the thread was interrupted")                      \
    X(HORA_ECLOSED, -4098, "the object is closed")                                 \
    X(HORA_EFULL, -4099, "the queue has no room, or nobody waits for the element") \
    X(HORA_EEMPTY, -4100, "nothing can be taken now")                              \
    X(HORA_EFORKED, -4101, "the object belongs to the parent of this process")     \
    X(HORA_EFAILED, -4102, "the task failed")                                      \
    X(HORA_EREJECTED, -4103, "the task was rejected")                              \
    X(HORA_EABANDONED, -4104, "the task was abandoned before its end")             \
    X(HORA_ESHUTDOWN, -4105, "the pool is shut down")                              \
    X(HORA_EEXPIRED, -4106, "the task was not begun, or not done, in its time")

enum hora_error_code {
#define HORA_ERROR_CONSTANT(name, value, text) name = (value),
    HORA_ERROR_TABLE(HORA_ERROR_CONSTANT)
#undef HORA_ERROR_CONSTANT
};

/* Why a call failed. A call that takes options, parses a text, or sets what other settings may contradict,
 * takes a pointer to one as its last argument, which may be NULL. The caller provides the memory, and need
 * not initialise it.
 *
 *     hora_error error;
 *     if (hora_pool_new(HORA_POOL_OPTIONS(.core_threads = -1), &pool, &error) < 0)
 *         fprintf(stderr, "%s\n", error.message);        core_threads is -1, which is negative
 *
 * All of it is written whenever the call fails, also for lack of memory. After a success only `code` has
 * been written: it is 0. This struct is frozen: it will never change. */
typedef struct hora_error {
    /* what the call returned */
    int code;
    /* the first wrong byte of the text that was parsed, counted from 0; -1: it is not about a text */
    int offset;
    /* how many bytes are wrong; 0: something is missing there */
    int length;
    /* the field of the options, or of the text, that is wrong: "core_threads", "cron", "hour"; static.
     * NULL: none */
    const char *field;
    /* a sentence without a full stop, with the values in it; "..." at its end if it had to be cut */
    char message[240];
} hora_error;

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
