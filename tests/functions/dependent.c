/* SPDX-License-Identifier: Apache-2.0 */
/* dependent.c - a library that has none, but needs one that has */
#include "plugin.h"

HORA_API int dependent_answer(void);

int dependent_answer(void)
{
    return plugin_answer();
}
