/* SPDX-License-Identifier: Apache-2.0 */
/* placeholder.h - ${name} and ${name:default} in the texts of declarations */
#ifndef HORA_SCHED_PLACEHOLDER_H
#define HORA_SCHED_PLACEHOLDER_H

#include <hora/registrar.h>

/* Who knows the values. */
struct hora__resolver {
    hora_resolve_fn resolve; /* NULL: nobody, and a placeholder is an error */
    void *context;
};

/* Replace all placeholders of a text. `*ret_text` is allocated, or NULL if there was none to replace. Calls user code.
 * HORA_EINVAL (then *reterr_reason is a static sentence), HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__placeholders_replace(const struct hora__resolver *resolver,
                                                                   const char *text, char **ret_text,
                                                                   const char **reterr_reason);

#endif
