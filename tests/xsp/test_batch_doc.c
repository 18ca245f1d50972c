/* SPDX-License-Identifier: BSD-3-Clause */
/* Packed rows: what went in comes out, the same as from a list of documents; what is damaged is
 * refused whole. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"
#include "narrows/doc.h"
#include "narrows/err.h"
#include "narrows/frame.h"

enum { ROWS = 5, FIELDS = 3 };

static const char *const fields[FIELDS] = { "sum_v", "sd_v", "retrans" };
static const int64_t times[ROWS] = { 1700000000123456789, 1700000000223456789, 1700000000223456789,
	1699999999000000000, -5 };
static const double values[ROWS * FIELDS] = { 1, 0.5, 3, 2, NAN, 4, -0.0, 1e300, 5, 3, 1e-300, -6,
	9, 8, 7 };

static const struct nw_data sample = { .mid = "dtn1/tcp",
	.n_fields = FIELDS,
	.fields = fields,
	.n_rows = ROWS,
	.t_wall_ns = times,
	.values = values };

struct got {
	unsigned calls;
	size_t n_rows;
	int64_t t[ROWS];
	double v[ROWS * FIELDS];
	char mid[64], fields[FIELDS][32];
};

static int
on_data(void *arg, const struct nw_data *d)
{
	struct got *g = arg;
	size_t i;

	g->calls++;
	g->n_rows = d->n_rows;
	CHECK(
	    d->n_rows <= ROWS && d->n_fields == FIELDS && d->hist == NULL && d->event_type == NULL);
	if (d->n_rows > ROWS || d->n_fields != FIELDS)
		return NW_OK;
	snprintf(g->mid, sizeof(g->mid), "%s", d->mid);
	memcpy(g->t, d->t_wall_ns, d->n_rows * sizeof(g->t[0]));
	memcpy(g->v, d->values, d->n_rows * FIELDS * sizeof(g->v[0]));
	for (i = 0; i < FIELDS; i++)
		snprintf(g->fields[i], sizeof(g->fields[i]), "%s", d->fields[i]);
	for (i = 0; i < d->n_rows; i++)
		CHECK_INT(d->sample_number[i], -1);
	return NW_OK;
}

static int
decode(uint16_t opt, const uint8_t *buf, size_t len, struct got *g, const char **why)
{
	const struct nw_doc_sink sink = { .arg = g, .on_data = on_data };
	struct nw_doc_decoder *d = nw_doc_decoder_new(NULL);
	int rc;

	memset(g, 0, sizeof(*g));
	rc = nw_doc_decode(d, opt, buf, len, &sink, why);
	nw_doc_decoder_free(d);
	return rc;
}

static void
check_sample(const struct got *g)
{
	size_t i;

	CHECK_INT(g->calls, 1);
	CHECK_INT(g->n_rows, ROWS);
	CHECK_STR(g->mid, "dtn1/tcp");
	for (i = 0; i < ROWS; i++)
		CHECK_INT(g->t[i], times[i]);
	for (i = 0; i < ROWS * FIELDS; i++)
		CHECK(isnan(values[i]) ? isnan(g->v[i]) : memcmp(&g->v[i], &values[i], 8) == 0);
	for (i = 0; i < FIELDS; i++)
		CHECK_STR(g->fields[i], fields[i]);
}

static void
test_round_trip(void)
{
	struct nw_doc_buf packed = { 0 }, list = { 0 };
	const char *why = NULL;
	struct got g;

	CHECK_INT(nw_batch_doc_encode(&packed, &sample), NW_OK);
	CHECK_INT(decode(NW_OPT_BATCH, packed.data, packed.len, &g, &why), NW_OK);
	check_sample(&g);
	CHECK_INT(nw_list_doc_encode(&list, &sample), NW_OK);
	CHECK_INT(decode(NW_OPT_DATA, list.data, list.len, &g, &why), NW_OK);
	check_sample(&g);
	CHECK(packed.len < list.len / 2);
	nw_doc_buf_clear(&packed);
	nw_doc_buf_clear(&list);
}

/* Byte for byte as the format is described, so that other programs can write the format. */
static void
test_format(void)
{
	static const int64_t t[2] = { 0x0102030405060708, 0x0102030405060708 - 1 };
	static const double v[2] = { 1, 2 };
	static const char *const names[1] = { "a" };
	static const uint8_t want[] = { 1, 'm', 0, 1, 'a', 0, 2, 8, 7, 6, 5, 4, 3, 2, 1, 1, 0, 0, 0,
		0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0x40 };
	const struct nw_data d = {
		.mid = "m", .n_fields = 1, .fields = names, .n_rows = 2, .t_wall_ns = t, .values = v
	};
	struct nw_doc_buf out = { 0 };

	CHECK_INT(nw_batch_doc_encode(&out, &d), NW_OK);
	CHECK_INT(out.len, sizeof(want));
	CHECK(out.len == sizeof(want) && memcmp(out.data, want, sizeof(want)) == 0);
	nw_doc_buf_clear(&out);
}

static void
test_markers(void)
{
	static const double v[3] = { DBL_MAX, -1, INFINITY };
	struct nw_data d = sample;
	struct nw_doc_buf out = { 0 };
	const char *why = NULL;
	struct got g;

	d.n_rows = 1;
	d.values = v;
	CHECK_INT(nw_batch_doc_encode(&out, &d), NW_OK);
	CHECK_INT(decode(NW_OPT_BATCH, out.data, out.len, &g, &why), NW_OK);
	CHECK(isnan(g.v[0]) && isnan(g.v[1]) && isnan(g.v[2]));
	nw_doc_buf_clear(&out);
}

static void
test_refused(void)
{
	static const struct {
		const char *what;
		size_t len;
		uint8_t bytes[32];
		int rc;
	} cases[] = {
		{ "nothing", 0, { 0 }, NW_EPROTO },
		{ "another version", 4, { 2, 'm', 0, 1 }, NW_EPROTO },
		{ "no id", 3, { 1, 0, 1 }, NW_EPROTO },
		{ "an id without end", 3, { 1, 'm', 'm' }, NW_EPROTO },
		{ "an id that is not UTF-8", 4, { 1, 0xff, 0, 1 }, NW_EPROTO },
		{ "no fields", 24, { 1, 'm', 0, 0, 1 }, NW_ETOOBIG },
		{ "very many fields", 24,
		    { 1, 'm', 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 },
		    NW_ETOOBIG },
		{ "a varint without end", 15,
		    { 1, 'm', 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			0 },
		    NW_EPROTO },
		{ "a nameless field", 24, { 1, 'm', 0, 1, 0, 1 }, NW_EPROTO },
		{ "a field twice", 24, { 1, 'm', 0, 2, 'a', 0, 'a', 0, 1 }, NW_EPROTO },
		{ "a field twice in two spellings", 28,
		    { 1, 'm', 0, 2, 'a', '.', 0, 'a', '_', 0, 1 }, NW_EPROTO },
		{ "a time as a field", 24, { 1, 'm', 0, 1, 't', 's', 0, 1 }, NW_EPROTO },
		{ "no rows", 24, { 1, 'm', 0, 1, 'a', 0, 0 }, NW_ETOOBIG },
		{ "rows that are not here", 24, { 1, 'm', 0, 1, 'a', 0, 3 }, NW_EPROTO },
		{ "a byte too many", 24, { 1, 'm', 0, 1, 'a', 0, 1 }, NW_EPROTO },
		{ "no time", 23, { 1, 'm', 0, 1, 'a', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x80 },
		    NW_EPROTO },
		{ "all right", 23, { 1, 'm', 0, 1, 'a', 0, 1 }, NW_OK },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct nw_doc_sink sink = { 0 };
		struct nw_doc_decoder *d = nw_doc_decoder_new(NULL);
		uint8_t *exact = malloc(cases[i].len + 1);
		const char *why = NULL;
		int rc;

		memcpy(exact, cases[i].bytes, cases[i].len);
		rc = nw_doc_decode(d, NW_OPT_BATCH, exact, cases[i].len, &sink, &why);
		if (rc != cases[i].rc)
			fprintf(stderr, "%s:\n", cases[i].what);
		CHECK_INT(rc, cases[i].rc);
		CHECK(rc == NW_OK || why != NULL);
		free(exact);
		nw_doc_decoder_free(d);
	}
}

/* Every prefix of a good one is refused, and nothing of it delivered. */
static void
test_cut(void)
{
	struct nw_doc_buf out = { 0 };
	const char *why;
	struct got g;
	size_t n;

	CHECK_INT(nw_batch_doc_encode(&out, &sample), NW_OK);
	for (n = 0; n < out.len; n++) {
		CHECK_INT(decode(NW_OPT_BATCH, out.data, n, &g, &why), NW_EPROTO);
		CHECK_INT(g.calls, 0);
	}
	nw_doc_buf_clear(&out);
}

static void
test_arguments(void)
{
	struct nw_doc_buf out = { 0 };
	struct nw_data d = sample;

	d.mid = "";
	CHECK_INT(nw_batch_doc_encode(&out, &d), NW_EINVAL);
	CHECK_INT(nw_list_doc_encode(&out, &d), NW_EINVAL);
	d = sample;
	d.n_rows = 0;
	CHECK_INT(nw_batch_doc_encode(&out, &d), NW_EINVAL);
	d.n_rows = 1 << 20;
	CHECK_INT(nw_batch_doc_encode(&out, &d), NW_ETOOBIG);
	CHECK_INT(nw_list_doc_encode(&out, &d), NW_ETOOBIG);
	nw_doc_buf_clear(&out);
}

int
main(void)
{
	test_round_trip();
	test_format();
	test_markers();
	test_refused();
	test_cut();
	test_arguments();
	return check_done("batch_doc");
}
