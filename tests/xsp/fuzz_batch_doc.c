/* SPDX-License-Identifier: BSD-3-Clause */
/* Packed rows: whatever the bytes, what is delivered keeps the limits and says the same when it is
 * packed again. */
#include <stdlib.h>
#include <string.h>

#include "narrows/doc.h"
#include "narrows/err.h"
#include "narrows/frame.h"

#define MUST(cond)               \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct nw_doc_limits limits = { .doc_max_bytes = 64 << 10,
	.depth_max = 4,
	.items_max = 16,
	.fields_max = 16,
	.rows_max = 4096,
	.text_max_bytes = 256 };
static struct nw_doc_decoder *first, *second;

static int
on_again(void *arg, const struct nw_data *d)
{
	const struct nw_data *want = arg;
	size_t i;

	MUST(strcmp(d->mid, want->mid) == 0 && d->n_rows == want->n_rows &&
	    d->n_fields == want->n_fields);
	MUST(memcmp(d->t_wall_ns, want->t_wall_ns, 8 * d->n_rows) == 0);
	for (i = 0; i < d->n_rows * d->n_fields; i++)
		MUST(d->values[i] == want->values[i] ||
		    (d->values[i] != d->values[i] && want->values[i] != want->values[i]));
	for (i = 0; i < d->n_fields; i++)
		MUST(strcmp(d->fields[i], want->fields[i]) == 0);
	return NW_OK;
}

static int
on_data(void *arg, const struct nw_data *d)
{
	const struct nw_doc_sink sink = { (void *)(uintptr_t)d, NULL, on_again };
	struct nw_doc_buf buf = { 0 };
	const char *why = NULL;

	MUST(d->mid[0] != '\0' && d->n_rows > 0 && d->n_rows <= limits.rows_max);
	MUST(d->n_fields > 0 && d->n_fields <= limits.fields_max);
	MUST(d->n_rows * d->n_fields * 8 < *(size_t *)arg);
	MUST(nw_batch_doc_encode(&buf, d) == NW_OK);
	MUST(nw_doc_decode(second, NW_OPT_BATCH, buf.data, buf.len, &sink, &why) == NW_OK);
	nw_doc_buf_clear(&buf);
	return NW_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct nw_doc_sink sink = { &len, NULL, on_data };
	const char *why = NULL;
	int rc;

	if (first == NULL) {
		first = nw_doc_decoder_new(&limits);
		second = nw_doc_decoder_new(&limits);
	}
	rc = nw_doc_decode(first, NW_OPT_BATCH, data, len, &sink, &why);
	MUST(rc == NW_OK || why != NULL);
	return 0;
}
