/* SPDX-License-Identifier: Apache-2.0 */
/* growth.h - threads that come and go with the load: see grow_after in hora/pool.h */
#ifndef HORA_OVERSEE_GROWTH_H
#define HORA_OVERSEE_GROWTH_H

#include "oversee/oversight.h"

/* Check grow_after. HORA_EINVAL. */
__attribute__((warn_unused_result)) int hora__growth_check(const hora_pool_options *options, hora_error *reason);

/* *ret_growth is NULL if there is to be none. The watch is there already. HORA_ENOMEM. And: the pool is gone, and its watch has ended. */
__attribute__((warn_unused_result)) int hora__growth_new(struct hora__oversight *oversight,
                                                         struct hora__growth **ret_growth);
void hora__growth_free(struct hora__growth *growth);

/* See struct hora__overseer_kind. */
void hora__growth_queued(struct hora__overseer *overseer);
void hora__growth_left(struct hora__overseer *overseer, int threads);

#endif
