/* SPDX-License-Identifier: Apache-2.0 */
/* spin.h - looking again for a time, where somebody has asked for that; see pause.h
 *
 * The time is that of the machine, whichever clock the object has: it is about processors, not about when something is to happen. In
 * the simulator time stands still while somebody can run, so there the number of looks is bounded instead. */
#ifndef HORA_SYS_SPIN_H
#define HORA_SYS_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/clock.h"
#include "sys/pause.h"

struct hora__spin {
    int64_t until; /* of the monotonic clock */
    int looks;
};

#ifdef HORA_SIM
enum { HORA__SPIN_LOOKS_PER_READING = 2 }; /* all that there are */
#else
enum { HORA__SPIN_LOOKS_PER_READING = 32 };
#endif

void hora__spin_begin(struct hora__spin *spin, int64_t ns);

/* Now and then: whether there is time left. Lets others run that wait for this processor: it may be the very one that is to come, and
 * then all looking is in vain. */
bool hora__spin_has_time(const struct hora__spin *spin);

/* After a look in vain: whether to look again. */
static inline bool hora__spin_goes_on(struct hora__spin *spin)
{
    hora__pause();
    return ++spin->looks % HORA__SPIN_LOOKS_PER_READING != 0 || hora__spin_has_time(spin);
}

#endif
