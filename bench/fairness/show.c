/* SPDX-License-Identifier: Apache-2.0 */
/* show.c - prints how long tasks waited, as tables and for plots */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../measure.h"
#include "fairness.h"

static const hora_ns STEP = HORA_SECONDS(2); /* interval between two points of a course */

hora_ns *waits_of(const struct load *load, int kind, long *ret_count)
{
    hora_ns *waits = malloc((size_t)(load->count + 1) * sizeof(*waits));
    long count = 0;

    MUST(waits != NULL);
    for (long i = 0; i < load->count; i++)
        if (load->pieces[i].kind == kind)
            waits[count++] = load->pieces[i].began - load->pieces[i].came;
    MUST(count > 0);
    sort_ns(waits, count);
    *ret_count = count;
    return waits;
}

/* Returns a quantile of sorted waits: the smallest that the given share of all waits does not exceed. */
static hora_ns at(const hora_ns *waits, long count, double share)
{
    long place = (long)((double)count * share);
    return waits[place < count ? place : count - 1];
}

hora_ns quantile_of(const struct load *load, int kind, double share)
{
    long count;
    hora_ns *waits = waits_of(load, kind, &count);
    hora_ns quantile = at(waits, count, share);

    free(waits);
    return quantile;
}

const char *time_text(hora_ns time, char text[16])
{
    if (time == 0)
        return strcpy(text, "0");
    double value = (double)time;
    const char *unit = "us";
    double scale = 1e3;
    if (time >= HORA_SECONDS(1)) {
        unit = "s";
        scale = 1e9;
    } else if (time >= HORA_MS(1)) {
        unit = "ms";
        scale = 1e6;
    }
    value /= scale;
    (void)snprintf(text, 16, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, unit);
    return text;
}

void show_head(const char *workload)
{
    printf("%s\n\n| pool | tasks that wait | how many | p50 | p90 | p99 | longest "
           "|\n|---|---|---|---|---|---|---|\n",
           workload);
}

void show_rows(const struct setting *setting, const struct load *load)
{
    static const double SHARES[] = {0.5, 0.9, 0.99, 1};

    for (int kind = 0; kind < load->kind_count; kind++) {
        long count;
        hora_ns *waits = waits_of(load, kind, &count);
        printf("| %s | %s | %ld |", setting->name, load->kinds[kind], count);
        for (size_t i = 0; i < sizeof(SHARES) / sizeof(SHARES[0]); i++) {
            char text[16];
            printf(" %s |", time_text(at(waits, count, SHARES[i]), text));
        }
        printf("\n");
        free(waits);
    }
    (void)fflush(stdout); /* before a check ends the program */
}

void write_quantiles(FILE *file, const char *workload, const struct setting *setting, const struct load *load)
{
    for (int kind = 0; kind < load->kind_count; kind++) {
        long count;
        hora_ns *waits = waits_of(load, kind, &count);
        for (double rest = 1; rest > 0.00099; rest *= 0.825404185) /* 12 steps per factor of ten */
            fprintf(file, "%s\t%s\t%s\t%ld\t%.5f\t%" PRId64 "\n", workload, setting->name, load->kinds[kind],
                    count, 1 - rest, at(waits, count, 1 - rest));
        fprintf(file, "%s\t%s\t%s\t%ld\t1\t%" PRId64 "\n", workload, setting->name, load->kinds[kind], count,
                waits[count - 1]);
        free(waits);
    }
}

void write_course(FILE *file, const char *workload, const struct setting *setting, const struct load *load)
{
    for (int kind = 0; kind < load->kind_count; kind++) {
        hora_ns longest = 0;
        hora_ns end = STEP; /* end of the current interval */
        for (long i = 0; i < load->count; i++) {
            const struct piece *piece = &load->pieces[i];
            for (; piece->came >= end; end += STEP, longest = 0)
                fprintf(file, "%s\t%s\t%s\t%" PRId64 "\t%" PRId64 "\n", workload, setting->name,
                        load->kinds[kind], (end - STEP / 2) / HORA_SECONDS(1), longest);
            if (piece->kind == kind && piece->began - piece->came > longest)
                longest = piece->began - piece->came;
        }
    }
}
