/* SPDX-License-Identifier: Apache-2.0 */
/* library.c - symbols of shared libraries, by dlsym; a separate file because the simulator uses it, too
 *
 * dlsym also searches the libraries that the library was linked with. Where the system can tell which library
 * an address belongs to, a symbol of another library does not count. */
#include "sys/process.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __GLIBC__
#include <link.h>

/* Returns true if an address belongs to the library itself. Always true where the system cannot tell. */
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
    assert(library != NULL && name != NULL);
    const void *address = dlsym(library, name);
    return address != NULL && is_its_own(library, address) ? address : NULL;
}
