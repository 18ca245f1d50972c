/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Nth allocation on behalf of a connection fails, for every N: that connection may end, the box
 * and other connections go on, and what was stored stays.
 */
#include <signal.h>

#include <bson/bson.h>

#include "narrows/xmalloc.h"
#include "tests/daemon/boxed.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_MALLOC 0
#else
#define OWN_MALLOC 1
#endif

static _Thread_local long at, seen; /* 0: nothing fails */

#if OWN_MALLOC
static bool
fails(void)
{
	return at > 0 && ++seen == at;
}

#pragma GCC visibility push(default) /* libevent and libbson shall find these, too */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

void *
malloc(size_t n)
{
	return fails() ? NULL : __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
	return fails() ? NULL : __libc_realloc(p, n);
}
#pragma GCC visibility pop
#endif

static const uint8_t sess_id[NW_SESS_ID_BYTES] = "memory";

static void *
realloc_or_spend(void *p, size_t bytes)
{
	return xreallocarray(p, bytes, 1);
}

static void
frame_send(int fd, uint16_t type, uint16_t block_type, const void *data, size_t len)
{
	static uint8_t buf[1 << 16];
	struct nw_block b = { .type = block_type, .data = data, .len = len };
	long n = nw_frame_write(buf, sizeof(buf), 1, type, sess_id, &b, 1);

	(void)!send(fd, buf, (size_t)n, MSG_NOSIGNAL);
}

static void
kv_send(int fd, uint16_t opt, const struct nw_kv *kv, size_t n)
{
	struct nw_doc_buf doc = { 0 };

	if (nw_kv_encode(&doc, kv, n) != NW_OK)
		abort();
	frame_send(fd, NW_MSG_APP_DATA, opt, doc.data, doc.len);
	nw_doc_buf_clear(&doc);
}

static void
open_send(int fd)
{
	uint8_t hop[20];

	frame_send(fd, NW_MSG_AUTH_TYPE, NW_BLOCK_AUTH_TYP, "ANON\0\0\0\0\0", 10);
	nw_open_write(hop, sess_id);
	frame_send(fd, NW_MSG_SESS_OPEN, NW_BLOCK_HOP, hop, sizeof(hop));
}

static void
hello_send(int fd, const char *provider, int64_t first_seq)
{
	const struct nw_kv kv[] = { { "provider", NW_KV_TEXT, { .text = provider } },
		{ "first_seq", NW_KV_INT, { .i = first_seq } },
		{ "task_id", NW_KV_TEXT, { .text = "a task with a name" } },
		{ "software", NW_KV_TEXT, { .text = "test_memory" } },
		{ "host", NW_KV_TEXT, { .text = provider } },
		{ "can", NW_KV_TEXT, { .text = "start stop rate status clock" } } };

	kv_send(fd, NW_OPT_HELLO, kv, sizeof(kv) / sizeof(kv[0]));
}

static void
series_send(int fd, const char *mid)
{
	static const char *const fields[] = { "bytes", "count" };
	const struct nw_kv subject[] = { { "task_id", NW_KV_TEXT,
					     { .text = "a task with a name" } },
		{ "src", NW_KV_TEXT, { .text = "192.0.2.1" } },
		{ "dst", NW_KV_TEXT, { .text = "192.0.2.2" } } };
	const double values[] = { 1, 2 };
	struct nw_doc_buf doc = { 0 };

	if (nw_meta_encode(&doc, mid, NULL, "nl:read", subject, 3, NULL, 0) != NW_OK)
		abort();
	frame_send(fd, NW_MSG_APP_DATA, NW_OPT_META, doc.data, doc.len);
	nw_doc_buf_clear(&doc);
	if (nw_data_encode(&doc, mid, INT64_C(1700000000000000000), fields, values, 2, NULL, 0) !=
	    NW_OK)
		abort();
	frame_send(fd, NW_MSG_APP_DATA, NW_OPT_DATA, doc.data, doc.len);
	nw_doc_buf_clear(&doc);
}

static bool
is_open(int fd)
{
	uint8_t bytes[4096];
	ssize_t n;

	while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		continue;
	return n < 0;
}

/* What the box does for one connection from its first byte to its last, one allocation failing.
 * Returns how many allocations there were. */
static long
connection_play(const char *provider, const char *mid, long fail_at)
{
	int fd;

	seen = 0;
	at = fail_at;
	fd = boxed_connect(0x7f000002, 7);
	at = 0;
	open_send(fd);
	hello_send(fd, provider, 1);
	series_send(fd, mid);
	kv_send(fd, NW_OPT_STATUS,
	    (const struct nw_kv[]){ { "collecting", NW_KV_TEXT, { .text = "ps:cpu" } },
		{ "orders", NW_KV_TEXT, { .text = "1" } } },
	    2);
	at = fail_at;
	boxed_run();
	boxed_run();
	close(fd);
	boxed_run();
	session_tick(&box, INT64_MAX / 2);
	at = 0;
	return seen;
}

static void
test_every_allocation(void)
{
	int other = boxed_connect(0x7f000001, 1), i;
	char provider[32], mid[32];
	long n, n_failed = 0;

	open_send(other);
	hello_send(other, "other", 1);
	series_send(other, "other");
	boxed_run();
	CHECK(is_open(other));
	for (n = 1; n < 5000; n++) {
		snprintf(provider, sizeof(provider), "p%ld", n);
		snprintf(mid, sizeof(mid), "m%ld", n);
		if (connection_play(provider, mid, n) < n)
			break; /* everything has failed once */
		n_failed++;
		peer_tick(&box);
		CHECK(!xmalloc_is_short());
		CHECK(is_open(other));
		if (n % 16 == 0)
			commit_drain(box.commit);
	}
	CHECK(n_failed > 40 && n < 5000);
	/* both go on: the same connection without a fault is stored whole */
	for (i = 0; i < 2; i++)
		CHECK(connection_play("last", i == 0 ? "last" : "again", 0) == 0);
	series_send(other, "more");
	boxed_run();
	CHECK(is_open(other));
	commit_drain(box.commit);
	CHECK_INT(sqlcount(boxed_path,
		      "SELECT count(*) FROM metadata WHERE mid IN ('other', 'more', 'last')"),
	    3);
	printf("%ld allocations of a connection failed\n", n_failed);
	close(other);
	boxed_run();
}

int
main(void)
{
	static const bson_mem_vtable_t memory = {
		.malloc = xmalloc, .calloc = xcalloc, .realloc = realloc_or_spend, .free = free
	};

	bson_mem_set_vtable(&memory);
	signal(SIGPIPE, SIG_IGN);
	log_open("test_memory", true, false);
	boxed_begin();
	CHECK(xmalloc_reserve(PEER_RESERVE_BYTES));
	if (OWN_MALLOC)
		test_every_allocation();
	else
		CHECK(xmalloc_reserve(PEER_RESERVE_BYTES));
	boxed_end();
	return check_done("test_memory");
}
