/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c - start by, run for, done by: see hora_terms */
#include "oversee/limits.h"

#include <stddef.h>

void hora__limits_begins(struct hora__post *post, struct hora__frame *frame, hora_future *future, hora_ns now)
{
    (void)post;
    (void)frame;
    (void)future;
    (void)now;
}

void hora__limits_ended(struct hora__post *post, struct hora__frame *frame, hora_future *future)
{
    (void)post;
    (void)frame;
    (void)future;
}
