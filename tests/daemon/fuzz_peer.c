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
 *	11 WIRE    length (1 byte), bytes                       bytes below TLS, RAW without TLS
 * Output of a connection collects until RUN, LEAVE or the end; its first CUT bytes go out in one
 * piece, then the rest: cuts fall at every place, and several messages into one read.
 *
 * fuzz_peer_tls.c includes this file: there, connections 2 and 3 speak TLS at first, with a host's
 * certificate.
 */
#include <errno.h>
#include <syslog.h>

#include "daemon/tlsctx.h"
#include "narrows/ca.h"
#include "narrows/clock.h"
#include "narrows/tls.h"

#include "tests/daemon/boxed.h"

#ifndef FUZZ_TLS
#define FUZZ_TLS 0
#endif
enum { CONNECTIONS = 4, TLS_FROM = 2, BYTES_MAX = 1 << 20, STORE_INPUTS = 500 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct end {
	int fd; /* -1 before the first step */
	struct nw_tls *tls;
	uint8_t *out;
	size_t len, cut;
};

struct input {
	const uint8_t *p, *end;
};

static struct end ends[CONNECTIONS];
static struct nw_tls_ctx *host_ctx; /* of the hosts that speak TLS */
static unsigned stored, handshakes; /* of the input: both take time */

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

/* What waits in TLS for the wire. */
static void
sealed_take(struct end *e)
{
	const uint8_t *bytes;
	size_t n;

	while ((n = nw_tls_output(e->tls, &bytes)) > 0) {
		append(e, bytes, n);
		nw_tls_sent(e->tls, n);
	}
}

/* Turns the plain text that waits into records. */
static void
seal(struct end *e)
{
	uint8_t *plain = e->out;
	size_t len = e->len, at = 0;
	long n = 1;

	e->out = NULL;
	e->len = 0;
	while (at < len && n > 0) {
		if ((n = nw_tls_write(e->tls, plain + at, len - at)) > 0)
			at += (size_t)n;
		sealed_take(e);
	}
	free(plain);
}

static void
answers_take(struct end *e)
{
	uint8_t answers[4096];
	ssize_t n;

	while ((n = recv(e->fd, answers, sizeof(answers), 0)) > 0)
		if (e->tls != NULL && !nw_tls_is_open(e->tls)) {
			nw_tls_feed(e->tls, answers, (size_t)n);
			(void)nw_tls_handshake(e->tls);
		}
}

static void
bytes_flush(struct end *e)
{
	size_t first = e->cut < e->len ? e->cut : e->len;

	piece_send(e, 0, first);
	piece_send(e, first, e->len);
	e->len = e->cut = 0;
	answers_take(e);
}

static void
flush(struct end *e)
{
	if (e->tls != NULL)
		seal(e);
	bytes_flush(e);
}

static void
secure(struct end *e, struct nw_tls_ctx *ctx)
{
	size_t cut = e->cut;
	int i;

	if (nw_tls_new(ctx, "localhost", &e->tls) < 0)
		abort();
	(void)nw_tls_handshake(e->tls);
	for (i = 0; i < 8 && !nw_tls_is_open(e->tls); i++) {
		sealed_take(e);
		e->cut = cut;
		bytes_flush(e);
	}
	if (!nw_tls_is_open(e->tls))
		abort(); /* a handshake that does not go through would make the fuzzer blind */
	sealed_take(e);
	bytes_flush(e);
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

/* A few commits an input. */
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
	nw_tls_free(e->tls);
	e->tls = NULL;
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

/* Bytes of the input below TLS: the text so far goes first. */
static void
wire_put(struct end *e, struct input *in)
{
	if (e->tls != NULL)
		seal(e);
	bytes_put(e, in, false);
	bytes_flush(e);
}

static void
connect_as(struct end *e, unsigned which, size_t cut)
{
	bool tls = FUZZ_TLS && which >= TLS_FROM && handshakes++ < CONNECTIONS - TLS_FROM;

	e->fd = boxed_connect_as(0x7f000001 + which / 2, (uint16_t)(1 + which), tls);
	e->cut = cut;
	if (tls)
		secure(e, host_ctx);
}

static void
step(struct input *in, size_t cut)
{
	static const uint8_t zeros[65536];
	unsigned op = (unsigned)take(in, 1);
	struct end *e = &ends[op % CONNECTIONS];

	if (e->fd < 0)
		connect_as(e, op % CONNECTIONS, cut);
	switch (op / CONNECTIONS % 12) {
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
	case 11: wire_put(e, in); break;
	default: flush(e);
	}
}

/* --- the box --- */

static void
tls_begin(void)
{
	char why[CONF_WHY_BYTES], dir[96], ca[128], key[128], crt[128], line[96];
	struct nw_tls_opts o = { .ca_path = ca, .cert_path = crt, .key_path = key };
	struct nw_cert c;

	snprintf(line, sizeof(line), "tls-dir=%s/tls", boxed_dir);
	snprintf(dir, sizeof(dir), "%s/tls", boxed_dir);
	snprintf(ca, sizeof(ca), "%s/ca.crt", dir);
	snprintf(key, sizeof(key), "%s/host.key", dir);
	snprintf(crt, sizeof(crt), "%s/host.crt", dir);
	if (conf_override(&boxed_conf, line, why) < 0 ||
	    tlsctx_open(&boxed_conf, &box.tlsctx, why) < 0 ||
	    ca_enroll(dir,
		&(struct ca_enrolment){
		    .host = "h", .now_wall_s = nw_wall_ns() / 1000000000, .for_s = 86400 },
		&c, why) < 0 ||
	    ca_file_write(dir, "host.key", c.key_pem, 0600, why) < 0 ||
	    ca_file_write(dir, "host.crt", c.cert_pem, 0644, why) < 0 ||
	    nw_tls_ctx_new(&o, &host_ctx, why) < 0)
		abort();
	nw_cert_clear(&c);
}

static void
end(void)
{
	boxed_end();
	nw_tls_ctx_release(host_ctx);
	tlsctx_close(box.tlsctx);
}

static void
begin(void)
{
	static struct store_opts opts;

	opts = store_opts_default;
	opts.commit_interval_ns = 0; /* nobody waits for company, nor for the disk */
	opts.sync_full = false;
	boxed_opts = &opts;
	setlogmask(1);
	log_open("fuzz_peer", false, false);
	boxed_begin();
	atexit(end);
	if (FUZZ_TLS)
		tls_begin();
	boxed_empty(false);
}

static int
on_host(void *arg, const struct nw_host_rec *h)
{
	host_restore(arg, h->id, h->name, h->first_seen_wall_ns);
	return 0;
}

/* One store serves many inputs: the box learns the hosts in there, whose names are unique, and ids
 * go on. */
static void
fill(void)
{
	static struct store_reader *reader;
	static unsigned inputs;
	char why[STORE_WHY_BYTES];

	if (inputs++ % STORE_INPUTS == 0 && !FUZZ_TLS && inputs > 1) {
		store_reader_close(reader);
		reader = NULL;
		boxed_store_end();
		boxed_store_begin();
	}
	if (reader == NULL && store_reader_open(boxed_path, &reader, why) < 0)
		abort();
	boxed_fill();
	if (store_hosts(reader, on_host, &box) < 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = { data, data + len };
	static bool begun;
	size_t cut, i, steps;

	if (!begun)
		begin();
	begun = true;
	fill();
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
	stored = handshakes = 0;
	return 0;
}
