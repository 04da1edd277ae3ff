/* SPDX-License-Identifier: Apache-2.0 */
/* requests.h - dumps that are asked for in signal handlers: see hora_pool_request_dump */
#ifndef HORA_OVERSEE_REQUESTS_H
#define HORA_OVERSEE_REQUESTS_H

#include "oversee/oversight.h"

/* *ret_requests is NULL if nothing was said where to write. HORA_ENOMEM, HORA_EAGAIN, HORA_EMFILE, HORA_ENFILE. */
__attribute__((warn_unused_result)) int hora__requests_new(struct hora__oversight *oversight,
                                                           struct hora__requests **ret_requests);

/* End its thread, after a dump that it may be at, and free it. Not in that thread. NULL is allowed. */
void hora__requests_free(struct hora__requests *requests);

/* Whether the calling thread is the one that writes. */
bool hora__requests_is_me(struct hora__requests *requests);

#endif
