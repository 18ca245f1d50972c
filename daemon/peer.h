/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One connection that speaks XSP: bytes to frames, the opening exchange, answers in the peer's
 * version.
 *
 *	SECURING --TLS done, certificate good--> HANDSHAKE      (on a TLS port; else it begins with HANDSHAKE)
 *	HANDSHAKE --AUTH_TYPE ANON--> AUTHENTICATED --SESS_OPEN--> OPEN
 *	any --violation--> (NACK when there is an exchange to refuse) --> DRAINING --sent and quiet--> gone
 *	any --what TLS refuses, a certificate that is no longer good--> one line in the log --> DRAINING
 *	any --SESS_CLOSE, EOF, error, timer--> gone
 */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>

struct box;
struct peer;
struct sockaddr;

/* Takes the socket. Refuses above the limits. tls: nothing but TLS is read from it. */
void peer_accept(struct box *box, int fd, const struct sockaddr *sa, bool tls);
/* Once a second: certificates that are no longer good end their connections. */
void peer_tick(struct box *box);
void peer_pause_all(struct box *box);
/* Tells every provider that said HELLO the store's error, or that it is over. */
void peer_tell_store_error(struct box *box);
void peer_resume_all(struct box *box);
/* Shutdown: reads what has already arrived, then closes every connection. */
void peer_drain_all(struct box *box);

#endif
