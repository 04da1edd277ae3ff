/* SPDX-License-Identifier: Apache-2.0 */
/* test_cron_format.c - the normal form: one text for all equivalent expressions, and it can be read back */
#include <stdio.h>
#include <string.h>

#include "harness.h"

enum { TEXT = 1024 };

struct row {
    const char *expression;
    const char *normal;
};

static hora_cron *parse(const char *text, hora_cron_dialect dialect, hora_dst dst)
{
    hora_cron *cron = NULL;
    hora_error error;
    if (hora_cron_parse(text, HORA_CRON_OPTIONS(.dialect = dialect, .dst = dst), &cron, &error) < 0)
        test_fail(__FILE__, __LINE__, "%s", error.message);
    return cron;
}

/* Check that an expression's normal form is read back, and write it down. */
static hora_cron *check_normal(const char *text, hora_cron_dialect dialect, hora_dst dst, char *normal)
{
    char again[TEXT];
    hora_cron *cron = parse(text, dialect, dst);
    normal[0] = '\0';
    if (cron == NULL)
        return NULL;
    int length = hora_cron_format(cron, normal, TEXT);
    CHECK_INT(length, strlen(normal));
    hora_cron *back = parse(normal, dialect, dst);
    if (back == NULL)
        return cron;
    (void)hora_cron_format(back, again, sizeof again);
    if (!hora_cron_equal(cron, back) || strcmp(normal, again) != 0)
        test_fail(__FILE__, __LINE__, "%s becomes %s, and that %s", text, normal, again);
    hora_cron_unref(back);
    return cron;
}

static void check_rows(const struct row *rows, size_t count, hora_cron_dialect dialect, hora_dst dst)
{
    for (size_t i = 0; i < count; i++) {
        char normal[TEXT];
        hora_cron_unref(check_normal(rows[i].expression, dialect, dst, normal));
        if (strcmp(normal, rows[i].normal) != 0)
            test_fail(__FILE__, __LINE__, "%s: %s instead of %s", rows[i].expression, normal, rows[i].normal);
    }
}

TEST(cron_normal_form, "")
{
    static const struct row rows[] = {
        {" @Daily ", "0 0 0 * * *"},
        {"@yearly", "0 0 0 1 JAN *"},
        {"@weekly", "0 0 0 * * SUN"},
        {"@hourly", "0 0 * * * *"},
        {"0 0 0 ? * ?", "0 0 0 * * *"},
        {"*/15 0-59 * * * *", "*/15 * * * * *"},
        {"0,15,30,45 5/10 * * * *", "*/15 5/10 * * * *"},
        {"5,15,25,35,45 * * * * *", "5-45/10 * * * * *"},
        {"*/30 */29 * * * *", "0,30 */29 * * * *"},
        {"1,2,3,4,7,9 1,2 * * * *", "1-4,7,9 1,2 * * * *"},
        {"5-5 * 22-23 * * *", "5 * 22,23 * * *"},
        {"* * * * 1-12 *", "* * * * * *"},
        {"* * * * 1/3 *", "* * * * */3 *"},
        {"* * * * 2/3 *", "* * * * FEB/3 *"},
        {"* * * * 2-8/3,6,7 *", "* * * * FEB,MAY-AUG *"},
        {"* * * * 1,2 *", "* * * * JAN,FEB *"},
        {"* * * * * */2", "* * * * * MON,WED,FRI,SUN"},
        {"* * * * * 0-5", "* * * * * MON-FRI,SUN"},
        {"* * * * * 6-7", "* * * * * SAT,SUN"},
        {"* * * * * 7-7", "* * * * * SUN"},
        {"* * * * * MON-SUN", "* * * * * *"},
        {"* * * 15W,LW,L-3,L,7,1W * *", "* * * 7,L,L-3,LW,1W,15W * *"},
        {"* * * *,L,15W * *", "* * * * * *"},
        {"* * * 31,L * *", "* * * L * *"},
        {"* * * 28-31,L * *", "* * * 28-31 * *"},
        {"* * * 31W,LW * *", "* * * LW * *"},
        {"* * * */10,L * *", "* * * 1-21/10,L * *"},
        {"* * * * * MON#2,MON,5L,5#1", "* * * * * MON,FRIL,FRI#1"},
        {"* * * * * FRIL,FRI#5", "* * * * * FRIL"},
        {"* * * * * FRIL,FRI#4", "* * * * * FRI#4,FRI#5"},
        {"* * * * * FRI#1,FRI#2,FRI#3,FRI#4,FRIL", "* * * * * FRI"},
    };
    check_rows(rows, sizeof rows / sizeof rows[0], HORA_CRON_SPRING, HORA_DST_LITERAL);
}

TEST(crontab_normal_form, "")
{
    static const struct row rows[] = {
        {"@hourly", "0 * * * *"},
        {"@reboot", "@reboot"},
        {"5-59/10 */6 * * *", "5-55/10 */6 * * *"},
        {"0 0 * * */2", "0 0 * * TUE,THU,SAT,SUN"},
        {"0 0 */2 * *", "0 0 */2 * *"},
        /* both must match: one of them begins with a star */
        {"0 0 */2 * MON", "0 0 */2 * MON"},
        {"0 0 */10,5 * MON", "0 0 */10,5 * MON"},
        {"0 0 */31 * */7", "0 0 */31 * SUN"},
        {"0 0 5 * */3,1", "0 0 5 * */3,MON"},
        {"0 0 2-31 * */2,1,5", "0 0 2-31 * */2,MON,FRI"},
        /* one is enough: none does */
        {"0 0 1-31/2 * MON", "0 0 1-31/2 * MON"},
        {"0 0 1,15 * 0-6/2", "0 0 1,15 * TUE,THU,SAT,SUN"},
        /* and if one is always enough, nothing is left */
        {"0 0 1-31 * MON", "0 0 * * *"},
        {"0 0 13 * 0-7", "0 0 * * *"},
        {"0 0 *,5 * 5", "0 0 * * FRI"},
    };
    check_rows(rows, sizeof rows / sizeof rows[0], HORA_CRON_UNIX, HORA_DST_LITERAL);
}

/* Whether an expression counts elapsed time is part of its meaning. */
TEST(cron_normal_form_keeps_intervals, "")
{
    static const struct row rows[] = {
        {"0 0 3 * * *", "0 0 3 * * *"},
        {"0 0 3-3 * * *", "0 0 3-3 * * *"},
        {"0 0-0 3 * * *", "0 0 3-3 * * *"},
        {"0 0 3-4 * * *", "0 0 3-3,4 * * *"},
        {"0 0 3-5 * * *", "0 0 3-5 * * *"},
        {"0 0 3,4,5 * * *", "0 0 3,4,5 * * *"},
        {"0 0,15,30,45 3 * * *", "0 0,15,30,45 3 * * *"},
        {"0 */15 3 * * *", "0 */15 3 * * *"},
        {"0 0 0,6,12,18 1-7 * *", "0 0 0,6,12,18 1-7 * *"},
        {"0 30/45 3 * * *", "0 30 3-3 * * *"},
    };
    check_rows(rows, sizeof rows / sizeof rows[0], HORA_CRON_SPRING, HORA_DST_ONCE);
}

TEST(cron_equality_looks_at_dialect_and_rule, "")
{
    hora_cron *spring = parse("0 0 3 * * *", HORA_CRON_SPRING, HORA_DST_LITERAL);
    hora_cron *crontab = parse("0 3 * * *", HORA_CRON_UNIX, HORA_DST_LITERAL);
    hora_cron *times = parse("0 0 3 * * *", HORA_CRON_SPRING, HORA_DST_ONCE);
    hora_cron *interval = parse("0 0 3-3 * * *", HORA_CRON_SPRING, HORA_DST_ONCE);
    hora_cron *same = parse("0 0 3-3 * * *", HORA_CRON_SPRING, HORA_DST_LITERAL);
    hora_cron *reboot = parse("@reboot", HORA_CRON_UNIX, HORA_DST_LITERAL);
    CHECK(hora_cron_equal(spring, spring) && hora_cron_equal(spring, same) &&
          hora_cron_equal(reboot, reboot));
    CHECK(!hora_cron_equal(spring, crontab) && !hora_cron_equal(spring, times) &&
          !hora_cron_equal(times, interval));
    CHECK(!hora_cron_equal(reboot, crontab));
    hora_cron *const all[] = {spring, crontab, times, interval, same, reboot};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        hora_cron_unref(all[i]);
}

/* ---- random expressions ---- */

static void add(char *text, const char *more)
{
    size_t length = strlen(text);
    (void)snprintf(text + length, TEXT - length, "%s", more);
}

static uint32_t from_to(uint32_t min, uint32_t max)
{
    return min + test_random(max - min + 1);
}

/* Few values, so that different texts often mean the same. */
static void add_item(char *text, hora_cron_dialect dialect, uint32_t min, uint32_t max)
{
    char item[32];
    uint32_t a = from_to(min, max);
    uint32_t b = from_to(a, max);
    uint32_t n = from_to(1, 4);
    switch (test_random(8)) {
    case 0:
        (void)snprintf(item, sizeof item, "*/%u", n);
        break;
    case 1:
        (void)snprintf(item, sizeof item, dialect == HORA_CRON_SPRING ? "%u/%u" : "%u", a, n);
        break;
    case 2:
        (void)snprintf(item, sizeof item, "%u-%u/%u", a, b, n);
        break;
    case 3:
    case 4:
        (void)snprintf(item, sizeof item, "%u-%u", a, b);
        break;
    default:
        (void)snprintf(item, sizeof item, "%u", a);
    }
    add(text, item);
}

static void add_special(char *text, bool is_day)
{
    static const char *const days[] = {"L", "L-1", "L-2", "LW", "31W", "1W"};
    static const char *const weekdays[] = {"MON#1", "MON#4", "MON#5", "MONL", "SUN#1", "0L"};
    add(text, is_day ? days[test_random(6)] : weekdays[test_random(6)]);
}

static void add_field(char *text, hora_cron_dialect dialect, int field)
{
    static const uint32_t min[] = {0, 0, 0, 1, 1, 0};
    static const uint32_t max[] = {59, 59, 23, 31, 12, 7};
    bool is_day = field == 3 || field == 5;
    if (test_random(3) == 0) {
        add(text, "*");
        return;
    }
    uint32_t low = field == 3 && test_random(2) == 0 ? 27 : min[field];
    for (uint32_t items = 1 + test_random(3); items > 0; items--) {
        if (is_day && dialect == HORA_CRON_SPRING && test_random(3) == 0)
            add_special(text, field == 3);
        else
            add_item(text, dialect, low, max[field]);
        add(text, items > 1 ? "," : "");
    }
}

static void random_expression(char *text, hora_cron_dialect dialect)
{
    text[0] = '\0';
    for (int field = dialect == HORA_CRON_UNIX; field < 6; field++) {
        bool is_day = field == 3 || field == 5;
        if (is_day || test_random(3) == 0)
            add_field(text, dialect, field);
        else
            add(text, test_random(4) == 0 ? "1-1" : "1");
        add(text, field < 5 ? " " : "");
    }
}

TEST_REAL(cron_equal_means_the_same_normal_form, "")
{
    enum { KEPT = 64 };
    for (int kind = 0; kind < 4; kind++) {
        hora_cron_dialect dialect = kind % 2 == 0 ? HORA_CRON_SPRING : HORA_CRON_UNIX;
        hora_dst dst = kind < 2 ? HORA_DST_LITERAL : HORA_DST_ONCE;
        hora_cron *kept[KEPT] = {NULL};
        static char normal[KEPT][TEXT];
        int equal = 0;
        for (int i = 0; i < 5000; i++) {
            char text[TEXT];
            int slot = i % KEPT;
            hora_cron_unref(kept[slot]);
            random_expression(text, dialect);
            kept[slot] = check_normal(text, dialect, dst, normal[slot]);
            for (int k = 0; k < KEPT && k < i; k++) {
                bool is_same = strcmp(normal[k], normal[slot]) == 0;
                if (hora_cron_equal(kept[k], kept[slot]) != is_same)
                    test_fail(__FILE__, __LINE__, "%s and %s", normal[k], normal[slot]);
                equal += is_same && k != slot;
            }
        }
        CHECK(equal > 100); /* else nothing was tested */
        for (int k = 0; k < KEPT; k++)
            hora_cron_unref(kept[k]);
    }
}
