/* SPDX-License-Identifier: Apache-2.0 */
/* footer.h - the rule for the future at the end of a TZif file: a TZ string of POSIX, with the additions of RFC 8536 */
#ifndef HORA_CRON_FOOTER_H
#define HORA_CRON_FOOTER_H

#include "cron/spans.h"

enum {
    HORA__SHORT_NAME_MOST = 63,
    HORA__FOOTER_NAMES = 2 * (HORA__SHORT_NAME_MOST + 1), /* room for its two names */
    HORA__FOOTER_SPANS = 2 * (2264 - 1674),               /* how many spans hora__footer_apply adds, at most */
};

/* One kind of time. */
struct hora__footer_time {
    const char *name; /* in the footer, without NUL */
    size_t name_length;
    int32_t offset; /* seconds ahead of UTC */
};

enum hora__footer_form {
    HORA__FOOTER_MONTH,  /* Mm.w.d: the w-th (5: the last) weekday d of month m */
    HORA__FOOTER_JULIAN, /* Jn: day n from 1 of a year without February 29 */
    HORA__FOOTER_DAY,    /* n: day n from 0 of the year */
};

/* When in a year the clocks are set: at `time` seconds after midnight by the clock that is about to be set. */
struct hora__footer_date {
    enum hora__footer_form form;
    int month, week, weekday;
    int day;
    int32_t time;
};

struct hora__footer {
    struct hora__footer_time standard;
    bool has_dst; /* only then the rest means something */
    struct hora__footer_time dst;
    struct hora__footer_date start;
    struct hora__footer_date end;
};

/* Without its line feeds; not empty. Whether it is one; if not, says why. */
bool hora__footer_parse(const char *text, size_t length, struct hora__footer *ret_footer, const char **ret_reason);

/* Add to the draft what holds after its last span, which begins at `last`; if there is none, for all time. HORA_EBADMSG (it
 * contradicts the last span), HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__footer_apply(const struct hora__footer *footer, struct hora__draft *draft,
                                                           int64_t last, const char **ret_reason);

#endif
