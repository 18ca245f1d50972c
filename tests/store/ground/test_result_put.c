/* SPDX-License-Identifier: BSD-3-Clause */
/* Values that a document may lack are null, and all others keep every digit. */
#include "narrows/result.h"

#include "tests/check.h"

static void
check_document(json_t *doc, const char *want)
{
	char *text = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(17));

	CHECK_STR(text, want);
	free(text);
	json_decref(doc);
}

int
main(void)
{
	json_t *doc = json_object();

	result_put_text(doc, KEY_problem_title, NULL);
	result_put_text(doc, KEY_problem_detail, "\xe4");
	result_put_real(doc, KEY_listed_bytes, NAN);
	result_put_real(doc, KEY_listed_usual, -INFINITY);
	result_put_ns(doc, KEY_listed_start_ns, 0);
	result_put_iso(doc, KEY_listed_start, 0);
	result_put_iso_ms(doc, KEY_listed_end, 0);
	check_document(doc,
	    "{\"title\":null,\"detail\":null,\"bytes\":null,\"usual\":null,\"start_ns\":null,"
	    "\"start\":null,\"end\":null}");
	doc = json_object();
	result_put_text(doc, KEY_problem_title, "");
	result_put_real(doc, KEY_listed_bytes, 0);
	result_put_int(doc, KEY_listed_id, INT64_MAX);
	result_put_flag(doc, KEY_listed_pinned, true);
	result_put_ns(doc, KEY_listed_start_ns, 1795162331250000001);
	result_put_iso(doc, KEY_listed_start, 1795162331250000001);
	result_put_iso_ms(doc, KEY_listed_end, 1795162331250000001);
	check_document(doc,
	    "{\"title\":\"\",\"bytes\":0.0,\"id\":9223372036854775807,\"pinned\":true,"
	    "\"start_ns\":\"1795162331250000001\",\"start\":\"2026-11-20T08:12:11.250000001Z\","
	    "\"end\":\"2026-11-20T08:12:11.250Z\"}");
	return check_done("test_result_put");
}
