/* SPDX-License-Identifier: Apache-2.0 */
/* hora/zone.h - time zones as values; instants, local times, and their texts
 *
 *     hora_zone *paris;
 *     hora_zone_new("Europe/Paris", NULL, &paris, NULL);
 *     hora_local local;
 *     hora_zone_to_local(paris, instant, &local);       // what clocks in Paris show at that instant
 *
 * hora itself reads zones from the system database (TZif files, RFC 8536). TZ and tzset have no effect, a
 * process may have any number of zones, and all threads may use a zone at the same time. A zone is
 * reference-counted: each reference is released with hora_zone_unref. Wherever a zone is expected, NULL means
 * UTC.
 *
 * Every zone is defined over the whole range of hora_instant, 1677 to 2262: beyond the table of the file, its
 * rule for the future applies. A zone is not tied to a thread or process and continues to work in the child
 * of a fork. */
#ifndef HORA_ZONE_H
#define HORA_ZONE_H

#include <stdbool.h>
#include <stddef.h>

#include <hora/base.h>
#include <hora/error.h>

HORA_BEGIN_DECLS

/* A time zone: the rules by which the clocks of a place are set. */
typedef struct hora_zone hora_zone;

/* Options of hora_zone_new. */
typedef struct hora_zone_options {
    /* sizeof(hora_zone_options), set by HORA_ZONE_OPTIONS */
    uint32_t struct_size;
    /* folder of the zone database; NULL means /usr/share/zoneinfo or, if the zone is not there, one of the
     * other usual folders */
    const char *folder;
} hora_zone_options;

/* HORA_ZONE_OPTIONS(.folder = "/opt/zoneinfo"): an options literal. */
#define HORA_ZONE_OPTIONS(...) HORA__LITERAL(hora_zone_options, __VA_ARGS__)

/* hora_zone_new - load a zone by name
 *
 * The following names are accepted:
 *
 *   "Europe/Paris"                        a file of the database
 *   "UTC", "GMT", "UT", "Z"               no offset; needs no file
 *   "+05:30", "-3", "+0530", "+01:02:03"  a fixed offset, up to 18 hours
 *   "UTC+02:00", "GMT-8", "UT+5"          the same
 *   "local"                               what /etc/localtime says; UTC if it does not exist (as in libc)
 *
 * Names are spelled as in the database. They consist of at most 255 letters, digits and the characters _ + -
 * . / ~. A name with a part that is empty or starts with "." is refused, so a zone is always inside the
 * folder. `options` may be NULL for the defaults.
 *
 * Ownership: the caller receives one reference.   Threads: Any thread.   Blocks: While the file is read.
 * Errors: HORA_EINVAL (NULL, or not a zone name), HORA_ENOENT (the database has no such zone), HORA_EBADMSG
 * (the file is damaged), HORA_ENOTSUP (the file counts leap seconds), HORA_EIO (it cannot be read),
 * HORA_EMFILE, HORA_ENFILE, HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_zone_new(const char *name, const hora_zone_options *options,
                                          hora_zone **ret_zone, hora_error *reason);

/* hora_zone_from_data - create a zone from the contents of a TZif file that the program supplies
 *
 * `name` is what hora_zone_name will return, up to 255 bytes; it is not looked up.
 *
 * Ownership: the caller receives one reference; data and name are copied.   Threads: Any thread.
 * Blocks: Never.
 * Errors: HORA_EINVAL (NULL, or an empty or too long name), HORA_EBADMSG (damaged), HORA_ENOTSUP (leap
 * seconds), HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_zone_from_data(const char *name, const void *data, size_t size,
                                                hora_zone **ret_zone, hora_error *reason);

/* hora_zone_ref - add a reference
 *
 * Ownership: the caller owns the added reference; returns its argument, NULL for NULL.   Threads: Any thread.
 * Blocks: Never.   Errors: None. */
HORA_API hora_zone *hora_zone_ref(hora_zone *zone);

/* hora_zone_unref - release a reference; the last one frees the zone
 *
 * Ownership: the caller's reference is released; NULL is allowed. Returns NULL.   Threads: Any thread.
 * Blocks: Never.   Errors: None. */
HORA_API hora_zone *hora_zone_unref(hora_zone *zone);

/* hora_zone_name - return the name a zone was created with
 *
 * Fixed offsets have a normal form ("+05:30", "UTC+02:00"). Returns "UTC" for NULL.
 *
 * Ownership: the text belongs to the zone.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API const char *hora_zone_name(const hora_zone *zone);

/* hora_zone_is_fixed - test whether the offset of a zone never changes; true for NULL
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_zone_is_fixed(const hora_zone *zone);

/* hora_zone_refresh - re-read the file of a zone: returns 1 if its rules have changed, 0 if not
 *
 * From then on every user of the zone sees the new rules. To update scheduled tasks, use
 * hora_scheduler_refresh_zones, which calls this function. If the file cannot be read or is damaged, nothing
 * changes. Zones without a file never change.
 *
 * Ownership: not transferred; the old rules are freed together with the zone.   Threads: Any thread.
 * Blocks: While the file is read.   Errors: HORA_EINVAL (NULL), and those of hora_zone_new. */
HORA_API int hora_zone_refresh(hora_zone *zone);

/* ---- instants and local times ---- */

/* Date and time of day in a zone, as its clocks show them. */
typedef struct hora_local {
    /* in the Gregorian calendar, also before its introduction; 1677 to 2262 */
    int32_t year;
    /* 1 to 12 */
    int month;
    /* 1 to 31 */
    int day;
    /* 0 to 23 */
    int hour;
    /* 0 to 59 */
    int minute;
    /* 0 to 59; there are no leap seconds */
    int second;
    /* 0 to 999999999 */
    int32_t nanosecond;

    /* hora writes the following fields, and ignores them in a local time that is passed to it. */

    /* 1 (Monday) to 7 (Sunday) */
    int weekday;
    /* 1 to 366 */
    int day_of_year;
    /* seconds ahead of UTC; negative west of Greenwich */
    int offset;
    /* true if the zone considers this daylight-saving time */
    bool is_dst;
    /* such as "CEST"; belongs to the zone */
    const char *short_name;
} hora_local;

/* hora_zone_to_local - convert an instant to the local time of a zone
 *
 * Ownership: short_name belongs to the zone.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL). */
HORA_API int hora_zone_to_local(const hora_zone *zone, hora_instant instant, hora_local *ret_local);

/* How often a local time occurs in a zone. */
typedef enum hora_local_kind {
    /* the local time occurs once */
    HORA_LOCAL_ONCE = 0,
    /* it does not occur: the clocks went forward past it */
    HORA_LOCAL_GAP,
    /* it occurs twice: the clocks went back over it */
    HORA_LOCAL_OVERLAP,
} hora_local_kind;

/* The instants at which a local time occurs. */
typedef struct hora_local_moments {
    /* how often it occurs */
    hora_local_kind kind;
    /* the instant; the earlier one of two; in a gap, the moment of the clock change */
    hora_instant first;
    /* the later one of two; otherwise the same as first */
    hora_instant second;
    /* seconds ahead of UTC: in a gap or overlap, before the clock change */
    int offset_before;
    /* the same after the clock change; equal to offset_before if the local time occurs once */
    int offset_after;
} hora_local_moments;

/* hora_zone_to_instant - convert a local time of a zone to the instants at which it occurs
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, or not a valid date or time), HORA_ERANGE (hora_instant cannot represent it). */
HORA_NODISCARD HORA_API int hora_zone_to_instant(const hora_zone *zone, const hora_local *local,
                                                 hora_local_moments *ret_moments);

/* A moment at which the clocks of a zone change. */
typedef struct hora_transition {
    /* the first instant with the new offset */
    hora_instant at;
    /* seconds ahead of UTC before it, always different from offset_after: a new name alone is not a
     * transition */
    int offset_before;
    /* seconds ahead of UTC from then on */
    int offset_after;
} hora_transition;

/* hora_zone_next_transition - find the first change of a zone's offset after an instant
 *
 * Returns 1, or 0 if there is none.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL (NULL). */
HORA_NODISCARD HORA_API int hora_zone_next_transition(const hora_zone *zone, hora_instant after,
                                                      hora_transition *ret_transition);

/* hora_zone_previous_transition - find the last change of a zone's offset before an instant
 *
 * Returns 1, or 0 if there is none.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL (NULL). */
HORA_NODISCARD HORA_API int hora_zone_previous_transition(const hora_zone *zone, hora_instant before,
                                                          hora_transition *ret_transition);

/* ---- ISO 8601 ---- */

/* Buffer size for the longest text that hora_instant_format writes for a zone name of up to 40 bytes,
 * including the terminating NUL. */
#define HORA_INSTANT_TEXT 96

/* hora_instant_parse - parse an instant
 *
 * The following forms are accepted:
 *
 *   2026-03-29T01:30:00Z   2026-03-29T01:30:00.125+01:00   2026-03-29T01:30:00-00:44:30   with an offset
 *   2026-03-29T01:30:00+01:00[Europe/Paris]     with offset and zone: the offset decides, and must be one
 *                                               that the zone has
 *   2026-03-29T01:30:00[Europe/Paris]           with a zone only
 *   2026-03-29T01:30:00   2026-03-29T01:30   2026-03-29     in the given zone; a date alone means midnight
 *
 * "T" may be "t" or a space, "Z" may be "z", a fraction has 1 to 9 digits, and an offset may be +hh, +hhmm,
 * +hh:mm, +hh:mm:ss or +hhmmss. "Z" next to a zone is not compared with it. Without an offset, the first of
 * two possible instants is meant, and a local time that does not exist is refused. If `ret_zone` is not NULL,
 * it receives a reference to the zone that the text names, or NULL.
 *
 * Ownership: see ret_zone.   Threads: Any thread.   Blocks: While a file is read, if the text names a zone.
 * Errors: HORA_EINVAL (a malformed text, an invalid date or time), HORA_ERANGE (hora_instant cannot represent
 * it), and, if the text names a zone, those of hora_zone_new. */
HORA_NODISCARD HORA_API int hora_instant_parse(const char *text, const hora_zone *zone,
                                               hora_instant *ret_instant, hora_zone **ret_zone,
                                               hora_error *reason);

/* hora_instant_format - format an instant, for example as 2026-03-29T01:30:00+01:00
 *
 * The text has a fraction only if it is not zero. UTC yields "Z". `with_name` appends the zone, as in
 * 2026-03-29T01:30:00+01:00[Europe/Paris], except for UTC and fixed offsets. Like snprintf, it writes as much
 * as fits, always with a terminating NUL if size > 0, and returns the length of the complete text.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (text is NULL and size is not 0). */
HORA_API int hora_instant_format(hora_instant instant, const hora_zone *zone, bool with_name, char *text,
                                 size_t size);

HORA_END_DECLS

#endif
