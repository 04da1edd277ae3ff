/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - OpenMetrics 1.0 and the Prometheus text format
 *
 * Invariants        M1 a name ends with its unit and does not end with _total.
 *                   M2 the counts of a histogram rise with the bounds, and the last one counts all values. */
#include "base/metrics.h"

#include <assert.h>
#include <string.h>

/* The bounds of every histogram, from the duration of a hand-over to that of a long run. Each bound is a time
 * series in the database that collects the metrics, so there are few. */
static const int64_t bounds_ns[] = {
    HORA_US(1),      HORA_US(5),      HORA_US(10),      HORA_US(50),     HORA_US(100),     HORA_US(500),
    HORA_MS(1),      HORA_MS(5),      HORA_MS(10),      HORA_MS(50),     HORA_MS(100),     HORA_MS(500),
    HORA_SECONDS(1), HORA_SECONDS(5), HORA_SECONDS(10), HORA_MINUTES(1), HORA_MINUTES(10), HORA_HOURS(1),
};

void hora__metrics_begin(struct hora__metrics *metrics, enum hora__metrics_format format, hora_write_fn write,
                         void *context)
{
    hora__writer_begin(&metrics->out, write, context);
    metrics->format = format;
    metrics->family = NULL;
}

int hora__metrics_end(struct hora__metrics *metrics)
{
    assert(metrics->out.write != NULL);
    if (metrics->format == HORA__OPENMETRICS)
        hora__writer_text(&metrics->out, "# EOF\n");
    return hora__writer_end(&metrics->out);
}

/* Returns true if `name` ends with "_" and `end`. */
static inline bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name);
    size_t end_length = strlen(end);
    return length > end_length && name[length - end_length - 1] == '_' &&
           strcmp(name + length - end_length, end) == 0;
}

/* Writes the start of a comment line: `what`, which is "# TYPE " or the like, the name of the current family
 * as the format wants it, and a blank. */
static void begin_line(struct hora__metrics *metrics, const char *what)
{
    assert(metrics->family != NULL);
    struct hora__writer *out = &metrics->out;
    hora__writer_text(out, what);
    hora__writer_text(out, metrics->family->name);
    if (metrics->family->kind == HORA__COUNTER && metrics->format == HORA__PROMETHEUS)
        hora__writer_text(out, "_total");
    hora__writer_char(out, ' ');
}

/* Writes the comment lines HELP, TYPE and UNIT. The older format has no UNIT. */
void hora__metrics_family(struct hora__metrics *metrics, const struct hora__metric_family *family)
{
    static const char *const kinds[] = {
        [HORA__COUNTER] = "counter\n", [HORA__GAUGE] = "gauge\n", [HORA__HISTOGRAM] = "histogram\n"};
    struct hora__writer *out = &metrics->out;
    assert(!ends_with(family->name, "total") &&
           (family->unit == NULL || ends_with(family->name, family->unit))); /* M1 */
    metrics->family = family;
    begin_line(metrics, "# HELP ");
    hora__writer_help(out, family->help, metrics->format == HORA__OPENMETRICS);
    hora__writer_char(out, '\n');
    begin_line(metrics, "# TYPE ");
    hora__writer_text(out, kinds[family->kind]);
    if (family->unit != NULL && metrics->format == HORA__OPENMETRICS) {
        begin_line(metrics, "# UNIT ");
        hora__writer_text(out, family->unit);
        hora__writer_char(out, '\n');
    }
}

/* The labels of a sample, as one argument. */
struct labels {
    const struct hora__metric_label *at;
    int count;
};

/* Writes a sample up to its value: name, suffix and labels. `bound_ns` adds the label "le" of a histogram's
 * bucket; -1: no such label, INT64_MAX: +Inf. */
static void begin_sample(struct hora__metrics *metrics, const char *suffix, struct labels labels,
                         int64_t bound_ns)
{
    assert(metrics->family != NULL && bound_ns >= -1);
    struct hora__writer *out = &metrics->out;
    bool has_bound = bound_ns >= 0;
    hora__writer_text(out, metrics->family->name);
    hora__writer_text(out, suffix);
    for (int i = 0; i < labels.count; i++) {
        hora__writer_char(out, i == 0 ? '{' : ',');
        hora__writer_text(out, labels.at[i].name);
        hora__writer_char(out, '=');
        hora__writer_label(out, labels.at[i].value);
    }
    if (has_bound) {
        hora__writer_text(out, labels.count == 0 ? "{le=\"" : ",le=\"");
        if (bound_ns == INT64_MAX)
            hora__writer_text(out, "+Inf");
        else
            hora__writer_canonical_seconds(out, bound_ns);
        hora__writer_char(out, '"');
    }
    hora__writer_text(out, labels.count > 0 || has_bound ? "} " : " ");
}

/* Returns the suffix of a sample of a counter or gauge. Both formats want _total for a counter. */
static const char *suffix(const struct hora__metrics *metrics)
{
    assert(metrics->family != NULL && metrics->family->kind != HORA__HISTOGRAM);
    return metrics->family->kind == HORA__COUNTER ? "_total" : "";
}

/* Writes a whole sample whose value is a number. */
static void int_sample(struct hora__metrics *metrics, const char *name_suffix, struct labels labels,
                       int64_t bound_ns, int64_t value)
{
    begin_sample(metrics, name_suffix, labels, bound_ns);
    hora__writer_int(&metrics->out, value);
    hora__writer_char(&metrics->out, '\n');
}

void hora__metrics_int(struct hora__metrics *metrics, const struct hora__metric_label *labels, int count,
                       int64_t value)
{
    int_sample(metrics, suffix(metrics), (struct labels){labels, count}, -1, value);
}

void hora__metrics_seconds(struct hora__metrics *metrics, const struct hora__metric_label *labels, int count,
                           int64_t ns)
{
    begin_sample(metrics, suffix(metrics), (struct labels){labels, count}, -1);
    hora__writer_seconds(&metrics->out, ns);
    hora__writer_char(&metrics->out, '\n');
}

/* Writes one sample per bound, rising, then the bound +Inf, the sum and the count. Values and bounds are
 * converted with different rates: see rate.h. */
void hora__metrics_histogram(struct hora__metrics *metrics, const struct hora__metric_label *labels,
                             int count, const struct hora__distribution *distribution,
                             const struct hora__scale *scale)
{
    assert(metrics->family != NULL && metrics->family->kind == HORA__HISTOGRAM);
    struct labels all = {labels, count};
    for (size_t i = 0; i < sizeof bounds_ns / sizeof bounds_ns[0]; i++) {
        int64_t bound = hora__rate_to_ticks(scale->bounds, bounds_ns[i]);
        int_sample(metrics, "_bucket", all, bounds_ns[i],
                   hora__distribution_up_to(distribution, bound)); /* M2 */
    }
    int_sample(metrics, "_bucket", all, INT64_MAX, distribution->count);
    struct hora__seconds sum = hora__distribution_sum(distribution, scale->values);
    begin_sample(metrics, "_sum", all, -1);
    hora__writer_long_seconds(&metrics->out, sum.seconds, sum.nanoseconds);
    hora__writer_char(&metrics->out, '\n');
    int_sample(metrics, "_count", all, -1, distribution->count);
}
