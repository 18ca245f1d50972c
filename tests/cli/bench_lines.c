/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A million events, of 125,000 lifelines, from the store to the page.
 *
 *	bench_lines [FILE.db LOG ...]    makes a store of logs instead, and leaves it
 */
#include <inttypes.h>
#include <unistd.h>

#include <event2/buffer.h>

#include "narrows/clock.h"
#include "narrows/event_line.h"
#include "tests/lifesim.h"
#include "tests/lifelog.h"
#include "web/lines/lines.h"

/* All lines of a file. */
static int
lifelog_file(struct lifelog *l, const char *path)
{
	FILE *f = fopen(path, "r");
	struct nw_event_line *reader = nw_event_line_new();
	struct nw_event e;
	const char *why;
	char line[4096];
	int rc = f != NULL ? NW_OK : NW_EIO;

	while (rc == NW_OK && fgets(line, sizeof(line), f) != NULL)
		if (nw_event_line_read(reader, line, strcspn(line, "\n"), &e, &why) == NW_OK)
			rc = lifelog_put(l, &e);
	if (f != NULL)
		fclose(f);
	nw_event_line_free(reader);
	return rc;
}

static struct lines_cache *cache;

static double
answer(struct store_reader *r, enum lines_form form, const char *query)
{
	struct evbuffer *b = evbuffer_new();
	struct html h = { .out = b };
	int64_t begin = nw_mono_ns();
	const char *why;
	double s;

	if (lines_answer(&h, r, cache, 1, form, query, &why) != NW_OK || h.failed)
		abort();
	s = (double)(nw_mono_ns() - begin) * 1e-9;
	printf("%-12s %-24s %8.3f s %10zu bytes\n",
	    form == LINES_PAGE ? "page" : lines_endings[form], query != NULL ? query : "", s,
	    evbuffer_get_length(b));
	evbuffer_free(b);
	return s;
}

int
main(int argc, char **argv)
{
	const struct sim m = { .lists = 2500,
		.blocks = 50,
		.servers = 3,
		.period_s = 0.4,
		.queues = true,
		.place = SIM_DISK,
		.share = 0.01,
		.size_s = 0.1 };
	char path[] = "/tmp/bench_lines.XXXXXX", why[STORE_WHY_BYTES];
	const char *file = argc > 1 ? argv[1] : (close(mkstemp(path)), path);
	struct store_reader *r;
	struct sim_lines s;
	struct lifelog l;
	int i;

	noise_seed(0, NULL, 1);
	if (lifelog_begin(&l, file) != NW_OK)
		return 1;
	for (i = 2; i < argc; i++)
		lifelog_file(&l, argv[i]);
	if (argc <= 2) {
		sim_run(&m, &s);
		lifelog_sim(&l, &s);
		sim_free(&s);
	}
	lifelog_end(&l);
	printf("%zu events\n", l.n);
	if (store_reader_open(file, &r, why) != NW_OK)
		return 1;
	answer(r, LINES_PAGE, NULL);
	answer(r, LINES_PAGE, "percentile=99-100");
	answer(r, LINES_SVG, NULL);
	answer(r, LINES_JSON, NULL);
	answer(r, LINES_CSV, NULL);
	answer(r, LINES_OTLP, NULL);
	cache = lines_cache_new();
	answer(r, LINES_PAGE, NULL);
	answer(r, LINES_PAGE, NULL);
	answer(r, LINES_PAGE, "percentile=99-100");
	lines_cache_free(cache);
	store_reader_close(r);
	if (argc <= 1)
		unlink(path);
	return 0;
}
