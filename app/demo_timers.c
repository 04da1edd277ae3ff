/* SPDX-License-Identifier: Apache-2.0 */
/* demo_timers.c - a hundred thousand timers at once
 *
 * Their memory belongs to the demo, in one block per hundred thousand, and stays until the scheduler has been
 * freed. So no timer has to be stopped on its own. */
#include <stddef.h>
#include <stdlib.h>

#include "command.h"
#include "demo.h"
#include "figures.h"

enum { BLOCK = 100000 };

/* Returns a pseudo-random delay from 0 to 10 s, most often about 5 s. */
static hora_ns delay_of(uint32_t *state)
{
    hora_ns sum = 0;
    for (int i = 0; i < 2; i++) {
        *state = *state * 1664525u + 1013904223u;
        sum += HORA_US(*state >> 12) * 5000000 / (1 << 20);
    }
    return sum;
}

static int expire(void *arg)
{
    (void)arg;
    return 0;
}

int demo_timers_add(struct demo *demo)
{
    if (demo->timer_blocks == DEMO_TIMER_BLOCKS)
        return 0;
    hora_timer *block = memory(BLOCK * sizeof *block);
    demo->timers[demo->timer_blocks++] = block;
    hora_ns begin = demo_now();
    uint32_t state = (uint32_t)demo->timer_blocks;
    int error = 0;
    int count = 0;
    while (count < BLOCK && error >= 0) {
        error = hora_timer_init(&block[count], expire, NULL);
        if (error == 0)
            error = hora_timer_start(&block[count], demo->scheduler, delay_of(&state));
        count += error >= 0;
    }
    demo->timer_count += count;
    demo_log_add(demo, STYLE_INFO, "%s timers started in %s", COUNT(count), DURATION(demo_now() - begin));
    return error < 0 ? error : count;
}

void demo_timers_free(struct demo *demo)
{
    for (int i = 0; i < demo->timer_blocks; i++)
        free(demo->timers[i]);
}
