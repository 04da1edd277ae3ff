/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_http.h - a port at which Prometheus asks for the metrics */
#ifndef APP_METRICS_HTTP_H
#define APP_METRICS_HTTP_H

#include "runner/runner.h"

struct metrics_http;

/* Listens at an address such as "127.0.0.1:9464" or "[::1]:9464". Returns NULL after reporting an error. */
struct metrics_http *metrics_http_new(struct runner *runner, const char *address);
void metrics_http_free(struct metrics_http *http);

#endif
