/* SPDX-License-Identifier: BSD-3-Clause */
/* Fireflies of XRootD (a capture of Debian's 5.5.3), flowd-go and dCache, and other bytes. */
#include "narrows/announce.h"
#include "narrows/err.h"
#include "tests/check.h"

#define LIFE(state, now)                                                      \
	"\"flow-lifecycle\":{\"state\":\"" state "\",\"current-time\":\"" now \
	"\",\"start-time\":\"2026-11-23T01:18:56.984221+00:00\"}"
#define FLOW                                                                               \
	"\"flow-id\":{\"afi\":\"ipv4\",\"src-ip\":\"192.0.2.1\",\"dst-ip\":\"192.0.2.2\"," \
	"\"protocol\":\"tcp\",\"src-port\":10940,\"dst-port\":34236}"
#define HEAD "<134>1 - vm xrootd - firefly-json - "

static struct nw_announcement a;
static const char *why;

static int
take(const char *text)
{
	return nw_firefly_read((const uint8_t *)text, strlen(text), &a, &why);
}

static void
test_xrootd(void)
{
	CHECK_INT(
	    take(HEAD "{\"version\":1,\"flow-lifecycle\":{\"state\":\"end\",\"current-time\":"
		      "\"2026-11-23T01:18:59.527364+00:00\",\"start-time\":"
		      "\"2026-11-23T01:18:56.984221+00:00\",\"end-time\":"
		      "\"2026-11-23T01:18:59.527364+00:00\"},\"usage\":{\"received\":1190,"
		      "\"sent\":314884965},\"netlink\":{\"rtt\":2.295},\"context\":{"
		      "\"experiment-id\":2,\"activity-id\":9,\"application\":\"xrdcp\"}," FLOW "}"),
	    NW_OK);
	CHECK_INT(a.state, NW_ANNOUNCE_END);
	CHECK_INT(a.start_wall_ns, INT64_C(1795396736984221000));
	CHECK_INT(a.t_wall_ns, INT64_C(1795396739527364000));
	CHECK_STR(a.src, "192.0.2.1");
	CHECK_STR(a.dst, "192.0.2.2");
	CHECK_INT(a.sport, 10940);
	CHECK_INT(a.dport, 34236);
	CHECK_STR(a.application, "xrdcp");
	CHECK_INT(a.experiment, 2);
	CHECK_INT(a.activity, 9);
	CHECK_NEAR(a.value[NW_ANNOUNCED_bytes_in], 1190, 0, 0);
	CHECK_NEAR(a.value[NW_ANNOUNCED_bytes_out], 314884965, 0, 0);
	CHECK_NEAR(a.value[NW_ANNOUNCED_rtt_s], 0.002295, 1e-12, 0);
	CHECK_NEAR(a.value[NW_ANNOUNCED_elapsed_s], 2.543143, 1e-9, 0);
	CHECK(a.value[NW_ANNOUNCED_over] == 1);
	CHECK(isnan(a.value[NW_ANNOUNCED_busy_s]) && isnan(a.value[NW_ANNOUNCED_cwnd_bytes]));
}

static void
test_flowd(void)
{
	static const char *const from[] = { "netlink", "skOps" };
	char text[2048];
	size_t i;

	for (i = 0; i < 2; i++) {
		snprintf(text, sizeof(text),
		    "{\"version\":1," LIFE("ongoing",
			"2026-11-23T01:19:56Z") "," FLOW ",\"%s\":{\"cong\":{\"algorithm\":\"bbr\"}"
						",\"tcpInfo\":{\"rtt\":56000,"
						"\"minRtt\":55000,\"sndCwnd\":10,\"sndMss\":1448,"
						"\"deliveryRate\":125000,"
						"\"busyTime\":9000000,\"rwndLimited\":8500000,"
						"\"sndBufLimited\":0,"
						"\"totalRetrans\":3,\"bytesSent\":1448000,"
						"\"retransmits\":1,\"sndWnd\":"
						"65536}}}",
		    from[i]);
		CHECK_INT(take(text), NW_OK);
		CHECK_NEAR(a.value[NW_ANNOUNCED_rtt_s], 0.056, 1e-12, 0);
		CHECK_NEAR(a.value[NW_ANNOUNCED_rtt_min_s], 0.055, 1e-12, 0);
		CHECK_NEAR(a.value[NW_ANNOUNCED_cwnd_bytes], 14480, 0, 0);
		CHECK_NEAR(a.value[NW_ANNOUNCED_busy_s], 9, 1e-12, 0);
		CHECK_NEAR(a.value[NW_ANNOUNCED_rwnd_limited_s], 8.5, 1e-12, 0);
		CHECK_NEAR(a.value[NW_ANNOUNCED_sndbuf_limited_s], 0, 0, 0);
		CHECK_NEAR(a.value[NW_ANNOUNCED_retrans], 3, 0, 0);
		CHECK_NEAR(a.value[NW_ANNOUNCED_bytes_out], 1448000, 0, 0);
		CHECK(isnan(a.value[NW_ANNOUNCED_bytes_in]));
		CHECK_NEAR(a.value[NW_ANNOUNCED_snd_wnd], 65536, 0, 0);
		CHECK_INT(a.experiment, -1);
		CHECK_STR(a.application, "");
	}
	/* the form of ss: milliseconds for rtt, microseconds for all others */
	CHECK_INT(take("{\"version\":1," LIFE("ongoing",
		      "2026-11-23T01:19:56Z") "," FLOW ",\"netlink\":{\"rtt\":56,\"min_rtt\":55000,"
					      "\"busy_time\":9000000,"
					      "\"rwnd_limited\":100,\"snd_cwnd\":2,\"snd_mss\":"
					      "1000,\"total_retrans\":4}}"),
	    NW_OK);
	CHECK_NEAR(a.value[NW_ANNOUNCED_rtt_s], 0.056, 1e-12, 0);
	CHECK_NEAR(a.value[NW_ANNOUNCED_rtt_min_s], 0.055, 1e-12, 0);
	CHECK_NEAR(a.value[NW_ANNOUNCED_busy_s], 9, 1e-12, 0);
	CHECK_NEAR(a.value[NW_ANNOUNCED_cwnd_bytes], 2000, 0, 0);
}

static void
test_dcache(void)
{
	CHECK_INT(
	    take("<134>1 2026-11-23T01:20:00Z 192.0.2.1 dCache - firefly-json - {\"version\":1,"
		 "\"flow-lifecycle\":{\"state\":\"end\",\"current-time\":"
		 "\"2026-11-23T01:20:00Z\",\"start-time\":\"2026-11-23T02:18:20.5+01:00\"},"
		 "\"storage-stats\":{\"bytes-transferred\":1000000000,\"connection-time\":"
		 "100250,\"read-bw\":1.5e7,\"read-active\":\"PT1M3.25S\",\"read-idle\":"
		 "\"PT37S\",\"write-active\":\"PT0S\",\"write-idle\":\"P1DT2H\"},"
		 "\"flow-id\":{\"afi\":\"ipv6\",\"src-ip\":\"2001:DB8:0::1\",\"dst-ip\":"
		 "\"::ffff:192.0.2.9\",\"protocol\":\"tcp\",\"src-port\":1,\"dst-port\":2}}"),
	    NW_OK);
	CHECK_INT(a.start_wall_ns, INT64_C(1795396700500000000));
	CHECK_STR(a.src, "2001:db8::1");
	CHECK_STR(a.dst, "192.0.2.9");
	CHECK_NEAR(a.value[NW_ANNOUNCED_storage_bytes], 1e9, 0, 0);
	CHECK_NEAR(a.value[NW_ANNOUNCED_connection_s], 100.25, 1e-12, 0);
	CHECK_NEAR(a.value[NW_ANNOUNCED_read_wait_s], 63.25, 1e-12, 0);
	CHECK_NEAR(a.value[NW_ANNOUNCED_read_net_s], 37, 1e-12, 0);
	CHECK_NEAR(a.value[NW_ANNOUNCED_write_wait_s], 0, 0, 0);
	CHECK_NEAR(a.value[NW_ANNOUNCED_write_net_s], 93600, 0, 0);
}

static void
test_refused(void)
{
	static const struct {
		const char *text;
		int code;
	} cases[] = {
		{ "", NW_EPROTO },
		{ "hello", NW_EPROTO },
		{ HEAD, NW_EPROTO },
		{ HEAD "{", NW_EPROTO },
		{ "{\"version\":2," LIFE("start", "2026-11-23T01:19:56Z") "," FLOW "}",
		    NW_EUNSUPPORTED },
		{ "{" LIFE("start", "2026-11-23T01:19:56Z") "," FLOW "}", NW_EUNSUPPORTED },
		{ "{\"version\":1," FLOW "}", NW_EPROTO },
		{ "{\"version\":1," LIFE("start", "2026-11-23T01:19:56Z") "}", NW_EPROTO },
		{ "{\"version\":1," LIFE("middle", "2026-11-23T01:19:56Z") "," FLOW "}",
		    NW_EPROTO },
		/* a time that does not exist, one before the start */
		{ "{\"version\":1," LIFE("start", "2026-02-30T01:19:56Z") "," FLOW "}", NW_EPROTO },
		{ "{\"version\":1," LIFE("end", "2025-11-23T01:19:56Z") "," FLOW "}", NW_EPROTO },
		{ "{\"version\":1," LIFE(
		      "start", "2026-11-23T01:19:56Z") ",\"flow-id\":{\"src-ip\":"
						       "\"localhost\",\"dst-ip\":\"1.2.3.4\",\"src-"
						       "port\":1,\"dst-port\":2}}",
		    NW_EPROTO },
		{ "{\"version\":1," LIFE(
		      "start", "2026-11-23T01:19:56Z") ",\"flow-id\":{\"src-ip\":"
						       "\"1.2.3.4\",\"dst-ip\":\"1.2.3.4\",\"src-"
						       "port\":70000,\"dst-port\":2}}",
		    NW_EPROTO },
		{ "{\"version\":1," LIFE("start", "2026-11-23T01:19:56Z") "," FLOW "} x",
		    NW_EPROTO },
		{ "{\"a\":[[[[[[[[[1]]]]]]]]]}", NW_ETOOBIG },
	};
	char long_text[NW_ANNOUNCE_MAX_BYTES + 2];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(take(cases[i].text), cases[i].code);
		CHECK(why != NULL && why[0] != '\0');
	}
	memset(long_text, ' ', sizeof(long_text) - 1);
	long_text[0] = '{';
	long_text[sizeof(long_text) - 1] = '\0';
	CHECK_INT(take(long_text), NW_ETOOBIG);
}

/* Names of strangers are cut at a character, and have no control characters. */
static void
test_names(void)
{
	char text[1024], name[300] = "";
	size_t i;

	for (i = 0; i < 40; i++)
		strcat(name, "\\u00e9");
	snprintf(text, sizeof(text),
	    "{\"version\":1," LIFE("start",
		"2026-11-23T01:19:56Z") "," FLOW ",\"context\":{\"application\":\"a\\n%s\"}}",
	    "b");
	CHECK_INT(take(text), NW_OK);
	CHECK_STR(a.application, "a?b");
	snprintf(text, sizeof(text),
	    "{\"version\":1," LIFE(
		"start", "2026-11-23T01:19:56Z") "," FLOW ",\"context\":{\"application\":\"%.*s\","
						 "\"experiment-id\":70000}}",
	    (int)(6 * 33), name);
	CHECK_INT(take(text), NW_OK);
	CHECK_INT(strlen(a.application), 62);
	CHECK_INT(a.experiment, -1);
}

int
main(void)
{
	test_xrootd();
	test_flowd();
	test_dcache();
	test_refused();
	test_names();
	return check_done("firefly");
}
