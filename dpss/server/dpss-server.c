/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dpss-server: keeps blocks on disks and sends them straight to clients. The owner of the disks
 * grants space to masters; a client's word counts only as far as a master has said so before.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpss/option.h"
#include "dpss/serve.h"
#include "dpss/server/reads.h"
#include "dpss/server/session_serve.h"
#include "dpss/server/writes.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/progwords.h"
#include "narrows/terminal.h"
#include "narrows/tls.h"

#define SLOTS_MAX (UINT64_C(1) << 40) /* on each disk */
enum { EXIT_USAGE = 2, MIB = 1 << 20, HELLO_MS = 5000, CACHE_MIB = 64 };

struct server {
	struct grants grants;
	size_t n_disks;
	struct sessions *sessions;
};

static int
usage(int status)
{
	fputs("usage: dpss-server [-p] -s STATE_DIR -d DISK_DIR ... [-l HOST/PORT] [-T TLS_DIR]\n"
	      "                   [-m CACHE_MIB] [-r MBIT] [-L LOG] [-P PORT_FILE]\n"
	      "       dpss-server -s STATE_DIR -d DISK_DIR ... -g MASTER BLOCKS BLOCK_BYTES\n"
	      "  -s  where the grants are kept      -d  a disk's directory; one thread for each\n"
	      "  -l  address (127.0.0.1/7070)       -T  key, certificate and ca.crt: TLS\n"
	      "  -m  memory for blocks (64)         -L  events in the common logging format\n"
	      "  -p  in clear beyond loopback, too  -P  file that gets the port\n"
	      "  -r  sends at most so many Mbit/s to each client, evenly\n"
	      "  -g  grants a master BLOCKS blocks on each disk, and prints the secret for it\n",
	    status == 0 ? stdout : stderr);
	return status;
}

/* --- a master's connection --- */

static int
master_proved(struct server *sv, struct channel *w, struct grant **out)
{
	uint8_t nonce[DPSS_NONCE_BYTES], want[TICKET_MAC_BYTES];
	const uint8_t *mac;
	char name[DPSS_NAME_BYTES];
	struct packer p = { 0 };
	struct channel_message m;
	struct grant *g;
	int rc;

	if (nw_tls_random(NULL, nonce, sizeof(nonce)) != 0)
		return NW_EIO;
	pack_bytes(&p, nonce, sizeof(nonce));
	if ((rc = channel_send(w, DPSS_CHALLENGE, &p)) != NW_OK ||
	    (rc = channel_read(w, &m)) != NW_OK)
		return rc;
	unpack_text(&m.contents, name, sizeof(name));
	mac = unpack_bytes(&m.contents, sizeof(want));
	if (m.type != DPSS_PROOF || unpack_end(&m.contents) != NW_OK)
		return NW_EPROTO;
	g = grants_find(&sv->grants, name);
	if (g == NULL || ticket_prove(g->secret, nonce, sizeof(nonce), want) != NW_OK ||
	    !ticket_equal(mac, want))
		return NW_ENOTFOUND;
	*out = g;
	return NW_OK;
}

/* The master's latest connection counts: an older connection may be dead without a sign. */
static int
master_begin(struct server *sv, struct grant *g, struct outbox *o)
{
	struct packer p = { 0 };
	size_t i;

	pack_u32(&p, g->block_bytes);
	pack_u32(&p, (uint32_t)sv->n_disks);
	for (i = 0; i < sv->n_disks; i++)
		pack_u64(&p, g->slots);
	pthread_mutex_lock(&g->lock);
	g->master = o;
	pthread_mutex_unlock(&g->lock);
	return outbox_put_packed(o, DPSS_SPACE, &p);
}

static void
master_end(struct grant *g, const struct outbox *o)
{
	pthread_mutex_lock(&g->lock);
	if (g->master == o)
		g->master = NULL;
	pthread_mutex_unlock(&g->lock);
}

static int
master_message(struct server *sv, struct grant *g, struct channel_message *m)
{
	switch (m->type) {
	case DPSS_READ: return reads_request(sv->sessions, g, &m->contents);
	case DPSS_TAKE: return writes_allow(sv->sessions, g, &m->contents);
	case DPSS_END: return writes_forbid(sv->sessions, g, &m->contents);
	case DPSS_PING: return NW_OK;
	default: return NW_EPROTO;
	}
}

static void
refuse(struct channel *w, int rc, const char *why)
{
	struct packer p = { 0 };

	pack_u16(&p, (uint16_t)-rc);
	pack_text(&p, why);
	channel_send(w, DPSS_FAILED, &p);
}

static void
master_serve(struct server *sv, struct channel *w)
{
	struct channel_message m;
	struct outbox *o = NULL;
	struct grant *g;
	int rc;

	if ((rc = master_proved(sv, w, &g)) != NW_OK) {
		refuse(w, rc, "no grant for this master, or another secret");
		return;
	}
	if (outbox_new(w, DPSS_PING_MS, NULL, NULL, &o) != NW_OK)
		return;
	channel_limits(w, DPSS_MESSAGE_MAX, 10 * DPSS_SILENCE_MS);
	rc = master_begin(sv, g, o);
	while (rc == NW_OK && (rc = channel_read(w, &m)) == NW_OK)
		rc = master_message(sv, g, &m);
	master_end(g, o);
	outbox_free(o);
}

/* --- a client's connection --- */

static int
ticket_read(struct server *sv, struct channel *w, struct ticket *t, struct grant **g,
    uint16_t *udp_port, uint64_t *udp_key)
{
	uint8_t want[TICKET_MAC_BYTES];
	char name[DPSS_NAME_BYTES];
	struct channel_message m;
	const uint8_t *mac;
	int rc;

	if ((rc = channel_read(w, &m)) != NW_OK)
		return rc;
	unpack_text(&m.contents, name, sizeof(name));
	t->session = unpack_u64(&m.contents);
	t->set = unpack_u32(&m.contents);
	t->expiry_wall_ns = unpack_u64(&m.contents);
	mac = unpack_bytes(&m.contents, sizeof(want));
	*udp_port = unpack_u16(&m.contents);
	*udp_key = unpack_u64(&m.contents);
	if (m.type != DPSS_TICKET || unpack_end(&m.contents) != NW_OK)
		return NW_EPROTO;
	*g = grants_find(&sv->grants, name);
	if (*g == NULL || ticket_sign((*g)->secret, t, want) != NW_OK || !ticket_equal(mac, want) ||
	    t->expiry_wall_ns < (uint64_t)nw_wall_ns())
		return NW_ENOTFOUND;
	return NW_OK;
}

static void
client_serve(struct server *sv, struct channel *w)
{
	struct ticket t;
	struct grant *g;
	uint16_t udp_port;
	uint64_t udp_key;
	int rc = ticket_read(sv, w, &t, &g, &udp_port, &udp_key);

	if (rc != NW_OK)
		refuse(w, rc, "the ticket is not good here, or too old");
	else if ((rc = session_serve(sv->sessions, g, &t, w, udp_port, udp_key)) != NW_OK)
		refuse(w, rc, rc == NW_ECONFLICT ? "the session is here already" : nw_strerror(rc));
}

static void
handle(void *arg, struct channel *w)
{
	struct server *sv = arg;
	struct channel_message m;
	unsigned version, role;

	channel_limits(w, 4096, HELLO_MS);
	if (channel_read(w, &m) != NW_OK || m.type != DPSS_HELLO)
		return;
	version = unpack_u16(&m.contents);
	role = unpack_u8(&m.contents);
	if (unpack_end(&m.contents) != NW_OK || version != DPSS_VERSION)
		refuse(w, NW_EVERSION, "another version of the protocol");
	else if (role == DPSS_MASTER)
		master_serve(sv, w);
	else if (role == DPSS_CLIENT)
		client_serve(sv, w);
}

/* --- the program --- */

static int
fail(const char *why)
{
	fprintf(stderr, "dpss-server: %s\n", why);
	return 1;
}

static int
grant_run(const char *state, char *const *disks, size_t n, char *const *args)
{
	char why[GRANT_WHY_BYTES] = "", secret[TICKET_SECRET_CHARS + 1];
	uint64_t slots, block_bytes;
	struct grants all;

	if (!option_whole(args[1], 1, SLOTS_MAX, &slots) ||
	    !option_bytes(args[2], 1, DPSS_BLOCK_MAX, &block_bytes))
		return fail("-g wants a number of blocks and the bytes of a block, 4 MiB at most");
	if (grant_make(state, disks, n, args[0], slots, (uint32_t)block_bytes, why) != NW_OK ||
	    grants_load(state, disks, n, &all, why) != NW_OK)
		return fail(why);
	ticket_secret_print(grants_find(&all, args[0])->secret, secret);
	puts(secret);
	grants_clear(&all);
	return 0;
}

struct options {
	struct serve_opts serve;
	const char *state, *log;
	char *disks[DISKS_MAX];
	size_t n_disks;
	uint64_t cache_mib;
	double mbit_per_s; /* of each client's connection; 0: no limit */
	bool grant;
};

static bool
option_take(struct options *o, int c)
{
	switch (c) {
	case 's': o->state = optarg; return true;
	case 'd':
		if (o->n_disks == DISKS_MAX)
			return false;
		o->disks[o->n_disks++] = optarg;
		return true;
	case 'l': o->serve.listen = optarg; return true;
	case 'T': o->serve.tls_dir = optarg; return true;
	case 'p': return o->serve.plain = true;
	case 'P': o->serve.port_file = optarg; return true;
	case 'L': o->log = optarg; return true;
	case 'm': return option_whole(optarg, 1, 1 << 20, &o->cache_mib);
	case 'r': return option_real(optarg, 0.001, 1e6, &o->mbit_per_s);
	case 'g': return o->grant = true;
	default: return false;
	}
}

static int
serve(struct options *o)
{
	struct server sv = { .n_disks = o->n_disks };
	struct sessions_opts opts = { .n_disks = o->n_disks,
		.cache_bytes = o->cache_mib * MIB,
		.pace_bytes_per_s = (uint64_t)(o->mbit_per_s * 1e6 / 8) };
	char why[CHANNEL_WHY_BYTES] = "";
	int rc;

	if ((rc = grants_load(o->state, o->disks, o->n_disks, &sv.grants, why)) != NW_OK ||
	    (rc = blocklog_open(o->log, NULL, &opts.log, why)) != NW_OK ||
	    (rc = sessions_new(&opts, &session_calls, &sv.sessions)) != NW_OK)
		return fail(*why != '\0' ? why : nw_strerror(rc));
	o->serve.arg = &sv;
	if ((rc = serve_run(&o->serve, why)) != NW_OK)
		fail(*why != '\0' ? why : nw_strerror(rc));
	sessions_free(sv.sessions);
	grants_clear(&sv.grants);
	if (blocklog_close(opts.log) != NW_OK)
		return fail("events were lost: the log could not be written");
	return rc == NW_OK ? 0 : 1;
}

int
main(int argc, char **argv)
{
	struct options o = { .serve = { .name = "dpss-server",
				 .listen = "127.0.0.1/7070",
				 .handle = handle,
				 .large_max = 128 },
		.cache_mib = CACHE_MIB };
	int c;

	terminal_guard();
	if (nw_program_words(argc, argv, "dpss-server"))
		return 0;
	serve_signals();
	while ((c = getopt(argc, argv, "s:d:l:T:pP:L:m:r:gh")) != -1) {
		if (c == 'h')
			return usage(0);
		if (!option_take(&o, c))
			return usage(EXIT_USAGE);
	}
	if (o.state == NULL || o.n_disks == 0 || argc - optind != (o.grant ? 3 : 0))
		return usage(EXIT_USAGE);
	return o.grant ? grant_run(o.state, o.disks, o.n_disks, argv + optind) : serve(&o);
}
