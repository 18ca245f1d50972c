/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GET /metrics: the samples of this moment for Prometheus, without any box. One thread, blipp's.
 * At most SCRAPES connections at once, of which the oldest goes for a new one, each with a request
 * of SCRAPE_REQUEST_BYTES and ten seconds; a peer that does not read costs one answer.
 */
#ifndef HOST_SCRAPE_H
#define HOST_SCRAPE_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { SCRAPES = 8, SCRAPE_REQUEST_BYTES = 4096 };

struct scrape {
	int fd;
	int64_t begun_mono_ns;
	char request[SCRAPE_REQUEST_BYTES];
	size_t request_len;
	char *answer; /* NULL while the request comes */
	size_t answer_len, sent;
};

struct scrapes {
	int fd; /* listens; -1: no client asked for this */
	struct scrape list[SCRAPES];
	size_t n;
	/* writes the metrics; classic: the text format that is older than OpenMetrics */
	void (*write)(void *arg, bool classic, FILE *to);
	void *arg;
};

/* "127.0.0.1/9105", "[::1]:9105", or a port alone for 127.0.0.1. NW_EINVAL, NW_EIO with errno. */
int scrapes_open(struct scrapes *s, const char *address,
    void (*write)(void *arg, bool classic, FILE *to), void *arg);
void scrapes_close(struct scrapes *s);
/* Fills 1 + SCRAPES descriptors at most. */
size_t scrapes_poll(const struct scrapes *s, struct pollfd *out);
/* Goes on with whatever is ready. */
void scrapes_run(struct scrapes *s, int64_t now_mono_ns);

#endif
