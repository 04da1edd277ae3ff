/* SPDX-License-Identifier: Apache-2.0 */
/* thread_local.h - variables that each thread has its own of
 *
 * Inside a shared library the compiler reaches them by a function call, unless told that the library is there from the
 * start of the program. With glibc this may be said also of one that is loaded later, as long as the variables are few
 * and small, as ours are. */
#ifndef HORA_SYS_POSIX_THREAD_LOCAL_H
#define HORA_SYS_POSIX_THREAD_LOCAL_H

#include <limits.h> /* of glibc, if it is that */

#ifdef __GLIBC__
#define HORA__THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))
#else
#define HORA__THREAD_LOCAL _Thread_local
#endif

#endif
