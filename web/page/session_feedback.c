/* SPDX-License-Identifier: BSD-3-Clause */
/* Readers' judgements of the verdict of a session, and the form for them. */
#include "web/page/page.h"

#include <string.h>

#include "narrows/err.h"
#include "narrows/format.h"

enum { SAID_MAX = 3 }; /* answers with words that are shown, the newest */

struct said {
	uint64_t yes, no;
	struct html *h;
	bool any; /* whether an answer stands in the list */
	uint64_t skip;
};

static int
on_count(void *arg, const struct nw_note_rec *note)
{
	struct said *s = arg;

	if (strcmp(note->line, STORE_NOTE_VERDICT) != 0)
		return 0;
	*(strcmp(note->point, "yes") == 0 ? &s->yes : &s->no) += 1;
	return 0;
}

/* Writes an answer that has words, from the newest answers. */
static int
on_words(void *arg, const struct nw_note_rec *note)
{
	struct said *s = arg;

	if (strcmp(note->line, STORE_NOTE_VERDICT) != 0)
		return 0;
	if (s->skip > 0) {
		s->skip--;
		return 0;
	}
	if (*note->text == '\0')
		return 0;
	if (s->any)
		html_raw(s->h, "; ");
	else
		html_raw(s->h, " ");
	s->any = true;
	html_text(s->h, strcmp(note->point, "yes") == 0 ? "right: " : "wrong: ");
	html_raw(s->h, "<q>");
	page_name(s->h, note->text);
	html_raw(s->h, "</q> (");
	page_time(s->h, note->made_wall_ns);
	html_raw(s->h, ")");
	return 0;
}

static void
write_form(struct html *h, int64_t session_id)
{
	html_raw(h, "<form class=\"right\" method=\"post\" action=\"/session/");
	html_int(h, session_id);
	html_raw(h,
	    "/right\"><b>Was this right?</b> <button name=\"right\" value=\"yes\">Yes</button> "
	    "<button name=\"right\" value=\"no\">No</button> <label>What was it? <input "
	    "name=\"text\" maxlength=\"200\" placeholder=\"if you know\"></label></form>");
}

static void
write_counts(struct html *h, const char *of, const struct said *s)
{
	html_text(h, of);
	html_text(h, fmt_count(s->yes).s);
	html_raw(h, " right, ");
	html_text(h, fmt_count(s->no).s);
	html_raw(h, " wrong.");
}

int
session_feedback(struct html *h, struct store_reader *r, int64_t session_id)
{
	struct said here = { .h = h }, all = { 0 };
	int rc;

	if ((rc = store_notes(r, session_id, on_count, &here)) < 0 ||
	    (rc = store_notes_count(r, STORE_NOTE_VERDICT, "yes", &all.yes)) < 0 ||
	    (rc = store_notes_count(r, STORE_NOTE_VERDICT, "no", &all.no)) < 0)
		return rc;
	if (!h->may_change && all.yes + all.no == 0)
		return NW_OK;
	html_raw(h, "<section class=\"feedback\" id=\"right\">");
	if (h->may_change)
		write_form(h, session_id);
	if (here.yes + here.no > 0) {
		html_raw(h, "<p>");
		write_counts(h, "Readers' judgements of this verdict: ", &here);
		here.skip = here.yes + here.no > SAID_MAX ? here.yes + here.no - SAID_MAX : 0;
		rc = store_notes(r, session_id, on_words, &here);
		html_raw(h, "</p>");
	}
	if (all.yes + all.no > here.yes + here.no) {
		html_raw(h, "<p class=\"note\">");
		write_counts(h, "Of all judged verdicts here: ", &all);
		html_raw(h, "</p>");
	}
	html_raw(h, "</section>");
	return rc < 0 ? rc : NW_OK;
}
