/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active tests in the shapes of esmond: the tests of a kind with a tool between two ends are one
 * metadata, and each test a point at its end. Values are those that the kind has and the store
 * keeps; event types without a value have no points.
 */
#include "web/answer/esmond_in.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/fnv.h"
#include "web/answer/esmond.h"

enum { PAIRS_MAX = 2000 };
#define KIND(name) (1U << NW_TEST_##name)
#define ONE_WAY    (KIND(LATENCY) | KIND(LATENCYBG))
#define EVERY_KIND ((1U << NW_TEST_KINDS) - 1)

/* --- values; NULL: the test has none --- */

/* A test in hand, with its details as JSON. */
struct test {
	const struct nw_active_test *t;
	const json_t *details;
};

static json_t *
whole_of(const struct test *o, enum nw_test_field field, double unit)
{
	const double v = o->t->value[field] * unit;

	return isfinite(v) && fabs(v) < 9e15 ? json_integer((json_int_t)llround(v)) : NULL;
}

static json_t *
real_of(const struct test *o, enum nw_test_field field, double unit)
{
	const double v = o->t->value[field] * unit;

	return isfinite(v) ? json_real(v) : NULL;
}

#define WHOLE(name, field, unit)                             \
	static json_t *value_##name(const struct test *o)    \
	{                                                    \
		return whole_of(o, NW_TEST_##field, (unit)); \
	}
WHOLE(throughput, bits_per_s, 1)
WHOLE(retransmits, retransmits, 1)
WHOLE(sent, packets_sent, 1)
WHOLE(lost, packets_lost, 1)
WHOLE(duplicates, duplicates, 1)
WHOLE(reorders, reorders, 1)
WHOLE(mtu, mtu_bytes, 1)
WHOLE(window, window_bytes, 1)

static json_t *
value_loss(const struct test *o)
{
	return real_of(o, NW_TEST_loss, 1);
}

static json_t *
value_clock_error(const struct test *o)
{
	return real_of(o, NW_TEST_clock_error_s, 1e3);
}

/* A histogram of the details, its counts as integers. */
static json_t *
histogram_of(const struct test *o, const char *name)
{
	json_t *of = json_object_get(o->details, name), *out;
	const char *key;
	const json_t *v;

	if (json_object_size(of) == 0)
		return NULL;
	out = json_object();
	json_object_foreach(of, key, v)
	{
		json_object_set_new(out, key, json_integer(llround(json_number_value(v))));
	}
	return out;
}

static json_t *
value_delays(const struct test *o)
{
	return histogram_of(o, "delays_ms");
}

static json_t *
value_ttls(const struct test *o)
{
	return histogram_of(o, "ttls");
}

static json_t *
value_rtts(const struct test *o)
{
	return histogram_of(o, "rtts_ms");
}

/* Column `at` of the intervals, with begin and length. */
static json_t *
intervals_of(const struct test *o, size_t at)
{
	const json_t *rows = json_object_get(o->details, "intervals"), *row;
	json_t *out = json_array();
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const double begin = json_number_value(json_array_get(row, 0)),
			     end = json_number_value(json_array_get(row, 1));
		const json_t *v = json_array_get(row, at);

		if (json_is_number(v))
			json_array_append_new(out,
			    json_pack("{s:f s:f s:I}", "start", begin, "duration", end - begin,
				"val", (json_int_t)llround(json_number_value(v))));
	}
	if (json_array_size(out) > 0)
		return out;
	json_decref(out);
	return NULL;
}

static json_t *
value_subintervals(const struct test *o)
{
	return intervals_of(o, 2);
}

static json_t *
value_sub_retransmits(const struct test *o)
{
	return intervals_of(o, 3);
}

static json_t *
value_streams(const struct test *o)
{
	const json_t *list = json_object_get(o->details, "streams_bits_per_s"), *v;
	json_t *out;
	size_t i;

	if (json_array_size(list) == 0)
		return NULL;
	out = json_array();
	json_array_foreach(list, i, v)
	{
		json_array_append_new(out,
		    json_is_number(v) ? json_integer(llround(json_number_value(v))) : json_null());
	}
	return out;
}

/* Hops as esmond has them, round trips in ms. */
static json_t *
value_trace(const struct test *o)
{
	const json_t *hops = json_object_get(o->details, "hops"), *hop, *rtt;
	json_t *out, *one;
	size_t i;

	if (json_array_size(hops) == 0)
		return NULL;
	out = json_array();
	json_array_foreach(hops, i, hop)
	{
		json_t *ip = json_object_get(hop, "ip");

		rtt = json_object_get(hop, "rtt_s");
		one = json_pack("{s:I s:i s:i s:O}", "ttl", (json_int_t)i + 1, "query", 1,
		    "success", json_is_string(ip) ? 1 : 0, "ip", ip);
		if (json_is_number(rtt))
			json_object_set_new(one, "rtt", json_real(1e3 * json_number_value(rtt)));
		json_array_append_new(out, one);
	}
	return out;
}

static json_t *
value_failure(const struct test *o)
{
	return o->t->succeeded
	    ? NULL
	    : json_pack("{s:s}", "error", *o->t->error != '\0' ? o->t->error : "the test failed");
}

static const struct test_type {
	const char *name;
	unsigned kinds;
	json_t *(*value)(const struct test *o);
} types[] = {
	{ "throughput", KIND(THROUGHPUT), value_throughput },
	{ "throughput-subintervals", KIND(THROUGHPUT), value_subintervals },
	{ "streams-throughput", KIND(THROUGHPUT), value_streams },
	{ "packet-retransmits", KIND(THROUGHPUT), value_retransmits },
	{ "packet-retransmits-subintervals", KIND(THROUGHPUT), value_sub_retransmits },
	{ "tcp-windowsize", KIND(THROUGHPUT), value_window },
	{ "histogram-owdelay", ONE_WAY, value_delays },
	{ "histogram-ttl", ONE_WAY, value_ttls },
	{ "time-error-estimates", ONE_WAY, value_clock_error },
	{ "histogram-rtt", KIND(RTT), value_rtts },
	{ "packet-count-sent", ONE_WAY | KIND(RTT) | KIND(THROUGHPUT), value_sent },
	{ "packet-count-lost", ONE_WAY | KIND(THROUGHPUT), value_lost },
	{ "packet-loss-rate", ONE_WAY | KIND(THROUGHPUT), value_loss },
	{ "packet-count-lost-bidir", KIND(RTT), value_lost },
	{ "packet-loss-rate-bidir", KIND(RTT), value_loss },
	{ "packet-duplicates", ONE_WAY, value_duplicates },
	{ "packet-duplicates-bidir", KIND(RTT), value_duplicates },
	{ "packet-reorders", ONE_WAY, value_reorders },
	{ "packet-reorders-bidir", KIND(RTT), value_reorders },
	{ "packet-trace", KIND(TRACE), value_trace },
	{ "path-mtu", KIND(TRACE), value_mtu },
	{ "failures", EVERY_KIND, value_failure },
};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

/* --- metadata --- */

static void
key_make(const struct nw_test_pair_rec *p, char key[ESMOND_KEY_BYTES])
{
	const char *const parts[] = { p->src, p->dst, nw_test_kind_name(p->kind), p->tool };
	uint64_t h = fnv_text(FNV_BEGIN, "active test");
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		h = fnv_text(fnv_byte(h, '\n'), parts[i]);
	snprintf(key, ESMOND_KEY_BYTES, "%016" PRIx64, h);
}

static json_t *
metadata_make(const struct nw_test_pair_rec *p)
{
	const int64_t updated_s = p->newest_wall_ns / ESMOND_NS;
	char key[ESMOND_KEY_BYTES];
	json_t *list = json_array();
	size_t i;

	key_make(p, key);
	for (i = 0; i < TYPES; i++)
		if ((types[i].kinds >> p->kind & 1) != 0)
			json_array_append_new(
			    list, esmond_type_make(key, types[i].name, false, updated_s));
	return json_pack("{s:s s:o s:s s:s s:s s:s s:s s:s s:o s:s s:o}", "metadata-key", key,
	    "uri", json_sprintf(ESMOND_BASE "%s/", key), "subject-type", "point-to-point", "source",
	    p->src, "destination", p->dst, "input-source", p->src, "input-destination", p->dst,
	    "measurement-agent", p->src, "tool-name",
	    json_sprintf("pscheduler/%s", *p->tool != '\0' ? p->tool : "unknown"),
	    "pscheduler-test-type", nw_test_kind_name(p->kind), "event-types", list);
}

static int
on_pair(void *arg, const struct nw_test_pair_rec *p)
{
	return esmond_list_take(arg, metadata_make(p), p->newest_wall_ns / ESMOND_NS);
}

int
esmond_tests_list(struct store_reader *r, struct esmond_list *l)
{
	return store_test_pairs(r, PAIRS_MAX, on_pair, l);
}

/* --- one metadata --- */

struct sought {
	struct store_reader *r;
	const char *key, *type, *what;
	const struct esmond_query *q;
	json_t *doc;
	const struct test_type *of;
	int64_t last_s;
};

/* As of sessions: a page never ends within a second. */
static int
on_test(void *arg, const struct nw_active_test *t)
{
	struct sought *s = arg;
	const int64_t ts_s = t->end_wall_ns / ESMOND_NS;
	json_t *details = t->details != NULL ? json_loads(t->details, 0, NULL) : NULL, *value;
	const struct test o = { t, details };
	int rc = NW_OK;

	if (json_array_size(s->doc) >= s->q->limit && ts_s != s->last_s)
		rc = 1;
	else if ((value = s->of->value(&o)) != NULL) {
		s->last_s = ts_s;
		rc = esmond_point_put(s->doc, ts_s, value);
	}
	json_decref(details);
	return rc;
}

static int
points_answer(struct sought *s, const struct nw_test_pair_rec *p)
{
	s->doc = json_array();
	return store_tests_of_pair(s->r, p, s->q->from_s * ESMOND_NS, (s->q->to_s + 1) * ESMOND_NS,
	    ESMOND_POINTS_MAX, on_test, s);
}

static int
on_sought(void *arg, const struct nw_test_pair_rec *p)
{
	struct sought *s = arg;
	char key[ESMOND_KEY_BYTES];
	size_t i;
	int rc;

	key_make(p, key);
	if (strcmp(key, s->key) != 0)
		return 0;
	if (*s->type == '\0') {
		s->doc = metadata_make(p);
		return 1;
	}
	for (i = 0; i < TYPES; i++)
		if (strcmp(types[i].name, s->type) == 0 && (types[i].kinds >> p->kind & 1) != 0)
			s->of = &types[i];
	if (s->of == NULL)
		return 1;
	if (*s->what == '\0')
		s->doc = esmond_type_make(key, s->of->name, false, p->newest_wall_ns / ESMOND_NS);
	else if (strcmp(s->what, "base") == 0 && (rc = points_answer(s, p)) < 0)
		return rc;
	return 1;
}

int
esmond_tests_one(struct store_reader *r, const char *key, const char *type, const char *what,
    const struct esmond_query *q, json_t **out)
{
	struct sought s = { .r = r, .key = key, .type = type, .what = what, .q = q, .last_s = -1 };
	int rc = store_test_pairs(r, PAIRS_MAX, on_sought, &s);

	if (rc < 0) {
		json_decref(s.doc);
		return rc;
	}
	*out = s.doc;
	return s.doc != NULL ? NW_OK : NW_ENOTFOUND;
}
