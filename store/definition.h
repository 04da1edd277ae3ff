/* SPDX-License-Identifier: Apache-2.0 */
/* definition.h - when and how often a durable task runs: checked, and written down as a text
 *
 * The store keeps a definition as one line of text, such as
 *
 *     rate 5000000 missed burst attempts 3 back-off 2000000 2 300000000
 *     cron unix once "30 2 * * *" Europe/Paris
 *
 * which people can read in the database, and to which later versions can add words without changing tables. A
 * node that finds a word it does not know leaves the firing to others, as if it did not have the handler. A
 * one-shot task with all defaults has no text. The words of a text are in a fixed order and defaults are left
 * out, so equal definitions have equal texts. */
#ifndef HORA_STORE_DEFINITION_H
#define HORA_STORE_DEFINITION_H

#include <hora/store.h>

typedef enum hora__kind {
    HORA__KIND_ONCE,
    HORA__KIND_RATE,
    HORA__KIND_DELAY,
    HORA__KIND_CRON,
    HORA__KIND_TRIGGER,
} hora__kind;

/* Complete: no field means "default". Times in microseconds. Immutable after hora__definition_new or
 * _read. */
typedef struct hora__definition {
    hora__kind kind;
    int64_t period_us; /* RATE and DELAY */
    hora_cron *cron;   /* CRON */
    hora_cron_dialect dialect;
    hora_dst dst;
    hora_zone *zone;    /* NULL: UTC */
    char *trigger_name; /* TRIGGER */
    int64_t end_us;     /* no firing is planned after it; INT64_MAX: no end */
    int64_t count;      /* maximum number of firings; INT64_MAX: no limit */
    hora_missed missed;
    int missed_max;
    int64_t missed_after_us;
    int64_t grace_us; /* INT64_MAX: never too late */
    hora_overlap overlap;
    int overlap_max;
    hora_busy busy;
    int busy_max;
    hora_delivery delivery;
    int max_attempts;
    int64_t back_off_us;
    double back_off_factor;
    int64_t back_off_max_us;
    double back_off_jitter;
    int stop_after; /* 0: never */
} hora__definition;

/* What a task means that does not say. */
#define HORA__DEFAULT_MISSED_AFTER_US INT64_C(1000000)
#define HORA__DEFAULT_BACK_OFF_US     INT64_C(1000000)
#define HORA__DEFAULT_BACK_OFF_MAX_US INT64_C(300000000)
#define HORA__DEFAULT_BACK_OFF_FACTOR 2.0
enum { HORA__DEFAULT_ATTEMPTS = 10 }; /* 1 for HORA_AT_MOST_ONCE */

/* Makes the definition of a one-shot task with all defaults. It owns nothing that has to be freed. */
void hora__definition_init(hora__definition *definition);

/* Parses the expression and loads the zone, NULL for UTC. After an error hora__definition_free is still
 * necessary. */
int hora__definition_set_cron(hora__definition *definition, const char *text, hora_cron_dialect dialect,
                              hora_dst dst, const char *zone, hora_error *reason);

/* Checks a task and makes its definition. The checks name the field and the value in `reason`. */
int hora__definition_new(const hora_durable_task *task, hora__definition **ret_definition,
                         hora_error *reason);

/* Reads a text; NULL means all defaults. HORA_ENOTSUP: a word that this version does not know. HORA_EBADMSG:
 * not a definition. Also HORA_ENOMEM and errors of hora_zone_new. */
int hora__definition_read(const char *text, hora__definition **ret_definition, hora_error *reason);

/* Writes the text like snprintf. An empty text stands for all defaults: such a definition is kept as NULL. */
int hora__definition_write(const hora__definition *definition, char *text, size_t size);

/* The schedule in words, like snprintf: "every 5 s", "5 s after the end of the last run", the description
 * of a cron expression with its zone, "trigger NAME". Empty for HORA__KIND_ONCE. */
int hora__definition_describe(const hora__definition *definition, char *text, size_t size);

void hora__definition_free(hora__definition *definition);

#endif
