/* SPDX-License-Identifier: Apache-2.0 */
/* serial.c - the one number that is counted for names; a global, for names are global too */
#include "sys/serial.h"

#include <stdatomic.h>

int hora__serial_next(void)
{
    static atomic_int last;
    return 1 + atomic_fetch_add(&last, 1);
}
