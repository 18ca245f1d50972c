/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Formats of foreign transfer logs, as data: a file names the event and has patterns of lines. A
 * line of the log that fits a pattern becomes a line of an event (narrows/event_line.h).
 *
 *	# comment
 *	event NAME          name of the event
 *	program NAME        program of the event
 *	time FORM           of %{time}: unix, iso, clf, slashes or ctime
 *	line PATTERN        text with %{NAME} for values and %{-} for text without use; several
 *	                    lines are tried in their order
 *
 * A value ends where the text behind its slot begins; the last slot takes the rest.
 */
#ifndef LOGFORMAT_H
#define LOGFORMAT_H

#include <stddef.h>

struct logformat;

/* Reads the text of a format file. NW_EINVAL with static *why and *line; NW_ENOMEM. */
int logformat_read(const char *text, struct logformat **out, unsigned *line, const char **why);
void logformat_free(struct logformat *f); /* accepts NULL */
/* Writes the event's line, with its NUL. Returns its length; NW_ENOTFOUND for a line that fits no
 * pattern, NW_ETOOBIG for an event that does not fit into cap. */
int logformat_line(const struct logformat *f, const char *line, size_t len, char *out, size_t cap);

#endif
