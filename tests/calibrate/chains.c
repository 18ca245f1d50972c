/* SPDX-License-Identifier: BSD-3-Clause */
/* Chains of waits: is the slowest link named, and none of two that are equally slow; is a wait for
 * another program's file found, and none where the reader rests by itself? */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "analyze/verdict/chain/chain_find.h"
#include "narrows/err.h"
#include "tests/calibrate/calibrate.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

enum { WINDOWS_MAX = 240, LINKS_MAX = 5, ITEMS_MAX = 3000, FILES_MAX = 60 };
static const double STEP_S = 0.1;

/* Adds the seconds from begin to end to their windows. */
static void
span_add(double row[WINDOWS_MAX], double begin_s, double end_s)
{
	size_t w;

	for (w = (size_t)(begin_s / STEP_S); w < WINDOWS_MAX && (double)w * STEP_S < end_s; w++)
		row[w] += fmin(end_s, (double)(w + 1) * STEP_S) - fmax(begin_s, (double)w * STEP_S);
}

/* A duration of mean 1, whose standard deviation is `spread`. */
static double
lasting(double spread)
{
	return exp(spread * noise_normal() - spread * spread / 2);
}

/* --- links of a row --- */

/* Items pass links in order, through pipes with room for some of them. The slowest link takes 10 ms
 * for an item, the second slowest a part of that, all others a third. */
struct row_case {
	const char *name;
	size_t links, items, room;
	double second, spread;
	/* seconds between items that no account of the first link explains: then this link is the
	 * slowest */
	double rests;
	bool beside; /* the links have another channel, with 1 % of the bytes, for long before */
	double right_least; /* of all runs; at most 1 % may be wrong */
	double named_most;  /* less than 1 where no link alone limits */
};

struct row {
	double at[LINKS_MAX][ITEMS_MAX]; /* an item leaves a link */
	double used[LINKS_MAX][WINDOWS_MAX], waits[LINKS_MAX][2][WINDOWS_MAX];
	size_t slowest, second;
};

static void
row_run(const struct row_case *k, double begin_s, struct row *r)
{
	double start, finish, mean;
	size_t n, i;

	memset(r->used, 0, sizeof(r->used));
	memset(r->waits, 0, sizeof(r->waits));
	r->slowest = k->rests > 0 ? 0 : (size_t)(noise_uniform() * (double)k->links);
	r->second =
	    (r->slowest + 1 + (size_t)(noise_uniform() * (double)(k->links - 1))) % k->links;
	for (n = 0; n < k->items; n++)
		for (i = 0; i < k->links; i++) {
			mean = i == r->slowest ? 1 : i == r->second ? k->second : 0.33;
			start = n > 0 ? r->at[i][n - 1] : begin_s;
			start += i == 0 ? k->rests : 0;
			if (i > 0 && r->at[i - 1][n] > start) {
				span_add(r->waits[i][0], start, r->at[i - 1][n]);
				start = r->at[i - 1][n];
			}
			finish = start + 0.01 * mean * lasting(k->spread);
			span_add(r->used[i], start, finish);
			r->at[i][n] = finish;
			if (i + 1 == k->links || n < k->room || r->at[i + 1][n - k->room] <= finish)
				continue;
			r->at[i][n] = r->at[i + 1][n - k->room];
			span_add(r->waits[i][1], finish, r->at[i][n]);
		}
}

static struct nw_chain_end
row_end(const struct row *r, const struct row_case *k, size_t link, int way, double begin_s)
{
	struct nw_chain_end e = { .process = link,
		.channel = way == 1 ? link : link - 1,
		.by = NW_CHAIN_PIPE,
		.begin_s = begin_s,
		.end_s = r->at[link][k->items - 1] };

	e.bytes[way] = (double)k->items;
	e.wait_s[way] = r->waits[link][way];
	return e;
}

/* Builds the chain of a run; the caller clears. */
static void
row_judge(const struct row_case *k, struct row *r, struct nw_chain *out)
{
	const double begin_s = k->beside ? 10 : 0;
	struct nw_chain_process process[LINKS_MAX] = { 0 };
	struct nw_chain_end end[4 * LINKS_MAX];
	size_t i, n = 0;

	row_run(k, begin_s, r);
	for (i = 0; i < k->links; i++) {
		process[i] = (struct nw_chain_process){ .group = i, .cpu_known = true };
		process[i].use_s[NW_CHAIN_CPU] = r->used[i];
		if (i + 1 < k->links)
			end[n++] = row_end(r, k, i, 1, begin_s);
		if (i > 0)
			end[n++] = row_end(r, k, i, 0, begin_s);
		if (!k->beside)
			continue;
		end[n] = (struct nw_chain_end){ .process = i, .channel = k->links, .end_s = 1 };
		end[n].bytes[0] = end[n].bytes[1] = 0.01 * (double)k->items;
		n++;
	}
	if (nw_chain_build(process, k->links, end, n, WINDOWS_MAX, STEP_S, out) != NW_OK)
		memset(out, 0, sizeof(*out));
}

static void
rows(struct calibration *c)
{
	static const struct row_case cases[] = {
		{ "3 links, two equal", 3, 1500, 8, 1, 0.5, 0, false, 0, 0.02 },
		{ "5 links, two equal, jitter", 5, 1500, 2, 1, 1, 0, false, 0, 0.02 },
		{ "3 links, two equal, short", 3, 150, 8, 1, 1, 0, false, 0, 0.25 },
		{ "4 links, second at 0.95", 4, 1500, 8, 0.95, 0.5, 0, false, 0, 1 },
		{ "4 links, second at 0.8", 4, 1500, 8, 0.8, 0.5, 0, false, 0.9, 1 },
		{ "3 links, second at 0.66", 3, 1500, 8, 0.66, 0.5, 0, false, 0.97, 1 },
		{ "5 links, second at 0.66, jitter", 5, 1500, 2, 0.66, 1, 0, false, 0.95, 1 },
		{ "3 links, second at 0.66, short", 3, 150, 8, 0.66, 0.5, 0, false, 0.95, 1 },
		{ "5 links, second at 0.33", 5, 600, 1, 0.33, 0.5, 0, false, 0.97, 1 },
		{ "3 links, a small channel before", 3, 600, 8, 0.66, 0.5, 0, true, 0.97, 1 },
		{ "3 links, second at 0.95, even pace", 3, 1500, 8, 0.95, 0.02, 0, false, 0, 0.02 },
		{ "3 links, the first within itself", 3, 400, 8, 0.33, 0.5, 0.04, false, 0.97, 1 },
	};
	static struct row r;
	size_t i, run, named, right, runs = calibrate_runs(c, 4);
	struct nw_chain g;
	char what[96];

	calibrate_title(c, "the slowest link of a row of programs is named");
	for (i = 0; i < COUNT(cases); i++) {
		for (named = right = run = 0; run < runs; run++) {
			row_judge(&cases[i], &r, &g);
			named += g.known;
			right += g.known && !g.limit_is_edge && g.node[g.limit].group == r.slowest;
			nw_chain_clear(&g);
		}
		if (cases[i].named_most < 1) {
			(void)snprintf(what, sizeof(what), "%s: named", cases[i].name);
			cell_at_most(c, what, named, runs, cases[i].named_most);
			continue;
		}
		(void)snprintf(what, sizeof(what), "%s: right", cases[i].name);
		cell_at_least(c, what, right, runs, cases[i].right_least);
		(void)snprintf(what, sizeof(what), "%s: wrong", cases[i].name);
		cell_at_most(c, what, named - right, runs, 0.01);
	}
}

/* --- waits that are worth an edge --- */

/* Waits for another program, or for a processor, in short bursts. */
static void
edges(struct calibration *c)
{
	static const struct {
		double share;
		bool is_worth;
	} cases[] = { { 0.005, false }, { 0.01, false }, { 0.05, true } };
	static double waits[WINDOWS_MAX], queues[WINDOWS_MAX];
	struct nw_chain_process process[2] = { { .cpu_known = true }, { .group = 1 } };
	struct nw_chain_end end[2] = { { .bytes = { 0, 1e6 } },
		{ .process = 1, .bytes = { 1e6 } } };
	size_t i, w, run, there, queued, runs = calibrate_runs(c, 4);
	struct nw_chain g;
	char what[96];

	calibrate_title(c, "waits for programs and processors are edges if they are worth a word");
	end[0].end_s = end[1].end_s = WINDOWS_MAX * STEP_S;
	end[1].wait_s[0] = waits;
	process[0].use_s[NW_CHAIN_STARVED] = queues;
	for (i = 0; i < COUNT(cases); i++) {
		for (there = queued = run = 0; run < runs; run++) {
			for (w = 0; w < WINDOWS_MAX; w++) {
				waits[w] = STEP_S * fmin(1, cases[i].share * lasting(1));
				queues[w] = STEP_S * fmin(1, cases[i].share * lasting(1));
			}
			if (nw_chain_build(process, 2, end, 2, WINDOWS_MAX, STEP_S, &g) != NW_OK)
				continue;
			there += g.n_nodes > 0;
			queued += g.n_edges > 0 && g.edge[g.n_edges - 1].by == NW_CHAIN_QUEUE;
			nw_chain_clear(&g);
		}
		(void)snprintf(what, sizeof(what), "waits of %g: a chain", cases[i].share);
		(cases[i].is_worth ? cell_at_least : cell_at_most)(
		    c, what, there, runs, cases[i].is_worth ? 0.98 : 0.02);
		(void)snprintf(what, sizeof(what), "waits of %g: a run queue", cases[i].share);
		(cases[i].is_worth ? cell_at_least : cell_at_most)(
		    c, what, queued, runs, cases[i].is_worth ? 0.98 : 0.02);
	}
}

/* --- waits for files --- */

/* A writer makes files of half a second each. A reader that looks every 50 ms takes a file when it
 * is whole, or follows one file that grows, and computes for a part of the writer's time. */
struct file_case {
	const char *name;
	double part;   /* of the writer's time */
	double spread; /* of the times of one file */
	double rests;  /* seconds that the reader rests by itself behind each file */
	double behind; /* of a file that grows: the part that the reader leaves unread; else 0 */
	double found_most, found_least; /* the least is 0 where there is no wait */
};

struct files {
	struct evidence e;
	struct evidence_host host;
	struct evidence_process process[2];
	struct evidence_shared shared[2 * FILES_MAX];
	double bytes[2 * FILES_MAX][WINDOWS_MAX], cpu[2][WINDOWS_MAX];
	double waited_s, there_s; /* of the reader, for the writer, and all */
};

static int64_t
wall_ns(double s)
{
	return 1 + (int64_t)(s * 1e9);
}

/* A process's use of a file for a time, with as many bytes in each second. */
static void
file_use(struct files *f, size_t process, int way, char *path, double begin_s, double end_s)
{
	struct evidence_shared *s = &f->shared[f->e.n_shared];
	double *bytes = f->bytes[f->e.n_shared++];
	size_t w;

	memset(bytes, 0, sizeof(f->bytes[0]));
	span_add(bytes, begin_s, end_s);
	for (w = 0; w < WINDOWS_MAX; w++)
		bytes[w] *= 1e8;
	*s = (struct evidence_shared){ .process = process, .path = path, .is_shared = true };
	s->bytes[way] = bytes;
	s->sum[way] = 1e8 * (end_s - begin_s);
	s->first_wall_ns[way] = wall_ns(begin_s);
	s->last_wall_ns[way] = wall_ns(end_s);
}

static void
files_begin(struct files *f)
{
	static char names[2][8] = { "gives", "takes" }, here[] = "here";
	size_t i;

	memset(&f->e, 0, sizeof(f->e));
	memset(f->cpu, 0, sizeof(f->cpu));
	f->host = (struct evidence_host){ .id = 1, .name = here };
	f->e.hosts = &f->host;
	f->e.n_hosts = 1;
	f->e.processes = f->process;
	f->e.n_processes = 2;
	f->e.shared = f->shared;
	f->e.n_windows = WINDOWS_MAX;
	f->e.step_ns = (int64_t)(STEP_S * 1e9);
	for (i = 0; i < 2; i++)
		f->process[i] = (struct evidence_process){ .pid = 10 + (int64_t)i,
			.parent_pid = 5,
			.program = names[i],
			.cpu = f->cpu[i],
			.first_wall_ns = 1,
			.last_wall_ns = wall_ns(WINDOWS_MAX * STEP_S) };
}

/* Whole files, one after the other. */
static void
files_whole(const struct file_case *k, struct files *f)
{
	static char paths[FILES_MAX][16];
	double writes_s = 0, reads_s = 0, takes_s;
	size_t i;

	for (i = 0; i < 40; i++) {
		(void)snprintf(paths[i], sizeof(paths[i]), "/%zu", i);
		takes_s = 0.5 * lasting(k->spread);
		file_use(f, 0, 1, paths[i], writes_s, writes_s + takes_s);
		span_add(f->cpu[0], writes_s, writes_s + takes_s);
		writes_s += takes_s;
		if (writes_s > reads_s) {
			f->waited_s += writes_s - reads_s;
			reads_s += 0.05 * ceil((writes_s - reads_s) / 0.05);
		}
		takes_s = 0.5 * k->part * lasting(k->spread);
		file_use(f, 1, 0, paths[i], reads_s, reads_s + 0.02);
		span_add(f->cpu[1], reads_s, reads_s + 0.02 + takes_s);
		reads_s += 0.02 + takes_s + k->rests;
		f->there_s = reads_s;
	}
}

/* One file that grows all the time. */
static void
files_growing(const struct file_case *k, struct files *f)
{
	static char path[] = "/grows";
	const double all_s = 0.9 * WINDOWS_MAX * STEP_S;
	double s, takes_s;
	size_t w;

	file_use(f, 0, 1, path, 0, all_s);
	file_use(f, 1, 0, path, 0.05, all_s);
	for (w = 0; w < WINDOWS_MAX; w++)
		f->bytes[1][w] *= 1 - k->behind;
	f->shared[1].sum[0] *= 1 - k->behind;
	span_add(f->cpu[0], 0, all_s);
	for (s = 0.05; s < all_s; s += 0.1) {
		takes_s = fmin(0.1, 0.1 * k->part * lasting(k->spread));
		span_add(f->cpu[1], s, s + takes_s);
		f->waited_s += k->behind < 0.1 ? 0.1 - takes_s : 0;
	}
	f->there_s = all_s;
}

/* The share of the reader's time that the chain has for waits for the writer; 0 without a wait. */
static double
files_judge(const struct file_case *k, struct files *f)
{
	const struct nw_chain_edge *edge;
	struct chain c;
	double share = 0;

	files_begin(f);
	f->waited_s = 0;
	if (k->behind > 0)
		files_growing(k, f);
	else
		files_whole(k, f);
	chain_find(&f->e, &c);
	for (edge = c.graph.edge; edge < c.graph.edge + c.graph.n_edges; edge++)
		share += edge->by == NW_CHAIN_FILE ? edge->share : 0;
	chain_clear(&c);
	return share;
}

static void
files(struct calibration *c)
{
	static const struct file_case cases[] = {
		{ "a slower reader", 1.3, 0.3, 0, 0, 0.02, 0 },
		{ "a reader as slow", 1, 0.3, 0, 0, 0.05, 0 },
		{ "a reader that rests by itself", 0.4, 0.3, 0.6, 0, 0.02, 0 },
		{ "a reader at 0.7 of the time", 0.7, 0.3, 0, 0, 1, 0.95 },
		{ "a reader at 0.4 of the time", 0.4, 0.3, 0, 0, 1, 0.98 },
		{ "a reader at 0.05 of the time", 0.05, 0.5, 0, 0, 1, 0.98 },
		{ "follows at half the time", 0.5, 0.3, 0, 0.02, 1, 0.98 },
		{ "follows, a third unread", 0.5, 0.3, 0, 0.33, 0.02, 0 },
		{ "follows, busy", 0.97, 0.1, 0, 0.02, 0.02, 0 },
	};
	static struct files f;
	size_t i, run, found, more, much, runs = calibrate_runs(c, 4);
	double share, true_share;
	char what[96];

	calibrate_title(c,
	    "a reader's waits for files of another program are found; a window with bytes is none");
	for (i = 0; i < COUNT(cases); i++) {
		for (found = more = much = run = 0; run < runs; run++) {
			share = files_judge(&cases[i], &f);
			true_share = f.waited_s / f.there_s;
			found += share > 0;
			more += share > true_share + 0.05;
			much += share >= 0.5 * true_share;
		}
		(void)snprintf(what, sizeof(what), "%s: told for too long", cases[i].name);
		cell_at_most(c, what, more, runs, 0.02);
		if (cases[i].found_least == 0) {
			(void)snprintf(what, sizeof(what), "%s: found", cases[i].name);
			cell_at_most(c, what, found, runs, cases[i].found_most);
			continue;
		}
		(void)snprintf(what, sizeof(what), "%s: found, as it was", cases[i].name);
		cell_at_least(c, what, found, runs, cases[i].found_least);
		(void)snprintf(what, sizeof(what), "%s: told by half at least", cases[i].name);
		cell_at_least(c, what, much, runs, 0.95);
	}
}

void
calibrate_chains(struct calibration *c)
{
	rows(c);
	edges(c);
	files(c);
}
