/* SPDX-License-Identifier: Apache-2.0 */
/* demo_log.c - messages of the demo, from any thread to the screen
 *
 * Listeners must be fast, so they only offer a message to a bounded queue. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo.h"
#include "figures.h"

enum { QUEUE = 256 };

int demo_log_start(struct demo *demo, hora_error *reterr_error)
{
    return hora_queue_new_array(QUEUE, NULL, &demo->log.queue, reterr_error);
}

void demo_log_add(struct demo *demo, enum style style, const char *format, ...)
{
    struct view_message *message = malloc(sizeof *message);
    bool is_queued = false;
    if (message != NULL) {
        va_list values;
        va_start(values, format);
        (void)vsnprintf(message->text, sizeof message->text, format, values);
        va_end(values);
        message->style = style;
        message->at = demo_now() - demo->begin;
        is_queued = hora_queue_offer(demo->log.queue, message) == 0;
    }
    if (!is_queued) {
        free(message);
        (void)atomic_fetch_add(&demo->log.left_out, 1);
    }
}

/* Puts a message in front of the others; the oldest one is lost if there are too many. */
static void prepend(struct demo_log *log, const struct view_message *message)
{
    memmove(log->latest + 1, log->latest, (VIEW_LOG - 1) * sizeof *log->latest);
    log->latest[0] = *message;
    log->count += log->count < VIEW_LOG ? 1 : 0;
}

void demo_log_fetch(struct demo *demo)
{
    struct demo_log *log = &demo->log;
    int64_t left_out = atomic_exchange(&log->left_out, 0);
    void *item;
    while (hora_queue_poll(log->queue, &item) == 0) {
        prepend(log, item);
        free(item);
    }
    if (left_out > 0) {
        struct view_message message = {.at = demo_now() - demo->begin, .style = STYLE_DIM};
        (void)snprintf(message.text, sizeof message.text, "%s more events", COUNT(left_out));
        prepend(log, &message);
    }
}

void demo_log_stop(struct demo *demo)
{
    void *item;
    if (demo->log.queue == NULL)
        return;
    while (hora_queue_poll(demo->log.queue, &item) == 0)
        free(item);
    (void)hora_queue_free(demo->log.queue);
}
