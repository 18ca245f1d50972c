/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events as lines of text, in and out:
 *
 *	bp      ts=2026-05-04T10:00:01.118305Z event=org.example.xfer.start level=Info guid=...
 *	ulm     DATE=20260504100431.204417 HOST=dtn1 PROG=gridftp LVL=Usage NL.EVNT=FTP_INFO ...
 *	common  DPSS_START_READ; host; seconds; nanoseconds; data; data; ...
 *	syslog  a header of RFC 5424 or RFC 3164, then one of the above; after a header of RFC 5424
 *	        also any text, which is the attribute msg of an event named by its MSGID
 *
 * Every line says by itself which it is. A value is a number where its text is the usual one of a
 * number, else text; bytes that are not UTF-8 become U+FFFD. Data of common lines are d1, d2, ...,
 * and block, set, session, list, server in lines of the storage system (dpss(1)).
 */
#ifndef NARROWS_EVENT_LINE_H
#define NARROWS_EVENT_LINE_H

#include "narrows/event.h"

enum { NW_EVENT_LINE_MAX_BYTES = 49000 };

/* Formats in which events are printed, as X(ID, name). A new format is an entry here and its
 * function in base/event_print.c; exports of report and command have the entry's name. */
#define NW_EVENT_FORMAT_LIST(X) X(BP, bp) X(ULM, ulm) X(COMMON, common)
#define X(id, name)             NW_EVENT_##id,
enum nw_event_format { NW_EVENT_FORMAT_LIST(X) NW_EVENT_FORMATS };
#undef X

struct nw_event_line;
struct nw_event_line *nw_event_line_new(void); /* NULL: no memory */
void nw_event_line_free(struct nw_event_line *l);
/*
 * Reads a line, without its end. *out is on loan until the next call. NW_ENOTFOUND: an empty line,
 * or a comment (#). NW_EPROTO: no event, with static *why. NW_ENOMEM.
 */
int nw_event_line_read(
    struct nw_event_line *l, const char *line, size_t len, struct nw_event *out, const char **why);

/* The name of a format, as in "narrows export -f"; NW_EVENT_FORMATS: there is none. */
enum nw_event_format nw_event_format_find(const char *name);
/* Prints an event as a line with its end, at most size bytes. Returns the length; above size,
 * nothing useful was written. Control characters in text become blanks, and no text of an
 * event ends its line or begins another pair. */
size_t
nw_event_line_print(enum nw_event_format format, const struct nw_event *e, char *out, size_t size);

#endif
