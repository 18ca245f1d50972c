/* SPDX-License-Identifier: BSD-3-Clause */
/* Kept samples: what comes out went in, of the newest stretch of time, and within the bounds. */
#include "host/blipp/series_history.h"

#include "narrows/clock.h"
#include "narrows/splitmix.h"
#include "tests/fakebox.h"

#define MS INT64_C(1000000)

enum { FIELDS = 40 };
static struct series_field fields[FIELDS];
static const struct series_kind kind = { SERIES_PREFIX "test", NULL, fields, FIELDS };
static const struct series_kind small = { SERIES_PREFIX "small:", "device", fields, 2 };

static void
fields_fill(void)
{
	static char names[FIELDS][8];
	size_t i;

	for (i = 0; i < FIELDS; i++) {
		snprintf(names[i], sizeof(names[i]), "f%zu", i);
		fields[i] = (struct series_field){ names[i], "1", true };
	}
}

/* A minute at 10 Hz of counters, half of which stand still; 90 seconds go in. */
static void
test_send(void)
{
	struct nw_provider_opts opts = { .software = "test", .host = "h" };
	struct history h = { .keep_ns = 60000 * MS };
	struct report r = { .host = "h", .interval_s = 1 };
	const int64_t start_ns = INT64_C(1700000000000000000);
	struct series host = { 0 }, device = { .device = "sda" };
	double v[FIELDS] = { 0 };
	struct fakebox b;
	size_t rows;
	int i, k;

	fakebox_start(&b);
	b.commit_each = true;
	opts.box = b.addr;
	CHECK_INT(nw_provider_new(&opts, &r.provider), NW_OK);
	for (i = 0; i < 900; i++) {
		for (k = 0; k < FIELDS; k += 2)
			v[k] = 1000.0 * k + i;
		v[1] = i % 7 == 0 ? NAN : 5;
		history_put(&h, &host, &kind, start_ns + i * 100 * MS, v);
		if (i % 2 == 0)
			history_put(&h, &device, &small, start_ns + i * 100 * MS, v);
	}
	CHECK_INT(h.lost_rows, 0);
	CHECK(
	    h.bytes < 400000); /* as rows: 8 bytes a value, 240 kB, and of what stands still none */
	rows = history_send(&h, &r);
	CHECK(rows >= 600 * 3 / 2 && rows <= 660 * 3 / 2);
	CHECK_INT(h.bytes, 0);
	for (i = 0; i < 4000 && nw_provider_run(r.provider, MS) == NW_OK && b.n_arrived < 900; i++)
		fakebox_step(&b);
	CHECK_INT(b.metas, 2);
	CHECK_STR(b.last_meta_id, "h/small:sda");
	CHECK(b.last_values[0] >= 880 && (int)b.last_values[0] % 2 == 0);
	nw_provider_close(r.provider, 0);
	fakebox_stop(&b);
}

/* Wild numbers of many series: memory has a bound, old stretches go for new ones. */
static void
test_bound(void)
{
	struct history h = { .keep_ns = 600000 * MS };
	uint64_t seed = 4;
	struct series s = { 0 };
	double v[FIELDS];
	int i, k;

	for (i = 0; i < 200000; i++) {
		snprintf(s.device, sizeof(s.device), "d%d", i % 50);
		for (k = 0; k < FIELDS; k++)
			v[k] = (double)nw_splitmix(&seed);
		history_put(&h, &s, &kind, INT64_C(1700000000000000000) + i * 20 * MS, v);
	}
	CHECK(h.bytes <= HISTORY_BYTES_MAX);
	CHECK(h.bytes > HISTORY_BYTES_MAX / 4);
	for (i = 0; i < 2000; i++) {
		snprintf(s.device, sizeof(s.device), "x%d", i);
		history_put(&h, &s, &small, INT64_C(1700000009000000000), v);
	}
	CHECK(h.n_series <= HISTORY_SERIES_MAX);
	CHECK(h.lost_rows > 0);
	/* a clock that goes back */
	history_put(&h, &s, &small, 5, v);
	history_clear(&h);
	CHECK_INT(h.bytes, 0);
}

int
main(void)
{
	fields_fill();
	test_send();
	test_bound();
	return check_done("test_history");
}
