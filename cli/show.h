/* SPDX-License-Identifier: BSD-3-Clause */
/* A JSON document and its fields, made safe for a terminal. */
#ifndef SHOW_H
#define SHOW_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "narrows/result_keys.h"

/* terminal_text() of a member, or `none`. */
const char *show_text(const json_t *o, enum result_key key, const char *none);
/* One line of JSON on standard output. */
void show_json_line(const json_t *o);
/* A time in UTC, to the minute: 2026-11-20 08:12. On loan until the next call. */
const char *show_minute(int64_t wall_s);
/* The five answers of a session in ten lines: headline, cause and remedy, then a line for each
 * question; `markdown` for a ticket. `incident` may be NULL: the session's, as known by now. */
void show_answers(const json_t *doc, const json_t *incident, bool markdown);

#endif
