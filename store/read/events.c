/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading events: rows of event_chunk are merged by time. A row is opened when the merge comes to
 * its first event. When many rows overlap, the row whose next event is the latest is closed again,
 * and decoded once more when its turn comes: so memory is bounded, whatever times senders gave.
 */
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/array.h"
#include "narrows/format.h"
#include "store/read/reader.h"

enum { OPEN_MAX = 64 };

/* A row of event_chunk. */
struct source {
	int64_t id, session_id, host_id;
	int64_t next; /* time of the next event */
	char *host;   /* name of the sender, or NULL */
	uint8_t *bytes;
	size_t cap, at;
	struct nw_event_block *block; /* NULL while closed */
};

struct events_walk {
	struct store_reader *r;
	const struct nw_event_select *s;
	int64_t from, to;       /* both included */
	struct source *sources; /* rising in the time of the first event */
	size_t n, cap, n_begun, n_open;
	size_t *heap; /* begun sources, the earliest first */
	size_t n_heap;
	size_t name_len; /* of a beginning of names, or NAME_WHOLE */
	bool value_is_int;
	int64_t value_int;
};
static const size_t NAME_WHOLE = (size_t)-1;

/* --- which --- */

static bool
attr_is(const struct events_walk *w, const struct nw_attr *a)
{
	switch (a->type) {
	case NW_ATTR_INT: return w->value_is_int && a->v.i == w->value_int;
	case NW_ATTR_REAL: return strcmp(fmt_exact(a->v.d).s, w->s->value) == 0;
	case NW_ATTR_TEXT: return strcmp(a->v.text, w->s->value) == 0;
	}
	return false;
}

static bool
attrs_match(const struct events_walk *w, const struct nw_event *e)
{
	size_t i;

	for (i = 0; i < e->n_attrs; i++)
		if ((w->s->key == NULL || strcmp(e->attrs[i].key, w->s->key) == 0) &&
		    (w->s->value == NULL || attr_is(w, &e->attrs[i])))
			return true;
	return false;
}

static bool
text_matches(const char *wanted, const char *text)
{
	return wanted == NULL || (text != NULL && strcmp(wanted, text) == 0);
}

static bool
event_matches(const struct events_walk *w, const struct nw_event *e)
{
	const struct nw_event_select *s = w->s;

	if (s->name != NULL &&
	    (w->name_len == NAME_WHOLE ? strcmp(s->name, e->name) != 0
				       : strncmp(s->name, e->name, w->name_len) != 0))
		return false;
	return text_matches(s->host, e->host) && text_matches(s->program, e->program) &&
	    ((s->key == NULL && s->value == NULL) || attrs_match(w, e));
}

static void
select_prepare(struct events_walk *w, const struct nw_event_select *s)
{
	size_t len = s->name == NULL ? 0 : strlen(s->name);
	char *end;

	w->s = s;
	w->from = s->from_wall_ns == 0 && s->to_wall_ns == 0 ? INT64_MIN : s->from_wall_ns;
	w->to = s->from_wall_ns == 0 && s->to_wall_ns == 0 ? INT64_MAX
	    : s->to_wall_ns == INT64_MIN                   ? INT64_MIN
							   : s->to_wall_ns - 1;
	w->name_len = len > 0 && s->name[len - 1] == '*' ? len - 1 : NAME_WHOLE;
	if (s->value != NULL) {
		w->value_int = strtoll(s->value, &end, 10);
		w->value_is_int = strcmp(fmt_int(w->value_int).s, s->value) == 0;
	}
}

/* --- sources --- */

static void
source_close(struct events_walk *w, struct source *c)
{
	if (c->block != NULL)
		w->n_open--;
	nw_event_block_free(c->block);
	free(c->bytes);
	c->block = NULL;
	c->bytes = NULL;
	c->cap = 0;
}

/* Closes the source with the latest next event, except `keep`. */
static void
latest_close(struct events_walk *w, const struct source *keep)
{
	struct source *latest = NULL, *c;
	size_t i;

	for (i = 0; i < w->n_heap; i++) {
		c = &w->sources[w->heap[i]];
		if (c != keep && c->block != NULL && (latest == NULL || c->next > latest->next))
			latest = c;
	}
	if (latest != NULL)
		source_close(w, latest);
}

static int
source_decode(struct events_walk *w, struct source *c)
{
	const char *why;
	sqlite3_stmt *st;
	size_t len;
	int rc;

	if ((rc = db_take(&w->r->stmts, R_EVENT_DATA, &st, "i", c->id)) != NW_OK)
		return rc;
	rc = db_code(sqlite3_step(st));
	if (rc == NW_OK)
		rc = event_unpack(w->r->events, sqlite3_column_blob(st, 0),
		    (size_t)sqlite3_column_bytes(st, 0), &c->bytes, &c->cap, &len);
	db_give(&w->r->stmts, R_EVENT_DATA, st);
	if (rc == NW_OK && (rc = nw_event_block_read(c->block, c->bytes, len, &why)) == NW_EPROTO)
		rc = NW_ECORRUPT;
	return rc;
}

/* Opens a source at its next event. */
static int
source_open(struct events_walk *w, struct source *c)
{
	int rc;

	if (w->n_open >= OPEN_MAX)
		latest_close(w, c);
	if ((c->block = nw_event_block_new()) == NULL)
		return NW_ENOMEM;
	w->n_open++;
	if ((rc = source_decode(w, c)) == NW_OK && c->at > nw_event_block_count(c->block))
		rc = NW_ECORRUPT;
	return rc;
}

/* Moves to the next event in the selected time; false at the end of the source. */
static bool
source_settle(struct events_walk *w, struct source *c)
{
	size_t n = nw_event_block_count(c->block);

	while (c->at < n && nw_event_block_time(c->block, c->at) < w->from)
		c->at++;
	if (c->at == n || (c->next = nw_event_block_time(c->block, c->at)) > w->to) {
		source_close(w, c);
		return false;
	}
	return true;
}

/* --- the heap --- */

static bool
is_before(const struct events_walk *w, size_t x, size_t y)
{
	const struct source *a = &w->sources[x], *b = &w->sources[y];

	return a->next != b->next ? a->next < b->next : x < y;
}

static void
heap_sink(struct events_walk *w, size_t i)
{
	size_t child, moved = w->heap[i];

	while ((child = 2 * i + 1) < w->n_heap) {
		if (child + 1 < w->n_heap && is_before(w, w->heap[child + 1], w->heap[child]))
			child++;
		if (!is_before(w, w->heap[child], moved))
			break;
		w->heap[i] = w->heap[child];
		i = child;
	}
	w->heap[i] = moved;
}

static void
heap_add(struct events_walk *w, size_t source)
{
	size_t i = w->n_heap++;

	for (; i > 0 && is_before(w, source, w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = source;
}

/* --- the walk --- */

static int
source_add(struct events_walk *w, sqlite3_stmt *st)
{
	const char *host = (const char *)sqlite3_column_text(st, 3);

	if (!array_room(&w->sources, &w->cap, w->n + 1, sizeof(*w->sources)))
		return NW_ENOMEM;
	w->sources[w->n] = (struct source){ .id = sqlite3_column_int64(st, 0),
		.session_id = sqlite3_column_int64(st, 1),
		.host_id = sqlite3_column_int64(st, 2),
		.next = sqlite3_column_int64(st, 4) };
	if (host != NULL && (w->sources[w->n].host = strdup(host)) == NULL)
		return NW_ENOMEM;
	w->n++;
	return NW_OK;
}

static int
sources_list(struct events_walk *w)
{
	sqlite3_stmt *st;
	int rc, step = SQLITE_DONE;

	if ((rc = db_take(&w->r->stmts, w->s->session_id == 0 ? R_EVENTS_ALL : R_EVENTS, &st,
		 "iiin", w->s->host_id, w->from, w->to,
		 w->s->session_id == STORE_SESSION_NONE ? 0 : w->s->session_id)) != NW_OK)
		return rc;
	while (rc == NW_OK && (step = sqlite3_step(st)) == SQLITE_ROW)
		rc = source_add(w, st);
	db_give(&w->r->stmts, w->s->session_id == 0 ? R_EVENTS_ALL : R_EVENTS, st);
	if (rc != NW_OK || (rc = db_code(step)) != NW_OK)
		return rc;
	return (w->heap = reallocarray(NULL, w->n + 1, sizeof(*w->heap))) == NULL ? NW_ENOMEM
										  : NW_OK;
}

/* Begins all sources with a first event that may be the next of all. */
static int
sources_begin(struct events_walk *w)
{
	struct source *c;
	int rc;

	while (w->n_begun < w->n &&
	    (w->n_heap == 0 || w->sources[w->n_begun].next <= w->sources[w->heap[0]].next)) {
		c = &w->sources[w->n_begun];
		if ((rc = source_open(w, c)) != NW_OK)
			return rc;
		if (source_settle(w, c))
			heap_add(w, w->n_begun);
		w->n_begun++;
	}
	return NW_OK;
}

/* Gives the earliest event, and moves on. */
static int
walk_step(struct events_walk *w, store_event_fn *fn, void *arg)
{
	struct source *c = &w->sources[w->heap[0]];
	struct nw_event_rec rec = { .session_id = c->session_id, .host_id = c->host_id };
	int rc;

	if (c->block == NULL && (rc = source_open(w, c)) != NW_OK)
		return rc;
	nw_event_block_get(c->block, c->at++, &rec.event);
	if (rec.event.host == NULL)
		rec.event.host = c->host;
	if (event_matches(w, &rec.event) && (rc = fn(arg, &rec)) != 0)
		return rc;
	if (!source_settle(w, c))
		w->heap[0] = w->heap[--w->n_heap];
	if (w->n_heap > 0)
		heap_sink(w, 0);
	return NW_OK;
}

static int
walk(struct events_walk *w, store_event_fn *fn, void *arg)
{
	int rc = sources_list(w);

	while (rc == NW_OK) {
		if ((rc = sources_begin(w)) != NW_OK || w->n_heap == 0)
			return rc;
		rc = walk_step(w, fn, arg);
	}
	return rc > 0 ? NW_OK : rc;
}

int
store_events(struct store_reader *r, const struct nw_event_select *s, store_event_fn *fn, void *arg)
{
	struct events_walk w = { .r = r };
	size_t i;
	int rc;

	if (r->events == NULL && (r->events = event_codec_new()) == NULL)
		return NW_ENOMEM;
	select_prepare(&w, s);
	if ((rc = reader_pin(r)) != NW_OK)
		return rc;
	rc = walk(&w, fn, arg);
	for (i = 0; i < w.n; i++) {
		source_close(&w, &w.sources[i]);
		free(w.sources[i].host);
	}
	free(w.sources);
	free(w.heap);
	return reader_unpin(r, rc);
}

int
store_event_span(struct store_reader *r, int64_t session_id, struct nw_event_span *out)
{
	sqlite3_stmt *st;
	int rc, step;

	*out = (struct nw_event_span){ 0 };
	if ((rc = reader_pin(r)) != NW_OK)
		return rc;
	if ((rc = db_take(&r->stmts, R_EVENT_SPAN, &st, "ii", session_id,
		 (int64_t)STORE_SESSION_NONE)) == NW_OK) {
		if ((step = sqlite3_step(st)) == SQLITE_ROW)
			*out = (struct nw_event_span){ sqlite3_column_int64(st, 0),
				sqlite3_column_int64(st, 1), sqlite3_column_int64(st, 2) };
		rc = db_code(step);
		db_give(&r->stmts, R_EVENT_SPAN, st);
	}
	return reader_unpin(r, rc);
}
