/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The whole analysis of one session, as the box does it when the session has closed: two hosts,
 * four stages, 240 reports of a second each with a histogram, and 320 metrics of each host, sealed
 * into chunks. CPU time of the thread and of the process (BLAS has no threads of its own), the best
 * and the middle of ten.
 *
 * Cost model: reading is O(samples) and decodes every chunk once, two passes over the stages;
 * change points O(windows^2) per series; a density O(4352 + grid log grid) per kind and size of
 * operation; a reduction n p^2 flops for the correlations and, per scanned threshold and fold, one
 * elimination of at most n / ln n candidates.
 */
#include <time.h>

#include "narrows/hist.h"
#include "tests/transfer.h"

enum { WINDOWS = 240, METRICS = 320, SERIES = 8, RUNS = 10, OPS = 600 };

static void
stage_row(void *arg, int i, struct transfer_row *out)
{
	const double *share = arg;
	static uint8_t hist[NW_HIST_ENCODED_MAX_BYTES];
	static uint64_t counts[NW_HIST_BUCKETS];
	int k;

	memset(counts, 0, sizeof(counts));
	for (k = 0; k < OPS; k++)
		counts[nw_hist_index(
		    (uint64_t)(1e5 * exp((k % 3 == 0 ? 3 : 0) + 0.3 * noise_normal())))]++;
	out->hist_len = nw_hist_encode(hist, counts);
	out->hist = hist;
	out->count = OPS;
	out->bytes = 4e7 * (1 + 0.1 * noise_normal()) * (i < WINDOWS / 2 ? 1 : 0.7);
	out->size = out->bytes / OPS;
	out->busy = fmin(0.98, *share * (1 + 0.1 * noise_normal()));
	out->rate = out->bytes / out->busy;
	out->rate_sd = out->rate * 0.3;
}

static void
host_write(struct nw_batch *b, int64_t host)
{
	static double rows[WINDOWS][METRICS / SERIES];
	static char names[METRICS / SERIES][16];
	const char *fields[METRICS / SERIES];
	double column[WINDOWS];
	int s, i, k;

	for (s = 0; s < SERIES; s++) {
		char event[64];

		for (k = 0; k < METRICS / SERIES; k++) {
			noise_ar(column, WINDOWS, 0.7);
			for (i = 0; i < WINDOWS; i++)
				rows[i][k] = k % 5 == 4 ? (k % 2 ? 12 : rows[i][k - 1] * 2)
							: rint(1000 + 100 * column[i]);
			snprintf(names[k], sizeof(names[k]), "m%d", k);
			fields[k] = names[k];
		}
		snprintf(event, sizeof(event), "ps:tools:blipp:linux:group%d", s);
		transfer_host_series(b, 100 * host + s, host, event,
		    "{\"kind\":\"gauge\",\"unit\":\"1\"}", fields, METRICS / SERIES, &rows[0][0], 0,
		    WINDOWS);
	}
}

static double
clock_s(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int
rising(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void
report(const char *what, double *s)
{
	qsort(s, RUNS, sizeof(*s), rising);
	printf("%-34s %6.2f ms best, %6.2f ms median\n", what, 1e3 * s[0], 1e3 * s[RUNS / 2]);
}

static void
measure(void)
{
	struct result_run run = { .params = transfer_params };
	double thread[RUNS], process[RUNS], document[RUNS], t, p;
	struct store_reader *r = NULL;
	char why[STORE_WHY_BYTES], *text;
	struct analysis a;
	size_t bytes = 0;
	int i;

	CHECK(store_reader_open(filled_path, &r, why) == NW_OK);
	for (i = 0; i < RUNS; i++) {
		t = clock_s(CLOCK_THREAD_CPUTIME_ID);
		p = clock_s(CLOCK_PROCESS_CPUTIME_ID);
		CHECK_INT(analysis_run(r, 1, &transfer_params, &a), NW_OK);
		thread[i] = clock_s(CLOCK_THREAD_CPUTIME_ID) - t;
		process[i] = clock_s(CLOCK_PROCESS_CPUTIME_ID) - p;
		t = clock_s(CLOCK_THREAD_CPUTIME_ID);
		text = resultdoc_build(&a, &run);
		document[i] = clock_s(CLOCK_THREAD_CPUTIME_ID) - t;
		bytes = strlen(text);
		free(text);
		if (i == 0)
			printf("%zu + %zu metrics, %zu segments, %zu classes' curves, %llu samples "
			       "of stages\n",
			    a.reductions.metrics[0].n, a.reductions.metrics[1].n, a.segments.n,
			    a.classes.n, (unsigned long long)a.evidence.samples);
		analysis_clear(&a);
	}
	report("analysis, CPU of its thread", thread);
	report("analysis, CPU of the process", process);
	report("document", document);
	printf("document of %zu bytes\n", bytes);
	store_reader_close(r);
}

int
main(void)
{
	static double shares[4] = { 0.1, 0.9, 0.85, 0.2 };
	struct nw_batch *b = nw_batch_new();
	struct store *st;

	noise_state = 1;
	transfer_init();
	st = filled_open(NULL);
	transfer_session(b, 1, WINDOWS);
	transfer_stage(b, 1, 1, 1, "read", "disk", WINDOWS, stage_row, &shares[0]);
	transfer_stage(b, 2, 1, 1, "write", "network", WINDOWS, stage_row, &shares[1]);
	transfer_stage(b, 3, 1, 2, "read", "network", WINDOWS, stage_row, &shares[2]);
	transfer_stage(b, 4, 1, 2, "write", "disk", WINDOWS, stage_row, &shares[3]);
	host_write(b, 1);
	host_write(b, 2);
	CHECK(nw_batch_seal(b, 1) == NW_OK);
	filled_commit(st, b);
	measure();
	store_close(st);
	filled_remove();
	return check_failed != 0;
}
