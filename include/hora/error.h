/* SPDX-License-Identifier: Apache-2.0 */
/* hora/error.h - error codes
 *
 * Every call that can fail returns an int: 0 or a count on success, one of these negative codes on failure.
 * Codes that the system also has keep its value (HORA_EINVAL is -EINVAL). hora's own codes are below -4096,
 * so the two ranges never collide. */
#ifndef HORA_ERROR_H
#define HORA_ERROR_H

#include <errno.h>

#include <hora/base.h>

HORA_BEGIN_DECLS

/* X(name, value, text): the table that generates the constants, their names and their texts. A program may
 * use it to generate tables of its own. */
#define HORA_ERROR_TABLE(X)                                                            \
    X(HORA_EINVAL, -EINVAL, "invalid argument")                                        \
    X(HORA_ENOMEM, -ENOMEM, "out of memory")                                           \
    X(HORA_EAGAIN, -EAGAIN, "a system limit was reached; try again later")             \
    X(HORA_EBUSY, -EBUSY, "the object is in use")                                      \
    X(HORA_EDEADLK, -EDEADLK, "the call would deadlock")                               \
    X(HORA_ETIMEDOUT, -ETIMEDOUT, "the timeout expired")                               \
    X(HORA_ECANCELED, -ECANCELED, "the task was cancelled")                            \
    X(HORA_EMFILE, -EMFILE, "too many open files in this process")                     \
    X(HORA_ENFILE, -ENFILE, "too many open files in the system")                       \
    X(HORA_ENOENT, -ENOENT, "not found")                                               \
    X(HORA_EIO, -EIO, "input/output error")                                            \
    X(HORA_EBADMSG, -EBADMSG, "the data is damaged")                                   \
    X(HORA_ERANGE, -ERANGE, "value out of range")                                      \
    X(HORA_ENOTSUP, -ENOTSUP, "not supported by this object or on this system")        \
    X(HORA_EEXIST, -EEXIST, "already exists")                                          \
    X(HORA_EACCES, -EACCES, "permission denied")                                       \
    X(HORA_ENOSPC, -ENOSPC, "no space left on the device")                             \
    X(HORA_EINTERRUPTED, -4097, "the thread was interrupted")                          \
    X(HORA_ECLOSED, -4098, "the object is closed")                                     \
    X(HORA_EFULL, -4099, "the queue is full, or no thread is waiting for the element") \
    X(HORA_EEMPTY, -4100, "nothing is available now")                                  \
    X(HORA_EFORKED, -4101, "the object belongs to the parent process")                 \
    X(HORA_EFAILED, -4102, "the task failed")                                          \
    X(HORA_EREJECTED, -4103, "the task was rejected")                                  \
    X(HORA_EABANDONED, -4104, "the task was abandoned before it finished")             \
    X(HORA_ESHUTDOWN, -4105, "the pool is shut down")                                  \
    X(HORA_EEXPIRED, -4106, "the task did not start or finish in time")

/* The constants of the table. Calls return them as int. hora/base.h says which of them mean the same in every
 * call. */
enum hora_error_code {
#define HORA_ERROR_CONSTANT(name, value, text) name = (value),
    HORA_ERROR_TABLE(HORA_ERROR_CONSTANT)
#undef HORA_ERROR_CONSTANT
};

/* Why a call failed. Calls that take options, parse a text, or change a setting that may conflict with other
 * settings take a pointer to one as their last argument, which may be NULL. The caller provides the memory
 * and need not initialize it.
 *
 *     hora_error error;
 *     if (hora_pool_new(HORA_POOL_OPTIONS(.core_threads = -1), &pool, &error) < 0)
 *         fprintf(stderr, "%s\n", error.message);    // core_threads is -1, which is negative
 *
 * A failing call writes all fields, even if it fails for lack of memory. A successful call writes only
 * `code`, as 0. The messages are for people and may change in any release: programs compare `code` and
 * `field`. This struct is frozen: it will never change. */
typedef struct hora_error {
    /* the return value of the call */
    int code;
    /* index of the first wrong byte in the parsed text, counted from 0; -1 if the error is not about a
     * text */
    int offset;
    /* number of wrong bytes; 0 means that something is missing at `offset` */
    int length;
    /* the offending field of the options or of the text, such as "core_threads", "cron" or "hour". Static;
     * NULL means that the error is not about a single field */
    const char *field;
    /* a sentence without a full stop that includes the offending values; it ends with "..." if it was
     * truncated */
    char message[240];
} hora_error;

/* hora_strerror - return the meaning of an error code as a short sentence without a full stop
 *
 * 0 yields "success". A number that is not an error code of hora yields "unknown error".
 *
 * Ownership: the text is static and never NULL.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API const char *hora_strerror(int error);

/* hora_errname - return the name of an error code as written in source code, such as "HORA_EINVAL"
 *
 * 0 yields "0". A number that is not an error code of hora yields "HORA_E?".
 *
 * Ownership: the text is static and never NULL.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API const char *hora_errname(int error);

HORA_END_DECLS

#endif
