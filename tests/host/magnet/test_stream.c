/* SPDX-License-Identifier: BSD-3-Clause */
/* Recorded streams: what was written is read, and nothing else is taken for a stream. */
#include "host/magnet/stream.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "tests/check.h"

static struct {
	struct magnet_stream header;
	struct magnet_point_name name;
	struct magnet_record first;
	struct magnet_flow4 flow;
	struct magnet_record last;
	struct counts_of counts;
} stream;

static void
stream_fill(void)
{
	memset(&stream, 0, sizeof(stream));
	memcpy(stream.header.magic, MAGNET_MAGIC, 8);
	stream.header.byte_order = MAGNET_BYTE_ORDER;
	stream.header.header_bytes = sizeof(stream.header);
	stream.header.n_points = 1;
	stream.name.id = POINT_IP_TX;
	strcpy(stream.name.name, "ip.tx");
	stream.first.size_bytes = sizeof(stream.first) + sizeof(stream.flow);
	stream.first.point = POINT_IP_TX;
	stream.first.form = MAGNET_FLOW4;
	stream.flow.sport = 5001;
	stream.last.size_bytes = sizeof(stream.last) + sizeof(stream.counts);
	stream.last.form = MAGNET_BYTES;
	stream.counts.point = POINT_IP_TX;
	stream.counts.counts.lost = 7;
}

/* Reads the first len bytes; returns how many records were read before the result *rc. */
static int
records_read(size_t len, int *rc, const char **why, uint64_t *lost)
{
	FILE *f = fmemopen(&stream, len, "r");
	const struct counts_of *c;
	struct stream_reader s;
	int n = 0;

	*lost = 0;
	*why = NULL;
	if ((*rc = stream_open(&s, f, why)) == NW_OK) {
		while ((*rc = stream_next(&s, why)) == 1) {
			n++;
			if (stream_counts_of(s.record, &c) == 1)
				*lost = c->counts.lost;
			else
				CHECK(strcmp(s.names[s.record->point].name, "ip.tx") == 0);
		}
		stream_close(&s);
	}
	fclose(f);
	return n;
}

static void
test_whole(void)
{
	const char *why;
	uint64_t lost;
	int rc;

	stream_fill();
	CHECK_INT(records_read(sizeof(stream), &rc, &why, &lost), 2);
	CHECK_INT(rc, 0);
	CHECK_INT(lost, 7);
}

/* Every cut is an error with words, or an end between two records. */
static void
test_cuts(void)
{
	const size_t begin = sizeof(stream.header) + sizeof(stream.name);
	const char *why;
	uint64_t lost;
	size_t len;
	int rc;

	stream_fill();
	for (len = 1; len < sizeof(stream); len++) {
		records_read(len, &rc, &why, &lost);
		if (len == begin || len == begin + stream.first.size_bytes)
			CHECK_INT(rc, 0);
		else if (len > begin &&
		    (len - begin < sizeof(stream.first) ||
			(len > begin + stream.first.size_bytes &&
			    len - begin - stream.first.size_bytes < sizeof(stream.last))))
			CHECK(rc == 0 || why != NULL);
		else
			CHECK(rc < 0 && why != NULL);
	}
}

static void
test_refused(void)
{
	const char *why;
	uint64_t lost;
	int rc;

	stream_fill();
	stream.header.byte_order = 0x04030201;
	records_read(sizeof(stream), &rc, &why, &lost);
	CHECK_INT(rc, NW_EPROTO);
	stream_fill();
	stream.header.n_points = MAGNET_POINTS_MAX + 1;
	records_read(sizeof(stream), &rc, &why, &lost);
	CHECK_INT(rc, NW_EVERSION);
	stream_fill();
	stream.first.size_bytes = sizeof(stream.first) - 8;
	CHECK_INT(records_read(sizeof(stream), &rc, &why, &lost), 0);
	CHECK_INT(rc, NW_ECORRUPT);
	stream_fill();
	stream.first.point = MAGNET_POINTS_MAX;
	CHECK_INT(records_read(sizeof(stream), &rc, &why, &lost), 0);
	CHECK_INT(rc, NW_ECORRUPT);
}

/* Buckets of the statistics: in order, each value within an eighth of an octave of its
 * neighbours. */
static void
test_buckets(void)
{
	uint32_t b, before = 0;
	uint64_t v;

	for (v = 0; v < 100000; v++) {
		b = magnet_bucket(v);
		CHECK(b == before || b == before + 1);
		if (v < 16)
			CHECK_INT(b, v);
		before = b;
	}
	CHECK_INT(magnet_bucket(1024), 8 * 8);
	CHECK_INT(magnet_bucket(1151), 8 * 8);
	CHECK_INT(magnet_bucket(1152), 8 * 8 + 1);
	CHECK_INT(magnet_bucket(UINT64_MAX), MAGNET_STAT_BUCKETS - 1);
}

int
main(void)
{
	test_whole();
	test_cuts();
	test_refused();
	test_buckets();
	return check_done("test_stream");
}
