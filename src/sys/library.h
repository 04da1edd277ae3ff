/* SPDX-License-Identifier: Apache-2.0 */
/* library.h - look into a shared library that was loaded while the program runs */
#ifndef HORA_SYS_LIBRARY_H
#define HORA_SYS_LIBRARY_H

/* The address of an exported object of the library itself, not of one that it needs; NULL: there is none. `library` is a handle of
 * dlopen. */
const void *hora__library_find(void *library, const char *name);

#endif
