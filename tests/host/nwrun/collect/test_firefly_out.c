/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagrams of measured connections, at a real socket: when, to whom, and what they say. */
#include "host/nwrun/collect/firefly_out.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "narrows/doc.h"
#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "tests/check.h"

#define T0 (INT64_C(1700000000) * 1000000000)
#define S  INT64_C(1000000000)

struct seen {
	int metas, rows, ends;
};

static int
next_meta(void *arg, const char *id, const char *pid, const char *event_type,
    const struct nw_kv *subject, size_t n_subject, const struct nw_kv *params, size_t n_params)
{
	(void)id, (void)pid, (void)event_type, (void)subject, (void)n_subject, (void)params;
	((struct seen *)arg)->metas++;
	return (int)n_params; /* the caller gets what the box's sink says */
}

static int
next_data(void *arg, const char *mid, int64_t t_wall_ns, const char *const *fields,
    const double *values, size_t n_fields, const uint8_t *hist, size_t hist_len)
{
	(void)mid, (void)t_wall_ns, (void)fields, (void)values, (void)hist, (void)hist_len;
	((struct seen *)arg)->rows++;
	return n_fields > 2 ? NW_OK : NW_EINVAL;
}

static void
next_end(void *arg, const char *mid)
{
	(void)mid;
	((struct seen *)arg)->ends++;
}

/* A listener on loopback; its port. */
static int
listen_here(unsigned *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&a, len) == 0 &&
	    getsockname(fd, (struct sockaddr *)&a, &len) == 0);
	*port = ntohs(a.sin_port);
	return fd;
}

/* The next datagram; empty without one. */
static const char *
heard(int fd)
{
	static char text[4096];
	ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void
meta(const struct collect_sink *s, const char *id, const char *type, const char *src,
    const char *dst, const char *program)
{
	const struct nw_kv kv[] = { { "program", NW_KV_TEXT, { .text = program } },
		{ "src", NW_KV_TEXT, { .text = src } }, { "dst", NW_KV_TEXT, { .text = dst } },
		{ "sport", NW_KV_INT, { .i = 40000 } }, { "dport", NW_KV_INT, { .i = 1094 } } };

	CHECK_INT(s->meta(s->arg, id, NULL, type, kv, 5, NULL, 7), 7);
}

static void
row(const struct collect_sink *s, const char *id, int64_t t_wall_ns, double in, double out)
{
	static const char *const names[] = { "bytes_in", "bytes_out", "rtt_s", "rtt_min_s",
		"cwnd_bytes", "snd_mss", "busy_s", "delivery_rate" };
	const double values[] = { in, out, 0.02, NAN, 14480, 1448, 1.25, 5e6 };

	CHECK_INT(s->data(s->arg, id, t_wall_ns, names, values, 8, NULL, 0), NW_OK);
	CHECK_INT(s->data(s->arg, id, t_wall_ns, names, values, 0, NULL, 0), NW_EINVAL);
}

static void
test_life(void)
{
	struct seen seen = { 0, 0, 0 };
	struct collect_sink next = { .arg = &seen,
		.meta = next_meta,
		.data = next_data,
		.end = next_end },
			    s;
	struct firefly_out *o;
	struct hostconf conf = { .scitag = (char *)"2.9" };
	char text[64];
	unsigned port;
	int fd = listen_here(&port);

	CHECK(firefly_out_new(&conf, "dtn-a", T0, &next, &s) == NULL); /* off by default */
	snprintf(text, sizeof(text), "127.0.0.1/%u", port);
	conf.fireflies = text;
	CHECK((o = firefly_out_new(&conf, "dtn a", T0, &next, &s)) != NULL);
	meta(&s, "c1", NW_TYPE_CONNECTION, "10.0.0.1", "10.0.0.2", "a \"copy\"");
	CHECK_STR(heard(fd), ""); /* nothing has moved */
	row(&s, "c1", T0 + S, 1000, 2e6);
	CHECK_STR(heard(fd),
	    "<134>1 2023-11-14T22:13:21.000000Z dtn_a narrows - firefly-json - {\"version\":1,"
	    "\"flow-lifecycle\":{\"state\":\"start\",\"current-time\":\"2023-11-14T22:13:21."
	    "000000Z\",\"start-time\":\"2023-11-14T22:13:20.000000Z\"},\"flow-id\":{\"afi\":"
	    "\"ipv4\",\"src-ip\":\"10.0.0.1\",\"dst-ip\":\"10.0.0.2\",\"protocol\":\"tcp\","
	    "\"src-port\":40000,\"dst-port\":1094},\"context\":{\"experiment-id\":2,"
	    "\"activity-id\":9,\"application\":\"a \\\"copy\\\"\"},\"usage\":{\"received\":1000,"
	    "\"sent\":2000000},\"netlink\":{\"tcpInfo\":{\"rtt\":20000,\"sndMss\":1448,"
	    "\"deliveryRate\":5000000,\"busyTime\":1250000,\"sndCwnd\":10}}}");
	row(&s, "c1", T0 + 2 * S, 0, 1e6);
	CHECK_STR(heard(fd), ""); /* told a moment ago */
	row(&s, "c1", T0 + 31 * S, 0, 1e6);
	CHECK(strstr(heard(fd), "\"state\":\"ongoing\"") != NULL);
	s.end(s.arg, "c1");
	CHECK(strstr(heard(fd), "\"usage\":{\"received\":1000,\"sent\":4000000}") != NULL);
	s.end(s.arg, "c1");
	CHECK_STR(heard(fd), "");
	CHECK_INT((long)firefly_out_free(o, T0 + 40 * S), 3);
	CHECK_INT(seen.metas, 1);
	CHECK_INT(seen.rows, 6);
	CHECK_INT(seen.ends, 2);
	close(fd);
}

/* What is nobody's business, or no connection; what is open at the end of the run. */
static void
test_others(void)
{
	static const struct {
		const char *type, *src, *dst;
	} others[] = {
		{ NW_TYPE_FILE, "10.0.0.1", "10.0.0.2" },
		{ NW_TYPE_CONNECTION, "127.0.0.1", "127.0.0.1" },
		{ NW_TYPE_CONNECTION, "10.0.0.1", "10.0.0.1" },
		{ NW_TYPE_CONNECTION, "::1", "::1" },
		{ NW_TYPE_CONNECTION, "::ffff:127.0.0.1", "::ffff:127.0.0.1" },
		{ NW_TYPE_CONNECTION, "10.0.0.1", "no address" },
		{ NW_TYPE_CONNECTION, "10.0.0.1", "fd00::1" },
	};
	struct seen seen = { 0, 0, 0 };
	struct collect_sink next = { .arg = &seen,
		.meta = next_meta,
		.data = next_data,
		.end = next_end },
			    s;
	struct hostconf conf = { .scitag = NULL };
	struct firefly_out *o;
	char text[64], id[16];
	unsigned port;
	int fd = listen_here(&port), i;

	snprintf(text, sizeof(text), "127.0.0.1/%u", port);
	conf.fireflies = text;
	CHECK((o = firefly_out_new(&conf, "a", T0, &next, &s)) != NULL);
	for (i = 0; i < (int)(sizeof(others) / sizeof(others[0])); i++) {
		snprintf(id, sizeof(id), "o%d", i);
		meta(&s, id, others[i].type, others[i].src, others[i].dst, "cp");
		row(&s, id, T0 + S, 1, 1);
	}
	CHECK_STR(heard(fd), "");
	/* more connections than places: the later ones go unannounced, and reach the box */
	for (i = 0; i < 300; i++) {
		snprintf(id, sizeof(id), "c%d", i);
		meta(&s, id, NW_TYPE_CONNECTION, "fd00::1", "fd00::2",
		    "a program whose name is far longer than a datagram has room for");
		row(&s, id, T0 + S, 1, 1);
		CHECK((heard(fd)[0] != '\0') == (i < 256));
	}
	CHECK_INT(seen.metas, 307);
	/* two stay open until the end of the run */
	for (i = 0; i < 254; i++) {
		snprintf(id, sizeof(id), "c%d", i);
		s.end(s.arg, id);
		CHECK(strstr(heard(fd), "\"state\":\"end\"") != NULL);
	}
	CHECK_INT((long)firefly_out_free(o, T0 + 9 * S), 512);
	CHECK(strstr(heard(fd), "\"end-time\":\"2023-11-14T22:13:29.000000Z\"") != NULL);
	CHECK(strstr(heard(fd), "\"afi\":\"ipv6\"") != NULL);
	CHECK_STR(heard(fd), "");
	close(fd);
}

int
main(void)
{
	test_life();
	test_others();
	return check_done("firefly_out");
}
