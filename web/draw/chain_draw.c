/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/draw/chain_draw.h"

#include <math.h>

#include "narrows/format.h"

enum { WIDTH = 216, HEIGHT = 58, LINE = 18, GAP_X = 110, GAP_Y = 26, EDGE = 8, NAME_LETTERS = 28 };
/* Places of lines between two boxes, from the top. */
enum { PLACES = 2, PLACE = 16, PLACE_STEP = 30 };
/* A wait of less of the time is no line. */
static const double SHARE_MIN = 0.02;

struct layout {
	const struct chain_box *box;
	const struct chain_line *line;
	size_t n, n_lines;
	size_t column[CHAIN_NODES_MAX], row[CHAIN_NODES_MAX];
	size_t columns, rows;
	double height; /* of a box */
};

/* Bytes from one box to another, less the bytes of the way back. */
static double
net_bytes(const struct layout *l, size_t from, size_t to)
{
	double net = 0, way;
	size_t i;

	for (i = 0; i < l->n_lines; i++) {
		const struct chain_line *e = &l->line[i];

		way = (e->room ? e->waiter : e->holder) == from ? 1 : -1;
		if ((e->waiter == from && e->holder == to) ||
		    (e->waiter == to && e->holder == from))
			net += way * e->bytes;
	}
	return net;
}

/* Each box stands right of all boxes that give it bytes, as far as the bytes go in no circle. */
static void
columns_set(struct layout *l)
{
	size_t round, i, k;

	for (round = 0; round < l->n; round++)
		for (i = 0; i < l->n; i++)
			for (k = 0; k < l->n; k++)
				if (net_bytes(l, i, k) > 0 && l->column[k] <= l->column[i] &&
				    l->column[i] + 1 < l->n)
					l->column[k] = l->column[i] + 1;
	for (i = 0; i < l->n; i++) {
		for (k = 0; k < i; k++)
			l->row[i] += l->column[k] == l->column[i];
		l->columns = l->column[i] + 1 > l->columns ? l->column[i] + 1 : l->columns;
		l->rows = l->row[i] + 1 > l->rows ? l->row[i] + 1 : l->rows;
	}
}

static double
box_x(const struct layout *l, size_t i)
{
	return EDGE + (double)l->column[i] * (WIDTH + GAP_X);
}

static double
box_y(const struct layout *l, size_t i)
{
	return EDGE + (double)l->row[i] * (l->height + GAP_Y);
}

static void
coord(struct html *h, double v)
{
	html_coord(h, v);
	html_raw(h, "\"");
}

static void
words(struct html *h, double x, double y, const char *text)
{
	html_raw(h, "<text x=\"");
	coord(h, x);
	html_raw(h, " y=\"");
	coord(h, y);
	html_raw(h, ">");
	html_text(h, text);
	html_raw(h, "</text>");
}

static void
small_words_open(struct html *h, double x, double y)
{
	html_raw(h, "<text class=\"small\" x=\"");
	coord(h, x);
	html_raw(h, " y=\"");
	coord(h, y);
	html_raw(h, ">");
}

/* A long name keeps its begin; the table has the whole name. */
static void
name_cut(const char *name, char *out, size_t size)
{
	size_t n = 0, letters = 0;

	for (; name[n] != '\0' && n + 4 < size; n++) {
		letters += ((unsigned char)name[n] & 0xc0) != 0x80;
		if (letters > NAME_LETTERS)
			break;
		out[n] = name[n];
	}
	out[n] = '\0';
}

static void
box_draw(struct html *h, const struct layout *l, size_t i)
{
	const struct chain_box *b = &l->box[i];
	double x = box_x(l, i), y = box_y(l, i);
	char name[4 * NAME_LETTERS + 8];

	if (b->limit)
		html_raw(h, "<rect class=\"limit\" rx=\"5\" x=\"");
	else
		html_raw(h, "<rect rx=\"5\" x=\"");
	coord(h, x);
	html_raw(h, " y=\"");
	coord(h, y);
	html_raw(h, " width=\"");
	coord(h, WIDTH);
	html_raw(h, " height=\"");
	coord(h, l->height);
	html_raw(h, "/>");
	name_cut(b->name, name, sizeof(name));
	words(h, x + 8, y + 21, name);
	small_words_open(h, x + 8, y + 41);
	html_raw(h, "held ");
	html_text(h, fmt_share(b->held).s);
	html_raw(h, ", waited ");
	html_text(h, fmt_share(b->waited).s);
	html_raw(h, "</text>");
	if (!(b->queued > 0))
		return;
	small_words_open(h, x + 8, y + 41 + LINE);
	html_raw(h, "without a processor ");
	html_text(h, fmt_share(b->queued).s);
	html_raw(h, "</text>");
}

static bool
is_drawn(const struct layout *l, const struct chain_line *e)
{
	return e->waiter < l->n && e->holder < l->n && e->share >= SHARE_MIN;
}

/* Several lines between two boxes lie below each other, with room for the shares. */
static size_t
place_of(const struct layout *l, const struct chain_line *e)
{
	const struct chain_line *o;
	size_t place = 0;

	for (o = l->line; o < e; o++)
		place += is_drawn(l, o) &&
		    ((o->waiter == e->waiter && o->holder == e->holder) ||
			(o->waiter == e->holder && o->holder == e->waiter));
	return place % PLACES;
}

static void
line_draw(struct html *h, const struct layout *l, const struct chain_line *e)
{
	bool right = l->column[e->holder] > l->column[e->waiter];
	double shift = PLACE + (double)place_of(l, e) * PLACE_STEP;
	double x1 = box_x(l, e->waiter) + (right ? WIDTH : 0), y1 = box_y(l, e->waiter) + shift;
	double x2 = box_x(l, e->holder) + (right ? 0 : WIDTH), y2 = box_y(l, e->holder) + shift;
	double back = right ? -9 : 9;

	if (l->box[e->holder].limit)
		html_raw(h, "<g class=\"limit\"><line x1=\"");
	else
		html_raw(h, "<g><line x1=\"");
	coord(h, x1);
	html_raw(h, " y1=\"");
	coord(h, y1);
	html_raw(h, " x2=\"");
	coord(h, x2 + back);
	html_raw(h, " y2=\"");
	coord(h, y2);
	html_raw(h, " stroke-width=\"");
	coord(h, 1 + 9 * fmin(e->share, 1));
	html_raw(h, "/><path d=\"M");
	html_coord(h, x2);
	html_raw(h, " ");
	html_coord(h, y2);
	html_raw(h, "l");
	html_coord(h, back);
	html_raw(h, " -7v14z\"/></g>");
	words(h, (x1 + x2) / 2 - 14, (y1 + y2) / 2 - 8, fmt_share(e->share).s);
}

void
chain_draw(struct html *h, const struct chain_box *box, size_t n, const struct chain_line *line,
    size_t n_lines)
{
	struct layout l = { .box = box,
		.line = line,
		.n = n < CHAIN_NODES_MAX ? n : CHAIN_NODES_MAX,
		.n_lines = n_lines < CHAIN_EDGES_MAX ? n_lines : CHAIN_EDGES_MAX,
		.height = HEIGHT };
	size_t i;

	for (i = 0; i < l.n; i++)
		l.height = box[i].queued > 0 ? HEIGHT + LINE : l.height;
	columns_set(&l);
	html_raw(h,
	    "<svg class=\"chain\" role=\"img\" aria-label=\"Programs in the order of the bytes, "
	    "and their waits for each other\" aria-describedby=\"chain-words\" width=\"");
	coord(h, 2 * EDGE + (double)l.columns * (WIDTH + GAP_X) - GAP_X);
	html_raw(h, " height=\"");
	coord(h, 2 * EDGE + (double)l.rows * (l.height + GAP_Y) - GAP_Y);
	html_raw(h, ">");
	for (i = 0; i < l.n_lines; i++)
		if (is_drawn(&l, &line[i]))
			line_draw(h, &l, &line[i]);
	for (i = 0; i < l.n; i++)
		box_draw(h, &l, i);
	html_raw(h, "</svg>");
}
