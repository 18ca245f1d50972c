/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A box of many sessions: what sessions cost in bytes and CPU, with their result documents, and how
 * long the box takes to start and to be verified.
 *
 *	usage: bench_box [-n SESSIONS] [-s SHORT] [-d DIRECTORY] [RECORDING]
 *
 * A session has two hosts with two calipers each, 22 fields of 114 rows: 10,032 samples, from the
 * caliper groups of a recording (tests/recording.h), at a different place for each session. SHORT
 * more sessions have 10 rows. Each session is one batch for its descriptions, one for all of its
 * rows, and one for its result: the store commits in groups, and does not wait for the disk. With
 * -d the box stays, and another run adds to what is there.
 */
#include <inttypes.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "narrows/analysis.h"
#include "narrows/resultdoc.h"
#include "narrows/store.h"
#include "tests/recording.h"

enum { STAGES = 4, COLUMNS = 16, FIELDS = 22, ROWS = 114, ROWS_SHORT = 10, GROUPS_FIRST_MAX = 512 };

static const char *const fields[FIELDS] = { "sum_v", "min_v", "max_v", "mean_v", "sd_v", "min_r",
	"max_r", "mean_r", "sd_r", "sum_g", "min_g", "max_g", "mean_g", "sd_g", "count", "busy",
	"window", "busy_max", "wait", "threads", "mean_d", "clamped" };

static struct {
	struct store *store;
	struct store_reader *reader;
	struct analysis_memo *memo;
	uint32_t flow[GROUPS_FIRST_MAX]; /* first of STAGES groups of one transfer */
	uint32_t n_flows;
	int64_t t0;
	double cpu_analysis;
	size_t json_bytes, samples;
} box;

static double
clock_s(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void
on_done(void *arg, int rc)
{
	(void)arg;
	need(rc, "commit");
}

static void
submit(struct nw_batch *b)
{
	int rc;

	nw_batch_on_done(b, on_done, NULL);
	while ((rc = store_submit(box.store, b)) == NW_EFULL) {
		store_sync(box.store);
		store_run_completions(box.store);
	}
	need(rc, "submit");
	store_run_completions(box.store);
}

/* Transfers: four groups of 16 columns, one after the other. */
static void
flows_find(void)
{
	uint32_t g, i;

	for (g = 0; g + STAGES <= n_groups && box.n_flows < GROUPS_FIRST_MAX;) {
		for (i = 0; i < STAGES && groups[g + i].n_columns == COLUMNS &&
		     groups[g + i].n_rows > ROWS;
		     i++)
			;
		if (i == STAGES)
			box.flow[box.n_flows++] = g;
		g += i == STAGES ? STAGES : 1;
	}
	if (box.n_flows == 0)
		die("the recording has no transfers");
}

static void
describe(struct nw_batch *b, int64_t id, int64_t opened, int64_t closed)
{
	static const char *const hosts[] = { "dtn-a.site.example", "dtn-b.site.example" };
	struct nw_session_rec s = { .id = id,
		.program = "mover",
		.opened_wall_ns = opened,
		.closed_wall_ns = closed,
		.last_data_wall_ns = closed };
	char task[64], hex[40], provider[64];
	int64_t i;

	snprintf(task, sizeof(task), "run-%08" PRIx64 "-%06" PRId64,
	    (uint64_t)id * UINT64_C(2654435761) % UINT32_MAX, id);
	s.task_id = task;
	need(nw_batch_session(b, &s), "session");
	for (i = 0; i < 2; i++) {
		struct nw_host_rec h = { .id = i + 1,
			.name = hosts[i],
			.info_json = "{\"kernel\":\"6.1\"}",
			.first_seen_wall_ns = box.t0,
			.last_seen_wall_ns = closed };
		struct nw_xsp_rec x = { .id = 2 * id + i,
			.host_id = i + 1,
			.session_id = id,
			.sess_id_hex = hex,
			.peer = i == 0 ? "192.0.2.1/45678" : "192.0.2.2/45679",
			.software = "libnarrows 0.1.0",
			.provider = provider,
			.owner = i == 0 ? "host:dtn-a.site.example" : "host:dtn-b.site.example",
			.opened_wall_ns = opened,
			.closed_wall_ns = closed,
			.docs = 230,
			.samples = 5016,
			.bytes = 40000,
			.end_reason = "closed by peer" };

		snprintf(hex, sizeof(hex), "%016" PRIx64 "%016" PRIx64,
		    (uint64_t)id * UINT64_C(0x9e3779b97f4a7c15),
		    (uint64_t)(id + i) * UINT64_C(0xbf58476d1ce4e5b9));
		snprintf(provider, sizeof(provider), "%08x-0000-4000-8000-%012" PRId64,
		    (unsigned)(id * 2654435761u), 2 * id + i);
		need(nw_batch_host(b, &h), "host");
		need(nw_batch_xsp(b, &x), "connection");
	}
}

static void
describe_stage(struct nw_batch *b, int64_t id, int64_t session, uint32_t stage)
{
	static const char *const ops[] = { "read", "write", "read", "write" };
	static const char *const types[] = { "disk", "network", "network", "disk" };
	char subject[256], event[64], mid[48], raw[640];
	struct nw_meta_rec m = { .id = id,
		.session_id = session,
		.host_id = 1 + stage / 2,
		.xsp_id = 2 * session + stage / 2,
		.mid = mid,
		.event_type = event,
		.subject_json = subject,
		.params_json = "{\"collectionInterval\":1,\"reportPeriod\":1}",
		.raw = (const uint8_t *)raw };
	struct nw_layout_rec l = { .id = id, .meta_id = id, .n_fields = FIELDS, .fields = fields };

	snprintf(mid, sizeof(mid), "%08x%08x%08x", (unsigned)(id * 2654435761u),
	    (unsigned)(session * 40503u), (unsigned)id);
	snprintf(event, sizeof(event), "nl:tools:calipers:summary:%s", ops[stage]);
	snprintf(subject, sizeof(subject),
	    "{\"type\":\"%s\",\"pid\":%d,\"program\":\"mover\",\"path\":\"/data/run%06" PRId64
	    "/part.nc\"}",
	    types[stage], 1000 + (int)(session % 30000), session);
	m.raw_len = (size_t)snprintf(raw, sizeof(raw),
	    "mid %s event_types %s subject %s parameters %s", mid, event, subject, m.params_json);
	need(nw_batch_meta(b, &m), "metadata");
	need(nw_batch_layout(b, &l), "layout");
}

/* A row as today's calipers report: the recorded columns, and what follows from them. */
static void
row_make(const struct group *g, uint32_t r, double row[FIELDS])
{
	uint32_t c;

	for (c = 0; c < COLUMNS; c++)
		row[c] = g->value[(size_t)c * g->n_rows + r];
	for (c = 5; c < 9; c++)
		row[c] *= 1e-9;
	row[16] = 1;
	row[17] = row[15];
	row[18] = row[15] < 1 ? 1 - row[15] : 0;
	row[19] = 1;
	row[20] = row[14] > 0 ? row[15] / row[14] : 0;
	row[21] = 0;
}

static void
session_rows(struct nw_batch *b, int64_t first_layout, int64_t opened, uint32_t n_rows)
{
	uint32_t stage, i, from, r, flow = box.flow[first_layout / STAGES % box.n_flows];
	const struct group *g;
	double row[FIELDS];
	int64_t t;

	for (stage = 0; stage < STAGES; stage++) {
		g = &groups[flow + stage];
		from = (uint32_t)(first_layout * 7919 % (g->n_rows - n_rows));
		for (i = 0; i < n_rows; i++) {
			r = from + i;
			t = opened + (i + 1) * SECOND + g->t[r] % SECOND / 1000;
			row_make(g, r, row);
			need(nw_batch_rows(b, first_layout + stage, FIELDS, 1, &t, row, NULL, 0),
			    "rows");
			box.samples += FIELDS;
		}
	}
}

static void
session_judge(int64_t id)
{
	const struct analysis_params params = {
		.judge = { .alpha = 0.05, .margin = 0.1 },
		.segments = { .alpha = 0.05, .margin = 0.1, .windows_min = 5 },
		.classes = { .adjust = 2, .peak_min = 0.01, .cutoff = 0.05 },
		.reduction = { .window_ns = 600 * SECOND, .rows_min = 30 },
		.memo = box.memo,
	};
	struct result_run run = { .id = id, .started_wall_ns = box.t0, .params = params };
	struct analysis_outcome o;
	struct analysis *a;
	double cpu = clock_s(CLOCK_THREAD_CPUTIME_ID);
	struct nw_batch *b = nw_batch_new();
	char *json;

	need(analysis_new(box.reader, id, &params, &a), "analysis");
	run.took_ns = (int64_t)((clock_s(CLOCK_THREAD_CPUTIME_ID) - cpu) * 1e9);
	analysis_outcome(a, &o);
	if (b == NULL || (json = resultdoc_build(a, &run)) == NULL)
		die("no memory");
	box.json_bytes += strlen(json);
	need(nw_batch_run(b,
		 &(struct nw_run_rec){ .id = id,
		     .session_id = id,
		     .kind = "verdict",
		     .started_wall_ns = run.started_wall_ns,
		     .took_ns = run.took_ns,
		     .version = "0.1.0",
		     .outcome = "ok" }),
	    "run");
	need(nw_batch_result(b,
		 &(struct nw_result_rec){ .session_id = id,
		     .run_id = id,
		     .json = json,
		     .route = o.route,
		     .program = o.program,
		     .stage = o.stage,
		     .confidence = o.confidence,
		     .sentence = o.sentence,
		     .effect = o.effect,
		     .bytes = o.bytes,
		     .bytes_per_s = o.bytes_per_s,
		     .start_wall_ns = o.start_wall_ns,
		     .duration_ns = (int64_t)(o.duration_s * 1e9) }),
	    "result");
	submit(b);
	analysis_free(a);
	free(json);
	box.cpu_analysis += clock_s(CLOCK_THREAD_CPUTIME_ID) - cpu;
}

/* Sessions first..end - 1, with their results. */
static void
sessions_add(int64_t first, int64_t end, uint32_t n_rows)
{
	int64_t id, opened;
	uint32_t stage;
	struct nw_batch *b;

	for (id = first; id < end; id++) {
		opened = box.t0 + id * 120 * SECOND;
		if ((b = nw_batch_new()) == NULL)
			die("no memory");
		describe(b, id, opened, opened + (n_rows + 2) * SECOND);
		for (stage = 0; stage < STAGES; stage++)
			describe_stage(b, STAGES * id + stage, id, stage);
		session_rows(b, STAGES * id, opened, n_rows);
		need(nw_batch_seal(b, id), "seal");
		submit(b);
	}
	store_sync(box.store);
	store_run_completions(box.store);
	for (id = first; id < end; id++)
		session_judge(id);
}

static void
sessions_print(const char *what, int64_t n, double cpu, double wall)
{
	struct store_stats s;
	int k;

	store_get_stats(box.store, &s);
	printf("%s: %" PRId64 " sessions, %.1f M samples, %.3f CPU s/M (%.3f s/M of it analysis), "
	       "%.1f s, %.1f KB of JSON each\n",
	    what, n, (double)box.samples * 1e-6,
	    (cpu - box.cpu_analysis) / (double)box.samples * 1e6,
	    box.cpu_analysis / (double)box.samples * 1e6, wall,
	    (double)box.json_bytes / (double)n * 1e-3);
	for (k = 0; k < STORE_TIERS; k++)
		if (s.tier_bytes[k] > 0)
			printf("  tier %d: %.1f MB\n", k, (double)s.tier_bytes[k] * 1e-6);
}

static void
sizes_print(const char *path)
{
	static const struct {
		const char *what, *sql;
	} all[] = {
		{ "chunks", "SELECT sum(length(data)) FROM chunk" },
		{ "last rows", "SELECT sum(length(last)) FROM chunk" },
		{ "documents", "SELECT sum(length(document)) FROM result" },
		{ "timelines", "SELECT sum(length(timeline)) FROM result" },
		{ "result columns",
		    "SELECT sum(length(sentence) + length(route) + 60) FROM result" },
		{ "metadata",
		    "SELECT sum(length(mid) + length(event_type) + length(subject) + "
		    "length(params) + length(raw)) FROM metadata" },
		{ "layouts", "SELECT 20 * count(*) FROM layout" },
		{ "file",
		    "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size" },
		{ "free",
		    "SELECT freelist_count * page_size FROM pragma_freelist_count, "
		    "pragma_page_size" },
	};
	sqlite3_stmt *st;
	sqlite3 *db;
	size_t i;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		die("cannot open the box");
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (sqlite3_prepare_v2(db, all[i].sql, -1, &st, NULL) != SQLITE_OK ||
		    sqlite3_step(st) != SQLITE_ROW)
			die(sqlite3_errmsg(db));
		printf("  %-16s %10.3f MB\n", all[i].what, sqlite3_column_double(st, 0) * 1e-6);
		sqlite3_finalize(st);
	}
	sqlite3_close(db);
}

static void
box_open(const char *path)
{
	struct store_opts opts = store_opts_default;
	char why[STORE_WHY_BYTES];
	double wall = clock_s(CLOCK_MONOTONIC);

	opts.sync_full = false;
	if (store_open(path, &opts, &box.store, why) != NW_OK)
		die(why);
	printf("start: %.3f s\n", clock_s(CLOCK_MONOTONIC) - wall);
	if (store_reader_open(path, &box.reader, why) != NW_OK)
		die(why);
}

static void
box_close(void)
{
	store_reader_close(box.reader);
	store_close(box.store);
}

int
main(int argc, char **argv)
{
	int64_t n = 200, n_short = 1000;
	char path[256], made[] = "/tmp/nw-box-XXXXXX";
	const char *dir = NULL;
	struct store_ids next;
	double cpu, wall;
	int c;

	while ((c = getopt(argc, argv, "n:s:d:")) != -1)
		switch (c) {
		case 'n': n = atoll(optarg); break;
		case 's': n_short = atoll(optarg); break;
		case 'd': dir = optarg; break;
		default: return 2;
		}
	box.memo = analysis_memo_new();
	recording_open(argc > optind ? argv[optind] : NULL);
	flows_find();
	if (dir == NULL && mkdtemp(made) == NULL)
		die(strerror(errno));
	snprintf(path, sizeof(path), "%s/narrows.db", dir == NULL ? made : dir);
	box.t0 = 1700000000 * SECOND;
	box_open(path);
	cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	wall = clock_s(CLOCK_MONOTONIC);
	store_next_ids(box.store, &next);
	sessions_add(next.session, next.session + n, ROWS);
	sessions_add(next.session + n, next.session + n + n_short, ROWS_SHORT);
	store_sync(box.store);
	store_run_completions(box.store);
	sessions_print("box", n + n_short, clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu,
	    clock_s(CLOCK_MONOTONIC) - wall);
	box_close();
	sizes_print(path);
	box_open(path);
	box_close();
	analysis_memo_free(box.memo);
	return 0;
}
