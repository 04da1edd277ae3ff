/* SPDX-License-Identifier: Apache-2.0 */
/* test_chains.c - long chains in which the end of one future brings about the end of the next: they need no stack */
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
    *chain = (struct chain){.length = test_simulated() ? SHORT_CHAIN : LONG_CHAIN};
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
        CHECK_OK(hora_future_on_done(chain.links[i].future, complete_next, &chain.links[i]));
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
        CHECK_OK(hora_future_on_done(next->future, listen_to_next, next));
    leave(arg);
}

TEST(chain_of_callbacks_on_futures_that_are_done, "")
{
    struct chain chain;

    chain_open(&chain);
    make_promises(&chain);
    for (int i = 0; i < chain.length; i++)
        CHECK_INT(hora_future_fail(chain.links[i].future, 1), 1);
    CHECK_OK(hora_future_on_done(chain.links[0].future, listen_to_next, &chain.links[0]));
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
        CHECK_OK(hora_future_new(HORA_TASK(never, &chain.links[i], .drop = cancel_next), &chain.links[i].future));
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
        CHECK_OK(
            hora_pool_submit(r.pool, HORA_TASK(never, &chain.links[i], .drop = cancel_next), &chain.links[i].future));
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
        CHECK_OK(hora_future_new(HORA_TASK(never, &chain.links[i], .drop = unref_next), &chain.links[i].future));
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
        CHECK_OK(hora_scheduler_schedule(scheduler, HORA_TASK(never, &chain.links[i], .drop = unref_next), HORA_FOREVER,
                                         &chain.links[i].future));
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
    CHECK_OK(hora_group_new(NULL, &group));
    make_promises(&chain);
    for (int i = 0; i < chain.length; i++) {
        CHECK_OK(hora_future_on_done(chain.links[i].future, complete_next, &chain.links[i]));
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
        CHECK_OK(hora_future_on_done(service.last, run_next, &chain.links[i]));
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
    CHECK_OK(hora_future_on_done(future, note_b, NULL));
    note('C');
}

/* First all callbacks of the future that was completed first. */
TEST(chain_keeps_the_order_of_callbacks, "")
{
    hora_future *first;

    written = 0;
    CHECK_OK(hora_future_new_promise(NULL, &first));
    CHECK_OK(hora_future_new_promise(NULL, &second));
    CHECK_OK(hora_future_on_done(first, note_a, NULL));
    CHECK_OK(hora_future_on_done(first, note_b, NULL));
    CHECK_OK(hora_future_on_done(second, note_c, NULL));
    CHECK_OK(hora_future_on_done(second, note_b, NULL));
    CHECK_INT(hora_future_complete(first, NULL), 1);
    CHECK(strcmp(text, "aAbcCbb") == 0);
    (void)hora_future_unref(first);
    (void)hora_future_unref(second);
}
