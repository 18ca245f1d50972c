/* SPDX-License-Identifier: BSD-3-Clause */
/* Sixty host metrics, three of which drive a program's rate; gauges, a counter that starts anew,
 * gaps, images. */
#include "analyze/verdict/keep/reduction.h"

#include "narrows/result.h"
#include "tests/transfer.h"

enum {
	WINDOWS = 240,
	METRICS = 60,
	LEAD = 3,
	ROWS = WINDOWS + LEAD,
	GAUGE = 7,
	IMAGE = 8,
	COUNTER = 23,
	OTHER = 41,
	CONSTANT = 50,
	GAPS = 51,
	RESET_AT = 100,
	START_AT = 130 /* the window in which metrics of STARTED begin together with the rate */
};

static double values[ROWS][METRICS]; /* as sent: counters summed up */
static double rates[WINDOWS];

static void
values_fill(void)
{
	double column[ROWS], noise[ROWS], counter = 1e6;
	int i, k;

	for (k = 0; k < METRICS; k++) {
		noise_ar(column, ROWS, k == GAUGE || k == COUNTER || k == OTHER ? 0.3 : 0.6);
		for (i = 0; i < ROWS; i++)
			values[i][k] = k == CONSTANT ? 3 : 100 + 10 * column[i];
	}
	noise_fill(noise, ROWS);
	for (i = 0; i < WINDOWS; i++) {
		const double *v = values[i + LEAD];

		rates[i] = 5e7 + 4e5 * (v[GAUGE] - 100) + 3e5 * (v[COUNTER] - 100) -
		    2e5 * (v[OTHER] - 100) + 1e6 * noise[i];
	}
	for (i = 0; i < ROWS; i++) {
		values[i][IMAGE] = 5 - 2 * values[i][GAUGE];
		counter = i == RESET_AT ? 0 : counter + values[i][COUNTER];
		values[i][COUNTER] = counter;
		if (i % 3 == 0)
			values[i][GAPS] = NAN;
	}
}

static void
stage_row(void *arg, int i, struct transfer_row *out)
{
	double share = *(const double *)arg;

	out->bytes = rates[transfer_from + i];
	out->count = out->bytes / out->size;
	out->busy = share;
	out->rate = out->bytes / share;
}

static void
session_write(struct nw_batch *b, int64_t id, int windows, int64_t host)
{
	static double shares[2] = { 0.1, 0.8 };

	transfer_session(b, id, windows);
	transfer_stage(b, 10 * id + 1, id, host, "read", "disk", windows, stage_row, &shares[0]);
	transfer_stage(
	    b, 10 * id + 2, id, host, "write", "network", windows, stage_row, &shares[1]);
}

static const json_t *
kept_of(const json_t *reduction, const char *name)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(reduction, "kept"), i,
	    one) if (strcmp(json_string_value(json_object_get(one, "name")), name) == 0) return one;
	return NULL;
}

static double
number(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

static void
document_check(const json_t *r, bool faithful, const char *host)
{
	const json_t *gauge = kept_of(r, "test m7"), *image = kept_of(r, "test m8"),
		     *counter = kept_of(r, "test m23");
	const json_t *pair = gauge != NULL ? gauge : image,
		     *members = json_object_get(pair, "members");

	CHECK_STR(json_string_value(json_object_get(r, "status")), "ok");
	CHECK_STR(json_string_value(json_object_get(r, "program")), "mover");
	CHECK_STR(json_string_value(json_object_get(r, "host")), host);
	CHECK_STR(json_string_value(json_object_get(r, "response")), "delivered rate");
	CHECK_INT(number(r, "n_metrics"), METRICS);
	CHECK_INT(number(r, "n_varying"), METRICS - 2);
	/* the reset costs one row */
	CHECK_INT(number(r, "n_rows"), WINDOWS - 1);
	CHECK((gauge != NULL) != (image != NULL));
	CHECK_INT(json_array_size(members), 1);
	CHECK_NEAR(number(pair, "coefficient"), gauge != NULL ? 4e5 : -2e5, 0.06, 0);
	CHECK_NEAR(number(pair, "min_r"), 1, 1e-9, 0);
	CHECK_NEAR(number(counter, "coefficient"), 3e5, 0.06, 0);
	CHECK_STR(json_string_value(json_object_get(counter, "unit")), "1/s");
	CHECK_NEAR(number(kept_of(r, "test m41"), "coefficient"), -2e5, 0.1, 0);
	CHECK(json_is_null(json_object_get(r, "warning")));
	CHECK(number(r, "r2") > 0.95 && number(r, "r2_adjusted") <= number(r, "r2"));
	CHECK(number(r, "r2_out_of_sample") > 0.9);
	CHECK_NEAR(number(r, "reduction_degree"),
	    1 - (double)json_array_size(json_object_get(r, "kept")) / METRICS, 0, 1e-12);
	if (!faithful)
		CHECK(json_array_size(json_object_get(r, "kept")) <= 8);
	CHECK_INT(json_array_size(json_object_get(r, "scan")), faithful ? 11 : 6);
	CHECK_STR(json_string_value(json_object_get(json_object_get(r, "parameters"), "mode")),
	    faithful ? "faithful" : "better");
}

/* Two sessions of one program, one after the other: the second is analysed with both. */
static void
earlier_check(struct store *st)
{
	struct nw_batch *b = nw_batch_new();
	struct analysis a;
	json_t *doc, *one;

	session_write(b, 11, WINDOWS / 2, 2);
	transfer_from = WINDOWS / 2;
	session_write(b, 12, WINDOWS / 2, 2);
	transfer_from = 0;
	filled_commit(st, b);
	transfer_params.reduction.faithful = false;
	doc = transfer_analyse(filled_path, 12, &a);
	one = json_array_get(json_object_get(doc, "reduction"), 0);
	CHECK_INT(number(one, "n_sessions"), 2);
	document_check(one, false, "dtn-b");
	json_decref(doc);
	analysis_clear(&a);
	transfer_params.reduction.window_ns = (WINDOWS / 2) * TRANSFER_STEP;
	doc = transfer_analyse(filled_path, 12, &a);
	one = json_array_get(json_object_get(doc, "reduction"), 0);
	CHECK_INT(number(one, "n_sessions"), 1);
	CHECK_INT(number(one, "n_rows"), WINDOWS / 2);
	json_decref(doc);
	analysis_clear(&a);
}

static void
run_check(int64_t session, const char *status, bool faithful)
{
	struct analysis a;
	json_t *doc, *list, *one;

	transfer_params.reduction.faithful = faithful;
	doc = transfer_analyse(filled_path, session, &a);
	list = json_object_get(doc, "reduction");
	CHECK_INT(json_array_size(list), 1);
	one = json_array_get(list, 0);
	if (strcmp(status, "ok") == 0)
		document_check(one, faithful, "dtn-a");
	else {
		CHECK_STR(json_string_value(json_object_get(one, "status")), status);
		CHECK_INT(json_array_size(json_object_get(one, "kept")), 0);
		CHECK(json_is_null(json_object_get(one, "r2")) &&
		    json_is_null(json_object_get(one, "threshold")));
	}
	json_decref(doc);
	analysis_clear(&a);
}

/* Metrics 10 to 39 and the rate get a new level in the same window; GAUGE drives the rate
 * besides. */
static void
start_fill(void)
{
	double noise[ROWS];
	int i, k;

	noise_fill(noise, ROWS);
	for (i = START_AT; i < WINDOWS; i++)
		for (k = 10; k < 40; k++)
			if (k != COUNTER)
				values[i + LEAD][k] += 60;
	for (i = 0; i < WINDOWS; i++)
		rates[i] = 5e7 + (i >= START_AT ? 4e7 : 0) + 8e5 * (values[i + LEAD][GAUGE] - 100) +
		    1e6 * noise[i];
}

/* The common start is told with the metrics that it takes away, and the driver is kept. */
static void
start_check(const json_t *r)
{
	const json_t *start = json_array_get(json_object_get(r, "time_starts"), 0),
		     *parts = json_object_get(r, "time_parts"),
		     *taken = json_object_get(r, "time_taken");
	double late_s;

	CHECK_STR(json_string_value(json_object_get(r, "status")), "ok");
	CHECK_INT(json_array_size(parts), 1);
	CHECK_STR(json_string_value(json_array_get(parts, 0)), "start");
	late_s = (double)(result_ns(start, KEY_time_start_at_ns) - TRANSFER_T0 -
		     START_AT * TRANSFER_STEP) *
	    1e-9;
	CHECK(fabs(late_s) <= 6);
	CHECK(number(r, "r2_time") > 0.5 && number(r, "r2_time") < 0.99);
	CHECK(number(r, "n_time_taken") >= 27 && number(r, "n_time_taken") <= 35);
	CHECK_INT(json_array_size(taken), 20);
	CHECK(strncmp(json_string_value(json_array_get(taken, 0)), "test m", 6) == 0);
	CHECK(kept_of(r, "test m7") != NULL || kept_of(r, "test m8") != NULL);
	CHECK(json_is_true(json_object_get(r, "headline")));
	for (int k = 10; k < 40; k++) {
		char name[24];

		snprintf(name, sizeof(name), "test m%d", k);
		CHECK(kept_of(r, name) == NULL);
	}
}

static void
common_start(const char *const *fields)
{
	char path[sizeof(filled_path)];
	struct nw_batch *b = nw_batch_new();
	struct store *st;
	struct analysis a;
	json_t *doc;

	snprintf(path, sizeof(path), "%.*s-start", (int)sizeof(path) - 8, filled_path);
	st = filled_open(path);
	values_fill();
	start_fill();
	session_write(b, 1, WINDOWS, 1);
	transfer_host_series(b, 1000, 1, "ps:tools:blipp:linux:test",
	    "{\"kind\":\"gauge\",\"unit\":\"1\",\"kind_m23\":\"counter\"}", fields, METRICS,
	    &values[0][0], LEAD, ROWS);
	filled_commit(st, b);
	transfer_params.reduction.faithful = false;
	transfer_params.reduction.window_ns = 2 * WINDOWS * TRANSFER_STEP;
	doc = transfer_analyse(path, 1, &a);
	start_check(json_array_get(json_object_get(doc, "reduction"), 0));
	json_decref(doc);
	analysis_clear(&a);
	transfer_params.reduction.faithful = true;
	doc = transfer_analyse(path, 1, &a);
	CHECK_INT(json_array_size(json_object_get(
		      json_array_get(json_object_get(doc, "reduction"), 0), "time_parts")),
	    0);
	json_decref(doc);
	analysis_clear(&a);
	store_close(st);
	unlink(path);
	snprintf(path, sizeof(path), "%.*s-start-lock", (int)sizeof(path) - 13, filled_path);
	unlink(path);
}

int
main(int argc, char **argv)
{
	static char names[METRICS][16];
	const char *fields[METRICS];
	struct nw_batch *b;
	struct store *st;
	int i;

	noise_seed(argc, argv, 3);
	transfer_init();
	values_fill();
	for (i = 0; i < METRICS; i++) {
		snprintf(names[i], sizeof(names[i]), "m%d", i);
		fields[i] = names[i];
	}
	st = filled_open(NULL);
	b = nw_batch_new();
	session_write(b, 1, WINDOWS, 1);
	session_write(b, 2, 20, 1);
	filled_commit(st, b);
	run_check(1, "no_metrics", false);
	b = nw_batch_new();
	for (i = 1; i <= 2; i++)
		transfer_host_series(b, 1000 * i, i, "ps:tools:blipp:linux:test",
		    "{\"kind\":\"gauge\",\"unit\":\"1\",\"kind_m23\":\"counter\"}", fields, METRICS,
		    &values[0][0], LEAD, ROWS);
	filled_commit(st, b);
	run_check(1, "ok", false);
	run_check(1, "ok", true);
	run_check(2, "too_few_rows", false);
	earlier_check(st);
	store_close(st);
	common_start(fields);
	filled_remove();
	return check_done("test_reduction");
}
