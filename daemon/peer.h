/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One connection that speaks XSP: bytes to frames, the opening exchange, answers in the peer's version.
 *
 *	HANDSHAKE --AUTH_TYPE ANON--> AUTHENTICATED --SESS_OPEN--> OPEN
 *	any --violation--> (NACK when there is an exchange to refuse) --> DRAINING --sent and quiet--> gone
 *	any --SESS_CLOSE, EOF, error, timer--> gone
 */
#ifndef PEER_H
#define PEER_H

#include <stddef.h>
#include <stdint.h>

struct box;
struct peer;
struct sockaddr;

/* Takes the socket. address is the numeric address alone, for limits and names. Refuses above the limits. */
void peer_accept(struct box *box, int fd, const struct sockaddr *sa);
/* One APP_DATA block to a peer that said it can take it. Output above a bound ends the connection. */
void peer_send(struct peer *p, uint16_t opt, const uint8_t *data, size_t len);
/* Refuses: NACK if that means something to the peer, then close. The peer lives until the loop returns to it. */
void peer_fail(struct peer *p, int code, const char *why);

void peer_pause_all(struct box *box);
void peer_resume_all(struct box *box);
/* Shutdown: reads what has already arrived, then closes every connection. */
void peer_drain_all(struct box *box);

#endif
