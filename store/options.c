/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - read structs that a program of another version may have filled */
#include "options.h"

#include <stdint.h>
#include <string.h>

#include "reason.h"

/* A struct_size above this is taken for memory that was not initialized. */
enum { LARGEST = 4096 };

static int check_size(uint32_t size, size_t least, const char *what, hora_error *reason)
{
    if (size < least || size > LARGEST || size % 4 != 0)
        return hora__store_refuse(reason, HORA_EINVAL, "struct_size",
                                  "struct_size of %s is %u, which no version of hora uses: it was not "
                                  "initialized",
                                  what, (unsigned)size);
    return 0;
}

int hora__store_read_options(void *to, size_t size, size_t least, const void *from, const char *what,
                             hora_error *reason)
{
    memset(to, 0, size);
    if (from != NULL) {
        uint32_t given;
        memcpy(&given, from, sizeof given);
        int error = check_size(given, least, what, reason);
        if (error < 0)
            return error;
        for (const char *byte = (const char *)from + size; byte < (const char *)from + given; byte++)
            if (*byte != 0)
                return hora__store_refuse(reason, HORA_EINVAL, NULL,
                                          "%s has a field that this version of hora does not know", what);
        memcpy(to, from, given < size ? given : size);
    }
    uint32_t own = (uint32_t)size;
    memcpy(to, &own, sizeof own);
    return 0;
}

int hora__store_write_result(void *to, size_t least, const void *from, size_t size, const char *what,
                             hora_error *reason)
{
    if (to == NULL)
        return hora__store_refuse(reason, HORA_EINVAL, NULL, "the pointer to %s is NULL", what);
    uint32_t given;
    memcpy(&given, to, sizeof given);
    int error = check_size(given, least, what, reason);
    if (error < 0)
        return error;
    memset((char *)to + sizeof given, 0, given - sizeof given);
    size_t both = given < size ? given : size;
    memcpy((char *)to + sizeof given, (const char *)from + sizeof given, both - sizeof given);
    return 0;
}
