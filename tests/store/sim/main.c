/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the command store-sim */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fault.h"
#include "sim.h"

enum hora__store_fault hora__store_fault_planted;

static const char usage[] =
    "usage: store-sim [--schedules N] [--seed S] [--trace] [--fault NAME] [--faults]\n"
    "\n"
    "Runs N schedules of nodes of a store with the seeds S, S + 1, ... and checks the promises of\n"
    "hora/store.h. The first failing seed is printed; --seed SEED --schedules 1 --trace repeats it and\n"
    "prints all that happens.\n"
    "\n"
    "  --schedules N   10000 if it is not given\n"
    "  --seed S        1 if it is not given\n"
    "  --trace         print the events\n"
    "  --fault NAME    plant a fault of store/fault.h\n"
    "  --faults        check that each fault of store/fault.h is found within N schedules\n"
    "\n"
    "With HORA_SOAK=1 in the environment N is multiplied by 20, except for --faults and --trace.\n";

static const struct {
    const char *name, *text;
} faults_known[] = {{"NONE", ""},
#define FAULT_ROW(name, text) {#name, text},
                    HORA__STORE_FAULT_LIST(FAULT_ROW)
#undef FAULT_ROW
};

static world the_world;

/* Runs schedules until one fails. Returns its number, counted from 0, or `count`. */
static uint64_t run_schedules(uint64_t seed, uint64_t count, bool trace, uint64_t *ret_events)
{
    for (uint64_t i = 0; i < count; i++) {
        bool good = world_run(&the_world, seed + i, trace);
        *ret_events += (uint64_t)the_world.event_total;
        if (!good)
            return i;
    }
    return count;
}

static int run_faults(uint64_t seed, uint64_t count)
{
    int missed = 0;
    for (int fault = 1; fault < HORA__STORE_FAULT_COUNT; fault++) {
        uint64_t events = 0;
        hora__store_fault_planted = (enum hora__store_fault)fault;
        uint64_t at = run_schedules(seed, count, false, &events);
        hora__store_fault_planted = HORA__STORE_FAULT_NONE;
        if (at < count)
            printf("found   %-22s by %s, seed %llu: %s\n", faults_known[fault].name, the_world.violation,
                   (unsigned long long)(seed + at), the_world.detail);
        else
            printf("MISSED  %-22s %s\n", faults_known[fault].name, faults_known[fault].text);
        missed += at == count;
        fflush(stdout);
    }
    printf("%d faults found, %d missed\n", HORA__STORE_FAULT_COUNT - 1 - missed, missed);
    return missed == 0 ? 0 : 1;
}

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int run_all(uint64_t seed, uint64_t count, bool trace, const char *fault)
{
    uint64_t events = 0;
    double start = seconds();
    uint64_t at = run_schedules(seed, count, trace, &events);
    if (at < count) {
        printf("FAIL %s: %s\n  again: store-sim --seed %llu --schedules 1 --trace%s%s\n", the_world.violation,
               the_world.detail, (unsigned long long)(seed + at), fault != NULL ? " --fault " : "",
               fault != NULL ? fault : "");
        return 1;
    }
    double took = seconds() - start;
    printf("%llu schedules, %llu events, %.0f schedules per second\n", (unsigned long long)count,
           (unsigned long long)events, (double)count / took);
    return 0;
}

static void plant(const char *name)
{
    for (int i = 1; i < HORA__STORE_FAULT_COUNT; i++)
        if (strcmp(name, faults_known[i].name) == 0)
            hora__store_fault_planted = (enum hora__store_fault)i;
    if (hora__store_fault_planted == HORA__STORE_FAULT_NONE) {
        fprintf(stderr, "store-sim: there is no fault %s\n", name);
        exit(2);
    }
}

static uint64_t number_of(const char *text)
{
    char *end = NULL;
    errno = 0;
    unsigned long long number = text != NULL ? strtoull(text, &end, 10) : 0;
    if (text == NULL || errno != 0 || *end != '\0' || end == text) {
        fputs(usage, stderr);
        exit(2);
    }
    return number;
}

int main(int argc, char **argv)
{
    uint64_t seed = 1, count = 10000;
    bool trace = false, all_faults = false;
    const char *fault = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--schedules") == 0)
            count = number_of(argv[++i]);
        else if (strcmp(argv[i], "--seed") == 0)
            seed = number_of(argv[++i]);
        else if (strcmp(argv[i], "--trace") == 0)
            trace = true;
        else if (strcmp(argv[i], "--faults") == 0)
            all_faults = true;
        else if (strcmp(argv[i], "--fault") == 0 && i + 1 < argc)
            plant(fault = argv[++i]);
        else {
            fputs(usage, strcmp(argv[i], "--help") == 0 ? stdout : stderr);
            return strcmp(argv[i], "--help") == 0 ? 0 : 2;
        }
    }
    /* Memory of a node stays in the process from schedule to schedule. */
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 24);
    (void)mallopt(M_TRIM_THRESHOLD, 1 << 26);
    const char *soak = getenv("HORA_SOAK");
    if (soak != NULL && strcmp(soak, "1") == 0 && !trace && !all_faults)
        count *= 20;
    world_prepare();
    return all_faults ? run_faults(seed, count) : run_all(seed, count, trace, fault);
}
