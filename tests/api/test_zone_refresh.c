/* SPDX-License-Identifier: Apache-2.0 */
/* test_zone_refresh.c - zones whose file changes, also while other threads read them; zones without memory */
#include <stdatomic.h>
#include <string.h>

#include "zone_support.h"

static struct folder folder;
static hora_zone *zone;

static void put(int32_t offset)
{
    struct image image;
    image_fixed(&image, offset, "ABC", "");
    folder_put(&folder, &image);
}

static int offset_now(void)
{
    hora_local local = {.offset = -1};
    CHECK_OK(hora_zone_to_local(zone, (hora_instant){0}, &local));
    CHECK(strcmp(local.short_name, "ABC") == 0);
    return local.offset;
}

static void open_zone(int32_t offset)
{
    folder_make(&folder);
    put(offset);
    CHECK_OK(hora_zone_new("zone", HORA_ZONE_OPTIONS(.folder = folder.path), &zone, NULL));
}

static void close_zone(void)
{
    zone = hora_zone_unref(zone);
    folder_remove(&folder);
}

TEST(refresh_sees_a_new_file, "")
{
    open_zone(3600);
    CHECK_INT(hora_zone_refresh(zone), 0);
    hora_local before;
    CHECK_OK(hora_zone_to_local(zone, (hora_instant){0}, &before));
    put(7200);
    CHECK_INT(offset_now(), 3600);
    CHECK_INT(hora_zone_refresh(zone), 1);
    CHECK_INT(offset_now(), 7200);
    CHECK_INT(hora_zone_refresh(zone), 0);
    put(3600);
    CHECK_INT(hora_zone_refresh(zone), 1);
    CHECK_INT(offset_now(), 3600);
    CHECK(strcmp(before.short_name, "ABC") == 0); /* it belongs to the zone, not to its rules */
    close_zone();
}

TEST(refresh_keeps_the_rules_if_the_file_is_bad, "")
{
    open_zone(3600);
    folder_put(&folder, NULL);
    CHECK_ERROR(hora_zone_refresh(zone), HORA_ENOENT);
    struct image image;
    image_fixed(&image, 7200, "ABC", "");
    image.size--;
    folder_put(&folder, &image);
    CHECK_ERROR(hora_zone_refresh(zone), HORA_EBADMSG);
    image_make(&image,
               &(struct image_plan){.version = '2', .types = {{0, 0, "ABC"}}, .footer = "", .leaps = 1});
    folder_put(&folder, &image);
    CHECK_ERROR(hora_zone_refresh(zone), HORA_ENOTSUP);
    CHECK_INT(offset_now(), 3600);
    put(7200);
    CHECK_INT(hora_zone_refresh(zone), 1);
    CHECK_INT(offset_now(), 7200);
    close_zone();
}

/* Only the meaning of a file counts, not its form: another version of the format, and a table instead of a
 * footer. */
TEST(refresh_sees_no_other_bytes, "")
{
    open_zone(3600);
    struct image image;
    image_make(&image, &(struct image_plan){.version = 0, .types = {{3600, 0, "ABC"}}});
    folder_put(&folder, &image);
    CHECK_INT(hora_zone_refresh(zone), 0);
    image_make(&image, &(struct image_plan){.version = '3',
                                            .types = {{0, 0, "NOT"}, {3600, 0, "ABC"}},
                                            .transitions = 1,
                                            .times = {INT64_MIN / 4},
                                            .indices = {1},
                                            .footer = "ABC-1"});
    folder_put(&folder, &image);
    CHECK_INT(hora_zone_refresh(zone), 0);
    image_make(&image, &(struct image_plan){.version = 0, .types = {{3600, 1, "ABC"}}});
    folder_put(&folder, &image);
    CHECK_INT(hora_zone_refresh(zone), 1); /* it is daylight-saving time now */
    image_make(&image, &(struct image_plan){.version = 0, .types = {{3600, 1, "ABD"}}});
    folder_put(&folder, &image);
    CHECK_INT(hora_zone_refresh(zone), 1);
    close_zone();
}

/* ---- at the same time ---- */

static void replace_and_refresh(void *arg)
{
    put(*(const int32_t *)arg);
    int got = hora_zone_refresh(zone);
    CHECK(got == 0 || got == 1);
}

static void read_twice(void *arg)
{
    (void)arg;
    for (int i = 0; i < 2; i++) {
        int got = offset_now();
        CHECK(got == 3600 || got == 7200 || got == 10800);
    }
}

/* Whichever thread refreshes last, the zone agrees with the file. */
SCENARIO(refreshes_at_the_same_time)
{
    static int32_t offsets[] = {7200, 10800};
    open_zone(3600);
    test_thread *first = test_thread_start(NULL, replace_and_refresh, &offsets[0]);
    test_thread *second = test_thread_start(NULL, replace_and_refresh, &offsets[1]);
    test_thread *reader = test_thread_start(NULL, read_twice, NULL);
    test_thread_join(first);
    test_thread_join(second);
    test_thread_join(reader);
    CHECK_INT(hora_zone_refresh(zone), 0);
    close_zone();
}

static atomic_bool is_over;

static void read_on(void *arg)
{
    (void)arg;
    hora_zone *mine = hora_zone_ref(zone);
    while (!atomic_load(&is_over)) {
        int got = offset_now();
        CHECK(got >= 0 && got % 60 == 0);
        hora_transition transition;
        CHECK_INT(hora_zone_next_transition(mine, (hora_instant){0}, &transition), 0);
    }
    hora_zone_unref(mine);
}

TEST_REAL(refresh_under_readers, "")
{
    open_zone(0);
    atomic_store(&is_over, false);
    test_thread *readers[3];
    for (int i = 0; i < 3; i++)
        readers[i] = test_thread_start(NULL, read_on, NULL);
    for (int i = 1; i <= 200; i++) {
        put(60 * i);
        CHECK_INT(hora_zone_refresh(zone), 1);
        CHECK_INT(offset_now(), 60 * i);
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < 3; i++)
        test_thread_join(readers[i]);
    close_zone();
}

/* ---- without memory ---- */

SWEEP(zones_survive)
{
    struct image image;
    hora_zone *made = NULL;
    image_fixed(&image, 3600, "CET", "CET-1CEST,M3.5.0,M10.5.0/3");
    int error = hora_zone_from_data("Made/By_Hand", image.bytes, image.size, &made, NULL);
    CHECK(error == 0 || error == HORA_ENOMEM);
    CHECK((error == 0) == (made != NULL));
    made = hora_zone_unref(made);
    hora_error reason;
    error = hora_zone_new("UTC+02:00", NULL, &made, &reason);
    CHECK(error == 0 || (error == HORA_ENOMEM && strstr(reason.message, hora_strerror(error)) != NULL));
    CHECK((error == 0) == (made != NULL));
    hora_zone_unref(made);
}

SWEEP(zones_of_files_survive)
{
    folder_make(&folder);
    put(3600);
    hora_error reason;
    int error = hora_zone_new("zone", HORA_ZONE_OPTIONS(.folder = folder.path), &zone, &reason);
    CHECK(error == 0 || (error == HORA_ENOMEM && strstr(reason.message, hora_strerror(error)) != NULL));
    if (error == 0) {
        put(7200);
        int changed = hora_zone_refresh(zone);
        CHECK(changed == 1 || changed == HORA_ENOMEM);
        CHECK_INT(offset_now(), changed == 1 ? 7200 : 3600);
        zone = hora_zone_unref(zone);
    }
    folder_remove(&folder);
}

SWEEP(instants_with_zones_survive)
{
    hora_instant instant = {5};
    hora_zone *named = NULL;
    int error = hora_instant_parse("2025-07-01T12:00:00[Europe/Paris]", NULL, &instant, &named, NULL);
    CHECK(error == 0 || error == HORA_ENOMEM);
    CHECK((error == 0) == (named != NULL));
    CHECK((error == 0) == (instant.ns != 5));
    hora_zone_unref(named);
}
