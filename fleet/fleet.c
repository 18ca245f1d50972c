/* SPDX-License-Identifier: BSD-3-Clause */
#include "fleet/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/xmalloc.h"

static const struct fleet_engine *const engines[] = { &engine_sqlite, &engine_file,
	&engine_clickhouse, &engine_box, &engine_s3 };

struct fleet {
	const struct fleet_engine *engine;
	void *e;
};

int
fleet_failed(const char *what, const char *reason, char why[FLEET_WHY_BYTES])
{
	snprintf(why, FLEET_WHY_BYTES, "%.250s: %.200s", what, reason);
	return NW_EIO;
}

int
fleet_open(const struct fleet_conf *c, bool writes, struct fleet **out, char why[FLEET_WHY_BYTES])
{
	size_t i, len = strcspn(c->fleet, ":");
	struct fleet *f;
	int rc;

	*out = NULL;
	for (i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
		if (strlen(engines[i]->scheme) == len &&
		    strncmp(engines[i]->scheme, c->fleet, len) == 0)
			break;
	if (i == sizeof(engines) / sizeof(engines[0])) {
		snprintf(why, FLEET_WHY_BYTES, "no engine for the fleet %.200s", c->fleet);
		return NW_EINVAL;
	}
	f = xcalloc(1, sizeof(*f));
	f->engine = engines[i];
	if ((rc = f->engine->open(c, writes, &f->e, why)) == NW_OK)
		*out = f;
	else
		free(f);
	return rc;
}

void
fleet_close(struct fleet *f)
{
	if (f == NULL)
		return;
	f->engine->close(f->e);
	free(f);
}

const struct fleet_engine *
fleet_engine_of(const struct fleet *f, void **e)
{
	*e = f->e;
	return f->engine;
}
