/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dpss-master: knows data sets and where each block stands; turns requests for logical blocks into
 * requests to servers, which send the blocks straight to the client.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "dpss/master/clients.h"
#include "dpss/serve.h"
#include "narrows/err.h"
#include "narrows/log.h"
#include "narrows/progwords.h"
#include "narrows/terminal.h"
#include "narrows/tls.h"

enum { EXIT_USAGE = 2, HELLO_MS = 5000, PATH_BYTES = 1024 };

static int
usage(int status)
{
	fputs(
	    "usage: dpss-master [-pv] -s STATE_DIR [-n NAME] [-l HOST/PORT] [-T TLS_DIR] [-L LOG]\n"
	    "                   [-P PORT_FILE]\n"
	    "  -s  where master.db is kept        -n  the name that servers know (master)\n"
	    "  -l  address (127.0.0.1/7071)       -T  key, certificate and ca.crt: TLS\n"
	    "  -L  events in the common format    -P  file that gets the port\n"
	    "  -p  in clear beyond loopback, too  -v  says more on stderr\n",
	    status == 0 ? stdout : stderr);
	return status;
}

static void
handle(void *arg, struct channel *w)
{
	struct channel_message m;
	struct packer p = { 0 };
	unsigned version, role;

	channel_limits(w, 4096, HELLO_MS);
	if (channel_read(w, &m) != NW_OK || m.type != DPSS_HELLO)
		return;
	version = unpack_u16(&m.contents);
	role = unpack_u8(&m.contents);
	if (unpack_end(&m.contents) == NW_OK && version == DPSS_VERSION && role == DPSS_CLIENT) {
		clients_serve(arg, w);
		return;
	}
	pack_u16(&p, -NW_EVERSION);
	pack_text(&p, "another version of the protocol");
	channel_send(w, DPSS_FAILED, &p);
}

static int
fail(const char *why)
{
	fprintf(stderr, "dpss-master: %s\n", why);
	return 1;
}

struct parts {
	struct clients_opts clients_opts;
	struct links_opts links_opts;
	struct clients *clients;
	struct links *links;
	struct nw_tls_ctx *tls;
	char tls_name[CHANNEL_NAME_BYTES];
};

static int
parts_start(struct parts *p, const char *state, const char *log, const char *tls_dir, char *why)
{
	char path[PATH_BYTES];
	int rc;

	serve_tls_name(tls_dir, p->tls_name);
	p->clients_opts.tls_name = p->tls_name;
	snprintf(path, sizeof(path), "%s/master.db", state);
	if ((rc = blocklog_open(log, NULL, &p->clients_opts.log, why)) != NW_OK ||
	    (rc = serve_tls(tls_dir, false, &p->tls, why)) != NW_OK ||
	    (rc = catalog_open(path, &p->clients_opts.catalog, why)) != NW_OK ||
	    (rc = clients_new(&p->clients_opts, &p->clients)) != NW_OK)
		return rc;
	p->links_opts.name = p->clients_opts.name;
	p->links_opts.catalog = p->clients_opts.catalog;
	p->links_opts.tls = p->tls;
	p->links_opts.on_damaged = clients_on_damaged;
	p->links_opts.on_up = clients_on_up;
	p->links_opts.arg = p->clients;
	if ((rc = links_new(&p->links_opts, &p->links)) == NW_OK)
		clients_links(p->clients, p->links);
	return rc;
}

static void
parts_end(struct parts *p)
{
	links_free(p->links);
	clients_free(p->clients);
	catalog_close(p->clients_opts.catalog);
	blocklog_close(p->clients_opts.log);
	nw_tls_ctx_release(p->tls);
}

int
main(int argc, char **argv)
{
	struct serve_opts serve = {
		.name = "dpss-master", .listen = "127.0.0.1/7071", .handle = handle, .large_max = 64
	};
	struct parts parts = { .clients_opts = { .name = "master" } };
	const char *state = NULL, *log = NULL;
	char why[CHANNEL_WHY_BYTES] = "";
	bool verbose = false;
	int c, rc;

	terminal_guard();
	if (nw_program_words(argc, argv, "dpss-master"))
		return 0;
	serve_signals();
	while ((c = getopt(argc, argv, "s:n:l:T:pP:L:vh")) != -1)
		switch (c) {
		case 's': state = optarg; break;
		case 'n': parts.clients_opts.name = optarg; break;
		case 'l': serve.listen = optarg; break;
		case 'T': serve.tls_dir = optarg; break;
		case 'p': serve.plain = true; break;
		case 'P': serve.port_file = optarg; break;
		case 'L': log = optarg; break;
		case 'v': verbose = true; break;
		case 'h': return usage(0);
		default: return usage(EXIT_USAGE);
		}
	if (state == NULL || optind != argc)
		return usage(EXIT_USAGE);
	log_open("dpss-master", true, verbose);
	if ((rc = parts_start(&parts, state, log, serve.tls_dir, why)) == NW_OK) {
		serve.arg = parts.clients;
		rc = serve_run(&serve, why);
	}
	parts_end(&parts);
	return rc == NW_OK ? 0 : fail(*why != '\0' ? why : nw_strerror(rc));
}
