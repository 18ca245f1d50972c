/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/notes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/utf8.h"
#include "web/page.h"
#include "web/table.h"

/* --- as a document --- */

static int
on_note(void *arg, const struct nw_note_rec *note)
{
	json_t *o = json_object();

	result_set(o, KEY_note_id, json_integer(note->id));
	result_set(o, KEY_note_at, json_string(fmt_iso_ns(note->t_wall_ns).s));
	result_set(o, KEY_note_at_ns, json_string(fmt_int(note->t_wall_ns).s));
	result_set(o, KEY_note_line, json_string(note->line));
	result_set(o, KEY_note_point, json_string(note->point));
	result_set(o, KEY_note_text, json_string(note->text));
	result_set(o, KEY_note_made, json_string(fmt_iso(note->made_wall_ns, 3).s));
	return json_array_append_new(arg, o) == 0 ? 0 : NW_ENOMEM;
}

/* When the session began; its data may say so better than its connections. */
static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	*(int64_t *)arg =
	    res != NULL && res->start_wall_ns != 0 ? res->start_wall_ns : s->opened_wall_ns;
	return 0;
}

int
notes_document(struct store_reader *r, int64_t session_id, json_t **out)
{
	json_t *doc = json_object(), *list = json_array();
	int64_t begin_wall_ns;
	int rc = store_session_get(r, session_id, on_session, &begin_wall_ns);

	if (rc == NW_OK)
		rc = store_notes(r, session_id, on_note, list);
	result_set(doc, KEY_notes_schema, json_string("narrows-notes/1"));
	result_set(doc, KEY_notes_session, json_integer(session_id));
	result_set(doc, KEY_notes_notes, list);
	*out = rc == NW_OK ? doc : NULL;
	if (rc < 0)
		json_decref(doc);
	return rc;
}

/* --- the section --- */

static void
column_at(struct html *h, const json_t *row)
{
	page_stamp(h, result_text(row, KEY_note_at));
}

static void
column_text(struct html *h, const json_t *row)
{
	const char *line = result_text(row, KEY_note_line);

	html_text(h, result_text(row, KEY_note_text));
	if (line != NULL && *line != '\0') {
		html_raw(h, "<span class=\"under soft\">lifeline ");
		page_name(h, line);
		html_raw(h, "</span>");
	}
}

static void
column_made(struct html *h, const json_t *row)
{
	page_stamp(h, result_text(row, KEY_note_made));
}

static void
form_write(struct html *h, int64_t session_id)
{
	html_raw(h, "<form class=\"filter note-form\" method=\"post\" action=\"/session/");
	html_int(h, session_id);
	html_raw(h,
	    "/note\"><label>Note <input name=\"text\" required size=\"40\" maxlength=\"2000\">"
	    "</label><label>Second of the session <input name=\"at\" inputmode=\"decimal\" "
	    "size=\"7\"");
	html_attr(h, "value", h->to_s > h->from_s ? fmt_exact(h->from_s).s : "");
	html_raw(h, "></label><button>Keep the note</button></form>");
}

/* Notes that the section shows. A new reference. */
static json_t *
shown_of(const json_t *doc)
{
	json_t *shown = json_array(), *note;
	const char *line;
	size_t i;

	json_array_foreach(result_list(doc, KEY_notes_notes), i, note)
	{
		line = result_text(note, KEY_note_line);
		if (line == NULL || strcmp(line, STORE_NOTE_VERDICT) != 0)
			json_array_append(shown, note);
	}
	return shown;
}

int
session_notes(struct html *h, struct store_reader *r, int64_t session_id)
{
	static const struct table_column columns[] = {
		{ "Of", column_at, false },
		{ "Note", column_text, false },
		{ "Written", column_made, false },
	};
	json_t *doc, *shown;
	int rc = notes_document(r, session_id, &doc);

	if (rc < 0)
		return rc;
	shown = shown_of(doc);
	if (json_array_size(shown) > 0 || h->may_change) {
		html_raw(h, "<section id=\"notes\"><h2>Notes</h2>");
		if (json_array_size(shown) > 0)
			table_write(h, shown, columns, sizeof(columns) / sizeof(columns[0]));
		if (h->may_change)
			form_write(h, session_id);
		html_raw(h, "</section>");
	}
	json_decref(shown);
	json_decref(doc);
	return NW_OK;
}

/* --- a new note --- */

/* Adds what the form says to *t_wall_ns, the session's begin; false: no time. */
static bool
time_take(const char *at, int64_t *t_wall_ns)
{
	char *end;
	double seconds;

	if (at == NULL || *at == '\0')
		return true;
	errno = 0;
	seconds = strtod(at, &end);
	if (end != at && *end == '\0')
		return errno == 0 && fabs(seconds) < 4e9 &&
		    !__builtin_add_overflow(*t_wall_ns, llround(seconds * 1e9), t_wall_ns);
	*t_wall_ns = fmt_parse_iso(at);
	return *t_wall_ns > 0;
}

int
note_keep(struct store_reader *r, const char *store_path, int64_t session_id, const char *at,
    const char *text, const char **why)
{
	struct nw_note_rec note = { .session_id = session_id,
		.line = "",
		.point = "",
		.text = text != NULL ? text : "",
		.made_wall_ns = nw_wall_ns() };
	static const char told[] = "text: 1 to 2000 bytes of UTF-8; at: seconds since the "
				   "session's begin, or ISO 8601";
	char reason[STORE_WHY_BYTES];
	int64_t id;
	int rc = store_session_get(r, session_id, on_session, &note.t_wall_ns);

	*why = rc == NW_ENOTFOUND ? "There is no such session." : NULL;
	if (rc < 0)
		return rc;
	*why = told;
	if (note.text[strspn(note.text, " \t\r\n")] == '\0' || !utf8_whole(note.text) ||
	    !time_take(at, &note.t_wall_ns))
		return NW_EINVAL;
	rc = store_note_add_soon(store_path, &note, &id, reason);
	if (rc == NW_ENOTFOUND)
		*why = "The session has a thousand notes already.";
	return rc;
}
