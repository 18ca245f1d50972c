/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions whose limit moves, hides or stays, through a real store: change points, a verdict per
 * segment, the story. */
#include "analyze/verdict/judge/segments.h"

#include "tests/transfer.h"

enum { WINDOWS = 120, MOVES_AT = 60 };

/* Where a second goes, in shares of it; the rate of single calls follows from it. */
struct times {
	double busy, wait;
};
struct phase {
	double bytes;
	struct times disk_read, net_write, net_read, disk_write;
};

static const struct scenario {
	const char *name;
	struct phase before, after;
	size_t segments;
	const char *stage[2], *story; /* expected; story: part of it, NULL: none */
} scenarios[] = {
	{ "from network to disk", { 40e6, { .02, 0 }, { .03, .9 }, { .04, .85 }, { .06, 0 } },
	    { 25e6, { .02, 0 }, { .03, .9 }, { .05, .01 }, { .88, 0 } }, 2,
	    { "network", "disk.write" },
	    "it was the network path from dtn-a to dtn-b, then disk write on dtn-b" },
	/* Calls that block: after the move they find data ready and look fast, while less is
	 * delivered. */
	{ "blocking calls", { 40e6, { .02, 0 }, { .92, 0 }, { .9, 0 }, { .06, 0 } },
	    { 25e6, { .02, 0 }, { .92, 0 }, { .05, 0 }, { .88, 0 } }, 2,
	    { "network", "disk.write" },
	    "it was the network path from dtn-a to dtn-b, then disk write on dtn-b" },
	{ "slower for the same reason", { 40e6, { .02, 0 }, { .03, .9 }, { .04, .85 }, { .06, 0 } },
	    { 20e6, { .01, 0 }, { .02, .93 }, { .02, .9 }, { .03, 0 } }, 2,
	    { "network", "network" }, NULL },
	{ "steady", { 40e6, { .02, 0 }, { .03, .9 }, { .04, .85 }, { .06, 0 } },
	    { 40e6, { .02, 0 }, { .03, .9 }, { .04, .85 }, { .06, 0 } }, 1, { "network" }, NULL },
};

struct stage_arg {
	const struct scenario *s;
	size_t at;
}; /* at: of the times in struct phase */

static double
noisy(double v)
{
	return v * fmax(0.5, fmin(1.5, 1 + 0.05 * noise_normal()));
}

static void
stage_row(void *arg, int i, struct transfer_row *out)
{
	const struct stage_arg *a = arg;
	const struct phase *p = i < MOVES_AT ? &a->s->before : &a->s->after;
	const struct times *t = (const struct times *)(const void *)((const char *)p + a->at);

	out->bytes = noisy(p->bytes);
	out->count = out->bytes / out->size;
	out->busy = fmin(0.99, noisy(t->busy));
	out->wait = fmin(0.99 - out->busy, noisy(t->wait));
	out->rate = out->bytes / out->busy;
	out->rate_sd = out->rate * 0.2;
}

static const char *
json_path_text(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static void
document_check(const json_t *doc, const struct scenario *s)
{
	const json_t *changes = json_object_get(doc, "changes"),
		     *list = json_object_get(changes, "segments"), *one;
	const json_t *verdict = json_object_get(doc, "verdict"), *parameters;
	size_t i;

	CHECK_INT(json_array_size(list), s->segments);
	json_array_foreach(list, i, one)
	{
		CHECK_STR(json_path_text(one, "stage"), s->stage[i < 2 ? i : 1]);
		CHECK(json_is_null(json_object_get(one, "hidden_wait")));
		CHECK(json_number_value(json_object_get(one, "p_holm")) < 1e-6);
		CHECK(json_path_text(one, "start_ns") != NULL &&
		    json_path_text(one, "end_ns") != NULL);
	}
	CHECK_INT(json_array_size(json_object_get(changes, "series")), 10);
	parameters =
	    json_object_get(json_object_get(json_object_get(doc, "run"), "parameters"), "changes");
	CHECK_INT(json_integer_value(json_object_get(parameters, "min_segment")), 5);
	CHECK_INT(strstr(json_path_text(verdict, "sentence"), "changed on the way") != NULL,
	    s->story != NULL);
	if (s->story != NULL)
		CHECK(strncmp(
			  json_string_value(json_array_get(json_object_get(verdict, "reasons"), 0)),
			  "Until ", 6) == 0);
}

static void
scenario_check(struct store *st, int64_t id, const struct scenario *s)
{
	struct nw_batch *b = nw_batch_new();
	struct stage_arg args[4] = { { s, offsetof(struct phase, disk_read) },
		{ s, offsetof(struct phase, net_write) }, { s, offsetof(struct phase, net_read) },
		{ s, offsetof(struct phase, disk_write) } };
	struct analysis a;
	json_t *doc;
	struct claims told = { 0 };
	char *story;

	transfer_session(b, id, WINDOWS);
	transfer_stage(b, 10 * id + 1, id, 1, "read", "disk", WINDOWS, stage_row, &args[0]);
	transfer_stage(b, 10 * id + 2, id, 1, "write", "network", WINDOWS, stage_row, &args[1]);
	transfer_stage(b, 10 * id + 3, id, 2, "read", "network", WINDOWS, stage_row, &args[2]);
	transfer_stage(b, 10 * id + 4, id, 2, "write", "disk", WINDOWS, stage_row, &args[3]);
	filled_commit(st, b);
	doc = transfer_analyse(filled_path, id, &a);
	if (a.segments.n != s->segments)
		fprintf(stderr, "%s:\n", s->name);
	CHECK_INT(a.segments.n, s->segments);
	if (s->segments == 2 && a.segments.n == 2)
		CHECK_NEAR((double)a.segments.segment[1].first, MOVES_AT, 0, 1);
	segments_story(&a.evidence, &a.judgement.path, &a.segments, &told);
	story = claims_text(&told);
	claims_clear(&told);
	CHECK_INT(story != NULL, s->story != NULL);
	if (story != NULL && s->story != NULL && strstr(story, s->story) == NULL) {
		fprintf(stderr, "%s: %s\n", s->name, story);
		CHECK(!"the story tells it");
	}
	document_check(doc, s);
	free(story);
	json_decref(doc);
	analysis_clear(&a);
}

/* --- neither the rate nor the speed of single operations changes, but who holds the bytes --- */

static void
held_row(void *arg, int i, struct transfer_row *out)
{
	const double *busy = arg;

	*out = (struct transfer_row){ .bytes = noisy(1e7),
		.count = 100,
		.size = 1e5,
		.busy = fmin(0.99, noisy(busy[i >= MOVES_AT])),
		.rate = noisy(1e8),
		.rate_sd = 1e7 };
}

static void
held_check(struct store *st, int64_t id)
{
	static double reads[] = { 0.9, 0.2 }, idles[] = { 0.02, 0.02 }, writes[] = { 0.2, 0.9 };
	struct nw_batch *b = nw_batch_new();
	struct analysis a;

	transfer_session(b, id, WINDOWS);
	transfer_stage(b, 10 * id + 1, id, 1, "read", "disk", WINDOWS, held_row, reads);
	transfer_stage(b, 10 * id + 2, id, 1, "write", "network", WINDOWS, held_row, idles);
	transfer_stage(b, 10 * id + 3, id, 2, "read", "network", WINDOWS, held_row, idles);
	transfer_stage(b, 10 * id + 4, id, 2, "write", "disk", WINDOWS, held_row, writes);
	filled_commit(st, b);
	json_decref(transfer_analyse(filled_path, id, &a));
	CHECK_INT(a.segments.n, 2);
	CHECK_INT(a.segments.segment[1].first, MOVES_AT);
	CHECK_INT(a.judgement.path.stage[a.segments.segment[0].stage].kind, NW_STAGE_DISK_READ);
	CHECK_INT(a.judgement.path.stage[a.segments.segment[1].stage].kind, NW_STAGE_DISK_WRITE);
	CHECK_INT(a.segments.segment[1].claim, LIMIT_INFERENCE);
	analysis_clear(&a);
}

/* --- packet loss under a protocol in user space: reads become rare and fast, and the disk looks
 * guilty --- */

/* count, dur_sum, nbytes_sum, tput_mean, tput_sd of net.read, disk.write */
struct csv {
	double v[2][WINDOWS][5];
};

static bool
csv_read(struct csv *out)
{
	FILE *f = fopen("tests/cases/bottleneck/udt-loss-scenario/series.csv", "r");
	char line[512], name[32];
	int t, n = 0;
	double v[5];

	if (f == NULL)
		return false;
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%d,%31[^,],%lf,%lf,%lf,%lf,%lf", &t, name, &v[0], &v[1], &v[2],
			&v[3], &v[4]) == 7 &&
		    t >= 0 && t < WINDOWS) {
			memcpy(out->v[strcmp(name, "disk.write") == 0][t], v, sizeof(v));
			n++;
		}
	fclose(f);
	return n == 2 * WINDOWS;
}

static void
udt_row(void *arg, int i, struct transfer_row *out)
{
	const double *v = ((double(*)[5])arg)[i];

	*out = (struct transfer_row){ .count = v[0],
		.busy = v[1],
		.bytes = v[2],
		.rate = v[3],
		.rate_sd = v[4],
		.size = v[2] / v[0],
		.threads = 2 };
}

static void
udt_check(struct store *st, int64_t id)
{
	static struct csv csv;
	struct nw_batch *b = nw_batch_new();
	const struct segment *after;
	struct claims told = { 0 };
	struct analysis a;
	json_t *doc;
	char *story;

	CHECK(csv_read(&csv));
	transfer_session(b, id, WINDOWS);
	transfer_stage(b, 10 * id + 3, id, 2, "read", "network", WINDOWS, udt_row, csv.v[0]);
	transfer_stage(b, 10 * id + 4, id, 2, "write", "disk", WINDOWS, udt_row, csv.v[1]);
	filled_commit(st, b);
	doc = transfer_analyse(filled_path, id, &a);
	CHECK_INT(a.segments.n, 2);
	CHECK_INT(a.segments.segment[1].first, 60);
	after = &a.segments.segment[1];
	/* by itself it would be the disk */
	CHECK(after->limit.known);
	CHECK_STR(
	    nw_stage_kind_name(a.judgement.path.stage[after->limit.stage].kind), "disk.write");
	CHECK_INT(after->hidden,
	    NW_HIDDEN_FASTER_YET_LESS | NW_HIDDEN_FEWER_AND_WILDER | NW_HIDDEN_UNACCOUNTED);
	CHECK_STR(nw_stage_kind_name(a.judgement.path.stage[after->stage].kind), "net.read");
	segments_story(&a.evidence, &a.judgement.path, &a.segments, &told);
	CHECK_INT(told.n, 0); /* the same stage at the same place has not changed */
	CHECK(
	    strstr(json_string_value(json_object_get(json_object_get(doc, "verdict"), "sentence")),
		"changed on the way") == NULL);
	story = segment_words(&a.evidence, &a.judgement.path, after);
	CHECK(strstr(story, ", by waits outside its calls") != NULL);
	free(story);
	CHECK_INT(
	    json_array_size(json_object_get(
		json_array_get(json_object_get(json_object_get(doc, "changes"), "segments"), 1),
		"hidden_wait")),
	    3);
	json_decref(doc);
	analysis_clear(&a);
}

/* From the move on three stages hold the bytes alike, and the rate of the disk is that of its
 * throttle: the disk limits. */
static void
throttle_row(void *arg, int i, struct transfer_row *out)
{
	held_row(arg, i, out);
	out->bytes = noisy(i < MOVES_AT ? 4e7 : 1e7);
}

static void
disk_write(struct nw_batch *b, int64_t id, double limit)
{
	static const char *const names[] = { "read_bytes", "written_bytes", "io_ms", "read_limit" };
	struct nw_meta_rec m = { .id = id,
		.host_id = 1,
		.mid = "disk",
		.event_type = "ps:tools:blipp:linux:disk:partition:sda",
		.subject_json = "{\"device\":\"sda\"}",
		.params_json = "{}" };
	struct nw_layout_rec l = { .id = id, .meta_id = id, .n_fields = 4, .fields = names };
	double bytes = 0;
	int i;

	CHECK(nw_batch_meta(b, &m) == NW_OK && nw_batch_layout(b, &l) == NW_OK);
	for (i = 0; i <= WINDOWS; i++) {
		int64_t at = TRANSFER_T0 + i * TRANSFER_STEP;

		bytes += i <= MOVES_AT ? 4e7 : 1e7;
		CHECK(nw_batch_rows(b, id, 4, 1, &at,
			  (const double[]){ bytes, 0, 0, i <= MOVES_AT ? 0 : limit }, NULL,
			  0) == NW_OK);
	}
}

static void
throttle_check(struct store *st, int64_t id, double limit)
{
	static double reads[] = { 0.02, 0.45 }, sends[] = { 0.95, 0.45 }, writes[] = { 0.02, 0.45 };
	struct nw_batch *b = nw_batch_new();
	struct analysis a;
	const struct segment *last;

	transfer_session(b, id, WINDOWS);
	transfer_stage(b, 10 * id + 1, id, 1, "read", "disk", WINDOWS, throttle_row, reads);
	transfer_stage(b, 10 * id + 2, id, 1, "write", "network", WINDOWS, throttle_row, sends);
	transfer_stage(b, 10 * id + 3, id, 2, "read", "network", WINDOWS, throttle_row, sends);
	transfer_stage(b, 10 * id + 4, id, 2, "write", "disk", WINDOWS, throttle_row, writes);
	disk_write(b, 10 * id + 5, limit);
	filled_commit(st, b);
	json_decref(transfer_analyse(filled_path, id, &a));
	last = &a.segments.segment[a.segments.n - 1];
	CHECK_INT(a.segments.n, 2);
	CHECK_INT(last->throttled, limit < 2e7);
	CHECK(!last->throttled ||
	    (last->known && a.judgement.path.stage[last->stage].kind == NW_STAGE_DISK_READ));
	analysis_clear(&a);
}

int
main(int argc, char **argv)
{
	struct store *st;
	size_t i;

	noise_seed(argc, argv, 11);
	transfer_init();
	st = filled_open(NULL);
	for (i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		scenario_check(st, (int64_t)i + 1, &scenarios[i]);
	udt_check(st, (int64_t)i + 1);
	held_check(st, (int64_t)i + 2);
	throttle_check(st, (int64_t)i + 3, 1.02e7);
	throttle_check(st, (int64_t)i + 4, 3e7);
	store_close(st);
	filled_remove();
	return check_done("test_segments");
}
