/* SPDX-License-Identifier: Apache-2.0 */
/* top_view.h - what the screen of hora top shows: the latest answers of the runner, and what the user has
 * done */
#ifndef APP_CONTROL_TOP_VIEW_H
#define APP_CONTROL_TOP_VIEW_H

#include <stdbool.h>

#include <jansson.h>

#include <hora/zone.h>

#include "canvas.h"

enum { TOP_MESSAGE = 256 };

struct top_view {
    json_t *status;  /* the answer to "status"; NULL: none yet */
    json_t *jobs;    /* the array of the answer to "list", in the order of the screen */
    json_t *records; /* the array of the answer to "history" */
    hora_instant now;
    const hora_zone *zone;
    char *selected; /* the name of a job; NULL: none */
    char message[TOP_MESSAGE];
    enum style message_style;
    char trouble[TOP_MESSAGE]; /* why there is no connection; "": there is one */
};

/* Sorts jobs for the screen: those that run, then by their next times, then the others by name. */
void top_sort(json_t *jobs);

/* Returns the index of the selected job, or -1. */
int top_selected(const struct top_view *view);

/* Draws the screen, in the best arrangement for its size. */
void top_layout(const struct top_view *view, struct canvas *canvas);

#endif
