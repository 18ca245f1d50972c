/* SPDX-License-Identifier: BSD-3-Clause */
/* A capture of Debian's XRootD, datagram by datagram: files, users, bytes and operations; then
 * lost, late, repeated, cut and foreign datagrams, and the bounds of a source. */
#include "narrows/xrootd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "tests/check.h"

#define S   INT64_C(1000000000)
#define BIG 314572800.0

enum { CAPTURE_BYTES = 1 << 16, DATAGRAMS_MAX = 64, SAID_MAX = 64, COPY_BYTES = 2048 };

static uint8_t capture[CAPTURE_BYTES];
static struct datagram {
	const uint8_t *bytes;
	size_t len;
} datagrams[DATAGRAMS_MAX];
static size_t n_datagrams;
static struct nw_announcement said[SAID_MAX];
static size_t n_said;
static struct nw_xrootd *x;
static int64_t now = 1795396733 * S;

static bool
on_record(void *arg, const struct nw_announcement *a)
{
	(void)arg;
	CHECK(n_said < SAID_MAX);
	said[n_said++] = *a;
	return true;
}

static void
on_late(void *arg, const char *source, const struct nw_announcement *a)
{
	CHECK_STR(source, "192.0.2.1");
	CHECK(on_record(arg, a));
}

static int
take(const void *bytes, size_t len, struct nw_xrootd_got *got)
{
	const struct nw_xrootd_datagram d = { "192.0.2.1", bytes, len, now, now };
	const char *why = NULL;
	int rc = nw_xrootd_take(x, &d, on_record, NULL, got, &why);

	CHECK(rc == NW_OK || why != NULL);
	return rc;
}

static void
capture_read(void)
{
	FILE *f = fopen("tests/corpus/xrootd/capture", "re");
	size_t n, i, len;

	CHECK(f != NULL);
	n = fread(capture, 1, sizeof(capture), f);
	fclose(f);
	for (i = 0; i + 2 < n; i += 2 + len) {
		len = (size_t)(capture[i] << 8 | capture[i + 1]);
		datagrams[n_datagrams++] = (struct datagram){ capture + i + 2, len };
	}
	CHECK_INT(n_datagrams, 35);
}

static void
renew(void)
{
	nw_xrootd_free(x);
	x = nw_xrootd_new();
	n_said = 0;
}

/* Takes the capture without one datagram. */
static int
take_all_but(size_t without)
{
	struct nw_xrootd_got got;
	int lost = 0;
	size_t i;

	renew();
	for (i = 0; i < n_datagrams; i++) {
		if (i == without)
			continue;
		CHECK(nw_xrootd_is(datagrams[i].bytes, datagrams[i].len));
		CHECK_INT(take(datagrams[i].bytes, datagrams[i].len, &got), NW_OK);
		lost += got.lost;
	}
	return lost;
}

/* The last announcement of a file whose path ends so, of the k-th such open; NULL without one. */
static const struct nw_announcement *
last_of(const char *file, unsigned k)
{
	const struct nw_announcement *found = NULL;
	char id[NW_ANNOUNCE_ID_BYTES] = "";
	size_t i;

	for (i = 0; i < n_said; i++) {
		if (strcmp(said[i].file, file) != 0)
			continue;
		if (said[i].state == NW_ANNOUNCE_START && k-- == 0)
			memcpy(id, said[i].id, sizeof(id));
		if (strcmp(said[i].id, id) == 0)
			found = &said[i];
	}
	return found;
}

static void
test_capture(void)
{
	static const struct {
		const char *file;
		unsigned k;
		const char *program;
		double out, in, reads, writes; /* NaN: not said */
	} files[] = {
		{ "/data/big", 0, "xrdcp", BIG, 0, 38, 0 },
		{ "/data/big", 1, "xrdcp", BIG, 0, 38, 0 },
		{ "/data/up", 0, "xrdcp", 0, BIG, 0, 38 },
		{ "/data/big", 2, "http", BIG, 0, 300, 0 },
		{ "/data/up2", 0, "http", 0, NAN, 0, NAN }, /* an upload by HTTP */
	};
	const struct nw_announcement *a;
	size_t i;

	CHECK_INT(take_all_but(DATAGRAMS_MAX), 0);
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		a = last_of(files[i].file, files[i].k);
		CHECK(a != NULL);
		if (a == NULL)
			continue;
		CHECK_INT(a->state, NW_ANNOUNCE_END);
		CHECK_INT(a->form, NW_ANNOUNCE_XROOTD);
		CHECK_STR(a->application, files[i].program);
		CHECK_STR(a->src, "192.0.2.1");
		CHECK_STR(a->dst, "127.0.0.1");
		CHECK_INT(a->sport, strcmp(files[i].program, "http") == 0 ? 0 : 10940);
		CHECK_INT(a->experiment, 2);
		CHECK_INT(a->activity, 9);
		CHECK_NEAR(a->value[NW_ANNOUNCED_bytes_out], files[i].out, 0, 0);
		if (isnan(files[i].in)) {
			CHECK(isnan(a->value[NW_ANNOUNCED_bytes_in]));
			CHECK(isnan(a->value[NW_ANNOUNCED_writes]));
		} else {
			CHECK_NEAR(a->value[NW_ANNOUNCED_bytes_in], files[i].in, 0, 0);
			CHECK_NEAR(a->value[NW_ANNOUNCED_writes], files[i].writes, 0, 0);
		}
		CHECK_NEAR(a->value[NW_ANNOUNCED_reads], files[i].reads, 0, 0);
		CHECK_NEAR(a->value[NW_ANNOUNCED_over], 1, 0, 0);
		CHECK(a->value[NW_ANNOUNCED_slack_s] >= 0.5 && a->value[NW_ANNOUNCED_slack_s] <= 4);
	}
	a = last_of("/data/big", 0);
	CHECK_STR(a->user, "root");
	CHECK_NEAR(a->value[NW_ANNOUNCED_size_bytes], BIG, 0, 0);
}

/* Of the third download the server tells the progress. */
static void
test_progress(void)
{
	double before = 0;
	size_t i, n = 0;

	CHECK_INT(take_all_but(DATAGRAMS_MAX), 0);
	for (i = 0; i < n_said; i++)
		if (said[i].state == NW_ANNOUNCE_ONGOING) {
			CHECK(said[i].value[NW_ANNOUNCED_bytes_out] > before);
			before = said[i].value[NW_ANNOUNCED_bytes_out];
			n++;
		}
	CHECK_INT(n, 3);
}

/* Whichever datagram is lost, no file is wrong: its bytes are right or not said, and it ends or
 * stays open. The loss is counted, but that of the last numbers. */
static void
test_lost(void)
{
	const struct nw_announcement *a;
	size_t i, k, whole = 0;
	int lost = 0;

	for (i = 0; i < n_datagrams; i++) {
		lost += take_all_but(i);
		for (k = 0; k < 3; k++)
			if ((a = last_of("/data/big", (unsigned)k)) != NULL &&
			    a->state == NW_ANNOUNCE_END) {
				whole++;
				CHECK(isnan(a->value[NW_ANNOUNCED_bytes_out]) ||
				    a->value[NW_ANNOUNCED_bytes_out] == BIG);
			}
	}
	CHECK(lost >=
	    20); /* identifications in JSON, and the ends of two numberings, are not missed */
	CHECK(whole > 80);
}

static void
test_order(void)
{
	struct nw_xrootd_got got;
	size_t f[8], i, n = 0;

	renew();
	for (i = 0; i < n_datagrams && n < 8; i++) {
		if (datagrams[i].bytes[0] == 'f')
			f[n++] = i;
		else
			(void)take(datagrams[i].bytes, datagrams[i].len, &got);
	}
	(void)take(datagrams[f[0]].bytes, datagrams[f[0]].len, &got);
	CHECK_INT(got.records, 1);
	(void)take(datagrams[f[0]].bytes, datagrams[f[0]].len, &got);
	CHECK(got.is_repeated);
	CHECK_INT(got.records, 0);
	(void)take(datagrams[f[3]].bytes, datagrams[f[3]].len, &got);
	CHECK_INT(got.lost, 2);
	(void)take(datagrams[f[1]].bytes, datagrams[f[1]].len, &got);
	CHECK_INT(got.lost, -1);
	CHECK(!got.is_repeated);
	(void)take(datagrams[f[1]].bytes, datagrams[f[1]].len, &got);
	CHECK(got.is_repeated);
}

/* Every part of every datagram is taken or refused, and alters nothing beyond. */
static void
test_cut(void)
{
	struct nw_xrootd_got got;
	uint8_t bytes[2048];
	size_t i, len;

	for (i = 0; i < n_datagrams; i++)
		for (len = 0; len < datagrams[i].len; len++) {
			renew();
			memcpy(bytes, datagrams[i].bytes, datagrams[i].len);
			(void)take(bytes, len, &got);
			if (bytes[0] != '{' && len >= 8) { /* a shorter length in the header, too */
				bytes[2] = (uint8_t)(len >> 8);
				bytes[3] = (uint8_t)len;
				(void)take(bytes, len, &got);
			}
		}
	CHECK(!nw_xrootd_is((const uint8_t *)"", 0));
	CHECK(!nw_xrootd_is((const uint8_t *)"{\"version\":1", 12));
	CHECK(!nw_xrootd_is((const uint8_t *)"<134>1", 6));
	CHECK(take("f", 1, &got) < 0);
}

/* A firefly belongs to the login that is the only one it can belong to. */
static void
test_group(void)
{
	struct nw_announcement n;
	struct nw_xrootd_got got;
	size_t i, k;

	renew();
	for (i = 0; i < 3; i++)
		CHECK_INT(take(datagrams[i].bytes, datagrams[i].len, &got), NW_OK);
	nw_announcement_init(&n);
	strcpy(n.src, "192.0.2.1");
	strcpy(n.dst, "127.0.0.1");
	strcpy(n.application, "xrdcp");
	n.start_wall_ns = now;
	nw_xrootd_group(x, "192.0.2.1", &n); /* no file is open */
	CHECK_STR(n.group, "");
	for (; datagrams[i].bytes[0] != 'd'; i++)
		continue;
	CHECK_INT(take(datagrams[i].bytes, datagrams[i].len, &got), NW_OK);
	nw_xrootd_group(x, "192.0.2.9", &n); /* of another server */
	CHECK_STR(n.group, "");
	n.start_wall_ns = now - 3 * S; /* from before the open */
	nw_xrootd_group(x, "192.0.2.1", &n);
	CHECK_STR(n.group, "");
	n.start_wall_ns = now;
	n.application[0] = '\0'; /* of HTTP */
	nw_xrootd_group(x, "192.0.2.1", &n);
	CHECK_STR(n.group, "");
	strcpy(n.application, "xrdcp");
	nw_xrootd_group(x, "192.0.2.1", &n);
	CHECK_STR(n.group, "xrootd:192.0.2.1/75665642426950/1");
	n.group[0] = '\0';
	nw_xrootd_group(x, "192.0.2.1", &n); /* the open has its firefly */
	CHECK_STR(n.group, "");
	for (k = 0; k < 2; i++) /* two more logins like it, with files at one time */
		if (datagrams[i].bytes[0] == 'u' || datagrams[i].bytes[0] == 'd') {
			CHECK_INT(take(datagrams[i].bytes, datagrams[i].len, &got), NW_OK);
			k += datagrams[i].bytes[0] == 'u';
		}
	for (; datagrams[i].bytes[0] != 'd'; i++)
		continue;
	CHECK_INT(take(datagrams[i].bytes, datagrams[i].len, &got), NW_OK);
	nw_xrootd_group(x, "192.0.2.1", &n);
	CHECK_STR(n.group, "");
}

#define COPY_HEADER                                                                                \
	"{\"code\":\"g\",\"pseq\":%d,\"stod\":1795396732,\"sid\":75665642426950,\"gs\":{\"type\":" \
	"\"P\","                                                                                   \
	"\"tbeg\":1795396733,\"tend\":1795396733}}\n"

static void
version_take(const char *version)
{
	char text[COPY_BYTES];
	struct nw_xrootd_got got;
	int n = snprintf(text, sizeof(text),
	    "{\"code\":\"=\",\"pseq\":1,\"stod\":1795396732,\"sid\":75665642426950,\"src\":{"
	    "\"site\":"
	    "\"\",\"host\":\"vm\",\"port\":10940,\"inst\":\"a\",\"pgm\":\"xrootd\",\"ver\":\"%s\"}"
	    "}",
	    version);

	CHECK_INT(take(text, (size_t)n + 1, &got), NW_OK);
	CHECK(!got.is_repeated);
}

static void
record_take(int number, const char *record)
{
	static char text[COPY_BYTES];
	struct nw_xrootd_got got;
	int n = snprintf(text, sizeof(text), COPY_HEADER, number);

	n_said = 0;
	n += snprintf(text + n, sizeof(text) - (size_t)n, "%s", record);
	CHECK_INT(take(text, (size_t)n + 1, &got), NW_OK);
}

static const struct nw_announcement *
copy_take(int number, const char *record)
{
	record_take(number, record);
	CHECK_INT(n_said, 0);
	/* nobody tells of the files: the copy stands alone, after a while */
	nw_xrootd_tick(x, now + 9 * S, on_late, NULL);
	CHECK_INT(n_said, 0);
	nw_xrootd_tick(x, now + 11 * S, on_late, NULL);
	return n_said == 1 ? &said[0] : NULL;
}

static void
test_copies(void)
{
#define PULL(end, rc, size)                                                                        \
	"{\"TPC\":\"xroot\",\"Client\":\"alice.5324:27@client.example\",\"Xeq\":{\"Beg\":"         \
	"\"2026-11-23T01:18:56.984Z\",\"End\":\"2026-11-23T01:18:" end "Z\",\"RC\":" rc            \
	",\"Strm\":1,\"Type\":\"pull\",\"IPv\":4},\"Src\":\"root://[::ffff:192.0.2.7]:1094//data/" \
	"big\","                                                                                   \
	"\"Dst\":\"xroot://vm:10940//data/copy\",\"Size\":" size "}"
	const struct nw_announcement *a;
	int i;

	renew();
	a = copy_take(1, PULL("58.5", "0", "314572800"));
	CHECK(a != NULL);
	if (a != NULL) {
		CHECK_INT(a->form, NW_ANNOUNCE_XROOTD_TPC);
		CHECK_INT(a->state, NW_ANNOUNCE_END);
		CHECK_STR(a->dst, "192.0.2.7");
		CHECK_INT(a->dport, 1094);
		CHECK_INT(a->sport, 10940);
		CHECK_STR(a->user, "alice");
		CHECK_STR(a->file, "xroot://vm:10940//data/copy");
		/* the fraction is in microseconds, without zeros in front */
		CHECK_INT(a->start_wall_ns % S, 984000);
		CHECK_INT(a->t_wall_ns % S, 5000);
		CHECK_NEAR(a->value[NW_ANNOUNCED_bytes_in], 314572800, 0, 0);
		CHECK(isnan(a->value[NW_ANNOUNCED_bytes_out]));
	}
	/* in a minute, a server that prints 32 bits may have copied more; a newer one says all */
	a = copy_take(3, PULL("59.1", "0", "314572800"));
	CHECK(a != NULL && isfinite(a->value[NW_ANNOUNCED_bytes_in]));
	a = copy_take(4,
	    "{\"TPC\":\"http\",\"Client\":\"a\",\"Xeq\":{\"Beg\":\"2026-11-23T01:18:56.1Z\","
	    "\"End\":"
	    "\"2026-11-23T01:19:56.1Z\",\"RC\":0,\"Type\":\"push\"},\"Src\":\"http://vm:1//"
	    "a\",\"Dst\":"
	    "\"https://far.example/a\",\"Size\":5}");
	CHECK(a != NULL && isnan(a->value[NW_ANNOUNCED_bytes_out]));
	version_take("v5.7.0");
	a = copy_take(5,
	    "{\"TPC\":\"http\",\"Client\":\"a\",\"Xeq\":{\"Beg\":\"2026-11-23T01:18:56.1Z\","
	    "\"End\":"
	    "\"2026-11-23T01:19:56.1Z\",\"RC\":0,\"Type\":\"push\"},\"Src\":\"http://vm:1//"
	    "a\",\"Dst\":"
	    "\"https://far.example/a\",\"Size\":5000000000}");
	CHECK(a != NULL && a->value[NW_ANNOUNCED_bytes_out] == 5e9);
	if (a != NULL)
		CHECK_STR(a->dst, "far.example");
	a = copy_take(6, PULL("57.0", "0", "-1205088130"));
	CHECK(a != NULL && isnan(a->value[NW_ANNOUNCED_bytes_in]));
	a = copy_take(8, PULL("57.0", "0", "0")); /* by the program of ofs.tpc */
	CHECK(a != NULL && isnan(a->value[NW_ANNOUNCED_bytes_in]));
	a = copy_take(7, PULL("57.0", "17", "314572800")); /* failed */
	CHECK(a != NULL && isnan(a->value[NW_ANNOUNCED_bytes_in]));
	a = copy_take(7, PULL("57.0", "0", "314572800"));
	CHECK(a == NULL); /* the same number again */
	/* few copies wait for their files; a server that goes takes its copies along */
	for (i = 0; i < 66; i++) {
		record_take(10 + i, PULL("57.0", "0", "314572800"));
		CHECK_INT(n_said, i >= 64);
	}
	n_said = 0;
	nw_xrootd_tick(x, now + 11 * S, on_late, NULL);
	CHECK_INT(n_said, 64);
	record_take(99, PULL("57.0", "0", "314572800"));
	renew();
}

/* One source cannot hold more than its places, and its newest logins and files are known. */
static void
test_bounds(void)
{
	struct nw_xrootd_got got;
	char text[256];
	uint8_t bytes[256];
	int i, len;

	renew();
	for (i = 1; i <= 3 * NW_XROOTD_LOGINS_OF_SOURCE_MAX; i++) {
		len = snprintf(text, sizeof(text), "xroot/u.%d:77@[::ffff:192.0.2.8]\n&x=xrdcp", i);
		bytes[0] = i % 2 == 0 ? 'u' : 'd';
		bytes[1] = (uint8_t)i;
		bytes[2] = 0;
		bytes[3] = (uint8_t)(12 + len);
		memset(bytes + 4, 0, 8);
		bytes[10] = (uint8_t)(i >> 8);
		bytes[11] = (uint8_t)i;
		memcpy(bytes + 12, text, (size_t)len);
		CHECK_INT(take(bytes, (size_t)len + 12, &got), NW_OK);
	}
	for (i = 0; i < 3 * NW_XROOTD_SERVERS_OF_SOURCE_MAX; i++) {
		len = snprintf(text, sizeof(text), "=/root.1:%d@vm\n&port=1094", 1000 + i);
		bytes[0] = '=';
		bytes[3] = (uint8_t)(12 + len);
		memcpy(bytes + 12, text, (size_t)len);
		CHECK_INT(take(bytes, (size_t)len + 12, &got), NW_OK);
	}
	nw_xrootd_tick(x, now, on_late, NULL);
	nw_xrootd_tick(x, now + 2 * 24 * 3600 * S, on_late, NULL);
	CHECK_INT(take_all_but(DATAGRAMS_MAX), 0);
}

int
main(void)
{
	capture_read();
	test_capture();
	test_progress();
	test_lost();
	test_order();
	test_cut();
	test_group();
	test_copies();
	test_bounds();
	nw_xrootd_free(x);
	return check_done("xrootd");
}
