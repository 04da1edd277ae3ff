/* SPDX-License-Identifier: Apache-2.0 */
/* demo_tables.h - the panels of the demo that are tables */
#ifndef APP_DEMO_TABLES_H
#define APP_DEMO_TABLES_H

#include "demo_view.h"

/* Draw a heading and a row for each worker, series or task name. If there are more than rows, the last row
 * says how many are missing. */
void table_workers(const struct demo_view *view, struct area area);
void table_series(const struct demo_view *view, struct area area);
void table_tasks(const struct demo_view *view, struct area area);

#endif
