/* SPDX-License-Identifier: Apache-2.0 */
/* test_cron_normal.c - the normal form of day fields keeps their meaning, and is unique */
#include "cron/cron.h"
#include "harness.h"

enum { KINDS = 28, ALL_WEEKDAYS = 0x7f, ROUNDS = 3000 };
#define ALL_DAYS UINT32_C(0xfffffffe)

struct meaning {
    uint32_t days[KINDS];
};

static struct meaning meaning_of(const hora_cron *cron)
{
    struct meaning meaning;
    for (int kind = 0; kind < KINDS; kind++)
        meaning.days[kind] = hora__cron_month_mask(cron, kind / 4, 28 + kind % 4);
    return meaning;
}

static bool same_meaning(const hora_cron *a, const hora_cron *b)
{
    struct meaning one = meaning_of(a);
    struct meaning other = meaning_of(b);
    for (int kind = 0; kind < KINDS; kind++)
        if (one.days[kind] != other.days[kind])
            return false;
    return true;
}

/* One more word, of those that are often contained in others. */
static void add_day_word(hora_cron *cron)
{
    switch (test_random(4)) {
    case 0:
        cron->days |= UINT32_C(1) << (test_random(3) == 0 ? 1 + test_random(31) : 26 + test_random(6));
        break;
    case 1:
        cron->before_last |= UINT32_C(1) << (test_random(5) == 0 ? test_random(31) : test_random(5));
        break;
    case 2:
        cron->nearest |= UINT32_C(1) << (test_random(2) == 0 ? 1 + test_random(31) : 27 + test_random(5));
        break;
    default:
        cron->last_working_day = true;
    }
}

static void add_weekday_word(hora_cron *cron)
{
    uint32_t day = test_random(2);
    switch (test_random(8)) {
    case 0:
        cron->weekdays |= (uint8_t)(1 << day);
        break;
    case 1:
        cron->last_of |= (uint8_t)(1 << day);
        break;
    default:
        cron->nth_of[day] |= (uint8_t)(1 << (1 + test_random(5)));
    }
}

static hora_cron random_field(bool is_day)
{
    hora_cron cron = {.days = is_day ? 0 : ALL_DAYS, .weekdays = is_day ? ALL_WEEKDAYS : 0};
    for (uint32_t words = 1 + test_random(9); words > 0; words--)
        is_day ? add_day_word(&cron) : add_weekday_word(&cron);
    return cron;
}

static void check_field(bool is_day)
{
    hora_cron cron = random_field(is_day);
    hora_cron normal = cron;
    hora__cron_normalize(&normal);
    CHECK(same_meaning(&cron, &normal));
    hora_cron again = normal;
    hora__cron_normalize(&again);
    CHECK(hora_cron_equal(&again, &normal));

    /* Also with another word, whose days the expression may or may not contain. */
    hora_cron more = cron;
    is_day ? add_day_word(&more) : add_weekday_word(&more);
    bool is_same = same_meaning(&more, &cron);
    hora__cron_normalize(&more);
    CHECK_INT(hora_cron_equal(&more, &normal), is_same);
}

TEST_REAL(days_of_the_month_have_a_normal_form, "")
{
    for (int i = 0; i < ROUNDS; i++)
        check_field(true);
}

TEST_REAL(days_of_the_week_have_a_normal_form, "")
{
    for (int i = 0; i < ROUNDS; i++)
        check_field(false);
}

/* All 128 unions of the words for one day of the week. */
TEST_REAL(words_for_one_day_of_the_week, "")
{
    hora_cron raw[128];
    hora_cron normal[128];
    for (int i = 0; i < 128; i++) {
        raw[i] =
            (hora_cron){.days = ALL_DAYS, .weekdays = (i & 1) != 0 ? 2 : 0, .last_of = (i & 2) != 0 ? 2 : 0};
        raw[i].nth_of[1] = (uint8_t)(i >> 2 << 1);
        normal[i] = raw[i];
        hora__cron_normalize(&normal[i]);
    }
    for (int i = 0; i < 128; i++)
        for (int k = 0; k < 128; k++)
            CHECK_INT(hora_cron_equal(&normal[i], &normal[k]), same_meaning(&raw[i], &raw[k]));
}
