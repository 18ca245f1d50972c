/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers for callers in the same process, without a box: the same bytes as over HTTP. */
#include "narrows/web.h"

#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>

#include "narrows/err.h"
#include "web/page/page.h"
#include "web/resource.h"
#include "web/tables.h"

static int
answer_local(struct ask *q)
{
	const struct resource *row = q->to.resource;
	size_t len;
	int rc = !row->local ? NW_ENOTFOUND : row->last_redirects ? ask_id(q) : NW_OK;

	if (rc == NW_OK)
		rc = ask_run(q, row->answer);
	if (rc != NW_OK || (len = evbuffer_get_length(q->body)) == 0)
		return rc;
	return q->write(q->write_arg, (const char *)evbuffer_pullup(q->body, -1), len);
}

int
web_answer(struct store_reader *r, const char *path,
    int (*write)(void *arg, const char *text, size_t len), void *arg, int *status)
{
	size_t len = strcspn(path, "?");
	char *only = strndup(path, len);
	struct ask q = { .r = r,
		.query = path[len] == '?' ? path + len + 1 : NULL,
		.body = evbuffer_new(),
		.write = write,
		.write_arg = arg };
	int rc = NW_ENOMEM;

	if (only != NULL && q.body != NULL) {
		q.to = route_parse(only);
		rc = answer_local(&q);
	}
	if (q.body != NULL)
		evbuffer_free(q.body);
	free(only);
	*status = ask_code(rc);
	return *status == 400 || *status == 404 ? NW_OK : rc;
}

/* The page as text; b is freed. NULL: the page is not complete. */
static char *
page_text(struct evbuffer *b, bool whole)
{
	char *text = NULL;
	size_t len;

	if (b != NULL && whole) {
		len = evbuffer_get_length(b);
		if ((text = malloc(len + 1)) != NULL) {
			evbuffer_remove(b, text, len);
			text[len] = '\0';
		}
	}
	if (b != NULL)
		evbuffer_free(b);
	return text;
}

char *
web_report_file(const char *document_json)
{
	struct evbuffer *b = evbuffer_new();
	struct html h = { .out = b };
	bool whole = b != NULL && page_session_file(&h, document_json) == NW_OK && !h.failed;

	return page_text(b, whole);
}

char *
web_tables_file(const char *title, const struct web_table *tables, size_t n)
{
	struct evbuffer *b = evbuffer_new();
	struct html h = { .out = b };

	if (b != NULL)
		tables_write(&h, title, tables, n);
	return page_text(b, !h.failed);
}
