/* SPDX-License-Identifier: BSD-3-Clause */
/* The usual metrics of a host, MAIN, as they were last: gauges as the newest row has them, counters
 * as rates over the last minute. Whatever rests, at 0 or without a value, comes last: a host may
 * have more idle disks than a page has rows. */
#include "web/answer/hosts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/format.h"
#include "narrows/main_metrics.h"
#include "narrows/result.h"

#define MINUTE_NS INT64_C(60000000000)

/* Rows of the list; devices looked at for a metric. */
enum { ROWS_MAX = 100, LOOKED_MAX = 200, TYPE_BYTES = 128 };

static const struct usual {
	const char *type, *field;
	bool counter;
	const char *unit, *words;
} usuals[] = {
#define USUAL(type, field, counter, unit, words) { type, field, counter, unit, words },
	NW_MAIN_METRICS(USUAL)
};

struct looking {
	json_t *moved, *resting; /* rows */
	struct store_reader *r;
	const struct usual *usual;
	const char *device;
	size_t n_looked;
	uint32_t field; /* field's place in the layout in hand */
	int64_t last_wall_ns, first_wall_ns;
	double last, first;
};

static int
on_rows(void *arg, const struct store_block *b)
{
	struct looking *l = arg;
	size_t i;

	for (i = 0; i < b->n_rows && b->columns[l->field] != NULL; i++) {
		double v = b->columns[l->field][i];

		if (!isfinite(v))
			continue;
		if (l->first_wall_ns == 0) {
			l->first_wall_ns = b->t_wall_ns[i];
			l->first = v;
		}
		l->last_wall_ns = b->t_wall_ns[i];
		l->last = v;
	}
	return 0;
}

/* The newest row of a layout. */
struct newest {
	uint32_t field;
	int64_t t_wall_ns;
	double v; /* NaN: the row has none */
};

static int
on_newest(void *arg, const struct store_block *b)
{
	struct newest *row = arg;

	if (b->n_rows == 0)
		return 0;
	row->t_wall_ns = b->t_wall_ns[b->n_rows - 1];
	if (b->columns[row->field] != NULL)
		row->v = b->columns[row->field][b->n_rows - 1];
	return 0;
}

/* A counter of one row has no rate. */
static double
value_of(const struct looking *l)
{
	double s = (double)(l->last_wall_ns - l->first_wall_ns) / 1e9;

	if (!l->usual->counter)
		return l->last;
	return s > 0 && l->last >= l->first ? (l->last - l->first) / s : NAN;
}

/* A counter of bytes has a rate. */
static const char *
unit_of(const struct usual *u)
{
	return u->counter && strcmp(u->unit, "By") == 0 ? "By/s" : u->unit;
}

static int
list_add(struct looking *l)
{
	double v = value_of(l);
	json_t *list = isfinite(v) && v != 0 ? l->moved : l->resting, *o;
	char type[TYPE_BYTES];

	if (json_array_size(list) >= ROWS_MAX)
		return NW_OK;
	o = json_object();
	snprintf(type, sizeof(type), NW_TYPE_BLIPP "%s", l->usual->type);
	result_put_text(o, KEY_latest_metric_event_type, type);
	result_put_text(o, KEY_latest_metric_field, l->usual->field);
	result_put_text(o, KEY_latest_metric_words, l->usual->words);
	result_put_text(o, KEY_latest_metric_of, l->device);
	result_put_real(o, KEY_latest_metric_value, v);
	result_put_text(o, KEY_latest_metric_unit, unit_of(l->usual));
	result_put_text(o, KEY_latest_metric_at, fmt_iso(l->last_wall_ns, 3).s);
	return json_array_append_new(list, o) == 0 ? NW_OK : NW_ENOMEM;
}

static int
on_layout(void *arg, const struct nw_layout_rec *layout)
{
	struct looking *l = arg;
	struct newest row = { .v = NAN };
	int rc;

	for (l->field = 0; l->field < layout->n_fields; l->field++)
		if (strcmp(layout->fields[l->field], l->usual->field) == 0)
			break;
	if (l->field == layout->n_fields)
		return 0;
	row.field = l->field;
	rc = store_last_row(l->r, layout->id, on_newest, &row);
	if (rc == NW_ENOTFOUND || row.t_wall_ns < MINUTE_NS || row.t_wall_ns < l->last_wall_ns)
		return 0;
	l->first_wall_ns = 0;
	if (rc == NW_OK && !l->usual->counter && isfinite(row.v)) {
		l->last_wall_ns = row.t_wall_ns;
		l->last = row.v;
		return 0;
	}
	return rc < 0 ? rc
		      : store_rows_of(l->r, layout->id, &l->field, 1, row.t_wall_ns - MINUTE_NS,
			    row.t_wall_ns + 1, on_rows, l);
}

/* The device, whatever the subject calls it; "" for the host itself. */
static const char *
device_of(const json_t *subject)
{
	const json_t *v;
	const char *key;

	json_object_foreach(
	    (json_t *)(uintptr_t)subject, key, v) if (strcmp(key, "hostname") != 0 &&
	    strcmp(key, "type") != 0 && json_is_string(v)) return json_string_value(v);
	return "";
}

static int
on_meta(void *arg, const struct nw_meta_rec *m)
{
	const size_t len = strlen(NW_TYPE_BLIPP) + strlen(((struct looking *)arg)->usual->type);
	struct looking *l = arg;
	json_t *subject;
	int rc;

	/* "disk:partition:sda", but not "cpu:loads" */
	if (m->event_type[len] != '\0' && m->event_type[len] != ':')
		return 0;
	subject = m->subject_json != NULL ? json_loads(m->subject_json, 0, NULL) : NULL;
	l->device = device_of(subject);
	l->last_wall_ns = l->first_wall_ns = 0;
	rc = store_layouts(l->r, m->id, on_layout, l);
	if (rc == NW_OK && l->last_wall_ns != 0)
		rc = list_add(l);
	json_decref(subject);
	return rc < 0 ? rc : ++l->n_looked >= LOOKED_MAX;
}

int
host_latest_list(struct store_reader *r, const struct nw_host_rec *host, json_t **out)
{
	struct looking l = { .r = r, .moved = json_array(), .resting = json_array() };
	char type[TYPE_BYTES];
	size_t i;
	int rc = NW_OK;

	for (i = 0; i < sizeof(usuals) / sizeof(usuals[0]) && rc >= 0; i++) {
		l.usual = &usuals[i];
		l.n_looked = 0;
		snprintf(type, sizeof(type), NW_TYPE_BLIPP "%s", usuals[i].type);
		rc = store_metas(r, 0, host->id, type, on_meta, &l);
	}
	for (i = 0; rc >= 0 && i < json_array_size(l.resting); i++)
		if (json_array_size(l.moved) < ROWS_MAX &&
		    json_array_append(l.moved, json_array_get(l.resting, i)) != 0)
			rc = NW_ENOMEM;
	json_decref(l.resting);
	*out = l.moved;
	if (rc < 0) {
		json_decref(l.moved);
		*out = NULL;
	}
	return rc < 0 ? rc : NW_OK;
}
