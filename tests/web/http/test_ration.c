/* SPDX-License-Identifier: BSD-3-Clause */
/* Logins of users beside guessing strangers, and the work that guessing can make. */
#include "web/http/ration.h"

#include <stdio.h>

#include "tests/check.h"

#define SECOND_NS INT64_C(1000000000)

/* Attempts of a second by n addresses, six times each; all are wrong. Returns the computations. */
static unsigned
guess(struct ration *r, const char *form, unsigned first, unsigned n, int64_t now)
{
	unsigned i, computed = 0;
	char peer[64];

	for (i = 0; i < 6 * n; i++) {
		snprintf(peer, sizeof(peer), form, first + i % n);
		if (ration_take(r, peer, now + i) > 0)
			continue;
		ration_outcome(r, peer, now + i, false);
		computed++;
	}
	return computed;
}

static void
beside_guessing(const char *form, const char *stranger, const char *known)
{
	struct ration *r = ration_new();
	unsigned s, most = 0, in = 0, known_in = 0, computed;
	int64_t now;

	CHECK(ration_take(r, known, SECOND_NS) == 0);
	ration_outcome(r, known, SECOND_NS, true);
	for (s = 10; s < 70; s++) {
		now = s * SECOND_NS;
		computed = guess(r, form, 1, 30, now);
		most = computed > most ? computed : most;
		/* the guessing has had its first tries, all wrong */
		in += s >= 20 && ration_take(r, stranger, now + 500) == 0;
		known_in += ration_take(r, known, now + 600) == 0;
	}
	CHECK(in == 50);
	CHECK(known_in == 60);
	CHECK(most <= 12);
	ration_free(r);
}

/* Every address is new: computations stay bounded, and known addresses go on. */
static void
many_addresses(void)
{
	struct ration *r = ration_new();
	unsigned s, known_in = 0, most = 0, computed;

	ration_outcome(r, "10.9.9.9", SECOND_NS, true);
	for (s = 10; s < 40; s++) {
		computed = guess(r, "2001:db8:1:%x::1", 1 + 100 * s, 100, s * SECOND_NS);
		computed += guess(r, "2001:db8:%x::1", 1 + 100 * s, 100, s * SECOND_NS);
		most = computed > most ? computed : most;
		known_in += ration_take(r, "::ffff:10.9.9.9", s * SECOND_NS) == 0;
	}
	CHECK(known_in == 30);
	CHECK(most <= 12);
	ration_free(r);
}

static void
one_address(void)
{
	struct ration *r = ration_new();
	unsigned n = 0, i;

	ration_outcome(r, "10.0.0.1", SECOND_NS, true);
	for (i = 0; i < 20; i++)
		if (ration_take(r, "10.0.0.1", 2 * SECOND_NS) == 0) {
			ration_outcome(r, "10.0.0.1", 2 * SECOND_NS, false);
			n++;
		}
	CHECK(n == 5);
	CHECK(ration_take(r, "10.0.0.1", 2 * SECOND_NS) == 10);
	CHECK(ration_take(r, "10.0.0.1", 11 * SECOND_NS + 1) == 1);
	CHECK(ration_take(r, "10.0.0.1", 12 * SECOND_NS) == 0);
	ration_free(r);
}

int
main(void)
{
	beside_guessing("10.1.1.%u", "10.1.1.200", "10.1.1.201");
	beside_guessing("2001:db8:1:%x::1", "2001:db8:2:1::1", "2001:db8:1:ffff::1");
	many_addresses();
	one_address();
	return check_done("ration");
}
