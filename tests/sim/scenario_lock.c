/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_lock.c - the one-word lock: one holder at a time, and no thread sleeps while it is free */
#include "harness.h"
#include "sys/futex.h"

static hora__atomic word;
static int inside;
static int passed;

static void pass(void *arg)
{
    (void)arg;
    hora__word_lock(&word);
    CHECK_INT(++inside, 1);
    passed++;
    hora__atomic_load(&word); /* a point where others may run */
    inside--;
    hora__word_unlock(&word);
}

static void pass_with(int others)
{
    test_thread *threads[2];
    hora__atomic_init(&word, HORA__LOCK_FREE);
    inside = passed = 0;
    for (int i = 0; i < others; i++)
        threads[i] = test_thread_start(NULL, pass, NULL);
    pass(NULL);
    for (int i = 0; i < others; i++)
        test_thread_join(threads[i]);
    CHECK_INT(passed, others + 1);
    CHECK_INT(hora__atomic_load(&word), HORA__LOCK_FREE);
}

SCENARIO(word_lock_lets_two_pass)
{
    pass_with(1);
}

SCENARIO(word_lock_lets_three_pass)
{
    pass_with(2);
}
