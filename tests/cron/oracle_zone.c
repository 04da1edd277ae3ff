/* SPDX-License-Identifier: Apache-2.0 */
/* oracle_zone.c - the clock changes of a zone, as the C library reports them
 *
 * A file of the database says at which seconds something may change. After the end of its table, the C
 * library is asked every four weeks. The offsets come from the C library, not from the file. Random checks
 * make sure that no change was missed. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "oracle.h"

#define DATABASE "/usr/share/zoneinfo"

enum { MOST_NAMES = 2000, MOST_SEGMENTS = 4000, MOST_BYTES = 100000, PROBES = 200, FOUR_WEEKS = 28 * 86400 };

static int64_t offset_at(int64_t second)
{
    time_t time = (time_t)second;
    struct tm tm;
    (void)localtime_r(&time, &tm);
    return tm.tm_gmtoff;
}

static uint64_t big_endian(const unsigned char *bytes, int count)
{
    uint64_t value = 0;
    for (int i = 0; i < count; i++)
        value = value << 8 | bytes[i];
    return value;
}

static size_t read_file(const char *path, unsigned char *bytes)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return 0;
    size_t size = fread(bytes, 1, MOST_BYTES, file);
    (void)fclose(file);
    return size;
}

static bool is_zone_file(const char *path)
{
    unsigned char bytes[MOST_BYTES];
    return read_file(path, bytes) > 44 && memcmp(bytes, "TZif", 4) == 0;
}

/* ---- names ---- */

static void collect(const char *folder, char **names, size_t *count)
{
    char path[512];
    (void)snprintf(path, sizeof path, DATABASE "/%s", folder);
    DIR *dir = opendir(path);
    if (dir == NULL)
        return;
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char name[400];
        struct stat status;
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "right") == 0 ||
            strcmp(entry->d_name, "posix") == 0)
            continue; /* with leap seconds; the same once more */
        (void)snprintf(name, sizeof name, "%s%s%s", folder, folder[0] != '\0' ? "/" : "", entry->d_name);
        (void)snprintf(path, sizeof path, DATABASE "/%s", name);
        if (stat(path, &status) != 0)
            continue;
        if (S_ISDIR(status.st_mode))
            collect(name, names, count);
        else if (*count < MOST_NAMES && is_zone_file(path))
            names[(*count)++] = strdup(name);
    }
    (void)closedir(dir);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **zone_names(size_t *ret_count)
{
    char **names = calloc(MOST_NAMES, sizeof *names);
    *ret_count = 0;
    if (names == NULL)
        abort();
    collect("", names, ret_count);
    qsort(names, *ret_count, sizeof *names, by_name);
    return names;
}

void zone_names_free(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

/* ---- segments ---- */

static void add_change(struct zone_table *table, int64_t second)
{
    struct segment *last = &table->segments[table->count - 1];
    int64_t offset = offset_at(second);
    if (second <= last->begin || second > TIME_LAST || offset == last->offset)
        return;
    if (table->count == MOST_SEGMENTS)
        abort();
    last->end = second;
    int64_t shown = second + last->offset;
    if (shown < last->shown)
        shown = last->shown;
    table->segments[table->count++] = (struct segment){second, TIME_LAST + 1, offset, shown};
}

/* The second part of the file, RFC 8536: a header of 44 bytes, then times of eight bytes. */
static int64_t add_changes_of_file(struct zone_table *table, const unsigned char *bytes)
{
    const unsigned char *header = bytes;
    uint64_t utc = big_endian(header + 20, 4);
    uint64_t standard = big_endian(header + 24, 4);
    uint64_t leaps = big_endian(header + 28, 4);
    uint64_t times = big_endian(header + 32, 4);
    uint64_t types = big_endian(header + 36, 4);
    uint64_t names = big_endian(header + 40, 4);
    header += 44 + times * 5 + types * 6 + names + leaps * 8 + standard + utc;
    times = big_endian(header + 32, 4);
    int64_t second = TIME_FIRST;
    for (uint64_t i = 0; i < times; i++) {
        second = (int64_t)big_endian(header + 44 + i * 8, 8);
        add_change(table, second);
    }
    return second > TIME_FIRST ? second : TIME_FIRST;
}

/* From `low`, with the offset of the last segment, to `high`, with another one. */
static void add_change_between(struct zone_table *table, int64_t low, int64_t high)
{
    int64_t offset = offset_at(low);
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (offset_at(middle) == offset)
            low = middle;
        else
            high = middle;
    }
    add_change(table, high);
}

static void add_changes_after(struct zone_table *table, int64_t second)
{
    int64_t offset = offset_at(second);
    while (second < TIME_LAST) {
        int64_t next = second < TIME_LAST - FOUR_WEEKS ? second + FOUR_WEEKS : TIME_LAST;
        int64_t before = offset;
        offset = offset_at(next);
        if (offset != before)
            add_change_between(table, second, next);
        second = next;
    }
}

static void probe(const struct zone_table *table, const char *name)
{
    struct dice dice = {1};
    for (int i = 0; i < PROBES; i++) {
        const struct segment *segment = &table->segments[dice_below(&dice, (int)table->count)];
        int64_t second =
            segment->begin + (int64_t)(dice_roll(&dice) % (uint64_t)(segment->end - segment->begin));
        if (offset_at(second) != segment->offset) {
            (void)fprintf(stderr, "oracle: the C library has a clock change in %s that was not found\n",
                          name);
            exit(1);
        }
    }
}

void zone_table_load(struct zone_table *table, const char *name)
{
    char text[512];
    static unsigned char bytes[MOST_BYTES];
    (void)snprintf(text, sizeof text, ":%s", name);
    (void)setenv("TZ", text, 1);
    tzset();
    (void)snprintf(text, sizeof text, DATABASE "/%s", name);
    table->segments = calloc(MOST_SEGMENTS, sizeof *table->segments);
    if (table->segments == NULL || read_file(text, bytes) == 0)
        abort();
    table->segments[0] = (struct segment){TIME_FIRST, TIME_LAST + 1, offset_at(TIME_FIRST), INT64_MIN};
    table->count = 1;
    add_changes_after(table, add_changes_of_file(table, bytes));
    probe(table, name);
}

void zone_table_free(struct zone_table *table)
{
    free(table->segments);
    table->segments = NULL;
}
