/* SPDX-License-Identifier: Apache-2.0 */
/* test_capture.c - lines of output, compared with a simple implementation that sees all of it at once */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "memory_use.h"
#include "runner/capture.h"
#include "started.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { ROUNDS = 30, MUCH_MB = 64, SANITIZED = 1 };
#else
enum { ROUNDS = 300, MUCH_MB = 1024, SANITIZED = 0 };
#endif
enum { PIECE = 16 * 1024, LINES_MOST = 20000, MB = 1024 * 1024, TAIL = 48 * 1024, CHUNK = 64 * 1024 };

static const hora_instant now = {INT64_C(1800000000123456789)};

/* A line as it arrived, or as it should. */
struct line {
    int stream;
    bool continued;
    char *text;
    size_t size;
};

static struct line lines[LINES_MOST];
static size_t line_count;

static void add(struct line *list, size_t *count, int stream, bool continued, const char *text, size_t size)
{
    CHECK(*count < LINES_MOST);
    char *copy = malloc(size + 1);
    memcpy(copy, text, size);
    copy[size] = '\0';
    list[(*count)++] = (struct line){stream, continued, copy, size};
}

static void drop(struct line *list, size_t *count)
{
    while (*count > 0)
        free(list[--*count].text);
}

static void receive(const struct output_line *line, void *arg)
{
    CHECK(arg == lines);
    CHECK_TEXT(line->job, "job");
    CHECK_TEXT(line->run, "run-1");
    CHECK_INT(line->attempt, 2);
    CHECK_INT(line->time.ns, now.ns);
    CHECK(line->size <= PIECE);
    add(lines, &line_count, (int)line->stream, line->continued, line->text, line->size);
}

static struct capture *new_capture(size_t tail_size)
{
    line_count = 0;
    return capture_new("job", "run-1", 2, tail_size, NULL, receive, lines);
}

/* ---- the simple implementation ---- */

/* Returns the size of the UTF-8 character at a place; 0 if there is none. */
static size_t character_at(const unsigned char *at, size_t left)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : at[0] >= 0xC0 ? 2 : 0;
    if (size == 0 || at[0] >= 0xF8 || size > left)
        return 0;
    uint32_t number = at[0] & (0xFFU >> (size + 1));
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xC0) != 0x80)
            return 0;
        number = number << 6 | (at[i] & 0x3F);
    }
    bool is_valid = number >= least[size] && number <= 0x10FFFF && (number < 0xD800 || number > 0xDFFF);
    return is_valid && number >= 0xA0 ? size : 0;
}

/* Adds a line, cut into pieces. */
static void expect_line(struct line *list, size_t *count, int stream, const unsigned char *at, size_t left)
{
    static char shown[PIECE];
    size_t filled = 0;
    while (left > 0) {
        char unit[8];
        size_t taken = character_at(at, left), size = taken;
        if (taken > 0)
            memcpy(unit, at, taken);
        else if ((at[0] >= 32 && at[0] < 127) || at[0] == '\t')
            unit[0] = (char)at[0], taken = size = 1;
        else
            size = (size_t)snprintf(unit, sizeof unit, "\\x%02x", at[0]), taken = 1;
        if (filled + size > PIECE) {
            add(list, count, stream, true, shown, filled);
            filled = 0;
        }
        memcpy(shown + filled, unit, size);
        filled += size;
        at += taken;
        left -= taken;
    }
    add(list, count, stream, false, shown, filled);
}

static void expect(struct line *list, size_t *count, int stream, const char *bytes, size_t size)
{
    while (size > 0) {
        const char *end = memchr(bytes, '\n', size);
        size_t length = end != NULL ? (size_t)(end - bytes) : size;
        size_t shown = end != NULL && length > 0 && end[-1] == '\r' ? length - 1 : length;
        expect_line(list, count, stream, (const unsigned char *)bytes, shown);
        size_t taken = end != NULL ? length + 1 : length;
        bytes += taken;
        size -= taken;
    }
}

/* Compares the lines of one stream with those that are expected. */
static void check_stream(int stream, const char *bytes, size_t size)
{
    static struct line want[LINES_MOST];
    size_t want_count = 0, next = 0;
    expect(want, &want_count, stream, bytes, size);
    for (size_t i = 0; i < line_count; i++) {
        if (lines[i].stream != stream)
            continue;
        CHECK(next < want_count);
        if (next >= want_count)
            break;
        CHECK_INT(lines[i].continued, want[next].continued);
        CHECK_INT(lines[i].size, want[next].size);
        CHECK_TEXT(lines[i].text, want[next].text);
        next++;
    }
    CHECK_INT(next, want_count);
    drop(want, &want_count);
}

/* ---- lines ---- */

/* Feeds one text to one stream, in one go and byte by byte. The lines are shown with | between them, and +
 * after a piece. */
static void check_shown(const char *bytes, size_t size, const char *want)
{
    for (int byte_by_byte = 0; byte_by_byte < 2; byte_by_byte++) {
        char got[1000] = "";
        struct capture *capture = new_capture(0);
        size_t step = byte_by_byte ? 1 : size;
        for (size_t i = 0; i < size; i += step)
            capture_feed(capture, STREAM_OUT, bytes + i, step, now);
        capture_end(capture, now);
        for (size_t i = 0; i < line_count; i++)
            (void)snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s|", lines[i].text,
                           lines[i].continued ? "+" : "");
        CHECK_TEXT(got, want);
        CHECK_INT(capture_bytes(capture), (long long)size);
        capture_free(capture);
        drop(lines, &line_count);
    }
}

#define CHECK_SHOWN(bytes, want) check_shown(bytes, sizeof(bytes) - 1, want)

TEST_REAL(lines_end_with_line_feeds, "")
{
    CHECK_SHOWN("", "");
    CHECK_SHOWN("a", "a|");
    CHECK_SHOWN("a\n", "a|");
    CHECK_SHOWN("\n", "|");
    CHECK_SHOWN("\n\na\n\nb", "||a||b|");
    CHECK_SHOWN("a\r\nb\r\n", "a|b|");
    CHECK_SHOWN("\r\n", "|");
    CHECK_SHOWN("a\rb\n", "a\\x0db|");
    CHECK_SHOWN("a\r\r\n", "a\\x0d|");
    CHECK_SHOWN("a\r", "a\\x0d|");
    CHECK_SHOWN("tab\there ~\n", "tab\there ~|");
}

TEST_REAL(control_characters_are_shown, "")
{
    CHECK_SHOWN("a\0b\n", "a\\x00b|");
    CHECK_SHOWN("\033[31mred\033[0m\a\b\x7f\n", "\\x1b[31mred\\x1b[0m\\x07\\x08\\x7f|");
    CHECK_SHOWN("\xc2\x9b"
                "2J\xc2\x85\xc2\xa0\n",
                "\\xc2\\x9b2J\\xc2\\x85\xc2\xa0|");
}

TEST_REAL(bytes_that_are_not_utf8_are_shown, "")
{
    CHECK_SHOWN("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\n", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80|");
    CHECK_SHOWN("\xff\x80\xc3\n", "\\xff\\x80\\xc3|");
    CHECK_SHOWN("\xc0\xaf\xe0\x80\xaf\n", "\\xc0\\xaf\\xe0\\x80\\xaf|"); /* longer than necessary */
    CHECK_SHOWN("\xed\xa0\x80\xf4\x90\x80\x80\n", "\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80|"); /* no characters */
    CHECK_SHOWN("\xe2\x82\xc3\xa4\xe2\x82", "\\xe2\\x82\xc3\xa4\\xe2\\x82|");
    CHECK_SHOWN("\xe2\x82\r\n\xe2\r", "\\xe2\\x82|\\xe2\\x0d|");
}

/* Lines around the length of a piece, with a character of several bytes at the cut. */
TEST_REAL(long_lines_are_cut, "")
{
    static char bytes[3 * PIECE + 8];
    for (size_t length = PIECE - 5; length <= PIECE + 5; length++) {
        for (int kind = 0; kind < 4; kind++) {
            static const char *const ends[] = {"", "\xe2\x82\xac", "\x01", "\r"};
            struct capture *capture = new_capture(0);
            memset(bytes, 'a', length);
            (void)snprintf(bytes + length, sizeof bytes - length, "%s\nb\n", ends[kind]);
            size_t size = strlen(bytes);
            capture_feed(capture, STREAM_ERR, bytes, size, now);
            check_stream(STREAM_ERR, bytes, size);
            CHECK_INT(capture_lines(capture), 2);
            capture_free(capture);
            drop(lines, &line_count);
        }
    }
    struct capture *capture = new_capture(100 * PIECE);
    size_t tail_size;
    memset(bytes, 'a', 3 * PIECE);
    capture_feed(capture, STREAM_OUT, bytes, 3 * PIECE, now);
    CHECK_INT(line_count, 2); /* the third may be complete */
    capture_end(capture, now);
    CHECK_INT(line_count, 3);
    CHECK(lines[0].continued && lines[1].continued && !lines[2].continued);
    (void)capture_tail(capture, &tail_size);
    CHECK_INT(tail_size, 3 * PIECE + 1); /* in one line again */
    capture_free(capture);
    drop(lines, &line_count);
}

/* Makes random output: mostly text, with everything that is hard. */
static size_t make_output(char *bytes, size_t room)
{
    static const char *const hard[] = {
        "\n",   "\r\n",     "\r",       "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
        "\xff", "\xe2\x82", "\033[31m", "\xc2\x85", "\n\n",         "\xf0\x9f"};
    size_t size = 0, wanted = test_random((uint32_t)room - 2 * PIECE - 100);
    while (size < wanted) {
        uint32_t kind = test_random(100);
        if (kind < 50) {
            for (uint32_t n = test_random(60); n > 0; n--)
                bytes[size++] = (char)(' ' + test_random(95));
        } else if (kind < 98) {
            const char *text = hard[test_random(sizeof hard / sizeof hard[0])];
            memcpy(bytes + size, text, strlen(text));
            size += strlen(text);
        } else if (kind < 99) {
            bytes[size++] = (char)test_random(256);
        } else {
            for (uint32_t n = test_random(2 * PIECE); n > 0; n--)
                bytes[size++] = 'x';
        }
    }
    return size;
}

/* Both streams, cut at random and in random order. */
TEST_REAL(the_result_does_not_depend_on_the_reads, "")
{
    enum { ROOM = 200 * 1024 };
    char *bytes[2] = {malloc(ROOM), malloc(ROOM)};
    for (int round = 0; round < ROUNDS; round++) {
        size_t sizes[2], fed[2] = {0, 0};
        uint32_t longest = 1 + test_random(round % 3 == 0 ? 3 : round % 3 == 1 ? 100 : 5000);
        struct capture *capture = new_capture(0);
        for (int i = 0; i < 2; i++)
            sizes[i] = make_output(bytes[i], round % 3 == 0 ? 2 * PIECE + 5000 : ROOM);
        while (fed[0] < sizes[0] || fed[1] < sizes[1]) {
            uint32_t stream = test_random(2);
            size_t size = 1 + test_random(longest), left = sizes[stream] - fed[stream];
            capture_feed(capture, stream == 0 ? STREAM_OUT : STREAM_ERR, bytes[stream] + fed[stream],
                         size < left ? size : left, now);
            fed[stream] += size < left ? size : left;
        }
        capture_end(capture, now);
        for (int i = 0; i < 2; i++)
            check_stream(i, bytes[i], sizes[i]);
        CHECK_INT(capture_bytes(capture), (long long)(sizes[0] + sizes[1]));
        capture_free(capture);
        drop(lines, &line_count);
    }
    free(bytes[0]);
    free(bytes[1]);
}

/* ---- the tail ---- */

/* The last `size` bytes, from the start of a line if possible. */
static const char *expected_tail(const char *all, size_t length, size_t size, size_t *ret_size)
{
    if (length <= size) {
        *ret_size = length;
        return all;
    }
    const char *start = all + length - size;
    if (size > 0 && start[-1] != '\n') {
        const char *end = memchr(start, '\n', size);
        if (end != NULL && end + 1 < all + length)
            start = end + 1;
        else
            while (start < all + length && ((unsigned char)*start & 0xC0) == 0x80)
                start++;
    }
    *ret_size = (size_t)(all + length - start);
    return start;
}

/* After each line, in every size of the tail. */
TEST_REAL(the_tail_has_the_last_lines, "")
{
    static const char *const texts[] = {"one\n",
                                        "\n",
                                        "three \xe2\x82\xac\n",
                                        "a longer line, the fourth\n",
                                        "x\n",
                                        "y\n",
                                        "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\n",
                                        "last\n"};
    for (size_t size = 0; size <= 120; size++) {
        char all[256] = "";
        struct capture *capture = new_capture(size);
        for (size_t i = 0; i < 16; i++) {
            const char *text = texts[i % 8], *want, *got;
            size_t want_size, got_size;
            capture_feed(capture, i % 3 == 0 ? STREAM_ERR : STREAM_OUT, text, strlen(text), now);
            (void)strcat(all, text);
            want = expected_tail(all, strlen(all), size, &want_size);
            got = capture_tail(capture, &got_size);
            if (got_size != want_size || memcmp(got, want, want_size) != 0)
                test_fail(__FILE__, __LINE__, "a tail of %zu is \"%.*s\" instead of \"%.*s\"", size,
                          (int)got_size, got, (int)want_size, want);
        }
        capture_free(capture);
        drop(lines, &line_count);
    }
}

TEST_REAL(the_tail_separates_the_streams, "")
{
    static char piece[PIECE + 1];
    size_t size;
    struct capture *capture = new_capture(10 * PIECE);
    memset(piece, 'o', sizeof piece);
    capture_feed(capture, STREAM_OUT, piece, sizeof piece, now); /* a piece, and one byte */
    capture_feed(capture, STREAM_ERR, "error\nunfinished", strlen("error\nunfinished"), now);
    const char *tail = capture_tail(capture, &size);
    CHECK_INT(size, PIECE + strlen("\nerror\n"));
    CHECK(memcmp(tail + PIECE, "\nerror\n", strlen("\nerror\n")) == 0);
    capture_end(capture, now);
    tail = capture_tail(capture, &size);
    CHECK_INT(size, PIECE + strlen("\nerror\no\nunfinished\n"));
    CHECK(memcmp(tail + PIECE, "\nerror\no\nunfinished\n", strlen("\nerror\no\nunfinished\n")) == 0);
    CHECK_INT(capture_lines(capture), 3);
    capture_free(capture);
    drop(lines, &line_count);
}

/* ---- much output ---- */

static void count_line(const struct output_line *line, void *arg)
{
    (void)line;
    ++*(int64_t *)arg;
}

TEST_REAL(much_output_takes_little_memory, "")
{
    int64_t count = 0;
    char *chunk = malloc(CHUNK);
    for (size_t i = 0; i < CHUNK; i++)
        chunk[i] = (char)(i % 64 == 63 ? '\n' : 'a' + i % 26);
    struct capture *capture = capture_new("job", "run-1", 1, TAIL, NULL, count_line, &count);
    size_t before = memory_in_use(), most = before;
    hora_ns start_time = hora_clock_now(NULL);
    for (int i = 0; i < MUCH_MB * (MB / CHUNK); i++) {
        capture_feed(capture, i % 2 == 0 ? STREAM_OUT : STREAM_ERR, chunk, CHUNK, now);
        if (i % 1000 == 0 && memory_in_use() > most)
            most = memory_in_use();
    }
    double seconds = (double)(hora_clock_now(NULL) - start_time) / 1e9;
    printf("%d MB of output: %.0f MB per second, %zu KB of memory\n", MUCH_MB, MUCH_MB / seconds,
           (most - before) / 1024);
    CHECK_INT(count, (long long)MUCH_MB * MB / 64);
    CHECK_INT(capture_lines(capture), count);
    CHECK(SANITIZED || most - before < 256 * 1024);
    size_t size;
    (void)capture_tail(capture, &size);
    CHECK_INT(size, TAIL);
    capture_free(capture);
    free(chunk);
}
