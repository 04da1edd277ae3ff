/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_generate.c - random scenarios from a seed
 *
 * A scenario has a few tasks. The driver schedules most of them, other tasks some. In between the driver
 * cancels, removes, changes settings and reads the state. In most scenarios it shuts the scheduler down and
 * continues for a while.
 *
 * With one thread many tasks are due at the same tick, because their order is promised. With several threads
 * the order of events at the same tick is not, so each task has its own ticks, modulo LANES. If tasks have to
 * wait for a thread, they may coincide nevertheless; Scenario.java finds such scenarios and leaves them
 * out. */
#include "scenario.h"

#include <stdbool.h>
#include <stdio.h>

enum { LANES = 8 };

struct generator {
    uint64_t state;
    bool single; /* never more than one thread */
    /* there may be tasks that are never due, and no fixed rates: with both, late rates stop in the JDK */
    bool far;
    bool shut; /* "shutdown" or "stop" has been said */
    int tick;
    int tasks;
    int top;       /* tasks 1 to this one are scheduled by the driver, the others by tasks */
    int scheduled; /* tasks 1 to this one have been scheduled, or may have been by now */
    int waiters;
};

/* SplitMix64: the same numbers on every machine. */
static int below(struct generator *g, int bound)
{
    uint64_t z = (g->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (int)((z ^ (z >> 31)) % (uint64_t)bound);
}

static bool chance(struct generator *g, int percent)
{
    return below(g, 100) < percent;
}

static int some_task(struct generator *g)
{
    return 1 + below(g, g->scheduled > 0 ? g->scheduled : 1);
}

/* A delay after which the task is due at one of its ticks. */
static int lane_delay(struct generator *g, int id)
{
    int lane = g->single ? 4 * below(g, 2) : 2 * id % LANES;
    int due = g->tick + 1 + below(g, 16);
    while (due % LANES != lane)
        due++;
    return due - g->tick;
}

static void print_delay(struct generator *g, int id)
{
    if (g->far && chance(g, 15))
        printf(" forever");
    else if (chance(g, 4))
        printf(" past");
    else if (chance(g, 8))
        printf(" %d", -below(g, 3));
    else
        printf(" %d", lane_delay(g, id));
}

static int period(struct generator *g)
{
    if (chance(g, 3))
        return -below(g, 2); /* is refused */
    return g->single ? 2 + 2 * below(g, 6) : LANES + LANES * below(g, 2);
}

/* Prints one of the calls that make a task known to the scheduler. */
static void print_schedule(struct generator *g, int id)
{
    int kind = below(g, 100);
    if (kind < 8) {
        printf("submit %d", id);
    } else if (kind < 14) {
        printf("execute %d", id);
    } else {
        bool periodic = kind >= 50;
        printf("%s %d", !periodic ? "schedule" : kind < 75 && !g->far ? "rate" : "gap", id);
        print_delay(g, id);
        if (periodic)
            printf(" %d", period(g));
    }
    putchar('\n');
}

static void print_core(struct generator *g)
{
    printf("core %d\n", below(g, g->single ? 2 : MOST_THREADS + 1));
}

static void print_shutdown(struct generator *g)
{
    puts(chance(g, 85) ? "shutdown" : "stop");
    g->shut = true;
}

static void print_policy(struct generator *g)
{
    static const char *const policies[] = {"delayed", "periodic", "on_cancel"};
    printf("%s %d\n", policies[below(g, 3)], below(g, 2));
}

/* What a task does: something to itself, to another one, or to the scheduler. */
static void print_deed(struct generator *g, int id)
{
    int kind = below(g, 100);
    int other = 1 + below(g, g->tasks);
    int run = 1 + below(g, 3);
    if (kind < 35 && id + 1 < g->top) {
        printf("does %d %d ", id, run < 3 ? 1 : 2);
        print_schedule(g, g->top--);
        return;
    }
    printf("does %d %d ", id, run);
    if (kind < 45)
        printf("cancel %d %d\n", id, below(g, 2));
    else if (kind < 60)
        printf("cancel %d %d\n", other, below(g, 2));
    else if (kind < 66)
        printf("remove %d\n", other);
    else if (kind < 72)
        print_core(g);
    else if (kind < 80)
        print_policy(g);
    else if (kind < 88)
        print_shutdown(g);
    else if (kind < 95 || !g->single)
        printf("future %d\n", chance(g, 70) ? id : other);
    else
        puts("pool");
}

static int task_length(struct generator *g)
{
    if (chance(g, 45))
        return 0;
    return g->single ? 2 + 2 * below(g, 5) : LANES + LANES * below(g, 2);
}

static void print_tasks(struct generator *g)
{
    for (int id = 1; id <= g->tasks; id++)
        printf("task %d %d %d\n", id, task_length(g), chance(g, 18) ? 1 + below(g, 3) : 0);
    for (int id = 1; id <= g->tasks; id++)
        for (int deeds = chance(g, 45) ? 1 + below(g, 2) : 0; deeds > 0; deeds--)
            print_deed(g, id);
    g->shut = false; /* was said by tasks, which have not run yet */
}

static void print_wait(struct generator *g)
{
    int ticks = below(g, 24);
    g->waiters++;
    if (chance(g, 40))
        printf("await %d\n", ticks);
    else
        printf("get %d %d\n", some_task(g), ticks);
}

static void print_driver_operation(struct generator *g, bool late)
{
    int kind = below(g, 100);
    printf("at %d ", g->tick);
    if (g->scheduled < g->top && (kind < 55 || g->scheduled < 2))
        print_schedule(g, ++g->scheduled);
    else if (late && !g->shut && kind >= 75)
        print_shutdown(g);
    else if (kind < 18)
        printf("cancel %d %d\n", some_task(g), below(g, 2));
    else if (kind < 23)
        printf("remove %d\n", some_task(g));
    else if (kind < 28)
        puts("purge");
    else if (kind < 33)
        print_core(g);
    else if (kind < (g->shut ? 55 : 42))
        print_policy(g);
    else if (kind < 62)
        printf("future %d\n", some_task(g));
    else if (kind < 72 && g->waiters < 4)
        print_wait(g);
    else
        puts("pool");
}

static void print_scenario(struct generator *g, int number)
{
    static const int cores[] = {0, 1, 1, 1, 2, 2, 3};
    int core = cores[below(g, (int)(sizeof(cores) / sizeof(cores[0])))];
    g->single = core < 2;
    g->far = chance(g, 25);
    g->tasks = 2 + below(g, g->single ? 6 : 4);
    int operations = 8 + below(g, 10);
    printf("scenario %d %d %d %d %d\n", number, core, chance(g, 75), chance(g, 25), chance(g, 50));
    g->top = g->tasks;
    print_tasks(g);
    g->tick = 1;
    for (int i = 0; i < operations; i++) {
        print_driver_operation(g, i > operations / 2);
        if (g->scheduled == g->top && i > operations / 3)
            g->scheduled = g->tasks;
        g->tick += 2 + 2 * below(g, chance(g, 30) ? 6 : 2);
    }
    printf("end %d\n", g->tick + 2 * below(g, 8));
}

void generate_scenarios(uint64_t seed, int count)
{
    for (int i = 0; i < count; i++) {
        struct generator g = {.state = seed + (uint64_t)i * UINT64_C(0x632be59bd9b4e019)};
        print_scenario(&g, i);
    }
}
