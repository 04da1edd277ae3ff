/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - structs that cross the boundary grow at their end only; struct_size, their first field, says how far the caller knows them */
#include "base/options.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <hora/error.h>

/* No options struct will ever be this large: such a size is memory that was not initialised, and is not read. */
enum { LARGEST = 4096 };

static bool size_is_sound(uint32_t size, size_t first_size)
{
    return size >= first_size && size <= LARGEST && size % 4 == 0;
}

int hora__options_copy(void *own, size_t size, size_t first_size, const void *given)
{
    memset(own, 0, size);
    if (given == NULL)
        return 0;
    uint32_t given_size;
    memcpy(&given_size, given, sizeof given_size);
    if (!size_is_sound(given_size, first_size))
        return HORA_EINVAL;
    const unsigned char *bytes = given;
    for (size_t i = size; i < given_size; i++)
        if (bytes[i] != 0)
            return HORA_EINVAL;
    memcpy(own, given, given_size < size ? given_size : size);
    return 0;
}

int hora__output_size(const void *given, size_t first_size, size_t *ret_size)
{
    uint32_t given_size;
    if (given == NULL)
        return HORA_EINVAL;
    memcpy(&given_size, given, sizeof given_size);
    if (!size_is_sound(given_size, first_size))
        return HORA_EINVAL;
    *ret_size = given_size;
    return 0;
}

void hora__output_write(void *given, size_t given_size, const void *own, size_t size)
{
    unsigned char *bytes = given;
    size_t common = given_size < size ? given_size : size;
    memcpy(bytes + sizeof(uint32_t), (const unsigned char *)own + sizeof(uint32_t), common - sizeof(uint32_t));
    memset(bytes + common, 0, given_size - common);
}
