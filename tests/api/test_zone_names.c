/* SPDX-License-Identifier: Apache-2.0 */
/* test_zone_names.c - how zones are found by their names, and which names are rejected */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zone_support.h"

/* ---- fixed offsets; the normal forms are those of Java's ZoneId.of ---- */

static const struct {
    const char *name;
    const char *normal;
    int offset;
} offsets[] = {
    {"Z", "Z", 0},
    {"UTC", "UTC", 0},
    {"GMT", "GMT", 0},
    {"UT", "UT", 0},
    {"+0", "Z", 0},
    {"-00:00", "Z", 0},
    {"+000000", "Z", 0},
    {"+5", "+05:00", 18000},
    {"-3", "-03:00", -10800},
    {"+05", "+05:00", 18000},
    {"+0530", "+05:30", 19800},
    {"+05:30", "+05:30", 19800},
    {"-0044", "-00:44", -2640},
    {"-00:44:30", "-00:44:30", -2670},
    {"-004430", "-00:44:30", -2670},
    {"+01:02:03", "+01:02:03", 3723},
    {"+18", "+18:00", 64800},
    {"-18:00:00", "-18:00", -64800},
    {"UTC+2", "UTC+02:00", 7200},
    {"UTC+02:00", "UTC+02:00", 7200},
    {"GMT-8", "GMT-08:00", -28800},
    {"UT+5", "UT+05:00", 18000},
    {"UTC-0", "UTC", 0},
    {"GMT+0", "GMT", 0},
    {"UT+01:02:03", "UT+01:02:03", 3723},
};

TEST_REAL(zone_offsets_by_name, "")
{
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        hora_zone *zone = NULL;
        hora_local local;
        /* they need no file */
        CHECK_OK(hora_zone_new(offsets[i].name, HORA_ZONE_OPTIONS(.folder = "/nowhere"), &zone, NULL));
        CHECK(strcmp(hora_zone_name(zone), offsets[i].normal) == 0);
        CHECK(hora_zone_is_fixed(zone));
        CHECK_INT(hora_zone_refresh(zone), 0);
        CHECK_OK(hora_zone_to_local(zone, (hora_instant){0}, &local));
        CHECK_INT(local.offset, offsets[i].offset);
        CHECK(!local.is_dst && strcmp(local.short_name, offsets[i].normal) == 0);
        hora_zone *again = NULL;
        CHECK_OK(hora_zone_new(hora_zone_name(zone), NULL, &again, NULL));
        CHECK(strcmp(hora_zone_name(again), hora_zone_name(zone)) == 0);
        hora_zone_unref(again);
        hora_zone_unref(zone);
    }
}

/* ---- rejected names ---- */

static const char *const no_names[] = {
    "",
    " ",
    "/",
    ".",
    "..",
    "/etc/localtime",
    "./Europe/Paris",
    "../zoneinfo/Europe/Paris",
    "Europe/../Europe/Paris",
    "Europe/..",
    "Europe//Paris",
    "Europe/",
    "Europe/./Paris",
    "Europe/.Paris",
    "Europe/Paris ",
    " Europe/Paris",
    "Europe\\Paris",
    "Europe/Paris\n",
    "Europe/Paris:",
    "Europe/Par\xc3\xads",
    "[Europe/Paris]",
    "Europe/%50aris",
    "Europe/Paris*",
    "CET-1CEST,M3.5.0,M10.5.0",
    "+",
    "-",
    "+1:00",
    "+05:3",
    "+05:",
    "+053",
    "+05300",
    "+05:30:",
    "+05:3000",
    "+05:30x00",
    "+05:30000",
    "+0530:00",
    "+18:01",
    "+18:00:01",
    "-19",
    "+99",
    "+00:60",
    "+00:00:60",
    "+5:30",
    "++5",
    "+ 5",
    "+05:30x",
    "UTC+",
    "GMT-",
    "UTC+19",
    "UTC+5:30",
    "UT--1",
    "+Z",
    "UTC+Z",
    "-Europe",
};

TEST_REAL(zone_refuses_bad_names, "")
{
    char long_name[400];
    memset(long_name, 'a', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    hora_zone *zone = NULL;
    hora_error reason;
    for (size_t i = 0; i < sizeof no_names / sizeof no_names[0]; i++) {
        reason = (hora_error){.code = 1};
        int error = hora_zone_new(no_names[i], NULL, &zone, &reason);
        if (error != HORA_EINVAL || reason.code != error || reason.message[0] == '\0' || zone != NULL)
            test_fail(__FILE__, __LINE__, "\"%s\": %s", no_names[i], hora_errname(error));
    }
    CHECK_ERROR(hora_zone_new(long_name, NULL, &zone, &reason), HORA_EINVAL);
    CHECK_ERROR(hora_zone_new(NULL, NULL, &zone, &reason), HORA_EINVAL);
    CHECK_ERROR(hora_zone_new("UTC", NULL, NULL, &reason), HORA_EINVAL);
    CHECK_ERROR(hora_zone_new("", NULL, &zone, NULL), HORA_EINVAL);
    CHECK_POINTER(zone, NULL);
}

TEST_REAL(zone_refuses_what_the_database_does_not_have, "")
{
    /* of these two are folders, and in one a file is taken for a folder */
    static const char *const names[] = {
        "Europe/Atlantis", "Atlantis",          "Europe", "America/Argentina", "UTCX", "utc", "GMT5", "z",
        "europe/paris",    "Europe/Paris/Texas"};
    hora_zone *zone = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        hora_error reason = {.code = 1};
        int error = hora_zone_new(names[i], NULL, &zone, &reason);
        if (error != HORA_ENOENT || reason.code != error || strstr(reason.message, names[i]) == NULL)
            test_fail(__FILE__, __LINE__, "%s: %s", names[i], hora_errname(error));
    }
    CHECK_ERROR(hora_zone_new("Europe/Paris", HORA_ZONE_OPTIONS(.folder = "/nowhere"), &zone, NULL),
                HORA_ENOENT);
    CHECK_ERROR(hora_zone_new("Europe/Paris", HORA_ZONE_OPTIONS(.folder = ""), &zone, NULL), HORA_ENOENT);
    CHECK_ERROR(hora_zone_new("tzdata.zi", HORA_ZONE_OPTIONS(.folder = "/usr/share/zoneinfo"), &zone, NULL),
                HORA_EBADMSG);
    CHECK_POINTER(zone, NULL);
}

/* ---- files ---- */

TEST(zone_from_a_folder, "")
{
    struct folder folder;
    struct image image;
    hora_zone *zone = NULL;
    hora_local local;
    folder_make(&folder);
    image_fixed(&image, 1234, "HORA", "HORA-0:20:34");
    folder_put(&folder, &image);
    CHECK_OK(hora_zone_new("zone", HORA_ZONE_OPTIONS(.folder = folder.path), &zone, NULL));
    CHECK(strcmp(hora_zone_name(zone), "zone") == 0);
    CHECK_OK(hora_zone_to_local(zone, (hora_instant){0}, &local));
    CHECK_INT(local.offset, 1234);
    CHECK(strcmp(local.short_name, "HORA") == 0);
    hora_zone_unref(zone);
    folder_remove(&folder);
}

/* A pipe without a writer, an empty file, one that may not be read and one that is too large. */
TEST_REAL(zone_from_odd_files, "")
{
    struct folder folder;
    char path[96];
    hora_zone *zone = NULL;
    const hora_zone_options *options = HORA_ZONE_OPTIONS(.folder = folder.path);
    folder_make(&folder);
    (void)snprintf(path, sizeof path, "%s/zone", folder.path);
    CHECK_INT(mkfifo(path, 0600), 0);
    CHECK_ERROR(hora_zone_new("zone", options, &zone, NULL), HORA_ENOENT);
    CHECK_INT(unlink(path), 0);
    CHECK_INT(symlink("zone", path), 0);
    CHECK_ERROR(hora_zone_new("zone", options, &zone, NULL), HORA_ENOENT);
    CHECK_INT(unlink(path), 0);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    CHECK_ERROR(hora_zone_new("zone", options, &zone, NULL), HORA_EBADMSG);
    CHECK_INT(ftruncate(fd, (off_t)1 << 24), 0);
    CHECK_ERROR(hora_zone_new("zone", options, &zone, NULL), HORA_EBADMSG);
    CHECK_INT(close(fd), 0);
    CHECK_INT(chmod(path, 0), 0);
    if (geteuid() != 0) /* whom nothing is forbidden */
        CHECK_ERROR(hora_zone_new("zone", options, &zone, NULL), HORA_EIO);
    folder_remove(&folder);
    CHECK_POINTER(zone, NULL);
}

TEST_REAL(zone_local_is_there, "")
{
    hora_zone *zone = NULL;
    hora_local local;
    CHECK_OK(hora_zone_new("local", HORA_ZONE_OPTIONS(.folder = "/nowhere"), &zone, NULL));
    CHECK(strcmp(hora_zone_name(zone), "local") == 0);
    CHECK_OK(hora_zone_to_local(zone, (hora_instant){0}, &local));
    CHECK_INT(hora_zone_refresh(zone), 0);
    hora_zone_unref(zone);
}

TEST_REAL(zone_options_of_another_release, "")
{
    hora_zone *zone = NULL;
    hora_zone_options options = HORA_INIT(hora_zone_options);
    options.struct_size = 3;
    CHECK_ERROR(hora_zone_new("UTC", &options, &zone, NULL), HORA_EINVAL);
    struct {
        hora_zone_options known;
        uint64_t unknown;
    } newer = {HORA_INIT(hora_zone_options), 0};
    newer.known.struct_size = sizeof newer;
    CHECK_OK(hora_zone_new("UTC", &newer.known, &zone, NULL));
    zone = hora_zone_unref(zone);
    newer.unknown = 1;
    CHECK_ERROR(hora_zone_new("UTC", &newer.known, &zone, NULL), HORA_EINVAL);
    CHECK_POINTER(zone, NULL);
}

TEST(zone_null_is_utc, "")
{
    CHECK(strcmp(hora_zone_name(NULL), "UTC") == 0);
    CHECK(hora_zone_is_fixed(NULL));
    CHECK_POINTER(hora_zone_ref(NULL), NULL);
    CHECK_POINTER(hora_zone_unref(NULL), NULL);
    CHECK_ERROR(hora_zone_refresh(NULL), HORA_EINVAL);
}

TEST(zone_is_counted, "")
{
    hora_zone *zone = NULL;
    CHECK_OK(hora_zone_new("+01:00", NULL, &zone, NULL));
    CHECK_POINTER(hora_zone_ref(zone), zone);
    CHECK_POINTER(hora_zone_unref(zone), NULL);
    CHECK(strcmp(hora_zone_name(zone), "+01:00") == 0);
    CHECK_POINTER(hora_zone_unref(zone), NULL);
}

TEST(zone_from_data_refuses, "")
{
    struct image image;
    hora_zone *zone = NULL;
    hora_error reason;
    char long_name[300];
    memset(long_name, 'a', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    image_fixed(&image, 0, "ABC", "ABC0");
    CHECK_ERROR(hora_zone_from_data(NULL, image.bytes, image.size, &zone, &reason), HORA_EINVAL);
    CHECK_ERROR(hora_zone_from_data("", image.bytes, image.size, &zone, &reason), HORA_EINVAL);
    CHECK_ERROR(hora_zone_from_data(long_name, image.bytes, image.size, &zone, &reason), HORA_EINVAL);
    CHECK_ERROR(hora_zone_from_data("a", NULL, image.size, &zone, &reason), HORA_EINVAL);
    CHECK_ERROR(hora_zone_from_data("a", image.bytes, image.size, NULL, &reason), HORA_EINVAL);
    CHECK_ERROR(hora_zone_from_data("a", image.bytes, 0, &zone, &reason), HORA_EBADMSG);
    CHECK_ERROR(hora_zone_from_data("a", image.bytes, SIZE_MAX, &zone, NULL), HORA_EBADMSG);
    CHECK_POINTER(zone, NULL);
    CHECK_OK(hora_zone_from_data("any name [at all]", image.bytes, image.size, &zone, &reason));
    CHECK(strcmp(hora_zone_name(zone), "any name [at all]") == 0);
    CHECK_INT(hora_zone_refresh(zone), 0);
    hora_zone_unref(zone);
}
