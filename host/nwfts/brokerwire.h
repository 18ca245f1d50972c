/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection to a broker of messages: TCP, or TLS whose server proves its name by a CA. Frames in
 * and out; the connection waits only within brokerwire_open(). One thread.
 */
#ifndef BROKERWIRE_H
#define BROKERWIRE_H

#include "narrows/stomp.h"
#include "narrows/tls.h"

struct brokerwire;

struct brokerwire_opts {
	const char *host, *port;
	bool tls;
	const char *ca_file;              /* of TLS */
	const char *cert_file, *key_file; /* shown to the broker; NULL: none */
};

/* Connects, with the handshake of TLS, for at most timeout_ns. NW_EIO or NW_EPROTO with why;
 * NW_ENOMEM. */
int brokerwire_open(const struct brokerwire_opts *o, int64_t timeout_ns, struct brokerwire **out,
    char why[NW_TLS_WHY_BYTES]);
void brokerwire_close(struct brokerwire *w); /* accepts NULL */
int brokerwire_fd(const struct brokerwire *w);
/* Events of poll(2) that the connection waits for. */
short brokerwire_events(const struct brokerwire *w);
/* Queues a frame (narrows/stomp.h), and sends as far as the socket goes. NW_ETOOBIG: the broker
 * reads nothing any more, or the frame is too long; NW_EINVAL; NW_ECLOSED, NW_EPROTO. */
int brokerwire_send(struct brokerwire *w, const char *command, const char *const *pairs);
/* Queues a line end, the sign of life between frames. Results as of brokerwire_send(). */
int brokerwire_beat(struct brokerwire *w);
/* Reads and writes as far as the socket goes. Results as of brokerwire_send(); behind a failure,
 * brokerwire_frame() still gives the frames that came before. */
int brokerwire_step(struct brokerwire *w);
/* The next frame, on loan until the next call on w. NW_EAGAIN: none yet. NW_EPROTO, NW_ETOOBIG: the
 * broker does not speak STOMP. */
int brokerwire_frame(struct brokerwire *w, struct nw_stomp_frame *out);
/* Bytes of frames and heart-beats since the connection began. */
uint64_t brokerwire_received(const struct brokerwire *w);
/* Why the last call failed; static text. */
const char *brokerwire_why(const struct brokerwire *w);

#endif
