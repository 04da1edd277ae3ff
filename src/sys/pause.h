/* SPDX-License-Identifier: Apache-2.0 */
/* pause.h - looking again and again at a word that another processor is about to change
 *
 * Only for what ends soon, and at most a fixed number of times: who looks keeps a processor from all others. */
#ifndef HORA_SYS_PAUSE_H
#define HORA_SYS_PAUSE_H

#include <stdbool.h>

/* Whether it can help at all to look again: there is more than one processor for this process, so whoever is to change the word may run
 * meanwhile. Found out once, at the first call. */
bool hora__pause_helps(void);

/* Between two looks: let the processor know that nothing is to be gained by haste. In the simulator nothing, since the look itself is a
 * point where others may run. */
static inline void hora__pause(void)
{
#if defined(HORA_SIM)
#elif defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || (defined(__arm__) && __ARM_ARCH >= 7)
    __asm__("yield"); /* without outputs it is not optimised away */
#endif
}

#endif
