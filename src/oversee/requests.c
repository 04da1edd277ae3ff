/* SPDX-License-Identifier: Apache-2.0 */
/* requests.c - dumps that are asked for in signal handlers
 *
 * How it works      A signal handler may do next to nothing; but it may write to a descriptor. So there is an event, and a thread that sleeps on it
 *                   and writes the dump. The thread of the watch cannot be that one: it sleeps where only a thread with a lock can wake it.
 *                   Whatever is asked for while a dump is being written is one more dump.
 * The end           In hora_pool_free, before the pool goes: so the thread may use it. */
#include "oversee/requests.h"

#include <stddef.h>
#include <stdio.h>

#include <hora/explain.h>

#include "base/fault.h"
#include "sys/alloc.h"
#include "sys/event.h"
#include "sys/process.h"
#include "sys/thread.h"

struct hora__requests {
    struct hora__oversight *oversight; /* immutable */
    struct hora__event event;          /* posted by whoever wants something, consumed by the thread */
    hora__atomic is_wanted;            /* a dump, and nobody has begun it yet */
    hora__atomic is_closing;
    hora__atomic thread_id;
    hora_thread *prepared; /* written before the thread is started, which takes it */
    hora__os_thread os_thread;
};

/* Whether the thread goes on. */
static bool serve(struct hora__requests *requests)
{
    const struct hora__oversight_options *options = &requests->oversight->options;
    hora__event_wait(&requests->event, -1, -1);
    hora__event_consume(&requests->event); /* before looking: what comes now wakes it again */
    if (hora__atomic_load(&requests->is_closing))
        return false;
    if (!hora__atomic_cas(&requests->is_wanted, 1, 0))
        return true; /* woken for no reason, or for one that was served already */
    int error = hora_pool_dump(requests->oversight->pool, options->dump, options->dump_arg);
    if (HORA__FAULT(REQUEST_IS_FORGOTTEN))
        hora__atomic_store(&requests->is_wanted, 0);
    (void)error; /* whoever writes knows it; else it was the memory, and a dump can be asked for again */
    return true;
}

static void work(void *arg)
{
    while (serve(arg)) {
    }
}

/* Also if the user's function has ended the thread: then nobody writes any more. */
static void leave(void *arg)
{
    (void)arg;
    hora__thread_disown(hora__thread_existing());
}

static void begin(void *arg)
{
    struct hora__requests *requests = arg;
    (void)hora__thread_adopt(requests->prepared);
    hora__atomic_store(&requests->thread_id, hora__thread_id());
    hora__os_thread_guard(work, leave, requests);
    leave(requests);
}

static int start(struct hora__requests *requests)
{
    char name[48];
    (void)snprintf(name, sizeof name, "%sdump", requests->oversight->pool->name);
    struct hora__thread_spec spec = {.run = begin, .arg = requests, .name = name};
    int error = hora__thread_prepare(&requests->prepared);
    if (error < 0)
        return error;
    error = hora__os_thread_start(&spec, &requests->os_thread);
    if (error < 0)
        (void)hora_thread_unref(requests->prepared);
    return error;
}

int hora__requests_new(struct hora__oversight *oversight, struct hora__requests **ret_requests)
{
    *ret_requests = NULL;
    if (oversight->options.dump == NULL)
        return 0;
    struct hora__requests *requests = hora__alloc(1, sizeof *requests);
    if (requests == NULL)
        return HORA_ENOMEM;
    requests->oversight = oversight;
    hora__atomic_init(&requests->is_wanted, 0);
    hora__atomic_init(&requests->is_closing, 0);
    hora__atomic_init(&requests->thread_id, 0);
    int error = hora__event_init(&requests->event);
    if (error < 0)
        goto no_event;
    error = start(requests);
    if (error < 0)
        goto no_thread;
    *ret_requests = requests;
    return 0;
no_thread:
    hora__event_destroy(&requests->event);
no_event:
    hora__free(requests);
    return error;
}

void hora__requests_free(struct hora__requests *requests)
{
    if (requests == NULL)
        return;
    HORA__ORDER_FAULT(REQUESTS_CLOSE_RELAXED, memory_order_relaxed);
    hora__atomic_store(&requests->is_closing, 1);
    hora__event_post(&requests->event);
    hora__os_thread_join(requests->os_thread);
    hora__event_destroy(&requests->event);
    hora__free(requests);
}

bool hora__requests_is_me(struct hora__requests *requests)
{
    return requests != NULL && hora__atomic_load(&requests->thread_id) == hora__thread_id();
}

/* Perhaps in a signal handler, in the middle of anything: so it looks at what does not change, and writes to a descriptor. */
int hora_pool_request_dump(hora_pool *pool)
{
    if (pool == NULL)
        return HORA_EINVAL;
    if (pool->object.generation != hora__fork_generation())
        return HORA_EFORKED; /* the descriptor is the parent's as well */
    const struct hora__oversight *oversight = hora__pool_oversight(pool);
    struct hora__requests *requests = oversight != NULL ? oversight->requests : NULL;
    if (requests == NULL)
        return HORA_ENOTSUP;
    hora__atomic_store(&requests->is_wanted, 1);
    hora__event_post(&requests->event);
    return 0;
}
