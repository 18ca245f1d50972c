/* SPDX-License-Identifier: BSD-3-Clause */
/* Handlers for the addresses of a session: page, exports, lifelines, and the page's forms. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/http.h>

#include "narrows/err.h"
#include "narrows/export.h"
#include "web/answer/api.h"
#include "web/answer/feedback.h"
#include "web/answer/notes.h"
#include "web/export/shape.h"
#include "web/lines/lines.h"
#include "web/page/page.h"
#include "web/resource.h"
#include "web/web_in.h"

int
answer_session(struct ask *q)
{
	struct session_query part;

	return session_query_parse(&part, q->query) ? page_session(&q->h, q->r, q->to.id, &part)
						    : NW_EINVAL;
}

static void
name_file(struct ask *q, const char *ending)
{
	snprintf(
	    q->file_name, sizeof(q->file_name), "narrows-session-%" PRId64 "%s", q->to.id, ending);
}

/* The report as a file to keep and to send on. */
int
answer_file(struct ask *q)
{
	struct evbuffer *doc = evbuffer_new();
	int rc = doc != NULL ? api_session(doc, q->r, q->to.id) : NW_ENOMEM;

	if (rc == NW_OK && evbuffer_add(doc, "", 1) != 0)
		rc = NW_ENOMEM;
	if (rc == NW_OK)
		rc = page_session_file(&q->h, (const char *)evbuffer_pullup(doc, -1));
	if (doc != NULL)
		evbuffer_free(doc);
	name_file(q, ".html");
	return rc == NW_EINVAL ? NW_EIO : rc;
}

int
answer_export(struct ask *q)
{
	struct export_opts opts;
	struct export *x;
	const char *why;
	int rc;

	if (export_opts_parse(&opts, resource_ending(q->to.resource), q->query, &why) < 0)
		return NW_EINVAL;
	if (q->write != NULL)
		return export_session(q->r, q->to.id, &opts, q->write, q->write_arg);
	if ((rc = export_new(q->r, q->to.id, &opts, &x)) < 0)
		return rc;
	name_file(q, export_ending(&opts));
	q->type = export_content_type(&opts);
	q->stream = export_stream(x);
	q->is_download = true;
	return NW_OK;
}

/* Each event of the session is read. */
static int
lines_judge(struct ask *q)
{
	struct nw_event_span span = { .n = 0 };
	int rc = store_event_span(q->r, q->to.id, &span);

	if (rc < 0 || q->cost_max <= 0 || (double)span.n <= q->cost_max)
		return rc;
	snprintf(q->why_text, sizeof(q->why_text),
	    "The lifelines cost %" PRId64 " events, at most %.0f: raise http-query-cost, or export "
	    "the events (.log).",
	    span.n, q->cost_max);
	q->why = q->why_text;
	return NW_ETOOBIG;
}

int
answer_lines(struct ask *q)
{
	enum lines_form form = (enum lines_form)q->to.resource->form;
	int rc = ask_id(q);

	if (rc == NW_ENOTFOUND)
		q->why = "There is no session.";
	if (rc == NW_OK)
		rc = lines_judge(q);
	if (rc < 0)
		return rc;
	q->type = lines_content_type(form);
	return lines_answer(&q->h, q->r, q->lines, q->to.id, form, q->query, &q->why);
}

/* --- forms --- */

void
web_changed(const struct ask *q, const char *event)
{
	const struct web_access *access = q->web->opts.access;
	char *peer = NULL;
	uint16_t port;

	evhttp_connection_get_peer(evhttp_request_get_connection(q->reply->req), &peer, &port);
	if (access != NULL && access->changed != NULL)
		access->changed(access->arg, peer != NULL ? peer : "?", q->reply->who.name, event);
}

/* Leads back to a part of the session's page. */
static void
go_back(struct ask *q, const char *part)
{
	snprintf(q->location, sizeof(q->location), "/session/%" PRId64 "#%s", q->to.id, part);
}

/* A note on a lifeline leads back to that line alone. */
static void
go_back_from(struct ask *q, const struct note_form *form)
{
	char *id =
	    form->line != NULL && *form->line != '\0' ? evhttp_uriencode(form->line, -1, 0) : NULL;

	if (id == NULL || strlen(id) + 64 > sizeof(q->location))
		go_back(q, "notes");
	else
		snprintf(q->location, sizeof(q->location),
		    "/session/%" PRId64 "/lifelines?id=%s#notes", q->to.id, id);
	free(id);
}

static int
keep_note(struct ask *q, bool leads_back)
{
	struct note_form form = { .at = ask_field(q->form, "at"),
		.text = ask_field(q->form, "text"),
		.line = ask_field(q->form, "line"),
		.point = ask_field(q->form, "point") };
	int rc = ask_id(q);

	if (rc == NW_OK)
		rc = note_keep(q->r, q->web->opts.store_path, q->to.id, &form, &q->why);
	if (leads_back)
		go_back_from(q, &form);
	free(form.text);
	free(form.at);
	free(form.line);
	free(form.point);
	if (rc == NW_OK)
		web_changed(q, "note.add");
	return rc;
}

int
take_note(struct ask *q)
{
	return keep_note(q, true);
}

/* A program gets all notes. */
int
take_api_note(struct ask *q)
{
	int rc = keep_note(q, false);

	return rc == NW_OK ? q->to.resource->answer(q) : rc;
}

/* "Was this right?" */
int
take_feedback(struct ask *q)
{
	char why[STORE_WHY_BYTES], *right = ask_field(q->form, "right"),
				   *words = ask_field(q->form, "text");
	int rc = feedback_add(q->web->opts.store_path, q->to.id, right, words, why);

	free(right);
	free(words);
	if (rc == NW_OK)
		web_changed(q, "verdict.right");
	go_back(q, "right");
	return rc == NW_OK || rc == NW_EINVAL || rc == NW_ENOTFOUND ? rc : NW_EFULL;
}
