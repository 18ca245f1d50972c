/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tidy CSV, RFC 4180 with LF: one value per line, so any statistics program reads it without being told anything.
 *
 *	session,series_id,host,subject,event_type,field,unit,time,t_ns,value
 *
 * series_id is the id of the metadata in the store; with `field` it names one series. Rows are ordered by series_id
 * (the session's own first, then each host's), then time. A metadata has one layout per set of fields that arrived
 * together; its layouts are merged by time here. Values that are missing have no line.
 *
 * Memory: one window of series descriptions and ROW_VALUES_MAX values, however long the session. Instead of holding a
 * query open while the client reads, an export remembers per layout how far it is, and seeks.
 */
#include "web/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "narrows/err.h"
#include "narrows/web.h"
#include "web/fmt.h"

enum {
	WINDOW_METAS = 256,
	ROW_VALUES_MAX = 1 << 16,
	ROWS_MIN = 64,
	OUT_BYTES = 32768,
	SLICE_BYTES = 65536,
	SLICE_METAS = 16,                       /* a slice ends after so many series even if they were empty */
};

struct csv_host { int64_t id; char *name; };

struct csv_meta {
	int64_t id, host_id;
	char *event_type, *subject_json, *params_json;
};

/* One layout of the current series and the rows of it that are read but not written. */
struct csv_layout {
	int64_t id;
	size_t n_fields;
	char **labels;                          /* "field,unit," per field */
	int64_t *t;
	double *values;
	size_t cap, n, pos;
	int64_t next_t;                         /* where reading goes on ... */
	size_t skip;                            /* ... after so many rows of exactly that time */
	bool at_end;
};

struct csv_export {
	struct store_reader *reader;
	int64_t session_id, host_t0, host_t1;   /* hosts' own series count from t0 to before t1 */
	bool header_written;

	struct csv_host *hosts;
	size_t n_hosts, source;                 /* 0: the session's series; k: those of hosts[k - 1] */

	struct csv_meta metas[WINDOW_METAS];
	size_t n_metas, meta;
	int64_t after_id;
	bool last_window;

	struct csv_layout *layouts;
	size_t n_layouts;
	bool in_meta;
	char *prefix;                           /* "session,series_id,host,subject,event_type," */

	csv_write_fn *write;
	void *write_arg;
	size_t slice_bytes;
	size_t out_len;
	char out[OUT_BYTES];
};

/* --- text --- */

static int
flush(struct csv_export *x)
{
	size_t len = x->out_len;

	x->out_len = 0;
	return len > 0 ? x->write(x->write_arg, x->out, len) : NW_OK;
}

static int
put(struct csv_export *x, const char *text, size_t len)
{
	int rc;

	x->slice_bytes += len;
	if (len > sizeof(x->out) - x->out_len) {
		if ((rc = flush(x)) < 0)
			return rc;
		if (len > sizeof(x->out))
			return x->write(x->write_arg, text, len);
	}
	memcpy(x->out + x->out_len, text, len);
	x->out_len += len;
	return NW_OK;
}

/* Room for a cell of `len` bytes in which every byte is doubled, quotes and a comma. */
#define CELL_BYTES(len) (2 * (len) + 3)

static char *
put_cell(char *out, const char *text, bool always_quote)
{
	if (!always_quote && text[strcspn(text, ",\"\r\n")] == '\0') {
		out = stpcpy(out, text);
	} else {
		*out++ = '"';
		for (; *text != '\0'; text++) {
			if (*text == '"')
				*out++ = '"';
			*out++ = *text;
		}
		*out++ = '"';
	}
	*out++ = ',';
	*out = '\0';
	return out;
}

/* {"sport":1,"dport":2} as sport=1;dport=2. What is not an object stays as it is. */
static char *
flatten_subject(const char *subject_json)
{
	json_t *subject = subject_json != NULL ? json_loads(subject_json, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const char *key;
	char *flat = NULL, *value;
	size_t len = 0;
	json_t *v;
	FILE *f;

	if (!json_is_object(subject)) {
		json_decref(subject);
		return strdup(subject_json != NULL ? subject_json : "");
	}
	if ((f = open_memstream(&flat, &len)) == NULL)
		goto out;
	json_object_foreach(subject, key, v) {
		fprintf(f, "%s%s=", ftello(f) > 0 ? ";" : "", key);
		if (json_is_string(v))
			fputs(json_string_value(v), f);
		else if ((value = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT)) != NULL) {
			fputs(value, f);
			free(value);
		}
	}
	if (fclose(f) != 0) {
		free(flat);
		flat = NULL;
	}
out:
	json_decref(subject);
	return flat;
}

/* --- units --- */

struct named_unit { const char *name, *unit; };

static const char *
find_unit(const struct named_unit *table, size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(table[i].name, name) == 0)
			return table[i].unit;
	return NULL;
}

#define FIND_UNIT(table, name) find_unit((table), sizeof(table) / sizeof((table)[0]), (name))

/* Of our own names only: others end names in _s for "per second". */
static const char *
unit_of_name(const char *field)
{
	/* sum_v, mean_r, ...: the letter says of what */
	static const struct named_unit letters[] = { { "v", "By" }, { "d", "s" }, { "r", "By/ns" }, { "g", "ns/By" } };
	static const struct named_unit stats[] = { { "sum", "" }, { "min", "" }, { "max", "" }, { "mean", "" }, { "sd", "" } };
	static const struct named_unit names[] = {
		{ "count", "1" }, { "count_r", "1" }, { "threads", "1" }, { "clamped", "1" }, { "missed_ops", "1" }, { "retrans", "1" },
		{ "dur", "s" }, { "dur_inst", "s" }, { "window", "s" }, { "busy", "s" }, { "busy_max", "s" }, { "wait", "s" },
		{ "cpu_user", "s" }, { "cpu_sys", "s" }, { "bytes_in", "By" }, { "bytes_out", "By" }, { "rchar", "By" },
		{ "wchar", "By" }, { "rss", "By" }, { "seen_read", "By" }, { "seen_written", "By" }, { "snd_mss", "By" },
		{ "delivery_rate", "By/s" },
	};
	static const struct named_unit ends[] = { { "bytes", "By" }, { "s", "s" }, { "ns", "ns" }, { "share", "1" } };
	const char *unit = FIND_UNIT(names, field), *end = strrchr(field, '_');
	char stat[8];

	if (unit != NULL || end == NULL)
		return unit;
	if ((unit = FIND_UNIT(letters, end + 1)) == NULL)
		return FIND_UNIT(ends, end + 1);
	snprintf(stat, sizeof(stat), "%.*s", (int)(end - field), field);
	return FIND_UNIT(stats, stat) != NULL ? unit : NULL;
}

static bool
is_ours(const char *event_type)
{
	return strncmp(event_type, "nw:", 3) == 0 || strstr(event_type, ":calipers:") != NULL;
}

const char *
csv_unit(const char *event_type, const char *params_json, const char *field, char *buf, size_t size)
{
	json_t *params = params_json != NULL ? json_loads(params_json, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const char *unit;

	snprintf(buf, size, "unit_%s", field);
	if ((unit = json_string_value(json_object_get(params, buf))) == NULL)
		unit = json_string_value(json_object_get(params, "unit"));
	if (unit == NULL && is_ours(event_type))
		unit = unit_of_name(field);
	snprintf(buf, size, "%s", unit != NULL ? unit : "");
	json_decref(params);
	return buf;
}

/* --- what belongs to the session --- */

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct csv_export *x = arg;

	x->host_t0 = s->opened_wall_ns;
	x->host_t1 = INT64_MAX;
	if (s->closed_wall_ns != 0)
		x->host_t1 = (s->closed_wall_ns > s->last_data_wall_ns ? s->closed_wall_ns : s->last_data_wall_ns) + 1;
	/* a session opens at the box; what it measured may have begun before */
	if (res != NULL && res->start_wall_ns != 0 && res->start_wall_ns < x->host_t0)
		x->host_t0 = res->start_wall_ns;
	return 0;
}

static int
on_xsp(void *arg, const struct nw_xsp_rec *xsp)
{
	struct csv_export *x = arg;
	struct csv_host *grown;
	size_t i;

	for (i = 0; i < x->n_hosts; i++)
		if (x->hosts[i].id == xsp->host_id)
			return 0;
	if ((grown = reallocarray(x->hosts, x->n_hosts + 1, sizeof(*grown))) == NULL)
		return NW_ENOMEM;
	x->hosts = grown;
	x->hosts[x->n_hosts++] = (struct csv_host){ .id = xsp->host_id };
	return 0;
}

static int
on_host(void *arg, const struct nw_host_rec *host)
{
	struct csv_host *h = arg;

	return (h->name = strdup(host->name != NULL ? host->name : "")) != NULL ? 0 : NW_ENOMEM;
}

int
csv_export_new(struct store_reader *r, int64_t session_id, struct csv_export **out)
{
	struct csv_export *x = calloc(1, sizeof(*x));
	size_t i;
	int rc;

	if (x == NULL)
		return NW_ENOMEM;
	x->reader = r;
	x->session_id = session_id;
	if ((rc = store_session_get(r, session_id, on_session, x)) < 0 ||
	    (rc = store_xsp_of_session(r, session_id, on_xsp, x)) < 0)
		goto out;
	for (i = 0; i < x->n_hosts; i++)
		if ((rc = store_host_get(r, x->hosts[i].id, on_host, &x->hosts[i])) < 0 && rc != NW_ENOTFOUND)
			goto out;
	*out = x;
	return NW_OK;
out:
	csv_export_free(x);
	return rc;
}

/* --- windows of series --- */

static void
metas_clear(struct csv_export *x)
{
	size_t i;

	for (i = 0; i < x->n_metas; i++) {
		free(x->metas[i].event_type);
		free(x->metas[i].subject_json);
		free(x->metas[i].params_json);
	}
	x->n_metas = x->meta = 0;
}

static char *
dup_or_empty(const char *text)
{
	return strdup(text != NULL ? text : "");
}

static int
on_meta(void *arg, const struct nw_meta_rec *m)
{
	struct csv_export *x = arg;
	struct csv_meta *copy = &x->metas[x->n_metas];

	if (m->id <= x->after_id)
		return 0;
	if (x->n_metas == WINDOW_METAS) {
		x->last_window = false;
		return 1;
	}
	*copy = (struct csv_meta){ .id = m->id, .host_id = m->host_id };
	x->n_metas++;
	if ((copy->event_type = dup_or_empty(m->event_type)) == NULL ||
	    (copy->subject_json = dup_or_empty(m->subject_json)) == NULL ||
	    (copy->params_json = dup_or_empty(m->params_json)) == NULL)
		return NW_ENOMEM;
	return 0;
}

static int
window_load(struct csv_export *x)
{
	bool of_host = x->source > 0;
	int rc;

	metas_clear(x);
	x->last_window = true;
	rc = store_metas(x->reader, of_host ? 0 : x->session_id, of_host ? x->hosts[x->source - 1].id : 0, NULL,
	    on_meta, x);
	if (x->n_metas > 0)
		x->after_id = x->metas[x->n_metas - 1].id;
	return rc;
}

/* --- one series --- */

static void
layouts_clear(struct csv_export *x)
{
	size_t i, k;

	for (i = 0; i < x->n_layouts; i++) {
		for (k = 0; k < x->layouts[i].n_fields; k++)
			free(x->layouts[i].labels[k]);
		free(x->layouts[i].labels);
		free(x->layouts[i].t);
		free(x->layouts[i].values);
	}
	free(x->layouts);
	x->layouts = NULL;
	x->n_layouts = 0;
	free(x->prefix);
	x->prefix = NULL;
	x->in_meta = false;
}

static char *
label_new(const struct csv_meta *m, const char *field)
{
	char unit[128], *label;

	csv_unit(m->event_type, m->params_json, field, unit, sizeof(unit));
	label = malloc(CELL_BYTES(strlen(field)) + CELL_BYTES(strlen(unit)) + 1);
	if (label != NULL)
		put_cell(put_cell(label, field, false), unit, false);
	return label;
}

static int
on_layout(void *arg, const struct nw_layout_rec *rec)
{
	struct csv_export *x = arg;
	struct csv_layout *grown = reallocarray(x->layouts, x->n_layouts + 1, sizeof(*grown)), *l;
	size_t k;

	if (grown == NULL)
		return NW_ENOMEM;
	x->layouts = grown;
	l = &x->layouts[x->n_layouts++];
	*l = (struct csv_layout){ .id = rec->id, .next_t = x->source > 0 ? x->host_t0 : INT64_MIN };
	if ((l->labels = calloc(rec->n_fields > 0 ? rec->n_fields : 1, sizeof(*l->labels))) == NULL)
		return NW_ENOMEM;
	l->n_fields = rec->n_fields;
	for (k = 0; k < rec->n_fields; k++)
		if ((l->labels[k] = label_new(&x->metas[x->meta], rec->fields[k])) == NULL)
			return NW_ENOMEM;
	return 0;
}

static const char *
host_name(const struct csv_export *x, int64_t id)
{
	size_t i;

	for (i = 0; i < x->n_hosts; i++)
		if (x->hosts[i].id == id && x->hosts[i].name != NULL)
			return x->hosts[i].name;
	return "";
}

static int
prefix_make(struct csv_export *x, const struct csv_meta *m)
{
	const char *host = host_name(x, m->host_id);
	char *subject = flatten_subject(m->subject_json), *at;

	if (subject == NULL)
		return NW_ENOMEM;
	x->prefix = malloc(64 + CELL_BYTES(strlen(host)) + CELL_BYTES(strlen(subject)) +
	    CELL_BYTES(strlen(m->event_type)));
	if (x->prefix != NULL) {
		at = stpcpy(x->prefix, fmt_int(x->session_id).s);
		*at++ = ',';
		at = stpcpy(at, fmt_int(m->id).s);
		*at++ = ',';
		at = put_cell(at, host, false);
		at = put_cell(at, subject, true);
		put_cell(at, m->event_type, false);
	}
	free(subject);
	return x->prefix != NULL ? NW_OK : NW_ENOMEM;
}

/* Shares the memory for rows among the layouts of the series. */
static int
layouts_reserve(struct csv_export *x)
{
	size_t columns = 0, rows, i;

	for (i = 0; i < x->n_layouts; i++)
		columns += x->layouts[i].n_fields + 1;
	rows = columns > 0 ? ROW_VALUES_MAX / columns : 0;
	if (rows < ROWS_MIN)
		rows = ROWS_MIN;
	for (i = 0; i < x->n_layouts; i++) {
		struct csv_layout *l = &x->layouts[i];

		l->cap = rows;
		if ((l->t = calloc(rows, sizeof(*l->t))) == NULL ||
		    (l->values = calloc(rows * (l->n_fields > 0 ? l->n_fields : 1), sizeof(*l->values))) == NULL)
			return NW_ENOMEM;
	}
	return NW_OK;
}

static int
meta_open(struct csv_export *x)
{
	const struct csv_meta *m = &x->metas[x->meta];
	int rc;

	if ((rc = prefix_make(x, m)) < 0 ||
	    (rc = store_layouts(x->reader, m->id, on_layout, x)) < 0 ||
	    (rc = layouts_reserve(x)) < 0)
		layouts_clear(x);
	else
		x->in_meta = true;
	return rc;
}

/* --- rows --- */

struct refill { struct csv_layout *l; size_t skip; };

static int
on_block(void *arg, const struct store_block *b)
{
	struct refill *fill = arg;
	struct csv_layout *l = fill->l;
	size_t i, k;

	if (b->n_fields != l->n_fields)
		return NW_ECORRUPT;
	for (i = 0; i < b->n_rows; i++) {
		if (fill->skip > 0 && b->t_wall_ns[i] == l->next_t) {
			fill->skip--;
			continue;
		}
		if (l->n == l->cap) {
			l->at_end = false;
			return 1;
		}
		l->t[l->n] = b->t_wall_ns[i];
		for (k = 0; k < l->n_fields; k++)
			l->values[l->n * l->n_fields + k] = b->columns[k][i];
		l->n++;
	}
	return 0;
}

/* Reads on where the rows of this layout ended. Several rows may have that same time: they are counted over. */
static int
layout_refill(struct csv_export *x, struct csv_layout *l)
{
	struct refill fill = { .l = l, .skip = l->skip };
	size_t same;
	int rc;

	l->n = l->pos = 0;
	l->at_end = true;
	rc = store_rows(x->reader, l->id, l->next_t, x->source > 0 ? x->host_t1 : INT64_MAX, on_block, &fill);
	if (rc < 0 || l->n == 0)
		return rc;
	for (same = 0; same < l->n && l->t[l->n - 1 - same] == l->t[l->n - 1]; same++)
		;
	l->skip = same + (same == l->n && l->t[0] == l->next_t ? l->skip : 0);
	l->next_t = l->t[l->n - 1];
	return NW_OK;
}

/* The layout whose next row is the earliest; NULL when all rows are written. */
static int
layout_next(struct csv_export *x, struct csv_layout **out)
{
	struct csv_layout *best = NULL;
	size_t i;
	int rc;

	for (i = 0; i < x->n_layouts; i++) {
		struct csv_layout *l = &x->layouts[i];

		if (l->pos == l->n && !l->at_end && (rc = layout_refill(x, l)) < 0)
			return rc;
		if (l->pos < l->n && (best == NULL || l->t[l->pos] < best->t[best->pos]))
			best = l;
	}
	*out = best;
	return NW_OK;
}

static int
write_row(struct csv_export *x, struct csv_layout *l)
{
	const double *values = &l->values[l->pos * l->n_fields];
	int64_t t = l->t[l->pos++];
	struct fmt time = fmt_iso_ns(t), t_ns = fmt_int(t), value;
	size_t k;
	char tail[3 * sizeof(struct fmt)];
	int rc;

	for (k = 0; k < l->n_fields; k++) {
		if (isnan(values[k]))
			continue;
		value = fmt_exact(values[k]);
		if ((rc = put(x, x->prefix, strlen(x->prefix))) < 0 ||
		    (rc = put(x, l->labels[k], strlen(l->labels[k]))) < 0 ||
		    (rc = put(x, tail, (size_t)snprintf(tail, sizeof(tail), "%s,%s,%s\n", time.s, t_ns.s, value.s))) < 0)
			return rc;
	}
	return NW_OK;
}

/* Rows of the current series until it ends (*done) or the slice is full. */
static int
write_rows(struct csv_export *x, bool *done)
{
	struct csv_layout *l;
	int rc;

	while (x->slice_bytes < SLICE_BYTES) {
		if ((rc = layout_next(x, &l)) < 0)
			return rc;
		if (l == NULL) {
			*done = true;
			return NW_OK;
		}
		if ((rc = write_row(x, l)) < 0)
			return rc;
	}
	*done = false;
	return NW_OK;
}

/* Opens the next series, from the next window or host if need be. *done: there is none. */
static int
next_meta(struct csv_export *x, bool *done)
{
	int rc;

	while (x->meta == x->n_metas) {
		if (x->last_window) {
			x->last_window = false;
			x->after_id = 0;
			x->source++;
		}
		if (x->source > x->n_hosts) {
			*done = true;
			return NW_OK;
		}
		if ((rc = window_load(x)) < 0)
			return rc;
	}
	return meta_open(x);
}

static int
write_slice(struct csv_export *x, bool *done)
{
	static const char header[] = "session,series_id,host,subject,event_type,field,unit,time,t_ns,value\n";
	size_t metas;
	bool ended;
	int rc = NW_OK;

	if (!x->header_written) {
		x->header_written = true;
		if ((rc = put(x, header, sizeof(header) - 1)) < 0)
			return rc;
	}
	for (metas = 0; metas < SLICE_METAS && x->slice_bytes < SLICE_BYTES; metas++) {
		if (!x->in_meta && ((rc = next_meta(x, done)) < 0 || *done))
			return rc;
		if ((rc = write_rows(x, &ended)) < 0)
			return rc;
		if (ended) {
			layouts_clear(x);
			x->meta++;
		}
	}
	return NW_OK;
}

int
csv_export_next(struct csv_export *x, csv_write_fn *write, void *arg, bool *done)
{
	int rc, flushed;

	x->write = write;
	x->write_arg = arg;
	x->slice_bytes = 0;
	*done = false;
	rc = write_slice(x, done);
	flushed = flush(x);
	return rc < 0 ? rc : flushed;
}

void
csv_export_free(struct csv_export *x)
{
	size_t i;

	if (x == NULL)
		return;
	metas_clear(x);
	layouts_clear(x);
	for (i = 0; i < x->n_hosts; i++)
		free(x->hosts[i].name);
	free(x->hosts);
	free(x);
}

int
web_csv_session(struct store_reader *r, int64_t session_id,
    int (*write)(void *arg, const char *text, size_t len), void *arg)
{
	struct csv_export *x = NULL;
	bool done = false;
	int rc;

	if ((rc = store_reader_begin(r)) < 0)
		return rc;
	rc = csv_export_new(r, session_id, &x);
	while (rc >= 0 && !done)
		rc = csv_export_next(x, write, arg, &done);
	csv_export_free(x);
	store_reader_end(r);
	return rc < 0 ? rc : NW_OK;
}
