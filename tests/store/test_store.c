/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The store as its users see it: records and rows come back, completions tell the truth, kill -9
 * loses nothing told.
 *
 * usage: test_store [-s seed | -k kills]
 */
#include "narrows/store.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "narrows/err.h"
#include "store/ground/batch.h"
#include "tests/check.h"
#include "tests/verified.h"
#include "tests/storefile.h"

static char dir[] = "/dev/shm/nw-store-XXXXXX";
static char why[STORE_WHY_BYTES];

static struct store *
open_store(const struct store_opts *opts)
{
	struct store *st = NULL;

	CHECK_INT(store_open(path, opts, &st, why), NW_OK);
	if (st == NULL) {
		fprintf(stderr, "%s\n", why);
		exit(1);
	}
	return st;
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

struct outcome {
	int n, rc;
};

static void
on_done(void *arg, int rc)
{
	struct outcome *o = arg;

	o->n++;
	o->rc = rc;
}

static void
wait_done(struct store *st, const int *n, int want)
{
	struct pollfd p = { .fd = store_completion_fd(st), .events = POLLIN };

	while (*n < want && poll(&p, 1, 20000) == 1)
		store_run_completions(st);
	CHECK_INT(*n, want);
}

/* Submits and waits. */
static int
commit(struct store *st, struct nw_batch *b)
{
	struct outcome o = { 0, 0 };

	nw_batch_on_done(b, on_done, &o);
	CHECK_INT(store_submit(st, b), NW_OK);
	wait_done(st, &o.n, 1);
	return o.rc;
}

/* host 1, session 1, metadata 1, layout 1 with fields "a" and "b" */
static const char *const two_fields[] = { "a", "b" };

static void
put_basics(struct nw_batch *b)
{
	CHECK_INT(nw_batch_host(b, &(struct nw_host_rec){ .id = 1, .name = "h1" }), NW_OK);
	CHECK_INT(nw_batch_session(b,
		      &(struct nw_session_rec){ .id = 1, .task_id = "t1", .opened_wall_ns = 10 }),
	    NW_OK);
	CHECK_INT(nw_batch_meta(b,
		      &(struct nw_meta_rec){ .id = 1,
			  .session_id = 1,
			  .host_id = 1,
			  .mid = "m1",
			  .event_type = "nl:tools:calipers:summary:read",
			  .subject_json = "{}",
			  .params_json = "{}" }),
	    NW_OK);
	CHECK_INT(nw_batch_layout(b,
		      &(struct nw_layout_rec){
			  .id = 1, .meta_id = 1, .n_fields = 2, .fields = two_fields }),
	    NW_OK);
}

static void
put_row(struct nw_batch *b, int64_t layout_id, int64_t t, double a, double c)
{
	CHECK_INT(nw_batch_rows(b, layout_id, 2, 1, &t, (double[]){ a, c }, NULL, 0), NW_OK);
}

static struct store *
open_with_basics(const struct store_opts *opts)
{
	struct nw_batch *b = nw_batch_new();
	struct store *st;

	files_remove();
	st = open_store(opts);
	put_basics(b);
	CHECK_INT(commit(st, b), NW_OK);
	return st;
}

/* --- rows as a list --- */

struct rows {
	size_t n, n_blocks, n_hist;
	int64_t t[8192];
	double a[8192], b[8192];
	uint8_t hist[64];
	size_t hist_len;
};
static struct rows got;

static int
on_block(void *arg, const struct store_block *k)
{
	struct rows *r = arg;
	size_t i;

	CHECK_INT(k->n_fields, 2);
	r->n_blocks++;
	for (i = 0; i < k->n_rows && r->n < 8192; i++, r->n++) {
		r->t[r->n] = k->t_wall_ns[i];
		r->a[r->n] = k->columns[0] == NULL ? -1 : k->columns[0][i];
		r->b[r->n] = k->columns[1] == NULL ? -1 : k->columns[1][i];
		if (k->hist != NULL && k->hist[i] != NULL) {
			r->n_hist++;
			r->hist_len = k->hist_len[i];
			memcpy(r->hist, k->hist[i], r->hist_len < 64 ? r->hist_len : 64);
		}
	}
	return 0;
}

static struct rows *
read_rows(struct store_reader *r, int64_t layout, int64_t t0, int64_t t1)
{
	memset(&got, 0, sizeof(got));
	CHECK_INT(store_rows(r, layout, t0, t1, on_block, &got), NW_OK);
	return &got;
}

static bool
in_order(const struct rows *r)
{
	size_t i;

	for (i = 1; i < r->n; i++)
		if (r->t[i] < r->t[i - 1])
			return false;
	return true;
}

/* --- records --- */

static int
host_seen(void *arg, const struct nw_host_rec *h)
{
	int *n = arg;

	++*n;
	CHECK_INT(h->id, 7);
	CHECK_STR(h->name, "dtn7");
	CHECK_STR(h->info_json, "{\"k\":1}");
	CHECK_INT(h->first_seen_wall_ns, 100);
	CHECK_INT(h->last_seen_wall_ns, 300);
	return 0;
}

static int
xsp_seen(void *arg, const struct nw_xsp_rec *x)
{
	int *n = arg;

	++*n;
	CHECK_INT(x->id, 3);
	CHECK_INT(x->host_id, 7);
	CHECK_INT(x->session_id, 5);
	CHECK_STR(x->sess_id_hex, "00112233445566778899aabbccddeeff");
	CHECK_STR(x->peer, "127.0.0.1/4000");
	CHECK_STR(x->software, "libnarrows");
	CHECK_STR(x->provider, "p1");
	CHECK_INT(x->opened_wall_ns, 11);
	CHECK_INT(x->closed_wall_ns, 12);
	CHECK(x->docs == 1 && x->samples == UINT64_MAX && x->rejected == 3 && x->bytes == 4 &&
	    x->dropped == 5);
	CHECK_STR(x->end_reason, "closed");
	CHECK_STR(x->owner, "user:7");
	CHECK_STR(x->addresses, "10.0.9.1");
	return 0;
}

static int
session_seen(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	int *n = arg;

	++*n;
	CHECK_INT(s->id, 5);
	CHECK_STR(s->task_id, "job'); drop table session; --");
	CHECK_STR(s->program, "rsync");
	CHECK(s->opened_wall_ns == 1000 && s->closed_wall_ns == 2000000000000 &&
	    s->last_data_wall_ns == 1500);
	CHECK(res != NULL);
	if (res == NULL)
		return 0;
	CHECK(res->session_id == 5 && res->run_id == 2);
	CHECK_STR(res->route, "a -> b");
	CHECK(res->stage == NULL);
	CHECK_STR(res->sentence, "cannot tell");
	CHECK(res->bytes == 1e9 && isnan(res->bytes_per_s) && res->start_wall_ns == 1000 &&
	    res->duration_ns == 5);
	if (*n == 2)
		CHECK_STR(res->json, "{\"verdict\":{}}");
	else
		CHECK(res->json == NULL);
	return 0;
}

static int
run_seen(void *arg, const struct nw_run_rec *run)
{
	++*(int *)arg;
	CHECK(
	    run->id == 2 && run->session_id == 5 && run->started_wall_ns == 9 && run->took_ns == 8);
	CHECK_STR(run->kind, "verdict");
	CHECK_STR(run->version, "0.1.0");
	CHECK_STR(run->outcome, "ok");
	return 0;
}

static int
meta_seen(void *arg, const struct nw_meta_rec *m)
{
	++*(int *)arg;
	CHECK(m->id == 21 && m->session_id == 5 && m->host_id == 7 && m->xsp_id == 3 &&
	    m->first_wall_ns == 77);
	CHECK_STR(m->mid, "mid");
	CHECK(m->pid == NULL);
	CHECK_STR(m->event_type, "nl:tools:calipers:summary:write");
	CHECK_STR(m->subject_json, "{\"type\":\"disk\"}");
	CHECK_STR(m->params_json, "{}");
	return 0;
}

static int
host_meta_seen(void *arg, const struct nw_meta_rec *m)
{
	++*(int *)arg;
	CHECK(m->id == 22 && m->session_id == 0);
	return 0;
}

static const char *const odd_fields[] = { "sum_v", "we\"ird\\\n\001", "", "\xc3\xa9t\xc3\xa9" };

static int
raw_seen(void *arg, const struct nw_meta_rec *m)
{
	++*(int *)arg;
	CHECK_INT(m->xsp_id, m->id == 21 ? 3 : 0);
	CHECK_INT(m->raw_len, m->id == 21 ? 4 : 0);
	CHECK(m->id == 21 ? m->raw != NULL && memcmp(m->raw, "\0raw", 4) == 0 : m->raw == NULL);
	return 0;
}

static int
layout_seen(void *arg, const struct nw_layout_rec *l)
{
	size_t i;

	++*(int *)arg;
	CHECK(l->id == 31 && l->meta_id == 21);
	CHECK_INT(l->n_fields, 4);
	for (i = 0; i < l->n_fields && i < 4; i++)
		CHECK_STR(l->fields[i], odd_fields[i]);
	return 0;
}

static int
provider_seen(void *arg, const char *owner, const char *provider, uint64_t seq)
{
	++*(int *)arg;
	CHECK_STR(owner, "host:h");
	CHECK_STR(provider, "p1");
	CHECK_INT(seq, 42);
	return 1;
}

static void
put_records(struct nw_batch *b)
{
	int rc = 0;

	rc |= nw_batch_host(b, &(struct nw_host_rec){ 7, "old name", NULL, 100, 200 });
	rc |= nw_batch_host(b, &(struct nw_host_rec){ 7, "dtn7", "{\"k\":1}", 100, 300 });
	rc |= nw_batch_session(b,
	    &(struct nw_session_rec){ 5, "job'); drop table session; --", "rsync", 1000,
		2000000000000, 1500, false, false });
	rc |= nw_batch_xsp(b,
	    &(struct nw_xsp_rec){ 3, 7, 5, "00112233445566778899aabbccddeeff", "127.0.0.1/4000",
		"libnarrows", "p1", 11, 12, 1, UINT64_MAX, 3, 4, 5, "closed", "user:7",
		"10.0.9.1" });
	rc |= nw_batch_meta(b,
	    &(struct nw_meta_rec){ 21, 5, 7, 3, "mid", NULL, "nl:tools:calipers:summary:write",
		"{\"type\":\"disk\"}", "{}", 77, (const uint8_t *)"\0raw", 4 });
	rc |= nw_batch_meta(
	    b, &(struct nw_meta_rec){ .id = 22, .host_id = 7, .event_type = "ps:host:x" });
	rc |= nw_batch_layout(b, &(struct nw_layout_rec){ 31, 21, 4, odd_fields });
	rc |= nw_batch_run(b,
	    &(struct nw_run_rec){ .id = 2,
		.session_id = 5,
		.kind = "verdict",
		.started_wall_ns = 9,
		.took_ns = 8,
		.version = "0.1.0",
		.outcome = "ok" });
	rc |= nw_batch_result(b,
	    &(struct nw_result_rec){
		.session_id = 5, .json = "{}", .sentence = "older", .bytes = 1 });
	rc |= nw_batch_result(b,
	    &(struct nw_result_rec){ 5, 2, "{\"verdict\":{}}", "a -> b", "rsync", NULL, NULL, NAN,
		"cannot tell", 1e9, NAN, 1000, 5, NAN, NULL, NAN, false });
	rc |= nw_batch_provider(b, "host:h", "p1", 42);
	rc |= nw_batch_provider(b, "host:h", "p1", 41);
	CHECK_INT(rc, NW_OK);
}

/* Metadata, layouts and providers that put_records() wrote. */
static void
check_series(struct store_reader *r)
{
	int n = 0;

	CHECK_INT(store_metas(r, 5, 0, "nl:", meta_seen, &n), NW_OK);
	CHECK_INT(store_metas(r, 5, 0, NULL, meta_seen, &n), NW_OK);
	CHECK_INT(store_metas(r, 5, 0, "ps:", meta_seen, &n), NW_OK);
	CHECK_INT(n, 2);
	CHECK_INT(store_metas(r, 0, 7, "ps:", host_meta_seen, &n), NW_OK);
	CHECK_INT(store_metas(r, 0, 0, "", host_meta_seen, &n), NW_OK);
	CHECK_INT(store_metas(r, 0, 8, "", host_meta_seen, &n), NW_OK);
	CHECK_INT(n, 4);
	n = 0;
	CHECK_INT(store_meta_get(r, 21, raw_seen, &n), NW_OK);
	CHECK_INT(store_meta_get(r, 22, raw_seen, &n), NW_OK);
	CHECK_INT(store_meta_get(r, 23, raw_seen, &n), NW_ENOTFOUND);
	CHECK_INT(n, 2);
	n = 4;
	CHECK_INT(store_layouts(r, 21, layout_seen, &n), NW_OK);
	CHECK_INT(store_providers(r, provider_seen, &n), NW_OK);
	CHECK_INT(n, 6);
}

static void
check_during(struct store_reader *r, int64_t before_id, size_t limit, int64_t from, int64_t to,
    size_t max, const char *want)
{
	int64_t id[8];
	char text[100] = "";
	size_t n, i;

	CHECK_INT(store_sessions_during(r, before_id, limit, from, to, id, max, &n), NW_OK);
	for (i = 0; i < n; i++)
		snprintf(text + strlen(text), 20, "%d ", (int)id[i]);
	CHECK_STR(text, want);
}

/* Which sessions were open at a time: the ends count, and so do sessions without an end. */
static void
test_during(void)
{
	const int64_t span[][2] = { { 10, 20 }, { 0, 15 }, { 30, 40 }, { 20, 0 }, { 5, 50 } };
	struct store *st;
	struct store_reader *r;
	struct nw_batch *b = nw_batch_new();
	size_t i;

	files_remove();
	st = open_store(NULL);
	for (i = 0; i < sizeof(span) / sizeof(span[0]); i++)
		nw_batch_session(b,
		    &(struct nw_session_rec){ .id = (int64_t)i + 1,
			.opened_wall_ns = span[i][0],
			.closed_wall_ns = span[i][1] });
	CHECK_INT(commit(st, b), NW_OK);
	r = open_reader();
	check_during(r, 99, 99, 16, 19, 8, "5 1 ");
	check_during(r, 99, 99, 15, 20, 8, "5 4 2 1 ");
	check_during(r, 99, 99, 41, 41, 8, "5 4 ");
	check_during(r, 99, 99, 51, 60, 8, "4 ");
	check_during(r, 99, 99, 0, 4, 8, "2 ");
	check_during(r, 5, 99, 15, 30, 8, "4 3 2 1 ");
	check_during(r, 99, 3, 15, 30, 8, "5 4 3 "); /* of the newest three */
	check_during(r, 99, 99, 15, 30, 2, "5 4 ");
	check_during(r, 1, 99, 15, 30, 8, "");
	store_reader_close(r);
	store_close(st);
}

static void
test_records(void)
{
	struct store *st;
	struct store_reader *r;
	struct nw_batch *b = nw_batch_new();
	struct store_ids ids;
	struct nw_host_use use;
	int64_t last = 0;
	int n = 0;

	files_remove();
	st = open_store(NULL);
	r = open_reader();
	CHECK_INT(store_session_last(r, &last), NW_ENOTFOUND);
	store_next_ids(st, &ids);
	CHECK(ids.host == 1 && ids.xsp == 1 && ids.session == 1 && ids.meta == 1 &&
	    ids.layout == 1 && ids.run == 1);
	put_records(b);
	CHECK(nw_batch_bytes(b) > 100 && b->n_rows == 0);
	CHECK_INT(commit(st, b), NW_OK);

	CHECK_INT(store_hosts(r, host_seen, &n), NW_OK);
	CHECK_INT(n, 1);
	CHECK_INT(store_host_get(r, 7, host_seen, &n), NW_OK);
	CHECK_INT(store_host_get(r, 8, host_seen, &n), NW_ENOTFOUND);
	CHECK_INT(n, 2);
	CHECK_INT(store_xsp_of_session(r, 5, xsp_seen, &n), NW_OK);
	CHECK_INT(store_runs(r, 5, run_seen, &n), NW_OK);
	CHECK_INT(n, 4);
	CHECK_INT(store_xsp_get(r, 3, xsp_seen, &n), NW_OK);
	CHECK_INT(store_xsp_get(r, 4, xsp_seen, &n), NW_ENOTFOUND);
	CHECK_INT(n, 5);
	CHECK_INT(store_xsp_of_host(r, 7, 10, xsp_seen, &n), NW_OK);
	CHECK_INT(n, 6);
	CHECK_INT(store_xsp_of_host(r, 7, 0, xsp_seen, &n), NW_OK);
	CHECK_INT(store_xsp_of_host(r, 8, 10, xsp_seen, &n), NW_OK);
	CHECK_INT(n, 6);
	CHECK_INT(store_host_named(r, "dtn7", host_seen, &n), NW_OK);
	CHECK_INT(store_host_named(r, "dtn", host_seen, &n), NW_ENOTFOUND);
	CHECK_INT(n, 7);
	CHECK_INT(store_host_use(r, 7, 10, &use), NW_OK);
	CHECK(use.n_connections == 1 && use.n_sessions == 1 && use.newest_session_id == 5);
	CHECK_INT(store_host_use(r, 8, 10, &use), NW_OK);
	CHECK(use.n_connections == 0 && use.n_sessions == 0 && use.newest_session_id == 0);
	n = 0;
	CHECK_INT(store_sessions(r, 0, 10, session_seen, &n), NW_OK);
	CHECK_INT(store_session_get(r, 5, session_seen, &n), NW_OK);
	CHECK_INT(store_session_get(r, 6, session_seen, &n), NW_ENOTFOUND);
	CHECK_INT(store_sessions(r, 5, 10, session_seen, &n), NW_OK);
	CHECK_INT(n, 2);
	CHECK_INT(store_session_last(r, &last), NW_OK);
	CHECK_INT(last, 5);
	check_series(r);
	store_reader_close(r);
	store_close(st);

	st = open_store(NULL);
	store_next_ids(st, &ids);
	CHECK(ids.host == 8 && ids.xsp == 4 && ids.session == 6 && ids.meta == 23 &&
	    ids.layout == 32 && ids.run == 3);
	store_close(st);
}

/* --- rows --- */

static uint64_t
bits(double d)
{
	uint64_t u;

	memcpy(&u, &d, sizeof(u));
	return u;
}

static void
check_rows(struct store_reader *r)
{
	const uint64_t odd = 0x7ff4dead0000beef;
	double nan_payload;
	uint32_t second = 1;
	struct rows *k;

	memcpy(&nan_payload, &odd, sizeof(odd));
	k = read_rows(r, 1, 0, INT64_MAX);
	CHECK_INT(k->n, 6);
	CHECK(in_order(k));
	CHECK(k->t[0] == 50 && k->a[0] == 5 && k->t[1] == 100 && k->t[5] == 400);
	CHECK(k->n > 5 && bits(k->a[5]) == odd && bits(k->b[5]) == bits(-0.0));
	CHECK(k->n_hist == 1 && k->hist_len == 5 && memcmp(k->hist, "hello", 5) == 0);
	k = read_rows(r, 1, 100, 300);
	CHECK_INT(k->n, 3);
	/* equal times: in order of arrival */
	CHECK(k->t[0] == 100 && k->t[2] == 200 && k->a[1] == 2 && k->a[2] == 2.5);
	CHECK_INT(read_rows(r, 1, 300, 300)->n, 0);
	CHECK_INT(read_rows(r, 1, 401, INT64_MAX)->n, 0);
	memset(&got, 0, sizeof(got));
	CHECK_INT(store_rows_of(r, 1, &second, 1, 0, INT64_MAX, on_block, &got), NW_OK);
	CHECK(got.n == 6 && got.a[1] == -1 && got.b[1] == 10 && got.n_hist == 0);
	second = 2;
	CHECK_INT(store_rows_of(r, 1, &second, 1, 0, INT64_MAX, on_block, &got), NW_EINVAL);
	CHECK_INT(store_rows(r, 99, 0, INT64_MAX, on_block, &got), NW_ENOTFOUND);
	memset(&got, 0, sizeof(got));
	CHECK_INT(store_last_row(r, 1, on_block, &got), NW_OK);
	CHECK(got.n == 1 && got.t[0] == 400 && bits(got.a[0]) == odd);
	CHECK_INT(store_verify(r, why), NW_OK);
}

static int
stop_at_once(void *arg, const struct store_block *k)
{
	struct store_reader *r = arg;

	/* a reader reads one range at a time */
	CHECK_INT(store_rows(r, 1, 0, 1, stop_at_once, r), NW_EINVAL);
	return k->n_rows > 0;
}

static int
pass_through(void *arg, const struct store_block *k)
{
	(void)arg, (void)k;
	return NW_ECLOSED;
}

static void
test_rows(void)
{
	const uint64_t odd = 0x7ff4dead0000beef;
	struct store *st = open_with_basics(NULL);
	struct store_reader *r = open_reader();
	struct nw_batch *b = nw_batch_new();
	double nan_payload;

	memcpy(&nan_payload, &odd, sizeof(odd));
	CHECK_INT(store_last_row(r, 1, on_block, &got), NW_ENOTFOUND);
	CHECK_INT(nw_batch_rows(b, 1, 2, 3, (int64_t[]){ 100, 200, 300 },
		      (double[]){ 1, 10, 2, 20, 3, 30 }, NULL, 0),
	    NW_OK);
	CHECK_INT(nw_batch_rows(b, 1, 2, 1, (int64_t[]){ 200 }, (double[]){ 2.5, 25 },
		      (const uint8_t *)"hello", 5),
	    NW_OK);
	CHECK_INT(
	    nw_batch_rows(b, 1, 2, 1, (int64_t[]){ 400 }, (double[]){ nan_payload, -0.0 }, NULL, 0),
	    NW_OK);
	put_row(b, 1, 50, 5, 50);
	CHECK_INT(nw_batch_rows(
		      b, 1, 2, 2, (int64_t[]){ 1, 2 }, (double[4]){ 0 }, (const uint8_t *)"x", 1),
	    NW_EINVAL);
	CHECK_INT(b->n_rows, 6);
	CHECK_INT(commit(st, b), NW_OK);
	check_rows(r); /* from the tail */
	CHECK_INT(store_rows(r, 1, 0, INT64_MAX, stop_at_once, r), NW_OK);
	CHECK_INT(store_rows(r, 1, 0, INT64_MAX, pass_through, NULL), NW_ECLOSED);
	store_close(st);

	st = open_store(NULL); /* the tail survives a restart */
	check_rows(r);
	b = nw_batch_new();
	CHECK_INT(nw_batch_seal(b, 1), NW_OK);
	CHECK_INT(commit(st, b), NW_OK);
	store_close(st); /* and a seal makes it a chunk */
	check_rows(r);
	store_reader_close(r);
	r = open_reader();
	check_rows(r);
	store_reader_close(r);
}

/* A late row, in the tail or not, comes where its time is. */
static void
test_late_rows(void)
{
	struct store *st = open_with_basics(NULL);
	struct store_reader *r = open_reader();
	struct nw_batch *b = nw_batch_new();
	struct rows *k;
	int64_t i;
	int round;

	for (i = 0; i < 3000; i++)
		put_row(b, 1, 1000 + 10 * i, (double)i, 1);
	nw_batch_seal(b, 1);
	CHECK_INT(commit(st, b), NW_OK);
	for (round = 1; round <= 3; round++) {
		b = nw_batch_new();
		for (i = 0; i < 500; i++)
			put_row(b, 1, 900 + 61 * ((i * 7) % 500) + round, -1, 2);
		CHECK_INT(commit(st, b), NW_OK);
		k = read_rows(r, 1, 0, INT64_MAX);
		CHECK_INT(k->n, 3000 + 500 * round);
		CHECK(in_order(k));
		b = nw_batch_new();
		nw_batch_seal(b, 1);
		CHECK_INT(commit(st, b), NW_OK);
		store_close(st);
		st = open_store(NULL);
		k = read_rows(r, 1, 0, INT64_MAX);
		CHECK_INT(k->n, 3000 + 500 * round);
		CHECK(in_order(k));
		CHECK_INT(read_rows(r, 1, 2000, 3000)->n, 99 + 17 * round);
		CHECK_INT(store_verify(r, why), NW_OK);
	}
	store_reader_close(r);
	store_close(st);
}

/* --- queue and completions --- */

static void
test_group_commit(void)
{
	struct store *st = open_with_basics(NULL);
	struct store_stats before, after;
	struct outcome o = { 0, 0 };
	struct nw_batch *b;
	int i;

	store_get_stats(st, &before);
	for (i = 0; i < 300; i++) {
		b = nw_batch_new();
		put_row(b, 1, 1000 + i, i, i);
		nw_batch_on_done(b, on_done, &o);
		CHECK_INT(store_submit(st, b), NW_OK);
	}
	wait_done(st, &o.n, 300);
	CHECK_INT(o.rc, NW_OK);
	store_get_stats(st, &after);
	CHECK_INT(after.batches - before.batches, 300);
	CHECK_INT(after.rows - before.rows, 300);
	CHECK_INT(after.samples - before.samples, 600);
	CHECK(after.commits - before.commits <= 10);
	CHECK(after.queued_batches == 0 && after.queued_bytes == 0 && after.failed_batches == 0);
	CHECK(after.last_commit_wall_ns > 0 && after.file_bytes > 4096 && after.trouble[0] == '\0');
	for (i = 0; i < 20; i++) { /* nobody waits; close commits and completes the batches */
		b = nw_batch_new();
		put_row(b, 1, 2000 + i, i, i);
		if (i % 2)
			nw_batch_on_done(b, on_done, &o);
		CHECK_INT(store_submit(st, b), NW_OK);
	}
	store_close(st);
	CHECK_INT(o.n, 310);
}

static void
test_full_queue(void)
{
	struct store_opts opts = store_opts_default;
	struct outcome o = { 0, 0 };
	struct store *st;
	struct nw_batch *b;
	int i, n_ok = 0, n_full = 0;

	opts.queue_max_bytes = 20000;
	opts.commit_interval_ns = 200000000;
	st = open_with_basics(&opts);
	for (i = 0; i < 400; i++) {
		double value[400] = { 0 };
		int64_t t[200];
		int j, rc;

		for (j = 0; j < 200; j++)
			t[j] = i * 1000 + j;
		b = nw_batch_new();
		nw_batch_rows(b, 1, 2, 200, t, value, NULL, 0);
		nw_batch_on_done(b, on_done, &o);
		if ((rc = store_submit(st, b)) == NW_OK) {
			n_ok++;
		} else {
			CHECK_INT(rc, NW_EFULL);
			n_full++;
			nw_batch_free(b);
		}
	}
	CHECK(n_ok > 0 && n_full > 0);
	wait_done(st, &o.n, n_ok);
	b = nw_batch_new(); /* bigger than the queue: passes alone */
	for (i = 0; i < 2000; i++)
		put_row(b, 1, 1000000 + i, 1, 1);
	CHECK(nw_batch_bytes(b) > opts.queue_max_bytes);
	CHECK_INT(commit(st, b), NW_OK);
	store_close(st);
}

/* Whoever was sent away hears that there is room, even if what made it is nobody's to be told
 * of. */
static void
test_room(void)
{
	struct store_opts opts = store_opts_default;
	struct nw_batch *silent = nw_batch_new(), *refused = nw_batch_new();
	struct pollfd p = { .events = POLLIN };
	struct store *st;
	int i;

	opts.queue_max_bytes = 20000;
	opts.commit_interval_ns = 200000000;
	st = open_with_basics(&opts); /* that was a commit: the next waits for company */
	store_run_completions(st);
	p.fd = store_completion_fd(st);
	put_row(silent, 1, 3000000, 1, 1);
	for (i = 0; i < 2000; i++)
		put_row(refused, 1, 3000001 + i, 1, 1);
	CHECK_INT(poll(&p, 1, 0), 0);
	CHECK_INT(store_submit(st, silent), NW_OK);
	CHECK_INT(store_submit(st, refused), NW_EFULL);
	CHECK_INT(poll(&p, 1, 20000), 1);
	store_run_completions(st);
	CHECK_INT(poll(&p, 1, 0), 0);
	CHECK_INT(commit(st, refused), NW_OK);
	store_close(st);
}

/* A batch that contradicts the store fails whole and alone. */
static void
test_bad_batch(void)
{
	struct store *st = open_with_basics(NULL);
	struct store_reader *r = open_reader();
	struct outcome o[5] = { { 0, 0 } };
	struct nw_batch *b[5];
	struct store_stats stats;
	int i, n = 0;

	for (i = 0; i < 5; i++) {
		b[i] = nw_batch_new();
		put_row(b[i], 1, 100 + i, i, i);
		nw_batch_on_done(b[i], on_done, &o[i]);
	}
	nw_batch_provider(b[1], "host:h", "p", 1);
	nw_batch_meta(b[1], &(struct nw_meta_rec){ .id = 1 }); /* there is one */
	put_row(b[2], 77, 5, 5, 5);                            /* no such layout */
	/* another shape */
	nw_batch_rows(b[3], 1, 1, 1, (int64_t[]){ 9 }, (double[]){ 9 }, NULL, 0);
	for (i = 0; i < 5; i++)
		CHECK_INT(store_submit(st, b[i]), NW_OK);
	for (i = 0; i < 5; i++)
		wait_done(st, &o[i].n, 1);
	CHECK_INT(o[0].rc, NW_OK);
	CHECK_INT(o[1].rc, NW_ECONFLICT);
	CHECK_INT(o[2].rc, NW_ECONFLICT);
	CHECK_INT(o[3].rc, NW_ECONFLICT);
	CHECK_INT(o[4].rc, NW_OK);
	CHECK_INT(read_rows(r, 1, 0, INT64_MAX)->n, 2);
	CHECK_INT(store_providers(r, provider_seen, &n), NW_OK);
	CHECK_INT(n, 0);
	store_get_stats(st, &stats);
	CHECK_INT(stats.failed_batches, 3);
	CHECK_STR(stats.trouble, "");
	store_reader_close(r);
	store_close(st);
}

static void
test_snapshot(void)
{
	struct store *st = open_with_basics(NULL);
	struct store_reader *r = open_reader();
	struct nw_batch *b = nw_batch_new();

	put_row(b, 1, 1, 1, 1);
	CHECK_INT(commit(st, b), NW_OK);
	CHECK_INT(store_reader_begin(r), NW_OK);
	CHECK_INT(store_reader_begin(r), NW_EINVAL);
	b = nw_batch_new();
	put_row(b, 1, 2, 2, 2);
	nw_batch_seal(b, 1);
	CHECK_INT(commit(st, b), NW_OK);
	CHECK_INT(read_rows(r, 1, 0, INT64_MAX)->n, 1);
	store_close(st); /* moves both rows into a chunk */
	CHECK_INT(read_rows(r, 1, 0, INT64_MAX)->n, 1);
	store_reader_end(r);
	CHECK_INT(read_rows(r, 1, 0, INT64_MAX)->n, 2);
	store_reader_close(r);
}

/* --- the file --- */

static void
sql_do(const char *statement)
{
	sqlite3 *db = NULL;

	CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
	CHECK_INT(sqlite3_exec(db, statement, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void
test_open(void)
{
	struct store *st, *second;
	struct store_reader *r;
	FILE *f;

	files_remove();
	CHECK_INT(store_reader_open(path, &r, why), NW_ENOTFOUND);
	st = open_store(NULL);
	CHECK_INT(store_open(path, NULL, &second, why), NW_ECONFLICT);
	CHECK_STR(why, "in use by another process");
	store_close(st);
	sql_do("PRAGMA user_version = 1000");
	CHECK_INT(store_open(path, NULL, &second, why), NW_EVERSION);
	CHECK(strstr(why, "newer") != NULL);
	CHECK_INT(store_reader_open(path, &r, why), NW_EVERSION);
	files_remove();
	sql_do("CREATE TABLE x(y)");
	CHECK_INT(store_open(path, NULL, &second, why), NW_ECORRUPT);
	CHECK_STR(why, "not a narrows store");
	CHECK_INT(store_reader_open(path, &r, why), NW_ECORRUPT);
	files_remove();
	if ((f = fopen(path, "w")) != NULL) {
		fprintf(f, "%01000d", 0);
		fclose(f);
	}
	CHECK_INT(store_open(path, NULL, &second, why), NW_ECORRUPT);
	CHECK_INT(store_open("/nonexistent/narrows.db", NULL, &second, why), NW_EIO);
	CHECK(why[0] != '\0' && second == NULL);
}

static int
line_seen(void *arg, int n, char **value, char **name)
{
	char *out = arg;
	int i;

	(void)name;
	for (i = 0; i < n; i++)
		snprintf(out + strlen(out), 1000 - strlen(out), "%s%s", i ? "|" : "",
		    value[i] ? value[i] : "NULL");
	strcat(out, "\n");
	return 0;
}

/* What `sqlite3 narrows.db "select * from ..."` shows. */
static void
test_views(void)
{
	struct store *st = open_with_basics(NULL);
	struct nw_batch *b = nw_batch_new();
	char out[1200];
	sqlite3 *db = NULL;
	size_t i;
	static const struct {
		const char *sql, *want;
	} cases[] = {
		{ "SELECT * FROM v_session",
		    "5|2023-11-14T22:13:20Z|12.5|a -> b|rsync|1000.0|80.0|path|It was the "
		    "path.|closed|0|2.5|nightly|3\n"
		    "1|1970-01-01T00:00:00Z|NULL|NULL|NULL|NULL|NULL|NULL|NULL|open|0|NULL|NULL|"
		    "NULL\n" },
		{ "SELECT session, stage, verdict, judged, took_s, version FROM v_verdict",
		    "5|path|It was the path.|2023-11-14T22:13:40Z|0.5|0.1.0\n" },
		{ "SELECT layout, col, session, host, event_type, field, unit FROM v_series ORDER "
		  "BY 1, 2",
		    "1|0|1|h1|nl:tools:calipers:summary:read|a|NULL\n1|1|1|h1|nl:tools:calipers:"
		    "summary:read|b|NULL\n"
		    "2|0|1|h1|nl:tools:calipers:summary:read|sum_v|By\n2|1|1|h1|nl:tools:calipers:"
		    "summary:read|mean_r|By/ns\n" },
		{ "SELECT id, name, first_seen FROM v_host", "1|h1|NULL\n" },
		{ "SELECT count(*) FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT "
		  "LIKE 'sqlite%'"
		  " AND sql NOT LIKE '%--%'",
		    "0\n" },
	};

	nw_batch_session(b,
	    &(struct nw_session_rec){
		5, "t5", "cp", 1700000000000000000, 1700000030000000000, 0, false, false });
	nw_batch_run(b,
	    &(struct nw_run_rec){ .id = 1,
		.session_id = 5,
		.kind = "verdict",
		.started_wall_ns = 1700000020000000000,
		.took_ns = 500000000,
		.version = "0.1.0",
		.outcome = "ok" });
	nw_batch_result(b,
	    &(struct nw_result_rec){ 5, 1, "{}", "a -> b", "rsync", "path", "high", 2.5,
		"It was the path.", 1000, 80, 1700000000000000000, 12500000000, 2.5, "nightly", 3,
		false });
	nw_batch_layout(
	    b, &(struct nw_layout_rec){ 2, 1, 2, (const char *const[]){ "sum_v", "mean_r" } });
	CHECK_INT(commit(st, b), NW_OK);
	CHECK_INT(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		out[0] = '\0';
		CHECK_INT(sqlite3_exec(db, cases[i].sql, line_seen, out, NULL), SQLITE_OK);
		CHECK_STR(out, cases[i].want);
	}
	sqlite3_close(db);
	store_close(st);
}

/*
 * Full disk: what was stored stays, the reason is told, batches wait until the queue is full, and
 * when there is room again all of them are stored, without anybody asking. Only who closes
 * meanwhile hears that the rest is not stored.
 */
static struct nw_batch *
big_batch(int i, struct outcome *o)
{
	static double value[20000];
	static int64_t t[10000];
	struct nw_batch *b = nw_batch_new();
	int j;

	for (j = 0; j < 10000; j++)
		t[j] = 1000 + i * 10000 + j;
	CHECK_INT(nw_batch_rows(b, 1, 2, 10000, t, value, NULL, 0), NW_OK);
	nw_batch_provider(b, "host:h", "p", (uint64_t)i + 1);
	nw_batch_on_done(b, on_done, o);
	return b;
}

static void
count_rows(struct store_reader *r, size_t want)
{
	struct rows *k = read_rows(r, 1, 0, 1000);

	CHECK_INT(k->n, want);
}

static void
wait_trouble(struct store *st, bool want)
{
	struct timespec nap = { 0, 20000000 };
	struct store_stats stats;
	int i;

	for (i = 0; i < 200 * check_patience(); i++) {
		store_get_stats(st, &stats);
		if ((stats.trouble[0] != '\0') == want)
			break;
		nanosleep(&nap, NULL);
	}
	CHECK_INT(stats.trouble[0] != '\0', want);
}

static void
test_disk_full(void)
{
	struct store_opts opts = store_opts_default;
	struct outcome o = { 0, 0 };
	struct rlimit was, small;
	struct store_stats stats;
	struct store_reader *r;
	struct store *st;
	struct nw_batch *b = nw_batch_new();
	int i;

	opts.queue_max_bytes = 1000000;
	opts.commit_interval_ns = 0;
	st = open_with_basics(&opts);
	r = open_reader();
	put_row(b, 1, 1, 1, 1);
	CHECK_INT(commit(st, b), NW_OK);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	small = was;
	small.rlim_cur = 600000;
	setrlimit(RLIMIT_FSIZE, &small);
	for (i = 0; i < 20; i++) {
		b = big_batch(i, &o);
		if (store_submit(st, b) == NW_EFULL) {
			nw_batch_free(b);
			break;
		}
		if (i == 3)
			wait_trouble(st, true);
	}
	CHECK(i > 3 && i < 20);
	count_rows(r, 1);
	store_get_stats(st, &stats);
	CHECK(stats.queued_batches > 2 && stats.failed_batches == 0);
	setrlimit(RLIMIT_FSIZE, &was);
	wait_done(st, &o.n, i);
	CHECK_INT(o.rc, NW_OK);
	wait_trouble(st, false);
	store_get_stats(st, &stats);
	CHECK_INT(stats.rows, 1 + 10000 * i);
	CHECK_INT(store_verify(r, why), NW_OK);

	small.rlim_cur = 1;
	setrlimit(RLIMIT_FSIZE, &small);
	CHECK_INT(store_submit(st, big_batch(100, &o)), NW_OK);
	wait_trouble(st, true);
	store_close(st);
	CHECK(o.n == i + 1 && o.rc == NW_EIO);
	setrlimit(RLIMIT_FSIZE, &was);
	store_reader_close(r);
	r = open_reader();
	CHECK_INT(store_verify(r, why), NW_OK);
	store_reader_close(r);
}

/* --- kill -9 --- */

struct kill_state {
	int fd;
	uint32_t number;
};

static void
on_stored(void *arg, int rc)
{
	struct kill_state *k = arg;

	if (rc == NW_OK &&
	    write(k->fd, &k->number, sizeof(k->number)) != (ssize_t)sizeof(k->number))
		_exit(1);
	free(k);
}

/* Submits rows numbered from `next` for ever, several layouts in turn, and tells the numbers that
 * are stored. */
static void
child_run(int fd, uint32_t next)
{
	struct store *st = NULL;
	struct pollfd p;
	struct kill_state *k;
	struct nw_batch *b;
	uint32_t i, n;

	if (store_open(path, NULL, &st, why) != NW_OK)
		_exit(2);
	p = (struct pollfd){ .fd = store_completion_fd(st), .events = POLLIN };
	for (;; next++) {
		b = nw_batch_new();
		n = 1 + next % 97;
		/* value 0: the batch; value 1: the row in it. Late ones among them */
		for (i = 0; i < n; i++)
			nw_batch_rows(b, 1 + next % 5, 2, 1,
			    (int64_t[]){
				(int64_t)next * 1000 + (next % 11 == 0 ? -700000 : 0) + i },
			    (double[]){ next, i }, NULL, 0);
		nw_batch_provider(b, "host:h", "kill", next);
		if (next % 50 == 0)
			nw_batch_seal(b, 1);
		k = malloc(sizeof(*k));
		*k = (struct kill_state){ fd, next };
		nw_batch_on_done(b, on_stored, k);
		while (store_submit(st, b) == NW_EFULL && poll(&p, 1, 1000) >= 0)
			store_run_completions(st);
		if (poll(&p, 1, 0) == 1)
			store_run_completions(st);
	}
}

struct tally {
	uint32_t *rows;
	uint32_t n;
	bool bad;
};

static int
on_tally(void *arg, const struct store_block *k)
{
	struct tally *t = arg;
	size_t i;

	for (i = 0; i < k->n_rows; i++) {
		uint32_t number = (uint32_t)k->columns[0][i];

		if (number >= t->n || (i > 0 && k->t_wall_ns[i] < k->t_wall_ns[i - 1]))
			t->bad = true;
		else
			t->rows[number]++;
	}
	return 0;
}

static int
on_stored_seq(void *arg, const char *owner, const char *provider, uint64_t seq)
{
	(void)owner;
	(void)provider;
	*(uint64_t *)arg = seq;
	return 0;
}

/* Every batch that was told stored is there, and every batch is there whole and once or not at
 * all. */
static uint32_t
check_survivors(uint32_t told)
{
	static uint32_t rows[1 << 20];
	struct tally t = { rows, 1 << 20, false };
	struct store_reader *r = open_reader();
	uint32_t i, first_bad = 0, stored = 0;
	uint64_t seq = 0;
	int64_t layout;

	memset(rows, 0, sizeof(rows));
	CHECK_INT(store_reader_begin(r), NW_OK);
	for (layout = 1; layout <= 5; layout++)
		CHECK_INT(store_rows(r, layout, INT64_MIN, INT64_MAX, on_tally, &t), NW_OK);
	CHECK_INT(store_providers(r, on_stored_seq, &seq), NW_OK);
	store_reader_end(r);
	CHECK(!t.bad);
	for (i = 1; i < t.n; i++) {
		if (rows[i] == 0)
			continue;
		stored = i;
		if (rows[i] != 1 + i % 97 && first_bad == 0)
			first_bad = i;
	}
	for (i = 1; i <= told; i++)
		if (rows[i] == 0 && first_bad == 0)
			first_bad = i;
	CHECK_INT(first_bad, 0);
	CHECK_INT(seq, stored);
	CHECK(stored >= told);
	CHECK_INT(store_verify(r, why), NW_OK);
	if (why[0] != '\0')
		fprintf(stderr, "verify: %s\n", why);
	store_reader_close(r);
	return stored;
}

/* A box that is killed cannot say that its connections ended: the next one does. */
static void
test_abandoned(void)
{
	struct store *st = open_store(NULL);
	struct nw_batch *b = nw_batch_new();
	sqlite3 *db;
	sqlite3_stmt *stmt;

	nw_batch_session(b,
	    &(struct nw_session_rec){ .id = 900, .opened_wall_ns = 50, .last_data_wall_ns = 70 });
	nw_batch_xsp(b, &(struct nw_xsp_rec){ .id = 900, .session_id = 900, .opened_wall_ns = 60 });
	nw_batch_xsp(b, &(struct nw_xsp_rec){ .id = 901, .opened_wall_ns = 80 });
	nw_batch_host(
	    b, &(struct nw_host_rec){ .id = 900, .name = "abandoned", .last_seen_wall_ns = 95 });
	nw_batch_xsp(b, &(struct nw_xsp_rec){ .id = 903, .host_id = 900, .opened_wall_ns = 60 });
	nw_batch_xsp(b,
	    &(struct nw_xsp_rec){
		.id = 902, .opened_wall_ns = 80, .closed_wall_ns = 90, .end_reason = "closed" });
	CHECK_INT(commit(st, b), NW_OK);
	store_close(st);
	store_close(open_store(NULL));
	CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
	CHECK_INT(sqlite3_prepare_v2(db,
		      "SELECT group_concat(closed_ns || ' ' || end_reason) FROM"
		      " (SELECT * FROM xsp_session WHERE id >= 900 ORDER BY id)",
		      -1, &stmt, NULL),
	    SQLITE_OK);
	CHECK_INT(sqlite3_step(stmt), SQLITE_ROW);
	CHECK_STR((const char *)sqlite3_column_text(stmt, 0),
	    "70 the box ended,80 the box ended,90 closed,95 the box ended");
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

static void
test_kill(int rounds)
{
	struct store *st = open_with_basics(NULL);
	struct nw_batch *b = nw_batch_new();
	uint32_t next = 1, number, told = 0;
	int64_t layout;
	int fd[2], i;
	pid_t pid;

	for (layout = 2; layout <= 5; layout++)
		nw_batch_layout(b, &(struct nw_layout_rec){ layout, 1, 2, two_fields });
	CHECK_INT(commit(st, b), NW_OK);
	store_close(st);
	for (i = 0; i < rounds; i++) {
		struct timespec nap = { 0, (long)rnd(120000000) };

		if (pipe2(fd, O_CLOEXEC) == -1 || (pid = fork()) == -1) {
			CHECK(!"pipe and fork");
			return;
		}
		if (pid == 0) {
			close(fd[0]);
			child_run(fd[1], next);
		}
		close(fd[1]);
		/* every other child has come to store something, however slow the machine is */
		if (i % 2 == 1 && read(fd[0], &number, sizeof(number)) == (ssize_t)sizeof(number))
			told = number;
		nanosleep(&nap, NULL);
		kill(pid, SIGKILL);
		while (read(fd[0], &number, sizeof(number)) == (ssize_t)sizeof(number))
			told = number;
		close(fd[0]);
		waitpid(pid, NULL, 0);
		next = check_survivors(told) + 1;
	}
	CHECK(told >= (uint32_t)rounds / 2); /* else it proved nothing */
	printf("kill: %d rounds, %u batches told stored\n", rounds, told);
}

int
main(int argc, char **argv)
{
	int kills = argc > 2 && strcmp(argv[1], "-k") == 0 ? atoi(argv[2]) : 20;

	rng = argc > 2 && strcmp(argv[1], "-s") == 0 ? strtoull(argv[2], NULL, 0)
						     : (uint64_t)time(NULL) * 2654435761u + 1;
	printf("seed %" PRIu64 "\n", rng);
	if (!check_dir(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/narrows.db", dir);
	test_records();
	test_during();
	test_rows();
	test_late_rows();
	test_group_commit();
	test_full_queue();
	test_room();
	test_bad_batch();
	test_snapshot();
	test_open();
	test_views();
	test_disk_full();
	test_abandoned();
	test_kill(kills);
	files_remove();
	rmdir(dir);
	return check_done("store");
}
