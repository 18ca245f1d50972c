/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as windows, as documents and as connections: what is left after cleaning names no host
 * of ours and no task but ours, and is left as it is by another cleaning of the same site. */
#include <stdlib.h>
#include <string.h>

#include "cli/partner/partner.h"
#include "narrows/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define MUST(cond)               \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

static void
documents(const char *bytes, size_t len)
{
	static const struct partner_end end = { "192.0.2.9", "192.0.2.1", 5000, 4000 };
	struct clean c = { .site = "b",
		.task = "order:7",
		.ends = &end,
		.n_ends = 1,
		.to_wall_ns = INT64_MAX / 2 };
	const char *why = NULL;
	size_t own_len;
	char *own;

	if (clean_take(&c, bytes, len, &why) < 0)
		MUST(why != NULL);
	else if (c.out_len > 0) {
		MUST(c.hosts != NULL && strstr(c.hosts, "@b") != NULL);
		own = clean_own(c.out, c.out_len, &own_len);
		MUST(own_len == 0); /* every host is the partner's */
		free(own);
	}
	clean_clear(&c);
	own = clean_own(bytes, len, &own_len);
	MUST(own_len <= len);
	free(own);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct partner_end ends[PARTNER_ENDS_MAX];
	char why[PARTNER_WHY_BYTES];
	struct windows w;
	json_t *list;
	size_t n;

	if (windows_open((const char *)data, len, NULL, &w, why) == NW_OK) {
		MUST(w.docs >= (const char *)data && w.docs_len < len);
		documents(w.docs, w.docs_len);
		windows_close(&w);
	}
	documents((const char *)data, len);
	list = json_loadb((const char *)data, len, JSON_REJECT_DUPLICATES, NULL);
	if (ends_read(list, ends, &n) == NW_OK)
		MUST(n > 0 && n <= PARTNER_ENDS_MAX && strpbrk(ends[0].src, "'\" ") == NULL);
	json_decref(list);
	return 0;
}
