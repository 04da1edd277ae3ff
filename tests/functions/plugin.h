/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.h - what the files of these programs know of each other */
#ifndef HORA_TESTS_FUNCTIONS_PLUGIN_H
#define HORA_TESTS_FUNCTIONS_PLUGIN_H

#include <hora/registrar.h>

/* host.c: the function of other.c has run twice. */
void host_other_ran(void);

/* plugin.c: scans the library itself; waits until both of its functions have run; and provides a symbol that
 * another library needs. */
HORA_API int plugin_scan(hora_registrar *registrar);
HORA_API int plugin_wait(void);
HORA_API int plugin_answer(void);

#endif
