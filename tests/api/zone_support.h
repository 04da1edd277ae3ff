/* SPDX-License-Identifier: Apache-2.0 */
/* zone_support.h - shared by the tests of zones: texts of instants, and zone files made by hand */
#ifndef HORA_TESTS_API_ZONE_SUPPORT_H
#define HORA_TESTS_API_ZONE_SUPPORT_H

#include <hora/hora.h>

#include "harness.h"

/* A zone of the system's database. */
hora_zone *zone_named(const char *name);

/* "2026-03-29T02:30:00", with an optional fraction: returns its fields, which are not checked. */
hora_local local_of(const char *text);

/* The same as an instant of UTC. */
hora_instant instant_of(const char *text);

/* ---- contents of a file ---- */

struct image {
    size_t size;
    unsigned char bytes[4096];
};

struct image_type {
    int32_t offset;
    int is_dst;
    const char *name;
};

enum { IMAGE_TYPES = 4, IMAGE_TRANSITIONS = 8 };

/* The contents of the file; the counts end where a name is NULL, or as given. */
struct image_plan {
    char version; /* 0, or '2' and more */
    struct image_type types[IMAGE_TYPES];
    uint32_t transitions;
    int64_t times[IMAGE_TRANSITIONS];
    unsigned char indices[IMAGE_TRANSITIONS];
    const char *footer;
    uint32_t leaps; /* said in the header, not written */
};

void image_make(struct image *image, const struct image_plan *plan);

/* One kind of time and nothing else. */
void image_fixed(struct image *image, int32_t offset, const char *name, const char *footer);

/* A zone whose file has this footer and no transitions. HORA_EBADMSG. */
int zone_from_footer(const char *footer, hora_zone **ret_zone);

/* ---- files ---- */

/* A new folder, with nothing in it. */
struct folder {
    char path[64];
};

void folder_make(struct folder *folder);
void folder_remove(const struct folder *folder);

/* Atomically replaces the file in the folder; only the name "zone" is used. NULL removes the file. */
void folder_put(const struct folder *folder, const struct image *image);

#endif
