/* SPDX-License-Identifier: BSD-3-Clause */
/* Sections of what was found: the example says what it should, and documents that make no sense say
 * little, in words. */
#include "web/page/page.h"

#include <event2/buffer.h>

#include "tests/check.h"

static void (*const sections[])(struct html *h, const json_t *doc) = { session_changes,
	session_plots, session_classes, session_reduction };

/* All sections of a document, as text; free() it. */
static char *
written(const json_t *doc)
{
	struct evbuffer *out = evbuffer_new();
	struct html h = { .out = out };
	size_t len, i;
	char *text;

	for (i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		sections[i](&h, doc);
	CHECK(!h.failed);
	len = evbuffer_get_length(out);
	text = calloc(1, len + 1);
	evbuffer_remove(out, text, len);
	evbuffer_free(out);
	return text;
}

static size_t
count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)) != NULL; text++)
		n++;
	return n;
}

static void
test_example(void)
{
	json_t *doc = json_load_file("tests/data/result_example.json", 0, NULL);
	static const char *const says[] = {
		"disk write on dtn-b</",
		"Class C took 74\xc2\xa0% of the time in 8.0\xc2\xa0% of the operations",
		"took longer than 9.20\xc2\xa0ms and belong to no class: 3.1\xc2\xa0%",
		"Kinds with too few operations for classes: 1.",
		"3 others go along",
		"memory:vmstat pgpgout",
		"explain <b>97\xc2\xa0%</b> of its ups and downs in 240 rows of 12 sessions (",
		"and <b>95\xc2\xa0%</b> in stretches",
		"There are 6 complete rows; 30 are needed.",
		"R\xc2\xb2 out of sample",
		"-11.4",
	};
	char *text = written(doc);
	size_t i;

	for (i = 0; i < sizeof(says) / sizeof(says[0]); i++)
		if (strstr(text, says[i]) == NULL) {
			fprintf(stderr, "not said: %s\n", says[i]);
			CHECK(!"it is said");
		}
	/* three classes, one, and one; every figure has a description and a table */
	CHECK_INT(count(text, "class=\"area f"), 5);
	CHECK_INT(count(text, "class=\"name\""), 5);
	CHECK_INT(count(text, "<desc id="), count(text, "role=\"img\""));
	CHECK_INT(count(text, "<summary>As a table</summary>"), count(text, "<figure"));
	/* four timelines and one scan, each mark twice: in the plot and in its legend */
	CHECK_INT(count(text, "class=\"change\""), 2 * 5);
	free(text);
	json_decref(doc);
}

/* Time as a cause is told with the moment and the metrics taken away. */
static void
test_common_cause(void)
{
	json_t *doc =
	    json_loads("{\"reduction\":[{\"status\":\"ok\",\"program\":\"mover\",\"response\":"
		       "\"delivered rate\",\"time_parts\":[\"start\",\"trend\"],\"time_starts\":["
		       "{\"at_ns\":\"1700000130000000000\"}],\"r2_time\":0.82,\"n_time_taken\":7,"
		       "\"time_taken\":[\"cpu user\",\"a\",\"b\",\"c\",\"d\",\"last one\"]}]}",
		0, NULL);
	char *text = written(doc);

	CHECK(strstr(text, "Time itself explains <b>82") != NULL);
	CHECK(strstr(text, "<b>a start</b> at <time") != NULL);
	CHECK(strstr(text, " and <b>a slow trend</b>.") != NULL);
	CHECK(strstr(text, "<b>7</b> metrics have the same course") != NULL);
	CHECK(strstr(text, "cpu user") != NULL && strstr(text, "last one") == NULL);
	free(text);
	json_decref(doc);
	doc = json_loads("{\"reduction\":[{\"status\":\"ok\",\"time_parts\":[]}]}", 0, NULL);
	text = written(doc);
	CHECK(strstr(text, "Time itself") == NULL);
	free(text);
	json_decref(doc);
}

static void
test_absurd(void)
{
	static const char *const docs[] = {
		"{}",
		"{\"changes\":null,\"density\":null,\"reduction\":null}",
		"{\"changes\":7,\"density\":\"x\",\"reduction\":{}}",
		"{\"changes\":{\"segments\":[]},\"density\":[],\"reduction\":[]}",
		"{\"changes\":{\"segments\":[1,null,{\"start_ns\":\"-9\",\"end_ns\":"
		"\"9223372036854775807\",\"words\":[],"
		"\"hidden_wait\":[1,{}],\"bytes_per_s\":1e308,\"p_holm\":-3}]}}",
		"{\"density\":[null,3,{\"classes\":[null,{\"share_time\":7},{\"from_s\":5,\"to_s\":"
		"1,\"name\":\"<b>\"}]}]}",
		"{\"density\":[{\"n\":1e300,\"classes\":[{}],\"curve\":{\"x_s\":[1,2],\"y\":[1]}}]"
		"}",
		"{\"density\":[{\"n\":-1,\"classes\":[{}],\"curve\":{\"x_s\":[2,1],\"y\":[1,1]}}]}",
		"{\"density\":[{\"classes\":[{\"name\":\"A\"}],\"curve\":{\"x_s\":[1e-300,1e300],"
		"\"y\":[1,1e300]}}]}",
		"{\"density\":[{\"classes\":[{\"name\":\"A\"}],\"curve\":{\"x_s\":[1,2,3],\"y\":[0,"
		"0,0]}}]}",
		"{\"density\":[{\"classes\":[{\"name\":\"A\",\"from_s\":2.5,\"to_s\":2.6}],"
		"\"curve\":{\"x_s\":[1,2,3],\"y\":[0,null,1]}}]}",
		"{\"density\":[{\"classes\":[{\"name\":\"A\",\"from_s\":2.2,\"to_s\":2.6},{\"from_"
		"s\":-1,\"to_s\":99}],"
		"\"curve\":{\"x_s\":[1,2,3],\"y\":[0,5,1]}}]}",
		"{\"reduction\":[{\"status\":\"ok\",\"kept\":[{},3,{\"members\":[1,2],"
		"\"coefficient\":1e308,\"drift\":4}],"
		"\"scan\":[{\"threshold\":0.1,\"r2\":-1e300},{\"threshold\":0.1},{\"threshold\":9},"
		"{\"threshold\":0.2,\"r2\":1e300}]}]}",
		"{\"reduction\":[{\"status\":\"ok\",\"r2\":1e300,\"n_rows\":-5,\"n_metrics\":1e300,"
		"\"threshold\":1e300,\"warning\":\"<i>\","
		"\"scan\":[{\"threshold\":0,\"r2_oos\":-82},{\"threshold\":1,\"r2_oos\":0.9}]}]}",
		"{\"reduction\":[{\"status\":\"ok\",\"time_parts\":[7,\"start\",\"<i>\"],"
		"\"time_starts\":[null,{\"at_ns\":\"x\"}],\"time_taken\":[3,\"<i>\"],"
		"\"n_time_taken\":-1}]}",
		"{\"reduction\":[{\"status\":\"constant_response\"},{\"status\":\"no_metrics\"},{"
		"\"status\":\"<script>\"},{}]}",
	};
	size_t i;

	for (i = 0; i < sizeof(docs) / sizeof(docs[0]); i++) {
		json_t *doc = json_loads(docs[i], 0, NULL);
		char *text = written(doc);

		CHECK(doc != NULL);
		if (strstr(text, "nan") != NULL || strstr(text, "inf") != NULL ||
		    strstr(text, "<b>\"") != NULL || strstr(text, "<script") != NULL ||
		    strstr(text, "<i>") != NULL) {
			fprintf(stderr, "%s\n%s\n", docs[i], text);
			CHECK(!"it is said in words, and escaped");
		}
		CHECK_INT(count(text, "<section>"), count(text, "</section>"));
		CHECK_INT(count(text, "<figure"), count(text, "</figure>"));
		free(text);
		json_decref(doc);
	}
}

int
main(void)
{
	test_example();
	test_common_cause();
	test_absurd();
	return check_done("test_session_classes");
}
