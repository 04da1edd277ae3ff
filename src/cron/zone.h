/* SPDX-License-Identifier: Apache-2.0 */
/* zone.h - a zone from inside: spans of constant offset, side by side
 *
 * All that a zone will ever say is one table: from the beginning of time (as far as hora_instant counts) to its end, spans in
 * which the offset does not change. Those past the file's own table come from its footer, and are written into the table
 * when the zone is made; so nobody else needs to know that there is a footer. */
#ifndef HORA_CRON_ZONE_H
#define HORA_CRON_ZONE_H

#include <hora/zone.h>

#include "sys/atomic.h"

/* The whole seconds that hora_instant can count; before the first of them there is most of one more. */
#define HORA__SECOND_MIN (INT64_MIN / INT64_C(1000000000))
#define HORA__SECOND_MAX (INT64_MAX / INT64_C(1000000000))

/* Immutable. Invariants: S1 count >= 1 and begins[0] is INT64_MIN. S2 begins are strictly rising, and all but the first lie from
 * HORA__SECOND_MIN to HORA__SECOND_MAX. S3 neighbours differ in offset, or in what is_dst or short_name say. S4 every offset
 * lies between -26 and 26 hours. */
struct hora__span {
    int32_t offset;      /* seconds ahead of UTC */
    uint16_t short_name; /* where it begins in `names` */
    bool is_dst;
};

struct hora__spans {
    struct hora__spans *older; /* rules that were replaced, freed with the zone */
    size_t count;
    const int64_t *begins; /* seconds since 1970; a span ends where the next one begins */
    const struct hora__span *spans;
    const uint16_t *index; /* see spans.c */
    const char *names;     /* NUL after each */
};

struct hora_zone {
    hora__atomic refs;
    hora__atomic_pointer spans; /* struct hora__spans, replaced by hora_zone_refresh */
    char *path;                 /* of the file; NULL: none */
    char *name;
    bool is_offset; /* it was made from UTC or a number of hours: its name says nothing that its offset does not */
};

/* The zone's rules as they are now; valid as long as the zone is. NULL: those of UTC. */
const struct hora__spans *hora__zone_spans(const hora_zone *zone);

/* ---- spans.c ---- */

/* The number of the span in which a second lies. */
size_t hora__spans_find(const struct hora__spans *spans, int64_t second);

/* Where a span ends: the first second after it, INT64_MAX for the last one. */
static inline int64_t hora__spans_end(const struct hora__spans *spans, size_t index)
{
    return index + 1 < spans->count ? spans->begins[index + 1] : INT64_MAX;
}

/* ---- tzif.c: the contents of a file ---- */

/* No file of the database has a thirtieth of this. */
#define HORA__TZIF_MOST ((size_t)1 << 20)

/* HORA_EBADMSG, HORA_ENOTSUP (leap seconds), HORA_ENOMEM. *ret_spans is one block of memory, for hora__free. */
__attribute__((warn_unused_result)) int hora__tzif_read(const void *data, size_t size, struct hora__spans **ret_spans,
                                                        const char **ret_reason);

/* ---- offset.c: fixed offsets ---- */

/* An offset as ZoneOffset.of of Java takes it, without "Z": +h, +hh, +hhmm, +hh:mm, +hhmmss, +hh:mm:ss, up to 18 hours. */
bool hora__offset_parse(const char *text, size_t length, int32_t *ret_offset);

enum { HORA__OFFSET_TEXT = 16 };

/* "+05:30", "-00:44:30"; "Z" for none. Returns its length. */
size_t hora__offset_format(int32_t offset, char text[HORA__OFFSET_TEXT]);

#endif
