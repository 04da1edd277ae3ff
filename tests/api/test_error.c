/* SPDX-License-Identifier: Apache-2.0 */
/* test_error.c - error codes, their names and texts, and the version */
#include <string.h>

#include "support.h"

struct error_entry {
    int code;
    const char *name;
    const char *text;
};

static const struct error_entry table[] = {
#define ENTRY(name, value, text) {name, #name, text},
    HORA_ERROR_TABLE(ENTRY)
#undef ENTRY
};

enum { CODES = sizeof(table) / sizeof(table[0]) };

TEST(error_has_a_name_and_a_text, "")
{
    for (int i = 0; i < CODES; i++) {
        CHECK(strcmp(hora_errname(table[i].code), table[i].name) == 0);
        CHECK(strcmp(hora_strerror(table[i].code), table[i].text) == 0);
    }
}

/* Short sentences, none twice, without a full stop. */
TEST(error_texts_are_short_sentences, "")
{
    for (int i = 0; i < CODES; i++) {
        size_t length = strlen(table[i].text);
        CHECK(length > 0 && length < 80);
        CHECK(table[i].text[length - 1] != '.');
        for (int j = 0; j < i; j++) {
            CHECK(table[i].code != table[j].code);
            CHECK(strcmp(table[i].text, table[j].text) != 0);
        }
    }
}

TEST(error_codes_of_the_system_keep_their_value, "")
{
    CHECK_INT(HORA_EINVAL, -EINVAL);
    CHECK_INT(HORA_ENOMEM, -ENOMEM);
    CHECK_INT(HORA_ETIMEDOUT, -ETIMEDOUT);
    CHECK_INT(HORA_EDEADLK, -EDEADLK);
    for (int i = 0; i < CODES; i++)
        CHECK(table[i].code < 0);
    CHECK(HORA_EINTERRUPTED < -4096 && HORA_ECLOSED < -4096 && HORA_EFULL < -4096 && HORA_EEMPTY < -4096 &&
          HORA_EFORKED < -4096);
}

TEST(error_zero_is_success, "")
{
    CHECK(strcmp(hora_strerror(0), "success") == 0);
    CHECK(strcmp(hora_errname(0), "0") == 0);
}

TEST(error_that_is_none_of_hora_is_unknown, "")
{
    static const int strangers[] = {1, -1, EINVAL, INT_MAX, INT_MIN, -4096, -5000, -99999};

    for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++) {
        CHECK(strcmp(hora_strerror(strangers[i]), "unknown error") == 0);
        CHECK(strcmp(hora_errname(strangers[i]), "HORA_E?") == 0);
    }
}

TEST(version_that_runs_is_the_one_compiled_with, "")
{
    CHECK(strcmp(hora_version(), HORA_VERSION_STRING) == 0);
}
