/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - option structs grow at their end only; struct_size, their first field, says how far the caller knows them */
#include "base/options.h"

#include <stdint.h>
#include <string.h>

#include <hora/error.h>

/* No options struct will ever be this large: such a size is memory that was not initialised, and is not read. */
enum { LARGEST = 4096 };

int hora__options_copy(void *own, size_t size, size_t first_size, const void *given)
{
    memset(own, 0, size);
    if (given == NULL)
        return 0;
    uint32_t given_size;
    memcpy(&given_size, given, sizeof given_size);
    if (given_size < first_size || given_size > LARGEST)
        return HORA_EINVAL;
    const unsigned char *bytes = given;
    for (size_t i = size; i < given_size; i++)
        if (bytes[i] != 0)
            return HORA_EINVAL;
    memcpy(own, given, given_size < size ? given_size : size);
    return 0;
}
