/* SPDX-License-Identifier: Apache-2.0 */
/* zone_support.c - see zone_support.h */
#include "zone_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

hora_zone *zone_named(const char *name)
{
    hora_zone *zone = NULL;
    hora_error reason;
    if (hora_zone_new(name, NULL, &zone, &reason) < 0)
        test_fail(__FILE__, __LINE__, "%s: %s", name, reason.message);
    return zone;
}

hora_local local_of(const char *text)
{
    hora_local l = {0};
    int year = 0, fraction = 0, digits = 0;
    int got = sscanf(text, "%d-%d-%dT%d:%d:%d.%9d%n", &year, &l.month, &l.day, &l.hour, &l.minute, &l.second,
                     &fraction, &digits);
    CHECK(got == 6 || (got == 7 && digits == 29)); /* a fraction has nine digits */
    l.year = year;
    l.nanosecond = fraction;
    return l;
}

hora_instant instant_of(const char *text)
{
    hora_local local = local_of(text);
    hora_local_moments moments = {.kind = HORA_LOCAL_ONCE};
    CHECK_OK(hora_zone_to_instant(NULL, &local, &moments));
    return moments.first;
}

/* ---- contents of a file ---- */

static void put_bytes(struct image *image, const void *bytes, size_t size)
{
    CHECK(size <= sizeof image->bytes - image->size);
    memcpy(image->bytes + image->size, bytes, size);
    image->size += size;
}

static void put_number(struct image *image, uint64_t number, int size)
{
    for (int i = size - 1; i >= 0; i--) {
        unsigned char byte = (unsigned char)(number >> (8 * i));
        put_bytes(image, &byte, 1);
    }
}

static void put_header(struct image *image, char version, uint32_t leaps, uint32_t transitions,
                       uint32_t types, uint32_t characters)
{
    put_bytes(image, "TZif", 4);
    put_bytes(image, &version, 1);
    put_bytes(image, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 15);
    const uint32_t counts[] = {0, 0, leaps, transitions, types, characters};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        put_number(image, counts[i], 4);
}

static void put_block(struct image *image, const struct image_plan *plan, int time_size)
{
    uint32_t types = 0, characters = 0, name = 0;
    for (; types < IMAGE_TYPES && plan->types[types].name != NULL; types++)
        characters += (uint32_t)strlen(plan->types[types].name) + 1;
    put_header(image, plan->version, plan->leaps, plan->transitions, types, characters);
    for (uint32_t i = 0; i < plan->transitions; i++)
        put_number(image, (uint64_t)plan->times[i], time_size);
    put_bytes(image, plan->indices, plan->transitions);
    for (uint32_t i = 0; i < types; i++) {
        put_number(image, (uint64_t)plan->types[i].offset, 4);
        put_number(image, (uint64_t)plan->types[i].is_dst, 1);
        put_number(image, name, 1);
        name += (uint32_t)strlen(plan->types[i].name) + 1;
    }
    for (uint32_t i = 0; i < types; i++)
        put_bytes(image, plan->types[i].name, strlen(plan->types[i].name) + 1);
}

void image_make(struct image *image, const struct image_plan *plan)
{
    image->size = 0;
    if (plan->version == 0) {
        put_block(image, plan, 4);
        return;
    }
    put_header(image, plan->version, 0, 0, 1,
               1); /* a first block that says nothing, as zic writes it today */
    put_bytes(image, "\0\0\0\0\0\0\0", 7);
    put_block(image, plan, 8);
    put_bytes(image, "\n", 1);
    put_bytes(image, plan->footer, strlen(plan->footer));
    put_bytes(image, "\n", 1);
}

void image_fixed(struct image *image, int32_t offset, const char *name, const char *footer)
{
    image_make(image, &(struct image_plan){.version = '2', .types = {{offset, 0, name}}, .footer = footer});
}

int zone_from_footer(const char *footer, hora_zone **ret_zone)
{
    struct image image;
    image_fixed(&image, 0, "-00", footer);
    return hora_zone_from_data("Made/By_Hand", image.bytes, image.size, ret_zone, NULL);
}

/* ---- files ---- */

/* In memory if possible: the simulator calls this some thousand times, and would wait for a disk. */
void folder_make(struct folder *folder)
{
    strcpy(folder->path, "/dev/shm/hora-zones-XXXXXX");
    if (mkdtemp(folder->path) != NULL)
        return;
    strcpy(folder->path, "/tmp/hora-zones-XXXXXX");
    CHECK(mkdtemp(folder->path) != NULL);
}

static void path_in(const struct folder *folder, const char *name, char path[96])
{
    (void)snprintf(path, 96, "%s/%s", folder->path, name);
}

void folder_put(const struct folder *folder, const struct image *image)
{
    char path[96], fresh[96];
    path_in(folder, "zone", path);
    if (image == NULL) {
        CHECK_INT(unlink(path), 0);
        return;
    }
    path_in(folder, "fresh", fresh);
    FILE *file = fopen(fresh, "wb");
    CHECK(file != NULL);
    if (file == NULL)
        return;
    CHECK_INT(fwrite(image->bytes, 1, image->size, file), image->size);
    CHECK_INT(fclose(file), 0);
    CHECK_INT(rename(fresh, path), 0);
}

void folder_remove(const struct folder *folder)
{
    char path[96];
    path_in(folder, "zone", path);
    (void)unlink(path);
    CHECK_INT(rmdir(folder->path), 0);
}
