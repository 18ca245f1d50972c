/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many boxes that push at full rate, and questions about all of them.
 *
 *	usage: bench_fleet [-n SESSIONS] [-s SITES] [-r ROUTES] [-d BYTES-OF-A-DOCUMENT]
 *	                   [CONFIGURATION ...]
 *
 * A configuration is one of narrows fleet; its site is the begin of the sites' names. Without any,
 * a SQLite file and a directory of Parquet are filled. One route is planted: its sessions are three
 * times slower than usual, and the report of the worst routes must name that route first. One site
 * in ten is planted as silent. Each report is timed twice, and the second time is printed. With
 * $NARROWS_DUCKDB Parquet is asked, too, beside the same statement on DuckDB's bare reader.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fleet/parquet_sql.h"
#include "narrows/err.h"
#include "narrows/splitmix.h"
#include "narrows/xmalloc.h"

enum { BATCH = 1000, SLOW_ROUTE = 7 };
static const int64_t DAY_NS = INT64_C(86400) * 1000000000;

static uint64_t n_sessions = 20000, n_sites = 20, n_routes = 50, document_bytes;
static char why[FLEET_WHY_BYTES];

static double
seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Of this process and of the senders that it has waited for. */
static double
cpu_s(void)
{
	struct rusage a, b;

	getrusage(RUSAGE_SELF, &a);
	getrusage(RUSAGE_CHILDREN, &b);
	return (double)(a.ru_utime.tv_sec + a.ru_stime.tv_sec + b.ru_utime.tv_sec +
		   b.ru_stime.tv_sec) +
	    1e-6 *
	    (double)(a.ru_utime.tv_usec + a.ru_stime.tv_usec + b.ru_utime.tv_usec +
		b.ru_stime.tv_usec);
}

static void
must(int rc, const char *what)
{
	if (rc == NW_OK)
		return;
	fprintf(stderr, "bench_fleet: %s: %s\n", what, why);
	exit(1);
}

/* --- boxes --- */

static double
unit(uint64_t *rng)
{
	return (double)(nw_splitmix(rng) >> 11) * 0x1p-53;
}

static void
number(struct fleet_row *r, enum fleet_column c, double v)
{
	r->cell[c] = (struct fleet_cell){ .known = true, .i = (int64_t)v, .d = v };
}

static void
row_make(struct fleet_row *r, const char *site, int64_t session, uint64_t *rng)
{
	static const char *const stages[] = { "network", "disk.read", "disk.write", "host", NULL };
	uint64_t route = nw_splitmix(rng) % n_routes;
	double slow = route == SLOW_ROUTE ? 3 : 1, spread = 0.8 + 0.4 * unit(rng);
	char text[64];

	fleet_text_set(r, FLEET_site, site);
	r->cell[FLEET_session] = (struct fleet_cell){ .known = true, .i = session };
	/* a month, which begins in 2025 */
	r->cell[FLEET_start_ns] = (struct fleet_cell){ .known = true,
		.i = 20100 * DAY_NS + (int64_t)(30 * unit(rng) * (double)DAY_NS) };
	r->cell[FLEET_judged_ns] = (struct fleet_cell){ .known = true,
		.i = r->cell[FLEET_start_ns].i + INT64_C(60000000000) };
	number(r, FLEET_duration_ns, 3e10);
	snprintf(text, sizeof(text), "dtn%" PRIu64 " -> store%" PRIu64, route, route % 7);
	fleet_text_set(r, FLEET_route, text);
	fleet_text_set(r, FLEET_program, "rsync");
	number(r, FLEET_bytes, 3e10 * spread / slow);
	number(r, FLEET_bytes_per_s, 1e9 * spread / slow);
	fleet_text_set(r, FLEET_stage, stages[nw_splitmix(rng) % 5]);
	fleet_text_set(r, FLEET_confidence, "high");
	number(r, FLEET_effect, 0.5 * spread);
	number(r, FLEET_usual, slow / spread);
	number(r, FLEET_exit_status, 0);
	fleet_text_set(r, FLEET_sentence,
	    "The network limited this transfer: it held the bytes "
	    "for 71 % of the time.");
	if (document_bytes > 0) {
		char *document = xmalloc(document_bytes + 1);
		size_t i;

		/* letters that compress about as documents do */
		for (i = 0; i < document_bytes; i++)
			document[i] = (char)('a' + nw_splitmix(rng) % (i % 8 == 0 ? 16 : 2));
		document[document_bytes] = '\0';
		fleet_text_set(r, FLEET_document, document);
		free(document);
	}
}

static void
site_push(struct fleet_conf *c, const char *base, uint64_t site, uint64_t *rng)
{
	uint64_t first = 1 + site * n_sessions / n_sites, last = (site + 1) * n_sessions / n_sites;
	char *name = xasprintf("%s%" PRIu64, base, site);
	struct fleet_site told = { name, site % 10 == 3 ? DAY_NS : 30000 * DAY_NS, "synchronised",
		"bench" };
	const struct fleet_engine *engine;
	struct fleet_rows rows = { 0 };
	struct fleet *fleet;
	void *e;

	c->site = name;
	must(fleet_open(c, true, &fleet, why), "open");
	engine = fleet_engine_of(fleet, &e);
	while (first <= last) {
		for (; first <= last && rows.n < BATCH; first++)
			row_make(fleet_rows_add(&rows), name, (int64_t)first, rng);
		must(engine->put(e, &rows, why), "put");
		fleet_rows_clear(&rows);
	}
	must(engine->put_site(e, &told, why), "put_site");
	fleet_close(fleet);
	free(name);
}

/* --- questions --- */

struct heard {
	size_t rows;
	char first[64];
	double sum; /* of `sessions`, the third column of a report of routes */
};

static int
on_row(void *arg, size_t n, const char *const *texts)
{
	struct heard *h = arg;

	if (h->rows++ == 1)
		snprintf(h->first, sizeof(h->first), "%s", texts[0] != NULL ? texts[0] : "");
	if (h->rows > 1 && n > 2 && texts[2] != NULL)
		h->sum += strtod(texts[2], NULL);
	return NW_OK;
}

static struct heard
timed_ask(const struct fleet_engine *engine, void *e, enum fleet_report which, const char *sql,
    double *took_s)
{
	const char *route = which == FLEET_HISTORY ? "dtn7 -> store0" : NULL;

	struct heard h = { 0 };
	double begin;
	int run;

	for (run = 0; run < 2; run++) {
		h = (struct heard){ 0 };
		begin = seconds(CLOCK_MONOTONIC);
		must(engine->ask(e, sql, route, on_row, &h, why), sql);
		*took_s = seconds(CLOCK_MONOTONIC) - begin;
	}
	return h;
}

/* The statement with DuckDB's own reader in place of the table; free() it. */
static char *
bare(const char *sql, const char *directory)
{
	static const char from[] = "FROM session";
	char *text = xstrdup(sql), *at, *next;

	while ((at = strstr(text, from)) != NULL) {
		*at = '\0';
		next = xasprintf("%sFROM (SELECT * REPLACE (epoch_ns(start_ns) AS start_ns) FROM "
				 "read_parquet('%s/*/*.parquet'))%s",
		    text, directory, at + strlen(from));
		free(text);
		text = next;
	}
	return text;
}

static void
ask_all(const struct fleet_conf *c)
{
	static const char *const names[] = { "routes", "worst", "verdicts", "history", "sites" };
	const struct fleet_engine *engine;
	const char *sql;
	struct heard h;
	struct fleet *fleet;
	double took_s, bare_s;
	size_t i;
	char *plain;
	void *e;

	must(fleet_open(c, false, &fleet, why), "open");
	engine = fleet_engine_of(fleet, &e);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		sql = engine->report((enum fleet_report)i);
		h = timed_ask(engine, e, (enum fleet_report)i, sql, &took_s);
		printf("  %-9s %8.1f ms, %zu rows", names[i], 1e3 * took_s, h.rows - 1);
		if (engine == &engine_file && i != FLEET_SITES) {
			plain = bare(sql, c->fleet + strlen("file://"));
			(void)timed_ask(engine, e, (enum fleet_report)i, plain, &bare_s);
			printf("; DuckDB's reader alone %.1f ms", 1e3 * bare_s);
			free(plain);
		}
		putchar('\n');
		if (i == FLEET_WORST && strcmp(h.first, "dtn7 -> store0") != 0) {
			fprintf(stderr, "bench_fleet: the planted route is not the worst: %s\n",
			    h.first);
			exit(1);
		}
		if (i == FLEET_ROUTES && h.sum != (double)n_sessions) {
			fprintf(stderr, "bench_fleet: %.0f sessions, of %" PRIu64 "\n", h.sum,
			    n_sessions);
			exit(1);
		}
	}
	fleet_close(fleet);
}

static void
fleet_bench(struct fleet_conf *c)
{
	char *base = c->site;
	uint64_t rng = 34, site;
	double begin = seconds(CLOCK_MONOTONIC), cpu = cpu_s(), took;

	for (site = 0; site < n_sites; site++)
		site_push(c, base, site, &rng);
	took = seconds(CLOCK_MONOTONIC) - begin;
	cpu = cpu_s() - cpu;
	printf("%s: %" PRIu64 " sessions of %" PRIu64 " sites in %.1f s, %.0f a second, %.1f us of "
	       "processor each\n",
	    c->fleet, n_sessions, n_sites, took, (double)n_sessions / took,
	    1e6 * cpu / (double)n_sessions);
	c->site = xasprintf("%s0", base);
	if (strncmp(c->fleet, "file:", 5) != 0 || strcmp(c->duckdb_library, "libduckdb.so") != 0)
		ask_all(c);
	free(c->site);
	c->site = base;
}

/* --- the command line --- */

static void
made_up_bench(const char *directory, const char *fleet)
{
	char *path = xasprintf("%s/fleet.conf", directory);
	const char *duck = getenv("NARROWS_DUCKDB");
	FILE *f = fopen(path, "we");
	struct fleet_conf c;

	if (f == NULL)
		abort();
	fprintf(f, "site site\nfleet %s\n", fleet);
	if (duck != NULL)
		fprintf(f, "duckdb-library %s\n", duck);
	fclose(f);
	must(fleet_conf_read(path, &c, why), path);
	fleet_bench(&c);
	fleet_conf_clear(&c);
	free(path);
}

int
main(int argc, char **argv)
{
	char directory[] = "/tmp/nw-bench-fleet-XXXXXX", *text;
	struct fleet_conf c;
	int opt;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((opt = getopt(argc, argv, "n:s:r:d:")) != -1)
		*(opt == 'n'         ? &n_sessions
			: opt == 's' ? &n_sites
			: opt == 'r' ? &n_routes
				     : &document_bytes) = strtoull(optarg, NULL, 10);
	if (n_sites == 0 || n_routes <= SLOW_ROUTE || n_sessions < n_sites) {
		fprintf(stderr, "bench_fleet: too few\n");
		return 2;
	}
	if (optind < argc) {
		for (; optind < argc; optind++) {
			must(fleet_conf_read(argv[optind], &c, why), argv[optind]);
			fleet_bench(&c);
			fleet_conf_clear(&c);
		}
		return 0;
	}
	if (mkdtemp(directory) == NULL)
		abort();
	text = xasprintf("sqlite:%s/fleet.db", directory);
	made_up_bench(directory, text);
	free(text);
	text = xasprintf("file://%s/days", directory);
	if (mkdir(text + strlen("file://"), 0700) != 0)
		abort();
	made_up_bench(directory, text);
	free(text);
	text = xasprintf("rm -rf %s", directory);
	opt = system(text);
	free(text);
	return opt != 0;
}
