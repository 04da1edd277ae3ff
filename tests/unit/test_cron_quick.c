/* SPDX-License-Identifier: Apache-2.0 */
/* test_cron_quick.c - the quick parser accepts only what the full one does, with the same result */
#include <stdio.h>
#include <string.h>

#include "cron/cron.h"
#include "harness.h"

enum { ROUNDS = 300000, LONGEST = 128 };

static const char *const members[] = {
    "*",   "*/2",     "*/15",  "0",       "5",    "7",   "07",    "23",      "31",  "59",
    "60",  "1-5",     "7-5",   "7-7",     "9-17", "5-1", "0/10",  "10-40/5", "6/1", "1/100",
    "?",   "L",       "L-3",   "L-30",    "L-31", "LW",  "15W",   "1W",      "32W", "L-0",
    "MON", "fri",     "SUN",   "FRIL",    "5L",   "5l",  "MON#2", "1#5",     "1#6", "SUN-FRI",
    "JAN", "feb-APR", "DEC/2", "SAT-SUN", "0-7",  "8",   "*/0",   "1-",      "-1",  ""};
static const char noise[] = " \t,-/*?LW#0123456789MONjanSunx\n@";

enum { MEMBERS = sizeof members / sizeof members[0] };

static void add(char *text, const char *more)
{
    size_t length = strlen(text);
    (void)snprintf(text + length, LONGEST - length, "%s", more);
}

/* Fields that are often right. */
static void make_text(char *text, int fields)
{
    text[0] = '\0';
    for (int i = 0; i < fields; i++) {
        add(text, i == 0 ? "" : test_random(20) == 0 ? " \t " : " ");
        for (uint32_t more = 1 + (test_random(4) == 0 ? test_random(3) : 0); more > 0; more--) {
            add(text, members[test_random(6) == 0 ? test_random(MEMBERS) : test_random(8)]);
            add(text, more > 1 ? "," : "");
        }
    }
    if (test_random(8) == 0 && text[0] != '\0')
        text[test_random((uint32_t)strlen(text))] = noise[test_random(sizeof noise - 1)];
}

static bool is_same(const hora_cron *a, const hora_cron *b)
{
    return memcmp(a->nth_of, b->nth_of, sizeof a->nth_of) == 0 && a->is_reboot == b->is_reboot &&
           a->is_interval == b->is_interval && a->is_either_day == b->is_either_day &&
           a->seconds == b->seconds && a->minutes == b->minutes && a->hours == b->hours &&
           a->months == b->months && a->days == b->days && a->before_last == b->before_last &&
           a->nearest == b->nearest && a->last_working_day == b->last_working_day &&
           a->weekdays == b->weekdays && a->last_of == b->last_of;
}

static void compare(hora_cron_dialect dialect)
{
    int right = 0, short_way = 0;
    for (int i = 0; i < ROUNDS; i++) {
        char text[LONGEST];
        make_text(text, dialect == HORA_CRON_UNIX ? 5 : 6);
        hora_cron quick = {.dialect = dialect}, slow = {.dialect = dialect};
        bool is_quick = hora__cron_quick(text, &quick);
        bool is_right = hora__cron_read(text, &slow, NULL) == 0;
        if (is_quick && (!is_right || !is_same(&quick, &slow)))
            test_fail(__FILE__, __LINE__, "\"%s\" is not understood alike", text);
        right += is_right;
        short_way += is_quick;
    }
    CHECK(right > ROUNDS / 20);
    CHECK(short_way > right / 2); /* else it would be good for nothing */
    printf("%d expressions, %d right, %d of them read the short way\n", ROUNDS, right, short_way);
}

TEST_REAL(spring_s_fields_the_short_way, "")
{
    compare(HORA_CRON_SPRING);
}

TEST_REAL(crontab_s_fields_the_short_way, "")
{
    compare(HORA_CRON_UNIX);
}
