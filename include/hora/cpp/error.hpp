/* SPDX-License-Identifier: Apache-2.0 */
/* hora/cpp/error.hpp - errors of hora as exceptions
 *
 * A call that returns an error code in C throws an exception in C++. HORA_ENOMEM becomes std::bad_alloc, and
 * every other code a hora::error. The codes that programs handle most often have classes of their own. */
#ifndef HORA_CPP_ERROR_HPP
#define HORA_CPP_ERROR_HPP

#include <new>
#include <stdexcept>

#include <hora/error.h>

namespace hora {

/* Why a call failed. what() is the message of hora_error, or that of hora_strerror if the call gives no
 * reason. */
class error : public std::runtime_error {
  public:
    explicit error(int code) : std::runtime_error(hora_strerror(code)), code_(code)
    {
    }

    /* A message that the program chooses, for a task that fails with a code of its own. */
    error(int code, const char *message) : std::runtime_error(message), code_(code)
    {
    }

    explicit error(const hora_error &reason)
        : std::runtime_error(reason.message), code_(reason.code), offset_(reason.offset),
          length_(reason.length), field_(reason.field)
    {
    }

    /* the error code, such as HORA_EINVAL */
    int code() const noexcept
    {
        return code_;
    }

    /* index of the first wrong byte in the parsed text; -1 if the error is not about a text */
    int offset() const noexcept
    {
        return offset_;
    }

    /* number of wrong bytes; 0 means that something is missing at offset() */
    int length() const noexcept
    {
        return length_;
    }

    /* the offending field, such as "core_threads"; static. nullptr: the error is not about a single field */
    const char *field() const noexcept
    {
        return field_;
    }

  private:
    int code_;
    int offset_ = -1;
    int length_ = 0;
    const char *field_ = nullptr;
};

/* HORA_EINTERRUPTED: the calling thread was interrupted while it waited. Its interrupt flag is cleared. */
class interrupted_error : public error {
  public:
    interrupted_error() : error(HORA_EINTERRUPTED)
    {
    }
};

/* HORA_ECANCELED: the task was cancelled, so that it has no result. */
class cancelled_error : public error {
  public:
    cancelled_error() : error(HORA_ECANCELED)
    {
    }
};

/* HORA_ETIMEDOUT: the timeout of a call expired. */
class timeout_error : public error {
  public:
    timeout_error() : error(HORA_ETIMEDOUT)
    {
    }
};

/* HORA_EREJECTED: a pool refused the task. */
class rejected_error : public error {
  public:
    rejected_error() : error(HORA_EREJECTED)
    {
    }
};

/* HORA_ECLOSED: the queue is closed. */
class closed_error : public error {
  public:
    closed_error() : error(HORA_ECLOSED)
    {
    }
};

namespace detail {

/* Throws the exception for an error code. */
[[noreturn]] inline void throw_code(int code)
{
    switch (code) {
    case HORA_ENOMEM:
        throw std::bad_alloc();
    case HORA_EINTERRUPTED:
        throw interrupted_error();
    case HORA_ECANCELED:
        throw cancelled_error();
    case HORA_ETIMEDOUT:
        throw timeout_error();
    case HORA_EREJECTED:
        throw rejected_error();
    case HORA_ECLOSED:
        throw closed_error();
    default:
        throw error(code);
    }
}

/* Returns the result of a C call, and throws if it is an error. */
inline int check(int result)
{
    if (result < 0)
        throw_code(result);
    return result;
}

/* The same for a call that says why it failed. The codes without a reason of interest keep their classes. */
inline int check(int result, const hora_error &reason)
{
    if (result == HORA_EINVAL || result == HORA_ENOTSUP || result == HORA_ERANGE || result == HORA_ENOENT)
        throw error(reason);
    return check(result);
}

/* Returns false for `expected`, true for success, and throws for every other error. */
inline bool check_unless(int result, int expected)
{
    return result != expected && check(result) >= 0;
}

} // namespace detail
} // namespace hora

#endif
