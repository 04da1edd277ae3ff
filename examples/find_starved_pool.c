/* SPDX-License-Identifier: Apache-2.0 */
/* find_starved_pool.c - nothing gets done, and no processor is busy: what is the pool waiting for?
 *
 * A pool of two threads answers requests. Each request needs a key from another task of the same pool and
 * waits for it on a latch. Two requests at once occupy both threads, and the tasks that would deliver the
 * keys wait behind them. The event `stuck` says which workers make no progress. hora_future_explain says why
 * a key does not arrive: all workers are busy with requests. The pool waits for itself.
 *
 * With grow_after, a third thread starts as soon as a task has waited for 100 ms while the threads are
 * blocked. The event `resized` gives the reason, and all tasks complete. */
#line 11 "find_starved_pool.c" /* independent of the build directory */
#include <stdio.h>

#include <hora/hora.h>

enum { REQUESTS = 2 };

static hora_virtual_clock *time_machine;
static const hora_clock *now_clock;

struct request {
    hora_latch *key;
};

static void on_stuck(hora_pool *pool, const hora_event *event, void *arg)
{
    int *stuck = arg;
    (void)pool;
    ++*stuck;
    printf("  %4d ms  stuck: a worker has been busy with %s for %d ms, without progress\n",
           (int)(hora_clock_now(now_clock) / HORA_MS(1)), event->task->name,
           (int)(event->quiet / HORA_MS(1)));
}

static void on_resized(hora_pool *pool, const hora_event *event, void *arg)
{
    (void)pool;
    (void)arg;
    printf("  %4d ms  resized: from %d threads to %d: %s\n", (int)(hora_clock_now(now_clock) / HORA_MS(1)),
           event->threads_before, event->threads, event->why);
}

static int answer(void *arg, void **ret_result)
{
    struct request *request = arg;
    (void)ret_result;
    return hora_latch_await(request->key) < 0 ? 1 : 0;
}

static int bring_key(void *arg, void **ret_result)
{
    struct request *request = arg;
    (void)ret_result;
    return hora_latch_count_down(request->key) < 0 ? 1 : 0;
}

static int explain(hora_future *future)
{
    char why[HORA_EXPLAIN_TEXT];
    int error = hora_future_explain(future, why, sizeof why);
    printf("  explain: %s\n", why);
    return error < 0;
}

/* Serves all requests with one pool. Returns how many calls and checks failed. */
static int serve(hora_ns grow_after)
{
    int stuck = 0, faults = 0;
    hora_pool *pool;
    struct request requests[REQUESTS];
    hora_future *keys[REQUESTS];
    const hora_listener *listener = HORA_LISTENER(.stuck = on_stuck, .resized = on_resized, .arg = &stuck);
    if (hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 2, .max_threads = grow_after > 0 ? 4 : 0,
                                        .keep_alive = HORA_SECONDS(1), .clock = now_clock,
                                        .listener = listener,
                                        .watchdog = HORA_WATCHDOG(.stuck_after = HORA_MS(500)),
                                        .grow_after = grow_after),
                      &pool, NULL) < 0)
        return 1;
    for (int i = 0; i < REQUESTS; i++) {
        faults += hora_latch_new(1, HORA_LATCH_OPTIONS(.clock = now_clock), &requests[i].key, NULL) < 0;
        faults += hora_pool_execute(pool, HORA_TASK(answer, &requests[i], .name = "answer")) < 0;
    }
    faults += hora_virtual_clock_settle(time_machine) < 0;
    for (int i = 0; i < REQUESTS; i++)
        faults += hora_pool_submit(pool, HORA_TASK(bring_key, &requests[i], .name = "key"), &keys[i]) < 0;
    faults += hora_virtual_clock_run(time_machine, HORA_MS(800)) < 0;
    faults += explain(keys[1]);
    if (grow_after == 0)
        for (int i = 0; i < REQUESTS; i++)
            faults += hora_latch_count_down(requests[i].key) < 0; /* another pool delivers the keys */
    faults += stuck != (grow_after == 0 ? REQUESTS : 0);
    faults += hora_virtual_clock_run(time_machine, HORA_SECONDS(2)) < 0;
    faults += hora_pool_close(pool) < 0 || hora_pool_free(pool) != 0;
    for (int i = 0; i < REQUESTS; i++) {
        (void)hora_future_unref(keys[i]);
        faults += hora_latch_free(requests[i].key) < 0;
    }
    return faults;
}

int main(void)
{
    if (hora_virtual_clock_new(NULL, &time_machine, NULL) < 0)
        return 1;
    now_clock = hora_virtual_clock_view(time_machine, HORA_CLOCK_MONOTONIC);
    printf("two threads:\n");
    int faults = serve(0);
    printf("two threads, and more if tasks wait for longer than 100 ms while threads are blocked:\n");
    faults += serve(HORA_MS(100));
    return faults != 0 || hora_virtual_clock_free(time_machine) < 0;
}
