/* SPDX-License-Identifier: Apache-2.0 */
/* spans.c - tables of spans: making them, and finding a second in them
 *
 * A table is one block of memory: the struct, then the begins, the spans, the index and the names.
 *
 * To find a second, time is divided into buckets of 2^24 seconds, about half a year. index[b] is the span
 * that contains the first second of bucket b. A second of bucket b lies in one of the spans index[b] to
 * index[b + 1], usually one of two, so the binary search takes a step or two. Seconds beyond the range of
 * hora_instant are searched in the first and last bucket. */
#include "cron/zone.h"

#include <assert.h>
#include <string.h>

#include <hora/error.h>

#include "sys/alloc.h"

/* The size of a bucket as a power of two, and the number of buckets that cover all of hora_instant. */
enum {
    BUCKET_BITS = 24,
    BUCKETS = (int)((HORA__SECOND_MAX - HORA__SECOND_FIRST) >> BUCKET_BITS) + 1,
};

/* The table of UTC: one span. Its index is all zero, because every second is in span 0. */
static const int64_t utc_begins[] = {INT64_MIN};
static const struct hora__span utc_spans[] = {{.offset = 0, .short_name = 0, .is_dst = false}};
static const uint16_t utc_index[BUCKETS + 1];
static const struct hora__spans utc = {
    .count = 1, .begins = utc_begins, .spans = utc_spans, .index = utc_index, .names = "UTC"};

const struct hora__spans *hora__spans_utc(void)
{
    return &utc;
}

/* Returns the last span from `low` to `high` that has begun at this second. `low` has. */
static size_t last_begun(const int64_t *begins, size_t low, size_t high, int64_t second)
{
    assert(low <= high && begins[low] <= second);
    while (low < high) {
        /* Rounded up, so that low always grows when it is set to middle. */
        size_t middle = high - (high - low) / 2;
        if (begins[middle] <= second)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The entry for the bucket after the last one exists, so index[bucket + 1] is always valid. */
size_t hora__spans_find(const struct hora__spans *spans, int64_t second)
{
    /* All spans but the first begin later (S2). */
    if (second < HORA__SECOND_FIRST)
        return 0;
    int64_t counted = second < HORA__SECOND_MAX ? second : HORA__SECOND_MAX;
    size_t bucket = (size_t)((counted - HORA__SECOND_FIRST) >> BUCKET_BITS);
    /* The second lies in one of these spans, because the next bucket begins after it. */
    size_t found = last_begun(spans->begins, spans->index[bucket], spans->index[bucket + 1], second);
    assert(spans->begins[found] <= second);
    assert(found + 1 == spans->count || spans->begins[found + 1] > second);
    return found;
}

/* ---- drafts ---- */

/* The limits are those of the types of index and short_name. */
int hora__draft_init(struct hora__draft *draft, size_t most, size_t names_most)
{
    assert(most < UINT16_MAX && names_most <= UINT16_MAX);
    *draft = (struct hora__draft){.most = most, .names_most = names_most};
    draft->begins = hora__alloc(most, sizeof *draft->begins);
    draft->spans = hora__alloc(most, sizeof *draft->spans);
    draft->names = hora__alloc(names_most, 1);
    if (draft->begins != NULL && draft->spans != NULL && draft->names != NULL)
        return 0;
    hora__draft_destroy(draft);
    return HORA_ENOMEM;
}

void hora__draft_destroy(struct hora__draft *draft)
{
    hora__free(draft->begins);
    hora__free(draft->spans);
    hora__free(draft->names);
    *draft = (struct hora__draft){0};
}

/* A zone has few different names, so a linear search is fast enough. */
uint16_t hora__draft_name(struct hora__draft *draft, const char *name, size_t length)
{
    assert(name != NULL);
    for (size_t at = 0; at < draft->names_size; at += strlen(draft->names + at) + 1)
        if (strlen(draft->names + at) == length && memcmp(draft->names + at, name, length) == 0)
            return (uint16_t)at;
    size_t at = draft->names_size;
    assert(draft->names_most - at > length);
    memcpy(draft->names + at, name, length);
    draft->names[at + length] = '\0';
    draft->names_size = at + length + 1;
    return (uint16_t)at;
}

/* Returns whether two spans of one draft are equal; equal names have equal offsets there. */
static bool is_same(const struct hora__span *a, const struct hora__span *b)
{
    return a->offset == b->offset && a->is_dst == b->is_dst && a->short_name == b->short_name;
}

/* Drops what the invariants forbid: spans behind the end of time, spans that end before time begins, and
 * spans equal to their predecessor. */
void hora__draft_add(struct hora__draft *draft, int64_t begin, struct hora__span span)
{
    assert(span.offset >= -HORA__OFFSET_MAX && span.offset <= HORA__OFFSET_MAX); /* S4 */
    /* The first span begins with time itself (S1). */
    if (draft->count == 0)
        begin = INT64_MIN;
    else if (begin > HORA__SECOND_MAX)
        return;
    if (begin <= HORA__SECOND_FIRST) {
        begin = INT64_MIN;
        /* All earlier spans end before time begins. */
        draft->count = 0;
    }
    /* Of two spans that begin at the same second the later one counts. */
    if (draft->count > 0 && draft->begins[draft->count - 1] == begin)
        draft->count--;
    assert(draft->count == 0 || draft->begins[draft->count - 1] < begin);
    if (draft->count > 0 && is_same(&draft->spans[draft->count - 1], &span))
        return;
    assert(draft->count < draft->most);
    draft->begins[draft->count] = begin;
    draft->spans[draft->count] = span;
    draft->count++;
}

/* Notes for each bucket the span that contains its first second, and at the end the last span. */
static void fill_index(const struct hora__spans *spans, uint16_t *index)
{
    size_t span = 0;
    for (int64_t b = 0; b < BUCKETS; b++) {
        int64_t first = HORA__SECOND_FIRST + b * (INT64_C(1) << BUCKET_BITS);
        while (hora__spans_end(spans, span) <= first)
            span++;
        index[b] = (uint16_t)span;
    }
    index[BUCKETS] = (uint16_t)(spans->count - 1);
}

/* Copies the draft into one block. The parts follow each other in order of falling alignment, so that none
 * needs padding. */
int hora__draft_finish(const struct hora__draft *draft, struct hora__spans **ret_spans)
{
    assert(draft->count > 0);
    size_t count = draft->count, begins_size = count * sizeof *draft->begins;
    size_t spans_size = count * sizeof *draft->spans, index_size = (BUCKETS + 1) * sizeof(uint16_t);
    struct hora__spans *made =
        hora__alloc(1, sizeof *made + begins_size + spans_size + index_size + draft->names_size);
    if (made == NULL)
        return HORA_ENOMEM;
    int64_t *begins = (int64_t *)(made + 1);
    struct hora__span *spans = (struct hora__span *)(begins + count);
    uint16_t *index = (uint16_t *)(spans + count);
    char *names = (char *)(index + BUCKETS + 1);
    memcpy(begins, draft->begins, begins_size);
    memcpy(spans, draft->spans, spans_size);
    memcpy(names, draft->names, draft->names_size);
    *made = (struct hora__spans){
        .count = count, .begins = begins, .spans = spans, .index = index, .names = names};
    fill_index(made, index);
    assert(hora__spans_is_sound(made));
    *ret_spans = made;
    return 0;
}

/* A draft with one span gets its index and invariants from the same code as all others. */
int hora__spans_fixed(int32_t offset, const char *name, struct hora__spans **ret_spans)
{
    assert(offset >= -HORA__OFFSET_MAX && offset <= HORA__OFFSET_MAX); /* S4 */
    struct hora__draft draft;
    size_t length = strlen(name);
    int error = hora__draft_init(&draft, 1, length + 1);
    if (error < 0)
        return error;
    uint16_t short_name = hora__draft_name(&draft, name, length);
    hora__draft_add(&draft, INT64_MIN, (struct hora__span){.offset = offset, .short_name = short_name});
    error = hora__draft_finish(&draft, ret_spans);
    hora__draft_destroy(&draft);
    return error;
}

/* ---- reading a table ---- */

/* Compares the texts of short names, not their positions, which may differ between two files. */
bool hora__spans_equal(const struct hora__spans *a, const struct hora__spans *b)
{
    assert(a->count > 0 && b->count > 0); /* S1 */
    if (a->count != b->count || memcmp(a->begins, b->begins, a->count * sizeof *a->begins) != 0)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct hora__span *x = &a->spans[i], *y = &b->spans[i];
        if (x->offset != y->offset || x->is_dst != y->is_dst)
            return false;
        if (strcmp(a->names + x->short_name, b->names + y->short_name) != 0)
            return false;
    }
    return true;
}

bool hora__spans_is_fixed(const struct hora__spans *spans)
{
    for (size_t i = 1; i < spans->count; i++)
        if (spans->spans[i].offset != spans->spans[0].offset)
            return false;
    return true;
}

bool hora__spans_is_sound(const struct hora__spans *spans)
{
    if (spans->count == 0 || spans->begins[0] != INT64_MIN)
        return false; /* S1 */
    for (size_t i = 0; i < spans->count; i++) {
        const struct hora__span *span = &spans->spans[i];
        if (span->offset < -HORA__OFFSET_MAX || span->offset > HORA__OFFSET_MAX)
            return false; /* S4 */
        if (i == 0)
            continue;
        if (spans->begins[i] <= spans->begins[i - 1] || spans->begins[i] < HORA__SECOND_MIN ||
            spans->begins[i] > HORA__SECOND_MAX)
            return false; /* S2 */
        const struct hora__span *before = span - 1;
        if (before->offset == span->offset && before->is_dst == span->is_dst &&
            strcmp(spans->names + before->short_name, spans->names + span->short_name) == 0)
            return false; /* S3 */
    }
    return true;
}
