/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/answer/notes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/utf8.h"

/* --- as a document --- */

static int
on_note(void *arg, const struct nw_note_rec *note)
{
	json_t *o = json_object();

	result_put_int(o, KEY_note_id, note->id);
	result_put_text(o, KEY_note_at, fmt_iso_ns(note->t_wall_ns).s);
	result_put_text(o, KEY_note_at_ns, fmt_int(note->t_wall_ns).s);
	result_put_text(o, KEY_note_line, note->line);
	result_put_text(o, KEY_note_point, note->point);
	result_put_text(o, KEY_note_text, note->text);
	result_put_text(o, KEY_note_made, fmt_iso(note->made_wall_ns, 3).s);
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
	result_put_text(doc, KEY_notes_schema, "narrows-notes/1");
	result_put_int(doc, KEY_notes_session, session_id);
	result_set(doc, KEY_notes_notes, list);
	*out = rc == NW_OK ? doc : NULL;
	if (rc < 0)
		json_decref(doc);
	return rc;
}

/* --- a new note --- */

enum { NOTE_LINE_BYTES = 255 };

const struct param note_fields[] = {
	{ "text", .max = STORE_NOTE_BYTES, .min = 1, .meaning = "The note.",
	    .form = "1 to 2000 bytes of UTF-8", .example = "tuned" },
	{ "at", .meaning = "Time of the note; the begin of the session if missing.",
	    .form = "seconds since the session's begin, or ISO 8601", .example = "12" },
	{ "line", .max = NOTE_LINE_BYTES, .meaning = "Ids of a lifeline that the note is about.",
	    .form = "text", .example = "12" },
	{ "point", .max = NOTE_LINE_BYTES, .meaning = "The point of the lifeline's path.",
	    .form = "text", .example = "app.get" },
	{ .name = NULL },
};

/* Adds the form's time to *t_wall_ns, the session's begin. Returns false without a time. */
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

/* A field that names a part of a lifeline. Other notes have forms of their own. */
static bool
name_ok(const char *name)
{
	return strlen(name) <= NOTE_LINE_BYTES && utf8_whole(name) && name[0] != STORE_NOTE_OTHER;
}

int
note_keep(struct store_reader *r, const char *store_path, int64_t session_id,
    const struct note_form *form, const char **why)
{
	struct nw_note_rec note = { .session_id = session_id,
		.line = form->line != NULL ? form->line : "",
		.point = form->point != NULL ? form->point : "",
		.text = form->text != NULL ? form->text : "",
		.made_wall_ns = nw_wall_ns() };
	static const char told[] = "text: 1 to 2000 bytes of UTF-8; at: seconds since the "
				   "session's begin, or ISO 8601; line, point: of a lifeline";
	char reason[STORE_WHY_BYTES];
	int64_t id;
	int rc = store_session_get(r, session_id, on_session, &note.t_wall_ns);

	*why = rc == NW_ENOTFOUND ? "There is no such session." : NULL;
	if (rc < 0)
		return rc;
	*why = told;
	if (note.text[strspn(note.text, " \t\r\n")] == '\0' || !utf8_whole(note.text) ||
	    !name_ok(note.line) || !name_ok(note.point) || !time_take(form->at, &note.t_wall_ns))
		return NW_EINVAL;
	rc = store_note_add_soon(store_path, &note, &id, reason);
	if (rc == NW_ENOTFOUND)
		*why = "The session has a thousand notes already.";
	return rc;
}
