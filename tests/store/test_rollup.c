/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Roll-ups against sums over everything that was ever committed: late rows, equal times, NaN,
 * histograms, any order of compaction and expiry, kill -9 in between; then what pins, ceilings and
 * deletion do.
 *
 * usage: test_rollup [-s seed | -t seconds of soak]
 */
#include "store/write/writer.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "narrows/err.h"
#include "narrows/hist.h"
#include "tests/check.h"
#include "tests/verified.h"
#include "tests/faults.h"
#include "tests/storefile.h"

#define SECOND INT64_C(1000000000)
#define BASE   (1700000000 * SECOND)

enum { FIELDS = 3, ROWS_MAX = 30000, LAYOUTS = 3 };
static const struct writer_limits small = {
	.chunk_rows = 32, .tail_bytes = 4000, .step_values = 300
};
static char dir[32] = "/dev/shm/nw-rollup-XXXXXX", why[STORE_WHY_BYTES];

/* --- the model: every row, in order of arrival --- */

struct model_rows {
	size_t n;
	int64_t t[ROWS_MAX], now;
	double v[ROWS_MAX][FIELDS];
	uint32_t hist_ns[ROWS_MAX];
};
/* In memory that outlives a killed child. */
static struct {
	struct model_rows m[LAYOUTS];
	size_t told[LAYOUTS];
} * shared;
#define model (shared->m)

static int64_t
time_next(struct model_rows *m)
{
	switch (rnd(30)) {
	case 0: return BASE + (int64_t)rnd((uint64_t)(m->now - BASE) + 1); /* late by anything */
	case 1: return m->now;                                             /* twice the same */
	case 2:
		m->now += 1000 * SECOND; /* a pause */
		return m->now;
	}
	m->now += SECOND / 2 + (int64_t)rnd(SECOND);
	return m->now;
}

static int
put_row(struct nw_batch *b, int layout)
{
	struct model_rows *m = &model[layout];
	uint64_t counts[NW_HIST_BUCKETS] = { 0 };
	uint8_t hist[64];
	size_t i = m->n, len = 0;
	int f;

	m->t[i] = time_next(m);
	for (f = 0; f < FIELDS; f++)
		m->v[i][f] = rnd(10) == 0 ? NAN
		    : f == 0              ? (double)i
		    : f == 1              ? (double)rnd(1000) * 1e-3 + 1e6
					  : -1.0;
	m->hist_ns[i] = rnd(3) == 0 ? 0 : (uint32_t)rnd(100000) + 1;
	if (m->hist_ns[i] > 0) {
		counts[nw_hist_index(m->hist_ns[i])] = 2;
		len = nw_hist_encode(hist, counts);
	}
	m->n++;
	return nw_batch_rows(
	    b, layout + 1, FIELDS, 1, &m->t[i], m->v[i], len > 0 ? hist : NULL, len);
}

/* Commits a batch of random rows; the model forgets them if that fails. */
static int
random_commit(struct writer *w)
{
	size_t was[LAYOUTS], i, n = 1 + rnd(12);
	struct nw_batch *b = nw_batch_new();
	int rc = b == NULL ? NW_ENOMEM : NW_OK, l;

	for (l = 0; l < LAYOUTS; l++)
		was[l] = model[l].n;
	for (i = 0; rc == NW_OK && i < n; i++)
		rc = put_row(b, (int)rnd(LAYOUTS));
	if (rc == NW_OK)
		rc = writer_commit(w, b);
	for (l = 0; rc != NW_OK && l < LAYOUTS; l++)
		model[l].n = was[l];
	nw_batch_free(b);
	return rc;
}

/* --- reading back --- */

struct bucket {
	int64_t number, last;
	struct bucket_stat f[FIELDS];
};
static struct bucket want[ROWS_MAX], got[ROWS_MAX];
static size_t n_want, n_got;

static int
by_time(const void *a, const void *b)
{
	const struct {
		int64_t t;
		size_t i;
	} *x = a, *y = b;

	return x->t != y->t ? (x->t < y->t ? -1 : 1) : (x->i < y->i ? -1 : 1);
}

/* By the definitions, with long double sums. */
static void
brute_force(const struct model_rows *m, int64_t step_ns)
{
	static struct {
		int64_t t;
		size_t i;
	} order[ROWS_MAX];
	long double sum, sq, mean;
	size_t i, j, k;
	struct bucket_stat *s;
	int f;

	for (i = 0; i < m->n; i++)
		order[i].t = m->t[i], order[i].i = i;
	qsort(order, m->n, sizeof(order[0]), by_time);
	for (n_want = 0, i = 0; i < m->n; i = j, n_want++) {
		want[n_want].number = order[i].t / step_ns;
		for (j = i; j < m->n && order[j].t / step_ns == want[n_want].number; j++)
			want[n_want].last = order[j].t;
		for (f = 0; f < FIELDS; f++) {
			s = &want[n_want].f[f];
			*s = (struct bucket_stat){ 0, 0, NAN, NAN, 0 };
			for (sum = 0, k = i; k < j; k++)
				if (!isnan(m->v[order[k].i][f])) {
					s->n++;
					sum += m->v[order[k].i][f];
					s->min = fmin(s->min, m->v[order[k].i][f]);
					s->max = fmax(s->max, m->v[order[k].i][f]);
				}
			mean = s->n > 0 ? sum / s->n : 0;
			for (sq = 0, k = i; k < j; k++)
				if (!isnan(m->v[order[k].i][f]))
					sq += (m->v[order[k].i][f] - mean) *
					    (m->v[order[k].i][f] - mean);
			s->sum = (double)sum;
			s->m2 = (double)sq;
		}
	}
}

static int64_t step;

static int
on_buckets(void *arg, const struct store_bucket_block *b)
{
	size_t i, f;

	(void)arg;
	for (i = 0; i < b->n_buckets && n_got < ROWS_MAX; i++, n_got++) {
		got[n_got].number = b->t_wall_ns[i] / step;
		got[n_got].last = b->t_wall_ns[i];
		for (f = 0; f < FIELDS; f++)
			if (b->n[f] != NULL)
				got[n_got].f[f] = (struct bucket_stat){ b->n[f][i], b->sum[f][i],
					b->min[f][i], b->max[f][i], b->m2[f][i] };
	}
	return 0;
}

static bool
same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static bool
near(double a, double b, double scale)
{
	return fabs(a - b) <= 1e-9 * scale + 1e-12;
}

static bool
buckets_agree(struct store_reader *r, int layout, int64_t step_ns, const uint32_t *field)
{
	const struct bucket_stat *a, *b;
	size_t i;
	int f, rc;

	step = step_ns;
	n_got = 0;
	brute_force(&model[layout], step_ns);
	rc = store_buckets(r, layout + 1, field, field == NULL ? 0 : 1, INT64_MIN, INT64_MAX,
	    step_ns, on_buckets, NULL);
	if (rc != NW_OK || n_got != n_want) {
		fprintf(stderr, "layout %d, %" PRId64 " s: rc %d, %zu buckets of %zu\n", layout,
		    step_ns / SECOND, rc, n_got, n_want);
		return false;
	}
	for (i = 0; i < n_want; i++) {
		if (got[i].number != want[i].number || got[i].last != want[i].last)
			return false;
		for (f = 0; f < FIELDS; f++) {
			if (field != NULL && *field != (uint32_t)f)
				continue;
			a = &got[i].f[f];
			b = &want[i].f[f];
			/* Differences of numbers near 1e6: their squares are good to 1e-16 * 1e12 *
			 * n. */
			if (a->n != b->n || !same(a->min, b->min) || !same(a->max, b->max) ||
			    !near(a->sum, b->sum, fabs(b->sum)) ||
			    !(fabs(a->m2 - b->m2) <= 1e-9 * b->m2 + 1e-6 * b->n)) {
				fprintf(stderr,
				    "layout %d bucket %zu field %d: n %g %g sum %.17g %.17g m2 "
				    "%.17g %.17g\n",
				    layout, i, f, a->n, b->n, a->sum, b->sum, a->m2, b->m2);
				return false;
			}
		}
	}
	return true;
}

/* Rows, whatever they are by now: in order, and histograms and counts of operations all there. */
struct totals {
	int64_t last;
	bool wrong;
	uint64_t counts[NW_HIST_BUCKETS];
};

static int
on_rows(void *arg, const struct store_block *b)
{
	struct totals *s = arg;
	size_t i;

	for (i = 0; i < b->n_rows; i++) {
		s->wrong = s->wrong || b->t_wall_ns[i] < s->last;
		s->last = b->t_wall_ns[i];
		if (b->hist != NULL && b->hist_len[i] > 0 &&
		    nw_hist_decode_add(b->hist[i], b->hist_len[i], s->counts) != NW_OK)
			s->wrong = true;
	}
	return 0;
}

static bool
hists_agree(struct store_reader *r, int layout)
{
	static struct totals s;
	static uint64_t counts[NW_HIST_BUCKETS];
	const struct model_rows *m = &model[layout];
	size_t i;

	memset(&s, 0, sizeof(s));
	memset(counts, 0, sizeof(counts));
	for (i = 0; i < m->n; i++)
		if (m->hist_ns[i] > 0)
			counts[nw_hist_index(m->hist_ns[i])] += 2;
	return store_rows(r, layout + 1, INT64_MIN, INT64_MAX, on_rows, &s) == NW_OK && !s.wrong &&
	    memcmp(counts, s.counts, sizeof(counts)) == 0;
}

static struct store_reader *
open_reader(void)
{
	struct store_reader *r = NULL;

	if (store_reader_open(path, &r, why) != NW_OK) {
		fprintf(stderr, "%s\n", why);
		exit(1);
	}
	return r;
}

static void
check_all(int64_t finest_s, const char *when)
{
	static const int64_t steps[] = { 10, 60, 600, 3600, 7200 };
	struct store_reader *r = open_reader();
	uint32_t field = (uint32_t)rnd(FIELDS);
	int l, before = check_failed;
	size_t i;

	for (l = 0; l < LAYOUTS; l++) {
		for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
			if (steps[i] >= finest_s)
				CHECK(
				    buckets_agree(r, l, steps[i] * SECOND, rnd(2) ? &field : NULL));
		CHECK(hists_agree(r, l));
	}
	CHECK_INT(store_verify(r, why), NW_OK);
	if (check_failed > before)
		fprintf(stderr, "%s: %s\n", when, why);
	store_reader_close(r);
}

static int64_t
ask(struct writer *w, const char *sql)
{
	int64_t n = -1;

	CHECK_INT(db_int(w->c.db, sql, &n), NW_OK);
	return n;
}

/* --- writers --- */

static struct writer *
open_writer(const int64_t keep_s[STORE_TIERS], uint64_t max_bytes)
{
	struct store_opts o = store_opts_default;
	struct writer *w = NULL;
	int t;

	o.sync_full = false;
	o.max_bytes = max_bytes;
	for (t = 0; t < STORE_TIERS; t++)
		o.keep_ns[t] = keep_s[t] * SECOND;
	if (writer_open(path, &o, max_bytes > 0 ? NULL : &small, &w, why) != NW_OK) {
		fprintf(stderr, "%s\n", why);
		exit(1);
	}
	return w;
}

static struct writer *
open_new(const int64_t keep_s[STORE_TIERS], uint64_t max_bytes)
{
	static const char *const fields[FIELDS] = { "count", "gauge", "min_x" };
	struct nw_batch *b = nw_batch_new();
	struct writer *w;
	int l;

	files_remove();
	w = open_writer(keep_s, max_bytes);
	nw_batch_host(b, &(struct nw_host_rec){ .id = 1, .name = "h" });
	for (l = 0; l < LAYOUTS; l++) {
		model[l].n = 0;
		model[l].now = BASE;
		nw_batch_session(b, &(struct nw_session_rec){ .id = l + 1 });
		nw_batch_meta(b,
		    &(struct nw_meta_rec){ .id = l + 1,
			.session_id = l + 1,
			.host_id = 1,
			.event_type = "nl.x.summary" });
		nw_batch_layout(b, &(struct nw_layout_rec){ l + 1, l + 1, FIELDS, fields });
	}
	CHECK_INT(writer_commit(w, b), NW_OK);
	nw_batch_free(b);
	return w;
}

static void
care(struct writer *w)
{
	int i;

	for (i = 0; i < 100000 && writer_maintain(w, true) == WRITER_MORE; i++)
		;
	CHECK(i < 100000);
}

static void
expire_at(struct writer *w, int64_t now)
{
	w->c.test_wall_ns = now;
	w->expiry.pass_wall_ns = INT64_MIN / 2;
}

static void
test_model(const int64_t keep_s[STORE_TIERS], int64_t finest_s, int steps)
{
	struct writer *w = open_new(keep_s, 0);
	int i;

	for (i = 0; i < steps; i++) {
		CHECK_INT(random_commit(w), NW_OK);
		if (rnd(20) == 0)
			expire_at(w, model[0].now - (int64_t)rnd(5000) * SECOND);
		while (rnd(3) != 0 && writer_maintain(w, rnd(5) == 0) == WRITER_MORE)
			;
		if (rnd(400) == 0)
			check_all(finest_s, "in between");
		if (rnd(300) == 0) {
			writer_close(w);
			w = open_writer(keep_s, 0);
		}
	}
	expire_at(w, model[0].now + 100 * SECOND);
	care(w);
	check_all(finest_s, "in the end");
	for (i = STORE_10S; i < STORE_TIERS; i++)
		CHECK_INT(w->c.sizes.bytes[i],
		    ask(w,
			i == 1 ? "SELECT coalesce(sum(length(data)), 0) FROM rollup WHERE tier = 1"
			    : i == 2
			    ? "SELECT coalesce(sum(length(data)), 0) FROM rollup WHERE tier = 2"
			    : "SELECT coalesce(sum(length(data)), 0) FROM rollup WHERE tier = 3"));
	CHECK_INT(w->c.sizes.bytes[0], ask(w, "SELECT coalesce(sum(length(data)), 0) FROM chunk"));
	CHECK(ask(w, "SELECT count(*) FROM rollup") > 3);
	CHECK(ask(w, "SELECT count(*) FROM chunk WHERE layout_id = 1") < 20);
	/* Small roll-ups are merged: some remain beside each layout and tier. */
	CHECK(ask(w, "SELECT count(*) FROM rollup") <
	    40 + ask(w, "SELECT sum(n_rows) FROM rollup") / 8);
	CHECK_INT(w->c.total.lost_hists, 0);
	CHECK(ask(w, "PRAGMA freelist_count") * 8 <= ask(w, "PRAGMA page_count"));
	writer_close(w);
}

/* A series of the host, not of a session: two chunks in the time of session 1, two long after
 * it. */
static void
host_commit(struct writer *w)
{
	static const char *const fields[] = { "idle" };
	struct nw_batch *b = nw_batch_new();
	double v = 0.5;
	int64_t t;
	int i;

	nw_batch_session(b,
	    &(struct nw_session_rec){
		.id = 1, .opened_wall_ns = BASE, .closed_wall_ns = BASE + 100 * SECOND });
	nw_batch_xsp(b, &(struct nw_xsp_rec){ .id = 1, .host_id = 1, .session_id = 1 });
	nw_batch_meta(b, &(struct nw_meta_rec){ .id = 20, .host_id = 1 });
	nw_batch_layout(b, &(struct nw_layout_rec){ 20, 20, 1, fields });
	for (i = 0; i < 128; i++) {
		t = BASE + (i < 64 ? i : 10000 + i) * SECOND;
		CHECK_INT(nw_batch_rows(b, 20, 1, 1, &t, &v, NULL, 0), NW_OK);
	}
	CHECK_INT(writer_commit(w, b), NW_OK);
	nw_batch_free(b);
}

/* A pinned session keeps its rows bit by bit; unpinned they go; the oldest tier is deleted in the
 * end, and counted. */
static void
test_pin(void)
{
	static const int64_t keep_s[STORE_TIERS] = { 100, 1000, 10000, 100000 };
	struct writer *w = open_new(keep_s, 0);
	int64_t n1;
	int i;

	for (i = 0; i < 400; i++)
		CHECK_INT(random_commit(w), NW_OK);
	host_commit(w);
	w->k.limits.tail_bytes = 0;
	expire_at(w, BASE);
	care(w);
	CHECK_INT(ask(w, "SELECT sum(n_rows) FROM chunk WHERE layout_id = 20"), 128);
	CHECK_INT(store_pin(path, 1, true, why), NW_OK);
	CHECK_INT(store_pin(path, 77, true, why), NW_ENOTFOUND);
	n1 = ask(w, "SELECT sum(n_rows) FROM chunk WHERE layout_id = 1");
	CHECK_INT(n1, (int64_t)model[0].n);
	expire_at(w, model[1].now + 10000000 * SECOND);
	care(w);
	CHECK_INT(ask(w, "SELECT sum(n_rows) FROM chunk WHERE layout_id = 1"), n1);
	CHECK_INT(ask(w, "SELECT sum(n_rows) FROM chunk WHERE layout_id = 20"), 64);
	CHECK_INT(ask(w, "SELECT count(*) FROM chunk WHERE layout_id NOT IN (1, 20)"), 0);
	CHECK_INT(ask(w, "SELECT count(*) FROM rollup"), 0);
	CHECK_INT(w->c.total.rolled_rows[STORE_ROWS], model[1].n + model[2].n + 64);
	CHECK(w->c.total.expired_rows[STORE_1H] > 0);
	CHECK_INT(ask(w, "SELECT pinned FROM v_session WHERE id = 1"), 1);
	CHECK_INT(store_pin(path, 1, false, why), NW_OK);
	expire_at(w, model[1].now + 10000001 * SECOND);
	care(w);
	CHECK_INT(ask(w, "SELECT count(*) FROM chunk"), 0);
	CHECK_INT(ask(w, "SELECT count(*) FROM session"), LAYOUTS);
	writer_close(w);
}

/* --- rows of the layout out of buckets --- */

enum { KEPT_MAX = 400 };
static const char *const caliper_fields[] = { "sum_v", "count", "mean_v", "sd_v", "min_v", "max_v",
	"window", "threads", "odd", "ticks" };
enum { N_CALIPER = sizeof(caliper_fields) / sizeof(caliper_fields[0]) };
struct kept {
	size_t n;
	int64_t t[KEPT_MAX];
	double v[KEPT_MAX][N_CALIPER];
};

static int
on_kept(void *arg, const struct store_block *b)
{
	struct kept *k = arg;
	size_t i, f;

	for (i = 0; i < b->n_rows && k->n < KEPT_MAX; i++, k->n++) {
		k->t[k->n] = b->t_wall_ns[i];
		for (f = 0; f < N_CALIPER; f++)
			k->v[k->n][f] = b->columns[f] == NULL ? NAN : b->columns[f][i];
	}
	return 0;
}

/* Operations of a window, summarised, as a caliper would: 1 per second, in every minute one without
 * operations. */
static void
caliper_commit(struct writer *w, size_t n_rows)
{
	struct nw_batch *b = nw_batch_new();
	double v[N_CALIPER];
	int64_t t;
	size_t i;

	nw_batch_meta(b,
	    &(struct nw_meta_rec){ .id = 10,
		.event_type = "nl:tools:calipers:summary:read",
		.params_json = "{\"kind\":\"gauge\",\"kind_ticks\":\"counter\"}" });
	nw_batch_layout(b, &(struct nw_layout_rec){ 10, 10, N_CALIPER, caliper_fields });
	for (i = 0; i < n_rows; i++) {
		t = BASE + (int64_t)(i + 1) * SECOND;
		v[1] = i % 60 == 0 ? 0 : (double)(1 + i % 5);
		v[0] = v[1] * (double)(100 + i % 7);
		v[2] = v[1] > 0 ? v[0] / v[1] : NAN;
		v[3] = v[1] > 1 ? 3 : NAN;
		v[4] = v[1] > 0 ? (double)(50 + i % 11) : NAN;
		v[5] = v[1] > 0 ? (double)(200 + i % 13) : NAN;
		v[6] = 1;
		v[7] = (double)(1 + i % 4);
		v[8] = (double)(i % 10);
		v[9] = (double)(i * i);
		CHECK_INT(nw_batch_rows(b, 10, N_CALIPER, 1, &t, v, NULL, 0), NW_OK);
	}
	CHECK_INT(writer_commit(w, b), NW_OK);
	nw_batch_free(b);
}

static void
check_first_bucket(const struct kept *k)
{
	double sum = 0, count = 0;
	size_t i;

	for (i = 0; i < 9; i++) { /* the bucket that began with BASE has the seconds 1 to 9 */
		double c = i % 60 == 0 ? 0 : (double)(1 + i % 5);

		sum += c * (double)(100 + i % 7);
		count += c;
	}
	CHECK_INT(k->t[0], BASE + 9 * SECOND);
	CHECK_NEAR(k->v[0][0], sum, 1e-12, 0);
	CHECK_NEAR(k->v[0][1], count, 1e-12, 0);
	CHECK_NEAR(k->v[0][2], sum / count, 1e-12, 0);
	CHECK(k->v[0][3] > 3 && k->v[0][3] < 5); /* rows within, and the difference of the means */
	CHECK(k->v[0][4] == 51 && k->v[0][5] == 208);
	CHECK_NEAR(k->v[0][6], 9, 1e-12, 0);
	CHECK(k->v[0][7] == 4);
	CHECK_NEAR(k->v[0][8], 4, 1e-12, 0);
	CHECK(k->v[0][9] == 64);
}

static bool
kept_equal(const struct kept *a, const struct kept *b, uint32_t only)
{
	size_t i;
	uint32_t f;

	if (a->n != b->n || memcmp(a->t, b->t, a->n * sizeof(a->t[0])) != 0)
		return false;
	for (i = 0; i < a->n; i++)
		for (f = 0; f < N_CALIPER; f++)
			if ((only == UINT32_MAX || f == only) && !same(a->v[i][f], b->v[i][f]) &&
			    !near(a->v[i][f], b->v[i][f], fabs(a->v[i][f])))
				return false;
	return true;
}

/* What store_rows() gives once rows are gone is what store_rows_at() gave while they were there. */
static void
test_fields(void)
{
	static const int64_t keep_s[STORE_TIERS] = { 100, 0, 0, 0 };
	static struct kept before, after;
	struct writer *w = open_new(keep_s, 0);
	struct store_reader *r;
	uint32_t f;

	caliper_commit(w, 1000);
	expire_at(w, BASE);
	w->k.limits.tail_bytes = 0;
	care(w);
	r = open_reader();
	before.n = after.n = 0;
	CHECK_INT(store_rows_at(r, 10, 10 * SECOND, INT64_MIN, INT64_MAX, on_kept, &before), NW_OK);
	CHECK_INT(before.n, 101);
	check_first_bucket(&before);
	expire_at(w, BASE + 100000 * SECOND);
	care(w);
	CHECK_INT(ask(w, "SELECT count(*) FROM chunk"), 0);
	/* Chunks end within buckets, which then stand in two parts until roll-ups are merged; at a
	 * resolution they are one. */
	CHECK_INT(store_rows_at(r, 10, 10 * SECOND, INT64_MIN, INT64_MAX, on_kept, &after), NW_OK);
	CHECK(kept_equal(&before, &after, UINT32_MAX));
	after.n = 0;
	CHECK_INT(store_rows(r, 10, BASE, BASE + 10 * SECOND, on_kept, &after), NW_OK);
	CHECK_INT(after.n, 1);
	check_first_bucket(&after);
	for (f = 0; f < N_CALIPER; f++) {
		after.n = 0;
		CHECK_INT(
		    store_rows_of(r, 10, &f, 1, BASE, BASE + 10 * SECOND, on_kept, &after), NW_OK);
		before.n = 1;
		CHECK(kept_equal(&before, &after, f));
	}
	after.n = 0;
	CHECK_INT(store_last_row(r, 10, on_kept, &after), NW_OK);
	CHECK(after.n == 1 && after.t[0] == BASE + 1000 * SECOND && after.v[0][9] == 999.0 * 999);
	CHECK_INT(store_verify(r, why), NW_OK);
	store_reader_close(r);
	writer_close(w);
}

static int
on_wide(void *arg, const struct store_block *b)
{
	size_t *n = arg;

	*n += b->n_rows;
	CHECK_INT(b->n_fields, TAIL_FIELDS_MAX);
	CHECK_NEAR(b->columns[TAIL_FIELDS_MAX - 1][0], TAIL_FIELDS_MAX - 1, 1e-12, 0);
	return 0;
}

/* The widest layout there can be is rolled up like any other. */
static void
test_wide(void)
{
	static const int64_t keep_s[STORE_TIERS] = { 100, 0, 0, 0 };
	static const char *fields[TAIL_FIELDS_MAX];
	static double v[TAIL_FIELDS_MAX];
	struct writer *w = open_new(keep_s, 0);
	struct nw_batch *b = nw_batch_new();
	struct store_reader *r;
	int64_t t;
	size_t n = 0;
	int f;

	for (f = 0; f < TAIL_FIELDS_MAX; f++) {
		fields[f] = "x";
		v[f] = f;
	}
	nw_batch_meta(b, &(struct nw_meta_rec){ .id = 10 });
	CHECK_INT(
	    nw_batch_layout(b, &(struct nw_layout_rec){ 10, 10, TAIL_FIELDS_MAX, fields }), NW_OK);
	for (t = BASE; t < BASE + 40 * SECOND; t += SECOND)
		CHECK_INT(nw_batch_rows(b, 10, TAIL_FIELDS_MAX, 1, &t, v, NULL, 0), NW_OK);
	CHECK_INT(writer_commit(w, b), NW_OK);
	nw_batch_free(b);
	w->k.limits.tail_bytes = 0;
	expire_at(w, BASE + 100000 * SECOND);
	care(w);
	CHECK_INT(ask(w, "SELECT count(*) FROM chunk"), 0);
	CHECK_INT(ask(w, "SELECT sum(n_rows) FROM rollup"), 4);
	r = open_reader();
	CHECK_INT(store_rows(r, 10, INT64_MIN, INT64_MAX, on_wide, &n), NW_OK);
	CHECK_INT(n, 4);
	CHECK_INT(store_verify(r, why), NW_OK);
	store_reader_close(r);
	writer_close(w);
}

/* --- kill -9 --- */

static _Noreturn void
child(const int64_t keep_s[STORE_TIERS])
{
	struct writer *w = open_writer(keep_s, 0);
	int l;

	for (;;) {
		if (random_commit(w) != NW_OK)
			_exit(1);
		for (l = 0; l < LAYOUTS; l++)
			shared->told[l] = model[l].n;
		if (rnd(4) == 0)
			expire_at(w, model[0].now - 50 * SECOND);
		while (rnd(4) != 0 && writer_maintain(w, false) == WRITER_MORE)
			;
	}
}

static bool
all_agree(struct store_reader *r, bool quiet)
{
	int l, fd = dup(2);
	bool ok = true;

	if (quiet && freopen("/dev/null", "w", stderr) == NULL)
		exit(1);
	for (l = 0; l < LAYOUTS; l++)
		ok = ok && buckets_agree(r, l, 60 * SECOND, NULL) && hists_agree(r, l);
	fflush(stderr);
	dup2(fd, 2);
	close(fd);
	return ok;
}

/* What was acknowledged is there once, and at most the one commit that was under way besides. */
static void
test_kill(int rounds)
{
	static const int64_t keep_s[STORE_TIERS] = { 60, 600, 0, 0 };
	size_t under_way[LAYOUTS];
	struct store_reader *r;
	int status, l, i;
	pid_t pid;

	writer_close(open_new(keep_s, 0));
	memset(shared->told, 0, sizeof(shared->told));
	for (i = 0; i < rounds && model[0].n < ROWS_MAX / 2; i++) {
		rng += 12345;
		if ((pid = fork()) == -1)
			exit(1);
		if (pid == 0)
			child(keep_s);
		usleep((useconds_t)(5000 + rnd(60000)));
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		CHECK(WIFSIGNALED(status));
		for (l = 0; l < LAYOUTS; l++) {
			under_way[l] = model[l].n;
			model[l].n = shared->told[l];
		}
		r = open_reader();
		if (!all_agree(r, true)) {
			for (l = 0; l < LAYOUTS; l++)
				model[l].n = shared->told[l] = under_way[l];
			CHECK(all_agree(r, false));
		}
		CHECK_INT(store_verify(r, why), NW_OK);
		store_reader_close(r);
	}
	printf("kill: %d rounds, %zu rows\n", i, model[0].n + model[1].n + model[2].n);
}

/* --- faults --- */

static int
faulty_work(struct writer *w)
{
	int i, rc, first = NW_OK;

	for (i = 0; i < 12; i++) {
		if ((rc = random_commit(w)) != NW_OK && first == NW_OK)
			first = rc;
		expire_at(w, model[0].now - 50 * SECOND);
		if ((rc = writer_maintain(w, i % 4 == 3)) < 0 && first == NW_OK)
			first = rc;
	}
	return first;
}

/* Whatever fails while rows become buckets: none is lost, none counts twice, and it goes on
 * afterwards. */
static void
test_faults(const char *what, long *at, long *seen, bool *for_ever, bool ever, long stride)
{
	static const int64_t keep_s[STORE_TIERS] = { 60, 600, 0, 0 };
	struct writer *w = open_new(keep_s, 0);
	long n, n_failed = 0;
	int rc;

	for (n = 1; n < 100000; n += 1 + (long)rnd((uint64_t)stride)) {
		*seen = 0;
		*for_ever = ever;
		*at = n;
		rc = faulty_work(w);
		*at = 0;
		if (*seen < n)
			break;
		n_failed += rc != NW_OK;
		expire_at(w, model[0].now);
		care(w);
		CHECK_STR(w->c.trouble, "");
		check_all(60, what);
		if (model[0].n > 500) {
			writer_close(w);
			w = open_new(keep_s, 0);
		}
	}
	CHECK(n < 100000 && n_failed > 3);
	printf("%s%s: %ld operations, %ld failures seen\n", what, ever ? " for ever" : "", n,
	    n_failed);
	writer_close(w);
}

/* n rows of noise, which does not compress, in one commit. */
static int
noise_commit(struct writer *w, int layout, int64_t *t, size_t n)
{
	struct nw_batch *b = nw_batch_new();
	double v[FIELDS];
	size_t i;
	int rc, f;

	for (i = 0; i < n; i++) {
		*t += SECOND / 20;
		for (f = 0; f < FIELDS; f++)
			v[f] = (double)rnd(1ull << 52);
		CHECK_INT(nw_batch_rows(b, layout + 1, FIELDS, 1, t, v, NULL, 0), NW_OK);
	}
	rc = writer_commit(w, b);
	nw_batch_free(b);
	return rc;
}

/* --- a clock that leaps --- */

/* Steps of expiry until there is nothing to do, at a time of both clocks. */
static void
expire_by_clocks(struct writer *w, int64_t wall, int64_t mono)
{
	w->c.test_wall_ns = wall;
	w->c.test_mono_ns = mono;
	while (writer_maintain(w, true) == WRITER_MORE)
		;
}

/* Rows of today stay rows when the clock is set forward by 40 days, until that has lasted. */
static void
test_leap(void)
{
	static const int64_t keep_s[STORE_TIERS] = { 7 * 86400, 0, 0, 0 };
	const int64_t day = 86400 * SECOND;
	struct writer *w = open_new(keep_s, 0);
	int64_t t = BASE;

	CHECK_INT(noise_commit(w, 0, &t, 1000), NW_OK);
	w->k.limits.tail_bytes = 0;
	expire_by_clocks(w, t, SECOND);
	expire_by_clocks(w, t + 40 * day, 100 * SECOND);
	expire_by_clocks(w, t + 40 * day + day / 2, day / 2);
	CHECK_INT(w->c.total.rolled_rows[STORE_ROWS], 0);
	/* set back: as if nothing had been */
	expire_by_clocks(w, t + day / 2, day / 2 + SECOND);
	CHECK_INT(w->c.total.rolled_rows[STORE_ROWS], 0);
	/* it was right after all */
	expire_by_clocks(w, t + 41 * day, day);
	CHECK_INT(w->c.total.rolled_rows[STORE_ROWS], 0);
	expire_by_clocks(w, t + 42 * day, 2 * day + SECOND);
	CHECK_INT(w->c.total.rolled_rows[STORE_ROWS], 1000);
	writer_close(w);
}

/* --- the ceiling --- */

static uint64_t
bytes_now(void)
{
	struct stat sb;
	uint64_t n = stat(path, &sb) == 0 ? (uint64_t)sb.st_size : 0;
	char wal[80];

	snprintf(wal, sizeof(wal), "%s-wal", path);
	return n + (stat(wal, &sb) == 0 ? (uint64_t)sb.st_size : 0);
}

/* A reader that stays keeps the log from starting over: refused, too, not exceeded. */
static void
test_ceiling_read(struct writer *w, struct store_reader *r, uint64_t max, int64_t *t)
{
	int i, rc = NW_OK;

	CHECK_INT(store_pin(path, 2, false, why), NW_OK);
	CHECK_INT(store_reader_begin(r), NW_OK);
	for (i = 0; i < 400 && rc == NW_OK; i++) {
		if ((rc = noise_commit(w, 0, t, 1000)) == NW_OK)
			writer_maintain(w, false);
		CHECK(bytes_now() <= max);
	}
	CHECK_INT(rc, NW_EIO);
	CHECK(strstr(w->c.trouble, "long read") != NULL);
	store_reader_end(r);
	CHECK_INT(noise_commit(w, 0, t, 1000), NW_OK);
}

static void
test_ceiling(void)
{
	static const int64_t keep_s[STORE_TIERS] = { 0, 0, 0, 0 };
	const uint64_t max = 4 << 20;
	struct writer *w = open_new(keep_s, max);
	struct store_reader *r = open_reader();
	uint64_t most = 0, deleted;
	int64_t t = BASE;
	int i, rc = NW_OK;

	for (i = 0; i < 400; i++) {
		CHECK_INT(noise_commit(w, i % 2, &t, 1000), NW_OK);
		while (writer_maintain(w, false) == WRITER_MORE)
			most = bytes_now() > most ? bytes_now() : most;
		most = bytes_now() > most ? bytes_now() : most;
	}
	printf("ceiling %" PRIu64 ", most %" PRIu64 "\n", max, most);
	CHECK(most <= max && most > max / 2);
	CHECK(w->c.total.rolled_rows[STORE_ROWS] > 100000 && w->c.sizes.bytes[STORE_10S] > 0);
	CHECK(w->c.sizes.bytes[STORE_ROWS] > (int64_t)max / 4);
	CHECK_INT(store_verify(r, why), NW_OK);

	/* All that is there is pinned: it refuses, says why, and stays as it is. */
	CHECK_INT(store_pin(path, 1, true, why), NW_OK);
	CHECK_INT(store_pin(path, 2, true, why), NW_OK);
	for (i = 0; i < 400 && rc == NW_OK; i++) {
		if ((rc = noise_commit(w, 0, &t, 1000)) == NW_OK)
			while (writer_maintain(w, false) == WRITER_MORE)
				;
		CHECK(bytes_now() <= max);
	}
	CHECK_INT(rc, NW_EIO);
	CHECK(strncmp(w->c.trouble, "size ceiling", 12) == 0);
	CHECK_INT(store_verify(r, why), NW_OK);
	CHECK_INT(store_pin(path, 1, false, why), NW_OK);
	deleted = w->c.total.expired_rows[STORE_1H];
	/* recovers by itself, and not by deleting old buckets */
	CHECK_INT(noise_commit(w, 0, &t, 1000), NW_OK);
	CHECK_INT(w->c.total.expired_rows[STORE_1H], deleted);
	CHECK_STR(w->c.trouble, "");
	CHECK(bytes_now() <= max);

	test_ceiling_read(w, r, max, &t);
	CHECK_INT(noise_commit(w, 0, &t, 60000), NW_ETOOBIG);
	CHECK(strstr(w->c.trouble, "too many") != NULL);
	CHECK_INT(noise_commit(w, 0, &t, 1000), NW_OK);
	care(w);
	CHECK_INT(store_verify(r, why), NW_OK);
	CHECK(bytes_now() <= max);
	store_reader_close(r);
	writer_close(w);
}

/* --- soak: the whole store, its thread and retention, at 200 000 samples a second --- */

static int64_t
mono_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static long
resident_kib(void)
{
	long size, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f == NULL || fscanf(f, "%ld %ld", &size, &resident) != 2)
		exit(1);
	fclose(f);
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

enum { SOAK_LAYOUTS = 50, SOAK_FIELDS = 20 };

/* One row of every layout, as a site of 50 calipers would send them; some values repeat, some are
 * noise. */
static void
soak_rows(struct nw_batch *b, int64_t t)
{
	double v[SOAK_FIELDS];
	int l, f;

	for (l = 0; l < SOAK_LAYOUTS; l++) {
		for (f = 0; f < SOAK_FIELDS; f++)
			v[f] = f % 3 == 0 ? 4096.0 * l
			    : f % 3 == 1  ? (double)rnd(1000)
					  : (double)rnd(1ull << 52);
		if (nw_batch_rows(b, l + 1, SOAK_FIELDS, 1, &t, v, NULL, 0) != NW_OK)
			exit(1);
	}
}

static struct store *
soak_open(uint64_t max)
{
	static const char *fields[SOAK_FIELDS];
	struct store_opts o = store_opts_default;
	struct nw_batch *b = nw_batch_new();
	struct store *st;
	int l;

	for (l = 0; l < SOAK_FIELDS; l++)
		fields[l] = "x";
	files_remove();
	o.max_bytes = max;
	o.commit_interval_ns = 20000000;
	o.keep_ns[STORE_10S] = 600 * SECOND;
	if (store_open(path, &o, &st, why) != NW_OK)
		exit(1);
	for (l = 0; l < SOAK_LAYOUTS; l++) {
		nw_batch_meta(b, &(struct nw_meta_rec){ .id = l + 1 });
		nw_batch_layout(b, &(struct nw_layout_rec){ l + 1, l + 1, SOAK_FIELDS, fields });
	}
	CHECK_INT(store_submit(st, b), NW_OK);
	return st;
}

static void
test_soak(double seconds)
{
	const uint64_t max = 6 << 20;
	/* a short one has to fill the space, too */
	const int64_t period_ns = seconds < 10 ? 1000000 : 5000000;
	struct store *st = soak_open(max);
	struct store_stats stats;
	struct store_reader *r;
	int64_t begin = mono_ns(), now, t = BASE, due = begin, n_full = 0;
	uint64_t most = 0, rows = 0;
	long warm = 0, high = 0;
	struct nw_batch *b;

	while ((now = mono_ns()) - begin < (int64_t)(seconds * 1e9)) {
		/* What was held up comes in several batches: one may have a sixteenth of the
		 * ceiling. */
		for (b = nw_batch_new(); due < now && nw_batch_bytes(b) < max / 32;
		     due += period_ns, t += SECOND / 2, rows += SOAK_LAYOUTS)
			soak_rows(b, t);
		if (b->n_rows == 0 || store_submit(st, b) != NW_OK) {
			n_full += b->n_rows > 0;
			nw_batch_free(b);
		}
		most = bytes_now() > most ? bytes_now() : most;
		if (warm == 0 && now - begin > (int64_t)(seconds * 0.4e9))
			warm = resident_kib();
		high = resident_kib() > high ? resident_kib() : high;
		usleep(1000);
	}
	CHECK_INT(store_sync(st), NW_OK);
	store_get_stats(st, &stats);
	printf("soak: %.1f s, %" PRIu64 " samples, at most %" PRIu64 " of %" PRIu64
	       " bytes, resident %ld KiB, then %ld; rows"
	       " rolled up %" PRIu64 ", buckets deleted %" PRIu64 "\n",
	    seconds, rows * SOAK_FIELDS, most, max, warm, high, stats.rolled_rows[STORE_ROWS],
	    stats.expired_rows[STORE_1H]);
	CHECK(most <= max && stats.file_bytes <= max);
	CHECK_INT(n_full, 0);
	CHECK_STR(stats.trouble, "");
	CHECK(stats.rolled_rows[STORE_ROWS] > rows / 4);
	CHECK(high - warm < 12 << 10 || !OWN_MALLOC); /* sanitizers keep what was freed */
	store_close(st);
	CHECK(bytes_now() <= max);
	r = open_reader();
	CHECK_INT(store_verify(r, why), NW_OK);
	store_reader_close(r);
}

int
main(int argc, char **argv)
{
	static const int64_t to_10s[STORE_TIERS] = { 100, 0, 0, 0 },
			     to_1min[STORE_TIERS] = { 100, 600, 0, 0 },
			     to_1h[STORE_TIERS] = { 50, 100, 4000, 0 };

	double soak_s = argc > 2 && strcmp(argv[1], "-t") == 0 ? strtod(argv[2], NULL) : 2;

	rng = argc > 2 && strcmp(argv[1], "-s") == 0 ? strtoull(argv[2], NULL, 0)
						     : (uint64_t)time(NULL) * 2654435761u + 1;
	printf("seed %" PRIu64 "\n", rng);
	shared =
	    mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || !check_dir(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/narrows.db", dir);
	test_model(to_10s, 10, 1200);
	test_model(to_1min, 60, 1200);
	test_model(to_1h, 3600, 1200);
	test_pin();
	test_fields();
	test_wide();
	test_kill(15);
	test_leap();
	test_ceiling();
	test_soak(soak_s);
	shim_register();
	test_faults("write or sync", &io_fault.at, &io_fault.seen, &io_fault.for_ever, false, 4);
	test_faults("write or sync", &io_fault.at, &io_fault.seen, &io_fault.for_ever, true, 8);
	if (OWN_MALLOC) {
		test_faults("allocation", &alloc_fault.at, &alloc_fault.seen, &alloc_fault.for_ever,
		    false, 20);
		test_faults("allocation", &alloc_fault.at, &alloc_fault.seen, &alloc_fault.for_ever,
		    true, 40);
	}
	files_remove();
	rmdir(dir);
	return check_done("rollup");
}
