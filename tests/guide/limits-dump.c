/* SPDX-License-Identifier: Apache-2.0 */
/* limits-dump.c - around the dump on a signal of docs/guide/limits.md */
#include <signal.h>
#include <stdio.h>

#include <hora/hora.h>

static hora_queue *pieces;

static int write_to_log(const char *text, size_t length, void *arg)
{
    (void)text, (void)length, (void)arg;
    int offered = hora_queue_offer(pieces, &pieces);
    return offered == HORA_EFULL ? 0 : offered;
}

/* fragment */

int main(void)
{
    hora_error error;
    void *piece;
    if (hora_queue_new_array(1, NULL, &pieces, NULL) < 0)
        return 1;
    /* fragment */
    if (raise(SIGUSR1) != 0 || hora_queue_poll_for(pieces, HORA_SECONDS(10), &piece) < 0)
        return 1;
    return hora_pool_close(pool) < 0 || hora_pool_free(pool) != 0 || hora_queue_clear(pieces) < 0 ||
           hora_queue_free(pieces) < 0;
}
