/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - numbers and distributions as text for Prometheus and its relatives
 *
 *     struct hora__metrics out;
 *     hora__metrics_begin(&out, HORA__OPENMETRICS, write, context);
 *     hora__metrics_family(&out, &rejected);                  "# TYPE hora_tasks_rejected counter" ...
 *     hora__metrics_int(&out, labels, 1, 12);                 "hora_tasks_rejected_total{pool=\"io\"} 12"
 *     ...
 *     return hora__metrics_end(&out);                         "# EOF"
 *
 * All samples of a family must follow it. Two formats, since no text with a counter is good in both: OpenMetrics 1.0
 * (application/openmetrics-text) names the family of a counter without _total, and the older text format of Prometheus (text/plain;
 * version=0.0.4) with it. The samples themselves are the same. */
#ifndef HORA_BASE_METRICS_H
#define HORA_BASE_METRICS_H

#include "base/distribution.h"
#include "base/writer.h"

enum hora__metrics_format { HORA__OPENMETRICS, HORA__PROMETHEUS };

enum hora__metric_kind { HORA__COUNTER, HORA__GAUGE, HORA__HISTOGRAM };

struct hora__metric_family {
    enum hora__metric_kind kind;
    const char *name; /* with the unit at its end, without _total */
    const char *unit; /* "seconds"; NULL: none */
    const char *help; /* one sentence */
};

struct hora__metric_label {
    const char *name;
    const char *value; /* any bytes */
};

struct hora__metrics {
    struct hora__writer out;
    enum hora__metrics_format format;
    const struct hora__metric_family *family; /* whose samples are being written; NULL: none yet */
};

void hora__metrics_begin(struct hora__metrics *metrics, enum hora__metrics_format format, hora_write_fn write,
                         void *context);

/* Returns the first error of `write`, or 0. */
int hora__metrics_end(struct hora__metrics *metrics);

/* What follows are its samples. It must live until then. */
void hora__metrics_family(struct hora__metrics *metrics, const struct hora__metric_family *family);

/* A sample of a counter or of a gauge: a number, or a time in seconds. */
void hora__metrics_int(struct hora__metrics *metrics, const struct hora__metric_label *labels, int count,
                       int64_t value);
void hora__metrics_seconds(struct hora__metrics *metrics, const struct hora__metric_label *labels, int count,
                           int64_t ns);

/* A distribution of times: how many are up to each of some bounds from a microsecond to an hour, and the sum of all, in seconds. */
void hora__metrics_histogram(struct hora__metrics *metrics, const struct hora__metric_label *labels, int count,
                             const struct hora__distribution *distribution, const struct hora__scale *scale);

#endif
