/* SPDX-License-Identifier: BSD-3-Clause */
/* The notes of a session, as a section of its page. */
#include "web/page/page.h"

#include <string.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "web/answer/notes.h"
#include "web/page/html_table.h"

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
		if (line == NULL || line[0] != STORE_NOTE_OTHER)
			json_array_append(shown, note);
	}
	return shown;
}

static int
on_partner(void *arg, const struct nw_note_rec *note)
{
	struct html *h = arg;

	if (strcmp(note->line, STORE_NOTE_PARTNER) != 0)
		return 0;
	html_raw(h, "<p class=\"partner\">");
	html_text(h, note->text);
	html_raw(h, "</p>");
	return 0;
}

int
session_partners(struct html *h, struct store_reader *r, int64_t session_id)
{
	return store_notes(r, session_id, on_partner, h);
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
