/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/answer/feedback.h"

#include <string.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/utf8.h"

static const char *const answers[] = { "yes", "no", NULL };

const struct param feedback_fields[] = {
	{ "right", PARAM_WORD, .words = answers, .meaning = "Whether the verdict was right.",
	    .form = "yes or no", .example = "yes" },
	{ "text", .max = FEEDBACK_TEXT_BYTES, .meaning = "What limited the session, if known.",
	    .form = "at most 200 bytes of UTF-8", .example = "the disk" },
	{ .name = NULL },
};

static bool
is_answer(const char *right)
{
	return right != NULL && (strcmp(right, "yes") == 0 || strcmp(right, "no") == 0);
}

int
feedback_add(const char *store_path, int64_t session_id, const char *right, const char *words,
    char why[STORE_WHY_BYTES])
{
	struct nw_note_rec note = { .session_id = session_id,
		.t_wall_ns = nw_wall_ns(),
		.line = STORE_NOTE_VERDICT,
		.point = right,
		.text = words != NULL ? words : "" };
	int64_t id;

	why[0] = '\0';
	if (!is_answer(right) || strlen(note.text) > FEEDBACK_TEXT_BYTES || !utf8_whole(note.text))
		return NW_EINVAL;
	note.made_wall_ns = note.t_wall_ns;
	return store_note_add_soon(store_path, &note, &id, why);
}
