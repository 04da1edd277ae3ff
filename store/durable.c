/* SPDX-License-Identifier: Apache-2.0 */
/* durable.c - durable schedulers: their options, handlers, start and end */
#include "durable.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hora/event.h>

#include "options.h"
#include "reason.h"
#include "units.h"

enum { MAX_NAME = 255, MAX_HOST_NAME = 64 };

/* ---- options ---- */

static int check_range(int64_t value, int64_t least, int64_t most, const char *field, const char *range,
                       hora_error *reason)
{
    if (value >= least && value <= most)
        return 0;
    return hora__store_refuse(reason, HORA_EINVAL, field, "%s is %lld; it must be %s", field,
                              (long long)value, range);
}

/* Replaces zeros by the defaults. */
static void complete_options(hora_durable_options *options)
{
    if (options->threads == 0)
        options->threads = hora_available_processors();
    if (options->max_claimed == 0)
        options->max_claimed = options->threads > 16 ? 64 * options->threads : 1024;
    if (options->lease == 0)
        options->lease = HORA_SECONDS(5);
    if (options->horizon == 0)
        options->horizon = options->lease / 2 < HORA_SECONDS(1) ? options->lease / 2 : HORA_SECONDS(1);
    if (options->flush == 0)
        options->flush = HORA_MS(10);
}

static int check_options(const hora_durable_options *options, hora_error *reason)
{
    if (options->scheduler != NULL && options->threads != 0)
        return hora__store_refuse(reason, HORA_EINVAL, "threads",
                                  "threads is %d, which has no effect on the scheduler that is given",
                                  options->threads);
    hora_durable_options complete = *options;
    complete_options(&complete);
    int error = check_range(complete.threads, 1, 10000, "threads", "1 to 10000", reason);
    if (error == 0)
        error = check_range(complete.max_claimed, 1, 1000000, "max_claimed", "1 to 1000000", reason);
    if (error == 0)
        error =
            check_range(complete.lease, HORA_SECONDS(1), HORA_SECONDS(60), "lease", "1 s to 60 s", reason);
    if (error == 0)
        error = check_range(complete.horizon, HORA_MS(1), complete.lease / 2, "horizon",
                            "1 ms to half of the lease", reason);
    if (error == 0)
        error = check_range(complete.flush, 1, complete.lease / 10, "flush", "at most a tenth of the lease",
                            reason);
    if (error == 0 && options->name != NULL && strlen(options->name) > MAX_NAME)
        error = hora__store_refuse(reason, HORA_EINVAL, "name", "name is longer than %d bytes", MAX_NAME);
    return error;
}

/* ---- making and freeing ---- */

static char *name_of_node(const char *given)
{
    if (given != NULL)
        return strdup(given);
    char host[MAX_HOST_NAME + 1];
    if (gethostname(host, sizeof host) != 0)
        return strdup("unknown");
    host[MAX_HOST_NAME] = '\0';
    return strdup(host);
}

static void set_clocks(hora_durable *durable)
{
    hora_virtual_clock *virtual_clock = durable->options.clock;
    durable->clock = virtual_clock == NULL ? hora_clock_system(HORA_CLOCK_BOOTTIME)
                                           : hora_virtual_clock_view(virtual_clock, HORA_CLOCK_BOOTTIME);
    durable->timed_waits = virtual_clock == NULL
                               ? hora_clock_system(HORA_CLOCK_MONOTONIC)
                               : hora_virtual_clock_view(virtual_clock, HORA_CLOCK_MONOTONIC);
}

static int make_wakes(hora_durable *durable, hora_error *reason)
{
    if (durable->options.clock != NULL)
        return hora_queue_new_array(1, HORA_QUEUE_OPTIONS(.clock = durable->clock), &durable->wakes, reason);
    if (pipe(durable->wake_pipe) != 0) {
        int code = errno == ENFILE ? HORA_ENFILE : HORA_EMFILE;
        return hora__store_refuse(reason, code, NULL, "%s", hora_strerror(code));
    }
    for (int i = 0; i < 2; i++)
        if (fcntl(durable->wake_pipe[i], F_SETFD, FD_CLOEXEC) != 0 ||
            fcntl(durable->wake_pipe[i], F_SETFL, O_NONBLOCK) != 0)
            return hora__store_refuse(reason, HORA_EIO, NULL, "the pipe of the node cannot be set up");
    return 0;
}

static int make_scheduler(hora_durable *durable, hora_error *reason)
{
    if (durable->options.scheduler != NULL) {
        durable->scheduler = durable->options.scheduler;
        return 0;
    }
    durable->owns_scheduler = true;
    return hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = durable->options.threads,
                                                     .name = "durable", .clock = durable->timed_waits,
                                                     .watchdog = HORA_WATCHDOG()),
                              &durable->scheduler, reason);
}

static int make_parts(hora_durable *durable, hora_error *reason)
{
    durable->name = name_of_node(durable->options.name);
    if (durable->name == NULL)
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "out of memory");
    int error = make_wakes(durable, reason);
    if (error == 0)
        error = make_scheduler(durable, reason);
    if (error == 0)
        error = hora_pool_new_single(HORA_POOL_OPTIONS(.name = "hora-node", .clock = durable->timed_waits),
                                     &durable->thread, reason);
    return error;
}

static int compare_names(const void *left, const void *right)
{
    const hora__named_trigger *first = left, *second = right;
    return strcmp(first->name, second->name);
}

static void free_triggers(hora_durable *durable)
{
    while (durable->triggers != NULL) {
        hora__named_trigger *named = *(hora__named_trigger **)durable->triggers; /* of the root */
        (void)tdelete(named, &durable->triggers, compare_names);
        hora_trigger_unref(named->trigger);
        free(named);
    }
}

static void free_parts(hora_durable *durable)
{
    (void)hora_pool_free(durable->thread);
    if (durable->owns_scheduler)
        (void)hora_scheduler_free(durable->scheduler);
    if (durable->node != NULL)
        hora__node_free(durable->node);
    (void)hora_queue_free(durable->wakes);
    for (int i = 0; i < 2; i++)
        if (durable->wake_pipe[i] >= 0)
            close(durable->wake_pipe[i]);
    for (int i = 0; i < durable->handler_count; i++) {
        if (durable->handlers[i].drop != NULL)
            durable->handlers[i].drop(durable->handlers[i].arg);
        free(durable->handlers[i].name);
    }
    free_triggers(durable);
    free(durable->handlers);
    free(durable->handler_names);
    free(durable->name);
    pthread_cond_destroy(&durable->stop_returned);
    pthread_mutex_destroy(&durable->lock);
    free(durable);
}

int hora_durable_new(hora_store *store, const hora_durable_options *given, hora_durable **ret_durable,
                     hora_error *reason)
{
    hora_error ignored = {.code = 0};
    reason = reason != NULL ? reason : &ignored;
    hora_durable_options options;
    int error = hora__store_check(store, reason);
    if (error == 0 && ret_durable == NULL)
        error = hora__store_refuse(reason, HORA_EINVAL, "ret_durable", "ret_durable is NULL");
    if (error == 0)
        error = hora__store_read_options(&options, sizeof options, sizeof options, given,
                                         "hora_durable_options", reason);
    if (error == 0)
        error = check_options(&options, reason);
    if (error < 0)
        return error;
    int none = 0;
    if (!atomic_compare_exchange_strong(&store->durables, &none, 1))
        return hora__store_refuse(reason, HORA_EBUSY, "store",
                                  "the store has a durable scheduler; open it again for another one");
    hora_durable *durable = calloc(1, sizeof *durable);
    if (durable == NULL) {
        atomic_store(&store->durables, 0);
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "out of memory");
    }
    durable->store = store;
    durable->options = options;
    durable->process = getpid();
    durable->wake_pipe[0] = durable->wake_pipe[1] = -1;
    pthread_mutex_init(&durable->lock, NULL);
    pthread_cond_init(&durable->stop_returned, NULL);
    complete_options(&durable->options);
    set_clocks(durable);
    error = make_parts(durable, reason);
    if (error < 0) {
        free_parts(durable);
        atomic_store(&store->durables, 0);
        return error;
    }
    hora__store_success(reason);
    *ret_durable = durable;
    return 0;
}

static int check_durable(const hora_durable *durable, hora_error *reason)
{
    if (durable == NULL)
        return hora__store_refuse(reason, HORA_EINVAL, "durable", "durable is NULL");
    if (durable->process != getpid())
        return hora__store_refuse(reason, HORA_EFORKED, "durable", "it was made by the parent process");
    return 0;
}

/* ---- handlers and triggers ---- */

static int check_new_name(const char *name, hora_error *reason)
{
    if (name == NULL || name[0] == '\0' || strlen(name) > MAX_NAME)
        return hora__store_refuse(reason, HORA_EINVAL, "name", "a name has 1 to %d bytes", MAX_NAME);
    return 0;
}

/* Makes room for one more element, whatever the type. */
static void *grow(void *array, int count, size_t size)
{
    return realloc(array, ((size_t)count + 1) * size);
}

int hora_durable_add_handler(hora_durable *durable, const char *name, hora_handler_fn handler, void *arg,
                             void (*drop)(void *arg), hora_error *reason)
{
    int error = check_durable(durable, reason);
    if (error == 0)
        error = check_new_name(name, reason);
    if (error == 0 && handler == NULL)
        error = hora__store_refuse(reason, HORA_EINVAL, "handler", "handler is NULL");
    if (error == 0 && durable->phase != HORA__DURABLE_NEW)
        error = hora__store_refuse(reason, HORA_EBUSY, NULL, "the durable scheduler has been started");
    if (error < 0)
        return error;
    for (int i = 0; i < durable->handler_count; i++)
        if (strcmp(durable->handlers[i].name, name) == 0)
            return hora__store_refuse(reason, HORA_EEXIST, "name", "there is a handler \"%s\"", name);
    hora__handler *handlers = grow(durable->handlers, durable->handler_count, sizeof *handlers);
    if (handlers != NULL)
        durable->handlers = handlers;
    const char **names = grow(durable->handler_names, durable->handler_count, sizeof *names);
    if (names != NULL)
        durable->handler_names = names;
    char *copy = strdup(name);
    if (handlers == NULL || names == NULL || copy == NULL) {
        free(copy);
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "out of memory");
    }
    handlers[durable->handler_count] = (hora__handler){copy, handler, arg, drop};
    names[durable->handler_count] = copy;
    durable->handler_count++;
    hora__store_success(reason);
    return 0;
}

/* Requires the lock. */
static hora_trigger *find_trigger(const char *name, void *arg)
{
    const hora_durable *durable = arg;
    hora__named_trigger key = {.name = name}, **found = tfind(&key, &durable->triggers, compare_names);
    return found == NULL ? NULL : (*found)->trigger;
}

/* Requires the lock. `named` belongs to the durable scheduler if the call succeeds. */
static int add_trigger(hora_durable *durable, hora__named_trigger *named, hora_error *reason)
{
    if (find_trigger(named->name, durable) != NULL)
        return hora__store_refuse(reason, HORA_EEXIST, "name", "there is a trigger \"%s\"", named->name);
    if (tsearch(named, &durable->triggers, compare_names) == NULL)
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "out of memory");
    hora_trigger_ref(named->trigger);
    if (durable->node != NULL)
        hora__node_learned(durable->node, hora__durable_now(durable));
    return 0;
}

int hora_durable_add_trigger(hora_durable *durable, const char *name, hora_trigger *trigger,
                             hora_error *reason)
{
    int error = check_durable(durable, reason);
    if (error == 0)
        error = check_new_name(name, reason);
    if (error == 0 && trigger == NULL)
        error = hora__store_refuse(reason, HORA_EINVAL, "trigger", "trigger is NULL");
    if (error < 0)
        return error;
    size_t size = strlen(name) + 1;
    hora__named_trigger *named = malloc(sizeof *named + size);
    if (named == NULL)
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "out of memory");
    *named = (hora__named_trigger){memcpy(named + 1, name, size), trigger};
    pthread_mutex_lock(&durable->lock);
    error = add_trigger(durable, named, reason);
    pthread_mutex_unlock(&durable->lock);
    if (error < 0) {
        free(named);
        return error;
    }
    hora__durable_wake(durable);
    hora__store_success(reason);
    return 0;
}

/* ---- what the node asks for ---- */

static int read_series(int64_t series, hora__series *ret_series, void *arg)
{
    hora_durable *durable = arg;
    hora_error reason;
    hora__backend *backend = durable->store->backend;
    return backend->ops->read_series(backend, series, ret_series, &reason);
}

/* splitmix64: good enough for jitter, and it needs no lock. */
static uint64_t random_bits(void *arg)
{
    hora_durable *durable = arg;
    uint64_t x = atomic_fetch_add(&durable->random, UINT64_C(0x9E3779B97F4A7C15));
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* A store in memory has no other processes, so its nodes are told of every change. */
static hora_ns look_every(const hora_durable *durable)
{
    bool is_alone = strcmp(durable->store->backend->ops->name, "memory") == 0;
    return is_alone ? durable->options.lease / 3 : 0;
}

static int make_node(hora_durable *durable, hora_error *reason)
{
    const hora__node_config config = {
        .ttl = durable->options.lease,
        .horizon = durable->options.horizon,
        .flush = durable->options.flush,
        .look_every = look_every(durable),
        .max_claimed = durable->options.max_claimed,
        .handlers = durable->handler_names,
        .handler_count = durable->handler_count,
        .find_trigger = find_trigger,
        .read_series = read_series,
        .random = random_bits,
        .arg = durable,
        .held_size = sizeof(hora__firing),
    };
    if (hora__node_new(&config, &durable->node) < 0)
        return hora__store_refuse(reason, HORA_ENOMEM, NULL, "out of memory");
    return 0;
}

/* ---- start ---- */

static void woken_by_store(int64_t due, bool after_now, void *arg)
{
    hora_durable *durable = arg;
    pthread_mutex_lock(&durable->lock);
    hora_ns now = hora__durable_now(durable);
    int64_t store_now = hora__node_store_time(durable->node, now);
    if (after_now)
        due = store_now == INT64_MIN ? INT64_MIN : hora__sum(store_now, due);
    hora__node_woken(durable->node, due, now);
    pthread_mutex_unlock(&durable->lock);
    hora__durable_wake(durable);
}

int hora_durable_start(hora_durable *durable, hora_error *reason)
{
    hora_error ignored = {.code = 0};
    reason = reason != NULL ? reason : &ignored;
    int error = check_durable(durable, reason);
    if (error < 0)
        return error;
    if (durable->phase != HORA__DURABLE_NEW)
        return hora__store_refuse(reason, HORA_EBUSY, NULL, "the durable scheduler has been started already");
    if (durable->node == NULL) {
        error = make_node(durable, reason);
        if (error < 0)
            return error;
    }
    hora__backend *backend = durable->store->backend;
    hora__lease lease;
    hora_ns sent = hora__durable_now(durable);
    error = backend->ops->join(backend, durable->name, durable->options.lease / 1000, &lease, reason);
    if (error < 0)
        return error;
    uint64_t seed;
    memcpy(&seed, lease.incarnation, sizeof seed);
    atomic_store(&durable->random, seed);
    hora__node_joined(durable->node, &lease, sent);
    durable->connected = true;
    durable->phase = HORA__DURABLE_STARTED;
    error = hora_pool_execute(durable->thread, HORA_TASK(hora__durable_loop, durable, .name = "hora-node"));
    if (error < 0) {
        durable->phase = HORA__DURABLE_STOPPED;
        hora_error left;
        (void)backend->ops->leave(backend, &lease, &left);
        return hora__store_refuse(reason, error, NULL, "%s", hora_strerror(error));
    }
    hora__store_set_woken(durable->store, woken_by_store, durable);
    hora__store_success(reason);
    return 0;
}

/* ---- waiting for a change ---- */

/* A call that waits. */
struct hora__waiter {
    hora_latch *latch;
    struct hora__waiter *next;
};

void hora__durable_changed(hora_durable *durable)
{
    for (struct hora__waiter *waiter = durable->waiters; waiter != NULL; waiter = waiter->next)
        (void)hora_latch_count_down(waiter->latch);
}

/* Requires the lock, which it releases while it waits for a change, until `end`. */
static int wait_for_change(hora_durable *durable, hora_ns end)
{
    struct hora__waiter waiter = {.next = durable->waiters};
    int error = hora_latch_new(1, HORA_LATCH_OPTIONS(.clock = durable->timed_waits), &waiter.latch, NULL);
    if (error < 0)
        return error;
    /* cppcheck-suppress autoVariables ; it is removed before the call returns */
    durable->waiters = &waiter;
    pthread_mutex_unlock(&durable->lock);
    hora_ns left = end == HORA_FOREVER ? HORA_FOREVER : end - hora_clock_now(durable->timed_waits);
    error = left <= 0 ? HORA_ETIMEDOUT : hora_latch_await_for(waiter.latch, left);
    pthread_mutex_lock(&durable->lock);
    struct hora__waiter **link = &durable->waiters;
    while (*link != &waiter)
        link = &(*link)->next;
    *link = waiter.next;
    (void)hora_latch_free(waiter.latch);
    return error;
}

static hora_ns end_of(const hora_durable *durable, hora_ns timeout)
{
    if (timeout == HORA_FOREVER)
        return HORA_FOREVER;
    return hora__sum(hora_clock_now(durable->timed_waits), timeout < 0 ? 0 : timeout);
}

/* Requires the lock. True if the calling thread runs a handler or a stop function. */
static bool is_in_handler(const hora_durable *durable)
{
    for (const hora__call *call = durable->calls; call != NULL; call = call->next)
        if (pthread_equal(call->thread, pthread_self()))
            return true;
    return false;
}

/* ---- stop ---- */

/* Requires the lock. Waits for the node's thread to leave the store; HORA_ETIMEDOUT if runs take longer. */
static int await_stopped(hora_durable *durable, hora_ns timeout)
{
    hora_ns end = end_of(durable, timeout);
    int error = 0;
    while (durable->phase != HORA__DURABLE_STOPPED && error == 0)
        error = wait_for_change(durable, end);
    return durable->phase == HORA__DURABLE_STOPPED ? 0 : error;
}

/* Requires the lock. Returns the number of runs in progress. */
static int stop_all(hora_durable *durable)
{
    int count = 0;
    durable->stop_all = true;
    for (hora__firing *firing = durable->running; firing != NULL; firing = firing->next_running) {
        hora__firing_stop(firing, HORA__STOP_SCHEDULER);
        count++;
    }
    return count;
}

/* Requires the lock. True if stop functions of detached runs are being called, or are to be. */
static bool is_telling(const hora_durable *durable)
{
    for (const hora__call *call = durable->calls; call != NULL; call = call->next)
        if (call->is_stop)
            return true;
    return durable->to_stop != NULL;
}

/* Requires the lock, which it releases meanwhile. */
static void wake_unlocked(hora_durable *durable)
{
    pthread_mutex_unlock(&durable->lock);
    hora__durable_wake(durable);
    pthread_mutex_lock(&durable->lock);
}

/* Requires the lock. Returns the number of runs that were handed back. */
static int stop_node(hora_durable *durable, hora_ns timeout)
{
    durable->phase = HORA__DURABLE_STOPPING;
    wake_unlocked(durable);
    if (await_stopped(durable, timeout) == 0)
        return 0;
    (void)stop_all(durable);
    wake_unlocked(durable);
    /* The node's thread calls the stop functions after its call to the store, which has a time limit. */
    while (durable->phase != HORA__DURABLE_STOPPED && is_telling(durable))
        if (wait_for_change(durable, HORA_FOREVER) < 0)
            break;
    if (await_stopped(durable, timeout < HORA_SECONDS(1) ? HORA_SECONDS(1) : timeout) == 0)
        return 0;
    int left = stop_all(durable);
    durable->leave_now = true;
    wake_unlocked(durable);
    while (durable->phase != HORA__DURABLE_STOPPED)
        (void)wait_for_change(durable, HORA_FOREVER); /* one call to the store, which has a time limit */
    return left;
}

int hora_durable_stop(hora_durable *durable, hora_ns timeout, hora_error *reason)
{
    hora_error ignored = {.code = 0};
    reason = reason != NULL ? reason : &ignored;
    int result = check_durable(durable, reason);
    if (result < 0)
        return result;
    hora__store_set_woken(durable->store, NULL, NULL);
    pthread_mutex_lock(&durable->lock);
    if (is_in_handler(durable)) {
        pthread_mutex_unlock(&durable->lock);
        return hora__store_refuse(reason, HORA_EDEADLK, NULL, "a handler cannot stop its own scheduler");
    }
    if (durable->phase == HORA__DURABLE_STARTED)
        result = stop_node(durable, timeout);
    else if (durable->phase == HORA__DURABLE_STOPPING) /* another thread stops it */
        (void)await_stopped(durable, HORA_FOREVER);
    else
        durable->phase = HORA__DURABLE_STOPPED;
    int error = durable->leave_error;
    pthread_mutex_unlock(&durable->lock);
    if (error < 0 && result >= 0)
        return hora__store_refuse(reason, HORA_EIO, NULL,
                                  "the store could not be told (%s); the lease of the node ends by itself",
                                  hora_strerror(error));
    hora__store_success(reason);
    return result;
}

int hora_durable_free(hora_durable *durable)
{
    if (durable == NULL)
        return 0;
    int error = hora_durable_stop(durable, HORA_FOREVER, NULL);
    if (error == HORA_EFORKED || error == HORA_EDEADLK)
        return error;
    hora_store *store = durable->store;
    pthread_mutex_lock(&durable->lock);
    while (durable->running != NULL || durable->calls != NULL) /* runs that hora_durable_stop handed back */
        (void)wait_for_change(durable, HORA_FOREVER);
    pthread_mutex_unlock(&durable->lock);
    free_parts(durable);
    atomic_store(&store->durables, 0);
    return 0;
}

/* ---- looking ---- */

int hora_durable_get_status(hora_durable *durable, hora_durable_status *ret_status)
{
    int error = check_durable(durable, NULL);
    if (error < 0)
        return error;
    hora_durable_status status = HORA_INIT(hora_durable_status);
    pthread_mutex_lock(&durable->lock);
    hora_ns now = hora__durable_now(durable);
    if (durable->node != NULL) {
        hora__node_counts counts = hora__node_get_counts(durable->node);
        const hora__lease *lease = hora__node_lease(durable->node);
        status.node = lease == NULL ? 0 : lease->node;
        status.has_lease = hora__node_has_lease(durable->node, now);
        status.claimed = counts.claimed;
        status.running = counts.running;
        status.succeeded = counts.succeeded;
        status.failed = counts.failed;
        status.stale = counts.stale;
        status.skipped = counts.skipped;
        status.exchanges = counts.exchanges;
        int64_t store_now = hora__node_store_time(durable->node, now);
        hora_instant wall;
        if (store_now != INT64_MIN && hora_clock_instant(durable->store->backend->options.clock, &wall) == 0)
            status.clock_offset = hora__ns_of_us(store_now) - wall.ns;
    }
    status.connected = durable->connected;
    status.taken_over = durable->taken_over;
    pthread_mutex_unlock(&durable->lock);
    return hora__store_write_result(ret_status, sizeof status, &status, sizeof status, "hora_durable_status",
                                    NULL);
}

int hora_durable_await_idle(hora_durable *durable, hora_ns timeout)
{
    int error = check_durable(durable, NULL);
    if (error < 0)
        return error;
    hora_ns end = end_of(durable, timeout);
    pthread_mutex_lock(&durable->lock);
    if (is_in_handler(durable))
        error = HORA_EDEADLK;
    while (error == 0) {
        if (durable->phase != HORA__DURABLE_STARTED) {
            error = HORA_ECLOSED;
            break;
        }
        if (hora__node_is_idle(durable->node, hora__durable_now(durable)))
            break;
        error = wait_for_change(durable, end);
    }
    pthread_mutex_unlock(&durable->lock);
    return error;
}
