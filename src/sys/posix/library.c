/* SPDX-License-Identifier: Apache-2.0 */
/* library.c - shared libraries by dlsym
 *
 * dlsym looks also into the libraries that the library was linked with. Where the system can tell to which one an address
 * belongs, a find of theirs does not count. */
#include "sys/library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __GLIBC__
#include <link.h>

static bool is_its_own(void *library, const void *address)
{
    struct link_map *wanted = NULL;
    struct link_map *found = NULL;
    Dl_info info;
    if (dlinfo(library, RTLD_DI_LINKMAP, &wanted) != 0 ||
        dladdr1(address, &info, (void **)&found, RTLD_DL_LINKMAP) == 0)
        return false;
    return wanted == found;
}
#else
static bool is_its_own(void *library, const void *address)
{
    (void)library;
    (void)address;
    return true;
}
#endif

const void *hora__library_find(void *library, const char *name)
{
    const void *address = dlsym(library, name);
    return address != NULL && is_its_own(library, address) ? address : NULL;
}
