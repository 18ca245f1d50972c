/* SPDX-License-Identifier: BSD-3-Clause */
/* The question behind an undecided verdict: which stage is repeated, in which pattern and within
 * which bounds; and the verdict that the answer makes of a tie. */
#include "analyze/verdict/question.h"

#include "narrows/cells.h"
#include "narrows/eventtype.h"
#include "tests/transfer.h"

enum { OP = 65536, TARGET_HOST = 2 };
static int op_bytes = OP;          /* of a program's operation on a file */
static double random_share = 0.25; /* of the steps */

/* Bytes per second, and the shares of the time in calls of each stage. */
struct story {
	int seconds;
	double bytes_per_s, read, network, write;
	double flight; /* share of the time with data in flight, by the kernel; 0: not told */
	double rtt_s;  /* shortest round trip, by the kernel; 0: not told */
};

/* Receives and writes at once, by two threads: 90 % of the time in both. */
static const struct story tie = { 40, 40e6, 0.1, 0.9, 0.9, 0, 0 };
/* The calls name the disk, but the network was full: lifting the disk alone gains nothing. */
static const struct story little = { 40, 40e6, 0.8, 0.05, 0.1, 0.97, 0 };

struct row_of {
	const struct story *story;
	double share;
	bool waits;
};

static void
row_fill(void *arg, int window, struct transfer_row *out)
{
	const struct row_of *r = arg;
	/* no two windows alike, and no order in them */
	double share = r->share * (1 + 0.05 * ((window * 7 + 3) % 11 - 5) / 5.0);

	out->bytes = r->story->bytes_per_s;
	out->count = r->story->bytes_per_s / OP;
	out->rate = out->bytes;
	*(r->waits ? &out->wait : &out->busy) = share;
	out->threads = 2;
}

static void
stage_write(struct nw_batch *b, int64_t id, int64_t host, const char *op, const char *type,
    const struct story *s, double share)
{
	struct row_of r = { s, share, strcmp(type, "network") == 0 };

	transfer_stage(b, id, 1, host, op, type, s->seconds, row_fill, &r);
}

static void
row_put(struct nw_batch *b, int64_t id, int64_t host, const char *event, const char *subject,
    const char *const *fields, const double *values, size_t n, const uint8_t *hist, size_t hist_len)
{
	struct nw_meta_rec m = { .id = id,
		.session_id = 1,
		.host_id = host,
		.xsp_id = 10 + host,
		.mid = event,
		.event_type = event,
		.subject_json = subject,
		.params_json = "{}" };
	struct nw_layout_rec l = { .id = id, .meta_id = id, .n_fields = n, .fields = fields };
	int64_t at = TRANSFER_T0 + tie.seconds * TRANSFER_STEP;

	CHECK(nw_batch_meta(b, &m) == NW_OK && nw_batch_layout(b, &l) == NW_OK);
	CHECK(nw_batch_rows(b, id, n, 1, &at, values, hist, hist_len) == NW_OK);
}

/* The operations of a file: some of the steps go elsewhere. */
static void
file_put(struct nw_batch *b, int64_t id, int64_t host, const char *event, const char *subject,
    const struct story *s)
{
	static const char *const fields[] = { "ops", "bytes", "s", "forward", "random" };
	static uint64_t counts[NW_HIST_BUCKETS];
	uint8_t packed[NW_HIST_ENCODED_MAX_BYTES];
	double bytes = s->bytes_per_s * s->seconds, ops = floor(bytes / op_bytes);

	memset(counts, 0, sizeof(counts));
	counts[nw_cell_octave((uint64_t)op_bytes) * NW_HIST_SUB + nw_cell_duration(1000000)] =
	    (uint64_t)ops;
	row_put(b, id, host, event, subject, fields,
	    (const double[]){
		ops, bytes, s->seconds * s->write, (1 - random_share) * ops, random_share * ops },
	    5, packed, nw_hist_encode(packed, counts));
}

/* A stage alone at a rate, in the store as blipp sends the stage's series; NaN: no number. */
static void
replay_put(struct nw_batch *b, int64_t id, int64_t host, const char *way, double rate)
{
	static const char *const fields[] = { "bytes", "calls_s", "took_s", "cost_bytes",
		"cost_s" };
	char subject[64];
	double s = 8e6 / rate;

	snprintf(subject, sizeof(subject), "{\"type\":\"host\",\"way\":\"%s\"}", way);
	row_put(b, id, host, NW_TYPE_REPLAY, subject, fields,
	    (const double[]){ isnan(rate) ? NAN : 8e6, s, s, 16e6, isnan(rate) ? 1 : 2 * s }, 5,
	    NULL, 0);
}

static int n_stores;

/* Judges a story whose disk writes, and sends, were repeated at a rate; 0: not repeated. */
static json_t *
judged(const struct story *s, double write, double send, struct analysis *out)
{
	struct store *st = filled_open(n_stores++ > 0 ? filled_path : NULL);
	struct nw_batch *b = nw_batch_new();
	json_t *doc;

	transfer_session(b, 1, s->seconds);
	stage_write(b, 1, 1, "read", "disk", s, s->read);
	stage_write(b, 2, 1, "write", "network", s, s->network);
	stage_write(b, 3, 2, "read", "network", s, s->network);
	stage_write(b, 4, 2, "write", "disk", s, s->write);
	file_put(b, 5, 1, "nw:cells:read", "{\"resource\":\"/data/in\",\"pid\":101}", s);
	file_put(
	    b, 6, TARGET_HOST, "nw:cells:write", "{\"resource\":\"/data/out\",\"pid\":102}", s);
	row_put(b, 7, 1, "nw:connection",
	    "{\"src\":\"192.0.2.1\",\"dst\":\"192.0.2.2\",\"sport\":1,\"dport\":2}",
	    (const char *const[]){
		"bytes_out", "rtt_min_s", "busy_s", "rwnd_limited_s", "sndbuf_limited_s" },
	    (const double[]){ s->bytes_per_s * s->seconds, s->rtt_s, s->flight * s->seconds, 0, 0 },
	    s->flight > 0 ? 5 : 2, NULL, 0);
	if (write != 0)
		replay_put(b, 8, TARGET_HOST, "write", write);
	if (send != 0)
		replay_put(b, 9, 1, "send", send);
	filled_commit(st, b);
	doc = transfer_analyse(filled_path, 1, out);
	store_close(st);
	CHECK_INT(unlink(filled_path), 0);
	return doc;
}

static const char *
text_of(const json_t *doc, const char *key)
{
	return json_string_value(json_object_get(json_object_get(doc, "verdict"), key));
}

/* Of a tie the disk is repeated, which memory hides, as its program wrote: 1 % of the bytes. */
static void
test_asks(void)
{
	const struct nw_question *q;
	struct analysis a;
	json_t *doc = judged(&tie, 0, 0, &a);

	q = &a.question;
	CHECK(text_of(doc, "stage") == NULL);
	CHECK(q->one && q->n == 2);
	CHECK_STR(q->ask[0].host, "dtn-b");
	CHECK_INT(q->ask[0].replay.way, NW_REPLAY_WRITE);
	CHECK_INT(q->ask[0].replay.op_bytes, OP);
	CHECK_STR(q->ask[0].replay.target, "/data/out");
	CHECK_NEAR(q->ask[0].replay.random_share, 0.25, 1e-6, 0);
	CHECK_INT(q->ask[0].replay.bytes, 16000000);
	CHECK_INT(q->ask[0].replay.time_ns, QUESTION_NS);
	CHECK_STR(q->ask[1].host, "dtn-a");
	CHECK_INT(q->ask[1].replay.way, NW_REPLAY_SEND);
	CHECK_STR(q->ask[1].replay.target, "192.0.2.2");
	json_decref(doc);
	analysis_clear(&a);
}

static bool
has_reason(const struct analysis *a, const char *says)
{
	size_t i;

	for (i = 0; i < a->judgement.n_reasons; i++)
		if (strstr(a->judgement.reasons[i], says) != NULL)
			return true;
	return false;
}

/* 1 % of a short transfer may pass as a burst: both stages are repeated, for half of the bytes
 * each. Of a shorter transfer, which is told so, or if a new connection is slow for a while, no
 * stage is repeated. */
static void
test_short(void)
{
	struct story s = tie;
	struct analysis a;
	const struct nw_question *q = &a.question;

	s.seconds = 20;
	json_decref(judged(&s, 0, 0, &a));
	CHECK(!q->one && q->n == 2);
	CHECK_INT(q->ask[0].replay.way, NW_REPLAY_WRITE);
	CHECK_INT(q->ask[1].replay.way, NW_REPLAY_SEND);
	CHECK_INT(q->ask[0].replay.bytes, 4000000);
	CHECK_INT(q->ask[1].replay.bytes, 4000000);
	CHECK_INT(q->ask[0].replay.time_ns + q->ask[1].replay.time_ns, QUESTION_NS);
	analysis_clear(&a);
	s.rtt_s = 0.01;
	json_decref(judged(&s, 0, 0, &a));
	CHECK_INT(q->n, 0);
	CHECK(!has_reason(&a, "too short to repeat"));
	analysis_clear(&a);
	s.rtt_s = 0.001;
	json_decref(judged(&s, 0, 0, &a));
	CHECK_INT(q->n, 2);
	CHECK(!has_reason(&a, "too short to repeat"));
	analysis_clear(&a);
	s.seconds = 9;
	json_decref(judged(&s, 0, 0, &a));
	CHECK_INT(q->n, 0);
	CHECK(has_reason(&a, "too short to repeat its stages alone: 1 % of its bytes pass in 90"));
	analysis_clear(&a);
}

/* Few large operations give way to many smaller operations, if in order. */
static void
test_large(void)
{
	struct story s = tie;
	struct analysis a;

	s.seconds = 20;
	op_bytes = 1 << 20;
	json_decref(judged(&s, 0, 0, &a));
	CHECK_INT(a.question.n, 0);
	analysis_clear(&a);
	random_share = 0;
	json_decref(judged(&s, 0, 0, &a));
	CHECK_INT(a.question.n, 2);
	CHECK_INT(a.question.ask[0].replay.op_bytes >> 12, 64); /* a quarter */
	analysis_clear(&a);
	op_bytes = OP;
	random_share = 0.25;
}

/* On a long way a new connection is slow for seconds: the disk alone is repeated. */
static void
test_far(void)
{
	struct story s = tie;
	struct analysis a;

	s.rtt_s = 0.1;
	json_decref(judged(&s, 0, 0, &a));
	CHECK(a.question.one && a.question.n == 1);
	CHECK_INT(a.question.ask[0].replay.way, NW_REPLAY_WRITE);
	analysis_clear(&a);
}

/* Of a short transfer the stage with the slow replay is named, and not surely; a single brief
 * replay that shows room does not decide. */
static void
test_short_answers(void)
{
	struct story s = tie;
	struct analysis a;
	json_t *doc;

	s.seconds = 20;
	s.bytes_per_s = 200e6; /* a replay of 8 MB is brief */
	doc = judged(&s, 2e9, 205e6, &a);
	CHECK_STR(text_of(doc, "stage"), "network");
	CHECK_STR(text_of(doc, "confidence"), "low");
	CHECK_INT(a.question.n, 0);
	json_decref(doc);
	analysis_clear(&a);
	doc = judged(&s, 2e9, 0, &a);
	CHECK(text_of(doc, "stage") == NULL);
	json_decref(doc);
	analysis_clear(&a);
}

/* The answer names the stage, or both, and nothing more is asked. */
static void
test_answers(void)
{
	static const struct {
		double write, send; /* alone, bytes/s */
		const char *stage, *says, *reason;
	} cases[] = {
		{ 400e6, 0, "network", "the network path from dtn-a to dtn-b held",
		    "disk write on dtn-b carried 400 MB/s" },
		{ 0, 400e6, "disk.write", "disk write on dtn-b",
		    "the network path from dtn-a to dtn-b carried 400 MB/s" },
		{ 42e6, 44e6, NULL, "Both ", "This measurement moved 32 MB" },
		{ NAN, 0, NULL, "", "This measurement moved 16 MB" },
	};
	struct analysis a;
	char *reasons;
	json_t *doc;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		doc = judged(&tie, cases[i].write, cases[i].send, &a);
		if (cases[i].stage != NULL)
			CHECK_STR(text_of(doc, "stage"), cases[i].stage);
		else
			CHECK(text_of(doc, "stage") == NULL);
		CHECK(strstr(text_of(doc, "sentence"), cases[i].says) != NULL);
		reasons =
		    json_dumps(json_object_get(json_object_get(doc, "verdict"), "reasons"), 0);
		if (strstr(reasons, cases[i].reason) == NULL)
			fprintf(stderr, "%zu: %s %s\n", i, text_of(doc, "sentence"), reasons);
		CHECK(strstr(reasons, cases[i].reason) != NULL);
		CHECK_INT(a.question.n, 0);
		free(reasons);
		json_decref(doc);
		analysis_clear(&a);
	}
}

/* Of a tie by its gain the replay tells, too. */
static void
test_little(void)
{
	struct analysis a;
	json_t *doc = judged(&little, 0, 0, &a);

	CHECK(text_of(doc, "stage") == NULL && a.judgement.by_gain);
	CHECK(a.question.one && a.question.n > 0);
	json_decref(doc);
	analysis_clear(&a);
	doc = judged(&little, 0, 400e6, &a);
	CHECK_STR(text_of(doc, "stage"), "disk.read");
	CHECK(a.judgement.gain.low > 2);
	json_decref(doc);
	analysis_clear(&a);
	doc = judged(&little, 0, 41e6, &a);
	CHECK(text_of(doc, "stage") == NULL && a.judgement.by_gain && !a.judgement.by_replay);
	json_decref(doc);
	analysis_clear(&a);
}

int
main(void)
{
	transfer_init();
	test_asks();
	test_short();
	test_large();
	test_far();
	test_short_answers();
	test_answers();
	test_little();
	filled_remove();
	return check_done("test_question");
}
