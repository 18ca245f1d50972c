/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small box for the host tests: the peer's end of XSP sessions on a loopback socket, driven by
 * the test itself with fakebox_step(), so that no test depends on timing. It numbers data documents
 * as HELLO says and keeps what it "stored", which the test decides.
 */
#ifndef FAKEBOX_H
#define FAKEBOX_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/check.h"
#include "narrows/doc.h"
#include "narrows/err.h"
#include "narrows/frame.h"

enum { FAKEBOX_DOCS_MAX = 4096, FAKEBOX_BUF_BYTES = 4 << 20 };

struct fakebox {
	int listen_fd, fd;
	uint16_t port;
	char addr[32];
	uint8_t *buf;
	size_t len;
	struct nw_doc_decoder *decoder;

	/* what the test wants */
	bool original;         /* never answers HELLO */
	bool mute;             /* does not even read */
	bool refuse;           /* answers the open with a NACK */
	bool batches;          /* offers to take packed rows */
	bool losses;           /* offers to take numbers of documents that died */
	bool joins;            /* offers to take several blocks in a message */
	bool commit_each;      /* stores and says so at once */
	size_t read_max_bytes; /* per step; 0: all there is */
	/* other application options */
	void (*on_option)(struct fakebox *b, const struct nw_block *block);

	/* what has happened */
	uint8_t sess_id[NW_SESS_ID_BYTES];
	unsigned accepts, opens, hops, hellos, metas, docs, closes, pings, others, messages;
	bool opened, auth_seen;
	uint64_t next_seq, first_seq;     /* by the last HELLO */
	uint64_t received, stored;        /* highest numbers, over all connections */
	double arrived[FAKEBOX_DOCS_MAX]; /* every value of documents that were new, in order */
	size_t n_arrived;
	unsigned packed; /* documents of packed rows */
	uint64_t lost;   /* by HELLO, of gaps that there were */
	uint64_t died;   /* numbers of documents that died, beyond the received */
	char died_task_id[64];
	double value_of[FAKEBOX_DOCS_MAX]; /* by number; NaN: never came */
	unsigned copies_of[FAKEBOX_DOCS_MAX];
	size_t hist_bytes;
	size_t n_last; /* the last data document */
	char last_fields[64][24];
	double last_values[64];
	char software[64], host[64], provider[64], task_id[64], last_meta_id[64];
	int64_t pid, time_ns;
	unsigned orphans; /* data before any metadata of this connection */
	unsigned metas_here;
};

static inline void
fakebox_start(struct fakebox *b)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);
	size_t i;

	memset(b, 0, sizeof(*b));
	b->fd = -1;
	b->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (bind(b->listen_fd, (struct sockaddr *)&sin, sizeof(sin)) < 0 ||
	    listen(b->listen_fd, 8) < 0 ||
	    getsockname(b->listen_fd, (struct sockaddr *)&sin, &len) < 0) {
		perror("fakebox");
		exit(1);
	}
	b->port = ntohs(sin.sin_port);
	snprintf(b->addr, sizeof(b->addr), "127.0.0.1/%u", b->port);
	b->buf = malloc(FAKEBOX_BUF_BYTES);
	b->decoder = nw_doc_decoder_new(NULL);
	for (i = 0; i < FAKEBOX_DOCS_MAX; i++)
		b->value_of[i] = NAN;
}

static inline void
fakebox_hang_up(struct fakebox *b)
{
	if (b->fd >= 0)
		close(b->fd);
	b->fd = -1;
	b->len = 0;
	b->opened = b->auth_seen = false;
	b->metas_here = 0;
}

static inline void
fakebox_stop(struct fakebox *b)
{
	fakebox_hang_up(b);
	close(b->listen_fd);
	nw_doc_decoder_free(b->decoder);
	free(b->buf);
}

static inline void
fakebox_send(struct fakebox *b, uint8_t version, uint16_t type, const struct nw_block *block)
{
	uint8_t out[70000];
	long n = nw_frame_write(out, sizeof(out), version, type, b->sess_id, block, block != NULL);

	CHECK(n > 0);
	/* a provider that has ended does not hear it */
	CHECK(send(b->fd, out, (size_t)n, MSG_NOSIGNAL) == n || errno == EPIPE ||
	    errno == ECONNRESET);
}

static inline void
fakebox_say_stored(struct fakebox *b, uint16_t opt, int64_t stored)
{
	const struct nw_kv kv[] = { { "software", NW_KV_TEXT, { .text = "fakebox" } },
		{ "stored", NW_KV_INT, { .i = stored } },
		{ "can", NW_KV_TEXT,
		    { .text = b->losses  ? "stored lost"
			    : b->batches ? "stored batch"
			    : b->joins   ? "stored blocks"
					 : NULL } } };
	struct nw_doc_buf doc = { 0 };
	struct nw_block block = { .type = opt };

	CHECK_INT(nw_kv_encode(&doc, kv, 3), NW_OK);
	block.data = doc.data;
	block.len = doc.len;
	fakebox_send(b, 1, NW_MSG_APP_DATA, &block);
	nw_doc_buf_clear(&doc);
}

static inline void
fakebox_commit(struct fakebox *b, uint64_t seq)
{
	b->stored = seq;
	if (b->fd >= 0 && !b->original)
		fakebox_say_stored(b, NW_OPT_STORED, (int64_t)seq);
}

static inline void
fakebox_copy_text(char *out, size_t cap, const struct nw_kv *kv)
{
	if (kv->type == NW_KV_TEXT)
		snprintf(out, cap, "%s", kv->v.text);
}

static inline void
fakebox_on_hello(struct fakebox *b, const struct nw_block *block)
{
	struct nw_kv kv[16];
	const char *why;
	size_t i, n = 0;

	CHECK_INT(nw_kv_decode(block->data, block->len, kv, 16, &n, &why), NW_OK);
	b->hellos++;
	for (i = 0; i < n; i++) {
		if (strcmp(kv[i].key, "first_seq") == 0)
			b->first_seq = b->next_seq = (uint64_t)kv[i].v.i;
		else if (strcmp(kv[i].key, "software") == 0)
			fakebox_copy_text(b->software, sizeof(b->software), &kv[i]);
		else if (strcmp(kv[i].key, "host") == 0)
			fakebox_copy_text(b->host, sizeof(b->host), &kv[i]);
		else if (strcmp(kv[i].key, "provider") == 0)
			fakebox_copy_text(b->provider, sizeof(b->provider), &kv[i]);
		else if (strcmp(kv[i].key, "task_id") == 0)
			fakebox_copy_text(b->task_id, sizeof(b->task_id), &kv[i]);
		else if (strcmp(kv[i].key, "lost") == 0)
			b->lost = (uint64_t)kv[i].v.i;
		else if (strcmp(kv[i].key, "pid") == 0)
			b->pid = kv[i].v.i;
		else if (strcmp(kv[i].key, "time_ns") == 0)
			b->time_ns = kv[i].v.i;
	}
	if (!b->original)
		fakebox_say_stored(b, NW_OPT_HELLO, (int64_t)b->stored);
}

/* Takes numbers of documents that died with their provider. */
static inline void
fakebox_on_lost(struct fakebox *b, const struct nw_block *block)
{
	struct nw_kv kv[4];
	const char *why;
	uint64_t first, seq = b->next_seq++;
	size_t n = 0;

	CHECK_INT(nw_kv_decode(block->data, block->len, kv, 4, &n, &why), NW_OK);
	first = (uint64_t)nw_kv_int(kv, n, "first", 0);
	CHECK(first >= 1 && first <= seq);
	if (seq <= b->received)
		return;
	b->died += seq - (first > b->received + 1 ? first - 1 : b->received);
	b->received = seq;
	snprintf(b->died_task_id, sizeof(b->died_task_id), "%s",
	    nw_kv_text(kv, n, "task_id") != NULL ? nw_kv_text(kv, n, "task_id") : "");
	if (b->commit_each)
		fakebox_commit(b, seq);
}

static inline int
fakebox_on_meta(void *arg, const struct nw_meta *m)
{
	struct fakebox *b = arg;

	b->metas++;
	b->metas_here++;
	snprintf(b->last_meta_id, sizeof(b->last_meta_id), "%s", m->id);
	return NW_OK;
}

static inline int
fakebox_on_data(void *arg, const struct nw_data *d)
{
	struct fakebox *b = arg;
	uint64_t seq = b->next_seq++;
	size_t i;

	b->docs++;
	b->orphans += b->metas_here == 0;
	b->hist_bytes += d->hist_len;
	for (i = 0; seq > b->received && i < d->n_rows && b->n_arrived < FAKEBOX_DOCS_MAX; i++)
		b->arrived[b->n_arrived++] = d->values[i * d->n_fields];
	if (seq < FAKEBOX_DOCS_MAX && d->n_rows == 1 && d->n_fields >= 1) {
		b->value_of[seq] = d->values[0];
		b->copies_of[seq]++;
	}
	for (i = 0; i < d->n_fields && i < 64; i++) {
		snprintf(b->last_fields[i], sizeof(b->last_fields[i]), "%s", d->fields[i]);
		b->last_values[i] = d->values[i];
	}
	b->n_last = i;
	if (seq > b->received)
		b->received = seq;
	if (b->commit_each && seq > b->stored)
		fakebox_commit(b, seq);
	return NW_OK;
}

static inline void
fakebox_on_block(struct fakebox *b, const struct nw_block *block)
{
	const struct nw_doc_sink sink = { b, fakebox_on_meta, fakebox_on_data };
	const char *why;

	if (block->type == NW_OPT_HELLO) {
		fakebox_on_hello(b, block);
	} else if (block->type == NW_OPT_LOST) {
		fakebox_on_lost(b, block);
	} else if (block->type == NW_OPT_META || block->type == NW_OPT_DATA ||
	    block->type == NW_OPT_BATCH) {
		b->packed += block->type == NW_OPT_BATCH;
		CHECK_INT(
		    nw_doc_decode(b->decoder, block->type, block->data, block->len, &sink, &why),
		    NW_OK);
	} else if (b->on_option != NULL) {
		b->on_option(b, block);
	} else {
		b->others++;
	}
}

static inline void
fakebox_on_frame(struct fakebox *b, const struct nw_frame *f)
{
	struct nw_open open;
	struct nw_block block;
	char name[NW_AUTH_NAME_BYTES + 1];
	const char *why;
	size_t cursor = 0;

	switch (f->type) {
	case NW_MSG_AUTH_TYPE:
		CHECK_INT(nw_auth_parse(f, name, &why), NW_OK);
		CHECK_STR(name, "ANON");
		b->auth_seen = true;
		break;
	case NW_MSG_SESS_OPEN:
		CHECK(b->auth_seen);
		CHECK_INT(nw_open_parse(f, &nw_frame_limits_default, &open, &why), NW_OK);
		CHECK(!open.id_differs);
		memcpy(b->sess_id, open.sess_id, sizeof(b->sess_id));
		b->opens++;
		b->hops = open.n_hops;
		if (b->refuse) {
			uint8_t text[64];

			block = (struct nw_block){ .type = NW_BLOCK_NACK, .data = text };
			block.len = nw_nack_write(text, sizeof(text), "come back later");
			fakebox_send(b, 1, NW_MSG_SESS_NACK, &block);
			break;
		}
		b->opened = true;
		fakebox_send(b, 1, NW_MSG_SESS_ACK, NULL);
		break;
	case NW_MSG_APP_DATA:
		CHECK(b->opened);
		CHECK(memcmp(f->sess_id, b->sess_id, sizeof(b->sess_id)) == 0);
		b->messages++;
		CHECK(f->n_blocks == 1 ||
		    (b->joins && f->n_blocks <= NW_FRAME_JOINED_BLOCKS &&
			f->len <= NW_FRAME_JOINED_BYTES));
		while (nw_frame_next_block(f, &cursor, &block))
			fakebox_on_block(b, &block);
		break;
	case NW_MSG_PING:
		b->pings++;
		fakebox_send(b, f->version, NW_MSG_PONG, NULL);
		break;
	case NW_MSG_SESS_CLOSE: b->closes++; break;
	default: b->others++;
	}
}

/* Every byte of a header that carries nothing is zero: originals leak their stack there. */
static inline void
fakebox_check_header(const uint8_t *p)
{
	size_t i;

	if (p[0] != 1)
		return;
	CHECK(p[1] == 0 && p[6] == 0 && p[7] == 0);
	for (i = 8; i < 152 && p[i] == 0; i++)
		continue;
	CHECK_INT(i, 152);
}

/* Accepts, reads and answers what there is. */
static inline void
fakebox_step(struct fakebox *b)
{
	size_t room, used = 0, need;
	struct nw_frame f;
	const char *why;
	ssize_t n = -1;
	int rc, one = 1;

	if (b->fd < 0 && (b->fd = accept(b->listen_fd, NULL, NULL)) >= 0) {
		setsockopt(b->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		b->accepts++;
	}
	if (b->fd < 0 || b->mute)
		return;
	fcntl(b->fd, F_SETFL, O_NONBLOCK);
	room = FAKEBOX_BUF_BYTES - b->len;
	if (b->read_max_bytes > 0 && room > b->read_max_bytes)
		room = b->read_max_bytes;
	n = read(b->fd, b->buf + b->len, room);
	if (n > 0)
		b->len += (size_t)n;
	while (b->fd >= 0 && used < b->len) {
		rc = nw_frame_parse(
		    b->buf + used, b->len - used, &nw_frame_limits_default, &f, &need, &why);
		if (rc == NW_EAGAIN)
			break;
		CHECK_INT(rc, NW_OK);
		fakebox_check_header(b->buf + used);
		used += f.len;
		fakebox_on_frame(b, &f);
	}
	if (b->fd < 0)
		return;
	memmove(b->buf, b->buf + used, b->len - used);
	b->len -= used;
	if (n == 0)
		fakebox_hang_up(b);
}

#endif
