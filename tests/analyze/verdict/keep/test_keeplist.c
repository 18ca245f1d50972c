/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics worth keeping: groups of sessions, lists of unrelated and of driven rates, the end of the
 * work, and how the store keeps lists. tests/sys_keep.sh has a whole box with two ends. */
#include "narrows/keeplist.h"

#include "tests/transfer.h"

enum { WINDOWS = 100, SESSIONS = 3, METRICS = 12, ROWS = WINDOWS * SESSIONS + 1 };

static double rates[ROWS], values[ROWS][METRICS + 1];

/* Metric 0 drives the rate of sessions 1 to 3; nothing drives sessions 4 to 6. Metric METRICS is
 * idle. */
static void
values_fill(void)
{
	double column[ROWS];
	int i, k;

	for (k = 0; k < METRICS; k++) {
		noise_ar(column, ROWS, 0.5);
		for (i = 0; i < ROWS; i++)
			values[i][k] = 100 + 10 * column[i];
	}
	for (i = 0; i + 1 < ROWS; i++)
		rates[i] = 5e7 + 4e5 * (values[i + 1][0] - 100) + 2e6 * noise_normal();
}

static void
stage_row(void *arg, int i, struct transfer_row *out)
{
	double noise = *(const double *)arg;

	out->bytes = noise > 0 ? 5e7 + noise * noise_normal() : rates[transfer_from + i];
	out->count = out->bytes / out->size;
	out->busy = 0.8;
	out->rate = out->bytes / 0.8;
}

static void
session_write(struct nw_batch *b, int64_t id, const char *route, double noise)
{
	struct nw_result_rec res = { .session_id = id,
		.run_id = id,
		.route = route,
		.program = "mover",
		.confidence = "low",
		.sentence = "",
		.bytes = 1,
		.bytes_per_s = 1,
		.duration_ns = WINDOWS * TRANSFER_STEP };
	struct nw_run_rec run = { .id = id, .session_id = id, .kind = "verdict", .outcome = "ok" };

	transfer_from = (int)((id - 1) % SESSIONS) * WINDOWS;
	transfer_session(b, id, WINDOWS);
	transfer_stage(b, 10 * id, id, 1, "write", "network", WINDOWS, stage_row, &noise);
	CHECK(nw_batch_run(b, &run) == NW_OK && nw_batch_result(b, &res) == NW_OK);
}

static void
store_fill(struct store *st)
{
	static const char *const fields[METRICS + 1] = { "m0", "m1", "m2", "m3", "m4", "m5", "m6",
		"m7", "m8", "m9", "m10", "m11", "idle" };
	struct nw_batch *b = nw_batch_new();
	int64_t id;

	values_fill();
	for (id = 1; id <= SESSIONS; id++)
		session_write(b, id, "dtn-a -> dtn-b", 0);
	for (; id <= 2 * SESSIONS; id++)
		session_write(b, id, "dtn-a -> dtn-c", 5e6);
	transfer_host_series(
	    b, 900, 1, "ps:tools:blipp:linux:test", "{}", fields, METRICS + 1, values[0], 1, ROWS);
	filled_commit(st, b);
}

static void
test_groups(struct store_reader *r, struct keeplist_groups *g)
{
	CHECK_INT(keeplist_groups_find(r, TRANSFER_T0 + ROWS * TRANSFER_STEP, g), NW_OK);
	CHECK_INT(g->n, 0); /* all are older */
	keeplist_groups_clear(g);
	CHECK_INT(keeplist_groups_find(r, TRANSFER_T0, g), NW_OK);
	CHECK(g->n == 2 && g->n_more == 0);
	CHECK_STR(g->group[0].route, "dtn-a -> dtn-c");
	CHECK_STR(g->group[1].route, "dtn-a -> dtn-b");
	CHECK(g->group[1].n_sessions == 3 && g->group[1].session[0].id == 3);
}

static bool
on_progress(void *arg, size_t done, size_t all)
{
	size_t *calls = arg;

	CHECK(done <= all);
	return ++*calls < 10;
}

static void
test_lists(struct store_reader *r, const struct keeplist_groups *g)
{
	const struct reduction_params p = { .rows_min = 30 };
	struct nw_keeplist_rec rec;
	size_t calls = 0;
	struct nw_progress_hook hook = { on_progress, &calls };
	json_t *doc, *metrics;

	CHECK_INT(keeplist_make(r, g, 1, &p, NULL, NULL, &rec), NW_OK);
	CHECK(rec.headline && strncmp(rec.sentence, "1 of 13 metrics is worth keeping", 32) == 0);
	doc = json_loads(rec.json, 0, NULL);
	metrics = json_object_get(doc, "metrics");
	CHECK_STR(json_string_value(json_object_get(json_array_get(metrics, 0), "name")),
	    "sender: test m0");
	CHECK(json_number_value(json_object_get(json_array_get(metrics, 0), "share")) == 1);
	CHECK_INT(json_integer_value(json_object_get(doc, "n_varying")), METRICS);
	CHECK_INT(json_integer_value(json_object_get(doc, "n_sessions")), SESSIONS);
	json_decref(doc);
	keeplist_clear(&rec);

	CHECK_INT(keeplist_make(r, g, 0, &p, NULL, NULL, &rec), NW_OK);
	CHECK(!rec.headline && strncmp(rec.sentence, "None of 13 metrics is known", 27) == 0);
	CHECK(strstr(rec.json, "\"worth_keeping\":true") == NULL);
	keeplist_clear(&rec);

	CHECK_INT(keeplist_make(r, g, 1, &p, &hook, NULL, &rec), NW_ECLOSED);
	CHECK(calls == 10 && rec.json == NULL);
}

static int
on_list(void *arg, const struct nw_keeplist_rec *rec)
{
	int *n = arg;

	if (*n == 0)
		CHECK(rec->made_wall_ns == 2000 && strcmp(rec->sentence, "later") == 0 &&
		    strcmp(rec->json, "{}") == 0 && rec->headline);
	++*n;
	return 0;
}

/* A list replaces the list of the same route, program and response, and the oldest go. */
static void
test_store(struct store *st, struct store_reader *r)
{
	struct nw_keeplist_rec rec = { .program = "", .response = "delivered rate", .json = "{}" };
	struct nw_batch *b = nw_batch_new();
	char route[32];
	int i, n = 0;

	for (i = 0; i < 1100; i++) {
		snprintf(route, sizeof(route), "a -> %d", i);
		rec.route = route;
		rec.made_wall_ns = 100 + i;
		CHECK_INT(nw_batch_keeplist(b, &rec), NW_OK);
	}
	rec.made_wall_ns = 2000;
	rec.sentence = "later";
	rec.headline = true;
	CHECK_INT(nw_batch_keeplist(b, &rec), NW_OK);
	filled_commit(st, b);
	CHECK_INT(store_keeplists(r, on_list, &n), NW_OK);
	CHECK_INT(n, 1000);
}

int
main(int argc, char **argv)
{
	char why[STORE_WHY_BYTES];
	struct keeplist_groups g;
	struct store_reader *r = NULL;
	struct store *st;

	noise_seed(argc, argv, 5);
	st = filled_open(NULL);
	store_fill(st);
	CHECK_INT(store_reader_open(filled_path, &r, why), NW_OK);
	test_groups(r, &g);
	test_lists(r, &g);
	test_store(st, r);
	keeplist_groups_clear(&g);
	store_reader_close(r);
	store_close(st);
	filled_remove();
	return check_done("keeplist");
}
