/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of NM-WG: whatever comes, bounded texts that end, and one reason for a refusal. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/nmwg.h"

#define MUST(cond)               \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
check_text(const char *text)
{
	MUST(text == NULL || strlen(text) <= NMWG_TEXT_MAX_BYTES);
}

static void
check_pairs(const struct nmwg_pair *p, size_t n)
{
	MUST(n <= NMWG_PAIRS_MAX);
	for (; n > 0; n--, p++) {
		MUST(p->name != NULL && p->value != NULL);
		check_text(p->name);
		check_text(p->value);
	}
}

static int
on_meta(void *arg, size_t at, const struct nmwg_meta *m)
{
	MUST(at <= *(size_t *)arg);
	check_text(m->id);
	check_text(m->ref);
	check_text(m->event_type);
	check_text(m->host);
	check_text(m->own_id);
	check_text(m->own_pid);
	check_pairs(m->pairs, m->n_pairs);
	return NW_OK;
}

static int
on_datum(void *arg, size_t at, const struct nmwg_datum *d)
{
	long long t;

	MUST(at <= *(size_t *)arg && d->n_pairs > 0);
	check_text(d->ref);
	check_text(d->unit);
	check_text(d->from);
	if (d->time != NULL)
		nmwg_time_words(d->time, &t);
	check_pairs(d->pairs, d->n_pairs);
	return NW_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct nmwg_sink sink = { &len, on_meta, on_datum };
	const char *why = NULL;
	size_t at = 0;
	int rc = nmwg_read((const char *)data, len, &sink, &at, &why);

	MUST((rc == NW_OK) == (why == NULL) && at <= len);
	MUST(rc == NW_OK || rc == NW_EPROTO || rc == NW_ETOOBIG);
	nmwg_is((const char *)data, len);
	return 0;
}
