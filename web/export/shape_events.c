/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The events of a session as lines: BP, ULM, or the common logging format, in the order of time. A
 * stretch of events is read at a time, and handed out in slices; the next stretch goes on behind
 * the last event by its time and by the count of events that had this time.
 */
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/array.h"
#include "narrows/event_line.h"
#include "web/export/shape.h"

enum { STRETCH_BYTES = 2 << 20, LINE_ROOM = 4 * NW_EVENT_LINE_MAX_BYTES };

struct stretch {
	enum nw_event_format format;
	char *text; /* lines */
	size_t len, at, cap;
	int64_t next_wall_ns; /* reading goes on here ... */
	size_t skip;          /* ... behind so many events of exactly the time */
	size_t to_skip;
	int64_t last_wall_ns; /* of the last event read, and how many had its time */
	size_t n_last;
	bool read_all;
};

static int
state_new(struct export *x)
{
	struct stretch *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NW_ENOMEM;
	s->format = nw_event_format_find(x->opts.shape->name);
	s->next_wall_ns = x->opts.t0_wall_ns;
	x->state = s;
	return NW_OK;
}

static void
state_free(void *state)
{
	struct stretch *s = state;

	free(s->text);
	free(s);
}

static int
text_room(struct stretch *s)
{
	return array_room(&s->text, &s->cap, s->len + LINE_ROOM, 1) ? NW_OK : NW_ENOMEM;
}

static int
on_event(void *arg, const struct nw_event_rec *r)
{
	struct stretch *s = arg;
	size_t n;

	if (s->to_skip > 0 && r->event.t_wall_ns == s->next_wall_ns) {
		s->to_skip--;
		return 0;
	}
	s->to_skip = 0;
	if (text_room(s) != NW_OK)
		return NW_ENOMEM;
	n = nw_event_line_print(s->format, &r->event, s->text + s->len, s->cap - s->len);
	if (n <= s->cap - s->len)
		s->len += n;
	s->n_last = r->event.t_wall_ns == s->last_wall_ns ? s->n_last + 1 : 1;
	s->last_wall_ns = r->event.t_wall_ns;
	s->read_all = s->len < STRETCH_BYTES;
	return !s->read_all;
}

static int
stretch_read(struct export *x, struct stretch *s)
{
	struct nw_event_select select = { .session_id = x->session_id,
		.from_wall_ns = s->next_wall_ns,
		.to_wall_ns = x->opts.t1_wall_ns,
		.name = x->opts.series[0] != '\0' ? x->opts.series : NULL };
	int rc;

	s->len = s->at = 0;
	s->to_skip = s->skip;
	s->n_last = s->skip;
	s->last_wall_ns = s->next_wall_ns;
	s->read_all = true;
	if ((rc = store_events(x->reader, &select, on_event, s)) < 0)
		return rc;
	s->skip = s->n_last;
	s->next_wall_ns = s->last_wall_ns;
	return NW_OK;
}

static int
slice(struct export *x, bool *done)
{
	struct stretch *s = x->state;
	size_t n;
	int rc;

	if (s->at == s->len && !s->read_all && (rc = stretch_read(x, s)) < 0)
		return rc;
	n = s->len - s->at < SHAPE_SLICE_BYTES ? s->len - s->at : SHAPE_SLICE_BYTES;
	if ((rc = textout_put(&x->out, s->text + s->at, n)) < 0)
		return rc;
	s->at += n;
	*done = s->at == s->len && s->read_all;
	return NW_OK;
}

#define X(id, which)                                         \
	const struct shape shape_##which = {                 \
		.name = #which,                              \
		.ending = ".log",                            \
		.content_type = "text/plain; charset=utf-8", \
		.slice = slice,                              \
		.state_new = state_new,                      \
		.state_free = state_free,                    \
	};
NW_EVENT_FORMAT_LIST(X)
#undef X
