/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of a session's lifelines; see lines.h. Everything works without scripts: a line is a
 * link to itself alone, and the points of a line are links that begin or end a measurement. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "web/lines/lines.h"
#include "web/draw/lines_draw.h"
#include "web/page/page.h"

enum { SLOWEST_MAX = 20, POINTS_SHOWN_MAX = 3, STALLS_SHOWN_MAX = 30, EVENTS_SHOWN_MAX = 20 };

const char *const lines_endings[LINES_FORMS] = { "", ".json", ".csv", ".otlp.json", ".svg" };

const char *
lines_content_type(enum lines_form form)
{
	static const char *const types[LINES_FORMS] = { NULL, "application/json",
		"text/csv; charset=utf-8", "application/json", "image/svg+xml" };

	return types[form];
}

static void
link_to(
    struct html *h, const struct choice *c, const char *key, const char *value, const char *text)
{
	char href[CHOICE_HREF_BYTES];

	choice_href(href, c, key, value);
	html_raw(h, "<a");
	html_attr(h, "href", href);
	html_raw(h, ">");
	html_text(h, text);
	html_raw(h, "</a>");
}

/* --- parts --- */

static void
facts_write(struct html *h, const struct lines_view *v)
{
	const struct lineset *s = v->s;
	static const char *const sources[] = { "as declared",
		"the known path of the storage system", "learned from the order of events" };
	char text[400];
	size_t i, len = 0;

	text[0] = '\0';
	for (i = 0; i < s->n_keys && len < sizeof(text) - 80; i++)
		len += (size_t)snprintf(
		    text + len, sizeof(text) - len, "%s%.60s", i > 0 ? ", " : "", s->keys[i]);
	html_raw(h, "<ul class=\"plain\"><li>");
	html_text(h, fmt_count(s->lines.n).s);
	html_raw(h, " lifelines of ");
	html_text(h, fmt_count((uint64_t)s->n_events).s);
	html_raw(h, " events; chosen: ");
	html_text(h, fmt_count(v->k->lines.n).s);
	html_raw(h, " (");
	html_text(h, fmt_count(v->p->n_finished).s);
	html_raw(h, " finished, ");
	html_text(h, fmt_count(v->p->n_flushed).s);
	html_raw(h, " flushed, ");
	html_text(h, fmt_count(v->p->n_unfinished).s);
	html_raw(h, " unfinished");
	if (v->p->n_memory > 0) {
		html_raw(h, "; from memory, with a diamond: ");
		html_text(h, fmt_count(v->p->n_memory).s);
	}
	html_raw(h, ")</li><li>An object is one value of: ");
	html_text(h, text[0] != '\0' ? text : "nothing");
	html_raw(h, "; a server is told by: ");
	html_text(h, s->lane_key);
	html_raw(h, "; the path is ");
	html_text(h, sources[s->path_source]);
	if (s->n_left_out > 0) {
		html_raw(h, "; events left out: ");
		html_text(h, fmt_count((uint64_t)s->n_left_out).s);
	}
	html_raw(h, "</li></ul>");
}

static void
field_write(struct html *h, const char *label, const char *name, const char *value)
{
	html_raw(h, "<label>");
	html_text(h, label);
	html_raw(h, " <input");
	html_attr(h, "name", name);
	html_attr(h, "value", value);
	html_raw(h, "></label>");
}

static void
form_write(struct html *h, const struct choice *c)
{
	char range[160];

	snprintf(range, sizeof(range), "%s-%s", fmt_exact(c->percentile_low).s,
	    fmt_exact(c->percentile_high).s);
	html_raw(h, "<form class=\"filter\" method=\"get\">");
	field_write(h, "Ids contain", "id", c->id);
	field_write(h, "Server", "server", c->server);
	field_write(h, "Percentiles", "percentile", isnan(c->percentile_low) ? "" : range);
	field_write(h, "From second", "from", isnan(c->from_s) ? "" : fmt_exact(c->from_s).s);
	field_write(h, "To second", "to", isnan(c->to_s) ? "" : fmt_exact(c->to_s).s);
	if (c->path[0] != '\0')
		field_write(h, "Path", "path", c->path);
	if (c->by[0] != '\0')
		field_write(h, "Object", "by", c->by);
	if (c->lane[0] != '\0')
		field_write(h, "Server is", "lane", c->lane);
	html_raw(h,
	    "<button>Show</button> <a href=\"?\">All</a> "
	    "<a href=\"?percentile=99-100\">Slowest of a hundred</a></form>");
}

static void
legend_write(struct html *h, const struct lines_view *v)
{
	size_t i;
	char class[16];

	html_raw(h, "<ul class=\"legend\">");
	for (i = 0; i < v->s->lanes.n && i < 40; i++) {
		snprintf(class, sizeof(class), "line s%zu", i % 8);
		html_raw(
		    h, "<li><svg width=\"28\" height=\"10\"><path d=\"M0 5H28\" fill=\"none\"");
		html_attr(h, "class", class);
		html_raw(h, "/></svg>");
		link_to(h, v->c, "server", v->s->lanes.text[i], v->s->lanes.text[i]);
		html_raw(h, "</li>");
	}
	html_raw(h, "</ul>");
}

static void
cell_duration(struct html *h, double s)
{
	html_raw(h, "<td class=\"num\">");
	html_text(h, isfinite(s) ? fmt_duration(s).s : "-");
	html_raw(h, "</td>");
}

static void
cell_count(struct html *h, size_t n)
{
	html_raw(h, "<td class=\"num\">");
	html_text(h, fmt_count(n).s);
	html_raw(h, "</td>");
}

/* A cell of a table whose rows become cards on a narrow screen; is_long: with a row of its own. */
static void
cell_labelled(struct html *h, const char *label, const char *text, bool is_long)
{
	html_raw(h, "<td");
	html_attr(h, "class", is_long ? "num span" : "num");
	html_attr(h, "data-label", label);
	html_raw(h, ">");
	html_text(h, text);
	html_raw(h, "</td>");
}

static void
excess_cell(struct html *h, const char *label, const struct nw_line_segment *g)
{
	char text[240] = "-";

	if (isfinite(g->excess_low))
		snprintf(text, sizeof(text), "%s (%s to %s)", fmt_share(g->excess_share).s,
		    fmt_share(g->excess_low).s, fmt_share(g->excess_high).s);
	cell_labelled(h, label, text, true);
}

/* A cell with a name of the session's events. */
static void
cell_name(struct html *h, const char *label, const char *name)
{
	html_raw(h, "<td class=\"num span\"");
	html_attr(h, "data-label", label);
	html_raw(h, ">");
	page_name(h, name);
	html_raw(h, "</td>");
}

/* Returns true if the order of a line at two points is impossible, or not known. */
static bool
order_is_doubtful(const struct nw_line_segments *s)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (s->segment[i].backwards > 0 || s->segment[i].uncertain > 0)
			return true;
	return false;
}

/* Below the name of a segment: columns of their own would make the table too wide to read. */
static void
order_write(struct html *h, const struct nw_line_segment *g)
{
	if (g->backwards == 0 && g->uncertain == 0)
		return;
	html_raw(h, "<span class=\"under soft\">order impossible: ");
	html_text(h, fmt_count(g->backwards).s);
	html_raw(h, ", not known: ");
	html_text(h, fmt_count(g->uncertain).s);
	html_raw(h, "</span>");
}

static const struct {
	const char *title;
	enum nw_line_quantile q;
} durations[] = { { "5 %", NW_LINE_Q05 }, { "Median", NW_LINE_MEDIAN }, { "95 %", NW_LINE_Q95 },
	{ "99 %", NW_LINE_Q99 }, { "Longest", NW_LINE_MAX } };

static void
segment_row(struct html *h, const struct lines_view *v, const struct nw_line_segment *g)
{
	size_t i;

	html_raw(h, "<tr><th><span>");
	page_name(h, lineset_point(v->s, g->from));
	html_raw(h, " to ");
	page_name(h, lineset_point(v->s, g->to));
	html_raw(h, "</span>");
	order_write(h, g);
	html_raw(h, "</th>");
	cell_labelled(h, "Lines", fmt_count(g->n).s, false);
	for (i = 0; i < sizeof(durations) / sizeof(durations[0]); i++)
		cell_labelled(h, durations[i].title, fmt_duration(g->q_s[durations[i].q]).s, false);
	excess_cell(h, "Share of excess", g);
	cell_labelled(h, "Crossings", fmt_count(g->crossings).s, false);
	html_raw(h, "</tr>");
}

static void
segments_write(struct html *h, const struct lines_view *v)
{
	size_t i;

	if (v->p->segments.n == 0)
		return;
	html_raw(h,
	    "<section><h2>Segments</h2><div class=\"scroll lifescroll\" tabindex=\"0\" "
	    "role=\"region\" "
	    "aria-label=\"Segments\"><table class=\"stages wide-names\"><thead><tr>"
	    "<th>Segment</th><th class=\"num\">Lines</th>");
	for (i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
		html_raw(h, "<th class=\"num\">");
		html_text(h, durations[i].title);
		html_raw(h, "</th>");
	}
	html_raw(h,
	    "<th class=\"num\">Share of excess</th><th class=\"num\">Crossings</th></tr></thead>"
	    "<tbody>");
	for (i = 0; i < v->p->segments.n; i++)
		segment_row(h, v, &v->p->segments.segment[i]);
	html_raw(h,
	    "</tbody></table></div><p class=\"note\">Slow lines are the slowest twentieth; their "
	    "excess is their time above each segment's median, with a 95 % interval. "
	    "Crossings: pairs of lines in which the later line is first at the end.");
	if (!order_is_doubtful(&v->p->segments))
		html_raw(h, " No line has an impossible or unknown order.");
	html_raw(h, "</p></section>");
}

static void
stalls_write(struct html *h, const struct lines_view *v)
{
	size_t i;

	if (v->p->n_stalls == 0)
		return;
	html_raw(h,
	    "<section><h2>Blocked and unblocked</h2><div class=\"scroll\" tabindex=\"0\" "
	    "role=\"region\" aria-label=\"Blocked and unblocked\"><table><thead><tr>"
	    "<th>Server</th><th>Blocked at</th><th class=\"num\">For</th>"
	    "<th class=\"num\">Lines that wait</th></tr></thead><tbody>");
	for (i = 0; i < v->p->n_stalls && i < STALLS_SHOWN_MAX; i++) {
		const struct nw_line_stall *x = &v->p->stall[i];
		double at = ((double)x->blocked_ns - (double)v->s->first_wall_ns) * 1e-9;

		html_raw(h, "<tr><th>");
		page_name(h, v->s->lanes.text[x->lane]);
		html_raw(h, "</th><td>");
		link_to(h, v->c, "from", fmt_exact(floor(at * 1000) / 1000).s, fmt_si(at, "s").s);
		html_raw(h, "</td>");
		cell_duration(h, ((double)x->unblocked_ns - (double)x->blocked_ns) * 1e-9);
		cell_count(h, x->waiting);
		html_raw(h, "</tr>");
	}
	html_raw(h, "</tbody></table></div></section>");
}

static void
events_write(struct html *h, const struct lines_view *v)
{
	size_t i;

	if (v->p->n_with == 0)
		return;
	html_raw(h,
	    "<section><h2>Events of hosts in that time</h2><div class=\"scroll lifescroll\" "
	    "tabindex=\"0\" role=\"region\" aria-label=\"Events of hosts in that time\">"
	    "<table class=\"stages\"><thead><tr><th>Event</th><th class=\"num\">Host</th>"
	    "<th class=\"num\">Server</th><th class=\"num\">All</th>"
	    "<th class=\"num\">Within</th><th class=\"num\">Expected by chance</th>"
	    "<th class=\"num\">p</th></tr></thead><tbody>");
	for (i = 0; i < v->p->n_with && i < EVENTS_SHOWN_MAX; i++) {
		const struct linereport_with *w = &v->p->with[i];

		html_raw(h, "<tr><th>");
		page_name(h, v->s->names.text[w->name]);
		html_raw(h, "</th>");
		cell_name(h, "Host", v->s->hosts.text[w->host]);
		cell_name(h, "Server",
		    w->server != NW_LINE_ANY ? v->s->side_servers.text[w->server] : "-");
		cell_labelled(h, "All", fmt_count(w->with.n).s, false);
		cell_labelled(h, "Within", fmt_count(w->with.n_within).s, false);
		cell_labelled(h, "Expected by chance",
		    w->with.expected < 100 ? fmt_ratio(w->with.expected).s
					   : fmt_count((uint64_t)llround(w->with.expected)).s,
		    false);
		cell_labelled(h, "p", fmt_p(w->with.p).s, false);
		html_raw(h, "</tr>");
	}
	html_raw(h, "</tbody></table></div></section>");
}

static void
causal_cell(struct html *h, const struct nw_line_clock *c)
{
	char text[240] = "-";

	if (isfinite(c->low_s) && isfinite(c->high_s) && c->low_s <= c->high_s)
		snprintf(text, sizeof(text), "%s to %s", fmt_si(c->low_s, "s").s,
		    fmt_si(c->high_s, "s").s);
	else if (isfinite(c->low_s) && isfinite(c->high_s))
		snprintf(text, sizeof(text), "no constant lead fits: the clock moved");
	cell_labelled(h, "Lead allowed by the lines", text, true);
}

static void
clock_row(struct html *h, const char *host, const struct lineset_clock *c)
{
	html_raw(h, "<tr><th>");
	page_name(h, host);
	html_raw(h, "</th><td class=\"num span\" data-label=\"Corrected by\"><span>");
	html_text(h, c->lead_ns != 0 ? fmt_si((double)c->lead_ns * 1e-9, "s").s : "-");
	if (c->drift != 0) {
		html_raw(h, " at first<span class=\"under\">and by ");
		html_text(h, fmt_ratio(1e6 * c->drift).s);
		html_raw(h, " ppm</span>");
	}
	html_raw(h, "</span></td>");
	cell_labelled(h, "May be wrong by",
	    isfinite(c->bound_s) ? fmt_si(c->bound_s, "s").s : "no bound known", true);
	causal_cell(h, &c->causal);
	html_raw(h, "</tr>");
}

static void
clocks_write(struct html *h, const struct lines_view *v)
{
	size_t i;

	if (v->s->hosts.n < 2)
		return;
	html_raw(h,
	    "<section><h2>Clocks</h2><div class=\"scroll lifescroll\" tabindex=\"0\" "
	    "role=\"region\" "
	    "aria-label=\"Clocks\"><table class=\"stages\"><thead><tr><th>Host</th>"
	    "<th class=\"num\">Corrected by</th><th class=\"num\">May be wrong by</th>"
	    "<th class=\"num\">Lead allowed by the lines</th></tr></thead><tbody>");
	for (i = 0; i < v->s->hosts.n && i < 40; i++)
		clock_row(h, v->s->hosts.text[i], &v->s->clock[i]);
	html_raw(h,
	    "</tbody></table></div><p class=\"note\">Nothing arrives before its sending: the last "
	    "column is the largest possible lead of a host's clock over the clock of the host "
	    "where lines end, by the shown times of the lines alone. ");
	link_to(h, v->c, "clock", v->c->raw ? NULL : "raw",
	    v->c->raw ? "Show corrected times" : "Show times as logged");
	html_raw(h, "</p></section>");
}

/* --- single lines --- */

struct ranked {
	double total;
	size_t i;
};

static int
by_total(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return (x->total < y->total) - (x->total > y->total);
}

static void
slowest_write(struct html *h, const struct lines_view *v)
{
	struct ranked *r = calloc(v->k->lines.n + 1, sizeof(*r));
	size_t i, n = 0;

	for (i = 0; r != NULL && i < v->k->lines.n; i++)
		if (isfinite(r[n].total = nw_line_total(&v->k->lines, i)))
			r[n++].i = i;
	if (n > 0) {
		qsort(r, n, sizeof(*r), by_total);
		html_raw(h,
		    "<section><h2>Slowest lines</h2><div class=\"scroll\" tabindex=\"0\" "
		    "role=\"region\" aria-label=\"Slowest lines\"><table><thead><tr>"
		    "<th>Ids</th><th>Server</th><th class=\"num\">Takes</th></tr></thead>"
		    "<tbody>");
		for (i = 0; i < n && i < SLOWEST_MAX; i++) {
			const char *label = v->s->label[v->k->line[r[i].i]];

			html_raw(h, "<tr><th>");
			link_to(h, v->c, "id", label, label);
			html_raw(h, "</th><td>");
			page_name(h, v->s->lanes.text[v->k->lane[r[i].i]]);
			html_raw(h, "</td>");
			cell_duration(h, r[i].total);
			html_raw(h, "</tr>");
		}
		html_raw(h, "</tbody></table></div></section>");
	}
	free(r);
}

static void
point_row(struct html *h, const struct lines_view *v, size_t i, unsigned p, unsigned last)
{
	const struct nw_lines *l = &v->k->lines;
	const int64_t *t = l->t_ns + i * l->n_points;
	char mark[CHOICE_LIST_BYTES];

	snprintf(mark, sizeof(mark), "%.255s@%.255s", v->s->label[v->k->line[i]],
	    lineset_point(v->s, p));
	html_raw(h, "<tr><th>");
	page_name(h, lineset_point(v->s, p));
	html_raw(h, "</th><td>");
	page_name(h, lineset_host(v->s, v->k->line[i], p));
	html_raw(h, "</td><td class=\"num\">");
	html_text(h, fmt_iso_ns(t[p]).s);
	html_raw(h, "</td>");
	if (last < l->n_points)
		cell_duration(h, ((double)t[p] - (double)t[last]) * 1e-9);
	else
		html_raw(h, "<td></td>");
	html_raw(h, "<td>");
	if (last < l->n_points && nw_line_order_of(l, i, last, p) == NW_LINE_IMPOSSIBLE)
		html_raw(h, "<b>impossible order</b>");
	else if (last < l->n_points && nw_line_order_of(l, i, last, p) == NW_LINE_UNCERTAIN)
		html_raw(h, "order not known");
	else if (last < l->n_points && nw_line_order_of(l, i, last, p) == NW_LINE_REVERSED)
		html_raw(h, "against the path");
	html_raw(h, "</td><td>measure ");
	link_to(h, v->c, "a", mark, "from here");
	html_raw(h, " ");
	link_to(h, v->c, "b", mark, "to here");
	html_raw(h, "</td></tr>");
}

/* The points of the first few lines, when few are chosen. */
static void
points_write(struct html *h, const struct lines_view *v)
{
	const struct nw_lines *l = &v->k->lines;
	unsigned p, last;
	size_t i;

	if (l->n == 0 || l->n > POINTS_SHOWN_MAX)
		return;
	for (i = 0; i < l->n; i++) {
		html_raw(h, "<section><h2>Line ");
		html_text(h, v->s->label[v->k->line[i]]);
		html_raw(h,
		    "</h2><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Points "
		    "of the line\"><table><tbody>");
		for (last = (unsigned)l->n_points, p = 0; p < l->n_points; p++)
			if (l->t_ns[i * l->n_points + p] != NW_LINE_NEVER) {
				point_row(h, v, i, p, last);
				last = p;
			}
		html_raw(h, "</tbody></table></div></section>");
	}
}

static void
measure_write(struct html *h, const struct lines_view *v)
{
	json_t *m = linereport_measure(v->s, v->c);
	double seconds = json_number_value(result_get(m, KEY_line_measure_seconds)),
	       error = json_number_value(result_get(m, KEY_line_measure_error_s)),
	       rate = json_number_value(result_get(m, KEY_line_measure_lines_per_s)),
	       bytes = result_number(m, KEY_line_measure_bytes_per_s);
	char lacks[LINEREPORT_SENTENCE_BYTES];
	struct linereport_spot at;

	if (v->c->b.line[0] == '\0' && linereport_spot(v->s, &v->c->a, &at)) {
		html_raw(h, "<section><h2>Measured</h2><p>From ");
		html_text(h, v->s->label[at.line]);
		html_raw(h, " at ");
		html_text(h, lineset_point(v->s, at.point));
		html_raw(
		    h, ": choose the point to measure to, in the drawing or among the points.</p>");
		html_raw(h, "</section>");
	} else if (json_is_object(m)) {
		html_raw(h, "<section><h2>Measured</h2><p>From ");
		html_text(h, result_text(m, KEY_line_measure_a));
		html_raw(h, " at ");
		html_text(h, result_text(m, KEY_line_measure_a_point));
		html_raw(h, " to ");
		html_text(h, result_text(m, KEY_line_measure_b));
		html_raw(h, " at ");
		html_text(h, result_text(m, KEY_line_measure_b_point));
		html_raw(h, ": <b>");
		html_text(h, fmt_si(seconds, "s").s);
		html_raw(h, "</b>");
		if (error > 0) {
			html_raw(h, ", which the clocks may falsify by ");
			html_text(h, fmt_si(error, "s").s);
		} else if (isnan(result_number(m, KEY_line_measure_error_s)))
			html_raw(h, ", by clocks without a known bound");
		html_raw(h, ". Meanwhile ");
		html_int(h, json_integer_value(result_get(m, KEY_line_measure_lines_between)));
		html_raw(h, " lines pass the second point, ");
		html_text(h, fmt_ratio(rate).s);
		html_raw(h, " a second");
		if (isfinite(bytes)) {
			html_raw(h, ": <b>");
			html_text(h, fmt_bytes_per_s(bytes).s);
			html_raw(h, "</b>");
		}
		html_raw(h, ".</p></section>");
	} else if (v->c->a.line[0] != '\0' && v->c->b.line[0] != '\0') {
		linereport_lacks(v->s, v->c, lacks);
		html_raw(h, "<p class=\"note\">Nothing is measured. ");
		html_text(h, lacks);
		html_raw(h, "</p>");
	}
	json_decref(m);
}

static void
hidden_write(struct html *h, const char *name, const char *value)
{
	html_raw(h, "<input type=\"hidden\"");
	html_attr(h, "name", name);
	html_attr(h, "value", value);
	html_raw(h, ">");
}

/* The form of a note on the point at which a measurement begins. */
static void
note_form_write(struct html *h, const struct lines_view *v)
{
	struct linereport_spot a;

	if (!linereport_spot(v->s, &v->c->a, &a)) {
		html_raw(h,
		    "<p class=\"note\">Choose a line, and \"from here\" at one of its points, to "
		    "write a note there.</p>");
		return;
	}
	html_raw(h, "<form class=\"filter note-form\" method=\"post\" action=\"/session/");
	html_int(h, v->s->session_id);
	html_raw(h, "/note\">");
	hidden_write(h, "line", v->s->label[a.line]);
	hidden_write(h, "point", lineset_point(v->s, a.point));
	hidden_write(h, "at", fmt_iso_ns(a.t_wall_ns).s);
	html_raw(h, "<label>Note at ");
	html_text(h, v->s->label[a.line]);
	html_raw(h, ", ");
	page_name(h, lineset_point(v->s, a.point));
	html_raw(h,
	    " <input name=\"text\" required size=\"40\" maxlength=\"2000\"></label>"
	    "<button>Keep the note</button></form>");
}

static void
notes_table_write(struct html *h, const struct lines_view *v)
{
	size_t i;

	html_raw(h,
	    "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
	    "aria-label=\"Notes\"><table><tbody>");
	for (i = 0; i < v->s->n_notes; i++) {
		const struct lineset_note *n = &v->s->notes[i];

		html_raw(h, "<tr><th class=\"num\">");
		html_int(h, n->id);
		html_raw(h, "</th><td class=\"num\">");
		html_text(
		    h, fmt_si(((double)n->t_wall_ns - (double)v->s->first_wall_ns) * 1e-9, "s").s);
		html_raw(h, "</td><td>");
		if (n->line[0] != '\0')
			link_to(h, v->c, "id", n->line, n->line);
		html_raw(h, " ");
		html_text(h, n->point);
		html_raw(h, "</td><td>");
		html_text(h, n->text);
		html_raw(h, "</td></tr>");
	}
	html_raw(h, "</tbody></table></div>");
}

static void
notes_write(struct html *h, const struct lines_view *v)
{
	if (v->s->n_notes == 0 && (!h->may_change || v->s->lines.n == 0))
		return;
	html_raw(h, "<section id=\"notes\"><h2>Notes</h2>");
	if (v->s->n_notes > 0)
		notes_table_write(h, v);
	if (h->may_change && v->s->lines.n > 0)
		note_form_write(h, v);
	html_raw(h, "</section>");
}

static void
links_write(struct html *h, const struct lines_view *v)
{
	static const char *const words[LINES_FORMS] = { NULL, "JSON", "CSV", "OpenTelemetry spans",
		"SVG" };
	char query[CHOICE_HREF_BYTES], href[CHOICE_HREF_BYTES + 64];
	int form;

	choice_href(query, v->c, NULL, NULL);
	html_raw(h, "<p class=\"links\"><a href=\"/session/");
	html_int(h, v->s->session_id);
	html_raw(h, "\">The session</a>");
	for (form = LINES_JSON; form < LINES_FORMS; form++) {
		snprintf(href, sizeof(href), "/session/%" PRId64 "/lifelines%s%s", v->s->session_id,
		    lines_endings[form], query[1] != '\0' ? query : "");
		html_raw(h, " <a");
		html_attr(h, "href", href);
		html_raw(h, ">");
		html_text(h, words[form]);
		html_raw(h, "</a>");
	}
	html_raw(h, "</p>");
}

/* The durations of many lines over time, in front of the drawing of some lines. */
static void
durations_write(struct html *h, const struct lines_view *v)
{
	if (v->k->lines.n <= LINES_DRAWN_MAX)
		return;
	html_raw(h,
	    "<figure class=\"plot\"><div class=\"scroll lifescroll\" tabindex=\"0\" "
	    "role=\"region\" aria-label=\"Durations of the lifelines\">");
	lines_times_draw(h, v);
	html_raw(h,
	    "</div><figcaption class=\"note\">Duration of each line over the time of its "
	    "beginning; darker where more lines are. A click chooses a twentieth of the time. "
	    "In colour: ");
	html_text(h,
	    v->p->found.n > 0 && v->p->found.finding[0].kind == NW_LINE_CLASS
		? "the lines of the finding."
		: "the slowest of a hundred.");
	html_raw(h, "</figcaption></figure>");
}

static void
drawing_write(struct html *h, struct lines_view *v)
{
	if (v->k->lines.n == 0)
		return;
	html_raw(h, "<figure class=\"plot\">");
	legend_write(h, v);
	html_raw(h,
	    "<div class=\"scroll lifescroll\" tabindex=\"0\" role=\"region\" aria-label=\"Drawing "
	    "of the lifelines\">");
	lines_draw(h, v, false);
	html_raw(h,
	    "</div><figcaption class=\"note\">Seconds since the session's first event. A cross "
	    "ends a flushed line, a ring an unfinished one. A line is a link to itself.");
	if (v->timeline != NULL)
		html_raw(h,
		    " Below the lines: measurements of the hosts, each up to its highest value; "
		    "the session's page has the numbers.");
	if (v->n_drawn < v->k->lines.n) {
		html_raw(h, " Drawn: ");
		html_text(h, fmt_count(v->n_drawn).s);
		html_raw(h, " of ");
		html_text(h, fmt_count(v->k->lines.n).s);
		html_raw(h, " lines, the slowest of a hundred all.");
	}
	html_raw(h, "</figcaption></figure>");
}

static void
page_write(struct html *h, struct lines_view *v)
{
	const struct page_frame frame = { .title = "Lifelines" };

	page_begin(h, &frame);
	html_raw(h, "<h1 class=\"page\">Lifelines of session ");
	html_int(h, v->s->session_id);
	html_raw(h, "</h1><p class=\"sentence\">");
	html_text(h, v->p->sentence);
	html_raw(h, "</p>");
	if (v->g->session_id != 0) {
		html_raw(h, "<p>");
		html_text(h, v->g->sentence);
		html_raw(h, "</p>");
	}
	facts_write(h, v);
	form_write(h, v->c);
	durations_write(h, v);
	drawing_write(h, v);
	measure_write(h, v);
	notes_write(h, v);
	points_write(h, v);
	segments_write(h, v);
	stalls_write(h, v);
	events_write(h, v);
	clocks_write(h, v);
	slowest_write(h, v);
	links_write(h, v);
	page_end(h);
}

/* --- forms --- */

static int
json_write(struct html *h, struct lines_view *v)
{
	json_t *doc = linereport_json(v->s, v->c, v->k, v->p);
	char *text;
	int rc;

	result_set(doc, KEY_lifelines_against, against_json(v->s, v->g));
	text = doc != NULL ? json_dumps(doc, JSON_INDENT(1)) : NULL;
	rc = text != NULL && evbuffer_add(h->out, text, strlen(text)) == 0 &&
		evbuffer_add(h->out, "\n", 1) == 0
	    ? NW_OK
	    : NW_ENOMEM;
	free(text);
	json_decref(doc);
	return rc;
}

static void
text_free(const void *text, size_t len, void *arg)
{
	(void)len, (void)arg;
	free((void *)(uintptr_t)text);
}

static int
table_form(struct html *h, struct lines_view *v, enum lines_form form)
{
	char *text = NULL;
	size_t len = 0;
	int rc = form == LINES_CSV ? linecsv_make(v->s, v->k, &text, &len)
				   : lineotlp_make(v->s, v->k, &text, &len);

	/* the text may be large: the body takes it as it is */
	if (rc == NW_OK && evbuffer_add_reference(h->out, text, len, text_free, NULL) != 0) {
		free(text);
		rc = NW_ENOMEM;
	}
	return rc;
}

static int
form_make(struct html *h, struct lines_view *v, enum lines_form form)
{
	switch (form) {
	case LINES_JSON: return json_write(h, v);
	case LINES_CSV:
	case LINES_OTLP: return table_form(h, v, form);
	case LINES_SVG: lines_draw(h, v, true); break;
	default: page_write(h, v);
	}
	return h->failed ? NW_ENOMEM : NW_OK;
}

/* *arg: the result document, or NULL; the caller drops it. */
static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	json_t **doc = arg;

	(void)s;
	*doc = res != NULL && res->json != NULL ? json_loads(res->json, 0, NULL) : NULL;
	return 0;
}

/* --- the cache --- */

enum { CACHE_S = 10 }; /* clocks are read again after so long */

struct lines_cache {
	struct lineset *s;    /* NULL: empty */
	struct linereport *p; /* report of all lines of s; or NULL */
	struct choice c;      /* choice of path, keys, lane and clocks behind s */
	struct nw_event_span span;
	int64_t made_mono_ns;
};

struct lines_cache *
lines_cache_new(void)
{
	return calloc(1, sizeof(struct lines_cache));
}

static void
cache_clear(struct lines_cache *k)
{
	linereport_free(k->p);
	lineset_free(k->s);
	*k = (struct lines_cache){ .s = NULL };
}

void
lines_cache_free(struct lines_cache *k)
{
	if (k != NULL)
		cache_clear(k);
	free(k);
}

static bool
cache_has(const struct lines_cache *k, const struct nw_event_span *span, int64_t session_id,
    const struct choice *c)
{
	return k->s != NULL && k->s->session_id == session_id &&
	    memcmp(&k->span, span, sizeof(*span)) == 0 && strcmp(k->c.path, c->path) == 0 &&
	    strcmp(k->c.by, c->by) == 0 && strcmp(k->c.lane, c->lane) == 0 && k->c.raw == c->raw &&
	    nw_mono_ns() - k->made_mono_ns < CACHE_S * INT64_C(1000000000);
}

/* Fills the cache with the lines of a choice, unless they are there; with the notes as they are
 * now. */
static int
cache_fill(
    struct lines_cache *k, struct store_reader *r, int64_t session_id, const struct choice *c)
{
	struct lineset_opts opts = choice_opts(c);
	struct nw_event_span span = { .n = 0 };
	int rc = store_event_span(r, session_id, &span);

	if (rc != NW_OK)
		return rc;
	if (cache_has(k, &span, session_id, c)) {
		k->s->stop = c->stop;
		return lineset_notes(r, k->s);
	}
	cache_clear(k);
	if ((rc = lineset_load(r, session_id, &opts, &k->s)) != NW_OK)
		return rc;
	k->c = *c;
	k->span = span;
	k->made_mono_ns = nw_mono_ns();
	return NW_OK;
}

/* The report on chosen lines: that on all lines is the cache's, any other the caller's. */
static int
report_find(struct lines_cache *cache, const struct choice *c, const struct chosen *k,
    struct linereport **own, const struct linereport **out)
{
	bool all = choice_is_all(c);
	int rc = NW_OK;

	*own = NULL;
	if (!all)
		rc = linereport_make(cache->s, k, own);
	else if (cache->p == NULL)
		rc = linereport_make(cache->s, k, &cache->p);
	*out = all ? cache->p : *own;
	return rc;
}

static int
stop_code(const struct lineset *s)
{
	return lineset_stopped(s) ? NW_ECLOSED : NW_OK;
}

static int
answer(struct html *h, struct store_reader *r, struct lines_cache *cache, int64_t session_id,
    enum lines_form form, const struct choice *c, const json_t *doc)
{
	struct linereport *own = NULL;
	struct chosen k = { .t = NULL };
	struct against g = { .session_id = 0 };
	struct lines_view v = {
		.c = c, .k = &k, .g = &g, .timeline = result_get(doc, KEY_result_timeline)
	};
	int rc = cache_fill(cache, r, session_id, c);

	v.s = cache->s;
	if (rc == NW_OK)
		rc = choice_take(c, cache->s, &k);
	if (rc == NW_OK && (rc = stop_code(cache->s)) == NW_OK)
		rc = report_find(cache, c, &k, &own, &v.p);
	if (rc == NW_OK && (rc = stop_code(cache->s)) == NW_OK)
		rc = against_make(r, cache->s, c, &g);
	if (rc == NW_OK && (rc = stop_code(cache->s)) == NW_OK)
		rc = form_make(h, &v, form);
	linereport_free(own);
	chosen_clear(&k);
	return rc;
}

int
lines_answer(struct html *h, struct store_reader *r, struct lines_cache *cache, int64_t session_id,
    enum lines_form form, const char *query, const char **why)
{
	struct lines_cache once = { .s = NULL };
	json_t *doc = NULL;
	struct choice c;
	int rc = choice_parse(&c, query, why);

	c.stop = h->stop;
	if (rc == NW_OK)
		rc = store_session_get(r, session_id, on_session, &doc);
	if (rc == NW_OK)
		rc = answer(h, r, cache != NULL ? cache : &once, session_id, form, &c, doc);
	json_decref(doc);
	cache_clear(&once);
	return rc;
}
