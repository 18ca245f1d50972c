/* SPDX-License-Identifier: BSD-3-Clause */
/* Results of pScheduler's tests: documents as its HTTP archiver sends them. */
#include "narrows/activetest.h"

#include <math.h>
#include <stdlib.h>

#include "narrows/err.h"
#include "tests/check.h"

#define HEAD(id, type, spec)                                                                  \
	"{\"id\":\"" id "\",\"schedule\":{\"start\":\"2026-05-04T10:00:00Z\",\"duration\":\"" \
	"PT40S\"},\"test\":{\"type\":\"" type "\",\"spec\":" spec "},"
#define TAIL(tool, result)                                                                         \
	"\"tool\":{\"name\":\"" tool "\",\"version\":\"1\"},\"run\":{\"start-time\":"              \
	"\"2026-05-04T10:00:01Z\",\"end-time\":\"2026-05-04T12:00:31.5+02:00\"},\"task\":{"        \
	"\"href\":\"https://ps/t\"},\"participants\":[\"DTN1.example.net\",\"dtn2.example.org\"]," \
	"\"result\":" result ",\"reference\":{\"a\":[[[[[[[[[1]]]]]]]]]}}"
#define ID "7d0f8a1e-4f6f-4f0e-9c55-2b2f8d7f3a1"

static const char throughput[] = HEAD(ID "0", "throughput",
    "{\"dest\":\"2001:DB8::7\",\"bandwidth\":1000000000,\"parallel\":2}") TAIL("iperf3",
    "{\"succeeded\":true,\"diags\":\"-----\\nlong\",\"mss\":8948,\"mtu\":null,\"intervals\":["
    "{\"summary\":{\"start\":0,\"end\":1,\"throughput-bits\":5e8,\"omitted\":true}},"
    "{\"summary\":{\"start\":1,\"end\":2,\"throughput-bits\":940000000,\"retransmits\":3}}],"
    "\"summary\":{\"summary\":{\"start\":0,\"end\":30.0,\"throughput-bits\":941234567.25,"
    "\"throughput-bytes\":3529629627,\"retransmits\":12,\"rtt\":25013,\"tcp-window-size\":"
    "4194304},\"streams\":[{\"throughput-bits\":470000000,\"retransmits\":5},"
    "{\"throughput-bits\":471234567.25}]}}");

static struct nw_active_tests tests;
static const char *why;

static int
take(const char *text)
{
	nw_active_tests_clear(&tests);
	return nw_pscheduler_read(text, strlen(text), &tests, &why);
}

static double
value(enum nw_test_field f)
{
	return tests.n > 0 ? tests.list[0].value[f] : NAN;
}

static void
test_throughput(void)
{
	CHECK_INT(take(throughput), NW_OK);
	CHECK_INT(tests.n, 1);
	CHECK_STR(tests.list[0].run, ID "0");
	CHECK_STR(tests.list[0].src, "dtn1.example.net");
	CHECK_STR(tests.list[0].dst, "2001:db8::7");
	CHECK_STR(tests.list[0].tool, "iperf3");
	CHECK_INT(tests.list[0].kind, NW_TEST_THROUGHPUT);
	CHECK_INT(tests.list[0].start_wall_ns, INT64_C(1777888801000000000));
	CHECK_INT(tests.list[0].end_wall_ns, INT64_C(1777888831500000000));
	CHECK(tests.list[0].succeeded);
	CHECK(value(NW_TEST_bits_per_s) == 941234567.25);
	CHECK(value(NW_TEST_moved_bytes) == 3529629627);
	CHECK(value(NW_TEST_target_bits_per_s) == 1e9);
	CHECK(value(NW_TEST_took_s) == 30);
	CHECK(value(NW_TEST_streams) == 2);
	CHECK(value(NW_TEST_udp) == 0);
	CHECK(value(NW_TEST_retransmits) == 12);
	CHECK(value(NW_TEST_mss_bytes) == 8948);
	CHECK(isnan(value(NW_TEST_mtu_bytes)));
	CHECK(value(NW_TEST_rtt_s) == 0.025013);
	CHECK_STR(tests.list[0].details,
	    "{\"intervals\":[[1.0,2.0,940000000.0,3.0]],\"streams_bits_per_s\":[470000000.0,"
	    "471234567.25],\"streams_retransmits\":[5.0,null]}");
}

/* A reverse test moves bytes to its source; another tool's round trip has no unit. */
static void
test_reverse(void)
{
	CHECK_INT(take(HEAD(ID "1", "throughput",
		      "{\"source\":\"a\",\"dest\":\"b\",\"reverse\":true}") TAIL("nuttcp",
		      "{\"succeeded\":true,\"summary\":{\"summary\":{\"throughput-bits\":8,"
		      "\"rtt\":7}}}")),
	    NW_OK);
	CHECK_STR(tests.list[0].src, "b");
	CHECK_STR(tests.list[0].dst, "a");
	CHECK(isnan(value(NW_TEST_rtt_s)));
	CHECK(value(NW_TEST_streams) == 1);
}

/* The raw packets' stamps do not fit int64_t. */
static const char latency[] =
    HEAD(ID "2", "latencybg", "{\"source\":\"a\",\"dest\":\"b\"}") TAIL("powstream",
	"{\"succeeded\":true,\"packets-sent\":600,\"packets-received\":597,\"packets-lost\":3,"
	"\"packets-duplicated\":1,\"packets-reordered\":2,\"max-clock-error\":0.25,"
	"\"histogram-latency\":{\"10.5\":90,\"2\":500,\"30.25\":7,\"x\":3},\"histogram-ttl\":{"
	"\"57\":597},\"raw-packets\":[{\"seq-num\":0,\"src-ts\":17082343457832116224}]}");

static void
test_latency(void)
{
	char run[NW_TEST_RUN_BYTES];

	CHECK_INT(take(latency), NW_OK);
	CHECK(value(NW_TEST_delay_min_s) == 0.002);
	CHECK(value(NW_TEST_delay_median_s) == 0.002);
	CHECK(value(NW_TEST_delay_p95_s) == 0.0105);
	CHECK(value(NW_TEST_delay_max_s) == 0.03025);
	CHECK(fabs(value(NW_TEST_delay_mean_s) - (500 * 2 + 90 * 10.5 + 7 * 30.25) / 597 / 1e3) <
	    1e-15);
	CHECK(value(NW_TEST_loss) == 3.0 / 600);
	CHECK(value(NW_TEST_clock_error_s) == 0.00025);
	CHECK(value(NW_TEST_duplicates) == 1);
	CHECK(strstr(tests.list[0].details, "\"ttls\":{\"57\":597") != NULL);
	/* a result of the same run that differs is another test; a repetition is none */
	CHECK_INT(strlen(tests.list[0].run), 36 + 1 + 16);
	snprintf(run, sizeof(run), "%s", tests.list[0].run);
	CHECK_INT(take(latency), NW_OK);
	CHECK_STR(tests.list[0].run, run);
	CHECK_INT(take(HEAD(ID "2", "latencybg", "{\"source\":\"a\",\"dest\":\"b\"}")
			  TAIL("powstream", "{\"succeeded\":true,\"packets-sent\":600}")),
	    NW_OK);
	CHECK(strcmp(tests.list[0].run, run) != 0);
}

static void
test_rtt_and_trace(void)
{
	CHECK_INT(
	    take(HEAD(ID "3", "rtt", "{\"source\":\"a\",\"dest\":\"b\"}") TAIL("ping",
		"{\"succeeded\":true,\"sent\":5,\"received\":4,\"lost\":1,\"loss\":0.2,"
		"\"min\":\"PT0.01S\",\"mean\":\"PT0.0125S\",\"max\":\"PT0.02S\","
		"\"stddev\":\"PT0.001S\",\"roundtrips\":[{\"rtt\":\"PT0.01S\"},{\"rtt\":"
		"\"PT0.0125S\"},{\"error\":\"x\"},{\"rtt\":\"PT0.01S\"}]}") " \n [" HEAD(ID "4",
		"trace", "{\"dest\":\"b\"}") TAIL("traceroute",
		"{\"succeeded\":true,\"paths\":[[{\"ip\":\"10.0.0.1\",\"rtt\":"
		"\"PT0.001S\"},{\"error\":\"No response\"},{\"ip\":\"10.0.0.9\",\"mtu\":"
		"9000}]]}") "," HEAD(ID "5", "dns", "{}") TAIL("dig", "{}") "]"),
	    NW_OK);
	CHECK_INT(tests.n, 2);
	CHECK_INT(tests.n_foreign, 1);
	CHECK(value(NW_TEST_rtt_s) == 0.0125);
	CHECK(value(NW_TEST_rtt_min_s) == 0.01);
	CHECK(value(NW_TEST_rtt_max_s) == 0.02);
	CHECK(value(NW_TEST_rtt_sd_s) == 0.001);
	CHECK(value(NW_TEST_loss) == 0.2);
	CHECK_STR(tests.list[0].details, "{\"rtts_ms\":{\"10.00\":2,\"12.50\":1}}");
	CHECK(tests.list[1].value[NW_TEST_hops] == 3);
	CHECK(tests.list[1].value[NW_TEST_mtu_bytes] == 9000);
	CHECK_STR(tests.list[1].details,
	    "{\"hops\":[{\"ip\":\"10.0.0.1\",\"rtt_s\":0.001},{\"ip\":null,\"rtt_s\":null},"
	    "{\"ip\":\"10.0.0.9\",\"rtt_s\":null}]}");
}

static void
test_failure(void)
{
	CHECK_INT(take(HEAD(ID "6", "rtt", "{\"source\":\"a\",\"dest\":\"b\"}")
			  TAIL("ping", "{\"succeeded\":false,\"error\":\"No route\\nto host\"}")),
	    NW_OK);
	CHECK(!tests.list[0].succeeded);
	CHECK_STR(tests.list[0].error, "No route");
}

static void
test_refused(void)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "no document" },
		{ "{\"a\":", "no JSON" },
		{ "[]", "a list without documents" },
		{ "[{]", "no JSON" },
		{ "null", "no JSON" },
		{ "[7]", "no result of a test: test.type is missing" },
		{ HEAD("x", "rtt", "{\"source\":\"a\",\"dest\":\"b\"}") TAIL("ping", "{}"),
		    "a test without its run's UUID in id" },
		{ HEAD(ID "7", "rtt", "{\"source\":\"a b\",\"dest\":\"b\"}") TAIL("ping", "{}"),
		    "a test without two hosts" },
		{ HEAD(ID "7", "rtt", "{\"source\":\"a\",\"dest\":\"b\"}") TAIL("ping", "[]"),
		    "a test without a result" },
		{ "{\"id\":\"" ID "7\",\"test\":{\"type\":\"rtt\",\"spec\":{\"source\":\"a\","
		  "\"dest\":\"b\"}},\"result\":{}}",
		    "a test without its times in run or schedule" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(take(cases[i].text), NW_EPROTO);
		CHECK_STR(why, cases[i].why);
		CHECK_INT(tests.n, 0);
	}
}

/* --- what the tools write: documents of every tool for the kinds that are kept --- */

#define TWO      "{\"source\":\"a\",\"dest\":\"b\"}"
#define OK       "\"succeeded\":true"
#define SUMMARY  "\"intervals\":[],\"summary\":{\"streams\":[],\"summary\":"
#define NOT_SAID -1

static const struct variant {
	const char *name, *text, *src, *dst, *error;
	enum nw_test_kind kind;
	struct {
		enum nw_test_field field;
		double value; /* NOT_SAID: the test has none */
	} want[4];
} variants[] = {
	{ "iperf3, no retransmits, IPv6",
	    HEAD(ID "0", "throughput",
		"{\"source\":\"2001:db8::0007\",\"dest\":\"2001:DB8::8\",\"ip-version\":6}")
		TAIL("iperf3",
		    "{" OK "," SUMMARY
		    "{\"start\":0,\"end\":10,\"throughput-bits\":9.4e8,\"rtt\":null,"
		    "\"retransmits\":null}}}"),
	    "2001:db8::7", "2001:db8::8", "", NW_TEST_THROUGHPUT,
	    { { NW_TEST_bits_per_s, 9.4e8 }, { NW_TEST_rtt_s, NOT_SAID },
		{ NW_TEST_retransmits, NOT_SAID }, { NW_TEST_streams, 1 } } },
	{ "iperf3, UDP",
	    HEAD(ID "0", "throughput", "{\"source\":\"a\",\"dest\":\"b\",\"udp\":true}")
		TAIL("iperf3",
		    "{" OK "," SUMMARY
		    "{\"start\":0.5,\"end\":10.5,\"throughput-bits\":1e6,\"sent\":900,"
		    "\"lost\":9,\"jitter\":0.25}}}"),
	    "a", "b", "", NW_TEST_THROUGHPUT,
	    { { NW_TEST_udp, 1 }, { NW_TEST_loss, 0.01 }, { NW_TEST_jitter_s, 0.25e-3 },
		{ NW_TEST_took_s, 10 } } },
	{ "nuttcp, whose round trip is in other units",
	    HEAD(ID "0", "throughput", TWO) TAIL("nuttcp",
		"{" OK ",\"diags\":null," SUMMARY
		"{\"start\":0,\"end\":10.02,\"throughput-bits\":931254600,"
		"\"rtt\":0.31,\"retransmits\":4}}}"),
	    "a", "b", "", NW_TEST_THROUGHPUT,
	    { { NW_TEST_bits_per_s, 931254600 }, { NW_TEST_rtt_s, NOT_SAID },
		{ NW_TEST_retransmits, 4 }, { NW_TEST_moved_bytes, NOT_SAID } } },
	{ "iperf2, the rate alone",
	    HEAD(ID "0", "throughput", TWO)
		TAIL("iperf2", "{" OK "," SUMMARY "{\"throughput-bits\":5e8}}}"),
	    "a", "b", "", NW_TEST_THROUGHPUT,
	    { { NW_TEST_bits_per_s, 5e8 }, { NW_TEST_took_s, NOT_SAID } } },
	{ "owping behind a clock that is ahead",
	    HEAD(ID "0", "latency", TWO) TAIL("owping",
		"{" OK ",\"packets-sent\":100,\"packets-received\":100,\"packets-lost\":0,"
		"\"max-clock-error\":0.5,\"histogram-latency\":{\"-0.25\":60,\"1.5\":40}}"),
	    "a", "b", "", NW_TEST_LATENCY,
	    { { NW_TEST_delay_min_s, -0.25e-3 }, { NW_TEST_delay_max_s, 1.5e-3 },
		{ NW_TEST_loss, 0 }, { NW_TEST_clock_error_s, 0.5e-3 } } },
	{ "powstream without a packet",
	    HEAD(ID "0", "latencybg", TWO) TAIL("powstream",
		"{" OK ",\"packets-sent\":600,\"packets-received\":0,\"packets-lost\":600,"
		"\"histogram-latency\":{}}"),
	    "a", "b", "", NW_TEST_LATENCYBG,
	    { { NW_TEST_loss, 1 }, { NW_TEST_delay_median_s, NOT_SAID } } },
	{ "twping",
	    HEAD(ID "0", "rtt", TWO) TAIL("twping",
		"{" OK ",\"roundtrips\":[{\"seq\":1,\"rtt\":\"PT0.0004S\",\"length\":64}],\"min\":"
		"\"PT0.0004S\",\"mean\":\"PT0.0004S\",\"max\":\"PT0.0004S\",\"stddev\":\"P0D\","
		"\"sent\":1,\"received\":1,\"lost\":0,\"loss\":0.0}"),
	    "a", "b", "", NW_TEST_RTT,
	    { { NW_TEST_rtt_s, 0.0004 }, { NW_TEST_rtt_sd_s, 0 }, { NW_TEST_loss, 0 } } },
	{ "ping without an answer, by participant with a port",
	    HEAD(ID "0", "rtt", "{\"dest\":\"[2001:db8::9]:8443\"}") TAIL("ping",
		"{" OK ",\"roundtrips\":[{\"seq\":1,\"error\":\"requestTimedOut\"}],\"sent\":5,"
		"\"received\":0,\"lost\":5,\"loss\":1.0}"),
	    "dtn1.example.net", "2001:db8::9", "", NW_TEST_RTT,
	    { { NW_TEST_loss, 1 }, { NW_TEST_rtt_s, NOT_SAID } } },
	{ "traceroute with a silent hop",
	    HEAD(ID "0", "trace", TWO) TAIL("traceroute",
		"{" OK
		",\"paths\":[[{\"ip\":\"10.0.0.1\",\"rtt\":\"PT0.001S\",\"as\":{\"number\":64500,"
		"\"owner\":\"X\"}},{},{\"hostname\":\"b\",\"ip\":\"2001:db8::2\",\"rtt\":\"PT1M0."
		"5S\"}]]}"),
	    "a", "b", "", NW_TEST_TRACE, { { NW_TEST_hops, 3 }, { NW_TEST_mtu_bytes, NOT_SAID } } },
	{ "tracepath, whose path narrows",
	    HEAD(ID "0", "trace", TWO) TAIL("tracepath",
		"{" OK
		",\"paths\":[[{\"ip\":\"10.0.0.1\",\"mtu\":9000},{\"ip\":\"10.0.0.2\",\"mtu\":1500}"
		"]]}"),
	    "a", "b", "", NW_TEST_TRACE, { { NW_TEST_hops, 2 }, { NW_TEST_mtu_bytes, 1500 } } },
	{ "paris-traceroute without a path",
	    HEAD(ID "0", "trace", TWO) TAIL("paris-traceroute", "{" OK ",\"paths\":[]}"), "a", "b",
	    "", NW_TEST_TRACE, { { NW_TEST_hops, NOT_SAID } } },
	{ "a failed run",
	    HEAD(ID "0", "throughput", TWO) TAIL("iperf3",
		"{\"succeeded\":false,\"error\":null,\"diags\":\"iperf3: error\\nmore\"}"),
	    "a", "b", "iperf3: error", NW_TEST_THROUGHPUT, { { NW_TEST_bits_per_s, NOT_SAID } } },
	{ "a run that never was", HEAD(ID "0", "rtt", TWO) TAIL("ping", "null"), "a", "b",
	    "the run has no result", NW_TEST_RTT, { { NW_TEST_rtt_s, NOT_SAID } } },
	{ "a result of nothing", HEAD(ID "0", "rtt", TWO) TAIL("ping", "{}"), "a", "b",
	    "the result does not say whether the test succeeded", NW_TEST_RTT,
	    { { NW_TEST_rtt_s, NOT_SAID } } },
};

static void
test_variants(void)
{
	const struct variant *v;
	size_t i;

	for (v = variants; v < variants + sizeof(variants) / sizeof(variants[0]); v++) {
		CHECK_INT(take(v->text), NW_OK);
		CHECK_INT(tests.n, 1);
		if (tests.n != 1) {
			fprintf(stderr, "%s: %s\n", v->name, why);
			continue;
		}
		CHECK_INT(tests.list[0].kind, v->kind);
		CHECK_STR(tests.list[0].src, v->src);
		CHECK_STR(tests.list[0].dst, v->dst);
		CHECK_STR(tests.list[0].error, v->error);
		CHECK_INT(tests.list[0].succeeded, *v->error == '\0');
		for (i = 0; i < 4; i++) {
			const double got = tests.list[0].value[v->want[i].field];

			if (v->want[i].field == 0 && v->want[i].value == 0)
				break;
			if (v->want[i].value == NOT_SAID ? !isnan(got)
							 : !(fabs(got - v->want[i].value) < 1e-9))
				fprintf(stderr, "%s: %s is %g\n", v->name,
				    nw_test_field_name(v->want[i].field), got);
			CHECK(v->want[i].value == NOT_SAID ? isnan(got)
							   : fabs(got - v->want[i].value) < 1e-9);
		}
	}
}

static void
test_bound(void)
{
	const size_t each = sizeof(latency) - 1;
	char *text = malloc((NW_TESTS_MAX + 1) * each);
	size_t i;

	for (i = 0; i <= NW_TESTS_MAX; i++)
		memcpy(text + i * each, latency, each);
	CHECK_INT(nw_pscheduler_read(text, NW_TESTS_MAX * each, &tests, &why), NW_OK);
	CHECK_INT(tests.n, NW_TESTS_MAX);
	nw_active_tests_clear(&tests);
	CHECK_INT(nw_pscheduler_read(text, (NW_TESTS_MAX + 1) * each, &tests, &why), NW_ETOOBIG);
	free(text);
}

int
main(void)
{
	test_throughput();
	test_reverse();
	test_latency();
	test_rtt_and_trace();
	test_failure();
	test_variants();
	test_refused();
	nw_active_tests_clear(&tests);
	test_bound();
	nw_active_tests_clear(&tests);
	return check_done("pscheduler");
}
