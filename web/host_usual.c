/* SPDX-License-Identifier: BSD-3-Clause */
/* The usual metrics of a host, MAIN, as they were last: gauges as the newest row has them, counters
 * as rates over the last minute. */
#include "web/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/main_metrics.h"
#include "web/table.h"

#define MINUTE_NS INT64_C(60000000000)
#define PREFIX    "ps:tools:blipp:linux:"

enum { ROWS_MAX = 100, TYPE_BYTES = 128 };

static const struct usual {
	const char *type, *field;
	bool counter;
	const char *unit, *words;
} usuals[] = {
#define USUAL(type, field, counter, unit, words) { type, field, counter, unit, words },
	NW_MAIN_METRICS(USUAL)
};

struct looking {
	struct html *h;
	struct store_reader *r;
	const struct usual *usual;
	const char *device;
	uint32_t field; /* of the layout that is read */
	int64_t last_wall_ns, first_wall_ns;
	double last, first;
	size_t n;
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

static int
on_newest(void *arg, const struct store_block *b)
{
	int64_t *t = arg;

	if (b->n_rows > 0)
		*t = b->t_wall_ns[b->n_rows - 1];
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

static struct fmt
value_text(const struct usual *u, double v)
{
	if (u->counter || strcmp(u->unit, "By/s") == 0)
		return fmt_bytes_per_s(v);
	if (strcmp(u->unit, "By") == 0)
		return fmt_bytes(v);
	if (strcmp(u->unit, "KiBy") == 0)
		return fmt_bytes(1024 * v);
	if (strcmp(u->unit, "ms") == 0)
		return fmt_si(v / 1e3, "s");
	return strcmp(u->unit, "1") == 0 ? fmt_share(v) : fmt_ratio(v);
}

enum { AT_METRIC, AT_DEVICE, AT_LATEST, AT_TIME };

static const struct table_column columns[] = {
	[AT_METRIC] = { .title = "Metric" },
	[AT_DEVICE] = { .title = "Of" },
	[AT_LATEST] = { .title = "Latest", .num = true },
	[AT_TIME] = { .title = "At" },
};

static void
write_row(struct looking *l)
{
	struct html *h = l->h;
	double v = value_of(l);

	if (l->n++ == 0)
		table_open(h, columns, sizeof(columns) / sizeof(columns[0]));
	html_raw(h, "<tr role=\"row\">");
	table_cell_open(h, &columns[AT_METRIC]);
	html_text(h, l->usual->words);
	table_cell_close(h);
	table_cell_open(h, &columns[AT_DEVICE]);
	page_name(h, l->device);
	table_cell_close(h);
	table_cell_open(h, &columns[AT_LATEST]);
	table_value(h, v, value_text(l->usual, v));
	table_cell_close(h);
	table_cell_open(h, &columns[AT_TIME]);
	page_time(h, l->last_wall_ns);
	table_cell_close(h);
	html_raw(h, "</tr>");
}

static int
on_layout(void *arg, const struct nw_layout_rec *layout)
{
	struct looking *l = arg;
	int64_t newest = 0;
	int rc;

	for (l->field = 0; l->field < layout->n_fields; l->field++)
		if (strcmp(layout->fields[l->field], l->usual->field) == 0)
			break;
	if (l->field == layout->n_fields)
		return 0;
	rc = store_last_row(l->r, layout->id, on_newest, &newest);
	if (rc == NW_ENOTFOUND || newest < MINUTE_NS || newest < l->last_wall_ns)
		return 0;
	l->first_wall_ns = 0;
	return rc < 0 ? rc
		      : store_rows_of(l->r, layout->id, &l->field, 1, newest - MINUTE_NS,
			    newest + 1, on_rows, l);
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
	const size_t len = strlen(PREFIX) + strlen(((struct looking *)arg)->usual->type);
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
		write_row(l);
	json_decref(subject);
	return rc < 0 ? rc : l->h->failed ? NW_ENOMEM : l->n >= ROWS_MAX;
}

int
host_usual(struct html *h, struct store_reader *r, const struct nw_host_rec *host)
{
	struct looking l = { .h = h, .r = r };
	char type[TYPE_BYTES];
	size_t i;
	int rc = NW_OK;

	html_raw(h, "<section id=\"usual\"><h2>Usual metrics</h2>");
	for (i = 0; i < sizeof(usuals) / sizeof(usuals[0]) && rc == NW_OK; i++) {
		l.usual = &usuals[i];
		snprintf(type, sizeof(type), PREFIX "%s", usuals[i].type);
		rc = store_metas(r, 0, host->id, type, on_meta, &l);
	}
	if (l.n > 0) {
		table_close(h);
		html_raw(h,
		    "<p class=\"note\">What people usually look at, beside the "
		    "metrics that the lists below found worth keeping. Amounts are rates over the "
		    "last minute.</p>");
	} else
		html_raw(h, "<p>The host sends none of them: <code>blipp</code> does.</p>");
	html_raw(h, "</section>");
	return rc < 0 ? rc : NW_OK;
}
