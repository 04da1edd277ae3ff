/* SPDX-License-Identifier: Apache-2.0 */
/* hora/version.h - the version of hora */
#ifndef HORA_VERSION_H
#define HORA_VERSION_H

#include <hora/base.h>

HORA_BEGIN_DECLS

/* The version of these headers, as numbers and as text. */
#define HORA_VERSION_MAJOR  0
#define HORA_VERSION_MINOR  1
#define HORA_VERSION_PATCH  0
#define HORA_VERSION_STRING "0.1.0"

/* hora_version - return the version of the library in use, such as "0.1.0"
 *
 * HORA_VERSION_STRING is the version that the program was compiled with. The two differ if the program runs
 * with another release of the shared library.
 *
 * Ownership: the text is static and never NULL.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API const char *hora_version(void);

HORA_END_DECLS

#endif
