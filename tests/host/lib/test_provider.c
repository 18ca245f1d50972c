/* SPDX-License-Identifier: BSD-3-Clause */
/* Providers against a box that answers, dies, refuses, lies, or is an original: nothing lost,
 * nothing twice. */
#include "narrows/provider.h"

#include "host/lib/hostconf.h"
#include "tests/fakebox.h"
#include "narrows/clock.h"
#include "narrows/hist.h"

#define MS INT64_C(1000000)

static struct nw_provider *
provider_start(const char *box, uint32_t queue_max_bytes)
{
	const struct nw_provider_opts opts = { .box = box,
		.software = "test",
		.host = "dtn1",
		.task_id = "task-7",
		.program = "cp",
		.queue_max_bytes = queue_max_bytes };
	struct nw_provider *p = NULL;

	CHECK_INT(nw_provider_new(&opts, &p), NW_OK);
	return p;
}

static void
add_meta(struct nw_provider *p, const char *id)
{
	const struct nw_kv subject[] = { { "type", NW_KV_TEXT, { .text = "host" } } };
	const struct nw_kv params[] = { { "collectionInterval", NW_KV_REAL, { .d = 1.0 } } };

	CHECK_INT(nw_provider_meta(p, id, NULL, "test:event", subject, 1, params, 1), NW_OK);
}

static uint64_t next_value;

/* Document number N of a provider carries the value N. */
static int
add_doc(struct nw_provider *p, const uint8_t *hist, size_t hist_len)
{
	static const char *const fields[] = { "v" };
	double value = (double)++next_value;

	return nw_provider_data(
	    p, "m1", 1700000000 * INT64_C(1000000000), fields, &value, 1, hist, hist_len);
}

static void
add_docs(struct nw_provider *p, unsigned n)
{
	while (n-- > 0)
		CHECK_INT(add_doc(p, NULL, 0), NW_OK);
}

/* Lets both run until `done` or the time is over; returns whether it was. */
#define DRIVE(p, b, ms, done)                                             \
	do {                                                              \
		int64_t end_ = nw_mono_ns() + (ms)*MS * check_patience(); \
		while (!(done) && nw_mono_ns() < end_) {                  \
			CHECK_INT(nw_provider_run(p, MS), NW_OK);         \
			fakebox_step(b);                                  \
		}                                                         \
		CHECK(done);                                              \
	} while (0)

static struct nw_provider_stats
stats_of(const struct nw_provider *p)
{
	struct nw_provider_stats s;

	nw_provider_get_stats(p, &s);
	return s;
}

/* Documents lo..hi came, each at its number. */
static void
check_values(const struct fakebox *b, uint64_t lo, uint64_t hi)
{
	uint64_t i, wrong = 0;

	for (i = lo; i <= hi; i++)
		wrong += b->value_of[i] != (double)i;
	CHECK_INT(wrong, 0);
}

static void
test_plain(void)
{
	struct nw_provider *p;
	struct fakebox b;

	next_value = 0;
	fakebox_start(&b);
	b.commit_each = true;
	p = provider_start(b.addr, 0);
	add_meta(p, "m1");
	add_docs(p, 100);
	DRIVE(p, &b, 2000, stats_of(p).docs_stored == 100);
	CHECK_INT(b.accepts, 1);
	CHECK_INT(b.hellos, 1);
	CHECK_INT(b.metas, 1);
	CHECK_INT(b.docs, 100);
	CHECK_INT(b.orphans, 0);
	check_values(&b, 1, 100);
	CHECK_STR(b.software, "test");
	CHECK_STR(b.host, "dtn1");
	CHECK_STR(b.task_id, "task-7");
	CHECK_INT(b.first_seq, 1);
	CHECK_INT(b.pid, getpid());
	CHECK(b.time_ns > 1600000000 * INT64_C(1000000000));
	CHECK_INT(strlen(b.provider), 36);
	CHECK(b.provider[14] == '4');
	CHECK(stats_of(p).connected && stats_of(p).acknowledged);
	CHECK_INT(stats_of(p).queue_bytes, 0);
	fakebox_send(&b, 0, NW_MSG_PING, NULL);
	DRIVE(p, &b, 1000, b.others == 1); /* its PONG */
	CHECK_INT(nw_provider_close(p, 0), NW_OK);
	fakebox_step(&b);
	CHECK_INT(b.closes, 1);
	fakebox_stop(&b);
}

/* The box stores 1..30, receives up to 50, dies; after the restart it must get 31.. and nothing
 * before. */
static void
test_reconnect(void)
{
	struct nw_provider *p;
	struct fakebox b;

	next_value = 0;
	fakebox_start(&b);
	p = provider_start(b.addr, 0);
	add_meta(p, "m1");
	add_meta(p, "m2");
	add_docs(p, 50);
	DRIVE(p, &b, 2000, b.received == 50);
	fakebox_commit(&b, 20);
	DRIVE(p, &b, 2000, stats_of(p).docs_stored == 20);
	b.stored = 30; /* ten more were committed, nobody heard */
	fakebox_hang_up(&b);
	add_docs(p, 25);
	b.commit_each = true;
	DRIVE(p, &b, 4000, stats_of(p).docs_stored == 75);
	CHECK_INT(b.accepts, 2);
	CHECK_INT(b.metas, 4);  /* both again */
	CHECK_INT(b.hellos, 3); /* 21, then 31 because 21..30 were there */
	CHECK_INT(b.first_seq, 31);
	CHECK_INT(b.copies_of[30], 1);
	CHECK_INT(b.copies_of[31], 2);
	CHECK_INT(b.docs, 50 + 45);
	check_values(&b, 1, 75);
	CHECK_INT(stats_of(p).docs_sent, 75);
	CHECK_INT(stats_of(p).docs_dropped, 0);
	CHECK_INT(stats_of(p).connects, 2);
	CHECK_INT(nw_provider_close(p, 0), NW_OK);
	fakebox_stop(&b);
}

/* Dies at arbitrary places, also in the middle of frames, and stores only part of what it got. */
static void
test_many_deaths(void)
{
	struct nw_provider *p;
	struct fakebox b;
	unsigned life, i;

	next_value = 0;
	fakebox_start(&b);
	p = provider_start(b.addr, 0);
	add_meta(p, "m1");
	for (life = 0; life < 2; life++) {
		uint64_t before = b.received;

		add_docs(p, 300);
		b.read_max_bytes = 997 + 331 * life;
		DRIVE(p, &b, 4000, b.received >= before + 40);
		for (i = 0; i < 3; i++)
			nw_provider_run(p, 0);
		fakebox_commit(&b, b.stored + (b.received - b.stored) / 2);
		fakebox_hang_up(&b);
	}
	b.read_max_bytes = 0;
	b.commit_each = true;
	DRIVE(p, &b, 6000, stats_of(p).docs_stored == 600);
	check_values(&b, 1, 600);
	CHECK_INT(b.orphans, 0);
	CHECK_INT(nw_provider_close(p, 0), NW_OK);
	fakebox_stop(&b);
}

static void
test_original(void)
{
	struct nw_provider *p;
	struct fakebox b;

	next_value = 0;
	fakebox_start(&b);
	b.original = true;
	p = provider_start(b.addr, 0);
	add_meta(p, "m1");
	add_docs(p, 20);
	DRIVE(p, &b, 500, b.hellos == 1);
	CHECK_INT(b.docs, 0); /* waits for an answer first */
	DRIVE(p, &b, 2000, b.docs == 20);
	CHECK(stats_of(p).connected && !stats_of(p).acknowledged);
	CHECK_INT(stats_of(p).queue_bytes, 0); /* nothing kept */
	CHECK_INT(stats_of(p).docs_stored, 0);
	fakebox_hang_up(&b);
	add_docs(p, 5);
	DRIVE(p, &b, 4000, b.docs == 25); /* and nothing twice */
	check_values(&b, 1, 25);
	CHECK_INT(b.metas, 2);
	fakebox_say_stored(&b, NW_OPT_HELLO, 22); /* it was only slow */
	DRIVE(p, &b, 1000, stats_of(p).acknowledged);
	b.original = false;
	add_docs(p, 1);
	DRIVE(p, &b, 1000, b.docs == 26);
	CHECK(stats_of(p).queue_bytes > 0);
	fakebox_commit(&b, 26);
	DRIVE(p, &b, 1000, stats_of(p).docs_stored == 1);
	CHECK_INT(nw_provider_close(p, 0), NW_OK);
	fakebox_stop(&b);
}

/* While nobody listens the oldest go, counted, and the numbers of the rest stay theirs. */
static void
test_bounds(void)
{
	struct nw_provider_stats s;
	struct nw_provider *p;
	struct fakebox b;
	uint8_t *big = calloc(1, 70000);

	next_value = 0;
	fakebox_start(&b);
	p = provider_start(b.addr, 64 << 10);
	CHECK_INT(nw_provider_data(p, "m1", 0, NULL, NULL, 0, big, 70000), NW_ETOOBIG);
	add_meta(p, "m1");
	add_docs(p, 2000);
	s = stats_of(p);
	CHECK_INT(s.docs_queued, 2000);
	CHECK(s.docs_dropped > 1000 && s.queue_bytes <= 64 << 10);
	b.commit_each = true;
	DRIVE(p, &b, 2000, b.received == 2000);
	CHECK_INT(b.first_seq, s.docs_dropped + 1);
	check_values(&b, s.docs_dropped + 1, 2000);
	/* now a gap inside one connection: documents go before they were sent */
	add_docs(p, 1500);
	DRIVE(p, &b, 2000, b.received == 3500);
	CHECK_INT(b.accepts, 1);
	CHECK_INT(b.hellos, 2);
	CHECK(b.first_seq > 2001);
	check_values(&b, b.first_seq, 3500);
	CHECK(isnan(b.value_of[2001]));
	DRIVE(p, &b, 1000, stats_of(p).queue_bytes == 0);
	CHECK_INT(nw_provider_close(p, 0), NW_EAGAIN); /* not everything arrived */
	fakebox_stop(&b);
	free(big);
}

static void
test_slow_reader(void)
{
	struct nw_provider *p;
	struct fakebox b;
	static uint64_t counts[NW_HIST_BUCKETS];
	static uint8_t hist[NW_HIST_ENCODED_MAX_BYTES];
	size_t hist_len;
	int small = 4096;
	unsigned i;

	for (i = 0; i < NW_HIST_BUCKETS; i++)
		counts[i] = UINT64_MAX >> 2;
	hist_len = nw_hist_encode(hist, counts);

	next_value = 0;
	fakebox_start(&b);
	setsockopt(b.listen_fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	b.commit_each = true;
	b.read_max_bytes = 20011;
	p = provider_start(b.addr, 8 << 20);
	add_meta(p, "m1");
	for (i = 0; i < 40; i++)
		CHECK_INT(add_doc(p, hist, hist_len), NW_OK);
	DRIVE(p, &b, 4000, stats_of(p).docs_stored == 40);
	CHECK_INT(b.hist_bytes, 40 * hist_len);
	check_values(&b, 1, 40);
	CHECK_INT(nw_provider_close(p, 0), NW_OK);
	fakebox_stop(&b);
}

/* Documents share messages where the box says so, whole and in order, however slowly it reads. */
static void
test_joined(size_t read_max_bytes)
{
	enum { DOCS = 2000 };
	struct nw_provider *p;
	struct fakebox b;
	int small = 4096;

	next_value = 0;
	fakebox_start(&b);
	if (read_max_bytes > 0)
		setsockopt(b.listen_fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	b.read_max_bytes = read_max_bytes;
	b.joins = true;
	p = provider_start(b.addr, 0);
	add_meta(p, "m1");
	DRIVE(p, &b, 2000, b.metas == 1);
	add_docs(p, DOCS);
	DRIVE(p, &b, 8000, b.docs == DOCS);
	check_values(&b, 1, DOCS);
	CHECK_INT(b.hellos, 1);
	CHECK(b.messages < DOCS / NW_FRAME_JOINED_BLOCKS * 3 / 2);
	fakebox_commit(&b, DOCS);
	DRIVE(p, &b, 2000, stats_of(p).docs_stored == DOCS);
	/* another connection, to a box that does not */
	fakebox_hang_up(&b);
	b.joins = false;
	add_docs(p, 10);
	DRIVE(p, &b, 4000, b.docs == DOCS + 10);
	check_values(&b, DOCS + 1, DOCS + 10);
	CHECK_INT(nw_provider_close(p, 0), NW_EAGAIN);
	fakebox_stop(&b);
}

/* Ended metadata goes once its last document is stored, not before. */
static void
test_meta_end(void)
{
	struct nw_provider *p;
	struct fakebox b;

	next_value = 0;
	fakebox_start(&b);
	p = provider_start(b.addr, 0);
	add_meta(p, "m1");
	add_meta(p, "m2");
	add_docs(p, 10);
	nw_provider_meta_end(p, "m1");
	DRIVE(p, &b, 2000, b.received == 10);
	CHECK_INT(b.metas, 2);
	fakebox_commit(&b, 9);
	DRIVE(p, &b, 1000, stats_of(p).docs_stored == 9);
	fakebox_hang_up(&b);
	DRIVE(p, &b, 3000, b.docs == 11);
	CHECK_INT(b.metas, 4); /* document 10 still needed it */
	fakebox_commit(&b, 10);
	DRIVE(p, &b, 1000, stats_of(p).docs_stored == 10);
	fakebox_hang_up(&b);
	DRIVE(p, &b, 3000, b.metas == 5);
	CHECK_STR(b.last_meta_id, "m2");
	add_meta(p, "m2"); /* replaced: said again at once */
	DRIVE(p, &b, 1000, b.metas == 6);
	CHECK_INT(nw_provider_close(p, 0), NW_OK);
	fakebox_stop(&b);
}

static void
test_refused(void)
{
	struct nw_provider *p;
	struct fakebox b;
	char gone[32];

	next_value = 0;
	fakebox_start(&b);
	b.refuse = true;
	p = provider_start(b.addr, 0);
	add_docs(p, 1);
	DRIVE(p, &b, 2000, stats_of(p).connect_failures == 1);
	CHECK_STR(nw_provider_why(p), "come back later");
	fakebox_hang_up(&b);
	b.refuse = false;
	b.commit_each = true;
	DRIVE(p, &b, 2000, stats_of(p).docs_stored == 1);
	CHECK_INT(nw_provider_close(p, 0), NW_OK);
	snprintf(gone, sizeof(gone), "%s", b.addr);
	fakebox_stop(&b);

	p = provider_start(gone, 0); /* nobody there: time runs, nothing else happens */
	add_docs(p, 1);
	CHECK_INT(nw_provider_run(p, 300 * MS), NW_OK);
	CHECK(stats_of(p).connect_failures >= 1 && !stats_of(p).connected);
	CHECK_INT(nw_provider_close(p, 10 * MS), NW_EAGAIN);
	CHECK_INT(nw_provider_close(NULL, 0), NW_OK);
}

static void
raw(struct fakebox *b, const void *bytes, size_t len)
{
	CHECK(write(b->fd, bytes, len) == (ssize_t)len);
}

/* Whatever the box says, at worst the connection ends; what was not sent is not released. */
static void
test_hostile_box(void)
{
	static const uint8_t version9[NW_FRAME_V0_HEADER] = { 9 };
	uint8_t huge[176 + 8] = { [0] = 1,
		[3] = NW_MSG_APP_DATA,
		[5] = 1,
		[169] = NW_OPT_STORED,
		[172] = 0xff,
		[173] = 0xff,
		[176] = 0x7f };
	const struct nw_block cut = {
		.type = NW_OPT_STORED, .data = (const uint8_t *)"\x20\0\0\0x", .len = 5
	};
	struct nw_provider *p;
	struct fakebox b;

	next_value = 0;
	fakebox_start(&b);
	p = provider_start(b.addr, 0);
	add_meta(p, "m1");
	add_docs(p, 3);
	DRIVE(p, &b, 2000, b.received == 3);
	fakebox_say_stored(&b, NW_OPT_STORED, -5);
	fakebox_send(&b, 1, NW_MSG_APP_DATA, &cut);
	fakebox_say_stored(&b, 0x8e, 3);
	nw_provider_run(p, 20 * MS);
	CHECK_INT(stats_of(p).docs_stored, 0);
	add_docs(p, 2);
	/* read before 4 and 5 are sent: it cannot have them */
	fakebox_say_stored(&b, NW_OPT_STORED, INT64_MAX);
	DRIVE(p, &b, 1000, b.received == 5);
	CHECK_INT(stats_of(p).docs_stored, 3);
	raw(&b, version9, sizeof(version9));
	DRIVE(p, &b, 1000, !stats_of(p).connected);
	fakebox_hang_up(&b);
	DRIVE(p, &b, 3000, stats_of(p).connected && b.received == 5 && b.copies_of[5] == 2);
	raw(&b, huge, sizeof(huge));
	DRIVE(p, &b, 1000, !stats_of(p).connected);
	CHECK_STR(nw_provider_why(p), "block too long");
	CHECK_INT(nw_provider_close(p, 0), NW_EAGAIN);
	fakebox_stop(&b);
}

static void
test_arguments(void)
{
	struct nw_provider_opts opts = { .box = "a b/5006" };
	struct nw_provider *p = NULL;
	double v = 1;
	const char *const field = "v";

	CHECK_INT(nw_provider_new(&opts, &p), NW_EINVAL);
	CHECK(p == NULL);
	setenv("NARROWS_BOX", "no/such/box", 1);
	opts.box = NULL;
	CHECK_INT(nw_provider_new(&opts, &p), NW_EINVAL);
	unsetenv("NARROWS_BOX");
	CHECK_INT(nw_provider_new(&opts, &p), NW_OK);
	CHECK_INT(nw_provider_meta(p, "", NULL, "e", NULL, 0, NULL, 0), NW_EINVAL);
	CHECK_INT(nw_provider_meta(p, "m", NULL, "", NULL, 0, NULL, 0), NW_EINVAL);
	CHECK_INT(nw_provider_data(p, NULL, 0, &field, &v, 1, NULL, 0), NW_EINVAL);
	CHECK_INT(nw_provider_close(p, 0), NW_OK);
}

/*
 * Every allocation fails once: the call says so, nothing leaks, and the provider goes on. The
 * sanitizers have a malloc of their own; they find the leaks of the other tests.
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif

#ifndef SANITIZED
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *p);

static int fail_in, live;
static bool counting;

/* the C library's own calls (strdup) are to come here, too */
#pragma GCC visibility push(default)
void *malloc(size_t size);
void *calloc(size_t n, size_t size);
void *realloc(void *old, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
int posix_memalign(void **out, size_t alignment, size_t size);
void free(void *p);
#pragma GCC visibility pop

static bool
is_refused(void)
{
	return counting && fail_in > 0 && --fail_in == 0;
}

void *
malloc(size_t size)
{
	void *p = is_refused() ? NULL : __libc_malloc(size);

	live += counting && p != NULL;
	return p;
}

void *
calloc(size_t n, size_t size)
{
	void *p = is_refused() ? NULL : __libc_calloc(n, size);

	live += counting && p != NULL;
	return p;
}

void *
realloc(void *old, size_t size)
{
	void *p = is_refused() ? NULL : __libc_realloc(old, size);

	live += counting && p != NULL && old == NULL;
	return p;
}

/* Only libbson's, for its 128 bytes per encoder; it ends the program when it cannot have them, so
 * it gets them. */
void *
aligned_alloc(size_t alignment, size_t size)
{
	void *p = __libc_memalign(alignment, size);

	live += counting && p != NULL;
	return p;
}

/* The same in newer versions of it. */
int
posix_memalign(void **out, size_t alignment, size_t size)
{
	return (*out = aligned_alloc(alignment, size)) != NULL ? 0 : ENOMEM;
}

void
free(void *p)
{
	live -= counting && p != NULL;
	__libc_free(p);
}

static void
test_no_memory(void)
{
	const struct nw_provider_opts opts = {
		.box = "127.0.0.1/1", .software = "t", .host = "h", .task_id = "x"
	};
	const struct nw_kv subject[] = { { "type", NW_KV_TEXT, { .text = "host" } } };
	const char *const field = "v";
	struct nw_provider *p;
	double v = 1;
	int n, rc[4], failed, i;

	(void)hostconf_get(); /* is read once, and kept */
	for (n = 1, failed = 1; failed > 0 && n < 100; n++) {
		p = NULL;
		live = 0;
		fail_in = n;
		counting = true;
		rc[0] = nw_provider_new(&opts, &p);
		for (i = 1; i < 4; i++)
			rc[i] = p == NULL ? NW_OK
			    : i == 1      ? nw_provider_meta(p, "m", NULL, "e", subject, 1, NULL, 0)
					  : nw_provider_data(p, "m", 0, &field, &v, 1, NULL, 0);
		nw_provider_close(p, 0);
		counting = false;
		for (i = failed = 0; i < 4; i++) {
			CHECK(rc[i] == NW_OK || rc[i] == NW_ENOMEM);
			failed += rc[i] == NW_ENOMEM;
		}
		CHECK(failed <= 1);
		CHECK_INT(live, 0);
	}
	CHECK(n > 8 && n < 100);
}
#else
static void
test_no_memory(void)
{
}
#endif

int
main(void)
{
	test_no_memory();
	test_plain();
	test_reconnect();
	test_many_deaths();
	test_original();
	test_bounds();
	test_slow_reader();
	test_joined(0);
	test_joined(1009);
	test_meta_end();
	test_refused();
	test_hostile_box();
	test_arguments();
	return check_done("provider");
}
