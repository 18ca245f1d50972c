/* SPDX-License-Identifier: BSD-3-Clause */
/* Drawings: positions on linear and logarithmic axes, points that cannot be drawn, labels. */
#include "cli/stat/stat_svg.h"

#include "tests/check.h"

static const struct svg_axis count = { SVG_COUNT, 0, 10, "Operation" },
			     seconds = { SVG_SECONDS, 1e-6, 1e-2, "Duration" },
			     bytes = { SVG_BYTES, 1, 1 << 20, "Size" };

static char *text;
static size_t len;

static void
begin(struct svg *s, const struct svg_axis *x, const struct svg_axis *y)
{
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		abort();
	svg_begin(s, f, 1, "Title", "what is shown");
	svg_panel(s, x, y);
}

static void
end(struct svg *s)
{
	svg_end(s);
	fclose(s->f);
}

static bool
says(const char *what)
{
	return strstr(text, what) != NULL;
}

/* A panel is 780 wide from 90 and 260 high from 60. */
static void
test_dots(void)
{
	static const double x[] = { 0, 5, 5, 10, 11, -1, 3, 3, NAN },
			    y[] = { 1e-6, 1e-4, 1.0001e-4, 1e-2, 1e-4, 1e-4, 0, INFINITY, 1e-4 };
	struct svg s;

	begin(&s, &count, &seconds);
	CHECK(svg_dots(&s, 1, x, y, sizeof(x) / sizeof(x[0])));
	end(&s);
	CHECK(says("d=\"M90 320h0M480 190h0M870 60h0\"/>"));
	CHECK(says(">0</text>") && says(">10</text>"));
	CHECK(
	    says("1\xc2\xa0\xc2\xb5s<") && says("100\xc2\xa0\xc2\xb5s<") && says("10\xc2\xa0ms<"));
	CHECK(says("<title>Title</title>") && says("<desc>what is shown</desc>"));
	free(text);
}

static void
test_lines(void)
{
	static const double x[] = { 1, 1024, 4096, 1 << 20 }, y[] = { 0, 10, NAN, 5 };
	struct svg s;

	begin(&s, &bytes, &count);
	svg_line(&s, 0, x, y, 4);
	svg_mark(&s, 0, 1024);
	svg_mark(&s, 0, 0);
	svg_mark(&s, 0, INFINITY);
	svg_name(&s, 0, "first");
	svg_name(&s, 7, "second");
	end(&s);
	CHECK(says("d=\"M90.0 320.0L480.0 60.0M870.0 190.0\"/>"));
	CHECK(says("d=\"M480.0 60.0v260"));
	CHECK(strstr(strstr(text, "\"mark\"") + 1, "\"mark\"") == NULL);
	CHECK(says(">1 B<") && says(">4 KiB<") && says(">1 MiB<"));
	CHECK(says(">first<") && says("\">second<"));
	CHECK(says("</svg>\n") && !says("nan") && !says("inf"));
	free(text);
}

int
main(void)
{
	test_dots();
	test_lines();
	return check_done("test_stat_svg");
}
