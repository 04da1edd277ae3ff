/* SPDX-License-Identifier: Apache-2.0 */
/* hora/cron.h - cron expressions: Spring's six fields and crontab's five
 *
 *     hora_cron *cron;
 *     hora_error error;
 *     if (hora_cron_parse("0 0 3 L * *", NULL, &cron, &error) < 0)
 *         fprintf(stderr, "%s\n", error.message);
 *     hora_instant next;
 *     if (hora_cron_next(cron, paris, now, &next) > 0)
 *         ...
 *
 * An expression denotes a set of local times. Together with a zone it denotes a set of instants:
 *
 *   HORA_DST_LITERAL  all instants whose local date and time match all fields. A local time that is skipped
 *                     when the clocks go forward never occurs; one that repeats when they go back occurs
 *                     twice.
 *   HORA_DST_ONCE     the same if the second, minute or hour field has a "*", a range or a step: such an
 *                     expression counts time. Any other expression names times of day: a skipped time
 *                     occurs at the moment of the clock change, and a repeated time occurs only the first
 *                     time.
 *
 * SIX FIELDS (HORA_CRON_SPRING): second 0-59, minute 0-59, hour 0-23, day of month 1-31, month 1-12 or
 * JAN-DEC, day of week 0-7 or MON-SUN, where 0 and 7 are Sunday. All fields must match.
 *
 *   *  a  a-b  a,b,c       all, one, from a to b, several
 *   * /n  a/n  a-b/n       every n-th of all, from a on, from a to b (the first without the space)
 *   ?                      in the day fields, the same as *
 *   L  L-3  LW  15W        day of month: the last, the third before the last, the last weekday (Monday to
 *                          Friday), the weekday nearest to the 15th within its month
 *   5L  FRIL  MON#2        day of week: the last Friday of the month, the second Monday
 *   @yearly @annually @monthly @weekly @daily @midnight @hourly     instead of all six
 *
 * FIVE FIELDS (HORA_CRON_UNIX): as in crontab, without the second field. It has *, a, a-b, lists, steps after
 * * and a-b, and names, but not ?, L, W and #. If both day fields are restricted (neither starts with *), it
 * is enough that one of them matches. A step in the day of week counts from Sunday. @reboot has no times, but
 * a trigger runs it once when it starts.
 *
 * An expression is immutable, reference-counted, and not tied to a thread or process: all threads may use one
 * at the same time, and it remains usable in the child of a fork. */
#ifndef HORA_CRON_H
#define HORA_CRON_H

#include <stdbool.h>
#include <stddef.h>

#include <hora/base.h>
#include <hora/error.h>
#include <hora/zone.h>

HORA_BEGIN_DECLS

/* A parsed cron expression. */
typedef struct hora_cron hora_cron;

/* The syntax of an expression; see above. */
typedef enum hora_cron_dialect {
    /* Spring's six fields */
    HORA_CRON_SPRING = 0,
    /* crontab's five fields */
    HORA_CRON_UNIX,
} hora_cron_dialect;

/* The clock-change rule: which instants belong to local times that the clocks of the zone skip or repeat; see
 * above. */
typedef enum hora_dst {
    /* a skipped time does not occur, a repeated one occurs twice */
    HORA_DST_LITERAL = 0,
    /* in expressions that name times of day, a skipped time occurs at the clock change, and a repeated one
     * only the first time */
    HORA_DST_ONCE,
} hora_dst;

/* How hora_cron_parse reads an expression. */
typedef struct hora_cron_options {
    /* sizeof(hora_cron_options), set by HORA_CRON_OPTIONS */
    uint32_t struct_size;
    /* the syntax; 0 means Spring's */
    hora_cron_dialect dialect;
    /* the clock-change rule; 0 means literal */
    hora_dst dst;
} hora_cron_options;

/* HORA_CRON_OPTIONS(.dialect = HORA_CRON_UNIX): an options literal. */
#define HORA_CRON_OPTIONS(...) HORA__LITERAL(hora_cron_options, __VA_ARGS__)

/* The fields of an expression, in the order in which they are written. The second exists only in Spring's
 * dialect. */
typedef enum hora_cron_field {
    HORA_CRON_FIELD_SECOND = 1,
    HORA_CRON_FIELD_MINUTE,
    HORA_CRON_FIELD_HOUR,
    /* day of month */
    HORA_CRON_FIELD_DAY,
    HORA_CRON_FIELD_MONTH,
    /* day of week */
    HORA_CRON_FIELD_WEEKDAY,
} hora_cron_field;

/* hora_cron_parse - parse a cron expression
 *
 * `options` may be NULL for the defaults. Fields are separated by white space. On error, `reason` says what
 * is wrong, and gives its position in the text. Its field is "second" to "weekday", or "cron" for the
 * expression as a whole.
 *
 * Ownership: the caller receives one reference.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (not a valid expression), HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_cron_parse(const char *text, const hora_cron_options *options,
                                            hora_cron **ret_cron, hora_error *reason);

/* hora_cron_ref - add a reference
 *
 * Ownership: the caller owns the added reference; returns its argument, NULL for NULL.   Threads: Any thread.
 * Blocks: Never.   Errors: None. */
HORA_API hora_cron *hora_cron_ref(hora_cron *cron);

/* hora_cron_unref - release a reference; the last one frees the expression
 *
 * Ownership: the caller's reference is released; NULL is allowed. Returns NULL.   Threads: Any thread.
 * Blocks: Never.   Errors: None. */
HORA_API hora_cron *hora_cron_unref(hora_cron *cron);

/* hora_cron_next - find the first matching time strictly after an instant
 *
 * Returns 1, or 0 if there is none that hora_instant can represent, as for @reboot. The search ends after a
 * bounded number of steps for every expression. Times are whole seconds. A NULL zone means UTC, here and in
 * the calls below.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL (NULL). */
HORA_NODISCARD HORA_API int hora_cron_next(const hora_cron *cron, const hora_zone *zone, hora_instant after,
                                           hora_instant *ret_next);

/* hora_cron_previous - find the last matching time strictly before an instant
 *
 * Returns 1, or 0 if there is none that hora_instant can represent.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL (NULL). */
HORA_NODISCARD HORA_API int hora_cron_previous(const hora_cron *cron, const hora_zone *zone,
                                               hora_instant before, hora_instant *ret_previous);

/* hora_cron_next_n - find the first `count` matching times after an instant
 *
 * Writes them to ret_times[] in ascending order and returns how many it has written. This is less than
 * `count` only if hora_instant can represent no further ones.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, negative count). */
HORA_NODISCARD HORA_API int hora_cron_next_n(const hora_cron *cron, const hora_zone *zone, hora_instant after,
                                             hora_instant *ret_times, int count);

/* hora_cron_matches - test whether an instant is one of the expression's times
 *
 * False for NULL, for @reboot, and for an instant that is not a whole second.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_cron_matches(const hora_cron *cron, const hora_zone *zone, hora_instant instant);

/* hora_cron_equal - test whether two expressions mean the same
 *
 * Two expressions are equal if they have the same dialect, the same clock-change rule and the same meaning in
 * each field. Their spelling does not matter: "0 0 0 ? * 1-7" equals "@daily", and 31,L equals L. With
 * HORA_DST_ONCE it also matters whether they count time or name times of day. Two NULL are equal.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_cron_equal(const hora_cron *a, const hora_cron *b);

/* hora_cron_is_reboot - test whether the expression is @reboot; false for NULL
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_cron_is_reboot(const hora_cron *cron);

/* hora_cron_format - write an expression in normal form, which hora_cron_parse accepts
 *
 * Equal expressions have the same normal form. Like snprintf, it writes as much as fits, always with a
 * terminating NUL if size > 0, and returns the length of the complete text.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL; text is NULL and size is not 0). */
HORA_API int hora_cron_format(const hora_cron *cron, char *text, size_t size);

/* hora_cron_describe - describe an expression in words
 *
 * For example "at 03:00 on the last weekday of the month, Europe/Paris". If the zone is NULL, the text names
 * none. The buffer and the return value are as in hora_cron_format. The wording may change in any release.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL; text is NULL and size is not 0). */
HORA_API int hora_cron_describe(const hora_cron *cron, const hora_zone *zone, char *text, size_t size);

/* hora_cron_describe_field - describe one field in words
 *
 * For example "every 15 minutes", "1, 3 and 5 o'clock" or "the last Friday". The buffer and the return value
 * are as in hora_cron_format. The wording may change in any release.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL; text is NULL and size is not 0; not a field of this dialect; @reboot, which has
 * no fields). */
HORA_API int hora_cron_describe_field(const hora_cron *cron, hora_cron_field field, char *text, size_t size);

HORA_END_DECLS

#endif
