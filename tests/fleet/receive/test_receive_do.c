/* SPDX-License-Identifier: BSD-3-Clause */
/* The head of a request: what is asked, how long the body is, and what is refused. */
#include "fleet/receive/receive.h"
#include "tests/check.h"

static int
head_of(const char *text, struct receive_head *head)
{
	return receive_head(text, strlen(text), head);
}

int
main(void)
{
	static const struct {
		const char *text;
		int status;
	} refused[] = { { "GET /fleet/rows HTTP/1.1\r\nContent-Length: 3\r\n\r\n", 405 },
		{ "POST /fleet/row HTTP/1.1\r\nContent-Length: 3\r\n\r\n", 404 },
		{ "POST /fleet/rows?x HTTP/1.1\r\nContent-Length: 3\r\n\r\n", 404 },
		{ "POST /fleet/rows HTTP/1.1\r\n\r\n", 411 },
		{ "POST /fleet/rows HTTP/1.1\r\nContent-Length: \r\n\r\n", 411 },
		{ "POST /fleet/rows HTTP/1.1\r\nContent-Length: -3\r\n\r\n", 400 },
		{ "POST /fleet/rows HTTP/1.1\r\nContent-Length: 3x\r\n\r\n", 400 },
		{ "POST /fleet/rows HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
		    400 },
		{ "POST /fleet/rows HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: "
		  "3\r\n\r\n",
		    411 },
		{ "POST /fleet/rows HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
		    413 },
		{ "", 400 }, { "POST ", 404 } };
	struct receive_head head;
	size_t i;

	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		CHECK_INT(head_of(refused[i].text, &head), refused[i].status);
		if (check_failed > 0)
			fprintf(stderr, "at %zu\n", i);
	}
	CHECK_INT(
	    head_of("POST /fleet/gone HTTP/1.1\r\nHost: x\r\ncontent-length:  12 \r\n\r\n", &head),
	    400); /* a blank behind the number */
	CHECK_INT(
	    head_of("POST /fleet/gone HTTP/1.1\r\nHost: x\r\ncontent-length:  12\r\n\r\n", &head),
	    0);
	CHECK_INT(head.what, RECEIVE_GONE);
	CHECK_INT(head.body_bytes, 12);
	return check_done("receive_do");
}
