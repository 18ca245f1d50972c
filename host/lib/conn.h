/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One XSP session over one TCP connection, seen from the opening side. The provider uses a conn and
 * never waits; the original calls (xsp_client.c) use a conn and do wait; both wait with poll(2) for
 * the events of conn_events().
 *
 *	CLOSED --connect--> CONNECTING --socket ready--> OPENING --SESS_ACK--> OPEN
 *	                        +--(tls://)--> SECURING --handshake done--> OPENING
 *	any --error, end of stream, SESS_NACK, deadline--> CLOSED, and `why` says the reason
 *
 * AUTH_TYPE "ANON" and SESS_OPEN leave together in one write. With exact reads the conn takes from
 * the socket nothing but the message at hand, so that a program that polls the socket itself sees
 * every message announced; without, one system call takes all bytes there are. In TLS reads are
 * never exact: the socket has records, not messages.
 */
#ifndef HOST_CONN_H
#define HOST_CONN_H

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/lib/conn_addr.h"
#include "narrows/doc.h"
#include "narrows/frame.h"

struct nw_tls;
struct tlsfiles;

enum { CONN_REFUSAL_BYTES = 256 };

enum conn_state { CONN_CLOSED, CONN_CONNECTING, CONN_SECURING, CONN_OPENING, CONN_OPEN };

struct conn {
	enum conn_state state;
	int fd;          /* -1 when CLOSED */
	const char *why; /* reason of the last close or failure; never NULL, good as long as c */
	/* words of the peer, or the fault of our files; printable */
	char refusal[CONN_REFUSAL_BYTES];
	uint8_t sess_id[NW_SESS_ID_BYTES];
	int64_t deadline_mono_ns; /* for being OPEN */
	/* time at which `addr` must have accepted, when other addresses are left */
	int64_t attempt_mono_ns;
	struct addrinfo *addrs, *addr; /* addresses of the name; the address being tried */
	/* set by the owner after conn_init(), on loan; NULL: no TLS */
	const struct tlsfiles *files;
	struct nw_tls *tls; /* NULL: in clear */
	/* length of the record for the socket, and of the text inside the record */
	size_t sealed_bytes, sealed_plain_bytes;
	struct nw_doc_buf in, out;
	bool exact;   /* set by the owner after conn_init() */
	bool joins;   /* the peer takes several blocks in a message; set by the owner once OPEN */
	bool drained; /* whether the last read got fewer bytes than there was room for */
	/* end of the bytes read so far; length of the frame handed out last */
	size_t in_need, in_taken;
	size_t out_sent;
	size_t joined_at; /* begin, in out, of a message to which blocks may be added .. */
	unsigned joined;  /* .. and the number of its blocks; 0: there is none */
	uint64_t queued_bytes, written_bytes; /* counters of this session, since conn_connect() */
};

void conn_init(struct conn *c);
void conn_clear(struct conn *c); /* closes and releases */

/*
 * Starts a session; hops are the hop records beyond the peer (normally none). A host name is looked
 * up here, which is the only place that blocks. NW_OK: on the way. NW_EIO, NW_ENOMEM: CLOSED.
 */
int conn_connect(struct conn *c, const struct conn_addr *a, const uint8_t *hops, size_t hops_len,
    int64_t timeout_ns);
/* Takes over a connected socket with an open session. */
void conn_adopt(struct conn *c, int fd);
void conn_close(struct conn *c, const char *why);

/* Connects, reads and writes as far as possible now. NW_OK, or NW_ECLOSED, NW_EPROTO, NW_EIO and
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
/* Appends a message with one block (NULL data: an empty block) to the output of conn_step(), or the
 * block alone to the message before (joins). NW_ENOMEM, NW_ETOOBIG. */
int conn_queue(struct conn *c, uint8_t version, uint16_t type, const struct nw_block *block);

#endif
