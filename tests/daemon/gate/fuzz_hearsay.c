/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagrams on the way of a box: on a socket, by the event loop, through both parsers and the table
 * of flows, to sessions and rows. An input is datagrams behind two bytes of length; their times
 * become the present, because the table refuses any other. Sessions begin and end in pairs, more
 * comes between the two, and every datagram has one fate.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include "daemon/gate/hearsay.h"
#include "narrows/announce.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { DATAGRAM_BYTES = 16384, DATAGRAMS_MAX = 64 };

static struct event_base *base;
static struct nw_batch *batch;
static struct store_ids next = { .meta = 1, .layout = 1 };
static unsigned live, fates;

static void *
on_begin(void *arg, const struct nw_announcement *n, int64_t *session_id)
{
	(void)arg;
	if (n->src[0] == '\0')
		abort();
	*session_id = 1;
	live++;
	return malloc(1);
}

static void
on_more(void *arg, void *session)
{
	(void)arg;
	if (session == NULL || live == 0)
		abort();
}

static void
on_end(void *arg, void *session)
{
	(void)arg;
	if (live-- == 0)
		abort();
	free(session);
}

static int64_t
on_host(void *arg, const char *source)
{
	(void)arg;
	(void)source;
	return 1;
}

static struct nw_batch *
on_batch(void *arg)
{
	(void)arg;
	return batch;
}

static bool
on_full(void *arg)
{
	(void)arg;
	return false;
}

static void
on_note(void *arg, enum announce_fate fate, const char *source, const char *why)
{
	(void)arg;
	(void)source;
	if (fate == ANNOUNCE_MALFORMED && why == NULL)
		abort();
	fates++;
}

static void
on_charge(void *arg, size_t bytes)
{
	(void)arg;
	if (bytes == 0)
		abort();
}

static void
on_lost(void *arg, unsigned n)
{
	(void)arg;
	if (n == 0 || n > 126)
		abort();
}

static void
on_hide(void *arg, const char *name, char out[ANNOUNCE_HIDDEN_BYTES])
{
	(void)arg;
	out[0] = name[0];
	out[1] = '\0';
}

/* Puts the present in place of "2026-11-23T01:18:56", and of the seconds of an f-stream. */
static void
now_put(uint8_t *bytes, size_t len)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd";
	time_t t = (time_t)(nw_wall_ns() / 1000000000);
	uint32_t s = htonl((uint32_t)t);
	char at[sizeof(form) + 8];
	struct tm tm;
	size_t i, k;

	if (bytes[0] == 'f' && len >= 24) {
		memcpy(bytes + 16, &s, sizeof(s));
		memcpy(bytes + 20, &s, sizeof(s));
		return;
	}
	gmtime_r(&t, &tm);
	strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%S", &tm);
	for (i = 0; i + sizeof(form) - 1 <= len; i++) {
		for (k = 0; k < sizeof(form) - 1; k++)
			if (form[k] == 'd' ? !isdigit(bytes[i + k]) : bytes[i + k] != form[k])
				break;
		if (k == sizeof(form) - 1)
			memcpy(bytes + i, at, k);
	}
}

static unsigned
send_all(int fd, const uint8_t *data, size_t len)
{
	static uint8_t one[DATAGRAM_BYTES];
	unsigned sent = 0;
	size_t n;

	while (len >= 2 && sent < DATAGRAMS_MAX) {
		n = (size_t)(data[0] << 8 | data[1]);
		n = n < len - 2 ? n : len - 2;
		n = n < sizeof(one) ? n : sizeof(one);
		memcpy(one, data + 2, n);
		if (n > 0)
			now_put(one, n);
		sent += send(fd, one, n, 0) == (ssize_t)n;
		data += 2 + n;
		len -= 2 + n;
	}
	return sent;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct announce_ops ops = { on_begin, on_more, on_end, on_host, on_batch,
		on_full, on_note, on_charge, on_lost, on_hide, &next, NULL };
	static const struct announce_conf c = { "127.0.0.1/0", "127.0.0.0/8", NULL,
		ANNOUNCE_HIDE_ALL };
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	char why[CONF_WHY_BYTES];
	struct announce *a;
	unsigned sent;
	int fd;

	if (base == NULL) {
		log_open("fuzz_hearsay", false, false);
		base = event_base_new();
	}
	batch = nw_batch_new();
	fates = 0;
	if (announce_start(base, &c, &ops, &a, why) < 0)
		abort();
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	to.sin_port = htons((uint16_t)atoi(strchr(announce_addresses(a), '/') + 1));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		abort();
	sent = send_all(fd, data, len);
	event_base_loop(base, EVLOOP_NONBLOCK);
	announce_tick(a);
	if (fates > sent)
		abort();
	announce_stop(a);
	if (live != 0)
		abort();
	close(fd);
	nw_batch_free(batch);
	return 0;
}
