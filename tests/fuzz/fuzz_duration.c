/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_duration.c - any text as a duration: it is rejected, or its normal form is read back */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include <hora/hora.h>

enum { MOST_BYTES = 64 };

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_text(const char *text, hora_ns unit)
{
    hora_ns duration = 0;
    hora_ns again = 0;
    char normal[MOST_BYTES];
    hora_error reason;
    int error = hora_duration_parse(text, unit, &duration, &reason);
    require(reason.code == error);
    if (error < 0) {
        require(error == HORA_EINVAL || error == HORA_ERANGE);
        require(memchr(reason.message, '\0', sizeof reason.message) != NULL && reason.message[0] != '\0');
        require(reason.offset >= -1 && reason.offset <= (int)strlen(text));
        require(reason.length >= 0 &&
                (reason.offset < 0 || reason.length <= (int)strlen(text) - reason.offset));
        return;
    }
    int length = hora_duration_format(duration, normal, sizeof normal);
    require(length > 0 && (size_t)length == strlen(normal));
    require(hora_duration_parse(normal, unit, &again, NULL) == 0 && again == duration);
}

/* The first byte chooses the unit. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const hora_ns units[] = {0, 1, HORA_SECONDS(1), INT64_MAX};
    char text[MOST_BYTES];
    if (size == 0 || size > sizeof text)
        return -1;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    check_text(text, units[data[0] % (sizeof units / sizeof units[0])]);
    return 0;
}
