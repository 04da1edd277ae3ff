/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - numbers and distributions as text for Prometheus and compatible collectors
 *
 *     struct hora__metrics out;
 *     hora__metrics_begin(&out, HORA__OPENMETRICS, write, context);
 *     hora__metrics_family(&out, &rejected);                  "# TYPE hora_tasks_rejected counter" ...
 *     hora__metrics_int(&out, labels, 1, 12);                 "hora_tasks_rejected_total{pool=\"io\"} 12"
 *     ...
 *     return hora__metrics_end(&out);                         "# EOF"
 *
 * The samples of a family follow it directly. There are two formats because they are incompatible for
 * counters: OpenMetrics 1.0 (application/openmetrics-text) names the family of a counter without _total, the
 * older Prometheus text format (text/plain; version=0.0.4) names it with _total. The samples are the same. */
#ifndef HORA_BASE_METRICS_H
#define HORA_BASE_METRICS_H

#include "base/distribution.h"
#include "base/writer.h"

enum hora__metrics_format { HORA__OPENMETRICS, HORA__PROMETHEUS };

enum hora__metric_kind { HORA__COUNTER, HORA__GAUGE, HORA__HISTOGRAM };

struct hora__metric_family {
    enum hora__metric_kind kind;
    const char *name; /* ends with the unit; the writer adds _total where the format wants it */
    const char *unit; /* "seconds"; NULL: none */
    const char *help; /* one sentence */
};

struct hora__metric_label {
    const char *name;
    const char *value; /* any bytes, which the writer escapes; NULL: "" */
};

/* A text of metrics that is being written. */
struct hora__metrics {
    struct hora__writer out; /* collects the text and passes it to the caller's function */
    enum hora__metrics_format format;
    const struct hora__metric_family *family; /* family of the samples being written; NULL: none yet */
};

/* Starts a text, which `write` receives piece by piece. */
void hora__metrics_begin(struct hora__metrics *metrics, enum hora__metrics_format format, hora_write_fn write,
                         void *context);

/* Ends the text and hands over the rest of it. Returns the first error of `write`, or 0. */
int hora__metrics_end(struct hora__metrics *metrics);

/* Starts a family. The following samples belong to it. *family must outlive them. */
void hora__metrics_family(struct hora__metrics *metrics, const struct hora__metric_family *family);

/* Write a sample of a counter or gauge, with `count` labels: a number, or a time in seconds. */
void hora__metrics_int(struct hora__metrics *metrics, const struct hora__metric_label *labels, int count,
                       int64_t value);
void hora__metrics_seconds(struct hora__metrics *metrics, const struct hora__metric_label *labels, int count,
                           int64_t ns);

/* Writes a distribution of times: the counts up to bounds from a microsecond to an hour, and the sum in
 * seconds. `scale` converts the unit of the values, which may be the ticks of a counter. */
void hora__metrics_histogram(struct hora__metrics *metrics, const struct hora__metric_label *labels,
                             int count, const struct hora__distribution *distribution,
                             const struct hora__scale *scale);

#endif
