/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes of a broker, in pieces of any size: the connection gives exactly the frames that a cut
 * of the same bytes in one piece gives, and the same end. The first bytes of the input are the
 * sizes of the pieces.
 */
#include "host/nwfts/brokerwire.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "narrows/err.h"
#include "narrows/fnv.h"

enum { PIECES = 16, INPUT_MAX_BYTES = 64 << 10 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* What a reader saw. */
struct seen {
	uint64_t frames; /* hash of all */
	unsigned n;
	bool is_over; /* by a fault of the protocol */
};

static void
frame_add(struct seen *s, const struct nw_stomp_frame *f)
{
	s->frames = fnv_bytes(s->frames, f->command, f->command_len);
	s->frames = fnv_byte(s->frames, 0xff);
	s->frames = fnv_bytes(s->frames, f->headers, f->headers_len);
	s->frames = fnv_byte(s->frames, 0xff);
	s->frames = fnv_bytes(s->frames, f->body, f->body_len);
	s->n++;
}

static struct seen
cut_whole(const uint8_t *bytes, size_t len)
{
	struct seen s = { .frames = FNV_BEGIN };
	struct nw_stomp_frame f;
	const char *why;
	size_t took;
	int rc;

	while ((rc = nw_stomp_cut(bytes, len, &f, &took, &why)) == NW_OK) {
		frame_add(&s, &f);
		bytes += took;
		len -= took;
	}
	s.is_over = rc != NW_EAGAIN;
	return s;
}

static int
listen_open(char port[8])
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, size) != 0 || listen(fd, 8) != 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &size) != 0)
		abort();
	(void)snprintf(port, 8, "%u", ntohs(at.sin_port));
	return fd;
}

/* Takes the frames that have come. Returns false if the connection is over. */
static bool
frames_take(struct brokerwire *w, struct seen *s)
{
	struct nw_stomp_frame f;
	int rc;

	while ((rc = brokerwire_frame(w, &f)) == NW_OK)
		frame_add(s, &f);
	s->is_over = rc != NW_EAGAIN;
	if (s->is_over && brokerwire_why(w)[0] == '\0')
		abort();
	return !s->is_over;
}

/* Steps until all bytes sent so far have come. */
static bool
come(struct brokerwire *w, struct seen *s, uint64_t sent)
{
	while (brokerwire_received(w) < sent)
		if (brokerwire_step(w) < 0)
			abort();
		else if (!frames_take(w, s))
			return false;
	return true;
}

static struct seen
cut_pieces(const uint8_t *sizes, const uint8_t *bytes, size_t len)
{
	static char port[8];
	static int listener = -1;
	const struct brokerwire_opts o = { .host = "127.0.0.1", .port = port };
	const struct linger reset = { 1, 0 }; /* no port is left waiting */
	struct seen s = { .frames = FNV_BEGIN };
	char why[NW_TLS_WHY_BYTES];
	struct brokerwire *w;
	size_t at, n;
	int fd, i;

	if (listener < 0)
		listener = listen_open(port);
	if (brokerwire_open(&o, INT64_C(10000000000), &w, why) != NW_OK ||
	    (fd = accept(listener, NULL, NULL)) < 0)
		abort();
	for (at = 0, i = 0; at < len; at += n, i = (i + 1) % PIECES) {
		n = 1 + (size_t)sizes[i] * sizes[i];
		n = n < len - at ? n : len - at;
		if (send(fd, bytes + at, n, MSG_NOSIGNAL) != (ssize_t)n)
			abort();
		if (!come(w, &s, at + n))
			break;
	}
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
	brokerwire_close(w);
	return s;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct seen whole, pieces;

	if (len <= PIECES || len > INPUT_MAX_BYTES)
		return 0;
	whole = cut_whole(data + PIECES, len - PIECES);
	pieces = cut_pieces(data, data + PIECES, len - PIECES);
	if (whole.n != pieces.n || whole.frames != pieces.frames || whole.is_over != pieces.is_over)
		abort();
	return 0;
}
