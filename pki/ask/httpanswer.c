/* SPDX-License-Identifier: BSD-3-Clause */
#include "pki/ask/httpanswer.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "narrows/err.h"

enum { LINE_MAX_BYTES = 8192, HEADERS_MAX = 200 };

struct answer {
	const struct httpanswer *to;
	const char *why;
	char in[32 << 10];
	size_t at, len;  /* range of `in` not used yet */
	uint64_t length; /* of the body; UINT64_MAX: not said */
	bool chunked;
};

static int
refuse(struct answer *a, const char *why)
{
	a->why = why;
	return NW_EPROTO;
}

/* --- bytes --- */

/* NW_ECLOSED: no more will come. */
static int
input_fill(struct answer *a)
{
	long n;

	if (a->at < a->len)
		return NW_OK;
	a->at = a->len = 0;
	if ((n = a->to->recv(a->to->from, a->in, sizeof(a->in), &a->why)) < 0)
		return (int)n;
	a->len = (size_t)n;
	return n > 0 ? NW_OK : NW_ECLOSED;
}

/* Reads a line without the newline. */
static int
line_read(struct answer *a, char line[LINE_MAX_BYTES])
{
	size_t n = 0;
	char ch = '\0';
	int rc;

	while (ch != '\n') {
		if ((rc = input_fill(a)) < 0)
			return rc == NW_ECLOSED ? refuse(a, "the answer breaks off") : rc;
		ch = a->in[a->at++];
		if (n == LINE_MAX_BYTES - 1)
			return refuse(a, "a header is too long");
		line[n++] = ch;
	}
	line[--n] = '\0';
	if (n > 0 && line[n - 1] == '\r')
		line[n - 1] = '\0';
	return NW_OK;
}

/* Passes n bytes to the caller's function; with n UINT64_MAX every byte until the end. */
static int
body_pass(struct answer *a, uint64_t n)
{
	size_t some;
	int rc = NW_OK;

	for (; n > 0 && rc == NW_OK; n -= n == UINT64_MAX ? 0 : some) {
		if ((rc = input_fill(a)) < 0)
			return rc != NW_ECLOSED ? rc
			    : n == UINT64_MAX   ? NW_OK
						: refuse(a, "the answer breaks off");
		some = a->len - a->at;
		if (some > n)
			some = (size_t)n;
		rc = a->to->fn(a->to->arg, a->in + a->at, some);
		a->at += some;
	}
	return rc;
}

/* --- the answer --- */

static bool
number_parse(const char *text, int base, const char *ends, uint64_t *out)
{
	char *end;

	if (strchr("0123456789abcdefABCDEF", *text) == NULL || *text == '\0')
		return false;
	*out = strtoull(text, &end, base);
	return end != text && strchr(ends, *end) != NULL && *out < UINT64_MAX;
}

static int
header_take(struct answer *a, char *line)
{
	char *value = strchr(line, ':');

	if (value == NULL)
		return refuse(a, "a header has no colon");
	*value++ = '\0';
	value += strspn(value, " \t");
	if (strcasecmp(line, "Transfer-Encoding") == 0) {
		a->chunked = strcasecmp(value, "chunked") == 0;
		return a->chunked ? NW_OK : refuse(a, "the transfer encoding is unknown");
	}
	if (strcasecmp(line, "Content-Length") == 0 && !number_parse(value, 10, "", &a->length))
		return refuse(a, "the length of the body is not a number");
	return NW_OK;
}

static int
head_read(struct answer *a, int *status)
{
	char line[LINE_MAX_BYTES];
	int rc, n;

	if ((rc = line_read(a, line)) < 0)
		return rc;
	if (sscanf(line, "HTTP/1.%*1[01] %3d", status) != 1 || *status < 200 || *status > 599)
		return refuse(a, "the answer is not HTTP");
	for (n = 0; n < HEADERS_MAX; n++) {
		if ((rc = line_read(a, line)) < 0 || *line == '\0')
			return rc;
		if ((rc = header_take(a, line)) < 0)
			return rc;
	}
	return refuse(a, "too many headers");
}

static int
chunks_read(struct answer *a)
{
	char line[LINE_MAX_BYTES];
	uint64_t len;
	int rc;

	for (;;) {
		if ((rc = line_read(a, line)) < 0)
			return rc;
		if (!number_parse(line, 16, " ;", &len))
			return refuse(a, "a chunk has no length");
		if (len == 0)
			return NW_OK; /* trailers are nothing to us */
		if ((rc = body_pass(a, len)) < 0 || (rc = line_read(a, line)) < 0)
			return rc;
		if (*line != '\0')
			return refuse(a, "a chunk is longer than its length");
	}
}

int
httpanswer_read(const struct httpanswer *to, int *status, const char **why)
{
	struct answer a = { .to = to, .length = UINT64_MAX };
	int rc = head_read(&a, status);

	if (rc == NW_OK && *status != 204 && *status != 304)
		rc = a.chunked ? chunks_read(&a) : body_pass(&a, a.length);
	*why = a.why;
	return rc;
}
