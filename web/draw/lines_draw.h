/* SPDX-License-Identifier: BSD-3-Clause */
/* The drawing of a session's lifelines. */
#ifndef NARROWS_WEB_LINES_DRAW_H
#define NARROWS_WEB_LINES_DRAW_H

#include "web/draw/html.h"
#include "web/lifelines/against.h"
#include "web/lifelines/linereport.h"

/* Lines of a drawing, beside the slowest of a hundred and those of impossible order. */
enum { LINES_DRAWN_MAX = 2000 };

/* What is drawn. */
struct lines_view {
	const struct lineset *s;
	const struct choice *c;
	const struct chosen *k;
	const struct linereport *p;
	const struct against *g;
	const json_t *timeline; /* of the session's result document; or NULL */
	size_t n_drawn;         /* set by lines_draw() */
};

/* The drawing; alone: as a file of its own, without links. */
void lines_draw(struct html *h, struct lines_view *v, bool alone);
/* Durations over time, for more lines than are drawn one by one. */
void lines_times_draw(struct html *h, const struct lines_view *v);
#endif
