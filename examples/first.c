/* SPDX-License-Identifier: Apache-2.0 */
/* first.c - the first program: a task and its future, a fixed rate, and a cron job in a time zone */
#include <hora/hora.h>
#include <stdio.h>

static int say(void *text, void **ret_result)
{
    return puts(*ret_result = text) < 0; /* 0 means success */
}

int main(void)
{
    hora_scheduler *pool; /* a pool whose tasks may have times */
    hora_future *now;
    const hora_schedule *paris = HORA_SCHEDULE(.cron = "* * * * * *", .zone = "Europe/Paris");
    return hora_scheduler_new(NULL, &pool, NULL) < 0 ||
           hora_pool_submit(pool, HORA_TASK(say, "now"), &now) < 0 || hora_future_get(now, NULL) < 0 ||
           hora_future_unref(now) != NULL ||
           hora_scheduler_schedule_at_fixed_rate(pool, HORA_TASK(say, "tick"), 0, HORA_MS(400), NULL) < 0 ||
           hora_scheduler_schedule_with(pool, HORA_TASK(say, "second in Paris"), paris, NULL, NULL) < 0 ||
           hora_sleep(HORA_MS(1500)) < 0 || hora_scheduler_close(pool) < 0 || hora_scheduler_free(pool) < 0;
}
