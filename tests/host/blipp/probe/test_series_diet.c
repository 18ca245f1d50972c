/* SPDX-License-Identifier: BSD-3-Clause */
/* The box's diet: which samples are sent, and for how long. */
#include "host/blipp/probe/series_diet.h"

#include "narrows/err.h"
#include "narrows/order.h"
#include "tests/check.h"

#define S INT64_C(1000000000)

static const struct series_field fields[] = { { "a", "By", true } };
static const struct series_kind disk = { SERIES_PREFIX "disk:partition:", "device", fields, 1 },
				qdisc = { SERIES_PREFIX "network:qdisc", "interface", fields, 1 },
				mounts = { SERIES_PREFIX "filesystem", "mountpoint", fields, 1 },
				load = { SERIES_PREFIX "cpu:load", NULL, fields, 1 };

static int
take(struct diet *d, const char *series, int64_t interval_ns, int64_t now, bool *changed)
{
	struct nw_doc_buf doc = { 0 };
	const struct nw_diet order = { series, interval_ns, 10 * S };
	const char *why;
	int rc;

	CHECK_INT(nw_diet_encode(&doc, &order), NW_OK);
	rc = diet_take(d, doc.data, doc.len, now, changed, &why);
	nw_doc_buf_clear(&doc);
	return rc;
}

/* How many of the samples, one a second, are sent. */
static int
sent(struct diet *d, struct series *s, const struct series_kind *kind, int seconds)
{
	int i, n = 0;

	for (i = 0; i < seconds; i++)
		n += !diet_holds(d, s, kind, (1700000000 / 60 * 60 + i) * S);
	return n;
}

static void
test_names(void)
{
	struct series sda = { .device = "sda" }, eth = { .device = "eth0" }, none = { 0 },
		      root = { .device = "/" }, sdb = { .device = "sdb" };
	struct diet d = { 0 };
	bool changed;

	CHECK_INT(sent(&d, &sda, &disk, 60), 60);
	CHECK_INT(take(&d, "filesystem\nnetwork:qdisc eth0\ndisk:partition:sda\ngone\n", 20 * S, 0,
		      &changed),
	    NW_OK);
	CHECK(changed);
	diet_round(&d, false);
	CHECK_INT(sent(&d, &sda, &disk, 60), 3);
	CHECK_INT(sent(&d, &eth, &qdisc, 60), 3);
	CHECK_INT(sent(&d, &root, &mounts, 60), 3);
	CHECK(diet_is_whole(&d));
	CHECK_INT(d.n - d.n_met, 1);
	CHECK_INT(sent(&d, &sdb, &disk, 60), 60);
	CHECK_INT(sent(&d, &none, &load, 60), 60);
	CHECK(!diet_is_whole(&d));
	diet_round(&d, true);
	CHECK_INT(sent(&d, &sda, &disk, 60), 60);
	diet_clear(&d);
}

static void
test_lease(void)
{
	struct series sda = { .device = "sda" };
	struct diet d = { 0 };
	bool changed;

	CHECK_INT(take(&d, "b\ndisk:partition:sda\n", 60 * S, 0, &changed), NW_OK);
	CHECK_INT(sent(&d, &sda, &disk, 60), 1);
	CHECK_INT(take(&d, "disk:partition:sda\nb\n", 60 * S, 5 * S, &changed), NW_OK);
	CHECK(!changed);
	CHECK_INT(take(&d, "disk:partition:sda\nb\n", 30 * S, 5 * S, &changed), NW_OK);
	CHECK(changed);
	CHECK(!diet_expire(&d, 14 * S));
	CHECK(diet_expire(&d, 15 * S));
	CHECK(!diet_expire(&d, 16 * S));
	CHECK_INT(sent(&d, &sda, &disk, 60), 60);
	CHECK_INT(take(&d, "disk:partition:sda\n", 60 * S, 20 * S, &changed), NW_OK);
	CHECK(changed);
	CHECK_INT(take(&d, "", 60 * S, 20 * S, &changed), NW_OK);
	CHECK(changed);
	CHECK_INT(sent(&d, &sda, &disk, 60), 60);
	diet_clear(&d);
}

static void
test_strangers(void)
{
	struct nw_doc_buf doc = { 0 };
	struct diet d = { 0 };
	const char *why;
	bool changed;

	CHECK_INT(nw_diet_encode(&doc, &(struct nw_diet){ "a\n", 1, S }), NW_EINVAL);
	CHECK_INT(nw_diet_encode(&doc, &(struct nw_diet){ "a\n", S, 0 }), NW_EINVAL);
	CHECK_INT(nw_diet_encode(&doc, &(struct nw_diet){ NULL, S, S }), NW_EINVAL);
	CHECK_INT(nw_diet_encode(&doc, &(struct nw_diet){ "a\nno end", S, S }), NW_OK);
	CHECK(diet_take(&d, doc.data, doc.len - 1, 0, &changed, &why) < 0);
	CHECK_INT(d.n, 0);
	CHECK_INT(diet_take(&d, doc.data, doc.len, 0, &changed, &why), NW_OK);
	CHECK_INT(d.n, 1);
	nw_doc_buf_clear(&doc);
	diet_clear(&d);
}

int
main(void)
{
	test_names();
	test_lease();
	test_strangers();
	return check_done("test_diet");
}
