/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpss/client/client.h"
#include "dpss/proto.h"
#include "dpss/serve.h"
#include "narrows/address.h"
#include "narrows/err.h"
#include "narrows/tls.h"

enum { ANSWER_MS = 30000 };

int
client_connect(
    const struct dpss_opts *opts, struct nw_tls_ctx *tls, struct channel **out, char *why)
{
	const char *master = opts->master != NULL ? opts->master : getenv("DPSS_MASTER");
	char host[ADDRESS_HOST_BYTES];
	struct packer p = { 0 };
	uint16_t port;
	int rc;

	if (master == NULL)
		master = "127.0.0.1/7071";
	if (address_parse(master, host, &port) != NW_OK) {
		snprintf(why, DPSS_WHY_BYTES, "%.100s: HOST/PORT is wanted", master);
		return NW_EINVAL;
	}
	if ((rc = channel_connect(host, port, tls, CONNECT_MS, out, why)) != NW_OK)
		return rc;
	channel_limits(*out, DPSS_MESSAGE_MAX, ANSWER_MS);
	pack_u16(&p, DPSS_VERSION);
	pack_u8(&p, DPSS_CLIENT);
	if ((rc = channel_send(*out, DPSS_HELLO, &p)) != NW_OK) {
		snprintf(why, DPSS_WHY_BYTES, "%.100s: %s", master, nw_strerror(rc));
		channel_free(*out);
	}
	return rc;
}

static int
refused(struct unpacker *u, char *why)
{
	int rc = -(int)unpack_u16(u);

	unpack_text(u, why, DPSS_WHY_BYTES);
	return unpack_end(u) == NW_OK && rc < 0 ? rc : NW_EPROTO;
}

int
client_ask(struct channel *w, uint16_t type, struct packer *p, uint16_t want,
    struct channel_message *m, char *why)
{
	int rc = channel_send(w, type, p);

	do {
		if (rc == NW_OK)
			rc = channel_read(w, m);
		if (rc != NW_OK) {
			snprintf(why, DPSS_WHY_BYTES, "the master: %s", nw_strerror(rc));
			return rc;
		}
	} while (m->type == DPSS_PING);
	if (m->type == DPSS_FAILED)
		return refused(&m->contents, why);
	if (m->type == want)
		return NW_OK;
	snprintf(why, DPSS_WHY_BYTES, "the master gave an answer that does not fit");
	return NW_EPROTO;
}

/* --- services --- */

struct asking {
	struct nw_tls_ctx *tls;
	struct channel *wire;
	struct channel_message m;
};

static int
ask(const struct dpss_opts *opts, uint16_t type, struct packer *p, uint16_t want, struct asking *a,
    char *why)
{
	int rc;

	*a = (struct asking){ 0 };
	if ((rc = serve_tls(opts->tls_dir, false, &a->tls, why)) != NW_OK ||
	    (rc = client_connect(opts, a->tls, &a->wire, why)) != NW_OK) {
		a->wire = NULL;
		pack_free(p);
		return rc;
	}
	return client_ask(a->wire, type, p, want, &a->m, why);
}

static void
asking_end(struct asking *a)
{
	channel_free(a->wire);
	nw_tls_ctx_release(a->tls);
}

static int
ask_done(const struct dpss_opts *opts, uint16_t type, struct packer *p, char *why)
{
	struct asking a;
	int rc = ask(opts, type, p, DPSS_DONE, &a, why);

	asking_end(&a);
	return rc;
}

static void
set_unpack(struct unpacker *u, struct dpss_set *s)
{
	unpack_text(u, s->name, sizeof(s->name));
	s->layout.block_bytes = unpack_u32(u);
	s->layout.bytes = unpack_u64(u);
	s->written = unpack_u64(u);
	layout_unpack(u, &s->layout);
	s->blocks = unpack_u64(u);
	unpack_text(u, s->owner, sizeof(s->owner));
	s->sealed = unpack_u8(u) != 0;
}

int
dpss_list(const struct dpss_opts *opts, struct dpss_set **out, size_t *n, char why[DPSS_WHY_BYTES])
{
	struct packer p = { 0 };
	struct asking a;
	size_t i;
	int rc = ask(opts, DPSS_LIST, &p, DPSS_SETS, &a, why);

	*out = NULL;
	*n = 0;
	if (rc == NW_OK) {
		*n = unpack_u32(&a.m.contents);
		if (!unpack_has(&a.m.contents, *n, 30))
			*n = 0;
		if ((*out = calloc(*n + 1, sizeof(**out))) == NULL)
			rc = NW_ENOMEM;
		for (i = 0; i < *n && rc == NW_OK; i++)
			set_unpack(&a.m.contents, &(*out)[i]);
		if (rc == NW_OK && (rc = unpack_end(&a.m.contents)) != NW_OK)
			free(*out);
	}
	asking_end(&a);
	return rc;
}

static void
server_unpack(struct unpacker *u, struct dpss_server *s)
{
	s->id = unpack_u32(u);
	unpack_text(u, s->host, sizeof(s->host));
	s->port = unpack_u16(u);
	s->state = unpack_u8(u);
	s->disks = unpack_u32(u);
	s->slots = unpack_u64(u);
	s->used = unpack_u64(u);
}

int
dpss_server_list(
    const struct dpss_opts *opts, struct dpss_server **out, size_t *n, char why[DPSS_WHY_BYTES])
{
	struct packer p = { 0 };
	struct asking a;
	size_t i;
	int rc = ask(opts, DPSS_SERVERS, &p, DPSS_SERVER_LIST, &a, why);

	*out = NULL;
	*n = 0;
	if (rc == NW_OK) {
		*n = unpack_u32(&a.m.contents);
		if (!unpack_has(&a.m.contents, *n, 29))
			*n = 0;
		if ((*out = calloc(*n + 1, sizeof(**out))) == NULL)
			rc = NW_ENOMEM;
		for (i = 0; i < *n && rc == NW_OK; i++)
			server_unpack(&a.m.contents, &(*out)[i]);
		if (rc == NW_OK && (rc = unpack_end(&a.m.contents)) != NW_OK)
			free(*out);
	}
	asking_end(&a);
	return rc;
}

int
dpss_server_add(const struct dpss_opts *opts, const char *host, uint16_t port, const char *secret,
    char why[DPSS_WHY_BYTES])
{
	struct packer p = { 0 };

	pack_text(&p, host);
	pack_u16(&p, port);
	pack_text(&p, secret);
	return ask_done(opts, DPSS_SERVER_ADD, &p, why);
}

int
dpss_drop(const struct dpss_opts *opts, const char *name, char why[DPSS_WHY_BYTES])
{
	struct packer p = { 0 };

	pack_text(&p, name);
	return ask_done(opts, DPSS_DROP, &p, why);
}

int
dpss_allow(const struct dpss_opts *opts, const char *name, const char *user, uint8_t rights,
    char why[DPSS_WHY_BYTES])
{
	struct packer p = { 0 };

	pack_text(&p, name);
	pack_text(&p, user);
	pack_u8(&p, rights);
	return ask_done(opts, DPSS_ALLOW, &p, why);
}

static int
ask_server(const struct dpss_opts *opts, uint16_t type, uint32_t server, char *why)
{
	struct packer p = { 0 };

	pack_u32(&p, server);
	return ask_done(opts, type, &p, why);
}

int
dpss_server_drain(const struct dpss_opts *opts, uint32_t server, char why[DPSS_WHY_BYTES])
{
	return ask_server(opts, DPSS_DRAIN, server, why);
}

int
dpss_server_drop(const struct dpss_opts *opts, uint32_t server, char why[DPSS_WHY_BYTES])
{
	return ask_server(opts, DPSS_SERVER_DROP, server, why);
}

void
dpss_address(const struct dpss *d, char out[DPSS_ADDRESS_CHARS + 1])
{
	snprintf(out, DPSS_ADDRESS_CHARS + 1, "%016" PRIx64 "-%016" PRIx64, d->session, d->key);
}

int
dpss_deliver(const struct dpss_opts *opts, const char *address, const uint64_t *logical, size_t n,
    char why[DPSS_WHY_BYTES])
{
	struct packer p = { 0 };
	uint64_t session, key;
	int end = 0;
	size_t i;

	if (sscanf(address, "%16" SCNx64 "-%16" SCNx64 "%n", &session, &key, &end) != 2 ||
	    address[end] != '\0' || n > DPSS_LIST_MAX) {
		snprintf(why, DPSS_WHY_BYTES, "not an address, or too many blocks");
		return NW_EINVAL;
	}
	pack_u64(&p, session);
	pack_u64(&p, key);
	pack_u32(&p, (uint32_t)n);
	for (i = 0; i < n; i++)
		pack_u64(&p, logical[i]);
	return ask_done(opts, DPSS_DELIVER, &p, why);
}
