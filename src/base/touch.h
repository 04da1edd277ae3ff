/* SPDX-License-Identifier: Apache-2.0 */
/* touch.h - how many elements an operation has touched, counted in one test and nowhere else
 *
 * What for     That the work of an operation is bounded cannot be seen in times: one operation in a million that walks
 *              through all elements is lost in them. hora-bounded-work (tests/long) counts it, operation by operation,
 *              with a million elements.
 * How to use   HORA__TOUCH(n): n elements are looked at, moved or freed, by a loop over elements or as a part of one.
 *              HORA__TOUCH_PREPAID(n): the same where a single operation may touch many, because those before it have
 *              paid: an array that grows, holes that are skipped. Its sum, not each, must be in proportion to the
 *              operations. A program that defines HORA_TOUCHES for the sources also defines the counts. Elsewhere both
 *              are nothing. */
#ifndef HORA_BASE_TOUCH_H
#define HORA_BASE_TOUCH_H

#ifdef HORA_TOUCHES
#include <stdint.h>

extern _Thread_local int64_t hora__touches;
extern _Thread_local int64_t hora__touches_prepaid;

#define HORA__TOUCH(n)         ((void)(hora__touches += (n)))
#define HORA__TOUCH_PREPAID(n) ((void)(hora__touches_prepaid += (n)))
#else
#define HORA__TOUCH(n)         ((void)0)
#define HORA__TOUCH_PREPAID(n) ((void)0)
#endif

#endif
