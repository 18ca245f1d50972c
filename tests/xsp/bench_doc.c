/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast documents become rows, next to the least libbson can do with the same bytes: an iterator
 * that looks at every key's type and reads every number, but checks no names, no text, no
 * repetition and no markers.
 */
#include <bson/bson.h>
#include <time.h>

#include "narrows/doc.h"
#include "narrows/frame.h"
#include "tests/check.h"

enum { DOCS = 512, ROUNDS = 5, MEASURE_MS = 200 };

static double sum; /* keeps the compiler from dropping the work */

static double
now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static bson_t *
caliper_new(int i)
{
	static const char *const fields[] = { "sum_v", "min_v", "max_v", "mean_v", "sd_v", "sum_r",
		"min_r", "max_r", "mean_r", "sd_r", "sum_g", "min_g", "max_g", "mean_g", "sd_g",
		"dur", "dur_inst", "window", "busy" };
	bson_t *b = bson_new(), data;
	size_t k;

	BSON_APPEND_UTF8(b, "mid", "7b6f0e02-0400-11e2-9a3c-002511ccae1a");
	BSON_APPEND_DOCUMENT_BEGIN(b, "data", &data);
	BSON_APPEND_DOUBLE(&data, "ts", 1347900123.501 + i);
	BSON_APPEND_INT32(&data, "_sample", i);
	for (k = 0; k < sizeof(fields) / sizeof(fields[0]); k++)
		BSON_APPEND_DOUBLE(&data, fields[k], 1.5 * i + (double)k);
	BSON_APPEND_INT32(&data, "count", 2000);
	bson_append_document_end(b, &data);
	return b;
}

static bson_t *
series_new(int i)
{
	bson_t *b = bson_new(), data, row;
	char key[16];
	int k;

	BSON_APPEND_UTF8(b, "mid", "535ff2a59449314ec5630ee9");
	BSON_APPEND_ARRAY_BEGIN(b, "data", &data);
	for (k = 0; k < 60; k++) {
		snprintf(key, sizeof(key), "%d", k);
		BSON_APPEND_DOCUMENT_BEGIN(&data, key, &row);
		BSON_APPEND_INT64(&row, "ts", 1398785931409112 + 1000000 * (int64_t)(60 * i + k));
		BSON_APPEND_DOUBLE(&row, "value", 0.001 * k);
		bson_append_document_end(&data, &row);
	}
	bson_append_array_end(b, &data);
	return b;
}

static void
iterate(bson_iter_t *it)
{
	bson_iter_t child;

	while (bson_iter_next(it)) {
		if (BSON_ITER_HOLDS_DOUBLE(it))
			sum += bson_iter_double(it);
		else if (BSON_ITER_HOLDS_INT32(it))
			sum += bson_iter_int32(it);
		else if (BSON_ITER_HOLDS_INT64(it))
			sum += (double)bson_iter_int64(it);
		else if ((BSON_ITER_HOLDS_DOCUMENT(it) || BSON_ITER_HOLDS_ARRAY(it)) &&
		    bson_iter_recurse(it, &child))
			iterate(&child);
	}
}

static int
on_data(void *arg, const struct nw_data *d)
{
	(void)arg;
	sum += d->values[0];
	return 0;
}

static void
run_plain(const uint8_t *p, size_t len)
{
	bson_iter_t it;
	bson_t b;

	if (bson_init_static(&b, p, len) && bson_iter_init(&it, &b))
		iterate(&it);
}

static void
run_decode(struct nw_doc_decoder *d, const uint8_t *p, size_t len)
{
	static const struct nw_doc_sink sink = { .on_data = on_data };
	const char *why;

	CHECK(nw_doc_decode(d, NW_OPT_DATA, p, len, &sink, &why) == 0);
}

/* Best of some rounds, in documents per second. */
static double
measure(bson_t *const docs[DOCS], struct nw_doc_decoder *d)
{
	double best = 0, start, took;
	int round, i, n;

	for (round = 0; round < ROUNDS; round++) {
		start = now_s();
		for (n = 0, took = 0; took * 1e3 < MEASURE_MS; n += DOCS, took = now_s() - start) {
			for (i = 0; i < DOCS; i++) {
				if (d != NULL)
					run_decode(d, bson_get_data(docs[i]), docs[i]->len);
				else
					run_plain(bson_get_data(docs[i]), docs[i]->len);
			}
		}
		if (n / took > best)
			best = n / took;
	}
	return best;
}

static void
bench(const char *what, bson_t *(*doc_new)(int), int samples)
{
	struct nw_doc_decoder *d = nw_doc_decoder_new(NULL);
	double plain, decoded;
	bson_t *docs[DOCS];
	int i;

	for (i = 0; i < DOCS; i++)
		docs[i] = doc_new(i);
	plain = measure(docs, NULL);
	decoded = measure(docs, d);
	printf("%s, %u bytes, %d samples: libbson walk %.2f M docs/s, decode %.2f M docs/s = %.1f "
	       "M samples/s, ratio %.2f\n",
	    what, (unsigned)docs[0]->len, samples, plain / 1e6, decoded / 1e6,
	    decoded * samples / 1e6, decoded / plain);
	for (i = 0; i < DOCS; i++)
		bson_destroy(docs[i]);
	nw_doc_decoder_free(d);
}

int
main(void)
{
	bench("caliper", caliper_new, 20);
	bench("series of 60", series_new, 60);
	return check_done("bench_doc") || sum == 0;
}
