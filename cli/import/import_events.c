/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines of events (narrows/event_line.h): each line that is an event goes to the box as an event,
 * in blocks of option OPS. Lines of BP and ULM are measurements, too, and become series where they
 * are so few that series mean something (import_netlogger.c). A line that is no event is counted,
 * and the first of them is quoted; a file without any event is refused.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/import/import.h"
#include "narrows/err.h"
#include "narrows/event_line.h"
#include "narrows/frame.h"
#include "narrows/xmalloc.h"

enum { LOOK_LINES_MAX = 1000 };

int
import_events_begin(struct import_events *to, const char *host)
{
	to->host = import_host_index(to->im, host, NULL);
	to->block = nw_events_new(NW_EVENT_SENT_BYTES);
	return to->block != NULL ? NW_OK : stat_fail(to->im->err, NW_ENOMEM, "out of memory");
}

/* Puts the block in hand into the spool. */
static int
block_spool(struct import_events *to)
{
	const uint8_t *block;
	uint8_t *doc;
	size_t len;
	int rc;

	if (nw_events_count(to->block) == 0)
		return NW_OK;
	if (nw_events_finish(to->block, &block, &len) < 0)
		return stat_fail(to->im->err, NW_ENOMEM, "out of memory");
	doc = xmalloc(len + 1);
	doc[0] = NW_EVENT_DOC_VERSION;
	memcpy(doc + 1, block, len);
	rc = import_spool(to->im, to->host, NW_OPT_OPS, doc, len + 1);
	free(doc);
	nw_events_clear(to->block);
	return rc;
}

int
import_events_put(struct import_events *to, const struct nw_event *e)
{
	struct import *im = to->im;
	int rc = nw_events_add(to->block, e);

	if (rc == NW_ETOOBIG && (rc = block_spool(to)) == NW_OK)
		rc = nw_events_add(to->block, e);
	if (rc == NW_ENOMEM)
		return stat_fail(im->err, rc, "out of memory");
	if (rc != NW_OK)
		return rc;
	im->n_events++;
	if (e->t_wall_ns < im->t_min_wall_ns)
		im->t_min_wall_ns = e->t_wall_ns;
	if (e->t_wall_ns > im->t_max_wall_ns)
		im->t_max_wall_ns = e->t_wall_ns;
	return NW_OK;
}

int
import_events_end(struct import_events *to, int rc)
{
	if (rc == NW_OK && to->block != NULL)
		rc = block_spool(to);
	nw_events_free(to->block);
	to->block = NULL;
	return rc;
}

static void
bad_line(struct import *im, struct slice line, const char *why)
{
	if (im->n_bad_lines++ > 0)
		return;
	import_fail(im, line.s, "%s", why);
	snprintf(im->bad_line, sizeof(im->bad_line), "%.500s: %.*s", im->err->text,
	    (int)(line.len < 100 ? line.len : 100), line.s);
	im->err->text[0] = '\0';
}

static int
lines_walk(struct import *im, struct nw_event_line *reader, struct import_events *to)
{
	const char *at = im->bytes, *why = NULL;
	struct slice line;
	struct nw_event e;
	int rc = NW_OK;

	while (rc == NW_OK && import_line(&at, im->end, &line)) {
		rc = nw_event_line_read(reader, line.s, line.len, &e, &why);
		if (rc == NW_OK && to->block == NULL)
			rc = import_events_begin(
			    to, e.host != NULL && e.host[0] != '\0' ? e.host : im->host);
		if (rc == NW_OK && (rc = import_events_put(to, &e)) == NW_EINVAL) {
			why = "longer than an event may be";
			rc = NW_EPROTO;
		}
		if (rc == NW_EPROTO)
			bad_line(im, line, why);
		if (rc == NW_EPROTO || rc == NW_ENOTFOUND)
			rc = NW_OK;
	}
	return import_events_end(to, rc);
}

int
import_events(struct import *im)
{
	struct nw_event_line *reader = nw_event_line_new();
	struct import_events to = { .im = im };
	int rc;

	if (reader == NULL)
		return stat_fail(im->err, NW_ENOMEM, "out of memory");
	rc = lines_walk(im, reader, &to);
	nw_event_line_free(reader);
	if (rc == NW_OK && im->n_events == 0)
		return im->n_bad_lines > 0 ? stat_fail(im->err, NW_EPROTO, "%s", im->bad_line)
					   : import_fail(im, im->bytes, "the file has no events");
	return rc;
}

bool
import_is_events(const struct import *im)
{
	struct nw_event_line *reader = nw_event_line_new();
	const char *at = im->bytes, *why;
	struct slice line;
	struct nw_event e;
	bool found = false;
	size_t n;

	for (n = 0;
	     reader != NULL && !found && n < LOOK_LINES_MAX && import_line(&at, im->end, &line);
	     n++)
		found = nw_event_line_read(reader, line.s, line.len, &e, &why) == NW_OK;
	nw_event_line_free(reader);
	return found;
}
