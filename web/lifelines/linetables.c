/* SPDX-License-Identifier: BSD-3-Clause */
/* Lifelines for other programs: one row per line as CSV, and spans of OpenTelemetry. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/csv.h"
#include "narrows/err.h"
#include "narrows/fnv.h"
#include "narrows/format.h"
#include "narrows/jsontext.h"
#include "web/lifelines/linereport.h"

static const char *const state_words[] = { "finished", "flushed", "unfinished" };

static void
csv_head(FILE *f, const struct lineset *s)
{
	unsigned p;

	fputs("ids,server,state,from_memory,begin,total_s", f);
	for (p = 0; p < s->lines.n_points; p++) {
		fputc(',', f);
		csv_cell(f, lineset_point(s, p), CSV_SAFE);
	}
	fputc('\n', f);
}

static int64_t
begin_of(const int64_t *t, size_t n)
{
	size_t p;

	for (p = 0; p < n; p++)
		if (t[p] != NW_LINE_NEVER)
			return t[p];
	return 0;
}

/* Points are seconds since the line's first point. */
static void
csv_row(FILE *f, const struct lineset *s, const struct chosen *k, size_t i)
{
	const int64_t *t = k->t + i * s->lines.n_points;
	int64_t begin = begin_of(t, s->lines.n_points);
	double total = nw_line_total(&k->lines, i);
	size_t p;

	csv_cell(f, s->label[k->line[i]], CSV_SAFE);
	fputc(',', f);
	csv_cell(f, s->lanes.text[k->lane[i]], CSV_SAFE);
	fprintf(f, ",%s,%d,%s,", state_words[s->state[k->line[i]]],
	    (s->flags[k->line[i]] & LINESET_MEMORY) != 0, fmt_iso_ns(begin).s);
	if (isfinite(total))
		fprintf(f, "%.9f", total);
	for (p = 0; p < s->lines.n_points; p++) {
		fputc(',', f);
		if (t[p] != NW_LINE_NEVER)
			fprintf(f, "%.9f", ((double)t[p] - (double)begin) * 1e-9);
	}
	fputc('\n', f);
}

static int
finish(FILE *f, const struct lineset *s, char **text)
{
	bool failed = ferror(f) != 0, stopped = lineset_stopped(s);

	if (fclose(f) == 0 && !failed && !stopped)
		return NW_OK;
	free(*text);
	*text = NULL;
	return stopped ? NW_ECLOSED : NW_ENOMEM;
}

int
linecsv_make(const struct lineset *s, const struct chosen *k, char **text, size_t *len)
{
	FILE *f = open_memstream(text, len);
	size_t i;

	if (f == NULL)
		return NW_ENOMEM;
	csv_head(f, s);
	for (i = 0; i < k->lines.n && !lineset_stopped(s); i++)
		csv_row(f, s, k, i);
	return finish(f, s, text);
}

/* --- OTLP --- */

static uint64_t
mix(uint64_t a, uint64_t b)
{
	uint64_t z = (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xbf58476d1ce4e5b9u;

	return z ^ z >> 31;
}

struct trace { /* numbers of a line's spans */
	uint64_t high, low;
};

static void
otlp_span(FILE *f, const struct trace *x, uint64_t span, uint64_t parent, const char *name,
    int64_t begin, int64_t end)
{
	fprintf(f, "{\"traceId\":\"%016" PRIx64 "%016" PRIx64 "\",\"spanId\":\"%016" PRIx64 "\",",
	    x->high, x->low, span);
	if (parent != 0)
		fprintf(f, "\"parentSpanId\":\"%016" PRIx64 "\",", parent);
	fputs("\"name\":", f);
	jsontext_put(f, name, strlen(name));
	fprintf(f,
	    ",\"kind\":1,\"startTimeUnixNano\":\"%" PRId64 "\",\"endTimeUnixNano\":\"%" PRId64 "\"",
	    begin, end > begin ? end : begin);
}

static void
otlp_attribute(FILE *f, const char *key, const char *value)
{
	fprintf(f, "{\"key\":\"%s\",\"value\":{\"stringValue\":", key);
	jsontext_put(f, value, strlen(value));
	fputs("}}", f);
}

/* Ends a span; a span that ran backwards says whether a clock or the path is wrong. */
static void
otlp_end(FILE *f, const struct lineset *s, size_t line, const char *host, enum nw_line_order order)
{
	fputs(",\"attributes\":[", f);
	otlp_attribute(f, "narrows.ids", s->label[line]);
	fputc(',', f);
	otlp_attribute(f, "narrows.server", s->lanes.text[s->lane[line]]);
	fputc(',', f);
	otlp_attribute(f, "host.name", host);
	if (order >= NW_LINE_REVERSED) {
		fputc(',', f);
		otlp_attribute(
		    f, "narrows.order", order == NW_LINE_REVERSED ? "reversed" : "impossible");
	}
	fputs("]}", f);
}

static void
otlp_line(FILE *f, const struct lineset *s, size_t line, bool *first)
{
	const int64_t *t = s->t + line * s->lines.n_points;
	struct trace x = { mix((uint64_t)s->session_id, fnv_text(FNV_BEGIN, s->label[line])),
		mix(line + 1, fnv_text(FNV_BEGIN, s->label[line])) };
	uint64_t root = mix(x.low, x.high) | 1;
	unsigned p, last = (unsigned)s->lines.n_points, begin = 0;
	char name[400];

	while (begin < s->lines.n_points && t[begin] == NW_LINE_NEVER)
		begin++;
	if (begin == s->lines.n_points)
		return;
	for (p = begin; p < s->lines.n_points; p++) {
		if (t[p] == NW_LINE_NEVER)
			continue;
		if (last < s->lines.n_points) {
			fputs(*first ? "" : ",\n", f);
			*first = false;
			snprintf(name, sizeof(name), "%.190s to %.190s", lineset_point(s, last),
			    lineset_point(s, p));
			otlp_span(f, &x, mix(root, p + 1) | 1, root, name, t[last], t[p]);
			otlp_end(f, s, line, lineset_host(s, line, last),
			    nw_line_order_of(&s->lines, line, last, p));
		}
		last = p;
	}
	fputs(*first ? "" : ",\n", f);
	*first = false;
	otlp_span(f, &x, root, 0, s->label[line], t[begin], t[last]);
	otlp_end(f, s, line, lineset_host(s, line, begin),
	    nw_line_order_of(&s->lines, line, begin, last));
}

int
lineotlp_make(const struct lineset *s, const struct chosen *k, char **text, size_t *len)
{
	FILE *f = open_memstream(text, len);
	bool first = true;
	size_t i;

	if (f == NULL)
		return NW_ENOMEM;
	fputs("{\"resourceSpans\":[{\"resource\":{\"attributes\":[", f);
	otlp_attribute(f, "service.name", "narrows");
	fprintf(f,
	    ",{\"key\":\"narrows.session\",\"value\":{\"intValue\":\"%" PRId64
	    "\"}}]},\"scopeSpans\":[{\"scope\":{\"name\":\"narrows.lifelines\"},\"spans\":[\n",
	    s->session_id);
	for (i = 0; i < k->lines.n && !lineset_stopped(s); i++)
		otlp_line(f, s, k->line[i], &first);
	fputs("\n]}]}]}\n", f);
	return finish(f, s, text);
}
