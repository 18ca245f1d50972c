/* SPDX-License-Identifier: BSD-3-Clause */
/* Whatever the file: one line about what is wrong and where, or documents that every box takes. The
 * first byte says which format, or that it is to be found out. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/import/import.h"
#include "narrows/err.h"
#include "narrows/event.h"
#include "narrows/frame.h"

#define MUST(cond)               \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static uint64_t n_metas, n_values;

static int
on_meta(void *arg, const struct nw_meta *m)
{
	(void)arg, (void)m;
	n_metas++;
	return 0;
}

/* Made by us, or of others and passed on as it is. */
static int
on_data(void *arg, const struct nw_data *d)
{
	const struct import *im = arg;
	size_t k;

	MUST(im->hosts[0].sender != NULL ||
	    (d->n_rows == 1 && d->t_wall_ns[0] != NW_TIME_BY_SAMPLE));
	for (k = 0; k < d->n_rows * d->n_fields; k++)
		n_values += !isnan(d->values[k]);
	return 0;
}

/* A block of events is whole, and each of its events can be read. */
static size_t
events_check(const uint8_t *block, size_t len)
{
	struct nw_event_block *b = nw_event_block_new();
	const char *why;
	struct nw_event e;
	size_t i, n;

	MUST(b != NULL && nw_event_block_read(b, block, len, &why) == NW_OK);
	n = nw_event_block_count(b);
	for (i = 0; i < n; i++) {
		nw_event_block_get(b, i, &e);
		MUST(e.name != NULL);
	}
	nw_event_block_free(b);
	return n;
}

static void
check_documents(struct import *im)
{
	struct nw_doc_decoder *decoder = nw_doc_decoder_new(NULL);
	struct nw_doc_sink sink = { .arg = im, .on_meta = on_meta, .on_data = on_data };
	uint64_t before, n_events = 0;
	struct spooled head;
	const char *why;
	uint8_t *doc = NULL;

	MUST(decoder != NULL);
	n_values = 0;
	rewind(im->spool);
	while (fread(&head, sizeof(head), 1, im->spool) == 1) {
		MUST(head.host < im->n_hosts && (doc = realloc(doc, head.len)) != NULL);
		MUST(fread(doc, 1, head.len, im->spool) == head.len);
		if (head.opt == NW_OPT_OPS) {
			MUST(head.len > 0);
			n_events += events_check(doc + 1, head.len - 1);
			continue;
		}
		before = n_metas;
		MUST(nw_doc_decode(decoder, (uint16_t)head.opt, doc, head.len, &sink, &why) ==
		    NW_OK);
		MUST(head.opt == NW_OPT_DATA || (head.opt == NW_OPT_META && n_metas == before + 1));
	}
	MUST(n_values <= im->n_values && n_events == im->n_events);
	free(doc);
	nw_doc_decoder_free(decoder);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const formats[] = { "tidy", "wide", "keys", "keys-long", "ndjson",
		"sadf", "ulm", "bp", "influx", NULL, "nmwg", "g0" };
	struct stat_error err = { "" };
	struct import im;

	if (len == 0)
		return 0;
	import_init(&im, "fuzz", (const char *)data + 1, len - 1, NULL, NULL, &err);
	if (import_parse(&im, formats[data[0] % 12]) == NW_OK) {
		MUST(err.text[0] == '\0' && im.n_values + im.n_events > 0);
		check_documents(&im);
	} else
		MUST(strncmp(err.text, "fuzz:", 5) == 0 && strchr(err.text, '\n') == NULL);
	import_clear(&im);
	return 0;
}
