/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One XSP session over one TCP connection, seen from the side that opens it. Used by the provider,
 * which never waits, and by the original calls (xsp_client.c), which do; both wait with poll(2) for
 * what conn_events() names.
 *
 *	CLOSED --connect--> CONNECTING --socket ready--> OPENING --SESS_ACK--> OPEN
 *	                        +--(tls://)--> SECURING --handshake done--> OPENING
 *	any --error, end of stream, SESS_NACK, deadline--> CLOSED, and `why` says which
 *
 * AUTH_TYPE "ANON" and SESS_OPEN leave together in one write. With exact reads nothing is taken
 * from the socket but the message at hand, so that a program that polls the socket itself sees
 * every message announced; without, one system call takes what there is. In TLS reads are never
 * exact: the socket has records, not messages.
 */
#ifndef HOST_CONN_H
#define HOST_CONN_H

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/doc.h"
#include "narrows/frame.h"

struct nw_tls;
struct tlsfiles;

enum { CONN_HOST_BYTES = 254, CONN_PORT_BYTES = 32, CONN_REFUSAL_BYTES = 256 };

struct conn_addr {
	char host[CONN_HOST_BYTES];
	char port[CONN_PORT_BYTES];
	bool tls;
};

enum conn_state { CONN_CLOSED, CONN_CONNECTING, CONN_SECURING, CONN_OPENING, CONN_OPEN };

struct conn {
	enum conn_state state;
	int fd;          /* -1 when CLOSED */
	const char *why; /* why the last one closed or failed; never NULL, good as long as c */
	/* the peer's words, or what is wrong with our files; printable */
	char refusal[CONN_REFUSAL_BYTES];
	uint8_t sess_id[NW_SESS_ID_BYTES];
	int64_t deadline_mono_ns;      /* for being OPEN */
	int64_t attempt_mono_ns;       /* for `addr` to accept, when others are left */
	struct addrinfo *addrs, *addr; /* what the name resolved to; the one being tried */
	/* set by the owner after conn_init(), on loan; NULL: no TLS */
	const struct tlsfiles *files;
	struct nw_tls *tls; /* NULL: in clear */
	/* of the record that waits for the socket, and what it holds */
	size_t sealed_bytes, sealed_plain_bytes;
	struct nw_doc_buf in, out;
	bool exact;   /* set by the owner after conn_init() */
	bool drained; /* the last read got less than it had room for */
	/* read up to here; this much belongs to the frame handed out last */
	size_t in_need, in_taken;
	size_t out_sent;
	uint64_t queued_bytes, written_bytes; /* of this session, since conn_connect() */
};

/* "host/port", "host:port", "[v6]:port", "v6/port", "tls://" and one of these; without port 5006,
 * TLS 5007. NW_EINVAL. */
int conn_addr_parse(const char *text, struct conn_addr *out);

void conn_init(struct conn *c);
void conn_clear(struct conn *c); /* closes and releases */

/*
 * Starts a session; hops are the hop records beyond the peer (normally none). A host that is no
 * number is looked up here, which is the only place that blocks. NW_OK: on its way. NW_EIO,
 * NW_ENOMEM: CLOSED.
 */
int conn_connect(struct conn *c, const struct conn_addr *a, const uint8_t *hops, size_t hops_len,
    int64_t timeout_ns);
/* Takes over a connected socket on which a session is open already. */
void conn_adopt(struct conn *c, int fd);
void conn_close(struct conn *c, const char *why);

/* Connects, reads and writes what is possible now. NW_OK, or NW_ECLOSED, NW_EPROTO, NW_EIO and
 * CLOSED. */
int conn_step(struct conn *c, int64_t now_mono_ns);
short conn_events(const struct conn *c); /* poll(2) events to wait for */
/* call conn_step() by then even without events; INT64_MAX: no need */
int64_t conn_deadline(const struct conn *c);
static inline size_t
conn_unsent_bytes(const struct conn *c)
{
	return c->out.len - c->out_sent + c->sealed_bytes;
}

/* The next message from the peer once OPEN, good until the next call on c. NW_EAGAIN: none yet.
 * Else CLOSED. */
int conn_recv(struct conn *c, struct nw_frame *out);
/* Appends a message with one block (data may be NULL: none) to what conn_step() writes. NW_ENOMEM,
 * NW_ETOOBIG. */
int conn_queue(struct conn *c, uint8_t version, uint16_t type, const struct nw_block *block);

#endif
