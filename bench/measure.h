/* SPDX-License-Identifier: Apache-2.0 */
/* measure.h - what all programs of the benchmark share: time, order, complaints, and the conversation with bench/run */
#ifndef HORA_BENCH_MEASURE_H
#define HORA_BENCH_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ends the program if something that must not fail has failed. */
#define MUST(truth) ((truth) ? (void)0 : bench_fail(__FILE__, __LINE__, #truth))

__attribute__((noreturn)) void bench_fail(const char *file, int line, const char *what);

int64_t now_ns(void); /* on the monotonic clock */
int64_t cpu_ns(void); /* of this process so far */
void wait_until(int64_t time_ns);
uint64_t next_random(uint64_t *state); /* the state must not be 0 */
void sort_ns(int64_t *values, long count);

/* Tells bench/run a value. Does nothing while the program only warms up. */
void report(const char *metric, double value, const char *unit, const char *better);
void report_part(const char *workload, const char *part, double value, const char *unit, const char *better);

/* The median and the 99th percentile of what took so many nanoseconds. Sorts them. */
void report_percentiles(const char *workload, int64_t *values_ns, long count);

/* The same, and the tail: the 99.9th percentile and the largest. */
void report_lateness(const char *workload, int64_t *values_ns, long count);

/* One of the workloads of a program that measures one library. */
struct peer_workload {
    const char *name;
    void (*run)(const struct peer_workload *workload, long amount, bool warms_up);
    int producers; /* threads that schedule or hand over */
    int workers;   /* threads of the pool */
    long pending;  /* timers that wait meanwhile, or that there are in all */
    int lag;       /* a timer is cancelled so many calls after it was scheduled; 0: at once */
};

/* The main function of such a program:
 *
 *     PROGRAM --list         the names of all workloads
 *     PROGRAM WORKLOAD       then, on standard input: "warm MILLISECONDS", "run AMOUNT"
 *
 * Each "run" answers with lines "METRIC VALUE UNIT BETTER" and a line "."; "warm" only with the latter. */
int serve_peer(int argc, char **argv, const struct peer_workload *workloads, int count,
               void (*open)(const struct peer_workload *workload), void (*close)(void));

#ifdef __cplusplus
}
#endif

#endif
