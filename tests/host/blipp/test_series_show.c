/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples as a list, CSV, JSON and OpenMetrics. */
#include "host/blipp/series_show.h"

#include <math.h>
#include <stdlib.h>

#include "narrows/err.h"
#include "tests/check.h"

static const struct series_field fields[] = { { "read_ms", "ms", true },
	{ "inflight", "{operation}", false }, { "discarded_bytes", "By", true } };
static const struct series_kind kind = { SERIES_PREFIX "disk:partition:", "device", fields, 3 };

static void
take(struct report *r, const char *device, double ms, double inflight, double discarded)
{
	struct series s = { .announced = false };

	snprintf(s.device, sizeof(s.device), "%s", device);
	CHECK_INT(show_take(r, &s, &kind, (const double[]){ ms, inflight, discarded }), NW_OK);
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

static void
expect_list(const struct show *w, const struct show_probe *probe, const char *want)
{
	size_t len;
	char *text;
	FILE *f = open_memstream(&text, &len);

	show_list(w, probe, f);
	fclose(f);
	CHECK_STR(text, want);
	free(text);
}

/* What this host does not have is listed, too. */
static void
test_list_of_nothing(void)
{
	static const struct series_kind *const kinds[] = { &kind, NULL };
	const struct show w = { .n = 0 };

	expect_list(&w, &(struct show_probe){ "disk", "/proc/diskstats", kinds, 2, false },
	    "disk disk:partition * read_ms unit=ms kind=counter source=/proc/diskstats here=no "
	    "on=no\n"
	    "disk disk:partition * inflight unit={operation} kind=gauge source=/proc/diskstats "
	    "here=no on=no\n"
	    "disk disk:partition * discarded_bytes unit=By kind=counter source=/proc/diskstats "
	    "here=no on=no\n");
}

int
main(void)
{
	static const struct series_kind *const kinds[] = { &kind };
	struct show w = { .probe = "disk", .source = "/proc/diskstats" };
	struct report r = { .out = show_take, .out_arg = &w, .t_wall_ns = 5000000001 };

	take(&r, "old", 1, 1, NAN);
	take(&r, "sda", 4096, NAN, NAN);
	take(&r, "a,\"b", 400, NAN, 6);
	take(&r, "a,\"b", 500, 2, 7);
	show_keep_latest(&w, 2);
	show_keep_last_of_field(&w);
	CHECK_INT(show_format_parse("csv"), SHOW_CSV);
	CHECK_INT(show_format_parse("xml"), SHOW_NONE);
	test_list_of_nothing();
	expect_list(&w, &(struct show_probe){ "disk", "/proc/diskstats", kinds, 1, true },
	    "disk disk:partition sda read_ms unit=ms kind=counter source=/proc/diskstats\n"
	    "disk disk:partition a,\"b read_ms unit=ms kind=counter source=/proc/diskstats\n"
	    "disk disk:partition a,\"b inflight unit={operation} kind=gauge "
	    "source=/proc/diskstats\n"
	    "disk disk:partition a,\"b discarded_bytes unit=By kind=counter "
	    "source=/proc/diskstats\n");
	expect(&w, SHOW_CSV,
	    "t,event_type,device,field,value,unit,kind\n"
	    "5.000000001,ps:tools:blipp:linux:disk:partition:,sda,read_ms,4096,ms,counter\n"
	    "5.000000001,ps:tools:blipp:linux:disk:partition:,\"a,\"\"b\",read_ms,500,ms,"
	    "counter\n"
	    "5.000000001,ps:tools:blipp:linux:disk:partition:,\"a,\"\"b\",inflight,2,{operation},"
	    "gauge\n"
	    "5.000000001,ps:tools:blipp:linux:disk:partition:,\"a,\"\"b\",discarded_bytes,7,By,"
	    "counter\n");
	expect(&w, SHOW_OPENMETRICS,
	    "# TYPE blipp_disk_partition_discarded_bytes counter\n"
	    "# HELP blipp_disk_partition_discarded_bytes disk:partition discarded_bytes (By), from "
	    "/proc/diskstats\n"
	    "blipp_disk_partition_discarded_bytes_total{device=\"a;\\\"b\"} 7\n"
	    "# TYPE node_disk_io_now gauge\n"
	    "# HELP node_disk_io_now disk:partition inflight ({operation}), from /proc/diskstats\n"
	    "node_disk_io_now{device=\"a;\\\"b\"} 2\n"
	    "# TYPE node_disk_read_time_seconds counter\n"
	    "# HELP node_disk_read_time_seconds disk:partition read_ms (ms), from /proc/diskstats\n"
	    "node_disk_read_time_seconds_total{device=\"sda\"} 4.0960000000000001\n"
	    "node_disk_read_time_seconds_total{device=\"a;\\\"b\"} 0.5\n"
	    "# EOF\n");
	show_clear(&w);
	take(&r, "sda", 1, NAN, NAN);
	expect(&w, SHOW_JSON,
	    "{\"t\":5.000000001,\"event_type\":\"ps:tools:blipp:linux:disk:partition:\","
	    "\"device\":\"sda\",\"field\":\"read_ms\",\"unit\":\"ms\",\"kind\":\"counter\","
	    "\"value\":1}\n");
	show_clear(&w);
	w.probe = "load";
	w.source = "/proc/loadavg";
	show_take(&r, &(struct series){ .device = "" },
	    &(struct series_kind){ SERIES_PREFIX "cpu:load", NULL,
		&(struct series_field){ "onemin", "{process}", false }, 1 },
	    (const double[]){ 1 });
	expect_list(&w, &(struct show_probe){ "load", "/proc/loadavg", NULL, 0, true },
	    "load cpu:load onemin unit={process} kind=gauge source=/proc/loadavg main=yes\n");
	show_clear(&w);
	return check_done("show");
}
