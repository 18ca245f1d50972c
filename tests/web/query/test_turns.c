/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns: owners share the thread by time, other events go first, and a turn that leaves never
 * runs. */
#include "web/query/turns.h"

#include <event2/event.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "tests/check.h"

enum { MANY = 30, ROUNDS = 600 };

struct worker {
	struct turn turn;
	struct turns *turns;
	struct event_base *base;
	int64_t cost_ns;
	int64_t *spent_ns; /* of the owner */
	int *n_runs;
};

static int n_left;

static void
work(void *arg)
{
	struct worker *w = arg;
	int64_t begin = nw_mono_ns();

	while (nw_mono_ns() - begin < w->cost_ns)
		;
	*w->spent_ns += nw_mono_ns() - begin;
	++*w->n_runs;
	if (--n_left <= 0)
		event_base_loopbreak(w->base);
	else
		CHECK_INT(turns_wait(w->turns, &w->turn), NW_OK);
}

/* Thirty answers of one owner, one of another: each owner has half of the time, however long the
 * slices are. */
static void
test_shares(int64_t cost_a_ns, int64_t cost_b_ns)
{
	struct event_base *base = event_base_new();
	struct turns *t;
	static struct worker w[MANY + 1];
	int64_t a_ns = 0, b_ns = 0;
	int a = 0, b = 0, i;
	double share;

	event_base_priority_init(base, EVENTS_PRIORITIES);
	t = turns_new(base);
	n_left = ROUNDS;
	for (i = 0; i <= MANY; i++) {
		bool is_a = i < MANY;

		w[i] = (struct worker){ .turns = t,
			.base = base,
			.cost_ns = is_a ? cost_a_ns : cost_b_ns,
			.spent_ns = is_a ? &a_ns : &b_ns,
			.n_runs = is_a ? &a : &b };
		w[i].turn = (struct turn){ .owner = is_a ? "a" : "b", .run = work, .arg = &w[i] };
		CHECK_INT(turns_wait(t, &w[i].turn), NW_OK);
	}
	event_base_dispatch(base);
	share = (double)b_ns / (double)(a_ns + b_ns);
	if (!(share > 0.45 && share < 0.55))
		fprintf(stderr, "%d turns of a, %d of b: b had %.3f\n", a, b, share);
	CHECK(share > 0.45 && share < 0.55);
	turns_free(t);
	event_base_free(base);
}

static void
on_usual(evutil_socket_t fd, short what, void *arg)
{
	int *runs_before = arg;

	(void)fd, (void)what;
	runs_before[1] = runs_before[0];
}

/* An event of usual priority that comes during a turn is handled before the next turn. */
static void
test_usual_first(void)
{
	static const struct timeval soon = { 0, 1000 };
	struct event_config *config = event_config_new();
	struct event_base *base;
	struct event *usual;
	struct turns *t;
	struct worker w;
	int64_t spent = 0;
	int runs[2] = { 0, -1 };

	event_config_set_max_dispatch_interval(config, NULL, 1, EVENTS_SLOW);
	base = event_base_new_with_config(config);
	event_base_priority_init(base, EVENTS_PRIORITIES);
	t = turns_new(base);
	usual = evtimer_new(base, on_usual, runs);
	w = (struct worker){
		.turns = t, .base = base, .cost_ns = 5000000, .spent_ns = &spent, .n_runs = &runs[0]
	};
	w.turn = (struct turn){ .owner = "a", .run = work, .arg = &w };
	n_left = 8;
	CHECK_INT(turns_wait(t, &w.turn), NW_OK);
	evtimer_add(usual, &soon);
	event_base_dispatch(base);
	CHECK(runs[1] >= 0 && runs[1] <= 2);
	event_free(usual);
	turns_free(t);
	event_base_free(base);
	event_config_free(config);
}

static void
test_leave(void)
{
	struct event_base *base = event_base_new();
	struct turns *t;
	struct worker w[2];
	int64_t spent = 0;
	int runs[2] = { 0 }, i;

	event_base_priority_init(base, EVENTS_PRIORITIES);
	t = turns_new(base);
	for (i = 0; i < 2; i++) {
		w[i] = (struct worker){
			.turns = t, .base = base, .spent_ns = &spent, .n_runs = &runs[i]
		};
		w[i].turn = (struct turn){ .owner = "a", .run = work, .arg = &w[i] };
		CHECK_INT(turns_wait(t, &w[i].turn), NW_OK);
	}
	n_left = 5;
	turns_leave(t, &w[0].turn);
	turns_leave(t, &w[0].turn);
	event_base_dispatch(base);
	CHECK_INT(runs[0], 0);
	CHECK_INT(runs[1], 5);
	turns_free(t);
	event_base_free(base);
}

int
main(void)
{
	test_shares(300000, 300000);
	test_shares(100000, 2000000);
	test_shares(1000000, 100000);
	test_usual_first();
	test_leave();
	return check_done("turns");
}
