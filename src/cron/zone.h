/* SPDX-License-Identifier: Apache-2.0 */
/* zone.h - a time zone from inside: a table of spans of constant offset
 *
 * The rules of a zone are one table. It covers all time that hora_instant can count, as spans in which the
 * offset does not change. The spans behind the table of the zone's file come from the footer of that file;
 * reading the file writes them into the table, so only tzif.c knows about footers. */
#ifndef HORA_CRON_ZONE_H
#define HORA_CRON_ZONE_H

#include <assert.h>
#include <hora/zone.h>

#include "sys/atomic.h"

/* The first and last whole second that hora_instant can count. Before the first there is most of one more
 * second. */
#define HORA__SECOND_MIN (INT64_MIN / INT64_C(1000000000))
#define HORA__SECOND_MAX (INT64_MAX / INT64_C(1000000000))

/* Immutable.
 *
 * Invariants        S1 count >= 1, and begins[0] is INT64_MIN.
 *                   S2 begins rise strictly, and all but the first lie from HORA__SECOND_MIN to
 *                   HORA__SECOND_MAX.
 *                   S3 neighbours differ in offset, in is_dst or in the text of short_name.
 *                   S4 every offset lies between -26 and 26 hours. */
struct hora__span {
    int32_t offset;      /* seconds ahead of UTC */
    uint16_t short_name; /* offset of its text in `names` */
    bool is_dst;
};

/* The rules of a zone: one allocation, never changed once other threads can see it. */
struct hora__spans {
    struct hora__spans *older; /* rules that hora_zone_refresh replaced; freed with the zone */
    size_t count;
    const int64_t *begins; /* seconds since 1970; a span ends where the next one begins */
    const struct hora__span *spans;
    const uint16_t *index; /* speeds up hora__spans_find, see spans.c */
    /* The texts of short_name, each with a terminating NUL. */
    const char *names;
};

/* A zone. Only the count and the pointer to the rules change. */
struct hora_zone {
    hora__atomic refs;
    /* The current rules, a struct hora__spans. hora_zone_refresh replaces them; readers load the pointer
     * once per operation and need no lock. */
    hora__atomic_pointer spans;
    /* The zone's file, which a refresh reads again; NULL: the rules never change. */
    char *path;
    char *name;
    /* Made from UTC or an offset, so the name says nothing but the offset, and formatted instants leave it
     * out. */
    bool is_offset;
};

/* Returns the current rules of the zone, which stay valid as long as the zone. NULL: UTC. */
const struct hora__spans *hora__zone_spans(const hora_zone *zone);

/* ---- spans.c ---- */

/* Returns the index of the span that contains a second. Any int64_t is allowed. */
size_t hora__spans_find(const struct hora__spans *spans, int64_t second);

/* Returns the first second behind a span; INT64_MAX for the last one. */
static inline int64_t hora__spans_end(const struct hora__spans *spans, size_t index)
{
    assert(index < spans->count);
    return index + 1 < spans->count ? spans->begins[index + 1] : INT64_MAX;
}

/* A draft is filled from the beginning of time on, and then becomes a table. Callers may add redundant spans:
 * spans outside the time that hora_instant counts, and spans equal to their predecessor. The draft keeps the
 * invariants S1 to S4. */

/* S4, in seconds */
#define HORA__OFFSET_MAX INT32_C(93600)

/* The second that contains INT64_MIN nanoseconds, where time begins. */
#define HORA__SECOND_FIRST (HORA__SECOND_MIN - 1)

/* A table in the making. */
struct hora__draft {
    size_t count; /* at least 1 once a span was added */
    /* Room for spans. */
    size_t most;
    int64_t *begins;
    struct hora__span *spans;
    char *names;
    size_t names_size;
    /* Room for names, in bytes. */
    size_t names_most;
};

/* Allocates room for `most` spans, and for names including the NUL of each. Returns 0 or HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__draft_init(struct hora__draft *draft, size_t most,
                                                         size_t names_most);
void hora__draft_destroy(struct hora__draft *draft);

/* Returns the offset of a name in `names`; adds the name if it is new. There must be room for it. */
uint16_t hora__draft_name(struct hora__draft *draft, const char *name, size_t length);

/* Adds the span that begins at this second, which must not be before the last one. The first span begins at
 * the beginning of time. */
void hora__draft_add(struct hora__draft *draft, int64_t begin, struct hora__span span);

/* Makes the table. Returns 0 or HORA_ENOMEM. The caller destroys the draft. */
__attribute__((warn_unused_result)) int hora__draft_finish(const struct hora__draft *draft,
                                                           struct hora__spans **ret_spans);

/* Makes a table of one span. Returns 0 or HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__spans_fixed(int32_t offset, const char *name,
                                                          struct hora__spans **ret_spans);

/* Returns the table of UTC, which is static. */
const struct hora__spans *hora__spans_utc(void);

/* Returns whether two tables have the same rules. */
bool hora__spans_equal(const struct hora__spans *a, const struct hora__spans *b);

/* Returns whether the offset never changes. Name and is_dst may. */
bool hora__spans_is_fixed(const struct hora__spans *spans);

/* Returns whether S1 to S4 hold; for assertions and tests. */
bool hora__spans_is_sound(const struct hora__spans *spans);

/* ---- tzif.c: zone files ---- */

/* The largest file that hora reads. No file of the database has a thirtieth of this. */
#define HORA__TZIF_MOST ((size_t)1 << 20)

/* Reads the contents of a zone file. Returns 0, HORA_EBADMSG, HORA_ENOTSUP (leap seconds) or HORA_ENOMEM.
 * *ret_spans is one block, which the caller frees with hora__free. */
__attribute__((warn_unused_result)) int hora__tzif_read(const void *data, size_t size,
                                                        struct hora__spans **ret_spans,
                                                        const char **ret_reason);

/* ---- local.c: fixed offsets ---- */

/* Parses an offset in the forms of Java's ZoneOffset.of except "Z": +h, +hh, +hhmm, +hh:mm, +hhmmss,
 * +hh:mm:ss, up to 18 hours. Returns false if the text is no such offset. */
bool hora__offset_parse(const char *text, size_t length, int32_t *ret_offset);

/* More than enough for "-hh:mm:ss" and its NUL. */
enum { HORA__OFFSET_TEXT = 16 };

/* Writes "+05:30" or "-00:44:30", or "Z" for zero. Returns the length. */
size_t hora__offset_format(int32_t offset, char text[HORA__OFFSET_TEXT]);

#endif
