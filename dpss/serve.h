/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that listens: accepts connections, gives each a thread, and ends them all on SIGTERM or
 * SIGINT.
 */
#ifndef NARROWS_DPSS_SERVE_H
#define NARROWS_DPSS_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "dpss/channel.h"

/*
 * An address is an IPv4 address, or the upper half of an IPv6 address. If all places are taken, an
 * address with few connections displaces the newest connection of the address with the most. The
 * same holds for places of large messages, of which an owner (the certificate's name, else the
 * address) has a quarter at most.
 */
enum { SERVE_CONNECTIONS_MAX = 1024, SERVE_PER_ADDRESS_MAX = 256 };

struct serve_opts {
	const char *name;    /* of the program, for messages */
	const char *listen;  /* "host/port"; port 0: any, and the port used is printed */
	const char *tls_dir; /* NULL: clear; beyond loopback this needs plain */
	bool plain;
	const char *port_file; /* gets the port used; NULL for none */
	size_t large_max;      /* places of large messages, see channel_bound() */
	/* Serves a connection until its end; in a separate thread. */
	void (*handle)(void *arg, struct channel *w);
	void *arg;
};

/* Before the first thread: the signals that end the program are kept for serve_run(). */
void serve_signals(void);
/* Blocks until a signal; then every connection is shut and its handler has returned. NW_EINVAL,
 * NW_EIO with why. */
int serve_run(const struct serve_opts *opts, char why[CHANNEL_WHY_BYTES]);

/* Keys and certificates of a directory as `narrows enroll` makes them; server: shows a certificate
 * and wants each peer's. */
int serve_tls(const char *dir, bool server, struct nw_tls_ctx **out, char why[CHANNEL_WHY_BYTES]);
/* The HOST of the directory's key; "" for a directory of NULL, or without one key. */
void serve_tls_name(const char *dir, char out[CHANNEL_NAME_BYTES]);

#endif
