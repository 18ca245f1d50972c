/* SPDX-License-Identifier: BSD-3-Clause */
/* Result documents that are not what they should be have no values; and which tasks have a name. */
#include <math.h>

#include "narrows/err.h"
#include "narrows/result.h"

#include "tests/check.h"

static void
test_values(void)
{
	static const char *const documents[] = { "{}", "{\"start_ns\":null}", "{\"start_ns\":{}}",
		"{\"start_ns\":[]}", "{\"start_ns\":true}" };
	json_t *doc;
	size_t i;

	for (i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
		CHECK((doc = json_loads(documents[i], 0, NULL)) != NULL);
		CHECK(result_text(doc, KEY_session_start_ns) == NULL &&
		    isnan(result_number(doc, KEY_session_start_ns)) &&
		    result_ns(doc, KEY_session_start_ns) == 0);
		json_decref(doc);
	}
	CHECK(result_text(NULL, KEY_session_start_ns) == NULL &&
	    result_get(NULL, KEY_session_start_ns) == NULL && result_task(NULL) == NULL);
}

static void
test_task(void)
{
	static const struct {
		const char *task;
		bool named;
	} cases[] = {
		{ "copy-7", true },
		{ "task-00c2be149ef1af0c6fd46c22414d4ef", false },
		{ "task-00c2be149ef1af0c6fd46c22414d4e", true },
		{ "", true },
		{ "xsp:0123456789abcdef0123456789abcdef", false },
		{ "b74d090f-de4a-40ca-919d-43c4a38b69e2", false },
		{ "b74d090f-de4a-40ca-919d-43c4a38b69e2x", true },
		{ "b74d090f-de4a-40ca-919d-43c4a38b69e", true },
		{ "b74d090fade4a-40ca-919d-43c4a38b69e2", true },
		{ "gggggggg-de4a-40ca-919d-43c4a38b69e2", true },
	};
	json_t *session;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK((session = json_pack("{ss}", "task_id", cases[i].task)) != NULL);
		CHECK_INT(result_task(session) != NULL, cases[i].named);
		json_decref(session);
	}
}

/* An index that a document tells may be any number. */
static void
test_at(void)
{
	json_t *list = json_pack("[ii]", 7, 8);

	CHECK_INT(json_integer_value(result_at(list, 1)), 8);
	CHECK(result_at(list, 2) == NULL && result_at(list, -1) == NULL &&
	    result_at(list, NAN) == NULL && result_at(list, 1e300) == NULL &&
	    result_at(NULL, 0) == NULL);
	json_decref(list);
}

/* A document of a peer: whatever result_keys.def describes holds its kind of value. */
static void
test_check(void)
{
#define DOCUMENT(session, verdict)                                                                 \
	"{\"schema\":\"narrows-result/1\",\"run\":{},\"session\":" session ",\"verdict\":" verdict \
	"}"
	static const struct {
		const char *doc;
		int rc;
	} cases[] = {
		{ DOCUMENT("{}", "{}"), NW_OK },
		{ DOCUMENT("{\"start_ns\":\"12\",\"future\":[1]}", "{\"stage\":null}"), NW_OK },
		{ DOCUMENT("{\"files\":[{\"size_bytes\":1}]}", "{\"interval\":[1,null]}"), NW_OK },
		{ DOCUMENT("{\"start_ns\":12}", "{}"), NW_EPROTO },
		{ DOCUMENT("{\"start_ns\":\"1e9\"}", "{}"), NW_EPROTO },
		{ DOCUMENT("{\"id\":1.5}", "{}"), NW_EPROTO },
		{ DOCUMENT("{\"files\":{}}", "{}"), NW_EPROTO },
		{ DOCUMENT("{\"files\":[1]}", "{}"), NW_EPROTO },
		{ DOCUMENT("{\"files\":[{\"size_bytes\":\"1\"}]}", "{}"), NW_EPROTO },
		{ DOCUMENT("{}", "{\"interval\":[\"1\"]}"), NW_EPROTO },
		{ DOCUMENT("{}", "{\"sentence\":[]}"), NW_EPROTO },
		{ DOCUMENT("[]", "{}"), NW_EPROTO },
		{ DOCUMENT("{}", "null"), NW_EPROTO },
		{ "{\"schema\":\"narrows-result/2\"}", NW_EPROTO },
		{ "{}", NW_EPROTO },
		{ "[]", NW_EPROTO },
	};
	const char *why;
	json_t *doc;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		why = NULL;
		CHECK((doc = json_loads(cases[i].doc, 0, NULL)) != NULL);
		CHECK_INT(result_check(doc, &why), cases[i].rc);
		CHECK((why == NULL) == (cases[i].rc == NW_OK));
		json_decref(doc);
	}
	CHECK(result_task_is_report("narrows-report:0123456789abcdef0123456789abcdef"));
	CHECK(!result_task_is_report("narrows-report:0123456789abcdef0123456789abcde"));
	CHECK(!result_task_is_report("narrows-report:") && !result_task_is_report(NULL));
}

/* Lists name a limit that changed, and two limits at once, instead of "cannot tell, medium". */
static void
test_limit_words(void)
{
	static const struct {
		const char *stage, *confidence, *sentence, *words;
	} cases[] = {
		{ "disk.write", "high", "Disk write limited this transfer.", "disk write" },
		{ "disk.write", "low", "It changed on the way: most of the time disk write on b.",
		    "disk write" },
		{ "sender.host", "medium", "The sending program limited: it paces itself at 9 B/s.",
		    "sending program's own pace" },
		{ "host", "low", "The program limited: it paces itself.", "program's own pace" },
		{ "host", "low", "The program limited.", "program" },
		{ NULL, "medium", "What limited this transfer to 1 MB/s changed on the way.",
		    "changed on the way" },
		{ NULL, "medium", "Both disk read and disk write limited this transfer.",
		    "two stages at once" },
		{ NULL, "low", NULL, "two stages at once" },
		{ NULL, "none", "Cannot tell what limited this transfer.", "cannot tell" },
		{ NULL, NULL, NULL, "cannot tell" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_STR(
		    result_limit_words(cases[i].stage, cases[i].confidence, cases[i].sentence),
		    cases[i].words);
}

int
main(void)
{
	test_limit_words();
	test_check();
	test_values();
	test_at();
	test_task();
	return check_done("test_result");
}
