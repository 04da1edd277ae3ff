/* SPDX-License-Identifier: Apache-2.0 */
/* cron_slot.c - H in cron expressions: a value that the name of the job determines
 *
 *   H  H(a-b)          a value of the field, or from a to b
 *   H/n  H(a-b)/n      every n-th value; the name determines where it starts
 *   ~  a~b  a~  ~b     as cronie writes H and H(a-b); a step may follow
 *
 * So many jobs "at night" do not all start at the same minute, and each starts at the same minute every night.
 * The value depends on the name of the job and on the field. In the day of month, H goes up to 28, so that it
 * occurs in every month. */
#include "jobs/schema.h"

#include <string.h>

#include "text.h"

struct range {
    int64_t least, most;
};

/* Parses "a SEPARATOR b" up to `end`, where either number may be missing if `may_miss`. */
static bool parse_range(const char *text, const char *end, char separator, bool may_miss, struct range *range)
{
    int64_t numbers[2] = {range->least, range->most};
    const char *middle = memchr(text, separator, (size_t)(end - text));
    if (!middle)
        return false;
    const char *starts[] = {text, middle + 1}, *ends[] = {middle, end};
    for (int i = 0; i < 2; i++) {
        size_t length = (size_t)(ends[i] - starts[i]);
        char digits[8] = "";
        if (length >= sizeof digits || (length == 0 && !may_miss))
            return false;
        memcpy(digits, starts[i], length);
        if (length > 0 && !parse_number(digits, 100, &numbers[i]))
            return false;
    }
    bool is_inside = numbers[0] >= range->least && numbers[1] <= range->most && numbers[0] <= numbers[1];
    *range = (struct range){numbers[0], numbers[1]};
    return is_inside;
}

/* Replaces one element of a field. Returns NULL if it is wrong. */
static const char *expand(struct arena *arena, const char *element, struct range range, uint64_t hash)
{
    const char *slash = strchr(element, '/');
    const char *end = slash ? slash : element + strlen(element);
    int64_t step = 0;
    bool good = true;
    if (element[0] != 'H')
        good = parse_range(element, end, '~', true, &range);
    else if (end - element > 1)
        good = element[1] == '(' && end[-1] == ')' && parse_range(element + 2, end - 1, '-', false, &range);
    if (good && slash)
        good = parse_number(slash + 1, range.most - range.least + 1, &step) && step > 0;
    if (!good)
        return NULL;
    uint64_t values = (uint64_t)(step > 0 ? step : range.most - range.least + 1);
    int64_t value = range.least + (int64_t)(hash % values);
    if (step > 0)
        return arena_format(arena, "%d-%d/%d", (int)value, (int)range.most, (int)step);
    return arena_format(arena, "%d", (int)value);
}

static bool is_slot(const char *element)
{
    bool is_h = element[0] == 'H' && (element[1] == '\0' || element[1] == '/' || element[1] == '(');
    return is_h || strchr(element, '~');
}

/* Replaces what is to be replaced in one field. Returns NULL if something is wrong. */
static const char *expand_field(struct arena *arena, const char *field, size_t length, struct range range,
                                uint64_t hash, const char **ret_wrong)
{
    const char *result = "";
    const char *end = field + length;
    for (const char *from = field; from <= end;) {
        const char *comma = memchr(from, ',', (size_t)(end - from));
        size_t size = (size_t)((comma ? comma : end) - from);
        const char *element = arena_text(arena, from, size);
        const char *value = is_slot(element) ? expand(arena, element, range, hash) : element;
        if (!value) {
            *ret_wrong = element;
            return NULL;
        }
        result = arena_format(arena, "%s%s%s", result, from > field ? "," : "", value);
        from += size + 1;
    }
    return result;
}

const char *cron_slots(struct arena *arena, const char *text, bool unix_dialect, const char *job,
                       const char **ret_wrong)
{
    static const struct range ranges[] = {{0, 59}, {0, 59}, {0, 23}, {1, 28}, {1, 12}, {0, 6}};
    static const char blanks[] = " \t";
    if (!strpbrk(text, "H~") || text[0] == '@')
        return text;
    const char *result = "";
    bool has_slot = false;
    size_t field = unix_dialect ? 1 : 0;
    for (const char *at = text + strspn(text, blanks); *at && field < 6; field++) {
        size_t length = strcspn(at, blanks);
        uint64_t hash = text_hash(arena_format(arena, "%s %d", job, (int)field));
        const char *value = expand_field(arena, at, length, ranges[field], hash, ret_wrong);
        if (!value)
            return NULL;
        has_slot = has_slot || strncmp(value, at, length) != 0 || strlen(value) != length;
        result = arena_format(arena, "%s%s%s", result, *result ? " " : "", value);
        at += length;
        at += strspn(at, blanks);
        if (field == 5 && *at) /* too many fields: the parser says so */
            return text;
    }
    return has_slot ? result : text;
}
