/* SPDX-License-Identifier: Apache-2.0 */
/* history.h - histories: sequences of operations to which hora and the JDK must give the same answers
 *
 * A history is text, one operation per line. Its first line makes the object, and the line "end" shows what
 * is left in it:
 *
 *     history NUMBER WORKERS array CAPACITY fair|unfair
 *                            linked CAPACITY
 *                            synchronous fair|unfair
 *                            priority total|ties
 *                            delay total|ties fixed|stated|asked
 *                            latch COUNT
 *     OPERATION [ARGUMENT...]
 *     WORKER: OPERATION [ARGUMENT...]
 *
 * Elements are the numbers from 1 to LAST_ELEMENT; 0 stands for NULL. In a priority queue the number is the
 * priority, in a delay queue it decides the due time. With "ties" many elements are equal, and the JDK does
 * not promise which of them comes first; answers then show the rank of an element instead of its number.
 *
 * The due times of a delay queue are "fixed" (long ago, or never, whatever the clock shows), or refer to a
 * clock that the operation "advance" moves: they are "stated" when the element is put, or the element is
 * "asked".
 *
 * With WORKERS > 0 the operations of a worker run in its own thread and may wait. Each operation starts when
 * all running operations have ended or wait. Without workers an operation that would wait is not called and
 * answers "waits".
 *
 * The answer to each line is one line. For an operation it is "ok", an element, a number, a list "COUNT:
 * ELEMENT...", or the reason of a failure: "full", "empty", "timeout", "interrupted", "invalid". A "!"
 * follows if the caller's interrupt flag is set afterwards. " | WORKER ANSWER" follows for each worker whose
 * operation has ended since the previous line.
 *
 * Histories leave out what hora does differently on purpose: closing; an interrupt that is pending when a
 * thread arrives at a synchronous queue on which its partner already waits (hora reports it first, as
 * everywhere else, and JDK 17 does not check it there); which thread a delay queue serves first when several
 * wait for an element that is not due; and the remaining capacity of an unbounded linked queue, which
 * History.java translates. */
#ifndef HORA_TESTS_JDK_HISTORY_H
#define HORA_TESTS_JDK_HISTORY_H

#include <stdint.h>

enum {
    LAST_ELEMENT = 40,
    LAST_DUE_ELEMENT = 30, /* of a delay queue with fixed due times: the others are due never */
    LONGEST_HISTORY = 60,  /* operations; so no queue ever holds more elements */
    MOST_WORKERS = 6,
};

/* Prints `count` histories that depend only on the seed. */
void generate_histories(uint64_t seed, int count);

#endif
