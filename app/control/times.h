/* SPDX-License-Identifier: Apache-2.0 */
/* times.h - times in answers, and times for people */
#ifndef APP_CONTROL_TIMES_H
#define APP_CONTROL_TIMES_H

#include <stdbool.h>

#include <jansson.h>

#include <hora/base.h>
#include <hora/zone.h>

enum { TIME_TEXT = 64 }; /* size of a buffer for each of the texts below, including the NUL */

/* Makes the text of a time: ISO 8601 in UTC, "2026-11-17T03:00:00Z". null for the time 0, which stands for
 * none, and from JOB_PARKED on. */
json_t *times_to_json(hora_instant time);

/* Reads a time of an answer. Returns false if it is null, missing or not a time. */
bool times_from_json(const json_t *json, hora_instant *ret_time);

/* Writes a time in UTC as above. Returns `text`. */
const char *times_utc(hora_instant time, char text[TIME_TEXT]);

/* Writes a duration with one unit, rounded down: "12 s", "4 min", "2 h", "3 d". Returns `text`. */
const char *times_length(hora_ns duration, char text[TIME_TEXT]);

/* Writes how many seconds a run took, with at most three digits and a unit: "1.3 s", "0 s". Returns `text`.
 * */
const char *times_took(double seconds, char text[TIME_TEXT]);

/* Writes when a time is, seen from `now`: "in 4 min", "2 h ago", "now". Returns `text`. */
const char *times_relative(hora_instant time, hora_instant now, char text[TIME_TEXT]);

/* Writes a time as clocks of a zone show it: "2026-11-17 03:00:00", with milliseconds if wanted. Returns
 * `text`. */
const char *times_local(hora_instant time, const hora_zone *zone, bool with_ms, char text[TIME_TEXT]);

/* The same as texts that are valid until the end of the block. */
#define UTC(time)           times_utc((time), (char[TIME_TEXT]){0})
#define LENGTH(duration)    times_length((duration), (char[TIME_TEXT]){0})
#define RELATIVE(time, now) times_relative((time), (now), (char[TIME_TEXT]){0})
#define TOOK(seconds)       times_took((seconds), (char[TIME_TEXT]){0})
#define LOCAL(time, zone)   times_local((time), (zone), false, (char[TIME_TEXT]){0})

#endif
