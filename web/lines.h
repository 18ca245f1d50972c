/* SPDX-License-Identifier: BSD-3-Clause */
/* The view of a session's lifelines: the drawing, the page around it, and the same for programs. */
#ifndef NARROWS_WEB_LINES_H
#define NARROWS_WEB_LINES_H

#include "web/html.h"
#include "web/lifelines/against.h"
#include "web/lifelines/linereport.h"

enum lines_form { LINES_PAGE, LINES_JSON, LINES_CSV, LINES_OTLP, LINES_SVG, LINES_FORMS };

enum {
	LINES_DRAWN_MAX = 2000, /* beside the slowest of a hundred and those of impossible order */
	LINES_HREF_BYTES = 8192
};

/* The ending of a form's address behind "lifelines": "", ".json", ... */
extern const char *const lines_endings[LINES_FORMS];
const char *lines_content_type(enum lines_form form);

/* The lifelines that were asked for last, for one thread: the next question about the same session
 * does not read its events again. */
struct lines_cache;
struct lines_cache *lines_cache_new(void); /* NULL: no memory */
void lines_cache_free(struct lines_cache *k);

/* The answer of a form; cache may be NULL. NW_EINVAL with *why: the query makes no sense.
 * NW_ENOTFOUND: no such session. */
int lines_answer(struct html *h, struct store_reader *r, struct lines_cache *cache,
    int64_t session_id, enum lines_form form, const char *query, const char **why);

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
/* "?id=...": the address of the same view with one parameter changed; key NULL: unchanged, value
 * NULL: without the parameter. */
void
lines_href(char out[LINES_HREF_BYTES], const struct choice *c, const char *key, const char *value);

#endif
