/* SPDX-License-Identifier: BSD-3-Clause */
/* The timelines of a session: stages first, the hosts below, all over the same time. */
#include "web/page/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/format.h"
#include "narrows/result.h"
#include "web/page/session_timeline.h"

enum { STEPS_MAX = 100000, LINES_MAX = TIMELINE_LINES_MAX, MARKS_MAX = TIMELINE_MARKS_MAX };

/*
 * Hosts start with styles that stages rarely reach; of the two values of a host the first is a
 * solid line and the second a broken line.
 */
static const unsigned host_styles[PLOT_STYLES] = { 5, 6, 7, 3, 0, 1, 2, 4 };

/* Plots of the lists of the timeline. */
static const struct series_plot {
	const char *id, *title, *missing;
	enum result_key list;
	size_t n_values;
	struct {
		enum result_key key;
		const char *words; /* after the host's name */
	} values[2];
	enum plot_unit unit;
	bool log_y, low;
	enum plot_form form;
} plots[] = {
	{ "p-held", "Share of the time for which each stage held the transfer",
	    "the share of the time for which each stage held the transfer", KEY_timeline_held, 1,
	    { { KEY_timeline_held_held, "" } }, PLOT_SHARE, false, false, PLOT_BANDS_STRIP },
	{ "p-tput", "Rate while working, per stage", "rate while working per stage",
	    KEY_timeline_stages, 1, { { KEY_timeline_stage_tput_i, "" } }, PLOT_BYTES_PER_S, true,
	    true, PLOT_LINES },
	{ "p-cpu", "Host CPU", "host CPU", KEY_timeline_hosts, 2,
	    { { KEY_timeline_host_cpu_busy, ", busy" },
		{ KEY_timeline_host_cpu_iowait, ", waiting for disk" } },
	    PLOT_SHARE, false, true, PLOT_LINES },
	{ "p-busy", "Disk busy", "how busy the disks were", KEY_timeline_hosts, 1,
	    { { KEY_timeline_host_disk_busy, "" } }, PLOT_SHARE, false, true, PLOT_LINES },
	{ "p-disk", "Disk throughput", "disk throughput", KEY_timeline_hosts, 1,
	    { { KEY_timeline_host_disk_bytes_per_s, "" } }, PLOT_BYTES_PER_S, false, true,
	    PLOT_LINES },
};
enum { N_PLOTS = sizeof(plots) / sizeof(plots[0]) };

void
timeline_numbers(const struct timeline *t, const json_t *list, double *y)
{
	const json_t *v;
	size_t i;

	for (i = 0; i < t->n; i++) {
		v = json_array_get(list, t->skipped + i);
		y[i] = json_is_number(v) ? json_number_value(v) : NAN;
	}
}

double
timeline_volume(const struct timeline *t, const json_t *rates)
{
	const json_t *v;
	double sum = 0;
	size_t i;

	for (i = 0; i < t->n; i++) {
		v = json_array_get(rates, t->skipped + i);
		sum += json_is_number(v) ? json_number_value(v) : 0;
	}
	return sum;
}

static double
volume(const struct timeline *t, const json_t *stage)
{
	return timeline_volume(t, result_list(stage, KEY_timeline_stage_bytes_per_s));
}

static void
find_small_change(struct timeline *t)
{
	const json_t *list = result_list(t->doc, KEY_timeline_stages), *entry;
	double most = 0;
	size_t i;

	json_array_foreach(list, i, entry) most = fmax(most, volume(t, entry));
	t->small_change = most * TIMELINE_SMALL;
	t->n_small = 0;
	json_array_foreach(list, i, entry) t->n_small += volume(t, entry) < t->small_change;
}

/* Where segments begin, except the first. */
static void
read_marks(struct timeline *t, const json_t *doc)
{
	const json_t *list = result_list(result_get(doc, KEY_result_changes), KEY_changes_segments);
	int64_t t0 = t->t0_wall_ns, at;
	size_t i;

	t->n_marks = 0;
	for (i = 1; i < json_array_size(list) && t->n_marks < MARKS_MAX; i++)
		if (t0 > 0 && (at = result_ns(json_array_get(list, i), KEY_segment_start_ns)) > t0)
			t->marks[t->n_marks++] = (double)(at - t0) * 1e-9;
}

/* Programs report before their transfer begins: the axis begins with the session. */
static void
skip_idle(struct timeline *t, const json_t *doc)
{
	int64_t start = result_ns(result_get(doc, KEY_result_session), KEY_session_start_ns);
	double steps;

	t->skipped = 0;
	t->t0_wall_ns = result_ns(t->doc, KEY_timeline_t0_ns);
	if (t->t0_wall_ns <= 0 || start <= t->t0_wall_ns)
		return;
	steps = floor((double)(start - t->t0_wall_ns) * 1e-9 / t->step_s + 1e-6);
	if (!(steps >= 1 && steps < (double)t->n))
		return;
	t->skipped = (size_t)steps;
	t->n -= t->skipped;
	t->t0_wall_ns += (int64_t)(steps * t->step_s * 1e9);
}

bool
timeline_read(struct timeline *t, const json_t *doc)
{
	double n;

	t->doc = result_get(doc, KEY_result_timeline);
	t->limit = result_text(result_get(doc, KEY_result_verdict), KEY_verdict_stage);
	t->step_s = result_number(t->doc, KEY_timeline_step_s);
	n = result_number(t->doc, KEY_timeline_n);
	if (!(t->step_s > 0) || !isfinite(t->step_s) || !(n >= 1))
		return false;
	t->n = n < STEPS_MAX ? (size_t)n : STEPS_MAX;
	skip_idle(t, doc);
	find_small_change(t);
	read_marks(t, doc);
	return true;
}

static void
name_connection(const json_t *c, char *out, size_t size)
{
	const char *host = result_text(c, KEY_timeline_connection_host),
		   *dst = result_text(c, KEY_timeline_connection_dst);

	snprintf(out, size, "%.60s port %.0f to %.45s port %.0f", host != NULL ? host : "?",
	    result_number(c, KEY_timeline_connection_sport), dst != NULL ? dst : "?",
	    result_number(c, KEY_timeline_connection_dport));
}

void
timeline_name(enum result_key list, const json_t *entry, char *out, size_t size)
{
	const char *stage = result_text(entry, KEY_timeline_stage_stage);
	const char *host = result_text(entry, KEY_timeline_stage_host);

	if (list == KEY_timeline_connections)
		name_connection(entry, out, size);
	else if (list == KEY_timeline_hosts)
		snprintf(out, size, "%s", host != NULL ? host : "unnamed host");
	else
		snprintf(out, size, "%s%s%s",
		    stage != NULL ? result_stage_words(stage) : "unnamed stage",
		    host != NULL ? ", " : "", host != NULL ? host : "");
}

/* Collects lines with at least one value. Values go to `values`, LINES_MAX x n. */
static size_t
collect_lines(const struct timeline *t, const struct series_plot *plot, struct plot_line *lines,
    double *values)
{
	const json_t *list = result_list(t->doc, plot->list), *data;
	bool hosts = plot->list == KEY_timeline_hosts;
	char name[160];
	size_t i, k, at, n = 0, rank = 0;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *entry = json_array_get(list, i);
		const char *stage = hosts ? NULL : result_text(entry, KEY_timeline_stage_stage);

		if (plot->list == KEY_timeline_stages && volume(t, entry) < t->small_change)
			continue;
		for (k = 0; k < plot->n_values && n < LINES_MAX; k++) {
			double *y = values + n * t->n;

			if ((data = result_list(entry, plot->values[k].key)) == NULL)
				continue;
			timeline_numbers(t, data, y);
			for (at = 0; at < t->n && !isfinite(y[at]); at++)
				;
			if (at == t->n)
				continue;
			timeline_name(plot->list, entry, name, sizeof(name));
			snprintf(lines[n].name, sizeof(lines[n].name), "%.130s%s", name,
			    plot->values[k].words);
			lines[n].y = y;
			/* by entry, not by line: a stage looks the same in every plot */
			lines[n].style =
			    hosts ? host_styles[(2 * rank + k) % PLOT_STYLES] : (unsigned)rank;
			lines[n].strong =
			    stage != NULL && t->limit != NULL && strcmp(stage, t->limit) == 0;
			n++;
		}
		rank++;
	}
	return n;
}

struct plot
timeline_plot(
    const struct timeline *t, const char *id, const char *title, const struct plot_line *lines)
{
	return (struct plot){ .id = id,
		.title = title,
		.step_s = t->step_s,
		.n = t->n,
		.lines = lines,
		.marks = t->marks,
		.n_marks = t->n_marks,
		.marks_words = "change" };
}

/* Share of the steps with values in which a line is the highest, and not low. */
static double
share_highest(const struct plot *p, size_t line)
{
	size_t i, k, n = 0, n_highest = 0;

	for (i = 0; i < p->n; i++) {
		double most = -1, own = p->lines[line].y[i];

		for (k = 0; k < p->n_lines; k++)
			most = fmax(most, p->lines[k].y[i]);
		n += most >= 0;
		n_highest += most >= PLOT_STRIP_MIN && own >= most;
	}
	return n > 0 ? (double)n_highest / (double)n : 0;
}

/* "Held more of the time than the other stages: network path, in 83 % of the moments shown." */
static void
held_sentence(const struct plot *p, char *out, size_t size)
{
	size_t k, len = 0;

	out[0] = '\0';
	for (k = 0; k < p->n_lines && len < size; k++) {
		double share = share_highest(p, k);

		if (share < 0.01)
			continue;
		len += (size_t)snprintf(out + len, size - len,
		    len == 0 ? "Held more of the time than the other stages: %s, in %.0f\xc2\xa0%% "
			       "of the "
			       "moments shown"
			     : "; %s, in %.0f\xc2\xa0%%",
		    p->lines[k].name, 100 * share);
	}
	if (len == 0)
		snprintf(out, size, "No stage held the bytes for a third of the time");
	len = strlen(out);
	snprintf(out + len, size - len, ". Stages may hold the bytes at the same time.");
}

static bool
write_plot(struct html *h, const struct timeline *t, const struct series_plot *what, double *values)
{
	struct plot_line lines[LINES_MAX];
	struct plot p = timeline_plot(t, what->id, what->title, lines);
	char sentence[1024];

	p.unit = what->unit;
	p.log_y = what->log_y;
	p.low = what->low;
	p.form = what->form;
	p.n_lines = collect_lines(t, what, lines, values);
	if (!plot_has_data(&p))
		return false;
	if (what->list == KEY_timeline_held) {
		held_sentence(&p, sentence, sizeof(sentence));
		p.sentence = sentence;
		p.strip_words = "The stage that held the most, by number";
	}
	plot_write(h, &p);
	return true;
}

static void
field_write(struct html *h, const char *words, const char *name, double v)
{
	html_raw(h, "<label>");
	html_text(h, words);
	html_raw(h, " <input inputmode=\"decimal\" size=\"7\" required");
	html_attr(h, "name", name);
	html_attr(h, "value", h->to_s > h->from_s ? fmt_exact(v).s : "");
	html_raw(h, "></label> ");
}

/* The form that asks for a stretch. */
static void
stretch_form(struct html *h)
{
	if (h->session_id == 0 || h->figure != NULL)
		return;
	html_raw(h, "<form class=\"filter stretch\" action=\"/session/");
	html_int(h, h->session_id);
	html_raw(h, "#stretch\">");
	field_write(h, "From second", "from", h->from_s);
	field_write(h, "to second", "to", h->to_s);
	html_raw(h, "<button>Show this stretch</button></form>");
}

void
session_plots(struct html *h, const json_t *doc)
{
	struct timeline t;
	double *values = NULL;
	bool drawn[N_PLOTS], any_missing = false;
	size_t i;

	if (!timeline_read(&t, doc)) {
		html_raw(h, "<p>There is no timeline of this session.</p>");
		return;
	}
	if ((values = calloc(LINES_MAX * t.n, sizeof(*values))) == NULL) {
		h->failed = true;
		return;
	}
	html_raw(h, "<p class=\"note\">Time runs from ");
	if (t.t0_wall_ns != 0)
		html_text(h, page_local(t.t0_wall_ns).s);
	else
		html_raw(h, "the start");
	html_raw(h, " in steps of ");
	html_text(h, fmt_duration(t.step_s).s);
	html_raw(h, ". A gap in a line is a time without reports.");
	if (t.n_small > 0) {
		html_raw(h, " Stages with less than 1\xc2\xa0% of the bytes are not drawn: ");
		html_int(h, (int64_t)t.n_small);
		html_raw(h, ".");
	}
	html_raw(h, "</p>");
	stretch_form(h);
	plot_write_markers(h);
	html_raw(h, "<div class=\"plots\">");
	for (i = 0; i < N_PLOTS; i++)
		drawn[i] = write_plot(h, &t, &plots[i], values);
	html_raw(h, "</div>");
	for (i = 0; i < N_PLOTS; i++) {
		if (drawn[i])
			continue;
		if (any_missing)
			html_raw(h, "; ");
		else
			html_raw(h, "<p class=\"note\">Not reported: ");
		html_text(h, plots[i].missing);
		any_missing = true;
	}
	if (any_missing)
		html_raw(h, ".</p>");
	free(values);
}
