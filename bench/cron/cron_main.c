/* SPDX-License-Identifier: Apache-2.0 */
/* cron_main.c - cron.next and cron.parse for one library, measured each time the caller asks
 *
 * See serve_peer; the amount is milliseconds. The program measures the rows of rows.tsv that all libraries
 * can express. Each row has an equal share of the time, in five parts of which the fastest counts. The result
 * is the mean over the rows. For every expression it computes the next time after some instants, from 2024 to
 * 2026. PROGRAM --answers prints the results for all its expressions, so that bench/run can check whether all
 * libraries agree. Quartz.java and croniter_peer.py use the same protocol and do the same work; the three
 * must be changed together. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../measure.h"
#include "cron.h"

enum {
    COLUMNS = 5,     /* of rows.tsv; the first is the zone */
    MOST_ROWS = 100, /* of rows.tsv that are read */
    INSTANTS = 32,   /* calls between two readings of the clock */
    PARTS = 5,       /* of the time of a row, of which the fastest counts */
    LINE = 512       /* the longest line of rows.tsv */
};

static const int64_t FIRST_INSTANT = 1704067200; /* 2024-01-01 */
static const int64_t BETWEEN_INSTANTS = 2959391; /* some 34 days: all hours, weekdays and days of the month */

struct row {
    char *columns[COLUMNS];
    bool is_common; /* all libraries can express it */
};

static struct row rows[MOST_ROWS];
static int row_count;
static volatile int64_t sink; /* results are stored, so that the compiler cannot leave out the calls */

/* Splits a line of rows.tsv and adds it. The row keeps the line. */
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

/* Computes the next times of a row after all instants. Parses the expression only when the row changes.
 * Returns the number of calls. */
static long ask_next(const struct row *row)
{
    static void *expression;
    static const struct row *of; /* the row of the expression */
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

/* Parses and frees the expression of a row. Returns the number of calls. */
static long ask_parse(const struct row *row)
{
    for (int i = 0; i < INSTANTS; i++) {
        void *expression = cron_parse(row->columns[cron_column]);
        MUST(expression != NULL);
        cron_free(expression);
    }
    return INSTANTS;
}

/* Returns the mean time of one call of `ask` during window_ns, in nanoseconds. */
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

/* Returns the time of a call in the fastest of all parts: in the others, another process may have used the
 * processor. */
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

/* Measures all common rows and reports the mean. */
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

/* Prints all results, for --answers: the row, the instant, and the time. */
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
