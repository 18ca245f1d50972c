/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers with known truth in a real store: sessions, stages row by row, what hosts measured, and
 * the analysis. */
#ifndef TRANSFER_H
#define TRANSFER_H

#include <inttypes.h>

#include <jansson.h>

#include "analyze/verdict/analysis_in.h"
#include "analyze/verdict/claim/claim.h"
#include "narrows/resultdoc.h"
#include "tests/filled.h"
#include "tests/noise.h"

#define TRANSFER_T0   INT64_C(1700000000000000000)
#define TRANSFER_STEP INT64_C(1000000000) /* ns */

/* One report of one stage; a window is a second. */
struct transfer_row {
	double bytes, size, rate, rate_sd, count, busy, wait, threads;
	const uint8_t *hist;
	size_t hist_len;
};
typedef void transfer_row_fn(void *arg, int window, struct transfer_row *out);

static struct analysis_params transfer_params;
static int transfer_from; /* seconds after T0 at which the next session begins */

static inline void
transfer_init(void)
{
	transfer_params = (struct analysis_params){
		.judge = { .alpha = 0.05, .margin = 0.1 },
		.segments = { .alpha = 0.05, .margin = 0.1, .windows_min = 5 },
		.classes = { .adjust = 2, .peak_min = 0.01, .cutoff = 0.05 },
		.reduction = { .window_ns = (int64_t)600 * 1000000000, .rows_min = 30 },
	};
}

static inline void
transfer_session(struct nw_batch *b, int64_t id, int windows)
{
	static const char *const hosts[] = { "dtn-a", "dtn-b" };
	struct nw_session_rec s = { .id = id,
		.task_id = "task",
		.program = "mover",
		.opened_wall_ns = TRANSFER_T0 + transfer_from * TRANSFER_STEP,
		.closed_wall_ns = TRANSFER_T0 + (transfer_from + windows) * TRANSFER_STEP };
	int64_t i;

	CHECK(nw_batch_session(b, &s) == NW_OK);
	for (i = 1; i <= 2; i++) {
		struct nw_host_rec h = { .id = i, .name = hosts[i - 1] };
		struct nw_xsp_rec x = { .id = 10 * id + i,
			.host_id = i,
			.session_id = id,
			.sess_id_hex = "00",
			.peer = "p" };

		CHECK(nw_batch_host(b, &h) == NW_OK && nw_batch_xsp(b, &x) == NW_OK);
	}
}

/* A stage of the session: op is "read" or "write", type "disk" or "network". */
static inline void
transfer_stage(struct nw_batch *b, int64_t id, int64_t session, int64_t host, const char *op,
    const char *type, int windows, transfer_row_fn *fn, void *arg)
{
	static const char *const fields[] = { "sum_v", "mean_v", "mean_r", "sd_r", "count",
		"window", "busy", "busy_max", "wait", "threads" };
	enum { N = sizeof(fields) / sizeof(fields[0]) };
	char subject[256], event[64], mid[32];
	struct nw_meta_rec m = { .id = id,
		.session_id = session,
		.host_id = host,
		.xsp_id = 10 * session + host,
		.mid = mid,
		.event_type = event,
		.subject_json = subject,
		.params_json = "{\"collectionInterval\":1}" };
	struct nw_layout_rec l = { .id = id, .meta_id = id, .n_fields = N, .fields = fields };
	int i;

	snprintf(mid, sizeof(mid), "m%" PRId64, id);
	snprintf(event, sizeof(event), "nl:tools:calipers:summary:%s", op);
	snprintf(subject, sizeof(subject), "{\"type\":\"%s\",\"pid\":%d,\"program\":\"mover\"}",
	    type, 100 + (int)host);
	CHECK(nw_batch_meta(b, &m) == NW_OK && nw_batch_layout(b, &l) == NW_OK);
	for (i = 0; i < windows; i++) {
		struct transfer_row r = { .size = 65536, .threads = 1 };
		int64_t at = TRANSFER_T0 + (transfer_from + i + 1) * TRANSFER_STEP;

		fn(arg, i, &r);
		double row[N] = { r.bytes, r.size, r.rate * 1e-9, r.rate_sd * 1e-9, r.count, 1,
			r.busy, r.busy, r.wait, r.threads };
		CHECK(nw_batch_rows(b, id, N, 1, &at, row, r.hist, r.hist_len) == NW_OK);
	}
}

/* What a host measures of itself: n fields, one row a second, beginning `lead` seconds before the
 * session. */
static inline void
transfer_host_series(struct nw_batch *b, int64_t id, int64_t host, const char *event,
    const char *params, const char *const *fields, size_t n, const double *rows, int lead,
    int n_rows)
{
	char mid[32];
	struct nw_meta_rec m = { .id = id,
		.session_id = 0,
		.host_id = host,
		.xsp_id = 0,
		.mid = mid,
		.event_type = event,
		.subject_json = "{\"type\":\"host\"}",
		.params_json = params };
	struct nw_layout_rec l = { .id = id, .meta_id = id, .n_fields = n, .fields = fields };
	int i;

	snprintf(mid, sizeof(mid), "m%" PRId64, id);
	CHECK(nw_batch_meta(b, &m) == NW_OK && nw_batch_layout(b, &l) == NW_OK);
	for (i = 0; i < n_rows; i++) {
		int64_t at = TRANSFER_T0 + (i + 1 - lead) * TRANSFER_STEP;

		CHECK(nw_batch_rows(b, id, n, 1, &at, rows + (size_t)i * n, NULL, 0) == NW_OK);
	}
}

static inline void
transfer_fault(void *arg, const char *of, const char *text)
{
	(void)arg;
	fprintf(stderr, "%s: %s\n", of, text);
}

/* The sentences of a document agree with its figures and with each other. */
static inline void
transfer_claims_check(const char *text)
{
	json_t *doc = json_loads(text, 0, NULL);

	CHECK(json_array_size(json_object_get(doc, "claims")) > 0);
	CHECK_INT(claims_check(doc, transfer_fault, NULL), 0);
	json_decref(doc);
}

/* Analyses twice: the document must be the same, and free of what JSON has no word for. */
static inline json_t *
transfer_analyse(const char *path, int64_t session, struct analysis *out)
{
	struct result_run run = {
		.id = 3, .started_wall_ns = TRANSFER_T0, .took_ns = 1, .params = transfer_params
	};
	char why[STORE_WHY_BYTES], *text, *again;
	struct store_reader *r = NULL;
	struct analysis second;
	json_t *doc;

	CHECK(store_reader_open(path, &r, why) == NW_OK);
	CHECK_INT(analysis_run(r, session, &transfer_params, out), NW_OK);
	CHECK_INT(analysis_run(r, session, &transfer_params, &second), NW_OK);
	text = resultdoc_build(out, &run);
	again = resultdoc_build(&second, &run);
	CHECK_STR(text, again);
	transfer_claims_check(text);
	doc = json_loads(text, 0, NULL);
	CHECK(doc != NULL);
	analysis_clear(&second);
	store_reader_close(r);
	free(text);
	free(again);
	return doc;
}

#endif
