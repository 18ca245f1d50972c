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
#include "store/read/reader.h"

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
static const char declaration[] =
    "CREATE TABLE event(session_id INTEGER, sender_id INTEGER, host TEXT, program TEXT, name TEXT,"
    " level TEXT, t_ns INTEGER, time TEXT, ids TEXT, attrs TEXT, key TEXT HIDDEN,"
    " value TEXT HIDDEN)";
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

struct event_table {
	sqlite3_vtab base;
	sqlite3 *db;
};

struct event_cursor {
	sqlite3_vtab_cursor base;
	struct store_reader *reader;
	struct nw_event_select select;
	char *texts[TEXTS_MAX]; /* of the selection */
	size_t n_texts;
	const char *key, *value; /* as they were asked for, to be shown */

	struct nw_events *stretch; /* the events in hand, packed */
	struct nw_event_block *events;
	int64_t *sessions, *senders; /* of each */
	size_t n, row;
	int64_t next_wall_ns; /* reading goes on here ... */
	size_t skip, to_skip; /* ... behind so many events of this time */
	int64_t last_wall_ns;
	size_t n_last;
	bool read_all;
	struct nw_event event; /* the current one */
	int64_t rowid;
	bool eof;
};

/* --- planning --- */

static int
on_plan(sqlite3_vtab *table, sqlite3_index_info *info)
{
	int i, c, n = 0;

	(void)table;
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

static int
on_connect(
    sqlite3 *db, void *arg, int argc, const char *const *argv, sqlite3_vtab **out, char **err)
{
	struct event_table *t;
	int rc;

	(void)arg, (void)argc, (void)argv, (void)err;
	if ((rc = sqlite3_declare_vtab(db, declaration)) != SQLITE_OK)
		return rc;
	sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	if ((t = calloc(1, sizeof(*t))) == NULL)
		return SQLITE_NOMEM;
	t->db = db;
	*out = &t->base;
	return SQLITE_OK;
}

static int
on_disconnect(sqlite3_vtab *table)
{
	free(table);
	return SQLITE_OK;
}

/* --- cursors --- */

static int
on_close(sqlite3_vtab_cursor *base)
{
	struct event_cursor *c = (struct event_cursor *)base;

	while (c->n_texts > 0)
		free(c->texts[--c->n_texts]);
	nw_events_free(c->stretch);
	nw_event_block_free(c->events);
	store_reader_close(c->reader);
	free(c->sessions);
	free(c->senders);
	free(c);
	return SQLITE_OK;
}

static int
on_open(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
	struct event_cursor *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return SQLITE_NOMEM;
	if (reader_attach(((struct event_table *)table)->db, &c->reader) != NW_OK ||
	    (c->stretch = nw_events_new(NW_EVENT_KEPT_BYTES)) == NULL ||
	    (c->events = nw_event_block_new()) == NULL ||
	    (c->sessions = calloc(STRETCH_EVENTS, sizeof(*c->sessions))) == NULL ||
	    (c->senders = calloc(STRETCH_EVENTS, sizeof(*c->senders))) == NULL) {
		on_close(&c->base);
		return SQLITE_NOMEM;
	}
	*out = &c->base;
	return SQLITE_OK;
}

static int
failed(struct event_cursor *c, int rc)
{
	sqlite3_vtab *table = c->base.pVtab;

	if (rc == NW_ENOMEM)
		return SQLITE_NOMEM;
	if (rc == NW_EIO && sqlite3_errcode(((struct event_table *)table)->db) == SQLITE_INTERRUPT)
		return SQLITE_INTERRUPT;
	sqlite3_free(table->zErrMsg);
	table->zErrMsg = sqlite3_mprintf("event: %s", nw_strerror(rc));
	return rc == NW_ECORRUPT ? SQLITE_CORRUPT_VTAB : SQLITE_ERROR;
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
	if ((rc = store_events(c->reader, &c->select, on_event, c)) != NW_OK)
		return rc;
	c->skip = c->n_last;
	c->next_wall_ns = c->last_wall_ns;
	if (c->n == 0)
		return NW_OK;
	if ((rc = nw_events_finish(c->stretch, &block, &len)) == NW_OK)
		rc = nw_event_block_read(c->events, block, len, &why);
	return rc == NW_EPROTO ? NW_ECORRUPT : rc;
}

/* Makes the row in hand the current one. */
static int
settle(struct event_cursor *c)
{
	int rc = NW_OK;

	if (c->row == c->n && !c->read_all)
		rc = stretch_read(c);
	if (rc != NW_OK)
		return failed(c, rc);
	c->eof = c->row == c->n;
	if (!c->eof)
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

/* A bound as a whole number, plus a step. */
static int64_t
bound_of(sqlite3_value *v, int step)
{
	double x;
	int64_t t;

	if (sqlite3_value_numeric_type(v) == SQLITE_INTEGER) {
		t = sqlite3_value_int64(v);
	} else {
		x = floor(sqlite3_value_double(v));
		t = x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (int64_t)x;
	}
	return step > 0 && t < INT64_MAX ? t + 1 : t;
}

/* Applies a condition. False: no event can meet it. SQLite compares once more, so that bounds may
 * be too wide. */
static bool
condition_apply(struct event_cursor *c, const struct condition *k, sqlite3_value *v)
{
	struct nw_event_select *s = &c->select;
	int64_t t;

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
	if (k->op != SQLITE_INDEX_CONSTRAINT_LT && k->op != SQLITE_INDEX_CONSTRAINT_LE &&
	    (t = bound_of(v, 0)) > c->next_wall_ns)
		c->next_wall_ns = t;
	if (k->op != SQLITE_INDEX_CONSTRAINT_GT && k->op != SQLITE_INDEX_CONSTRAINT_GE &&
	    (t = bound_of(v, 1)) < s->to_wall_ns)
		s->to_wall_ns = t;
	return true;
}

static int
on_filter(sqlite3_vtab_cursor *base, int plan, const char *name, int argc, sqlite3_value **argv)
{
	struct event_cursor *c = (struct event_cursor *)base;
	int i, n = 0;

	(void)name, (void)argc;
	while (c->n_texts > 0)
		free(c->texts[--c->n_texts]);
	c->key = c->value = NULL;
	c->select = (struct nw_event_select){ .to_wall_ns = INT64_MAX };
	c->next_wall_ns = INT64_MIN;
	c->n = c->row = c->skip = 0;
	c->rowid = 0;
	c->read_all = false;
	for (i = 0; i < (int)N_CONDITIONS; i++)
		if (plan & 1 << i && !condition_apply(c, &conditions[i], argv[n++])) {
			c->eof = true;
			return SQLITE_OK;
		}
	return settle(c);
}

static int
on_next(sqlite3_vtab_cursor *base)
{
	struct event_cursor *c = (struct event_cursor *)base;

	c->rowid++;
	c->row++;
	return settle(c);
}

static int
on_eof(sqlite3_vtab_cursor *base)
{
	return ((struct event_cursor *)base)->eof;
}

/* --- values --- */

static void
json_text(sqlite3_str *out, const char *text)
{
	char piece[JSONTEXT_CHAR_BYTES];
	size_t left = strlen(text), used, n;

	sqlite3_str_appendchar(out, 1, '"');
	for (; left > 0; text += used, left -= used) {
		n = jsontext_char(text, left, piece, &used);
		sqlite3_str_append(out, piece, (int)n);
	}
	sqlite3_str_appendchar(out, 1, '"');
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
		json_text(out, a->key);
		sqlite3_str_appendchar(out, 1, ':');
		if (a->type == NW_ATTR_INT)
			sqlite3_str_appendall(out, fmt_int(a->v.i).s);
		else if (a->type == NW_ATTR_REAL)
			sqlite3_str_appendall(out, isfinite(a->v.d) ? fmt_exact(a->v.d).s : "null");
		else
			json_text(out, a->v.text);
	}
	sqlite3_str_appendall(out, any ? "}" : "{}");
	sqlite3_result_text(ctx, sqlite3_str_finish(out), -1, sqlite3_free);
}

static void
text_result(sqlite3_context *ctx, const char *text)
{
	if (text != NULL)
		sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}

static int
on_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
	const struct event_cursor *c = (struct event_cursor *)base;
	const struct nw_event *e = &c->event;

	switch ((enum column)column) {
	case C_SESSION:
		if (c->sessions[c->row] != 0)
			sqlite3_result_int64(ctx, c->sessions[c->row]);
		break;
	case C_SENDER: sqlite3_result_int64(ctx, c->senders[c->row]); break;
	case C_HOST: text_result(ctx, e->host); break;
	case C_PROGRAM: text_result(ctx, e->program); break;
	case C_NAME: text_result(ctx, e->name); break;
	case C_LEVEL: text_result(ctx, e->level); break;
	case C_T_NS: sqlite3_result_int64(ctx, e->t_wall_ns); break;
	case C_TIME: text_result(ctx, fmt_iso_ns(e->t_wall_ns).s); break;
	case C_IDS: attrs_result(ctx, e, true); break;
	case C_ATTRS: attrs_result(ctx, e, false); break;
	case C_KEY: text_result(ctx, c->key); break;
	case C_VALUE: text_result(ctx, c->value); break;
	}
	return SQLITE_OK;
}

static int
on_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = ((struct event_cursor *)base)->rowid;
	return SQLITE_OK;
}

/* Without xCreate every database has the table under the name of the module. */
static const sqlite3_module module = {
	.iVersion = 1,
	.xConnect = on_connect,
	.xDisconnect = on_disconnect,
	.xBestIndex = on_plan,
	.xOpen = on_open,
	.xClose = on_close,
	.xFilter = on_filter,
	.xNext = on_next,
	.xEof = on_eof,
	.xColumn = on_column,
	.xRowid = on_rowid,
};

int
eventmodule_register(sqlite3 *db, char **err)
{
	int rc = sqlite3_create_module_v2(db, "event", &module, NULL, NULL);

	return rc == SQLITE_OK ? sqlite3_exec(db, view, NULL, NULL, err) : rc;
}
