/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of known documents in a real store become evidence on the grid. */
#include "analyze/verdict/evidence/evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "narrows/eventtype.h"
#include "narrows/err.h"
#include "narrows/store.h"
#include "tests/check.h"

#define T0 INT64_C(1700000000000000000)
#define MS INT64_C(1000000)

static char dir[] = "/tmp/test_evidence.XXXXXX";

/* --- a session, document by document --- */

static struct nw_batch *
session_begin(void)
{
	static const char *const hosts[] = { "dtn-a", "dtn-b" };
	struct nw_session_rec s = { .id = 1,
		.task_id = "task",
		.program = "mover",
		.opened_wall_ns = T0,
		.closed_wall_ns = T0 + 4000 * MS };
	struct nw_batch *b = nw_batch_new();
	int64_t i;

	CHECK(nw_batch_session(b, &s) == NW_OK);
	for (i = 1; i <= 2; i++) {
		struct nw_host_rec h = { .id = i, .name = hosts[i - 1] };
		struct nw_xsp_rec x = { .id = i,
			.host_id = i,
			.session_id = 1,
			.sess_id_hex = "00",
			.peer = "p",
			.docs = 3,
			.rejected = 1,
			.dropped = 2 };

		CHECK(nw_batch_host(b, &h) == NW_OK && nw_batch_xsp(b, &x) == NW_OK);
	}
	return b;
}

enum { FIELDS = 8 };

struct document {
	int64_t id, host, session;
	const char *event, *subject, *params;
	const char *fields[FIELDS];
};

static void
document_add(struct nw_batch *b, const struct document *d)
{
	struct nw_meta_rec m = { .id = d->id,
		.session_id = d->session,
		.host_id = d->host,
		.xsp_id = d->host,
		.mid = d->event,
		.event_type = d->event,
		.subject_json = d->subject,
		.params_json = d->params != NULL ? d->params : "{}" };
	struct nw_layout_rec l = { .id = d->id, .meta_id = d->id, .fields = d->fields };

	while (l.n_fields < FIELDS && d->fields[l.n_fields] != NULL)
		l.n_fields++;
	CHECK(nw_batch_meta(b, &m) == NW_OK && nw_batch_layout(b, &l) == NW_OK);
}

static void
row_add(struct nw_batch *b, const struct document *d, int64_t after_ms, const double *values)
{
	int64_t at = T0 + after_ms * MS;
	size_t n = 0;

	while (n < FIELDS && d->fields[n] != NULL)
		n++;
	CHECK(nw_batch_rows(b, d->id, n, 1, &at, values, NULL, 0) == NW_OK);
}

static void
session_load(struct nw_batch *b, const char *name, struct evidence *e)
{
	char path[128], why[STORE_WHY_BYTES];
	struct store_reader *r = NULL;
	struct store *st = NULL;

	snprintf(path, sizeof(path), "%s/%s.db", dir, name);
	CHECK(store_open(path, &store_opts_default, &st, why) == NW_OK);
	CHECK(store_submit(st, b) == NW_OK);
	store_sync(st);
	CHECK(store_reader_open(path, &r, why) == NW_OK);
	CHECK(store_reader_begin(r) == NW_OK);
	CHECK_INT(evidence_load(r, 1, EVIDENCE_OF_TIED, e), NW_OK);
	store_reader_end(r);
	store_reader_close(r);
	store_close(st);
}

/* --- the grid --- */

static const struct document reads = { 1, 1, 1, "nl:tools:calipers:summary:read",
	"{\"type\":\"disk\",\"pid\":7,\"program\":\"mover\"}", NULL,
	{ "sum_v", "count", "window", "busy", "mean_r" } };
static const struct document process = { 2, 1, 1, "nw:process",
	"{\"pid\":7,\"ppid\":1,\"program\":\"mover\"}", NULL,
	{ "cpu_user", "cpu_wait", "window", "report", "rchar", "seen_read" } };

/* Windows of 100 ms decide the step although one row covers half a window more. */
static void
test_grid(void)
{
	struct nw_batch *b = session_begin();
	struct evidence e;
	int i;

	document_add(b, &reads);
	for (i = 1; i <= 10; i++)
		row_add(b, &reads, i * 100, (double[]){ 1000, 10, 0.1, 0.05, 2e-3 });
	row_add(b, &reads, 1150, (double[]){ 3000, 30, 0.15, 0.06, 2e-3 });
	session_load(b, "grid", &e);
	CHECK_INT(e.step_ns, 100 * MS);
	CHECK_INT(e.n_windows, 12);
	CHECK_INT(e.t0_wall_ns, T0);
	CHECK_INT(e.n_processes, 1);
	CHECK_STR(e.processes[0].program, "mover");
	CHECK_NEAR(e.processes[0].bytes[NW_OP_DISK_READ][9], 1000, 1e-9, 0);
	CHECK_NEAR(e.processes[0].bytes[NW_OP_DISK_READ][10], 2000, 1e-9, 0);
	CHECK_NEAR(e.processes[0].bytes[NW_OP_DISK_READ][11], 1000, 1e-9, 0);
	CHECK_NEAR(e.processes[0].busy_s[NW_OP_DISK_READ][11], 0.02, 1e-9, 0);
	CHECK_NEAR(e.processes[0].rate_sum[NW_OP_DISK_READ][0], 2e6 * 10, 1e-9, 0);
	CHECK(e.processes[0].bytes[NW_OP_NET_READ] == NULL);
	CHECK_INT(e.first_wall_ns, T0);
	CHECK_INT(e.last_wall_ns, T0 + 1150 * MS);
	CHECK_INT(e.rows, 11);
	evidence_clear(&e);
}

/* Where a row does not tell its window, the row before does, but not across a silence. */
static void
window_check(const char *name, const char *params)
{
	const struct document d = { 1, 1, 1, "nl:tools:calipers:summary:read",
		"{\"type\":\"disk\",\"pid\":7}", params, { "sum_v", "count" } };
	static const int64_t at_ms[] = { 500, 900, 3000, 3500 };
	struct nw_batch *b = session_begin();
	const double *bytes;
	struct evidence e;
	size_t i;

	document_add(b, &d);
	for (i = 0; i < 4; i++)
		row_add(b, &d, at_ms[i], (double[]){ 1000, 1 });
	session_load(b, name, &e);
	CHECK_INT(e.step_ns, 500 * MS);
	CHECK_INT(e.n_windows, 7);
	bytes = e.processes[0].bytes[NW_OP_DISK_READ];
	CHECK_NEAR(bytes[0], 1000, 1e-9, 0);
	CHECK_NEAR(bytes[2] + bytes[3] + bytes[4], 0, 0, 1e-9);
	CHECK_NEAR(bytes[5], 1000, 1e-9, 0);
	CHECK_INT(e.intervals_got, 4);
	CHECK_INT(e.intervals_expected, 4 + 3);
	evidence_clear(&e);
}

static const struct document waits = { 1, 1, 1, "nl:tools:calipers:summary:write",
	"{\"type\":\"network\",\"pid\":7,\"program\":\"mover\"}", NULL,
	{ "sum_v", "count", "window", "busy", "wait" } };

/* A wait of 350 ms that ended in the fifth window began in the second. */
static void
test_long_wait(void)
{
	struct nw_batch *b = session_begin();
	const double *wait;
	struct evidence e;
	int i;

	document_add(b, &waits);
	for (i = 1; i <= 10; i++)
		row_add(b, &waits, i * 100, (double[]){ 1000, 10, 0.1, 0.01, i == 5 ? 0.35 : 0 });
	session_load(b, "wait", &e);
	CHECK_INT(e.n_windows, 10);
	wait = e.processes[0].wait_s[NW_OP_NET_WRITE];
	CHECK_NEAR(wait[0], 0, 0, 1e-6);
	CHECK_NEAR(wait[1], 0.05, 1e-3, 0);
	CHECK_NEAR(wait[2] + wait[3] + wait[4], 0.3, 1e-3, 0);
	CHECK_NEAR(wait[5], 0, 0, 1e-6);
	evidence_clear(&e);
}

/* --- documents of a process --- */

static void
test_process(void)
{
	struct nw_batch *b = session_begin();
	const struct evidence_process *p;
	struct evidence e;
	int i;

	document_add(b, &reads);
	document_add(b, &process);
	for (i = 1; i <= 4; i++) {
		row_add(b, &reads, i * 100, (double[]){ 1000, 10, 0.1, 0.05, 2e-3 });
		if (i != 2) /* report 1 never came */
			row_add(
			    b, &process, i * 100, (double[]){ 0.02, 0.03, 0.1, i - 1, 2000, 1000 });
	}
	session_load(b, "process", &e);
	CHECK_INT(e.n_processes, 1);
	p = &e.processes[0];
	CHECK_INT(p->parent_pid, 1);
	CHECK_NEAR(p->cpu_s, 0.06, 1e-9, 0);
	CHECK_NEAR(p->cpu_wait_s, 0.09, 1e-9, 0);
	CHECK_NEAR(p->cpu[0], 0.02, 1e-9, 0);
	CHECK_NEAR(p->cpu[1], 0, 0, 1e-9);
	CHECK_NEAR(p->kernel_bytes, 6000, 1e-9, 0);
	CHECK_NEAR(p->seen_bytes, 3000, 1e-9, 0);
	CHECK_INT(e.intervals_got, 3);
	CHECK_INT(e.intervals_expected, 4);
	CHECK_INT(e.documents, 6);
	CHECK_INT(e.documents_rejected, 2);
	CHECK_INT(e.documents_dropped, 4);
	evidence_clear(&e);
}

/* Both ends of a connection on a host that names no process: two processes. */
static void
test_ends(void)
{
	static const struct document ends[] = {
		{ 1, 1, 1, "nl:tools:calipers:summary:write",
		    "{\"src\":\"192.0.2.1\",\"sport\":5,\"dst\":\"192.0.2.1\",\"dport\":6}", NULL,
		    { "sum_v", "window" } },
		{ 2, 1, 1, "nl:tools:calipers:summary:read",
		    "{\"src\":\"192.0.2.1\",\"sport\":6,\"dst\":\"192.0.2.1\",\"dport\":5}", NULL,
		    { "sum_v", "window" } },
		{ 3, 1, 1, "nl:tools:calipers:summary:write", "{\"resource\":\"/f\"}", NULL,
		    { "sum_v", "window" } },
	};
	struct nw_batch *b = session_begin();
	struct evidence e;
	size_t i;

	for (i = 0; i < 3; i++) {
		document_add(b, &ends[i]);
		row_add(b, &ends[i], 100, (double[]){ 1000, 0.1 });
	}
	session_load(b, "ends", &e);
	CHECK_INT(e.n_processes, 2);
	CHECK(e.processes[0].bytes[NW_OP_NET_WRITE] != NULL);
	CHECK(e.processes[0].bytes[NW_OP_NET_READ] == NULL);
	CHECK(e.processes[1].bytes[NW_OP_NET_READ] != NULL);
	CHECK(e.processes[1].bytes[NW_OP_DISK_WRITE] != NULL);
	CHECK_INT(e.n_connections, 2);
	CHECK_INT(e.n_files, 1);
	CHECK_STR(e.files[0].path, "/f");
	CHECK_NEAR(e.files[0].write_bytes, 1000, 1e-9, 0);
	evidence_clear(&e);
}

/* --- connections --- */

#define ENDS "\"src\":\"192.0.2.1\",\"sport\":5,\"dst\":\"192.0.2.2\",\"dport\":6"

static const struct document tcp = { 12, 1, 1, "ps:host:tcp", "{" ENDS "}", NULL,
	{ "HCThruOctetsAcked", "SegsRetrans", "SmoothedRTT", "CurCwnd", "linux_busy_time",
	    "linux_rwnd_limited", "linux_sndbuf_limited", "CurRwinRcvd" } };

/* In each tenth of a second 40 ms in flight, of these 10 ms held by the receive window. */
static void
tcp_add(struct nw_batch *b, const struct document *d, int from, int to)
{
	int i;

	document_add(b, d);
	for (i = from; i <= to; i++)
		row_add(b, d, i * 100,
		    (double[]){ i * 5000.0, i, 20, 1e5, i * 40e3, i * 10e3, i * 2e3, 7e4 });
}

static void
tcp_check(const struct evidence_connection *c)
{
	int i;

	CHECK(c->busy != NULL && c->rwnd != NULL && c->resent != NULL && c->rtt != NULL);
	for (i = 1; c->busy != NULL && i < 4; i++) {
		CHECK_NEAR(c->busy[i], 0.04, 1e-9, 0);
		CHECK_NEAR(c->rwnd[i], 0.01, 1e-9, 0);
		CHECK_NEAR(c->resent[i], 1, 1e-9, 0);
		CHECK_NEAR(c->rtt[i], 0.02, 1e-9, 0);
		CHECK_NEAR(c->cwnd[i], 1e5, 1e-9, 0);
	}
	CHECK_NEAR(c->busy_s, 0.16, 1e-9, 0);
	CHECK_NEAR(c->snd_wnd_bytes, 7e4, 1e-9, 0);
}

/* An original sender names its connection in calipers alone; blipp's account joins the sending
 * entry, and lasts over a second order for the same connection. */
static void
test_tcp_original(void)
{
	static const struct document sends = { 10, 1, 1, "nl:tools:calipers:summary:write",
		"{\"type\":\"network\"," ENDS "}", NULL, { "sum_v", "window" } };
	static const struct document answers = { 11, 1, 1, "nl:tools:calipers:summary:read",
		"{\"type\":\"network\"," ENDS "}", NULL, { "sum_v", "window" } };
	struct document again = tcp;
	struct nw_batch *b = session_begin();
	struct evidence e;
	int i;

	again.id = 13;
	document_add(b, &sends);
	document_add(b, &answers);
	for (i = 1; i <= 4; i++) {
		row_add(b, &sends, i * 100, (double[]){ 6000, 0.1 });
		row_add(b, &answers, i * 100, (double[]){ 10, 0.1 });
	}
	tcp_add(b, &tcp, 1, 2);
	tcp_add(b, &again, 3, 4);
	session_load(b, "original", &e);
	CHECK_INT(e.n_connections, 2);
	CHECK_NEAR(e.connections[0].bytes_out, 24000, 1e-9, 0);
	CHECK_NEAR(e.connections[0].sent[2], 5000, 1e-9, 0);
	tcp_check(&e.connections[0]);
	CHECK(isnan(e.connections[1].busy_s));
	evidence_clear(&e);
}

/* Both tell of one connection: the program's own account stays, unless blipp's is denser. */
static void
test_tcp_twice(int asked)
{
	static const struct document own = { 10, 1, 1, "nw:connection", "{\"pid\":7," ENDS "}",
		NULL,
		{ "bytes_out", "busy_s", "rwnd_limited_s", "retrans", "rtt_s", "cwnd_bytes",
		    "snd_wnd" } };
	struct nw_batch *b = session_begin();
	struct evidence e;
	int i;

	document_add(b, &reads);
	document_add(b, &own);
	for (i = 1; i <= 4; i++) {
		double busy_s = i > 4 - asked ? i * 0.04 : NAN;

		row_add(b, &reads, i * 100, (double[]){ 1000, 10, 0.1, 0.05, 2e-3 });
		row_add(b, &own, i * 100,
		    (double[]){ 6000, busy_s, i * 0.01, i, 0.02, 1e5, asked > 1 ? 7e4 : NAN });
	}
	tcp_add(b, &tcp, 1, 4);
	session_load(b, asked > 1 ? "own" : "denser", &e);
	CHECK_INT(e.n_connections, 1);
	CHECK_INT(e.connections[0].pid, 7);
	CHECK_INT(e.connections[0].asked, 4);
	CHECK_NEAR(e.connections[0].bytes_out, 24000, 1e-9, 0);
	CHECK_NEAR(e.connections[0].sent[1], 6000, 1e-9, 0);
	tcp_check(&e.connections[0]);
	evidence_clear(&e);
}

/* The far end runs without nwrun: blipp alone tells of its sending. An order without an answer of
 * the kernel leaves nothing. */
static void
test_tcp_far(void)
{
	static const struct document silent = { 13, 2, 1, "ps:host:tcp",
		"{\"src\":\"192.0.2.2\",\"sport\":6,\"dst\":\"192.0.2.1\",\"dport\":5}", NULL,
		{ "SmoothedRTT" } };
	struct nw_batch *b = session_begin();
	struct evidence e;
	int i;

	document_add(b, &reads);
	document_add(b, &silent);
	for (i = 1; i <= 4; i++)
		row_add(b, &reads, i * 100, (double[]){ 1000, 10, 0.1, 0.05, 2e-3 });
	tcp_add(b, &tcp, 1, 4);
	session_load(b, "far", &e);
	CHECK_INT(e.n_connections, 1);
	CHECK_NEAR(e.connections[0].bytes_out, 20000, 1e-9, 0);
	CHECK_NEAR(e.connections[0].sent[3], 5000, 1e-9, 0);
	tcp_check(&e.connections[0]);
	evidence_clear(&e);
}

/* --- senders that the box's sudden end cut off --- */

static void
connection_add(struct nw_batch *b, int64_t id, const char *provider, const char *end_reason)
{
	const struct nw_xsp_rec x = { .id = id,
		.host_id = 1,
		.session_id = 1,
		.sess_id_hex = "00",
		.peer = "p",
		.provider = provider,
		.end_reason = end_reason };

	CHECK_INT(nw_batch_xsp(b, &x), NW_OK);
}

/* One provider returned and one did not, though cut off twice; the original cannot return. */
static void
test_cut_off(void)
{
	struct nw_batch *b = session_begin();
	struct evidence e;

	connection_add(b, 10, "returns", STORE_BOX_ENDED);
	connection_add(b, 11, "gone", STORE_BOX_ENDED);
	connection_add(b, 12, NULL, STORE_BOX_ENDED);
	connection_add(b, 13, "gone", STORE_BOX_ENDED);
	connection_add(b, 14, "returns", "closed by the peer");
	connection_add(b, 15, NULL, "closed by the peer");
	session_load(b, "cut off", &e);
	CHECK_INT(e.senders_cut_off, 2);
	evidence_clear(&e);
}

/* --- documents of a host --- */

static void
test_host(void)
{
	static const struct document disk = { 5, 1, 0, "ps:tools:blipp:linux:disk:partition:sda",
		"{\"device\":\"sda\"}", NULL, { "read_bytes", "written_bytes", "io_ms" } };
	static const struct document cpu = { 6, 1, 0, "ps:tools:blipp:linux:cpu:utilization", "{}",
		NULL, { "idle", "iowait" } };
	static const double counters[][3] = { { 5e6, 0, 900 }, { 6e6, 0, 950 }, { 1e3, 0, 10 },
		{ 1e3 + 5e5, 5e5, 110 } };
	struct nw_batch *b = session_begin();
	const struct evidence_host *h;
	struct evidence e;
	int i;

	document_add(b, &reads);
	document_add(b, &disk);
	document_add(b, &cpu);
	for (i = 1; i <= 4; i++) {
		row_add(b, &reads, i * 100, (double[]){ 1000, 10, 0.1, 0.05, 2e-3 });
		row_add(b, &disk, i * 100, counters[i - 1]);
		row_add(b, &cpu, i * 100, (double[]){ 0.5, 0.25 });
	}
	session_load(b, "host", &e);
	h = &e.hosts[0];
	CHECK_STR(h->name, "dtn-a");
	CHECK_NEAR(h->disk_busy[1], 0.5, 1e-9, 0);
	CHECK(isnan(h->disk_busy[2])); /* the machine restarted: its counters fell */
	CHECK_NEAR(h->disk_busy[3], 1, 1e-9, 0);
	CHECK_NEAR(h->disk_bytes_per_s[1], 1e7, 1e-9, 0);
	CHECK_NEAR(h->disk_bytes_per_s[3], 1e7, 1e-9, 0);
	CHECK_NEAR(h->cpu_busy[2], 0.25, 1e-9, 0);
	CHECK_NEAR(h->cpu_iowait[2], 0.25, 1e-9, 0);
	evidence_clear(&e);
}

/* --- users of disks and links --- */

static const struct evidence_use *
use_of(const struct evidence *e, int64_t session_id, bool link, const char *place)
{
	size_t i;

	for (i = 0; i < e->n_uses; i++) {
		const struct evidence_use *u = &e->uses[i];

		if (u->session_id == session_id && u->link == link &&
		    (place == NULL || strcmp(u->place, place) == 0))
			return u;
	}
	return NULL;
}

/* Session 2 runs at the same time on the first host, session 3 an hour later. */
static void
others_add(struct nw_batch *b)
{
	static const struct document docs[] = {
		{ 20, 1, 2, "nw:process", "{\"pid\":9,\"program\":\"tar\"}", NULL,
		    { "read_bytes", "write_bytes", "window" } },
		{ 21, 1, 2, "nw:connection", "{\"pid\":9,\"interface\":\"eth0\"}", NULL,
		    { "bytes_in", "bytes_out" } },
		{ 22, 1, 2, "nw:file", "{\"resource\":\"/x\",\"device\":\"sda\"}", NULL,
		    { "read_bytes", "write_bytes" } },
		{ 23, 1, 3, "nw:process", "{\"pid\":9,\"program\":\"tar\"}", NULL,
		    { "read_bytes", "write_bytes", "window" } },
	};
	struct nw_session_rec s = { .id = 2, .task_id = "b", .opened_wall_ns = T0 };
	size_t k;
	int i;

	CHECK(nw_batch_session(b, &s) == NW_OK);
	s = (struct nw_session_rec){ .id = 3, .task_id = "c", .opened_wall_ns = T0 + 3600000 * MS };
	CHECK(nw_batch_session(b, &s) == NW_OK);
	for (k = 0; k < sizeof(docs) / sizeof(docs[0]); k++) {
		document_add(b, &docs[k]);
		for (i = 1; i <= 4; i++)
			row_add(b, &docs[k], i * 100, (double[]){ 3000, 4000, 0.1 });
	}
}

static void
test_uses(void)
{
	static const struct document own = { 2, 1, 1, "nw:process", "{\"pid\":7}", NULL,
		{ "read_bytes", "write_bytes", "window" } };
	static const struct document sda = { 5, 1, 0, "ps:tools:blipp:linux:disk:partition:sda",
		"{\"device\":\"sda\"}", NULL,
		{ "read_bytes", "written_bytes", "io_ms", "queued_read_bytes", "read_limit" } };
	static const struct document eth = { 6, 1, 0, "ps:tools:blipp:linux:network:utilization",
		"{\"interface\":\"eth0\"}", NULL, { "bytes_in", "bytes_out" } };
	static const struct document bucket = { 7, 1, 0, NW_TYPE_QDISC, "{\"interface\":\"eth0\"}",
		NULL, { "bytes", "sent_limit" } };
	struct nw_batch *b = session_begin();
	struct evidence e;
	int i;

	document_add(b, &reads);
	document_add(b, &own);
	document_add(b, &sda);
	document_add(b, &eth);
	document_add(b, &bucket);
	row_add(b, &eth, -5000, (double[]){ 0, 0 }); /* says nothing: five seconds in one row */
	for (i = 0; i <= 4; i++) {
		row_add(b, &sda, i * 100,
		    (double[]){
			1e6 + i * 9000.0, i * 500.0, i, i == 2 ? 4096 : 0, i >= 3 ? 2e5 : 0 });
		row_add(b, &eth, i * 100, (double[]){ 8e9 + i * 200.0, i * 7000.0 });
		row_add(b, &bucket, i * 100, (double[]){ i * 7000.0, i >= 2 ? 1e5 : 0 });
		if (i == 0)
			continue;
		row_add(b, &reads, i * 100, (double[]){ 1000, 10, 0.1, 0.05, 2e-3 });
		row_add(b, &own, i * 100, (double[]){ 5000, 100, 0.1 });
	}
	others_add(b);
	session_load(b, "uses", &e);
	CHECK(use_of(&e, 3, false, NULL) == NULL);
	CHECK_NEAR(use_of(&e, 0, false, "sda")->in[2], 9000, 1e-9, 0);
	CHECK_NEAR(use_of(&e, 0, false, "sda")->queued_s[0][1], 0.1, 1e-9, 0);
	CHECK_NEAR(use_of(&e, 0, false, "sda")->queued_s[0][2], 0, 1e-9, 1e-9);
	CHECK_NEAR(use_of(&e, 0, false, "sda")->looked_s[0][2], 0.1, 1e-9, 0);
	CHECK(use_of(&e, 0, false, "sda")->looked_s[1] == NULL);
	CHECK(isnan(use_of(&e, 0, false, "sda")->limit[0][1]));
	CHECK_NEAR(use_of(&e, 0, false, "sda")->limit[0][2], 2e5, 1e-9, 0);
	CHECK_NEAR(use_of(&e, 0, true, "eth0")->out[0], 7000, 1e-9, 0);
	CHECK(isnan(use_of(&e, 0, true, "eth0")->limit[1][0]));
	CHECK_NEAR(use_of(&e, 0, true, "eth0")->limit[1][1], 1e5, 1e-9, 0);
	CHECK_NEAR(use_of(&e, 1, false, NULL)->in[3], 5000, 1e-9, 0);
	CHECK_NEAR(use_of(&e, 2, false, NULL)->out[1], 4000, 1e-9, 0);
	CHECK_STR(use_of(&e, 2, false, NULL)->program, "tar");
	CHECK_NEAR(use_of(&e, 2, true, "eth0")->out[3], 4000, 1e-9, 0);
	CHECK_INT(e.n_use_files, 1);
	CHECK_STR(e.use_files[0].device, "sda");
	CHECK_NEAR(e.use_files[0].read, 12000, 1e-9, 0);
	CHECK_INT(e.n_processes, 1);
	evidence_clear(&e);
}

/* The second host's clock is two seconds ahead, and the box knows within 10 ms. */
static void
test_clock(void)
{
	static const struct document far = { 3, 2, 1, "nl:tools:calipers:summary:write",
		"{\"type\":\"disk\",\"pid\":9}", NULL, { "sum_v", "window" } };
	static const struct document exchange = { 4, 2, 0, "nw:clock", "{}", NULL,
		{ "offset_s", "bound_s" } };
	struct nw_batch *b = session_begin();
	struct evidence e;
	int i;

	document_add(b, &reads);
	document_add(b, &far);
	document_add(b, &exchange);
	row_add(b, &exchange, 0, (double[]){ 3, 0.5 });
	row_add(b, &exchange, 1, (double[]){ 2, 0.01 });
	for (i = 1; i <= 4; i++) {
		row_add(b, &reads, i * 100, (double[]){ 1000, 10, 0.1, 0.05, 2e-3 });
		row_add(b, &far, 2000 + i * 100, (double[]){ i, 0.1 });
	}
	session_load(b, "clock", &e);
	CHECK_INT(e.n_windows, 4);
	CHECK_INT(e.hosts[1].ahead_ns, 2000 * MS);
	CHECK_NEAR(e.hosts[1].clock_bound_s, 2.01, 1e-9, 0);
	CHECK(e.hosts[1].clock_known && e.hosts[1].clock_synchronised);
	CHECK_NEAR(e.processes[1].bytes[NW_OP_DISK_WRITE][3], 4, 1e-9, 0);
	evidence_clear(&e);
}

/* The same clock two seconds ahead, at the box of another site: the larger bound of both boxes
 * counts for the hosts of both. */
static void
test_boxes(void)
{
	static const struct document far = { 3, 2, 1, "nl:tools:calipers:summary:write",
		"{\"type\":\"disk\",\"pid\":9}", NULL, { "sum_v", "window" } },
				     exchange = { 4, 2, 0, "nw:clock", "{}", NULL,
					     { "offset_s", "bound_s" } },
				     boxes = { 5, 2, 0, NW_TYPE_BOXES, "{}", NULL, { "bound_s" } },
				     chrony = { 6, 1, 0, NW_TYPE_CLOCK, "{}", NULL,
					     { "offset_s", "bound_s" } };
	static const double bounds[] = { 0.5, 2.5 };
	const struct nw_host_rec theirs = { .id = 2, .name = "dtn-b@b" };
	struct nw_batch *b;
	struct evidence e;
	size_t i;

	for (i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		b = session_begin();
		CHECK_INT(nw_batch_host(b, &theirs), NW_OK);
		document_add(b, &reads);
		document_add(b, &far);
		document_add(b, &exchange);
		document_add(b, &boxes);
		document_add(b, &chrony);
		row_add(b, &exchange, 1, (double[]){ 2, 0.01 });
		row_add(b, &boxes, 0, &bounds[i]);
		row_add(b, &chrony, 100, (double[]){ 1e-5, 1e-3 });
		row_add(b, &reads, 100, (double[]){ 1000, 10, 0.1, 0.05, 2e-3 });
		row_add(b, &far, 2100, (double[]){ 1, 0.1 });
		session_load(b, i == 0 ? "boxes near" : "boxes far", &e);
		CHECK_INT(e.hosts[1].ahead_ns, bounds[i] < 2 ? 2000 * MS : 0);
		CHECK_NEAR(e.hosts[0].clock_bound_s, bounds[i], 1e-9, 0);
		CHECK_NEAR(e.hosts[1].clock_bound_s, fmax(bounds[i], 2.01), 1e-9, 0);
		evidence_clear(&e);
	}
}

/* The bound of a clock by chrony: the last of the session, and the range. */
static void
test_bound(void)
{
	static const struct document chrony = { 3, 1, 0, NW_TYPE_CLOCK, "{}", NULL,
		{ "offset_s", "bound_s" } };
	static const double bounds[] = { 0.002, 0.0005, 0.001, 0.0015 };
	struct nw_batch *b = session_begin();
	struct evidence e;

	document_add(b, &reads);
	document_add(b, &chrony);
	for (int i = 1; i <= 4; i++) {
		row_add(b, &reads, i * 100, (double[]){ 1000, 10, 0.1, 0.05, 2e-3 });
		row_add(b, &chrony, i * 100, (double[]){ 1e-5, bounds[i - 1] });
	}
	session_load(b, "bound", &e);
	CHECK(e.hosts[0].clock_known);
	CHECK_NEAR(e.hosts[0].clock_bound_s, 0.0015, 1e-9, 0);
	CHECK_NEAR(e.hosts[0].bound_lowest_s, 0.0005, 1e-9, 0);
	CHECK_NEAR(e.hosts[0].bound_highest_s, 0.002, 1e-9, 0);
	evidence_clear(&e);
}

static void
test_caliper_op(void)
{
	static const struct {
		const char *event, *subject;
		bool known;
		enum nw_op op;
	} cases[] = {
		{ "nl:tools:calipers:summary:read", "{\"type\":\"disk\"}", true, NW_OP_DISK_READ },
		{ "nl:tools:calipers:summary:write", "{\"type\":\"network\"}", true,
		    NW_OP_NET_WRITE },
		{ "nl.write.summary", "{\"resource\":\"/f\"}", true, NW_OP_DISK_WRITE },
		{ "nl.read.summary", "{\"dst\":\"192.0.2.1\"}", true, NW_OP_NET_READ },
		{ "nl:tools:calipers:summary:compute", "{}", false, 0 },
		{ "nl.read.write", "{}", false, 0 },
	};
	enum nw_op op;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *subject = json_loads(cases[i].subject, 0, NULL);

		CHECK_INT(evidence_caliper_op(cases[i].event, subject, &op), cases[i].known);
		if (cases[i].known)
			CHECK_INT(op, cases[i].op);
		json_decref(subject);
	}
}

int
main(void)
{
	char command[64];

	CHECK(mkdtemp(dir) != NULL);
	test_grid();
	window_check("interval", "{\"collectionInterval\":0.5}");
	window_check("generation 1", "{\"dt\":0.5,\"ts\":1700000000.0}");
	test_long_wait();
	test_process();
	test_cut_off();
	test_ends();
	test_tcp_original();
	test_tcp_twice(4);
	test_tcp_twice(1);
	test_tcp_far();
	test_host();
	test_uses();
	test_clock();
	test_boxes();
	test_bound();
	test_caliper_op();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK_INT(system(command), 0);
	return check_done("test_evidence");
}
