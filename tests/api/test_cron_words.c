/* SPDX-License-Identifier: Apache-2.0 */
/* test_cron_words.c - expressions in words */
#include <string.h>

#include "harness.h"

struct row {
    const char *expression;
    const char *words;
};

static void check_words(const struct row *row, hora_cron_dialect dialect)
{
    char words[512];
    hora_cron *cron = NULL;
    hora_error error;
    if (hora_cron_parse(row->expression, HORA_CRON_OPTIONS(.dialect = dialect), &cron, &error) < 0) {
        test_fail(__FILE__, __LINE__, "%s", error.message);
        return;
    }
    int length = hora_cron_describe(cron, NULL, words, sizeof words);
    if (strcmp(words, row->words) != 0 || length != (int)strlen(words))
        test_fail(__FILE__, __LINE__, "%s: \"%s\" instead of \"%s\"", row->expression, words, row->words);
    hora_cron_unref(cron);
}

static const struct row spring_rows[] = {
    {"* * * * * *", "every second"},
    {"*/10 * * * * *", "every 10 seconds"},
    {"5/10 * * * * *", "every 10 seconds from second 5"},
    {"30 * * * * *", "at second 30 past every minute"},
    {"5,20 * * * * *", "at seconds 5 and 20 past every minute"},
    {"10-20 * * * * *", "every second from second 10 to 20 past every minute"},
    {"*/7 * * * * *", "every 7 seconds from second 0 to 56 past every minute"},
    {"0 * * * * *", "every minute"},
    {"0 */15 * * * *", "every 15 minutes"},
    {"0 */30 * * * *", "every 30 minutes"},
    {"0 5/10 * * * *", "every 10 minutes from minute 5"},
    {"0 */7 * * * *", "every 7 minutes from minute 0 to 56 past every hour"},
    {"0 10-20 * * * *", "every minute from minute 10 to 20 past every hour"},
    {"0 0 * * * *", "every hour"},
    {"0 5 * * * *", "at minute 5 past every hour"},
    {"0 5,20,50 * * * *", "at minutes 5, 20 and 50 past every hour"},
    {"0 15,45 * * * *", "at minutes 15 and 45 past every hour"},
    {"0 0 */2 * * *", "every 2 hours"},
    {"0 0 1/2 * * *", "every 2 hours from 01:00"},
    {"0 5 */4 * * *", "every 4 hours from 00:05"},
    {"0 0 */6 * * *", "every 6 hours"},
    {"0 0 */7 * * *", "every 7 hours from 00:00 to 21:00"},
    {"0 0 9-17 * * MON-FRI", "every hour from 09:00 to 17:00, Monday to Friday"},
    {"0 30 9-17 * * *", "every hour from 09:30 to 17:30"},
    {"0 0 3 * * *", "at 03:00 every day"},
    {"30 5 9 * * *", "at 09:05:30 every day"},
    {"0,30 0 9 * * *", "at 09:00:00 and 09:00:30 every day"},
    {"0 0 9,12,18 * * *", "at 09:00, 12:00 and 18:00 every day"},
    {"0 0,30 9,12,18 * * *", "at 09:00, 09:30, 12:00, 12:30, 18:00 and 18:30 every day"},
    {"0 0,30 9,12,15,18 * * *", "every 30 minutes during every 3rd hour from 09:00 to 18:00"},
    {"0 5-20/5 9 * * *", "every 5 minutes from 09:05 to 09:20"},
    {"0 10-20 9 * * *", "every minute from 09:10 to 09:20"},
    {"0 * 9 * * *", "every minute between 09:00 and 09:59"},
    {"0 */15 9-17 * * MON-FRI", "every 15 minutes between 09:00 and 17:59, Monday to Friday"},
    {"0 */15 9-11,14-17 * * *", "every 15 minutes between 09:00 and 11:59 and between 14:00 and 17:59"},
    {"0 */15 */2 * * *", "every 15 minutes during every 2nd hour"},
    {"0 5,10 */2 * * *", "at minutes 5 and 10 past every 2nd hour"},
    {"0 5,10 9-11,13-17 * * *",
     "at minutes 5 and 10 past the hour between 09:00 and 11:59 and between 13:00 and 17:59"},
    {"0 5 0,1,2,8-12 * * *", "at minute 5 past the hour between 00:00 and 02:59 and between 08:00 and 12:59"},
    {"0 * 0,2,5,9,11 * * *", "every minute during the hours 0, 2, 5, 9 and 11"},
    {"* * 9-17 * * *", "every second between 09:00 and 17:59"},
    {"* 5 9 * * *", "every second of minute 5 past 9 o'clock"},
    {"*/10 5 * * * *", "every 10 seconds of minute 5 past every hour"},
    {"15 */15 9-17 * * *", "at second 15 of every 15th minute between 09:00 and 17:59"},
    {"* 10-20 * * * *", "every second of minutes 10 to 20 past every hour"},
    {"0 0 0 L * *", "at 00:00 on the last day of the month"},
    {"0 0 0 L-1 * *", "at 00:00 on the day before the last of the month"},
    {"0 0 0 L-3 2 *", "at 00:00 on the 3rd day before the last of February"},
    {"0 0 3 LW * *", "at 03:00 on the last weekday of the month"},
    {"0 0 0 15W * *", "at 00:00 on the weekday nearest to the 15th of the month"},
    {"0 0 0 1,15 * *", "at 00:00 on the 1st and 15th of the month"},
    {"0 0 0 1,15,L * *", "at 00:00 on the 1st, the 15th and the last day of the month"},
    {"0 0 0 1W,15,LW * ?",
     "at 00:00 on the 15th, the last weekday and the weekday nearest to the 1st of the month"},
    {"0 0 0 1-7 * *", "at 00:00 on the 1st to 7th of the month"},
    {"0 0 0 */2 * *", "at 00:00 on every 2nd day from the 1st to the 31st of the month"},
    {"0 0 0 11,12,13,21,22,23 * *", "at 00:00 on the 11th, 12th, 13th, 21st, 22nd and 23rd of the month"},
    {"0 0 0 1 1 *", "at 00:00 on the 1st of January"},
    {"0 0 0 1 1,7 *", "at 00:00 on the 1st of January and July"},
    {"0 0 0 1 3-12 *", "at 00:00 on the 1st of the months from March to December"},
    {"0 0 3 * 6 *", "at 03:00 every day in June"},
    {"0 */15 * * 6-8 *", "every 15 minutes in the months from June to August"},
    {"0 0 0 * * MON", "at 00:00 on Mondays"},
    {"0 0 0 * * MON,WED,FRI", "at 00:00 on Mondays, Wednesdays and Fridays"},
    {"0 0 0 * * SAT,SUN", "at 00:00 on Saturdays and Sundays"},
    {"0 0 0 * * FRI-SUN", "at 00:00, Friday to Sunday"},
    {"0 0 0 * * SUN-WED", "at 00:00 on Mondays, Tuesdays, Wednesdays and Sundays"},
    {"0 0 0 * 6 TUE-THU", "at 00:00, Tuesday to Thursday in June"},
    {"0 0 0 * 2,8 MON", "at 00:00 on Mondays in February and August"},
    {"0 0 0 * * FRIL", "at 00:00 on the last Friday of the month"},
    {"0 0 12 * 11 THU#4", "at 12:00 on the fourth Thursday of November"},
    {"0 0 0 * * MON#2,FRIL", "at 00:00 on the second Monday and the last Friday of the month"},
    {"0 0 0 * * SUN#1,WED", "at 00:00 on Wednesdays and the first Sunday of the month"},
    {"0 0 0 13 * FRI", "at 00:00 on the 13th of the month, if that is a Friday"},
    {"0 0 0 1-7 * MON-FRI", "at 00:00 on the 1st to 7th of the month, if that is a weekday"},
    {"0 0 0 13 * MON,FRI", "at 00:00 on the 13th of the month, if that is a Monday or Friday"},
    {"0 0 0 L * FRIL", "at 00:00 on the last day of the month, if that is the last Friday"},
    {"0 0 0 29 2 SUN", "at 00:00 on the 29th of February, if that is a Sunday"},
    {"* 0-4 0,1,2,8-12 * * *",
     "every second of minutes 0 to 4 past the hour between 00:00 and 02:59 and between 08:00 and 12:59"},
    {"5,10 */7 1,3,5 * * *",
     "at seconds 5 and 10 of minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 past 1, 3 and 5 o'clock"},
    {"0 0 3 1 6 ?", "at 03:00 on the 1st of June"},
};

TEST(cron_in_words, "")
{
    for (size_t i = 0; i < sizeof spring_rows / sizeof spring_rows[0]; i++)
        check_words(&spring_rows[i], HORA_CRON_SPRING);
}

TEST(crontab_in_words, "")
{
    static const struct row rows[] = {
        {"* * * * *", "every minute"},
        {"*/5 * * * *", "every 5 minutes"},
        {"30 4 1,15 * 5", "at 04:30 on the 1st and 15th of the month or on Fridays"},
        {"30 4 1,15 6 5", "at 04:30 on the 1st and 15th or on Fridays, in June"},
        {"0 0 1-7 6-8 1-5",
         "at 00:00 on the 1st to 7th or from Monday to Friday, in the months from June to August"},
        {"*/2 * */2 * MON",
         "every 2 minutes on every 2nd day from the 1st to the 31st of the month, if that is a Monday"},
        {"0 0 * * */2", "at 00:00 on Tuesdays, Thursdays, Saturdays and Sundays"},
        {"@reboot", "once, at the start"},
        {"@hourly", "every hour"},
        {"@weekly", "at 00:00 on Sundays"},
        {"@yearly", "at 00:00 on the 1st of January"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_words(&rows[i], HORA_CRON_UNIX);
}

struct field_row {
    const char *expression;
    const char *words[HORA_CRON_FIELD_WEEKDAY];
};

TEST(cron_fields_in_words, "")
{
    static const struct field_row rows[] = {
        {"* * * * * *",
         {"every second", "every minute", "every hour", "every day", "every month", "every day"}},
        {"1 2 3 4 5 6", {"second 1", "minute 2", "3 o'clock", "the 4th", "May", "Saturday"}},
        {"*/10 5/10 */2 1,15 6-9 MON-FRI",
         {"every 10 seconds", "every 10 minutes from minute 5", "every 2 hours", "the 1st and 15th",
          "June to September", "Monday to Friday"}},
        {"5,10 */7 1,3,5 L * FRIL",
         {"seconds 5 and 10", "every 7 minutes from minute 0 to 56", "1, 3 and 5 o'clock", "the last day",
          "every month", "the last Friday"}},
        {"10-20 10-20 9-17 1-7,LW */3 MON,FRI#2",
         {"every second from second 10 to 20", "every minute from minute 10 to 20", "9 to 17 o'clock",
          "the 1st to 7th and the last weekday", "January, April, July and October",
          "Monday and the second Friday"}},
        {"0 15,45 7/3 */2 1,2 SAT,SUN",
         {"second 0", "minutes 15 and 45", "every 3 hours from 7 to 22 o'clock",
          "every 2nd day from the 1st to the 31st", "January and February", "Saturday and Sunday"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hora_cron *cron = NULL;
        CHECK_OK(hora_cron_parse(rows[i].expression, NULL, &cron, NULL));
        for (int field = HORA_CRON_FIELD_SECOND; field <= HORA_CRON_FIELD_WEEKDAY; field++) {
            char words[256];
            const char *want = rows[i].words[field - 1];
            CHECK_INT(hora_cron_describe_field(cron, (hora_cron_field)field, words, sizeof words),
                      strlen(want));
            if (strcmp(words, want) != 0)
                test_fail(__FILE__, __LINE__, "%s: \"%s\" instead of \"%s\"", rows[i].expression, words,
                          want);
        }
        hora_cron_unref(cron);
    }
}

/* The words of any length fit, or are cut off like those of snprintf. */
TEST(cron_words_are_cut_off, "")
{
    char whole[128];
    char part[128];
    hora_cron *cron = NULL;
    CHECK_OK(hora_cron_parse("0 0 3 LW * *", NULL, &cron, NULL));
    int length = hora_cron_describe(cron, NULL, whole, sizeof whole);
    CHECK_INT(hora_cron_describe(cron, NULL, NULL, 0), length);
    for (size_t size = 1; size <= (size_t)length + 1; size++) {
        memset(part, '#', sizeof part);
        CHECK_INT(hora_cron_describe(cron, NULL, part, size), length);
        CHECK_INT(strlen(part), size - 1);
        CHECK_INT(strncmp(part, whole, size - 1), 0);
        CHECK_INT(part[size], '#');
    }
    hora_cron_unref(cron);
}

TEST(cron_words_name_the_zone, "")
{
    char words[128];
    hora_zone *zone = NULL;
    hora_cron *cron = NULL;
    CHECK_OK(hora_zone_new("+05:30", NULL, &zone, NULL));
    CHECK_OK(hora_cron_parse("0 0 3 LW * *", NULL, &cron, NULL));
    (void)hora_cron_describe(cron, zone, words, sizeof words);
    CHECK_INT(strcmp(words, "at 03:00 on the last weekday of the month, +05:30"), 0);
    hora_cron_unref(cron);
    CHECK_OK(hora_cron_parse("@reboot", HORA_CRON_OPTIONS(.dialect = HORA_CRON_UNIX), &cron, NULL));
    (void)hora_cron_describe(cron, zone, words, sizeof words);
    CHECK_INT(strcmp(words, "once, at the start"), 0);
    hora_cron_unref(cron);
    hora_zone_unref(zone);
}
