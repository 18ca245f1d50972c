/* SPDX-License-Identifier: BSD-3-Clause */
/* Events: what goes in comes out in order and once, after merges, reopening and merged sessions;
 * what goes with its session, by age and by size. */
#include "store/write/writer.h"

#include <inttypes.h>
#include <math.h>

#include "narrows/err.h"
#include "narrows/maintenance.h"
#include "tests/check.h"
#include "tests/storefile.h"
#include "tests/verified.h"

#define SECOND INT64_C(1000000000)
#define BASE   (1700000000 * SECOND)

static char dir[32] = "/dev/shm/nw-events-XXXXXX", why[STORE_WHY_BYTES];
static struct store_opts opts;

static struct writer *
open_writer(void)
{
	struct writer *w = NULL;

	CHECK_INT(writer_open(path, &opts, NULL, &w, why), NW_OK);
	if (w == NULL)
		exit(1);
	return w;
}

static void
settle(struct writer *w)
{
	int i;

	for (i = 0; i < 10000 && writer_maintain(w, false) == WRITER_MORE; i++)
		continue;
}

static int64_t
count(struct writer *w, const char *sql)
{
	int64_t n = -1;

	CHECK_INT(db_int(w->c.db, sql, &n), NW_OK);
	return n;
}

static void
commit(struct writer *w, struct nw_batch *b, int want)
{
	CHECK_INT(writer_commit(w, b), NW_OK);
	CHECK_INT(b->rc, want);
	nw_batch_free(b);
}

static struct nw_batch *
described(int64_t n_sessions)
{
	struct nw_batch *b = nw_batch_new();
	int64_t i;

	nw_batch_host(b, &(struct nw_host_rec){ .id = 1, .name = "h1" });
	nw_batch_host(b, &(struct nw_host_rec){ .id = 2, .name = "h2" });
	for (i = 1; i <= n_sessions; i++)
		nw_batch_session(b, &(struct nw_session_rec){ .id = i, .opened_wall_ns = BASE });
	return b;
}

static int
put(struct nw_batch *b, int64_t session, int64_t host, int64_t t, int64_t block)
{
	const struct nw_attr attrs[] = { { "block.id", NW_ATTR_INT, true, { .i = block } },
		{ "x", NW_ATTR_REAL, false, { .d = 0.5 } },
		{ "msg", NW_ATTR_TEXT, false, { .text = block % 2 ? "odd" : "even" } } };
	const struct nw_event e = { .t_wall_ns = t,
		.host = block % 3 ? NULL : "told",
		.program = "p",
		.name = block % 2 ? "io.start" : "io.end",
		.n_attrs = 3,
		.attrs = attrs };

	return nw_batch_event(b, session, host, &e);
}

/* --- reading --- */

struct seen {
	int64_t n, last, sum;
	bool fell;
	char host[16];
};

static int
on_event(void *arg, const struct nw_event_rec *r)
{
	struct seen *s = arg;

	s->fell |= s->n > 0 && r->event.t_wall_ns < s->last;
	s->last = r->event.t_wall_ns;
	s->sum += r->event.attrs[0].v.i;
	s->n++;
	snprintf(s->host, sizeof(s->host), "%s", r->event.host != NULL ? r->event.host : "-");
	return 0;
}

static struct seen
read_events(const struct nw_event_select *s)
{
	struct store_reader *r = NULL;
	struct seen seen = { 0 };

	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	CHECK_INT(store_events(r, s, on_event, &seen), NW_OK);
	store_reader_close(r);
	CHECK(!seen.fell);
	return seen;
}

static void
verified(void)
{
	char fault[STORE_WHY_BYTES];
	struct store_reader *r = NULL;

	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	CHECK_INT(store_verify(r, fault), NW_OK);
	if (fault[0] != '\0')
		fprintf(stderr, "%s\n", fault);
	store_reader_close(r);
}

static void
test_select(void)
{
	struct writer *w = open_writer();
	struct nw_batch *b = described(1);
	int64_t i;

	for (i = 0; i < 90; i++)
		CHECK_INT(put(b, i < 60 ? 1 : 0, i < 30 ? 1 : 2, BASE + (i ^ 5), i), NW_OK);
	commit(w, b, NW_OK);
	CHECK_INT(read_events(&(struct nw_event_select){ 0 }).n, 90);
	CHECK_INT(read_events(&(struct nw_event_select){ .session_id = 1 }).n, 60);
	CHECK_INT(read_events(&(struct nw_event_select){ .session_id = STORE_SESSION_NONE }).n, 30);
	CHECK_INT(read_events(&(struct nw_event_select){ .session_id = 1, .host_id = 2 }).n, 30);
	CHECK_INT(read_events(&(struct nw_event_select){ .host = "told" }).n, 30);
	CHECK_INT(read_events(&(struct nw_event_select){ .host = "h1" }).n, 20);
	CHECK_INT(read_events(&(struct nw_event_select){ .name = "io.end" }).n, 45);
	CHECK_INT(read_events(&(struct nw_event_select){ .name = "io.*" }).n, 90);
	CHECK_INT(read_events(&(struct nw_event_select){ .name = "io" }).n, 0);
	CHECK_INT(read_events(&(struct nw_event_select){ .program = "q" }).n, 0);
	CHECK_INT(read_events(&(struct nw_event_select){ .key = "block.id", .value = "7" }).sum, 7);
	CHECK_INT(read_events(&(struct nw_event_select){ .value = "odd" }).n, 45);
	CHECK_INT(read_events(&(struct nw_event_select){ .value = "0.5" }).n, 90);
	CHECK_INT(read_events(&(struct nw_event_select){ .key = "x", .value = "odd" }).n, 0);
	CHECK_INT(read_events(&(struct nw_event_select){ .key = "none" }).n, 0);
	CHECK_INT(read_events(&(struct nw_event_select){
				  .from_wall_ns = BASE + 10, .to_wall_ns = BASE + 20 })
		      .n,
	    10);
	CHECK_STR(read_events(&(struct nw_event_select){ .value = "88" }).host, "h2");
	writer_close(w);
	files_remove();
}

/* Thousands of small commits of one pair, with times that go back: the rows become few, and every
 * event is read once, in order, with more rows at a time than are kept open. */
static void
test_merge(void)
{
	struct writer *w = open_writer();
	struct store_reader *r = NULL;
	struct nw_event_span span;
	struct nw_batch *b;
	int64_t i, k;

	commit(w, described(1), NW_OK);
	for (i = 0; i < 1200; i++) {
		b = nw_batch_new();
		for (k = 0; k < 3; k++)
			put(b, 1, 1, BASE + (int64_t)rnd(1000000), 3 * i + k);
		commit(w, b, NW_OK);
		if (i == 200) { /* rows that all overlap, more than are kept open */
			CHECK_INT(count(w, "SELECT count(*) FROM event_chunk"), 201);
			CHECK_INT(read_events(&(struct nw_event_select){ 0 }).n, 603);
		}
		if (i > 600)
			settle(w);
	}
	CHECK(count(w, "SELECT count(*) FROM event_chunk") <= 3 * 15);
	CHECK_INT(read_events(&(struct nw_event_select){ .session_id = 1 }).n, 3600);
	CHECK_INT(read_events(&(struct nw_event_select){ 0 }).sum, 3600 * 3599 / 2);
	verified();
	writer_close(w);
	w = open_writer();
	settle(w);
	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	CHECK_INT(store_event_span(r, 1, &span), NW_OK);
	CHECK(span.n == 3600 && span.first_wall_ns >= BASE && span.last_wall_ns < BASE + 1000000);
	CHECK_INT(store_event_span(r, 2, &span), NW_OK);
	CHECK_INT(span.n, 0);
	store_reader_close(r);
	writer_close(w);
	files_remove();
}

/* A session's events go with the session into another one, or away; events of a session that is
 * forgotten belong to the host, of one that never was are a contradiction. */
static void
test_sessions(void)
{
	struct writer *w = open_writer();
	struct nw_batch *b = described(3);
	int64_t id = 0;
	const struct forget_search search = { INT64_MAX, forget_settled_in_need_ns, HOST_ANY };

	w->c.test_wall_ns = BASE;
	put(b, 1, 1, BASE, 10);
	put(b, 2, 1, BASE, 20);
	put(b, 3, 1, BASE, 30);
	nw_batch_merge(b, 1, 2);
	commit(w, b, NW_OK);
	CHECK_INT(read_events(&(struct nw_event_select){ .session_id = 2 }).sum, 30);
	b = nw_batch_new();
	nw_batch_session(
	    b, &(struct nw_session_rec){ .id = 2, .opened_wall_ns = BASE, .closed_wall_ns = BASE });
	commit(w, b, NW_OK);
	w->c.test_wall_ns = BASE + 7200 * SECOND;
	CHECK_INT(forget_oldest(&w->forgetter, &search, &id), NW_OK);
	CHECK_INT(id, 2);
	CHECK_INT(forget_session(&w->forgetter, 2), NW_OK);
	CHECK_INT(read_events(&(struct nw_event_select){ 0 }).sum, 30);
	b = nw_batch_new();
	put(b, 2, 1, BASE, 40);
	commit(w, b, NW_OK);
	CHECK_INT(
	    read_events(&(struct nw_event_select){ .session_id = STORE_SESSION_NONE }).sum, 40);
	b = nw_batch_new();
	put(b, 77, 1, BASE, 50);
	commit(w, b, NW_ECONFLICT);
	CHECK_INT(read_events(&(struct nw_event_select){ 0 }).sum, 70);
	verified();
	writer_close(w);
	files_remove();
}

static void
test_expiry(void)
{
	struct writer *w;
	struct nw_batch *b = described(2);
	int64_t i;

	opts.keep_events_ns = 3600 * SECOND;
	w = open_writer();
	w->c.test_wall_ns = BASE;
	for (i = 1; i <= 2; i++)
		put(b, i, 1, INT64_MIN + i, i); /* however old an event says it is */
	commit(w, b, NW_OK);
	CHECK_INT(store_pin(path, 2, true, why), NW_OK);
	settle(w);
	CHECK_INT(read_events(&(struct nw_event_select){ 0 }).n, 2);
	w->c.test_wall_ns = BASE + 3601 * SECOND;
	settle(w);
	CHECK_INT(read_events(&(struct nw_event_select){ 0 }).sum, 2);
	CHECK_INT(store_pin(path, 2, false, why), NW_OK);
	w->c.test_wall_ns = BASE + 3700 * SECOND;
	settle(w);
	CHECK_INT(read_events(&(struct nw_event_select){ 0 }).n, 0);
	verified();
	writer_close(w);
	opts.keep_events_ns = 0;
	files_remove();
}

/* A host that sends a new name with each event fills its share, and loses its own events; another
 * host keeps its events. */
static void
test_flood(void)
{
	struct writer *w;
	struct nw_batch *b = described(0);
	struct nw_event e = { .program = "flood" };
	char name[64];
	int i, k;

	opts.max_bytes = 16 << 20;
	w = open_writer();
	for (i = 0; i < 1000; i++)
		put(b, 0, 1, BASE + i, i);
	commit(w, b, NW_OK);
	e.name = name;
	for (i = 0; i < 400; i++) {
		b = nw_batch_new();
		for (k = 0; k < 4000; k++) {
			snprintf(name, sizeof(name), "name.%016" PRIx64 "%016" PRIx64,
			    rnd(UINT64_MAX), rnd(UINT64_MAX));
			e.t_wall_ns = BASE + i * 4000 + k;
			nw_batch_event(b, 0, 2, &e);
		}
		commit(w, b, NW_OK);
		settle(w);
	}
	CHECK_INT(read_events(&(struct nw_event_select){ .host_id = 1 }).n, 1000);
	CHECK(count(w, "PRAGMA page_count") * count(w, "PRAGMA page_size") <= 16 << 20);
	CHECK(count(w, "SELECT sum(n) FROM event_chunk WHERE host_id = 2") > 50000);
	verified();
	writer_close(w);
	opts.max_bytes = 0;
	files_remove();
}

int
main(void)
{
	rng = 88172645463325252u;
	opts = store_opts_default;
	opts.sync_full = false;
	if (!check_dir(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/store.db", dir);
	test_select();
	test_merge();
	test_sessions();
	test_expiry();
	test_flood();
	rmdir(dir);
	return check_done("events");
}
