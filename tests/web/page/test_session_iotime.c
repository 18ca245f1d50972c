/* SPDX-License-Identifier: BSD-3-Clause */
/* The section on file operations: what the document says stands on the page, nothing stands there
 * without a sentence, and hostile documents are escaped. */
#include "web/page/page.h"

#include <event2/buffer.h>

#include "tests/check.h"

#define NBSP "\xc2\xa0"

/* The section of a document, as text; free() it. */
static char *
written(const char *json)
{
	json_t *doc = json_loads(json, 0, NULL);
	struct evbuffer *out = evbuffer_new();
	struct html h = { .out = out };
	size_t len;
	char *text;

	CHECK(doc != NULL);
	session_iotime(&h, doc);
	CHECK(!h.failed);
	len = evbuffer_get_length(out);
	text = calloc(1, len + 1);
	evbuffer_remove(out, text, len);
	evbuffer_free(out);
	json_decref(doc);
	return text;
}

static const char example[] =
    "{\"io\":{\"sentence\":\"Operations took 3 s & more.\",\"stages\":["
    "{\"stage\":\"disk.read\",\"classes\":[{\"name\":\"page <cache>\",\"share_ops\":0.75,"
    "\"time_s\":0.5,\"lost_s\":0},{\"name\":\"long seek\",\"share_ops\":0.25,\"time_s\":2.5,"
    "\"lost_s\":2.25}]},{\"stage\":\"disk.write\",\"classes\":[]},"
    "{\"stage\":\"third\",\"classes\":[]}],\"files\":["
    "{\"path\":\"/data/<x>\",\"stage\":\"disk.read\",\"time_s\":3,\"lost_s\":1.25,"
    "\"named_by\":\"baseline\",\"steps\":[{\"kind\":\"forward\",\"steps\":980},"
    "{\"kind\":\"same\",\"steps\":1},{\"kind\":\"random\",\"steps\":19}]}]}}";

static void
test_example(void)
{
	static const char *const says[] = { "<p>Operations took 3 s &amp; more.</p>",
		"page &lt;cache&gt;", "75" NBSP "%", "500" NBSP "ms", "long seek", "25" NBSP "%",
		"2.50" NBSP "s", "2.25" NBSP "s", "<h3>disk read</h3>", "<h3>disk write</h3>",
		"<h3>Files</h3>", "/data/&lt;x&gt;", "baseline", ">3" NBSP "s<", "1.25" NBSP "s",
		"98" NBSP "% forward, 1.9" NBSP "% random<" };
	char *text = written(example);
	size_t i;

	for (i = 0; i < sizeof(says) / sizeof(says[0]); i++)
		if (strstr(text, says[i]) == NULL) {
			fprintf(stderr, "not said: %s\n%s\n", says[i], text);
			CHECK(!"it is said");
		}
	/* a page has two directions; kinds below half a percent are left out */
	CHECK(strstr(text, "third") == NULL);
	CHECK(strstr(text, "% same") == NULL);
	free(text);
}

/* Without a sentence, no operation was counted. */
static void
test_nothing(void)
{
	static const char *const docs[] = { "{}", "{\"io\":null}", "{\"io\":7}", "{\"io\":{}}",
		"{\"io\":{\"sentence\":null,\"stages\":[{\"stage\":\"disk.read\"}],"
		"\"files\":[{\"path\":\"/x\"}]}}" };
	size_t i;
	char *text;

	for (i = 0; i < sizeof(docs) / sizeof(docs[0]); i++) {
		text = written(docs[i]);
		CHECK_STR(text, "");
		free(text);
	}
}

static void
test_absurd(void)
{
	static const char *const docs[] = {
		"{\"io\":{\"sentence\":\"<script>\",\"stages\":7,\"files\":\"x\"}}",
		"{\"io\":{\"sentence\":\"s\",\"stages\":[null,3,{\"stage\":\"<script>\","
		"\"classes\":"
		"[null,1,{\"name\":\"<script>\",\"share_ops\":\"x\",\"time_s\":null}]}]}}",
		"{\"io\":{\"sentence\":\"s\",\"stages\":[{\"classes\":{}}],\"files\":[null,{},"
		"{\"path\":\"<script>\",\"named_by\":\"<script>\",\"stage\":9,\"steps\":"
		"[null,{\"kind\":\"<script>\",\"steps\":3},{\"steps\":5},{\"kind\":\"x\","
		"\"steps\":-8}]}]}}",
		"{\"io\":{\"sentence\":\"s\",\"files\":[{\"steps\":[{\"kind\":\"x\",\"steps\":0}]},"
		"{\"steps\":[{\"kind\":\"x\",\"steps\":-1}]}]}}",
	};
	size_t i;
	char *text;

	for (i = 0; i < sizeof(docs) / sizeof(docs[0]); i++) {
		text = written(docs[i]);
		if (strstr(text, "<script") != NULL || strstr(text, "nan") != NULL ||
		    strstr(text, "inf") != NULL || strstr(text, "<h3>Files</h3>") == NULL) {
			fprintf(stderr, "%s\n%s\n", docs[i], text);
			CHECK(!"the section is whole, and escaped");
		}
		free(text);
	}
}

int
main(void)
{
	test_example();
	test_nothing();
	test_absurd();
	return check_done("test_session_iotime");
}
