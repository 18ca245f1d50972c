/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagrams on a socket of loopback, to records of sessions and rows: whose are taken, and what the
 * others are counted as. */
#include "daemon/gate/hearsay.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <time.h>

#include <event2/event.h>

#include "narrows/announce.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/log.h"
#include "tests/check.h"

static struct event_base *base;
static struct nw_batch *batch;
static struct store_ids next = { .meta = 1, .layout = 1 };
static unsigned fates[ANNOUNCE_OVER_LIMIT + 1], begun, ended, more, lost, hidden;
static char group[NW_ANNOUNCE_GROUP_BYTES]; /* of the newest flow */
static enum announce_hide hide;
static bool full;
static char last_source[64];
static struct announce *a;

static void *
on_begin(void *arg, const struct nw_announcement *n, int64_t *session_id)
{
	(void)arg;
	memcpy(group, n->group, sizeof(group));
	*session_id = 7;
	begun++;
	return &begun;
}

static void
on_more(void *arg, void *session)
{
	(void)arg;
	CHECK(session == &begun);
	more++;
}

static void
on_end(void *arg, void *session)
{
	(void)arg;
	CHECK(session == &begun);
	ended++;
}

static int64_t
on_host(void *arg, const char *source)
{
	(void)arg;
	snprintf(last_source, sizeof(last_source), "%s", source);
	return 3;
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
	return full;
}

static void
on_note(void *arg, enum announce_fate fate, const char *source, const char *why)
{
	(void)arg;
	(void)source;
	CHECK(fate != ANNOUNCE_MALFORMED || why != NULL);
	fates[fate]++;
}

static void
on_charge(void *arg, size_t bytes)
{
	(void)arg;
	CHECK(bytes > 0);
}

static void
on_lost(void *arg, unsigned n)
{
	(void)arg;
	lost += n;
}

static void
on_hide(void *arg, const char *name, char out[ANNOUNCE_HIDDEN_BYTES])
{
	(void)arg;
	snprintf(out, ANNOUNCE_HIDDEN_BYTES, "hidden:%zu", strlen(name));
	hidden++;
}

static const struct announce_ops ops = { on_begin, on_more, on_end, on_host, on_batch, on_full,
	on_note, on_charge, on_lost, on_hide, &next, NULL };

static void
open_at(const char *from)
{
	const struct announce_conf c = { "127.0.0.1/0", from, NULL, hide };
	char why[CONF_WHY_BYTES];

	memset(fates, 0, sizeof(fates));
	CHECK_INT(announce_start(base, &c, &ops, &a, why), NW_OK);
}

/* Sends a text and lets the box read. */
static void
send_text(const char *text, size_t len)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	to.sin_port = htons((uint16_t)atoi(strchr(announce_addresses(a), '/') + 1));
	CHECK_INT(sendto(fd, text, len, 0, (struct sockaddr *)&to, sizeof(to)), len);
	close(fd);
	event_base_loop(base, EVLOOP_ONCE);
}

static void
send_flow(const char *state, const char *src, unsigned port, int64_t ago_s)
{
	time_t t = (time_t)(nw_wall_ns() / 1000000000 - ago_s);
	char text[1024], at[32];
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%SZ", &tm);
	snprintf(text, sizeof(text),
	    "{\"version\":1,\"flow-lifecycle\":{\"state\":\"%s\",\"current-time\":\"%s\","
	    "\"start-time\":\"2026-01-01T00:00:00Z\"},\"flow-id\":{\"src-ip\":\"%s\","
	    "\"dst-ip\":\"192.0.2.9\",\"src-port\":1094,\"dst-port\":%u,\"protocol\":\"tcp\"}}",
	    state, at, src, port);
	send_text(text, strlen(text));
}

static void
test_networks(void)
{
	open_at("none");
	send_flow("start", "10.1.0.1", 1, 0);
	CHECK_INT(fates[ANNOUNCE_FOREIGN], 1);
	announce_stop(a);
	open_at("10.1.0.0/16"); /* the flow's, not the sender's */
	send_flow("start", "10.1.0.1", 1, 0);
	CHECK_INT(fates[ANNOUNCE_FOREIGN], 1);
	announce_stop(a);
	open_at("127.0.0.0/8 10.1.0.0/16");
	send_flow("start", "10.2.0.1", 1, 0); /* the sender's, not the flow's */
	CHECK_INT(fates[ANNOUNCE_FOREIGN], 1);
	CHECK_INT(begun, 0);
	send_flow("start", "10.1.0.1", 1, 0);
	CHECK_INT(fates[ANNOUNCE_TAKEN], 1);
	CHECK_INT(begun, 1);
	CHECK_INT(more, 1);
	CHECK_STR(last_source, "127.0.0.1");
	CHECK_INT(next.meta, 2);
	announce_stop(a); /* ends the flow */
	CHECK_INT(ended, 1);
}

static void
test_fates(void)
{
	static char text[NW_ANNOUNCE_MAX_BYTES + 500];

	open_at("127.0.0.0/8 192.0.2.9");
	send_text("hello", 5);
	memset(text, '{', sizeof(text));
	send_text(text, sizeof(text));
	send_text("", 0);
	CHECK_INT(fates[ANNOUNCE_MALFORMED], 3);
	send_flow("start", "10.1.0.1", 2, 700);
	CHECK_INT(fates[ANNOUNCE_STALE], 1);
	send_flow("end", "10.1.0.1", 3, 0);
	send_flow("end", "10.1.0.1", 3, 0);
	CHECK_INT(fates[ANNOUNCE_TAKEN], 1);
	CHECK_INT(fates[ANNOUNCE_STALE], 2);
	full = true;
	send_flow("start", "10.1.0.1", 4, 0);
	CHECK_INT(fates[ANNOUNCE_OVER_LIMIT], 1);
	full = false;
	announce_stop(a);
	CHECK_INT(begun, ended);
}

/* Puts a number of 32 bits in network order. */
static size_t
be32(uint8_t *at, uint32_t v)
{
	v = htonl(v);
	memcpy(at, &v, sizeof(v));
	return sizeof(v);
}

/* A map packet of a server of loopback: its header, number, id and text. */
static void
send_map(char code, uint8_t number, uint32_t id, const char *text)
{
	uint8_t bytes[256] = { (uint8_t)code, number, 0, (uint8_t)(12 + strlen(text)) };

	be32(bytes + 8, id);
	memcpy(bytes + 12, text, strlen(text));
	send_text((const char *)bytes, bytes[3]);
}

/* An f-stream with the open and the close of a file of `size` bytes, by a login. */
static void
send_file(uint8_t number, uint32_t login, uint32_t file, uint32_t size)
{
	uint32_t now_s = (uint32_t)(nw_wall_ns() / 1000000000);
	uint8_t b[256] = { 'f', number };
	size_t n = 4;

	n += be32(b + n, 1);
	n += be32(b + n, 0x02010018);
	n += be32(b + n, 2);
	n += be32(b + n, now_s - 2);
	n += be32(b + n, now_s - 1);
	n += be32(b + n, 0);
	n += be32(b + n, 77); /* the server's number */
	n += be32(b + n, 0x0101001c);
	n += be32(b + n, file);
	n += be32(b + n, 0);
	n += be32(b + n, size);
	n += be32(b + n, login);
	memcpy(b + n, "/secret\0", 8);
	n += 8;
	n += be32(b + n, 0x00000020);
	n += be32(b + n, file);
	n += be32(b + n, 0);
	n += be32(b + n, size);
	memset(b + n, 0, 16);
	n += 16;
	b[3] = (uint8_t)n;
	send_text((const char *)b, n);
}

static void
test_xrootd(void)
{
	unsigned was = begun;

	hide = ANNOUNCE_HIDE_ALL;
	open_at("127.0.0.1");
	send_map('=', 1, 0, "=/root.1:77@vm\n&port=1094");
	send_map('u', 2, 5, "xroot/alice.9:77@[::ffff:192.0.2.9]\n&x=xrdcp");
	CHECK_INT(fates[ANNOUNCE_TAKEN], 2);
	CHECK_INT(begun, was);
	send_file(1, 5, 6, 1000);
	CHECK_INT(begun, was + 1);
	CHECK_INT(ended, begun);
	CHECK_STR(group, "xrootd:127.0.0.1/77/5");
	CHECK_INT(hidden, 2); /* user and file */
	send_file(1, 5, 7, 1000);
	CHECK_INT(fates[ANNOUNCE_STALE], 1);
	CHECK_INT(lost, 0);
	send_file(4, 5, 8, 1000);
	CHECK_INT(lost, 2);
	CHECK_INT(begun, was + 2);
	send_map('u', 3, 5, "nobody");
	CHECK_INT(fates[ANNOUNCE_MALFORMED], 1);
	announce_stop(a);
	hide = ANNOUNCE_HIDE_USERS;
	open_at("127.0.0.1");
	send_map('u', 1, 5, "xroot/alice.9:77@[::ffff:192.0.2.9]\n&x=xrdcp");
	send_file(1, 5, 9, 1000);
	CHECK_INT(hidden, 5);
	announce_stop(a);
	hide = ANNOUNCE_HIDE_NONE;
}

static void
test_configuration(void)
{
	const struct announce_conf bad[] = { { "nowhere", "none", NULL, ANNOUNCE_HIDE_NONE },
		{ "127.0.0.1/0", "10.0.0.1/8", NULL, ANNOUNCE_HIDE_NONE } };
	struct nw_scitags *names;
	char why[CONF_WHY_BYTES];
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(announce_start(base, &bad[i], &ops, &a, why) < 0);
	CHECK_INT(announce_names("/nonexistent", &names, why), NW_OK);
	CHECK(names == NULL);
	CHECK_INT(announce_names("conf/scitags.conf", &names, why), NW_OK);
	CHECK(names != NULL);
	nw_scitags_free(names);
	CHECK_INT(announce_names("Makefile", &names, why), NW_EINVAL);
}

int
main(void)
{
	log_open("test_hearsay", false, false);
	base = event_base_new();
	batch = nw_batch_new();
	test_networks();
	test_fates();
	test_xrootd();
	test_configuration();
	nw_batch_free(batch);
	event_base_free(base);
	return check_done("hearsay");
}
