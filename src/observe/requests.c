/* SPDX-License-Identifier: Apache-2.0 */
/* requests.c - dumps that signal handlers request, see hora_pool_request_dump
 *
 * How it works      A signal handler may call few functions, but it may write to a descriptor. So there is
 *                   an event, and a thread that sleeps on it and writes the dump. The watchdog's thread
 *                   cannot do this: waking it takes a lock, which a signal handler must not do. All
 *                   requests that arrive while a dump is being written cause one more dump.
 * End               The thread ends in hora_pool_free, before the pool is freed, so it may use the pool. */
#include "observe/observer.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>

#include <hora/explain.h>

#include "base/fault.h"
#include "sys/alloc.h"
#include "sys/event.h"
#include "sys/process.h"
#include "sys/thread.h"

struct hora__dump_requests {
    struct hora__pool_observer *pool_observer; /* immutable */
    struct hora__event event;                  /* requesting threads signal it, the thread consumes it */
    hora__atomic is_wanted;                    /* a dump is requested and not begun yet */
    hora__atomic is_closing;                   /* the thread must end */
    hora__atomic thread_id;                    /* hora__thread_id() of the thread; 0: it has not begun */
    hora_thread *prepared;     /* the record that the thread adopts; written before the thread starts */
    hora__os_thread os_thread; /* the thread, to join it */
};

/* Waits for one signal of the event and serves it. Returns false if the thread must end. The event is
 * consumed before the flags are read, so that a request that is made after that wakes the thread again. */
static bool serve(struct hora__dump_requests *requests)
{
    assert(requests->pool_observer->options.dump != NULL);
    const struct hora__observer_options *options = &requests->pool_observer->options;
    hora__event_wait(&requests->event, -1, -1);
    hora__event_consume(&requests->event);
    if (hora__atomic_load(&requests->is_closing))
        return false;
    if (!hora__atomic_cas(&requests->is_wanted, 1, 0))
        return true; /* the wait ended without a reason, or the request has been served already */
    int error = hora_pool_dump(requests->pool_observer->pool, options->dump, options->dump_arg);
    if (HORA__FAULT(REQUEST_IS_FORGOTTEN))
        hora__atomic_store(&requests->is_wanted, 0);
    /* Errors are ignored: the user's function knows its own, and after HORA_ENOMEM a dump can be requested
     * again. */
    (void)error;
    return true;
}

/* The loop of the thread. */
static void work(void *arg)
{
    while (serve(arg)) {
    }
}

/* The last function of the thread: releases its record. Also called if the user's function has ended the
 * thread; no more dumps are written then. */
static void leave(void *arg)
{
    (void)arg;
    hora__thread_disown(hora__thread_existing());
}

/* The first function of the thread: adopts its record and stores its number. */
static void begin(void *arg)
{
    struct hora__dump_requests *requests = arg;
    (void)hora__thread_adopt(requests->prepared);
    hora__atomic_store(&requests->thread_id, hora__thread_id());
    hora__os_thread_guard(work, leave, requests);
    leave(requests);
}

/* Starts the thread. Returns 0, HORA_ENOMEM or HORA_EAGAIN. */
static int start(struct hora__dump_requests *requests)
{
    char name[48];
    (void)snprintf(name, sizeof name, "%sdump", requests->pool_observer->pool->name);
    struct hora__thread_spec spec = {.run = begin, .arg = requests, .name = name};
    int error = hora__thread_prepare(&requests->prepared);
    if (error < 0)
        return error;
    error = hora__os_thread_start(&spec, &requests->os_thread);
    if (error < 0)
        (void)hora_thread_unref(requests->prepared);
    return error;
}

/* The event exists before the thread starts, which waits on it at once. */
int hora__dump_requests_new(struct hora__pool_observer *pool_observer,
                            struct hora__dump_requests **ret_requests)
{
    assert(pool_observer->pool != NULL);
    *ret_requests = NULL;
    if (pool_observer->options.dump == NULL)
        return 0;
    struct hora__dump_requests *requests = hora__alloc(1, sizeof *requests);
    if (requests == NULL)
        return HORA_ENOMEM;
    requests->pool_observer = pool_observer;
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

/* The flag is set before the event is signalled, so the thread sees it when it wakes. */
void hora__dump_requests_free(struct hora__dump_requests *requests)
{
    if (requests == NULL)
        return;
    assert(!hora__dump_requests_is_own_thread(requests)); /* it would wait for itself */
    HORA__ORDER_FAULT(REQUESTS_CLOSE_RELAXED, memory_order_relaxed);
    hora__atomic_store(&requests->is_closing, 1);
    hora__event_signal(&requests->event);
    hora__os_thread_join(requests->os_thread);
    hora__event_destroy(&requests->event);
    hora__free(requests);
}

bool hora__dump_requests_is_own_thread(struct hora__dump_requests *requests)
{
    return requests != NULL && hora__atomic_load(&requests->thread_id) == hora__thread_id();
}

/* May run in a signal handler that has interrupted any code, so it takes no lock: it reads only what does
 * not change, sets a flag and writes to a descriptor. The flag is set before the event is signalled, see
 * serve. */
int hora_pool_request_dump(hora_pool *pool)
{
    if (pool == NULL)
        return HORA_EINVAL;
    if (pool->object.generation != hora__fork_generation())
        return HORA_EFORKED; /* the parent and the child share the descriptor */
    const struct hora__pool_observer *pool_observer = hora__pool_get_observer(pool);
    struct hora__dump_requests *requests = pool_observer != NULL ? pool_observer->requests : NULL;
    if (requests == NULL)
        return HORA_ENOTSUP;
    hora__atomic_store(&requests->is_wanted, 1);
    hora__event_signal(&requests->event);
    return 0;
}
