/* SPDX-License-Identifier: Apache-2.0 */
/* fixture.c - a store and a durable scheduler on a virtual clock */
#include "fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int handle(const hora_run *run, void *arg)
{
    fixture *f = arg;
    int index = atomic_fetch_add(&f->run_count, 1);
    int now_in_progress = atomic_fetch_add(&f->in_progress, 1) + 1;
    int most = atomic_load(&f->most_in_progress);
    while (now_in_progress > most &&
           !atomic_compare_exchange_weak(&f->most_in_progress, &most, now_in_progress))
        ;
    if (index < FIXTURE_RUNS) {
        fixture_run_record *record = &f->runs[index];
        snprintf(record->key, sizeof record->key, "%s", run->key == NULL ? "" : run->key);
        snprintf(record->payload, sizeof record->payload, "%.*s", (int)run->payload_size,
                 run->payload == NULL ? "" : (const char *)run->payload);
        snprintf(record->idempotency_key, sizeof record->idempotency_key, "%s", run->idempotency_key);
        record->planned = run->planned;
        record->attempt = run->attempt;
        record->fence = run->fence;
        record->is_last = run->is_last_attempt;
        CHECK_OK(hora_clock_instant(hora_virtual_clock_view(f->clock, HORA_CLOCK_WALL), &record->started));
    }
    int code = index < f->fail_first ? HORA_EFAILED : 0;
    if (f->takes > 0 &&
        hora_clock_sleep(hora_virtual_clock_view(f->clock, HORA_CLOCK_MONOTONIC), f->takes) < 0)
        code = HORA_EINTERRUPTED;
    atomic_fetch_sub(&f->in_progress, 1);
    return code;
}

void fixture_open(fixture *f, const char *address, const hora_durable_options *options)
{
    hora_error error;
    memset(f, 0, sizeof *f);
    snprintf(f->address, sizeof f->address, "%s", address);
    CHECK_OK(hora_virtual_clock_new(HORA_VIRTUAL_CLOCK_OPTIONS(.wall = {FIXTURE_START}), &f->clock, NULL));
    CHECK_OK(hora_store_open(address,
                             HORA_STORE_OPTIONS(.clock = hora_virtual_clock_view(f->clock, HORA_CLOCK_WALL)),
                             &f->store, &error));
    hora_durable_options complete = HORA_INIT(hora_durable_options);
    if (options != NULL)
        complete = *options;
    complete.clock = f->clock;
    if (complete.threads == 0)
        complete.threads = 4;
    CHECK_OK(hora_durable_new(f->store, &complete, &f->durable, &error));
    CHECK_OK(hora_durable_add_handler(f->durable, "run", handle, f, NULL, &error));
}

void fixture_start(fixture *f)
{
    hora_error error;
    if (hora_durable_start(f->durable, &error) < 0)
        test_fail(__FILE__, __LINE__, "start: %s", error.message);
    CHECK_OK(hora_virtual_clock_settle(f->clock));
}

void fixture_close(fixture *f)
{
    CHECK_OK(hora_durable_free(f->durable));
    CHECK_OK(hora_store_close(f->store));
    CHECK_OK(hora_virtual_clock_free(f->clock));
}

void fixture_run(fixture *f, hora_ns time)
{
    CHECK_OK(hora_virtual_clock_run(f->clock, time));
}

int64_t fixture_put(fixture *f, const hora_durable_task *task)
{
    hora_put_result result = {0};
    hora_error error;
    if (hora_store_put(f->store, task, &result, &error) < 0)
        test_fail(__FILE__, __LINE__, "put: %s", error.message);
    return result.id;
}

double fixture_seconds(hora_instant instant)
{
    return (double)(instant.ns - FIXTURE_START) / 1e9;
}

static int count_one(const hora_durable_info *info, void *arg)
{
    (void)info;
    ++*(int64_t *)arg;
    return 0;
}

int64_t fixture_count(fixture *f, hora_durable_state state)
{
    int64_t count = 0;
    CHECK_OK(hora_store_list(f->store, HORA_DURABLE_FILTER(.state = state), count_one, &count, NULL));
    return count;
}

void fixture_each_store(void (*body)(const char *address))
{
    body("memory:");
#if defined(HORA_WITH_SQLITE)
    char folder[] = "/tmp/hora-durable-XXXXXX", address[128], file[128];
    if (mkdtemp(folder) == NULL) {
        test_fail(__FILE__, __LINE__, "no temporary folder");
        return;
    }
    snprintf(address, sizeof address, "sqlite://%s/store.db", folder);
    body(address);
    static const char *const names[] = {"store.db", "store.db-wal", "store.db-shm"};
    for (int i = 0; i < 3; i++) {
        snprintf(file, sizeof file, "%s/%s", folder, names[i]);
        unlink(file);
    }
    rmdir(folder);
#endif
}
