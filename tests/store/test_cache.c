/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cache of decoded columns against a model; then a reader that keeps its cache against readers
 * that have none yet, while rows are committed, compacted, merged with late ones and deleted, and
 * rowids come back.
 *
 * usage: test_cache [seed]
 */
#include "store/read/cache.h"

#include <time.h>
#include <unistd.h>

#include "narrows/err.h"
#include "store/read/reader.h"
#include "store/write/writer.h"
#include "tests/check.h"
#include "tests/storefile.h"

#define SECOND INT64_C(1000000000)
#define BASE   (1700000000 * SECOND)

enum { FIELDS = 4, LAYOUTS = 2, ROWS_MAX = 20000 };
static const struct writer_limits small = {
	.chunk_rows = 32, .tail_bytes = 3000, .step_values = 300
};
static char dir[32] = "/dev/shm/nw-cache-XXXXXX", why[STORE_WHY_BYTES];

/* --- alone --- */

enum { KEYS = 60, WORDS = 40, MODEL_BYTES = 8000 };
static struct {
	bool put;
	uint32_t n;
	uint64_t word[WORDS], used;
} model[KEYS];

/* The model keeps everything and knows when: what is missing must have been asked for longer ago
 * than all that is there. */
static void
check_oldest_went(struct cache *c)
{
	uint64_t oldest_here = UINT64_MAX, newest_gone = 0;
	bool here[KEYS];
	uint32_t n;
	size_t k;

	for (k = 0; k < KEYS; k++)
		here[k] = cache_get(c, (int64_t)(k / 6), (int64_t)(k % 6) - 1, &n) != NULL;
	for (k = 0; k < KEYS; k++)
		if (here[k] && model[k].used < oldest_here)
			oldest_here = model[k].used;
		else if (!here[k] && model[k].put && model[k].used > newest_gone)
			newest_gone = model[k].used;
	CHECK(newest_gone < oldest_here);
}

static void
test_alone(void)
{
	struct cache *c = cache_new(MODEL_BYTES);
	uint64_t i, hits = 0, j;
	const void *got;
	uint32_t n;
	size_t k;

	for (i = 1; i < 50000; i++) {
		k = rnd(KEYS);
		if (rnd(2) == 0) {
			model[k].put = true;
			model[k].n = (uint32_t)rnd(WORDS + 1);
			for (j = 0; j < model[k].n; j++)
				model[k].word[j] = rnd(UINT64_MAX);
			cache_put(
			    c, (int64_t)(k / 6), (int64_t)(k % 6) - 1, model[k].word, model[k].n);
			model[k].used = i;
		} else if ((got = cache_get(c, (int64_t)(k / 6), (int64_t)(k % 6) - 1, &n)) !=
		    NULL) {
			hits++;
			model[k].used = i;
			CHECK(model[k].put && n == model[k].n &&
			    memcmp(got, model[k].word, 8 * n) == 0);
		}
		CHECK(cache_bytes(c) <= MODEL_BYTES);
		if (i % 10000 == 0) {
			check_oldest_went(c);
			for (k = 0; k < KEYS; k++) /* a use of everything in the cache */
				if (cache_get(c, (int64_t)(k / 6), (int64_t)(k % 6) - 1, &n) !=
				    NULL)
					model[k].used = i;
		}
	}
	CHECK(hits > 5000);
	cache_clear(c);
	CHECK_INT(cache_bytes(c), 0);
	CHECK(cache_get(c, 0, 0, &n) == NULL);
	cache_free(c);
	c = cache_new(100);
	cache_put(c, 1, 1, model[0].word, WORDS);
	CHECK_INT(cache_bytes(c), 0);
	cache_free(c);
	cache_free(NULL);
}

/* --- in a reader --- */

struct got {
	size_t n;
	bool wrong;
	int64_t t[ROWS_MAX];
	double v[ROWS_MAX][FIELDS];
};
static struct got kept, fresh;
static size_t wanted_n;
static uint32_t wanted[FIELDS];

static bool
is_wanted(uint32_t f)
{
	size_t i;

	for (i = 0; i < wanted_n; i++)
		if (wanted[i] == f)
			return true;
	return false;
}

static int
on_rows(void *arg, const struct store_block *b)
{
	struct got *g = arg;
	size_t i;
	uint32_t f;

	for (f = 0; f < b->n_fields; f++)
		g->wrong = g->wrong || (b->columns[f] != NULL) != is_wanted(f);
	for (i = 0; i < b->n_rows && g->n < ROWS_MAX; i++, g->n++) {
		g->t[g->n] = b->t_wall_ns[i];
		for (f = 0; f < b->n_fields; f++)
			g->v[g->n][f] = b->columns[f] == NULL ? 0 : b->columns[f][i];
	}
	return 0;
}

static int
ask(struct store_reader *r, int64_t layout, int64_t t0, int64_t t1, struct got *out)
{
	out->n = 0;
	out->wrong = false;
	return store_rows_of(r, layout, wanted, wanted_n, t0, t1, on_rows, out);
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

static bool
same(const struct got *a, const struct got *b)
{
	return !a->wrong && !b->wrong && a->n == b->n &&
	    memcmp(a->t, b->t, a->n * sizeof(a->t[0])) == 0 &&
	    memcmp(a->v, b->v, a->n * sizeof(a->v[0])) == 0;
}

/* --- buckets in a reader --- */

enum { STATISTICS = 5 };
struct got_buckets {
	size_t n;
	int64_t t[ROWS_MAX];
	double v[ROWS_MAX][FIELDS][STATISTICS];
};
static struct got_buckets kept_buckets, fresh_buckets;

static int
on_buckets(void *arg, const struct store_bucket_block *b)
{
	const double *const *const all[STATISTICS] = { b->n, b->sum, b->min, b->max, b->m2 };
	struct got_buckets *g = arg;
	size_t i, f, s;

	for (i = 0; i < b->n_buckets && g->n < ROWS_MAX; i++, g->n++) {
		g->t[g->n] = b->t_wall_ns[i];
		for (f = 0; f < FIELDS; f++)
			for (s = 0; s < STATISTICS; s++)
				g->v[g->n][f][s] = is_wanted((uint32_t)f) ? all[s][f][i] : 0;
	}
	return 0;
}

static int
ask_buckets(struct store_reader *r, int64_t layout, int64_t t0, int64_t t1, int64_t step_ns,
    struct got_buckets *out)
{
	out->n = 0;
	return store_buckets(r, layout, wanted, wanted_n, t0, t1, step_ns, on_buckets, out);
}

static bool
same_buckets(const struct got_buckets *a, const struct got_buckets *b)
{
	return a->n == b->n && memcmp(a->t, b->t, a->n * sizeof(a->t[0])) == 0 &&
	    memcmp(a->v, b->v, a->n * sizeof(a->v[0])) == 0;
}

/* Whether each bucket came once. */
static bool
rise(const struct got_buckets *g, int64_t step_ns)
{
	size_t i;

	for (i = 1; i < g->n; i++)
		if (g->t[i] / step_ns <= g->t[i - 1] / step_ns)
			return false;
	return true;
}

static void
check_buckets_agree(
    struct store_reader *r, struct store_reader *other, int64_t layout, int64_t t0, int64_t t1)
{
	static const int64_t steps[] = { 1, 10 * SECOND, 60 * SECOND, 600 * SECOND,
		INT64_C(1) << 46, INT64_C(1) << 50 };
	int64_t step_ns = steps[rnd(sizeof(steps) / sizeof(steps[0]))];
	int again;

	if (t0 > 0 && rnd(2) == 0) { /* in a chunk whose buckets are kept, at the edge of one */
		t0 = t0 / step_ns * step_ns;
		CHECK_INT(ask_buckets(r, layout, INT64_MIN, t1, step_ns, &kept_buckets), NW_OK);
	}
	CHECK_INT(ask_buckets(other, layout, t0, t1, step_ns, &fresh_buckets), NW_OK);
	CHECK(rise(&fresh_buckets, step_ns));
	for (again = 0; again < 2; again++) {
		CHECK_INT(ask_buckets(r, layout, t0, t1, step_ns, &kept_buckets), NW_OK);
		CHECK(same_buckets(&kept_buckets, &fresh_buckets));
	}
}

static void
check_agree(struct store_reader *r, int64_t now)
{
	struct store_reader *other = open_reader();
	int64_t layout, t0, t1;
	int i, again;

	for (i = 0; i < 6; i++) {
		layout = 1 + (int64_t)rnd(LAYOUTS);
		t0 = rnd(3) == 0 ? INT64_MIN : BASE + (int64_t)rnd((uint64_t)(now - BASE) + 1);
		t1 = rnd(3) == 0 ? INT64_MAX : BASE + (int64_t)rnd((uint64_t)(now - BASE) + 1);
		for (wanted_n = 0; wanted_n < rnd(FIELDS + 1); wanted_n++)
			wanted[wanted_n] = (uint32_t)rnd(FIELDS);
		CHECK_INT(ask(other, layout, t0, t1, &fresh), NW_OK);
		for (again = 0; again < 2; again++) {
			CHECK_INT(ask(r, layout, t0, t1, &kept), NW_OK);
			CHECK(same(&kept, &fresh));
		}
		check_buckets_agree(r, other, layout, t0, t1);
	}
	store_reader_close(other);
}

static struct writer *
open_new(const struct writer_limits *limits, int64_t keep_ns, size_t n_fields)
{
	static const char *const fields[FIELDS] = { "a", "b", "c", "d" };
	struct nw_batch *b = nw_batch_new();
	struct store_opts o = store_opts_default;
	struct writer *w = NULL;
	int64_t l;
	int t;

	files_remove();
	o.sync_full = false;
	for (t = 0; t < STORE_TIERS; t++)
		o.keep_ns[t] = t == 0 ? keep_ns : 1;
	if (writer_open(path, &o, limits, &w, why) != NW_OK) {
		fprintf(stderr, "%s\n", why);
		exit(1);
	}
	for (l = 1; l <= LAYOUTS; l++) {
		nw_batch_session(b, &(struct nw_session_rec){ .id = l });
		nw_batch_meta(b, &(struct nw_meta_rec){ .id = l, .session_id = l });
		nw_batch_layout(b, &(struct nw_layout_rec){ l, l, n_fields, fields });
	}
	CHECK_INT(writer_commit(w, b), NW_OK);
	nw_batch_free(b);
	return w;
}

static void
random_commit(struct writer *w, int64_t *now)
{
	struct nw_batch *b = nw_batch_new();
	int i, f, n = 1 + (int)rnd(20);
	double v[FIELDS];
	uint64_t bits;
	int64_t t;

	for (i = 0; i < n; i++) {
		if (rnd(8) > 0)
			*now += SECOND;
		t = rnd(25) == 0
		    ? BASE + (int64_t)rnd((uint64_t)(*now - BASE) + 1) / SECOND * SECOND
		    : *now;
		for (f = 0; f < FIELDS; f++) {
			bits = rnd(UINT64_MAX);
			v[f] = (double)rnd(1000);
			if (rnd(4) == 0)
				memcpy(&v[f], &bits, sizeof(bits)); /* NaN payloads and all */
		}
		CHECK_INT(
		    nw_batch_rows(b, 1 + (int64_t)rnd(LAYOUTS), FIELDS, 1, &t, v, NULL, 0), NW_OK);
	}
	if (rnd(30) == 0)
		nw_batch_seal(b, 1 + (int64_t)rnd(LAYOUTS));
	CHECK_INT(writer_commit(w, b), NW_OK);
	nw_batch_free(b);
}

static int64_t
sql(struct writer *w, const char *query)
{
	int64_t n = -1;

	CHECK_INT(db_int(w->c.db, query, &n), NW_OK);
	return n;
}

enum { IDS_MAX = 1 << 14 };

/* How many ids stand for another chunk than the last time they were seen; counts also how often the
 * newest was gone. */
static size_t
ids_reused(struct writer *w, size_t *newest_gone)
{
	static int64_t was[IDS_MAX], newest;
	sqlite3_stmt *st = NULL;
	int64_t id = 0, is;
	size_t n = 0;

	CHECK_INT(sqlite3_prepare_v2(w->c.db,
		      "SELECT id, t0_ns + 3 * t1_ns + n_rows + layout_id FROM chunk ORDER BY id",
		      -1, &st, NULL),
	    SQLITE_OK);
	while (sqlite3_step(st) == SQLITE_ROW) {
		id = sqlite3_column_int64(st, 0);
		is = sqlite3_column_int64(st, 1);
		if (id >= IDS_MAX)
			exit(1);
		n += was[id] != 0 && was[id] != is;
		was[id] = is;
	}
	sqlite3_finalize(st);
	*newest_gone += id < newest;
	newest = id > newest ? id : newest;
	return n;
}

/*
 * Everything that happens to chunks, while the reader keeps what it decoded: the id of one that is
 * gone, be it the newest, and be it the writer that starts anew, does not come back.
 */
static void
test_reader(int steps)
{
	struct writer *w = open_new(&small, 3000 * SECOND, FIELDS);
	struct store_opts o = store_opts_default;
	struct store_reader *r = open_reader();
	int64_t now = BASE;
	size_t reused = 0, filled = 0, newest_gone = 0;
	int i;

	memcpy(o.keep_ns, w->expiry.keep_ns, sizeof(o.keep_ns));
	for (i = 0; i < steps; i++) {
		random_commit(w, &now);
		if (rnd(40) == 0) {
			w->c.test_wall_ns = now;
			w->expiry.pass_wall_ns = INT64_MIN / 2;
		}
		while (rnd(4) != 0 && writer_maintain(w, rnd(5) == 0) == WRITER_MORE)
			;
		reused += ids_reused(w, &newest_gone);
		if (rnd(3) == 0)
			check_agree(r, now);
		filled += cache_bytes(r->cache) > 0;
		if (rnd(50) == 0) {
			writer_close(w);
			CHECK_INT(writer_open(path, &o, &small, &w, why), NW_OK);
		}
	}
	printf("newest chunk gone: %zu times\n", newest_gone);
	CHECK(newest_gone > 10);
	CHECK_INT(reused, 0);
	CHECK((int)filled > steps / 2);
	store_reader_close(r);
	writer_close(w);
}

/* Twenty rows of each layout, in chunks. */
static void
fill_chunks(struct writer *w)
{
	struct nw_batch *b = nw_batch_new();
	double v[FIELDS];
	int64_t t;
	int i, l;

	for (i = 0; i < 20; i++)
		for (l = 1; l <= LAYOUTS; l++) {
			t = BASE + i * SECOND;
			v[0] = v[1] = v[2] = v[3] = l * 100 + i;
			CHECK_INT(nw_batch_rows(b, l, FIELDS, 1, &t, v, NULL, 0), NW_OK);
		}
	nw_batch_seal(b, 1);
	nw_batch_seal(b, 2);
	CHECK_INT(writer_commit(w, b), NW_OK);
	nw_batch_free(b);
	while (writer_maintain(w, true) == WRITER_MORE)
		;
	CHECK_INT(sql(w, "SELECT count(*) FROM chunk"), 2);
}

/* A damaged chunk is not kept; others are read. */
static void
test_damaged(struct writer *w)
{
	struct store_reader *r = open_reader();
	int i;

	CHECK_INT(db_exec(w->c.db,
		      "UPDATE chunk SET data = substr(data, 1, length(data) - 1) || x'00' WHERE "
		      "layout_id = 1"
		      " AND substr(data, -1) <> x'00'; UPDATE chunk SET data = substr(data, 1, "
		      "length(data) - 2) || x'ffee'"
		      " WHERE layout_id = 1"),
	    NW_OK);
	for (i = 0; i < 2; i++) {
		CHECK_INT(ask(r, 1, INT64_MIN, INT64_MAX, &kept), NW_ECORRUPT);
		CHECK_INT(cache_bytes(r->cache), 0);
	}
	CHECK_INT(ask(r, 2, INT64_MIN, INT64_MAX, &kept), NW_OK);
	CHECK(kept.n == 20 && kept.v[7][0] == 207);
	store_reader_close(r);
}

/* Buckets of a whole chunk are kept if they are much shorter than its rows: then the chunk is not
 * read again. */
static void
test_keep_buckets(struct writer *w)
{
	struct store_reader *r = open_reader();

	wanted_n = 1;
	wanted[0] = 2;
	CHECK_INT(ask_buckets(r, 2, BASE + SECOND, INT64_MAX, 600 * SECOND, &kept_buckets), NW_OK);
	CHECK_INT(ask_buckets(r, 2, INT64_MIN, INT64_MAX, SECOND, &kept_buckets), NW_OK);
	CHECK_INT(cache_bytes(r->cache), 0);
	CHECK_INT(ask_buckets(r, 2, INT64_MIN, INT64_MAX, 600 * SECOND, &fresh_buckets), NW_OK);
	CHECK(fresh_buckets.n > 0 && cache_bytes(r->cache) > 0);
	CHECK_INT(db_exec(w->c.db, "UPDATE chunk SET data = x'00' WHERE layout_id = 2"), NW_OK);
	CHECK_INT(ask_buckets(r, 2, INT64_MIN, INT64_MAX, 600 * SECOND, &kept_buckets), NW_OK);
	CHECK(same_buckets(&kept_buckets, &fresh_buckets));
	wanted[0] = 1;
	CHECK_INT(
	    ask_buckets(r, 2, INT64_MIN, INT64_MAX, 600 * SECOND, &kept_buckets), NW_ECORRUPT);
	wanted[0] = 2;
	CHECK_INT(ask_buckets(r, 2, INT64_MIN, INT64_MAX, 60 * SECOND, &kept_buckets), NW_ECORRUPT);
	store_reader_close(r);
}

/* What was decoded outlives a commit, and is not mistaken for what takes its place. Damage is not
 * kept. */
static void
test_keep(void)
{
	static const uint32_t a = 0;
	struct writer *w = open_new(&small, 0, FIELDS);
	struct nw_batch *b;
	struct store_reader *r;
	int64_t t, id;
	double v[FIELDS];
	uint32_t n;

	fill_chunks(w);
	r = open_reader();
	id = sql(w, "SELECT id FROM chunk WHERE layout_id = 1");
	wanted_n = 1;
	wanted[0] = a;
	CHECK_INT(ask(r, 1, INT64_MIN, INT64_MAX, &kept), NW_OK);
	CHECK(kept.n == 20 && kept.v[7][0] == 107);
	CHECK(cache_get(r->cache, id, CACHE_TIMES, &n) != NULL && n == 20 &&
	    cache_get(r->cache, id, a, &n) != NULL);
	CHECK(cache_get(r->cache, id, 1, &n) == NULL);

	/* a late row, which is written into the chunk's time: another chunk */
	b = nw_batch_new();
	t = BASE + 7 * SECOND + 1;
	v[0] = -1;
	CHECK_INT(nw_batch_rows(b, 1, FIELDS, 1, &t, v, NULL, 0), NW_OK);
	nw_batch_seal(b, 1);
	CHECK_INT(writer_commit(w, b), NW_OK);
	nw_batch_free(b);
	CHECK_INT(ask(r, 1, INT64_MIN, INT64_MAX, &kept), NW_OK);
	CHECK(kept.n == 21 && kept.v[7][0] == 107 && kept.v[8][0] == -1);
	CHECK(cache_get(r->cache, id, a, &n) != NULL);
	while (writer_maintain(w, true) == WRITER_MORE)
		;
	CHECK_INT(sql(w, "SELECT count(*) FROM chunk WHERE layout_id = 1 AND n_rows = 21"), 1);
	CHECK(sql(w, "SELECT id FROM chunk WHERE layout_id = 1") > id);
	CHECK_INT(ask(r, 1, INT64_MIN, INT64_MAX, &kept), NW_OK);
	CHECK(kept.n == 21 && kept.v[7][0] == 107 && kept.v[8][0] == -1);
	store_reader_close(r);
	test_damaged(w);
	test_keep_buckets(w);
	writer_close(w);
}

static int
on_count(void *arg, const struct store_block *b)
{
	*(size_t *)arg += b->n_rows;
	return 0;
}

/* A long scan leaves most of the cache to others, and one of all columns all of it. */
static void
test_scan(void)
{
	enum { BLOCK = 1000, BLOCKS = 300 };
	struct writer *w = open_new(&writer_limits_default, 0, 1);
	struct store_reader *r;
	static int64_t t[BLOCK];
	static double v[BLOCK];
	struct nw_batch *b;
	const uint32_t a = 0;
	size_t n = 0;
	int i, k;

	for (i = 0; i < BLOCKS; i++) {
		for (k = 0; k < BLOCK; k++) {
			t[k] = BASE + (i * BLOCK + k) * SECOND;
			v[k] = k;
		}
		b = nw_batch_new();
		CHECK_INT(nw_batch_rows(b, 1, 1, BLOCK, t, v, NULL, 0), NW_OK);
		CHECK_INT(writer_commit(w, b), NW_OK);
		nw_batch_free(b);
		while (writer_maintain(w, false) == WRITER_MORE)
			;
	}
	r = open_reader();
	CHECK_INT(store_rows(r, 1, INT64_MIN, INT64_MAX, on_count, &n), NW_OK);
	CHECK_INT(n, BLOCK * BLOCKS);
	CHECK_INT(cache_bytes(r->cache), 0);
	for (i = 0; i < 10; i++) {
		n = 0;
		CHECK_INT(store_rows_of(r, 1, &a, 1, INT64_MIN, INT64_MAX, on_count, &n), NW_OK);
		CHECK_INT(n, BLOCK * BLOCKS);
		CHECK(
		    i > 0 || (cache_bytes(r->cache) > 1 << 20 && cache_bytes(r->cache) < 5 << 19));
		CHECK(cache_bytes(r->cache) <= 8 << 20);
	}
	store_reader_close(r);
	writer_close(w);
}

int
main(int argc, char **argv)
{
	rng = argc > 1 ? strtoull(argv[1], NULL, 10)
		       : (uint64_t)time(NULL) * 2654435761u + (uint64_t)getpid();
	rng |= 1;
	printf("seed %llu\n", (unsigned long long)rng);
	if (!check_dir(dir)) {
		perror(dir);
		return 1;
	}
	snprintf(path, sizeof(path), "%s/narrows.db", dir);
	test_alone();
	test_reader(2000);
	test_keep();
	test_scan();
	files_remove();
	rmdir(dir);
	return check_done("cache");
}
