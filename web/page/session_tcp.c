/* SPDX-License-Identifier: BSD-3-Clause */
/* TCP over time: what the kernel of the sending end says of each connection, all on the axis of the
 * other timelines. */
#include "web/page/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "narrows/format.h"
#include "narrows/result.h"
#include "web/page/html_table.h"
#include "web/page/session_timeline.h"

/* Connections whose time is split up in a figure of their own. */
enum { SPLIT_MAX = 3 };

static const struct tcp_plot {
	const char *id, *title;
	enum result_key key;
	enum plot_unit unit;
	const char *unit_words;
	const char *what; /* begin of the sentence */
	const char *none; /* sentence about zeros; NULL for no sentence */
} plots[] = {
	{ "p-tcp-rate", "Rate of each connection", KEY_timeline_connection_bytes_per_s,
	    PLOT_BYTES_PER_S, NULL, "Sent", NULL },
	{ "p-tcp-rtt", "Round trip time", KEY_timeline_connection_rtt_s, PLOT_SECONDS, NULL,
	    "The kernel's smoothed round trip took", NULL },
	{ "p-tcp-cwnd", "Congestion window", KEY_timeline_connection_cwnd_bytes, PLOT_BYTES, NULL,
	    "The congestion window allowed", NULL },
	{ "p-tcp-again", "Segments sent again", KEY_timeline_connection_retrans_per_s, PLOT_NUMBER,
	    "segments a second", "Segments sent again in a second:", "No segment was sent again." },
};

/* How a connection's time is split up. */
static const struct {
	enum result_key key;
	const char *words;
} splits[] = {
	{ KEY_timeline_connection_busy, "data in flight" },
	{ KEY_timeline_connection_rwnd_limited, "held by the receive window" },
	{ KEY_timeline_connection_sndbuf_limited, "held by the send buffer" },
};
enum { N_SPLITS = sizeof(splits) / sizeof(splits[0]) };

static bool
read_line(const struct timeline *t, const json_t *c, enum result_key key, struct plot_line *line,
    double *y)
{
	const json_t *list = result_list(c, key);
	size_t i;

	if (list == NULL)
		return false;
	timeline_numbers(t, list, y);
	line->y = y;
	for (i = 0; i < t->n && !isfinite(y[i]); i++)
		;
	return i < t->n;
}

/* "The congestion window allowed 14 kB to 2 MB, on average 1 MB." of all lines together. */
static void
range_sentence(const struct plot *p, const char *what, char *out, size_t size)
{
	double low = INFINITY, high = -INFINITY, sum = 0;
	size_t i, k, n = 0;

	for (k = 0; k < p->n_lines; k++)
		for (i = 0; i < p->n; i++)
			if (isfinite(p->lines[k].y[i])) {
				low = fmin(low, p->lines[k].y[i]);
				high = fmax(high, p->lines[k].y[i]);
				sum += p->lines[k].y[i];
				n++;
			}
	snprintf(out, size, "%s %s to %s, on average %s.", what, plot_value(p->unit, low).s,
	    plot_value(p->unit, high).s, plot_value(p->unit, sum / (double)n).s);
}

static double
volume(const struct timeline *t, const json_t *connection)
{
	return timeline_volume(t, result_list(connection, KEY_timeline_connection_bytes_per_s));
}

/* Connections that carry a hundredth of the bytes of the largest, in the document's order. Returns
 * their number. */
static size_t
connections_find(const struct timeline *t, const json_t *out[TIMELINE_LINES_MAX])
{
	const json_t *list = result_list(t->doc, KEY_timeline_connections), *c;
	double most = 0;
	size_t i, n = 0;

	json_array_foreach(list, i, c) most = fmax(most, volume(t, c));
	json_array_foreach(list, i,
	    c) if (n < TIMELINE_LINES_MAX && volume(t, c) >= TIMELINE_SMALL * most) out[n++] = c;
	return n;
}

struct tcp {
	const struct timeline *t;
	const json_t *connection[TIMELINE_LINES_MAX];
	size_t n;
	double *values; /* room for the lines of a figure */
};

/* The only value of the lines; NaN if there are more, or none. */
static double
single_value(const struct plot *p)
{
	double only = NAN;
	size_t i, k, n = 0;

	for (k = 0; k < p->n_lines; k++)
		for (i = 0; i < p->n; i++)
			if (isfinite(p->lines[k].y[i])) {
				only = p->lines[k].y[i];
				n++;
			}
	return n == 1 ? only : NAN;
}

/* A figure of nothing but zeros is left out. */
static bool
is_zero(const struct plot *p)
{
	size_t i, k;

	for (k = 0; k < p->n_lines; k++)
		for (i = 0; i < p->n; i++)
			if (p->lines[k].y[i] > 0)
				return false;
	return true;
}

static void
write_plot(struct html *h, const struct tcp *tcp, const struct tcp_plot *what)
{
	const struct timeline *t = tcp->t;
	struct plot_line lines[TIMELINE_LINES_MAX];
	struct plot p = timeline_plot(t, what->id, what->title, lines);
	char sentence[256];
	size_t i;

	for (i = 0; i < tcp->n; i++) {
		struct plot_line *line = &lines[p.n_lines];

		*line = (struct plot_line){ .style = (unsigned)i };
		timeline_name(
		    KEY_timeline_connections, tcp->connection[i], line->name, sizeof(line->name));
		p.n_lines += read_line(
		    t, tcp->connection[i], what->key, line, tcp->values + p.n_lines * t->n);
	}
	p.unit = what->unit;
	p.unit_words = what->unit_words;
	p.low = true;
	if (!plot_has_data(&p))
		return;
	if (isfinite(single_value(&p))) {
		html_raw(h, "<p class=\"note\">");
		html_text(h, what->title);
		html_raw(h, ", told once: ");
		html_text(h, plot_value(p.unit, single_value(&p)).s);
		html_raw(h, ".</p>");
		return;
	}
	if (is_zero(&p)) {
		html_raw(h, "<p class=\"note\">");
		html_text(h, what->none);
		html_raw(h, "</p>");
		return;
	}
	range_sentence(&p, what->what, sentence, sizeof(sentence));
	p.sentence = sentence;
	plot_write(h, &p);
}

static void
split_sentence(const struct plot *p, char *out, size_t size)
{
	double mean[N_SPLITS] = { NAN, NAN, NAN }, sum;
	size_t i, k, n;

	for (k = 0; k < p->n_lines; k++) {
		for (sum = 0, n = 0, i = 0; i < p->n; i++)
			if (isfinite(p->lines[k].y[i])) {
				sum += p->lines[k].y[i];
				n++;
			}
		mean[p->lines[k].style] = n > 0 ? fmin(sum / (double)n, 1) : NAN;
	}
	snprintf(out, size,
	    "The kernel had data in flight for %s of the time, and was held by the receive window "
	    "for %s, by the send buffer for %s.",
	    fmt_share(mean[0]).s, fmt_share(mean[1]).s, fmt_share(mean[2]).s);
}

static void
write_split(struct html *h, const struct tcp *tcp, size_t index)
{
	const struct timeline *t = tcp->t;
	const json_t *c = tcp->connection[index];
	struct plot_line lines[N_SPLITS];
	char id[32], name[160], title[200], sentence[512];
	struct plot p;
	size_t k;

	snprintf(id, sizeof(id), "p-tcp-time-%zu", index + 1);
	timeline_name(KEY_timeline_connections, c, name, sizeof(name));
	snprintf(title, sizeof(title), "Time of %s", name);
	p = timeline_plot(t, id, title, lines);
	for (k = 0; k < N_SPLITS; k++) {
		struct plot_line *line = &lines[p.n_lines];

		*line = (struct plot_line){ .style = (unsigned)k };
		snprintf(line->name, sizeof(line->name), "%s", splits[k].words);
		p.n_lines += read_line(t, c, splits[k].key, line, tcp->values + p.n_lines * t->n);
	}
	p.unit = PLOT_SHARE;
	p.form = PLOT_BANDS;
	if (!plot_has_data(&p))
		return;
	split_sentence(&p, sentence, sizeof(sentence));
	p.sentence = sentence;
	plot_write(h, &p);
}

/* --- connections side by side --- */

static double
list_mean(const json_t *row, enum result_key key)
{
	const json_t *list = result_list(row, key), *v;
	double sum = 0;
	size_t i, n = 0;

	json_array_foreach(list, i, v) if (json_is_number(v))
	{
		sum += json_number_value(v);
		n++;
	}
	return n > 0 ? sum / (double)n : NAN;
}

static void
column_name(struct html *h, const json_t *row)
{
	char name[160];

	timeline_name(KEY_timeline_connections, row, name, sizeof(name));
	table_text(h, name);
}

#define COLUMN_MEAN(name, key, unit)                          \
	static void name(struct html *h, const json_t *row)   \
	{                                                     \
		const double mean = list_mean(row, key);      \
		table_value(h, mean, plot_value(unit, mean)); \
	}
COLUMN_MEAN(column_rate, KEY_timeline_connection_bytes_per_s, PLOT_BYTES_PER_S)
COLUMN_MEAN(column_rtt, KEY_timeline_connection_rtt_s, PLOT_SECONDS)
COLUMN_MEAN(column_cwnd, KEY_timeline_connection_cwnd_bytes, PLOT_BYTES)
COLUMN_MEAN(column_again, KEY_timeline_connection_retrans_per_s, PLOT_NUMBER)

/* Means of each connection, and how unequal the connections are. */
static void
write_streams(struct html *h, const struct tcp *tcp)
{
	static const struct table_column columns[] = { { "Connection", column_name, false },
		{ "Mean rate", column_rate, true }, { "Round trip", column_rtt, true },
		{ "Congestion window", column_cwnd, true },
		{ "Sent again, segments a second", column_again, true } };
	double v, most = 0, least = INFINITY;
	json_t *drawn = json_array();
	char sentence[160];
	size_t i;

	for (i = 0; i < tcp->n; i++) {
		json_array_append(drawn, (json_t *)tcp->connection[i]);
		v = volume(tcp->t, tcp->connection[i]);
		most = fmax(most, v);
		least = fmin(least, v);
	}
	if (tcp->n > 1) { /* each has a hundredth of the bytes of the fullest */
		snprintf(sentence, sizeof(sentence),
		    "Of %zu connections, the fullest carried %s times the bytes of the emptiest.",
		    tcp->n, fmt_ratio(most / least).s);
		html_raw(h, "<p class=\"note\">");
		html_text(h, sentence);
		html_raw(h, "</p>");
		table_write(h, drawn, columns, sizeof(columns) / sizeof(columns[0]));
	}
	json_decref(drawn);
}

void
session_tcp(struct html *h, const json_t *doc)
{
	struct timeline t;
	struct tcp tcp = { .t = &t };
	size_t i;

	if (!timeline_read(&t, doc))
		return;
	tcp.n = connections_find(&t, tcp.connection);
	if ((tcp.values = calloc(TIMELINE_LINES_MAX * t.n, sizeof(*tcp.values))) == NULL) {
		h->failed = true;
		return;
	}
	html_raw(h,
	    "<p class=\"note\">By the kernel of the sending end. While no data was in flight, the "
	    "sending program had written nothing more.");
	if (tcp.n > SPLIT_MAX)
		html_raw(h, " The time of the three largest connections is split up.");
	html_raw(h, "</p>");
	write_streams(h, &tcp);
	html_raw(h, "<div class=\"plots\">");
	for (i = 0; i < tcp.n && i < SPLIT_MAX; i++)
		write_split(h, &tcp, i);
	for (i = 0; i < sizeof(plots) / sizeof(plots[0]); i++)
		write_plot(h, &tcp, &plots[i]);
	html_raw(h, "</div>");
	free(tcp.values);
}
