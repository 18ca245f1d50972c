/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/evidence/hostmetrics.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "analyze/verdict/evidence/hosttime.h"
#include "narrows/eventtype.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"

static const double NS = 1e-9;
/* The first difference of a counter needs the sample before. */
static const int64_t LEAD_NS = 20000000000;
/* A value does not hold across a longer silence. */
static const int64_t SILENCE_NS = 120000000000;

/* A series, copied because the reader's text ends with the callback. */
struct series {
	int64_t meta_id;
	bool process;
	char *name; /* "disk:partition:sda", "process mover" */
	json_t *params;
};

struct loader {
	struct hostmetrics *m;
	struct series *series;
	size_t n_series;
	int64_t host_id;
	const struct series *now;
	bool process;
};

/* Resources used by processes. Bytes moved by processes, through calls or counted by the kernel
 * (read_bytes, write_bytes), are the response in other words, and left out. */
static const struct {
	const char *field, *unit;
	enum hostmetric_kind kind;
} process_fields[] = {
	{ "cpu_user", "s/s", METRIC_AMOUNT },
	{ "cpu_sys", "s/s", METRIC_AMOUNT },
	{ "cpu_wait", "s/s", METRIC_AMOUNT },
	{ "rss", "B", METRIC_GAUGE },
};

/* --- which series --- */

static char *
series_name(const struct nw_meta_rec *rec, bool process, const json_t *subject)
{
	const char *program = json_string_value(json_object_get(subject, "program"));
	char *name;

	if (!process) {
		if ((name = store_series_name(rec)) == NULL)
			name = xstrdup(rec->event_type + strlen(NW_TYPE_BLIPP));
		return name;
	}
	return program != NULL ? xasprintf("process %s", program) : xstrdup("process");
}

static int
on_meta(void *arg, const struct nw_meta_rec *rec)
{
	struct loader *l = arg;
	json_t *subject;
	struct series *s;

	/* Clocks are about the times of measurements, not about the host. */
	if (rec->host_id != l->host_id || nw_type_begins(rec->event_type, NW_TYPE_CLOCK))
		return 0;
	subject = json_loads(rec->subject_json != NULL ? rec->subject_json : "{}", 0, NULL);
	l->series = xreallocarray(l->series, l->n_series + 1, sizeof(*l->series));
	s = &l->series[l->n_series++];
	*s = (struct series){ .meta_id = rec->id,
		.process = l->process,
		.name = series_name(rec, l->process, subject),
		.params = json_loads(rec->params_json != NULL ? rec->params_json : "{}", 0, NULL) };
	json_decref(subject);
	return 0;
}

/* --- which columns --- */

/* Of a parameter's key: a field's name has 255 bytes at most. */
enum { PARAM_BYTES = 288 };

/* A parameter of a field: the field's own, else the parameter of the series. */
static const char *
field_param(const json_t *params, const char *what, const char *field)
{
	char key[PARAM_BYTES];
	const char *own = NULL;

	if (snprintf(key, sizeof(key), "%s_%s", what, field) < (int)sizeof(key))
		own = json_string_value(json_object_get(params, key));
	return own != NULL ? own : json_string_value(json_object_get(params, what));
}

static bool
column_kind(const struct series *s, const char *field, enum hostmetric_kind *kind, char **unit)
{
	const char *told;
	size_t i;

	if (!s->process) {
		told = field_param(s->params, "kind", field);
		*kind =
		    told != NULL && strcmp(told, "counter") == 0 ? METRIC_COUNTER : METRIC_GAUGE;
		told = field_param(s->params, "unit", field);
		*unit = told == NULL          ? NULL
		    : *kind == METRIC_COUNTER ? xasprintf("%s/s", told)
					      : xstrdup(told);
		return true;
	}
	for (i = 0; i < sizeof(process_fields) / sizeof(process_fields[0]); i++)
		if (strcmp(process_fields[i].field, field) == 0) {
			*kind = process_fields[i].kind;
			*unit = xstrdup(process_fields[i].unit);
			return true;
		}
	return false;
}

/* Index of a field's metric, or HOSTMETRICS_MAX. A series begun anew goes on in the old column. */
static size_t
metric_of(struct hostmetrics *m, const struct series *s, const char *field)
{
	struct hostmetric new = { .name = NULL }, *old;
	size_t i;

	if (!column_kind(s, field, &new.kind, &new.unit))
		return HOSTMETRICS_MAX;
	new.name = xasprintf("%s %s", s->name, field);
	new.name_len = strlen(new.name);
	for (i = 0; i < m->n; i++) {
		old = &m->metric[i];
		if (old->name_len == new.name_len && memcmp(old->name, new.name, new.name_len) == 0)
			break;
	}
	m->n_cut += i == m->n && m->n == HOSTMETRICS_MAX;
	if (i < m->n || m->n == HOSTMETRICS_MAX) {
		free(new.name);
		free(new.unit);
		return i;
	}
	new.x = xcalloc(m->n_rows, sizeof(*new.x));
	new.covered_ns = xcalloc(m->n_rows, sizeof(*new.covered_ns));
	if (m->n % 64 == 0)
		m->metric = xreallocarray(m->metric, m->n + 64, sizeof(*m->metric));
	m->metric[m->n] = new;
	return m->n++;
}

/* --- rows --- */

struct columns {
	int64_t layout_id;
	size_t n;
	size_t *metric;
	double *before;         /* last sample of each counter */
	int64_t before_wall_ns; /* time of the last sample; 0 before the first */
	int window;             /* index of the field with the interval's length in s, or -1 */
};
struct layouts {
	struct loader *l;
	struct columns *c;
	size_t n;
};

static int
on_layout(void *arg, const struct nw_layout_rec *rec)
{
	struct layouts *ls = arg;
	struct columns *c;
	size_t i;

	ls->c = xreallocarray(ls->c, ls->n + 1, sizeof(*ls->c));
	c = &ls->c[ls->n++];
	*c = (struct columns){ .layout_id = rec->id, .n = rec->n_fields, .window = -1 };
	c->metric = xcalloc(rec->n_fields + 1, sizeof(*c->metric));
	c->before = xcalloc(rec->n_fields + 1, sizeof(*c->before));
	for (i = 0; i < rec->n_fields; i++) {
		c->metric[i] = metric_of(ls->l->m, ls->l->now, rec->fields[i]);
		c->before[i] = NAN;
		if (strcmp(rec->fields[i], "window") == 0)
			c->window = (int)i;
	}
	return 0;
}

/* Where the fields of a row lie on the grid. */
struct stretch {
	size_t first, end; /* steps: one or two for most rows */
	double from, to;   /* relative to the grid */
};

static struct stretch
stretch_of(const struct hostmetrics *m, double from, double to)
{
	const double step = (double)m->step_ns;
	struct stretch s = {
		.first = from > 0 ? (size_t)(from / step) : 0, .from = from, .to = to
	};

	for (s.end = s.first; s.end < m->n_rows && (double)s.end * step < to; s.end++)
		continue;
	return s;
}

/* Holds a gauge, or spreads an amount, over the stretch. */
static void
metric_add(const struct hostmetrics *m, struct hostmetric *t, const struct stretch *s, double v)
{
	const double step = (double)m->step_ns;
	double lo, hi;
	size_t i;

	for (i = s->first; i < s->end; i++) {
		lo = (double)i * step;
		hi = (double)(i + 1) * step;
		lo = s->from > lo ? s->from : lo;
		hi = s->to < hi ? s->to : hi;
		t->x[i] += v * (hi - lo);
		t->covered_ns[i] += hi - lo;
	}
}

static void
row_add(struct hostmetrics *m, struct columns *c, const struct store_block *b, size_t row,
    double from, double to)
{
	const struct stretch s = stretch_of(m, from, to);
	size_t f;

	for (f = 0; f < c->n; f++) {
		double v = b->columns[f][row], before = c->before[f];
		struct hostmetric *t;

		if (c->metric[f] >= m->n)
			continue;
		t = &m->metric[c->metric[f]];
		c->before[f] = v;
		if (t->kind == METRIC_COUNTER)
			v = v >= before ? (v - before) / ((to - from) * NS) : NAN;
		else if (t->kind == METRIC_AMOUNT)
			v /= (to - from) * NS;
		if (isfinite(v))
			metric_add(m, t, &s, v);
	}
}

struct row_reader {
	struct hostmetrics *m;
	struct columns *c;
};

static int
on_block(void *arg, const struct store_block *b)
{
	struct row_reader *rr = arg;
	struct hostmetrics *m = rr->m;
	struct columns *c = rr->c;
	double from, to, window_s;
	size_t i, f;

	for (i = 0; i < b->n_rows; i++) {
		to = (double)(b->t_wall_ns[i] - m->t0_wall_ns);
		from = (double)(c->before_wall_ns - m->t0_wall_ns);
		window_s = c->window >= 0 ? b->columns[c->window][i] : NAN;
		if (window_s > 0 && window_s < 1e6)
			from = to - window_s / NS;
		if ((c->before_wall_ns != 0 || window_s > 0) && to > from &&
		    to - from < (double)SILENCE_NS)
			row_add(m, c, b, i, from, to);
		else
			for (f = 0; f < c->n; f++)
				c->before[f] = b->columns[f][i];
		c->before_wall_ns = b->t_wall_ns[i];
	}
	m->samples += b->n_rows * b->n_fields;
	return 0;
}

/* An idle device's sums per row are 0 from the first row to the last. */
static bool
is_idle(const struct hostmetrics *m, const struct hostmetric *t)
{
	size_t i;

	for (i = 0; i < m->n_rows; i++)
		if (t->x[i] != 0)
			return false;
	return true;
}

/* Whether the rows have a value of the series. */
static bool
is_told(const struct hostmetrics *m, const struct hostmetric *t)
{
	size_t i;

	for (i = 0; i < m->n_rows; i++)
		if (t->covered_ns[i] > 0)
			return true;
	return false;
}

static void
metric_free(struct hostmetric *t)
{
	free(t->name);
	free(t->unit);
	free(t->x);
	free(t->covered_ns);
}

/* Idle devices come by the hundred (loop, ram) and would use up the room for metrics; series of
 * other times say nothing. */
static void
idle_drop(struct hostmetrics *m, size_t from)
{
	size_t i, kept = from;

	for (i = from; i < m->n; i++) {
		struct hostmetric *t = &m->metric[i];

		if (!is_idle(m, t)) {
			m->metric[kept++] = *t;
			continue;
		}
		if (is_told(m, t)) {
			m->idle = xreallocarray(m->idle, m->n_idle + 1, sizeof(*m->idle));
			m->idle[m->n_idle++] = xstrdup(t->name);
		}
		metric_free(t);
	}
	m->n = kept;
}

static int
series_load(struct loader *l, struct store_reader *r, const struct series *s)
{
	struct layouts ls = { .l = l };
	size_t before = l->m->n;
	int64_t end = l->m->t0_wall_ns + (int64_t)l->m->n_rows * l->m->step_ns;
	size_t i;
	int rc;

	l->now = s;
	rc = store_layouts(r, s->meta_id, on_layout, &ls);
	for (i = 0; i < ls.n && rc == NW_OK; i++) {
		struct row_reader rr = { .m = l->m, .c = &ls.c[i] };

		rc = hosttime_rows(r, ls.c[i].layout_id, NULL, 0, l->m->t0_wall_ns - LEAD_NS,
		    end + LEAD_NS, l->m->ahead_ns, on_block, &rr);
	}
	for (i = 0; i < ls.n; i++) {
		free(ls.c[i].metric);
		free(ls.c[i].before);
	}
	free(ls.c);
	idle_drop(l->m, before);
	return rc;
}

/* Turns sums into means, and hardly covered rows into missing values. */
static void
column_finish(const struct hostmetrics *m, struct hostmetric *t)
{
	size_t i;

	for (i = 0; i < m->n_rows; i++)
		if (t->kind == METRIC_AMOUNT)
			t->x[i] /= (double)m->step_ns;
		else
			t->x[i] = t->covered_ns[i] >= 0.5 * (double)m->step_ns
			    ? t->x[i] / t->covered_ns[i]
			    : NAN;
	free(t->covered_ns);
	t->covered_ns = NULL;
}

int
hostmetrics_load(struct store_reader *r, int64_t host_id, const int64_t *sessions,
    size_t n_sessions, struct hostmetrics *out)
{
	struct loader l = { .m = out, .host_id = host_id };
	size_t i;
	int rc;

	rc = store_metas(r, 0, host_id, NW_TYPE_BLIPP, on_meta, &l);
	l.process = true;
	for (i = 0; i < n_sessions && rc == NW_OK; i++)
		rc = store_metas(r, sessions[i], 0, NW_TYPE_PROCESS, on_meta, &l);
	for (i = 0; i < l.n_series && rc == NW_OK; i++)
		rc = series_load(&l, r, &l.series[i]);
	for (i = 0; i < out->n; i++)
		column_finish(out, &out->metric[i]);
	for (i = 0; i < l.n_series; i++) {
		free(l.series[i].name);
		json_decref(l.series[i].params);
	}
	free(l.series);
	if (rc < 0)
		hostmetrics_clear(out);
	return rc;
}

void
hostmetrics_clear(struct hostmetrics *m)
{
	size_t i;

	for (i = 0; i < m->n; i++)
		metric_free(&m->metric[i]);
	for (i = 0; i < m->n_idle; i++)
		free(m->idle[i]);
	free(m->metric);
	free(m->idle);
	memset(m, 0, sizeof(*m));
}
