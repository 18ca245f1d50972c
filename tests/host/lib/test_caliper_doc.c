/* SPDX-License-Identifier: BSD-3-Clause */
/* Caliper windows on the wire: names, units, and what is left out when it does not exist. */
#include "narrows/caliper.h"

#include "tests/fakebox.h"
#include "narrows/provider.h"

static double
last(const struct fakebox *b, const char *name)
{
	size_t i;

	for (i = 0; i < b->n_last; i++)
		if (strcmp(b->last_fields[i], name) == 0)
			return b->last_values[i];
	return NAN;
}

static void
send_window(struct nw_provider *p, struct fakebox *b, const struct nw_caliper_window *w)
{
	unsigned before = b->docs;
	int i;

	CHECK_INT(nw_provider_caliper(p, "m1", nw_wall_ns(), w), NW_OK);
	for (i = 0; i < 2000 && b->docs == before; i++) {
		nw_provider_run(p, 1000000);
		fakebox_step(b);
	}
	CHECK_INT(b->docs, before + 1);
}

int
main(void)
{
	struct nw_provider_opts opts = { .software = "test", .host = "h" };
	struct nw_caliper_window w;
	struct nw_provider *p;
	struct nw_caliper *c;
	struct fakebox b;

	fakebox_start(&b);
	opts.box = b.addr;
	CHECK_INT(nw_provider_new(&opts, &p), NW_OK);
	CHECK_INT(
	    nw_provider_meta(p, "m1", NULL, "nl:tools:calipers:summary:read", NULL, 0, NULL, 0),
	    NW_OK);
	CHECK_INT(nw_caliper_new(&c), NW_OK);

	nw_caliper_take(c, 1000000000, &w);
	nw_caliper_begin(c, 1000000000);
	nw_caliper_end(c, 4000, 1000001000);
	nw_caliper_begin(c, 1100000000);
	nw_caliper_end(c, 1000, 1100004000);
	nw_caliper_begin(c, 1200000000);
	nw_caliper_end(c, 0, 1200001000);
	nw_caliper_take(c, 2000000000, &w);
	w.wait_ns = 250000000;
	send_window(p, &b, &w);
	CHECK_NEAR(last(&b, "count"), 3, 0, 0);
	CHECK_NEAR(last(&b, "count_r"), 2, 0, 0);
	CHECK_NEAR(last(&b, "sum_v"), 5000, 0, 0);
	CHECK_NEAR(last(&b, "max_v"), 4000, 0, 0);
	CHECK_NEAR(last(&b, "mean_r"), (4 + 0.25) / 2, 1e-15, 0);
	CHECK_NEAR(last(&b, "sd_r"), 3.75 / sqrt(2), 1e-14, 0);
	CHECK_NEAR(last(&b, "min_g"), 0.25, 0, 0);
	CHECK_NEAR(last(&b, "sum_d"), 6e-6, 1e-15, 0);
	CHECK_NEAR(last(&b, "sd_d"), sqrt(3) * 1e-6, 1e-14, 0);
	CHECK_NEAR(last(&b, "dur_inst"), 6e-6, 1e-15, 0);
	CHECK_NEAR(last(&b, "dur"), 0.200001, 1e-14, 0);
	CHECK_NEAR(last(&b, "window"), 1, 1e-15, 0);
	CHECK_NEAR(last(&b, "busy"), 6e-6, 1e-15, 0);
	CHECK_NEAR(last(&b, "busy_max"), 6e-6, 1e-15, 0);
	CHECK_NEAR(last(&b, "wait"), 0.25, 1e-15, 0);
	CHECK_NEAR(last(&b, "threads"), 1, 0, 0);
	CHECK_NEAR(last(&b, "clamped"), 0, 0, 0);
	CHECK(b.hist_bytes > 2);

	b.hist_bytes = 0;
	nw_caliper_take(c, 3000000000, &w);
	send_window(p, &b, &w);
	CHECK_NEAR(last(&b, "count"), 0, 0, 0);
	CHECK(isnan(last(&b, "min_v")) && isnan(last(&b, "mean_r")) && isnan(last(&b, "sd_d")));
	CHECK_INT(b.hist_bytes, 0);

	fakebox_commit(&b, 2);
	CHECK_INT(nw_provider_close(p, 500000000), NW_OK);
	nw_caliper_free(c);
	fakebox_stop(&b);
	return check_done("caliper_doc");
}
