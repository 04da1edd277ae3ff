/* SPDX-License-Identifier: Apache-2.0 */
/* carry.c - what tasks carry from the thread that submits them to the one that runs them: see hora_context_hooks */
#include "oversee/carry.h"

#include <stddef.h>

void hora__carry_install(struct hora__post *post, struct hora__frame *frame, hora_future *future)
{
    const hora_context_hooks *hooks = &post->oversight->options.hooks;
    const struct hora__extra *extra = future != NULL ? hora__future_extra(future) : NULL;
    if (future != NULL && extra == NULL)
        return;
    frame->carried = extra != NULL ? extra->carried
                                   : NULL; /* a timer carries nothing, and is not to see what another run has left */
    frame->is_installed = hooks->install != NULL;
    if (frame->is_installed)
        frame->before = hooks->install(frame->carried, hooks->arg);
}

void hora__carry_restore(struct hora__post *post, struct hora__frame *frame)
{
    const hora_context_hooks *hooks = &post->oversight->options.hooks;
    if (frame->is_installed && hooks->restore != NULL)
        hooks->restore(frame->before, hooks->arg);
}

void *hora_context_current(void)
{
    struct hora__post *post;
    const struct hora__frame *frame = hora__post_current(&post);
    return frame != NULL ? frame->carried : NULL;
}
