/* SPDX-License-Identifier: BSD-3-Clause */
/* Which place the routes over the same hosts point to. */
#include "narrows/reach.h"

#include <string.h>

#include "tests/check.h"

enum { ROUTES_MAX = 5 };

static const struct {
	const char *what;
	/* "+" fell, "-" did not, " " had no session since; then the route */
	const char *other[ROUTES_MAX];
	enum nw_reach_place place;
	size_t n_from, n_from_fell, n_to, n_to_fell;
} cases[] = {
	{ "alone", { NULL }, NW_REACH_UNKNOWN, 0, 0, 0, 0 },
	{ "itself and its way back", { "+a -> b", "+b -> a" }, NW_REACH_UNKNOWN, 0, 0, 0, 0 },
	{ "all over the source", { "+a -> c", "+d -> a", "-c -> b" }, NW_REACH_FROM, 2, 2, 1, 0 },
	{ "the source without a witness of the other host", { "+a -> c" }, NW_REACH_FROM, 1, 1, 0,
	    0 },
	{ "all over the destination", { "-a -> c", "+c -> b" }, NW_REACH_TO, 1, 0, 1, 1 },
	{ "everything", { "+a -> c", "+c -> b" }, NW_REACH_EITHER, 1, 1, 1, 1 },
	{ "one pair", { "-a -> c", "-c -> b", "+c -> d" }, NW_REACH_PATH, 1, 0, 1, 0 },
	{ "one host has no witness", { "-a -> c" }, NW_REACH_UNKNOWN, 1, 0, 0, 0 },
	{ "a silent witness", { "-a -> c", " c -> b" }, NW_REACH_UNKNOWN, 1, 0, 0, 0 },
	{ "some over the source", { "+a -> c", "-a -> d", "-c -> b" }, NW_REACH_UNKNOWN, 2, 1, 1,
	    0 },
	{ "another name with the same begin", { "+aa -> c", "-a -> bb", "-b -> c" }, NW_REACH_PATH,
	    1, 0, 1, 0 },
	{ "one end alone", { "+a", "+c" }, NW_REACH_UNKNOWN, 0, 0, 0, 0 },
};

int
main(void)
{
	struct nw_reach_route others[ROUTES_MAX];
	struct nw_reach r;
	size_t i, n;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (n = 0; n < ROUTES_MAX && cases[i].other[n] != NULL; n++)
			others[n] = (struct nw_reach_route){ .route = cases[i].other[n] + 1,
				.fell = cases[i].other[n][0] == '+',
				.spoke = cases[i].other[n][0] != ' ' };
		r = nw_reach_find("a -> b", others, n);
		CHECK_INT(r.place, cases[i].place);
		CHECK_INT(r.n_from, cases[i].n_from);
		CHECK_INT(r.n_from_fell, cases[i].n_from_fell);
		CHECK_INT(r.n_to, cases[i].n_to);
		CHECK_INT(r.n_to_fell, cases[i].n_to_fell);
		if (check_failed > 0)
			fprintf(stderr, "  %s\n", cases[i].what);
	}
	r = nw_reach_find("a (local)", others, n);
	CHECK_INT(r.place, NW_REACH_UNKNOWN);
	return check_done("reach");
}
