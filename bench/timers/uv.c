/* SPDX-License-Identifier: Apache-2.0 */
/* uv.c - libuv's uv_timer on one loop, in whole milliseconds
 *
 * timers_reuse starts and stops the same handle repeatedly, as a connection does with its timeout. All other
 * handles are allocated, and closed and freed after they have fired or have been stopped. Threads other than
 * that of the loop may only call uv_async_send, so they add commands to a list, and the loop carries them
 * out. A repeating timer of libuv counts from the time at which the loop ran it, and would drift, so the
 * function of a series starts its timer again for the next planned time. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <uv.h>

#include "timers.h"

/* A command for the loop: start the timer, or stop it. */
struct command {
    uv_timer_t *timer; /* NULL: post `settled` instead */
    int64_t delay_ms;  /* < 0: stop the timer */
    bool is_new;       /* it has not been initialised, and is freed when it has been stopped */
};

/* A repeating timer. */
struct series {
    uv_timer_t timer;
    int64_t next_ns; /* when it runs next */
    int64_t period_ns;
};

struct commands {
    struct command *list;
    long count; /* of commands */
    long room;  /* commands that the memory has room for */
};

static uv_loop_t loop;
static uv_timer_t reused[MOST_PRODUCERS]; /* one per producer */
static uv_timer_t lagging[MOST_LAG];      /* timers of timers_reuse that are stopped later */
static uv_timer_t *lagging_new[MOST_LAG]; /* timers of timers_churn that are stopped later; NULL: none */
static uv_timer_t **pending;              /* of timers_fill */

static bool parted; /* timers_part was called: the loop has a separate thread */
static pthread_t loop_thread;
static uv_async_t wake;                                  /* wakes the loop for commands */
static sem_t settled;                                    /* all commands before have been carried out */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `posted` and `over` */
static struct commands posted;                           /* commands that the loop has not taken yet */
static bool over;                                        /* the loop must end */

static uint64_t up_to_ms(int64_t ns)
{
    return ns > 0 ? ((uint64_t)ns + 999999) / 1000000 : 0;
}

/* Returns the time until due_ns, counted from the loop's time, which libuv updates once per iteration. */
static uint64_t ms_until(int64_t due_ns)
{
    uint64_t due_ms = up_to_ms(due_ns);
    return due_ms > uv_now(&loop) ? due_ms - uv_now(&loop) : 0;
}

/* Runs one iteration of the loop after every LOOP_CALLS calls. */
static void turn_now_and_then(long calls)
{
    if (calls % LOOP_CALLS == 0)
        uv_run(&loop, UV_RUN_NOWAIT);
}

static void on_expired(uv_timer_t *timer)
{
    (void)timer;
    timer_expired();
}

static void on_forbidden(uv_timer_t *timer)
{
    (void)timer;
    timer_forbidden();
}

static void free_timer(uv_handle_t *timer)
{
    free(timer);
}

static void on_fired(uv_timer_t *timer)
{
    timer_fired((long)(intptr_t)timer->data);
    uv_close((uv_handle_t *)timer, free_timer);
}

static void on_ran(uv_timer_t *timer)
{
    struct series *series = (struct series *)timer; /* its first member */
    timer_ran((int)(intptr_t)timer->data);
    series->next_ns += series->period_ns;
    MUST(uv_timer_start(timer, on_ran, ms_until(series->next_ns), 0) == 0);
}

static void on_end(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

void timers_open(void)
{
    MUST(uv_loop_init(&loop) == 0);
    for (int i = 0; i < MOST_PRODUCERS; i++)
        MUST(uv_timer_init(&loop, &reused[i]) == 0);
    for (int i = 0; i < MOST_LAG; i++)
        MUST(uv_timer_init(&loop, &lagging[i]) == 0);
}

static uv_timer_t *new_timers(long count)
{
    uv_timer_t *timers = malloc((size_t)count * sizeof(*timers));
    MUST(timers != NULL);
    return timers;
}

void timers_fill(const int64_t *due_ns, long count)
{
    pending = malloc((size_t)count * sizeof(*pending)); /* lives as long as the process */
    MUST(pending != NULL);
    for (long i = 0; i < count; i++) {
        pending[i] = new_timers(1);
        MUST(uv_timer_init(&loop, pending[i]) == 0);
        MUST(uv_timer_start(pending[i], on_expired, ms_until(due_ns[i]), 0) == 0);
    }
}

void timers_embed(const int64_t *due_ns, long count)
{
    uv_timer_t *timers = new_timers(count); /* live as long as the process */
    for (long i = 0; i < count; i++) {
        MUST(uv_timer_init(&loop, &timers[i]) == 0);
        MUST(uv_timer_start(&timers[i], on_expired, ms_until(due_ns[i]), 0) == 0);
    }
}

/* Executes a command, in the thread of the loop. */
static void carry_out(const struct command *command)
{
    uv_timer_t *timer = command->timer;
    if (timer == NULL) {
        sem_post(&settled);
    } else if (command->delay_ms < 0) {
        MUST(uv_timer_stop(timer) == 0 && !uv_is_active((uv_handle_t *)timer));
        if (command->is_new)
            uv_close((uv_handle_t *)timer, free_timer);
    } else {
        if (command->is_new)
            MUST(uv_timer_init(&loop, timer) == 0);
        MUST(uv_timer_start(timer, on_forbidden, (uint64_t)command->delay_ms, 0) == 0);
    }
}

/* Takes all commands from the list and executes them. Two lists are used alternately, so that none has to be
 * allocated. */
static void on_wake(uv_async_t *async)
{
    static struct commands taken;
    pthread_mutex_lock(&lock);
    struct commands empty = taken;
    empty.count = 0;
    taken = posted;
    posted = empty;
    if (over)
        uv_stop(async->loop);
    pthread_mutex_unlock(&lock);
    for (long i = 0; i < taken.count; i++)
        carry_out(&taken.list[i]);
}

/* Adds a command to the list, and wakes the loop if the list was empty. */
static void post(struct command command)
{
    pthread_mutex_lock(&lock);
    if (posted.count == posted.room) {
        posted.room = posted.room > 0 ? 2 * posted.room : 1024;
        posted.list = realloc(posted.list, (size_t)posted.room * sizeof(posted.list[0]));
        MUST(posted.list != NULL);
    }
    posted.list[posted.count++] = command;
    bool is_first = posted.count == 1;
    pthread_mutex_unlock(&lock);
    if (is_first)
        uv_async_send(&wake);
}

static void *run_loop(void *arg)
{
    (void)arg;
    uv_run(&loop, UV_RUN_DEFAULT);
    return NULL;
}

void timers_part(void)
{
    MUST(sem_init(&settled, 0, 0) == 0);
    MUST(uv_async_init(&loop, &wake, on_wake) == 0);
    MUST(pthread_create(&loop_thread, NULL, run_loop, NULL) == 0);
    parted = true;
}

/* Passes a command to the loop, or executes it if this thread runs the loop. */
static void command_loop(struct command command)
{
    if (parted)
        post(command);
    else
        carry_out(&command);
}

/* Starts and stops a timer, at once or `lag` calls later. `slot` has room for a new timer; NULL: `timer` is
 * used again. */
static void start_and_stop(uv_timer_t *timer, uv_timer_t **slot, int64_t delay_ns, int lag)
{
    uv_timer_t *earlier = slot != NULL ? *slot : timer;
    bool is_new = slot != NULL;
    if (is_new)
        timer = *slot = new_timers(1);
    if (lag > 0 && earlier != NULL)
        command_loop((struct command){earlier, -1, is_new});
    command_loop((struct command){timer, (int64_t)up_to_ms(delay_ns), is_new});
    if (lag == 0)
        command_loop((struct command){timer, -1, is_new});
}

void timers_churn(int producer, const int64_t *delay_ns, long count, int lag)
{
    static long calls; /* of the one producer that runs the loop */
    uv_timer_t *none = NULL;
    (void)producer;
    for (long i = 0; i < count; i++) {
        start_and_stop(NULL, lag > 0 ? &lagging_new[calls % lag] : &none, delay_ns[i], lag);
        if (!parted)
            turn_now_and_then(++calls);
    }
}

void timers_reuse(int producer, const int64_t *delay_ns, long count, int lag)
{
    static long calls; /* of the one producer that runs the loop */
    for (long i = 0; i < count; i++) {
        start_and_stop(lag > 0 ? &lagging[calls % lag] : &reused[producer], NULL, delay_ns[i], lag);
        if (!parted)
            turn_now_and_then(++calls);
    }
}

void timers_settle(void)
{
    if (!parted)
        return;
    post((struct command){.timer = NULL});
    while (sem_wait(&settled) != 0) {
    }
}

/* Timers that are due run between those that are scheduled, in the same thread. Their time is no part of
 * scheduling. */
static void turn_aside(long calls)
{
    if (calls % LOOP_CALLS != 0)
        return;
    int64_t start_ns = now_ns();
    uv_run(&loop, UV_RUN_NOWAIT);
    timers_aside(now_ns() - start_ns);
}

void timers_fire(const int64_t *delay_ns, int64_t *due_ns, long count)
{
    for (long i = 0; i < count; i++) {
        turn_aside(i);
        uv_timer_t *timer = new_timers(1);
        MUST(uv_timer_init(&loop, timer) == 0);
        timer->data = (void *)(intptr_t)i;
        due_ns[i] = now_ns() + delay_ns[i];
        MUST(uv_timer_start(timer, on_fired, ms_until(due_ns[i]), 0) == 0);
    }
    uv_run(&loop, UV_RUN_DEFAULT); /* returns when all timers have fired */
}

void timers_repeat(const int64_t *first_ns, int tasks, int64_t period_ns, int64_t end_ns)
{
    struct series *all = calloc((size_t)tasks + 1, sizeof(*all)); /* the last one ends the loop */
    MUST(all != NULL);
    uv_update_time(&loop);
    for (int i = 0; i <= tasks; i++) {
        uv_timer_t *timer = &all[i].timer;
        int64_t due_ns = i == tasks ? end_ns : first_ns[i];
        MUST(uv_timer_init(&loop, timer) == 0);
        timer->data = (void *)(intptr_t)i;
        all[i].next_ns = due_ns;
        all[i].period_ns = period_ns;
        MUST(uv_timer_start(timer, i == tasks ? on_end : on_ran, ms_until(due_ns), 0) == 0);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    for (int i = 0; i <= tasks; i++)
        uv_close((uv_handle_t *)&all[i].timer, NULL);
    uv_run(&loop, UV_RUN_NOWAIT);
    free(all);
}

void timers_close(void)
{
    if (!parted)
        return;
    pthread_mutex_lock(&lock);
    over = true;
    pthread_mutex_unlock(&lock);
    uv_async_send(&wake);
    pthread_join(loop_thread, NULL);
}
