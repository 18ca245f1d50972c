/* SPDX-License-Identifier: BSD-3-Clause */
/* Digits beside those of printf, which finds the shortest precision by trying. */
#include "narrows/shortest.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/splitmix.h"
#include "tests/check.h"

static uint64_t rng = 1;

static uint64_t
rnd(void)
{
	return nw_splitmix(&rng);
}

/* printf's digits and exponent, at the first precision that reads back. */
static struct shortest
tried(double v)
{
	struct shortest s = { 0, 0 };
	char text[64], *at;
	int precision = 0;

	do
		snprintf(text, sizeof(text), "%.*e", precision++, v);
	while (strtod(text, NULL) != v);
	for (at = text; *at != 'e'; at++)
		if (*at != '.')
			s.digits = 10 * s.digits + (uint64_t)(*at - '0');
	s.exponent = atoi(at + 1) - (precision - 1);
	return s;
}

/* Four shapes: all bit patterns, decimals, fractions of integers, and powers of two. */
static double
drawn(int i)
{
	uint64_t bits = rnd();
	double v;

	switch (i % 4) {
	case 0: memcpy(&v, &bits, sizeof(v)); return fabs(v);
	case 1: return (double)(bits >> 20) / 1000;
	case 2: return (double)(bits >> 11) / 60;
	default: return ldexp(1, (int)(bits % 2098) - 1074);
	}
}

static void
test_random(void)
{
	char text[64];
	int i, wrong = 0, longer = 0, bad = 0;

	for (i = 0; i < 100000; i++) {
		double v = drawn(i);
		struct shortest want, is;

		if (!isfinite(v) || v == 0)
			continue;
		want = tried(v);
		is = shortest_of(v);
		snprintf(text, sizeof(text), "%" PRIu64 "e%d", is.digits, is.exponent);
		bad += strtod(text, NULL) != v;
		longer += is.digits > want.digits && is.exponent <= want.exponent;
		/* At a power of two the interval is lopsided: a shorter text than printf's may
		 * read back. */
		if (i % 4 != 3)
			wrong += is.digits != want.digits || is.exponent != want.exponent;
	}
	CHECK_INT(bad, 0);
	CHECK_INT(longer, 0);
	CHECK_INT(wrong, 0);
}

static void
test_edges(void)
{
	static const struct {
		double v;
		struct shortest want;
	} cases[] = {
		{ 5e-324, { 5, -324 } },
		{ 2.2250738585072014e-308, { 22250738585072014, -324 } },
		{ 2.225073858507201e-308, { 2225073858507201, -323 } },
		{ 1.7976931348623157e308, { 17976931348623157, 292 } },
		{ 1e23, { 1, 23 } },
		{ 9007199254740992, { 9007199254740992, 0 } },
		{ 9007199254740994, { 9007199254740994, 0 } },
		{ 1e22, { 1, 22 } },
		{ 0.5, { 5, -1 } },
		{ -1234.5, { 12345, -1 } },
		{ 9.5367431640625e-07, { 95367431640625, -20 } },
		{ 4.4501477170144023e-308, { 44501477170144023, -324 } },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct shortest s = shortest_of(cases[i].v);

		CHECK(s.digits == cases[i].want.digits);
		CHECK_INT(s.exponent, cases[i].want.exponent);
	}
}

static void
test_int(void)
{
	char text[SHORTEST_INT_ROOM + 1], want[SHORTEST_INT_ROOM + 1];
	int i;

	text[shortest_put_int(text, 0)] = '\0';
	CHECK_STR(text, "0");
	text[shortest_put_int(text, UINT64_MAX)] = '\0';
	CHECK_STR(text, "18446744073709551615");
	text[shortest_put_int(text, 10)] = '\0';
	CHECK_STR(text, "10");
	/* beside printf, for all lengths */
	for (i = 0; i < 6400; i++) {
		uint64_t v = rnd() >> (i % 64);

		snprintf(want, sizeof(want), "%" PRIu64, v);
		text[shortest_put_int(text, v)] = '\0';
		CHECK_STR(text, want);
	}
}

int
main(void)
{
	test_random();
	test_edges();
	test_int();
	return check_done("test_shortest");
}
