/* SPDX-License-Identifier: Apache-2.0 */
/* test_tzif.c - the reader of zone files: what it accepts, and that damaged files do no harm */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/zone_support.h"
#include "cron/zone.h"
#include "harness.h"
#include "sys/alloc.h"

static int read_image(const struct image *image, struct hora__spans **ret_spans)
{
    const char *reason = NULL;
    int error = hora__tzif_read(image->bytes, image->size, ret_spans, &reason);
    CHECK(error == 0 || reason != NULL);
    return error;
}

static int read_plan(const struct image_plan *plan, struct hora__spans **ret_spans)
{
    struct image image;
    image_make(&image, plan);
    return read_image(&image, ret_spans);
}

static const struct image_plan sample = {
    .version = '2',
    .types = {{0, 0, "LMT"}, {3600, 0, "CET"}, {7200, 1, "CEST"}},
    .transitions = 4,
    .times = {-1000, 1000, 2000, 3000},
    .indices = {1, 2, 1, 2},
    .footer = "",
};

TEST_REAL(tzif_versions, "")
{
    static const char versions[] = {0, '2', '3', '4', '9'};
    for (size_t i = 0; i < sizeof versions; i++) {
        struct image_plan plan = sample;
        struct hora__spans *spans = NULL;
        plan.version = versions[i];
        CHECK_OK(read_plan(&plan, &spans));
        CHECK_INT(spans->count, 5);
        CHECK(hora__spans_is_sound(spans));
        for (size_t k = 0; k < 4; k++) {
            CHECK_INT(spans->begins[k + 1], sample.times[k]);
            CHECK_INT(spans->spans[k + 1].offset, sample.types[sample.indices[k]].offset);
        }
        CHECK_INT(spans->spans[0].offset, 0);
        CHECK(strcmp(spans->names + spans->spans[2].short_name, "CEST") == 0);
        hora__free(spans);
    }
}

TEST_REAL(tzif_refuses_other_versions, "")
{
    static const char versions[] = {1, '0', '1', (char)0xff};
    for (size_t i = 0; i < sizeof versions; i++) {
        struct image_plan plan = sample;
        struct hora__spans *spans = NULL;
        plan.version = versions[i];
        CHECK_ERROR(read_plan(&plan, &spans), HORA_EBADMSG);
    }
}

TEST_REAL(tzif_refuses_leap_seconds, "")
{
    struct hora__spans *spans = NULL;
    struct image_plan plan = sample;
    plan.leaps = 27;
    CHECK_ERROR(read_plan(&plan, &spans), HORA_ENOTSUP);
    plan.version = 0;
    CHECK_ERROR(read_plan(&plan, &spans), HORA_ENOTSUP);
    CHECK_POINTER(spans, NULL);
}

/* Seconds outside the countable range are left out; at the beginning of time the last type before it
 * applies. */
TEST_REAL(tzif_transitions_beyond_time, "")
{
    struct image_plan plan = sample;
    struct hora__spans *spans = NULL;
    plan.transitions = 8;
    const int64_t times[] = {INT64_MIN,        INT64_MIN + 1,        HORA__SECOND_FIRST, HORA__SECOND_MIN,
                             HORA__SECOND_MAX, HORA__SECOND_MAX + 1, INT64_MAX - 1,      INT64_MAX};
    memcpy(plan.times, times, sizeof times);
    const unsigned char indices[] = {1, 2, 1, 2, 1, 2, 1, 2};
    memcpy(plan.indices, indices, sizeof indices);
    CHECK_OK(read_plan(&plan, &spans));
    CHECK_INT(spans->count, 3);
    CHECK_INT(spans->begins[0], INT64_MIN);
    CHECK_INT(spans->spans[0].offset, 3600);
    CHECK_INT(spans->begins[1], HORA__SECOND_MIN);
    CHECK_INT(spans->begins[2], HORA__SECOND_MAX);
    CHECK_INT(hora__spans_find(spans, HORA__SECOND_FIRST), 0);
    CHECK_INT(hora__spans_find(spans, HORA__SECOND_MIN), 1);
    CHECK_INT(hora__spans_find(spans, HORA__SECOND_MAX - 1), 1);
    CHECK_INT(hora__spans_find(spans, HORA__SECOND_MAX), 2);
    CHECK_INT(hora__spans_find(spans, INT64_MIN), 0);
    CHECK_INT(hora__spans_find(spans, INT64_MAX), 2);
    hora__free(spans);
}

/* A table that ends before time begins: the footer alone is left. */
TEST_REAL(tzif_footer_after_the_beginning_of_time, "")
{
    struct image_plan plan = sample;
    struct hora__spans *spans = NULL;
    plan.transitions = 1;
    plan.times[0] = INT64_MIN / 8;
    plan.footer = "CET-1CEST,M3.5.0,M10.5.0/3";
    CHECK_OK(read_plan(&plan, &spans));
    CHECK_INT(spans->spans[0].offset, 7200); /* September 1677 */
    CHECK_INT(spans->count, 2 * (2262 - 1677) + 1);
    hora__free(spans);
    plan.times[0] = INT64_MAX;
    CHECK_OK(read_plan(&plan, &spans));
    CHECK_INT(spans->count, 1);
    hora__free(spans);
}

/* Types that say the same are the same, also if they stand there twice; names may be the ends of others. */
TEST_REAL(tzif_redundancy, "")
{
    struct image_plan plan = sample;
    struct hora__spans *spans = NULL;
    struct image image;
    plan.types[0] = plan.types[1];
    image_make(&image, &plan);
    CHECK_OK(read_image(&image, &spans));
    CHECK_INT(spans->count, 4); /* the first transition changes nothing */
    hora__free(spans);
    /* type 2: "CEST" becomes its own end, "EST" */
    size_t types_at = 44 + 7 + 44 + 4 * 8 + 4;
    image.bytes[types_at + 2 * 6 + 5]++;
    CHECK_OK(read_image(&image, &spans));
    CHECK(strcmp(spans->names + spans->spans[1].short_name, "EST") == 0);
    hora__free(spans);
}

/* ---- damage ---- */

enum { MAGIC = 0, COUNTS = 44 + 7 + 20, TABLE = 44 + 7 + 44 };
enum { INDICES = TABLE + 4 * 8, TYPES = INDICES + 4, NAMES = TYPES + 3 * 6, FOOTER = NAMES + 13 };

static const struct {
    const char *what;
    size_t at;
    size_t size;
    const char *bytes;
} damages[] = {
    {"no magic", MAGIC, 1, "t"},
    {"no second magic", 44 + 7, 1, "t"},
    {"the second header is of version 1", 44 + 7 + 4, 1, "\0"},
    {"flags for another number of types", COUNTS, 4, "\0\0\0\2"},
    {"the other flags", COUNTS + 4, 4, "\0\0\0\1"},
    {"more transitions than bytes", COUNTS + 12, 4, "\0\0\1\0"},
    {"absurdly many transitions", COUNTS + 12, 4, "\xff\xff\xff\xff"},
    {"no types", COUNTS + 16, 4, "\0\0\0\0"},
    {"too many types", COUNTS + 16, 4, "\0\0\1\1"},
    {"absurdly many types", COUNTS + 16, 4, "\xff\xff\xff\xff"},
    {"no names", COUNTS + 20, 4, "\0\0\0\0"},
    {"absurdly many names", COUNTS + 20, 4, "\xff\xff\xff\xff"},
    {"an absurd first block", 20, 24,
     "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"},
    {"times that fall", TABLE, 8, "\0\0\0\0\0\0\x10\0"},
    {"the same time twice", TABLE + 8, 8, "\0\0\0\0\0\0\x07\xd0"},
    {"no such type", INDICES + 3, 1, "\3"},
    {"too far in the east", TYPES, 4, "\0\1\x6d\xa1"},
    {"too far in the west", TYPES, 4, "\xff\xfe\x92\x5f"},
    {"the least number", TYPES, 4, "\x80\0\0\0"},
    {"neither summer nor winter", TYPES + 4, 1, "\2"},
    {"a name beyond the names", TYPES + 5, 1, "\15"},
    {"an empty name", TYPES + 5, 1, "\3"},
    {"a name that does not end", NAMES + 12, 1, "X"},
    {"a name with a control character", NAMES, 1, "\n"},
    {"a name that is no ASCII", NAMES, 1, "\xe4"},
    {"no line feed before the footer", FOOTER, 1, "x"},
    {"no line feed after the footer", FOOTER + 1, 1, "x"},
};

TEST_REAL(tzif_refuses_damage, "")
{
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct image image;
        struct hora__spans *spans = NULL;
        image_make(&image, &sample);
        CHECK_INT(image.size, FOOTER + 2);
        memcpy(image.bytes + damages[i].at, damages[i].bytes, damages[i].size);
        if (read_image(&image, &spans) != HORA_EBADMSG)
            test_fail(__FILE__, __LINE__, "%s is not seen", damages[i].what);
        hora__free(spans);
    }
}

/* The largest offsets there may be. */
TEST_REAL(tzif_largest_offsets, "")
{
    struct image_plan plan = sample;
    struct hora__spans *spans = NULL;
    plan.types[1].offset = HORA__OFFSET_MAX;
    plan.types[2].offset = -HORA__OFFSET_MAX;
    CHECK_OK(read_plan(&plan, &spans));
    CHECK(hora__spans_is_sound(spans));
    hora__free(spans);
}

/* Damaged bytes are rejected, or give a valid table. The test uses a copy of exactly their size, so that
 * AddressSanitizer detects a read beyond it. */
static void read_damaged(const unsigned char *bytes, size_t size, int *accepted)
{
    unsigned char *copy = malloc(size + (size == 0));
    struct hora__spans *spans = NULL;
    const char *reason = NULL;
    memcpy(copy, bytes, size);
    int error = hora__tzif_read(copy, size, &spans, &reason);
    free(copy);
    if (error == 0) {
        CHECK(hora__spans_is_sound(spans));
        for (size_t i = 0; i < spans->count; i += 7)
            CHECK_INT(hora__spans_find(spans, spans->begins[i]), i);
        CHECK(memchr(spans->names + spans->spans[0].short_name, '\0', 64) != NULL);
        ++*accepted;
    } else {
        CHECK(error == HORA_EBADMSG || error == HORA_ENOTSUP);
        CHECK(reason != NULL);
    }
    hora__free(spans);
}

static void damage_everywhere(unsigned char *bytes, size_t size)
{
    int accepted = 0;
    for (size_t cut = 0; cut < size; cut++)
        read_damaged(bytes, cut, &accepted);
    CHECK_INT(accepted, 0); /* the last byte is that of the footer */
    for (size_t at = 0; at < size; at++) {
        unsigned char was = bytes[at];
        for (int bit = 0; bit < 8; bit++) {
            bytes[at] = (unsigned char)(was ^ 1 << bit);
            read_damaged(bytes, size, &accepted);
        }
        static const unsigned char others[] = {0, 0xff, '\n', ',', '9'};
        for (size_t i = 0; i < sizeof others; i++) {
            bytes[at] = others[i];
            read_damaged(bytes, size, &accepted);
        }
        bytes[at] = was;
    }
    CHECK(accepted > 0);
}

TEST_REAL(tzif_survives_all_damage, "")
{
    struct image image;
    struct image_plan plan = sample;
    plan.footer = "CET-1CEST,M3.5.0,M10.5.0/3";
    plan.times[3] = 1900000000;
    plan.indices[3] = 1;
    image_make(&image, &plan);
    damage_everywhere(image.bytes, image.size);
}

static void damage_file(const char *path)
{
    static unsigned char bytes[8192];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        test_fail(__FILE__, __LINE__, "%s cannot be read", path);
        return;
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    damage_everywhere(bytes, size);
}

TEST_REAL(tzif_survives_damaged_files, "")
{
    damage_file("/usr/share/zoneinfo/Europe/Berlin");
    damage_file("/usr/share/zoneinfo/Asia/Tokyo");
    damage_file("/usr/share/zoneinfo/America/Nuuk");
}
