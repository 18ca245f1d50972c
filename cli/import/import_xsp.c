/* SPDX-License-Identifier: BSD-3-Clause */
/* An import as a provider: one connection per host of the file, metadata, then documents with
 * numbers from 1. The provider's id derives from the content, so a box with earlier parts says
 * so in its answer to HELLO, and the rest alone is sent. The import ends when the box has
 * acknowledged the last number. */
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/import/import.h"
#include "narrows/progress.h"
#include "narrows/address.h"
#include "narrows/log.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"
#include "narrows/frame.h"

enum { WAIT_MS = 60000, OUT_BYTES = 256 << 10, IN_BYTES = 64 << 10, REPLY_FIELDS_MAX = 16 };

struct client {
	struct import *im;
	const char *box;
	int fd;
	uint8_t sess_id[NW_SESS_ID_BYTES];
	uint8_t *out, *in;
	size_t out_len, out_cap, in_len;
	bool opened, greeted, answered; /* answered: to the ping behind all */
	bool troubled;                  /* whether stderr has the reason */
	int64_t stored;
};

static int
client_fail(struct client *c, const char *why)
{
	return stat_fail(c->im->err, NW_ECLOSED, "%s: box %s: %s", c->im->name, c->box, why);
}

/* --- bytes --- */

/* Prints why the box stores nothing, once per connection. The wait goes on: the box may recover. */
static void
trouble_say(struct client *c, const char *text)
{
	char shown[256];

	if (!c->troubled && *text != '\0')
		fprintf(stderr, "narrows: box %s stores nothing now: %s\n", c->box,
		    log_escape(shown, sizeof(shown), text));
	c->troubled = true;
}

static int
reply_take(struct client *c, const struct nw_frame *f)
{
	struct nw_kv kv[REPLY_FIELDS_MAX];
	struct nw_block b;
	const uint8_t *text;
	const char *why;
	size_t cursor = 0, n, i;
	char refusal[256];

	if (f->type == NW_MSG_SESS_ACK)
		c->opened = true;
	if (f->type == NW_MSG_PONG)
		c->answered = true;
	if (f->type == NW_MSG_SESS_NACK) {
		snprintf(refusal, sizeof(refusal), "refused");
		if (nw_token_parse(f, &text, &n, &why) == NW_OK)
			snprintf(refusal, sizeof(refusal), "%.*s", (int)(n < 200 ? n : 200),
			    (const char *)text);
		return client_fail(c, refusal);
	}
	while (f->type == NW_MSG_APP_DATA && nw_frame_next_block(f, &cursor, &b)) {
		if ((b.type != NW_OPT_HELLO && b.type != NW_OPT_STORED) ||
		    nw_kv_decode(b.data, b.len, kv, REPLY_FIELDS_MAX, &n, &why) < 0)
			continue;
		c->greeted = c->greeted || b.type == NW_OPT_HELLO;
		for (i = 0; i < n; i++)
			if (kv[i].type == NW_KV_INT && strcmp(kv[i].key, "stored") == 0 &&
			    kv[i].v.i > c->stored)
				c->stored = kv[i].v.i;
			else if (kv[i].type == NW_KV_TEXT && strcmp(kv[i].key, "trouble") == 0)
				trouble_say(c, kv[i].v.text);
	}
	return NW_OK;
}

static int
input_take(struct client *c)
{
	struct nw_frame f;
	size_t at = 0, need;
	const char *why = NULL;
	ssize_t n = recv(c->fd, c->in + c->in_len, IN_BYTES - c->in_len, MSG_DONTWAIT);
	int rc;

	if (n == 0)
		return client_fail(c, "closed the connection");
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? NW_OK : client_fail(c, strerror(errno));
	c->in_len += (size_t)n;
	while ((rc = nw_frame_parse(c->in + at, c->in_len - at, &nw_frame_limits_default, &f, &need,
		    &why)) == NW_OK) {
		at += f.len;
		if ((rc = reply_take(c, &f)) < 0)
			return rc;
	}
	memmove(c->in, c->in + at, c->in_len -= at);
	if (rc != NW_EAGAIN || c->in_len == IN_BYTES)
		return client_fail(c, why != NULL ? why : "answers too much");
	return NW_OK;
}

/* Waits once; sends pending bytes and takes received bytes. */
static int
client_wait(struct client *c)
{
	struct pollfd pfd = { .fd = c->fd, .events = POLLIN | (c->out_len > 0 ? POLLOUT : 0) };
	ssize_t n;
	int rc = poll(&pfd, 1, WAIT_MS);

	if (rc == 0)
		return client_fail(c, "no answer for a minute");
	if (rc < 0)
		return errno == EINTR ? NW_OK : client_fail(c, strerror(errno));
	if (pfd.revents & (POLLIN | POLLHUP | POLLERR) && (rc = input_take(c)) < 0)
		return rc;
	if (!(pfd.revents & POLLOUT))
		return NW_OK;
	if ((n = send(c->fd, c->out, c->out_len, MSG_DONTWAIT | MSG_NOSIGNAL)) < 0)
		return errno == EAGAIN || errno == EINTR ? NW_OK : client_fail(c, strerror(errno));
	memmove(c->out, c->out + n, c->out_len -= (size_t)n);
	return NW_OK;
}

static int
put_frame(struct client *c, uint16_t type, const struct nw_block *b)
{
	long len = nw_frame_write(NULL, 0, 1, type, c->sess_id, b, b != NULL);
	int rc;

	if (len < 0)
		return client_fail(c, "a document is too large");
	if ((size_t)len > c->out_cap)
		c->out = xreallocarray(c->out, c->out_cap = (size_t)len, 1);
	while ((size_t)len > c->out_cap - c->out_len)
		if ((rc = client_wait(c)) < 0)
			return rc;
	nw_frame_write(
	    c->out + c->out_len, c->out_cap - c->out_len, 1, type, c->sess_id, b, b != NULL);
	c->out_len += (size_t)len;
	return NW_OK;
}

static int
put_doc(struct client *c, uint16_t opt, const uint8_t *doc, size_t len)
{
	struct nw_block b = { .type = opt, .data = doc, .len = len };

	return put_frame(c, NW_MSG_APP_DATA, &b);
}

/* --- a session --- */

static int
client_connect(struct client *c)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *all = NULL, *a;
	char host[256], service[8];
	uint16_t port;
	int e;

	if (c->box[0] == '\0')
		return client_fail(c,
		    "takes XSP in TLS only: the box must listen on the loopback address, too "
		    "(listen-xsp)");
	if (address_parse(c->box, host, &port) < 0)
		return client_fail(c, "not an address: write HOST/PORT");
	snprintf(service, sizeof(service), "%u", port);
	if ((e = getaddrinfo(host, service, &hints, &all)) != 0)
		return client_fail(c, gai_strerror(e));
	for (a = all; a != NULL && c->fd < 0; a = a->ai_next) {
		if ((c->fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, 0)) >= 0 &&
		    connect(c->fd, a->ai_addr, a->ai_addrlen) != 0) {
			e = errno;
			close(c->fd);
			c->fd = -1;
			errno = e;
		}
	}
	freeaddrinfo(all);
	return c->fd >= 0 ? NW_OK : client_fail(c, strerror(errno));
}

static int
client_open(struct client *c)
{
	uint8_t hop[20];
	static const uint8_t anon[NW_AUTH_NAME_BYTES] = "ANON";
	struct nw_block auth = { .type = NW_BLOCK_AUTH_TYP, .data = anon, .len = sizeof(anon) };
	struct nw_block open = { .type = NW_BLOCK_HOP, .data = hop, .len = sizeof(hop) };
	int rc;

	if (getrandom(c->sess_id, sizeof(c->sess_id), 0) != (ssize_t)sizeof(c->sess_id))
		return client_fail(c, "no random numbers");
	nw_open_write(hop, c->sess_id);
	if ((rc = client_connect(c)) < 0 || (rc = put_frame(c, NW_MSG_AUTH_TYPE, &auth)) < 0 ||
	    (rc = put_frame(c, NW_MSG_SESS_OPEN, &open)) < 0)
		return rc;
	while (!c->opened)
		if ((rc = client_wait(c)) < 0)
			return rc;
	return NW_OK;
}

static int
client_hello(struct client *c, size_t host)
{
	char provider[64];
	struct nw_kv kv[] = {
		{ "software", NW_KV_TEXT, { .text = "narrows import" } },
		{ "version", NW_KV_TEXT, { .text = NW_VERSION } },
		{ "provider", NW_KV_TEXT, { .text = provider } },
		{ "host", NW_KV_TEXT, { .text = c->im->hosts[host].name } },
		{ "first_seq", NW_KV_INT, { .i = 1 } },
		{ "program", NW_KV_TEXT, { .text = "narrows import" } },
		{ "task_id", NW_KV_TEXT, { .text = c->im->session } },
	};
	int rc;

	import_provider(c->im, host, provider);
	if (nw_kv_encode(&c->im->doc, kv, sizeof(kv) / sizeof(kv[0])) < 0)
		return NW_ENOMEM;
	if ((rc = put_doc(c, NW_OPT_HELLO, c->im->doc.data, c->im->doc.len)) < 0)
		return rc;
	while (!c->greeted)
		if ((rc = client_wait(c)) < 0)
			return rc;
	return NW_OK;
}

static int
send_metas(struct client *c, size_t host)
{
	struct import_series *s, *tmp;
	int rc;

	HASH_ITER (hh, c->im->series, s, tmp) {
		if (s->host != host)
			continue;
		import_meta(c->im, s);
		if ((rc = put_doc(c, NW_OPT_META, c->im->doc.data, c->im->doc.len)) < 0)
			return rc;
	}
	return NW_OK;
}

/* Sends every document in order: the box drops data documents stored before. */
static int
send_docs(struct client *c, size_t host, struct progress *p)
{
	struct spooled head;
	uint8_t *doc = NULL;
	int rc = NW_OK;

	rewind(c->im->spool);
	while (rc == NW_OK && fread(&head, sizeof(head), 1, c->im->spool) == 1) {
		doc = xreallocarray(doc, head.len, 1);
		if (fread(doc, 1, head.len, c->im->spool) != head.len)
			rc = stat_fail(c->im->err, NW_EIO, "temporary file: cut short");
		else if (head.host == host) {
			progress_add(p, sizeof(head) + head.len);
			rc = put_doc(c, (uint16_t)head.opt, doc, head.len);
		}
	}
	free(doc);
	return rc;
}

static int
host_to_box(struct client *c, size_t host, struct progress *p, struct import_done *done)
{
	uint64_t n = c->im->hosts[host].n_docs, known;
	int rc;

	if ((rc = client_open(c)) < 0 || (rc = client_hello(c, host)) < 0)
		return rc;
	known = c->stored > 0 ? (uint64_t)c->stored : 0;
	done->n_docs += n;
	done->n_known += known < n ? known : n;
	if ((known < n || n == 0) &&
	    ((rc = send_metas(c, host)) < 0 || (rc = send_docs(c, host, p)) < 0))
		return rc;
	if ((rc = put_frame(c, NW_MSG_PING, NULL)) < 0)
		return rc;
	/* the pong stands for the metadata, which have no acknowledgement */
	while (c->stored < (int64_t)n || !c->answered)
		if ((rc = client_wait(c)) < 0)
			return rc;
	if ((rc = put_frame(c, NW_MSG_SESS_CLOSE, NULL)) < 0)
		return rc;
	while (c->out_len > 0)
		if ((rc = client_wait(c)) < 0)
			return rc;
	return NW_OK;
}

int
import_to_box(struct import *im, const char *box, struct progress *p, struct import_done *done)
{
	size_t host;
	int rc = NW_OK;

	*done = (struct import_done){ 0 };
	for (host = 0; host < im->n_hosts && rc == NW_OK; host++) {
		struct client c = { .im = im,
			.box = box,
			.fd = -1,
			.out = xmalloc(OUT_BYTES),
			.out_cap = OUT_BYTES,
			.in = xmalloc(IN_BYTES) };

		rc = host_to_box(&c, host, p, done);
		if (c.fd >= 0)
			close(c.fd);
		free(c.out);
		free(c.in);
	}
	return rc;
}
