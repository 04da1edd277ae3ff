/* SPDX-License-Identifier: Apache-2.0 */
/* tzif.c - the contents of a zone's file, as RFC 8536 describes them
 *
 *     header, block of version 1            times of 32 bits
 *     header, block                         the same with 64 bits, from version 2 on
 *     line feed, rule, line feed            the footer: what holds after the last transition
 *
 * From version 2 on the first block is passed over unread; a file of version 1 has no footer, and its last kind of time goes
 * on for ever. A block is six counts and then as many transition times, their types, the types, names, leap seconds and two
 * lists of flags for who takes the rules for other zones; these are not looked at.
 *
 * Nothing is believed: every count is compared with the bytes that are there before anything is allocated, and every index with its
 * count. Before the first transition type 0 holds. If there is no transition the footer holds for all time. */
#include <assert.h>
#include <string.h>

#include <hora/error.h>

#include "cron/footer.h"
#include "cron/spans.h"
#include "cron/zone.h"

enum {
    HEADER_SIZE = 44,
    MOST_TRANSITIONS = 20000, /* the longest tables have 250 */
    MOST_TYPES = 256,         /* an index is one byte */
};

struct reader {
    const unsigned char *at;
    size_t left;
};

struct header {
    char version;
    uint32_t utc_flags, standard_flags, leaps, transitions, types, characters;
};

/* A block of which all parts are there. */
struct block {
    struct header counts;
    const unsigned char *times;
    const unsigned char *indices;
    const unsigned char *types;
    const char *characters;
};

struct type {
    struct hora__span span;
    size_t name_length;
};

/* NULL: there are not so many bytes. */
static const unsigned char *take(struct reader *r, uint64_t size)
{
    if (size > r->left)
        return NULL;
    const unsigned char *taken = r->at;
    r->at += size;
    r->left -= (size_t)size;
    return taken;
}

static uint32_t number32(const unsigned char *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | (uint32_t)b[3];
}

static int64_t number64(const unsigned char *b)
{
    return (int64_t)((uint64_t)number32(b) << 32 | number32(b + 4));
}

static bool read_header(struct reader *r, struct header *header)
{
    const unsigned char *b = take(r, HEADER_SIZE);
    if (b == NULL || memcmp(b, "TZif", 4) != 0)
        return false;
    *header = (struct header){
        .version = (char)b[4],
        .utc_flags = number32(b + 20),
        .standard_flags = number32(b + 24),
        .leaps = number32(b + 28),
        .transitions = number32(b + 32),
        .types = number32(b + 36),
        .characters = number32(b + 40),
    };
    return header->version == '\0' || header->version >= '2';
}

static bool skip_block(struct reader *r, const struct header *header)
{
    uint64_t size = (uint64_t)header->transitions * (4 + 1) + (uint64_t)header->types * 6 + header->characters +
                    (uint64_t)header->leaps * (4 + 4) + header->standard_flags + header->utc_flags;
    return take(r, size) != NULL;
}

static bool read_block(struct reader *r, const struct header *header, size_t time_size, struct block *block)
{
    if (header->types == 0 || header->types > MOST_TYPES || header->transitions > MOST_TRANSITIONS ||
        header->characters == 0)
        return false;
    if (header->standard_flags != 0 && header->standard_flags != header->types)
        return false;
    if (header->utc_flags != 0 && header->utc_flags != header->types)
        return false;
    block->counts = *header;
    block->times = take(r, (uint64_t)header->transitions * time_size);
    block->indices = take(r, header->transitions);
    block->types = take(r, (uint64_t)header->types * 6);
    block->characters = (const char *)take(r, header->characters);
    return block->times != NULL && block->indices != NULL && block->types != NULL && block->characters != NULL &&
           take(r, (uint64_t)header->standard_flags + header->utc_flags) != NULL;
}

/* The length of the name that begins there; 0 if there is none, or one that cannot be shown. */
static size_t name_length(const struct block *block, size_t start)
{
    size_t length = 0;
    for (size_t i = start; i < block->counts.characters; i++, length++) {
        if (block->characters[i] == '\0')
            return length <= HORA__SHORT_NAME_MOST ? length : 0;
        if (block->characters[i] < ' ' || block->characters[i] > '~')
            return 0;
    }
    return 0;
}

/* All types, with the place of their names in the file; and the room that these need with a NUL each. */
static bool read_types(const struct block *block, struct type types[MOST_TYPES], size_t *ret_names_size)
{
    *ret_names_size = 0;
    for (size_t i = 0; i < block->counts.types; i++) {
        const unsigned char *b = block->types + i * 6;
        int64_t offset = (int64_t)(int32_t)number32(b);
        if (offset < -HORA__OFFSET_MAX || offset > HORA__OFFSET_MAX || b[4] > 1)
            return false;
        types[i].span = (struct hora__span){.offset = (int32_t)offset, .short_name = b[5], .is_dst = b[4] == 1};
        types[i].name_length = name_length(block, b[5]);
        if (types[i].name_length == 0)
            return false;
        *ret_names_size += types[i].name_length + 1;
    }
    return true;
}

static int64_t time_at(const struct block *block, size_t i, size_t time_size)
{
    if (time_size == 8)
        return number64(block->times + i * 8);
    return (int64_t)(int32_t)number32(block->times + i * 4);
}

/* Whether the times rise and every type exists. */
static bool has_sound_transitions(const struct block *block, size_t time_size)
{
    for (size_t i = 0; i < block->counts.transitions; i++) {
        if (block->indices[i] >= block->counts.types)
            return false;
        if (i > 0 && time_at(block, i, time_size) <= time_at(block, i - 1, time_size))
            return false;
    }
    return true;
}

/* The names of the types move from the file into the draft. */
static void name_types(const struct block *block, struct hora__draft *draft, struct type *types)
{
    for (size_t i = 0; i < block->counts.types; i++) {
        const char *name = block->characters + types[i].span.short_name;
        types[i].span.short_name = hora__draft_name(draft, name, types[i].name_length);
    }
}

static int fill(const struct block *block, size_t time_size, struct type *types, const struct hora__footer *footer,
                struct hora__draft *draft, const char **ret_reason)
{
    name_types(block, draft, types);
    size_t count = block->counts.transitions;
    hora__draft_add(draft, INT64_MIN, types[0].span);
    for (size_t i = 0; i < count; i++)
        hora__draft_add(draft, time_at(block, i, time_size), types[block->indices[i]].span);
    if (footer == NULL)
        return 0;
    return hora__footer_apply(footer, draft, count > 0 ? time_at(block, count - 1, time_size) : INT64_MIN, ret_reason);
}

/* The footer is NULL if the file has none. */
static int make_spans(const struct block *block, size_t time_size, const struct hora__footer *footer,
                      struct hora__spans **ret_spans, const char **ret_reason)
{
    struct type types[MOST_TYPES] = {{.name_length = 0}};
    size_t names_size;
    if (!read_types(block, types, &names_size) || !has_sound_transitions(block, time_size)) {
        *ret_reason = "the zone's file is damaged";
        return HORA_EBADMSG;
    }
    struct hora__draft draft;
    size_t most = block->counts.transitions + 1 + (footer != NULL ? HORA__FOOTER_SPANS : 0);
    int error = hora__draft_init(&draft, most, names_size + HORA__FOOTER_NAMES);
    if (error < 0)
        return error;
    error = fill(block, time_size, types, footer, &draft, ret_reason);
    if (error == 0)
        error = hora__draft_finish(&draft, ret_spans);
    hora__draft_destroy(&draft);
    return error;
}

/* Between its line feeds. */
static bool take_footer(struct reader *r, const char **ret_text, size_t *ret_length)
{
    const unsigned char *first = take(r, 1);
    if (first == NULL || *first != '\n')
        return false;
    const unsigned char *end = memchr(r->at, '\n', r->left);
    if (end == NULL)
        return false;
    *ret_text = (const char *)r->at;
    *ret_length = (size_t)(end - r->at);
    return true;
}

static bool has_offsets_in_range(const struct hora__footer *footer)
{
    int32_t least = footer->standard.offset, most = least;
    if (footer->has_dst && footer->dst.offset < least)
        least = footer->dst.offset;
    if (footer->has_dst && footer->dst.offset > most)
        most = footer->dst.offset;
    return least >= -HORA__OFFSET_MAX && most <= HORA__OFFSET_MAX;
}

static int read_new(struct reader *r, struct hora__spans **ret_spans, const char **ret_reason)
{
    struct header header;
    struct block block;
    const char *text;
    size_t length;
    if (!read_header(r, &header) || header.version == '\0')
        return HORA_EBADMSG;
    if (header.leaps > 0)
        return HORA_ENOTSUP;
    if (!read_block(r, &header, 8, &block) || !take_footer(r, &text, &length))
        return HORA_EBADMSG;
    if (length == 0)
        return make_spans(&block, 8, NULL, ret_spans, ret_reason);
    struct hora__footer footer;
    if (!hora__footer_parse(text, length, &footer, ret_reason) || !has_offsets_in_range(&footer))
        return HORA_EBADMSG;
    return make_spans(&block, 8, &footer, ret_spans, ret_reason);
}

static int read_old(struct reader *r, const struct header *header, struct hora__spans **ret_spans,
                    const char **ret_reason)
{
    struct block block;
    if (header->leaps > 0)
        return HORA_ENOTSUP;
    if (!read_block(r, header, 4, &block))
        return HORA_EBADMSG;
    return make_spans(&block, 4, NULL, ret_spans, ret_reason);
}

int hora__tzif_read(const void *data, size_t size, struct hora__spans **ret_spans, const char **ret_reason)
{
    struct reader r = {.at = data, .left = size};
    struct header header;
    *ret_reason = "the zone's file is no TZif file";
    if (size > HORA__TZIF_MOST || !read_header(&r, &header))
        return HORA_EBADMSG;
    *ret_reason = "the zone's file is damaged";
    int error;
    if (header.version == '\0')
        error = read_old(&r, &header, ret_spans, ret_reason);
    else
        error = skip_block(&r, &header) ? read_new(&r, ret_spans, ret_reason) : HORA_EBADMSG;
    if (error == HORA_ENOTSUP)
        *ret_reason = "the zone's file counts leap seconds";
    else if (error == HORA_ENOMEM)
        *ret_reason = hora_strerror(error);
    return error;
}
