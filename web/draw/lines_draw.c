/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lifelines as SVG: time across, points of the path up, a line per object in the colour and dash
 * of its server. Of very many lines only some are drawn: the slowest of a hundred, lines of
 * impossible order, and every n-th of the others in the order of their beginning. Stalls are bars
 * on top, events of hosts are ticks below, on the same axis. A point on another host than the last
 * point has the bound of that host's clock as its width.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/quantile.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "web/draw/lines_draw.h"
#include "web/draw/plot.h"

enum {
	LEFT = 190,
	RIGHT = 1180,
	TOP = 46,
	STEP = 52,  /* between points */
	LABEL = 20, /* half of a time's text, about */
	BAR = 9,    /* height of a bar of stalls or of a row of events */
	ROWS_MAX = 8,
	TICKS_MAX = 4000, /* of events */
	BOUNDS_MAX = 400, /* lines whose points get widths */
	STYLES = 8,
	STRIP = 26,     /* height of a series */
	STRIPS_MAX = 4, /* of a kind */
	IMPOSSIBLE_MAX = 5000
};
#define SLOW_SHARE 0.01

struct frame {
	int64_t from, to;
	double per_ns;
	double bottom; /* of the lines */
	size_t n_points;
};

static double
x_of(const struct frame *f, int64_t t)
{
	return LEFT + ((double)t - (double)f->from) * f->per_ns;
}

static double
y_of(const struct frame *f, size_t point)
{
	return f->bottom - (double)point * STEP;
}

/* The span of the chosen lines, or of what the reader asked for. */
static struct frame
frame_of(const struct lines_view *v)
{
	const struct nw_lines *l = &v->k->lines;
	struct frame f = { .from = INT64_MAX, .to = INT64_MIN, .n_points = l->n_points };
	int64_t asked;
	size_t i;

	for (i = 0; i < l->n * l->n_points; i++)
		if (l->t_ns[i] != NW_LINE_NEVER) {
			f.from = l->t_ns[i] < f.from ? l->t_ns[i] : f.from;
			f.to = l->t_ns[i] > f.to ? l->t_ns[i] : f.to;
		}
	if (isfinite(v->c->from_s) &&
	    !__builtin_add_overflow(v->s->first_wall_ns, llround(v->c->from_s * 1e9), &asked))
		f.from = asked;
	if (isfinite(v->c->to_s) &&
	    !__builtin_add_overflow(v->s->first_wall_ns, llround(v->c->to_s * 1e9), &asked))
		f.to = asked;
	if (f.from > f.to)
		f.from = f.to = v->s->first_wall_ns;
	f.per_ns = (RIGHT - LEFT) / fmax((double)f.to - (double)f.from, 1);
	f.bottom = TOP + (double)(f.n_points > 0 ? f.n_points - 1 : 0) * STEP +
	    (double)(v->s->lanes.n < ROWS_MAX ? v->s->lanes.n : ROWS_MAX) * BAR;
	return f;
}

/* --- which lines --- */

struct sequence {
	int64_t begin;
	uint32_t i;
};

static int
by_begin(const void *a, const void *b)
{
	const struct sequence *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

static bool
is_impossible(const struct nw_lines *l, size_t i)
{
	unsigned to, from;

	for (to = 1; to < l->n_points; to++)
		if (l->t_ns[i * l->n_points + to] != NW_LINE_NEVER &&
		    (from = nw_line_before(l, i, to)) < l->n_points &&
		    nw_line_order_of(l, i, from, to) == NW_LINE_IMPOSSIBLE)
			return true;
	return false;
}

static double
slow_from(const struct nw_lines *l, double *total)
{
	size_t i, n = 0;

	for (i = 0; i < l->n; i++)
		if (isfinite(total[n] = nw_line_total(l, i)))
			n++;
	return n > 0 ? quantile(total, n, 1 - SLOW_SHARE) : INFINITY;
}

static int64_t
begin_of(const struct nw_lines *l, size_t i)
{
	size_t p;

	for (p = 0; p < l->n_points; p++)
		if (l->t_ns[i * l->n_points + p] != NW_LINE_NEVER)
			return l->t_ns[i * l->n_points + p];
	return INT64_MIN;
}

/* draw[i]: whether line i is drawn. */
static size_t
thin(const struct nw_lines *l, uint8_t *draw, struct sequence *order, double *total)
{
	double slow_s = slow_from(l, total);
	size_t i, n = 0, n_rest = 0, n_impossible = 0, every;

	for (i = 0; i < l->n; i++) {
		bool impossible = n_impossible < IMPOSSIBLE_MAX && is_impossible(l, i);

		n_impossible += impossible;
		draw[i] = impossible || nw_line_total(l, i) >= slow_s;
		n += draw[i];
		if (!draw[i])
			order[n_rest++] = (struct sequence){ begin_of(l, i), (uint32_t)i };
	}
	qsort(order, n_rest, sizeof(*order), by_begin);
	every = n_rest / LINES_DRAWN_MAX + 1;
	for (i = 0; i < n_rest; i += every, n++)
		draw[order[i].i] = 1;
	return n;
}

/* --- axes --- */

static void
text_at(struct html *h, double x, double y, const char *anchor, const char *text)
{
	html_raw(h, "<text x=\"");
	html_coord(h, x);
	html_raw(h, "\" y=\"");
	html_coord(h, y);
	html_raw(h, "\"");
	html_attr(h, "text-anchor", anchor);
	html_raw(h, ">");
	html_text(h, text);
	html_raw(h, "</text>");
}

static void
rule(struct html *h, double x0, double y0, double x1, double y1)
{
	html_raw(h, "<path d=\"M");
	html_coord(h, x0);
	html_raw(h, " ");
	html_coord(h, y0);
	html_raw(h, "L");
	html_coord(h, x1);
	html_raw(h, " ");
	html_coord(h, y1);
	html_raw(h, "\"/>");
}

static void
points_draw(struct html *h, const struct lines_view *v, const struct frame *f)
{
	unsigned p;
	char text[40];

	html_raw(h, "<g class=\"grid\" stroke=\"#e2e3e1\">");
	for (p = 0; p < f->n_points; p++)
		rule(h, LEFT, y_of(f, p), RIGHT, y_of(f, p));
	html_raw(h, "</g><g class=\"points\" fill=\"#1b1e22\">");
	for (p = 0; p < f->n_points; p++) {
		const char *name = lineset_point(v->s, p);
		size_t len = strlen(name);

		/* the end of a long name tells more than its beginning */
		snprintf(text, sizeof(text), "%s%.24s", len > 24 ? ".." : "",
		    name + (len > 24 ? len - 22 : 0));
		text_at(h, LEFT - 8, y_of(f, p) + 4, "end", text);
	}
	html_raw(h, "</g>");
}

static void
axis_draw(struct html *h, const struct lines_view *v, const struct frame *f, double y)
{
	double origin = ((double)f->from - (double)v->s->first_wall_ns) * 1e-9,
	       span = ((double)f->to - (double)f->from) * 1e-9;
	struct plot_axis a;
	char text[40];
	size_t i;
	int digits;

	plot_axis_fit(&a, origin, origin + fmax(span, 1e-9), false, 8);
	/* ticks of a short stretch far behind the begin differ in late digits */
	digits = a.n_ticks > 1 ? (int)ceil(-log10(a.ticks[1] - a.ticks[0]) - 1e-6) : 0;
	html_raw(h, "<g class=\"ticks\" fill=\"#5b626b\">");
	for (i = 0; i < a.n_ticks; i++) {
		double x = LEFT + (a.ticks[i] - origin) * 1e9 * f->per_ns;

		if (x >= LEFT - 1 && x <= RIGHT + 1) {
			if (digits > 0 && fabs(a.ticks[i]) >= 1)
				snprintf(text, sizeof(text), "%.*f\xc2\xa0s", digits, a.ticks[i]);
			else
				snprintf(text, sizeof(text), "%s", fmt_si(a.ticks[i], "s").s);
			text_at(h, x, y, x > RIGHT - LABEL ? "end" : "middle", text);
		}
	}
	html_raw(h, "</g>");
}

/* --- lines --- */

static const struct {
	const char *colour, *dash;
} styles[STYLES] = { { "#0072b2", NULL }, { "#00805e", "7 3" }, { "#c44e00", "10 3 2 3" },
	{ "#a64d88", "2 4" }, { "#8a6a00", "10 5" }, { "#3d4a57", NULL }, { "#2a93c9", "5 2" },
	{ "#7a4b2a", "1 3" } };

static void
move_to(struct html *h, char letter, double x, double y)
{
	char text[64];

	snprintf(text, sizeof(text), "%c%.1f %.1f", letter, x, y);
	html_text(h, text);
}

/* The path of a line; `backwards` alone: only segments of impossible order. */
static void
line_path(struct html *h, const struct frame *f, const struct nw_lines *l, size_t i, bool backwards)
{
	const int64_t *t = l->t_ns + i * l->n_points;
	unsigned p, last = (unsigned)l->n_points;

	for (p = 0; p < l->n_points; p++) {
		if (t[p] == NW_LINE_NEVER)
			continue;
		if (!backwards)
			move_to(h, last == l->n_points ? 'M' : 'L', x_of(f, t[p]), y_of(f, p));
		else if (last < l->n_points &&
		    nw_line_order_of(l, i, last, p) == NW_LINE_IMPOSSIBLE) {
			move_to(h, 'M', x_of(f, t[last]), y_of(f, last));
			move_to(h, 'L', x_of(f, t[p]), y_of(f, p));
		}
		last = p;
	}
}

/* A cross for a flushed line, a ring for an unfinished one, at the line's last point. */
static void
end_mark(struct html *h, const struct frame *f, const struct nw_lines *l, size_t i,
    enum lineset_state state)
{
	const int64_t *t = l->t_ns + i * l->n_points;
	size_t p = l->n_points;
	double x, y;

	while (p > 0 && t[p - 1] == NW_LINE_NEVER)
		p--;
	if (p == 0)
		return;
	x = x_of(f, t[p - 1]);
	y = y_of(f, p - 1);
	if (state == LINESET_FLUSHED) {
		move_to(h, 'M', x - 3, y - 3);
		move_to(h, 'L', x + 3, y + 3);
		move_to(h, 'M', x - 3, y + 3);
		move_to(h, 'L', x + 3, y - 3);
	} else {
		move_to(h, 'M', x - 3, y);
		html_raw(h, "a3 3 0 1 0 6 0a3 3 0 1 0 -6 0");
	}
}

/* A diamond at the first point of a line whose object a server had in memory. */
static void
memory_mark(struct html *h, const struct frame *f, const struct nw_lines *l, size_t i)
{
	const int64_t *t = l->t_ns + i * l->n_points;
	size_t p = 0;

	while (p + 1 < l->n_points && t[p] == NW_LINE_NEVER)
		p++;
	if (t[p] == NW_LINE_NEVER)
		return;
	move_to(h, 'M', x_of(f, t[p]), y_of(f, p) - 4);
	html_raw(h, "l4 4l-4 4l-4 -4z");
}

/* How far each point on a host of uncertain clock may lie to either side. */
static void
bounds_path(struct html *h, const struct lines_view *v, const struct frame *f, size_t i)
{
	const struct nw_lines *l = &v->k->lines;
	const uint32_t *host = l->host + (size_t)l->lane[i] * l->n_points;
	const int64_t *t = l->t_ns + i * l->n_points;
	size_t p;

	for (p = 0; p < l->n_points; p++) {
		double width = l->bound_s[host[p]] * 1e9 * f->per_ns;

		if (t[p] == NW_LINE_NEVER || host[p] == host[l->n_points - 1] || !(width > 0.3))
			continue;
		move_to(h, 'M', x_of(f, t[p]) - width, y_of(f, p));
		move_to(h, 'L', x_of(f, t[p]) + width, y_of(f, p));
	}
}

static void
line_draw(struct html *h, struct lines_view *v, const struct frame *f, size_t i, bool alone)
{
	enum lineset_state state = v->s->state[v->k->line[i]];
	const struct nw_lines *l = &v->k->lines;
	const char *label = v->s->label[v->k->line[i]];
	char href[CHOICE_HREF_BYTES];
	double total = nw_line_total(l, i);
	bool memory = (v->s->flags[v->k->line[i]] & LINESET_MEMORY) != 0;

	if (!alone) {
		choice_href(href, v->c, "id", label);
		html_raw(h, "<a");
		html_attr(h, "href", href);
		html_raw(h, ">");
	}
	html_raw(h, "<path d=\"");
	line_path(h, f, l, i, false);
	if (state != LINESET_FINISHED)
		end_mark(h, f, l, i, state);
	if (memory)
		memory_mark(h, f, l, i);
	html_raw(h, "\"><title>");
	html_text(h, label);
	html_raw(h, ": ");
	html_text(h,
	    state == LINESET_FINISHED      ? fmt_duration(total).s
		: state == LINESET_FLUSHED ? "flushed"
					   : "unfinished");
	if (memory)
		html_raw(h, ", from memory");
	html_raw(h, "</title></path>");
	if (!alone)
		html_raw(h, "</a>");
}

static void
lane_open(struct html *h, size_t lane)
{
	char class[16];

	snprintf(class, sizeof(class), "life line s%zu", lane % STYLES);
	html_raw(h, "<g");
	html_attr(h, "class", class);
	html_attr(h, "stroke", styles[lane % STYLES].colour);
	html_attr(h, "stroke-dasharray", styles[lane % STYLES].dash);
	html_raw(h, " fill=\"none\">");
}

/* Lines of impossible order, on top of all others. */
static void
impossible_draw(
    struct html *h, const struct lines_view *v, const struct frame *f, const uint8_t *draw)
{
	size_t i;

	if (v->p->n_backwards == 0)
		return;
	html_raw(h,
	    "<g class=\"impossible\" stroke=\"#b34700\" stroke-width=\"2\" "
	    "stroke-dasharray=\"4 2\" fill=\"none\"><path d=\"");
	for (i = 0; i < v->k->lines.n; i++)
		if (draw[i])
			line_path(h, f, &v->k->lines, i, true);
	html_raw(h, "\"><title>impossible order: a clock is wrong</title></path></g>");
}

static void
lines_put(
    struct html *h, struct lines_view *v, const struct frame *f, const uint8_t *draw, bool alone)
{
	size_t lane, i, n_bounds = 0;

	html_raw(h,
	    "<g class=\"bounds\" stroke=\"#5b626b\" stroke-width=\"4\" "
	    "stroke-opacity=\".35\" fill=\"none\"><path d=\"");
	for (i = 0; i < v->k->lines.n && n_bounds < BOUNDS_MAX; i++)
		if (draw[i]) {
			bounds_path(h, v, f, i);
			n_bounds++;
		}
	html_raw(h, "\"/></g>");
	for (lane = 0; lane < v->s->lanes.n; lane++) {
		lane_open(h, lane);
		for (i = 0; i < v->k->lines.n; i++)
			if (draw[i] && v->k->lane[i] == lane)
				line_draw(h, v, f, i, alone);
		html_raw(h, "</g>");
	}
	impossible_draw(h, v, f, draw);
}

/* --- stalls, events, notes --- */

static void
box(struct html *h, double x0, double y, double x1, const char *title)
{
	html_raw(h, "<path d=\"");
	move_to(h, 'M', x0, y);
	move_to(h, 'L', fmax(x1, x0 + 1), y);
	html_raw(h, "\"");
	html_raw(h, "><title>");
	html_text(h, title);
	html_raw(h, "</title></path>");
}

static void
stalls_draw(struct html *h, const struct lines_view *v, const struct frame *f)
{
	char title[400];
	size_t i;

	if (v->p->n_stalls == 0)
		return;
	html_raw(h, "<g class=\"stalls\" stroke=\"#b34700\" stroke-width=\"6\" fill=\"none\">");
	for (i = 0; i < v->p->n_stalls && i < TICKS_MAX; i++) {
		const struct nw_line_stall *x = &v->p->stall[i];

		if (x->unblocked_ns < f->from || x->blocked_ns > f->to)
			continue;
		snprintf(title, sizeof(title), "%.200s blocked for %s, %zu lines wait",
		    v->s->lanes.text[x->lane],
		    fmt_duration(((double)x->unblocked_ns - (double)x->blocked_ns) * 1e-9).s,
		    x->waiting);
		box(h, fmax(x_of(f, x->blocked_ns), LEFT), 20 + (double)(x->lane % ROWS_MAX) * BAR,
		    fmin(x_of(f, x->unblocked_ns), RIGHT), title);
	}
	html_raw(h, "</g><g class=\"ticks\" fill=\"#5b626b\">");
	text_at(h, LEFT - 8, 24, "end", "blocked");
	html_raw(h, "</g>");
}

/* Rows of events: retransmits and losses first, then by number. */
struct row {
	uint32_t name, host;
	size_t n;
	bool trouble;
};

static bool
is_trouble(const char *name)
{
	return strcasestr(name, "retrans") != NULL || strcasestr(name, "drop") != NULL ||
	    strcasestr(name, "loss") != NULL || strcasestr(name, "err") != NULL;
}

static int
by_weight(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->trouble != y->trouble)
		return x->trouble ? -1 : 1;
	return (x->n < y->n) - (x->n > y->n);
}

static size_t
rows_find(const struct lines_view *v, struct row *rows, size_t max)
{
	size_t i, k, n = 0;

	for (i = 0; i < v->s->n_side; i++) {
		const struct lineset_side *e = &v->s->side[i];

		for (k = 0; k < n && (rows[k].name != e->name || rows[k].host != e->host); k++)
			;
		if (k == n && n < max)
			rows[n++] = (struct row){ e->name, e->host, 0,
				is_trouble(v->s->names.text[e->name]) };
		if (k < n)
			rows[k].n++;
	}
	qsort(rows, n, sizeof(*rows), by_weight);
	return n < ROWS_MAX ? n : ROWS_MAX;
}

static void
row_draw(struct html *h, const struct lines_view *v, const struct frame *f, const struct row *row,
    double y)
{
	size_t i, n = 0;
	double x, last = -1;
	char text[40];

	snprintf(text, sizeof(text), "%.24s", v->s->names.text[row->name]);
	html_raw(h, "<g class=\"ticks\" fill=\"#5b626b\">");
	text_at(h, LEFT - 8, y + 4, "end", text);
	html_raw(h, "</g><g class=\"events\" stroke=\"#1b1e22\" fill=\"none\"><path d=\"");
	for (i = 0; i < v->s->n_side && n < TICKS_MAX; i++) {
		const struct lineset_side *e = &v->s->side[i];

		if (e->name != row->name || e->host != row->host || e->t_wall_ns < f->from ||
		    e->t_wall_ns > f->to)
			continue;
		if ((x = x_of(f, e->t_wall_ns)) - last < 0.2)
			continue;
		last = x;
		n++;
		move_to(h, 'M', x, y - 5);
		html_raw(h, "v10");
	}
	html_raw(h, "\"><title>");
	html_text(h, v->s->names.text[row->name]);
	html_raw(h, " on ");
	html_text(h, v->s->hosts.text[row->host]);
	html_raw(h, "</title></path></g>");
}

static void
rows_draw(struct html *h, const struct lines_view *v, const struct frame *f, const struct row *rows,
    size_t n, double y)
{
	size_t i;

	for (i = 0; i < n; i++, y += 2 * BAR)
		row_draw(h, v, f, &rows[i], y);
}

/* Where a note stands: at its line's point, else on top. */
static double
note_y(const struct lines_view *v, const struct frame *f, const struct lineset_note *n)
{
	unsigned p = linereport_point(v->s, n->point);

	return p < f->n_points ? y_of(f, p) : 34;
}

static void
notes_draw(struct html *h, const struct lines_view *v, const struct frame *f)
{
	char number[24];
	double x, y;
	size_t i;

	for (i = 0; i < v->s->n_notes; i++) {
		const struct lineset_note *n = &v->s->notes[i];

		if (n->t_wall_ns < f->from || n->t_wall_ns > f->to)
			continue;
		x = x_of(f, n->t_wall_ns);
		y = note_y(v, f, n);
		snprintf(number, sizeof(number), "%lld", (long long)n->id);
		html_raw(h, "<g class=\"notes\" stroke=\"#b34700\" fill=\"none\"><path d=\"");
		move_to(h, 'M', x, y);
		html_raw(h, "l6 -12\"><title>");
		html_text(h, n->text);
		html_raw(h, "</title></path></g><g class=\"points\" fill=\"#1b1e22\">");
		text_at(h, x + 7, y - 12, "start", number);
		html_raw(h, "</g>");
	}
}

/* The marks of a measurement: a ring at each, and a line between the two. */
static void
marks_draw(struct html *h, const struct lines_view *v, const struct frame *f)
{
	struct linereport_spot at[2];
	bool has[2] = { linereport_spot(v->s, &v->c->a, &at[0]),
		linereport_spot(v->s, &v->c->b, &at[1]) };
	size_t i;

	if (!has[0] && !has[1])
		return;
	html_raw(h,
	    "<g class=\"marks\" stroke=\"#b34700\" stroke-width=\"2\" fill=\"none\" "
	    "clip-path=\"url(#window)\"><path d=\"");
	for (i = 0; i < 2; i++)
		if (has[i]) {
			move_to(h, 'M', x_of(f, at[i].t_wall_ns) - 6, y_of(f, at[i].point));
			html_raw(h, "a6 6 0 1 0 12 0a6 6 0 1 0 -12 0");
		}
	if (has[0] && has[1]) {
		move_to(h, 'M', x_of(f, at[0].t_wall_ns), y_of(f, at[0].point));
		move_to(h, 'L', x_of(f, at[1].t_wall_ns), y_of(f, at[1].point));
	}
	html_raw(h, "\"><title>measured</title></path></g>");
}

/* --- series of the hosts, on the same axis --- */

static const struct {
	enum result_key list, who, key;
	const char *words;
	bool share;
} series[] = {
	{ KEY_timeline_connections, KEY_timeline_connection_dst,
	    KEY_timeline_connection_retrans_per_s, "sent again/s, to", false },
	{ KEY_timeline_hosts, KEY_timeline_host_host, KEY_timeline_host_cpu_busy, "CPU", true },
	{ KEY_timeline_hosts, KEY_timeline_host_host, KEY_timeline_host_disk_busy, "disk", true },
};

/* The path of a series, flat over each step, `most` as high as a strip. */
static void
strip_path(struct html *h, const struct lines_view *v, const struct frame *f, const json_t *list,
    double y, double most)
{
	double step = result_number(v->timeline, KEY_timeline_step_s) * 1e9 * f->per_ns, high, from;
	double t0 = x_of(f, result_ns(v->timeline, KEY_timeline_t0_ns));
	size_t i, n = json_array_size(list);
	bool down = false;

	for (i = 0; i < n; i++) {
		const json_t *at = json_array_get(list, i);

		from = fmax(t0 + (double)i * step, LEFT);
		if (!json_is_number(at) || from >= fmin(t0 + (double)(i + 1) * step, RIGHT)) {
			down = false;
			continue;
		}
		high = (STRIP - 6) * fmin(fmax(json_number_value(at) / most, 0), 1);
		move_to(h, down ? 'L' : 'M', from, y + STRIP - 4 - high);
		move_to(h, 'L', fmin(t0 + (double)(i + 1) * step, RIGHT), y + STRIP - 4 - high);
		down = true;
	}
}

static bool
has_strips(const struct lines_view *v)
{
	return result_number(v->timeline, KEY_timeline_step_s) > 0 &&
	    result_ns(v->timeline, KEY_timeline_t0_ns) > 0;
}

/* Room for all strips that there may be. */
static double
strips_height(const struct lines_view *v)
{
	size_t k, n, all = 0;

	for (k = 0; has_strips(v) && k < sizeof(series) / sizeof(series[0]); k++) {
		n = json_array_size(result_list(v->timeline, series[k].list));
		all += n < STRIPS_MAX ? n : STRIPS_MAX;
	}
	return (double)(all * STRIP);
}

/* A series as a strip; nothing of zeros. Returns whether it is drawn. */
static bool
strip_draw(struct html *h, const struct lines_view *v, const struct frame *f, const json_t *entry,
    size_t what, double y)
{
	const json_t *list = result_list(entry, series[what].key), *at;
	const char *who = result_text(entry, series[what].who);
	double most = 0;
	char text[160];
	size_t i;

	json_array_foreach(list, i, at) most = fmax(most, json_number_value(at));
	if (!(most > 0 && most < 1e18))
		return false;
	snprintf(text, sizeof(text), "%s %.14s", series[what].words, who != NULL ? who : "?");
	html_raw(h, "<g class=\"ticks\" fill=\"#5b626b\">");
	text_at(h, LEFT - 8, y + STRIP - 6, "end", text);
	html_raw(h, "</g><g class=\"events strip\" stroke=\"#1b1e22\" fill=\"none\"><path d=\"");
	strip_path(h, v, f, list, y, most);
	html_raw(h, "\"><title>");
	html_text(h, series[what].words);
	html_raw(h, " ");
	html_text(h, who);
	html_raw(h, ", at most ");
	html_text(h, series[what].share ? fmt_share(most).s : fmt_ratio(most).s);
	html_raw(h, "</title></path></g>");
	return true;
}

static void
strips_draw(struct html *h, const struct lines_view *v, const struct frame *f, double y)
{
	size_t i, k, n;

	if (!has_strips(v))
		return;
	for (k = 0; k < sizeof(series) / sizeof(series[0]); k++) {
		const json_t *list = result_list(v->timeline, series[k].list), *entry;

		n = 0;
		json_array_foreach(
		    list, i, entry) if (n < STRIPS_MAX && strip_draw(h, v, f, entry, k, y))
		{
			y += STRIP;
			n++;
		}
	}
}

/* Where a script finds times and points in the drawing. */
static void
places_write(struct html *h, const struct lines_view *v, const struct frame *f)
{
	double origin = ((double)f->from - (double)v->s->first_wall_ns) * 1e-9;
	unsigned p;

	html_attr(h, "data-from", fmt_exact(origin).s);
	html_attr(h, "data-to", fmt_exact(origin + (RIGHT - LEFT) / f->per_ns * 1e-9).s);
	html_attr(h, "data-bottom", fmt_exact(f->bottom).s);
	html_raw(h, " data-points=\"");
	for (p = 0; p < f->n_points; p++) {
		if (p > 0)
			html_raw(h, "&#10;");
		html_text(h, lineset_point(v->s, p));
	}
	html_raw(h, "\"");
}

void
lines_draw(struct html *h, struct lines_view *v, bool alone)
{
	struct frame f = frame_of(v);
	struct row rows[64];
	size_t n = v->k->lines.n, n_rows = rows_find(v, rows, 64);
	uint8_t *draw = calloc(n + 1, sizeof(*draw));
	struct sequence *order = calloc(n + 1, sizeof(*order));
	double *total = calloc(n + 1, sizeof(*total)),
	       height = f.bottom + 60 + 2 * BAR * (double)n_rows;
	double y = f.bottom + 40;

	if (draw == NULL || order == NULL || total == NULL)
		h->failed = true;
	else {
		v->n_drawn = n > 0 && f.n_points > 0 ? thin(&v->k->lines, draw, order, total) : 0;
		html_raw(h,
		    "<svg class=\"lifelines\" xmlns=\"http://www.w3.org/2000/svg\" "
		    "font-family=\"sans-serif\" font-size=\"12\" role=\"img\" "
		    "aria-describedby=\"lifelines-words\" "
		    "viewBox=\"0 0 1200 ");
		html_coord(h, height + strips_height(v));
		html_raw(h, "\"");
		if (!alone)
			places_write(h, v, &f);
		html_raw(h,
		    "><desc id=\"lifelines-words\">Lifelines: time across, points of the "
		    "path up, a line per object</desc>");
		points_draw(h, v, &f);
		axis_draw(h, v, &f, f.bottom + 20);
		stalls_draw(h, v, &f);
		html_raw(h,
		    "<clipPath id=\"window\"><rect x=\"190\" y=\"0\" width=\"990\" "
		    "height=\"4000\"/></clipPath><g clip-path=\"url(#window)\">");
		if (v->n_drawn > 0)
			lines_put(h, v, &f, draw, alone);
		html_raw(h, "</g>");
		rows_draw(h, v, &f, rows, n_rows, y);
		strips_draw(h, v, &f, height - 14);
		notes_draw(h, v, &f);
		marks_draw(h, v, &f);
		html_raw(h, "</svg>");
	}
	free(draw);
	free(order);
	free(total);
}
