/* SPDX-License-Identifier: Apache-2.0 */
/* forked.h - what else a child of fork does first */
#ifndef HORA_SYS_POSIX_FORKED_H
#define HORA_SYS_POSIX_FORKED_H

/* Forget the threads of the parent process. */
void hora__thread_forked(void);

#endif
