/* SPDX-License-Identifier: Apache-2.0 */
/* carry.h - what tasks carry from the thread that submits them to the one that runs them: see hora_context_hooks */
#ifndef HORA_OVERSEE_CARRY_H
#define HORA_OVERSEE_CARRY_H

#include "oversee/oversight.h"

/* By a worker, around a run. */
void hora__carry_install(struct hora__post *post, struct hora__frame *frame, hora_future *future);
void hora__carry_restore(struct hora__post *post, struct hora__frame *frame);

#endif
