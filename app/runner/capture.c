/* SPDX-License-Identifier: Apache-2.0 */
/* capture.c - find the lines in the output of a run, and keep its tail
 *
 * How it works    Each stream has a line under construction, which already has the form that is shown. Bytes
 *                 go through a small state machine: plain characters are copied in one go; a character of
 *                 several bytes is collected until it is complete; a carriage return waits for the line feed
 *                 that would make both a line end. So the result does not depend on where the reads cut the
 *                 output.
 * Pieces          A line that has PIECE bytes is not finished before the next byte comes: if that is the line
 *                 end, it was a whole line; otherwise it is a piece that is continued. A character is never
 *                 cut.
 * Invariants      1. Memory is bounded: a piece per stream, and twice the tail.
 *                 2. The tail contains complete lines and pieces only, at least the last tail_size bytes of
 *                    them, and all if there are fewer. */
#include "runner/capture.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

enum {
    STREAMS = 2,
    PIECE = 16 * 1024, /* the longest text of a line */
    FIRST_ROOM = 256,  /* most runs say little */
    CHARACTER = 4,     /* the most bytes of a UTF-8 character */
    ESCAPED = 4,       /* \xNN */
};

/* Bytes in memory that grows. */
struct text {
    char *bytes;
    size_t size, room;
};

/* The line of a stream under construction. */
struct line_state {
    struct text shown;
    unsigned char character[CHARACTER]; /* the first bytes of one */
    int got, needed;                    /* got is 0 between characters */
    bool after_return;                  /* the last byte was a carriage return */
};

struct capture {
    char *job, *run;
    int attempt;
    struct job_log_file *log;
    output_line_fn line;
    void *arg;
    struct line_state streams[STREAMS];
    int64_t bytes, lines;

    struct text tail;
    size_t tail_size;
    bool tail_begins_line; /* the first byte of `tail` is the first of a line */
    int tail_open;         /* the stream whose line is not finished in the tail; -1: none */
};

/* ---- memory ---- */

static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(memory(size), text, size);
}

/* Makes room for `size` more bytes. */
static void text_reserve(struct text *text, size_t size)
{
    if (text->room - text->size >= size)
        return;
    size_t room = text->room == 0 ? FIRST_ROOM : text->room;
    while (room - text->size < size)
        room *= 2;
    char *bytes = memory(room);
    if (text->size > 0)
        memcpy(bytes, text->bytes, text->size);
    free(text->bytes);
    text->bytes = bytes;
    text->room = room;
}

static void text_add(struct text *text, const char *bytes, size_t size)
{
    if (size == 0)
        return; /* there may be no memory yet */
    text_reserve(text, size);
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
}

struct capture *capture_new(const char *job, const char *run, int attempt, size_t tail_size,
                            struct job_log_file *log, output_line_fn line, void *arg)
{
    struct capture *capture = memory(sizeof *capture);
    *capture = (struct capture){
        .job = copy_text(job),
        .run = copy_text(run),
        .attempt = attempt,
        .log = job_log_ref(log),
        .line = line,
        .arg = arg,
        .tail_size = tail_size,
        .tail_begins_line = true,
        .tail_open = -1,
    };
    return capture;
}

void capture_free(struct capture *capture)
{
    if (capture == NULL)
        return;
    for (int i = 0; i < STREAMS; i++)
        free(capture->streams[i].shown.bytes);
    free(capture->tail.bytes);
    job_log_close(capture->log);
    free(capture->job);
    free(capture->run);
    free(capture);
}

/* ---- the tail ---- */

/* Adds bytes. When twice the tail is full, the older half is dropped, so that a byte is moved once on
 * average. */
static void tail_add(struct capture *capture, const char *bytes, size_t size)
{
    struct text *tail = &capture->tail;
    if (size > capture->tail_size) { /* only its end can be needed; all before it is dropped */
        size_t cut = size - capture->tail_size;
        capture->tail_begins_line = bytes[cut - 1] == '\n';
        tail->size = 0;
        bytes += cut;
        size -= cut;
    } else if (tail->size + size > 2 * capture->tail_size) {
        size_t cut = tail->size - capture->tail_size;
        capture->tail_begins_line = tail->bytes[cut - 1] == '\n';
        memmove(tail->bytes, tail->bytes + cut, capture->tail_size);
        tail->size = capture->tail_size;
    }
    text_add(tail, bytes, size);
}

/* Adds a line. The pieces of a line are put together again, unless a line of the other stream is between. */
static void tail_add_line(struct capture *capture, const struct output_line *line)
{
    if (capture->tail_size == 0)
        return;
    if (capture->tail_open >= 0 && capture->tail_open != (int)line->stream)
        tail_add(capture, "\n", 1);
    tail_add(capture, line->text, line->size);
    if (!line->continued)
        tail_add(capture, "\n", 1);
    capture->tail_open = line->continued ? (int)line->stream : -1;
}

const char *capture_tail(struct capture *capture, size_t *ret_size)
{
    const struct text *tail = &capture->tail;
    if (tail->size == 0) {
        *ret_size = 0;
        return "";
    }
    const char *end = tail->bytes + tail->size;
    const char *start = tail->size > capture->tail_size ? end - capture->tail_size : tail->bytes;
    bool begins_line = start == tail->bytes ? capture->tail_begins_line : start[-1] == '\n';
    if (!begins_line) {
        const char *line_end = memchr(start, '\n', (size_t)(end - start));
        if (line_end != NULL && line_end + 1 < end)
            start = line_end + 1;
        else /* one long line: do not begin inside a character */
            while (start < end && ((unsigned char)*start & 0xC0) == 0x80)
                start++;
    }
    *ret_size = (size_t)(end - start);
    return start;
}

/* ---- lines ---- */

/* Hands on the line of a stream, and begins the next. */
static void emit(struct capture *capture, enum stream stream, bool continued, hora_instant now)
{
    struct text *shown = &capture->streams[stream].shown;
    struct output_line line = {
        .run = capture->run,
        .job = capture->job,
        .attempt = capture->attempt,
        .stream = stream,
        .time = now,
        .continued = continued,
        .text = shown->size > 0 ? shown->bytes : "",
        .size = shown->size,
    };
    capture->lines += !continued;
    tail_add_line(capture, &line);
    if (capture->log != NULL)
        job_log_write(capture->log, &line);
    if (capture->line != NULL)
        capture->line(&line, capture->arg);
    shown->size = 0;
}

/* Adds bytes that belong together. */
static void add_unit(struct capture *capture, enum stream stream, const char *bytes, size_t size,
                     hora_instant now)
{
    struct text *shown = &capture->streams[stream].shown;
    if (shown->size + size > PIECE)
        emit(capture, stream, true, now);
    text_add(shown, bytes, size);
}

/* Adds plain characters, each of which may be the last of a piece. */
static void add_plain(struct capture *capture, enum stream stream, const char *bytes, size_t size,
                      hora_instant now)
{
    struct text *shown = &capture->streams[stream].shown;
    while (size > 0) {
        if (shown->size == PIECE)
            emit(capture, stream, true, now);
        size_t part = size < PIECE - shown->size ? size : PIECE - shown->size;
        text_add(shown, bytes, part);
        bytes += part;
        size -= part;
    }
}

static void add_escaped(struct capture *capture, enum stream stream, unsigned char byte, hora_instant now)
{
    static const char digits[] = "0123456789abcdef";
    char text[ESCAPED] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    add_unit(capture, stream, text, sizeof text, now);
}

/* ---- characters ---- */

/* Returns true for a printable character of ASCII, and for tab. */
static bool is_plain(unsigned char byte)
{
    return (byte >= ' ' && byte < 0x7F) || byte == '\t';
}

/* Returns how many bytes the UTF-8 character has that begins with a byte; 0 if none does. */
static int character_size(unsigned char first)
{
    if (first >= 0xC2 && first <= 0xDF) /* C0 and C1 would be longer forms of ASCII */
        return 2;
    if (first >= 0xE0 && first <= 0xEF)
        return 3;
    return first >= 0xF0 && first <= 0xF4 ? 4 : 0;
}

/* Returns true if a byte can come next in a character. The second byte must not make a longer form than
 * necessary, a surrogate, or a number above 10FFFF. */
static bool continues_character(const struct line_state *state, unsigned char byte)
{
    if (byte < 0x80 || byte > 0xBF)
        return false;
    if (state->got > 1)
        return true;
    switch (state->character[0]) {
    case 0xE0:
        return byte >= 0xA0;
    case 0xED:
        return byte <= 0x9F;
    case 0xF0:
        return byte >= 0x90;
    case 0xF4:
        return byte <= 0x8F;
    default:
        return true;
    }
}

/* Shows the bytes of a character that is not complete, or is a control character. */
static void escape_character(struct capture *capture, enum stream stream, hora_instant now)
{
    struct line_state *state = &capture->streams[stream];
    for (int i = 0; i < state->got; i++)
        add_escaped(capture, stream, state->character[i], now);
    state->got = 0;
}

/* Adds a byte to the character under construction. */
static void grow_character(struct capture *capture, enum stream stream, unsigned char byte, hora_instant now)
{
    struct line_state *state = &capture->streams[stream];
    state->character[state->got++] = byte;
    if (state->got < state->needed)
        return;
    if (state->character[0] == 0xC2 && byte < 0xA0) { /* U+0080 to U+009F: control characters */
        escape_character(capture, stream, now);
        return;
    }
    add_unit(capture, stream, (const char *)state->character, (size_t)state->got, now);
    state->got = 0;
}

/* Takes a byte that is not plain, or comes after one that was not. */
static void take_byte(struct capture *capture, enum stream stream, unsigned char byte, hora_instant now)
{
    struct line_state *state = &capture->streams[stream];
    if (state->got > 0 && continues_character(state, byte)) {
        grow_character(capture, stream, byte, now);
        return;
    }
    escape_character(capture, stream, now);
    if (state->after_return && byte != '\n')
        add_escaped(capture, stream, '\r', now);
    state->after_return = byte == '\r';
    if (byte == '\r')
        return;
    if (byte == '\n') {
        emit(capture, stream, false, now);
    } else if (is_plain(byte)) {
        add_plain(capture, stream, (const char *)&byte, 1, now);
    } else if ((state->needed = character_size(byte)) > 0) {
        state->character[0] = byte;
        state->got = 1;
    } else {
        add_escaped(capture, stream, byte, now);
    }
}

void capture_feed(struct capture *capture, enum stream stream, const char *bytes, size_t size,
                  hora_instant now)
{
    const struct line_state *state = &capture->streams[stream];
    const char *end = bytes + size;
    capture->bytes += (int64_t)size;
    while (bytes < end) {
        const char *plain_end = bytes;
        if (state->got == 0 && !state->after_return)
            while (plain_end < end && is_plain((unsigned char)*plain_end))
                plain_end++;
        add_plain(capture, stream, bytes, (size_t)(plain_end - bytes), now);
        bytes = plain_end;
        if (bytes < end)
            take_byte(capture, stream, (unsigned char)*bytes++, now);
    }
    if (capture->log != NULL)
        job_log_flush(capture->log);
}

void capture_end(struct capture *capture, hora_instant now)
{
    for (int i = 0; i < STREAMS; i++) {
        enum stream stream = (enum stream)i;
        struct line_state *state = &capture->streams[i];
        escape_character(capture, stream, now);
        if (state->after_return)
            add_escaped(capture, stream, '\r', now);
        state->after_return = false;
        if (state->shown.size > 0)
            emit(capture, stream, false, now);
    }
    if (capture->log != NULL)
        job_log_flush(capture->log);
}

int64_t capture_bytes(const struct capture *capture)
{
    return capture->bytes;
}

int64_t capture_lines(const struct capture *capture)
{
    return capture->lines;
}
