/* SPDX-License-Identifier: Apache-2.0 */
/* help.h - what a worker does instead of waiting for ever */
#ifndef HORA_EXEC_HELP_H
#define HORA_EXEC_HELP_H

#include "exec/future.h"

/* If the calling thread is a worker and the future stands in its pool's queue, take it out and run it. If its time has
 * not come yet, returns when, by the pool's clock, to try again; else HORA_FOREVER. */
hora_ns hora__help(hora_future *future, hora_thread *thread);

/* Note what the calling thread, which runs a future, is about to wait for. HORA_EDEADLK if that would never end. end_waiting in either case. */
__attribute__((warn_unused_result)) int hora__begin_waiting(hora_future *future, hora_thread *thread);
void hora__end_waiting(hora_thread *thread);

#endif
