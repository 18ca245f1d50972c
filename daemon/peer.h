/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection that speaks XSP: bytes to frames, the opening exchange, answers in the peer's
 * version.
 *
 *	SECURING --TLS done, certificate good--> HANDSHAKE      (a plain port begins with HANDSHAKE)
 *	HANDSHAKE --AUTH_TYPE ANON--> AUTHENTICATED --SESS_OPEN--> OPEN
 *	any --violation--> (NACK in an exchange) --> DRAINING --sent and quiet--> gone
 *	any --fault of TLS or certificate--> (line in the log) --> DRAINING
 *	any --SESS_CLOSE, EOF, error, timer--> gone
 */
#ifndef PEER_H
#define PEER_H

struct box;
struct peer;
struct sockaddr;

/* Reserve of the box (narrows/xmalloc.h): more than one read's messages take. Untouched memory
 * costs address space only. */
enum { PEER_RESERVE_BYTES = 8 << 20 };

/* What is spoken at a port: XSP, or lines of events (linefeed.h), in clear or in TLS. */
enum peer_port { PEER_XSP, PEER_XSP_TLS, PEER_LINES, PEER_LINES_TLS };
/* Takes the socket; refuses above the limits. */
void peer_accept(struct box *box, int fd, const struct sockaddr *sa, enum peer_port port);
/* Once a second: ends connections with expired or revoked certificates, and makes a spent reserve
 * anew. */
void peer_tick(struct box *box);
void peer_pause_all(struct box *box);
/* Tells every provider that said HELLO the store's error, or the error's end. */
void peer_tell_store_error(struct box *box);
void peer_resume_all(struct box *box);
/* Shutdown: reads the arrived bytes, then closes every connection. */
void peer_drain_all(struct box *box);

#endif
