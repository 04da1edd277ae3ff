/* SPDX-License-Identifier: Apache-2.0 */
/* fast.h - whether the structures that are fast are used, or the simple ones that they stand for
 *
 * What for     Some structures are there for speed alone: an inbox in front of a queue, tasks by value, buffers.
 *              Whatever they do, all must be as without them. So the whole library can be built without them
 *              (-DHORA_SIMPLE=ON), and must pass the same tests: a difference is a bug of the fast way, and a failure
 *              of both is not.
 * How to use   if (HORA__FAST ...) in code, not #if: so both ways are compiled, whichever is used. */
#ifndef HORA_BASE_FAST_H
#define HORA_BASE_FAST_H

#ifdef HORA_SIMPLE
enum { HORA__FAST = 0 };
#else
enum { HORA__FAST = 1 };
#endif

#endif
