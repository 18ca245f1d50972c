/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pScheduler's documents of test runs. Traps: raw time stamps of latency tests are integers beyond
 * int64_t, so that integers are read as doubles (exact to 2^53); the round trip of a throughput
 * test is in microseconds by iperf3 alone; jitter, latencies and the clock error are in ms,
 * durations elsewhere are ISO 8601; throughput-bytes is the number of bytes moved; a reverse test
 * moves bytes from its destination to its source; without a source the first participant is the
 * source.
 */
#include "narrows/activetest.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "field/fieldtext.h"
#include "narrows/announce.h"
#include "narrows/err.h"
#include "narrows/fnv.h"

enum { BUCKETS_MAX = 4096, LIST_MAX = 2000, UUID_BYTES = 36 };

/* --- texts and numbers of a document --- */

static const char *
text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text != NULL ? text : "";
}

/* NaN where the key has no number of at least 0. */
static double
number_of(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_number(v) && json_number_value(v) >= 0 ? json_number_value(v) : NAN;
}

static double
duration_of(const json_t *o, const char *key)
{
	return fieldtext_duration(text_of(o, key));
}

bool
nw_test_host(const char *text, char out[NW_TEST_HOST_BYTES])
{
	size_t i, len = strlen(text);

	out[0] = '\0';
	if (fieldtext_address(text, out))
		return true;
	if (len == 0 || len >= NW_TEST_HOST_BYTES)
		return false;
	for (i = 0; i < len; i++) {
		const char c = text[i];
		const bool upper = c >= 'A' && c <= 'Z';

		if (!upper && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '.' &&
		    c != '-' && c != '_') {
			out[0] = '\0';
			return false;
		}
		out[i] = (char)(upper ? c - 'A' + 'a' : c);
	}
	out[len] = '\0';
	return true;
}

/* --- histograms --- */

struct bucket {
	double at, n;
};

static int
by_place(const void *a, const void *b)
{
	const struct bucket *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* The smallest place with at least this share of the packets at or below. */
static double
quantile_of(const struct bucket *b, size_t n, double total, double share)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		if ((sum += b[i].n) >= share * total)
			return b[i].at;
	return b[n - 1].at;
}

/* Delays from the histogram with keys in milliseconds. */
static int
delays_take(struct nw_active_test *t, const json_t *histogram)
{
	struct bucket *b = calloc(BUCKETS_MAX, sizeof(*b));
	double total = 0, sum = 0;
	const char *key;
	const json_t *v;
	size_t n = 0, i;
	char *end;

	if (b == NULL)
		return NW_ENOMEM;
	json_object_foreach((json_t *)histogram, key, v)
	{
		if (n == BUCKETS_MAX || !json_is_number(v) || !(json_number_value(v) > 0))
			continue;
		b[n] = (struct bucket){ strtod(key, &end), json_number_value(v) };
		n += end != key && *end == '\0' && isfinite(b[n].at);
	}
	for (i = 0; i < n; i++) {
		total += b[i].n;
		sum += b[i].n * b[i].at;
	}
	if (n > 0) {
		qsort(b, n, sizeof(*b), by_place);
		t->value[NW_TEST_delay_min_s] = b[0].at / 1e3;
		t->value[NW_TEST_delay_max_s] = b[n - 1].at / 1e3;
		t->value[NW_TEST_delay_mean_s] = sum / total / 1e3;
		t->value[NW_TEST_delay_median_s] = quantile_of(b, n, total, 0.5) / 1e3;
		t->value[NW_TEST_delay_p95_s] = quantile_of(b, n, total, 0.95) / 1e3;
	}
	free(b);
	return NW_OK;
}

/* --- results --- */

static const struct number {
	const char *key;
	enum nw_test_field field;
	double unit;
} throughput_numbers[] = {
	{ "throughput-bits", NW_TEST_bits_per_s, 1 },
	{ "throughput-bytes", NW_TEST_moved_bytes, 1 },
	{ "retransmits", NW_TEST_retransmits, 1 },
	{ "tcp-window-size", NW_TEST_window_bytes, 1 },
	{ "sent", NW_TEST_packets_sent, 1 },
	{ "lost", NW_TEST_packets_lost, 1 },
	{ "jitter", NW_TEST_jitter_s, 1e-3 },
}, latency_numbers[] = {
	{ "packets-sent", NW_TEST_packets_sent, 1 },
	{ "packets-received", NW_TEST_packets_received, 1 },
	{ "packets-lost", NW_TEST_packets_lost, 1 },
	{ "packets-duplicated", NW_TEST_duplicates, 1 },
	{ "packets-reordered", NW_TEST_reorders, 1 },
	{ "max-clock-error", NW_TEST_clock_error_s, 1e-3 },
}, rtt_numbers[] = {
	{ "sent", NW_TEST_packets_sent, 1 },
	{ "received", NW_TEST_packets_received, 1 },
	{ "lost", NW_TEST_packets_lost, 1 },
	{ "loss", NW_TEST_loss, 1 },
	{ "duplicates", NW_TEST_duplicates, 1 },
	{ "reorders", NW_TEST_reorders, 1 },
};

static void
numbers_take(struct nw_active_test *t, const json_t *of, const struct number *list, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		t->value[list[i].field] = number_of(of, list[i].key) * list[i].unit;
}
#define NUMBERS_TAKE(t, of, list) numbers_take(t, of, list, sizeof(list) / sizeof(list[0]))

/* The share of lost packets, unless the tool has said it. */
static void
loss_take(struct nw_active_test *t)
{
	const double sent = t->value[NW_TEST_packets_sent], lost = t->value[NW_TEST_packets_lost];

	if (isnan(t->value[NW_TEST_loss]) && sent > 0 && lost <= sent)
		t->value[NW_TEST_loss] = lost / sent;
}

/* A list of the numbers under `key` in each object of a list; null where there is none. */
static json_t *
column_make(const json_t *list, const char *key)
{
	json_t *out = json_array();
	const json_t *o;
	size_t i;

	json_array_foreach(list, i, o)
	{
		const double v = number_of(o, key);

		if (i == LIST_MAX ||
		    json_array_append_new(out, isnan(v) ? json_null() : json_real(v)) != 0)
			break;
	}
	return out;
}

/* One row for each interval: begin, end, bit/s, retransmits. The warm-up is left out. */
static json_t *
intervals_make(const json_t *intervals)
{
	json_t *out = json_array();
	const json_t *interval;
	size_t i;

	json_array_foreach(intervals, i, interval)
	{
		const json_t *s = json_object_get(interval, "summary");
		const double start = number_of(s, "start"), end = number_of(s, "end"),
			     bits = number_of(s, "throughput-bits"),
			     retransmits = number_of(s, "retransmits");

		if (json_is_true(json_object_get(s, "omitted")) || !(end > start) || isnan(bits))
			continue;
		if (json_array_size(out) == LIST_MAX ||
		    json_array_append_new(out,
			json_pack("[f,f,f,o]", start, end, bits,
			    isnan(retransmits) ? json_null() : json_real(retransmits))) != 0)
			break;
	}
	return out;
}

static void
throughput_take(struct nw_active_test *t, const json_t *spec, const json_t *result, json_t *details)
{
	const json_t *whole = json_object_get(result, "summary"),
		     *s = json_object_get(whole, "summary"),
		     *streams = json_object_get(whole, "streams"),
		     *intervals = json_object_get(result, "intervals");

	NUMBERS_TAKE(t, s, throughput_numbers);
	t->value[NW_TEST_target_bits_per_s] = number_of(spec, "bandwidth");
	t->value[NW_TEST_took_s] = number_of(s, "end") - number_of(s, "start");
	t->value[NW_TEST_udp] = json_is_true(json_object_get(spec, "udp"));
	t->value[NW_TEST_streams] = number_of(spec, "parallel");
	if (isnan(t->value[NW_TEST_streams]))
		t->value[NW_TEST_streams] =
		    json_array_size(streams) > 0 ? (double)json_array_size(streams) : 1;
	t->value[NW_TEST_mss_bytes] = number_of(result, "mss");
	t->value[NW_TEST_mtu_bytes] = number_of(result, "mtu");
	if (strncmp(t->tool, "iperf3", 6) == 0)
		t->value[NW_TEST_rtt_s] = number_of(s, "rtt") / 1e6;
	if (json_array_size(intervals) > 0)
		json_object_set_new(details, "intervals", intervals_make(intervals));
	if (json_array_size(streams) > 1) {
		json_object_set_new(
		    details, "streams_bits_per_s", column_make(streams, "throughput-bits"));
		json_object_set_new(
		    details, "streams_retransmits", column_make(streams, "retransmits"));
	}
}

static int
latency_take(struct nw_active_test *t, const json_t *result, json_t *details)
{
	json_t *delays = json_object_get(result, "histogram-latency"),
	       *ttls = json_object_get(result, "histogram-ttl");

	NUMBERS_TAKE(t, result, latency_numbers);
	if (json_object_size(delays) > 0)
		json_object_set(details, "delays_ms", delays);
	if (json_object_size(ttls) > 0)
		json_object_set(details, "ttls", ttls);
	return delays_take(t, delays);
}

/* Round trips by ms, to a hundredth. */
static json_t *
rtts_make(const json_t *trips)
{
	json_t *out = json_object(), *n;
	const json_t *trip;
	char key[32];
	double rtt;
	size_t i;

	json_array_foreach(trips, i, trip)
	{
		rtt = duration_of(trip, "rtt");
		if (!(rtt >= 0 && rtt < 1e6) || json_object_size(out) == LIST_MAX)
			continue;
		snprintf(key, sizeof(key), "%.2f", rtt * 1e3);
		n = json_object_get(out, key);
		json_object_set_new(out, key, json_integer(json_integer_value(n) + 1));
	}
	return out;
}

static void
rtt_take(struct nw_active_test *t, const json_t *result, json_t *details)
{
	const json_t *trips = json_object_get(result, "roundtrips");

	NUMBERS_TAKE(t, result, rtt_numbers);
	t->value[NW_TEST_rtt_s] = duration_of(result, "mean");
	t->value[NW_TEST_rtt_min_s] = duration_of(result, "min");
	t->value[NW_TEST_rtt_max_s] = duration_of(result, "max");
	t->value[NW_TEST_rtt_sd_s] = duration_of(result, "stddev");
	if (json_array_size(trips) > 0)
		json_object_set_new(details, "rtts_ms", rtts_make(trips));
}

/* The hops of the first path; the path's MTU is that of its last hop with an MTU. */
static void
trace_take(struct nw_active_test *t, const json_t *result, json_t *details)
{
	const json_t *path = json_array_get(json_object_get(result, "paths"), 0), *hop;
	json_t *hops = json_array();
	char host[NW_TEST_HOST_BYTES];
	double rtt, mtu;
	size_t i;

	json_array_foreach(path, i, hop)
	{
		rtt = duration_of(hop, "rtt");
		mtu = number_of(hop, "mtu");
		if (!isnan(mtu))
			t->value[NW_TEST_mtu_bytes] = mtu;
		if (json_array_size(hops) < LIST_MAX)
			json_array_append_new(hops,
			    json_pack("{s:o s:o}", "ip",
				nw_test_host(text_of(hop, "ip"), host) ? json_string(host)
								       : json_null(),
				"rtt_s", isnan(rtt) ? json_null() : json_real(rtt)));
	}
	if (json_array_size(hops) > 0) {
		t->value[NW_TEST_hops] = (double)json_array_size(hops);
		json_object_set(details, "hops", hops);
	}
	json_decref(hops);
}

static void
error_say(struct nw_active_test *t, const char *text)
{
	fieldtext_copy(t->error, sizeof(t->error), text, strlen(text));
}

static void
error_take(struct nw_active_test *t, const json_t *result)
{
	const char *text = text_of(result, "error");

	if (*text == '\0')
		text = text_of(result, "diags");
	fieldtext_copy(t->error, sizeof(t->error), text, strcspn(text, "\r\n"));
}

static int
result_take(struct nw_active_test *t, const json_t *spec, const json_t *result)
{
	json_t *details = json_object();
	int rc = NW_OK;

	if (details == NULL)
		return NW_ENOMEM;
	t->succeeded = json_is_true(json_object_get(result, "succeeded"));
	if (json_is_null(result) || !json_is_boolean(json_object_get(result, "succeeded")))
		error_say(t,
		    json_is_null(result) ? "the run has no result"
					 : "the result does not say whether the test succeeded");
	else if (!t->succeeded)
		error_take(t, result);
	else if (t->kind == NW_TEST_THROUGHPUT)
		throughput_take(t, spec, result, details);
	else if (t->kind == NW_TEST_RTT)
		rtt_take(t, result, details);
	else if (t->kind == NW_TEST_TRACE)
		trace_take(t, result, details);
	else
		rc = latency_take(t, result, details);
	loss_take(t);
	if (json_object_size(details) > 0)
		t->details = json_dumps(details, JSON_COMPACT | JSON_SORT_KEYS);
	if (t->details != NULL && strlen(t->details) > NW_TEST_DETAILS_BYTES) {
		free(t->details);
		t->details = NULL;
	}
	json_decref(details);
	return rc;
}

/* --- a document --- */

static bool
is_uuid(const char *text)
{
	return strlen(text) == UUID_BYTES && strspn(text, "0123456789abcdefABCDEF-") == UUID_BYTES;
}

/* All results of a background test have the run's UUID. */
static int
run_take(struct nw_active_test *t, const char *id, const json_t *result)
{
	char *text;

	if (t->kind != NW_TEST_LATENCYBG) {
		snprintf(t->run, sizeof(t->run), "%.*s", UUID_BYTES, id);
		return NW_OK;
	}
	if ((text = json_dumps(result, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY)) == NULL)
		return NW_ENOMEM;
	snprintf(
	    t->run, sizeof(t->run), "%.*s/%016" PRIx64, UUID_BYTES, id, fnv_text(FNV_BEGIN, text));
	free(text);
	return NW_OK;
}

/* A participant may carry the port of its pScheduler: name:port, or [address]:port. */
static bool
participant_take(const char *text, char out[NW_TEST_HOST_BYTES])
{
	const bool bracket = *text == '[';
	const char *end = bracket ? strchr(text, ']') : strchr(text, ':');
	char host[NW_TEST_HOST_BYTES];

	if (nw_test_host(text, out))
		return true;
	if (end == NULL || end - text >= NW_TEST_HOST_BYTES)
		return false;
	snprintf(host, sizeof(host), "%.*s", (int)(end - text - bracket), text + bracket);
	return nw_test_host(host, out);
}

static bool
hosts_take(struct nw_active_test *t, const json_t *doc, const json_t *spec)
{
	const char *from = text_of(spec, "source"), *to = text_of(spec, "dest");
	const char *first =
	    json_string_value(json_array_get(json_object_get(doc, "participants"), 0));
	const bool reverse =
	    t->kind == NW_TEST_THROUGHPUT && json_is_true(json_object_get(spec, "reverse"));

	if (*from == '\0' && first != NULL)
		from = first;
	return participant_take(from, reverse ? t->dst : t->src) &&
	    participant_take(to, reverse ? t->src : t->dst);
}

static bool
times_take(struct nw_active_test *t, const json_t *doc)
{
	const json_t *run = json_object_get(doc, "run"), *plan = json_object_get(doc, "schedule");
	double length = duration_of(run, "duration");

	if (!fieldtext_time(text_of(run, "start-time"), &t->start_wall_ns) &&
	    !fieldtext_time(text_of(plan, "start"), &t->start_wall_ns))
		return false;
	if (!fieldtext_time(text_of(run, "end-time"), &t->end_wall_ns)) {
		if (isnan(length))
			length = duration_of(plan, "duration");
		t->end_wall_ns = t->start_wall_ns +
		    (length > 0 && length < 1e9 ? (int64_t)llround(length * 1e9) : 0);
	}
	return t->start_wall_ns > 0 && t->end_wall_ns >= t->start_wall_ns;
}

/* NW_EUNSUPPORTED for another kind of test. */
static int
test_take(struct nw_active_test *t, const json_t *doc, const char **why)
{
	const json_t *test = json_object_get(doc, "test"), *spec = json_object_get(test, "spec"),
		     *tool = json_object_get(doc, "tool"), *result = json_object_get(doc, "result");
	const char *id = text_of(doc, "id"), *name;
	int i, rc;

	*t = (struct nw_active_test){ .kind = NW_TEST_KINDS };
	for (i = 0; i < NW_TEST_FIELD_COUNT; i++)
		t->value[i] = NAN;
	*why = "no result of a test: test.type is missing";
	if (*text_of(test, "type") == '\0')
		return NW_EPROTO;
	if (!nw_test_kind_read(text_of(test, "type"), &t->kind))
		return NW_EUNSUPPORTED;
	*why = "a test without its run's UUID in id";
	if (!is_uuid(id))
		return NW_EPROTO;
	*why = "a test without two hosts";
	if (!hosts_take(t, doc, spec))
		return NW_EPROTO;
	*why = "a test without its times in run or schedule";
	if (!times_take(t, doc))
		return NW_EPROTO;
	*why = "a test without a result";
	if (!json_is_object(result) && !json_is_null(result)) /* null: of a run that failed */
		return NW_EPROTO;
	name = json_is_object(tool) ? text_of(tool, "name") : json_string_value(tool);
	if (name != NULL)
		fieldtext_copy(t->tool, sizeof(t->tool), name, strlen(name));
	*why = "no memory";
	return (rc = run_take(t, id, result)) < 0 ? rc : result_take(t, spec, result);
}

/* --- documents --- */

static int
document_take(struct nw_active_tests *to, const json_t *doc, const char **why)
{
	struct nw_active_test *room;
	int rc;

	if (to->n == NW_TESTS_MAX) {
		*why = "more than 1,000 tests at once";
		return NW_ETOOBIG;
	}
	if ((to->n & (to->n - 1)) == 0) { /* room doubles */
		*why = "no memory";
		if ((room = realloc(to->list, (to->n > 0 ? 2 * to->n : 1) * sizeof(*room))) == NULL)
			return NW_ENOMEM;
		to->list = room;
	}
	rc = test_take(&to->list[to->n], doc, why);
	if (rc == NW_EUNSUPPORTED) {
		to->n_foreign++;
		return NW_OK;
	}
	if (rc < 0)
		free(to->list[to->n].details);
	else
		to->n++;
	return rc;
}

static int
value_take(struct nw_active_tests *to, const json_t *value, const char **why)
{
	const json_t *doc;
	int rc = NW_OK;
	size_t i;

	if (!json_is_array(value))
		return document_take(to, value, why);
	json_array_foreach(value, i, doc)
	{
		if ((rc = document_take(to, doc, why)) < 0)
			return rc;
	}
	return rc;
}

int
nw_pscheduler_read(const char *bytes, size_t len, struct nw_active_tests *out, const char **why)
{
	json_error_t fault;
	json_t *value;
	size_t at = 0;
	int rc = NW_OK;

	*out = (struct nw_active_tests){ 0 };
	*why = "no document";
	for (;;) {
		while (at < len && strchr(" \t\r\n", bytes[at]) != NULL && bytes[at] != '\0')
			at++;
		if (at == len || rc < 0)
			break;
		*why = "no JSON";
		value = json_loadb(bytes + at, len - at,
		    JSON_DISABLE_EOF_CHECK | JSON_DECODE_INT_AS_REAL | JSON_REJECT_DUPLICATES,
		    &fault);
		if (value != NULL)
			*why = "a list without documents";
		rc = value != NULL ? value_take(out, value, why) : NW_EPROTO;
		json_decref(value);
		at += value != NULL && fault.position > 0 ? (size_t)fault.position : len - at;
	}
	if (rc == NW_OK && out->n + out->n_foreign == 0)
		rc = NW_EPROTO;
	if (rc < 0)
		nw_active_tests_clear(out);
	return rc;
}

void
nw_active_tests_clear(struct nw_active_tests *tests)
{
	size_t i;

	for (i = 0; i < tests->n; i++)
		free(tests->list[i].details);
	free(tests->list);
	*tests = (struct nw_active_tests){ 0 };
}
