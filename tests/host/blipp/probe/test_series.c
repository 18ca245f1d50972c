/* SPDX-License-Identifier: BSD-3-Clause */
/* Series: announced once, ended with their device, found again in any order. */
#include "host/blipp/probe/series.h"

#include "tests/fakebox.h"
#include "narrows/clock.h"

static const struct series_field fields[] = { { "a", "By", true }, { "b", "1", false },
	{ "c", "By", true } };
static const struct series_kind host_kind = { SERIES_PREFIX "test", NULL, fields, 3 };
static const struct series_kind device_kind = { SERIES_PREFIX "test:device:", "device", fields, 3 };

static void
test_set(struct report *r)
{
	static const char *const rounds[][4] = {
		{ "sda", "sdb", "sdc", NULL },
		{ "sda", "sdb", "sdc", NULL },
		{ "sdc", "sda", NULL, NULL },
		{ "sdd", "sda", "sdc", NULL },
	};
	static const size_t kept[] = { 3, 3, 2, 3 };
	struct series_set set = { 0 };
	char name[SERIES_DEVICE_BYTES + 8];
	size_t i, k;

	for (i = 0; i < 4; i++) {
		for (k = 0; rounds[i][k] != NULL; k++) {
			struct series *s = series_set_get(&set, rounds[i][k], strlen(rounds[i][k]));

			CHECK(s != NULL);
			CHECK_STR(s->device, rounds[i][k]);
		}
		series_set_sweep(&set, r);
		CHECK_INT(set.n, kept[i]);
	}
	memset(name, 'x', sizeof(name));
	CHECK(series_set_get(&set, name, sizeof(name)) == NULL);
	series_set_clear(&set);
	for (i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "veth%zu", i);
		CHECK(series_set_get(&set, name, strlen(name)) != NULL);
	}
	CHECK_INT(set.n, 300);
	series_set_clear(&set);
}

static void
drive(struct nw_provider *p, struct fakebox *b, unsigned docs)
{
	int i;

	for (i = 0; i < 2000 && b->docs < docs; i++) {
		nw_provider_run(p, 1000000);
		fakebox_step(b);
	}
	CHECK_INT(b->docs, docs);
}

int
main(void)
{
	struct nw_provider_opts opts = { .software = "test", .host = "h" };
	struct report r = { .host = "h", .interval_s = 1 };
	struct series host = { 0 };
	struct series_set set = { 0 };
	struct fakebox b;

	fakebox_start(&b);
	b.commit_each = true;
	opts.box = b.addr;
	CHECK_INT(nw_provider_new(&opts, &r.provider), NW_OK);
	r.t_wall_ns = nw_wall_ns();
	CHECK_INT(series_send(&host, &host_kind, &r, (const double[]){ 1, NAN, 3 }), NW_OK);
	CHECK_INT(series_send(&host, &host_kind, &r, (const double[]){ 1, 2, 3 }), NW_OK);
	CHECK_STR(host.id, "h/test");
	CHECK_INT(series_send(series_set_get(&set, "sda", 3), &device_kind, &r,
		      (const double[]){ 4, 5, 6 }),
	    NW_OK);
	CHECK_STR(set.list[0].id, "h/test:device:sda");
	drive(r.provider, &b, 3);
	CHECK_INT(b.metas, 2);
	CHECK_STR(b.last_meta_id, "h/test:device:sda");
	CHECK_INT(b.n_last, 3);
	CHECK_STR(b.last_fields[1], "b");
	CHECK_NEAR(b.last_values[2], 6, 0, 0);
	CHECK_INT(r.values, 9);
	series_set_sweep(&set, &r);
	series_set_sweep(&set, &r); /* sda has gone */
	CHECK_INT(set.n, 0);
	CHECK_INT(series_send(series_set_get(&set, "sda", 3), &device_kind, &r,
		      (const double[]){ 7, 8, 9 }),
	    NW_OK);
	drive(r.provider, &b, 4);
	CHECK_INT(b.metas, 3); /* and is back */
	test_set(&r);
	CHECK_INT(nw_provider_close(r.provider, 500000000), NW_OK);
	series_set_clear(&set);
	fakebox_stop(&b);
	return check_done("series");
}
