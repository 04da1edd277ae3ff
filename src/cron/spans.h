/* SPDX-License-Identifier: Apache-2.0 */
/* spans.h - how a table of spans is made
 *
 * A draft is filled from the beginning of time on, and then becomes the table. What a draft is given may be redundant: spans
 * before and after what hora_instant counts, and spans that say the same as the one before; it keeps the invariants of
 * zone.h. */
#ifndef HORA_CRON_SPANS_H
#define HORA_CRON_SPANS_H

#include "cron/zone.h"

/* S4 */
#define HORA__OFFSET_MAX INT32_C(93600)

/* The second with which time begins: that of INT64_MIN nanoseconds. */
#define HORA__SECOND_FIRST (HORA__SECOND_MIN - 1)

struct hora__draft {
    size_t count; /* from 1 on after the first was added */
    size_t most;
    int64_t *begins;
    struct hora__span *spans;
    char *names;
    size_t names_size;
    size_t names_most;
};

/* Room for so many spans, and for names with the NUL of each. HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__draft_init(struct hora__draft *draft, size_t most, size_t names_most);
void hora__draft_destroy(struct hora__draft *draft);

/* Where the name stands, which is added if it is new. */
uint16_t hora__draft_name(struct hora__draft *draft, const char *name, size_t length);

/* The span that begins here; `begin` must not be before that of the last one. The first one begins where time does. */
void hora__draft_add(struct hora__draft *draft, int64_t begin, struct hora__span span);

/* HORA_ENOMEM. The draft is left to be destroyed. */
__attribute__((warn_unused_result)) int hora__draft_finish(const struct hora__draft *draft,
                                                           struct hora__spans **ret_spans);

/* One span. HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__spans_fixed(int32_t offset, const char *name,
                                                          struct hora__spans **ret_spans);

/* Those of UTC. */
const struct hora__spans *hora__spans_utc(void);

/* Whether two tables say the same. */
bool hora__spans_equal(const struct hora__spans *a, const struct hora__spans *b);

/* Whether the offset is always the same. */
bool hora__spans_is_fixed(const struct hora__spans *spans);

/* The invariants of zone.h; for assertions and tests. */
bool hora__spans_is_sound(const struct hora__spans *spans);

#endif
