/* SPDX-License-Identifier: Apache-2.0 */
/* refuse.c - say what is wrong with an expression, and where
 *
 * The text holds the offending piece and the expression around it. Both may be long, and may hold any byte: they are
 * shortened, and what is not printable ASCII is written as \xNN. */
#include <stddef.h>
#include <string.h>

#include "base/reason.h"
#include "base/text.h"
#include "cron/parse.h"

enum { PIECE_SHOWN = 32, EXPRESSION_SHOWN = 80 };

static void add_byte(struct hora__text *out, char byte)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char value = (unsigned char)byte;
    if (value >= ' ' && value <= '~') {
        hora__text_add_char(out, byte);
        return;
    }
    hora__text_add(out, "\\x");
    hora__text_add_char(out, digits[value >> 4]);
    hora__text_add_char(out, digits[value & 15]);
}

/* At most `shown` bytes of a piece, dots for the rest. */
static void add_piece(struct hora__text *out, const char *text, struct hora__piece piece, size_t shown)
{
    bool is_cut = piece.length > shown;
    size_t end = piece.begin + (is_cut ? shown - 3 : piece.length);
    for (size_t i = piece.begin; i < end; i++)
        add_byte(out, text[i]);
    if (is_cut)
        hora__text_add(out, "...");
}

/* The expression; of a long one what stands around the piece. */
static void add_expression(struct hora__text *out, const char *text, size_t position)
{
    struct hora__piece shown = {0, strlen(text)};
    hora__text_add(out, ", in \"");
    if (shown.length > EXPRESSION_SHOWN && position > EXPRESSION_SHOWN / 2) {
        size_t skipped = position - EXPRESSION_SHOWN / 2;
        shown = (struct hora__piece){skipped, shown.length - skipped};
        hora__text_add(out, "...");
    }
    add_piece(out, text, shown, EXPRESSION_SHOWN);
    hora__text_add(out, "\"");
}

static void add_reason(struct hora__text *out, const char *why, const char *allowed)
{
    for (; *why != '\0'; why++)
        if (*why == '%')
            hora__text_add(out, allowed);
        else
            hora__text_add_char(out, *why);
}

int hora__cron_refuse(const struct hora__reading *reading, hora_cron_field field, struct hora__piece piece,
                      const char *why)
{
    hora_error *reason = reading->reason;
    if (reason == NULL)
        return HORA_EINVAL;
    const struct hora__cron_values *values = &hora__cron_values[field];
    (void)hora__refuse_at(reason, HORA_EINVAL, piece.begin, piece.length, values->name, "%s", "");
    struct hora__text out = hora__text_begin(reason->message, sizeof reason->message);
    if (field != HORA__CRON_WHOLE) {
        hora__text_add(&out, values->name);
        hora__text_add(&out, ": ");
    }
    if (piece.length > 0) {
        add_piece(&out, reading->text, piece, PIECE_SHOWN);
        hora__text_add(&out, " ");
    }
    add_reason(&out, why, values->allowed);
    add_expression(&out, reading->text, piece.begin);
    (void)hora__text_end(&out);
    return HORA_EINVAL;
}
