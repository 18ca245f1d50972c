/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/follow.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/frame.h"
#include "tests/check.h"

#define MS INT64_C(1000000)

/* Ten seconds at 1 s, ten at 100 ms, ten at 1 s: every sample on the grid, none missing, none
 * twice. */
static void
test_ticker(void)
{
	const int64_t start = INT64_C(1700000000123456789), end = 30000 * MS;
	struct ticker b = { 0 };
	struct clock_pair now;
	int64_t t, off, interval, last = 0;
	unsigned n[3] = { 0 }, late = 0;

	for (t = 0; t < end; t += 1 * MS) {
		/* looked at every millisecond, by a clock that is slewed by 500 ppm */
		now = (struct clock_pair){ t, start + t + t / 2000 };
		interval = t / (10000 * MS) == 1 ? 100 * MS : 1000 * MS;
		ticker_set(&b, interval, now);
		if (!ticker_is_due(&b, now))
			continue;
		n[t / (10000 * MS)]++;
		off = now.wall_ns % interval;
		late += t > 0 && off > 3 * MS && off < interval - 3 * MS;
		CHECK(last == 0 || t - last >= interval / 2 - MS || interval == 100 * MS);
		last = t;
	}
	CHECK(n[0] >= 10 && n[0] <= 11);
	CHECK(n[1] >= 100 && n[1] <= 101);
	CHECK(n[2] >= 9 && n[2] <= 11);
	CHECK_INT(late, 0);
	/* a suspended machine makes up for nothing */
	now = (struct clock_pair){ end + 3600000 * MS, start + end + 3600000 * MS };
	CHECK(ticker_is_due(&b, now) && !ticker_is_due(&b, now));
}

static double
value_of(const double *values, const char *name)
{
	size_t i;

	for (i = 0; i < follow_kind.n_fields; i++)
		if (strcmp(follow_kind.fields[i].name, name) == 0)
			return values[i];
	CHECK_STR(name, "a field");
	return NAN;
}

static void
put32(uint8_t *info, size_t at, uint32_t v)
{
	memcpy(info + at, &v, sizeof(v));
}

static void
put64(uint8_t *info, size_t at, uint64_t v)
{
	memcpy(info + at, &v, sizeof(v));
}

static void
test_parse(void)
{
	uint8_t info[TCPINFO_BYTES] = { 0 };
	double v[SERIES_FIELDS_MAX];
	size_t i, len, known, before = 0;

	put32(info, 16, 1448);        /* snd_mss */
	put32(info, 68, 12500);       /* rtt, us */
	put32(info, 76, 0x7fffffff);  /* snd_ssthresh: none */
	put32(info, 80, 10);          /* snd_cwnd, segments */
	put64(info, 104, UINT64_MAX); /* pacing_rate: unlimited */
	put32(info, 148, UINT32_MAX); /* min_rtt: none yet */
	put64(info, 168, 2500000);    /* busy_time, us */
	put64(info, 200, 1ull << 40); /* bytes_sent */
	put32(info, 232, 65535);      /* rcv_wnd */
	put32(info, 248, 9);          /* received_ce */
	info[7] = 7;                  /* limited by the program, and two bits of something else */
	info[2] = 3;
	follow_parse(info, 280, v);
	CHECK_NEAR(value_of(v, "SmoothedRTT"), 12.5, 1e-12, 0);
	CHECK_NEAR(value_of(v, "CurCwnd"), 14480, 0, 0);
	CHECK_NEAR(value_of(v, "HCDataOctetsOut"), 1099511627776.0, 0, 0);
	CHECK_NEAR(value_of(v, "CurRwinSent"), 65535, 0, 0);
	CHECK_NEAR(value_of(v, "CurTimeoutCount"), 3, 0, 0);
	CHECK_NEAR(value_of(v, "linux_received_ce"), 9, 0, 0);
	CHECK_NEAR(value_of(v, "linux_delivery_rate_app_limited"), 1, 0, 0);
	CHECK_NEAR(value_of(v, "linux_busy_time"), 2500000, 0, 0);
	CHECK(isnan(value_of(v, "CurSsthresh")) && isnan(value_of(v, "linux_pacing_rate")) &&
	    isnan(value_of(v, "MinRTT")));
	put32(info, 76, 20);
	follow_parse(info, 280, v);
	CHECK_NEAR(value_of(v, "CurSsthresh"), 28960, 0, 0);
	/* fields with a reader in the box, and fields without one */
	CHECK(follow_is_read("SmoothedRTT") && follow_is_read("linux_busy_time"));
	CHECK(!follow_is_read("linux_skmem_rmem") && !follow_is_read("CurRTO"));
	/* older kernels say less, never something else */
	for (len = 0; len <= 280; len++) {
		follow_parse(info, len, v);
		for (i = known = 0; i < follow_kind.n_fields; i++)
			known += !isnan(v[i]);
		CHECK(known >= before);
		before = known;
	}
	follow_parse(info, 104, v);
	CHECK(isnan(value_of(v, "SegsOut")) && value_of(v, "SegsRetrans") == 0);
}

/* --- a connection of our own, followed by order --- */

static void
pair_open(int fd[2], struct nw_order *o)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0);

	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(bind(l, (struct sockaddr *)&a, len) == 0 && listen(l, 1) == 0);
	CHECK(getsockname(l, (struct sockaddr *)&a, &len) == 0 &&
	    connect(fd[0], (struct sockaddr *)&a, len) == 0);
	o->dport = ntohs(a.sin_port);
	CHECK((fd[1] = accept(l, NULL, NULL)) >= 0 &&
	    getsockname(fd[0], (struct sockaddr *)&a, &len) == 0);
	o->sport = ntohs(a.sin_port);
	close(l);
}

static void
test_follow(void)
{
	struct nw_order o = { .opt = NW_OPT_START,
		.id = "s1/1",
		.event_type = NW_TYPE_TCP,
		.src = "127.0.0.1",
		.dst = "127.0.0.1",
		.collection_ns = 100 * MS,
		.lease_ns = 5000 * MS };
	const struct nw_provider_opts opts = { .box = "127.0.0.1/1", .host = "h" };
	struct nw_provider_stats stats;
	char ends[2][PEER_HOST_BYTES];
	static struct followers f;
	static struct leases l;
	struct report r = { .host = "h", .t_wall_ns = 1 };
	struct clock_pair now = { 1000 * MS, 5000 * MS };
	bool changed;
	int fd[2];

	CHECK_INT(nw_provider_new(&opts, &r.provider), NW_OK);
	followers_init(&f);
	if (f.fd < 0) {
		fprintf(stderr, "no sock_diag here: not tested\n");
		nw_provider_close(r.provider, 0);
		return;
	}
	pair_open(fd, &o);
	leases_take(&l, &o, 0, &changed);
	strcpy(o.id, "s1/2"); /* nobody is there */
	o.dport ^= 1;
	leases_take(&l, &o, 0, &changed);
	strcpy(o.id, "s1/3");
	strcpy(o.src, "no address");
	leases_take(&l, &o, 0, &changed);
	followers_sync(&f, &l, 1000 * MS, &r, now);
	CHECK_INT(f.n, 2);
	CHECK_INT(followers_sample(&f, &r, now), NW_OK);
	nw_provider_get_stats(r.provider, &stats);
	CHECK_INT(stats.docs_queued, 1);
	/* both orders name the same other end, and it is this host */
	CHECK_INT(followers_ends(&f, ends, 2), 0);
	strcpy(f.list[1].order.dst, "192.0.2.1"); /* an end by order alone is none */
	CHECK_INT(followers_ends(&f, ends, 2), 0);
	strcpy(f.list[0].order.dst, "192.0.2.2");
	CHECK(followers_ends(&f, ends, 2) == 1 && strcmp(ends[0], "192.0.2.2") == 0);
	strcpy(f.list[0].order.dst, "127.0.0.1");
	strcpy(f.list[1].order.dst, "127.0.0.1");
	CHECK_INT(followers_sample(&f, &r, now), NW_OK); /* not due yet */
	CHECK_INT(followers_due(&f), now.mono_ns + 100 * MS);
	now.mono_ns += 100 * MS;
	now.wall_ns += 100 * MS;
	CHECK_INT(followers_sample(&f, &r, now), NW_OK);
	close(fd[0]);
	close(fd[1]);
	now.mono_ns += 100 * MS;
	CHECK_INT(followers_sample(&f, &r, now), NW_OK); /* it is gone: nothing to say */
	nw_provider_get_stats(r.provider, &stats);
	CHECK_INT(stats.docs_queued, 2);
	CHECK(leases_expire(&l, 5000 * MS));
	followers_sync(&f, &l, 1000 * MS, &r, now);
	CHECK(f.n == 0 && followers_due(&f) == INT64_MAX);
	followers_clear(&f);
	nw_provider_close(r.provider, 0);
}

/* Memory, queues and BBR of a connection whose receiver does not read, beside what the sockets
 * themselves say. */
static void
test_more(void)
{
	struct net_addr local = { .family = AF_INET, .ip = { 127, 0, 0, 1 } }, peer = local;
	uint32_t memory[TCP_SKMEM_NUMBERS] = { 0 };
	uint8_t info[TCPINFO_BYTES], bytes[8192] = { 0 };
	double v[SERIES_FIELDS_MAX];
	int fd[2], diag = tcpinfo_open(), tos = 0x28;
	struct tcpinfo_more more;
	socklen_t size = sizeof(memory);
	struct nw_order o;
	size_t len;
	bool bbr;

	if (diag < 0)
		return;
	pair_open(fd, &o);
	bbr = setsockopt(fd[0], IPPROTO_TCP, TCP_CONGESTION, "bbr", 3) == 0;
	CHECK_INT(send(fd[0], bytes, sizeof(bytes), 0), sizeof(bytes));
	local.port = o.dport;
	peer.port = o.sport;
	CHECK((len = tcpinfo_ask_more(diag, &local, &peer, info, &more)) > 0);
	follow_parse(info, len, v);
	follow_more(&more, info, len, v);
	CHECK_NEAR(value_of(v, "CurAppRQueue"), sizeof(bytes), 0, 0);
	CHECK_INT(getsockopt(fd[1], SOL_SOCKET, SO_MEMINFO, memory, &size), 0);
	CHECK_NEAR(value_of(v, "linux_skmem_rmem"), memory[0], 0, 0);
	CHECK_NEAR(value_of(v, "linux_skmem_rcvbuf"), memory[1], 0, 0);
	CHECK_NEAR(value_of(v, "linux_skmem_sndbuf"), memory[3], 0, 0);
	CHECK_NEAR(value_of(v, "linux_skmem_drops"), memory[8], 0, 0);
	local.port = o.sport;
	peer.port = o.dport;
	CHECK((len = tcpinfo_ask_more(diag, &local, &peer, info, &more)) > 0);
	follow_parse(info, len, v);
	follow_more(&more, info, len, v);
	CHECK_NEAR(value_of(v, "CurRetxQueue"), 0, 0, 0);
	CHECK_INT(setsockopt(fd[0], IPPROTO_IP, IP_TOS, &tos, sizeof(tos)), 0);
	CHECK((len = tcpinfo_ask_more(diag, &local, &peer, info, &more)) > 0);
	follow_more(&more, info, len, v);
	CHECK_NEAR(value_of(v, "IpTosOut"), tos, 0, 0);
	CHECK_NEAR(value_of(v, "PipeSize"), 0, 0, 0); /* acknowledged */
	CHECK_NEAR(value_of(v, "linux_state"), TCP_ESTABLISHED, 0, 0);
	CHECK(value_of(v, "MSSSent") >= 536 && value_of(v, "MSSRcvd") > 0);
	CHECK_INT(bbr, strcmp(more.congestion, "bbr") == 0);
	CHECK_INT(bbr, value_of(v, "linux_bbr_pacing_gain") > 1);
	close(fd[0]);
	close(fd[1]);
	close(diag);
}

int
main(void)
{
	test_ticker();
	test_parse();
	test_follow();
	test_more();
	return check_done("follow");
}
