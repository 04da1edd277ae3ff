/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.h - what the plugin has for its host */
#ifndef HORA_TESTS_UNLOAD_PLUGIN_H
#define HORA_TESTS_UNLOAD_PLUGIN_H

/* Starts a detached thread; 0, or an error. */
typedef int (*plugin_start_fn)(void *(*run)(void *arg), void *arg);

/* Make a pool, use it, and free it; 0, or an error of hora. */
int plugin_use(void);
/* Let threads use hora from now on until the process ends. */
int plugin_keep_busy(plugin_start_fn start);

#endif
