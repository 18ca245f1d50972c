/* SPDX-License-Identifier: BSD-3-Clause */
/* What kernels say of the time below the programs, through a real store: the witness agrees,
 * disagrees, decides where the stages do not tell, and is silent without a connection of the
 * session's own. */
#include "analyze/verdict/judge/kernelwaits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "analyze/verdict/judge/judge.h"
#include "narrows/err.h"
#include "narrows/resultdoc.h"
#include "tests/check.h"
#include "tests/transfer.h"

#define T0   1700000000000000000
#define STEP 100000000 /* ns */

enum { WINDOWS = 60 };

static char dir[] = "/tmp/test_kernelwaits.XXXXXX";
static int64_t next_meta;

/* Shares of the time for which the disks hold the bytes, and for which bytes lie in the
 * kernels. */
struct story {
	const char *name;
	double disk_read, disk_write, noise;
	double send_buffer, read; /* negative: no kernel tells */
	double qdisc;             /* 0: none tells */
	unsigned port;            /* that the kernels tell of; the transfer's is 5000 */
	const char *stage, *says; /* NULL: cannot tell; nothing */
	enum agreement agrees;
};

static const struct story stories[] = {
	{ "silent", .1, .1, .1, -1, -1, 0, 5000, "network", NULL, NO_OPINION },
	{ "agrees", .1, .1, .1, .9, .1, 0, 5000, "network", "network", AGREES },
	{ "against", .1, .1, .1, .05, .1, 0, 5000, "network", "the sending end", AGREES_NOT },
	{ "reader", .1, .8, .1, .95, .9, 0, 5000, "disk.write", "the receiving end", AGREES },
	{ "undecided", .47, .03, .9, -1, -1, 0, 5000, NULL, NULL, NO_OPINION },
	{ "decides", .47, .03, .9, .9, .1, 0, 5000, "network", "network", NO_OPINION },
	{ "decides source", .47, .03, .9, .02, .1, 0, 5000, "disk.read", "the sending end",
	    NO_OPINION },
	{ "shaper", .47, .03, .9, .5, .1, 3.6, 5000, "network", "network", NO_OPINION },
	{ "shaper and reader", .1, .8, .1, .5, .9, 3.6, 5000, "disk.write", "the receiving end",
	    AGREES },
	{ "stranger", .47, .03, .9, .9, .1, 0, 5001, NULL, NULL, NO_OPINION },
};

static unsigned seed;

static double
noisy(double v, double noise)
{
	seed = seed * 1103515245u + 12345u;
	return v * (1 + noise * ((double)(seed >> 16 & 0xff) / 128 - 1));
}

static int64_t
meta_write(struct nw_batch *b, int64_t host, const char *event, const char *subject,
    const char *const *fields, size_t n)
{
	int64_t id = ++next_meta;
	char mid[32];
	struct nw_meta_rec m = { .id = id,
		.session_id = 1,
		.host_id = host,
		.xsp_id = host,
		.mid = mid,
		.event_type = event,
		.subject_json = subject,
		.params_json = "{\"collectionInterval\":0.1}" };
	struct nw_layout_rec l = { .id = id, .meta_id = id, .n_fields = n, .fields = fields };

	snprintf(mid, sizeof(mid), "m%" PRId64, id);
	CHECK(nw_batch_meta(b, &m) == NW_OK && nw_batch_layout(b, &l) == NW_OK);
	return id;
}

static void
caliper_write(struct nw_batch *b, int64_t host, const char *op, const char *type, double busy,
    double wait, double noise)
{
	static const char *const fields[] = { "sum_v", "count", "window", "busy", "busy_max",
		"wait", "threads" };
	char subject[128], event[64];
	int64_t id, at;
	int i;

	snprintf(event, sizeof(event), "nl:tools:calipers:summary:%s", op);
	snprintf(subject, sizeof(subject), "{\"type\":\"%s\",\"pid\":%d,\"program\":\"mover\"}",
	    type, 100 + (int)host);
	id = meta_write(b, host, event, subject, fields, 7);
	for (i = 0; i < WINDOWS; i++) {
		double held = noisy(busy, noise) / 10;
		double row[7] = { 4e6, 16, .1, held, held, noisy(wait, noise) / 10, 1 };

		at = T0 + (i + 1) * (int64_t)STEP;
		CHECK(nw_batch_rows(b, id, 7, 1, &at, row, NULL, 0) == NW_OK);
	}
}

static void
connection_text(char subject[256], int64_t host, unsigned port)
{
	snprintf(subject, 256,
	    "{\"src\":\"10.0.0.%d\",\"sport\":%u,\"dst\":\"10.0.0.%d\",\"dport\":%u,\"pid\":%d}",
	    (int)host, host == 1 ? port : 80, host == 1 ? 2 : 1, host == 1 ? 80 : port,
	    100 + (int)host);
}

static void
connection_write(struct nw_batch *b, int64_t host)
{
	static const char *const fields[] = { "bytes_in", "bytes_out" };
	double row[2] = { host == 1 ? 0 : 24e7, host == 1 ? 24e7 : 0 };
	int64_t id, at = T0 + WINDOWS * (int64_t)STEP;
	char subject[256];

	connection_text(subject, host, 5000);
	id = meta_write(b, host, "nw:connection", subject, fields, 2);
	CHECK(nw_batch_rows(b, id, 2, 1, &at, row, NULL, 0) == NW_OK);
}

/* Half of the waits take 2 ms and half 18 ms, so that nine tenths of the bytes wait 18 ms. */
static size_t
halves_encode(uint8_t packed[NW_HIST_ENCODED_MAX_BYTES])
{
	static uint64_t counts[NW_HIST_BUCKETS];

	memset(counts, 0, sizeof(counts));
	counts[nw_hist_index(2000000)] = 25;
	counts[nw_hist_index(18000000)] = 25;
	return nw_hist_encode(packed, counts);
}

/* Rows of a second each: 100 waits, watched in one slot of two. */
static void
kernel_write(struct nw_batch *b, int64_t host, const char *wait, double share, unsigned port)
{
	static const char *const fields[] = { "count", "sum_d", "max_d", "window", "one_in" };
	uint8_t packed[NW_HIST_ENCODED_MAX_BYTES];
	char subject[256], event[64];
	int64_t id, at;
	int i;

	if (share < 0)
		return;
	snprintf(event, sizeof(event), "ps:host:kernel:%s", wait);
	connection_text(subject, host, port);
	id = meta_write(b, host, event, subject, fields, 5);
	for (i = 0; i < WINDOWS / 10; i++) {
		double row[5] = { 50, share / 2, share / 10, 1, 2 };
		double wrong[5] = { 50, 1e300, 1, 1, 0 };

		size_t n = strcmp(wait, "send_buffer") == 0 ? halves_encode(packed) : 0;

		at = T0 + (i + 1) * 10 * (int64_t)STEP;
		CHECK(nw_batch_rows(b, id, 5, 1, &at, row, n > 0 ? packed : NULL, n) == NW_OK);
		at++;
		CHECK(nw_batch_rows(b, id, 5, 1, &at, wrong, NULL, 0) == NW_OK);
	}
}

static void
session_write(struct nw_batch *b, const struct story *s)
{
	static const char *const hosts[] = { "dtn-a", "dtn-b" };
	struct nw_session_rec rec = { .id = 1,
		.task_id = s->name,
		.program = "mover",
		.opened_wall_ns = T0,
		.closed_wall_ns = T0 + WINDOWS * (int64_t)STEP,
		.last_data_wall_ns = T0 };
	double out = .96 - s->disk_read, in = .96 - s->disk_write; /* waits for the network */
	int64_t i;

	CHECK(nw_batch_session(b, &rec) == NW_OK);
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
	caliper_write(b, 1, "read", "disk", s->disk_read, 0, s->noise);
	caliper_write(b, 1, "write", "network", out / 4, out * 3 / 4, s->noise);
	caliper_write(b, 2, "read", "network", in / 4, in * 3 / 4, s->noise);
	caliper_write(b, 2, "write", "disk", s->disk_write, 0, s->noise);
	connection_write(b, 1);
	connection_write(b, 2);
	kernel_write(b, 1, "send_buffer", s->send_buffer, s->port);
	if (s->qdisc > 0)
		kernel_write(b, 1, "qdisc", s->qdisc, s->port);
	kernel_write(b, 2, "read", s->read, s->port);
	kernel_write(b, 2, "no_such_wait", s->read, s->port);
}

static const struct witness *
witness_of(const struct judgement *j)
{
	size_t i;

	for (i = 0; i < j->n_witnesses; i++)
		if (j->witnesses[i].name == NW_WITNESS_KERNEL)
			return &j->witnesses[i];
	return NULL;
}

static void
judgement_check(const struct judgement *j, const struct story *s)
{
	const struct witness *w = witness_of(j);
	const char *said = w != NULL ? nw_says_name(w->says) : NULL;
	const char *stage =
	    j->limit.known ? nw_stage_kind_name(j->path.stage[j->limit.stage].kind) : NULL;
	int failed = check_failed;

	CHECK_STR(stage != NULL ? stage : "-", s->stage != NULL ? s->stage : "-");
	CHECK_STR(said != NULL ? said : "-", s->says != NULL ? s->says : "-");
	CHECK_INT(w != NULL, s->says != NULL);
	CHECK_INT(w != NULL ? w->agrees : NO_OPINION, s->agrees);
	if (check_failed > failed)
		fprintf(stderr, "%s: %s\n", s->name, j->sentence);
	if (s->says == NULL)
		return;
	CHECK_NEAR(j->kernel.sender.wait[EVIDENCE_SEND_BUFFER].share, s->send_buffer, 1e-6, 0);
	CHECK_NEAR(j->kernel.sender.wait[EVIDENCE_SEND_BUFFER].mean_s, 0.0164, 0.05, 0);
	CHECK_NEAR(j->kernel.receiver.wait[EVIDENCE_READ].mean_s, s->read / 100, 1e-6, 0);
	if (s->agrees == AGREES_NOT || j->by_kernel)
		CHECK_STR(j->confidence, "low");
}

static void
document_check(const struct analysis *a, const struct story *s)
{
	struct result_run run = {
		.id = 3, .started_wall_ns = T0, .took_ns = 1, .params = transfer_params
	};
	char *text = resultdoc_build(a, &run);
	json_t *doc = json_loads(text, 0, NULL), *kernel = json_object_get(doc, "kernel");
	const json_t *waits = json_object_get(kernel, "waits");
	double shares = 0;
	size_t i;

	transfer_claims_check(text);
	CHECK(doc != NULL);
	CHECK_INT(json_is_null(kernel), s->says == NULL);
	if (s->says != NULL) {
		CHECK_INT(json_array_size(waits), s->qdisc > 0 ? 3 : 2);
		for (i = 0; i < json_array_size(waits); i++)
			shares +=
			    json_number_value(json_object_get(json_array_get(waits, i), "share"));
		CHECK_NEAR(shares, 1, 1e-9, 0);
		CHECK_INT(strstr(json_string_value(json_object_get(kernel, "sentence")),
			      "the bytes waited for the reader") != NULL,
		    strcmp(s->says, "the receiving end") == 0 &&
			(s->qdisc > 0 || s->send_buffer > s->read));
		CHECK(strstr(json_string_value(json_object_get(kernel, "sentence")),
			  "Below the programs bytes waited") != NULL);
		CHECK_NEAR(json_number_value(json_object_get(kernel, "one_in")), 2, 0, 0);
	}
	json_decref(doc);
	free(text);
}

static void
story_check(const struct story *s)
{
	char path[128], why[STORE_WHY_BYTES];
	struct store_reader *r = NULL;
	struct store *st = NULL;
	struct nw_batch *b = nw_batch_new();
	struct analysis a;

	seed = 7;
	next_meta = 0;
	snprintf(path, sizeof(path), "%s/%s.db", dir, s->name);
	CHECK(store_open(path, &store_opts_default, &st, why) == NW_OK);
	session_write(b, s);
	CHECK(store_submit(st, b) == NW_OK);
	store_sync(st);
	CHECK(store_reader_open(path, &r, why) == NW_OK);
	CHECK_INT(analysis_run(r, 1, &transfer_params, &a), NW_OK);
	judgement_check(&a.judgement, s);
	document_check(&a, s);
	analysis_clear(&a);
	store_reader_close(r);
	store_close(st);
	unlink(path);
}

int
main(void)
{
	char command[64];
	size_t i;

	CHECK(mkdtemp(dir) != NULL);
	transfer_init();
	for (i = 0; i < sizeof(stories) / sizeof(stories[0]); i++)
		story_check(&stories[i]);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(system(command) == 0);
	return check_done("test_kernelwaits");
}
