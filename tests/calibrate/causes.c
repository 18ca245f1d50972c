/* SPDX-License-Identifier: BSD-3-Clause */
/* Causes: is the planted change named, an innocent one never surely, and nothing where nothing is
 * known? Each table is judged at every one of the first sessions of a slowdown. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/cause.h"
#include "tests/calibrate/calibrate.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

enum { SESSIONS_MAX = 120, CHANGES_MAX = 51, SLOW_MAX = 6 };

/* Changes of known effect, and the stage which then limits. */
static const struct {
	const char *name, *before, *after;
	enum nw_stage_kind stage;
} planted[] = {
	{ "sysctl.net.ipv4.tcp_rmem", "4096 131072 33554432", "4096 65536 131072",
	    NW_STAGE_NETWORK },
	{ "sysctl.net.ipv4.tcp_wmem", "4096 65536 33554432", "4096 16384 65536", NW_STAGE_NETWORK },
	{ "sysctl.net.ipv4.tcp_window_scaling", "1", "0", NW_STAGE_NETWORK },
	{ "sysctl.net.ipv4.tcp_congestion_control", "bbr", "reno", NW_STAGE_NETWORK },
	{ "net.eth0.qdisc", "fq", "tbf #e3cc8837", NW_STAGE_NETWORK },
	{ "net.eth0.speed_mbit_s", "10000", "1000", NW_STAGE_NETWORK },
	{ "net.eth0.mtu", "9000", "1500", NW_STAGE_SENDER_HOST },
	{ "net.eth0.offload.gro", "on", "off", NW_STAGE_RECEIVER_HOST },
	{ "mount./data.options", "rw,noatime", "rw,noatime,sync", NW_STAGE_DISK_WRITE },
	{ "disk.sda.read_ahead_kb", "8192", "16", NW_STAGE_DISK_READ },
	{ "disk.sda.write_cache", "write back", "write through", NW_STAGE_DISK_WRITE },
	{ "cgroup.io.max", NULL, "8:0 wbps=8000000", NW_STAGE_DISK_WRITE },
	{ "cgroup.blkio.throttle.read_bps_device", "", "253:2 8000000", NW_STAGE_DISK_READ },
	{ "cgroup.cpu.max", "max 100000", "20000 100000", NW_STAGE_SENDER_HOST },
	{ "cpu.governor", "performance", "powersave", NW_STAGE_RECEIVER_HOST },
	{ "program.rsync.build", "aa01", "bb02", NW_STAGE_SENDER_HOST },
	{ "kernel.release", "6.1.0-1", "6.1.0-2", NW_STAGE_NETWORK },
};

struct history {
	size_t n_usual, n_slow, n_changes; /* the planted change is the first, if there is one */
	struct nw_cause cause[CHANGES_MAX];
	bool moved[CHANGES_MAX][SESSIONS_MAX];
	size_t first[CHANGES_MAX]; /* first session after each change */
	char value[CHANGES_MAX][2][16];
	enum nw_stage_kind stage;
	bool planted;
	struct nw_reach reach;
};

static size_t
up_to(size_t n)
{
	size_t i = (size_t)(noise_uniform() * (double)n);

	return i < n ? i : n - 1;
}

/* So many of n routes, of which each falls with the chance. */
static size_t
falling(size_t n, double each)
{
	size_t fell = 0;

	while (n-- > 0)
		fell += noise_uniform() < each;
	return fell;
}

/* Other routes over the two hosts. The cause is at an end, 0 or 1, or between them, and slows the
 * other routes of its host with another chance than the rule assumes. */
static void
reach_make(struct history *h, size_t end, double shared)
{
	const double each[] = { noise_uniform() < (end == 0 ? shared : 0.03) ? 0.9 : 0.02,
		noise_uniform() < (end == 1 ? shared : 0.03) ? 0.9 : 0.02 };

	h->reach.n_from = up_to(5);
	h->reach.n_to = up_to(5);
	h->reach.n_from_fell = falling(h->reach.n_from, each[0]);
	h->reach.n_to_fell = falling(h->reach.n_to, each[1]);
}

static void
innocent_make(struct history *h, size_t i)
{
	double before = exp(6 * noise_uniform()), step = exp(3 * noise_normal());

	h->cause[i] = (struct nw_cause){ .name = calibrate_setting(),
		.before = h->value[i][0],
		.after = h->value[i][1],
		.host = up_to(2),
		.n_quiet = noise_uniform() < 0.2 ? up_to(10) : 0,
		.moved = h->moved[i] };
	h->cause[i].place = h->cause[i].host == 0 ? NW_CAUSE_FROM : NW_CAUSE_TO;
	(void)snprintf(h->value[i][0], sizeof(h->value[i][0]), "%.0f", before);
	(void)snprintf(h->value[i][1], sizeof(h->value[i][1]), "%.0f", before * step);
	h->first[i] = 1 + up_to(h->n_usual + h->n_slow - 1);
}

static void
history_make(struct history *h, bool plant, size_t n_innocent, bool vouched)
{
	size_t i, p = up_to(COUNT(planted));

	h->n_usual = 8 + up_to(80);
	h->n_slow = SLOW_MAX;
	h->planted = plant;
	h->n_changes = n_innocent + plant;
	h->stage = planted[p].stage;
	for (i = 0; i < h->n_changes; i++)
		innocent_make(h, i);
	if (plant) {
		h->cause[0] = (struct nw_cause){ .name = planted[p].name,
			.before = planted[p].before,
			.after = planted[p].after,
			.host = up_to(2),
			.n_quiet = noise_uniform() < 0.2 ? up_to(4) : 0,
			.moved = h->moved[0] };
		h->cause[0].place = h->cause[0].host == 0 ? NW_CAUSE_FROM : NW_CAUSE_TO;
		h->first[0] = h->n_usual;
	}
	h->reach = (struct nw_reach){ .place = NW_REACH_UNKNOWN };
	if (vouched)
		reach_make(h, plant ? h->cause[0].host : up_to(3),
		    strncmp(planted[p].name, "program.", 8) == 0 && plant ? 0.1 : 0.5);
	if (noise_uniform() < 0.1) /* the verdict names another stage, or none */
		h->stage = (enum nw_stage_kind)up_to(NW_STAGE_COUNT + 1);
}

/* The first slow session as a test finds it: right in 8 of 10, within one session in 19 of 20. */
static struct nw_begin
begin_make(const struct history *h, size_t n_slow)
{
	double u = noise_uniform();
	struct nw_begin b = {
		.n = h->n_usual + n_slow, .low = h->n_usual, .high = h->n_usual, .reach = h->reach
	};

	if (u < 0.15)
		b.low--;
	if (u > 0.05 && u < 0.2 && n_slow > 1)
		b.high++;
	if (u > 0.97 && n_slow > 2)
		b.low = ++b.high;
	return b;
}

/* Whether a change has come by session n; an innocent one may have been undone. */
static size_t
changes_see(struct history *h, const struct nw_begin *b, struct nw_cause *seen)
{
	size_t i, k, n = 0;

	for (i = 0; i < h->n_changes; i++) {
		if (h->first[i] >= b->n)
			continue;
		for (k = 0; k < b->n; k++)
			h->moved[i][k] =
			    (k >= h->first[i]) == (h->first[i] + 1 >= b->low); /* before: as now */
		seen[n++] = h->cause[i];
	}
	return n;
}

struct tally {
	size_t runs, first, in_set, sure, sure_right, silent;
};

static int
weight_compare(const void *a, const void *b)
{
	const struct nw_cause *x = a, *y = b;

	return x->weight < y->weight ? 1 : -(x->weight > y->weight);
}

static bool
is_planted(const struct history *h, const struct nw_cause *c)
{
	return h->planted && c->moved == h->moved[0];
}

static void
session_judge(struct history *h, size_t n_slow, struct tally *t)
{
	struct nw_begin b = begin_make(h, n_slow);
	struct nw_cause seen[CHANGES_MAX];
	double weight[CHANGES_MAX], unexplained;
	size_t i, n = changes_see(h, &b, seen), named;
	bool hit = false;

	nw_causes_weigh(seen, n, &b, h->stage, &unexplained);
	qsort(seen, n, sizeof(*seen), weight_compare);
	for (i = 0; i < n; i++)
		weight[i] = seen[i].weight;
	named = nw_causes_named(weight, n, unexplained);
	for (i = 0; i < named; i++)
		hit |= is_planted(h, &seen[i]);
	t->runs++;
	t->silent += named == 0;
	t->first += named > 0 && is_planted(h, &seen[0]);
	t->in_set += hit;
	if (named > 0 && weight[0] > NW_CAUSE_SURE) {
		t->sure++;
		t->sure_right += is_planted(h, &seen[0]);
	}
}

static void
planted_tell(struct calibration *c, const struct tally *t, const char *what, double first)
{
	char text[96];

	(void)snprintf(text, sizeof(text), "%s: the planted change first", what);
	cell_at_least(c, text, t->first, t->runs, first);
	(void)snprintf(text, sizeof(text), "%s: in the named set", what);
	cell_at_least(c, text, t->in_set, t->runs, first);
	(void)snprintf(text, sizeof(text), "%s: sure and right", what);
	if (t->sure > 0)
		cell_at_least(c, text, t->sure_right, t->sure, 0.9);
	(void)snprintf(text, sizeof(text), "%s: wrong and sure", what);
	cell_at_most(c, text, t->sure - t->sure_right, t->runs, 0.02);
}

static void
cell_row(struct calibration *c, size_t innocents, double first, size_t slow, bool vouched)
{
	static struct history h;
	size_t run, runs = calibrate_runs(c, 1);
	struct tally t = { 0 }, null = { 0 };
	char what[64], text[96];

	for (run = 0; run < runs; run++) {
		history_make(&h, true, innocents, vouched);
		session_judge(&h, slow, &t);
		history_make(&h, false, innocents, vouched);
		session_judge(&h, slow, &null);
	}
	(void)snprintf(what, sizeof(what), "%zu unrelated, slow session %zu%s", innocents, slow,
	    vouched ? ", vouched" : "");
	planted_tell(c, &t, what, first);
	(void)snprintf(text, sizeof(text), "%s, none planted: none named", what);
	cell_at_least(c, text, null.silent, null.runs, 0.95);
	(void)snprintf(text, sizeof(text), "%s, none planted: sure", what);
	cell_at_most(c, text, null.sure, null.runs, 0.02);
}

void
calibrate_causes(struct calibration *c)
{
	static const struct {
		size_t innocents;
		double first;
	} rows[] = { { 0, 0.9 }, { 3, 0.9 }, { 10, 0.9 }, { 50, 0.8 } };
	size_t r, slow;

	calibrate_title(c, "causes of a slowdown, at each of its first sessions");
	for (r = 0; r < COUNT(rows); r++)
		for (slow = 1; slow <= SLOW_MAX; slow++)
			cell_row(c, rows[r].innocents, rows[r].first, slow, false);
	calibrate_title(c, "the same with up to four other routes over each host");
	for (r = 0; r < COUNT(rows); r++)
		for (slow = 1; slow <= SLOW_MAX; slow += 2)
			cell_row(c, rows[r].innocents, rows[r].first, slow, true);
}
