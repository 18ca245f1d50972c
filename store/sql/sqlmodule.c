/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A virtual table over store_rows_of(). A scan walks the wanted series in order of layout with a
 * statement of its own; for each layout the scan decodes the wanted fields only, some thousand rows
 * at a time, into the cursor's buffer. Between two fillings the cursor holds no chunk, only the
 * time reached and the number of rows with exactly that time already given.
 *
 * The reader works on the connection of the query, inside its snapshot: the samples agree with the
 * other tables of the same statement.
 */
#include "store/sql/sqlmodule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/array.h"
#include "narrows/err.h"
#include "narrows/field.h"
#include "narrows/format.h"
#include "store/ground/bucket.h"
#include "store/ground/document_sql.h"
#include "store/ground/field_in.h"
#include "store/sql/eventmodule.h"
#include "store/sql/vtable.h"

enum { FILL_VALUES = 1 << 15 }; /* buffered at least, if there are as many; a chunk more at most */

enum column {
	C_SESSION,
	C_HOST,
	C_SERIES,
	C_LAYOUT,
	C_SUBJECT,
	C_EVENT,
	C_FIELD,
	C_UNIT,
	C_T_NS,
	C_TIME,
	C_VALUE, /* of buckets the mean */
	C_KEY,
	C_META,
	C_STEP,
	C_BEGIN,
	C_N,
	C_SUM,
	C_MIN,
	C_MAX,
	C_SD
};

/* v_verdict in the place of the view in the file, which shows no documents. */
static const char views[] =
    "CREATE TEMP VIEW IF NOT EXISTS v_sample AS SELECT session_id AS session, series_id, host,"
    " subject, event_type, field, unit, time, t_ns, value FROM main.sample WHERE value IS NOT NULL;"
    "CREATE TEMP VIEW IF NOT EXISTS v_last /* SELECT host, event_type, field, value FROM v_last */"
    " AS SELECT session_id AS session, series_id, host,"
    " subject, event_type, field, unit, time, t_ns, value, series"
    " FROM main.sample_last WHERE value IS NOT NULL;"
    "CREATE TEMP VIEW IF NOT EXISTS v_bucket AS SELECT session_id AS session, series_id, host,"
    " subject, event_type, field, unit, begin_ns, t_ns, n, sum, min, max, mean, sd, series,"
    " step_ns FROM main.sample_bucket WHERE n > 0;"
    "CREATE TEMP VIEW IF NOT EXISTS v_minute"
    " /* SELECT series, begin_ns, mean FROM v_minute WHERE t_ns >= ... */"
    " AS SELECT session_id AS session, series_id, host,"
    " subject, event_type, field, unit, begin_ns, t_ns, n, sum, min, max, mean, sd, series"
    " FROM main.sample_bucket WHERE n > 0 AND step_ns = 60000000000;"
    "CREATE TEMP VIEW IF NOT EXISTS v_verdict AS SELECT v.*,"
    " narrows_document(r.document, r.timeline) AS document"
    " FROM main.v_verdict v JOIN main.result r ON r.session_id = v.session";

/* Possible conditions of a plan on the list of series. Each has a bit of idxNum; the arguments
 * have the same order. */
static const struct lookup {
	enum column column;
	unsigned char op;
	bool text;       /* compares by bytes, or not at all */
	double share;    /* share of rows left by the condition, as a guess */
	const char *sql; /* NULL: not about series */
} lookups[] = {
	{ C_KEY, SQLITE_INDEX_CONSTRAINT_EQ, false, 1e-6, "layout = ? / 4096 AND col = ? % 4096" },
	{ C_LAYOUT, SQLITE_INDEX_CONSTRAINT_EQ, false, 1e-5, "layout = ?" },
	{ C_SERIES, SQLITE_INDEX_CONSTRAINT_EQ, false, 1e-5, "metadata = ?" },
	{ C_META, SQLITE_INDEX_CONSTRAINT_EQ, false, 1e-5, "metadata = ?" },
	{ C_SESSION, SQLITE_INDEX_CONSTRAINT_EQ, false, 1e-2, "session = ?" },
	{ C_HOST, SQLITE_INDEX_CONSTRAINT_EQ, true, 0.3, "host = ?" },
	{ C_EVENT, SQLITE_INDEX_CONSTRAINT_EQ, true, 0.1, "event_type = ?" },
	{ C_EVENT, SQLITE_INDEX_CONSTRAINT_GLOB, true, 0.3, "event_type GLOB ?" },
	{ C_FIELD, SQLITE_INDEX_CONSTRAINT_EQ, true, 0.1, "field = ?" },
	{ C_STEP, SQLITE_INDEX_CONSTRAINT_EQ, false, 0.1, NULL },
	{ C_N, SQLITE_INDEX_CONSTRAINT_GT, false, 1, NULL },
};

static const struct bound {
	unsigned char op;
	bool from, to;
} bounds[] = {
	{ SQLITE_INDEX_CONSTRAINT_EQ, true, true },
	{ SQLITE_INDEX_CONSTRAINT_GT, true, false },
	{ SQLITE_INDEX_CONSTRAINT_GE, true, false },
	{ SQLITE_INDEX_CONSTRAINT_LT, false, true },
	{ SQLITE_INDEX_CONSTRAINT_LE, false, true },
};

enum {
	N_LOOKUPS = sizeof(lookups) / sizeof(lookups[0]),
	VALUE_COLUMNS = 1 << C_VALUE | 1 << C_N | 1 << C_SUM | 1 << C_MIN | 1 << C_MAX | 1 << C_SD,
	N_BOUNDS = sizeof(bounds) / sizeof(bounds[0]),
	PLAN_N = 1 << (N_LOOKUPS - 1),            /* the least n, the last of the lookups */
	PLAN_VALUE = 1 << (N_LOOKUPS + N_BOUNDS), /* the statement uses values */
	PLAN_UNIT = PLAN_VALUE << 1,              /* the statement uses units */
	PLAN_BY_SERIES = PLAN_UNIT << 1           /* rows come by series, then time */
};

/* Texts that all rows of a series share; NULL for an unknown text. */
enum { S_HOST, S_SUBJECT, S_EVENT, S_FIELD, S_UNIT, S_TEXTS };
struct series {
	const char *text[S_TEXTS]; /* in mem, but for a unit of the table of fields */
	char *mem;
};

/* The tables differ in the meaning of a row. */
enum table_kind { TABLE_SAMPLES, TABLE_LAST, TABLE_BUCKETS, TABLES };

struct cursor {
	struct vtable_cursor base;
	/* list of series, on the first series of the next layout, or at its end */
	sqlite3_stmt *list;
	int plan; /* conditions of the list, as idxNum */
	/* the list has the senders' units alone: those of the event type in hand are here */
	bool units_here;
	struct nw_field_units units;
	bool listed; /* true when the list of series has ended */
	bool want_value, by_series;
	enum table_kind kind;
	size_t per; /* doubles per value in the buffer: 1, or the statistics of a bucket */
	int64_t t_from, t_to; /* both included */
	int64_t step_ns;      /* grid of the samples; 0 for raw rows */
	double n_above;       /* buckets of so many values, or fewer, are left out */

	int64_t layout_id, meta_id, session_id;
	bool has_session;
	struct series *series; /* of the layout */
	uint32_t *columns;
	size_t n_series, cap_series;

	int64_t next_t; /* reading goes on here ... */
	size_t skip;    /* ... after so many rows of exactly next_t */
	bool layout_done;
	int64_t *t;    /* [n_rows] */
	double *value; /* [n_rows][n_series][per] */
	size_t n_rows, cap_rows, cap_values, to_skip;

	size_t row, at; /* the current row, and the number of its series */
};

/* --- planning --- */

static bool
by_bytes(sqlite3_index_info *info, int i)
{
	return sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") == 0;
}

/* Finds a usable constraint of a column and operator; -1 if there is none. */
static int
find(sqlite3_index_info *info, int column, unsigned char op, bool text)
{
	int i;

	for (i = 0; i < info->nConstraint; i++)
		if (info->aConstraint[i].usable && info->aConstraint[i].iColumn == column &&
		    info->aConstraint[i].op == op && info->aConstraintUsage[i].argvIndex == 0 &&
		    (!text || by_bytes(info, i)))
			return i;
	return -1;
}

/* ORDER BY or GROUP BY series, or series and t_ns. */
static bool
order_is_by_series(const sqlite3_index_info *info)
{
	return info->nOrderBy >= 1 && info->nOrderBy <= 2 && info->aOrderBy[0].iColumn == C_KEY &&
	    !info->aOrderBy[0].desc &&
	    (info->nOrderBy == 1 ||
		(info->aOrderBy[1].iColumn == C_T_NS && !info->aOrderBy[1].desc));
}

/* Nothing is promised but the step and the least n: SQLite compares again, so what is looked up may
 * be more than was asked for, never less. */
static int
plan(sqlite3_index_info *info)
{
	int i, at, n_args = 0;
	bool one_layout = false;

	for (i = 0; i < info->nConstraint; i++)
		if (info->aConstraint[i].iColumn == C_STEP && !info->aConstraint[i].usable)
			/* step_ns is no property of a row, to be compared afterwards */
			return SQLITE_CONSTRAINT;
	info->idxNum = 0;
	info->estimatedCost = 1e10;
	for (i = 0; i < N_LOOKUPS; i++)
		if ((at = find(info, lookups[i].column, lookups[i].op, lookups[i].text)) != -1) {
			info->aConstraintUsage[at].argvIndex = ++n_args;
			info->aConstraintUsage[at].omit =
			    lookups[i].column == C_STEP || lookups[i].column == C_N;
			info->idxNum |= 1 << i;
			info->estimatedCost *= lookups[i].share;
			one_layout = one_layout || lookups[i].column == C_LAYOUT;
		}
	for (i = 0; i < N_BOUNDS; i++)
		if ((at = find(info, C_T_NS, bounds[i].op, false)) != -1) {
			info->aConstraintUsage[at].argvIndex = ++n_args;
			info->idxNum |= 1 << (N_LOOKUPS + i);
			info->estimatedCost *= bounds[i].from && bounds[i].to ? 1e-4 : 0.25;
		}
	if (info->colUsed & VALUE_COLUMNS || info->idxNum & PLAN_N)
		info->idxNum |= PLAN_VALUE;
	if (info->colUsed & 1 << C_UNIT)
		info->idxNum |= PLAN_UNIT;
	if (info->estimatedCost < 1)
		info->estimatedCost = 1;
	info->estimatedRows = (sqlite3_int64)info->estimatedCost;
	info->estimatedCost += 100; /* to begin, however few there are */
	info->orderByConsumed = one_layout && info->nOrderBy == 1 &&
	    info->aOrderBy[0].iColumn == C_T_NS && !info->aOrderBy[0].desc;
	if (order_is_by_series(info)) {
		info->orderByConsumed = 1;
		info->idxNum |= PLAN_BY_SERIES;
	}
	return SQLITE_OK;
}

static void
series_forget(struct cursor *c)
{
	while (c->n_series > 0)
		free(c->series[--c->n_series].mem);
}

static void
clear(struct vtable_cursor *base)
{
	struct cursor *c = (struct cursor *)base;

	series_forget(c);
	sqlite3_finalize(c->list);
	free(c->series);
	free(c->columns);
	free(c->t);
	free(c->value);
}

/* --- series --- */

enum { L_LAYOUT, L_COLUMN, L_SESSION, L_HOST, L_SUBJECT, L_EVENT, L_FIELD, L_UNIT, L_META };

/* What the sender says of a unit, the first part of v_series.unit. */
#define SENDERS_UNIT                                                                          \
	"CASE WHEN json_valid(params) THEN coalesce((SELECT p.value FROM json_each(params) p" \
	" WHERE p.key = 'unit_' || field AND p.type = 'text'), (SELECT p.value FROM"          \
	" json_each(params) p WHERE p.key = 'unit' AND p.type = 'text')) END"

/* To search the file's table of fields is most of the price of v_series, so this program's table
 * serves if it is the same. */
static int
list_prepare(struct cursor *c, int plan)
{
	sqlite3_str *sql;
	char *text;
	int i, rc;

	c->units_here = false;
	if (plan & PLAN_UNIT && (rc = field_table_compare(c->base.db, &c->units_here)) != NW_OK)
		return vtable_failed(&c->base, rc, "sample: units: %s", nw_strerror(rc));
	sql = sqlite3_str_new(c->base.db);
	sqlite3_str_appendf(sql,
	    "SELECT layout, col, session, host, subject, event_type, field, %s, metadata"
	    " FROM main.v_series WHERE 1",
	    c->units_here          ? SENDERS_UNIT
		: plan & PLAN_UNIT ? "unit"
				   : "NULL");
	for (i = 0; i < N_LOOKUPS; i++)
		if (plan & 1 << i && lookups[i].sql != NULL)
			sqlite3_str_appendf(sql, " AND %s", lookups[i].sql);
	sqlite3_str_appendall(sql, " ORDER BY layout, col");
	if ((text = sqlite3_str_finish(sql)) == NULL)
		return SQLITE_NOMEM;
	sqlite3_finalize(c->list);
	c->list = NULL;
	rc = sqlite3_prepare_v2(c->base.db, text, -1, &c->list, NULL);
	sqlite3_free(text);
	c->plan = plan;
	return rc;
}

/* A join comes here for every line of the other table, with the same plan. */
static int
list_begin(struct cursor *c, int plan, sqlite3_value **argv)
{
	int i, n = 0, at = 0, rc = SQLITE_OK;

	if (c->list == NULL || c->plan != plan)
		rc = list_prepare(c, plan);
	else
		sqlite3_reset(c->list);
	for (i = 0; rc == SQLITE_OK && i < N_LOOKUPS; i++)
		if (plan & 1 << i && lookups[i].sql != NULL) {
			rc = sqlite3_bind_value(c->list, ++at, argv[n]);
			if (rc == SQLITE_OK && lookups[i].column == C_KEY)
				rc = sqlite3_bind_value(c->list, ++at, argv[n]);
			n++;
		}
	return rc;
}

static int
list_step(struct cursor *c)
{
	int rc = sqlite3_step(c->list);

	c->listed = rc == SQLITE_DONE;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Copies the text of a column to *p, which moves behind the text; NULL stays NULL. */
static char *
text_put(char **p, sqlite3_stmt *st, int column)
{
	const unsigned char *text = sqlite3_column_text(st, column);
	size_t len = text == NULL ? 0 : (size_t)sqlite3_column_bytes(st, column);
	char *at = *p;

	if (text == NULL)
		return NULL;
	memcpy(at, text, len);
	at[len] = '\0';
	*p += len + 1;
	return at;
}

static int
series_room(struct cursor *c)
{
	size_t cap = c->cap_series, n = c->n_series + 1;

	return array_room(&c->series, &cap, n, sizeof(*c->series)) &&
		array_room(&c->columns, &c->cap_series, n, sizeof(*c->columns))
	    ? SQLITE_OK
	    : SQLITE_NOMEM;
}

static int
series_add(struct cursor *c)
{
	static const int from[S_TEXTS] = { L_HOST, L_SUBJECT, L_EVENT, L_FIELD, L_UNIT };
	struct series *s;
	size_t len = 0, i;
	char *p;

	if (series_room(c) != SQLITE_OK)
		return SQLITE_NOMEM;
	for (i = 0; i < S_TEXTS; i++)
		len += (size_t)sqlite3_column_bytes(c->list, from[i]) + 1;
	s = &c->series[c->n_series];
	if ((p = s->mem = malloc(len)) == NULL)
		return SQLITE_NOMEM;
	for (i = 0; i < S_TEXTS; i++)
		s->text[i] = text_put(&p, c->list, from[i]);
	if (c->units_here && s->text[S_UNIT] == NULL && s->text[S_FIELD] != NULL)
		s->text[S_UNIT] = nw_field_unit(&c->units, s->text[S_FIELD]);
	c->columns[c->n_series++] = (uint32_t)sqlite3_column_int64(c->list, L_COLUMN);
	return SQLITE_OK;
}

/* Collects the wanted series of the list's layout, or a single series; the list moves on behind
 * the layout. */
static int
layout_begin(struct cursor *c)
{
	int rc = SQLITE_OK;

	series_forget(c);
	c->layout_id = sqlite3_column_int64(c->list, L_LAYOUT);
	c->meta_id = sqlite3_column_int64(c->list, L_META);
	c->session_id = sqlite3_column_int64(c->list, L_SESSION);
	c->has_session = sqlite3_column_type(c->list, L_SESSION) != SQLITE_NULL;
	if (c->units_here)
		nw_field_units(&c->units, (const char *)sqlite3_column_text(c->list, L_EVENT));
	while (rc == SQLITE_OK && !c->listed &&
	    sqlite3_column_int64(c->list, L_LAYOUT) == c->layout_id &&
	    (!c->by_series || c->n_series == 0))
		if ((rc = series_add(c)) == SQLITE_OK)
			rc = list_step(c);
	c->next_t = c->t_from;
	c->skip = 0;
	c->layout_done = false;
	return rc;
}

/* --- rows --- */

static int
rows_room(struct cursor *c, size_t n_rows)
{
	size_t n_values = n_rows * (c->want_value ? c->n_series * c->per : 0);
	void *grown;

	if (n_rows > c->cap_rows) {
		if ((grown = realloc(c->t, n_rows * sizeof(*c->t))) == NULL)
			return NW_ENOMEM;
		c->t = grown;
		c->cap_rows = n_rows;
	}
	if (n_values > c->cap_values) {
		if ((grown = realloc(c->value, n_values * sizeof(*c->value))) == NULL)
			return NW_ENOMEM;
		c->value = grown;
		c->cap_values = n_values;
	}
	return NW_OK;
}

static int
on_block(void *arg, const struct store_block *b)
{
	struct cursor *c = arg;
	size_t i = 0, k;
	double *value;

	for (; i < b->n_rows && c->to_skip > 0 && b->t_wall_ns[i] == c->next_t; i++)
		c->to_skip--;
	if (rows_room(c, c->n_rows + b->n_rows - i) != NW_OK)
		return NW_ENOMEM;
	for (; i < b->n_rows; i++) {
		value = c->want_value ? c->value + c->n_rows * c->n_series : NULL;
		for (k = 0; value != NULL && k < c->n_series; k++)
			value[k] = b->columns[c->columns[k]][i];
		c->t[c->n_rows++] = b->t_wall_ns[i];
	}
	c->layout_done = c->n_rows * c->n_series < FILL_VALUES;
	return !c->layout_done;
}

static int
on_buckets(void *arg, const struct store_bucket_block *b)
{
	struct cursor *c = arg;
	const double *const *const from[STATS] = { [STAT_N] = b->n,
		[STAT_SUM] = b->sum,
		[STAT_MIN] = b->min,
		[STAT_MAX] = b->max,
		[STAT_M2] = b->m2 };
	size_t i, k, s;
	double *value;

	if (rows_room(c, c->n_rows + b->n_buckets) != NW_OK)
		return NW_ENOMEM;
	for (i = 0; i < b->n_buckets; i++) {
		value = c->value + c->n_rows * c->n_series * STATS;
		for (k = 0; c->want_value && k < c->n_series; k++)
			for (s = 0; s < STATS; s++)
				*value++ = from[s][c->columns[k]][i];
		c->t[c->n_rows++] = b->t_wall_ns[i];
	}
	return 0;
}

static int
failed(struct cursor *c, int rc)
{
	return vtable_failed(
	    &c->base, rc, "sample: layout %lld: %s", (long long)c->layout_id, nw_strerror(rc));
}

/* All buckets of the layout, or its last row, go into the buffer at once: the number is small. */
static int
fill_at_once(struct cursor *c, int64_t t_end)
{
	int rc;

	c->layout_done = true;
	if (c->kind == TABLE_BUCKETS)
		return store_buckets(c->base.reader, c->layout_id, c->columns, c->n_series,
		    c->t_from, t_end, c->step_ns, on_buckets, c);
	rc = store_last_row(c->base.reader, c->layout_id, on_block, c);
	c->layout_done = true;
	return rc == NW_ENOTFOUND ? NW_OK : rc;
}

/* The next rows of the layout into the buffer; none: layout_done. */
static int
fill(struct cursor *c)
{
	int64_t t_end = c->t_to == INT64_MAX ? INT64_MAX : c->t_to + 1;
	size_t same = 0;
	int rc;

	if (c->kind != TABLE_SAMPLES) {
		c->n_rows = c->row = c->to_skip = 0;
		rc = fill_at_once(c, t_end);
		return rc == NW_OK ? SQLITE_OK : failed(c, rc);
	}

	c->n_rows = c->row = 0;
	c->to_skip = c->skip;
	c->layout_done = true;
	if (c->step_ns > 0)
		rc = store_rows_at(
		    c->base.reader, c->layout_id, c->step_ns, c->next_t, t_end, on_block, c);
	else
		rc = store_rows_of(c->base.reader, c->layout_id, c->columns,
		    c->want_value ? c->n_series : 0, c->next_t, t_end, on_block, c);
	if (rc != NW_OK)
		return failed(c, rc);
	while (same < c->n_rows && c->t[c->n_rows - 1 - same] == c->t[c->n_rows - 1])
		same++;
	if (c->n_rows > 0) {
		c->skip = same + (c->t[c->n_rows - 1] == c->next_t ? c->skip : 0);
		c->next_t = c->t[c->n_rows - 1];
	}
	return SQLITE_OK;
}

/* Fills an empty buffer, from the next layout at the end of a layout. */
static int
settle(struct cursor *c)
{
	int rc = SQLITE_OK;

	while (rc == SQLITE_OK && c->row == c->n_rows && !c->base.eof)
		if (!c->layout_done)
			rc = fill(c);
		else if (c->listed || c->t_from > c->t_to)
			c->base.eof = true;
		else
			rc = layout_begin(c);
	return rc;
}

static void
bound_apply(struct cursor *c, const struct bound *b, sqlite3_value *v)
{
	int64_t low, high;

	if (!vtable_bound(v, &low, &high))
		return;
	if (b->from && low > c->t_from)
		c->t_from = low;
	if (b->to && high < c->t_to)
		c->t_to = high;
}

static int
step_take(struct cursor *c, sqlite3_value *v)
{
	c->step_ns = sqlite3_value_int64(v);
	if (sqlite3_value_type(v) == SQLITE_INTEGER && c->step_ns > 0)
		return SQLITE_OK;
	return vtable_failed(&c->base, NW_EINVAL, "sample: step_ns is a whole number above 0");
}

/* As SQLite compares: a number is below every text, and NULL leaves nothing. */
static void
n_take(struct cursor *c, sqlite3_value *v)
{
	int type = sqlite3_value_numeric_type(v);

	c->n_above =
	    type == SQLITE_INTEGER || type == SQLITE_FLOAT ? sqlite3_value_double(v) : INFINITY;
}

/* A bucket is a row of its table whole or not at all, so bounds of t_ns, the time of the last row
 * in a bucket, are widened to the ends of their buckets. */
static int
buckets_begin(struct cursor *c)
{
	if (c->step_ns == 0)
		return vtable_failed(&c->base, NW_EINVAL,
		    "sample_bucket: needs step_ns = N, the length of its buckets");
	if (c->t_from > INT64_MIN + c->step_ns)
		c->t_from = bucket_number(c->t_from, c->step_ns) * c->step_ns;
	if (c->t_to < INT64_MAX - c->step_ns && c->t_to > INT64_MIN + c->step_ns)
		c->t_to = (bucket_number(c->t_to, c->step_ns) + 1) * c->step_ns - 1;
	return SQLITE_OK;
}

static const double *
values_of(const struct cursor *c)
{
	return c->value + (c->row * c->n_series + c->at) * c->per;
}

static int
step(struct cursor *c)
{
	if (++c->at < c->n_series)
		return SQLITE_OK;
	c->at = 0;
	c->row++;
	return settle(c);
}

/* Steps over the rows that the least n leaves out. */
static int
pass(struct cursor *c)
{
	int rc = SQLITE_OK;

	while (rc == SQLITE_OK && c->n_above >= 0 && !c->base.eof &&
	    !(values_of(c)[STAT_N] > c->n_above))
		rc = step(c);
	return rc;
}

static int
filter(struct vtable_cursor *base, int plan, sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)base;
	int i, n = 0, rc;

	c->want_value = plan & PLAN_VALUE;
	c->by_series = plan & PLAN_BY_SERIES;
	c->t_from = INT64_MIN;
	c->t_to = INT64_MAX;
	c->n_rows = c->row = c->at = 0;
	c->layout_done = true;
	c->step_ns = 0;
	c->n_above = -1;
	for (i = 0; i < N_LOOKUPS; i++)
		if (plan & 1 << i) {
			if (lookups[i].column == C_STEP &&
			    (rc = step_take(c, argv[n])) != SQLITE_OK)
				return rc;
			if (lookups[i].column == C_N)
				n_take(c, argv[n]);
			n++;
		}
	for (i = 0; i < N_BOUNDS; i++)
		if (plan & 1 << (N_LOOKUPS + i))
			bound_apply(c, &bounds[i], argv[n++]);
	if (c->kind == TABLE_BUCKETS && (rc = buckets_begin(c)) != SQLITE_OK)
		return rc;
	if ((rc = list_begin(c, plan, argv)) != SQLITE_OK || (rc = list_step(c)) != SQLITE_OK ||
	    (rc = settle(c)) != SQLITE_OK)
		return rc;
	return pass(c);
}

static int
next(struct vtable_cursor *base)
{
	struct cursor *c = (struct cursor *)base;
	int rc = step(c);

	return rc == SQLITE_OK ? pass(c) : rc;
}

/* NaN becomes NULL */
static void
value_result(const struct cursor *c, sqlite3_context *ctx, enum column column)
{
	const double *v;

	if (!c->want_value)
		return;
	v = values_of(c);
	switch (column) {
	case C_VALUE:
		sqlite3_result_double(
		    ctx, c->kind == TABLE_BUCKETS ? v[STAT_SUM] / v[STAT_N] : v[0]);
		break;
	case C_N: sqlite3_result_int64(ctx, (int64_t)v[STAT_N]); break;
	case C_SUM: sqlite3_result_double(ctx, v[STAT_N] > 0 ? v[STAT_SUM] : NAN); break;
	case C_MIN: sqlite3_result_double(ctx, v[STAT_MIN]); break;
	case C_MAX: sqlite3_result_double(ctx, v[STAT_MAX]); break;
	case C_SD:
		sqlite3_result_double(
		    ctx, v[STAT_N] > 1 ? sqrt(v[STAT_M2] / (v[STAT_N] - 1)) : NAN);
		break;
	default: break;
	}
}

static void
column(const struct vtable_cursor *base, sqlite3_context *ctx, int column)
{
	const struct cursor *c = (const struct cursor *)base;
	const struct series *s = &c->series[c->at];

	switch ((enum column)column) {
	case C_SESSION:
		if (c->has_session)
			sqlite3_result_int64(ctx, c->session_id);
		break;
	case C_SERIES:
	case C_META: sqlite3_result_int64(ctx, c->meta_id); break;
	case C_LAYOUT: sqlite3_result_int64(ctx, c->layout_id); break;
	case C_HOST: vtable_text(ctx, s->text[S_HOST]); break;
	case C_SUBJECT: vtable_text(ctx, s->text[S_SUBJECT]); break;
	case C_EVENT: vtable_text(ctx, s->text[S_EVENT]); break;
	case C_FIELD: vtable_text(ctx, s->text[S_FIELD]); break;
	case C_UNIT: vtable_text(ctx, s->text[S_UNIT]); break;
	case C_T_NS: sqlite3_result_int64(ctx, c->t[c->row]); break;
	case C_TIME: vtable_text(ctx, fmt_iso_ns(c->t[c->row]).s); break;
	case C_STEP:
		if (c->step_ns > 0)
			sqlite3_result_int64(ctx, c->step_ns);
		break;
	case C_KEY:
		sqlite3_result_int64(
		    ctx, c->layout_id * TAIL_FIELDS_MAX + (int64_t)c->columns[c->at]);
		break;
	case C_BEGIN:
		sqlite3_result_int64(ctx, bucket_number(c->t[c->row], c->step_ns) * c->step_ns);
		break;
	default: value_result(c, ctx, (enum column)column);
	}
}

static int
open_samples(struct vtable_cursor *base)
{
	((struct cursor *)base)->per = 1;
	return SQLITE_OK;
}

static int
open_last(struct vtable_cursor *base)
{
	((struct cursor *)base)->kind = TABLE_LAST;
	return open_samples(base);
}

static int
open_buckets(struct vtable_cursor *base)
{
	((struct cursor *)base)->kind = TABLE_BUCKETS;
	((struct cursor *)base)->per = STATS;
	return SQLITE_OK;
}

#define SERIES_COLUMNS                                                                        \
	"(session_id INTEGER, host TEXT, series_id INTEGER, layout_id INTEGER, subject TEXT," \
	" event_type TEXT, field TEXT, unit TEXT, t_ns INTEGER, time TEXT, "
#define SERIES_TABLE(table, columns, begin)                                                 \
	{                                                                                   \
		.name = table, .declaration = "CREATE TABLE " table SERIES_COLUMNS columns, \
		.cursor_bytes = sizeof(struct cursor), .plan = plan, .open = begin,         \
		.clear = clear, .filter = filter, .next = next, .column = column            \
	}
static const struct vtable tables[TABLES] = {
	[TABLE_SAMPLES] = SERIES_TABLE("sample",
	    "value REAL, series INTEGER, meta_id INTEGER HIDDEN, step_ns INTEGER HIDDEN)",
	    open_samples),
	[TABLE_LAST] = SERIES_TABLE(
	    "sample_last", "value REAL, series INTEGER, meta_id INTEGER HIDDEN)", open_last),
	[TABLE_BUCKETS] = SERIES_TABLE("sample_bucket",
	    "mean REAL, series INTEGER, meta_id INTEGER HIDDEN, step_ns INTEGER HIDDEN,"
	    " begin_ns INTEGER, n INTEGER, sum REAL, min REAL, max REAL, sd REAL)",
	    open_buckets),
};

int
sqlmodule_register(sqlite3 *db, char **err)
{
	int rc = document_sql_register(db), i;

	for (i = 0; rc == SQLITE_OK && i < TABLES; i++)
		rc = vtable_register(db, &tables[i]);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, views, NULL, NULL, err);
	return rc == SQLITE_OK ? eventmodule_register(db, err) : rc;
}
