/* SPDX-License-Identifier: Apache-2.0 */
/* store_consumer.c - a program that uses the installed libhora-store */
#include <stdio.h>

#include <hora/hora.h>
#include <hora/store.h>

static int count(const hora_run *run, void *arg)
{
    (void)run;
    ++*(int *)arg;
    return 0;
}

int main(void)
{
    hora_store *store;
    hora_durable *durable;
    hora_error error;
    int runs = 0;
    if (hora_store_open("memory:", NULL, &store, &error) < 0 ||
        hora_durable_new(store, NULL, &durable, &error) < 0 ||
        hora_durable_add_handler(durable, "count", count, &runs, NULL, &error) < 0 ||
        hora_durable_start(durable, &error) < 0 ||
        hora_store_put(store, HORA_DURABLE_TASK(.handler = "count"), NULL, &error) < 0) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    int idle = hora_durable_await_idle(durable, HORA_SECONDS(20));
    if (hora_durable_free(durable) < 0 || hora_store_close(store) < 0)
        return 1;
    printf("%d task ran from the store\n", runs);
    return idle < 0 || runs != 1;
}
