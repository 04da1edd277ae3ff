/* SPDX-License-Identifier: Apache-2.0 */
/* processors.h - how many threads can run at once */
#ifndef HORA_SYS_PROCESSORS_H
#define HORA_SYS_PROCESSORS_H

/* By affinity and by the quota of the control group; at least 1. */
int hora__processors(void);

/* A small number that threads that run at the same time mostly do not share: that of the processor, as of now, or one of the thread. */
int hora__processor(void);

#endif
