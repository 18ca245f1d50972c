/* SPDX-License-Identifier: BSD-3-Clause */
/* The rates of a path by active tests, against the rates of the sessions. */
#include <math.h>
#include <stdlib.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "web/draw/plot.h"
#include "web/page/html_table.h"
#include "web/page/page.h"

enum { POINTS_MAX = 1000, SESSIONS_MAX = 500, TEST, SESSION };

struct point {
	double at_s, bytes_per_s;
	int of; /* TEST or SESSION */
};

struct points {
	struct point list[POINTS_MAX];
	size_t n, n_tests;
	double x[POINTS_MAX], test[POINTS_MAX], session[POINTS_MAX];
};

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct points *p = arg;

	if (s->closed_wall_ns == 0 || res == NULL || !(res->bytes_per_s > 0) ||
	    res->exit_status > 0)
		return 0;
	p->list[p->n++] =
	    (struct point){ (double)res->start_wall_ns * 1e-9, res->bytes_per_s, SESSION };
	return p->n == POINTS_MAX;
}

static void
tests_take(struct points *p, const json_t *tests)
{
	const json_t *row;
	size_t i;

	json_array_foreach(tests, i, row)
	{
		const double rate = result_number(row, KEY_active_test_bytes_per_s);

		if (!(rate > 0) || p->n == POINTS_MAX - SESSIONS_MAX)
			continue;
		p->list[p->n++] =
		    (struct point){ (double)result_ns(row, KEY_active_test_start_ns) * 1e-9, rate,
			    TEST };
	}
	p->n_tests = p->n;
}

static int
by_time(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	return (x->at_s > y->at_s) - (x->at_s < y->at_s);
}

static void
points_plot(struct html *h, struct points *p, const char *sentence)
{
	const struct plot_line lines[] = {
		{ "active test of throughput", p->test, 2, true },
		{ "session", p->session, 0, true },
	};
	const struct plot plot = { .id = "p-tests",
		.title = "Active tests and sessions",
		.unit = PLOT_BYTES_PER_S,
		.sentence = sentence,
		.n = p->n,
		.x = p->x,
		.across = PLOT_DATE,
		.across_words = "seconds since 1970",
		.lines = lines,
		.n_lines = 2 };
	size_t i;

	qsort(p->list, p->n, sizeof(p->list[0]), by_time);
	for (i = 0; i < p->n; i++) {
		p->x[i] = p->list[i].at_s;
		p->test[i] = p->list[i].of == TEST ? p->list[i].bytes_per_s : NAN;
		p->session[i] = p->list[i].of == SESSION ? p->list[i].bytes_per_s : NAN;
	}
	plot_write(h, &plot);
}

/* --- the table --- */

static void
column_time(struct html *h, const json_t *row)
{
	page_time(h, result_ns(row, KEY_active_test_start_ns));
}

TABLE_TEXT(column_kind, KEY_active_test_kind)
TABLE_TEXT(column_tool, KEY_active_test_tool)
TABLE_NUMBER(column_rate, KEY_active_test_bytes_per_s, fmt_bytes_per_s)
TABLE_NUMBER(column_streams, KEY_active_test_streams, fmt_ratio)
TABLE_NUMBER(column_retransmits, KEY_active_test_retransmits, fmt_ratio)
TABLE_NUMBER(column_loss, KEY_active_test_loss, fmt_percent)
TABLE_NUMBER(column_rtt, KEY_active_test_rtt_s, fmt_duration)
TABLE_NUMBER(column_delay, KEY_active_test_delay_median_s, fmt_duration)
TABLE_NUMBER(column_hops, KEY_active_test_hops, fmt_ratio)

static void
column_result(struct html *h, const json_t *row)
{
	const char *error = result_text(row, KEY_active_test_error);

	if (result_bool(row, KEY_active_test_succeeded) == 1)
		html_raw(h, "done");
	else if (error != NULL)
		html_text(h, error);
	else
		html_raw(h, "failed");
}

static void
tests_table(struct html *h, const json_t *tests)
{
	static const struct table_column columns[] = {
		{ "Time", column_time, false },
		{ "Test", column_kind, false },
		{ "Tool", column_tool, false },
		{ "Rate", column_rate, true },
		{ "Streams", column_streams, true },
		{ "Sent again", column_retransmits, true },
		{ "Lost", column_loss, true },
		{ "Round trip", column_rtt, true },
		{ "Delay", column_delay, true },
		{ "Hops", column_hops, true },
		{ "Result", column_result, false },
	};

	html_raw(h, "<details><summary>The newest tests</summary>");
	table_write(h, tests, columns, sizeof(columns) / sizeof(columns[0]));
	html_raw(h, "</details>");
}

int
route_tests_write(struct html *h, struct store_reader *r, const json_t *doc, const char *route,
    const char *program)
{
	const json_t *tests = result_list(doc, KEY_route_active_tests);
	const char *sentence = result_text(doc, KEY_route_tests_sentence);
	struct points *p;
	int rc = NW_OK;

	if (json_array_size(tests) == 0)
		return NW_OK;
	if ((p = calloc(1, sizeof(*p))) == NULL)
		return NW_ENOMEM;
	html_raw(h, "<section id=\"tests\"><h2>What the path can do</h2>");
	tests_take(p, tests);
	if (p->n_tests > 0)
		rc = store_sessions_of_route(
		    r, route, program, INT64_MAX, SESSIONS_MAX, on_session, p);
	if (rc == NW_OK && p->n_tests > 0 && p->n > 1)
		points_plot(h, p, sentence);
	else if (sentence != NULL) {
		html_raw(h, "<p>");
		html_text(h, sentence);
		html_raw(h, "</p>");
	}
	tests_table(h, tests);
	html_raw(h, "</section>");
	free(p);
	return rc;
}
