/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages about all sites of a fleet, from documents that `narrows fleet publish` left beside the
 * store: the box asks no fleet. */
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "web/answer/health.h"
#include "web/page/page.h"
#include "web/resource.h"
#include "web/tables.h"
#include "web/web_in.h"

/* The document of a name; NULL: there is none. */
static json_t *
document_of(const struct ask *q, const char *name)
{
	char *store = strdup(q->web->opts.store_path);
	json_t *doc = store != NULL ? tables_document(dirname(store), name) : NULL;

	free(store);
	return doc;
}

int
answer_fleet(struct ask *q)
{
	json_t *doc = document_of(q, q->to.figure[0] != '\0' ? q->to.figure : "index");
	const char *title = json_string_value(json_object_get(doc, "title"));

	if (title == NULL) {
		json_decref(doc);
		q->why = "No fleet's pages are here: narrows fleet publish writes them.";
		return NW_ENOTFOUND;
	}
	page_begin(&q->h, &(struct page_frame){ .title = title });
	tables_head(&q->h, doc);
	tables_of_document(&q->h, doc);
	page_end(&q->h);
	json_decref(doc);
	return q->h.failed ? NW_ENOMEM : NW_OK;
}

static void
leaves_write(struct html *h, void *arg)
{
	const struct ask *q = arg;
	json_t *leaves = document_of(q, "leaves"), *index = document_of(q, "index");

	if (leaves != NULL)
		tables_of_document(h, leaves);
	if (index != NULL)
		html_raw(h, "<p class=\"note\"><a href=\"/fleet\">All sites of the fleet</a></p>");
	json_decref(leaves);
	json_decref(index);
}

int
answer_health(struct ask *q)
{
	struct nw_health health;
	const struct nw_health *known = web_read_health(q->web, &health);

	page_health(&q->h, q->r, known, web_read_expected(q->web, known), leaves_write, q);
	return NW_OK;
}
