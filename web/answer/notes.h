/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes of a session: as a document, and from the form of the session's page. */
#ifndef NARROWS_WEB_NOTES_H
#define NARROWS_WEB_NOTES_H

#include <stdint.h>

#include <jansson.h>

#include "narrows/store.h"
#include "web/query/param.h"

/* A new reference. NW_ENOTFOUND: no such session. */
int notes_document(struct store_reader *r, int64_t session_id, json_t **out);
/* The form of a note. */
extern const struct param note_fields[];
/* What a form says of a note; NULL: nothing. at: seconds since the session's begin, a time in ISO
 * 8601, or "" for its begin. */
struct note_form {
	char *at, *text;
	char *line, *point; /* ids of a lifeline, and the point of its path */
};
/*
 * Keeps a note. NW_EINVAL, NW_ETOOBIG: *why says what is wrong with the request; NW_ENOTFOUND: no
 * such session, or the session has too many notes.
 */
int note_keep(struct store_reader *r, const char *store_path, int64_t session_id,
    const struct note_form *form, const char **why);

#endif
