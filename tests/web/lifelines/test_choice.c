/* SPDX-License-Identifier: BSD-3-Clause */
/* A choice of lifelines: the query's words, and which lines of a small set stay. */
#include "web/lifelines/choice.h"

#include "narrows/err.h"
#include "tests/check.h"

enum { LINES = 5, POINTS = 3 };
#define S INT64_C(1000000000)

static void
test_refusals(void)
{
	static const char *const taken[] = { "", "id=", "percentile=95", "percentile=0-100",
		"percentile=40-40", "percentile=", "from=-1.5&to=2", "a=block+7@READ", "clock=raw",
		"clock=corrected", "bytes=65536", "against=1", "against=9e15", "&&id=x&", "id=%41",
		"a=x@y@READ" };
	static const char *const refused[] = { "id", "what=1", "percentile=101", "percentile=-1",
		"percentile=60-40", "percentile=40-101", "percentile=x", "percentile=5-",
		"percentile=nan", "bytes=0", "bytes=x", "from=1s", "from=1e10", "from=nan",
		"a=READ", "clock=true", "against=0", "against=1.5", "against=9.1e15", "id=%",
		"id=%4", "id=%4g", "id=%00", "i%64=x" };
	const char *why;
	struct choice c;
	size_t i;

	CHECK_INT(choice_parse(&c, NULL, &why), NW_OK);
	CHECK(choice_is_all(&c) && !c.raw && c.against == 0);
	for (i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (choice_parse(&c, taken[i], &why) != NW_OK)
			CHECK_STR(taken[i], "taken");
	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		why = NULL;
		if (choice_parse(&c, refused[i], &why) != NW_EINVAL || why == NULL)
			CHECK_STR(refused[i], "refused");
	}
}

static void
test_values(void)
{
	static const char *const limits[] = { "id=x", "server=x", "percentile=1", "from=1",
		"to=1" };
	const char *why;
	struct lineset_opts o;
	struct choice c;
	size_t i;

	CHECK_INT(choice_parse(&c,
		      "id=a%2bb+c%3D&server=s%C3%a9&percentile=40-60.5&from=-2&to=1e3&a=x%40y@READ"
		      "&b=z@SEND&path=A,B&by=block&lane=disk&clock=raw&against=12",
		      &why),
	    NW_OK);
	CHECK_STR(c.id, "a+b c=");
	CHECK_STR(c.server, "s\xc3\xa9");
	CHECK(c.percentile_low == 40 && c.percentile_high == 60.5);
	CHECK(c.from_s == -2 && c.to_s == 1000 && c.against == 12 && c.raw);
	CHECK_STR(c.a.line, "x@y");
	CHECK_STR(c.a.point, "READ");
	CHECK_STR(c.b.line, "z");
	CHECK(!choice_is_all(&c));
	o = choice_opts(&c);
	CHECK(o.raw && strcmp(o.path, "A,B") == 0 && strcmp(o.by, "block") == 0 &&
	    strcmp(o.lane, "disk") == 0);
	CHECK_INT(choice_parse(&c, "percentile=95", &why), NW_OK);
	CHECK(c.percentile_low == 95 && c.percentile_high == 100);
	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		CHECK_INT(choice_parse(&c, limits[i], &why), NW_OK);
		CHECK(!choice_is_all(&c));
	}
}

/* The longest text that a word of the query may have, and one byte more. */
static void
test_lengths(void)
{
	static const struct {
		const char *key;
		size_t most;
	} cases[] = {
		{ "id=", CHOICE_TEXT_BYTES - 1 },
		{ "path=", CHOICE_LIST_BYTES - 1 },
		{ "a=x@", CHOICE_TEXT_BYTES - 2 },
	};
	char text[CHOICE_LIST_BYTES + 16];
	const char *why;
	struct choice c;
	size_t i, len;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		len = strlen(cases[i].key);
		memset(text, 'p', sizeof(text));
		memcpy(text, cases[i].key, len);
		text[len + cases[i].most] = '\0';
		CHECK_INT(choice_parse(&c, text, &why), NW_OK);
		text[len + cases[i].most] = 'p';
		text[len + cases[i].most + 1] = '\0';
		CHECK_INT(choice_parse(&c, text, &why), NW_EINVAL);
	}
}

/* Lines 0 to 3 begin at 0, 10, 20 and 30 s and take 1, 2, 3 and 4 s; line 4 begins at 40 s and has
 * no end. */
static void
test_lines(void)
{
	static const struct {
		const char *query, *lines;
	} cases[] = {
		{ NULL, "01234" },
		{ "id=block", "01234" },
		{ "id=block+2", "2" },
		{ "id=block+9", "" },
		{ "server=s1", "13" },
		{ "server=s", "" },
		{ "percentile=50", "23" },
		{ "percentile=0-50", "01" },
		{ "percentile=0", "0123" },
		{ "percentile=100", "3" },
		{ "from=10.5", "1234" },
		{ "from=10.5&to=29", "12" },
		{ "to=0", "0" },
		{ "from=0.1&to=0.4", "" },
		{ "from=40", "4" },
		{ "from=34", "34" },
		{ "server=s1&percentile=100", "3" },
		{ "server=s0&percentile=100", "" },
	};
	char label_text[LINES][16], *label[LINES], s0[] = "s0", s1[] = "s1", *server[] = { s0, s1 };
	int64_t t[LINES * POINTS];
	uint32_t lane[LINES];
	struct lineset s = { .first_wall_ns = 100 * S,
		.lanes = { .n = 2, .text = server },
		.t = t,
		.lane = lane,
		.label = label,
		.lines = {
		    .n = LINES, .n_points = POINTS, .n_lanes = 2, .t_ns = t, .lane = lane } };
	char got[LINES + 1];
	struct chosen k;
	struct choice c;
	const char *why;
	size_t i, n;

	for (i = 0; i < LINES; i++) {
		t[i * POINTS] = (100 + 10 * (int64_t)i) * S;
		t[i * POINTS + 1] = t[i * POINTS] + S / 2;
		t[i * POINTS + 2] = i < 4 ? t[i * POINTS] + (1 + (int64_t)i) * S : NW_LINE_NEVER;
		lane[i] = i % 2;
		snprintf(label_text[i], sizeof(label_text[i]), "block %zu", i);
		label[i] = label_text[i];
	}
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(choice_parse(&c, cases[i].query, &why), NW_OK);
		CHECK_INT(choice_take(&c, &s, &k), NW_OK);
		for (n = 0; n < k.lines.n; n++) {
			got[n] = (char)('0' + k.line[n]);
			CHECK(k.lines.lane[n] == lane[k.line[n]] &&
			    memcmp(k.lines.t_ns + n * POINTS, t + k.line[n] * POINTS,
				POINTS * sizeof(*t)) == 0);
		}
		got[n] = '\0';
		if (strcmp(got, cases[i].lines) != 0)
			fprintf(stderr, "%s:\n", cases[i].query);
		CHECK_STR(got, cases[i].lines);
		chosen_clear(&k);
	}
}

int
main(void)
{
	test_refusals();
	test_values();
	test_lengths();
	test_lines();
	return check_done("test_choice");
}
