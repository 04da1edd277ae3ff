/* SPDX-License-Identifier: Apache-2.0 */
/* hora/cron.h - cron expressions: Spring's six fields, and crontab's five
 *
 *     hora_cron *cron;
 *     hora_error error;
 *     if (hora_cron_parse("0 0 3 L * *", NULL, &cron, &error) < 0)
 *         fprintf(stderr, "%s\n", error.message);
 *     hora_instant next;
 *     if (hora_cron_next(cron, paris, now, &next) > 0)
 *         ...
 *
 * An expression means a set of local times; in a zone it means a set of instants:
 *
 *   HORA_DST_LITERAL  all instants whose local date and time match all fields. A local time that the clocks
 *   are set forward over
 *                    never comes; one that they are set back over comes twice.
 *   HORA_DST_ONCE    the same for an expression whose second, minute or hour has a "*", a range or a step:
 *   it counts time. Any
 *                    other names times of the day: one that is skipped comes when the clocks are set, one that comes twice
 *                    counts the first time.
 *
 * SIX FIELDS (HORA_CRON_SPRING): second 0-59, minute 0-59, hour 0-23, day of month 1-31, month 1-12 or
 * JAN-DEC, day of week 0-7 or MON-SUN, 0 and 7 being Sunday. All must match.
 *
 *   *  a  a-b  a,b,c       all, one, from a to b, several
 *   * /n  a/n  a-b/n       every n-th of all, from a on, from a to b (the first without the blank)
 *   ?                      in the day fields, the same as *
 *   L  L-3  LW  15W        day of month: the last, the third before the last, the last weekday (Monday to
 *   Friday), the
 *                          weekday nearest to the 15th in its month
 *   5L  FRIL  MON#2        day of week: the last Friday of the month, the second Monday
 *   @yearly @annually @monthly @weekly @daily @midnight @hourly     instead of all six
 *
 * FIVE FIELDS (HORA_CRON_UNIX): crontab's: the same without second; * a a-b lists, steps after * and a-b,
 * and names; no ?, L, W and #. If both day fields are restricted (neither begins with *) one of them is
 * enough. Every n-th day of the week counts from Sunday. @reboot: never, but a trigger runs it once at its
 * start.
 *
 * An expression never changes, and belongs to no thread and no process. It is counted. */
#ifndef HORA_CRON_H
#define HORA_CRON_H

#include <stdbool.h>
#include <stddef.h>

#include <hora/base.h>
#include <hora/error.h>
#include <hora/zone.h>

HORA_BEGIN_DECLS

typedef struct hora_cron hora_cron;

typedef enum hora_cron_dialect {
    HORA_CRON_SPRING = 0,
    HORA_CRON_UNIX,
} hora_cron_dialect;

typedef enum hora_dst {
    HORA_DST_LITERAL = 0,
    HORA_DST_ONCE,
} hora_dst;

typedef struct hora_cron_options {
    /* sizeof(hora_cron_options), set by HORA_CRON_OPTIONS */
    uint32_t struct_size;
    hora_cron_dialect dialect;
    hora_dst dst;
} hora_cron_options;

#define HORA_CRON_OPTIONS(...) HORA__LITERAL(hora_cron_options, __VA_ARGS__)

typedef enum hora_cron_field {
    HORA_CRON_FIELD_SECOND = 1,
    HORA_CRON_FIELD_MINUTE,
    HORA_CRON_FIELD_HOUR,
    HORA_CRON_FIELD_DAY,
    HORA_CRON_FIELD_MONTH,
    HORA_CRON_FIELD_WEEKDAY,
} hora_cron_field;

/* hora_cron_parse - understand an expression
 *
 * Fields are separated by white space. If `reason` is not NULL, it says on error where and what is wrong:
 * its field is "second" to "weekday", or "cron" for the whole expression.
 *
 * Ownership: the caller gets one reference.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (not an expression), HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_cron_parse(const char *text, const hora_cron_options *options, hora_cron **ret_cron,
                                            hora_error *reason);

/* hora_cron_ref - one more reference
 *
 * Ownership: the caller owns the added reference; returns its argument, NULL for NULL.
 * Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_cron *hora_cron_ref(hora_cron *cron);

/* hora_cron_unref - give one reference back; the last one frees the expression
 *
 * Ownership: the reference is gone; NULL is allowed. Returns NULL.   Threads: Any thread.   Blocks: Never.
 * Errors: None. */
HORA_API hora_cron *hora_cron_unref(hora_cron *cron);

/* hora_cron_next - the first time strictly after an instant: 1, or 0 if there is none that hora_instant
 * can count
 *
 * Ends after a bounded number of steps, whatever the expression. Times are whole seconds. NULL for the
 * zone: UTC.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL (NULL). */
HORA_NODISCARD HORA_API int hora_cron_next(const hora_cron *cron, const hora_zone *zone, hora_instant after,
                                           hora_instant *ret_next);

/* hora_cron_previous - the last time strictly before an instant: 1, or 0 if there is none that
 * hora_instant can count
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL (NULL). */
HORA_NODISCARD HORA_API int hora_cron_previous(const hora_cron *cron, const hora_zone *zone, hora_instant before,
                                               hora_instant *ret_previous);

/* hora_cron_next_n - the first `count` times after an instant; returns how many there are
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL (NULL, count
 * negative). */
HORA_NODISCARD HORA_API int hora_cron_next_n(const hora_cron *cron, const hora_zone *zone, hora_instant after,
                                             hora_instant *ret_times, int count);

/* hora_cron_matches - whether an instant is one of the expression's times; false for NULL
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_cron_matches(const hora_cron *cron, const hora_zone *zone, hora_instant instant);

/* hora_cron_equal - whether two expressions are of one dialect and clock-change rule, and mean the same in
 * each field
 *
 * How they are written does not matter: "0 0 0 ? * 1-7" is "@daily", and 31,L is L. With HORA_DST_ONCE it
 * matters whether they count time or name times of the day. Two NULL are equal.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_cron_equal(const hora_cron *a, const hora_cron *b);

/* hora_cron_is_reboot - whether it is @reboot
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_cron_is_reboot(const hora_cron *cron);

/* hora_cron_format - the expression in normal form, which hora_cron_parse takes again
 *
 * Equal expressions have the same normal form. Writes at most `size` bytes with the final NUL, and returns
 * the length that the whole text has.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL (NULL; text NULL
 * and size not 0). */
HORA_API int hora_cron_format(const hora_cron *cron, char *text, size_t size);

/* hora_cron_describe - the expression in words: "at 03:00 on the last weekday of the month, Europe/Paris"
 *
 * The zone may be NULL: then none is named. As hora_cron_format.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL (NULL; text NULL
 * and size not 0). */
HORA_API int hora_cron_describe(const hora_cron *cron, const hora_zone *zone, char *text, size_t size);

/* hora_cron_describe_field - one field in words: "every 15 minutes", "1, 3 and 5 o'clock", "the last Friday"
 *
 * As hora_cron_format.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL; text NULL and size not 0; no field of this dialect; @reboot, which has no
 * fields). */
HORA_API int hora_cron_describe_field(const hora_cron *cron, hora_cron_field field, char *text, size_t size);

HORA_END_DECLS

#endif
