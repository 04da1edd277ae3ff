/* SPDX-License-Identifier: Apache-2.0 */
/* measure.h - shared by all programs of the benchmark: time, percentiles, errors, and the protocol with
 * bench/run */
#ifndef HORA_BENCH_MEASURE_H
#define HORA_BENCH_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ends the program if a condition that must hold does not hold. */
#define MUST(truth) ((truth) ? (void)0 : bench_fail(__FILE__, __LINE__, #truth))

__attribute__((noreturn)) void bench_fail(const char *file, int line, const char *what);

int64_t now_ns(void);                  /* returns the time on the monotonic clock */
int64_t cpu_ns(void);                  /* returns the processor time that this process has used */
void wait_until(int64_t time_ns);      /* sleeps until a time on the monotonic clock */
uint64_t next_random(uint64_t *state); /* returns the next number of a sequence; the state must not be 0 */
void sort_ns(int64_t *values, long count);

/* Report a value to bench/run. `better` is "higher" or "lower". Do nothing while the program warms up. The
 * second one names the metric WORKLOAD.PART. */
void report(const char *metric, double value, const char *unit, const char *better);
void report_part(const char *workload, const char *part, double value, const char *unit, const char *better);

/* Reports the median and the 99th percentile of durations in nanoseconds. Sorts the durations. */
void report_percentiles(const char *workload, int64_t *values_ns, long count);

/* Like report_percentiles, and also reports the 99.9th percentile and the maximum. */
void report_lateness(const char *workload, int64_t *values_ns, long count);

/* A workload of a program that measures one library. */
struct peer_workload {
    const char *name;
    /* Runs the workload once and reports its values. The unit of `amount` depends on the workload. */
    void (*run)(const struct peer_workload *workload, long amount, bool warms_up);
    int producers; /* threads that schedule timers, or submit or put elements */
    int workers;   /* threads of the pool */
    long pending;  /* timers that wait during the measurement, or the number of timers in all */
    int lag;       /* number of calls after which a timer is cancelled; 0: at once */
    long slack_us; /* how much later than planned a periodic task may start */
};

/* The main function of such a program:
 *
 *     PROGRAM --list         prints the names of all workloads
 *     PROGRAM WORKLOAD       reads commands from standard input: "warm MILLISECONDS", "run AMOUNT"
 *
 * The answer to "run" is lines "METRIC VALUE UNIT BETTER" and a line ".", the answer to "warm" only the line
 * ".". `open` is called before the first command, `close` at the end of the input. */
int serve_peer(int argc, char **argv, const struct peer_workload *workloads, int count,
               void (*open)(const struct peer_workload *workload), void (*close)(void));

#ifdef __cplusplus
}
#endif

#endif
