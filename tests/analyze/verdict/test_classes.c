/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes of durations: histograms of known mixtures through a real store. */
#include "analyze/verdict/judge/classes.h"

#include "narrows/hist.h"
#include "tests/transfer.h"

enum { WINDOWS = 20, OPS = 1000 };

/* Cached: 20 us; disk: 4 ms; one in 500 waits for seconds. */
static const double FAST_S = 20e-6, SLOW_S = 4e-3, LOST_S = 3;

struct mixture {
	double size, slow_share;
	int ops;
};

static void
mixture_row(void *arg, int window, struct transfer_row *out)
{
	const struct mixture *m = arg;
	static uint8_t hist[NW_HIST_ENCODED_MAX_BYTES];
	uint64_t counts[NW_HIST_BUCKETS] = { 0 };
	int i;

	(void)window;
	for (i = 0; i < m->ops; i++) {
		double s =
		    (noise_uniform() < m->slow_share ? SLOW_S : FAST_S) * exp(0.1 * noise_normal());

		counts[nw_hist_index((uint64_t)((i % 500 == 499 ? LOST_S : s) * 1e9))]++;
	}
	out->hist_len = nw_hist_encode(hist, counts);
	out->hist = hist;
	out->size = m->size;
	out->count = m->ops;
	out->bytes = m->size * m->ops;
	out->busy = 0.5;
	out->rate = out->bytes / out->busy;
}

static const json_t *
entry_of(const json_t *doc, const char *op, int size_class)
{
	const json_t *list = json_object_get(doc, "density"), *one;
	size_t i;

	json_array_foreach(
	    list, i, one) if (strcmp(json_string_value(json_object_get(one, "op")), op) == 0 &&
	    json_integer_value(json_object_get(one, "size_class")) == size_class) return one;
	return NULL;
}

static double
number(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

static void
mixture_check(const json_t *entry)
{
	const json_t *classes = json_object_get(entry, "classes"), *a = json_array_get(classes, 0),
		     *b = json_array_get(classes, 1), *c = json_array_get(classes, 2);
	double fast = 0.698 * FAST_S, slow = 0.3 * SLOW_S, lost = 0.002 * LOST_S,
	       all = fast + slow + lost;

	CHECK(entry != NULL);
	CHECK_STR(json_string_value(json_object_get(entry, "status")), "ok");
	CHECK_INT(json_array_size(classes), 3);
	CHECK_STR(json_string_value(json_object_get(a, "name")), "A");
	CHECK_STR(json_string_value(json_object_get(b, "name")), "B");
	CHECK_NEAR(number(entry, "n"), WINDOWS * OPS, 0, 0);
	CHECK_NEAR(number(a, "mode_s"), FAST_S, 0.05, 0);
	CHECK_NEAR(number(b, "mode_s"), SLOW_S, 0.05, 0);
	CHECK_NEAR(number(a, "to_s"), number(b, "from_s"), 0, 0);
	CHECK(number(a, "to_s") > 2 * FAST_S && number(a, "to_s") < SLOW_S / 2);
	CHECK_NEAR(number(a, "share_ops"), 0.7, 0.03, 0);
	CHECK_NEAR(number(b, "share_ops"), 0.3, 0.05, 0);
	CHECK_NEAR(number(a, "share_time"), fast / all, 0.06, 0);
	CHECK_NEAR(number(b, "share_time"), slow / all, 0.06, 0);
	/* two operations of a thousand, but most of the time: a class, not outliers */
	CHECK_NEAR(number(c, "mode_s"), LOST_S, 0.05, 0);
	CHECK_NEAR(number(c, "share_ops"), 0.002, 0.01, 0);
	CHECK_NEAR(number(c, "share_time"), lost / all, 0.06, 0);
	CHECK_NEAR(number(entry, "outlier_share"), 0, 0, 1e-9);
}

static void
curve_check(const json_t *entry)
{
	const json_t *x = json_object_get(json_object_get(entry, "curve"), "x_s"),
		     *y = json_object_get(json_object_get(entry, "curve"), "y");
	double top = 0, at = 0;
	size_t i;

	CHECK(json_array_size(x) > 50 && json_array_size(x) <= 200);
	CHECK_INT(json_array_size(x), json_array_size(y));
	for (i = 0; i < json_array_size(x); i++) {
		CHECK(i == 0 ||
		    json_number_value(json_array_get(x, i)) >
			json_number_value(json_array_get(x, i - 1)));
		if (json_number_value(json_array_get(y, i)) > top) {
			top = json_number_value(json_array_get(y, i));
			at = json_number_value(json_array_get(x, i));
		}
	}
	CHECK_NEAR(at, FAST_S, 0.05, 0);
	CHECK_NEAR(number(json_object_get(entry, "parameters"), "adjust"), 2, 0, 0);
	CHECK_NEAR(number(json_object_get(entry, "parameters"), "h_min"), 0.01, 0, 0);
}

/* Each quarter of an octave holds what begins it, and not what ends it. */
static void
test_quarters(void)
{
	uint32_t q;

	for (q = 9; q < NW_HIST_QUARTERS; q++) {
		uint64_t from = (uint64_t)nw_hist_quarter_from(q);

		CHECK_INT(nw_hist_quarter(from), q);
		CHECK_INT(nw_hist_quarter(from - 1), q - 1);
	}
	CHECK_INT(nw_hist_quarter(0), 0);
	CHECK_INT(nw_hist_quarter(3), 6);
	CHECK_INT(nw_hist_quarter(UINT64_MAX), NW_HIST_QUARTERS - 1);
}

int
main(int argc, char **argv)
{
	struct mixture large = { 65536, 0.3, OPS }, small = { 4096 + 100, 0, OPS },
		       few = { 65536, 0, 1 };
	struct nw_batch *b = nw_batch_new();
	struct store *st;
	struct analysis a;
	const json_t *entry;
	json_t *doc;

	noise_seed(argc, argv, 5);
	transfer_init();
	st = filled_open(NULL);
	transfer_session(b, 1, WINDOWS);
	transfer_stage(b, 1, 1, 1, "read", "disk", WINDOWS, mixture_row, &large);
	transfer_stage(b, 2, 1, 1, "read", "disk", WINDOWS, mixture_row, &small);
	transfer_stage(b, 3, 1, 1, "write", "network", WINDOWS, mixture_row, &few);
	filled_commit(st, b);
	doc = transfer_analyse(filled_path, 1, &a);
	CHECK_INT(a.evidence.durations_rejected, 0);
	CHECK_INT(json_array_size(json_object_get(doc, "density")), 3);
	entry = entry_of(doc, "disk.read", 8);
	mixture_check(entry);
	curve_check(entry);
	CHECK_NEAR(number(entry, "size_from_bytes"), 65536, 0, 0);
	CHECK_NEAR(number(entry, "size_to_bytes"), 262144, 0, 0);
	entry = entry_of(doc, "disk.read", 6);
	CHECK_INT(json_array_size(json_object_get(entry, "classes")), 2);
	/* one operation a report are 20: no curve, and it says so */
	entry = entry_of(doc, "net.write", 8);
	CHECK_STR(json_string_value(json_object_get(entry, "status")), "insufficient");
	CHECK(json_is_null(json_object_get(entry, "curve")) &&
	    json_is_null(json_object_get(entry, "cutoff_s")));
	CHECK_INT(json_array_size(json_object_get(entry, "classes")), 0);
	json_decref(doc);
	analysis_clear(&a);
	store_close(st);
	filled_remove();
	test_quarters();
	return check_done("test_classes");
}
