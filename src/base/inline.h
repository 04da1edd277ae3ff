/* SPDX-License-Identifier: Apache-2.0 */
/* inline.h - functions of a few instructions that are on the way of every task
 *
 * How many calls of a function a compiler puts in place depends on how large all the rest is: so these would become slower by what is added
 * elsewhere, and that nobody uses. */
#ifndef HORA_BASE_INLINE_H
#define HORA_BASE_INLINE_H

#define HORA__INLINE static inline __attribute__((always_inline))

#endif
