/* SPDX-License-Identifier: Apache-2.0 */
/* poll_loop.c - a queue and the interrupt flag in a poll() loop
 *
 * The loop sleeps in the kernel until an element can be taken or another thread interrupts it. A program can
 * poll its other descriptors in the same loop. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>

#include <hora/hora.h>

enum { MESSAGES = 3 };

struct loop {
    hora_queue *queue;
    hora_latch *ready;   /* opens when thread is known */
    hora_latch *handled; /* opens when all messages have been handled */
    hora_thread *thread;
    int interrupts;
};

static void handle_messages(struct loop *loop)
{
    void *message;
    while (hora_queue_poll(loop->queue, &message) == 0) {
        printf("message: %s\n", (const char *)message);
        hora_latch_count_down(loop->handled);
    }
}

static void *run_loop(void *arg)
{
    struct loop *loop = arg;
    struct pollfd polled[] = {
        {.fd = hora_queue_fd(loop->queue), .events = POLLIN},
        {.fd = hora_interrupt_fd(), .events = POLLIN},
    };
    int known = hora_thread_self(&loop->thread);
    hora_latch_count_down(loop->ready);
    if (known < 0 || polled[0].fd < 0 || polled[1].fd < 0)
        return NULL;
    while (loop->interrupts == 0 && poll(polled, 2, -1) > 0) {
        if (polled[0].revents != 0)
            handle_messages(loop);
        if (polled[1].revents != 0)
            loop->interrupts += hora_interrupted();
    }
    return NULL;
}

int main(void)
{
    static char *const messages[MESSAGES] = {"one", "two", "three"};
    struct loop loop = {0};
    pthread_t thread;
    if (hora_queue_new_linked(HORA_UNBOUNDED, NULL, &loop.queue, NULL) < 0 ||
        hora_latch_new(1, NULL, &loop.ready, NULL) < 0 ||
        hora_latch_new(MESSAGES, NULL, &loop.handled, NULL) < 0 ||
        pthread_create(&thread, NULL, run_loop, &loop) != 0)
        return 1;
    int failed = hora_latch_await(loop.ready) < 0;
    for (int i = 0; i < MESSAGES; i++)
        failed |= hora_queue_put(loop.queue, messages[i]) < 0;
    failed |= hora_latch_await_for(loop.handled, HORA_SECONDS(10)) < 0;
    failed |= hora_thread_interrupt(loop.thread) < 0;
    pthread_join(thread, NULL);
    printf("the loop was interrupted %d time\n", loop.interrupts);
    hora_thread_unref(loop.thread);
    return failed || loop.interrupts != 1 || hora_queue_free(loop.queue) < 0 ||
           hora_latch_free(loop.ready) < 0 || hora_latch_free(loop.handled) < 0;
}
