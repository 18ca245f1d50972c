/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/moves.h"

#include "narrows/err.h"
#include "tests/check.h"

enum { N = 8, LOW = 5 };
static const int64_t settled[N] = { 10, 20, 30, 40, 50, 60, 70, 80 };
static const struct nw_moves_ask ask = { settled, N, LOW };

static struct nw_setting_line
line(const char *name, const char *before, const char *value, int64_t t)
{
	return (struct nw_setting_line){
		.name = name, .value = value, .before = before, .t_wall_ns = t
	};
}

/* The sessions with another value, as a text of 0 and 1. */
static bool
moves(const struct nw_setting_line *l, size_t n, const char *pattern, const char *after)
{
	struct nw_move m;
	bool same = true;
	size_t i;
	int rc;

	if (!nw_move_find(&ask, l, n, &m, &rc))
		return pattern == NULL && rc == NW_OK;
	for (i = 0; i < N && pattern != NULL; i++)
		same &= m.moved[i] == (pattern[i] == '1');
	same &= pattern != NULL && after != NULL && m.after != NULL && strcmp(m.after, after) == 0;
	free(m.moved);
	return same;
}

static void
move_test(void)
{
	struct nw_setting_line back[] = { line("net.e.mtu", "9000", "1500", 15),
		line("net.e.mtu", "1500", "9000", 35), line("net.e.mtu", "9000", "1500", 55) };
	struct nw_setting_line one = line("cpu.governor", "performance", "powersave", 55);

	CHECK_INT(nw_moves_base(&ask), LOW - 2);
	CHECK(moves(&one, 1, "00000111", "powersave"));
	/* told seconds after the session's begin, until its end */
	one.t_wall_ns = 60;
	CHECK(moves(&one, 1, "00000111", "powersave"));
	one.t_wall_ns = 61;
	CHECK(moves(&one, 1, "00000011", "powersave"));
	/* earlier sessions with the new value contradict, as do later ones with the old */
	CHECK(moves(back, 3, "01100111", "1500"));
	CHECK(moves(back, 2, NULL, NULL));
	one.t_wall_ns = 25;
	CHECK(moves(&one, 1, NULL, NULL));
	/* the last sure usual session may be the first with the new value */
	one.t_wall_ns = 45;
	CHECK(moves(&one, 1, "00001111", "powersave"));
}

static void
first_test(void)
{
	struct nw_setting_line told = line("cpu.governor", NULL, "powersave", 55),
			       thing = line("net.e.mtu", NULL, "1500", 55);

	/* a setting that is told for the first time did not change; an interface may be new */
	CHECK(moves(&told, 1, NULL, NULL));
	CHECK(moves(&thing, 1, "00000111", "1500"));
	thing.first = true;
	CHECK(moves(&thing, 1, NULL, NULL));
}

static void
quiet_test(void)
{
	struct nw_setting_line l = line("net.e.mtu", "9000", "1500", 40);

	CHECK(nw_move_is_quiet(&ask, &l));
	l.t_wall_ns = 41;
	CHECK(!nw_move_is_quiet(&ask, &l));
	l.t_wall_ns = 5;
	l.first = true;
	CHECK(!nw_move_is_quiet(&ask, &l));
}

int
main(void)
{
	move_test();
	first_test();
	quiet_test();
	return check_done("moves");
}
