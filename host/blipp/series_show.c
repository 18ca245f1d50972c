/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/series_show.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/blipp/nodename.h"
#include "narrows/csv.h"
#include "narrows/err.h"
#include "narrows/jsontext.h"
#include "narrows/main_metrics.h"
#include "narrows/eventtype.h"
#include "narrows/tcpname.h"
#include "narrows/terminal.h"

/* One value, with texts of its own: series and tables change from round to round. */
struct show_row {
	int64_t t_wall_ns;
	char *texts; /* owner of the following */
	const char *event_type, *key, *device, *field, *unit, *probe, *source;
	bool counter;
	double value;
};

enum show_format
show_format_parse(const char *name)
{
	static const struct {
		const char *name;
		enum show_format format;
	} formats[] = { { "csv", SHOW_CSV }, { "json", SHOW_JSON },
		{ "openmetrics", SHOW_OPENMETRICS } };
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(name, formats[i].name) == 0)
			return formats[i].format;
	return SHOW_NONE;
}

/* --- taking --- */

static const char *
put_text(char **at, const char *text)
{
	char *start = *at;

	*at = stpcpy(*at, text) + 1;
	return start;
}

static bool
row_fill(struct show_row *row, const struct series *s, const struct series_kind *kind, size_t i)
{
	const struct series_field *f = &kind->fields[i];
	const char *key = kind->device_key != NULL ? kind->device_key : "";
	char *at = malloc(strlen(kind->event_type) + strlen(key) + strlen(s->device) +
	    strlen(f->name) + strlen(f->unit) + 5);

	if ((row->texts = at) == NULL)
		return false;
	row->event_type = put_text(&at, kind->event_type);
	row->key = put_text(&at, key);
	row->device = put_text(&at, s->device);
	row->field = put_text(&at, f->name);
	row->unit = put_text(&at, f->unit);
	row->counter = f->counter;
	return true;
}

int
show_take(
    struct report *r, const struct series *s, const struct series_kind *kind, const double *values)
{
	struct show *w = r->out_arg;
	struct show_row *rows;
	size_t i;

	if (w->n + kind->n_fields > w->cap) {
		w->cap = 2 * w->cap + kind->n_fields;
		if ((rows = reallocarray(w->rows, w->cap, sizeof(*rows))) == NULL) {
			w->failed = true;
			return NW_ENOMEM;
		}
		w->rows = rows;
	}
	for (i = 0; i < kind->n_fields; i++) {
		if (isnan(values[i]))
			continue;
		if (!row_fill(&w->rows[w->n], s, kind, i)) {
			w->failed = true;
			return NW_ENOMEM;
		}
		w->rows[w->n].t_wall_ns = r->t_wall_ns;
		w->rows[w->n].value = values[i];
		w->rows[w->n].source = w->source != NULL ? w->source : "-";
		w->rows[w->n++].probe = w->probe;
	}
	r->values += kind->n_fields;
	return NW_OK;
}

void
show_clear(struct show *w)
{
	while (w->n > 0)
		free(w->rows[--w->n].texts);
	free(w->rows);
	memset(w, 0, sizeof(*w));
}

static bool
sampled_since(const struct show *w, size_t n, const char *probe)
{
	for (; n < w->n; n++)
		if (w->rows[n].probe == probe)
			return true;
	return false;
}

static void
row_forget(struct show_row *row)
{
	free(row->texts);
	row->texts = NULL;
}

static void
rows_sweep(struct show *w)
{
	size_t i, kept = 0;

	for (i = 0; i < w->n; i++)
		if (w->rows[i].texts != NULL)
			w->rows[kept++] = w->rows[i];
	w->n = kept;
}

void
show_keep_latest(struct show *w, size_t n)
{
	size_t i;

	for (i = 0; i < n && i < w->n; i++)
		if (sampled_since(w, n, w->rows[i].probe))
			row_forget(&w->rows[i]);
	rows_sweep(w);
}

static bool
same_field(const struct show_row *a, const struct show_row *b)
{
	return a->probe == b->probe && strcmp(a->field, b->field) == 0 &&
	    strcmp(a->device, b->device) == 0 && strcmp(a->event_type, b->event_type) == 0;
}

void
show_keep_last_of_field(struct show *w)
{
	size_t i, k;

	for (i = 0; i < w->n; i++)
		for (k = i + 1; k < w->n; k++)
			if (same_field(&w->rows[i], &w->rows[k])) {
				row_forget(&w->rows[i]);
				break;
			}
	rows_sweep(w);
}

/* --- writing --- */

static const char *
kind_word(const struct show_row *r)
{
	return r->counter ? "counter" : "gauge";
}

/* The event type below the common prefix, without the colon before a device's name. */
static void
short_type(const char *type, char *out, size_t cap)
{
	size_t len;

	if (nw_type_begins(type, SERIES_PREFIX))
		type += strlen(SERIES_PREFIX);
	len = strlen(type);
	snprintf(out, cap, "%.*s", (int)(len > 0 && type[len - 1] == ':' ? len - 1 : len), type);
}

static bool
is_main(const char *type, const char *field)
{
	static const struct {
		const char *type, *field;
	} mains[] = {
#define MAIN(type, field, counter, unit, words) { type, field },
		NW_MAIN_METRICS(MAIN)
	};
	size_t i;

	for (i = 0; i < sizeof(mains) / sizeof(mains[0]); i++)
		if (strcmp(mains[i].type, type) == 0 && strcmp(mains[i].field, field) == 0)
			return true;
	return false;
}

/* device: NULL for the host itself. */
static void
list_line(const struct show_probe *probe, const char *event_type, const char *device,
    const struct series_field *f, bool here, FILE *to)
{
	const char *rfc4898 =
	    nw_type_begins(event_type, NW_TYPE_TCP) ? nw_tcp_rfc4898(f->name) : "";
	char type[SERIES_EVENT_BYTES];

	short_type(event_type, type, sizeof(type));
	fprintf(to, "%s %s%s%s %s unit=%s kind=%s source=%s%s%s%s%s%s\n", probe->name, type,
	    device != NULL ? " " : "", device != NULL ? terminal_text(device) : "", f->name,
	    f->unit, f->counter ? "counter" : "gauge", probe->source != NULL ? probe->source : "-",
	    is_main(type, f->name) ? " main=yes" : "", here ? "" : " here=no",
	    probe->on ? "" : " on=no", *rfc4898 != '\0' ? " rfc4898=" : "", rfc4898);
}

static bool
has_row(const struct show *w, const struct series_kind *kind, const char *field)
{
	size_t i;

	for (i = 0; i < w->n; i++)
		if (strcmp(w->rows[i].event_type, kind->event_type) == 0 &&
		    strcmp(w->rows[i].field, field) == 0)
			return true;
	return false;
}

void
show_list(const struct show *w, const struct show_probe *probe, FILE *to)
{
	const struct series_kind *kind;
	const struct show_row *r;
	size_t i, k;

	for (i = 0; i < w->n; i++) {
		r = &w->rows[i];
		if (strcmp(r->probe, probe->name) == 0)
			list_line(probe, r->event_type, r->key[0] != '\0' ? r->device : NULL,
			    &(struct series_field){ r->field, r->unit, r->counter }, true, to);
	}
	for (k = 0; k < probe->n_kinds && (kind = probe->kinds[k]) != NULL; k++)
		for (i = 0; i < kind->n_fields; i++)
			if (!has_row(w, kind, kind->fields[i].name))
				list_line(probe, kind->event_type,
				    kind->device_key != NULL ? "*" : NULL, &kind->fields[i], false,
				    to);
}

static void
write_csv(const struct show_row *r, FILE *to)
{
	fprintf(
	    to, "%" PRId64 ".%09" PRId64 ",", r->t_wall_ns / 1000000000, r->t_wall_ns % 1000000000);
	csv_cell(to, r->event_type, CSV_SAFE);
	putc(',', to);
	csv_cell(to, r->device, CSV_SAFE);
	putc(',', to);
	csv_cell(to, r->field, CSV_SAFE);
	fprintf(to, ",%.17g,", r->value);
	csv_cell(to, r->unit, CSV_SAFE);
	fprintf(to, ",%s\n", kind_word(r));
}

static void
put_member(FILE *to, const char *key, const char *text)
{
	fprintf(to, ",\"%s\":", key);
	jsontext_put(to, text, strlen(text));
}

static void
write_json(const struct show_row *r, FILE *to)
{
	fprintf(to, "{\"t\":%" PRId64 ".%09" PRId64, r->t_wall_ns / 1000000000,
	    r->t_wall_ns % 1000000000);
	put_member(to, "event_type", r->event_type);
	if (r->key[0] != '\0')
		put_member(to, r->key, r->device);
	put_member(to, "field", r->field);
	put_member(to, "unit", r->unit);
	put_member(to, "kind", kind_word(r));
	fprintf(to, ",\"value\":%.17g}\n", r->value);
}

/* A row as a metric. */
struct metric {
	const struct show_row *row;
	size_t at; /* place of the row: the order among equal names */
	struct nodename node;
};

/* The name that node_exporter has; else letters, digits and underscores behind "blipp_". */
static void
metric_make(const struct show_row *r, size_t at, struct metric *out)
{
	char type[SERIES_EVENT_BYTES], *p;

	out->row = r;
	out->at = at;
	short_type(r->event_type, type, sizeof(type));
	if (!nodename_find(type, r->field, r->unit, &out->node))
		snprintf(out->node.name, sizeof(out->node.name), "blipp_%s_%s", type, r->field);
	for (p = out->node.name; *p != '\0'; p++)
		if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *p) ==
		    NULL)
			*p = '_';
}

static int
by_name(const void *a, const void *b)
{
	const struct metric *x = a, *y = b;
	int order = strcmp(x->node.name, y->node.name);

	return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

/* Archives of perfSONAR part labels at every comma, also within a value. */
void
show_put_label(FILE *to, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\\' || *text == '"')
			putc('\\', to);
		if (*text != '\n')
			putc(*text == ',' ? ';' : *text, to);
	}
}

static bool
is_counter(const struct metric *m)
{
	return m->row->counter && !m->node.untyped;
}

static void
write_metric(const struct metric *m, FILE *to)
{
	const struct show_row *r = m->row;

	fprintf(to, "%s%s", m->node.name, is_counter(m) ? "_total" : "");
	if (r->key[0] != '\0') {
		fprintf(to, "{%s=\"", m->node.label != NULL ? m->node.label : r->key);
		show_put_label(to, r->device + m->node.label_skips);
		if (m->node.mode != NULL)
			fprintf(to, "\",mode=\"%s", m->node.mode);
		fputs("\"}", to);
	}
	fprintf(to, " %.17g\n", r->value * m->node.factor);
}

/* The lines above a metric. The classic format counts _total to the name and calls an unknown type
 * untyped. */
static void
write_head(const struct metric *m, bool classic, FILE *to)
{
	const char *total = classic && is_counter(m) ? "_total" : "";
	const char *type = !m->node.untyped ? kind_word(m->row) : classic ? "untyped" : "unknown";

	char event[SERIES_EVENT_BYTES];

	short_type(m->row->event_type, event, sizeof(event));
	fprintf(to, "# TYPE %s%s %s\n# HELP %s%s %s %s (%s), from %s\n", m->node.name, total, type,
	    m->node.name, total, event, m->row->field, m->row->unit, m->row->source);
}

void
show_write_metrics(const struct show *w, bool classic, FILE *to)
{
	struct metric *list = calloc(w->n > 0 ? w->n : 1, sizeof(*list));
	size_t i;

	for (i = 0; list != NULL && i < w->n; i++)
		metric_make(&w->rows[i], i, &list[i]);
	if (list != NULL)
		qsort(list, w->n, sizeof(*list), by_name);
	for (i = 0; list != NULL && i < w->n; i++) {
		if (i == 0 || strcmp(list[i].node.name, list[i - 1].node.name) != 0)
			write_head(&list[i], classic, to);
		write_metric(&list[i], to);
	}
	free(list);
	if (!classic)
		fputs("# EOF\n", to);
}

void
show_write(const struct show *w, enum show_format format, FILE *to)
{
	size_t i;

	if (format == SHOW_OPENMETRICS) {
		show_write_metrics(w, false, to);
		return;
	}
	if (format == SHOW_CSV)
		fputs("t,event_type,device,field,value,unit,kind\n", to);
	for (i = 0; i < w->n; i++)
		switch (format) {
		case SHOW_CSV: write_csv(&w->rows[i], to); break;
		case SHOW_JSON: write_json(&w->rows[i], to); break;
		case SHOW_LIST:
		case SHOW_OPENMETRICS:
		case SHOW_NONE: break;
		}
}
