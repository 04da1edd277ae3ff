/* SPDX-License-Identifier: Apache-2.0 */
/* delay.h - what is measured of delay queues, in the terms that all libraries have in common: W8
 *
 * Each library is a program of its own: delay_main.c, which drives, and one file that defines these functions. Delay.java has the
 * JDK's. Few libraries have such a queue. */
#ifndef HORA_BENCH_DELAY_H
#define HORA_BENCH_DELAY_H

#include "../measure.h"
#include "../queues/item.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Once, before everything else. */
void delay_open(void);

/* By one thread: put an element, which knows when it is due and stays where it is until it has been taken. */
void delay_put(struct item *item);

/* By another one: wait for an element that is due, and take it. */
struct item *delay_take(void);

/* The queue is empty. */
void delay_close(void);

#ifdef __cplusplus
}
#endif

#endif
