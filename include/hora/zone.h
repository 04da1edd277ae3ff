/* SPDX-License-Identifier: Apache-2.0 */
/* hora/zone.h - time zones as values, and the calendar
 *
 *     hora_zone *paris;
 *     hora_zone_new("Europe/Paris", NULL, &paris, NULL);
 *     hora_local local;
 *     hora_zone_to_local(paris, instant, &local);       // what the clocks on the walls of Paris show then
 *
 * A zone is read from the system's database (TZif files, RFC 8536) by hora itself: TZ and tzset have no
 * part in it, a process may have any number of zones, and all threads may use one at the same time. It is
 * counted: each reference is given back with hora_zone_unref. Wherever a zone is asked for, NULL is UTC.
 *
 * To hora_instant's ends, 1677 and 2262, every zone is known: beyond the file's table its rule for the
 * future holds. A zone belongs to no thread and no process: it works in the child of a fork as before. */
#ifndef HORA_ZONE_H
#define HORA_ZONE_H

#include <stdbool.h>
#include <stddef.h>

#include <hora/base.h>
#include <hora/error.h>

HORA_BEGIN_DECLS

typedef struct hora_zone hora_zone;

typedef struct hora_zone_options {
    /* sizeof(hora_zone_options), set by HORA_ZONE_OPTIONS */
    uint32_t struct_size;
    /* where the database is; NULL: where the C library has it, /usr/share/zoneinfo */
    const char *folder;
} hora_zone_options;

#define HORA_ZONE_OPTIONS(...) HORA__LITERAL(hora_zone_options, __VA_ARGS__)

/* hora_zone_new - a zone by its name
 *
 *   "Europe/Paris"                       a file of the database
 *   "UTC", "GMT", "UT", "Z"              no offset; needs no file
 *   "+05:30", "-3", "+0530", "+01:02:03" a fixed offset, up to 18 hours
 *   "UTC+02:00", "GMT-8", "UT+5"         the same
 *   "local"                              what /etc/localtime says; UTC if there is none, as the C library has it
 *
 * Names are spelt as the database spells them. A name that begins with "/" or "." or has a part ".." or an
 * empty part is refused.
 *
 * Ownership: the caller gets one reference.   Threads: Any thread.   Blocks: While the file is read.
 * Errors: HORA_EINVAL (NULL, or no name of a zone), HORA_ENOENT (the database has no such zone),
 * HORA_EBADMSG (the file is damaged), HORA_ENOTSUP (the file counts leap seconds), HORA_EIO (it cannot be
 * read), HORA_EMFILE, HORA_ENFILE, HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_zone_new(const char *name, const hora_zone_options *options, hora_zone **ret_zone,
                                          hora_error *reason);

/* hora_zone_from_data - a zone from the contents of a TZif file, for programs that bring their own
 *
 * `name` is what hora_zone_name will say, up to 255 bytes; nothing is looked up.
 *
 * Ownership: the caller gets one reference; data and name are copied.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, or an empty or too long name), HORA_EBADMSG (damaged), HORA_ENOTSUP (leap
 * seconds), HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_zone_from_data(const char *name, const void *data, size_t size, hora_zone **ret_zone,
                                                hora_error *reason);

/* hora_zone_ref - one more reference
 *
 * Ownership: the caller owns the added reference; returns its argument, NULL for NULL.
 * Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_zone *hora_zone_ref(hora_zone *zone);

/* hora_zone_unref - give one reference back; the last one frees the zone
 *
 * Ownership: the reference is gone; NULL is allowed. Returns NULL.   Threads: Any thread.   Blocks: Never.
 * Errors: None. */
HORA_API hora_zone *hora_zone_unref(hora_zone *zone);

/* hora_zone_name - the name it was made with; fixed offsets in normal form ("+05:30", "UTC+02:00"); "UTC"
 * for NULL
 *
 * Ownership: belongs to the zone.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API const char *hora_zone_name(const hora_zone *zone);

/* hora_zone_is_fixed - whether its offset never changes
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_zone_is_fixed(const hora_zone *zone);

/* hora_zone_refresh - read the file again: 1 if the zone's rules are other ones now, 0 if not
 *
 * From then on every user of this zone sees the new rules. Scheduled tasks are told by
 * hora_scheduler_refresh_zones, which calls this. A file that cannot be read, or is damaged, changes
 * nothing. Zones without a file never change.
 *
 * Ownership: none passes; the old rules are freed with the zone.   Threads: Any thread.   Blocks: While
 * the file is read.
 * Errors: HORA_EINVAL (NULL), and those of hora_zone_new. */
HORA_API int hora_zone_refresh(hora_zone *zone);

/* ---- instants and local times ---- */

/* What calendar and clock show at a place. */
typedef struct hora_local {
    /* of the Gregorian calendar, also before it was used; 1677 to 2262 */
    int32_t year;
    /* 1 to 12 */
    int month;
    /* 1 to 31 */
    int day;
    int hour;
    int minute;
    /* 0 to 59: there are no leap seconds */
    int second;
    int32_t nanosecond;

    /* these are written by hora, and not looked at when a local time is given */
    /* 1 Monday to 7 Sunday */
    int weekday;
    /* from 1 */
    int day_of_year;
    /* how many seconds the place is ahead of UTC */
    int offset;
    /* whether the zone calls this daylight-saving time */
    bool is_dst;
    /* such as "CEST"; belongs to the zone */
    const char *short_name;
} hora_local;

/* hora_zone_to_local - what a zone's clocks show at an instant
 *
 * Ownership: short_name belongs to the zone.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL
 * (NULL). */
HORA_API int hora_zone_to_local(const hora_zone *zone, hora_instant instant, hora_local *ret_local);

typedef enum hora_local_kind {
    /* there is one such moment */
    HORA_LOCAL_ONCE = 0,
    /* none: the clocks were set forward over it */
    HORA_LOCAL_GAP,
    /* two: the clocks were set back over it */
    HORA_LOCAL_OVERLAP,
} hora_local_kind;

typedef struct hora_local_moments {
    hora_local_kind kind;
    /* the moment; of two the earlier one; in a gap the moment when the clocks were set */
    hora_instant first;
    /* the later one of two; else the same as first */
    hora_instant second;
    /* seconds ahead of UTC: in a gap or overlap before and after the clocks were set; else both the same */
    int offset_before;
    int offset_after;
} hora_local_moments;

/* hora_zone_to_instant - when a zone's clocks show this
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, or no such date or time), HORA_ERANGE (hora_instant cannot count so far). */
HORA_NODISCARD HORA_API int hora_zone_to_instant(const hora_zone *zone, const hora_local *local,
                                                 hora_local_moments *ret_moments);

/* A moment when the clocks of a zone are set. */
typedef struct hora_transition {
    hora_instant at;
    /* seconds ahead of UTC, never the same as after: a new name alone is no transition */
    int offset_before;
    int offset_after;
} hora_transition;

/* hora_zone_next_transition - the first change of a zone's offset after an instant: 1, or 0 if there is none
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL (NULL). */
HORA_NODISCARD HORA_API int hora_zone_next_transition(const hora_zone *zone, hora_instant after,
                                                      hora_transition *ret_transition);

/* hora_zone_previous_transition - the last change of a zone's offset before an instant: 1, or 0 if there
 * is none
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL (NULL). */
HORA_NODISCARD HORA_API int hora_zone_previous_transition(const hora_zone *zone, hora_instant before,
                                                          hora_transition *ret_transition);

/* ---- ISO 8601 ---- */

/* The longest text that hora_instant_format writes for a zone whose name is not longer than 40, with its
 * final NUL. */
#define HORA_INSTANT_TEXT 96

/* hora_instant_parse - an instant from a text
 *
 *   2026-03-29T01:30:00Z   2026-03-29T01:30:00.125+01:00   2026-03-29T01:30:00-00:44:30   with an offset
 *   2026-03-29T01:30:00+01:00[Europe/Paris]     with offset and zone: the offset decides, and must be one of
 *   the zone's
 *   2026-03-29T01:30:00[Europe/Paris]           with a zone alone
 *   2026-03-29T01:30:00   2026-03-29T01:30   2026-03-29     in the given zone; a date alone is its midnight
 *
 * "T" may be "t" or a blank, "Z" may be "z", a fraction has 1 to 9 digits, an offset may be +hh, +hhmm,
 * +hh:mm, +hh:mm:ss or +hhmmss. "Z" beside a zone is not compared with it. Without an offset the first of
 * two moments is meant, and a time that does not exist is refused. If `ret_zone` is not NULL it is set to
 * the zone that the text names, a reference, or to NULL.
 *
 * Ownership: see ret_zone.   Threads: Any thread.   Blocks: While a file is read, if the text names a zone.
 * Errors: HORA_EINVAL (not such a text, no such date or time), HORA_ERANGE (hora_instant cannot count so
 * far), and, if the text names a zone, those of hora_zone_new. */
HORA_NODISCARD HORA_API int hora_instant_parse(const char *text, const hora_zone *zone, hora_instant *ret_instant,
                                               hora_zone **ret_zone, hora_error *reason);

/* hora_instant_format - an instant as text: 2026-03-29T01:30:00+01:00, with a fraction only if there is one
 *
 * UTC gives "Z". `with_name` adds the zone: 2026-03-29T01:30:00+01:00[Europe/Paris]; nothing for UTC and
 * fixed offsets. Writes at most `size` bytes with the final NUL, and returns the length that the whole
 * text has.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL (text NULL and
 * size not 0). */
HORA_API int hora_instant_format(hora_instant instant, const hora_zone *zone, bool with_name, char *text, size_t size);

HORA_END_DECLS

#endif
