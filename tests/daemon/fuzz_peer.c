/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes connections, not a parser: peer, xsess, ingest, origin, session and control with the real
 * store, over socket pairs.
 *
 * Input: two bytes CUT (little endian), then steps. A step is a byte, OP * 4 + CONNECTION, then
 * arguments:
 *	0 RAW      length (1 byte), bytes                       bytes as they are
 *	1 FRAME    type, block type, length (2 bytes), bytes    message with one block
 *	2 OPEN     -                                            AUTH_TYPE and SESS_OPEN
 *	3 HELLO    provider, first_seq (8 bytes), task, host    a letter each; host 0: none
 *	4 META     id, event type, task                         a letter each; task 0: none
 *	5 DATA     id, value                                    a byte each
 *	6 LONG     length / 256                                 unknown block of so many zeros
 *	7 TIME     -                                            every tick
 *	8 STORE    -                                            commit, and completions
 *	9 LEAVE    -                                            the other end closes the socket
 *	10 RUN     -                                            output so far goes out
 * Output of a connection collects until RUN, LEAVE or the end; its first CUT bytes go out in one
 * piece, then the rest: cuts fall at every place, and several messages into one read.
 */
#include <errno.h>
#include <syslog.h>

#include "tests/daemon/boxed.h"

enum { CONNECTIONS = 4, BYTES_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct end {
	int fd; /* -1 before the first step */
	uint8_t *out;
	size_t len, cut;
};

struct input {
	const uint8_t *p, *end;
};

static struct end ends[CONNECTIONS];
static unsigned stored; /* STORE steps of the input */

static uint64_t
take(struct input *in, size_t bytes)
{
	uint64_t v = 0;
	size_t i;

	for (i = 0; i < bytes; i++)
		v |= (uint64_t)(in->p < in->end ? *in->p++ : 0) << (8 * i);
	return v;
}

static void
append(struct end *e, const void *bytes, size_t len)
{
	if (e->len + len > BYTES_MAX)
		return;
	e->out = realloc(e->out, e->len + len + 1);
	if (len > 0)
		memcpy(e->out + e->len, bytes, len);
	e->len += len;
}

static void
piece_send(struct end *e, size_t at, size_t end)
{
	ssize_t n;

	while (at < end) {
		n = send(e->fd, e->out + at, end - at, MSG_NOSIGNAL);
		boxed_run();
		if (n < 0 && errno != EAGAIN)
			break;
		at += n > 0 ? (size_t)n : 0;
	}
}

static void
flush(struct end *e)
{
	size_t first = e->cut < e->len ? e->cut : e->len;
	uint8_t answers[4096];

	piece_send(e, 0, first);
	piece_send(e, first, e->len);
	e->len = e->cut = 0;
	while (recv(e->fd, answers, sizeof(answers), 0) > 0)
		continue;
}

static void
frame_put(struct end *e, uint16_t type, uint16_t block_type, const void *data, size_t len)
{
	static const uint8_t sess_id[NW_SESS_ID_BYTES] = "fuzz";
	static uint8_t buf[BYTES_MAX];
	struct nw_block b = { .type = block_type, .data = data, .len = len };
	long n = nw_frame_write(buf, sizeof(buf), 1, type, sess_id, &b, 1);

	if (n > 0)
		append(e, buf, (size_t)n);
}

static void
open_put(struct end *e)
{
	static const uint8_t sess_id[NW_SESS_ID_BYTES] = "fuzz";
	uint8_t hop[20];

	frame_put(e, NW_MSG_AUTH_TYPE, NW_BLOCK_AUTH_TYP, "ANON\0\0\0\0\0", 10);
	nw_open_write(hop, sess_id);
	frame_put(e, NW_MSG_SESS_OPEN, NW_BLOCK_HOP, hop, sizeof(hop));
}

static void
doc_put(struct end *e, uint16_t opt, struct nw_doc_buf *doc)
{
	frame_put(e, NW_MSG_APP_DATA, opt, doc->data, doc->len);
	nw_doc_buf_clear(doc);
}

static const char *
letter(struct input *in, char text[2])
{
	text[0] = (char)(take(in, 1) & 0x7f);
	text[1] = '\0';
	return text[0] != '\0' ? text : NULL;
}

static void
hello_put(struct end *e, struct input *in)
{
	char provider[2], task[2], host[2];
	struct nw_kv kv[] = { { "provider", NW_KV_TEXT, { .text = letter(in, provider) } },
		{ "first_seq", NW_KV_INT, { .i = (int64_t)take(in, 8) } },
		{ "task_id", NW_KV_TEXT, { .text = letter(in, task) } },
		{ "host", NW_KV_TEXT, { .text = letter(in, host) } },
		{ "lost", NW_KV_INT, { .i = 3 } },
		{ "can", NW_KV_TEXT, { .text = "start stop rate status clock" } } };
	struct nw_doc_buf doc = { 0 };

	if (nw_kv_encode(&doc, kv, sizeof(kv) / sizeof(kv[0])) == NW_OK)
		doc_put(e, NW_OPT_HELLO, &doc);
}

static void
meta_put(struct end *e, struct input *in)
{
	static const char *const events[] = { "ps:cpu", "nl:read", "xfer", "nw:disk" };
	char id[2], task[2];
	const char *mid = letter(in, id), *event = events[take(in, 1) % 4];
	struct nw_kv subject[] = { { "task_id", NW_KV_TEXT, { .text = letter(in, task) } },
		{ "src", NW_KV_TEXT, { .text = "192.0.2.1" } },
		{ "dst", NW_KV_TEXT, { .text = "192.0.2.2" } },
		{ "sport", NW_KV_TEXT, { .text = "1000" } },
		{ "dport", NW_KV_TEXT, { .text = mid != NULL && *mid > 'm' ? "2000" : "3000" } } };
	struct nw_doc_buf doc = { 0 };

	if (mid != NULL && nw_meta_encode(&doc, mid, "a", event, subject, 5, NULL, 0) == NW_OK)
		doc_put(e, NW_OPT_META, &doc);
}

static void
data_put(struct end *e, struct input *in)
{
	static const char *const fields[] = { "bytes", "count", "dur" };
	char id[2];
	const char *mid = letter(in, id);
	double values[] = { (double)take(in, 1), 1, 2 };
	struct nw_doc_buf doc = { 0 };

	if (mid != NULL &&
	    nw_data_encode(&doc, mid, INT64_C(1700000000000000000) + (int64_t)values[0], fields,
		values, 1 + (size_t)values[0] % 3, NULL, 0) == NW_OK)
		doc_put(e, NW_OPT_DATA, &doc);
}

static void
ticks(void)
{
	static int64_t now_mono_ns;

	now_mono_ns += INT64_C(20000000000);
	session_tick(&box, now_mono_ns);
	origin_expire(&box, now_mono_ns);
	control_tick(box.control, now_mono_ns);
	peer_tick(&box);
}

/* A few commits an input: they take time. */
static void
store(void)
{
	if (stored++ < 3)
		commit_drain(box.commit);
}

static void
leave(struct end *e)
{
	flush(e);
	close(e->fd);
	e->fd = -1;
	boxed_run();
}

static void
bytes_put(struct end *e, struct input *in, bool framed)
{
	uint16_t type = framed ? (uint16_t)take(in, 1) : 0,
		 block = framed ? (uint16_t)take(in, 1) : 0;
	size_t len = take(in, framed ? 2 : 1), left = (size_t)(in->end - in->p);

	len = len < left ? len : left;
	if (framed)
		frame_put(e, type, block, in->p, len);
	else
		append(e, in->p, len);
	in->p += len;
}

static void
step(struct input *in, size_t cut)
{
	static const uint8_t zeros[65536];
	unsigned op = (unsigned)take(in, 1);
	struct end *e = &ends[op % CONNECTIONS];

	if (e->fd < 0) {
		e->fd = boxed_connect(0x7f000001 + op % CONNECTIONS / 2, (uint16_t)(1 + op % 4));
		e->cut = cut;
	}
	switch (op / CONNECTIONS % 11) {
	case 0: bytes_put(e, in, false); break;
	case 1: bytes_put(e, in, true); break;
	case 2: open_put(e); break;
	case 3: hello_put(e, in); break;
	case 4: meta_put(e, in); break;
	case 5: data_put(e, in); break;
	case 6: frame_put(e, NW_MSG_APP_DATA, 0x99, zeros, take(in, 1) * 256); break;
	case 7: ticks(); break;
	case 8: store(); break;
	case 9: leave(e); break;
	default: flush(e);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = { data, data + len };
	struct store_stats stats;
	static bool begun;
	size_t cut, i, steps;

	if (!begun) {
		setlogmask(1);
		log_open("fuzz_peer", false, false);
		boxed_begin();
		atexit(boxed_end);
		boxed_empty(false);
		begun = true;
	}
	boxed_fill();
	for (i = 0; i < CONNECTIONS; i++)
		ends[i] = (struct end){ .fd = -1 };
	cut = take(&in, 2);
	for (steps = 0; in.p < in.end && steps < 200; steps++)
		step(&in, cut);
	for (i = 0; i < CONNECTIONS; i++) {
		if (ends[i].fd >= 0)
			leave(&ends[i]);
		free(ends[i].out);
	}
	boxed_empty(false);
	store_get_stats(box.store, &stats);
	if (stats.commits > 0) { /* the next input's box remembers nothing of these rows */
		boxed_store_end();
		boxed_store_begin();
	}
	stored = 0;
	return 0;
}
