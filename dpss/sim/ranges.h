/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks of a file behind ordinary HTTP servers, by ranges: the same calls as for a data set, so
 * that a load generator need not care. HTTP/1.1 in clear, several connections that stay.
 */
#ifndef NARROWS_DPSS_RANGES_H
#define NARROWS_DPSS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ranges;

enum { RANGES_WHY_BYTES = 256 };

struct ranges_opts {
	uint32_t block_bytes;
	size_t connections; /* to each server */
	bool flush;         /* a new list takes the place of what was not sent yet */
	const char *log;    /* events in the common format; NULL for none */
};

struct ranges_block {
	uint64_t logical;
	uint32_t list, len;
	int rc; /* NW_OK; NW_EPROTO: the server gave something else; NW_ECLOSED */
};

/* urls: "http://HOST[:PORT]/PATH", joined by commas where several servers have the file; block n is
 * asked of server n modulo their number. NW_EINVAL, NW_EIO, NW_EPROTO with why. */
int ranges_open(const char *urls, const struct ranges_opts *opts, struct ranges **out,
    char why[RANGES_WHY_BYTES]);
int ranges_close(struct ranges *r); /* NW_EIO: events were lost; NULL is fine */
uint64_t ranges_blocks(const struct ranges *r);
int ranges_request(struct ranges *r, const uint64_t *logical, size_t n);
/* NW_EAGAIN: none came within wait_ms. */
int ranges_next(struct ranges *r, int wait_ms, struct ranges_block *out);
size_t ranges_pending(struct ranges *r);
/* Forgets the requests that were not sent, and returns how many there were. */
uint64_t ranges_forget(struct ranges *r);

#endif
