/* SPDX-License-Identifier: Apache-2.0 */
/* cron_main.c - cron.next and cron.parse for one library, measured each time the caller asks
 *
 * See serve_peer; the amount is milliseconds. Measured are the rows of rows.tsv that all libraries can express: each has
 * its share of the time, in five parts of which the quickest counts; the result is the mean of the rows. Every expression
 * is asked for what follows some instants, from 2024 to 2027. PROGRAM --answers writes what it says to all its questions,
 * so that bench/run sees whether all mean the same. Quartz.java and croniter_peer.py speak the same language and do the
 * same work; the three must be changed together. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../measure.h"
#include "cron.h"

enum { COLUMNS = 5, MOST_ROWS = 100, INSTANTS = 32, PARTS = 5, LINE = 512 };

static const int64_t FIRST_INSTANT = 1704067200; /* 2024-01-01 */
static const int64_t BETWEEN_INSTANTS = 2959391; /* some 34 days: all hours, weekdays and days of the month */

struct row {
    char *columns[COLUMNS];
    bool is_common; /* all can express it */
};

static struct row rows[MOST_ROWS];
static int row_count;
static volatile int64_t sink; /* answers are used, so that they are computed */

static void add_row(char *line)
{
    struct row *row = &rows[row_count++];
    row->is_common = true;
    line[strcspn(line, "\n")] = '\0';
    for (int i = 0; i < COLUMNS; i++) {
        row->columns[i] = strsep(&line, "\t");
        MUST(row->columns[i] != NULL);
        row->is_common &= strcmp(row->columns[i], "-") != 0;
    }
}

static void read_rows(void)
{
    char line[LINE];
    FILE *file = fopen(CRON_ROWS, "r");
    MUST(file != NULL);
    while (fgets(line, sizeof line, file) != NULL)
        if (line[0] != '#' && row_count < MOST_ROWS)
            add_row(strdup(line));
    fclose(file);
}

static int64_t instant(int number)
{
    return FIRST_INSTANT + number * BETWEEN_INSTANTS;
}

static long ask_next(const struct row *row)
{
    static void *expression;
    static const struct row *of;
    if (of != row) {
        if (of != NULL)
            cron_free(expression);
        expression = cron_parse(row->columns[cron_column]);
        MUST(expression != NULL);
        of = row;
    }
    for (int i = 0; i < INSTANTS; i++)
        sink += cron_next(expression, instant(i));
    return INSTANTS;
}

static long ask_parse(const struct row *row)
{
    for (int i = 0; i < INSTANTS; i++) {
        void *expression = cron_parse(row->columns[cron_column]);
        MUST(expression != NULL);
        cron_free(expression);
    }
    return INSTANTS;
}

/* The mean time of one call, in a part of the time of this row. */
static double measure_part(const struct row *row, long (*ask)(const struct row *), int64_t window_ns)
{
    int64_t begin = now_ns();
    int64_t spent;
    long calls = 0;
    do {
        calls += ask(row);
        spent = now_ns() - begin;
    } while (spent < window_ns);
    return (double)spent / (double)calls;
}

/* Of all parts the quickest one: in the others somebody else may have had the processor. */
static double measure_row(const struct row *row, long (*ask)(const struct row *), int64_t window_ns)
{
    cron_zone(row->columns[0]);
    double least = measure_part(row, ask, 0);
    for (int i = 0; i < PARTS; i++) {
        double part = measure_part(row, ask, window_ns / PARTS);
        least = part < least ? part : least;
    }
    return least;
}

static void measure(const struct peer_workload *w, long amount, long (*ask)(const struct row *))
{
    double sum = 0;
    int common = 0;
    for (int i = 0; i < row_count; i++)
        common += rows[i].is_common;
    for (int i = 0; i < row_count; i++)
        if (rows[i].is_common)
            sum += measure_row(&rows[i], ask, amount * 1000000 / common);
    report(w->name, sum / common, "ns", "lower");
}

static void next(const struct peer_workload *w, long amount, bool warms_up)
{
    (void)warms_up;
    measure(w, amount, ask_next);
}

static void parse(const struct peer_workload *w, long amount, bool warms_up)
{
    (void)warms_up;
    measure(w, amount, ask_parse);
}

static void open_rows(const struct peer_workload *w)
{
    (void)w;
    read_rows();
    cron_open();
}

static void close_rows(void)
{
}

static int answer(void)
{
    open_rows(NULL);
    for (int i = 0; i < row_count; i++) {
        const char *text = rows[i].columns[cron_column];
        if (strcmp(text, "-") == 0)
            continue;
        cron_zone(rows[i].columns[0]);
        void *expression = cron_parse(text);
        for (int j = 0; j < INSTANTS; j++)
            printf("%d %d %" PRId64 "\n", i, j, cron_next(expression, instant(j)));
        cron_free(expression);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct peer_workload workloads[] = {{.name = "cron.next", .run = next},
                                                     {.name = "cron.parse", .run = parse}};
    if (argc == 2 && strcmp(argv[1], "--answers") == 0)
        return answer();
    return serve_peer(argc, argv, workloads, 2, open_rows, close_rows);
}
