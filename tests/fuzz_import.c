/* SPDX-License-Identifier: BSD-3-Clause */
/* Whatever the file: one line about what is wrong and where, or documents that every box takes. The first byte says
 * which format, or that it is to be found out. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/cmd/import.h"
#include "narrows/err.h"
#include "narrows/frame.h"

#define MUST(cond) do { if (!(cond)) abort(); } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static uint64_t n_values;

static int
on_data(void *arg, const struct nw_data *d)
{
	(void)arg;
	MUST(d->n_rows == 1 && d->t_wall_ns[0] != NW_TIME_BY_SAMPLE);
	n_values += d->n_fields;
	return 0;
}

static void
check_documents(struct import *im)
{
	struct nw_doc_decoder *decoder = nw_doc_decoder_new(NULL);
	struct nw_doc_sink sink = { .on_data = on_data };
	struct spooled head;
	const char *why;
	uint8_t *doc = NULL;

	MUST(decoder != NULL);
	n_values = 0;
	rewind(im->spool);
	while (fread(&head, sizeof(head), 1, im->spool) == 1) {
		MUST(head.host < im->n_hosts && (doc = realloc(doc, head.len)) != NULL);
		MUST(fread(doc, 1, head.len, im->spool) == head.len);
		MUST(nw_doc_decode(decoder, NW_OPT_DATA, doc, head.len, &sink, &why) == NW_OK);
	}
	MUST(n_values <= im->n_values);
	free(doc);
	nw_doc_decoder_free(decoder);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const formats[] = { "tidy", "wide", "keys", "keys-long", "ndjson", "sadf", "ulm", "bp", "influx", NULL };
	struct stat_error err = { "" };
	struct import im;

	if (len == 0)
		return 0;
	import_init(&im, "fuzz", (const char *)data + 1, len - 1, NULL, NULL, &err);
	if (import_parse(&im, formats[data[0] % 10]) == NW_OK) {
		MUST(err.text[0] == '\0' && im.n_values > 0);
		check_documents(&im);
	} else
		MUST(strncmp(err.text, "fuzz:", 5) == 0 && strchr(err.text, '\n') == NULL);
	import_clear(&im);
	return 0;
}
