/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include "narrows/err.h"
#include "narrows/web.h"
#include "web/csv.h"
#include "narrows/format.h"
#include "web/shape.h"

enum { SLICE_METAS = 16 }; /* a slice ends after so many series even if they were empty */
#define STEP_MAX_NS (86400 * INT64_C(1000000000))

/* --- what is asked for --- */

static const struct shape *const shapes[] = {
	&shape_tidy,
	&shape_wide,
	&shape_keys,
	&shape_keys_long,
	&shape_ndjson,
	&shape_influx,
	&shape_bson,
	&shape_g1,
	&shape_g2,
	&shape_g3,
};

/* Seconds as ISO 8601 with Z, or an integer of ns. */
static bool
parse_time(const char *text, int64_t *t)
{
	char *end;

	if ((*t = fmt_parse_iso(text)) != 0)
		return true;
	errno = 0;
	*t = strtoll(text, &end, 10);
	return errno == 0 && end != text && *end == '\0';
}

/* 1s, 250ms, 5min */
static bool
parse_step(const char *text, int64_t *ns)
{
	static const struct {
		const char *unit;
		int64_t ns;
	} units[] = {
		{ "ns", 1 },
		{ "us", 1000 },
		{ "ms", 1000000 },
		{ "s", INT64_C(1000000000) },
		{ "min", INT64_C(60000000000) },
		{ "h", INT64_C(3600000000000) },
	};
	char *end;
	long long v;
	size_t i;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (errno != 0 || end == text || v < 1)
		return false;
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(end, units[i].unit) == 0 && v <= STEP_MAX_NS / units[i].ns) {
			*ns = v * units[i].ns;
			return true;
		}
	return false;
}

static const struct shape *
shape_named(const char *name, const char *ending)
{
	size_t i;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (strcmp(shapes[i]->ending, ending) == 0 &&
		    (name == NULL || strcmp(shapes[i]->name, name) == 0))
			return shapes[i];
	return NULL;
}

static int
opts_fill(struct export_opts *o, const char *ending, const struct evkeyvalq *q, const char **why)
{
	const char *eol = evhttp_find_header(q, "eol"), *safe = evhttp_find_header(q, "safe");
	const char *series = evhttp_find_header(q, "series"),
		   *step = evhttp_find_header(q, "resolution");
	const char *from = evhttp_find_header(q, "from"), *to = evhttp_find_header(q, "to");

	*o = (struct export_opts){ .t0_wall_ns = INT64_MIN, .t1_wall_ns = INT64_MAX };
	if ((o->shape = shape_named(evhttp_find_header(q, "shape"), ending)) == NULL)
		*why = "shape: tidy, wide, keys or keys-long; of .bson: bson, g1, g2 or g3";
	else if (eol != NULL && strcmp(eol, "lf") != 0 && strcmp(eol, "crlf") != 0)
		*why = "eol: lf or crlf";
	else if (safe != NULL && strcmp(safe, "0") != 0 && strcmp(safe, "1") != 0)
		*why = "safe: 0 or 1";
	else if (series != NULL && strlen(series) >= sizeof(o->series))
		*why = "series: too long";
	else if ((from != NULL && !parse_time(from, &o->t0_wall_ns)) ||
	    (to != NULL && !parse_time(to, &o->t1_wall_ns)))
		*why = "from, to: a time like 2026-11-20T08:12:11.25Z, or nanoseconds since 1970";
	else if (o->t0_wall_ns >= o->t1_wall_ns)
		*why = "from, to: the one has to be before the other";
	else if (step != NULL && !parse_step(step, &o->resolution_ns))
		*why = "resolution: a time like 250ms or 1min, at most 24h";
	else {
		o->crlf = eol != NULL && strcmp(eol, "crlf") == 0;
		o->safe_text = safe != NULL && strcmp(safe, "1") == 0;
		if (series != NULL)
			strcpy(o->series, series);
		return NW_OK;
	}
	return NW_EINVAL;
}

int
export_opts_parse(struct export_opts *o, const char *ending, const char *query, const char **why)
{
	struct evkeyvalq q = { 0 };
	int rc;

	if (query != NULL && *query != '\0' && evhttp_parse_query_str(query, &q) != 0) {
		*why = "the query makes no sense";
		return NW_EINVAL;
	}
	if (q.tqh_last == NULL) /* nothing parsed: still a list */
		q.tqh_last = &q.tqh_first;
	rc = opts_fill(o, ending, &q, why);
	evhttp_clear_headers(&q);
	return rc;
}

const char *
export_content_type(const struct export_opts *o)
{
	return o->shape->content_type;
}

const char *
export_ending(const struct export_opts *o)
{
	return o->shape->ending;
}

/* --- text --- */

static int
flush(struct export *x)
{
	size_t len = x->out_len;

	x->out_len = 0;
	return len > 0 ? x->write(x->write_arg, x->out, len) : NW_OK;
}

int
shape_put(struct export *x, const char *text, size_t len)
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

int
shape_puts(struct export *x, const char *text)
{
	return shape_put(x, text, strlen(text));
}

int
shape_end_line(struct export *x)
{
	return x->opts.crlf ? shape_put(x, "\r\n", 2) : shape_put(x, "\n", 1);
}

unsigned
shape_cell_how(const struct export *x)
{
	return x->opts.safe_text ? CSV_SAFE : 0;
}

int64_t
shape_t0(const struct export *x, const struct walk_meta *m)
{
	return x->opts.t0_wall_ns > m->t0_wall_ns ? x->opts.t0_wall_ns : m->t0_wall_ns;
}

int64_t
shape_t1(const struct export *x, const struct walk_meta *m)
{
	return x->opts.t1_wall_ns < m->t1_wall_ns ? x->opts.t1_wall_ns : m->t1_wall_ns;
}

/* --- series by series --- */

static char *
make_label(void *arg, const char *field)
{
	struct export *x = arg;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		return NULL;
	x->opts.shape->label(x, f, x->meta, field);
	if (fclose(f) != 0) {
		free(text);
		text = NULL;
	}
	return text;
}

static int
make_prefix(struct export *x)
{
	size_t len = 0;
	FILE *f = open_memstream(&x->prefix, &len);
	int rc;

	if (f == NULL)
		return NW_ENOMEM;
	rc = x->opts.shape->prefix(x, f, x->meta);
	return fclose(f) == 0 ? rc : NW_ENOMEM;
}

static void
series_close(struct export *x)
{
	merge_free(x->merge);
	free(x->prefix);
	x->merge = NULL;
	x->prefix = NULL;
	x->meta = NULL;
}

static int
series_open(struct export *x, bool *done)
{
	int rc;

	if ((rc = walk_next(x->walk, &x->meta)) < 0)
		return rc;
	*done = x->meta == NULL;
	if (*done)
		return NW_OK;
	if ((rc = make_prefix(x)) < 0)
		return rc;
	rc = merge_open(x->reader, x->meta->id, x->opts.resolution_ns, shape_t0(x, x->meta),
	    shape_t1(x, x->meta), make_label, x, &x->merge);
	if (rc == NW_OK && x->opts.shape->hist)
		merge_want_hist(x->merge);
	return rc;
}

/* Rows of the current series until it ends or the slice is full. */
static int
series_rows(struct export *x)
{
	struct merge_row row;
	int rc = NW_OK;

	while (x->slice_bytes < SHAPE_SLICE_BYTES) {
		if ((rc = merge_next(x->merge, &row)) <= 0) {
			series_close(x);
			return rc;
		}
		if ((rc = x->opts.shape->row(x, x->prefix, &row)) < 0)
			return rc;
	}
	return NW_OK;
}

static int
series_slice(struct export *x, bool *done)
{
	size_t metas;
	int rc;

	for (metas = 0; metas < SLICE_METAS && x->slice_bytes < SHAPE_SLICE_BYTES; metas++) {
		if (x->merge == NULL && ((rc = series_open(x, done)) < 0 || *done))
			return rc;
		if ((rc = series_rows(x)) < 0)
			return rc;
	}
	return NW_OK;
}

/* --- an export --- */

int
export_new(
    struct store_reader *r, int64_t session_id, const struct export_opts *o, struct export **out)
{
	struct export *x = calloc(1, sizeof(*x));
	int rc;

	if (x == NULL)
		return NW_ENOMEM;
	x->opts = *o;
	x->reader = r;
	x->session_id = session_id;
	if ((rc = walk_new(r, session_id, o->series, &x->walk)) < 0 ||
	    (o->shape->state_new != NULL && (rc = o->shape->state_new(x)) < 0)) {
		export_free(x);
		return rc;
	}
	*out = x;
	return NW_OK;
}

void
export_free(struct export *x)
{
	if (x == NULL)
		return;
	series_close(x);
	if (x->state != NULL)
		x->opts.shape->state_free(x->state);
	walk_free(x->walk);
	free(x);
}

static int
slice(struct export *x, bool *done)
{
	const struct shape *s = x->opts.shape;
	int rc;

	if (!x->header_written) {
		x->header_written = true;
		if (s->header != NULL &&
		    ((rc = shape_puts(x, s->header)) < 0 || (rc = shape_end_line(x)) < 0))
			return rc;
	}
	return s->slice != NULL ? s->slice(x, done) : series_slice(x, done);
}

int
export_next(struct export *x, export_write_fn *write, void *arg, bool *done)
{
	int rc, flushed;

	x->write = write;
	x->write_arg = arg;
	x->slice_bytes = 0;
	*done = false;
	rc = slice(x, done);
	flushed = flush(x);
	return rc < 0 ? rc : flushed;
}

int
export_session(struct store_reader *r, int64_t session_id, const struct export_opts *o,
    export_write_fn *write, void *arg)
{
	struct export *x = NULL;
	bool done = false;
	int rc;

	if ((rc = store_reader_begin(r)) < 0)
		return rc;
	rc = export_new(r, session_id, o, &x);
	while (rc >= 0 && !done)
		rc = export_next(x, write, arg, &done);
	export_free(x);
	store_reader_end(r);
	return rc < 0 ? rc : NW_OK;
}

int
web_csv_session(struct store_reader *r, int64_t session_id, export_write_fn *write, void *arg)
{
	struct export_opts o;
	const char *why;
	int rc = export_opts_parse(&o, ".csv", NULL, &why);

	return rc < 0 ? rc : export_session(r, session_id, &o, write, arg);
}
