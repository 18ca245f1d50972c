/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The writer against a model, with limits so small that a few thousand rows meet every case of
 * compaction; then with the Nth allocation, write or fsync failing, for every N.
 *
 * usage: test_writer [-s seed]
 */
#include "store/write/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "narrows/err.h"
#include "tests/check.h"
#include "tests/verified.h"
#include "tests/faults.h"
#include "tests/storefile.h"

static const struct writer_limits small = {
	.chunk_rows = 32, .tail_bytes = 6000, .step_values = 400
};
static char dir[] = "/dev/shm/nw-writer-XXXXXX";
static char why[STORE_WHY_BYTES];

/* --- the model: rows in order of time, those of one time in order of arrival --- */

enum { LAYOUTS = 6, MODEL_ROWS = 20000 };
static const uint32_t n_fields[LAYOUTS] = { 1, 2, 3, 7, 40, 2 };

struct model_row {
	int64_t t;
	uint32_t number;
};
static struct model {
	size_t n;
	struct model_row row[MODEL_ROWS];
	int64_t now;
} model[LAYOUTS];
static uint32_t next_number;

/* A row's values follow from its number, with odd bit patterns among them. */
static double
value_of(uint32_t number, size_t field)
{
	uint64_t x = (number + 1) * 0x9e3779b97f4a7c15u + field * 0xbf58476d1ce4e5b9u;
	double d;

	if (number % 3 == 0)
		return (double)(number + field);
	if (number % 101 != 1)
		return (double)(x % 100000) * 1e-3;
	memcpy(&d, &x, sizeof(d));
	return d;
}

/* Rows that come alone have numbers that divide by 40, and most of them a histogram. */
static size_t
hist_of(uint32_t number, uint8_t hist[64])
{
	size_t len = number % 40 == 0 ? number / 40 % 61 : 0, i;

	for (i = 0; i < len; i++)
		hist[i] = (uint8_t)(number + i);
	return len;
}

static void
model_add(struct model *m, int64_t t, uint32_t number)
{
	size_t i = m->n;

	while (i > 0 && m->row[i - 1].t > t)
		i--;
	memmove(m->row + i + 1, m->row + i, (m->n - i) * sizeof(m->row[0]));
	m->row[i] = (struct model_row){ t, number };
	m->n++;
}

static int64_t
time_next(struct model *m)
{
	switch (rnd(40)) {
	case 0: return (int64_t)rnd((uint64_t)m->now + 1); /* late by anything */
	case 1: return m->now - 20; /* late by a little, often equal to another */
	case 2: return m->now;      /* twice the same */
	case 3:
		m->now += 5000; /* a pause */
		return m->now;
	}
	m->now += 7 + (int64_t)rnd(3);
	return m->now;
}

/* What a batch holds, for the model once it is committed. */
struct pending {
	size_t n;
	struct {
		int layout;
		int64_t t;
		uint32_t number;
	} row[64];
};

static int
put_rows(struct nw_batch *b, struct pending *p)
{
	int layout = (int)rnd(LAYOUTS), rc;
	size_t n = rnd(4) == 0 ? 2 + rnd(19) : 1, r, f;
	uint32_t number = n == 1 ? next_number : next_number + 1;
	int64_t t[20];
	double value[20 * 40];
	uint8_t hist[64];
	size_t hist_len = 0;

	if (p->n + n > 64)
		return NW_OK;
	for (r = 0; r < n; r++) {
		t[r] = time_next(&model[layout]);
		for (f = 0; f < n_fields[layout]; f++)
			value[r * n_fields[layout] + f] = value_of(number + (uint32_t)r, f);
	}
	if (n == 1)
		hist_len = hist_of(number, hist);
	rc = nw_batch_rows(
	    b, layout + 1, n_fields[layout], n, t, value, hist_len > 0 ? hist : NULL, hist_len);
	for (r = 0; rc == NW_OK && r < n; r++, p->n++) {
		p->row[p->n].layout = layout;
		p->row[p->n].t = t[r];
		p->row[p->n].number = number + (uint32_t)r;
	}
	next_number += 40;
	return rc;
}

/* --- reading back --- */

struct cursor {
	const struct model *m;
	size_t at;
	bool hists, wrong;
};

static int
on_block(void *arg, const struct store_block *k)
{
	struct cursor *c = arg;
	const struct model_row *want;
	uint8_t hist[64];
	size_t r, f, len, got_len;
	double v;

	for (r = 0; r < k->n_rows; r++, c->at++) {
		want = &c->m->row[c->at];
		if (c->at >= c->m->n || k->t_wall_ns[r] != want->t) {
			c->wrong = true;
			return 1;
		}
		for (f = 0; f < k->n_fields; f++) {
			v = value_of(want->number, f);
			if (k->columns[f] != NULL && memcmp(&k->columns[f][r], &v, sizeof(v)) != 0)
				c->wrong = true;
		}
		len = hist_of(want->number, hist);
		got_len = k->hist == NULL ? 0 : k->hist_len[r];
		if (got_len != (c->hists ? len : 0) ||
		    (got_len > 0 && memcmp(hist, k->hist[r], len) != 0))
			c->wrong = true;
	}
	return 0;
}

static size_t
model_seek(const struct model *m, int64_t t)
{
	size_t i;

	for (i = 0; i < m->n && m->row[i].t < t; i++)
		;
	return i;
}

static bool
range_agrees(struct store_reader *r, int layout, int64_t t0, int64_t t1, const uint32_t *field)
{
	const struct model *m = &model[layout];
	struct cursor c = { m, model_seek(m, t0), field == NULL, false };
	size_t end = model_seek(m, t1);
	int rc;

	if (end < c.at)
		end = c.at;
	rc = field == NULL ? store_rows(r, layout + 1, t0, t1, on_block, &c)
			   : store_rows_of(r, layout + 1, field, 1, t0, t1, on_block, &c);
	if (rc == NW_OK && !c.wrong && c.at == end)
		return true;
	fprintf(stderr, "layout %d, %" PRId64 " to %" PRId64 ": rc %d, at %zu of %zu%s\n", layout,
	    t0, t1, rc, c.at, end, c.wrong ? ", wrong" : "");
	return false;
}

static bool
last_agrees(struct store_reader *r, int layout)
{
	const struct model *m = &model[layout];
	struct cursor c = { m, m->n - 1, false, false };
	int rc = store_last_row(r, layout + 1, on_block, &c);

	return m->n == 0 ? rc == NW_ENOTFOUND : rc == NW_OK && !c.wrong && c.at == m->n;
}

static bool
all_agrees(struct store_reader *r)
{
	int l;
	bool ok = true;

	for (l = 0; l < LAYOUTS; l++)
		ok = range_agrees(r, l, INT64_MIN, INT64_MAX, NULL) && last_agrees(r, l) && ok;
	return ok;
}

static bool
some_agrees(struct store_reader *r)
{
	int layout = (int)rnd(LAYOUTS);
	int64_t t0 = (int64_t)rnd((uint64_t)model[layout].now + 2), t1 = t0 + (int64_t)rnd(2000);
	uint32_t field = (uint32_t)rnd(n_fields[layout]);

	return range_agrees(r, layout, t0, t1, rnd(2) ? &field : NULL);
}

/* --- driving the writer --- */

static int
put_layouts(struct nw_batch *b)
{
	static const char *fields[40];
	int rc, l;

	for (l = 0; l < 40; l++)
		fields[l] = "f";
	if ((rc = nw_batch_session(b, &(struct nw_session_rec){ .id = 1 })) != NW_OK ||
	    (rc = nw_batch_meta(b, &(struct nw_meta_rec){ .id = 1, .session_id = 1 })) != NW_OK ||
	    (rc = nw_batch_meta(b, &(struct nw_meta_rec){ .id = 2 })) != NW_OK)
		return rc;
	/* the last two belong to no session, so no seal reaches them */
	for (l = 0; rc == NW_OK && l < LAYOUTS; l++)
		rc = nw_batch_layout(
		    b, &(struct nw_layout_rec){ l + 1, l < 4 ? 1 : 2, n_fields[l], fields });
	return rc;
}

/* Commits one batch of random rows; what is committed goes into the model. */
static int
random_commit(struct writer *w)
{
	struct nw_batch *b = nw_batch_new();
	struct pending p = { 0 };
	size_t i, n = 1 + rnd(4);
	int rc = b == NULL ? NW_ENOMEM : NW_OK;

	for (i = 0; rc == NW_OK && i < n; i++)
		rc = put_rows(b, &p);
	if (rc == NW_OK && rnd(60) == 0)
		rc = nw_batch_seal(b, 1);
	if (rc == NW_OK) {
		rc = writer_commit(w, b);
		CHECK(rc == b->rc);
	}
	for (i = 0; rc == NW_OK && i < p.n; i++)
		model_add(&model[p.row[i].layout], p.row[i].t, p.row[i].number);
	nw_batch_free(b);
	return rc;
}

static void
model_reset(void)
{
	int l;

	for (l = 0; l < LAYOUTS; l++) {
		model[l].n = 0;
		model[l].now = 100000;
	}
	next_number = 0;
}

static struct writer *
open_new(void)
{
	struct nw_batch *b = nw_batch_new();
	struct writer *w = NULL;

	files_remove();
	model_reset();
	CHECK_INT(writer_open(path, &store_opts_default, &small, &w, why), NW_OK);
	CHECK_INT(put_layouts(b), NW_OK);
	writer_commit(w, b);
	CHECK_INT(b->rc, NW_OK);
	nw_batch_free(b);
	return w;
}

static struct store_reader *
open_reader(void)
{
	struct store_reader *r = NULL;

	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	if (r == NULL) {
		fprintf(stderr, "%s\n", why);
		exit(1);
	}
	return r;
}

static void
check_verified(struct store_reader *r)
{
	CHECK_INT(store_verify(r, why), NW_OK);
	if (why[0] != '\0')
		fprintf(stderr, "verify: %s\n", why);
}

static int64_t
count(struct writer *w, const char *sql)
{
	int64_t n = -1;

	CHECK_INT(db_int(w->c.db, sql, &n), NW_OK);
	return n;
}

static void
test_model(int steps)
{
	struct store_opts quick = store_opts_default;
	struct writer *w = open_new();
	struct store_reader *r = open_reader();
	size_t tail_max = 0;
	int i, rc;

	quick.sync_full = false;
	for (i = 0; i < steps; i++) {
		CHECK_INT(random_commit(w), NW_OK);
		while (rnd(3) != 0 && (rc = writer_maintain(w, rnd(5) == 0)) != WRITER_DONE)
			CHECK(rc >= 0);
		if (tail_bytes(w->mover.tail) > tail_max)
			tail_max = tail_bytes(w->mover.tail);
		if (rnd(20) == 0)
			CHECK(some_agrees(r));
		if (rnd(200) == 0) {
			writer_close(w);
			CHECK_INT(writer_open(path, &quick, &small, &w, why), NW_OK);
			CHECK(all_agrees(r));
		}
	}
	CHECK(all_agrees(r));
	check_verified(r);
	CHECK(tail_max < 6 * small.tail_bytes);
	CHECK(count(w, "SELECT count(*) FROM tail") > 0 &&
	    count(w, "SELECT count(*) FROM chunk") > 50);
	CHECK(count(w, "SELECT max(n_rows) FROM chunk") < 3 * (int64_t)small.chunk_rows);
	/* Small chunks are merged: hardly more chunks than full ones would be. */
	CHECK(
	    count(w, "SELECT count(*) FROM chunk") < count(w, "SELECT sum(n_rows) FROM chunk") / 8);
	store_reader_close(r);
	writer_close(w);
}

/* Sealed: all rows in few chunks, nothing in the tail, and the file gives free pages back. */
static void
test_seal(void)
{
	struct writer *w = open_new();
	struct store_reader *r = open_reader();
	struct nw_batch *b;
	int i;

	for (i = 0; i < 400; i++)
		CHECK_INT(random_commit(w), NW_OK);
	b = nw_batch_new();
	CHECK_INT(nw_batch_meta(b, &(struct nw_meta_rec){ .id = 3 }), NW_OK);
	CHECK_INT(nw_batch_seal(b, 1), NW_OK);
	writer_commit(w, b);
	nw_batch_free(b);
	while (writer_maintain(w, true) == WRITER_MORE)
		;
	for (i = 0; i < 4; i++)
		CHECK(tail_find(w->mover.tail, i + 1) == NULL);
	CHECK(tail_find(w->mover.tail, 5) != NULL || tail_find(w->mover.tail, 6) != NULL ||
	    tail_oldest(w->mover.tail) == NULL);
	CHECK_INT(
	    count(w,
		"SELECT count(*) FROM chunk WHERE layout_id <= 4 AND n_rows < 32 AND id NOT IN"
		" (SELECT max(id) FROM chunk GROUP BY layout_id)"),
	    0);
	CHECK(count(w, "PRAGMA freelist_count") * 8 <= count(w, "PRAGMA page_count"));
	CHECK(all_agrees(r));
	check_verified(r);
	store_reader_close(r);
	writer_close(w);
}

/* --- rows of an open session, too few for a whole chunk --- */

/* Commits so many rows of layout 5, and does the maintenance that is due; returns the rows in
 * chunks. */
static int64_t
open_rows(struct writer *w, uint32_t n, bool idle)
{
	struct nw_batch *b = nw_batch_new();
	double v[40];
	int64_t t;
	uint32_t i, k;

	for (i = 0; i < n; i++) {
		t = model[4].now++;
		for (k = 0; k < 40; k++)
			v[k] = value_of(next_number, k);
		CHECK_INT(nw_batch_rows(b, 5, 40, 1, &t, v, NULL, 0), NW_OK);
		model_add(&model[4], t, next_number);
		next_number += 1 + (next_number % 40 == 39); /* without histograms */
	}
	if (n > 0)
		CHECK_INT(writer_commit(w, b), NW_OK);
	nw_batch_free(b);
	while (writer_maintain(w, idle) == WRITER_MORE)
		;
	return count(w, "SELECT ifnull(sum(n_rows), 0) FROM chunk");
}

/* Rows leave the tail when the writer is idle, if they are many, and else within five minutes. */
static void
test_open(void)
{
	static const struct writer_limits large = {
		.chunk_rows = 8192, .tail_bytes = 16 << 20, .step_values = 256 << 10
	};
	const int64_t half_ns = 150000000000;
	struct writer *w = open_new();
	struct store_reader *r;

	writer_close(w);
	CHECK_INT(writer_open(path, &store_opts_default, &large, &w, why), NW_OK);
	next_number = 1;
	w->c.test_wall_ns = w->mover.mark_wall_ns;
	CHECK_INT(open_rows(w, 2900, true), 0); /* below 1 MiB */
	CHECK_INT(open_rows(w, 300, false), 0);
	CHECK_INT(open_rows(w, 0, true), 3200);
	CHECK_INT(open_rows(w, 10, true), 3200);
	w->c.test_wall_ns += half_ns;
	CHECK_INT(open_rows(w, 10, true), 3200);
	w->c.test_wall_ns += half_ns - 1;
	CHECK_INT(open_rows(w, 10, true), 3200);
	w->c.test_wall_ns += 1;
	CHECK_INT(open_rows(w, 0, true), 3230);
	r = open_reader();
	CHECK(all_agrees(r));
	check_verified(r);
	store_reader_close(r);
	writer_close(w);
}

/* --- faults --- */

static long n_corrupt; /* pieces of work that called the file damaged */

/* Some work during which one thing fails; whoever is told OK is in the model. */
static int
faulty_work(struct writer **w)
{
	int i, rc, first = NW_OK;

	for (i = 0; i < 25; i++) {
		if (read_fault.at != 0) /* nothing in the cache: all is read */
			sqlite3_db_release_memory((*w)->c.db);
		if ((rc = random_commit(*w)) != NW_OK && first == NW_OK)
			first = rc;
		n_corrupt += rc == NW_ECORRUPT || rc == NW_ECONFLICT;
		if ((rc = writer_maintain(*w, i % 8 == 7)) < 0 && first == NW_OK)
			first = rc;
		n_corrupt += rc == NW_ECORRUPT || rc == NW_ECONFLICT;
	}
	return first;
}

static void
check_after_fault(struct writer *w, const char *what, long n)
{
	struct store_reader *r;
	int i;

	for (i = 0; i < 3; i++) /* it works again, in the same process */
		CHECK_INT(random_commit(w), NW_OK);
	for (i = 0; i < 100 && writer_maintain(w, true) == WRITER_MORE; i++)
		;
	CHECK_STR(w->c.trouble, "");
	r = open_reader();
	if (!all_agrees(r)) {
		fprintf(stderr, "after %s %ld\n", what, n);
		CHECK(!"rows agree with what was acknowledged");
	}
	check_verified(r);
	store_reader_close(r);
}

static void
test_faults(const char *what, long *at, long *seen, bool *for_ever, bool ever, long stride)
{
	struct writer *w = open_new();
	struct nw_batch *seal;
	long n, n_failed = 0;
	int rc;

	for (n = 1; n < 100000; n += 1 + (long)rnd((uint64_t)stride)) {
		/* keep it small: start over, sealed so that compaction has work */
		if (model[4].n > MODEL_ROWS / 40) {
			writer_close(w);
			w = open_new();
		}
		seal = nw_batch_new();
		nw_batch_seal(seal, 1);
		writer_commit(w, seal);
		nw_batch_free(seal);
		*seen = 0;
		*for_ever = ever;
		*at = n;
		rc = faulty_work(&w);
		*at = 0;
		if (*seen < n)
			break; /* everything has failed once */
		n_failed += rc != NW_OK;
		check_after_fault(w, what, n);
	}
	CHECK(n < 100000 && n_failed > 2);
	CHECK_INT(n_corrupt, 0); /* a bad moment is no damage */
	printf("%s%s: %ld operations, %ld failures seen\n", what, ever ? " for ever" : "", n,
	    n_failed);
	writer_close(w);
}

/* Opening with the Nth allocation failing: an error and no leak, never a store half open. */
static void
test_open_faults(long *at, long *seen)
{
	struct writer *w;
	struct store_reader *r;
	long n;
	int rc;

	writer_close(open_new());
	for (n = 1; n < 10000; n++) {
		*seen = 0;
		*at = n;
		rc = writer_open(path, &store_opts_default, NULL, &w, why);
		*at = 0;
		CHECK((rc == NW_OK) == (w != NULL) && (rc == NW_OK || why[0] != '\0'));
		writer_close(w);
		if (rc == NW_OK && *seen < n)
			break;
	}
	CHECK(n > 10);
	for (n = 1; n < 10000; n++) {
		*seen = 0;
		*at = n;
		rc = store_reader_open(path, &r, why);
		*at = 0;
		CHECK((rc == NW_OK) == (r != NULL));
		store_reader_close(r);
		if (rc == NW_OK && *seen < n)
			break;
	}
	CHECK(n > 10);
}

/* --- connections --- */

static int
on_xsp(void *arg, const struct nw_xsp_rec *x)
{
	*(struct nw_xsp_rec *)arg = *x;
	return 0;
}

/* Pages that a commit of the record writes into the log. */
static int
xsp_commit(struct writer *w, const struct nw_xsp_rec *x)
{
	struct nw_batch *b = nw_batch_new();
	int before = w->c.wal_frames;

	CHECK_INT(nw_batch_xsp(b, x), NW_OK);
	CHECK_INT(writer_commit(w, b), NW_OK);
	nw_batch_free(b);
	return w->c.wal_frames - before;
}

/* All of a connection's record may change. Numbers alone cost the page of the row. */
static void
test_xsp(void)
{
	struct nw_xsp_rec x = { .id = 1,
		.host_id = 1,
		.session_id = 1,
		.provider = "one",
		.opened_wall_ns = 5,
		.docs = 1 },
			  is = { 0 };
	struct writer *w = open_new();
	struct nw_batch *b = nw_batch_new();
	struct store_reader *r;

	nw_batch_host(b, &(struct nw_host_rec){ .id = 1, .name = "h1" });
	nw_batch_host(b, &(struct nw_host_rec){ .id = 2, .name = "h2" });
	nw_batch_session(b, &(struct nw_session_rec){ .id = 1 });
	nw_batch_session(b, &(struct nw_session_rec){ .id = 2 });
	CHECK_INT(writer_commit(w, b), NW_OK);
	nw_batch_free(b);
	CHECK(xsp_commit(w, &x) > 3);
	x.docs = 2;
	x.samples = 3;
	x.rejected = 4;
	x.bytes = 5;
	x.dropped = 6;
	x.closed_wall_ns = 7;
	x.peer = "peer";
	x.software = "software";
	x.sess_id_hex = "0f";
	x.end_reason = "end";
	x.owner = "owner";
	x.addresses = "::1";
	CHECK_INT(xsp_commit(w, &x), 1);
	r = open_reader();
	CHECK_INT(store_xsp_get(r, 1, on_xsp, &is), NW_OK);
	CHECK(is.docs == 2 && is.samples == 3 && is.rejected == 4 && is.bytes == 5 &&
	    is.dropped == 6 && is.opened_wall_ns == 5 && is.closed_wall_ns == 7);
	CHECK(is.host_id == 1 && is.session_id == 1);
	store_reader_close(r);
	CHECK_INT(count(w,
		      "SELECT count(*) FROM xsp_session WHERE peer = 'peer' AND software ="
		      " 'software' AND sess_id = '0f' AND end_reason = 'end' AND owner ="
		      " 'owner' AND addresses = '::1' AND provider = 'one'"),
	    1);
	x.provider = NULL;
	xsp_commit(w, &x);
	CHECK_INT(count(w, "SELECT count(*) FROM xsp_session WHERE provider IS NULL"), 1);
	x.docs++;
	CHECK_INT(xsp_commit(w, &x), 1);
	x.session_id = 2;
	xsp_commit(w, &x);
	x.host_id = 2;
	xsp_commit(w, &x);
	CHECK_INT(count(w,
		      "SELECT count(*) FROM xsp_session WHERE id = 1 AND host_id = 2 AND "
		      "session_id = 2"),
	    1);
	x.session_id = 0;
	xsp_commit(w, &x);
	CHECK_INT(count(w, "SELECT count(*) FROM xsp_session WHERE session_id IS NULL"), 1);
	CHECK_INT(count(w, "SELECT count(*) FROM xsp_session"), 1);
	writer_close(w);
}

int
main(int argc, char **argv)
{
	rng = argc > 2 && strcmp(argv[1], "-s") == 0 ? strtoull(argv[2], NULL, 0)
						     : (uint64_t)time(NULL) * 2654435761u + 1;
	printf("seed %" PRIu64 "\n", rng);
	if (!check_dir(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/narrows.db", dir);
	test_model((int)check_repeats(3000, 1500));
	test_seal();
	test_open();
	test_xsp();
	shim_register();
	test_faults("write or sync", &io_fault.at, &io_fault.seen, &io_fault.for_ever, false,
	    check_repeats(6, 20));
	test_faults("write or sync", &io_fault.at, &io_fault.seen, &io_fault.for_ever, true,
	    check_repeats(20, 40));
	test_faults("read", &read_fault.at, &read_fault.seen, &read_fault.for_ever, false,
	    check_repeats(9, 16));
	test_faults("read", &read_fault.at, &read_fault.seen, &read_fault.for_ever, true, 30);
	if (OWN_MALLOC) {
		test_faults("allocation", &alloc_fault.at, &alloc_fault.seen, &alloc_fault.for_ever,
		    false, check_repeats(60, 120));
		test_faults("allocation", &alloc_fault.at, &alloc_fault.seen, &alloc_fault.for_ever,
		    true, check_repeats(120, 180));
		test_open_faults(&alloc_fault.at, &alloc_fault.seen);
	}
	files_remove();
	rmdir(dir);
	return check_done("writer");
}
