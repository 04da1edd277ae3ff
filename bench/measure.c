/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c - time, percentiles, errors, and the protocol with bench/run */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool quiet; /* the program warms up, and reports nothing */

void bench_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    _Exit(1); /* without destructors, because other threads may be running */
}

int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t cpu_ns(void)
{
    struct timespec spent;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return (int64_t)spent.tv_sec * 1000000000 + spent.tv_nsec;
}

void wait_until(int64_t time_ns)
{
    struct timespec time = {time_ns / 1000000000, time_ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0) {
    }
}

uint64_t next_random(uint64_t *state)
{
    /* xorshift64 */
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void sort_ns(int64_t *values, long count)
{
    qsort(values, (size_t)count, sizeof(values[0]), by_size);
}

void report(const char *metric, double value, const char *unit, const char *better)
{
    if (!quiet)
        printf("%s %.6g %s %s\n", metric, value, unit, better);
}

void report_part(const char *workload, const char *part, double value, const char *unit, const char *better)
{
    char metric[64];
    snprintf(metric, sizeof(metric), "%s.%s", workload, part);
    report(metric, value, unit, better);
}

void report_percentiles(const char *workload, int64_t *values_ns, long count)
{
    if (quiet)
        return;
    sort_ns(values_ns, count);
    report_part(workload, "p50", (double)values_ns[count / 2] / 1e3, "us", "lower");
    report_part(workload, "p99", (double)values_ns[count * 99 / 100] / 1e3, "us", "lower");
}

void report_lateness(const char *workload, int64_t *values_ns, long count)
{
    if (quiet)
        return;
    report_percentiles(workload, values_ns, count);
    report_part(workload, "p999", (double)values_ns[count * 999 / 1000] / 1e3, "us", "lower");
    report_part(workload, "max", (double)values_ns[count - 1] / 1e3, "us", "lower");
}

static const struct peer_workload *find_workload(const char *name, const struct peer_workload *workloads,
                                                 int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(name, workloads[i].name) == 0)
            return &workloads[i];
    return NULL;
}

/* Executes the commands on standard input. */
static void serve(const struct peer_workload *workload)
{
    char command[8];
    long amount;
    while (scanf("%7s %ld", command, &amount) == 2) {
        quiet = strcmp(command, "warm") == 0;
        workload->run(workload, amount, quiet);
        puts(".");
        fflush(stdout);
    }
}

int serve_peer(int argc, char **argv, const struct peer_workload *workloads, int count,
               void (*open)(const struct peer_workload *workload), void (*close)(void))
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (int i = 0; i < count; i++)
            puts(workloads[i].name);
        return 0;
    }
    const struct peer_workload *workload = argc == 2 ? find_workload(argv[1], workloads, count) : NULL;
    if (workload == NULL) {
        fprintf(stderr, "usage: %s --list | %s WORKLOAD\n", argv[0], argv[0]);
        return 2;
    }
    open(workload);
    serve(workload);
    close();
    return 0;
}
