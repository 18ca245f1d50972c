/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of STOMP, FTS's messages, and what an event of a whole transfer announces. */
#include "narrows/announce.h"
#include "narrows/err.h"
#include "narrows/fts.h"
#include "narrows/stomp.h"
#include "tests/check.h"

static const char *why;

static int
cut(const char *bytes, size_t len, struct nw_stomp_frame *f, size_t *took)
{
	return nw_stomp_cut((const uint8_t *)bytes, len, f, took, &why);
}

static void
test_frames(void)
{
	static const char two[] =
	    "\n\r\nMESSAGE\r\nack:a\\cb\\n\\\\\ncontent-length:3\n\nx\0y\0ERROR\n\n\0";
	char value[NW_STOMP_VALUE_BYTES];
	struct nw_stomp_frame f;
	size_t took, n;

	for (n = 0; n < 50; n++) /* a frame that is not whole is never taken */
		CHECK(n >= 46 || cut(two, n, &f, &took) == NW_EAGAIN);
	CHECK_INT(cut(two, sizeof(two) - 1, &f, &took), NW_OK);
	CHECK(nw_stomp_is(&f, "MESSAGE") && !nw_stomp_is(&f, "MESSAGES"));
	CHECK_INT(f.body_len, 3);
	CHECK(memcmp(f.body, "x\0y", 3) == 0);
	CHECK(nw_stomp_header(&f, "ack", value));
	CHECK_STR(value, "a:b\n\\");
	CHECK(!nw_stomp_header(&f, "ac", value));
	CHECK_INT(cut(two + took, sizeof(two) - 1 - took, &f, &n), NW_OK);
	CHECK(nw_stomp_is(&f, "ERROR") && f.body_len == 0);
	CHECK_INT(took + n, sizeof(two) - 1);
}

static void
test_bounds(void)
{
	static char big[NW_STOMP_FRAME_MAX_BYTES + 10];
	const char *pairs[] = { "login", "a:b", "passcode", "c\\d", NULL };
	struct nw_stomp_frame f;
	char out[64];
	size_t took;

	memset(big, 'A', sizeof(big));
	CHECK_INT(cut(big, sizeof(big), &f, &took), NW_ETOOBIG);
	memcpy(big, "MESSAGE\n\n", 9);
	CHECK_INT(cut(big, sizeof(big), &f, &took), NW_ETOOBIG);
	CHECK_INT(cut("M\ncontent-length:300000\n\n", 25, &f, &took), NW_ETOOBIG);
	CHECK_INT(cut("M\ncontent-length:-1\n\n", 21, &f, &took), NW_EPROTO);
	CHECK_INT(cut("M\ncontent-length:\n\n", 19, &f, &took), NW_EPROTO);
	CHECK_INT(cut("M\ncontent-length:1\n\nab", 22, &f, &took), NW_EPROTO);
	CHECK_INT(cut("M\na:\0\n\n", 8, &f, &took), NW_EPROTO);
	CHECK_INT(nw_stomp_write("CONNECT", pairs, out, sizeof(out)), 33);
	CHECK(memcmp(out, "CONNECT\nlogin:a:b\npasscode:c\\d\n\n", 33) == 0);
	CHECK_INT(nw_stomp_write("ACK", pairs, out, sizeof(out)), 31);
	CHECK(memcmp(out, "ACK\nlogin:a\\cb\npasscode:c\\\\d\n\n", 31) == 0);
	CHECK_INT(nw_stomp_write("ACK", pairs, out, 30), NW_ETOOBIG);
	pairs[3] = "c\nd";
	CHECK_INT(nw_stomp_write("CONNECT", pairs, out, sizeof(out)), NW_EINVAL);
}

static struct nw_fts_message m;

static int
take(const char *text)
{
	return nw_fts_read(text, strlen(text), &m, &why);
}

#define COMPLETE                                                                                  \
	"CO "                                                                                     \
	"{\"job_id\":\"0ab1\",\"file_id\":7,\"src_url\":\"davs://u@a.example:443/x\",\"dst_url\"" \
	":\"root://[2001:db8::1]:1094//y\",\"tr_timestamp_start\":1795827800000,"                 \
	"\"timestamp_tr_st\":1795827805000,\"timestamp_tr_comp\":\"1795827865000\","              \
	"\"time_srm_prep_st\":1795827800000,\"time_srm_prep_end\":1795827800500,"                 \
	"\"timestamp_checksum_dest_st\":1795827865000,\"timestamp_checksum_dest_ended\":0,"       \
	"\"tr_bt_transfered\":3000000000,\"scitag\":137,\"retry\":2}"

static void
test_messages(void)
{
	CHECK_INT(take("SS {\"job_id\":\"0ab1\",\"file_id\":7,\"timestamp\":1795825400000,"
		       "\"submit_time\":1.7958254e12,\"staging_start\":1795825400000,"
		       "\"staging_finished\":1795825520000}"),
	    NW_OK);
	CHECK_INT(m.kind, NW_FTS_STATE);
	CHECK_INT(m.submit_wall_ns, INT64_C(1795825400000000000));
	CHECK_NEAR(m.staging_s, 120, 0, 0);
	CHECK_INT(take(COMPLETE), NW_OK);
	CHECK_INT(m.kind, NW_FTS_COMPLETE);
	CHECK_INT(m.t_wall_ns, INT64_C(1795827865000000000));
	CHECK_INT(m.begin_wall_ns, INT64_C(1795827805000000000));
	CHECK_NEAR(m.prepare_s, 0.5, 0, 0);
	CHECK(isnan(m.target_check_s) && isnan(m.source_check_s));
	CHECK_INT(take("OP {}"), NW_EUNSUPPORTED);
	CHECK_INT(take("CO "), NW_EUNSUPPORTED);
	CHECK_INT(take("CO {}"), NW_EPROTO);
	CHECK_INT(take("CO [}"), NW_EPROTO);
	CHECK_INT(
	    take("ST {\"job_id\":\"a\",\"file_id\":-1,\"timestamp\":1795827865000}"), NW_EPROTO);
	CHECK_INT(take("CO {\"job_id\":\"a\",\"file_id\":1,\"src_url\":\"a\",\"dst_url\":\"b\","
		       "\"timestamp_tr_st\":1795827805001,\"timestamp_tr_comp\":1795827805000}"),
	    NW_EPROTO);
}

static void
test_event(void)
{
	struct nw_fts_event event;
	struct nw_announcement a;

	CHECK_INT(take(COMPLETE), NW_OK);
	/* submitted 2,400 s before FTS took the transfer, 120 s of them on a tape */
	nw_fts_event(&m, INT64_C(1795825400000000000), 120, &event);
	CHECK(nw_transfer_event_read(&event.e, "collector", &a));
	CHECK_STR(a.src, "a.example");
	CHECK_STR(a.dst, "2001:db8::1");
	CHECK_STR(a.group, "fts/0ab1/7/2");
	CHECK_INT(a.experiment, 2);
	CHECK_INT(a.activity, 9);
	CHECK_NEAR(a.value[NW_ANNOUNCED_queue_s], 2280, 1e-6, 0);
	CHECK_NEAR(a.value[NW_ANNOUNCED_elapsed_s], 60, 1e-6, 0);
	CHECK_NEAR(a.value[NW_ANNOUNCED_bytes_out], 3e9, 0, 0);
	CHECK_INT(a.start_wall_ns, INT64_C(1795827805000000000));
	nw_fts_event(&m, 0, NAN, &event);
	CHECK(nw_transfer_event_read(&event.e, "collector", &a));
	CHECK(isnan(a.value[NW_ANNOUNCED_queue_s]));
	/* a submission behind the begin is another clock's */
	nw_fts_event(&m, INT64_C(1795828400000000000), NAN, &event);
	CHECK(nw_transfer_event_read(&event.e, "collector", &a));
	CHECK(isnan(a.value[NW_ANNOUNCED_queue_s]));
}

/* A line of a server's log: `seconds` and `bytes`, sent to a client. */
static bool
log_take(double seconds, double bytes, const char *direction, struct nw_announcement *a)
{
	const struct nw_attr attrs[] = { { "seconds", NW_ATTR_REAL, false, { .d = seconds } },
		{ "bytes", NW_ATTR_REAL, false, { .d = bytes } },
		{ "client", NW_ATTR_TEXT, false, { .text = "::ffff:192.0.2.9" } },
		{ "direction", NW_ATTR_TEXT, false, { .text = direction } },
		{ "file", NW_ATTR_TEXT, false, { .text = "/x" } } };
	const struct nw_event e = { .t_wall_ns = INT64_C(1795827865000000000),
		.program = "vsftpd",
		.name = "transfer.ftp",
		.n_attrs = 5,
		.attrs = attrs };

	return nw_transfer_event_read(&e, "ftp1", a);
}

/* Numbers of a log whose format quotes all values. */
static void
test_texts(void)
{
	const struct {
		const char *seconds;
		bool is;
	} cases[] = { { "3.5", true }, { "3.5 s", false }, { "", false }, { "nan", false } };
	struct nw_announcement a;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct nw_attr attrs[] = { { "seconds", NW_ATTR_TEXT, false,
						     { .text = cases[i].seconds } },
			{ "bytes_out", NW_ATTR_TEXT, false, { .text = "1000000000" } },
			{ "client", NW_ATTR_TEXT, false, { .text = "192.0.2.9" } },
			{ "server", NW_ATTR_TEXT, false, { .text = "192.0.2.1" } } };
		const struct nw_event e = { .t_wall_ns = INT64_C(1795827864000000000),
			.name = "transfer.http",
			.n_attrs = 4,
			.attrs = attrs };

		CHECK_INT(nw_transfer_event_read(&e, "a", &a), cases[i].is);
		CHECK(!cases[i].is ||
		    (a.value[NW_ANNOUNCED_elapsed_s] == 3.5 &&
			a.value[NW_ANNOUNCED_bytes_out] == 1e9 && strcmp(a.src, "192.0.2.1") == 0));
	}
}

static void
test_log(void)
{
	struct nw_announcement a;

	CHECK(log_take(3, 1e9, "o", &a));
	CHECK_STR(a.src, "ftp1");
	CHECK_STR(a.dst, "192.0.2.9");
	CHECK_STR(a.application, "vsftpd");
	CHECK_NEAR(a.value[NW_ANNOUNCED_bytes_out], 1e9, 0, 0);
	CHECK(strncmp(a.group, "log/ftp1/", 9) == 0);
	CHECK(log_take(3, 1e9, "i", &a));
	CHECK_NEAR(a.value[NW_ANNOUNCED_bytes_in], 1e9, 0, 0);
	CHECK(!log_take(0.9, 1e9, "o", &a));
	CHECK(!log_take(3, 0, "o", &a));
	CHECK(!log_take(-3, 1e9, "o", &a));
	CHECK(!log_take(1e12, 1e9, "o", &a));
}

int
main(void)
{
	test_frames();
	test_bounds();
	test_messages();
	test_event();
	test_log();
	test_texts();
	return check_done("fts");
}
