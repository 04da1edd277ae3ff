/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_output.c - where the metrics go: a file that is written every so often, and a port
 *
 * The file is for the textfile collector of Prometheus' node exporter, or any other reader. It is replaced as
 * a whole: the text is written to FILE.new, which is then renamed. So a reader never sees half a text, and a
 * full disk leaves the older text as it is. A failure is reported once, and so is the first success after it.
 * The file stays when the runner ends; its times say how old it is. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "runner/metrics_http.h"
#include "runner/runner.h"
#include "text.h"

struct metrics {
    struct runner *runner;
    char *path, *new_path; /* NULL: no file */
    hora_ns every;
    struct loop_timer timer;
    bool has_failed; /* the latest write */
    struct metrics_http *http;
};

#define EVERY HORA_SECONDS(15) /* unless given */

static int write_all(int fd, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, text, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? errno : ENOSPC;
        text += written;
        size -= (size_t)written;
    }
    return 0;
}

/* Replaces the file; returns 0 or errno. A symbolic link at FILE.new is not followed. */
static int replace(const struct metrics *metrics, const char *text)
{
    int fd = open(metrics->new_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return errno;
    int error = write_all(fd, text, strlen(text));
    if (close(fd) < 0 && error == 0)
        error = errno;
    if (error == 0 && rename(metrics->new_path, metrics->path) < 0)
        error = errno;
    if (error != 0)
        (void)unlink(metrics->new_path);
    return error;
}

static void write_file(struct metrics *metrics)
{
    char *text = metrics_text(metrics->runner);
    int error = text == NULL ? ENOMEM : replace(metrics, text);
    free(text);
    if (error != 0 && !metrics->has_failed)
        event_report(metrics->runner, EVENT_ERROR, "metrics", NULL, NULL, "metrics_file: %s: %s",
                     metrics->path, strerror(error));
    if (error == 0 && metrics->has_failed)
        event_report(metrics->runner, EVENT_INFO, "metrics", NULL, NULL, "metrics_file: %s is written again",
                     metrics->path);
    metrics->has_failed = error != 0;
}

static void write_due(void *arg)
{
    struct metrics *metrics = arg;
    write_file(metrics);
    loop_timer_start(&metrics->timer, metrics->every);
}

struct metrics *metrics_new(struct runner *runner, const struct job_settings *settings)
{
    struct metrics *metrics = memory(sizeof *metrics);
    *metrics = (struct metrics){.runner = runner,
                                .every = settings->metrics_every > 0 ? settings->metrics_every : EVERY};
    loop_timer_init(&metrics->timer, runner->loop, write_due, metrics);
    if (settings->metrics_listen != NULL) {
        metrics->http = metrics_http_new(runner, settings->metrics_listen);
        if (metrics->http == NULL) {
            metrics_free(metrics);
            return NULL;
        }
    }
    if (settings->metrics_file != NULL) {
        metrics->path = text_copy(settings->metrics_file);
        metrics->new_path = text_format("%s.new", settings->metrics_file);
        loop_timer_start(&metrics->timer, 0);
    }
    return metrics;
}

void metrics_free(struct metrics *metrics)
{
    if (metrics == NULL)
        return;
    loop_timer_cancel(&metrics->timer);
    loop_timer_free(&metrics->timer);
    if (metrics->path != NULL)
        write_file(metrics);
    metrics_http_free(metrics->http);
    free(metrics->path);
    free(metrics->new_path);
    free(metrics);
}
