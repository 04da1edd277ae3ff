/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - decides which tasks are submitted, when, and how long they take: random, but the same in each run
 *
 * Tasks are submitted independently of each other, so the times between them are distributed exponentially.
 * Their durations are distributed evenly from half of the mean to one and a half. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../measure.h"
#include "fairness.h"

enum { BURST = 8, FAST = 0, SLOW = 1 }; /* BURST: number of slow tasks in a burst */
enum { SEED = 42 };                     /* one with which no two events happen at once, see rule.c */

static uint64_t random_state;

/* Returns a random number between 0 and 1, but neither of the two. */
static double next_share(void)
{
    return ((double)(next_random(&random_state) >> 11) + 0.5) / (double)(1ull << 53);
}

/* Returns a random time between two submissions, with this mean. */
static hora_ns after(hora_ns mean)
{
    return 1 + (hora_ns)(-log(next_share()) * (double)mean);
}

/* Returns a random duration with this mean. */
static hora_ns about(hora_ns mean)
{
    return mean / 2 + (hora_ns)(next_share() * (double)mean);
}

/* Adds a task and returns it. Its key is the hot one. */
static struct piece *add(struct load *load, hora_ns came, int kind, hora_ns takes)
{
    if ((load->count & (load->count + 1)) == 0) { /* 0, 1, 3, 7 ...: the array is full */
        load->pieces = realloc(load->pieces, (size_t)(2 * load->count + 2) * sizeof(*load->pieces));
        MUST(load->pieces != NULL);
    }
    load->pieces[load->count] = (struct piece){.came = came, .takes = takes, .kind = kind, .key = 1};
    return &load->pieces[load->count++];
}

/* Makes an empty load and restarts the random numbers. */
static void begin(struct load *load)
{
    memset(load, 0, sizeof(*load));
    random_state = SEED;
    for (int i = 0; i < 100; i++)
        (void)next_random(&random_state); /* the first numbers after a small seed are small, too */
}

void load_free(struct load *load)
{
    free(load->pieces);
}

/* ---- the workloads ---- */

static const hora_ns TAKES = HORA_MS(10); /* mean duration of tasks with priorities and keys */

/* Returns the mean time between two submissions for which the tasks need `share` of the pool's time. */
static hora_ns between(double share)
{
    return (hora_ns)((double)TAKES / THREADS / share);
}

void load_with_priorities(struct load *load, double share, int seconds)
{
    begin(load);
    load->kind_count = 4;
    memcpy(load->kinds, (const char *[]){"urgent", "high", "normal", "low"}, sizeof(load->kinds));
    for (hora_ns now = 0; (now += after(between(share))) < HORA_SECONDS(seconds);) {
        double which = next_share();
        int kind = which < 0.1 ? 0 : which < 0.3 ? 1 : which < 0.7 ? 2 : 3;
        (void)add(load, now, kind, about(TAKES));
    }
}

hora_priority priority_of(const struct piece *piece)
{
    return (hora_priority)(HORA_PRIORITY_URGENT - piece->kind);
}

void load_with_keys(struct load *load, double share, int seconds)
{
    begin(load);
    load->kind_count = 2;
    load->kinds[0] = "the hot key";
    load->kinds[1] = "other keys";
    for (hora_ns now = 0; (now += after(between(share))) < HORA_SECONDS(seconds);) {
        bool hot = next_share() < 0.3;
        struct piece *piece = add(load, now, hot ? 0 : 1, about(TAKES));
        if (!hot)
            piece->key = 2 + (int)(next_share() * (KEYS - 1));
    }
}

void load_with_classes(struct load *load, int seconds)
{
    begin(load);
    load->kind_count = 2;
    load->kinds[FAST] = "fast";
    load->kinds[SLOW] = "slow";
    hora_ns burst = after(HORA_MS(500));
    hora_ns now = after(HORA_US(1250));
    while (now < HORA_SECONDS(seconds)) {
        if (burst < now) {
            for (int i = 0; i < BURST; i++)
                (void)add(load, burst + i, SLOW, about(HORA_MS(100)));
            burst += BURST + after(HORA_MS(500));
        } else {
            (void)add(load, now, FAST, about(HORA_MS(1)));
            now += after(HORA_US(1250));
        }
    }
}
