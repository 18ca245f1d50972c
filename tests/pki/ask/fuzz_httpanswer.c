/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers of whoever pretends to be a box: the same in pieces of any size, and never more body than
 * there were bytes. */
#include "pki/ask/httpanswer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define MUST(cond)               \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

struct wire {
	const uint8_t *data;
	size_t len, at, piece;
};
struct body {
	size_t len;
	uint32_t sum;
};

static long
on_recv(void *from, void *buf, size_t cap, const char **why)
{
	struct wire *w = from;
	size_t n = w->len - w->at < w->piece ? w->len - w->at : w->piece;

	(void)why;
	n = n < cap ? n : cap;
	memcpy(buf, w->data + w->at, n);
	w->at += n;
	return (long)n;
}

static int
on_data(void *arg, const char *data, size_t len)
{
	struct body *b = arg;
	size_t i;

	b->len += len;
	for (i = 0; i < len; i++)
		b->sum = b->sum * 31 + (uint8_t)data[i];
	return NW_OK;
}

static int
read_in(const uint8_t *data, size_t len, size_t piece, struct body *b, int *status)
{
	struct wire w = { .data = data, .len = len, .piece = piece };
	const struct httpanswer a = { .recv = on_recv, .from = &w, .fn = on_data, .arg = b };
	const char *why = NULL;
	int rc;

	*b = (struct body){ 0 };
	*status = 0;
	rc = httpanswer_read(&a, status, &why);
	MUST(rc == NW_OK || (rc == NW_EPROTO && why != NULL));
	MUST(rc != NW_OK || (*status >= 200 && *status < 600));
	MUST(b->len <= len);
	return rc;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct body whole, cut;
	int rc, status, status_cut;

	rc = read_in(data, len, SIZE_MAX, &whole, &status);
	MUST(read_in(data, len, 1, &cut, &status_cut) == rc);
	MUST(status == status_cut && whole.len == cut.len && whole.sum == cut.sum);
	return 0;
}
