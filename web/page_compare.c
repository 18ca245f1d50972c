/* SPDX-License-Identifier: BSD-3-Clause */
/* Two to six sessions side by side: their rates over each other, and a table of what differs. */
#include "web/page.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/result.h"
#include "web/plot.h"

enum { SESSIONS_MIN = 2, SESSIONS_MAX = 6, STEPS = 400, BINS = 100 };

struct compared {
	int64_t id;
	json_t *doc;
	const double *rate; /* delivered, by steps of the timeline */
	double *room;
	size_t n;
	double step_s;
	int64_t t0_wall_ns;
};

struct comparison {
	struct compared session[SESSIONS_MAX];
	size_t n;
	enum compare_by by;
};

/* --- the query --- */

/* Passes commas and blanks, as browsers send them; NULL if another sign stands there. */
static const char *
gap_pass(const char *text)
{
	static const char *const gaps[] = { ",", "%2C", "%2c", "+", "%20" };
	const char *at = text;
	size_t i = 0;

	while (i < sizeof(gaps) / sizeof(gaps[0])) {
		size_t len = strlen(gaps[i]);

		if (strncmp(at, gaps[i], len) == 0) {
			at += len;
			i = 0;
		} else
			i++;
	}
	return at > text || *at == '\0' || *at == '&' ? at : NULL;
}

static bool
ids_take(struct compare_query *q, const char *text)
{
	char *end;

	for (q->n = 0; *text != '\0' && *text != '&';) {
		if (q->n == SESSIONS_MAX || *text < '1' || *text > '9')
			return false;
		errno = 0;
		q->id[q->n++] = strtoll(text, &end, 10);
		if (errno != 0)
			return false;
		if ((text = gap_pass(end)) == NULL)
			return false;
	}
	return q->n >= SESSIONS_MIN;
}

bool
compare_parse(struct compare_query *q, const char *query)
{
	static const char *const names[] = { "start", "bytes", "clock" };
	const char *at;
	size_t i, len;

	*q = (struct compare_query){ 0 };
	if (query == NULL || strncmp(query, "ids=", 4) != 0 || !ids_take(q, query + 4))
		return false;
	if ((at = strstr(query, "&by=")) == NULL)
		return true;
	len = strcspn(at + 4, "&");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == len && strncmp(names[i], at + 4, len) == 0) {
			q->by = (enum compare_by)i;
			return true;
		}
	return false;
}

/* --- reading --- */

static double
sum_of(const json_t *list)
{
	const json_t *v;
	double sum = 0;
	size_t i;

	json_array_foreach(list, i, v) sum += json_is_number(v) ? json_number_value(v) : 0;
	return sum;
}

/* The rate of the operation that moved most bytes; at equal bytes the last one of the path. */
static void
rate_read(struct compared *c)
{
	const json_t *t = result_get(c->doc, KEY_result_timeline), *o, *list, *best = NULL;
	double most = 0, sum;
	size_t i;

	json_array_foreach(result_list(t, KEY_timeline_stages), i, o)
	{
		list = result_list(o, KEY_timeline_stage_bytes_per_s);
		if ((sum = sum_of(list)) > 0 && sum >= 0.99 * most) {
			most = fmax(most, sum);
			best = list;
		}
	}
	c->step_s = result_number(t, KEY_timeline_step_s);
	c->t0_wall_ns = result_ns(t, KEY_timeline_t0_ns);
	c->n = json_array_size(best);
	if (!(c->step_s > 0) || c->n == 0 || (c->room = calloc(c->n, sizeof(*c->room))) == NULL)
		c->n = 0;
	else
		result_numbers(best, c->room, c->n);
	c->rate = c->room;
}

static int
on_session(void *arg, const struct nw_session_rec *rec, const struct nw_result_rec *res)
{
	struct compared *c = arg;

	c->id = rec->id;
	c->doc = res != NULL && res->json != NULL ? json_loads(res->json, 0, NULL) : NULL;
	rate_read(c);
	return 1;
}

static void
comparison_clear(struct comparison *all)
{
	size_t i;

	for (i = 0; i < all->n; i++) {
		json_decref(all->session[i].doc);
		free(all->session[i].room);
	}
}

/* --- the plot --- */

/* Mean rate of a stretch of the session's time, in seconds from its own begin. */
static double
mean_between(const struct compared *c, double from_s, double to_s)
{
	double sum = 0, n = 0;
	size_t i = from_s > 0 ? (size_t)(from_s / c->step_s) : 0;

	if (to_s <= 0)
		return NAN;
	for (; i < c->n && (double)i * c->step_s < to_s; i++)
		if (isfinite(c->rate[i])) {
			sum += c->rate[i];
			n++;
		}
	return n > 0 ? sum / n : NAN;
}

/* Rates by the share of the bytes that were moved. */
static void
bins_fill(const struct compared *c, double *y)
{
	double all = 0, so_far = 0;
	size_t i, bin;

	for (i = 0; i < BINS; i++)
		y[i] = NAN;
	for (i = 0; i < c->n; i++)
		all += isfinite(c->rate[i]) ? c->rate[i] : 0;
	for (i = 0; i < c->n && all > 0; i++) {
		double r = isfinite(c->rate[i]) ? c->rate[i] : 0;
		size_t last;

		bin = (size_t)(so_far / all * BINS);
		so_far += r;
		last = (size_t)(so_far / all * BINS);
		for (; bin <= last && bin < BINS; bin++)
			y[bin] = r;
	}
}

static int64_t
first_begin(const struct comparison *all)
{
	int64_t first = INT64_MAX;
	size_t i;

	for (i = 0; i < all->n; i++)
		if (all->session[i].n > 0 && all->session[i].t0_wall_ns < first)
			first = all->session[i].t0_wall_ns;
	return first;
}

static double
offset_s(const struct comparison *all, size_t i)
{
	return all->by == COMPARE_CLOCK
	    ? (double)(all->session[i].t0_wall_ns - first_begin(all)) * 1e-9
	    : 0;
}

static void
steps_fill(const struct comparison *all, double step_s, double *y)
{
	size_t i, k;

	for (i = 0; i < all->n; i++)
		for (k = 0; k < STEPS; k++)
			y[i * STEPS + k] = all->session[i].n == 0
			    ? NAN
			    : mean_between(&all->session[i], (double)k * step_s - offset_s(all, i),
				  (double)(k + 1) * step_s - offset_s(all, i));
}

static double
length_s(const struct comparison *all)
{
	double longest = 0;
	size_t i;

	for (i = 0; i < all->n; i++)
		longest = fmax(
		    longest, offset_s(all, i) + (double)all->session[i].n * all->session[i].step_s);
	return longest;
}

static void
lines_name(const struct comparison *all, struct plot_line *lines, const double *y, size_t n)
{
	size_t i;

	for (i = 0; i < all->n; i++) {
		snprintf(lines[i].name, sizeof(lines[i].name), "session %s",
		    fmt_int(all->session[i].id).s);
		lines[i].y = y + i * n;
		lines[i].style = (unsigned)i;
	}
}

static void
write_plot(struct html *h, const struct comparison *all)
{
	struct plot_line lines[SESSIONS_MAX] = { 0 };
	double *y = calloc(SESSIONS_MAX * STEPS, sizeof(*y)), x[BINS], length = length_s(all);
	struct plot p = { .id = "p-compare",
		.title = "Rate of the operation that moved most bytes",
		.unit = PLOT_BYTES_PER_S,
		.lines = lines,
		.n_lines = all->n };
	size_t i;

	if (y == NULL || !(length > 0)) {
		html_raw(h, "<p>None of the sessions has rates over time.</p>");
		free(y);
		return;
	}
	if (all->by == COMPARE_BYTES) {
		for (i = 0; i < BINS; i++)
			x[i] = ((double)i + 0.5) * 100 / BINS;
		for (i = 0; i < all->n; i++)
			bins_fill(&all->session[i], y + i * BINS);
		lines_name(all, lines, y, BINS);
		p.n = BINS;
		p.x = x;
		p.across = PLOT_VALUE;
		p.across_words = "Per cent of the bytes";
	} else {
		p.step_s = length / STEPS;
		steps_fill(all, p.step_s, y);
		lines_name(all, lines, y, STEPS);
		p.n = STEPS;
	}
	plot_write_markers(h);
	plot_write(h, &p);
	free(y);
}

/* --- the table --- */

static struct fmt
cell_number(
    const json_t *doc, enum result_key object, enum result_key key, struct fmt (*format)(double v))
{
	double v = result_number(result_get(doc, object), key);

	return isfinite(v) ? format(v) : (struct fmt){ "unknown" };
}

static void
cell_text(const struct compared *c, size_t row, char *out, size_t size)
{
	const json_t *s = result_get(c->doc, KEY_result_session),
		     *v = result_get(c->doc, KEY_result_verdict);
	const char *text = NULL;

	switch (row) {
	case 0: text = result_text(s, KEY_session_route); break;
	case 1: text = result_text(s, KEY_session_program); break;
	case 2: snprintf(out, size, "%s", page_local(result_ns(s, KEY_session_start_ns)).s); return;
	case 3:
		snprintf(out, size, "%s",
		    cell_number(c->doc, KEY_result_session, KEY_session_duration_s, fmt_duration)
			.s);
		return;
	case 4:
		snprintf(out, size, "%s",
		    cell_number(c->doc, KEY_result_session, KEY_session_bytes, fmt_bytes).s);
		return;
	case 5:
		snprintf(out, size, "%s",
		    cell_number(
			c->doc, KEY_result_session, KEY_session_bytes_per_s, fmt_bytes_per_s)
			.s);
		return;
	case 6:
		text = result_stage_words(result_text(v, KEY_verdict_stage));
		if (text == NULL)
			text = "cannot tell";
		break;
	case 7: text = result_text(v, KEY_verdict_confidence); break;
	case 8: text = result_text(result_get(c->doc, KEY_result_usual), KEY_usual_said); break;
	case 9: text = result_text(s, KEY_session_label); break;
	default: break;
	}
	snprintf(out, size, "%s", text != NULL ? text : "unknown");
}

static void
write_row(struct html *h, const struct comparison *all, const char *title, size_t row)
{
	char text[SESSIONS_MAX][300];
	bool differs = false;
	size_t i;

	for (i = 0; i < all->n; i++) {
		cell_text(&all->session[i], row, text[i], sizeof(text[i]));
		differs |= strcmp(text[i], text[0]) != 0;
	}
	html_raw(h, "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">");
	html_text(h, title);
	if (differs)
		html_raw(h, " <span class=\"soft under\">differs</span>");
	html_raw(h, "</th>");
	for (i = 0; i < all->n; i++) {
		html_raw(h, "<td role=\"cell\">");
		if (differs)
			html_raw(h, "<b>");
		page_name(h, text[i]);
		if (differs)
			html_raw(h, "</b>");
		html_raw(h, "</td>");
	}
	html_raw(h, "</tr>");
}

static void
write_table(struct html *h, const struct comparison *all)
{
	static const char *const rows[] = { "Route", "Program", "Start", "Duration", "Bytes",
		"Mean rate", "Limited by", "Confidence", "Against the usual", "Label" };
	size_t i;

	html_raw(h,
	    "<section><h2>What differs</h2><div class=\"scroll tall\" tabindex=\"0\" "
	    "role=\"region\" "
	    "aria-label=\"What differs\"><table role=\"table\"><thead role=\"rowgroup\"><tr "
	    "role=\"row\"><th role=\"columnheader\" scope=\"col\">Session</th>");
	for (i = 0; i < all->n; i++) {
		html_raw(h, "<th role=\"columnheader\" scope=\"col\"><a href=\"/session/");
		html_int(h, all->session[i].id);
		html_raw(h, "\">");
		html_int(h, all->session[i].id);
		html_raw(h, "</a></th>");
	}
	html_raw(h, "</tr></thead><tbody role=\"rowgroup\">");
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		write_row(h, all, rows[i], i);
	html_raw(h, "</tbody></table></div></section>");
}

/* --- the page --- */

static void
write_ways(struct html *h, const struct comparison *all)
{
	static const char *const words[] = { "from the start", "by share of the bytes",
		"by the clock" };
	static const char *const names[] = { "start", "bytes", "clock" };
	char href[200];
	size_t i, k, len;

	html_raw(h, "<nav class=\"links\" aria-label=\"Alignment\">");
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		len = (size_t)snprintf(href, sizeof(href), "/compare?ids=");
		for (k = 0; k < all->n; k++)
			len += (size_t)snprintf(href + len, sizeof(href) - len, "%s%s",
			    k > 0 ? "," : "", fmt_int(all->session[k].id).s);
		snprintf(href + len, sizeof(href) - len, "&by=%s", names[i]);
		html_raw(h, "<a");
		html_attr(h, "href", href);
		if (i == all->by)
			html_raw(h, " aria-current=\"page\"");
		html_raw(h, ">");
		html_text(h, words[i]);
		html_raw(h, "</a> ");
	}
	html_raw(h, "</nav>");
}

int
page_compare(struct html *h, struct store_reader *r, const struct compare_query *q)
{
	struct comparison all = { .by = q->by };
	char title[160];
	size_t i, len = 0;
	int rc = NW_OK;

	for (i = 0; i < q->n && rc == NW_OK; i++)
		if ((rc = store_session_get(r, q->id[i], on_session, &all.session[i])) == NW_OK)
			all.n++;
	if (rc == NW_OK) {
		for (i = 0; i < q->n; i++)
			len += (size_t)snprintf(title + len, sizeof(title) - len, "%s %s",
			    i == 0              ? "Compared: sessions"
				: i + 1 == q->n ? " and"
						: ",",
			    fmt_int(q->id[i]).s);
		page_begin(h, &(struct page_frame){ .title = title, .tab = PAGE_SESSIONS });
		h->csv_inside = true;
		html_raw(h, "<h1 class=\"page\">Sessions compared</h1>");
		write_ways(h, &all);
		html_raw(h, "<section><h2>Rates</h2>");
		write_plot(h, &all);
		html_raw(h, "</section>");
		write_table(h, &all);
		page_end(h);
	}
	comparison_clear(&all);
	return rc;
}
