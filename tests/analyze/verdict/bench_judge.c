/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What judging stored sessions costs: CPU time of each, mean and worst, and the hash of all result
 * documents, by which two versions of the box compare. With -o every document is written into a
 * directory, with -v each session's least time of all rounds is printed.
 *
 *	usage: bench_judge [-v] [-r ROUNDS] [-n NEWEST] [-o DIRECTORY] [STORE]
 *
 * Without a store nothing is done: real sessions are recorded by a box. `make bench` also judges
 * the newest sessions of a box of bench_box.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "narrows/analysis.h"
#include "narrows/resultdoc.h"
#include "store/codec/codec_hash.h"
#include "tests/check.h"

enum { SESSIONS_MAX = 100000 };

static int64_t ids[SESSIONS_MAX];
static double least_s[SESSIONS_MAX];
static size_t n_ids;
static uint64_t hash;

static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	(void)arg;
	(void)res;
	if (s->closed_wall_ns != 0)
		ids[n_ids++] = s->id;
	return 0;
}

static double
cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void
document_put(const char *dir, int64_t id, const char *json)
{
	char path[512];
	FILE *f;

	hash = hash * 31 + hash_bytes((const uint8_t *)json, strlen(json));
	if (dir == NULL)
		return;
	snprintf(path, sizeof(path), "%s/%" PRId64 ".json", dir, id);
	if ((f = fopen(path, "w")) == NULL)
		return;
	fputs(json, f);
	fclose(f);
}

static double
judge_one(struct store_reader *r, const struct analysis_params *params, int64_t id, const char *dir)
{
	const struct result_run run = {
		.id = 1, .started_wall_ns = INT64_C(1700000000000000000), .params = *params
	};
	double begin = cpu_s();
	struct analysis *a;
	char *json;

	if (analysis_new(r, id, params, &a) < 0)
		return 0;
	json = resultdoc_build(a, &run);
	analysis_free(a);
	begin = cpu_s() - begin;
	if (json != NULL)
		document_put(dir, id, json);
	free(json);
	return begin;
}

int
main(int argc, char **argv)
{
	struct analysis_params params = {
		.judge = { .alpha = 0.05, .margin = 0.1 },
		.segments = { .alpha = 0.05, .margin = 0.1, .windows_min = 5 },
		.classes = { .adjust = 2, .peak_min = 0.01, .cutoff = 0.05 },
		.reduction = { .window_ns = INT64_C(600000000000), .rows_min = 30 },
	};
	double one, sum = 0, worst = 0;
	const char *dir = NULL;
	struct store_reader *r;
	char why[STORE_WHY_BYTES];
	size_t i, newest = SESSIONS_MAX;
	int c, rounds = 1, k;
	bool each = false;

	while ((c = getopt(argc, argv, "vr:n:o:")) != -1)
		switch (c) {
		case 'v': each = true; break;
		case 'r': rounds = atoi(optarg); break;
		case 'n': newest = (size_t)atoi(optarg); break;
		case 'o': dir = optarg; break;
		default: return 2;
		}
	if (optind == argc)
		return 0;
	if (store_reader_open(argv[optind], &r, why) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	params.memo = analysis_memo_new();
	store_sessions(r, 0, newest, on_session, NULL);
	for (k = 0; k < rounds; k++)
		for (i = n_ids; i-- > 0;) {
			one = judge_one(r, &params, ids[i], dir);
			sum += one;
			worst = one > worst ? one : worst;
			least_s[i] = k == 0 || one < least_s[i] ? one : least_s[i];
		}
	for (i = n_ids; each && i-- > 0;)
		printf("%" PRId64 " %.2f\n", ids[i], least_s[i] * 1e3);
	printf("%zu sessions: %.2f ms of CPU each, %.2f ms the worst; documents %016" PRIx64 "\n",
	    n_ids, sum / (double)n_ids / rounds * 1e3, worst * 1e3, hash);
	analysis_memo_free(params.memo);
	store_reader_close(r);
	return 0;
}
