/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - read options and write outputs whose size differs between releases, see options.h */
#include "base/options.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <hora/error.h>

/* No struct will ever be this large. A larger struct_size comes from uninitialised memory, so hora does not
 * read it. */
enum { LARGEST = 4096 };

/* Returns true if struct_size can be that of a struct of some release. A size is a multiple of 4, the least
 * alignment of any of these structs. */
static bool size_is_sound(uint32_t size, size_t first_size)
{
    return size >= first_size && size <= LARGEST && size % 4 == 0;
}

/* Accesses *given as bytes, and only up to its struct_size: it may be shorter or longer than the type is
 * now. */
int hora__options_copy(void *own, size_t size, size_t first_size, const void *given)
{
    assert(own != NULL && first_size <= size && size <= LARGEST);
    memset(own, 0, size);
    if (given == NULL)
        return 0;
    uint32_t given_size;
    memcpy(&given_size, given, sizeof given_size);
    if (!size_is_sound(given_size, first_size))
        return HORA_EINVAL;
    /* A newer program may pass a larger struct, as long as it does not use the new fields. */
    const unsigned char *bytes = given;
    for (size_t i = size; i < given_size; i++)
        if (bytes[i] != 0)
            return HORA_EINVAL;
    memcpy(own, given, given_size < size ? given_size : size);
    return 0;
}

int hora__output_size(const void *given, size_t first_size, size_t *ret_size)
{
    assert(first_size <= LARGEST && ret_size != NULL);
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
    assert(given != NULL && own != NULL && size >= sizeof(uint32_t) && given_size >= sizeof(uint32_t));
    /* Skip struct_size, which stays the caller's. Fields that only the caller knows become 0. */
    unsigned char *bytes = given;
    size_t common = given_size < size ? given_size : size;
    memcpy(bytes + sizeof(uint32_t), (const unsigned char *)own + sizeof(uint32_t),
           common - sizeof(uint32_t));
    memset(bytes + common, 0, given_size - common);
}
