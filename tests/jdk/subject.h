/* SPDX-License-Identifier: Apache-2.0 */
/* subject.h - the object of a history, and the operations on it */
#ifndef HORA_TESTS_JDK_SUBJECT_H
#define HORA_TESTS_JDK_SUBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include <hora/hora.h>

enum { MOST_WORDS = 6 };

/* One line of a history: words[0] is the operation, numbers[i] is words[i] as a number. */
struct call {
    char words[MOST_WORDS][24];
    int64_t numbers[MOST_WORDS];
};

struct answer {
    char text[1000];
};

enum kind { ARRAY, LINKED, SYNCHRONOUS, PRIORITY, DELAY, LATCH };
enum due { FIXED, STATED, ASKED };

struct subject {
    enum kind kind;
    enum due due;
    bool ties;
    bool with_workers;
    hora_queue *queue;
    hora_latch *latch;
    hora_virtual_clock *clock; /* NULL: the object goes by the monotonic clock */
};

/* Makes what a history's first line says. Gives up the program if that is impossible. */
struct subject *subject_new(const struct call *first_line);

int subject_free(struct subject *subject);

/* Does one operation in the calling thread and adds what came of it to the answer. */
void perform(struct subject *subject, const struct call *call, struct answer *answer);

__attribute__((format(printf, 2, 3))) void say(struct answer *answer, const char *format, ...);

#endif
