/* SPDX-License-Identifier: BSD-3-Clause */
/* Crowds of silent connections, full houses and fair shares. */
#include "daemon/gate/admission.h"

#include "tests/check.h"

enum { OPENED_MAX = 20, UNOPENED_MAX = 10, ADDRESS_MAX = 16 };

static struct admission *a;
static struct guest guests[200];
static size_t n_evicted, n_refused;

/* As the owner does: victims leave, then the newcomer enters. Returns false when refused. */
static bool
enter(const char *address, struct guest *g)
{
	struct guest *victim;
	const char *why;

	while (!admission_may_enter(a, address, &victim, &why)) {
		n_refused += victim == NULL;
		if (victim == NULL)
			return false;
		CHECK(!victim->opened);
		admission_leave(a, victim);
		victim->address = NULL;
		n_evicted++;
	}
	admission_enter(a, address, g);
	return true;
}

static bool
open_one(struct guest *g)
{
	struct guest *victim;
	const char *why;

	while (!admission_may_open(a, g, &victim, &why)) {
		if (victim == NULL)
			return false;
		admission_leave(a, victim);
		victim->address = NULL;
	}
	admission_open(a, g);
	return true;
}

static void
all_leave(void)
{
	size_t i;

	for (i = 0; i < sizeof(guests) / sizeof(guests[0]); i++) {
		if (guests[i].address != NULL)
			admission_leave(a, &guests[i]);
		guests[i] = (struct guest){ 0 };
	}
	n_evicted = n_refused = 0;
}

/* Two addresses renew silent connections for ever: a third comes in and opens, each time. */
static void
test_crowd(void)
{
	struct guest good;
	size_t i;

	for (i = 0; i < 100; i++) {
		CHECK(enter(i % 2 ? "bad1" : "bad2", &guests[i]));
		if (i % 7 == 0) {
			good = (struct guest){ 0 };
			CHECK(enter("good", &good));
			CHECK(enter("bad1", &guests[100 + i % 50]));
			CHECK(good.address != NULL);
			CHECK(open_one(&good));
			admission_leave(a, &good);
		}
	}
	CHECK(n_evicted > 80 && n_refused == 0);
	all_leave();
}

static void
test_address(void)
{
	size_t i;

	for (i = 0; i < ADDRESS_MAX; i++) {
		CHECK(enter("one", &guests[i]));
		if (i > 0)
			CHECK(open_one(&guests[i]));
	}
	CHECK(enter("one", &guests[50])); /* in the place of the one that had not opened */
	CHECK(guests[0].address == NULL && n_evicted == 1);
	CHECK(open_one(&guests[50]));
	CHECK(!enter("one", &guests[51])); /* all have opened */
	CHECK_INT(n_refused, 1);
	CHECK(enter("two", &guests[52]));
	all_leave();
}

/* A full house: an address with many gives way to an address with few, not to its own kind. */
static void
test_fair(void)
{
	size_t i;

	for (i = 0; i < ADDRESS_MAX; i++)
		CHECK(enter("many", &guests[i]) && open_one(&guests[i]));
	for (; i < OPENED_MAX; i++)
		CHECK(enter("few", &guests[i]) && open_one(&guests[i]));
	CHECK(enter("new", &guests[50]) && open_one(&guests[50]));
	CHECK(guests[0].address == NULL && guests[1].address != NULL); /* the oldest of many */
	CHECK(enter("few", &guests[51]) && !open_one(&guests[51]));
	all_leave();
}

int
main(void)
{
	a = admission_new(&(struct admission_limits){ OPENED_MAX, UNOPENED_MAX, ADDRESS_MAX });
	test_crowd();
	test_address();
	test_fair();
	admission_free(a);
	return check_done("test_admission");
}
