/* SPDX-License-Identifier: Apache-2.0 */
/* explain_support.c - see explain_support.h */
#include "explain_support.h"

#include <string.h>

void check_says(const char *file, int line, hora_future *future, const char *want)
{
    char text[HORA_EXPLAIN_TEXT];
    size_t length = strlen(want);
    int got = hora_future_explain(future, text, sizeof(text));

    if (got < 0) {
        test_check_error(file, line, "hora_future_explain", got, 0);
        return;
    }
    if (strcmp(text, want) != 0)
        test_fail(file, line, "it says \"%s\" instead of \"%s\"", text, want);
    test_check_int(file, line, "length", got, (long long)length);
    for (size_t size = 0; size <= length; size += 7) {
        memset(text, '#', sizeof(text));
        test_check_int(file, line, "length of a part", hora_future_explain(future, text, size),
                       (long long)length);
        if (size > 0 && (strncmp(text, want, size - 1) != 0 || text[size - 1] != '\0'))
            test_fail(file, line, "cut to %zu bytes", size);
        test_check_int(file, line, "what is behind it", text[size], '#');
    }
}
