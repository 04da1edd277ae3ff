/* SPDX-License-Identifier: Apache-2.0 */
/* delay.h - the functions that a library with a delay queue must implement for W8
 *
 * Each library is a separate program: delay_main.c, the driver, and one file that defines these functions.
 * Delay.java measures the JDK. Few libraries have such a queue. */
#ifndef HORA_BENCH_DELAY_H
#define HORA_BENCH_DELAY_H

#include "../measure.h"
#include "../queues/item.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the queue. Called once, before everything else. */
void delay_open(void);

/* Puts an element, which is due at item->due_ns and stays valid until it has been taken. Called by one
 * thread. */
void delay_put(struct item *item);

/* Waits until an element is due, and takes it. Called by another thread. */
struct item *delay_take(void);

/* Frees the queue, which is empty. */
void delay_close(void);

#ifdef __cplusplus
}
#endif

#endif
