/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection of the storage system: messages over TCP, in clear or in TLS. Blocking, with a
 * thread that reads and any number of threads that send.
 *
 * A message is a length of 32 bits (of what follows), a type of 16 bits and contents. Lengths above
 * the reader's limit end the connection before anything is allocated.
 */
#ifndef NARROWS_DPSS_CHANNEL_H
#define NARROWS_DPSS_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dpss/pack.h"

struct nw_tls_ctx;
struct channel;

enum { CHANNEL_WHY_BYTES = 256, CHANNEL_NAME_BYTES = 256, CHANNEL_SMALL_BYTES = 64 << 10 };

struct channel_message {
	uint16_t type;
	struct unpacker contents; /* good until the next channel_read() */
	uint8_t *data;            /* memory of the sink's, or NULL; the reader's from now on */
	size_t data_len;
};

/* Memory for the data behind the first head_bytes of messages of one type: the data are read to
 * their last place. give: NULL for no memory. */
struct channel_sink {
	uint16_t type;
	size_t head_bytes;
	uint8_t *(*give)(void *arg, size_t len);
	void (*take_back)(uint8_t *data);
	void *arg;
};

/* Connects within timeout_ms. tls: NULL for clear. NW_EIO, NW_EPROTO, NW_ENOMEM with why. */
int channel_connect(const char *host, uint16_t port, struct nw_tls_ctx *tls, int timeout_ms,
    struct channel **out, char why[CHANNEL_WHY_BYTES]);
/* Takes a connected socket, and closes the socket even if it fails. */
int channel_accept(int fd, struct nw_tls_ctx *tls, int timeout_ms, struct channel **out);
void channel_free(struct channel *w); /* no other thread may use w any more; NULL is fine */

/* From now on messages of up to `limit` bytes are read, and a peer that is silent for longer than
 * silence_ms is gone (0: never). */
void channel_limits(struct channel *w, size_t limit, int silence_ms);
/*
 * The bounds of a message from a peer that may be hostile. A begun message must be complete within
 * 20 s and a second for each 64 KiB. A message of more than CHANNEL_SMALL_BYTES needs a place
 * before its memory is allocated: take() waits for the place, or returns an error that ends the
 * read; give() returns the place when the next message is read, or by channel_free(). Both are
 * called in the reader's thread.
 */
struct channel_large {
	int (*take)(void *arg);
	void (*give)(void *arg);
	void *arg;
};
void channel_bound(struct channel *w, const struct channel_large *large);
/* NW_OK, NW_ECLOSED, NW_EPROTO (too long, or broken TLS), NW_EIO, NW_ENOMEM, and the errors
 * of take(); NW_ECLOSED also for a message that is late. */
int channel_read(struct channel *w, struct channel_message *out);
/* What becomes of a silence: NW_OK goes on waiting for as long again, else the code ends the read;
 * in the reader's thread. NULL: the silence ends the read. */
void channel_on_silence(struct channel *w, int (*on_silence)(void *arg), void *arg);
/* Sends a message whole; the packer is freed. NW_ECLOSED, NW_EIO, NW_ENOMEM. */
int channel_send(struct channel *w, uint16_t type, struct packer *p);
/* The same with more bytes behind the packed ones. */
int channel_send_with(
    struct channel *w, uint16_t type, struct packer *p, const void *bytes, size_t len);
/* The same with bytes of a file; a connection in clear only. NW_EIO, too, where the file is
 * shorter: the connection is then of no use any more. */
int channel_send_file(
    struct channel *w, uint16_t type, struct packer *p, int fd, uint64_t offset, size_t len);
void channel_sink(struct channel *w, const struct channel_sink *sink);
/* At most so many bytes per second are sent, evenly. */
void channel_pace(struct channel *w, uint64_t bytes_per_s);
bool channel_is_clear(const struct channel *w);
/* The kernel's number of the socket, and the bytes of the stream so far. Returns false in TLS,
 * whose bytes on the wire are others. */
bool channel_sent(struct channel *w, uint64_t *cookie, uint64_t *n_bytes);
/* Wakes the reader and lets every send fail; from any thread. */
void channel_shut(struct channel *w);
/* The name in the peer's certificate, or "" in clear. */
const char *channel_peer_name(const struct channel *w);
bool channel_is_loopback(const struct channel *w);

/* A socket for datagrams to a port of the peer's address, or from any peer to a port of this
 * end's address. NW_EIO. */
int channel_datagrams(const struct channel *w, uint16_t port, int *fd);
int channel_datagrams_at(const struct channel *w, int *fd, uint16_t *port);

/* A listening socket on host/port; NW_EIO with why. *port_used gets the port (for port 0). */
int channel_listen(
    const char *host, uint16_t port, int *fd, uint16_t *port_used, char why[CHANNEL_WHY_BYTES]);

#endif
