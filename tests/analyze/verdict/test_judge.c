/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions with known limits through a real store: rows in, verdict and document out. */
#include "analyze/verdict/judge/judge.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "narrows/resultdoc.h"
#include "narrows/err.h"
#include "tests/check.h"
#include "tests/transfer.h"

#define T0   1700000000000000000
#define STEP 100000000 /* ns */

static char dir[] = "/dev/shm/test_judge.XXXXXX";
static const char *fields[] = { "sum_v", "mean_r", "count", "window", "busy", "busy_max", "wait",
	"threads" };
enum { N_FIELDS = sizeof(fields) / sizeof(fields[0]) };

/* Per window of 0.1 s: 4 MB cross; where the rest of the time goes is the case. */
struct times {
	double busy, wait;
};
struct transfer {
	const char *name;
	struct times disk_read, net_write, net_read, disk_write;
	double noise; /* of the times */
	int windows;
	const char *stage; /* expected; NULL: cannot tell */
	const char *says;  /* part of the sentence */
};

static const struct transfer transfers[] = {
	{ "network", { .002, 0 }, { .003, .09 }, { .004, .085 }, { .006, 0 }, 0.1, 40, "network",
	    "The network path from dtn-a to dtn-b limited this transfer to 40 MB/s "
	    "(320 Mbit/s)" },
	{ "slow source disk", { .09, 0 }, { .003, .0 }, { .004, .09 }, { .004, 0 }, 0.1, 40,
	    "disk.read", "Disk read on dtn-a limited" },
	{ "slow target disk", { .002, 0 }, { .003, .09 }, { .005, .001 }, { .088, 0 }, 0.1, 40,
	    "disk.write", "Disk write on dtn-b limited" },
	{ "slow sender", { .004, 0 }, { .004, .0 }, { .003, .09 }, { .003, 0 }, 0.1, 40,
	    "sender.host", "The sending program on dtn-a" },
	{ "two alike", { .048, 0 }, { .003, .0 }, { .004, .048 }, { .048, 0 }, 0.3, 40, NULL,
	    "Cannot tell whether" },
	{ "too short", { .002, 0 }, { .003, .09 }, { .004, .085 }, { .006, 0 }, 0.1, 3, NULL,
	    "too short" },
};

static unsigned seed = 7;

static double
noisy(double v, double noise)
{
	seed = seed * 1103515245u + 12345u;
	return v * (1 + noise * ((double)(seed >> 16 & 0xff) / 128 - 1));
}

static int64_t ahead_ns; /* of the second host's clock */
/* then the first host reads from memory, and its program computes */
static int reading_windows = INT_MAX;

static void
stage_write(struct nw_batch *b, int64_t id, int64_t host, const char *op, const char *type,
    const struct times *t, const struct transfer *tr)
{
	char subject[256], event[64], mid[32];
	struct nw_meta_rec m = { .id = id,
		.session_id = 1,
		.host_id = host,
		.xsp_id = host,
		.mid = mid,
		.event_type = event,
		.subject_json = subject,
		.params_json = "{\"collectionInterval\":0.1}" };
	struct nw_layout_rec l = {
		.id = id, .meta_id = id, .n_fields = N_FIELDS, .fields = fields
	};
	int i;

	snprintf(mid, sizeof(mid), "m%" PRId64, id);
	snprintf(event, sizeof(event), "nl:tools:calipers:summary:%s", op);
	snprintf(subject, sizeof(subject), "{\"type\":\"%s\",\"pid\":%d,\"program\":\"mover\"}",
	    type, 100 + (int)host);
	CHECK(nw_batch_meta(b, &m) == NW_OK && nw_batch_layout(b, &l) == NW_OK);
	for (i = 0; i < tr->windows; i++) {
		bool reads = strcmp(op, "read") == 0 && strcmp(type, "disk") == 0;
		double busy = noisy(reads && i >= reading_windows ? 0.001 : t->busy, tr->noise),
		       wait = noisy(t->wait, tr->noise);
		double row[N_FIELDS] = { 4e6, 1.5, 16, 0.1, busy, busy, wait, 1 };
		int64_t at = T0 + (i + 1) * (int64_t)STEP + (host == 2 ? ahead_ns : 0);

		CHECK(nw_batch_rows(b, id, N_FIELDS, 1, &at, row, NULL, 0) == NW_OK);
	}
}

static void
session_begin(struct nw_batch *b, const struct transfer *tr)
{
	static const char *const hosts[] = { "dtn-a", "dtn-b" };
	struct nw_session_rec s = { .id = 1,
		.task_id = tr->name,
		.program = "mover",
		.opened_wall_ns = T0,
		.closed_wall_ns = T0 + tr->windows * (int64_t)STEP,
		.last_data_wall_ns = T0 };
	int64_t i;

	CHECK(nw_batch_session(b, &s) == NW_OK);
	for (i = 1; i <= 2; i++) {
		struct nw_host_rec h = { .id = i, .name = hosts[i - 1] };
		struct nw_xsp_rec x = { .id = i,
			.host_id = i,
			.session_id = 1,
			.sess_id_hex = "00",
			.peer = "p",
			.docs = 5 };

		CHECK(nw_batch_host(b, &h) == NW_OK && nw_batch_xsp(b, &x) == NW_OK);
	}
}

static void
session_write(struct nw_batch *b, const struct transfer *tr)
{
	session_begin(b, tr);
	stage_write(b, 1, 1, "read", "disk", &tr->disk_read, tr);
	stage_write(b, 2, 1, "write", "network", &tr->net_write, tr);
	stage_write(b, 3, 2, "read", "network", &tr->net_read, tr);
	stage_write(b, 4, 2, "write", "disk", &tr->disk_write, tr);
}

/* The limit could carry what it carried, all others as much as the stated gain says at least. */
static void
could_check(const json_t *doc, const struct judgement *j)
{
	const json_t *list = json_object_get(json_object_get(doc, "bottleneck"), "stages"), *stage;
	double gain = j->limit.known && j->gain.low > 1 ? j->gain.low : 1;
	size_t i;

	json_array_foreach(list, i, stage)
	{
		double low = json_number_value(json_object_get(stage, "could_low"));
		bool limits = j->limit.known && i == j->limit.stage;

		CHECK_NEAR(low, (limits || i == j->second ? 1 : gain) * j->bytes_per_s, 1e-6, 0);
		CHECK(!json_is_number(json_object_get(stage, "could_high")) ||
		    json_number_value(json_object_get(stage, "could_high")) >= low * 0.999);
	}
}

static void
document_check(const struct analysis *a, const struct transfer *tr)
{
	struct result_run run = {
		.id = 3, .started_wall_ns = T0, .took_ns = 1, .params = transfer_params
	};
	char *text = resultdoc_build(a, &run), *again = resultdoc_build(a, &run);
	json_t *doc = json_loads(text, 0, NULL), *stage;

	CHECK(doc != NULL);
	CHECK_STR(text, again);
	transfer_claims_check(text);
	CHECK_STR(json_string_value(json_object_get(doc, "schema")), "narrows-result/1");
	stage = json_object_get(json_object_get(doc, "verdict"), "stage");
	if (tr->stage != NULL)
		CHECK_STR(json_string_value(stage), tr->stage);
	else
		CHECK(json_is_null(stage));
	CHECK_INT(json_array_size(json_object_get(json_object_get(doc, "timeline"), "stages")), 4);
	CHECK(strstr(text, "nan") == NULL && strstr(text, "inf,") == NULL);
	could_check(doc, &a->judgement);
	json_decref(doc);
	free(text);
	free(again);
}

/* A store with the documents of a session, and the session's analysis. */
struct judged {
	struct store *st;
	struct store_reader *r;
};

/* Judges session 1 of a batch in a store by that name. The caller clears the analysis, and ends. */
static void
judged_begin(struct judged *box, const char *name, struct nw_batch *b, struct analysis *a)
{
	char path[128], why[STORE_WHY_BYTES];

	snprintf(path, sizeof(path), "%s/%s.db", dir, name);
	CHECK(store_open(path, &store_opts_default, &box->st, why) == NW_OK);
	CHECK(store_submit(box->st, b) == NW_OK);
	store_sync(box->st);
	CHECK(store_reader_open(path, &box->r, why) == NW_OK);
	CHECK_INT(analysis_run(box->r, 1, &transfer_params, a), NW_OK);
}

static void
judged_end(struct judged *box)
{
	store_reader_close(box->r);
	store_close(box->st);
}

static void
transfer_check(const struct transfer *tr)
{
	struct judged box;
	struct nw_batch *b = nw_batch_new();
	const struct judgement *j;
	struct analysis a;

	session_write(b, tr);
	judged_begin(&box, tr->name, b, &a);
	j = &a.judgement;
	CHECK_INT(a.evidence.n_windows, tr->windows);
	CHECK_INT(j->limit.known, tr->stage != NULL);
	if (j->limit.known)
		CHECK_STR(nw_stage_kind_name(j->path.stage[j->limit.stage].kind), tr->stage);
	if (strstr(j->sentence, tr->says) == NULL) {
		fprintf(stderr, "%s: %s\n", tr->name, j->sentence);
		CHECK(!"the sentence says it");
	}
	CHECK_STR(j->route, "dtn-a -> dtn-b");
	CHECK_NEAR(j->bytes, 4e6 * tr->windows, 1e-9, 0);
	document_check(&a, tr);
	analysis_clear(&a);
	CHECK_INT(analysis_run(box.r, 99, &transfer_params, &a), NW_ENOTFOUND);
	judged_end(&box);
}

/* One row of cumulative or summed fields of another document than a caliper's. */
static void
single_write(struct nw_batch *b, int64_t id, const char *event, const char *subject,
    const char *const *names, const double *values, size_t n)
{
	struct nw_meta_rec m = { .id = id,
		.session_id = 1,
		.host_id = 1,
		.xsp_id = 1,
		.mid = event,
		.event_type = event,
		.subject_json = subject,
		.params_json = "{}" };
	struct nw_layout_rec l = { .id = id, .meta_id = id, .n_fields = n, .fields = names };
	int64_t at = T0 + 40 * (int64_t)STEP;

	CHECK(nw_batch_meta(b, &m) == NW_OK && nw_batch_layout(b, &l) == NW_OK);
	CHECK(nw_batch_rows(b, id, n, 1, &at, values, NULL, 0) == NW_OK);
}

/* A blocking sendfile() is disk and network in one call: the connection's own account decides, or
 * nobody. */
static void
tie_check(const char *name, double tcp_busy_s, double combined_bytes, const char *stage,
    const char *confidence)
{
	static const char *const names[] = { "bytes_out", "busy_s", "rwnd_limited_s",
		"sndbuf_limited_s" };
	static const char *const process[] = { "cpu_user", "combined_bytes" };
	const struct transfer tr = { name, { .09, 0 }, { .09, 0 }, { .004, .088 }, { .004, 0 },
		0.05, 40, NULL, "" };
	const double values[] = { 1.6e8, tcp_busy_s, 0, 0 };
	struct nw_batch *b = nw_batch_new();
	struct judged box;
	struct analysis a;

	session_write(b, &tr);
	if (tcp_busy_s > 0)
		single_write(b, 5, "nw:connection",
		    "{\"src\":\"192.0.2.1\",\"dst\":\"192.0.2.2\",\"sport\":1,\"dport\":2}", names,
		    values, 4);
	if (combined_bytes >= 0)
		single_write(b, 6, "nw:process", "{\"pid\":101,\"program\":\"mover\"}", process,
		    (const double[]){ 1, combined_bytes }, 2);
	judged_begin(&box, name, b, &a);
	CHECK_INT(a.judgement.limit.known, stage != NULL);
	if (stage != NULL && a.judgement.limit.known)
		CHECK_STR(nw_stage_kind_name(a.judgement.path.stage[a.judgement.limit.stage].kind),
		    stage);
	CHECK_STR(a.judgement.confidence, confidence);
	/* calls that waited for the network hide the disk's work */
	CHECK(stage == NULL || isnan(a.judgement.gain.about));
	CHECK(stage == NULL || strstr(a.judgement.sentence, "times as fast") == NULL);
	analysis_clear(&a);
	judged_end(&box);
}

/* The source's device: its throttle in bytes/s, and the bytes that waited in front of it. */
struct throttle {
	double limit, queued;
};

static void
throttle_write(struct nw_batch *b, const struct throttle *t)
{
	static const char *const names[] = { "read_bytes", "written_bytes", "io_ms",
		"queued_read_bytes", "read_limit" };
	struct nw_meta_rec m = { .id = 7,
		.host_id = 1,
		.mid = "disk",
		.event_type = "ps:tools:blipp:linux:disk:partition:sda",
		.subject_json = "{\"device\":\"sda\"}",
		.params_json = "{}" };
	struct nw_layout_rec l = { .id = 7, .meta_id = 7, .n_fields = 5, .fields = names };
	int i;

	CHECK(nw_batch_meta(b, &m) == NW_OK && nw_batch_layout(b, &l) == NW_OK);
	for (i = 0; i <= 40; i++) {
		int64_t at = T0 + i * (int64_t)STEP;

		CHECK(
		    nw_batch_rows(b, 7, 5, 1, &at,
			(const double[]){ i * 4e6, 0, 0, t->queued, t->limit }, NULL, 0) == NW_OK);
	}
}

/* A network at its limit, and a program that also reads a file for a fifth of the time: from a
 * disk, which may be at its limit, too, or from memory, which is not. A throttle tells of the disk,
 * even where no call shows it. */
static void
cached_check(
    const char *name, double read_s, double device_bytes, const struct throttle *t, bool both)
{
	static const char *const names[] = { "bytes_out", "busy_s", "rwnd_limited_s",
		"sndbuf_limited_s" };
	static const char *const process[] = { "cpu_user", "rchar", "seen_read", "read_bytes" };
	const struct transfer tr = { name, { read_s, 0 }, { .06, 0 }, { .004, .06 }, { .004, 0 },
		0.05, 40, NULL, "" };
	struct nw_batch *b = nw_batch_new();
	struct judged box;
	struct analysis a;

	session_write(b, &tr);
	single_write(b, 5, "nw:connection",
	    "{\"src\":\"192.0.2.1\",\"dst\":\"192.0.2.2\",\"sport\":1,\"dport\":2}", names,
	    (const double[]){ 1.6e8, 3.95, 0, 0 }, 4);
	single_write(b, 6, "nw:process", "{\"pid\":101,\"program\":\"mover\"}", process,
	    (const double[]){ 1, 1.6e8, 1.6e8, device_bytes }, 4);
	if (t != NULL)
		throttle_write(b, t);
	judged_begin(&box, name, b, &a);
	CHECK_INT(a.judgement.second < a.judgement.path.n, both);
	CHECK_INT(strncmp(a.judgement.sentence, "Either ", 7) == 0 ||
		strncmp(a.judgement.sentence, "Both ", 5) == 0,
	    both);
	CHECK(!both || t != NULL || strstr(a.judgement.reasons[1], "that reads ahead") != NULL);
	analysis_clear(&a);
	judged_end(&box);
}

/* Writers held up while `writeback_kib` waited for the devices of their host, whose processors were
 * idle for a share of the time. Data was in flight for tcp_busy_s, of which the receive window was
 * closed for rwnd_s. */
static void
idle_disk_check(const char *name, double writeback_kib, double idle, const struct times *receive,
    double tcp_busy_s, double rwnd_s, const char *stage, const char *says)
{
	enum { ROWS = 50 };
	static const char *const account[] = { "bytes_out", "busy_s", "rwnd_limited_s",
		"sndbuf_limited_s" };
	static const char *const memory[] = { "writeback" }, *const cpu[] = { "idle", "iowait" };
	const struct transfer tr = { name, { .002, 0 }, { .003, .09 }, *receive, { .07, 0 }, 0.1,
		40, stage, says };
	double waiting[ROWS], idles[2 * ROWS];
	struct nw_batch *b = nw_batch_new();
	struct judged box;
	struct analysis a;
	int i;

	for (i = 0; i < ROWS; i++) {
		waiting[i] = writeback_kib;
		idles[2 * i] = idle;
		idles[2 * i + 1] = 0;
	}
	session_write(b, &tr);
	if (tcp_busy_s > 0)
		single_write(b, 5, "nw:connection",
		    "{\"src\":\"192.0.2.1\",\"dst\":\"192.0.2.2\",\"sport\":1,\"dport\":2}",
		    account, (const double[]){ 1.6e8, tcp_busy_s, rwnd_s, 0 }, 4);
	transfer_host_series(
	    b, 20, 2, "ps:tools:blipp:linux:memory:utilization", "{}", memory, 1, waiting, 5, ROWS);
	transfer_host_series(
	    b, 21, 2, "ps:tools:blipp:linux:cpu:utilization", "{}", cpu, 2, idles, 5, ROWS);
	judged_begin(&box, name, b, &a);
	CHECK_INT(a.judgement.limit.known, stage != NULL);
	if (stage != NULL && a.judgement.limit.known)
		CHECK_STR(nw_stage_kind_name(a.judgement.path.stage[a.judgement.limit.stage].kind),
		    stage);
	CHECK(strstr(a.judgement.sentence, says) != NULL);
	if (strstr(a.judgement.sentence, says) == NULL)
		fprintf(stderr, "%s: %s\n", name, a.judgement.sentence);
	analysis_clear(&a);
	judged_end(&box);
}

/* 40 MB/s are written: 1 MiB that waits makes 26 ms, 4 MiB 105 ms. */
static void
test_idle_disk(void)
{
	static const struct times quick = { .026, 0 }, slow = { .002, 0 };

	idle_disk_check(
	    "disk at work", 4096, 0, &slow, 0, 0, "disk.write", "Disk write on dtn-b limited");
	idle_disk_check("idle disk, idle processors", 100, 0.9, &slow, 0, 0, "disk.write",
	    "Disk write on dtn-b limited");
	idle_disk_check("idle disk, busy program", 100, 0, &slow, 0, 0, "receiver.host",
	    "In this transfer, the receiving program on dtn-b");
	idle_disk_check("idle disk, nobody", 100, 0, &quick, 0, 0, NULL,
	    "writes were slow, but the disk was idle and the processors were not");
	idle_disk_check("idle disk, network at work", 100, 0, &quick, 3.9, 0.9, "network",
	    "In this transfer, the network path from dtn-a to dtn-b");
	idle_disk_check("idle disk, closed window", 100, 0, &quick, 3.9, 3, NULL,
	    "writes were slow, but the disk was idle and the processors were not");
}

/* --- a pipe to gzip, which has no calipers, only its process's documents --- */

struct member {
	int pid;
	const char *program;
	double cpu, cpu_wait, bytes_in, bytes_out, waits_in, waits_out;
};

static void
process_write(struct nw_batch *b, int64_t id, const struct member *m, int windows, bool with_pipes)
{
	static const char *const names[] = { "cpu_user", "cpu_wait", "window", "report",
		"pipe_read_bytes", "pipe_write_bytes", "pipe_read_s", "pipe_write_s" };
	char subject[128], mid[32];
	struct nw_meta_rec meta = { .id = id,
		.session_id = 1,
		.host_id = 1,
		.xsp_id = 1,
		.mid = mid,
		.event_type = "nw:process",
		.subject_json = subject,
		.params_json = "{\"collectionInterval\":0.1}" };
	struct nw_layout_rec l = {
		.id = id, .meta_id = id, .n_fields = with_pipes ? 8 : 4, .fields = names
	};
	int i;

	snprintf(mid, sizeof(mid), "m%" PRId64, id);
	snprintf(subject, sizeof(subject), "{\"pid\":%d,\"program\":\"%s\"}", m->pid, m->program);
	CHECK(nw_batch_meta(b, &meta) == NW_OK && nw_batch_layout(b, &l) == NW_OK);
	for (i = 0; i < windows; i++) {
		double row[] = { noisy(m->cpu, 0.1), m->cpu_wait, 0.1, i, m->bytes_in, m->bytes_out,
			noisy(m->waits_in, 0.02), noisy(m->waits_out, 0.02) };
		int64_t at = T0 + (i + 1) * (int64_t)STEP;

		CHECK(nw_batch_rows(b, id, l.n_fields, 1, &at, row, NULL, 0) == NW_OK);
	}
}

static void
pipeline_check(const char *name, bool with_pipes, double gzip_cpu, double gzip_cpu_wait,
    const char *stage, const char *says)
{
	static const struct transfer tr = { "pipeline", { .003, 0 }, { 0, 0 }, { 0, 0 },
		{ .004, 0 }, 0.05, 40, NULL, "" };
	const struct member members[] = {
		{ 101, "mover", 0.002, 0, 0, 4e6, 0, 0.094 },
		{ 300, "gzip", gzip_cpu, gzip_cpu_wait, 4e6, 4e6, 0.002, 0.001 },
	};
	struct nw_batch *b = nw_batch_new();
	struct judged box;
	struct nw_session_rec s = { .id = 1,
		.task_id = name,
		.program = "sh",
		.opened_wall_ns = T0,
		.closed_wall_ns = T0 + tr.windows * (int64_t)STEP,
		.last_data_wall_ns = T0 };
	struct nw_host_rec h = { .id = 1, .name = "dtn-a" };
	struct nw_xsp_rec x = {
		.id = 1, .host_id = 1, .session_id = 1, .sess_id_hex = "00", .peer = "p", .docs = 5
	};
	struct result_run run = {
		.id = 3, .started_wall_ns = T0, .took_ns = 1, .params = transfer_params
	};
	const struct judgement *j;
	struct analysis a;
	char *text;
	size_t i;

	CHECK(nw_batch_session(b, &s) == NW_OK && nw_batch_host(b, &h) == NW_OK &&
	    nw_batch_xsp(b, &x) == NW_OK);
	stage_write(b, 1, 1, "read", "disk", &tr.disk_read, &tr);
	for (i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		process_write(b, 10 + (int64_t)i, &members[i], tr.windows, with_pipes);
	judged_begin(&box, name, b, &a);
	j = &a.judgement;
	CHECK(j->limit.known &&
	    strcmp(nw_stage_kind_name(j->path.stage[j->limit.stage].kind), stage) == 0);
	if (strstr(j->sentence, says) == NULL) {
		fprintf(stderr, "%s: %s\n", name, j->sentence);
		CHECK(!"the sentence says it");
	}
	text = resultdoc_build(&a, &run);
	transfer_claims_check(text);
	CHECK((strstr(text, "\"words\":\"program gzip\",\"program\":\"gzip\"") != NULL) ==
	    with_pipes);
	/* sh became it */
	CHECK(strstr(text, "\"program\":\"mover\"") != NULL ||
	    strstr(text, "\"program\": \"mover\"") != NULL);
	free(text);
	analysis_clear(&a);
	judged_end(&box);
}

/* --- a sender that waits for a processor: within poll() that looks like the network --- */

static void
starved_check(const struct transfer *tr, const char *name, double cpu_wait_s, double throttled_s,
    double tcp_busy_s, double rwnd_s, double cwnd_bytes, double rtt_min_s, const char *cause,
    const char *says)
{
	static const char *const account[] = { "bytes_out", "busy_s", "rwnd_limited_s",
		"sndbuf_limited_s", "rtt_s", "cwnd_bytes", "rtt_min_s" };
	const struct member sender = { 101, "mover", 0.002, cpu_wait_s, 0, 0, 0, 0 };
	static const char *const quota[] = { "throttled" };
	struct nw_batch *b = nw_batch_new();
	struct judged box;
	struct analysis a;

	session_write(b, tr);
	process_write(b, 10, &sender, tr->windows, false);
	if (throttled_s > 0)
		single_write(b, 11, "nw:process", "{\"pid\":101,\"program\":\"mover\"}", quota,
		    &throttled_s, 1);
	if (tcp_busy_s > 0)
		single_write(b, 12, "nw:connection",
		    "{\"src\":\"192.0.2.1\",\"dst\":\"192.0.2.2\",\"sport\":1,\"dport\":2}",
		    account,
		    (const double[]){ 1.6e8, tcp_busy_s, rwnd_s, 0, 0.1, cwnd_bytes, rtt_min_s },
		    7);
	judged_begin(&box, name, b, &a);
	CHECK(a.judgement.limit.known != (a.judgement.second < a.judgement.path.n));
	CHECK_STR(a.judgement.cause != NULL ? a.judgement.cause : "none", cause);
	CHECK(isnan(a.judgement.gain.high) || a.judgement.cause == NULL);
	if (strstr(a.judgement.sentence, says) == NULL) {
		fprintf(stderr, "%s: %s\n", name, a.judgement.sentence);
		CHECK(!"the sentence says it");
	}
	analysis_clear(&a);
	judged_end(&box);
}

/* A sender without a processor on a busy host, beside another program of its session that computes
 * for 80 % of one processor's time. */
static void
users_check(const char *name, const char *processors, const char *cause, const char *says)
{
	enum { ROWS = 50 };
	static const char *const cpu[] = { "idle", "iowait" };
	static const double idles[2 * ROWS] = { 0 };
	static const struct member sender = { 101, "mover", 0.002, 0.06, 0, 0, 0, 0 },
				   other = { 102, "cruncher", 0.08, 0, 0, 0, 0, 0 };
	const struct nw_setting_rec setting = {
		.host_id = 1, .name = "cpu.count", .value = processors, .t_wall_ns = T0
	};
	const struct transfer *tr = &transfers[0];
	struct nw_batch *b = nw_batch_new();
	struct judged box;
	struct analysis a;

	session_write(b, tr);
	process_write(b, 10, &sender, tr->windows, false);
	process_write(b, 11, &other, tr->windows, false);
	transfer_host_series(
	    b, 21, 1, "ps:tools:blipp:linux:cpu:utilization", "{}", cpu, 2, idles, 5, ROWS);
	CHECK_INT(nw_batch_setting(b, &setting), NW_OK);
	judged_begin(&box, name, b, &a);
	CHECK_STR(a.judgement.cause != NULL ? a.judgement.cause : "none", cause);
	CHECK(strstr(a.judgement.sentence, says) != NULL);
	if (strstr(a.judgement.sentence, says) == NULL)
		fprintf(stderr, "%s: %s\n", name, a.judgement.sentence);
	analysis_clear(&a);
	judged_end(&box);
}

/* --- a receive window that was full all the time, seen from the sender alone --- */

/* 40 MB/s and a round trip of 0.1 s need 4 MB: a window of 4.2 MB is too small for more; of a
 * window of 20 MB the reader makes no use. */
static void
window_check(const char *name, double window_bytes, const char *cause, const char *says)
{
	static const char *const account[] = { "bytes_out", "busy_s", "rwnd_limited_s",
		"sndbuf_limited_s", "rtt_s", "cwnd_bytes", "snd_wnd" };
	const struct transfer tr = { name, { .002, 0 }, { .003, .09 }, { 0, 0 }, { 0, 0 }, 0.1, 40,
		NULL, "" };
	struct nw_batch *b = nw_batch_new();
	struct judged box;
	struct analysis a;

	session_begin(b, &tr);
	stage_write(b, 1, 1, "read", "disk", &tr.disk_read, &tr);
	stage_write(b, 2, 1, "write", "network", &tr.net_write, &tr);
	single_write(b, 12, "nw:connection",
	    "{\"src\":\"192.0.2.1\",\"dst\":\"192.0.2.2\",\"sport\":1,\"dport\":2}", account,
	    (const double[]){ 1.6e8, 3.95, 3.9, 0, 0.1, 20e6, window_bytes }, 7);
	judged_begin(&box, name, b, &a);
	CHECK(a.judgement.limit.known);
	CHECK_STR(a.judgement.cause != NULL ? a.judgement.cause : "none", cause);
	if (strstr(a.judgement.sentence, says) == NULL) {
		fprintf(stderr, "%s: %s\n", name, a.judgement.sentence);
		CHECK(!"the sentence says it");
	}
	analysis_clear(&a);
	judged_end(&box);
}

/* --- a disk that keeps its receiver waiting: TCP sees a full window --- */

static void
open_window_check(const char *name, double rwnd_s, bool against)
{
	static const char *const account[] = { "bytes_out", "busy_s", "rwnd_limited_s",
		"sndbuf_limited_s" };
	struct result_run run = {
		.id = 3, .started_wall_ns = T0, .took_ns = 1, .params = transfer_params
	};
	char *text;
	struct nw_batch *b = nw_batch_new();
	struct judged box;
	struct analysis a;

	session_write(b, &transfers[2]);
	single_write(b, 12, "nw:connection",
	    "{\"src\":\"192.0.2.1\",\"dst\":\"192.0.2.2\",\"sport\":1,\"dport\":2}", account,
	    (const double[]){ 1.6e8, 3.9, rwnd_s, 0 }, 4);
	judged_begin(&box, name, b, &a);
	CHECK(a.judgement.limit.known &&
	    a.judgement.path.stage[a.judgement.limit.stage].kind == NW_STAGE_DISK_WRITE);
	CHECK_INT(strcmp(a.judgement.confidence, "low") == 0, against);
	text = resultdoc_build(&a, &run);
	transfer_claims_check(text);
	free(text);
	analysis_clear(&a);
	judged_end(&box);
}

/* --- programs that keep their own pace --- */

/* The sender pauses for paused_s of each window of 0.1 s, by `wobble` more or less from window to
 * window. All windows carry equal bytes. */
struct pacer {
	const char *name;
	struct transfer tr;
	double paused_s, wobble, cpu_s, cpu_wait_s;
	const char *stage, *cause, *says;
};

static const struct pacer pacers[] = {
	{ "pauses alone",
	    { "pacer", { .004, 0 }, { .004, .0 }, { .003, .09 }, { .003, 0 }, 0.1, 40, NULL, "" },
	    .085, .1, .002, .001, "sender.host", "pace",
	    "The sending program on dtn-a limited this transfer: it paces itself at 40 MB/s "
	    "(320 Mbit/s)." },
	{ "fits of pauses beside other programs",
	    { "pacer", { .004, 0 }, { .004, .0 }, { .003, .09 }, { .003, 0 }, 0.1, 80, NULL, "" },
	    .03, .9, .002, .055, "sender.host", "pace", "it paces itself at 40 MB/s" },
	{ "short pauses, and late wakings",
	    { "pacer", { .004, 0 }, { .004, .0 }, { .003, .09 }, { .003, 0 }, 0.1, 80, NULL, "" },
	    .007, -.9, .002, .06, "sender.host", "pace", "it paces itself at 40 MB/s" },
	{ "short pauses, and the same lack of processors",
	    { "pacer", { .004, 0 }, { .004, .0 }, { .003, .09 }, { .003, 0 }, 0.1, 80, NULL, "" },
	    .007, .2, .002, .06, "sender.host", "processors", "had to wait for a processor" },
	{ "the same pause each time beside other programs",
	    { "pacer", { .004, 0 }, { .004, .0 }, { .003, .09 }, { .003, 0 }, 0.1, 80, NULL, "" },
	    .03, 0, .002, .055, "sender.host", "processors", "had to wait for a processor" },
	{ "computes, and pauses little",
	    { "pacer", { .004, 0 }, { .004, .0 }, { .003, .09 }, { .003, 0 }, 0.1, 80, NULL, "" },
	    .015, 0, .075, .001, "sender.host", "computing", "busy computing" },
	{ "pauses beside a slow disk",
	    { "pacer", { .075, 0 }, { .004, .0 }, { .003, .09 }, { .003, 0 }, 0.1, 80, NULL, "" },
	    .015, .9, .002, .001, "disk.read", NULL, "Disk read on dtn-a limited" },
	{ "pauses beside a slow network",
	    { "pacer", { .004, 0 }, { .004, .07 }, { .003, .08 }, { .003, 0 }, 0.1, 80, NULL, "" },
	    .015, 0, .002, .001, "network", NULL, "The network path" },
};

static void
pauses_write(struct nw_batch *b, const struct pacer *p)
{
	static const char *const names[] = { "cpu_user", "cpu_wait", "paused_s", "window",
		"report" };
	struct nw_meta_rec meta = { .id = 10,
		.session_id = 1,
		.host_id = 1,
		.xsp_id = 1,
		.mid = "pauses",
		.event_type = "nw:process",
		.subject_json = "{\"pid\":101,\"program\":\"mover\"}",
		.params_json = "{\"collectionInterval\":0.1}" };
	struct nw_layout_rec l = { .id = 10, .meta_id = 10, .n_fields = 5, .fields = names };
	int i;

	CHECK(nw_batch_meta(b, &meta) == NW_OK && nw_batch_layout(b, &l) == NW_OK);
	for (i = 0; i < p->tr.windows; i++) {
		/* ten windows of more, ten of less */
		double more = i / 10 % 2 == 0 ? p->wobble : -p->wobble,
		       row[] = { p->cpu_s, p->cpu_wait_s - more * p->paused_s,
			       p->paused_s * (1 + more), 0.1, i };
		int64_t at = T0 + (i + 1) * (int64_t)STEP;

		CHECK(nw_batch_rows(b, 10, 5, 1, &at, row, NULL, 0) == NW_OK);
	}
}

/* No gain of faster hardware is stated, but the route may have been faster without the pauses. */
static void
pace_gain_check(struct judgement *j)
{
	const double rate = j->bytes_per_s;
	const struct gain_history h = { 4 * rate, 5 * rate, 6 * rate, 5.5 * rate, T0 };

	CHECK(isnan(j->gain.about) && isnan(j->gain.low) && isnan(j->gain.high));
	judge_add_history(j, &h);
	CHECK_INT(j->gain.source, GAIN_HISTORY);
	CHECK_NEAR(j->gain.low, 4, 1e-9, 0);
	CHECK_NEAR(j->gain.about, 5, 1e-9, 0);
	CHECK_NEAR(j->gain.high, 6, 1e-9, 0);
}

static void
pace_check(const struct pacer *p)
{
	struct result_run run = {
		.id = 3, .started_wall_ns = T0, .took_ns = 1, .params = transfer_params
	};
	char *text;
	struct nw_batch *b = nw_batch_new();
	struct judged box;
	const struct judgement *j;
	struct analysis a;

	session_write(b, &p->tr);
	pauses_write(b, p);
	judged_begin(&box, p->name, b, &a);
	j = &a.judgement;
	CHECK(j->limit.known);
	CHECK_STR(nw_stage_kind_name(j->path.stage[j->limit.stage].kind), p->stage);
	CHECK_STR(j->cause != NULL ? j->cause : "none", p->cause != NULL ? p->cause : "none");
	if (strstr(j->sentence, p->says) == NULL) {
		fprintf(stderr, "%s: %s\n", p->name, j->sentence);
		CHECK(!"the sentence says it");
	}
	if (p->cause != NULL && strcmp(p->cause, "pace") == 0)
		pace_gain_check(&a.judgement);
	text = resultdoc_build(&a, &run);
	CHECK(text != NULL);
	free(text);
	analysis_clear(&a);
	judged_end(&box);
}

/* The kernel counts a child that was waited for with its parent as well: that is no byte that
 * nobody saw. A sender's own account of unseen bytes (n = 3) tells so also where the process
 * between parent and child was not reported. */
static void
seen_check(const char *name, size_t n, const char *child_subject)
{
	static const char *const names[] = { "seen_read", "rchar", "unseen_read" };
	static const double parent[] = { 0, 1e8, 0 }, child[] = { 8e7, 1e8, 2e7 };
	struct result_run run = {
		.id = 3, .started_wall_ns = T0, .took_ns = 1, .params = transfer_params
	};
	char *text;
	struct nw_batch *b = nw_batch_new();
	struct judged box;
	struct analysis a;
	json_t *doc;

	session_write(b, &transfers[0]);
	single_write(b, 10, "nw:process", "{\"pid\":101,\"ppid\":1,\"program\":\"mover\"}", names,
	    parent, n);
	single_write(b, 11, "nw:process", child_subject, names, child, n);
	judged_begin(&box, name, b, &a);
	text = resultdoc_build(&a, &run);
	transfer_claims_check(text);
	CHECK((doc = json_loads(text, 0, NULL)) != NULL);
	CHECK_NEAR(
	    json_number_value(json_object_get(json_object_get(doc, "quality"), "bytes_seen_share")),
	    0.8, 1e-9, 0);
	json_decref(doc);
	free(text);
	analysis_clear(&a);
	judged_end(&box);
}

/* A session without a measured call: which way its bytes went, by the kernel's counts. */
static void
nothing_check(const char *name, const char *subject, const double values[4], const char *sentence,
    const char *reason, const char *quality)
{
	static const char *const names[] = { "unseen_read", "read_bytes", "write_bytes",
		"pipe_read_bytes" };
	struct transfer tr = transfers[0];
	struct result_run run = {
		.id = 3, .started_wall_ns = T0, .took_ns = 1, .params = transfer_params
	};
	char *text;
	struct nw_batch *b = nw_batch_new();
	struct judged box;
	struct analysis a;

	tr.windows = 0;
	session_write(b, &tr);
	single_write(b, 10, "nw:process", subject, names, values, 4);
	judged_begin(&box, name, b, &a);
	CHECK(strstr(a.judgement.sentence, sentence) != NULL);
	CHECK(a.judgement.n_reasons > 0 && strstr(a.judgement.reasons[0], reason) != NULL);
	text = resultdoc_build(&a, &run);
	transfer_claims_check(text);
	CHECK(strstr(text, quality) != NULL);
	free(text);
	analysis_clear(&a);
	judged_end(&box);
}

static void
nothing_checks(void)
{
	static const char mapped[] = "{\"pid\":9,\"program\":\"m\",\"unseen_by\":\"memory-map\"}",
			  plain[] = "{\"pid\":9,\"program\":\"m\"}";

	nothing_check("mapped", mapped, (double[]){ 0, 2e8, 1e8, 0 },
	    "its bytes moved outside the calls that are measured",
	    "moved bytes through memory maps: the kernel counted 300 MB",
	    "\"unseen_by\":\"memory-map\",\"unseen_bytes\":300000000.0");
	nothing_check("past calls", plain, (double[]){ 5e6, 0, 0, 0 },
	    "its bytes moved outside the calls that are measured",
	    "m on dtn-a moved bytes past the measured calls: the kernel counted 5 MB",
	    "\"unseen_by\":null,\"unseen_bytes\":5000000.0");
	nothing_check("late", "{\"pid\":9,\"program\":\"m\",\"bytes_before\":27200000}",
	    (double[]){ 5e6, 0, 0, 0 }, "its bytes moved outside the calls that are measured",
	    "m on dtn-a moved bytes past the measured calls",
	    "\"bytes_before\":27200000.0,\"notes\":[\"dtn-a does not report its clock.\","
	    "\"dtn-b does not report its clock.\","
	    "\"The measurement began in the middle: 27.2");
	nothing_check("local", plain, (double[]){ 4096, 0, 0, 5e6 },
	    "its bytes stayed between programs of one host", "No operation that moved bytes",
	    "\"unseen_bytes\":null");
	nothing_check("nothing", plain, (double[]){ 4096, 4096, 0, 0 }, "nothing was seen to move",
	    "No operation that moved bytes", "\"unseen_bytes\":null");
}

/* --- two clocks --- */

/* What the box found of a host's clock when they talked: one exchange took long, one was short. */
static void
exchanges_write(struct nw_batch *b, int64_t id, int64_t host, double offset_s)
{
	static const char *const names[] = { "offset_s", "bound_s" };
	struct nw_meta_rec m = { .id = id,
		.host_id = host,
		.mid = "c",
		.event_type = "nw:clock",
		.subject_json = "{}",
		.params_json = "{}" };
	struct nw_layout_rec l = { .id = id, .meta_id = id, .n_fields = 2, .fields = names };
	const double row[2][2] = { { offset_s + 0.4, 0.5 }, { offset_s + 0.0001, 0.0004 } };
	const int64_t at[2] = { T0 - 1000000000, T0 + 1000000 };
	int i;

	CHECK(nw_batch_meta(b, &m) == NW_OK && nw_batch_layout(b, &l) == NW_OK);
	for (i = 0; i < 2; i++)
		CHECK(nw_batch_rows(b, id, 2, 1, &at[i], row[i], NULL, 0) == NW_OK);
}

/* The receiver's clock is wrong by so much. Where the box knows, the transfer looks as it was. */
static void
clocks_check(double ahead_s, bool known)
{
	static const struct transfer tr = { "clocks", { .01, 0 }, { .09, 0 }, { .09, 0 },
		{ .01, 0 }, 0.05, 40, "network", "" };
	char path[128], why[STORE_WHY_BYTES], *text;
	struct result_run run = {
		.id = 3, .started_wall_ns = T0, .took_ns = 1, .params = transfer_params
	};
	struct nw_batch *b = nw_batch_new();
	struct store_reader *r = NULL;
	struct store *st = NULL;
	struct analysis a;

	snprintf(path, sizeof(path), "%s/clocks %g %d.db", dir, ahead_s, known);
	CHECK(store_open(path, &store_opts_default, &st, why) == NW_OK);
	ahead_ns = llround(ahead_s * 1e9);
	session_write(b, &tr);
	ahead_ns = 0;
	exchanges_write(b, 50, 1, 0);
	if (known)
		exchanges_write(b, 51, 2, ahead_s);
	CHECK(store_submit(st, b) == NW_OK);
	store_sync(st);
	CHECK(store_reader_open(path, &r, why) == NW_OK);
	CHECK_INT(analysis_run(r, 1, &transfer_params, &a), NW_OK);
	text = resultdoc_build(&a, &run);
	transfer_claims_check(text);
	if (known) {
		/* the clock is known to a tenth of a millisecond */
		CHECK_INT(a.evidence.n_windows, tr.windows + 1);
		CHECK(a.judgement.limit.known);
		CHECK_STR(nw_stage_kind_name(a.judgement.path.stage[a.judgement.limit.stage].kind),
		    "network");
		CHECK_INT(a.evidence.hosts[0].ahead_ns, 0);
		CHECK_INT(a.evidence.hosts[1].ahead_ns, llround((ahead_s + 0.0001) * 1e9));
		CHECK(strstr(text,
			  ahead_s > 0 ? "The clock of dtn-b is 2.5 s ahead of the box's, give or "
					"take 0.0004 s"
				      : "The clock of dtn-b is 8.64e+04 s behind the box's, give "
					"or take 0.0004 s") != NULL);
	} else {
		CHECK(a.evidence.n_windows > (size_t)tr.windows + 20);
		CHECK(strstr(text, "The clock of dtn-b") == NULL);
	}
	free(text);
	analysis_clear(&a);
	store_reader_close(r);
	store_close(st);
}

/* --- phases --- */

/* First the disk, then the program: the limit of the whole is neither, and none of the others. The
 * second half may be the disk, too, by waits outside its calls: then nothing changed. */
static void
phases_check(void)
{
	static const struct transfer tr = { "phases", { .095, 0 }, { .002, 0 }, { .001, .094 },
		{ .002, 0 }, 0.05, 40, NULL, "" };
	char path[128], why[STORE_WHY_BYTES];
	struct nw_batch *b = nw_batch_new();
	struct store_reader *r = NULL;
	struct store *st = NULL;
	struct analysis a;
	size_t i;

	snprintf(path, sizeof(path), "%s/phases.db", dir);
	CHECK(store_open(path, &store_opts_default, &st, why) == NW_OK);
	reading_windows = 22;
	session_write(b, &tr);
	reading_windows = INT_MAX;
	CHECK(store_submit(st, b) == NW_OK);
	store_sync(st);
	CHECK(store_reader_open(path, &r, why) == NW_OK);
	CHECK_INT(analysis_run(r, 1, &transfer_params, &a), NW_OK);
	CHECK(!a.judgement.limit.known);
	CHECK_INT(a.judgement.limit.bottleneck.n_candidates, 2);
	for (i = 0; i < a.judgement.path.n; i++)
		CHECK_INT(a.judgement.limit.tests[i].candidate,
		    a.judgement.path.stage[i].kind == NW_STAGE_DISK_READ ||
			a.judgement.path.stage[i].kind == NW_STAGE_SENDER_HOST);
	CHECK(a.segments.n == 2 && a.segments.segment[1].hidden != 0 &&
	    a.segments.segment[1].stage == a.segments.segment[0].stage);
	CHECK(strstr(a.judgement.sentence, "disk read on dtn-a or the sending program") != NULL);
	CHECK(strstr(a.judgement.sentence, "changed") == NULL);
	for (i = 0; i < a.judgement.n_reasons; i++)
		CHECK(strncmp(a.judgement.reasons[i], "Until ", 6) != 0);
	if (check_failed > 0)
		fprintf(stderr, "%s\n", a.judgement.sentence);
	analysis_clear(&a);
	store_reader_close(r);
	store_close(st);
}

/* --- the same when its rows are gone --- */

struct outcome {
	bool known;
	enum nw_stage_kind kind;
	double bytes;
	size_t n_windows;
};

static void
outcome_of(const char *path, struct outcome *o)
{
	char why[STORE_WHY_BYTES];
	struct store_reader *r = NULL;
	const struct judgement *j;
	struct analysis a;

	memset(o, 0, sizeof(*o));
	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	CHECK_INT(analysis_run(r, 1, &transfer_params, &a), NW_OK);
	j = &a.judgement;
	o->known = j->limit.known;
	o->kind = o->known ? j->path.stage[j->limit.stage].kind : 0;
	o->bytes = j->bytes;
	o->n_windows = a.evidence.n_windows;
	analysis_clear(&a);
	store_reader_close(r);
}

/* Five minutes of 0.1 s windows, judged from its rows, and again from the buckets of 10 s that
 * became of them. */
static void
rolled_check(const struct transfer *brief, const char *sender)
{
	struct store_opts opts = store_opts_default;
	struct transfer tr = *brief;
	struct store *st = NULL;
	struct nw_batch *b = nw_batch_new();
	struct store_stats stats = { 0 };
	struct outcome rows, buckets;
	char path[128], why[STORE_WHY_BYTES];
	int i;

	tr.windows = 3000;
	snprintf(path, sizeof(path), "%s/%s %s.db", dir, sender, tr.name);
	CHECK(store_open(path, &opts, &st, why) == NW_OK);
	session_write(b, &tr);
	CHECK(nw_batch_seal(b, 1) == NW_OK && store_submit(st, b) == NW_OK);
	store_close(st);
	outcome_of(path, &rows);
	CHECK_INT(rows.n_windows, tr.windows);
	opts.keep_ns[STORE_ROWS] = 1;
	CHECK(store_open(path, &opts, &st, why) == NW_OK);
	for (i = 0;
	     i < 500 * check_patience() && stats.rolled_rows[STORE_ROWS] < (uint64_t)4 * 3000;
	     i++) {
		usleep(10000);
		store_get_stats(st, &stats);
	}
	store_close(st);
	CHECK_INT(stats.rolled_rows[STORE_ROWS], 4 * 3000);
	outcome_of(path, &buckets);
	CHECK(buckets.n_windows >= 30 && buckets.n_windows <= 32);
	CHECK_INT(buckets.known, rows.known);
	CHECK_INT(buckets.kind, rows.kind);
	CHECK_NEAR(buckets.bytes, rows.bytes, 1e-9, 0);
	if (buckets.known != rows.known)
		fprintf(stderr, "%s\n", tr.name);
}

/* --- an active test of the same path beside the transfer at 40 MB/s --- */

static const struct active {
	const char *name;
	size_t transfer;
	double mbit_per_s, streams, apart_s, loss;
	int witness; /* -1: none; else enum agreement */
	bool says_network;
	const char *detail;
} actives[] = {
	{ "test with room", 0, 940, 1, 720, NAN, AGREES_NOT, false,
	    "an active test of the same path got 118 MB/s (940 Mbit/s) with 1 stream 12 min 0 s "
	    "before, 2.9 times the rate of this transfer: for 10 s the path had room for at least "
	    "that" },
	{ "test alike", 0, 330, 1, 720, NAN, AGREES, true, "with 1 stream 12 min 0 s before" },
	{ "test of several streams", 0, 940, 4, 720, NAN, NO_OPINION, false,
	    "(940 Mbit/s) with 4 streams 12 min 0 s before" },
	{ "test of half an hour ago", 0, 940, 1, 1800, NAN, NO_OPINION, false,
	    "30 min 0 s before" },
	{ "test of last night", 0, 940, 1, 4000, NAN, -1, false, "" },
	{ "test during the session", 0, 940, 1, 0, NAN, AGREES_NOT, false, "during the session" },
	{ "test after the session", 0, 940, 1, -60, NAN, AGREES_NOT, false, "1 min 0 s after" },
	{ "slow disk, room", 2, 940, 1, 720, NAN, AGREES, false, "(940 Mbit/s)" },
	{ "slow disk, alike", 2, 330, 1, 720, NAN, AGREES_NOT, true, "(330 Mbit/s)" },
	{ "slow disk, no room", 2, 100, 1, 720, NAN, NO_OPINION, false, "(100 Mbit/s)" },
	{ "test of loss", 0, NAN, NAN, 720, 0.02, NO_OPINION, false,
	    "an active test lost 2 % of 600 packets 12 min 0 s before" },
};

static void
active_put(const char *path, const struct active *c)
{
	struct nw_active_test t = { .run = "run",
		.kind = isnan(c->loss) ? NW_TEST_THROUGHPUT : NW_TEST_LATENCY,
		.src = "dtn-a",
		.dst = "dtn-b",
		.succeeded = true };
	const int64_t begin = T0, end = T0 + 40 * (int64_t)STEP;
	char why[STORE_WHY_BYTES];
	size_t added;
	int i;

	for (i = 0; i < NW_TEST_FIELD_COUNT; i++)
		t.value[i] = NAN;
	t.value[NW_TEST_bits_per_s] = c->mbit_per_s * 1e6;
	t.value[NW_TEST_streams] = c->streams;
	t.value[NW_TEST_loss] = c->loss;
	t.value[NW_TEST_packets_sent] = isnan(c->loss) ? NAN : 600;
	if (c->apart_s < 0)
		t.start_wall_ns = end - (int64_t)(c->apart_s * 1e9);
	else
		t.start_wall_ns = begin - (int64_t)(c->apart_s * 1e9) - INT64_C(10000000000);
	t.end_wall_ns = t.start_wall_ns + INT64_C(10000000000);
	CHECK_INT(store_tests_add(path, &t, 1, &added, why), NW_OK);
	CHECK_INT(added, 1);
	/* the way back, and another pair, are other paths */
	snprintf(t.run, sizeof(t.run), "back");
	snprintf(t.src, sizeof(t.src), "dtn-b");
	snprintf(t.dst, sizeof(t.dst), "dtn-a");
	t.start_wall_ns = t.end_wall_ns = begin;
	CHECK_INT(store_tests_add(path, &t, 1, &added, why), NW_OK);
}

static void
active_check(const struct active *c)
{
	struct result_run run = {
		.id = 3, .started_wall_ns = T0, .took_ns = 1, .params = transfer_params
	};
	const struct transfer *tr = &transfers[c->transfer];
	char path[128], why[STORE_WHY_BYTES], *text;
	struct nw_batch *b = nw_batch_new();
	const struct witness *w, *found = NULL;
	struct store_reader *r = NULL;
	struct store *st = NULL;
	struct analysis a;

	snprintf(path, sizeof(path), "%s/%s.db", dir, c->name);
	CHECK(store_open(path, &store_opts_default, &st, why) == NW_OK);
	session_write(b, tr);
	CHECK(store_submit(st, b) == NW_OK);
	store_sync(st);
	active_put(path, c);
	CHECK(store_reader_open(path, &r, why) == NW_OK);
	CHECK_INT(analysis_run(r, 1, &transfer_params, &a), NW_OK);
	/* never changes the verdict */
	CHECK(a.judgement.limit.known);
	CHECK_STR(
	    nw_stage_kind_name(a.judgement.path.stage[a.judgement.limit.stage].kind), tr->stage);
	for (w = a.judgement.witnesses; w < a.judgement.witnesses + a.judgement.n_witnesses; w++)
		if (w->name == NW_WITNESS_ACTIVE_TEST)
			found = w;
	CHECK_INT(found != NULL ? (int)found->agrees : -1, c->witness);
	if (found != NULL && strstr(found->detail, c->detail) == NULL) {
		fprintf(stderr, "%s: %s\n", c->name, found->detail);
		CHECK(!"the detail says it");
	}
	CHECK_INT(found != NULL && strstr(found->detail, "had room") != NULL,
	    c->mbit_per_s >= 1.5 * 320 && c->apart_s != 0 && c->apart_s <= 900);
	CHECK_INT(found != NULL && found->says == NW_SAYS_NETWORK, c->says_network);
	CHECK_INT(strcmp(a.judgement.confidence, "low") == 0, c->witness == AGREES_NOT);
	text = resultdoc_build(&a, &run);
	transfer_claims_check(text);
	CHECK((strstr(text, "\"apart_s\"") != NULL) == (found != NULL));
	free(text);
	analysis_clear(&a);
	store_reader_close(r);
	store_close(st);
}

int
main(void)
{
	char command[128];
	size_t i;

	if (!check_dir(dir))
		return 1;
	transfer_init();
	for (i = 0; i < sizeof(transfers) / sizeof(transfers[0]); i++)
		transfer_check(&transfers[i]);
	window_check("window of the path", 4.2e6, "window",
	    "The receive window of 4.20 MB on the network path from dtn-a");
	window_check("window of a slow reader", 20e6, "reader",
	    "The program that reads behind the network path from dtn-a");
	for (i = 0; i < sizeof(pacers) / sizeof(pacers[0]); i++)
		pace_check(&pacers[i]);
	cached_check("network and disk", .02, 1.6e8, NULL, true);
	cached_check("network and memory", .02, 1e6, NULL, false);
	tie_check("sendfile, slow link", 3.95, -1, "network", "medium");
	tie_check("sendfile, slow disk", 0.4, 1.6e8, "disk.read", "medium");
	tie_check("sendfile, nobody else", 0, -1, NULL, "none");
	tie_check("threads without sendfile", 0.4, 0, NULL, "low");
	users_check("busy with own programs", "1", "processors",
	    "The sending program on dtn-a, which had to wait for a processor, limited");
	users_check("busy with other programs", "8", "hog",
	    "The sending program on dtn-a, which had to wait for a processor that other programs "
	    "used, limited");
	starved_check(&transfers[0], "processors are there", 0.01, 0, 0, 0, 5e6, 0.1, "none",
	    "The network path from dtn-a to dtn-b limited");
	starved_check(&transfers[0], "processors may be late", 0.03, 0, 0, 0, 5e6, 0.1, "none",
	    "The network path from dtn-a to dtn-b limited");
	starved_check(&transfers[0], "no processor for most", 0.06, 0, 0, 0, 5e6, 0.1, "processors",
	    "The sending program on dtn-a, which had to wait for a processor, limited");
	starved_check(&transfers[0], "no processor, but a full network", 0.06, 0, 3.95, 0, 5e6, 0.1,
	    "none", "The network path from dtn-a to dtn-b limited");
	/* 40 MB/s and a round trip of 0.1 s: 4 MB are in flight, of 20 MB that the network takes */
	starved_check(&transfers[0], "no processor, and a long path", 0.08, 0, 3.95, 0, 20e6, 0.1,
	    "processors",
	    "The sending program on dtn-a, which had to wait for a processor, limited");
	/* the same in a queue: 5 ms without one */
	starved_check(&transfers[0], "no processor, and a full queue", 0.08, 0, 3.95, 0, 20e6,
	    0.005, "none", "the network path from dtn-a to dtn-b held the bytes for");
	starved_check(&transfers[0], "no processor, and a network at rest", 0.08, 0, 0.05, 0, 5e6,
	    0.1, "processors",
	    "The sending program on dtn-a, which had to wait for a processor, limited");
	starved_check(&transfers[0], "no processor, and half a network", 0.08, 0, 3.8, 2, 5e6, 0.1,
	    "processors",
	    "Both the network path from dtn-a to dtn-b and the sending program on dtn-a, which had "
	    "to wait for a processor, limited this transfer to 40 MB/s (320 Mbit/s); without one "
	    "of "
	    "the two it would have gone faster.");
	starved_check(&transfers[0], "no processor, and late answers", 0.08, 0, 2.4, 0, 5e6, 0.1,
	    "processors",
	    "The sending program on dtn-a, which had to wait for a processor, limited");
	starved_check(&transfers[0], "a quota", 0.095, 3.5, 0, 0, 5e6, 0.1, "quota",
	    "sending program on dtn-a, which had used up its quota of processor time,");
	/* a disk and a network that hardly carries more; and a network that is only long */
	starved_check(&transfers[1], "a disk before a full network", 0.01, 0, 3.95, 0, 5e6, 0.1,
	    "none",
	    "Both disk read on dtn-a and the network path from dtn-a to dtn-b limited this "
	    "transfer to 40 MB/s (320 Mbit/s); lifting one of the two gains little.");
	starved_check(&transfers[1], "a disk before a long path", 0.01, 0, 3.95, 0, 20e6, 0.1,
	    "none", "Disk read on dtn-a limited this transfer to 40 MB/s (320 Mbit/s).");
	starved_check(&transfers[1], "processors are not the disk", 0.01, 0, 0, 0, 5e6, 0.1, "none",
	    "Disk read on dtn-a limited");
	starved_check(&transfers[1], "no processor looks like a disk", 0.095, 0, 0, 0, 5e6, 0.1,
	    "processors", "The sending program on dtn-a, which had to wait");
	open_window_check("window closed", 3, false);
	open_window_check("window open", 0, true);
	seen_check("seen", 2, "{\"pid\":300,\"ppid\":101,\"program\":\"mover\"}");
	seen_check("unseen", 3, "{\"pid\":300,\"ppid\":999,\"program\":\"mover\"}");
	nothing_checks();
	phases_check();
	clocks_check(2.5, true);
	clocks_check(2.5, false);
	clocks_check(-86400, true);
	pipeline_check("pipes told", true, 0.095, 0.001, "host",
	    "The program gzip on dtn-a, which was busy computing, limited");
	pipeline_check("no processor", true, 0.035, 0.06, "host",
	    "The program gzip on dtn-a, which had to wait for a processor,");
	pipeline_check(
	    "half of each", true, 0.02, 0.02, "host", "The program gzip on dtn-a limited");
	pipeline_check("pausing", true, 0.01, 0.01, "host",
	    "The program gzip on dtn-a, which paused by itself or");
	pipeline_check("pipes not told", false, 0.095, 0, "host",
	    "The program on dtn-a, which paused by itself or waited for something");
	test_idle_disk();
	for (i = 0; i < sizeof(transfers) / sizeof(transfers[0]); i++)
		rolled_check(&transfers[i], "ours");
	cached_check(
	    "network and throttle unseen", .001, 1.6e8, &(struct throttle){ 4.2e7, 0 }, true);
	cached_check("network and high throttle", .02, 1.6e8, &(struct throttle){ 9e7, 0 }, false);
	cached_check("network and full queue", .02, 1.6e8, &(struct throttle){ 9e7, 9e5 }, true);
	fields[3] = "unknown"; /* original senders do not tell their window */
	for (i = 0; i < sizeof(transfers) / sizeof(transfers[0]); i++)
		rolled_check(&transfers[i], "original");
	for (i = 0; i < sizeof(actives) / sizeof(actives[0]); i++)
		active_check(&actives[i]);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command) != 0)
		return 1;
	return check_done("test_judge");
}
