/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_question.c - any bytes as a request to the control socket: it is refused with a reason, or is within limits */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "control/question.h"

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* A name is not empty, and does not control a terminal. */
static void check_name(const char *name)
{
    if (name == NULL)
        return;
    require(name[0] != '\0' && strlen(name) <= 200);
    for (; *name != '\0'; name++)
        require((unsigned char)*name >= ' ' && *name != 127);
}

static void check_question(const struct question *question)
{
    require(question->kind < QUESTION_KINDS && question_name(question->kind)[0] != '\0');
    check_name(question->job);
    check_name(question->run);
    for (size_t i = 0; i < json_array_size(question->jobs); i++)
        check_name(json_string_value(json_array_get(question->jobs, i)));
    require(question->limit >= 0 && question->limit <= QUESTION_LIMIT_MOST);
    require(question->tail >= 0 && question->tail <= QUESTION_TAIL_MOST);
    require(question->before >= 0 && question->attempt >= 0 && question->attempt <= INT32_MAX);
    require(question->within >= -1 && question->by >= 0 && question->ago >= 0);
    require(question->has_since || (question->since.ns == 0 && question->ago == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct question question;
    char reason[QUESTION_REASON];
    memset(reason, 'x', sizeof reason);
    if (question_parse((const char *)data, size, &question, reason)) {
        check_question(&question);
        question_free(&question);
    } else {
        require(memchr(reason, '\0', sizeof reason) != NULL && reason[0] != '\0');
    }
    return 0;
}
