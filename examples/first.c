/* SPDX-License-Identifier: Apache-2.0 */
/* first.c - the first program: a queue between two threads, and a latch that opens when the work is done */
#include <pthread.h>
#include <stdio.h>

#include <hora/hora.h>

static hora_queue *letters;
static hora_latch *all_read;

static void *reader(void *unused)
{
    void *letter;
    for (; hora_queue_take(letters, &letter) == 0; hora_latch_count_down(all_read))
        puts(letter);
    return unused; /* the queue was closed */
}

int main(void)
{
    pthread_t thread;
    if (hora_queue_new_array(2, NULL, &letters, NULL) < 0 || hora_latch_new(3, NULL, &all_read, NULL) < 0 ||
        pthread_create(&thread, NULL, reader, NULL) != 0)
        return 1;
    if (hora_queue_put(letters, "a queue waits for room") < 0 ||
        hora_queue_put(letters, "a latch waits for the end") < 0 ||
        hora_queue_put(letters, "every wait can be timed and interrupted") < 0)
        return 1;
    int waited = hora_latch_await_for(all_read, HORA_SECONDS(10));
    printf("three letters read: %s\n", hora_strerror(waited));
    hora_queue_close(letters);
    pthread_join(thread, NULL);
    return waited < 0 || hora_queue_free(letters) < 0 || hora_latch_free(all_read) < 0;
}
