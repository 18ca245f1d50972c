/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single operations in two pictures: how many there were of each size and duration, and which share
 * took no longer than a time, over the band of earlier sessions of the route.
 */
#include "web/page/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/csv.h"
#include "narrows/hist.h"
#include "narrows/result.h"
#include "web/draw/plot_in.h"

enum {
	KINDS_MAX = 4, /* drawn pairs of operation and host: the pairs with most operations */
	ROWS_MAX = 24,
	OCTAVES = NW_HIST_QUARTERS / 4,
	ROW_PX = 22,
	LEVELS = 8 /* of shade and height */
};
static const double NS = 1e-9;

/* A class of sizes. */
struct row {
	double from_bytes, to_bytes; /* NaN: unknown */
	double count[NW_HIST_QUARTERS];
};

/* An operation on a host. */
struct kind {
	const char *op, *host;
	struct row row[ROWS_MAX]; /* rising in size */
	size_t n;
	double all, most; /* operations, and those of the fullest cell */
};

struct kinds {
	struct kind kind[KINDS_MAX];
	size_t n;
};

/* --- reading --- */

static bool
is_of(const json_t *entry, enum result_key op, enum result_key host, const struct kind *k)
{
	const char *a = result_text(entry, op), *b = result_text(entry, host);

	return a != NULL && b != NULL && strcmp(a, k->op) == 0 && strcmp(b, k->host) == 0;
}

/* NULL: no room, or no name. */
static struct kind *
kind_of(struct kinds *all, const json_t *entry)
{
	const char *op = result_text(entry, KEY_density_op),
		   *host = result_text(entry, KEY_density_host);
	struct kind *k;

	for (k = all->kind; k < all->kind + all->n; k++)
		if (is_of(entry, KEY_density_op, KEY_density_host, k))
			return k;
	if (all->n == KINDS_MAX || op == NULL || host == NULL)
		return NULL;
	all->n++;
	k->op = op;
	k->host = host;
	return k;
}

/* Adds the four quarters of an octave. The map draws octaves, so an octave is the fullest cell. */
static double
octave_of(const struct row *r, size_t octave)
{
	const double *c = r->count + 4 * octave;

	return c[0] + c[1] + c[2] + c[3];
}

static void
entry_add(struct kinds *all, const json_t *entry)
{
	const json_t *list = result_list(entry, KEY_density_counts), *v;
	struct kind *k;
	struct row *r;
	size_t i;

	if (json_array_size(list) == 0 || json_array_size(list) > NW_HIST_QUARTERS ||
	    (k = kind_of(all, entry)) == NULL || k->n == ROWS_MAX)
		return;
	r = &k->row[k->n++];
	r->from_bytes = result_number(entry, KEY_density_size_from_bytes);
	r->to_bytes = result_number(entry, KEY_density_size_to_bytes);
	json_array_foreach(list, i, v)
	{
		double n = json_number_value(v);

		r->count[i] = n > 0 && n < 1e15 ? n : 0;
		k->all += r->count[i];
	}
	for (i = 0; i < OCTAVES; i++)
		k->most = fmax(k->most, octave_of(r, i));
}

static int
by_size(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->from_bytes > y->from_bytes) - (x->from_bytes < y->from_bytes);
}

static void
kinds_read(struct kinds *all, const json_t *doc)
{
	const json_t *list = result_list(doc, KEY_result_density), *entry;
	size_t i;

	json_array_foreach(list, i, entry) entry_add(all, entry);
	for (i = 0; i < all->n; i++)
		qsort(all->kind[i].row, all->kind[i].n, sizeof(all->kind[i].row[0]), by_size);
}

/* --- sizes by durations --- */

struct map {
	const struct kind *k;
	size_t first, end; /* octaves in use */
	char id[32], title[200];
};

static void
map_make(struct map *m, const struct kind *k, size_t rank)
{
	size_t i, at;

	*m = (struct map){ .k = k, .first = OCTAVES };
	for (i = 0; i < k->n; i++)
		for (at = 0; at < OCTAVES; at++)
			if (octave_of(&k->row[i], at) > 0) {
				m->first = at < m->first ? at : m->first;
				m->end = at + 1 > m->end ? at + 1 : m->end;
			}
	snprintf(m->id, sizeof(m->id), "p-ops-%zu", rank + 1);
	snprintf(m->title, sizeof(m->title), "Operations by size and duration: %.40s on %.120s",
	    result_stage_words(k->op), k->host);
}

static struct fmt
octave_text(size_t octave)
{
	return fmt_si(nw_hist_quarter_from((uint32_t)(4 * octave)) * NS, "s");
}

static void
size_text(const struct row *r, char *out, size_t size)
{
	if (isfinite(r->from_bytes) && isfinite(r->to_bytes))
		snprintf(
		    out, size, "%s to %s", fmt_bytes(r->from_bytes).s, fmt_bytes(r->to_bytes).s);
	else
		snprintf(out, size, "unknown size");
}

/* "1,204 operations; most often 4.10 kB to 16.4 kB in 16.4 us to 32.8 us: 61 %." */
static void
map_sentence(struct html *h, const struct map *m)
{
	char size[160];
	size_t i, at;

	for (i = 0; i < m->k->n; i++)
		for (at = m->first; at < m->end; at++) {
			if (octave_of(&m->k->row[i], at) < m->k->most)
				continue;
			size_text(&m->k->row[i], size, sizeof(size));
			html_text(h, fmt_count((uint64_t)m->k->all).s);
			html_raw(h, " operations; most often ");
			html_text(h, size);
			html_raw(h, " in ");
			html_text(h, octave_text(at).s);
			html_raw(h, " to ");
			html_text(h, octave_text(at + 1).s);
			html_raw(h, ": ");
			html_text(h, fmt_share(m->k->most / m->k->all).s);
			html_raw(h, " of them.");
			return;
		}
}

/* 1 to LEVELS, on a logarithmic scale; 0 for an empty cell. */
static int
level_of(const struct map *m, size_t row, size_t octave)
{
	double n = octave_of(&m->k->row[row], octave);

	return n > 0 ? (int)ceil(LEVELS * fmin(log1p(n) / log1p(m->k->most), 1)) : 0;
}

/* Cells of a level: the more operations, the higher and the darker. */
static void
level_draw(struct html *h, const struct map *m, int level)
{
	long width = 1000 / (long)(m->end - m->first), high = (ROW_PX - 2) * level / LEVELS;
	size_t row, at;

	html_raw(h, "<path fill-opacity=\"");
	html_coord(h, 0.3 + 0.7 * level / LEVELS);
	html_raw(h, "\" d=\"");
	for (row = 0; row < m->k->n; row++)
		for (at = m->first; at < m->end; at++) {
			if (level_of(m, row, at) != level)
				continue;
			html_raw(h, "M");
			html_int(h, (long)(1000 * (at - m->first) / (m->end - m->first)));
			html_raw(h, " ");
			html_int(h, (long)(m->k->n - row) * ROW_PX);
			html_raw(h, "v-");
			html_int(h, high);
			html_raw(h, "h");
			html_int(h, width - 1);
			html_raw(h, "v");
			html_int(h, high);
		}
	html_raw(h, "\"/>");
}

static void
map_labels(struct html *h, const struct map *m)
{
	size_t i;

	html_raw(h, "<g class=\"grid\">");
	for (i = 0; i <= m->k->n; i++) {
		html_raw(h, "<line x2=\"100%\" y1=\"");
		html_int(h, (int64_t)(i * ROW_PX));
		html_raw(h, "\" y2=\"");
		html_int(h, (int64_t)(i * ROW_PX));
		html_raw(h, "\"/>");
	}
	html_raw(h, "</g><g class=\"ty\">");
	for (i = 0; i < m->k->n; i++) {
		html_raw(h, "<text x=\"-8\" y=\"");
		html_int(h, (int64_t)((m->k->n - i) * ROW_PX) - 6);
		html_raw(h, "\">");
		html_text(h,
		    isfinite(m->k->row[i].from_bytes) ? fmt_bytes(m->k->row[i].from_bytes).s : "?");
		html_raw(h, "</text>");
	}
	html_raw(h, "</g>");
}

static void
map_draw(struct html *h, const struct map *m)
{
	const int height_px = (int)m->k->n * ROW_PX;
	struct plot_axis x;
	size_t at, every = (m->end - m->first) / 7 + 1;
	int level;

	/* slots are of nanoseconds, the axis of seconds */
	x = (struct plot_axis){
		.low = exp2((double)m->first) * NS, .high = exp2((double)m->end) * NS, .log = true
	};
	for (at = m->first; at <= m->end && x.n_ticks < PLOT_TICKS_MAX; at += every)
		x.ticks[x.n_ticks++] = exp2((double)at) * NS;
	html_raw(h, "<svg class=\"heat\" width=\"100%\" height=\"");
	html_int(h, height_px);
	html_raw(h, "\" role=\"img\"");
	html_attr(h, "aria-label", m->title);
	html_attr(h, "aria-describedby", m->id);
	html_raw(h, "><title>");
	html_text(h, m->title);
	html_raw(h, "</title><desc");
	html_attr(h, "id", m->id);
	html_raw(h, ">");
	map_sentence(h, m);
	html_raw(h, "</desc>");
	map_labels(h, m);
	plot_write_across(h, &x, height_px, plot_tick_seconds, NULL);
	html_raw(h, "<svg viewBox=\"0 0 1000 ");
	html_int(h, height_px);
	html_raw(h, "\" preserveAspectRatio=\"none\" width=\"100%\" height=\"");
	html_int(h, height_px);
	html_raw(h, "\">");
	for (level = 1; level <= LEVELS; level++)
		level_draw(h, m, level);
	html_raw(h, "</svg></svg>");
}

static void
map_table(struct html *h, const struct map *m)
{
	char size[160];
	size_t i, at;

	html_raw(h,
	    "<details><summary>As a table</summary><div class=\"scroll\" tabindex=\"0\" "
	    "role=\"region\"");
	html_attr(h, "aria-label", m->title);
	html_raw(h, "><table><thead><tr><th scope=\"col\">size</th>");
	for (at = m->first; at < m->end; at++) {
		html_raw(h, "<th scope=\"col\">from ");
		html_text(h, octave_text(at).s);
		html_raw(h, "</th>");
	}
	html_raw(h, "</tr></thead><tbody>");
	for (i = 0; i < m->k->n; i++) {
		size_text(&m->k->row[i], size, sizeof(size));
		html_raw(h, "<tr><th scope=\"row\">");
		html_text(h, size);
		html_raw(h, "</th>");
		for (at = m->first; at < m->end; at++) {
			html_raw(h, "<td>");
			html_text(h, fmt_count((uint64_t)octave_of(&m->k->row[i], at)).s);
			html_raw(h, "</td>");
		}
		html_raw(h, "</tr>");
	}
	html_raw(h, "</tbody></table></div></details>");
}

static void
map_csv(FILE *f, const void *arg)
{
	const struct map *m = arg;
	size_t i;
	uint32_t q;

	fputs("size_from_bytes,size_to_bytes,duration_from_s,duration_to_s,operations\r\n", f);
	for (i = 0; i < m->k->n; i++)
		for (q = 0; q < NW_HIST_QUARTERS; q++) {
			const struct row *r = &m->k->row[i];

			if (!(r->count[q] > 0))
				continue;
			fprintf(f, "%s,%s", fmt_exact(r->from_bytes).s, fmt_exact(r->to_bytes).s);
			fprintf(f, ",%s,%s", fmt_exact(nw_hist_quarter_from(q) * NS).s,
			    fmt_exact(nw_hist_quarter_from(q + 1) * NS).s);
			fprintf(f, ",%s\r\n", fmt_exact(r->count[q]).s);
		}
}

static void
map_write(struct html *h, const struct kind *k, size_t rank)
{
	struct map m;

	map_make(&m, k, rank);
	if (m.end <= m.first)
		return;
	if (h->figure != NULL) {
		if (strcmp(h->figure, m.id) == 0) {
			map_csv(h->figure_csv, &m);
			h->figure_found = true;
		}
		return;
	}
	html_raw(h, "<figure class=\"plot\"><figcaption><b>");
	html_text(h, m.title);
	html_raw(h, "</b></figcaption><p class=\"note\">");
	map_sentence(h, &m);
	html_raw(
	    h, " The higher and darker a cell, the more operations, on a logarithmic scale.</p>");
	map_draw(h, &m);
	plot_csv_link(h, &(struct plot_numbers){ m.id, m.title, map_csv, &m });
	map_table(h, &m);
	html_raw(h, "</figure>");
}

/* --- shares over the usual band --- */

enum { LINE_OWN, LINE_LOW, LINE_MEDIAN, LINE_HIGH, N_LINES };

struct shares {
	double x[NW_HIST_QUARTERS], y[N_LINES][NW_HIST_QUARTERS];
	size_t n;          /* entries from the first in use to the last */
	double n_sessions; /* behind the band; 0 for no band */
};

/* Reads a share of the band for every size; beyond the list's end the share is 1. */
static void
band_read(const json_t *list, double y[NW_HIST_QUARTERS])
{
	size_t i;

	result_numbers(list, y,
	    json_array_size(list) < NW_HIST_QUARTERS ? json_array_size(list) : NW_HIST_QUARTERS);
	for (i = json_array_size(list); i < NW_HIST_QUARTERS; i++)
		y[i] = 1;
}

static const json_t *
usual_of(const json_t *doc, const struct kind *k)
{
	const json_t *list = result_list(result_get(doc, KEY_result_usual), KEY_usual_operations),
		     *entry;
	size_t i;

	json_array_foreach(list, i, entry) if (is_of(entry, KEY_usual_operations_op,
						   KEY_usual_operations_host, k)) return entry;
	return NULL;
}

static void
shares_read(struct shares *s, const json_t *doc, const struct kind *k)
{
	const json_t *usual = usual_of(doc, k);
	double sum = 0;
	size_t i, r, line, first = NW_HIST_QUARTERS, end = 0;

	s->n_sessions = usual != NULL ? result_number(usual, KEY_usual_operations_n) : 0;
	band_read(result_list(usual, KEY_usual_operations_low), s->y[LINE_LOW]);
	band_read(result_list(usual, KEY_usual_operations_median), s->y[LINE_MEDIAN]);
	band_read(result_list(usual, KEY_usual_operations_high), s->y[LINE_HIGH]);
	for (i = 0; i < NW_HIST_QUARTERS; i++) {
		for (r = 0; r < k->n; r++)
			sum += k->row[r].count[i];
		s->y[LINE_OWN][i] = sum / k->all;
		s->x[i] = nw_hist_quarter_from((uint32_t)i + 1) * NS;
		for (line = 0; line < (usual != NULL ? N_LINES : 1); line++) {
			if (s->y[line][i] > 0.001 && i < first)
				first = i;
			if (s->y[line][i] < 0.999)
				end = i + 2;
		}
	}
	first -= first > 0 && first < NW_HIST_QUARTERS;
	end = end < NW_HIST_QUARTERS ? end : NW_HIST_QUARTERS;
	s->n = end > first ? end - first : 0;
	memmove(s->x, s->x + first, s->n * sizeof(s->x[0]));
	for (line = 0; line < N_LINES; line++)
		memmove(s->y[line], s->y[line] + first, s->n * sizeof(s->x[0]));
}

/* Where the session leaves the band furthest, in words. */
static void
shares_sentence(const struct shares *s, char *out, size_t size)
{
	double far = 0, out_by;
	size_t i, at = 0;

	for (i = 0; i < s->n && s->n_sessions > 0; i++) {
		out_by = fmax(
		    s->y[LINE_LOW][i] - s->y[LINE_OWN][i], s->y[LINE_OWN][i] - s->y[LINE_HIGH][i]);
		if (out_by > far) {
			far = out_by;
			at = i;
		}
	}
	if (!(s->n_sessions > 0))
		snprintf(
		    out, size, "The usual durations need eight earlier sessions of the route.");
	else if (far < 0.01)
		snprintf(out, size, "As usual: within the band of %.0f earlier sessions.",
		    s->n_sessions);
	else
		snprintf(out, size, "%s: %s took %s or less; in %.0f earlier sessions %s to %s.",
		    s->y[LINE_OWN][at] < s->y[LINE_LOW][at] ? "Slower operations than usual"
							    : "Faster operations than usual",
		    fmt_share(s->y[LINE_OWN][at]).s, fmt_duration(s->x[at]).s, s->n_sessions,
		    fmt_share(s->y[LINE_LOW][at]).s, fmt_share(s->y[LINE_HIGH][at]).s);
}

static void
shares_write(struct html *h, const json_t *doc, const struct kind *k, size_t rank)
{
	static const char *const names[N_LINES] = { "this session", "lowest tenth of sessions",
		"usual: their median", "highest tenth of sessions" };
	struct plot_line lines[N_LINES];
	struct shares s;
	char id[32], title[240], sentence[700];
	size_t i;

	shares_read(&s, doc, k);
	for (i = 0; i < N_LINES; i++) {
		lines[i] = (struct plot_line){ .y = s.y[i],
			.style = i == LINE_OWN ? 2
			    : i == LINE_MEDIAN ? 0
					       : 6,
			.strong = i == LINE_OWN };
		snprintf(lines[i].name, sizeof(lines[i].name), "%s", names[i]);
	}
	snprintf(id, sizeof(id), "p-took-%zu", rank + 1);
	snprintf(title, sizeof(title), "Share of operations up to a duration: %.40s on %.120s",
	    result_stage_words(k->op), k->host);
	shares_sentence(&s, sentence, sizeof(sentence));
	if (s.n >= 2)
		plot_write(h,
		    &(struct plot){ .id = id,
			.title = title,
			.sentence = sentence,
			.unit = PLOT_SHARE,
			.n = s.n,
			.x = s.x,
			.across = PLOT_DURATION,
			.across_words = "no longer than",
			.lines = lines,
			.n_lines = s.n_sessions > 0 ? N_LINES : 1 });
}

void
session_ops(struct html *h, const json_t *doc)
{
	struct kinds *all = calloc(1, sizeof(*all));
	size_t i;

	if (all == NULL) {
		h->failed = true;
		return;
	}
	kinds_read(all, doc);
	if (all->n == 0)
		html_raw(h, "<p>No counts of single operations: run the program under nwrun.</p>");
	html_raw(h, "<div class=\"plots\">");
	for (i = 0; i < all->n; i++) {
		map_write(h, &all->kind[i], i);
		shares_write(h, doc, &all->kind[i], i);
	}
	html_raw(h, "</div>");
	free(all);
}
