/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - take over an options struct that another release may have been compiled with */
#ifndef HORA_BASE_OPTIONS_H
#define HORA_BASE_OPTIONS_H

#include <stddef.h>

/* Copy *given into *own, which has `size` bytes of which the first release had `first_size`. NULL gives all zero. HORA_EINVAL if
 * struct_size is smaller than ever, or if the caller's struct is larger than ours and says something there. */
__attribute__((warn_unused_result)) int hora__options_copy(void *own, size_t size, size_t first_size,
                                                           const void *given);

#endif
