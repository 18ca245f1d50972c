/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statistics per minute of all series of a session, as the box answers them over HTTP: processor
 * time of the answer as JSON and as CSV, without the socket.
 *
 *	usage: bench_statistics [RECORDING]     (or in the environment: BENCH_RECORDING)
 *
 * RECORDING is a file as of tests/recording.h; without a recording a made-up set is used. Two
 * builds that print the same hash wrote the same bytes. The floor is the processor time for moving
 * the answer's bytes once.
 */
#include <inttypes.h>
#include <time.h>

#include "narrows/fnv.h"
#include "narrows/store.h"
#include "tests/recording.h"
#include "tests/filled.h"
#include "web/query/series_answer.h"

enum { RUNS = 15, FIELDS_MAX = 4096 };

static const struct {
	const char *what, *form;
} answers[] = {
	{ "statistics per minute, JSON", "step=1min&format=json" },
	{ "statistics per minute, CSV", "step=1min&format=csv" },
	{ "means per minute, JSON", "step=1min&columns=mean&format=json" },
	{ "statistics per 10 s, JSON", "step=10s&format=json" },
	{ "statistics per hour, JSON", "step=1h&format=json" },
};

static double
cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* A layout's rows after the other's, and all of them in chunks. */
static void
fill(struct store *st)
{
	static double row[FIELDS_MAX];
	struct nw_batch *b = nw_batch_new();
	uint32_t g, r, c;

	recording_describe(b, "{\"type\":\"disk\"}");
	filled_commit(st, b);
	for (g = 0; g < n_groups; g++) {
		b = nw_batch_new();
		for (r = 0; r < groups[g].n_rows; r++) {
			for (c = 0; c < groups[g].n_columns; c++)
				row[c] = groups[g].value[(size_t)c * groups[g].n_rows + r];
			need(nw_batch_rows(
				 b, g + 1, groups[g].n_columns, 1, &groups[g].t[r], row, NULL, 0),
			    "rows");
		}
		filled_commit(st, b);
	}
	b = nw_batch_new();
	need(nw_batch_seal(b, 1), "seal");
	filled_commit(st, b);
	store_close(st);
}

struct taken {
	uint64_t hash;
	size_t n_bytes;
	bool hashes;
};

static int
on_bytes(void *arg, const char *bytes, size_t len)
{
	static char to[1 << 20];
	struct taken *t = arg;

	t->n_bytes += len;
	memcpy(to, bytes, len < sizeof(to) ? len : sizeof(to));
	if (t->hashes)
		t->hash = fnv_bytes(t->hash, bytes, len);
	return 0;
}

/* Milliseconds of an answer. */
static double
answer(struct store_reader *r, const char *form, struct taken *t)
{
	double begin = cpu_ms();
	char why[QUERY_WHY_BYTES];
	bool done = false;
	struct stream s;
	struct query q;

	need(query_parse(&q, QUERY_STATISTICS, form, why), form);
	need(series_stream(r, &q, 1e9, &s), "stream");
	while (!done)
		need(s.next(s.state, on_bytes, t, &done), "slice");
	s.free(s.state);
	return cpu_ms() - begin;
}

static int
compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void
measure(struct store_reader *r, size_t which)
{
	struct taken t = { .hash = FNV_BEGIN, .hashes = true };
	double took[RUNS], first = answer(r, answers[which].form, &t);
	size_t i;

	t.hashes = false;
	for (i = 0; i < RUNS; i++)
		took[i] = answer(r, answers[which].form, &t);
	qsort(took, RUNS, sizeof(took[0]), compare);
	printf("%-28s %8.2f %8.2f %8.2f ms, %9zu bytes, hash %016" PRIx64 "\n", answers[which].what,
	    first, took[0], took[RUNS / 2], t.n_bytes / (RUNS + 1), t.hash);
}

int
main(int argc, char **argv)
{
	char why[STORE_WHY_BYTES];
	struct store_reader *r;
	size_t i;

	recording_open(argc > 1 ? argv[1] : NULL);
	fill(filled_open(NULL));
	need(store_reader_open(filled_path, &r, why), why);
	printf("%-28s %8s %8s %8s\n", "", "first", "best", "median");
	for (i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		measure(r, i);
	store_reader_close(r);
	filled_remove();
	return check_done("bench_statistics");
}
