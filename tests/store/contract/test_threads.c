/* SPDX-License-Identifier: Apache-2.0 */
/* test_threads.c - the contract of threads: clients call at any time while a node exchanges
 *
 * Clients put, change and look at tasks of their own. The node claims and settles everything. In the end each
 * task that was put has ended in exactly one way: done once, or cancelled. */
#include "contract.h"

#include <pthread.h>
#include <stdatomic.h>

enum { CLIENTS = 3, ROUNDS = 120 };

struct client {
    pthread_t thread;
    int number;
    int64_t put, cancelled;
};

static atomic_int clients_left;

static int ignore_task(hora_durable_info *info, const char *definition, void *arg)
{
    (void)definition;
    CHECK(info->handler != NULL && info->handler[0] == 'h');
    ++*(int64_t *)arg;
    return 0;
}

static int ignore_record(const hora_run_record *record, void *arg)
{
    CHECK_INT(record->outcome, HORA_RUN_SUCCEEDED);
    ++*(int64_t *)arg;
    return 0;
}

static void look_around(void)
{
    hora_error error;
    int64_t count = 0, deleted;
    hora_durable_filter filter = {.struct_size = (uint32_t)sizeof filter, .limit = 100};
    hora_history_filter history = {.struct_size = (uint32_t)sizeof history, .limit = 100};
    hora_store_stats stats = HORA_INIT(hora_store_stats);
    CHECK_OK(backend->ops->list(backend, &filter, ignore_task, &count, &error));
    CHECK_OK(backend->ops->history(backend, &history, ignore_record, &count, &error));
    CHECK_OK(backend->ops->trim(backend, 1, &deleted, &error));
    CHECK_OK(backend->ops->stats(backend, &stats, &error));
    CHECK_OK(backend->ops->wake(backend, &error));
}

/* One round: a batch of three, one of which may be cancelled, and changes of what may be gone already. */
static void make_round(struct client *client, int round)
{
    char key[32];
    hora_error error;
    snprintf(key, sizeof key, "%d.%d", client->number, round);
    hora__put puts[] = {PUT(.key = key, .payload = {key, strlen(key)}, .history = true), PUT(.lane = 0),
                        PUT()};
    hora__put_done done[3];
    size_t wrong;
    CHECK_OK(backend->ops->put(backend, puts, 3, done, &wrong, &error));
    client->put += 3;
    if (round % 4 == 0) {
        hora__change cancel = {.kind = HORA__CHANGE_CANCEL, .id = done[2].id};
        int result = backend->ops->change(backend, &cancel, &error);
        CHECK(result >= 0);
        client->cancelled += result == HORA_CANCEL_REMOVED;
    }
    if (round % 4 == 1) {
        hora__change pause = {.kind = HORA__CHANGE_PAUSE, .key = key};
        int result = backend->ops->change(backend, &pause, &error);
        CHECK(result == 1 || result == HORA_ENOENT);
        pause.kind = HORA__CHANGE_RESUME;
        result = backend->ops->change(backend, &pause, &error);
        CHECK(result == 1 || result == HORA_ENOENT);
    }
    if (round % 16 == 3)
        look_around();
}

static void *run_client(void *arg)
{
    struct client *client = arg;
    for (int round = 0; round < ROUNDS; round++)
        make_round(client, round);
    atomic_fetch_sub(&clients_left, 1);
    return NULL;
}

CONTRACT(threads_put_while_a_node_exchanges)
{
    enum { BATCH = 64 };
    static hora__settle settles[4 * BATCH];
    static hora__settled settled[4 * BATCH];
    static struct client clients[CLIENTS];
    hora__lease node = join();
    atomic_store(&clients_left, CLIENTS);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){.number = i};
        CHECK_INT(pthread_create(&clients[i].thread, NULL, run_client, &clients[i]), 0);
    }
    int64_t done = 0;
    size_t count = 0;
    for (bool last = false;;) {
        last = atomic_load(&clients_left) == 0;
        CHECK_OK(exchange_with(&node, (hora__exchange){.renew = true,
                                                       .settles = settles,
                                                       .settle_count = count,
                                                       .ret_settled = settled,
                                                       .horizon_us = SECOND,
                                                       .claim_limit = {BATCH, BATCH, BATCH, BATCH}}));
        for (size_t i = 0; i < count; i++)
            done += CHECK_INT(settled[i], HORA__SETTLED_OK);
        count = exchanged.ret_claim_count;
        if (last && count == 0)
            break;
        for (size_t i = 0; i < count; i++) {
            hora__claim claim = exchanged.ret_claims[i];
            CHECK_INT(claim.attempt, 1);
            CHECK(claim.key == NULL || (claim.payload.size == strlen(claim.key) &&
                                        memcmp(claim.payload.data, claim.key, claim.payload.size) == 0));
            settles[i] = SETTLE(claim, node, DONE, .outcome = HORA_RUN_SUCCEEDED, .history = claim.history);
        }
        if (backend->ops->wake_fd(backend) >= 0)
            backend->ops->wake_drain(backend);
    }
    int64_t put = 0, cancelled = 0;
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(clients[i].thread, NULL);
        put += clients[i].put;
        cancelled += clients[i].cancelled;
    }
    CHECK_INT(done + cancelled, put);
    CHECK_INT(count_tasks(), 0);
    int64_t recorded = 0;
    hora_history_filter history = {.struct_size = (uint32_t)sizeof history};
    CHECK_OK(backend->ops->history(backend, &history, ignore_record, &recorded, &contract_error));
    CHECK_INT(recorded, CLIENTS * ROUNDS);
}
