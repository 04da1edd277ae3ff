/* SPDX-License-Identifier: Apache-2.0 */
/* test_chains.c - long chains of futures in which each end causes the next: they need no stack */
#include <stdlib.h>
#include <string.h>

#include "pool_support.h"

enum { LONG_CHAIN = 100000, SHORT_CHAIN = 20 };

struct link {
    struct chain *chain;
    hora_future *future;
    int number;
};

struct chain {
    struct link *links;
    int length;
    atomic_int calls;
    int depth;   /* of callbacks and destructors, now */
    int deepest; /* and ever */
};

static void chain_open(struct chain *chain)
{
    int most = BUILT_WITH_TSAN ? LONG_CHAIN / 10 : LONG_CHAIN; /* ThreadSanitizer takes far longer */
    *chain = (struct chain){.length = test_simulated() ? SHORT_CHAIN : most};
    chain->links = calloc((size_t)chain->length, sizeof *chain->links);
    for (int i = 0; i < chain->length; i++)
        chain->links[i] = (struct link){.chain = chain, .number = i};
}

static void chain_close(struct chain *chain)
{
    CHECK_INT(chain->calls, chain->length);
    CHECK_INT(chain->deepest, 1);
    free(chain->links);
}

/* Called at the beginning of each callback, in the order of the chain: the next link, NULL at the end. */
static struct link *enter(struct link *link)
{
    struct chain *chain = link->chain;

    CHECK_INT(chain->calls++, link->number);
    if (++chain->depth > chain->deepest)
        chain->deepest = chain->depth;
    return link->number + 1 < chain->length ? link + 1 : NULL;
}

static void leave(const struct link *link)
{
    link->chain->depth--;
}

static void complete_next(hora_future *future, void *arg)
{
    const struct link *next = enter(arg);

    (void)future;
    if (next != NULL)
        CHECK_INT(hora_future_complete(next->future, NULL), 1);
    leave(arg);
}

static void make_promises(struct chain *chain)
{
    for (int i = 0; i < chain->length; i++)
        CHECK_OK(hora_future_new_promise(NULL, &chain->links[i].future));
}

static void release(struct chain *chain)
{
    for (int i = 0; i < chain->length; i++)
        (void)hora_future_unref(chain->links[i].future);
}

TEST(chain_of_promises, "")
{
    struct chain chain;

    chain_open(&chain);
    make_promises(&chain);
    for (int i = 0; i < chain.length; i++)
        CHECK_OK(hora_future_on_done(chain.links[i].future, complete_next, &chain.links[i], NULL));
    CHECK_INT(hora_future_complete(chain.links[0].future, NULL), 1);
    CHECK_INT(chain.calls, chain.length); /* all of it, before that returns */
    release(&chain);
    chain_close(&chain);
}

static void listen_to_next(hora_future *future, void *arg)
{
    struct link *next = enter(arg);

    (void)future;
    if (next != NULL)
        CHECK_OK(hora_future_on_done(next->future, listen_to_next, next, NULL));
    leave(arg);
}

TEST(chain_of_callbacks_on_futures_that_are_done, "")
{
    struct chain chain;

    chain_open(&chain);
    make_promises(&chain);
    for (int i = 0; i < chain.length; i++)
        CHECK_INT(hora_future_fail(chain.links[i].future, 1), 1);
    CHECK_OK(hora_future_on_done(chain.links[0].future, listen_to_next, &chain.links[0], NULL));
    release(&chain);
    chain_close(&chain);
}

static int never(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    CHECK(false);
    return 0;
}

static void cancel_next(void *arg)
{
    const struct link *next = enter(arg);

    if (next != NULL)
        CHECK_INT(hora_future_cancel(next->future, false), HORA_CANCEL_REMOVED);
    leave(arg);
}

TEST(chain_of_cancels, "")
{
    struct chain chain;

    chain_open(&chain);
    for (int i = 0; i < chain.length; i++)
        CHECK_OK(
            hora_future_new(HORA_TASK(never, &chain.links[i], .drop = cancel_next), &chain.links[i].future));
    CHECK_INT(hora_future_cancel(chain.links[0].future, true), HORA_CANCEL_REMOVED);
    release(&chain);
    chain_close(&chain);
}

/* The same of tasks that are queued. */
TEST(chain_of_cancels_in_a_pool, "")
{
    struct rig r;
    struct chain chain;

    rig_open_occupied(&r);
    chain_open(&chain);
    for (int i = 0; i < chain.length; i++)
        CHECK_OK(hora_pool_submit(r.pool, HORA_TASK(never, &chain.links[i], .drop = cancel_next),
                                  &chain.links[i].future));
    CHECK_INT(hora_future_cancel(chain.links[0].future, true), HORA_CANCEL_REMOVED);
    release(&chain);
    chain_close(&chain);
    rig_close(&r);
}

static void unref_next(void *arg)
{
    const struct link *next = enter(arg);

    if (next != NULL)
        (void)hora_future_unref(next->future);
    leave(arg);
}

TEST(chain_of_last_references, "")
{
    struct chain chain;

    chain_open(&chain);
    for (int i = 0; i < chain.length; i++)
        CHECK_OK(
            hora_future_new(HORA_TASK(never, &chain.links[i], .drop = unref_next), &chain.links[i].future));
    (void)hora_future_unref(chain.links[0].future);
    chain_close(&chain);
}

TEST(chain_of_last_references_by_results, "")
{
    struct chain chain;

    chain_open(&chain);
    for (int i = 0; i < chain.length; i++) {
        CHECK_OK(hora_future_new_promise(unref_next, &chain.links[i].future));
        CHECK_INT(hora_future_complete(chain.links[i].future, &chain.links[i]), 1);
    }
    (void)hora_future_unref(chain.links[0].future);
    chain_close(&chain);
}

TEST(chain_of_last_references_to_scheduled_futures, "")
{
    struct rig r;
    struct chain chain;
    hora_scheduler *scheduler;

    rig_open_occupied(&r);
    chain_open(&chain);
    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &scheduler, NULL));
    for (int i = 0; i < chain.length; i++) {
        CHECK_OK(hora_scheduler_schedule(scheduler, HORA_TASK(never, &chain.links[i], .drop = unref_next),
                                         HORA_FOREVER, &chain.links[i].future));
        CHECK_INT(hora_pool_remove(scheduler, chain.links[i].future), 1);
    }
    (void)hora_future_unref(chain.links[0].future);
    chain_close(&chain);
    CHECK_OK(hora_pool_free(scheduler));
    rig_close(&r);
}

static int end_chain(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

/* Members of a group, which counts at once what ends in a callback. */
TEST(chain_of_group_members, "")
{
    struct chain chain;
    hora_group *group;

    chain_open(&chain);
    CHECK_OK(hora_group_new(NULL, &group, NULL));
    make_promises(&chain);
    for (int i = 0; i < chain.length; i++) {
        CHECK_OK(hora_future_on_done(chain.links[i].future, complete_next, &chain.links[i], NULL));
        CHECK_OK(hora_group_add(group, chain.links[i].future));
    }
    CHECK_INT(hora_future_complete(chain.links[0].future, NULL), 1);
    CHECK_INT(hora_group_pending(group), 0);
    release(&chain);
    CHECK_OK(hora_group_free(group));
    chain_close(&chain);
}

struct service {
    hora_executor executor;
    hora_completion_service *completion;
    hora_future *last;
};

/* An executor that keeps each future, and leaves it to the callback of the one before. */
static int keep(hora_future *future, void *self)
{
    struct service *service = self;

    service->last = hora_future_ref(future);
    return 0;
}

static void run_next(hora_future *future, void *arg)
{
    const struct link *next = enter(arg);

    (void)future;
    if (next != NULL)
        CHECK_INT(hora_future_run(next->future), 1);
    leave(arg);
}

TEST(chain_of_a_completion_service, "")
{
    struct chain chain;
    struct service service = {.executor = {.execute = keep, .arg = &service}};
    hora_completion_service *completion;
    hora_future *future;

    chain_open(&chain);
    CHECK_OK(hora_completion_service_new(&service.executor, NULL, &completion));
    for (int i = 0; i < chain.length; i++) {
        CHECK_OK(hora_completion_service_submit(completion, HORA_TASK(end_chain, NULL), NULL));
        chain.links[i].future = service.last;
        CHECK_OK(hora_future_on_done(service.last, run_next, &chain.links[i], NULL));
    }
    CHECK_INT(hora_future_run(chain.links[0].future), 1);
    for (int i = 0; i < chain.length; i++) {
        CHECK_OK(hora_completion_service_poll(completion, &future));
        CHECK_POINTER(future, chain.links[i].future);
        (void)hora_future_unref(future);
    }
    release(&chain);
    CHECK_OK(hora_completion_service_free(completion));
    chain_close(&chain);
}

/* ---- groups and completion services, in a callback ---- */

static hora_group *a_group;
static hora_future *a_promise;

static void nothing(hora_future *future, void *context)
{
    (void)future;
    (void)context;
}

static void complete_and_await(hora_future *future, void *context)
{
    (void)future;
    (void)context;
    CHECK_INT(hora_future_complete(a_promise, NULL),
              1); /* its callback has to wait for the end of this one */
    CHECK_OK(hora_group_add(a_group, a_promise));
    CHECK_INT(hora_group_pending(a_group), 0);
    CHECK_OK(hora_group_await(a_group));
}

/* A future that is done does not become pending, even if its callbacks have yet to be called. */
TEST(group_in_a_callback_does_not_wait_for_what_is_done, "")
{
    hora_future *first;

    CHECK_OK(hora_group_new(NULL, &a_group, NULL));
    CHECK_OK(hora_future_new_promise(NULL, &first));
    CHECK_OK(hora_future_new_promise(NULL, &a_promise));
    CHECK_OK(hora_future_on_done(a_promise, nothing, NULL, NULL));
    CHECK_OK(hora_future_on_done(first, complete_and_await, NULL, NULL));
    CHECK_INT(hora_future_complete(first, NULL), 1);
    (void)hora_future_unref(first);
    (void)hora_future_unref(a_promise);
    CHECK_OK(hora_group_free(a_group));
}

static void await_own_group(hora_future *future, void *context)
{
    CHECK(hora_future_is_done(future));
    CHECK_OK(hora_group_await(a_group));
    ++*(int *)context;
}

/* A callback that was registered before its future became a member waits for the group. */
TEST(group_of_a_future_is_empty_in_its_callbacks, "")
{
    int calls = 0;

    CHECK_OK(hora_group_new(NULL, &a_group, NULL));
    for (int when = 0; when < 2; when++) {
        CHECK_OK(hora_future_new_promise(NULL, &a_promise));
        CHECK_OK(hora_future_on_done(a_promise, await_own_group, &calls, NULL));
        CHECK_OK(hora_future_on_done(a_promise, await_own_group, &calls, NULL));
        CHECK_OK(hora_group_add(a_group, a_promise));
        CHECK_OK(hora_group_add(a_group, a_promise));
        CHECK_INT(hora_group_pending(a_group), 2);
        CHECK_INT(when == 0 ? hora_future_complete(a_promise, NULL) : hora_future_fail(a_promise, 1), 1);
        (void)hora_future_unref(a_promise);
    }
    CHECK_INT(calls, 4);
    CHECK_INT(hora_group_failed(a_group), 2);
    CHECK_OK(hora_group_free(a_group));
}

static void take_own(hora_future *future, void *context)
{
    hora_future *taken;

    CHECK_OK(hora_completion_service_take(context, &taken));
    CHECK_POINTER(taken, future);
    (void)hora_future_unref(taken);
}

/* An executor whose futures have a callback before the completion service gets to see them. */
static int listen_and_keep(hora_future *future, void *self)
{
    struct service *service = self;

    CHECK_OK(hora_future_on_done(future, take_own, service->completion, NULL));
    service->last = hora_future_ref(future);
    return 0;
}

TEST(completion_service_has_a_future_in_its_callbacks, "")
{
    struct service service = {.executor = {.execute = listen_and_keep, .arg = &service}};

    CHECK_OK(hora_completion_service_new(&service.executor, NULL, &service.completion));
    CHECK_OK(hora_completion_service_submit(service.completion, HORA_TASK(end_chain, NULL), NULL));
    CHECK_INT(hora_future_run(service.last), 1);
    (void)hora_future_unref(service.last);
    CHECK_OK(hora_completion_service_free(service.completion));
}

/* ---- the order ---- */

static char text[16];
static int written;

static void note(char what)
{
    text[written++] = what;
    text[written] = '\0';
}

static hora_future *second;

static void note_a(hora_future *future, void *context)
{
    (void)future;
    (void)context;
    note('a');
    CHECK_INT(hora_future_complete(second, NULL), 1);
    CHECK(hora_future_is_done(second));
    note('A');
}

static void note_b(hora_future *future, void *context)
{
    (void)future;
    (void)context;
    note('b');
}

static void note_c(hora_future *future, void *context)
{
    (void)context;
    note('c');
    CHECK_OK(hora_future_on_done(future, note_b, NULL, NULL));
    note('C');
}

/* First all callbacks of the future that was completed first. */
TEST(chain_keeps_the_order_of_callbacks, "")
{
    hora_future *first;

    written = 0;
    CHECK_OK(hora_future_new_promise(NULL, &first));
    CHECK_OK(hora_future_new_promise(NULL, &second));
    CHECK_OK(hora_future_on_done(first, note_a, NULL, NULL));
    CHECK_OK(hora_future_on_done(first, note_b, NULL, NULL));
    CHECK_OK(hora_future_on_done(second, note_c, NULL, NULL));
    CHECK_OK(hora_future_on_done(second, note_b, NULL, NULL));
    CHECK_INT(hora_future_complete(first, NULL), 1);
    CHECK(strcmp(text, "aAbcCbb") == 0);
    (void)hora_future_unref(first);
    (void)hora_future_unref(second);
}

/* ---- tasks that wait for each other in their own pool ---- */

static hora_pool *pool;
static atomic_int deadlocks;

static int submit_and_wait(void *arg, void **ret_result)
{
    struct link *link = arg;
    hora_future *future;

    (void)ret_result;
    link->chain->calls++;
    if (link->number + 1 == link->chain->length)
        return 0;
    CHECK_OK(hora_pool_submit(pool, HORA_TASK(submit_and_wait, link + 1), &future));
    int error = hora_future_get(future, NULL);
    CHECK(error == 0 || error == HORA_EDEADLK);
    deadlocks += error == HORA_EDEADLK;
    (void)hora_future_unref(future);
    return 0;
}

/* Each runs the next one on its own stack, but not to any depth. Where a wait would never end it is refused;
 * then all tasks run in the end. */
static void wait_in_a_chain(int threads, bool detached)
{
    struct chain chain;
    hora_future *first;

    chain_open(&chain);
    if (test_simulated())
        chain.length = 150;
    chain.links = realloc(chain.links, (size_t)chain.length * sizeof *chain.links);
    for (int i = 0; i < chain.length; i++)
        chain.links[i] = (struct link){.chain = &chain, .number = i};
    deadlocks = 0;
    CHECK_OK(hora_pool_new_fixed(threads, HORA_POOL_OPTIONS(.stack_size = 128 << 10), &pool, NULL));
    if (detached) {
        CHECK_OK(hora_pool_execute(pool, HORA_TASK(submit_and_wait, &chain.links[0])));
    } else {
        CHECK_OK(hora_pool_submit(pool, HORA_TASK(submit_and_wait, &chain.links[0]), &first));
        CHECK_OK(hora_future_get(first, NULL));
        (void)hora_future_unref(first);
    }
    CHECK_OK(hora_pool_await_idle_for(pool, HORA_FOREVER));
    CHECK_INT(chain.calls, chain.length);
    CHECK(threads > 1 || deadlocks > 0);
    CHECK_OK(hora_pool_free(pool));
    free(chain.links);
}

TEST(chain_of_waits_on_one_thread, "")
{
    wait_in_a_chain(1, false);
    wait_in_a_chain(1, true);
}

TEST(chain_of_waits_on_four_threads, "")
{
    wait_in_a_chain(4, false);
}

/* ---- pools that wait for each other ---- */

static hora_pool *pools[2];
static hora_latch *both;
static atomic_int waits_that_ended;

static int count_run(void *arg, void **ret_result)
{
    (void)ret_result;
    (*(atomic_int *)arg)++;
    return 0;
}

static atomic_int cross_runs;

static int wait_for_the_other_pool(void *arg, void **ret_result)
{
    hora_future *future;

    (void)ret_result;
    CHECK_OK(hora_latch_count_down(both));
    CHECK_OK(hora_latch_await(both)); /* both workers are busy: what they submit is queued */
    CHECK_OK(hora_pool_submit(arg, HORA_TASK(count_run, &cross_runs), &future));
    int error = hora_future_get(future, NULL);
    CHECK(error == 0 || error == HORA_EDEADLK);
    deadlocks += error == HORA_EDEADLK;
    waits_that_ended += error == 0;
    (void)hora_future_unref(future);
    return 0;
}

static void cross_wait(int threads)
{
    hora_future *futures[2];

    deadlocks = waits_that_ended = cross_runs = 0;
    CHECK_OK(hora_latch_new(2, NULL, &both, NULL));
    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_pool_new_fixed(i == 0 ? threads : 1, NULL, &pools[i], NULL));
    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_pool_submit(pools[i], HORA_TASK(wait_for_the_other_pool, pools[1 - i]), &futures[i]));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(hora_future_get(futures[i], NULL));
        (void)hora_future_unref(futures[i]);
    }
    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_pool_close_for(pools[i], HORA_FOREVER));
    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_pool_free(pools[i]));
    CHECK_INT(cross_runs, 2);
    CHECK_OK(hora_latch_free(both));
}

TEST(pools_that_wait_for_each_other_are_told, "")
{
    cross_wait(1);
    CHECK(deadlocks >= 1);
}

/* One of the pools has another thread, so no wait is reported as a deadlock. */
TEST(pools_that_wait_for_each_other_with_a_thread_to_spare, "")
{
    cross_wait(2);
    CHECK_INT(deadlocks, 0);
    CHECK_INT(waits_that_ended, 2);
}

/* ---- what must not be put off ---- */

static hora_future_storage storage;
static hora_future *in_storage;

static void cancel_and_reclaim(hora_future *future, void *context)
{
    (void)future;
    CHECK_INT(hora_future_cancel(in_storage, false), HORA_CANCEL_REMOVED);
    CHECK_OK(hora_future_reclaim(in_storage));
    CHECK_JOB((struct job *)context, 0);
}

/* A future in memory of the caller, which is reclaimed in a callback. */
TEST(chain_does_not_put_off_what_is_reclaimed, "")
{
    struct job job = A_JOB(NULL);
    hora_future *promise;

    CHECK_OK(hora_future_init(&storage, JOB(&job), &in_storage));
    CHECK_OK(hora_future_new_promise(NULL, &promise));
    CHECK_OK(hora_future_on_done(promise, cancel_and_reclaim, &job, NULL));
    CHECK_INT(hora_future_complete(promise, NULL), 1);
    (void)hora_future_unref(promise);
}
