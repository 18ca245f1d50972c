/* SPDX-License-Identifier: BSD-3-Clause */
/* Series under Prometheus' names: their labels, and that the search for a selector passes over no
 * series that the selector matches. usage: test_prom_labels [-s SEED] */
#include "web/query/prom_labels.h"

#include "tests/check.h"
#include "web/query/glob.h"

enum { ROUNDS = 5000 };

static void
check_labels(int64_t session_id, const char *host, const char *event_type, const char *subject_json,
    const char *want)
{
	const struct found of = { .series_id = 12,
		.session_id = session_id,
		.host = host,
		.event_type = (char *)(uintptr_t)event_type,
		.subject_json = (char *)(uintptr_t)subject_json };
	json_t *labels = prom_labels(&of, "bytes:read");
	char *text = json_dumps(labels, JSON_COMPACT | JSON_SORT_KEYS);

	CHECK_STR(text, want);
	free(text);
	json_decref(labels);
}

static void
test_names(void)
{
	check_labels(7, "dtn1", "9s:disk-io.x",
	    "{\"dev/ice\":\"sda\",\"port\":443,\"1st\":\"a\",\"list\":[1],\"\":\"b\","
	    "\"empty\":\"\",\"a.b\":\"1\",\"a_b\":\"2\"}",
	    "{\"__name__\":\"_s:disk_io_x:bytes_read\",\"_st\":\"a\",\"a_b\":\"1\","
	    "\"dev_ice\":\"sda\",\"event_type\":\"9s:disk-io.x\",\"field\":\"bytes:read\","
	    "\"host\":\"dtn1\",\"port\":\"443\",\"series_id\":\"12\",\"session\":\"7\"}");
}

/* A subject cannot take the place of a series' own label, even if the series lacks that label. */
static void
test_reserved(void)
{
	check_labels(0, "", "a",
	    "{\"host\":\"x\",\"session\":\"7\",\"series_id\":\"1\",\"field\":\"x\","
	    "\"event_type\":\"x\",\"__name__\":\"x\",\"event-type\":\"x\"}",
	    "{\"__name__\":\"a:bytes_read\",\"event_type\":\"a\",\"field\":\"bytes:read\","
	    "\"series_id\":\"12\"}");
}

static void
text_random(char out[8])
{
	static const char bytes[] = "ab:_-*?[]1";
	size_t i, n = 1 + (size_t)random() % 6;

	for (i = 0; i < n; i++)
		out[i] = bytes[(size_t)random() % (sizeof(bytes) - 1)];
	out[n] = '\0';
}

static bool
is_found(const struct query *q, const struct found *of, const char *field)
{
	return (q->event_type[0] == '\0' || glob_match(q->event_type, of->event_type)) &&
	    (q->field[0] == '\0' || glob_match(q->field, field)) &&
	    (q->host[0] == '\0' || glob_match(q->host, of->host)) &&
	    (q->session == QUERY_ANY_SESSION || q->session == of->session_id) && q->series_id == 0;
}

/* A selector of some of the labels of a series. */
static void
selector_of(const json_t *labels, struct promql_selector *q)
{
	const char *key;
	json_t *v;

	memset(q, 0, sizeof(*q));
	json_object_foreach((json_t *)labels, key, v)
	{
		struct promql_matcher *m = &q->matchers[q->n_matchers];

		if (random() % 2 == 0)
			continue;
		m->how = PROMQL_EQUAL;
		snprintf(m->label, sizeof(m->label), "%s", key);
		snprintf(m->value, sizeof(m->value), "%s", json_string_value(v));
		q->n_matchers++;
	}
}

static void
test_found(void)
{
	static struct promql_selector q;
	char event_type[8], field[8], host[8], subject[] = "{\"session\":\"7\",\"k\":\"v\"}";
	struct query query;
	json_t *labels;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		struct found of = { .series_id = 5,
			.session_id = random() % 2 * 7,
			.host = host,
			.event_type = event_type,
			.subject_json = subject };

		text_random(event_type);
		text_random(field);
		text_random(host);
		labels = prom_labels(&of, field);
		selector_of(labels, &q);
		CHECK(prom_labels_match(&q, labels));
		prom_find_query(&q, &query);
		CHECK(is_found(&query, &of, field));
		json_decref(labels);
	}
}

static void
test_narrow(void)
{
	static struct promql_selector q;
	char why[PROMQL_WHY_BYTES];
	struct query query;

	CHECK_INT(
	    promql_parse_selector(&q, "ps:disk_io:read{host=\"dtn1\",session=\"7\"}", why), 0);
	prom_find_query(&q, &query);
	CHECK_STR(query.event_type, "ps:disk?io");
	CHECK_STR(query.field, "read");
	CHECK_STR(query.host, "dtn1");
	CHECK_INT(query.session, 7);
	CHECK_INT(
	    promql_parse_selector(&q, "{host!=\"dtn1\",event_type=~\"a\",session=\"x\"}", why), 0);
	prom_find_query(&q, &query);
	CHECK(query.event_type[0] == '\0' && query.host[0] == '\0');
	CHECK_INT(query.session, QUERY_ANY_SESSION);
}

static void
test_groups(void)
{
	static const struct {
		struct promql_stage stage;
		const char *want;
	} cases[] = {
		{ { .without = false }, "{}" },
		{ { .n_labels = 2, .labels = { "b", "none" } }, "{\"b\":\"2\"}" },
		{ { .without = true }, "{\"a\":\"1\",\"b\":\"2\"}" },
		{ { .without = true, .n_labels = 1, .labels = { "b" } }, "{\"a\":\"1\"}" },
	};
	json_t *labels = json_pack("{s:s, s:s, s:s}", "__name__", "n", "a", "1", "b", "2"), *group;
	char *text;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		group = prom_group_labels(&cases[i].stage, labels);
		text = json_dumps(group, JSON_COMPACT | JSON_SORT_KEYS);
		CHECK_STR(text, cases[i].want);
		free(text);
		json_decref(group);
	}
	CHECK_INT(json_object_size(labels), 3);
	json_decref(labels);
}

int
main(int argc, char **argv)
{
	unsigned seed = argc == 3 && strcmp(argv[1], "-s") == 0 ? (unsigned)atoi(argv[2]) : 1;

	printf("seed %u\n", seed);
	srandom(seed);
	test_names();
	test_reserved();
	test_found();
	test_narrow();
	test_groups();
	return check_done("test_prom_labels");
}
