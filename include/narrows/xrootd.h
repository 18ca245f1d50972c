/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XRootD's monitoring by UDP, as its servers of version 5 send it: map packets (which user, which
 * file, which experiment), the f-stream (files opened, bytes so far, files closed, users gone), and
 * the g-stream of third-party copies in JSON. A file is announced from its open to its close; the
 * files of a login are one transfer. XRootD has no durations of operations: no stage follows.
 *
 * What servers said is kept, bounded for each source and in all: at a bound of a source its oldest
 * login or file goes; at the bound of all, the newest of the source with most (narrows/fairq.h).
 */
#ifndef NARROWS_XROOTD_H
#define NARROWS_XROOTD_H

#include "narrows/announce.h"

struct nw_xrootd;

enum {
	NW_XROOTD_MAX_BYTES = 65535, /* of a datagram */
	NW_XROOTD_SERVERS_MAX = 1024,
	NW_XROOTD_SERVERS_OF_SOURCE_MAX = 16,
	NW_XROOTD_LOGINS_MAX = 8192,
	NW_XROOTD_LOGINS_OF_SOURCE_MAX = 4096,
	NW_XROOTD_FILES_MAX = 8192,
	NW_XROOTD_FILES_OF_SOURCE_MAX = 4096
};

struct nw_xrootd_datagram {
	const char *source; /* numeric address of the sender */
	const uint8_t *bytes;
	size_t len;
	int64_t now_wall_ns, now_mono_ns;
};

/* What became of a datagram. */
struct nw_xrootd_got {
	unsigned records; /* passed to the caller */
	bool is_repeated; /* the server's number of the datagram was taken before */
	int lost;         /* datagrams missing before; -1: a missing datagram came */
};

/* Called for each announcement; `a` is on loan. Returns false if the rest of the datagram has to be
 * dropped. */
typedef bool nw_xrootd_fn(void *arg, const struct nw_announcement *a);

/* NULL without memory. */
struct nw_xrootd *nw_xrootd_new(void);
void nw_xrootd_free(struct nw_xrootd *x); /* accepts NULL */
/* Whether the first bytes are XRootD's, and no firefly's. */
bool nw_xrootd_is(const uint8_t *bytes, size_t len);
/* Reads a datagram. NW_EPROTO or NW_ETOOBIG with static *why; records before the fault have been
 * passed. Streams that nothing is read from are no fault. */
int nw_xrootd_take(struct nw_xrootd *x, const struct nw_xrootd_datagram *d, nw_xrootd_fn *fn,
    void *arg, struct nw_xrootd_got *got, const char **why);
/*
 * Writes the group of the only login that a firefly of the same server can belong to, by its client
 * and the time at which the login opened a file: `n` becomes part of the login's transfer. Does
 * nothing if there is no such login, or more than one.
 */
void nw_xrootd_group(struct nw_xrootd *x, const char *source, struct nw_announcement *n);
/* Writes the group of the only file of all servers that a whole transfer moved. Does nothing if
 * there is no such file, or more than one. */
void nw_xrootd_file_group(
    struct nw_xrootd *x, char group[NW_ANNOUNCE_GROUP_BYTES], const struct nw_announcement *n);
/* Called for a third-party copy of a server that sent the copy's record some seconds ago. Both
 * pointers are on loan. */
typedef void nw_xrootd_late_fn(void *arg, const char *source, const struct nw_announcement *a);
/* Once a second: passes copies whose files became known since, or do not within ten seconds, and
 * forgets servers that were silent for a day. */
void nw_xrootd_tick(struct nw_xrootd *x, int64_t now_mono_ns, nw_xrootd_late_fn *fn, void *arg);

#endif
