/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page of a session of an hour whose hosts have 500 series, made in one thread as the web
 * thread does. tests/web/bench_pages.c measures the pages of a box of many sessions.
 *
 * Prints milliseconds: of the first page after the store was opened, of the best of 20 further, and
 * the page's bytes, raw and compressed. `ratio` is the best over the time that reading the
 * session's result document takes in the same run.
 */
#include <stdio.h>
#include <unistd.h>

#include <event2/buffer.h>

#include "narrows/analysis.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/resultdoc.h"
#include "narrows/splitmix.h"
#include "tests/transfer.h"
#include "web/api.h"
#include "web/page.h"
#include "web/query/gzip.h"

enum { WINDOWS = 3600, HOST_GROUPS = 23, HOST_FIELDS = 20, TIMES = 20, SESSION = 1 };

static char dir[] = "/tmp/nw-bench-web-XXXXXX", path[64];
static struct store *store;
static uint64_t rng = 1;

static double
uniform(void)
{
	return (double)(nw_splitmix(&rng) >> 11) * 0x1p-53;
}

/* --- what is in the store --- */

static void
stage_row(void *arg, int window, struct transfer_row *out)
{
	double busy = *(double *)arg * (0.8 + 0.2 * uniform()) * (window < WINDOWS / 2 ? 1 : 0.7);

	*out = (struct transfer_row){ .bytes = 4e7 * (0.8 + 0.4 * uniform()),
		.size = 65536,
		.count = 600,
		.threads = 1,
		.busy = busy,
		.rate = 4e7 / busy,
		.rate_sd = 1e6 };
}

static void
submit(struct nw_batch *b)
{
	int rc;

	while ((rc = store_submit(store, b)) == NW_EFULL) {
		store_sync(store);
		store_run_completions(store);
	}
	CHECK_INT(rc, NW_OK);
}

static void
hour_make(void)
{
	static const char *const ops[] = { "read", "write", "read", "write" };
	static const char *const types[] = { "disk", "network", "network", "disk" };
	static double busy[] = { 0.3, 0.1, 0.2, 0.9 };
	static double rows[WINDOWS * HOST_FIELDS];
	static const char *fields[HOST_FIELDS];
	static char names[HOST_FIELDS][16];
	struct nw_batch *b = nw_batch_new();
	char event[40];
	int i;

	transfer_init();
	transfer_session(b, SESSION, WINDOWS);
	for (i = 0; i < 4; i++)
		transfer_stage(
		    b, 10 + i, SESSION, 1 + i / 2, ops[i], types[i], WINDOWS, stage_row, &busy[i]);
	submit(b);
	for (i = 0; i < HOST_FIELDS; i++) {
		snprintf(names[i], sizeof(names[i]), "metric_%d", i);
		fields[i] = names[i];
	}
	for (i = 0; i < HOST_GROUPS; i++) {
		size_t k;

		for (k = 0; k < WINDOWS * HOST_FIELDS; k++)
			rows[k] = uniform();
		b = nw_batch_new();
		snprintf(event, sizeof(event), "ps:host:group%d", i);
		transfer_host_series(b, 100 + i, 1 + i % 2, event, "{\"collectionInterval\":1}",
		    fields, HOST_FIELDS, rows, 0, WINDOWS);
		submit(b);
	}
	CHECK_INT(store_sync(store), NW_OK);
}

static void
result_make(void)
{
	struct result_run run = {
		.id = 1, .started_wall_ns = TRANSFER_T0, .params = transfer_params
	};
	struct nw_run_rec rec = { .id = 1,
		.session_id = SESSION,
		.kind = "verdict",
		.started_wall_ns = TRANSFER_T0,
		.version = "bench",
		.outcome = "ok" };
	struct nw_batch *b = nw_batch_new();
	struct analysis_outcome o;
	struct store_reader *r = NULL;
	struct analysis *a = NULL;
	char why[STORE_WHY_BYTES], *json;

	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	CHECK_INT(analysis_new(r, SESSION, &transfer_params, &a), NW_OK);
	analysis_outcome(a, &o);
	json = resultdoc_build(a, &run);
	CHECK_INT(nw_batch_run(b, &rec), NW_OK);
	CHECK_INT(nw_batch_result(b,
		      &(struct nw_result_rec){ .session_id = SESSION,
			  .run_id = 1,
			  .json = json,
			  .route = o.route,
			  .program = o.program,
			  .stage = o.stage,
			  .confidence = o.confidence,
			  .sentence = o.sentence,
			  .effect = o.effect,
			  .bytes = o.bytes,
			  .bytes_per_s = o.bytes_per_s,
			  .start_wall_ns = o.start_wall_ns,
			  .duration_ns = (int64_t)(o.duration_s * 1e9) }),
	    NW_OK);
	submit(b);
	CHECK_INT(store_sync(store), NW_OK);
	free(json);
	analysis_free(a);
	store_reader_close(r);
}

/* --- pages --- */

enum what { HOUR, HOUR_OPEN, HOUR_FILE, JSON };

/* The report as one file, of the session's document. */
static int
file_make(struct html *h, struct store_reader *r)
{
	struct evbuffer *doc = evbuffer_new();
	int rc = api_session(doc, r, SESSION);

	if (rc == NW_OK && evbuffer_add(doc, "", 1) != 0)
		rc = NW_ENOMEM;
	if (rc == NW_OK)
		rc = page_session_file(h, (const char *)evbuffer_pullup(doc, -1));
	evbuffer_free(doc);
	return rc;
}

static int
page_make(enum what what, struct store_reader *r, struct evbuffer *out)
{
	struct html h = { .out = out };

	switch (what) {
	case HOUR: return page_session(&h, r, SESSION, &(struct session_query){ .all = false });
	case HOUR_OPEN: return page_session(&h, r, SESSION, &(struct session_query){ .all = true });
	case HOUR_FILE: return file_make(&h, r);
	case JSON: return api_session(out, r, SESSION);
	}
	return NW_EINVAL;
}

static double
page_ms(enum what what, struct store_reader *r, struct evbuffer *out)
{
	int64_t begin = nw_mono_ns();

	evbuffer_drain(out, evbuffer_get_length(out));
	CHECK_INT(page_make(what, r, out), NW_OK);
	return (double)(nw_mono_ns() - begin) * 1e-6;
}

static size_t
packed_bytes(struct evbuffer *page)
{
	struct evbuffer *packed = evbuffer_new();
	struct gzip *z = gzip_new();
	size_t len;

	CHECK_INT(gzip_add(z, page, packed, true), NW_OK);
	len = evbuffer_get_length(packed);
	gzip_free(z);
	evbuffer_free(packed);
	return len;
}

/* Returns the best time. */
static double
page_measure(enum what what, const char *name, double unit_ms)
{
	struct evbuffer *out = evbuffer_new();
	char why[STORE_WHY_BYTES];
	struct store_reader *r;
	double first, best, ms;
	size_t bytes;
	int i;

	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	first = best = page_ms(what, r, out);
	for (i = 0; i < TIMES; i++)
		best = (ms = page_ms(what, r, out)) < best ? ms : best;
	bytes = evbuffer_get_length(out);
	printf("%-24s first %7.2f ms  best %7.2f ms  ratio %6.2f  %8zu bytes  %7zu packed\n", name,
	    first, best, unit_ms > 0 ? best / unit_ms : 1, bytes, packed_bytes(out));
	store_reader_close(r);
	evbuffer_free(out);
	return best;
}

int
main(void)
{
	char why[STORE_WHY_BYTES], command[80];
	double unit_ms;

	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/narrows.db", dir);
	CHECK_INT(store_open(path, NULL, &store, why), NW_OK);
	hour_make();
	result_make();
	unit_ms = page_measure(JSON, "result document", 0);
	page_measure(HOUR, "session of an hour", unit_ms);
	page_measure(HOUR_OPEN, "the same, unfolded", unit_ms);
	page_measure(HOUR_FILE, "as one file", unit_ms);
	store_close(store);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command) != 0 || check_failed > 0;
}
