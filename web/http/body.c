/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/http/body.h"

#include <stdlib.h>

#include <event2/buffer.h>

#include "narrows/err.h"
#include "narrows/result.h"

/* Doubles are written with 17 digits, so that readers get the same bits. */
int
body_put_document(struct evbuffer *out, json_t *doc)
{
	char *text = doc != NULL ? json_dumps(doc, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
	int rc = text != NULL && evbuffer_add_printf(out, "%s\n", text) >= 0 ? NW_OK : NW_ENOMEM;

	free(text);
	json_decref(doc);
	return rc;
}

int
body_put_error(struct evbuffer *out, int code, const char *reason)
{
	json_t *doc = json_object();

	result_put_int(doc, KEY_error_status, code);
	result_put_text(doc, KEY_error_error, reason);
	return body_put_document(out, doc);
}

/* A detail that is not UTF-8 becomes null. */
int
body_put_problem(struct evbuffer *out, int code, const char *title, const char *detail)
{
	json_t *doc = json_object(), *text = detail != NULL ? json_string(detail) : NULL;

	result_put_text(doc, KEY_problem_type, "about:blank");
	result_put_text(doc, KEY_problem_title, title);
	result_put_int(doc, KEY_problem_status, code);
	result_set(doc, KEY_problem_detail, text != NULL ? text : json_null());
	return body_put_document(out, doc);
}
