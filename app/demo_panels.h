/* SPDX-License-Identifier: Apache-2.0 */
/* demo_panels.h - the parts of the screen of the demo */
#ifndef APP_DEMO_PANELS_H
#define APP_DEMO_PANELS_H

#include "demo_view.h"

enum panel {
    PANEL_TITLE,
    PANEL_RATE,
    PANEL_LATE,
    PANEL_WORKERS,
    PANEL_SERIES,
    PANEL_CLASS,
    PANEL_WHY,
    PANEL_TASKS,
    PANEL_LOG,
    PANEL_KEYS,
    PANEL_GAP, /* an empty row; may occur several times */
};

/* Returns how many rows a panel can use in an area with this many columns. */
int panel_rows(const struct demo_view *view, enum panel panel, int columns);

/* Draws a panel into an area, which may have fewer rows than panel_rows returns. */
void panel_draw(const struct demo_view *view, enum panel panel, struct area area);

#endif
