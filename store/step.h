/* SPDX-License-Identifier: Apache-2.0 */
/* step.h - named places at which tests/store/crash ends the process
 *
 * A test build defines HORA_STEPS and links a function hora__step, which may call kill. In every other build
 * HORA__STEP does nothing. There is one before and after everything that a crash could separate. */
#ifndef HORA_STORE_STEP_H
#define HORA_STORE_STEP_H

#if defined(HORA_STEPS)
void hora__step(const char *name);
#define HORA__STEP(name) hora__step(name)
#else
#define HORA__STEP(name) ((void)0)
#endif

#endif
