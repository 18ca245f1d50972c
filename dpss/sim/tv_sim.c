/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tv_sim: asks a storage system for blocks as a viewer of terrain does, and throws them away. Lists
 * come at a fixed rate, synthetic or from a trace, and a list takes the place of the one before, as
 * a picture does that is no longer wanted. What comes is counted and logged.
 *
 * A trace, which any client of the library can record, has a line for each list: milliseconds since
 * the start, the set's name, and the logical blocks. Ordinary HTTP servers are asked for ranges in
 * place of blocks.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpss/option.h"
#include "dpss/sim/ranges.h"
#include "narrows/clock.h"
#include "narrows/dpss.h"
#include "narrows/err.h"
#include "narrows/progwords.h"
#include "narrows/splitmix.h"
#include "narrows/terminal.h"

enum { EXIT_USAGE = 2, SETS_MAX = 16, LIST_MAX = 4096, NAME_BYTES = 256 };
#define NS_PER_MS INT64_C(1000000)
#define QUICK_NS  (20 * NS_PER_MS) /* between looks whether anything is pending still */
#define NS_PER_S  INT64_C(1000000000)

enum pattern { PATTERN_SEQUENTIAL, PATTERN_RANDOM, PATTERN_FLIGHT, PATTERNS };
static const char *const pattern_words[PATTERNS] = { "sequential", "random", "flight" };

/* A set, or a file behind HTTP servers. */
struct source {
	const char *name;
	char traced[NAME_BYTES]; /* the source's name in the replayed trace */
	struct dpss *d;
	struct ranges *http;
};

struct sim {
	struct dpss_opts opts;
	struct source sources[SETS_MAX];
	size_t n_sources;
	struct ranges_opts http;
	double lists_per_s, seconds, speed;
	uint64_t per_list;
	enum pattern pattern;
	uint64_t width; /* tiles in a row of the terrain */
	FILE *trace, *record;
	uint64_t random; /* state of nw_splitmix() */
	uint64_t x, y;   /* where the viewer is, in tiles */
	double heading_x, heading_y, at_x, at_y;
	/* results */
	uint64_t lists, asked, received, lost, flushed, bytes;
	uint64_t short_lists; /* with fewer blocks than -n says */
	int64_t begin_mono_ns;
};

static int
usage(int status)
{
	fputs(
	    "usage: tv_sim [-m HOST/PORT] [-T TLS_DIR] [-r LISTS_PER_S] [-n BLOCKS_PER_LIST]\n"
	    "              [-t SECONDS] [-p PATTERN] [-w WIDTH] [-S SEED] [-L LOG] [-o TRACE]\n"
	    "              [-i TRACE [-x SPEED]] [-ku] [-b BYTES] [-c CONNECTIONS] "
	    "SET|URL[,URL...] "
	    "...\n"
	    "  -r, -n  request lists: so many a second (5) of so many blocks (50)\n"
	    "  -p      sequential, random, or flight over terrain of -w tiles a row (flight, 64)\n"
	    "  -i      lists of a recorded trace, -x times as fast (1); -o records one\n"
	    "  -u      blocks come by UDP: what is lost or late counts as lost\n"
	    "  -k      a list does not flush the one before\n"
	    "  URL     http://HOST:PORT/PATH: ranges of -b bytes (64 KiB) of a file, over -c\n"
	    "          connections to each server (6); servers of one file are joined by commas\n"
	    "  -L      every event of every block, in the common logging format\n",
	    status == 0 ? stdout : stderr);
	return status;
}

/* --- sources --- */

static uint64_t
source_blocks(const struct source *s)
{
	return s->d != NULL ? dpss_blocks(s->d) : ranges_blocks(s->http);
}

static size_t
source_pending(struct source *s)
{
	return s->d != NULL ? dpss_pending(s->d) : ranges_pending(s->http);
}

static int
source_request(struct source *s, const uint64_t *list, size_t n)
{
	return s->d != NULL ? dpss_request(s->d, list, n, NULL) : ranges_request(s->http, list, n);
}

/* The next block, without its data. */
static int
source_next(struct source *s, int wait_ms, struct dpss_block *out)
{
	struct ranges_block b;
	int rc;

	if (s->d != NULL) {
		if ((rc = dpss_next(s->d, wait_ms, out)) == NW_OK)
			dpss_block_free(out);
		return rc;
	}
	if ((rc = ranges_next(s->http, wait_ms, &b)) == NW_OK)
		*out = (struct dpss_block){
			.logical = b.logical, .list = b.list, .len = b.len, .rc = b.rc, .wanted = 1
		};
	return rc;
}

static uint64_t
source_forget(struct source *s)
{
	return s->d != NULL ? dpss_forget(s->d) : ranges_forget(s->http);
}

/* --- which blocks --- */

static void
flight_step(struct sim *s)
{
	double turn = ((double)(nw_splitmix(&s->random) >> 11) * 0x1p-53 - 0.5) * 0.4;
	double x = s->heading_x;

	s->heading_x += turn * s->heading_y;
	s->heading_y -= turn * x;
	s->at_x += s->heading_x;
	s->at_y += s->heading_y;
}

/* `at` on a ring of so many tiles. */
static uint64_t
wrapped(double at, uint64_t n)
{
	double rest = fmod(at, (double)n);

	return (uint64_t)(rest < 0 ? rest + (double)n : rest) % n;
}

/* The tiles around a viewer that flies straight on and turns a little now and then. */
static size_t
flight_list(struct sim *s, uint64_t blocks, uint64_t *out, size_t n)
{
	uint64_t width = s->width < blocks ? s->width : blocks, rows = blocks / width;
	uint64_t side = 1, i, tile;
	size_t found = 0;

	flight_step(s);
	while (side * side < n && side < width)
		side++;
	for (i = 0; i < side * rows && found < n; i++) {
		tile = (wrapped(s->at_y, rows) + i / side) % rows * width +
		    (wrapped(s->at_x, width) + i % side) % width;
		out[found++] = tile;
	}
	return found;
}

static size_t
synthetic_list(struct sim *s, const struct source *from, uint64_t *out)
{
	uint64_t blocks = source_blocks(from);
	size_t i, n = s->per_list < blocks ? s->per_list : blocks;

	if (s->pattern == PATTERN_FLIGHT)
		return flight_list(s, blocks, out, n);
	for (i = 0; i < n; i++)
		out[i] = s->pattern == PATTERN_RANDOM ? nw_splitmix(&s->random) % blocks
						      : s->x++ % blocks;
	return n;
}

/* The source for a name of the trace: names get sources in the order of their first lines. */
static struct source *
traced_source(struct sim *s, const char *name)
{
	size_t i;

	for (i = 0; i + 1 < s->n_sources; i++)
		if (s->sources[i].traced[0] == '\0' || strcmp(s->sources[i].traced, name) == 0)
			break;
	if (s->sources[i].traced[0] == '\0')
		snprintf(s->sources[i].traced, NAME_BYTES, "%s", name);
	return &s->sources[i];
}

/* One line: the time, a name if any, the source's blocks. 0: no list. */
static size_t
trace_parse(struct sim *s, char *line, struct source **from, int64_t *at_ns, uint64_t *out)
{
	char name[NAME_BYTES] = "", *at, *end;
	size_t n;

	*at_ns = (int64_t)(strtod(line, &at) / s->speed * 1e6);
	if (at == line)
		return 0;
	at += strspn(at, " ");
	if (*at != '\0' && strspn(at, "0123456789") != strcspn(at, " \n")) {
		n = strcspn(at, " \n");
		snprintf(
		    name, sizeof(name), "%.*s", (int)(n < NAME_BYTES ? n : NAME_BYTES - 1), at);
		at += n;
	}
	*from = traced_source(s, name);
	for (n = 0; n < LIST_MAX; at = end, n++) {
		out[n] = strtoull(at, &end, 10);
		if (end == at)
			break;
		out[n] %= source_blocks(*from);
	}
	return n;
}

/* The next list of the trace; 0: the trace is over. */
static size_t
trace_list(struct sim *s, struct source **from, int64_t *at_ns, uint64_t *out)
{
	char *line = NULL;
	size_t cap = 0, n = 0;

	while (n == 0 && getline(&line, &cap, s->trace) > 0)
		n = trace_parse(s, line, from, at_ns, out);
	free(line);
	return n;
}

/* --- the run --- */

static void
block_take(struct sim *s, struct dpss_block *b)
{
	if (b->rc == NW_OK) {
		s->received += b->wanted;
		s->bytes += b->len;
	} else {
		s->lost += b->wanted;
	}
}

/* Takes what arrives until `until`; ends early where nothing is pending and wait is false. */
static int
take_until(struct sim *s, int64_t until, bool wait)
{
	struct dpss_block b;
	size_t i = 0, idle = 0;
	int64_t left;
	int rc;

	while ((left = until - nw_mono_ns()) > 0) {
		if (!wait && left > QUICK_NS)
			left = QUICK_NS;
		rc = source_next(
		    &s->sources[i], s->n_sources > 1 ? 1 : (int)(left / NS_PER_MS) + 1, &b);
		if (rc == NW_OK)
			block_take(s, &b);
		else if (rc != NW_EAGAIN)
			return rc;
		idle = rc == NW_OK || source_pending(&s->sources[i]) > 0 ? 0 : idle + 1;
		if (!wait && idle >= s->n_sources)
			return NW_OK;
		i = (i + 1) % s->n_sources;
	}
	return NW_OK;
}

/* What is still pending at the end: the last list's end where lists end so, else lost. */
static void
rest_take(struct sim *s)
{
	struct dpss_block b;
	struct source *from;
	int rc;

	for (from = s->sources; from < s->sources + s->n_sources; from++) {
		*(s->opts.flush ? &s->flushed : &s->lost) += source_forget(from);
		/* a range on its way cannot be taken back */
		while ((rc = source_next(from, (int)(QUICK_NS / NS_PER_MS), &b)) == NW_OK ||
		    (rc == NW_EAGAIN && source_pending(from) > 0))
			if (rc == NW_OK)
				block_take(s, &b);
	}
}

static int
list_send(struct sim *s, struct source *to, const uint64_t *list, size_t n)
{
	size_t i;
	int rc;

	if (s->opts.flush)
		s->flushed += source_forget(to);
	rc = source_request(to, list, n);
	s->lists++;
	s->asked += n;
	if (s->record != NULL) {
		fprintf(s->record, "%.3f %s", (double)(nw_mono_ns() - s->begin_mono_ns) / 1e6,
		    to->name);
		for (i = 0; i < n; i++)
			fprintf(s->record, " %" PRIu64, list[i]);
		putc('\n', s->record);
	}
	return rc;
}

static int
run(struct sim *s)
{
	uint64_t list[LIST_MAX], k;
	int64_t at = 0, end = (int64_t)(s->seconds * 1e9);
	struct source *d;
	size_t n;
	int rc = NW_OK;

	s->begin_mono_ns = nw_mono_ns();
	for (k = 0; rc == NW_OK && at < end; k++) {
		d = &s->sources[k % s->n_sources];
		if (s->trace == NULL) {
			at = (int64_t)((double)k * 1e9 / s->lists_per_s);
			n = synthetic_list(s, d, list);
			s->short_lists += n < s->per_list;
		} else if ((n = trace_list(s, &d, &at, list)) == 0) {
			break;
		}
		if (at >= end)
			break;
		if ((rc = take_until(s, s->begin_mono_ns + at, true)) == NW_OK)
			rc = list_send(s, d, list, n);
	}
	if (rc == NW_OK) /* the last list has as long as the others had, or until all has come */
		rc = take_until(s,
		    nw_mono_ns() +
			(s->opts.flush ? (int64_t)(1e9 / s->lists_per_s) : 30 * NS_PER_S),
		    false);
	rest_take(s);
	return rc;
}

static void
report(const struct sim *s)
{
	double took = (double)(nw_mono_ns() - s->begin_mono_ns) / 1e9;

	printf("%" PRIu64 " lists, %" PRIu64 " blocks asked for, %" PRIu64 " received, %" PRIu64
	       " lost, %" PRIu64 " flushed, %.1f MB/s in %.2f s\n",
	    s->lists, s->asked, s->received, s->lost, s->flushed, (double)s->bytes / 1e6 / took,
	    took);
	if (s->short_lists > 0) {
		fflush(stdout);
		fprintf(stderr,
		    "tv_sim: %" PRIu64 " lists are shorter than %" PRIu64
		    " blocks: the set, or the view of the flight, has no more\n",
		    s->short_lists, s->per_list);
	}
}

/* --- options --- */

static bool
file_open(const char *path, const char *mode, FILE **out)
{
	if ((*out = fopen(path, mode)) == NULL)
		fprintf(stderr, "tv_sim: %s: %s\n", path, strerror(errno));
	return *out != NULL;
}

static bool
pattern_take(struct sim *s, const char *word)
{
	unsigned i;

	for (i = 0; i < PATTERNS; i++)
		if (strcmp(word, pattern_words[i]) == 0) {
			s->pattern = (enum pattern)i;
			return true;
		}
	return false;
}

static bool
sim_option(struct sim *s, int o)
{
	uint64_t whole;

	switch (o) {
	case 'm': s->opts.master = optarg; return true;
	case 'b':
		if (!option_bytes(optarg, 1, 1 << 30, &whole))
			return false;
		s->http.block_bytes = (uint32_t)whole;
		return true;
	case 'c':
		if (!option_whole(optarg, 1, 64, &whole))
			return false;
		s->http.connections = (size_t)whole;
		return true;
	case 'T': s->opts.tls_dir = optarg; return true;
	case 'L': s->opts.log = optarg; return true;
	case 'k': s->opts.flush = false; return true;
	case 'u': return s->opts.udp = true;
	case 'r': return option_real(optarg, 0.01, 10000, &s->lists_per_s);
	case 't': return option_real(optarg, 0.01, 1e6, &s->seconds);
	case 'x': return option_real(optarg, 0.001, 1000, &s->speed);
	case 'p': return pattern_take(s, optarg);
	case 'i': return file_open(optarg, "re", &s->trace);
	case 'o': return file_open(optarg, "we", &s->record);
	case 'n': return option_whole(optarg, 1, LIST_MAX, &s->per_list);
	case 'w': return option_whole(optarg, 1, 1 << 20, &s->width);
	case 'S': return option_whole(optarg, 0, UINT64_C(1) << 50, &s->random);
	default: return false;
	}
}

static int
sources_open(struct sim *s)
{
	char why[DPSS_WHY_BYTES] = "";
	struct source *one;
	size_t i;
	int rc;

	s->http.flush = s->opts.flush;
	s->http.log = s->opts.log;
	for (i = 0; i < s->n_sources; i++) {
		one = &s->sources[i];
		rc = strncmp(one->name, "http://", 7) == 0
		    ? ranges_open(one->name, &s->http, &one->http, why)
		    : dpss_open(&s->opts, one->name, &one->d, why);
		if (rc == NW_OK && source_blocks(one) == 0)
			snprintf(why, sizeof(why), "is empty");
		if (rc != NW_OK || source_blocks(one) == 0) {
			fprintf(stderr, "tv_sim: %s: %s\n", one->name, terminal_text(why));
			return 1;
		}
	}
	return 0;
}

static int
sources_close(struct sim *s)
{
	size_t i;
	int status = 0;

	for (i = 0; i < s->n_sources; i++)
		if (dpss_close(s->sources[i].d) != NW_OK ||
		    ranges_close(s->sources[i].http) != NW_OK)
			status = 1;
	return status;
}

int
main(int argc, char **argv)
{
	struct sim s = { .opts = { .flush = true },
		.lists_per_s = 5,
		.seconds = 10,
		.speed = 1,
		.per_list = 50,
		.width = 64,
		.pattern = PATTERN_FLIGHT,
		.heading_x = 0.8,
		.heading_y = 0.6,
		.http = { .block_bytes = 64 << 10, .connections = 6 } };
	int o, rc = NW_OK, status;

	terminal_guard();
	if (nw_program_words(argc, argv, "tv_sim"))
		return 0;
	while ((o = getopt(argc, argv, "m:T:r:n:t:p:w:S:L:o:i:x:b:c:ukh")) != -1) {
		if (o == 'h')
			return usage(0);
		if (!sim_option(&s, o))
			return usage(EXIT_USAGE);
	}
	for (; optind < argc && s.n_sources < SETS_MAX; optind++)
		s.sources[s.n_sources++].name = argv[optind];
	if (s.n_sources == 0 || optind < argc)
		return usage(EXIT_USAGE);
	if ((status = sources_open(&s)) == 0) {
		if ((rc = run(&s)) != NW_OK)
			fprintf(stderr, "tv_sim: %s\n", nw_strerror(rc));
		report(&s);
	}
	if (sources_close(&s) != 0)
		status = 1;
	if (s.record != NULL && fclose(s.record) != 0)
		status = 1;
	return rc == NW_OK ? status : 1;
}
