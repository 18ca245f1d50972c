/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/cause.h"

#include <string.h>

#define STAGE_BIT(s) (1U << NW_STAGE_##s)
#define DISK_READ    (STAGE_BIT(DISK_READ) | STAGE_BIT(STORAGE_READ))
#define DISK_WRITE   (STAGE_BIT(DISK_WRITE) | STAGE_BIT(STORAGE_WRITE))
#define DISK         (DISK_READ | DISK_WRITE)
#define HOSTS        (STAGE_BIT(SENDER_HOST) | STAGE_BIT(RECEIVER_HOST) | STAGE_BIT(HOST))
#define NET          (STAGE_BIT(NET_READ) | STAGE_BIT(NETWORK) | STAGE_BIT(NET_WRITE))
#define ANY_STAGE    (DISK | HOSTS | NET)

static const struct nw_mechanism rows[] = {
#define CAUSE(pattern, stages, step, words, prior, source) \
	{ pattern, stages, NW_STEP_##step, words, prior, source },
#include "analyze/cause/causes.def"
#undef CAUSE
};

const struct nw_mechanism *
nw_mechanisms(size_t *n)
{
	*n = sizeof(rows) / sizeof(rows[0]);
	return rows;
}

/* Tries the places of each '*' from the shortest text on: patterns have two at most. */
bool
nw_cause_fits(const char *pattern, const char *name, const char **thing, size_t *len)
{
	const char *at;

	for (; *pattern != '*' && *pattern != '\0'; pattern++, name++)
		if (*pattern != *name)
			return false;
	if (*pattern == '\0')
		return *name == '\0';
	for (at = name;; at++) {
		if (nw_cause_fits(pattern + 1, at, NULL, NULL)) {
			if (thing != NULL)
				*thing = name;
			if (len != NULL)
				*len = (size_t)(at - name);
			return true;
		}
		if (*at == '\0')
			return false;
	}
}

const struct nw_mechanism *
nw_mechanism_find(const char *name)
{
	const struct nw_mechanism *m = rows;

	while (!nw_cause_fits(m->pattern, name, NULL, NULL)) /* the last row fits every name */
		m++;
	return m;
}

size_t
nw_cause_unit(const char *name)
{
	size_t len;

	if (strncmp(name, "kernel.", 7) == 0 || strncmp(name, "os.", 3) == 0)
		return strcspn(name, ".");
	if (strncmp(name, "program.", 8) != 0)
		return strlen(name);
	len = 8 + strcspn(name + 8, ".");
	return len;
}
