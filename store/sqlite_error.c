/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_error.c - result codes of SQLite as errors of hora
 *
 * SQLite's extended codes say what it was doing; the error number of the system says why. Both decide,
 * because a full disk or a missing permission shows itself in many places. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "reason.h"
#include "sqlite.h"

/* The error for a number of the system; 0 if it says nothing special. */
static int error_of_system(int number)
{
    switch (number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return HORA_ENOSPC;
    case EACCES:
    case EPERM:
    case EROFS:
        return HORA_EACCES;
    case EMFILE:
    case ENFILE:
        return HORA_EMFILE;
    case ENOMEM:
        return HORA_ENOMEM;
    case ENOENT:
    case ENOTDIR:
        return HORA_ENOENT;
    case EISDIR:
        return HORA_EBADMSG;
    default:
        return 0;
    }
}

/* Failures of reading and writing. A file that is too short, or gone, is no reason of the caller. */
static int error_of_disk(int code, int number)
{
    if (code == SQLITE_IOERR_NOMEM)
        return HORA_ENOMEM;
    if (code == SQLITE_IOERR_CORRUPTFS)
        return HORA_EBADMSG;
    int error = error_of_system(number);
    return error == 0 || error == HORA_ENOENT || error == HORA_EBADMSG ? HORA_EIO : error;
}

static int error_of_code(int code, int number, bool late)
{
    int error;
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        return HORA_EBUSY;
    case SQLITE_FULL:
        return HORA_ENOSPC;
    case SQLITE_IOERR:
        return error_of_disk(code, number);
    case SQLITE_CANTOPEN:
        error = code == SQLITE_CANTOPEN_ISDIR ? HORA_EBADMSG : error_of_system(number);
        return error != 0 ? error : HORA_EIO;
    case SQLITE_READONLY:
        return code == SQLITE_READONLY_DBMOVED ? HORA_EIO : HORA_EACCES;
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return HORA_EACCES;
    case SQLITE_NOMEM:
        return HORA_ENOMEM;
    case SQLITE_TOOBIG:
        return HORA_ERANGE;
    case SQLITE_INTERRUPT:
        return late ? HORA_ETIMEDOUT : HORA_EBUSY;
    case SQLITE_NOLFS:
        return HORA_ENOTSUP;
    default: /* SQLITE_CORRUPT, SQLITE_NOTADB; tables that are not as hora has made them */
        return HORA_EBADMSG;
    }
}

int hora__sqlite_error(const char *path, int code, int system_errno, const char *message, bool late,
                       const char *what, hora_error *reason)
{
    assert(code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE);
    int error = error_of_code(code, system_errno, late);
    bool of_system = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
    char system[80] = "";
    if (of_system && system_errno != 0 && strerror_r(system_errno, system, sizeof system) != 0)
        (void)snprintf(system, sizeof system, "error %d of the system", system_errno);
    return hora__store_refuse(reason, error, NULL, "%.120s: cannot %s: %s (%d)%s%s", path, what, message,
                              code, system[0] != '\0' ? ": " : "", system);
}

int hora__sqlite_result(const hora__connection *connection, const char *what, hora_error *reason)
{
    if (connection->failed == SQLITE_OK)
        return 0;
    return hora__sqlite_error(connection->store->path, connection->failed, connection->failed_errno,
                              connection->message, connection->late, what, reason);
}
