/* SPDX-License-Identifier: BSD-3-Clause */
/* Whatever result document somebody hands over: its page is made, or it is refused. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>

#include "narrows/err.h"
#include "narrows/result.h"
#include "web/page/page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define MUST(cond)               \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct html h = { .out = evbuffer_new() };
	char *text = malloc(len + 1);
	const char *why = NULL;
	json_t *doc;
	int rc;

	MUST(h.out != NULL && text != NULL);
	memcpy(text, data, len);
	text[len] = '\0';
	rc = page_session_file(&h, text);
	MUST(rc == NW_OK || rc == NW_EINVAL);
	doc = json_loads(text, 0, NULL);
	rc = result_check(doc, &why);
	MUST((rc == NW_OK) == (why == NULL));
	MUST(rc != NW_OK || evbuffer_get_length(h.out) > 1000);
	json_decref(doc);
	free(text);
	evbuffer_free(h.out);
	return 0;
}
