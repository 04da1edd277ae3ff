/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics.c - the text for Prometheus, letter by letter
 *
 * It must be that of the files in tests/metrics, which tests/metrics/check gives to promtool. */
#include "base/metrics.h"

#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "observe/histogram.h"

enum { MOST = 16384 };

static char text[MOST];
static char golden[MOST];
static size_t length;
static int room; /* pieces that are taken; then an error */

static int collect(const char *piece, size_t piece_length, void *context)
{
    (void)context;
    if (room-- == 0)
        return HORA_ENOMEM;
    CHECK(length + piece_length < MOST);
    memcpy(text + length, piece, piece_length);
    length += piece_length;
    return 0;
}

static const struct hora__metric_family rejected = {HORA__COUNTER, "hora_tasks_rejected", NULL,
                                                    "Tasks that the pool did not take."};
static const struct hora__metric_family busy = {HORA__COUNTER, "hora_busy_seconds", "seconds",
                                                "Time that workers spent in tasks: \"busy\" \\ not idle."};
static const struct hora__metric_family threads = {HORA__GAUGE, "hora_threads", NULL,
                                                   "Threads there are now."};
static const struct hora__metric_family oldest = {HORA__GAUGE, "hora_oldest_wait_seconds", "seconds",
                                                  "How long the task waits that has waited longest."};
static const struct hora__metric_family wait_time = {HORA__HISTOGRAM, "hora_wait_seconds", "seconds",
                                                     "How long tasks waited\nbefore they ran."};

static const struct hora__metric_label io[] = {{"pool", "io"}};
static const struct hora__metric_label odd[] = {{"pool", "C:\\x \"y\"\nZürich \xFF"}, {"task", NULL}};

static void write_histograms(struct hora__metrics *metrics)
{
    static struct hora__histogram histogram;
    static struct hora__distribution distribution;
    histogram = (struct hora__histogram){.max = {0}};
    distribution = (struct hora__distribution){.count = 0};
    hora__metrics_family(metrics, &wait_time);
    hora__metrics_histogram(metrics, NULL, 0, &distribution, &HORA__SCALE_NS);
    hora__histogram_record(&histogram, 0);
    hora__histogram_record(&histogram, 700);
    for (int i = 0; i < 10; i++)
        hora__histogram_record(&histogram, HORA_MS(2));
    hora__histogram_record(&histogram, HORA_SECONDS(30));
    hora__histogram_record(&histogram, HORA_HOURS(2) + 1);
    hora__histogram_add(&distribution, &histogram);
    hora__metrics_histogram(metrics, io, 1, &distribution, &HORA__SCALE_NS);
    /* The same numbers as ticks of a third of a nanosecond, or a little more as became known later. */
    struct hora__scale third = {{1001, 3000}, {1, 3}};
    hora__metrics_histogram(metrics, odd, 2, &distribution, &third);
}

static int write_all(enum hora__metrics_format format)
{
    struct hora__metrics metrics;
    memset(text, 0, sizeof text);
    length = 0;
    hora__metrics_begin(&metrics, format, collect, NULL);
    hora__metrics_family(&metrics, &rejected);
    hora__metrics_int(&metrics, NULL, 0, 0);
    hora__metrics_int(&metrics, io, 1, INT64_MAX);
    hora__metrics_family(&metrics, &busy);
    hora__metrics_seconds(&metrics, odd, 2, HORA_SECONDS(2) + 1);
    hora__metrics_family(&metrics, &threads);
    hora__metrics_int(&metrics, io, 1, 4);
    hora__metrics_family(&metrics, &oldest);
    hora__metrics_seconds(&metrics, io, 1, 1234);
    write_histograms(&metrics);
    return hora__metrics_end(&metrics);
}

static void read_golden(const char *path)
{
    FILE *file = fopen(path, "r");
    memset(golden, 0, sizeof golden);
    if (file == NULL) {
        test_fail(__FILE__, __LINE__, "no file %s", path);
        return;
    }
    CHECK(fread(golden, 1, sizeof golden - 1, file) > 0);
    (void)fclose(file);
}

static void check_format(enum hora__metrics_format format, const char *path)
{
    room = -1;
    CHECK_OK(write_all(format));
    read_golden(path);
    size_t same = 0;
    while (text[same] != '\0' && text[same] == golden[same])
        same++;
    if (text[same] != golden[same])
        test_fail(__FILE__, __LINE__, "got from byte %zu on <%.200s>, want <%.200s>", same, text + same,
                  golden + same);
}

TEST_REAL(openmetrics_text_is_as_written_down, "")
{
    check_format(HORA__OPENMETRICS, HORA_TEST_METRICS "/openmetrics.txt");
}

TEST_REAL(prometheus_text_is_as_written_down, "")
{
    check_format(HORA__PROMETHEUS, HORA_TEST_METRICS "/prometheus.txt");
}

TEST_REAL(an_error_of_the_sink_comes_back, "")
{
    int pieces = 0;
    for (; pieces < 100; pieces++) {
        room = pieces;
        int error = write_all(HORA__OPENMETRICS);
        if (error == 0)
            break;
        CHECK_ERROR(error, HORA_ENOMEM);
        CHECK_INT(length, pieces * HORA__WRITER_BUFFER);
    }
    CHECK_INT(pieces, length / HORA__WRITER_BUFFER + 1);
}
