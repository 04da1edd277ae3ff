/* SPDX-License-Identifier: Apache-2.0 */
/* scheduled.c - functions that declare when they run
 *
 * There is no list of them: the registrar finds them in the program. It is bound without a scheduler, so it
 * creates its own. The program ends when each of the three has run; the registrar waits for a run in
 * progress. */
#include <stdatomic.h>
#include <stdio.h>

#include <hora/hora.h>

static hora_latch *all_have_run;

static int note_first(atomic_int *runs)
{
    return atomic_fetch_add(runs, 1) == 0 ? hora_latch_count_down(all_have_run) : 0;
}

HORA_SCHEDULED_FUNCTION(every_second, .cron = "* * * * * *", .zone = "UTC")
{
    static atomic_int runs;
    return note_first(&runs);
}

HORA_SCHEDULED_FUNCTION(heartbeat, .fixed_rate_text = "250ms")
{
    static atomic_int runs;
    return note_first(&runs);
}

HORA_SCHEDULED_FUNCTION(warm_up, .initial_delay_text = "PT0.1S")
{
    static atomic_int runs;
    return note_first(&runs);
}

int main(void)
{
    hora_registrar *registrar;
    hora_error error;
    if (hora_latch_new(3, NULL, &all_have_run, &error) < 0 ||
        hora_registrar_new(NULL, &registrar, &error) < 0 || hora_registrar_scan(registrar, &error) < 0 ||
        hora_registrar_bind(registrar, NULL, &error) < 0) {
        puts(error.message);
        return 1;
    }
    if (hora_registrar_count(registrar) != 3 || hora_latch_await(all_have_run) < 0)
        return 1;
    printf("all three have run\n");
    return hora_registrar_free(registrar) < 0 || hora_latch_free(all_have_run) < 0;
}
