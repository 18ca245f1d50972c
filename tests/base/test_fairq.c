/* SPDX-License-Identifier: BSD-3-Clause */
/* Shares of owners: service, places, rates. */
#include "tests/check.h"

#include "narrows/err.h"
#include "narrows/fairq.h"

enum { MANY = 4000 };

struct job {
	struct fairq_item item;
	char owner;
	int number;
};

static const struct fairq_limits wide = { 100000, 100000, 100 };

static void
put(struct fairq *q, struct job *j, char owner, int number)
{
	const char name[2] = { owner, '\0' };
	struct fairq_item *displaced;

	*j = (struct job){ .owner = owner, .number = number };
	CHECK_INT(fairq_put(q, name, &j->item, &displaced), NW_OK);
	CHECK(displaced == NULL);
}

static struct job *
take(struct fairq *q, double cost)
{
	struct fairq_item *item = fairq_take(q);
	struct job *j;
	char name[2] = { 0 };

	if (item == NULL)
		return NULL;
	j = fairq_of(item, struct job, item);
	name[0] = j->owner;
	fairq_charge(q, name, cost);
	return j;
}

/* A flood of one owner delays the one job of another by one job, in order for each owner. */
static void
test_flood(void)
{
	static struct job flood[MANY];
	struct fairq *q = fairq_new(&wide);
	struct job one, *j;
	int i, at = -1, last = -1;

	for (i = 0; i < MANY; i++)
		put(q, &flood[i], 'a', i);
	for (i = 0; i < 100; i++)
		(void)take(q, 1);
	put(q, &one, 'b', 0);
	CHECK_INT(fairq_count(q), MANY - 99);
	CHECK_STR(fairq_item_owner(&one.item), "b");
	for (i = 0; (j = take(q, 1)) != NULL; i++) {
		if (j == &one)
			at = i;
		else {
			CHECK(j->number > last);
			last = j->number;
		}
	}
	CHECK(at >= 0 && at <= 1);
	CHECK_INT(last, MANY - 1);
	CHECK_INT(fairq_count(q), 0);
	fairq_free(q);
}

/* Service is shared by weight and cost, also where the jobs of one owner cost far more. */
static void
test_shares(void)
{
	static const struct {
		double weight_b, cost_a, cost_b, share_b;
	} cases[] = {
		{ 1, 1, 1, 0.5 },
		{ 1, 10, 1, 0.5 },
		{ 1, 1, 25, 0.5 },
		{ 3, 1, 1, 0.75 },
		{ 0.25, 2, 1, 0.2 },
	};
	static struct job a[MANY], b[MANY];
	double done[2];
	struct fairq *q;
	struct job *j;
	size_t c;
	int i;

	for (c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		q = fairq_new(&wide);
		CHECK_INT(fairq_weigh(q, "b", cases[c].weight_b), NW_OK);
		for (i = 0; i < MANY; i++) {
			put(q, &a[i], 'a', i);
			put(q, &b[i], 'b', i);
		}
		done[0] = done[1] = 0;
		while (done[0] + done[1] < 900) {
			struct fairq_item *item = fairq_take(q);

			j = fairq_of(item, struct job, item);
			i = j->owner == 'b';
			fairq_charge(q, i ? "b" : "a", i ? cases[c].cost_b : cases[c].cost_a);
			done[i] += i ? cases[c].cost_b : cases[c].cost_a;
		}
		CHECK_NEAR(done[1] / (done[0] + done[1]), cases[c].share_b, 0, 0.03);
		fairq_free(q);
	}
}

/* An owner that was idle has no credit from the past. */
static void
test_idle(void)
{
	static struct job a[MANY], b[MANY];
	struct fairq *q = fairq_new(&wide);
	int i, n_b = 0;

	for (i = 0; i < MANY; i++)
		put(q, &a[i], 'a', i);
	for (i = 0; i < 1000; i++)
		(void)take(q, 1);
	for (i = 0; i < MANY; i++)
		put(q, &b[i], 'b', i);
	for (i = 0; i < 200; i++)
		n_b += take(q, 1)->owner == 'b';
	CHECK(n_b >= 99 && n_b <= 101);
	fairq_free(q);
}

static bool
is_named(void *arg, const char *owner)
{
	return strcmp(arg, owner) == 0;
}

/* An owner that must wait keeps its turn for later. */
static void
test_unless(void)
{
	static struct job a, b;
	static char a_name[] = "a";
	struct fairq *q = fairq_new(&wide);
	struct fairq_item *displaced;

	CHECK_INT(fairq_put(q, "a", &a.item, &displaced), NW_OK);
	CHECK_INT(fairq_put(q, "b", &b.item, &displaced), NW_OK);
	fairq_charge(q, "b", 5);
	CHECK(fairq_take_unless(q, is_named, a_name) == &b.item);
	CHECK(fairq_take_unless(q, is_named, a_name) == NULL);
	CHECK_INT(fairq_count(q), 1);
	CHECK(fairq_take(q) == &a.item);
	fairq_free(q);
}

static void
test_places(void)
{
	static const struct fairq_limits few = { 10, 8, 100 };
	struct fairq *q = fairq_new(&few);
	struct fairq_item *displaced;
	struct job a[9], b[9], c;
	int i;

	for (i = 0; i < 8; i++)
		put(q, &a[i], 'a', i);
	CHECK_INT(fairq_put(q, "a", &a[8].item, &displaced), NW_EFULL); /* the owner's bound */
	put(q, &b[0], 'b', 0);
	put(q, &b[1], 'b', 1);
	CHECK_INT(fairq_put(q, "b", &b[2].item, &displaced), NW_OK); /* all places are taken */
	CHECK(displaced == &a[7].item && displaced->owner == NULL);
	for (i = 3; i < 5; i++)
		CHECK_INT(fairq_put(q, "b", &b[i].item, &displaced), NW_OK);
	CHECK_INT(fairq_count_owner(q, "a"), 5);
	CHECK_INT(fairq_count_owner(q, "b"), 5);
	CHECK_INT(fairq_put(q, "b", &b[5].item, &displaced), NW_EFULL); /* its share is used up */
	CHECK(displaced == NULL);
	CHECK_INT(fairq_put(q, "c", &c.item, &displaced), NW_OK);
	CHECK(displaced != NULL);
	CHECK_INT(fairq_count(q), 10);
	fairq_remove(q, &c.item);
	fairq_remove(q, &c.item);
	CHECK_INT(fairq_count(q), 9);
	CHECK_INT(fairq_count_owner(q, "c"), 0);
	fairq_free(q);
	CHECK(a[0].item.owner == NULL); /* items of a freed queue are in no queue */
}

/* Names of strangers use up accounts: they share one, and forget each other; others keep theirs. */
static void
test_owners(void)
{
	static const struct fairq_limits few = { 1000, 1000, 3 };
	static struct job j[20];
	struct fairq *q = fairq_new(&few);
	char name[16];
	struct fairq_item *displaced;
	int i;

	CHECK_INT(fairq_weigh(q, "operator", 4), NW_OK);
	for (i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		CHECK_INT(fairq_put(q, name, &j[i].item, &displaced), NW_OK);
	}
	CHECK_INT(fairq_count_owner(q, "s0"), 1);
	CHECK_INT(fairq_count_owner(q, ""), 8);
	for (i = 0; i < 10; i++)
		CHECK(fairq_take(q) != NULL);
	CHECK(fairq_take(q) == NULL);
	CHECK_INT(fairq_put(q, "new", &j[0].item, &displaced), NW_OK);
	CHECK_INT(fairq_count_owner(q, "new"), 1);
	fairq_free(q);
}

static void
test_rates(void)
{
	static const int64_t s = 1000000000;
	struct fairrate *r = fairrate_new(10, 50);
	uint64_t refused;
	char name[16];
	int i, k, n[2] = { 0 }, all = 0;

	for (i = 0; i < 1000; i++)
		n[0] += fairrate_allows(r, "flood", 5 * s + i, &refused);
	CHECK_INT(n[0], 10);
	CHECK(fairrate_allows(r, "quiet", 5 * s + 1000, &refused)); /* beside the flood */
	CHECK(fairrate_allows(r, "flood", 6 * s, &refused));
	CHECK_INT(refused, 990);
	for (k = 7, n[0] = 0; k < 17; k++)
		for (i = 0; i < 500; i++) {
			n[0] += fairrate_allows(r, "flood", k * s + 2 * i, &refused);
			n[1] +=
			    i % 10 == 0 && fairrate_allows(r, "quiet", k * s + 2 * i + 1, &refused);
		}
	CHECK_INT(n[1], 50);
	CHECK(n[0] >= 50 && n[0] <= 55);
	for (i = 0; i < 1000; i++) { /* many names in one second */
		snprintf(name, sizeof(name), "n%d", i);
		all += fairrate_allows(r, name, 30 * s, &refused);
	}
	CHECK_INT(all, 20);
	CHECK(fairrate_allows(r, "quiet", 31 * s, &refused));
	fairrate_free(r);
}

int
main(void)
{
	test_flood();
	test_shares();
	test_idle();
	test_unless();
	test_places();
	test_owners();
	test_rates();
	return check_done("fairq");
}
