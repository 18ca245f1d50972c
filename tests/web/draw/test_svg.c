/* SPDX-License-Identifier: BSD-3-Clause */
/* Drawings: positions on linear and logarithmic axes, points that cannot be drawn, labels. */
#include "web/draw/svg.h"

#include "tests/check.h"

static const struct svg_axis count = { SVG_COUNT, 0, 10, "Operation" },
			     seconds = { SVG_SECONDS, 1e-6, 1e-2, "Duration" },
			     bytes = { SVG_BYTES, 1, 1 << 20, "Size" };

static char *text;
static size_t len;

static void
begin(struct svg *s, const struct svg_axis *x, const struct svg_axis *y)
{
	svg_begin(s, 1, "Title", "what is <shown>");
	svg_panel(s, x, y);
}

static void
end(struct svg *s)
{
	FILE *f = open_memstream(&text, &len);

	CHECK(f != NULL && svg_write(s, f));
	fclose(f);
	svg_clear(s);
	CHECK(s->h.out == NULL);
}

static bool
says(const char *what)
{
	return strstr(text, what) != NULL;
}

/* A panel is 780 wide and 260 high. */
static void
test_dots(void)
{
	static const double x[] = { 0, 5, 5, 10, 11, -1, 3, 3, NAN },
			    y[] = { 1e-6, 1e-4, 1.0001e-4, 1e-2, 1e-4, 1e-4, 0, INFINITY, 1e-4 };
	struct svg s;

	begin(&s, &count, &seconds);
	svg_dots(&s, 1, x, y, sizeof(x) / sizeof(x[0]));
	end(&s);
	CHECK(says("d=\"M0 260h0M390 130h0M780 0h0\"/>"));
	CHECK(says(">0</text>") && says(">10</text>") && says(">8</text>") && !says(">12</text>"));
	CHECK(
	    says("1\xc2\xa0\xc2\xb5s<") && says("100\xc2\xa0\xc2\xb5s<") && says("10\xc2\xa0ms<"));
	CHECK(says("<title>Title</title>") && says("<desc>what is &lt;shown&gt;</desc>"));
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
	svg_name(&s, 9, "second");
	end(&s);
	CHECK(says("d=\"M0.0 260.0L390.0 0.0M780.0 130.0\"/>"));
	CHECK(says("d=\"M390.0 0v260"));
	CHECK(strstr(strstr(text, "\"mark s0\"") + 1, "\"mark s") == NULL);
	CHECK(says(">1\xc2\xa0"
		   "B<") &&
	    says(">4\xc2\xa0KiB<") && says(">1\xc2\xa0MiB<"));
	CHECK(says(">first<") && says(">second<") && says("\"line s1\""));
	CHECK(says("</svg>\n") && !says("nan") && !says("inf"));
	free(text);
}

int
main(void)
{
	test_dots();
	test_lines();
	return check_done("svg");
}
