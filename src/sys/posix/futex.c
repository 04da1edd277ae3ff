/* SPDX-License-Identifier: Apache-2.0 */
/* futex.c - the futex system call of Linux; a separate file because the simulator replaces it */
#include "sys/futex.h"

#ifdef __linux__

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/posix/internal.h"

void hora__futex_wait(hora__atomic *word, int32_t expected, enum hora__timeline timeline, int64_t deadline_ns)
{
    /* The BITSET form takes an absolute time. If the wall clock is set, the kernel adapts the sleep. Errors
     * need no handling: every return without a reason is allowed, so the caller checks the word again. */
    struct timespec deadline = hora__timespec(deadline_ns);
    int operation = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG;
    if (timeline == HORA__WALL)
        operation |= FUTEX_CLOCK_REALTIME;
    (void)syscall(SYS_futex, &word->value, operation, expected, deadline_ns == INT64_MAX ? NULL : &deadline,
                  NULL, FUTEX_BITSET_MATCH_ANY);
}

void hora__futex_wake(hora__atomic *word)
{
    (void)syscall(SYS_futex, &word->value, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
}

#else

typedef int hora__no_futex_here; /* ISO C requires a declaration in every file */

#endif
