/* SPDX-License-Identifier: BSD-3-Clause */
/* Axes cover and are round; lines break at gaps, stay small and stay inside; the words are
 * there. */
#include "web/draw/plot.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <event2/buffer.h>

#include "tests/check.h"
#include "web/draw/plot_in.h"

static struct evbuffer *out;

static char *
drawn(const struct plot *p)
{
	struct html h = { .out = out };
	size_t len;
	char *text;

	plot_write(&h, p);
	CHECK(!h.failed);
	len = evbuffer_get_length(out);
	text = calloc(1, len + 1);
	evbuffer_remove(out, text, len);
	return text;
}

static size_t
count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)) != NULL; text++)
		n++;
	return n;
}

static bool
is_round(double v)
{
	double digit;

	if (v == 0)
		return true;
	digit = fabs(v) / pow(10, floor(log10(fabs(v)) + 1e-9));
	return fabs(digit * 10 - rint(digit * 10)) < 1e-6;
}

static void
check_axis(double low, double high, bool log, unsigned want)
{
	struct plot_axis a;
	size_t i;

	plot_axis_fit(&a, low, high, log, want);
	CHECK(a.low <= low * (1 + 1e-9) && a.high >= high * (1 - 1e-9));
	CHECK(a.n_ticks >= 2 && a.n_ticks <= PLOT_TICKS_MAX);
	CHECK(a.ticks[0] == a.low && a.ticks[a.n_ticks - 1] == a.high);
	for (i = 0; i < a.n_ticks; i++) {
		CHECK(is_round(a.ticks[i]));
		CHECK(i == 0 || a.ticks[i] > a.ticks[i - 1]);
	}
	CHECK_NEAR(plot_axis_place(&a, a.low), 0, 0, 1e-12);
	CHECK_NEAR(plot_axis_place(&a, a.high), 1, 0, 1e-12);
	/* at most half of the axis is air, three quarters with few ticks or on a logarithmic one */
	CHECK(plot_axis_place(&a, high) > (log ? 0.1 : 0.45));
}

static void
test_axes(void)
{
	static const double highs[] = { 1e-9, 0.3, 1, 1.0000001, 9.99, 41e6, 42e6, 1e9, 1.26e10,
		7e17 };
	static const double spans[] = { 1, 1.15, 3, 9.9, 10, 11, 99, 1e3, 1e6, 1e11 };
	struct plot_axis a;
	size_t i, k;

	for (i = 0; i < sizeof(highs) / sizeof(highs[0]); i++) {
		check_axis(0, highs[i], false, 4);
		for (k = 0; k < sizeof(spans) / sizeof(spans[0]); k++)
			check_axis(highs[i] / spans[k], highs[i], true, 4);
	}
	plot_axis_fit(&a, 0, 42e6, false, 4);
	CHECK(a.high == 60e6 && a.n_ticks == 4 && a.ticks[1] == 20e6);
	plot_axis_fit(&a, 5, 5, false, 4);
	CHECK(a.high > 5);
	plot_axis_fit_time(&a, 6.5, 9);
	CHECK(a.high == 6.5 && a.n_ticks == 7 && a.ticks[6] == 6);
	plot_axis_fit_time(&a, 1050, 9);
	CHECK(a.ticks[1] == 120 && a.high == 1050);
	plot_axis_fit_time(&a, 30 * 86400, 9);
	CHECK(a.ticks[1] == 4 * 86400);
	plot_axis_fit_time(&a, 0, 9);
	CHECK(a.high > 0 && a.n_ticks > 0);
}

static void
test_gaps(void)
{
	const double y[] = { 1e6, 2e6, NAN, 3e6, NAN, 0, 5e6 };
	struct plot_line line = { .name = "a <b>", .y = y };
	struct plot p = {
		.id = "p", .title = "T", .step_s = 0.5, .n = 7, .lines = &line, .n_lines = 1
	};
	char *text = drawn(&p), *path = strstr(text, "<path class=\"line s0\" d=\"M71 ");

	/* two points, a dot, two points; the legend's sample is another path */
	CHECK(path != NULL && strstr(path, "h0m") != NULL);
	CHECK(path != NULL && strcspn(path, ">") < 90);
	CHECK_INT(count(text, "<path class=\"line"), 2);
	CHECK_INT(count(text, "no data"), 2);
	CHECK_INT(count(text, "<b>"), 1); /* the title's, not the name's */
	CHECK(count(text, "a &lt;b&gt;") >= 3);
	CHECK(strstr(text, "1 MB/s") == NULL && strstr(text, "MB/s</span>") != NULL);
	CHECK(strstr(text, "role=\"img\"") != NULL && strstr(text, "<desc id=\"p\">3.50") != NULL);
	CHECK(strstr(text,
		  "0\xc2\xa0"
		  "B/s to 5\xc2\xa0MB/s, mean 2.20\xc2\xa0MB/s.") != NULL);
	CHECK(strstr(text, "<details><summary>As a table</summary>") != NULL);
	free(text);

	p.log_y = true; /* 0 has no logarithm: one more gap */
	text = drawn(&p);
	CHECK_INT(count(text, "no data"), 2);
	CHECK(strstr(text, "1\xc2\xa0MB/s to 5\xc2\xa0MB/s") != NULL);
	CHECK(strstr(text, "B/s, logarithmic") != NULL);
	CHECK(strstr(text, "nan") == NULL && strstr(text, "inf") == NULL);
	free(text);
}

static void
test_nothing(void)
{
	const double none[] = { NAN, NAN }, zero[] = { 0, 0 }, huge[] = { 1e308, INFINITY };
	struct plot_line line = { .name = "x", .y = none };
	struct plot p = {
		.id = "p", .title = "T", .step_s = 1, .n = 2, .lines = &line, .n_lines = 1
	};
	char *text;

	CHECK(!plot_has_data(&p));
	text = drawn(&p);
	CHECK_STR(text, "");
	free(text);
	line.y = huge;
	CHECK(!plot_has_data(&p));
	line.y = zero;
	CHECK(plot_has_data(&p));
	text = drawn(&p);
	CHECK(strstr(text, "<path") != NULL && strstr(text, "nan") == NULL);
	free(text);
	p.log_y = true;
	CHECK(!plot_has_data(&p));
}

/* A point without neighbours has no line: a marker shows the point, wherever it stands. */
static void
test_lone(void)
{
	double y[200];
	struct plot_line line = { .name = "x", .y = y, .style = 1 };
	struct plot p = {
		.id = "p", .title = "T", .step_s = 1, .n = 200, .lines = &line, .n_lines = 1
	};
	char *text;
	size_t i;

	for (i = 0; i < p.n; i++)
		y[i] = i == 2 ? 7 : NAN;
	text = drawn(&p);
	CHECK_INT(count(text, "<use"), 2); /* the point's, and the legend's */
	free(text);
}

/* However many points, a line takes a few kilobytes and shows the extremes. */
static void
test_many(void)
{
	enum { N = 86400 };
	double *y = calloc(N, sizeof(*y));
	struct plot_line line = { .name = "x", .y = y, .style = 11, .strong = true };
	struct plot p = { .id = "p",
		.title = "T",
		.unit = PLOT_SHARE,
		.step_s = 1,
		.n = N,
		.lines = &line,
		.n_lines = 1 };
	char *text, *path;
	int i;

	for (i = 0; i < N; i++)
		y[i] = 0.5 + 0.2 * sin(i / 500.0);
	y[12345] = 1;
	text = drawn(&p);
	path = strstr(text, "preserveAspectRatio");
	path = path != NULL ? strstr(path, "<path class=\"line s3 strong\" d=\"") : NULL;
	CHECK(path != NULL && strcspn(path, ">") < 8000);
	CHECK(strlen(text) < 20000);
	CHECK(strstr(text, " to 100\xc2\xa0%") != NULL);
	CHECK(strstr(text, "Each row is the mean of 2880 steps") != NULL);
	CHECK(count(text, "<use") <= 12);
	free(text);
	free(y);
}

/* Anything else than time: positions of their own, a logarithmic axis, areas with names, marks. */
static void
test_across(void)
{
	static const double x[] = { 1e-5, 1e-4, 1e-3, 1e-2 }, y[] = { 0, 4, 1, 0 },
			    marks[] = { 1e-4, 5 };
	const struct plot_line line = { .name = "density", .y = y };
	const struct plot_area areas[] = { { "A", -INFINITY, 3e-4, 0 }, { "B", 3e-4, INFINITY, 1 },
		{ "C", 2, 3, 2 } };
	const struct plot p = { .id = "d",
		.title = "Density",
		.unit = PLOT_NUMBER,
		.unit_words = "per decade",
		.n = 4,
		.x = x,
		.across = PLOT_DURATION,
		.across_words = "time",
		.lines = &line,
		.n_lines = 1,
		.areas = areas,
		.n_areas = 3,
		.marks = marks,
		.n_marks = 2,
		.marks_words = "split" };
	char *text = drawn(&p);

	CHECK_INT(count(text, "class=\"area f"), 2);
	CHECK(strstr(text, ">A</text>") != NULL && strstr(text, ">B</text>") != NULL &&
	    strstr(text, ">C</text>") == NULL);
	CHECK_INT(count(text, "<line class=\"change\""), 1); /* the other lies outside */
	CHECK(strstr(text, "<line class=\"change\" x1=\"33.33%\"") != NULL);
	CHECK(strstr(text, ">100\xc2\xa0\xc2\xb5s<") != NULL && strstr(text, "per decade") != NULL);
	CHECK(strstr(text, "10\xc2\xa0\xc2\xb5s to 10\xc2\xa0ms.") != NULL &&
	    strstr(text, "split: ") != NULL);
	CHECK(strstr(text, "<th scope=\"col\">time</th>") != NULL);
	CHECK(strstr(text, "nan") == NULL && strstr(text, "inf") == NULL);
	/* an area begins and ends on the axis */
	CHECK(strstr(text, "class=\"area f0\" d=\"M0 1000") != NULL);
	free(text);
}

/* Two bands with numbers and means, and a strip: 1, nobody, 2, a gap, 2. */
static void
test_bands(void)
{
	const double a[] = { 0.9, 0.9, 0.9, 0.2, 0.1, NAN, 0 },
		     b[] = { 0.1, 0, 0.1, 0.3, 0.8, NAN, 1.5 };
	struct plot_line lines[] = { { .name = "x & y", .y = a, .style = 0, .strong = true },
		{ .name = "z", .y = b, .style = 1 } };
	struct plot p = { .id = "p",
		.title = "T",
		.unit = PLOT_SHARE,
		.step_s = 1,
		.n = 7,
		.lines = lines,
		.n_lines = 2,
		.form = PLOT_BANDS_STRIP,
		.strip_words = "who",
		.sentence = "Somebody <did>." };
	char *text = drawn(&p);

	CHECK_INT(count(text, "<path class=\"band f"), 2);
	CHECK_INT(count(text, "<path class=\"band f0 strong\""), 1);
	CHECK(strstr(text, ">1 \xc2\xb7 x &amp; y: 50\xc2\xa0%</text>") != NULL);
	CHECK(strstr(text, ">2 \xc2\xb7 z: 38\xc2\xa0%</text>") != NULL); /* 1.5 counts as 1 */
	CHECK_INT(count(text, "<rect class=\"held f0\""), 1);
	CHECK_INT(count(text, "<rect class=\"held f1\""), 2);
	CHECK_INT(count(text, "class=\"number\""), 3);
	CHECK(strstr(text, "Somebody &lt;did&gt;.") != NULL && strstr(text, ">who</text>") != NULL);
	CHECK(strstr(text, "class=\"legend\"") == NULL);
	free(text);
	snprintf(
	    lines[1].name, sizeof(lines[1].name), "a name of 29 bytes, and then \xc3\xa9\xc3\xa9");
	text = drawn(&p); /* no character is cut in two */
	CHECK(strstr(text, "and then \xe2\x80\xa6: 38") != NULL);
	/* closed at the gap and at the end, and nowhere outside */
	CHECK(strstr(text, "nan") == NULL && strstr(text, "<a class=\"csv\"") == NULL);
	free(text);
}

/* Each area stands on those before; a gap of one line is 0, a gap of all lines a gap. */
static void
test_stack(void)
{
	const double a[] = { 1, 2, NAN, NAN }, b[] = { 3, NAN, NAN, 1 };
	struct plot_line lines[] = { { .name = "a", .y = a, .style = 0 },
		{ .name = "b", .y = b, .style = 1 } };
	struct plot p = { .id = "p",
		.title = "T",
		.unit = PLOT_SECONDS,
		.step_s = 1,
		.n = 4,
		.lines = lines,
		.n_lines = 2,
		.form = PLOT_STACK };
	char *text = drawn(&p);
	const char *top = strstr(text, "<path class=\"stack f1\"");

	/* the top first, so that the area below goes over it; the axis reaches the sum */
	CHECK(top != NULL && strstr(top, "<path class=\"stack f0\"") != NULL);
	CHECK(strstr(top, "d=\"M0 1000l0-1000l250 0l0 500l250 0l0 500m250 0l0-250l250 0l0 250\"") !=
	    NULL);
	CHECK_INT(count(text, "class=\"legend\""), 1);
	CHECK_INT(count(text, "nan"), 0);
	free(text);
}

/* Every step in the base unit, and nothing else on the way. */
static void
test_csv(void)
{
	const double y[] = { 1e6, NAN, 0.25 };
	struct plot_line line = { .name = "=a,b", .y = y };
	struct plot p = {
		.id = "p", .title = "T", .step_s = 0.5, .n = 3, .lines = &line, .n_lines = 1
	};
	char *csv = NULL;
	size_t len = 0;
	struct html h = { .out = out, .figure = "q" };

	h.figure_csv = open_memstream(&csv, &len);
	plot_write(&h, &p);
	CHECK(!h.figure_found);
	h.figure = "p";
	plot_write(&h, &p);
	fclose(h.figure_csv);
	CHECK(h.figure_found);
	CHECK_STR(csv, "from_s,\"'=a,b\"\r\n0,1000000\r\n0.5,\r\n1,0.25\r\n");
	CHECK_INT(evbuffer_get_length(out), 0);
	free(csv);
}

/* Ticks of dates are whole in local time, rise, lie within the axis, and are not too many; a day of
 * 25 hours moves none of them. */
static void
test_dates(void)
{
	static const struct {
		double span_s;
		const char *first; /* text of the first tick from 20 October 2026, 10:00 on */
		size_t n;
	} cases[] = {
		{ 300, "10:00", 6 },
		{ 3 * 3600, "10:00", 7 },
		{ 86400, "12:00", 4 },
		{ 7 * 86400.0, "21\xc2\xa0Oct", 7 },
		{ 30 * 86400.0, "27\xc2\xa0Oct", 4 },
	};
	const double begin = 1792483200; /* 08:00 UTC */
	struct plot_axis a;
	size_t i, k;

	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		plot_axis_fit_dates(&a, begin, begin + cases[i].span_s, 7);
		CHECK_INT(a.n_ticks, cases[i].n);
		CHECK_STR(plot_date_tick(a.ticks[0]).s, cases[i].first);
		for (k = 0; k < a.n_ticks; k++) {
			CHECK(a.ticks[k] >= a.low && a.ticks[k] <= a.high);
			CHECK(k == 0 || a.ticks[k] > a.ticks[k - 1]);
			if (cases[i].span_s > 3 * 86400)
				CHECK(strchr(plot_date_tick(a.ticks[k]).s, ':') == NULL);
		}
	}
	setenv("TZ", "UTC", 1);
	tzset();
}

/* Events have their letter and their words, which are hostile; the strip has its stretches. */
static void
test_history(void)
{
	static const double x[] = { 1792483200, 1792569600, 1792656000 }, y[] = { 1, 2, 3 };
	const struct plot_line line = { "rate", y, 0, true };
	const struct plot_event events[] = { { 1792526400, 'S', "a <b> on c" },
		{ 1792999999, 'N', "too late" }, { 1792526500, '!', "an incident" } };
	const struct plot_run runs[] = { { x[0], x[1], 2, "disk write" },
		{ x[1], x[2], 3, "network" } };
	const struct plot p = { .id = "p",
		.title = "History",
		.n = 3,
		.x = x,
		.across = PLOT_DATE,
		.across_words = "seconds since 1970",
		.lines = &line,
		.n_lines = 1,
		.events = events,
		.n_events = 3,
		.events_words = "S: settings",
		.runs = runs,
		.n_runs = 2 };
	char *text = drawn(&p);

	CHECK(strstr(text, "2026-10-20 20:00: a &lt;b&gt; on c</title>") != NULL);
	CHECK(strstr(text, ">S</text>") != NULL && strstr(text, ">N</text>") == NULL);
	/* letters that are close stand beside each other */
	CHECK(strstr(text, "dx=\"0\" y=\"-3\">S<") != NULL);
	CHECK(strstr(text, "dx=\"12\" y=\"-3\">!<") != NULL);
	CHECK(strstr(text, "class=\"run f2\" x=\"0%\" width=\"50%\"") != NULL);
	CHECK(strstr(text, "<title>network</title>") != NULL);
	CHECK(strstr(text, "21\xc2\xa0Oct") != NULL);
	free(text);
}

int
main(void)
{
	out = evbuffer_new();
	test_axes();
	test_gaps();
	test_nothing();
	test_lone();
	test_many();
	test_across();
	test_bands();
	test_stack();
	test_csv();
	test_dates();
	test_history();
	evbuffer_free(out);
	return check_done("test_plot");
}
