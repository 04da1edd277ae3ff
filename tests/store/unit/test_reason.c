/* SPDX-License-Identifier: Apache-2.0 */
/* test_reason.c - why a call fails, as a sentence */
#include "harness.h"

#include <string.h>

#include "reason.h"

TEST_REAL(reason_is_written_completely, "")
{
    hora_error error;
    memset(&error, 0x55, sizeof error);
    CHECK_ERROR(hora__store_refuse(&error, HORA_EINVAL, "key", "the key has %d bytes", 256), HORA_EINVAL);
    CHECK_INT(error.code, HORA_EINVAL);
    CHECK_INT(error.offset, -1);
    CHECK_INT(error.length, 0);
    CHECK(strcmp(error.field, "key") == 0);
    CHECK(strcmp(error.message, "the key has 256 bytes") == 0);
    CHECK_ERROR(hora__store_refuse(&error, HORA_EIO, NULL, "%s", "100% lost"), HORA_EIO);
    CHECK_POINTER(error.field, NULL);
    CHECK(strcmp(error.message, "100% lost") == 0);
}

TEST_REAL(reason_that_does_not_fit_ends_with_dots, "")
{
    hora_error error;
    char text[400];
    memset(text, 'x', sizeof text);
    for (size_t length = sizeof error.message - 5; length < sizeof error.message + 5; length++) {
        CHECK_ERROR(hora__store_refuse(&error, HORA_EIO, NULL, "%.*s", (int)length, text), HORA_EIO);
        size_t got = strlen(error.message);
        bool fits = length < sizeof error.message;
        CHECK_INT(got, fits ? length : sizeof error.message - 1);
        CHECK_INT(strcmp(error.message + got - 3, "...") == 0, !fits);
    }
}

TEST_REAL(reason_may_be_null, "")
{
    CHECK_ERROR(hora__store_refuse(NULL, HORA_EIO, NULL, "nobody reads this"), HORA_EIO);
    hora__store_success(NULL);
}

TEST_REAL(reason_of_success_writes_only_the_code, "")
{
    hora_error error = {.code = HORA_EIO, .message = "old"};
    hora__store_success(&error);
    CHECK_INT(error.code, 0);
    CHECK(strcmp(error.message, "old") == 0);
}
