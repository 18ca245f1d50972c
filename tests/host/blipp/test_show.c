/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples as a list, CSV, JSON and OpenMetrics. */
#include "host/blipp/show.h"

#include <math.h>
#include <stdlib.h>

#include "narrows/err.h"
#include "tests/check.h"

static const struct series_field fields[] = { { "read_bytes", "By", true },
	{ "inflight", "{operation}", false } };
static const struct series_kind kind = { SERIES_PREFIX "disk:partition:", "device", fields, 2 };

static void
take(struct report *r, const char *device, double bytes, double inflight)
{
	struct series s = { .announced = false };

	snprintf(s.device, sizeof(s.device), "%s", device);
	CHECK_INT(show_take(r, &s, &kind, (const double[]){ bytes, inflight }), NW_OK);
}

static void
expect(const struct show *w, enum show_format format, const char *want)
{
	size_t len;
	char *text;
	FILE *f = open_memstream(&text, &len);

	show_write(w, format, f);
	fclose(f);
	CHECK_STR(text, want);
	free(text);
}

int
main(void)
{
	struct show w = { .probe = "disk" };
	struct report r = { .out = show_take, .out_arg = &w, .t_wall_ns = 5000000001 };

	take(&r, "old", 1, 1);
	take(&r, "sda", 4096, NAN);
	take(&r, "a\"b", 0.5, 2);
	show_keep_latest(&w, 2);
	CHECK_INT(show_format_parse("csv"), SHOW_CSV);
	CHECK_INT(show_format_parse("xml"), SHOW_NONE);
	expect(&w, SHOW_LIST,
	    "disk disk:partition sda read_bytes unit=By kind=counter\n"
	    "disk disk:partition a\"b read_bytes unit=By kind=counter\n"
	    "disk disk:partition a\"b inflight unit={operation} kind=gauge\n");
	expect(&w, SHOW_CSV,
	    "t,event_type,device,field,value,unit,kind\n"
	    "5.000000001,ps:tools:blipp:linux:disk:partition:,sda,read_bytes,4096,By,counter\n"
	    "5.000000001,ps:tools:blipp:linux:disk:partition:,\"a\"\"b\",read_bytes,0.5,By,"
	    "counter\n"
	    "5.000000001,ps:tools:blipp:linux:disk:partition:,\"a\"\"b\",inflight,2,{operation},"
	    "gauge\n");
	expect(&w, SHOW_OPENMETRICS,
	    "# TYPE blipp_disk_partition_read_bytes counter\n"
	    "# HELP blipp_disk_partition_read_bytes unit By, probe disk\n"
	    "blipp_disk_partition_read_bytes_total{device=\"sda\"} 4096\n"
	    "blipp_disk_partition_read_bytes_total{device=\"a\\\"b\"} 0.5\n"
	    "# TYPE blipp_disk_partition_inflight gauge\n"
	    "# HELP blipp_disk_partition_inflight unit {operation}, probe disk\n"
	    "blipp_disk_partition_inflight{device=\"a\\\"b\"} 2\n"
	    "# EOF\n");
	show_clear(&w);
	take(&r, "sda", 1, NAN);
	expect(&w, SHOW_JSON,
	    "{\"t\":5.000000001,\"event_type\":\"ps:tools:blipp:linux:disk:partition:\","
	    "\"device\":\"sda\",\"field\":\"read_bytes\",\"unit\":\"By\",\"kind\":\"counter\","
	    "\"value\":1}\n");
	show_clear(&w);
	return check_done("show");
}
