/* SPDX-License-Identifier: BSD-3-Clause */
/* The view of a session's lifelines: the page, and the same for programs. */
#ifndef NARROWS_WEB_LINES_H
#define NARROWS_WEB_LINES_H

#include <stdint.h>

#include "narrows/store.h"
#include "web/draw/html.h"

enum lines_form { LINES_PAGE, LINES_JSON, LINES_CSV, LINES_OTLP, LINES_SVG, LINES_FORMS };

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

#endif
