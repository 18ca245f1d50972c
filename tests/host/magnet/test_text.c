/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of every form as lines, CSV and columns; a record that is cut off shows no numbers. */
#include "host/magnet/text.h"

#include "tests/check.h"

static union {
	struct magnet_record r;
	struct {
		struct magnet_record r;
		union {
			struct magnet_flow4 flow4;
			struct magnet_flow6 flow6;
			struct magnet_task task;
			struct magnet_block block;
			struct magnet_memory memory;
			struct magnet_fields fields;
		};
	} all;
} record;

static const char *
text_of(enum text_form form, int64_t t0_ns)
{
	static char text[512];
	FILE *f = fmemopen(text, sizeof(text), "w");

	text_record(f, form, "ip.tx", t0_ns, &record.r);
	fputc('\0', f);
	fclose(f);
	return text;
}

static void
record_begin(uint8_t form, size_t more)
{
	memset(&record, 0, sizeof(record));
	record.r = (struct magnet_record){ .size_bytes = (uint16_t)(sizeof(record.r) + more),
		.cpu = 3,
		.form = form,
		.t_mono_ns = 5000000007,
		.id = UINT64_MAX,
		.pid = 10,
		.tid = 11,
		.seq = 12,
		.value = -1 };
}

static void
test_flows(void)
{
	record_begin(MAGNET_FLOW4, sizeof(record.all.flow4));
	record.all.flow4 = (struct magnet_flow4){ .sport = 5001,
		.dport = 80,
		.protocol = 6,
		.ip_id = 77,
		.src = { 192, 0, 2, 1 },
		.dst = { 192, 0, 2, 2 },
		.bytes = { .first = 4294967290, .behind = 10 } };
	CHECK_STR(text_of(TEXT_LINES, 0),
	    "5.000000007 cpu=3 pid=10 tid=11 ip.tx id=18446744073709551615 value=-1 tcp "
	    "192.0.2.1:5001 > 192.0.2.2:80 ip_id=77 bytes=4294967290..10\n");
	CHECK_STR(text_of(TEXT_CSV, 1000000000),
	    "6000000007,ip.tx,3,10,11,18446744073709551615,12,-1,tcp,192.0.2.1,5001,192.0.2.2,80,,,"
	    ",77,4294967290,10\n");
	CHECK_STR(text_of(TEXT_COLUMNS, 5000000000),
	    "0.000000007   192.0.2.1:5001             192.0.2.2:80               tcp          -1 "
	    "ip.tx\n");
	/* an older release recorded no bytes */
	record.r.size_bytes = sizeof(record.r) + MAGNET_FLOW4_LEAST;
	CHECK(strstr(text_of(TEXT_CSV, 0), ",192.0.2.2,80,,,,77,0,0\n") != NULL);
	CHECK(strstr(text_of(TEXT_LINES, 0), ":80 ip_id=77\n") != NULL);
	record_begin(MAGNET_FLOW6, sizeof(record.all.flow6));
	record.all.flow6 =
	    (struct magnet_flow6){ .sport = 1, .dport = 2, .protocol = 17, .src = { [15] = 1 } };
	CHECK(strstr(text_of(TEXT_CSV, 0), ",udp,::1,1,::,2,,,,0,0,0\n") != NULL);
	record.r.size_bytes = sizeof(record.r) + MAGNET_FLOW6_LEAST - 1;
	CHECK(strstr(text_of(TEXT_CSV, 0), ",-1,,,,,,,,,,,\n") != NULL);
	CHECK_STR(text_of(TEXT_COLUMNS, 0), "");
}

static void
test_numbers(void)
{
	record_begin(MAGNET_TASK, sizeof(record.all.task));
	record.all.task = (struct magnet_task){ .pid = 1, .tid = 2, .other = 3 };
	CHECK(strstr(text_of(TEXT_CSV, 0), ",-1,,,,,,1,2,3,,,\n") != NULL);
	CHECK(strstr(text_of(TEXT_LINES, 0), "value=-1 1 2 3\n") != NULL);
	record_begin(MAGNET_BLOCK, sizeof(record.all.block));
	record.all.block = (struct magnet_block){ .device = 4, .sector = 5, .bytes = 6 };
	CHECK(strstr(text_of(TEXT_CSV, 0), ",4,5,6,,,\n") != NULL);
	record_begin(MAGNET_MEMORY, sizeof(record.all.memory));
	record.all.memory = (struct magnet_memory){ .address = 7, .error = 8, .size = 9 };
	CHECK(strstr(text_of(TEXT_CSV, 0), ",7,8,9,,,\n") != NULL);
	record_begin(MAGNET_FIELDS, sizeof(record.all.fields));
	record.all.fields = (struct magnet_fields){ { 10, 11, 12 } };
	CHECK(strstr(text_of(TEXT_CSV, 0), ",10,11,12,,,\n") != NULL);
	record.r.size_bytes--;
	CHECK(strstr(text_of(TEXT_LINES, 0), "value=-1\n") != NULL);
	record_begin(MAGNET_BYTES, 0);
	CHECK(strstr(text_of(TEXT_LINES, 0), "value=-1\n") != NULL);
}

int
main(void)
{
	test_flows();
	test_numbers();
	return check_done("test_text");
}
