/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A virtual table over store_events(). A cursor holds some thousand events at a time, packed in a
 * builder of their own, and the time reached, with the count of events of that time already given.
 */
#include "store/sql/eventmodule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/jsontext.h"
#include "store/sql/vtable.h"

enum { STRETCH_EVENTS = 8192 };

enum column {
	C_SESSION,
	C_SENDER,
	C_HOST,
	C_PROGRAM,
	C_NAME,
	C_LEVEL,
	C_T_NS,
	C_TIME,
	C_IDS,
	C_ATTRS,
	C_KEY,
	C_VALUE
};
static const char view[] =
    "CREATE TEMP VIEW IF NOT EXISTS v_event AS SELECT session_id AS session, host, program, name,"
    " level, time, t_ns, ids, attrs FROM main.event";

/* Conditions that a plan may contain, each with a bit of idxNum. */
static const struct condition {
	enum column column;
	unsigned char op;
	double share; /* of events left by the condition, as a guess */
} conditions[] = {
	{ C_SESSION, SQLITE_INDEX_CONSTRAINT_EQ, 0.01 },
	{ C_HOST, SQLITE_INDEX_CONSTRAINT_EQ, 0.3 },
	{ C_PROGRAM, SQLITE_INDEX_CONSTRAINT_EQ, 0.3 },
	{ C_NAME, SQLITE_INDEX_CONSTRAINT_EQ, 0.1 },
	{ C_KEY, SQLITE_INDEX_CONSTRAINT_EQ, 0.3 },
	{ C_VALUE, SQLITE_INDEX_CONSTRAINT_EQ, 0.001 },
	{ C_T_NS, SQLITE_INDEX_CONSTRAINT_EQ, 1e-6 },
	{ C_T_NS, SQLITE_INDEX_CONSTRAINT_GE, 0.3 },
	{ C_T_NS, SQLITE_INDEX_CONSTRAINT_GT, 0.3 },
	{ C_T_NS, SQLITE_INDEX_CONSTRAINT_LE, 0.3 },
	{ C_T_NS, SQLITE_INDEX_CONSTRAINT_LT, 0.3 },
};
enum { N_CONDITIONS = sizeof(conditions) / sizeof(conditions[0]), TEXTS_MAX = 5 };

struct event_cursor {
	struct vtable_cursor base;
	struct nw_event_select select;
	char *texts[TEXTS_MAX]; /* of the selection */
	size_t n_texts;
	const char *key, *value; /* as in the query, for display */

	struct nw_events *stretch; /* the events in hand, packed */
	struct nw_event_block *events;
	int64_t *sessions, *senders; /* of each */
	size_t n, row;
	int64_t next_wall_ns; /* reading goes on here ... */
	size_t skip, to_skip; /* ... behind so many events of the time */
	int64_t last_wall_ns;
	size_t n_last;
	bool read_all;
	struct nw_event event; /* the current one */
};

/* --- planning --- */

static int
plan(sqlite3_index_info *info)
{
	int i, c, n = 0;

	info->estimatedCost = 1e7;
	info->estimatedRows = 1000000;
	for (c = 0; c < (int)N_CONDITIONS; c++)
		for (i = 0; i < info->nConstraint; i++) {
			if (!info->aConstraint[i].usable || info->idxNum & 1 << c ||
			    info->aConstraint[i].iColumn != (int)conditions[c].column ||
			    info->aConstraint[i].op != conditions[c].op ||
			    sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
				continue;
			info->idxNum |= 1 << c;
			info->aConstraintUsage[i].argvIndex = ++n;
			info->aConstraintUsage[i].omit =
			    conditions[c].column == C_KEY || conditions[c].column == C_VALUE;
			info->estimatedCost *= conditions[c].share;
		}
	info->estimatedRows = (sqlite3_int64)(info->estimatedCost / 10) + 1;
	if (info->nOrderBy == 1 && info->aOrderBy[0].iColumn == C_T_NS && !info->aOrderBy[0].desc)
		info->orderByConsumed = 1;
	return SQLITE_OK;
}

/* --- cursors --- */

static void
clear(struct vtable_cursor *base)
{
	struct event_cursor *c = (struct event_cursor *)base;

	while (c->n_texts > 0)
		free(c->texts[--c->n_texts]);
	nw_events_free(c->stretch);
	nw_event_block_free(c->events);
	free(c->sessions);
	free(c->senders);
}

static int
open_events(struct vtable_cursor *base)
{
	struct event_cursor *c = (struct event_cursor *)base;

	return (c->stretch = nw_events_new(NW_EVENT_KEPT_BYTES)) != NULL &&
		(c->events = nw_event_block_new()) != NULL &&
		(c->sessions = calloc(STRETCH_EVENTS, sizeof(*c->sessions))) != NULL &&
		(c->senders = calloc(STRETCH_EVENTS, sizeof(*c->senders))) != NULL
	    ? SQLITE_OK
	    : SQLITE_NOMEM;
}

/* --- reading --- */

static int
on_event(void *arg, const struct nw_event_rec *r)
{
	struct event_cursor *c = arg;
	int rc;

	if (c->to_skip > 0 && r->event.t_wall_ns == c->next_wall_ns) {
		c->to_skip--;
		return 0;
	}
	c->to_skip = 0;
	if (c->n == STRETCH_EVENTS || (rc = nw_events_add(c->stretch, &r->event)) == NW_ETOOBIG) {
		c->read_all = false;
		return 1;
	}
	if (rc != NW_OK)
		return rc;
	c->sessions[c->n] = r->session_id;
	c->senders[c->n++] = r->host_id;
	c->n_last = r->event.t_wall_ns == c->last_wall_ns ? c->n_last + 1 : 1;
	c->last_wall_ns = r->event.t_wall_ns;
	return 0;
}

/* Reads the next stretch of events. */
static int
stretch_read(struct event_cursor *c)
{
	const uint8_t *block;
	const char *why;
	size_t len;
	int rc;

	nw_events_clear(c->stretch);
	c->n = c->row = 0;
	c->to_skip = c->skip;
	c->n_last = c->skip;
	c->last_wall_ns = c->next_wall_ns;
	c->read_all = true;
	c->select.from_wall_ns = c->next_wall_ns;
	if ((rc = store_events(c->base.reader, &c->select, on_event, c)) != NW_OK)
		return rc;
	c->skip = c->n_last;
	c->next_wall_ns = c->last_wall_ns;
	if (c->n == 0)
		return NW_OK;
	if ((rc = nw_events_finish(c->stretch, &block, &len)) == NW_OK)
		rc = nw_event_block_read(c->events, block, len, &why);
	return rc == NW_EPROTO ? NW_ECORRUPT : rc;
}

/* Makes the row in hand the current row. */
static int
settle(struct event_cursor *c)
{
	int rc = NW_OK;

	if (c->row == c->n && !c->read_all)
		rc = stretch_read(c);
	if (rc != NW_OK)
		return vtable_failed(&c->base, rc, "event: %s", nw_strerror(rc));
	c->base.eof = c->row == c->n;
	if (!c->base.eof)
		nw_event_block_get(c->events, c->row, &c->event);
	return SQLITE_OK;
}

static const char *
text_keep(struct event_cursor *c, sqlite3_value *v)
{
	const char *text = (const char *)sqlite3_value_text(v);

	if (text == NULL || (c->texts[c->n_texts] = strdup(text)) == NULL)
		return NULL;
	return c->texts[c->n_texts++];
}

/* Applies a condition. Returns false if no event can meet it. SQLite compares once more, so that
 * bounds may be too wide. */
static bool
condition_apply(struct event_cursor *c, const struct condition *k, sqlite3_value *v)
{
	struct nw_event_select *s = &c->select;
	int64_t low, high;

	switch (k->column) {
	case C_SESSION:
		if (sqlite3_value_type(v) != SQLITE_INTEGER || sqlite3_value_int64(v) <= 0)
			return false;
		s->session_id = sqlite3_value_int64(v);
		return true;
	case C_HOST: return (s->host = text_keep(c, v)) != NULL;
	case C_PROGRAM: return (s->program = text_keep(c, v)) != NULL;
	case C_NAME: return (s->name = text_keep(c, v)) != NULL;
	case C_KEY: return (c->key = s->key = text_keep(c, v)) != NULL;
	case C_VALUE: return (c->value = s->value = text_keep(c, v)) != NULL;
	default: break;
	}
	if (!vtable_bound(v, &low, &high))
		return true;
	if (k->op != SQLITE_INDEX_CONSTRAINT_LT && k->op != SQLITE_INDEX_CONSTRAINT_LE &&
	    low > c->next_wall_ns)
		c->next_wall_ns = low;
	if (k->op != SQLITE_INDEX_CONSTRAINT_GT && k->op != SQLITE_INDEX_CONSTRAINT_GE &&
	    high < s->to_wall_ns)
		s->to_wall_ns = high + 1;
	return true;
}

static int
filter(struct vtable_cursor *base, int plan, sqlite3_value **argv)
{
	struct event_cursor *c = (struct event_cursor *)base;
	int i, n = 0;

	while (c->n_texts > 0)
		free(c->texts[--c->n_texts]);
	c->key = c->value = NULL;
	c->select = (struct nw_event_select){ .to_wall_ns = INT64_MAX };
	c->next_wall_ns = INT64_MIN;
	c->n = c->row = c->skip = 0;
	c->read_all = false;
	for (i = 0; i < (int)N_CONDITIONS; i++)
		if (plan & 1 << i && !condition_apply(c, &conditions[i], argv[n++])) {
			c->base.eof = true;
			return SQLITE_OK;
		}
	return settle(c);
}

static int
next(struct vtable_cursor *base)
{
	struct event_cursor *c = (struct event_cursor *)base;

	c->row++;
	return settle(c);
}

/* --- values --- */

static void
on_piece(void *arg, const char *bytes, size_t len)
{
	sqlite3_str_append(arg, bytes, (int)len);
}

static void
attrs_result(sqlite3_context *ctx, const struct nw_event *e, bool ids)
{
	sqlite3_str *out = sqlite3_str_new(sqlite3_context_db_handle(ctx));
	const struct nw_attr *a;
	bool any = false;
	size_t i;

	for (i = 0; i < e->n_attrs; i++) {
		if ((a = &e->attrs[i])->is_id != ids)
			continue;
		sqlite3_str_appendchar(out, 1, any ? ',' : '{');
		any = true;
		jsontext_pieces(a->key, strlen(a->key), on_piece, out);
		sqlite3_str_appendchar(out, 1, ':');
		if (a->type == NW_ATTR_INT)
			sqlite3_str_appendall(out, fmt_int(a->v.i).s);
		else if (a->type == NW_ATTR_REAL)
			sqlite3_str_appendall(out, isfinite(a->v.d) ? fmt_exact(a->v.d).s : "null");
		else
			jsontext_pieces(a->v.text, strlen(a->v.text), on_piece, out);
	}
	sqlite3_str_appendall(out, any ? "}" : "{}");
	sqlite3_result_text(ctx, sqlite3_str_finish(out), -1, sqlite3_free);
}

static void
column(const struct vtable_cursor *base, sqlite3_context *ctx, int column)
{
	const struct event_cursor *c = (const struct event_cursor *)base;
	const struct nw_event *e = &c->event;

	switch ((enum column)column) {
	case C_SESSION:
		if (c->sessions[c->row] != 0)
			sqlite3_result_int64(ctx, c->sessions[c->row]);
		break;
	case C_SENDER: sqlite3_result_int64(ctx, c->senders[c->row]); break;
	case C_HOST: vtable_text(ctx, e->host); break;
	case C_PROGRAM: vtable_text(ctx, e->program); break;
	case C_NAME: vtable_text(ctx, e->name); break;
	case C_LEVEL: vtable_text(ctx, e->level); break;
	case C_T_NS: sqlite3_result_int64(ctx, e->t_wall_ns); break;
	case C_TIME: vtable_text(ctx, fmt_iso_ns(e->t_wall_ns).s); break;
	case C_IDS: attrs_result(ctx, e, true); break;
	case C_ATTRS: attrs_result(ctx, e, false); break;
	case C_KEY: vtable_text(ctx, c->key); break;
	case C_VALUE: vtable_text(ctx, c->value); break;
	}
}

static const struct vtable table = {
	.name = "event",
	.declaration =
	    "CREATE TABLE event(session_id INTEGER, sender_id INTEGER, host TEXT, program TEXT,"
	    " name TEXT, level TEXT, t_ns INTEGER, time TEXT, ids TEXT, attrs TEXT,"
	    " key TEXT HIDDEN, value TEXT HIDDEN)",
	.cursor_bytes = sizeof(struct event_cursor),
	.plan = plan,
	.open = open_events,
	.clear = clear,
	.filter = filter,
	.next = next,
	.column = column,
};

int
eventmodule_register(sqlite3 *db, char **err)
{
	int rc = vtable_register(db, &table);

	return rc == SQLITE_OK ? sqlite3_exec(db, view, NULL, NULL, err) : rc;
}
