/* SPDX-License-Identifier: Apache-2.0 */
/* cron_tsv.c - answer many questions from standard input
 *
 * Zones and expressions are cached, because the lines of a large file repeat them: creating one costs a
 * thousand times as much as using it. Refused ones are not cached, because refusing is fast.
 *
 * Invariant: every line is answered by exactly one line, whatever it contains. */
#include "cron_tsv.h"

#include <stddef.h>
#include <string.h>

#include "cache.h"
#include "command.h"
#include "cron_text.h"
#include "lines.h"
#include "output.h"

/* The columns of a line. */
enum { EXPRESSION, ZONE, FROM, COLUMNS };

static struct cache crons, zones; /* by the text of the expression, and by the name of the zone */
static bool no_memory;            /* the library ran out of memory: no line can be trusted from here on */

static void drop_cron(void *cron)
{
    hora_cron_unref(cron);
}

static void drop_zone(void *zone)
{
    hora_zone_unref(zone);
}

/* Answers a line with an error. `about` is the offending text, or NULL if the message names it. `text` is the
 * message, or NULL for the general text of the error. */
static void refuse(int error, const char *about, const char *text)
{
    no_memory = no_memory || error == HORA_ENOMEM;
    output_text("error: ");
    if (about) {
        output_plain(about);
        output_text(": ");
    }
    output_plain(text ? text : hora_strerror(error));
}

/* Returns the expression of a text, from the cache or parsed. Returns NULL after answering with an error. */
static const hora_cron *cron_of(const hora_cron_options *options, const char *text)
{
    size_t length = strlen(text);
    hora_cron *cron = cache_find(&crons, text, length);
    if (cron)
        return cron;
    hora_error error;
    int result = hora_cron_parse(text, options, &cron, &error);
    if (result < 0) {
        refuse(result, NULL, error.message);
        return NULL;
    }
    cache_add(&crons, text, length, cron);
    return cron;
}

/* Returns the zone of a name, from the cache or loaded. Returns NULL after answering with an error. */
static const hora_zone *zone_of(const char *name)
{
    size_t length = strlen(name);
    hora_zone *zone = cache_find(&zones, name, length);
    if (zone)
        return zone;
    hora_error error;
    int result = hora_zone_new(name, NULL, &zone, &error);
    if (result < 0) {
        refuse(result, NULL, length > 0 ? error.message : "the zone is empty"); /* it names the zone */
        return NULL;
    }
    cache_add(&zones, name, length, zone);
    return zone;
}

/* Splits a line at its tabs, in place. Returns the number of columns, of which only the first three are
 * stored. */
static int cut(char *line, char *columns[COLUMNS])
{
    int count = 0;
    for (char *rest = line; rest;) {
        char *tab = strchr(rest, '\t');
        if (count < COLUMNS)
            columns[count] = rest;
        count++;
        if (tab)
            *tab++ = '\0';
        rest = tab;
    }
    return count;
}

/* Answers one line, without the line feed. */
static void answer(const struct line *line, const hora_cron_options *options, cron_step *step)
{
    char *columns[COLUMNS];
    if (line->trouble) {
        refuse(0, NULL, line->trouble);
        return;
    }
    if (cut(line->text, columns) != COLUMNS) {
        refuse(0, NULL, "a line must have three tab-separated columns: expression, zone, from");
        return;
    }
    const hora_cron *cron = cron_of(options, columns[EXPRESSION]);
    const hora_zone *zone = cron ? zone_of(columns[ZONE]) : NULL;
    if (!zone)
        return;
    hora_instant from, time;
    hora_error error;
    int result = hora_instant_parse(columns[FROM], zone, &from, NULL, &error);
    if (result < 0) {
        refuse(result, *columns[FROM] ? columns[FROM] : "the time is empty", error.message);
        return;
    }
    result = step(cron, zone, from, &time);
    if (result < 0)
        refuse(result, NULL, NULL);
    else if (result == 0)
        output_text("null");
    else
        output_time(time, zone, false);
}

int cron_tsv(const hora_cron_options *options, cron_step *step)
{
    struct line line;
    int more;
    crons.drop = drop_cron;
    zones.drop = drop_zone;
    while ((more = lines_next(&line)) > 0 && !no_memory) {
        answer(&line, options, step);
        output_bytes("\n", 1);
    }
    cache_clear(&crons);
    cache_clear(&zones);
    if (no_memory)
        return complain("out of memory");
    return more < 0 ? STATUS_TROUBLE : STATUS_OK;
}
