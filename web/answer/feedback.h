/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the verdict of a session was right, by the judgement of readers: notes in the store. */
#ifndef NARROWS_WEB_FEEDBACK_H
#define NARROWS_WEB_FEEDBACK_H

#include <stdint.h>

#include "narrows/store.h"
#include "web/query/param.h"

enum { FEEDBACK_TEXT_BYTES = 200 };

/* The form of an answer. */
extern const struct param feedback_fields[];
/* Keeps an answer, "yes" or "no", with words that may be NULL. NW_EINVAL: no such answer, or the
 * words are too long or not UTF-8; others as store_note_add_soon(). */
int feedback_add(const char *store_path, int64_t session_id, const char *right, const char *words,
    char why[STORE_WHY_BYTES]);

#endif
